//! Calls in progress, with what their end needs to know.

use acpd_model::{ItemId, Origin, TurnId};

use super::files::FileWrite;
use crate::agent::Call;
use crate::time::Instant;

/// Who answers a callback.
pub(super) enum Responder {
    Daemon,
    Editor(String),
    /// A terminal that was lost with its editor.
    Lost,
}

/// A command in a terminal.
#[derive(Debug)]
pub(super) struct TerminalCommand {
    /// Our name for the terminal.
    pub terminal_id: String,
    pub command: String,
    pub args: Vec<String>,
    pub cwd: String,
}

/// Returns our name for the terminal that a callback creates.
pub(super) fn terminal_id(call: u64) -> String {
    format!("term_{}", call + 1)
}

/// A call in progress, with what its end needs to know.
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
    /// A terminal in an editor is released once its last output is known.
    QueuedRelease(String),
    /// An editor does it.
    Delegated(Box<Delegation>),
}

impl HostTask {
    /// Whether the machine is another one afterwards.
    pub fn changes(&self) -> bool {
        match self {
            Self::Delegated(delegation) => delegation.changes(),
            _ => !matches!(self, Self::Read { .. } | Self::Other | Self::QueuedRelease(_)),
        }
    }

    /// The method it came as, if a failure of it is worth a place in the record.
    pub fn recorded_method(&self) -> Option<&'static str> {
        match self {
            Self::Read { .. } => Some("fs/read_text_file"),
            Self::Write(_) => Some("fs/write_text_file"),
            Self::Create(_) => Some("terminal/create"),
            _ => None,
        }
    }

    /// Whether it is recorded even when the agent that wanted it is gone: it happens all the same.
    pub fn outlives_agent(&self) -> bool {
        match self {
            Self::Delegated(delegation) => delegation.outlives_agent(),
            _ => matches!(self, Self::Write(_) | Self::Create(_)),
        }
    }
}

/// A callback that an editor has.
#[derive(Debug)]
pub(super) struct Delegation {
    pub connection: String,
    /// The editor, as the causer of what comes of it.
    pub by: Origin,
    pub request: Call,
    /// Where its file was when it was decided on, should it be done here after all.
    pub at: Option<String>,
    /// The file change that it is.
    pub item: Option<ItemId>,
    /// The turn in which it was begun.
    pub turn: Option<TurnId>,
    /// The terminal that it makes.
    pub makes: Option<String>,
    /// The command was known to have ended when its output was asked for.
    pub after_exit: bool,
    /// The agent took it back.
    pub withdrawn: bool,
    pub until: Option<Instant>,
}

impl Delegation {
    /// Whether the machine may be another one afterwards.
    pub fn changes(&self) -> bool {
        matches!(
            self.request,
            Call::WriteFile { .. }
                | Call::CreateTerminal { .. }
                | Call::KillTerminal { .. }
                | Call::ReleaseTerminal { .. }
        )
    }

    /// Whether it is recorded even when the agent that wanted it is gone.
    pub fn outlives_agent(&self) -> bool {
        matches!(self.request, Call::WriteFile { .. } | Call::CreateTerminal { .. })
    }
}

/// The editor's name for itself.
pub(super) fn name(by: &Origin) -> &str {
    match by {
        Origin::Client(caller) => &caller.client,
        _ => "the editor",
    }
}
