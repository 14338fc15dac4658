//! The protocol as TypeScript types.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::schema::members;

/// Returns a module with every type, and with maps from methods to their types.
pub fn write(document: &Value) -> String {
    let mut out = String::from(
        "// Generated from the table of the app protocol's methods: run `make generate`. Do not edit.\n\n",
    );
    let version = &document["protocolVersion"];
    let _ = writeln!(out, "/** Increases when something is renamed or removed. */");
    let _ = writeln!(out, "export const PROTOCOL_VERSION = {version};\n");
    let approvals = super::approvals(document).map(|method| format!("  \"{method}\",\n"));
    let approvals = approvals.collect::<String>();
    let _ = writeln!(out, "/** The methods of permission requests. */");
    let _ = writeln!(out, "export const APPROVALS = [\n{approvals}] as const;\n");
    for (name, schema) in members(&document["$defs"]) {
        about(&mut out, schema, "");
        let text = of(schema, "");
        // An interface is one object: no text follows its closing brace.
        if text.starts_with('{') && text.find("\n}") == Some(text.len() - 2) {
            let _ = writeln!(out, "export interface {name} {text}\n");
        } else {
            let _ = writeln!(out, "export type {name} = {text};\n");
        }
    }
    map(
        &mut out,
        document,
        "methods",
        "Methods",
        "Methods that a client may call.",
    );
    let title = "Notifications of the daemon.";
    map(&mut out, document, "notifications", "Notifications", title);
    let title = "Requests of the daemon.";
    map(&mut out, document, "serverRequests", "ServerRequests", title);
    out.truncate(out.trim_end().len());
    out + "\n"
}

fn about(out: &mut String, schema: &Value, indent: &str) {
    if let Some(text) = schema["description"].as_str() {
        let _ = writeln!(out, "{indent}/** {text} */");
    }
}

fn map(out: &mut String, document: &Value, key: &str, name: &str, title: &str) {
    let _ = writeln!(out, "/** {title} */\nexport interface {name} {{");
    for (method, entry) in members(&document[key]) {
        about(out, entry, "  ");
        let params = of(&entry["params"], "  ");
        let _ = match entry.get("result") {
            Some(result) => {
                let result = of(result, "  ");
                writeln!(out, "  \"{method}\": {{ params: {params}; result: {result} }};")
            }
            None => writeln!(out, "  \"{method}\": {params};"),
        };
    }
    let _ = writeln!(out, "}}\n");
}

/// Returns the type that a schema describes.
pub fn of(schema: &Value, indent: &str) -> String {
    let Some(object) = schema.as_object() else {
        return "unknown".into();
    };
    let mut parts = Vec::new();
    if let Some(name) = object.get("$ref").and_then(Value::as_str) {
        parts.push(name.rsplit('/').next().unwrap_or(name).to_owned());
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = object.get(key).and_then(Value::as_array) {
            parts.push(union(choices.iter().map(|choice| of(choice, indent))));
        }
    }
    if let Some(value) = object.get("const") {
        parts.push(value.to_string());
    } else if let Some(values) = object.get("enum").and_then(Value::as_array) {
        parts.push(union(values.iter().map(Value::to_string)));
    } else {
        match object.get("type") {
            Some(Value::String(one)) => parts.extend(plain(one, object, indent, parts.is_empty())),
            Some(Value::Array(several)) => {
                let several = several.iter().filter_map(Value::as_str);
                parts.push(union(several.filter_map(|one| plain(one, object, indent, true))));
            }
            _ => {}
        }
    }
    match parts.len() {
        0 => "unknown".into(),
        1 => parts.remove(0),
        _ => {
            let wrap = |part: &String| {
                if part.contains(" | ") {
                    format!("({part})")
                } else {
                    part.clone()
                }
            };
            parts.iter().rev().map(wrap).collect::<Vec<_>>().join(" & ")
        }
    }
}

fn union(choices: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for choice in choices {
        if !all.contains(&choice) {
            all.push(choice);
        }
    }
    if all.iter().any(|choice| choice == "unknown") {
        return "unknown".into();
    }
    all.join(" | ")
}

/// `alone`: no other part of the schema defines the type.
fn plain(name: &str, schema: &Map<String, Value>, indent: &str, alone: bool) -> Option<String> {
    Some(match name {
        "integer" | "number" => "number".into(),
        "array" => {
            let items = schema
                .get("items")
                .map_or("unknown".into(), |items| of(items, indent));
            if items.contains(" | ") {
                format!("({items})[]")
            } else {
                format!("{items}[]")
            }
        }
        "object" => match (schema.get("properties"), schema.get("additionalProperties")) {
            (Some(properties), _) => {
                let mut out = String::from("{\n");
                let inner = format!("{indent}  ");
                let required = schema.get("required").and_then(Value::as_array);
                for (member, of_member) in members(properties) {
                    about(&mut out, of_member, &inner);
                    let must = required.is_some_and(|list| list.iter().any(|name| name == member));
                    let mark = if must { "" } else { "?" };
                    let _ = writeln!(out, "{inner}{member}{mark}: {};", of(of_member, &inner));
                }
                out + indent + "}"
            }
            (None, Some(values)) if values.is_object() => format!("Record<string, {}>", of(values, indent)),
            _ if !alone => return None,
            (None, _) if schema.get("title").is_some_and(|title| title == "NoMembers") => "{}".into(),
            _ => "Record<string, unknown>".into(),
        },
        other => other.into(),
    })
}
