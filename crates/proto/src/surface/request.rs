//! What clients can ask of the daemon, whatever protocol they speak.
//!
//! A surface reads its client's messages into [`Request`]s; the runtime carries them out and answers each with a
//! [`Reply`](super::reply::Reply). The role that a request needs and the order in which it is carried out are decided here.

use std::collections::BTreeMap;

use acpd_model::{Failure, RawJson, RequestId, Role, Seq, ThreadId, TurnId};
use acpd_policy::{AGENT_IDS, Scope};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use crate::agent::{AgentRequest, ConfigValue, PassthroughMethod};
use crate::thread::{Answer, Change};

/// A request of a client.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
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
    OpenThread(OpenThread),
    /// Follow a thread no longer.
    CloseThread {
        /// Which.
        thread: ThreadId,
    },
    /// Make a thread that goes on from another one, and follow it from there on.
    ForkThread {
        /// The other one.
        thread: ThreadId,
        /// The last turn to take over; if absent, the last that is over.
        turn: Option<TurnId>,
        /// A name for the new thread; it has the other one's otherwise.
        name: Option<String>,
    },
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
        /// The agent of which thread.
        thread: ThreadId,
        /// What.
        request: AgentRequest,
    },
    /// Send the agent a notification that ACP does not know.
    NotifyAgent {
        /// The agent of which thread.
        thread: ThreadId,
        /// Method; its name begins with `_`.
        method: String,
        /// Params, passed on as they came.
        params: Option<RawJson>,
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
    pub agent: Option<String>,
    /// Those in this directory.
    pub cwd: Option<String>,
    /// Those of which this is true.
    pub status: Option<ListedStatus>,
    /// Those with this in their name.
    pub search: Option<String>,
}

/// What a thread is doing, or how its last turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(JsonSchema))]
pub enum ListedStatus {
    /// A turn runs, whether or not it waits for a person.
    Active,
    /// A turn runs and waits for nobody.
    Running,
    /// A turn waits for a person.
    Waiting,
    /// No turn runs, however the last one ended.
    Idle,
    /// No turn runs, and the last one failed.
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
    /// Name of an agent.
    pub agent: String,
    /// Absolute working directory.
    pub cwd: String,
    /// Further directories of the workspace, absolute.
    pub additional_directories: Vec<String>,
    /// ACP `McpServer` objects, passed on to the agent.
    pub mcp_servers: Vec<RawJson>,
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
}

/// From where on a thread is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenThread {
    /// Which.
    pub thread: ThreadId,
    /// The last event that the client has seen; none: the thread's latest.
    pub after: Option<Seq>,
    /// The turns wanted in the reply.
    pub turns: Option<Turns>,
}

/// What a prompt says.
#[derive(Debug, Clone, PartialEq)]
pub struct StartTurn {
    /// To which thread.
    pub thread: ThreadId,
    /// ACP content blocks.
    pub input: Vec<RawJson>,
    /// The client's own id for the turn.
    pub client_turn_id: Option<String>,
}

/// In what order a request is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Whenever it can be: it changes nothing.
    Free,
    /// In the order in which its connection asked, as far as the same thread is concerned.
    Thread,
}

impl Order {
    /// The word for it in schemas.
    pub fn word(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Thread => "thread",
        }
    }
}

/// A request without its members: all that can be known before its params are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the request of that name")]
pub enum RequestKind {
    ListAgents,
    ListRunningAgents,
    ExamineAgent,
    ReadPolicies,
    ListThreads,
    SearchThreads,
    ReadThread,
    WatchThreadList,
    StartThread,
    OpenThread,
    CloseThread,
    ForkThread,
    DeleteThread,
    ChangeThread,
    SetThreadPolicy,
    ExplainPolicy,
    ListRemembered,
    RevokeRemembered,
    StartTurn,
    SteerTurn,
    Interrupt,
    Answer,
    AskAgent,
    /// [`Request::AskAgent`] to sign in or out.
    SignIn,
    /// [`Request::AskAgent`] to set or disable a provider.
    ChangeProvider,
    NotifyAgent,
}

impl RequestKind {
    /// Returns the least role that may ask this.
    pub fn role(self) -> Role {
        match self {
            Self::ListAgents
            | Self::ListRunningAgents
            | Self::ReadPolicies
            | Self::ListThreads
            | Self::SearchThreads
            | Self::ReadThread
            | Self::WatchThreadList
            | Self::OpenThread
            | Self::CloseThread
            | Self::ExplainPolicy
            | Self::ListRemembered => Role::Observer,
            Self::Answer | Self::RevokeRemembered => Role::Approver,
            Self::ExamineAgent
            | Self::StartThread
            | Self::ForkThread
            | Self::ChangeThread
            | Self::StartTurn
            | Self::SteerTurn
            | Self::Interrupt
            | Self::AskAgent
            | Self::NotifyAgent => Role::Operator,
            Self::DeleteThread | Self::SetThreadPolicy | Self::SignIn | Self::ChangeProvider => Role::Owner,
        }
    }

    /// Returns the order in which such requests are carried out.
    pub fn order(self) -> Order {
        match self {
            Self::ListAgents
            | Self::ListRunningAgents
            | Self::ExamineAgent
            | Self::ReadPolicies
            | Self::ListThreads
            | Self::SearchThreads
            | Self::ReadThread => Order::Free,
            Self::WatchThreadList
            | Self::StartThread
            | Self::OpenThread
            | Self::CloseThread
            | Self::ForkThread
            | Self::DeleteThread
            | Self::ChangeThread
            | Self::SetThreadPolicy
            | Self::ExplainPolicy
            | Self::ListRemembered
            | Self::RevokeRemembered
            | Self::StartTurn
            | Self::SteerTurn
            | Self::Interrupt
            | Self::Answer
            | Self::AskAgent
            | Self::SignIn
            | Self::ChangeProvider
            | Self::NotifyAgent => Order::Thread,
        }
    }
}

impl Request {
    /// Returns what kind of request this is.
    pub fn kind(&self) -> RequestKind {
        match self {
            Self::ListAgents => RequestKind::ListAgents,
            Self::ListRunningAgents => RequestKind::ListRunningAgents,
            Self::ExamineAgent { .. } => RequestKind::ExamineAgent,
            Self::ReadPolicies { .. } => RequestKind::ReadPolicies,
            Self::ListThreads(_) => RequestKind::ListThreads,
            Self::SearchThreads(_) => RequestKind::SearchThreads,
            Self::ReadThread { .. } => RequestKind::ReadThread,
            Self::WatchThreadList { .. } => RequestKind::WatchThreadList,
            Self::StartThread(_) => RequestKind::StartThread,
            Self::OpenThread(_) => RequestKind::OpenThread,
            Self::CloseThread { .. } => RequestKind::CloseThread,
            Self::ForkThread { .. } => RequestKind::ForkThread,
            Self::DeleteThread { .. } => RequestKind::DeleteThread,
            Self::ChangeThread { .. } => RequestKind::ChangeThread,
            Self::SetThreadPolicy { .. } => RequestKind::SetThreadPolicy,
            Self::ExplainPolicy { .. } => RequestKind::ExplainPolicy,
            Self::ListRemembered { .. } => RequestKind::ListRemembered,
            Self::RevokeRemembered { .. } => RequestKind::RevokeRemembered,
            Self::StartTurn(_) => RequestKind::StartTurn,
            Self::SteerTurn { .. } => RequestKind::SteerTurn,
            Self::Interrupt { .. } => RequestKind::Interrupt,
            Self::Answer { .. } => RequestKind::Answer,
            Self::AskAgent { request, .. } => match request {
                AgentRequest::Authenticate { .. } | AgentRequest::Logout => RequestKind::SignIn,
                AgentRequest::Passthrough {
                    method: PassthroughMethod::SetProvider | PassthroughMethod::DisableProvider,
                    ..
                } => RequestKind::ChangeProvider,
                _ => RequestKind::AskAgent,
            },
            Self::NotifyAgent { .. } => RequestKind::NotifyAgent,
        }
    }

    /// Returns the least role that may ask this. Answers that hold in more than one thread take the owner, whatever
    /// their kind needs.
    pub fn role(&self) -> Role {
        let holds_beyond_its_thread = match self {
            Self::Answer { scope, .. } => matches!(scope, Some(Scope::Agent | Scope::Daemon)),
            Self::RevokeRemembered { id, .. } => *id >= AGENT_IDS,
            _ => false,
        };
        if holds_beyond_its_thread {
            return Role::Owner;
        }
        self.kind().role()
    }

    /// Returns the order in which the request is carried out.
    pub fn order(&self) -> Order {
        self.kind().order()
    }
}

/// The answer to a cursor that the daemon has not issued.
pub fn invalid_cursor() -> Failure {
    Failure::invalid_params("invalid cursor: it was not issued by this daemon")
}
