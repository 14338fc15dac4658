//! Emphasis, code and links within a line.

use std::ops::Range;

use crate::attach::conversation::line::{Line, Tone};

/// The marks around words, the longest first.
const MARKS: [(&str, Tone); 5] = [
    ("**", Tone::Strong),
    ("__", Tone::Strong),
    ("~~", Tone::Remark),
    ("*", Tone::Emphasis),
    ("_", Tone::Emphasis),
];

/// Returns a line of an answer, behind some text that is drawn as it is.
pub fn styled(text: &str, before: &str) -> Line {
    let mut line = Line::new(Tone::Answer, "", before);
    let text = text.replace('\t', "    ");
    Reader::new(&text).read(0..text.len(), &mut line, 0);
    line
}

/// Marks may be within marks up to this depth.
const DEPTH: usize = 4;

/// Maximum length of a link, in bytes.
const LINK_BYTES: usize = 1024;

struct Reader<'t> {
    text: &'t str,
    /// For each mark, whether no further one can close it: so no text is searched twice to its end.
    has_none: [bool; MARKS.len()],
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            has_none: [false; MARKS.len()],
        }
    }

    /// Adds a part of the text to a line.
    fn read(&mut self, range: Range<usize>, line: &mut Line, depth: usize) {
        let mut at = range.start;
        while at < range.end {
            let part = &self.text[at..range.end];
            let Some(next) = part.find(['`', '*', '_', '~', '[', '\\']) else {
                line.text.push_str(part);
                return;
            };
            line.text.push_str(&part[..next]);
            at += next;
            at = self.mark(at..range.end, line, depth);
        }
    }

    /// Adds what begins with a mark. Returns where the rest begins.
    fn mark(&mut self, range: Range<usize>, line: &mut Line, depth: usize) -> usize {
        let part = &self.text[range.clone()];
        if let Some(escaped) = part.strip_prefix('\\') {
            if let Some(c) = escaped.chars().next().filter(char::is_ascii_punctuation) {
                line.text.push(c);
                return range.start + 2;
            }
        } else if part.starts_with('`') {
            return range.start + code(part, line);
        } else if part.starts_with('[') {
            if let Some(length) = link(part, line) {
                return range.start + length;
            }
        } else if let Some((kind, inner)) = self.emphasis(&range)
            && depth < DEPTH
        {
            let (mark, tone) = MARKS[kind];
            let start = line.text.len();
            let end = inner.end + mark.len();
            // What cannot be closed within the words may be closed behind them.
            let outer = self.has_none;
            self.read(inner, line, depth + 1);
            self.has_none = outer;
            line.marks.push((start..line.text.len(), tone));
            return end;
        }
        let c = part.chars().next().map_or(1, char::len_utf8);
        // A run of marks that opens nothing is one text, such as a line of stars.
        let run = part.len() - part.trim_start_matches(&part[..c]).len();
        line.text.push_str(&part[..run.max(c)]);
        range.start + run.max(c)
    }

    /// Returns the index of a mark at the beginning of a range, and the place of the words that it and its like are around.
    fn emphasis(&mut self, range: &Range<usize>) -> Option<(usize, Range<usize>)> {
        let before = self.text[..range.start].chars().next_back();
        for (kind, (mark, _)) in MARKS.iter().enumerate() {
            let part = &self.text[range.clone()];
            let Some(rest) = part.strip_prefix(*mark) else {
                continue;
            };
            // An underscore within a word is part of a name.
            let is_name = mark.starts_with('_') && before.is_some_and(char::is_alphanumeric);
            let opens = rest.starts_with(|c: char| !c.is_whitespace() && !mark.starts_with(c));
            if self.has_none[kind] || is_name || !opens {
                continue;
            }
            let from = range.start + mark.len();
            match self.closing(from..range.end, mark) {
                Some(end) => return Some((kind, from..end)),
                None => self.has_none[kind] = true,
            }
        }
        None
    }

    /// Returns the place of the mark that closes words.
    fn closing(&self, range: Range<usize>, mark: &str) -> Option<usize> {
        let part = &self.text[range.clone()];
        let is_closing = |at: &usize| {
            let (words, rest) = part.split_at(*at);
            let after = rest[mark.len()..].chars().next();
            let is_name = mark.starts_with('_') && after.is_some_and(char::is_alphanumeric);
            let is_longer = mark.len() == 1 && after.is_some_and(|c| mark.starts_with(c));
            let follows_one = mark.len() == 1 && words.ends_with(mark);
            !words.ends_with(char::is_whitespace)
                && !words.is_empty()
                && !is_name
                && !is_longer
                && !follows_one
        };
        let places = part.match_indices(mark).map(|(at, _)| at);
        places.into_iter().find(is_closing).map(|at| range.start + at)
    }
}

/// Adds code, which as many backticks end as begin it. Returns the length of what was read.
fn code(part: &str, line: &mut Line) -> usize {
    let ticks = part.len() - part.trim_start_matches('`').len();
    let (mark, rest) = part.split_at(ticks);
    let end = rest.find(mark).filter(|end| *end > 0);
    // A longer run of backticks does not end it.
    let Some(end) = end.filter(|end| !rest[end + ticks..].starts_with('`')) else {
        line.text.push_str(mark);
        return ticks;
    };
    let start = line.text.len();
    line.text.push_str(rest[..end].trim());
    line.marks.push((start..line.text.len(), Tone::Code));
    2 * ticks + end
}

/// Adds a link: its words, and where it leads. Returns its length.
fn link(part: &str, line: &mut Line) -> Option<usize> {
    let near = &part[1..part.floor_char_boundary(LINK_BYTES)];
    let (words, rest) = near.split_once("](")?;
    let (target, _) = rest.split_once(')')?;
    if words.contains('[') || words.is_empty() || target.contains(char::is_whitespace) || target.is_empty() {
        return None;
    }
    let start = line.text.len();
    line.text.push_str(words);
    if words != target {
        line.text.push_str(&format!(" ({target})"));
    }
    line.marks.push((start..line.text.len(), Tone::Link));
    Some(words.len() + target.len() + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(text: &str) -> (String, Vec<(String, Tone)>) {
        let line = styled(text, "");
        let marks = line.marks.iter();
        let marks = marks.map(|(range, tone)| (line.text[range.clone()].to_owned(), *tone));
        (line.text.clone(), marks.collect())
    }

    #[test]
    fn words_have_their_look_without_the_marks() {
        let mark = |text: &str, tone| (text.to_owned(), tone);
        assert_eq!(
            marks("a `b*` **c `d`** *e* _f_ ~~g~~"),
            (
                "a b* c d e f g".to_owned(),
                vec![
                    mark("b*", Tone::Code),
                    mark("d", Tone::Code),
                    mark("c d", Tone::Strong),
                    mark("e", Tone::Emphasis),
                    mark("f", Tone::Emphasis),
                    mark("g", Tone::Remark),
                ]
            )
        );
        assert_eq!(
            marks("see [the docs](https://x.y/z) and [https://x](https://x)"),
            (
                "see the docs (https://x.y/z) and https://x".to_owned(),
                vec![
                    mark("the docs (https://x.y/z)", Tone::Link),
                    mark("https://x", Tone::Link)
                ]
            )
        );
    }

    #[test]
    fn unknown_markup_stays_as_written() {
        for text in [
            "2 * 3 * 4",
            "2 ** 3 ** 4",
            "snake_case_name and __init",
            "`` x",
            "**open",
            "*** three",
            "a[0](b c)",
            "[x]",
            "****",
            "a ~ b",
        ] {
            assert_eq!(marks(text), (text.to_owned(), Vec::new()), "{text}");
        }
        assert_eq!(marks(r"\*not\* \a").0, r"*not* \a");
    }

    #[test]
    fn an_absurd_line_is_read_in_one_go() {
        for unit in ["*a ", "_a ", "[a", "**", "`", "~~x", "[a](", "a*b*c_"] {
            let line = unit.repeat(20_000);
            let styled = styled(&line, "");
            assert!(styled.text.len() <= line.len());
        }
    }
}
