//! Callbacks of the agent that the host carries out, and their results.

use acpd_model::{ErrorCode, EventKind, Failure, HostEvent, ItemId, Origin, RawJson, SessionEvent};
use serde_json::{Value, json};

use super::Callbacks;
use super::files::{FileWrite, begin_change, fail_change};
use super::task::{HostTask, TerminalCommand, terminal_id};
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
                self.tasks.insert(call, HostTask::Read { path: path.clone() });
                let what = HostCall::ReadFile {
                    path,
                    at,
                    line,
                    limit,
                };
                journal.call_host(call, what);
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
                self.other(journal, call, HostCall::TerminalOutput { terminal_id })
            }
            Call::WaitForTerminalExit { terminal_id } => {
                self.other(journal, call, HostCall::WaitForTerminalExit { terminal_id });
            }
            Call::KillTerminal { terminal_id } => {
                let task = HostTask::Kill {
                    terminal_id: terminal_id.clone(),
                };
                self.tasks.insert(call, task);
                journal.call_host(call, HostCall::KillTerminal { terminal_id });
            }
            Call::ReleaseTerminal { terminal_id } => {
                let task = HostTask::Release {
                    terminal_id: terminal_id.clone(),
                };
                self.tasks.insert(call, task);
                journal.call_host(call, HostCall::ReleaseTerminal { terminal_id });
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

    fn other(&mut self, journal: &mut Journal, call: u64, what: HostCall) {
        self.tasks.insert(call, HostTask::Other);
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
            content: content.clone(),
            item,
            turn: journal.current_turn(),
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
        let reply = match result {
            Ok(reply) => reply,
            Err(failure) if self.is_empty_for(&task, &failure) => HostReply::Read {
                content: String::new(),
            },
            Err(failure) => {
                let method = task.recorded_method();
                match &task {
                    HostTask::Create(command) => {
                        self.output_limits.remove(&command.terminal_id);
                    }
                    HostTask::Write(write) => {
                        fail_change(journal, write.item, &write.path, Origin::Daemon);
                    }
                    _ => {}
                }
                return match method {
                    Some(method) => self.refuse_and_record(journal, call, method, &failure),
                    None => self.refuse(journal, call, &failure),
                };
            }
        };
        let nothing = RawJson::trusted("{}");
        let result = match (task, reply) {
            (HostTask::Read { path }, HostReply::Read { content }) => {
                let bytes = content.len() as u64;
                journal.emit(
                    Origin::Agent,
                    EventKind::Host(HostEvent::FileRead { path, bytes }),
                    None,
                );
                wire::object(move |result| {
                    result.large("content", &content);
                })
            }
            (HostTask::Write(write), HostReply::Written { old }) => {
                write.complete(journal, &old, Origin::Agent);
                nothing
            }
            (HostTask::Create(command), HostReply::Created) => {
                let result = RawJson::from(json!({ "terminalId": command.terminal_id }));
                self.terminal_created(journal, call, command, Origin::Agent);
                result
            }
            (
                _,
                HostReply::Output {
                    output,
                    truncated,
                    exit,
                },
            ) => wire::object(move |result| {
                result.large("output", &output).put("truncated", &truncated);
                result.put("exitStatus", &exit.as_ref().map(exit_json));
            }),
            (_, HostReply::Exited(exit)) => exit_json(&exit).into(),
            (HostTask::Kill { terminal_id }, _) => {
                let kind = EventKind::Host(HostEvent::TerminalKilled { terminal_id });
                journal.emit(Origin::Agent, kind, None);
                nothing
            }
            (HostTask::Release { terminal_id }, _) => {
                let kind = EventKind::Host(HostEvent::TerminalReleased { terminal_id });
                journal.emit(Origin::Agent, kind, None);
                nothing
            }
            _ => nothing,
        };
        self.answer(journal, call, Ok(result));
    }

    /// Returns whether a missing file must read as empty. Some agents treat "no such file" as a failure of the tool
    /// that is about to create the file.
    fn is_empty_for(&self, task: &HostTask, failure: &Failure) -> bool {
        self.quirks.missing_file_is_empty
            && failure.code == ErrorCode::NotFound
            && matches!(task, HostTask::Read { .. })
    }
}

fn exit_json(exit: &TerminalExit) -> Value {
    json!({ "exitCode": exit.code, "signal": exit.signal })
}
