//! What is made of an event for editors.

use acpd_model::event::TurnStatus;
use acpd_model::{Event, EventKind, RawJson, RequestId, Seq, TurnId};
use bytes::Bytes;
use serde::Deserialize;

use crate::wire::{Object, RpcError};

/// What an editor may be sent for one event, and what its connection must know. An event can have several.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The event's number.
    pub seq: Seq,
    /// The turn in which it happened.
    pub turn: Option<TurnId>,
    /// The message, one JSON text on one line; none for what only the connection must know.
    pub text: Option<Bytes>,
    /// What it is, and with that, whom it is for.
    pub kind: FrameKind,
}

/// What a frame is.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameKind {
    /// Something about the session: for everybody who has it open.
    Update,
    /// The same, for those who declared that they take it.
    Declared(Feature),
    /// What a person said: for all but the one who sent it.
    Prompt,
    /// A question.
    Asked(RequestId, Question),
    /// A question is over: its message takes it back from those who were asked and have not answered.
    Answered(RequestId),
    /// A prompt waits, or has begun; with the id that its sender gave it.
    PromptAccepted(Option<Box<str>>),
    /// A turn is over.
    Ended(Box<TurnResult>),
    /// The agent's session is open; with what it answered.
    Bound(Box<RawJson>),
    /// The agent does nothing until somebody signs in.
    SignIn,
    /// A terminal was made, or its command has ended.
    Terminal(Box<Terminal>),
    /// The lease moved: for everybody who has the session open, and did not open it later.
    Lease,
}

/// A terminal of the thread, wherever it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminal {
    /// Our id for it.
    pub id: String,
    /// What was kept of its output, the end of that where it is long; none while the command runs.
    pub output: Option<String>,
}

/// What a client must have declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// `session.notices`. They are for the moment: who loads a session is not sent old ones.
    Notices,
    /// `session.compaction`.
    Compaction,
    /// `elicitation`.
    Elicitation,
}

/// What a question is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// A permission.
    Permission,
    /// Information, by a form.
    Form,
    /// Something that a person does at an address.
    Url,
}

/// How a turn ended, as the one who sent its prompt is told.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnResult {
    /// ACP's prompt response.
    Stopped(RawJson),
    /// An error: the agent's own, or ours.
    Failed(RpcError),
}

/// JSON-RPC's number for an error of the one who was asked.
pub(super) const INTERNAL: i64 = -32603;

impl TurnResult {
    /// How the turn of a `TurnSettled` ended.
    pub(super) fn of(event: &Event) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Response {
            #[serde(rename = "stopReason")]
            _stop_reason: String,
        }
        let EventKind::TurnSettled {
            status,
            stop_reason,
            error,
            usage,
            ..
        } = &event.kind
        else {
            return Self::Failed(RpcError::new(INTERNAL, ""));
        };
        let raw = event.raw.as_ref();
        // As the agent answered it, where that is known.
        if let Some(raw) = raw.filter(|raw| raw.read::<Response>().is_ok()) {
            return Self::Stopped(raw.clone());
        }
        let reason = match (stop_reason, status) {
            (Some(reason), _) => reason.as_str(),
            (None, TurnStatus::Interrupted) => "cancelled",
            (None, TurnStatus::Failed | TurnStatus::Limited) => {
                let ours = || RpcError::new(INTERNAL, error.as_deref().unwrap_or("the turn failed"));
                return Self::Failed(raw.and_then(|raw| raw.read().ok()).unwrap_or_else(ours));
            }
            (None, TurnStatus::Refused) => "refusal",
            (None, TurnStatus::Completed) => "end_turn",
        };
        let mut out = Vec::new();
        let mut response = Object::open(&mut out);
        response.put("stopReason", reason).json("usage", usage.as_ref());
        response.close();
        Self::Stopped(RawJson::trusted(&String::from_utf8_lossy(&out)))
    }
}
