//! Lines that are not clean messages.

use acpd_proto::wire::{Found, Message, read_ends, read_unclean};
use serde_json::value::RawValue;

use crate::Target;

/// One line of an agent or a client. Invariants: only messages are taken out of it; a clean line is itself; and a line whose
/// id can be read names it, whatever stands around it or is wrong with its other members.
pub const UNCLEAN_LINES: Target = Target {
    name: "unclean_lines",
    run: unclean,
    words: &[
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"m\",\"params\":[]}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}",
        "\"id\":",
        "\"error\":null",
        "\\ud83d",
        "\\\"",
        "\\\\",
        "\u{1b}]0;t\u{7}",
        "\u{1b}[0m",
        "\u{1b}",
        "\u{feff}",
        "\0",
        "{",
        "}",
        "[",
        "]",
        "\"",
        ",",
        ":",
        "1e999",
        "7",
        " ",
        "\t",
    ],
};

fn unclean(input: &[u8]) {
    if let Ok(mended) = read_unclean(input) {
        assert!(!mended.texts.is_empty(), "a mended line has a message");
        for text in &mended.texts {
            assert!(Message::parse(text).is_ok(), "only messages are taken: {text}");
        }
    }
    read_ends(input, input);
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let Ok(message) = Message::parse(text) else { return };
    is_itself(text, text);
    is_itself(text, &format!("\u{1b}]0;title\u{7}\u{1b}[32m{text}\u{1b}[0m\0"));
    is_itself(text, &format!("\u{feff}{text}"));
    let (Message::Request { id, .. } | Message::Response { id, .. }) = message else {
        return;
    };
    if is_plain(id) {
        keeps_its_id(text.trim(), id.get());
    }
}

/// A clean message is found alone and unchanged.
fn is_itself(text: &str, line: &str) {
    let found = read_unclean(line.as_bytes()).expect("a message is found");
    assert_eq!(found.texts, [text.trim()], "{line:?}");
}

/// A line that breaks off behind its id, or is wrong before it, names it. `value` is any JSON.
fn keeps_its_id(value: &str, id: &str) {
    let answer = Found::Answer { id: id.to_owned() };
    let request = Found::Request { id: id.to_owned() };
    for (line, expected) in [
        (
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{value} oops"#),
            &answer,
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","result":{value} oops,"id":{id}}}"#),
            &answer,
        ),
        (format!(r#"{{"id":{id},"method":"m","params":{value}]"#), &request),
        (
            format!(r#"{{"method":"m","params":{value}],"id": {id} }}"#),
            &request,
        ),
    ] {
        let found = read_unclean(line.as_bytes())
            .expect_err("it is not a message")
            .found;
        assert_eq!(&found, expected, "{line}");
        let (head, tail) = line.split_at(line.floor_char_boundary(line.len() / 2));
        let _ = read_ends(head.as_bytes(), tail.as_bytes());
    }
}

/// Returns whether an id is short text or a number.
fn is_plain(id: &RawValue) -> bool {
    let id = id.get();
    id.len() <= 256 && id.starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit())
}
