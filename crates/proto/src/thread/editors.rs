//! The messages between a thread and the editors that have it open.

use acpd_model::{RawJson, Seq};

use crate::agent::ElicitationModes;

/// The capabilities that an editor declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EditorCapabilities {
    /// `fs.readTextFile`.
    pub reads_files: bool,
    /// `fs.writeTextFile`.
    pub writes_files: bool,
    /// `terminal`.
    pub terminals: bool,
    /// `elicitation`.
    pub elicitation: ElicitationModes,
}

impl EditorCapabilities {
    /// Returns whether the editor declared any capability with which it answers the agent's requests, so that it acquires a
    /// free lease when it attaches.
    pub fn any(self) -> bool {
        self.reads_files || self.writes_files || self.terminals
    }
}

/// A command for one editor's connection, in the session of one thread.
#[derive(Debug, Clone, PartialEq)]
pub enum EditorCommand {
    /// Sends a request of the agent to the editor; the answer is
    /// [`Input::EditorAnswered`](super::Input::EditorAnswered).
    Request {
        /// The agent's callback.
        call: u64,
        /// The editor must receive all events up to this one before the request.
        after: Seq,
        /// The request.
        request: Box<EditorRequest>,
    },
    /// Cancels a request, because nothing waits for the answer any more. A request that is not sent yet is never
    /// sent.
    Withdraw {
        /// The agent's callback.
        call: u64,
        /// Whether the editor's answer is also discarded.
        forget: bool,
    },
    /// Releases a terminal that is no longer used.
    EndTerminal {
        /// The daemon's id for the terminal.
        terminal_id: String,
    },
}

/// A request of the agent that an editor answers.
#[derive(Debug, Clone, PartialEq)]
pub struct EditorRequest {
    /// The request's method.
    pub method: String,
    /// The agent's params, unchanged but for a shell line as a terminal's command; they contain the session id and terminal id that the agent knows.
    pub params: Option<RawJson>,
    /// The daemon's id for the terminal that the request uses or creates.
    pub terminal_id: Option<String>,
    /// Whether the request creates that terminal: then the terminal's id in the answer is the editor's.
    pub creates: bool,
}
