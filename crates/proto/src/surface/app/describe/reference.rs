//! The protocol as reference tables, between markers in pages that are otherwise written by hand.

use std::fmt::Write;

use serde_json::Value;

use super::typescript;

/// Returns the page of the protocol with up-to-date generated parts.
pub fn put_into(page: &str, document: &Value) -> String {
    let page = between(page, "methods", &methods(document));
    let page = between(&page, "notifications", &notifications(document, "notifications"));
    between(&page, "questions", &notifications(document, "serverRequests"))
}

/// Returns the page of its types with the up-to-date generated part.
pub fn put_types_into(page: &str, document: &Value) -> String {
    between(page, "types", &types(document))
}

fn between(page: &str, name: &str, text: &str) -> String {
    let begin = format!("<!-- generated: {name} -->\n");
    let end = "<!-- end -->";
    let start = page
        .find(&begin)
        .unwrap_or_else(|| panic!("the page has no mark {begin:?}"))
        + begin.len();
    let length = page[start..].find(end).expect("each mark has its end");
    format!(
        "{}\n{}\n\n{}",
        &page[..start],
        text.trim(),
        &page[start + length..]
    )
}

fn description(value: &Value) -> String {
    value["description"]
        .as_str()
        .unwrap_or_default()
        .replace('|', "\\|")
}

/// Returns a type, short enough for a table.
fn kind(schema: &Value) -> String {
    format!("`{}`", typescript::of(schema, "").replace(" | null", "")).replace('|', "\\|")
}

fn resolve<'a>(document: &'a Value, schema: &'a Value) -> (&'a Value, Option<&'a str>) {
    match schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        Some(name) => match resolve(document, &document["$defs"][name]) {
            (schema, None) => (schema, Some(name)),
            found => found,
        },
        None => (schema, None),
    }
}

fn rows(out: &mut String, schema: &Value, leave_out: &[&str]) {
    let required = schema["required"].as_array();
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        if leave_out.contains(&name.as_str()) {
            continue;
        }
        let must = required.is_some_and(|list| list.iter().any(|one| one == name));
        let mark = if must { "" } else { "?" };
        let _ = writeln!(
            out,
            "| `{name}{mark}` | {} | {} |",
            kind(member),
            description(member)
        );
    }
}

/// Returns the members of an object in object notation.
fn shape(schema: &Value) -> String {
    let required = schema["required"].as_array();
    let names = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, member)| {
            let must = required.is_some_and(|list| list.iter().any(|one| one == name));
            let mark = if must { "" } else { "?" };
            format!(
                "{name}{mark}: {}",
                typescript::of(member, "").replace(" | null", "")
            )
        });
    format!("`{{{}}}`", names.collect::<Vec<_>>().join(", "))
}

fn methods(document: &Value) -> String {
    let mut out = String::new();
    for (name, method) in document["methods"].as_object().into_iter().flatten() {
        let (params, _) = resolve(document, &method["params"]);
        let (result, _) = resolve(document, &method["result"]);
        let _ = writeln!(
            out,
            "### `{name}`\n\n{}\n",
            method["description"].as_str().unwrap_or_default()
        );
        let role = method["role"].as_str().unwrap_or_default();
        let _ = writeln!(out, "Role: {role}. Result: {}.\n", shape(result));
        if params["properties"]
            .as_object()
            .is_some_and(|members| !members.is_empty())
        {
            out += "| Param | Type | |\n|---|---|---|\n";
            rows(&mut out, params, &[]);
            out.push('\n');
        }
    }
    out
}

fn notifications(document: &Value, key: &str) -> String {
    let mut out = String::from("| Method | Members | |\n|---|---|---|\n");
    for (name, notification) in document[key].as_object().into_iter().flatten() {
        let (params, _) = resolve(document, &notification["params"]);
        let required = params["required"].as_array();
        let everywhere = ["threadId", "seq", "ts", "turnId"];
        let names = params["properties"].as_object().into_iter().flatten();
        let names = names
            .filter(|(name, _)| !everywhere.contains(&name.as_str()))
            .map(|(name, _)| {
                let must = required.is_some_and(|list| list.iter().any(|one| one == name));
                format!("`{name}{}`", if must { "" } else { "?" })
            });
        let names = names.collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "| `{name}` | {names} | {} |", description(notification));
    }
    out
}

fn types(document: &Value) -> String {
    // Params are listed with their methods, and the members of notifications in their table.
    let mut wanted = Vec::new();
    for method in document["methods"].as_object().into_iter().flatten() {
        for key in ["params", "result"] {
            mentioned(resolve(document, &method.1[key]).0, document, &mut wanted);
        }
    }
    for key in ["notifications", "serverRequests"] {
        for entry in document[key].as_object().into_iter().flatten() {
            mentioned(resolve(document, &entry.1["params"]).0, document, &mut wanted);
        }
    }
    wanted.sort_unstable();
    let mut out = String::new();
    for name in wanted {
        let schema = &document["$defs"][name];
        let _ = writeln!(
            out,
            "## `{name}`\n\n{}\n",
            schema["description"].as_str().unwrap_or_default()
        );
        if schema["properties"].is_object() {
            out += "| Member | Type | |\n|---|---|---|\n";
            rows(&mut out, schema, &[]);
            out.push('\n');
        }
        if let Some(choices) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
            out += "| One of | |\n|---|---|\n";
            for choice in choices {
                let text = typescript::of(choice, "")
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ");
                let _ = writeln!(
                    out,
                    "| `{}` | {} |",
                    text.replace('|', "\\|"),
                    description(choice)
                );
            }
            out.push('\n');
        }
    }
    out
}

/// Collects all types that a schema refers to, directly or indirectly.
fn mentioned<'a>(schema: &'a Value, document: &'a Value, found: &mut Vec<&'a str>) {
    match schema {
        Value::Object(members) => {
            if let Some(name) = members
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|name| name.rsplit('/').next())
                && !found.contains(&name)
            {
                found.push(name);
                mentioned(&document["$defs"][name], document, found);
            }
            members
                .values()
                .for_each(|member| mentioned(member, document, found));
        }
        Value::Array(values) => values.iter().for_each(|value| mentioned(value, document, found)),
        _ => {}
    }
}
