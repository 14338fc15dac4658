//! The agent's calls: from the decision about each to what carries it out, and from answers of people back to the agent.

use acpd_model::event::{Outcome, PermissionOption};
use acpd_model::{ErrorCode, Failure, Origin, RawJson, RequestId};
use acpd_policy::Scope;

use crate::agent::Call;
use crate::thread::approval::{PERMISSION_METHOD, Settled, Verdict, read_question};
use crate::thread::command::{Answer, HostReply};
use crate::thread::thread::Thread;

impl Thread {
    /// Takes a call of the agent, and decides about it.
    pub(in crate::thread) fn handle_call(&mut self, call: u64, request: Call, raw_params: Option<RawJson>) {
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
        let verdict = match request {
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
        self.follow(verdict);
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
        let id = update.id.clone();
        self.handle_tool(update, Some(tool.clone()), None, true);
        let verdict = self
            .approvals
            .ask(&mut self.journal, call, &id, tool, options, raw);
        self.follow(verdict);
    }

    fn refuse_call(&mut self, call: u64, method: &str, failure: &Failure) {
        self.callbacks
            .refuse_and_record(&mut self.journal, call, method, failure);
    }

    /// Does what was decided.
    pub(in crate::thread) fn follow(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Run { call, request, at } => self.callbacks.run(&mut self.journal, call, request, at),
            Verdict::Answer { call, result } => self.callbacks.answer(&mut self.journal, call, result),
            Verdict::Settle { number, by, outcome } => {
                self.settle_request(by, number, &outcome);
                self.journal.note_status();
            }
            Verdict::Wait => {}
        }
    }

    /// The host has done what a call wanted, or what was needed to decide about it.
    pub(in crate::thread) fn host_replied(&mut self, call: u64, result: Result<HostReply, Failure>) {
        if self.approvals.compares(call) {
            let verdict = self.approvals.compared(&mut self.journal, call, result);
            self.follow(verdict);
        } else {
            self.callbacks.host_replied(&mut self.journal, call, result);
        }
    }

    pub(in crate::thread) fn call_withdrawn(&mut self, call: u64) {
        let call = self.callbacks.number(call);
        self.approvals.withdraw(&mut self.journal, call);
        self.callbacks.withdraw(&mut self.journal, call);
    }

    /// Answers a question for a client.
    pub(in crate::thread) fn answer(
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

    pub(in crate::thread) fn settle_request(&mut self, by: Origin, number: u32, outcome: &Outcome) {
        let Settled { verdict, item } = self.approvals.settle(&mut self.journal, by, number, outcome);
        // The time in which a person was asked does not count as the agent's silence.
        self.session.record_activity(&self.journal);
        self.follow(verdict);
        if let Some(item) = item {
            self.tool_calls.question_settled(&mut self.journal, item, outcome);
        }
    }

    /// Everything that is asked is answered with "cancelled", as ACP wants it when a turn is cancelled.
    pub(in crate::thread) fn cancel_requests(&mut self, by: &Origin) {
        let open: Vec<u32> = self.journal.live().requests.keys().copied().collect();
        for number in open {
            self.settle_request(by.clone(), number, &Outcome::Cancelled);
        }
    }

    /// Nobody would act any more on an answer to what is asked.
    pub(in crate::thread) fn void_requests(&mut self, reason: &str) {
        if self.journal.live().requests.is_empty() {
            return;
        }
        let listens = self.session.is_ready();
        let answers = self.approvals.void_all(&mut self.journal, reason, listens);
        self.session.record_activity(&self.journal);
        for (call, result) in answers {
            self.callbacks.answer(&mut self.journal, call, result);
        }
    }
}
