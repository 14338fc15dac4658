//! JSON that acpd passes on unchanged.

use acpd_model::json::{readable, well_formed};
use acpd_model::{Event, EventKind, ItemEvent, ItemId, MessageType, Origin, RawJson};
use acpd_proto::agent::with_session;
use acpd_proto::trace_context::TraceContext;
use acpd_proto::wire::{Message, members, repeated_key};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Target;

/// One JSON text. Invariant: it stays byte-identical in an event, in an envelope, and in an object that changed
/// elsewhere.
pub const PASS_THROUGH: Target = Target {
    name: "json_pass_through",
    run: pass_through,
    words: &[
        "{\"a\":1,\"a\":2}",
        "{\"sessionId\":\"s\"}",
        "\"session\\u0049d\":",
        "\"_meta\":{}",
        "{\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\",\"tracestate\":\"a=b\"}",
        "123456789012345678901234567890",
        "1e400",
        "-0.0",
        "\\ud83d\\ude00",
        "\\ud800",
        "\u{feff}",
        " \t\r\n",
        "[",
        "]",
        "{",
        "}",
        "\"",
        ":",
        ",",
        "null",
        "true",
        "\u{1e}",
        "\u{2028}",
    ],
};

fn pass_through(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let Ok(json) = RawJson::parse(text.as_ref()) else {
        assert!(
            serde_json::from_str::<&RawValue>(&text).is_err(),
            "refused although it is JSON"
        );
        return;
    };
    assert_eq!(
        json.get(),
        text.trim_matches([' ', '\t', '\r', '\n']),
        "a value is kept as it was written"
    );
    is_readable(&json);
    survives_the_log(&json);
    survives_an_envelope(&json);
    survives_a_change(&json);
    takes_a_trace_context(&json);
}

/// All JSON can be read, and what serde reads as it is means the same.
fn is_readable(json: &RawJson) {
    let value: Value = json.read().expect("all JSON can be read");
    let plain = readable(json.get());
    if let Ok(before) = serde_json::from_str::<Value>(json.get()) {
        assert_eq!(before, value);
    } else {
        assert!(plain.is_some(), "what cannot be read is replaced");
    }
    let formed = well_formed(json.get());
    RawJson::parse(formed.as_ref()).expect("it is still JSON");
    assert_eq!(well_formed(&formed), formed);
}

/// As `_meta` of a prompt.
fn takes_a_trace_context(json: &RawJson) {
    let read = TraceContext::in_meta(json);
    let context = read.unwrap_or(TraceContext {
        trace: [1; 16],
        span: [2; 8],
        sampled: true,
        state: None,
    });
    let put = context.put_into(Some(json));
    if json.get().starts_with('{') {
        let again = TraceContext::in_meta(&put).expect("it was put there");
        assert_eq!(again, context);
    }
}

fn survives_the_log(json: &RawJson) {
    let event = Event {
        seq: 1,
        at: 1,
        turn: None,
        by: Origin::Agent,
        kind: EventKind::Item(ItemEvent::Content {
            item: ItemId(1),
            role: MessageType::AgentMessage,
            block: json.clone(),
        }),
        raw: Some(json.clone()),
        raw_params: None,
        repeats_id: false,
        translated: false,
        lane: None,
    };
    let mut written = Vec::new();
    event.encode(&mut written).expect("an event can be written");
    let read = Event::decode(&written).expect("what was written can be read");
    assert_eq!(read.raw.as_ref().map(RawJson::get), Some(json.get()));
    assert_eq!(read, event);
}

fn survives_an_envelope(json: &RawJson) {
    let mut line = Vec::new();
    acpd_proto::wire::request_with(&mut line, 7, "x", Some(json));
    let line = String::from_utf8(line).expect("a line is UTF-8");
    let Ok(Message::Request { params, .. }) = Message::parse(&line) else {
        panic!("a request is read as one");
    };
    assert_eq!(params.map(RawValue::get), Some(json.get()));
}

fn survives_a_change(json: &RawJson) {
    let mut found = Vec::new();
    members(json, |key, value| found.push((key, value)));
    let is_object = serde_json::from_str::<serde_json::Map<String, Value>>(json.get());
    let Ok(object) = is_object else {
        return;
    };
    for (_, value) in &found {
        assert!(
            serde_json::from_str::<&RawValue>(value).is_ok(),
            "a member is a value"
        );
    }
    if repeated_key(json).is_none() {
        assert_eq!(found.len(), object.len(), "each member is found once");
    }
    let name = |key: &str| serde_json::from_str::<String>(&format!("\"{key}\"")).unwrap_or_default();
    let changed = with_session(json, "another");
    let mut now = Vec::new();
    members(&changed, |key, value| now.push((key, value)));
    assert_eq!(now.len(), found.len(), "nothing is added");
    for (before, after) in found.iter().zip(&now) {
        let is_session = name(before.0) == "sessionId" && after.1 == "\"another\"";
        assert!(is_session || before == after, "{before:?} became {after:?}");
    }
    let has_session = object.get("sessionId").is_some_and(Value::is_string);
    if has_session && repeated_key(json).is_none() {
        assert_eq!(
            changed.read::<Value>().expect("an object stays one")["sessionId"],
            "another"
        );
    }
}
