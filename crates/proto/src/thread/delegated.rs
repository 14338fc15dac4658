//! Callbacks that an editor answers in our place.
//!
//! In: a callback that was decided on, what the editor answers, that it is gone or too late. Out: orders for the editor, the
//! answer for the agent, the events of what was done. What an editor has answered, an error too, is the answer. What it may
//! have begun is never begun again.

use std::time::Duration;

use acpd_model::limits::{EDITOR_ANSWER_SECS, EDITOR_CALLS, EDITOR_EXTENSION_SECS};
use acpd_model::{
    ErrorCode, EventKind, Failure, ItemEnd, ItemId, ItemOutcome, Origin, PreviousContent, RawJson, TurnId,
};
use serde::Deserialize;

use super::command::Effect;
use super::delegated_terminals::{CreatedTerminal, is_exit, is_output};
use super::editors::{EditorCommand, EditorRequest};
use super::final_output::is_own;
use super::host::HostTask;
use super::lease::AttachedEditor;
use super::thread::Thread;
use crate::agent::{AgentCommand, Call};
use crate::time::{Instant, earliest};
use crate::wire::{RpcError, Text};

/// A callback that an editor has.
#[derive(Debug)]
pub(super) struct Delegation {
    pub connection: String,
    /// The editor, as the causer of what comes of it.
    pub by: Origin,
    pub request: Call,
    /// Where its file was when it was decided on, should it be done here after all.
    at: Option<String>,
    /// The file change that it is.
    pub item: Option<ItemId>,
    /// The turn in which it was begun.
    turn: Option<TurnId>,
    /// The terminal that it makes.
    pub makes: Option<String>,
    /// The command was known to have ended when its output was asked for.
    after_exit: bool,
    /// The agent took it back.
    withdrawn: bool,
    until: Option<Instant>,
}

/// Who answers a callback.
pub(super) enum Responder {
    Daemon,
    Editor(String),
    /// A terminal that was lost with its editor.
    Lost,
}

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

impl Thread {
    /// Who answers it now.
    pub(super) fn responder(&self, request: &Call) -> Responder {
        let holder = self.lease_holder();
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
    pub(super) fn delegate(&mut self, call: u64, request: Call, at: Option<String>, connection: String) {
        let Some(by) = self.attached(&connection).map(|editor| editor.by.clone()) else {
            return self.run_on_host(call, request, at);
        };
        if let Call::ReleaseTerminal { terminal_id } = &request
            && (self.awaits_output(terminal_id) || self.ask_output(terminal_id))
        {
            self.host_tasks
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
            return self.refuse_and_record(call, request.method(), &failure);
        }
        let creates = matches!(request, Call::CreateTerminal { .. });
        if creates && let Err(failure) = self.check_terminals().and_then(|()| self.check_in_editors()) {
            return self.refuse_and_record(call, request.method(), &failure);
        }
        let params = match &request {
            Call::Extension { params, .. } => params.clone(),
            _ => self.raw_params.remove(&call),
        };
        let item = match &request {
            Call::WriteFile { path, .. } => self.begin_change(path, by.clone()),
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
        self.journal.flush();
        let order = EditorCommand::Request {
            call,
            after: self.journal.live().last_seq,
            request: Box::new(EditorRequest {
                method: request.method().to_owned(),
                params,
                terminal_id,
                creates,
            }),
        };
        let after_exit =
            matches!(&request, Call::TerminalOutput { terminal_id } if self.has_exited(terminal_id));
        let until = answer_timeout(&request).map(|patience| self.journal.now().mono + patience);
        let delegation = Delegation {
            connection: connection.clone(),
            by,
            request,
            at,
            item,
            turn: self.journal.current_turn(),
            makes,
            after_exit,
            withdrawn: false,
            until,
        };
        self.host_tasks
            .insert(call, HostTask::Delegated(Box::new(delegation)));
        self.journal.push(Effect::Editor { connection, order });
    }

    /// The callbacks that an editor has.
    pub(super) fn delegated_to(&self, connection: &str) -> impl Iterator<Item = u64> {
        self.host_tasks.iter().filter_map(move |(call, work)| match work {
            HostTask::Delegated(delegation) if delegation.connection == connection => Some(*call),
            _ => None,
        })
    }

    fn take_delegation(&mut self, call: u64) -> Option<Delegation> {
        match self.host_tasks.remove(&call)? {
            HostTask::Delegated(delegation) => Some(*delegation),
            other => {
                self.host_tasks.insert(call, other);
                None
            }
        }
    }

    /// An editor has answered. What nobody waits for is passed over: it comes late, or twice, or from somebody else.
    pub(super) fn editor_answered(&mut self, connection: &str, call: u64, result: Result<RawJson, RpcError>) {
        if is_own(call) {
            return self.final_output_answered(connection, call, result);
        }
        if !self.delegated_to(connection).any(|delegation| delegation == call) {
            return;
        }
        let Some(delegation) = self.take_delegation(call) else {
            return;
        };
        match result {
            Ok(result) if is_answer(&delegation.request, &result) => {
                self.editor_did(call, delegation, result)
            }
            Ok(_) => {
                let message = format!(
                    "{} answered {} with something that is no answer to it{}",
                    name(&delegation.by),
                    delegation.request.method(),
                    unknown_effect(&delegation.request)
                );
                let by = delegation.by.clone();
                self.not_done(call, &delegation, by, unknown(message));
            }
            Err(error) => {
                let by = delegation.by.clone();
                self.not_done(call, &delegation, by, error);
            }
        }
    }

    /// Records what an editor has done, and passes its answer on as it came.
    fn editor_did(&mut self, call: u64, delegation: Delegation, result: RawJson) {
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
                self.journal.emit(by, EventKind::FileRead { path, bytes }, None);
            }
            Call::WriteFile { path, content } => {
                self.file_written(path, &content, &PreviousContent::Unknown, item, begun, by);
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
                        cwd: cwd.unwrap_or_else(|| self.journal.live().spec.session_cwd().to_owned()),
                        output_byte_limit,
                        withdrawn,
                    };
                    self.editor_terminal_created(call, made);
                }
            }
            Call::TerminalOutput { terminal_id } => {
                self.editor_output_received(&terminal_id, &result, after_exit)
            }
            Call::WaitForTerminalExit { terminal_id } => self.editor_exit_received(&terminal_id, &result),
            Call::KillTerminal { terminal_id } => {
                self.journal
                    .emit(by, EventKind::TerminalKilled { terminal_id }, None);
            }
            Call::ReleaseTerminal { terminal_id } => self.release_terminal(terminal_id, by),
            Call::Extension { .. } | Call::Permission { .. } | Call::Elicit { .. } => {}
        }
        // Where there is nothing to tell, ACP has an object with nothing in it.
        let result = match result.get() {
            "null" if !is_extension => RawJson::trusted("{}"),
            _ => result,
        };
        let result = Ok(result);
        self.send_to_agent(AgentCommand::Answer { call, result });
    }

    /// It was not done, or nobody knows whether it was. The agent hears why; what would have changed the world is recorded.
    fn not_done(&mut self, call: u64, delegation: &Delegation, by: Origin, error: RpcError) {
        self.end_change(delegation, by.clone());
        if !matches!(
            delegation.request,
            Call::ReadFile { .. } | Call::TerminalOutput { .. } | Call::WaitForTerminalExit { .. }
        ) {
            let kind = EventKind::CallRefused {
                method: delegation.request.method().to_owned(),
                reason: error.message.clone(),
            };
            self.journal.emit(by, kind, None);
        }
        self.send_to_agent(AgentCommand::Answer {
            call,
            result: Err(error),
        });
    }

    fn end_change(&mut self, delegation: &Delegation, by: Origin) {
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
        self.journal.emit(by, kind, None);
    }

    /// An editor is gone. What it was not asked yet, and what changes nothing, is done here; of the rest nobody knows whether
    /// it was done.
    pub(super) fn end_delegations_to(&mut self, gone: &AttachedEditor, unsent: &[u64]) {
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
                self.end_change(&delegation, Origin::Daemon);
                continue;
            }
            match &delegation.request {
                Call::ReadFile { .. } => self.run_on_host(call, delegation.request, delegation.at),
                Call::WriteFile { .. } if is_unsent => {
                    let Delegation {
                        request, at, item, ..
                    } = delegation;
                    if let Call::WriteFile { path, content } = request {
                        self.write_on_host(call, path, at, content, item);
                    }
                }
                Call::CreateTerminal { .. } if is_unsent => {
                    self.run_on_host(call, delegation.request, delegation.at)
                }
                // Somebody else may know it.
                Call::Extension { .. } if is_unsent => self.run_call(call, delegation.request, None),
                Call::TerminalOutput { .. }
                | Call::WaitForTerminalExit { .. }
                | Call::KillTerminal { .. }
                | Call::ReleaseTerminal { .. } => self.answer_lost(call, delegation.request),
                _ => {
                    let message = format!(
                        "{} was gone before it answered {}{}",
                        name(&delegation.by),
                        delegation.request.method(),
                        unknown_effect(&delegation.request)
                    );
                    let error = unknown(message);
                    self.not_done(call, &delegation, Origin::Daemon, error);
                }
            }
        }
    }

    /// When the next editor will have been given enough time.
    pub(super) fn delegation_deadline(&self) -> Option<Instant> {
        let deadlines = self.host_tasks.values().map(|work| match work {
            HostTask::Delegated(delegation) => delegation.until,
            _ => None,
        });
        deadlines.fold(None, earliest)
    }

    pub(super) fn expire_delegations(&mut self) {
        let now = self.journal.now().mono;
        let is_late = |work: &HostTask| matches!(work, HostTask::Delegated(delegation) if delegation.until.is_some_and(|at| at <= now));
        let late: Vec<u64> = self
            .host_tasks
            .iter()
            .filter(|(_, work)| is_late(work))
            .map(|(call, _)| *call)
            .collect();
        for call in late {
            let Some(delegation) = self.take_delegation(call) else {
                continue;
            };
            self.withdraw_from_editor(&delegation, call, true);
            let message = format!(
                "{} did not answer {} within {} s{}",
                name(&delegation.by),
                delegation.request.method(),
                answer_timeout(&delegation.request).unwrap_or_default().as_secs(),
                unknown_effect(&delegation.request)
            );
            let error = unknown(message);
            self.not_done(call, &delegation, Origin::Daemon, error);
        }
    }

    /// The agent takes a callback back that an editor has. What changes something is still waited for: it may happen.
    pub(super) fn withdraw_delegation(&mut self, call: u64) {
        let Some(mut delegation) = self.take_delegation(call) else {
            return;
        };
        delegation.withdrawn = true;
        let changes = delegation.changes();
        self.withdraw_from_editor(&delegation, call, !changes);
        if changes {
            self.host_tasks
                .insert(call, HostTask::Delegated(Box::new(delegation)));
        }
    }

    /// The agent is gone: editors need not go on with what only it wanted to know.
    pub(super) fn withdraw_delegations(&mut self) {
        let calls: Vec<u64> = self.host_tasks.keys().copied().collect();
        for call in calls {
            let Some(delegation) = self.take_delegation(call) else {
                continue;
            };
            if delegation.outlives_agent() {
                self.host_tasks
                    .insert(call, HostTask::Delegated(Box::new(delegation)));
            } else {
                self.withdraw_from_editor(&delegation, call, true);
            }
        }
    }

    /// The daemon stops: it will not hear any more what editors are at.
    pub(super) fn abort_delegations(&mut self, reason: &str) {
        let calls: Vec<u64> = self.host_tasks.keys().copied().collect();
        for call in calls {
            if let Some(delegation) = self.take_delegation(call) {
                self.withdraw_from_editor(&delegation, call, true);
                let message = format!("{reason}{}", unknown_effect(&delegation.request));
                let error = unknown(message);
                self.not_done(call, &delegation, Origin::Daemon, error);
            }
        }
    }

    fn withdraw_from_editor(&mut self, delegation: &Delegation, call: u64, forget: bool) {
        self.journal.push(Effect::Editor {
            connection: delegation.connection.clone(),
            order: EditorCommand::Withdraw { call, forget },
        });
    }
}

impl Delegation {
    /// Whether the machine may be another one afterwards.
    pub fn changes(&self) -> bool {
        matches!(
            self.request,
            Call::WriteFile { .. }
                | Call::CreateTerminal { .. }
                | Call::KillTerminal { .. }
                | Call::ReleaseTerminal { .. }
        )
    }

    /// Whether it is recorded even when the agent that wanted it is gone.
    pub fn outlives_agent(&self) -> bool {
        matches!(self.request, Call::WriteFile { .. } | Call::CreateTerminal { .. })
    }
}

/// The editor's name for itself.
pub(super) fn name(by: &Origin) -> &str {
    match by {
        Origin::Client(caller) => &caller.client,
        _ => "the editor",
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
