//! The address at which a phone reaches the daemon.
//!
//! In: where the daemon listens, which it publishes itself, and what the user names. Out: a URL, or what the user can do. Never: uses
//! the configuration of this command, which the running daemon need not have.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use super::tailscale::Tailnet;
use crate::cli::PairArgs;
use crate::client::local::daemon_file::DaemonFile;
use crate::exit::Exit;
use crate::remote::origin::Origin;
use crate::settings::Settings;

/// The address of a link.
pub struct Address {
    /// The URL, without a slash at its end.
    pub url: String,
    /// The tailnet in which Tailscale serves it, and the local URL to which it forwards.
    tailnet: Option<(Tailnet, String)>,
}

impl Address {
    /// Finds the address for these arguments.
    pub async fn of(settings: &Settings, args: &PairArgs) -> anyhow::Result<Self> {
        if let Some(url) = &args.url {
            return Ok(Self::at(Origin::named(url)?.to_string()));
        }
        if let Some(remote) = &settings.remote {
            if args.tailscale {
                return Err(Exit::Usage.error("--tailscale works only on the daemon's host"));
            }
            let url = remote.url();
            return match Origin::parse(&url) {
                Some(origin) if !origin.is_loopback() => Ok(Self::at(url)),
                _ => Err(Exit::Usage.error(format!(
                    "{url} is a tunnel of this computer, which a phone cannot use: name the daemon's address with --url, or run \
                     \"acpd pair --tailscale\" on its host"
                ))),
            };
        }
        let notice = DaemonFile::read(&settings.daemon.data_dir)?;
        let (listens, url) = (notice.listens(), notice.address());
        if args.tailscale {
            let tailnet = Tailnet::find().await?;
            let target = forwarded(listens, &url);
            return Ok(Self {
                url: tailnet.url(),
                tailnet: Some((tailnet, target)),
            });
        }
        if listens.ip().is_loopback() {
            return Err(Exit::Usage.error(unreachable(listens)));
        }
        if !listens.ip().is_unspecified() {
            return Ok(Self::at(url));
        }
        let own = own_address().ok_or_else(|| {
            Exit::Failure.error("this host has no address in a network: name one with --url".to_owned())
        })?;
        let scheme = if url.starts_with("https:") {
            "https"
        } else {
            "http"
        };
        Ok(Self::at(format!(
            "{scheme}://{}",
            SocketAddr::new(own, listens.port())
        )))
    }

    fn at(url: String) -> Self {
        Self { url, tailnet: None }
    }

    /// Lets Tailscale serve the address, if it is one of a tailnet.
    pub async fn serve(&self) -> anyhow::Result<()> {
        match &self.tailnet {
            Some((tailnet, target)) => tailnet.serve(target).await,
            None => Ok(()),
        }
    }

    /// Returns whether others in the network see what is sent.
    pub fn is_clear_text(&self) -> bool {
        Origin::parse(&self.url).is_some_and(|origin| !origin.is_secure && !origin.is_loopback())
    }
}

/// Returns the local URL to which Tailscale forwards. It does not check the certificate of a daemon that has one for other names.
fn forwarded(listens: SocketAddr, url: &str) -> String {
    let scheme = if url.starts_with("https:") {
        "https+insecure"
    } else {
        "http"
    };
    let at = if listens.ip().is_unspecified() {
        SocketAddr::from(([127, 0, 0, 1], listens.port()))
    } else {
        listens
    };
    format!("{scheme}://{at}")
}

/// Says what to do where the daemon listens on this host only.
fn unreachable(listens: SocketAddr) -> String {
    format!(
        "the daemon listens on {listens}, which a phone cannot reach. Choose a way:\n  \
         acpd pair --tailscale                  with Tailscale on this host and on the phone\n  \
         acpd pair --url https://box.example    with a proxy or another address that leads to this daemon\n\
         Or let the daemon listen on the network with TLS: see \"TLS in the daemon\" at http://{listens}/docs/remote.html"
    )
}

/// Returns the address of this host in the network of its default route. Nothing is sent.
fn own_address() -> Option<IpAddr> {
    // Addresses for documentation, which are routed as any other.
    let routes = [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")];
    routes.into_iter().find_map(|(from, to)| {
        let socket = UdpSocket::bind(from).ok()?;
        socket.connect(to).ok()?;
        let own = socket.local_addr().ok()?.ip();
        (!own.is_loopback() && !own.is_unspecified()).then_some(own)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tailscale_forwards_to_where_the_daemon_listens() {
        for (listens, url, target) in [
            ("127.0.0.1:4127", "http://127.0.0.1:4127", "http://127.0.0.1:4127"),
            (
                "127.0.0.1:4128",
                "https://127.0.0.1:4128",
                "https+insecure://127.0.0.1:4128",
            ),
            (
                "0.0.0.0:4127",
                "https://127.0.0.1:4127",
                "https+insecure://127.0.0.1:4127",
            ),
            ("[::1]:4127", "http://[::1]:4127", "http://[::1]:4127"),
        ] {
            assert_eq!(forwarded(listens.parse().unwrap(), url), target);
        }
    }

    #[test]
    fn an_address_of_this_host_alone_comes_with_ways_out() {
        let told = unreachable("127.0.0.1:4127".parse().unwrap());
        for part in [
            "127.0.0.1:4127",
            "acpd pair --tailscale",
            "acpd pair --url ",
            "/docs/remote.html",
        ] {
            assert!(told.contains(part), "{told}");
        }
    }
}
