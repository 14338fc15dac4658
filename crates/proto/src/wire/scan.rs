//! Reads the members of a message that cannot be parsed, from its start and from its end.

use serde_json::value::RawValue;

/// Longest id that is looked for, in bytes.
const ID_BYTES: usize = 256;

/// Whom a line concerns that is not a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A request with this id, as it is written.
    Request {
        /// The id.
        id: String,
    },
    /// An answer to the request with this id.
    Answer {
        /// The id, as it is written.
        id: String,
    },
    /// Neither: no request waits for it.
    Other,
}

/// The members that were found.
#[derive(Debug, Default)]
pub(super) struct Members<'a> {
    has_version: bool,
    id: Option<&'a str>,
    calls: bool,
    answers: bool,
}

impl<'a> Members<'a> {
    /// Adds a member. `value` is its text, if that is known and short.
    fn add(&mut self, key: &str, value: Option<&'a str>) {
        match key {
            "jsonrpc" => self.has_version = true,
            "method" | "params" => self.calls = true,
            "result" | "error" => self.answers = true,
            "id" => self.id = self.id.or(value.filter(|value| is_id(value))),
            _ => {}
        }
    }

    /// Adds the members that were found from the other end.
    pub fn and(self, other: &Self) -> Self {
        Self {
            has_version: self.has_version || other.has_version,
            id: self.id.or(other.id),
            calls: self.calls || other.calls,
            answers: self.answers || other.answers,
        }
    }

    /// Decides whom the line concerns.
    pub fn found(&self) -> Found {
        match self.id {
            Some(id) if self.calls => Found::Request { id: id.to_owned() },
            // Lines of a log can have an id, too.
            Some(id) if self.answers || self.has_version => Found::Answer { id: id.to_owned() },
            _ => Found::Other,
        }
    }
}

/// Returns whether a value is the id of a request.
pub(super) fn is_id(value: &str) -> bool {
    let starts = value.starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit());
    starts && value.len() <= ID_BYTES && serde_json::from_str::<&RawValue>(value).is_ok()
}

/// Reads the members from the start of the first object, as far as they can be read.
pub(super) fn forward(text: &str) -> Members<'_> {
    let mut found = Members::default();
    let Some(start) = next_object(text, 0) else {
        return found;
    };
    let mut at = start + 1;
    loop {
        at = skip_blank(text, at);
        let Some(key_end) = string_end(text, at) else {
            return found;
        };
        let key = &text[at + 1..key_end - 1];
        at = skip_blank(text, key_end);
        if text.as_bytes().get(at) != Some(&b':') {
            return found;
        }
        at = skip_blank(text, at + 1);
        let end = value_end(text, at);
        found.add(key, end.map(|end| text[at..end].trim_end()));
        let Some(end) = end else { return found };
        at = skip_blank(text, end);
        if text.as_bytes().get(at) != Some(&b',') {
            return found;
        }
        at += 1;
    }
}

/// Reads the members from the end of the last object, as far as they can be read. If that object starts anywhere but at `first`,
/// it is a part of a message that breaks off, and has no member of the message.
pub(super) fn backward(text: &str, first: Option<usize>) -> Members<'_> {
    let mut found = Members::default();
    let Some(mut end) = text.rfind('}') else {
        return found;
    };
    loop {
        // The value, the colon and the key, from right to left.
        let value = text[..end].trim_end();
        let Some(start) = value_start(value) else {
            return found;
        };
        let Some(before) = text[..start].trim_end().strip_suffix(':') else {
            return found;
        };
        let before = before.trim_end();
        let Some(key_start) = string_start(before) else {
            return found;
        };
        found.add(&before[key_start + 1..before.len() - 1], Some(&value[start..]));
        let rest = before[..key_start].trim_end();
        if let Some(object) = rest.strip_suffix('{') {
            let is_first = first == Some(object.len());
            return if is_first { found } else { Members::default() };
        }
        let Some(rest) = rest.strip_suffix(',') else {
            return found;
        };
        end = rest.len();
    }
}

/// Returns the position after the object that starts at `start`; `None` if it does not end.
pub(super) fn object_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match bytes.get(at)? {
            b'"' => at = string_end(text, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

fn skip_blank(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + (rest.len() - rest.trim_ascii_start().len())
}

/// Returns the position after the string that starts at `at`.
fn string_end(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut end = (bytes.get(at) == Some(&b'"')).then_some(at + 1)?;
    loop {
        end += memchr::memchr2(b'"', b'\\', bytes.get(end..)?)?;
        if bytes[end] == b'"' {
            return Some(end + 1);
        }
        end += 2;
    }
}

/// Returns the position after the value that starts at `at`; `None` if it does not end.
fn value_end(text: &str, at: usize) -> Option<usize> {
    match text.as_bytes().get(at)? {
        b'"' => string_end(text, at),
        b'{' | b'[' => object_end(text, at),
        _ => {
            let length = text[at..].find([',', '}', ']'])?;
            Some(at + length)
        }
    }
}

/// Returns where the string that ends the text starts.
fn string_start(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut end = text.strip_suffix('"')?.len();
    loop {
        let at = memchr::memrchr(b'"', &bytes[..end])?;
        let backslashes = bytes[..at]
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count();
        if backslashes % 2 == 0 {
            return Some(at);
        }
        end = at;
    }
}

/// Returns where the value that ends the text starts.
fn value_start(text: &str) -> Option<usize> {
    match text.as_bytes().last()? {
        b'"' => string_start(text),
        b'}' | b']' => {
            let mut depth = 0_usize;
            let mut end = text.len();
            loop {
                match text.as_bytes()[..end].last()? {
                    b'"' => end = string_start(&text[..end])?,
                    b'}' | b']' => {
                        depth += 1;
                        end -= 1;
                    }
                    b'{' | b'[' => {
                        depth = depth.checked_sub(1)?;
                        end -= 1;
                    }
                    _ => end -= 1,
                }
                if depth == 0 {
                    return Some(end);
                }
            }
        }
        _ => {
            let start = text.rfind([':', ',', '{', '[', '"', '}', ']'])?;
            let value = &text[start + 1..];
            Some(start + 1 + (value.len() - value.trim_ascii_start().len()))
        }
    }
}

/// Returns the position of the next `{` before a key.
pub(super) fn next_object(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        at += memchr::memchr(b'{', bytes.get(at..)?)?;
        let next = bytes[at + 1..].iter().find(|byte| !byte.is_ascii_whitespace());
        if next == Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}
