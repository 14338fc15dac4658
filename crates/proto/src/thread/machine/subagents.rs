//! Subagents: what they send goes to the parts like what the main agent sends, in a lane of its own.

use acpd_model::{ItemOutcome, LaneId, MessageType, RawJson};

use super::Thread;
use crate::agent::{AgentCommand, AgentEvent, Call, Chunk, ChunkContent, SessionMessage, SubagentUpdate};
use crate::projection::content_text;
use crate::thread::subagents::Subagents;
use crate::wire::RpcError;

/// JSON-RPC's error code for params that refer to something unknown.
const INVALID_PARAMS: i64 = -32602;

impl Thread {
    /// Acts for a subagent, or for the main agent: events are about it meanwhile.
    pub(super) fn in_lane<R>(&mut self, lane: Option<LaneId>, act: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.journal.set_lane(lane);
        let result = act(self);
        self.journal.set_lane(before);
        result
    }

    /// Handles what a session of the agent sends that is not the thread's own.
    pub(super) fn handle_subagent(&mut self, session: &str, event: AgentEvent) {
        let known = self.live().lanes.of_session(session);
        match known.or_else(|| self.assume_subagent(session, &event)) {
            Some(lane) => self.in_lane(Some(lane), |thread| thread.handle_agent(event)),
            None => self.refuse_session(session, event),
        }
    }

    /// Gives a lane to a session that was not announced: one that asks a user, or that sends something while a tool call runs.
    fn assume_subagent(&mut self, session: &str, event: &AgentEvent) -> Option<LaneId> {
        let asks = matches!(
            event,
            AgentEvent::CallbackReceived {
                request: Call::Permission { .. } | Call::Elicit { .. },
                ..
            }
        );
        let has_call = !self.live().items.tools().is_empty();
        if self.session.is_stopping() || !(asks || has_call) {
            return None;
        }
        self.subagents.assume(&mut self.journal, session)
    }

    fn refuse_session(&mut self, session: &str, event: AgentEvent) {
        match event {
            AgentEvent::Update(update) => {
                let params = update.into_params(session);
                self.tool_calls.foreign_update(&mut self.journal, params);
            }
            AgentEvent::CallbackReceived {
                call,
                request,
                params,
            } => {
                let method = request.method().to_owned();
                let error = RpcError::new(INVALID_PARAMS, format!("{method}: unknown session {session:?}"));
                self.handle_agent(AgentEvent::CallbackRefused {
                    call,
                    method,
                    error,
                    params,
                });
            }
            _ => {}
        }
    }

    /// Handles a report of the present agent on a subagent.
    pub(super) fn subagent_reported(
        &mut self,
        report: SubagentUpdate,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
    ) {
        let rests = report.patch.state.set().is_some_and(|state| !state.is_at_work());
        let lane = self.subagents.report(&mut self.journal, report, raw, raw_params);
        if lane.is_some() && self.live().lanes.is_at_work(lane) {
            self.work_unprompted();
        } else if lane.is_some() && rests {
            // The main agent may have something to say about it.
            self.turns.extend(&self.journal);
            self.messages.end(&mut self.journal, lane, ItemOutcome::Completed);
        }
    }

    /// Handles a message between sessions. Only a subagent's lane shows it: the main agent's conversation is with the user.
    pub(super) fn handle_session_message(
        &mut self,
        message: SessionMessage,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
    ) {
        let Some(lane) = self.journal.lane() else {
            return self.journal.emit_unshown(raw, raw_params);
        };
        let role = self.subagents.note_message(&self.journal, lane, &message);
        if message.content.is_empty() || self.messages.has_id(Some(lane), &message.id) {
            return self.journal.emit_unshown(raw, raw_params);
        }
        let text = content_text(&message.content);
        self.add_session_chunk(
            role,
            Some(message.id),
            ChunkContent::Text(text),
            (raw, raw_params),
        );
    }

    /// Handles a chunk of such a message.
    pub(super) fn handle_session_chunk(
        &mut self,
        chunk: Chunk,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
    ) {
        let Some(lane) = self.journal.lane() else {
            return self.journal.emit_unshown(raw, raw_params);
        };
        let id = chunk.message_id.as_deref().unwrap_or_default();
        let role = self.subagents.role_of(lane, id);
        self.add_session_chunk(role, chunk.message_id, chunk.content, (raw, raw_params));
    }

    fn add_session_chunk(
        &mut self,
        role: MessageType,
        message_id: Option<String>,
        content: ChunkContent,
        (raw, raw_params): (Option<RawJson>, Option<RawJson>),
    ) {
        let chunk = Chunk {
            role,
            message_id,
            content,
            alone: true,
            first_half: None,
            last_half: None,
        };
        let quirks = self.session.quirks();
        self.messages
            .handle_chunk(&mut self.journal, quirks, chunk, raw, raw_params);
    }

    /// Records that the subagents that work end with their process.
    pub(super) fn stop_subagents(&mut self) {
        Subagents::stop_all(&mut self.journal);
    }

    /// Cancels the work of all subagents that permit it.
    pub(super) fn cancel_subagents(&mut self) {
        if !self.session.is_ready() {
            return;
        }
        let lanes = self.live().lanes.all();
        let sessions: Vec<String> = lanes
            .filter(|(_, lane)| lane.is_at_work() && lane.may_cancel)
            .map(|(_, lane)| lane.session_id.clone())
            .collect();
        for session in sessions {
            self.journal
                .send_to_agent(AgentCommand::CancelSubagent { session });
        }
    }
}
