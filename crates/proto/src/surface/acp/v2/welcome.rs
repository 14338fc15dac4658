//! The response to `initialize` in version 2.

use acpd_model::RawJson;

use super::parts::object_in;
use crate::wire::{Object, decoded, has_string, member, members, object};

/// Returns the response to `initialize`: what the agent declares in version 1, in the words of version 2, with the daemon's additions.
/// `methods` are the ways to sign in.
pub(in crate::surface::acp) fn welcome(agent: &RawJson, methods: &[RawJson], meta: &RawJson) -> RawJson {
    let theirs = object_in(agent, "agentCapabilities");
    let prompts = object_in(&theirs, "promptCapabilities");
    let servers = object_in(&theirs, "mcpCapabilities");
    let sessions = object_in(&theirs, "sessionCapabilities");
    let auth = object_in(&theirs, "auth");
    object(|welcome| {
        welcome.put("protocolVersion", &2);
        match member(agent, "agentInfo").filter(|info| is_info(info)) {
            Some(info) => welcome.raw("info", info),
            None => welcome.object("info", |info| {
                info.plain("name", "acpd")
                    .plain("version", env!("CARGO_PKG_VERSION"));
            }),
        };
        welcome.object("capabilities", |capabilities| {
            capabilities.object("session", |session| {
                session.object("prompt", |prompt| {
                    for name in ["image", "audio", "embeddedContext"] {
                        if member(&prompts, name) == Some("true") {
                            prompt.raw(name, "{}");
                        }
                    }
                    pass_objects(prompt, &prompts, &["skill"]);
                });
                session.object("mcp", |mcp| {
                    mcp.raw("stdio", "{}");
                    if member(&servers, "http") == Some("true") {
                        mcp.raw("http", "{}");
                    }
                });
                pass_objects(
                    session,
                    &sessions,
                    &["additionalDirectories", "systemPrompt", "options"],
                );
                for name in ["delete", "fork", "title"] {
                    session.raw(name, "{}");
                }
            });
            capabilities.object("auth", |out| pass_objects(out, &auth, &["status"]));
            pass_objects(capabilities, &theirs, &["providers", "_meta"]);
        });
        welcome
            .list("authMethods", &auth_methods(methods))
            .raw("_meta", meta.get());
    })
}

/// Writes these members of `from` that are objects.
fn pass_objects(out: &mut Object<'_>, from: &RawJson, names: &[&str]) {
    for name in names {
        if let Some(value) = member(from, name).filter(|value| value.starts_with('{')) {
            out.raw(name, value);
        }
    }
}

fn is_info(info: &str) -> bool {
    let info = RawJson::trusted(info);
    has_string(&info, "name") && has_string(&info, "version")
}

/// Returns the ways to sign in that have an id and a name.
fn auth_methods(methods: &[RawJson]) -> Vec<RawJson> {
    let named = methods
        .iter()
        .filter(|method| has_string(method, "id") && has_string(method, "name"));
    named
        .map(|method| {
            object(|out| {
                members(method, |key, value| match &*decoded(key) {
                    "id" => {
                        out.raw("methodId", value);
                    }
                    "type" => {}
                    _ => {
                        out.raw(key, value);
                    }
                });
                out.raw("type", member(method, "type").unwrap_or("\"agent\""));
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn welcomed(agent: &str) -> Value {
        let agent = RawJson::parse(agent).unwrap();
        let methods = member(&agent, "authMethods").map(RawJson::trusted);
        let methods: Vec<RawJson> = methods
            .and_then(|methods| methods.read().ok())
            .unwrap_or_default();
        welcome(&agent, &methods, &RawJson::trusted("{}")).read().unwrap()
    }

    #[test]
    fn capabilities_of_version_1_become_those_of_version_2() {
        let welcome = welcomed(concat!(
            r#"{"protocolVersion":1,"agentInfo":{"name":"a","version":"1"},"agentCapabilities":{"loadSession":true,"#,
            r#""promptCapabilities":{"image":true,"audio":false,"skill":{"inline":{}}},"_meta":{"x":1},"mcpCapabilities":{"http":true,"sse":true},"#,
            r#""sessionCapabilities":{"additionalDirectories":{},"archive":{}}},"#,
            r#""authMethods":[{"id":"t","type":"_own","name":"T"},{"id":"a","name":"A"},7]}"#
        ));
        assert_eq!(
            welcome,
            json!({
                "protocolVersion": 2,
                "info": { "name": "a", "version": "1" },
                "capabilities": {
                    "session": {
                        "prompt": { "image": {}, "skill": { "inline": {} } }, "mcp": { "stdio": {}, "http": {} }, "additionalDirectories": {},
                        "delete": {}, "fork": {}, "title": {},
                    },
                    "auth": {},
                    "_meta": { "x": 1 },
                },
                "authMethods": [
                    { "methodId": "t", "name": "T", "type": "_own" }, { "methodId": "a", "name": "A", "type": "agent" },
                ],
                "_meta": {},
            })
        );
    }

    #[test]
    fn any_agent_is_welcome() {
        for odd in [
            "null",
            "[]",
            r#"{"agentInfo":7,"agentCapabilities":null,"authMethods":{}}"#,
        ] {
            let welcome = welcomed(odd);
            assert_eq!(welcome["info"]["name"], "acpd", "{odd}");
            assert!(welcome["capabilities"]["session"]["delete"].is_object());
            assert_eq!(welcome["authMethods"], json!([]));
        }
    }
}
