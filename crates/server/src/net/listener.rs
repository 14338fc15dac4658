//! The listeners of a network address. `localhost` is two addresses, and browsers choose one: a daemon on a loopback address listens on
//! both, so that no other program receives what is meant for it.
//!
//! In: an address, or a socket that listens on one. Out: connections. Owns: the sockets. Never: refuses a request by its name;
//! `http::host_check` does.

use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll};

use rustix::io::Errno;
use rustix::net::sockopt::ipv6_v6only;
use tokio::net::{TcpListener, TcpStream};

/// Attempts to find a port that is free on both loopback addresses.
const ATTEMPTS: usize = 8;

/// The first port on which programs of all users may listen.
const PRIVILEGED_PORTS: u16 = 1024;

/// The sockets that listen on an address.
#[derive(Debug)]
pub struct NetworkListener {
    main: TcpListener,
    /// The socket on the other loopback address.
    other: Option<TcpListener>,
    address: SocketAddr,
    /// Why another program can have the other loopback address, as a clause.
    shared: Option<String>,
}

impl NetworkListener {
    /// Listens on an address, and on the other loopback address with the same port if it is a loopback address.
    pub async fn bind(address: SocketAddr) -> Result<Self> {
        for _ in 1..ATTEMPTS {
            let listener = Self::with_other(TcpListener::bind(address).await?).await?;
            if address.port() != 0 || !listener.shares_localhost() {
                listener.warn();
                return Ok(listener);
            }
        }
        Self::adopt(TcpListener::bind(address).await?).await
    }

    /// Uses a socket that another program has opened.
    pub async fn adopt(main: TcpListener) -> Result<Self> {
        let listener = Self::with_other(main).await?;
        listener.warn();
        Ok(listener)
    }

    async fn with_other(main: TcpListener) -> Result<Self> {
        let address = main.local_addr()?;
        let (other, shared) = match other_loopback(address) {
            Some(other) if !listens_on_both(&main, address) => match TcpListener::bind(other).await {
                Ok(other) => (Some(other), None),
                Err(error) => (None, why_shared(other, &error)),
            },
            _ => (None, None),
        };
        Ok(Self {
            main,
            other,
            address,
            shared,
        })
    }

    /// Reports that the name `localhost` may lead to another program.
    fn warn(&self) {
        if let Some(why) = &self.shared {
            tracing::warn!(
                "{why}: the daemon refuses requests to \"localhost\", which may lead there; use {}",
                self.address
            );
        }
    }

    /// Returns the address, with its port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns whether the daemon listens on one address of `localhost`, and another program can have the other one with this port. A
    /// daemon on none of them has that name only if it is configured, as behind a forwarded port.
    pub fn shares_localhost(&self) -> bool {
        self.shared.is_some()
    }

    /// Returns the next connection and the address of its client. One task may wait for it.
    pub fn poll_accept(&self, context: &mut Context<'_>) -> Poll<Result<(TcpStream, SocketAddr)>> {
        match (self.main.poll_accept(context), &self.other) {
            (Poll::Pending, Some(other)) => other.poll_accept(context),
            (accepted, _) => accepted,
        }
    }
}

/// Returns which address is taken by another program, if it is this one or the other loopback address with its port.
pub fn taken_by_another(address: SocketAddr) -> Option<SocketAddr> {
    let is_taken = |address: &SocketAddr| {
        let bound = std::net::TcpListener::bind(address);
        bound.is_err_and(|error| error.kind() == ErrorKind::AddrInUse)
    };
    [Some(address), other_loopback(address)]
        .into_iter()
        .flatten()
        .find(is_taken)
}

/// Returns a clause that says that an address is taken, by which user if that is known.
pub fn taken(address: SocketAddr) -> String {
    match user_of(address) {
        Some(user) => format!("{address} is taken by another program (of user {user})"),
        None => format!("{address} is taken by another program"),
    }
}

/// Returns the user whose program listens on an address, if that is known.
#[cfg(target_os = "linux")]
pub fn user_of(address: SocketAddr) -> Option<u32> {
    acpd_host::user_of_tcp_listener(address).ok()?
}

/// Returns `None`: this system does not say whose program listens on an address.
#[cfg(not(target_os = "linux"))]
pub fn user_of(_: SocketAddr) -> Option<u32> {
    None
}

/// Returns the address of `localhost` on which a listener of `address` may not listen. The name means neither of the daemon's if the
/// address is neither.
fn other_loopback(address: SocketAddr) -> Option<SocketAddr> {
    let other: IpAddr = match address.ip() {
        IpAddr::V4(Ipv4Addr::LOCALHOST | Ipv4Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::LOCALHOST | Ipv6Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        _ => return None,
    };
    Some(SocketAddr::new(other, address.port()))
}

/// Returns whether one socket listens on all addresses of both families.
fn listens_on_both(listener: &TcpListener, address: SocketAddr) -> bool {
    address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) && matches!(ipv6_v6only(listener), Ok(false))
}

/// Returns a clause that says why another program can have the other address of `localhost`, on which the daemon could not listen.
fn why_shared(other: SocketAddr, error: &Error) -> Option<String> {
    match Errno::from_io_error(error) {
        // This host has no addresses of the family, so that no program listens there.
        Some(Errno::ADDRNOTAVAIL | Errno::AFNOSUPPORT) => None,
        // Nor may programs of other users listen there. One of root may, which serves the whole host.
        Some(Errno::ACCESS) if other.port() < PRIVILEGED_PORTS && user_of(other).is_none() => None,
        Some(Errno::ADDRINUSE) => Some(taken(other)),
        // What denies it to the daemon, such as a setting of its unit, may allow it to others.
        _ => Some(format!("acpd cannot listen on {other} ({error})")),
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    fn at(ip: &str, port: u16) -> SocketAddr {
        SocketAddr::new(ip.parse().unwrap(), port)
    }

    /// Returns whether the host has the address. Containers often have no IPv6.
    fn exists(ip: &str) -> bool {
        std::net::TcpListener::bind(at(ip, 0)).is_ok()
    }

    #[tokio::test]
    async fn both_loopback_addresses_are_listened_on() {
        for ip in ["127.0.0.1", "::1", "0.0.0.0", "::"] {
            if !exists(ip) {
                continue;
            }
            let listener = NetworkListener::bind(at(ip, 0)).await.unwrap();
            assert!(!listener.shares_localhost(), "{ip}");
            for client in ["127.0.0.1", "::1"] {
                if !exists(client) {
                    continue;
                }
                let to = at(client, listener.address().port());
                let accept = poll_fn(|context| listener.poll_accept(context));
                let (near, far) = tokio::join!(TcpStream::connect(to), accept);
                assert_eq!(near.unwrap().local_addr().unwrap().port(), far.unwrap().1.port());
            }
        }
    }

    #[tokio::test]
    async fn localhost_is_not_ours_while_another_program_has_one_of_its_addresses() {
        if !exists("::1") {
            return;
        }
        for (ours, theirs) in [("127.0.0.1", "::1"), ("::1", "127.0.0.1"), ("0.0.0.0", "::1")] {
            let other = std::net::TcpListener::bind(at(theirs, 0)).unwrap();
            let port = other.local_addr().unwrap().port();
            let address = at(ours, port);
            assert_eq!(taken_by_another(address), Some(at(theirs, port)), "{ours}");
            let listener = NetworkListener::bind(address).await.unwrap();
            assert!(listener.shares_localhost(), "{ours}");
            drop((listener, other));
            assert_eq!(taken_by_another(address), None, "{ours}");
            assert!(!NetworkListener::bind(address).await.unwrap().shares_localhost());
        }
        let apart = NetworkListener::bind(at("127.0.0.2", 0)).await;
        // Not every system has this address.
        assert!(apart.is_err() || apart.is_ok_and(|listener| !listener.shares_localhost()));
    }

    #[test]
    fn an_address_that_is_denied_is_not_called_taken() {
        let why = |errno: Errno, port| why_shared(at("::1", port), &errno.into());
        assert_eq!(why(Errno::AFNOSUPPORT, 4127), None);
        assert_eq!(why(Errno::ACCESS, 1), None);
        let taken = why(Errno::ADDRINUSE, 4127).unwrap();
        assert!(taken.starts_with("[::1]:4127 is taken"), "{taken}");
        for denied in [Errno::ACCESS, Errno::PERM] {
            let denied = why(denied, 4127).unwrap();
            assert!(
                denied.starts_with("acpd cannot listen on [::1]:4127 ("),
                "{denied}"
            );
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_user_of_a_taken_address_is_named() {
        let other = std::net::TcpListener::bind(at("127.0.0.1", 0)).unwrap();
        let address = other.local_addr().unwrap();
        let user = rustix::process::geteuid().as_raw();
        assert!(taken(address).ends_with(&format!("(of user {user})")));
        drop(other);
        assert!(taken(address).ends_with("another program"));
    }
}
