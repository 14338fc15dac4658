//! Downloads over https, or over http from the host itself, bounded in size and time.
//!
//! Certificates are verified against the host's trust store. No cookie, credential or header of the user is sent.

use std::io::{Read, Write};
use std::time::Duration;

use acpd_http_client::is_loopback;
use sha2::{Digest, Sha256};

use super::error::CatalogError;
use super::progress::{Progress, Watch};

/// Seconds that one download may take.
const DOWNLOAD_SECS: u64 = 900;
/// Number of redirects that are followed. Release archives need two.
const REDIRECTS: u32 = 5;

/// Downloads at most `limit` bytes of `url` into `to`. Returns the SHA-256 of the content, in hexadecimal digits.
pub fn fetch(
    url: &str,
    limit: u64,
    to: &mut impl Write,
    watch: Option<Watch<'_>>,
) -> Result<String, CatalogError> {
    let near = may_be_fetched(url)?;
    let agent = agent(near);
    let failed = |reason: String| CatalogError::Fetch {
        url: url.to_owned(),
        reason,
    };
    let mut response = agent.get(url).call().map_err(|error| failed(reason(&error)))?;
    if response.status() != 200 {
        return Err(failed(format!("the answer is {}", response.status())));
    }
    let whole = response.body().content_length();
    // Reads one byte more than allowed, to distinguish a body of exactly `limit` bytes from a larger one.
    let mut body = response
        .body_mut()
        .with_config()
        .limit(u64::MAX)
        .reader()
        .take(limit + 1);
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    let mut total = 0;
    loop {
        let read = body
            .read(&mut buffer)
            .map_err(|error| failed(error.to_string()))?;
        if read == 0 {
            return Ok(hex(&sum.finalize()));
        }
        total += read as u64;
        if total > limit {
            let url = url.to_owned();
            return Err(CatalogError::TooLarge { url, limit });
        }
        sum.update(&buffer[..read]);
        to.write_all(&buffer[..read])
            .map_err(|error| failed(format!("it cannot be stored: {error}")))?;
        if let Some(watch) = watch {
            watch(Progress::Received {
                bytes: total,
                of: whole,
            });
        }
    }
}

/// Describes why a request failed, without the library's prefix of errors of the operating system.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => error.to_string(),
        error => error.to_string(),
    }
}

fn agent(near: bool) -> ureq::Agent {
    acpd_http_client::settings(Duration::from_secs(DOWNLOAD_SECS), near)
        .https_only(!near)
        // A download from this host follows no redirect to another one.
        .max_redirects(if near { 0 } else { REDIRECTS })
        .build()
        .into()
}

/// Returns whether the address is on this host, or an error if downloads from it are not allowed.
fn may_be_fetched(url: &str) -> Result<bool, CatalogError> {
    let refused = || CatalogError::Address(url.to_owned());
    let uri: ureq::http::Uri = url.parse().map_err(|_| refused())?;
    let host = uri.host().ok_or_else(refused)?;
    match uri.scheme_str() {
        Some("https") => Ok(false),
        Some("http") if is_loopback(host) => Ok(true),
        _ => Err(refused()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_this_machine_itself() {
        for (url, near) in [
            ("https://example.org/a", false),
            ("http://127.0.0.1:80/a", true),
            ("http://[::1]/a", true),
            ("http://localhost/a", true),
        ] {
            assert_eq!(may_be_fetched(url).ok(), Some(near), "{url}");
        }
        for url in [
            "http://example.org/a",
            "http://127.0.0.1@example.org/a",
            "http://127.0.0.1.example.org/",
            "file:///etc/passwd",
            "ftp://127.0.0.1/a",
            "/etc/passwd",
            "",
        ] {
            assert!(may_be_fetched(url).is_err(), "{url}");
        }
    }
}
