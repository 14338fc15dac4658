//! What we ask of an agent beside prompts: its modes and options, its sessions, signing in, extensions.

use acpd_model::{ErrorCode, Failure, RawJson};

use super::capabilities::Capabilities;
use crate::wire::{Object, RpcError};

/// A request to the agent that a client caused.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentRequest {
    /// `session/set_mode`.
    SetMode {
        /// The agent's id for it.
        mode_id: String,
    },
    /// `session/set_model`, which older agents have in place of a config option.
    SetModel {
        /// The agent's id for it.
        model_id: String,
    },
    /// `session/set_config_option`.
    SetConfigOption {
        /// The agent's id for the option.
        config_id: String,
        /// What it is to be.
        value: ConfigValue,
    },
    /// `authenticate`.
    Authenticate {
        /// One of the agent's `authMethods`.
        method_id: String,
        /// Further members of the params, an object; passed on as they came.
        members: Option<RawJson>,
    },
    /// `logout`.
    Logout,
    /// `session/list`.
    ListSessions {
        /// Only those of this directory.
        cwd: Option<String>,
        /// Where the last page ended.
        cursor: Option<String>,
    },
    /// `session/delete`.
    DeleteSession {
        /// Which.
        session_id: String,
    },
    /// `session/fork` of the connection's session, as it is now.
    ForkSession,
    /// `session/close` of one that the connection does not use.
    CloseSession {
        /// Which.
        session_id: String,
    },
    /// `_session/steering`: words for the turn that runs. If none does, the agent is not to begin one.
    Steer {
        /// ACP content blocks.
        prompt: Vec<RawJson>,
    },
    /// One of ACP's own that belongs to the agent's process and to no session; passed on as it came.
    Passthrough {
        /// Which.
        method: PassthroughMethod,
        /// Params, passed on as they came.
        params: Option<RawJson>,
    },
    /// A request that ACP does not know; its name begins with `_`.
    Extension {
        /// Method.
        method: String,
        /// Params, passed on as they came.
        params: Option<RawJson>,
    },
}

/// A request that acpd takes no part in: the agent answers it, if it declared that it can.
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
    /// The one of that name.
    pub fn of(method: &str) -> Option<Self> {
        let all = [
            Self::AuthStatus,
            Self::DisableProvider,
            Self::ListProviders,
            Self::SetProvider,
        ];
        all.into_iter().find(|passed| passed.method() == method)
    }

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
    /// Value of a boolean option.
    Boolean(bool),
    /// Id of one of a select option's values.
    Id(String),
}

/// What a request's params need from the connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestContext<'a> {
    pub session: &'a str,
    pub cwd: &'a str,
    /// Empty for an agent that cannot be told of them.
    pub additional_directories: &'a [String],
    pub mcp_servers: &'a [RawJson],
    /// What was put beside these when the session was opened.
    pub meta: Option<&'a RawJson>,
    /// Further members of the same.
    pub members: Option<&'a RawJson>,
}

impl AgentRequest {
    /// Its name in ACP.
    pub fn method(&self) -> &str {
        match self {
            Self::SetMode { .. } => "session/set_mode",
            Self::SetModel { .. } => "session/set_model",
            Self::SetConfigOption { .. } => "session/set_config_option",
            Self::Authenticate { .. } => "authenticate",
            Self::Logout => "logout",
            Self::ListSessions { .. } => "session/list",
            Self::DeleteSession { .. } => "session/delete",
            Self::ForkSession => "session/fork",
            Self::CloseSession { .. } => "session/close",
            Self::Steer { .. } => "_session/steering",
            Self::Passthrough { method, .. } => method.method(),
            Self::Extension { method, .. } => method,
        }
    }

    /// Bytes of what it carries.
    pub(super) fn bytes(&self) -> usize {
        let of = |texts: &[RawJson]| texts.iter().map(|text| text.get().len()).sum::<usize>();
        match self {
            Self::SetMode { mode_id: id }
            | Self::SetModel { model_id: id }
            | Self::DeleteSession { session_id: id }
            | Self::CloseSession { session_id: id } => id.len(),
            Self::SetConfigOption { config_id, value } => match value {
                ConfigValue::Boolean(_) => config_id.len(),
                ConfigValue::Id(id) => config_id.len() + id.len(),
            },
            Self::Authenticate { method_id, members } => method_id.len() + of(members.as_slice()),
            Self::ListSessions { cwd, cursor } => [cwd, cursor].into_iter().flatten().map(String::len).sum(),
            Self::Steer { prompt } => of(prompt),
            Self::Passthrough { params, .. } => of(params.as_slice()),
            Self::Extension { method, params } => method.len() + of(params.as_slice()),
            Self::Logout | Self::ForkSession => 0,
        }
    }

    /// Refuses what the agent did not declare.
    pub fn check(&self, capabilities: &Capabilities) -> Result<(), Failure> {
        let (declared, name) = match self {
            Self::Logout => (capabilities.logout, "auth.logout"),
            Self::ListSessions { .. } => (capabilities.list, "sessionCapabilities.list"),
            Self::DeleteSession { .. } => (capabilities.delete, "sessionCapabilities.delete"),
            Self::ForkSession => (capabilities.fork, "sessionCapabilities.fork"),
            Self::CloseSession { .. } => (capabilities.close, "sessionCapabilities.close"),
            Self::Steer { .. } => (capabilities.steering, "_meta.steering.supported"),
            Self::Passthrough {
                method: PassthroughMethod::AuthStatus,
                ..
            } => (capabilities.auth_status, "auth.status"),
            Self::Passthrough { .. } => (capabilities.providers, "providers"),
            Self::Authenticate { method_id, .. } => return capabilities.check_auth_method(method_id),
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

    /// What a client is told that the agent refused, in the agent's own words.
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
                params
                    .put("sessionId", context.session)
                    .put("configId", config_id);
                match value {
                    ConfigValue::Id(id) => params.put("value", id),
                    ConfigValue::Boolean(value) => params.put("type", "boolean").put("value", value),
                };
            }
            Self::Authenticate { method_id, members } => {
                params.put("methodId", method_id).others(members.as_ref());
            }
            Self::ListSessions { cwd, cursor } => {
                params.maybe("cwd", cwd.as_ref()).maybe("cursor", cursor.as_ref());
            }
            Self::Steer { prompt } => {
                params.put("sessionId", context.session).put("prompt", prompt);
                params.raw("_meta", r#"{"steering":{"idleBehavior":"promptRequired"}}"#);
            }
            Self::DeleteSession { session_id } | Self::CloseSession { session_id } => {
                params.put("sessionId", session_id);
            }
            Self::ForkSession => {
                params
                    .put("sessionId", context.session)
                    .put("cwd", context.cwd)
                    .put("mcpServers", context.mcp_servers);
                if !context.additional_directories.is_empty() {
                    params.put("additionalDirectories", context.additional_directories);
                }
                params.json("_meta", context.meta);
                params.others(context.members);
            }
            Self::Logout | Self::Passthrough { .. } | Self::Extension { .. } => {}
        }
    }
}

/// A name that ACP has, or may have one day, is not to be sent around what acpd knows of it.
pub fn check_extension(method: &str) -> Result<(), Failure> {
    if method.starts_with('_') {
        return Ok(());
    }
    Err(Failure::invalid_params(format!(
        "{method:?} is no extension: their names begin with an underscore"
    )))
}
