# Generated from the table of the app protocol's methods: run `make generate`. Do not edit.
"""The types of the app protocol.

A client that reconnects has no "thread of this connection", so ``threadId`` is required where the protocol defaults to that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias, TypedDict, overload

#: Increases when something is renamed or removed.
PROTOCOL_VERSION = 1

#: Notifications of a connection, which belong to no thread.
CONNECTION_NOTIFICATIONS = frozenset((
    "serverRequest/rejected",
    "thread/list/changed",
    "thread/list/reset",
    "thread/list/seen",
    "thread/log/changed",
    "thread/subscribers/changed",
))

ApprovalMethod: TypeAlias = Literal[
    "item/commandExecution/requestApproval",
    "item/fileChange/requestApproval",
    "item/permissions/requestApproval",
]

#: The methods of permission requests.
APPROVALS: tuple[ApprovalMethod, ...] = (
    "item/commandExecution/requestApproval",
    "item/fileChange/requestApproval",
    "item/permissions/requestApproval",
)


class Absence(TypedDict):
    """A time in which a user was away."""

    since: int
    """When a client of the user was last in front, in milliseconds since the epoch."""
    until: int
    """When the user came back, in milliseconds since the epoch."""


AcpObject: TypeAlias = "dict[str, Any]"
"""An object of the Agent Client Protocol, unchanged."""


class _Agent(TypedDict):
    id: str
    """Name of the agent, which is the `agentType` of a thread."""
    installed: bool
    """Whether the agent can be started."""
    isDefault: bool
    """Whether it is the default of clients that name no agent: `default_agent` of the configuration, the only configured agent, or the only one that is set up if none is configured. At most one agent is. It is first in the list."""
    isSetUp: bool
    """Whether it is configured, on `PATH`, installed or part of acpd. Other agents are downloaded when they start, so clients offer to install them instead."""
    source: str
    """`config`, `registry`, `installed` or `builtin`."""
    title: str
    """Display name of the agent."""


class Agent(_Agent, total=False):
    """A known agent."""

    description: str | None
    """Description of the agent, in one sentence."""
    installing: InstallProgress | None
    """The progress of its installation, if that runs now."""
    installsBy: str | None
    """How `agent/install` installs the agent: `download`, `npm`, `uv` or `pip`. Absent if it cannot."""
    reason: str | None
    """Why the agent cannot be started."""
    runs: str | None
    """How the daemon finds the agent's program: `path`, `installed`, `npx` or `uvx`."""
    version: str | None


class AgentAnswered(TypedDict):
    """The agent's response."""

    result: Json
    """The agent's result, unchanged."""


class AgentAnswers(TypedDict):
    """The remembered answers that apply to all threads of an agent."""

    agentType: str
    """Name of the agent."""
    answers: list[RememberedAnswer]
    """The answers, oldest first."""


class AgentAnswersListed(TypedDict):
    """The remembered answers for agents, by the agents' names."""

    data: list[AgentAnswers]


class AgentAuthenticateCancelParams(TypedDict):
    """No params."""

    threadId: str
    """Id of the thread."""


class AgentAuthenticateParams(TypedDict):
    """Params of `agent/authenticate`."""

    methodId: str
    """Id of one of the agent's authentication methods."""
    threadId: str
    """Id of the thread."""


class AgentAuthenticateReadParams(TypedDict):
    """No params."""

    threadId: str
    """Id of the thread."""


class _AgentBound(TypedDict):
    how: Binding
    sessionId: str
    """The agent's id for the session."""


class AgentBound(_AgentBound, total=False):
    """An agent session that was opened."""

    initialize: Json | None
    """The agent's result of `initialize`."""
    protocol: int | None
    """The version of ACP that the agent speaks, if it is not 1. `initialize` and `session` have the form of version 1 in any case."""
    session: Json | None
    """The result of the ACP method that opened the session."""


AgentDoctorParams: TypeAlias = "ExamineAgent"


class _AgentExamined(TypedDict):
    agentType: str
    """Name of the agent."""
    millis: int
    """Milliseconds from the start of the process to its response or its failure."""
    stderr: str
    """The end of the agent's stderr."""
    strayLines: list[str]
    """The first lines of the agent's stdout that are not messages."""


class AgentExamined(_AgentExamined, total=False):
    """Result of `agent/doctor`."""

    error: str | None
    """Why the agent failed."""
    hello: AgentHello | None
    """The agent's result of `initialize`; absent if the agent failed."""
    sandbox: AgentSandbox | None
    """The sandbox of the agent and its terminals."""


class _AgentHello(TypedDict):
    protocolVersion: int
    """The version of ACP that the agent chose."""


class AgentHello(_AgentHello, total=False):
    """What an agent reports in `initialize`."""

    agentCapabilities: AcpObject | None
    """ACP capabilities of the agent."""
    agentInfo: AcpObject | None
    """Name and version of the agent."""
    authMethods: list[AcpObject] | None
    """ACP authentication methods of the agent."""


AgentInstallParams: TypeAlias = "InstallAgent"


class AgentInstalled(TypedDict):
    """The agent that was installed."""

    agent: Agent


AgentListParams: TypeAlias = "NoParams"


class AgentLogoutParams(TypedDict):
    """No params."""

    threadId: str
    """Id of the thread."""


class _AgentNotification(TypedDict):
    method: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class AgentNotification(_AgentNotification, total=False):
    """An unknown message of the agent."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    params: Json | None
    """The params of any other method."""
    turnId: str | None
    """The turn in which the event happened."""
    update: Json | None
    """The `update` of a `session/update`."""


class _AgentNotifyParams(TypedDict):
    method: str
    """Name of the method, which begins with `_`, and not with `_acpd/`."""
    threadId: str
    """Id of the thread."""


class AgentNotifyParams(_AgentNotifyParams, total=False):
    """A message that ACP does not define."""

    params: Json | None
    """Params, which the agent receives unchanged."""


AgentOptionsParams: TypeAlias = "ReadSessionOptions"


AgentRememberedListParams: TypeAlias = "ListAgentAnswers"


AgentRememberedRevokeParams: TypeAlias = "RevokeAgentAnswer"


class _AgentRequestParams(TypedDict):
    method: str
    """Name of the method, which begins with `_`, and not with `_acpd/`."""
    threadId: str
    """Id of the thread."""


class AgentRequestParams(_AgentRequestParams, total=False):
    """A message that ACP does not define."""

    params: Json | None
    """Params, which the agent receives unchanged."""


AgentRunningParams: TypeAlias = "NoParams"


class _AgentSandbox(TypedDict):
    closed: list[str]
    """Writable directories in which no new files can be created, because they contain acpd's own files."""
    gaps: list[str]
    """Restrictions that the kernel does not enforce."""
    missing: list[str]
    """Configured paths that do not exist. They grant no access."""
    mode: str
    """`workspace`, `readonly` or `off`."""
    network: str
    """`on`, `off`, or comma-separated ports."""
    read: list[str]
    """Readable paths, in addition to the writable ones; empty without a sandbox."""
    write: list[str]
    """Writable paths, in addition to the workspace."""


class AgentSandbox(_AgentSandbox, total=False):
    """The sandbox of an agent."""

    reason: str | None
    """Why there is no sandbox although none was switched off, or why one cannot be built on this host."""


class AgentSessionDeleteParams(TypedDict):
    """Selects sessions of the agent."""

    sessionId: str
    """The agent's id for the session."""
    threadId: str
    """Id of the thread."""


class _AgentSessionListParams(TypedDict):
    threadId: str
    """Id of the thread."""


class AgentSessionListParams(_AgentSessionListParams, total=False):
    """Selects sessions of the agent."""

    cursor: str | None
    """The agent's cursor for the next page, from the previous result."""
    cwd: str | None
    """Lists only sessions of this directory."""


class AgentsListed(TypedDict):
    """The agents."""

    data: list[Agent]


class AgentsRunning(TypedDict):
    """The running agent processes."""

    data: list[RunningAgent]


class AllowFolder(TypedDict):
    """Params of `config/folder/add`."""

    agentType: str
    """Name of the agent, as in `agent/list`."""
    folder: str
    """The folder, an absolute path on the daemon's host without links, such as `folder` of a notice."""


class AlwaysHolds(TypedDict):
    """The answer applies to this from then on. The text follows "Allow" or "Reject"."""

    holds: str


class AlwaysNotRemembered(TypedDict):
    """acpd does not remember the answer, for this reason."""

    notRemembered: str


Always: TypeAlias = "AlwaysHolds | AlwaysNotRemembered"
"""The effect of an "always" answer."""


class _AnswerInput(TypedDict):
    requestId: str
    """Id of the question."""


class AnswerInput(_AnswerInput, total=False):
    """Params of `item/answer`."""

    answers: Json | None
    """Answers that follow the question's schema. The agent receives them unchanged."""
    dismissed: bool
    """Whether the user declines to answer."""


class _Approval(TypedDict):
    options: list[PermissionOption]
    requestId: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    subjects: list[CallSubject]
    """The effects of the call, as the daemon interprets them. The policy and the answer apply to exactly these. Empty in logs from before this member existed."""
    threadId: str
    title: str
    """The agent's title of the tool call, or acpd's own title if there is no `itemId`."""
    ts: int
    """Milliseconds since the epoch."""


class Approval(_Approval, total=False):
    """A permission request."""

    agentRemembers: list[str] | None
    """Ids of the always-options that the agent may remember itself. acpd stores no rule for them."""
    always: Always | None
    """The effect of an "always" answer. Absent in logs from before this member existed."""
    itemId: str | None
    """The tool call's item. Absent if the agent did not ask and the policy requires an approval."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    reason: str | None
    toolCall: AcpObject | None
    """The agent's own description of the call."""
    turnId: str | None
    """The turn in which the event happened."""


class _Approve(TypedDict):
    requestId: str
    """Id of the question."""


class Approve(_Approve, total=False):
    """Params of `item/approve`."""

    approved: bool | None
    """Whether the agent may proceed."""
    optionId: str | None
    """Id of one of the agent's options. The answer is refused if `approved` contradicts it."""
    optionKind: str | None
    """Kind of that option, as shown to the user. The answer is refused if the option is of another kind."""
    scope: Scope | None
    """Remembers the answer, so that it also applies to later questions in this scope."""


Binding: TypeAlias = Literal["new", "load", "resume", "fork"]
"""How a thread got its agent session."""


class ByAgent(TypedDict):
    """The agent."""

    kind: Literal["agent"]


class ByDaemon(TypedDict):
    """The daemon."""

    kind: Literal["daemon"]


class _ByPolicy(TypedDict):
    kind: Literal["policy"]


class ByPolicy(_ByPolicy, total=False):
    """A permission policy."""

    reason: str | None
    """One sentence for the user."""
    rule: str | None
    """The rule that matched, as written in the policy."""
    scope: str | None
    """Scope of the policy: `session`, `thread`, `agent` or `daemon`."""


class ByClient(TypedDict):
    """A client."""

    client: str
    """The client's name, as it reported it."""
    kind: Literal["client"]
    principal: str
    """The principal whose credentials the client used."""


By: TypeAlias = "ByAgent | ByDaemon | ByPolicy | ByClient"
"""Who caused an event."""


class _CallSubjectCommand(TypedDict):
    argv: list[str]
    """The program, followed by its arguments."""
    cwd: str
    """Absolute path of the working directory."""
    type: Literal["command"]


class CallSubjectCommand(_CallSubjectCommand, total=False):
    """Runs a program with these arguments."""

    env: list[Variable] | None
    """Environment variables that the call sets."""


class _CallSubjectCommandLine(TypedDict):
    cwd: str
    """Absolute path of the working directory."""
    line: str
    """The whole command line."""
    type: Literal["commandLine"]


class CallSubjectCommandLine(_CallSubjectCommandLine, total=False):
    """Runs a command line in a shell."""

    env: list[Variable] | None
    """Environment variables that the call sets."""


class _CallSubjectFile(TypedDict):
    access: FileAccess
    """The type of access."""
    path: str
    """Absolute path, without `..`."""
    type: Literal["file"]


class CallSubjectFile(_CallSubjectFile, total=False):
    """Accesses a file."""

    arguments: str | None
    """The call's input as JSON text, if the call changes a file and the diff does not show all of the change."""
    diff: str | None
    """The change as a unified diff, if the call shows one."""
    realPath: str | None
    """The target of the path after symbolic links, if it differs from `path`."""


class _CallSubjectFetch(TypedDict):
    type: Literal["fetch"]
    url: str
    """The URL."""


class CallSubjectFetch(_CallSubjectFetch, total=False):
    """Fetches a URL."""

    host: str | None
    """The host of the URL, if it can be determined."""


class _CallSubjectMcp(TypedDict):
    server: str
    """Name of the MCP server."""
    type: Literal["mcp"]


class CallSubjectMcp(_CallSubjectMcp, total=False):
    """Calls a tool of an MCP server."""

    arguments: str | None
    """The call's input, as JSON text."""
    tool: str | None
    """Name of the tool; absent if the call does not name it."""


class _CallSubjectTool(TypedDict):
    kind: str
    """ACP's kind of the tool."""
    type: Literal["tool"]


class CallSubjectTool(_CallSubjectTool, total=False):
    """Calls any other tool."""

    arguments: str | None
    """The call's input, as JSON text."""
    name: str | None
    """Programmatic name of the tool, if the agent sends one."""


class CallSubjectUnknown(TypedDict):
    """A part that the daemon cannot interpret, or that is too long to show."""

    type: Literal["unknown"]
    what: str
    """What is known about the part: one sentence for the user, without a period."""


CallSubject: TypeAlias = "CallSubjectCommand | CallSubjectCommandLine | CallSubjectFile | CallSubjectFetch | CallSubjectMcp | CallSubjectTool | CallSubjectUnknown"
"""One effect of a call."""


class _ChangedThread(TypedDict):
    agentType: str
    """Name of the agent, as in `agent/list`."""
    archived: bool
    """Whether the thread is archived."""
    createdAt: int
    """When the thread was created or forked, in milliseconds since the epoch."""
    cwd: str
    """Absolute path of the working directory."""
    id: str
    """Id of the thread."""
    status: ThreadStatus
    turnCount: int
    """Number of turns in the conversation. Dropped turns do not count."""
    updatedAt: int
    """When a turn last started or ended, in milliseconds since the epoch."""


class ChangedThread(_ChangedThread, total=False):
    """The new summary of a thread whose entry in lists has changed."""

    error: str | None
    """Why the status is `failed`."""
    lastTurnCutOff: bool | None
    """Whether the last turn was interrupted by an error, such as a restart of acpd, and not by a client."""
    lastTurnStatus: TurnStatus | None
    """Status of the last ended turn; absent if there was none, or if it was dropped."""
    metadata: Json | None
    """Arbitrary data that the client stored with the thread; `null` if the thread has none. Absent if it has not changed."""
    name: str | None
    """The name that a user set, else the agent's title, else the beginning of the first prompt."""
    pinPlace: int | None
    """The place that a user has chosen for the pinned thread. Clients list those without a place first, then the lowest."""
    pinned: bool | None
    """Whether a user pinned the thread. Clients list pinned threads first."""
    projectId: str | None
    """Project id that the client chose to group threads by."""
    question: WaitingQuestion | None
    """The oldest unanswered question."""


class ClientCapabilities(TypedDict, total=False):
    """Capabilities of a client."""

    approvals: bool
    """Whether the client answers questions. Otherwise it receives them as notifications."""
    optOutNotificationMethods: list[str]
    """Exact names of notifications that the client does not want. Their `seq` are skipped. A client that answers questions still receives all questions."""
    streaming: bool
    subscribers: bool
    """Whether the client wants `thread/subscribers/changed` for the threads that it follows."""
    tools: bool


class _ClientInfo(TypedDict):
    name: str
    """Name of the client, which the log records with every decision."""


class ClientInfo(_ClientInfo, total=False):
    """Name and version of the client program."""

    title: str | None
    version: str | None


class CommandStarted(TypedDict):
    """The command that was started."""

    itemId: str
    """Id of the command's item."""
    turnId: str
    """Id of the turn that contains the item."""


ConfigAgentSetParams: TypeAlias = "SetDefaultAgent"


class ConfigChanged(TypedDict):
    """The setting is in the configuration file, and the daemon has applied it."""

    changed: bool
    """Whether the file was written: it may have had the setting already."""
    file: str
    """Absolute path of the file on the daemon's host."""


ConfigFolderAddParams: TypeAlias = "AllowFolder"


ConfigPolicySetParams: TypeAlias = "SetDefaultPolicy"


ConfigValue: TypeAlias = "bool | str"
"""The value of a config option."""


class CostSum(TypedDict):
    """A cost."""

    amount: float
    currency: str
    """The code of the currency, such as `USD`."""


class CreateFolder(TypedDict):
    """Params of `folder/create`."""

    path: str
    """Absolute path of the new folder, or a path that begins with `~/`. The folder that contains it must exist."""


Delivery: TypeAlias = Literal["steered", "queued"]
"""How a message reaches the agent."""


class _Delta(TypedDict):
    itemId: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    text: str
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class Delta(_Delta, total=False):
    """An addition to a message or thought."""

    content: AcpObject | None
    """A content block other than plain text."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


class DiffSize(TypedDict):
    """The size of a diff."""

    added: int
    """Number of added lines."""
    files: int
    """Number of changed files."""
    incomplete: bool
    """Whether there are changes that the diff does not show."""
    removed: int
    """Number of removed lines."""


class _DiffUpdated(TypedDict):
    diff: str
    """Unified diff of all files that the turn changed."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class DiffUpdated(_DiffUpdated, total=False):
    """A diff."""

    seq: int | None
    """Number of the event; absent if the diff is only shown live."""
    turnId: str | None


class Directories(TypedDict):
    """The directories that a thread works in."""

    additionalDirectories: list[str]
    """Further directories of the workspace."""
    cwd: str
    """Working directory."""


class _Error(TypedDict):
    code: int
    """JSON-RPC error code."""
    message: str
    """One sentence for the user."""


class Error(_Error, total=False):
    """A JSON-RPC error."""

    data: ErrorData | None


class _ErrorData(TypedDict):
    code: str
    """Stable code of the error."""
    retryable: bool
    """Whether the same request may succeed later."""


class ErrorData(_ErrorData, total=False):
    """Error details for programs."""

    detail: str | None
    """Further explanation."""


class ExamineAgent(TypedDict):
    """Params of `agent/doctor`."""

    agentType: str
    """Name of the agent, as in `agent/list`."""


Fidelity: TypeAlias = Literal["exact", "recalled"]
"""How well an agent remembers the kept turns of a thread after a rollback or a fork."""


FileAccess: TypeAlias = Literal["read", "search", "edit", "delete", "move"]
"""A type of access to a file."""


class _FileChange(TypedDict):
    path: str
    """Absolute path of the file."""
    type: FileChangeType


class FileChange(_FileChange, total=False):
    """A change to a file."""

    diff: str | None
    """Unified diff, once it is known."""
    replaced: Replaced | None
    """What the write replaced, if the daemon wrote the file."""


class _FileChangeCompleted(TypedDict):
    itemId: str
    outcome: ItemOutcome
    path: str
    """Absolute path of the file."""
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""
    type: FileChangeType


class FileChangeCompleted(_FileChangeCompleted, total=False):
    """A file change that ended."""

    by: By | None
    """The client that acted instead of the daemon."""
    diff: str | None
    """Unified diff, once it is known."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    replaced: Replaced | None
    """What the write replaced, if the daemon wrote the file."""
    turnId: str | None
    """The turn in which the event happened."""


class _FileChangeStarted(TypedDict):
    itemId: str
    path: str
    """Absolute path of the file."""
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""
    type: FileChangeType


class FileChangeStarted(_FileChangeStarted, total=False):
    """A file change that started."""

    by: By | None
    """The client that acts instead of the daemon."""
    diff: str | None
    """Unified diff, once it is known."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    parentItemId: str | None
    replaced: Replaced | None
    """What the write replaced, if the daemon wrote the file."""
    turnId: str | None
    """The turn in which the event happened."""


FileChangeType: TypeAlias = Literal["fileChange"]


class _FileTouched(TypedDict):
    bytes: int
    path: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class FileTouched(_FileTouched, total=False):
    """A file, and the number of bytes."""

    by: By | None
    """The client that acted instead of the daemon."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


class _FileWritten(TypedDict):
    bytes: int
    path: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class FileWritten(_FileWritten, total=False):
    """A written file, the number of bytes, and what they replaced."""

    by: By | None
    """The client that acted instead of the daemon."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    replaced: Replaced | None
    turnId: str | None
    """The turn in which the event happened."""


class Folder(TypedDict):
    """A folder in another one."""

    name: str
    """Name of the folder."""
    repository: bool
    """Whether it is the root of a Git repository or worktree."""


FolderCreateParams: TypeAlias = "CreateFolder"


class FolderCreated(TypedDict):
    """The folder that was created."""

    path: str
    """Absolute path of the folder."""


FolderListParams: TypeAlias = "ListFolders"


class _FoldersListed(TypedDict):
    folders: list[Folder]
    """The folders, sorted by name. Those whose name is not UTF-8 are left out."""
    home: str
    """The home directory of the daemon's user."""
    host: str
    """Name of the daemon's host."""
    path: str
    """Absolute path of the folder."""
    truncated: bool
    """Whether there are more."""


class FoldersListed(_FoldersListed, total=False):
    """Result of `folder/list`."""

    parent: str | None
    """Absolute path of the folder that contains it; absent for `/`."""


class Identity(TypedDict):
    """Identity and role of a connection."""

    principal: str
    role: Role


class _InitializeParams(TypedDict):
    clientInfo: ClientInfo


class InitializeParams(_InitializeParams, total=False):
    """Params of `initialize`."""

    capabilities: ClientCapabilities


class Initialized(TypedDict):
    """Result of `initialize`."""

    capabilities: ServerCapabilities
    identity: Identity
    limits: LimitsInForce
    protocolVersion: int
    serverInfo: ServerInfo


class _InputWanted(TypedDict):
    requestId: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    title: str
    """The agent's message."""
    ts: int
    """Milliseconds since the epoch."""


class InputWanted(_InputWanted, total=False):
    """An elicitation."""

    elicitation: AcpObject | None
    """The params of ACP's `elicitation/create`."""
    itemId: str | None
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    mode: str | None
    """`form` or `url`."""
    schema: Json | None
    """JSON Schema of a form."""
    turnId: str | None
    """The turn in which the event happened."""
    url: str | None
    """The URL that the user is to open."""


class InstallAgent(TypedDict):
    """Params of `agent/install`."""

    agentType: str
    """Name of the agent, as in `agent/list`."""


class _InstallProgress(TypedDict):
    step: InstallStep


class InstallProgress(_InstallProgress, total=False):
    """The progress of an installation."""

    line: str | None
    """The last line that the installer wrote."""
    receivedBytes: int | None
    """Bytes of the download that have arrived."""
    totalBytes: int | None
    """Bytes of the whole download, if known."""


InstallStep: TypeAlias = Literal["downloading", "unpacking", "installing"]
"""A step of an installation."""


class _MessageItem(TypedDict):
    itemId: str
    type: MessageType


class MessageItem(_MessageItem, total=False):
    """A message or a thought."""

    lane: str | None
    """The subagent that the item belongs to, as in `thread/lanes`; absent for the main agent."""
    outcome: ItemOutcome | None
    parentItemId: str | None
    """Id of the item that contains this one."""
    startedAt: int | None
    """When the message started, in milliseconds since the epoch. Only messages have it, except in imported turns. Notifications have `ts` instead."""
    content: list[AcpObject] | None
    """ACP content blocks."""
    messageId: str | None
    """The agent's own id for the message."""
    text: str | None
    """The whole text."""


class _ToolCallItem(TypedDict):
    itemId: str
    status: ToolStatus
    type: ToolCallType


class ToolCallItem(_ToolCallItem, total=False):
    """A tool call."""

    lane: str | None
    """The subagent that the item belongs to, as in `thread/lanes`; absent for the main agent."""
    outcome: ItemOutcome | None
    parentItemId: str | None
    """Id of the item that contains this one."""
    startedAt: int | None
    """When the message started, in milliseconds since the epoch. Only messages have it, except in imported turns. Notifications have `ts` instead."""
    kind: str | None
    """ACP's `ToolKind`."""
    name: str | None
    """The same as `title`."""
    title: str | None
    """The agent's title for the call."""
    toolCall: AcpObject | None
    """The ACP tool call with all its updates applied."""
    toolCallId: str | None
    """The agent's id for the call."""


class _FileChangeItem(TypedDict):
    itemId: str
    path: str
    """Absolute path of the file."""
    type: FileChangeType


class FileChangeItem(_FileChangeItem, total=False):
    """A change to a file."""

    lane: str | None
    """The subagent that the item belongs to, as in `thread/lanes`; absent for the main agent."""
    outcome: ItemOutcome | None
    parentItemId: str | None
    """Id of the item that contains this one."""
    startedAt: int | None
    """When the message started, in milliseconds since the epoch. Only messages have it, except in imported turns. Notifications have `ts` instead."""
    diff: str | None
    """Unified diff, once it is known."""
    replaced: Replaced | None
    """What the write replaced, if the daemon wrote the file."""


class _TerminalCommandItem(TypedDict):
    itemId: str
    terminalId: str
    type: TerminalCommandType


class TerminalCommandItem(_TerminalCommandItem, total=False):
    """A command in a terminal."""

    lane: str | None
    """The subagent that the item belongs to, as in `thread/lanes`; absent for the main agent."""
    outcome: ItemOutcome | None
    parentItemId: str | None
    """Id of the item that contains this one."""
    startedAt: int | None
    """When the message started, in milliseconds since the epoch. Only messages have it, except in imported turns. Notifications have `ts` instead."""
    args: list[str] | None
    command: str | None
    cwd: str | None
    exitCode: int | None
    """Exit code, if the command exited normally."""
    output: str | None
    """The last part of the output."""
    outputBlob: str | None
    """Blob with all kept output, at `GET /api/blobs/{outputBlob}`, if `output` is only the end of it."""
    requestedBy: By | None
    """The client whose user requested the command: `command` is the whole line then, without `args`. Absent for a command of the agent."""
    secret: bool | None
    """Whether the terminal of a waiting command does not show what is typed, as for a password."""
    signal: str | None
    """Name of the signal that terminated the command."""
    truncated: bool | None
    """Whether some of the output was not kept."""
    waiting: bool | None
    """Whether the running command has been silent and waits for input."""


Item: TypeAlias = "MessageItem | ToolCallItem | FileChangeItem | TerminalCommandItem"
"""One part of a turn. `outcome` is `null` until the item ends."""


ItemAnswerParams: TypeAlias = "AnswerInput"


ItemApproveParams: TypeAlias = "Approve"


ItemOutcome: TypeAlias = Literal["completed", "failed", "interrupted"]
"""How an item ended."""


Json: TypeAlias = "Any"
"""Any JSON value."""


class _Lane(TypedDict):
    assumed: bool
    """Whether the agent did not announce the session, so that acpd assumes a subagent."""
    lane: str
    """Id of the subagent's lane: its items and questions have it."""
    mayCancel: bool
    """Whether clients may cancel the subagent's work. `turn/interrupt` does."""
    startedAt: int
    """When the subagent was first reported, in milliseconds since the epoch."""
    updatedAt: int
    """When the subagent was last reported, in milliseconds since the epoch."""


class Lane(_Lane, total=False):
    """A subagent of a thread."""

    cwd: str | None
    """The working directory, by the agent's words."""
    description: str | None
    """The role or purpose of the subagent."""
    directories: list[str] | None
    """Further directories, by the agent's words."""
    parent: str | None
    """The subagent that created this one; absent if the main agent did."""
    sessionId: str | None
    """The agent's id for the subagent's session. Absent once the agent's session has ended."""
    state: LaneState | None
    """What the subagent is doing; absent if that is unknown."""
    title: str | None
    """The name that users see."""


class _LaneState(TypedDict):
    state: str
    """`running`, `idle`, `requires_action` or `unknown`; other values are the agent's own."""


class LaneState(_LaneState, total=False):
    """What a subagent is doing."""

    stopReason: str | None
    """Why the work of an idle subagent ended."""


class _LaneUpdated(TypedDict):
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class LaneUpdated(_LaneUpdated, total=False):
    """A change of a subagent, which is `lane`. Contains only what has changed; `null` clears it."""

    assumed: bool | None
    """Whether the agent did not announce the session. Only in the first notification."""
    cwd: str | None
    """The working directory, by the agent's words; `null` if it was removed."""
    description: str | None
    """The role or purpose of the subagent; `null` if it was removed."""
    directories: list[str] | None
    """The list of further directories, by the agent's words; `null` if it was removed."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    mayCancel: bool | None
    """Whether clients may cancel the subagent's work."""
    parent: str | None
    """The subagent that created this one; absent if the main agent did."""
    sessionId: str | None
    """The agent's id for the subagent's session. Only in the first notification about the subagent."""
    state: LaneState | None
    """What the subagent is doing; `null` if it was removed: that is unknown from now on."""
    title: str | None
    """The name that users see; `null` if it was removed."""
    turnId: str | None
    """The turn in which the event happened."""


class LanesListed(TypedDict):
    """The subagents of a thread."""

    data: list[Lane]


class LeaseHolder(TypedDict):
    """The editor connection that answers the agent's client requests (files, terminals)."""

    client: str
    """The editor's name, as it reported it."""
    connection: str
    """Unique id of the connection."""
    principal: str
    """The principal whose credentials the connection used."""


LeaseMove: TypeAlias = Literal["opened", "acquired", "released", "left", "restarted"]
"""Why a thread's lease moved."""


class _LeaseMoved(TypedDict):
    by: By
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""
    why: LeaseMove


class LeaseMoved(_LeaseMoved, total=False):
    """A move of the lease."""

    holder: LeaseHolder | None
    """The new holder; absent if the daemon itself answers."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


Level: TypeAlias = Literal["info", "warning", "error"]
"""Severity of a notice."""


class LimitsInForce(TypedDict):
    """Effective limits of the daemon."""

    connections: int
    """Maximum number of concurrent connections. Further ones are refused; on a local socket they wait."""
    liveBatches: int
    """Batches of events that a connection may fall behind before the daemon serves it from the log."""
    messageBytes: int
    """Maximum size of a client's message, in bytes."""
    outboundQueue: int
    """Maximum number of batches of events queued for one connection."""
    pingSecs: int
    """Seconds between the daemon's pings."""
    pongSecs: int
    """Seconds of silence after a ping, after which the daemon closes the connection."""
    queuedTurns: int
    """Maximum number of queued turns in a thread."""
    requestWindowSecs: int
    requestsInFlight: int
    """Maximum number of requests in flight on one connection."""
    requestsPerWindow: int
    """Maximum number of requests of one connection within `requestWindowSecs`."""
    threadCommands: int
    """Maximum number of commands queued for a thread. Further requests fail with -32001."""
    writeSecs: int
    """Seconds that a client may read nothing, after which the daemon closes the connection."""


class ListAgentAnswers(TypedDict, total=False):
    """Params of `agent/remembered/list`."""

    agentType: str | None
    """Only answers for this agent; by default, for every agent."""


class _ListChanged(TypedDict):
    threadId: str
    ts: int
    """Time of the notification, in milliseconds since the epoch."""


class ListChanged(_ListChanged, total=False):
    """A change of the thread list."""

    thread: ChangedThread | None
    """The thread's new entry in `thread/list`; `null` if the thread is deleted."""


class ListFolders(TypedDict, total=False):
    """Params of `folder/list`."""

    path: str | None
    """Absolute path of the folder, or a path that begins with `~/`; by default the home directory of the daemon's user."""


ListReset: TypeAlias = "dict[str, Any]"
"""A reset of the thread list, without members."""


class ListShares(TypedDict, total=False):
    """Params of `thread/share/list`."""

    threadId: str | None
    """Only links of this thread; by default, of all threads."""


class ListThreads(TypedDict, total=False):
    """Params of `thread/list`."""

    agentType: str | None
    """Lists only threads of this agent."""
    archived: bool | None
    """Whether to list archived threads; by default, only threads that are not archived."""
    cursor: str | None
    """`nextCursor` of the previous page."""
    cwd: str | None
    """Lists only threads in this directory."""
    idPart: str | None
    """Lists only threads whose id begins or ends with these 1 to 32 hexadecimal digits; hyphens do not count."""
    limit: int | None
    """Maximum number of threads. A page has at most about 1 MiB: with large metadata, it has fewer."""
    pinned: bool | None
    """Lists only pinned threads, or only the others."""
    searchTerm: str | None
    """Lists only threads whose name contains this text."""
    status: ListedStatus | None
    """Lists only threads with this status."""


ListedStatus: TypeAlias = Literal["active", "running", "waiting", "idle", "failed"]
"""Filter of `thread/list`: what a thread is doing, or how its last turn ended."""


class _LogChanged(TypedDict):
    threadId: str
    ts: int
    """Time of the notification, in milliseconds since the epoch."""


class LogChanged(_LogChanged, total=False):
    """Whether a thread's log can be written."""

    error: str | None
    """Why the log cannot be written, or which events cannot be read; absent if the thread works again."""


class LogDamaged(TypedDict):
    """Events that cannot be read."""

    firstSeq: int
    """Number of the first of these events."""
    reason: str
    """Why they cannot be read."""
    seq: int
    """Number of the last of these events."""
    threadId: str
    ts: int
    """Time of the notification, in milliseconds since the epoch."""


class _Message(TypedDict):
    type: MessageType


class Message(_Message, total=False):
    """A message or a thought."""

    content: list[AcpObject] | None
    """ACP content blocks."""
    messageId: str | None
    """The agent's own id for the message."""
    text: str | None
    """The whole text."""


class _MessageCompleted(TypedDict):
    itemId: str
    outcome: ItemOutcome
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""
    type: MessageType


class MessageCompleted(_MessageCompleted, total=False):
    """A complete message."""

    content: list[AcpObject] | None
    """ACP content blocks."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    messageId: str | None
    """The agent's own id for the message."""
    text: str | None
    """The whole text."""
    turnId: str | None
    """The turn in which the event happened."""


class _MessageStarted(TypedDict):
    itemId: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""
    type: MessageType


class MessageStarted(_MessageStarted, total=False):
    """A message that started."""

    content: list[AcpObject] | None
    """ACP content blocks."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    messageId: str | None
    """The agent's own id for the message."""
    parentItemId: str | None
    text: str | None
    """The whole text."""
    turnId: str | None
    """The turn in which the event happened."""


MessageType: TypeAlias = Literal["userMessage", "agentMessage", "agentThought"]
"""Type of a message, which also names its author."""


class _NewThread(TypedDict):
    additionalDirectories: list[str]
    agentType: str
    createdAt: int
    cwd: str
    id: str
    status: ThreadStatus


class NewThread(_NewThread, total=False):
    """A new thread, as created."""

    metadata: Json | None
    name: str | None
    projectId: str | None


NoParams: TypeAlias = "dict[str, Any]"
"""No params."""


Nothing: TypeAlias = "dict[str, Any]"
"""An empty result."""


class _Notice(TypedDict):
    code: str
    level: Level
    message: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class Notice(_Notice, total=False):
    """A notice for the user."""

    by: By | None
    """Who refused the call of the agent or of a user."""
    bytes: int | None
    """Length of a line that is not a message."""
    detail: str | None
    folder: str | None
    """The folder in which the agent was denied a path, if `thread/directories/add` may open it. The agent has named the path: show the folder to the user first."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    omitted: bool | None
    """Whether it is larger than 16 KiB: then pages of turns leave it out."""
    requestedBy: By | None
    """The client whose user wanted to run a command that was refused."""
    turnId: str | None
    """The turn in which the event happened."""
    update: Json | None
    """The agent's own update, unchanged."""


NotificationListParams: TypeAlias = "NoParams"


class _NotificationTarget(TypedDict):
    failures: int
    """Deliveries that failed since the last one that succeeded."""
    name: str
    """Name of the target."""
    type: str
    """`webhook`, `command`, `ntfy`, or `push` for the browser of a user."""
    waiting: int
    """Notifications that wait for delivery."""


class NotificationTarget(_NotificationTarget, total=False):
    """A target of notifications."""

    error: str | None
    """Why the last delivery failed; `null` if it succeeded."""
    principal: str | None
    """The user of the browser; absent for targets of the configuration."""


class NotificationTargetsListed(TypedDict):
    """The targets of notifications, by name."""

    data: list[NotificationTarget]


class _NotificationTest(TypedDict):
    name: str
    """Name of the target."""


class NotificationTest(_NotificationTest, total=False):
    """The result of a test of one target."""

    error: str | None
    """Why the test failed; `null` if it succeeded."""


NotificationTestParams: TypeAlias = "TestNotifications"


class NotificationsTested(TypedDict):
    """The results of a test, by the targets' names."""

    data: list[NotificationTest]


class _PendingSteering(TypedDict):
    seq: int
    """Number of its event."""
    text: str


class PendingSteering(_PendingSteering, total=False):
    """A message for the running turn that the agent has not taken yet."""

    turnId: str | None


class PermissionOption(TypedDict):
    """One of the answers that an agent offers."""

    kind: str
    """ACP's `PermissionOptionKind`."""
    name: str
    optionId: str


class _Permitted(TypedDict):
    by: By
    method: str
    """The method that the agent called."""
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    subject: str
    """The file, command or other subject of the call."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class Permitted(_Permitted, total=False):
    """A call that the policy allowed."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


class _PlacedAnswer(TypedDict):
    by: By
    outcome: Resolution
    requestId: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class PlacedAnswer(_PlacedAnswer, total=False):
    """An answer, and its place."""

    afterItemId: str | None
    """Id of the item before the answer. Absent if the answer comes after the end of the turn, or before the first turn."""
    afterTurn: bool | None
    """Whether the answer comes after the end of the turn: no turn was running."""
    answers: Json | None
    """Answers to an elicitation with a form."""
    itemId: str | None
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    omitted: bool | None
    """Whether the answer is larger than 16 KiB: then pages of turns leave it out."""
    optionId: str | None
    """Id of the agent's option that was selected."""
    optionKind: str | None
    """ACP's kind of that option."""
    reason: str | None
    """Why the question was closed."""
    sentOptionId: str | None
    """The option that the daemon sent to the agent instead. acpd remembers an "always" and sends "once" to the agent."""
    title: str | None
    """The title of an answered question that is about no item, or its beginning. Absent in logs from before this member existed."""
    turnId: str | None
    """The turn in which the event happened."""


class _PlacedNotice(TypedDict):
    code: str
    level: Level
    message: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class PlacedNotice(_PlacedNotice, total=False):
    """A notice, and its place."""

    afterItemId: str | None
    """Id of the item before the notice. Absent if the notice comes after the end of the turn, or before the first turn."""
    afterTurn: bool | None
    """Whether the notice comes after the end of the turn: no turn was running."""
    by: By | None
    """Who refused the call of the agent or of a user."""
    bytes: int | None
    """Length of a line that is not a message."""
    detail: str | None
    folder: str | None
    """The folder in which the agent was denied a path, if `thread/directories/add` may open it. The agent has named the path: show the folder to the user first."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    omitted: bool | None
    """Whether it is larger than 16 KiB: then pages of turns leave it out."""
    requestedBy: By | None
    """The client whose user wanted to run a command that was refused."""
    turnId: str | None
    """The turn in which the event happened."""
    update: Json | None
    """The agent's own update, unchanged."""


class _Plan(TypedDict):
    entries: list[PlanEntry]
    """Steps of the plan, in order. Empty for a plan of another form."""


class Plan(_Plan, total=False):
    """A plan of the agent. One without an id, and of steps, has only `entries`."""

    form: PlanForm | None
    """Absent for a plan of steps."""
    markdown: str | None
    """The whole plan, if its form is `markdown`. It can be empty."""
    path: str | None
    """The absolute path of the file that contains the plan, as the agent reported it. Only some Markdown plans have one."""
    planId: str | None
    """The agent's id for the plan. Absent for the plan without an id."""


class PlanEntry(TypedDict):
    """One step of an agent's plan."""

    content: str
    """Description of the step."""
    priority: str
    """`high`, `medium` or `low`; other values are kept as received."""
    status: str
    """`pending`, `in_progress` or `completed`; other values are kept as received."""


PlanForm: TypeAlias = Literal["markdown"]
"""The form of a plan that has no steps."""


class _PlanRemoved(TypedDict):
    by: By
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class PlanRemoved(_PlanRemoved, total=False):
    """A plan that is no longer valid."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    planId: str | None
    """The agent's id for the plan. Absent for the plan without an id."""
    turnId: str | None
    """The turn in which the event happened."""


class _PlanUpdated(TypedDict):
    entries: list[PlanEntry]
    """Steps of the plan, in order. Empty for a plan of another form."""
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class PlanUpdated(_PlanUpdated, total=False):
    """A plan."""

    form: PlanForm | None
    """Absent for a plan of steps."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    markdown: str | None
    """The whole plan, if its form is `markdown`. It can be empty."""
    path: str | None
    """The absolute path of the file that contains the plan, as the agent reported it. Only some Markdown plans have one."""
    planId: str | None
    """The agent's id for the plan. Absent for the plan without an id."""
    turnId: str | None
    """The turn in which the event happened."""


class PoliciesRead(TypedDict, total=False):
    """The configured policies. Each is a preset's name or an object with rules; see `docs/policy.md`."""

    agent: Json | None
    """The agent's own policy, which takes precedence over the daemon's."""
    daemon: Json | None
    """The daemon's policy. Without one, the user is asked about every permission request."""


class PolicyExplainParams(TypedDict):
    """Params of `policy/explain`."""

    threadId: str
    """Id of the thread."""
    toolCall: AcpObject
    """An ACP tool call."""


class PolicyExplained(TypedDict):
    """Result of `policy/explain`."""

    decision: AcpObject
    """The decision and its reason."""
    subjects: list[AcpObject]
    """Every part of the call, with its matching rules."""


PolicyReadParams: TypeAlias = "ReadPolicy"


class PolicyRememberedListParams(TypedDict):
    """No params."""

    threadId: str
    """Id of the thread."""


class PolicyRememberedRevokeParams(TypedDict):
    """Params of `policy/remembered/revoke`."""

    id: int
    """Id of the answer, as in `policy/remembered/list`."""
    threadId: str
    """Id of the thread."""


class QuestionAnswered(TypedDict, total=False):
    """A client's response to a question: `decision`, optionally with `optionId` and `scope`, or `answers`, or `dismissed: true`."""

    answers: Json | None
    """Answers to an elicitation."""
    decision: str | None
    """`accept`, `acceptForSession`, `decline`, `declineForSession` or `cancel`."""
    dismissed: bool
    """Whether the user declines to answer."""
    optionId: str | None
    """Id of one of the agent's options. It is more specific than `decision` and must not contradict it."""
    optionKind: str | None
    """Kind of that option, as shown to the user. The answer is refused if the option is of another kind."""
    scope: Scope | None
    """Remembers the answer, so that it also applies to later questions in this scope."""


QuestionType: TypeAlias = Literal["permission", "input"]
"""What a question asks for."""


class _QueueChanged(TypedDict):
    by: By
    paused: bool
    """Whether no queued turn starts by itself."""
    queuedTurnIds: list[str]
    """Ids of the queued turns, in their order."""
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class QueueChanged(_QueueChanged, total=False):
    """The queue of a thread."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


class ReadPolicy(TypedDict, total=False):
    """Params of `policy/read`."""

    agentType: str | None
    """Name of an agent whose own policy is also returned, as in `agent/list`."""


class _ReadSessionOptions(TypedDict):
    agentType: str
    """Name of the agent, as in `agent/list`."""
    cwd: str
    """Absolute path of the session's working directory."""


class ReadSessionOptions(_ReadSessionOptions, total=False):
    """Params of `agent/options`."""

    additionalDirectories: list[str]
    """Absolute paths of additional directories of the workspace."""


class ReadUsage(TypedDict, total=False):
    """Params of `usage/read`."""

    by: UsageBy | None
    """What the rows are; days by default."""
    days: int | None
    """Number of days until today, in UTC; 30 by default."""


class Rejected(TypedDict):
    """A refused response."""

    error: Error
    requestId: str
    threadId: str


class _Remembered(TypedDict):
    answer: Json
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class Remembered(_Remembered, total=False):
    """A remembered answer."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


class _RememberedAnswer(TypedDict):
    allow: bool
    """Whether the answer allows the call; otherwise it denies it."""
    id: int
    rule: str
    """The rule that was made from the answer."""
    scope: str
    """`session`, `thread` or `agent`."""


class RememberedAnswer(_RememberedAnswer, total=False):
    """A remembered answer."""

    arguments: str | None
    """Hash of the input that the call must have."""
    call: str | None
    """Hash of the kind, tool, locations and diffs that the call must have."""
    cwd: str | None
    """Working directory in which the command must be started."""
    line: str | None
    """Hash of the command line that the command must be part of."""


class RememberedListed(TypedDict):
    """The remembered answers."""

    data: list[RememberedAnswer]


class _Removal(TypedDict):
    bytes: int
    """About how many bytes were removed."""
    limit: RetentionLimit
    threadId: str
    updatedAt: int
    """When a turn last started or ended, in milliseconds since the epoch."""


class Removal(_Removal, total=False):
    """A thread that was removed, or whose attachments were."""

    name: str | None
    """The thread's name."""


Replaced: TypeAlias = Literal["nothing", "text", "unknown"]
"""What a write replaced."""


Resolution: TypeAlias = Literal["accepted", "declined", "cancelled", "void"]
"""How a question was resolved."""


class _Resolved(TypedDict):
    by: By
    outcome: Resolution
    requestId: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class Resolved(_Resolved, total=False):
    """How a question was resolved."""

    answers: Json | None
    """Answers to an elicitation with a form."""
    itemId: str | None
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    omitted: bool | None
    """Whether the answer is larger than 16 KiB: then pages of turns leave it out."""
    optionId: str | None
    """Id of the agent's option that was selected."""
    optionKind: str | None
    """ACP's kind of that option."""
    reason: str | None
    """Why the question was closed."""
    sentOptionId: str | None
    """The option that the daemon sent to the agent instead. acpd remembers an "always" and sends "once" to the agent."""
    title: str | None
    """The title of an answered question that is about no item, or its beginning. Absent in logs from before this member existed."""
    turnId: str | None
    """The turn in which the event happened."""


RetentionLimit: TypeAlias = Literal["maxAge", "archivedMaxAge", "maxSize", "attachmentsMaxAge"]
"""A limit of the configuration."""


class RetentionRun(TypedDict):
    """Result of `retention/run`."""

    attachments: int
    """Number of removed attachments of threads that stay."""
    bytes: int
    """About how many bytes both took. They are overwritten and free after some seconds."""
    configured: bool
    """Whether the configuration has any limit."""
    dryRun: bool
    """Whether nothing was removed."""
    kept: int
    """Number of threads that stay although a limit applies, because they are in use or cannot be read."""
    logBytes: int
    """Bytes that the log takes without what was removed."""
    removed: list[Removal]
    """What was removed, in the order of removal; at most 1,000 entries."""
    threads: int
    """Number of removed threads."""


RetentionRunParams: TypeAlias = "RunRetention"


class RevokeAgentAnswer(TypedDict):
    """Params of `agent/remembered/revoke`."""

    agentType: str
    """Name of the agent, as in `agent/remembered/list`."""
    id: int
    """Id of the answer, as in `agent/remembered/list`."""


class RevokeShare(TypedDict):
    """Params of `thread/share/revoke`."""

    shareId: str
    """Id of the link, as in `thread/share/list`."""


class _Revoked(TypedDict):
    id: int
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class Revoked(_Revoked, total=False):
    """A revoked answer."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


Role: TypeAlias = Literal["observer", "approver", "operator", "owner"]
"""The role of a principal. Each role includes the permissions of those before it."""


class RolledBack(TypedDict):
    """Result of a rollback."""

    fidelity: Fidelity


class RunRetention(TypedDict, total=False):
    """Params of `retention/run`."""

    confirmClock: bool | None
    """Whether the clock of the daemon's host is right. If it was set, the daemon follows it and retention trusts it from then on."""
    dryRun: bool | None
    """Whether nothing is removed: the result is what would be."""


class _RunningAgent(TypedDict):
    agentType: str
    """Name of the agent."""
    memoryBytes: int
    """Resident memory of the process and of all processes that it started, in bytes."""
    startedAt: int
    """When the process was started, in milliseconds since the epoch."""
    state: str
    """`busy` (in a turn), `idle`, `waiting` (for its first session) or `leaving` (being stopped)."""
    threads: list[str]
    """Ids of the threads that use the process: several if it is shared, none while it waits for its first session."""


class RunningAgent(_RunningAgent, total=False):
    """A running agent process."""

    idleSince: int | None
    """Since when the process is idle, in milliseconds since the epoch."""
    pid: int | None
    """Process id; `null` while the process starts."""


Scope: TypeAlias = Literal["session", "thread", "agent", "daemon"]
"""Scope of a policy or a remembered answer, from the innermost to the outermost."""


class _SearchThreads(TypedDict):
    query: str
    """Words that must all occur in one text. Case and accents are ignored. Words in double quotes must follow each other. The last word, if it is not in quotes, matches every word that begins with it. At most 1 KiB."""


class SearchThreads(_SearchThreads, total=False):
    """Params of `thread/search`."""

    cursor: str | None
    """`nextCursor` of the previous page."""
    limit: int | None
    """Maximum number of hits, at most 100."""
    threadId: str | None
    """Searches only this thread; by default, all threads."""


class SeenChanged(TypedDict):
    """Threads that the principal of the connection has seen."""

    threads: list[SeenThread]
    """The threads. A mark that is earlier than one before changes nothing."""
    ts: int
    """Time of the notification, in milliseconds since the epoch."""


class SeenMark(TypedDict):
    """How far a user has seen a thread."""

    seenAt: int
    """The `updatedAt` of the thread, as the user has seen it."""
    threadId: str
    """Id of the thread."""


class SeenThread(TypedDict):
    """How far a principal has seen a thread."""

    seenAt: int
    """Changes until then have been seen, in milliseconds since the epoch."""
    threadId: str


class ServerCapabilities(TypedDict):
    """Capabilities of the daemon."""

    approvals: bool
    replacesTurns: bool
    """Whether `turn/start` takes `replacesTurnId`. Without this, an older daemon ignores it and adds the prompt to the conversation."""
    streaming: bool
    tools: bool


class ServerInfo(TypedDict):
    """Name and version of the daemon."""

    name: str
    version: str


SessionDeleted: TypeAlias = Literal["deleted", "failed", "notAsked"]
"""Whether a deleted thread's session was also deleted in the agent."""


class _SessionParams(TypedDict):
    mcpServers: list[str | None]
    """Names of additional MCP servers."""


class SessionParams(_SessionParams, total=False):
    """Parameters for opening the agent's session that differ from those the thread was created with."""

    cwd: str | None
    """Working directory of the session; `null` is the thread's."""


class SetDefaultAgent(TypedDict, total=False):
    """Params of `config/agent/set`."""

    agentType: str | None
    """Name of the agent, as in `agent/list`. If absent or `null`, removes the setting."""


class SetDefaultPolicy(TypedDict, total=False):
    """Params of `config/policy/set`."""

    agentType: str | None
    """Name of the agent whose own policy is set, as in `agent/list`; the policy of all agents if absent."""
    preset: str | None
    """`permissive`, `standard`, `restricted` or `readonly`. If absent or `null`, removes the policy."""


class _SetSeen(TypedDict):
    threads: list[SeenMark]
    """The threads, at most 500."""


class SetSeen(_SetSeen, total=False):
    """Params of `thread/seen/set`."""

    since: int | None
    """For a principal that has never called this method: changes until then count as seen, in milliseconds since the epoch. By default, all changes until now."""


class ShareCreated(TypedDict):
    """Result of `thread/share/create`."""

    secret: str
    """The link's secret, which is stored nowhere. The link is the daemon's address and `/#share=SECRET`. Programs send the secret as a token."""
    share: ThreadShare


class SharesListed(TypedDict):
    """The links, oldest first."""

    data: list[ThreadShare]


class SignInRead(TypedDict):
    """The sign-in to the agent."""

    inProgress: bool
    """Whether one is in progress."""
    lines: list[str]
    """The lines with addresses and codes that the agent has printed for the last one."""


class SnippetPiece(TypedDict):
    """A piece of a snippet."""

    hit: bool
    """Whether the piece matches the query."""
    text: str


class _StartThread(TypedDict):
    agentType: str
    """Name of an agent, as in `agent/list`."""
    cwd: str
    """Absolute path of the working directory."""


class StartThread(_StartThread, total=False):
    """Params of `thread/start`."""

    additionalDirectories: list[str]
    """Absolute paths of additional directories of the workspace."""
    clientTurnId: str | None
    """The client's own id for the first turn."""
    config: dict[str, ConfigValue]
    """Initial values of config options, by id."""
    input: list[AcpObject] | None
    """The first turn as ACP content blocks."""
    mcpServers: list[AcpObject]
    """ACP `McpServer` objects, passed on to the agent."""
    metadata: Json | None
    """Arbitrary data that the client stores with the thread."""
    mode: str | None
    """Id of the initial mode."""
    name: str | None
    """Name of the thread, as shown to users."""
    policy: Json | None
    """The thread's own permission policy: a preset's name, or an object. Requires the role owner."""
    projectId: str | None
    """Project id that the client chooses to group threads by."""
    sessionId: str | None
    """Id of an agent's session to continue instead of a new one, as in `agent/session/list`. Its history is imported if the agent replays it. Returns `conflict` if a thread already uses the session."""
    systemPrompt: SystemPrompt | None
    """Instructions for the agent, in addition to its own or instead of them. Returns `unsupported` if the agent does not declare that it takes them."""
    text: str | None
    """The first turn as plain text, placed before `input`."""


class _StatusChanged(TypedDict):
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    status: ThreadStatus
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class StatusChanged(_StatusChanged, total=False):
    """A thread's status."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


class Subscriber(TypedDict):
    """A client that follows a thread."""

    client: str
    """The client's name, as it reported it."""
    mayAnswer: bool
    """Whether the client receives the agent's questions as requests: it answers questions, and its role allows that."""
    principal: str
    """The principal whose credentials the client used."""


class SubscribersChanged(TypedDict):
    """The other clients that follow a thread."""

    more: int
    """Number of further clients."""
    others: list[Subscriber]
    """At most 32 of the other clients. Clients that answer questions come first, each group in order of arrival."""
    threadId: str
    ts: int
    """Time of the notification, in milliseconds since the epoch."""


class Suggestion(TypedDict):
    """A prompt that the agent suggests."""

    prompt: list[AcpObject]
    """ACP content blocks: text, and links to resources. The texts have at most 4 KiB and no control characters."""


class _SuggestionsUpdated(TypedDict):
    suggestions: list[Suggestion]
    """At most 8 suggestions, the most likely one first. An empty list withdraws those before."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class SuggestionsUpdated(_SuggestionsUpdated, total=False):
    """Prompts that the agent suggests."""

    seq: int | None
    """Absent, because suggestions are only shown live."""
    turnId: str | None


class _SystemPrompt(TypedDict):
    content: str
    """The instructions; at most 256 KiB."""


class SystemPrompt(_SystemPrompt, total=False):
    """A system prompt for a thread's agent."""

    mode: SystemPromptMode | None
    """How the agent combines it with its own instructions; `append` if absent."""


SystemPromptMode: TypeAlias = Literal["append", "override"]
"""How an agent combines a system prompt with its own instructions."""


class _TerminalCommand(TypedDict):
    terminalId: str
    type: TerminalCommandType


class TerminalCommand(_TerminalCommand, total=False):
    """A command in a terminal."""

    args: list[str] | None
    command: str | None
    cwd: str | None
    exitCode: int | None
    """Exit code, if the command exited normally."""
    output: str | None
    """The last part of the output."""
    outputBlob: str | None
    """Blob with all kept output, at `GET /api/blobs/{outputBlob}`, if `output` is only the end of it."""
    requestedBy: By | None
    """The client whose user requested the command: `command` is the whole line then, without `args`. Absent for a command of the agent."""
    secret: bool | None
    """Whether the terminal of a waiting command does not show what is typed, as for a password."""
    signal: str | None
    """Name of the signal that terminated the command."""
    truncated: bool | None
    """Whether some of the output was not kept."""
    waiting: bool | None
    """Whether the running command has been silent and waits for input."""


class _TerminalCommandCompleted(TypedDict):
    itemId: str
    outcome: ItemOutcome
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    terminalId: str
    threadId: str
    ts: int
    """Milliseconds since the epoch."""
    type: TerminalCommandType


class TerminalCommandCompleted(_TerminalCommandCompleted, total=False):
    """A command that ended."""

    args: list[str] | None
    by: By | None
    """The client that acted instead of the daemon, or whose user requested the command."""
    command: str | None
    cwd: str | None
    exitCode: int | None
    """Exit code, if the command exited normally."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    output: str | None
    """The last part of the output."""
    outputBlob: str | None
    """Blob with all kept output, at `GET /api/blobs/{outputBlob}`, if `output` is only the end of it."""
    requestedBy: By | None
    """The client whose user requested the command: `command` is the whole line then, without `args`. Absent for a command of the agent."""
    secret: bool | None
    """Whether the terminal of a waiting command does not show what is typed, as for a password."""
    signal: str | None
    """Name of the signal that terminated the command."""
    truncated: bool | None
    """Whether some of the output was not kept."""
    turnId: str | None
    """The turn in which the event happened."""
    waiting: bool | None
    """Whether the running command has been silent and waits for input."""


class _TerminalCommandStarted(TypedDict):
    itemId: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    terminalId: str
    threadId: str
    ts: int
    """Milliseconds since the epoch."""
    type: TerminalCommandType


class TerminalCommandStarted(_TerminalCommandStarted, total=False):
    """A command that started."""

    args: list[str] | None
    by: By | None
    """The client that acted instead of the daemon, or whose user requested the command."""
    command: str | None
    cwd: str | None
    exitCode: int | None
    """Exit code, if the command exited normally."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    output: str | None
    """The last part of the output."""
    outputBlob: str | None
    """Blob with all kept output, at `GET /api/blobs/{outputBlob}`, if `output` is only the end of it."""
    parentItemId: str | None
    requestedBy: By | None
    """The client whose user requested the command: `command` is the whole line then, without `args`. Absent for a command of the agent."""
    secret: bool | None
    """Whether the terminal of a waiting command does not show what is typed, as for a password."""
    signal: str | None
    """Name of the signal that terminated the command."""
    truncated: bool | None
    """Whether some of the output was not kept."""
    turnId: str | None
    """The turn in which the event happened."""
    waiting: bool | None
    """Whether the running command has been silent and waits for input."""


TerminalCommandType: TypeAlias = Literal["terminalCommand"]


class _TerminalNamed(TypedDict):
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    terminalId: str
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class TerminalNamed(_TerminalNamed, total=False):
    """A terminal."""

    by: By | None
    """The client that acted instead of the daemon."""
    itemId: str | None
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


class _TerminalOutput(TypedDict):
    itemId: str
    terminalId: str
    text: str
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class TerminalOutput(_TerminalOutput, total=False):
    """Output of a command in a terminal."""

    seq: int | None
    """Number of the event; absent if the output is only shown live."""
    skippedBytes: int | None
    """Number of bytes before `text` that were omitted."""
    turnId: str | None


class _TerminalWaiting(TypedDict):
    itemId: str
    secret: bool
    """Whether the terminal does not show what is typed, as for a password."""
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    terminalId: str
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class TerminalWaiting(_TerminalWaiting, total=False):
    """A terminal that waits for input."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


class TestNotifications(TypedDict, total=False):
    """Params of `notification/test`."""

    target: str | None
    """Name of the target, as in `notification/list`; all targets if absent."""


class _TextFound(TypedDict):
    kind: TextKind
    seq: int
    """Number of the event that contains the text."""
    snippet: list[SnippetPiece]
    """An extract of the text: one line, in pieces. An ellipsis marks omitted text."""
    threadId: str
    ts: int
    """Time of that event, in milliseconds since the epoch."""


class TextFound(_TextFound, total=False):
    """A search hit."""

    itemId: str | None
    name: str | None
    """The thread's name."""
    turnId: str | None


TextKind: TypeAlias = Literal["userMessage", "agentMessage", "toolCall", "command", "path"]
"""Type of a text."""


class _TextsFound(TypedDict):
    data: list[TextFound]


class TextsFound(_TextsFound, total=False):
    """A page of search hits."""

    nextCursor: str | None
    """Cursor for the next page."""


class _Thread(TypedDict):
    additionalDirectories: list[str]
    """Additional directories of the workspace."""
    agentType: str
    """Name of the agent, as in `agent/list`."""
    archived: bool
    """Whether the thread is archived."""
    createdAt: int
    """When the thread was created or forked, in milliseconds since the epoch."""
    cwd: str
    """Absolute path of the working directory."""
    id: str
    """Id of the thread."""
    latestSeq: int
    """Number of the thread's last event."""
    pendingRequestIds: list[str]
    """Ids of open questions."""
    queuedTurnIds: list[str]
    """Ids of queued turns."""
    status: ThreadStatus
    turnCount: int
    """Number of turns in the conversation. Dropped turns do not count."""
    updatedAt: int
    """When a turn last started or ended, in milliseconds since the epoch."""


class Thread(_Thread, total=False):
    """A thread with its current state."""

    availableCommandsUpdate: AcpObject | None
    """ACP's `available_commands_update` with the agent's commands."""
    configOptions: list[AcpObject] | None
    """ACP's `SessionConfigOption` objects."""
    cursor: str | None
    """Cursor for older turns."""
    error: str | None
    """Why the status is `failed`."""
    interrupting: bool | None
    """Whether the running turn was interrupted and has not ended yet."""
    lastTurnCutOff: bool | None
    """Whether the last turn was interrupted by an error, such as a restart of acpd, and not by a client."""
    lastTurnStatus: TurnStatus | None
    """Status of the last ended turn; absent if there was none, or if it was dropped."""
    lease: LeaseHolder | None
    """The editor that answers the agent's client requests; if absent, the daemon answers."""
    metadata: Json | None
    """Arbitrary data that the client stored with the thread."""
    modeId: str | None
    """Id of the agent's current mode."""
    modes: AcpObject | None
    """ACP's `SessionModeState`, as it was when the session was opened."""
    name: str | None
    """The name that a user set, else the agent's title, else the beginning of the first prompt."""
    pinPlace: int | None
    """The place that a user has chosen for the pinned thread. Clients list those without a place first, then the lowest."""
    pinned: bool | None
    """Whether a user pinned the thread. Clients list pinned threads first."""
    plan: list[PlanEntry] | None
    """The plan with steps that changed last."""
    plans: list[Plan] | None
    """All plans, in the order in which they came. Absent if `plan` is the only one, and has no id."""
    policy: Json | None
    """The thread's own permission policy."""
    projectId: str | None
    """Project id that the client chose to group threads by."""
    question: WaitingQuestion | None
    """The oldest unanswered question."""
    queuePaused: bool | None
    """Whether no queued turn starts by itself."""
    seenAt: int | None
    """In `thread/list`: the principal of the connection has seen all changes until then, in milliseconds since the epoch. The thread is unread if `updatedAt` is later. Absent if the principal has never called `thread/seen/set`."""
    sessionId: str | None
    """The agent's id for its session."""
    spent: UsageSum | None
    """What the thread has used, with all sessions of its agent, also of dropped turns. Absent if its agents have reported nothing."""
    steering: list[PendingSteering] | None
    """Messages for the running turn that the agent has not taken yet, in order."""
    tokenUsage: TokenUsage | None
    turnId: str | None
    """Id of the running turn."""
    turns: list[Turn] | None
    """The latest turns, oldest first, if the request includes turns."""


class ThreadArchiveParams(TypedDict):
    """No params."""

    threadId: str
    """Id of the thread."""


class _ThreadChanged(TypedDict):
    by: By
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class ThreadChanged(_ThreadChanged, total=False):
    """A change of the thread, with its originator."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


class ThreadCommandRunParams(TypedDict):
    """Params of `thread/command/run`."""

    command: str
    """The command line, at most 64 KiB."""
    threadId: str
    """Id of the thread."""


class ThreadConfigSetParams(TypedDict):
    """Params of `thread/config/set`."""

    configId: str
    """Id of one of the agent's config options."""
    threadId: str
    """Id of the thread."""
    value: ConfigValue
    """Id of one of a select option's values, or a boolean."""


class ThreadDeleteParams(TypedDict):
    """No params."""

    threadId: str
    """Id of the thread."""


class _ThreadDeleted(TypedDict):
    by: By
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    session: SessionDeleted
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class ThreadDeleted(_ThreadDeleted, total=False):
    """A deleted thread."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


class ThreadDirectoriesAddParams(TypedDict):
    """Params of `thread/directories/add`."""

    directory: str
    """The directory, an absolute path on the daemon's host without links, such as `folder` of a notice."""
    threadId: str
    """Id of the thread."""


class _ThreadDirectoriesSetParams(TypedDict):
    cwd: str
    """The working directory, an absolute path on the daemon's host."""
    threadId: str
    """Id of the thread."""


class ThreadDirectoriesSetParams(_ThreadDirectoriesSetParams, total=False):
    """Params of `thread/directories/set`."""

    additionalDirectories: list[str] | None
    """Further directories of the workspace. By default, those inside the earlier working directory move along, and the others stay."""


class _ThreadForkParams(TypedDict):
    threadId: str
    """Id of the thread."""


class ThreadForkParams(_ThreadForkParams, total=False):
    """Params of `thread/fork`."""

    name: str | None
    """Name of the new thread; by default, the name of this thread."""
    turnId: str | None
    """Id of the last turn to copy; by default, the last turn that is over."""


class _ThreadForked(TypedDict):
    by: By
    fidelity: Fidelity
    """How well the agent remembers, if it opens the fork of its session. The answer to `thread/fork` says whether it has."""
    fromThreadId: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class ThreadForked(_ThreadForked, total=False):
    """The origin of a forked thread."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    lastTurnId: str | None
    """The last turn that was copied."""
    sessionId: str | None
    """The agent's id for the fork of its session."""
    turnId: str | None
    """The turn in which the event happened."""


class ThreadForkedResult(TypedDict):
    """The new thread of a fork."""

    fidelity: Fidelity
    thread: Thread


class ThreadFound(TypedDict):
    """One thread."""

    thread: Thread


class ThreadLanesParams(TypedDict):
    """No params."""

    threadId: str
    """Id of the thread."""


ThreadListParams: TypeAlias = "ListThreads"


ThreadListUnwatchParams: TypeAlias = "NoParams"


ThreadListWatchParams: TypeAlias = "NoParams"


class _ThreadMade(TypedDict):
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    thread: NewThread
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class ThreadMade(_ThreadMade, total=False):
    """A new thread."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


class ThreadMetadataSetParams(TypedDict):
    """Params of `thread/metadata/set`."""

    metadata: Json
    """The new data, at most 64 KiB; `null` removes the data."""
    threadId: str
    """Id of the thread."""


class ThreadModeSetParams(TypedDict):
    """Params of `thread/mode/set`."""

    modeId: str
    """Id of one of the agent's modes."""
    threadId: str
    """Id of the thread."""


class ThreadNameSetParams(TypedDict):
    """Params of `thread/name/set`."""

    name: str | None
    """The new name, at most 1024 bytes; `null` removes it."""
    threadId: str
    """Id of the thread."""


class _ThreadPinSetParams(TypedDict):
    pinned: bool
    """Whether the thread is pinned from now on."""
    threadId: str
    """Id of the thread."""


class ThreadPinSetParams(_ThreadPinSetParams, total=False):
    """Params of `thread/pin/set`."""

    place: int | None
    """The thread's place among the pinned threads, the lowest first; by default, it keeps the one that it has. Without a pin it has none."""


class _ThreadPolicySetParams(TypedDict):
    threadId: str
    """Id of the thread."""


class ThreadPolicySetParams(_ThreadPolicySetParams, total=False):
    """Params of `thread/policy/set`."""

    policy: Json | None
    """A preset's name or an object. If absent or `null`, removes the thread's own policy."""


class _ThreadReadParams(TypedDict):
    threadId: str
    """Id of the thread."""


class ThreadReadParams(_ThreadReadParams, total=False):
    """Params of `thread/read`."""

    cursor: str | None
    """`thread.cursor` of the previous page."""
    includeTurns: bool | None
    """Whether the result contains turns and items."""
    limit: int | None
    """Maximum number of turns. A page has at most about 1 MiB; the earlier items of a turn that is too large for it are on the next page, in a turn with the same id."""


class _ThreadResumeParams(TypedDict):
    threadId: str
    """Id of the thread."""


class ThreadResumeParams(_ThreadResumeParams, total=False):
    """Params of `thread/resume`."""

    after: int | None
    """Number of the last event that the client has received; 0 for none."""
    limit: int | None
    """Maximum number of turns in the result, if `after` is absent. A page has at most about 1 MiB; the earlier items of a turn that is too large for it are on the next page, in a turn with the same id."""
    startAgent: bool | None
    """Whether to start the agent now; by default, it is started, so that the next turn begins sooner."""


class ThreadResumed(TypedDict):
    """The subscribed thread."""

    latestSeq: int
    """Number of the thread's last event. Later events follow as notifications."""
    thread: Thread


class ThreadRollbackParams(TypedDict):
    """Params of `thread/rollback`."""

    threadId: str
    """Id of the thread."""
    turnId: str | None
    """Id of the last turn to keep; `null` keeps none."""


ThreadSearchParams: TypeAlias = "SearchThreads"


ThreadSeenSetParams: TypeAlias = "SetSeen"


class _ThreadShare(TypedDict):
    createdAt: int
    createdBy: str
    """Name of the token that made it."""
    expiresAt: int
    """The link ends then, or when the token that made it does."""
    id: str
    """Id of the link, which is not secret."""
    threadId: str
    """The thread that it shares."""


class ThreadShare(_ThreadShare, total=False):
    """A link with which anyone can read one thread."""

    name: str | None
    """Its name, for the list of links."""


class _ThreadShareCreateParams(TypedDict):
    threadId: str
    """Id of the thread."""


class ThreadShareCreateParams(_ThreadShareCreateParams, total=False):
    """Params of `thread/share/create`."""

    expiresInSecs: int | None
    """Seconds until the link expires, from 60 to 31,536,000 (a year); 604,800 (7 days) if absent."""
    name: str | None
    """A name for the list of links, at most 100 bytes. Readers of the thread do not see it."""


ThreadShareListParams: TypeAlias = "ListShares"


ThreadShareRevokeParams: TypeAlias = "RevokeShare"


ThreadStartParams: TypeAlias = "StartThread"


class _ThreadStarted(TypedDict):
    thread: Thread


class ThreadStarted(_ThreadStarted, total=False):
    """The new thread."""

    turn: Turn | None
    """The first turn, if the params contain one."""


ThreadStatus: TypeAlias = Literal["idle", "running", "waiting", "deleting", "failed"]
"""What a thread is doing."""


class _ThreadSummary(TypedDict):
    agentType: str
    """Name of the agent, as in `agent/list`."""
    archived: bool
    """Whether the thread is archived."""
    createdAt: int
    """When the thread was created or forked, in milliseconds since the epoch."""
    cwd: str
    """Absolute path of the working directory."""
    id: str
    """Id of the thread."""
    status: ThreadStatus
    turnCount: int
    """Number of turns in the conversation. Dropped turns do not count."""
    updatedAt: int
    """When a turn last started or ended, in milliseconds since the epoch."""


class ThreadSummary(_ThreadSummary, total=False):
    """The summary of a thread, as lists show it."""

    error: str | None
    """Why the status is `failed`."""
    lastTurnCutOff: bool | None
    """Whether the last turn was interrupted by an error, such as a restart of acpd, and not by a client."""
    lastTurnStatus: TurnStatus | None
    """Status of the last ended turn; absent if there was none, or if it was dropped."""
    metadata: Json | None
    """Arbitrary data that the client stored with the thread."""
    name: str | None
    """The name that a user set, else the agent's title, else the beginning of the first prompt."""
    pinPlace: int | None
    """The place that a user has chosen for the pinned thread. Clients list those without a place first, then the lowest."""
    pinned: bool | None
    """Whether a user pinned the thread. Clients list pinned threads first."""
    projectId: str | None
    """Project id that the client chose to group threads by."""
    question: WaitingQuestion | None
    """The oldest unanswered question."""
    seenAt: int | None
    """In `thread/list`: the principal of the connection has seen all changes until then, in milliseconds since the epoch. The thread is unread if `updatedAt` is later. Absent if the principal has never called `thread/seen/set`."""


class ThreadTerminalKillParams(TypedDict):
    """Params of `thread/terminal/kill`."""

    terminalId: str
    """Id of the terminal, as in its item."""
    threadId: str
    """Id of the thread."""


class ThreadTerminalWriteParams(TypedDict):
    """Params of `thread/terminal/write`."""

    terminalId: str
    """Id of the terminal, as in its item."""
    text: str
    """What the user types, at most 2048 bytes. `\\n` ends a line, U+0004 ends the input, and U+0003 interrupts the program."""
    threadId: str
    """Id of the thread."""


class ThreadUnarchiveParams(TypedDict):
    """No params."""

    threadId: str
    """Id of the thread."""


class ThreadUnsubscribeParams(TypedDict):
    """No params."""

    threadId: str
    """Id of the thread."""


class _ThreadUpdated(TypedDict):
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class ThreadUpdated(_ThreadUpdated, total=False):
    """Changed properties of a thread."""

    agent: AgentBound | None
    """A session was opened."""
    availableCommandsUpdate: AcpObject | None
    """ACP's `available_commands_update`."""
    by: By | None
    """The originator of the change of the name, the data, the pin or the directories."""
    configOptionUpdate: AcpObject | None
    """ACP's `config_option_update`."""
    directories: Directories | None
    """The directories that the thread works in from now on."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    metadata: Json | None
    """The client's own data; `null` if it was removed."""
    modeId: str | None
    """Id of the new mode."""
    modelId: str | None
    """Id of the new model."""
    name: str | None
    """The thread's name; `null` if it was removed."""
    pinPlace: int | None
    """With `pinned`: the thread's place among the pinned threads from now on, the lowest first; absent if it has none."""
    pinned: bool | None
    """Whether the thread is pinned from now on."""
    policy: Json | None
    """The thread's own policy."""
    session: SessionParams | None
    """Parameters with which a client wants the agent's session to be opened from now on."""
    sessionInfo: AcpObject | None
    """ACP's `session_info_update`."""
    turnId: str | None
    """The turn in which the event happened."""


class _ThreadsListed(TypedDict):
    data: list[ThreadSummary]


class ThreadsListed(_ThreadsListed, total=False):
    """A page of threads."""

    nextCursor: str | None
    """Cursor for the next page."""


class ThreadsSeen(TypedDict):
    """Where the principal begins."""

    since: int
    """Changes of all threads until then count as seen, in milliseconds since the epoch."""


class TokenUsage(TypedDict, total=False):
    """Usage of the agent's context."""

    cost: AcpObject | None
    """ACP's `Cost`: what the agent's session has cost, as the agent reported it."""
    size: int | None
    """Tokens that fit into the context."""
    used: int | None
    """Tokens in use."""


class _TokenUsageUpdated(TypedDict):
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class TokenUsageUpdated(_TokenUsageUpdated, total=False):
    """Usage of the agent's context."""

    cost: AcpObject | None
    """ACP's `Cost`: what the agent's session has cost, as the agent reported it."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    size: int | None
    threadCost: AcpObject | None
    """What the thread has cost in this currency, with all sessions of its agent, as ACP's `Cost`."""
    turnId: str | None
    """The turn in which the event happened."""
    used: int | None


class _ToolCall(TypedDict):
    status: ToolStatus
    type: ToolCallType


class ToolCall(_ToolCall, total=False):
    """A tool call."""

    kind: str | None
    """ACP's `ToolKind`."""
    name: str | None
    """The same as `title`."""
    title: str | None
    """The agent's title for the call."""
    toolCall: AcpObject | None
    """The ACP tool call with all its updates applied."""
    toolCallId: str | None
    """The agent's id for the call."""


class _ToolCallCompleted(TypedDict):
    itemId: str
    outcome: ItemOutcome
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    status: ToolStatus
    threadId: str
    ts: int
    """Milliseconds since the epoch."""
    type: ToolCallType


class ToolCallCompleted(_ToolCallCompleted, total=False):
    """A tool call that ended."""

    kind: str | None
    """ACP's `ToolKind`."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    name: str | None
    """The same as `title`."""
    title: str | None
    """The agent's title for the call."""
    toolCall: AcpObject | None
    """The ACP tool call with all its updates applied."""
    toolCallId: str | None
    """The agent's id for the call."""
    turnId: str | None
    """The turn in which the event happened."""


class _ToolCallStarted(TypedDict):
    itemId: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    status: ToolStatus
    threadId: str
    ts: int
    """Milliseconds since the epoch."""
    type: ToolCallType


class ToolCallStarted(_ToolCallStarted, total=False):
    """A tool call that started."""

    kind: str | None
    """ACP's `ToolKind`."""
    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    name: str | None
    """The same as `title`."""
    parentItemId: str | None
    title: str | None
    """The agent's title for the call."""
    toolCall: AcpObject | None
    """The ACP tool call with all its updates applied."""
    toolCallId: str | None
    """The agent's id for the call."""
    turnId: str | None
    """The turn in which the event happened."""


ToolCallType: TypeAlias = Literal["toolCall"]


class _ToolCallUpdated(TypedDict):
    itemId: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    status: ToolStatus
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class ToolCallUpdated(_ToolCallUpdated, total=False):
    """A change of a tool call."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    toolCall: AcpObject | None
    """ACP's `tool_call_update`. Absent members are unchanged."""
    turnId: str | None
    """The turn in which the event happened."""


ToolStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]
"""ACP's tool call status."""


class _Turn(TypedDict):
    status: TurnStatus


class Turn(_Turn, total=False):
    """One prompt and everything that the agent did until the turn ended; or commands that users ran in between."""

    answers: list[PlacedAnswer] | None
    """Answers to questions, in order; only if the request includes turns."""
    changes: DiffSize | None
    """The size of the turn's diff, which `turn/diff/read` returns. Absent if the turn has changed no file, while it runs, and in logs from before this member existed."""
    clientTurnId: str | None
    """The client's own id for the turn."""
    completedAt: int | None
    """Milliseconds since the epoch."""
    error: str | None
    """Why the turn failed, in one sentence."""
    id: str | None
    """Id of the turn. Items outside of any turn are in a turn without an id."""
    imported: bool | None
    """Whether the turn took place in the agent's session outside of acpd and was imported. It is already over."""
    input: list[AcpObject] | None
    """ACP content blocks of the prompt, while the turn is queued, and if it ended without a start."""
    items: list[Item] | None
    """Items in the order in which they started; only if the request includes turns."""
    notices: list[PlacedNotice] | None
    """Notices, in order; only if the request includes turns. There are at most 16 notices and answers after an item, and after the end of the turn."""
    permitted: int | None
    """Number of calls that the policy allowed without a permission request. Absent in logs from before this member existed."""
    plan: list[PlanEntry] | None
    """The plan with steps that the agent changed last in the turn; only if the request includes turns. Absent in logs from before this member existed."""
    plans: list[Plan] | None
    """All plans that the agent changed in the turn, in the order in which they came; only if the request includes turns. Absent if `plan` is the only one, and has no id."""
    startedAt: int | None
    """Milliseconds since the epoch."""
    stopReason: str | None
    """ACP's stop reason, as the agent sent it."""
    tokenUsage: AcpObject | None
    """The token usage that the agent reported."""
    waitedMs: int | None
    """Milliseconds in which a question waited for its answer; while the turn runs, without the present wait. The rest of the turn's time is that of the agent. Absent for none, and in logs from before this member existed."""
    waitingSince: int | None
    """When the present wait began, in milliseconds since the epoch. Only while the turn runs and a question is open."""


class _TurnChanged(TypedDict):
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""
    turn: Turn


class TurnChanged(_TurnChanged, total=False):
    """A turn."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


class _TurnCompleted(TypedDict):
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""
    turn: Turn


class TurnCompleted(_TurnCompleted, total=False):
    """A turn that has ended."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    tokenUsage: AcpObject | None
    turnId: str | None
    """The turn in which the event happened."""


class TurnDiffRead(TypedDict):
    """The diff of a turn."""

    diff: str
    """Unified diff of all files that the turn changed."""


class TurnDiffReadParams(TypedDict):
    """Params of `turn/diff/read`."""

    threadId: str
    """Id of the thread."""
    turnId: str
    """Id of the turn."""


class _TurnInterruptParams(TypedDict):
    threadId: str
    """Id of the thread."""


class TurnInterruptParams(_TurnInterruptParams, total=False):
    """Params of `turn/interrupt`."""

    atOnce: bool
    """Whether to terminate the agent instead of waiting for it. Also for a turn that was interrupted before."""
    pauseQueue: bool
    """Whether to pause the queue, so that no queued turn starts after the running one."""
    turnId: str | None
    """Id of the turn; by default, the running turn."""


class _TurnInterrupting(TypedDict):
    by: By
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class TurnInterrupting(_TurnInterrupting, total=False):
    """The originator of the interruption."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


class _TurnQueueArrangeParams(TypedDict):
    threadId: str
    """Id of the thread."""


class TurnQueueArrangeParams(_TurnQueueArrangeParams, total=False):
    """Params of `turn/queue/arrange`."""

    paused: bool | None
    """Whether no queued turn starts by itself; if absent, that does not change."""
    turnIds: list[str]
    """Ids of the turns that come first, in this order. Turns that are not queued any more are ignored."""


class TurnQueueEditParams(TypedDict):
    """Params of `turn/queue/edit`."""

    content: Words
    """Plain text, or ACP content blocks."""
    threadId: str
    """Id of the thread."""
    turnId: str
    """Id of the queued turn."""


class TurnQueueSteerParams(TypedDict):
    """Params of `turn/queue/steer`."""

    threadId: str
    """Id of the thread."""
    turnId: str
    """Id of the queued turn."""


class _TurnStartParams(TypedDict):
    threadId: str
    """Id of the thread."""


class TurnStartParams(_TurnStartParams, total=False):
    """Params of `turn/start`, with at least one of `text` and `input`."""

    _meta: AcpObject | None
    """`_meta` of the prompt, which the agent receives unchanged. `traceparent` and `tracestate` in it are W3C trace context."""
    clientTurnId: str | None
    """The client's own id for the turn."""
    input: list[AcpObject] | None
    """ACP content blocks."""
    replacesTurnId: str | None
    """Id of an earlier turn that this prompt replaces. It and all later turns leave the conversation first, as by `thread/rollback`; if that or the prompt is refused, nothing changes."""
    text: str | None
    """Plain text, placed before `input`."""


class TurnStartedResult(TypedDict):
    """The running or queued turn."""

    turn: Turn


TurnStatus: TypeAlias = Literal["queued", "running", "completed", "interrupted", "failed", "refused", "limited"]
"""Status of a turn."""


class _TurnSteerParams(TypedDict):
    content: Words
    """Plain text, or ACP content blocks."""
    threadId: str
    """Id of the thread."""


class TurnSteerParams(_TurnSteerParams, total=False):
    """Params of `turn/steer`."""

    turnId: str | None
    """Id of the turn to steer. Returns `conflict` if it is not the running turn."""


class TurnSteered(TypedDict):
    """What happened to the message."""

    delivery: Delivery
    turnId: str
    """Id of the turn that the message belongs to."""


class _TurnSteering(TypedDict):
    by: By
    content: list[AcpObject]
    """ACP content blocks."""
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    text: str
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class TurnSteering(_TurnSteering, total=False):
    """A message for the running turn."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


class _TurnsRolledBack(TypedDict):
    by: By
    fidelity: Fidelity
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class TurnsRolledBack(_TurnsRolledBack, total=False):
    """Result of a rollback."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    lastKeptTurnId: str | None
    """The last turn that is kept; `null` if no turn is kept."""
    turnId: str | None
    """The turn in which the event happened."""


class Unsubscribed(TypedDict):
    """Result of `thread/unsubscribe`."""

    status: str
    """`unsubscribed` or `notSubscribed`."""


UsageBy: TypeAlias = Literal["day", "agent", "thread", "folder"]
"""What the rows of `usage/read` are."""


class UsageRead(TypedDict):
    """Result of `usage/read`."""

    currenciesOmitted: int
    """Number of currencies that the total leaves out: a sum has the 8 that most threads report."""
    data: list[UsageRow]
    """Days from the last, other rows from the most expensive. Rows without usage are left out."""
    firstDay: str
    """The first day, such as `2026-11-01`, in UTC."""
    lastDay: str
    """The last day: today."""
    omitted: int
    """Number of rows that are left out, because there are too many."""
    total: UsageSum
    """What all threads have used in these days."""


UsageReadParams: TypeAlias = "ReadUsage"


class _UsageRow(TypedDict):
    spent: UsageSum


class UsageRow(_UsageRow, total=False):
    """What a part of the threads has used."""

    agentType: str | None
    """The agent of the threads."""
    cwd: str | None
    """The working directory of the threads."""
    day: str | None
    """The day, such as `2026-11-29`, in UTC."""
    name: str | None
    """The thread's name."""
    threadId: str | None
    """The thread."""


class UsageSum(TypedDict):
    """Tokens and costs, as agents reported them."""

    costs: list[CostSum]
    """Costs, one for each currency."""
    inputTokens: int
    """Tokens of prompts and of what agents read."""
    outputTokens: int
    """Tokens that agents wrote."""
    totalTokens: int
    """All tokens, also those of caches and thoughts."""


class _UserMessage(TypedDict):
    content: list[AcpObject]
    """ACP content blocks."""
    itemId: str
    seq: int
    """The event's number in its thread: 1, 2, 3 … without gaps."""
    text: str
    threadId: str
    ts: int
    """Milliseconds since the epoch."""


class UserMessage(_UserMessage, total=False):
    """A message of the user."""

    lane: str | None
    """The subagent that the event is about, as in `thread/lanes`; absent for the main agent."""
    turnId: str | None
    """The turn in which the event happened."""


class UserPresent(TypedDict, total=False):
    """Result of `user/present`."""

    away: Absence | None
    """The time in which no client of the principal was in front, if that is 5 minutes or more. Only the client that comes back first receives it."""


UserPresentParams: TypeAlias = "NoParams"


class Variable(TypedDict):
    """An environment variable."""

    name: str
    """Name of the variable."""
    value: str
    """Value of the variable."""


class _WaitingQuestion(TypedDict):
    more: int
    """Number of further unanswered questions of the thread."""
    requestId: str
    title: str
    """The title of the permission request, or the agent's message; the first 512 bytes."""
    type: QuestionType


class WaitingQuestion(_WaitingQuestion, total=False):
    """A question that waits for an answer, as lists show it. `item/approve` needs nothing else."""

    askedAt: int | None
    """When the agent asked, in milliseconds since the epoch; absent if an older version of acpd stored the question."""
    asker: str | None
    """The subagent that asks, as sentences name it: `Subagent "review"`. Absent for the main agent."""
    options: list[PermissionOption] | None
    """The answers that the agent offers."""
    subjects: list[CallSubject] | None
    """The effects of the call. `subjects` and `options` are absent if they are longer than 4 KiB together, or if no effect is known: the question has to be opened before it is answered."""


Words: TypeAlias = "str | list[AcpObject]"
"""Plain text, or ACP content blocks. Plain text becomes one block."""


class AgentNotificationEvent(TypedDict):
    """An unknown message from the agent, unchanged."""

    method: Literal["agent/notification"]
    params: AgentNotification


class ItemAgentMessageDeltaEvent(TypedDict):
    """Text or a content block was added to a message."""

    method: Literal["item/agentMessage/delta"]
    params: Delta


class ItemAgentThoughtDeltaEvent(TypedDict):
    """Text or a content block was added to a thought."""

    method: Literal["item/agentThought/delta"]
    params: Delta


class ItemCompletedEvent(TypedDict):
    """A message or thought is complete."""

    method: Literal["item/completed"]
    params: MessageCompleted


class ItemFileChangeCompletedEvent(TypedDict):
    """A file change ended, successfully or not."""

    method: Literal["item/fileChange/completed"]
    params: FileChangeCompleted


class ItemFileChangeStartedEvent(TypedDict):
    """A file change started."""

    method: Literal["item/fileChange/started"]
    params: FileChangeStarted


class ItemStartedEvent(TypedDict):
    """A message or thought started."""

    method: Literal["item/started"]
    params: MessageStarted


class ItemTerminalCommandCompletedEvent(TypedDict):
    """A command in a terminal ended."""

    method: Literal["item/terminalCommand/completed"]
    params: TerminalCommandCompleted


class ItemTerminalCommandOutputEvent(TypedDict):
    """A command in a terminal wrote output. Output that is only shown live has no `seq`."""

    method: Literal["item/terminalCommand/output"]
    params: TerminalOutput


class ItemTerminalCommandStartedEvent(TypedDict):
    """A command in a terminal started."""

    method: Literal["item/terminalCommand/started"]
    params: TerminalCommandStarted


class ItemToolCallCompletedEvent(TypedDict):
    """A tool call ended."""

    method: Literal["item/toolCall/completed"]
    params: ToolCallCompleted


class ItemToolCallStartedEvent(TypedDict):
    """A tool call started."""

    method: Literal["item/toolCall/started"]
    params: ToolCallStarted


class ItemUpdatedEvent(TypedDict):
    """A tool call changed."""

    method: Literal["item/updated"]
    params: ToolCallUpdated


class ItemUserMessageEvent(TypedDict):
    """A message of the user, from this client, another client or the agent's own history."""

    method: Literal["item/userMessage"]
    params: UserMessage


class PolicyPermittedEvent(TypedDict):
    """The agent called a method without a permission request, and the policy allowed it."""

    method: Literal["policy/permitted"]
    params: Permitted


class PolicyRememberedEvent(TypedDict):
    """An answer was remembered."""

    method: Literal["policy/remembered"]
    params: Remembered


class PolicyRevokedEvent(TypedDict):
    """A remembered answer was revoked."""

    method: Literal["policy/revoked"]
    params: Revoked


class ServerRequestResolvedEvent(TypedDict):
    """A question was answered, or needs no answer any more."""

    method: Literal["serverRequest/resolved"]
    params: Resolved


class ThreadArchivedEvent(TypedDict):
    """The thread was archived."""

    method: Literal["thread/archived"]
    params: ThreadChanged


class ThreadDeletedEvent(TypedDict):
    """The thread and its log are deleted. No event follows."""

    method: Literal["thread/deleted"]
    params: ThreadDeleted


class ThreadFileReadEvent(TypedDict):
    """The agent read a file."""

    method: Literal["thread/file/read"]
    params: FileTouched


class ThreadFileWrittenEvent(TypedDict):
    """The agent wrote a file."""

    method: Literal["thread/file/written"]
    params: FileWritten


class ThreadForkedEvent(TypedDict):
    """The thread was forked from another thread. All events before this one are shared with that thread, or end what concerned that thread alone."""

    method: Literal["thread/forked"]
    params: ThreadForked


class ThreadLaneUpdatedEvent(TypedDict):
    """A subagent was reported or has changed. Contains only what has changed."""

    method: Literal["thread/lane/updated"]
    params: LaneUpdated


class ThreadLeaseMovedEvent(TypedDict):
    """The lease moved: another editor, or the daemon, answers the agent's client requests (files, terminals)."""

    method: Literal["thread/lease/moved"]
    params: LeaseMoved


class ThreadLogDamagedEvent(TypedDict):
    """Sent to a subscriber in place of events that cannot be read, because their part of the log is damaged. `seq` is the number of the last one."""

    method: Literal["thread/log/damaged"]
    params: LogDamaged


class ThreadNoticeEvent(TypedDict):
    """A notice for the user."""

    method: Literal["thread/notice"]
    params: Notice


class ThreadRolledBackEvent(TypedDict):
    """Turns were dropped and are no longer part of the conversation."""

    method: Literal["thread/rolledBack"]
    params: TurnsRolledBack


class ThreadStartedEvent(TypedDict):
    """A thread was created."""

    method: Literal["thread/started"]
    params: ThreadMade


class ThreadStatusChangedEvent(TypedDict):
    """The status of the thread changed: a turn started, ended, or waits for a user."""

    method: Literal["thread/status/changed"]
    params: StatusChanged


class ThreadSuggestionsUpdatedEvent(TypedDict):
    """The prompts that the agent suggests for the next turn changed. They are only shown live, so it has no `seq`: a new subscriber receives the current ones behind the events that it missed. The next prompt, and the end of the agent's process, withdraw them."""

    method: Literal["thread/suggestions/updated"]
    params: SuggestionsUpdated


class ThreadTerminalInputEvent(TypedDict):
    """A user types into a terminal, or, without `by`, the daemon ended the input of a command that waited for long."""

    method: Literal["thread/terminal/input"]
    params: TerminalNamed


class ThreadTerminalKilledEvent(TypedDict):
    """The agent, or a user, terminated the command in a terminal."""

    method: Literal["thread/terminal/killed"]
    params: TerminalNamed


class ThreadTerminalReleasedEvent(TypedDict):
    """The agent released a terminal."""

    method: Literal["thread/terminal/released"]
    params: TerminalNamed


class ThreadTerminalWaitingEvent(TypedDict):
    """A silent command in a terminal waits for input. The wait ends with the next output, input or exit."""

    method: Literal["thread/terminal/waiting"]
    params: TerminalWaiting


class ThreadTokenUsageUpdatedEvent(TypedDict):
    """The usage of the agent's context changed."""

    method: Literal["thread/tokenUsage/updated"]
    params: TokenUsageUpdated


class ThreadUnarchivedEvent(TypedDict):
    """The thread was unarchived."""

    method: Literal["thread/unarchived"]
    params: ThreadChanged


class ThreadUpdatedEvent(TypedDict):
    """Properties of the thread changed. Contains only the changed ones."""

    method: Literal["thread/updated"]
    params: ThreadUpdated


class TurnCompletedEvent(TypedDict):
    """A turn ended."""

    method: Literal["turn/completed"]
    params: TurnCompleted


class TurnDiffUpdatedEvent(TypedDict):
    """The unified diff of the whole turn changed. While the turn runs, it is only shown live and has no `seq`."""

    method: Literal["turn/diff/updated"]
    params: DiffUpdated


class TurnInterruptingEvent(TypedDict):
    """A turn is being interrupted."""

    method: Literal["turn/interrupting"]
    params: TurnInterrupting


class TurnPlanRemovedEvent(TypedDict):
    """The agent removed a plan, or the daemon did, because the thread has more than 64 plans, or 1 MiB of them."""

    method: Literal["turn/plan/removed"]
    params: PlanRemoved


class TurnPlanUpdatedEvent(TypedDict):
    """The agent replaced a whole plan: the one with this id, or the one without an id. An empty plan counts too."""

    method: Literal["turn/plan/updated"]
    params: PlanUpdated


class TurnQueueChangedEvent(TypedDict):
    """The queue was reordered, paused or continued."""

    method: Literal["turn/queue/changed"]
    params: QueueChanged


class TurnQueuedEvent(TypedDict):
    """A prompt was queued until the turns before it are over, or the prompt of a queued turn was replaced."""

    method: Literal["turn/queued"]
    params: TurnChanged


class TurnStartedEvent(TypedDict):
    """A turn started."""

    method: Literal["turn/started"]
    params: TurnChanged


class TurnSteeringEvent(TypedDict):
    """A client sent a message during the running turn, and the daemon passed it on to the agent. Once the agent has accepted it, it follows as a message of the turn."""

    method: Literal["turn/steering"]
    params: TurnSteering


class ItemCommandExecutionRequestApprovalEvent(TypedDict):
    """Asks whether the agent may run a command."""

    method: Literal["item/commandExecution/requestApproval"]
    params: Approval


class ItemFileChangeRequestApprovalEvent(TypedDict):
    """Asks whether the agent may change a file."""

    method: Literal["item/fileChange/requestApproval"]
    params: Approval


class ItemPermissionsRequestApprovalEvent(TypedDict):
    """Asks whether the agent may make any other tool call."""

    method: Literal["item/permissions/requestApproval"]
    params: Approval


class ItemToolRequestUserInputEvent(TypedDict):
    """The agent requests information from the user."""

    method: Literal["item/tool/requestUserInput"]
    params: InputWanted


ThreadEvent: TypeAlias = (
    "AgentNotificationEvent "
    "| ItemAgentMessageDeltaEvent "
    "| ItemAgentThoughtDeltaEvent "
    "| ItemCompletedEvent "
    "| ItemFileChangeCompletedEvent "
    "| ItemFileChangeStartedEvent "
    "| ItemStartedEvent "
    "| ItemTerminalCommandCompletedEvent "
    "| ItemTerminalCommandOutputEvent "
    "| ItemTerminalCommandStartedEvent "
    "| ItemToolCallCompletedEvent "
    "| ItemToolCallStartedEvent "
    "| ItemUpdatedEvent "
    "| ItemUserMessageEvent "
    "| PolicyPermittedEvent "
    "| PolicyRememberedEvent "
    "| PolicyRevokedEvent "
    "| ServerRequestResolvedEvent "
    "| ThreadArchivedEvent "
    "| ThreadDeletedEvent "
    "| ThreadFileReadEvent "
    "| ThreadFileWrittenEvent "
    "| ThreadForkedEvent "
    "| ThreadLaneUpdatedEvent "
    "| ThreadLeaseMovedEvent "
    "| ThreadLogDamagedEvent "
    "| ThreadNoticeEvent "
    "| ThreadRolledBackEvent "
    "| ThreadStartedEvent "
    "| ThreadStatusChangedEvent "
    "| ThreadSuggestionsUpdatedEvent "
    "| ThreadTerminalInputEvent "
    "| ThreadTerminalKilledEvent "
    "| ThreadTerminalReleasedEvent "
    "| ThreadTerminalWaitingEvent "
    "| ThreadTokenUsageUpdatedEvent "
    "| ThreadUnarchivedEvent "
    "| ThreadUpdatedEvent "
    "| TurnCompletedEvent "
    "| TurnDiffUpdatedEvent "
    "| TurnInterruptingEvent "
    "| TurnPlanRemovedEvent "
    "| TurnPlanUpdatedEvent "
    "| TurnQueueChangedEvent "
    "| TurnQueuedEvent "
    "| TurnStartedEvent "
    "| TurnSteeringEvent "
    "| ItemCommandExecutionRequestApprovalEvent "
    "| ItemFileChangeRequestApprovalEvent "
    "| ItemPermissionsRequestApprovalEvent "
    "| ItemToolRequestUserInputEvent"
)
"""One event of a thread: a notification, or a question as all clients receive it."""


Answer: TypeAlias = "QuestionAnswered | Awaitable[QuestionAnswered | None] | None"
"""What the handler of a question returns. ``None`` leaves the question open."""


class TypedClient(ABC):
    """The methods of a client whose types depend on a name of the protocol."""

    @abstractmethod
    async def _call(self, method: str, params: Any, timeout: float | None) -> Any: ...

    @abstractmethod
    def _on(self, method: str, handler: Callable[[Any], object]) -> Callable[[], None]: ...

    @abstractmethod
    def _answer(self, method: str, handler: Callable[[Any], Answer]) -> Callable[[], None]: ...

    @overload
    async def call(
        self, method: Literal["agent/authenticate"], params: AgentAuthenticateParams, *, timeout: float | None = None
    ) -> Nothing:
        """Signs in to the agent. Returns once signed in; times out after 10 minutes."""

    @overload
    async def call(
        self, method: Literal["agent/authenticate/cancel"], params: AgentAuthenticateCancelParams, *, timeout: float | None = None
    ) -> Nothing:
        """Cancels a sign-in that is in progress: its request fails, and the agent is stopped until it is needed again. Returns `conflict` if there is none, or while a turn or command runs."""

    @overload
    async def call(
        self, method: Literal["agent/authenticate/read"], params: AgentAuthenticateReadParams, *, timeout: float | None = None
    ) -> SignInRead:
        """Returns the addresses and codes that the agent has printed on stderr for the sign-in in progress, or the last one. They are not stored, and only the owner gets them: a user who opens such an address first may sign the agent in to an account of their own."""

    @overload
    async def call(
        self, method: Literal["agent/doctor"], params: AgentDoctorParams, *, timeout: float | None = None
    ) -> AgentExamined:
        """Starts the agent, sends `initialize`, and stops it. Creates no thread and no session. Returns the findings even if the agent fails. Times out after `agent_start_secs`."""

    @overload
    async def call(
        self, method: Literal["agent/install"], params: AgentInstallParams, *, timeout: float | None = None
    ) -> AgentInstalled:
        """Installs the agent, or its newest version, into the data directory. Returns once it is installed, which can take minutes. The installation continues without the connection, a second request waits for the same one, and `agent/list` shows its progress. Needs npm, uv or python3 on the daemon's host for agents that are packages."""

    @overload
    async def call(
        self, method: Literal["agent/list"], params: AgentListParams | None = None, *, timeout: float | None = None
    ) -> AgentsListed:
        """Lists the known agents and, for those that cannot be started, the reason. Configured agents come first, then those of the registry and installed ones."""

    @overload
    async def call(
        self, method: Literal["agent/logout"], params: AgentLogoutParams, *, timeout: float | None = None
    ) -> Nothing:
        """Signs out of the agent."""

    @overload
    async def call(
        self, method: Literal["agent/notify"], params: AgentNotifyParams, *, timeout: float | None = None
    ) -> Nothing:
        """Sends the agent an extension notification, which ACP does not define. Its name begins with `_`, and not with `_acpd/`. Returns `conflict` if the agent is not running."""

    @overload
    async def call(
        self, method: Literal["agent/options"], params: AgentOptionsParams, *, timeout: float | None = None
    ) -> AgentAnswered:
        """Reads ACP's `modes` and `configOptions` with which a session of the agent would begin in a directory, so that a client can offer them before it starts a thread. Starts a process of the agent, sends `session/options`, and stops it; creates no thread and no session. Returns `unsupported` if the agent does not declare `sessionCapabilities.options`."""

    @overload
    async def call(
        self, method: Literal["agent/remembered/list"], params: AgentRememberedListParams | None = None, *, timeout: float | None = None
    ) -> AgentAnswersListed:
        """Lists the remembered answers that apply to all threads of an agent, by agent. They stay when the agent has no threads any more, or is no longer known."""

    @overload
    async def call(
        self, method: Literal["agent/remembered/revoke"], params: AgentRememberedRevokeParams, *, timeout: float | None = None
    ) -> Nothing:
        """Revokes a remembered answer that applies to all threads of an agent. Returns `not_found` if there is no such answer."""

    @overload
    async def call(
        self, method: Literal["agent/request"], params: AgentRequestParams, *, timeout: float | None = None
    ) -> AgentAnswered:
        """Sends the agent an extension request, which ACP does not define. Its name begins with `_`, and not with `_acpd/`."""

    @overload
    async def call(
        self, method: Literal["agent/running"], params: AgentRunningParams | None = None, *, timeout: float | None = None
    ) -> AgentsRunning:
        """Lists running agent processes with their memory use, busy ones first."""

    @overload
    async def call(
        self, method: Literal["agent/session/delete"], params: AgentSessionDeleteParams, *, timeout: float | None = None
    ) -> Nothing:
        """Deletes one of the sessions that the agent has stored."""

    @overload
    async def call(
        self, method: Literal["agent/session/list"], params: AgentSessionListParams, *, timeout: float | None = None
    ) -> AgentAnswered:
        """Lists the sessions that the agent has stored."""

    @overload
    async def call(
        self, method: Literal["config/agent/set"], params: ConfigAgentSetParams | None = None, *, timeout: float | None = None
    ) -> ConfigChanged:
        """Sets `default_agent` in the configuration file: the agent of clients that name none. As all methods of `config`, it keeps the comments and the order of the file, and returns once the daemon has applied the change. Returns `conflict`, and changes nothing, if the file has mistakes, cannot be written, or is changed by another program at the same time."""

    @overload
    async def call(
        self, method: Literal["config/folder/add"], params: ConfigFolderAddParams, *, timeout: float | None = None
    ) -> ConfigChanged:
        """Adds a folder to `folders` of the agent's sandbox in the configuration file: the agent and its commands may read and write there in all threads. A running agent gets it when it starts again. The agent can become the default, as with `config/policy/set`. Returns `forbidden` for the same directories as `thread/directories/add`, and `unsupported` if the agent runs without acpd's sandbox."""

    @overload
    async def call(
        self, method: Literal["config/policy/set"], params: ConfigPolicySetParams | None = None, *, timeout: float | None = None
    ) -> ConfigChanged:
        """Sets a preset as `policy` in the configuration file, for all agents or for one. Applies to all threads at once. An agent that gets its first setting is a configured one from then on: if there was no default agent and no other is configured, it becomes the default. Returns `conflict` if the file has a policy with rules of its own there."""

    @overload
    async def call(
        self, method: Literal["folder/create"], params: FolderCreateParams, *, timeout: float | None = None
    ) -> FolderCreated:
        """Creates a folder on the daemon's host."""

    @overload
    async def call(
        self, method: Literal["folder/list"], params: FolderListParams | None = None, *, timeout: float | None = None
    ) -> FoldersListed:
        """Lists the folders in a folder of the daemon's host, sorted by name, at most 2,000."""

    @overload
    async def call(
        self, method: Literal["item/answer"], params: ItemAnswerParams, *, timeout: float | None = None
    ) -> Nothing:
        """Answers an elicitation."""

    @overload
    async def call(
        self, method: Literal["item/approve"], params: ItemApproveParams, *, timeout: float | None = None
    ) -> Nothing:
        """Answers a permission request. `optionId` selects one of the agent's options; `approved` alone selects the first once-option of that kind."""

    @overload
    async def call(
        self, method: Literal["notification/list"], params: NotificationListParams | None = None, *, timeout: float | None = None
    ) -> NotificationTargetsListed:
        """Lists the targets of notifications, with what waits for each and its last error."""

    @overload
    async def call(
        self, method: Literal["notification/test"], params: NotificationTestParams | None = None, *, timeout: float | None = None
    ) -> NotificationsTested:
        """Sends a test notification to one target or to all. Returns once each has accepted it or failed, within seconds, or within `timeout_secs` of a command."""

    @overload
    async def call(
        self, method: Literal["policy/explain"], params: PolicyExplainParams, *, timeout: float | None = None
    ) -> PolicyExplained:
        """Returns the policy's decision about a tool call and every matching rule."""

    @overload
    async def call(
        self, method: Literal["policy/read"], params: PolicyReadParams | None = None, *, timeout: float | None = None
    ) -> PoliciesRead:
        """Returns the configured permission policies: the daemon's and an agent's. A thread's policy is part of the thread."""

    @overload
    async def call(
        self, method: Literal["policy/remembered/list"], params: PolicyRememberedListParams, *, timeout: float | None = None
    ) -> RememberedListed:
        """Lists remembered answers."""

    @overload
    async def call(
        self, method: Literal["policy/remembered/revoke"], params: PolicyRememberedRevokeParams, *, timeout: float | None = None
    ) -> Nothing:
        """Revokes a remembered answer. Only the owner can revoke an answer that applies to the agent."""

    @overload
    async def call(
        self, method: Literal["retention/run"], params: RetentionRunParams | None = None, *, timeout: float | None = None
    ) -> RetentionRun:
        """Removes what exceeds the limits of `[retention]` in the configuration, as the daemon does each hour. Threads that are in use stay. Returns when no request finds the removed threads any more."""

    @overload
    async def call(
        self, method: Literal["thread/archive"], params: ThreadArchiveParams, *, timeout: float | None = None
    ) -> Nothing:
        """Archives the thread: `thread/list` omits it, it accepts no turns, and its agent stops. Returns `conflict` while a turn runs. Archiving an archived thread has no effect."""

    @overload
    async def call(
        self, method: Literal["thread/command/run"], params: ThreadCommandRunParams, *, timeout: float | None = None
    ) -> CommandStarted:
        """Runs a command line in the thread's directory and its agent's sandbox, because a user wants it. The agent does not see it. The command is an item of the running turn, or of a turn without a prompt. Returns `forbidden` if the policy denies the line, and `overloaded` while 8 such commands run."""

    @overload
    async def call(
        self, method: Literal["thread/config/set"], params: ThreadConfigSetParams, *, timeout: float | None = None
    ) -> Nothing:
        """Sets one of the agent's config options. Returns once the agent has accepted it."""

    @overload
    async def call(
        self, method: Literal["thread/delete"], params: ThreadDeleteParams, *, timeout: float | None = None
    ) -> Nothing:
        """Permanently deletes the thread and its log, after the agent's session if the agent supports that. Returns `conflict` while a turn runs. Returns when no request finds the thread any more; its data is overwritten after that. Subscribers receive `thread/deleted` as the thread's last notification."""

    @overload
    async def call(
        self, method: Literal["thread/directories/add"], params: ThreadDirectoriesAddParams, *, timeout: float | None = None
    ) -> Nothing:
        """Opens a further directory of the user for the thread: the agent and its commands may read and write there. Stops the agent; the next prompt continues its session. Returns `conflict` while a turn runs, and `forbidden` for directories that stay closed, such as the home directory, those with keys or programs, and acpd's own."""

    @overload
    async def call(
        self, method: Literal["thread/directories/set"], params: ThreadDirectoriesSetParams, *, timeout: float | None = None
    ) -> Nothing:
        """Sets the directories that the thread works in, for example after they were moved. Stops the agent; the next prompt continues its session in `cwd`. Returns `conflict` while a turn runs, and `invalidParams` if a directory does not exist."""

    @overload
    async def call(
        self, method: Literal["thread/fork"], params: ThreadForkParams, *, timeout: float | None = None
    ) -> ThreadForkedResult:
        """Forks the thread. The new thread begins with this one's events up to the end of `turnId`, or with all of them after its last turn, and has its current permission policy. If that is the whole thread and the agent can fork its session, the new thread continues with that fork, and the answer comes when its agent has opened it. Otherwise its agent receives the conversation with the first prompt. Subscribes the caller from the end of the shared events. Returns `conflict` if the turn is not over."""

    @overload
    async def call(
        self, method: Literal["thread/lanes"], params: ThreadLanesParams, *, timeout: float | None = None
    ) -> LanesListed:
        """Lists the subagents of a thread, in the order in which the agent has reported them."""

    @overload
    async def call(
        self, method: Literal["thread/list"], params: ThreadListParams | None = None, *, timeout: float | None = None
    ) -> ThreadsListed:
        """Lists threads, newest first."""

    @overload
    async def call(
        self, method: Literal["thread/list/unwatch"], params: ThreadListUnwatchParams | None = None, *, timeout: float | None = None
    ) -> Nothing:
        """Stops watching the thread list."""

    @overload
    async def call(
        self, method: Literal["thread/list/watch"], params: ThreadListWatchParams | None = None, *, timeout: float | None = None
    ) -> Nothing:
        """Sends `thread/list/changed` to this connection when any thread is created, deleted or changes its list entry, even threads that it does not follow. Request the list after this method. If a change to a thread arrives before the list, the change takes precedence."""

    @overload
    async def call(
        self, method: Literal["thread/metadata/set"], params: ThreadMetadataSetParams, *, timeout: float | None = None
    ) -> Nothing:
        """Replaces all of the client's own data; `null` removes it."""

    @overload
    async def call(
        self, method: Literal["thread/mode/set"], params: ThreadModeSetParams, *, timeout: float | None = None
    ) -> Nothing:
        """Sets the agent's mode. Returns once the agent has accepted it."""

    @overload
    async def call(
        self, method: Literal["thread/name/set"], params: ThreadNameSetParams, *, timeout: float | None = None
    ) -> Nothing:
        """Sets the thread's name, which takes precedence over the agent's titles. `null` removes it. `thread/updated` contains the resulting name."""

    @overload
    async def call(
        self, method: Literal["thread/pin/set"], params: ThreadPinSetParams, *, timeout: float | None = None
    ) -> Nothing:
        """Pins the thread, or removes its pin. Pins are for all users and devices. They change neither `updatedAt` nor the order of `thread/list`: clients show pinned threads first, by their places. Two threads may have the same place. Setting what is set has no effect."""

    @overload
    async def call(
        self, method: Literal["thread/policy/set"], params: ThreadPolicySetParams, *, timeout: float | None = None
    ) -> Nothing:
        """Sets or removes the thread's own permission policy."""

    @overload
    async def call(
        self, method: Literal["thread/read"], params: ThreadReadParams, *, timeout: float | None = None
    ) -> ThreadFound:
        """Reads a thread without following it and without starting its agent."""

    @overload
    async def call(
        self, method: Literal["thread/resume"], params: ThreadResumeParams, *, timeout: float | None = None
    ) -> ThreadResumed:
        """Subscribes to a thread. With `after`, sends every later event as its original notification, without gaps or duplicates. Without it, the result contains the thread's latest turns. Sends open questions again in both cases. Starts the agent if it is not running and the caller's role allows that, unless `startAgent` is false."""

    @overload
    async def call(
        self, method: Literal["thread/rollback"], params: ThreadRollbackParams, *, timeout: float | None = None
    ) -> RolledBack:
        """Drops the turns after `turnId` from the conversation. Views and agents do not receive them; the log and exports keep them. Releases the agent's session. The next prompt opens a new one, which receives the remaining conversation. Returns `conflict` while a turn runs, and `unsupported` if agents receive no history (`recall_bytes = 0`)."""

    @overload
    async def call(
        self, method: Literal["thread/search"], params: ThreadSearchParams, *, timeout: float | None = None
    ) -> TextsFound:
        """Searches all threads, including archived ones: messages of users and agents, titles of tool calls, commands and file paths. Returns the newest hits first. A text can be found once its item is complete."""

    @overload
    async def call(
        self, method: Literal["thread/seen/set"], params: ThreadSeenSetParams, *, timeout: float | None = None
    ) -> ThreadsSeen:
        """Marks threads as seen by the principal of this connection, for all of its devices: also for those that it has paired, and for the principal that has paired it. A mark never goes back, and is not later than the thread's `updatedAt`. Unknown threads are ignored. The result is durable. The daemon keeps the latest 1,000 marks of a principal; threads that changed before these count as seen. Connections of the principal that watch the thread list receive `thread/list/seen`."""

    @overload
    async def call(
        self, method: Literal["thread/share/create"], params: ThreadShareCreateParams, *, timeout: float | None = None
    ) -> ShareCreated:
        """Makes a link with which anyone can read this thread until the link expires, and nothing else. The thread includes its later turns. The result contains the link's secret. The link ends with the token that made it, and with the thread."""

    @overload
    async def call(
        self, method: Literal["thread/share/list"], params: ThreadShareListParams | None = None, *, timeout: float | None = None
    ) -> SharesListed:
        """Lists the links that have not expired, oldest first."""

    @overload
    async def call(
        self, method: Literal["thread/share/revoke"], params: ThreadShareRevokeParams, *, timeout: float | None = None
    ) -> Nothing:
        """Revokes a link. Connections that it authenticated end before the response. Returns `not_found` if there is no such link."""

    @overload
    async def call(
        self, method: Literal["thread/start"], params: ThreadStartParams, *, timeout: float | None = None
    ) -> ThreadStarted:
        """Creates a thread, starts its agent and opens a session. Returns once the agent is ready, or asks a user something first. `thread/started` is sent immediately, and the caller is subscribed from then on. `mode` and `config` are set before the first turn. If one of them is refused, the request fails, but the thread exists."""

    @overload
    async def call(
        self, method: Literal["thread/terminal/kill"], params: ThreadTerminalKillParams, *, timeout: float | None = None
    ) -> Nothing:
        """Ends a running command, of the agent or of a user: with SIGTERM, then with SIGKILL. Returns `not_found` if no command runs in the terminal, and `unsupported` if it runs in an editor."""

    @overload
    async def call(
        self, method: Literal["thread/terminal/write"], params: ThreadTerminalWriteParams, *, timeout: float | None = None
    ) -> Nothing:
        """Types into the terminal of a running command, of the agent or of a user. Returns `not_found` if no command runs there, `unsupported` if it runs in an editor, and `overloaded` if the program does not read and no more fits."""

    @overload
    async def call(
        self, method: Literal["thread/unarchive"], params: ThreadUnarchiveParams, *, timeout: float | None = None
    ) -> ThreadFound:
        """Unarchives the thread."""

    @overload
    async def call(
        self, method: Literal["thread/unsubscribe"], params: ThreadUnsubscribeParams, *, timeout: float | None = None
    ) -> Unsubscribed:
        """Ends the subscription. The agent keeps running."""

    @overload
    async def call(
        self, method: Literal["turn/diff/read"], params: TurnDiffReadParams, *, timeout: float | None = None
    ) -> TurnDiffRead:
        """Returns the diff of all files that an ended turn changed. Returns `not_found` if it has none."""

    @overload
    async def call(
        self, method: Literal["turn/interrupt"], params: TurnInterruptParams, *, timeout: float | None = None
    ) -> Nothing:
        """Ends a turn. The agent is asked to stop, and its open questions are answered with `cancelled`. `turn/completed` follows with the agent's response. If the agent or the daemon ends first, or `cancel_secs` pass without a response, the turn is `interrupted` and a notice says why. A queued turn is removed from the queue."""

    @overload
    async def call(
        self, method: Literal["turn/queue/arrange"], params: TurnQueueArrangeParams, *, timeout: float | None = None
    ) -> Nothing:
        """Reorders, pauses or continues the queue of turns. While it is paused, `turn/start` without a running turn starts a turn before the queued ones."""

    @overload
    async def call(
        self, method: Literal["turn/queue/edit"], params: TurnQueueEditParams, *, timeout: float | None = None
    ) -> Nothing:
        """Replaces the prompt of a queued turn. Returns `conflict` if the turn is not queued any more."""

    @overload
    async def call(
        self, method: Literal["turn/queue/steer"], params: TurnQueueSteerParams, *, timeout: float | None = None
    ) -> TurnSteered:
        """Sends the prompt of a queued turn during the running turn, as `turn/steer` does, and removes it from the queue. Returns `unsupported` if the agent does not accept messages during a turn."""

    @overload
    async def call(
        self, method: Literal["turn/start"], params: TurnStartParams, *, timeout: float | None = None
    ) -> TurnStartedResult:
        """Sends a prompt. While a turn runs, later prompts are queued. A repeated `clientTurnId` refers to the same turn. With `replacesTurnId`, returns `conflict` while a turn runs or is queued, and `not_found` if that turn is not part of the conversation."""

    @overload
    async def call(
        self, method: Literal["turn/steer"], params: TurnSteerParams, *, timeout: float | None = None
    ) -> TurnSteered:
        """Sends a message during the running turn. `steered` means that the agent accepted it, and it is a message of that turn. `queued` means that it becomes a turn of its own, after the turns that are already queued."""

    @overload
    async def call(
        self, method: Literal["usage/read"], params: UsageReadParams | None = None, *, timeout: float | None = None
    ) -> UsageRead:
        """Reads what threads have used: tokens of their turns, and costs, as agents reported them. The daemon computes costs from the counters of the agents' sessions, so they outlive the daemon. A turn counts when it ends. Deleted threads do not count. Returns at most 500 rows."""

    @overload
    async def call(
        self, method: Literal["user/present"], params: UserPresentParams | None = None, *, timeout: float | None = None
    ) -> UserPresent:
        """Reports that the user looks at this client now. Call it when the client comes to the front, each half minute while it is there, and when it leaves. The daemon knows by that when a principal was away: no client of it was in front for 5 minutes. The time in which the host of the daemon, or of the client, slept counts."""

    async def call(self, method: str, params: Any = None, *, timeout: float | None = None) -> Any:
        """Sends a request at most once, and returns its result.

        Without a connection, or if it breaks before the response, the request fails with ``ConnectionLost``. Then only
        the caller knows whether a retry is safe. It is for ``turn/start`` with the same ``clientTurnId``, and for
        requests that only read. After ``timeout`` seconds, the request fails with ``RequestTimeout``.
        """
        return await self._call(method, params, timeout)

    @overload
    def on(
        self, method: Literal["agent/notification"], handler: Callable[[AgentNotification], object]
    ) -> Callable[[], None]:
        """An unknown message from the agent, unchanged."""

    @overload
    def on(
        self, method: Literal["item/agentMessage/delta"], handler: Callable[[Delta], object]
    ) -> Callable[[], None]:
        """Text or a content block was added to a message."""

    @overload
    def on(
        self, method: Literal["item/agentThought/delta"], handler: Callable[[Delta], object]
    ) -> Callable[[], None]:
        """Text or a content block was added to a thought."""

    @overload
    def on(
        self, method: Literal["item/completed"], handler: Callable[[MessageCompleted], object]
    ) -> Callable[[], None]:
        """A message or thought is complete."""

    @overload
    def on(
        self, method: Literal["item/fileChange/completed"], handler: Callable[[FileChangeCompleted], object]
    ) -> Callable[[], None]:
        """A file change ended, successfully or not."""

    @overload
    def on(
        self, method: Literal["item/fileChange/started"], handler: Callable[[FileChangeStarted], object]
    ) -> Callable[[], None]:
        """A file change started."""

    @overload
    def on(
        self, method: Literal["item/started"], handler: Callable[[MessageStarted], object]
    ) -> Callable[[], None]:
        """A message or thought started."""

    @overload
    def on(
        self, method: Literal["item/terminalCommand/completed"], handler: Callable[[TerminalCommandCompleted], object]
    ) -> Callable[[], None]:
        """A command in a terminal ended."""

    @overload
    def on(
        self, method: Literal["item/terminalCommand/output"], handler: Callable[[TerminalOutput], object]
    ) -> Callable[[], None]:
        """A command in a terminal wrote output. Output that is only shown live has no `seq`."""

    @overload
    def on(
        self, method: Literal["item/terminalCommand/started"], handler: Callable[[TerminalCommandStarted], object]
    ) -> Callable[[], None]:
        """A command in a terminal started."""

    @overload
    def on(
        self, method: Literal["item/toolCall/completed"], handler: Callable[[ToolCallCompleted], object]
    ) -> Callable[[], None]:
        """A tool call ended."""

    @overload
    def on(
        self, method: Literal["item/toolCall/started"], handler: Callable[[ToolCallStarted], object]
    ) -> Callable[[], None]:
        """A tool call started."""

    @overload
    def on(
        self, method: Literal["item/updated"], handler: Callable[[ToolCallUpdated], object]
    ) -> Callable[[], None]:
        """A tool call changed."""

    @overload
    def on(
        self, method: Literal["item/userMessage"], handler: Callable[[UserMessage], object]
    ) -> Callable[[], None]:
        """A message of the user, from this client, another client or the agent's own history."""

    @overload
    def on(
        self, method: Literal["policy/permitted"], handler: Callable[[Permitted], object]
    ) -> Callable[[], None]:
        """The agent called a method without a permission request, and the policy allowed it."""

    @overload
    def on(
        self, method: Literal["policy/remembered"], handler: Callable[[Remembered], object]
    ) -> Callable[[], None]:
        """An answer was remembered."""

    @overload
    def on(
        self, method: Literal["policy/revoked"], handler: Callable[[Revoked], object]
    ) -> Callable[[], None]:
        """A remembered answer was revoked."""

    @overload
    def on(
        self, method: Literal["serverRequest/rejected"], handler: Callable[[Rejected], object]
    ) -> Callable[[], None]:
        """The client's response to a question was refused. Sent only to that client."""

    @overload
    def on(
        self, method: Literal["serverRequest/resolved"], handler: Callable[[Resolved], object]
    ) -> Callable[[], None]:
        """A question was answered, or needs no answer any more."""

    @overload
    def on(
        self, method: Literal["thread/archived"], handler: Callable[[ThreadChanged], object]
    ) -> Callable[[], None]:
        """The thread was archived."""

    @overload
    def on(
        self, method: Literal["thread/deleted"], handler: Callable[[ThreadDeleted], object]
    ) -> Callable[[], None]:
        """The thread and its log are deleted. No event follows."""

    @overload
    def on(
        self, method: Literal["thread/file/read"], handler: Callable[[FileTouched], object]
    ) -> Callable[[], None]:
        """The agent read a file."""

    @overload
    def on(
        self, method: Literal["thread/file/written"], handler: Callable[[FileWritten], object]
    ) -> Callable[[], None]:
        """The agent wrote a file."""

    @overload
    def on(
        self, method: Literal["thread/forked"], handler: Callable[[ThreadForked], object]
    ) -> Callable[[], None]:
        """The thread was forked from another thread. All events before this one are shared with that thread, or end what concerned that thread alone."""

    @overload
    def on(
        self, method: Literal["thread/lane/updated"], handler: Callable[[LaneUpdated], object]
    ) -> Callable[[], None]:
        """A subagent was reported or has changed. Contains only what has changed."""

    @overload
    def on(
        self, method: Literal["thread/lease/moved"], handler: Callable[[LeaseMoved], object]
    ) -> Callable[[], None]:
        """The lease moved: another editor, or the daemon, answers the agent's client requests (files, terminals)."""

    @overload
    def on(
        self, method: Literal["thread/list/changed"], handler: Callable[[ListChanged], object]
    ) -> Callable[[], None]:
        """Sent to connections that watch the thread list when a thread is created, deleted or changes its list entry. Not an event of the thread: it has no `seq`, and intermediate changes are omitted."""

    @overload
    def on(
        self, method: Literal["thread/list/reset"], handler: Callable[[ListReset], object]
    ) -> Callable[[], None]:
        """Sent to a connection that missed changes of the thread list and must request it again. The watch continues."""

    @overload
    def on(
        self, method: Literal["thread/list/seen"], handler: Callable[[SeenChanged], object]
    ) -> Callable[[], None]:
        """Sent to connections that watch the thread list when their own principal has marked threads as seen, on this connection or another one. Not an event of the thread: it has no `seq`."""

    @overload
    def on(
        self, method: Literal["thread/log/changed"], handler: Callable[[LogChanged], object]
    ) -> Callable[[], None]:
        """Sent to subscribers when the daemon cannot write the thread's log, or can write it again. Until then the thread accepts no changes, and work that is not in the log is lost. Not an event of the thread: it has no `seq`."""

    @overload
    def on(
        self, method: Literal["thread/log/damaged"], handler: Callable[[LogDamaged], object]
    ) -> Callable[[], None]:
        """Sent to a subscriber in place of events that cannot be read, because their part of the log is damaged. `seq` is the number of the last one."""

    @overload
    def on(
        self, method: Literal["thread/notice"], handler: Callable[[Notice], object]
    ) -> Callable[[], None]:
        """A notice for the user."""

    @overload
    def on(
        self, method: Literal["thread/rolledBack"], handler: Callable[[TurnsRolledBack], object]
    ) -> Callable[[], None]:
        """Turns were dropped and are no longer part of the conversation."""

    @overload
    def on(
        self, method: Literal["thread/started"], handler: Callable[[ThreadMade], object]
    ) -> Callable[[], None]:
        """A thread was created."""

    @overload
    def on(
        self, method: Literal["thread/status/changed"], handler: Callable[[StatusChanged], object]
    ) -> Callable[[], None]:
        """The status of the thread changed: a turn started, ended, or waits for a user."""

    @overload
    def on(
        self, method: Literal["thread/subscribers/changed"], handler: Callable[[SubscribersChanged], object]
    ) -> Callable[[], None]:
        """Sent to subscribers with `capabilities.subscribers`: the other clients that follow the thread. Sent at the start and whenever a client joins or leaves, possibly without a change. Not an event of the thread: it has no `seq`."""

    @overload
    def on(
        self, method: Literal["thread/suggestions/updated"], handler: Callable[[SuggestionsUpdated], object]
    ) -> Callable[[], None]:
        """The prompts that the agent suggests for the next turn changed. They are only shown live, so it has no `seq`: a new subscriber receives the current ones behind the events that it missed. The next prompt, and the end of the agent's process, withdraw them."""

    @overload
    def on(
        self, method: Literal["thread/terminal/input"], handler: Callable[[TerminalNamed], object]
    ) -> Callable[[], None]:
        """A user types into a terminal, or, without `by`, the daemon ended the input of a command that waited for long."""

    @overload
    def on(
        self, method: Literal["thread/terminal/killed"], handler: Callable[[TerminalNamed], object]
    ) -> Callable[[], None]:
        """The agent, or a user, terminated the command in a terminal."""

    @overload
    def on(
        self, method: Literal["thread/terminal/released"], handler: Callable[[TerminalNamed], object]
    ) -> Callable[[], None]:
        """The agent released a terminal."""

    @overload
    def on(
        self, method: Literal["thread/terminal/waiting"], handler: Callable[[TerminalWaiting], object]
    ) -> Callable[[], None]:
        """A silent command in a terminal waits for input. The wait ends with the next output, input or exit."""

    @overload
    def on(
        self, method: Literal["thread/tokenUsage/updated"], handler: Callable[[TokenUsageUpdated], object]
    ) -> Callable[[], None]:
        """The usage of the agent's context changed."""

    @overload
    def on(
        self, method: Literal["thread/unarchived"], handler: Callable[[ThreadChanged], object]
    ) -> Callable[[], None]:
        """The thread was unarchived."""

    @overload
    def on(
        self, method: Literal["thread/updated"], handler: Callable[[ThreadUpdated], object]
    ) -> Callable[[], None]:
        """Properties of the thread changed. Contains only the changed ones."""

    @overload
    def on(
        self, method: Literal["turn/completed"], handler: Callable[[TurnCompleted], object]
    ) -> Callable[[], None]:
        """A turn ended."""

    @overload
    def on(
        self, method: Literal["turn/diff/updated"], handler: Callable[[DiffUpdated], object]
    ) -> Callable[[], None]:
        """The unified diff of the whole turn changed. While the turn runs, it is only shown live and has no `seq`."""

    @overload
    def on(
        self, method: Literal["turn/interrupting"], handler: Callable[[TurnInterrupting], object]
    ) -> Callable[[], None]:
        """A turn is being interrupted."""

    @overload
    def on(
        self, method: Literal["turn/plan/removed"], handler: Callable[[PlanRemoved], object]
    ) -> Callable[[], None]:
        """The agent removed a plan, or the daemon did, because the thread has more than 64 plans, or 1 MiB of them."""

    @overload
    def on(
        self, method: Literal["turn/plan/updated"], handler: Callable[[PlanUpdated], object]
    ) -> Callable[[], None]:
        """The agent replaced a whole plan: the one with this id, or the one without an id. An empty plan counts too."""

    @overload
    def on(
        self, method: Literal["turn/queue/changed"], handler: Callable[[QueueChanged], object]
    ) -> Callable[[], None]:
        """The queue was reordered, paused or continued."""

    @overload
    def on(
        self, method: Literal["turn/queued"], handler: Callable[[TurnChanged], object]
    ) -> Callable[[], None]:
        """A prompt was queued until the turns before it are over, or the prompt of a queued turn was replaced."""

    @overload
    def on(
        self, method: Literal["turn/started"], handler: Callable[[TurnChanged], object]
    ) -> Callable[[], None]:
        """A turn started."""

    @overload
    def on(
        self, method: Literal["turn/steering"], handler: Callable[[TurnSteering], object]
    ) -> Callable[[], None]:
        """A client sent a message during the running turn, and the daemon passed it on to the agent. Once the agent has accepted it, it follows as a message of the turn."""

    @overload
    def on(
        self, method: Literal["item/commandExecution/requestApproval"], handler: Callable[[Approval], object]
    ) -> Callable[[], None]:
        """Asks whether the agent may run a command."""

    @overload
    def on(
        self, method: Literal["item/fileChange/requestApproval"], handler: Callable[[Approval], object]
    ) -> Callable[[], None]:
        """Asks whether the agent may change a file."""

    @overload
    def on(
        self, method: Literal["item/permissions/requestApproval"], handler: Callable[[Approval], object]
    ) -> Callable[[], None]:
        """Asks whether the agent may make any other tool call."""

    @overload
    def on(
        self, method: Literal["item/tool/requestUserInput"], handler: Callable[[InputWanted], object]
    ) -> Callable[[], None]:
        """The agent requests information from the user."""

    def on(self, method: str, handler: Callable[[Any], object]) -> Callable[[], None]:
        """Calls ``handler`` for each notification of a method, and for each question event that all clients receive.

        Each event of a followed thread arrives once; events of others arrive as the daemon sends them. Returns a
        function that unsubscribes.
        """
        return self._on(method, handler)

    @overload
    def answer(
        self, method: ApprovalMethod, handler: Callable[[Approval], Answer]
    ) -> Callable[[], None]: ...

    @overload
    def answer(
        self, method: Literal["item/tool/requestUserInput"], handler: Callable[[InputWanted], Answer]
    ) -> Callable[[], None]: ...

    def answer(self, method: str, handler: Callable[[Any], Answer]) -> Callable[[], None]:
        """Sets the handler, a function or a coroutine function, that answers questions of a method.

        It receives each question once, however often the connection breaks. The client sends its result. If it returns
        ``None`` or raises, the question stays open. A coroutine is cancelled once the question needs no answer any
        more. Requires the capability ``approvals``. Returns a function that removes the handler.
        """
        return self._answer(method, handler)
