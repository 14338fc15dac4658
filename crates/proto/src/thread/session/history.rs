//! The conversation so far, for an agent that lost its session.
//!
//! In: a prompt that is about to be sent, the collected conversation. Out: the effect that collects it, and the block that goes
//! before the prompt. Owns: whether it is collected. Never: becomes an event.

use acpd_model::event::{Fidelity, Level};
use acpd_model::{ErrorCode, Failure, RawJson, TurnId};

use super::Session;
use crate::thread::command::Effect;
use crate::thread::journal::Journal;

/// Where the conversation so far is.
#[derive(Debug, Default)]
enum HistoryState {
    #[default]
    Unrequested,
    Requested,
    Collected(String),
    /// It cannot be read.
    Failed,
}

/// The conversation so far.
#[derive(Debug, Default)]
pub(super) struct History {
    state: HistoryState,
    /// The agent has taken a prompt without the conversation so far, which could not be read.
    due: bool,
}

/// What is needed is on its way.
pub(in crate::thread) struct HistoryPending;

impl History {
    /// Forgets the collected conversation: the next process gets what it is by then.
    pub fn forget(&mut self) {
        self.state = HistoryState::Unrequested;
    }
}

impl Session {
    /// What an agent that has forgotten the conversation is told of it before the prompt; an error while that is
    /// being collected. It is not part of what the person said, and no event holds it.
    pub fn primer(&mut self, journal: &mut Journal, turn: TurnId) -> Result<Option<RawJson>, HistoryPending> {
        let has_to_know = journal.live().forgotten || self.history.due;
        let bytes = journal.limits().recall_bytes;
        if !has_to_know || bytes == 0 {
            return Ok(None);
        }
        match std::mem::take(&mut self.history.state) {
            HistoryState::Unrequested => {
                self.history.state = HistoryState::Requested;
                let dropped = journal.live().dropped.clone();
                journal.push(Effect::CollectHistory {
                    except: turn,
                    dropped,
                    bytes,
                });
                Err(HistoryPending)
            }
            HistoryState::Requested => {
                self.history.state = HistoryState::Requested;
                Err(HistoryPending)
            }
            HistoryState::Failed => {
                self.history.due = true;
                Ok(None)
            }
            HistoryState::Collected(text) => {
                self.history.due = false;
                if text.is_empty() {
                    return Ok(None);
                }
                let embeds = self.capabilities.as_ref().is_some_and(|c| c.embedded_context);
                Ok(Some(primer_block(&text, embeds)))
            }
        }
    }

    /// The conversation so far is there. If it cannot be read the agent is told nothing of it: a part that looks
    /// like the whole would mislead it. It is tried again with the next prompt.
    pub fn history_collected(&mut self, journal: &mut Journal, collected: Result<String, Failure>) {
        self.history.state = collected.map_or_else(
            |failure| {
                let message = format!(
                    "The conversation history could not be read, so the agent, which lost its session, does not receive it: {failure}"
                );
                journal.notice(Level::Warning, "notRecalled", &message);
                HistoryState::Failed
            },
            HistoryState::Collected,
        );
    }
}

/// How well a new session will remember; refused where it would not be told anything.
pub(in crate::thread) fn history_fidelity(journal: &Journal) -> Result<Fidelity, Failure> {
    if journal.limits().recall_bytes == 0 {
        return Err(Failure::new(
            ErrorCode::Unsupported,
            "cannot send the remaining history to the agent: limits.recall_bytes is 0",
        ));
    }
    Ok(Fidelity::Recalled)
}

/// The conversation so far, for the agent alone: an embedded resource if it takes one, else text that says what it
/// is.
fn primer_block(text: &str, embeds: bool) -> RawJson {
    const WHAT: &str =
        "Earlier conversation in this thread, of which you have no memory. For your information only.";
    if embeds {
        let text = format!("{WHAT}\n\n{text}");
        serde_json::json!({
            "type": "resource",
            "resource": { "uri": "acpd:earlier-conversation", "mimeType": "text/markdown", "text": text },
            "annotations": { "audience": ["assistant"] },
        })
        .into()
    } else {
        let text = format!("<earlier-conversation>\n{WHAT}\n\n{text}</earlier-conversation>\n");
        serde_json::json!({ "type": "text", "text": text, "annotations": { "audience": ["assistant"] } })
            .into()
    }
}
