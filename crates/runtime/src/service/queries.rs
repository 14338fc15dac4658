//! Lists of threads, and threads read from the log.

use std::sync::Arc;

use acpd_log::{Filter, ListCursor, ListedThread, LogError};
use acpd_model::event::TurnStatus;
use acpd_model::limits::{LIST_PAGE, LIST_PAGE_BYTES, UNSENT_ANSWER_BYTES};
use acpd_model::{Failure, LaneId, ThreadId, ThreadStatus};
use acpd_proto::projection::{Live, Subagent};
use acpd_proto::surface::reply::{self, ListPage, ThreadView};
use acpd_proto::surface::request::{AgentFilter, ListThreads, ListedStatus, Turns, invalid_cursor};

use crate::feed::log_faults::show;
use crate::service::caller::Caller;
use crate::service::same_directory::is_named;
use crate::service::seen::user_of;
use crate::service::{Response, Service};
use crate::stored::log_failure;
use crate::stored::state::load_readable;

impl Service {
    /// Lists threads. The directory is looked up before there is room: its disk may not answer.
    pub(super) async fn list_threads(
        &self,
        caller: &Caller,
        wanted: ListThreads,
    ) -> Result<Response<ListPage<reply::ListedThread>>, Failure> {
        let ListThreads {
            cursor,
            limit,
            archived,
            pinned,
            agent,
            cwd,
            status,
            search,
            id,
            only,
        } = wanted;
        let limit = limit.unwrap_or(LIST_PAGE).clamp(1, LIST_PAGE);
        let cursor = cursor.as_deref().map(parse_cursor).transpose()?;
        let mut filter = Filter {
            archived: archived.or(Some(false)),
            pinned,
            agent: match agent {
                AgentFilter::Any => None,
                AgentFilter::Named(agent) => Some(agent),
                AgentFilter::Default => Some(caller.defaults.agent.clone()?),
            },
            search,
            id,
            page_bytes: Some(LIST_PAGE_BYTES),
            ..Filter::default()
        };
        (filter.active, filter.status, filter.last_turn) = match status {
            None => (None, None, None),
            Some(ListedStatus::Active) => (Some(true), None, None),
            Some(ListedStatus::Running) => (Some(true), Some(ThreadStatus::Running), None),
            Some(ListedStatus::Waiting) => (Some(true), Some(ThreadStatus::Waiting), None),
            Some(ListedStatus::Idle) => (Some(false), None, None),
            Some(ListedStatus::Failed) => (Some(false), None, Some(TurnStatus::Failed)),
        };
        let (cwd, spellings) = match cwd {
            // Readers of a link are many, so the daemon does not look at its disk for them.
            Some(cwd) if only.is_none() => {
                let (cwd, spellings) = self.spellings(cwd).await?;
                (Some(cwd), spellings)
            }
            cwd => (cwd, Vec::new()),
        };
        filter.cwd = cwd;
        let charge = self.context.unsent.take(caller, UNSENT_ANSWER_BYTES).await;
        let mut page = match only {
            Some(thread) => self.list_one(thread, filter, cursor).await?,
            None => self.list_of_directory(filter, spellings, cursor, limit).await?,
        };
        let (fitting, is_cut) = fitting(&page);
        let has_more = page.len() == limit || is_cut;
        page.truncate(fitting);
        let next = page.last().filter(|_| has_more).map(write_cursor);
        let seen = user_of(caller).and_then(|user| self.context.seen.of(user));
        let page = page.into_iter();
        let page = page
            .map(|listed| reply::ListedThread {
                thread: listed.thread,
                summary: {
                    let mut summary = listed.summary;
                    self.context.log_faults.show(listed.thread, &mut summary);
                    summary
                },
                seen_at: seen.as_ref().map(|seen_at| seen_at(listed.thread)),
            })
            .collect();
        Ok(Response::charged(ListPage { page, next }, Some(charge)))
    }

    /// Returns the list of the threads of which a client may see one.
    async fn list_one(
        &self,
        thread: ThreadId,
        mut filter: Filter,
        cursor: Option<ListCursor>,
    ) -> Result<Vec<ListedThread>, Failure> {
        let summary = match self.context.log.summary(thread).await {
            Ok(summary) => summary,
            Err(LogError::NoSuchThread(_)) => return Ok(Vec::new()),
            Err(error) => return Err(log_failure(&error)),
        };
        if filter.cwd.as_ref().is_some_and(|cwd| is_named(&summary.cwd, cwd)) {
            filter.cwd = Some(summary.cwd.clone());
        }
        let is_after = cursor.is_none_or(
            |ListCursor {
                 updated_at,
                 thread: last,
             }| { (summary.updated_at, thread) < (updated_at, last) },
        );
        let is_listed = is_after && filter.admits(thread, &summary);
        Ok(is_listed
            .then_some(ListedThread { thread, summary })
            .into_iter()
            .collect())
    }

    /// Reads a thread that no connection needs to follow. The state has the texts of unfinished items, so it is not read before there is
    /// room either.
    pub(super) async fn read_thread(
        &self,
        caller: &Caller,
        thread: ThreadId,
        turns: Option<Turns>,
    ) -> Result<Response<Box<ThreadView>>, Failure> {
        let mut room = UNSENT_ANSWER_BYTES;
        let (charge, mut live, found) = loop {
            let charge = self.context.unsent.take(caller, room).await;
            let live = Arc::new(self.load_thread(thread).await?);
            let found = match turns {
                Some(wanted) => Some(self.find_pages(&live, wanted).await?),
                None => None,
            };
            let state = live.items.bytes() + live.described_bytes();
            let bytes = found.as_ref().map_or(0, |found| found.bytes) + state as u64;
            // More room is not taken beside that which is held: two answers would wait for each other.
            if bytes <= room || room > UNSENT_ANSWER_BYTES {
                break (charge, live, found);
            }
            room = bytes;
        };
        let turns = match found {
            Some(found) => Some(self.read_pages(&live, found).await?),
            None => None,
        };
        // The page has what it shows of them.
        if let Some(live) = Arc::get_mut(&mut live) {
            drop(std::mem::take(&mut live.items));
        }
        let view = Box::new(ThreadView { live, turns });
        Ok(Response::charged(view, Some(charge)))
    }

    /// Lists the subagents of a thread.
    pub(super) async fn list_lanes(&self, thread: ThreadId) -> Result<Vec<(LaneId, Subagent)>, Failure> {
        let live = self.load_thread(thread).await?;
        let lanes = live.lanes.all();
        Ok(lanes.map(|(lane, subagent)| (*lane, subagent.clone())).collect())
    }

    /// Returns the state of a thread as far as its events can be read.
    async fn load_thread(&self, thread: ThreadId) -> Result<Live, Failure> {
        let context = &self.context;
        let loading = context.read_log(|log| async move { load_readable(&log, thread).await });
        let read = loading.await;
        let (mut live, damage) = read.map_err(|error| log_failure(&error))?;
        self.context.log_faults.show(thread, &mut live.summary);
        if let Some(damage) = damage {
            show(&damage.to_string(), &mut live.summary);
        }
        Ok(live)
    }
}

/// Returns how many threads fit on a page, at least one, and whether the page ends there by its bytes.
fn fitting(page: &[ListedThread]) -> (usize, bool) {
    let mut bytes = 0;
    let mut has_room = |listed: &ListedThread| {
        bytes += listed.summary.weight();
        bytes <= LIST_PAGE_BYTES
    };
    let over = page.iter().position(|listed| !has_room(listed));
    (over.map_or(page.len(), |over| over.max(1)), over.is_some())
}

/// Encodes the position at which the next page of a list begins.
fn write_cursor(last: &ListedThread) -> String {
    format!("{}_{}", last.summary.updated_at, last.thread)
}

/// Parses a cursor that [`write_cursor`] wrote.
fn parse_cursor(text: &str) -> Result<ListCursor, Failure> {
    let (at, thread) = text.split_once('_').ok_or_else(invalid_cursor)?;
    Ok(ListCursor {
        updated_at: at.parse().map_err(|_| invalid_cursor())?,
        thread: thread.parse().map_err(|_| invalid_cursor())?,
    })
}
