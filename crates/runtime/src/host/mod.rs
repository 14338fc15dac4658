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
use std::io;
use std::sync::Arc;
use std::time::Duration;

use acpd_host::{Exit, Hold, ProcessExit, Program, StderrTail, TerminalSpec, TerminalUpdate};
use acpd_model::{ErrorCode, Failure};
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};

/// The host as the runtime uses it: [`local::LocalHost`], or a scripted one in tests.
pub trait Host: fmt::Debug + Send + Sync {
    /// Starts the process of an agent. With a hold, which the log has already, a shim holds it: it outlives this daemon unless it is
    /// stopped or dropped. Blocks shortly in that case, so it is called through [`Host::run_blocking`].
    fn start_agent(&self, program: &Program, hold: Option<&Hold>) -> Result<AgentIo, Failure>;

    /// Attaches to the process of an agent that a shim holds. Its output is read from this number of bytes on. Blocks for two seconds
    /// at most.
    fn attach_agent(&self, hold: &Hold, cursor: u64) -> Result<AgentIo, Failure> {
        let (shim, _) = (&hold.shim, cursor);
        let message = format!("the agent of the shim {shim} cannot be continued: this host has no shims");
        Err(Failure::new(ErrorCode::Unsupported, message))
    }

    /// Starts a command on a terminal. `updates` carries its output and its end. With a hold, a shim holds the terminal, and the command
    /// of a shim that runs with this hold already is continued. That blocks.
    fn start_terminal(
        &self,
        spec: &TerminalSpec,
        hold: Option<&Hold>,
        updates: mpsc::Sender<TerminalUpdate>,
    ) -> Result<Arc<dyn TerminalIo>, Failure>;

    /// Continues with a command that an earlier daemon has started with this hold, and of whose output `output_bytes` are kept. `updates`
    /// begins behind the first `from` bytes of it. Blocks for two seconds at most.
    fn attach_terminal(
        &self,
        hold: &Hold,
        output_bytes: usize,
        from: u64,
        updates: mpsc::Sender<TerminalUpdate>,
    ) -> Result<Arc<dyn TerminalIo>, Failure> {
        let _ = (output_bytes, from, updates);
        let shim = &hold.shim;
        let message = format!("the terminal of the shim {shim} cannot be continued: this host has no shims");
        Err(Failure::new(ErrorCode::Unsupported, message))
    }

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
    /// The pipes of a process that a shim holds, for the log.
    pub held: Option<Box<dyn HeldIo>>,
}

/// The pipes of an agent that a shim holds, as the log knows them. No call waits.
pub trait HeldIo: fmt::Debug + Send + Sync {
    /// Lets output before this byte be overwritten: the log has it. A reader that is too far ahead waits for that.
    fn acknowledge(&self, cursor: u64);

    /// Sets how long the process waits for another daemon if this one is killed. A host on which it waits for none does nothing.
    fn limit_orphan(&self, orphan: Duration) {
        let _ = orphan;
    }

    /// Returns the number of bytes that were appended to the journal of sent lines.
    fn journal_end(&self) -> u64;

    /// Returns the lines in the journal from this place on, which is where a line begins.
    fn sent_since(&self, mark: u64) -> io::Result<Vec<u8>>;

    /// Gives the memory of lines before this place of the journal back.
    fn forget(&self, mark: u64);
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

    /// Leaves the process to another daemon, which may attach within this time. Kills it if no shim holds it.
    fn leave(self: Box<Self>, orphan: Duration) {
        // What is dropped is killed, however long it could wait.
        let _ = orphan;
    }
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

    /// Leaves a held command to the next daemon, for which the agent waits this long: dropping the handles does not end it.
    fn leave(&self, _orphan: Duration) {}

    /// Sets how long the agent of a held command waits for the next daemon if this one is killed.
    fn limit_orphan(&self, _orphan: Duration) {}
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
