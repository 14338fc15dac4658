//! Messages for the running turn that the agent has not taken yet.

use std::collections::VecDeque;

use acpd_model::{Event, EventKind, ItemEvent, MessageType, RawJson, Seq, ThreadEvent, TurnEvent, TurnId};
use serde::{Deserialize, Serialize};

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
        if let EventKind::Turn(TurnEvent::SteerRequested { input }) = &event.kind {
            self.0.push_back(PendingSteering {
                seq: event.seq,
                turn: event.turn,
                text: content_text(input),
            });
            if self.0.len() > STEERS_SHOWN {
                self.0.pop_front();
            }
        }
        if self.0.is_empty() {
            return;
        }
        match &event.kind {
            // What an agent tells its subagent is none of the user's messages.
            EventKind::Item(_) if event.lane.is_some() => {}
            EventKind::Item(ItemEvent::UserMessageAdded { content, .. }) => {
                self.said(event.turn, &content_text(content))
            }
            EventKind::Item(ItemEvent::Delta {
                role: MessageType::UserMessage,
                text,
                ..
            }) => self.said(event.turn, text),
            EventKind::Item(ItemEvent::Content {
                role: MessageType::UserMessage,
                block,
                ..
            }) => self.said(event.turn, &content_text(std::slice::from_ref(block))),
            EventKind::Turn(TurnEvent::Queued { input, .. }) => self.queued(input),
            EventKind::Turn(TurnEvent::Settled { .. }) => self.0.retain(|steer| steer.turn != event.turn),
            EventKind::Thread(ThreadEvent::TurnsRolledBack { .. } | ThreadEvent::Forked(..)) => {
                self.0.clear()
            }
            EventKind::Thread(_)
            | EventKind::Session(_)
            | EventKind::Turn(_)
            | EventKind::Item(_)
            | EventKind::Host(_)
            | EventKind::Request(_)
            | EventKind::Unknown => {}
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
