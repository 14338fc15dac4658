//! Merges the deltas of one item, so that the log does not get an event for each token.

use std::time::Duration;

use acpd_model::limits::{COALESCE_BYTES, COALESCE_MILLIS};
use acpd_model::{ItemId, MessageType, RawJson, TurnId};

use crate::time::Instant;

/// The source of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A message or a thought.
    Message(MessageType),
    /// The output of one of the daemon's terminals, by its id.
    Terminal(String),
}

/// Text to append to one item.
#[derive(Debug, Clone, PartialEq)]
pub struct Delta {
    /// The turn that the text belongs to.
    pub turn: Option<TurnId>,
    /// The item that the text belongs to.
    pub item: ItemId,
    /// The source of the text.
    pub source: Source,
    /// The appended text.
    pub text: String,
    /// The original update, while the delta consists of one update only and cannot be rebuilt from its fields.
    pub raw: Option<RawJson>,
    /// ACP's `messageId` of the chunks; the same for all chunks of an item.
    pub message_id: Option<String>,
}

/// Buffers at most one delta. The first delta after a quiet window passes immediately. Later text is merged until the
/// window of [`COALESCE_MILLIS`] ends or [`COALESCE_BYTES`] are buffered.
#[derive(Debug, Default)]
pub struct Coalescer {
    held: Option<Delta>,
    window_ends: Instant,
}

impl Coalescer {
    /// Adds a delta. The returned deltas must be sent now, in order.
    pub fn push(&mut self, delta: Delta, now: Instant) -> [Option<Delta>; 2] {
        let mut first = None;
        match &mut self.held {
            Some(held) if held.item == delta.item => {
                held.text.push_str(&delta.text);
                held.raw = None;
                if held.text.len() < COALESCE_BYTES && now < self.window_ends {
                    return [None, None];
                }
                self.window_ends = now + window();
                return [self.held.take(), None];
            }
            Some(_) => first = self.held.take(),
            None => {}
        }
        if now >= self.window_ends || delta.text.len() >= COALESCE_BYTES {
            self.window_ends = now + window();
            return [first, Some(delta)];
        }
        self.held = Some(delta);
        [first, None]
    }

    /// Returns the buffered text of `item`.
    pub fn held(&self, item: ItemId) -> Option<&str> {
        let held = self.held.as_ref().filter(|held| held.item == item)?;
        Some(&held.text)
    }

    /// Returns the buffered delta, because another event follows.
    pub fn flush(&mut self) -> Option<Delta> {
        self.held.take()
    }

    /// Returns the buffered delta if its window is over.
    pub fn expire(&mut self, now: Instant) -> Option<Delta> {
        if now < self.window_ends {
            return None;
        }
        let due = self.held.take();
        if due.is_some() {
            self.window_ends = now + window();
        }
        due
    }

    /// Returns when the buffered delta is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.held.as_ref().map(|_| self.window_ends)
    }
}

fn window() -> Duration {
    Duration::from_millis(COALESCE_MILLIS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(item: u32, text: &str) -> Delta {
        Delta {
            turn: None,
            item: ItemId(item),
            source: Source::Message(MessageType::AgentMessage),
            text: text.into(),
            raw: None,
            message_id: None,
        }
    }

    fn ms(n: u64) -> Instant {
        Duration::from_millis(1000 + n)
    }

    fn texts(out: [Option<Delta>; 2]) -> Vec<String> {
        out.into_iter().flatten().map(|d| d.text).collect()
    }

    #[test]
    fn the_first_leaves_at_once_and_the_rest_waits_for_the_window() {
        let mut c = Coalescer::default();
        assert_eq!(texts(c.push(delta(1, "a"), ms(0))), ["a"]);
        assert!(texts(c.push(delta(1, "b"), ms(1))).is_empty());
        assert!(texts(c.push(delta(1, "c"), ms(9))).is_empty());
        assert_eq!(c.deadline(), Some(ms(10)));
        assert_eq!(c.expire(ms(9)), None);
        assert_eq!(c.expire(ms(10)).unwrap().text, "bc");
        assert_eq!(c.deadline(), None);
        assert!(
            texts(c.push(delta(1, "d"), ms(15))).is_empty(),
            "a flush opens a window, too"
        );
        assert_eq!(c.expire(ms(20)).unwrap().text, "d");
        assert_eq!(texts(c.push(delta(1, "e"), ms(40))), ["e"], "quiet again");
    }

    #[test]
    fn four_kib_do_not_wait() {
        let mut c = Coalescer::default();
        c.push(delta(1, "a"), ms(0));
        assert!(texts(c.push(delta(1, &"x".repeat(COALESCE_BYTES - 1)), ms(1))).is_empty());
        let out = texts(c.push(delta(1, "y"), ms(1)));
        assert_eq!(out[0].len(), COALESCE_BYTES);
    }

    #[test]
    fn a_delta_of_four_kib_never_waits() {
        let mut c = Coalescer::default();
        let large = "x".repeat(COALESCE_BYTES);
        c.push(delta(1, "a"), ms(0));
        assert_eq!(texts(c.push(delta(1, &large), ms(1))), [&large[..]]);
        assert_eq!(
            texts(c.push(delta(2, &large), ms(2))),
            [&large[..]],
            "nor of another item"
        );
        assert!(texts(c.push(delta(1, "b"), ms(3))).is_empty());
        assert_eq!(
            texts(c.push(delta(2, &large), ms(4))),
            ["b", &large[..]],
            "after what was held"
        );
        assert_eq!(c.deadline(), None);
    }

    #[test]
    fn held_updates_are_due_ten_milliseconds_after_the_last_one() {
        let mut c = Coalescer::default();
        c.push(delta(1, "a"), ms(0));
        c.push(delta(1, "b"), ms(9));
        assert_eq!(c.deadline(), Some(ms(10)));
        c.push(delta(2, "c"), ms(9));
        assert_eq!(c.deadline(), Some(ms(10)), "another item does not wait longer");
        assert_eq!(
            texts(c.push(delta(2, "d"), ms(10))),
            ["cd"],
            "late timers delay nothing"
        );
        assert_eq!(c.held(ItemId(2)), None);
    }

    #[test]
    fn items_that_take_turns_are_not_reordered_and_not_merged() {
        let mut c = Coalescer::default();
        let mut out = texts(c.push(delta(1, "a"), ms(0)));
        for (item, text) in [(2, "b"), (1, "c"), (1, "d"), (2, "e"), (1, "f")] {
            out.extend(texts(c.push(delta(item, text), ms(1))));
        }
        out.extend(c.flush().map(|held| held.text));
        assert_eq!(out, ["a", "b", "cd", "e", "f"]);
    }

    #[test]
    fn only_neighbours_of_one_item_merge() {
        let mut c = Coalescer::default();
        c.push(delta(1, "a"), ms(0));
        c.push(delta(1, "b"), ms(1));
        assert_eq!(texts(c.push(delta(2, "c"), ms(2))), ["b"]);
        assert_eq!(c.flush().unwrap().text, "c");
        assert_eq!(c.flush(), None);
    }
}
