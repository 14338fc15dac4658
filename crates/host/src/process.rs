//! One agent's process.
//!
//! In: a program. Out: its pipes, its end, the last lines of its stderr. Owns: the process and all that comes
//! from it. Never: reads or writes its messages.

use std::process::Stdio;
use std::time::Duration;

use acpd_model::limits::STDERR_TAIL_BYTES;
use acpd_model::{ErrorCode, Failure};
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

use crate::command::Program;
use crate::exit::{Exit, cannot_start};
use crate::leader::{self, Leader, LeaderExit};
use crate::tail::Tail;

/// A running agent. Dropping it kills it and all that came from it.
#[derive(Debug)]
pub struct AgentProcess {
    /// Where its messages go.
    pub stdin: Option<ChildStdin>,
    /// Where its messages come from.
    pub stdout: ChildStdout,
    leader: Leader,
    stderr: StderrReader,
    name: String,
}

/// How an agent's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessExit {
    /// A sentence for people.
    pub reason: String,
    /// The last lines of its stderr.
    pub stderr: String,
}

/// How long the rest of stderr is waited for after the process is gone: one that cannot be killed may hold
/// the pipe.
const STDERR_GRACE: Duration = Duration::from_millis(200);

impl AgentProcess {
    /// Starts the program.
    pub fn spawn(program: &Program) -> Result<Self, Failure> {
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
        let stderr = tokio::spawn(async move {
            let mut tail = Tail::new(STDERR_TAIL_BYTES);
            let mut buffer = [0; 512];
            while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
                tail.push(&buffer[..read]);
            }
            tail
        });
        Ok(Self {
            stdin: Some(stdin),
            stdout,
            leader,
            stderr: StderrReader(stderr),
            name: program.command.clone(),
        })
    }

    /// The id of the process that leads the others; none once it has ended.
    pub fn id(&self) -> Option<u32> {
        self.leader.child.id()
    }

    /// Waits until the process is gone by itself. Safe to cancel.
    pub async fn wait(&mut self) {
        self.leader.exited().await;
    }

    /// Ends the process, see [`StoppingProcess::stop`]. What it says meanwhile is lost.
    pub async fn stop(self, grace: Duration) -> ProcessExit {
        let (stopping, _stdout) = self.into_stopping();
        stopping.stop(grace).await
    }

    /// Closes its stdin. What it says while it is stopped can be read until the end.
    pub fn into_stopping(self) -> (StoppingProcess, ChildStdout) {
        let Self {
            stdin: _,
            stdout,
            leader,
            stderr,
            name,
        } = self;
        (StoppingProcess { leader, stderr, name }, stdout)
    }
}

/// An agent whose stdin is closed and that is to end.
#[derive(Debug)]
pub struct StoppingProcess {
    leader: Leader,
    stderr: StderrReader,
    name: String,
}

impl StoppingProcess {
    /// Ends the process if it still runs: end of input, then SIGTERM, then SIGKILL, with `grace` after each of
    /// the first two. Both signals go to all that came from it; nothing of that is left afterwards.
    pub async fn stop(mut self, grace: Duration) -> ProcessExit {
        let told = !self.leader.exits_within(grace).await;
        if told {
            self.leader.terminate();
            self.leader.exits_within(grace).await;
        }
        let ending = self.leader.end(told).await;
        ProcessExit {
            reason: reason(&self.name, &ending),
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

/// The task that reads stderr; it ends with this at the latest.
#[derive(Debug)]
struct StderrReader(JoinHandle<Tail>);

impl StderrReader {
    async fn text(mut self) -> String {
        match tokio::time::timeout(STDERR_GRACE, &mut self.0).await {
            Ok(Ok(tail)) => tail.text(true).0.trim_end().to_owned(),
            _ => "(stderr is still held open by a child of the agent)".to_owned(),
        }
    }
}

impl Drop for StderrReader {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Fewer, larger reads for an agent that writes a lot. The system may say no; then it stays as it was.
#[cfg(target_os = "linux")]
fn widen(stdout: &ChildStdout) {
    let _ = rustix::pipe::fcntl_setpipe_size(stdout, acpd_model::limits::AGENT_PIPE_BYTES);
}

#[cfg(not(target_os = "linux"))]
fn widen(_: &ChildStdout) {}
