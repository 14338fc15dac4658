//! Approvals: what a policy or a person decides about calls and questions of the agent.
//!
//! In: calls that the agent makes, questions that it asks, answers, where paths lead, what files hold. Out: a [`Verdict`] on each.
//! Owns: the policies, open questions with what waits for them, and what was allowed in the turn. Never: carries a call out, or
//! answers it.

mod answers;
mod calls;
mod grants;
mod path_lookup;
mod policy;
mod questions;
mod remembered;
mod shown;

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_model::event::Outcome;
use acpd_model::limits::GRANTS;
use acpd_model::{ErrorCode, EventKind, Failure, ItemId, Origin, RawJson, RequestId};
use acpd_policy::Request;
use serde_json::json;

use self::calls::Comparison;
use self::grants::Grant;
use self::path_lookup::PathLookup;
use super::journal::Journal;
use crate::agent::Call;
use crate::wire::RpcError;

pub use policy::Policies;
pub(super) use questions::{METHOD as PERMISSION_METHOD, read_question};

/// The answer to a call of the agent.
pub(super) type CallResult = Result<RawJson, RpcError>;

/// What becomes of a call of the agent.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is carried out; `at` is where its file was then.
    Run {
        call: u64,
        request: Call,
        at: Option<String>,
    },
    /// It is answered, and not carried out.
    Answer { call: u64, result: CallResult },
    /// The question that it asks, or that was asked about it, is settled at once.
    Settle {
        number: u32,
        by: Origin,
        outcome: Outcome,
    },
    /// It waits for the host or for a person, or nothing waits any more.
    Wait,
}

impl Verdict {
    fn refuse(call: u64, failure: &Failure) -> Self {
        let result = Err(failure.into());
        Self::Answer { call, result }
    }
}

/// What is to be done once a question is settled.
pub(super) struct Settled {
    /// What becomes of the call that waited for it.
    pub verdict: Verdict,
    /// The tool call that it was about.
    pub item: Option<ItemId>,
}

/// What waits for the answer to a question.
#[derive(Debug)]
enum Waiting {
    /// The agent, which has asked with this call.
    Agent(u64),
    /// A call that the agent made without having asked.
    Call {
        call: u64,
        request: Call,
        /// Where its file really is.
        at: Option<String>,
    },
}

impl Waiting {
    fn call(&self) -> u64 {
        match self {
            Self::Agent(call) | Self::Call { call, .. } => *call,
        }
    }
}

/// An open question.
#[derive(Debug)]
struct OpenQuestion {
    waiting: Waiting,
    /// What it is about; none if it is for information.
    request: Option<Request>,
}

/// The approvals of a thread.
#[derive(Debug, Default)]
pub(super) struct Approvals {
    policies: Arc<Policies>,
    /// Open questions by number.
    questions: BTreeMap<u32, OpenQuestion>,
    /// Calls and questions that are decided on when it is known where their paths lead.
    lookups: BTreeMap<u64, PathLookup>,
    /// Writes that are decided on when it is known what their file holds.
    comparisons: BTreeMap<u64, Comparison>,
    /// What was allowed in this turn, and is not done yet.
    grants: Vec<Grant>,
}

impl Approvals {
    /// How many calls of the agent wait here.
    pub fn len(&self) -> usize {
        self.questions.len() + self.lookups.len() + self.comparisons.len()
    }

    /// Whether a call of the agent waits here.
    pub fn holds(&self, call: u64) -> bool {
        self.lookups.contains_key(&call)
            || self.comparisons.contains_key(&call)
            || self.question_of(call).is_some()
    }

    fn question_of(&self, call: u64) -> Option<u32> {
        let mut questions = self.questions.iter();
        let found = questions.find(|(_, question)| question.waiting.call() == call);
        found.map(|(number, _)| *number)
    }

    /// Another turn begins, which was allowed nothing yet.
    pub fn forget_grants(&mut self) {
        self.grants.clear();
    }

    /// The agent is gone: nothing is decided on any more that has not become a question.
    pub fn abandon(&mut self) {
        self.lookups.clear();
        self.comparisons.clear();
    }

    /// Records the outcome of a question, and says what follows from it.
    pub fn settle(&mut self, journal: &mut Journal, by: Origin, number: u32, outcome: &Outcome) -> Settled {
        let open = journal.live().requests.get(&number);
        let item = open.and_then(|open| open.event.kind.item());
        let wants_input = wants_input(journal, number);
        let kind = EventKind::RequestSettled {
            request: request_id(journal, number),
            outcome: outcome.clone(),
        };
        journal.emit(by, kind, None);
        let verdict = match self.questions.remove(&number) {
            None => Verdict::Wait,
            Some(OpenQuestion { waiting, request }) => match waiting {
                Waiting::Agent(call) => {
                    self.grant(request.as_ref(), outcome);
                    let result = Ok(outcome_result(outcome, wants_input));
                    Verdict::Answer { call, result }
                }
                // A yes to a question of our own is for that one call.
                Waiting::Call { call, request, at } if outcome.allows() => Verdict::Run { call, request, at },
                Waiting::Call { call, .. } => {
                    let failure = Failure::new(ErrorCode::Forbidden, "it was not allowed");
                    Verdict::refuse(call, &failure)
                }
            },
        };
        Settled { verdict, item }
    }

    fn grant(&mut self, request: Option<&Request>, outcome: &Outcome) {
        if outcome.allows()
            && let Some(request) = request
            && self.grants.len() < GRANTS
        {
            self.grants.push(Grant::of(request));
        }
    }

    /// Voids all questions: nobody would act on an answer any more. Returns the answers for the calls that waited. An agent that
    /// `listens` still is told "cancelled", since JSON-RPC wants an answer to every request.
    pub fn void_all(&mut self, journal: &mut Journal, reason: &str, listens: bool) -> Vec<(u64, CallResult)> {
        let open: Vec<u32> = journal.live().requests.keys().copied().collect();
        let mut answers = Vec::new();
        for number in open {
            let wants_input = wants_input(journal, number);
            match self.void(journal, number, reason) {
                Some(Waiting::Call { call, .. }) => {
                    let failure = Failure::new(ErrorCode::Forbidden, reason.to_owned());
                    answers.push((call, Err((&failure).into())));
                }
                Some(Waiting::Agent(call)) if listens => {
                    answers.push((call, Ok(outcome_result(&Outcome::Cancelled, wants_input))));
                }
                Some(Waiting::Agent(_)) | None => {}
            }
        }
        answers
    }

    /// The agent takes a call back.
    pub fn withdraw(&mut self, journal: &mut Journal, call: u64) {
        self.lookups.remove(&call);
        self.comparisons.remove(&call);
        if let Some(number) = self.question_of(call) {
            self.void(journal, number, "the agent withdrew the question");
            journal.note_status();
        }
    }

    fn void(&mut self, journal: &mut Journal, number: u32, reason: &str) -> Option<Waiting> {
        let kind = EventKind::RequestVoided {
            request: request_id(journal, number),
            reason: reason.to_owned(),
        };
        journal.emit(Origin::Daemon, kind, None);
        Some(self.questions.remove(&number)?.waiting)
    }
}

fn request_id(journal: &Journal, number: u32) -> RequestId {
    RequestId {
        thread: journal.live().thread,
        number,
    }
}

/// Whether a question is for information, not for a permission.
fn wants_input(journal: &Journal, number: u32) -> bool {
    let open = journal.live().requests.get(&number);
    open.is_some_and(|open| matches!(open.event.kind, EventKind::InputRequested { .. }))
}

/// The outcome of a question as its answer in ACP.
fn outcome_result(outcome: &Outcome, wants_input: bool) -> RawJson {
    let result = match outcome {
        Outcome::Selected {
            option_id,
            sent_option_id,
            ..
        } => {
            let sent = sent_option_id.as_ref().unwrap_or(option_id);
            json!({ "outcome": { "outcome": "selected", "optionId": sent } })
        }
        Outcome::Accepted {
            content: Some(content),
        } => json!({ "action": "accept", "content": content }),
        Outcome::Accepted { content: None } => json!({ "action": "accept" }),
        Outcome::Declined => json!({ "action": "decline" }),
        Outcome::Cancelled if wants_input => json!({ "action": "cancel" }),
        Outcome::Cancelled => json!({ "outcome": { "outcome": "cancelled" } }),
    };
    result.into()
}
