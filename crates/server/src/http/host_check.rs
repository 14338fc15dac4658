//! Under which names the daemon is called, and which pages may call it.
//!
//! A page can make its own name point to any address (DNS rebinding): then `Host` still says the page's name. So
//! only this machine's names, its addresses as they stand, and the configured names are taken.

use std::net::{IpAddr, SocketAddr};

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, Uri, header};

/// The configured names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts(Vec<(String, Option<u16>)>);

/// A name that cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} in [server] hosts is no host: write \"box.example\" or \"box.example:8443\", without scheme or path"
)]
pub struct BadHost(String);

/// Why a request is turned away.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// It does not say where it goes.
    #[error("the Host header does not name one host")]
    NoHost,
    /// It goes to another host, as far as it says.
    #[error(
        "{named:?} is not a name of this daemon. If you reach it by that name, through a forwarded port or a proxy, \
         add the name to the configuration and start the daemon again: [server] hosts = [{setting:?}]"
    )]
    OtherHost {
        /// What it says.
        named: String,
        /// What to configure.
        setting: String,
    },
    /// It comes from a page of another origin.
    #[error("requests from other origins are refused")]
    OtherOrigin,
    /// It came to the local socket, and is not of a program of this user.
    #[error("the local socket does not accept browsers and proxies: use the network address")]
    PassedOn,
}

/// What proxies say of requests that they pass on.
const FORWARDING_HEADERS: [&str; 5] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-real-ip",
];

impl AllowedHosts {
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
    ) -> Result<(), HostError> {
        let named = only(headers, &header::HOST)
            .and_then(split)
            .ok_or(HostError::NoHost)?;
        let (host, port) = &named;
        if !self.is_ours(host, port.unwrap_or(if secure { 443 } else { 80 }), local) {
            return Err(other_host(host, *port, local));
        }
        // A request line may name a host as well; then it is the one that counts.
        if uri
            .authority()
            .is_some_and(|authority| split(authority.as_str()).as_ref() != Some(&named))
        {
            return Err(HostError::NoHost);
        }
        if headers.contains_key(header::ORIGIN)
            && !only(headers, &header::ORIGIN).is_some_and(|origin| self.is_own_page(origin, &named, secure))
        {
            return Err(HostError::OtherOrigin);
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
                name == host && at.map_or_else(|| usual_ports(local).contains(&port), |at| at == port)
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

/// The ports that a configured name need not say: the daemon's own, and those of proxies.
fn usual_ports(local: SocketAddr) -> [u16; 3] {
    [local.port(), 80, 443]
}

/// Why a request that names `host` is turned away.
fn other_host(host: &str, port: Option<u16>, local: SocketAddr) -> HostError {
    let with = |port: Option<u16>| port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    HostError::OtherHost {
        named: with(port),
        setting: with(port.filter(|port| !usual_ports(local).contains(port))),
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
    reads && !is_of_another_site(headers)
}

/// Whether a browser says that a page of another origin makes the request.
pub fn is_of_another_site(headers: &HeaderMap) -> bool {
    let site = headers
        .get("sec-fetch-site")
        .map(axum::http::HeaderValue::as_bytes);
    !matches!(site, None | Some(b"same-origin" | b"none"))
}

/// Whether a proxy has passed the request on, as far as it says so.
pub fn is_forwarded(headers: &HeaderMap) -> bool {
    FORWARDING_HEADERS.iter().any(|name| headers.contains_key(*name))
}

/// Whether a request at the local socket was passed on for somebody else, who is not the one whom the system knows.
pub fn is_forwarded_or_foreign(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || headers.contains_key(header::COOKIE) || is_forwarded(headers)
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
