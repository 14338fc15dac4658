//! The chunks of a message.

use std::sync::LazyLock;

use acpd_model::json::{self, Halves};
use acpd_model::{MessageType, RawJson};
use memchr::memmem::Finder;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{UpdateKind, Wire};
use crate::agent::bounds::is_name;
use crate::wire::Text;

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

impl ChunkContent {
    /// Returns the size of the content, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Block(block) => block.get().len(),
        }
    }
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

/// Reads a chunk with any members.
pub(super) fn chunk(role: MessageType, wire: &Wire<'_>) -> Option<UpdateKind> {
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
pub(super) fn canonical(chunk: &Chunk) -> Option<String> {
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
pub(super) fn parse_plain(update: &str) -> Option<Chunk> {
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
pub(super) fn parse_canonical(update: &str) -> Option<Chunk> {
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
