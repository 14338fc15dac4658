//! Questions to people.

use std::collections::BTreeSet;

use acpd_model::event::{Outcome, PermissionOption, QuestionTopic};
use acpd_model::item::ToolStatus;
use acpd_model::limits::QUESTION_OPTIONS;
use acpd_model::text::shorten;
use acpd_model::{ErrorCode, EventKind, Failure, Origin, RawJson, RequestId};
use serde::Deserialize;
use serde_json::json;

use super::answers::sent_as_once;
use super::command::{Answer, PickedOption};
use super::path_lookup::Question;
use super::shown::{keeps_content, kept_call, show_changes};
use super::thread::{AgentState, Thread};
use crate::agent::{AgentCommand, ToolUpdate};
use crate::projection::ItemView;
use crate::wire::repeated_key;
use acpd_policy::Scope;

/// By which an agent asks for a permission.
const METHOD: &str = "session/request_permission";

/// So many characters of what an agent wrote stand in an error.
const NAMED_CHARS: usize = 80;

/// The sparse tool call inside a permission request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestedTool {
    tool_call_id: String,
    #[serde(default)]
    title: Option<RawJson>,
    #[serde(default)]
    kind: Option<RawJson>,
    #[serde(default)]
    status: Option<RawJson>,
}

/// A member that is a string; any other value counts as absent.
fn string(member: Option<RawJson>) -> Option<String> {
    member?.read().ok()
}

impl Thread {
    pub(super) fn permission_requested(
        &mut self,
        call: u64,
        tool: &RawJson,
        options: Vec<PermissionOption>,
        raw: RawJson,
    ) {
        let Ok(question_calls) = tool.read::<RequestedTool>() else {
            let error = Failure::invalid_params(format!("{METHOD}: toolCall has no toolCallId"));
            return self.refuse_and_record(call, METHOD, &error);
        };
        if options.len() > QUESTION_OPTIONS {
            let error = Failure::invalid_params(format!(
                "{METHOD}: {} options, more than the {QUESTION_OPTIONS} that a person can be offered",
                options.len()
            ));
            return self.refuse_and_record(call, METHOD, &error);
        }
        if let Some(twice) = repeated_id(&options) {
            let error = Failure::invalid_params(format!(
                "{METHOD}: two options have the optionId {:?}, so that no answer is clear",
                shorten(twice, NAMED_CHARS)
            ));
            return self.refuse_and_record(call, METHOD, &error);
        }
        if let Some(key) = repeated_key(&raw) {
            return self.refuse_ambiguous(call, "the request", &key);
        }
        let id = question_calls.tool_call_id.clone();
        let update = ToolUpdate {
            id: question_calls.tool_call_id.into(),
            // A call that is over is not asked about: this is another one under the same id.
            opens: true,
            title: string(question_calls.title),
            kind: string(question_calls.kind),
            status: string(question_calls.status)
                .as_deref()
                .and_then(ToolStatus::from_acp)
                .filter(|status| !status.is_final()),
            has_diff: true,
        };
        self.handle_tool(update, Some(tool.clone()), None, true);
        let Some(known) = self.journal.live().tools.get(&id) else {
            return;
        };
        let (title, kind) = match self.journal.item(known.item) {
            Some(ItemView::Tool(view)) => (view.title(), view.kind()),
            _ => (String::new(), "other".to_owned()),
        };
        let about = match kind.as_str() {
            "execute" => QuestionTopic::CommandExecution,
            "edit" | "delete" | "move" => QuestionTopic::FileChange,
            _ => QuestionTopic::Permissions,
        };
        let whole = match self.journal.item(known.item) {
            Some(ItemView::Tool(view)) => view.to_json(),
            _ => tool.clone(),
        };
        if let Some(key) = repeated_key(&whole) {
            return self.refuse_ambiguous(call, "the tool call", &key);
        }
        let kept = kept_call(&whole, tool);
        let mut request = self.tool_request(&whole);
        show_changes(&mut request, &whole);
        let question = Question {
            turn: self.journal.current_turn(),
            item: known.item,
            about,
            title,
            options,
            raw,
            keeps_content: kept.is_none() && keeps_content(&whole, tool),
            call: kept,
            request,
        };
        self.evaluate_question(call, question);
    }

    /// Readers of an object with one key twice disagree about what it says, so that a person could be shown what the agent
    /// does not mean.
    fn refuse_ambiguous(&mut self, call: u64, place: &str, key: &str) {
        let key = shorten(key, NAMED_CHARS);
        let error = Failure::invalid_params(format!(
            "{METHOD}: {place} has the key {key:?} twice in one object, so that it is not clear what is asked"
        ));
        self.refuse_and_record(call, METHOD, &error);
    }

    pub(super) fn answer(
        &mut self,
        by: Origin,
        request: RequestId,
        answer: &Answer,
        scope: Option<Scope>,
    ) -> Result<(), Failure> {
        if matches!(scope, Some(Scope::Daemon)) {
            return Err(Failure::new(
                ErrorCode::Unsupported,
                "an answer can hold for the session, the thread or the agent; write a rule into the configuration for more",
            ));
        }
        let number = request.number;
        let Some(open) = self
            .journal
            .live()
            .requests
            .get(&number)
            .filter(|_| request.thread == self.journal.live().thread)
        else {
            if (1..=self.journal.live().last_request).contains(&number) {
                return Err(Failure::new(
                    ErrorCode::AlreadyResolved,
                    format!("{request} was answered already"),
                ));
            }
            return Err(Failure::not_found(request));
        };
        let outcome = match &open.event.kind {
            EventKind::InputRequested { .. } => elicitation_outcome(answer)?,
            question_calls => sent_as_once(question_calls, choose(&open.options, answer)?),
        };
        // Who dismisses a question has decided nothing.
        if *answer != Answer::Cancel {
            self.remember(&by, number, &outcome, scope);
        }
        self.settle_request(by, number, &outcome);
        self.journal.note_status();
        Ok(())
    }

    pub(super) fn settle_request(&mut self, by: Origin, number: u32, outcome: &Outcome) {
        let request = RequestId {
            thread: self.journal.live().thread,
            number,
        };
        let kind = EventKind::RequestSettled {
            request,
            outcome: outcome.clone(),
        };
        let wants_input = self.wants_input(number);
        let item = self
            .journal
            .live()
            .requests
            .get(&number)
            .and_then(|open| open.event.kind.item());
        self.journal.emit(by, kind, None);
        if let Some(call) = self.question_calls.remove(&number) {
            self.send_outcome(call, outcome, wants_input);
        }
        // The time in which a person was asked does not count as the agent's silence.
        self.watchdog.record_activity(self.journal.now().mono);
        self.apply_answer(number, outcome);
        if let Some(item) = item {
            self.question_settled(item, outcome);
        }
    }

    /// Whether a question is for information, not for a permission.
    fn wants_input(&self, number: u32) -> bool {
        let open = self.journal.live().requests.get(&number);
        open.is_some_and(|open| matches!(open.event.kind, EventKind::InputRequested { .. }))
    }

    fn send_outcome(&mut self, call: u64, outcome: &Outcome, wants_input: bool) {
        let result = match outcome {
            Outcome::Selected {
                option_id,
                sent_option_id,
                ..
            } => {
                let sent = sent_option_id.as_ref().unwrap_or(option_id);
                json!({ "outcome": { "outcome": "selected", "optionId": sent } })
            }
            Outcome::Accepted {
                content: Some(content),
            } => json!({ "action": "accept", "content": content }),
            Outcome::Accepted { content: None } => json!({ "action": "accept" }),
            Outcome::Declined => json!({ "action": "decline" }),
            Outcome::Cancelled if wants_input => json!({ "action": "cancel" }),
            Outcome::Cancelled => json!({ "outcome": { "outcome": "cancelled" } }),
        };
        self.send_to_agent(AgentCommand::Answer {
            call,
            result: Ok(result.into()),
        });
    }

    pub(super) fn input_requested(&mut self, call: u64, message: String, raw: RawJson) {
        let number = self.journal.live().last_request + 1;
        let request = RequestId {
            thread: self.journal.live().thread,
            number,
        };
        self.question_calls.insert(number, call);
        let kind = EventKind::InputRequested { request, message };
        self.journal.emit(Origin::Agent, kind, Some(raw));
        self.cancel_if_interrupted(number);
        self.journal.note_status();
    }

    /// Who wants the turn to end is not asked about its next step.
    pub(super) fn cancel_if_interrupted(&mut self, number: u32) {
        if self
            .journal
            .live()
            .turn
            .is_some_and(|turn| turn.interrupted.is_some())
        {
            self.settle_request(Origin::Daemon, number, &Outcome::Cancelled);
        }
    }

    /// Everything that is asked is answered with "cancelled", as ACP wants it when a turn is cancelled.
    pub(super) fn cancel_requests(&mut self, by: &Origin) {
        let open: Vec<u32> = self.journal.live().requests.keys().copied().collect();
        for number in open {
            self.settle_request(by.clone(), number, &Outcome::Cancelled);
        }
    }

    /// Nobody would act on an answer any more. An agent that still runs is told "cancelled", since JSON-RPC
    /// wants an answer to every request.
    pub(super) fn void_requests(&mut self, reason: &str) {
        let open: Vec<u32> = self.journal.live().requests.keys().copied().collect();
        for number in open {
            let call = self.question_calls.remove(&number);
            let wants_input = self.wants_input(number);
            self.void_request(number, reason);
            self.watchdog.record_activity(self.journal.now().mono);
            self.drop_queued_call(number, reason);
            if let Some(call) = call.filter(|_| self.agent == AgentState::Ready) {
                self.send_outcome(call, &Outcome::Cancelled, wants_input);
            }
        }
    }

    fn void_request(&mut self, number: u32, reason: &str) {
        self.question_calls.remove(&number);
        let request = RequestId {
            thread: self.journal.live().thread,
            number,
        };
        let kind = EventKind::RequestVoided {
            request,
            reason: reason.to_owned(),
        };
        self.journal.emit(Origin::Daemon, kind, None);
    }

    /// The agent takes a callback back. JSON-RPC still wants an answer to it.
    pub(super) fn call_withdrawn(&mut self, call: u64) {
        let queued_calls = self
            .queued_calls
            .iter()
            .find(|(_, queued_calls)| queued_calls.call == call);
        let question_calls = self
            .question_calls
            .iter()
            .find(|(_, question_calls)| **question_calls == call);
        let question = queued_calls
            .map(|(number, _)| *number)
            .or(question_calls.map(|(number, _)| *number));
        if let Some(number) = question {
            self.void_request(number, "the agent withdrew the question");
            self.question_requests.remove(&number);
            self.queued_calls.remove(&number);
            self.journal.note_status();
        }
        self.withdraw_delegation(call);
        // What changes the machine is done all the same, and recorded when it is.
        if self.host_tasks.get(&call).is_some_and(|work| !work.changes()) {
            self.host_tasks.remove(&call);
        }
        let error = crate::wire::RpcError::new(-32800, "request cancelled");
        self.send_to_agent(AgentCommand::Answer {
            call,
            result: Err(error),
        });
    }

    /// Refuses what could not be done, so that it is known what the agent tried. That something is not there is no more
    /// than an answer.
    pub(super) fn refuse_and_record(&mut self, call: u64, method: &str, failure: &Failure) {
        if failure.code != ErrorCode::NotFound {
            let kind = EventKind::CallRefused {
                method: method.to_owned(),
                reason: failure.message.clone(),
            };
            self.journal.emit(Origin::Daemon, kind, None);
        }
        self.refuse_call(call, failure);
    }

    pub(super) fn refuse_call(&mut self, call: u64, failure: &Failure) {
        self.send_to_agent(AgentCommand::Answer {
            call,
            result: Err(failure.into()),
        });
    }
}

/// What an answer to a question for information means.
fn elicitation_outcome(answer: &Answer) -> Result<Outcome, Failure> {
    Ok(match answer {
        Answer::Provide(content) => Outcome::Accepted {
            content: Some(content.clone()),
        },
        Answer::Accept { .. } => Outcome::Accepted { content: None },
        Answer::Decline { .. } => Outcome::Declined,
        Answer::Cancel => Outcome::Cancelled,
        Answer::Option(_) | Answer::Place(_) => {
            return Err(Failure::invalid_params(
                "the agent wants information: answer with item/answer",
            ));
        }
    })
}

/// The agent's option that an answer means.
pub(super) fn choose(options: &[PermissionOption], answer: &Answer) -> Result<Outcome, Failure> {
    let by_kind = |kinds: [&str; 2]| {
        let found = kinds
            .iter()
            .find_map(|kind| options.iter().find(|option| option.kind == *kind));
        found.ok_or_else(|| {
            let offered: Vec<_> = options
                .iter()
                .map(|o| format!("{} ({})", o.option_id, o.kind))
                .collect();
            Failure::invalid_params(format!(
                "the agent offers no such answer; it offers {}",
                offered.join(", ")
            ))
        })
    };
    let option = match answer {
        Answer::Cancel => return Ok(Outcome::Cancelled),
        Answer::Provide(_) => {
            return Err(Failure::invalid_params(
                "the agent asks for a permission: answer with item/approve",
            ));
        }
        Answer::Option(picked) => pick(options, picked)?,
        Answer::Place(place) => options.get(*place).ok_or_else(|| {
            let number = place.saturating_add(1);
            Failure::invalid_params(format!(
                "there is no option {number}; the agent offers {}",
                options.len()
            ))
        })?,
        Answer::Accept { always: false } => by_kind(["allow_once", "allow_always"])?,
        Answer::Accept { always: true } => by_kind(["allow_always", "allow_once"])?,
        Answer::Decline { always: false } => match by_kind(["reject_once", "reject_always"]) {
            Ok(option) => option,
            Err(_) => return Ok(Outcome::Cancelled),
        },
        Answer::Decline { always: true } => match by_kind(["reject_always", "reject_once"]) {
            Ok(option) => option,
            Err(_) => return Ok(Outcome::Cancelled),
        },
    };
    Ok(Outcome::Selected {
        option_id: option.option_id.clone(),
        kind: option.kind.clone(),
        sent_option_id: None,
    })
}

/// The option that a client names, if it is the one that the person was shown.
fn pick<'a>(options: &'a [PermissionOption], picked: &PickedOption) -> Result<&'a PermissionOption, Failure> {
    let PickedOption {
        option_id: id,
        kind,
        verdict,
    } = picked;
    let option = options
        .iter()
        .find(|option| option.option_id == *id)
        .ok_or_else(|| Failure::invalid_params(format!("the agent offers no option {id:?}")))?;
    if let Some(kind) = kind.as_ref().filter(|kind| **kind != option.kind) {
        return Err(Failure::invalid_params(format!(
            "option {id:?} is {:?}, not {kind:?}; the question stays open",
            option.kind
        )));
    }
    if verdict.is_some_and(|verdict| !verdict.agrees_with(&option.kind)) {
        return Err(Failure::invalid_params(format!(
            "the decision contradicts option {id:?}, which is {:?}; the question stays open",
            option.kind
        )));
    }
    Ok(option)
}

/// An id that two options have: an answer with it could mean either.
fn repeated_id(options: &[PermissionOption]) -> Option<&str> {
    let mut seen = BTreeSet::new();
    options
        .iter()
        .map(|option| option.option_id.as_str())
        .find(|id| !seen.insert(*id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(kinds: &[&str]) -> Vec<PermissionOption> {
        kinds
            .iter()
            .map(|kind| PermissionOption {
                option_id: format!("o-{kind}"),
                name: String::new(),
                kind: (*kind).into(),
            })
            .collect()
    }

    fn chosen(kinds: &[&str], answer: &Answer) -> Option<String> {
        match choose(&options(kinds), answer).unwrap() {
            Outcome::Selected { option_id, .. } => Some(option_id),
            _ => None,
        }
    }

    #[test]
    fn a_plain_yes_is_never_for_ever_if_once_is_offered() {
        let all = ["allow_always", "allow_once", "reject_always", "reject_once"];
        assert_eq!(
            chosen(&all, &Answer::Accept { always: false }).unwrap(),
            "o-allow_once"
        );
        assert_eq!(
            chosen(&all, &Answer::Accept { always: true }).unwrap(),
            "o-allow_always"
        );
        assert_eq!(
            chosen(&all, &Answer::Decline { always: false }).unwrap(),
            "o-reject_once"
        );
        assert_eq!(
            chosen(&all, &Answer::Option("o-reject_always".into())).unwrap(),
            "o-reject_always"
        );
    }

    #[test]
    fn no_is_always_possible_and_yes_is_not() {
        assert_eq!(chosen(&["allow_once"], &Answer::Decline { always: false }), None);
        assert!(choose(&options(&["reject_once"]), &Answer::Accept { always: false }).is_err());
        assert!(choose(&options(&["_odd"]), &Answer::Option("other".into())).is_err());
        assert_eq!(chosen(&["allow_once"], &Answer::Cancel), None);
    }
}
