//! Exports a thread over HTTP. The export reads the log page by page, at the pace at which the client reads.
//!
//! An export ends at the last event of the thread at the time of the request. It holds one page of the log and the buffer
//! of the format. A client that stops reading costs only this memory and its connection.

use acpd_log::SharedLog;
use acpd_model::{ErrorCode, Failure, Seq, Summary, ThreadId};
use acpd_proto::surface::export::{Export, Format};
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use tokio_util::sync::CancellationToken;

use crate::auth::store::Identity;
use crate::http::{ServerState, refuse};
use acpd_runtime::thread::directory::log_failure;

/// `GET /api/threads/{thread}/export?format=jsonl|md|html`.
pub async fn export(
    State(server): State<ServerState>,
    thread: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    Extension(identity): Extension<Identity>,
) -> Response {
    let log = server.service.context.log.clone();
    // An invalid encoding is not a valid id either.
    let thread = thread.map_or_else(|_| String::new(), |Path(thread)| thread);
    match begin(log, &thread, query.as_deref()).await {
        Ok((format, writing)) => answer(format, writing, identity.ends),
        Err(failure) => failed(&failure),
    }
}

/// `GET /api/blobs/{id}`: returns content that an event stores by reference.
pub async fn blob(State(server): State<ServerState>, id: Result<Path<String>, PathRejection>) -> Response {
    let log = &server.service.context.log;
    let id = id.map_or_else(|_| String::new(), |Path(id)| id);
    let found = match id.parse() {
        Ok(id) => log.blob(id).await.map_err(|error| log_failure(&error)),
        Err(error) => Err(Failure::invalid_params(format!("{error}"))),
    };
    match found {
        Ok(Some(content)) => ([(header::CONTENT_TYPE, "application/octet-stream")], content).into_response(),
        Ok(None) => failed(&Failure::not_found(format!("blob {id}"))),
        Err(failure) => failed(&failure),
    }
}

/// An export in progress.
struct Writing {
    log: SharedLog,
    thread: ThreadId,
    export: Export,
    /// The last event that was written.
    at: Seq,
    /// The last event of the export.
    end: Seq,
    /// The text before the first event.
    head: Vec<u8>,
}

async fn begin(log: SharedLog, thread: &str, query: Option<&str>) -> Result<(Format, Writing), Failure> {
    let thread: ThreadId = thread
        .parse()
        .map_err(|error| Failure::invalid_params(format!("{error}")))?;
    let format = format(query)?;
    let end = log.last_seq(thread).await.map_err(|error| log_failure(&error))?;
    let summary: Summary = log.summary(thread).await.map_err(|error| log_failure(&error))?;
    let mut head = Vec::new();
    let export = Export::begin(format, thread, &summary, &mut head);
    let writing = Writing {
        log,
        thread,
        export,
        at: 0,
        end,
        head,
    };
    Ok((format, writing))
}

/// Parses the format in a query.
fn format(query: Option<&str>) -> Result<Format, Failure> {
    let mut asked = query.unwrap_or_default().split('&').filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name == "format").then_some(value)
    });
    let word = asked.next().unwrap_or(Format::Jsonl.word());
    Format::from_word(word).ok_or_else(|| Failure::invalid_params("format is none of jsonl, md and html"))
}

fn answer(format: Format, writing: Writing, ends: CancellationToken) -> Response {
    let name = format!("attachment; filename=\"{}.{}\"", writing.thread, format.word());
    let pages = stream::unfold(Some(writing), move |writing| {
        let ends = ends.clone();
        async move {
            let writing = writing?;
            // The client's credentials may have been revoked in the meantime.
            if ends.is_cancelled() {
                return Some((Err(std::io::Error::other("access has ended")), None));
            }
            writing.next().await
        }
    });
    let mut response = Body::from_stream(pages).into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(format.media_type()),
    );
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    response
}

impl Writing {
    /// Returns the next bytes, and the remaining export. An error aborts the response, so that the client does not accept a
    /// partial export as complete.
    async fn next(mut self) -> Option<(std::io::Result<Bytes>, Option<Self>)> {
        let mut out = std::mem::take(&mut self.head);
        while self.at < self.end {
            let page = match self.log.read(self.thread, self.at).await {
                Ok(page) if page.events.is_empty() => {
                    return Some((Err(std::io::Error::other("the log ends too early")), None));
                }
                Ok(page) => page,
                Err(error) => {
                    tracing::error!(thread = %self.thread, %error, "an export breaks off");
                    return Some((Err(std::io::Error::other(error)), None));
                }
            };
            for event in page.events.iter().filter(|event| event.seq <= self.end) {
                self.export.fold(event, &mut out);
                self.at = event.seq;
            }
            // The format of a document can hold a turn back until it ends.
            if !out.is_empty() && self.at < self.end {
                return Some((Ok(out.into()), Some(self)));
            }
        }
        self.export.finish(&mut out);
        Some((Ok(out.into()), None))
    }
}

fn failed(failure: &Failure) -> Response {
    let (status, code) = match failure.code {
        ErrorCode::InvalidParams => (StatusCode::BAD_REQUEST, "invalid_params"),
        ErrorCode::NotFound => (StatusCode::NOT_FOUND, "not_found"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    };
    refuse(status, code, &failure.message)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use acpd_log::conformance::sample;
    use acpd_log::{EventLog, Fault, Memory};
    use futures_util::StreamExt;

    use super::*;

    #[test]
    fn the_format_is_read_from_the_query() {
        for (query, expected) in [
            (None, Some(Format::Jsonl)),
            (Some(""), Some(Format::Jsonl)),
            (Some("x=1&format=md"), Some(Format::Markdown)),
            (Some("format=html"), Some(Format::Html)),
            (Some("format=jsonl"), Some(Format::Jsonl)),
            (Some("format=pdf"), None),
            (Some("format"), None),
        ] {
            assert_eq!(format(query).ok(), expected, "{query:?}");
        }
    }

    /// Returns a thread of `events` events. Each has 100 KB, so a page holds at most four.
    async fn thread_of(events: Seq) -> (Arc<Memory>, ThreadId) {
        let (log, thread) = (Arc::new(Memory::default()), sample::thread(1));
        let events = sample::run(1..=events, 100_000);
        log.append(thread, &events, Some(&sample::summary("n", 1)))
            .await
            .unwrap();
        (log, thread)
    }

    /// Returns the chunks of an export.
    async fn pieces(writing: Writing) -> Vec<std::io::Result<Bytes>> {
        stream::unfold(Some(writing), |writing| async { writing?.next().await })
            .collect()
            .await
    }

    #[tokio::test]
    async fn a_thread_goes_out_page_by_page_and_ends_where_it_stood() {
        let (log, thread) = thread_of(9).await;
        let (_, writing) = begin(log.clone(), &thread.to_string(), None).await.unwrap();
        log.append(thread, &sample::run(10..=12, 100), None)
            .await
            .unwrap();
        let pieces = pieces(writing).await;
        assert!(pieces.len() >= 3, "{} pieces", pieces.len());
        let all: Vec<u8> = pieces.into_iter().flat_map(Result::unwrap).collect();
        let seqs: Vec<u64> = all
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok())
            .map(|line| line["seq"].as_u64().unwrap())
            .collect();
        assert_eq!(seqs, (1..=9).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_log_that_fails_breaks_the_answer_off() {
        for query in ["format=jsonl", "format=html"] {
            let (log, thread) = thread_of(9).await;
            let (_, writing) = begin(log.clone(), &thread.to_string(), Some(query))
                .await
                .unwrap();
            log.inject(Fault::FailRead { after: 2 });
            let pieces = pieces(writing).await;
            let (last, before) = pieces.split_last().unwrap();
            assert!(last.is_err() && before.iter().all(Result::is_ok), "{query}");
        }
    }

    #[tokio::test]
    async fn what_is_not_there_is_not_written() {
        let (log, _) = thread_of(1).await;
        let code = async |thread: &str| begin(log.clone(), thread, None).await.err().map(|f| f.code);
        assert_eq!(
            code(&sample::thread(2).to_string()).await,
            Some(ErrorCode::NotFound)
        );
        assert_eq!(code("../x").await, Some(ErrorCode::InvalidParams));
    }
}
