//! Events of the agent, and the start and end of its process.

use acpd_model::event::{Level, TurnStatus};
use acpd_model::{ErrorCode, EventKind, Failure, ItemOutcome, Origin, SessionEvent};

use super::Thread;
use crate::agent::{AgentEvent, AgentRequest, Opened, is_own, own_name};
use crate::thread::input::AgentExit;
use crate::thread::reply::Reply;
use crate::thread::session::{Continuation, Continued, Session, Wake};
use crate::thread::turn::{self, TurnResult};

/// The notice of a turn that was interrupted and ends with the daemon.
pub(super) const DAEMON_STOPPED: &str = "daemonStopped";

/// Why a turn ended with the daemon, as clients read it afterwards.
pub(super) const RESTARTED: &str = "acpd was restarted while this turn was running";

/// Why a queued turn ended with the daemon.
const NOT_SENT: &str = "acpd was restarted before this was sent to the agent";

/// The code of the notice that the log has failed.
pub(super) const LOG_FAILED: &str = "logFailed";

impl Thread {
    pub(super) fn handle_agent(&mut self, event: AgentEvent) {
        match event {
            // Only for a caller that started the agent without a session, which a thread never does.
            AgentEvent::Initialized(_) => {}
            AgentEvent::Opened(opened) => self.agent_opened(*opened),
            AgentEvent::ResumeStarted(how) => self.session.resume_started(how),
            AgentEvent::Replayed(update) => self.session.replayed(update),
            AgentEvent::ResumeFailed { how, error, late } => {
                self.session.resume_failed(&mut self.journal, how, &error, late);
            }
            AgentEvent::SignInRequired(failure) => self.sign_in_required(&failure),
            AgentEvent::SignInPrinted(line) => self.session.sign_in_printed(line),
            AgentEvent::Answered { ask, result } => {
                let continued = self.session.answered(&mut self.journal, ask, result);
                if let Some(continued) = continued {
                    self.go_on(continued);
                }
                self.send_requests();
                self.reopen_if_idle();
                self.prompt_if_ready();
            }
            AgentEvent::Failed(failure) => self.agent_failed(&failure),
            AgentEvent::Update(update) if self.session.was_dropped(&self.journal) => {
                self.journal.emit_unshown(update.raw, update.raw_params);
            }
            AgentEvent::Update(update) => self.handle_update(update),
            AgentEvent::PromptEnded { turn, result } => self.prompt_ended(turn, result),
            AgentEvent::CallbackReceived {
                call,
                request,
                params,
            } => {
                let call = self.callbacks.count(call);
                self.handle_call(call, request, params);
            }
            AgentEvent::CallbackWithdrawn { call } => self.call_withdrawn(call),
            AgentEvent::CallbackRefused {
                call,
                method,
                error,
                params,
            } => {
                let call = self.callbacks.count(call);
                let kind = EventKind::Session(SessionEvent::CallRefused {
                    method,
                    reason: error.message.clone(),
                    requested_by: None,
                });
                self.journal.emit(Origin::Daemon, kind, params);
                self.callbacks.answer(&mut self.journal, call, Err(error));
            }
            AgentEvent::Subagent { session, event } => self.handle_subagent(&session, *event),
            AgentEvent::Foreign { params } => self.tool_calls.foreign_update(&mut self.journal, params),
            AgentEvent::Notified { method, params } if is_own(&method) => {
                let kind = EventKind::Session(SessionEvent::CallRefused {
                    reason: own_name(&method),
                    method,
                    requested_by: None,
                });
                self.journal.emit(Origin::Agent, kind, params);
            }
            AgentEvent::Notified { method, params } => {
                let kind = EventKind::Session(SessionEvent::AgentNotified { method });
                self.journal.emit(Origin::Agent, kind, params);
            }
            AgentEvent::Retiring => {
                self.session.retire();
                self.retire_if_idle();
            }
            AgentEvent::Slowed => self.session.note_slowed(&mut self.journal),
            AgentEvent::Mended { flaw, text } => {
                let words = flaw.words();
                let message = format!("The agent wrote {words}; acpd uses such messages all the same.");
                self.journal
                    .detailed_notice(Level::Info, "protocolViolation", &message, Some(text));
            }
            AgentEvent::Malformed { reason, text, bytes } => {
                let kind = EventKind::Session(SessionEvent::LineMalformed { reason, text, bytes });
                self.journal.emit(Origin::Agent, kind, None);
            }
        }
    }

    /// Starts the agent, unless it runs or is starting.
    pub(super) fn wake(&mut self) {
        match self.session.wake(&mut self.journal, self.callbacks.elicitation()) {
            Wake::Nothing => {}
            Wake::Started => self.callbacks.start_process(),
            Wake::Replace => self.stop_agent(),
        }
    }

    fn agent_opened(&mut self, opened: Opened) {
        // An agent that was asked to stop may still report an open session.
        if self.session.is_stopping() {
            return;
        }
        if let Some(opened) = self.session.begin_import(&mut self.journal, opened) {
            self.bind(opened);
        }
    }

    /// Starts to use an open session.
    pub(super) fn bind(&mut self, opened: Opened) {
        if self.session.is_stopping() {
            return;
        }
        self.callbacks.set_quirks(opened.capabilities.quirks);
        self.messages.forget_ended();
        self.session.bind(&mut self.journal, opened);
        for cursor in self.session.take_cursors() {
            self.handle_update(cursor);
        }
        self.reopen_if_idle();
        self.send_requests();
        self.prompt_if_ready();
    }

    fn sign_in_required(&mut self, failure: &Failure) {
        if self.session.is_stopping() {
            return;
        }
        self.session.sign_in_required(&mut self.journal, failure);
        while let Some(continued) = self.session.refuse_unsigned(&mut self.journal, failure) {
            self.go_on(continued);
        }
        self.settle_unanswered(TurnResult::failed(&failure.message), &Origin::Agent);
        self.send_requests();
    }

    fn agent_failed(&mut self, failure: &Failure) {
        if self.session.is_stopping() {
            return;
        }
        self.session.failed(&mut self.journal, failure);
        self.abandon(&failure.message, TurnStatus::Failed, &Origin::Agent, true);
        self.stop_agent();
    }

    pub(super) fn handle_agent_exit(&mut self, exit: &AgentExit) {
        self.messages.forget_ended();
        self.journal.withdraw_suggestions();
        let keeps_unsent = self.session.exited(&mut self.journal, exit);
        self.abandon(&exit.reason, TurnStatus::Failed, &Origin::Agent, !keeps_unsent);
        // While the old process was exiting, a client may have started a turn or requested the agent.
        if self.session.take_restart() || self.turns.has_unsent() {
            self.wake();
        }
    }

    pub(super) fn stop_agent(&mut self) {
        if self.session.can_stop() {
            self.void_requests("the agent is being stopped");
            self.journal.withdraw_suggestions();
            self.journal.note_status();
            self.session.stop(&mut self.journal);
            self.turns.agent_stopped();
        }
    }

    /// Leaves a process that is about to end, once no turn runs.
    pub(super) fn retire_if_idle(&mut self) {
        if self.session.is_retiring() {
            self.stop_if_idle();
        }
    }

    /// Stops the agent if the thread is idle.
    pub(super) fn stop_if_idle(&mut self) {
        if self.session.is_idle(&self.journal) {
            self.stop_agent();
        }
    }

    /// Stops the agent so that the session opens again in a new process, if a reopen is pending and no turn runs.
    pub(super) fn reopen_if_idle(&mut self) {
        if !self.turns.is_prompted() && !self.turns.is_ending() && self.session.take_reopen() {
            self.stop_agent();
        }
    }

    /// Ends all work that the exited process left open; the running turn gets the status, unless a client interrupted it. A
    /// turn whose prompt was never sent ends only if `unsent_too`; otherwise the next process gets the prompt. Commands of
    /// users continue, and so does their turn.
    pub(super) fn abandon(&mut self, reason: &str, status: TurnStatus, by: &Origin, unsent_too: bool) {
        let sent = self.abandon_work(reason, unsent_too);
        if self.live().turn.is_some() && (sent || unsent_too) && !self.runs_commands() {
            self.settle_unanswered(TurnResult::ended(status, reason), by);
        } else {
            // The next process does not continue the items of the previous one.
            self.close_items(ItemOutcome::Failed);
            if self.live().turn.is_none() {
                self.begin_next();
            }
        }
        self.journal.note_status();
    }

    /// Ends the work of [`abandon`](Self::abandon) but for the turn and its items. Returns `false` if the running turn's prompt was
    /// not sent.
    fn abandon_work(&mut self, reason: &str, unsent_too: bool) -> bool {
        self.journal.flush();
        self.void_requests(reason);
        self.stop_subagents();
        self.approvals.abandon();
        self.callbacks.abandon(&mut self.journal);
        while let Some(continued) = self.session.fail_requests(&mut self.journal, reason, unsent_too) {
            self.go_on(continued);
        }
        self.session.abandon();
        self.callbacks.end_in_editors(&mut self.journal);
        self.callbacks.close_terminals(&mut self.journal);
        self.turns.abandon()
    }

    /// Stops the agent and all work, because the daemon stops. A turn whose agent is in the middle of a message ends with the
    /// process, or after the tail.
    pub(super) fn stop(&mut self) {
        let reason = RESTARTED;
        self.session.fail_continuations(&mut self.journal, reason);
        while let Some(queued) = self.live().queue.front().map(|queued| queued.id) {
            let result = TurnResult::ended(TurnStatus::Interrupted, NOT_SENT);
            turn::settle_queued(&mut self.journal, queued, result, &Origin::Daemon);
        }
        self.callbacks.drop_in_editors(&mut self.journal);
        self.callbacks.end_user_commands(&mut self.journal);
        self.note_interrupted(DAEMON_STOPPED, reason);
        if self.turns.is_prompted() && self.session.can_stop() && self.is_in_message() {
            let result = if turn::is_interrupted_by_client(&self.journal) {
                TurnResult::interrupted()
            } else {
                TurnResult::ended(TurnStatus::Interrupted, reason)
            };
            self.abandon_work(reason, true);
            self.turns.begin_last_tail(&self.journal, result, Origin::Daemon);
            self.journal.note_status();
        } else {
            self.abandon(reason, TurnStatus::Interrupted, &Origin::Daemon, true);
        }
        self.callbacks.abort_delegations(&mut self.journal, reason);
        self.stop_agent();
    }
}

impl Thread {
    /// Cancels a sign-in. ACP cannot do that, so an agent that has the request is stopped.
    pub(super) fn cancel_sign_in(&mut self) -> Result<Reply, Failure> {
        let (pending, sent) = (self.session.has_sign_in(), self.session.signs_in());
        if !pending {
            return Err(Failure::new(
                ErrorCode::Conflict,
                "no sign-in to the agent is in progress",
            ));
        }
        if sent && self.live().turn.is_some() {
            let message =
                "a turn or command is running, which the end of the sign-in would end: interrupt it first";
            return Err(Failure::new(ErrorCode::Conflict, message));
        }
        let failure = Failure::new(ErrorCode::Conflict, "the sign-in was cancelled");
        let continued = self.session.refuse_sign_in(&mut self.journal, &failure);
        if sent {
            self.stop_agent();
        }
        if let Some(continued) = continued {
            self.go_on(continued);
        }
        Ok(Reply::Done)
    }

    /// Sends the agent a request, and continues with `then` after the response.
    pub(super) fn request_agent(
        &mut self,
        call: u64,
        by: Origin,
        request: AgentRequest,
        then: Option<Continuation>,
    ) {
        let starts = self.session.request(&mut self.journal, call, by, request, then);
        if starts {
            self.wake();
        }
        self.send_requests();
    }

    pub(super) fn send_requests(&mut self) {
        while let Some(continued) = self.session.send_requests(&mut self.journal) {
            self.go_on(continued);
        }
    }

    /// Continues an operation that waited for a response of the agent.
    fn go_on(&mut self, continued: Continued) {
        let Continued {
            call,
            continuation,
            answer,
        } = continued;
        match continuation {
            Continuation::Steer {
                by,
                turn,
                input,
                client_turn_id,
            } => self.steer_answered(call, by, turn, (input, client_turn_id), answer),
            Continuation::Fork { point, at_cursor } => self.fork_answered(call, point, at_cursor, answer),
            Continuation::RollBack(rollback) => self.roll_back_answered(call, *rollback, answer),
            Continuation::DefaultMode { wanted, current } => {
                Session::default_mode_answered(&mut self.journal, &wanted, &current, answer);
            }
            Continuation::Delete { by, asked, failed } => {
                self.session_deleted(call, by, &asked, failed || answer.is_err());
            }
            Continuation::Restore(index) => self.session.restored(&mut self.journal, index, answer),
        }
    }
}
