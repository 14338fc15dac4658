//! What a search finds: one rule for every backend.
//!
//! What comes in: texts, and what somebody looks for. What goes out: words as the index has them, queries, and the
//! part of a text that a hit shows. What it never does: keep anything, or leave what a word is to a database, whose
//! rule would be another one in each backend and know nothing of Chinese.
//!
//! | File | Subject |
//! |---|---|
//! | `words` | what a word is |
//! | `query` | what somebody looks for |
//! | `snippet` | what is shown of a text |

mod query;
mod snippet;
mod words;

use std::fmt;
use std::str::FromStr;

use acpd_model::limits::SEARCH_TEXT_BYTES;
use acpd_model::{ItemId, Millis, Seq, TextKind, ThreadId, TurnId};

pub(crate) use query::Query;
pub(crate) use snippet::snippet;
pub(crate) use words::{joined, words};

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    /// Words, all of which must be in one text; those in double quotes one after the other. The last one, if it is
    /// not in quotes, stands for every word that begins so. Nothing in it is an error; where no word is in it,
    /// nothing is found.
    pub text: String,
    /// In this thread alone.
    pub thread: Option<ThreadId>,
}

/// A text that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Where it stands among all hits: pass it to get those after it.
    pub cursor: SearchCursor,
    /// The thread.
    pub thread: ThreadId,
    /// The thread's name, as last appended.
    pub name: Option<String>,
    /// The event that has the text.
    pub seq: Seq,
    /// When that was.
    pub at: Millis,
    /// The turn in which it was.
    pub turn: Option<TurnId>,
    /// The item that it is part of.
    pub item: Option<ItemId>,
    /// What it is.
    pub kind: TextKind,
    /// What is shown of it: a line, in pieces.
    pub snippet: Vec<Piece>,
}

/// A piece of the text that a hit shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The piece.
    pub text: String,
    /// Whether it is what was looked for.
    pub hit: bool,
}

/// Where a page of hits ends. Stable while texts are added and threads are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SearchCursor(pub(crate) i64);

impl fmt::Display for SearchCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SearchCursor {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// Bits of a text's place that tell apart those of one millisecond.
const PLACE_BITS: u32 = 20;

/// The places of texts of this moment. Places go by time, so that walking along them is walking through time, however
/// late a text came into the index.
pub(crate) fn places(at: Millis) -> std::ops::Range<i64> {
    let first = at.clamp(0, (1 << (62 - PLACE_BITS)) - 1) << PLACE_BITS;
    first..first + (1 << PLACE_BITS)
}

/// The moment of a place.
pub(crate) fn moment(place: i64) -> Millis {
    place >> PLACE_BITS
}

/// As much of a text as is searched.
pub(crate) fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(SEARCH_TEXT_BYTES)]
}
