//! The host that agents run on: their processes, files and terminals.
//!
//! In: programs to start, and callbacks that the policy has allowed. Out: their results, and output of terminals. Owns:
//! the terminals of a thread. Never: decides whether a callback is allowed.

pub(crate) mod budget;
pub(crate) mod callbacks;
pub mod denial;
pub mod local;
pub mod paths;
pub(crate) mod terminals;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use acpd_host::{Exit, ProcessExit, Program, StderrTail, TerminalSpec, TerminalUpdate};
use acpd_model::{ErrorCode, Failure};
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};

/// The host as the runtime uses it: [`local::LocalHost`], or a scripted one in tests.
pub trait Host: fmt::Debug + Send + Sync {
    /// Starts the process of an agent.
    fn start_agent(&self, program: &Program) -> Result<AgentIo, Failure>;

    /// Starts a command on a terminal. `updates` carries its output and its end.
    fn start_terminal(
        &self,
        spec: &TerminalSpec,
        updates: mpsc::Sender<TerminalUpdate>,
    ) -> Result<Arc<dyn TerminalIo>, Failure>;

    /// Returns the resident memory in bytes of each process and its descendants, 0 if it has ended. Blocks.
    fn resident_memory(&self, pids: &[u32]) -> Vec<u64>;

    /// Runs work that blocks, on a thread for such work.
    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>);
}

/// A pipe for messages to an agent.
pub type AgentStdin = Box<dyn AsyncWrite + Send + Unpin>;

/// A pipe for messages from an agent.
pub type AgentStdout = Box<dyn AsyncRead + Send + Unpin>;

/// The process of an agent and its pipes.
pub struct AgentIo {
    /// The process id; `None` if the process has already ended.
    pub id: Option<u32>,
    /// Pipe for messages to the agent; without one they are dropped.
    pub stdin: Option<AgentStdin>,
    /// Pipe for messages from the agent.
    pub stdout: AgentStdout,
    /// The end of what the agent prints on stderr.
    pub stderr: StderrTail,
    /// Stops the process, and reports how it ended.
    pub process: Box<dyn AgentProcess>,
}

impl fmt::Debug for AgentIo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentIo")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// A running agent. Dropping it kills the process.
pub trait AgentProcess: Send {
    /// Waits until the process has exited and none of its descendants can be the agent. Safe to cancel.
    fn gone(&mut self) -> BoxFuture<'_, ()>;

    /// Ends the process, whose stdin is closed: first by waiting, then by signals, with `grace` for each.
    fn stop(self: Box<Self>, grace: Duration) -> BoxFuture<'static, ProcessExit>;
}

/// A command on a terminal. Dropping the last handle ends it.
pub trait TerminalIo: fmt::Debug + Send + Sync {
    /// Returns the maximum number of output bytes to keep.
    fn output_limit(&self) -> usize;

    /// Returns the kept output, whether earlier output was dropped, and how the command ended if it has.
    fn output(&self) -> (String, bool, Option<Exit>);

    /// Waits until the command has ended.
    fn wait(&self) -> BoxFuture<'_, Exit>;

    /// Types into the terminal.
    fn type_in(&self, text: String) -> BoxFuture<'_, Result<(), Failure>>;

    /// Ends the command. Its output can still be read.
    fn kill(&self) -> BoxFuture<'_, ()>;

    /// Ends the command and drops its output.
    fn release(&self) -> BoxFuture<'_, ()>;
}

/// Runs work that blocks and returns its result. A panic in it fails the request alone.
pub(crate) async fn blocking<T: Send + 'static>(
    host: &dyn Host,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let (result_tx, result_rx) = oneshot::channel();
    // A caller that has gone does not wait for the result.
    host.run_blocking(Box::new(move || drop(result_tx.send(work()))));
    let failed = |_| Failure::new(ErrorCode::Internal, "the work on the disk failed");
    result_rx.await.map_err(failed)?
}
