//! Draws Markdown: headings, lists, quotes, tables, code and emphasis.
//!
//! In: an answer, which may still grow, and the columns of the window. Out: lines. Never: hides where a link leads, or takes
//! longer than the text is long: what is not closed yet stays as it was written.

mod inline;
mod table;

use unicode_width::UnicodeWidthStr;

use self::inline::styled;
use super::line::{Line, Tone};

/// Maximum indentation of the rows of an item, in columns.
const HANG: usize = 12;

/// A fence of a block of code.
struct Fence {
    mark: char,
    length: usize,
}

/// Returns the lines of an answer.
pub fn marked(text: &str, columns: usize) -> Vec<Line> {
    let source: Vec<&str> = text.lines().collect();
    let mut drawn = Vec::with_capacity(source.len());
    let mut fence: Option<Fence> = None;
    let mut at = 0;
    while let Some(line) = source.get(at) {
        at += 1;
        if let Some(open) = &fence {
            if open.is_closed_by(line) {
                fence = None;
                drawn.push(Line::new(Tone::Remark, "", "╰─"));
            } else {
                drawn.push(Line::new(Tone::Code, "│ ", line));
            }
            continue;
        }
        if let Some((open, language)) = Fence::read(line) {
            fence = Some(open);
            let title = format!("╭─ {language}");
            drawn.push(Line::new(Tone::Remark, "", title.trim_end()));
            continue;
        }
        if let Some((rows, lines)) = table::read(&source[at - 1..], columns) {
            drawn.extend(lines);
            at += rows - 1;
            continue;
        }
        drawn.push(block(line));
    }
    drawn
}

impl Fence {
    /// Reads the beginning of a block of code, with its language.
    fn read(line: &str) -> Option<(Self, &str)> {
        let line = line.trim_start();
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let language = line.trim_start_matches(mark);
        let length = line.len() - language.len();
        // Three backticks and more of them in one line are code within a sentence.
        let is_fence = length >= 3 && !(mark == '`' && language.contains('`'));
        is_fence.then(|| (Self { mark, length }, language.trim()))
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|c| c == self.mark)
    }
}

/// Draws a line outside of code and tables.
fn block(line: &str) -> Line {
    let text = line.trim_start();
    let indent = &line[..line.len() - text.len()];
    let hashes = text.bytes().take_while(|byte| *byte == b'#').count();
    if indent.len() < 4
        && (1..=6).contains(&hashes)
        && let Some(title) = text[hashes..].strip_prefix(' ')
    {
        let mut heading = styled(title.trim().trim_end_matches('#').trim_end(), "");
        heading.tone = Tone::Heading;
        return heading;
    }
    if is_rule(text) {
        return Line::new(Tone::Remark, "", "────────");
    }
    if let Some(quoted) = text.strip_prefix('>') {
        let mut quote = styled(quoted.strip_prefix(' ').unwrap_or(quoted), "");
        quote.lead = "▎ ";
        return quote;
    }
    let bullet = text
        .strip_prefix(['-', '*', '+'])
        .and_then(|rest| rest.strip_prefix(' '))
        .map(|rest| match rest.trim_start() {
            rest if rest.starts_with("[ ] ") => ("☐ ".to_owned(), &rest[4..]),
            rest if rest.starts_with("[x] ") || rest.starts_with("[X] ") => ("☑ ".to_owned(), &rest[4..]),
            rest => ("• ".to_owned(), rest),
        });
    let (mark, rest) = bullet.or_else(|| numbered(text)).unwrap_or((String::new(), text));
    let lead = format!("{indent}{mark}");
    let mut item = styled(rest, &lead);
    if !mark.is_empty() {
        item.hang = lead.replace('\t', "    ").width().min(HANG);
    }
    item
}

/// Returns the number of an item of a list, and its text.
fn numbered(text: &str) -> Option<(String, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text[digits..].strip_prefix(['.', ')'])?.strip_prefix(' ')?;
    (1..=9)
        .contains(&digits)
        .then(|| (format!("{} ", &text[..=digits]), rest))
}

/// Returns whether a line divides parts of a text.
fn is_rule(text: &str) -> bool {
    let text = text.trim_end();
    text.len() >= 3
        && ['-', '*', '_']
            .iter()
            .any(|mark| text.chars().all(|c| c == *mark || c == ' ') && text.matches(*mark).count() >= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines as they are drawn, without their look.
    fn drawn(text: &str, columns: usize) -> Vec<String> {
        let lines = marked(text, columns).into_iter();
        lines.map(|line| format!("{}{}", line.lead, line.text)).collect()
    }

    #[test]
    fn blocks_are_drawn() {
        let text = "# Title #\n- one\n  * [x] two\n1. three\n> quoted\n---\n```rust\n# not a title\n```\n#no title\n";
        assert_eq!(
            drawn(text, 80),
            [
                "Title",
                "• one",
                "  ☑ two",
                "1. three",
                "▎ quoted",
                "────────",
                "╭─ rust",
                "│ # not a title",
                "╰─",
                "#no title"
            ]
        );
        let tones: Vec<Tone> = marked(text, 80).iter().map(|line| line.tone).collect();
        assert_eq!(
            (tones[0], tones[1], tones[7]),
            (Tone::Heading, Tone::Answer, Tone::Code)
        );
        assert_eq!(marked("10. x", 80)[0].hang, 4);
    }

    #[test]
    fn a_fence_ends_only_with_one_like_it() {
        assert_eq!(
            drawn("````\n```\n**x**\n````\n**y**", 80),
            ["╭─", "│ ```", "│ **x**", "╰─", "y"]
        );
        assert_eq!(drawn("~~~sh\n```\n~~~", 80), ["╭─ sh", "│ ```", "╰─"]);
        assert_eq!(drawn("a ```b``` c", 80), ["a b c"]);
    }

    #[test]
    fn unfinished_markup_is_drawn_at_every_length() {
        let whole = "# T\n\n| a | b |\n|---|--:|\n| **1** | `2` |\n\n- x **y** [z](http://q)\n```sh\nls\n```\nend 漢字👩\u{200d}💻 *é";
        for (at, _) in whole.char_indices() {
            for columns in [0, 1, 5, 80] {
                marked(&whole[..at], columns);
            }
        }
        assert_eq!(drawn("**bold", 80), ["**bold"]);
        assert_eq!(drawn("| a | b |\n|--", 80), ["| a | b |", "|--"]);
        assert_eq!(drawn("```sh\nls", 80), ["╭─ sh", "│ ls"]);
        assert!(drawn("", 80).is_empty());
    }
}
