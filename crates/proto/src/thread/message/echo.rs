//! Text that an agent repeats from its prompt in the running turn: it is recorded, not shown a second time.
//!
//! In: the blocks that were sent to the agent, and its `user_message_chunk`s. Out: whether a chunk repeats them.
//! Owns: the blocks that were sent and not repeated yet, up to [`ECHO_BYTES`]. Never: hides text that was not sent to
//! the agent in this turn.

use std::collections::VecDeque;

use acpd_model::json::read_with;
use acpd_model::{BlobId, MessageType, RawJson};
use serde::Deserialize;

use crate::agent::{Chunk, ChunkContent};
use crate::wire::Text;

/// Bytes of the prompts of one turn that are kept to recognize the agent's echo of them.
const ECHO_BYTES: usize = 4 << 20;

/// The blocks that were sent in this turn and not repeated yet.
#[derive(Debug, Default)]
pub(super) struct Echo {
    /// Text blocks, trimmed, because agents join them in several ways.
    texts: VecDeque<String>,
    /// The number of bytes of the first text that were repeated.
    at: usize,
    /// Digests of other blocks.
    others: Vec<BlobId>,
    /// The size of all fields, in bytes.
    bytes: usize,
    /// Whether the agent has repeated part of the prompt.
    begun: bool,
    /// Chunks of a text block whose rest is missing. They may still be a message.
    partial: String,
    /// The message id of these chunks.
    message_id: Option<String>,
}

/// The members of a block other than text that are compared. Agents omit the other members.
#[derive(Deserialize)]
struct ComparableBlock<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    data: Option<Text<'a>>,
    #[serde(borrow)]
    uri: Option<Text<'a>>,
    #[serde(borrow)]
    resource: Option<Resource<'a>>,
}

#[derive(Deserialize)]
struct Resource<'a> {
    #[serde(borrow)]
    uri: Text<'a>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    blob: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct TextBlock<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
}

/// Returns the text of a text block, whatever other members it has.
pub(super) fn text_of(block: &RawJson) -> Option<String> {
    read_with(block.get(), |text| {
        let block: TextBlock<'_> = serde_json::from_str(text)?;
        Ok::<_, serde_json::Error>((&*block.kind == "text").then(|| block.text.into_string()))
    })
    .ok()
    .flatten()
}

/// Returns a digest that is equal for blocks with equal content.
fn name_of(block: &RawJson) -> BlobId {
    let same = serde_json::from_str::<ComparableBlock<'_>>(block.get())
        .ok()
        .and_then(|held| {
            let parts = match (&held.data, &held.resource, &held.uri) {
                (Some(data), ..) => [data, "", ""],
                (_, Some(resource), _) => {
                    let content = resource.text.as_deref().or(resource.blob.as_deref());
                    ["resource", &resource.uri, content.unwrap_or_default()]
                }
                (_, _, Some(uri)) => ["uri", uri, ""],
                _ => return None,
            };
            Some(format!("{}\0{}", &*held.kind, parts.join("\0")))
        });
    BlobId::of(same.as_deref().unwrap_or(block.get()).as_bytes())
}

impl Echo {
    /// Adds blocks that are sent to the agent. Blocks above the limit are shown if the agent repeats them.
    pub fn expect(&mut self, blocks: &[RawJson]) {
        for block in blocks {
            match text_of(block) {
                Some(text) => {
                    let text = text.trim();
                    if !text.is_empty() && self.has_room(size_of::<String>() + text.len()) {
                        self.texts.push_back(text.to_owned());
                    }
                }
                None if self.has_room(size_of::<BlobId>()) => self.others.push(name_of(block)),
                None => {}
            }
        }
    }

    fn has_room(&mut self, bytes: usize) -> bool {
        let fits = self.bytes + bytes <= ECHO_BYTES;
        if fits {
            self.bytes += bytes;
        }
        fits
    }

    /// Consumes a chunk if it repeats text of the prompt. Returns whether it does.
    pub fn take(&mut self, chunk: &Chunk) -> bool {
        let repeats = match &chunk.content {
            ChunkContent::Text(text) => self.take_text(text),
            ChunkContent::Block(block) => match text_of(block) {
                Some(text) => self.take_text(&text),
                None => self.take_other(name_of(block)),
            },
        };
        self.begun |= repeats;
        if repeats && !self.partial.is_empty() {
            self.message_id.clone_from(&chunk.message_id);
        }
        repeats
    }

    fn take_other(&mut self, name: BlobId) -> bool {
        let found = self.others.iter().position(|known| *known == name);
        found.map(|at| self.others.swap_remove(at)).is_some()
    }

    /// Matches from any block, because an agent that also got the earlier conversation may repeat only the prompt.
    fn take_text(&mut self, text: &str) -> bool {
        if text.trim().is_empty() && !self.begun {
            return false;
        }
        let first = if self.at == 0 { self.texts.len().max(1) } else { 1 };
        let found = (0..first).find_map(|from| self.follow(from, text));
        let Some((block, at)) = found else {
            return false;
        };
        self.texts.drain(..block);
        self.at = at;
        if at == 0 {
            self.partial.clear();
        } else {
            self.partial.push_str(text);
        }
        true
    }

    /// Returns where `text` ends if it starts at the current position of block `from`: the block, and the number of
    /// its bytes.
    fn follow(&self, from: usize, text: &str) -> Option<(usize, usize)> {
        let mut block = from;
        let mut at = if from == 0 { self.at } else { 0 };
        let mut rest = text;
        loop {
            if at == 0 {
                rest = rest.trim_start();
            }
            if rest.is_empty() {
                return Some((block, at));
            }
            let expected = &self.texts.get(block)?[at..];
            match rest.strip_prefix(expected) {
                Some(more) => {
                    (block, at, rest) = (block + 1, 0, more);
                }
                None if expected.starts_with(rest) => return Some((block, at + rest.len())),
                None => return None,
            }
        }
    }

    /// Returns the part of an incomplete repetition as a chunk, and expects no more repetitions.
    pub fn take_partial(&mut self) -> Option<Chunk> {
        if self.partial.is_empty() {
            return None;
        }
        let echo = std::mem::take(self);
        Some(Chunk {
            role: MessageType::UserMessage,
            message_id: echo.message_id,
            content: ChunkContent::Text(echo.partial),
            alone: false,
            first_half: None,
            last_half: None,
        })
    }
}
