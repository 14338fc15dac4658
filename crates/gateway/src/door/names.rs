//! Under which names the daemon is called, and which pages may call it.
//!
//! A page can make its own name point to any address (DNS rebinding): then `Host` still says the page's name. So
//! only this machine's names, its addresses as they stand, and the configured names are taken.

use std::net::{IpAddr, SocketAddr};

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, Uri, header};

/// The configured names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names(Vec<(String, Option<u16>)>);

/// A name that cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} in [server] hosts is no host: write \"box.example\" or \"box.example:8443\", without scheme or path"
)]
pub struct BadHost(String);

/// Why a request is turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Foreign(pub &'static str);

/// What those say who pass requests of others on, and browsers.
const OF_OTHERS: [&str; 7] = [
    "origin",
    "cookie",
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-real-ip",
];

impl Names {
    /// Those of a configuration.
    pub fn new(hosts: &[String]) -> Result<Self, BadHost> {
        let read = |text: &String| match split(text) {
            Some((host, port)) if !host.is_empty() => Ok((host, port)),
            _ => Err(BadHost(text.clone())),
        };
        Ok(Self(hosts.iter().map(read).collect::<Result<_, _>>()?))
    }

    /// The names without ports, for a certificate.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(host, _)| host.as_str())
    }

    /// Whether a request that came in at `local` was meant for the daemon, and by a page of its own if by a page.
    pub fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        local: SocketAddr,
        secure: bool,
    ) -> Result<(), Foreign> {
        let named = only(headers, &header::HOST).and_then(split);
        let ours = |(host, port): &(String, Option<u16>)| {
            self.is_ours(host, port.unwrap_or(if secure { 443 } else { 80 }), local)
        };
        let Some(named) = named.filter(ours) else {
            return Err(Foreign("this name is not the daemon's"));
        };
        // A request line may name a host as well; then it is the one that counts.
        if uri
            .authority()
            .is_some_and(|authority| split(authority.as_str()).as_ref() != Some(&named))
        {
            return Err(Foreign("this name is not the daemon's"));
        }
        if headers.contains_key(header::ORIGIN)
            && !only(headers, &header::ORIGIN).is_some_and(|origin| self.is_own_page(origin, &named, secure))
        {
            return Err(Foreign("requests from other origins are refused"));
        }
        Ok(())
    }

    fn is_ours(&self, host: &str, port: u16, local: SocketAddr) -> bool {
        let here = local.ip().to_canonical();
        let address = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>();
        // An address cannot be made to point elsewhere.
        let by_itself = port == local.port()
            && match address {
                Ok(address) => {
                    let address = address.to_canonical();
                    address == here || (address.is_loopback() && here.is_loopback())
                }
                Err(_) => host == "localhost" && here.is_loopback(),
            };
        by_itself
            || self.0.iter().any(|(name, at)| {
                name == host
                    && match at {
                        Some(at) => *at == port,
                        // Behind a proxy it is called with the proxy's port.
                        None => [local.port(), 80, 443].contains(&port),
                    }
            })
    }

    fn is_own_page(&self, origin: &str, named: &(String, Option<u16>), secure: bool) -> bool {
        let (page, default, encrypted) =
            match (origin.strip_prefix("https://"), origin.strip_prefix("http://")) {
                (Some(page), _) => (page, 443, true),
                (_, Some(page)) => (page, 80, false),
                _ => return false,
            };
        let Some((host, port)) = split(page) else {
            return false;
        };
        let same = host == named.0 && port.unwrap_or(default) == named.1.unwrap_or(default);
        // A page with TLS in front of a daemon without: only behind a proxy, which has a name that is configured.
        let behind_proxy = encrypted && self.0.iter().any(|(name, _)| *name == host);
        same && (encrypted == secure || behind_proxy)
    }
}

/// Whether a request may speak for the cookie that the browser put in: a page of another origin can make a browser
/// send one. Its own pages say so with `Origin`, or, for what only reads, with `Sec-Fetch-Site` if it sends that.
pub fn cookie_counts(method: &Method, headers: &HeaderMap) -> bool {
    // That an origin is our own was seen before.
    if headers.contains_key(header::ORIGIN) {
        return true;
    }
    let reads = method.is_safe() && !headers.contains_key(header::UPGRADE);
    let site = headers
        .get("sec-fetch-site")
        .map(axum::http::HeaderValue::as_bytes);
    reads && matches!(site, None | Some(b"same-origin" | b"none"))
}

/// Whether a request at the local socket was passed on for somebody else, who is not the one whom the system knows.
pub fn is_of_others(headers: &HeaderMap) -> bool {
    OF_OTHERS.iter().any(|name| headers.contains_key(*name))
}

/// A header that is there once.
fn only<'h>(headers: &'h HeaderMap, name: &header::HeaderName) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (Some(one), None) => one.to_str().ok(),
        _ => None,
    }
}

/// `host` or `host:port`, lower case.
fn split(text: &str) -> Option<(String, Option<u16>)> {
    let authority: Authority = text.parse().ok()?;
    let port = authority.port_u16();
    let host = authority.host().to_ascii_lowercase();
    // No user, no port that is no number, nothing that was read over.
    let whole = port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"));
    (whole == text.to_ascii_lowercase()).then_some((host, port))
}

#[cfg(test)]
mod tests;
