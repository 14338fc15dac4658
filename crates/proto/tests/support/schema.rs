//! The official ACP schemas: what acpd sends to an agent.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use acpd_proto::agent::AcpVersion;
use jsonschema::Validator;
use serde_json::{Value, json};

use super::official::{self, part, read};

/// Methods that only the unstable schema defines.
const UNSTABLE: [&str; 1] = ["session/fork"];

/// A method of earlier ACP versions, with its params. Agents with `models` still accept it.
const EARLIER: &str = "session/set_model";

/// The messages that an agent of version 1 may receive: the definitions of params, and of results for the agent's requests, by method.
static ONE: LazyLock<Schema> = LazyLock::new(Schema::one);
/// The same for version 2.
static TWO: LazyLock<Schema> = LazyLock::new(|| Schema::load(&read("v2.unstable")));

struct Schema {
    /// A whole message.
    message: Validator,
    /// The params of messages to the agent, by method.
    params: BTreeMap<String, Validator>,
    /// The results of the agent's requests, by method.
    results: BTreeMap<String, Validator>,
    error: Validator,
}

impl Schema {
    fn one() -> Self {
        let mut schema = Self::load(&read("v1"));
        let unstable = read("v1.unstable");
        for method in UNSTABLE {
            let mut all = unstable["$defs"].as_object().unwrap().iter();
            let (name, _) = all
                .find(|(name, definition)| definition["x-method"] == method && name.ends_with("Request"))
                .unwrap();
            schema
                .params
                .insert(method.to_owned(), official::part(&unstable, name));
        }
        schema
    }

    fn load(whole: &Value) -> Self {
        let part = |name: &str| part(whole, name);
        let mut params = BTreeMap::new();
        let mut results = BTreeMap::new();
        for (name, definition) in whole["$defs"].as_object().unwrap() {
            let (Some(method), Some(side)) = (definition["x-method"].as_str(), definition["x-side"].as_str())
            else {
                continue;
            };
            match (side, name.ends_with("Response")) {
                ("agent", false) => drop(params.insert(method.to_owned(), part(name))),
                ("client", true) => drop(results.insert(method.to_owned(), part(name))),
                _ => {}
            }
        }
        Self {
            message: official::envelope(),
            params,
            results,
            error: part("Error"),
        }
    }
}

/// Validates a line that was written to an agent that is offered this version, and has it. `answers` is the method of the agent's request
/// if the line is a response.
pub fn check_sent(version: AcpVersion, line: &Value, answers: Option<&str>) {
    let schema = if version == AcpVersion::Two { &TWO } else { &ONE };
    valid(&schema.message, line, "message", line);
    if let Some(method) = line["method"].as_str() {
        if method.starts_with('_') {
            return;
        }
        if method == EARLIER && version != AcpVersion::Two {
            let strings = ["sessionId", "modelId"].map(|name| line["params"][name].is_string());
            assert_eq!(strings, [true; 2], "{line}");
            return;
        }
        let params = schema.params.get(method);
        let params = params.unwrap_or_else(|| panic!("ACP has no method {method:?} for agents: {line}"));
        return valid(params, &line["params"], method, line);
    }
    if let Some(error) = line.get("error") {
        return valid(&schema.error, error, "error", line);
    }
    let method = answers.expect("a response answers something");
    if method.starts_with('_') {
        return;
    }
    let result = schema.results.get(method);
    let result = result.unwrap_or_else(|| panic!("we answer {method:?}, which no client has: {line}"));
    valid(result, &line["result"], method, line);
}

fn valid(schema: &Validator, value: &Value, what: &str, line: &Value) {
    let errors: Vec<String> = schema
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(
        errors.is_empty(),
        "no valid {what}: {}\n{line}",
        errors.join("\n")
    );
}

/// The schema rejects invalid messages, so that a passed check is meaningful.
#[test]
fn the_schema_bites() {
    let good = json!({ "jsonrpc": "2.0", "id": 1, "method": "session/prompt",
        "params": { "sessionId": "s", "prompt": [{ "type": "text", "text": "x" }] } });
    check_sent(AcpVersion::One, &good, None);
    let mut bad = good.clone();
    bad["params"]["prompt"] = json!("x");
    assert!(std::panic::catch_unwind(|| check_sent(AcpVersion::One, &bad, None)).is_err());
    let mut bad = good;
    bad["method"] = json!("session/hello");
    assert!(std::panic::catch_unwind(|| check_sent(AcpVersion::One, &bad, None)).is_err());
    let mode = json!({ "jsonrpc": "2.0", "id": 1, "method": "session/set_mode", "params": { "sessionId": "s", "modeId": "m" } });
    check_sent(AcpVersion::One, &mode, None);
    assert!(std::panic::catch_unwind(|| check_sent(AcpVersion::Two, &mode, None)).is_err());
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": 7 } });
    assert!(
        std::panic::catch_unwind(|| check_sent(AcpVersion::One, &answer, Some("fs/read_text_file"))).is_err()
    );
}
