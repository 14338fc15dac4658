//! Full-text search: one rule for every backend.
//!
//! In: texts and search queries. Out: words as they are indexed, parsed queries, and the snippet of a hit. Never:
//! stores anything, or lets a database define a word. Each database would define it differently, and none would handle
//! Chinese.
//!
//! | File | Subject |
//! |---|---|
//! | `words` | definition of a word |
//! | `query` | parsing of queries |
//! | `snippet` | the part of a text that is shown |

mod query;
mod snippet;
mod words;

use std::fmt;
use std::str::FromStr;

use acpd_model::limits::SEARCH_TEXT_BYTES;
use acpd_model::{Millis, ThreadId};

pub(crate) use query::Query;
pub(crate) use snippet::snippet;
pub(crate) use words::{joined, words};

/// A search query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    /// Words that must all occur in one text. Words in double quotes must be consecutive. The last word, if it is not
    /// in quotes, also matches longer words that start with it. No query is an error; a query without words matches
    /// nothing.
    pub text: String,
    /// Restricts the search to this thread.
    pub thread: Option<ThreadId>,
}

/// Position among all hits; the end of a page of hits. It stays valid while texts are added and threads are deleted.
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

/// Bits of a position that distinguish texts of the same millisecond.
const PLACE_BITS: u32 = 20;

/// Returns the positions for texts of this time. Positions follow time, so that texts are visited in the order of time,
/// however late a text was indexed.
pub(crate) fn places(at: Millis) -> std::ops::Range<i64> {
    let first = at.clamp(0, (1 << (62 - PLACE_BITS)) - 1) << PLACE_BITS;
    first..first + (1 << PLACE_BITS)
}

/// Returns the time of a position.
pub(crate) fn moment(place: i64) -> Millis {
    place >> PLACE_BITS
}

/// Returns the part of a text that is searched.
pub(crate) fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(SEARCH_TEXT_BYTES)]
}
