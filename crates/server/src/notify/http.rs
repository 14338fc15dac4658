//! HTTP requests of notifications: bounded in time and size, without redirects.
//!
//! In: a URL, headers and a body. Out: whether the receiver accepted it. Never: writes the URL into an error.

use std::io::Read;
use std::net::IpAddr;
use std::time::Duration;

use acpd_http_client::address_of;
use acpd_model::limits::NOTIFICATION_SECS;
use acpd_proto::notify::DeliveryError;
use axum::http::Uri;

/// Bytes that are read of a receiver's answer.
const NOTIFICATION_ANSWER_BYTES: u64 = 16 << 10;

/// The parts of a URL that matter before it is used.
#[derive(Debug)]
pub(super) struct Address {
    pub is_https: bool,
    /// Whether the host is this one, or in a private network, by its name alone.
    pub is_near: bool,
    /// Number of parts of the path.
    pub segments: usize,
}

impl Address {
    /// Reads a URL; returns what is wrong with it, without the URL.
    pub fn parse(url: &str) -> Result<Self, &'static str> {
        let uri: Uri = url.parse().map_err(|_| "is not a URL")?;
        let is_https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err("does not begin with https:// or http://"),
        };
        let authority = uri.authority().ok_or("has no host")?;
        if authority.as_str().contains('@') {
            return Err("contains a user name or password: use secret or token instead");
        }
        let host = authority.host();
        if host.is_empty() {
            return Err("has no host");
        }
        let is_near = address_of(host).is_some_and(is_near);
        let segments = uri.path().split('/').filter(|part| !part.is_empty()).count();
        Ok(Self {
            is_https,
            is_near,
            segments,
        })
    }
}

/// Returns whether an address is on this host, or in a private network.
fn is_near(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

/// Why a receiver did not accept a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PostError {
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// Why the receiver was not reached, or did not accept the request.
    pub error: DeliveryError,
}

impl From<DeliveryError> for PostError {
    fn from(error: DeliveryError) -> Self {
        Self { status: None, error }
    }
}

impl From<PostError> for DeliveryError {
    fn from(error: PostError) -> Self {
        error.error
    }
}

/// Posts a body. Answers other than 2xx are errors. Blocks.
pub(super) fn post(url: &str, headers: &[(&str, String)], body: &[u8]) -> Result<(), PostError> {
    let address = Address::parse(url).map_err(|problem| DeliveryError::last(format!("the URL {problem}")))?;
    let mut request = agent(&address).post(url);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let mut response = request
        .send(body)
        .map_err(|error| DeliveryError::retry(reason(&error)))?;
    let status = response.status().as_u16();
    let retry_after = response
        .headers()
        .get("retry-after")
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    // Read, so that the receiver sees a proper end of the exchange. What it says is of no interest, and not trusted.
    let rest = response
        .body_mut()
        .with_config()
        .limit(NOTIFICATION_ANSWER_BYTES)
        .reader();
    // An error in it changes nothing: the status has arrived.
    let _ = std::io::copy(&mut rest.take(NOTIFICATION_ANSWER_BYTES), &mut std::io::sink());
    if (200..300).contains(&status) {
        return Ok(());
    }
    let reason = match status {
        300..400 => {
            format!(
                "the answer is {status}: redirects are not followed, so the URL must be the final address"
            )
        }
        _ => format!("the answer is {status}"),
    };
    Err(PostError {
        status: Some(status),
        error: DeliveryError {
            is_final: is_final(status),
            retry_after,
            ..DeliveryError::retry(reason)
        },
    })
}

/// Returns whether a receiver that answers this will never accept the same notification. A wrong token or path is not
/// among them: the user can correct it while the notification waits.
fn is_final(status: u16) -> bool {
    matches!(status, 400 | 405 | 410 | 413 | 415 | 422)
}

fn agent(address: &Address) -> ureq::Agent {
    acpd_http_client::settings(Duration::from_secs(NOTIFICATION_SECS), address.is_near)
        .http_status_as_error(false)
        .max_redirects_will_error(false)
        .max_idle_connections(0)
        .build()
        .into()
}

/// Describes why a request failed. Other errors of the library may name the URL.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => format!("the connection failed: {error}"),
        ureq::Error::Timeout(_) => "the receiver did not answer in time".to_owned(),
        ureq::Error::HostNotFound => "the host of the URL was not found".to_owned(),
        ureq::Error::ConnectionFailed => "the connection failed".to_owned(),
        ureq::Error::Tls(error) => format!("TLS failed: {error}"),
        ureq::Error::Rustls(error) => format!("TLS failed: {error}"),
        ureq::Error::InvalidProxyUrl => "the proxy of the environment is not a URL".to_owned(),
        ureq::Error::Protocol(_) => "the receiver does not speak HTTP".to_owned(),
        _ => "the request failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;

    use super::*;

    /// Answers one request with these bytes, and returns its URL.
    fn receiver(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut seen = Vec::new();
            let mut buffer = [0; 4096];
            while !seen.ends_with(b"body") {
                match stream.read(&mut buffer) {
                    Ok(0) | Err(_) => return,
                    Ok(read) => seen.extend_from_slice(&buffer[..read]),
                }
            }
            // The client may have gone.
            let _ = stream.write_all(answer.as_bytes());
        });
        format!("http://{address}/planted")
    }

    fn answered(answer: &'static str) -> Result<(), DeliveryError> {
        Ok(post(&receiver(answer), &[("x-test", "1".to_owned())], b"body")?)
    }

    #[test]
    fn only_2xx_is_success_and_some_answers_are_final() {
        assert_eq!(answered("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), Ok(()));
        assert_eq!(answered("HTTP/1.1 204 No Content\r\n\r\n"), Ok(()));
        for (answer, is_final) in [
            ("HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n", true),
            ("HTTP/1.1 422 No\r\ncontent-length: 0\r\n\r\n", true),
            ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", false),
            ("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n", false),
            ("HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n", false),
        ] {
            let error = answered(answer).unwrap_err();
            assert_eq!(error.is_final, is_final, "{answer}");
            assert!(!error.reason.contains("planted"), "{error:?}");
        }
    }

    #[test]
    fn redirects_are_not_followed() {
        let elsewhere = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
        let error = answered(elsewhere).unwrap_err();
        assert!(error.reason.starts_with("the answer is 302"), "{error:?}");
    }

    #[test]
    fn the_receiver_may_ask_for_a_pause() {
        let busy = "HTTP/1.1 429 Busy\r\nretry-after: 120\r\ncontent-length: 0\r\n\r\n";
        let error = answered(busy).unwrap_err();
        assert_eq!(error.retry_after, Some(Duration::from_mins(2)));
        assert!(!error.is_final);
        let dated =
            "HTTP/1.1 503 No\r\nretry-after: Wed, 21 Oct 2026 07:28:00 GMT\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(answered(dated).unwrap_err().retry_after, None);
    }

    #[test]
    fn garbage_and_silence_are_errors_without_the_url() {
        for answer in ["", "nonsense\r\n\r\n", "HTTP/1.1 abc\r\n\r\n"] {
            let error = answered(answer).unwrap_err();
            assert!(!error.is_final && !error.reason.contains("planted"), "{error:?}");
        }
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = post(&format!("http://{closed}/planted"), &[], b"body").unwrap_err();
        assert!(!error.error.reason.contains("planted"), "{error:?}");
    }

    #[test]
    fn an_endless_answer_is_not_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let receiver = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
            let mut sent = 0_usize;
            while stream.write_all(chunk.as_bytes()).is_ok() {
                sent += 0x1000;
            }
            sent
        });
        assert_eq!(post(&format!("http://{address}/"), &[], b"body"), Ok(()));
        let sent = receiver.join().unwrap();
        assert!(sent < 64 << 20, "the connection ended after {sent} bytes");
    }
}
