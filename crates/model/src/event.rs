//! Events: what happened in a thread, in the past tense. The log holds nothing else, and whatever any
//! surface shows is computed from them.
//!
//! # Format
//!
//! An event is stored as one JSON object. Readers ignore members that they do not know; a kind that they do
//! not know becomes [`EventKind::Unknown`], so that a log written by a newer daemon still opens.
//!
//! | Version | Change |
//! |---|---|
//! | 1 | first; later also `itemDelta.messageId`, `turnStarted.imported`, `threadCreated.sessionId`, `threadCreated.meta` and `turnQueued.meta`, `threadCreated.members`, `threadCreated.realDirectories`, `sessionParamsSet`, `permissionRequested.subjects`, `permissionRequested.always`, `permissionRequested.whole` and `permissionRequested.keepsContent`, which older readers pass over |

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{BlobId, ItemId, RequestId, ThreadId, TurnId};
use crate::item::{ItemEnd, ItemOutcome, ItemStart, MessageType, Replaced, ToolStatus};
use crate::json::RawJson;
use crate::option_kind::OptionKind;
use crate::subject::CallSubject;
use crate::summary::ThreadStatus;

/// Version of the stored format, see the module's changelog.
pub const FORMAT: u8 = 1;

/// An event's number in its thread: 1, 2, 3 … without gaps. 0 is "before the first".
pub type Seq = u64;

/// Milliseconds since the Unix epoch.
pub type Millis = i64;

/// One fact about a thread.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Event {
    /// Its number in the thread.
    pub seq: Seq,
    /// When, by the daemon's clock.
    pub at: Millis,
    /// The turn in which it happened.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// Who caused it. Of files and terminals: the client that did it for the agent, or else the agent.
    #[serde(default)]
    pub by: By,
    /// What happened.
    pub kind: EventKind,
    /// For what an agent sent: the `update` object (or another message's params) as it came. Left out where
    /// the kind alone rebuilds it byte for byte.
    #[serde(default, deserialize_with = "present")]
    pub raw: Option<RawJson>,
    /// The whole params, where `{"sessionId":…,"update":raw}` would not rebuild them (`_meta` beside the
    /// update, unknown members, another order).
    #[serde(default, deserialize_with = "present")]
    pub raw_params: Option<RawJson>,
}

/// Tells a `null` that an agent sent from nothing at all.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

/// Who caused an event.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum By {
    /// The agent.
    #[default]
    Agent,
    /// The daemon itself.
    Daemon,
    /// A client.
    Client(Box<Caller>),
    /// The permission policy.
    Policy(Box<Ruling>),
}

/// What of the permission policy caused an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ruling {
    /// Whose policy: `session`, `thread`, `agent` or `daemon`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The rule; none for a default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// One sentence for a person.
    pub reason: String,
}

/// A client that caused an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Caller {
    /// Whose credentials it showed.
    pub principal: String,
    /// The name it gave itself.
    pub client: String,
}

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

/// What an answer to a permission request says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Outcome {
    /// One of the agent's options was picked.
    Selected {
        /// The agent's id for it.
        option_id: String,
        /// ACP's kind of that option (`allow_once`, …).
        kind: String,
        /// The option that the agent was told instead: an "always" that the daemon remembers is "once" for the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent_option_id: Option<String>,
    },
    /// What the agent wanted to know was told.
    Accepted {
        /// The answers, by the schema that the agent gave; nothing where it wanted no more than a yes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<RawJson>,
    },
    /// It was not told: the person does not want to.
    Declined,
    /// Nobody picked one: the turn was interrupted, or a client dismissed the question.
    Cancelled,
}

impl Outcome {
    /// Whether the agent may go on.
    pub fn allows(&self) -> bool {
        match self {
            Self::Selected { kind, .. } => OptionKind::read(kind).is_some_and(OptionKind::allows),
            Self::Accepted { .. } => true,
            Self::Declined | Self::Cancelled => false,
        }
    }

    /// Whether the agent must not go on. An option of a kind that ACP does not know neither allows nor refuses.
    pub fn refuses(&self) -> bool {
        match self {
            Self::Selected { kind, .. } => OptionKind::read(kind).is_some_and(|kind| !kind.allows()),
            Self::Accepted { .. } => false,
            Self::Declined | Self::Cancelled => true,
        }
    }

    /// Whether somebody picked an answer that is to hold for good.
    pub fn is_always(&self) -> bool {
        matches!(self, Self::Selected { kind, .. } if OptionKind::read(kind).is_some_and(OptionKind::is_always))
    }
}

/// One of the answers that an agent offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    /// The agent's id for it.
    pub option_id: String,
    /// What a person reads.
    #[serde(default)]
    pub name: String,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always`; other words are kept as they came.
    #[serde(default)]
    pub kind: String,
}

/// What becomes of an "always" as the answer to a question; known, and said, before anybody answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Always {
    /// It holds for this from then on: words that follow "Always allow" or "Always reject".
    Holds(String),
    /// The daemon does not remember it, for this reason.
    NotRemembered(String),
}

impl PermissionOption {
    /// What a person reads: what the kind means, and behind it the agent's own name for it where that says something else.
    /// The name alone could say the opposite of what the answer does. `always` is the question's.
    pub fn label(&self, always: Option<&Always>) -> String {
        let kind = OptionKind::read(&self.kind);
        let meaning = kind.map_or("Other answer", OptionKind::in_words);
        let mut label = meaning.to_owned();
        if let Some(Always::Holds(what)) = always.filter(|_| kind.is_some_and(OptionKind::is_always)) {
            label.push(' ');
            label.push_str(what);
        }
        let name = self.name.trim();
        if !name.is_empty() && !name.eq_ignore_ascii_case(meaning) {
            label.push_str(&format!(": “{name}”"));
        }
        label
    }
}

/// What a permission is asked for; decides the method by which clients are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AskAbout {
    /// A command.
    CommandExecution,
    /// A change to a file.
    FileChange,
    /// Any other tool.
    Permissions,
}

/// How a thread was made. In a box of its own, so that the events that come by the thousand are small.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCreated {
    /// Name of the agent in the configuration.
    pub agent: String,
    /// Working directory.
    pub cwd: String,
    /// Name that a person gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The client's own grouping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The client's own data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// Further directories that belong to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_directories: Vec<String>,
    /// Names without links of `cwd` and of `additional_directories`, in this order, when the thread was made. Empty in older logs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub real_directories: Vec<String>,
    /// ACP `McpServer` objects, passed on to the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<RawJson>,
    /// `_meta` for the agent, beside all that; passed on as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
    /// Members of `session/new` that acpd does not know, an object; passed on to the agent as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<RawJson>,
    /// The session of the agent that it goes on with, which was made outside of acpd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// What a session is opened with that differs from what its thread was made with.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionParams {
    /// Its directory, within those of the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// ACP `McpServer` objects beside the thread's own; one of the same name takes the place of the thread's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<RawJson>,
    /// Members that acpd does not know, an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub members: Option<RawJson>,
    /// `_meta`, in the place of the thread's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// How well an agent remembers what a thread keeps, after turns were dropped or a thread was split off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fidelity {
    /// As if nothing else had ever been said.
    Exact,
    /// It begins anew, and is told the conversation with its next prompt.
    Recalled,
}

/// Where a thread comes from that was split off another one. In a box of its own, since it is rare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadForked {
    /// The other thread.
    pub from: ThreadId,
    /// The last turn that was taken over; none if there was no turn to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<TurnId>,
    /// The agent's session that knows the same as the other thread's; none if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// How well the agent remembers.
    pub fidelity: Fidelity,
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
        about: AskAbout,
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

impl Event {
    /// Reads one stored event. A kind that this version does not know becomes [`EventKind::Unknown`].
    pub fn decode(json: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json).or_else(|error| {
            let Ok(newer) = serde_json::from_slice::<Envelope>(json) else {
                return Err(error);
            };
            if is_known(newer.kind.keys().next().map(String::as_str)) {
                return Err(error);
            }
            let Envelope {
                seq,
                at,
                turn,
                by,
                kind: _,
            } = newer;
            Ok(Self {
                seq,
                at,
                turn,
                by,
                kind: EventKind::Unknown,
                raw: None,
                raw_params: None,
            })
        })
    }

    /// Appends the event to `out` as one JSON object. Written by hand, since this is done for every event and
    /// what an agent sent is only to be copied.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        out.extend_from_slice(b"{\"seq\":");
        serde_json::to_writer(&mut *out, &self.seq)?;
        out.extend_from_slice(b",\"at\":");
        serde_json::to_writer(&mut *out, &self.at)?;
        if let Some(turn) = &self.turn {
            out.extend_from_slice(b",\"turn\":\"");
            turn.with_text(|text| out.extend_from_slice(text.as_bytes()));
            out.push(b'"');
        }
        if self.by != By::Agent {
            out.extend_from_slice(b",\"by\":");
            serde_json::to_writer(&mut *out, &self.by)?;
        }
        out.extend_from_slice(b",\"kind\":");
        match &self.kind {
            // The most frequent kind of all, and the one with the least to escape.
            EventKind::ItemUpdated { item, status } => {
                out.extend_from_slice(b"{\"itemUpdated\":{\"item\":\"");
                item.with_text(|text| out.extend_from_slice(text.as_bytes()));
                out.extend_from_slice(b"\",\"status\":\"");
                out.extend_from_slice(status.as_acp().as_bytes());
                out.extend_from_slice(b"\"}}");
            }
            kind => serde_json::to_writer(&mut *out, kind)?,
        }
        if let Some(raw) = &self.raw {
            out.extend_from_slice(b",\"raw\":");
            out.extend_from_slice(raw.get().as_bytes());
        }
        if let Some(raw) = &self.raw_params {
            out.extend_from_slice(b",\"raw_params\":");
            out.extend_from_slice(raw.get().as_bytes());
        }
        out.push(b'}');
        Ok(())
    }
}

/// What every version of an event has.
#[derive(Deserialize)]
struct Envelope {
    seq: Seq,
    at: Millis,
    #[serde(default)]
    turn: Option<TurnId>,
    #[serde(default)]
    by: By,
    kind: BTreeMap<String, RawJson>,
}

/// Whether this version has a kind of that name; then a failure to read it is damage, not age.
fn is_known(tag: Option<&str>) -> bool {
    let Some(tag) = tag else { return true };
    let probe = format!("{{{}:{{}}}}", serde_json::Value::from(tag));
    match serde_json::from_str::<EventKind>(&probe) {
        Ok(_) => true,
        Err(error) => !error.to_string().starts_with("unknown variant"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind) -> Event {
        Event {
            seq: 7,
            at: 1_700_000_000_000,
            turn: Some(TurnId(2)),
            by: By::Daemon,
            kind,
            raw: None,
            raw_params: None,
        }
    }

    #[test]
    fn an_event_reads_back() {
        let mut written = event(EventKind::ItemDelta {
            item: ItemId(3),
            role: MessageType::AgentMessage,
            text: "ha\u{1f600}\n".into(),
            message_id: Some("m-1".into()),
        });
        written.raw = Some(RawJson::parse(r#"{"n":1.10,"big":18446744073709551616}"#).unwrap());
        let mut bytes = Vec::new();
        written.encode(&mut bytes).unwrap();
        assert_eq!(Event::decode(&bytes).unwrap(), written);
    }

    #[test]
    fn a_null_of_an_agent_reads_back_as_a_null() {
        let mut written = event(EventKind::ThreadUnarchived {});
        written.raw = Some(RawJson::trusted("null"));
        written.raw_params = Some(RawJson::trusted("null"));
        let mut bytes = Vec::new();
        written.encode(&mut bytes).unwrap();
        assert_eq!(Event::decode(&bytes).unwrap(), written);
    }

    #[test]
    fn what_is_written_by_hand_is_what_serde_writes() {
        for status in [ToolStatus::Pending, ToolStatus::InProgress, ToolStatus::Failed] {
            let written = event(EventKind::ItemUpdated {
                item: ItemId(30),
                status,
            });
            let mut bytes = Vec::new();
            written.encode(&mut bytes).unwrap();
            let kind = serde_json::to_string(&written.kind).unwrap();
            assert!(
                String::from_utf8(bytes)
                    .unwrap()
                    .contains(&format!(",\"kind\":{kind}}}"))
            );
        }
    }

    #[test]
    fn a_newer_kind_is_unknown_and_a_damaged_one_is_an_error() {
        let newer = br#"{"seq":1,"at":2,"by":"daemon","kind":{"moonLanded":{"by":"eagle"}},"new":1}"#;
        assert_eq!(Event::decode(newer).unwrap().kind, EventKind::Unknown);
        let damaged = br#"{"seq":1,"at":2,"kind":{"itemDelta":{"item":"item_1"}}}"#;
        assert!(Event::decode(damaged).is_err());
        assert!(Event::decode(b"{").is_err());
    }

    /// An event is moved several times between the agent's line and the log.
    #[test]
    fn an_event_is_small() {
        assert!(size_of::<Event>() <= 192, "{}", size_of::<Event>());
    }

    /// The first format, as it was written; it must open for ever.
    #[test]
    fn version_1_opens() {
        for line in include_str!("../fixtures/events-v1.jsonl").lines() {
            let event = Event::decode(line.as_bytes()).unwrap();
            assert_ne!(event.kind, EventKind::Unknown, "{line}");
            let mut again = Vec::new();
            event.encode(&mut again).unwrap();
            assert_eq!(String::from_utf8(again).unwrap(), line);
        }
    }
}
