//! Untrusted text, made safe for a terminal: no cursor movement, no commands, no hidden or reordered words.

use acpd_model::text::misleads;
pub use acpd_model::text::{plain, plain_line, visible, visible_line};

/// Escapes characters in JSON that a terminal would interpret. The values stay the same.
pub fn json(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Line ends and tabs occur only between values, where they are whitespace.
            '\n' | '\t' => plain.push(c),
            '\r' => plain.push(' '),
            c if misleads(c) => plain.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => plain.push(c),
        }
    }
    plain
}

/// Escapes JSON that arrives in chunks, which may split a character.
#[derive(Default)]
pub struct JsonPieces {
    /// The first bytes of a split character.
    begun: Vec<u8>,
}

impl JsonPieces {
    /// Returns the next chunk, up to its last complete character.
    pub fn next(&mut self, piece: &[u8]) -> String {
        self.begun.extend_from_slice(piece);
        let whole = match std::str::from_utf8(&self.begun) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            // Invalid UTF-8 is not JSON; print it lossily.
            _ => self.begun.len(),
        };
        let rest = self.begun.split_off(whole);
        let whole = std::mem::replace(&mut self.begun, rest);
        json(&String::from_utf8_lossy(&whole))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json as value};

    use super::*;

    const HOSTILE: &str =
        "a\u{1b}[31m\u{7}\u{7f}\u{85}\u{9b}2J\u{61c}\u{200f}\u{202e}b\u{2066}\u{2028}\u{2029}é\u{1f600}";

    fn is_fit(text: &str) -> bool {
        !text.chars().any(misleads)
    }

    #[test]
    fn nothing_of_a_text_is_left_that_a_terminal_acts_on() {
        let shown = plain(HOSTILE);
        assert!(is_fit(&shown), "{shown:?}");
        assert!(
            shown.starts_with("a\u{fffd}[31m") && shown.ends_with("é\u{1f600}"),
            "{shown:?}"
        );
        assert_eq!(plain("a\tb\r\nc\rd\r"), "a\tb\nc\u{fffd}d");
    }

    #[test]
    fn json_is_the_same_value_and_nothing_that_a_terminal_acts_on() {
        let hostile = value!({ HOSTILE: [HOSTILE, "\n"] });
        for text in [hostile.to_string(), format!("{hostile:#}").replace('\n', "\r\n")] {
            let shown = json(&text);
            assert!(is_fit(&shown.replace('\n', "")), "{shown:?}");
            assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), hostile);
        }
    }

    #[test]
    fn pieces_may_end_anywhere() {
        let text = value!(HOSTILE).to_string();
        for at in 0..=text.len() {
            let mut pieces = JsonPieces::default();
            let (head, tail) = text.as_bytes().split_at(at);
            let shown = [pieces.next(head), pieces.next(tail)].concat();
            assert_eq!(shown, json(&text), "{at}");
        }
        assert_eq!(JsonPieces::default().next(b"a\xffb"), "a\u{fffd}b");
    }
}
