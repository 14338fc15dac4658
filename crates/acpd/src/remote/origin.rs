//! The address at which a daemon is reached: a scheme, a host and perhaps a port.

use std::fmt;

use hyper::http::uri::Authority;

use crate::exit::Exit;

/// `https://HOST[:PORT]` or `http://HOST[:PORT]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Whether the scheme is https.
    pub is_secure: bool,
    authority: Authority,
}

impl Origin {
    /// Reads an address, which may end with a slash. Returns `None` if it has a path, a user name or anything else.
    pub fn parse(url: &str) -> Option<Self> {
        let (is_secure, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return None,
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains(['/', '@']) {
            return None;
        }
        let authority: Authority = rest.parse().ok()?;
        let port = authority.as_str().strip_prefix(authority.host())?;
        if authority.host().is_empty() || (!port.is_empty() && authority.port_u16().is_none()) {
            return None;
        }
        Some(Self { is_secure, authority })
    }

    /// Reads an address that the user named.
    pub fn named(url: &str) -> anyhow::Result<Self> {
        Self::parse(url)
            .ok_or_else(|| Exit::Usage.error(format!("invalid daemon URL {url:?}: use https://HOST:PORT")))
    }

    /// Returns the name or address; an IPv6 address is in brackets.
    pub fn host(&self) -> &str {
        self.authority.host()
    }

    /// Returns the port, which the scheme decides if none is written.
    pub fn port(&self) -> u16 {
        let default = if self.is_secure { 443 } else { 80 };
        self.authority.port_u16().unwrap_or(default)
    }

    /// Returns whether only programs of one host reach each other at this address.
    pub fn is_loopback(&self) -> bool {
        acpd_http_client::is_loopback(self.host())
    }
}

/// Without a slash at its end.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_scheme_a_host_and_a_port() {
        for (url, origin) in [
            ("https://box.example", Some("https://box.example")),
            ("https://box.example:4127/", Some("https://box.example:4127")),
            ("http://[2001:db8::1]:4127", Some("http://[2001:db8::1]:4127")),
            ("http://127.0.0.1", Some("http://127.0.0.1")),
            ("box.example:4127", None),
            ("ftp://box.example", None),
            ("https://", None),
            ("https://:4127", None),
            ("https://box.example:", None),
            ("https://box.example:99999", None),
            ("https://box.example:x", None),
            ("https://box example", None),
            ("https://me@box.example", None),
            ("https://box.example/path", None),
            ("https://box.example//", None),
            ("https://box.example?a", None),
            ("https://box.example#a", None),
        ] {
            let read = Origin::parse(url).map(|origin| origin.to_string());
            assert_eq!(read.as_deref(), origin, "{url}");
        }
    }

    #[test]
    fn names_that_begin_like_loopback_addresses_are_not_loopback() {
        for (url, expected) in [
            ("http://localhost:4127", true),
            ("http://127.0.0.1:4127", true),
            ("http://127.8.0.1", true),
            ("https://[::1]:4127", true),
            ("http://localhost.example", false),
            ("http://127.example", false),
            ("http://10.0.0.1:4127", false),
        ] {
            let is_loopback = Origin::parse(url).is_some_and(|origin| origin.is_loopback());
            assert_eq!(is_loopback, expected, "{url}");
        }
    }
}
