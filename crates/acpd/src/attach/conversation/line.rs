//! Lines of text with their look, wrapped at a width in terminal columns.
//!
//! Never: splits a grapheme cluster, such as an emoji with its joiners, or counts a wide character as one column.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// How a text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    User,
    Answer,
    Heading,
    Code,
    Strong,
    Emphasis,
    Link,
    Thought,
    Title,
    Failed,
    Output,
    Added,
    Removed,
    Remark,
    Warning,
}

/// One line of an entry, before it is wrapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub tone: Tone,
    /// The name of the subagent that the line is about, at the beginning of every row; empty for the main agent.
    pub label: String,
    /// Text at the beginning of every row of the line.
    pub lead: &'static str,
    pub text: String,
    /// Parts of the text that look different.
    pub marks: Vec<(Range<usize>, Tone)>,
    /// Columns by which all rows but the first are indented.
    pub hang: usize,
}

/// A row on the screen: a part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Index of the line in its entry.
    pub line: usize,
    pub range: Range<usize>,
}

/// Columns that a tab takes.
const TAB: &str = "    ";

impl Line {
    /// Creates a line of plain text.
    pub fn new(tone: Tone, lead: &'static str, text: &str) -> Self {
        Self {
            tone,
            label: String::new(),
            lead,
            text: text.replace('\t', TAB),
            marks: Vec::new(),
            hang: 0,
        }
    }
}

/// Wraps lines at `columns`.
pub fn wrap_all(lines: &[Line], columns: usize) -> Vec<Row> {
    let mut rows = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        let mut room = columns.saturating_sub(line.label.width() + line.lead.width());
        if line.text.width() > room {
            room = room.saturating_sub(line.hang);
        }
        let ranges = wrap(&line.text, room).into_iter();
        rows.extend(ranges.map(|range| Row { line: at, range }));
    }
    rows
}

/// Returns the parts of a text that fit into `columns` each, broken at spaces where possible. A space at a break stays at
/// the end of its row. There is at least one part.
pub fn wrap(text: &str, columns: usize) -> Vec<Range<usize>> {
    let columns = columns.max(2);
    if text.len() <= columns && text.is_ascii() {
        return std::iter::once(0..text.len()).collect();
    }
    let mut rows = Vec::new();
    if text.is_ascii() {
        wrap_clusters(
            (0..text.len()).map(|at| (at, &text[at..=at], 1)),
            columns,
            &mut rows,
        );
    } else {
        let clusters = text
            .grapheme_indices(true)
            .map(|(at, cluster)| (at, cluster, cluster.width()));
        wrap_clusters(clusters, columns, &mut rows);
    }
    rows.push(rows.last().map_or(0, |row: &Range<usize>| row.end)..text.len());
    rows
}

/// Adds all rows but the last one. `clusters` have their places and widths.
fn wrap_clusters<'t>(
    clusters: impl Iterator<Item = (usize, &'t str, usize)>,
    columns: usize,
    rows: &mut Vec<Range<usize>>,
) {
    let (mut start, mut used) = (0, 0);
    // The place after the last space of the row, and the columns up to there.
    let mut space: Option<(usize, usize)> = None;
    for (at, cluster, width) in clusters {
        if used + width > columns && cluster != " " {
            let (end, kept) = space.filter(|(end, _)| *end > start).unwrap_or((at, used));
            rows.push(start..end);
            start = end;
            used -= kept;
            space = None;
        }
        used += width;
        if cluster == " " {
            space = Some((at + 1, used));
        }
    }
}

/// Finds `wanted` in `text` from byte `from` on. Ignores case unless `wanted` has a capital letter.
pub fn find(text: &str, wanted: &str, from: usize) -> Option<Range<usize>> {
    let exact = wanted.chars().any(char::is_uppercase);
    let equal = |a: char, b: char| a == b || (!exact && a.to_lowercase().eq(b.to_lowercase()));
    let tail = text.get(from..)?;
    tail.char_indices().find_map(|(at, _)| {
        let mut rest = tail[at..].chars();
        let mut len = 0;
        for c in wanted.chars() {
            let here = rest.next().filter(|here| equal(*here, c))?;
            len += here.len_utf8();
        }
        (len > 0).then_some(from + at..from + at + len)
    })
}

/// Returns all places of `wanted` in `text`.
pub fn find_all(text: &str, wanted: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    while let Some(hit) = find(text, wanted, found.last().map_or(0, |hit| hit.end)) {
        found.push(hit);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, columns: usize) -> Vec<&str> {
        wrap(text, columns)
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn words_stay_whole_and_nothing_is_lost() {
        for (text, wrapped) in [
            ("", &[""][..]),
            ("four", &["four"]),
            ("one two three", &["one ", "two ", "three"]),
            ("abcdefghijk", &["abcde", "fghij", "k"]),
            ("ab  cdefgh", &["ab  ", "cdefg", "h"]),
            // A space that does not fit hangs over the edge, out of sight.
            ("abcde f", &["abcde ", "f"]),
            ("漢字漢字", &["漢字", "漢字"]),
            ("a漢b字c", &["a漢b", "字c"]),
            (
                "👩\u{200d}💻👩\u{200d}💻👩\u{200d}💻",
                &["👩\u{200d}💻👩\u{200d}💻", "👩\u{200d}💻"],
            ),
        ] {
            assert_eq!(rows(text, 5), wrapped, "{text:?}");
            assert_eq!(rows(text, 5).concat(), text);
        }
    }

    #[test]
    fn a_wide_character_fits_even_into_the_narrowest_column() {
        assert_eq!(rows("漢字", 0), ["漢", "字"]);
    }

    #[test]
    fn a_search_ignores_case_unless_it_has_a_capital() {
        let places = |text: &str, wanted: &str| -> Vec<(usize, usize)> {
            let found = find_all(text, wanted).into_iter();
            found.map(|range| (range.start, range.end)).collect()
        };
        assert_eq!(places("aAÄä", "a"), [(0, 1), (1, 2)]);
        assert_eq!(places("aAÄä", "ä"), [(2, 4), (4, 6)]);
        assert_eq!(places("aAÄä", "A"), [(1, 2)]);
        assert_eq!(places("aaa", "aa"), [(0, 2)]);
        assert_eq!(places("x", ""), []);
    }
}
