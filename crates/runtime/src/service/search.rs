//! Full-text search.

use acpd_log::Search;
use acpd_model::limits::SEARCH_QUERY_BYTES;
use acpd_model::{Failure, SearchHit};
use acpd_proto::surface::reply::ListPage;
use acpd_proto::surface::request::{SearchThreads, invalid_cursor};

use crate::service::Service;
use crate::stored::log_failure;

/// Largest page of `thread/search`, in hits.
const SEARCH_PAGE_MAX: usize = 100;
/// Hits on one page of `thread/search` if the client sets no limit.
const SEARCH_PAGE: usize = 20;

impl Service {
    pub(super) async fn search_threads(&self, wanted: SearchThreads) -> Result<ListPage<SearchHit>, Failure> {
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
        Ok(ListPage { page, next })
    }
}
