//! What is decided on only when it is known where its paths lead: calls and questions of the agent that name files.
//!
//! In: a call or a question with its paths, and later where they lead. Out: the effect that resolves the paths, then the decision.

use acpd_model::event::{PermissionOption, QuestionTopic};
use acpd_model::{ErrorCode, Failure, ItemId, RawJson, TurnId};
use acpd_policy::{RealPaths, Request};

use super::{Approvals, NextStep};
use crate::agent::Call;
use crate::thread::command::{Effect, Waiter};
use crate::thread::journal::Journal;

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

impl Approvals {
    pub(super) fn start_path_lookup(
        &mut self,
        journal: &mut Journal,
        call: u64,
        lookup: PathLookup,
    ) -> NextStep {
        let request = match &lookup {
            PathLookup::Call(_, request) => request,
            PathLookup::Question(question) => &question.request,
        };
        let paths = self.layers(journal.live()).paths(request);
        let waiter = Waiter::Call(call);
        journal.push(Effect::Resolve { waiter, paths });
        self.lookups.insert(call, lookup);
        NextStep::Wait
    }

    /// It is known where the paths lead.
    pub fn paths_resolved(&mut self, journal: &mut Journal, waiter: Waiter, real: &RealPaths) -> NextStep {
        let call = match waiter {
            Waiter::Call(call) => call,
            Waiter::Explain { call, tool_call, .. } => {
                let request = self.tool_request(journal.live(), &tool_call);
                let explained = self.explanation(journal.live(), &request.with_real_paths(real));
                journal.reply(call, Ok(explained));
                return NextStep::Wait;
            }
        };
        // One that was withdrawn, or whose agent is gone, is not decided on any more.
        match self.lookups.remove(&call) {
            None => NextStep::Wait,
            Some(PathLookup::Call(request, wanted)) => {
                let at = wanted.files().next().map(|path| match real.paths.get(path) {
                    Some(found) => found.clone(),
                    None => Err(Failure::new(
                        ErrorCode::Internal,
                        format!("cannot resolve {path}"),
                    )),
                });
                self.decide(journal, call, request, wanted.with_real_paths(real), at, None)
            }
            Some(PathLookup::Question(mut question)) => {
                question.request = question.request.with_real_paths(real);
                self.ask_permission(journal, call, question)
            }
        }
    }
}

/// Whether links make a difference to what is decided.
pub(super) fn names_paths(request: &Request) -> bool {
    request.files().chain(request.programs()).next().is_some()
}
