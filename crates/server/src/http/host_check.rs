//! Checks the host names of requests, and the origins of pages.
//!
//! A page can make its own host name resolve to any address (DNS rebinding); `Host` still contains the page's name then. So
//! the daemon accepts only the names of this host, its addresses in literal form, and the configured names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, Uri, header};

/// The host names of the daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts {
    /// The configured names, with their ports.
    configured: Vec<(String, Option<u16>)>,
    /// Ports of the daemon at which `localhost` may lead to another program.
    without_localhost: Vec<u16>,
}

/// The error for an invalid host name in the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid host {0:?} in [server] hosts: write \"box.example\" or \"box.example:8443\", without scheme or path"
)]
pub struct BadHost(String);

/// The reason for rejecting a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The request has no valid `Host` header.
    #[error("the Host header does not name one host")]
    NoHost,
    /// The request names another host.
    #[error(
        "{named:?} is not a name of this daemon. If you reach it by that name, through a forwarded port or a proxy, \
         add the name to the configuration and start the daemon again: [server] hosts = [{setting:?}]"
    )]
    OtherHost {
        /// The host in the request.
        named: String,
        /// The value for the configuration.
        setting: String,
    },
    /// The request names `localhost`, which may lead to another program.
    #[error(
        "\"localhost\" may lead to another program at this port, so the daemon does not accept that name: use {url}"
    )]
    SharedName {
        /// The daemon's URL.
        url: String,
    },
    /// The request comes from a page of another origin.
    #[error("requests from other origins are refused")]
    OtherOrigin,
    /// A request at the local socket does not come directly from a program of this user.
    #[error("the local socket does not accept browsers and proxies: use the network address")]
    PassedOn,
}

/// The headers that proxies add to forwarded requests.
const FORWARDING_HEADERS: [&str; 5] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-real-ip",
];

impl AllowedHosts {
    /// Parses the host names of a configuration.
    pub fn new(hosts: &[String]) -> Result<Self, BadHost> {
        let read = |text: &String| match split(text) {
            Some((host, port)) if !host.is_empty() => Ok((host, port)),
            _ => Err(BadHost(text.clone())),
        };
        Ok(Self {
            configured: hosts.iter().map(read).collect::<Result<_, _>>()?,
            without_localhost: Vec::new(),
        })
    }

    /// Refuses the name `localhost` at a port of the daemon, also if it is configured: another program may have one of the addresses
    /// of that name, and would receive what browsers send.
    pub fn refuse_localhost(&mut self, port: u16) {
        self.without_localhost.push(port);
    }

    /// Returns the names without ports, for a certificate.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.configured.iter().map(|(host, _)| host.as_str())
    }

    /// Checks that a request to the address `local` names this daemon. If a page sent it, the page must be the daemon's
    /// own.
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
        let at = port.unwrap_or(if secure { 443 } else { 80 });
        if host == "localhost" && at == local.port() && self.without_localhost.contains(&at) {
            return Err(shared_name(local, secure));
        }
        if !self.is_ours(host, at, local) {
            return Err(other_host(host, *port, local));
        }
        // A request line can contain a host as well. Both must be equal.
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

    /// Checks that the daemon, which listens on `listen`, would accept requests that name this host, as from a page at
    /// `https://HOST:PORT`.
    pub fn check_name(
        &self,
        host: &str,
        port: Option<u16>,
        secure: bool,
        listen: SocketAddr,
    ) -> Result<(), HostError> {
        let host = host.to_ascii_lowercase();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        // A daemon on all addresses receives such requests at the address that they name.
        let local = match bare.parse::<IpAddr>() {
            Ok(address) if listen.ip().is_unspecified() => SocketAddr::new(address, listen.port()),
            _ => listen,
        };
        let at = port.unwrap_or(if secure { 443 } else { 80 });
        if host == "localhost" && at == local.port() && self.without_localhost.contains(&at) {
            return Err(shared_name(local, secure));
        }
        if self.is_ours(&host, at, local) {
            Ok(())
        } else {
            Err(other_host(&host, port, local))
        }
    }

    fn is_ours(&self, host: &str, port: u16, local: SocketAddr) -> bool {
        let here = local.ip().to_canonical();
        let address = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>();
        // DNS rebinding cannot affect a literal address.
        let by_itself = port == local.port()
            && match address {
                Ok(address) => {
                    let address = address.to_canonical();
                    address == here || (address.is_loopback() && here.is_loopback())
                }
                // Other loopback addresses are not those of the name.
                Err(_) => host == "localhost" && (here == Ipv4Addr::LOCALHOST || here == Ipv6Addr::LOCALHOST),
            };
        by_itself
            || self.configured.iter().any(|(name, at)| {
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
        // The page has TLS and the daemon has not. This requires a proxy, whose name is configured.
        let behind_proxy = encrypted && self.configured.iter().any(|(name, _)| *name == host);
        same && (encrypted == secure || behind_proxy)
    }
}

/// The ports that a configured name implies: the daemon's own port, and the ports of proxies.
fn usual_ports(local: SocketAddr) -> [u16; 3] {
    [local.port(), 80, 443]
}

/// Returns the error for a request that names `host`.
fn other_host(host: &str, port: Option<u16>, local: SocketAddr) -> HostError {
    let with = |port: Option<u16>| port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    HostError::OtherHost {
        named: with(port),
        setting: with(port.filter(|port| !usual_ports(local).contains(port))),
    }
}

/// Returns the error for `localhost` where it may lead to another program.
fn shared_name(local: SocketAddr, secure: bool) -> HostError {
    let scheme = if secure { "https" } else { "http" };
    let local = SocketAddr::new(local.ip().to_canonical(), local.port());
    HostError::SharedName {
        url: format!("{scheme}://{local}"),
    }
}

/// Returns whether to accept the cookie of a request. A page of another origin can make a browser send the cookie. The
/// daemon's own pages send `Origin`, or, for requests that only read, `Sec-Fetch-Site` if the browser supports it.
pub fn cookie_counts(method: &Method, headers: &HeaderMap) -> bool {
    // The caller has already checked that the origin is the daemon's own.
    if headers.contains_key(header::ORIGIN) {
        return true;
    }
    let reads = method.is_safe() && !headers.contains_key(header::UPGRADE);
    reads && !is_of_another_site(headers)
}

/// Returns the port that a request names; `None` if it does not name one host.
pub fn named_port(headers: &HeaderMap, secure: bool) -> Option<u16> {
    let (_, port) = only(headers, &header::HOST).and_then(split)?;
    Some(port.unwrap_or(if secure { 443 } else { 80 }))
}

/// Returns whether the browser reports that a page of another site sent the request.
pub fn is_of_another_site(headers: &HeaderMap) -> bool {
    let site = headers
        .get("sec-fetch-site")
        .map(axum::http::HeaderValue::as_bytes);
    !matches!(site, None | Some(b"same-origin" | b"none"))
}

/// Returns whether a browser opens a page with the request.
pub fn opens_page(method: &Method, headers: &HeaderMap) -> bool {
    let accepted = only(headers, &header::ACCEPT).unwrap_or_default();
    *method == Method::GET && accepted.contains("text/html")
}

/// Returns whether the headers show that a proxy has forwarded the request.
pub fn is_forwarded(headers: &HeaderMap) -> bool {
    FORWARDING_HEADERS.iter().any(|name| headers.contains_key(*name))
}

/// Returns whether a request at the local socket was forwarded for another client, which the operating system has not
/// authenticated.
pub fn is_forwarded_or_foreign(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || headers.contains_key(header::COOKIE) || is_forwarded(headers)
}

/// Returns a header that occurs exactly once.
fn only<'h>(headers: &'h HeaderMap, name: &header::HeaderName) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (Some(one), None) => one.to_str().ok(),
        _ => None,
    }
}

/// Parses `host` or `host:port`, and returns it in lower case.
fn split(text: &str) -> Option<(String, Option<u16>)> {
    let authority: Authority = text.parse().ok()?;
    let port = authority.port_u16();
    let host = authority.host().to_ascii_lowercase();
    // Rejects user names, invalid ports, and text that the parser ignored.
    let whole = port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"));
    (whole == text.to_ascii_lowercase()).then_some((host, port))
}

#[cfg(test)]
mod tests;
