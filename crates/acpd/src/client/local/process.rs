//! The process of a running daemon. Owns: what it takes to signal it and to wait for its end.

use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::process::Pid;

#[cfg(target_os = "linux")]
pub use self::linux::Process;
#[cfg(not(target_os = "linux"))]
pub use self::other::Process;

/// Returns whether a process is a daemon of acpd.
pub fn is_daemon(pid: u32) -> bool {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let own = std::env::current_exe().unwrap_or_default();
    program.file_name().is_some_and(|name| {
        Some(name) == own.file_name() || Path::new(name).to_string_lossy().starts_with("acpd")
    })
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::OwnedFd;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    use super::{Duration, Pid, io};

    /// A process by its descriptor, which never refers to a later process with the same id.
    pub struct Process(OwnedFd);

    impl Process {
        /// Opens a process.
        pub fn open(pid: Pid) -> io::Result<Self> {
            Ok(Self(pidfd_open(pid, PidfdFlags::empty())?))
        }

        /// Asks the process to stop.
        pub fn terminate(&self) -> io::Result<()> {
            Ok(pidfd_send_signal(&self.0, Signal::TERM)?)
        }

        /// Waits for the end of the process. Returns whether it ended within this time.
        pub fn wait(&self, patience: Duration) -> io::Result<bool> {
            let patience = Timespec::try_from(patience).ok();
            let ended = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], patience.as_ref())?;
            Ok(ended > 0)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::time::Instant;

    use rustix::process::{Signal, kill_process, test_kill_process};

    use super::{Duration, Pid, io};

    /// Interval at which the process is looked for.
    const LOOK: Duration = Duration::from_millis(20);

    /// A process by its id.
    pub struct Process(Pid);

    impl Process {
        /// Opens a process.
        pub fn open(pid: Pid) -> io::Result<Self> {
            Ok(Self(pid))
        }

        /// Asks the process to stop.
        pub fn terminate(&self) -> io::Result<()> {
            Ok(kill_process(self.0, Signal::TERM)?)
        }

        /// Waits for the end of the process. Returns whether it ended within this time.
        pub fn wait(&self, patience: Duration) -> io::Result<bool> {
            let deadline = Instant::now() + patience;
            while test_kill_process(self.0).is_ok() {
                if Instant::now() > deadline {
                    return Ok(false);
                }
                std::thread::sleep(LOOK);
            }
            Ok(true)
        }
    }
}
