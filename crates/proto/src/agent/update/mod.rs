//! `session/update`: the updates that an agent sends while it works.
//!
//! The daemon parses only what it acts on. An invalid update, or one that this version does not know, becomes
//! [`UpdateKind::Other`] and is passed on as its original text.

mod chunk;
mod cursor;
mod lenient;
mod plan;
mod subagent;
mod suggestions;

use acpd_model::event::Level;
use acpd_model::item::ToolStatus;
use acpd_model::json;
use acpd_model::limits::{AGENT_STATE_BYTES, AGENT_TEXT_BYTES, NAME_BYTES};
use acpd_model::text::clip;
use acpd_model::{MessageType, RawJson};
use compact_str::CompactString;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::bounds::{is_name, name};
use crate::wire::{Text, may_have};

pub use self::chunk::{Chunk, ChunkContent, text_chunk};
use self::chunk::{canonical, chunk, parse_canonical, parse_plain};
pub use self::cursor::CursorUpdate;
use self::cursor::cursor;
use self::lenient::Lenient;
pub use self::plan::PlanUpdate;
pub use self::subagent::{SessionMessage, SubagentUpdate};
use self::subagent::{session_message, subagent};
pub use self::suggestions::Suggestion;
use self::suggestions::suggestions;

/// One update of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The parsed contents.
    pub kind: UpdateKind,
    /// The original `update` object; `None` if `kind` alone rebuilds it byte for byte.
    pub raw: Option<RawJson>,
    /// The original params, if `{"sessionId":…,"update":…}` would not rebuild them.
    pub raw_params: Option<RawJson>,
}

/// The contents of an update.
#[derive(Debug, Clone, PartialEq)]
pub enum UpdateKind {
    /// A chunk of a message or thought.
    Chunk(Chunk),
    /// A tool call, new (`tool_call`) or changed (`tool_call_update`).
    Tool(ToolUpdate),
    /// A complete plan.
    Plan(PlanUpdate),
    /// A plan is no longer valid; contains the agent's id for it.
    PlanRemoved(String),
    /// The slash commands.
    Commands,
    /// The current mode.
    Mode(String),
    /// The config options.
    ConfigOptions,
    /// Token usage.
    Usage {
        /// Tokens in the context.
        used: u64,
        /// Size of the context window, in tokens.
        size: u64,
        /// ACP's `cost`.
        cost: Option<RawJson>,
    },
    /// Information about the session itself.
    SessionInfo {
        /// The session's new title.
        title: Option<String>,
    },
    /// A notice for the user.
    Notice {
        /// The severity of the notice.
        level: Level,
        /// The title, followed by the description if there is one.
        message: String,
    },
    /// The agent compacts its context.
    Compaction {
        /// The agent's id for the compaction.
        id: String,
        /// `in_progress`, `completed`, `failed`, …; `None` for a chunk of the summary.
        status: Option<String>,
    },
    /// The prompts that the agent suggests, in place of those before.
    Suggestions(Vec<Suggestion>),
    /// A cursor of the session.
    Cursor(Box<CursorUpdate>),
    /// A report on a subagent.
    Subagent(Box<SubagentUpdate>),
    /// A message between two sessions.
    SessionMessage(SessionMessage),
    /// A chunk of such a message. Its role is not the chunk's own.
    SessionChunk(Chunk),
    /// An unknown kind, or a known kind with an invalid shape.
    Other,
}

impl UpdateKind {
    /// Returns whether a thread keeps what such an update says until the next one.
    fn is_kept(&self) -> bool {
        matches!(
            self,
            Self::Plan(_) | Self::Commands | Self::ConfigOptions | Self::Usage { .. } | Self::Cursor(_)
        )
    }
}

/// The members of a tool call that the daemon uses.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolUpdate {
    /// The agent's id for the tool call.
    pub id: CompactString,
    /// Whether this is a `tool_call`, not a `tool_call_update`.
    pub opens: bool,
    /// The title, if present.
    pub title: Option<String>,
    /// The kind, if present.
    pub kind: Option<String>,
    /// The status, if present and known.
    pub status: Option<ToolStatus>,
    /// Whether the content may contain diffs.
    pub has_diff: bool,
}

/// The members of all updates; each kind has only some of them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    #[serde(borrow)]
    session_update: Text<'a>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message_id: Lenient<'a>,
    #[serde(borrow, default)]
    tool_call_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    title: Lenient<'a>,
    #[serde(borrow, default)]
    kind: Lenient<'a>,
    #[serde(borrow, default)]
    status: Lenient<'a>,
    #[serde(borrow, default)]
    entries: Option<&'a RawValue>,
    #[serde(borrow, default)]
    plan: Option<&'a RawValue>,
    #[serde(borrow, default)]
    plan_id: Lenient<'a>,
    #[serde(borrow, default)]
    current_mode_id: Option<Text<'a>>,
    /// An earlier spelling of `currentModeId`.
    #[serde(borrow, default)]
    mode_id: Option<Text<'a>>,
    /// An earlier form of `usage_update`, which contains today's members.
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(default)]
    used: Option<u64>,
    #[serde(default)]
    size: Option<u64>,
    #[serde(borrow, default)]
    cost: Option<&'a RawValue>,
    #[serde(borrow, default)]
    severity: Option<Text<'a>>,
    #[serde(borrow, default)]
    description: Lenient<'a>,
    #[serde(borrow, default)]
    compaction_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    suggestions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cursor_id: Lenient<'a>,
    #[serde(borrow, default)]
    anchor: Option<&'a RawValue>,
    /// `null` removes what a cursor has.
    #[serde(borrow, default, deserialize_with = "present")]
    capabilities: Option<&'a RawValue>,
}

/// Distinguishes a `null` from a missing member.
fn present<'de: 'a, 'a, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
struct Usage<'a> {
    used: u64,
    size: u64,
    #[serde(borrow, default)]
    cost: Option<&'a RawValue>,
}

impl Update {
    /// Returns the approximate size, in bytes. Everything except a chunk's text is part of the original update.
    pub fn bytes(&self) -> usize {
        let raw = |raw: &Option<RawJson>| raw.as_ref().map_or(0, |raw| raw.get().len());
        let text = match &self.kind {
            UpdateKind::Chunk(Chunk {
                content: ChunkContent::Text(text),
                ..
            }) => text.len(),
            _ => 0,
        };
        text + raw(&self.raw) + raw(&self.raw_params)
    }

    /// Returns the params in which a session sent the update.
    pub(crate) fn into_params(self, session: &str) -> Option<RawJson> {
        if self.raw_params.is_some() {
            return self.raw_params;
        }
        let update = match (&self.raw, &self.kind) {
            (Some(raw), _) => raw.get().to_owned(),
            (None, UpdateKind::Chunk(chunk)) => canonical(chunk)?,
            (None, _) => return None,
        };
        Some(RawJson::trusted(&rebuild_params(session, &update)))
    }

    /// Parses the `update` object of a `session/update`.
    pub fn parse(text: &str, raw_params: Option<RawJson>) -> Result<Self, serde_json::Error> {
        if let Some(chunk) = parse_canonical(text) {
            return Ok(Self {
                kind: UpdateKind::Chunk(chunk),
                raw: None,
                raw_params,
            });
        }
        if let Some(chunk) = parse_plain(text) {
            // A text without escapes has only one canonical form, which `parse_canonical` has already tried.
            let rebuilt = text.contains('\\') && canonical(&chunk).is_some_and(|json| json == text);
            let raw = (!rebuilt).then(|| RawJson::trusted(text));
            return Ok(Self {
                kind: UpdateKind::Chunk(chunk),
                raw,
                raw_params,
            });
        }
        let kind = match serde_json::from_str::<Wire<'_>>(text) {
            Ok(wire) => read(&wire, text).unwrap_or(UpdateKind::Other),
            // Valid JSON can also fail here, for example a number that no type of ours can hold.
            Err(_) => {
                serde_json::from_str::<serde::de::IgnoredAny>(text)?;
                json::readable(text)
                    .as_deref()
                    .and_then(parse_readable)
                    .unwrap_or(UpdateKind::Other)
            }
        };
        let kind = if kind.is_kept() && text.len() > AGENT_STATE_BYTES {
            UpdateKind::Other
        } else {
            kind
        };
        Ok(Self {
            kind,
            raw: Some(RawJson::trusted(text)),
            raw_params,
        })
    }
}

/// Returns the params of `session/update` in their usual form.
pub(super) fn rebuild_params(session: &str, update: &str) -> String {
    let session = serde_json::Value::from(session);
    format!(r#"{{"sessionId":{session},"update":{update}}}"#)
}

fn parse_readable(text: &str) -> Option<UpdateKind> {
    read(&serde_json::from_str(text).ok()?, text)
}

fn read(wire: &Wire<'_>, text: &str) -> Option<UpdateKind> {
    Some(match &*wire.session_update {
        "user_message_chunk" => chunk(MessageType::UserMessage, wire)?,
        "agent_message_chunk" => chunk(MessageType::AgentMessage, wire)?,
        "agent_thought_chunk" => chunk(MessageType::AgentThought, wire)?,
        word @ ("tool_call" | "tool_call_update") => UpdateKind::Tool(ToolUpdate {
            id: CompactString::new(wire.tool_call_id.as_deref().filter(|id| is_name(id))?),
            opens: word == "tool_call",
            title: wire.title.to_sentence(),
            kind: wire.kind.to_name(),
            status: wire.status.0.as_deref().and_then(ToolStatus::from_acp),
            has_diff: wire.content.is_some_and(may_have_diff),
        }),
        "plan" => UpdateKind::Plan(plan::without_id(wire.entries?)?),
        "plan_update" => UpdateKind::Plan(plan::by_id(wire.plan?)?),
        "plan_removed" => UpdateKind::PlanRemoved(wire.plan_id.to_name()?),
        "available_commands_update" => UpdateKind::Commands,
        "current_mode_update" => {
            let mode = wire.current_mode_id.as_ref().or(wire.mode_id.as_ref());
            UpdateKind::Mode(name(mode?)?)
        }
        "config_option_update" | "config_options_update" => UpdateKind::ConfigOptions,
        "session_info_update" => UpdateKind::SessionInfo {
            title: wire.title.0.as_deref().map(|title| clip(title, NAME_BYTES)),
        },
        "usage_update" => {
            let inner: Option<Usage<'_>> = wire
                .usage
                .and_then(|usage| serde_json::from_str(usage.get()).ok());
            let (used, size, cost) = match (wire.used, wire.size, inner) {
                (Some(used), Some(size), _) => (used, size, wire.cost),
                (_, _, Some(Usage { used, size, cost })) => (used, size, cost),
                _ => return None,
            };
            let cost = cost.filter(|cost| cost.get().len() <= AGENT_TEXT_BYTES);
            let cost = cost.map(RawJson::from);
            UpdateKind::Usage { used, size, cost }
        }
        "notice" => {
            let level = match &**wire.severity.as_ref()? {
                "error" => Level::Error,
                "warning" => Level::Warning,
                _ => Level::Info,
            };
            let title = wire.title.to_sentence()?;
            let message = match wire.description.to_sentence() {
                Some(description) => format!("{title}: {description}"),
                None => title,
            };
            UpdateKind::Notice { level, message }
        }
        "compaction_update" => UpdateKind::Compaction {
            id: name(wire.compaction_id.as_ref()?)?,
            status: Some(wire.status.to_name()?),
        },
        "compaction_summary_chunk" => {
            wire.content?;
            UpdateKind::Compaction {
                id: name(wire.compaction_id.as_ref()?)?,
                status: None,
            }
        }
        "prompt_suggestions_update" => UpdateKind::Suggestions(suggestions(wire.suggestions?)?),
        "cursor_update" => cursor(wire)?,
        "subagent_update" => subagent(text)?,
        "session_message" => session_message(text)?,
        "session_message_chunk" => match chunk(MessageType::AgentMessage, wire)? {
            UpdateKind::Chunk(chunk) if chunk.message_id.is_some() => UpdateKind::SessionChunk(chunk),
            _ => return None,
        },
        _ => UpdateKind::Other,
    })
}

/// Checks for a diff without parsing, because most content has none.
fn may_have_diff(content: &RawValue) -> bool {
    may_have(content.get().as_bytes(), "\"diff\"")
}

#[cfg(test)]
mod tests;
