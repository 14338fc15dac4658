//! Turns: queued, running, settled.

use std::time::Duration;

use acpd_model::event::{Level, TurnStatus};
use acpd_model::{ErrorCode, EventKind, Failure, ItemOutcome, Origin, RawJson, TurnId};
use serde::Deserialize;

use super::command::TurnView;
use super::message::add_user_message;
use super::thread::Thread;
use crate::agent::{AgentCommand, Capabilities};
use crate::projection::Interrupter;
use crate::time::Instant;
use crate::wire::RpcError;

/// The notice of a turn that was interrupted and ends with the daemon.
pub(super) const DAEMON_STOPPED: &str = "daemonStopped";

/// A prompt that the agent has not got yet.
#[derive(Debug)]
pub(super) struct UnsentPrompt {
    /// ACP content blocks.
    pub blocks: Vec<RawJson>,
    /// `_meta` beside them, as it came.
    pub meta: Option<RawJson>,
}

/// How a turn ended, before it is an event.
pub(super) struct TurnResult {
    pub status: TurnStatus,
    pub stop_reason: Option<String>,
    pub error: Option<String>,
    pub usage: Option<RawJson>,
    /// The agent's whole answer, where the stop reason and the usage would not rebuild it; or its error.
    pub raw: Option<RawJson>,
}

impl TurnResult {
    fn failed(error: &str) -> Self {
        Self {
            status: TurnStatus::Failed,
            stop_reason: None,
            error: Some(error.to_owned()),
            usage: None,
            raw: None,
        }
    }
}

impl Thread {
    pub(super) fn start_turn(
        &mut self,
        by: Origin,
        prompt: UnsentPrompt,
        client_turn_id: Option<String>,
    ) -> Result<TurnView, Failure> {
        if let Some(turn) = client_turn_id
            .as_ref()
            .and_then(|id| self.journal.live().client_turns.get(id))
        {
            return Ok(self.turn_view(turn.id, turn.status));
        }
        self.session.check_accepts_turns(&self.journal)?;
        check_input(&prompt.blocks, self.session.capabilities())?;
        if self.journal.live().queue.len() >= self.journal.limits().queued_turns {
            let waiting = self.journal.live().queue.len();
            return Err(Failure::new(
                ErrorCode::Overloaded,
                format!("too many queued turns in this thread (limit {waiting})"),
            ));
        }
        let turn = TurnId(self.journal.live().last_turn + 1);
        if self.journal.live().turn.is_some() {
            self.journal.emit_in(
                Some(turn),
                by,
                EventKind::TurnQueued {
                    input: prompt.blocks,
                    meta: prompt.meta,
                    client_turn_id,
                },
                None,
            );
        } else {
            self.begin(turn, &by, prompt, client_turn_id);
        }
        Ok(self.turn_view(turn, None))
    }

    fn turn_view(&self, id: TurnId, status: Option<TurnStatus>) -> TurnView {
        let running = self.journal.live().turn.filter(|turn| turn.id == id);
        TurnView {
            id,
            status,
            queued: self.journal.live().queue.iter().any(|turn| turn.id == id),
            started_at: running.map(|turn| turn.started_at),
        }
    }

    fn begin(&mut self, turn: TurnId, by: &Origin, prompt: UnsentPrompt, client_turn_id: Option<String>) {
        self.close_items(ItemOutcome::Completed);
        self.journal.forget_file_changes();
        self.violations.clear();
        self.approvals.forget_grants();
        self.journal.emit_in(
            Some(turn),
            by.clone(),
            EventKind::TurnStarted {
                client_turn_id,
                imported: false,
            },
            None,
        );
        self.journal.note_status();
        add_user_message(&mut self.journal, turn, by, &prompt.blocks);
        self.prompt = Some(prompt);
        self.wake();
        self.prompt_if_ready();
    }

    /// Sends the running turn's prompt, once there is an agent to take it.
    pub(super) fn prompt_if_ready(&mut self) {
        if !self.session.is_ready() || self.prompted.is_some() || self.session.settings_wait() {
            return;
        }
        let (Some(turn), true) = (self.journal.current_turn(), self.prompt.is_some()) else {
            return;
        };
        let Ok(primer) = self.session.primer(&mut self.journal, turn) else {
            return;
        };
        let Some(UnsentPrompt {
            blocks: mut prompt,
            meta,
        }) = self.prompt.take()
        else {
            return;
        };
        if let Err(failure) = check_blocks(&prompt, self.session.capabilities()) {
            return self.settle(TurnResult::failed(&failure.message), &Origin::Daemon);
        }
        prompt.splice(0..0, primer);
        self.messages.expect_echo(&prompt);
        self.prompted = Some(turn);
        self.session.record_activity(&self.journal);
        self.journal
            .send_to_agent(AgentCommand::Prompt { turn, prompt, meta });
    }

    pub(super) fn interrupt(&mut self, by: &Origin, turn: Option<TurnId>) -> Result<(), Failure> {
        if let Some(queued) =
            turn.filter(|id| self.journal.live().queue.iter().any(|queued| queued.id == *id))
        {
            self.settle_turn(queued, None, TurnResult::interrupted(), by);
            return Ok(());
        }
        let Some(running) = self.journal.live().turn else {
            return Err(Failure::new(ErrorCode::Conflict, "no turn is running"));
        };
        if turn.is_some_and(|id| id != running.id) {
            return Err(Failure::new(ErrorCode::Conflict, "that turn is not running"));
        }
        if running.interrupted == Some(Interrupter::Client) {
            return Ok(());
        }
        self.journal.emit_in(
            Some(running.id),
            by.clone(),
            EventKind::InterruptRequested {},
            None,
        );
        self.cancel_requests(by);
        self.journal.note_status();
        if self.prompted.is_none() {
            self.settle(TurnResult::interrupted(), by);
        } else if running.interrupted.is_none() {
            self.cancel_prompt();
        }
        Ok(())
    }

    /// When the agent will have been silent for too long. Not while it waits for us or for a person.
    pub(super) fn silence_deadline(&self) -> Option<Instant> {
        let waits =
            self.approvals.len() > 0 || self.callbacks.has_agent_waiting() || self.cancel_deadline.is_some();
        if waits || self.prompted.is_none() {
            return None;
        }
        self.session.silence_deadline(&self.journal)
    }

    pub(super) fn handle_silence(&mut self) {
        self.session.note_silence(&mut self.journal);
        self.cancel_prompt();
    }

    /// Asks the agent to end the turn.
    fn cancel_prompt(&mut self) {
        self.journal.send_to_agent(AgentCommand::Cancel);
        let patience = Duration::from_secs(self.journal.limits().cancel_secs);
        self.cancel_deadline = Some(self.journal.now().mono + patience);
    }

    pub(super) fn cancel_timed_out(&mut self) {
        let seconds = self.journal.limits().cancel_secs;
        self.cancel_deadline = None;
        self.stop_agent();
        let reason = match self.session.take_silence() {
            Some(silence) => {
                format!("{silence} and did not end the turn within {seconds} s; it was terminated")
            }
            None => {
                format!(
                    "the agent did not end the turn within {seconds} s after cancellation; it was terminated"
                )
            }
        };
        self.note_interrupted("cancelTimedOut", &reason);
        self.settle_unanswered(&reason, &Origin::Daemon);
    }

    pub(super) fn prompt_ended(&mut self, turn: TurnId, result: Result<RawJson, RpcError>) {
        if self.prompted != Some(turn) {
            return;
        }
        self.prompted = None;
        let by_client = self.is_interrupted_by_client();
        let silence = self.session.turn_ended().filter(|_| !by_client);
        let mut turn_result = match (result, silence) {
            (_, Some(silence)) => TurnResult::failed(&silence),
            (Ok(response), None) => TurnResult::from_response(&response),
            (Err(error), None) => TurnResult {
                raw: RawJson::of(&error).ok(),
                ..TurnResult::failed(&error.to_string())
            },
        };
        if by_client && turn_result.status == TurnStatus::Failed {
            turn_result.status = TurnStatus::Interrupted;
        }
        self.void_requests("the turn is over");
        self.settle(turn_result, &Origin::Agent);
    }

    pub(super) fn settle_queued(&mut self, turn: TurnId, reason: &str) {
        self.settle_turn(turn, None, TurnResult::failed(reason), &Origin::Daemon);
    }

    fn is_interrupted_by_client(&self) -> bool {
        let interrupter = self.journal.live().turn.and_then(|turn| turn.interrupted);
        interrupter == Some(Interrupter::Client)
    }

    /// Records why a turn that a client interrupted ends without the agent's answer. A turn that fails has the
    /// reason as its error.
    pub(super) fn note_interrupted(&mut self, code: &str, reason: &str) {
        if self.is_interrupted_by_client() {
            self.journal.notice(Level::Warning, code, reason);
        }
    }

    /// Ends the running turn, if there is one, without the agent's answer: as interrupted if a client wanted its
    /// end, else as failed.
    pub(super) fn settle_unanswered(&mut self, reason: &str, by: &Origin) {
        let turn_result = if self.is_interrupted_by_client() {
            TurnResult::interrupted()
        } else {
            TurnResult::failed(reason)
        };
        self.settle(turn_result, by);
    }

    /// Ends the running turn and begins the next one that waits.
    pub(super) fn settle(&mut self, turn_result: TurnResult, by: &Origin) {
        let Some(running) = self.journal.live().turn else {
            return;
        };
        self.journal.flush();
        self.cancel_deadline = None;
        self.prompt = None;
        let quirks = self.session.quirks();
        self.messages.end_echo(&mut self.journal, quirks);
        self.close_items(match turn_result.status {
            TurnStatus::Interrupted => ItemOutcome::Interrupted,
            TurnStatus::Failed => ItemOutcome::Failed,
            _ => ItemOutcome::Completed,
        });
        self.settle_turn(running.id, Some(running.started_at), turn_result, by);
        self.callbacks.ask_unread_outputs(&mut self.journal);
        self.reopen_if_idle();
        self.begin_next();
        self.journal.note_status();
    }

    pub(super) fn begin_next(&mut self) {
        if let Some(next) = self.journal.live().queue.front().cloned() {
            let prompt = UnsentPrompt {
                blocks: next.input,
                meta: next.meta,
            };
            self.begin(next.id, &next.by, prompt, next.client_turn_id);
        }
    }

    fn settle_turn(
        &mut self,
        turn: TurnId,
        started_at: Option<acpd_model::Millis>,
        turn_result: TurnResult,
        by: &Origin,
    ) {
        let TurnResult {
            status,
            stop_reason,
            error,
            usage,
            raw,
        } = turn_result;
        let kind = EventKind::TurnSettled {
            status,
            stop_reason,
            error,
            started_at,
            usage,
        };
        self.journal.emit_in(Some(turn), by.clone(), kind, raw);
    }
}

impl TurnResult {
    fn interrupted() -> Self {
        Self {
            status: TurnStatus::Interrupted,
            stop_reason: None,
            error: None,
            usage: None,
            raw: None,
        }
    }

    /// Reads ACP's prompt response; stop reasons stay distinct.
    fn from_response(response: &RawJson) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Response {
            stop_reason: String,
            #[serde(default)]
            usage: Option<RawJson>,
        }
        let Ok(Response { stop_reason, usage }) = response.read() else {
            return Self::failed("the agent ended the turn without a stop reason");
        };
        let usage = usage.filter(|usage| usage.get() != "null");
        let usual = match &usage {
            Some(usage) => format!(r#"{{"stopReason":"{stop_reason}","usage":{}}}"#, usage.get()),
            None => format!(r#"{{"stopReason":"{stop_reason}"}}"#),
        };
        let status = match stop_reason.as_str() {
            "cancelled" => TurnStatus::Interrupted,
            "refusal" => TurnStatus::Refused,
            "max_tokens" | "max_turn_requests" | "max_requests" => TurnStatus::Limited,
            _ => TurnStatus::Completed,
        };
        Self {
            status,
            stop_reason: Some(stop_reason),
            error: None,
            usage,
            raw: (response.get() != usual).then(|| response.clone()),
        }
    }
}

/// Refuses what is no input of a turn, or that the agent cannot take.
pub(super) fn check_input(input: &[RawJson], capabilities: Option<&Capabilities>) -> Result<(), Failure> {
    if input.is_empty() {
        return Err(Failure::invalid_params("a turn needs some input"));
    }
    check_blocks(input, capabilities)
}

/// Refuses blocks that are none, or that the agent cannot take.
fn check_blocks(blocks: &[RawJson], capabilities: Option<&Capabilities>) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Block {
        #[serde(rename = "type")]
        kind: String,
    }
    for block in blocks {
        let Ok(Block { kind }) = block.read() else {
            return Err(Failure::invalid_params(
                "each block of the input must be an ACP content block with a type",
            ));
        };
        let capability = match kind.as_str() {
            "text" | "resource_link" => continue,
            "image" => ("image", capabilities.is_none_or(|c| c.image)),
            "audio" => ("audio", capabilities.is_none_or(|c| c.audio)),
            "resource" => ("embeddedContext", capabilities.is_none_or(|c| c.embedded_context)),
            _ => {
                return Err(Failure::invalid_params(format!(
                    "{kind:?} is no ACP content block"
                )));
            }
        };
        if !capability.1 {
            let message = format!(
                "the agent takes no {kind} blocks: it did not declare promptCapabilities.{}",
                capability.0
            );
            return Err(Failure::new(ErrorCode::Unsupported, message));
        }
    }
    Ok(())
}
