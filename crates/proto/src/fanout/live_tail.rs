//! Output of a terminal that has produced more than is kept of it: clients see it live, and only as much as a person
//! can follow. It is in no log.

use std::collections::BTreeMap;
use std::time::Duration;

use acpd_model::ItemId;
use acpd_model::limits::{LIVE_OUTPUT_BYTES, LIVE_OUTPUT_MILLIS};

use crate::time::Instant;

/// What clients are shown of a terminal in one window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveText {
    /// The terminal's item.
    pub item: ItemId,
    /// Our id for the terminal.
    pub terminal_id: String,
    /// The last of what it wrote.
    pub text: String,
    /// Bytes before that which are left out.
    pub skipped: u64,
}

/// Holds the end of each terminal's output until the window is over.
#[derive(Debug, Default)]
pub struct LiveTail {
    held: BTreeMap<ItemId, LiveText>,
    window_ends: Instant,
}

impl LiveTail {
    /// Takes what a terminal wrote.
    pub fn push(&mut self, item: ItemId, terminal_id: &str, text: &str, now: Instant) {
        if self.held.is_empty() {
            self.window_ends = now + Duration::from_millis(LIVE_OUTPUT_MILLIS);
        }
        let held = self.held.entry(item).or_insert_with(|| LiveText {
            item,
            terminal_id: terminal_id.to_owned(),
            text: String::new(),
            skipped: 0,
        });
        // What is left out is not copied first.
        let from = text.ceil_char_boundary(text.len().saturating_sub(LIVE_OUTPUT_BYTES));
        held.skipped += from as u64;
        held.text.push_str(&text[from..]);
        let excess = held.text.len().saturating_sub(LIVE_OUTPUT_BYTES);
        if excess > 0 {
            let cut = held.text.ceil_char_boundary(excess);
            held.text.drain(..cut);
            held.skipped += cut as u64;
        }
    }

    /// Hands back what was held for a whole window.
    pub fn expire(&mut self, now: Instant) -> Vec<LiveText> {
        if now < self.window_ends {
            return Vec::new();
        }
        self.flush()
    }

    /// Hands back all that is held.
    pub fn flush(&mut self) -> Vec<LiveText> {
        std::mem::take(&mut self.held).into_values().collect()
    }

    /// When something held is due.
    pub fn deadline(&self) -> Option<Instant> {
        (!self.held.is_empty()).then_some(self.window_ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_end_of_each_window_and_counts_the_rest() {
        let mut tail = LiveTail::default();
        let at = Duration::from_secs(1);
        assert_eq!(tail.deadline(), None);
        tail.push(ItemId(1), "t", &"é".repeat(LIVE_OUTPUT_BYTES), at);
        tail.push(ItemId(1), "t", "end", at);
        tail.push(ItemId(2), "u", "other", at);
        let end = at + Duration::from_millis(LIVE_OUTPUT_MILLIS);
        assert_eq!(tail.deadline(), Some(end));
        let before = at + Duration::from_millis(LIVE_OUTPUT_MILLIS - 1);
        assert_eq!(tail.expire(before), []);
        let shown = tail.expire(end);
        assert_eq!(shown.len(), 2);
        assert!(shown[0].text.len() <= LIVE_OUTPUT_BYTES && shown[0].text.ends_with("éend"));
        let all = 2 * LIVE_OUTPUT_BYTES as u64 + 3;
        assert_eq!(shown[0].skipped + shown[0].text.len() as u64, all);
        assert_eq!((shown[1].text.as_str(), shown[1].skipped), ("other", 0));
        assert_eq!(tail.deadline(), None);
    }
}
