//! Callbacks that an editor answers in our place.
//!
//! In: a callback that was decided on, what the editor answers, that it is gone or too late. Out: orders for the editor, the
//! answer for the agent, the events of what was done. What an editor has answered, an error too, is the answer. What it may
//! have begun is never begun again.

use std::time::Duration;

use acpd_model::limits::{EDITOR_ANSWER_SECS, EDITOR_CALLS, EDITOR_EXTENSION_SECS};
use acpd_model::{ErrorCode, EventKind, Failure, ItemEnd, ItemOutcome, Origin, PreviousContent, RawJson};
use serde::Deserialize;

use super::Callbacks;
use super::delegated_terminals::{CreatedTerminal, is_exit, is_output};
use super::final_output::is_own;
use super::lease::AttachedEditor;
use super::task::{Delegation, HostTask, Responder, name};
use crate::agent::Call;
use crate::thread::command::Effect;
use crate::thread::editors::{EditorCommand, EditorRequest};
use crate::thread::journal::Journal;
use crate::time::{Instant, earliest};
use crate::wire::{RpcError, Text};

/// The members of an answer that must be there. Others are nothing to us.
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
    /// Who answers it now.
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
            // It needs no more than somebody who knows it.
            Call::Extension { .. } => holder.or(self.editors.first()),
            Call::Permission { .. } | Call::Elicit { .. } => None,
        };
        editor.map_or(Responder::Daemon, |editor| {
            Responder::Editor(editor.connection.clone())
        })
    }

    /// Has an editor do it.
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
        let item = match &request {
            Call::WriteFile { path, .. } => self.begin_change(journal, path, by.clone()),
            _ => None,
        };
        let makes = creates.then(|| format!("term_{}", call + 1));
        let terminal_id = match &request {
            Call::TerminalOutput { terminal_id }
            | Call::WaitForTerminalExit { terminal_id }
            | Call::KillTerminal { terminal_id }
            | Call::ReleaseTerminal { terminal_id } => Some(terminal_id.clone()),
            _ => makes.clone(),
        };
        // What the agent said before it asked is told before it is asked.
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

    /// The callbacks that an editor has.
    pub(super) fn delegated_to(&self, connection: &str) -> impl Iterator<Item = u64> {
        self.tasks.iter().filter_map(move |(call, work)| match work {
            HostTask::Delegated(delegation) if delegation.connection == connection => Some(*call),
            _ => None,
        })
    }

    fn take_delegation(&mut self, call: u64) -> Option<Delegation> {
        match self.tasks.remove(&call)? {
            HostTask::Delegated(delegation) => Some(*delegation),
            other => {
                self.tasks.insert(call, other);
                None
            }
        }
    }

    /// An editor has answered. What nobody waits for is passed over: it comes late, or twice, or from somebody else.
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
                    "{} answered {} with something that is no answer to it{}",
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

    /// Records what an editor has done, and passes its answer on as it came.
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
                journal.emit(by, EventKind::FileRead { path, bytes }, None);
            }
            Call::WriteFile { path, content } => {
                self.file_written(
                    journal,
                    path,
                    &content,
                    &PreviousContent::Unknown,
                    item,
                    begun,
                    by,
                );
            }
            Call::CreateTerminal {
                command,
                args,
                cwd,
                output_byte_limit,
                ..
            } => {
                if let Some(terminal_id) = makes {
                    let made = CreatedTerminal {
                        connection,
                        by,
                        terminal_id,
                        command,
                        args,
                        cwd: cwd.unwrap_or_else(|| journal.live().spec.session_cwd().to_owned()),
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
                journal.emit(by, EventKind::TerminalKilled { terminal_id }, None);
            }
            Call::ReleaseTerminal { terminal_id } => self.release_terminal(journal, terminal_id, by),
            Call::Extension { .. } | Call::Permission { .. } | Call::Elicit { .. } => {}
        }
        // Where there is nothing to tell, ACP has an object with nothing in it.
        let result = match result.get() {
            "null" if !is_extension => RawJson::trusted("{}"),
            _ => result,
        };
        let result = Ok(result);
        self.answer(journal, call, result);
    }

    /// It was not done, or nobody knows whether it was. The agent hears why; what would have changed the world is recorded.
    fn not_done(
        &mut self,
        journal: &mut Journal,
        call: u64,
        delegation: &Delegation,
        by: Origin,
        error: RpcError,
    ) {
        self.end_change(journal, delegation, by.clone());
        if !matches!(
            delegation.request,
            Call::ReadFile { .. } | Call::TerminalOutput { .. } | Call::WaitForTerminalExit { .. }
        ) {
            let kind = EventKind::CallRefused {
                method: delegation.request.method().to_owned(),
                reason: error.message.clone(),
            };
            journal.emit(by, kind, None);
        }
        self.answer(journal, call, Err(error));
    }

    fn end_change(&mut self, journal: &mut Journal, delegation: &Delegation, by: Origin) {
        let (Some(item), Call::WriteFile { path, .. }) = (delegation.item, &delegation.request) else {
            return;
        };
        let end = ItemEnd::FileChange {
            path: path.clone(),
            diff: String::new(),
            replaced: None,
        };
        let kind = EventKind::ItemCompleted {
            item,
            outcome: ItemOutcome::Failed,
            end,
        };
        journal.emit(by, kind, None);
    }

    /// An editor is gone. What it was not asked yet, and what changes nothing, is done here; of the rest nobody knows whether
    /// it was done.
    pub(super) fn end_delegations_to(
        &mut self,
        journal: &mut Journal,
        gone: &AttachedEditor,
        unsent: &[u64],
    ) {
        let calls: Vec<u64> = self.delegated_to(&gone.connection).collect();
        for call in calls {
            let Some(delegation) = self.take_delegation(call) else {
                continue;
            };
            // Nobody waits for what only the agent wanted to know.
            if self.is_abandoned(call) && !delegation.changes() {
                continue;
            }
            let is_unsent = unsent.contains(&call);
            if is_unsent && (delegation.withdrawn || self.is_abandoned(call)) {
                self.end_change(journal, &delegation, Origin::Daemon);
                continue;
            }
            match &delegation.request {
                Call::ReadFile { .. } => self.run_on_host(journal, call, delegation.request, delegation.at),
                Call::WriteFile { .. } if is_unsent => {
                    let Delegation {
                        request, at, item, ..
                    } = delegation;
                    if let Call::WriteFile { path, content } = request {
                        self.write_on_host(journal, call, path, at, content, item);
                    }
                }
                Call::CreateTerminal { .. } if is_unsent => {
                    self.run_on_host(journal, call, delegation.request, delegation.at)
                }
                // Somebody else may know it.
                Call::Extension { .. } if is_unsent => self.run(journal, call, delegation.request, None),
                Call::TerminalOutput { .. }
                | Call::WaitForTerminalExit { .. }
                | Call::KillTerminal { .. }
                | Call::ReleaseTerminal { .. } => self.answer_lost(journal, call, delegation.request),
                _ => {
                    let message = format!(
                        "{} was gone before it answered {}{}",
                        name(&delegation.by),
                        delegation.request.method(),
                        unknown_effect(&delegation.request)
                    );
                    let error = unknown(message);
                    self.not_done(journal, call, &delegation, Origin::Daemon, error);
                }
            }
        }
    }

    /// When the next editor will have been given enough time.
    pub(super) fn delegation_deadline(&self) -> Option<Instant> {
        let deadlines = self.tasks.values().map(|work| match work {
            HostTask::Delegated(delegation) => delegation.until,
            _ => None,
        });
        deadlines.fold(None, earliest)
    }

    pub(super) fn expire_delegations(&mut self, journal: &mut Journal) {
        let now = journal.now().mono;
        let is_late = |work: &HostTask| matches!(work, HostTask::Delegated(delegation) if delegation.until.is_some_and(|at| at <= now));
        let late: Vec<u64> = self
            .tasks
            .iter()
            .filter(|(_, work)| is_late(work))
            .map(|(call, _)| *call)
            .collect();
        for call in late {
            let Some(delegation) = self.take_delegation(call) else {
                continue;
            };
            self.withdraw_from_editor(journal, &delegation, call, true);
            let message = format!(
                "{} did not answer {} within {} s{}",
                name(&delegation.by),
                delegation.request.method(),
                answer_timeout(&delegation.request).unwrap_or_default().as_secs(),
                unknown_effect(&delegation.request)
            );
            let error = unknown(message);
            self.not_done(journal, call, &delegation, Origin::Daemon, error);
        }
    }

    /// The agent takes a callback back that an editor has. What changes something is still waited for: it may happen.
    pub(super) fn withdraw_delegation(&mut self, journal: &mut Journal, call: u64) {
        let Some(mut delegation) = self.take_delegation(call) else {
            return;
        };
        delegation.withdrawn = true;
        let changes = delegation.changes();
        self.withdraw_from_editor(journal, &delegation, call, !changes);
        if changes {
            self.tasks.insert(call, HostTask::Delegated(Box::new(delegation)));
        }
    }

    /// The agent is gone: editors need not go on with what only it wanted to know.
    pub fn withdraw_delegations(&mut self, journal: &mut Journal) {
        let calls: Vec<u64> = self.tasks.keys().copied().collect();
        for call in calls {
            let Some(delegation) = self.take_delegation(call) else {
                continue;
            };
            if delegation.outlives_agent() {
                self.tasks.insert(call, HostTask::Delegated(Box::new(delegation)));
            } else {
                self.withdraw_from_editor(journal, &delegation, call, true);
            }
        }
    }

    /// The daemon stops: it will not hear any more what editors are at.
    pub fn abort_delegations(&mut self, journal: &mut Journal, reason: &str) {
        let calls: Vec<u64> = self.tasks.keys().copied().collect();
        for call in calls {
            if let Some(delegation) = self.take_delegation(call) {
                self.withdraw_from_editor(journal, &delegation, call, true);
                let message = format!("{reason}{}", unknown_effect(&delegation.request));
                let error = unknown(message);
                self.not_done(journal, call, &delegation, Origin::Daemon, error);
            }
        }
    }

    fn withdraw_from_editor(
        &mut self,
        journal: &mut Journal,
        delegation: &Delegation,
        call: u64,
        forget: bool,
    ) {
        journal.push(Effect::Editor {
            connection: delegation.connection.clone(),
            order: EditorCommand::Withdraw { call, forget },
        });
    }
}

/// What the agent hears that has no answer.
fn unknown(message: String) -> RpcError {
    RpcError::new(ErrorCode::Internal.rpc(), message)
}

/// How long an editor may take.
fn answer_timeout(request: &Call) -> Option<Duration> {
    match request {
        Call::WaitForTerminalExit { .. } => None,
        Call::Extension { .. } => Some(Duration::from_secs(EDITOR_EXTENSION_SECS)),
        _ => Some(Duration::from_secs(EDITOR_ANSWER_SECS)),
    }
}

/// What nobody knows, now that there is no answer.
fn unknown_effect(request: &Call) -> String {
    match request {
        Call::WriteFile { path, .. } => format!("; it is not known whether {path} was written"),
        Call::CreateTerminal { command, .. } => format!("; it is not known whether {command} was started"),
        _ => String::new(),
    }
}

/// Whether the agent can make anything of it.
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
