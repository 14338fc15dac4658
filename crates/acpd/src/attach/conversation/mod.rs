//! The part of a thread's conversation that is held in memory.
//!
//! In: pages of turns, then notifications in order. Out: entries. Owns: at most [`HELD_BYTES`] of entries, and the cursors
//! of the pages before and after them. Never: requests a page; it says which one is missing.
//!
//! Pages have cursors towards older turns only. So the cursors of dropped newer pages are kept, and the newest page, which
//! grows with the thread, is read again when the user returns to it.

pub mod entry;
pub mod fold;
pub mod line;
mod markup;
pub mod memo;
pub mod scroll;

use std::cell::RefCell;
use std::collections::VecDeque;

use acpd_client::protocol::{LanesListed, Thread, Turn, TurnStatus};
use unicode_width::UnicodeWidthStr;

use self::entry::Entry;
use self::line::Line;
use self::memo::Memo;
use crate::terminal::items::lanes::Lanes;
use crate::terminal::items::rejected::RejectedCalls;

/// Maximum size of the entries, in bytes.
pub const HELD_BYTES: usize = 16 << 20;

/// The part of a window that the name of a subagent may take, at most: one of so many columns.
const LABEL_PART: usize = 4;

/// The held entries, oldest first.
#[derive(Debug, Default)]
pub struct Conversation {
    entries: VecDeque<Entry>,
    /// The held pages, oldest first.
    pages: VecDeque<Page>,
    /// Cursor of the page before the first one.
    older: Option<String>,
    /// Pages after the last one that were dropped, the nearest last.
    newer: Vec<Dropped>,
    bytes: usize,
    /// The rejected calls of the newest turn.
    rejected: RejectedCalls,
    /// The names of the subagents.
    lanes: Lanes,
    /// The layout of entries that were shown lately.
    memo: RefCell<Memo>,
}

/// Where a page came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The end of the thread; new entries are appended to it.
    End,
    /// A page at this cursor.
    Cursor(String),
}

#[derive(Debug)]
struct Dropped {
    source: Source,
    /// The turn of its first entry.
    turn: Option<String>,
}

#[derive(Debug)]
struct Page {
    source: Source,
    /// Number of its entries.
    entries: usize,
}

impl Conversation {
    /// Creates a conversation from the newest page of a thread.
    pub fn open(thread: &Thread) -> Self {
        let mut opened = Self {
            older: thread.cursor.clone(),
            ..Self::default()
        };
        let newest = begun_turns(thread).next_back();
        opened.rejected = newest.map(RejectedCalls::of_turn).unwrap_or_default();
        let entries = entries_of(thread, None);
        opened.bytes = entries.iter().map(Entry::bytes).sum();
        opened.pages.push_back(Page {
            source: Source::End,
            entries: entries.len(),
        });
        opened.entries = entries.into();
        opened
    }

    /// Returns the entries.
    pub fn entries(&self) -> &VecDeque<Entry> {
        &self.entries
    }

    /// Returns the lines of an entry for a window of `columns`. Those about a subagent begin with its name.
    pub fn lines(&self, entry: &Entry, open: bool, columns: usize) -> Vec<Line> {
        let label = self
            .lanes
            .short_label(entry.lane.as_deref(), (columns / LABEL_PART).max(1));
        let mut lines = entry.lines(open, columns.saturating_sub(label.width()));
        if !label.is_empty() {
            for line in &mut lines {
                line.label.clone_from(&label);
            }
        }
        lines
    }

    /// Returns whether an entry is about a subagent that nothing names.
    pub fn lacks_names(&self) -> bool {
        let mut lanes = self.entries.iter().filter_map(|entry| entry.lane.as_deref());
        lanes.any(|lane| self.lacks_name(lane))
    }

    /// Returns whether nothing names a subagent.
    pub fn lacks_name(&self, lane: &str) -> bool {
        !self.lanes.knows(lane)
    }

    /// Returns how many subagents work.
    pub fn subagents_at_work(&self) -> usize {
        self.lanes.count_at_work()
    }

    /// Takes the names of the subagents.
    pub fn add_lanes(&mut self, listed: &LanesListed) {
        self.lanes.add(listed);
        self.memo.get_mut().clear();
    }

    /// Replaces everything but the names of the subagents by the newest page of the same thread.
    pub fn open_again(&mut self, thread: &Thread) {
        let lanes = std::mem::take(&mut self.lanes);
        *self = Self {
            lanes,
            ..Self::open(thread)
        };
    }

    /// Returns the size of the entries, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the cursor of the page before the held ones, if there is one.
    pub fn older(&self) -> Option<&str> {
        self.older.as_deref()
    }

    /// Returns the page after the held ones, if it was dropped.
    pub fn newer(&self) -> Option<&Source> {
        self.newer.last().map(|page| &page.source)
    }

    /// Adds the page before the held ones.
    pub fn prepend(&mut self, thread: &Thread) {
        let Some(cursor) = self.older.take() else {
            return;
        };
        self.older.clone_from(&thread.cursor);
        let next = self.entries.front().and_then(|first| first.turn.clone());
        let mut entries = entries_of(thread, next.as_deref());
        entries.retain(|entry| self.find(&entry.id).is_none());
        self.pages.push_front(Page {
            source: Source::Cursor(cursor),
            entries: entries.len(),
        });
        for entry in entries.into_iter().rev() {
            self.bytes += entry.bytes();
            self.entries.push_front(entry);
        }
    }

    /// Adds the page after the held ones, which is not the newest.
    pub fn append(&mut self, thread: &Thread) {
        let Some(Dropped { source, .. }) = self.newer.pop() else {
            return;
        };
        let next = self.newer.last().and_then(|page| page.turn.as_deref());
        let entries = entries_of(thread, next);
        self.pages.push_back(Page {
            source,
            entries: entries.len(),
        });
        for entry in entries {
            self.bytes += entry.bytes();
            self.entries.push_back(entry);
        }
    }

    /// Drops pages until the rest is small enough: newer ones than `kept` first, then older ones. `kept` is the index of an
    /// entry that the user sees. Returns whether the newest page alone is too large, so that it has to be read again.
    pub fn shrink(&mut self, kept: usize) -> bool {
        let mut kept = kept;
        while self.bytes > HELD_BYTES && self.pages.len() > 1 {
            let first = self.pages.front().map_or(0, |page| page.entries);
            let last = self.pages.back().map_or(0, |page| page.entries);
            let below = self.entries.len().saturating_sub(kept + 1);
            if below >= last && below > kept {
                self.drop_newest();
            } else if kept >= first {
                self.drop_oldest();
                kept -= first;
            } else if below >= last {
                self.drop_newest();
            } else {
                break;
            }
        }
        self.bytes > HELD_BYTES && self.pages.len() == 1 && self.newer.is_empty()
    }

    fn drop_newest(&mut self) {
        let Some(page) = self.pages.pop_back() else {
            return;
        };
        let mut turn = None;
        for _ in 0..page.entries {
            if let Some(entry) = self.entries.pop_back() {
                self.bytes -= entry.bytes();
                self.memo.get_mut().forget(&entry.id);
                turn = entry.turn;
            }
        }
        self.newer.push(Dropped {
            source: page.source,
            turn,
        });
    }

    fn drop_oldest(&mut self) {
        let Some(page) = self.pages.pop_front() else {
            return;
        };
        for _ in 0..page.entries {
            if let Some(entry) = self.entries.pop_front() {
                self.bytes -= entry.bytes();
                self.memo.get_mut().forget(&entry.id);
            }
        }
        if let Source::Cursor(cursor) = page.source {
            self.older = Some(cursor);
        }
    }

    /// Returns the index of an entry. Looks at the newest first, since these change.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.entries.iter().rposition(|entry| entry.id == id)
    }

    /// Adds an entry at the end of the thread.
    fn push(&mut self, entry: Entry) {
        if !self.newer.is_empty() {
            // The newest page is not held. It is read again when the user returns to it.
            return;
        }
        self.insert(self.entries.len(), entry);
    }

    /// Adds an entry to the newest page, at this place among all entries.
    fn insert(&mut self, at: usize, entry: Entry) {
        self.bytes += entry.bytes();
        self.entries.insert(at, entry);
        if let Some(newest) = self.pages.back_mut() {
            newest.entries += 1;
        }
    }

    /// Changes an entry; returns whether it is held.
    fn change(&mut self, id: &str, change: impl FnOnce(&mut Entry)) -> bool {
        let Some(entry) = self.find(id).and_then(|at| self.entries.get_mut(at)) else {
            return false;
        };
        let before = entry.bytes();
        change(entry);
        self.memo.get_mut().forget(id);
        self.bytes = self.bytes - before + entry.bytes();
        true
    }
}

/// Returns the turns of a page. Queued turns are not part of the conversation yet.
fn begun_turns(thread: &Thread) -> impl DoubleEndedIterator<Item = &Turn> + Clone {
    let turns = thread.turns.as_deref().unwrap_or_default();
    turns.iter().filter(|turn| turn.status != TurnStatus::Queued)
}

/// Returns the entries of a page. `next` is the turn of the entry that follows the page: a turn that is too large for one page
/// is on two.
fn entries_of(thread: &Thread, next: Option<&str>) -> Vec<Entry> {
    let begun = begun_turns(thread);
    let last = begun.clone().count().saturating_sub(1);
    let entries = begun.enumerate().flat_map(|(at, turn)| {
        let continues = at == last && next.is_some() && turn.id.as_deref() == next;
        Entry::of_turn(turn, continues)
    });
    entries.collect()
}
