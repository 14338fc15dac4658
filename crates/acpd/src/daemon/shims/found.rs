//! The shims of a data directory, by their sockets.
//!
//! In: the directory. Out: what each shim says, sorted by name. Never: waits for long, however many do not answer.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use acpd_shim::{Seen, ShimError, State};
use anyhow::Context;

/// Time for one shim to answer.
const PATIENCE: Duration = Duration::from_millis(500);
/// Time for all of them.
const PATIENCE_OF_ALL: Duration = Duration::from_secs(3);

/// Returns the directory with the sockets of shims.
pub fn directory(data_dir: &Path) -> PathBuf {
    data_dir.join("shims")
}

/// Returns the names of all sockets in the directory, sorted. There are none without a directory.
pub fn names(directory: &Path) -> anyhow::Result<Vec<String>> {
    let unreadable = || format!("{} cannot be read", directory.display());
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(unreadable),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.with_context(unreadable)?;
        // A file that is gone meanwhile has no type.
        if entry.file_type().is_ok_and(|kind| kind.is_socket())
            && let Ok(name) = entry.file_name().into_string()
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// What is behind a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The shim's id, and what it has answered; `None` if it did not answer in time.
    Shim(u32, Option<State>),
    /// The shim is gone, and its socket is left.
    Gone,
}

/// Asks one shim. Returns `None` if there is no socket of this name any more.
pub fn ask(directory: &Path, name: &str, patience: Duration) -> anyhow::Result<Option<Answer>> {
    match look(directory, name, patience)? {
        Looked::Seen(seen) => Ok(Some(Answer::Shim(seen.shim(), seen.state()))),
        Looked::Gone => Ok(Some(Answer::Gone)),
        Looked::None => Ok(None),
    }
}

/// What a look has found.
pub enum Looked {
    Seen(Seen),
    /// Only the socket is left.
    Gone,
    /// There is no socket.
    None,
}

/// Looks at one shim. A name that no socket can have is one that no shim has.
pub fn look(directory: &Path, name: &str, patience: Duration) -> anyhow::Result<Looked> {
    let kind = |error: &io::Error| error.kind();
    match Seen::look(directory, OsStr::new(name), patience) {
        Ok(seen) => Ok(Looked::Seen(seen)),
        Err(ShimError::Connection(error)) if kind(&error) == ErrorKind::ConnectionRefused => Ok(Looked::Gone),
        Err(ShimError::Connection(error) | ShimError::Place(error))
            if matches!(kind(&error), ErrorKind::NotFound | ErrorKind::InvalidInput) =>
        {
            Ok(Looked::None)
        }
        Err(error) => Err(error).with_context(|| {
            let path = directory.join(name);
            format!("the shim of {} cannot be asked", path.display())
        }),
    }
}

/// Asks all shims of the directory.
pub fn all(directory: &Path) -> anyhow::Result<Vec<(String, Answer)>> {
    let deadline = Instant::now() + PATIENCE_OF_ALL;
    let mut found = Vec::new();
    for name in names(directory)? {
        let left = deadline.saturating_duration_since(Instant::now());
        if let Some(answer) = ask(directory, &name, PATIENCE.min(left))? {
            found.push((name, answer));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_sockets_are_shims_and_a_missing_directory_has_none() {
        let data = tempfile::tempdir().unwrap();
        let directory = directory(data.path());
        assert_eq!(names(&directory).unwrap(), [""; 0]);
        assert!(all(&directory).unwrap().is_empty());
        std::fs::create_dir(&directory).unwrap();
        std::fs::set_permissions(&directory, PermissionsExt::from_mode(0o700)).unwrap();
        std::fs::write(directory.join("s1.rest"), "").unwrap();
        let _listeners = ["s2", "s1"].map(|name| UnixListener::bind(directory.join(name)).unwrap());
        assert_eq!(names(&directory).unwrap(), ["s1", "s2"]);
        for none in ["s3", "", "..", "a/b", &"x".repeat(100)] {
            assert_eq!(ask(&directory, none, PATIENCE).unwrap(), None, "{none}");
        }
        // Something else than a shim listens there.
        let said = format!("{:#}", ask(&directory, "s1", PATIENCE).unwrap_err());
        assert!(said.contains("shims/s1 cannot be asked"), "{said}");
        std::fs::set_permissions(&directory, PermissionsExt::from_mode(0o755)).unwrap();
        let said = format!("{:#}", ask(&directory, "s1", PATIENCE).unwrap_err());
        assert!(said.contains("the directory for the sockets of shims"), "{said}");
    }
}
