//! The port of a daemon whose address nothing names, where another program has the default one.
//!
//! In: the default address, and the port of the last start. Out: a listener. Owns: the file `port` of the data directory. Never:
//! replaces an address that the user names.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use acpd_files::{data_files, private_file};
use acpd_server::net::listener;

/// Ports after the default one that the daemon tries before it takes any free one.
const NEXT_PORTS: u16 = 10;

/// Longest file with a port, in bytes.
const FILE_BYTES: u64 = 16;

/// Time for another program to show that it is acpd.
const PROBE: Duration = Duration::from_millis(500);

/// Longest part of its answer that is read, in bytes.
const PROBE_BYTES: usize = 8 << 10;

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

/// Says which program listens at an address, as a clause.
pub fn holder(address: SocketAddr) -> String {
    let own = rustix::process::geteuid().as_raw();
    let other = listener::user_of(address).filter(|user| *user != own);
    match (is_acpd(address), other) {
        (true, Some(user)) => format!("the acpd of user {user} listens"),
        (true, None) => "another acpd, with another data directory, listens".to_owned(),
        (false, Some(user)) => format!("a program of user {user} listens"),
        (false, None) => "another program listens".to_owned(),
    }
}

/// Returns whether a daemon of acpd answers at an address. It needs no token to say so.
fn is_acpd(address: SocketAddr) -> bool {
    // One that does not answer is another program.
    answers_as_acpd(address).unwrap_or(false)
}

fn answers_as_acpd(address: SocketAddr) -> std::io::Result<bool> {
    // Any program may listen there, also one that sends byte by byte.
    let deadline = Instant::now() + PROBE;
    let mut stream = TcpStream::connect_timeout(&address, PROBE)?;
    stream.set_read_timeout(Some(PROBE))?;
    stream.set_write_timeout(Some(PROBE))?;
    let request = format!("GET /api/session HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut part = [0; 1024];
    while answer.len() < PROBE_BYTES && Instant::now() < deadline {
        let read = stream.read(&mut part)?;
        answer.extend_from_slice(&part[..read]);
        if answer.windows(MARK.len()).any(|part| part == MARK) {
            return Ok(true);
        }
        if read == 0 {
            break;
        }
    }
    Ok(false)
}

/// What a daemon answers to a client without a token.
const MARK: &[u8] = b"send the access token as Authorization: Bearer";

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// Listens on a free port, and answers one client with this.
    fn program(answer: &'static str) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            client.write_all(answer.as_bytes()).unwrap();
            // Until the client has left.
            let _ = client.read(&mut [0; 1024]);
        });
        address
    }

    #[test]
    fn only_a_daemon_is_called_one() {
        let daemon = "HTTP/1.1 401 Unauthorized\r\n\r\n{\"error\":{\"message\":\"send the access token as Authorization: Bearer; a \
                      ticket works once\"}}";
        assert!(is_acpd(program(daemon)));
        for other in ["", "ok\n", "HTTP/1.1 200 OK\r\n\r\nhello"] {
            assert!(!is_acpd(program(other)), "{other}");
        }
    }

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
