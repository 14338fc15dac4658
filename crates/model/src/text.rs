//! Text that is cut to fit a place.

/// `text`, or its beginning with an ellipsis if it has more than `chars` characters: never more than `chars` in all.
pub fn shorten(text: &str, chars: usize) -> String {
    if text.char_indices().nth(chars).is_none() {
        return text.to_owned();
    }
    let begin: String = text.chars().take(chars.saturating_sub(1)).collect();
    format!("{}…", begin.trim_end())
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
