//! Texts of agents, cut to what a report can show.

/// Returns the text, cut at a character to this many bytes, without control characters.
pub fn cut(text: &str, bytes: usize) -> String {
    let end = text.floor_char_boundary(bytes.min(text.len()));
    let mut kept: String = text[..end]
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if end < text.len() {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_a_character() {
        assert_eq!(cut("", 4), "");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("aäb", 2), "a…");
        assert_eq!(cut("a\nb\u{1b}c", 9), "a b c");
    }
}
