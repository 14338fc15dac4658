//! What an agent declared in its answer to `initialize`, as far as somebody acts on it.

use std::collections::BTreeMap;

use acpd_model::{ErrorCode, Failure, RawJson};
use serde::Deserialize;
use serde_json::Value;

use super::quirks::Quirks;

/// What an agent can do. What it did not declare, or declared in a shape that is not ACP's, it cannot.
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
    /// `providers/list` and its like, which are not stable yet.
    pub providers: bool,
    /// `additionalDirectories`.
    pub additional_directories: bool,
    /// Image blocks in prompts.
    pub image: bool,
    /// Audio blocks in prompts.
    pub audio: bool,
    /// Embedded resources in prompts.
    pub embedded_context: bool,
    /// MCP servers over HTTP.
    pub mcp_http: bool,
    /// MCP servers over server-sent events.
    pub mcp_sse: bool,
    /// The ways to sign in.
    pub auth_methods: Vec<AuthMethod>,
    /// What is known to be odd about it.
    pub quirks: Quirks,
}

/// A way to sign in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AuthMethod {
    /// The agent's id for it.
    pub id: String,
    /// `terminal` where a person does it in a terminal, with the agent's own program; `authenticate` is not for that.
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    /// For a terminal: what follows the agent's own arguments.
    #[serde(default)]
    pub args: Option<Vec<String>>,
    /// For a terminal: variables to set.
    #[serde(default)]
    pub env: Option<BTreeMap<String, String>>,
}

impl AuthMethod {
    /// Reads ACP's `authMethods`; what is none is left out.
    pub fn list(methods: &RawJson) -> Vec<Self> {
        let methods: Vec<RawJson> = methods.read().unwrap_or_default();
        methods.iter().filter_map(|method| method.read().ok()).collect()
    }

    /// Whether a person does it in a terminal.
    pub fn is_terminal(&self) -> bool {
        self.kind.as_deref() == Some("terminal")
    }
}

/// The members of the answer that somebody acts on.
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
    /// Reads the result of `initialize`.
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
            image: flag(&prompt["image"]),
            audio: flag(&prompt["audio"]),
            embedded_context: flag(&prompt["embeddedContext"]),
            mcp_http: flag(&mcp["http"]),
            mcp_sse: flag(&mcp["sse"]),
            auth_methods: hello
                .auth_methods
                .map_or_else(Vec::new, |methods| AuthMethod::list(&methods)),
            quirks: Quirks::of(info["name"].as_str().unwrap_or_default()),
        }
    }

    /// Refuses MCP servers over a transport that the agent did not declare; stdio every agent must have.
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
                "stdio" => true,
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

    /// The ids of the ways to sign in.
    pub(super) fn auth_method_ids(&self) -> String {
        let ids: Vec<&str> = self
            .auth_methods
            .iter()
            .map(|method| method.id.as_str())
            .collect();
        ids.join(", ")
    }

    pub(super) fn check_auth_method(&self, id: &str) -> Result<(), Failure> {
        match self.auth_methods.iter().find(|known| known.id == id) {
            Some(method) if method.is_terminal() => {
                return Err(Failure::new(
                    ErrorCode::Unsupported,
                    format!("signing in by {id:?} needs a terminal: run \"acpd agents login AGENT {id}\""),
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
