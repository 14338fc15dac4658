//! The process of an agent.
//!
//! In: a program. Out: its pipes, its exit, the last lines of its stderr. Owns: the process and its descendants. Never:
//! reads or writes its messages.

use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acpd_model::limits::STDERR_TAIL_BYTES;
use acpd_model::{ErrorCode, Failure};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

use crate::command::Program;
use crate::descriptors::check_descriptors;
use crate::exit::{Exit, cannot_start};
use crate::leader::{self, Leader, LeaderExit};
use crate::stack_read::read_through_stack;
use crate::tail::Tail;

/// Size of the pipe that an agent writes into, in bytes. It bounds how far the agent can run ahead of the daemon.
const AGENT_PIPE_BYTES: usize = 256 << 10;

/// A running agent. Dropping it kills the process and its descendants.
#[derive(Debug)]
pub struct AgentProcess {
    /// Pipe for messages to the agent.
    pub stdin: Option<ChildStdin>,
    /// Pipe for messages from the agent.
    pub stdout: ChildStdout,
    leader: Leader,
    stderr: StderrReader,
    name: String,
    input: Option<InputPipe>,
}

/// The end of what an agent has printed on stderr, while it runs.
#[derive(Debug, Clone)]
pub struct StderrTail(Arc<Mutex<Tail>>);

impl Default for StderrTail {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Tail::new(STDERR_TAIL_BYTES))))
    }
}

impl StderrTail {
    fn tail(&self) -> MutexGuard<'_, Tail> {
        // The tail is consistent between any two calls.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of bytes printed so far.
    pub fn written(&self) -> u64 {
        self.tail().written()
    }

    /// Returns the text from this position on, and its end; `None` if there is none.
    pub fn since(&self, from: u64) -> Option<(String, u64)> {
        self.tail().since(from, STDERR_TAIL_BYTES, false)
    }
}

/// How an agent's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessExit {
    /// One sentence for the user.
    pub reason: String,
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Whether it ended without a signal of acpd's.
    pub by_itself: bool,
    /// The last lines of the agent's stderr.
    pub stderr: String,
}

/// The interval of checks whether a descendant of an exited process still reads the agent's stdin.
const INPUT_CHECK: Duration = Duration::from_secs(2);

/// How long to wait for the rest of stderr after the process has exited. A descendant that cannot be killed may hold
/// the pipe open.
const STDERR_GRACE: Duration = Duration::from_millis(200);

impl AgentProcess {
    /// Starts the program.
    pub fn spawn(program: &Program) -> Result<Self, Failure> {
        check_descriptors().map_err(|error| {
            let reason = format!("the agent {} cannot be started: {error}", program.command);
            Failure::new(ErrorCode::Overloaded, reason)
        })?;
        let mut command = leader::command(program);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut leader =
            Leader::start(&mut command, program.sandbox.as_ref(), |_| Ok(())).map_err(|error| {
                let reason = cannot_start(program, &error);
                if error.kind() == std::io::ErrorKind::NotFound && reason.ends_with("was not found") {
                    return Failure::agent(format!(
                        "{reason}: install it, or give its full path in the configuration"
                    ));
                }
                Failure::agent(reason)
            })?;
        let child = &mut leader.child;
        let (Some(stdin), Some(stdout), Some(mut stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Failure::new(
                ErrorCode::Internal,
                "the agent's pipes could not be opened",
            ));
        };
        widen(&stdout);
        let input = InputPipe::of(&stdin);
        let tail = StderrTail::default();
        let kept = tail.clone();
        let task = tokio::spawn(async move {
            while let Ok(1..) = read_through_stack(&mut stderr, |bytes| kept.tail().push(bytes)).await {}
        });
        Ok(Self {
            stdin: Some(stdin),
            stdout,
            leader,
            stderr: StderrReader { task, tail },
            name: program.command.clone(),
            input,
        })
    }

    /// Returns the pid of the leading process, or `None` once it has ended.
    pub fn id(&self) -> Option<u32> {
        self.leader.child.id()
    }

    /// Returns what the process prints on stderr.
    pub fn stderr(&self) -> StderrTail {
        self.stderr.tail.clone()
    }

    /// Waits until the process exits on its own. Safe to cancel.
    pub async fn wait(&mut self) {
        self.leader.exited().await;
    }

    /// Ends the process; see [`StoppingProcess::stop`]. Discards its further output.
    pub async fn stop(self, grace: Duration) -> ProcessExit {
        let (stopping, _stdout) = self.into_stopping();
        stopping.stop(grace).await
    }

    /// Closes the process's stdin. Its output can still be read until it ends.
    pub fn into_stopping(self) -> (StoppingProcess, ChildStdout) {
        let Self {
            stdin: _,
            stdout,
            leader,
            stderr,
            name,
            input,
        } = self;
        let stopping = StoppingProcess {
            leader,
            stderr,
            name,
            input,
        };
        (stopping, stdout)
    }
}

/// An agent whose stdin is closed and that must exit.
#[derive(Debug)]
pub struct StoppingProcess {
    leader: Leader,
    stderr: StderrReader,
    name: String,
    input: Option<InputPipe>,
}

impl StoppingProcess {
    /// Waits until the process has exited and none of its descendants can be the agent. After a failure or a signal,
    /// none can. A process that exits with 0 may have started the agent, which then reads the stdin: this waits until
    /// nothing reads it. Safe to cancel.
    pub async fn gone(&mut self) {
        self.leader.exited().await;
        let succeeded = self.leader.status().is_none_or(|status| status.success());
        let Some(input) = self.input.clone().filter(|_| succeeded) else {
            return;
        };
        loop {
            let input = input.clone();
            // If the runtime is shutting down, the search does not run.
            let is_read = tokio::task::spawn_blocking(move || input.is_read()).await;
            if !is_read.unwrap_or(true) {
                return;
            }
            tokio::time::sleep(INPUT_CHECK).await;
        }
    }

    /// Ends the process if it still runs: end of input, then SIGTERM, then SIGKILL, with `grace` after each of the
    /// first two. Both signals go to all descendants. None of them is left afterwards.
    pub async fn stop(mut self, grace: Duration) -> ProcessExit {
        let is_signalled = !self.leader.exits_within(grace).await;
        if is_signalled {
            self.leader.terminate();
            self.leader.exits_within(grace).await;
        }
        let ending = self.leader.end(is_signalled).await;
        ProcessExit {
            reason: reason(&self.name, &ending),
            code: ending.status.map(Exit::from).unwrap_or_default().code,
            by_itself: !is_signalled,
            stderr: self.stderr.text().await,
        }
    }
}

fn reason(name: &str, ending: &LeaderExit) -> String {
    let exit = ending.status.map(Exit::from).unwrap_or_default();
    let end = match (exit.code, exit.signal) {
        (Some(code), _) => format!("{name} exited with code {code}"),
        (None, Some(signal)) => format!("{name} was ended by {signal}"),
        (None, None) => format!("{name} ended"),
    };
    match ending.left {
        0 => end,
        left => format!("{end}; {left} of its processes could not be killed"),
    }
}

/// The pipe to an agent's stdin, by its inode.
#[derive(Debug, Clone)]
struct InputPipe(u64);

impl InputPipe {
    /// Returns `None` if the host cannot list who reads a pipe.
    #[cfg(target_os = "linux")]
    fn of(stdin: &ChildStdin) -> Option<Self> {
        rustix::fs::fstat(stdin).ok().map(|stat| Self(stat.st_ino))
    }

    #[cfg(not(target_os = "linux"))]
    fn of(_: &ChildStdin) -> Option<Self> {
        None
    }

    /// Returns whether another process has the pipe open. Blocks.
    fn is_read(&self) -> bool {
        let pipe = format!("pipe:[{}]", self.0);
        let own = std::process::id().to_string();
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return true;
        };
        entries.flatten().any(|entry| {
            let name = entry.file_name();
            let is_other = name
                .to_str()
                .is_some_and(|name| name != own && name.bytes().all(|byte| byte.is_ascii_digit()));
            // Processes of other users cannot be read, and are no agents of this daemon.
            is_other && has_open(&entry.path(), &pipe)
        })
    }
}

/// Returns whether the process in this directory of `/proc` has a file open that links to `target`.
fn has_open(process: &std::path::Path, target: &str) -> bool {
    let Ok(files) = std::fs::read_dir(process.join("fd")) else {
        return false;
    };
    files
        .flatten()
        .any(|file| std::fs::read_link(file.path()).is_ok_and(|link| link.as_os_str() == target))
}

/// The task that reads stderr, and what it has read. The task ends with this value, at the latest.
#[derive(Debug)]
struct StderrReader {
    task: JoinHandle<()>,
    tail: StderrTail,
}

impl StderrReader {
    async fn text(mut self) -> String {
        match tokio::time::timeout(STDERR_GRACE, &mut self.task).await {
            Ok(Ok(())) => self.tail.tail().text(true).0.trim_end().to_owned(),
            _ => "(stderr is still held open by a child of the agent)".to_owned(),
        }
    }
}

impl Drop for StderrReader {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Enlarges the pipe, for fewer and larger reads from a busy agent. If the system refuses, the pipe stays as it is.
#[cfg(target_os = "linux")]
fn widen(stdout: &ChildStdout) {
    let _ = rustix::pipe::fcntl_setpipe_size(stdout, AGENT_PIPE_BYTES);
}

#[cfg(not(target_os = "linux"))]
fn widen(_: &ChildStdout) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::command::Environment;

    fn start(script: &str) -> AgentProcess {
        AgentProcess::spawn(&Program {
            command: "sh".into(),
            args: vec!["-c".into(), script.into()],
            env: Environment::here(&[], &std::collections::BTreeMap::new()),
            cwd: std::env::temp_dir(),
            sandbox: None,
        })
        .expect("sh starts")
    }

    #[tokio::test]
    async fn a_starter_that_exits_with_0_may_leave_the_agent_behind() {
        for (script, is_read) in [
            ("exec 3<&0; sleep 1000 <&3 3<&- &", true),
            ("sleep 1000 </dev/null & :", false),
        ] {
            let mut process = start(script);
            process.wait().await;
            let input = process.input.clone().unwrap();
            // The child may not have replaced its stdin yet.
            let settled = async {
                while input.is_read() != is_read {
                    tokio::task::yield_now().await;
                }
            };
            let settled = tokio::time::timeout(Duration::from_secs(30), settled).await;
            assert!(settled.is_ok(), "{script}");
            process.stop(Duration::ZERO).await;
            assert!(!input.is_read());
        }
    }
}
