//! Makes JSON readable that the readers of typed values refuse.
//!
//! JavaScript writes half of a surrogate pair, Python writes integers of any length, and both nest as deep as they like. All
//! of that is JSON, and [`super::RawJson`] carries it unchanged, but `serde_json` reads none of it into strings and numbers.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::Error;

/// Levels of arrays and objects that are kept. `serde_json` reads 127, and a reader may put a value into another one.
const LEVELS: usize = 96;

/// U+FFFD, as an escape in a JSON string.
const REPLACEMENT: &str = "\\ufffd";

/// Returns `json` with the parts replaced that typed readers refuse; `None` if it has no such parts:
/// - half of a surrogate pair becomes U+FFFD;
/// - a number beyond the range of a double becomes a string of the same text;
/// - an array or object that is nested too deeply becomes a string of its text.
///
/// The result is valid JSON if `json` is.
pub fn readable(json: &str) -> Option<String> {
    Rewriter::new(json, true).rewritten()
}

/// Returns `json` with U+FFFD in place of halves of surrogate pairs.
pub fn well_formed(json: &str) -> Cow<'_, str> {
    let may_have_halves = json.contains("\\ud") || json.contains("\\uD");
    let rewritten = may_have_halves.then(|| Rewriter::new(json, false).rewritten());
    rewritten.flatten().map_or(Cow::Borrowed(json), Cow::Owned)
}

/// Reads `json` as a `T`. If that fails, reads it again as [`readable`] returns it.
pub fn read<T: DeserializeOwned>(json: &str) -> Result<T, Error> {
    read_with(json, |json| serde_json::from_str(json))
}

/// Reads `json` with `reader`. If that fails, reads it again as [`readable`] returns it. For types that borrow from the text:
/// `reader` must return owned values.
pub fn read_with<T, E>(json: &str, reader: impl Fn(&str) -> Result<T, E>) -> Result<T, E> {
    // One call of `reader` for both texts: it is inlined here, and is large.
    let mut rewritten = None;
    loop {
        match reader(rewritten.as_deref().unwrap_or(json)) {
            Err(error) if rewritten.is_none() => rewritten = Some(readable(json).ok_or(error)?),
            result => return result,
        }
    }
}

/// Reads a JSON string that may have halves of surrogate pairs. Returns the string without the half at its start and the half
/// at its end, and these; other halves become U+FFFD.
pub fn read_halves(json: &str) -> Option<Halves> {
    let text = json.strip_prefix('"')?.strip_suffix('"')?;
    let (first, text) = match unit_at(text, 0).filter(|unit| is_low(*unit)) {
        Some(unit) => (Some(unit), &text[ESCAPE..]),
        None => (None, text),
    };
    let last_at = text.len().checked_sub(ESCAPE);
    let last = last_at
        .filter(|at| text.is_char_boundary(*at) && !is_escaped(text, *at))
        .and_then(|at| unit_at(text, at))
        .filter(|unit| is_high(*unit));
    let text = if last.is_some() {
        &text[..text.len() - ESCAPE]
    } else {
        text
    };
    let text = read(&format!("\"{text}\"")).ok()?;
    Some(Halves { first, text, last })
}

/// A text between halves of surrogate pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halves {
    /// The second half of a pair, before the text.
    pub first: Option<u16>,
    /// The text between.
    pub text: String,
    /// The first half of a pair, after the text.
    pub last: Option<u16>,
}

/// Length of an escape `\uXXXX`.
const ESCAPE: usize = 6;

/// Returns the code unit of the escape `\uXXXX` at a position, if there is one.
fn unit_at(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE)?.strip_prefix("\\u")?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

/// Returns whether the character at a position within a string belongs to an escape that begins before it.
fn is_escaped(text: &str, at: usize) -> bool {
    let backslashes = text.as_bytes()[..at]
        .iter()
        .rev()
        .take_while(|byte| **byte == b'\\');
    backslashes.count() % 2 == 1
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

struct Rewriter<'a> {
    json: &'a str,
    /// Whether numbers and nested values are replaced, too.
    replaces_values: bool,
    at: usize,
    /// How much of `json` is in `out`, or replaced.
    copied: usize,
    out: String,
}

impl<'a> Rewriter<'a> {
    fn new(json: &'a str, replaces_values: bool) -> Self {
        Self {
            json,
            replaces_values,
            at: 0,
            copied: 0,
            out: String::new(),
        }
    }

    fn rewritten(mut self) -> Option<String> {
        self.rewrite();
        if self.copied == 0 {
            return None;
        }
        self.out.push_str(&self.json[self.copied..]);
        Some(self.out)
    }

    fn rewrite(&mut self) {
        let bytes = self.json.as_bytes();
        let mut level = 0_usize;
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' => self.string(),
                b'{' | b'[' if level == LEVELS && self.replaces_values => self.too_deep(),
                b'{' | b'[' => {
                    level += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    level = level.saturating_sub(1);
                    self.at += 1;
                }
                b'-' | b'0'..=b'9' if self.replaces_values => self.number(),
                _ => self.at += 1,
            }
        }
    }

    fn string(&mut self) {
        let bytes = self.json.as_bytes();
        self.at += 1;
        loop {
            let rest = bytes.get(self.at..).unwrap_or_default();
            let Some(next) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) else {
                self.at = bytes.len();
                return;
            };
            self.at += next;
            if bytes[self.at] == b'"' {
                self.at += 1;
                return;
            }
            match unit_at(self.json, self.at) {
                Some(unit) if is_high(unit) && unit_at(self.json, self.at + ESCAPE).is_some_and(is_low) => {
                    self.at += 2 * ESCAPE;
                }
                Some(unit) if is_high(unit) || is_low(unit) => {
                    self.replace(self.at + ESCAPE, REPLACEMENT);
                }
                _ => self.at += 2,
            }
        }
    }

    fn number(&mut self) {
        let rest = &self.json.as_bytes()[self.at..];
        let is_part = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let end = self.at + length;
        let number = &self.json[self.at..end];
        // Shorter integers are in the range of a double.
        let may_exceed = length > 300 || number.contains(['e', 'E']);
        if may_exceed && number.parse().is_ok_and(f64::is_infinite) {
            let text = format!("\"{number}\"");
            return self.replace(end, &text);
        }
        self.at = end;
    }

    /// Replaces the array or object at the current position by a string.
    fn too_deep(&mut self) {
        let bytes = self.json.as_bytes();
        let mut depth = 0_usize;
        let mut end = self.at;
        let mut is_string = false;
        while let Some(byte) = bytes.get(end) {
            end += 1;
            match byte {
                b'"' => is_string = !is_string,
                b'\\' if is_string => end += 1,
                b'{' | b'[' if !is_string => depth += 1,
                b'}' | b']' if !is_string => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let end = self.json.floor_char_boundary(end);
        let text = serde_json::Value::from(&self.json[self.at..end]).to_string();
        self.replace(end, &text);
    }

    /// Writes `by` in place of the text up to `end`.
    fn replace(&mut self, end: usize, by: &str) {
        self.out.push_str(&self.json[self.copied..self.at]);
        self.out.push_str(by);
        self.at = end;
        self.copied = end;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn invalid_json_values_are_replaced_and_others_stay() {
        let digits = "9".repeat(400);
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        for (json, expected) in [
            (r#"{"a":"x\ud83d"}"#.to_owned(), r#"{"a":"x\ufffd"}"#.to_owned()),
            (
                r#"["\ude00","\ud83d\ude00"]"#.into(),
                r#"["\ufffd","\ud83d\ude00"]"#.into(),
            ),
            (
                r#"["\ud83d\ud83d\ude00\\ud83d"]"#.into(),
                r#"["\ufffd\ud83d\ude00\\ud83d"]"#.into(),
            ),
            (
                r#"{"\uD83D":1e999 ,"b":-1E+999}"#.into(),
                r#"{"\ufffd":"1e999" ,"b":"-1E+999"}"#.into(),
            ),
            (format!("[{digits}]"), format!("[\"{digits}\"]")),
            (
                deep,
                format!(
                    "{0}\"{1}1{2}\"{3}",
                    "[".repeat(96),
                    "[".repeat(104),
                    "]".repeat(104),
                    "]".repeat(96)
                ),
            ),
        ] {
            let found = readable(&json).unwrap();
            assert_eq!(found, expected, "{json}");
            assert!(serde_json::from_str::<Value>(&json).is_err(), "{json}");
            serde_json::from_str::<Value>(&found).unwrap();
        }
        for json in [
            r#"{"a":"\ud83d\ude00\\ud83d","b":[1e308,-0.0,123456789012345678901234567890]}"#,
            "",
            "null",
        ] {
            assert_eq!(readable(json), None, "{json}");
        }
    }

    #[test]
    fn texts_alone_can_be_made_well_formed() {
        assert_eq!(
            well_formed(r#"{"a\ud83d":[1e999,"\uD83D\uDE00"]}"#),
            r#"{"a\ufffd":[1e999,"\uD83D\uDE00"]}"#
        );
        assert!(matches!(well_formed(r#"{"a":1e999}"#), Cow::Borrowed(_)));
    }

    #[test]
    fn halves_are_taken_off_both_ends() {
        let halves = |json: &str| {
            let Halves { first, text, last } = read_halves(json).unwrap();
            (first, text, last)
        };
        assert_eq!(halves(r#""a\ud83d""#), (None, "a".into(), Some(0xd83d)));
        assert_eq!(halves(r#""\ude00b""#), (Some(0xde00), "b".into(), None));
        assert_eq!(
            halves(r#""\ude00\ud83d""#),
            (Some(0xde00), String::new(), Some(0xd83d))
        );
        assert_eq!(halves(r#""\ud83d""#), (None, String::new(), Some(0xd83d)));
        assert_eq!(halves(r#""\\ud83d""#), (None, "\\ud83d".into(), None));
        assert_eq!(halves(r#""a\ud83db""#), (None, "a\u{fffd}b".into(), None));
        assert_eq!(halves(r#""\ud83d\ude00""#), (None, "😀".into(), None));
    }
}
