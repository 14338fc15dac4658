//! Terminals that live in an editor.
//!
//! The agent knows them by names of ours, from the same series as those of our own terminals; the editor's connection knows
//! what the editor calls them. What such a command writes is known as far as the editor is asked for it: by the agent, and once
//! by the daemon if the agent does not ask after the end (`final_output`). With its editor a terminal is lost: then it has ended,
//! as one whose line was cut.

use acpd_model::limits::{EDITOR_TERMINALS, TERMINAL_BYTES, TERMINALS};
use acpd_model::{ErrorCode, EventKind, Failure, ItemId, ItemOutcome, Origin, RawJson};
use serde::Deserialize;
use serde_json::json;

use super::Callbacks;
use super::task::{Responder, TerminalCommand, name};
use super::terminals::terminal_end;
use crate::agent::{Call, TerminalExit};
use crate::fanout::{Delta, Source};
use crate::thread::command::Effect;
use crate::thread::editors::EditorCommand;
use crate::thread::journal::Journal;
use crate::wire::Text;

/// A terminal in an editor, until it is released.
#[derive(Debug)]
pub(super) struct EditorTerminal {
    pub connection: String,
    pub by: Origin,
    pub item: ItemId,
    /// Bytes of output that are kept.
    kept: usize,
    /// The output as the agent was last told it, its end.
    seen: String,
    /// Whether that is not all of it.
    cut: bool,
    /// How the command ended, if that is known.
    pub exit: Option<TerminalExit>,
    /// The daemon itself has asked for its output.
    pub asked: bool,
    /// Its agent is gone: it is ended once its last output is known.
    pub leaving: bool,
    pub lost: bool,
}

/// A terminal that was made in an editor.
#[derive(Debug)]
pub(super) struct CreatedTerminal {
    pub connection: String,
    pub by: Origin,
    pub command: TerminalCommand,
    pub output_byte_limit: Option<u64>,
    /// The agent took its wish back meanwhile.
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

/// An answer to `terminal/wait_for_exit`, and what an output says of the end.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Exit {
    exit_code: Option<i64>,
    signal: Option<String>,
}

impl From<Exit> for TerminalExit {
    fn from(exit: Exit) -> Self {
        Self {
            // Codes of Windows fill 32 bits without a sign.
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

/// What a process hears whose terminal is gone.
const HUNG_UP: &str = "SIGHUP";

impl Callbacks {
    /// Who answers for a terminal: it stays where it was made.
    pub(super) fn terminal_responder(&self, terminal_id: &str) -> Responder {
        match self.editor_terminals.get(terminal_id) {
            None => Responder::Daemon,
            // Its agent is gone; another one does not know it.
            Some(terminal) if terminal.leaving => Responder::Daemon,
            Some(terminal) if terminal.lost => Responder::Lost,
            Some(terminal) => Responder::Editor(terminal.connection.clone()),
        }
    }

    /// A terminal was made in an editor.
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
        // Whoever wanted it is gone, or wants it no longer, and does not know its name.
        if withdrawn || self.is_abandoned(call) {
            self.close_terminal(journal, terminal.item);
            let order = EditorCommand::EndTerminal { terminal_id };
            return journal.push(Effect::Editor { connection, order });
        }
        self.editor_terminals.insert(terminal_id, terminal);
    }

    /// Refuses one terminal too many.
    pub(super) fn check_in_editors(&self) -> Result<(), Failure> {
        if self.editor_terminals.len() < EDITOR_TERMINALS {
            return Ok(());
        }
        let message = format!("{EDITOR_TERMINALS} terminals were never released in this session");
        Err(Failure::new(ErrorCode::Overloaded, message))
    }

    /// Whether the command in a terminal is known to have ended.
    pub(super) fn has_exited(&self, terminal_id: &str) -> bool {
        let terminal = self.editor_terminals.get(terminal_id);
        terminal.is_some_and(|terminal| terminal.exit.is_some())
    }

    /// Whether an item is a terminal in an editor whose command has ended.
    pub(super) fn has_ended_in_editor(&self, item: ItemId) -> bool {
        let mut terminals = self.editor_terminals.values();
        terminals.any(|terminal| terminal.item == item && terminal.exit.is_some())
    }

    /// Whether an item is a terminal that is ended in its editor once its last output is known.
    pub(super) fn is_leaving(&self, item: ItemId) -> bool {
        let mut terminals = self.editor_terminals.values();
        terminals.any(|terminal| terminal.item == item && terminal.leaving)
    }

    /// What an editor answered about a terminal's output: what is new in it is told to everybody. It is the last of it if the
    /// answer says that the command has ended, or if that was known before it was asked for (`after_exit`).
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
        // Of output whose beginning is gone it cannot be told what is new.
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
            journal.emit_text(Delta {
                turn: journal.current_turn(),
                item,
                source: Source::Terminal(terminal_id.to_owned()),
                text,
                raw: None,
                message_id: None,
            });
        }
        if is_last {
            self.complete_in_editor(journal, terminal_id, by, true);
        }
    }

    /// The command has ended. Its item is open until its last output is known.
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
        // Between turns nothing would end that has the daemon ask.
        if journal.live().turn.is_none() {
            self.ask_output(journal, terminal_id);
        }
        self.bound_unread(journal);
    }

    /// Agents may leave any number of ended terminals unread: the output of only so many is kept.
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

    /// Ends the item of a terminal with what is known of its command; `whole` if that is all that it wrote.
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
        let kind = EventKind::ItemCompleted { item, outcome, end };
        journal.emit(by, kind, None);
    }

    /// The agent needs it no longer, and the editor has let it go.
    pub(super) fn release_terminal(&mut self, journal: &mut Journal, terminal_id: String, by: Origin) {
        self.complete_in_editor(journal, &terminal_id, by.clone(), false);
        self.editor_terminals.remove(&terminal_id);
        let kind = EventKind::TerminalReleased { terminal_id };
        journal.emit(by, kind, None);
    }

    /// An editor is gone, and with it what ran there.
    pub(super) fn lose_terminals(&mut self, journal: &mut Journal, connection: &str) {
        self.lose_outputs(connection);
        let there: Vec<String> = self
            .editor_terminals
            .iter()
            .filter(|(_, terminal)| terminal.connection == connection)
            .map(|(id, _)| id.clone())
            .collect();
        for terminal_id in there {
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

    /// Answers for a terminal that is lost.
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

    /// The agent is gone: what it ran in editors is ended there, once its last output is known.
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

    /// Nothing may follow: what runs in editors is ended there, with what is known of it.
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

    /// Ends a terminal that the agent will not name any more: its item, and in the editor.
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
