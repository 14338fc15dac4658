//! One agent's process.

use std::time::Duration;

use acpd_model::limits::STDERR_TAIL_BYTES;
use acpd_model::{ErrorCode, Failure};
use rustix::process::{Pid, Signal};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

use crate::command::Program;
use crate::group;
use crate::tail::Tail;

/// A running agent. Dropping it kills its whole group.
#[derive(Debug)]
pub struct AgentProcess {
    /// Where its messages go.
    pub stdin: Option<ChildStdin>,
    /// Where its messages come from.
    pub stdout: ChildStdout,
    child: Child,
    group: Option<Pid>,
    stderr: Option<JoinHandle<Tail>>,
    name: String,
}

/// How an agent's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// A sentence for people.
    pub reason: String,
    /// The last lines of its stderr.
    pub stderr: String,
}

/// How long the rest of stderr is waited for after the process is gone: a grandchild may hold the pipe.
const STDERR_GRACE: Duration = Duration::from_millis(200);

impl AgentProcess {
    /// Starts the program.
    pub fn spawn(program: &Program) -> Result<Self, Failure> {
        let mut child = group::prepare(program)
            .spawn()
            .map_err(|error| cannot_start(program, &error))?;
        let group = group::group_of(&child);
        let (Some(stdin), Some(stdout), Some(mut stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            group::signal(group, Signal::KILL);
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
        let name = program.command.clone();
        Ok(Self {
            stdin: Some(stdin),
            stdout,
            child,
            group,
            stderr: Some(stderr),
            name,
        })
    }

    /// Waits until the process is gone by itself. Safe to cancel.
    pub async fn wait(&mut self) {
        // An error means that it cannot be waited for, so it is gone as far as we can know.
        let _ = self.child.wait().await;
    }

    /// Ends the process if it still runs: end of input, then SIGTERM, then SIGKILL to its group, with `grace`
    /// after each of the first two. Whoever is left of its group afterwards is killed.
    pub async fn stop(mut self, grace: Duration) -> Ended {
        self.stdin = None;
        let mut status = group::wait_for(&mut self.child, grace).await;
        if status.is_none() {
            group::signal(self.group, Signal::TERM);
            status = group::wait_for(&mut self.child, grace).await;
        }
        group::signal(self.group, Signal::KILL);
        let status = match status {
            Some(status) => status,
            None => self.child.wait().await,
        };
        let reason = match status.map(group::describe) {
            Ok((Some(code), _)) => format!("{} exited with code {code}", self.name),
            Ok((None, Some(signal))) => format!("{} was ended by {signal}", self.name),
            _ => format!("{} ended", self.name),
        };
        self.group = None;
        Ended {
            reason,
            stderr: self.stderr().await,
        }
    }

    async fn stderr(&mut self) -> String {
        let Some(reader) = self.stderr.take() else {
            return String::new();
        };
        let abort = reader.abort_handle();
        match tokio::time::timeout(STDERR_GRACE, reader).await {
            Ok(Ok(mut tail)) => tail.text().0.trim_end().to_owned(),
            _ => {
                abort.abort();
                "(stderr is still held open by a child of the agent)".to_owned()
            }
        }
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        group::signal(self.group, Signal::KILL);
    }
}

/// Fewer, larger reads for an agent that writes a lot. The system may say no; then it stays as it was.
#[cfg(target_os = "linux")]
fn widen(stdout: &ChildStdout) {
    let _ = rustix::pipe::fcntl_setpipe_size(stdout, acpd_model::limits::AGENT_PIPE_BYTES);
}

#[cfg(not(target_os = "linux"))]
fn widen(_: &ChildStdout) {}

fn cannot_start(program: &Program, error: &std::io::Error) -> Failure {
    let Program { command, cwd, .. } = program;
    let message = match error.kind() {
        std::io::ErrorKind::NotFound if !cwd.is_dir() => {
            format!("the directory {} does not exist", cwd.display())
        }
        std::io::ErrorKind::NotFound => {
            format!(
                "the program {command:?} was not found: install it, or give its full path in the configuration"
            )
        }
        std::io::ErrorKind::PermissionDenied => format!("the program {command:?} may not be executed"),
        _ => format!("the program {command:?} could not be started: {error}"),
    };
    Failure::agent(message)
}
