//! Terminal control sequences and other control characters beside a message.

use std::borrow::Cow;
use std::fmt::Write as _;

const ESC: u8 = 0x1b;

/// Returns the text without control sequences, control characters and byte order marks. Inside of a JSON string, they become
/// escapes.
pub(super) fn without_controls(text: &str) -> Cow<'_, str> {
    if !text.contains(is_removed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut depth = 0_usize;
    let mut is_string = false;
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let length = next.len_utf8();
        match next {
            '\\' if is_string => {
                // The escaped character is copied with it, unless it is a control character itself.
                out.push('\\');
                at += 1;
                if let Some(escaped) = text[at..].chars().next().filter(|c| !is_removed(*c)) {
                    out.push(escaped);
                    at += escaped.len_utf8();
                }
                continue;
            }
            // Quotes outside of an object are no strings.
            '"' if depth > 0 => is_string = !is_string,
            '{' if !is_string => depth += 1,
            '}' if !is_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if !is_removed(next) || next == '\t' && !is_string {
            out.push(next);
        } else if is_string && next < ' ' {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(next));
        } else if is_string {
            out.push(next);
        } else {
            at += sequence(&text.as_bytes()[at..]).unwrap_or(length);
            continue;
        }
        at += length;
    }
    if out == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(out)
    }
}

/// Returns plain text without control sequences and control characters.
pub(crate) fn without_sequences(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        if is_removed(next) && next != '\t' {
            at += sequence(&text.as_bytes()[at..]).unwrap_or(next.len_utf8());
        } else {
            out.push(next);
            at += next.len_utf8();
        }
    }
    out
}

/// Returns whether JSON does not permit a character between its tokens, and terminals do not show it.
fn is_removed(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\r')) || c == '\u{feff}'
}

/// Returns the length of the control sequence at the start, if there is one. A sequence that does not end does not count.
fn sequence(bytes: &[u8]) -> Option<usize> {
    let (kind, rest) = match bytes {
        [ESC, kind, rest @ ..] => (*kind, rest),
        // The same introducer as one character.
        [0xc2, 0x9b, rest @ ..] => (b'[', rest),
        _ => return None,
    };
    let start = bytes.len() - rest.len();
    let length = match kind {
        b'[' => rest.iter().position(|byte| matches!(byte, 0x40..=0x7e))? + 1,
        // A title, for example: text up to a bell or "ESC \".
        b']' | b'P' | b'X' | b'^' | b'_' => {
            let end = rest.iter().position(|byte| matches!(*byte, 0x07 | ESC))?;
            match rest[end..] {
                [0x07, ..] => end + 1,
                [ESC, b'\\', ..] => end + 2,
                _ => end,
            }
        }
        0x20..=0x2f => rest.iter().position(|byte| matches!(byte, 0x30..=0x7e))? + 1,
        0x30..=0x7e => 0,
        _ => return None,
    };
    Some(start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_end_where_terminals_end_them() {
        for (text, rest) in [
            ("\u{1b}[0m", ""),
            ("\u{1b}[1;38;5;200mx", "x"),
            ("\u{9b}2Kx", "x"),
            ("\u{1b}]0;é title\u{7}x", "x"),
            ("\u{1b}]8;;http://a\u{1b}\\x", "x"),
            ("\u{1b}(Bx", "x"),
            ("\u{1b}7x\u{1b}8", "x"),
            ("\u{1b}]0;no end", "]0;no end"),
            ("\u{1b}", ""),
            ("a\u{8}\u{7f}b", "ab"),
        ] {
            assert_eq!(without_controls(text), rest, "{text:?}");
        }
    }
}
