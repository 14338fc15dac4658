//! Work of an agent that runs beside the turn, in each session.

use std::collections::BTreeSet;

use acpd_model::RawJson;

use super::parts::objects_in;

/// Sessions whose work in the background is followed.
const SESSIONS: usize = 1024;

/// The sessions that have work in the background.
#[derive(Debug, Default)]
pub(super) struct Background(BTreeSet<String>);

impl Background {
    /// Returns whether a report of what a session does says that there is work in the background, or no longer any.
    pub fn changes(&mut self, session: &str, update: &RawJson) -> bool {
        let Some(work) = objects_in(update, "background") else {
            return false;
        };
        if work.is_empty() {
            return self.0.remove(session);
        }
        if self.0.len() < SESSIONS {
            self.0.insert(session.to_owned());
        }
        true
    }
}
