//! The program that has an address.

use std::fmt;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use acpd_server::net::listener;

use crate::terminal::plain::plain_line;

/// Time for another program to show that it is acpd.
const PROBE: Duration = Duration::from_millis(500);

/// Longest part of its answer that is read, in bytes.
const PROBE_BYTES: usize = 8 << 10;

/// What a daemon answers to a client without a token.
const MARK: &[u8] = b"send the access token as Authorization: Bearer";

/// The program that has an address, as a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// The daemon that starts, at its other address.
    Itself,
    Program {
        is_acpd: bool,
        process: Option<Process>,
        /// Its user, if it is another one.
        user: Option<u32>,
    },
}

/// A process that listens, as far as this user may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub name: String,
}

impl Holder {
    /// Finds out about the program at an address, for which one of these processes listens.
    pub fn of(address: SocketAddr, processes: Vec<Process>) -> Self {
        let own = rustix::process::geteuid().as_raw();
        let process = processes.into_iter().next();
        let is_named = |process: &Process| process.name == "acpd";
        Self::Program {
            is_acpd: process.as_ref().is_some_and(is_named) || is_acpd(address),
            process,
            user: listener::user_of(address).filter(|user| *user != own),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Program {
            is_acpd,
            process,
            user,
        } = self
        else {
            return f.write_str("the daemon itself listens there");
        };
        match (is_acpd, user) {
            (true, Some(user)) => write!(f, "the acpd of user {user} listens there")?,
            (true, None) => f.write_str("another acpd, with another data directory, listens there")?,
            (false, Some(user)) => write!(f, "a program of user {user} listens there")?,
            (false, None) => f.write_str("another program listens there")?,
        }
        match process {
            Some(Process { pid, name }) => write!(f, " ({}, process {pid})", plain_line(name)),
            None => Ok(()),
        }
    }
}

/// Returns the processes that listen on an address, as far as this user may see them.
pub fn processes(address: SocketAddr) -> Vec<Process> {
    let sockets = sockets(address);
    if sockets.is_empty() {
        return Vec::new();
    }
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let holders = processes.filter(|pid| {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
            .flatten();
        let mut links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        links.any(|link| sockets.iter().any(|socket| link.as_os_str() == socket.as_str()))
    });
    let name = |pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let process = |pid| Process {
        pid,
        name: name(pid).trim().to_owned(),
    };
    holders.map(process).collect()
}

/// Returns the sockets that listen on an address, as links of descriptors name them.
#[cfg(target_os = "linux")]
fn sockets(address: SocketAddr) -> Vec<String> {
    // Where the kernel hides its tables, the clause names no process.
    let inodes = acpd_host::sockets_of_tcp_listener(address).unwrap_or_default();
    inodes.iter().map(|inode| format!("socket:[{inode}]")).collect()
}

/// Returns none: this system does not say which sockets listen on an address.
#[cfg(not(target_os = "linux"))]
fn sockets(_: SocketAddr) -> Vec<String> {
    Vec::new()
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

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

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
    fn each_program_has_its_clause() {
        let process = |name: &str| {
            Some(Process {
                pid: 7,
                name: name.to_owned(),
            })
        };
        for (is_acpd, process, user, clause) in [
            (false, None, None, "another program listens there"),
            (
                false,
                process("nginx"),
                None,
                "another program listens there (nginx, process 7)",
            ),
            (
                false,
                process("a\u{1b}[2J"),
                None,
                "another program listens there (a\u{fffd}[2J, process 7)",
            ),
            (false, None, Some(5), "a program of user 5 listens there"),
            (true, None, Some(5), "the acpd of user 5 listens there"),
            (
                true,
                process("acpd"),
                None,
                "another acpd, with another data directory, listens there (acpd, process 7)",
            ),
        ] {
            let holder = Holder::Program {
                is_acpd,
                process,
                user,
            };
            assert_eq!(holder.to_string(), clause);
        }
        assert_eq!(Holder::Itself.to_string(), "the daemon itself listens there");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_at_another_address_with_the_same_port_does_not_count() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_found = |address: [u8; 4]| {
            let mut found = processes((address, port).into()).into_iter();
            found.any(|process| process.pid == std::process::id())
        };
        assert!(is_found([127, 0, 0, 1]));
        assert!(is_found([0, 0, 0, 0]), "it needs this address, too");
        assert!(!is_found([127, 0, 0, 2]));
    }

    #[test]
    fn only_the_name_of_acpd_itself_is_that_of_a_daemon() {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        for (name, expected) in [
            ("acpd", true),
            ("acpd-exporter", false),
            ("acpd2", false),
            ("", false),
        ] {
            let process = Process {
                pid: 7,
                name: name.to_owned(),
            };
            let Holder::Program { is_acpd, .. } = Holder::of(address, vec![process]) else {
                panic!("it is a program");
            };
            assert_eq!(is_acpd, expected, "{name}");
        }
    }
}
