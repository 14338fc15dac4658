//! Messages: chunks of the agent's text become items.
//!
//! In: chunks, and events that interrupt a message. Out: only events in the journal. Owns: the open message, and the
//! prompt that the agent may repeat ([`echo`]). Never: shows text twice, or lets an item grow without end: a message that is
//! longer than an item may be continues in the next one.

mod echo;
mod long;
mod said;

use acpd_model::limits::MESSAGE_ITEM_BYTES;
use acpd_model::{EventKind, ItemEvent, ItemId, ItemOutcome, ItemStart, MessageType, Origin, RawJson};

use self::echo::Echo;
use self::long::Whole;
use self::said::Said;
use super::journal::Journal;
use crate::agent::{Chunk, ChunkContent, Quirks, text_chunk};
use crate::fanout::{Delta, Source};

/// The message that the agent is sending.
#[derive(Debug)]
struct OpenMessage {
    item: ItemId,
    /// The bytes of the item's content so far.
    bytes: usize,
    role: MessageType,
    message_id: Option<String>,
    /// Whether another item has started since, so that more text is another message, even with the same message id: both
    /// are shown in their order.
    broken: bool,
    /// Whether the last update was not text, so that equal text does not repeat it.
    interrupted: bool,
    /// What the message says, of an agent that repeats messages; `None` if it has more than text.
    said: Option<Said>,
}

/// The messages of a thread.
#[derive(Debug, Default)]
pub(super) struct Messages {
    open: Option<OpenMessage>,
    /// The prompt of this turn, which the agent may repeat.
    echo: Echo,
}

impl Messages {
    /// Returns the item of the open message.
    pub fn open_item(&self) -> Option<ItemId> {
        self.open.as_ref().map(|open| open.item)
    }

    /// Returns whether more text of the agent would belong to the open message.
    pub fn is_in_message(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.broken)
    }

    /// Records a chunk that comes too late to be shown.
    pub fn keep_unshown(
        journal: &mut Journal,
        chunk: &Chunk,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
    ) {
        emit_unshown(journal, chunk, raw, raw_params);
    }

    /// Expects the agent to repeat these blocks.
    pub fn expect_echo(&mut self, blocks: &[RawJson]) {
        self.echo.expect(blocks);
    }

    /// Records that an update other than text came: the text that follows does not repeat it.
    pub fn interrupt(&mut self) {
        if let Some(open) = &mut self.open {
            open.interrupted = true;
        }
    }

    /// Makes further text another message.
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
        emit_unshown(journal, &chunk, raw, raw_params);
    }

    /// Returns whether a chunk repeats the prompt of this turn. After the first user chunk that does not, nothing
    /// counts as a repetition.
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

    /// Adds an incomplete repetition as a message, because the rest of the text did not come.
    pub fn end_partial_echo(&mut self, journal: &mut Journal, quirks: Quirks) {
        if let Some(chunk) = self.echo.take_partial() {
            self.add_chunk(journal, quirks, chunk, None, None);
        }
    }

    /// Stops expecting repetitions, because the turn is over.
    pub fn end_echo(&mut self, journal: &mut Journal, quirks: Quirks) {
        self.end_partial_echo(journal, quirks);
        self.echo = Echo::default();
    }

    /// Adds a chunk, unless it repeats its message. Divides a text that is too long for one item.
    fn add_chunk(
        &mut self,
        journal: &mut Journal,
        quirks: Quirks,
        chunk: Chunk,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
    ) {
        if quirks.repeats_messages && self.repeats(&chunk) {
            return emit_unshown(journal, &chunk, raw, raw_params);
        }
        let whole = Whole {
            chunk,
            raw,
            raw_params,
        };
        let short = whole.divide(|part| self.add_part(journal, quirks, part));
        if let Some(short) = short {
            self.add_part(journal, quirks, short);
        }
    }

    fn add_part(&mut self, journal: &mut Journal, quirks: Quirks, part: Whole) {
        let Whole {
            chunk,
            raw,
            raw_params,
        } = part;
        let Chunk {
            role,
            message_id,
            content,
            alone,
            // The connection has joined them with their other halves.
            first_half: _,
            last_half: _,
        } = chunk;
        let item = self.message_item(journal, role, message_id.clone());
        let item = self.item_with_room(journal, item, content.bytes());
        if quirks.repeats_messages {
            self.note_said(&content);
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
                let kind = EventKind::Item(ItemEvent::Delta {
                    item,
                    role,
                    text,
                    message_id: None,
                });
                journal.emit_with_params(Origin::Agent, kind, raw, raw_params);
            }
            ChunkContent::Block(block) => {
                let kind = EventKind::Item(ItemEvent::Content { item, role, block });
                journal.emit_with_params(Origin::Agent, kind, raw, raw_params);
            }
        }
    }

    /// Returns whether a chunk repeats its whole message. Any other equal text is new: "ha", "ha".
    fn repeats(&self, chunk: &Chunk) -> bool {
        let ChunkContent::Text(text) = &chunk.content else {
            return false;
        };
        let open = self
            .continued(chunk.role, chunk.message_id.as_deref())
            .filter(|open| !open.interrupted && !text.is_empty());
        open.and_then(|open| open.said.as_ref())
            .is_some_and(|said| said.is(text))
    }

    /// Takes note of content that was added to the open message.
    fn note_said(&mut self, content: &ChunkContent) {
        let Some(open) = &mut self.open else {
            return;
        };
        match content {
            ChunkContent::Text(text) => {
                if let Some(said) = &mut open.said {
                    said.add(text);
                }
            }
            ChunkContent::Block(_) => open.said = None,
        }
    }

    /// Returns the open message, if a chunk with this role and message id belongs to it.
    fn continued(&self, role: MessageType, message_id: Option<&str>) -> Option<&OpenMessage> {
        let open = self.open.as_ref()?;
        let is_same = open.role == role && open.message_id.as_deref() == message_id && !open.broken;
        is_same.then_some(open)
    }

    /// Returns the message that a chunk belongs to: the open one, or a new one that ends it.
    fn message_item(
        &mut self,
        journal: &mut Journal,
        role: MessageType,
        message_id: Option<String>,
    ) -> ItemId {
        match self.continued(role, message_id.as_deref()) {
            Some(open) => open.item,
            None => self.begin(journal, role, message_id, Some(Said::default())),
        }
    }

    /// Returns the item that `bytes` of content are added to: the open one, or the next one of the same message if they make
    /// it too large.
    fn item_with_room(&mut self, journal: &mut Journal, item: ItemId, bytes: usize) -> ItemId {
        let full = self
            .open
            .as_mut()
            .filter(|open| open.bytes > 0 && open.bytes + bytes > MESSAGE_ITEM_BYTES)
            .map(|open| (open.role, open.message_id.clone(), open.said.take()));
        let item = match full {
            Some((role, message_id, said)) => self.begin(journal, role, message_id, said),
            None => item,
        };
        if let Some(open) = &mut self.open {
            open.interrupted = false;
            open.bytes += bytes;
        }
        item
    }

    /// Starts an item, after the open one has ended. `said` is what its message says in earlier items.
    fn begin(
        &mut self,
        journal: &mut Journal,
        role: MessageType,
        message_id: Option<String>,
        said: Option<Said>,
    ) -> ItemId {
        self.end(journal, ItemOutcome::Completed);
        let item = journal.next_item();
        let start = ItemStart::Message {
            role,
            message_id: message_id.clone(),
            client_message_id: None,
        };
        let kind = EventKind::Item(ItemEvent::Started {
            item,
            parent: None,
            start,
        });
        journal.emit(Origin::Agent, kind, None);
        self.open = Some(OpenMessage {
            item,
            bytes: 0,
            role,
            message_id,
            broken: false,
            interrupted: false,
            said,
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

/// Records a chunk that is not shown, for example because it repeats what is.
fn emit_unshown(journal: &mut Journal, chunk: &Chunk, raw: Option<RawJson>, raw_params: Option<RawJson>) {
    let raw = raw.or_else(|| match &chunk.content {
        ChunkContent::Text(text) => Some(text_chunk(chunk.role, text)),
        ChunkContent::Block(_) => None,
    });
    journal.emit_unshown(raw, raw_params);
}
