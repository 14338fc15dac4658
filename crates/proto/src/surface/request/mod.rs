//! What clients can ask of the daemon, whatever protocol they speak.
//!
//! A surface reads its client's messages into [`Request`]s; the runtime carries them out and answers each with a
//! [`Reply`](super::reply::Reply). The role that a request needs and the order in which it is carried out are decided here.

mod kind;

use std::collections::BTreeMap;

use acpd_model::{Failure, RawJson, RequestId, Seq, ThreadId, TurnId};
use acpd_policy::Scope;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

pub use self::kind::{Order, RequestKind};
use crate::agent::{AgentRequest, ConfigValue};
use crate::projection::SessionChange;
use crate::thread::{Answer, Change};

/// A request of a client.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Read what the connection's agent declares, the result of its `initialize`.
    Initialize,
    /// List the agents that the daemon knows.
    ListAgents,
    /// List the processes of agents.
    ListRunningAgents,
    /// Start an agent to see whether it works, and end it.
    ExamineAgent {
        /// Its name.
        agent: String,
    },
    /// Read the policies of the configuration.
    ReadPolicies {
        /// The agent whose own policy is wanted as well.
        agent: Option<String>,
    },
    /// List threads, the newest first.
    ListThreads(ListThreads),
    /// Find texts of threads.
    SearchThreads(SearchThreads),
    /// Read a thread without following it.
    ReadThread {
        /// Which.
        thread: ThreadId,
        /// The turns wanted with it.
        turns: Option<Turns>,
    },
    /// Start or stop watching the list of threads.
    WatchThreadList {
        /// Whether to watch it.
        on: bool,
    },
    /// Make a thread and follow it from its first event on.
    StartThread(Box<StartThread>),
    /// Follow a thread; its agent is started where the caller may do that.
    OpenThread(Box<OpenThread>),
    /// Follow a thread no longer.
    CloseThread {
        /// Which.
        thread: ThreadId,
        /// Whether its agent is stopped if no other client follows the thread and no turn runs.
        release: bool,
    },
    /// Make a thread that goes on from another one, and follow it from there on.
    ForkThread(Box<ForkThread>),
    /// Delete a thread and its log.
    DeleteThread {
        /// Which.
        thread: ThreadId,
    },
    /// Change something about a thread as a whole.
    ChangeThread {
        /// Which.
        thread: ThreadId,
        /// What.
        change: Change,
    },
    /// Give a thread a policy of its own.
    SetThreadPolicy {
        /// Which.
        thread: ThreadId,
        /// A preset's name or an object; none takes the thread's own policy away.
        policy: Option<RawJson>,
    },
    /// Explain what the policy would decide about a tool call.
    ExplainPolicy {
        /// In which thread.
        thread: ThreadId,
        /// An ACP tool call.
        tool_call: RawJson,
    },
    /// List the remembered answers of a thread and of its agent.
    ListRemembered {
        /// Which.
        thread: ThreadId,
    },
    /// Revoke a remembered answer.
    RevokeRemembered {
        /// Of which thread.
        thread: ThreadId,
        /// Its id.
        id: u64,
    },
    /// Take a thread's lease, or give it up.
    MoveLease {
        /// Of which thread.
        thread: ThreadId,
        /// Whether to take it.
        take: bool,
    },
    /// Send a prompt, now or when the turns before it are over.
    StartTurn(StartTurn),
    /// Say something in the middle of the running turn.
    SteerTurn {
        /// Of which thread.
        thread: ThreadId,
        /// ACP content blocks.
        input: Vec<RawJson>,
        /// Refused if another turn is running.
        turn: Option<TurnId>,
    },
    /// End a turn, or take it back while it waits.
    Interrupt {
        /// Of which thread.
        thread: ThreadId,
        /// Which; the running one if absent.
        turn: Option<TurnId>,
    },
    /// Answer a question.
    Answer {
        /// Which.
        request: RequestId,
        /// What.
        answer: Answer,
        /// How long it holds, if it is to hold for more than this question.
        scope: Option<Scope>,
    },
    /// Have the agent do something besides turns.
    AskAgent {
        /// The agent of which thread; without one, any process of the connection's agent, also before it has a session.
        thread: Option<ThreadId>,
        /// What.
        request: AgentRequest,
        /// Whether an extension's params name the thread as their session. The agent gets the id of its own session.
        names_thread: bool,
    },
    /// Send the agent a notification that ACP does not know.
    NotifyAgent {
        /// The agent of which thread.
        thread: ThreadId,
        /// Method; its name begins with `_`.
        method: String,
        /// Params, passed on as they came.
        params: Option<RawJson>,
        /// Whether the params name the thread as their session. The agent gets the id of its own session.
        names_thread: bool,
    },
}

/// Which threads are listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListThreads {
    /// Where the last page ended.
    pub cursor: Option<String>,
    /// Threads wanted.
    pub limit: Option<usize>,
    /// Archived ones, or (the default) the others.
    pub archived: Option<bool>,
    /// Those of this agent.
    pub agent: AgentFilter,
    /// Those in this directory.
    pub cwd: Option<String>,
    /// Those of which this is true.
    pub status: Option<ListedStatus>,
    /// Those with this in their name.
    pub search: Option<String>,
}

/// Threads of which agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AgentFilter {
    /// Of any.
    #[default]
    Any,
    /// Of the one with this name.
    Named(String),
    /// Of the connection's agent.
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

/// Which texts are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchThreads {
    /// Words that must all be in one text.
    pub query: String,
    /// Where the last page ended.
    pub cursor: Option<String>,
    /// Hits wanted.
    pub limit: Option<usize>,
    /// In this thread alone.
    pub thread: Option<ThreadId>,
}

/// A page of a thread's turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turns {
    /// The turn that the page ends before, counted from the first; none for the latest.
    pub before: Option<usize>,
    /// Turns wanted.
    pub limit: Option<usize>,
}

/// What a new thread is.
#[derive(Debug, Clone, PartialEq)]
pub struct StartThread {
    /// Name of an agent; the connection's if absent.
    pub agent: Option<String>,
    /// Absolute working directory.
    pub cwd: String,
    /// Further directories of the workspace, absolute.
    pub additional_directories: Vec<String>,
    /// What else its session is opened with.
    pub session: SessionChange,
    /// A name for people.
    pub name: Option<String>,
    /// The client's own grouping.
    pub project_id: Option<String>,
    /// The client's own data.
    pub metadata: Option<RawJson>,
    /// A policy of its own; only the owner may give one.
    pub policy: Option<RawJson>,
    /// The mode to begin in.
    pub mode: Option<String>,
    /// Config options to begin with, by id.
    pub config: BTreeMap<String, ConfigValue>,
    /// The session of the agent to go on with, in place of a new one.
    pub session_id: Option<String>,
    /// The first turn as ACP content blocks; none if there are none.
    pub input: Vec<RawJson>,
    /// The client's own id for the first turn.
    pub client_turn_id: Option<String>,
    /// When its events are delivered.
    pub follow: Follow,
}

/// When the delivery of a new thread's events begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// As soon as there are any.
    AtOnce,
    /// After the reply.
    WithReply,
}

/// Which thread is followed, and from where on.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenThread {
    /// Which.
    pub thread: ThreadId,
    /// Where the delivery of its events begins.
    pub from: FollowFrom,
    /// The turns wanted in the reply.
    pub turns: Option<Turns>,
    /// What its session is opened with from now on; ignored for callers that may only look.
    pub session: Option<SessionOptions>,
    /// Prompts of an earlier connection, by the client's own ids for their turns.
    pub claims: Vec<String>,
}

/// Where the delivery of a thread's events begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowFrom {
    /// With the first event.
    Start,
    /// Behind the latest event.
    Latest,
    /// Behind this event.
    After {
        /// Its number.
        seq: Seq,
        /// Whether a number beyond the latest event means the latest; it is refused otherwise.
        clamp: bool,
    },
}

/// What a client that opens a thread wants of its session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionOptions {
    /// What the session is opened with from now on.
    pub change: SessionChange,
    /// Further directories, absolute; they must be the thread's.
    pub additional_directories: Vec<String>,
}

/// What a fork is.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkThread {
    /// The thread that it goes on from.
    pub thread: ThreadId,
    /// The last turn to take over; if absent, the last that is over.
    pub turn: Option<TurnId>,
    /// A name for the new thread; it has the other one's otherwise.
    pub name: Option<String>,
    /// What its session is opened with. The agent is started at once then.
    pub session: Option<SessionOptions>,
}

/// What a prompt says.
#[derive(Debug, Clone, PartialEq)]
pub struct StartTurn {
    /// To which thread.
    pub thread: ThreadId,
    /// ACP content blocks.
    pub input: Vec<RawJson>,
    /// `_meta` of the prompt, for the agent.
    pub meta: Option<RawJson>,
    /// The client's own id for the turn.
    pub client_turn_id: Option<String>,
}

/// The answer to a cursor that the daemon has not issued.
pub fn invalid_cursor() -> Failure {
    Failure::invalid_params("invalid cursor: it was not issued by this daemon")
}
