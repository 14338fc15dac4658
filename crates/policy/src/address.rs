//! Patterns for URLs.
//!
//! In: a URL. Out: whether a pattern matches it. Hosts are normalized as browsers do, so that every spelling of a name
//! or number compares equal.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::pattern::Glob;
use super::problem::Problem;

/// A pattern for URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlPattern {
    /// `domain:` and a host; with `*.` in front, the subdomains of the host.
    Domain {
        /// The host in its normalized form.
        host: String,
        /// Whether only the subdomains match.
        below: bool,
    },
    /// A pattern for the whole URL.
    Whole(Glob),
}

impl UrlPattern {
    /// Parses a pattern. An error has its position in `text`, in bytes.
    pub fn parse(text: &str) -> Result<Self, (usize, Problem)> {
        let Some(domain) = text.strip_prefix("domain:") else {
            return if text.is_empty() {
                Err((0, Problem::EmptyPattern))
            } else {
                Ok(Self::Whole(Glob::parse(text)))
            };
        };
        let domain = domain.trim();
        let bare = domain.strip_prefix("*.").unwrap_or(domain);
        let host = has_labels(bare).then(|| read(bare)).flatten();
        Ok(Self::Domain {
            host: host.ok_or(("domain:".len(), Problem::Domain))?,
            below: bare.len() < domain.len(),
        })
    }

    /// Returns whether `url` matches; `None` if that is ambiguous. With `far`, a domain also matches its subdomains,
    /// and every address of the local host matches every other one.
    pub fn fits(&self, url: &str, far: bool) -> Option<bool> {
        let address = Url::parse(url).ok();
        let address = address.filter(|address| matches!(address.scheme(), "http" | "https"));
        let host = address.as_ref().and_then(Url::host).map(spelled);
        let fits = match self {
            Self::Whole(glob) => {
                glob.fits(url) || (far && address.is_some_and(|address| glob.fits(address.as_str())))
            }
            Self::Domain { host: domain, below } => host.as_ref().is_some_and(|host| {
                let is_below = host
                    .strip_suffix(domain.as_str())
                    .is_some_and(|rest| rest.ends_with('.'));
                let is_same = host == domain || (far && is_local(host) && is_local(domain));
                if *below {
                    is_below || (far && is_same)
                } else {
                    is_same || (far && is_below)
                }
            }),
        };
        // Programs other than browsers may parse another host from the URL.
        let is_sure = host.is_some() && host == plain_host(url);
        (is_sure || (far && fits)).then_some(fits)
    }

    /// Returns the number of literal characters and of wildcards.
    pub fn weight(&self) -> (usize, usize) {
        match self {
            Self::Domain { host, below: false } => (host.len(), 0),
            Self::Domain { host, below: true } => (host.len() + 1, 1),
            Self::Whole(glob) => glob.weight(),
        }
    }
}

/// Returns the normalized host of a URL. Returns `None` if programs could parse different hosts from it.
pub(super) fn host(url: &str) -> Option<String> {
    let address = Url::parse(url).ok();
    let address = address.filter(|address| matches!(address.scheme(), "http" | "https"))?;
    let host = address.host().map(spelled);
    host.filter(|host| plain_host(url).as_ref() == Some(host))
}

fn has_labels(host: &str) -> bool {
    let label = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    !host.is_empty() && host.chars().all(label)
}

/// Returns the normalized form of a host name or address.
fn read(host: &str) -> Option<String> {
    let bracketed = host.contains(':').then(|| format!("[{host}]"));
    let host = Host::parse(bracketed.as_deref().unwrap_or(host)).ok()?;
    Some(spelled(host))
}

fn spelled<S: AsRef<str>>(host: Host<S>) -> String {
    match host {
        Host::Domain(name) => name.as_ref().trim_end_matches('.').to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => match address.to_ipv4_mapped() {
            Some(address) => address.to_string(),
            None => address.to_string(),
        },
    }
}

/// Returns whether a host is the local host.
fn is_local(host: &str) -> bool {
    let v4 = |address: Ipv4Addr| address.is_loopback() || address.is_unspecified();
    let v6 = |address: Ipv6Addr| address.is_loopback() || address.is_unspecified();
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse().is_ok_and(v4)
        || host.parse().is_ok_and(v6)
}

/// Returns the host of a URL that every program parses the same way, or `None` if programs could differ.
fn plain_host(url: &str) -> Option<String> {
    if !url.is_ascii() || url.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return None;
    }
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(address) => address.split_once(']')?.0,
        None => host.split_once(':').map_or(host, |(host, _)| host),
    };
    has_labels(host).then(|| read(host)).flatten()
}
