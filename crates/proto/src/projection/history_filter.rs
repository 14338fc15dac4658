//! Selects the events that belong to the current conversation.

use acpd_model::{Event, EventKind, ThreadEvent, TurnId};

use super::DroppedTurns;

/// Excludes the events of dropped turns, and those of one further turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HistoryFilter {
    except: Option<TurnId>,
    dropped: DroppedTurns,
    /// The turn of the last event that had one. Events between turns belong to the turn before them.
    turn: Option<TurnId>,
}

impl HistoryFilter {
    /// Creates a filter for all turns except `except` and the dropped ones.
    pub fn new(except: Option<TurnId>, dropped: DroppedTurns) -> Self {
        Self {
            except,
            dropped,
            turn: None,
        }
    }

    /// Returns whether the next event of the log belongs to the conversation.
    pub fn has(&mut self, event: &Event) -> bool {
        if event.turn.is_some() && event.turn == self.except {
            return false;
        }
        self.turn = event.turn.or(self.turn);
        if matches!(event.kind, EventKind::Thread(ThreadEvent::TurnsRolledBack { .. })) {
            self.turn = None;
        }
        !self.turn.is_some_and(|turn| self.dropped.contains(turn))
    }
}
