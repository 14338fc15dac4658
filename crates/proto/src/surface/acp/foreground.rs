//! What an editor knows of a session's foreground: whether the agent works, waits for a user, or is idle, and why it stopped.
//!
//! In: frames of turns and questions. Out: `state_update`, when the state changes, and as a snapshot for an editor that opens a session.
//! Owns: the state. Never: sends the states of the history: an editor would count them as new.

use std::collections::BTreeSet;

use acpd_model::{ErrorCode, ItemId, RawJson, RequestId, Seq, ThreadId, TurnId, json};

use super::encode_v2::{background, write_update};
use super::frame::{Frame, FrameKind, INTERNAL, TurnResult};
use super::peer::Peer;
use crate::projection::Live;
use crate::wire::{Object, RpcError, member};

/// The stop reasons of ACP that acpd reports as they are.
const STOP_REASONS: [&str; 5] = [
    "end_turn",
    "max_tokens",
    "max_turn_requests",
    "refusal",
    "cancelled",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    RequiresAction,
    Idle,
}

impl State {
    fn as_acp(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::RequiresAction => "requires_action",
            Self::Idle => "idle",
        }
    }
}

/// The foreground of a session.
#[derive(Debug, Default)]
pub(super) struct Foreground {
    running: Option<TurnId>,
    /// The open questions of the running turn.
    questions: BTreeSet<RequestId>,
    /// What the editor has received last; a new session is idle.
    shown: Option<State>,
    /// What the agent does beside the turn: a list of version 2, if it has reported one.
    background: Option<RawJson>,
    /// The last turn whose prompt is in the conversation, and the prompt's message.
    inserted: Option<(TurnId, ItemId)>,
    /// The last turn with a prompt of this connection.
    own: Option<TurnId>,
    /// Later events than this one change what the editor knows. The earlier ones are history.
    after: Seq,
    /// Whether the editor knows the state from an earlier connection, and this one does not know it yet.
    is_continued: bool,
}

impl From<&Live> for Foreground {
    fn from(live: &Live) -> Self {
        let mut foreground = Self {
            running: live.turn.map(|turn| turn.id),
            background: live.background.as_ref().map(background),
            ..Self::default()
        };
        if foreground.running.is_some() {
            let of_agent = live
                .requests
                .values()
                .filter(|question| question.event.lane.is_none());
            foreground.questions = of_agent.map(|question| question.id).collect();
        }
        foreground
    }
}

impl Foreground {
    /// Takes over what this connection knows from before the session was opened again. Events up to `after` are history.
    pub(super) fn reopened(self, before: &Self, after: Seq) -> Self {
        Self {
            shown: before.shown,
            // The editor may have a list of work that has ended meanwhile.
            background: self
                .background
                .clone()
                .or_else(|| nothing(before.background.as_ref())),
            inserted: before.inserted,
            own: before.own,
            after,
            ..self
        }
    }

    /// Returns the foreground of a session that the editor has opened on an earlier connection, where it sent the prompt of the turn
    /// `own`. The events that follow change what the editor knows from there.
    pub(super) fn continued(self, own: Option<TurnId>) -> Self {
        Self {
            own,
            is_continued: true,
            ..self
        }
    }

    /// Returns whether the editor knows the state from an earlier connection only.
    pub(super) fn is_continued(&self) -> bool {
        self.is_continued
    }

    /// Returns whether a turn is the running one, as far as this connection knows.
    fn may_run(&self, turn: Option<TurnId>) -> bool {
        turn.is_some() && (self.is_continued || turn == self.running)
    }

    fn state(&self) -> State {
        match self.running {
            None => State::Idle,
            Some(_) if self.questions.is_empty() => State::Running,
            Some(_) => State::RequiresAction,
        }
    }

    /// Returns the running turn.
    pub(super) fn running(&self) -> Option<TurnId> {
        self.running
    }

    /// Returns whether the running turn has a prompt of this connection.
    pub(super) fn runs_own(&self) -> bool {
        self.running.is_some() && self.running == self.own
    }

    /// Records that the prompt of a turn is in the conversation, and whether it is of this connection.
    pub(super) fn insert(&mut self, turn: TurnId, item: ItemId, is_own: bool) {
        // A turn may have more messages of users.
        if self.inserted.is_none_or(|(last, _)| last != turn) {
            self.inserted = Some((turn, item));
        }
        if is_own {
            self.own = Some(turn);
        }
    }

    /// Returns the message of a turn's prompt, if it is the last one.
    pub(super) fn message_of(&self, turn: TurnId) -> Option<ItemId> {
        self.inserted
            .filter(|(last, _)| *last == turn)
            .map(|(_, item)| item)
    }
}

impl Peer {
    /// Sends the state of a session's foreground if a frame changes it.
    pub(super) fn follow_foreground(&mut self, thread: ThreadId, frame: &Frame) {
        let Some(session) = self.sessions.get_mut(&thread) else {
            return;
        };
        let foreground = &mut session.foreground;
        if frame.seq <= foreground.after {
            return;
        }
        match &frame.kind {
            FrameKind::Running => {
                foreground.running = frame.turn;
                foreground.questions.clear();
            }
            FrameKind::Blocked(request) if foreground.may_run(frame.turn) => {
                foreground.running = frame.turn;
                foreground.questions.insert(*request);
            }
            FrameKind::Answered(request) if foreground.may_run(frame.turn) => {
                foreground.running = frame.turn;
                foreground.questions.remove(request);
            }
            // The process has ended, and had no such work.
            FrameKind::Background(_, None) if foreground.background.is_none() => return,
            // The state that the agent reports with it comes from its turn.
            FrameKind::Background(list, state) => {
                foreground.background = Some(list.clone());
                let present = foreground.state().as_acp();
                let is_same = state.as_deref().is_none_or(|state| state == present);
                if is_same && !foreground.is_continued {
                    self.snapshot_state(thread, frame.seq);
                }
                return;
            }
            FrameKind::Stopped(result) if foreground.may_run(frame.turn) => {
                foreground.is_continued = false;
                foreground.running = None;
                foreground.questions.clear();
                foreground.shown = Some(State::Idle);
                let needs_sign_in = session.wants_sign_in;
                return self.show_stop(thread, frame.seq, result, needs_sign_in);
            }
            FrameKind::Blocked(_)
            | FrameKind::Answered(_)
            | FrameKind::Stopped(_)
            | FrameKind::Ended(_)
            | FrameKind::Update
            | FrameKind::Chunk(_)
            | FrameKind::Began(_)
            | FrameKind::RolledBack(_)
            | FrameKind::Setting(_)
            | FrameKind::Declared(_)
            | FrameKind::Undeclared(_)
            | FrameKind::DeclaredOfSubagent(_)
            | FrameKind::OfSubagent(_)
            | FrameKind::Subagent(..)
            | FrameKind::Remark
            | FrameKind::Prompt
            | FrameKind::Asked(..)
            | FrameKind::PromptAccepted(_)
            | FrameKind::Bound(..)
            | FrameKind::SignIn
            | FrameKind::Terminal(_)
            | FrameKind::Lease
            | FrameKind::Inserted(_)
            | FrameKind::Cleared(_) => return,
        }
        foreground.is_continued = false;
        self.show_state(thread, frame.seq);
    }

    /// Sends the state if the editor does not have it. A session that was just created is idle for the editor.
    pub(super) fn show_state(&mut self, thread: ThreadId, seq: Seq) {
        let Some(session) = self.sessions.get(&thread) else {
            return;
        };
        let foreground = &session.foreground;
        if foreground.shown.unwrap_or(State::Idle) != foreground.state() {
            self.snapshot_state(thread, seq);
        }
    }

    /// Sends the state as it is at event `seq`.
    pub(super) fn snapshot_state(&mut self, thread: ThreadId, seq: Seq) {
        let Some(session) = self.sessions.get_mut(&thread) else {
            return;
        };
        let state = session.foreground.state();
        session.foreground.shown = Some(state);
        let background = session.foreground.background.clone();
        let mut out = Vec::new();
        write_update(&mut out, &thread.to_string(), |update| {
            update
                .plain("sessionUpdate", "state_update")
                .plain("state", state.as_acp())
                .json("background", background.as_ref());
            put_seq(update, seq, None);
        });
        self.hand_over(thread, out.into(), None);
    }

    /// Sends that the replay of the history is complete.
    pub(super) fn show_replayed(&mut self, thread: ThreadId) {
        let mut out = Vec::new();
        write_update(&mut out, &thread.to_string(), |update| {
            update.plain("sessionUpdate", "replay_complete");
        });
        self.hand_over(thread, out.into(), None);
    }

    /// Sends that the foreground is idle because a client closed the session.
    pub(super) fn show_cancelled(&mut self, thread: ThreadId, seq: Seq) {
        let cancelled = TurnResult::Stopped(RawJson::trusted(r#"{"stopReason":"cancelled"}"#));
        self.show_stop(thread, seq, &cancelled, false);
    }

    fn show_stop(&mut self, thread: ThreadId, seq: Seq, result: &TurnResult, needs_sign_in: bool) {
        let session = self.sessions.get(&thread);
        let background = session.and_then(|session| session.foreground.background.clone());
        let mut out = Vec::new();
        write_update(&mut out, &thread.to_string(), |update| {
            update
                .plain("sessionUpdate", "state_update")
                .plain("state", State::Idle.as_acp())
                .json("background", background.as_ref());
            write_reason(update, seq, result, needs_sign_in);
        });
        self.hand_over(thread, out.into(), None);
    }
}

/// Returns an empty list, if there was one.
fn nothing(before: Option<&RawJson>) -> Option<RawJson> {
    before.map(|_| RawJson::trusted("[]"))
}

/// Writes why a turn has ended.
fn write_reason(update: &mut Object<'_>, seq: Seq, result: &TurnResult, needs_sign_in: bool) {
    match result {
        TurnResult::Stopped(response) => {
            let reason = member(response, "stopReason").and_then(|reason| json::read::<String>(reason).ok());
            let known = reason.as_deref().filter(|reason| STOP_REASONS.contains(reason));
            update.plain("stopReason", known.unwrap_or("end_turn"));
            if let Some(usage) = member(response, "usage").filter(|usage| usage.starts_with('{')) {
                update.raw("usage", usage);
            }
            let unknown = if known.is_some() { None } else { reason.as_deref() };
            put_seq(update, seq, unknown);
        }
        TurnResult::Original(response) => {
            for name in ["stopReason", "usage"] {
                if let Some(value) = member(response, name) {
                    update.raw(name, value);
                }
            }
            put_seq(update, seq, None);
        }
        TurnResult::Failed(error) => {
            let mut error: RpcError = error.clone();
            // Editors recognize by this code that the user must sign in.
            if error.code == INTERNAL && needs_sign_in {
                error.code = ErrorCode::SignInRequired.rpc();
            }
            update.plain("stopReason", "error").put("error", &error);
            put_seq(update, seq, None);
        }
    }
}

/// Writes the number of the event, after which the session can be replayed, and a stop reason that ACP does not have.
fn put_seq(update: &mut Object<'_>, seq: Seq, reason: Option<&str>) {
    update.object("_meta", |meta| {
        meta.object("acpd", |acpd| {
            acpd.put("seq", &seq).maybe("stopReason", reason.as_ref());
        });
    });
}
