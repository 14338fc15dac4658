//! Requests that an agent sends to its client.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::event::PermissionOption;
use acpd_model::limits::PATH_BYTES;
use acpd_model::{Failure, RawJson, json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::bounds::{check, check_bytes, check_name, is_name, sentence};
use super::extension::is_extension;
use crate::wire::{RpcError, decoded, members};

/// Longest program with its arguments that an agent can start in a terminal, in bytes. Systems start no longer ones.
const TERMINAL_COMMAND_BYTES: usize = 2 << 20;

/// A request from the agent to the daemon.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    /// Requests permission for a tool call.
    Permission {
        /// ACP's tool call, with only the members that the agent sent.
        tool_call: RawJson,
        /// The options that the agent offers.
        options: Vec<PermissionOption>,
        /// The params, unchanged.
        raw: RawJson,
    },
    /// Requests information from the user.
    Elicit {
        /// The message for the user.
        message: String,
        /// The params with a schema or a URL; unchanged except that `requestId` is removed.
        raw: RawJson,
    },
    /// Reads a text file.
    ReadFile {
        /// The absolute path.
        path: String,
        /// The first line to read, counted from 1.
        line: Option<u64>,
        /// The number of lines.
        limit: Option<u64>,
    },
    /// Writes a text file.
    WriteFile {
        /// The absolute path.
        path: String,
        /// The complete new content.
        content: String,
    },
    /// Runs a command in a new terminal.
    CreateTerminal {
        /// The program to run.
        command: String,
        /// The program's arguments.
        args: Vec<String>,
        /// Variables to add to the environment.
        env: Vec<(String, String)>,
        /// The working directory; the thread's directory if absent.
        cwd: Option<String>,
        /// The maximum output to keep, in bytes.
        output_byte_limit: Option<u64>,
    },
    /// Returns the terminal's output so far.
    TerminalOutput {
        /// The daemon's id for the terminal.
        terminal_id: String,
    },
    /// Waits until the terminal's command exits.
    WaitForTerminalExit {
        /// The daemon's id for the terminal.
        terminal_id: String,
    },
    /// Ends the command and keeps the terminal.
    KillTerminal {
        /// The daemon's id for the terminal.
        terminal_id: String,
    },
    /// Ends the command and discards the terminal.
    ReleaseTerminal {
        /// The daemon's id for the terminal.
        terminal_id: String,
    },
    /// A request outside ACP.
    Extension {
        /// The method; its name begins with `_`.
        method: String,
        /// The params, unchanged.
        params: Option<RawJson>,
    },
}

/// How a terminal's command ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TerminalExit {
    /// The exit code, if the command was not ended by a signal.
    pub code: Option<i32>,
    /// The name of the signal that ended the command.
    pub signal: Option<String>,
}

/// Reads `null` as the default, as ACP's own types do.
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

/// ACP's list of variables, or an object, which some agents send.
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

/// The member of the params that identifies the session.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Scope {
    #[serde(default)]
    session_id: Option<String>,
}

impl Call {
    /// Returns the method of the request.
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

    /// Returns the approximate size of the contents, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Permission { raw, .. } | Self::Elicit { raw, .. } => raw.get().len(),
            Self::WriteFile { path, content } => path.len() + content.len(),
            Self::CreateTerminal {
                command,
                args,
                env,
                cwd,
                ..
            } => {
                // Empty strings need memory, too.
                let text = |text: &String| size_of::<String>() + text.len();
                let args: usize = args.iter().map(text).sum();
                let env: usize = env.iter().map(|(name, value)| text(name) + text(value)).sum();
                command.len() + args + env + cwd.as_ref().map_or(0, String::len)
            }
            Self::Extension { params, .. } => params.as_ref().map_or(0, |params| params.get().len()),
            Self::ReadFile { path, .. } => path.len(),
            Self::TerminalOutput { terminal_id }
            | Self::WaitForTerminalExit { terminal_id }
            | Self::KillTerminal { terminal_id }
            | Self::ReleaseTerminal { terminal_id } => terminal_id.len(),
        }
    }

    /// Returns whether an editor can answer the request instead, from the agent's original params. An extension
    /// already contains them.
    pub(super) fn is_delegatable(&self) -> bool {
        !matches!(
            self,
            Self::Permission { .. } | Self::Elicit { .. } | Self::Extension { .. }
        )
    }

    /// Parses a request. `Err` is the error for the agent.
    ///
    /// The request must belong to our session, if its id is known already, or to one of a subagent, which is returned then.
    pub fn parse(
        method: &str,
        params: Option<&RawValue>,
        sessions: KnownSessions<'_>,
    ) -> Result<(Self, Option<String>), RpcError> {
        let is_absent = params.is_none();
        let params = params.map_or("{}", RawValue::get);
        let call = match method {
            "session/request_permission" => {
                let Permission {
                    tool_call,
                    mut options,
                } = read_shown(method, params)?;
                for option in &mut options {
                    check_name(method, "an optionId", &option.option_id)?;
                    check_name(method, "the kind of an option", &option.kind)?;
                    option.name = sentence(&option.name);
                }
                let raw = RawJson::parse(params).map_err(|e| invalid(method, &e))?;
                Self::Permission {
                    tool_call,
                    options,
                    raw,
                }
            }
            "elicitation/create" => {
                let Elicitation { message, mode } = read_shown(method, params)?;
                if !matches!(mode.as_str(), "form" | "url") {
                    let text = format!("{method}: mode {mode:?} is not supported; use form or url");
                    return Err(RpcError::new(-32602, text));
                }
                let raw = RawJson::parse(params).map_err(|e| invalid(method, &e))?;
                let raw = without_request(&raw).unwrap_or(raw);
                let message = sentence(&message);
                Self::Elicit { message, raw }
            }
            "fs/read_text_file" => {
                let Read { path, line, limit } = read(method, params)?;
                check(method, "path", &path, PATH_BYTES)?;
                Self::ReadFile { path, line, limit }
            }
            "fs/write_text_file" => {
                let Write { path, content } = read(method, params)?;
                check(method, "path", &path, PATH_BYTES)?;
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
                check(method, "cwd", cwd.as_deref().unwrap_or_default(), PATH_BYTES)?;
                let bytes = command.len() + args.iter().map(String::len).sum::<usize>();
                check_bytes(method, "the command", bytes, TERMINAL_COMMAND_BYTES)?;
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
            _ if is_extension(method) => Self::Extension {
                method: method.to_owned(),
                params: (!is_absent).then(|| RawJson::parse(params)).and_then(Result::ok),
            },
            _ => return Err(not_found(method)),
        };
        let Scope { session_id } = match &call {
            // An extension's params may have any shape.
            Self::Extension { .. } => read_shown(method, params).unwrap_or_default(),
            _ => read_shown(method, params)?,
        };
        let Some(session_id) = session_id else {
            // An elicitation may refer to a request of the daemon instead, such as `authenticate`.
            return match call {
                Self::Elicit { .. } | Self::Extension { .. } => Ok((call, None)),
                _ => Err(RpcError::new(
                    -32602,
                    format!("{method}: missing field `sessionId`"),
                )),
            };
        };
        let is_other = sessions.ours.is_some_and(|ours| ours != session_id);
        // What an extension means for a subagent is unknown.
        let is_known = !matches!(call, Self::Extension { .. });
        let is_subagents = is_known && sessions.subagents.contain(&session_id);
        if sessions.given_up == Some(&session_id) || (is_other && !is_subagents) {
            return Err(RpcError::new(
                -32602,
                format!("{method}: unknown session {session_id:?}"),
            ));
        }
        Ok((call, is_other.then_some(session_id)))
    }
}

/// The sessions that a request can name.
#[derive(Debug, Clone, Copy)]
pub struct KnownSessions<'a> {
    /// The thread's session, if it is known already.
    pub ours: Option<&'a str>,
    /// The session that the agent could not open again.
    pub given_up: Option<&'a str>,
    /// The sessions of subagents.
    pub subagents: SubagentSessions<'a>,
}

/// The sessions that may be those of subagents.
#[derive(Debug, Clone, Copy)]
pub enum SubagentSessions<'a> {
    /// Every session but ours.
    All,
    /// These alone.
    Named(&'a BTreeSet<String>),
}

impl SubagentSessions<'_> {
    /// Returns whether a session, which is not ours, may be one of a subagent.
    pub fn contain(self, session: &str) -> bool {
        match self {
            Self::All => is_name(session) && !session.is_empty(),
            Self::Named(sessions) => sessions.contains(session),
        }
    }
}

/// Returns the params without `requestId`, the daemon's own request id, which means nothing to clients.
fn without_request(params: &RawJson) -> Option<RawJson> {
    let mut kept = Vec::new();
    let mut found = false;
    members(params, |key, value| match &*decoded(key) {
        "requestId" => found = true,
        _ => kept.push(format!("\"{key}\":{value}")),
    });
    if !found {
        return None;
    }
    RawJson::parse(format!("{{{}}}", kept.join(","))).ok()
}

/// The error for an unknown method.
pub fn not_found(method: &str) -> RpcError {
    RpcError::new(-32601, format!("method not found: {method}"))
}

fn terminal(method: &str, params: &str) -> Result<String, RpcError> {
    let Terminal { terminal_id } = read(method, params)?;
    check_name(method, "terminalId", &terminal_id)?;
    Ok(terminal_id)
}

/// Reads params whose texts are only shown. Halves of surrogate pairs are replaced.
fn read_shown<T: DeserializeOwned>(method: &str, params: &str) -> Result<T, RpcError> {
    json::read(params).map_err(|error| invalid(method, &error))
}

/// Reads params that are carried out as they are written, such as paths.
fn read<T: DeserializeOwned>(method: &str, params: &str) -> Result<T, RpcError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_of_a_command_counts() {
        let text = "x".repeat(1000);
        let create = |command: &str, arg: &str, value: &str, cwd: &str| Call::CreateTerminal {
            command: command.to_owned(),
            args: vec![arg.to_owned()],
            env: vec![("A".to_owned(), value.to_owned())],
            cwd: Some(cwd.to_owned()),
            output_byte_limit: None,
        };
        for call in [
            create(&text, "", "", ""),
            create("", &text, "", ""),
            create("", "", &text, ""),
            create("", "", "", &text),
        ] {
            assert!(call.bytes() > text.len(), "{}", call.bytes());
        }
    }
}
