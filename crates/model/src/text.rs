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

/// Returns `text`, or its beginning with an ellipsis if it has more than `bytes` bytes. The result has at most `bytes` bytes.
pub fn clip(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes.saturating_sub('…'.len_utf8()));
    format!("{}…", &text[..end])
}

/// Makes visible the characters of prose that a terminal or a page would interpret. Lines of terminal output end in
/// `\r\n`, and a piece of output may end between the two, so such a carriage return is dropped.
pub fn plain(text: &str) -> String {
    without(text, |_, c, _| misleads(c))
}

/// Like [`plain`], for commands, paths and addresses, which a user decides on: also makes invisible characters visible, and
/// all blanks but the space.
pub fn visible(text: &str) -> String {
    without(text, |_, c, _| is_unseen(c))
}

/// Like [`visible`], for text on a line of its own: it cannot start another line.
pub fn visible_line(text: &str) -> String {
    one_line(&visible(text))
}

/// Like [`visible_line`], for names and sentences in words: keeps blanks between two signs, and the selectors that are part of an
/// emoji.
pub fn plain_line(text: &str) -> String {
    one_line(&without(text, |before, c, after| {
        is_unseen(c) && !separates(before, c, after) && !is_of_emoji(before, c, after)
    }))
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\t'], "\u{fffd}")
}

/// Replaces the marked characters of `text` with U+FFFD. Line ends and tabs stay. `is_marked` also receives the characters
/// before and after.
fn without(text: &str, is_marked: impl Fn(Option<char>, char, Option<char>) -> bool) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if matches!(chars.peek(), None | Some('\n')) => {}
            '\n' | '\t' => plain.push(c),
            c if is_marked(before, c, chars.peek().copied()) => plain.push('\u{fffd}'),
            c => plain.push(c),
        }
        before = Some(c);
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

/// Returns whether `c` is misleading or invisible, or a blank other than the space. With such characters, a command or a name
/// can look like another one. These are Unicode's `Default_Ignorable_Code_Point` and `White_Space`, and a few that most fonts
/// leave out.
pub fn is_unseen(c: char) -> bool {
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
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{16fe4}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d159}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    is_invisible || is_blank(c) || misleads(c)
}

/// Returns whether `c` is a blank other than the space.
fn is_blank(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2800}' | '\u{3000}'
    )
}

/// Returns whether `c` is a blank of written languages that separates the two signs around it.
fn separates(before: Option<char>, c: char, after: Option<char>) -> bool {
    let is_sign = |near: Option<char>| near.is_some_and(|near| near != ' ' && !is_unseen(near));
    matches!(c, '\u{a0}' | '\u{2009}' | '\u{202f}' | '\u{3000}') && is_sign(before) && is_sign(after)
}

/// Returns whether `c` selects the form of the symbol before it, as in ⚠️ and 1️⃣.
fn is_of_emoji(before: Option<char>, c: char, after: Option<char>) -> bool {
    let is_symbol = |c: char| {
        let is_sign = matches!(c, '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '〰' | '〽' | '㊗' | '㊙');
        is_sign || matches!(c, '\u{2190}'..='\u{27bf}' | '\u{2900}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
    };
    let is_key = |c: char| c.is_ascii_digit() || matches!(c, '#' | '*');
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
        && before.is_some_and(|before| is_symbol(before) || is_key(before) && after == Some('\u{20e3}'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::RangeInclusive;

    use super::{clip, is_unseen, misleads, plain, plain_line, shorten, visible, visible_line};

    #[test]
    fn shortened_text_ends_with_an_ellipsis() {
        for (text, short) in [
            ("", ""),
            ("four", "four"),
            ("fives", "fiv…"),
            ("ab cd", "ab…"),
            ("ééééé", "ééé…"),
        ] {
            assert_eq!(shorten(text, 4), short);
        }
        for (text, short) in [
            ("", ""),
            ("fiver", "fiver"),
            ("sixsix", "si…"),
            ("ééé", "é…"),
            ("éé", "éé"),
        ] {
            assert_eq!(clip(text, 5), short);
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
        for unseen in [
            "\u{fe00}",
            "\u{fe0f}",
            "\u{1d173}",
            "\u{1bca0}",
            "\u{13430}",
            "\u{2800}",
            "\u{a0}",
            "\u{3000}",
        ] {
            assert_eq!(visible_line(&format!("rm{unseen}x")), "rm\u{fffd}x", "{unseen:?}");
        }
        assert_eq!(visible_line("a\n\tb c"), "a\u{fffd}\u{fffd}b c");
        // Prose keeps the character that joins an emoji.
        assert_eq!(plain("👩\u{200d}💻\u{2028}x"), "👩\u{200d}💻\u{fffd}x");
    }

    /// The web UI has the same rules for words, and a test that checks them against the same file.
    #[test]
    fn words_are_those_of_the_fixture() {
        let words: Vec<(String, String)> =
            serde_json::from_str(include_str!("../fixtures/words.json")).unwrap();
        for (given, shown) in words {
            assert_eq!(plain_line(&given), shown, "{given:?}");
        }
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
            let unseen = moves || has("invisible", c) || has("blanks", c);
            assert_eq!(is_unseen(c), unseen, "{c:?}");
            assert!(!c.is_whitespace() || unseen || c == ' ', "{c:?}");
        }
    }
}
