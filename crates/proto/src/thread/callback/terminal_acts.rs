//! What users do to running commands: they type into their terminals, and end them.
//!
//! In: requests of clients, replies of the host. Out: operations on terminals, replies, events. Owns: the requests whose
//! outcome is not known. Never: records what was typed.

use std::collections::BTreeMap;

use acpd_model::limits::TERMINAL_INPUT_BYTES;
use acpd_model::{ErrorCode, EventKind, Failure, HostEvent, ItemId, Origin};

use super::Callbacks;
use super::user_commands::is_user_command;
use crate::projection::ItemView;
use crate::thread::command::TerminalAct;
use crate::thread::host_call::{HostCall, HostReply};
use crate::thread::journal::Journal;
use crate::thread::reply::Reply;

/// The first number of these host calls; neither an agent's callbacks nor commands of users have such numbers.
const ACT_CALLS: u64 = 1 << 61;

/// Returns whether a host call is what a user does to a running command.
pub(in crate::thread) fn is_terminal_act(call: u64) -> bool {
    call >= ACT_CALLS && !is_user_command(call)
}

/// What users do to running commands.
#[derive(Debug, Default)]
pub(super) struct TerminalActs {
    count: u64,
    /// The clients' commands whose outcome is not known, by the number of their host call.
    pending: BTreeMap<u64, u64>,
}

impl Callbacks {
    /// Types into the terminal of a running command, or ends it. The policy has judged the command; it does not judge what the
    /// command reads.
    pub fn use_terminal(
        &mut self,
        journal: &mut Journal,
        call: u64,
        by: Origin,
        terminal_id: String,
        act: TerminalAct,
    ) {
        let found = self.running_terminal(journal, &terminal_id);
        let checked = found.and_then(|item| check_act(&act).map(|()| item));
        let item = match checked {
            Ok(item) => item,
            Err(failure) => return journal.reply(call, Err(failure)),
        };
        if act == TerminalAct::Kill && self.kill_user_command(journal, &by, item) {
            return journal.reply(call, Ok(Reply::Done));
        }
        let (what, event) = match act {
            TerminalAct::TypeIn(text) => {
                let event = EventKind::Host(HostEvent::TerminalInput {
                    item,
                    terminal_id: terminal_id.clone(),
                });
                (HostCall::TypeIn { terminal_id, text }, event)
            }
            TerminalAct::Kill => {
                let event = EventKind::Host(HostEvent::TerminalKilled {
                    terminal_id: terminal_id.clone(),
                });
                (HostCall::KillTerminal { terminal_id }, event)
            }
        };
        let acts = self.terminal_acts.get_or_insert_default();
        let number = ACT_CALLS + acts.count;
        acts.count += 1;
        acts.pending.insert(number, call);
        // Before it is done: the command may end before that is known, and it may be done in part.
        journal.emit(by, event, None);
        if self.is_running_for_user(item) {
            journal.call_user_host(number, what);
        } else {
            journal.call_host(number, what);
        }
    }

    /// Handles the host's reply.
    pub fn terminal_act_done(
        &mut self,
        journal: &mut Journal,
        number: u64,
        result: Result<HostReply, Failure>,
    ) {
        let acts = self.terminal_acts.as_mut();
        let pending = acts.and_then(|acts| acts.pending.remove(&number));
        if let Some(call) = pending {
            journal.reply(call, result.map(|_| Reply::Done));
        }
    }

    /// Returns the item of a command that runs in a terminal of the daemon.
    fn running_terminal(&self, journal: &Journal, terminal_id: &str) -> Result<ItemId, Failure> {
        if self.editor_terminals.contains_key(terminal_id) {
            let message = format!("the command in {terminal_id} runs in an editor: use the terminal there");
            return Err(Failure::new(ErrorCode::Unsupported, message));
        }
        let is_it = |view: &ItemView| matches!(view, ItemView::Terminal { terminal_id: known, .. } if known == terminal_id);
        let mut open = journal.live().items.iter();
        let found = open.find(|(_, open)| is_it(&open.view));
        found.map(|(item, _)| *item).ok_or_else(|| {
            let message = format!("no command of this thread is running in the terminal {terminal_id:?}");
            Failure::new(ErrorCode::NotFound, message)
        })
    }
}

fn check_act(act: &TerminalAct) -> Result<(), Failure> {
    match act {
        TerminalAct::TypeIn(text) if text.is_empty() => Err(Failure::invalid_params("the text is empty")),
        TerminalAct::TypeIn(text) if text.len() > TERMINAL_INPUT_BYTES => {
            Err(Failure::invalid_params(format!(
                "the text has {} bytes (limit {TERMINAL_INPUT_BYTES}): send it in parts",
                text.len()
            )))
        }
        _ => Ok(()),
    }
}
