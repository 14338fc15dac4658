//! Calls in progress, with the data that is needed when they end.

use acpd_model::{ItemId, Origin, TurnId};
use serde::{Deserialize, Serialize};

use super::files::{FileWrite, WriteCheck};
use crate::agent::Call;
use crate::thread::host_call::HostCall;
use crate::thread::journal::Kept;
use crate::time::Instant;

/// The side that answers a callback.
pub(super) enum Responder {
    Daemon,
    Editor(String),
    /// A terminal that was lost with its editor.
    Lost,
}

/// A command in a terminal.
#[derive(Debug)]
pub(super) struct TerminalCommand {
    /// The daemon's id for the terminal.
    pub terminal_id: String,
    pub command: String,
    pub args: Vec<String>,
    pub cwd: String,
}

impl TerminalCommand {
    /// Returns the command of a request to the host.
    pub fn of(what: &HostCall) -> Option<Self> {
        match what {
            HostCall::CreateTerminal {
                terminal_id,
                command,
                args,
                cwd,
                ..
            } => Some(Self {
                terminal_id: terminal_id.clone(),
                command: command.clone(),
                args: args.clone(),
                cwd: cwd.clone(),
            }),
            _ => None,
        }
    }
}

/// Returns the daemon's id for the terminal that a callback creates.
pub(super) fn terminal_id(call: u64) -> String {
    format!("term_{}", call + 1)
}

/// A call in progress, with the data that is needed when it ends.
#[derive(Debug)]
pub(super) enum HostTask {
    /// An operation that can be done again: one that changes nothing, or the end of a command.
    Again(Repeatable),
    Write(FileWrite),
    /// A write that an earlier daemon began: the host compares the file with it.
    Check(WriteCheck),
    Create {
        command: TerminalCommand,
        /// The request to the host, for a memo.
        kept: Option<Kept>,
    },
    /// A command that an earlier daemon was about to start: the host looks for its terminal.
    Find(Box<TerminalSearch>),
    /// The release of a terminal in an editor, which waits for the last output.
    QueuedRelease(String),
    /// A call that an editor runs.
    Delegated(Box<Delegation>),
}

impl HostTask {
    /// Returns whether the call changes the host.
    pub fn changes(&self) -> bool {
        match self {
            Self::Delegated(delegation) => delegation.changes(),
            Self::Again(repeatable) => repeatable.ends_command(),
            _ => !matches!(self, Self::QueuedRelease(_)),
        }
    }

    /// Returns the callback's method, if a failure of it is recorded.
    pub fn recorded_method(&self) -> Option<&'static str> {
        match self {
            Self::Again(repeatable) => match repeatable.what {
                HostCall::ReadFile { .. } => Some("fs/read_text_file"),
                _ => None,
            },
            Self::Write(_) | Self::Check(_) => Some("fs/write_text_file"),
            Self::Create { .. } | Self::Find(_) => Some("terminal/create"),
            _ => None,
        }
    }

    /// Returns whether the call is recorded even if its agent has exited, because it happens anyway.
    pub fn outlives_agent(&self) -> bool {
        match self {
            Self::Delegated(delegation) => delegation.outlives_agent(),
            _ => matches!(
                self,
                Self::Write(_) | Self::Check(_) | Self::Create { .. } | Self::Find(_)
            ),
        }
    }
}

/// A command that an earlier daemon was about to start.
#[derive(Debug)]
pub(super) struct TerminalSearch {
    /// The daemon's id for the terminal.
    pub terminal_id: String,
    /// The request that creates it; `None` if its content is lost.
    pub create: Option<HostCall>,
    /// The request, for a memo.
    pub kept: Option<Kept>,
    /// Whether the agent withdrew it, so that it must not start any more.
    pub withdrawn: bool,
}

/// An operation of the host that can be done again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Repeatable {
    pub what: HostCall,
    /// Whether the log has it already, and only the agent needs the answer once more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded: bool,
}

impl Repeatable {
    pub fn new(what: HostCall) -> Self {
        let recorded = false;
        Self { what, recorded }
    }

    fn ends_command(&self) -> bool {
        matches!(
            self.what,
            HostCall::KillTerminal { .. } | HostCall::ReleaseTerminal { .. }
        )
    }
}

/// A callback that is delegated to an editor.
#[derive(Debug)]
pub(super) struct Delegation {
    pub connection: String,
    /// The editor as the origin of events.
    pub by: Origin,
    pub request: Call,
    /// The real path of its file at the time of the decision, in case the daemon runs the callback after all.
    pub at: Option<String>,
    /// The callback's file change.
    pub item: Option<ItemId>,
    /// The turn in which the callback started.
    pub turn: Option<TurnId>,
    /// The id of the terminal that the callback creates.
    pub makes: Option<String>,
    /// Whether the command was known to have ended when its output was requested.
    pub after_exit: bool,
    /// Whether the agent withdrew the callback.
    pub withdrawn: bool,
    pub until: Option<Instant>,
}

impl Delegation {
    /// Returns whether the callback may change the host.
    pub fn changes(&self) -> bool {
        matches!(
            self.request,
            Call::WriteFile { .. }
                | Call::CreateTerminal { .. }
                | Call::KillTerminal { .. }
                | Call::ReleaseTerminal { .. }
        )
    }

    /// Returns whether the callback is recorded even if its agent has exited.
    pub fn outlives_agent(&self) -> bool {
        matches!(self.request, Call::WriteFile { .. } | Call::CreateTerminal { .. })
    }
}

/// Returns the name that the editor declared.
pub(super) fn name(by: &Origin) -> &str {
    match by {
        Origin::Client(caller) => &caller.client,
        _ => "the editor",
    }
}
