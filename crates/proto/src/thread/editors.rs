//! What a thread says to the editors that have it open, and hears from them.

use acpd_model::{RawJson, Seq};

/// What an editor can do for an agent, as it declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EditorCapabilities {
    /// `fs.readTextFile`.
    pub reads_files: bool,
    /// `fs.writeTextFile`.
    pub writes_files: bool,
    /// `terminal`.
    pub terminals: bool,
}

impl EditorCapabilities {
    /// Whether it declared any of them, so that it takes a lease that nobody holds.
    pub fn any(self) -> bool {
        self.reads_files || self.writes_files || self.terminals
    }
}

/// Something for one editor's connection to do, in one thread's session.
#[derive(Debug, Clone, PartialEq)]
pub enum EditorCommand {
    /// Ask the editor what the agent asked; the answer is [`Input::EditorAnswered`](super::Input::EditorAnswered).
    Request {
        /// The agent's callback.
        call: u64,
        /// The editor is to be told everything up to this event before.
        after: Seq,
        /// What.
        request: Box<EditorRequest>,
    },
    /// Nobody waits for the answer any more: the editor may stop. What was not asked yet is not asked.
    Withdraw {
        /// The agent's callback.
        call: u64,
        /// Whether it is of no interest either what the editor answers.
        forget: bool,
    },
    /// Let a terminal go that nobody will name any more.
    EndTerminal {
        /// Its name by us.
        terminal_id: String,
    },
}

/// A request of the agent that an editor is to answer.
#[derive(Debug, Clone, PartialEq)]
pub struct EditorRequest {
    /// Its method.
    pub method: String,
    /// Params in the agent's words; its session and its terminal stand there as the agent knows them.
    pub params: Option<RawJson>,
    /// The name by us of the terminal that it is about, or that it makes.
    pub terminal_id: Option<String>,
    /// Whether it makes that terminal: then the answer's name for it is the editor's.
    pub creates: bool,
}
