//! Serves content that events store by reference. The content of an id never changes, so clients may cache it.
//!
//! In: an id, and the range that the client wants. Out: the content, read part by part at the pace at which the client reads. Owns:
//! nothing. Never: holds more than one part, or answers about content that the client may not read.

use acpd_log::{BlobPart, SharedLog};
use acpd_model::limits::{BLOB_PART_BYTES, BLOB_SMALL_PART_BYTES};
use acpd_model::{AccessScope, BlobId, Failure, ThreadId};
use acpd_runtime::room::{Charge, Room};
use acpd_runtime::stored::log_failure;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use tokio_util::sync::CancellationToken;

use crate::auth::identity::{ConnectionPermit, Identity};
use crate::http::export::failed;
use crate::http::{ServerState, refuse};

/// Seconds for which a browser may use a blob that it has received. Then it asks whether it still may.
const BLOB_CACHE_SECS: u64 = 3600;
/// The request headers with credentials. A cached response is only for the client that received it.
const CREDENTIALS: &str = "cookie, authorization, acpd-page-key";

/// `GET /api/blobs/{id}`: returns content that an event stores by reference.
pub async fn blob(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Response {
    let log = server.service.context.log.clone();
    let id = id.map_or_else(|_| String::new(), |Path(id)| id);
    let id: BlobId = match id.parse() {
        Ok(id) => id,
        Err(error) => return failed(&Failure::invalid_params(format!("{error}"))),
    };
    let of = match identity.permissions().scope {
        AccessScope::Everything => None,
        AccessScope::Thread(shared) => Some(shared),
    };
    let total = match log.blob_part(of, id, 0, 0).await {
        Ok(Some(BlobPart { total, .. })) => total,
        Ok(None) if of.is_none() => return missing(&log, id).await,
        // A reader of one thread does not learn what other threads have.
        Ok(None) => return failed(&Failure::not_found(format!("blob {id}"))),
        Err(error) => return failed(&log_failure(&error)),
    };
    let permit = match identity.take_permit() {
        Ok(permit) => permit,
        Err(full) => return refuse(StatusCode::SERVICE_UNAVAILABLE, "overloaded", &full.to_string()),
    };
    let tag = format!("\"{id}\"");
    let (status, from, end) = match (is_known(&headers, &tag), Wanted::of(&headers, &tag, total)) {
        (true, _) => (StatusCode::NOT_MODIFIED, 0, 0),
        (false, Wanted::Whole) => (StatusCode::OK, 0, total),
        (false, Wanted::Part { from, end }) => (StatusCode::PARTIAL_CONTENT, from, end),
        (false, Wanted::Nothing) => (StatusCode::RANGE_NOT_SATISFIABLE, 0, 0),
    };
    let reading = Reading {
        log,
        of,
        id,
        at: from,
        end,
        parts: Parts {
            room: server.blob_parts.clone(),
            charge: None,
        },
        ends: identity.ends,
        _permit: permit,
    };
    let mut response = (status, reading.into_body()).into_response();
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    };
    match status {
        StatusCode::NOT_MODIFIED => {}
        StatusCode::RANGE_NOT_SATISFIABLE => {
            set(header::CONTENT_RANGE, &format!("bytes */{total}"));
            return response;
        }
        _ => {
            set(header::CONTENT_TYPE, "application/octet-stream");
            set(header::CONTENT_LENGTH, &(end - from).to_string());
            set(header::ACCEPT_RANGES, "bytes");
        }
    }
    if status == StatusCode::PARTIAL_CONTENT {
        let last = end.saturating_sub(1);
        set(header::CONTENT_RANGE, &format!("bytes {from}-{last}/{total}"));
    }
    set(header::ETAG, &tag);
    set(header::VARY, CREDENTIALS);
    set(
        header::CACHE_CONTROL,
        &format!("private, max-age={BLOB_CACHE_SECS}, immutable"),
    );
    response
}

/// Answers for content that is not in the log: retention removed it, or nothing has that id.
async fn missing(log: &SharedLog, id: BlobId) -> Response {
    match log.is_removed(id).await {
        Ok(true) => {
            let message = "this attachment was removed, because its thread was not used for as long as attachments_max_age in \
                           [retention] of the configuration says";
            refuse(StatusCode::GONE, "removed", message)
        }
        Ok(false) => failed(&Failure::not_found(format!("blob {id}"))),
        Err(error) => failed(&log_failure(&error)),
    }
}

/// Returns whether the client has the content with this tag.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get_all(header::IF_NONE_MATCH).into_iter();
    let known = known.filter_map(|value| value.to_str().ok());
    let mut known = known.flat_map(|value| value.split(',')).map(str::trim);
    known.any(|known| known == "*" || known.trim_start_matches("W/") == tag)
}

/// What a client wants of a content.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    /// All of it. Other ranges than one of bytes are ignored.
    Whole,
    /// The bytes from `from` up to `end`, which is not included.
    Part { from: u64, end: u64 },
    /// A range that the content does not have.
    Nothing,
}

impl Wanted {
    fn of(headers: &HeaderMap, tag: &str, total: u64) -> Self {
        let range = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
        // The client has a part of another content.
        let is_other = headers
            .get(header::IF_RANGE)
            .is_some_and(|known| known.as_bytes() != tag.as_bytes());
        let range = range.filter(|_| !is_other);
        let Some((from, last)) = range
            .and_then(|range| range.strip_prefix("bytes="))
            .and_then(|range| range.split_once('-'))
        else {
            return Self::Whole;
        };
        let (from, last) = (from.trim(), last.trim());
        let (from, end) = match (from.parse::<u64>(), last.parse::<u64>()) {
            (Ok(from), Ok(last)) if from <= last => (from, last.saturating_add(1).min(total)),
            (Ok(from), Err(_)) if last.is_empty() => (from, total),
            (Err(_), Ok(bytes)) if from.is_empty() => (total.saturating_sub(bytes), total),
            _ => return Self::Whole,
        };
        if from < end {
            Self::Part { from, end }
        } else {
            Self::Nothing
        }
    }
}

/// A content on its way to a client.
struct Reading {
    log: SharedLog,
    /// The only thread that the client reaches.
    of: Option<ThreadId>,
    id: BlobId,
    /// The number of the next byte.
    at: u64,
    end: u64,
    parts: Parts,
    /// Cancelled when the client loses its permissions.
    ends: CancellationToken,
    /// The response counts as a connection until its client has read it.
    _permit: ConnectionPermit,
}

/// Decides how large the parts are. Clients that read slowly may use all room: the parts of others are small then, and no client waits.
struct Parts {
    room: Room,
    /// The room of the present part, if it is large.
    charge: Option<Charge>,
}

impl Parts {
    /// Returns the bytes of the next part. The one before has been sent.
    fn next(&mut self, left: u64) -> usize {
        self.charge = None;
        let wanted = usize::try_from(left).map_or(BLOB_PART_BYTES, |left| left.min(BLOB_PART_BYTES));
        if wanted <= BLOB_SMALL_PART_BYTES {
            return wanted;
        }
        self.charge = self.room.try_take(wanted as u64);
        if self.charge.is_some() {
            wanted
        } else {
            BLOB_SMALL_PART_BYTES
        }
    }
}

impl Reading {
    fn into_body(self) -> Body {
        if self.at >= self.end {
            return Body::empty();
        }
        Body::from_stream(stream::unfold(Some(self), |reading| async move {
            let reading = reading?;
            if reading.at >= reading.end {
                return None;
            }
            Some(match reading.next().await {
                Ok((bytes, rest)) => (Ok(bytes), Some(rest)),
                // The response breaks off, so that the client does not take a part for the whole.
                Err(error) => (Err(error), None),
            })
        }))
    }

    /// Returns the next bytes, and the rest.
    async fn next(mut self) -> std::io::Result<(Bytes, Self)> {
        if self.ends.is_cancelled() {
            return Err(std::io::Error::other("access has ended"));
        }
        let most = self.parts.next(self.end - self.at);
        let part = self.log.blob_part(self.of, self.id, self.at, most).await;
        let content = match part.map_err(std::io::Error::other)? {
            Some(part) if !part.content.is_empty() => part.content,
            _ => return Err(std::io::Error::other("the content was removed")),
        };
        self.at += content.len() as u64;
        Ok((content.into(), self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(given: &[(HeaderName, &str)]) -> HeaderMap {
        let given = given.iter();
        given
            .map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    #[test]
    fn parts_are_large_while_there_is_room() {
        let room = Room::new(u32::try_from(BLOB_PART_BYTES).unwrap());
        let mut parts = [(); 2].map(|()| Parts {
            room: room.clone(),
            charge: None,
        });
        let [slow, other] = &mut parts;
        assert_eq!(slow.next(u64::MAX), BLOB_PART_BYTES);
        assert_eq!(other.next(u64::MAX), BLOB_SMALL_PART_BYTES);
        assert_eq!(other.next(7), 7);
        assert_eq!(slow.next(7), 7, "it has sent the large part");
        let left = BLOB_SMALL_PART_BYTES + 1;
        assert_eq!(other.next(left as u64), left);
        assert_eq!(slow.next(0), 0);
    }

    #[test]
    fn a_range_is_read_as_http_defines_it() {
        let part = |from, end| Wanted::Part { from, end };
        for (range, total, expected) in [
            ("bytes=0-0", 10, part(0, 1)),
            ("bytes=2-4", 10, part(2, 5)),
            ("bytes=2-400", 10, part(2, 10)),
            ("bytes=9-", 10, part(9, 10)),
            ("bytes=-3", 10, part(7, 10)),
            ("bytes=-30", 10, part(0, 10)),
            ("bytes=0-18446744073709551615", 10, part(0, 10)),
            ("bytes=10-", 10, Wanted::Nothing),
            ("bytes=10-20", 10, Wanted::Nothing),
            ("bytes=-0", 10, Wanted::Nothing),
            ("bytes=0-", 0, Wanted::Nothing),
            ("bytes=4-2", 10, Wanted::Whole),
            ("bytes=-", 10, Wanted::Whole),
            ("bytes=0-1,3-4", 10, Wanted::Whole),
            ("bytes=x-1", 10, Wanted::Whole),
            ("items=0-1", 10, Wanted::Whole),
            ("bytes=99999999999999999999-", 10, Wanted::Whole),
        ] {
            let wanted = Wanted::of(&headers(&[(header::RANGE, range)]), "\"t\"", total);
            assert_eq!(wanted, expected, "{range} of {total}");
        }
        let of = |known| headers(&[(header::RANGE, "bytes=1-2"), (header::IF_RANGE, known)]);
        assert_eq!(Wanted::of(&of("\"t\""), "\"t\"", 10), part(1, 3));
        assert_eq!(Wanted::of(&of("\"other\""), "\"t\"", 10), Wanted::Whole);
        assert_eq!(Wanted::of(&HeaderMap::new(), "\"t\"", 10), Wanted::Whole);
    }

    #[test]
    fn a_content_is_known_by_its_tag() {
        for (known, expected) in [
            ("\"t\"", true),
            ("W/\"t\"", true),
            ("\"a\", \"t\"", true),
            ("*", true),
            ("\"a\"", false),
            ("t", false),
            ("", false),
        ] {
            let headers = headers(&[(header::IF_NONE_MATCH, known)]);
            assert_eq!(is_known(&headers, "\"t\""), expected, "{known}");
        }
        assert!(!is_known(&HeaderMap::new(), "\"t\""));
    }
}
