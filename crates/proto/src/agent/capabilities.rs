//! The capabilities from an agent's answer to `initialize` that the daemon uses.

use std::collections::BTreeMap;

use acpd_model::{ErrorCode, Failure, RawJson};
use serde::Deserialize;
use serde_json::Value;

use super::quirks::Quirks;
use super::system_prompt::SystemPromptModes;

/// The capabilities of an agent. A capability that is missing, or has a shape other than ACP's, counts as
/// unsupported.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// `session/load`.
    pub load: bool,
    /// `session/resume`.
    pub resume: bool,
    /// `session/list`.
    pub list: bool,
    /// `session/close`.
    pub close: bool,
    /// `session/delete`.
    pub delete: bool,
    /// `session/fork`, which is not stable yet.
    pub fork: bool,
    /// `_session/steering`, an extension that several agents have.
    pub steering: bool,
    /// `logout`.
    pub logout: bool,
    /// `auth/status`, which is not stable yet.
    pub auth_status: bool,
    /// `providers/list` and the other provider methods, which are not stable yet.
    pub providers: bool,
    /// `additionalDirectories`.
    pub additional_directories: bool,
    /// `session/options` and initial values of options, which are not stable yet.
    pub options: bool,
    /// `systemPrompt`.
    pub system_prompt: SystemPromptModes,
    /// Image blocks in prompts.
    pub image: bool,
    /// Audio blocks in prompts.
    pub audio: bool,
    /// Embedded resources in prompts.
    pub embedded_context: bool,
    /// Skills in prompts, which are not stable yet.
    pub skills: SkillBlocks,
    /// Whether the agent takes no MCP servers that are programs, as in version 2 it may. In version 1, every agent takes them.
    pub lacks_mcp_stdio: bool,
    /// MCP servers over HTTP.
    pub mcp_http: bool,
    /// MCP servers over server-sent events.
    pub mcp_sse: bool,
    /// The authentication methods.
    pub auth_methods: Vec<AuthMethod>,
    /// The agent's known quirks.
    pub quirks: Quirks,
    /// The agent's name, from `agentInfo`; empty if it declares none.
    pub name: String,
}

/// Where a prompt may invoke skills of the agent by `skill` blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SkillBlocks {
    /// Nowhere.
    #[default]
    Nowhere,
    /// One, as the first block.
    First,
    /// Any number, anywhere.
    Anywhere,
}

impl SkillBlocks {
    fn of(declared: &Value) -> Self {
        match (declared.is_object(), declared["inline"].is_object()) {
            (false, _) => Self::Nowhere,
            (true, false) => Self::First,
            (true, true) => Self::Anywhere,
        }
    }
}

/// An authentication method of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AuthMethod {
    /// The agent's id for the method.
    pub id: String,
    /// `terminal` if the user signs in with the agent's own program in a terminal; `authenticate` does not support
    /// this kind.
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    /// For a terminal: arguments to append to the agent's own arguments.
    #[serde(default)]
    pub args: Option<Vec<String>>,
    /// For a terminal: environment variables to set.
    #[serde(default)]
    pub env: Option<BTreeMap<String, String>>,
}

impl AuthMethod {
    /// Parses ACP's `authMethods`; skips invalid entries.
    pub fn list(methods: &RawJson) -> Vec<Self> {
        let methods: Vec<RawJson> = methods.read().unwrap_or_default();
        methods.iter().filter_map(|method| method.read().ok()).collect()
    }

    /// Returns whether the user signs in with a program in a terminal.
    pub fn is_terminal(&self) -> bool {
        self.kind.as_deref() == Some("terminal")
    }
}

/// The members of the answer to `initialize` that the daemon uses.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct InitializeResult {
    agent_capabilities: Option<Value>,
    agent_info: Option<Value>,
    auth_methods: Option<RawJson>,
    #[serde(rename = "_meta")]
    meta: Option<Value>,
}

impl Capabilities {
    /// Parses the result of `initialize`.
    pub fn read(hello: &RawJson) -> Self {
        let hello: InitializeResult = hello.read().unwrap_or_default();
        let declared = hello.agent_capabilities.unwrap_or_default();
        let session = &declared["sessionCapabilities"];
        let prompt = &declared["promptCapabilities"];
        let mcp = &declared["mcpCapabilities"];
        let flag = |value: &Value| value.as_bool().unwrap_or(false);
        let info = hello.agent_info.unwrap_or_default();
        Self {
            load: flag(&declared["loadSession"]),
            resume: session["resume"].is_object(),
            list: session["list"].is_object(),
            close: session["close"].is_object(),
            delete: session["delete"].is_object(),
            fork: session["fork"].is_object(),
            steering: flag(&hello.meta.unwrap_or_default()["steering"]["supported"]),
            logout: declared["auth"]["logout"].is_object(),
            auth_status: declared["auth"]["status"].is_object(),
            providers: declared["providers"].is_object(),
            additional_directories: session["additionalDirectories"].is_object(),
            options: session["options"].is_object(),
            system_prompt: SystemPromptModes::read(&session["systemPrompt"]),
            image: flag(&prompt["image"]),
            audio: flag(&prompt["audio"]),
            embedded_context: flag(&prompt["embeddedContext"]),
            skills: SkillBlocks::of(&prompt["skill"]),
            lacks_mcp_stdio: mcp["stdio"] == Value::Bool(false),
            mcp_http: flag(&mcp["http"]),
            mcp_sse: flag(&mcp["sse"]),
            auth_methods: hello
                .auth_methods
                .map_or_else(Vec::new, |methods| AuthMethod::list(&methods)),
            quirks: Quirks::of(info["name"].as_str().unwrap_or_default()),
            name: info["name"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// Rejects MCP servers over a transport that the agent did not declare.
    pub(crate) fn check_mcp_servers(&self, servers: &[RawJson]) -> Result<(), Failure> {
        #[derive(Deserialize)]
        struct Server {
            #[serde(default)]
            name: String,
            #[serde(rename = "type", default)]
            transport: Option<String>,
        }
        for server in servers {
            let Ok(Server { name, transport }) = server.read() else {
                return Err(Failure::invalid_params(
                    "each of mcpServers must be an ACP McpServer object",
                ));
            };
            let transport = transport.as_deref().unwrap_or("stdio");
            let takes = match transport {
                "stdio" => !self.lacks_mcp_stdio,
                "http" => self.mcp_http,
                "sse" => self.mcp_sse,
                _ => false,
            };
            if !takes {
                return Err(Failure::new(
                    ErrorCode::Unsupported,
                    format!(
                        "the agent takes no MCP servers over {transport}, as {name:?} is: it did not declare \
                         mcpCapabilities.{transport}"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Returns the ids of the authentication methods, separated by commas.
    pub(super) fn auth_method_ids(&self) -> String {
        let ids: Vec<&str> = self
            .auth_methods
            .iter()
            .map(|method| method.id.as_str())
            .collect();
        ids.join(", ")
    }

    pub(super) fn check_auth_method(&self, id: &str, agent: &str) -> Result<(), Failure> {
        match self.auth_methods.iter().find(|known| known.id == id) {
            Some(method) if method.is_terminal() => {
                return Err(Failure::new(
                    ErrorCode::Unsupported,
                    format!("signing in by {id:?} needs a terminal: run \"acpd agents login {agent} {id}\""),
                ));
            }
            Some(_) => return Ok(()),
            None => {}
        }
        let known = if self.auth_methods.is_empty() {
            "it offers none".to_owned()
        } else {
            format!("it offers {}", self.auth_method_ids())
        };
        Err(Failure::invalid_params(format!(
            "the agent has no way to sign in named {id:?}: {known}"
        )))
    }
}
