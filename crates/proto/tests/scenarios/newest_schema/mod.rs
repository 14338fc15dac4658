//! What acpd handles of the newest ACP schema. A new version of `fixtures/acp` fails here with the list of what is new.

mod kinds;

use std::collections::{BTreeMap, BTreeSet};

use acpd_proto::agent::{
    AcpVersion, ElicitationModes, Update, UpdateKind, client_capabilities, initialize_params,
};
use acpd_proto::surface::acp::METHODS;
use serde_json::{Map, Value, json};

use self::kinds::{
    AGENT_CAN, CLIENT_CAN, COMMAND, CONTENT, HANDLED, HANDLED_2, LEFT_OUT, LEFT_OUT_2, Names, TO_AGENT,
    TO_CLIENT, TOOL_CONTENT, UPDATE,
};
use crate::support::official::read;

/// A name of the schema with its subject.
type Named = (String, String);

/// Returns everything that a version of ACP has, stable or not.
fn defined(version: &str) -> BTreeSet<Named> {
    let mut found = BTreeSet::new();
    for schema in [version.to_owned(), format!("{version}.unstable")].map(|name| read(&name)) {
        let definitions = schema["$defs"].as_object().unwrap();
        let mut add = |subject: &str, name: String| found.insert((subject.to_owned(), name));
        for definition in definitions.values() {
            let Some(method) = definition["x-method"].as_str() else {
                continue;
            };
            let subject = if definition["x-side"] == "client" {
                TO_CLIENT
            } else {
                TO_AGENT
            };
            add(subject, method.to_owned());
        }
        for (subject, definition, tag) in [
            (UPDATE, "SessionUpdate", "sessionUpdate"),
            (CONTENT, "ContentBlock", "type"),
            (TOOL_CONTENT, "ToolCallContent", "type"),
            (COMMAND, "AvailableCommand", "type"),
        ] {
            for variant in variants(&definitions[definition]) {
                // One without a name stands for kinds of later versions.
                if let Some(name) = variant["properties"][tag]["const"].as_str() {
                    add(subject, name.to_owned());
                }
            }
        }
        for (subject, definition) in [
            (CLIENT_CAN, "ClientCapabilities"),
            (AGENT_CAN, "AgentCapabilities"),
        ] {
            for path in members(definitions, definition) {
                add(subject, path);
            }
        }
    }
    found
}

fn variants(definition: &Value) -> &[Value] {
    let variants = definition["oneOf"].as_array().or(definition["anyOf"].as_array());
    variants.map_or(&[], Vec::as_slice)
}

/// Returns the names of the definitions that a schema refers to.
fn referred(schema: &Value) -> Vec<&str> {
    let options = schema["anyOf"].as_array().into_iter().flatten();
    let options = options.chain(schema["allOf"].as_array().into_iter().flatten());
    let all = options
        .chain([schema])
        .filter_map(|option| option["$ref"].as_str());
    all.filter_map(|reference| reference.strip_prefix("#/$defs/"))
        .collect()
}

/// Returns the paths of all members of an object, and of the objects in it.
fn members(definitions: &Map<String, Value>, name: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let properties = definitions[name]["properties"].as_object();
    for (key, member) in properties.into_iter().flatten() {
        if key == "_meta" {
            continue;
        }
        paths.push(key.clone());
        for inner in referred(member) {
            let inner = members(definitions, inner);
            paths.extend(inner.iter().map(|path| format!("{key}.{path}")));
        }
    }
    paths
}

fn listed(names: Names) -> Vec<Named> {
    let all = names.iter().flat_map(|(subject, names)| {
        names
            .iter()
            .map(|name| ((*subject).to_owned(), (*name).to_owned()))
    });
    all.collect()
}

fn left_out(reasons: &[(&str, Names)]) -> Vec<Named> {
    reasons.iter().flat_map(|(_, names)| listed(names)).collect()
}

#[test]
fn the_newest_schema_has_nothing_unknown() {
    for (version, handled, reasons) in [("v1", HANDLED, LEFT_OUT), ("v2", HANDLED_2, LEFT_OUT_2)] {
        let mut count = BTreeMap::<Named, usize>::new();
        for named in listed(handled).into_iter().chain(left_out(reasons)) {
            *count.entry(named).or_default() += 1;
        }
        let defined = defined(version);
        let new: Vec<_> = defined
            .iter()
            .filter(|named| !count.contains_key(*named))
            .collect();
        let gone: Vec<_> = count.keys().filter(|named| !defined.contains(*named)).collect();
        let twice: Vec<_> = count.iter().filter(|(_, times)| **times > 1).collect();
        assert!(
            new.is_empty() && gone.is_empty() && twice.is_empty(),
            "ACP {version}: new, so handle it or leave it out with a reason: {new:#?}\nno longer in the schema: {gone:#?}\nlisted \
             twice: {twice:#?}"
        );
        for (reason, _) in reasons {
            assert!(reason.ends_with('.') && !reason.contains(". "), "{reason}");
        }
    }
}

/// Returns a value that fits a schema and has only what is required.
fn sample(definitions: &Map<String, Value>, schema: &Value) -> Value {
    if let Some(fixed) = schema.get("const") {
        return fixed.clone();
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    if let Some(first) = variants(schema).iter().find(|option| option["type"] != "null") {
        return sample(definitions, first);
    }
    let mut value = match referred(schema).first() {
        Some(name) => sample(definitions, &definitions[*name]),
        None => Value::Null,
    };
    let kind = schema["type"].as_str().or(schema["type"][0].as_str());
    match kind {
        Some("object") => {
            if !value.is_object() {
                value = json!({});
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                let name = name.as_str().unwrap();
                value[name] = sample(definitions, &schema["properties"][name]);
            }
            value
        }
        Some("array") => json!([]),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("string") => json!("x"),
        _ => value,
    }
}

/// The lists say the truth about updates: each kind of update that is handled is read, and no other one.
#[test]
fn handled_updates_are_read() {
    let schema = read("v1.unstable");
    let definitions = schema["$defs"].as_object().unwrap();
    let handled = listed(HANDLED);
    for variant in variants(&definitions["SessionUpdate"]) {
        let update = sample(definitions, variant);
        let named = (
            UPDATE.to_owned(),
            update["sessionUpdate"].as_str().unwrap().to_owned(),
        );
        let parsed = Update::parse(&update.to_string(), None).unwrap();
        assert_eq!(
            parsed.kind != UpdateKind::Other,
            handled.contains(&named),
            "{update}: {:?}",
            parsed.kind
        );
    }
}

/// The lists say the truth about capabilities: acpd declares those that it handles, and no other one.
#[test]
fn handled_capabilities_of_clients_are_declared() {
    fn declared(value: &Value, prefix: &str, found: &mut BTreeSet<String>) {
        for (key, member) in value.as_object().into_iter().flatten() {
            let path = format!("{prefix}{key}");
            declared(member, &format!("{path}."), found);
            found.insert(path);
        }
    }
    let one: Value = serde_json::from_str(&client_capabilities(ElicitationModes::ALL)).unwrap();
    let both = initialize_params(AcpVersion::Two, ElicitationModes::ALL);
    let both: Value = both.read().unwrap();
    for (ours, handled) in [(&one, HANDLED), (&both["capabilities"], HANDLED_2)] {
        let mut found = BTreeSet::new();
        declared(ours, "", &mut found);
        let handled = listed(handled)
            .into_iter()
            .filter(|(subject, _)| subject == CLIENT_CAN);
        assert_eq!(found, handled.map(|(_, name)| name).collect::<BTreeSet<String>>());
    }
}

/// Editors can call what acpd calls of an agent, and each of its methods is one of ACP, an extension, or of earlier versions.
#[test]
fn methods_for_editors_are_handled_ones() {
    let handled = listed(HANDLED)
        .into_iter()
        .filter(|(subject, _)| subject == TO_AGENT);
    // Notifications are not in the table of methods.
    let handled: BTreeSet<String> = handled
        .map(|(_, name)| name)
        .filter(|name| name != "session/cancel" && !name.starts_with('$'))
        .collect();
    let offered: BTreeSet<String> = METHODS
        .iter()
        .map(|method| method.name.to_owned())
        .filter(|name| !name.starts_with('_') && name != "session/set_model")
        .collect();
    assert_eq!(offered, handled);
}
