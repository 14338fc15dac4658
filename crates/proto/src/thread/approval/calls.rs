//! Calls that the agent makes without a permission request.

use acpd_model::event::{Always, PermissionOption, QuestionTopic};
use acpd_model::{
    ErrorCode, EventKind, Failure, OptionKind, Origin, PreviousContent, RequestEvent, SessionEvent,
};
use acpd_policy::{Decision, Form, Request, ShownChange, Subject, shell_line};
use serde_json::{Value, json};

use super::path_lookup::{PathLookup, names_paths};
use super::policy::{PolicyCheck, ruling};
use super::remembered::always;
use super::shown::subjects;
use super::{Approvals, NextStep, OpenQuestion, Waiting, asker, request_id};
use crate::agent::Call;
use crate::projection::{is_computed, unified_diff};
use crate::thread::host_call::{HostCall, HostReply};
use crate::thread::journal::Journal;

/// A write that waits until its file is read, to compare it with the old text that a question showed.
#[derive(Debug)]
pub(super) struct Comparison {
    request: Call,
    wanted: Request,
    at: Option<String>,
}

impl Approvals {
    /// Decides about a call, or first resolves its paths. `form` is how a command without arguments is run.
    pub fn evaluate(&mut self, journal: &mut Journal, call: u64, request: Call, form: Form) -> NextStep {
        match self.call_request(journal.live(), &request, form) {
            None => NextStep::Run {
                call,
                request,
                at: None,
            },
            // Without any rule, the real path makes no difference.
            Some(wanted) if !self.layers(journal.live()).is_empty() && names_paths(&wanted) => {
                self.start_path_lookup(journal, call, PathLookup::Call(request, wanted))
            }
            Some(wanted) => self.decide(journal, call, request, wanted, None, None),
        }
    }

    /// Decides about a call. `at` is the real path of the file, or why it cannot be resolved; `old` is the current
    /// content of a file to be written, if it was read.
    pub(super) fn decide(
        &mut self,
        journal: &mut Journal,
        call: u64,
        request: Call,
        wanted: Request,
        at: Option<Result<String, Failure>>,
        old: Option<&PreviousContent>,
    ) -> NextStep {
        let check = self.check_policy(journal, &request, &wanted, old);
        let unknown = &PreviousContent::Unknown;
        match (check, at.transpose()) {
            (PolicyCheck::Deny(decision), _) => deny(journal, call, &request, &decision),
            // The call would fail with the same error, so a question to the user is useless.
            (_, Err(failure)) => {
                journal.emit_refusal(request.method(), &failure);
                NextStep::refuse(call, &failure)
            }
            (PolicyCheck::Ask, Ok(at)) => {
                self.ask_person(journal, call, request, wanted, at, old.unwrap_or(unknown))
            }
            (PolicyCheck::Compare, Ok(at)) => self.compare(journal, call, request, wanted, at),
            (PolicyCheck::Allow, Ok(at)) => NextStep::Run { call, request, at },
        }
    }

    /// Reads the file to be written, because a question showed only the difference from the old text.
    fn compare(
        &mut self,
        journal: &mut Journal,
        call: u64,
        request: Call,
        wanted: Request,
        at: Option<String>,
    ) -> NextStep {
        let Call::WriteFile { path, .. } = &request else {
            return self.ask_person(journal, call, request, wanted, at, &PreviousContent::Unknown);
        };
        let read = HostCall::ReadFile {
            path: path.clone(),
            at: at.clone(),
            line: None,
            limit: None,
        };
        let comparison = Comparison { request, wanted, at };
        self.comparisons.insert(call, comparison);
        journal.call_host(call, read);
        NextStep::Wait
    }

    /// Returns whether the host is reading a file for the decision about this call.
    pub fn compares(&self, call: u64) -> bool {
        self.comparisons.contains_key(&call)
    }

    /// Decides about a write, now that the host has read its file.
    pub fn compared(
        &mut self,
        journal: &mut Journal,
        call: u64,
        result: Result<HostReply, Failure>,
    ) -> NextStep {
        let Some(Comparison { request, wanted, at }) = self.comparisons.remove(&call) else {
            return NextStep::Wait;
        };
        let old = match result {
            Ok(HostReply::Read { content }) => PreviousContent::Text(content),
            Err(failure) if failure.code == ErrorCode::NotFound => PreviousContent::Nothing,
            _ => PreviousContent::Unknown,
        };
        self.decide(journal, call, request, wanted, at.map(Ok), Some(&old))
    }

    /// Asks the user about a call that the agent made without a permission request. `old` is the current content of a
    /// file to be written.
    fn ask_person(
        &mut self,
        journal: &mut Journal,
        call: u64,
        request: Call,
        mut wanted: Request,
        at: Option<String>,
        old: &PreviousContent,
    ) -> NextStep {
        // A user who decides about a link should see its target.
        let place = match wanted.subjects() {
            [
                _,
                Subject::File {
                    path: Some(place), ..
                },
            ] => format!(", which is {place}"),
            _ => String::new(),
        };
        if let Call::WriteFile { path, content } = &request {
            wanted.show_changes(&[ShownChange {
                path,
                old: old.text(),
                new: content,
                diff: unified_diff(path, old, content),
                is_complete: is_computed(old, content),
            }]);
        }
        let Some((about, title, tool_call)) = describe(&request, &place) else {
            return NextStep::Wait;
        };
        let title = match asker(journal) {
            Some(asker) => format!("{asker} wants to {}", with_small_letter(&title)),
            None => title,
        };
        let number = journal.live().last_request + 1;
        let always = always(journal, &wanted);
        let kind = EventKind::Request(RequestEvent::PermissionRequested {
            request: request_id(journal, number),
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
        });
        let question = OpenQuestion {
            waiting: Waiting::Call { call, request, at },
            request: Some(wanted),
        };
        self.questions.insert(number, question);
        let raw = json!({ "toolCall": tool_call }).into();
        journal.emit(Origin::Daemon, kind, Some(raw));
        Self::asked(journal, number, None)
    }
}

/// Returns the parts of a question about a call: its topic, its title and an ACP tool call.
fn describe(request: &Call, place: &str) -> Option<(QuestionTopic, String, Value)> {
    match request {
        Call::ReadFile { path, .. } => {
            let call = json!({ "kind": "read", "locations": [{ "path": path }] });
            Some((QuestionTopic::Permissions, format!("Read {path}{place}"), call))
        }
        Call::WriteFile { path, content } => {
            let diff = json!([{ "type": "diff", "path": path, "newText": content }]);
            let call = json!({ "kind": "edit", "locations": [{ "path": path }], "content": diff });
            Some((QuestionTopic::FileChange, format!("Write {path}{place}"), call))
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
            let call = json!({ "kind": "execute", "rawInput": { "command": argv, "cwd": cwd, "env": env } });
            Some((QuestionTopic::CommandExecution, title, call))
        }
        _ => None,
    }
}

fn with_small_letter(title: &str) -> String {
    let mut letters = title.chars();
    let first = letters.next().map(char::to_lowercase);
    first.into_iter().flatten().chain(letters).collect()
}

fn deny(journal: &mut Journal, call: u64, request: &Call, decision: &Decision) -> NextStep {
    let kind = EventKind::Session(SessionEvent::CallRefused {
        method: request.method().to_owned(),
        reason: decision.reason.clone(),
        requested_by: None,
    });
    journal.emit(ruling(decision), kind, None);
    let message = format!("not allowed here: {}", decision.reason);
    NextStep::refuse(call, &Failure::new(ErrorCode::Forbidden, message))
}

/// Returns the options of the daemon's own question: "always" only if the answer can be remembered.
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
