//! The params of Codex's requests that acpd reads. Other members are ignored: a client sends many that concern only
//! Codex's own agent.

use acpd_model::{ErrorCode, Failure, RawJson, ThreadId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::settings::WantedSettings;
use super::turn_id::NamedTurn;
use crate::projection::text_block;

/// Reads the params of a request.
pub(super) fn read<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, Failure> {
    let text = params.map_or("{}", RawValue::get);
    let text = if text == "null" { "{}" } else { text };
    serde_json::from_str(text).map_err(|error| Failure::invalid_params(error.to_string()))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initialize {
    pub client_info: ClientInfo,
    #[serde(default)]
    pub capabilities: Option<Capabilities>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ClientInfo {
    pub name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Capabilities {
    pub opt_out_notification_methods: Option<Vec<String>>,
}

/// A request about one thread, and what many of them contain.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OfThread {
    pub thread_id: ThreadId,
    #[serde(default)]
    pub include_turns: bool,
    #[serde(default)]
    pub exclude_turns: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StartThread {
    pub cwd: Option<String>,
    pub ephemeral: Option<bool>,
    #[serde(flatten)]
    pub wanted: WantedSettings,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fork {
    pub thread_id: ThreadId,
    #[serde(default)]
    pub last_turn_id: Option<NamedTurn>,
    #[serde(default)]
    pub before_turn_id: Option<NamedTurn>,
    #[serde(default)]
    pub ephemeral: bool,
    #[serde(default)]
    pub exclude_turns: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct List {
    pub cursor: Option<String>,
    pub limit: Option<usize>,
    pub archived: Option<bool>,
    pub cwd: Option<Cwd>,
    pub search_term: Option<String>,
    pub source_kinds: Option<Vec<String>>,
    pub section_id: Option<String>,
    pub project_id: Option<String>,
    pub parent_thread_id: Option<String>,
    pub ancestor_thread_id: Option<String>,
    pub attached_to_thread_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Cwd {
    One(String),
    Many(Vec<String>),
}

impl List {
    /// Returns whether only threads are wanted that acpd does not have: sub-agents, sections, Codex's projects.
    pub fn is_foreign(&self) -> bool {
        const SOURCES: [&str; 6] = ["cli", "vscode", "exec", "appServer", "custom", "unknown"];
        let kinds = self.source_kinds.as_deref().unwrap_or_default();
        let is_own = |kind: &String| SOURCES.contains(&kind.as_str());
        let foreign_source = !kinds.is_empty() && !kinds.iter().any(is_own);
        let groups = [
            &self.section_id,
            &self.project_id,
            &self.parent_thread_id,
            &self.ancestor_thread_id,
            &self.attached_to_thread_id,
        ];
        foreign_source || groups.into_iter().any(Option::is_some)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pages {
    pub thread_id: ThreadId,
    #[serde(default)]
    pub turn_id: Option<NamedTurn>,
    #[serde(default)]
    pub cursor: Option<Value>,
    #[serde(default)]
    pub limit: Option<usize>,
    #[serde(default)]
    pub sort_direction: Option<String>,
    #[serde(default)]
    pub items_view: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TurnInput {
    pub thread_id: ThreadId,
    pub input: Vec<UserInput>,
    #[serde(default)]
    pub client_user_message_id: Option<String>,
    #[serde(default, rename = "_meta")]
    pub meta: Option<RawJson>,
    /// Only of a message for the running turn.
    #[serde(default)]
    pub expected_turn_id: Option<NamedTurn>,
    #[serde(flatten)]
    pub wanted: WantedSettings,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OfTurn {
    pub thread_id: ThreadId,
    pub turn_id: NamedTurn,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Revert {
    pub thread_id: ThreadId,
    pub before_turn_id: NamedTurn,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetName {
    pub thread_id: ThreadId,
    pub name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UpdateSettings {
    pub thread_id: ThreadId,
    #[serde(flatten)]
    pub wanted: WantedSettings,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShellCommand {
    pub thread_id: ThreadId,
    pub command: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ReadConfig {
    pub cwd: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Review {
    pub thread_id: ThreadId,
    pub target: ReviewTarget,
}

/// What a review is about.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum ReviewTarget {
    UncommittedChanges,
    BaseBranch { branch: String },
    Commit { sha: String },
    Custom { instructions: String },
}

/// A queued message.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Queued {
    pub thread_id: ThreadId,
    #[serde(default, rename = "queuedSubmissionId")]
    pub turn: Option<NamedTurn>,
    #[serde(default, rename = "queuedSubmissionIds")]
    pub order: Vec<NamedTurn>,
    #[serde(default)]
    pub input: Vec<UserInput>,
}

/// A part of a user's message.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum UserInput {
    Text {
        text: String,
    },
    Image {
        #[serde(default)]
        url: Option<String>,
    },
    LocalImage {
        path: String,
    },
    Mention {
        name: String,
        path: String,
    },
    Skill {
        name: String,
        path: String,
    },
    #[serde(other)]
    Other,
}

/// Returns a user's message as ACP content blocks.
pub(super) fn blocks(input: &[UserInput]) -> Result<Vec<RawJson>, Failure> {
    let blocks: Vec<RawJson> = input.iter().map(block).collect::<Result<_, _>>()?;
    if blocks.is_empty() {
        return Err(Failure::invalid_params("the message is empty"));
    }
    Ok(blocks)
}

fn block(input: &UserInput) -> Result<RawJson, Failure> {
    let link = |name: &str, path: &str| {
        let uri = if path.starts_with('/') {
            format!("file://{path}")
        } else {
            path.to_owned()
        };
        json!({ "type": "resource_link", "name": name, "uri": uri }).into()
    };
    Ok(match input {
        UserInput::Text { text } => text_block(text),
        UserInput::Image { url: Some(url) } => match data_url(url) {
            Some((mime_type, data)) => json!({ "type": "image", "mimeType": mime_type, "data": data }).into(),
            None => link("image", url),
        },
        UserInput::LocalImage { path } => link("image", path),
        UserInput::Mention { name, path } | UserInput::Skill { name, path } => link(name, path),
        UserInput::Image { url: None } | UserInput::Other => {
            let message = "acpd passes on text, images and mentions: this message contains something else";
            return Err(Failure::new(ErrorCode::Unsupported, message));
        }
    })
}

/// Splits a `data:` URL into its media type and its content in base64.
fn data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

/// Reads a cursor that this surface has issued.
pub(super) fn cursor<T: std::str::FromStr>(cursor: Option<&Value>) -> Result<Option<T>, Failure> {
    let read = |cursor: &Value| cursor.as_str()?.parse().ok();
    match cursor.filter(|cursor| !cursor.is_null()) {
        None => Ok(None),
        Some(cursor) => read(cursor)
            .map(Some)
            .ok_or_else(crate::surface::request::invalid_cursor),
    }
}
