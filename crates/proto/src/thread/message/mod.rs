//! Messages: chunks of the agent's text become items.
//!
//! In: chunks, and what interrupts a message. Out: only events in the journal. Owns: the open message, and what the agent may
//! repeat of its prompt ([`echo`]). Never: shows text twice.

mod echo;

use acpd_model::{EventKind, ItemId, ItemOutcome, ItemStart, MessageType, Origin, RawJson};

use self::echo::Echo;
use super::journal::Journal;
use crate::agent::{Chunk, ChunkContent, Quirks, text_chunk};
use crate::fanout::{Delta, Source};
use crate::projection::{ItemView, Part};

/// The message that the agent is in the middle of.
#[derive(Debug)]
struct OpenMessage {
    item: ItemId,
    role: MessageType,
    message_id: Option<String>,
    /// Something else happened since, so that more text without a message id is another message.
    broken: bool,
    /// Something that is not text came last, so that what looks like a repetition is none.
    interrupted: bool,
}

/// The messages of a thread.
#[derive(Debug, Default)]
pub(super) struct Messages {
    open: Option<OpenMessage>,
    /// What the agent was told in this turn and may send back.
    echo: Echo,
}

impl Messages {
    /// Returns the item of the open message.
    pub fn open_item(&self) -> Option<ItemId> {
        self.open.as_ref().map(|open| open.item)
    }

    /// Expects the agent to send these blocks back.
    pub fn expect_echo(&mut self, blocks: &[RawJson]) {
        self.echo.expect(blocks);
    }

    /// Notes that something else than text came: what follows is no repetition.
    pub fn interrupt(&mut self) {
        if let Some(open) = &mut self.open {
            open.interrupted = true;
        }
    }

    /// Makes further text without a message id another message.
    pub fn break_off(&mut self) {
        if let Some(open) = &mut self.open {
            open.broken = true;
        }
    }

    pub fn handle_chunk(
        &mut self,
        journal: &mut Journal,
        quirks: Quirks,
        chunk: Chunk,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
    ) {
        if !self.is_echo(journal, quirks, &chunk) {
            return self.add_chunk(journal, quirks, chunk, raw, raw_params);
        }
        let raw = raw.or_else(|| match &chunk.content {
            ChunkContent::Text(text) => Some(text_chunk(chunk.role, text)),
            ChunkContent::Block(_) => None,
        });
        journal.emit_unshown(raw, raw_params);
    }

    /// Whether a chunk repeats what the agent was told in this turn. With the first user's words that do not, it repeats
    /// nothing any more.
    fn is_echo(&mut self, journal: &mut Journal, quirks: Quirks, chunk: &Chunk) -> bool {
        let users = chunk.role == MessageType::UserMessage;
        if users && self.echo.take(chunk) {
            return true;
        }
        self.end_partial_echo(journal, quirks);
        if users {
            self.echo = Echo::default();
        }
        false
    }

    /// The rest of a text has not come: what came of it is a message.
    pub fn end_partial_echo(&mut self, journal: &mut Journal, quirks: Quirks) {
        if let Some(chunk) = self.echo.take_partial() {
            self.add_chunk(journal, quirks, chunk, None, None);
        }
    }

    /// The turn is over, and with it what the agent may repeat.
    pub fn end_echo(&mut self, journal: &mut Journal, quirks: Quirks) {
        self.end_partial_echo(journal, quirks);
        self.echo = Echo::default();
    }

    fn add_chunk(
        &mut self,
        journal: &mut Journal,
        quirks: Quirks,
        chunk: Chunk,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
    ) {
        let Chunk {
            role,
            message_id,
            content,
            alone,
        } = chunk;
        let item = self.message_item(journal, role, message_id.clone());
        if quirks.repeats_messages
            && let ChunkContent::Text(text) = &content
            && self.repeats(journal, item, text)
        {
            let raw = raw.unwrap_or_else(|| text_chunk(role, text));
            return journal.emit_unshown(Some(raw), raw_params);
        }
        if let Some(open) = &mut self.open {
            open.interrupted = false;
        }
        match content {
            ChunkContent::Text(text) if raw_params.is_none() && !alone => journal.emit_text(Delta {
                turn: journal.current_turn(),
                item,
                source: Source::Message(role),
                text,
                raw,
                message_id,
            }),
            ChunkContent::Text(text) => {
                let kind = EventKind::ItemDelta {
                    item,
                    role,
                    text,
                    message_id: None,
                };
                journal.emit_with_params(Origin::Agent, kind, raw, raw_params);
            }
            ChunkContent::Block(block) => {
                let kind = EventKind::ItemContent { item, role, block };
                journal.emit_with_params(Origin::Agent, kind, raw, raw_params);
            }
        }
    }

    /// Returns whether a chunk repeats its whole message. Anything else that looks alike is text: "ha", "ha".
    fn repeats(&self, journal: &Journal, item: ItemId, text: &str) -> bool {
        let broken = |open: &OpenMessage| open.broken || open.interrupted;
        if self.open.as_ref().is_none_or(broken) || text.is_empty() {
            return false;
        }
        let Some(ItemView::Message(view)) = journal.item(item) else {
            return false;
        };
        let held = journal.held_text(item);
        match &view.parts[..] {
            [] => held == text,
            [Part::Text(said)] => text.strip_prefix(said.as_str()) == Some(held),
            _ => false,
        }
    }

    /// The message that a chunk belongs to: the open one, or a new one that ends it.
    fn message_item(
        &mut self,
        journal: &mut Journal,
        role: MessageType,
        message_id: Option<String>,
    ) -> ItemId {
        if let Some(open) = &self.open {
            let same_id = open.message_id == message_id;
            if open.role == role && same_id && (message_id.is_some() || !open.broken) {
                return open.item;
            }
        }
        self.end(journal, ItemOutcome::Completed);
        let item = journal.next_item();
        let start = ItemStart::Message {
            role,
            message_id: message_id.clone(),
        };
        let kind = EventKind::ItemStarted {
            item,
            parent: None,
            start,
        };
        journal.emit(Origin::Agent, kind, None);
        self.open = Some(OpenMessage {
            item,
            role,
            message_id,
            broken: false,
            interrupted: false,
        });
        item
    }

    /// Completes the open message.
    pub fn end(&mut self, journal: &mut Journal, outcome: ItemOutcome) {
        if let Some(open) = self.open.take() {
            journal.flush();
            journal.complete(open.item, outcome);
        }
    }
}
