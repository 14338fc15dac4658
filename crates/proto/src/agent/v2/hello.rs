//! The handshake.

use acpd_model::RawJson;
use serde_json::{Map, Value};

use super::parts::{empty, list, object_in, objects_in, renamed, text_in};
use crate::agent::elicitation_modes::ElicitationModes;
use crate::wire::{member, object, others, spliced};

/// Flags of prompts, which are objects in version 2.
const PROMPT_FLAGS: [&str; 3] = ["image", "audio", "embeddedContext"];
/// Transports of MCP servers, which are objects in version 2.
const TRANSPORTS: [&str; 3] = ["stdio", "http", "sse"];
/// Methods that every agent with sessions has in version 2.
const REQUIRED: [&str; 3] = ["list", "resume", "close"];

/// Returns the capabilities that the daemon declares in version 2.
pub(in crate::agent) fn client_capabilities(elicitation: ElicitationModes) -> String {
    let elicitation = elicitation.member();
    [
        r#"{"auth":{"terminal":{}},"#,
        elicitation,
        r#""session":{"commands":{"skill":{}},"promptSuggestions":{}}}"#,
    ]
    .concat()
}

/// Returns an answer to `initialize` with version 2 in the form of version 1; `None` if it only has the number of version 2, and members of
/// version 1. Some agents repeat any number that they are asked for.
pub(in crate::agent) fn hello(answer: &RawJson) -> Option<RawJson> {
    if member(answer, "agentCapabilities").is_some() {
        return None;
    }
    let info = object_in(answer, "info")?;
    let declared = object_in(answer, "capabilities")?;
    let methods = objects_in(answer, "authMethods").unwrap_or_default();
    let methods: Vec<RawJson> = methods.iter().map(auth_method).collect();
    let capabilities = capabilities(&declared, !methods.is_empty());
    let rest = others(
        answer,
        &[
            "protocolVersion",
            "info",
            "capabilities",
            "authMethods",
            "agentInfo",
        ],
    );
    Some(object(|out| {
        out.put("protocolVersion", &1)
            .raw("agentInfo", info.get())
            .raw("agentCapabilities", capabilities.get())
            .raw("authMethods", &list(methods))
            .others(rest.as_ref());
    }))
}

/// Returns whether an agent of version 2 declares that it has sessions.
pub(in crate::agent) fn has_sessions(answer: &RawJson) -> bool {
    object_in(answer, "capabilities").is_some_and(|declared| object_in(&declared, "session").is_some())
}

fn capabilities(declared: &RawJson, signs_in: bool) -> RawJson {
    let session = object_in(declared, "session").unwrap_or_else(empty);
    let prompt = object_in(&session, "prompt").unwrap_or_else(empty);
    let mcp = object_in(&session, "mcp").unwrap_or_else(empty);
    // The daemon has no servers that answer through the connection, and in version 1 this is a boolean.
    let mcp = others(&mcp, &["acp"]).unwrap_or_else(empty);
    let auth = object_in(declared, "auth").unwrap_or_else(empty);
    let declared = others(declared, &["session", "auth", "loadSession"]);
    let methods = others(&session, &["prompt", "mcp", "list", "resume", "close"]);
    object(|out| {
        out.put("loadSession", &true)
            .raw("promptCapabilities", flags(&prompt, &PROMPT_FLAGS).get())
            .raw("mcpCapabilities", flags(&mcp, &TRANSPORTS).get())
            .object("sessionCapabilities", |session| {
                for name in REQUIRED {
                    session.raw(name, "{}");
                }
                session.others(methods.as_ref());
            })
            .object("auth", |out| {
                if signs_in {
                    out.raw("logout", "{}");
                }
                out.others(others(&auth, &["logout"]).as_ref());
            })
            .others(declared.as_ref());
    })
}

/// Returns an object with these members as booleans, and its others unchanged.
fn flags(declared: &RawJson, names: &[&str]) -> RawJson {
    let rest = others(declared, names);
    object(|out| {
        for name in names {
            out.put(name, &object_in(declared, name).is_some());
        }
        out.others(rest.as_ref());
    })
}

fn auth_method(method: &RawJson) -> RawJson {
    let method = renamed(method, &[("methodId", "id")]);
    let Some(variables) = objects_in(&method, "env") else {
        return method;
    };
    let named = |variable: &RawJson| {
        let value = Value::from(text_in(variable, "value")?);
        Some((text_in(variable, "name")?, value))
    };
    let variables: Map<String, Value> = variables.iter().filter_map(named).collect();
    spliced(&method, &[("env", &Value::from(variables).to_string())])
}
