//! Exports a thread over HTTP. The export reads the log page by page, at the pace at which the client reads.
//!
//! An export ends at the last event of the thread at the time of the request. It holds one page of the log and the buffer
//! of the format, for which it takes room before it reads anything, and is refused without it after a moment. For a page with a large event, it waits for
//! more room. A client that stops reading costs only this memory and its connection, and loses the export once others need the memory.

use std::time::Duration;

use acpd_log::{LogError, Page, SharedLog};
use acpd_model::limits::FREE_EVENT_BYTES;
use acpd_model::text::shorten;
use acpd_model::{AccessScope, ErrorCode, Event, Failure, Seq, Summary, ThreadId};
use acpd_proto::surface::contract::LostEvents;
use acpd_proto::surface::export::{Export, Format};
use acpd_proto::surface::request::no_thread;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::auth::identity::{ConnectionPermit, Identity};
use crate::http::{ServerState, refuse};
use acpd_runtime::stored::log_failure;
use acpd_runtime::unsent::{DownloadPages, UnsentCharge};

/// Bytes of an export that are passed to the HTTP connection at once. What its client has not received yet stays charged.
const EXPORT_PART_BYTES: usize = 64 << 10;
/// Time for room to become free, as when a client has just received the end of another export.
const ROOM_WITHIN: Duration = Duration::from_secs(2);

/// Time between two looks at the room.
const ROOM_CHECK: Duration = Duration::from_millis(20);

/// `GET /api/threads/{thread}/export?format=jsonl|md|html&salvage=true|false`.
pub async fn export(
    State(server): State<ServerState>,
    thread: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    Extension(identity): Extension<Identity>,
) -> Response {
    let log = server.service.context.log.clone();
    // An invalid encoding is not a valid id either.
    let thread = thread.map_or_else(|_| String::new(), |Path(thread)| thread);
    let scope = identity.permissions().scope;
    let permit = match identity.take_permit() {
        Ok(permit) => permit,
        Err(full) => return refuse(StatusCode::SERVICE_UNAVAILABLE, "overloaded", &full.to_string()),
    };
    let (format, writing) = match begin(log, &thread, scope, query.as_deref()).await {
        Ok(begun) => begun,
        Err(failure) => return failed(&failure),
    };
    let context = &server.service.context;
    let take = || {
        let bytes = format.held_bytes();
        context
            .unsent
            .take_download(&identity.principal, identity.permissions(), bytes)
    };
    let Some(charge) = soon(take).await else {
        let message =
            "other exports are under way, and no memory is free for this one: try again in a minute";
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "overloaded", message);
    };
    // The first piece is made before the answer begins, so that an early error is an answer of its own.
    let pages = context
        .unsent
        .download_pages(&identity.principal, identity.permissions());
    let (id, (first, rest)) = match (writing.thread, writing.next(&pages).await) {
        (id, Ok(made)) => (id, made),
        (_, Err(error)) => return failed(&failure_of(&error)),
    };
    let (parts_tx, parts) = mpsc::channel(1);
    let sending = Sending {
        parts: parts_tx,
        charge,
        pages,
        within: Duration::from_secs(context.limits.now().write_secs),
        ends: identity.ends,
    };
    server.peers.spawn(sending.run(id, first, rest));
    answer(format, id, parts, permit)
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
    /// Whether events that cannot be read are left out.
    salvages: bool,
}

async fn begin(
    log: SharedLog,
    thread: &str,
    scope: AccessScope,
    query: Option<&str>,
) -> Result<(Format, Writing), Failure> {
    let thread: ThreadId = thread
        .parse()
        .map_err(|error| Failure::invalid_params(format!("{error}")))?;
    let (format, salvages) = (format(query)?, salvages(query)?);
    if !scope.includes(thread) {
        return Err(no_thread(thread));
    }
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
        salvages,
    };
    Ok((format, writing))
}

/// Returns the first value of a parameter in a query.
fn parameter<'q>(query: Option<&'q str>, wanted: &str) -> Option<&'q str> {
    query.unwrap_or_default().split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name == wanted).then_some(value)
    })
}

/// Parses whether events that cannot be read are left out.
fn salvages(query: Option<&str>) -> Result<bool, Failure> {
    match parameter(query, "salvage").unwrap_or("false") {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Failure::invalid_params("salvage is neither true nor false")),
    }
}

/// Parses the format in a query.
fn format(query: Option<&str>) -> Result<Format, Failure> {
    let word = parameter(query, "format").unwrap_or(Format::Jsonl.word());
    Format::from_word(word).ok_or_else(|| {
        Failure::invalid_params(format!(
            "unknown format {:?}: use jsonl, md or html",
            shorten(word, 80)
        ))
    })
}

/// Returns the response with the parts of an export. It breaks off unless the last of them is [`Part::End`], so that the client does
/// not accept a partial export as complete.
fn answer(
    format: Format,
    thread: ThreadId,
    parts: mpsc::Receiver<Part>,
    permit: ConnectionPermit,
) -> Response {
    let name = format!("attachment; filename=\"{thread}.{}\"", format.word());
    // The export counts as a connection until its client has read it.
    let body = stream::unfold(Some((parts, permit)), |receiving| async move {
        let (mut parts, permit) = receiving?;
        match parts.recv().await {
            Some(Part::Bytes(bytes)) => Some((Ok(bytes), Some((parts, permit)))),
            Some(Part::End) => None,
            None => Some((Err(std::io::Error::other("the export broke off")), None)),
        }
    });
    let mut response = Body::from_stream(body).into_response();
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

/// Bytes of an export.
#[derive(Debug)]
struct Piece {
    bytes: Bytes,
    /// The room of the large events in it.
    charge: Option<UnsentCharge>,
}

impl Piece {
    /// Starts the time that the client has to receive the piece.
    fn new(bytes: Vec<u8>, mut charge: Option<UnsentCharge>) -> Self {
        if let Some(charge) = &mut charge {
            charge.restart();
        }
        let bytes = bytes.into();
        Self { bytes, charge }
    }
}

/// What the task of an export passes to its response.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Bytes(Bytes),
    /// The export is complete.
    End,
}

/// The task that passes an export to its response.
struct Sending {
    parts: mpsc::Sender<Part>,
    charge: UnsentCharge,
    pages: DownloadPages,
    /// The time that the client has to receive a piece once others need its room.
    within: Duration,
    /// Cancelled when the client loses its permissions.
    ends: CancellationToken,
}

/// Why an export breaks off.
#[derive(Debug, thiserror::Error)]
enum BrokenOff {
    #[error("its client is gone")]
    Gone,
    #[error("the access of its client has ended")]
    Revoked,
    #[error("its client reads too slowly, and other exports need the memory")]
    Overdue,
    #[error(transparent)]
    Log(#[from] LogError),
}

impl Sending {
    /// Sends pieces until the export is complete. Without its end, the response breaks off.
    async fn run(mut self, thread: ThreadId, first: Piece, rest: Option<Writing>) {
        match self.send_all(first, rest).await {
            Ok(()) | Err(BrokenOff::Gone) => {}
            Err(BrokenOff::Log(error)) => tracing::error!(%thread, %error, "an export breaks off"),
            Err(reason) => tracing::warn!(%thread, %reason, "an export breaks off"),
        }
    }

    async fn send_all(&mut self, mut piece: Piece, mut rest: Option<Writing>) -> Result<(), BrokenOff> {
        loop {
            self.charge.restart();
            for part in piece.bytes.chunks(EXPORT_PART_BYTES) {
                // A copy: a part of the piece would keep all of it until the client has received the part.
                let part = Part::Bytes(Bytes::copy_from_slice(part));
                self.send(part, piece.charge.as_ref()).await?;
            }
            drop(piece);
            let Some(writing) = rest else {
                return self.send(Part::End, None).await;
            };
            (piece, rest) = tokio::select! {
                biased;
                () = self.ends.cancelled() => return Err(BrokenOff::Revoked),
                () = self.parts.closed() => return Err(BrokenOff::Gone),
                // It may wait for room.
                made = writing.next(&self.pages) => made?,
            };
        }
    }

    /// Sends a part of a piece that holds `page`.
    async fn send(&self, part: Part, page: Option<&UnsentCharge>) -> Result<(), BrokenOff> {
        // The room of the export is renewed with each piece, so it has the time of a large one.
        let within = self.within * page.map_or(1, UnsentCharge::times);
        let permit = tokio::select! {
            biased;
            () = self.ends.cancelled() => return Err(BrokenOff::Revoked),
            permit = self.parts.reserve() => permit.map_err(|_| BrokenOff::Gone)?,
            () = self.charge.overdue(within) => return Err(BrokenOff::Overdue),
            () = overdue(page, self.within) => return Err(BrokenOff::Overdue),
        };
        permit.send(part);
        Ok(())
    }
}

/// Takes room, if there is some within a short time.
async fn soon(take: impl Fn() -> Option<UnsentCharge>) -> Option<UnsentCharge> {
    let until = Instant::now() + ROOM_WITHIN;
    loop {
        let charge = take();
        if charge.is_some() || Instant::now() >= until {
            return charge;
        }
        tokio::time::sleep(ROOM_CHECK).await;
    }
}

/// Waits until others need the room of a large page for which the client has had this time.
async fn overdue(page: Option<&UnsentCharge>, within: Duration) {
    match page {
        Some(charge) => charge.overdue(within).await,
        None => std::future::pending().await,
    }
}

impl Writing {
    /// Returns the next piece, and the remaining export. Waits for room if a large event is in it.
    async fn next(mut self, pages: &DownloadPages) -> Result<(Piece, Option<Self>), LogError> {
        let mut out = std::mem::take(&mut self.head);
        let mut charge = None;
        while self.at < self.end {
            let page = loop {
                let page = self.log.read(self.thread, self.at).await;
                let weigh = |page: &Page| page.events.iter().map(Event::weight).sum::<usize>() as u64;
                let bytes = page.as_ref().map_or(0, weigh);
                if bytes <= FREE_EVENT_BYTES || charge.is_some() {
                    break page;
                }
                // It is read again, so that it is not in memory while it waits.
                drop(page);
                charge = pages.room(bytes).await;
            };
            let page = match page {
                Ok(page) if page.events.is_empty() => {
                    return Err(LogError::Damaged(format!("it ends before event {}", self.end)));
                }
                Err(LogError::DamagedEvents {
                    first, last, reason, ..
                }) if self.salvages => {
                    self.export.lost(&LostEvents { first, last, reason }, &mut out);
                    self.at = last;
                    continue;
                }
                page => page?,
            };
            for event in page.events.iter().filter(|event| event.seq <= self.end) {
                self.export.fold(event, &mut out);
                self.at = event.seq;
            }
            // The format of a document can hold a turn back until it ends.
            if self.at < self.end && (!out.is_empty() || charge.is_some()) {
                return Ok((Piece::new(out, charge), Some(self)));
            }
        }
        self.export.finish(&mut out);
        Ok((Piece::new(out, charge), None))
    }
}

/// Returns the error of an export, with what to do about it.
fn failure_of(error: &LogError) -> Failure {
    let mut failure = log_failure(error);
    if matches!(error, LogError::DamagedEvents { .. }) {
        failure.message += ". Export the other events with \"acpd export --salvage\"";
    }
    failure
}

pub(super) fn failed(failure: &Failure) -> Response {
    let (status, code) = match failure.code {
        ErrorCode::InvalidParams => (StatusCode::BAD_REQUEST, "invalid_params"),
        ErrorCode::NotFound => (StatusCode::NOT_FOUND, "not_found"),
        ErrorCode::Storage => (StatusCode::SERVICE_UNAVAILABLE, "storage"),
        ErrorCode::Conflict => (StatusCode::CONFLICT, "conflict"),
        ErrorCode::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, "overloaded"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    };
    refuse(status, code, &failure.message)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use acpd_log::conformance::sample;
    use acpd_log::{EventLog, Fault, Memory};
    use acpd_model::Role;
    use acpd_model::limits::{DOWNLOAD_BYTES_OF_ONE, DOWNLOAD_PAGE_BYTES_OF_ONE};
    use acpd_proto::surface::request::Permissions;
    use acpd_runtime::unsent::UnsentAnswers;

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

    /// Returns the pieces of an export.
    async fn pieces(writing: Writing) -> Vec<Result<Bytes, LogError>> {
        let pages = UnsentAnswers::default().download_pages("ann", permissions());
        let mut pieces = Vec::new();
        let mut rest = Some(writing);
        while let Some(writing) = rest.take() {
            pieces.push(writing.next(&pages).await.map(|(piece, after)| {
                rest = after;
                piece.bytes
            }));
        }
        pieces
    }

    /// An owner's room for answers.
    fn permissions() -> Permissions {
        Role::Owner.into()
    }

    fn sending(unsent: &UnsentAnswers, parts: mpsc::Sender<Part>) -> Sending {
        Sending {
            parts,
            charge: unsent
                .take_download("ann", permissions(), Format::Html.held_bytes())
                .unwrap(),
            pages: unsent.download_pages("ann", permissions()),
            within: Duration::from_secs(30),
            ends: CancellationToken::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_stops_reading_loses_its_export_once_others_need_the_room() {
        let unsent = UnsentAnswers::default();
        let (parts_tx, mut parts) = mpsc::channel(1);
        let sending = sending(&unsent, parts_tx);
        let (log, thread) = thread_of(9).await;
        let (_, writing) = begin(log, &thread.to_string(), AccessScope::Everything, None)
            .await
            .unwrap();
        let (first, rest) = writing.next(&sending.pages).await.unwrap();
        let task = tokio::spawn(sending.run(thread, first, rest));
        assert!(matches!(parts.recv().await, Some(Part::Bytes(part)) if part.len() <= EXPORT_PART_BYTES));
        // Alone, it has all the time.
        tokio::time::sleep(Duration::from_hours(1)).await;
        assert!(!task.is_finished());
        let all = DOWNLOAD_BYTES_OF_ONE.into();
        assert!(unsent.take_download("ann", permissions(), all).is_none());
        let ended = tokio::time::timeout(Duration::from_secs(1), task);
        ended.await.expect("it keeps the room").unwrap();
        assert!(unsent.take_download("ann", permissions(), all).is_some());
        let mut last = None;
        while let Some(part) = parts.recv().await {
            last = Some(part);
        }
        assert!(matches!(last, Some(Part::Bytes(_))), "{last:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_export_waits_for_the_room_of_one_that_is_ending() {
        let unsent = UnsentAnswers::default();
        let all = DOWNLOAD_BYTES_OF_ONE.into();
        let take = || unsent.take_download("ann", permissions(), all);
        let before = take().expect("nothing is taken yet");
        let ends = async {
            tokio::time::sleep(ROOM_WITHIN / 2).await;
            drop(before);
        };
        let (charge, ()) = tokio::join!(soon(take), ends);
        assert!(charge.is_some());
        let began = Instant::now();
        assert!(soon(take).await.is_none());
        assert!(began.elapsed() >= ROOM_WITHIN);
    }

    #[tokio::test]
    async fn an_export_is_complete_only_with_its_end() {
        let (log, thread) = thread_of(9).await;
        for fails in [false, true] {
            let unsent = UnsentAnswers::default();
            let (parts_tx, mut parts) = mpsc::channel(1);
            let sending = sending(&unsent, parts_tx);
            let (_, writing) = begin(log.clone(), &thread.to_string(), AccessScope::Everything, None)
                .await
                .unwrap();
            let (first, rest) = writing.next(&sending.pages).await.unwrap();
            if fails {
                log.inject(Fault::FailRead { after: 1 });
            }
            let task = tokio::spawn(sending.run(thread, first, rest));
            let mut last = None;
            while let Some(part) = parts.recv().await {
                last = Some(part);
            }
            assert_eq!(last == Some(Part::End), !fails);
            task.await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_thread_goes_out_page_by_page_and_ends_where_it_stood() {
        let (log, thread) = thread_of(9).await;
        let (_, writing) = begin(log.clone(), &thread.to_string(), AccessScope::Everything, None)
            .await
            .unwrap();
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

    /// A client that reads a large event slowly holds its memory only until another export needs it.
    #[tokio::test(start_paused = true)]
    async fn large_events_of_exports_wait_for_memory() {
        let (log, thread) = (Arc::new(Memory::default()), sample::thread(1));
        let events = sample::run(1..=3, DOWNLOAD_PAGE_BYTES_OF_ONE as usize / 2 + 1);
        log.append(thread, &events, Some(&sample::summary("n", 1)))
            .await
            .unwrap();
        let unsent = UnsentAnswers::default();
        let pages = unsent.download_pages("ann", permissions());
        let writing = async || {
            let begun = begin(log.clone(), &thread.to_string(), AccessScope::Everything, None).await;
            begun.unwrap().1
        };
        let (parts_tx, mut parts) = mpsc::channel(1);
        let sending = sending(&unsent, parts_tx);
        let (first, rest) = writing().await.next(&pages).await.unwrap();
        assert!(first.charge.is_some());
        let task = tokio::spawn(sending.run(thread, first, rest));
        parts.recv().await.unwrap();
        let other = tokio::time::timeout(Duration::from_mins(3), writing().await.next(&pages));
        let (second, _) = other.await.expect("it keeps the memory").unwrap();
        assert!(second.charge.is_some());
        drop((second, parts));
        task.await.unwrap();
    }

    #[tokio::test]
    async fn a_log_that_fails_breaks_the_answer_off() {
        for query in ["format=jsonl", "format=html"] {
            let (log, thread) = thread_of(9).await;
            let (_, writing) = begin(
                log.clone(),
                &thread.to_string(),
                AccessScope::Everything,
                Some(query),
            )
            .await
            .unwrap();
            log.inject(Fault::FailRead { after: 2 });
            let pieces = pieces(writing).await;
            let (last, before) = pieces.split_last().unwrap();
            assert!(last.is_err() && before.iter().all(Result::is_ok), "{query}");
        }
    }

    #[tokio::test]
    async fn an_export_leaves_damaged_events_out_only_if_asked_and_says_which() {
        let (log, thread) = thread_of(9).await;
        let (first, last) = log.damage(thread, 1).unwrap();
        let (_, writing) = begin(log.clone(), &thread.to_string(), AccessScope::Everything, None)
            .await
            .unwrap();
        let room = UnsentAnswers::default().download_pages("ann", permissions());
        let refused = failure_of(&writing.next(&room).await.err().unwrap());
        assert!(
            refused.message.contains(&format!("events {first} to {last} of")),
            "{refused}"
        );
        assert!(refused.message.contains("--salvage"), "{refused}");
        for format in ["jsonl", "md", "html"] {
            let query = format!("format={format}&salvage=true");
            let (_, writing) = begin(
                log.clone(),
                &thread.to_string(),
                AccessScope::Everything,
                Some(&query),
            )
            .await
            .unwrap();
            let all: Vec<u8> = pieces(writing)
                .await
                .into_iter()
                .flat_map(Result::unwrap)
                .collect();
            let text = String::from_utf8(all).unwrap();
            if format == "jsonl" {
                let lines: Vec<serde_json::Value> = text
                    .lines()
                    .map(|line| serde_json::from_str(line).unwrap())
                    .collect();
                assert_eq!(lines[0]["type"], "log:damaged");
                assert_eq!(
                    (lines[0]["firstSeq"].as_u64(), lines[0]["seq"].as_u64()),
                    (Some(first), Some(last))
                );
                let rest: Vec<_> = lines[1..]
                    .iter()
                    .map(|line| line["seq"].as_u64().unwrap())
                    .collect();
                assert_eq!(rest, (last + 1..=9).collect::<Vec<_>>());
            } else {
                assert!(
                    text.contains(&format!("Events {first} to {last} cannot be read")),
                    "{text}"
                );
            }
        }
        assert!(salvages(Some("salvage=yes")).is_err());
    }

    #[tokio::test]
    async fn missing_threads_write_no_export() {
        let (log, _) = thread_of(1).await;
        let all = AccessScope::Everything;
        let code = async |thread: &str| begin(log.clone(), thread, all, None).await.err().map(|f| f.code);
        assert_eq!(
            code(&sample::thread(2).to_string()).await,
            Some(ErrorCode::NotFound)
        );
        assert_eq!(code("../x").await, Some(ErrorCode::InvalidParams));
    }
}
