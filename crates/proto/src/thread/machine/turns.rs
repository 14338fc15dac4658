//! The start and end of turns, which concern all parts of a thread.

use acpd_model::event::Level;
use acpd_model::{Failure, ItemOutcome, Origin, RawJson, TurnId};

use super::Thread;
use crate::thread::command::InterruptOptions;
use crate::thread::reply::TurnView;
use crate::thread::turn::{self, Interrupt, TurnEnd, TurnResult, UnsentPrompt, check_input};
use crate::time::Instant;
use crate::wire::RpcError;

impl Thread {
    pub(super) fn start_turn(
        &mut self,
        by: Origin,
        prompt: UnsentPrompt,
        client_turn_id: Option<String>,
    ) -> Result<TurnView, Failure> {
        if let Some(known) = turn::known_turn(&self.journal, client_turn_id.as_ref()) {
            return Ok(known);
        }
        self.session.check_accepts_turns(&self.journal)?;
        check_input(&prompt.blocks, self.session.capabilities())?;
        turn::check_queue(&self.journal)?;
        let id = TurnId(self.live().last_turn + 1);
        if self.live().turn.is_some() {
            turn::queue(&mut self.journal, id, by, prompt, client_turn_id);
        } else {
            self.begin(id, &by, prompt, client_turn_id);
        }
        Ok(turn::turn_view(&self.journal, id, None))
    }

    fn begin(&mut self, turn: TurnId, by: &Origin, prompt: UnsentPrompt, client_turn_id: Option<String>) {
        self.prepare_turn();
        self.turns
            .begin(&mut self.journal, turn, by, prompt, client_turn_id);
        self.wake();
        self.prompt_if_ready();
    }

    /// Ends what belongs to the time before a turn that is about to start.
    pub(super) fn prepare_turn(&mut self) {
        self.close_items(ItemOutcome::Completed);
        self.tool_calls.begin_turn();
        self.approvals.forget_grants();
    }

    /// Starts the next queued turn, unless the queue is paused.
    pub(super) fn begin_next(&mut self) {
        if self.live().queue_paused {
            return;
        }
        if let Some(next) = self.live().queue.front().cloned() {
            let prompt = UnsentPrompt {
                blocks: next.input,
                meta: next.meta,
            };
            self.begin(next.id, &next.by, prompt, next.client_turn_id);
        }
    }

    /// Sends the running turn's prompt, if an agent is ready for it.
    pub(super) fn prompt_if_ready(&mut self) {
        if !self.session.is_ready() || !self.turns.has_unsent() || self.session.settings_wait() {
            return;
        }
        let Some(turn) = self.journal.current_turn() else {
            return;
        };
        let Ok(primer) = self.session.primer(&mut self.journal, turn) else {
            return;
        };
        match self.turns.take_prompt(self.session.capabilities()) {
            None => {}
            Some(Err(failure)) => self.settle(TurnResult::failed(&failure.message), &Origin::Daemon),
            Some(Ok(mut prompt)) => {
                prompt.blocks.splice(0..0, primer);
                self.messages.expect_echo(&prompt.blocks);
                self.session.record_activity(&self.journal);
                self.turns.send(&mut self.journal, turn, prompt);
            }
        }
    }

    pub(super) fn interrupt(
        &mut self,
        by: &Origin,
        id: Option<TurnId>,
        options: InterruptOptions,
    ) -> Result<(), Failure> {
        if self.interrupt_leftover(by, id, options.at_once) {
            return Ok(());
        }
        let interrupt = turn::interrupt(&mut self.journal, by, id)?;
        if interrupt == Interrupt::Dequeued {
            return Ok(());
        }
        self.callbacks
            .kill_user_commands(&mut self.journal, by, None, options.at_once);
        if options.pause_queue {
            self.pause_queue(by);
        }
        if let Interrupt::End { .. } = interrupt {
            self.cancel_requests(by);
            self.journal.note_status();
        }
        if self.turns.has_only_commands() {
            self.settle_commands(TurnResult::interrupted());
        } else if !self.turns.is_prompted() {
            self.settle(TurnResult::interrupted(), by);
        } else if options.at_once {
            self.stop_agent();
            self.settle(TurnResult::interrupted(), by);
        } else if interrupt == (Interrupt::End { knows: false }) {
            self.turns.cancel(&mut self.journal);
        }
        Ok(())
    }

    /// Returns when the agent's silence exceeds the limit. `None` while the agent waits for the daemon or the user.
    pub(super) fn silence_deadline(&self) -> Option<Instant> {
        let waits = self.approvals.len() > 0
            || self.callbacks.has_agent_waiting()
            || self.turns.cancel_deadline().is_some();
        if waits || !self.turns.is_prompted() {
            return None;
        }
        self.session.silence_deadline(&self.journal)
    }

    pub(super) fn handle_silence(&mut self) {
        self.session.note_silence(&mut self.journal);
        self.turns.cancel(&mut self.journal);
    }

    pub(super) fn cancel_timed_out(&mut self) {
        let seconds = self.journal.limits().cancel_secs;
        self.turns.give_up_cancel();
        self.stop_agent();
        let reason = match self.session.take_silence() {
            Some(silence) => {
                format!("{silence} and did not end the turn within {seconds} s; it was terminated")
            }
            None => {
                format!("The agent didn't respond to Stop, so acpd ended it after {seconds} s.")
            }
        };
        self.note_interrupted("cancelTimedOut", &reason);
        self.settle_unanswered(TurnResult::failed(&reason), &Origin::Daemon);
    }

    /// Handles the agent's response to a prompt.
    pub(super) fn prompt_ended(&mut self, turn: TurnId, answer: Result<RawJson, RpcError>) {
        if !self.turns.prompt_ended(turn) {
            return;
        }
        let by_client = turn::is_interrupted_by_client(&self.journal);
        let silence = self.session.turn_ended().filter(|_| !by_client);
        let result = TurnResult::of(answer, silence.as_deref(), by_client);
        self.void_requests("the turn is over");
        self.settle(result, &Origin::Agent);
    }

    /// Records why a turn that a client interrupted ends without the agent's response. A turn that fails records the
    /// reason as its error.
    pub(super) fn note_interrupted(&mut self, code: &str, reason: &str) {
        if turn::is_interrupted_by_client(&self.journal) {
            self.journal.notice(Level::Warning, code, reason);
        }
    }

    /// Ends the running turn, if there is one, without the agent's response: as interrupted if a client interrupted
    /// it, else with `result`.
    pub(super) fn settle_unanswered(&mut self, result: TurnResult, by: &Origin) {
        let result = if turn::is_interrupted_by_client(&self.journal) {
            TurnResult::interrupted()
        } else {
            result
        };
        self.settle(result, by);
    }

    /// Ends the running turn and starts the next queued one.
    pub(super) fn settle(&mut self, result: TurnResult, by: &Origin) {
        let Some(running) = self.live().turn else {
            return;
        };
        self.journal.flush();
        self.turns.end();
        let quirks = self.session.quirks();
        self.messages.end_echo(&mut self.journal, quirks);
        self.close_items(result.item_outcome());
        let end = TurnEnd {
            started_at: Some(running.started_at),
            changes: self.journal.record_turn_diff(),
            result,
        };
        turn::settle(&mut self.journal, running.id, end, by);
        self.callbacks.ask_unread_outputs(&mut self.journal);
        self.reopen_if_idle();
        self.begin_next();
        self.journal.note_status();
    }
}
