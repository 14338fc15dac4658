//! The last output of commands that run in an editor, if the agent did not request it.
//!
//! In: a terminal that is about to be released, or whose turn or agent has ended. Out: one request of the daemon to
//! the editor; after its answer or deadline, the end of the terminal's item, then the operations that waited for it.
//! Owns: these requests. Never: sends an editor two requests for the same terminal.

use std::collections::BTreeMap;
use std::time::Duration;

use acpd_model::limits::{EDITOR_ANSWER_SECS, EDITOR_CALLS};
use acpd_model::{Origin, RawJson};
use serde_json::json;

use super::Callbacks;
use super::delegated_terminals::is_output;
use super::task::HostTask;
use crate::agent::Call;
use crate::thread::editors::{EditorCommand, EditorRequest};
use crate::thread::effect::Effect;
use crate::thread::journal::Journal;
use crate::time::{Instant, earliest};
use crate::wire::RpcError;

/// The first number of the daemon's own requests; callbacks of an agent never reach it.
const OWN_REQUESTS: u64 = 1 << 63;

/// The unanswered requests to editors.
#[derive(Debug, Default)]
pub(super) struct FinalOutputs {
    open: BTreeMap<u64, FinalOutput>,
    /// Number of requests so far.
    asked: u64,
}

#[derive(Debug)]
struct FinalOutput {
    connection: String,
    terminal_id: String,
    /// Whether the command was known to have ended when the request was sent.
    after_exit: bool,
    until: Instant,
}

impl FinalOutputs {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    fn take(&mut self, connection: &str, number: u64) -> Option<FinalOutput> {
        let asked = self.open.get(&number)?;
        if asked.connection != connection {
            return None;
        }
        self.open.remove(&number)
    }
}

/// Returns whether a request to an editor is the daemon's own.
pub(super) fn is_own(number: u64) -> bool {
    number >= OWN_REQUESTS
}

impl Callbacks {
    /// Returns whether a request for the output of a terminal is pending.
    pub(super) fn awaits_output(&self, terminal_id: &str) -> bool {
        let mut open = self.final_outputs.open.values();
        open.any(|asked| asked.terminal_id == terminal_id)
    }

    /// Requests a terminal's output from the editor, if its item is open and this was not done before. Returns
    /// whether the request was sent.
    pub(super) fn ask_output(&mut self, journal: &mut Journal, terminal_id: &str) -> bool {
        let Some(terminal) = self.editor_terminals.get(terminal_id) else {
            return false;
        };
        let is_open = journal.live().items.contains_key(&terminal.item);
        if terminal.lost || !is_open || terminal.asked {
            return false;
        }
        let connection = terminal.connection.clone();
        let after_exit = terminal.exit.is_some();
        let own = self.final_outputs.open.values();
        let own = own.filter(|asked| asked.connection == connection).count();
        if self.delegated_to(&connection).count() + own >= EDITOR_CALLS {
            return false;
        }
        if let Some(terminal) = self.editor_terminals.get_mut(terminal_id) {
            terminal.asked = true;
        }
        journal.flush();
        let number = OWN_REQUESTS + self.final_outputs.asked;
        self.final_outputs.asked += 1;
        let params = json!({ "sessionId": journal.live().thread, "terminalId": terminal_id });
        let order = EditorCommand::Request {
            call: number,
            after: journal.live().last_seq,
            request: Box::new(EditorRequest {
                method: "terminal/output".to_owned(),
                params: Some(params.into()),
                terminal_id: Some(terminal_id.to_owned()),
                creates: false,
            }),
        };
        let asked = FinalOutput {
            connection: connection.clone(),
            terminal_id: terminal_id.to_owned(),
            after_exit,
            until: journal.now().mono + Duration::from_secs(EDITOR_ANSWER_SECS),
        };
        self.final_outputs.open.insert(number, asked);
        journal.push(Effect::Editor { connection, order });
        true
    }

    /// Requests the output of ended terminals at the end of a turn, because the agent may never request it.
    pub fn ask_unread_outputs(&mut self, journal: &mut Journal) {
        let ended = self.editor_terminals.iter();
        let ended: Vec<String> = ended
            .filter(|(_, terminal)| terminal.exit.is_some())
            .map(|(id, _)| id.clone())
            .collect();
        for terminal_id in ended {
            self.ask_output(journal, &terminal_id);
        }
    }

    pub(super) fn final_output_answered(
        &mut self,
        journal: &mut Journal,
        connection: &str,
        number: u64,
        result: Result<RawJson, RpcError>,
    ) {
        let Some(asked) = self.final_outputs.take(connection, number) else {
            return;
        };
        let FinalOutput {
            terminal_id,
            after_exit,
            ..
        } = asked;
        let by = match result {
            Ok(result) if is_output(&result) => {
                self.editor_output_received(journal, &terminal_id, &result, after_exit);
                let terminal = self.editor_terminals.get(&terminal_id);
                terminal.map_or(Origin::Daemon, |terminal| terminal.by.clone())
            }
            _ => Origin::Daemon,
        };
        self.output_settled(journal, &terminal_id, by);
    }

    /// Continues the operations that waited for a terminal's output, because no more output will be known.
    fn output_settled(&mut self, journal: &mut Journal, terminal_id: &str, by: Origin) {
        let Some(terminal) = self.editor_terminals.get(terminal_id) else {
            return;
        };
        let connection = terminal.connection.clone();
        if terminal.leaving {
            return self.end_in_editor(journal, terminal_id, by);
        }
        if terminal.exit.is_some() {
            self.complete_in_editor(journal, terminal_id, by, false);
        }
        for (call, request) in self.take_queued_releases(terminal_id) {
            self.delegate(journal, call, request, None, connection.clone());
        }
    }

    /// Returns the agent's requests to release a terminal that wait for its output.
    pub(super) fn take_queued_releases(&mut self, terminal_id: &str) -> Vec<(u64, Call)> {
        let is_queued = |_: &u64, task: &mut HostTask| matches!(task, HostTask::QueuedRelease(queued) if queued == terminal_id);
        let calls = self.tasks.extract_if(.., is_queued).map(|(call, _)| call);
        calls
            .map(|call| {
                let terminal_id = terminal_id.to_owned();
                (call, Call::ReleaseTerminal { terminal_id })
            })
            .collect()
    }

    /// Returns the next deadline for an editor's answer.
    pub(super) fn final_output_deadline(&self) -> Option<Instant> {
        let open = self.final_outputs.open.values();
        open.fold(None, |at, asked| earliest(at, Some(asked.until)))
    }

    /// Continues without the answers that are late.
    pub(super) fn expire_final_outputs(&mut self, journal: &mut Journal) {
        let now = journal.now().mono;
        self.give_up_outputs(journal, |asked| asked.until <= now);
    }

    /// Continues without any of these answers.
    pub fn give_up_all_outputs(&mut self, journal: &mut Journal) {
        self.give_up_outputs(journal, |_| true);
    }

    fn give_up_outputs(&mut self, journal: &mut Journal, which: impl Fn(&FinalOutput) -> bool) {
        let given_up = self.final_outputs.open.extract_if(.., |_, asked| which(asked));
        for (call, asked) in given_up.collect::<Vec<_>>() {
            let order = EditorCommand::Withdraw { call, forget: true };
            let connection = asked.connection;
            journal.push(Effect::Editor { connection, order });
            self.output_settled(journal, &asked.terminal_id, Origin::Daemon);
        }
    }

    /// Drops the requests to an editor that has left.
    pub(super) fn lose_outputs(&mut self, connection: &str) {
        self.final_outputs
            .open
            .retain(|_, asked| asked.connection != connection);
    }
}
