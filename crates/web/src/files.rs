//! Files of the binary as responses.
//!
//! In: the path and the headers of a request. Out: the file in an encoding that the client accepts. Owns: the embedded
//! files, and those compressed for clients without brotli. Never: decides which addresses exist.

use std::io::{Read as _, Write as _};
use std::sync::OnceLock;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;

/// An embedded file. `build.rs` makes the lists.
pub struct File {
    path: &'static str,
    content_type: &'static str,
    etag: &'static str,
    is_brotli: bool,
    /// Bytes of the uncompressed content.
    bytes: usize,
    stored: &'static [u8],
    /// The content compressed by gzip, once a client needed it: browsers accept brotli only where the connection is
    /// encrypted or local.
    gzip: OnceLock<Vec<u8>>,
}

pub use embedded::{DOCS, UI};

#[allow(clippy::unreadable_literal, reason = "build.rs writes it")]
mod embedded {
    use super::File;

    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

const HTML: &str = "text/html; charset=utf-8";

/// Returns the file at a path without its leading `/`, or `None` if there is none.
pub async fn response(
    files: &'static [File],
    path: &str,
    method: &Method,
    headers: &HeaderMap,
) -> Option<Response> {
    let file = files.iter().find(|file| file.path == path)?;
    let mut response = Response::new(Body::empty());
    let cache = if file.content_type == HTML {
        "no-cache"
    } else {
        "max-age=31536000, immutable"
    };
    let fixed = [
        (header::CONTENT_TYPE, file.content_type),
        (header::ETAG, file.etag),
        (header::CACHE_CONTROL, cache),
    ];
    for (name, value) in fixed {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    if file.is_brotli {
        let vary = HeaderValue::from_static("accept-encoding");
        response.headers_mut().insert(header::VARY, vary);
    }
    if is_cached(file, headers) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Some(response);
    }
    let encoding = if file.is_brotli {
        Encoding::accepted(headers)
    } else {
        Encoding::Brotli
    };
    let (body, length) = match encoding {
        Encoding::Brotli => (Body::from(file.stored), file.stored.len()),
        // Decompression takes milliseconds, for which no thread of the runtime should wait. It fails only if the daemon stops.
        Encoding::Gzip => {
            let gzip = tokio::task::spawn_blocking(|| file.gzip()).await.ok()?;
            (Body::from(gzip), gzip.len())
        }
        Encoding::Identity => {
            let content = tokio::task::spawn_blocking(|| file.content()).await.ok()?;
            (Body::from(content), file.bytes)
        }
    };
    if file.is_brotli
        && let Some(name) = encoding.name()
    {
        response
            .headers_mut()
            .insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    response
        .headers_mut()
        .insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    if *method != Method::HEAD {
        *response.body_mut() = body;
    }
    Some(response)
}

impl File {
    fn content(&self) -> Vec<u8> {
        let mut content = Vec::with_capacity(self.bytes);
        let read = brotli_decompressor::Decompressor::new(self.stored, 1 << 12).read_to_end(&mut content);
        assert!(read.is_ok(), "the embedded file {} is damaged", self.path);
        content
    }

    fn gzip(&'static self) -> &'static [u8] {
        self.gzip.get_or_init(|| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            let written = encoder.write_all(&self.content());
            written
                .and_then(|()| encoder.finish())
                .expect("a Vec takes all bytes")
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Brotli,
    Gzip,
    Identity,
}

impl Encoding {
    /// Returns the smallest encoding that the client accepts.
    fn accepted(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(header::ACCEPT_ENCODING).iter();
        let names: Vec<&str> = lines
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(','))
            .filter_map(accepted_name)
            .collect();
        let accepts = |encoding: &Self| names.iter().any(|name| Some(*name) == encoding.name());
        [Self::Brotli, Self::Gzip]
            .into_iter()
            .find(accepts)
            .unwrap_or(Self::Identity)
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::Brotli => Some("br"),
            Self::Gzip => Some("gzip"),
            Self::Identity => None,
        }
    }
}

/// Returns the name of an encoding unless its weight is 0, which refuses it.
fn accepted_name(item: &str) -> Option<&str> {
    let mut parts = item.split(';').map(str::trim);
    let name = parts.next()?;
    let weight = parts.find_map(|part| part.strip_prefix("q="));
    let is_refused = weight.is_some_and(|weight| weight.parse().is_ok_and(|weight: f32| weight <= 0.0));
    (!is_refused).then_some(name)
}

/// Returns whether the client has this content already.
fn is_cached(file: &File, headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::IF_NONE_MATCH).iter();
    lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .any(|tag| tag.trim() == file.etag)
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    async fn get(accepts: &str, method: Method) -> (Response, usize) {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, accepts.parse().unwrap());
        let response = response(&UI, "index.html", &method, &headers).await.unwrap();
        let length = response.headers()[header::CONTENT_LENGTH]
            .to_str()
            .unwrap()
            .parse()
            .unwrap();
        (response, length)
    }

    #[tokio::test]
    async fn every_encoding_has_the_same_content() {
        let (plain, length) = get("", Method::GET).await;
        let plain = to_bytes(plain.into_body(), 1 << 20).await.unwrap();
        assert_eq!(plain.len(), length);
        assert!(plain.starts_with(b"<!doctype html>") || plain.starts_with(b"<!DOCTYPE html>"));
        let (zipped, length) = get("gzip, br;q=0", Method::GET).await;
        assert_eq!(zipped.headers()[header::CONTENT_ENCODING], "gzip");
        let zipped = to_bytes(zipped.into_body(), 1 << 20).await.unwrap();
        assert_eq!(zipped.len(), length);
        let mut content = Vec::new();
        flate2::read::GzDecoder::new(&zipped[..])
            .read_to_end(&mut content)
            .unwrap();
        assert_eq!(content, plain);
        let (small, length) = get("gzip, deflate, br", Method::GET).await;
        assert_eq!(small.headers()[header::CONTENT_ENCODING], "br");
        assert_eq!(small.headers()[header::VARY], "accept-encoding");
        let small = to_bytes(small.into_body(), 1 << 20).await.unwrap();
        assert!(small.len() == length && length < plain.len());
        let mut content = Vec::new();
        brotli_decompressor::Decompressor::new(&small[..], 4096)
            .read_to_end(&mut content)
            .unwrap();
        assert_eq!(content, plain);
        let (head, length) = get("br", Method::HEAD).await;
        assert_eq!(length, small.len());
        assert!(to_bytes(head.into_body(), 1).await.unwrap().is_empty());
    }

    #[test]
    fn the_smallest_accepted_encoding_is_chosen() {
        let chosen = |accepts: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, accepts.parse().unwrap());
            Encoding::accepted(&headers)
        };
        assert_eq!(chosen("gzip;q=1.0, br;q=0.5"), Encoding::Brotli);
        assert_eq!(chosen("gzip, br;q=0.0"), Encoding::Gzip);
        assert_eq!(chosen("deflate, brotli"), Encoding::Identity);
        assert_eq!(Encoding::accepted(&HeaderMap::new()), Encoding::Identity);
    }

    #[test]
    fn all_files_can_be_unpacked() {
        for file in UI.iter().chain(&DOCS).filter(|file| file.is_brotli) {
            assert_eq!(file.content().len(), file.bytes, "{}", file.path);
        }
    }
}
