//! The search in the conversation.

use std::ops::Range;

use crate::attach::conversation::line::find_all;
use crate::attach::conversation::scroll::{Layout, Place};

/// A search, and the hit that it is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    pub wanted: String,
    /// The hit in sight.
    pub hit: Option<Hit>,
    /// Whether older pages are being loaded for the next hit.
    pub is_loading: bool,
}

/// A place where the text was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Id of the entry.
    pub entry: String,
    pub line: usize,
    pub range: Range<usize>,
}

/// The direction of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Towards {
    Older,
    Newer,
}

impl Search {
    /// Finds the next hit from the current one, or from `begin`. `layout` has its folds open.
    pub fn next(&self, layout: Layout<'_>, begin: Place, towards: Towards) -> Option<Hit> {
        let entries = layout.conversation.entries();
        let at = self
            .hit
            .as_ref()
            .and_then(|hit| Some((layout.conversation.find(&hit.entry)?, hit)));
        let first = at.map_or(begin.entry, |(entry, _)| entry).min(entries.len());
        // A hit of the entry where the search is must be beyond the current hit.
        let is_beyond = |entry: usize, hit: &Hit| match at {
            Some((of, current)) if of == entry => {
                let [here, there] = [hit, current].map(|hit| (hit.line, hit.range.start));
                if towards == Towards::Older {
                    here < there
                } else {
                    here > there
                }
            }
            _ => true,
        };
        let hits = |entry: usize| -> Vec<Hit> {
            let Some(known) = entries.get(entry) else {
                return Vec::new();
            };
            let lines = layout.lines(known, true);
            let hits = lines.iter().enumerate().flat_map(|(line, text)| {
                let found = find_all(&text.text, &self.wanted).into_iter();
                found.map(move |range| (line, range))
            });
            let hits = hits.map(|(line, range)| Hit {
                entry: known.id.clone(),
                line,
                range,
            });
            hits.filter(|hit| is_beyond(entry, hit)).collect()
        };
        match towards {
            Towards::Older => (0..=first).rev().find_map(|entry| hits(entry).pop()),
            Towards::Newer => (first..entries.len()).find_map(|entry| hits(entry).into_iter().next()),
        }
    }
}

/// Returns the place of a hit.
pub fn place_of(hit: &Hit, layout: Layout<'_>) -> Option<Place> {
    let entry = layout.conversation.find(&hit.entry)?;
    let laid = layout.entry(entry);
    let row = laid
        .text
        .rows
        .iter()
        .position(|row| row.line == hit.line && row.range.end > hit.range.start)?;
    Some(Place {
        entry,
        row: row + usize::from(laid.gap),
    })
}

/// Returns whether a line of an entry is the same with folds open and closed, so that a hit in it needs no open fold.
pub fn is_in_sight(hit: &Hit, layout: Layout<'_>) -> bool {
    let Some(entry) = layout
        .conversation
        .find(&hit.entry)
        .and_then(|at| layout.conversation.entries().get(at))
    else {
        return false;
    };
    let (closed, open) = (layout.lines(entry, layout.open), layout.lines(entry, true));
    closed.len() == open.len() && closed.get(hit.line) == open.get(hit.line)
}
