//! What the log knows of a held agent's pipes, and they of the log.
//!
//! In: what is stored. Out: what was sent. Never: moves a byte.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::shared::Shared;

/// A cheap handle of a held agent's pipes. Calls after this daemon has left the agent have no effect.
#[derive(Debug, Clone)]
pub struct HeldPipes(Arc<Shared>);

impl HeldPipes {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// Lets output before this byte be overwritten: the log has it. The next daemon must attach with this cursor, or a later one.
    pub fn acknowledge(&self, cursor: u64) {
        self.0.state().acknowledge(cursor);
    }

    /// Sets how long the shim waits for another daemon if this one is killed. It waits for an hour if nothing else was said.
    pub fn limit_orphan(&self, orphan: Duration) {
        self.0.state().limit_orphan(orphan);
    }

    /// Returns the number of bytes that were appended to the journal of sent lines.
    pub fn journal_end(&self) -> u64 {
        self.0.state().journal_end()
    }

    /// Returns the lines in the journal from this place on, which is where a line begins. Fails if they were forgotten, the journal is
    /// shorter, or this daemon has left the agent.
    pub fn sent_since(&self, mark: u64) -> io::Result<Vec<u8>> {
        self.0.state().sent_since(mark)
    }

    /// Gives the memory of lines before this place of the journal back. They are not needed any more.
    pub fn forget(&self, mark: u64) {
        self.0.state().forget(mark);
    }
}
