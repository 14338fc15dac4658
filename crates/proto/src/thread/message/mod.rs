//! Messages: chunks of the agent's text become items.
//!
//! In: chunks, and events that interrupt a message. Out: only events in the journal. Owns: the open message of the agent and of each of
//! its subagents, the open rest of a message of an ended turn, and the prompt that the agent may repeat ([`echo`]). Never: shows text
//! twice, or lets an item grow without end: a message that is longer than an item may be continues in the next one.

mod echo;
mod ended;
mod long;
mod said;

use std::collections::BTreeMap;

use acpd_model::limits::MESSAGE_ITEM_BYTES;
use acpd_model::{
    EventKind, ItemEvent, ItemId, ItemOutcome, ItemStart, LaneId, MessageType, RawJson, TurnId,
};

use self::echo::Echo;
use self::ended::{EndedMessage, EndedMessages};
use self::long::Whole;
use self::said::Said;
use super::journal::Journal;
use crate::agent::{Chunk, ChunkContent, Quirks, text_chunk};
use crate::fanout::{Delta, Source};
use crate::time::Instant;

/// The message that the agent is sending.
#[derive(Debug)]
struct OpenMessage {
    item: ItemId,
    /// The turn that its events belong to.
    turn: Option<TurnId>,
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

/// The place of a chunk that comes after its turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Late {
    /// The ended turn that it belongs to.
    pub turn: TurnId,
    /// When its item ends, unless more follows.
    pub until: Instant,
}

/// The messages of a thread.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// The open message of each subagent, and of the main agent. They do not end each other.
    open: BTreeMap<Option<LaneId>, OpenMessage>,
    /// The rest of a message of an ended turn, and when it ends. The main agent's open message continues beside it. What subagents
    /// send may always outlive a turn.
    late: Option<(OpenMessage, Instant)>,
    /// Messages that may continue after their turn.
    ended: EndedMessages,
    /// The prompt of this turn, which the agent may repeat.
    echo: Echo,
}

impl Messages {
    /// Returns whether the item is an unfinished message, which only this part ends.
    pub fn is_open(&self, item: ItemId) -> bool {
        let late = self.late.as_ref().map(|(late, _)| late);
        self.open.values().chain(late).any(|open| open.item == item)
    }

    /// Returns whether the open message of a subagent, or of the main agent, has this id of the agent.
    pub fn has_id(&self, lane: Option<LaneId>, id: &str) -> bool {
        let open = self.open.get(&lane);
        open.is_some_and(|open| open.message_id.as_deref() == Some(id))
    }

    /// Returns whether more text of the main agent would belong to its open message.
    pub fn is_in_message(&self) -> bool {
        self.open.get(&None).is_some_and(|open| !open.broken)
    }

    /// Returns the turn of the message that a chunk of the main agent continues, if that message has ended. `is_prompted` is whether the agent works at
    /// another prompt.
    pub fn ended_turn(&self, chunk: &Chunk, is_prompted: bool) -> Option<TurnId> {
        let role = Some(chunk.role).filter(|role| *role != MessageType::UserMessage)?;
        let id = chunk.message_id.as_deref()?;
        let has_id = |open: &&OpenMessage| open.role == role && open.message_id.as_deref() == Some(id);
        let open = self.open.get(&None);
        if open.as_ref().is_some_and(has_id) {
            return None;
        }
        let late = self.late.as_ref().map(|(late, _)| late).filter(has_id);
        if let Some(late) = late {
            return late.turn;
        }
        // An answer that has begun continues with its own messages.
        if is_prompted && open.is_some() {
            return None;
        }
        self.ended.turn_of(role, id, is_prompted)
    }

    /// Forgets the ended messages, because the process that could continue them is gone.
    pub fn forget_ended(&mut self) {
        self.ended = EndedMessages::default();
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
    pub fn interrupt(&mut self, lane: Option<LaneId>) {
        if let Some(open) = self.open.get_mut(&lane) {
            open.interrupted = true;
        }
    }

    /// Makes further text another message.
    pub fn break_off(&mut self, lane: Option<LaneId>) {
        if let Some(open) = self.open.get_mut(&lane) {
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

    /// Adds a chunk of the main agent that comes after its turn, to an item of its own in that turn: a completed item does not open again.
    pub fn handle_late(
        &mut self,
        journal: &mut Journal,
        quirks: Quirks,
        late: Late,
        chunk: Chunk,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
    ) {
        if matches!(&chunk.content, ChunkContent::Text(text) if text.is_empty()) {
            return emit_unshown(journal, &chunk, raw, raw_params);
        }
        if quirks.repeats_messages && self.repeats_ended(&chunk) {
            return emit_unshown(journal, &chunk, raw, raw_params);
        }
        let present = self.open.remove(&None);
        if let Some((open, _)) = self.late.take() {
            self.open.insert(None, open);
        }
        let is_open = |open: &OpenMessage| open.turn == Some(late.turn);
        let id = chunk.message_id.as_deref();
        if !self.continued(None, chunk.role, id).is_some_and(is_open) {
            self.begin_late(journal, late.turn, chunk.role, chunk.message_id.clone());
        }
        self.add_chunk(journal, quirks, chunk, raw, raw_params);
        self.late = self.open.remove(&None).map(|open| (open, late.until));
        self.set_open(present);
    }

    /// Starts an item that continues a message of an ended turn. It keeps the id that clients know for the message.
    fn begin_late(
        &mut self,
        journal: &mut Journal,
        turn: TurnId,
        role: MessageType,
        message_id: Option<String>,
    ) {
        self.end(journal, None, ItemOutcome::Completed);
        let known = message_id.as_deref().and_then(|id| self.ended.take(role, id));
        let item = journal.next_item();
        let kind = start(item, role, message_id.clone());
        let (repeats_id, said) = match known {
            Some(known) => (known.repeats_id, known.said),
            None => (journal.live().repeats_id(&kind), Some(Said::default())),
        };
        journal.emit_continuation(turn, kind, repeats_id);
        let open = OpenMessage {
            item,
            turn: Some(turn),
            bytes: 0,
            role,
            message_id,
            broken: false,
            interrupted: false,
            said,
        };
        self.open.insert(None, open);
    }

    /// Returns when the rest of a message of an ended turn is complete.
    pub fn late_deadline(&self) -> Option<Instant> {
        self.late.as_ref().map(|(_, until)| *until)
    }

    /// Completes the rest of a message of an ended turn.
    pub fn end_late(&mut self, journal: &mut Journal) {
        if let Some((late, _)) = self.late.take() {
            let present = self.open.insert(None, late);
            self.end(journal, None, ItemOutcome::Completed);
            self.set_open(present);
        }
    }

    fn set_open(&mut self, open: Option<OpenMessage>) {
        if let Some(open) = open {
            self.open.insert(None, open);
        }
    }

    /// Returns whether a chunk repeats the prompt of this turn. After the first user chunk that does not, nothing
    /// counts as a repetition.
    fn is_echo(&mut self, journal: &mut Journal, quirks: Quirks, chunk: &Chunk) -> bool {
        // Subagents repeat prompts of their own.
        if journal.lane().is_some() {
            return false;
        }
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
        if journal.lane().is_some() {
            return;
        }
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
        if quirks.repeats_messages && self.repeats(journal.lane(), &chunk) {
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
        let open = self.open.get(&journal.lane());
        let turn = open.and_then(|open| open.turn);
        if quirks.repeats_messages {
            self.note_said(journal.lane(), &content);
        }
        match content {
            ChunkContent::Text(text) if raw_params.is_none() && !alone => journal.emit_text(Delta {
                turn,
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
                journal.emit_update_in(turn, kind, raw, raw_params);
            }
            ChunkContent::Block(block) => {
                let kind = EventKind::Item(ItemEvent::Content { item, role, block });
                journal.emit_update_in(turn, kind, raw, raw_params);
            }
        }
    }

    /// Returns whether a chunk repeats its whole message. Any other equal text is new: "ha", "ha".
    fn repeats(&self, lane: Option<LaneId>, chunk: &Chunk) -> bool {
        let ChunkContent::Text(text) = &chunk.content else {
            return false;
        };
        let open = self
            .continued(lane, chunk.role, chunk.message_id.as_deref())
            .filter(|open| !open.interrupted && !text.is_empty());
        open.and_then(|open| open.said.as_ref())
            .is_some_and(|said| said.is(text))
    }

    /// Returns whether a chunk repeats a whole message that has ended.
    fn repeats_ended(&self, chunk: &Chunk) -> bool {
        let (ChunkContent::Text(text), Some(id)) = (&chunk.content, chunk.message_id.as_deref()) else {
            return false;
        };
        self.ended.says(chunk.role, id, text)
    }

    /// Takes note of content that was added to the open message.
    fn note_said(&mut self, lane: Option<LaneId>, content: &ChunkContent) {
        let Some(open) = self.open.get_mut(&lane) else {
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
    fn continued(
        &self,
        lane: Option<LaneId>,
        role: MessageType,
        message_id: Option<&str>,
    ) -> Option<&OpenMessage> {
        let open = self.open.get(&lane)?;
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
        match self.continued(journal.lane(), role, message_id.as_deref()) {
            Some(open) => open.item,
            None => {
                let turn = journal.current_turn();
                self.begin(journal, turn, role, message_id, Some(Said::default()))
            }
        }
    }

    /// Returns the item that `bytes` of content are added to: the open one, or the next one of the same message if they make
    /// it too large.
    fn item_with_room(&mut self, journal: &mut Journal, item: ItemId, bytes: usize) -> ItemId {
        let lane = journal.lane();
        let full = self
            .open
            .get_mut(&lane)
            .filter(|open| open.bytes > 0 && open.bytes + bytes > MESSAGE_ITEM_BYTES)
            .map(|open| (open.turn, open.role, open.message_id.clone(), open.said.take()));
        let item = match full {
            Some((turn, role, message_id, said)) => self.begin(journal, turn, role, message_id, said),
            None => item,
        };
        if let Some(open) = self.open.get_mut(&lane) {
            open.interrupted = false;
            open.bytes += bytes;
        }
        item
    }

    /// Starts an item, after the open one has ended. `said` is what its message says in earlier items.
    fn begin(
        &mut self,
        journal: &mut Journal,
        turn: Option<TurnId>,
        role: MessageType,
        message_id: Option<String>,
        said: Option<Said>,
    ) -> ItemId {
        let lane = journal.lane();
        self.end(journal, lane, ItemOutcome::Completed);
        let item = journal.next_item();
        let kind = start(item, role, message_id.clone());
        if let (None, Some(turn), Some(id)) = (lane, turn, message_id.as_deref()) {
            self.ended.begun(turn, role, id);
        }
        journal.emit_update_in(turn, kind, None, None);
        let open = OpenMessage {
            item,
            turn,
            bytes: 0,
            role,
            message_id,
            broken: false,
            interrupted: false,
            said,
        };
        self.open.insert(lane, open);
        item
    }

    /// Completes the open messages, except those of subagents that work, and the rest of one of an ended turn.
    pub fn end_all(&mut self, journal: &mut Journal, outcome: ItemOutcome) {
        let lanes = &journal.live().lanes;
        let open = self.open.keys().copied();
        let over: Vec<_> = open.filter(|lane| !lanes.is_at_work(*lane)).collect();
        for lane in over {
            self.end(journal, lane, outcome);
        }
        self.end_late(journal);
    }

    /// Completes the open message of a subagent, or of the main agent.
    pub fn end(&mut self, journal: &mut Journal, lane: Option<LaneId>, outcome: ItemOutcome) {
        let Some(open) = self.open.remove(&lane) else {
            return;
        };
        journal.flush();
        let repeats_id = journal
            .live()
            .items
            .get(&open.item)
            .is_some_and(|item| item.repeats_id);
        journal.complete_in(open.turn, open.item, outcome);
        if let (None, Some(turn), Some(message_id)) = (lane, open.turn, open.message_id) {
            self.ended.add(EndedMessage {
                turn,
                role: open.role,
                message_id,
                repeats_id,
                said: open.said,
            });
        }
    }
}

/// Returns the start of a message's item.
fn start(item: ItemId, role: MessageType, message_id: Option<String>) -> EventKind {
    EventKind::Item(ItemEvent::Started {
        item,
        parent: None,
        start: ItemStart::Message {
            role,
            message_id,
            client_message_id: None,
        },
    })
}

/// Records a chunk that is not shown, for example because it repeats what is.
fn emit_unshown(journal: &mut Journal, chunk: &Chunk, raw: Option<RawJson>, raw_params: Option<RawJson>) {
    let raw = raw.or_else(|| match &chunk.content {
        ChunkContent::Text(text) => Some(text_chunk(chunk.role, text)),
        ChunkContent::Block(_) => None,
    });
    journal.emit_unshown(raw, raw_params);
}
