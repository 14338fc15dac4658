//! `session/update`: the updates that an agent sends while it works.
//!
//! The daemon parses only what it acts on. An invalid update, or one that this version does not know, becomes
//! [`UpdateKind::Other`] and is passed on as its original text.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use acpd_model::event::{Level, PlanEntry};
use acpd_model::item::ToolStatus;
use acpd_model::json::{self, Halves};
use acpd_model::limits::{AGENT_STATE_BYTES, AGENT_TEXT_BYTES, NAME_BYTES};
use acpd_model::text::clip;
use acpd_model::{MessageType, RawJson};
use compact_str::CompactString;
use memchr::memmem::Finder;
use serde::Deserialize;
use serde::de::{self, Visitor};
use serde_json::value::RawValue;

use super::bounds::{is_name, name, sentence};
use crate::wire::Text;

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
    /// The complete plan.
    Plan(Vec<PlanEntry>),
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
    /// An unknown kind, or a known kind with an invalid shape.
    Other,
}

/// A chunk of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// Whether the chunk belongs to a user message, an agent message or a thought.
    pub role: MessageType,
    /// ACP's `messageId`.
    pub message_id: Option<String>,
    /// The text or the block.
    pub content: ChunkContent,
    /// Whether the update has more members (`_meta`, unknown ones), which merging would lose.
    pub alone: bool,
    /// The second half of a surrogate pair, with which the agent's text begins. `content` is without it.
    pub first_half: Option<u16>,
    /// The first half of a surrogate pair, with which the agent's text ends. `content` is without it.
    pub last_half: Option<u16>,
}

/// The contents of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub enum ChunkContent {
    /// Plain text, which may be merged with adjacent chunks.
    Text(String),
    /// Any other block, or a text block with more members (`annotations`, `_meta`).
    Block(RawJson),
}

impl UpdateKind {
    /// Returns whether a thread keeps what such an update says until the next one.
    fn is_kept(&self) -> bool {
        matches!(
            self,
            Self::Plan(_) | Self::Commands | Self::ConfigOptions | Self::Usage { .. }
        )
    }
}

impl ChunkContent {
    /// Returns the size of the content, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Block(block) => block.get().len(),
        }
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
}

#[derive(Deserialize)]
struct Usage<'a> {
    used: u64,
    size: u64,
    #[serde(borrow, default)]
    cost: Option<&'a RawValue>,
}

/// A chunk with a plain text block, and at most a `messageId` besides.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PlainChunk<'a> {
    #[serde(borrow)]
    session_update: Text<'a>,
    #[serde(borrow)]
    content: PlainText<'a>,
    #[serde(borrow, default)]
    message_id: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainText<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
}

/// A string member; any other value counts as absent, as in ACP's own types.
#[derive(Default)]
struct Lenient<'a>(Option<Text<'a>>);

impl Lenient<'_> {
    /// Returns an id or a name. One that is too long counts as absent.
    fn to_name(&self) -> Option<String> {
        self.0.as_deref().and_then(name)
    }

    /// Returns a text for users, or its beginning.
    fn to_sentence(&self) -> Option<String> {
        self.0.as_deref().map(sentence)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Lenient<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientVisitor).map(Self)
    }
}

struct LenientVisitor;

impl<'de> Visitor<'de> for LenientVisitor {
    type Value = Option<Text<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Text(Cow::Borrowed(text))))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Text(Cow::Owned(text.to_owned()))))
    }
    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        de::IgnoredAny.visit_seq(seq).map(|_| None)
    }
    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        de::IgnoredAny.visit_map(map).map(|_| None)
    }
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
            Ok(wire) => read(&wire).unwrap_or(UpdateKind::Other),
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

fn parse_readable(text: &str) -> Option<UpdateKind> {
    read(&serde_json::from_str(text).ok()?)
}

fn read(wire: &Wire<'_>) -> Option<UpdateKind> {
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
        "plan" => UpdateKind::Plan(plan_entries(wire.entries?)?),
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
        _ => UpdateKind::Other,
    })
}

/// Checks for a diff without parsing, because most content has none.
fn may_have_diff(content: &RawValue) -> bool {
    static DIFF: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"diff\""));
    DIFF.find(content.get().as_bytes()).is_some()
}

fn chunk(role: MessageType, wire: &Wire<'_>) -> Option<UpdateKind> {
    let content = wire.content?;
    let mut chunk = Chunk {
        role,
        message_id: wire.message_id.to_name(),
        content: ChunkContent::Text(String::new()),
        alone: true,
        first_half: None,
        last_half: None,
    };
    match serde_json::from_str::<PlainText<'_>>(content.get()) {
        Ok(block) if &*block.kind == "text" => chunk.content = ChunkContent::Text(block.text.into_string()),
        Err(_) if let Some(halves) = halved_text(content) => {
            chunk.content = ChunkContent::Text(halves.text);
            chunk.first_half = halves.first;
            chunk.last_half = halves.last;
        }
        _ if content.get().starts_with('{') => chunk.content = ChunkContent::Block(content.into()),
        _ => return None,
    }
    Some(UpdateKind::Chunk(chunk))
}

/// Reads a plain text block whose text is cut within characters.
fn halved_text(content: &RawValue) -> Option<Halves> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct HalvedText<'a> {
        #[serde(rename = "type", borrow)]
        kind: Text<'a>,
        #[serde(borrow)]
        text: &'a RawValue,
    }
    let HalvedText { kind, text } = serde_json::from_str(content.get()).ok()?;
    (&*kind == "text")
        .then(|| json::read_halves(text.get()))
        .flatten()
}

/// Skips invalid entries, as ACP's own types do; the raw update keeps them.
fn plan_entries(raw: &RawValue) -> Option<Vec<PlanEntry>> {
    let entries: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
    Some(
        entries
            .iter()
            .filter_map(|entry| json::read(entry.get()).ok())
            .collect(),
    )
}

fn word(role: MessageType) -> &'static str {
    match role {
        MessageType::UserMessage => "user_message_chunk",
        MessageType::AgentMessage => "agent_message_chunk",
        MessageType::AgentThought => "agent_thought_chunk",
    }
}

/// Returns the `update` object of a chunk that contains only plain text.
pub fn text_chunk(role: MessageType, text: &str) -> RawJson {
    serde_json::json!({ "sessionUpdate": word(role), "content": { "type": "text", "text": text } }).into()
}

/// Returns the canonical `update` object of a plain-text chunk without other members.
fn canonical(chunk: &Chunk) -> Option<String> {
    let ChunkContent::Text(text) = &chunk.content else {
        return None;
    };
    if chunk.message_id.is_some() {
        return None;
    }
    let text = serde_json::to_string(text).ok()?;
    let word = word(chunk.role);
    Some(format!(
        r#"{{"sessionUpdate":"{word}","content":{{"type":"text","text":{text}}}}}"#
    ))
}

/// Parses a chunk of plain text in one pass, whatever the order of its members.
fn parse_plain(update: &str) -> Option<Chunk> {
    // Excludes other updates before the parser runs, because its errors cost more than everything else here.
    static CHUNK: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("_chunk\""));
    CHUNK.find(update.as_bytes())?;
    let PlainChunk {
        session_update,
        content,
        message_id,
    } = serde_json::from_str(update).ok()?;
    let role = match &*session_update {
        "user_message_chunk" => MessageType::UserMessage,
        "agent_message_chunk" => MessageType::AgentMessage,
        "agent_thought_chunk" => MessageType::AgentThought,
        _ => return None,
    };
    let message_id = match message_id {
        // Read with all members, the update stays whole.
        Some(id) if !is_name(&id) => return None,
        id => id.map(Text::into_string),
    };
    let text = (&*content.kind == "text").then(|| content.text.into_string())?;
    Some(Chunk {
        role,
        message_id,
        content: ChunkContent::Text(text),
        alone: false,
        first_half: None,
        last_half: None,
    })
}

/// Reads the form of nearly all deltas without a parser: text without escapes.
fn parse_canonical(update: &str) -> Option<Chunk> {
    let rest = update.strip_prefix(r#"{"sessionUpdate":""#)?;
    let (role, rest) = if let Some(rest) = rest.strip_prefix("agent_message_chunk") {
        (MessageType::AgentMessage, rest)
    } else if let Some(rest) = rest.strip_prefix("agent_thought_chunk") {
        (MessageType::AgentThought, rest)
    } else {
        return None;
    };
    let text = rest
        .strip_prefix(r#"","content":{"type":"text","text":""#)?
        .strip_suffix(r#""}}"#)?;
    let escaped = memchr::memchr2(b'"', b'\\', text.as_bytes()).is_some() || text.bytes().any(|b| b < 0x20);
    (!escaped).then(|| Chunk {
        role,
        message_id: None,
        content: ChunkContent::Text(text.to_owned()),
        alone: false,
        first_half: None,
        last_half: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Update {
        Update::parse(text, None).unwrap()
    }

    #[test]
    fn a_plain_delta_is_rebuilt_from_its_text() {
        for text in ["", "hello", "a\"b\\c\nd", "é😀", "tab\t", "\u{7f}"] {
            let json = serde_json::to_string(text).unwrap();
            let update = format!(
                r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":{json}}}}}"#
            );
            let parsed = parse(&update);
            assert_eq!(parsed.raw, None, "{update}");
            let UpdateKind::Chunk(chunk) = parsed.kind else {
                panic!("{update}")
            };
            assert_eq!(chunk.content, ChunkContent::Text(text.into()));
            assert_eq!(canonical(&chunk).unwrap(), update);
        }
    }

    #[test]
    fn unusual_spellings_are_kept_verbatim() {
        for update in [
            r#"{"content":{"type":"text","text":"a"},"sessionUpdate":"agent_message_chunk"}"#,
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\u0061"}}"#,
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"messageId":"m"}"#,
            r#"{"sessionUpdate":"agent_message_chunk", "content":{"type":"text","text":"a"}}"#,
        ] {
            let parsed = parse(update);
            assert_eq!(parsed.raw.as_ref().unwrap().get(), update);
            assert!(
                matches!(parsed.kind, UpdateKind::Chunk(Chunk { content: ChunkContent::Text(t), .. }) if t == "a")
            );
        }
    }

    #[test]
    fn updates_with_further_members_are_not_merged() {
        for (update, is_block) in [
            (
                r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"_meta":{"x":1}}"#,
                false,
            ),
            (
                r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"vendor":1}"#,
                false,
            ),
            (
                r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"messageId":7}"#,
                false,
            ),
            (
                r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a","annotations":{}}}"#,
                true,
            ),
            (
                r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"","mimeType":"a/b"}}"#,
                true,
            ),
            (
                r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"hologram"}}"#,
                true,
            ),
        ] {
            let UpdateKind::Chunk(chunk) = parse(update).kind else {
                panic!("{update}")
            };
            assert!(chunk.alone, "{update}");
            assert_eq!(
                matches!(chunk.content, ChunkContent::Block(_)),
                is_block,
                "{update}"
            );
        }
        let plain =
            r#"{"messageId":"m","sessionUpdate":"agent_message_chunk","content":{"text":"a","type":"text"}}"#;
        assert!(matches!(
            parse(plain).kind,
            UpdateKind::Chunk(Chunk { alone: false, .. })
        ));
    }

    #[test]
    fn text_that_looks_like_a_block_is_text() {
        let update = r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"{\"type\":\"image\"}"}}"#;
        assert!(
            matches!(parse(update).kind, UpdateKind::Chunk(Chunk { content: ChunkContent::Text(t), .. }) if t == r#"{"type":"image"}"#)
        );
    }

    #[test]
    fn wrong_types_and_unknown_kinds_are_carried() {
        for update in [
            r#"{"sessionUpdate":"hologram","x":1.10}"#,
            r#"{"sessionUpdate":"agent_message_chunk","content":7}"#,
            r#"{"sessionUpdate":"agent_message_chunk"}"#,
            r#"{"sessionUpdate":"plan","entries":"none"}"#,
            r#"{"sessionUpdate":"usage_update","used":18446744073709551616,"size":1}"#,
            r#"{"sessionUpdate":"usage_update","used":1e999,"size":1}"#,
            r#"{"sessionUpdate":"\ud83d"}"#,
            r#"{"sessionUpdate":"tool_call","toolCallId":5}"#,
            r#"{"sessionUpdate":7}"#,
            r#"{"content":{}}"#,
            "[]",
            "null",
        ] {
            let parsed = parse(update);
            assert_eq!(parsed.kind, UpdateKind::Other, "{update}");
            assert_eq!(parsed.raw.unwrap().get(), update);
        }
        assert!(Update::parse("{", None).is_err());
        assert!(
            Update::parse(
                r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"b"}}"#,
                None
            )
            .is_err()
        );
    }

    #[test]
    fn a_text_that_is_cut_within_a_character_is_a_text() {
        let chunk = |text: &str| {
            let update = format!(
                r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}"#
            );
            let parsed = parse(&update);
            assert_eq!(parsed.raw.unwrap().get(), update);
            let UpdateKind::Chunk(chunk) = parsed.kind else {
                panic!("{update}")
            };
            let ChunkContent::Text(text) = chunk.content else {
                panic!("{update}")
            };
            (chunk.first_half, text, chunk.last_half)
        };
        assert_eq!(chunk("a\\ud83d"), (None, "a".into(), Some(0xd83d)));
        assert_eq!(
            chunk("\\ude00 b\\ud83dc"),
            (Some(0xde00), " b\u{fffd}c".into(), None)
        );
        let call = parse(r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"x \ud83d"}"#);
        let expected = ToolUpdate {
            id: "t".into(),
            opens: true,
            title: Some("x \u{fffd}".into()),
            ..ToolUpdate::default()
        };
        assert_eq!(call.kind, UpdateKind::Tool(expected));
        assert!(call.raw.unwrap().get().contains(r"x \ud83d"));
    }

    #[test]
    fn a_tool_call_says_what_we_act_on_and_bad_members_count_as_absent() {
        let update = parse(
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"weird","title":null,"kind":"execute","content":[]}"#,
        );
        let expected = ToolUpdate {
            id: "t".into(),
            kind: Some("execute".into()),
            ..ToolUpdate::default()
        };
        assert_eq!(update.kind, UpdateKind::Tool(expected));
    }

    /// Agents use the spellings of ACP's drafts as well as those of its schema.
    #[test]
    fn both_spellings_are_read() {
        let usage = |cost: Option<&str>| UpdateKind::Usage {
            used: 5,
            size: 10,
            cost: cost.map(|cost| RawJson::parse(cost).unwrap()),
        };
        let mode = || UpdateKind::Mode("ask".into());
        for (update, expected) in [
            (
                r#"{"sessionUpdate":"current_mode_update","currentModeId":"ask"}"#,
                mode(),
            ),
            (
                r#"{"sessionUpdate":"current_mode_update","modeId":"ask"}"#,
                mode(),
            ),
            (
                r#"{"sessionUpdate":"current_mode_update","modeId":"old","currentModeId":"ask"}"#,
                mode(),
            ),
            (
                r#"{"sessionUpdate":"config_option_update","configOptions":[]}"#,
                UpdateKind::ConfigOptions,
            ),
            (
                r#"{"sessionUpdate":"config_options_update","configOptions":[]}"#,
                UpdateKind::ConfigOptions,
            ),
            (
                r#"{"sessionUpdate":"usage_update","used":5,"size":10}"#,
                usage(None),
            ),
            (
                r#"{"sessionUpdate":"usage_update","usage":{"used":5,"size":10,"cost":{"amount":1.10}}}"#,
                usage(Some(r#"{"amount":1.10}"#)),
            ),
            (
                r#"{"sessionUpdate":"usage_update","usage":{"used":5}}"#,
                UpdateKind::Other,
            ),
            (r#"{"sessionUpdate":"usage_update","usage":7}"#, UpdateKind::Other),
        ] {
            assert_eq!(parse(update).kind, expected, "{update}");
        }
    }

    #[test]
    fn an_empty_plan_is_a_plan() {
        assert_eq!(
            parse(r#"{"sessionUpdate":"plan","entries":[]}"#).kind,
            UpdateKind::Plan(vec![])
        );
        let mixed = parse(
            r#"{"sessionUpdate":"plan","entries":[1,{"content":"a","priority":"high","status":"pending"}]}"#,
        );
        assert!(matches!(mixed.kind, UpdateKind::Plan(entries) if entries.len() == 1));
    }
}
