// Generated from the table of the app protocol's methods: run `make generate`. Do not edit.

//! The types of the app protocol.
//!
//! What this version of the client does not know causes no error: unknown members are skipped, and unknown words, objects and
//! notifications are kept as they are. Nor does what an older daemon does not send: numbers, booleans and lists of responses and questions
//! are then 0, `false` and empty.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::JsonText;
use crate::json::read;
use crate::objects::objects;
use crate::words::words;

/// Increases when something is renamed or removed.
pub const PROTOCOL_VERSION: u64 = 1;

/// A time in which a user was away.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Absence {
    /// When a client of the user was last in front, in milliseconds since the epoch.
    #[serde(default)]
    pub since: u64,
    /// When the user came back, in milliseconds since the epoch.
    #[serde(default)]
    pub until: u64,
}

/// An object of the Agent Client Protocol, unchanged.
pub type AcpObject = Map<String, Value>;

/// A known agent.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// Description of the agent, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Name of the agent, which is the `agentType` of a thread.
    pub id: String,
    /// Whether the agent can be started.
    #[serde(default)]
    pub installed: bool,
    /// The progress of its installation, if that runs now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installing: Option<InstallProgress>,
    /// How `agent/install` installs the agent: `download`, `npm`, `uv` or `pip`. Absent if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installs_by: Option<String>,
    /// Whether it is the default of clients that name no agent: `default_agent` of the configuration, the only configured agent, or the only one that is set up if none is configured. At most one agent is. It is first in the list.
    #[serde(default)]
    pub is_default: bool,
    /// Whether it is configured, on `PATH`, installed or part of acpd. Other agents are downloaded when they start, so clients offer to install them instead.
    #[serde(default)]
    pub is_set_up: bool,
    /// Why the agent cannot be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How the daemon finds the agent's program: `path`, `installed`, `npx` or `uvx`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<String>,
    /// `config`, `registry`, `installed` or `builtin`.
    pub source: String,
    /// Display name of the agent.
    pub title: String,
    /// The member `version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The agent's response.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct AgentAnswered {
    /// The agent's result, unchanged.
    pub result: Json,
}

/// The remembered answers that apply to all threads of an agent.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct AgentAnswers {
    /// Name of the agent.
    pub agent_type: String,
    /// The answers, oldest first.
    #[serde(default)]
    pub answers: Vec<RememberedAnswer>,
}

/// The remembered answers for agents, by the agents' names.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct AgentAnswersListed {
    /// The member `data`.
    #[serde(default)]
    pub data: Vec<AgentAnswers>,
}

/// No params.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentAuthenticateCancelParams {
    /// Id of the thread.
    pub thread_id: String,
}

/// Params of `agent/authenticate`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentAuthenticateParams {
    /// Id of one of the agent's authentication methods.
    pub method_id: String,
    /// Id of the thread.
    pub thread_id: String,
}

/// No params.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentAuthenticateReadParams {
    /// Id of the thread.
    pub thread_id: String,
}

/// An agent session that was opened.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct AgentBound {
    /// The member `how`.
    pub how: Binding,
    /// The agent's result of `initialize`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialize: Option<Json>,
    /// The version of ACP that the agent speaks, if it is not 1. `initialize` and `session` have the form of version 1 in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u64>,
    /// The result of the ACP method that opened the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Json>,
    /// The agent's id for the session.
    pub session_id: String,
}

/// The same as [`ExamineAgent`].
pub type AgentDoctorParams = ExamineAgent;

/// Result of `agent/doctor`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct AgentExamined {
    /// Name of the agent.
    pub agent_type: String,
    /// Why the agent failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The agent's result of `initialize`; absent if the agent failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hello: Option<AgentHello>,
    /// Milliseconds from the start of the process to its response or its failure.
    #[serde(default)]
    pub millis: u64,
    /// The sandbox of the agent and its terminals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<AgentSandbox>,
    /// The end of the agent's stderr.
    pub stderr: String,
    /// The first lines of the agent's stdout that are not messages.
    #[serde(default)]
    pub stray_lines: Vec<String>,
}

/// What an agent reports in `initialize`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct AgentHello {
    /// ACP capabilities of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub agent_capabilities: Option<AcpObject>,
    /// Name and version of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub agent_info: Option<AcpObject>,
    /// ACP authentication methods of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub auth_methods: Option<Vec<AcpObject>>,
    /// The version of ACP that the agent chose.
    #[serde(default)]
    pub protocol_version: i64,
}

/// The same as [`InstallAgent`].
pub type AgentInstallParams = InstallAgent;

/// The agent that was installed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct AgentInstalled {
    /// The member `agent`.
    pub agent: Agent,
}

/// The same as [`NoParams`].
pub type AgentListParams = NoParams;

/// No params.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentLogoutParams {
    /// Id of the thread.
    pub thread_id: String,
}

/// An unknown message of the agent.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct AgentNotification {
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The member `method`.
    pub method: String,
    /// The params of any other method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Json>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The `update` of a `session/update`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Json>,
}

/// A message that ACP does not define.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentNotifyParams {
    /// Name of the method, which begins with `_`, and not with `_acpd/`.
    pub method: String,
    /// Params, which the agent receives unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Json>,
    /// Id of the thread.
    pub thread_id: String,
}

/// The same as [`ReadSessionOptions`].
pub type AgentOptionsParams = ReadSessionOptions;

/// The same as [`ListAgentAnswers`].
pub type AgentRememberedListParams = ListAgentAnswers;

/// The same as [`RevokeAgentAnswer`].
pub type AgentRememberedRevokeParams = RevokeAgentAnswer;

/// A message that ACP does not define.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentRequestParams {
    /// Name of the method, which begins with `_`, and not with `_acpd/`.
    pub method: String,
    /// Params, which the agent receives unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Json>,
    /// Id of the thread.
    pub thread_id: String,
}

/// The same as [`NoParams`].
pub type AgentRunningParams = NoParams;

/// The sandbox of an agent.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct AgentSandbox {
    /// Writable directories in which no new files can be created, because they contain acpd's own files.
    #[serde(default)]
    pub closed: Vec<String>,
    /// Restrictions that the kernel does not enforce.
    #[serde(default)]
    pub gaps: Vec<String>,
    /// Configured paths that do not exist. They grant no access.
    #[serde(default)]
    pub missing: Vec<String>,
    /// `workspace`, `readonly` or `off`.
    pub mode: String,
    /// `on`, `off`, or comma-separated ports.
    pub network: String,
    /// Readable paths, in addition to the writable ones; empty without a sandbox.
    #[serde(default)]
    pub read: Vec<String>,
    /// Why there is no sandbox although none was switched off, or why one cannot be built on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Writable paths, in addition to the workspace.
    #[serde(default)]
    pub write: Vec<String>,
}

/// Selects sessions of the agent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSessionDeleteParams {
    /// The agent's id for the session.
    pub session_id: String,
    /// Id of the thread.
    pub thread_id: String,
}

/// Selects sessions of the agent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSessionListParams {
    /// The agent's cursor for the next page, from the previous result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Lists only sessions of this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Id of the thread.
    pub thread_id: String,
}

/// The agents.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct AgentsListed {
    /// The member `data`.
    #[serde(default)]
    pub data: Vec<Agent>,
}

/// The running agent processes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct AgentsRunning {
    /// The member `data`.
    #[serde(default)]
    pub data: Vec<RunningAgent>,
}

/// Params of `config/folder/add`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AllowFolder {
    /// Name of the agent, as in `agent/list`.
    pub agent_type: String,
    /// The folder, an absolute path on the daemon's host without links, such as `folder` of a notice.
    pub folder: String,
}

/// The effect of an "always" answer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub enum Always {
    /// The answer applies to this from then on. The text follows "Allow" or "Reject".
    #[serde(rename = "holds")]
    Holds(String),
    /// acpd does not remember the answer, for this reason.
    #[serde(rename = "notRemembered")]
    NotRemembered(String),
    /// What this version of the client does not know.
    #[serde(untagged)]
    Unrecognized(Value),
}

/// Params of `item/answer`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerInput {
    /// Answers that follow the question's schema. The agent receives them unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Json>,
    /// Whether the user declines to answer.
    #[serde(default)]
    pub dismissed: bool,
    /// Id of the question.
    pub request_id: String,
}

/// A permission request.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Ids of the always-options that the agent may remember itself. acpd stores no rule for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_remembers: Option<Vec<String>>,
    /// The effect of an "always" answer. Absent in logs from before this member existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<Always>,
    /// The tool call's item. Absent if the agent did not ask and the policy requires an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The member `options`.
    #[serde(default)]
    pub options: Vec<PermissionOption>,
    /// The member `reason`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The member `requestId`.
    pub request_id: String,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    #[serde(default)]
    pub seq: u64,
    /// The effects of the call, as the daemon interprets them. The policy and the answer apply to exactly these. Empty in logs from before this member existed.
    #[serde(default)]
    pub subjects: Vec<CallSubject>,
    /// The member `threadId`.
    pub thread_id: String,
    /// The agent's title of the tool call, or acpd's own title if there is no `itemId`.
    pub title: String,
    /// The agent's own description of the call.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub tool_call: Option<AcpObject>,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// Params of `item/approve`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Approve {
    /// Whether the agent may proceed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// Id of one of the agent's options. The answer is refused if `approved` contradicts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option_id: Option<String>,
    /// Kind of that option, as shown to the user. The answer is refused if the option is of another kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option_kind: Option<String>,
    /// Id of the question.
    pub request_id: String,
    /// Remembers the answer, so that it also applies to later questions in this scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
}

words! {
    /// How a thread got its agent session.
    Binding {
        /// A new session. The agent remembers nothing.
        New = "new",
        /// The agent loaded the earlier session.
        Load = "load",
        /// The agent resumed the earlier session.
        Resume = "resume",
        /// The agent forked the earlier session, which remembers the same, because another process of it has that one.
        Fork = "fork",
    }
}

/// Who caused an event.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum By {
    /// The agent.
    #[serde(rename = "agent")]
    Agent,
    /// The daemon.
    #[serde(rename = "daemon")]
    Daemon,
    /// A permission policy.
    #[serde(rename = "policy")]
    Policy {
        /// One sentence for the user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The rule that matched, as written in the policy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// Scope of the policy: `session`, `thread`, `agent` or `daemon`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<String>,
    },
    /// A client.
    #[serde(rename = "client")]
    Client {
        /// The client's name, as it reported it.
        client: String,
        /// The principal whose credentials the client used.
        principal: String,
    },
    /// What this version of the client does not know.
    #[serde(untagged)]
    Unrecognized(Value),
}

/// One effect of a call.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum CallSubject {
    /// Runs a program with these arguments.
    #[serde(rename = "command")]
    Command {
        /// The program, followed by its arguments.
        argv: Vec<String>,
        /// Absolute path of the working directory.
        cwd: String,
        /// Environment variables that the call sets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env: Option<Vec<Variable>>,
    },
    /// Runs a command line in a shell.
    #[serde(rename = "commandLine")]
    CommandLine {
        /// Absolute path of the working directory.
        cwd: String,
        /// Environment variables that the call sets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env: Option<Vec<Variable>>,
        /// The whole command line.
        line: String,
    },
    /// Accesses a file.
    #[serde(rename = "file")]
    File {
        /// The type of access.
        access: FileAccess,
        /// The call's input as JSON text, if the call changes a file and the diff does not show all of the change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
        /// The change as a unified diff, if the call shows one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
        /// Absolute path, without `..`.
        path: String,
        /// The target of the path after symbolic links, if it differs from `path`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        real_path: Option<String>,
    },
    /// Fetches a URL.
    #[serde(rename = "fetch")]
    Fetch {
        /// The host of the URL, if it can be determined.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// The URL.
        url: String,
    },
    /// Calls a tool of an MCP server.
    #[serde(rename = "mcp")]
    Mcp {
        /// The call's input, as JSON text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
        /// Name of the MCP server.
        server: String,
        /// Name of the tool; absent if the call does not name it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
    },
    /// Calls any other tool.
    #[serde(rename = "tool")]
    Tool {
        /// The call's input, as JSON text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
        /// ACP's kind of the tool.
        kind: String,
        /// Programmatic name of the tool, if the agent sends one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A part that the daemon cannot interpret, or that is too long to show.
    #[serde(rename = "unknown")]
    Unknown {
        /// What is known about the part: one sentence for the user, without a period.
        what: String,
    },
    /// What this version of the client does not know.
    #[serde(untagged)]
    Unrecognized(Value),
}

/// The new summary of a thread whose entry in lists has changed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ChangedThread {
    /// Name of the agent, as in `agent/list`.
    pub agent_type: String,
    /// Whether the thread is archived.
    pub archived: bool,
    /// When the thread was created or forked, in milliseconds since the epoch.
    pub created_at: u64,
    /// Absolute path of the working directory.
    pub cwd: String,
    /// Why the status is `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Id of the thread.
    pub id: String,
    /// Whether the last turn was interrupted by an error, such as a restart of acpd, and not by a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_cut_off: Option<bool>,
    /// Status of the last ended turn; absent if there was none, or if it was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_status: Option<TurnStatus>,
    /// Arbitrary data that the client stored with the thread; `null` if the thread has none. Absent if it has not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The name that a user set, else the agent's title, else the beginning of the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The place that a user has chosen for the pinned thread. Clients list those without a place first, then the lowest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin_place: Option<u64>,
    /// Whether a user pinned the thread. Clients list pinned threads first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// Project id that the client chose to group threads by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The oldest unanswered question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<WaitingQuestion>,
    /// The member `status`.
    pub status: ThreadStatus,
    /// Number of turns in the conversation. Dropped turns do not count.
    pub turn_count: u64,
    /// When a turn last started or ended, in milliseconds since the epoch.
    pub updated_at: u64,
}

/// Capabilities of a client.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCapabilities {
    /// Whether the client answers questions. Otherwise it receives them as notifications.
    #[serde(default)]
    pub approvals: bool,
    /// Exact names of notifications that the client does not want. Their `seq` are skipped. A client that answers questions still receives all questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opt_out_notification_methods: Vec<String>,
    /// The member `streaming`.
    #[serde(default)]
    pub streaming: bool,
    /// Whether the client wants `thread/subscribers/changed` for the threads that it follows.
    #[serde(default)]
    pub subscribers: bool,
    /// The member `tools`.
    #[serde(default)]
    pub tools: bool,
}

/// Name and version of the client program.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// Name of the client, which the log records with every decision.
    pub name: String,
    /// The member `title`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The member `version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The command that was started.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct CommandStarted {
    /// Id of the command's item.
    pub item_id: String,
    /// Id of the turn that contains the item.
    pub turn_id: String,
}

/// The same as [`SetDefaultAgent`].
pub type ConfigAgentSetParams = SetDefaultAgent;

/// The setting is in the configuration file, and the daemon has applied it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ConfigChanged {
    /// Whether the file was written: it may have had the setting already.
    #[serde(default)]
    pub changed: bool,
    /// Absolute path of the file on the daemon's host.
    pub file: String,
}

/// The same as [`AllowFolder`].
pub type ConfigFolderAddParams = AllowFolder;

/// The same as [`SetDefaultPolicy`].
pub type ConfigPolicySetParams = SetDefaultPolicy;

/// The value of a config option.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ConfigValue {
    /// The value of a boolean option.
    Bool(bool),
    /// The id of one value of a select option.
    Text(String),
    /// What this version of the client does not know.
    #[serde(untagged)]
    Unrecognized(Value),
}

/// A cost.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct CostSum {
    /// The member `amount`.
    #[serde(default)]
    pub amount: f64,
    /// The code of the currency, such as `USD`.
    pub currency: String,
}

/// Params of `folder/create`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateFolder {
    /// Absolute path of the new folder, or a path that begins with `~/`. The folder that contains it must exist.
    pub path: String,
}

words! {
    /// How a message reaches the agent.
    Delivery {
        /// As a message of the running turn.
        Steered = "steered",
        /// As a turn of its own.
        Queued = "queued",
    }
}

/// An addition to a message or thought.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Delta {
    /// A content block other than plain text.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub content: Option<AcpObject>,
    /// The member `itemId`.
    pub item_id: String,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `text`.
    pub text: String,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// The size of a diff.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct DiffSize {
    /// Number of added lines.
    #[serde(default)]
    pub added: u64,
    /// Number of changed files.
    #[serde(default)]
    pub files: u64,
    /// Whether there are changes that the diff does not show.
    #[serde(default)]
    pub incomplete: bool,
    /// Number of removed lines.
    #[serde(default)]
    pub removed: u64,
}

/// A diff.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct DiffUpdated {
    /// Unified diff of all files that the turn changed.
    pub diff: String,
    /// Number of the event; absent if the diff is only shown live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The member `turnId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// The directories that a thread works in.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Directories {
    /// Further directories of the workspace.
    pub additional_directories: Vec<String>,
    /// Working directory.
    pub cwd: String,
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Error {
    /// JSON-RPC error code.
    pub code: i64,
    /// The member `data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<ErrorData>,
    /// One sentence for the user.
    pub message: String,
}

/// Error details for programs.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    /// Stable code of the error.
    pub code: String,
    /// Further explanation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Whether the same request may succeed later.
    pub retryable: bool,
}

/// Params of `agent/doctor`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExamineAgent {
    /// Name of the agent, as in `agent/list`.
    pub agent_type: String,
}

words! {
    /// How well an agent remembers the kept turns of a thread after a rollback or a fork.
    Fidelity {
        /// The agent remembers exactly the kept turns and nothing else.
        Exact = "exact",
        /// The agent starts a new session and receives the conversation so far with its next prompt.
        Recalled = "recalled",
    }
}

words! {
    /// A type of access to a file.
    FileAccess {
        /// Reads the content.
        Read = "read",
        /// Searches the file, or finds files in the directory.
        Search = "search",
        /// Creates or changes the file.
        Edit = "edit",
        /// Deletes the file.
        Delete = "delete",
        /// Moves or renames the file, or moves another file onto it.
        Move = "move",
    }
}

/// A change to a file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Unified diff, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Absolute path of the file.
    pub path: String,
    /// What the write replaced, if the daemon wrote the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Replaced>,
    /// The member `type`.
    pub r#type: FileChangeType,
}

/// A file change that ended.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct FileChangeCompleted {
    /// The client that acted instead of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// Unified diff, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The member `itemId`.
    pub item_id: String,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The member `outcome`.
    pub outcome: ItemOutcome,
    /// Absolute path of the file.
    pub path: String,
    /// What the write replaced, if the daemon wrote the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Replaced>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The member `type`.
    pub r#type: FileChangeType,
}

/// A file change that started.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct FileChangeStarted {
    /// The client that acts instead of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// Unified diff, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The member `itemId`.
    pub item_id: String,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The member `parentItemId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_item_id: Option<String>,
    /// Absolute path of the file.
    pub path: String,
    /// What the write replaced, if the daemon wrote the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Replaced>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The member `type`.
    pub r#type: FileChangeType,
}

words! {
    /// The words of `FileChangeType`.
    FileChangeType {
        /// `fileChange`
        FileChange = "fileChange",
    }
}

/// A file, and the number of bytes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct FileTouched {
    /// The client that acted instead of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// The member `bytes`.
    pub bytes: u64,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The member `path`.
    pub path: String,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// A written file, the number of bytes, and what they replaced.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct FileWritten {
    /// The client that acted instead of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// The member `bytes`.
    pub bytes: u64,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The member `path`.
    pub path: String,
    /// The member `replaced`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Replaced>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// A folder in another one.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Folder {
    /// Name of the folder.
    pub name: String,
    /// Whether it is the root of a Git repository or worktree.
    #[serde(default)]
    pub repository: bool,
}

/// The same as [`CreateFolder`].
pub type FolderCreateParams = CreateFolder;

/// The folder that was created.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct FolderCreated {
    /// Absolute path of the folder.
    pub path: String,
}

/// The same as [`ListFolders`].
pub type FolderListParams = ListFolders;

/// Result of `folder/list`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct FoldersListed {
    /// The folders, sorted by name. Those whose name is not UTF-8 are left out.
    #[serde(default)]
    pub folders: Vec<Folder>,
    /// The home directory of the daemon's user.
    pub home: String,
    /// Name of the daemon's host.
    pub host: String,
    /// Absolute path of the folder that contains it; absent for `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Absolute path of the folder.
    pub path: String,
    /// Whether there are more.
    #[serde(default)]
    pub truncated: bool,
}

/// Identity and role of a connection.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The member `principal`.
    pub principal: String,
    /// The member `role`.
    pub role: Role,
}

/// Params of `initialize`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The member `capabilities`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<ClientCapabilities>,
    /// The member `clientInfo`.
    pub client_info: ClientInfo,
}

/// Result of `initialize`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Initialized {
    /// The member `capabilities`.
    pub capabilities: ServerCapabilities,
    /// The member `identity`.
    pub identity: Identity,
    /// The member `limits`.
    pub limits: LimitsInForce,
    /// The member `protocolVersion`.
    #[serde(default)]
    pub protocol_version: u64,
    /// The member `serverInfo`.
    pub server_info: ServerInfo,
}

/// An elicitation.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct InputWanted {
    /// The params of ACP's `elicitation/create`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub elicitation: Option<AcpObject>,
    /// The member `itemId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// `form` or `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The member `requestId`.
    pub request_id: String,
    /// JSON Schema of a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<JsonText>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    #[serde(default)]
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// The agent's message.
    pub title: String,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The URL that the user is to open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Params of `agent/install`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstallAgent {
    /// Name of the agent, as in `agent/list`.
    pub agent_type: String,
}

/// The progress of an installation.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct InstallProgress {
    /// The last line that the installer wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Bytes of the download that have arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_bytes: Option<u64>,
    /// The member `step`.
    pub step: InstallStep,
    /// Bytes of the whole download, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
}

words! {
    /// A step of an installation.
    InstallStep {
        /// acpd downloads an archive.
        Downloading = "downloading",
        /// acpd unpacks it.
        Unpacking = "unpacking",
        /// npm, uv or pip runs.
        Installing = "installing",
    }
}

/// One part of a turn. `outcome` is `null` until the item ends.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// The member `itemId`.
    pub item_id: String,
    /// The subagent that the item belongs to, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The member `outcome`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ItemOutcome>,
    /// Id of the item that contains this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_item_id: Option<String>,
    /// When the message started, in milliseconds since the epoch. Only messages have it, except in imported turns. Notifications have `ts` instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
    /// What it is, with its own members.
    #[serde(flatten)]
    pub object: ItemObject,
}

objects! {
    /// The kinds of [`Item`].
    ItemObject by "type" {
        /// A message or a thought.
        Message(Message) = "userMessage" | "agentMessage" | "agentThought",
        /// A tool call.
        ToolCall(ToolCall) = "toolCall",
        /// A change to a file.
        FileChange(FileChange) = "fileChange",
        /// A command in a terminal.
        TerminalCommand(TerminalCommand) = "terminalCommand",
    }
}

/// The same as [`AnswerInput`].
pub type ItemAnswerParams = AnswerInput;

/// The same as [`Approve`].
pub type ItemApproveParams = Approve;

words! {
    /// How an item ended.
    ItemOutcome {
        /// The item finished.
        Completed = "completed",
        /// The item failed, or its turn did.
        Failed = "failed",
        /// The item's turn was interrupted.
        Interrupted = "interrupted",
    }
}

/// Any JSON value.
pub type Json = Value;

/// A subagent of a thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Lane {
    /// Whether the agent did not announce the session, so that acpd assumes a subagent.
    #[serde(default)]
    pub assumed: bool,
    /// The working directory, by the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The role or purpose of the subagent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Further directories, by the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directories: Option<Vec<String>>,
    /// Id of the subagent's lane: its items and questions have it.
    pub lane: String,
    /// Whether clients may cancel the subagent's work. `turn/interrupt` does.
    #[serde(default)]
    pub may_cancel: bool,
    /// The subagent that created this one; absent if the main agent did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The agent's id for the subagent's session. Absent once the agent's session has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// When the subagent was first reported, in milliseconds since the epoch.
    #[serde(default)]
    pub started_at: u64,
    /// What the subagent is doing; absent if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<LaneState>,
    /// The name that users see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When the subagent was last reported, in milliseconds since the epoch.
    #[serde(default)]
    pub updated_at: u64,
}

/// What a subagent is doing.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct LaneState {
    /// `running`, `idle`, `requires_action` or `unknown`; other values are the agent's own.
    pub state: String,
    /// Why the work of an idle subagent ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

/// A change of a subagent, which is `lane`. Contains only what has changed; `null` clears it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct LaneUpdated {
    /// Whether the agent did not announce the session. Only in the first notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumed: Option<bool>,
    /// The working directory, by the agent's words; `null` if it was removed.
    #[serde(default, deserialize_with = "crate::objects::present", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<Option<String>>,
    /// The role or purpose of the subagent; `null` if it was removed.
    #[serde(default, deserialize_with = "crate::objects::present", skip_serializing_if = "Option::is_none")]
    pub description: Option<Option<String>>,
    /// The list of further directories, by the agent's words; `null` if it was removed.
    #[serde(default, deserialize_with = "crate::objects::present", skip_serializing_if = "Option::is_none")]
    pub directories: Option<Option<Vec<String>>>,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// Whether clients may cancel the subagent's work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_cancel: Option<bool>,
    /// The subagent that created this one; absent if the main agent did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The agent's id for the subagent's session. Only in the first notification about the subagent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// What the subagent is doing; `null` if it was removed: that is unknown from now on.
    #[serde(default, deserialize_with = "crate::objects::present", skip_serializing_if = "Option::is_none")]
    pub state: Option<Option<LaneState>>,
    /// The member `threadId`.
    pub thread_id: String,
    /// The name that users see; `null` if it was removed.
    #[serde(default, deserialize_with = "crate::objects::present", skip_serializing_if = "Option::is_none")]
    pub title: Option<Option<String>>,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// The subagents of a thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct LanesListed {
    /// The member `data`.
    #[serde(default)]
    pub data: Vec<Lane>,
}

/// The editor connection that answers the agent's client requests (files, terminals).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct LeaseHolder {
    /// The editor's name, as it reported it.
    pub client: String,
    /// Unique id of the connection.
    pub connection: String,
    /// The principal whose credentials the connection used.
    pub principal: String,
}

words! {
    /// Why a thread's lease moved.
    LeaseMove {
        /// The lease was free when an editor that can answer the agent opened the thread.
        Opened = "opened",
        /// An editor requested the lease.
        Acquired = "acquired",
        /// The holder released the lease.
        Released = "released",
        /// The holder closed the session, or its connection ended.
        Left = "left",
        /// The daemon restarted, which ends every connection.
        Restarted = "restarted",
    }
}

/// A move of the lease.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct LeaseMoved {
    /// The member `by`.
    pub by: By,
    /// The new holder; absent if the daemon itself answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<LeaseHolder>,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The member `why`.
    pub why: LeaseMove,
}

words! {
    /// Severity of a notice.
    Level {
        /// `info`
        Info = "info",
        /// `warning`
        Warning = "warning",
        /// `error`
        Error = "error",
    }
}

/// Effective limits of the daemon.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct LimitsInForce {
    /// Maximum number of concurrent connections. Further ones are refused; on a local socket they wait.
    pub connections: u64,
    /// Batches of events that a connection may fall behind before the daemon serves it from the log.
    pub live_batches: u64,
    /// Maximum size of a client's message, in bytes.
    pub message_bytes: u64,
    /// Maximum number of batches of events queued for one connection.
    pub outbound_queue: u64,
    /// Seconds between the daemon's pings.
    pub ping_secs: u64,
    /// Seconds of silence after a ping, after which the daemon closes the connection.
    pub pong_secs: u64,
    /// Maximum number of queued turns in a thread.
    pub queued_turns: u64,
    /// The member `requestWindowSecs`.
    pub request_window_secs: u64,
    /// Maximum number of requests in flight on one connection.
    pub requests_in_flight: u64,
    /// Maximum number of requests of one connection within `requestWindowSecs`.
    pub requests_per_window: u64,
    /// Maximum number of commands queued for a thread. Further requests fail with -32001.
    pub thread_commands: u64,
    /// Seconds that a client may read nothing, after which the daemon closes the connection.
    pub write_secs: u64,
}

/// Params of `agent/remembered/list`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListAgentAnswers {
    /// Only answers for this agent; by default, for every agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
}

/// A change of the thread list.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ListChanged {
    /// The thread's new entry in `thread/list`; `null` if the thread is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ChangedThread>,
    /// The member `threadId`.
    pub thread_id: String,
    /// Time of the notification, in milliseconds since the epoch.
    pub ts: u64,
}

/// Params of `folder/list`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListFolders {
    /// Absolute path of the folder, or a path that begins with `~/`; by default the home directory of the daemon's user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A reset of the thread list, without members.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ListReset {}

/// Params of `thread/share/list`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListShares {
    /// Only links of this thread; by default, of all threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
}

/// Params of `thread/list`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListThreads {
    /// Lists only threads of this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// Whether to list archived threads; by default, only threads that are not archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// `nextCursor` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Lists only threads in this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Lists only threads whose id begins or ends with these 1 to 32 hexadecimal digits; hyphens do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_part: Option<String>,
    /// Maximum number of threads. A page has at most about 1 MiB: with large metadata, it has fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Lists only pinned threads, or only the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// Lists only threads whose name contains this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_term: Option<String>,
    /// Lists only threads with this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ListedStatus>,
}

words! {
    /// Filter of `thread/list`: what a thread is doing, or how its last turn ended.
    ListedStatus {
        /// A turn is running, whether or not it waits for a user.
        Active = "active",
        /// A turn is running and does not wait for a user.
        Running = "running",
        /// A turn is running and waits for a user.
        Waiting = "waiting",
        /// No turn is running, however the last one ended.
        Idle = "idle",
        /// No turn is running, and the last one failed.
        Failed = "failed",
    }
}

/// Whether a thread's log can be written.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct LogChanged {
    /// Why the log cannot be written, or which events cannot be read; absent if the thread works again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The member `threadId`.
    pub thread_id: String,
    /// Time of the notification, in milliseconds since the epoch.
    pub ts: u64,
}

/// Events that cannot be read.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct LogDamaged {
    /// Number of the first of these events.
    pub first_seq: u64,
    /// Why they cannot be read.
    pub reason: String,
    /// Number of the last of these events.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Time of the notification, in milliseconds since the epoch.
    pub ts: u64,
}

/// A message or a thought.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// ACP content blocks.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub content: Option<Vec<AcpObject>>,
    /// The agent's own id for the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The whole text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The member `type`.
    pub r#type: MessageType,
}

/// A complete message.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct MessageCompleted {
    /// ACP content blocks.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub content: Option<Vec<AcpObject>>,
    /// The member `itemId`.
    pub item_id: String,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The agent's own id for the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The member `outcome`.
    pub outcome: ItemOutcome,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The whole text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The member `type`.
    pub r#type: MessageType,
}

/// A message that started.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct MessageStarted {
    /// ACP content blocks.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub content: Option<Vec<AcpObject>>,
    /// The member `itemId`.
    pub item_id: String,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The agent's own id for the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The member `parentItemId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_item_id: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The whole text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The member `type`.
    pub r#type: MessageType,
}

words! {
    /// Type of a message, which also names its author.
    MessageType {
        /// A message of the user.
        UserMessage = "userMessage",
        /// The agent.
        AgentMessage = "agentMessage",
        /// The agent's reasoning.
        AgentThought = "agentThought",
    }
}

/// A new thread, as created.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct NewThread {
    /// The member `additionalDirectories`.
    pub additional_directories: Vec<String>,
    /// The member `agentType`.
    pub agent_type: String,
    /// The member `createdAt`.
    pub created_at: u64,
    /// The member `cwd`.
    pub cwd: String,
    /// The member `id`.
    pub id: String,
    /// The member `metadata`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The member `name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The member `projectId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The member `status`.
    pub status: ThreadStatus,
}

/// No params.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct NoParams {}

/// An empty result.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Nothing {}

/// A notice for the user.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// Who refused the call of the agent or of a user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// Length of a line that is not a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The member `code`.
    pub code: String,
    /// The member `detail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The folder in which the agent was denied a path, if `thread/directories/add` may open it. The agent has named the path: show the folder to the user first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The member `level`.
    pub level: Level,
    /// The member `message`.
    pub message: String,
    /// Whether it is larger than 16 KiB: then pages of turns leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<bool>,
    /// The client whose user wanted to run a command that was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<By>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The agent's own update, unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Json>,
}

/// The same as [`NoParams`].
pub type NotificationListParams = NoParams;

/// A target of notifications.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct NotificationTarget {
    /// Why the last delivery failed; `null` if it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Deliveries that failed since the last one that succeeded.
    #[serde(default)]
    pub failures: u64,
    /// Name of the target.
    pub name: String,
    /// The user of the browser; absent for targets of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// `webhook`, `command`, `ntfy`, or `push` for the browser of a user.
    pub r#type: String,
    /// Notifications that wait for delivery.
    #[serde(default)]
    pub waiting: u64,
}

/// The targets of notifications, by name.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct NotificationTargetsListed {
    /// The member `data`.
    #[serde(default)]
    pub data: Vec<NotificationTarget>,
}

/// The result of a test of one target.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct NotificationTest {
    /// Why the test failed; `null` if it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Name of the target.
    pub name: String,
}

/// The same as [`TestNotifications`].
pub type NotificationTestParams = TestNotifications;

/// The results of a test, by the targets' names.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct NotificationsTested {
    /// The member `data`.
    #[serde(default)]
    pub data: Vec<NotificationTest>,
}

/// A message for the running turn that the agent has not taken yet.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct PendingSteering {
    /// Number of its event.
    #[serde(default)]
    pub seq: u64,
    /// The member `text`.
    pub text: String,
    /// The member `turnId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// One of the answers that an agent offers.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    /// ACP's `PermissionOptionKind`.
    pub kind: String,
    /// The member `name`.
    pub name: String,
    /// The member `optionId`.
    pub option_id: String,
}

/// A call that the policy allowed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Permitted {
    /// The member `by`.
    pub by: By,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The method that the agent called.
    pub method: String,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The file, command or other subject of the call.
    pub subject: String,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// An answer, and its place.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct PlacedAnswer {
    /// Id of the item before the answer. Absent if the answer comes after the end of the turn, or before the first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_item_id: Option<String>,
    /// Whether the answer comes after the end of the turn: no turn was running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_turn: Option<bool>,
    /// Answers to an elicitation with a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Json>,
    /// The member `by`.
    pub by: By,
    /// The member `itemId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// Whether the answer is larger than 16 KiB: then pages of turns leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<bool>,
    /// Id of the agent's option that was selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option_id: Option<String>,
    /// ACP's kind of that option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option_kind: Option<String>,
    /// The member `outcome`.
    pub outcome: Resolution,
    /// Why the question was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The member `requestId`.
    pub request_id: String,
    /// The option that the daemon sent to the agent instead. acpd remembers an "always" and sends "once" to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_option_id: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    #[serde(default)]
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// The title of an answered question that is about no item, or its beginning. Absent in logs from before this member existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// A notice, and its place.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct PlacedNotice {
    /// Id of the item before the notice. Absent if the notice comes after the end of the turn, or before the first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_item_id: Option<String>,
    /// Whether the notice comes after the end of the turn: no turn was running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_turn: Option<bool>,
    /// Who refused the call of the agent or of a user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// Length of a line that is not a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The member `code`.
    pub code: String,
    /// The member `detail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The folder in which the agent was denied a path, if `thread/directories/add` may open it. The agent has named the path: show the folder to the user first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The member `level`.
    pub level: Level,
    /// The member `message`.
    pub message: String,
    /// Whether it is larger than 16 KiB: then pages of turns leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<bool>,
    /// The client whose user wanted to run a command that was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<By>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    #[serde(default)]
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The agent's own update, unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Json>,
}

/// A plan of the agent. One without an id, and of steps, has only `entries`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Steps of the plan, in order. Empty for a plan of another form.
    #[serde(default)]
    pub entries: Vec<PlanEntry>,
    /// Absent for a plan of steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<PlanForm>,
    /// The whole plan, if its form is `markdown`. It can be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
    /// The absolute path of the file that contains the plan, as the agent reported it. Only some Markdown plans have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The agent's id for the plan. Absent for the plan without an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
}

/// One step of an agent's plan.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct PlanEntry {
    /// Description of the step.
    pub content: String,
    /// `high`, `medium` or `low`; other values are kept as received.
    pub priority: String,
    /// `pending`, `in_progress` or `completed`; other values are kept as received.
    pub status: String,
}

words! {
    /// The form of a plan that has no steps.
    PlanForm {
        /// The plan is a text in `markdown`.
        Markdown = "markdown",
    }
}

/// A plan that is no longer valid.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct PlanRemoved {
    /// The member `by`.
    pub by: By,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The agent's id for the plan. Absent for the plan without an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct PlanUpdated {
    /// Steps of the plan, in order. Empty for a plan of another form.
    pub entries: Vec<PlanEntry>,
    /// Absent for a plan of steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<PlanForm>,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The whole plan, if its form is `markdown`. It can be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
    /// The absolute path of the file that contains the plan, as the agent reported it. Only some Markdown plans have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The agent's id for the plan. Absent for the plan without an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// The configured policies. Each is a preset's name or an object with rules; see `docs/policy.md`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct PoliciesRead {
    /// The agent's own policy, which takes precedence over the daemon's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Json>,
    /// The daemon's policy. Without one, the user is asked about every permission request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon: Option<Json>,
}

/// Params of `policy/explain`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyExplainParams {
    /// Id of the thread.
    pub thread_id: String,
    /// An ACP tool call.
    pub tool_call: AcpObject,
}

/// Result of `policy/explain`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct PolicyExplained {
    /// The decision and its reason.
    pub decision: AcpObject,
    /// Every part of the call, with its matching rules.
    #[serde(default, deserialize_with = "crate::objects::of_agent")]
    pub subjects: Vec<AcpObject>,
}

/// The same as [`ReadPolicy`].
pub type PolicyReadParams = ReadPolicy;

/// No params.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRememberedListParams {
    /// Id of the thread.
    pub thread_id: String,
}

/// Params of `policy/remembered/revoke`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRememberedRevokeParams {
    /// Id of the answer, as in `policy/remembered/list`.
    pub id: u64,
    /// Id of the thread.
    pub thread_id: String,
}

/// A client's response to a question: `decision`, optionally with `optionId` and `scope`, or `answers`, or `dismissed: true`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuestionAnswered {
    /// Answers to an elicitation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Json>,
    /// `accept`, `acceptForSession`, `decline`, `declineForSession` or `cancel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// Whether the user declines to answer.
    #[serde(default)]
    pub dismissed: bool,
    /// Id of one of the agent's options. It is more specific than `decision` and must not contradict it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option_id: Option<String>,
    /// Kind of that option, as shown to the user. The answer is refused if the option is of another kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option_kind: Option<String>,
    /// Remembers the answer, so that it also applies to later questions in this scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
}

words! {
    /// What a question asks for.
    QuestionType {
        /// A permission; `item/approve` answers it.
        Permission = "permission",
        /// Information; `item/answer` answers it.
        Input = "input",
    }
}

/// The queue of a thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct QueueChanged {
    /// The member `by`.
    pub by: By,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// Whether no queued turn starts by itself.
    pub paused: bool,
    /// Ids of the queued turns, in their order.
    pub queued_turn_ids: Vec<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// Params of `policy/read`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadPolicy {
    /// Name of an agent whose own policy is also returned, as in `agent/list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
}

/// Params of `agent/options`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadSessionOptions {
    /// Absolute paths of additional directories of the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_directories: Vec<String>,
    /// Name of the agent, as in `agent/list`.
    pub agent_type: String,
    /// Absolute path of the session's working directory.
    pub cwd: String,
}

/// Params of `usage/read`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadUsage {
    /// What the rows are; days by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<UsageBy>,
    /// Number of days until today, in UTC; 30 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u64>,
}

/// A refused response.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Rejected {
    /// The member `error`.
    pub error: Error,
    /// The member `requestId`.
    pub request_id: String,
    /// The member `threadId`.
    pub thread_id: String,
}

/// A remembered answer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Remembered {
    /// The member `answer`.
    pub answer: Json,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// A remembered answer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct RememberedAnswer {
    /// Whether the answer allows the call; otherwise it denies it.
    #[serde(default)]
    pub allow: bool,
    /// Hash of the input that the call must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// Hash of the kind, tool, locations and diffs that the call must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Working directory in which the command must be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The member `id`.
    #[serde(default)]
    pub id: u64,
    /// Hash of the command line that the command must be part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The rule that was made from the answer.
    pub rule: String,
    /// `session`, `thread` or `agent`.
    pub scope: String,
}

/// The remembered answers.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct RememberedListed {
    /// The member `data`.
    #[serde(default)]
    pub data: Vec<RememberedAnswer>,
}

/// A thread that was removed, or whose attachments were.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Removal {
    /// About how many bytes were removed.
    #[serde(default)]
    pub bytes: u64,
    /// The member `limit`.
    pub limit: RetentionLimit,
    /// The thread's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The member `threadId`.
    pub thread_id: String,
    /// When a turn last started or ended, in milliseconds since the epoch.
    #[serde(default)]
    pub updated_at: i64,
}

words! {
    /// What a write replaced.
    Replaced {
        /// The file did not exist before.
        Nothing = "nothing",
        /// Text that the diff shows.
        Text = "text",
        /// Content that cannot be shown: not UTF-8, too large or unreadable.
        Unknown = "unknown",
    }
}

words! {
    /// How a question was resolved.
    Resolution {
        /// The answer permits the call, or provides the information.
        Accepted = "accepted",
        /// The answer denies the call, or declines to give the information.
        Declined = "declined",
        /// The question was cancelled, neither accepted nor declined.
        Cancelled = "cancelled",
        /// The question was closed, because nothing waits for its answer.
        Void = "void",
    }
}

/// How a question was resolved.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Resolved {
    /// Answers to an elicitation with a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Json>,
    /// The member `by`.
    pub by: By,
    /// The member `itemId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// Whether the answer is larger than 16 KiB: then pages of turns leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<bool>,
    /// Id of the agent's option that was selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option_id: Option<String>,
    /// ACP's kind of that option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option_kind: Option<String>,
    /// The member `outcome`.
    pub outcome: Resolution,
    /// Why the question was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The member `requestId`.
    pub request_id: String,
    /// The option that the daemon sent to the agent instead. acpd remembers an "always" and sends "once" to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_option_id: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// The title of an answered question that is about no item, or its beginning. Absent in logs from before this member existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

words! {
    /// A limit of the configuration.
    RetentionLimit {
        /// `max_age`
        MaxAge = "maxAge",
        /// `archived_max_age`
        ArchivedMaxAge = "archivedMaxAge",
        /// `max_size`
        MaxSize = "maxSize",
        /// `attachments_max_age`: the thread stays, without the content of its attachments.
        AttachmentsMaxAge = "attachmentsMaxAge",
    }
}

/// Result of `retention/run`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct RetentionRun {
    /// Number of removed attachments of threads that stay.
    #[serde(default)]
    pub attachments: u64,
    /// About how many bytes both took. They are overwritten and free after some seconds.
    #[serde(default)]
    pub bytes: u64,
    /// Whether the configuration has any limit.
    #[serde(default)]
    pub configured: bool,
    /// Whether nothing was removed.
    #[serde(default)]
    pub dry_run: bool,
    /// Number of threads that stay although a limit applies, because they are in use or cannot be read.
    #[serde(default)]
    pub kept: u64,
    /// Bytes that the log takes without what was removed.
    #[serde(default)]
    pub log_bytes: u64,
    /// What was removed, in the order of removal; at most 1,000 entries.
    #[serde(default)]
    pub removed: Vec<Removal>,
    /// Number of removed threads.
    #[serde(default)]
    pub threads: u64,
}

/// The same as [`RunRetention`].
pub type RetentionRunParams = RunRetention;

/// Params of `agent/remembered/revoke`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RevokeAgentAnswer {
    /// Name of the agent, as in `agent/remembered/list`.
    pub agent_type: String,
    /// Id of the answer, as in `agent/remembered/list`.
    pub id: u64,
}

/// Params of `thread/share/revoke`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RevokeShare {
    /// Id of the link, as in `thread/share/list`.
    pub share_id: String,
}

/// A revoked answer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Revoked {
    /// The member `id`.
    pub id: u64,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

words! {
    /// The role of a principal. Each role includes the permissions of those before it.
    Role {
        /// Lists, reads and follows threads.
        Observer = "observer",
        /// Also answers questions.
        Approver = "approver",
        /// Also starts, steers and ends threads and turns.
        Operator = "operator",
        /// Also changes permissions: policies, sign-ins, tokens.
        Owner = "owner",
    }
}

/// Result of a rollback.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct RolledBack {
    /// The member `fidelity`.
    pub fidelity: Fidelity,
}

/// Params of `retention/run`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRetention {
    /// Whether the clock of the daemon's host is right. If it was set, the daemon follows it and retention trusts it from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_clock: Option<bool>,
    /// Whether nothing is removed: the result is what would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

/// A running agent process.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct RunningAgent {
    /// Name of the agent.
    pub agent_type: String,
    /// Since when the process is idle, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_since: Option<u64>,
    /// Resident memory of the process and of all processes that it started, in bytes.
    #[serde(default)]
    pub memory_bytes: u64,
    /// Process id; `null` while the process starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// When the process was started, in milliseconds since the epoch.
    #[serde(default)]
    pub started_at: u64,
    /// `busy` (in a turn), `idle`, `waiting` (for its first session) or `leaving` (being stopped).
    pub state: String,
    /// Ids of the threads that use the process: several if it is shared, none while it waits for its first session.
    #[serde(default)]
    pub threads: Vec<String>,
}

words! {
    /// Scope of a policy or a remembered answer, from the innermost to the outermost.
    Scope {
        /// One session of an agent. Only remembered answers have this scope.
        Session = "session",
        /// One thread.
        Thread = "thread",
        /// Every thread of one agent.
        Agent = "agent",
        /// Every agent.
        Daemon = "daemon",
    }
}

/// Params of `thread/search`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchThreads {
    /// `nextCursor` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Maximum number of hits, at most 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Words that must all occur in one text. Case and accents are ignored. Words in double quotes must follow each other. The last word, if it is not in quotes, matches every word that begins with it. At most 1 KiB.
    pub query: String,
    /// Searches only this thread; by default, all threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
}

/// Threads that the principal of the connection has seen.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct SeenChanged {
    /// The threads. A mark that is earlier than one before changes nothing.
    pub threads: Vec<SeenThread>,
    /// Time of the notification, in milliseconds since the epoch.
    pub ts: u64,
}

/// How far a user has seen a thread.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenMark {
    /// The `updatedAt` of the thread, as the user has seen it.
    pub seen_at: u64,
    /// Id of the thread.
    pub thread_id: String,
}

/// How far a principal has seen a thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct SeenThread {
    /// Changes until then have been seen, in milliseconds since the epoch.
    pub seen_at: u64,
    /// The member `threadId`.
    pub thread_id: String,
}

/// Capabilities of the daemon.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ServerCapabilities {
    /// The member `approvals`.
    #[serde(default)]
    pub approvals: bool,
    /// Whether `turn/start` takes `replacesTurnId`. Without this, an older daemon ignores it and adds the prompt to the conversation.
    #[serde(default)]
    pub replaces_turns: bool,
    /// The member `streaming`.
    #[serde(default)]
    pub streaming: bool,
    /// The member `tools`.
    #[serde(default)]
    pub tools: bool,
}

/// Name and version of the daemon.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    /// The member `name`.
    pub name: String,
    /// The member `version`.
    pub version: String,
}

words! {
    /// Whether a deleted thread's session was also deleted in the agent.
    SessionDeleted {
        /// The agent deleted the session.
        Deleted = "deleted",
        /// The daemon sent the request, but the agent did not delete the session.
        Failed = "failed",
        /// There was no session, or the agent does not support deleting sessions.
        NotAsked = "notAsked",
    }
}

/// Parameters for opening the agent's session that differ from those the thread was created with.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// Working directory of the session; `null` is the thread's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Names of additional MCP servers.
    pub mcp_servers: Vec<Option<String>>,
}

/// Params of `config/agent/set`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetDefaultAgent {
    /// Name of the agent, as in `agent/list`. If absent or `null`, removes the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
}

/// Params of `config/policy/set`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetDefaultPolicy {
    /// Name of the agent whose own policy is set, as in `agent/list`; the policy of all agents if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// `permissive`, `standard`, `restricted` or `readonly`. If absent or `null`, removes the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
}

/// Params of `thread/seen/set`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetSeen {
    /// For a principal that has never called this method: changes until then count as seen, in milliseconds since the epoch. By default, all changes until now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// The threads, at most 500.
    pub threads: Vec<SeenMark>,
}

/// Result of `thread/share/create`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ShareCreated {
    /// The link's secret, which is stored nowhere. The link is the daemon's address and `/#share=SECRET`. Programs send the secret as a token.
    pub secret: String,
    /// The member `share`.
    pub share: ThreadShare,
}

/// The links, oldest first.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct SharesListed {
    /// The member `data`.
    #[serde(default)]
    pub data: Vec<ThreadShare>,
}

/// The sign-in to the agent.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct SignInRead {
    /// Whether one is in progress.
    #[serde(default)]
    pub in_progress: bool,
    /// The lines with addresses and codes that the agent has printed for the last one.
    #[serde(default)]
    pub lines: Vec<String>,
}

/// A piece of a snippet.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct SnippetPiece {
    /// Whether the piece matches the query.
    #[serde(default)]
    pub hit: bool,
    /// The member `text`.
    pub text: String,
}

/// Params of `thread/start`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StartThread {
    /// Absolute paths of additional directories of the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_directories: Vec<String>,
    /// Name of an agent, as in `agent/list`.
    pub agent_type: String,
    /// The client's own id for the first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_turn_id: Option<String>,
    /// Initial values of config options, by id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, ConfigValue>,
    /// Absolute path of the working directory.
    pub cwd: String,
    /// The first turn as ACP content blocks.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub input: Option<Vec<AcpObject>>,
    /// ACP `McpServer` objects, passed on to the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::objects::of_agent")]
    pub mcp_servers: Vec<AcpObject>,
    /// Arbitrary data that the client stores with the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Id of the initial mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Name of the thread, as shown to users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The thread's own permission policy: a preset's name, or an object. Requires the role owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Json>,
    /// Project id that the client chooses to group threads by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Id of an agent's session to continue instead of a new one, as in `agent/session/list`. Its history is imported if the agent replays it. Returns `conflict` if a thread already uses the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Instructions for the agent, in addition to its own or instead of them. Returns `unsupported` if the agent does not declare that it takes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<SystemPrompt>,
    /// The first turn as plain text, placed before `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A thread's status.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct StatusChanged {
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `status`.
    pub status: ThreadStatus,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// A client that follows a thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Subscriber {
    /// The client's name, as it reported it.
    pub client: String,
    /// Whether the client receives the agent's questions as requests: it answers questions, and its role allows that.
    pub may_answer: bool,
    /// The principal whose credentials the client used.
    pub principal: String,
}

/// The other clients that follow a thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct SubscribersChanged {
    /// Number of further clients.
    pub more: u64,
    /// At most 32 of the other clients. Clients that answer questions come first, each group in order of arrival.
    pub others: Vec<Subscriber>,
    /// The member `threadId`.
    pub thread_id: String,
    /// Time of the notification, in milliseconds since the epoch.
    pub ts: u64,
}

/// A prompt that the agent suggests.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Suggestion {
    /// ACP content blocks: text, and links to resources. The texts have at most 4 KiB and no control characters.
    #[serde(deserialize_with = "crate::objects::of_agent")]
    pub prompt: Vec<AcpObject>,
}

/// Prompts that the agent suggests.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct SuggestionsUpdated {
    /// Absent, because suggestions are only shown live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// At most 8 suggestions, the most likely one first. An empty list withdraws those before.
    pub suggestions: Vec<Suggestion>,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The member `turnId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// A system prompt for a thread's agent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemPrompt {
    /// The instructions; at most 256 KiB.
    pub content: String,
    /// How the agent combines it with its own instructions; `append` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<SystemPromptMode>,
}

words! {
    /// How an agent combines a system prompt with its own instructions.
    SystemPromptMode {
        /// Adds it to its own instructions.
        Append = "append",
        /// Uses it instead of its own instructions.
        Override = "override",
    }
}

/// A command in a terminal.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TerminalCommand {
    /// The member `args`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// The member `command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The member `cwd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Exit code, if the command exited normally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The last part of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Blob with all kept output, at `GET /api/blobs/{outputBlob}`, if `output` is only the end of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_blob: Option<String>,
    /// The client whose user requested the command: `command` is the whole line then, without `args`. Absent for a command of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<By>,
    /// Whether the terminal of a waiting command does not show what is typed, as for a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<bool>,
    /// Name of the signal that terminated the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The member `terminalId`.
    pub terminal_id: String,
    /// Whether some of the output was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// The member `type`.
    pub r#type: TerminalCommandType,
    /// Whether the running command has been silent and waits for input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<bool>,
}

/// A command that ended.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TerminalCommandCompleted {
    /// The member `args`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// The client that acted instead of the daemon, or whose user requested the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// The member `command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The member `cwd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Exit code, if the command exited normally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The member `itemId`.
    pub item_id: String,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The member `outcome`.
    pub outcome: ItemOutcome,
    /// The last part of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Blob with all kept output, at `GET /api/blobs/{outputBlob}`, if `output` is only the end of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_blob: Option<String>,
    /// The client whose user requested the command: `command` is the whole line then, without `args`. Absent for a command of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<By>,
    /// Whether the terminal of a waiting command does not show what is typed, as for a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<bool>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// Name of the signal that terminated the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The member `terminalId`.
    pub terminal_id: String,
    /// The member `threadId`.
    pub thread_id: String,
    /// Whether some of the output was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The member `type`.
    pub r#type: TerminalCommandType,
    /// Whether the running command has been silent and waits for input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<bool>,
}

/// A command that started.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TerminalCommandStarted {
    /// The member `args`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// The client that acted instead of the daemon, or whose user requested the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// The member `command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The member `cwd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Exit code, if the command exited normally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The member `itemId`.
    pub item_id: String,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The last part of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Blob with all kept output, at `GET /api/blobs/{outputBlob}`, if `output` is only the end of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_blob: Option<String>,
    /// The member `parentItemId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_item_id: Option<String>,
    /// The client whose user requested the command: `command` is the whole line then, without `args`. Absent for a command of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<By>,
    /// Whether the terminal of a waiting command does not show what is typed, as for a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<bool>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// Name of the signal that terminated the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The member `terminalId`.
    pub terminal_id: String,
    /// The member `threadId`.
    pub thread_id: String,
    /// Whether some of the output was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The member `type`.
    pub r#type: TerminalCommandType,
    /// Whether the running command has been silent and waits for input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<bool>,
}

words! {
    /// The words of `TerminalCommandType`.
    TerminalCommandType {
        /// `terminalCommand`
        TerminalCommand = "terminalCommand",
    }
}

/// A terminal.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TerminalNamed {
    /// The client that acted instead of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// The member `itemId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `terminalId`.
    pub terminal_id: String,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// Output of a command in a terminal.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TerminalOutput {
    /// The member `itemId`.
    pub item_id: String,
    /// Number of the event; absent if the output is only shown live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Number of bytes before `text` that were omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped_bytes: Option<u64>,
    /// The member `terminalId`.
    pub terminal_id: String,
    /// The member `text`.
    pub text: String,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The member `turnId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// A terminal that waits for input.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TerminalWaiting {
    /// The member `itemId`.
    pub item_id: String,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// Whether the terminal does not show what is typed, as for a password.
    pub secret: bool,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `terminalId`.
    pub terminal_id: String,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// Params of `notification/test`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestNotifications {
    /// Name of the target, as in `notification/list`; all targets if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// A search hit.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TextFound {
    /// The member `itemId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// The member `kind`.
    pub kind: TextKind,
    /// The thread's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of the event that contains the text.
    #[serde(default)]
    pub seq: u64,
    /// An extract of the text: one line, in pieces. An ellipsis marks omitted text.
    #[serde(default)]
    pub snippet: Vec<SnippetPiece>,
    /// The member `threadId`.
    pub thread_id: String,
    /// Time of that event, in milliseconds since the epoch.
    #[serde(default)]
    pub ts: i64,
    /// The member `turnId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

words! {
    /// Type of a text.
    TextKind {
        /// A message of the user.
        UserMessage = "userMessage",
        /// The agent's answer.
        AgentMessage = "agentMessage",
        /// The title of a tool call.
        ToolCall = "toolCall",
        /// A command line.
        Command = "command",
        /// File paths.
        Path = "path",
    }
}

/// A page of search hits.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TextsFound {
    /// The member `data`.
    #[serde(default)]
    pub data: Vec<TextFound>,
    /// Cursor for the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A thread with its current state.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// Additional directories of the workspace.
    #[serde(default)]
    pub additional_directories: Vec<String>,
    /// Name of the agent, as in `agent/list`.
    pub agent_type: String,
    /// Whether the thread is archived.
    #[serde(default)]
    pub archived: bool,
    /// ACP's `available_commands_update` with the agent's commands.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub available_commands_update: Option<AcpObject>,
    /// ACP's `SessionConfigOption` objects.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub config_options: Option<Vec<AcpObject>>,
    /// When the thread was created or forked, in milliseconds since the epoch.
    #[serde(default)]
    pub created_at: u64,
    /// Cursor for older turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Absolute path of the working directory.
    pub cwd: String,
    /// Why the status is `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Id of the thread.
    pub id: String,
    /// Whether the running turn was interrupted and has not ended yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupting: Option<bool>,
    /// Whether the last turn was interrupted by an error, such as a restart of acpd, and not by a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_cut_off: Option<bool>,
    /// Status of the last ended turn; absent if there was none, or if it was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_status: Option<TurnStatus>,
    /// Number of the thread's last event.
    #[serde(default)]
    pub latest_seq: u64,
    /// The editor that answers the agent's client requests; if absent, the daemon answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseHolder>,
    /// Arbitrary data that the client stored with the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Id of the agent's current mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_id: Option<String>,
    /// ACP's `SessionModeState`, as it was when the session was opened.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub modes: Option<AcpObject>,
    /// The name that a user set, else the agent's title, else the beginning of the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Ids of open questions.
    #[serde(default)]
    pub pending_request_ids: Vec<String>,
    /// The place that a user has chosen for the pinned thread. Clients list those without a place first, then the lowest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin_place: Option<u64>,
    /// Whether a user pinned the thread. Clients list pinned threads first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// The plan with steps that changed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Vec<PlanEntry>>,
    /// All plans, in the order in which they came. Absent if `plan` is the only one, and has no id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plans: Option<Vec<Plan>>,
    /// The thread's own permission policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Json>,
    /// Project id that the client chose to group threads by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The oldest unanswered question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<WaitingQuestion>,
    /// Whether no queued turn starts by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_paused: Option<bool>,
    /// Ids of queued turns.
    #[serde(default)]
    pub queued_turn_ids: Vec<String>,
    /// In `thread/list`: the principal of the connection has seen all changes until then, in milliseconds since the epoch. The thread is unread if `updatedAt` is later. Absent if the principal has never called `thread/seen/set`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<u64>,
    /// The agent's id for its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// What the thread has used, with all sessions of its agent, also of dropped turns. Absent if its agents have reported nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<UsageSum>,
    /// The member `status`.
    pub status: ThreadStatus,
    /// Messages for the running turn that the agent has not taken yet, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steering: Option<Vec<PendingSteering>>,
    /// The member `tokenUsage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    /// Number of turns in the conversation. Dropped turns do not count.
    #[serde(default)]
    pub turn_count: u64,
    /// Id of the running turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The latest turns, oldest first, if the request includes turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Vec<Turn>>,
    /// When a turn last started or ended, in milliseconds since the epoch.
    #[serde(default)]
    pub updated_at: u64,
}

/// No params.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadArchiveParams {
    /// Id of the thread.
    pub thread_id: String,
}

/// A change of the thread, with its originator.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ThreadChanged {
    /// The member `by`.
    pub by: By,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// Params of `thread/command/run`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCommandRunParams {
    /// The command line, at most 64 KiB.
    pub command: String,
    /// Id of the thread.
    pub thread_id: String,
}

/// Params of `thread/config/set`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadConfigSetParams {
    /// Id of one of the agent's config options.
    pub config_id: String,
    /// Id of the thread.
    pub thread_id: String,
    /// Id of one of a select option's values, or a boolean.
    pub value: ConfigValue,
}

/// No params.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadDeleteParams {
    /// Id of the thread.
    pub thread_id: String,
}

/// A deleted thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ThreadDeleted {
    /// The member `by`.
    pub by: By,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `session`.
    pub session: SessionDeleted,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// Params of `thread/directories/add`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadDirectoriesAddParams {
    /// The directory, an absolute path on the daemon's host without links, such as `folder` of a notice.
    pub directory: String,
    /// Id of the thread.
    pub thread_id: String,
}

/// Params of `thread/directories/set`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadDirectoriesSetParams {
    /// Further directories of the workspace. By default, those inside the earlier working directory move along, and the others stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_directories: Option<Vec<String>>,
    /// The working directory, an absolute path on the daemon's host.
    pub cwd: String,
    /// Id of the thread.
    pub thread_id: String,
}

/// Params of `thread/fork`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadForkParams {
    /// Name of the new thread; by default, the name of this thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Id of the thread.
    pub thread_id: String,
    /// Id of the last turn to copy; by default, the last turn that is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// The origin of a forked thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ThreadForked {
    /// The member `by`.
    pub by: By,
    /// How well the agent remembers, if it opens the fork of its session. The answer to `thread/fork` says whether it has.
    pub fidelity: Fidelity,
    /// The member `fromThreadId`.
    pub from_thread_id: String,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The last turn that was copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_id: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The agent's id for the fork of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// The new thread of a fork.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ThreadForkedResult {
    /// The member `fidelity`.
    pub fidelity: Fidelity,
    /// The member `thread`.
    pub thread: Thread,
}

/// One thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ThreadFound {
    /// The member `thread`.
    pub thread: Thread,
}

/// No params.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadLanesParams {
    /// Id of the thread.
    pub thread_id: String,
}

/// The same as [`ListThreads`].
pub type ThreadListParams = ListThreads;

/// The same as [`NoParams`].
pub type ThreadListUnwatchParams = NoParams;

/// The same as [`NoParams`].
pub type ThreadListWatchParams = NoParams;

/// A new thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ThreadMade {
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `thread`.
    pub thread: NewThread,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// Params of `thread/metadata/set`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadMetadataSetParams {
    /// The new data, at most 64 KiB; `null` removes the data.
    pub metadata: Json,
    /// Id of the thread.
    pub thread_id: String,
}

/// Params of `thread/mode/set`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadModeSetParams {
    /// Id of one of the agent's modes.
    pub mode_id: String,
    /// Id of the thread.
    pub thread_id: String,
}

/// Params of `thread/name/set`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadNameSetParams {
    /// The new name, at most 1024 bytes; `null` removes it.
    pub name: Option<String>,
    /// Id of the thread.
    pub thread_id: String,
}

/// Params of `thread/pin/set`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPinSetParams {
    /// Whether the thread is pinned from now on.
    pub pinned: bool,
    /// The thread's place among the pinned threads, the lowest first; by default, it keeps the one that it has. Without a pin it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
    /// Id of the thread.
    pub thread_id: String,
}

/// Params of `thread/policy/set`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPolicySetParams {
    /// A preset's name or an object. If absent or `null`, removes the thread's own policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Json>,
    /// Id of the thread.
    pub thread_id: String,
}

/// Params of `thread/read`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadReadParams {
    /// `thread.cursor` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Whether the result contains turns and items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_turns: Option<bool>,
    /// Maximum number of turns. A page has at most about 1 MiB; the earlier items of a turn that is too large for it are on the next page, in a turn with the same id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Id of the thread.
    pub thread_id: String,
}

/// Params of `thread/resume`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadResumeParams {
    /// Number of the last event that the client has received; 0 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Maximum number of turns in the result, if `after` is absent. A page has at most about 1 MiB; the earlier items of a turn that is too large for it are on the next page, in a turn with the same id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Whether to start the agent now; by default, it is started, so that the next turn begins sooner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_agent: Option<bool>,
    /// Id of the thread.
    pub thread_id: String,
}

/// The subscribed thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ThreadResumed {
    /// Number of the thread's last event. Later events follow as notifications.
    #[serde(default)]
    pub latest_seq: u64,
    /// The member `thread`.
    pub thread: Thread,
}

/// Params of `thread/rollback`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRollbackParams {
    /// Id of the thread.
    pub thread_id: String,
    /// Id of the last turn to keep; `null` keeps none.
    pub turn_id: Option<String>,
}

/// The same as [`SearchThreads`].
pub type ThreadSearchParams = SearchThreads;

/// The same as [`SetSeen`].
pub type ThreadSeenSetParams = SetSeen;

/// A link with which anyone can read one thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ThreadShare {
    /// The member `createdAt`.
    #[serde(default)]
    pub created_at: i64,
    /// Name of the token that made it.
    pub created_by: String,
    /// The link ends then, or when the token that made it does.
    #[serde(default)]
    pub expires_at: i64,
    /// Id of the link, which is not secret.
    pub id: String,
    /// Its name, for the list of links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The thread that it shares.
    pub thread_id: String,
}

/// Params of `thread/share/create`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadShareCreateParams {
    /// Seconds until the link expires, from 60 to 31,536,000 (a year); 604,800 (7 days) if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_secs: Option<u64>,
    /// A name for the list of links, at most 100 bytes. Readers of the thread do not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Id of the thread.
    pub thread_id: String,
}

/// The same as [`ListShares`].
pub type ThreadShareListParams = ListShares;

/// The same as [`RevokeShare`].
pub type ThreadShareRevokeParams = RevokeShare;

/// The same as [`StartThread`].
pub type ThreadStartParams = StartThread;

/// The new thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ThreadStarted {
    /// The member `thread`.
    pub thread: Thread,
    /// The first turn, if the params contain one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
}

words! {
    /// What a thread is doing.
    ThreadStatus {
        /// No turn is running.
        Idle = "idle",
        /// A turn is running.
        Running = "running",
        /// A turn is running and waits for a user.
        Waiting = "waiting",
        /// The thread is being deleted.
        Deleting = "deleting",
        /// The thread's log cannot be written, or part of it cannot be read; `error` says why.
        Failed = "failed",
    }
}

/// The summary of a thread, as lists show it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ThreadSummary {
    /// Name of the agent, as in `agent/list`.
    pub agent_type: String,
    /// Whether the thread is archived.
    #[serde(default)]
    pub archived: bool,
    /// When the thread was created or forked, in milliseconds since the epoch.
    #[serde(default)]
    pub created_at: u64,
    /// Absolute path of the working directory.
    pub cwd: String,
    /// Why the status is `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Id of the thread.
    pub id: String,
    /// Whether the last turn was interrupted by an error, such as a restart of acpd, and not by a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_cut_off: Option<bool>,
    /// Status of the last ended turn; absent if there was none, or if it was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_status: Option<TurnStatus>,
    /// Arbitrary data that the client stored with the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The name that a user set, else the agent's title, else the beginning of the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The place that a user has chosen for the pinned thread. Clients list those without a place first, then the lowest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin_place: Option<u64>,
    /// Whether a user pinned the thread. Clients list pinned threads first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// Project id that the client chose to group threads by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The oldest unanswered question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<WaitingQuestion>,
    /// In `thread/list`: the principal of the connection has seen all changes until then, in milliseconds since the epoch. The thread is unread if `updatedAt` is later. Absent if the principal has never called `thread/seen/set`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<u64>,
    /// The member `status`.
    pub status: ThreadStatus,
    /// Number of turns in the conversation. Dropped turns do not count.
    #[serde(default)]
    pub turn_count: u64,
    /// When a turn last started or ended, in milliseconds since the epoch.
    #[serde(default)]
    pub updated_at: u64,
}

/// Params of `thread/terminal/kill`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTerminalKillParams {
    /// Id of the terminal, as in its item.
    pub terminal_id: String,
    /// Id of the thread.
    pub thread_id: String,
}

/// Params of `thread/terminal/write`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTerminalWriteParams {
    /// Id of the terminal, as in its item.
    pub terminal_id: String,
    /// What the user types, at most 2048 bytes. `\n` ends a line, U+0004 ends the input, and U+0003 interrupts the program.
    pub text: String,
    /// Id of the thread.
    pub thread_id: String,
}

/// No params.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnarchiveParams {
    /// Id of the thread.
    pub thread_id: String,
}

/// No params.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnsubscribeParams {
    /// Id of the thread.
    pub thread_id: String,
}

/// Changed properties of a thread.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ThreadUpdated {
    /// A session was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentBound>,
    /// ACP's `available_commands_update`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub available_commands_update: Option<AcpObject>,
    /// The originator of the change of the name, the data, the pin or the directories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// ACP's `config_option_update`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub config_option_update: Option<AcpObject>,
    /// The directories that the thread works in from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directories: Option<Directories>,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The client's own data; `null` if it was removed.
    #[serde(default, deserialize_with = "crate::objects::present", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Option<Json>>,
    /// Id of the new mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_id: Option<String>,
    /// Id of the new model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// The thread's name; `null` if it was removed.
    #[serde(default, deserialize_with = "crate::objects::present", skip_serializing_if = "Option::is_none")]
    pub name: Option<Option<String>>,
    /// With `pinned`: the thread's place among the pinned threads from now on, the lowest first; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin_place: Option<u64>,
    /// Whether the thread is pinned from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// The thread's own policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Json>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// Parameters with which a client wants the agent's session to be opened from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionParams>,
    /// ACP's `session_info_update`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub session_info: Option<AcpObject>,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// A page of threads.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ThreadsListed {
    /// The member `data`.
    #[serde(default)]
    pub data: Vec<ThreadSummary>,
    /// Cursor for the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Where the principal begins.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ThreadsSeen {
    /// Changes of all threads until then count as seen, in milliseconds since the epoch.
    #[serde(default)]
    pub since: u64,
}

/// Usage of the agent's context.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// ACP's `Cost`: what the agent's session has cost, as the agent reported it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub cost: Option<AcpObject>,
    /// Tokens that fit into the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Tokens in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
}

/// Usage of the agent's context.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TokenUsageUpdated {
    /// ACP's `Cost`: what the agent's session has cost, as the agent reported it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub cost: Option<AcpObject>,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// What the thread has cost in this currency, with all sessions of its agent, as ACP's `Cost`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub thread_cost: Option<AcpObject>,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The member `used`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// ACP's `ToolKind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The same as `title`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The member `status`.
    pub status: ToolStatus,
    /// The agent's title for the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The ACP tool call with all its updates applied.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub tool_call: Option<AcpObject>,
    /// The agent's id for the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The member `type`.
    pub r#type: ToolCallType,
}

/// A tool call that ended.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ToolCallCompleted {
    /// The member `itemId`.
    pub item_id: String,
    /// ACP's `ToolKind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The same as `title`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The member `outcome`.
    pub outcome: ItemOutcome,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `status`.
    pub status: ToolStatus,
    /// The member `threadId`.
    pub thread_id: String,
    /// The agent's title for the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The ACP tool call with all its updates applied.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub tool_call: Option<AcpObject>,
    /// The agent's id for the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The member `type`.
    pub r#type: ToolCallType,
}

/// A tool call that started.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ToolCallStarted {
    /// The member `itemId`.
    pub item_id: String,
    /// ACP's `ToolKind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The same as `title`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The member `parentItemId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_item_id: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `status`.
    pub status: ToolStatus,
    /// The member `threadId`.
    pub thread_id: String,
    /// The agent's title for the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The ACP tool call with all its updates applied.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub tool_call: Option<AcpObject>,
    /// The agent's id for the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The member `type`.
    pub r#type: ToolCallType,
}

words! {
    /// The words of `ToolCallType`.
    ToolCallType {
        /// `toolCall`
        ToolCall = "toolCall",
    }
}

/// A change of a tool call.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ToolCallUpdated {
    /// The member `itemId`.
    pub item_id: String,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `status`.
    pub status: ToolStatus,
    /// The member `threadId`.
    pub thread_id: String,
    /// ACP's `tool_call_update`. Absent members are unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub tool_call: Option<AcpObject>,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

words! {
    /// ACP's tool call status.
    ToolStatus {
        /// The call has not started.
        Pending = "pending",
        /// It is running.
        InProgress = "in_progress",
        /// The call finished.
        Completed = "completed",
        /// The call failed.
        Failed = "failed",
    }
}

/// One prompt and everything that the agent did until the turn ended; or commands that users ran in between.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Answers to questions, in order; only if the request includes turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<PlacedAnswer>>,
    /// The size of the turn's diff, which `turn/diff/read` returns. Absent if the turn has changed no file, while it runs, and in logs from before this member existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<DiffSize>,
    /// The client's own id for the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_turn_id: Option<String>,
    /// Milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<u64>,
    /// Why the turn failed, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Id of the turn. Items outside of any turn are in a turn without an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether the turn took place in the agent's session outside of acpd and was imported. It is already over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<bool>,
    /// ACP content blocks of the prompt, while the turn is queued, and if it ended without a start.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub input: Option<Vec<AcpObject>>,
    /// Items in the order in which they started; only if the request includes turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<Item>>,
    /// Notices, in order; only if the request includes turns. There are at most 16 notices and answers after an item, and after the end of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notices: Option<Vec<PlacedNotice>>,
    /// Number of calls that the policy allowed without a permission request. Absent in logs from before this member existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permitted: Option<u64>,
    /// The plan with steps that the agent changed last in the turn; only if the request includes turns. Absent in logs from before this member existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Vec<PlanEntry>>,
    /// All plans that the agent changed in the turn, in the order in which they came; only if the request includes turns. Absent if `plan` is the only one, and has no id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plans: Option<Vec<Plan>>,
    /// Milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
    /// The member `status`.
    pub status: TurnStatus,
    /// ACP's stop reason, as the agent sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The token usage that the agent reported.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub token_usage: Option<AcpObject>,
    /// Milliseconds in which a question waited for its answer; while the turn runs, without the present wait. The rest of the turn's time is that of the agent. Absent for none, and in logs from before this member existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
    /// When the present wait began, in milliseconds since the epoch. Only while the turn runs and a question is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<u64>,
}

/// A turn.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TurnChanged {
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The member `turn`.
    pub turn: Turn,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// A turn that has ended.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TurnCompleted {
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// The member `tokenUsage`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub token_usage: Option<AcpObject>,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The member `turn`.
    pub turn: Turn,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// The diff of a turn.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TurnDiffRead {
    /// Unified diff of all files that the turn changed.
    pub diff: String,
}

/// Params of `turn/diff/read`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnDiffReadParams {
    /// Id of the thread.
    pub thread_id: String,
    /// Id of the turn.
    pub turn_id: String,
}

/// Params of `turn/interrupt`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnInterruptParams {
    /// Whether to terminate the agent instead of waiting for it. Also for a turn that was interrupted before.
    #[serde(default)]
    pub at_once: bool,
    /// Whether to pause the queue, so that no queued turn starts after the running one.
    #[serde(default)]
    pub pause_queue: bool,
    /// Id of the thread.
    pub thread_id: String,
    /// Id of the turn; by default, the running turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// The originator of the interruption.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TurnInterrupting {
    /// The member `by`.
    pub by: By,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// Params of `turn/queue/arrange`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnQueueArrangeParams {
    /// Whether no queued turn starts by itself; if absent, that does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Id of the thread.
    pub thread_id: String,
    /// Ids of the turns that come first, in this order. Turns that are not queued any more are ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turn_ids: Vec<String>,
}

/// Params of `turn/queue/edit`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnQueueEditParams {
    /// Plain text, or ACP content blocks.
    pub content: Words,
    /// Id of the thread.
    pub thread_id: String,
    /// Id of the queued turn.
    pub turn_id: String,
}

/// Params of `turn/queue/steer`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnQueueSteerParams {
    /// Id of the thread.
    pub thread_id: String,
    /// Id of the queued turn.
    pub turn_id: String,
}

/// Params of `turn/start`, with at least one of `text` and `input`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnStartParams {
    /// `_meta` of the prompt, which the agent receives unchanged. `traceparent` and `tracestate` in it are W3C trace context.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub meta: Option<AcpObject>,
    /// The client's own id for the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_turn_id: Option<String>,
    /// ACP content blocks.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::objects::of_agent")]
    pub input: Option<Vec<AcpObject>>,
    /// Id of an earlier turn that this prompt replaces. It and all later turns leave the conversation first, as by `thread/rollback`; if that or the prompt is refused, nothing changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces_turn_id: Option<String>,
    /// Plain text, placed before `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Id of the thread.
    pub thread_id: String,
}

/// The running or queued turn.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TurnStartedResult {
    /// The member `turn`.
    pub turn: Turn,
}

words! {
    /// Status of a turn.
    TurnStatus {
        /// The turn waits for the turns before it.
        Queued = "queued",
        /// It is running.
        Running = "running",
        /// The agent ended the turn normally.
        Completed = "completed",
        /// A client interrupted the turn.
        Interrupted = "interrupted",
        /// The turn failed; `error` says why.
        Failed = "failed",
        /// The agent refused to continue.
        Refused = "refused",
        /// The turn reached a limit of the model or of the agent.
        Limited = "limited",
    }
}

/// Params of `turn/steer`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnSteerParams {
    /// Plain text, or ACP content blocks.
    pub content: Words,
    /// Id of the thread.
    pub thread_id: String,
    /// Id of the turn to steer. Returns `conflict` if it is not the running turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// What happened to the message.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TurnSteered {
    /// The member `delivery`.
    pub delivery: Delivery,
    /// Id of the turn that the message belongs to.
    pub turn_id: String,
}

/// A message for the running turn.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TurnSteering {
    /// The member `by`.
    pub by: By,
    /// ACP content blocks.
    #[serde(deserialize_with = "crate::objects::of_agent")]
    pub content: Vec<AcpObject>,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `text`.
    pub text: String,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// Result of a rollback.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TurnsRolledBack {
    /// The member `by`.
    pub by: By,
    /// The member `fidelity`.
    pub fidelity: Fidelity,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The last turn that is kept; `null` if no turn is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_kept_turn_id: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// Result of `thread/unsubscribe`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Unsubscribed {
    /// `unsubscribed` or `notSubscribed`.
    pub status: String,
}

words! {
    /// What the rows of `usage/read` are.
    UsageBy {
        /// Days, in UTC.
        Day = "day",
        /// Agents, by name.
        Agent = "agent",
        /// Threads.
        Thread = "thread",
        /// Working directories.
        Folder = "folder",
    }
}

/// Result of `usage/read`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct UsageRead {
    /// Number of currencies that the total leaves out: a sum has the 8 that most threads report.
    #[serde(default)]
    pub currencies_omitted: u64,
    /// Days from the last, other rows from the most expensive. Rows without usage are left out.
    #[serde(default)]
    pub data: Vec<UsageRow>,
    /// The first day, such as `2026-11-01`, in UTC.
    pub first_day: String,
    /// The last day: today.
    pub last_day: String,
    /// Number of rows that are left out, because there are too many.
    #[serde(default)]
    pub omitted: u64,
    /// What all threads have used in these days.
    pub total: UsageSum,
}

/// The same as [`ReadUsage`].
pub type UsageReadParams = ReadUsage;

/// What a part of the threads has used.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct UsageRow {
    /// The agent of the threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// The working directory of the threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The day, such as `2026-11-29`, in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// The thread's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The member `spent`.
    pub spent: UsageSum,
    /// The thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
}

/// Tokens and costs, as agents reported them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct UsageSum {
    /// Costs, one for each currency.
    #[serde(default)]
    pub costs: Vec<CostSum>,
    /// Tokens of prompts and of what agents read.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens that agents wrote.
    #[serde(default)]
    pub output_tokens: u64,
    /// All tokens, also those of caches and thoughts.
    #[serde(default)]
    pub total_tokens: u64,
}

/// A message of the user.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    /// ACP content blocks.
    #[serde(deserialize_with = "crate::objects::of_agent")]
    pub content: Vec<AcpObject>,
    /// The member `itemId`.
    pub item_id: String,
    /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The event's number in its thread: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// The member `text`.
    pub text: String,
    /// The member `threadId`.
    pub thread_id: String,
    /// Milliseconds since the epoch.
    pub ts: u64,
    /// The turn in which the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// Result of `user/present`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct UserPresent {
    /// The time in which no client of the principal was in front, if that is 5 minutes or more. Only the client that comes back first receives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away: Option<Absence>,
}

/// The same as [`NoParams`].
pub type UserPresentParams = NoParams;

/// An environment variable.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    /// Name of the variable.
    pub name: String,
    /// Value of the variable.
    pub value: String,
}

/// A question that waits for an answer, as lists show it. `item/approve` needs nothing else.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct WaitingQuestion {
    /// When the agent asked, in milliseconds since the epoch; absent if an older version of acpd stored the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<u64>,
    /// The subagent that asks, as sentences name it: `Subagent "review"`. Absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asker: Option<String>,
    /// Number of further unanswered questions of the thread.
    #[serde(default)]
    pub more: u64,
    /// The answers that the agent offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<PermissionOption>>,
    /// The member `requestId`.
    pub request_id: String,
    /// The effects of the call. `subjects` and `options` are absent if they are longer than 4 KiB together, or if no effect is known: the question has to be opened before it is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subjects: Option<Vec<CallSubject>>,
    /// The title of the permission request, or the agent's message; the first 512 bytes.
    pub title: String,
    /// The member `type`.
    pub r#type: QuestionType,
}

/// Plain text, or ACP content blocks. Plain text becomes one block.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Words {
    /// A `String`.
    Text(String),
    /// A `Vec<AcpObject>`.
    List(Vec<AcpObject>),
    /// What this version of the client does not know.
    #[serde(untagged)]
    Unrecognized(Value),
}

/// A notification of the daemon: an event of a thread, or news of the daemon.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "most notifications are read at once, and dropped")]
pub enum Notification {
    /// An unknown message from the agent, unchanged.
    ///
    /// Method `agent/notification`.
    AgentNotification(AgentNotification),
    /// Text or a content block was added to a message.
    ///
    /// Method `item/agentMessage/delta`.
    ItemAgentMessageDelta(Delta),
    /// Text or a content block was added to a thought.
    ///
    /// Method `item/agentThought/delta`.
    ItemAgentThoughtDelta(Delta),
    /// A message or thought is complete.
    ///
    /// Method `item/completed`.
    ItemCompleted(MessageCompleted),
    /// A file change ended, successfully or not.
    ///
    /// Method `item/fileChange/completed`.
    ItemFileChangeCompleted(FileChangeCompleted),
    /// A file change started.
    ///
    /// Method `item/fileChange/started`.
    ItemFileChangeStarted(FileChangeStarted),
    /// A message or thought started.
    ///
    /// Method `item/started`.
    ItemStarted(MessageStarted),
    /// A command in a terminal ended.
    ///
    /// Method `item/terminalCommand/completed`.
    ItemTerminalCommandCompleted(TerminalCommandCompleted),
    /// A command in a terminal wrote output. Output that is only shown live has no `seq`.
    ///
    /// Method `item/terminalCommand/output`.
    ItemTerminalCommandOutput(TerminalOutput),
    /// A command in a terminal started.
    ///
    /// Method `item/terminalCommand/started`.
    ItemTerminalCommandStarted(TerminalCommandStarted),
    /// A tool call ended.
    ///
    /// Method `item/toolCall/completed`.
    ItemToolCallCompleted(ToolCallCompleted),
    /// A tool call started.
    ///
    /// Method `item/toolCall/started`.
    ItemToolCallStarted(ToolCallStarted),
    /// A tool call changed.
    ///
    /// Method `item/updated`.
    ItemUpdated(ToolCallUpdated),
    /// A message of the user, from this client, another client or the agent's own history.
    ///
    /// Method `item/userMessage`.
    ItemUserMessage(UserMessage),
    /// The agent called a method without a permission request, and the policy allowed it.
    ///
    /// Method `policy/permitted`.
    PolicyPermitted(Permitted),
    /// An answer was remembered.
    ///
    /// Method `policy/remembered`.
    PolicyRemembered(Remembered),
    /// A remembered answer was revoked.
    ///
    /// Method `policy/revoked`.
    PolicyRevoked(Revoked),
    /// The client's response to a question was refused. Sent only to that client.
    ///
    /// Method `serverRequest/rejected`.
    ServerRequestRejected(Rejected),
    /// A question was answered, or needs no answer any more.
    ///
    /// Method `serverRequest/resolved`.
    ServerRequestResolved(Resolved),
    /// The thread was archived.
    ///
    /// Method `thread/archived`.
    ThreadArchived(ThreadChanged),
    /// The thread and its log are deleted. No event follows.
    ///
    /// Method `thread/deleted`.
    ThreadDeleted(ThreadDeleted),
    /// The agent read a file.
    ///
    /// Method `thread/file/read`.
    ThreadFileRead(FileTouched),
    /// The agent wrote a file.
    ///
    /// Method `thread/file/written`.
    ThreadFileWritten(FileWritten),
    /// The thread was forked from another thread. All events before this one are shared with that thread, or end what concerned that thread alone.
    ///
    /// Method `thread/forked`.
    ThreadForked(ThreadForked),
    /// A subagent was reported or has changed. Contains only what has changed.
    ///
    /// Method `thread/lane/updated`.
    ThreadLaneUpdated(LaneUpdated),
    /// The lease moved: another editor, or the daemon, answers the agent's client requests (files, terminals).
    ///
    /// Method `thread/lease/moved`.
    ThreadLeaseMoved(LeaseMoved),
    /// Sent to connections that watch the thread list when a thread is created, deleted or changes its list entry. Not an event of the thread: it has no `seq`, and intermediate changes are omitted.
    ///
    /// Method `thread/list/changed`.
    ThreadListChanged(ListChanged),
    /// Sent to a connection that missed changes of the thread list and must request it again. The watch continues.
    ///
    /// Method `thread/list/reset`.
    ThreadListReset(ListReset),
    /// Sent to connections that watch the thread list when their own principal has marked threads as seen, on this connection or another one. Not an event of the thread: it has no `seq`.
    ///
    /// Method `thread/list/seen`.
    ThreadListSeen(SeenChanged),
    /// Sent to subscribers when the daemon cannot write the thread's log, or can write it again. Until then the thread accepts no changes, and work that is not in the log is lost. Not an event of the thread: it has no `seq`.
    ///
    /// Method `thread/log/changed`.
    ThreadLogChanged(LogChanged),
    /// Sent to a subscriber in place of events that cannot be read, because their part of the log is damaged. `seq` is the number of the last one.
    ///
    /// Method `thread/log/damaged`.
    ThreadLogDamaged(LogDamaged),
    /// A notice for the user.
    ///
    /// Method `thread/notice`.
    ThreadNotice(Notice),
    /// Turns were dropped and are no longer part of the conversation.
    ///
    /// Method `thread/rolledBack`.
    ThreadRolledBack(TurnsRolledBack),
    /// A thread was created.
    ///
    /// Method `thread/started`.
    ThreadStarted(ThreadMade),
    /// The status of the thread changed: a turn started, ended, or waits for a user.
    ///
    /// Method `thread/status/changed`.
    ThreadStatusChanged(StatusChanged),
    /// Sent to subscribers with `capabilities.subscribers`: the other clients that follow the thread. Sent at the start and whenever a client joins or leaves, possibly without a change. Not an event of the thread: it has no `seq`.
    ///
    /// Method `thread/subscribers/changed`.
    ThreadSubscribersChanged(SubscribersChanged),
    /// The prompts that the agent suggests for the next turn changed. They are only shown live, so it has no `seq`: a new subscriber receives the current ones behind the events that it missed. The next prompt, and the end of the agent's process, withdraw them.
    ///
    /// Method `thread/suggestions/updated`.
    ThreadSuggestionsUpdated(SuggestionsUpdated),
    /// A user types into a terminal, or, without `by`, the daemon ended the input of a command that waited for long.
    ///
    /// Method `thread/terminal/input`.
    ThreadTerminalInput(TerminalNamed),
    /// The agent, or a user, terminated the command in a terminal.
    ///
    /// Method `thread/terminal/killed`.
    ThreadTerminalKilled(TerminalNamed),
    /// The agent released a terminal.
    ///
    /// Method `thread/terminal/released`.
    ThreadTerminalReleased(TerminalNamed),
    /// A silent command in a terminal waits for input. The wait ends with the next output, input or exit.
    ///
    /// Method `thread/terminal/waiting`.
    ThreadTerminalWaiting(TerminalWaiting),
    /// The usage of the agent's context changed.
    ///
    /// Method `thread/tokenUsage/updated`.
    ThreadTokenUsageUpdated(TokenUsageUpdated),
    /// The thread was unarchived.
    ///
    /// Method `thread/unarchived`.
    ThreadUnarchived(ThreadChanged),
    /// Properties of the thread changed. Contains only the changed ones.
    ///
    /// Method `thread/updated`.
    ThreadUpdated(ThreadUpdated),
    /// A turn ended.
    ///
    /// Method `turn/completed`.
    TurnCompleted(TurnCompleted),
    /// The unified diff of the whole turn changed. While the turn runs, it is only shown live and has no `seq`.
    ///
    /// Method `turn/diff/updated`.
    TurnDiffUpdated(DiffUpdated),
    /// A turn is being interrupted.
    ///
    /// Method `turn/interrupting`.
    TurnInterrupting(TurnInterrupting),
    /// The agent removed a plan, or the daemon did, because the thread has more than 64 plans, or 1 MiB of them.
    ///
    /// Method `turn/plan/removed`.
    TurnPlanRemoved(PlanRemoved),
    /// The agent replaced a whole plan: the one with this id, or the one without an id. An empty plan counts too.
    ///
    /// Method `turn/plan/updated`.
    TurnPlanUpdated(PlanUpdated),
    /// The queue was reordered, paused or continued.
    ///
    /// Method `turn/queue/changed`.
    TurnQueueChanged(QueueChanged),
    /// A prompt was queued until the turns before it are over, or the prompt of a queued turn was replaced.
    ///
    /// Method `turn/queued`.
    TurnQueued(TurnChanged),
    /// A turn started.
    ///
    /// Method `turn/started`.
    TurnStarted(TurnChanged),
    /// A client sent a message during the running turn, and the daemon passed it on to the agent. Once the agent has accepted it, it follows as a message of the turn.
    ///
    /// Method `turn/steering`.
    TurnSteering(TurnSteering),
    /// Asks whether the agent may run a command.
    ///
    /// Method `item/commandExecution/requestApproval`.
    ItemCommandExecutionRequestApproval(Approval),
    /// Asks whether the agent may change a file.
    ///
    /// Method `item/fileChange/requestApproval`.
    ItemFileChangeRequestApproval(Approval),
    /// Asks whether the agent may make any other tool call.
    ///
    /// Method `item/permissions/requestApproval`.
    ItemPermissionsRequestApproval(Approval),
    /// The agent requests information from the user.
    ///
    /// Method `item/tool/requestUserInput`.
    ItemToolRequestUserInput(InputWanted),
    /// A notification that this version of the client does not know, or whose params it cannot read.
    Unrecognized {
        /// Name of the method.
        method: String,
        /// The params, unchanged.
        params: Value,
    },
}

impl Notification {
    /// Reads the params of a notification.
    pub(crate) fn read(method: &str, params: &RawValue) -> Self {
        let known = match method {
            "agent/notification" => read(params).map(Self::AgentNotification).ok(),
            "item/agentMessage/delta" => read(params).map(Self::ItemAgentMessageDelta).ok(),
            "item/agentThought/delta" => read(params).map(Self::ItemAgentThoughtDelta).ok(),
            "item/completed" => read(params).map(Self::ItemCompleted).ok(),
            "item/fileChange/completed" => read(params).map(Self::ItemFileChangeCompleted).ok(),
            "item/fileChange/started" => read(params).map(Self::ItemFileChangeStarted).ok(),
            "item/started" => read(params).map(Self::ItemStarted).ok(),
            "item/terminalCommand/completed" => read(params).map(Self::ItemTerminalCommandCompleted).ok(),
            "item/terminalCommand/output" => read(params).map(Self::ItemTerminalCommandOutput).ok(),
            "item/terminalCommand/started" => read(params).map(Self::ItemTerminalCommandStarted).ok(),
            "item/toolCall/completed" => read(params).map(Self::ItemToolCallCompleted).ok(),
            "item/toolCall/started" => read(params).map(Self::ItemToolCallStarted).ok(),
            "item/updated" => read(params).map(Self::ItemUpdated).ok(),
            "item/userMessage" => read(params).map(Self::ItemUserMessage).ok(),
            "policy/permitted" => read(params).map(Self::PolicyPermitted).ok(),
            "policy/remembered" => read(params).map(Self::PolicyRemembered).ok(),
            "policy/revoked" => read(params).map(Self::PolicyRevoked).ok(),
            "serverRequest/rejected" => read(params).map(Self::ServerRequestRejected).ok(),
            "serverRequest/resolved" => read(params).map(Self::ServerRequestResolved).ok(),
            "thread/archived" => read(params).map(Self::ThreadArchived).ok(),
            "thread/deleted" => read(params).map(Self::ThreadDeleted).ok(),
            "thread/file/read" => read(params).map(Self::ThreadFileRead).ok(),
            "thread/file/written" => read(params).map(Self::ThreadFileWritten).ok(),
            "thread/forked" => read(params).map(Self::ThreadForked).ok(),
            "thread/lane/updated" => read(params).map(Self::ThreadLaneUpdated).ok(),
            "thread/lease/moved" => read(params).map(Self::ThreadLeaseMoved).ok(),
            "thread/list/changed" => read(params).map(Self::ThreadListChanged).ok(),
            "thread/list/reset" => read(params).map(Self::ThreadListReset).ok(),
            "thread/list/seen" => read(params).map(Self::ThreadListSeen).ok(),
            "thread/log/changed" => read(params).map(Self::ThreadLogChanged).ok(),
            "thread/log/damaged" => read(params).map(Self::ThreadLogDamaged).ok(),
            "thread/notice" => read(params).map(Self::ThreadNotice).ok(),
            "thread/rolledBack" => read(params).map(Self::ThreadRolledBack).ok(),
            "thread/started" => read(params).map(Self::ThreadStarted).ok(),
            "thread/status/changed" => read(params).map(Self::ThreadStatusChanged).ok(),
            "thread/subscribers/changed" => read(params).map(Self::ThreadSubscribersChanged).ok(),
            "thread/suggestions/updated" => read(params).map(Self::ThreadSuggestionsUpdated).ok(),
            "thread/terminal/input" => read(params).map(Self::ThreadTerminalInput).ok(),
            "thread/terminal/killed" => read(params).map(Self::ThreadTerminalKilled).ok(),
            "thread/terminal/released" => read(params).map(Self::ThreadTerminalReleased).ok(),
            "thread/terminal/waiting" => read(params).map(Self::ThreadTerminalWaiting).ok(),
            "thread/tokenUsage/updated" => read(params).map(Self::ThreadTokenUsageUpdated).ok(),
            "thread/unarchived" => read(params).map(Self::ThreadUnarchived).ok(),
            "thread/updated" => read(params).map(Self::ThreadUpdated).ok(),
            "turn/completed" => read(params).map(Self::TurnCompleted).ok(),
            "turn/diff/updated" => read(params).map(Self::TurnDiffUpdated).ok(),
            "turn/interrupting" => read(params).map(Self::TurnInterrupting).ok(),
            "turn/plan/removed" => read(params).map(Self::TurnPlanRemoved).ok(),
            "turn/plan/updated" => read(params).map(Self::TurnPlanUpdated).ok(),
            "turn/queue/changed" => read(params).map(Self::TurnQueueChanged).ok(),
            "turn/queued" => read(params).map(Self::TurnQueued).ok(),
            "turn/started" => read(params).map(Self::TurnStarted).ok(),
            "turn/steering" => read(params).map(Self::TurnSteering).ok(),
            "item/commandExecution/requestApproval" => read(params).map(Self::ItemCommandExecutionRequestApproval).ok(),
            "item/fileChange/requestApproval" => read(params).map(Self::ItemFileChangeRequestApproval).ok(),
            "item/permissions/requestApproval" => read(params).map(Self::ItemPermissionsRequestApproval).ok(),
            "item/tool/requestUserInput" => read(params).map(Self::ItemToolRequestUserInput).ok(),
            _ => None,
        };
        known.unwrap_or_else(|| Self::Unrecognized {
            method: method.to_owned(),
            params: read(params).unwrap_or_default(),
        })
    }

    /// Returns the name of its method.
    pub fn method(&self) -> &str {
        match self {
            Self::AgentNotification(_) => "agent/notification",
            Self::ItemAgentMessageDelta(_) => "item/agentMessage/delta",
            Self::ItemAgentThoughtDelta(_) => "item/agentThought/delta",
            Self::ItemCompleted(_) => "item/completed",
            Self::ItemFileChangeCompleted(_) => "item/fileChange/completed",
            Self::ItemFileChangeStarted(_) => "item/fileChange/started",
            Self::ItemStarted(_) => "item/started",
            Self::ItemTerminalCommandCompleted(_) => "item/terminalCommand/completed",
            Self::ItemTerminalCommandOutput(_) => "item/terminalCommand/output",
            Self::ItemTerminalCommandStarted(_) => "item/terminalCommand/started",
            Self::ItemToolCallCompleted(_) => "item/toolCall/completed",
            Self::ItemToolCallStarted(_) => "item/toolCall/started",
            Self::ItemUpdated(_) => "item/updated",
            Self::ItemUserMessage(_) => "item/userMessage",
            Self::PolicyPermitted(_) => "policy/permitted",
            Self::PolicyRemembered(_) => "policy/remembered",
            Self::PolicyRevoked(_) => "policy/revoked",
            Self::ServerRequestRejected(_) => "serverRequest/rejected",
            Self::ServerRequestResolved(_) => "serverRequest/resolved",
            Self::ThreadArchived(_) => "thread/archived",
            Self::ThreadDeleted(_) => "thread/deleted",
            Self::ThreadFileRead(_) => "thread/file/read",
            Self::ThreadFileWritten(_) => "thread/file/written",
            Self::ThreadForked(_) => "thread/forked",
            Self::ThreadLaneUpdated(_) => "thread/lane/updated",
            Self::ThreadLeaseMoved(_) => "thread/lease/moved",
            Self::ThreadListChanged(_) => "thread/list/changed",
            Self::ThreadListReset(_) => "thread/list/reset",
            Self::ThreadListSeen(_) => "thread/list/seen",
            Self::ThreadLogChanged(_) => "thread/log/changed",
            Self::ThreadLogDamaged(_) => "thread/log/damaged",
            Self::ThreadNotice(_) => "thread/notice",
            Self::ThreadRolledBack(_) => "thread/rolledBack",
            Self::ThreadStarted(_) => "thread/started",
            Self::ThreadStatusChanged(_) => "thread/status/changed",
            Self::ThreadSubscribersChanged(_) => "thread/subscribers/changed",
            Self::ThreadSuggestionsUpdated(_) => "thread/suggestions/updated",
            Self::ThreadTerminalInput(_) => "thread/terminal/input",
            Self::ThreadTerminalKilled(_) => "thread/terminal/killed",
            Self::ThreadTerminalReleased(_) => "thread/terminal/released",
            Self::ThreadTerminalWaiting(_) => "thread/terminal/waiting",
            Self::ThreadTokenUsageUpdated(_) => "thread/tokenUsage/updated",
            Self::ThreadUnarchived(_) => "thread/unarchived",
            Self::ThreadUpdated(_) => "thread/updated",
            Self::TurnCompleted(_) => "turn/completed",
            Self::TurnDiffUpdated(_) => "turn/diff/updated",
            Self::TurnInterrupting(_) => "turn/interrupting",
            Self::TurnPlanRemoved(_) => "turn/plan/removed",
            Self::TurnPlanUpdated(_) => "turn/plan/updated",
            Self::TurnQueueChanged(_) => "turn/queue/changed",
            Self::TurnQueued(_) => "turn/queued",
            Self::TurnStarted(_) => "turn/started",
            Self::TurnSteering(_) => "turn/steering",
            Self::ItemCommandExecutionRequestApproval(_) => "item/commandExecution/requestApproval",
            Self::ItemFileChangeRequestApproval(_) => "item/fileChange/requestApproval",
            Self::ItemPermissionsRequestApproval(_) => "item/permissions/requestApproval",
            Self::ItemToolRequestUserInput(_) => "item/tool/requestUserInput",
            Self::Unrecognized { method, .. } => method,
        }
    }

    /// Returns the id of the thread that it is about.
    pub fn thread_id(&self) -> Option<&str> {
        match self {
            Self::AgentNotification(params) => Some(&params.thread_id),
            Self::ItemAgentMessageDelta(params) => Some(&params.thread_id),
            Self::ItemAgentThoughtDelta(params) => Some(&params.thread_id),
            Self::ItemCompleted(params) => Some(&params.thread_id),
            Self::ItemFileChangeCompleted(params) => Some(&params.thread_id),
            Self::ItemFileChangeStarted(params) => Some(&params.thread_id),
            Self::ItemStarted(params) => Some(&params.thread_id),
            Self::ItemTerminalCommandCompleted(params) => Some(&params.thread_id),
            Self::ItemTerminalCommandOutput(params) => Some(&params.thread_id),
            Self::ItemTerminalCommandStarted(params) => Some(&params.thread_id),
            Self::ItemToolCallCompleted(params) => Some(&params.thread_id),
            Self::ItemToolCallStarted(params) => Some(&params.thread_id),
            Self::ItemUpdated(params) => Some(&params.thread_id),
            Self::ItemUserMessage(params) => Some(&params.thread_id),
            Self::PolicyPermitted(params) => Some(&params.thread_id),
            Self::PolicyRemembered(params) => Some(&params.thread_id),
            Self::PolicyRevoked(params) => Some(&params.thread_id),
            Self::ServerRequestRejected(params) => Some(&params.thread_id),
            Self::ServerRequestResolved(params) => Some(&params.thread_id),
            Self::ThreadArchived(params) => Some(&params.thread_id),
            Self::ThreadDeleted(params) => Some(&params.thread_id),
            Self::ThreadFileRead(params) => Some(&params.thread_id),
            Self::ThreadFileWritten(params) => Some(&params.thread_id),
            Self::ThreadForked(params) => Some(&params.thread_id),
            Self::ThreadLaneUpdated(params) => Some(&params.thread_id),
            Self::ThreadLeaseMoved(params) => Some(&params.thread_id),
            Self::ThreadListChanged(params) => Some(&params.thread_id),
            Self::ThreadListReset(_) => None,
            Self::ThreadListSeen(_) => None,
            Self::ThreadLogChanged(params) => Some(&params.thread_id),
            Self::ThreadLogDamaged(params) => Some(&params.thread_id),
            Self::ThreadNotice(params) => Some(&params.thread_id),
            Self::ThreadRolledBack(params) => Some(&params.thread_id),
            Self::ThreadStarted(params) => Some(&params.thread_id),
            Self::ThreadStatusChanged(params) => Some(&params.thread_id),
            Self::ThreadSubscribersChanged(params) => Some(&params.thread_id),
            Self::ThreadSuggestionsUpdated(params) => Some(&params.thread_id),
            Self::ThreadTerminalInput(params) => Some(&params.thread_id),
            Self::ThreadTerminalKilled(params) => Some(&params.thread_id),
            Self::ThreadTerminalReleased(params) => Some(&params.thread_id),
            Self::ThreadTerminalWaiting(params) => Some(&params.thread_id),
            Self::ThreadTokenUsageUpdated(params) => Some(&params.thread_id),
            Self::ThreadUnarchived(params) => Some(&params.thread_id),
            Self::ThreadUpdated(params) => Some(&params.thread_id),
            Self::TurnCompleted(params) => Some(&params.thread_id),
            Self::TurnDiffUpdated(params) => Some(&params.thread_id),
            Self::TurnInterrupting(params) => Some(&params.thread_id),
            Self::TurnPlanRemoved(params) => Some(&params.thread_id),
            Self::TurnPlanUpdated(params) => Some(&params.thread_id),
            Self::TurnQueueChanged(params) => Some(&params.thread_id),
            Self::TurnQueued(params) => Some(&params.thread_id),
            Self::TurnStarted(params) => Some(&params.thread_id),
            Self::TurnSteering(params) => Some(&params.thread_id),
            Self::ItemCommandExecutionRequestApproval(params) => Some(&params.thread_id),
            Self::ItemFileChangeRequestApproval(params) => Some(&params.thread_id),
            Self::ItemPermissionsRequestApproval(params) => Some(&params.thread_id),
            Self::ItemToolRequestUserInput(params) => Some(&params.thread_id),
            Self::Unrecognized { params, .. } => params["threadId"].as_str(),
        }
    }

    /// Returns its number in the thread, if it is an event of one that the log has.
    pub fn seq(&self) -> Option<u64> {
        match self {
            Self::AgentNotification(params) => Some(params.seq),
            Self::ItemAgentMessageDelta(params) => Some(params.seq),
            Self::ItemAgentThoughtDelta(params) => Some(params.seq),
            Self::ItemCompleted(params) => Some(params.seq),
            Self::ItemFileChangeCompleted(params) => Some(params.seq),
            Self::ItemFileChangeStarted(params) => Some(params.seq),
            Self::ItemStarted(params) => Some(params.seq),
            Self::ItemTerminalCommandCompleted(params) => Some(params.seq),
            Self::ItemTerminalCommandOutput(params) => params.seq,
            Self::ItemTerminalCommandStarted(params) => Some(params.seq),
            Self::ItemToolCallCompleted(params) => Some(params.seq),
            Self::ItemToolCallStarted(params) => Some(params.seq),
            Self::ItemUpdated(params) => Some(params.seq),
            Self::ItemUserMessage(params) => Some(params.seq),
            Self::PolicyPermitted(params) => Some(params.seq),
            Self::PolicyRemembered(params) => Some(params.seq),
            Self::PolicyRevoked(params) => Some(params.seq),
            Self::ServerRequestRejected(_) => None,
            Self::ServerRequestResolved(params) => Some(params.seq),
            Self::ThreadArchived(params) => Some(params.seq),
            Self::ThreadDeleted(params) => Some(params.seq),
            Self::ThreadFileRead(params) => Some(params.seq),
            Self::ThreadFileWritten(params) => Some(params.seq),
            Self::ThreadForked(params) => Some(params.seq),
            Self::ThreadLaneUpdated(params) => Some(params.seq),
            Self::ThreadLeaseMoved(params) => Some(params.seq),
            Self::ThreadListChanged(_) => None,
            Self::ThreadListReset(_) => None,
            Self::ThreadListSeen(_) => None,
            Self::ThreadLogChanged(_) => None,
            Self::ThreadLogDamaged(params) => Some(params.seq),
            Self::ThreadNotice(params) => Some(params.seq),
            Self::ThreadRolledBack(params) => Some(params.seq),
            Self::ThreadStarted(params) => Some(params.seq),
            Self::ThreadStatusChanged(params) => Some(params.seq),
            Self::ThreadSubscribersChanged(_) => None,
            Self::ThreadSuggestionsUpdated(params) => params.seq,
            Self::ThreadTerminalInput(params) => Some(params.seq),
            Self::ThreadTerminalKilled(params) => Some(params.seq),
            Self::ThreadTerminalReleased(params) => Some(params.seq),
            Self::ThreadTerminalWaiting(params) => Some(params.seq),
            Self::ThreadTokenUsageUpdated(params) => Some(params.seq),
            Self::ThreadUnarchived(params) => Some(params.seq),
            Self::ThreadUpdated(params) => Some(params.seq),
            Self::TurnCompleted(params) => Some(params.seq),
            Self::TurnDiffUpdated(params) => params.seq,
            Self::TurnInterrupting(params) => Some(params.seq),
            Self::TurnPlanRemoved(params) => Some(params.seq),
            Self::TurnPlanUpdated(params) => Some(params.seq),
            Self::TurnQueueChanged(params) => Some(params.seq),
            Self::TurnQueued(params) => Some(params.seq),
            Self::TurnStarted(params) => Some(params.seq),
            Self::TurnSteering(params) => Some(params.seq),
            Self::ItemCommandExecutionRequestApproval(params) => Some(params.seq),
            Self::ItemFileChangeRequestApproval(params) => Some(params.seq),
            Self::ItemPermissionsRequestApproval(params) => Some(params.seq),
            Self::ItemToolRequestUserInput(params) => Some(params.seq),
            Self::Unrecognized { params, .. } => params["seq"].as_u64(),
        }
    }
}
