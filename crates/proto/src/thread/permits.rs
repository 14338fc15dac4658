//! The permission policy at work: what it decides about an agent's question, and about a file or a command that the
//! agent wants without having asked.

use std::sync::Arc;

use acpd_model::event::{AskAbout, Level, Outcome, PermissionOption, Ruling};
use acpd_model::limits::GRANTS;
use acpd_model::{By, ErrorCode, EventKind, Failure, RawJson, RequestId};
use serde_json::json;

use super::command::{Answer, Reply};
use super::steps::Thread;
use crate::agent::Call;
use crate::policy::{Decision, Effect as Ruled, Layers, Policy, Request, Scope};

/// The policies of the configuration that hold for a thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policies {
    /// For every thread.
    pub daemon: Option<Policy>,
    /// For every thread of this agent.
    pub agent: Option<Policy>,
    /// The directory that `~` in a rule stands for.
    pub home: Option<String>,
}

/// What the policy makes of a call that comes without a question.
pub(super) enum Permit {
    Yes,
    Ask,
    No(Box<Decision>),
}

/// A call that waits for a person, although the agent did not ask.
#[derive(Debug)]
pub(super) struct Held {
    pub call: u64,
    pub request: Call,
}

/// The answers to a question of our own.
fn own_options() -> Vec<PermissionOption> {
    [
        ("allow", "Allow", "allow_once"),
        ("allow-always", "Always allow", "allow_always"),
        ("refuse", "Refuse", "reject_once"),
        ("refuse-always", "Always refuse", "reject_always"),
    ]
    .map(|(id, name, kind)| PermissionOption {
        option_id: id.to_owned(),
        name: name.to_owned(),
        kind: kind.to_owned(),
    })
    .into()
}

/// Who decided, if a policy did.
fn ruling(decision: &Decision) -> By {
    By::Policy(Box::new(Ruling {
        scope: decision.scope.map(|scope| scope.name().to_owned()),
        rule: decision.rule.clone(),
        reason: decision.reason.clone(),
    }))
}

impl Thread {
    /// The policies of the configuration from now on.
    pub fn set_policies(&mut self, policies: Arc<Policies>) {
        self.policies = policies;
        self.granted.clear();
    }

    fn layers(&self) -> Layers<'_> {
        Layers {
            daemon: self.policies.daemon.as_ref(),
            agent: self.policies.agent.as_ref(),
            thread: self.live.policy.as_ref(),
            remembered: vec![&self.live.remembered],
        }
    }

    fn at_home(&self, request: Request) -> Request {
        match &self.policies.home {
            Some(home) => request.with_home(home),
            None => request,
        }
    }

    /// Which decision the policy would make about an ACP tool call, and every rule that has a say.
    pub(super) fn explain(&self, tool_call: &RawJson) -> Result<Reply, Failure> {
        let request = self.at_home(Request::from_tool_call(tool_call, &self.live.spec.cwd));
        let explanation = self.layers().explain(&request);
        let json = RawJson::of(&explanation).map_err(|error| {
            Failure::new(
                ErrorCode::Internal,
                format!("the decision cannot be told: {error}"),
            )
        })?;
        Ok(Reply::Json(json))
    }

    pub(super) fn set_policy(&mut self, by: By, policy: Option<RawJson>) -> Result<Reply, Failure> {
        if let Some(policy) = &policy {
            let read = policy.read::<Policy>();
            read.map_err(|error| Failure::invalid_params(format!("that is no policy: {error}")))?;
        }
        self.granted.clear();
        self.emit(self.current_turn(), by, EventKind::PolicySet { policy }, None);
        Ok(Reply::Done)
    }

    /// The answers that hold.
    pub(super) fn remembered(&self) -> Reply {
        let rules: Vec<_> = self.live.remembered.iter().collect();
        Reply::Json(json!({ "data": rules }).into())
    }

    pub(super) fn revoke(&mut self, by: By, id: u64) -> Result<Reply, Failure> {
        if self.live.remembered.iter().all(|rule| rule.id != id) {
            return Err(Failure::not_found(format!("remembered answer {id}")));
        }
        self.granted.clear();
        self.emit(self.current_turn(), by, EventKind::AnswerRevoked { id }, None);
        Ok(Reply::Done)
    }

    /// The policy's answer to the agent's question `number`, if it has one and the agent offers it.
    pub(super) fn rule_on(
        &mut self,
        number: u32,
        tool_call: &RawJson,
        options: &[PermissionOption],
    ) -> Option<(By, Outcome)> {
        let request = self.at_home(Request::from_tool_call(tool_call, &self.live.spec.cwd));
        let decision = self.layers().decide(&request);
        self.questions.insert(number, request);
        let answer = match decision.effect {
            Ruled::Ask => return None,
            Ruled::Allow => Answer::Accept { always: false },
            Ruled::Deny => Answer::Decline { always: false },
        };
        let outcome = super::requests::choose(options, &answer).ok()?;
        Some((ruling(&decision), outcome))
    }

    /// What becomes of a file or a command that the agent wants without having asked. Where no policy says anything
    /// it goes ahead, as it does in an editor.
    pub(super) fn permit(&mut self, call: &Call) -> Permit {
        let Some((method, request)) = self.wanted(call) else {
            return Permit::Yes;
        };
        let decision = self.layers().decide(&request);
        match decision.effect {
            _ if decision.scope.is_none() => Permit::Yes,
            Ruled::Ask if self.is_granted(call, &request) => Permit::Yes,
            Ruled::Allow => {
                let kind = EventKind::CallPermitted {
                    method: method.to_owned(),
                    subject: decision.subject.clone(),
                };
                self.emit(self.current_turn(), ruling(&decision), kind, None);
                Permit::Yes
            }
            Ruled::Ask => Permit::Ask,
            Ruled::Deny => Permit::No(Box::new(decision)),
        }
    }

    fn wanted(&self, call: &Call) -> Option<(&'static str, Request)> {
        let cwd = &self.live.spec.cwd;
        let (method, request) = match call {
            Call::WriteFile { path, .. } => ("fs/write_text_file", Request::write_file(path, cwd)),
            Call::CreateTerminal {
                command,
                args,
                env,
                cwd: at,
                ..
            } => (
                "terminal/create",
                Request::terminal(command, args, env, at.as_deref(), cwd),
            ),
            _ => return None,
        };
        Some((method, self.at_home(request)))
    }

    /// Whether the agent asked for all of `request` in this turn and was allowed. What cannot be told for certain,
    /// and a command in another place or with variables of its own, is none of it.
    fn is_granted(&self, call: &Call, request: &Request) -> bool {
        if let Call::CreateTerminal { env, cwd, .. } = call {
            let here = cwd.as_ref().is_none_or(|cwd| *cwd == self.live.spec.cwd);
            if !env.is_empty() || !here {
                return false;
            }
        }
        let granted = |subject| {
            self.granted
                .iter()
                .any(|grant| grant.subjects().contains(subject))
        };
        let subjects = request.subjects();
        !subjects.is_empty()
            && subjects
                .iter()
                .all(|subject| subject.is_certain() && granted(subject))
    }

    pub(super) fn refuse_by_policy(&mut self, call: u64, request: &Call, decision: &Decision) {
        let method = match request {
            Call::WriteFile { .. } => "fs/write_text_file",
            _ => "terminal/create",
        };
        let kind = EventKind::CallRefused {
            method: method.to_owned(),
            reason: decision.reason.clone(),
        };
        self.emit(self.current_turn(), ruling(decision), kind, None);
        let failure = Failure::new(
            ErrorCode::Forbidden,
            format!("not allowed here: {}", decision.reason),
        );
        self.refuse_call(call, &failure);
    }

    /// Has a person decide about a call that the agent makes without having asked.
    pub(super) fn ask_first(&mut self, call: u64, request: Call) {
        let Some((_, wanted)) = self.wanted(&request) else {
            return;
        };
        let (about, title, tool_call) = match &request {
            Call::WriteFile { path, content } => {
                let diff = json!([{ "type": "diff", "path": path, "newText": content }]);
                let call = json!({ "kind": "edit", "locations": [{ "path": path }], "content": diff });
                (AskAbout::FileChange, format!("Write {path}"), call)
            }
            Call::CreateTerminal {
                command,
                args,
                cwd,
                env,
                ..
            } => {
                let mut argv = vec![command.clone()];
                argv.extend(args.iter().cloned());
                let title = format!("Run {}", argv.join(" "));
                let env: Vec<_> = env
                    .iter()
                    .map(|(name, value)| json!({ "name": name, "value": value }))
                    .collect();
                let call =
                    json!({ "kind": "execute", "rawInput": { "command": argv, "cwd": cwd, "env": env } });
                (AskAbout::CommandExecution, title, call)
            }
            _ => return,
        };
        let number = self.live.last_request + 1;
        self.questions.insert(number, wanted);
        self.held.insert(number, Held { call, request });
        let kind = EventKind::PermissionRequested {
            request: RequestId {
                thread: self.live.thread,
                number,
            },
            item: None,
            about,
            title,
            options: own_options(),
            decided: false,
        };
        let raw = json!({ "toolCall": tool_call }).into();
        self.emit(self.current_turn(), By::Daemon, kind, Some(raw));
        self.asked_in_vain(number);
        self.note_status();
    }

    /// What follows from an answer: a call that was held goes on or is refused, and what was allowed is known.
    pub(super) fn answer_given(&mut self, number: u32, outcome: &Outcome) {
        // A yes to a question of our own is for that one call.
        if outcome.allows()
            && !self.held.contains_key(&number)
            && let Some(request) = self.questions.get(&number)
            && self.granted.len() < GRANTS
        {
            self.granted.push(request.clone());
        }
        self.questions.remove(&number);
        let Some(Held { call, request }) = self.held.remove(&number) else {
            return;
        };
        if outcome.allows() {
            self.do_call(call, request);
        } else {
            let failure = Failure::new(ErrorCode::Forbidden, "it was not allowed");
            self.refuse_call(call, &failure);
        }
    }

    /// Remembers an answer that is to hold: for the session, or for what the person says.
    pub(super) fn remember(&mut self, by: &By, number: u32, outcome: &Outcome, scope: Option<Scope>) {
        let always = matches!(outcome, Outcome::Selected { kind, .. } if kind.ends_with("_always"));
        if !always && scope.is_none() {
            return;
        }
        let Some(request) = self.questions.get(&number) else {
            return;
        };
        let scope = scope.unwrap_or(Scope::Session);
        let known = self.live.remembered.clone();
        let mut remembered = known.clone();
        let made = match scope {
            Scope::Session | Scope::Thread => remembered.remember(request, outcome.allows(), scope),
            Scope::Agent | Scope::Daemon => return,
        };
        if let Err(error) = made {
            return self.notice(Level::Info, "notRemembered", &error.to_string());
        }
        for rule in remembered
            .iter()
            .filter(|rule| known.iter().all(|k| k.id != rule.id))
        {
            if let Ok(answer) = RawJson::of(rule) {
                let kind = EventKind::AnswerRemembered { answer };
                self.emit(self.current_turn(), by.clone(), kind, None);
            }
        }
    }

    /// Nobody decides any more about what is held.
    pub(super) fn drop_held(&mut self, number: u32, reason: &str) {
        self.questions.remove(&number);
        if let Some(Held { call, .. }) = self.held.remove(&number) {
            let failure = Failure::new(ErrorCode::Forbidden, reason.to_owned());
            self.refuse_call(call, &failure);
        }
    }
}
