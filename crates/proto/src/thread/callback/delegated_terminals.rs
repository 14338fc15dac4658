//! Terminals that run in an editor.
//!
//! The agent knows them by the daemon's ids, from the same series as those of the daemon's own terminals. The
//! editor's connection maps them to the editor's ids. The daemon knows the output of such a command only from answers
//! of the editor. The agent requests the output; if it does not after the command's exit, the daemon requests it once
//! (`final_output`). A terminal is lost with its editor: then its command counts as ended by a hangup.

use acpd_model::limits::{TERMINAL_BYTES, TERMINALS};
use acpd_model::{ErrorCode, EventKind, Failure, HostEvent, ItemEvent, ItemId, ItemOutcome, Origin, RawJson};
use serde::Deserialize;
use serde_json::json;

use super::Callbacks;
use super::task::{Responder, TerminalCommand, name};
use super::terminals::terminal_end;
use crate::agent::{Call, TerminalExit};
use crate::thread::editors::EditorCommand;
use crate::thread::effect::Effect;
use crate::thread::journal::Journal;
use crate::wire::Text;

/// Terminals in editors that an agent has not released.
const EDITOR_TERMINALS: usize = 1024;

/// A terminal in an editor, until it is released.
#[derive(Debug)]
pub(super) struct EditorTerminal {
    pub connection: String,
    pub by: Origin,
    pub item: ItemId,
    /// The number of output bytes to keep.
    kept: usize,
    /// The end of the output that the agent last received.
    seen: String,
    /// Whether earlier output was dropped.
    cut: bool,
    /// How the command ended, if known.
    pub exit: Option<TerminalExit>,
    /// Whether the daemon itself has requested the output.
    pub asked: bool,
    /// Whether its agent has exited: the terminal ends when its last output is known.
    pub leaving: bool,
    pub lost: bool,
}

/// A terminal that an editor created.
#[derive(Debug)]
pub(super) struct CreatedTerminal {
    pub connection: String,
    pub by: Origin,
    pub command: TerminalCommand,
    pub output_byte_limit: Option<u64>,
    /// Whether the agent withdrew the request in the meantime.
    pub withdrawn: bool,
}

/// An answer to `terminal/output`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    #[serde(borrow)]
    output: Text<'a>,
    truncated: bool,
    #[serde(default)]
    exit_status: Option<Exit>,
}

/// An answer to `terminal/wait_for_exit`, and the exit status in an answer to `terminal/output`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Exit {
    exit_code: Option<i64>,
    signal: Option<String>,
}

impl From<Exit> for TerminalExit {
    fn from(exit: Exit) -> Self {
        Self {
            // Windows exit codes are unsigned 32-bit numbers.
            code: exit
                .exit_code
                .and_then(|code| u32::try_from(code).ok())
                .map(u32::cast_signed),
            signal: exit.signal,
        }
    }
}

pub(super) fn is_output(result: &RawJson) -> bool {
    serde_json::from_str::<Written<'_>>(result.get()).is_ok()
}

pub(super) fn is_exit(result: &RawJson) -> bool {
    result.get().starts_with('{') && result.read::<Exit>().is_ok()
}

/// The signal that a process gets when its terminal is closed.
const HUNG_UP: &str = "SIGHUP";

impl Callbacks {
    /// Returns which side answers for a terminal: the one that created it.
    pub(super) fn terminal_responder(&self, terminal_id: &str) -> Responder {
        match self.editor_terminals.get(terminal_id) {
            None => Responder::Daemon,
            // Its agent has exited, and another agent does not know the terminal.
            Some(terminal) if terminal.leaving => Responder::Daemon,
            Some(terminal) if terminal.lost => Responder::Lost,
            Some(terminal) => Responder::Editor(terminal.connection.clone()),
        }
    }

    /// Records a terminal that an editor created.
    pub(super) fn editor_terminal_created(
        &mut self,
        journal: &mut Journal,
        call: u64,
        made: CreatedTerminal,
    ) {
        let CreatedTerminal {
            connection,
            by,
            command,
            output_byte_limit,
            withdrawn,
        } = made;
        let terminal_id = command.terminal_id.clone();
        let kept = output_byte_limit
            .map_or(TERMINAL_BYTES, |limit| {
                usize::try_from(limit).unwrap_or(usize::MAX)
            })
            .min(TERMINAL_BYTES);
        self.output_limits.insert(terminal_id.clone(), kept);
        let terminal = EditorTerminal {
            connection: connection.clone(),
            by: by.clone(),
            item: journal.next_item(),
            kept,
            seen: String::new(),
            cut: false,
            exit: None,
            asked: false,
            leaving: false,
            lost: false,
        };
        self.terminal_created(journal, call, command, by);
        // The agent that requested it has exited or has withdrawn the request, so no agent knows its id.
        if withdrawn || self.is_abandoned(call) {
            self.close_terminal(journal, terminal.item);
            let order = EditorCommand::EndTerminal { terminal_id };
            return journal.push(Effect::Editor { connection, order });
        }
        self.editor_terminals.insert(terminal_id, terminal);
    }

    /// Enforces the limit on terminals in editors.
    pub(super) fn check_in_editors(&self) -> Result<(), Failure> {
        if self.editor_terminals.len() < EDITOR_TERMINALS {
            return Ok(());
        }
        let message = format!("{EDITOR_TERMINALS} terminals were never released in this session");
        Err(Failure::new(ErrorCode::Overloaded, message))
    }

    /// Returns whether the command in a terminal is known to have ended.
    pub(super) fn has_exited(&self, terminal_id: &str) -> bool {
        let terminal = self.editor_terminals.get(terminal_id);
        terminal.is_some_and(|terminal| terminal.exit.is_some())
    }

    /// Returns whether an item is a terminal in an editor whose command has ended.
    pub(super) fn has_ended_in_editor(&self, item: ItemId) -> bool {
        let mut terminals = self.editor_terminals.values();
        terminals.any(|terminal| terminal.item == item && terminal.exit.is_some())
    }

    /// Returns whether an item is a terminal in an editor that ends when its last output is known.
    pub(super) fn is_leaving(&self, item: ItemId) -> bool {
        let mut terminals = self.editor_terminals.values();
        terminals.any(|terminal| terminal.item == item && terminal.leaving)
    }

    /// Handles an editor's answer with a terminal's output: clients get the new part. The output is final if the
    /// answer contains an exit status, or if the exit was known before the request (`after_exit`).
    pub(super) fn editor_output_received(
        &mut self,
        journal: &mut Journal,
        terminal_id: &str,
        result: &RawJson,
        after_exit: bool,
    ) {
        let Ok(Written {
            output,
            truncated,
            exit_status,
        }) = serde_json::from_str(result.get())
        else {
            return;
        };
        let Some(terminal) = self.editor_terminals.get_mut(terminal_id) else {
            return;
        };
        let (item, by) = (terminal.item, terminal.by.clone());
        if !journal.live().items.contains_key(&item) {
            return;
        }
        // If the start of the output was dropped, the new part cannot be determined.
        let news = output.strip_prefix(terminal.seen.as_str());
        let news = news.filter(|news| !truncated && !terminal.cut && !news.is_empty());
        let text = news.map(str::to_owned);
        let start = output.ceil_char_boundary(output.len().saturating_sub(terminal.kept));
        terminal.cut = truncated || start > 0;
        output[start..].clone_into(&mut terminal.seen);
        let is_last = after_exit || exit_status.is_some();
        if let Some(exit) = exit_status {
            terminal.exit.get_or_insert(exit.into());
        }
        if let Some(text) = text {
            journal.emit_output(item, terminal_id, text);
        }
        if is_last {
            self.complete_in_editor(journal, terminal_id, by, true);
        }
    }

    /// Records that the command has ended. Its item stays open until its last output is known.
    pub(super) fn editor_exit_received(
        &mut self,
        journal: &mut Journal,
        terminal_id: &str,
        result: &RawJson,
    ) {
        let (Some(terminal), Ok(exit)) = (self.editor_terminals.get_mut(terminal_id), result.read::<Exit>())
        else {
            return;
        };
        terminal.exit.get_or_insert(exit.into());
        // Between turns, no end of a turn triggers the daemon's own request.
        if journal.live().turn.is_none() {
            self.ask_output(journal, terminal_id);
        }
        self.bound_unread(journal);
    }

    /// Limits the number of ended terminals whose output is kept, because agents may leave any number unread.
    fn bound_unread(&mut self, journal: &mut Journal) {
        let is_unread = |terminal: &&EditorTerminal| {
            terminal.exit.is_some() && journal.live().items.contains_key(&terminal.item)
        };
        if self.editor_terminals.values().filter(is_unread).count() <= TERMINALS {
            return;
        }
        let unread = self
            .editor_terminals
            .iter()
            .filter(|(_, terminal)| is_unread(terminal));
        let oldest = unread.min_by_key(|(_, terminal)| terminal.item);
        if let Some((terminal_id, by)) = oldest.map(|(id, terminal)| (id.clone(), terminal.by.clone())) {
            self.complete_in_editor(journal, &terminal_id, by, false);
        }
    }

    /// Ends the item of a terminal with the known end of its command; `whole` if the output is complete.
    pub(super) fn complete_in_editor(
        &mut self,
        journal: &mut Journal,
        terminal_id: &str,
        by: Origin,
        whole: bool,
    ) {
        let Some(terminal) = self.editor_terminals.get_mut(terminal_id) else {
            return;
        };
        let item = terminal.item;
        let outcome = match &terminal.exit {
            None => ItemOutcome::Interrupted,
            Some(exit) if exit.code == Some(0) => ItemOutcome::Completed,
            Some(_) => ItemOutcome::Failed,
        };
        if terminal.lost {
            terminal.exit.get_or_insert_with(|| TerminalExit {
                code: None,
                signal: Some(HUNG_UP.to_owned()),
            });
        }
        let exit = terminal.exit.clone().unwrap_or_default();
        let output = std::mem::take(&mut terminal.seen);
        let truncated = terminal.cut || !whole;
        journal.flush();
        self.output_limits.remove(terminal_id);
        if !journal.live().items.contains_key(&item) {
            return;
        }
        let end = terminal_end(journal, terminal_id.to_owned(), exit, output, truncated);
        let kind = EventKind::Item(ItemEvent::Completed { item, outcome, end });
        journal.emit(by, kind, None);
    }

    /// Handles that the agent released the terminal, and the editor has removed it.
    pub(super) fn release_terminal(&mut self, journal: &mut Journal, terminal_id: String, by: Origin) {
        self.complete_in_editor(journal, &terminal_id, by.clone(), false);
        self.editor_terminals.remove(&terminal_id);
        let kind = EventKind::Host(HostEvent::TerminalReleased { terminal_id });
        journal.emit(by, kind, None);
    }

    /// Handles the loss of an editor's terminals with its connection.
    pub(super) fn lose_terminals(&mut self, journal: &mut Journal, connection: &str) {
        self.lose_outputs(connection);
        let lost: Vec<String> = self
            .editor_terminals
            .iter()
            .filter(|(_, terminal)| terminal.connection == connection)
            .map(|(id, _)| id.clone())
            .collect();
        for terminal_id in lost {
            let Some(terminal) = self.editor_terminals.get_mut(&terminal_id) else {
                continue;
            };
            terminal.lost = true;
            let leaving = terminal.leaving;
            self.complete_in_editor(journal, &terminal_id, Origin::Daemon, false);
            if leaving {
                self.editor_terminals.remove(&terminal_id);
            }
            for (call, request) in self.take_queued_releases(&terminal_id) {
                self.answer_lost(journal, call, request);
            }
        }
    }

    /// Answers a callback for a terminal that is lost.
    pub(super) fn answer_lost(&mut self, journal: &mut Journal, call: u64, request: Call) {
        let (Call::TerminalOutput { terminal_id }
        | Call::WaitForTerminalExit { terminal_id }
        | Call::KillTerminal { terminal_id }
        | Call::ReleaseTerminal { terminal_id }) = &request
        else {
            return;
        };
        let Some(terminal) = self.editor_terminals.get(terminal_id) else {
            let failure = Failure::not_found(format!("terminal {terminal_id}"));
            return self.refuse(journal, call, &failure);
        };
        let exit = terminal.exit.clone().unwrap_or_default();
        let exit = json!({ "exitCode": exit.code.map(i32::cast_unsigned), "signal": exit.signal });
        let lost = format!("the terminal was lost with {}, where it was", name(&terminal.by));
        let meta = json!({ "acpd": { "lost": lost } });
        let result = match &request {
            Call::TerminalOutput { .. } => {
                json!({ "output": "", "truncated": true, "exitStatus": exit, "_meta": meta })
            }
            Call::WaitForTerminalExit { .. } => {
                json!({ "exitCode": exit["exitCode"], "signal": exit["signal"], "_meta": meta })
            }
            _ => json!({}),
        };
        if let Call::ReleaseTerminal { terminal_id } = request {
            self.release_terminal(journal, terminal_id, Origin::Agent);
        }
        self.answer(journal, call, Ok(result.into()));
    }

    /// Ends the agent's terminals in editors after the agent has exited, as soon as their last output is known.
    pub fn end_in_editors(&mut self, journal: &mut Journal) {
        let all: Vec<String> = self.editor_terminals.keys().cloned().collect();
        for terminal_id in all {
            let Some(terminal) = self.editor_terminals.get_mut(&terminal_id) else {
                continue;
            };
            terminal.leaving = true;
            let by = terminal.by.clone();
            if !self.awaits_output(&terminal_id) && !self.ask_output(journal, &terminal_id) {
                self.end_in_editor(journal, &terminal_id, by);
            }
        }
    }

    /// Ends the terminals in editors immediately, with the output known so far.
    pub fn drop_in_editors(&mut self, journal: &mut Journal) {
        for terminal in self.editor_terminals.values_mut() {
            terminal.leaving = true;
        }
        self.give_up_all_outputs(journal);
        let all: Vec<(String, Origin)> = self
            .editor_terminals
            .iter()
            .map(|(id, terminal)| (id.clone(), terminal.by.clone()))
            .collect();
        for (terminal_id, by) in all {
            self.end_in_editor(journal, &terminal_id, by);
        }
    }

    /// Ends a terminal that the agent will not use again: its item, and the terminal in the editor.
    pub(super) fn end_in_editor(&mut self, journal: &mut Journal, terminal_id: &str, by: Origin) {
        self.complete_in_editor(journal, terminal_id, by, false);
        let Some(terminal) = self.editor_terminals.remove(terminal_id) else {
            return;
        };
        if !terminal.lost {
            let order = EditorCommand::EndTerminal {
                terminal_id: terminal_id.to_owned(),
            };
            let connection = terminal.connection;
            journal.push(Effect::Editor { connection, order });
        }
    }
}
