//! Approvals: decisions of policies and users about the agent's calls and questions.
//!
//! In: calls and questions of the agent, answers of clients, resolved paths, the old text of files. Out: the
//! [`NextStep`] of each call. Owns: policies, open questions with the calls that wait for them, and the grants of the
//! turn. Never: runs or answers a call.

mod answers;
mod calls;
mod grants;
mod path_lookup;
mod policy;
mod questions;
mod remembered;
mod shown;
mod user_commands;

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_model::event::Outcome;
use acpd_model::{ErrorCode, EventKind, Failure, ItemId, LaneId, Origin, RawJson, RequestEvent, RequestId};
use acpd_policy::{Decision, Request};
use serde_json::json;

use self::calls::Comparison;
use self::grants::Grant;
use self::path_lookup::PathLookup;
use super::effect::UserLine;
use super::journal::Journal;
use crate::agent::Call;
use crate::projection::listed_title;
use crate::wire::RpcError;

pub use policy::Policies;
pub(super) use policy::ruling;
pub(super) use questions::{METHOD as PERMISSION_METHOD, read_question};
pub(super) use remembered::adopt_rules;

/// Approved requests of one turn that are remembered, so that an approved call needs no second approval.
const GRANTS: usize = 256;

/// The answer to a call of the agent.
pub(super) type CallResult = Result<RawJson, RpcError>;

/// The next step for a call of the agent.
#[derive(Debug)]
pub(super) enum NextStep {
    /// Run the call; `at` is the real path of its file at the time of the decision.
    Run {
        call: u64,
        request: Call,
        at: Option<String>,
    },
    /// Answer the call without running it.
    Answer { call: u64, result: CallResult },
    /// Settle the call's question immediately.
    Settle {
        number: u32,
        by: Origin,
        outcome: Outcome,
    },
    /// Run the command line of a user.
    RunLine {
        wanted: UserLine,
        /// The policy's decision, if a rule or a default of it allows the line.
        permitted: Option<Box<Decision>>,
    },
    /// Do nothing: the call waits for the host or for the user, or no longer exists.
    Wait,
}

impl NextStep {
    fn refuse(call: u64, failure: &Failure) -> Self {
        let result = Err(failure.into());
        Self::Answer { call, result }
    }
}

/// The result of settling a question.
pub(super) struct SettledQuestion {
    /// The next step for the call that waited for the question.
    pub next: NextStep,
    /// The tool call of the question.
    pub item: Option<ItemId>,
}

/// What waits for the answer to a question.
#[derive(Debug)]
enum Waiting {
    /// The agent, which sent the question as this call.
    Agent(u64),
    /// A call that the agent made without a permission request.
    Call {
        call: u64,
        request: Call,
        /// The real path of its file.
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
    /// The requested permission; `None` if the question asks for information.
    request: Option<Request>,
}

/// The approvals of a thread.
#[derive(Debug, Default)]
pub(super) struct Approvals {
    policies: Arc<Policies>,
    /// Open questions by number.
    questions: BTreeMap<u32, OpenQuestion>,
    /// Calls and questions whose paths are being resolved.
    lookups: BTreeMap<u64, PathLookup>,
    /// Writes whose file is being read.
    comparisons: BTreeMap<u64, Comparison>,
    /// Permissions of this turn that are not used up yet.
    grants: Vec<Grant>,
}

impl Approvals {
    /// Returns how many calls of the agent wait for a decision.
    pub fn len(&self) -> usize {
        self.questions.len() + self.lookups.len() + self.comparisons.len()
    }

    /// Returns the calls of the agent that wait for a decision.
    pub fn calls(&self) -> impl Iterator<Item = u64> {
        let asked = self.questions.values().map(|question| question.waiting.call());
        asked
            .chain(self.lookups.keys().copied())
            .chain(self.comparisons.keys().copied())
    }

    /// Returns whether this call waits for a decision.
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

    /// Clears the grants of the turn.
    pub fn forget_grants(&mut self) {
        self.grants.clear();
    }

    /// Drops the calls of an agent that has exited. Its questions are voided separately.
    pub fn abandon(&mut self) {
        self.lookups.clear();
        self.comparisons.clear();
    }

    /// Records the outcome of a question, and returns the next step.
    pub fn settle(
        &mut self,
        journal: &mut Journal,
        by: Origin,
        number: u32,
        outcome: &Outcome,
    ) -> SettledQuestion {
        let open = journal.live().requests.get(&number);
        let item = open.and_then(|open| open.event.kind.item());
        let lane = open.and_then(|open| open.event.lane);
        let title = open
            .and_then(|open| listed_title(&open.event.kind))
            .filter(|_| item.is_none());
        let title = title.map(Box::from);
        let wants_input = wants_input(journal, number);
        let kind = EventKind::Request(RequestEvent::Settled {
            request: request_id(journal, number),
            outcome: outcome.clone(),
            item,
            title,
        });
        journal.emit(by, kind, None);
        let next = match self.questions.remove(&number) {
            None => NextStep::Wait,
            Some(OpenQuestion { waiting, request }) => match waiting {
                Waiting::Agent(call) => {
                    self.grant(lane, request.as_ref(), outcome);
                    let result = Ok(outcome_result(outcome, wants_input));
                    NextStep::Answer { call, result }
                }
                // An allowed question of the daemon applies to that one call only.
                Waiting::Call { call, request, at } if outcome.allows() => {
                    NextStep::Run { call, request, at }
                }
                Waiting::Call { call, .. } => {
                    let failure = Failure::new(ErrorCode::Forbidden, "it was not allowed");
                    NextStep::refuse(call, &failure)
                }
            },
        };
        SettledQuestion { next, item }
    }

    fn grant(&mut self, lane: Option<LaneId>, request: Option<&Request>, outcome: &Outcome) {
        if outcome.allows()
            && let Some(request) = request
            && self.grants.len() < GRANTS
        {
            self.grants.push(Grant::of(lane, request));
        }
    }

    /// Voids the questions of subagents, and of the main agent, that are over, and returns the answers for the calls that waited.
    /// An agent that still `listens` receives "cancelled", because JSON-RPC requires an answer to every request.
    pub fn void_all(
        &mut self,
        journal: &mut Journal,
        reason: &str,
        listens: bool,
        is_over: impl Fn(Option<LaneId>) -> bool,
    ) -> Vec<(u64, CallResult)> {
        let open = journal.live().requests.iter();
        let open: Vec<u32> = open
            .filter(|(_, open)| is_over(open.event.lane))
            .map(|(number, _)| *number)
            .collect();
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

    /// Drops a call that the agent withdrew, with its question.
    pub fn withdraw(&mut self, journal: &mut Journal, call: u64) {
        self.lookups.remove(&call);
        self.comparisons.remove(&call);
        if let Some(number) = self.question_of(call) {
            self.void(journal, number, "the agent withdrew the question");
            journal.note_status();
        }
    }

    fn void(&mut self, journal: &mut Journal, number: u32, reason: &str) -> Option<Waiting> {
        let kind = EventKind::Request(RequestEvent::Voided {
            request: request_id(journal, number),
            reason: reason.to_owned(),
        });
        journal.emit(Origin::Daemon, kind, None);
        Some(self.questions.remove(&number)?.waiting)
    }
}

/// Returns the name of the subagent that asks, for the beginning of its questions.
fn asker(journal: &Journal) -> Option<String> {
    let lane = journal.live().lanes.get(journal.lane()?)?;
    Some(lane.name())
}

fn request_id(journal: &Journal, number: u32) -> RequestId {
    RequestId {
        thread: journal.live().thread,
        number,
    }
}

/// Returns whether a question asks for information, not for permission.
fn wants_input(journal: &Journal, number: u32) -> bool {
    let open = journal.live().requests.get(&number);
    open.is_some_and(|open| {
        matches!(
            open.event.kind,
            EventKind::Request(RequestEvent::InputRequested { .. })
        )
    })
}

/// Returns the outcome of a question as ACP's result.
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
