//! Receives files that clients attach to threads.
//!
//! In: the body of a request, part by part as its client sends it. Out: a content block that links to the stored file. Owns: nothing.
//! Never: holds more than one part, waits for a client without end, or sends a file back: a page could be made to run it.

use std::time::Duration;

use acpd_model::limits::{ATTACHMENT_BYTES, HEAD_SECS};
use acpd_model::{Failure, ThreadId};
use acpd_runtime::attachments::{Attached, Upload};
use acpd_runtime::stored::log_failure;
use axum::Json;
use axum::body::{Body, BodyDataStream};
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use serde_json::json;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::auth::identity::Identity;
use crate::http::export::failed;
use crate::http::{ServerState, refuse, stopping};

/// Longest media type of an attached file, in bytes.
const ATTACHMENT_TYPE_BYTES: usize = 127;
/// Bytes of an arriving file that are collected before they are written.
const ATTACHMENT_PART_BYTES: usize = 256 << 10;
/// Seconds without a byte after which the daemon gives up on an arriving file.
const ATTACHMENT_SILENCE_SECS: u64 = 30;
/// Seconds in which a file must have arrived.
const ATTACHMENT_SECS: u64 = 30 * 60;

/// `PUT /api/threads/{thread}/attachments/{name}`: stores the body as a file that the thread's agent can read. Returns the content
/// block for a prompt.
pub async fn attach(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
    place: Result<Path<(ThreadId, String)>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let mut arriving = Arriving {
        body: body.into_data_stream(),
        until: Instant::now() + Duration::from_secs(ATTACHMENT_SECS),
        is_held_back: headers.contains_key(header::EXPECT),
    };
    match receive(&server, &identity, place, &headers, &mut arriving).await {
        Ok(block) => Json(json!({ "block": block })).into_response(),
        Err(refused) => {
            let wait = Duration::from_secs(HEAD_SECS);
            arriving.drain(wait, &server.stop, &identity.ends).await;
            *refused
        }
    }
}

/// Time for a file whose client may not attach it. Shorter than for others: the client may have no credential.
const UNWANTED: Duration = Duration::from_secs(HEAD_SECS / 2);

/// Discards the file of a client that may not attach it: see [`Arriving::drain`].
pub async fn discard(server: &ServerState, headers: &HeaderMap, body: Body) {
    let mut unwanted = Arriving {
        body: body.into_data_stream(),
        until: Instant::now() + UNWANTED,
        is_held_back: headers.contains_key(header::EXPECT),
    };
    // The client has no access here that could end.
    unwanted
        .drain(UNWANTED, &server.stop, &CancellationToken::new())
        .await;
}

/// Stores the body of a request. Returns the content block, or the response that says why there is none.
async fn receive(
    server: &ServerState,
    identity: &Identity,
    place: Result<Path<(ThreadId, String)>, PathRejection>,
    headers: &HeaderMap,
    arriving: &mut Arriving,
) -> Result<serde_json::Value, Box<Response>> {
    let Ok(Path((thread, name))) = place else {
        return Err(Box::new(failed(&Failure::invalid_params(
            "the path names no thread and file: PUT /api/threads/{thread}/attachments/{name}",
        ))));
    };
    let refused = |status, code, message: &str| Err(Box::new(refuse(status, code, message)));
    let Some(size) = size(headers) else {
        let message = "send the size of the file as Content-Length";
        return refused(StatusCode::LENGTH_REQUIRED, "invalid_request", message);
    };
    if size > ATTACHMENT_BYTES {
        let message = format!(
            "the file has {size} bytes, and at most {} MiB can be attached: name a file that the agent can read in the prompt",
            ATTACHMENT_BYTES >> 20
        );
        return refused(StatusCode::PAYLOAD_TOO_LARGE, "invalid_params", &message);
    }
    let upload = match begin(server, identity, thread, &name, size).await {
        Ok(upload) => upload,
        Err(failure) => return Err(Box::new(failed(&failure))),
    };
    let received = tokio::select! {
        biased;
        () = server.stop.cancelled() => return Err(Box::new(stopping())),
        () = identity.ends.cancelled() => {
            return refused(StatusCode::FORBIDDEN, "forbidden", "access has ended");
        }
        received = arriving.receive(upload) => received,
    };
    match received {
        Ok(attached) => {
            tracing::info!(%thread, principal = %identity.principal, bytes = attached.size, "a file was attached");
            Ok(block(&attached, headers))
        }
        Err(Broken::Slow) => {
            let message = "the file arrived too slowly: send it again";
            refused(StatusCode::REQUEST_TIMEOUT, "invalid_request", message)
        }
        Err(Broken::Failed(failure)) => Err(Box::new(failed(&failure))),
    }
}

async fn begin(
    server: &ServerState,
    identity: &Identity,
    thread: ThreadId,
    name: &str,
    size: u64,
) -> Result<Upload, Failure> {
    let context = &server.service.context;
    let found = context.log.summary(thread).await;
    found.map_err(|error| log_failure(&error))?;
    let attachments = &context.attachments;
    attachments.begin(&identity.principal, thread, name, size).await
}

/// Returns the size that the client announces.
fn size(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Returns the content block that links to a file. Its type is what the client says, for the agent alone.
fn block(attached: &Attached, headers: &HeaderMap) -> serde_json::Value {
    let given = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let is_usual = |kind: &&str| {
        let is_usual = |c: char| c.is_ascii_alphanumeric() || "/.+-_".contains(c);
        kind.len() <= ATTACHMENT_TYPE_BYTES && kind.contains('/') && kind.chars().all(is_usual)
    };
    let kind = given
        .and_then(|kind| kind.split(';').next())
        .map(str::trim)
        .filter(is_usual)
        .unwrap_or("application/octet-stream");
    json!({
        "type": "resource_link",
        "uri": attached.uri,
        "name": attached.name,
        "mimeType": kind,
        "size": attached.size,
    })
}

/// A body on its way from a client.
struct Arriving {
    body: BodyDataStream,
    /// When it must have arrived.
    until: Instant,
    /// Whether the client sends it only once the daemon reads it (`Expect: 100-continue`).
    is_held_back: bool,
}

/// Why a body did not become a file.
enum Broken {
    /// The client sent too little in too long a time.
    Slow,
    Failed(Failure),
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Arriving {
    async fn receive(&mut self, mut upload: Upload) -> Result<Attached, Broken> {
        let mut part = BytesMut::new();
        while let Some(bytes) = self.next().await? {
            part.extend_from_slice(&bytes);
            if part.len() >= ATTACHMENT_PART_BYTES {
                upload = upload.write(part.split().freeze()).await?;
            }
        }
        if !part.is_empty() {
            upload = upload.write(part.freeze()).await?;
        }
        Ok(upload.finish().await?)
    }

    /// Discards what a client sends after its file was refused, for a short time, and as much as a file may have: while it sends, it
    /// does not see the answer.
    async fn drain(&mut self, wait: Duration, stop: &CancellationToken, ends: &CancellationToken) {
        if self.is_held_back {
            return;
        }
        let rest = async {
            let mut bytes = 0;
            while let Some(Ok(part)) = self.body.next().await {
                bytes += part.len() as u64;
                if bytes > ATTACHMENT_BYTES {
                    break;
                }
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = ends.cancelled() => {}
            // The answer is sent in any case, and then the connection is closed.
            _ = timeout(wait, rest) => {}
        }
    }

    /// Returns the next bytes; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Broken> {
        self.is_held_back = false;
        let silent = Instant::now() + Duration::from_secs(ATTACHMENT_SILENCE_SECS);
        let next = timeout_at(silent.min(self.until), self.body.next()).await;
        match next.map_err(|_| Broken::Slow)? {
            Some(Ok(bytes)) => Ok(Some(bytes)),
            None => Ok(None),
            Some(Err(_)) => Err(Broken::Failed(Failure::invalid_params(
                "the file broke off on its way: send it again",
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use axum::http::HeaderValue;
    use futures_util::stream;

    use super::*;

    #[test]
    fn a_block_links_to_the_file_with_a_usual_type() {
        let attached = Attached {
            uri: "file:///d/a/x/report.pdf".to_owned(),
            name: "report.pdf".to_owned(),
            size: 7,
        };
        let long = "a/".repeat(ATTACHMENT_TYPE_BYTES);
        for (given, kind) in [
            (None, "application/octet-stream"),
            (Some("application/pdf"), "application/pdf"),
            (Some("text/plain; charset=utf-8"), "text/plain"),
            (Some("text/html\"onload=x"), "application/octet-stream"),
            (Some("pdf"), "application/octet-stream"),
            (Some(&*long), "application/octet-stream"),
        ] {
            let given = given.map(|given| (header::CONTENT_TYPE, HeaderValue::from_str(given).unwrap()));
            let block = block(&attached, &given.into_iter().collect());
            assert_eq!(block["mimeType"], kind);
            assert_eq!(
                (&block["type"], &block["size"]),
                (&json!("resource_link"), &json!(7))
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_file_is_received_for_a_short_time() {
        let drained = async |stop: &CancellationToken, ends: &CancellationToken, is_held_back: bool| {
            // Each part comes in time, and they do not end.
            let parts = stream::unfold((), |()| async {
                tokio::time::sleep(Duration::from_secs(ATTACHMENT_SILENCE_SECS / 10)).await;
                Some((Ok::<_, std::io::Error>(Bytes::from_static(b"x")), ()))
            });
            let begun = Instant::now();
            let mut arriving = Arriving {
                body: Body::from_stream(parts).into_data_stream(),
                until: begun + Duration::from_secs(ATTACHMENT_SECS),
                is_held_back,
            };
            let wait = Duration::from_secs(HEAD_SECS);
            arriving.drain(wait, stop, ends).await;
            begun.elapsed().as_secs()
        };
        let live = CancellationToken::new();
        let over = CancellationToken::new();
        over.cancel();
        assert_eq!(drained(&live, &live, false).await, HEAD_SECS);
        assert_eq!(drained(&over, &live, false).await, 0);
        assert_eq!(drained(&live, &over, false).await, 0);
        assert_eq!(drained(&live, &live, true).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_file_is_received_up_to_the_size_of_a_file() {
        let sent = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&sent);
        let part = Bytes::from(vec![0; 1 << 20]);
        let parts = stream::repeat_with(move || {
            counted.fetch_add(1 << 20, Ordering::Relaxed);
            Ok::<_, std::io::Error>(part.clone())
        });
        let begun = Instant::now();
        let mut arriving = Arriving {
            body: Body::from_stream(parts).into_data_stream(),
            until: begun + Duration::from_secs(ATTACHMENT_SECS),
            is_held_back: false,
        };
        let live = CancellationToken::new();
        arriving.drain(UNWANTED, &live, &live).await;
        assert_eq!(begun.elapsed().as_secs(), 0);
        let sent = sent.load(Ordering::Relaxed);
        assert!(sent <= ATTACHMENT_BYTES + (2 << 20), "{sent}");
    }

    #[test]
    fn a_size_is_a_number() {
        for (given, expected) in [
            ("0", Some(0)),
            ("52428800", Some(52_428_800)),
            ("-1", None),
            ("x", None),
        ] {
            let headers = [(header::CONTENT_LENGTH, HeaderValue::from_static(given))];
            assert_eq!(size(&headers.into_iter().collect()), expected);
        }
        assert_eq!(size(&HeaderMap::new()), None);
    }
}
