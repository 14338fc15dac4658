//! Lists of threads: along an index if few of its threads do not match, else by the packed rows of all threads.

use acpd_model::event::TurnStatus;
use acpd_model::{ThreadId, ThreadStatus};
use rusqlite::{Connection, OptionalExtension};
use uuid::Uuid;

use super::blocks;
use super::query::read_summary;
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
    };
    if page.walk(passed_over)? == Walk::GivenUp {
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
}

impl Page<'_> {
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
        while self.threads.len() < self.limit {
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
        while self.threads.len() < self.limit {
            let wanted = self.limit - self.threads.len();
            let found = blocks::newest(self.connection, self.filter, self.cursor, wanted)?;
            for ((updated_at, thread), row) in &found {
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
        let is_listed = self.filter.admits(&found.summary);
        if is_listed {
            self.threads.push(found);
        }
        Ok(is_listed)
    }
}

#[cfg(test)]
mod tests {
    use acpd_model::{Millis, Summary};

    use super::*;
    use crate::append::Append;
    use crate::conformance::sample;
    use crate::sqlite::schema;
    use crate::sqlite::store::{Batch, Change, Store};

    const THREADS: u64 = 300;

    /// Each thread is a different combination of what filters compare.
    fn summary(number: u64) -> Summary {
        let one_of = |divisor: u64, values: &[&'static str]| {
            let count = u64::try_from(values.len()).unwrap();
            let index = usize::try_from(number / divisor % count).unwrap();
            values[index]
        };
        let updated_at = Millis::try_from(number * 7 % 50).unwrap();
        Summary {
            agent: one_of(2, &["one", "other"]).into(),
            cwd: one_of(4, &["/a", "/b", "/c"]).into(),
            status: match number % 11 {
                0 => ThreadStatus::Running,
                1 => ThreadStatus::Waiting,
                2 => ThreadStatus::Deleting,
                _ => ThreadStatus::Idle,
            },
            last_turn: [None, Some(TurnStatus::Failed), Some(TurnStatus::Completed)]
                [usize::try_from(number % 3).unwrap()],
            session_id: (number % 5 != 0).then(|| one_of(5, &["s-1", "s-2", "s-3"]).into()),
            archived: number % 2 == 1,
            ..sample::summary(
                one_of(1, &["Fix ÄRGER", "fix it", "", "日本語 x", "s-1"]),
                updated_at,
            )
        }
    }

    fn store() -> Store {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection).unwrap();
        Store::new(connection)
    }

    fn append(store: &mut Store, thread: ThreadId, seq: u64, summary: &Summary) {
        let events = [sample::event(seq, 10)];
        let batch = Batch::new(&Append {
            summary: Some(summary),
            ..Append::new(thread, &events)
        });
        let answers = store.store([Change::Append(batch.unwrap())].iter()).unwrap();
        assert_eq!(answers, [Ok(())]);
    }

    /// Returns filters with one condition, for every kind of condition.
    fn conditions() -> Vec<Filter> {
        let mut conditions = Vec::new();
        let mut add = |change: &dyn Fn(&mut Filter)| {
            let mut filter = Filter::default();
            change(&mut filter);
            conditions.push(filter);
        };
        for is in [true, false] {
            add(&|filter| filter.archived = Some(is));
            add(&|filter| filter.active = Some(is));
        }
        for status in [ThreadStatus::Idle, ThreadStatus::Running, ThreadStatus::Deleting] {
            add(&|filter| filter.status = Some(status));
        }
        for status in [TurnStatus::Failed, TurnStatus::Completed, TurnStatus::Limited] {
            add(&|filter| filter.last_turn = Some(status));
        }
        for text in ["one", "/b", "s-2", "none"] {
            add(&|filter| filter.agent = Some(text.into()));
            add(&|filter| filter.cwd = Some(text.into()));
            add(&|filter| filter.session_id = Some(text.into()));
        }
        for text in ["ärg", "i", "", "本語", "none"] {
            add(&|filter| filter.search = Some(text.into()));
        }
        conditions
    }

    /// Returns filters with the conditions of both. Where both have the same, the second one counts.
    fn both(one: &Filter, other: &Filter) -> Filter {
        let (one, other) = (one.clone(), other.clone());
        Filter {
            archived: other.archived.or(one.archived),
            agent: other.agent.or(one.agent),
            cwd: other.cwd.or(one.cwd),
            active: other.active.or(one.active),
            status: other.status.or(one.status),
            last_turn: other.last_turn.or(one.last_turn),
            session_id: other.session_id.or(one.session_id),
            search: other.search.or(one.search),
        }
    }

    fn pairs() -> Vec<Filter> {
        let conditions = conditions();
        let with = |one| conditions.iter().map(move |other| both(one, other));
        let pairs = conditions.iter().flat_map(with);
        std::iter::once(Filter::default()).chain(pairs).collect()
    }

    /// Compares pages of every pair of filters with what the summaries say.
    fn check(store: &Store, threads: &[(ThreadId, Summary)]) {
        let mut sorted = threads.to_vec();
        sorted.sort_by_key(|(thread, summary)| std::cmp::Reverse((summary.updated_at, *thread)));
        for filter in pairs() {
            let listed = sorted.iter().filter(|(_, summary)| filter.admits(summary));
            let expected: Vec<ThreadId> = listed.map(|(thread, _)| *thread).collect();
            for (passed_over, limit) in [(0, 7), (0, usize::MAX), (3, 40), (usize::MAX, 40)] {
                let mut found = Vec::new();
                let mut cursor = None;
                loop {
                    let page = list_within(store.connection(), &filter, cursor, limit, passed_over).unwrap();
                    found.extend(page.iter().map(|listed| listed.thread));
                    cursor = page.last().map(|last| ListCursor {
                        updated_at: last.summary.updated_at,
                        thread: last.thread,
                    });
                    if page.len() < limit {
                        break;
                    }
                }
                assert_eq!(
                    found, expected,
                    "{filter:?}, {passed_over} passed over, {limit} a page"
                );
            }
        }
    }

    #[test]
    fn a_list_is_the_same_along_an_index_and_by_packed_rows() {
        let mut store = store();
        let mut threads: Vec<_> = (0..THREADS)
            .map(|number| (sample::thread(number), summary(number)))
            .collect();
        for (thread, summary) in &threads {
            append(&mut store, *thread, 1, summary);
        }
        check(&store, &threads);

        for (number, (thread, changed)) in (0..).zip(&mut threads).step_by(3) {
            *changed = summary(number + 1);
            append(&mut store, *thread, 2, changed);
        }
        for thread in 100..230 {
            let deleted = Change::Delete(sample::thread(thread));
            assert_eq!(store.store([deleted].iter()).unwrap(), [Ok(())]);
        }
        threads.drain(100..230);
        check(&store, &threads);
        let made = packed_rows(&store);
        blocks::make_all(store.connection()).unwrap();
        assert_eq!(packed_rows(&store), made);
    }

    fn packed_rows(store: &Store) -> Vec<(i64, Vec<u8>)> {
        let mut rows = store
            .connection()
            .prepare("SELECT block, body FROM thread_block")
            .unwrap();
        let rows = rows.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_damaged_packed_row_is_made_anew() {
        let mut store = store();
        let threads: Vec<_> = (0..100)
            .map(|number| (sample::thread(number), summary(number)))
            .collect();
        for (thread, summary) in &threads {
            append(&mut store, *thread, 1, summary);
        }
        let damage = "UPDATE thread_block SET body = x'01ff00'";
        store.connection().execute_batch(damage).unwrap();
        let nothing = Filter {
            search: Some("nothing".into()),
            ..Filter::default()
        };
        let refused = list_within(store.connection(), &nothing, None, 1, 0);
        assert!(matches!(refused, Err(LogError::Damaged(_))), "{refused:?}");
        for number in [0, 99] {
            let (thread, summary) = &threads[number];
            append(&mut store, *thread, 2, summary);
        }
        check(&store, &threads);
    }

    /// Walks are neither scans nor sorted. A walk compares as much as its index can.
    #[test]
    fn every_list_is_a_walk_along_an_index() {
        let mut store = store();
        append(&mut store, sample::thread(1), 1, &summary(1));
        let mut plans = std::collections::BTreeSet::new();
        for filter in pairs() {
            let index = Index::of(&filter);
            let statement = format!("EXPLAIN QUERY PLAN {}", index.statement(filter.archived));
            let mut plan = store.connection().prepare(&statement).unwrap();
            let read = |row: &rusqlite::Row<'_>| row.get::<_, String>("detail");
            let steps = match index.key(&filter) {
                Some(key) => plan.query_map((0, 0, key), read),
                None => plan.query_map((0, 0), read),
            };
            let steps: Vec<String> = steps.unwrap().collect::<Result<_, _>>().unwrap();
            let is_bad = |step: &String| step.contains("SCAN") || step.contains("B-TREE");
            assert!(!steps.iter().any(is_bad), "{filter:?}: {steps:?}");
            plans.extend(steps.into_iter().filter(|step| step.contains("INDEX")));
        }
        let expected = [
            "SEARCH thread USING COVERING INDEX thread_active ((updated_at,uuid)<(?,?))",
            "SEARCH thread USING COVERING INDEX thread_agent (archived=? AND agent=? AND (updated_at,uuid)<(?,?))",
            "SEARCH thread USING COVERING INDEX thread_cwd (archived=? AND cwd=? AND (updated_at,uuid)<(?,?))",
            "SEARCH thread USING COVERING INDEX thread_listed (archived=? AND (updated_at,uuid)<(?,?))",
            "SEARCH thread USING INDEX thread_failed (archived=? AND (updated_at,uuid)<(?,?))",
            "SEARCH thread USING INDEX thread_session (session_id=? AND (updated_at,uuid)<(?,?))",
        ];
        assert_eq!(plans.into_iter().collect::<Vec<_>>(), expected);
    }
}
