//! Calls of the agent: from the decision about each call to the callback that runs it, and from users' answers back
//! to the agent.

use acpd_model::event::{Outcome, PermissionOption};
use acpd_model::{ErrorCode, Failure, LaneId, Origin, RawJson, RequestId};
use acpd_policy::Scope;

use super::Thread;
use crate::agent::Call;
use crate::thread::approval::{NextStep, PERMISSION_METHOD, SettledQuestion, read_question};
use crate::thread::callback::{is_terminal_act, is_user_command};
use crate::thread::command::Answer;
use crate::thread::host_call::HostReply;

impl Thread {
    /// Checks the limits for a call of the agent, and decides about it.
    pub(super) fn handle_call(&mut self, call: u64, request: Call, raw_params: Option<RawJson>) {
        if self.session.is_stopping() {
            let failure = Failure::new(ErrorCode::Conflict, "this agent is being stopped");
            return self.refuse_call(call, request.method(), &failure);
        }
        let approvals = &self.approvals;
        let admitted = self.callbacks.admit(
            &mut self.journal,
            call,
            &request,
            raw_params,
            approvals.len(),
            |call| approvals.holds(call),
        );
        if !admitted {
            return;
        }
        if is_work(&request) {
            self.work_unprompted();
        }
        let next = match request {
            Call::Permission {
                tool_call,
                options,
                raw,
            } => return self.permission_requested(call, &tool_call, options, raw),
            Call::Elicit { message, raw } => self.approvals.ask_input(&mut self.journal, call, message, raw),
            request => {
                let form = self.callbacks.form_of(&self.journal, &request);
                self.approvals.evaluate(&mut self.journal, call, request, form)
            }
        };
        self.follow(next);
    }

    fn permission_requested(
        &mut self,
        call: u64,
        tool: &RawJson,
        options: Vec<PermissionOption>,
        raw: RawJson,
    ) {
        let update = match read_question(tool, &options, &raw) {
            Ok(update) => update,
            Err(failure) => return self.refuse_call(call, PERMISSION_METHOD, &failure),
        };
        self.work_unprompted();
        let id = update.id.clone();
        self.handle_tool(update, Some(tool.clone()), None, true);
        let next = self
            .approvals
            .ask(&mut self.journal, call, &id, tool, options, raw);
        self.follow(next);
    }

    fn refuse_call(&mut self, call: u64, method: &str, failure: &Failure) {
        self.callbacks
            .refuse_and_record(&mut self.journal, call, method, failure);
    }

    /// Carries out the next step of a call.
    pub(super) fn follow(&mut self, next: NextStep) {
        match next {
            NextStep::Run { call, request, at } => self.callbacks.run(&mut self.journal, call, request, at),
            NextStep::Answer { call, result } => self.callbacks.answer(&mut self.journal, call, result),
            NextStep::Settle { number, by, outcome } => {
                self.settle_request(by, number, &outcome);
                self.journal.note_status();
            }
            NextStep::RunLine { wanted, permitted } => self.start_user_command(wanted, permitted.as_deref()),
            NextStep::Wait => {}
        }
    }

    /// Handles the host's reply, which belongs to a call or to the decision about one.
    pub(super) fn host_replied(&mut self, call: u64, result: Result<HostReply, Failure>) {
        if self.approvals.compares(call) {
            let next = self.approvals.compared(&mut self.journal, call, result);
            self.follow(next);
        } else if is_terminal_act(call) {
            self.callbacks.terminal_act_done(&mut self.journal, call, result);
        } else if is_user_command(call) {
            self.user_host_replied(call, result);
        } else {
            self.callbacks.host_replied(&mut self.journal, call, result);
        }
    }

    pub(super) fn call_withdrawn(&mut self, call: u64) {
        let call = self.callbacks.number(call);
        let lane = self.callbacks.lane_of(call);
        self.in_lane(lane, |thread| {
            thread.approvals.withdraw(&mut thread.journal, call);
            thread.callbacks.withdraw(&mut thread.journal, call);
        });
    }

    /// Handles a client's answer to a request of the agent.
    pub(super) fn answer(
        &mut self,
        by: Origin,
        request: RequestId,
        answer: &Answer,
        scope: Option<Scope>,
    ) -> Result<(), Failure> {
        let outcome = self
            .approvals
            .answer(&mut self.journal, &by, request, answer, scope)?;
        self.settle_request(by, request.number, &outcome);
        self.journal.note_status();
        Ok(())
    }

    pub(super) fn settle_request(&mut self, by: Origin, number: u32, outcome: &Outcome) {
        let lane = self.live().requests.get(&number).and_then(|open| open.event.lane);
        self.in_lane(lane, |thread| thread.settle_in_lane(by, number, outcome));
    }

    fn settle_in_lane(&mut self, by: Origin, number: u32, outcome: &Outcome) {
        let SettledQuestion { next, item } = self.approvals.settle(&mut self.journal, by, number, outcome);
        // The time in which the user was asked does not count as the agent's silence.
        self.session.record_activity(&self.journal);
        self.turns.question_settled(&self.journal);
        self.follow(next);
        if let Some(item) = item {
            self.tool_calls.question_settled(&mut self.journal, item, outcome);
        }
    }

    /// Cancels all open requests, as ACP requires when a turn is cancelled.
    pub(super) fn cancel_requests(&mut self, by: &Origin) {
        let open: Vec<u32> = self.live().requests.keys().copied().collect();
        for number in open {
            self.settle_request(by.clone(), number, &Outcome::Cancelled);
        }
    }

    /// Voids all open requests, because an answer would no longer have an effect.
    pub(super) fn void_requests(&mut self, reason: &str) {
        self.void_requests_of(reason, |_| true);
    }

    /// Voids the open requests of subagents, and of the main agent, that are over.
    pub(super) fn void_requests_of(&mut self, reason: &str, is_over: impl Fn(Option<LaneId>) -> bool) {
        if self.live().requests.is_empty() {
            return;
        }
        let listens = self.session.is_ready();
        let answers = self
            .approvals
            .void_all(&mut self.journal, reason, listens, is_over);
        self.session.record_activity(&self.journal);
        for (call, result) in answers {
            self.callbacks.answer(&mut self.journal, call, result);
        }
    }
}

/// Returns whether a call is work of the agent that a conversation shows. A permission request is that once it is valid.
fn is_work(call: &Call) -> bool {
    matches!(
        call,
        Call::Elicit { .. } | Call::WriteFile { .. } | Call::CreateTerminal { .. }
    )
}
