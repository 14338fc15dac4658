//! Questions of the agent.

use std::collections::BTreeSet;

use acpd_model::event::{Outcome, PermissionOption, QuestionTopic};
use acpd_model::item::ToolStatus;
use acpd_model::limits::QUESTION_OPTIONS;
use acpd_model::text::shorten;
use acpd_model::{EventKind, Failure, Origin, RawJson, RequestEvent, json};
use serde::Deserialize;

use super::path_lookup::{PathLookup, PermissionRequest, names_paths};
use super::remembered::{agent_remembers, always};
use super::shown::{keeps_content, kept_call, show_changes, subjects};
use super::{Approvals, NextStep, OpenQuestion, Waiting, asker, request_id};
use crate::agent::ToolUpdate;
use crate::agent::bounds::{is_name, sentence};
use crate::projection::ItemView;
use crate::thread::journal::Journal;
use crate::wire::{member, repeated_key, spliced};

/// The method by which an agent requests a permission.
pub(in crate::thread) const METHOD: &str = "session/request_permission";

/// The maximum number of characters of an agent's text in an error.
const NAMED_CHARS: usize = 80;

/// The partial tool call inside a permission request.
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

/// Returns a string member; any other value counts as absent.
fn string(member: Option<RawJson>) -> Option<String> {
    member?.read().ok()
}

/// Reads the tool call of a question as an update of that tool call. Rejects an ambiguous question.
pub(in crate::thread) fn read_question(
    tool: &RawJson,
    options: &[PermissionOption],
    raw: &RawJson,
) -> Result<ToolUpdate, Failure> {
    let invalid = |message: String| Failure::invalid_params(format!("{METHOD}: {message}"));
    let Ok(asked) = tool.read::<RequestedTool>() else {
        return Err(invalid("toolCall has no toolCallId".to_owned()));
    };
    if !is_name(&asked.tool_call_id) {
        return Err(invalid("the toolCallId is too long".to_owned()));
    }
    if options.len() > QUESTION_OPTIONS {
        return Err(invalid(format!(
            "{} options, more than the {QUESTION_OPTIONS} that a person can be offered",
            options.len()
        )));
    }
    if let Some(twice) = repeated_id(options) {
        return Err(invalid(format!(
            "two options have the optionId {:?}, so that no answer is clear",
            shorten(twice, NAMED_CHARS)
        )));
    }
    if let Some(key) = repeated_key(raw) {
        return Err(ambiguous("the request", &key));
    }
    Ok(ToolUpdate {
        id: asked.tool_call_id.into(),
        // A question never refers to a finished tool call, so this is a new one with the same id.
        opens: true,
        title: string(asked.title).as_deref().map(sentence),
        kind: string(asked.kind).filter(|kind| is_name(kind)),
        status: string(asked.status)
            .as_deref()
            .and_then(ToolStatus::from_acp)
            .filter(|status| !status.is_final()),
        has_diff: true,
    })
}

/// Parsers disagree about an object that contains a key twice, so the user could see something other than what the
/// agent executes.
fn ambiguous(place: &str, key: &str) -> Failure {
    let key = shorten(key, NAMED_CHARS);
    Failure::invalid_params(format!(
        "{METHOD}: {place} has the key {key:?} twice in one object, so the question is ambiguous"
    ))
}

impl Approvals {
    /// Evaluates the policy for a question about the open tool call `id`, then asks the user, once its paths are
    /// resolved.
    pub fn ask(
        &mut self,
        journal: &mut Journal,
        call: u64,
        id: &str,
        tool: &RawJson,
        options: Vec<PermissionOption>,
        raw: RawJson,
    ) -> NextStep {
        let Some(known) = journal.live().tools.get(journal.lane(), id) else {
            return NextStep::Wait;
        };
        let (title, kind, whole) = match journal.item(known.item) {
            Some(ItemView::Tool(view)) => (sentence(&view.title()), view.kind(), view.to_json()),
            _ => (String::new(), "other".to_owned(), tool.clone()),
        };
        let about = match kind.as_str() {
            "execute" => QuestionTopic::CommandExecution,
            "edit" | "delete" | "move" => QuestionTopic::FileChange,
            _ => QuestionTopic::Permissions,
        };
        if let Some(key) = repeated_key(&whole) {
            let failure = ambiguous("the tool call", &key);
            journal.emit_refusal(METHOD, &failure);
            return NextStep::refuse(call, &failure);
        }
        let kept = kept_call(&whole, tool);
        let mut request = self.tool_request(journal.live(), &whole);
        show_changes(&mut request, &whole);
        let title = match asker(journal) {
            Some(asker) => format!("{asker}: {title}"),
            None => title,
        };
        let question = PermissionRequest {
            turn: journal.current_turn(),
            item: known.item,
            about,
            title,
            options,
            raw,
            keeps_content: kept.is_none() && keeps_content(&whole, tool),
            call: kept,
            request,
        };
        // The answer may be remembered, so its paths are always resolved.
        if names_paths(&question.request) {
            self.start_path_lookup(journal, call, PathLookup::Question(question))
        } else {
            self.ask_permission(journal, call, question)
        }
    }

    pub(super) fn ask_permission(
        &mut self,
        journal: &mut Journal,
        call: u64,
        question: PermissionRequest,
    ) -> NextStep {
        let PermissionRequest {
            turn,
            item,
            about,
            title,
            mut options,
            raw,
            call: whole,
            keeps_content,
            mut request,
        } = question;
        let number = journal.live().last_request + 1;
        let subjects = subjects(&mut request).into();
        let ruled = self.decide_question(journal.live(), &request, &options);
        let (always, agent_remembers, whole) = match ruled {
            Some(_) => (None, Vec::new(), None),
            None => {
                // A person can always say no.
                if !options.iter().any(PermissionOption::rejects) {
                    options.push(PermissionOption::rejection());
                }
                let always = always(journal, &request);
                let agent_remembers = agent_remembers(&always, &options);
                (Some(Box::new(always)), agent_remembers, whole)
            }
        };
        let open = OpenQuestion {
            waiting: Waiting::Agent(call),
            request: Some(request),
        };
        self.questions.insert(number, open);
        let kind = EventKind::Request(RequestEvent::PermissionRequested {
            request: request_id(journal, number),
            item: Some(item),
            about,
            title,
            options: options.into(),
            subjects,
            decided: ruled.is_some(),
            agent_remembers: agent_remembers.into(),
            always,
            whole: whole.map(Box::new),
            keeps_content,
        });
        journal.emit(Origin::Agent, kind, Some(raw));
        // The turn may have ended while the paths were resolved. A subagent may work on.
        let goes_on = journal.live().lanes.is_at_work(journal.lane());
        let settled = if goes_on || turn == journal.current_turn() {
            ruled
        } else {
            Some((Origin::Daemon, Outcome::Cancelled))
        };
        Self::asked(journal, number, settled)
    }

    /// Asks the user for information.
    pub fn ask_input(&mut self, journal: &mut Journal, call: u64, message: String, raw: RawJson) -> NextStep {
        let (message, raw) = match asker(journal) {
            Some(asker) => {
                let message = format!("{asker}: {message}");
                let words = serde_json::Value::from(message.as_str()).to_string();
                (message, spliced(&raw, &[("message", &words)]))
            }
            None => (message, raw),
        };
        let number = journal.live().last_request + 1;
        let request = request_id(journal, number);
        let open = OpenQuestion {
            waiting: Waiting::Agent(call),
            request: None,
        };
        self.questions.insert(number, open);
        let named = member(&raw, "toolCallId").and_then(|id| json::read::<String>(id).ok());
        let call = named.and_then(|id| journal.live().tools.get(journal.lane(), &id));
        let kind = EventKind::Request(RequestEvent::InputRequested {
            request,
            message,
            call: call.map(|call| call.item),
        });
        journal.emit(Origin::Agent, kind, Some(raw));
        Self::asked(journal, number, None)
    }

    /// Returns the next step of a new question: it is cancelled if its turn is being interrupted.
    pub(super) fn asked(journal: &mut Journal, number: u32, settled: Option<(Origin, Outcome)>) -> NextStep {
        let interrupted = journal.live().turn.is_some_and(|turn| turn.interrupted.is_some());
        let settled = if interrupted {
            Some((Origin::Daemon, Outcome::Cancelled))
        } else {
            settled
        };
        match settled {
            Some((by, outcome)) => NextStep::Settle { number, by, outcome },
            None => {
                journal.note_status();
                NextStep::Wait
            }
        }
    }
}

/// Returns an id that two options share: an answer with it would be ambiguous.
fn repeated_id(options: &[PermissionOption]) -> Option<&str> {
    let mut seen = BTreeSet::new();
    options
        .iter()
        .map(|option| option.option_id.as_str())
        .find(|id| !seen.insert(*id))
}
