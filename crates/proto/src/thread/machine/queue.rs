//! Changes of clients to the queue of turns.

use acpd_model::{ErrorCode, EventKind, Failure, Origin, RawJson, TurnEvent, TurnId};

use super::Thread;
use crate::projection::QueuedTurn;
use crate::thread::turn::{self, TurnResult, check_input};

impl Thread {
    /// Reorders, pauses or continues the queue.
    pub(super) fn arrange_queue(
        &mut self,
        by: Origin,
        first: &[TurnId],
        paused: Option<bool>,
    ) -> Result<(), Failure> {
        self.session.check_accepts_turns(&self.journal)?;
        let live = self.live();
        let before: Vec<TurnId> = live.queue.iter().map(|queued| queued.id).collect();
        let place = |turn: &TurnId| first.iter().position(|id| id == turn).unwrap_or(first.len());
        let mut order = before.clone();
        order.sort_by_key(place);
        let paused = paused.unwrap_or(live.queue_paused) && !order.is_empty();
        if order != before || paused != live.queue_paused {
            let kind = EventKind::Turn(TurnEvent::QueueChanged { order, paused });
            self.journal.emit_in(None, by, kind, None);
        }
        if !self.live().queue_paused && !self.live().queue.is_empty() {
            self.end_unprompted();
        }
        if self.live().turn.is_none() {
            self.begin_next();
            self.journal.note_status();
        }
        Ok(())
    }

    /// Pauses the queue if turns wait in it.
    pub(super) fn pause_queue(&mut self, by: &Origin) {
        let live = self.live();
        if live.queue.is_empty() || live.queue_paused {
            return;
        }
        let order = live.queue.iter().map(|queued| queued.id).collect();
        let kind = EventKind::Turn(TurnEvent::QueueChanged { order, paused: true });
        self.journal.emit_in(None, by.clone(), kind, None);
    }

    /// Replaces the prompt of a queued turn.
    pub(super) fn edit_queued(
        &mut self,
        by: Origin,
        turn: TurnId,
        input: Vec<RawJson>,
    ) -> Result<(), Failure> {
        let queued = self.queued(turn)?;
        let (meta, client_turn_id) = (queued.meta.clone(), queued.client_turn_id.clone());
        check_input(&input, self.session.capabilities())?;
        let kind = EventKind::Turn(TurnEvent::Queued {
            input,
            meta,
            client_turn_id,
        });
        self.journal.emit_in(Some(turn), by, kind, None);
        Ok(())
    }

    /// Sends the prompt of a queued turn into the running turn, and ends the queued turn.
    pub(super) fn steer_queued(&mut self, call: u64, by: Origin, turn: TurnId) {
        let input = self.queued(turn).and_then(|queued| {
            let refused = "the agent accepts no messages now: wait for the end of its turn, or interrupt it";
            let refused = || Failure::new(ErrorCode::Unsupported, refused);
            self.steerable_turn()
                .map(|_| queued.input.clone())
                .ok_or_else(refused)
        });
        match input {
            Ok(input) => {
                turn::settle_queued(&mut self.journal, turn, TurnResult::interrupted(), &by);
                self.steer(call, by, (input, None), None);
            }
            Err(failure) => self.journal.reply(call, Err(failure)),
        }
    }

    fn queued(&self, turn: TurnId) -> Result<&QueuedTurn, Failure> {
        let mut queue = self.live().queue.iter();
        let queued = queue.find(|queued| queued.id == turn);
        queued.ok_or_else(|| Failure::new(ErrorCode::Conflict, "that turn is not queued"))
    }
}
