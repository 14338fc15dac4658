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
    is_program_of_daemon(&program, &own)
}

/// Returns whether `program`, as the system tells it, is `own` or another version of it. The system marks a file that was replaced.
fn is_program_of_daemon(program: &Path, own: &Path) -> bool {
    let name = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_suffix(" (deleted)").unwrap_or(&name).to_owned()
    };
    let program = name(program);
    program == "acpd" || (!program.is_empty() && program == name(own))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_programs_with_a_similar_name_are_not_daemons() {
        let own = Path::new("/opt/acpd-0.1/bin/acpd-beta");
        let is_one = |program: &str| is_program_of_daemon(Path::new(program), own);
        assert!(is_one("/usr/bin/acpd"));
        assert!(is_one("/usr/bin/acpd (deleted)"));
        assert!(is_one("/home/ada/bin/acpd-beta"));
        for other in [
            "",
            "/usr/bin/acpd-fake-agent",
            "/usr/bin/acpdump",
            "/usr/bin/bash",
        ] {
            assert!(!is_one(other), "{other}");
        }
    }
}
