//! Sample events: one of each kind, and of each variant that surfaces encode differently.

use std::collections::BTreeSet;

use acpd_model::event::{Level, Outcome, QuestionTopic, TurnStatus};
use acpd_model::{Event, EventKind, ItemEnd, ItemOutcome, ItemStart, MessageType, Origin};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One sample.
pub struct Sample {
    /// The stored name of its kind.
    pub kind: String,
    /// The event.
    pub event: Event,
    /// The parsed line.
    json: Value,
}

/// Returns all samples. Panics unless each kind and each variant has one.
pub fn samples() -> Vec<Sample> {
    let lines = include_str!("../../../model/fixtures/events-v1.jsonl").lines();
    let samples: Vec<_> = lines.map(read).collect();
    demand::<EventKind>(&samples, "/kind");
    demand::<Origin>(&samples, "/by");
    demand::<ItemStart>(&samples, "/kind/itemStarted/start");
    demand::<MessageType>(&samples, "/kind/itemStarted/start/message/role");
    demand::<MessageType>(&samples, "/kind/itemDelta/role");
    demand::<MessageType>(&samples, "/kind/itemContent/role");
    demand::<ItemEnd>(&samples, "/kind/itemCompleted/end");
    demand::<ItemOutcome>(&samples, "/kind/itemCompleted/outcome");
    demand::<MessageType>(&samples, "/kind/itemCompleted/end/message/role");
    demand::<QuestionTopic>(&samples, "/kind/permissionRequested/about");
    demand::<Outcome>(&samples, "/kind/requestSettled/outcome");
    demand::<Level>(&samples, "/kind/noticeGiven/level");
    demand::<TurnStatus>(&samples, "/kind/turnSettled/status");
    samples
}

fn read(line: &str) -> Sample {
    let event = Event::decode(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
    let json: Value = serde_json::from_str(line).unwrap();
    let kind = variant(&json["kind"]).unwrap().to_owned();
    Sample { kind, event, json }
}

/// Panics unless the values at `pointer` cover every variant of `T`.
fn demand<T: DeserializeOwned>(samples: &[Sample], pointer: &str) {
    let mut missing = variants::<T>();
    for sample in samples {
        // Events of an agent have no `by`.
        let value = match (pointer, sample.json.pointer(pointer)) {
            ("/by", None) => Some("agent"),
            (_, value) => value.and_then(variant),
        };
        missing.remove(value.unwrap_or_default());
    }
    assert!(
        missing.is_empty(),
        "crates/model/fixtures/events-v1.jsonl has no event with these at {pointer}: {missing:?}"
    );
}

/// Returns the variant of a stored value.
fn variant(value: &Value) -> Option<&str> {
    match value {
        Value::Object(members) => members.keys().next().map(String::as_str),
        value => value.as_str(),
    }
}

/// Returns the stored names of an enum's variants, from the error of its deserializer.
fn variants<T: DeserializeOwned>() -> BTreeSet<String> {
    let Err(error) = serde_json::from_str::<T>(r#"{"none of them":{}}"#) else {
        panic!("not an enum");
    };
    let error = error.to_string();
    let (_, names) = error.split_once("expected ").unwrap();
    let names = names.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}
