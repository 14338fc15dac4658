//! JSON with comments and trailing commas, as editors write their settings: read with the places of its objects.
//!
//! In: text. Out: the value, and where objects and their members are; or the line and the reason of an error. Never:
//! recurses without a limit, or accepts what an editor would not.

pub mod edit;

use std::ops::Range;

use serde_json::Value;

/// Depth of values inside each other.
const DEPTH: usize = 128;

/// An error of a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct JsoncError {
    line: usize,
    reason: String,
}

/// A value with its place in the text.
#[derive(Debug, Clone)]
pub struct Node {
    /// The bytes of the value.
    pub span: Range<usize>,
    /// Whether a comma follows the last member.
    pub has_trailing_comma: bool,
    /// The end of the last value, comma or comment before the closing brace; that of the opening brace if there is none.
    pub content_end: usize,
    content: Content,
}

/// A value, or the members of which it is made: a copy in each object around it would make deep texts large.
#[derive(Debug, Clone)]
enum Content {
    Object(Vec<Member>),
    Other(Value),
}

/// A member of an object.
#[derive(Debug, Clone)]
pub struct Member {
    /// The decoded key.
    pub key: String,
    /// Where the key begins.
    pub start: usize,
    /// The value.
    pub node: Node,
}

impl Node {
    /// Returns the members with their places; none if it is not an object.
    pub fn members(&self) -> &[Member] {
        match &self.content {
            Content::Object(members) => members,
            Content::Other(_) => &[],
        }
    }

    /// Returns whether it is an object.
    pub fn is_object(&self) -> bool {
        matches!(self.content, Content::Object(_))
    }

    /// Returns the value. Of a key that is there twice, the last one counts.
    pub fn into_value(self) -> Value {
        match self.content {
            Content::Object(members) => {
                let members = members.into_iter();
                let values = members.map(|member| (member.key, member.node.into_value()));
                Value::Object(values.collect())
            }
            Content::Other(value) => value,
        }
    }

    /// Returns the member of this key. Fails if there are several.
    pub fn member(&self, key: &str, text: &str) -> Result<Option<&Member>, JsoncError> {
        let mut found = self.members().iter().filter(|member| member.key == key);
        let first = found.next();
        match found.next() {
            None => Ok(first),
            Some(second) => Err(error_at(text, second.start, format!("{key:?} is there twice"))),
        }
    }
}

/// Returns an error at a place of the text.
fn error_at(text: &str, at: usize, reason: impl Into<String>) -> JsoncError {
    let before = text.get(..at).unwrap_or(text);
    JsoncError {
        line: before.matches('\n').count() + 1,
        reason: reason.into(),
    }
}

/// Parses a text. Returns `None` if it has no value, only whitespace and comments.
pub fn parse(text: &str) -> Result<Option<Node>, JsoncError> {
    let mut parser = Parser {
        text,
        at: if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        },
        content_end: 0,
    };
    parser.skip()?;
    if parser.peek().is_none() {
        return Ok(None);
    }
    let node = parser.value(0)?;
    parser.skip()?;
    match parser.peek() {
        None => Ok(Some(node)),
        Some(_) => Err(parser.error("the value ends before this")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// The end of the last token or comment.
    content_end: usize,
}

impl Parser<'_> {
    fn error(&self, reason: impl Into<String>) -> JsoncError {
        error_at(self.text, self.at, reason)
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Moves past a token.
    fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        self.content_end = self.at;
    }

    /// Moves past whitespace and comments.
    fn skip(&mut self) -> Result<(), JsoncError> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.at += blank;
            let rest = self.rest();
            if rest.starts_with("//") {
                let end = rest.find('\n').unwrap_or(rest.len());
                let end = rest[..end].trim_end_matches('\r').len();
                self.advance(end);
            } else if rest.starts_with("/*") {
                let Some(end) = rest.find("*/") else {
                    return Err(self.error("this comment does not end"));
                };
                self.advance(end + 2);
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, JsoncError> {
        if depth > DEPTH {
            return Err(self.error(format!("values are nested more than {DEPTH} deep")));
        }
        match self.peek() {
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some('"') => {
                let start = self.at;
                let text = self.string()?;
                Ok(self.leaf(start, Value::String(text)))
            }
            Some(_) => self.scalar(),
            None => Err(self.error("a value is missing")),
        }
    }

    fn leaf(&self, start: usize, value: Value) -> Node {
        Node {
            span: start..self.at,
            has_trailing_comma: false,
            content_end: self.at,
            content: Content::Other(value),
        }
    }

    fn string(&mut self) -> Result<String, JsoncError> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let mut end = 1;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(b'\n') | None => return Err(self.error("this text in quotes does not end on its line")),
                Some(_) => end += 1,
            }
        }
        let token = rest
            .get(..=end)
            .ok_or_else(|| self.error("this text in quotes is wrong"))?;
        let text = serde_json::from_str(token).map_err(|_| self.error("this text in quotes is wrong"))?;
        let length = token.len();
        self.advance(length);
        Ok(text)
    }

    fn scalar(&mut self) -> Result<Node, JsoncError> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let value = serde_json::from_str(&rest[..length]);
        let value: Value = value.map_err(|_| self.error("this is not a value"))?;
        let start = self.at;
        self.advance(length);
        Ok(self.leaf(start, value))
    }

    fn array(&mut self, depth: usize) -> Result<Node, JsoncError> {
        let start = self.at;
        self.advance(1);
        let mut values = Vec::new();
        loop {
            self.skip()?;
            if self.peek() == Some(']') {
                break;
            }
            values.push(self.value(depth + 1)?.into_value());
            self.skip()?;
            match self.peek() {
                Some(',') => self.advance(1),
                Some(']') => break,
                _ => return Err(self.error("a comma or \"]\" is missing")),
            }
        }
        self.advance(1);
        Ok(self.leaf(start, Value::Array(values)))
    }

    fn object(&mut self, depth: usize) -> Result<Node, JsoncError> {
        let start = self.at;
        self.advance(1);
        let mut members: Vec<Member> = Vec::new();
        let mut has_trailing_comma = false;
        loop {
            self.skip()?;
            match self.peek() {
                Some('}') => break,
                Some('"') if members.is_empty() || has_trailing_comma => {}
                Some('"') => return Err(self.error("a comma is missing")),
                _ => return Err(self.error("a key in quotes or \"}\" is missing")),
            }
            let key_start = self.at;
            let key = self.string()?;
            self.skip()?;
            if self.peek() != Some(':') {
                return Err(self.error("a colon is missing"));
            }
            self.advance(1);
            self.skip()?;
            let node = self.value(depth + 1)?;
            members.push(Member {
                key,
                start: key_start,
                node,
            });
            self.skip()?;
            has_trailing_comma = self.peek() == Some(',');
            if has_trailing_comma {
                self.advance(1);
            }
        }
        let content_end = self.content_end;
        self.advance(1);
        Ok(Node {
            span: start..self.at,
            has_trailing_comma,
            content_end,
            content: Content::Object(members),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_read() {
        let text = "\u{feff}// first\n{ /* a */ \"a\": [1, 2.5e3, null,], // b\n  \"b\\n\\\"\": { \"//\": \"/* no */\", }, }\n// end";
        let node = parse(text).unwrap().unwrap();
        assert!(node.has_trailing_comma);
        assert_eq!(
            node.into_value(),
            json!({ "a": [1, 2500.0, null], "b\n\"": { "//": "/* no */" } })
        );
        assert_eq!(
            parse(" // only\r\n /* this */ ").map(|node| node.is_none()),
            Ok(true)
        );
        assert_eq!(parse("").map(|node| node.is_none()), Ok(true));
    }

    #[test]
    fn invalid_settings_are_refused_with_their_line() {
        for (text, expected) in [
            ("{\n  a: 1 }", "line 2: a key in quotes or \"}\" is missing"),
            ("{ \"a\" 1 }", "line 1: a colon is missing"),
            ("{ \"a\": 1 \"b\": 2 }", "line 1: a comma is missing"),
            ("{ \"a\": 1", "line 1: a key in quotes or \"}\" is missing"),
            ("{ \"a\": ", "line 1: a value is missing"),
            ("{ \"a\": nul }", "line 1: this is not a value"),
            ("{ \"a\": 'x' }", "line 1: this is not a value"),
            (
                "{ \"a\": \"x\n\" }",
                "line 1: this text in quotes does not end on its line",
            ),
            ("{ \"a\": \"\\q\" }", "line 1: this text in quotes is wrong"),
            (
                "{ \"a\": \"\\",
                "line 1: this text in quotes does not end on its line",
            ),
            ("[1 2]", "line 1: a comma or \"]\" is missing"),
            ("{} {}", "line 1: the value ends before this"),
            ("/* {}", "line 1: this comment does not end"),
            ("{,}", "line 1: a key in quotes or \"}\" is missing"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), expected, "{text}");
        }
        let deep = "[".repeat(100_000);
        assert!(parse(&deep).unwrap_err().to_string().contains("128 deep"));
    }

    #[test]
    fn no_beginning_of_a_text_panics() {
        let text = "{ \"é\\u00e9\": [true, \"\\\\\"], /* é */ \"b\": {\"c\": -1.5,}, } // ü";
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let _ = parse(&text[..at]);
        }
        assert!(parse(text).is_ok());
    }

    #[test]
    fn a_key_that_is_there_twice_is_ambiguous() {
        let text = "{ \"a\": 1,\n\"a\": 2 }";
        let node = parse(text).unwrap().unwrap();
        assert_eq!(
            node.member("a", text).unwrap_err().to_string(),
            "line 2: \"a\" is there twice"
        );
        assert!(node.member("b", text).unwrap().is_none());
    }
}
