//! The local sockets in the data directory, for programs of the same user, which need no token there: `acpd.sock` for
//! HTTP, `acp.sock` for editors that write ACP as lines of JSON.
//!
//! The system says who is at the other end, both ways. Nobody else can put a socket there, so that a program of this
//! machine shows nothing to a stranger who took a dead daemon's port.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

/// Longest path of a socket that every system takes, in bytes.
const PATH_BYTES: usize = 100;

/// Where the socket of a data directory stands.
pub fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("acpd.sock")
}

/// Where that for editors stands.
pub fn editors_path(data_dir: &Path) -> PathBuf {
    data_dir.join("acp.sock")
}

/// Listens at such a path, in place of a daemon that is gone. Only whoever has the data directory's log open may call
/// it.
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

/// Connects to the daemon of a data directory. [`ErrorKind::NotFound`] and [`ErrorKind::ConnectionRefused`] mean that
/// there is none.
pub async fn connect(data_dir: &Path) -> Result<UnixStream> {
    let path = path(data_dir);
    let (short, _folder) = shorten(&path)?;
    let stream = UnixStream::connect(short).await?;
    if is_ours(&stream) {
        Ok(stream)
    } else {
        let told = format!("{} belongs to another user", path.display());
        Err(Error::new(ErrorKind::PermissionDenied, told))
    }
}

/// What a process of an agent reads where the user's programs are the owner.
pub const NOT_FOR_AGENTS: &str = "agents and what they start are not the owner at this socket; to let one in, create a token \
     (acpd token create) and set ACPD_TOKEN";

/// Whose the other end of a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A process of this user.
    User,
    /// A process of this user that an agent of this daemon has started.
    Agent,
    /// Another user's, or nobody knows whose.
    Stranger,
}

/// Whose the other end is. An agent that is out for more than an open door finds another one, since it is a program of
/// the same user; docs/security.md says so.
pub fn peer(stream: &UnixStream) -> Peer {
    if !is_ours(stream) {
        return Peer::Stranger;
    }
    let pid = stream.peer_cred().ok().and_then(|other| other.pid());
    // A system that does not say which process it is has none of our marks either.
    if pid.is_some_and(acpd_host::is_of_an_agent) {
        Peer::Agent
    } else {
        Peer::User
    }
}

/// Whether the other end is a process of this user.
fn is_ours(stream: &UnixStream) -> bool {
    stream
        .peer_cred()
        .is_ok_and(|other| other.uid() == rustix::process::geteuid().as_raw())
}

/// A path that fits into a socket's address, good while the file is held: through the folder where it would be too
/// long.
fn shorten(path: &Path) -> Result<(PathBuf, Option<File>)> {
    if path.as_os_str().len() <= PATH_BYTES {
        return Ok((path.to_owned(), None));
    }
    let folder = File::open(path.parent().unwrap_or(Path::new("/")))?;
    let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string());
    if !short.exists() {
        let told = format!(
            "{} is too long for a socket: use a shorter --data-dir",
            path.display()
        );
        return Err(Error::new(ErrorKind::InvalidFilename, told));
    }
    Ok((short.join(path.file_name().unwrap_or_default()), Some(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_private_replaces_a_stale_one_and_may_stand_deep() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("x".repeat(120));
        std::fs::create_dir(&deep).unwrap();
        for folder in [dir.path(), &deep] {
            assert_eq!(connect(folder).await.unwrap_err().kind(), ErrorKind::NotFound);
            for _ in 0..2 {
                // The second time it is in the place of the first one's.
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
