//! Callbacks that an editor answers in our place.
//!
//! In: a callback that was decided on, what the editor answers, that it is gone or too late. Out: orders for the editor, the
//! answer for the agent, the events of what was done. What an editor has answered, an error too, is the answer. What it may
//! have begun is never begun again.

use std::time::Duration;

use acpd_model::limits::{EDITOR_ANSWER_SECS, EDITOR_CALLS, EDITOR_EXTENSION_SECS};
use acpd_model::{Before, By, ErrorCode, EventKind, Failure, ItemEnd, ItemId, ItemOutcome, RawJson, TurnId};
use serde::Deserialize;

use super::command::Effect;
use super::editors::{EditorOrder, EditorRequest};
use super::final_output::is_own;
use super::lease::Attached;
use super::lent_terminals::{Made, is_exit, is_output};
use super::machine::Work;
use super::steps::Thread;
use crate::agent::{AgentCommand, Call};
use crate::time::{Instant, earliest};
use crate::wire::{RpcError, Text};

/// A callback that an editor has.
#[derive(Debug)]
pub(super) struct Lent {
    pub connection: String,
    /// The editor, as the causer of what comes of it.
    pub by: By,
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
    unwanted: bool,
    until: Option<Instant>,
}

/// Who answers a callback.
pub(super) enum Answerer {
    Here,
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
    pub(super) fn answerer(&self, request: &Call) -> Answerer {
        let holder = self.lease_holder();
        let able = |can: fn(&Attached) -> bool| holder.filter(|holder| can(holder));
        let editor = match request {
            Call::ReadFile { .. } => able(|holder| holder.abilities.reads_files),
            Call::WriteFile { .. } => able(|holder| holder.abilities.writes_files),
            Call::CreateTerminal { .. } => able(|holder| holder.abilities.terminals),
            Call::TerminalOutput { terminal_id }
            | Call::WaitForTerminalExit { terminal_id }
            | Call::KillTerminal { terminal_id }
            | Call::ReleaseTerminal { terminal_id } => return self.home_of(terminal_id),
            // It needs no more than somebody who knows it.
            Call::Extension { .. } => holder.or(self.editors.first()),
            Call::Permission { .. } | Call::Elicit { .. } => None,
        };
        editor.map_or(Answerer::Here, |editor| {
            Answerer::Editor(editor.connection.clone())
        })
    }

    /// Has an editor do it.
    pub(super) fn lend(&mut self, call: u64, request: Call, at: Option<String>, connection: String) {
        let Some(by) = self.attached(&connection).map(|editor| editor.by.clone()) else {
            return self.do_here(call, request, at);
        };
        if let Call::ReleaseTerminal { terminal_id } = &request
            && (self.awaits_output(terminal_id) || self.ask_output(terminal_id))
        {
            self.working.insert(call, Work::HeldRelease(terminal_id.clone()));
            return;
        }
        let at_it = self.lent_to(&connection).count();
        if at_it >= EDITOR_CALLS {
            let message = format!(
                "{EDITOR_CALLS} requests wait for the answer of {} already",
                name(&by)
            );
            let failure = Failure::new(ErrorCode::Overloaded, message);
            return self.refuse_on_record(call, request.method(), &failure);
        }
        let creates = matches!(request, Call::CreateTerminal { .. });
        if creates && let Err(failure) = self.check_terminals().and_then(|()| self.check_in_editors()) {
            return self.refuse_on_record(call, request.method(), &failure);
        }
        let params = match &request {
            Call::Extension { params, .. } => params.clone(),
            _ => self.words.remove(&call),
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
        self.flush();
        let order = EditorOrder::Ask {
            call,
            after: self.live.last_seq,
            request: Box::new(EditorRequest {
                method: request.method().to_owned(),
                params,
                terminal_id,
                creates,
            }),
        };
        let after_exit =
            matches!(&request, Call::TerminalOutput { terminal_id } if self.has_exited(terminal_id));
        let until = patience(&request).map(|patience| self.now.mono + patience);
        let lent = Lent {
            connection: connection.clone(),
            by,
            request,
            at,
            item,
            turn: self.current_turn(),
            makes,
            after_exit,
            unwanted: false,
            until,
        };
        self.working.insert(call, Work::Lent(Box::new(lent)));
        self.effects.push(Effect::Editor { connection, order });
    }

    /// The callbacks that an editor has.
    pub(super) fn lent_to(&self, connection: &str) -> impl Iterator<Item = u64> {
        self.working.iter().filter_map(move |(call, work)| match work {
            Work::Lent(lent) if lent.connection == connection => Some(*call),
            _ => None,
        })
    }

    fn take_lent(&mut self, call: u64) -> Option<Lent> {
        match self.working.remove(&call)? {
            Work::Lent(lent) => Some(*lent),
            other => {
                self.working.insert(call, other);
                None
            }
        }
    }

    /// An editor has answered. What nobody waits for is passed over: it comes late, or twice, or from somebody else.
    pub(super) fn editor_answered(&mut self, connection: &str, call: u64, result: Result<RawJson, RpcError>) {
        if is_own(call) {
            return self.final_output_answered(connection, call, result);
        }
        if !self.lent_to(connection).any(|lent| lent == call) {
            return;
        }
        let Some(lent) = self.take_lent(call) else { return };
        match result {
            Ok(result) if is_answer(&lent.request, &result) => self.editor_did(call, lent, result),
            Ok(_) => {
                let message = format!(
                    "{} answered {} with something that is no answer to it{}",
                    name(&lent.by),
                    lent.request.method(),
                    fate(&lent.request)
                );
                let by = lent.by.clone();
                self.not_done(call, &lent, by, unknown(message));
            }
            Err(error) => {
                let by = lent.by.clone();
                self.not_done(call, &lent, by, error);
            }
        }
    }

    /// Records what an editor has done, and passes its answer on as it came.
    fn editor_did(&mut self, call: u64, lent: Lent, result: RawJson) {
        let turn = self.current_turn();
        let is_extension = matches!(lent.request, Call::Extension { .. });
        let Lent {
            connection,
            by,
            request,
            item,
            turn: begun,
            makes,
            after_exit,
            unwanted,
            ..
        } = lent;
        match request {
            Call::ReadFile { path, .. } => {
                let bytes = serde_json::from_str::<Content<'_>>(result.get())
                    .map_or(0, |answer| answer.content.len() as u64);
                self.emit(turn, by, EventKind::FileRead { path, bytes }, None);
            }
            Call::WriteFile { path, content } => {
                self.file_written(path, &content, &Before::Unknown, item, begun, by);
            }
            Call::CreateTerminal {
                command,
                args,
                cwd,
                output_byte_limit,
                ..
            } => {
                if let Some(terminal_id) = makes {
                    let made = Made {
                        connection,
                        by,
                        terminal_id,
                        command,
                        args,
                        cwd: cwd.unwrap_or_else(|| self.live.spec.session_cwd().to_owned()),
                        output_byte_limit,
                        unwanted,
                    };
                    self.made_in_editor(call, made);
                }
            }
            Call::TerminalOutput { terminal_id } => self.heard_output(&terminal_id, &result, after_exit),
            Call::WaitForTerminalExit { terminal_id } => self.heard_exit(&terminal_id, &result),
            Call::KillTerminal { terminal_id } => {
                self.emit(turn, by, EventKind::TerminalKilled { terminal_id }, None);
            }
            Call::ReleaseTerminal { terminal_id } => self.let_go(terminal_id, by),
            Call::Extension { .. } | Call::Permission { .. } | Call::Elicit { .. } => {}
        }
        // Where there is nothing to tell, ACP has an object with nothing in it.
        let result = match result.get() {
            "null" if !is_extension => RawJson::trusted("{}"),
            _ => result,
        };
        let result = Ok(result);
        self.tell_agent(AgentCommand::Answer { call, result });
    }

    /// It was not done, or nobody knows whether it was. The agent hears why; what would have changed the world is recorded.
    fn not_done(&mut self, call: u64, lent: &Lent, by: By, error: RpcError) {
        self.end_change(lent, by.clone());
        if !matches!(
            lent.request,
            Call::ReadFile { .. } | Call::TerminalOutput { .. } | Call::WaitForTerminalExit { .. }
        ) {
            let kind = EventKind::CallRefused {
                method: lent.request.method().to_owned(),
                reason: error.message.clone(),
            };
            self.emit(self.current_turn(), by, kind, None);
        }
        self.tell_agent(AgentCommand::Answer {
            call,
            result: Err(error),
        });
    }

    fn end_change(&mut self, lent: &Lent, by: By) {
        let (Some(item), Call::WriteFile { path, .. }) = (lent.item, &lent.request) else {
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
        self.emit(self.current_turn(), by, kind, None);
    }

    /// An editor is gone. What it was not asked yet, and what changes nothing, is done here; of the rest nobody knows whether
    /// it was done.
    pub(super) fn lose_lent(&mut self, gone: &Attached, unsent: &[u64]) {
        let calls: Vec<u64> = self.lent_to(&gone.connection).collect();
        for call in calls {
            let Some(lent) = self.take_lent(call) else {
                continue;
            };
            // Nobody waits for what only the agent wanted to know.
            if self.is_abandoned(call) && !lent.changes() {
                continue;
            }
            let is_unsent = unsent.contains(&call);
            if is_unsent && (lent.unwanted || self.is_abandoned(call)) {
                self.end_change(&lent, By::Daemon);
                continue;
            }
            match &lent.request {
                Call::ReadFile { .. } => self.do_here(call, lent.request, lent.at),
                Call::WriteFile { .. } if is_unsent => {
                    let Lent {
                        request, at, item, ..
                    } = lent;
                    if let Call::WriteFile { path, content } = request {
                        self.write_here(call, path, at, content, item);
                    }
                }
                Call::CreateTerminal { .. } if is_unsent => self.do_here(call, lent.request, lent.at),
                // Somebody else may know it.
                Call::Extension { .. } if is_unsent => self.do_call(call, lent.request, None),
                Call::TerminalOutput { .. }
                | Call::WaitForTerminalExit { .. }
                | Call::KillTerminal { .. }
                | Call::ReleaseTerminal { .. } => self.answer_lost(call, lent.request),
                _ => {
                    let message = format!(
                        "{} was gone before it answered {}{}",
                        name(&lent.by),
                        lent.request.method(),
                        fate(&lent.request)
                    );
                    let error = unknown(message);
                    self.not_done(call, &lent, By::Daemon, error);
                }
            }
        }
    }

    /// When the next editor will have been given enough time.
    pub(super) fn editors_late_at(&self) -> Option<Instant> {
        let deadlines = self.working.values().map(|work| match work {
            Work::Lent(lent) => lent.until,
            _ => None,
        });
        deadlines.fold(None, earliest)
    }

    pub(super) fn editors_are_late(&mut self) {
        let now = self.now.mono;
        let is_late =
            |work: &Work| matches!(work, Work::Lent(lent) if lent.until.is_some_and(|at| at <= now));
        let late: Vec<u64> = self
            .working
            .iter()
            .filter(|(_, work)| is_late(work))
            .map(|(call, _)| *call)
            .collect();
        for call in late {
            let Some(lent) = self.take_lent(call) else {
                continue;
            };
            self.order_back(&lent, call, true);
            let message = format!(
                "{} did not answer {} within {} s{}",
                name(&lent.by),
                lent.request.method(),
                patience(&lent.request).unwrap_or_default().as_secs(),
                fate(&lent.request)
            );
            let error = unknown(message);
            self.not_done(call, &lent, By::Daemon, error);
        }
    }

    /// The agent takes a callback back that an editor has. What changes something is still waited for: it may happen.
    pub(super) fn take_back(&mut self, call: u64) {
        let Some(mut lent) = self.take_lent(call) else {
            return;
        };
        lent.unwanted = true;
        let changes = lent.changes();
        self.order_back(&lent, call, !changes);
        if changes {
            self.working.insert(call, Work::Lent(Box::new(lent)));
        }
    }

    /// The agent is gone: editors need not go on with what only it wanted to know.
    pub(super) fn take_back_all(&mut self) {
        let calls: Vec<u64> = self.working.keys().copied().collect();
        for call in calls {
            let Some(lent) = self.take_lent(call) else {
                continue;
            };
            if lent.outlives_agent() {
                self.working.insert(call, Work::Lent(Box::new(lent)));
            } else {
                self.order_back(&lent, call, true);
            }
        }
    }

    /// The daemon stops: it will not hear any more what editors are at.
    pub(super) fn drop_lent(&mut self, reason: &str) {
        let calls: Vec<u64> = self.working.keys().copied().collect();
        for call in calls {
            if let Some(lent) = self.take_lent(call) {
                self.order_back(&lent, call, true);
                let message = format!("{reason}{}", fate(&lent.request));
                let error = unknown(message);
                self.not_done(call, &lent, By::Daemon, error);
            }
        }
    }

    fn order_back(&mut self, lent: &Lent, call: u64, forget: bool) {
        self.effects.push(Effect::Editor {
            connection: lent.connection.clone(),
            order: EditorOrder::TakeBack { call, forget },
        });
    }
}

impl Lent {
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
pub(super) fn name(by: &By) -> &str {
    match by {
        By::Client(caller) => &caller.client,
        _ => "the editor",
    }
}

/// What the agent hears that has no answer.
fn unknown(message: String) -> RpcError {
    RpcError::new(ErrorCode::Internal.rpc(), message)
}

/// How long an editor may take.
fn patience(request: &Call) -> Option<Duration> {
    match request {
        Call::WaitForTerminalExit { .. } => None,
        Call::Extension { .. } => Some(Duration::from_secs(EDITOR_EXTENSION_SECS)),
        _ => Some(Duration::from_secs(EDITOR_ANSWER_SECS)),
    }
}

/// What nobody knows, now that there is no answer.
fn fate(request: &Call) -> String {
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
