//! Lists of threads, and threads read from the log.

use acpd_log::{Filter, ListCursor, ListedThread};
use acpd_model::event::TurnStatus;
use acpd_model::limits::{LIST_PAGE, TURNS_PAGE};
use acpd_model::{Failure, Seq, ThreadId, ThreadStatus};
use acpd_proto::projection::{Live, Transcript};
use acpd_proto::surface::reply::{self, Reply, ThreadView};
use acpd_proto::surface::request::{AgentFilter, ListThreads, ListedStatus, Turns, invalid_cursor};

use crate::service::Service;
use crate::service::caller::Caller;
use crate::thread::directory::log_failure;

impl Service {
    pub(super) async fn list_threads(&self, caller: &Caller, wanted: ListThreads) -> Result<Reply, Failure> {
        let ListThreads {
            cursor,
            limit,
            archived,
            agent,
            cwd,
            status,
            search,
        } = wanted;
        let limit = limit.unwrap_or(LIST_PAGE).clamp(1, LIST_PAGE);
        let cursor = cursor.as_deref().map(parse_cursor).transpose()?;
        let mut filter = Filter {
            archived: archived.or(Some(false)),
            agent: match agent {
                AgentFilter::Any => None,
                AgentFilter::Named(agent) => Some(agent),
                AgentFilter::Default => Some(caller.defaults.agent.clone()?),
            },
            cwd,
            search,
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
        let page = self
            .context
            .log
            .list(filter, cursor, limit)
            .await
            .map_err(|error| log_failure(&error))?;
        let next = page.last().filter(|_| page.len() == limit).map(write_cursor);
        let page = page.into_iter();
        let page = page
            .map(|listed| reply::ListedThread {
                thread: listed.thread,
                summary: listed.summary,
            })
            .collect();
        Ok(Reply::Threads { page, next })
    }

    pub(super) async fn read_thread(&self, thread: ThreadId, turns: Option<Turns>) -> Result<Reply, Failure> {
        let mut live = Box::new(Live::new(thread));
        let transcript = self.transcript(thread, Seq::MAX, Some(&mut live)).await?;
        let turns =
            turns.map(|wanted| transcript.into_page(wanted.before, wanted.limit.unwrap_or(TURNS_PAGE)));
        Ok(Reply::Thread(Box::new(ThreadView { live, turns })))
    }

    /// Builds a thread's transcript from the log, up to `until`. If `live` is given, folds the same events into it.
    pub(crate) async fn transcript(
        &self,
        thread: ThreadId,
        until: Seq,
        mut live: Option<&mut Live>,
    ) -> Result<Transcript, Failure> {
        let mut transcript = Transcript::default();
        loop {
            let page = self
                .context
                .log
                .read(thread, transcript.last_seq)
                .await
                .map_err(|error| log_failure(&error))?;
            for event in page.events.iter().filter(|event| event.seq <= until) {
                if let Some(live) = &mut live {
                    live.fold(event);
                }
                transcript.fold(event);
            }
            if page.at_end || transcript.last_seq >= until {
                return Ok(transcript);
            }
        }
    }
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
