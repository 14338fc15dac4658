//! What is decided on only when it is known where its paths lead: calls and questions of the agent that name files.
//!
//! In: a call, or a question, with the request that it comes to. Out: the effect that has the paths looked up, and with
//! its answer the decision. Meanwhile it is one of the callbacks that are worked on, so that it is counted, withdrawn and
//! dropped like any other.

use acpd_model::event::{Outcome, PermissionOption, QuestionTopic};
use acpd_model::{
    ErrorCode, EventKind, Failure, ItemId, Origin, PreviousContent, RawJson, RequestId, TurnId,
};

use super::answers::agent_remembers;
use super::command::{Effect, Waiter};
use super::host::HostTask;
use super::policy::PolicyCheck;
use super::shown::subjects;
use super::thread::Thread;
use crate::agent::Call;
use acpd_policy::{RealPaths, Request};

/// What waits.
#[derive(Debug)]
pub(super) enum PathLookup {
    /// A file that the agent wants to read or write without having asked.
    Call(Call, Request),
    /// The agent asks.
    Question(Question),
}

/// A question of the agent, as it was when it was asked.
#[derive(Debug)]
pub(super) struct Question {
    pub turn: Option<TurnId>,
    pub item: ItemId,
    pub about: QuestionTopic,
    pub title: String,
    pub options: Vec<PermissionOption>,
    pub raw: RawJson,
    /// The whole call, if the question does not repeat it.
    pub call: Option<RawJson>,
    /// It shows diffs that are too long to be repeated.
    pub keeps_content: bool,
    pub request: Request,
}

impl Thread {
    /// Decides about a call, as soon as that can be done.
    pub(super) fn evaluate(&mut self, call: u64, request: Call) {
        match self.policy_request(&request) {
            // Without any rule it makes no difference where a path leads.
            Some(wanted) if !self.layers().is_empty() && names_paths(&wanted) => {
                self.start_path_lookup(call, PathLookup::Call(request, wanted));
            }
            wanted => self.decide(call, request, wanted, None, None),
        }
    }

    /// Puts a question of the agent's to the policy and then to people, as soon as that can be done. A person may want
    /// the answer to hold, so that it is always known what it is about.
    pub(super) fn evaluate_question(&mut self, call: u64, question: Question) {
        if names_paths(&question.request) {
            self.start_path_lookup(call, PathLookup::Question(question));
        } else {
            self.ask_permission(call, question);
        }
    }

    fn start_path_lookup(&mut self, call: u64, lookup: PathLookup) {
        let (PathLookup::Call(_, request) | PathLookup::Question(Question { request, .. })) = &lookup;
        let paths = self.layers().paths(request);
        let waiter = Waiter::Call(call);
        self.journal.push(Effect::Resolve { waiter, paths });
        self.host_tasks
            .insert(call, HostTask::PathLookup(Box::new(lookup)));
    }

    /// It is known where the paths lead.
    pub(super) fn paths_resolved(&mut self, waiter: Waiter, real: &RealPaths) {
        let call = match waiter {
            Waiter::Call(call) => call,
            Waiter::Explain { call, tool_call, .. } => {
                let request = self.tool_request(&tool_call).with_real_paths(real);
                let result = Ok(self.explanation(&request));
                return self.journal.reply(call, result);
            }
        };
        // One that was withdrawn, or whose agent is gone, is not decided on any more.
        if !matches!(self.host_tasks.get(&call), Some(HostTask::PathLookup(_))) {
            return;
        }
        let Some(HostTask::PathLookup(lookup)) = self.host_tasks.remove(&call) else {
            return;
        };
        match *lookup {
            PathLookup::Call(request, wanted) => {
                let at = wanted.files().next().map(|path| match real.paths.get(path) {
                    Some(found) => found.clone(),
                    None => Err(Failure::new(
                        ErrorCode::Internal,
                        format!("cannot resolve {path}"),
                    )),
                });
                self.decide(call, request, Some(wanted.with_real_paths(real)), at, None);
            }
            PathLookup::Question(mut question) => {
                question.request = question.request.with_real_paths(real);
                self.ask_permission(call, question);
            }
        }
    }

    /// `at` is where the file really is, or why that cannot be told; `old` is what a file that is written holds, once it was read.
    pub(super) fn decide(
        &mut self,
        call: u64,
        request: Call,
        wanted: Option<Request>,
        at: Option<Result<String, Failure>>,
        old: Option<PreviousContent>,
    ) {
        let check = wanted.as_ref().map_or(PolicyCheck::Allow, |wanted| {
            self.check_policy(&request, wanted, old.as_ref())
        });
        match (check, wanted, at.transpose()) {
            (PolicyCheck::Deny(decision), ..) => self.refuse_by_policy(call, &request, &decision),
            // It would fail the same way; nobody need be asked about it.
            (_, _, Err(failure)) => self.refuse_and_record(call, request.method(), &failure),
            (PolicyCheck::Ask, Some(wanted), Ok(at)) => {
                let old = old.unwrap_or(PreviousContent::Unknown);
                self.ask_person(call, request, wanted, at, &old);
            }
            (PolicyCheck::Compare, Some(wanted), Ok(at)) => self.read_before_write(call, request, wanted, at),
            (_, _, Ok(at)) => self.run_call(call, request, at),
        }
    }

    fn ask_permission(&mut self, call: u64, question: Question) {
        let Question {
            turn,
            item,
            about,
            title,
            options,
            raw,
            call: whole,
            keeps_content,
            mut request,
        } = question;
        let number = self.journal.live().last_request + 1;
        self.question_calls.insert(number, call);
        let subjects = subjects(&mut request).into();
        let ruled = self.decide_question(&request, &options);
        let (always, agent_remembers, whole) = match ruled {
            Some(_) => (None, Vec::new(), None),
            None => {
                let always = self.always(&request);
                let agent_remembers = agent_remembers(&always, &options);
                (Some(Box::new(always)), agent_remembers, whole)
            }
        };
        self.question_requests.insert(number, request);
        let kind = EventKind::PermissionRequested {
            request: RequestId {
                thread: self.journal.live().thread,
                number,
            },
            item: Some(item),
            about,
            title,
            options: options.into(),
            subjects,
            decided: ruled.is_some(),
            agent_remembers: agent_remembers.into(),
            always,
            whole: whole.map(Box::new),
            keeps_content,
        };
        self.journal.emit(Origin::Agent, kind, Some(raw));
        self.cancel_if_interrupted(number);
        if self.question_calls.contains_key(&number) {
            if turn != self.journal.current_turn() {
                // Its turn ended while the paths were looked up.
                self.settle_request(Origin::Daemon, number, &Outcome::Cancelled);
            } else if let Some((by, outcome)) = ruled {
                self.settle_request(by, number, &outcome);
            }
        }
        self.journal.note_status();
    }
}

/// Whether links make a difference to what is decided.
fn names_paths(request: &Request) -> bool {
    request.files().chain(request.programs()).next().is_some()
}
