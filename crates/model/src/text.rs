//! Text that is made to fit a place.

/// `text`, or its beginning with an ellipsis if it has more than `chars` characters: never more than `chars` in all.
pub fn shorten(text: &str, chars: usize) -> String {
    if text.char_indices().nth(chars).is_none() {
        return text.to_owned();
    }
    let begin: String = text.chars().take(chars.saturating_sub(1)).collect();
    format!("{}…", begin.trim_end())
}

/// `text` with what a terminal or a page would act on made visible. Lines of a command's terminal end in `\r\n`, and a piece of its
/// output may end between the two.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if matches!(chars.peek(), None | Some('\n')) => {}
            '\n' | '\t' => plain.push(c),
            c if misleads(c) => plain.push('\u{fffd}'),
            c => plain.push(c),
        }
    }
    plain
}

/// The same for what has one line of its own: nothing in it can look like the next one.
pub fn plain_line(text: &str) -> String {
    plain(text).replace(['\n', '\t'], "\u{fffd}")
}

/// Control characters, and those that change the direction of what is around them.
pub fn misleads(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control()
}

#[cfg(test)]
mod tests {
    use super::shorten;

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
}
