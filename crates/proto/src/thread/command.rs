//! The commands of clients to a thread.

use acpd_model::event::Directories;
use acpd_model::{Millis, RawJson, RequestId, TurnId};
use acpd_policy::Scope;

use super::editors::EditorCapabilities;
use super::reply::ForkContents;
use crate::agent::{AgentRequest, ConfigValue, ElicitationModes};
use crate::projection::{SessionChange, Spec};

/// What a user does to a running command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalAct {
    /// Types text, as with a keyboard.
    TypeIn(String),
    /// Ends the command.
    Kill,
}

/// A command from a client to a thread.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Creates the thread. Always the first input of a thread; the reply follows when the agent is ready or has
    /// failed.
    Create {
        /// How to start the agent and open its session.
        spec: Box<Spec>,
        /// A name chosen by the user.
        name: Option<String>,
        /// The client's own grouping.
        project_id: Option<String>,
        /// The client's own data.
        metadata: Option<RawJson>,
        /// The modes of elicitation that the client can show.
        elicitation: ElicitationModes,
        /// Values of options that the client sets next, for agents that take them with the request that opens the session.
        config_options: Vec<(String, ConfigValue)>,
    },
    /// Changes how the agent's session is opened from now on; the reply is immediate.
    SetSessionParams(SessionChange),
    /// Starts the agent if it does not run; the reply is immediate.
    Wake {
        /// The modes of elicitation that the client shows once it follows the thread.
        shows: ElicitationModes,
    },
    /// Sends a prompt, now or after the turns that are queued before it.
    StartTurn {
        /// ACP content blocks.
        input: Vec<RawJson>,
        /// `_meta` of the prompt for the agent; passed on unchanged.
        meta: Option<RawJson>,
        /// The client's own id for the turn.
        client_turn_id: Option<String>,
        /// A turn of the conversation that leaves it first, with all later ones.
        replaces: Option<TurnId>,
    },
    /// Adds input to the running turn; the reply is [`Reply::Steered`](super::Reply::Steered).
    Steer {
        /// ACP content blocks.
        input: Vec<RawJson>,
        /// The expected running turn; the command fails if another turn runs.
        turn: Option<TurnId>,
        /// The client's own id for the turn that the input becomes if the running one cannot take it.
        client_turn_id: Option<String>,
    },
    /// Runs a command line for a user; the reply is [`Reply::CommandStarted`](super::Reply::CommandStarted).
    RunCommand {
        /// The line, for `/bin/sh`.
        line: String,
    },
    /// Types into the terminal of a running command, or ends the command. The reply follows when that is done.
    UseTerminal {
        /// The daemon's id for the terminal.
        terminal_id: String,
        /// What to do.
        act: TerminalAct,
    },
    /// Cancels a sign-in: its request fails, and an agent that has the request is stopped, because ACP cannot cancel it.
    CancelSignIn,
    /// Reads what the agent has printed for a sign-in; the reply is [`Reply::SignIn`](super::Reply::SignIn).
    ReadSignIn,
    /// Changes something about the thread as a whole.
    Change(Change),
    /// Drops the last turns of the thread; the reply is [`Reply::RolledBack`](super::Reply::RolledBack).
    RollBack {
        /// The last turn to keep; `None` drops all turns.
        last_kept: Option<TurnId>,
    },
    /// Deletes the thread. The reply follows when all of its data is deleted.
    Delete,
    /// Deletes the thread because it was not used for long. Rejected with `conflict` if it is in use, or was used since.
    DeleteUnused(LastUse),
    /// Returns the point for a fork of this thread, as [`Reply::Fork`](super::Reply::Fork).
    Fork {
        /// The last turn to include; if absent, the last finished turn.
        turn: Option<TurnId>,
    },
    /// Creates the thread from another thread's events. Always the first input of such a thread.
    Adopt(Box<ForkContents>),
    /// Waits while the agent opens the session. Fails if it cannot.
    AwaitSession,
    /// Interrupts a turn.
    Interrupt {
        /// The turn to interrupt; the running one if absent.
        turn: Option<TurnId>,
        /// Further effects.
        options: InterruptOptions,
    },
    /// Changes the queue of turns.
    ChangeQueue(QueueChange),
    /// Sends the prompt of a queued turn into the running turn; the reply is [`Reply::Steered`](super::Reply::Steered).
    SteerQueued {
        /// The queued turn, which ends.
        turn: TurnId,
    },
    /// Answers a request of the agent.
    Answer {
        /// The request to answer.
        request: RequestId,
        /// The client's answer.
        answer: Answer,
        /// How long the answer applies, if it applies to more than this request.
        scope: Option<Scope>,
    },
    /// Explains how the policy decides an ACP tool call; the reply is [`Reply::Explained`](super::Reply::Explained).
    Explain {
        /// The ACP tool call.
        tool_call: RawJson,
        /// Which parts of the disk may be looked up for it.
        sight: Sight,
    },
    /// Sets the thread's own policy, or removes it.
    SetPolicy(Option<RawJson>),
    /// Lists the remembered answers; the reply is [`Reply::Remembered`](super::Reply::Remembered).
    Remembered,
    /// Revokes a remembered answer.
    Revoke {
        /// The id of the remembered answer.
        id: u64,
    },
    /// Sends the agent a request that is not part of a turn; the reply is [`Reply::Agent`](super::Reply::Agent).
    AgentRequest(AgentRequest),
    /// Sends the agent an extension notification.
    Notify {
        /// The method; its name begins with `_`.
        method: String,
        /// The params, passed on unchanged.
        params: Option<RawJson>,
    },
    /// Attaches an editor to the thread until [`Input::EditorGone`](super::Input::EditorGone); the reply is [`Reply::Lease`](super::Reply::Lease).
    Attach {
        /// Identifies the editor's connection in this process.
        connection: String,
        /// The capabilities that the editor offers to the agent.
        abilities: EditorCapabilities,
    },
    /// Gives the lease to an attached editor; the reply is that of [`Command::Attach`].
    AcquireLease {
        /// The editor's connection.
        connection: String,
    },
    /// Releases the lease of an attached editor, if it holds it; the reply is that of [`Command::Attach`].
    ReleaseLease {
        /// The editor's connection.
        connection: String,
    },
    /// Unloads the agent if the thread is idle.
    Rest,
    /// Ends the agent and all pending work because the daemon stops, and records that.
    Stop,
}

/// What an interruption of the running turn does beside asking the agent to end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InterruptOptions {
    /// Pauses the queue, so that no queued turn starts by itself.
    pub pause_queue: bool,
    /// Terminates the agent instead of waiting for it. This also applies to a turn that was interrupted before.
    pub at_once: bool,
}

/// The last use of a thread, as a list shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastUse {
    /// When a turn last started or ended.
    pub updated_at: Millis,
    /// Whether the thread is archived.
    pub archived: bool,
    /// Whether the thread is only checked and stays.
    pub check_only: bool,
}

/// A change to the queue of turns.
#[derive(Debug, Clone, PartialEq)]
pub enum QueueChange {
    /// Reorders, pauses or continues the queue.
    Arrange {
        /// The turns that come first, in this order. Turns that are not queued any more are ignored.
        first: Vec<TurnId>,
        /// Whether no queued turn starts by itself; if absent, that does not change.
        paused: Option<bool>,
    },
    /// Replaces the prompt of a queued turn.
    Edit {
        /// The turn.
        turn: TurnId,
        /// ACP content blocks.
        input: Vec<RawJson>,
    },
}

/// A change to a thread as a whole.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Renames the thread.
    Rename {
        /// The new name; `None` restores the default name.
        name: Option<String>,
    },
    /// Replaces the client's own data.
    SetMetadata {
        /// The new data; `None` removes it.
        metadata: Option<RawJson>,
    },
    /// Sets the directories that the thread works in from now on.
    SetDirectories(Directories),
    /// Opens a further directory for the thread.
    AddDirectory {
        /// The directory, absolute and without links.
        directory: String,
        /// The resolved paths of the thread's present directories, if the thread has none of its own.
        real_directories: Vec<String>,
    },
    /// Pins the thread, or removes its pin.
    Pin {
        /// Whether the thread is pinned from now on.
        pinned: bool,
        /// The place among pinned threads; `None` keeps that of a pinned thread. Without a pin there is none.
        place: Option<u32>,
    },
    /// Archives the thread.
    Archive,
    /// Unarchives the thread.
    Unarchive,
}

/// Limits what a client may learn about the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Only the thread's directories: for clients that may not run commands.
    Workspace,
    /// Every path that the daemon's user can look up.
    Everything,
}

/// An answer to a permission request, or to a request for information.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// One of the agent's own options.
    Option(PickedOption),
    /// The agent's option at this index, counted from 0.
    Place(usize),
    /// Allows the request.
    Accept {
        /// Also for the rest of the session, if the agent offers that.
        always: bool,
    },
    /// Denies the request.
    Decline {
        /// Also for the rest of the session, if the agent offers that.
        always: bool,
    },
    /// The information that the agent requested, in its schema.
    Provide(RawJson),
    /// Cancels the request without an answer.
    Cancel,
}

/// One of the agent's options, and the meaning that the client showed for it. If the two differ, the answer is
/// rejected: a user may have pressed a button with a different label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickedOption {
    /// The agent's id for the option.
    pub option_id: String,
    /// The kind of the option that the user saw.
    pub kind: Option<String>,
    /// The verdict that the user gave.
    pub verdict: Option<Verdict>,
}

impl From<&str> for PickedOption {
    fn from(option_id: &str) -> Self {
        Self::from(option_id.to_owned())
    }
}

impl From<String> for PickedOption {
    fn from(option_id: String) -> Self {
        Self {
            option_id,
            kind: None,
            verdict: None,
        }
    }
}

/// Allows or denies a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the request is allowed.
    pub allow: bool,
    /// Whether the verdict applies to more than this request. `false` means that this is unknown.
    pub always: bool,
}

impl Verdict {
    /// Returns whether an option of this kind has the same meaning.
    pub fn agrees_with(self, kind: &str) -> bool {
        let word = if self.allow { "allow_" } else { "reject_" };
        kind.strip_prefix(word)
            .is_some_and(|how_long| !self.always || how_long == "always")
    }
}
