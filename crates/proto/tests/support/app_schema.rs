//! The schema of the app protocol in `docs/app-protocol.schema.json`. All messages of the daemon must be valid, without
//! members that the schema does not name. (Clients are less strict: they ignore unknown members.)

use std::collections::{BTreeSet, HashMap};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/app-protocol.schema.json"
    ));
    let mut document: Value = serde_json::from_str(text).expect("the schema is JSON");
    let mut open = BTreeSet::new();
    parts_of_others(&document, &mut open);
    close(&mut document, &open, "");
    document
});

/// Collects the types that other types extend with more members.
fn parts_of_others(schema: &Value, found: &mut BTreeSet<String>) {
    if let Some(members) = schema.as_object() {
        if members.contains_key("properties") {
            let choices = ["anyOf", "oneOf"]
                .iter()
                .filter_map(|key| members.get(*key)?.as_array());
            let names = choices.flatten().filter_map(|choice| choice["$ref"].as_str());
            found.extend(names.map(|name| name.rsplit('/').next().unwrap_or(name).to_owned()));
        }
        members.values().for_each(|member| parts_of_others(member, found));
    } else if let Some(values) = schema.as_array() {
        for value in values {
            parts_of_others(value, found);
        }
    }
}

fn close(schema: &mut Value, open: &BTreeSet<String>, name: &str) {
    if let Some(members) = schema.as_object_mut() {
        if members.get("properties").is_some_and(Value::is_object) && !open.contains(name) {
            members.insert("unevaluatedProperties".into(), false.into());
        }
        for (name, member) in members.iter_mut() {
            close(member, open, name);
        }
    } else if let Some(values) = schema.as_array_mut() {
        for value in values {
            close(value, open, "");
        }
    }
}

type Known = HashMap<String, &'static Validator>;

/// The validators that were already compiled.
static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

fn lock(known: &Mutex<Known>) -> MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Validates `value` against a part of the protocol. `table` is `methods`, `notifications` or `serverRequests`.
fn fits(table: &str, method: &str, key: &str, value: &Value) {
    let name = format!("{table} {method} {key}");
    let part = &DOCUMENT[table][method][key];
    assert!(!part.is_null(), "the schema has no {name}");
    let known = lock(&KNOWN).get(&name).copied();
    let validator = known.unwrap_or_else(|| {
        let schema = json!({ "allOf": [part], "$defs": DOCUMENT["$defs"] });
        let made = Box::leak(Box::new(jsonschema::draft202012::new(&schema).expect("a schema")));
        lock(&KNOWN).insert(name.clone(), made);
        made
    });
    let faults: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{name} does not fit: {faults:#?}\n{value:#}");
}

/// Validates a message that is not a response. With `asks`, it has an id.
pub fn check_sent(method: &str, params: &Value, asks: bool) {
    let question = !DOCUMENT["serverRequests"][method].is_null();
    assert!(question || !asks, "{method} is no question");
    let table = if question {
        "serverRequests"
    } else {
        "notifications"
    };
    fits(table, method, "params", params);
}

#[allow(dead_code, reason = "scenarios have no connection")]
/// Validates the response to a client's request.
pub fn check_answer(method: &str, answer: Result<&Value, &Value>) {
    match answer {
        Ok(result) => fits("methods", method, "result", result),
        Err(error) => {
            assert!(error["code"].is_i64() && error["message"].is_string(), "{error}");
            assert!(
                error["data"]["code"].is_string() && error["data"]["retryable"].is_boolean(),
                "{error}"
            );
        }
    }
}

#[allow(dead_code, reason = "only documents show messages of both sides")]
/// Validates a request or notification of a client or of the daemon.
pub fn check_message(message: &Value) {
    let (method, params) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
    if method == "initialized" {
        assert!(params.is_null() && message["id"].is_null(), "{message}");
    } else if DOCUMENT["methods"][method].is_null() {
        check_sent(method, params, !message["id"].is_null());
    } else {
        assert!(!message["id"].is_null(), "a request has an id: {message}");
        fits("methods", method, "params", params);
    }
}
