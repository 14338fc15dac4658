//! The SSH agent of the user's newest login, under a path that does not change.
//!
//! A daemon in the background outlives the login that started it, and with it the socket in `SSH_AUTH_SOCK`. So it gets a link in the
//! data directory instead, and so do its agents. Each command of the user lets the link lead to the socket of its own login.
//!
//! In: `SSH_AUTH_SOCK` of a command. Out: the link. Never: sends anything to an SSH agent.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};

/// The variable with the socket's path.
pub const VARIABLE: &str = "SSH_AUTH_SOCK";

/// Returns the path of the link in a data directory.
pub fn link(data_dir: &Path) -> PathBuf {
    data_dir.join("ssh-agent.sock")
}

/// Returns whether an SSH agent listens at a socket. Does not wait for an agent that is stopped or busy.
pub fn is_live(path: &Path) -> bool {
    let connected = SocketAddrUnix::new(path).and_then(|address| {
        let probe = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        fcntl_setfd(&probe, FdFlags::CLOEXEC)?;
        fcntl_setfl(&probe, OFlags::NONBLOCK)?;
        connect(&probe, &address)
    });
    // Others wait for the agent already.
    matches!(connected, Ok(()) | Err(Errno::AGAIN))
}

/// Lets the link lead to the socket of this command's login, if that is live.
pub fn follow_login(data_dir: &Path) {
    let Some(socket) = std::env::var_os(VARIABLE).map(PathBuf::from) else {
        return;
    };
    if let Err(error) = lead_to(&link(data_dir), &socket) {
        tracing::debug!(socket = %socket.display(), %error, "the link to the SSH agent stays as it is");
    }
}

fn lead_to(link: &Path, socket: &Path) -> std::io::Result<()> {
    if !socket.is_absolute() || std::fs::read_link(link).is_ok_and(|now| now == socket) {
        return Ok(());
    }
    // A process of an agent has the link itself, perhaps under another path. A link that leads to itself would be lost.
    let is_same = |real: PathBuf| link.canonicalize().is_ok_and(|now| now == real);
    if socket == link || socket.canonicalize().is_ok_and(is_same) {
        return Ok(());
    }
    if !is_live(socket) {
        return Ok(());
    }
    let draft = link.with_extension(format!("new-{}", std::process::id()));
    match std::fs::remove_file(&draft) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    symlink(socket, &draft)?;
    std::fs::rename(&draft, link)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn the_link_follows_the_newest_live_socket() {
        let dir = tempfile::tempdir().unwrap();
        let (link, a, b) = (link(dir.path()), dir.path().join("a"), dir.path().join("b"));
        lead_to(&link, &a).unwrap();
        assert!(link.symlink_metadata().is_err(), "nothing listens there");
        let first = UnixListener::bind(&a).unwrap();
        lead_to(&link, &a).unwrap();
        assert!(is_live(&link));
        drop(first);
        assert!(!is_live(&link));
        let second = UnixListener::bind(&b).unwrap();
        lead_to(&link, &b).unwrap();
        assert_eq!(std::fs::read_link(&link).unwrap(), b);
        // A dead socket, and a process that has the link, change nothing.
        lead_to(&link, &a).unwrap();
        lead_to(&link, &link).unwrap();
        let alias = dir.path().join("alias");
        symlink(&link, &alias).unwrap();
        lead_to(&link, &alias).unwrap();
        assert_eq!(std::fs::read_link(&link).unwrap(), b);
        assert!(is_live(&link));
        drop(second);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_agent_that_accepts_no_more_connections_is_live() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let busy = UnixListener::bind(&path).unwrap();
        rustix::net::listen(&busy, 0).unwrap();
        for _ in 0..4 {
            assert!(is_live(&path));
        }
    }
}
