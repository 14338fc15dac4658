//! What is decided on only when it is known where its paths lead: calls and questions of the agent that name files.
//!
//! In: a call, or a question, with the request that it comes to. Out: the effect that has the paths looked up, and with
//! its answer the decision.

use acpd_model::{ErrorCode, Failure};
use acpd_policy::{RealPaths, Request};

use super::questions::Question;
use super::{Approvals, Verdict};
use crate::agent::Call;
use crate::thread::command::{Effect, Waiter};
use crate::thread::journal::Journal;

/// What waits.
#[derive(Debug)]
pub(super) enum PathLookup {
    /// A file that the agent wants to read or write without having asked.
    Call(Call, Request),
    /// The agent asks.
    Question(Box<Question>),
}

impl Approvals {
    pub(super) fn start_path_lookup(
        &mut self,
        journal: &mut Journal,
        call: u64,
        lookup: PathLookup,
    ) -> Verdict {
        let request = match &lookup {
            PathLookup::Call(_, request) => request,
            PathLookup::Question(question) => &question.request,
        };
        let paths = self.layers(journal.live()).paths(request);
        let waiter = Waiter::Call(call);
        journal.push(Effect::Resolve { waiter, paths });
        self.lookups.insert(call, lookup);
        Verdict::Wait
    }

    /// It is known where the paths lead.
    pub fn paths_resolved(&mut self, journal: &mut Journal, waiter: Waiter, real: &RealPaths) -> Verdict {
        let call = match waiter {
            Waiter::Call(call) => call,
            Waiter::Explain { call, tool_call, .. } => {
                let request = self.tool_request(journal.live(), &tool_call);
                let explained = self.explanation(journal.live(), &request.with_real_paths(real));
                journal.reply(call, Ok(explained));
                return Verdict::Wait;
            }
        };
        // One that was withdrawn, or whose agent is gone, is not decided on any more.
        match self.lookups.remove(&call) {
            None => Verdict::Wait,
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
                self.ask_permission(journal, call, *question)
            }
        }
    }
}

/// Whether links make a difference to what is decided.
pub(super) fn names_paths(request: &Request) -> bool {
    request.files().chain(request.programs()).next().is_some()
}
