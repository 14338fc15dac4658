//! Lists of threads: along an index if few of its threads do not match, else by the packed rows of all threads.

use acpd_model::event::TurnStatus;
use acpd_model::{ThreadId, ThreadStatus};
use rusqlite::{Connection, OptionalExtension};
use uuid::Uuid;

use super::blocks;
use super::columns::read_summary;
use crate::{Filter, ListCursor, ListedThread, LogError};

/// Threads of an index that a list may pass over. Beyond them, it reads the packed rows of all threads instead.
const PASSED_OVER: usize = 1000;

/// A key that sorts after every id.
pub(super) const BEYOND: &[u8] = &[0xff; 17];

/// An index of `thread`. Each is sorted as lists are, after the columns that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Index {
    Session,
    Active,
    Cwd,
    Failed,
    Agent,
    Listed,
}

impl Index {
    /// Returns the index that probably leaves the fewest threads.
    fn of(filter: &Filter) -> Self {
        if filter.session_id.is_some() {
            Self::Session
        } else if filter.active == Some(true) || filter.status.is_some_and(ThreadStatus::is_active) {
            Self::Active
        } else if filter.cwd.is_some() {
            Self::Cwd
        } else if filter.last_turn == Some(TurnStatus::Failed) {
            Self::Failed
        } else if filter.agent.is_some() {
            Self::Agent
        } else {
            Self::Listed
        }
    }

    /// Returns the value that the index compares.
    fn key(self, filter: &Filter) -> Option<&str> {
        match self {
            Self::Session => filter.session_id.as_deref(),
            Self::Cwd => filter.cwd.as_deref(),
            Self::Agent => filter.agent.as_deref(),
            Self::Active | Self::Failed | Self::Listed => None,
        }
    }

    /// Returns the statement for the numbers of threads after a position. If the index separates archived threads from the
    /// others and both are wanted, two walks are merged.
    fn statement(self, archived: Option<bool>) -> String {
        let walk = |index: &str, condition: &str| {
            format!(
                "SELECT id, updated_at, uuid FROM thread INDEXED BY {index}
                 WHERE {condition} AND (updated_at, uuid) < (?1, ?2)"
            )
        };
        let (index, condition) = match self {
            Self::Session => ("thread_session", "session_id = ?3"),
            Self::Active => ("thread_active", "active = 1"),
            Self::Cwd => ("thread_cwd", "cwd = ?3"),
            Self::Failed => ("thread_failed", "last_turn = 'failed'"),
            Self::Agent => ("thread_agent", "agent = ?3"),
            Self::Listed => ("thread_listed", "1"),
        };
        let walks = match self {
            Self::Session | Self::Active => walk(index, condition),
            Self::Cwd | Self::Failed | Self::Agent | Self::Listed => {
                let walk = |archived| {
                    walk(
                        index,
                        &format!("archived = {} AND {condition}", u8::from(archived)),
                    )
                };
                match archived {
                    Some(archived) => walk(archived),
                    None => format!("{} UNION ALL {}", walk(false), walk(true)),
                }
            }
        };
        format!("{walks} ORDER BY updated_at DESC, uuid DESC")
    }
}

/// Implements [`EventLog::list`](crate::EventLog::list).
pub(super) fn list(
    connection: &Connection,
    filter: &Filter,
    cursor: Option<ListCursor>,
    limit: usize,
) -> Result<Vec<ListedThread>, LogError> {
    list_within(connection, filter, cursor, limit, PASSED_OVER)
}

/// Implements [`EventLog::directories`](crate::EventLog::directories).
pub(super) fn directories(connection: &Connection) -> Result<Vec<String>, LogError> {
    // The index has the directories of archived threads and of the others in order, so nothing is sorted or read twice.
    let mut statement = connection.prepare_cached("SELECT DISTINCT cwd FROM thread INDEXED BY thread_cwd")?;
    let directories = statement.query_map([], |row| row.get(0))?;
    Ok(directories.collect::<Result<_, _>>()?)
}

fn list_within(
    connection: &Connection,
    filter: &Filter,
    cursor: Option<ListCursor>,
    limit: usize,
    passed_over: usize,
) -> Result<Vec<ListedThread>, LogError> {
    // All statements read one state of the database. Otherwise a thread may be deleted between them, and its row used for
    // another one.
    let state = connection.unchecked_transaction()?;
    let mut page = Page {
        connection,
        filter,
        cursor,
        limit,
        threads: Vec::new(),
        bytes: 0,
    };
    // No index has the pinned threads, and they are few: a walk to them would be given up.
    if filter.pinned == Some(true) || page.walk(passed_over)? == Walk::GivenUp {
        page.scan()?;
    }
    let threads = page.threads;
    state.rollback()?;
    Ok(threads)
}

/// How the walk along an index ended.
#[derive(Debug, PartialEq, Eq)]
enum Walk {
    /// The page is full, or the index has no more threads.
    Finished,
    /// Too many threads did not match.
    GivenUp,
}

/// A page of a list.
struct Page<'a> {
    connection: &'a Connection,
    filter: &'a Filter,
    /// The last thread that was compared with the filter.
    cursor: Option<ListCursor>,
    limit: usize,
    threads: Vec<ListedThread>,
    /// The bytes of the summaries of `threads`.
    bytes: usize,
}

impl Page<'_> {
    fn is_full(&self) -> bool {
        self.threads.len() >= self.limit || self.filter.is_full(self.bytes)
    }

    /// Adds threads along an index.
    fn walk(&mut self, mut passed_over: usize) -> Result<Walk, LogError> {
        let index = Index::of(self.filter);
        let mut walk = self
            .connection
            .prepare_cached(&index.statement(self.filter.archived))?;
        let (updated_at, uuid) = match &self.cursor {
            Some(cursor) => (cursor.updated_at, cursor.thread.0.as_bytes().to_vec()),
            None => (i64::MAX, BEYOND.to_vec()),
        };
        let mut rows = match index.key(self.filter) {
            Some(key) => walk.query((updated_at, uuid, key))?,
            None => walk.query((updated_at, uuid))?,
        };
        while !self.is_full() {
            let Some(row) = rows.next()? else {
                return Ok(Walk::Finished);
            };
            if !self.add(row.get(0)?)? {
                let Some(rest) = passed_over.checked_sub(1) else {
                    return Ok(Walk::GivenUp);
                };
                passed_over = rest;
            }
            self.cursor = Some(ListCursor {
                updated_at: row.get(1)?,
                thread: ThreadId(Uuid::from_bytes(row.get(2)?)),
            });
        }
        Ok(Walk::Finished)
    }

    /// Adds threads by the packed rows. More than once only if hashes are the same.
    fn scan(&mut self) -> Result<(), LogError> {
        while !self.is_full() {
            let wanted = self.limit - self.threads.len();
            let found = blocks::newest(self.connection, self.filter, self.cursor, wanted)?;
            for ((updated_at, thread), row) in &found {
                if self.is_full() {
                    return Ok(());
                }
                self.add(*row)?;
                self.cursor = Some(ListCursor {
                    updated_at: *updated_at,
                    thread: *thread,
                });
            }
            if found.len() < wanted {
                break;
            }
        }
        Ok(())
    }

    /// Adds the thread of this row if it matches. Returns whether it does.
    fn add(&mut self, row: i64) -> Result<bool, LogError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT uuid, summary, json FROM thread LEFT JOIN thread_metadata ON thread = id WHERE id = ?",
            )?
            .query_row([row], |row| {
                let thread = ThreadId(Uuid::from_bytes(row.get(0)?));
                Ok(read_summary(row, 1, thread).map(|summary| ListedThread { thread, summary }))
            })
            .optional()?
            .ok_or_else(|| LogError::Damaged(format!("a list has the thread {row}, which does not exist")))??;
        let is_listed = self.filter.admits(found.thread, &found.summary);
        if is_listed {
            self.bytes += found.summary.weight();
            self.threads.push(found);
        }
        Ok(is_listed)
    }
}

#[cfg(test)]
mod tests;
