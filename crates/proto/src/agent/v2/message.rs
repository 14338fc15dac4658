//! Messages. Version 2 can replace a message as a whole, and clear it. In version 1, what was sent stays: a replacement is another message,
//! whose `_meta` names the one that it replaces; `begins` is in that of its first chunk, before which nothing of the message stays.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use acpd_model::RawJson;
use serde_json::json;

use super::parts::{beside, noted, object_in, objects_in, text_in, with_blocks};
use crate::agent::bounds::is_name;
use crate::wire::{member, object, spliced};

/// Messages whose content is known. A replacement of an older one is a message of its own.
const MESSAGES: usize = 256;

/// What is between the agent's id of a message and the number of its replacement: no id of an agent has it.
pub(crate) const REVISION: &str = "~acpd:";

/// The session, the kind of chunk, and the agent's id. A message and a thought can have one id.
type Key = (String, &'static str, String);

/// The messages of the sessions of a process.
#[derive(Debug, Default)]
pub(super) struct Messages {
    known: BTreeMap<Key, Message>,
    /// The same, oldest first.
    order: VecDeque<Key>,
}

/// What is known of a message.
#[derive(Debug, Default)]
struct Message {
    /// The content, as a hash.
    content: DefaultHasher,
    has_content: bool,
    /// How often it was replaced.
    revision: u32,
}

impl Message {
    fn add(&mut self, block: &RawJson) {
        let text = member(block, "text").filter(|text| text.starts_with('"'));
        match text.filter(|_| text_in(block, "type").is_some_and(|kind| kind == "text")) {
            // Chunks divide a text anywhere, also within a surrogate pair, which is then escaped and else need not be.
            Some(text) => {
                let text = &text[1..text.len() - 1];
                units(text, |unit| self.content.write_u16(unit));
                self.has_content |= !text.is_empty();
            }
            None => {
                block.get().hash(&mut self.content);
                self.has_content = true;
            }
        }
    }

    /// Returns the id in version 1.
    fn id(&self, id: &str) -> String {
        match self.revision {
            0 => id.to_owned(),
            revision => format!("{id}{REVISION}{revision}"),
        }
    }

    /// Returns a chunk of the message, which names the message that it replaces, and says whether it is the first of the replacement.
    fn chunk(&self, id: &str, chunk: &RawJson, begins: bool) -> RawJson {
        if self.revision == 0 {
            return chunk.clone();
        }
        let chunk = spliced(chunk, &[("messageId", &json!(self.id(id)).to_string())]);
        let note = object(|out| {
            out.put("replaces", id);
            if begins {
                out.put("begins", &true);
            }
        });
        noted(&chunk, note.get())
    }
}

impl Messages {
    /// Returns the chunk in version 1.
    pub fn chunk(&mut self, session: &str, kind: &'static str, chunk: &RawJson) -> RawJson {
        let Some(id) = text_in(chunk, "messageId").filter(|id| is_name(id)) else {
            return with_blocks(chunk, "content");
        };
        let message = self.message(session, kind, &id);
        if let Some(block) = object_in(chunk, "content") {
            message.add(&block);
        }
        message.chunk(&id, &with_blocks(chunk, "content"), false)
    }

    /// Returns the chunks of a message that is sent as a whole: none if that changes nothing. That it is empty now has no chunks.
    pub fn whole(&mut self, session: &str, kind: &'static str, whole: &RawJson) -> Vec<RawJson> {
        let Some(id) = text_in(whole, "messageId").filter(|id| is_name(id)) else {
            return Vec::new();
        };
        // Without content, the update changes nothing but `_meta`.
        if member(whole, "content").is_none() {
            return Vec::new();
        }
        let blocks = objects_in(whole, "content").unwrap_or_default();
        let mut new = Message::default();
        for block in &blocks {
            new.add(block);
        }
        let known = self.message(session, kind, &id);
        if known.has_content {
            if known.content.finish() == new.content.finish() {
                return Vec::new();
            }
            known.revision += 1;
        }
        (known.content, known.has_content) = (new.content, new.has_content);
        if blocks.is_empty() && known.revision > 0 {
            return vec![beside(whole)];
        }
        let meta = object_in(whole, "_meta");
        let chunks = blocks.iter().enumerate().map(|(at, block)| {
            let chunk = object(|out| {
                out.put("sessionUpdate", kind)
                    .raw("content", block.get())
                    .put("messageId", &id)
                    .json("_meta", meta.as_ref().filter(|_| at == 0));
            });
            known.chunk(&id, &with_blocks(&chunk, "content"), at == 0)
        });
        chunks.collect()
    }

    /// Returns `cursor_update`. A cursor after a message that was replaced is after what replaces it.
    pub fn cursor(&self, session: &str, update: &RawJson) -> RawJson {
        self.anchored(session, update).unwrap_or_else(|| update.clone())
    }

    fn anchored(&self, session: &str, update: &RawJson) -> Option<RawJson> {
        let anchor = object_in(update, "anchor")?;
        let kind = match text_in(&anchor, "type")?.as_str() {
            "user_message" => "user_message_chunk",
            "agent_message" => "agent_message_chunk",
            "agent_thought" => "agent_thought_chunk",
            _ => return None,
        };
        if text_in(&anchor, "position")? != "after" {
            return None;
        }
        let id = text_in(&anchor, "messageId")?;
        let message = self.known.get(&(session.to_owned(), kind, id.clone()))?;
        let id = json!(message.id(&id)).to_string();
        let anchor = spliced(&anchor, &[("messageId", &id)]);
        Some(spliced(update, &[("anchor", anchor.get())]))
    }

    fn message(&mut self, session: &str, kind: &'static str, id: &str) -> &mut Message {
        let key = (session.to_owned(), kind, id.to_owned());
        if !self.known.contains_key(&key) {
            self.order.push_back(key.clone());
            if self.order.len() > MESSAGES
                && let Some(oldest) = self.order.pop_front()
            {
                self.known.remove(&oldest);
            }
        }
        self.known.entry(key).or_default()
    }
}

/// Takes the UTF-16 of a JSON string, which is written without its quotation marks.
fn units(written: &str, mut take: impl FnMut(u16)) {
    let mut rest = written;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        plain.encode_utf16().for_each(&mut take);
        let mut letters = escaped.chars();
        let letter = letters.next().unwrap_or('\\');
        rest = letters.as_str();
        let digits = rest.get(..4).filter(|_| letter == 'u');
        let unit = match (
            letter,
            digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()),
        ) {
            (_, Some(unit)) => {
                rest = &rest[4..];
                unit
            }
            ('n', _) => 0x0a,
            ('r', _) => 0x0d,
            ('t', _) => 0x09,
            ('b', _) => 0x08,
            ('f', _) => 0x0c,
            (other, _) => u16::try_from(u32::from(other)).unwrap_or_default(),
        };
        take(unit);
    }
    rest.encode_utf16().for_each(take);
}
