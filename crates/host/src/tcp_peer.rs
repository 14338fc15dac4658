//! Finds the user at the other end of a TCP connection on this host, or the user and the sockets of a listener, from the kernel's table
//! of connections.
//!
//! In: both addresses of a connection, or that of a listener. Out: a user id, or inodes of sockets. Owns: nothing. Never: contacts the
//! other end.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The kernel's tables. An IPv6 socket may use IPv4, and each end has its own kind.
const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];

/// The state of a listener in a table.
const LISTENS: &str = "0A";

/// Returns the user whose process has the end `peer` of a connection with `local`. Returns `None` if that end is on
/// another host, in another network namespace, or closed. Reads the whole table of connections in the worst case.
pub fn user_of_tcp_peer(peer: SocketAddr, local: SocketAddr) -> Result<Option<u32>> {
    for table in TABLES {
        if let Some(table) = open(table)?
            && let Some(user) = find(table, peer, local)?
        {
            return Ok(Some(user));
        }
    }
    Ok(None)
}

/// Returns the user whose process listens on an address, alone or among all addresses of its family. Returns `None` if none does.
pub fn user_of_tcp_listener(address: SocketAddr) -> Result<Option<u32>> {
    let all: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // A listener has no other end.
    let none = SocketAddr::new(all, 0);
    match user_of_tcp_peer(address, none)? {
        Some(user) => Ok(Some(user)),
        None => user_of_tcp_peer(SocketAddr::new(all, address.port()), none),
    }
}

/// Returns the inodes of the sockets that keep an address from other listeners: those that listen on it, or else those that listen on
/// all addresses of a family, or on one of them if the address itself means all.
pub fn sockets_of_tcp_listener(address: SocketAddr) -> Result<Vec<u64>> {
    let mut found = Vec::new();
    for table in TABLES {
        if let Some(table) = open(table)? {
            found.extend(overlapping(table, address)?);
        }
    }
    let nearest = found.iter().map(|(overlap, _)| *overlap).min();
    found.retain(|(overlap, _)| Some(*overlap) == nearest);
    Ok(found.into_iter().map(|(_, inode)| inode).collect())
}

/// Opens a table. Returns `None` for that of IPv6 on a kernel without it.
fn open(table: &str) -> Result<Option<BufReader<File>>> {
    match File::open(table) {
        Ok(table) => Ok(Some(BufReader::new(table))),
        Err(error) if error.kind() == ErrorKind::NotFound && table != TABLES[0] => Ok(None),
        Err(error) => Err(error),
    }
}

/// How a listener has an address, the nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Overlap {
    Same,
    /// One of the two means all addresses of their family.
    Family,
    /// One of the two means all addresses of IPv6, and with them perhaps those of IPv4.
    Families,
}

impl Overlap {
    fn of(held: IpAddr, wanted: IpAddr) -> Option<Self> {
        let covers = |all: IpAddr, other: IpAddr| all.is_unspecified() && (all.is_ipv6() || other.is_ipv4());
        if held == wanted {
            Some(Self::Same)
        } else if !covers(held, wanted) && !covers(wanted, held) {
            None
        } else if held.is_ipv4() == wanted.is_ipv4() {
            Some(Self::Family)
        } else {
            Some(Self::Families)
        }
    }
}

/// Returns the listeners of a table that overlap with an address.
fn overlapping(table: impl BufRead, address: SocketAddr) -> Result<Vec<(Overlap, u64)>> {
    let (wanted, wanted_port) = canonical(address);
    let mut found = Vec::new();
    for line in table.lines() {
        if let Some(((held, port), inode)) = listener(&line?)
            && port == wanted_port
            && let Some(overlap) = Overlap::of(held, wanted)
        {
            found.push((overlap, inode));
        }
    }
    Ok(found)
}

/// Parses the row of a listener: its end and the inode of its socket.
fn listener(line: &str) -> Option<(End, u64)> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let own = end(fields.next()?)?;
    let is_listener = fields.nth(1)? == LISTENS;
    let inode = fields.nth(5)?.parse().ok()?;
    is_listener.then_some((own, inode))
}

fn find(table: impl BufRead, peer: SocketAddr, local: SocketAddr) -> Result<Option<u32>> {
    let wanted = (canonical(peer), canonical(local));
    for line in table.lines() {
        if let Some((ends, user)) = row(&line?)
            && ends == wanted
        {
            return Ok(Some(user));
        }
    }
    Ok(None)
}

/// An address and a port.
type End = (IpAddr, u16);

/// Parses a row: the two ends from the view of its owner, and the owner. A row without an inode belongs to a socket
/// that no process has open any more; the kernel reports root as its owner.
fn row(line: &str) -> Option<((End, End), u32)> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (own, other) = (end(fields.next()?)?, end(fields.next()?)?);
    let user = fields.nth(4)?.parse().ok()?;
    let inode = fields.nth(1)?;
    (inode != "0").then_some(((own, other), user))
}

/// Parses `0100007F:1F90`: 32-bit words in the byte order of this host, then the port.
fn end(text: &str) -> Option<End> {
    let (address, port) = text.split_once(':')?;
    let word = |at: usize| u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok();
    let address = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?.to_ne_bytes())),
        32 => {
            let mut bytes = [0; 16];
            for (at, place) in bytes.chunks_exact_mut(4).enumerate() {
                place.copy_from_slice(&word(at)?.to_ne_bytes());
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some((address.to_canonical(), u16::from_str_radix(port, 16).ok()?))
}

fn canonical(address: SocketAddr) -> End {
    (address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[cfg(target_endian = "little")]
    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:101F 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0000000000000000 100 0 0 10 0
   1: 0100007F:101F 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0000000000000000 20 4 30 10 -1
   2: 0100007F:C350 0100007F:101F 01 00000000:00000000 00:00000000 00000000  1001        0 13 1 0000000000000000 20 4 30 10 -1
   3: 0100007F:C351 0100007F:101F 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000
   4: 0000000000000000FFFF00000100007F:C352 0000000000000000FFFF00000100007F:101F 01 00000000:00000000 00:00000000 00000000  1002        0 14 1 0 20
   5: 00000000000000000000000001000000:C353 00000000000000000000000001000000:101F 01 00000000:00000000 00:00000000 00000000  1003        0 15 1 0 20
   6: B80D0120000000000000000001000000:C354 B80D0120000000000000000002000000:101F 01 00000000:00000000 00:00000000 00000000  1004        0 16 1 0 20
   7: nonsense
   8: 0100007F:C355 0100007F:101F 01 0:0
   9: 0100007F:C35G 0100007F:101F 01 00000000:00000000 00:00000000 00000000  1005        0 17 1
";

    #[test]
    #[cfg(target_endian = "little")]
    fn the_row_of_the_other_end_says_whose_it_is() {
        let four = "127.0.0.1:4127";
        for (peer, local, user) in [
            ("127.0.0.1:50000", four, Some(1001)),
            ("[::ffff:127.0.0.1]:50000", "[::ffff:127.0.0.1]:4127", Some(1001)),
            // No process has the socket open any more, so it is not root's.
            ("127.0.0.1:50001", four, None),
            ("127.0.0.1:50002", four, Some(1002)),
            ("[::1]:50003", "[::1]:4127", Some(1003)),
            ("[2001:db8::1]:50004", "[2001:db8::2]:4127", Some(1004)),
            ("127.0.0.1:50005", four, None),
            ("127.0.0.1:50000", "127.0.0.2:4127", None),
            ("127.0.0.1:50000", "127.0.0.1:4128", None),
            ("192.0.2.1:50000", four, None),
            ("127.0.0.1:0", four, None),
        ] {
            let found = find(TABLE.as_bytes(), peer.parse().unwrap(), local.parse().unwrap()).unwrap();
            assert_eq!(found, user, "{peer} {local}");
        }
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn only_listeners_that_overlap_with_an_address_have_it() {
        const LISTENERS: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:101F 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0000000000000000 100 0 0 10 0
   1: 0100007F:101F 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0000000000000000 20 4 30 10 -1
   2: 00000000000000000000000001000000:101F 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 13 1 0 100
   3: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 14 1 0 100
   4: 00000000000000000000000000000000:0051 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 15 1 0 100
   5: nonsense
   6: 0100007F:101F 00000000:0000 0A 0:0
";
        let cases: [(&str, &[(Overlap, u64)]); 11] = [
            ("127.0.0.1:4127", &[(Overlap::Same, 11)]),
            ("[::ffff:127.0.0.1]:4127", &[(Overlap::Same, 11)]),
            ("[::1]:4127", &[(Overlap::Same, 13)]),
            ("127.0.0.2:4127", &[]),
            ("0.0.0.0:4127", &[(Overlap::Family, 11)]),
            ("[::]:4127", &[(Overlap::Families, 11), (Overlap::Family, 13)]),
            ("127.0.0.1:80", &[(Overlap::Family, 14)]),
            ("[::1]:80", &[]),
            ("[::1]:81", &[(Overlap::Family, 15)]),
            ("127.0.0.1:81", &[(Overlap::Families, 15)]),
            ("127.0.0.1:82", &[]),
        ];
        for (address, found) in cases {
            let address = address.parse().unwrap();
            assert_eq!(
                overlapping(LISTENERS.as_bytes(), address).unwrap(),
                found,
                "{address}"
            );
            assert!(overlapping(&b""[..], address).unwrap().is_empty(), "{address}");
        }
    }

    #[test]
    fn our_own_connections_are_ours() {
        let us = rustix::process::geteuid().as_raw();
        for (listen, connect) in [
            ("127.0.0.1:0", None),
            ("[::1]:0", None),
            ("[::]:0", Some("127.0.0.1")),
        ] {
            // A host without IPv6 skips this part.
            let Ok(listener) = TcpListener::bind(listen) else {
                assert!(listen.starts_with('['), "{listen}");
                continue;
            };
            let mut to = listener.local_addr().unwrap();
            if let Some(host) = connect {
                to.set_ip(host.parse().unwrap());
            }
            let near = TcpStream::connect(to).unwrap();
            let (far, peer) = listener.accept().unwrap();
            let local = far.local_addr().unwrap();
            assert_eq!(user_of_tcp_peer(peer, local).unwrap(), Some(us), "{listen}");
            drop(near);
            assert_eq!(user_of_tcp_peer(peer, local).unwrap(), None, "{listen} is closed");
        }
    }
}
