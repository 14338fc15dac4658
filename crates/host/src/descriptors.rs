//! The limit of open file descriptors: raised for the daemon, and partly reserved.
//!
//! The daemon needs several descriptors for each agent, terminal and connection. Many systems let a process have 1024 unless it
//! asks for more. The last ones are for the log and the local socket alone: whatever else needs one is refused before.
//!
//! In: nothing. Out: whether something new may open descriptors. Owns: this process's limit. Never: changes that of a child, which
//! gets the one that the daemon was started with.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// File descriptors that are left to the log and to the local sockets.
const DESCRIPTORS_RESERVED: u64 = 48;
/// Largest limit of open files that the daemon asks for.
const DESCRIPTORS_MAX: u64 = 1 << 20;

/// The limits with which this process was started, if it has raised one.
static INHERITED: OnceLock<(Option<u64>, Option<u64>)> = OnceLock::new();

/// The error for something that needs descriptors while only the reserved ones are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "acpd has too many open files: its limit is {limit}, and the last {reserved} are reserved for the log; close threads or \
     clients, or raise the limit (ulimit -n, or LimitNOFILE= of the service)"
)]
pub struct NoDescriptors {
    limit: u64,
    reserved: u64,
}

/// Raises the soft limit of open files to the hard one. Children keep the limit of before. Fails if the system refuses, which
/// leaves the limit as it was.
pub fn raise_descriptor_limit() -> std::io::Result<()> {
    let before = getrlimit(Resource::Nofile);
    let wanted = before.maximum.unwrap_or(DESCRIPTORS_MAX).min(DESCRIPTORS_MAX);
    let Some(current) = before.current.filter(|current| *current < wanted) else {
        return Ok(());
    };
    let raised = Rlimit {
        current: Some(wanted),
        maximum: before.maximum,
    };
    setrlimit(Resource::Nofile, raised)?;
    INHERITED.get_or_init(|| (Some(current), before.maximum));
    Ok(())
}

/// Returns the limit that children get, if it is not that of this process.
pub(crate) fn inherited() -> Option<Rlimit> {
    let (current, maximum) = *INHERITED.get()?;
    Some(Rlimit { current, maximum })
}

/// Checks that descriptors beyond the reserved ones are left. The system uses the lowest free number for each, so one number
/// tells.
pub fn check_descriptors() -> Result<(), NoDescriptors> {
    let Some(limit) = getrlimit(Resource::Nofile).current else {
        return Ok(());
    };
    let reserved = DESCRIPTORS_RESERVED.min(limit / 4);
    let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let next = rustix::fs::open("/", how, Mode::empty());
    let number = |next: &OwnedFd| u64::try_from(std::os::fd::AsRawFd::as_raw_fd(next)).unwrap_or(0);
    match next.as_ref().map(number) {
        Ok(number) if number < limit - reserved => Ok(()),
        Ok(_) | Err(&rustix::io::Errno::MFILE) => Err(NoDescriptors { limit, reserved }),
        // Another reason concerns this probe alone.
        Err(_) => Ok(()),
    }
}

/// Has the runtime watch a descriptor for readiness.
#[expect(unsafe_code, reason = "the runtime cannot know that a descriptor stays open")]
pub(crate) fn watch(descriptor: OwnedFd, interest: Interest) -> std::io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an owned descriptor never changes and is open until it is dropped. The result drops it after it was removed from
    // the runtime.
    Ok(unsafe { AsyncFd::register_with_interest(descriptor, interest)? })
}
