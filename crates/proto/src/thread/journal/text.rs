//! Text of messages and terminals: merged before it becomes an event, or only shown live.

use acpd_model::{EventKind, HostEvent, ItemEvent, ItemId, Origin};

use super::Journal;
use crate::fanout::{Delta, LiveEnd, LiveText, LiveUpdate, Source};
use crate::projection::Chunks;
use crate::thread::effect::Effect;
use crate::time::{Deadline, because};

impl Journal {
    /// Adds text of a message or a terminal; it may be buffered and merged.
    pub fn emit_text(&mut self, delta: Delta) {
        if matches!(delta.source, Source::Message(_)) && self.keeps_chunks_apart() {
            self.flush();
            return self.emit_delta(delta);
        }
        for due in self.coalescer.push(delta, self.now.mono).into_iter().flatten() {
            self.emit_delta(due);
        }
    }

    /// Adds output of a terminal; it may be buffered and merged.
    pub fn emit_output(&mut self, item: ItemId, terminal_id: &str, text: String) {
        self.emit_text(Delta {
            turn: self.current_turn(),
            item,
            source: Source::Terminal(terminal_id.to_owned()),
            text,
            raw: None,
            message_id: None,
        });
    }

    /// Returns whether each chunk of the agent's text is recorded separately. The client's choice overrides the
    /// configuration.
    fn keeps_chunks_apart(&self) -> bool {
        let chosen = self.live.spec.chunks;
        chosen.map_or(self.single_chunks, |chunks| chunks == Chunks::Single)
    }

    /// Returns the buffered text of `item`.
    pub fn held_text(&self, item: ItemId) -> &str {
        self.coalescer.held(item).unwrap_or_default()
    }

    pub fn flush(&mut self) {
        if let Some(delta) = self.coalescer.flush() {
            self.emit_delta(delta);
        }
    }

    fn emit_delta(&mut self, delta: Delta) {
        let Delta {
            turn,
            item,
            source,
            text,
            raw,
            message_id,
        } = delta;
        let (by, kind) = match source {
            Source::Message(role) => {
                let kind = EventKind::Item(ItemEvent::Delta {
                    item,
                    role,
                    text,
                    message_id: message_id.filter(|_| raw.is_none()),
                });
                (Origin::Agent, kind)
            }
            Source::Terminal(terminal_id) => {
                let kind = EventKind::Host(HostEvent::TerminalOutput {
                    item,
                    terminal_id,
                    text,
                });
                (self.command_origin(item), kind)
            }
        };
        self.record(turn, by, kind, raw, None);
    }

    /// Adds output of a terminal that is only shown live, and not recorded.
    pub fn show_text(&mut self, item: ItemId, terminal_id: &str, text: &str) {
        let lane = self.live.items.get(&item).and_then(|open| open.lane);
        self.live_tail.push(item, lane, terminal_id, text, self.now.mono);
    }

    /// Shows the rest of a terminal's unrecorded output, and returns the end of the output.
    pub fn end_shown_text(&mut self, item: ItemId) -> LiveEnd {
        let mut end = self.live_tail.end(item);
        if let Some(shown) = end.unshown.take() {
            self.show_output(shown);
        }
        end
    }

    /// Shows output that is not in the log, after all output that is.
    fn show_output(&mut self, shown: LiveText) {
        self.flush();
        self.show(LiveUpdate::Output(shown));
    }

    /// Shows an update at the current position in the log.
    pub(super) fn show(&mut self, shown: LiveUpdate) {
        self.effects.push(Effect::Show {
            turn: self.current_turn(),
            at: self.now.wall,
            after: self.live.last_seq,
            shown,
        });
    }

    /// Returns when to call [`expire`](Self::expire).
    pub fn deadline(&self) -> Option<Deadline> {
        let deadlines = [
            because(self.coalescer.deadline(), "text waits to be merged"),
            because(self.live_tail.deadline(), "output waits to be shown"),
            because(self.live_diff.deadline(), "the turn's diff waits to be shown"),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Records and shows what waited for its time.
    pub fn expire(&mut self) {
        if let Some(delta) = self.coalescer.expire(self.now.mono) {
            self.emit_delta(delta);
        }
        for shown in self.live_tail.expire(self.now.mono) {
            self.show_output(shown);
        }
        self.show_turn_diff();
    }
}
