//! Errors of file access as an agent receives them. Each error of the system becomes one of the closed set, with one
//! sentence.

use std::io;
use std::path::Path;

use acpd_model::{ErrorCode, Failure};
use rustix::io::Errno;

/// The beginning of the sentence about a path outside of a workspace.
const OUTSIDE: &str = "path outside workspace: ";

/// Describes a path outside of a workspace.
pub fn outside(path: &str) -> Failure {
    Failure::invalid_params(format!("{OUTSIDE}{path}"))
}

/// Returns the path of a failure by [`outside`].
pub fn path_outside(failure: &Failure) -> Option<&Path> {
    failure.message.strip_prefix(OUTSIDE).map(Path::new)
}

pub(super) fn invalid(path: &str, what: &str) -> Failure {
    Failure::invalid_params(format!("{path} {what}"))
}

/// The file at `path` belongs to the daemon or to another agent.
pub(super) fn reserved(path: &str) -> Failure {
    Failure::new(
        ErrorCode::Forbidden,
        format!(
            "{path} belongs to acpd itself (its data directory or configuration), or is where another agent keeps its settings and \
             credentials: no policy opens it to this one"
        ),
    )
}

/// The file at `path` is one that a user has attached.
pub(super) fn only_read(path: &str) -> Failure {
    Failure::new(
        ErrorCode::Forbidden,
        format!("{path} is an attachment, which may only be read: write a copy in the thread's directory"),
    )
}

/// The file at `path` was replaced between two checks.
pub(super) fn changed(path: &str) -> Failure {
    Failure::new(
        ErrorCode::Conflict,
        format!("{path} was replaced while it was being opened"),
    )
}

/// The path `path` led elsewhere when access was approved.
pub(super) fn moved(path: &str) -> Failure {
    Failure::new(
        ErrorCode::Conflict,
        format!("{path} resolves to a different file than the approved one: nothing was done"),
    )
}

pub(super) fn of_io(path: &str, error: &io::Error) -> Failure {
    let Some(errno) = Errno::from_io_error(error) else {
        return Failure::new(ErrorCode::Internal, format!("{path}: {error}"));
    };
    of_errno(path, errno)
}

pub(super) fn of_errno(path: &str, errno: Errno) -> Failure {
    let (code, message) = match errno {
        Errno::NOENT => (ErrorCode::NotFound, format!("file not found: {path}")),
        Errno::ACCESS | Errno::PERM => (ErrorCode::Forbidden, format!("permission denied: {path}")),
        Errno::ROFS => (
            ErrorCode::Forbidden,
            format!("{path} is on a read-only file system"),
        ),
        Errno::LOOP => return invalid(path, "leads through too many symbolic links"),
        Errno::NAMETOOLONG => return invalid(path, "has a name that is too long"),
        Errno::NOTDIR => return invalid(path, "leads through something that is not a directory"),
        Errno::ISDIR => return invalid(path, "is a directory"),
        Errno::NXIO | Errno::NODEV => return invalid(path, "is not a regular file"),
        Errno::INVAL | Errno::ILSEQ => {
            return invalid(path, "has a name that its file system does not take");
        }
        Errno::NOSPC => (
            ErrorCode::Conflict,
            format!("the disk is full: {path} was not changed"),
        ),
        Errno::DQUOT => (
            ErrorCode::Conflict,
            format!("the disk quota is used up: {path} was not changed"),
        ),
        Errno::FBIG => (
            ErrorCode::Conflict,
            format!("the content is larger than a file may be here: {path} was not changed"),
        ),
        Errno::AGAIN | Errno::BUSY | Errno::TXTBSY => (
            ErrorCode::Conflict,
            format!("{path} is in use by another program"),
        ),
        Errno::MFILE | Errno::NFILE => (
            ErrorCode::Overloaded,
            format!("too many files are open to open {path}"),
        ),
        other => (ErrorCode::Internal, format!("{path}: {other}")),
    };
    Failure::new(code, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_code_and_says_why() {
        use ErrorCode::{Conflict, Forbidden, Internal, InvalidParams, NotFound, Overloaded};
        for (errno, code, sentence) in [
            (Errno::NOENT, NotFound, "file not found: /w/f"),
            (Errno::ACCESS, Forbidden, "permission denied: /w/f"),
            (Errno::PERM, Forbidden, "permission denied: /w/f"),
            (Errno::ROFS, Forbidden, "/w/f is on a read-only file system"),
            (
                Errno::LOOP,
                InvalidParams,
                "/w/f leads through too many symbolic links",
            ),
            (
                Errno::NAMETOOLONG,
                InvalidParams,
                "/w/f has a name that is too long",
            ),
            (
                Errno::NOTDIR,
                InvalidParams,
                "/w/f leads through something that is not a directory",
            ),
            (Errno::ISDIR, InvalidParams, "/w/f is a directory"),
            (Errno::NXIO, InvalidParams, "/w/f is not a regular file"),
            (Errno::NOSPC, Conflict, "the disk is full: /w/f was not changed"),
            (
                Errno::DQUOT,
                Conflict,
                "the disk quota is used up: /w/f was not changed",
            ),
            (Errno::MFILE, Overloaded, "too many files are open to open /w/f"),
            (Errno::BUSY, Conflict, "/w/f is in use by another program"),
        ] {
            let failure = of_io("/w/f", &io::Error::from(errno));
            assert_eq!((failure.code, failure.message.as_str()), (code, sentence));
        }
        assert_eq!(of_errno("/w/f", Errno::IO).code, Internal);
        assert_eq!(of_io("/w/f", &io::Error::other("odd")).message, "/w/f: odd");
    }
}
