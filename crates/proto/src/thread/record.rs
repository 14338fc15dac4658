//! How what happened comes to be on record: events in their order, text that is merged, content beside them.

use acpd_model::event::{Content, Level};
use acpd_model::limits::{INLINE_BYTES, PREVIEW_BYTES};
use acpd_model::{BlobId, Event, EventKind, ItemId, Origin, RawJson, ThreadStatus, TurnId};

use super::thread::Thread;
use crate::fanout::{Delta, Source};

impl Thread {
    /// Text for an event; what is long becomes a blob.
    pub(super) fn content(&mut self, text: &str) -> Content {
        if text.len() <= INLINE_BYTES {
            let text = text.to_owned();
            return Content { text, blob: None };
        }
        Content {
            text: text[..text.floor_char_boundary(PREVIEW_BYTES)].to_owned(),
            blob: Some(self.blob(text.as_bytes().to_owned())),
        }
    }

    /// Has this content stored beside the events.
    pub(super) fn blob(&mut self, content: Vec<u8>) -> BlobId {
        let id = BlobId::of(&content);
        self.blobs.push(content);
        id
    }

    pub(super) fn notice(&mut self, level: Level, code: &str, message: &str) {
        let kind = EventKind::NoticeGiven {
            level,
            code: code.to_owned(),
            message: message.to_owned(),
        };
        self.emit(self.current_turn(), Origin::Daemon, kind, None);
    }

    /// Says what the thread is doing, if that changed.
    pub(super) fn note_status(&mut self) {
        if self.live.is_deleted() {
            return;
        }
        let status = match (self.live.turn, self.live.requests.is_empty()) {
            (None, _) => ThreadStatus::Idle,
            (Some(_), true) => ThreadStatus::Running,
            (Some(_), false) => ThreadStatus::Waiting,
        };
        if status != self.live.summary.status {
            self.emit(
                self.current_turn(),
                Origin::Daemon,
                EventKind::StatusChanged { status },
                None,
            );
        }
    }

    /// Makes an event out of what happened. What is held back goes first.
    pub(super) fn emit(&mut self, turn: Option<TurnId>, by: Origin, kind: EventKind, raw: Option<RawJson>) {
        self.emit_with_params(turn, by, kind, raw, None);
    }

    pub(super) fn emit_with_params(
        &mut self,
        turn: Option<TurnId>,
        by: Origin,
        kind: EventKind,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
    ) {
        self.flush();
        self.record(turn, by, kind, raw, raw_params);
    }

    /// Takes text for a message; it may be held back and merged.
    pub(super) fn emit_text(&mut self, delta: Delta) {
        if matches!(delta.source, Source::Message(_)) && self.keeps_chunks_apart() {
            self.flush();
            return self.emit_delta(delta);
        }
        for due in self.coalescer.push(delta, self.now.mono).into_iter().flatten() {
            self.emit_delta(due);
        }
    }

    /// What is held back of `item`.
    pub(super) fn held_text(&self, item: ItemId) -> &str {
        self.coalescer.held(item).unwrap_or_default()
    }

    pub(super) fn flush(&mut self) {
        if let Some(delta) = self.coalescer.flush() {
            self.emit_delta(delta);
        }
    }

    pub(super) fn emit_delta(&mut self, delta: Delta) {
        let Delta {
            turn,
            item,
            source,
            text,
            raw,
            message_id,
        } = delta;
        let kind = match source {
            Source::Message(role) => EventKind::ItemDelta {
                item,
                role,
                text,
                message_id: message_id.filter(|_| raw.is_none()),
            },
            Source::Terminal(terminal_id) => EventKind::TerminalOutput {
                item,
                terminal_id,
                text,
            },
        };
        self.record(turn, Origin::Agent, kind, raw, None);
    }

    /// Takes an event as it is, such as one of another thread's that was stored before.
    pub(super) fn take_over(&mut self, event: Event) {
        self.summary_changed |= self.live.fold(&event);
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
        // JSON's null reads back as nothing at all, and means it, too.
        let raw = raw.filter(|raw| raw.get() != "null");
        let event = Event {
            seq: self.live.last_seq + 1,
            at: self.now.wall,
            turn,
            by,
            kind,
            raw,
            raw_params,
        };
        self.take_over(event);
    }
}
