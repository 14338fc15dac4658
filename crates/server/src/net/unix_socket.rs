//! The local sockets in the data directory, for programs of the same user, which need no token there: `acpd.sock` for HTTP,
//! and `acp.sock` for editors that send ACP as JSON lines.
//!
//! Both ends ask the operating system for the user of the other end. No other user can create a socket in the directory. So
//! a local program sends no credentials to a stranger's process that took the port of a stopped daemon.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

/// The longest path of a socket that all supported systems accept, in bytes.
const PATH_BYTES: usize = 100;

/// Returns the path of the HTTP socket in a data directory.
pub fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("acpd.sock")
}

/// Returns the path of the editors' socket in a data directory.
pub fn editors_path(data_dir: &Path) -> PathBuf {
    data_dir.join("acp.sock")
}

/// Listens at such a path, and replaces the socket of a stopped daemon. The caller must have the log of the data directory
/// open.
pub fn listen(path: &Path) -> Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let (short, _folder) = shorten(path)?;
    let listener = UnixListener::bind(short)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to the daemon of a data directory. [`ErrorKind::NotFound`] and [`ErrorKind::ConnectionRefused`] mean that no
/// daemon is running.
pub async fn connect(data_dir: &Path) -> Result<UnixStream> {
    let path = path(data_dir);
    let (short, _folder) = shorten(&path)?;
    let stream = UnixStream::connect(short).await?;
    if is_ours(&stream) {
        Ok(stream)
    } else {
        let message = format!("{} belongs to another user", path.display());
        Err(Error::new(ErrorKind::PermissionDenied, message))
    }
}

/// The error for a process of an agent at a socket that authenticates programs of the user as the owner.
pub const NOT_FOR_AGENTS: &str = "agents, what they start, and other processes in a sandbox (no_new_privs) are not the owner at this \
     socket; to let one in, create a token (acpd token create) and set ACPD_TOKEN";

/// The user of the process at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A process of this user.
    User,
    /// A process of this user that any agent started, or that is in a sandbox.
    Agent,
    /// A process of another or an unknown user.
    Stranger,
}

/// Determines the process at the other end. This does not stop a malicious agent, which runs as the same user and has other
/// ways; see docs/security.md.
pub fn peer(stream: &UnixStream) -> Peer {
    if !is_ours(stream) {
        return Peer::Stranger;
    }
    let pid = stream.peer_cred().ok().and_then(|other| other.pid());
    // A system that does not report the process id has no marks of agents either.
    if pid.is_some_and(acpd_host::is_of_an_agent) {
        Peer::Agent
    } else {
        Peer::User
    }
}

/// Returns whether the process at the other end belongs to this user.
fn is_ours(stream: &UnixStream) -> bool {
    stream
        .peer_cred()
        .is_ok_and(|other| other.uid() == rustix::process::geteuid().as_raw())
}

/// Returns a path that fits into a socket address, valid while the file is open. A path that is too long goes through the
/// open directory.
fn shorten(path: &Path) -> Result<(PathBuf, Option<File>)> {
    if path.as_os_str().len() <= PATH_BYTES {
        return Ok((path.to_owned(), None));
    }
    let folder = File::open(path.parent().unwrap_or(Path::new("/")))?;
    let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string());
    if !short.exists() {
        let message = format!(
            "{} is too long for a socket: use a shorter --data-dir",
            path.display()
        );
        return Err(Error::new(ErrorKind::InvalidFilename, message));
    }
    Ok((short.join(path.file_name().unwrap_or_default()), Some(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_private_replaces_a_stale_one_and_may_be_nested() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("x".repeat(120));
        std::fs::create_dir(&deep).unwrap();
        for folder in [dir.path(), &deep] {
            assert_eq!(connect(folder).await.unwrap_err().kind(), ErrorKind::NotFound);
            for _ in 0..2 {
                // The second call replaces the socket of the first.
                let listener = listen(&path(folder)).unwrap();
                let mode = std::fs::metadata(path(folder)).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600);
                let (near, far) = tokio::join!(connect(folder), listener.accept());
                assert!(is_ours(&near.unwrap()) && is_ours(&far.unwrap().0));
            }
            assert_eq!(
                connect(folder).await.unwrap_err().kind(),
                ErrorKind::ConnectionRefused
            );
        }
    }
}
