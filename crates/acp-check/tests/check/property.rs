//! The evaluator and the `jsonschema` crate agree about what agents and clients wrote, and about changes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use acpd_acp_check::{Schema, Version};
use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Definitions beside those of methods.
const PARTS: [&str; 11] = [
    "AuthMethod",
    "CancelRequestNotification",
    "ContentBlock",
    "ElicitationSchema",
    "Error",
    "McpServer",
    "RequestPermissionOutcome",
    "SessionConfigOption",
    "SessionUpdate",
    "StateUpdate",
    "ToolCallContent",
];

/// Both judges of one definition.
struct Judged {
    version: Version,
    name: String,
    validator: Validator,
}

static OURS: LazyLock<BTreeMap<Version, Schema>> =
    LazyLock::new(|| Version::ALL.map(|version| (version, Schema::of(version))).into());

static JUDGED: LazyLock<Vec<Judged>> = LazyLock::new(|| {
    let mut judged = Vec::new();
    for version in Version::ALL {
        let whole = published(version);
        for (name, definition) in whole["$defs"].as_object().unwrap() {
            if definition.get("x-method").is_none() && !PARTS.contains(&name.as_str()) {
                continue;
            }
            let part = json!({ "$defs": whole["$defs"], "$ref": format!("#/$defs/{name}") });
            judged.push(Judged {
                version,
                name: name.clone(),
                validator: jsonschema::draft202012::new(&part).unwrap(),
            });
        }
    }
    judged
});

/// Params and results of the recorded conversations, and updates of version 2.
static SAMPLES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let mut samples = vec![
        json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn" }),
        json!({ "sessionUpdate": "agent_message", "messageId": "m", "content": [{ "type": "text", "text": "x" }] }),
        json!({ "sessionUpdate": "terminal_update", "terminalId": "t", "size": { "cols": 80, "rows": 24 } }),
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [{ "type": "diff", "changes": [
            { "operation": "move", "oldPath": "/a", "path": "/b" }
        ] }] }),
        json!({ "mode": "form", "message": "m", "sessionId": "s", "requestedSchema": {
            "type": "object", "properties": { "a": { "type": "string", "minLength": 1 } }
        } }),
        json!({ "protocolVersion": 2, "info": { "name": "a", "version": "1" }, "capabilities": { "session": {} } }),
        json!({ "code": -32022, "message": "m", "data": { "requested": 0, "supported": [1, 2] } }),
        json!({ "requestId": 1.5 }),
    ];
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/transcripts");
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    files.sort();
    let mut known = BTreeSet::new();
    for file in files {
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let Ok(line) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            for part in ["/msg/params", "/msg/result", "/msg/error", "/msg/params/update"] {
                if let Some(value) = line.pointer(part)
                    && known.insert(value.to_string())
                {
                    samples.push(value.clone());
                }
            }
        }
    }
    samples
});

/// Values that take the place of others, and names of members.
static POOL: LazyLock<(Vec<Value>, Vec<String>)> = LazyLock::new(|| {
    let mut values: Vec<Value> = [
        "null",
        "true",
        "0",
        "-1",
        "1.0",
        "1.5",
        "70000",
        "1e300",
        "\"\"",
        "\"x\"",
        "[]",
        "[null]",
        "{}",
        "{\"type\": \"text\"}",
    ]
    .map(|text| serde_json::from_str(text).unwrap())
    .into();
    let mut names = Vec::new();
    for version in Version::ALL {
        constants(&published(version), &mut values, &mut names);
    }
    names.sort();
    names.dedup();
    (values, names)
});

fn published(version: Version) -> Value {
    let file = format!("../../fixtures/acp/{version}.unstable.json");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Collects the constants and the names of members of a schema.
fn constants(schema: &Value, values: &mut Vec<Value>, names: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(constant) = members.get("const").filter(|constant| !constant.is_object())
                && !values.contains(constant)
            {
                values.push(constant.clone());
            }
            if let Some(Value::Object(properties)) = members.get("properties") {
                names.extend(properties.keys().cloned());
            }
            members
                .values()
                .for_each(|schema| constants(schema, values, names));
        }
        Value::Array(items) => items.iter().for_each(|schema| constants(schema, values, names)),
        _ => {}
    }
}

/// A change at a place that the numbers choose.
type Change = (usize, usize, usize);

/// Changes a value at one place.
fn change(value: &mut Value, (way, kind, choice): Change) {
    let (values, names) = &*POOL;
    let size = match value {
        Value::Object(members) => members.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    // Most changes are deep.
    if size > 0 && !way.is_multiple_of(5) {
        let at = way % size;
        let next = (way / size, kind, choice);
        match value {
            Value::Object(members) => members
                .values_mut()
                .nth(at)
                .into_iter()
                .for_each(|member| change(member, next)),
            Value::Array(items) => change(&mut items[at], next),
            _ => {}
        }
        return;
    }
    let new = values[choice % values.len()].clone();
    match (kind % 4, &mut *value) {
        (0, Value::Object(members)) if size > 0 => {
            let name = members.keys().nth(choice % size).cloned().unwrap();
            members.remove(&name);
        }
        (1, Value::Object(members)) => {
            members.insert(names[way % names.len()].clone(), new);
        }
        (1, Value::Array(items)) => items.push(new),
        (2, Value::Object(members)) => {
            let renamed: Map<String, Value> = std::mem::take(members)
                .into_iter()
                .enumerate()
                .map(|(at, (name, member))| {
                    let is_chosen = at == choice % size.max(1);
                    (if is_chosen { format!("{name}_") } else { name }, member)
                })
                .collect();
            *members = renamed;
        }
        _ => *value = new,
    }
}

fn agree(judged: &Judged, value: &Value) -> Result<(), String> {
    let ours = OURS[&judged.version].check_as(&judged.name, value);
    let theirs = judged.validator.validate(value);
    match (ours, theirs) {
        (Ok(()), Ok(())) | (Err(_), Err(_)) => Ok(()),
        (Err(fault), Ok(())) => Err(format!("{}: {fault}, but it is valid: {value}", judged.name)),
        (Ok(()), Err(error)) => Err(format!("{}: {error}, but not to us: {value}", judged.name)),
    }
}

#[test]
fn recordings_are_judged_alike() {
    for judged in JUDGED.iter() {
        for value in SAMPLES.iter().step_by(53) {
            assert_eq!(agree(judged, value), Ok(()));
        }
    }
}

#[test]
fn all_definitions_are_there() {
    for version in Version::ALL {
        let whole = published(version);
        let published: Vec<&String> = whole["$defs"].as_object().unwrap().keys().collect();
        let ours: Vec<&str> = OURS[&version].definitions().collect();
        assert!(published.len() > 200);
        assert_eq!(ours, published);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_messages_are_judged_alike(
        sample in any::<prop::sample::Index>(),
        judged in any::<prop::sample::Index>(),
        changes in prop::collection::vec(any::<Change>(), 0..4),
    ) {
        let mut value = sample.get(&SAMPLES).clone();
        for step in changes {
            change(&mut value, step);
        }
        // The definition that it is of, and one that it is probably not of.
        let fitting = JUDGED.iter().filter(|judged| judged.validator.is_valid(sample.get(&SAMPLES)));
        for judged in fitting.chain([judged.get(&JUDGED)]) {
            prop_assert_eq!(agree(judged, &value), Ok(()));
        }
    }
}
