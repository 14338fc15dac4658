//! Remembered answers. For the session and the thread they are events of the thread. For all threads of the agent
//! they are stored outside of the thread, and the outcome is an event here. If the daemon remembers an answer, the
//! agent gets the "once" option. So the answer can be seen and revoked in a single place.

use std::collections::BTreeSet;

use acpd_model::event::{Always, Level, Outcome, PermissionOption};
use acpd_model::{EventKind, Failure, Origin, RawJson, RequestEvent, ThreadEvent};
use acpd_policy::{Policy, RememberedRule, Request, Scope};

use super::{Approvals, Waiting};
use crate::projection::Live;
use crate::thread::effect::{Effect, RememberedChange, RememberedOutcome};
use crate::thread::journal::Journal;
use crate::thread::reply::Reply;

impl Approvals {
    /// Returns the remembered answers.
    pub fn remembered(&self, live: &Live) -> Reply {
        let own = live.remembered.iter();
        Reply::Remembered(own.chain(self.policies.answers.iter()).cloned().collect())
    }

    /// Revokes a remembered answer. The reply follows when that is durable.
    pub fn revoke(&mut self, journal: &mut Journal, call: u64, by: Origin, id: u64) {
        if self.policies.answers.iter().any(|rule| rule.id == id) {
            let order = RememberedChange::Revoke { call, id };
            return journal.push(Effect::ChangeRemembered { by, order });
        }
        if journal.live().remembered.iter().all(|rule| rule.id != id) {
            return journal.reply(call, Err(Failure::not_found(format!("remembered answer {id}"))));
        }
        self.grants.clear();
        journal.emit(by, EventKind::Request(RequestEvent::AnswerRevoked { id }), None);
        journal.reply(call, Ok(Reply::Done));
    }

    /// Remembers an answer: for the session, or for the scope that the user chose.
    pub(super) fn remember(
        &self,
        journal: &mut Journal,
        by: &Origin,
        number: u32,
        outcome: &Outcome,
        scope: Option<Scope>,
    ) {
        let says_nothing = !outcome.allows() && !outcome.refuses();
        if says_nothing || !outcome.is_always() && scope.is_none() {
            return;
        }
        let Some(question) = self.questions.get(&number) else {
            return;
        };
        let Some(request) = &question.request else {
            return;
        };
        let allow = outcome.allows();
        let scope = match scope.unwrap_or(Scope::Session) {
            Scope::Agent => {
                let order = RememberedChange::Remember {
                    request: Box::new(request.clone()),
                    allow,
                };
                let by = by.clone();
                return journal.push(Effect::ChangeRemembered { by, order });
            }
            Scope::Daemon => return,
            here => here,
        };
        let known: BTreeSet<u64> = journal.live().remembered.iter().map(|rule| rule.id).collect();
        let mut remembered = journal.live().remembered.clone();
        if let Err(error) = remembered.remember(request, allow, scope) {
            let told_always = outcome.is_always()
                && matches!(
                    outcome,
                    Outcome::Selected {
                        sent_option_id: None,
                        ..
                    }
                );
            let then = if told_always && matches!(question.waiting, Waiting::Agent(_)) {
                "the agent may remember this answer itself"
            } else {
                "the answer holds this once"
            };
            return not_remembered(journal, &format!("{error}; {then}"));
        }
        for rule in remembered.iter().filter(|rule| !known.contains(&rule.id)) {
            note_remembered(journal, by, rule);
        }
    }

    /// Handles the outcome of a change to the agent-wide remembered answers.
    pub fn remembered_changed(&mut self, journal: &mut Journal, by: Origin, outcome: RememberedOutcome) {
        match outcome {
            RememberedOutcome::Remembered(Ok(rules)) => {
                for rule in rules {
                    note_remembered(journal, &by, &rule);
                }
            }
            RememberedOutcome::Remembered(Err(failure)) => not_remembered(journal, &failure.message),
            RememberedOutcome::Revoked { call, id, result } => {
                if result.is_ok() {
                    self.grants.clear();
                    journal.emit(by, EventKind::Request(RequestEvent::AnswerRevoked { id }), None);
                }
                let result = result.map(|()| Reply::Done);
                journal.reply(call, result);
            }
        }
    }
}

fn note_remembered(journal: &mut Journal, by: &Origin, rule: &RememberedRule) {
    if let Ok(answer) = RawJson::of(rule) {
        let kind = EventKind::Request(RequestEvent::AnswerRemembered { answer });
        journal.emit(by.clone(), kind, None);
    }
}

fn not_remembered(journal: &mut Journal, why: &str) {
    let message = format!("answer not remembered: {why}");
    journal.notice(Level::Info, "notRemembered", &message);
}

/// Returns the option of this kind, if there is exactly one.
fn only<'a>(options: &'a [PermissionOption], kind: &str) -> Option<&'a PermissionOption> {
    let mut found = options.iter().filter(|option| option.kind == kind);
    found.next().filter(|_| found.next().is_none())
}

/// Returns the always-options that are passed to the agent unchanged: the daemon cannot remember the answer itself,
/// or there is not exactly one "once" option.
pub(super) fn agent_remembers(always: &Always, options: &[PermissionOption]) -> Vec<String> {
    let is_kept = |once| matches!(always, Always::Holds(_)) && only(options, once).is_some();
    let passed_on = options.iter().filter(|option| match option.kind.as_str() {
        "allow_always" => !is_kept("allow_once"),
        "reject_always" => !is_kept("reject_once"),
        _ => false,
    });
    passed_on.map(|option| option.option_id.clone()).collect()
}

/// Returns the outcome of a question as the agent receives it. An "always" becomes "once", unless the user was shown
/// that the agent remembers it.
pub(super) fn sent_as_once(question: &EventKind, mut outcome: Outcome) -> Outcome {
    if let EventKind::Request(RequestEvent::PermissionRequested {
        item: Some(_),
        options,
        agent_remembers,
        ..
    }) = question
        && let Outcome::Selected {
            option_id,
            kind,
            sent_option_id,
        } = &mut outcome
        && !agent_remembers.contains(option_id)
    {
        let once = match kind.as_str() {
            "allow_always" => only(options, "allow_once"),
            "reject_always" => only(options, "reject_once"),
            _ => None,
        };
        *sent_option_id = once.map(|once| once.option_id.clone());
    }
    outcome
}

/// Replaces the thread's own policy and remembered answers with those of the thread that it is forked from.
pub(in crate::thread) fn adopt_rules(
    journal: &mut Journal,
    policy: Option<Policy>,
    remembered: &[RememberedRule],
) {
    if journal.live().policy != policy {
        let policy = policy.and_then(|policy| RawJson::of(&policy).ok());
        journal.emit_in(
            None,
            Origin::Daemon,
            EventKind::Thread(ThreadEvent::PolicySet { policy }),
            None,
        );
    }
    let had: Vec<RememberedRule> = journal.live().remembered.iter().cloned().collect();
    for rule in had.iter().filter(|rule| !remembered.contains(rule)) {
        let kind = EventKind::Request(RequestEvent::AnswerRevoked { id: rule.id });
        journal.emit_in(None, Origin::Daemon, kind, None);
    }
    for rule in remembered.iter().filter(|rule| !had.contains(rule)) {
        if let Ok(answer) = RawJson::of(rule) {
            journal.emit_in(
                None,
                Origin::Daemon,
                EventKind::Request(RequestEvent::AnswerRemembered { answer }),
                None,
            );
        }
    }
}

/// Returns what "always" means as an answer to `request`. An answer to a subagent is a rule of the thread, as any other: unlike a
/// permission, it applies to all agents in it.
pub(super) fn always(journal: &Journal, request: &Request) -> Always {
    let remembered = &journal.live().remembered;
    match remembered.would_hold_for(request, Scope::Session) {
        Ok(what) if journal.lane().is_some() => Always::Holds(format!("{what} by any agent of this thread")),
        Ok(what) => Always::Holds(what),
        Err(error) => Always::NotRemembered(error.to_string()),
    }
}
