//! The permission policy: which rules apply, and what they say about a request.

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_model::event::{Outcome, PermissionOption, Ruling};
use acpd_model::{EventKind, Failure, Origin, PreviousContent, RawJson};
use acpd_policy::{
    Decision, Effect as Ruled, Form, Layers, List, Policy, Remembered, RememberedRule, Request,
};

use super::Approvals;
use super::answers::choose;
use super::grants::{Coverage, use_up};
use crate::agent::Call;
use crate::projection::Live;
use crate::thread::command::{Answer, Effect, Reply, Sight, Waiter};
use crate::thread::journal::Journal;

/// The policies of the configuration that hold for a thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policies {
    /// For every thread.
    pub daemon: Option<Policy>,
    /// For every thread of this agent.
    pub agent: Option<Policy>,
    /// Answers that hold for every thread of this agent.
    pub answers: Arc<Remembered>,
    /// The directory that `~` in a rule stands for.
    pub home: Option<String>,
}

/// What the policy makes of a call that comes without a question.
pub(super) enum PolicyCheck {
    Allow,
    /// It depends on what the file holds now.
    Compare,
    Ask,
    Deny(Box<Decision>),
}

/// Who decided, if a policy did.
pub(super) fn ruling(decision: &Decision) -> Origin {
    Origin::Policy(Box::new(Ruling {
        scope: decision.scope.map(|scope| scope.name().to_owned()),
        rule: decision.rule.clone(),
        reason: decision.reason.clone(),
    }))
}

impl Approvals {
    /// The policies of the configuration from now on.
    pub fn set_policies(&mut self, policies: Arc<Policies>) {
        let before = std::mem::replace(&mut self.policies, policies);
        let now = &self.policies;
        // One more answer takes nothing back of what was allowed in this turn.
        let known: BTreeMap<u64, &RememberedRule> =
            now.answers.iter().map(|answer| (answer.id, answer)).collect();
        let taken_back = before
            .answers
            .iter()
            .any(|answer| known.get(&answer.id) != Some(&answer));
        if taken_back || (&before.daemon, &before.agent) != (&now.daemon, &now.agent) {
            self.grants.clear();
        }
    }

    pub(super) fn layers<'a>(&'a self, live: &'a Live) -> Layers<'a> {
        Layers {
            daemon: self.policies.daemon.as_ref(),
            agent: self.policies.agent.as_ref(),
            thread: live.policy.as_ref(),
            remembered: vec![&live.remembered, &self.policies.answers],
        }
    }

    fn at_home(&self, request: Request) -> Request {
        match &self.policies.home {
            Some(home) => request.with_home(home),
            None => request,
        }
    }

    /// What an ACP tool call comes to.
    pub(super) fn tool_request(&self, live: &Live, tool_call: &RawJson) -> Request {
        let spec = &live.spec;
        self.at_home(Request::from_tool_call_in(
            tool_call,
            &spec.cwd,
            spec.session_cwd(),
        ))
    }

    /// Replies with the decision that the policy would make about an ACP tool call, and every rule that has a say: at once, or once
    /// the call's paths are resolved.
    pub fn explain(&self, journal: &mut Journal, call: u64, tool_call: RawJson, sight: Sight) {
        let request = self.tool_request(journal.live(), &tool_call);
        let paths = self.layers(journal.live()).paths(&request);
        if paths.is_empty() {
            let explained = self.explanation(journal.live(), &request);
            return journal.reply(call, Ok(explained));
        }
        let waiter = Waiter::Explain {
            call,
            tool_call,
            sight,
        };
        journal.push(Effect::Resolve { waiter, paths });
    }

    pub(super) fn explanation(&self, live: &Live, request: &Request) -> Reply {
        Reply::Explained(Box::new(self.layers(live).explain(request)))
    }

    /// Gives the thread a policy of its own, or takes it away.
    pub fn set_policy(
        &mut self,
        journal: &mut Journal,
        by: Origin,
        policy: Option<RawJson>,
    ) -> Result<Reply, Failure> {
        if let Some(policy) = &policy {
            let read = policy.read::<Policy>();
            read.map_err(|error| Failure::invalid_params(format!("that is no policy: {error}")))?;
        }
        self.grants.clear();
        journal.emit(by, EventKind::PolicySet { policy }, None);
        Ok(Reply::Done)
    }

    /// The policy's answer to a question of the agent's, if it has one and the agent offers it.
    pub(super) fn decide_question(
        &self,
        live: &Live,
        request: &Request,
        options: &[PermissionOption],
    ) -> Option<(Origin, Outcome)> {
        let decision = self.layers(live).decide(request);
        let answer = match decision.effect {
            Ruled::Ask => return None,
            Ruled::Allow => Answer::Accept { always: false },
            Ruled::Deny => Answer::Decline { always: false },
        };
        let outcome = choose(options, &answer).ok()?;
        Some((ruling(&decision), outcome))
    }

    /// What becomes of a file or a command that the agent wants without having asked. Where no policy says anything
    /// it goes ahead, as it does in an editor.
    /// `old` is what a file that is written holds, if it was read.
    pub(super) fn check_policy(
        &mut self,
        journal: &mut Journal,
        call: &Call,
        request: &Request,
        old: Option<&PreviousContent>,
    ) -> PolicyCheck {
        if let Call::ReadFile { .. } = call {
            return self.check_read_policy(journal.live(), call, request);
        }
        let decision = self.layers(journal.live()).decide(request);
        match decision.effect {
            _ if decision.scope.is_none() => PolicyCheck::Allow,
            Ruled::Allow => {
                let kind = EventKind::CallPermitted {
                    method: call.method().to_owned(),
                    subject: decision.subject.clone(),
                };
                journal.emit(ruling(&decision), kind, None);
                PolicyCheck::Allow
            }
            Ruled::Ask => match use_up(&mut self.grants, call, request, old) {
                Coverage::Full => PolicyCheck::Allow,
                Coverage::Depends => PolicyCheck::Compare,
                Coverage::None => PolicyCheck::Ask,
            },
            Ruled::Deny => PolicyCheck::Deny(Box::new(decision)),
        }
    }

    /// A read changes nothing and agents read a lot, so that it takes a rule that is about it to stop one: a default
    /// does not.
    fn check_read_policy(&mut self, live: &Live, call: &Call, request: &Request) -> PolicyCheck {
        let explained = self.layers(live).explain(request).subjects;
        let by_rule = |effect| {
            let decisions = explained.iter().map(|subject| &subject.decision);
            let stops = |decision: &&Decision| matches!(decision.list, Some(List::Deny | List::Ask));
            decisions.filter(stops).find(|decision| decision.effect == effect)
        };
        if let Some(decision) = by_rule(Ruled::Deny) {
            return PolicyCheck::Deny(Box::new(decision.clone()));
        }
        if by_rule(Ruled::Ask).is_some() && use_up(&mut self.grants, call, request, None) != Coverage::Full {
            return PolicyCheck::Ask;
        }
        PolicyCheck::Allow
    }

    /// Returns what a call asks for; `None` if no policy decides about it. `form` says how a command without arguments is run.
    pub(super) fn call_request(&self, live: &Live, call: &Call, form: Form) -> Option<Request> {
        let cwd = &live.spec.cwd;
        let request = match call {
            Call::ReadFile { path, .. } => Request::read_file(path, cwd),
            Call::WriteFile { path, .. } => Request::write_file(path, cwd),
            Call::CreateTerminal {
                command,
                args,
                env,
                cwd: at,
                ..
            } => {
                let at = at.as_deref().unwrap_or(live.spec.session_cwd());
                Request::terminal(command, args, form, env, Some(at), cwd)
            }
            _ => return None,
        };
        Some(self.at_home(request))
    }
}
