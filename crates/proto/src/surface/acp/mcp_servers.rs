//! The MCP servers that an editor names, in ACP's form.
//!
//! In: `mcpServers` as the editor wrote it. Out: the same, with lists that are missing or written as objects in ACP's form,
//! or the name of the server that cannot be used. Never: leaves a server out, or shows an environment or headers.

use acpd_model::{Failure, RawJson};
use serde_json::{Map, Value, json};

/// Returns the servers in ACP's form. Those that have it already stay as they are, to the byte.
pub(super) fn mended(servers: Vec<RawJson>) -> Result<Vec<RawJson>, Failure> {
    servers
        .into_iter()
        .enumerate()
        .map(|(place, server)| mend(place, server))
        .collect()
}

fn mend(place: usize, server: RawJson) -> Result<RawJson, Failure> {
    let Ok(Value::Object(mut members)) = server.read() else {
        return Err(refused(
            &format!("mcpServers[{place}]"),
            "it must be an ACP McpServer object",
        ));
    };
    let Some(name) = text(&members, "name").map(str::to_owned) else {
        let label = format!("mcpServers[{place}]");
        return Err(refused(&label, "it has no name: give it a text as \"name\""));
    };
    let label = format!("the MCP server {name:?}");
    let transport = text(&members, "type").unwrap_or("stdio").to_owned();
    let lists: &[(&str, bool)] = match transport.as_str() {
        "stdio" if text(&members, "command").is_none() => {
            let next = match text(&members, "url") {
                Some(_) => "it has no command: for a server with a url, \"type\" is \"http\" or \"sse\"",
                None => "it has no command: give it the path of its program as \"command\"",
            };
            return Err(refused(&label, next));
        }
        "stdio" => &[("args", false), ("env", true)],
        "http" | "sse" if text(&members, "url").is_none() => {
            return Err(refused(&label, "it has no url: give it its address as \"url\""));
        }
        "http" | "sse" => &[("headers", true)],
        // The agent's capabilities decide about transports.
        _ => return Ok(server),
    };
    // Version 2 names the type that version 1 has without one.
    let mut is_changed = transport == "stdio" && members.remove("type").is_some();
    for (key, has_names) in lists {
        is_changed |= mend_list(&mut members, key, *has_names).map_err(|words| refused(&label, &words))?;
    }
    if is_changed {
        return Ok(json!(members).into());
    }
    Ok(server)
}

/// Brings a list into ACP's form, and returns whether it was in another.
fn mend_list(members: &mut Map<String, Value>, key: &str, has_names: bool) -> Result<bool, String> {
    let list = match members.get(key) {
        Some(Value::Array(_)) => return Ok(false),
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(pairs)) if has_names => pairs
            .iter()
            .map(|(name, value)| Ok(json!({ "name": name, "value": value_text(key, name, value)? })))
            .collect::<Result<_, String>>()?,
        Some(_) => return Err(format!("its \"{key}\" is not a list")),
    };
    members.insert(key.to_owned(), Value::Array(list));
    Ok(true)
}

fn value_text(key: &str, name: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(format!("the value of {name:?} in its \"{key}\" is not a string"))
        }
    }
}

fn text<'a>(members: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    members.get(key)?.as_str().filter(|text| !text.trim().is_empty())
}

fn refused(label: &str, words: &str) -> Failure {
    Failure::invalid_params(format!("{label} cannot be used: {words}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mend_one(text: &str) -> Result<String, String> {
        let server = RawJson::parse(text).unwrap();
        let mended = mended(vec![server]).map_err(|failure| failure.message)?;
        Ok(mended[0].get().to_owned())
    }

    #[test]
    fn servers_in_the_form_of_acp_stay_as_they_are() {
        for server in [
            r#"{ "name":"a","command":"/bin/a", "args":[],"env":[{"name":"K","value":"v"}],"x":1.10}"#,
            r#"{"type":"http","name":"a","url":"https://x","headers":[]}"#,
            r#"{"type":"new","name":"a"}"#,
        ] {
            assert_eq!(mend_one(server).as_deref(), Ok(server));
        }
    }

    #[test]
    fn objects_and_missing_lists_become_lists() {
        let read = |text: &str| serde_json::from_str::<Value>(&mend_one(text).unwrap()).unwrap();
        assert_eq!(
            read(r#"{"name":"a","command":"c","env":{"K":"v","N":1,"B":true}}"#),
            json!({ "name": "a", "command": "c", "args": [], "env": [
                { "name": "B", "value": "true" }, { "name": "K", "value": "v" }, { "name": "N", "value": "1" },
            ]})
        );
        assert_eq!(
            read(r#"{"type":"sse","name":"a","url":"u","headers":{"A":"b"}}"#)["headers"],
            json!([{ "name": "A", "value": "b" }])
        );
        assert_eq!(
            read(r#"{"type":"http","name":"a","url":"u","headers":null}"#)["headers"],
            json!([])
        );
    }

    #[test]
    fn a_server_that_cannot_be_used_is_named() {
        for (server, words) in [
            (
                r#""text""#,
                "mcpServers[0] cannot be used: it must be an ACP McpServer object",
            ),
            (
                r#"{"command":"c"}"#,
                "mcpServers[0] cannot be used: it has no name",
            ),
            (
                r#"{"name":"a"}"#,
                "the MCP server \"a\" cannot be used: it has no command",
            ),
            (r#"{"name":"a","url":"u"}"#, "\"type\" is \"http\" or \"sse\""),
            (
                r#"{"type":"http","name":"a"}"#,
                "the MCP server \"a\" cannot be used: it has no url",
            ),
            (
                r#"{"name":"a","command":"c","args":"x"}"#,
                "its \"args\" is not a list",
            ),
            (
                r#"{"name":"a","command":"c","args":{"x":"y"}}"#,
                "its \"args\" is not a list",
            ),
            (
                r#"{"name":"a","command":"c","env":{"K":["SECRET"]}}"#,
                "the value of \"K\" in its \"env\" is not a string",
            ),
        ] {
            let refused = mend_one(server).unwrap_err();
            assert!(
                refused.contains(words) && !refused.contains("SECRET"),
                "{server}: {refused}"
            );
        }
    }
}
