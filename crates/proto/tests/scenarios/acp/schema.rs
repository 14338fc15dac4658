//! The official ACP schema, version 1, from the client's side: the messages that an agent may send.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::official::{envelope, part, read};

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::load);

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
    fn load() -> Self {
        let (stable, unstable) = (read("v1"), read("v1.unstable"));
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
            unstable_update: part(&unstable, "SessionNotification"),
            stable_updates: update_kinds(&stable),
            results,
            error: part(&stable, "Error"),
        }
    }
}

/// Validates a message to an editor. `answers` is the method of the request if the message is a response.
pub fn check(message: &Value, answers: Option<&str>) {
    valid(&SCHEMA.message, message, message);
    match (message["method"].as_str(), message.get("error")) {
        (Some(method), _) if method.starts_with('_') => {}
        (Some("session/update"), _) if !is_stable(&message["params"]["update"]) => {
            valid(&SCHEMA.unstable_update, &message["params"], message);
        }
        (Some(method), _) => {
            let params = SCHEMA.params.get(method);
            let params = params.unwrap_or_else(|| panic!("no client has {method:?}: {message}"));
            valid(params, &message["params"], message);
        }
        (None, Some(error)) => valid(&SCHEMA.error, error, message),
        (None, None) => {
            let method = answers.expect("a response answers something");
            // Extensions have no schema, and one method is from earlier ACP versions.
            if !method.starts_with('_') && method != "session/set_model" {
                let result = SCHEMA.results.get(method);
                let result = result.unwrap_or_else(|| panic!("no agent has {method:?}: {message}"));
                valid(result, &message["result"], message);
            }
        }
    }
}

fn update_kinds(schema: &Value) -> BTreeSet<String> {
    let updates = schema["$defs"]["SessionUpdate"]["oneOf"].as_array().unwrap();
    let kinds = updates
        .iter()
        .map(|update| update["properties"]["sessionUpdate"]["const"].as_str());
    kinds.map(|kind| kind.unwrap().to_owned()).collect()
}

fn is_stable(update: &Value) -> bool {
    let kind = update["sessionUpdate"].as_str();
    kind.is_some_and(|kind| SCHEMA.stable_updates.contains(kind))
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
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": { "stopReason": "odd" } });
    assert!(std::panic::catch_unwind(|| check(&answer, Some("session/prompt"))).is_err());
}
