//! Messages that the daemon sends unrequested: notifications and questions.

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{
    Acp, By, Error, Fidelity, FileChange, ItemOutcome, Json, LeaseHolder, LeaseMove, Message, PlanEntry,
    Replaced, SessionParams, TerminalCommand, ThreadStatus, ThreadSummary, ToolCall, ToolStatus, Turn,
};

/// A notification or a question.
pub struct Described {
    pub method: &'static str,
    pub about: &'static str,
    pub params: fn(&mut SchemaGenerator) -> Schema,
}

macro_rules! described {
    ($table:ident: $( $(#[doc = $about:literal])+ $method:literal $params:ty; )+) => {
        pub const $table: &[Described] = &[$(
            Described {
                method: $method,
                about: concat!($($about),+),
                params: |generator| generator.subschema_for::<$params>(),
            },
        )+];
    };
}

described! { NOTIFICATIONS:
    /// A thread was created.
    "thread/started" ThreadMade;
    /// The status of the thread changed: a turn started, ended, or waits for a user.
    "thread/status/changed" StatusChanged;
    /// Properties of the thread changed. Contains only the changed ones.
    "thread/updated" ThreadUpdated;
    /// Sent to connections that watch the thread list when a thread is created, deleted or changes its list entry. Not an
    /// event of the thread: it has no `seq`, and intermediate changes are omitted.
    "thread/list/changed" ListChanged;
    /// Sent to a connection that missed changes of the thread list and must request it again. The watch continues.
    "thread/list/reset" ListReset;
    /// Sent to subscribers with `capabilities.subscribers`: the other clients that follow the thread. Sent at the start and
    /// whenever a client joins or leaves, possibly without a change. Not an event of the thread: it has no `seq`.
    "thread/subscribers/changed" SubscribersChanged;
    /// The thread was archived.
    "thread/archived" ThreadChanged;
    /// The thread was unarchived.
    "thread/unarchived" ThreadChanged;
    /// The thread and its log are deleted. No event follows.
    "thread/deleted" ThreadDeleted;
    /// Turns were dropped and are no longer part of the conversation.
    "thread/rolledBack" TurnsRolledBack;
    /// The thread was forked from another thread. All events before this one are copies of that thread's events.
    "thread/forked" ThreadForked;
    /// The lease moved: another editor, or the daemon, answers the agent's client requests (files, terminals).
    "thread/lease/moved" LeaseMoved;
    /// The usage of the agent's context changed.
    "thread/tokenUsage/updated" TokenUsageUpdated;
    /// A notice for the user.
    "thread/notice" Notice;
    /// The agent read a file.
    "thread/file/read" FileTouched;
    /// The agent wrote a file.
    "thread/file/written" FileWritten;
    /// The agent terminated the command in a terminal.
    "thread/terminal/killed" TerminalNamed;
    /// The agent released a terminal.
    "thread/terminal/released" TerminalNamed;
    /// The agent called a method without a permission request, and the policy allowed it.
    "policy/permitted" Permitted;
    /// An answer was remembered.
    "policy/remembered" Remembered;
    /// A remembered answer was revoked.
    "policy/revoked" Revoked;
    /// An unknown message from the agent, unchanged.
    "agent/notification" AgentNotification;
    /// A prompt was queued until the turns before it are over.
    "turn/queued" TurnChanged;
    /// A turn started.
    "turn/started" TurnChanged;
    /// A turn is being interrupted.
    "turn/interrupting" TurnInterrupting;
    /// A client sent a message during the running turn, and the daemon passed it on to the agent. Once the agent has accepted
    /// it, it follows as a message of the turn.
    "turn/steering" TurnSteering;
    /// A turn ended.
    "turn/completed" TurnCompleted;
    /// The agent replaced the whole plan. An empty plan counts too.
    "turn/plan/updated" PlanUpdated;
    /// The unified diff of the whole turn so far changed.
    "turn/diff/updated" DiffUpdated;
    /// A message or thought started.
    "item/started" MessageStarted;
    /// A message or thought is complete.
    "item/completed" MessageCompleted;
    /// A message of the user, from this client, another client or the agent's own history.
    "item/userMessage" UserMessage;
    /// Text or a content block was added to a message.
    "item/agentMessage/delta" Delta;
    /// Text or a content block was added to a thought.
    "item/agentThought/delta" Delta;
    /// A tool call started.
    "item/toolCall/started" ToolCallStarted;
    /// A tool call changed.
    "item/updated" ToolCallUpdated;
    /// A tool call ended.
    "item/toolCall/completed" ToolCallCompleted;
    /// A file change started.
    "item/fileChange/started" FileChangeStarted;
    /// A file change ended, successfully or not.
    "item/fileChange/completed" FileChangeCompleted;
    /// A command in a terminal started.
    "item/terminalCommand/started" TerminalCommandStarted;
    /// A command in a terminal wrote output. Output that is only shown live has no `seq`.
    "item/terminalCommand/output" TerminalOutput;
    /// A command in a terminal ended.
    "item/terminalCommand/completed" TerminalCommandCompleted;
    /// A question was answered, or needs no answer any more.
    "serverRequest/resolved" Resolved;
    /// The client's response to a question was refused. Sent only to that client.
    "serverRequest/rejected" Rejected;
}

described! { REQUESTS:
    /// Asks whether the agent may run a command.
    "item/commandExecution/requestApproval" Approval;
    /// Asks whether the agent may change a file.
    "item/fileChange/requestApproval" Approval;
    /// Asks whether the agent may make any other tool call.
    "item/permissions/requestApproval" Approval;
    /// The agent requests information from the user.
    "item/tool/requestUserInput" InputWanted;
}

/// Members of every event.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct At {
    thread_id: String,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    seq: u64,
    /// Milliseconds since the epoch.
    ts: u64,
    /// The turn in which the event happened.
    turn_id: Option<String>,
}

macro_rules! events {
    ($( $(#[doc = $about:literal])* $name:ident { $($members:tt)* } )+) => {$(
        $(#[doc = $about])*
        #[derive(JsonSchema)]
        #[serde(rename_all = "camelCase")]
                struct $name {
            #[serde(flatten)]
            at: At,
            $($members)*
        }
    )+};
}

events! {
    /// A new thread.
    ThreadMade { thread: NewThread }
    /// A thread's status.
    StatusChanged { status: ThreadStatus }
    /// Changed properties of a thread.
    ThreadUpdated {
        /// A session was opened.
        agent: Option<AgentBound>,
        /// The thread's name; `null` if it was removed.
        name: Option<String>,
        /// The client's own data; `null` if it was removed.
        metadata: Option<Json>,
        /// The originator of the change of the name or the data.
        by: Option<By>,
        /// Id of the new mode.
        mode_id: Option<String>,
        /// Id of the new model.
        model_id: Option<String>,
        /// ACP's `config_option_update`.
        config_option_update: Option<Acp>,
        /// ACP's `available_commands_update`.
        available_commands_update: Option<Acp>,
        /// ACP's `session_info_update`.
        session_info: Option<Acp>,
        /// The thread's own policy.
        policy: Option<Json>,
        /// Parameters with which a client wants the agent's session to be opened from now on.
        session: Option<SessionParams>,
    }
    /// A change of the thread, with its originator.
    ThreadChanged { by: By }
    /// A deleted thread.
    ThreadDeleted { session: SessionDeleted, by: By }
    /// Result of a rollback.
    TurnsRolledBack {
        /// The last turn that is kept; `null` if no turn is kept.
        last_kept_turn_id: Option<String>,
        fidelity: Fidelity,
        by: By,
    }
    /// The origin of a forked thread.
    ThreadForked {
        from_thread_id: String,
        /// The last turn that was copied.
        last_turn_id: Option<String>,
        /// The agent's id for the fork of its session.
        session_id: Option<String>,
        fidelity: Fidelity,
        by: By,
    }
    /// A move of the lease.
    LeaseMoved {
        /// The new holder; absent if the daemon itself answers.
        holder: Option<LeaseHolder>,
        why: LeaseMove,
        by: By,
    }
    /// A message for the running turn.
    TurnSteering {
        text: String,
        /// ACP content blocks.
        content: Vec<Acp>,
        by: By,
    }
    /// Usage of the agent's context.
    TokenUsageUpdated {
        used: Option<u64>,
        size: Option<u64>,
        cost: Option<Acp>,
    }
    /// A notice for the user.
    Notice {
        level: Level,
        code: String,
        message: String,
        detail: Option<String>,
        /// Length of a line that is not a message.
        bytes: Option<u64>,
        /// The agent's own update, unchanged.
        update: Option<Json>,
        /// Who refused the agent's call.
        by: Option<By>,
    }
    /// A file, and the number of bytes.
    FileTouched {
        path: String,
        bytes: u64,
        /// The client that acted instead of the daemon.
        by: Option<By>,
    }
    /// A written file, the number of bytes, and what they replaced.
    FileWritten {
        path: String,
        bytes: u64,
        replaced: Option<Replaced>,
        /// The client that acted instead of the daemon.
        by: Option<By>,
    }
    /// A terminal.
    TerminalNamed {
        item_id: Option<String>,
        terminal_id: String,
        /// The client that acted instead of the daemon.
        by: Option<By>,
    }
    /// A call that the policy allowed.
    Permitted {
        /// The method that the agent called.
        method: String,
        /// The file, command or other subject of the call.
        subject: String,
        by: By,
    }
    /// A remembered answer.
    Remembered { answer: Json }
    /// A revoked answer.
    Revoked { id: u64 }
    /// An unknown message of the agent.
    AgentNotification {
        method: String,
        /// The `update` of a `session/update`.
        update: Option<Json>,
        /// The params of any other method.
        params: Option<Json>,
    }
    /// A turn.
    TurnChanged { turn: Turn }
    /// The originator of the interruption.
    TurnInterrupting { by: By }
    /// A turn that has ended.
    TurnCompleted { turn: Turn, token_usage: Option<Acp> }
    /// A plan.
    PlanUpdated { entries: Vec<PlanEntry> }
    /// A diff.
    DiffUpdated {
        /// Unified diff of all files that the turn changed.
        diff: String,
    }
    /// A message that started.
    MessageStarted {
        item_id: String,
        parent_item_id: Option<String>,
        #[serde(flatten)]
        message: Message,
    }
    /// A complete message.
    MessageCompleted {
        item_id: String,
        outcome: ItemOutcome,
        #[serde(flatten)]
        message: Message,
    }
    /// A message of the user.
    UserMessage {
        item_id: String,
        text: String,
        /// ACP content blocks.
        content: Vec<Acp>,
    }
    /// An addition to a message or thought.
    Delta {
        item_id: String,
        text: String,
        /// A content block other than plain text.
        content: Option<Acp>,
    }
    /// A tool call that started.
    ToolCallStarted {
        item_id: String,
        parent_item_id: Option<String>,
        #[serde(flatten)]
        call: ToolCall,
    }
    /// A change of a tool call.
    ToolCallUpdated {
        item_id: String,
        status: ToolStatus,
        /// ACP's `tool_call_update`. Absent members are unchanged.
        tool_call: Option<Acp>,
    }
    /// A tool call that ended.
    ToolCallCompleted {
        item_id: String,
        outcome: ItemOutcome,
        #[serde(flatten)]
        call: ToolCall,
    }
    /// A file change that started.
    FileChangeStarted {
        item_id: String,
        parent_item_id: Option<String>,
        #[serde(flatten)]
        change: FileChange,
        /// The client that acts instead of the daemon.
        by: Option<By>,
    }
    /// A file change that ended.
    FileChangeCompleted {
        item_id: String,
        outcome: ItemOutcome,
        #[serde(flatten)]
        change: FileChange,
        /// The client that acted instead of the daemon.
        by: Option<By>,
    }
    /// A command that started.
    TerminalCommandStarted {
        item_id: String,
        parent_item_id: Option<String>,
        #[serde(flatten)]
        command: TerminalCommand,
        /// The client that acted instead of the daemon.
        by: Option<By>,
    }
    /// A command that ended.
    TerminalCommandCompleted {
        item_id: String,
        outcome: ItemOutcome,
        #[serde(flatten)]
        command: TerminalCommand,
        /// The client that acted instead of the daemon.
        by: Option<By>,
    }
    /// How a question was resolved.
    Resolved {
        item_id: Option<String>,
        request_id: String,
        outcome: Resolution,
        by: By,
        /// Id of the agent's option that was selected.
        option_id: Option<String>,
        /// ACP's kind of that option.
        option_kind: Option<String>,
        /// The option that the daemon sent to the agent instead. acpd remembers an "always" and sends "once" to the agent.
        sent_option_id: Option<String>,
        /// Answers to an elicitation with a form.
        answers: Option<Json>,
        /// Why the question was closed.
        reason: Option<String>,
    }
    /// A permission request.
    Approval {
        /// The tool call's item. Absent if the agent did not ask and the policy requires an approval.
        item_id: Option<String>,
        request_id: String,
        /// The agent's title of the tool call, or acpd's own title if there is no `itemId`.
        title: String,
        reason: Option<String>,
        options: Vec<PermissionOption>,
        /// Ids of the always-options that the agent may remember itself. acpd stores no rule for them.
        agent_remembers: Option<Vec<String>>,
        /// The effect of an "always" answer. Absent in logs from before this member existed.
        always: Option<Always>,
        /// The effects of the call, as the daemon interprets them. The policy and the answer apply to exactly these. Empty in
        /// logs from before this member existed.
        subjects: Vec<CallSubject>,
        /// The agent's own description of the call.
        tool_call: Option<Acp>,
    }
    /// An elicitation.
    InputWanted {
        item_id: Option<String>,
        request_id: String,
        /// The agent's message.
        title: String,
        /// `form` or `url`.
        mode: Option<String>,
        /// JSON Schema of a form.
        schema: Option<Json>,
        /// The URL that the user is to open.
        url: Option<String>,
        /// The params of ACP's `elicitation/create`.
        elicitation: Option<Acp>,
    }
}

/// Whether a deleted thread's session was also deleted in the agent.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
enum SessionDeleted {
    /// The agent deleted the session.
    Deleted,
    /// The daemon sent the request, but the agent did not delete the session.
    Failed,
    /// There was no session, or the agent does not support deleting sessions.
    NotAsked,
}

/// Output of a command in a terminal.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TerminalOutput {
    thread_id: String,
    /// Number of the event; absent if the output is only shown live.
    seq: Option<u64>,
    /// Milliseconds since the epoch.
    ts: u64,
    turn_id: Option<String>,
    item_id: String,
    terminal_id: String,
    text: String,
    /// Number of bytes before `text` that were omitted.
    skipped_bytes: Option<u64>,
}

/// A change of the thread list.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListChanged {
    thread_id: String,
    /// Time of the notification, in milliseconds since the epoch.
    ts: u64,
    /// The thread's new entry in `thread/list`; `null` if the thread is deleted.
    thread: Option<ThreadSummary>,
}

/// A reset of the thread list, without members.
#[derive(JsonSchema)]
struct ListReset {}

/// The other clients that follow a thread.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SubscribersChanged {
    thread_id: String,
    /// Time of the notification, in milliseconds since the epoch.
    ts: u64,
    /// At most 32 of the other clients. Clients that answer questions come first, each group in order of arrival.
    others: Vec<Subscriber>,
    /// Number of further clients.
    more: u64,
}

/// A client that follows a thread.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Subscriber {
    /// The principal whose credentials the client used.
    principal: String,
    /// The client's name, as it reported it.
    client: String,
    /// Whether the client receives the agent's questions as requests: it answers questions, and its role allows that.
    may_answer: bool,
}

/// A refused response.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Rejected {
    request_id: String,
    thread_id: String,
    error: Error,
}

/// A new thread, as created.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NewThread {
    id: String,
    agent_type: String,
    cwd: String,
    name: Option<String>,
    project_id: Option<String>,
    metadata: Option<Json>,
    additional_directories: Vec<String>,
    status: ThreadStatus,
    created_at: u64,
}

/// An agent session that was opened.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AgentBound {
    /// The agent's id for the session.
    session_id: String,
    how: Binding,
    /// The agent's result of `initialize`.
    initialize: Option<Json>,
    /// The result of the ACP method that opened the session.
    session: Option<Json>,
}

/// How a thread got its agent session.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Binding {
    /// A new session. The agent remembers nothing.
    New,
    /// The agent loaded the earlier session.
    Load,
    /// The agent resumed the earlier session.
    Resume,
}

/// Severity of a notice.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Level {
    Info,
    Warning,
    Error,
}

/// How a question was resolved.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Resolution {
    /// The answer permits the call, or provides the information.
    Accepted,
    /// The answer denies the call, or declines to give the information.
    Declined,
    /// The question was cancelled, neither accepted nor declined.
    Cancelled,
    /// The question was closed, because nothing waits for its answer.
    Void,
}

/// The effect of an "always" answer.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Always {
    /// The answer applies to this from then on. The text follows "Always allow" or "Always reject".
    Holds(String),
    /// acpd does not remember the answer, for this reason.
    NotRemembered(String),
}

/// One effect of a call.
#[derive(JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum CallSubject {
    /// Runs a program with these arguments.
    Command {
        /// The program, followed by its arguments.
        argv: Vec<String>,
        /// Absolute path of the working directory.
        cwd: String,
        /// Environment variables that the call sets.
        env: Option<Vec<Variable>>,
    },
    /// Runs a command line in a shell.
    CommandLine {
        /// The whole command line.
        line: String,
        /// Absolute path of the working directory.
        cwd: String,
        /// Environment variables that the call sets.
        env: Option<Vec<Variable>>,
    },
    /// Accesses a file.
    File {
        /// The type of access.
        access: FileAccess,
        /// Absolute path, without `..`.
        path: String,
        /// The target of the path after symbolic links, if it differs from `path`.
        real_path: Option<String>,
        /// The change as a unified diff, if the call shows one.
        diff: Option<String>,
        /// The call's input as JSON text, if the call changes a file and the diff does not show all of the change.
        arguments: Option<String>,
    },
    /// Fetches a URL.
    Fetch {
        /// The URL.
        url: String,
        /// The host of the URL, if it can be determined.
        host: Option<String>,
    },
    /// Calls a tool of an MCP server.
    Mcp {
        /// Name of the MCP server.
        server: String,
        /// Name of the tool; absent if the call does not name it.
        tool: Option<String>,
        /// The call's input, as JSON text.
        arguments: Option<String>,
    },
    /// Calls any other tool.
    Tool {
        /// Programmatic name of the tool, if the agent sends one.
        name: Option<String>,
        /// ACP's kind of the tool.
        kind: String,
        /// The call's input, as JSON text.
        arguments: Option<String>,
    },
    /// A part that the daemon cannot interpret, or that is too long to show.
    Unknown {
        /// What is known about the part: one sentence for the user, without a period.
        what: String,
    },
}

/// A type of access to a file.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
enum FileAccess {
    /// Reads the content.
    Read,
    /// Searches the file, or finds files in the directory.
    Search,
    /// Creates or changes the file.
    Edit,
    /// Deletes the file.
    Delete,
    /// Moves or renames the file, or moves another file onto it.
    Move,
}

/// An environment variable.
#[derive(JsonSchema)]
struct Variable {
    /// Name of the variable.
    name: String,
    /// Value of the variable.
    value: String,
}

/// One of the answers that an agent offers.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PermissionOption {
    option_id: String,
    name: String,
    /// ACP's `PermissionOptionKind`.
    kind: String,
}
