//! Snippets of the texts that a search found.

use std::ops::Range;

use acpd_model::SnippetPiece;

/// Length of the snippet of a hit, in characters.
const SNIPPET_CHARS: usize = 200;
/// Characters of a snippet before the first matching word.
const SNIPPET_LEAD_CHARS: usize = 60;

/// Returns the part of `text` around the first of `places`, as one line, with matches in separate pieces. An ellipsis
/// marks omitted text.
pub(crate) fn snippet(text: &str, places: &[Range<usize>]) -> Vec<SnippetPiece> {
    let window = window(text, places.first().map_or(0, |first| first.start));
    let mut pieces = Pieces::default();
    if window.start > 0 {
        pieces.push("…", false);
    }
    let mut at = window.start;
    for place in places {
        let (start, end) = (place.start.max(at), place.end.min(window.end));
        if start >= end {
            continue;
        }
        pieces.push(&text[at..start], false);
        pieces.push(&text[start..end], true);
        at = end;
    }
    pieces.push(&text[at..window.end], false);
    if window.end < text.len() {
        pieces.push("…", false);
    }
    pieces.0
}

/// Returns a range of at most [`SNIPPET_CHARS`] characters with `first` near its start. Starts at a word if one begins
/// nearby.
fn window(text: &str, first: usize) -> Range<usize> {
    let before = text[..first].char_indices().rev().take(SNIPPET_LEAD_CHARS);
    let mut start = before.last().map_or(first, |(at, _)| at);
    if start > 0 {
        let space = text[start..first].find(char::is_whitespace);
        start += space.map_or(0, |space| space + 1);
        start = text.ceil_char_boundary(start);
    }
    let end = text[start..].char_indices().nth(SNIPPET_CHARS);
    start..end.map_or(text.len(), |(at, _)| start + at)
}

#[derive(Default)]
struct Pieces(Vec<SnippetPiece>);

impl Pieces {
    /// Adds text. White space of any length, and control characters, become one space.
    fn push(&mut self, text: &str, hit: bool) {
        let mut line = String::with_capacity(text.len());
        for c in text.chars() {
            let last = line.chars().next_back();
            let last = last.or_else(|| self.0.last()?.text.chars().next_back());
            if !c.is_whitespace() && !c.is_control() {
                line.push(c);
            } else if last.is_some_and(|last| last != ' ') {
                line.push(' ');
            }
        }
        if line.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.hit == hit => last.text.push_str(&line),
            _ => self.0.push(SnippetPiece { text: line, hit }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Query, words};
    use super::*;

    /// Returns a snippet with the matches in brackets.
    fn show(query: &str, text: &str) -> String {
        let places = Query::read(query).unwrap().find(&words(text)).unwrap_or_default();
        let pieces = snippet(text, &places).into_iter();
        let shown = pieces.map(|piece| {
            if piece.hit {
                format!("[{}]", piece.text)
            } else {
                piece.text
            }
        });
        shown.collect()
    }

    #[test]
    fn short_text_is_shown_whole() {
        assert_eq!(
            show("bug", "Fix\n\n the  bug,\u{1b} please"),
            "Fix the [bug], please"
        );
        assert_eq!(show("登录", "修复登录错误"), "修复[登录]错误");
        assert_eq!(show("fix bug", "fix bug"), "[fix] [bug]");
        assert_eq!(show("nothing", "fix"), "fix");
    }

    #[test]
    fn long_text_shows_its_first_hit() {
        let text = format!("{}needle{}", "hay ".repeat(500), " stack".repeat(500));
        let shown = show("needle", &text);
        assert!(shown.starts_with("…hay "), "{shown}");
        assert!(shown.contains("hay [needle] stack"), "{shown}");
        assert!(shown.ends_with('…'), "{shown}");
        assert_eq!(shown.chars().count(), SNIPPET_CHARS + 4);
        let unbroken = "é".repeat(1000);
        assert_eq!(show("éé", &unbroken).chars().count(), SNIPPET_CHARS + 3);
    }

    proptest! {
        #[test]
        fn any_text_has_a_snippet(text: String, query: String) {
            let places = Query::read(&query).and_then(|query| query.find(&words(&text))).unwrap_or_default();
            let pieces = snippet(&text, &places);
            prop_assert!(pieces.iter().all(|piece| !piece.text.is_empty()));
            prop_assert!(pieces.windows(2).all(|pair| pair[0].hit != pair[1].hit));
        }
    }
}
