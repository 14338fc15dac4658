//! The journal: events in order, merged text and diffs, blobs, effects.
//!
//! In: event kinds, effects, time. Out: events, blobs, effects. Owns: the [`Live`] view, which is the fold of the
//! events, and text that is buffered to be merged. Never: decides what is recorded. It is the only part of a thread
//! that all others write to.

mod suggestions;
mod text;
mod turn_diff;
mod turn_files;

use std::sync::Arc;

use acpd_model::event::{Content, Level};
use acpd_model::limits::{INLINE_BYTES, PREVIEW_BYTES};
use acpd_model::{
    BlobId, ErrorCode, Event, EventKind, Failure, Inherited, ItemEnd, ItemEvent, ItemId, ItemOutcome,
    ItemStart, LaneId, Limits, MessageType, Origin, RawJson, RequestEvent, SessionEvent, Summary,
    ThreadEvent, ThreadId, ThreadStatus, TurnId, TurnMarks,
};

pub(super) use self::turn_files::FileChange;
use self::turn_files::TurnFiles;
use super::effect::Effect;
use super::host_call::HostCall;
use super::reply::Reply;
use crate::agent::{AgentCommand, Suggestion};
use crate::fanout::{Coalescer, LiveDiff, LiveTail};
use crate::projection::{ItemView, Live, mark};
use crate::queue::Queue;
use crate::time::Now;

/// Events that are appended to the log and forwarded as one batch.
const BATCH_EVENTS: usize = 512;
/// Bytes of events that a thread stores together. It receives no more from its agent until they are stored.
const BATCH_BYTES: usize = 1 << 20;

/// A thread's view, its new events and blobs, and its effects.
#[derive(Debug)]
pub(super) struct Journal {
    live: Live,
    limits: Arc<Limits>,
    now: Now,
    /// The turn that is being imported from the agent's history.
    importing: Option<TurnId>,
    /// The subagent that new events are about.
    lane: Option<LaneId>,
    /// Whether the configuration records each chunk of text as a separate event.
    single_chunks: bool,
    coalescer: Coalescer,
    live_tail: LiveTail,
    /// Files that the running turn changed.
    files: TurnFiles,
    /// When their diff is shown live.
    live_diff: LiveDiff,
    /// The prompts that the agent suggests.
    suggestions: Vec<Suggestion>,
    are_suggestions_unshown: bool,
    summary_changed: bool,
    events: Vec<Event>,
    /// The places of the turns and items in these events.
    marks: TurnMarks,
    /// The events that the thread shares with its origin, until its first own event is taken.
    inherits: Option<Inherited>,
    /// The weight of the new events, in bytes.
    bytes: usize,
    blobs: Vec<Vec<u8>>,
    effects: Queue<Effect>,
}

impl Journal {
    pub fn new(id: ThreadId, limits: Arc<Limits>, now: Now) -> Self {
        Self {
            live: Live::new(id),
            limits,
            now,
            importing: None,
            lane: None,
            single_chunks: false,
            coalescer: Coalescer::default(),
            live_tail: LiveTail::default(),
            files: TurnFiles::default(),
            live_diff: LiveDiff::default(),
            suggestions: Vec::new(),
            are_suggestions_unshown: false,
            summary_changed: false,
            events: Vec::new(),
            marks: TurnMarks::default(),
            inherits: None,
            bytes: 0,
            blobs: Vec::new(),
            effects: Queue::default(),
        }
    }

    pub fn live(&self) -> &Live {
        &self.live
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub fn now(&self) -> Now {
        self.now
    }

    pub fn set_now(&mut self, now: Now) {
        self.now = now;
    }

    /// Returns the turn that new events belong to.
    pub fn current_turn(&self) -> Option<TurnId> {
        self.importing.or(self.live.turn.map(|turn| turn.id))
    }

    /// Returns the subagent that new events are about.
    pub fn lane(&self) -> Option<LaneId> {
        self.lane
    }

    /// Makes new events those of a subagent, or of the main agent. Returns whose they were before.
    pub fn set_lane(&mut self, lane: Option<LaneId>) -> Option<LaneId> {
        std::mem::replace(&mut self.lane, lane)
    }

    pub fn next_item(&self) -> ItemId {
        ItemId(self.live.last_item + 1)
    }

    /// Returns an unfinished item.
    pub fn item(&self, item: ItemId) -> Option<&ItemView> {
        self.live.items.get(&item).map(|open| &open.view)
    }

    /// Returns the origin of events about the command in a terminal of the daemon.
    pub fn command_origin(&self, item: ItemId) -> Origin {
        self.live
            .items
            .get(&item)
            .map_or(Origin::Agent, |open| open.start.requester())
    }

    /// Continues from a state of the thread.
    pub fn restore(&mut self, live: Live) {
        self.live = live;
    }

    /// Continues from the state of the thread that this one is a fork of.
    pub fn inherit(&mut self, inherits: Inherited, live: Live) {
        self.inherits = Some(inherits);
        self.summary_changed = true;
        self.live = live;
    }

    /// Folds an event of the log.
    pub fn replay(&mut self, event: &Event) {
        self.live.fold(event);
    }

    /// Attributes new events to an imported turn, until this is called with `None`.
    pub fn set_importing(&mut self, turn: Option<TurnId>) {
        self.importing = turn;
    }

    /// Sets whether chunks are recorded separately, for threads whose client did not choose.
    pub fn set_single_chunks(&mut self, single: bool) {
        self.single_chunks = single;
    }
}

impl Journal {
    /// Appends an event of the current turn, after the buffered text.
    pub fn emit(&mut self, by: Origin, kind: EventKind, raw: Option<RawJson>) {
        self.emit_with_params(by, kind, raw, None);
    }

    pub fn emit_with_params(
        &mut self,
        by: Origin,
        kind: EventKind,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
    ) {
        self.flush();
        self.record(self.current_turn(), by, kind, raw, raw_params);
    }

    /// Appends an event of the given turn, or of none.
    pub fn emit_in(&mut self, turn: Option<TurnId>, by: Origin, kind: EventKind, raw: Option<RawJson>) {
        self.flush();
        self.record(turn, by, kind, raw, None);
    }

    /// Appends an update of the agent, which may belong to another turn than the running one.
    pub fn emit_update_in(
        &mut self,
        turn: Option<TurnId>,
        kind: EventKind,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
    ) {
        self.flush();
        self.record(turn, Origin::Agent, kind, raw, raw_params);
    }

    /// Appends the start of an item that continues a message of an ended turn. `repeats_id` is that of the message: an id that
    /// continues is not a repeated one.
    pub fn emit_continuation(&mut self, turn: TurnId, kind: EventKind, repeats_id: bool) {
        self.flush();
        let mut event = self.event(Some(turn), Origin::Agent, kind);
        event.repeats_id = repeats_id;
        self.take_over(event);
    }

    /// Records an update of the agent that has no visible effect.
    pub fn emit_unshown(&mut self, raw: Option<RawJson>, raw_params: Option<RawJson>) {
        let kind = EventKind::Session(SessionEvent::AgentNotified {
            method: "session/update".to_owned(),
        });
        self.emit_with_params(Origin::Agent, kind, raw, raw_params);
    }

    /// Records a rejected call of the agent. "Not found" is an ordinary answer, and is not recorded.
    pub fn emit_refusal(&mut self, method: &str, failure: &Failure) {
        if failure.code != ErrorCode::NotFound {
            let kind = EventKind::Session(SessionEvent::CallRefused {
                method: method.to_owned(),
                reason: failure.message.clone(),
                requested_by: None,
            });
            self.emit(Origin::Daemon, kind, None);
        }
    }

    /// Adds a complete user message. `client_message_id` is the client's own id for it, unless the turn has it.
    pub fn add_user_message(
        &mut self,
        turn: TurnId,
        by: &Origin,
        content: &[RawJson],
        client_message_id: Option<String>,
    ) {
        let lane = self.set_lane(None);
        let item = self.next_item();
        let role = MessageType::UserMessage;
        let start = ItemStart::Message {
            role,
            message_id: None,
            client_message_id,
        };
        let content = content.to_vec();
        let end = ItemEnd::Message {
            role,
            content: content.clone(),
        };
        let kinds = [
            EventKind::Item(ItemEvent::Started {
                item,
                parent: None,
                start,
            }),
            EventKind::Item(ItemEvent::UserMessageAdded { item, content }),
            EventKind::Item(ItemEvent::Completed {
                item,
                outcome: ItemOutcome::Completed,
                end,
            }),
        ];
        for kind in kinds {
            self.emit_in(Some(turn), by.clone(), kind, None);
        }
        self.set_lane(lane);
    }

    /// Completes an item with its content.
    pub fn complete(&mut self, item: ItemId, outcome: ItemOutcome) {
        self.complete_in(self.current_turn(), item, outcome);
    }

    /// Completes an item of the given turn, or of none.
    pub fn complete_in(&mut self, turn: Option<TurnId>, item: ItemId, outcome: ItemOutcome) {
        let Some(view) = self.item(item) else {
            return;
        };
        let end = view.to_end();
        let kind = EventKind::Item(ItemEvent::Completed { item, outcome, end });
        self.emit_in(turn, Origin::Agent, kind, None);
    }

    pub fn notice(&mut self, level: Level, code: &str, message: &str) {
        self.detailed_notice(level, code, message, None);
    }

    /// Like [`notice`](Self::notice), with a further explanation.
    pub fn detailed_notice(&mut self, level: Level, code: &str, message: &str, detail: Option<String>) {
        let kind = EventKind::Session(SessionEvent::NoticeGiven {
            level,
            code: code.to_owned(),
            message: message.to_owned(),
            detail,
            folder: None,
        });
        self.emit(Origin::Daemon, kind, None);
    }

    /// Records the thread's status, if it changed.
    pub fn note_status(&mut self) {
        if self.live.is_deleted() {
            return;
        }
        let status = match (self.live.turn, self.live.requests.is_empty()) {
            (_, false) => ThreadStatus::Waiting,
            (Some(_), true) => ThreadStatus::Running,
            (None, true) => ThreadStatus::Idle,
        };
        if status != self.live.summary.status {
            self.emit(
                Origin::Daemon,
                EventKind::Thread(ThreadEvent::StatusChanged { status }),
                None,
            );
        }
    }

    /// Appends an event unchanged, such as a stored event of another thread.
    pub fn take_over(&mut self, event: Event) {
        mark(&self.live, &event, &mut self.marks);
        self.summary_changed |= self.live.fold(&event);
        self.bytes += event.weight();
        self.events.push(event);
    }

    fn record(
        &mut self,
        turn: Option<TurnId>,
        by: Origin,
        kind: EventKind,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
    ) {
        let mut event = self.event(turn, by, kind);
        // An optional field cannot distinguish JSON's null from a missing value, and both mean the same.
        event.raw = raw.filter(|raw| raw.get() != "null");
        event.raw_params = raw_params;
        let is_translated = event.by == Origin::Agent && self.live.declared.speaks_v2;
        event.translated = is_translated && (event.raw.is_some() || event.raw_params.is_some());
        self.take_over(event);
    }

    /// Returns the next event, without the agent's own message.
    fn event(&self, turn: Option<TurnId>, by: Origin, kind: EventKind) -> Event {
        Event {
            seq: self.live.last_seq + 1,
            at: self.now.wall,
            turn,
            by,
            repeats_id: self.live.repeats_id(&kind),
            translated: false,
            lane: self.lane_of(&kind),
            kind,
            raw: None,
            raw_params: None,
        }
    }

    /// Returns the subagent that an event is about: that of its item or question, which may be another one than the present.
    fn lane_of(&self, kind: &EventKind) -> Option<LaneId> {
        let of_item = |item: ItemId| self.live.items.get(&item).map(|open| open.lane);
        match kind {
            EventKind::Item(ItemEvent::Started {
                parent: Some(parent), ..
            }) => of_item(*parent).unwrap_or(self.lane),
            EventKind::Request(
                RequestEvent::Settled { request, .. } | RequestEvent::Voided { request, .. },
            ) => {
                let open = self.live.requests.get(&request.number);
                open.map_or(self.lane, |open| open.event.lane)
            }
            EventKind::Item(_) | EventKind::Host(_) | EventKind::Request(_) => {
                kind.item().and_then(of_item).unwrap_or(self.lane)
            }
            EventKind::Session(
                SessionEvent::SubagentUpdated(_)
                | SessionEvent::NoticeGiven { .. }
                | SessionEvent::AgentNotified { .. }
                | SessionEvent::CallRefused { .. },
            ) => self.lane,
            EventKind::Turn(_) | EventKind::Session(_) | EventKind::Thread(_) | EventKind::Unknown => None,
        }
    }

    /// Returns text for an event; long text becomes a blob.
    pub fn content(&mut self, text: &str) -> Content {
        if text.len() <= INLINE_BYTES {
            let text = text.to_owned();
            return Content { text, blob: None };
        }
        Content {
            text: text[..text.floor_char_boundary(PREVIEW_BYTES)].to_owned(),
            blob: Some(self.blob(text.as_bytes().to_owned())),
        }
    }

    /// Stores this content as a blob and returns its id.
    pub fn blob(&mut self, content: Vec<u8>) -> BlobId {
        let id = BlobId::of(&content);
        self.blobs.push(content);
        id
    }
}

impl Journal {
    /// Adds an effect. The caller must carry it out only after all events so far are stored.
    pub fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub fn reply(&mut self, call: u64, result: Result<Reply, Failure>) {
        self.push(Effect::Reply { call, result });
    }

    pub fn send_to_agent(&mut self, command: AgentCommand) {
        self.push(Effect::Agent(command));
    }

    pub fn call_host(&mut self, call: u64, what: HostCall) {
        self.push(Effect::Host { call, what });
    }

    pub fn call_user_host(&mut self, call: u64, what: HostCall) {
        self.push(Effect::UserHost { call, what });
    }

    pub fn take_events(&mut self, taken: &mut Vec<Event>) {
        self.bytes = 0;
        taken.clear();
        std::mem::swap(&mut self.events, taken);
    }

    pub fn is_new_fork(&self) -> bool {
        self.inherits.is_some()
    }

    pub fn take_inherited(&mut self) -> Option<Inherited> {
        self.inherits.take()
    }

    pub fn take_marks(&mut self) -> TurnMarks {
        std::mem::take(&mut self.marks)
    }

    pub fn take_blobs(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.blobs)
    }

    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop().or_else(|| {
            self.show_suggestions();
            self.effects.pop()
        })
    }

    /// Returns the number of events and effects that wait to be polled.
    pub fn waiting(&self) -> usize {
        self.events.len() + self.effects.len() + usize::from(self.are_suggestions_unshown)
    }

    /// Returns whether there is room for more events before those that wait are stored.
    pub fn has_room(&self) -> bool {
        self.waiting() < BATCH_EVENTS && self.bytes < BATCH_BYTES
    }

    pub fn take_summary(&mut self) -> Option<&Summary> {
        std::mem::take(&mut self.summary_changed).then_some(&self.live.summary)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn events_that_wait_are_bounded_in_number_and_bytes() {
        let now = Now {
            mono: Duration::ZERO,
            wall: 0,
        };
        let mut journal = Journal::new(ThreadId(uuid::Uuid::nil()), Arc::default(), now);
        let emit = |journal: &mut Journal, bytes: usize| {
            let kind = EventKind::Session(SessionEvent::AgentNotified { method: "_x".into() });
            let raw = RawJson::parse(format!("\"{}\"", "x".repeat(bytes))).unwrap();
            journal.emit(Origin::Agent, kind, Some(raw));
        };
        for (bytes, most) in [(1, BATCH_EVENTS), (BATCH_BYTES / 4, 4), (4 * BATCH_BYTES, 1)] {
            let mut count = 0;
            while journal.has_room() {
                emit(&mut journal, bytes);
                count += 1;
            }
            assert!(count <= most && count * 2 > most, "{count} of {bytes} bytes");
            journal.take_events(&mut Vec::new());
            assert!(journal.has_room());
        }
    }
}
