//! Commands that users run in the daemon's terminals.
//!
//! In: allowed command lines, replies of the host, interrupts. Out: operations on their terminals, and events, whose
//! origin is the client. They have the sandbox, directory and variables of the agent's commands, but do not depend on
//! its process, and never run in an editor.

use acpd_model::limits::{TERMINAL_BYTES, USER_COMMANDS};
use acpd_model::{
    ErrorCode, EventKind, Failure, HostEvent, ItemEnd, ItemEvent, ItemId, ItemOutcome, ItemStart, Origin,
    TurnId,
};

use super::Callbacks;
use crate::thread::host_call::{HostCall, HostReply};
use crate::thread::journal::Journal;

/// The name of such a command in the log, which is its method in the app protocol.
pub(in crate::thread) const RUN_COMMAND: &str = "thread/command/run";

/// The first number of host calls for users; callbacks of an agent never reach it.
const USER_CALLS: u64 = 1 << 62;

/// Returns whether a host call starts or ends a command of a user.
pub(in crate::thread) fn is_user_command(call: u64) -> bool {
    call >= USER_CALLS
}

/// A running command of a user.
#[derive(Debug)]
pub(super) struct UserCommand {
    item: ItemId,
    /// The turn in which it started.
    turn: TurnId,
    terminal_id: String,
    /// Whether the host has created its terminal. Only then it can be killed.
    created: bool,
    /// Whether a user has interrupted it.
    killed: bool,
}

impl UserCommand {
    /// Interrupts the command, unless a user has done so before. If `at_once`, its terminal is not asked to end.
    fn kill(&mut self, journal: &mut Journal, by: &Origin, call: u64, at_once: bool) {
        if std::mem::replace(&mut self.killed, true) {
            return;
        }
        let terminal_id = self.terminal_id.clone();
        let kind = EventKind::Host(HostEvent::TerminalKilled {
            terminal_id: terminal_id.clone(),
        });
        journal.emit(by.clone(), kind, None);
        if self.created && !at_once {
            journal.call_user_host(call, HostCall::KillTerminal { terminal_id });
        }
    }
}

impl Callbacks {
    /// Enforces the limit on running commands of users.
    pub fn check_user_commands(&self) -> Result<(), Failure> {
        if self.user_commands.len() < USER_COMMANDS {
            return Ok(());
        }
        let message = format!(
            "too many commands of users are running in this thread (limit {USER_COMMANDS}): wait for one, or interrupt them"
        );
        Err(Failure::new(ErrorCode::Overloaded, message))
    }

    /// Returns whether commands of users run, in this turn or in any.
    pub fn has_user_commands(&self, turn: Option<TurnId>) -> bool {
        let mut commands = self.user_commands.values();
        commands.any(|command| turn.is_none_or(|turn| command.turn == turn))
    }

    /// Returns whether an item is a running command of a user.
    pub(super) fn is_running_for_user(&self, item: ItemId) -> bool {
        self.user_commands.values().any(|command| command.item == item)
    }

    /// Runs a command line. Unlike an agent's command, it is recorded before it starts, so that none is missing in the
    /// log of a daemon that was killed.
    pub fn start_user_command(
        &mut self,
        journal: &mut Journal,
        by: Origin,
        line: String,
        turn: TurnId,
    ) -> ItemId {
        let item = journal.next_item();
        let terminal_id = format!("user_{}", item.0);
        let cwd = journal.live().spec.session_cwd().to_owned();
        let output_bytes = TERMINAL_BYTES.min(self.room_for_output());
        let start = ItemStart::TerminalCommand {
            terminal_id: terminal_id.clone(),
            command: line.clone(),
            args: Box::default(),
            cwd: cwd.as_str().into(),
            output_bytes: u32::try_from(output_bytes).ok(),
            requested_by: by.clone().into_client(),
        };
        let kind = EventKind::Item(ItemEvent::Started {
            item,
            parent: None,
            start,
        });
        journal.emit(by, kind, None);
        self.output_limits.insert(terminal_id.clone(), output_bytes);
        let call = USER_CALLS + u64::from(item.0);
        let command = UserCommand {
            item,
            turn,
            terminal_id: terminal_id.clone(),
            created: false,
            killed: false,
        };
        self.user_commands.insert(call, command);
        let what = HostCall::CreateTerminal {
            terminal_id,
            command: "/bin/sh".to_owned(),
            args: vec!["-c".to_owned(), line],
            env: Vec::new(),
            cwd,
            output_bytes,
        };
        journal.call_user_host(call, what);
        item
    }

    /// Handles the host's reply. Returns why the command could not be started, if so.
    pub fn user_host_replied(
        &mut self,
        journal: &mut Journal,
        call: u64,
        result: Result<HostReply, Failure>,
    ) -> Option<Failure> {
        let command = self.user_commands.get_mut(&call)?;
        match result {
            Ok(HostReply::Created) => {
                command.created = true;
                if command.killed {
                    let terminal_id = command.terminal_id.clone();
                    journal.call_user_host(call, HostCall::KillTerminal { terminal_id });
                }
                None
            }
            // A command that is killed may have exited already.
            _ if command.created => None,
            Ok(_) => None,
            Err(failure) => {
                let UserCommand {
                    item, terminal_id, ..
                } = self.end_user_command(journal, call)?;
                self.output_limits.remove(&terminal_id);
                let by = journal.command_origin(item);
                let end = ItemEnd::TerminalCommand {
                    terminal_id,
                    exit_code: None,
                    signal: None,
                    output: failure.message.clone(),
                    output_blob: None,
                    truncated: false,
                };
                let outcome = ItemOutcome::Failed;
                journal.emit(
                    by,
                    EventKind::Item(ItemEvent::Completed { item, outcome, end }),
                    None,
                );
                Some(failure)
            }
        }
    }

    /// Interrupts the commands of users, of this turn or all. They end by themselves, or without waiting for their exit
    /// if `at_once`.
    pub fn kill_user_commands(
        &mut self,
        journal: &mut Journal,
        by: &Origin,
        turn: Option<TurnId>,
        at_once: bool,
    ) {
        for (call, command) in &mut self.user_commands {
            if turn.is_none_or(|turn| command.turn == turn) {
                command.kill(journal, by, *call, at_once);
            }
        }
        if at_once {
            self.close_user_commands(journal, turn);
        }
    }

    /// Interrupts one command. Returns `false` for other items.
    pub(super) fn kill_user_command(&mut self, journal: &mut Journal, by: &Origin, item: ItemId) -> bool {
        let call = USER_CALLS + u64::from(item.0);
        let command = self.user_commands.get_mut(&call);
        command.is_some_and(|command| {
            command.kill(journal, by, call, false);
            true
        })
    }

    /// Ends all commands of users, because the daemon stops.
    pub fn end_user_commands(&mut self, journal: &mut Journal) {
        self.close_user_commands(journal, None);
    }

    fn close_user_commands(&mut self, journal: &mut Journal, turn: Option<TurnId>) {
        let ends = |command: &UserCommand| turn.is_none_or(|turn| command.turn == turn);
        let calls = self.user_commands.iter().filter(|(_, command)| ends(command));
        let calls: Vec<u64> = calls.map(|(call, _)| *call).collect();
        for call in calls {
            if let Some(UserCommand { item, .. }) = self.end_user_command(journal, call) {
                self.close_terminal(journal, item);
            }
        }
    }

    /// Forgets a command that has exited. Returns whether a user had interrupted it.
    pub(super) fn user_command_exited(&mut self, journal: &mut Journal, item: ItemId) -> bool {
        let call = USER_CALLS + u64::from(item.0);
        let ended = self.end_user_command(journal, call);
        ended.is_some_and(|command| command.killed)
    }

    /// Forgets a command, and releases its terminal.
    fn end_user_command(&mut self, journal: &mut Journal, call: u64) -> Option<UserCommand> {
        let command = self.user_commands.remove(&call)?;
        let terminal_id = command.terminal_id.clone();
        journal.call_user_host(call, HostCall::ReleaseTerminal { terminal_id });
        Some(command)
    }
}
