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

/// The sockets that listen on an address.
#[derive(Debug)]
pub struct NetworkListener {
    main: TcpListener,
    /// The socket on the other loopback address.
    other: Option<TcpListener>,
    address: SocketAddr,
    has_localhost: bool,
}

impl NetworkListener {
    /// Listens on an address, and on the other loopback address with the same port if it is a loopback address.
    pub async fn bind(address: SocketAddr) -> Result<Self> {
        for _ in 1..ATTEMPTS {
            let listener = Self::with_other(TcpListener::bind(address).await?).await?;
            if address.port() != 0 || listener.has_localhost || other_loopback(address).is_none() {
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
        let (other, has_localhost) = match other_loopback(address) {
            _ if listens_on_both(&main, address) => (None, true),
            None => (None, false),
            Some(other) => match TcpListener::bind(other).await {
                Ok(other) => (Some(other), true),
                Err(error) => (None, is_without_family(&error)),
            },
        };
        Ok(Self {
            main,
            other,
            address,
            has_localhost,
        })
    }

    /// Reports that the name `localhost` may lead to another program.
    fn warn(&self) {
        let Some(other) = other_loopback(self.address).filter(|_| !self.has_localhost) else {
            return;
        };
        tracing::warn!(
            "{}: the daemon refuses requests to \"localhost\", which may lead there; use {}",
            taken(other),
            self.address
        );
    }

    /// Returns the address, with its port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns whether no other program can listen on an address of `localhost` with this port.
    pub fn has_localhost(&self) -> bool {
        self.has_localhost
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

#[cfg(target_os = "linux")]
fn user_of(address: SocketAddr) -> Option<u32> {
    acpd_host::user_of_tcp_listener(address).ok()?
}

#[cfg(not(target_os = "linux"))]
fn user_of(_: SocketAddr) -> Option<u32> {
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

/// Returns whether this host has no addresses of a family, so that no program listens there.
fn is_without_family(error: &Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::ADDRNOTAVAIL | Errno::AFNOSUPPORT)
    )
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
            assert!(listener.has_localhost(), "{ip}");
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
            assert!(!listener.has_localhost(), "{ours}");
            drop((listener, other));
            assert_eq!(taken_by_another(address), None, "{ours}");
            assert!(NetworkListener::bind(address).await.unwrap().has_localhost());
        }
        let apart = NetworkListener::bind(at("127.0.0.2", 0)).await;
        // Not every system has this address.
        assert!(apart.is_err() || apart.is_ok_and(|listener| !listener.has_localhost()));
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
