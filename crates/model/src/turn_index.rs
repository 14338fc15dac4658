//! Where the turns and items of a thread are in its log. A reader of some turns needs no other events.
//!
//! A turn consists of up to three events of its own (queued, started, settled) and of its items. A finished item is
//! described by the event that started it and the one that completed it, which has the whole content; and by later
//! updates, since an agent may update a tool call that has ended.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::{ItemId, TurnId};
use crate::numbers::Seq;

/// An event of a turn itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnMark {
    /// The turn.
    pub turn: TurnId,
    /// What the event records.
    pub step: TurnStep,
    /// The event.
    pub seq: Seq,
}

/// What an event records about its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnStep {
    /// The turn was queued.
    Queued,
    /// The turn started.
    Started,
    /// The turn ended.
    Settled,
}

/// A finished item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemMark {
    /// The item.
    pub item: ItemId,
    /// The turn that contains the item; `None` before the first turn.
    pub turn: Option<TurnId>,
    /// The event that started the item.
    pub first: Seq,
    /// The event that completed the item.
    pub last: Seq,
    /// About how many bytes these events have.
    pub bytes: u64,
}

/// Where an event belongs that is shown between items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum NotePlace {
    /// Before the first turn.
    #[default]
    Start,
    /// After an item, while its turn runs.
    Item(ItemId),
    /// After the end of a turn, while no turn runs.
    Turn(TurnId),
}

impl NotePlace {
    /// Returns the number by which the log finds the place.
    pub fn key(self) -> i64 {
        match self {
            Self::Start => 0,
            Self::Item(item) => item.0.into(),
            Self::Turn(turn) => -i64::from(turn.0),
        }
    }
}

/// An update of an item that has ended, or an event that is shown between items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateMark {
    /// The item, or the place between items.
    pub place: NotePlace,
    /// The event.
    pub seq: Seq,
}

/// The places of turns and items that a batch of events adds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnMarks {
    /// Events of turns.
    pub turns: Vec<TurnMark>,
    /// Finished items.
    pub items: Vec<ItemMark>,
    /// Updates of items that have ended, and events that are shown between items.
    pub late: Vec<LateMark>,
    /// Clients' own ids of turns. A repeated id refers to its last turn.
    pub client_turns: Vec<(String, TurnId)>,
}

impl TurnMarks {
    /// No places.
    pub const EMPTY: Self = Self {
        turns: Vec::new(),
        items: Vec::new(),
        late: Vec::new(),
        client_turns: Vec::new(),
    };

    /// Returns whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty() && self.items.is_empty() && self.late.is_empty() && self.client_turns.is_empty()
    }
}

/// A position between items of a thread: everything that comes before it is older. Written as the turn's number, with the
/// item's number after a dot if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TurnPosition {
    /// The turn; 0 for the items before the first turn.
    pub turn: u32,
    /// The item within the turn before which the position is; `None` if it is before the whole turn.
    pub item: Option<ItemId>,
}

impl fmt::Display for TurnPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.turn.fmt(f)?;
        match self.item {
            Some(ItemId(item)) => write!(f, ".{item}"),
            None => Ok(()),
        }
    }
}

impl FromStr for TurnPosition {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (turn, item) = match text.split_once('.') {
            Some((turn, item)) => (turn, Some(ItemId(item.parse()?))),
            None => (text, None),
        };
        Ok(Self {
            turn: turn.parse()?,
            item,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_reads_back() {
        for (text, turn, item) in [("7", 7, None), ("0", 0, None), ("7.12", 7, Some(ItemId(12)))] {
            let position = TurnPosition { turn, item };
            assert_eq!(position.to_string(), text);
            assert_eq!(text.parse(), Ok(position));
        }
        for text in ["", ".", "1.", ".1", "-1", "1.2.3", "x"] {
            assert!(text.parse::<TurnPosition>().is_err(), "{text}");
        }
    }
}
