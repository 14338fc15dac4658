//! Compactions of the context. In version 2, an update has only what changes, and in version 1 always the status.

use std::collections::VecDeque;

use acpd_model::RawJson;

use super::parts::{text_in, with_blocks};
use crate::agent::bounds::is_name;
use crate::wire::{member, spliced};

/// Compactions whose status is known, of all sessions of a process.
const COMPACTIONS: usize = 64;
/// The status at first, and the one to which `null` resets it.
const IN_PROGRESS: &str = r#""in_progress""#;

/// The compactions that changed last in a process, the last one at the end: the session, the agent's id, and the status as JSON.
#[derive(Debug, Default)]
pub(super) struct Compactions(VecDeque<(String, String, String)>);

impl Compactions {
    /// Returns `compaction_update` with its status.
    pub fn whole(&mut self, session: &str, update: &RawJson) -> RawJson {
        let update = with_blocks(update, "summary");
        let written = member(&update, "status").map(|status| match status {
            "null" => IN_PROGRESS,
            status => status,
        });
        let Some(id) = text_in(&update, "compactionId").filter(|id| is_name(id)) else {
            return update;
        };
        let known = self
            .0
            .iter()
            .position(|(of, known, _)| of == session && *known == id);
        let last = known.and_then(|at| self.0.remove(at)).map(|(.., status)| status);
        let status = match written {
            Some(written) => written.to_owned(),
            None => last.unwrap_or_else(|| IN_PROGRESS.to_owned()),
        };
        let whole = spliced(&update, &[("status", &status)]);
        if self.0.len() == COMPACTIONS {
            self.0.pop_front();
        }
        if is_name(&status) {
            self.0.push_back((session.to_owned(), id, status));
        }
        whole
    }
}
