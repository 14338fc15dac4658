//! Answers that hold: for the session and the thread they are events of the thread; for all threads of the agent they
//! are kept outside, and what became of them is an event here.

use acpd_model::event::{Level, Outcome};
use acpd_model::{By, EventKind, Failure, RawJson};
use serde_json::json;

use super::command::{AnswersOrder, AnswersOutcome, Effect, Reply};
use super::steps::Thread;
use crate::policy::{RememberedRule, Scope};

impl Thread {
    /// The answers that hold.
    pub(super) fn remembered(&self) -> Reply {
        let rules: Vec<_> = self
            .live
            .remembered
            .iter()
            .chain(self.policies.answers.iter())
            .collect();
        Reply::Json(json!({ "data": rules }).into())
    }

    /// Takes an answer back. `None`: it is answered when that is durable.
    pub(super) fn revoke(&mut self, call: u64, by: By, id: u64) -> Option<Result<Reply, Failure>> {
        if self.policies.answers.iter().any(|rule| rule.id == id) {
            let order = AnswersOrder::Revoke { call, id };
            self.effects.push(Effect::Answers { by, order });
            return None;
        }
        if self.live.remembered.iter().all(|rule| rule.id != id) {
            return Some(Err(Failure::not_found(format!("remembered answer {id}"))));
        }
        self.granted.clear();
        self.emit(self.current_turn(), by, EventKind::AnswerRevoked { id }, None);
        Some(Ok(Reply::Done))
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
        let allow = outcome.allows();
        let scope = match scope.unwrap_or(Scope::Session) {
            Scope::Agent => {
                let order = AnswersOrder::Remember {
                    request: Box::new(request.clone()),
                    allow,
                };
                let by = by.clone();
                return self.effects.push(Effect::Answers { by, order });
            }
            Scope::Daemon => return,
            here => here,
        };
        let known = self.live.remembered.clone();
        let mut remembered = known.clone();
        if let Err(error) = remembered.remember(request, allow, scope) {
            return self.not_remembered(&error.to_string());
        }
        for rule in remembered
            .iter()
            .filter(|rule| known.iter().all(|k| k.id != rule.id))
        {
            self.note_remembered(by, rule);
        }
    }

    /// What became of an answer that was to hold for the agent.
    pub(super) fn answers_changed(&mut self, by: By, outcome: AnswersOutcome) {
        match outcome {
            AnswersOutcome::Remembered(Ok(rules)) => {
                for rule in rules {
                    self.note_remembered(&by, &rule);
                }
            }
            AnswersOutcome::Remembered(Err(failure)) => self.not_remembered(&failure.message),
            AnswersOutcome::Revoked { call, id, result } => {
                if result.is_ok() {
                    self.granted.clear();
                    self.emit(self.current_turn(), by, EventKind::AnswerRevoked { id }, None);
                }
                let result = result.map(|()| Reply::Done);
                self.effects.push(Effect::Reply { call, result });
            }
        }
    }

    fn note_remembered(&mut self, by: &By, rule: &RememberedRule) {
        if let Ok(answer) = RawJson::of(rule) {
            let kind = EventKind::AnswerRemembered { answer };
            self.emit(self.current_turn(), by.clone(), kind, None);
        }
    }

    fn not_remembered(&mut self, why: &str) {
        self.notice(Level::Info, "notRemembered", why);
    }
}
