//! Lines that are not clean messages: what can be used of them, and whom they concern.
//!
//! In: a line that [`Message::parse`] refused. Out: the messages in it, or the id and the method that can still be read. Never:
//! runs for a clean line.
//!
//! Launchers, hooks and terminals add text, control sequences, a byte order mark or NUL bytes to a message. Programs cut
//! characters in half, or write two messages at once. All of that is read: a request whose answer was thrown away would wait
//! for ever.

use std::borrow::Cow;

use acpd_model::Failure;
use serde_json::value::RawValue;

use super::controls::without_controls;
use super::scan::{Found, backward, forward, next_object, object_end};
use super::{Malformed, Message, RpcError};

/// What was wrong with a line whose messages can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// It has bytes that are not UTF-8.
    Encoding,
    /// It has control characters or terminal control sequences, or a byte order mark.
    Controls,
    /// It has other text beside the message.
    Surrounded,
    /// It has several messages.
    Several,
}

impl Flaw {
    /// Describes the line, as the end of a sentence that begins with "the agent wrote".
    pub fn words(self) -> &'static str {
        match self {
            Self::Encoding => "a message with bytes that are not UTF-8",
            Self::Controls => "control characters around or inside a message",
            Self::Surrounded => "other text on the line of a message",
            Self::Several => "several messages on one line",
        }
    }
}

/// The messages of a line that is not clean. Each is one that [`Message::parse`] accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// The messages, in their order.
    pub texts: Vec<String>,
    /// What was wrong.
    pub flaw: Flaw,
}

/// A line without a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Why it is not a message, for people.
    pub reason: String,
    /// Whether the line is valid JSON.
    pub is_json: bool,
    /// What can still be read of it.
    pub found: Found,
}

impl Unreadable {
    /// A line that is too long to be kept, of which these ends are left.
    pub fn too_long(head: &[u8], tail: &[u8]) -> Self {
        Self {
            reason: "longer than the limit".to_owned(),
            is_json: false,
            found: read_ends(head, tail),
        }
    }

    /// Returns the failure of a request on this line.
    pub fn failure(&self) -> Failure {
        Failure::from(Malformed {
            reason: format!("the message cannot be read: {}", self.reason),
            is_json: self.is_json,
        })
    }

    /// Returns the error for a request on this line.
    pub fn error(&self) -> RpcError {
        RpcError::from(&self.failure())
    }

    /// Returns the id for an error about this line: that of its request, else `null`.
    pub fn request_id(&self) -> &str {
        match &self.found {
            Found::Request { id } => id,
            Found::Answer { .. } | Found::Other => "null",
        }
    }
}

/// The reason of lines in UTF-16.
pub const UTF_16: &str = "UTF-16, and ACP is UTF-8";

/// Reads a line that is not a clean message.
pub fn read_unclean(line: &[u8]) -> Result<Mended, Unreadable> {
    let text = String::from_utf8_lossy(line);
    if is_utf_16(line) {
        let ascii: String = text.chars().filter(|c| *c != '\0').collect();
        return Err(Unreadable {
            reason: UTF_16.to_owned(),
            is_json: false,
            found: found_in(&ascii),
        });
    }
    let encoding = matches!(text, Cow::Owned(_)).then_some(Flaw::Encoding);
    if encoding.is_some() && is_message(&text) {
        let texts = vec![text.into_owned()];
        return Ok(Mended {
            texts,
            flaw: Flaw::Encoding,
        });
    }
    let plain = without_controls(&text);
    let controls = matches!(plain, Cow::Owned(_)).then_some(Flaw::Controls);
    let readable = || acpd_model::json::readable(&plain);
    let found = messages(&plain).or_else(|| messages(&readable()?));
    if let Some((texts, flaw)) = found {
        let flaw = controls.or(encoding).unwrap_or(flaw);
        return Ok(Mended { texts, flaw });
    }
    Err(unreadable(&text, &plain))
}

/// Reads a message of a client that is not clean. Unlike an agent, a client gets no list of requests carried out: it would
/// expect a list of responses.
pub fn read_unclean_message(text: &str) -> Result<Mended, Unreadable> {
    if text.trim_start().starts_with('[') {
        let is_json = serde_json::from_str::<&RawValue>(text).is_ok();
        return Err(Unreadable {
            reason: if is_json {
                "batches are not supported"
            } else {
                "not JSON"
            }
            .to_owned(),
            is_json,
            found: Found::Other,
        });
    }
    read_unclean(text.as_bytes())
}

/// Reads the ends of a line that is too long to be kept.
pub fn read_ends(head: &[u8], tail: &[u8]) -> Found {
    let head = String::from_utf8_lossy(head);
    let tail = String::from_utf8_lossy(tail);
    forward(&without_controls(&head))
        .and(&backward(&tail, None))
        .found()
}

fn unreadable(text: &str, plain: &str) -> Unreadable {
    let failed = Message::parse(text).err();
    let is_json = failed.as_ref().is_some_and(|failed| failed.is_json);
    // The parser's own words name a column of a line that the user does not see.
    let reason = failed
        .filter(|failed| failed.is_json)
        .map_or_else(|| "not JSON".to_owned(), |failed| failed.reason);
    let reason = if text.contains('\u{fffd}') && !is_json {
        "not JSON, or not UTF-8".to_owned()
    } else {
        reason
    };
    Unreadable {
        reason,
        is_json,
        found: found_in(plain),
    }
}

fn found_in(text: &str) -> Found {
    forward(text).and(&backward(text, next_object(text, 0))).found()
}

fn is_message(text: &str) -> bool {
    Message::parse(text).is_ok()
}

/// Returns the messages in a text, whatever surrounds them.
fn messages(text: &str) -> Option<(Vec<String>, Flaw)> {
    let text = text.trim();
    if is_message(text) {
        return Some((vec![text.to_owned()], Flaw::Surrounded));
    }
    let mut texts = Vec::new();
    let mut at = 0;
    while let Some(start) = next_object(text, at) {
        // An object that does not end is the message that cannot be read; an object in it would be another one.
        let Some(end) = object_end(text, start) else { break };
        let object = &text[start..end];
        if has_version(object) && is_message(object) {
            texts.push(object.to_owned());
        }
        at = end;
    }
    let flaw = if texts.len() > 1 {
        Flaw::Several
    } else {
        Flaw::Surrounded
    };
    (!texts.is_empty()).then_some((texts, flaw))
}

/// Returns whether a text between other text says that it is JSON-RPC. Lines of a log may look like messages otherwise.
fn has_version(object: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Version<'a> {
        #[serde(borrow)]
        jsonrpc: Option<&'a RawValue>,
    }
    serde_json::from_str::<Version<'_>>(object).is_ok_and(|version| version.jsonrpc.is_some())
}

/// Returns whether a line seems to be UTF-16: it begins with its byte order mark, or nearly every other byte is NUL.
fn is_utf_16(line: &[u8]) -> bool {
    if line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff") {
        return true;
    }
    let start = &line[..line.len().min(64)];
    let nul_at = |parity: usize| {
        let nul = |(at, byte): &(usize, &u8)| at % 2 == parity && **byte == 0;
        start.iter().enumerate().filter(nul).count()
    };
    start.len() >= 8 && nul_at(0).max(nul_at(1)) * 8 >= start.len() * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#;
    const CALL: &str = r#"{"jsonrpc":"2.0","id":"a","method":"fs/read_text_file","params":{}}"#;

    fn mended(line: impl AsRef<[u8]>) -> (Vec<String>, Flaw) {
        let line = line.as_ref();
        let Mended { texts, flaw } =
            read_unclean(line).unwrap_or_else(|error| panic!("{}: {error:?}", String::from_utf8_lossy(line)));
        (texts, flaw)
    }

    #[test]
    fn text_around_a_message_is_left_out() {
        for (line, flaw) in [
            (format!("\u{1b}]0;agent\u{7}{ANSWER}"), Flaw::Controls),
            (
                format!("\u{1b}]0;{{\"a\":{{\u{1b}\\{ANSWER}\u{1b}[0m"),
                Flaw::Controls,
            ),
            (
                format!("\u{1b}[1;32m{ANSWER}\u{1b}[0m\u{1b}[?25h"),
                Flaw::Controls,
            ),
            (format!("\u{feff}{ANSWER}"), Flaw::Controls),
            (format!("\0\0{ANSWER}\0"), Flaw::Controls),
            (format!("\r{ANSWER}\r\r"), Flaw::Surrounded),
            (
                format!("DEBUG it's 5\" {{x}} {{}}: {ANSWER} (sent)"),
                Flaw::Surrounded,
            ),
            (format!("[{ANSWER}]"), Flaw::Surrounded),
        ] {
            assert_eq!(mended(&line), (vec![ANSWER.to_owned()], flaw), "{line:?}");
        }
        let inside = ANSWER.replace("{\"stop", "\u{1b}[36m{\u{1b}[0m\"stop");
        assert_eq!(mended(inside), (vec![ANSWER.to_owned()], Flaw::Controls));
        let tab = ANSWER.replace("end_turn", "end\u{1b}[0m\tturn");
        let expected = ANSWER.replace("end_turn", "end\\u001b[0m\\u0009turn");
        assert_eq!(mended(tab), (vec![expected], Flaw::Controls));
    }

    #[test]
    fn several_messages_are_several() {
        let both = vec![ANSWER.to_owned(), CALL.to_owned()];
        for line in [
            format!("{ANSWER}{CALL}"),
            format!("{ANSWER} {CALL}"),
            format!("[{ANSWER},{CALL}]"),
            format!("a {ANSWER} {{\"level\":\"info\"}} {CALL} b"),
        ] {
            assert_eq!(mended(&line), (both.clone(), Flaw::Several), "{line}");
        }
    }

    #[test]
    fn invalid_utf_8_is_replaced() {
        let line = b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"x\":\"\xff\xed\xa0\xbd\"}}";
        let (texts, flaw) = mended(line);
        assert_eq!(
            texts,
            ["{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"x\":\"\u{fffd}\u{fffd}\u{fffd}\u{fffd}\"}}"]
        );
        assert_eq!(flaw, Flaw::Encoding);
        let (texts, _) = mended(r#"{"jsonrpc":"2.0","method":"a\ud83d"}"#);
        assert_eq!(texts, [r#"{"jsonrpc":"2.0","method":"a\ufffd"}"#]);
    }

    #[test]
    fn a_line_without_a_message_still_names_its_request() {
        let answer = |id: &str| Found::Answer { id: id.to_owned() };
        let request = |id: &str| Found::Request { id: id.to_owned() };
        for (line, found) in [
            (r#"{"jsonrpc":"2.0","id":3,"result":{"a":]}}"#, answer("3")),
            (r#"{"jsonrpc":"2.0","result":{"a":]},"id":3}"#, answer("3")),
            (
                r#"{"result":{"text":"a "quoted" word, \"id\":9}"},"id" : "x" }"#,
                answer("\"x\""),
            ),
            (r#"{"jsonrpc":"2.0","id":3,"result":{"stopR"#, answer("3")),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"fs/read_text_file","params":{"pa"#,
                request("7"),
            ),
            (
                r#"{"id":7,"params":{"a":'x'},"method":"fs/read_text_file"}"#,
                request("7"),
            ),
            (r#"{"id":1,"method":"a","method":"b"}"#, request("1")),
            (r#"{"id":7,"method":5}"#, request("7")),
            (
                r#"{"jsonrpc":"2.0","method":"session/update","params":{"id":5"#,
                Found::Other,
            ),
            (
                r#"{"jsonrpc":"2.0","method":"session/update","params":{"update":{"id":5}"#,
                Found::Other,
            ),
            (
                r#"{"jsonrpc":"2.0","result":{"t":"5" long"},"id":3}"#,
                answer("3"),
            ),
            (r#"{"level":"info","id":3,"msg":"x"}"#, Found::Other),
            (r#"{"a":{"jsonrpc":"2.0","id":0,"result":{}}}"#, Found::Other),
            ("Loading…", Found::Other),
            ("{", Found::Other),
            ("", Found::Other),
        ] {
            assert_eq!(read_unclean(line.as_bytes()).unwrap_err().found, found, "{line}");
        }
    }

    #[test]
    fn the_ends_of_a_long_line_name_its_request() {
        let answer = |id: &str| Found::Answer { id: id.to_owned() };
        for (head, tail, found) in [
            (
                r#"{"jsonrpc":"2.0","id":3,"result":{"a":"xx"#,
                r#"xx \"id\":9"}}"#,
                answer("3"),
            ),
            (
                r#"{"jsonrpc":"2.0","result":{"a":"xx"#,
                r#"xx","b":[{"id":9}]},"id":3}"#,
                answer("3"),
            ),
            (
                r#"{"params":{"a":"xx"#,
                r#"xx"},"method":"a","id":"q"}"#,
                Found::Request { id: "\"q\"".into() },
            ),
            (
                r#"{"jsonrpc":"2.0","method":"session/update","params":{"a":"xx"#,
                r#"xx","b":{"c":[],"id":9}}}"#,
                Found::Other,
            ),
            ("xxxxxxxx", "xxxxxxx", Found::Other),
        ] {
            assert_eq!(
                read_ends(head.as_bytes(), tail.as_bytes()),
                found,
                "{head}…{tail}"
            );
        }
    }

    #[test]
    fn utf_16_is_named() {
        for big in [false, true] {
            for mark in ["", "\u{feff}"] {
                let units = format!("{mark}{ANSWER}").encode_utf16().collect::<Vec<_>>();
                let bytes = |unit: u16| {
                    if big {
                        unit.to_be_bytes()
                    } else {
                        unit.to_le_bytes()
                    }
                };
                let line: Vec<u8> = units.into_iter().flat_map(bytes).collect();
                let failed = read_unclean(&line).unwrap_err();
                assert_eq!(failed.reason, UTF_16);
                assert_eq!(failed.found, Found::Answer { id: "3".into() });
                // The second byte of a line feed begins the next line.
                let next = read_unclean(&[b"\0", &line[..]].concat()).unwrap_err();
                assert_eq!(next.reason, UTF_16);
            }
        }
    }
}
