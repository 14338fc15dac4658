//! What can happen in a thread.

use serde::{Deserialize, Serialize};

use super::{
    Always, Fidelity, Millis, Outcome, PermissionOption, QuestionTopic, SessionParams, ThreadCreated,
    ThreadForked,
};
use crate::ids::{BlobId, ItemId, RequestId, TurnId};
use crate::item::{ItemEnd, ItemOutcome, ItemStart, MessageType, Replaced, ToolStatus};
use crate::json::RawJson;
use crate::subject::CallSubject;
use crate::summary::ThreadStatus;

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

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnStatus {
    /// The agent ended it by itself.
    Completed,
    /// It was cancelled.
    Interrupted,
    /// An error, a crash or a time-out.
    Failed,
    /// The agent refused to go on.
    Refused,
    /// A limit of the model or the agent was reached.
    Limited,
}

/// How bad a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Level {
    /// Good to know.
    Info,
    /// Something is off, and work goes on.
    Warning,
    /// Something broke.
    Error,
}

/// One step of an agent's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// `high`, `medium` or `low`; other words are kept as they came.
    pub priority: String,
    /// `pending`, `in_progress` or `completed`; other words are kept as they came.
    pub status: String,
}

/// The connection of an editor that answers what an agent asks of its client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseHolder {
    /// Whose credentials it showed.
    pub principal: String,
    /// The name it gave itself.
    pub client: String,
    /// Names the connection among all others.
    pub connection: String,
}

/// Why a thread's lease moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LeaseMove {
    /// Nobody held it when an editor that can answer opened the thread.
    Opened,
    /// An editor asked for it.
    Acquired,
    /// Its holder gave it up.
    Released,
    /// Its holder closed the session, or its connection ended.
    Left,
    /// The daemon was started anew: no connection outlives that.
    Restarted,
}

/// What became of a deleted thread's session in the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SessionDeleted {
    /// The agent has deleted it.
    Deleted,
    /// The agent was asked to, and has not.
    Failed,
    /// There was none, or the agent cannot delete any.
    NotAsked,
}

/// Text of any length, so that long text does not stand in the way of whoever reads events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The text; of long text its beginning.
    pub text: String,
    /// Where all of it is, if `text` is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<BlobId>,
}

/// What happened. Names are in the past tense.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum EventKind {
    /// The thread was made.
    ThreadCreated(Box<ThreadCreated>),
    /// What the thread is doing changed.
    StatusChanged {
        /// What it does now.
        status: ThreadStatus,
    },
    /// The agent told something about the session (`session_info_update`); `raw` has it whole.
    SessionInfoUpdated {
        /// A new title, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Whether a person has named the thread, so that it is not called by this title.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        overruled: bool,
    },
    /// Somebody named the thread, or gave the name back.
    ThreadRenamed {
        /// The name; none if it was given back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// What the thread is called from now on: by this name, else by the agent's title, else by its first prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<String>,
    },
    /// The client's own data were replaced, as a whole.
    MetadataSet {
        /// The data; none if they were taken away.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<RawJson>,
    },
    /// The thread was put away.
    ThreadArchived {},
    /// The thread was taken out again.
    ThreadUnarchived {},
    /// The thread is to vanish, and its log with it. Nothing follows.
    ThreadDeleted {
        /// What became of its session in the agent.
        session: SessionDeleted,
    },
    /// The turns after one were dropped: they are no longer part of the conversation. The agent's session, which
    /// remembers them, was let go.
    TurnsRolledBack {
        /// The last turn that is kept; none if none is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_kept: Option<TurnId>,
        /// How well the agent remembers what is kept.
        fidelity: Fidelity,
    },
    /// The thread was split off another one: all events before this one are that thread's, as they were, with the
    /// numbers that they have here.
    ThreadForked(Box<ThreadForked>),

    /// The thread got an agent session.
    AgentBound {
        /// The agent's id for it.
        session_id: String,
        /// By which of ACP's methods.
        how: Binding,
        /// The result of `initialize`.
        agent: RawJson,
        /// The result of the method that opened the session.
        session: RawJson,
    },
    /// A client wants the agent's session to be opened with these from now on, as a whole.
    SessionParamsSet(Box<SessionParams>),
    /// What the agent asks of its client is answered by somebody else from now on.
    LeaseMoved {
        /// By whom; nobody: by the daemon itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<Box<LeaseHolder>>,
        /// Why.
        why: LeaseMove,
    },
    /// The agent's process is gone.
    AgentLost {
        /// What a person reads: how it ended.
        reason: String,
        /// The last lines of its stderr.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        stderr: String,
        /// Whether we had told it to go.
        expected: bool,
    },
    /// Something that a person should know.
    NoticeGiven {
        /// How bad it is.
        level: Level,
        /// A stable word for programs.
        code: String,
        /// A sentence for people.
        message: String,
    },
    /// The agent wrote a line that is no JSON-RPC message.
    LineMalformed {
        /// Why it is none.
        reason: String,
        /// The line, cut to [`crate::limits::MALFORMED_BYTES`], with U+FFFD for what is not UTF-8.
        text: String,
        /// Length of the whole line, in bytes.
        bytes: u64,
    },
    /// The agent sent a notification that nobody here acts on: an extension, or an unknown update kind.
    /// `raw` holds its params.
    AgentNotified {
        /// Its method.
        method: String,
    },
    /// The agent called a method that it may not call, or that does not exist; it was refused.
    CallRefused {
        /// Its method.
        method: String,
        /// The error that it was given.
        reason: String,
    },

    /// A prompt waits until the turns before it are over.
    TurnQueued {
        /// ACP content blocks.
        input: Vec<RawJson>,
        /// `_meta` for the agent, beside them; passed on as it came.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        meta: Option<RawJson>,
        /// The client's own id: the same one again is the same turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_turn_id: Option<String>,
    },
    /// A turn began.
    TurnStarted {
        /// The client's own id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_turn_id: Option<String>,
        /// It was held in the agent's session outside of the thread, and is taken over as the agent tells it. It is over
        /// already, and is no turn that runs: another one may be about to be prompted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        imported: bool,
    },
    /// A turn is over, whichever way.
    TurnSettled {
        /// How it ended.
        status: TurnStatus,
        /// ACP's stop reason, as the agent gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop_reason: Option<String>,
        /// Why, if it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// When it began; a turn that never began has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<Millis>,
        /// What the agent said about tokens when it ended the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<RawJson>,
    },
    /// The turn's whole unified diff so far.
    DiffUpdated {
        /// Unified diff of all files.
        diff: String,
    },

    /// An item began.
    ItemStarted {
        /// The item.
        item: ItemId,
        /// The tool call that it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<ItemId>,
        /// What it is.
        start: ItemStart,
    },
    /// Text was added to a message. Deltas were merged before they came here.
    ItemDelta {
        /// The item.
        item: ItemId,
        /// Who speaks.
        role: MessageType,
        /// What was added.
        text: String,
        /// ACP's `messageId`, where chunks that had one were merged, so that no `raw` has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// A content block that is not plain text was added to a message.
    ItemContent {
        /// The item.
        item: ItemId,
        /// Who speaks.
        role: MessageType,
        /// The ACP content block.
        block: RawJson,
    },
    /// A tool call changed; `raw` is the sparse update.
    ItemUpdated {
        /// The item.
        item: ItemId,
        /// Its status now: an update that would set it back does not.
        status: ToolStatus,
    },
    /// An item is whole.
    ItemCompleted {
        /// The item.
        item: ItemId,
        /// How it ended.
        outcome: ItemOutcome,
        /// Its whole content.
        end: ItemEnd,
    },
    /// What a person said in a prompt.
    UserMessageAdded {
        /// The item.
        item: ItemId,
        /// ACP content blocks.
        content: Vec<RawJson>,
    },
    /// A command in one of our terminals wrote something.
    TerminalOutput {
        /// The item.
        item: ItemId,
        /// Our id for the terminal.
        terminal_id: String,
        /// What it wrote, with U+FFFD for what is not UTF-8.
        text: String,
    },

    /// The plan was replaced, as a whole; an empty one counts.
    PlanReplaced {
        /// Its steps.
        entries: Vec<PlanEntry>,
    },
    /// The agent works in another mode.
    ModeChanged {
        /// The agent's id for it.
        mode_id: String,
    },
    /// The agent works with another model; of agents that have no config option for it.
    ModelChanged {
        /// The agent's id for it.
        model_id: String,
    },
    /// The agent's options changed; `raw` has them whole.
    ConfigOptionsReplaced {},
    /// The agent's slash commands changed; `raw` has them whole.
    CommandsReplaced {},
    /// Tokens in use, of how many.
    UsageUpdated {
        /// Tokens in the context.
        used: u64,
        /// Tokens that fit.
        size: u64,
        /// ACP's `cost` object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<RawJson>,
    },

    /// A person is asked for a permission; `raw` holds the agent's params, which are its own words.
    PermissionRequested {
        /// Ours.
        request: RequestId,
        /// The tool call's item; none where the agent did not ask, but the policy has a person asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<ItemId>,
        /// What it is about.
        about: QuestionTopic,
        /// What a person reads.
        title: String,
        /// The answers offered.
        options: Box<[PermissionOption]>,
        /// Whether the policy has the answer, so that nobody is asked; it follows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        decided: bool,
        /// Ids of the always-options that are passed on to the agent as they are, so that it may remember the answer by
        /// itself. The others the daemon remembers, if one is picked.
        #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
        agent_remembers: Box<[String]>,
        /// What the call would do, as it is decided on; empty in logs that were written before there was this member.
        #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
        subjects: Box<[CallSubject]>,
        /// What becomes of an "always"; none where the policy has the answer, and in logs that were written before there was
        /// this member.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        always: Option<Box<Always>>,
        /// The whole tool call, where the agent said a part of it before and does not repeat it in the question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        whole: Option<Box<RawJson>>,
        /// The call shows diffs that the question does not repeat and that are too long for `whole`. Editors keep the content that
        /// they have.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keeps_content: bool,
    },
    /// A person is asked for information (`elicitation/create`); `raw` holds the agent's params, with the schema or
    /// the address.
    InputRequested {
        /// Ours.
        request: RequestId,
        /// What a person reads.
        message: String,
    },
    /// The question was answered; the event's `by` is who did it.
    RequestSettled {
        /// Ours.
        request: RequestId,
        /// The answer.
        outcome: Outcome,
    },
    /// The agent called a method without having asked before, and the policy let it.
    CallPermitted {
        /// Its method.
        method: String,
        /// What it is about.
        subject: String,
    },
    /// The thread's own policy was set or taken away.
    PolicySet {
        /// The policy; none if it was taken away.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<RawJson>,
    },
    /// An answer holds from now on.
    AnswerRemembered {
        /// The rule that was made of it, with its id and its scope.
        answer: RawJson,
    },
    /// An answer holds no longer.
    AnswerRevoked {
        /// Its id.
        id: u64,
    },
    /// The question has no one left who would hear its answer.
    RequestVoided {
        /// Ours.
        request: RequestId,
        /// Why.
        reason: String,
    },

    /// Someone asked for the running turn to end; the agent was told.
    InterruptRequested {},
    /// Someone had something to say in the middle of the turn; the agent was told. Once it has taken the words, they
    /// are a message of the turn; if it does not take them, they are a turn of their own.
    SteerRequested {
        /// ACP content blocks.
        input: Vec<RawJson>,
    },

    /// The agent read a file through us; the event's `by` is the client that read it, or else the agent.
    FileRead {
        /// Absolute path.
        path: String,
        /// Bytes returned.
        bytes: u64,
    },
    /// The agent wrote a file through us; the event's `by` is the client that wrote it, or else the agent.
    FileWritten {
        /// Absolute path.
        path: String,
        /// Bytes written.
        bytes: u64,
        /// What it replaced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced: Option<Replaced>,
        /// What was written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Content>,
    },
    /// The agent ended the command of one of our terminals.
    TerminalKilled {
        /// Our id for the terminal.
        terminal_id: String,
    },
    /// The agent let one of our terminals go.
    TerminalReleased {
        /// Our id for the terminal.
        terminal_id: String,
    },

    /// A kind of a newer daemon; what it says is not known here. Never written.
    #[serde(skip)]
    Unknown,
}

impl EventKind {
    /// The item that it is about.
    pub fn item(&self) -> Option<ItemId> {
        match self {
            Self::ItemStarted { item, .. }
            | Self::ItemDelta { item, .. }
            | Self::ItemContent { item, .. }
            | Self::ItemUpdated { item, .. }
            | Self::ItemCompleted { item, .. }
            | Self::UserMessageAdded { item, .. }
            | Self::TerminalOutput { item, .. } => Some(*item),
            Self::PermissionRequested { item, .. } => *item,
            _ => None,
        }
    }
}
