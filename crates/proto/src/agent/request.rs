//! Requests to an agent other than prompts: modes and options, sessions, authentication, extensions.

use acpd_model::{ErrorCode, Failure, RawJson};

use super::capabilities::Capabilities;
use super::extension::check_extension;
use crate::wire::{Object, RpcError};

/// A request to the agent that a client caused.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentRequest {
    /// `session/set_mode`.
    SetMode {
        /// The agent's id for the mode.
        mode_id: String,
    },
    /// `session/set_model`, which older agents have instead of a config option.
    SetModel {
        /// The agent's id for the model.
        model_id: String,
    },
    /// `session/set_config_option`.
    SetConfigOption {
        /// The agent's id for the option.
        config_id: String,
        /// The new value.
        value: ConfigValue,
    },
    /// `authenticate`.
    Authenticate {
        /// The id of one of the agent's `authMethods`.
        method_id: String,
        /// More members of the params, as an object; passed on unchanged.
        members: Option<RawJson>,
    },
    /// `logout`.
    Logout,
    /// `session/list`.
    ListSessions {
        /// Limits the list to sessions of this directory.
        cwd: Option<String>,
        /// The cursor from the previous page.
        cursor: Option<String>,
    },
    /// `session/options`: the modes and options with which a session begins, which is not stable yet.
    SessionOptions {
        /// The directory of the session.
        cwd: String,
        /// Further directories of the session.
        additional_directories: Vec<String>,
        /// Whether it is about the connection's session. Otherwise it is about a new one.
        of_session: bool,
    },
    /// `session/delete`.
    DeleteSession {
        /// The agent's id for the session.
        session_id: String,
    },
    /// `session/fork` of the connection's session.
    ForkSession {
        /// The cursor to fork at, as the agent announced it; `None` for the session in its current state.
        cursor: Option<String>,
    },
    /// `session/close` of a session that the connection does not use.
    CloseSession {
        /// The agent's id for the session.
        session_id: String,
    },
    /// `_session/steering`: input for the running turn. If no turn runs, the agent must not start one.
    Steer {
        /// ACP content blocks.
        prompt: Vec<RawJson>,
    },
    /// A method of ACP that belongs to the agent's process and not to a session; passed on unchanged.
    Passthrough {
        /// The method.
        method: PassthroughMethod,
        /// The params, passed on unchanged.
        params: Option<RawJson>,
    },
    /// A request outside ACP; its name begins with `_`.
    Extension {
        /// The method.
        method: String,
        /// The params, passed on unchanged.
        params: Option<RawJson>,
    },
}

/// A request that acpd passes through: the agent answers it, if it declared the capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassthroughMethod {
    /// `auth/status`.
    AuthStatus,
    /// `providers/disable`.
    DisableProvider,
    /// `providers/list`.
    ListProviders,
    /// `providers/set`.
    SetProvider,
}

impl PassthroughMethod {
    fn method(self) -> &'static str {
        match self {
            Self::AuthStatus => "auth/status",
            Self::DisableProvider => "providers/disable",
            Self::ListProviders => "providers/list",
            Self::SetProvider => "providers/set",
        }
    }
}

/// The value of a config option.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(untagged, expecting = "a value is a string or a boolean")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ConfigValue {
    /// The value of a boolean option.
    Boolean(bool),
    /// The id of one value of a select option.
    Id(String),
}

impl ConfigValue {
    /// Returns the size of the value, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Boolean(_) => 1,
            Self::Id(id) => id.len(),
        }
    }

    /// Adds the members that set an option to the value.
    pub(super) fn fill(&self, params: &mut Object<'_>, config_id: &str) {
        params.put("configId", config_id);
        match self {
            Self::Id(id) => params.put("value", id),
            Self::Boolean(value) => params.put("type", "boolean").put("value", value),
        };
    }

    /// Returns the value as in ACP.
    pub fn to_json(&self) -> RawJson {
        match self {
            Self::Boolean(value) => serde_json::Value::from(*value).into(),
            Self::Id(id) => serde_json::Value::from(id.as_str()).into(),
        }
    }
}

/// Values from the connection that a request's params contain.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestContext<'a> {
    pub session: &'a str,
    pub cwd: &'a str,
    /// Empty if the agent does not support them.
    pub additional_directories: &'a [String],
    pub mcp_servers: &'a [RawJson],
    /// `_meta` of the request that opened the session.
    pub meta: Option<&'a RawJson>,
    /// The additional members of the same request.
    pub members: Option<&'a RawJson>,
    /// The system prompt of the session.
    pub system_prompt: Option<&'a RawJson>,
}

impl AgentRequest {
    /// Returns the request's method in ACP.
    pub fn method(&self) -> &str {
        match self {
            Self::SetMode { .. } => "session/set_mode",
            Self::SetModel { .. } => "session/set_model",
            Self::SetConfigOption { .. } => "session/set_config_option",
            Self::Authenticate { .. } => "authenticate",
            Self::Logout => "logout",
            Self::ListSessions { .. } => "session/list",
            Self::SessionOptions { .. } => "session/options",
            Self::DeleteSession { .. } => "session/delete",
            Self::ForkSession { .. } => "session/fork",
            Self::CloseSession { .. } => "session/close",
            Self::Steer { .. } => "_session/steering",
            Self::Passthrough { method, .. } => method.method(),
            Self::Extension { method, .. } => method,
        }
    }

    /// Returns the size of the contents, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let of = |texts: &[RawJson]| texts.iter().map(|text| text.get().len()).sum::<usize>();
        match self {
            Self::SetMode { mode_id: id }
            | Self::SetModel { model_id: id }
            | Self::DeleteSession { session_id: id }
            | Self::CloseSession { session_id: id } => id.len(),
            Self::SetConfigOption { config_id, value } => config_id.len() + value.bytes(),
            Self::Authenticate { method_id, members } => method_id.len() + of(members.as_slice()),
            Self::ListSessions { cwd, cursor } => [cwd, cursor].into_iter().flatten().map(String::len).sum(),
            Self::SessionOptions {
                cwd,
                additional_directories,
                ..
            } => cwd.len() + additional_directories.iter().map(String::len).sum::<usize>(),
            Self::Steer { prompt } => of(prompt),
            Self::Passthrough { params, .. } => of(params.as_slice()),
            Self::Extension { method, params } => method.len() + of(params.as_slice()),
            Self::ForkSession { cursor } => cursor.as_ref().map_or(0, String::len),
            Self::Logout => 0,
        }
    }

    /// Rejects a request whose capability the agent did not declare.
    pub fn check(&self, capabilities: &Capabilities, agent: &str) -> Result<(), Failure> {
        let (declared, name) = match self {
            Self::Logout => (capabilities.logout, "auth.logout"),
            Self::ListSessions { .. } => (capabilities.list, "sessionCapabilities.list"),
            Self::SessionOptions { .. } => (capabilities.options, "sessionCapabilities.options"),
            Self::DeleteSession { .. } => (capabilities.delete, "sessionCapabilities.delete"),
            Self::ForkSession { .. } => (capabilities.fork, "sessionCapabilities.fork"),
            Self::CloseSession { .. } => (capabilities.close, "sessionCapabilities.close"),
            Self::Steer { .. } => (capabilities.steering, "_meta.steering.supported"),
            Self::Passthrough {
                method: PassthroughMethod::AuthStatus,
                ..
            } => (capabilities.auth_status, "auth.status"),
            Self::Passthrough { .. } => (capabilities.providers, "providers"),
            Self::Authenticate { method_id, .. } => return capabilities.check_auth_method(method_id, agent),
            Self::Extension { method, .. } => return check_extension(method),
            Self::SetMode { .. } | Self::SetModel { .. } | Self::SetConfigOption { .. } => return Ok(()),
        };
        if declared {
            return Ok(());
        }
        let method = self.method();
        Err(Failure::new(
            ErrorCode::Unsupported,
            format!("the agent has no {method}: it did not declare {name}"),
        ))
    }

    /// Returns the failure for a client whose request the agent rejected; it contains the agent's own error.
    pub fn refused(method: &str, error: &RpcError) -> Failure {
        let failure = Failure::agent(format!("the agent refused {method}: {error}"));
        match RawJson::of(error) {
            Ok(error) => failure.with_agent_error(error),
            Err(_) => failure,
        }
    }

    pub(super) fn fill(&self, params: &mut Object<'_>, context: RequestContext<'_>) {
        match self {
            Self::SetMode { mode_id } => {
                params.put("sessionId", context.session).put("modeId", mode_id);
            }
            Self::SetModel { model_id } => {
                params.put("sessionId", context.session).put("modelId", model_id);
            }
            Self::SetConfigOption { config_id, value } => {
                params.put("sessionId", context.session);
                value.fill(params, config_id);
            }
            Self::Authenticate { method_id, members } => {
                params.put("methodId", method_id).others(members.as_ref());
            }
            Self::ListSessions { cwd, cursor } => {
                params.maybe("cwd", cwd.as_ref()).maybe("cursor", cursor.as_ref());
            }
            Self::SessionOptions {
                cwd,
                additional_directories,
                of_session,
            } => {
                if *of_session {
                    params.put("sessionId", context.session);
                }
                params.put("cwd", cwd);
                if !additional_directories.is_empty() {
                    params.put("additionalDirectories", additional_directories);
                }
            }
            Self::Steer { prompt } => {
                params.put("sessionId", context.session).put("prompt", prompt);
                params.raw("_meta", r#"{"steering":{"idleBehavior":"promptRequired"}}"#);
            }
            Self::DeleteSession { session_id } | Self::CloseSession { session_id } => {
                params.put("sessionId", session_id);
            }
            Self::ForkSession { cursor } => {
                params
                    .put("sessionId", context.session)
                    .maybe("cursorId", cursor.as_ref())
                    .put("cwd", context.cwd)
                    .put("mcpServers", context.mcp_servers);
                if !context.additional_directories.is_empty() {
                    params.put("additionalDirectories", context.additional_directories);
                }
                params.json("systemPrompt", context.system_prompt);
                params.json("_meta", context.meta);
                params.others(context.members);
            }
            Self::Logout | Self::Passthrough { .. } | Self::Extension { .. } => {}
        }
    }
}
