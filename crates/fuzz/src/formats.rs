//! Files of other programs: settings of editors, and certificates.

use acpd_formats::certificate::{not_after, not_after_of_der};
use acpd_formats::jsonc::edit::{Entry, get, set};
use acpd_formats::jsonc::{JsoncError, Node, parse};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::civil::date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::Target;

/// Settings of an editor. Invariants: JSON means what it means without comments, each place is that of its value, and an
/// entry comes in without another change. It is there afterwards, and a second time changes nothing.
pub const SETTINGS: Target = Target {
    name: "settings",
    run: settings,
    words: &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "//",
        "/*",
        "*/",
        "\n",
        "\r\n",
        "\r",
        "\t",
        "\u{feff}",
        "\\",
        "\\u0061",
        "\"servers\"",
        "\"acpd\": {}",
        "\"servers\": {\"acpd\": {\"command\": 1}},",
        "1e999",
        "null",
        "é",
    ],
};

fn settings(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let read = parse(&text);
    if let Ok(value) = serde_json::from_str::<Value>(&text) {
        let node = read.clone().expect("JSON is JSON with comments");
        let node = node.expect("JSON has a value");
        assert_eq!(node.into_value(), value);
    }
    if let Ok(Some(node)) = &read {
        places(&text, node);
    }
    takes_an_entry(&text, read);
}

/// Checks that the value at each place is the one that was read there.
fn places(text: &str, node: &Node) {
    let slice = text
        .get(node.span.clone())
        .expect("a value is a part of the text");
    let again = parse(slice).expect("a value can be read alone");
    let again = again.expect("it is not a comment").into_value();
    assert_eq!(again, node.clone().into_value());
    let mut before = node.span.start;
    for member in node.members() {
        assert!(member.start > before, "members are in order");
        let key = &text[member.start..member.node.span.start];
        assert!(key.starts_with('"') && key.contains(':'), "{key:?}");
        places(text, &member.node);
        before = member.node.span.end;
    }
    if node.is_object() {
        assert!(before <= node.content_end && node.content_end < node.span.end);
        let rest = &text[node.content_end..node.span.end];
        assert_eq!(rest.trim_matches(BLANK), "}");
    }
}

const PATH: [&str; 2] = ["servers", "acpd"];
const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];

/// Checks what [`set`] makes of a text. `read` is what the text means.
fn takes_an_entry(text: &str, read: Result<Option<Node>, JsoncError>) {
    let entry: Entry = vec![("command", json!("acpd")), ("args", json!(["acp"]))];
    let Ok(changed) = set(text, &PATH, &entry) else {
        let Ok(root) = read else { return };
        let root = root.expect("a text without a value takes an entry");
        let is_free = root.is_object() && root.members().iter().all(|member| member.key != PATH[0]);
        assert!(!is_free, "an object without servers takes an entry");
        return;
    };
    let read = read.expect("a text that cannot be read stays as it is");
    let now = get(&changed, &PATH)
        .expect("the changed text can be read")
        .expect("the entry is there");
    for (key, value) in &entry {
        assert_eq!(now[key], *value);
    }
    assert_eq!(set(&changed, &PATH, &entry).as_deref(), Ok(&*changed));
    let is_blank = text.trim_start_matches('\u{feff}').trim_matches(BLANK).is_empty();
    if matches!(get(text, &PATH), Ok(None)) && !is_blank {
        assert!(is_part(text, &changed), "everything that was there still is");
    }
    if let Some(root) = read {
        let mut others = parse(&changed).unwrap().unwrap().into_value();
        let mut before = root.into_value();
        for value in [&mut others, &mut before] {
            let object = value.as_object_mut().unwrap();
            if let Some(servers) = object.get_mut(PATH[0]).and_then(Value::as_object_mut) {
                servers.remove(PATH[1]);
                // It may have been made for the entry.
                if servers.is_empty() {
                    object.remove(PATH[0]);
                }
            }
        }
        assert_eq!(others, before, "another entry changed");
    }
}

/// Returns whether `whole` has all characters of `part` in this order. The whitespace before a closing brace may change.
fn is_part(part: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    part.chars()
        .filter(|one| !BLANK.contains(one))
        .all(|one| rest.any(|other| other == one))
}

/// A certificate, as PEM or as DER. Invariants: an end is a time that certificates can express, it is the same in both forms
/// and whatever follows, and no part of a certificate has another one.
pub const CERTIFICATES: Target = Target {
    name: "certificates",
    run: certificates,
    words: &[
        "\u{17}\r301231235959Z",
        "\u{17}\r500101000000Z",
        "\u{18}\u{f}20500101000000Z",
        "\u{18}\u{10}-20500101000000Z",
        "\u{17}\r+01231235959Z",
        "\u{18}\u{f}99991231235960Z",
        "-----BEGIN CERTIFICATE-----\n",
        "-----END CERTIFICATE-----\n",
        "0\u{0}",
        "\u{2}\u{1}\u{0}",
        "Z",
    ],
};

fn certificates(input: &[u8]) {
    let bounds = (date(0, 1, 1), date(9999, 12, 31));
    if let Some(end) = not_after(input) {
        let day = end.to_zoned(TimeZone::UTC).date();
        assert!(bounds.0 <= day && day <= bounds.1, "{end}");
    }
    let Some(end) = not_after_of_der(input) else {
        return;
    };
    let day = end.to_zoned(TimeZone::UTC).date();
    assert!(bounds.0 <= day && day <= bounds.1, "{end}");
    let more = [input, b"more"].concat();
    assert_eq!(not_after_of_der(&more), Some(end));
    for length in 0..input.len() {
        let part = not_after_of_der(&input[..length]);
        assert!(part.is_none_or(|found| found == end), "{length}");
    }
    let pem = format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        STANDARD.encode(input)
    );
    assert_eq!(not_after(pem.as_bytes()), Some(end));
}
