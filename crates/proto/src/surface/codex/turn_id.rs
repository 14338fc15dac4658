//! Ids of turns as Codex's clients see them.
//!
//! They take the id of a turn for unique among all threads, while acpd counts the turns of each thread: the thread is a part
//! of the id here.

use std::fmt::Display;

use acpd_model::{Failure, ThreadId, TurnId};
use serde::{Deserialize, Deserializer, de};

/// The turn of items outside of any turn.
pub(super) const OUTSIDE: TurnId = TurnId(0);

/// Returns the id of a turn, such as `turn_3_0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4`. Items outside of any turn are in a turn
/// that does not exist.
pub(super) fn turn_id(thread: impl Display, turn: Option<TurnId>) -> String {
    format!("{}_{thread}", turn.unwrap_or(OUTSIDE))
}

/// A turn that a client names: by its id, or by its number in the thread alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NamedTurn {
    turn: TurnId,
    thread: Option<ThreadId>,
}

impl NamedTurn {
    /// Returns the turn of `thread` that is named; fails if it is a turn of another thread.
    pub fn of(self, thread: ThreadId) -> Result<TurnId, Failure> {
        match self.thread {
            Some(other) if other != thread => Err(Failure::invalid_params(format!(
                "{} is a turn of the thread {other}, not of {thread}",
                turn_id(other, Some(self.turn))
            ))),
            _ => Ok(self.turn),
        }
    }
}

impl<'de> Deserialize<'de> for NamedTurn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (turn, thread) = match text.rsplit_once('_') {
            Some((turn, thread)) if turn.contains('_') => {
                (turn, Some(thread.parse().map_err(de::Error::custom)?))
            }
            _ => (&*text, None),
        };
        let turn = turn.parse().map_err(de::Error::custom)?;
        Ok(Self { turn, thread })
    }
}

#[cfg(test)]
mod tests {
    use acpd_model::json;

    use super::*;

    #[test]
    fn a_turn_is_named_by_its_id_or_its_number() {
        let thread: ThreadId = "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4".parse().unwrap();
        let other: ThreadId = "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d5".parse().unwrap();
        let read = |text: &str| json::read::<NamedTurn>(&format!("\"{text}\""));
        for text in ["turn_3", &turn_id(thread, Some(TurnId(3)))] {
            assert_eq!(read(text).unwrap().of(thread).unwrap(), TurnId(3), "{text}");
        }
        let named = read(&turn_id(other, Some(TurnId(3)))).unwrap();
        assert!(named.of(thread).unwrap_err().message.contains(&other.to_string()));
        for bad in [
            "",
            "_",
            "turn",
            "turn_",
            "turn_3_",
            "turn_3_x",
            "turn_x_0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
