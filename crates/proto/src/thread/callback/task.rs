//! Calls in progress, with the data that is needed when they end.

use acpd_model::{ItemId, Origin, TurnId};

use super::files::FileWrite;
use crate::agent::Call;
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

/// Returns the daemon's id for the terminal that a callback creates.
pub(super) fn terminal_id(call: u64) -> String {
    format!("term_{}", call + 1)
}

/// A call in progress, with the data that is needed when it ends.
#[derive(Debug)]
pub(super) enum HostTask {
    Read {
        path: String,
    },
    Write(FileWrite),
    Create(TerminalCommand),
    Kill {
        terminal_id: String,
    },
    Release {
        terminal_id: String,
    },
    Other,
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
            _ => !matches!(self, Self::Read { .. } | Self::Other | Self::QueuedRelease(_)),
        }
    }

    /// Returns the callback's method, if a failure of it is recorded.
    pub fn recorded_method(&self) -> Option<&'static str> {
        match self {
            Self::Read { .. } => Some("fs/read_text_file"),
            Self::Write(_) => Some("fs/write_text_file"),
            Self::Create(_) => Some("terminal/create"),
            _ => None,
        }
    }

    /// Returns whether the call is recorded even if its agent has exited, because it happens anyway.
    pub fn outlives_agent(&self) -> bool {
        match self {
            Self::Delegated(delegation) => delegation.outlives_agent(),
            _ => matches!(self, Self::Write(_) | Self::Create(_)),
        }
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
