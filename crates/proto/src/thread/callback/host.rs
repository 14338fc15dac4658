//! Callbacks of the agent that the host carries out, and their results.

use acpd_model::{BlobId, ErrorCode, EventKind, Failure, HostEvent, ItemId, Origin, RawJson, SessionEvent};
use serde_json::{Value, json};

use super::Callbacks;
use super::files::{FileWrite, begin_change, fail_change};
use super::task::{HostTask, Repeatable, TerminalCommand, terminal_id};
use crate::agent::{Call, TerminalExit, not_found};
use crate::thread::host_call::{HostCall, HostReply};
use crate::thread::journal::Journal;
use crate::wire;

impl Callbacks {
    pub(super) fn run_on_host(
        &mut self,
        journal: &mut Journal,
        call: u64,
        request: Call,
        at: Option<String>,
    ) {
        self.raw_params.remove(&call);
        match request {
            // Approvals handle these, not the host.
            Call::Permission { .. } | Call::Elicit { .. } => {}
            Call::ReadFile { path, line, limit } => {
                let what = HostCall::ReadFile {
                    path,
                    at,
                    line,
                    limit,
                };
                self.repeatable(journal, call, what);
            }
            Call::WriteFile { path, content } => {
                let item = begin_change(journal, &path, Origin::Agent);
                self.write_on_host(journal, call, path, at, content, item);
            }
            Call::CreateTerminal {
                command,
                args,
                env,
                cwd,
                output_byte_limit,
            } => {
                let command = TerminalCommand {
                    terminal_id: terminal_id(call),
                    command,
                    args,
                    cwd: cwd.unwrap_or_else(|| journal.live().spec.session_cwd().to_owned()),
                };
                self.create_terminal(journal, call, command, env, output_byte_limit);
            }
            Call::TerminalOutput { terminal_id } => {
                self.repeatable(journal, call, HostCall::TerminalOutput { terminal_id })
            }
            Call::WaitForTerminalExit { terminal_id } => {
                self.repeatable(journal, call, HostCall::WaitForTerminalExit { terminal_id });
            }
            Call::KillTerminal { terminal_id } => {
                self.repeatable(journal, call, HostCall::KillTerminal { terminal_id });
            }
            Call::ReleaseTerminal { terminal_id } => {
                self.repeatable(journal, call, HostCall::ReleaseTerminal { terminal_id });
            }
            Call::Extension { method, params } => self.refuse_extension(journal, call, method, params),
        }
    }

    /// Rejects an extension, because no editor is attached that may know it.
    fn refuse_extension(
        &mut self,
        journal: &mut Journal,
        call: u64,
        method: String,
        params: Option<RawJson>,
    ) {
        let error = not_found(&method);
        let reason = error.message.clone();
        let kind = EventKind::Session(SessionEvent::CallRefused {
            method,
            reason,
            requested_by: None,
        });
        journal.emit(Origin::Agent, kind, params);
        let result = Err(error);
        self.answer(journal, call, result);
    }

    /// Has the host carry out an operation that a later daemon may do again.
    fn repeatable(&mut self, journal: &mut Journal, call: u64, what: HostCall) {
        self.tasks
            .insert(call, HostTask::Again(Repeatable::new(what.clone())));
        journal.call_host(call, what);
    }

    /// Writes a file whose file change has started.
    pub(super) fn write_on_host(
        &mut self,
        journal: &mut Journal,
        call: u64,
        path: String,
        at: Option<String>,
        content: String,
        item: Option<ItemId>,
    ) {
        let write = FileWrite {
            path: path.clone(),
            at: at.clone(),
            content: content.clone(),
            item,
            turn: journal.current_turn(),
            hash: journal.is_exact().then(|| BlobId::of(content.as_bytes())),
        };
        self.tasks.insert(call, HostTask::Write(write));
        journal.call_host(call, HostCall::WriteFile { path, at, content });
    }

    pub fn host_replied(&mut self, journal: &mut Journal, call: u64, result: Result<HostReply, Failure>) {
        // These callbacks were delegated to an editor, so a reply of the host is not for them.
        if matches!(
            self.tasks.get(&call),
            Some(HostTask::Delegated(_) | HostTask::QueuedRelease(_))
        ) {
            return;
        }
        // Without a task, the agent withdrew the callback or has exited, and the result is useless.
        let Some(task) = self.tasks.remove(&call) else {
            return;
        };
        match result {
            Ok(reply) => self.host_did(journal, call, task, reply),
            Err(failure) if self.is_empty_for(&task, &failure) => {
                let content = String::new();
                self.host_did(journal, call, task, HostReply::Read { content });
            }
            Err(failure) => self.host_failed(journal, call, task, &failure),
        }
    }

    fn host_failed(&mut self, journal: &mut Journal, call: u64, task: HostTask, failure: &Failure) {
        let method = task.recorded_method();
        match task {
            HostTask::Create { command, .. } => {
                self.output_limits.remove(&command.terminal_id);
            }
            HostTask::Write(write) => {
                fail_change(journal, write.item, &write.path, Origin::Daemon);
            }
            HostTask::Check(check) => return self.write_unknown(journal, call, &check),
            HostTask::Find(search) => return self.terminal_missing(journal, call, *search, failure),
            HostTask::Again(Repeatable { recorded: true, .. }) => return self.refuse(journal, call, failure),
            _ => {}
        }
        match method {
            Some(method) => self.refuse_and_record(journal, call, method, failure),
            None => self.refuse(journal, call, failure),
        }
    }

    fn host_did(&mut self, journal: &mut Journal, call: u64, task: HostTask, reply: HostReply) {
        let result = match (task, reply) {
            (HostTask::Again(repeatable), reply) => {
                return self.host_repeated(journal, call, repeatable, reply);
            }
            (HostTask::Check(check), reply) => return self.write_checked(journal, call, &check, reply),
            (HostTask::Find(search), reply) => return self.terminal_found(journal, call, &search, &reply),
            (HostTask::Write(write), HostReply::Written { old }) => {
                write.complete(journal, &old, Origin::Agent);
                RawJson::trusted("{}")
            }
            (HostTask::Create { command, .. }, HostReply::Created) => {
                return self.created_on_host(journal, call, command);
            }
            _ => RawJson::trusted("{}"),
        };
        self.answer(journal, call, Ok(result));
    }

    pub(super) fn created_on_host(&mut self, journal: &mut Journal, call: u64, command: TerminalCommand) {
        let result = RawJson::from(json!({ "terminalId": command.terminal_id }));
        self.terminal_created(journal, call, command, Origin::Agent);
        self.answer(journal, call, Ok(result));
    }

    /// Answers an operation that can be done again.
    fn host_repeated(&mut self, journal: &mut Journal, call: u64, repeatable: Repeatable, reply: HostReply) {
        let Repeatable { what, recorded } = repeatable;
        let (result, event) = match (&what, reply) {
            (HostCall::ReadFile { path, .. }, HostReply::Read { content }) => {
                let (path, bytes) = (path.clone(), content.len() as u64);
                let result = wire::object(move |result| {
                    result.large("content", &content);
                });
                (result, Some(HostEvent::FileRead { path, bytes }))
            }
            (
                _,
                HostReply::Output {
                    output,
                    truncated,
                    exit,
                },
            ) => {
                let result = wire::object(move |result| {
                    result.large("output", &output).put("truncated", &truncated);
                    result.put("exitStatus", &exit.as_ref().map(exit_json));
                });
                (result, None)
            }
            (_, HostReply::Exited(exit)) => (exit_json(&exit).into(), None),
            (HostCall::KillTerminal { terminal_id }, _) => {
                let terminal_id = terminal_id.clone();
                let event = HostEvent::TerminalKilled { terminal_id };
                (RawJson::trusted("{}"), Some(event))
            }
            (HostCall::ReleaseTerminal { terminal_id }, _) => {
                let terminal_id = terminal_id.clone();
                let event = HostEvent::TerminalReleased { terminal_id };
                (RawJson::trusted("{}"), Some(event))
            }
            _ => (RawJson::trusted("{}"), None),
        };
        if let Some(event) = event.filter(|_| !recorded) {
            journal.emit(Origin::Agent, EventKind::Host(event), None);
        }
        self.answer_repeatable(journal, call, result, what);
    }

    /// Returns whether a missing file must read as empty. Some agents treat "no such file" as a failure of the tool
    /// that is about to create the file.
    fn is_empty_for(&self, task: &HostTask, failure: &Failure) -> bool {
        self.quirks.missing_file_is_empty
            && failure.code == ErrorCode::NotFound
            && matches!(task, HostTask::Again(repeatable) if matches!(repeatable.what, HostCall::ReadFile { .. }))
    }
}

fn exit_json(exit: &TerminalExit) -> Value {
    json!({ "exitCode": exit.code, "signal": exit.signal })
}
