//! Secrets in recorded messages.
//!
//! A member counts as a secret if its name says so, wherever it is; so does the value of an environment variable or header of
//! an MCP server, its arguments, and what a person types into a terminal. A secret that a person types into a prompt is not
//! recognized.

use std::borrow::Cow;

use acpd_model::json;
use serde_json::Value;

const REDACTED: &str = "[redacted]";

/// Parts of the names of members whose texts are secrets, without `-` and `_`.
const SECRETS: [&str; 9] = [
    "token",
    "ticket",
    "password",
    "passphrase",
    "secret",
    "apikey",
    "authorization",
    "cookie",
    "credential",
];

/// The method whose `text` is typed into a terminal, where it may be a password.
const TYPED: &str = "thread/terminal/write";

/// The member with MCP servers, whose arguments often are keys.
const MCP_SERVERS: &str = "mcpServers";

/// Returns the message without secrets: the text itself if it has none.
pub(super) fn redacted(text: &str) -> Cow<'_, str> {
    if !may_have_secrets(text) {
        return Cow::Borrowed(text);
    }
    let Ok(mut value) = json::read::<Value>(text) else {
        return Cow::Borrowed(text);
    };
    if redact(&mut value) {
        Cow::Owned(value.to_string())
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns whether a name in the text could be one of a secret. Most messages have none, so they are not parsed.
fn may_have_secrets(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let names = [
        TYPED,
        "api-key",
        "api_key",
        "pass-phrase",
        "pass_phrase",
        "\"env\"",
        "\"mcpservers\"",
        "\"headers\"",
        "\\u",
        // Escaped slashes in the name of a method.
        "\\/",
    ];
    SECRETS.iter().chain(&names).any(|part| lower.contains(part))
}

/// Redacts a value. Returns whether it had a secret.
fn redact(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => {
            let mut found = false;
            if members.get("method").is_some_and(|method| method == TYPED)
                && let Some(text) = members
                    .get_mut("params")
                    .and_then(|params| params.get_mut("text"))
            {
                found = hide(text);
            }
            for (name, value) in members {
                found |= if is_secret(name) {
                    hide(value)
                } else if matches!(name.as_str(), "env" | "headers") {
                    hide_variables(value)
                } else if name == MCP_SERVERS {
                    hide_args(value) | redact(value)
                } else {
                    redact(value)
                };
            }
            found
        }
        Value::Array(values) => values
            .iter_mut()
            .fold(false, |found, value| redact(value) | found),
        _ => false,
    }
}

fn is_secret(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(|character| !"-_".contains(*character))
        .collect();
    let plain = plain.to_ascii_lowercase();
    SECRETS.iter().any(|secret| plain.contains(secret))
}

/// Hides all texts of a value. Numbers, such as numbers of tokens, are not secret.
fn hide(value: &mut Value) -> bool {
    match value {
        Value::String(text) if !text.is_empty() => {
            REDACTED.clone_into(text);
            true
        }
        Value::Object(members) => members
            .values_mut()
            .fold(false, |found, value| hide(value) | found),
        Value::Array(values) => values.iter_mut().fold(false, |found, value| hide(value) | found),
        _ => false,
    }
}

/// Hides the arguments of MCP servers.
fn hide_args(servers: &mut Value) -> bool {
    let servers = servers.as_array_mut().into_iter().flatten();
    servers.fold(false, |found, server| {
        server.get_mut("args").is_some_and(hide) | found
    })
}

/// Hides the values of ACP's `[{"name", "value"}]`, or of an object of variables.
fn hide_variables(value: &mut Value) -> bool {
    match value {
        Value::Array(variables) => {
            let hide_value = |variable: &mut Value| variable.get_mut("value").is_some_and(hide);
            variables
                .iter_mut()
                .fold(false, |found, variable| hide_value(variable) | found)
        }
        other => hide(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_wherever_they_are() {
        for (text, expected) in [
            (
                r#"{"params":{"token":"s"}}"#,
                r#"{"params":{"token":"[redacted]"}}"#,
            ),
            (
                r#"{"Access-Token":{"a":["s"]}}"#,
                r#"{"Access-Token":{"a":["[redacted]"]}}"#,
            ),
            (
                r#"{"_meta":{"api-key":"s"}}"#,
                r#"{"_meta":{"api-key":"[redacted]"}}"#,
            ),
            (r#"{"tok\u0065n":"s"}"#, r#"{"token":"[redacted]"}"#),
            (
                r#"{"mcpServers":[{"env":[{"name":"KEY","value":"s"}]},{"headers":[{"name":"X","value":"s"}]}]}"#,
                r#"{"mcpServers":[{"env":[{"name":"KEY","value":"[redacted]"}]},{"headers":[{"name":"X","value":"[redacted]"}]}]}"#,
            ),
            (
                r#"{"mcpServers":[{"args":["--key","s"],"command":"x"},{"args":[],"env":[{"name":"KEY","value":"s"}]}]}"#,
                r#"{"mcpServers":[{"args":["[redacted]","[redacted]"],"command":"x"},{"args":[],"env":[{"name":"KEY","value":"[redacted]"}]}]}"#,
            ),
            (
                r#"{"method":"thread\/terminal\/write","params":{"text":"s"}}"#,
                r#"{"method":"thread/terminal/write","params":{"text":"[redacted]"}}"#,
            ),
            (
                r#"{"method":"thread/terminal/write","params":{"terminalId":"t","text":"s"}}"#,
                r#"{"method":"thread/terminal/write","params":{"terminalId":"t","text":"[redacted]"}}"#,
            ),
            (r#"{"env":{"KEY":"s"}}"#, r#"{"env":{"KEY":"[redacted]"}}"#),
        ] {
            assert_eq!(redacted(text), expected);
        }
    }

    #[test]
    fn other_messages_stay_as_they_are() {
        for text in [
            r#"{"usage":{"inputTokens":7, "n":1.10}}"#,
            r#"{"prompt":"my token is not known to be one"}"#,
            r#"{"token":"#,
            "no JSON with a token",
            r#"{"token":null,"env":[]}"#,
            r#"{"method":"terminal/create","params":{"command":"ls","args":["-l"]}}"#,
            r#"{"mcpServers":[],"args":["-l"]}"#,
        ] {
            assert!(
                matches!(redacted(text), Cow::Borrowed(same) if same == text),
                "{text}"
            );
        }
    }
}
