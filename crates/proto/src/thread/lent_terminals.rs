//! Terminals that live in an editor.
//!
//! The agent knows them by names of ours, from the same series as those of our own terminals; the editor's connection knows
//! what the editor calls them. What such a command writes is known as far as the agent asks for it. With its editor a terminal
//! is lost: then it has ended, as one whose line was cut.

use acpd_model::limits::{EDITOR_TERMINALS, TERMINAL_BYTES};
use acpd_model::{By, ErrorCode, EventKind, Failure, ItemId, ItemOutcome, RawJson};
use serde::Deserialize;
use serde_json::json;

use super::command::Effect;
use super::editors::EditorOrder;
use super::lent::{Answerer, name};
use super::steps::Thread;
use crate::agent::{AgentCommand, Call, TerminalExit};
use crate::fanout::{Delta, Source};
use crate::wire::Text;

/// A terminal in an editor, until the agent releases it.
#[derive(Debug)]
pub(super) struct InEditor {
    connection: String,
    by: By,
    item: ItemId,
    /// Bytes of output that are kept.
    kept: usize,
    /// The output as the agent was last told it, its end.
    seen: String,
    /// Whether that is not all of it.
    cut: bool,
    /// How the command ended, if that is known.
    exit: Option<TerminalExit>,
    lost: bool,
}

/// A terminal that was made in an editor.
#[derive(Debug)]
pub(super) struct Made {
    pub connection: String,
    pub by: By,
    /// Its name by us.
    pub terminal_id: String,
    pub command: String,
    pub args: Vec<String>,
    pub cwd: String,
    pub output_byte_limit: Option<u64>,
    /// The agent took its wish back meanwhile.
    pub unwanted: bool,
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

impl Thread {
    /// Who answers for a terminal: it stays where it was made.
    pub(super) fn home_of(&self, terminal_id: &str) -> Answerer {
        match self.in_editors.get(terminal_id) {
            None => Answerer::Here,
            Some(terminal) if terminal.lost => Answerer::Lost,
            Some(terminal) => Answerer::Editor(terminal.connection.clone()),
        }
    }

    /// A terminal was made in an editor.
    pub(super) fn made_in_editor(&mut self, call: u64, made: Made) {
        let Made {
            connection,
            by,
            terminal_id,
            command,
            args,
            cwd,
            output_byte_limit,
            unwanted,
        } = made;
        let kept = output_byte_limit
            .map_or(TERMINAL_BYTES, |limit| {
                usize::try_from(limit).unwrap_or(usize::MAX)
            })
            .min(TERMINAL_BYTES);
        self.kept_output.insert(terminal_id.clone(), kept);
        let terminal = InEditor {
            connection: connection.clone(),
            by: by.clone(),
            item: self.next_item(),
            kept,
            seen: String::new(),
            cut: false,
            exit: None,
            lost: false,
        };
        self.terminal_created(call, terminal_id.clone(), command, args, cwd, by);
        // Whoever wanted it is gone, or wants it no longer, and does not know its name.
        if unwanted || self.is_abandoned(call) {
            self.close_terminal(terminal.item);
            let order = EditorOrder::EndTerminal { terminal_id };
            return self.effects.push(Effect::Editor { connection, order });
        }
        self.in_editors.insert(terminal_id, terminal);
    }

    /// Refuses one terminal too many.
    pub(super) fn check_in_editors(&self) -> Result<(), Failure> {
        if self.in_editors.len() < EDITOR_TERMINALS {
            return Ok(());
        }
        let message = format!("{EDITOR_TERMINALS} terminals were never released in this session");
        Err(Failure::new(ErrorCode::Overloaded, message))
    }

    /// What an editor answered about a terminal's output: what is new in it is told to everybody.
    pub(super) fn heard_output(&mut self, terminal_id: &str, result: &RawJson) {
        let Ok(Written {
            output,
            truncated,
            exit_status,
        }) = serde_json::from_str(result.get())
        else {
            return;
        };
        let Some(terminal) = self.in_editors.get_mut(terminal_id) else {
            return;
        };
        if terminal.exit.is_some() {
            return;
        }
        let (item, by) = (terminal.item, terminal.by.clone());
        // Of output whose beginning is gone it cannot be told what is new.
        let news = output.strip_prefix(terminal.seen.as_str());
        let news = news.filter(|news| !truncated && !terminal.cut && !news.is_empty());
        let text = news.map(str::to_owned);
        let start = output.ceil_char_boundary(output.len().saturating_sub(terminal.kept));
        terminal.cut = truncated || start > 0;
        output[start..].clone_into(&mut terminal.seen);
        if let Some(text) = text {
            self.emit_text(Delta {
                turn: self.current_turn(),
                item,
                source: Source::Terminal(terminal_id.to_owned()),
                text,
                raw: None,
                message_id: None,
            });
        }
        if let Some(exit) = exit_status {
            self.ended_in_editor(terminal_id, exit.into(), by);
        }
    }

    pub(super) fn heard_exit(&mut self, terminal_id: &str, result: &RawJson) {
        let by = self
            .in_editors
            .get(terminal_id)
            .map(|terminal| terminal.by.clone());
        if let (Some(by), Ok(exit)) = (by, result.read::<Exit>()) {
            self.ended_in_editor(terminal_id, exit.into(), by);
        }
    }

    /// The command has ended, and is known to.
    fn ended_in_editor(&mut self, terminal_id: &str, exit: TerminalExit, by: By) {
        let Some(terminal) = self.in_editors.get_mut(terminal_id) else {
            return;
        };
        if terminal.exit.is_some() {
            return;
        }
        terminal.exit = Some(exit.clone());
        let (item, output) = (terminal.item, std::mem::take(&mut terminal.seen));
        let outcome = match (&exit.code, terminal.lost) {
            (_, true) => ItemOutcome::Interrupted,
            (Some(0), _) => ItemOutcome::Completed,
            _ => ItemOutcome::Failed,
        };
        // What was written since the agent last asked is not known.
        let truncated = terminal.cut || output.is_empty();
        self.flush();
        self.kept_output.remove(terminal_id);
        if !self.live.items.contains_key(&item) {
            return;
        }
        let end = self.terminal_end(terminal_id.to_owned(), exit, output, truncated);
        let kind = EventKind::ItemCompleted { item, outcome, end };
        self.emit(self.current_turn(), by, kind, None);
    }

    /// The agent needs it no longer, and the editor has let it go.
    pub(super) fn let_go(&mut self, terminal_id: String, by: By) {
        if let Some(terminal) = self.in_editors.remove(&terminal_id) {
            self.kept_output.remove(&terminal_id);
            if terminal.exit.is_none() {
                self.end_unseen(terminal, &terminal_id, by.clone());
            }
        }
        let kind = EventKind::TerminalReleased { terminal_id };
        self.emit(self.current_turn(), by, kind, None);
    }

    /// Ends one whose command's end nobody has seen.
    fn end_unseen(&mut self, terminal: InEditor, terminal_id: &str, by: By) {
        self.flush();
        if !self.live.items.contains_key(&terminal.item) {
            return;
        }
        let end = self.terminal_end(
            terminal_id.to_owned(),
            TerminalExit::default(),
            terminal.seen,
            true,
        );
        let kind = EventKind::ItemCompleted {
            item: terminal.item,
            outcome: ItemOutcome::Interrupted,
            end,
        };
        self.emit(self.current_turn(), by, kind, None);
    }

    /// An editor is gone, and with it what ran there.
    pub(super) fn lose_terminals(&mut self, connection: &str) {
        let there: Vec<String> = self
            .in_editors
            .iter()
            .filter(|(_, terminal)| terminal.connection == connection)
            .map(|(id, _)| id.clone())
            .collect();
        for terminal_id in there {
            if let Some(terminal) = self.in_editors.get_mut(&terminal_id) {
                terminal.lost = true;
            }
            let exit = TerminalExit {
                code: None,
                signal: Some(HUNG_UP.to_owned()),
            };
            self.ended_in_editor(&terminal_id, exit, By::Daemon);
        }
    }

    /// Answers for a terminal that is lost.
    pub(super) fn answer_lost(&mut self, call: u64, request: Call) {
        let (Call::TerminalOutput { terminal_id }
        | Call::WaitForTerminalExit { terminal_id }
        | Call::KillTerminal { terminal_id }
        | Call::ReleaseTerminal { terminal_id }) = &request
        else {
            return;
        };
        let Some(terminal) = self.in_editors.get(terminal_id) else {
            let failure = Failure::not_found(format!("terminal {terminal_id}"));
            return self.refuse_call(call, &failure);
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
            self.let_go(terminal_id, By::Agent);
        }
        self.tell_agent(AgentCommand::Answer {
            call,
            result: Ok(result.into()),
        });
    }

    /// The agent is gone: what it ran in editors is ended there.
    pub(super) fn end_in_editors(&mut self) {
        for (terminal_id, terminal) in std::mem::take(&mut self.in_editors) {
            self.kept_output.remove(&terminal_id);
            if terminal.lost {
                continue;
            }
            let connection = terminal.connection.clone();
            let by = terminal.by.clone();
            if terminal.exit.is_none() {
                self.end_unseen(terminal, &terminal_id, by);
            }
            let order = EditorOrder::EndTerminal { terminal_id };
            self.effects.push(Effect::Editor { connection, order });
        }
    }
}
