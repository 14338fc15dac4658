//! The handshake: the editor's capabilities, and the agent's capabilities for the editor.

use acpd_model::{RawJson, RequestId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::PROTOCOL_VERSION;
use super::frame::{Feature, QuestionKind};
use super::v2;
use super::version::Version;
use crate::agent::{AuthMethod, ElicitationModes};
use crate::thread::EditorCapabilities;
use crate::wire::{member, others, spliced};

/// The editor and its declared capabilities.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Client {
    /// The version that it speaks.
    pub(super) version: Version,
    /// The name in its `clientInfo`.
    pub name: String,
    /// Whether it knows notifications other than `session/update`: `clientInfo` came to ACP before them. Some editors
    /// without it, such as agentic.nvim, lose other messages when one of an unknown method arrives.
    pub knows_notifications: bool,
    /// Whether it reads files for an agent.
    pub reads_files: bool,
    /// Whether it writes files for an agent.
    pub writes_files: bool,
    /// Whether it runs terminals for an agent.
    pub terminals: bool,
    elicitation: ElicitationModes,
    notices: bool,
    compaction: bool,
    plans: bool,
    suggestions: bool,
    cursors: bool,
    subagents: bool,
    skills: bool,
}

/// The maximum length of a client's name, in characters. Longer names are shortened.
const NAME_CHARS: usize = 200;

impl Client {
    /// Reads the params of `initialize`. Members that do not follow ACP count as absent.
    pub(super) fn read(params: Option<&str>) -> Self {
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct InitializeParams {
            client_info: Value,
            client_capabilities: Value,
            capabilities: Value,
        }
        let hello: InitializeParams = params
            .and_then(|params| serde_json::from_str(params).ok())
            .unwrap_or_default();
        let declared = if hello.client_capabilities.is_null() {
            hello.capabilities
        } else {
            hello.client_capabilities
        };
        let yes = |value: &Value| value.as_bool().unwrap_or(false);
        let (session, elicitation) = (&declared["session"], &declared["elicitation"]);
        let name = hello.client_info["name"].as_str().unwrap_or("editor");
        Self {
            version: Version::One,
            knows_notifications: hello.client_info.is_object(),
            name: name.chars().take(NAME_CHARS).collect(),
            reads_files: yes(&declared["fs"]["readTextFile"]),
            writes_files: yes(&declared["fs"]["writeTextFile"]),
            terminals: yes(&declared["terminal"]),
            elicitation: ElicitationModes {
                form: elicitation["form"].is_object(),
                url: elicitation["url"].is_object(),
            },
            notices: session["notices"].is_object(),
            compaction: session["compaction"].is_object(),
            plans: declared["plan"].is_object(),
            suggestions: session["promptSuggestions"].is_object(),
            cursors: session["cursors"].is_object(),
            subagents: declared["subagents"].is_object(),
            skills: true,
        }
    }

    /// Reads the params of `initialize` of version 2. There, editors take all updates that version 1 has them declare, and carry out
    /// nothing for agents.
    pub(super) fn read_v2(params: Option<&str>) -> Self {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct InitializeParams {
            info: Value,
            capabilities: Value,
        }
        let hello: InitializeParams = params
            .and_then(|params| serde_json::from_str(params).ok())
            .unwrap_or_default();
        let declared = &hello.capabilities;
        let elicitation = &declared["elicitation"];
        let name = hello.info["name"].as_str().unwrap_or("editor");
        Self {
            version: Version::Two,
            name: name.chars().take(NAME_CHARS).collect(),
            knows_notifications: true,
            elicitation: ElicitationModes {
                form: elicitation["form"].is_object(),
                url: elicitation["url"].is_object(),
            },
            notices: true,
            compaction: true,
            plans: true,
            suggestions: declared["session"]["promptSuggestions"].is_object(),
            cursors: true,
            subagents: true,
            skills: declared["session"]["commands"]["skill"].is_object(),
            ..Self::default()
        }
    }

    /// Returns what the editor can do instead of the daemon, and which questions it can show.
    pub fn abilities(&self) -> EditorCapabilities {
        EditorCapabilities {
            reads_files: self.reads_files,
            writes_files: self.writes_files,
            terminals: self.terminals,
            elicitation: self.elicitation,
        }
    }

    /// Returns whether the editor receives updates that need this feature.
    pub(super) fn takes(&self, feature: Feature) -> bool {
        match feature {
            Feature::Notices => self.notices,
            Feature::Compaction => self.compaction,
            Feature::Plans => self.plans,
            Feature::Suggestions => self.suggestions,
            Feature::AuthStatus => self.knows_notifications,
            Feature::Subagents => self.subagents,
            Feature::Elicitation => self.elicitation != ElicitationModes::NONE,
            Feature::Cursors => self.cursors,
            Feature::Skills => self.skills,
        }
    }

    /// Returns whether the editor can answer such a question; every editor can answer a permission request.
    pub(super) fn answers(&self, question: QuestionKind) -> bool {
        match question {
            QuestionKind::Permission => true,
            QuestionKind::Form => self.elicitation.form,
            QuestionKind::Url => self.elicitation.url,
        }
    }
}

/// Returns the response to `initialize`: the agent's own, with the daemon's additions.
pub(super) fn welcome(agent: &RawJson) -> RawJson {
    let object = |json: &RawJson, name| {
        let found = member(json, name).filter(|value| value.starts_with('{'));
        found.map_or_else(|| RawJson::trusted("{}"), RawJson::trusted)
    };
    let capabilities = object(agent, "agentCapabilities");
    // These would apply to the agent's session, not to the thread: acpd itself archives threads.
    let session = object(&capabilities, "sessionCapabilities");
    let mut session = others(&session, &["archive", "status"]).unwrap_or_else(|| RawJson::trusted("{}"));
    // The agent's own description of such a capability takes precedence over the daemon's.
    for name in ["list", "resume", "close", "delete", "fork", "title"] {
        if !member(&session, name).is_some_and(|value| value.starts_with('{')) {
            session = spliced(&session, &[(name, "{}")]);
        }
    }
    let added = [("loadSession", "true"), ("sessionCapabilities", session.get())];
    let capabilities = spliced(&capabilities, &added);
    let meta = with_acpd(
        member(agent, "_meta"),
        &json!({ "version": env!("CARGO_PKG_VERSION") }),
    );
    let version = PROTOCOL_VERSION.to_string();
    let own = [
        ("protocolVersion", version.as_str()),
        ("agentCapabilities", capabilities.get()),
        ("_meta", meta.get()),
    ];
    let welcome = spliced(agent, &own);
    match member(agent, "authMethods").map(RawJson::trusted) {
        Some(methods) => spliced(&welcome, &[("authMethods", &without_terminals(&methods))]),
        None => welcome,
    }
}

/// Returns the response to `initialize` for an editor of version 2.
pub(super) fn welcome_v2(agent: &RawJson) -> RawJson {
    let meta = with_acpd(
        member(agent, "_meta"),
        &json!({ "version": env!("CARGO_PKG_VERSION") }),
    );
    let methods = member(agent, "authMethods").map(RawJson::trusted);
    let methods = methods.map(|methods| RawJson::trusted(&without_terminals(&methods)));
    let methods: Vec<RawJson> = methods
        .and_then(|methods| methods.read().ok())
        .unwrap_or_default();
    v2::welcome(agent, &methods, &meta)
}

/// Returns the agent's `_meta` with acpd's members in it.
pub(super) fn with_acpd(meta: Option<&str>, acpd: &Value) -> RawJson {
    let meta = meta.map_or_else(|| RawJson::trusted("{}"), RawJson::trusted);
    spliced(&meta, &[("acpd", &acpd.to_string())])
}

/// Removes sign-in methods that run a program. An editor would run acpd, the program that it knows, with the agent's
/// arguments.
fn without_terminals(methods: &RawJson) -> String {
    let methods: Vec<RawJson> = methods.read().unwrap_or_default();
    let is_terminal = |method: &RawJson| {
        method
            .read::<AuthMethod>()
            .is_ok_and(|method| method.is_terminal())
    };
    let kept: Vec<&str> = methods
        .iter()
        .filter(|method| !is_terminal(method))
        .map(RawJson::get)
        .collect();
    format!("[{}]", kept.join(","))
}

/// Returns the id of a question, as an editor repeats it.
pub(super) fn question_id(id: &str) -> Option<RequestId> {
    serde_json::from_str(id).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agents_own_words_stay() {
        let agent = RawJson::parse(concat!(
            r#"{"protocolVersion":1,"agentInfo":{"name":"a","version":"1","x":1.10},"agentCapabilities":{"loadSession":false,"#,
            r#""sessionCapabilities":{"list":null,"fork":{},"resume":{"k":12345678901234567890123}},"vendor":[1.0]},"#,
            r#""authMethods":[{"id":"t","type":"terminal","name":"T"},{"id":"a","name":"A","odd":1.0}],"_meta":{"steering":{}}}"#
        ))
        .unwrap();
        let version = env!("CARGO_PKG_VERSION");
        let expected = concat!(
            r#"{"protocolVersion":1,"agentInfo":{"name":"a","version":"1","x":1.10},"agentCapabilities":{"loadSession":true,"#,
            r#""sessionCapabilities":{"list":{},"fork":{},"resume":{"k":12345678901234567890123},"close":{},"delete":{},"title":{}},"#,
            r#""vendor":[1.0]},"authMethods":[{"id":"a","name":"A","odd":1.0}],"_meta":{"steering":{},"acpd":{"version":"#
        );
        assert_eq!(welcome(&agent).get(), format!("{expected}\"{version}\"}}}}}}"));
    }

    #[test]
    fn any_agent_name_is_accepted_in_the_welcome() {
        for odd in [
            "null",
            "{}",
            "[]",
            r#"{"agentCapabilities":null,"_meta":7,"authMethods":{}}"#,
        ] {
            let value: Value = welcome(&RawJson::parse(odd).unwrap()).read().unwrap();
            assert_eq!(value["protocolVersion"], 1, "{odd}");
            assert_eq!(value["agentCapabilities"]["loadSession"], true);
            assert!(value["agentCapabilities"]["sessionCapabilities"]["delete"].is_object());
            assert!(value["_meta"]["acpd"]["version"].is_string());
        }
    }

    #[test]
    fn a_client_is_read_kindly() {
        let zed = Client::read(Some(
            r#"{"protocolVersion":"1","clientInfo":{"name":"zed"},"capabilities":{"terminal":true,"fs":{"readTextFile":true}}}"#,
        ));
        assert_eq!(
            (
                zed.name.as_str(),
                zed.terminals,
                zed.reads_files,
                zed.writes_files
            ),
            ("zed", true, true, false)
        );
        assert!(zed.answers(QuestionKind::Permission) && !zed.answers(QuestionKind::Form));
        for odd in [
            None,
            Some("[]"),
            Some("7"),
            Some(r#"{"clientInfo":7,"clientCapabilities":"all"}"#),
        ] {
            let client = Client::read(odd);
            assert_eq!((&*client.name, client.knows_notifications), ("editor", false));
        }
        assert!(zed.knows_notifications);
    }
}
