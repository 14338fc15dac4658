//! What the daemon sends by itself: notifications, and questions.

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
    /// A thread was made.
    "thread/started" ThreadMade;
    /// A turn begins, ends, or waits for a person.
    "thread/status/changed" StatusChanged;
    /// Something about the thread changed; only what did is there.
    "thread/updated" ThreadUpdated;
    /// To those who watch the list of threads: a thread is new, is no more, or is listed differently. It is no event of the
    /// thread: it has no `seq`, and what happened in between is left out.
    "thread/list/changed" ListChanged;
    /// To one of those: changes were missed, so that the list is to be asked for again. The watch goes on.
    "thread/list/reset" ListReset;
    /// To a subscriber that offers `capabilities.subscribers`: who else follows the thread. It comes at the beginning, and
    /// when somebody came or left; it may say the same again. It is no event of the thread: it has no `seq`.
    "thread/subscribers/changed" SubscribersChanged;
    /// The thread was archived.
    "thread/archived" ThreadChanged;
    /// The thread was unarchived.
    "thread/unarchived" ThreadChanged;
    /// The thread and its log are deleted. Nothing follows.
    "thread/deleted" ThreadDeleted;
    /// Turns were dropped: they are no longer part of the conversation.
    "thread/rolledBack" TurnsRolledBack;
    /// The thread was split off another one: all before this is that thread's.
    "thread/forked" ThreadForked;
    /// What the agent asks of its client, files and terminals, is answered by another editor, or by the daemon.
    "thread/lease/moved" LeaseMoved;
    /// The agent's context fills up.
    "thread/tokenUsage/updated" TokenUsageUpdated;
    /// What a person should know.
    "thread/notice" Notice;
    /// The agent read a file.
    "thread/file/read" FileTouched;
    /// The agent wrote a file.
    "thread/file/written" FileWritten;
    /// The agent ended a terminal's command.
    "thread/terminal/killed" TerminalNamed;
    /// The agent released a terminal.
    "thread/terminal/released" TerminalNamed;
    /// The policy let the agent do something that it had not asked for.
    "policy/permitted" Permitted;
    /// An answer was remembered.
    "policy/remembered" Remembered;
    /// A remembered answer was revoked.
    "policy/revoked" Revoked;
    /// An unknown message from the agent, unchanged.
    "agent/notification" AgentNotification;
    /// A turn waits for those before it.
    "turn/queued" TurnChanged;
    /// A turn begins.
    "turn/started" TurnChanged;
    /// A turn is being stopped.
    "turn/interrupting" TurnInterrupting;
    /// Somebody has something to say in the middle of a turn; the agent was told. Once it has taken the words, they
    /// come as a message of the turn.
    "turn/steering" TurnSteering;
    /// A turn has ended.
    "turn/completed" TurnCompleted;
    /// The whole plan; it replaces the one before, also when it is empty.
    "turn/plan/updated" PlanUpdated;
    /// All changes of files in the turn so far.
    "turn/diff/updated" DiffUpdated;
    /// A message or a thought begins.
    "item/started" MessageStarted;
    /// A message or a thought is whole.
    "item/completed" MessageCompleted;
    /// What a person said; also when another client, or the agent's own history, put it there.
    "item/userMessage" UserMessage;
    /// More of a message.
    "item/agentMessage/delta" Delta;
    /// More of a thought.
    "item/agentThought/delta" Delta;
    /// A tool call begins.
    "item/toolCall/started" ToolCallStarted;
    /// More is known of a tool call.
    "item/updated" ToolCallUpdated;
    /// A tool call is over.
    "item/toolCall/completed" ToolCallCompleted;
    /// A file is about to change.
    "item/fileChange/started" FileChangeStarted;
    /// A file has changed, or has not.
    "item/fileChange/completed" FileChangeCompleted;
    /// A command begins.
    "item/terminalCommand/started" TerminalCommandStarted;
    /// A command wrote something. What is only shown live has no `seq`.
    "item/terminalCommand/output" TerminalOutput;
    /// A command has ended.
    "item/terminalCommand/completed" TerminalCommandCompleted;
    /// A question is answered, or is none any more.
    "serverRequest/resolved" Resolved;
    /// The client's response to a question was not taken. Goes to that client alone.
    "serverRequest/rejected" Rejected;
}

described! { REQUESTS:
    /// May the agent run a command?
    "item/commandExecution/requestApproval" Approval;
    /// May the agent change a file?
    "item/fileChange/requestApproval" Approval;
    /// May the agent do something else?
    "item/permissions/requestApproval" Approval;
    /// The agent wants to know something.
    "item/tool/requestUserInput" InputWanted;
}

/// What every event has.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct At {
    thread_id: String,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    seq: u64,
    /// Milliseconds since the epoch.
    ts: u64,
    /// The turn inside which it is.
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
    /// What changed.
    ThreadUpdated {
        /// A session was opened.
        agent: Option<AgentBound>,
        /// The thread's name; `null` if it has none any more.
        name: Option<String>,
        /// The client's own data; `null` if they were taken away.
        metadata: Option<Json>,
        /// Who changed the name or the data.
        by: Option<By>,
        /// The mode.
        mode_id: Option<String>,
        /// The model.
        model_id: Option<String>,
        /// ACP's `config_option_update`.
        config_option_update: Option<Acp>,
        /// ACP's `available_commands_update`.
        available_commands_update: Option<Acp>,
        /// ACP's `session_info_update`.
        session_info: Option<Acp>,
        /// The thread's own policy.
        policy: Option<Json>,
        /// A client wants the agent's session to be opened otherwise.
        session: Option<SessionParams>,
    }
    /// Who did it.
    ThreadChanged { by: By }
    /// A thread that is no more.
    ThreadDeleted { session: SessionDeleted, by: By }
    /// What is kept.
    TurnsRolledBack {
        /// The last turn that is kept; `null` if none is.
        last_kept_turn_id: Option<String>,
        fidelity: Fidelity,
        by: By,
    }
    /// Where a thread comes from.
    ThreadForked {
        from_thread_id: String,
        /// The last turn that was taken over.
        last_turn_id: Option<String>,
        /// The fork of the agent's session.
        session_id: Option<String>,
        fidelity: Fidelity,
        by: By,
    }
    /// Who answers from now on.
    LeaseMoved {
        /// None: the daemon itself.
        holder: Option<LeaseHolder>,
        why: LeaseMove,
        by: By,
    }
    /// Words for the turn.
    TurnSteering {
        text: String,
        /// ACP content blocks.
        content: Vec<Acp>,
        by: By,
    }
    /// How full the context is.
    TokenUsageUpdated {
        used: Option<u64>,
        size: Option<u64>,
        cost: Option<Acp>,
    }
    /// What a person should know.
    Notice {
        level: Level,
        code: String,
        message: String,
        detail: Option<String>,
        /// Of a line that is no message: its length.
        bytes: Option<u64>,
        /// The agent's own words.
        update: Option<Json>,
        /// Who refused.
        by: Option<By>,
    }
    /// A file, and how much of it.
    FileTouched {
        path: String,
        bytes: u64,
        /// The client that did it in the daemon's place.
        by: Option<By>,
    }
    /// A file, how much was written, and what it replaced.
    FileWritten {
        path: String,
        bytes: u64,
        replaced: Option<Replaced>,
        /// The client that did it in the daemon's place.
        by: Option<By>,
    }
    /// A terminal.
    TerminalNamed {
        item_id: Option<String>,
        terminal_id: String,
        /// The client that did it in the daemon's place.
        by: Option<By>,
    }
    /// What was let pass.
    Permitted {
        /// What the agent called.
        method: String,
        /// The path or the command line.
        subject: String,
        by: By,
    }
    /// An answer that holds.
    Remembered { answer: Json }
    /// An answer that holds no longer.
    Revoked { id: u64 }
    /// A message of the agent.
    AgentNotification {
        method: String,
        /// Of `session/update`.
        update: Option<Json>,
        /// Of any other method.
        params: Option<Json>,
    }
    /// A turn.
    TurnChanged { turn: Turn }
    /// Who stops it.
    TurnInterrupting { by: By }
    /// A turn that has ended.
    TurnCompleted { turn: Turn, token_usage: Option<Acp> }
    /// A plan.
    PlanUpdated { entries: Vec<PlanEntry> }
    /// A diff.
    DiffUpdated {
        /// Unified.
        diff: String,
    }
    /// A message that begins.
    MessageStarted {
        item_id: String,
        parent_item_id: Option<String>,
        #[serde(flatten)]
        message: Message,
    }
    /// A whole message.
    MessageCompleted {
        item_id: String,
        outcome: ItemOutcome,
        #[serde(flatten)]
        message: Message,
    }
    /// Words of a person.
    UserMessage {
        item_id: String,
        text: String,
        /// ACP content blocks.
        content: Vec<Acp>,
    }
    /// More of something.
    Delta {
        item_id: String,
        text: String,
        /// A block that is no text.
        content: Option<Acp>,
    }
    /// A tool call that begins.
    ToolCallStarted {
        item_id: String,
        parent_item_id: Option<String>,
        #[serde(flatten)]
        call: ToolCall,
    }
    /// What changed about a tool call.
    ToolCallUpdated {
        item_id: String,
        status: ToolStatus,
        /// ACP's `tool_call_update`: what is left out is unchanged.
        tool_call: Option<Acp>,
    }
    /// A tool call that is over.
    ToolCallCompleted {
        item_id: String,
        outcome: ItemOutcome,
        #[serde(flatten)]
        call: ToolCall,
    }
    /// A file that is about to change.
    FileChangeStarted {
        item_id: String,
        parent_item_id: Option<String>,
        #[serde(flatten)]
        change: FileChange,
        /// The client that does it in the daemon's place.
        by: Option<By>,
    }
    /// A file that has changed.
    FileChangeCompleted {
        item_id: String,
        outcome: ItemOutcome,
        #[serde(flatten)]
        change: FileChange,
        /// The client that did it in the daemon's place.
        by: Option<By>,
    }
    /// A command that begins.
    TerminalCommandStarted {
        item_id: String,
        parent_item_id: Option<String>,
        #[serde(flatten)]
        command: TerminalCommand,
        /// The client that did it in the daemon's place.
        by: Option<By>,
    }
    /// A command that has ended.
    TerminalCommandCompleted {
        item_id: String,
        outcome: ItemOutcome,
        #[serde(flatten)]
        command: TerminalCommand,
        /// The client that did it in the daemon's place.
        by: Option<By>,
    }
    /// The answer.
    Resolved {
        item_id: Option<String>,
        request_id: String,
        outcome: Resolution,
        by: By,
        /// The agent's option that was picked.
        option_id: Option<String>,
        /// Its kind.
        option_kind: Option<String>,
        /// The agent's option that it was told instead: acpd remembers the answer, and the agent is told "once".
        sent_option_id: Option<String>,
        /// Of a form.
        answers: Option<Json>,
        /// Why it is void.
        reason: Option<String>,
    }
    /// A question about what the agent may do.
    Approval {
        /// None where the policy asks about something that the agent did not ask for.
        item_id: Option<String>,
        request_id: String,
        /// The agent's title of the tool call; acpd's own where there is no `itemId`.
        title: String,
        reason: Option<String>,
        options: Vec<PermissionOption>,
        /// Ids of the always-options that the agent may remember by itself; acpd keeps no rule in its place.
        agent_remembers: Option<Vec<String>>,
        /// What becomes of an "always". None in threads that were recorded before there was this member.
        always: Option<Always>,
        /// What it would do, as the daemon reads it: this is what the policy decides on and what an answer is about. Empty in
        /// threads that were recorded before there was this member.
        subjects: Vec<CallSubject>,
        /// The agent's own words for it.
        tool_call: Option<Acp>,
    }
    /// A question for information.
    InputWanted {
        item_id: Option<String>,
        request_id: String,
        /// What the agent says.
        title: String,
        /// `form` or `url`.
        mode: Option<String>,
        /// Of a form: a JSON Schema.
        schema: Option<Json>,
        /// Of an address: where the person is to go.
        url: Option<String>,
        /// The params of ACP's `elicitation/create`.
        elicitation: Option<Acp>,
    }
}

/// What became of a deleted thread's session in the agent.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
enum SessionDeleted {
    /// The agent has deleted it.
    Deleted,
    /// The agent was asked to, and has not.
    Failed,
    /// There was none, or the agent cannot delete any.
    NotAsked,
}

/// What a command wrote.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TerminalOutput {
    thread_id: String,
    /// The event's number; none if it is only shown live.
    seq: Option<u64>,
    /// Milliseconds since the epoch.
    ts: u64,
    turn_id: Option<String>,
    item_id: String,
    terminal_id: String,
    text: String,
    /// Bytes before `text` that were left out.
    skipped_bytes: Option<u64>,
}

/// A thread in the list.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListChanged {
    thread_id: String,
    /// When it was told: milliseconds since the epoch.
    ts: u64,
    /// The thread as `thread/list` has it from now on; `null` if it is deleted.
    thread: Option<ThreadSummary>,
}

/// Nothing but that it is so.
#[derive(JsonSchema)]
struct ListReset {}

/// Who else follows a thread.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SubscribersChanged {
    thread_id: String,
    /// When it was told: milliseconds since the epoch.
    ts: u64,
    /// All others; of more than 32 those who came first. Those who are asked stand before those who only look.
    others: Vec<Subscriber>,
    /// How many more there are.
    more: u64,
}

/// Somebody who follows a thread.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Subscriber {
    /// Whose credentials.
    principal: String,
    /// The program's name for itself.
    client: String,
    /// Whether it is asked what the agent asks: it says that it answers, and has the role for it.
    may_answer: bool,
}

/// A response that was not taken.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Rejected {
    request_id: String,
    thread_id: String,
    error: Error,
}

/// A thread as it began.
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

/// A session that was opened.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AgentBound {
    /// The agent's id for it.
    session_id: String,
    how: Binding,
    /// The agent's answer to `initialize`.
    initialize: Option<Json>,
    /// The agent's answer to the request that opened the session.
    session: Option<Json>,
}

/// How a session was opened.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Binding {
    /// A new one.
    New,
    /// The agent loaded it.
    Load,
    /// The agent went on with it.
    Resume,
}

/// How grave it is.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Level {
    Info,
    Warning,
    Error,
}

/// What became of a question.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Resolution {
    /// Yes.
    Accepted,
    /// No.
    Declined,
    /// Neither.
    Cancelled,
    /// It needs no answer any more.
    Void,
}

/// What becomes of an "always" as the answer to a question.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Always {
    /// It holds for this from then on: words that follow "Always allow" or "Always reject".
    Holds(String),
    /// acpd does not remember it, for this reason.
    NotRemembered(String),
}

/// One part of what a call would do.
#[derive(JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum CallSubject {
    /// A program is run with these arguments.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
        /// Absolute path of the directory that it runs in.
        cwd: String,
        /// Variables set for it.
        env: Option<Vec<Variable>>,
    },
    /// A shell runs a command line.
    CommandLine {
        /// All of it.
        line: String,
        /// Absolute path of the directory that it runs in.
        cwd: String,
        /// Variables set for it.
        env: Option<Vec<Variable>>,
    },
    /// Something is done with a file.
    File {
        /// What is done.
        access: FileAccess,
        /// Absolute path, without `..`.
        path: String,
        /// The file that it leads to through symbolic links, if that is another one.
        real_path: Option<String>,
        /// The change as a unified diff, where the call shows one.
        diff: Option<String>,
        /// The call's input as JSON text, where it changes a file and the diff does not show all of it.
        arguments: Option<String>,
    },
    /// An address is fetched.
    Fetch {
        /// The address.
        url: String,
        /// Its host, if that is clear.
        host: Option<String>,
    },
    /// A tool of an MCP server is called.
    Mcp {
        /// The server's name.
        server: String,
        /// The tool's name; none if the call does not say which.
        tool: Option<String>,
        /// The call's input, as JSON text.
        arguments: Option<String>,
    },
    /// Another tool is called.
    Tool {
        /// Its name for programs, if the agent gives one.
        name: Option<String>,
        /// ACP's kind of it.
        kind: String,
        /// The call's input, as JSON text.
        arguments: Option<String>,
    },
    /// A part that cannot be read, or that is too long to be shown.
    Unknown {
        /// What is known of it: one sentence for a person, without an end.
        what: String,
    },
}

/// What is done with a file.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
enum FileAccess {
    /// Its content is read.
    Read,
    /// Files are looked for in it, or it is searched.
    Search,
    /// It is made or changed.
    Edit,
    /// It is deleted.
    Delete,
    /// It is moved or renamed, or something is moved onto it.
    Move,
}

/// An environment variable.
#[derive(JsonSchema)]
struct Variable {
    /// Its name.
    name: String,
    /// Its value.
    value: String,
}

/// One of the answers that the agent offers.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PermissionOption {
    option_id: String,
    name: String,
    /// ACP's `PermissionOptionKind`.
    kind: String,
}
