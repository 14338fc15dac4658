//! What a connection begins with.

use std::collections::BTreeMap;
use std::path::PathBuf;

use acpd_model::{RawJson, Seq, ThreadId};

/// What a connection is for, and what it goes on from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConnectionStart {
    /// What the editor's relative paths are relative to; empty if that is unknown.
    pub cwd: PathBuf,
    /// The thread that the first `session/new` opens, in place of a new one.
    pub thread: Option<ThreadId>,
    /// The event behind which `session/resume` goes on, where that is not the thread's latest.
    pub after: BTreeMap<ThreadId, Seq>,
    /// Whether the client is told up to where it has seen its threads, and the names of its prompts.
    pub checkpoints: bool,
    /// Prompts of a connection that was lost, which are answered on this one once their threads are resumed.
    pub prompts: Vec<PendingPrompt>,
}

/// A prompt without an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingPrompt {
    /// The editor's id for the request.
    pub id: RawJson,
    /// Its session.
    pub thread: ThreadId,
    /// The id of its turn by the connection that sent it.
    pub client_turn_id: String,
}
