//! Types that results and notifications are composed of.

use schemars::JsonSchema;

use super::{Acp, Json};

/// The summary of a thread, as lists show it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSummary {
    /// Id of the thread.
    id: String,
    /// Name of the agent, as in `agent/list`.
    agent_type: String,
    /// Absolute path of the working directory.
    cwd: String,
    /// The name that a user set, else the agent's title, else the beginning of the first prompt.
    name: Option<String>,
    /// Project id that the client chose to group threads by.
    project_id: Option<String>,
    /// Arbitrary data that the client stored with the thread.
    metadata: Option<Json>,
    status: ThreadStatus,
    /// Status of the last ended turn; absent if there was none, or if it was dropped.
    last_turn_status: Option<TurnStatus>,
    /// Whether the thread is archived.
    archived: bool,
    /// When the thread was created or forked, in milliseconds since the epoch.
    created_at: u64,
    /// When a turn last started or ended, in milliseconds since the epoch.
    updated_at: u64,
    /// Number of turns in the conversation. Dropped turns do not count.
    turn_count: u64,
}

/// A thread with its current state.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    #[serde(flatten)]
    summary: ThreadSummary,
    /// Number of the thread's last event.
    latest_seq: u64,
    /// Additional directories of the workspace.
    additional_directories: Vec<String>,
    /// The agent's id for its session.
    session_id: Option<String>,
    /// Id of the running turn.
    turn_id: Option<String>,
    /// Ids of queued turns.
    queued_turn_ids: Vec<String>,
    /// Ids of open questions.
    pending_request_ids: Vec<String>,
    /// Id of the agent's current mode.
    mode_id: Option<String>,
    /// ACP's `SessionModeState`, as it was when the session was opened.
    modes: Option<Acp>,
    /// The thread's own permission policy.
    policy: Option<Json>,
    /// The editor that answers the agent's client requests; if absent, the daemon answers.
    lease: Option<LeaseHolder>,
    /// ACP's `SessionConfigOption` objects.
    config_options: Option<Vec<Acp>>,
    /// ACP's `available_commands_update` with the agent's commands.
    available_commands_update: Option<Acp>,
    /// The latest plan.
    plan: Option<Vec<PlanEntry>>,
    token_usage: Option<TokenUsage>,
    /// The latest turns, oldest first, if the request includes turns.
    turns: Option<Vec<Turn>>,
    /// Cursor for older turns.
    cursor: Option<String>,
}

/// The editor connection that answers the agent's client requests (files, terminals).
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseHolder {
    /// The principal whose credentials the connection used.
    principal: String,
    /// The editor's name, as it reported it.
    client: String,
    /// Unique id of the connection.
    connection: String,
}

/// Parameters for opening the agent's session that differ from those the thread was created with.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// Working directory of the session; `null` is the thread's.
    cwd: Option<String>,
    /// Names of additional MCP servers.
    mcp_servers: Vec<Option<String>>,
}

/// Why a thread's lease moved.
#[derive(JsonSchema)]
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

/// What a thread is doing.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadStatus {
    /// No turn is running.
    Idle,
    /// A turn is running.
    Running,
    /// A turn is running and waits for a user.
    Waiting,
    /// The thread is being deleted.
    Deleting,
}

/// Usage of the agent's context.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Tokens in use.
    used: Option<u64>,
    /// Tokens that fit into the context.
    size: Option<u64>,
    /// ACP's `Cost`.
    cost: Option<Acp>,
}

/// One step of an agent's plan.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanEntry {
    /// Description of the step.
    content: String,
    /// `high`, `medium` or `low`; other values are kept as received.
    priority: String,
    /// `pending`, `in_progress` or `completed`; other values are kept as received.
    status: String,
}

/// One prompt and everything that the agent did until the turn ended.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Id of the turn. Items outside of any turn are in a turn without an id.
    id: Option<String>,
    /// The client's own id for the turn.
    client_turn_id: Option<String>,
    /// Whether the turn took place in the agent's session outside of acpd and was imported. It is already over.
    imported: Option<bool>,
    status: TurnStatus,
    /// ACP's stop reason, as the agent sent it.
    stop_reason: Option<String>,
    /// Why the turn failed, in one sentence.
    error: Option<String>,
    /// Milliseconds since the epoch.
    started_at: Option<u64>,
    /// Milliseconds since the epoch.
    completed_at: Option<u64>,
    /// The token usage that the agent reported.
    token_usage: Option<Acp>,
    /// Items in the order in which they started; only if the request includes turns.
    items: Option<Vec<Item>>,
}

/// Status of a turn.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TurnStatus {
    /// The turn waits for the turns before it.
    Queued,
    /// It is running.
    Running,
    /// The agent ended the turn normally.
    Completed,
    /// A client interrupted the turn.
    Interrupted,
    /// The turn failed; `error` says why.
    Failed,
    /// The agent refused to continue.
    Refused,
    /// The turn reached a limit of the model or of the agent.
    Limited,
}

/// A JSON-RPC error.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Error {
    /// JSON-RPC error code.
    code: i64,
    /// One sentence for the user.
    message: String,
    data: Option<ErrorData>,
}

/// Error details for programs.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    /// Stable code of the error.
    code: String,
    /// Whether the same request may succeed later.
    retryable: bool,
    /// Further explanation.
    detail: Option<String>,
}

/// How an item ended.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ItemOutcome {
    /// The item finished.
    Completed,
    /// The item failed, or its turn did.
    Failed,
    /// The item's turn was interrupted.
    Interrupted,
}

/// ACP's tool call status.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// The call has not started.
    Pending,
    /// It is running.
    InProgress,
    /// The call finished.
    Completed,
    /// The call failed.
    Failed,
}

/// Type of a message, which also names its author.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MessageType {
    /// A message of the user.
    UserMessage,
    /// The agent.
    AgentMessage,
    /// The agent's reasoning.
    AgentThought,
}

/// One part of a turn. `outcome` is `null` until the item ends.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    item_id: String,
    /// Id of the item that contains this one.
    parent_item_id: Option<String>,
    outcome: Option<ItemOutcome>,
    #[serde(flatten)]
    content: ItemContent,
}

/// Type and content of an item.
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
    /// The agent's own id for the message.
    message_id: Option<String>,
    /// The whole text.
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
    /// The agent's id for the call.
    tool_call_id: Option<String>,
    /// The same as `title`.
    name: Option<String>,
    /// The agent's title for the call.
    title: Option<String>,
    /// ACP's `ToolKind`.
    kind: Option<String>,
    /// The ACP tool call with all its updates applied.
    tool_call: Option<Acp>,
}

/// A change to a file.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    r#type: FileChangeType,
    /// Absolute path of the file.
    path: String,
    /// Unified diff, once it is known.
    diff: Option<String>,
    /// What the write replaced, if the daemon wrote the file.
    replaced: Option<Replaced>,
}

/// What a write replaced.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Replaced {
    /// The file did not exist before.
    Nothing,
    /// Text that the diff shows.
    Text,
    /// Content that cannot be shown: not UTF-8, too large or unreadable.
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
    /// Exit code, if the command exited normally.
    exit_code: Option<i64>,
    /// Name of the signal that terminated the command.
    signal: Option<String>,
    /// The last part of the output.
    output: Option<String>,
    /// Blob with all kept output, at `GET /api/blobs/{outputBlob}`, if `output` is only the end of it.
    output_blob: Option<String>,
    /// Whether some of the output was not kept.
    truncated: Option<bool>,
}

/// Who caused an event.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum By {
    /// The agent.
    Agent,
    /// The daemon.
    Daemon,
    /// A permission policy.
    Policy {
        /// Scope of the policy: `session`, `thread`, `agent` or `daemon`.
        scope: Option<String>,
        /// The rule that matched, as written in the policy.
        rule: Option<String>,
        /// One sentence for the user.
        reason: Option<String>,
    },
    /// A client.
    Client {
        /// The principal whose credentials the client used.
        principal: String,
        /// The client's name, as it reported it.
        client: String,
    },
}
