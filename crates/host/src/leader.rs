//! A child that leads a session of its own, and all that comes from it.
//!
//! In: a command. Out: its exit. Owns: the child and everything that it starts. Never: leaves one of them
//! behind, or signals a number that may have become another's: the leader is waited for last, and until then
//! its pid, its group and its session are its own.

use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::time::Duration;

use acpd_model::limits::{LEFTOVER_MILLIS, SWEEP_MILLIS};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::unix::AsyncFd;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use crate::children;
use crate::command::Program;
use crate::mark::{Mark, VARIABLE};
use crate::sandbox::Sandbox;
#[cfg(target_os = "linux")]
use crate::seal::Seal;
use crate::sweep::{self, ProcessScope};

/// A running child. Dropping it kills it and all that came from it.
#[derive(Debug)]
pub(crate) struct Leader {
    /// The child, with whatever pipes the command has.
    pub child: Child,
    pid: Pid,
    mark: Mark,
    /// Readable when the child has ended. `None` where the system has no such handle.
    handle: Option<AsyncFd<OwnedFd>>,
    /// Telling those who went elsewhere to end.
    terminate_task: Option<JoinHandle<()>>,
    over: bool,
}

/// What is known of an end.
#[derive(Debug)]
pub(crate) struct LeaderExit {
    /// How the leader ended, if that can be known.
    pub status: Option<ExitStatus>,
    /// How many of its processes could not be killed.
    pub left: usize,
}

/// A command for the program: the given environment and nothing else.
pub(crate) fn command(program: &Program) -> Command {
    let mut command = Command::new(&program.command);
    command
        .args(&program.args)
        .env_clear()
        .envs(&program.env)
        .current_dir(&program.cwd);
    command
}

impl Leader {
    /// Starts it in a session of its own, with a mark. What `attach` does to the command comes after that, and the sandbox last.
    pub fn start(
        command: &mut Command,
        sandbox: Option<&Sandbox>,
        attach: impl FnOnce(&mut Command) -> std::io::Result<()>,
    ) -> std::io::Result<Self> {
        let spawn = |mark: Mark| {
            command.env(VARIABLE, mark.text());
            separate(command, mark);
            attach(command)?;
            finish(command, sandbox.cloned());
            command.spawn()
        };
        let (child, mark) = children::start(spawn, pid_of)?;
        let pid = pid_of(&child).ok_or_else(|| std::io::Error::other("it has no process id"))?;
        let mut leader = Self {
            child,
            pid,
            mark,
            handle: None,
            terminate_task: None,
            over: false,
        };
        leader.handle = handle_of(pid)?;
        Ok(leader)
    }

    /// Waits until the leader has ended by itself. Safe to cancel.
    pub async fn exited(&mut self) {
        if let Some(handle) = &self.handle {
            while let Ok(mut ready) = handle.readable().await {
                if ended(self.pid) {
                    return;
                }
                ready.clear_ready();
            }
        }
        // An error means that it cannot be waited for, so it is gone as far as we can know.
        let _ = self.child.wait().await;
    }

    /// Whether it ended within this time.
    pub async fn exits_within(&mut self, patience: Duration) -> bool {
        tokio::time::timeout(patience, self.exited()).await.is_ok()
    }

    /// How it ended, if it has. Leaves it to be waited for, where the system can do that.
    pub fn status(&mut self) -> Option<ExitStatus> {
        #[cfg(target_os = "linux")]
        return look(self.pid);
        #[cfg(not(target_os = "linux"))]
        return self.child.try_wait().ok()?;
    }

    /// Sends a signal to its group at once.
    pub fn signal(&self, signal: Signal) {
        // ESRCH: nobody is left. EPERM: it has become another user's, who must end it.
        let _ = kill_process_group(self.pid, signal);
    }

    /// Sends SIGTERM to its group at once, and soon to all that came from it and went elsewhere.
    pub fn terminate(&mut self) {
        self.signal(Signal::TERM);
        let whose = ProcessScope::Leader(self.mark, Some(self.pid));
        self.terminate_task = Some(tokio::task::spawn_blocking(move || {
            sweep::signal(whose, Signal::TERM)
        }));
    }

    /// Ends it and all that came from it. What it left behind after it ended by itself has a moment to go;
    /// whoever was told to go already has none.
    pub async fn end(mut self, terminated: bool) -> LeaderExit {
        let grace = if terminated {
            self.signal(Signal::KILL);
            Duration::ZERO
        } else {
            Duration::from_millis(LEFTOVER_MILLIS)
        };
        if let Some(terminate_task) = self.terminate_task.take() {
            // Before the leader is waited for, since the session is its own only until then.
            let _ = terminate_task.await;
        }
        let whose = ProcessScope::Leader(self.mark, Some(self.pid));
        let sweep = tokio::task::spawn_blocking(move || sweep::end(whose, grace));
        // It is not run if the runtime is going down; then the group is all that can be reached.
        let left = sweep.await.unwrap_or_default();
        self.signal(Signal::KILL);
        let patience = Duration::from_millis(SWEEP_MILLIS);
        let status = tokio::time::timeout(patience, self.child.wait()).await;
        self.over = true;
        children::forget(self.pid);
        LeaderExit {
            status: status.ok().and_then(Result::ok),
            left,
        }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        self.signal(Signal::KILL);
        // Nobody can wait here. The runtime waits for the child itself, some time; so its session is not its
        // own for sure, and the mark has to do.
        let whose = ProcessScope::Leader(self.mark, None);
        let sweep = move || sweep::end(whose, Duration::ZERO);
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(sweep)),
            Err(_) => {
                sweep();
            }
        }
        children::forget(self.pid);
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()?).ok()?)
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the runtime cannot know that a descriptor stays open")]
fn handle_of(pid: Pid) -> std::io::Result<Option<AsyncFd<OwnedFd>>> {
    use rustix::process::{PidfdFlags, pidfd_open};
    use tokio::io::Interest;
    match pidfd_open(pid, PidfdFlags::empty()) {
        // SAFETY: an owned descriptor is always the same one, and is open until it is dropped, which the result
        // does after it was taken off the runtime.
        Ok(handle) => Ok(Some(unsafe {
            AsyncFd::register_with_interest(handle, Interest::READABLE)?
        })),
        Err(rustix::io::Errno::NOSYS) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// How a child ended that was not waited for yet, and is not by this.
#[cfg(target_os = "linux")]
fn look(pid: Pid) -> Option<ExitStatus> {
    use std::os::unix::process::ExitStatusExt;

    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(pid), how).ok()??;
    let core = if status.dumped() { 0x80 } else { 0 };
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Some(ExitStatus::from_raw((code & 0xff) << 8)),
        (None, Some(signal)) => Some(ExitStatus::from_raw(signal | core)),
        (None, None) => None,
    }
}

#[cfg(target_os = "linux")]
fn ended(pid: Pid) -> bool {
    look(pid).is_some()
}

/// Without handles this is not asked.
#[cfg(not(target_os = "linux"))]
fn ended(_: Pid) -> bool {
    true
}

#[cfg(not(target_os = "linux"))]
fn handle_of(_: Pid) -> std::io::Result<Option<AsyncFd<OwnedFd>>> {
    Ok(None)
}

#[expect(
    unsafe_code,
    reason = "pre_exec has no safe form; the closure makes system calls and allocates nothing"
)]
fn separate(command: &mut Command, mark: Mark) {
    let limit = mark.limit();
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. These are system calls and
    // nothing else; `limit` is a number.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            #[cfg(target_os = "linux")]
            on_linux(limit)?;
            #[cfg(not(target_os = "linux"))]
            let _ = limit;
            Ok(())
        });
    }
}

#[cfg(target_os = "linux")]
fn on_linux(limit: u64) -> std::io::Result<()> {
    use rustix::process::{Resource, Rlimit, set_parent_process_death_signal, setrlimit};
    // Bound to the thread that forks: the runtime's workers, which live as long as the process. The keeper
    // and the next start find what this misses.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let mark = Rlimit {
        current: Some(limit),
        maximum: Some(limit),
    };
    // Refused if we are in another daemon's hands, and that has the lower number. The environment is enough
    // then, since that daemon will end us and ours.
    let _ = setrlimit(Resource::Rttime, mark);
    close_others();
    Ok(())
}

/// What comes last before the program: after it some of what came before is not allowed any more.
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "pre_exec has no safe form; the closure makes system calls and allocates nothing"
)]
fn finish(command: &mut Command, sandbox: Option<Sandbox>) {
    let seal = Seal::new();
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. These are system calls and nothing else; what
    // they need was made before the fork.
    unsafe {
        command.pre_exec(move || {
            if let Some(sandbox) = &sandbox {
                sandbox.enter()?;
            }
            seal.install();
            Ok(())
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn finish(_: &mut Command, _: Option<Sandbox>) {}

/// Descriptors that were open before us, and that nobody marked, are not the child's business either. Those
/// that are meant for the child are 0 to 2.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "rustix has no close_range")]
pub(crate) fn close_others() {
    // SAFETY: a system call that takes numbers; it closes nothing before exec.
    unsafe {
        // An old system says no; then it is as it was.
        libc::syscall(
            libc::SYS_close_range,
            3,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}
