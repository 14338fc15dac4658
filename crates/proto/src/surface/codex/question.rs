//! Questions as Codex's requests to its client, and the answers to them.
//!
//! A command and a change of files have requests of their own, with fixed answers. All other questions, and those whose
//! answers are not the usual ones, are a list of the agent's answers.

use std::collections::BTreeMap;

use acpd_model::event::{Always, OptionKind, PermissionOption};
use acpd_model::subject::CallSubject;
use acpd_model::text::{plain, plain_line, shorten, visible, visible_line};
use acpd_model::{Millis, RawJson, RequestId, ThreadId, TurnId, json};
use acpd_policy::{in_lines, part_in_words};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::FileUpdate;
use super::form::{TextFields, read_fields, shown_schema};
use super::frame::{Ask, ServerRequest};
use super::item::shown_command;
use super::turn_id::OUTSIDE;
use super::write::{put_turn, request};
use crate::surface::elicitation;
use crate::thread::Answer;
use crate::wire::{Object, member};

/// The form of a question, which decides how its answer is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// Codex's approval of a command or of a change.
    Approval,
    /// A list of answers.
    Choice(Vec<String>),
    /// A form with these fields, or an address to open.
    Input(TextFields),
}

/// Why an answer decides nothing: the question stays open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// It is not in Codex's form.
    Malformed,
    /// The text of this field is not of the field's type.
    WrongField(String),
}

/// An answer, as the client gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GivenAnswer {
    pub answer: Answer,
    /// Whether the client also wants to interrupt the turn.
    pub interrupts: bool,
}

/// Maximum length of the agent's title, in characters.
const TITLE_CHARS: usize = 200;

/// The id of the only question in a list of answers.
const CHOICE: &str = "answer";

/// A question that a client has received.
#[derive(Debug)]
pub(super) struct Asked {
    pub form: Form,
    /// The turn that asks.
    pub turn: Option<TurnId>,
    /// The request that asked it. Of the question, nothing else is kept: the agent's params may be long.
    pub text: Bytes,
}

/// Writes a question of `agent`, and returns its method and form. `shows_changes` says whether the client has been shown
/// exactly the changes that the question is about.
pub(super) fn write_question(
    out: &mut Vec<u8>,
    thread: ThreadId,
    turn: Option<TurnId>,
    at: Millis,
    agent: &str,
    question: &ServerRequest,
    shows_changes: bool,
) -> (&'static str, Form) {
    let id = Value::from(question.request.to_string()).to_string();
    let head = |params: &mut Object<'_>| {
        params.put("threadId", &thread);
        put_turn(params, thread, turn);
    };
    match &question.ask {
        Ask::Permission {
            item,
            title,
            options,
            subjects,
            labels,
            always,
            ..
        } => {
            // Codex needs an item, which need not exist.
            let item = item.map_or_else(|| question.request.to_string(), |item| item.to_string());
            let usual = usual_answers(options);
            if let (Some(decisions), Some((command, cwd))) = (&usual, one_command(subjects)) {
                let method = "item/commandExecution/requestApproval";
                request(out, &id, method, |params| {
                    head(params);
                    params.put("itemId", &item).put("startedAtMs", &at);
                    params.plain("kind", "command").raw("environmentId", "null");
                    params.put("command", &*shown_command(&command)).put("cwd", cwd);
                    params.put(
                        "commandActions",
                        &[json!({ "type": "unknown", "command": command })],
                    );
                    params.put("availableDecisions", decisions);
                    params.maybe(
                        "reason",
                        reason([quoted(title, &command), holds(always.as_ref())]).as_ref(),
                    );
                });
                return (method, Form::Approval);
            }
            if usual.is_some() && shows_changes {
                let method = "item/fileChange/requestApproval";
                request(out, &id, method, |params| {
                    head(params);
                    params.put("itemId", &item).put("startedAtMs", &at);
                    params.maybe(
                        "reason",
                        reason([targets(subjects), holds(always.as_ref())]).as_ref(),
                    );
                });
                return (method, Form::Approval);
            }
            let labels = distinct(labels);
            let method = "item/tool/requestUserInput";
            request(out, &id, method, |params| {
                head(params);
                let lines = in_lines(subjects);
                let title = quoted(title, "").unwrap_or_default();
                let text = format!("{lines}{title}");
                let shown = once_first(options, &labels);
                let option = |label: &&String| json!({ "label": label, "description": "" });
                let options: Vec<Value> = shown.iter().map(option).collect();
                let question = json!({
                    "id": CHOICE, "header": "Permission", "question": text, "isOther": false, "isSecret": false,
                    "options": options,
                });
                params.put("itemId", &item).put("questions", &[question]);
                params.put("isBlocking", &true).raw("autoResolutionMs", "null");
            });
            (method, Form::Choice(labels))
        }
        Ask::Input {
            params: asked,
            message,
        } => {
            let method = "mcpServer/elicitation/request";
            let empty = r#"{"type":"object","properties":{}}"#;
            let requested = member(asked, "requestedSchema");
            let url = member(asked, "url").filter(|_| requested.is_none());
            let (schema, fields) = shown_schema(&RawJson::trusted(requested.unwrap_or(empty)));
            request(out, &id, method, |params| {
                head(params);
                params
                    .put("serverName", agent)
                    .raw("_meta", "null")
                    .put("message", &plain(message));
                match url {
                    Some(url) => {
                        let id = member(asked, "elicitationId").unwrap_or(&id);
                        params
                            .plain("mode", "url")
                            .raw("url", url)
                            .raw("elicitationId", id);
                    }
                    None => {
                        params
                            .plain("mode", "form")
                            .json("requestedSchema", Some(&schema));
                    }
                }
            });
            (method, Form::Input(fields))
        }
    }
}

/// Returns the notification that a question is closed.
pub(super) fn write_resolved(out: &mut Vec<u8>, thread: ThreadId, request: RequestId) {
    super::write::notification(out, "serverRequest/resolved", |params| {
        params.put("threadId", &thread).put("requestId", &request);
    });
}

/// Returns Codex's decisions for these options; `None` if they are not one each of the usual ones.
fn usual_answers(options: &[PermissionOption]) -> Option<Vec<&'static str>> {
    let count = |kind| {
        let of = |option: &&PermissionOption| OptionKind::read(&option.kind) == Some(kind);
        options.iter().filter(of).count()
    };
    let known = [
        (OptionKind::AllowOnce, "accept"),
        (OptionKind::AllowAlways, "acceptForSession"),
        (OptionKind::RejectOnce, "decline"),
    ];
    let found = known.map(|(kind, word)| (count(kind), word));
    // Codex has no answer that denies for good.
    let denies_for_good = count(OptionKind::RejectAlways);
    let all: usize = found.iter().map(|(count, _)| count).sum::<usize>() + denies_for_good;
    let is_usual = all == options.len() && found[0].0 == 1 && found.iter().all(|(count, _)| *count <= 1);
    is_usual.then(|| {
        let words = found
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(_, word)| *word);
        words.chain(["cancel"]).collect()
    })
}

/// Returns the labels in the order in which they are shown. Codex selects the first one, so that Enter must not mean more
/// than this once.
fn once_first<'a>(options: &[PermissionOption], labels: &'a [String]) -> Vec<&'a String> {
    let is_once = |place: usize| {
        let option = options.get(place);
        option.and_then(|option| OptionKind::read(&option.kind)) == Some(OptionKind::AllowOnce)
    };
    let (once, others): (Vec<_>, Vec<_>) = labels.iter().enumerate().partition(|(place, _)| is_once(*place));
    once.into_iter().chain(others).map(|(_, label)| label).collect()
}

/// Returns the command line and the directory, if the call is one command without more to show.
fn one_command(subjects: &[CallSubject]) -> Option<(String, &str)> {
    let [subject] = subjects else { return None };
    match subject {
        CallSubject::Command { cwd, env, .. } | CallSubject::CommandLine { cwd, env, .. } => {
            let command = part_in_words(subject).what;
            // What a terminal would not show as it is, acpd's words show.
            let is_plain = visible(&command) == command && visible(cwd) == *cwd;
            (is_plain && env.is_empty()).then_some((command, cwd))
        }
        CallSubject::File { .. }
        | CallSubject::Fetch { .. }
        | CallSubject::Mcp { .. }
        | CallSubject::Tool { .. }
        | CallSubject::Unknown { .. } => None,
    }
}

/// Returns the changes of a call that only changes files and shows each change.
pub(super) fn changes_of(subjects: &[CallSubject]) -> Option<Vec<FileUpdate>> {
    let change = |subject: &CallSubject| match subject {
        CallSubject::File {
            path,
            diff: Some(diff),
            arguments: None,
            ..
        } if is_plain(path, diff) => Some(FileUpdate::of_unified(path, diff)),
        CallSubject::Command { .. }
        | CallSubject::CommandLine { .. }
        | CallSubject::File { .. }
        | CallSubject::Fetch { .. }
        | CallSubject::Mcp { .. }
        | CallSubject::Tool { .. }
        | CallSubject::Unknown { .. } => None,
    };
    let changes: Option<Vec<FileUpdate>> = subjects.iter().map(change).collect();
    changes.filter(|changes| !changes.is_empty())
}

/// Returns whether a terminal shows a path and a diff as they are.
fn is_plain(path: &str, diff: &str) -> bool {
    visible(path) == path && plain(diff) == diff.replace("\r\n", "\n")
}

/// Returns what else is known of the changes. Codex shows the paths and the diffs itself.
fn targets(subjects: &[CallSubject]) -> Option<String> {
    let details: Vec<String> = subjects
        .iter()
        .map(part_in_words)
        .filter(|part| !part.details.is_empty())
        .map(|part| visible_line(&format!("{}, {}", part.what, part.details.join(", "))))
        .collect();
    (!details.is_empty()).then(|| details.join("\n"))
}

/// Returns the agent's title as a quotation, unless it is only the command.
fn quoted(title: &str, command: &str) -> Option<String> {
    let title = shorten(plain_line(title).trim(), TITLE_CHARS);
    let is_new = !title.is_empty() && title.trim_matches('`') != command;
    is_new.then(|| format!("The agent’s title: “{title}”"))
}

/// Returns what an answer holds for that is not only for this question. Codex says less in its own words.
fn holds(always: Option<&Always>) -> Option<String> {
    Some(match always? {
        Always::Holds(what) => format!(
            "“Don’t ask again” means: allow {} for this session",
            visible_line(what)
        ),
        Always::NotRemembered(why) => format!("“Don’t ask again” is not remembered: {}", visible_line(why)),
    })
}

/// Joins the lines of a reason.
fn reason(lines: [Option<String>; 2]) -> Option<String> {
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns the labels, so that no two are equal.
fn distinct(labels: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for label in labels {
        let mut own = label.clone();
        let mut number = 1;
        while all.contains(&own) {
            number += 1;
            own = format!("{label} ({number})");
        }
        all.push(own);
    }
    all
}

/// Reads the answer to a question.
pub(super) fn read_answer(form: &Form, result: &str) -> Result<GivenAnswer, NoAnswer> {
    let given = |answer| GivenAnswer {
        answer,
        interrupts: false,
    };
    match form {
        Form::Approval => read_decision(result).ok_or(NoAnswer::Malformed),
        Form::Choice(labels) => {
            let place =
                read_choice(result).and_then(|chosen| labels.iter().position(|label| *label == chosen));
            place
                .map(|place| given(Answer::Place(place)))
                .ok_or(NoAnswer::Malformed)
        }
        Form::Input(fields) => match elicitation::read_answer(result).ok_or(NoAnswer::Malformed)? {
            Answer::Provide(content) => read_fields(&content, fields)
                .map(|content| given(Answer::Provide(content)))
                .map_err(NoAnswer::WrongField),
            answer @ (Answer::Option(_)
            | Answer::Place(_)
            | Answer::Accept { .. }
            | Answer::Decline { .. }
            | Answer::Cancel) => Ok(given(answer)),
        },
    }
}

fn read_decision(result: &str) -> Option<GivenAnswer> {
    #[derive(Deserialize)]
    struct Approval {
        decision: String,
    }
    let Approval { decision } = json::read(result).ok()?;
    let answer = match decision.as_str() {
        "accept" => Answer::Accept { always: false },
        "acceptForSession" => Answer::Accept { always: true },
        "decline" | "cancel" => Answer::Decline { always: false },
        _ => return None,
    };
    Some(GivenAnswer {
        answer,
        // Codex does not interrupt the turn by itself.
        interrupts: decision == "cancel",
    })
}

/// Reads the first answer to the only question of a list.
fn read_choice(result: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Answers {
        answers: BTreeMap<String, Chosen>,
    }
    #[derive(Deserialize)]
    struct Chosen {
        answers: Vec<String>,
    }
    let Answers { mut answers } = json::read(result).ok()?;
    answers.remove(CHOICE)?.answers.into_iter().next()
}

/// Returns the turn to interrupt for a question that was asked outside of any turn: none.
pub(super) fn turn_of(asked: &Asked) -> Option<TurnId> {
    asked.turn.filter(|turn| *turn != OUTSIDE)
}
