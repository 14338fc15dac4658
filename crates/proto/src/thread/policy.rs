//! The permission policy at work: what it decides about an agent's question, and about a file or a command that the
//! agent wants without having asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_model::event::{Always, Outcome, PermissionOption, QuestionTopic, Ruling};
use acpd_model::limits::GRANTS;
use acpd_model::{ErrorCode, EventKind, Failure, OptionKind, Origin, PreviousContent, RawJson, RequestId};
use serde_json::json;

use super::command::{Answer, Effect, Reply, Sight, Waiter};
use super::delegated::Responder;
use super::grants::{Coverage, Grant, use_up};
use super::shown::subjects;
use super::thread::Thread;
use crate::agent::Call;
use crate::projection::{is_computed, unified_diff};
use acpd_policy::{
    Decision, Effect as Ruled, Form, Layers, List, Policy, Remembered, RememberedRule, Request, ShownChange,
    Subject, shell_line,
};

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

/// A call that waits for a person, although the agent did not ask.
#[derive(Debug)]
pub(super) struct QueuedCall {
    pub call: u64,
    pub request: Call,
    /// Where its file really is.
    pub at: Option<String>,
}

/// The answers to a question of our own: "always" only where that can be remembered.
fn own_options(always: &Always) -> Vec<PermissionOption> {
    let options = [
        ("allow", "Allow once", "allow_once"),
        ("allow-always", "Always allow", "allow_always"),
        ("refuse", "Reject", "reject_once"),
        ("refuse-always", "Always reject", "reject_always"),
    ]
    .map(|(id, name, kind)| PermissionOption {
        option_id: id.to_owned(),
        name: name.to_owned(),
        kind: kind.to_owned(),
    });
    let offered = |option: &PermissionOption| {
        matches!(always, Always::Holds(_))
            || !OptionKind::read(&option.kind).is_some_and(OptionKind::is_always)
    };
    options.into_iter().filter(offered).collect()
}

/// Who decided, if a policy did.
fn ruling(decision: &Decision) -> Origin {
    Origin::Policy(Box::new(Ruling {
        scope: decision.scope.map(|scope| scope.name().to_owned()),
        rule: decision.rule.clone(),
        reason: decision.reason.clone(),
    }))
}

impl Thread {
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

    pub(super) fn layers(&self) -> Layers<'_> {
        Layers {
            daemon: self.policies.daemon.as_ref(),
            agent: self.policies.agent.as_ref(),
            thread: self.journal.live().policy.as_ref(),
            remembered: vec![&self.journal.live().remembered, &self.policies.answers],
        }
    }

    fn at_home(&self, request: Request) -> Request {
        match &self.policies.home {
            Some(home) => request.with_home(home),
            None => request,
        }
    }

    /// What an ACP tool call comes to.
    pub(super) fn tool_request(&self, tool_call: &RawJson) -> Request {
        let spec = &self.journal.live().spec;
        self.at_home(Request::from_tool_call_in(
            tool_call,
            &spec.cwd,
            spec.session_cwd(),
        ))
    }

    /// Which decision the policy would make about an ACP tool call, and every rule that has a say. `None`: it is
    /// answered when it is known where its paths lead.
    pub(super) fn explain(
        &mut self,
        call: u64,
        tool_call: RawJson,
        sight: Sight,
    ) -> Option<Result<Reply, Failure>> {
        let request = self.tool_request(&tool_call);
        let paths = self.layers().paths(&request);
        if paths.is_empty() {
            return Some(Ok(self.explanation(&request)));
        }
        let waiter = Waiter::Explain {
            call,
            tool_call,
            sight,
        };
        self.journal.push(Effect::Resolve { waiter, paths });
        None
    }

    pub(super) fn explanation(&self, request: &Request) -> Reply {
        Reply::Explained(Box::new(self.layers().explain(request)))
    }

    pub(super) fn set_policy(&mut self, by: Origin, policy: Option<RawJson>) -> Result<Reply, Failure> {
        if let Some(policy) = &policy {
            let read = policy.read::<Policy>();
            read.map_err(|error| Failure::invalid_params(format!("that is no policy: {error}")))?;
        }
        self.grants.clear();
        self.journal.emit(by, EventKind::PolicySet { policy }, None);
        Ok(Reply::Done)
    }

    /// The policy's answer to a question of the agent's, if it has one and the agent offers it.
    pub(super) fn decide_question(
        &self,
        request: &Request,
        options: &[PermissionOption],
    ) -> Option<(Origin, Outcome)> {
        let decision = self.layers().decide(request);
        let answer = match decision.effect {
            Ruled::Ask => return None,
            Ruled::Allow => Answer::Accept { always: false },
            Ruled::Deny => Answer::Decline { always: false },
        };
        let outcome = super::questions::choose(options, &answer).ok()?;
        Some((ruling(&decision), outcome))
    }

    /// What becomes of a file or a command that the agent wants without having asked. Where no policy says anything
    /// it goes ahead, as it does in an editor.
    /// `old` is what a file that is written holds, if it was read.
    pub(super) fn check_policy(
        &mut self,
        call: &Call,
        request: &Request,
        old: Option<&PreviousContent>,
    ) -> PolicyCheck {
        if let Call::ReadFile { .. } = call {
            return self.check_read_policy(call, request);
        }
        let decision = self.layers().decide(request);
        match decision.effect {
            _ if decision.scope.is_none() => PolicyCheck::Allow,
            Ruled::Allow => {
                let kind = EventKind::CallPermitted {
                    method: call.method().to_owned(),
                    subject: decision.subject.clone(),
                };
                self.journal.emit(ruling(&decision), kind, None);
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
    fn check_read_policy(&mut self, call: &Call, request: &Request) -> PolicyCheck {
        let explained = self.layers().explain(request).subjects;
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

    /// What a call comes to; `None` for one that nobody decides on.
    pub(super) fn policy_request(&self, call: &Call) -> Option<Request> {
        let cwd = &self.journal.live().spec.cwd;
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
                let at = at.as_deref().unwrap_or(self.journal.live().spec.session_cwd());
                let form = match self.responder(call) {
                    Responder::Daemon => self.command_form(),
                    Responder::Editor(_) | Responder::Lost => Form::Unknown,
                };
                Request::terminal(command, args, form, env, Some(at), cwd)
            }
            _ => return None,
        };
        Some(self.at_home(request))
    }

    pub(super) fn refuse_by_policy(&mut self, call: u64, request: &Call, decision: &Decision) {
        let kind = EventKind::CallRefused {
            method: request.method().to_owned(),
            reason: decision.reason.clone(),
        };
        self.journal.emit(ruling(decision), kind, None);
        let failure = Failure::new(
            ErrorCode::Forbidden,
            format!("not allowed here: {}", decision.reason),
        );
        self.refuse_call(call, &failure);
    }

    /// Has a person decide about a call that the agent makes without having asked. `old` is what a file that is written holds.
    pub(super) fn ask_person(
        &mut self,
        call: u64,
        request: Call,
        mut wanted: Request,
        at: Option<String>,
        old: &PreviousContent,
    ) {
        // Who decides on a name should know what it stands for.
        let place = match wanted.subjects() {
            [
                _,
                Subject::File {
                    path: Some(place), ..
                },
            ] => format!(", which is {place}"),
            _ => String::new(),
        };
        let (about, title, tool_call) = match &request {
            Call::ReadFile { path, .. } => {
                let call = json!({ "kind": "read", "locations": [{ "path": path }] });
                (QuestionTopic::Permissions, format!("Read {path}{place}"), call)
            }
            Call::WriteFile { path, content } => {
                wanted.show_changes(&[ShownChange {
                    path,
                    old: old.text(),
                    new: content,
                    diff: unified_diff(path, old, content),
                    is_complete: is_computed(old, content),
                }]);
                let diff = json!([{ "type": "diff", "path": path, "newText": content }]);
                let call = json!({ "kind": "edit", "locations": [{ "path": path }], "content": diff });
                (QuestionTopic::FileChange, format!("Write {path}{place}"), call)
            }
            Call::CreateTerminal {
                command,
                args,
                cwd,
                env,
                ..
            } => {
                let title = format!("Run {}", shell_line(command, args.iter().map(String::as_str)));
                let mut argv = vec![command.clone()];
                argv.extend(args.iter().cloned());
                let env: Vec<_> = env
                    .iter()
                    .map(|(name, value)| json!({ "name": name, "value": value }))
                    .collect();
                let call =
                    json!({ "kind": "execute", "rawInput": { "command": argv, "cwd": cwd, "env": env } });
                (QuestionTopic::CommandExecution, title, call)
            }
            _ => return,
        };
        let number = self.journal.live().last_request + 1;
        let always = self.always(&wanted);
        self.queued_calls.insert(number, QueuedCall { call, request, at });
        let kind = EventKind::PermissionRequested {
            request: RequestId {
                thread: self.journal.live().thread,
                number,
            },
            item: None,
            about,
            title,
            options: own_options(&always).into(),
            decided: false,
            agent_remembers: Box::default(),
            subjects: subjects(&mut wanted).into(),
            always: Some(Box::new(always)),
            whole: None,
            keeps_content: false,
        };
        self.question_requests.insert(number, wanted);
        let raw = json!({ "toolCall": tool_call }).into();
        self.journal.emit(Origin::Daemon, kind, Some(raw));
        self.cancel_if_interrupted(number);
        self.journal.note_status();
    }

    /// What follows from an answer: a call that was held goes on or is refused, and what was allowed is known.
    pub(super) fn apply_answer(&mut self, number: u32, outcome: &Outcome) {
        // A yes to a question of our own is for that one call.
        if outcome.allows()
            && !self.queued_calls.contains_key(&number)
            && let Some(request) = self.question_requests.get(&number)
            && self.grants.len() < GRANTS
        {
            self.grants.push(Grant::of(request));
        }
        self.question_requests.remove(&number);
        let Some(QueuedCall { call, request, at }) = self.queued_calls.remove(&number) else {
            return;
        };
        if outcome.allows() {
            self.run_call(call, request, at);
        } else {
            let failure = Failure::new(ErrorCode::Forbidden, "it was not allowed");
            self.refuse_call(call, &failure);
        }
    }

    /// Nobody decides any more about what is held.
    pub(super) fn drop_queued_call(&mut self, number: u32, reason: &str) {
        self.question_requests.remove(&number);
        if let Some(QueuedCall { call, .. }) = self.queued_calls.remove(&number) {
            let failure = Failure::new(ErrorCode::Forbidden, reason.to_owned());
            self.refuse_call(call, &failure);
        }
    }
}
