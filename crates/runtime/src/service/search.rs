//! Full-text search, and indexing of events that were stored before the index existed.

use acpd_log::{LogError, Search, SharedLog};
use acpd_model::limits::{SEARCH_PAGE, SEARCH_PAGE_MAX, SEARCH_QUERY_BYTES};
use acpd_model::{Extract, Failure, ThreadId};
use acpd_proto::projection::extract;
use acpd_proto::surface::reply::Reply;
use acpd_proto::surface::request::{SearchThreads, invalid_cursor};

use crate::service::Service;
use crate::thread::directory::log_failure;

impl Service {
    pub(super) async fn search_threads(&self, wanted: SearchThreads) -> Result<Reply, Failure> {
        let SearchThreads {
            query,
            cursor,
            limit,
            thread,
        } = wanted;
        if query.len() > SEARCH_QUERY_BYTES {
            let message = format!("query is longer than {SEARCH_QUERY_BYTES} bytes");
            return Err(Failure::invalid_params(message));
        }
        let cursor = cursor.map(|text| text.parse().map_err(|_| invalid_cursor()));
        let limit = limit.unwrap_or(SEARCH_PAGE).clamp(1, SEARCH_PAGE_MAX);
        let search = Search { text: query, thread };
        let hits = self
            .context
            .log
            .search(search, cursor.transpose()?, limit)
            .await
            .map_err(|error| log_failure(&error))?;
        let next = hits.last().filter(|_| hits.len() == limit);
        let next = next.map(|(cursor, _)| cursor.to_string());
        let page = hits.into_iter().map(|(_, hit)| hit).collect();
        Ok(Reply::Hits { page, next })
    }
}

/// Indexes events that a version without an index stored. It starts with the newest threads and works a page at a time,
/// so that other work on the log never waits long. If it is interrupted, it continues at the next start.
pub async fn index_backlog(log: SharedLog) {
    let mut before = None;
    loop {
        match index_page(&log, before).await {
            Ok(Some(next)) => before = next,
            Ok(None) | Err(LogError::Closed) => return,
            Err(error) => {
                tracing::warn!(%error, "older threads cannot be searched until the next start");
                return;
            }
        }
    }
}

/// Indexes one page. Returns the thread before which to look for the next page, or `None` if nothing is left.
async fn index_page(log: &SharedLog, before: Option<ThreadId>) -> Result<Option<Option<ThreadId>>, LogError> {
    let Some(backlog) = log.backlog(before).await? else {
        return Ok(None);
    };
    let thread = backlog.thread;
    let indexed = match log.read(thread, backlog.done).await {
        Ok(page) => {
            let events = || page.events.iter().filter(|event| event.seq <= backlog.until);
            // A page without events means that there is nothing left to index.
            let through = events().next_back().map_or(backlog.until, |event| event.seq);
            let found = if page.events.is_empty() {
                Extract::default()
            } else {
                extract(events())
            };
            log.index(thread, through, &found).await
        }
        Err(error) => Err(error),
    };
    match indexed {
        Ok(()) => Ok(Some(before)),
        // The thread was deleted in the meantime.
        Err(LogError::NoSuchThread(_)) => Ok(Some(Some(thread))),
        // The thread stays in the backlog, so that no blob that it may need is dropped.
        Err(LogError::Damaged(what)) => {
            tracing::warn!(%thread, what, "a thread cannot be searched");
            Ok(Some(Some(thread)))
        }
        Err(error) => Err(error),
    }
}
