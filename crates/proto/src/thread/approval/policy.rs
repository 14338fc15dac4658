//! The permission policy: the rules that apply, and their decision about a request.

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_model::event::{Outcome, PermissionOption, Ruling};
use acpd_model::{EventKind, Failure, Origin, PreviousContent, RawJson, RequestEvent, ThreadEvent};
use acpd_policy::{
    Decision, Effect as Ruled, Form, Layers, List, Policy, Remembered, RememberedRule, Request,
};

use super::Approvals;
use super::answers::choose;
use super::grants::{Coverage, use_up};
use crate::agent::Call;
use crate::projection::Live;
use crate::thread::command::{Answer, Sight};
use crate::thread::effect::{Effect, Waiter};
use crate::thread::journal::Journal;
use crate::thread::reply::Reply;

/// The policies of the configuration that apply to a thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policies {
    /// The policy for every thread.
    pub daemon: Option<Policy>,
    /// The policy for every thread of this agent.
    pub agent: Option<Policy>,
    /// Remembered answers for every thread of this agent.
    pub answers: Arc<Remembered>,
    /// The directory that `~` in a rule stands for.
    pub home: Option<String>,
}

/// The policy's decision about a call that comes without a question.
pub(super) enum PolicyCheck {
    Allow,
    /// Depends on the current content of the file.
    Compare,
    Ask,
    Deny(Box<Decision>),
}

/// Returns the policy's decision as the origin of an event.
pub(in crate::thread) fn ruling(decision: &Decision) -> Origin {
    Origin::Policy(Box::new(Ruling {
        scope: decision.scope.map(|scope| scope.name().to_owned()),
        rule: decision.rule.clone(),
        reason: decision.reason.clone(),
    }))
}

impl Approvals {
    /// Replaces the policies of the configuration.
    pub fn set_policies(&mut self, policies: Arc<Policies>) {
        let before = std::mem::replace(&mut self.policies, policies);
        let now = &self.policies;
        // An additional answer does not revoke permissions of this turn.
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

    pub(super) fn at_home(&self, request: Request) -> Request {
        match &self.policies.home {
            Some(home) => request.with_home(home),
            None => request,
        }
    }

    /// Returns the request that an ACP tool call makes.
    pub(super) fn tool_request(&self, live: &Live, tool_call: &RawJson) -> Request {
        let spec = &live.spec;
        self.at_home(Request::from_tool_call_in(
            tool_call,
            &spec.cwd,
            spec.session_cwd(),
        ))
    }

    /// Replies with the decision that the policy would make about an ACP tool call, and all rules that apply. The
    /// reply is immediate, or follows when the call's paths are resolved.
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

    /// Sets the thread's own policy, or removes it.
    pub fn set_policy(
        &mut self,
        journal: &mut Journal,
        by: Origin,
        policy: Option<RawJson>,
    ) -> Result<Reply, Failure> {
        if let Some(policy) = &policy {
            let read = policy.read::<Policy>();
            read.map_err(|error| Failure::invalid_params(format!("invalid policy: {error}")))?;
        }
        self.grants.clear();
        journal.emit(by, EventKind::Thread(ThreadEvent::PolicySet { policy }), None);
        Ok(Reply::Done)
    }

    /// Returns the policy's answer to a question of the agent, if it has one and the agent offers a matching option.
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

    /// Decides about a file or a command that the agent uses without a permission request. Without any applicable
    /// policy it is allowed, as in an editor. `old` is the current content of a file to be written, if it was read.
    pub(super) fn check_policy(
        &mut self,
        journal: &mut Journal,
        call: &Call,
        request: &Request,
        old: Option<&PreviousContent>,
    ) -> PolicyCheck {
        if let Call::ReadFile { .. } = call {
            return self.check_read_policy(journal, call, request);
        }
        let decision = self.layers(journal.live()).decide(request);
        match decision.effect {
            _ if decision.scope.is_none() => PolicyCheck::Allow,
            Ruled::Allow => {
                let kind = EventKind::Request(RequestEvent::CallPermitted {
                    method: call.method().to_owned(),
                    subject: decision.subject.clone(),
                });
                journal.emit(ruling(&decision), kind, None);
                PolicyCheck::Allow
            }
            Ruled::Ask => match use_up(&mut self.grants, journal.lane(), call, request, old) {
                Coverage::Full => PolicyCheck::Allow,
                Coverage::Depends => PolicyCheck::Compare,
                Coverage::None => PolicyCheck::Ask,
            },
            Ruled::Deny => PolicyCheck::Deny(Box::new(decision)),
        }
    }

    /// Decides about a read. Only a rule that matches the read can stop it, not a default: a read changes nothing,
    /// and agents read a lot.
    fn check_read_policy(&mut self, journal: &Journal, call: &Call, request: &Request) -> PolicyCheck {
        let explained = self.layers(journal.live()).explain(request).subjects;
        let by_rule = |effect| {
            let decisions = explained.iter().map(|subject| &subject.decision);
            let stops = |decision: &&Decision| matches!(decision.list, Some(List::Deny | List::Ask));
            decisions.filter(stops).find(|decision| decision.effect == effect)
        };
        if let Some(decision) = by_rule(Ruled::Deny) {
            return PolicyCheck::Deny(Box::new(decision.clone()));
        }
        if by_rule(Ruled::Ask).is_some()
            && use_up(&mut self.grants, journal.lane(), call, request, None) != Coverage::Full
        {
            return PolicyCheck::Ask;
        }
        PolicyCheck::Allow
    }

    /// Returns the request that a call makes; `None` if no policy decides about it. `form` is how a command without
    /// arguments is run.
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
