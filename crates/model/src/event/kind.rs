//! The kinds of events that can happen in a thread.

use serde::{Deserialize, Serialize};

use super::created::{Directories, Fidelity, SessionParams, ThreadCreated, ThreadForked};
use crate::ids::{BlobId, ItemId, RequestId, TurnId};
use crate::item::{ItemEnd, ItemOutcome, ItemStart, MessageType, Replaced, ToolStatus};
use crate::json::RawJson;
use crate::numbers::{Millis, Seq};
use crate::origin::ClientOrigin;
use crate::permission::{Always, Outcome, PermissionOption, QuestionTopic};
use crate::status::{ThreadStatus, TurnStatus};
use crate::subject::CallSubject;

/// How a thread got its agent session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Binding {
    /// A new session: the agent remembers nothing.
    New,
    /// The agent loaded the earlier session.
    Load,
    /// The agent resumed the earlier session.
    Resume,
}

/// A config option of the agent that a client set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChosenOption {
    /// The agent's id for the option.
    pub id: String,
    /// The value, as in ACP.
    pub value: RawJson,
}

/// The size of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffSize {
    /// Number of changed files.
    pub files: u32,
    /// Number of added lines.
    pub added: u32,
    /// Number of removed lines.
    pub removed: u32,
    /// Whether there are changes that the diff does not show.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

/// Severity of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Level {
    /// Information; nothing is wrong.
    Info,
    /// A problem that does not stop the work.
    Warning,
    /// A failure.
    Error,
}

/// One step of an agent's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// Description of the step.
    pub content: String,
    /// `high`, `medium` or `low`; other values are kept as received.
    pub priority: String,
    /// `pending`, `in_progress` or `completed`; other values are kept as received.
    pub status: String,
}

/// The editor connection that answers the agent's client requests (files, terminals).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseHolder {
    /// The principal whose credentials the connection used.
    pub principal: String,
    /// The client's name, as it reported it.
    pub client: String,
    /// Unique id of the connection.
    pub connection: String,
}

/// Why a thread's lease moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LeaseMove {
    /// The lease was free when an editor that can answer the agent opened the thread.
    Opened,
    /// An editor requested the lease.
    Acquired,
    /// The holder released the lease.
    Released,
    /// The holder closed the session, or its connection ended.
    Left,
    /// The daemon restarted, which ends every connection.
    Restarted,
}

/// Whether a deleted thread's session was also deleted in the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SessionDeleted {
    /// The agent deleted the session.
    Deleted,
    /// The daemon sent the request, but the agent did not delete the session.
    Failed,
    /// There was no session, or the agent does not support deleting sessions.
    NotAsked,
}

/// Text of any length. Long text is stored as a blob, so that events stay small to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The text, or the beginning of a long text.
    pub text: String,
    /// The blob with the whole text, if `text` has only its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<BlobId>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_no_time(millis: &u64) -> bool {
    *millis == 0
}

/// What happened. Names are in the past tense.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum EventKind {
    /// The thread was created.
    ThreadCreated(Box<ThreadCreated>),
    /// The status of the thread changed.
    StatusChanged {
        /// The new status.
        status: ThreadStatus,
    },
    /// The agent sent session information (`session_info_update`). `raw` has the whole update.
    SessionInfoUpdated {
        /// The new title, if the update has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Whether a user has named the thread, so that the title is not displayed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        overruled: bool,
    },
    /// A user named the thread, or removed the name.
    ThreadRenamed {
        /// The new name; absent if it was removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The name displayed from now on: `name`, else the agent's title, else the beginning of the first prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<String>,
    },
    /// The client replaced all of its own data.
    MetadataSet {
        /// The new data; absent if the data were removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<RawJson>,
    },
    /// A user named the directories that the thread works in from now on, for example because they were moved.
    DirectoriesSet(Box<Directories>),
    /// A user pinned the thread, or removed its pin.
    PinSet {
        /// Whether the thread is pinned from now on.
        pinned: bool,
        /// The thread's place among pinned threads, the lowest first; absent if the user has chosen none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<u32>,
    },
    /// The thread was archived.
    ThreadArchived {},
    /// The thread was unarchived.
    ThreadUnarchived {},
    /// The thread is about to be deleted together with its log. No event follows.
    ThreadDeleted {
        /// Whether the agent also deleted its session.
        session: SessionDeleted,
    },
    /// The turns after one turn were dropped and are no longer part of the conversation. The daemon released the
    /// agent's session, since that session remembers them.
    TurnsRolledBack {
        /// The last turn that is kept; absent if no turn is kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_kept: Option<TurnId>,
        /// How well the agent remembers the kept turns.
        fidelity: Fidelity,
    },
    /// The thread was forked from another thread. All events before this one are shared with that
    /// thread, or concern turns of it that the fork leaves out.
    ThreadForked(Box<ThreadForked>),

    /// The thread was bound to an agent session.
    AgentBound {
        /// The agent's id for the session.
        session_id: String,
        /// How the session was opened.
        how: Binding,
        /// The agent's result of `initialize`.
        agent: RawJson,
        /// The result of the ACP method that opened the session.
        session: RawJson,
    },
    /// A client replaced the parameters that the agent's session is opened with from now on.
    SessionParamsSet(Box<SessionParams>),
    /// The lease moved: from now on another connection, or the daemon, answers the agent's client requests.
    LeaseMoved {
        /// The new holder; absent if the daemon itself answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<Box<LeaseHolder>>,
        /// Why the lease moved.
        why: LeaseMove,
    },
    /// The agent's process ended.
    AgentLost {
        /// Explanation for the user of how the process ended.
        reason: String,
        /// The last lines of the agent's stderr.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        stderr: String,
        /// Whether the daemon had stopped the agent.
        expected: bool,
    },
    /// A notice for the user.
    NoticeGiven {
        /// Severity of the notice.
        level: Level,
        /// Stable code for programs.
        code: String,
        /// One sentence for the user.
        message: String,
        /// Further explanation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// The folder that a user may open for the thread, if the agent was denied a path in it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<String>,
    },
    /// The agent wrote a line that is not a JSON-RPC message.
    LineMalformed {
        /// Why the line is not a message.
        reason: String,
        /// The line, cut to [`crate::limits::MALFORMED_BYTES`], with U+FFFD in place of bytes that are not UTF-8.
        text: String,
        /// Length of the whole line, in bytes.
        bytes: u64,
    },
    /// The agent sent a notification that the daemon does not handle: an extension, or an unknown update kind. `raw`
    /// holds its params.
    AgentNotified {
        /// The notification's method.
        method: String,
    },
    /// The agent called a method that does not exist, or that it may not call. The daemon denied the call. Or the policy
    /// denied a command that a user wanted to run.
    CallRefused {
        /// The method that was called; `thread/command/run` for a command of a user.
        method: String,
        /// The error that the daemon returned.
        reason: String,
        /// The client whose user wanted to run the command; absent for a call of the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requested_by: Option<Box<ClientOrigin>>,
    },

    /// A prompt was queued until the turns before it are over, or the prompt of a queued turn was replaced.
    TurnQueued {
        /// ACP content blocks.
        input: Vec<RawJson>,
        /// `_meta` for the agent, passed on unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        meta: Option<RawJson>,
        /// The client's own id for the turn. A repeated id refers to the same turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_turn_id: Option<String>,
    },
    /// The queue was reordered, paused or continued.
    QueueChanged {
        /// The queued turns, in their new order.
        order: Vec<TurnId>,
        /// Whether no queued turn starts by itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        paused: bool,
    },
    /// A turn started.
    TurnStarted {
        /// The client's own id for the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_turn_id: Option<String>,
        /// Whether the turn was held in the agent's session outside of this thread and is now imported from the agent's
        /// history. Such a turn is already over and is not running. Another turn may be about to start.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        imported: bool,
    },
    /// A turn ended, with any result.
    TurnSettled {
        /// How the turn ended.
        status: TurnStatus,
        /// ACP's stop reason, as the agent sent it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop_reason: Option<String>,
        /// The error, if the turn failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// When the turn started; absent for a turn that never started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<Millis>,
        /// The token usage that the agent reported at the end of the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<RawJson>,
        /// The size of the turn's diff, which the event before this one has. Absent if the turn changed no file, and in
        /// logs from before this member existed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changes: Option<Box<DiffSize>>,
        /// The event with the turn's last plan. Absent if the turn has none, and in logs from before this member existed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<Seq>,
        /// Number of calls in the turn that the policy allowed without a permission request. Absent in logs from before this
        /// member existed.
        #[serde(default, skip_serializing_if = "is_zero")]
        permitted: u32,
        /// Milliseconds of the turn in which a question waited for its answer. Absent in logs from before this member existed.
        #[serde(default, skip_serializing_if = "is_no_time")]
        waited_ms: u64,
    },
    /// The turn is about to end and has changed files. In logs of earlier versions, the event follows each change.
    DiffUpdated {
        /// Unified diff of all files that the turn changed.
        diff: String,
    },

    /// An item started.
    ItemStarted {
        /// Id of the new item.
        item: ItemId,
        /// The tool call that the item belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<ItemId>,
        /// The initial data of the item.
        start: ItemStart,
    },
    /// Text was added to a message. The daemon has already merged small deltas.
    ItemDelta {
        /// The item that the text belongs to.
        item: ItemId,
        /// The type of the message.
        role: MessageType,
        /// The added text.
        text: String,
        /// ACP's `messageId`, if chunks with one were merged, so that no `raw` contains it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// A content block other than plain text was added to a message.
    ItemContent {
        /// The item that the block belongs to.
        item: ItemId,
        /// The type of the message.
        role: MessageType,
        /// The ACP content block.
        block: RawJson,
    },
    /// A tool call changed. `raw` has the agent's partial update.
    ItemUpdated {
        /// The tool call's item.
        item: ItemId,
        /// The current status. An update never moves the status backwards.
        status: ToolStatus,
    },
    /// An item is complete.
    ItemCompleted {
        /// The completed item.
        item: ItemId,
        /// How the item ended.
        outcome: ItemOutcome,
        /// The final content of the item.
        end: ItemEnd,
    },
    /// A user's message was added to a turn.
    UserMessageAdded {
        /// The message's item.
        item: ItemId,
        /// ACP content blocks.
        content: Vec<RawJson>,
    },
    /// A command in one of the daemon's terminals wrote output.
    TerminalOutput {
        /// The terminal's item.
        item: ItemId,
        /// The daemon's id for the terminal.
        terminal_id: String,
        /// The output, with U+FFFD in place of bytes that are not UTF-8.
        text: String,
    },

    /// The agent replaced the whole plan. An empty plan counts too.
    PlanReplaced {
        /// Steps of the plan, in order.
        entries: Vec<PlanEntry>,
    },
    /// The agent switched to another mode.
    ModeChanged {
        /// The agent's id for the mode.
        mode_id: String,
    },
    /// The agent switched to another model. Only for agents that have no config option for the model.
    ModelChanged {
        /// The agent's id for the model.
        model_id: String,
    },
    /// The agent's config options changed. `raw` has all of them.
    ConfigOptionsReplaced {
        /// The option that a client set. Absent if the agent reported the options by itself, and in logs from before this
        /// member existed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chosen: Option<ChosenOption>,
    },
    /// The agent's slash commands changed. `raw` has all of them.
    CommandsReplaced {},
    /// The agent reported the size of its context, and how much of it is in use.
    UsageUpdated {
        /// Tokens in use.
        used: u64,
        /// Tokens that fit into the context.
        size: u64,
        /// ACP's `cost` object: what the agent's session has cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<RawJson>,
        /// What the thread has cost with all its sessions, in the same form. Absent in events that were stored before this member
        /// existed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread_cost: Option<RawJson>,
    },

    /// A permission request was opened. `raw` holds the agent's params unchanged.
    PermissionRequested {
        /// The daemon's id for the request.
        request: RequestId,
        /// The tool call's item; absent if the agent did not ask and the policy requires an approval.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<ItemId>,
        /// The topic of the question.
        about: QuestionTopic,
        /// Title for the user.
        title: String,
        /// The offered answers.
        options: Box<[PermissionOption]>,
        /// Whether the policy already has the answer, so that no user is asked. The answer follows as its own event.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        decided: bool,
        /// Ids of the always-options that are passed on to the agent unchanged, so that it may remember the answer
        /// itself. If the user selects another always-option, the daemon remembers it.
        #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
        agent_remembers: Box<[String]>,
        /// The effects of the call, as the policy judges them. Empty in logs from before this member existed.
        #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
        subjects: Box<[CallSubject]>,
        /// The effect of an "always" answer. Absent if the policy has the answer, and in logs from before this member
        /// existed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        always: Option<Box<Always>>,
        /// The whole tool call, if the agent sent a part of it earlier and does not repeat it in the question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        whole: Option<Box<RawJson>>,
        /// Whether the call shows diffs that the question does not repeat and that are too long for `whole`. Editors
        /// then keep the content that they already have.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keeps_content: bool,
    },
    /// The agent requested information from the user (`elicitation/create`). `raw` holds the agent's params, with the
    /// schema or the address.
    InputRequested {
        /// The daemon's id for the request.
        request: RequestId,
        /// Message for the user.
        message: String,
        /// The tool call that the agent names, which stays its own item: the question is about none. Absent in logs from
        /// before this member existed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<ItemId>,
    },
    /// A question was answered. The event's `by` names the origin of the answer.
    RequestSettled {
        /// The daemon's id for the request.
        request: RequestId,
        /// The answer.
        outcome: Outcome,
        /// The tool call's item. Absent in logs from before this member existed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<ItemId>,
        /// The title of a question without an item, or its beginning. Absent in logs from before this member existed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<Box<str>>,
    },
    /// The agent called a method without a permission request, or a user ran a command, and the policy allowed it.
    CallPermitted {
        /// The method that was called; `thread/command/run` for a command of a user.
        method: String,
        /// The file, command or other subject of the call.
        subject: String,
    },
    /// The thread's own policy was set or removed.
    PolicySet {
        /// The new policy; absent if it was removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<RawJson>,
    },
    /// The daemon remembered an answer, which applies from now on.
    AnswerRemembered {
        /// The rule that was made from the answer, with its id and scope.
        answer: RawJson,
    },
    /// A remembered answer was revoked.
    AnswerRevoked {
        /// Id of the revoked answer.
        id: u64,
    },
    /// A question was closed, since nothing waits for its answer any more.
    RequestVoided {
        /// The daemon's id for the request.
        request: RequestId,
        /// Why the question was closed.
        reason: String,
    },

    /// A client interrupted the running turn. The daemon sent the cancellation to the agent.
    InterruptRequested {},
    /// A client sent a message during the running turn, and the daemon passed it on to the agent. If the agent accepts
    /// it, it becomes a message of that turn; otherwise it becomes a turn of its own.
    SteerRequested {
        /// ACP content blocks.
        input: Vec<RawJson>,
    },

    /// The agent read a file through the daemon. The event's `by` is the client that read the file, or else the agent.
    FileRead {
        /// Absolute path.
        path: String,
        /// Bytes returned.
        bytes: u64,
    },
    /// The agent wrote a file through the daemon. The event's `by` is the client that wrote the file, or else the
    /// agent.
    FileWritten {
        /// Absolute path.
        path: String,
        /// Bytes written.
        bytes: u64,
        /// What the write replaced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced: Option<Replaced>,
        /// The written content. Absent if other events have all of it: the end of the file change, as the diff of a new
        /// file, or the tool call that shows the write.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Content>,
    },
    /// A silent command in one of the daemon's terminals has used up its input, and probably waits for a user to type. This is
    /// over with its next output, its next input or its end.
    TerminalWaiting {
        /// The terminal's item.
        item: ItemId,
        /// The daemon's id for the terminal.
        terminal_id: String,
        /// Whether the terminal does not show what is typed, as for a password.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        secret: bool,
    },
    /// A client's user types into one of the daemon's terminals, or the daemon ended the input of a command that waited. What is
    /// typed is not recorded, because it may be a password; a program that echoes it has it in its output.
    TerminalInput {
        /// The terminal's item.
        item: ItemId,
        /// The daemon's id for the terminal.
        terminal_id: String,
    },
    /// The agent, or a client's user, terminated the command in one of the daemon's terminals.
    TerminalKilled {
        /// The daemon's id for the terminal.
        terminal_id: String,
    },
    /// The agent released one of the daemon's terminals.
    TerminalReleased {
        /// The daemon's id for the terminal.
        terminal_id: String,
    },

    /// A kind that this version does not know, from a newer daemon. Never written.
    #[serde(skip)]
    Unknown,
}

impl EventKind {
    /// Returns the item that the event is about, if it is about one.
    pub fn item(&self) -> Option<ItemId> {
        match self {
            Self::ItemStarted { item, .. }
            | Self::ItemDelta { item, .. }
            | Self::ItemContent { item, .. }
            | Self::ItemUpdated { item, .. }
            | Self::ItemCompleted { item, .. }
            | Self::UserMessageAdded { item, .. }
            | Self::TerminalOutput { item, .. }
            | Self::TerminalWaiting { item, .. }
            | Self::TerminalInput { item, .. } => Some(*item),
            Self::PermissionRequested { item, .. } => *item,
            _ => None,
        }
    }

    /// Returns the item whose id of the agent the event contains: the one that it is about, or the tool call that a question
    /// for information names.
    pub fn named_item(&self) -> Option<ItemId> {
        match self {
            Self::InputRequested { call, .. } => *call,
            _ => self.item(),
        }
    }
}
