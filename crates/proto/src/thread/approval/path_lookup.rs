//! Decisions that wait for real paths: calls and questions of the agent that name files.
//!
//! In: a call or a question with its paths, and later their real paths. Out: the effect that resolves the paths, then
//! the decision.

use acpd_model::event::{PermissionOption, QuestionTopic};
use acpd_model::{ErrorCode, Failure, ItemId, RawJson, TurnId};
use acpd_policy::{RealPaths, Request};

use super::{Approvals, NextStep};
use crate::agent::Call;
use crate::thread::effect::{Effect, Waiter};
use crate::thread::journal::Journal;

/// The call or question that waits.
#[derive(Debug)]
pub(super) enum PathLookup {
    /// A file that the agent reads or writes without a permission request.
    Call(Call, Request),
    /// A permission request of the agent.
    Question(PermissionRequest),
}

/// A question of the agent, with its state at the time of the request.
#[derive(Debug)]
pub(super) struct PermissionRequest {
    pub turn: Option<TurnId>,
    pub item: ItemId,
    pub about: QuestionTopic,
    pub title: String,
    pub options: Vec<PermissionOption>,
    pub raw: RawJson,
    /// The whole tool call, if the question does not repeat it.
    pub call: Option<RawJson>,
    /// Whether the tool call shows diffs that are too long to repeat.
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

    /// Continues the decision with the resolved paths.
    pub fn paths_resolved(&mut self, journal: &mut Journal, waiter: Waiter, real: &RealPaths) -> NextStep {
        let call = match waiter {
            Waiter::Call(call) => call,
            Waiter::Explain { call, tool_call, .. } => {
                let request = self.tool_request(journal.live(), &tool_call);
                let explained = self.explanation(journal.live(), &request.with_real_paths(real));
                journal.reply(call, Ok(explained));
                return NextStep::Wait;
            }
            Waiter::UserCommand(wanted) => {
                let request = self.line_request(journal.live(), &wanted.line);
                return self.decide_line(journal, *wanted, &request.with_real_paths(real));
            }
        };
        // Without a lookup, the call was withdrawn or its agent has exited.
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

/// Returns whether links can affect the decision.
pub(super) fn names_paths(request: &Request) -> bool {
    let files = request.files().chain(request.programs());
    files.chain(request.redirections()).next().is_some()
}
