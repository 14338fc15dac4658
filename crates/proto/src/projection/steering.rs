//! Messages for the running turn that the agent has not taken yet.

use acpd_model::{Event, EventKind, MessageType, RawJson, Seq, TurnId};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use super::content_text;

/// Messages for a running turn that a thread shows until the agent has taken them.
const STEERS_SHOWN: usize = 64;

/// A message that the daemon has passed on to the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingSteering {
    /// Number of its event.
    pub seq: Seq,
    /// The turn that it is for.
    pub turn: Option<TurnId>,
    /// Its text.
    pub text: String,
}

/// The messages for the running turn, in order. The oldest leave if there are too many.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Steers(VecDeque<PendingSteering>);

impl Steers {
    /// Returns the messages, in order.
    pub fn iter(&self) -> impl Iterator<Item = &PendingSteering> {
        self.0.iter()
    }

    /// Applies an event. A message leaves when it is a message of its turn, when it became a turn of its own, and when its
    /// turn is over.
    pub(super) fn fold(&mut self, event: &Event) {
        match &event.kind {
            EventKind::SteerRequested { input } => {
                self.0.push_back(PendingSteering {
                    seq: event.seq,
                    turn: event.turn,
                    text: content_text(input),
                });
                if self.0.len() > STEERS_SHOWN {
                    self.0.pop_front();
                }
            }
            _ if self.0.is_empty() => {}
            EventKind::UserMessageAdded { content, .. } => self.said(event.turn, &content_text(content)),
            EventKind::ItemDelta { role, text, .. } if *role == MessageType::UserMessage => {
                self.said(event.turn, text);
            }
            EventKind::ItemContent { role, block, .. } if *role == MessageType::UserMessage => {
                self.said(event.turn, &content_text(std::slice::from_ref(block)));
            }
            EventKind::TurnQueued { input, .. } => self.queued(input),
            EventKind::TurnSettled { .. } => self.0.retain(|steer| steer.turn != event.turn),
            EventKind::TurnsRolledBack { .. } | EventKind::ThreadForked(..) => self.0.clear(),
            _ => {}
        }
    }

    fn said(&mut self, turn: Option<TurnId>, text: &str) {
        self.remove(|steer| steer.turn == turn && steer.text == text);
    }

    fn queued(&mut self, input: &[RawJson]) {
        let text = content_text(input);
        self.remove(|steer| steer.text == text);
    }

    fn remove(&mut self, is: impl Fn(&PendingSteering) -> bool) {
        if let Some(at) = self.0.iter().position(is) {
            self.0.remove(at);
        }
    }
}
