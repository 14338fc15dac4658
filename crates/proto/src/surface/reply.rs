//! What the daemon answers to a [`Request`](super::request::Request). Surfaces write results of their own protocol from it: what
//! is JSON here is an agent's or a client's own words.

use acpd_model::event::{Fidelity, LeaseHolder};
use acpd_model::{Event, ItemId, Millis, RawJson, Seq, Summary, TextKind, ThreadId, TurnId};
use acpd_policy::{Explanation, Policy, RememberedRule};
use serde::Serialize;

use crate::projection::{Live, TurnsPage};
use crate::thread::{SteerDelivery, TurnView};

/// The answer to a request.
#[derive(Debug, PartialEq)]
pub enum Reply {
    /// It is done.
    Done,
    /// What an agent declares, the result of its `initialize`, unchanged.
    Initialized(RawJson),
    /// The agents that the daemon knows.
    Agents(Vec<AgentInfo>),
    /// The processes of agents.
    RunningAgents(Vec<RunningProcess>),
    /// What a look at an agent found.
    AgentReport(Box<AgentReport>),
    /// The policies of the configuration.
    Policies {
        /// For every thread.
        daemon: Option<Policy>,
        /// For every thread of the agent.
        agent: Option<Policy>,
    },
    /// A page of threads.
    Threads {
        /// The threads.
        page: Vec<ListedThread>,
        /// Where the next page begins.
        next: Option<String>,
    },
    /// A page of texts that were found.
    Hits {
        /// The texts.
        page: Vec<SearchHit>,
        /// Where the next page begins.
        next: Option<String>,
    },
    /// A thread.
    Thread(Box<ThreadView>),
    /// A thread that is followed now.
    Opened(Box<Opened>),
    /// A thread is followed no longer.
    Closed {
        /// Whether it was.
        was_open: bool,
    },
    /// The turn that was started or queued.
    Turn(TurnView),
    /// Words for the running turn were accepted.
    Steered {
        /// The turn that they are part of.
        turn: TurnId,
        /// How they reach the agent.
        delivery: SteerDelivery,
    },
    /// How well the agent remembers what is left after turns were dropped.
    RolledBack(Fidelity),
    /// What the policy makes of a tool call.
    Explained(Box<Explanation>),
    /// The remembered answers of a thread and of its agent.
    Remembered(Vec<RememberedRule>),
    /// The client that holds a thread's lease now.
    Lease(Option<LeaseHolder>),
    /// What the agent answered, unchanged.
    Agent(RawJson),
}

/// An agent that the daemon knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentInfo {
    /// Its name.
    pub id: String,
    /// What people call it.
    pub title: String,
    /// `config`, `registry` or `installed`.
    pub source: &'static str,
    /// Whether it can be started.
    pub installed: bool,
    /// How its program is found: `path`, `installed`, `npx` or `uvx`.
    pub runs: Option<&'static str>,
    /// Why it cannot be started.
    pub reason: Option<String>,
    /// Its version, where that is known.
    pub version: Option<String>,
    /// One sentence about it.
    pub description: Option<String>,
}

/// A process of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningProcess {
    /// The agent's name.
    pub agent_type: String,
    /// The process's id, once it has one.
    pub pid: Option<u32>,
    /// The threads that use it; none of one that was only asked what it is.
    pub threads: Vec<ThreadId>,
    /// What it does.
    pub state: ProcessState,
    /// Resident memory of it and of what it has started, in bytes.
    pub memory_bytes: u64,
    /// When it was started, milliseconds since the epoch.
    pub started_at: Millis,
    /// When its last turn ended, if it is idle.
    pub idle_since: Option<Millis>,
}

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ProcessState {
    /// A thread has a turn, or something else that its agent is at.
    Busy,
    /// Nobody wants anything of it.
    Idle,
    /// It waits for its first session.
    Waiting,
    /// It was told to go.
    Leaving,
}

/// What a look at an agent found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentReport {
    /// The agent's name.
    pub agent: String,
    /// What it says of itself; nothing if it does not work.
    pub hello: Option<AgentHello>,
    /// Why it does not work.
    pub error: Option<String>,
    /// Milliseconds from the start of the process to its answer, or to its failure.
    pub millis: u64,
    /// The last of its standard error.
    pub stderr: String,
    /// First lines of its standard output that are no message.
    pub stray_lines: Vec<String>,
    /// What it may use.
    pub sandbox: AgentSandbox,
}

/// The result of an agent's `initialize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentHello {
    /// The version of ACP that it chose.
    pub protocol_version: i64,
    /// Its name and version.
    pub agent_info: Option<RawJson>,
    /// What it can do.
    pub agent_capabilities: Option<RawJson>,
    /// Ways to sign in.
    pub auth_methods: Option<RawJson>,
}

/// How an agent is confined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSandbox {
    /// `workspace`, `readonly` or `off`.
    pub mode: &'static str,
    /// Why it is not confined although nobody wanted that, or why it cannot be confined here.
    pub reason: Option<String>,
    /// What the kernel does not enforce.
    pub gaps: Vec<&'static str>,
    /// Paths that may be read, beside those that may be written.
    pub read: Vec<String>,
    /// Paths that may be written, beside the workspace.
    pub write: Vec<String>,
    /// `on`, `off`, or ports.
    pub network: String,
    /// Paths of the configuration that do not exist.
    pub missing: Vec<String>,
    /// Directories that may be written, in which no new files can be made.
    pub closed: Vec<String>,
}

/// A thread in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedThread {
    /// The thread.
    pub thread: ThreadId,
    /// Its summary.
    pub summary: Summary,
}

/// A text that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The thread.
    pub thread: ThreadId,
    /// The thread's name.
    pub name: Option<String>,
    /// The event that has the text.
    pub seq: Seq,
    /// When that was.
    pub at: Millis,
    /// The turn in which it was.
    pub turn: Option<TurnId>,
    /// The item that it is part of.
    pub item: Option<ItemId>,
    /// What it is.
    pub kind: TextKind,
    /// What is shown of it: a line, in pieces.
    pub snippet: Vec<SnippetPiece>,
}

/// A piece of a snippet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnippetPiece {
    /// The piece.
    pub text: String,
    /// Whether it is what was looked for.
    pub hit: bool,
}

/// A thread, and its turns where they were wanted.
#[derive(Debug, PartialEq)]
pub struct ThreadView {
    /// The thread.
    pub live: Box<Live>,
    /// A page of its turns.
    pub turns: Option<TurnsPage>,
}

/// A thread that is followed from now on.
#[derive(Debug, PartialEq)]
pub struct Opened {
    /// The thread.
    pub live: Box<Live>,
    /// The delivery of its events begins behind this one.
    pub cursor: Seq,
    /// A page of its turns, where they were wanted.
    pub turns: Option<TurnsPage>,
    /// The first turn of a new thread.
    pub turn: Option<TurnView>,
    /// How well the agent of a fork remembers the conversation.
    pub fidelity: Option<Fidelity>,
    /// What became of each prompt that was asked about, in that order.
    pub claimed: Vec<ClaimedPrompt>,
}

/// What became of a prompt of an earlier connection.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedPrompt {
    /// The client's own id for its turn.
    pub client_turn_id: String,
    /// Its turn, if it has reached the thread.
    pub turn: Option<TurnId>,
    /// The end of its turn, if that is not behind the cursor.
    pub settled: Option<Box<Event>>,
}
