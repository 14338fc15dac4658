//! Live output of a terminal whose recorded output has reached its limit. Clients see it live, at a rate that a
//! person can read. It is not in the log.

use std::collections::BTreeMap;
use std::time::Duration;

use acpd_model::limits::{LIVE_OUTPUT_BYTES, LIVE_OUTPUT_MILLIS};
use acpd_model::{ItemId, LaneId};

use crate::time::Instant;

/// The part of a terminal's output that clients see for one window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveText {
    /// The terminal's item.
    pub item: ItemId,
    /// The subagent whose command it is; `None` for one of the thread itself.
    pub lane: Option<LaneId>,
    /// The daemon's id for the terminal.
    pub terminal_id: String,
    /// The end of the output.
    pub text: String,
    /// Number of bytes omitted before `text`.
    pub skipped: u64,
}

/// The end of a terminal's output, beyond what the log contains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveEnd {
    /// Output that clients have not seen yet.
    pub unshown: Option<LiveText>,
    /// The end of the output, whether shown or not.
    pub text: String,
    /// Whether output before `text` was discarded.
    pub cut: bool,
}

/// Buffers the output of each terminal until the window is over, and the end of the output until the terminal exits.
#[derive(Debug, Default)]
pub struct LiveTail {
    held: BTreeMap<ItemId, TerminalTail>,
    window_ends: Instant,
}

/// The buffered output of one terminal.
#[derive(Debug)]
struct TerminalTail {
    lane: Option<LaneId>,
    terminal_id: String,
    /// The end of the output.
    text: String,
    /// Number of bytes at the end of `text` that were not shown.
    fresh: usize,
    /// Number of bytes before those that will never be shown.
    skipped: u64,
    cut: bool,
}

impl TerminalTail {
    fn push(&mut self, text: &str) {
        // Truncates before the copy, so that omitted output is never copied.
        let from = text.ceil_char_boundary(text.len().saturating_sub(LIVE_OUTPUT_BYTES));
        if from > 0 {
            self.drop_first(self.text.len());
            self.skipped += from as u64;
        }
        self.text.push_str(&text[from..]);
        self.fresh += text.len() - from;
        let excess = self.text.len().saturating_sub(LIVE_OUTPUT_BYTES);
        self.drop_first(self.text.ceil_char_boundary(excess));
        self.cut |= from > 0;
    }

    fn drop_first(&mut self, bytes: usize) {
        let shown = self.text.len() - self.fresh;
        let unseen = bytes.saturating_sub(shown);
        self.fresh -= unseen;
        self.skipped += unseen as u64;
        self.cut |= bytes > 0;
        self.text.drain(..bytes);
    }

    fn show(&mut self, item: ItemId) -> Option<LiveText> {
        let (fresh, skipped) = (std::mem::take(&mut self.fresh), std::mem::take(&mut self.skipped));
        (fresh > 0).then(|| LiveText {
            item,
            lane: self.lane,
            terminal_id: self.terminal_id.clone(),
            text: self.text[self.text.len() - fresh..].to_owned(),
            skipped,
        })
    }
}

impl LiveTail {
    /// Adds output of a terminal.
    pub fn push(&mut self, item: ItemId, lane: Option<LaneId>, terminal_id: &str, text: &str, now: Instant) {
        if self.deadline().is_none() {
            self.window_ends = now + Duration::from_millis(LIVE_OUTPUT_MILLIS);
        }
        let held = self.held.entry(item).or_insert_with(|| TerminalTail {
            lane,
            terminal_id: terminal_id.to_owned(),
            text: String::new(),
            fresh: 0,
            skipped: 0,
            cut: false,
        });
        held.push(text);
    }

    /// Returns the output whose window is over.
    pub fn expire(&mut self, now: Instant) -> Vec<LiveText> {
        if now < self.window_ends {
            return Vec::new();
        }
        let held = self.held.iter_mut();
        held.filter_map(|(item, held)| held.show(*item)).collect()
    }

    /// Removes a terminal that has ended, and returns the end of its output.
    pub fn end(&mut self, item: ItemId) -> LiveEnd {
        let Some(mut held) = self.held.remove(&item) else {
            return LiveEnd::default();
        };
        LiveEnd {
            unshown: held.show(item),
            text: held.text,
            cut: held.cut,
        }
    }

    /// Returns when buffered output is due.
    pub fn deadline(&self) -> Option<Instant> {
        let waits = self.held.values().any(|held| held.fresh > 0);
        waits.then_some(self.window_ends)
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
        tail.push(ItemId(1), None, "t", &"é".repeat(LIVE_OUTPUT_BYTES), at);
        tail.push(ItemId(1), None, "t", "end", at);
        tail.push(ItemId(2), None, "u", "other", at);
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

    #[test]
    fn the_end_is_known_whether_it_was_shown_or_not() {
        let mut tail = LiveTail::default();
        let at = Duration::from_secs(1);
        let end = at + Duration::from_millis(LIVE_OUTPUT_MILLIS);
        assert_eq!(tail.end(ItemId(1)), LiveEnd::default());
        tail.push(ItemId(1), None, "t", "shown, ", at);
        assert_eq!(tail.expire(end).len(), 1);
        assert_eq!(tail.expire(end), [], "once");
        tail.push(ItemId(1), None, "t", "not shown", end);
        let known = tail.end(ItemId(1));
        assert_eq!((known.text.as_str(), known.cut), ("shown, not shown", false));
        let unshown = known.unshown.unwrap();
        assert_eq!((unshown.text.as_str(), unshown.skipped), ("not shown", 0));
        assert_eq!(tail.deadline(), None);
    }

    #[test]
    fn shown_output_does_not_count_as_omitted() {
        let mut tail = LiveTail::default();
        let at = Duration::from_secs(1);
        let end = at + Duration::from_millis(LIVE_OUTPUT_MILLIS);
        tail.push(ItemId(1), None, "t", "abc", at);
        assert_eq!(tail.expire(end).len(), 1);
        tail.push(ItemId(1), None, "t", &"x".repeat(LIVE_OUTPUT_BYTES), end);
        tail.push(ItemId(1), None, "t", "yz", end);
        let known = tail.end(ItemId(1));
        assert!(known.cut && known.text.len() == LIVE_OUTPUT_BYTES && known.text.ends_with("xyz"));
        assert_eq!(known.unshown.unwrap().skipped, 2);
    }
}
