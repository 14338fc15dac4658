//! Children in process groups of their own, which end with us and end as a whole.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use crate::command::Program;

/// Prepares a child: own process group, the given environment and nothing else, killed when this process
/// dies.
pub(crate) fn prepare(program: &Program) -> Command {
    let mut command = Command::new(&program.command);
    command
        .args(&program.args)
        .env_clear()
        .envs(&program.env)
        .current_dir(&program.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    die_with_parent(&mut command);
    command
}

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "pre_exec has no safe form; the closure makes one system call and allocates nothing"
)]
fn die_with_parent(command: &mut Command) {
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; prctl(2) is one. The signal is
    // bound to the thread that forks: the runtime's workers, which live as long as the process.
    unsafe {
        command.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(())
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_: &mut Command) {}

/// Sends `signal` to the child's whole group. A group that is gone is fine.
pub(crate) fn signal(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // ESRCH: nobody is left. EPERM cannot be: they are our children.
        let _ = kill_process_group(group, signal);
    }
}

/// The child's group, which is named by its own pid.
pub(crate) fn group_of(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()?).ok()?)
}

/// A child's group. Whoever is left of it is killed when this is dropped, also if that happens because the
/// whole runtime ends.
#[derive(Debug)]
pub(crate) struct Group(Option<Pid>);

impl Group {
    pub(crate) fn of(child: &Child) -> Self {
        Self(group_of(child))
    }

    pub(crate) fn signal(&self, kind: Signal) {
        signal(self.0, kind);
    }

    /// Kills whoever is left. Its name is forgotten, since it may soon be another's.
    pub(crate) fn end(&mut self) {
        signal(self.0.take(), Signal::KILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits for the child at most `grace` long. `None` if it is still there.
pub(crate) async fn wait_for(
    child: &mut Child,
    grace: Duration,
) -> Option<std::io::Result<std::process::ExitStatus>> {
    tokio::time::timeout(grace, child.wait()).await.ok()
}

/// Exit code, or the name of the signal that ended it.
pub(crate) fn describe(status: std::process::ExitStatus) -> (Option<i32>, Option<String>) {
    use std::os::unix::process::ExitStatusExt;
    (status.code(), status.signal().map(signal_name))
}

fn signal_name(number: i32) -> String {
    const NAMES: [(i32, &str); 12] = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
        (24, "SIGXCPU"),
    ];
    match NAMES.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("signal {number}"),
    }
}
