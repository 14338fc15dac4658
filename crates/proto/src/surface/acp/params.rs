//! The params of an editor's requests. Optional members with a shape that ACP never had count as absent.

use acpd_model::limits::SESSION_PARAMS_BYTES;
use acpd_model::text::shorten;
use acpd_model::{ErrorCode, Failure, RawJson, ThreadId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::mcp_servers::mended;
use crate::agent::{ConfigValue, check_system_prompt};
use crate::wire::others;

/// Initial values of options in one request.
const INITIAL_OPTIONS: usize = 64;

/// The params of a request, unread.
pub(super) type Params<'a> = Option<&'a RawValue>;

/// The params of the methods that open a session, without the id of an existing one.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct OpenSession {
    pub cwd: Option<String>,
    pub additional_directories: Option<Vec<String>>,
    pub mcp_servers: Option<Vec<RawJson>>,
    pub system_prompt: Option<RawJson>,
    pub config_options: Option<Vec<SetConfigOption>>,
    #[serde(rename = "_meta")]
    pub meta: Option<RawJson>,
    /// An object of the members that acpd does not know.
    #[serde(skip)]
    pub members: Option<RawJson>,
}

impl OpenSession {
    pub fn read(method: &str, params: Params<'_>) -> Result<Self, Failure> {
        const KNOWN: [&str; 9] = [
            "sessionId",
            "cursorId",
            "replayFrom",
            "cwd",
            "additionalDirectories",
            "mcpServers",
            "systemPrompt",
            "configOptions",
            "_meta",
        ];
        let mut read: Self = read(method, params)?;
        read.mcp_servers = read.mcp_servers.map(mended).transpose()?;
        if let Some(prompt) = &read.system_prompt {
            check_system_prompt(prompt)?;
        }
        if let Some(options) = &read.config_options {
            check_options(method, options)?;
        }
        read.members = params.and_then(|params| others(&params.into(), &KNOWN));
        let kept = read
            .mcp_servers
            .iter()
            .flatten()
            .chain(&read.members)
            .chain(&read.system_prompt)
            .chain(&read.meta);
        let bytes: usize = kept.map(|json| json.get().len()).sum();
        if bytes > SESSION_PARAMS_BYTES {
            let message = format!(
                "{method}: mcpServers, systemPrompt, _meta and members that ACP does not have take {bytes} bytes; at most \
                 {SESSION_PARAMS_BYTES} are kept with a session"
            );
            return Err(Failure::invalid_params(message));
        }
        Ok(read)
    }
}

/// Rejects initial values of options of which two are for one option, or which are too many.
fn check_options(method: &str, options: &[SetConfigOption]) -> Result<(), Failure> {
    let mut ids: Vec<&str> = options.iter().map(|option| option.config_id.as_str()).collect();
    ids.sort_unstable();
    if ids.len() > INITIAL_OPTIONS {
        return Err(Failure::invalid_params(format!(
            "{method}: configOptions has {} entries; at most {INITIAL_OPTIONS} are possible",
            ids.len()
        )));
    }
    let twice = ids.windows(2).find(|pair| pair[0] == pair[1]);
    match twice {
        Some(pair) => Err(Failure::invalid_params(format!(
            "{method}: configOptions has two values for {:?}",
            shorten(pair[0], 80)
        ))),
        None => Ok(()),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Named {
    session_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ForkSession {
    #[serde(default)]
    pub cursor_id: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ListSessions {
    pub cwd: Option<String>,
    pub cursor: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Prompt {
    pub prompt: Vec<RawJson>,
    #[serde(default, rename = "_meta")]
    pub meta: Option<RawJson>,
}

#[derive(Deserialize)]
pub(super) struct SetTitle {
    pub title: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetMode {
    pub mode_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetModel {
    pub model_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetConfigOption {
    pub config_id: String,
    pub value: ConfigValue,
}

/// The params of `session/options`, without the id of a session.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadOptions {
    pub cwd: String,
    #[serde(default)]
    pub additional_directories: Option<Vec<String>>,
    #[serde(default)]
    pub session_id: Option<RawJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Authenticate {
    pub method_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CancelRequest {
    pub request_id: RawJson,
}

/// Reads the params of `method`.
pub(super) fn read<T: DeserializeOwned>(method: &str, params: Params<'_>) -> Result<T, Failure> {
    let params = params.map(RawValue::get).filter(|params| *params != "null");
    serde_json::from_str(params.unwrap_or("{}"))
        .map_err(|error| Failure::invalid_params(format!("{method}: {error}")))
}

/// Returns the thread that the params name as their session.
pub(super) fn thread(method: &str, params: Params<'_>) -> Result<ThreadId, Failure> {
    let Named { session_id } = read(method, params)?;
    thread_named(&session_id)
}

/// Returns the thread of the session with this id.
pub(super) fn thread_named(session: &str) -> Result<ThreadId, Failure> {
    session.parse().map_err(|_| {
        let shown: String = session.chars().take(80).collect();
        Failure::new(ErrorCode::NotFound, format!("there is no session {shown:?}"))
    })
}
