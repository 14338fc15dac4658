//! Requests that an agent makes of its client.

use std::collections::BTreeMap;

use acpd_model::event::PermissionOption;
use acpd_model::{Failure, RawJson};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::wire::{RpcError, members};

/// What an agent asks of us.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    /// May it?
    Permission {
        /// ACP's sparse tool call.
        tool_call: RawJson,
        /// The answers it offers.
        options: Vec<PermissionOption>,
        /// The params as they came.
        raw: RawJson,
    },
    /// What does a person say to this?
    Elicit {
        /// What a person reads.
        message: String,
        /// The params as they came, with a schema or an address.
        raw: RawJson,
    },
    /// Read a text file.
    ReadFile {
        /// Absolute path.
        path: String,
        /// First line wanted, counted from 1.
        line: Option<u64>,
        /// How many lines.
        limit: Option<u64>,
    },
    /// Write a text file.
    WriteFile {
        /// Absolute path.
        path: String,
        /// All of it.
        content: String,
    },
    /// Run a command.
    CreateTerminal {
        /// Program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment to add.
        env: Vec<(String, String)>,
        /// Where; the thread's directory if absent.
        cwd: Option<String>,
        /// Output to keep, in bytes.
        output_byte_limit: Option<u64>,
    },
    /// What a terminal has written so far.
    TerminalOutput {
        /// Our id.
        terminal_id: String,
    },
    /// Answer when the command has ended.
    WaitForTerminalExit {
        /// Our id.
        terminal_id: String,
    },
    /// End the command, keep the terminal.
    KillTerminal {
        /// Our id.
        terminal_id: String,
    },
    /// End the command, forget the terminal.
    ReleaseTerminal {
        /// Our id.
        terminal_id: String,
    },
    /// Something that ACP does not know.
    Extension {
        /// Method; its name begins with `_`.
        method: String,
        /// The params as they came.
        params: Option<RawJson>,
    },
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TerminalExit {
    /// Exit code, if it exited by itself.
    pub code: Option<i32>,
    /// Name of the signal that ended it.
    pub signal: Option<String>,
}

/// `null` means the default, as ACP's own types read it.
fn default_on_null<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Permission {
    tool_call: RawJson,
    options: Vec<PermissionOption>,
}

#[derive(Deserialize)]
struct Elicitation {
    message: String,
    mode: String,
}

#[derive(Deserialize)]
struct Read {
    path: String,
    line: Option<u64>,
    limit: Option<u64>,
}

#[derive(Deserialize)]
struct Write {
    path: String,
    content: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Create {
    command: String,
    #[serde(default, deserialize_with = "default_on_null")]
    args: Vec<String>,
    #[serde(default, deserialize_with = "default_on_null")]
    env: Environment,
    cwd: Option<String>,
    output_byte_limit: Option<u64>,
    /// An earlier spelling of `outputByteLimit`.
    max_output_bytes: Option<u64>,
}

/// ACP's list of variables, or an object of them, which some agents send.
#[derive(Deserialize)]
#[serde(untagged, expecting = "env is a list of objects with a name and a value")]
enum Environment {
    List(Vec<Variable>),
    Object(BTreeMap<String, String>),
}

impl Default for Environment {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl From<Environment> for Vec<(String, String)> {
    fn from(env: Environment) -> Self {
        match env {
            Environment::List(list) => list.into_iter().map(|v| (v.name, v.value)).collect(),
            Environment::Object(object) => object.into_iter().collect(),
        }
    }
}

#[derive(Deserialize)]
struct Variable {
    name: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Terminal {
    terminal_id: String,
}

/// Only what names the session.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Scope {
    #[serde(default)]
    session_id: Option<String>,
}

impl Call {
    /// The method that it came as.
    pub fn method(&self) -> &str {
        match self {
            Self::Permission { .. } => "session/request_permission",
            Self::Elicit { .. } => "elicitation/create",
            Self::ReadFile { .. } => "fs/read_text_file",
            Self::WriteFile { .. } => "fs/write_text_file",
            Self::CreateTerminal { .. } => "terminal/create",
            Self::TerminalOutput { .. } => "terminal/output",
            Self::WaitForTerminalExit { .. } => "terminal/wait_for_exit",
            Self::KillTerminal { .. } => "terminal/kill",
            Self::ReleaseTerminal { .. } => "terminal/release",
            Self::Extension { method, .. } => method,
        }
    }

    /// Bytes of what it holds, roughly.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Permission { raw, .. } | Self::Elicit { raw, .. } => raw.get().len(),
            Self::WriteFile { path, content } => path.len() + content.len(),
            Self::CreateTerminal {
                command, args, env, ..
            } => {
                // Texts without a letter take room as well.
                let text = |text: &String| size_of::<String>() + text.len();
                let args: usize = args.iter().map(text).sum();
                let env: usize = env.iter().map(|(name, value)| text(name) + text(value)).sum();
                command.len() + args + env
            }
            Self::Extension { params, .. } => params.as_ref().map_or(0, |params| params.get().len()),
            Self::ReadFile { path, .. } => path.len(),
            Self::TerminalOutput { terminal_id }
            | Self::WaitForTerminalExit { terminal_id }
            | Self::KillTerminal { terminal_id }
            | Self::ReleaseTerminal { terminal_id } => terminal_id.len(),
        }
    }

    /// Whether an editor can do it in our place, in the agent's own words. An extension has them itself.
    pub(super) fn is_delegatable(&self) -> bool {
        !matches!(
            self,
            Self::Permission { .. } | Self::Elicit { .. } | Self::Extension { .. }
        )
    }

    /// Reads a request. `Err` is the answer that the agent gets.
    ///
    /// It must be about our `session`, if that has a name yet, and not about one that was `given_up`.
    pub fn parse(
        method: &str,
        params: Option<&RawValue>,
        session: Option<&str>,
        given_up: Option<&str>,
    ) -> Result<Self, RpcError> {
        let is_absent = params.is_none();
        let params = params.map_or("{}", RawValue::get);
        let call = match method {
            "session/request_permission" => {
                let Permission { tool_call, options } = read(method, params)?;
                let raw = RawJson::parse(params).map_err(|e| invalid(method, &e))?;
                Self::Permission {
                    tool_call,
                    options,
                    raw,
                }
            }
            "elicitation/create" => {
                let Elicitation { message, mode } = read(method, params)?;
                if !matches!(mode.as_str(), "form" | "url") {
                    let text = format!("{method}: mode {mode:?} is not supported; use form or url");
                    return Err(RpcError::new(-32602, text));
                }
                let raw = RawJson::parse(params).map_err(|e| invalid(method, &e))?;
                let raw = without_request(&raw).unwrap_or(raw);
                Self::Elicit { message, raw }
            }
            "fs/read_text_file" => {
                let Read { path, line, limit } = read(method, params)?;
                Self::ReadFile { path, line, limit }
            }
            "fs/write_text_file" => {
                let Write { path, content } = read(method, params)?;
                Self::WriteFile { path, content }
            }
            "terminal/create" => {
                let Create {
                    command,
                    args,
                    env,
                    cwd,
                    output_byte_limit,
                    max_output_bytes,
                } = read(method, params)?;
                Self::CreateTerminal {
                    command,
                    args,
                    env: env.into(),
                    cwd,
                    output_byte_limit: output_byte_limit.or(max_output_bytes),
                }
            }
            "terminal/output" => Self::TerminalOutput {
                terminal_id: terminal(method, params)?,
            },
            "terminal/wait_for_exit" => Self::WaitForTerminalExit {
                terminal_id: terminal(method, params)?,
            },
            "terminal/kill" => Self::KillTerminal {
                terminal_id: terminal(method, params)?,
            },
            "terminal/release" => Self::ReleaseTerminal {
                terminal_id: terminal(method, params)?,
            },
            _ if method.starts_with('_') => Self::Extension {
                method: method.to_owned(),
                params: (!is_absent).then(|| RawJson::parse(params)).and_then(Result::ok),
            },
            _ => return Err(not_found(method)),
        };
        let Scope { session_id } = match &call {
            // Its params may be anything.
            Self::Extension { .. } => read(method, params).unwrap_or_default(),
            _ => read(method, params)?,
        };
        let Some(session_id) = session_id else {
            // A question may belong to a request of ours, such as one to sign in.
            return match call {
                Self::Elicit { .. } | Self::Extension { .. } => Ok(call),
                _ => Err(RpcError::new(
                    -32602,
                    format!("{method}: missing field `sessionId`"),
                )),
            };
        };
        if session.is_some_and(|ours| ours != session_id) || given_up == Some(&session_id) {
            return Err(RpcError::new(
                -32602,
                format!("{method}: unknown session {session_id:?}"),
            ));
        }
        Ok(call)
    }
}

/// The params without the number of our own request that they are about, which is nothing to anybody else.
fn without_request(params: &RawJson) -> Option<RawJson> {
    let mut kept = Vec::new();
    let mut found = false;
    members(params, |key, value| match key {
        "requestId" => found = true,
        _ => kept.push(format!("\"{key}\":{value}")),
    });
    if !found {
        return None;
    }
    RawJson::parse(format!("{{{}}}", kept.join(","))).ok()
}

/// The answer where nobody knows what is asked.
pub fn not_found(method: &str) -> RpcError {
    RpcError::new(-32601, format!("method not found: {method}"))
}

fn terminal(method: &str, params: &str) -> Result<String, RpcError> {
    read::<Terminal>(method, params).map(|p| p.terminal_id)
}

fn read<'a, T: Deserialize<'a>>(method: &str, params: &'a str) -> Result<T, RpcError> {
    serde_json::from_str(params).map_err(|error| invalid(method, &error))
}

fn invalid(method: &str, error: &serde_json::Error) -> RpcError {
    RpcError::new(-32602, format!("{method}: {error}"))
}

impl From<&Failure> for RpcError {
    fn from(failure: &Failure) -> Self {
        Self::new(failure.code.rpc(), failure.message.clone())
    }
}
