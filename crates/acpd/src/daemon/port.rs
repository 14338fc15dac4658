//! The port of a daemon whose address nothing names, where another program has the default one.
//!
//! In: the default address, and the port of the last start. Out: a listener. Owns: the file `port` of the data directory. Never:
//! replaces an address that the user names.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use acpd_files::{data_files, private_file};
use acpd_server::net::listener;

/// Ports after the default one that the daemon tries before it takes any free one.
const NEXT_PORTS: u16 = 10;

/// Longest file with a port, in bytes.
const FILE_BYTES: u64 = 16;

/// Returns a listener on another port of the default address if the daemon had one when it last started, or if a program listens at the
/// default address already, or on the other loopback address, such as the daemon of another user.
pub fn another(default: SocketAddr, data_dir: &Path) -> Option<TcpListener> {
    let listen = |port: u16| {
        let address = SocketAddr::new(default.ip(), port);
        let is_free = port == 0 || listener::taken_by_another(address).is_none();
        is_free.then(|| TcpListener::bind(address).ok()).flatten()
    };
    let listener = match remembered(data_dir)
        .filter(|port| *port != default.port())
        .and_then(listen)
    {
        Some(listener) => listener,
        None => {
            let taken = listener::taken(listener::taken_by_another(default)?);
            let next = (1..=NEXT_PORTS).filter_map(|after| default.port().checked_add(after));
            let listener = next.chain([0]).find_map(listen)?;
            match listener.local_addr() {
                Ok(address) => tracing::warn!("{taken}: listening on {address}"),
                Err(error) => tracing::warn!(%error, "{taken}"),
            }
            listener
        }
    };
    // The runtime takes no other socket.
    listener.set_nonblocking(true).ok()?;
    Some(listener)
}

/// Remembers the port for the next start, so that pages and sessions of browsers stay valid. A daemon that has always had the default one
/// needs no file, and one that has it again must not return to the other.
pub fn keep(data_dir: &Path, port: u16, default: u16) {
    let known = remembered(data_dir);
    if known != Some(port) && (port != default || known.is_some()) {
        remember(data_dir, port);
    }
}

fn remember(data_dir: &Path, port: u16) {
    if let Err(error) = private_file::replace(&path(data_dir), port.to_string().as_bytes()) {
        tracing::warn!(%error, "the next start may take another port than {port}");
    }
}

fn path(data_dir: &Path) -> PathBuf {
    data_files::PORT.path(data_dir)
}

/// Returns the port of the last start. A file that cannot be used is as good as none.
fn remembered(data_dir: &Path) -> Option<u16> {
    let bytes = private_file::read(&path(data_dir), FILE_BYTES).ok().flatten()?;
    let port = std::str::from_utf8(&bytes).ok()?.trim().parse().ok()?;
    (port != 0).then_some(port)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_port_of_the_last_start_is_taken_again() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(remembered(dir.path()), None);
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        remember(dir.path(), port);
        assert_eq!(remembered(dir.path()), Some(port));
        for wrong in ["", "0", "x", "70000", "12345678901234567890"] {
            private_file::replace(&path(dir.path()), wrong.as_bytes()).unwrap();
            assert_eq!(remembered(dir.path()), None, "{wrong}");
        }
    }

    #[test]
    fn the_default_port_is_kept_once_it_is_free_again() {
        let dir = tempfile::tempdir().unwrap();
        for (port, expected) in [
            (4127, None),
            (4128, Some(4128)),
            (4128, Some(4128)),
            (4127, Some(4127)),
            (4127, Some(4127)),
        ] {
            keep(dir.path(), port, 4127);
            assert_eq!(remembered(dir.path()), expected, "{port}");
        }
    }
}
