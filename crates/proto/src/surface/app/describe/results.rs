//! Results of methods.

use schemars::JsonSchema;

use super::{Acp, Json, Thread, ThreadSummary, Turn};

/// Params of `initialize`.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    client_info: ClientInfo,
    #[serde(default)]
    capabilities: ClientCapabilities,
}

/// Name and version of the client program.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// Name of the client, which the log records with every decision.
    name: String,
    title: Option<String>,
    version: Option<String>,
}

/// Capabilities of a client.
#[derive(JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientCapabilities {
    streaming: bool,
    tools: bool,
    /// Whether the client answers questions. Otherwise it receives them as notifications.
    approvals: bool,
    /// Whether the client wants `thread/subscribers/changed` for the threads that it follows.
    subscribers: bool,
    /// Exact names of notifications that the client does not want. Their `seq` are skipped. A client that answers questions
    /// still receives all questions.
    opt_out_notification_methods: Vec<String>,
}

/// Result of `initialize`.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Initialized {
    protocol_version: u32,
    server_info: ServerInfo,
    capabilities: ServerCapabilities,
    limits: LimitsInForce,
    identity: Identity,
}

/// Name and version of the daemon.
#[derive(JsonSchema)]
pub struct ServerInfo {
    name: String,
    version: String,
}

/// Capabilities of the daemon.
#[derive(JsonSchema)]
pub struct ServerCapabilities {
    streaming: bool,
    tools: bool,
    approvals: bool,
}

/// Effective limits of the daemon.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitsInForce {
    /// Maximum size of a client's message, in bytes.
    message_bytes: u64,
    /// Maximum number of requests of one connection within `requestWindowSecs`.
    requests_per_window: u64,
    request_window_secs: u64,
    /// Maximum number of queued turns in a thread.
    queued_turns: u64,
    /// Maximum number of requests in flight on one connection.
    requests_in_flight: u64,
    /// Maximum number of commands queued for a thread. Further requests fail with -32001.
    thread_commands: u64,
    /// Maximum number of batches of events queued for one connection.
    outbound_queue: u64,
    /// Batches of events that a connection may fall behind before the daemon serves it from the log.
    live_batches: u64,
    /// Maximum number of concurrent connections. Further ones are refused; on a local socket they wait.
    connections: u64,
    /// Seconds between the daemon's pings.
    ping_secs: u64,
    /// Seconds of silence after a ping, after which the daemon closes the connection.
    pong_secs: u64,
    /// Seconds that a client may read nothing, after which the daemon closes the connection.
    write_secs: u64,
}

/// Identity and role of a connection.
#[derive(JsonSchema)]
pub struct Identity {
    principal: String,
    role: Role,
}

/// The role of a principal. Each role includes the permissions of those before it.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Lists, reads and follows threads.
    Observer,
    /// Also answers questions.
    Approver,
    /// Also starts, steers and ends threads and turns.
    Operator,
    /// Also changes permissions: policies, sign-ins, tokens.
    Owner,
}

/// An empty result.
#[derive(JsonSchema)]
pub struct Nothing {}

/// The agents.
#[derive(JsonSchema)]
pub struct AgentsListed {
    data: Vec<Agent>,
}

/// A known agent.
#[derive(JsonSchema)]
pub struct Agent {
    /// Name of the agent, which is the `agentType` of a thread.
    id: String,
    /// Display name of the agent.
    title: String,
    /// `config`, `registry` or `installed`.
    source: String,
    /// Whether the agent can be started.
    installed: bool,
    /// How the daemon finds the agent's program: `path`, `installed`, `npx` or `uvx`.
    runs: Option<String>,
    /// Why the agent cannot be started.
    reason: Option<String>,
    version: Option<String>,
    /// Description of the agent, in one sentence.
    description: Option<String>,
}

/// The running agent processes.
#[derive(JsonSchema)]
pub struct AgentsRunning {
    data: Vec<RunningAgent>,
}

/// A running agent process.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunningAgent {
    /// Name of the agent.
    agent_type: String,
    /// Process id; `null` while the process starts.
    pid: Option<u32>,
    /// Ids of the threads that use the process: several if it is shared, none while it waits for its first session.
    threads: Vec<String>,
    /// `busy` (in a turn), `idle`, `waiting` (for its first session) or `leaving` (being stopped).
    state: String,
    /// Resident memory of the process and of all processes that it started, in bytes.
    memory_bytes: u64,
    /// When the process was started, in milliseconds since the epoch.
    started_at: u64,
    /// Since when the process is idle, in milliseconds since the epoch.
    idle_since: Option<u64>,
}

/// Result of `agent/doctor`.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentExamined {
    /// Name of the agent.
    agent_type: String,
    /// The agent's result of `initialize`; absent if the agent failed.
    hello: Option<AgentHello>,
    /// Why the agent failed.
    error: Option<String>,
    /// Milliseconds from the start of the process to its response or its failure.
    millis: u64,
    /// The end of the agent's stderr.
    stderr: String,
    /// The first lines of the agent's stdout that are not messages.
    stray_lines: Vec<String>,
    /// The sandbox of the agent and its terminals.
    sandbox: Option<AgentSandbox>,
}

/// The sandbox of an agent.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSandbox {
    /// `workspace`, `readonly` or `off`.
    mode: String,
    /// Why there is no sandbox although none was switched off, or why one cannot be built on this host.
    reason: Option<String>,
    /// Restrictions that the kernel does not enforce.
    gaps: Vec<String>,
    /// Readable paths, in addition to the writable ones; empty without a sandbox.
    read: Vec<String>,
    /// Writable paths, in addition to the workspace.
    write: Vec<String>,
    /// `on`, `off`, or comma-separated ports.
    network: String,
    /// Configured paths that do not exist. They grant no access.
    missing: Vec<String>,
    /// Writable directories in which no new files can be created, because they contain acpd's own files.
    closed: Vec<String>,
}

/// What an agent reports in `initialize`.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentHello {
    /// The version of ACP that the agent chose.
    protocol_version: i64,
    /// Name and version of the agent.
    agent_info: Option<Acp>,
    /// ACP capabilities of the agent.
    agent_capabilities: Option<Acp>,
    /// ACP authentication methods of the agent.
    auth_methods: Option<Vec<Acp>>,
}

/// The new thread.
#[derive(JsonSchema)]
pub struct ThreadStarted {
    thread: Thread,
    /// The first turn, if the params contain one.
    turn: Option<Turn>,
}

/// The subscribed thread.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadResumed {
    thread: Thread,
    /// Number of the thread's last event. Later events follow as notifications.
    latest_seq: u64,
}

/// One thread.
#[derive(JsonSchema)]
pub struct ThreadFound {
    thread: Thread,
}

/// Result of a rollback.
#[derive(JsonSchema)]
pub struct RolledBack {
    fidelity: Fidelity,
}

/// The new thread of a fork.
#[derive(JsonSchema)]
pub struct ThreadForkedResult {
    thread: Thread,
    fidelity: Fidelity,
}

/// How well an agent remembers the kept turns of a thread after a rollback or a fork.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Fidelity {
    /// The agent remembers exactly the kept turns and nothing else.
    Exact,
    /// The agent starts a new session and receives the conversation so far with its next prompt.
    Recalled,
}

/// What happened to the message.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnSteered {
    /// Id of the turn that the message belongs to.
    turn_id: String,
    delivery: Delivery,
}

/// How a message reaches the agent.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Delivery {
    /// As a message of the running turn.
    Steered,
    /// As a turn of its own.
    Queued,
}

/// A page of threads.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadsListed {
    data: Vec<ThreadSummary>,
    /// Cursor for the next page.
    next_cursor: Option<String>,
}

/// A page of search hits.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextsFound {
    data: Vec<TextFound>,
    /// Cursor for the next page.
    next_cursor: Option<String>,
}

/// A search hit.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextFound {
    thread_id: String,
    /// The thread's name.
    name: Option<String>,
    /// Number of the event that contains the text.
    seq: u64,
    /// Time of that event, in milliseconds since the epoch.
    ts: i64,
    turn_id: Option<String>,
    item_id: Option<String>,
    kind: TextKind,
    /// An extract of the text: one line, in pieces. An ellipsis marks omitted text.
    snippet: Vec<SnippetPiece>,
}

/// Type of a text.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TextKind {
    /// A message of the user.
    UserMessage,
    /// The agent's answer.
    AgentMessage,
    /// The title of a tool call.
    ToolCall,
    /// A command line.
    Command,
    /// File paths.
    Path,
}

/// A piece of a snippet.
#[derive(JsonSchema)]
pub struct SnippetPiece {
    text: String,
    /// Whether the piece matches the query.
    hit: bool,
}

/// Result of `thread/unsubscribe`.
#[derive(JsonSchema)]
pub struct Unsubscribed {
    /// `unsubscribed` or `notSubscribed`.
    status: String,
}

/// The running or queued turn.
#[derive(JsonSchema)]
pub struct TurnStartedResult {
    turn: Turn,
}

/// The agent's response.
#[derive(JsonSchema)]
pub struct AgentAnswered {
    /// The agent's result, unchanged.
    result: Json,
}

/// The configured policies. Each is a preset's name or an object with rules; see `docs/policy.md`.
#[derive(JsonSchema)]
pub struct PoliciesRead {
    /// The daemon's policy. Without one, the user is asked about every permission request.
    daemon: Option<Json>,
    /// The agent's own policy, which takes precedence over the daemon's.
    agent: Option<Json>,
}

/// Result of `policy/explain`.
#[derive(JsonSchema)]
pub struct PolicyExplained {
    /// The decision and its reason.
    decision: Acp,
    /// Every part of the call, with its matching rules.
    subjects: Vec<Acp>,
}

/// The remembered answers.
#[derive(JsonSchema)]
pub struct RememberedListed {
    data: Vec<RememberedAnswer>,
}

/// A remembered answer.
#[derive(JsonSchema)]
pub struct RememberedAnswer {
    id: u64,
    /// `session`, `thread` or `agent`.
    scope: String,
    /// Whether the answer allows the call; otherwise it denies it.
    allow: bool,
    /// The rule that was made from the answer.
    rule: String,
    /// Working directory in which the command must be started.
    cwd: Option<String>,
    /// Hash of the command line that the command must be part of.
    line: Option<String>,
    /// Hash of the input that the call must have.
    arguments: Option<String>,
    /// Hash of the kind, tool, locations and diffs that the call must have.
    call: Option<String>,
}
