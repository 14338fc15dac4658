//! The start and end of turns, which concern all parts of a thread.

use std::collections::BTreeSet;
use std::time::Duration;

use acpd_model::event::Level;
use acpd_model::{Failure, ItemOutcome, LaneId, MessageType, Origin, RawJson, TurnId};

use super::Thread;
use crate::agent::{AgentCommand, UpdateKind};
use crate::thread::command::InterruptOptions;
use crate::thread::message::Late;
use crate::thread::reply::{Reply, TurnView};
use crate::thread::session::NextTurn;
use crate::thread::turn::{self, Interrupt, TurnEnd, TurnResult, UnsentPrompt, check_input};
use crate::time::Instant;
use crate::wire::RpcError;

/// How long a tool call may be silent in a turn without a prompt.
const UNPROMPTED_CALL: Duration = Duration::from_mins(10);

/// How much later than planned a turn may end while the agent writes without a pause. What a slow host reads late still
/// belongs to the turn.
const OVERDUE: Duration = Duration::from_secs(1);

impl Thread {
    /// Starts or queues a turn, and replies with it. If it replaces an earlier one, and the agent has a cursor before that, the agent
    /// is first asked to fork its session there.
    pub(super) fn start_turn_for(
        &mut self,
        call: u64,
        by: Origin,
        prompt: UnsentPrompt,
        client_turn_id: Option<String>,
        replaces: Option<TurnId>,
    ) {
        let known = turn::known_turn(&self.journal, client_turn_id.as_ref());
        let replaced = replaces.filter(|_| known.is_none());
        if let Some((last_kept, cursor)) = replaced.and_then(|replaced| self.cursor_before(replaced, &prompt))
        {
            let next = NextTurn {
                input: prompt.blocks,
                meta: prompt.meta,
                client_turn_id,
            };
            return self.fork_for_rollback(call, by, last_kept, cursor, Some(next));
        }
        let started = self.start_turn(by, prompt, client_turn_id, replaces);
        self.journal.reply(call, started.map(Reply::Turn));
    }

    /// Returns the cursor before a turn that this prompt replaces, with the turn before it. What cannot be replaced has none.
    fn cursor_before(&mut self, replaced: TurnId, prompt: &UnsentPrompt) -> Option<(TurnId, String)> {
        self.check_turn(prompt).ok()?;
        self.check_kept(replaced).ok()?;
        let last_kept = self.live().dropped.kept_before(replaced);
        self.rollback_cursor(last_kept).ok()?
    }

    /// Rejects a prompt that cannot start or wait now.
    pub(super) fn check_turn(&self, prompt: &UnsentPrompt) -> Result<(), Failure> {
        self.session.check_accepts_turns(&self.journal)?;
        check_input(&prompt.blocks, self.session.capabilities())?;
        turn::check_queue(&self.journal)
    }

    pub(super) fn start_turn(
        &mut self,
        by: Origin,
        prompt: UnsentPrompt,
        client_turn_id: Option<String>,
        replaces: Option<TurnId>,
    ) -> Result<TurnView, Failure> {
        if let Some(known) = turn::known_turn(&self.journal, client_turn_id.as_ref()) {
            return Ok(known);
        }
        self.check_turn(&prompt)?;
        // What could refuse the prompt comes before: then, nothing is dropped.
        if let Some(replaced) = replaces {
            self.drop_from(by.clone(), replaced)?;
        }
        self.end_unprompted();
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
        self.journal.withdraw_suggestions();
        self.approvals.forget_grants();
        self.turns
            .begin(&mut self.journal, turn, by, prompt, client_turn_id);
        self.wake();
        self.prompt_if_ready();
    }

    /// Ends what belongs to the time before a turn that is about to start.
    pub(super) fn prepare_turn(&mut self) {
        self.close_items(ItemOutcome::Completed);
        self.tool_calls.begin_turn();
        self.subagents.begin_turn();
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
        // What comes before the agent has the prompt belongs to the turn before.
        if self.turns.cut_off_deadline().is_some() {
            return;
        }
        let Some(turn) = self.journal.current_turn() else {
            return;
        };
        if let Some(reason) = self.session.refused_mode() {
            return self.settle(TurnResult::failed(&reason), &Origin::Daemon);
        }
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
        if self.interrupt_leftover(by, id, options.at_once) || self.interrupt_tail(by, id, options) {
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
            if !options.at_once {
                self.cancel_subagents();
            }
        }
        if self.turns.has_only_commands() {
            self.settle_commands(TurnResult::interrupted());
        } else if self.turns.is_unprompted() {
            if options.at_once {
                self.stop_agent();
            } else {
                self.journal.send_to_agent(AgentCommand::Cancel);
            }
            self.settle(TurnResult::interrupted(), by);
        } else if !self.turns.is_prompted() {
            self.settle(TurnResult::interrupted(), by);
        } else if options.at_once {
            let is_in_message = self.is_in_message();
            self.stop_agent();
            if is_in_message {
                self.turns
                    .begin_last_tail(&self.journal, TurnResult::interrupted(), by.clone());
            } else {
                self.settle(TurnResult::interrupted(), by);
            }
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
        // Subagents that work may outlive the turn.
        let working: BTreeSet<LaneId> = self.live().lanes.at_work().collect();
        let works = |lane: Option<LaneId>| lane.is_some_and(|lane| working.contains(&lane));
        self.void_requests_of("the turn is over", |lane| !works(lane));
        // A user who has interrupted the turn does not wait, unless that would cut a message in two.
        let is_over = silence.is_some() || by_client && !self.is_in_message();
        if self.journal.limits().turn_tail_millis == 0 {
            return self.settle(result, &Origin::Agent);
        }
        if is_over {
            self.turns.cut_off(turn, turn::tail_end(&self.journal));
            return self.settle(result, &Origin::Agent);
        }
        if by_client {
            self.turns.begin_last_tail(&self.journal, result, Origin::Agent);
        } else {
            self.turns.begin_tail(&self.journal, result);
        }
        self.journal.note_status();
    }

    /// Returns the place of an update that belongs to an ended turn: of text that continues a message of it, or that comes before
    /// the agent has another prompt.
    pub(super) fn late(&self, kind: &UpdateKind) -> Option<Late> {
        let UpdateKind::Chunk(chunk) = kind else {
            return None;
        };
        // What subagents send may always outlive the turn.
        let of_subagent = self.journal.lane().is_some();
        if of_subagent || self.journal.limits().turn_tail_millis == 0 || !self.session.is_ready() {
            return None;
        }
        let of_message = self.messages.ended_turn(chunk, self.turns.is_answering());
        let of_agent = chunk.role != MessageType::UserMessage;
        let of_cut_off = || self.turns.cut_off_turn().filter(|_| of_agent);
        let turn = of_message.or_else(of_cut_off)?;
        let is_past = Some(turn) != self.journal.current_turn() && !self.live().dropped.contains(turn);
        is_past.then(|| Late {
            turn,
            until: turn::tail_end(&self.journal),
        })
    }

    /// Returns when nothing more is expected of an ended turn.
    pub(super) fn late_deadline(&self) -> Option<Instant> {
        let deadlines = [self.messages.late_deadline(), self.turns.cut_off_deadline()];
        let next = deadlines.into_iter().flatten().min();
        next.filter(|_| !self.live().is_deleted())
    }

    /// Ends the rest of an ended turn whose time is over. The next prompt may have waited for that.
    pub(super) fn end_late(&mut self) {
        let now = self.journal.now().mono;
        if self.messages.late_deadline().is_some_and(|at| at <= now) {
            self.messages.end_late(&mut self.journal);
        }
        if self.turns.cut_off_deadline().is_some_and(|at| at <= now) {
            self.turns.end_cut_off();
            self.prompt_if_ready();
        }
    }

    /// Returns whether a turn that ends now would cut a message: the rest may be in the agent's pipe.
    pub(super) fn is_in_message(&self) -> bool {
        self.journal.limits().turn_tail_millis > 0 && self.messages.is_in_message()
    }

    /// Returns whether text of the agent comes too late to be shown: it is being stopped, and its turn has ended without the text. A
    /// turn that runs now waits for the next process.
    pub(super) fn is_too_late(&self) -> bool {
        self.journal.limits().turn_tail_millis > 0 && self.session.is_stopping() && !self.turns.is_ending()
    }

    /// Ends the turn whose prompt the agent has answered already, because a client interrupts it. Returns whether there
    /// is such a turn. Its result stays what the agent answered.
    fn interrupt_tail(&mut self, by: &Origin, id: Option<TurnId>, options: InterruptOptions) -> bool {
        let running = self.live().turn.map(|turn| turn.id);
        if (id.is_some() && id != running) || self.turns.is_unprompted() {
            return false;
        }
        let until = self.turns.end_deadline();
        let Some((result, by_whom)) = self.turns.take_result() else {
            return false;
        };
        if let (Some(turn), Some(until)) = (running, until) {
            self.turns.cut_off(turn, until);
        }
        self.callbacks
            .kill_user_commands(&mut self.journal, by, None, options.at_once);
        if options.pause_queue {
            self.pause_queue(by);
        }
        self.cancel_requests(by);
        if options.at_once {
            self.stop_agent();
        } else {
            self.cancel_subagents();
        }
        self.settle(result, &by_whom);
        true
    }

    /// Returns when the running turn ends because the agent has answered its prompt, or sends nothing more without one.
    /// While a question is open, it does not: the answer belongs to the turn. Subagents that work may outlive a turn of a prompt,
    /// and so do their questions. Without a prompt, a tool call that runs may be silent for longer.
    pub(super) fn end_deadline(&self) -> Option<Instant> {
        let outlives = |call| {
            let lane = self.callbacks.lane_of(call);
            !self.turns.is_unprompted() && self.live().lanes.is_at_work(lane)
        };
        let asks = self.approvals.calls().any(|call| !outlives(call));
        let at = self.turns.end_deadline().filter(|_| !asks)?;
        let runs = !self.live().items.tools().is_empty()
            || self.callbacks.has_agent_waiting()
            || self.live().lanes.at_work().next().is_some();
        Some(if runs && self.turns.is_unprompted() {
            at + UNPROMPTED_CALL
        } else {
            at
        })
    }

    /// Ends a turn whose time is over although the agent keeps writing, which comes before timers.
    pub(super) fn end_overdue_turn(&mut self) {
        let now = self.journal.now().mono;
        if self.end_deadline().is_some_and(|at| at + OVERDUE <= now) {
            self.end_turn();
        }
    }

    /// Ends the running turn if the time for what the agent sends after its answer is over.
    pub(super) fn end_turn(&mut self) {
        if let Some((result, by)) = self.turns.take_result() {
            self.settle(result, &by);
        }
    }

    /// Starts a turn for what the agent sends between turns, or keeps that turn open. What an agent sends before its
    /// session is open, or while it is being stopped, belongs to no turn, and without a tail nothing between turns does.
    pub(super) fn work_unprompted(&mut self) {
        if !self.begin_unprompted() {
            self.turns.extend(&self.journal);
        } else if self.journal.lane().is_none() {
            // The agent has other work now. What a subagent sends says nothing about the rest of its parent's answer.
            self.turns.end_cut_off();
        }
    }

    /// Starts a turn without a prompt, if none runs and the agent can work. Returns whether it has started one.
    fn begin_unprompted(&mut self) -> bool {
        let can_work = self.journal.limits().turn_tail_millis > 0 && self.session.is_ready();
        if !can_work || self.live().turn.is_some() || self.journal.current_turn().is_some() {
            return false;
        }
        let turn = TurnId(self.live().last_turn + 1);
        self.prepare_turn();
        self.turns.begin_unprompted(&mut self.journal, turn);
        true
    }

    /// Ends a turn without a prompt, and the rest of an ended one, because a client has other work for the thread.
    pub(super) fn end_unprompted(&mut self) {
        self.messages.end_late(&mut self.journal);
        if self.turns.is_unprompted() {
            self.end_turn();
        }
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
        if self.turns.is_ending() {
            return self.end_turn();
        }
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
        let was_prompted = !running.by_agent && running.interrupted.is_none();
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
        if was_prompted && self.live().lanes.at_work().next().is_some() {
            // The thread stays active while they work.
            self.begin_unprompted();
        }
        self.journal.note_status();
        self.retire_if_idle();
    }
}
