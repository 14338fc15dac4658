//! What methods answer.

use schemars::JsonSchema;

use super::{Acp, Json, Thread, ThreadSummary, Turn};

/// The first params of a connection.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    client_info: ClientInfo,
    #[serde(default)]
    capabilities: ClientCapabilities,
}

/// Which program this is.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// Stands beside every decision in the log.
    name: String,
    title: Option<String>,
    version: Option<String>,
}

/// What a client can do.
#[derive(JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientCapabilities {
    streaming: bool,
    tools: bool,
    /// It answers questions; otherwise it only sees them.
    approvals: bool,
    /// It wants to know who else follows its threads: `thread/subscribers/changed`.
    subscribers: bool,
    /// Notifications that it does not want, by their exact names. Their `seq` are left out; whoever answers questions is
    /// asked all the same.
    opt_out_notification_methods: Vec<String>,
}

/// Whom a client has reached, and what holds.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Initialized {
    protocol_version: u32,
    server_info: ServerInfo,
    capabilities: ServerCapabilities,
    limits: LimitsInForce,
    identity: Identity,
}

/// The daemon.
#[derive(JsonSchema)]
pub struct ServerInfo {
    name: String,
    version: String,
}

/// What the daemon can do.
#[derive(JsonSchema)]
pub struct ServerCapabilities {
    streaming: bool,
    tools: bool,
    approvals: bool,
}

/// The limits in force.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitsInForce {
    /// Bytes of one message of a client.
    message_bytes: u64,
    /// Requests of one connection within `requestWindowSecs`.
    requests_per_window: u64,
    request_window_secs: u64,
    /// Turns that may wait in a thread.
    queued_turns: u64,
    /// Requests of one connection that may be unanswered.
    requests_in_flight: u64,
    /// Commands that may wait for a thread; beyond them requests are refused with -32001.
    thread_commands: u64,
    /// Batches of events that may wait for one connection.
    outbound_queue: u64,
    /// Batches of events that a connection may be behind before it is sent them from the log.
    live_batches: u64,
    /// Connections served at once; further ones are refused, at a local socket they wait.
    connections: u64,
    /// Seconds between the daemon's pings.
    ping_secs: u64,
    /// Seconds of silence after a ping until the connection is closed.
    pong_secs: u64,
    /// Seconds that a client may take nothing of what is sent until the connection is closed.
    write_secs: u64,
}

/// As whom a client has come in.
#[derive(JsonSchema)]
pub struct Identity {
    principal: String,
    role: Role,
}

/// What a principal may do; each may do what those before it may.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Looks on.
    Observer,
    /// Answers questions.
    Approver,
    /// Starts, steers and ends threads and turns.
    Operator,
    /// Changes what others may do.
    Owner,
}

/// Nothing but that it is done.
#[derive(JsonSchema)]
pub struct Nothing {}

/// The agents.
#[derive(JsonSchema)]
pub struct AgentsListed {
    data: Vec<Agent>,
}

/// An agent that the daemon knows.
#[derive(JsonSchema)]
pub struct Agent {
    /// Its name: `agentType` of a thread.
    id: String,
    /// What people call it.
    title: String,
    /// `config`, `registry` or `installed`.
    source: String,
    /// Whether it can be started.
    installed: bool,
    /// How its program is found: `path`, `installed`, `npx` or `uvx`.
    runs: Option<String>,
    /// Why it cannot be started.
    reason: Option<String>,
    version: Option<String>,
    /// One sentence about it.
    description: Option<String>,
}

/// The agents that run.
#[derive(JsonSchema)]
pub struct AgentsRunning {
    data: Vec<RunningAgent>,
}

/// A process of an agent.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunningAgent {
    /// The agent's name.
    agent_type: String,
    /// The process's id; `null` while it starts.
    pid: Option<u32>,
    /// The threads that use it: several where it is shared, none while it waits for its first session.
    threads: Vec<String>,
    /// `busy`: it is in a turn; `idle`; `waiting`: for its first session; `leaving`: it was told to go.
    state: String,
    /// Resident memory of it and of what it has started, in bytes.
    memory_bytes: u64,
    /// When it was started, milliseconds since the epoch.
    started_at: u64,
    /// Since when it is idle.
    idle_since: Option<u64>,
}

/// What a look at an agent found.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentExamined {
    /// The agent's name.
    agent_type: String,
    /// The result of its `initialize`; nothing if it does not work.
    hello: Option<AgentHello>,
    /// Why it does not work.
    error: Option<String>,
    /// Milliseconds from the start of the process to its answer, or to its failure.
    millis: u64,
    /// The last of its standard error.
    stderr: String,
    /// First lines of its standard output that are no message.
    stray_lines: Vec<String>,
    /// What it and its terminals may use.
    sandbox: Option<AgentSandbox>,
}

/// How an agent is confined.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSandbox {
    /// `workspace`, `readonly` or `off`.
    mode: String,
    /// Why it is not confined although nobody wanted that, or why it cannot be confined here.
    reason: Option<String>,
    /// What the kernel does not enforce.
    gaps: Vec<String>,
    /// Paths that may be read, beside those that may be written; empty without a sandbox.
    read: Vec<String>,
    /// Paths that may be written, beside the workspace.
    write: Vec<String>,
    /// `on`, `off`, or ports with commas between.
    network: String,
    /// Paths of the configuration that do not exist, for which nothing is granted.
    missing: Vec<String>,
    /// Directories that may be written, in which no new files can be made, because acpd's own files are in them.
    closed: Vec<String>,
}

/// What an agent says of itself.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentHello {
    /// The version of ACP that it chose.
    protocol_version: i64,
    /// Its name and version.
    agent_info: Option<Acp>,
    /// What it can do.
    agent_capabilities: Option<Acp>,
    /// Ways to sign in.
    auth_methods: Option<Vec<Acp>>,
}

/// The new thread.
#[derive(JsonSchema)]
pub struct ThreadStarted {
    thread: Thread,
    /// The first turn, if there was one in the params.
    turn: Option<Turn>,
}

/// The thread that is followed now.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadResumed {
    thread: Thread,
    /// Its last event. What comes after it follows as notifications.
    latest_seq: u64,
}

/// One thread.
#[derive(JsonSchema)]
pub struct ThreadFound {
    thread: Thread,
}

/// The turns after one were dropped.
#[derive(JsonSchema)]
pub struct RolledBack {
    fidelity: Fidelity,
}

/// The thread that was split off.
#[derive(JsonSchema)]
pub struct ThreadForkedResult {
    thread: Thread,
    fidelity: Fidelity,
}

/// How well the agent remembers what a thread keeps.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Fidelity {
    /// As if nothing else had ever been said.
    Exact,
    /// It begins anew, and is told the conversation with its next prompt.
    Recalled,
}

/// What became of the words.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnSteered {
    /// The turn that they are part of.
    turn_id: String,
    delivery: Delivery,
}

/// How words reach the agent.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Delivery {
    /// In the middle of the turn that runs.
    Steered,
    /// As a turn of their own.
    Queued,
}

/// A page of threads.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadsListed {
    data: Vec<ThreadSummary>,
    /// Leads to the next page.
    next_cursor: Option<String>,
}

/// A page of what was found.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextsFound {
    data: Vec<TextFound>,
    /// Leads to the next page.
    next_cursor: Option<String>,
}

/// A text that was found.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextFound {
    thread_id: String,
    /// The thread's name.
    name: Option<String>,
    /// The event that has the text.
    seq: u64,
    /// When that was, in milliseconds since the epoch.
    ts: i64,
    turn_id: Option<String>,
    item_id: Option<String>,
    kind: TextKind,
    /// What is shown of the text: one line, in pieces. An ellipsis stands where something is left out.
    snippet: Vec<SnippetPiece>,
}

/// What a text is.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TextKind {
    /// A person's words.
    UserMessage,
    /// The agent's answer.
    AgentMessage,
    /// The title of a tool call.
    ToolCall,
    /// A command line.
    Command,
    /// Paths of files.
    Path,
}

/// A piece of a snippet.
#[derive(JsonSchema)]
pub struct SnippetPiece {
    text: String,
    /// Whether it is what was looked for.
    hit: bool,
}

/// What became of the subscription.
#[derive(JsonSchema)]
pub struct Unsubscribed {
    /// `unsubscribed` or `notSubscribed`.
    status: String,
}

/// The turn that runs or waits.
#[derive(JsonSchema)]
pub struct TurnStartedResult {
    turn: Turn,
}

/// What the agent answered.
#[derive(JsonSchema)]
pub struct AgentAnswered {
    /// Unchanged.
    result: Json,
}

/// The policies of the configuration. Each is a preset's name or an object with rules, see `docs/policy.md`.
#[derive(JsonSchema)]
pub struct PoliciesRead {
    /// The daemon's; without one, everything is asked.
    daemon: Option<Json>,
    /// The agent's own, which goes before the daemon's.
    agent: Option<Json>,
}

/// What the policy would decide.
#[derive(JsonSchema)]
pub struct PolicyExplained {
    /// What becomes of it, and why.
    decision: Acp,
    /// Every part of the call, with the rules that match it.
    subjects: Vec<Acp>,
}

/// The answers that hold.
#[derive(JsonSchema)]
pub struct RememberedListed {
    data: Vec<RememberedAnswer>,
}

/// An answer that holds.
#[derive(JsonSchema)]
pub struct RememberedAnswer {
    id: u64,
    /// `session`, `thread` or `agent`.
    scope: String,
    /// Yes or no.
    allow: bool,
    /// What it is about.
    rule: String,
    /// The directory in which the command must be started.
    cwd: Option<String>,
    /// Stands for the command line that the command must be a part of.
    line: Option<String>,
    /// Stands for the input that the call must have.
    arguments: Option<String>,
    /// Stands for the kind, tool, locations and diffs that the call must have.
    call: Option<String>,
}
