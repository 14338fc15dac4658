//! The official ACP schemas from the client's side: the messages that an agent may send.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::official::{envelope, part, read};

static V1: LazyLock<Schema> = LazyLock::new(|| Schema::load("v1", "SessionNotification"));
static V2: LazyLock<Schema> = LazyLock::new(|| Schema::load("v2", "UpdateSessionNotification"));

struct Schema {
    message: Validator,
    /// The params of an agent's messages, by method.
    params: BTreeMap<String, Validator>,
    /// The params of `session/update` with a kind of update that only the unstable schema has.
    unstable_update: Validator,
    /// The kinds of updates that the stable schema has.
    stable_updates: BTreeSet<String>,
    /// The results of an agent's responses, by method.
    results: BTreeMap<String, Validator>,
    error: Validator,
}

impl Schema {
    /// Loads the schema of a version, which has this name for the params of `session/update`.
    fn load(version: &str, notification: &str) -> Self {
        let (stable, unstable) = (read(version), read(&format!("{version}.unstable")));
        let (mut params, mut results) = (BTreeMap::new(), BTreeMap::new());
        // Stable definitions override unstable ones.
        for whole in [&unstable, &stable] {
            for (name, definition) in whole["$defs"].as_object().unwrap() {
                let (Some(method), Some(side)) =
                    (definition["x-method"].as_str(), definition["x-side"].as_str())
                else {
                    continue;
                };
                match (side, name.ends_with("Response")) {
                    ("client" | "protocol", false) => {
                        drop(params.insert(method.to_owned(), part(whole, name)))
                    }
                    ("agent", true) => drop(results.insert(method.to_owned(), part(whole, name))),
                    _ => {}
                }
            }
        }
        Self {
            message: envelope(),
            params,
            unstable_update: part(&unstable, notification),
            stable_updates: update_kinds(&stable),
            results,
            error: part(&stable, "Error"),
        }
    }

    fn is_stable(&self, update: &Value) -> bool {
        let kind = update["sessionUpdate"].as_str();
        kind.is_some_and(|kind| self.stable_updates.contains(kind))
    }
}

/// Validates a message to an editor of version 1. `answers` is the method of the request if the message is a response.
pub fn check(message: &Value, answers: Option<&str>) {
    check_by(&V1, message, answers);
}

/// Validates a message to an editor of version 2.
pub fn check_v2(message: &Value, answers: Option<&str>) {
    // Version 2 permits kinds of updates that it does not have, and with them those of version 1.
    let is_old = |kind: &str| V1.stable_updates.contains(kind) && !V2.stable_updates.contains(kind);
    let kind = message["params"]["update"]["sessionUpdate"].as_str();
    assert!(!kind.is_some_and(is_old), "only version 1 has it: {message}");
    check_by(&V2, message, answers);
}

fn check_by(schema: &Schema, message: &Value, answers: Option<&str>) {
    valid(&schema.message, message, message);
    match (message["method"].as_str(), message.get("error")) {
        (Some(method), _) if method.starts_with('_') => {}
        (Some("session/update"), _) if !schema.is_stable(&message["params"]["update"]) => {
            valid(&schema.unstable_update, &message["params"], message);
        }
        (Some(method), _) => {
            let params = schema.params.get(method);
            let params = params.unwrap_or_else(|| panic!("no client has {method:?}: {message}"));
            valid(params, &message["params"], message);
        }
        (None, Some(error)) => valid(&schema.error, error, message),
        (None, None) => {
            let method = answers.expect("a response answers something");
            // Extensions have no schema, and one method is from earlier ACP versions.
            if !method.starts_with('_') && method != "session/set_model" {
                let result = schema.results.get(method);
                let result = result.unwrap_or_else(|| panic!("no agent has {method:?}: {message}"));
                valid(result, &message["result"], message);
            }
        }
    }
}

fn update_kinds(schema: &Value) -> BTreeSet<String> {
    let update = &schema["$defs"]["SessionUpdate"];
    let updates = update["oneOf"].as_array().or(update["anyOf"].as_array());
    // Version 2 also has one for all others.
    let kinds = updates
        .unwrap()
        .iter()
        .filter_map(|update| update["properties"]["sessionUpdate"]["const"].as_str());
    kinds.map(str::to_owned).collect()
}

fn valid(schema: &Validator, value: &Value, message: &Value) {
    let errors: Vec<String> = schema
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "not valid: {}\n{message}", errors.join("\n"));
}

#[test]
fn the_schema_bites() {
    let good = json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s",
        "update": { "sessionUpdate": "plan", "entries": [] } } });
    check(&good, None);
    let mut bad = good.clone();
    bad["params"]["update"]["sessionUpdate"] = json!("hologram");
    assert!(std::panic::catch_unwind(|| check(&bad, None)).is_err());
    let chunk = json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s",
        "update": { "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "x" } } } });
    check(&chunk, None);
    assert!(
        std::panic::catch_unwind(|| check_v2(&chunk, None)).is_err(),
        "it has no messageId"
    );
    let state = json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s",
        "update": { "sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn" } } });
    check_v2(&state, None);
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": { "stopReason": "odd" } });
    assert!(std::panic::catch_unwind(|| check(&answer, Some("session/prompt"))).is_err());
}
