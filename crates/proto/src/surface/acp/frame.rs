//! Frames: the messages for editors that an event produces.

use acpd_model::event::{Binding, TurnStatus};
use acpd_model::{Event, EventKind, ItemId, LaneId, Origin, RawJson, RequestId, Seq, TurnEvent, TurnId};
use bytes::Bytes;
use serde::Deserialize;

use super::cursors::Anchor;
use crate::projection::SettledTurn;
use crate::wire::{Object, RpcError};

/// A message for editors about one event, or a fact that only the connection needs. An event can have several frames.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The event's number.
    pub seq: Seq,
    /// The turn of the event.
    pub turn: Option<TurnId>,
    /// The message, one JSON text on one line; `None` if only the connection needs the frame.
    pub text: Option<Bytes>,
    /// The kind of frame, which also selects its receivers.
    pub kind: FrameKind,
}

/// The kind of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameKind {
    /// An update of the session, for every editor that has the session open.
    Update,
    /// A chunk of a message, for every editor that has the session open; contains the item of the message.
    Chunk(ItemId),
    /// A message or a tool call begins. Cursors are next to these.
    Began(Box<Anchor>),
    /// The turns after this one are no longer part of the conversation.
    RolledBack(Option<TurnId>),
    /// A setting of the session has changed. Its message is an update of the session, if ACP has one for it.
    Setting(Setting),
    /// An update of the session, for the editors that declared this feature.
    Declared(Feature),
    /// An update of the session in its place, for the editors that did not declare this feature.
    Undeclared(Feature),
    /// What a subagent does, for the editors that declared subagents and this feature.
    DeclaredOfSubagent(Feature),
    /// What a subagent does, for the editors that did not declare subagents.
    OfSubagent(LaneId),
    /// The name of a subagent.
    Subagent(LaneId, Box<str>),
    /// What a notice says, as text of the conversation, for the editors that did not declare notices. Like a notice, it is
    /// transient.
    Remark,
    /// A user's message, for all editors except its sender.
    Prompt,
    /// A question.
    Asked(RequestId, QuestionKind),
    /// The end of a question. Its message withdraws the question from the editors that have not answered it.
    Answered(RequestId),
    /// A prompt was queued or started; contains the id that its sender gave it.
    PromptAccepted(Option<Box<str>>),
    /// The end of a turn.
    Ended(Box<TurnResult>),
    /// The agent's session is open; contains how the agent opened it, and its result.
    Bound(Binding, Box<RawJson>),
    /// The agent needs a user to sign in before it continues.
    SignIn,
    /// A terminal was created, or its command has ended.
    Terminal(Box<Terminal>),
    /// The lease has a new holder. Sent to every editor that already had the session open.
    Lease,
    /// A user's message, for all editors of version 2. Its sender has its response with it.
    Inserted(ItemId),
    /// A turn has started.
    Running,
    /// A turn that had started has ended.
    Stopped(Box<TurnResult>),
    /// The agent of the thread has asked something.
    Blocked(RequestId),
    /// The list of what the agent does beside its turn has changed; contains the state that the agent reports with it, unless its process
    /// has ended.
    Background(RawJson, Option<Box<str>>),
    /// Empties a message, a tool call or a terminal, for editors that load it again. The number is the hash of its name.
    Cleared(u64),
}

/// A setting of the session with its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// The id of the mode.
    Mode(Box<str>),
    /// The id of the model.
    Model(Box<str>),
    /// The list of the agent's own options.
    Options(RawJson),
}

/// A terminal of the thread, on the host or in an editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminal {
    /// The daemon's id of the terminal.
    pub id: String,
    /// The stored output, shortened to its end if it is long; `None` while the command runs.
    pub output: Option<String>,
}

/// A feature that a client must declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// `session.notices`. Notices are transient: an editor that loads a session does not receive old ones.
    Notices,
    /// `session.compaction`.
    Compaction,
    /// `elicitation`.
    Elicitation,
    /// `plan`: plans by id.
    Plans,
    /// Notifications besides `session/update`, of `clientInfo`: whether the user is signed in. Like notices, they are about the
    /// moment.
    AuthStatus,
    /// `session.promptSuggestions`.
    Suggestions,
    /// `session.cursors`.
    Cursors,
    /// `session.commands.skill` of version 2. Version 1 has no capability for skills.
    Skills,
    /// `subagents`: each subagent has a session of its own.
    Subagents,
}

/// The kind of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionKind {
    /// A permission request.
    Permission,
    /// A form that requests information.
    Form,
    /// A URL that a user must open.
    Url,
}

/// The result of a turn for the editor that sent its prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnResult {
    /// The prompt response of ACP.
    Stopped(RawJson),
    /// The same with the stop reason of an agent of version 2: any, or none.
    Original(RawJson),
    /// An error of the agent or of the daemon.
    Failed(RpcError),
}

/// The JSON-RPC code for an internal error of the receiver.
pub(super) const INTERNAL: i64 = -32603;

impl TurnResult {
    /// Returns the result of the turn that a [`TurnEvent::Settled`] ends.
    pub(super) fn of(event: &Event) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Response {
            #[serde(rename = "stopReason")]
            _stop_reason: String,
        }
        let EventKind::Turn(TurnEvent::Settled {
            status,
            stop_reason,
            error,
            usage,
            ..
        }) = &event.kind
        else {
            return Self::Failed(RpcError::new(INTERNAL, ""));
        };
        let raw = event.raw.as_ref();
        // The agent's own response, if known.
        if let Some(raw) = raw.filter(|raw| raw.read::<Response>().is_ok()) {
            return Self::Stopped(raw.clone());
        }
        // Only a client's cancellation is answered as one.
        let by_restart = event.by == Origin::Daemon && error.is_some();
        let ours = || RpcError::new(INTERNAL, error.as_deref().unwrap_or("the turn failed"));
        match reason(*status, stop_reason.as_deref(), by_restart) {
            Some(reason) => Self::stopped(reason, usage.as_deref()),
            None => Self::Failed(raw.and_then(|raw| raw.read().ok()).unwrap_or_else(ours)),
        }
    }

    /// Returns the result of a turn of the history.
    pub(super) fn of_settled(settled: &SettledTurn) -> Self {
        let SettledTurn {
            status,
            stop_reason,
            error,
            usage,
            ..
        } = settled;
        match reason(*status, stop_reason.as_deref(), error.is_some()) {
            Some(reason) => Self::stopped(reason, usage.as_ref()),
            None => Self::Failed(RpcError::new(
                INTERNAL,
                error.as_deref().unwrap_or("the turn failed"),
            )),
        }
    }

    fn stopped(reason: &str, usage: Option<&RawJson>) -> Self {
        let mut out = Vec::new();
        let mut response = Object::open(&mut out);
        response.put("stopReason", reason).json("usage", usage);
        response.close();
        Self::Stopped(RawJson::trusted(&String::from_utf8_lossy(&out)))
    }
}

/// Returns ACP's stop reason of a turn; `None` if it failed.
fn reason(status: TurnStatus, stop_reason: Option<&str>, by_restart: bool) -> Option<&str> {
    match (stop_reason, status) {
        (Some(reason), _) => Some(reason),
        (None, TurnStatus::Interrupted) if !by_restart => Some("cancelled"),
        (None, TurnStatus::Interrupted | TurnStatus::Failed | TurnStatus::Limited) => None,
        (None, TurnStatus::Refused) => Some("refusal"),
        (None, TurnStatus::Completed) => Some("end_turn"),
    }
}
