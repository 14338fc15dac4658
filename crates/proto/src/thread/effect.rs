//! The effects that a thread requests.

use acpd_model::{Failure, Millis, Origin, RawJson, Seq, TurnId};
use acpd_policy::{RememberedRule, Request};

use super::command::Sight;
use super::editors::EditorCommand;
use super::host_call::HostCall;
use super::reply::Reply;
use crate::agent::{AgentCommand, Start};
use crate::fanout::LiveUpdate;
use crate::projection::DroppedTurns;

/// Why a thread is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// A client requested it.
    Requested,
    /// The thread was not used for long.
    Unused,
    /// The daemon ended during an earlier deletion.
    Interrupted,
}

/// An effect to carry out after the events before it are stored.
#[derive(Debug)]
pub enum Effect {
    /// Sends the reply to a client's command.
    Reply {
        /// The command's number.
        call: u64,
        /// The reply, or why the command failed.
        result: Result<Reply, Failure>,
    },
    /// Starts the agent's process.
    StartAgent(Start),
    /// Ends the agent's process and its terminals.
    StopAgent,
    /// Sends a command to the agent's connection.
    Agent(AgentCommand),
    /// Shows an update to clients that follow the thread now. It is not in the log, has no sequence number and is never
    /// repeated.
    Show {
        /// The turn that runs.
        turn: Option<TurnId>,
        /// The time of the update.
        at: Millis,
        /// The last event before the update: clients see the update after that event, and before the next.
        after: Seq,
        /// The update to show.
        shown: LiveUpdate,
    },
    /// Resolves these absolute paths, and returns the result as [`Input::Resolved`](super::Input::Resolved).
    Resolve {
        /// What waits for the result.
        waiter: Waiter,
        /// The paths, without duplicates.
        paths: Vec<String>,
    },
    /// Changes the agent-wide remembered answers, and returns the outcome as [`Input::RememberedChanged`](super::Input::RememberedChanged).
    ChangeRemembered {
        /// The client that requested the change.
        by: Origin,
        /// The change.
        order: RememberedChange,
    },
    /// Reads the conversation so far with [`Exchanges::known`](crate::projection::Exchanges::known), and returns the result as
    /// [`Input::ExchangesCollected`](super::Input::ExchangesCollected). Other inputs may come before it. A later effect of
    /// this kind, or a [`CollectHistory`](Self::CollectHistory), takes the place of this one.
    CollectExchanges {
        /// The turn to leave out, because its prompt is about to be sent.
        except: Option<TurnId>,
        /// Turns that no longer belong to the conversation.
        dropped: DroppedTurns,
    },
    /// Collects the text of the conversation so far with [`HistoryText`](crate::projection::HistoryText), and returns
    /// the result as [`Input::HistoryCollected`](super::Input::HistoryCollected). Other inputs may come before it. A later
    /// effect of this kind, or a [`CollectExchanges`](Self::CollectExchanges), takes the place of this one.
    CollectHistory {
        /// The turn to leave out, because its prompt is about to be sent.
        except: TurnId,
        /// Turns that no longer belong to the conversation.
        dropped: DroppedTurns,
        /// The maximum size of the text, in bytes.
        bytes: usize,
    },
    /// Deletes the thread's log; after that the thread no longer exists.
    Delete {
        /// The command to reply to afterwards. It is unknown after a restart.
        call: Option<u64>,
        /// What requested the deletion.
        by: Origin,
        /// Why the thread is deleted.
        reason: Deletion,
    },
    /// Sends a command to an editor.
    Editor {
        /// The editor's connection.
        connection: String,
        /// The command.
        order: EditorCommand,
    },
    /// Runs a file or terminal operation on the host for the agent.
    Host {
        /// The agent's callback, which [`Input::Host`](super::Input::Host) completes.
        call: u64,
        /// The operation.
        what: HostCall,
    },
    /// Runs an operation on the terminal of a user's command, whether or not an agent runs. A created terminal ends with
    /// the operation that releases it, or with this process; a release has no result.
    UserHost {
        /// Identifies the command; [`Input::Host`](super::Input::Host) returns the same number.
        call: u64,
        /// The operation on the terminal.
        what: HostCall,
    },
}

/// Identifies what waits for resolved paths.
#[derive(Debug, Clone, PartialEq)]
pub enum Waiter {
    /// A callback of the agent, by its number.
    Call(u64),
    /// A client that asked how the policy decides a tool call.
    Explain {
        /// The number of its command.
        call: u64,
        /// The ACP tool call.
        tool_call: RawJson,
        /// Which parts of the disk may be looked up for it.
        sight: Sight,
    },
    /// A client whose user wants to run a command line. Boxed: it is rare, and an idle thread has room for a waiter.
    UserCommand(Box<UserLine>),
}

/// A command line that a user wants to run.
#[derive(Debug, Clone, PartialEq)]
pub struct UserLine {
    /// The number of the client's command.
    pub call: u64,
    /// The client.
    pub by: Origin,
    /// The line.
    pub line: String,
}

/// A change to the answers that apply to all threads of the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum RememberedChange {
    /// Remembers an answer.
    Remember {
        /// The request that was answered.
        request: Box<Request>,
        /// Whether such requests are allowed from now on; otherwise they are denied.
        allow: bool,
    },
    /// Revokes a remembered answer.
    Revoke {
        /// The number of the client's command.
        call: u64,
        /// The id of the remembered answer.
        id: u64,
    },
}

/// The outcome of a [`RememberedChange`]. It is durable before it is reported here.
#[derive(Debug, Clone, PartialEq)]
pub enum RememberedOutcome {
    /// The new rules; empty if all of them existed already.
    Remembered(Result<Vec<RememberedRule>, Failure>),
    /// A remembered answer was revoked.
    Revoked {
        /// The number of the client's command.
        call: u64,
        /// The id of the remembered answer.
        id: u64,
        /// Whether the answer existed and was removed.
        result: Result<(), Failure>,
    },
}
