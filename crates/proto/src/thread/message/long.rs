//! Chunks whose text is too long for one item.
//!
//! In: a chunk with its update. Out: chunks with the parts of its text. Owns: the update without the text. Never: drops a member of
//! the update, or repeats large ones with each part.

use acpd_model::RawJson;
use acpd_model::limits::{MESSAGE_ITEM_BYTES, REPEATED_MEMBERS_BYTES};

use super::echo::text_of;
use crate::agent::{Chunk, ChunkContent};
use crate::wire::{member, spliced};

/// A chunk with the update that it came in.
#[derive(Debug, Clone)]
pub(super) struct Whole {
    pub chunk: Chunk,
    /// The `update` object, unless the chunk rebuilds it.
    pub raw: Option<RawJson>,
    /// The params, unless the update rebuilds them.
    pub raw_params: Option<RawJson>,
}

impl Whole {
    /// Divides a chunk whose text is too long for an item, and gives each part to `add`. Returns the chunk if it is not.
    pub fn divide(self, mut add: impl FnMut(Self)) -> Option<Self> {
        if self.chunk.content.bytes() <= MESSAGE_ITEM_BYTES {
            return Some(self);
        }
        let text = match &self.chunk.content {
            ChunkContent::Text(text) => Some(text.clone()),
            ChunkContent::Block(block) => text_of(block),
        };
        let Some(text) = text.filter(|text| text.len() > MESSAGE_ITEM_BYTES) else {
            return Some(self);
        };
        let template = self.with_text("");
        let repeats = template.others() <= REPEATED_MEMBERS_BYTES;
        drop(self);
        let mut rest = &*text;
        let mut is_first = true;
        while !rest.is_empty() {
            let (part, more) = rest.split_at(rest.floor_char_boundary(MESSAGE_ITEM_BYTES));
            add(if is_first || repeats {
                template.with_text(part)
            } else {
                template.plain(part)
            });
            (rest, is_first) = (more, false);
        }
        None
    }

    /// Returns the size of the members beside the text, in bytes.
    fn others(&self) -> usize {
        let block = match &self.chunk.content {
            ChunkContent::Text(_) => None,
            ChunkContent::Block(block) => Some(block),
        };
        let all = [block, self.raw.as_ref(), self.raw_params.as_ref()];
        all.into_iter().flatten().map(|json| json.get().len()).sum()
    }

    /// Returns the same chunk with other text.
    fn with_text(&self, text: &str) -> Self {
        let Self {
            chunk,
            raw,
            raw_params,
        } = self;
        let content = match &chunk.content {
            ChunkContent::Text(_) if !chunk.alone && raw_params.is_none() => return self.plain(text),
            ChunkContent::Text(_) => ChunkContent::Text(text.to_owned()),
            ChunkContent::Block(block) => ChunkContent::Block(with_string(block, "text", text)),
        };
        let raw = raw.as_ref().map(|update| update_with(update, text));
        let raw_params = raw_params.as_ref().map(|params| {
            let own = || read(params, "update").map(|update| update_with(&update, text));
            let update = raw.clone().or_else(own);
            update.map_or_else(
                || params.clone(),
                |update| spliced(params, &[("update", update.get())]),
            )
        });
        Self {
            chunk: Chunk {
                content,
                ..self.header()
            },
            raw,
            raw_params,
        }
    }

    /// Returns a chunk of the same message with this text and nothing else.
    fn plain(&self, text: &str) -> Self {
        Self {
            chunk: Chunk {
                content: ChunkContent::Text(text.to_owned()),
                alone: false,
                ..self.header()
            },
            raw: None,
            raw_params: None,
        }
    }

    /// Returns the chunk without content. The connection has joined its halves of characters with the others.
    fn header(&self) -> Chunk {
        let Chunk {
            role,
            message_id,
            alone,
            ..
        } = &self.chunk;
        Chunk {
            role: *role,
            message_id: message_id.clone(),
            content: ChunkContent::Text(String::new()),
            alone: *alone,
            first_half: None,
            last_half: None,
        }
    }
}

fn read(json: &RawJson, name: &str) -> Option<RawJson> {
    member(json, name).map(RawJson::trusted)
}

/// Returns the `update` object of a chunk with other text.
fn update_with(update: &RawJson, text: &str) -> RawJson {
    let block = read(update, "content").map(|block| with_string(&block, "text", text));
    block.map_or_else(
        || update.clone(),
        |block| spliced(update, &[("content", block.get())]),
    )
}

fn with_string(json: &RawJson, name: &str, text: &str) -> RawJson {
    let text: RawJson = serde_json::Value::from(text).into();
    spliced(json, &[(name, text.get())])
}
