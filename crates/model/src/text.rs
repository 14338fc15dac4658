//! Text that is shortened or cleaned for display.

/// Returns `text`, or its beginning with an ellipsis if it has more than `chars` characters. The result has at most
/// `chars` characters.
pub fn shorten(text: &str, chars: usize) -> String {
    if text.char_indices().nth(chars).is_none() {
        return text.to_owned();
    }
    let begin: String = text.chars().take(chars.saturating_sub(1)).collect();
    format!("{}…", begin.trim_end())
}

/// Makes visible the characters of prose that a terminal or a page would interpret. Lines of terminal output end in
/// `\r\n`, and a piece of output may end between the two, so such a carriage return is dropped.
pub fn plain(text: &str) -> String {
    without(text, misleads)
}

/// Like [`plain`], for names that a user decides on: also makes invisible characters visible.
pub fn visible(text: &str) -> String {
    without(text, is_unseen)
}

/// Like [`visible`], for text on a line of its own: it cannot start another line.
pub fn plain_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], "\u{fffd}")
}

/// Replaces the marked characters of `text` with U+FFFD. Line ends and tabs stay.
fn without(text: &str, is_marked: fn(char) -> bool) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if matches!(chars.peek(), None | Some('\n')) => {}
            '\n' | '\t' => plain.push(c),
            c if is_marked(c) => plain.push('\u{fffd}'),
            c => plain.push(c),
        }
    }
    plain
}

/// Returns whether `c` is a control character, changes the direction of the text around it, or starts another line.
pub fn misleads(c: char) -> bool {
    let reorders = matches!(
        c,
        '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    reorders || c.is_control()
}

/// Returns whether `c` is misleading or invisible. With invisible characters, a name can look like another one.
fn is_unseen(c: char) -> bool {
    let is_invisible = matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    is_invisible || misleads(c)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::RangeInclusive;

    use super::{is_unseen, misleads, plain, plain_line, shorten, visible};

    #[test]
    fn what_is_cut_ends_with_an_ellipsis() {
        for (text, short) in [
            ("", ""),
            ("four", "four"),
            ("fives", "fiv…"),
            ("ab cd", "ab…"),
            ("ééééé", "ééé…"),
        ] {
            assert_eq!(shorten(text, 4), short);
        }
    }

    #[test]
    fn a_line_of_an_agent_is_one_line_and_hides_nothing() {
        for (text, line) in [
            ("a\u{2028}b\u{2029}c", "a\u{fffd}b\u{fffd}c"),
            ("a\n\tb", "a\u{fffd}\u{fffd}b"),
            ("pa\u{200b}ss\u{2060}wd\u{feff}", "pa\u{fffd}ss\u{fffd}wd\u{fffd}"),
            ("Привет مرحبا 👍🏽", "Привет مرحبا 👍🏽"),
        ] {
            assert_eq!(plain_line(text), line);
        }
        assert_eq!(visible("a\n\tb\u{200d}\u{2028}c"), "a\n\tb\u{fffd}\u{fffd}c");
        // Prose keeps the character that joins an emoji.
        assert_eq!(plain("👩\u{200d}💻\u{2028}x"), "👩\u{200d}💻\u{fffd}x");
    }

    /// The web UI has the same rules, and a test that checks them against the same file.
    #[test]
    fn characters_are_those_of_the_fixture() {
        let written: BTreeMap<String, Vec<String>> =
            serde_json::from_str(include_str!("../fixtures/unseen.json")).unwrap();
        let code = |hex: &str| u32::from_str_radix(hex, 16).unwrap();
        let range = |range: &String| -> RangeInclusive<u32> {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            code(first)..=code(last)
        };
        let ranges: BTreeMap<&str, Vec<_>> = written
            .iter()
            .map(|(name, ranges)| (name.as_str(), ranges.iter().map(range).collect()))
            .collect();
        let has = |name: &str, c: char| ranges[name].iter().any(|range| range.contains(&u32::from(c)));
        for c in '\0'..=char::MAX {
            let moves = has("controls", c) || has("reorders", c);
            assert_eq!(misleads(c), moves, "{c:?}");
            assert_eq!(is_unseen(c), moves || has("invisible", c), "{c:?}");
        }
    }
}
