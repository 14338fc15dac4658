//! Callbacks: the agent's requests about files and terminals, and its extensions; and commands that users run in
//! terminals.
//!
//! In: approved calls, answers of the host and of editors, events of terminals, editors that attach and detach. Out:
//! requests for the host and for editors, answers for the agent, events. Owns: the calls in progress, the attached
//! editors, the terminals. Never: decides whether a call is allowed.

mod delegated;
mod delegated_terminals;
mod delegation_end;
mod files;
mod final_output;
mod host;
mod lease;
mod task;
mod terminal_acts;
mod terminals;
mod user_commands;

use std::collections::BTreeMap;

use acpd_model::limits::{AGENT_CALL_BYTES, AGENT_CALLS, SMALL_CALL_BYTES};
use acpd_model::{ErrorCode, Failure, ItemId, LaneId, RawJson};
use acpd_policy::Form;

use self::delegated_terminals::EditorTerminal;
use self::final_output::FinalOutputs;
use self::lease::AttachedEditor;
use self::task::{HostTask, Responder};
use self::terminal_acts::TerminalActs;
use self::user_commands::UserCommand;
use super::journal::Journal;
use crate::agent::{AgentCommand, Call, Quirks};
use crate::time::{Deadline, because, earliest};
use crate::wire::RpcError;

pub(super) use terminal_acts::is_terminal_act;
pub(super) use user_commands::{RUN_COMMAND, is_user_command};

/// The callbacks of a thread's agent.
#[derive(Debug, Default)]
pub(super) struct Callbacks {
    /// Number of callbacks of earlier processes. Our numbers continue from there. So a late result of a file or
    /// terminal operation is never used for a callback of the next process.
    before: u64,
    /// Number of callbacks so far, of this process and the earlier ones.
    count: u64,
    /// For callbacks below this number, no agent waits for the answer.
    abandoned: u64,
    /// The quirks of the agent whose session is open.
    quirks: Quirks,
    /// Calls in progress, by callback.
    tasks: BTreeMap<u64, HostTask>,
    /// Sizes of large unanswered callbacks, in bytes. Finished ones are removed when the next large one arrives.
    large_calls: BTreeMap<u64, usize>,
    /// The subagents that have made unanswered callbacks.
    lanes: BTreeMap<u64, LaneId>,
    /// The agent's original params, until it is known which side answers the callback.
    raw_params: BTreeMap<u64, RawJson>,
    /// Editors that have the thread open, in the order in which they attached.
    editors: Vec<AttachedEditor>,
    /// Terminals that run in editors, by the daemon's ids.
    editor_terminals: BTreeMap<String, EditorTerminal>,
    /// The daemon's own requests to editors about these terminals.
    final_outputs: FinalOutputs,
    /// The maximum output to keep of each terminal, in bytes, by the terminal's id.
    output_limits: BTreeMap<String, usize>,
    /// Running commands of users, by the number of their host calls.
    user_commands: BTreeMap<u64, UserCommand>,
    /// What users do to running commands.
    terminal_acts: Option<Box<TerminalActs>>,
}

impl Callbacks {
    /// Continues the numbers of callbacks after a restart: they are part of terminal ids, which are unique in a
    /// thread.
    pub fn recover(&mut self, last_terminal: u64) {
        self.count = self.count.max(last_terminal);
    }

    /// Prepares for another process of the agent, which starts its callback numbers again.
    pub fn start_process(&mut self) {
        self.before = self.count;
    }

    /// Sets the quirks of the agent whose session is open.
    pub fn set_quirks(&mut self, quirks: Quirks) {
        self.quirks = quirks;
    }

    /// Returns our number for a new callback of the process.
    pub fn count(&mut self, call: u64) -> u64 {
        let call = self.number(call);
        self.count = self.count.max(call + 1);
        call
    }

    /// Returns our number for a callback of the process.
    pub fn number(&self, call: u64) -> u64 {
        self.before + call
    }

    /// Returns the subagent that has made a callback.
    pub fn lane_of(&self, call: u64) -> Option<LaneId> {
        self.lanes.get(&call).copied()
    }

    /// Returns whether pending work can still change the thread, even if no client waits for it.
    pub fn has_pending_work(&self) -> bool {
        self.is_changing() || !self.final_outputs.is_empty() || !self.user_commands.is_empty()
    }

    /// Returns whether pending work can still change the host.
    pub fn is_changing(&self) -> bool {
        self.tasks.values().any(HostTask::outlives_agent)
    }

    /// Returns whether the agent waits for a call in progress.
    pub fn has_agent_waiting(&self) -> bool {
        self.tasks.range(self.abandoned..).next().is_some()
    }

    /// Returns whether the host or an editor is currently writing this file change.
    pub fn is_being_written(&self, change: ItemId) -> bool {
        self.tasks.values().any(|task| match task {
            HostTask::Write(write) => write.item == Some(change),
            HostTask::Delegated(delegation) => delegation.item == Some(change),
            _ => false,
        })
    }

    /// Returns whether no agent waits for the answer to a callback any more.
    fn is_abandoned(&self, call: u64) -> bool {
        call < self.abandoned
    }

    /// Checks a new callback against the limits, and rejects it if it exceeds them. `undecided` is the number of
    /// callbacks that wait for a decision; `waits` returns whether a callback is one of them.
    pub fn admit(
        &mut self,
        journal: &mut Journal,
        call: u64,
        request: &Call,
        raw_params: Option<RawJson>,
        undecided: usize,
        waits: impl Fn(u64) -> bool,
    ) -> bool {
        self.lanes.extend(journal.lane().map(|lane| (call, lane)));
        if self.tasks.len() + undecided >= AGENT_CALLS {
            let message = format!("too many requests in flight from this agent (limit {AGENT_CALLS})");
            let failure = Failure::new(ErrorCode::Overloaded, message);
            self.refuse(journal, call, &failure);
            return false;
        }
        let bytes = request.bytes() + raw_params.as_ref().map_or(0, |raw_params| raw_params.get().len());
        if let Err(failure) = self.hold(call, bytes, waits) {
            self.refuse_and_record(journal, call, request.method(), &failure);
            return false;
        }
        // Editors do not answer permission requests or elicitations.
        if !matches!(request, Call::Permission { .. } | Call::Elicit { .. }) {
            let raw_params = raw_params.map(|raw_params| (call, raw_params));
            self.raw_params.extend(raw_params);
        }
        true
    }

    /// Records the memory that a callback uses until it is done. A callback above the whole limit is accepted if
    /// there is no other one.
    fn hold(&mut self, call: u64, bytes: usize, waits: impl Fn(u64) -> bool) -> Result<(), Failure> {
        if bytes <= SMALL_CALL_BYTES {
            return Ok(());
        }
        let tasks = &self.tasks;
        self.large_calls
            .retain(|call, _| tasks.contains_key(call) || waits(*call));
        let held: usize = self.large_calls.values().sum();
        if held > 0 && held + bytes > AGENT_CALL_BYTES as usize {
            let message = format!(
                "the unanswered requests of this agent hold {held} bytes already, and this one has {bytes} \
                 (limit {AGENT_CALL_BYTES} bytes): wait for an answer first"
            );
            return Err(Failure::new(ErrorCode::Overloaded, message));
        }
        self.large_calls.insert(call, bytes);
        Ok(())
    }

    /// Returns how a command without arguments runs on the side that would answer this call.
    pub fn form_of(&self, journal: &Journal, request: &Call) -> Form {
        match self.responder(journal, request) {
            Responder::Daemon => self.command_form(),
            // An editor receives a line as the program that runs it.
            Responder::Editor(_) if self.command_form() == Form::Line => Form::Line,
            Responder::Editor(_) | Responder::Lost => Form::Unknown,
        }
    }

    /// Runs an approved call; `at` is the real path of its file at the time of the decision.
    pub fn run(&mut self, journal: &mut Journal, call: u64, request: Call, at: Option<String>) {
        match self.responder(journal, &request) {
            Responder::Daemon => self.run_on_host(journal, call, request, at),
            Responder::Editor(connection) => self.delegate(journal, call, request, at, connection),
            Responder::Lost => self.answer_lost(journal, call, request),
        }
    }

    /// Ends a callback that the agent withdrew. JSON-RPC still requires an answer.
    pub fn withdraw(&mut self, journal: &mut Journal, call: u64) {
        self.withdraw_delegation(journal, call);
        // Operations that change the host run to their end, and are recorded then.
        if self.tasks.get(&call).is_some_and(|task| !task.changes()) {
            self.tasks.remove(&call);
        }
        let error = RpcError::new(-32800, "request cancelled");
        self.answer(journal, call, Err(error));
    }

    /// Rejects a call, and records the attempt.
    pub fn refuse_and_record(&mut self, journal: &mut Journal, call: u64, method: &str, failure: &Failure) {
        journal.emit_refusal(method, failure);
        self.refuse(journal, call, failure);
    }

    fn refuse(&mut self, journal: &mut Journal, call: u64, failure: &Failure) {
        self.answer(journal, call, Err(failure.into()));
    }

    /// Answers a callback, unless its process has exited.
    pub fn answer(&mut self, journal: &mut Journal, call: u64, result: Result<RawJson, RpcError>) {
        self.raw_params.remove(&call);
        self.lanes.remove(&call);
        if self.is_abandoned(call) {
            return;
        }
        // A lower number belongs to an earlier process.
        if let Some(call) = call.checked_sub(self.before) {
            journal.send_to_agent(AgentCommand::Answer { call, result });
        }
    }

    /// Drops the callbacks of an agent that has exited. Started writes and commands continue, and are recorded when
    /// they end.
    pub fn abandon(&mut self, journal: &mut Journal) {
        self.withdraw_delegations(journal);
        self.raw_params.clear();
        self.tasks.retain(|_, task| task.outlives_agent());
        let tasks = &self.tasks;
        self.lanes.retain(|call, _| tasks.contains_key(call));
        self.abandoned = self.count;
        self.quirks = Quirks::default();
    }

    /// Returns when to call [`expire`](Self::expire).
    pub fn deadline(&self) -> Option<Deadline> {
        earliest(
            because(self.delegation_deadline(), "an editor must answer a callback"),
            because(
                self.final_output_deadline(),
                "an editor must send a command's last output",
            ),
        )
    }

    /// Expires late answers of editors.
    pub fn expire(&mut self, journal: &mut Journal) {
        self.expire_delegations(journal);
        self.expire_final_outputs(journal);
    }
}
