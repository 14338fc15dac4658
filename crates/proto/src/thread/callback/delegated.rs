//! Callbacks that an editor answers in place of the daemon.
//!
//! In: an approved callback, the editor's answer. Out: commands for the editor, the answer for the agent, the events
//! of completed operations. Owns: no state; the delegations are tasks of the callbacks. Never: repeats an operation
//! that an editor may have started, except a read. The editor's answer is final, even if it is an error.

use std::time::Duration;

use acpd_model::limits::{EDITOR_ANSWER_SECS, EDITOR_CALLS};
use acpd_model::{ErrorCode, EventKind, Failure, HostEvent, Origin, PreviousContent, RawJson, SessionEvent};
use serde::Deserialize;
use serde_json::Value;

use super::Callbacks;
use super::delegated_terminals::{CreatedTerminal, is_exit, is_output};
use super::files::{FileWrite, begin_change, fail_change};
use super::final_output::is_own;
use super::lease::AttachedEditor;
use super::task::{Delegation, HostTask, Responder, TerminalCommand, name, terminal_id};
use super::terminals::of_line;
use crate::agent::Call;
use crate::thread::editors::{EditorCommand, EditorRequest};
use crate::thread::effect::Effect;
use crate::thread::journal::Journal;
use crate::wire::{RpcError, Text, spliced};

/// Seconds that an editor has to answer an agent's extension request, which may need the user.
const EDITOR_EXTENSION_SECS: u64 = 3600;

/// The required members of an answer. Other members are ignored.
#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    content: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    #[serde(rename = "terminalId")]
    _terminal_id: String,
}

impl Callbacks {
    /// Returns which side answers the callback now.
    pub(super) fn responder(&self, journal: &Journal, request: &Call) -> Responder {
        let holder = self.lease_holder(journal);
        let able = |can: fn(&AttachedEditor) -> bool| holder.filter(|holder| can(holder));
        let editor = match request {
            Call::ReadFile { .. } => able(|holder| holder.abilities.reads_files),
            Call::WriteFile { .. } => able(|holder| holder.abilities.writes_files),
            Call::CreateTerminal { .. } => able(|holder| holder.abilities.terminals),
            Call::TerminalOutput { terminal_id }
            | Call::WaitForTerminalExit { terminal_id }
            | Call::KillTerminal { terminal_id }
            | Call::ReleaseTerminal { terminal_id } => return self.terminal_responder(terminal_id),
            // An extension needs no capability, only an editor that may know it.
            Call::Extension { .. } => holder.or(self.editors.first()),
            Call::Permission { .. } | Call::Elicit { .. } => None,
        };
        editor.map_or(Responder::Daemon, |editor| {
            Responder::Editor(editor.connection.clone())
        })
    }

    /// Delegates the callback to an editor.
    pub(super) fn delegate(
        &mut self,
        journal: &mut Journal,
        call: u64,
        request: Call,
        at: Option<String>,
        connection: String,
    ) {
        let Some(by) = self.attached(&connection).map(|editor| editor.by.clone()) else {
            return self.run_on_host(journal, call, request, at);
        };
        if let Call::ReleaseTerminal { terminal_id } = &request
            && (self.awaits_output(terminal_id) || self.ask_output(journal, terminal_id))
        {
            self.tasks
                .insert(call, HostTask::QueuedRelease(terminal_id.clone()));
            return;
        }
        let at_it = self.delegated_to(&connection).count();
        if at_it >= EDITOR_CALLS {
            let message = format!(
                "{EDITOR_CALLS} requests wait for the answer of {} already",
                name(&by)
            );
            let failure = Failure::new(ErrorCode::Overloaded, message);
            return self.refuse_and_record(journal, call, request.method(), &failure);
        }
        let creates = matches!(request, Call::CreateTerminal { .. });
        if creates
            && let Err(failure) = self
                .check_terminals(journal)
                .and_then(|()| self.check_in_editors())
        {
            return self.refuse_and_record(journal, call, request.method(), &failure);
        }
        let params = match &request {
            Call::Extension { params, .. } => params.clone(),
            _ => self.raw_params.remove(&call),
        };
        let (request, params) = self.as_program(request, params);
        let item = match &request {
            Call::WriteFile { path, .. } => begin_change(journal, path, by.clone()),
            _ => None,
        };
        let makes = creates.then(|| terminal_id(call));
        let terminal_id = match &request {
            Call::TerminalOutput { terminal_id }
            | Call::WaitForTerminalExit { terminal_id }
            | Call::KillTerminal { terminal_id }
            | Call::ReleaseTerminal { terminal_id } => Some(terminal_id.clone()),
            _ => makes.clone(),
        };
        // Clients must receive the agent's earlier text before the editor receives the request.
        journal.flush();
        let order = EditorCommand::Request {
            call,
            after: journal.live().last_seq,
            request: Box::new(EditorRequest {
                method: request.method().to_owned(),
                params,
                terminal_id,
                creates,
            }),
        };
        let after_exit =
            matches!(&request, Call::TerminalOutput { terminal_id } if self.has_exited(terminal_id));
        let until = answer_timeout(&request).map(|patience| journal.now().mono + patience);
        let delegation = Delegation {
            connection: connection.clone(),
            by,
            request,
            at,
            item,
            turn: journal.current_turn(),
            makes,
            after_exit,
            withdrawn: false,
            until,
        };
        self.tasks.insert(call, HostTask::Delegated(Box::new(delegation)));
        journal.push(Effect::Editor { connection, order });
    }

    /// Returns a request for a terminal as editors understand it: agents that send a whole shell line rely on the editor to
    /// pass it to a shell, and many start a program of that name. Every other request stays as it is.
    fn as_program(&self, mut request: Call, params: Option<RawJson>) -> (Call, Option<RawJson>) {
        let Call::CreateTerminal { command, args, .. } = &mut request else {
            return (request, params);
        };
        if !self.is_line(args) {
            return (request, params);
        }
        (*command, *args) = of_line(std::mem::take(command));
        let program = Value::from(command.as_str()).to_string();
        let arguments = Value::from(args.clone()).to_string();
        let params = params.map(|params| spliced(&params, &[("command", &program), ("args", &arguments)]));
        (request, params)
    }

    /// Returns the callbacks that are delegated to an editor.
    pub(super) fn delegated_to(&self, connection: &str) -> impl Iterator<Item = u64> {
        self.tasks.iter().filter_map(move |(call, task)| match task {
            HostTask::Delegated(delegation) if delegation.connection == connection => Some(*call),
            _ => None,
        })
    }

    pub(super) fn take_delegation(&mut self, call: u64) -> Option<Delegation> {
        match self.tasks.remove(&call)? {
            HostTask::Delegated(delegation) => Some(*delegation),
            other => {
                self.tasks.insert(call, other);
                None
            }
        }
    }

    /// Handles an editor's answer. Ignores answers that are late, repeated, or from another connection.
    pub fn editor_answered(
        &mut self,
        journal: &mut Journal,
        connection: &str,
        call: u64,
        result: Result<RawJson, RpcError>,
    ) {
        if is_own(call) {
            return self.final_output_answered(journal, connection, call, result);
        }
        if !self.delegated_to(connection).any(|delegation| delegation == call) {
            return;
        }
        let Some(delegation) = self.take_delegation(call) else {
            return;
        };
        match result {
            Ok(result) if is_answer(&delegation.request, &result) => {
                self.editor_did(journal, call, delegation, result)
            }
            Ok(_) => {
                let message = format!(
                    "{} sent an invalid response to {}{}",
                    name(&delegation.by),
                    delegation.request.method(),
                    unknown_effect(&delegation.request)
                );
                let by = delegation.by.clone();
                self.not_done(journal, call, &delegation, by, unknown(message));
            }
            Err(error) => {
                let by = delegation.by.clone();
                self.not_done(journal, call, &delegation, by, error);
            }
        }
    }

    /// Records the editor's operation, and passes the answer on unchanged.
    fn editor_did(&mut self, journal: &mut Journal, call: u64, delegation: Delegation, result: RawJson) {
        let is_extension = matches!(delegation.request, Call::Extension { .. });
        let Delegation {
            connection,
            by,
            request,
            item,
            turn: begun,
            makes,
            after_exit,
            withdrawn,
            ..
        } = delegation;
        match request {
            Call::ReadFile { path, .. } => {
                let bytes = serde_json::from_str::<Content<'_>>(result.get())
                    .map_or(0, |answer| answer.content.len() as u64);
                journal.emit(by, EventKind::Host(HostEvent::FileRead { path, bytes }), None);
            }
            Call::WriteFile { path, content } => {
                let write = FileWrite {
                    path,
                    content,
                    item,
                    turn: begun,
                };
                write.complete(journal, &PreviousContent::Unknown, by);
            }
            Call::CreateTerminal {
                command,
                args,
                cwd,
                output_byte_limit,
                ..
            } => {
                if let Some(terminal_id) = makes {
                    let command = TerminalCommand {
                        terminal_id,
                        command,
                        args,
                        cwd: cwd.unwrap_or_else(|| journal.live().spec.session_cwd().to_owned()),
                    };
                    let made = CreatedTerminal {
                        connection,
                        by,
                        command,
                        output_byte_limit,
                        withdrawn,
                    };
                    self.editor_terminal_created(journal, call, made);
                }
            }
            Call::TerminalOutput { terminal_id } => {
                self.editor_output_received(journal, &terminal_id, &result, after_exit)
            }
            Call::WaitForTerminalExit { terminal_id } => {
                self.editor_exit_received(journal, &terminal_id, &result)
            }
            Call::KillTerminal { terminal_id } => {
                journal.emit(
                    by,
                    EventKind::Host(HostEvent::TerminalKilled { terminal_id }),
                    None,
                );
            }
            Call::ReleaseTerminal { terminal_id } => self.release_terminal(journal, terminal_id, by),
            Call::Extension { .. } | Call::Permission { .. } | Call::Elicit { .. } => {}
        }
        // ACP uses an empty object for an empty result.
        let result = match result.get() {
            "null" if !is_extension => RawJson::trusted("{}"),
            _ => result,
        };
        let result = Ok(result);
        self.answer(journal, call, result);
    }

    /// Handles an operation that failed, or whose outcome is unknown. The agent gets the error; an operation that
    /// would have changed the host is also recorded.
    pub(super) fn not_done(
        &mut self,
        journal: &mut Journal,
        call: u64,
        delegation: &Delegation,
        by: Origin,
        error: RpcError,
    ) {
        end_change(journal, delegation, by.clone());
        if !matches!(
            delegation.request,
            Call::ReadFile { .. } | Call::TerminalOutput { .. } | Call::WaitForTerminalExit { .. }
        ) {
            let kind = EventKind::Session(SessionEvent::CallRefused {
                method: delegation.request.method().to_owned(),
                reason: error.message.clone(),
                requested_by: None,
            });
            journal.emit(by, kind, None);
        }
        self.answer(journal, call, Err(error));
    }
}

/// Ends the file change of a delegated write that failed, or whose result is unknown.
pub(super) fn end_change(journal: &mut Journal, delegation: &Delegation, by: Origin) {
    if let Call::WriteFile { path, .. } = &delegation.request {
        fail_change(journal, delegation.item, path, by);
    }
}

/// The error for the agent when an editor gives no valid answer.
pub(super) fn unknown(message: String) -> RpcError {
    RpcError::new(ErrorCode::Internal.rpc(), message)
}

/// Returns the time limit for an editor's answer.
pub(super) fn answer_timeout(request: &Call) -> Option<Duration> {
    match request {
        Call::WaitForTerminalExit { .. } => None,
        Call::Extension { .. } => Some(Duration::from_secs(EDITOR_EXTENSION_SECS)),
        _ => Some(Duration::from_secs(EDITOR_ANSWER_SECS)),
    }
}

/// Describes the operation whose outcome is unknown without an answer.
pub(super) fn unknown_effect(request: &Call) -> String {
    match request {
        Call::WriteFile { path, .. } => format!("; it is not known whether {path} was written"),
        Call::CreateTerminal { command, .. } => format!("; it is not known whether {command} was started"),
        _ => String::new(),
    }
}

/// Returns whether the answer is valid for the request.
fn is_answer(request: &Call, result: &RawJson) -> bool {
    match request {
        Call::ReadFile { .. } => serde_json::from_str::<Content<'_>>(result.get()).is_ok(),
        Call::CreateTerminal { .. } => result.read::<Created>().is_ok(),
        Call::TerminalOutput { .. } => is_output(result),
        Call::WaitForTerminalExit { .. } => is_exit(result),
        Call::Extension { .. } => true,
        _ => result.get() == "null" || result.get().starts_with('{'),
    }
}
