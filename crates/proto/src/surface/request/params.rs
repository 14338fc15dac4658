//! The params of requests, where they are more than a few members.

use std::collections::BTreeMap;

use acpd_model::{Failure, IdPart, Millis, RawJson, Seq, ThreadId, TurnId, TurnPosition};
use acpd_policy::Preset;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use crate::agent::ConfigValue;
use crate::projection::SessionChange;
use crate::surface::reply::SeenThread;

/// Filters and page of a thread list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListThreads {
    /// Cursor of the previous page.
    pub cursor: Option<String>,
    /// Maximum number of threads on the page.
    pub limit: Option<usize>,
    /// Whether to list archived threads, or (the default) the others.
    pub archived: Option<bool>,
    /// Only pinned threads, or only the others.
    pub pinned: Option<bool>,
    /// Only threads of this agent.
    pub agent: AgentFilter,
    /// Only threads in this working directory.
    pub cwd: Option<String>,
    /// Only threads with this status.
    pub status: Option<ListedStatus>,
    /// Only threads whose name contains this text.
    pub search: Option<String>,
    /// Only threads whose id begins or ends like this.
    pub id: Option<IdPart>,
    /// Only this thread.
    pub only: Option<ThreadId>,
}

/// Selects threads by their agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AgentFilter {
    /// Threads of any agent.
    #[default]
    Any,
    /// Threads of the agent with this name.
    Named(String),
    /// Threads of the connection's agent.
    Default,
}

/// Filter of `thread/list`: what a thread is doing, or how its last turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(JsonSchema))]
pub enum ListedStatus {
    /// A turn is running, whether or not it waits for a user.
    Active,
    /// A turn is running and does not wait for a user.
    Running,
    /// A turn is running and waits for a user.
    Waiting,
    /// No turn is running, however the last one ended.
    Idle,
    /// No turn is running, and the last one failed.
    Failed,
}

/// Query and page of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchThreads {
    /// Words that must all occur in one text.
    pub query: String,
    /// Cursor of the previous page.
    pub cursor: Option<String>,
    /// Maximum number of matches on the page.
    pub limit: Option<usize>,
    /// Only texts of this thread.
    pub thread: Option<ThreadId>,
}

/// Threads that a principal has seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SeeThreads {
    /// The threads. A thread is not seen further than its last change.
    pub threads: Vec<SeenThread>,
    /// Until when changes count as seen by a principal that begins to mark threads.
    pub since: Option<Millis>,
}

/// What to read of what threads have used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadUsage {
    /// Number of days until today; the default if absent.
    pub days: Option<u32>,
    /// What the rows are.
    pub by: UsageBy,
}

/// What the rows of `usage/read` are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(JsonSchema))]
pub enum UsageBy {
    /// Days, in UTC.
    #[default]
    Day,
    /// Agents, by name.
    Agent,
    /// Threads.
    Thread,
    /// Working directories.
    Folder,
}

/// A change of the configuration file. There are no others: what a client can change here, a page can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigChange {
    /// Sets the agent of clients that name none.
    DefaultAgent {
        /// The agent; `None` removes the setting.
        agent: Option<String>,
    },
    /// Sets a preset as the policy of all agents, or of one.
    Policy {
        /// The agent; all agents if absent.
        agent: Option<String>,
        /// The preset; `None` removes the policy.
        preset: Option<Preset>,
    },
    /// Lets an agent use a folder in all its threads.
    AllowFolder {
        /// The agent.
        agent: String,
        /// The folder, absolute and without links.
        folder: String,
    },
}

/// A run of retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunRetention {
    /// Whether nothing is removed, and only the report is made.
    pub dry_run: bool,
    /// Whether the client knows that the clock of the daemon's host is right.
    pub confirm_clock: bool,
}

/// A page of a thread's turns, or several that are read and answered as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turns {
    /// Where the page ends; `None` for the end of the thread.
    pub before: Option<TurnPosition>,
    /// Maximum number of turns on each page.
    pub limit: Option<usize>,
    /// How far the turns go back beyond the first page.
    pub extent: Extent,
}

/// How far the turns of one answer go back. An answer has at most [`ANSWER_PAGES`](acpd_model::limits::ANSWER_PAGES).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extent {
    /// One page. Its first turn can be incomplete.
    #[default]
    Page,
    /// To the beginning of a turn.
    WholeTurns,
    /// To the beginning of the thread.
    WholeThread,
}

impl Extent {
    /// Returns where the next page of the answer ends, if pages before it left `older`.
    pub fn next(self, older: Option<TurnPosition>) -> Option<TurnPosition> {
        match self {
            Self::Page => None,
            Self::WholeTurns => older.filter(|older| older.item.is_some()),
            Self::WholeThread => older,
        }
    }
}

/// Properties of a new thread.
#[derive(Debug, Clone, PartialEq)]
pub struct StartThread {
    /// Id of the new thread, if the connection has chosen it: requests that follow may name it.
    pub thread: Option<ThreadId>,
    /// Name of an agent; the connection's if absent.
    pub agent: Option<String>,
    /// Absolute working directory.
    pub cwd: String,
    /// Further directories of the workspace, absolute.
    pub additional_directories: Vec<String>,
    /// Further members of the session's params, such as MCP servers.
    pub session: SessionChange,
    /// A name for display.
    pub name: Option<String>,
    /// The client's own grouping.
    pub project_id: Option<String>,
    /// The client's own data.
    pub metadata: Option<RawJson>,
    /// The thread's own policy; only the owner may set one.
    pub policy: Option<RawJson>,
    /// Initial mode of the session.
    pub mode: Option<String>,
    /// Initial config options, by id.
    pub config: BTreeMap<String, ConfigValue>,
    /// Initial values of options, in the order in which they apply. What the agent does not offer is ignored.
    pub initial: Vec<(String, ConfigValue)>,
    /// The agent's session to continue, instead of a new one.
    pub session_id: Option<String>,
    /// ACP content blocks of the first turn; if empty, no turn starts.
    pub input: Vec<RawJson>,
    /// The client's own id for the first turn.
    pub client_turn_id: Option<String>,
    /// When the delivery of events starts.
    pub follow: Follow,
}

impl StartThread {
    /// Returns a thread with the defaults for all but the directory.
    pub fn new(cwd: String) -> Self {
        Self {
            thread: None,
            agent: None,
            cwd,
            additional_directories: Vec::new(),
            session: SessionChange::default(),
            name: None,
            project_id: None,
            metadata: None,
            policy: None,
            mode: None,
            config: BTreeMap::new(),
            initial: Vec::new(),
            session_id: None,
            input: Vec::new(),
            client_turn_id: None,
            follow: Follow::WithReply,
        }
    }
}

/// When the delivery of a new thread's events starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// As soon as there are events.
    AtOnce,
    /// After the reply.
    WithReply,
}

/// A thread to follow, and where delivery starts.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenThread {
    /// The thread to follow.
    pub thread: ThreadId,
    /// Where the delivery of its events starts.
    pub from: FollowFrom,
    /// The turns to include in the reply.
    pub turns: Option<Turns>,
    /// New session options; ignored if the caller's role only permits reading.
    pub session: Option<SessionOptions>,
    /// Prompts of an earlier connection, by the client's own ids for their turns.
    pub claims: Vec<String>,
    /// Whether the agent is started now; otherwise it is started when it is needed.
    pub starts_agent: bool,
}

/// Where the delivery of a thread's events starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowFrom {
    /// At the first event.
    Start,
    /// After the latest event.
    Latest,
    /// After this event.
    After {
        /// The event's number.
        seq: Seq,
        /// Whether a number greater than the latest event's means the latest; otherwise such a request fails.
        clamp: bool,
    },
}

/// Session options of a client that opens a thread.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionOptions {
    /// The changed members of the session's params.
    pub change: SessionChange,
    /// Further directories, absolute; they must equal the thread's.
    pub additional_directories: Vec<String>,
    /// Values of options to set, in this order. What the agent does not offer is ignored.
    pub config_options: Vec<(String, ConfigValue)>,
}

/// Properties of a fork.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkThread {
    /// The thread that the fork continues.
    pub thread: ThreadId,
    /// The last turn to include; if absent, the last one that has ended.
    pub turn: Option<TurnId>,
    /// Name of the new thread; the original's name if absent.
    pub name: Option<String>,
    /// Session options of the fork. If present, the agent starts immediately.
    pub session: Option<SessionOptions>,
}

/// A prompt and its turn.
#[derive(Debug, Clone, PartialEq)]
pub struct StartTurn {
    /// The thread that receives the prompt.
    pub thread: ThreadId,
    /// ACP content blocks.
    pub input: Vec<RawJson>,
    /// `_meta` of the prompt, for the agent.
    pub meta: Option<RawJson>,
    /// The client's own id for the turn.
    pub client_turn_id: Option<String>,
    /// A turn of the conversation that leaves it first, with all later ones.
    pub replaces: Option<TurnId>,
}

impl StartTurn {
    /// Returns a turn with this prompt, and without anything else.
    pub fn new(thread: ThreadId, input: Vec<RawJson>) -> Self {
        Self {
            thread,
            input,
            meta: None,
            client_turn_id: None,
            replaces: None,
        }
    }
}

/// Returns the failure for a cursor that the daemon has not issued.
pub fn invalid_cursor() -> Failure {
    Failure::invalid_params("invalid cursor: it was not issued by this daemon")
}
