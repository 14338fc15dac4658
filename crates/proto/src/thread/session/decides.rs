//! Says in the thread that its agent decides by itself what it may do.
//!
//! In: the agent's name and mode, what it did without a question. Out: a notice. Never: repeats the notice, unless a new
//! process has such a mode again.

use acpd_model::event::Level;

use super::Session;
use crate::agent::modes;
use crate::projection::AGENT_DECIDES;
use crate::thread::journal::Journal;

/// What acpd and the user can decide all the same.
const APPLIES: &str = "acpd's policy and your answers apply only to what it asks.";

/// What to do about an agent without a mode that asks.
const CONFINE: &str = "if the agent has a setting to ask first, use it; \"sandbox\" of the agent in the configuration limits what it \
                       can reach";

impl Session {
    /// Returns whether the agent may decide by itself, which neither its mode nor the thread says yet.
    pub fn may_decide(&self, journal: &Journal) -> bool {
        let live = journal.live();
        if live.says_agent_decides || !self.is_ready() {
            return false;
        }
        let name = self.capabilities.as_ref().map_or("", |agent| &*agent.name);
        let mode = live.options().mode().and_then(|mode| mode.current);
        mode.is_none_or(|mode| !modes::is_known(name, &mode))
    }
}

/// Says that an agent of this name never asks, if that is known of it.
pub(super) fn note_never_asks(journal: &mut Journal, agent: &str) {
    if modes::never_asks(agent) && !journal.live().says_agent_decides {
        let text = format!("The agent decides by itself what it may do. {APPLIES}");
        note(journal, &text, CONFINE);
    }
}

/// Says that the agent is in a mode in which it decides by itself, and has none in which it asks.
pub(super) fn note_mode(journal: &mut Journal, mode: &str) {
    let text =
        format!("The agent is in the mode {mode:?}, in which it decides by itself what it may do. {APPLIES}");
    let detail = "change the mode in the thread, or set \"mode\" of the agent in the configuration";
    note(journal, &text, detail);
}

/// Says that the agent has done something without a question.
pub(in crate::thread) fn note_unasked(journal: &mut Journal, deed: &str) {
    let text = format!("The agent {deed} without asking, so it decides by itself what it may do. {APPLIES}");
    note(journal, &text, CONFINE);
}

fn note(journal: &mut Journal, text: &str, detail: &str) {
    journal.detailed_notice(Level::Warning, AGENT_DECIDES, text, Some(detail.to_owned()));
}
