//! Frames: the messages that an event produces, or the facts that a connection needs to write them.

use std::sync::Arc;

use acpd_model::event::{Always, PermissionOption};
use acpd_model::subject::CallSubject;
use acpd_model::{ItemId, ItemOutcome, MessageType, Millis, RawJson, RequestId, Seq, ThreadId, TurnId};
use bytes::Bytes;

use super::call::{Call, FileUpdate};
use super::item::CommandOutput;

/// A message about one event, or a fact. An event can have several frames.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The event's number.
    pub(super) seq: Seq,
    /// The turn of the event.
    pub(super) turn: Option<TurnId>,
    /// When the event happened.
    pub(super) at: Millis,
    /// The method of the message.
    pub(super) method: &'static str,
    /// The message; empty if the connection writes it.
    pub(super) text: Bytes,
    /// The kind of frame.
    pub(super) kind: FrameKind,
}

impl Frame {
    /// Returns the escaped text between these bytes of the message.
    pub(super) fn escaped(&self, from: u32, to: u32) -> &str {
        let text = self.text.get(from as usize..to as usize).unwrap_or_default();
        std::str::from_utf8(text).unwrap_or_default()
    }
}

/// The kind of a frame. Those with facts concern items whose text depends on what the connection has shown before.
#[derive(Debug, Clone)]
pub(super) enum FrameKind {
    /// A message for every client that follows the thread.
    Message,
    /// A turn was queued or started, or a message of the user in it started, with the client's own id for it.
    Named(Option<Arc<str>>),
    /// A turn ended.
    TurnEnded,
    /// A message or thought of the agent started. Its frame has the text for clients to whom it is one item.
    TextStarted(ItemId, MessageType),
    /// Text of a message or thought, which is escaped from and up to these bytes of the frame's text.
    Text(ItemId, u32, u32),
    /// A message or thought ended.
    TextEnded(ItemId),
    /// A message of the user: ACP content blocks.
    UserMessage(ItemId, Arc<[RawJson]>),
    /// A tool call started or changed.
    Call(ItemId, Arc<Call>),
    /// A tool call ended.
    CallEnded(ItemId, ItemOutcome, Arc<Call>),
    /// A change to a file started that belongs to a tool call, whose item comes second.
    FileStarted(ItemId, ItemId),
    /// A change to a file ended.
    FileEnded(ItemId, ItemOutcome, Arc<FileUpdate>),
    /// A command started in a terminal.
    Terminal(ItemId, Arc<TerminalStart>),
    /// Output of a terminal, which is escaped from and up to these bytes of the frame's text.
    Output(ItemId, u32, u32),
    /// A terminal's command ended.
    TerminalEnded(ItemId, ItemOutcome, Arc<CommandOutput>),
    /// A question.
    Asked(Arc<ServerRequest>),
    /// The end of a question: the tool call, and whether it was denied.
    Answered(RequestId, Option<ItemId>, bool),
    /// The settings of the thread may have changed.
    Settings,
    /// A thread's entry in the list has changed.
    Listed(Arc<Listed>),
}

/// A command in one of the daemon's terminals.
#[derive(Debug)]
pub(super) struct TerminalStart {
    pub terminal_id: String,
    pub command: String,
    pub cwd: String,
    pub by_user: bool,
}

/// A question for the user.
#[derive(Debug)]
pub(super) struct ServerRequest {
    pub request: RequestId,
    pub ask: Ask,
}

/// What a question asks.
#[derive(Debug)]
pub(super) enum Ask {
    /// Whether a tool call may proceed.
    Permission {
        item: Option<ItemId>,
        title: String,
        options: Box<[PermissionOption]>,
        subjects: Box<[CallSubject]>,
        /// Labels of the options, each on one line.
        labels: Vec<String>,
        /// The effect of an "always" answer.
        always: Option<Always>,
        call: Arc<Call>,
    },
    /// Information that the agent requests: the agent's params, and the message.
    Input { params: RawJson, message: String },
}

/// A thread's entry in the list.
#[derive(Debug)]
pub(super) struct Listed {
    pub thread: ThreadId,
    /// What the list shows of it; `None` if it was deleted.
    pub entry: Option<ListEntry>,
}

/// The members of a list entry whose changes a client receives.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ListEntry {
    pub created_at: Millis,
    pub name: Option<String>,
    pub archived: bool,
    /// Codex's `ThreadStatus`, as JSON.
    pub status: &'static str,
    /// The whole entry as Codex's `Thread`.
    pub thread: RawJson,
}
