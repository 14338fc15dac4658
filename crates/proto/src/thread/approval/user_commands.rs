//! Decisions about the command lines of users.
//!
//! In: a line and the client whose user wants to run it. Out: the next step. A policy decides as about a command of the
//! agent, except that no question is asked: a user who may run commands may also answer questions, and has just done so.

use acpd_model::{ErrorCode, EventKind, Failure, SessionEvent};
use acpd_policy::{Effect as Ruled, Form, Request};

use super::path_lookup::names_paths;
use super::policy::ruling;
use super::{Approvals, NextStep};
use crate::projection::Live;
use crate::thread::callback::RUN_COMMAND;
use crate::thread::effect::{Effect, UserLine, Waiter};
use crate::thread::journal::Journal;

impl Approvals {
    /// Decides about a command line, or first resolves its paths.
    pub fn evaluate_line(&self, journal: &mut Journal, wanted: UserLine) -> NextStep {
        let request = self.line_request(journal.live(), &wanted.line);
        let layers = self.layers(journal.live());
        if layers.is_empty() || !names_paths(&request) {
            return self.decide_line(journal, wanted, &request);
        }
        let paths = layers.paths(&request);
        let waiter = Waiter::UserCommand(Box::new(wanted));
        journal.push(Effect::Resolve { waiter, paths });
        NextStep::Wait
    }

    pub(super) fn line_request(&self, live: &Live, line: &str) -> Request {
        let (cwd, workspace) = (live.spec.session_cwd(), &live.spec.cwd);
        self.at_home(Request::terminal(
            line,
            &[],
            Form::Line,
            &[],
            Some(cwd),
            workspace,
        ))
    }

    /// Decides about a command line. A denial is recorded, with the rule and the client.
    pub(super) fn decide_line(&self, journal: &mut Journal, wanted: UserLine, request: &Request) -> NextStep {
        let decision = self.layers(journal.live()).decide(request);
        if decision.effect == Ruled::Deny {
            let kind = EventKind::Session(SessionEvent::CallRefused {
                method: RUN_COMMAND.to_owned(),
                reason: decision.reason.clone(),
                requested_by: wanted.by.into_client(),
            });
            journal.emit(ruling(&decision), kind, None);
            let message = format!("not allowed here: {}", decision.reason);
            journal.reply(wanted.call, Err(Failure::new(ErrorCode::Forbidden, message)));
            return NextStep::Wait;
        }
        let is_ruled = decision.effect == Ruled::Allow && decision.scope.is_some();
        NextStep::RunLine {
            wanted,
            permitted: is_ruled.then(|| Box::new(decision)),
        }
    }
}
