//! The conversation so far, for an agent that lost its session.
//!
//! In: a prompt that is about to be sent, the collected conversation. Out: the effect that collects the conversation,
//! and the block that goes before the prompt. Owns: whether it is collected. Never: becomes an event.

use acpd_model::event::{Fidelity, Level};
use acpd_model::{ErrorCode, Failure, RawJson, TurnId};

use super::Session;
use crate::thread::effect::Effect;
use crate::thread::journal::Journal;

/// The state of the conversation's collection.
#[derive(Debug, Default)]
enum HistoryState {
    #[default]
    Unrequested,
    /// For the prompt of this turn.
    Requested(TurnId),
    Collected(TurnId, String),
    /// The conversation cannot be read.
    Failed,
}

/// The conversation so far.
#[derive(Debug, Default)]
pub(super) struct History {
    state: HistoryState,
    /// Whether the agent got a prompt without the conversation so far, because it could not be read.
    due: bool,
}

/// The conversation is still being collected.
pub(in crate::thread) struct HistoryPending;

impl History {
    /// Discards the collected conversation, because the next process needs a newer one.
    pub fn forget(&mut self) {
        self.state = HistoryState::Unrequested;
    }
}

impl Session {
    /// Returns the conversation for an agent that lost it, to send before the prompt; an error while the conversation
    /// is being collected. It is not part of the user's message, and no event contains it.
    pub fn primer(&mut self, journal: &mut Journal, turn: TurnId) -> Result<Option<RawJson>, HistoryPending> {
        let has_to_know = journal.live().forgotten || self.history.due;
        let bytes = journal.limits().recall_bytes;
        if !has_to_know || bytes == 0 {
            return Ok(None);
        }
        match std::mem::take(&mut self.history.state) {
            HistoryState::Requested(of) if of == turn => {
                self.history.state = HistoryState::Requested(turn);
                Err(HistoryPending)
            }
            HistoryState::Failed => {
                self.history.due = true;
                Ok(None)
            }
            HistoryState::Collected(of, text) if of == turn => {
                self.history.due = false;
                if text.is_empty() {
                    return Ok(None);
                }
                let embeds = self.capabilities.as_ref().is_some_and(|c| c.embedded_context);
                Ok(Some(primer_block(&text, embeds)))
            }
            // What was collected for a turn that was interrupted lacks that turn.
            HistoryState::Unrequested | HistoryState::Requested(_) | HistoryState::Collected(..) => {
                self.history.state = HistoryState::Requested(turn);
                let dropped = journal.live().dropped.clone();
                journal.push(Effect::CollectHistory {
                    except: turn,
                    dropped,
                    bytes,
                });
                Err(HistoryPending)
            }
        }
    }

    /// Handles the collected conversation. If it cannot be read, the agent gets none of it, because a part that looks
    /// complete would mislead the agent. The next prompt tries again.
    pub fn history_collected(&mut self, journal: &mut Journal, collected: Result<String, Failure>) {
        // It was for a process that has exited.
        let HistoryState::Requested(turn) = self.history.state else {
            return;
        };
        self.history.state = collected.map_or_else(
            |failure| {
                let message = format!(
                    "The conversation history could not be read, so the agent, which lost its session, does not receive it: {failure}"
                );
                journal.notice(Level::Warning, "notRecalled", &message);
                HistoryState::Failed
            },
            |text| HistoryState::Collected(turn, text),
        );
    }
}

/// Returns how well a new session will remember the conversation; an error if it would get nothing.
pub(in crate::thread) fn history_fidelity(journal: &Journal) -> Result<Fidelity, Failure> {
    if journal.limits().recall_bytes == 0 {
        return Err(Failure::new(
            ErrorCode::Unsupported,
            "cannot send the remaining history to the agent: limits.recall_bytes is 0",
        ));
    }
    Ok(Fidelity::Recalled)
}

/// Builds the block with the conversation so far, for the agent only: an embedded resource if the agent supports
/// that, else text with a label.
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
