//! Terminals: creation for the agent, output, exit.

use acpd_model::limits::{
    INLINE_BYTES, RUNNING_OUTPUT_BYTES, TERMINAL_BYTES, TERMINAL_BYTES_MAX, TERMINAL_PREVIEW_BYTES, TERMINALS,
};
use acpd_model::{
    ErrorCode, EventKind, Failure, HostEvent, ItemEnd, ItemEvent, ItemId, ItemOutcome, ItemStart, Origin,
};
use acpd_policy::Form;

use super::Callbacks;
use super::task::{HostTask, TerminalCommand};
use crate::agent::TerminalExit;
use crate::fanout::LiveEnd;
use crate::projection::ItemView;
use crate::thread::host_call::{HostCall, TerminalEvent};
use crate::thread::journal::Journal;

impl Callbacks {
    pub(super) fn create_terminal(
        &mut self,
        journal: &mut Journal,
        call: u64,
        wanted: TerminalCommand,
        env: Vec<(String, String)>,
        limit: Option<u64>,
    ) {
        if let Err(failure) = self.check_terminals(journal) {
            return self.refuse_and_record(journal, call, "terminal/create", &failure);
        }
        let TerminalCommand {
            terminal_id,
            command,
            args,
            cwd,
        } = wanted;
        let (command, args) = if self.is_line(&args) {
            of_line(command)
        } else {
            (command, args)
        };
        let output_bytes = limit
            .map_or(TERMINAL_BYTES, |limit| {
                usize::try_from(limit).unwrap_or(usize::MAX)
            })
            .min(TERMINAL_BYTES_MAX)
            .min(self.room_for_output());
        let task = TerminalCommand {
            terminal_id: terminal_id.clone(),
            command: command.clone(),
            args: args.clone(),
            cwd: cwd.clone(),
        };
        self.tasks.insert(call, HostTask::Create(task));
        self.output_limits.insert(terminal_id.clone(), output_bytes);
        journal.call_host(
            call,
            HostCall::CreateTerminal {
                terminal_id,
                command,
                args,
                env,
                cwd,
                output_bytes,
            },
        );
    }

    /// Returns whether a terminal's command with these arguments is a shell line: for agents that are known to send those.
    pub(super) fn is_line(&self, args: &[String]) -> bool {
        args.is_empty() && self.quirks.shell_lines
    }

    /// Returns how a command without arguments runs on the host: as a shell line for agents that are known to send
    /// those.
    pub(super) fn command_form(&self) -> Form {
        if self.quirks.shell_lines {
            Form::Line
        } else {
            Form::Program
        }
    }

    /// Returns the maximum output that one more terminal may keep.
    pub(super) fn room_for_output(&self) -> usize {
        let kept: usize = self.output_limits.values().sum();
        RUNNING_OUTPUT_BYTES.saturating_sub(kept).max(TERMINAL_BYTES)
    }

    /// Enforces the limit on open terminals.
    pub(super) fn check_terminals(&self, journal: &Journal) -> Result<(), Failure> {
        let is_terminal = |view: &ItemView| matches!(view, ItemView::Terminal { .. });
        let runs = |item: &ItemId| !self.has_ended_in_editor(*item);
        let running = journal.live().items.iter();
        let running = running.filter(|(item, open)| is_terminal(&open.view) && runs(item));
        let creating = self.tasks.values().filter(|task| match task {
            HostTask::Create(_) => true,
            HostTask::Delegated(delegation) => delegation.makes.is_some(),
            _ => false,
        });
        if running.count() + creating.count() < TERMINALS {
            return Ok(());
        }
        let message = format!("{TERMINALS} terminals are open in this session already");
        Err(Failure::new(ErrorCode::Overloaded, message))
    }

    /// Records a running command. If its agent has exited, the terminal is closed immediately.
    pub(super) fn terminal_created(
        &mut self,
        journal: &mut Journal,
        call: u64,
        command: TerminalCommand,
        by: Origin,
    ) {
        let TerminalCommand {
            terminal_id,
            command,
            args,
            cwd,
        } = command;
        let item = journal.next_item();
        let kept_as = terminal_id.clone();
        let kept = self.output_limits.get(&terminal_id);
        let output_bytes = kept.and_then(|bytes| u32::try_from(*bytes).ok());
        let start = ItemStart::TerminalCommand {
            terminal_id,
            command,
            args: args.into(),
            cwd: cwd.into(),
            output_bytes,
            requested_by: None,
        };
        let kind = EventKind::Item(ItemEvent::Started {
            item,
            parent: None,
            start,
        });
        journal.emit(by, kind, None);
        if self.is_abandoned(call) {
            self.output_limits.remove(&kept_as);
            self.close_terminal(journal, item);
        }
    }

    /// Records output up to the size that the agent requested; later output is only shown live, and the log gets its
    /// end when the command exits. So an endless command fills neither memory nor the log.
    fn terminal_wrote(&mut self, journal: &mut Journal, item: ItemId, terminal_id: &str, text: String) {
        let kept = self
            .output_limits
            .get(terminal_id)
            .copied()
            .unwrap_or(TERMINAL_BYTES);
        let (written, waited) = match journal.item(item) {
            Some(ItemView::Terminal { written, waiting, .. }) => {
                (written + journal.held_text(item).len(), waiting.is_some())
            }
            _ => (0, false),
        };
        // Output ends a wait for input, which clients that load the thread must see as well.
        if written >= kept && !waited {
            journal.show_text(item, terminal_id, &text);
            return;
        }
        journal.emit_output(item, terminal_id, text);
    }

    pub fn handle_terminal(&mut self, journal: &mut Journal, terminal_id: &str, event: TerminalEvent) {
        let found = journal.live().items.iter().find(
            |(_, open)| matches!(&open.view, ItemView::Terminal { terminal_id: known, .. } if known == terminal_id),
        );
        let Some(item) = found.map(|(id, _)| *id) else {
            return;
        };
        let by = journal.command_origin(item);
        let kind = match event {
            TerminalEvent::Output(text) => return self.terminal_wrote(journal, item, terminal_id, text),
            TerminalEvent::Waiting { secret } => {
                let kind = EventKind::Host(HostEvent::TerminalWaiting {
                    item,
                    terminal_id: terminal_id.to_owned(),
                    secret,
                });
                return journal.emit(Origin::Daemon, kind, None);
            }
            TerminalEvent::InputEnded => {
                let kind = EventKind::Host(HostEvent::TerminalInput {
                    item,
                    terminal_id: terminal_id.to_owned(),
                });
                return journal.emit(Origin::Daemon, kind, None);
            }
            TerminalEvent::Exited {
                exit,
                output,
                truncated,
            } => {
                let was_killed = self.user_command_exited(journal, item);
                let outcome = if was_killed {
                    ItemOutcome::Interrupted
                } else if exit.code == Some(0) {
                    ItemOutcome::Completed
                } else {
                    ItemOutcome::Failed
                };
                // Buffered output must come before the end of the item.
                journal.end_shown_text(item);
                self.output_limits.remove(terminal_id);
                let end = terminal_end(journal, terminal_id.to_owned(), exit, output, truncated);
                EventKind::Item(ItemEvent::Completed { item, outcome, end })
            }
        };
        journal.emit(by, kind, None);
    }

    /// Ends all terminals, because their agent has exited. For those in editors, the last output may still arrive.
    /// Commands of users that run in this process continue.
    pub fn close_terminals(&mut self, journal: &mut Journal) {
        let is_terminal = |view: &ItemView| matches!(view, ItemView::Terminal { .. });
        let open = journal
            .live()
            .items
            .iter()
            .filter(|(_, open)| is_terminal(&open.view));
        let open: Vec<ItemId> = open
            .map(|(id, _)| *id)
            .filter(|id| !self.is_leaving(*id) && !self.is_running_for_user(*id))
            .collect();
        for item in open {
            self.close_terminal(journal, item);
        }
    }

    /// Ends a terminal without waiting for its exit, with the end of its output as far as it is known.
    pub(super) fn close_terminal(&mut self, journal: &mut Journal, item: ItemId) {
        journal.flush();
        let Some(ItemView::Terminal {
            terminal_id,
            output,
            written,
            ..
        }) = journal.item(item)
        else {
            return;
        };
        let (terminal_id, logged) = (terminal_id.clone(), output.clone());
        let begins_later = *written > logged.len();
        let LiveEnd { text, cut, .. } = journal.end_shown_text(item);
        let mut output = if cut { text } else { logged + &text };
        // The last output of a terminal from before a restart is unknown.
        let kept = self.output_limits.remove(&terminal_id);
        let excess = output.len().saturating_sub(kept.unwrap_or(TERMINAL_BYTES_MAX));
        output.drain(..output.ceil_char_boundary(excess));
        let truncated = begins_later || cut || excess > 0 || kept.is_none();
        let end = terminal_end(journal, terminal_id, TerminalExit::default(), output, truncated);
        let kind = EventKind::Item(ItemEvent::Completed {
            item,
            outcome: ItemOutcome::Interrupted,
            end,
        });
        journal.emit(journal.command_origin(item), kind, None);
    }
}

/// Returns the end of a command for an event. Of long output it contains only the end, and a blob contains all of it.
pub(super) fn terminal_end(
    journal: &mut Journal,
    terminal_id: String,
    exit: TerminalExit,
    output: String,
    truncated: bool,
) -> ItemEnd {
    let mut end = output;
    let output_blob = (end.len() > INLINE_BYTES).then(|| {
        let last = end.split_off(end.ceil_char_boundary(end.len() - TERMINAL_PREVIEW_BYTES));
        let mut all = std::mem::replace(&mut end, last);
        all.push_str(&end);
        Box::new(journal.blob(all.into_bytes()))
    });
    ItemEnd::TerminalCommand {
        terminal_id,
        exit_code: exit.code,
        signal: exit.signal,
        output: end,
        output_blob,
        truncated,
    }
}

/// Returns the program that runs a shell line, and its arguments.
pub(super) fn of_line(line: String) -> (String, Vec<String>) {
    ("/bin/sh".to_owned(), vec!["-c".to_owned(), line])
}
