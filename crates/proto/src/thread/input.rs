//! The inputs of a thread.

use acpd_model::event::Level;
use acpd_model::{EventKind, Failure, Origin, RawJson, SessionEvent};
use acpd_policy::RealPaths;

use super::command::Command;
use super::effect::{RememberedOutcome, Waiter};
use super::host_call::{HostReply, TerminalEvent};
use crate::agent::AgentEvent;
use crate::projection::Exchanges;
use crate::wire::RpcError;

/// An input that a thread must handle.
#[derive(Debug)]
pub enum Input {
    /// A client sent a command.
    Command {
        /// Identifies the command; [`Effect::Reply`](super::Effect::Reply) returns the same number.
        call: u64,
        /// The client that sent the command.
        by: Origin,
        /// The requested operation.
        command: Command,
    },
    /// The agent sent a request, a notification or a response.
    Agent(AgentEvent),
    /// The agent's process exited, or failed to start.
    AgentExited(AgentExit),
    /// A file or terminal operation of the agent, or for a user's command, is done.
    Host {
        /// Identifies the agent's callback, or the user's command.
        call: u64,
        /// The result of the operation, or why it failed.
        result: Result<HostReply, Failure>,
    },
    /// Paths were resolved, see [`Effect::Resolve`](super::Effect::Resolve).
    Resolved {
        /// The waiter from the effect.
        waiter: Waiter,
        /// The real paths that were found.
        real: RealPaths,
    },
    /// The outcome of a change to the agent-wide remembered answers, see [`Effect::ChangeRemembered`](super::Effect::ChangeRemembered).
    RememberedChanged {
        /// The client from the effect.
        by: Origin,
        /// The outcome of the change.
        outcome: RememberedOutcome,
    },
    /// The text of the conversation so far, see [`Effect::CollectHistory`](super::Effect::CollectHistory); or why it cannot be read.
    HistoryCollected(Result<String, Failure>),
    /// The exchanges of the conversation so far, see [`Effect::CollectExchanges`](super::Effect::CollectExchanges); or why they cannot be read.
    ExchangesCollected(Result<Exchanges, Failure>),
    /// An editor answered a request, see [`Effect::Editor`](super::Effect::Editor).
    EditorAnswered {
        /// The editor's connection.
        connection: String,
        /// Identifies the agent's callback.
        call: u64,
        /// The editor's result or error, unchanged except for terminal ids, which are the daemon's.
        result: Result<RawJson, RpcError>,
    },
    /// An attached editor closed the thread, or its connection closed.
    EditorGone {
        /// The editor's connection.
        connection: String,
        /// Callbacks that were never sent to the editor.
        unsent: Vec<u64>,
    },
    /// A terminal wrote output or exited.
    Terminal {
        /// The daemon's id for the terminal.
        terminal_id: String,
        /// The output or the exit.
        event: TerminalEvent,
    },
}

/// A path that an agent was denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessDenied {
    /// The code of the notice.
    pub code: &'static str,
    /// What was denied, and by what.
    pub message: String,
    /// What the user can do.
    pub advice: String,
    /// The folder that a user may open for the thread.
    pub folder: Option<String>,
}

impl AccessDenied {
    pub(super) fn into_event(self) -> EventKind {
        EventKind::Session(SessionEvent::NoticeGiven {
            level: Level::Warning,
            code: self.code.to_owned(),
            message: self.message,
            detail: Some(self.advice),
            folder: self.folder,
        })
    }
}

/// Describes how an agent's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentExit {
    /// A human-readable sentence.
    pub reason: String,
    /// The last lines of the process's stderr.
    pub stderr: String,
}
