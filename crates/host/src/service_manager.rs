//! The protocol of systemd between a service manager and its service: notifications, and sockets that it passes.
//!
//! In: the variables `NOTIFY_SOCKET`, `LISTEN_PID` and `LISTEN_FDS`. Out: messages to the manager, and listening sockets.
//! Owns: nothing else. Never: lets a child process inherit the variables or the sockets.

use std::io;
use std::net::TcpListener;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

/// The descriptor of the first socket that a manager passes.
const FIRST: RawFd = 3;

/// The service manager that started this process; without one, notifications do nothing.
#[derive(Debug, Default)]
pub struct ServiceManager {
    socket: Option<PathBuf>,
}

impl ServiceManager {
    /// Takes what the manager has passed to this process out of the environment.
    ///
    /// Must be called before the process has a second thread, and once. Fails if the manager passed other sockets than one
    /// that listens on an IP address.
    #[expect(unsafe_code, reason = "there is no safe form of unsetting a variable")]
    pub fn take() -> io::Result<(Self, Option<TcpListener>)> {
        let variable = |name| std::env::var(name).ok();
        let is_ours = variable("LISTEN_PID").is_some_and(|pid| pid == std::process::id().to_string());
        let passed = variable("LISTEN_FDS").filter(|_| is_ours);
        let socket = std::env::var_os("NOTIFY_SOCKET").map(PathBuf::from);
        for name in ["NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] {
            // SAFETY: there is one thread, as the caller promises.
            unsafe { std::env::remove_var(name) };
        }
        let listener = match passed.as_deref() {
            None | Some("0") => None,
            Some("1") => Some(listener()?),
            Some(count) => return Err(wrong(&format!("LISTEN_FDS is {count}"))),
        };
        Ok((Self { socket }, listener))
    }

    /// Reports that the service is ready, with a line about its state.
    pub fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nSTATUS={}", status.replace('\n', " ")));
    }

    /// Reports that the service reloads its configuration. [`ready`](Self::ready) ends that.
    pub fn reloading(&self) {
        self.send("RELOADING=1");
    }

    /// Reports that the service stops.
    pub fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=stopping");
    }

    /// Sends a message. A manager that cannot be reached ends the service by its own timeouts, so failures have no other
    /// consequence.
    fn send(&self, message: &str) {
        if let Some(socket) = &self.socket {
            let _ = send_to(socket, message.as_bytes());
        }
    }
}

/// Sends a datagram to a socket, whose name in the abstract namespace begins with `@`.
fn send_to(socket: &std::path::Path, message: &[u8]) -> io::Result<usize> {
    let from = UnixDatagram::unbound()?;
    // A manager that does not read must not hold the service.
    from.set_nonblocking(true)?;
    #[cfg(target_os = "linux")]
    if let Some(name) = socket.as_os_str().as_encoded_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt;
        let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        return from.send_to_addr(message, &address);
    }
    from.send_to(message, socket)
}

/// Returns the socket that was passed.
#[expect(unsafe_code, reason = "the descriptor is known by its number only")]
fn listener() -> io::Result<TcpListener> {
    // SAFETY: the descriptor is checked before it is owned, and the manager has passed it to this process alone.
    let socket = unsafe {
        let borrowed = std::os::fd::BorrowedFd::borrow_raw(FIRST);
        let flags = fcntl_getfd(borrowed).map_err(|_| wrong("there is no socket"))?;
        fcntl_setfd(borrowed, flags | FdFlags::CLOEXEC)?;
        OwnedFd::from_raw_fd(FIRST)
    };
    let listens = rustix::net::sockopt::socket_acceptconn(&socket).unwrap_or(false);
    let listener = TcpListener::from(socket);
    if !listens || listener.local_addr().is_err() {
        return Err(wrong("the socket does not listen on an IP address"));
    }
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn wrong(reason: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!(
            "the service manager passed sockets that acpd cannot use ({reason}): give acpd.socket one ListenStream= with an IP \
             address and port, and Accept=no"
        ),
    )
}
