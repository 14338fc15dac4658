//! Which events belong to the conversation as it stands.

use acpd_model::{Event, EventKind, TurnId};

use super::DroppedTurns;

/// Sorts out, event by event, what belongs to turns that were dropped, and to one that is not wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HistoryFilter {
    except: Option<TurnId>,
    dropped: DroppedTurns,
    /// The turn of the last event that had one: what happens between turns belongs to the last one.
    turn: Option<TurnId>,
}

impl HistoryFilter {
    /// All but the turn `except` and those that were dropped.
    pub fn new(except: Option<TurnId>, dropped: DroppedTurns) -> Self {
        Self {
            except,
            dropped,
            turn: None,
        }
    }

    /// Whether the next event of the log belongs to it.
    pub fn has(&mut self, event: &Event) -> bool {
        if event.turn.is_some() && event.turn == self.except {
            return false;
        }
        self.turn = event.turn.or(self.turn);
        if matches!(event.kind, EventKind::TurnsRolledBack { .. }) {
            self.turn = None;
        }
        !self.turn.is_some_and(|turn| self.dropped.contains(turn))
    }
}
