//! A child that leads a session of its own, and its descendants.
//!
//! In: a command. Out: its exit. Owns: the child and everything that it starts. Never: leaves one of them behind, or
//! signals a number that may have been reused. The leader is waited for last, and until then its pid, its group and its
//! session are its own.

use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use acpd_model::limits::{LEFTOVER_MILLIS, SWEEP_MILLIS};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::unix::AsyncFd;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use crate::children;
use crate::command::Program;
use crate::descriptors;
use crate::mark::{Mark, VARIABLE};
use crate::sandbox::Sandbox;
#[cfg(target_os = "linux")]
use crate::seal::Seal;
use crate::sweep::{self, ProcessScope};
use crate::walk::Walk;

/// A running child. Dropping it kills the child and its descendants.
#[derive(Debug)]
pub(crate) struct Leader {
    /// The child process, with the pipes that the command configured.
    pub child: Child,
    pid: Pid,
    mark: Mark,
    /// A handle that becomes readable when the child ends. `None` if the system has no such handle.
    handle: Option<AsyncFd<OwnedFd>>,
    /// The task that sends SIGTERM to descendants in other groups.
    terminate_task: Option<JoinHandle<()>>,
    over: bool,
}

/// The result of ending a leader.
#[derive(Debug)]
pub(crate) struct LeaderExit {
    /// Exit status of the leader, if it is known.
    pub status: Option<ExitStatus>,
    /// Number of its processes that could not be killed.
    pub left: usize,
}

/// Returns a command for the program with only the given environment.
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
    /// Starts the command in a session of its own, with a mark. The changes of `attach` to the command come after that,
    /// and the sandbox last.
    pub fn start(
        command: &mut Command,
        sandbox: Option<&Sandbox>,
        attach: impl FnOnce(&mut Command) -> std::io::Result<()>,
    ) -> std::io::Result<Self> {
        let spawn = |mark: Mark| {
            command.env(VARIABLE, mark.text());
            separate(command, mark);
            attach(command)?;
            confine(command.as_std_mut(), sandbox.cloned());
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

    /// Waits until the leader exits on its own. Safe to cancel.
    pub async fn exited(&mut self) {
        if let Some(handle) = &self.handle {
            while let Ok(mut ready) = handle.readable().await {
                if ended(self.pid) {
                    return;
                }
                ready.clear_ready();
            }
        }
        // An error means that the child cannot be waited for, so it counts as exited.
        let _ = self.child.wait().await;
    }

    /// Returns whether the leader exited within this time.
    pub async fn exits_within(&mut self, patience: Duration) -> bool {
        tokio::time::timeout(patience, self.exited()).await.is_ok()
    }

    /// Returns the exit status, if the leader has ended. It can still be waited for, if the system supports that.
    pub fn status(&mut self) -> Option<ExitStatus> {
        #[cfg(target_os = "linux")]
        return look(self.pid);
        #[cfg(not(target_os = "linux"))]
        return self.child.try_wait().ok()?;
    }

    /// Sends a signal to the leader's group immediately.
    pub fn signal(&self, signal: Signal) {
        // ESRCH: no process is left. EPERM: the process now runs as another user, who must end it.
        let _ = kill_process_group(self.pid, signal);
    }

    /// Sends SIGTERM to the leader's group immediately, and soon to descendants in other groups.
    pub fn terminate(&mut self) {
        self.signal(Signal::TERM);
        let whose = ProcessScope::Leader(self.mark, Some(self.pid));
        self.terminate_task = Some(tokio::task::spawn_blocking(move || {
            sweep::signal(whose, Signal::TERM)
        }));
    }

    /// Returns the number of descendants that run, wherever they have moved.
    pub async fn descendants(&self) -> usize {
        let (mark, pid) = (self.mark, self.pid);
        let count = tokio::task::spawn_blocking(move || sweep::count(mark, pid));
        // If the runtime is shutting down, nobody reads the number.
        count.await.unwrap_or_default()
    }

    /// Ends the leader and its descendants. The children that an exited leader left behind get a short grace period.
    /// After a SIGTERM there is none.
    pub async fn end(mut self, terminated: bool) -> LeaderExit {
        let grace = if terminated {
            self.signal(Signal::KILL);
            Duration::ZERO
        } else {
            Duration::from_millis(LEFTOVER_MILLIS)
        };
        if let Some(terminate_task) = self.terminate_task.take() {
            // Must finish before the leader is waited for, since only until then the session belongs to it.
            let _ = terminate_task.await;
        }
        let whose = ProcessScope::Leader(self.mark, Some(self.pid));
        let sweep = tokio::task::spawn_blocking(move || sweep::end(whose, grace));
        // If the runtime is shutting down, the sweep does not run. Then only the group can be reached.
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
        // Drop cannot wait. The runtime waits for the child itself at some time, so the session may no longer belong to
        // it. Use only the mark.
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
fn handle_of(pid: Pid) -> std::io::Result<Option<AsyncFd<OwnedFd>>> {
    use rustix::process::{PidfdFlags, pidfd_open};
    use tokio::io::Interest;
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => descriptors::watch(handle, Interest::READABLE).map(Some),
        Err(rustix::io::Errno::NOSYS) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns how a child ended that was not waited for yet, without waiting for it.
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

/// Never called, since there is no handle.
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
    let descriptors = descriptors::inherited().map(|limit| (limit.current, limit.maximum));
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. These are only system calls; `limit` and
    // `descriptors` are numbers.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            if let Some((current, maximum)) = descriptors {
                let inherited = rustix::process::Rlimit { current, maximum };
                rustix::process::setrlimit(rustix::process::Resource::Nofile, inherited)?;
            }
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
    use rustix::process::set_parent_process_death_signal;
    // The signal is bound to the thread that forks: a worker of the runtime, which lives as long as the process. The
    // keeper and the next start of the daemon find the processes that this misses.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // Refused if this daemon itself runs under another daemon whose limit is lower. The environment is enough then,
    // since that daemon will end us and our processes.
    let _ = carry(limit);
    close_others();
    Ok(())
}

/// Gives this process a mark as its limit, which it can only lower.
#[cfg(target_os = "linux")]
pub(crate) fn carry(limit: u64) -> std::io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let mark = Rlimit {
        current: Some(limit),
        maximum: Some(limit),
    };
    Ok(setrlimit(Resource::Rttime, mark)?)
}

/// Lets the command start in an open directory.
#[expect(
    unsafe_code,
    reason = "pre_exec has no safe form; the closure makes a system call and allocates nothing"
)]
pub(crate) fn start_in(command: &mut Command, directory: Arc<Walk>) {
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. This is a system call.
    unsafe {
        command.pre_exec(move || rustix::process::fchdir(&*directory).map_err(std::io::Error::from));
    }
}

/// Has a command enter a sandbox before it runs its program, with the filter of system calls. Other steps between fork and exec
/// come first: some of them are not permitted afterwards.
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "pre_exec has no safe form; the closure makes system calls and allocates nothing"
)]
pub fn confine(command: &mut std::process::Command, sandbox: Option<Sandbox>) {
    use std::os::unix::process::CommandExt;
    let seal = Seal::new();
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. These are only system calls; their data
    // was prepared before the fork.
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

/// Does nothing: there are no sandboxes on this system.
#[cfg(not(target_os = "linux"))]
pub fn confine(_: &mut std::process::Command, _: Option<Sandbox>) {}

/// Closes on exec all descriptors above 2. The child must not inherit descriptors that were open before the daemon
/// started and lack the close-on-exec flag.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "rustix has no close_range")]
pub(crate) fn close_others() {
    // SAFETY: the system call only takes numbers, and closes nothing before exec.
    unsafe {
        // An old kernel refuses the call; then the descriptors stay open.
        libc::syscall(
            libc::SYS_close_range,
            3,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}
