//! What results and notifications are made of.

use schemars::JsonSchema;

use super::{Acp, Json};

/// What a thread is.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSummary {
    /// Its id.
    id: String,
    /// Its agent, as in `agent/list`.
    agent_type: String,
    /// Absolute working directory.
    cwd: String,
    /// A name for people: given by one, or by the agent.
    name: Option<String>,
    /// The client's own grouping.
    project_id: Option<String>,
    /// The client's own data.
    metadata: Option<Json>,
    status: ThreadStatus,
    /// How the last turn ended that is over; not there if there was none, or if it was dropped.
    last_turn_status: Option<TurnStatus>,
    /// Whether it was put away.
    archived: bool,
    /// When it was made, or split off another one: milliseconds since the epoch.
    created_at: u64,
    /// When a turn last began or ended: milliseconds since the epoch.
    updated_at: u64,
    /// Turns that are part of the conversation.
    turn_count: u64,
}

/// A thread and its state.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    #[serde(flatten)]
    summary: ThreadSummary,
    /// Its last event.
    latest_seq: u64,
    /// Further directories of the workspace.
    additional_directories: Vec<String>,
    /// The agent's id for its session.
    session_id: Option<String>,
    /// The turn that runs.
    turn_id: Option<String>,
    /// Turns that wait.
    queued_turn_ids: Vec<String>,
    /// Questions that are open.
    pending_request_ids: Vec<String>,
    /// The agent's mode.
    mode_id: Option<String>,
    /// ACP's `SessionModeState`, as it was when the session was opened.
    modes: Option<Acp>,
    /// The thread's own permission policy.
    policy: Option<Json>,
    /// Whose editor answers what the agent asks of its client; nobody's: the daemon does.
    lease: Option<LeaseHolder>,
    /// ACP's `SessionConfigOption` objects.
    config_options: Option<Vec<Acp>>,
    /// ACP's update with the agent's commands.
    available_commands_update: Option<Acp>,
    /// The latest plan.
    plan: Option<Vec<PlanEntry>>,
    token_usage: Option<TokenUsage>,
    /// The latest turns, oldest first, if they were asked for.
    turns: Option<Vec<Turn>>,
    /// Leads to older turns.
    cursor: Option<String>,
}

/// The connection of an editor that answers what an agent asks of its client.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseHolder {
    /// Whose credentials it showed.
    principal: String,
    /// The editor's name for itself.
    client: String,
    /// Names the connection among all others.
    connection: String,
}

/// What the agent's session is opened with, beside what the thread was made with.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// Its directory; `null`: that of the thread.
    cwd: Option<String>,
    /// The names of further MCP servers.
    mcp_servers: Vec<Option<String>>,
}

/// Why a lease moved.
#[derive(JsonSchema)]
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
    /// The daemon was started anew.
    Restarted,
}

/// Whether something goes on in a thread.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadStatus {
    /// No turn runs.
    Idle,
    /// A turn runs.
    Running,
    /// A turn waits for a person.
    Waiting,
    /// It is about to vanish.
    Deleting,
}

/// How full the agent's context is.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Tokens in the context.
    used: Option<u64>,
    /// Tokens that fit.
    size: Option<u64>,
    /// ACP's `Cost`.
    cost: Option<Acp>,
}

/// One step of a plan.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanEntry {
    /// What is to be done.
    content: String,
    /// `high`, `medium` or `low`, or whatever the agent says.
    priority: String,
    /// `pending`, `in_progress` or `completed`, or whatever the agent says.
    status: String,
}

/// One prompt and everything that the agent did until it stopped.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Its id. What came outside of any turn stands in one without an id.
    id: Option<String>,
    /// The client's own id for it.
    client_turn_id: Option<String>,
    /// Whether it was held in the agent's session outside of acpd, and was taken over from there. It is over already.
    imported: Option<bool>,
    status: TurnStatus,
    /// Why the agent stopped, in its own word.
    stop_reason: Option<String>,
    /// Why it failed: one sentence.
    error: Option<String>,
    /// Milliseconds since the epoch.
    started_at: Option<u64>,
    /// Milliseconds since the epoch.
    completed_at: Option<u64>,
    /// What the agent says that it took.
    token_usage: Option<Acp>,
    /// What is in it, in the order in which it began; only where turns were asked for.
    items: Option<Vec<Item>>,
}

/// How a turn stands.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TurnStatus {
    /// Waits for the turns before it.
    Queued,
    /// Goes on.
    Running,
    /// The agent came to its end.
    Completed,
    /// Somebody stopped it.
    Interrupted,
    /// It broke off; `error` says why.
    Failed,
    /// The agent would not.
    Refused,
    /// A limit of the agent ended it.
    Limited,
}

/// A JSON-RPC error.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Error {
    /// JSON-RPC's number.
    code: i64,
    /// One sentence.
    message: String,
    data: Option<ErrorData>,
}

/// What programs look at.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    /// Stable.
    code: String,
    /// Whether the same request may succeed later.
    retryable: bool,
    /// What explains it further.
    detail: Option<String>,
}

/// How an item ended.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ItemOutcome {
    /// It is whole.
    Completed,
    /// It went wrong, or was broken off.
    Failed,
    /// Its turn was interrupted.
    Interrupted,
}

/// How far a tool call is.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Not begun.
    Pending,
    /// Goes on.
    InProgress,
    /// Done.
    Completed,
    /// Gone wrong.
    Failed,
}

/// Who speaks.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MessageType {
    /// A person.
    UserMessage,
    /// The agent.
    AgentMessage,
    /// The agent, to itself.
    AgentThought,
}

/// One thing inside a turn. `outcome` is `null` while it goes on.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    item_id: String,
    /// The item inside which it stands.
    parent_item_id: Option<String>,
    outcome: Option<ItemOutcome>,
    #[serde(flatten)]
    content: ItemContent,
}

/// What an item is and holds.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum ItemContent {
    Message(Message),
    ToolCall(ToolCall),
    FileChange(FileChange),
    TerminalCommand(TerminalCommand),
}

/// A message or a thought.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    r#type: MessageType,
    /// The agent's own id for it.
    message_id: Option<String>,
    /// All of its text.
    text: Option<String>,
    /// ACP content blocks.
    content: Option<Vec<Acp>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ToolCallType {
    ToolCall,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileChangeType {
    FileChange,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TerminalCommandType {
    TerminalCommand,
}

/// A tool call.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    r#type: ToolCallType,
    status: ToolStatus,
    /// The agent's id for it.
    tool_call_id: Option<String>,
    /// The same as `title`.
    name: Option<String>,
    /// What the agent calls it.
    title: Option<String>,
    /// ACP's `ToolKind`.
    kind: Option<String>,
    /// ACP's tool call with everything known of it.
    tool_call: Option<Acp>,
}

/// A file that changes.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    r#type: FileChangeType,
    /// Absolute.
    path: String,
    /// Unified; once it is known.
    diff: Option<String>,
    /// Where the daemon wrote the file: what was there before.
    replaced: Option<Replaced>,
}

/// What a write replaced.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Replaced {
    /// The file is new.
    Nothing,
    /// Text.
    Text,
    /// No UTF-8 text, or too much of it, or nothing that could be read.
    Unknown,
}

/// A command in a terminal.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalCommand {
    r#type: TerminalCommandType,
    terminal_id: String,
    command: Option<String>,
    args: Option<Vec<String>>,
    cwd: Option<String>,
    /// Once it has exited by itself.
    exit_code: Option<i64>,
    /// The name of the signal that ended it.
    signal: Option<String>,
    /// The end of what it wrote.
    output: Option<String>,
    /// All that was kept of what it wrote, at `GET /api/blobs/{outputBlob}`, where `output` is only the end of that.
    output_blob: Option<String>,
    /// Whether it wrote more than was kept.
    truncated: Option<bool>,
}

/// Who did something.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum By {
    /// The agent.
    Agent,
    /// The daemon.
    Daemon,
    /// A rule.
    Policy {
        /// Whose policy: `session`, `thread`, `agent` or `daemon`.
        scope: Option<String>,
        /// The rule as it was written.
        rule: Option<String>,
        /// One sentence.
        reason: Option<String>,
    },
    /// Somebody.
    Client {
        /// Whose credentials.
        principal: String,
        /// The program's name for itself.
        client: String,
    },
}
