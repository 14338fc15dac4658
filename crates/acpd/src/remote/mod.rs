//! The address of a remote daemon, and what proves that it is the one meant.

pub mod origin;
pub mod pin;

use self::origin::Origin;
use self::pin::Fingerprint;
use crate::exit::Exit;

/// The address of a remote daemon.
#[derive(Debug, Clone)]
pub struct Remote {
    /// Name or address; an IPv6 address is in brackets.
    pub host: String,
    pub port: u16,
    pub secure: bool,
    /// The fingerprint of the only accepted certificate, regardless of its issuer.
    pub pin: Option<Fingerprint>,
}

impl Remote {
    /// Parses `https://host[:port]`.
    pub fn parse(url: &str, pin: Option<&str>) -> anyhow::Result<Self> {
        let origin = Origin::named(url)?;
        if !origin.is_secure && !origin.is_loopback() {
            return Err(Exit::Usage.error(format!(
                "{url:?} sends the access token in clear text: use https://, or an SSH tunnel to 127.0.0.1"
            )));
        }
        if !origin.is_secure && pin.is_some() {
            return Err(Exit::Usage.error(format!("--tls-fingerprint requires an https:// URL; got {url:?}")));
        }
        Ok(Self {
            host: origin.host().to_owned(),
            port: origin.port(),
            secure: origin.is_secure,
            pin: pin.map(fingerprint).transpose()?,
        })
    }

    /// Returns the daemon's URL, without a path.
    pub fn url(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}", self.address())
    }

    /// Returns whether only one certificate is accepted, whatever its issuer.
    pub fn is_pinned(&self) -> bool {
        self.pin.is_some()
    }

    /// Returns the host with its port.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

fn fingerprint(text: &str) -> anyhow::Result<Fingerprint> {
    text.parse()
        .map_err(|error| Exit::Usage.error(format!("invalid fingerprint {text:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_https_unless_it_is_this_machine() {
        for (url, address) in [
            ("https://box.example", Some("box.example:443")),
            ("https://box.example:4127/", Some("box.example:4127")),
            ("https://[2001:db8::1]:4127", Some("[2001:db8::1]:4127")),
            ("http://localhost:4127", Some("localhost:4127")),
            ("http://127.0.0.1", Some("127.0.0.1:80")),
            ("http://box.example:4127", None),
            ("box.example:4127", None),
            ("https://me@box.example", None),
            ("https://box.example/path", None),
            ("https://", None),
            ("ftp://box.example", None),
        ] {
            let read = Remote::parse(url, None).ok().map(|remote| remote.address());
            assert_eq!(read.as_deref(), address, "{url}");
        }
        assert!(Remote::parse("http://localhost:1", Some(&"0".repeat(64))).is_err());
    }
}
