//! The start state of a connection.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use acpd_model::{RawJson, Seq, ThreadId, TurnId};

/// The purpose of a connection, and the state that it continues.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConnectionStart {
    /// The base directory of the editor's relative paths; empty if unknown.
    pub cwd: PathBuf,
    /// The thread that the first `session/new` opens, instead of a new one.
    pub thread: Option<ThreadId>,
    /// The event after which `session/resume` continues, if that is not the thread's latest.
    pub after: BTreeMap<ThreadId, Seq>,
    /// The threads whose session was opened for the editor before the agent had opened it. The editor has their modes and models only as
    /// options.
    pub early: BTreeSet<ThreadId>,
    /// The last turn of each thread whose prompt the editor sent, and whose response of version 2 it has.
    pub own: BTreeMap<ThreadId, TurnId>,
    /// Whether the client receives checkpoints: its position in each thread, and the names of its prompts.
    pub checkpoints: bool,
    /// Whether editors may speak version 2 of ACP.
    pub offers_v2: bool,
    /// Prompts of a lost connection. This connection answers them once their threads are resumed.
    pub prompts: Vec<PendingPrompt>,
}

/// A prompt without a response.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingPrompt {
    /// The editor's id for the request.
    pub id: RawJson,
    /// The prompt's session.
    pub thread: ThreadId,
    /// The id of its turn, set by the connection that sent it.
    pub client_turn_id: String,
}
