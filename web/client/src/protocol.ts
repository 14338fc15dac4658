// Generated from the table of the app protocol's methods: run `make generate`. Do not edit.

/** Increases when something is renamed or removed. */
export const PROTOCOL_VERSION = 1;

/** The methods of permission requests. */
export const APPROVALS = [
  "item/commandExecution/requestApproval",
  "item/fileChange/requestApproval",
  "item/permissions/requestApproval",
] as const;

/** A time in which a user was away. */
export interface Absence {
  /** When a client of the user was last in front, in milliseconds since the epoch. */
  since: number;
  /** When the user came back, in milliseconds since the epoch. */
  until: number;
}

/** An object of the Agent Client Protocol, unchanged. */
export type AcpObject = Record<string, unknown>;

/** A known agent. */
export interface Agent {
  /** Description of the agent, in one sentence. */
  description?: string | null;
  /** Name of the agent, which is the `agentType` of a thread. */
  id: string;
  /** Whether the agent can be started. */
  installed: boolean;
  /** The progress of its installation, if that runs now. */
  installing?: InstallProgress | null;
  /** How `agent/install` installs the agent: `download`, `npm`, `uv` or `pip`. Absent if it cannot. */
  installsBy?: string | null;
  /** Whether it is the default of clients that name no agent: `default_agent` of the configuration, the only configured agent, or the only one that is set up if none is configured. At most one agent is. It is first in the list. */
  isDefault: boolean;
  /** Whether it is configured, on `PATH`, installed or part of acpd. Other agents are downloaded when they start, so clients offer to install them instead. */
  isSetUp: boolean;
  /** Why the agent cannot be started. */
  reason?: string | null;
  /** How the daemon finds the agent's program: `path`, `installed`, `npx` or `uvx`. */
  runs?: string | null;
  /** `config`, `registry`, `installed` or `builtin`. */
  source: string;
  /** Display name of the agent. */
  title: string;
  version?: string | null;
}

/** The agent's response. */
export interface AgentAnswered {
  /** The agent's result, unchanged. */
  result: Json;
}

/** The remembered answers that apply to all threads of an agent. */
export interface AgentAnswers {
  /** Name of the agent. */
  agentType: string;
  /** The answers, oldest first. */
  answers: RememberedAnswer[];
}

/** The remembered answers for agents, by the agents' names. */
export interface AgentAnswersListed {
  data: AgentAnswers[];
}

/** No params. */
export interface AgentAuthenticateCancelParams {
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** Params of `agent/authenticate`. */
export interface AgentAuthenticateParams {
  /** Id of one of the agent's authentication methods. */
  methodId: string;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** No params. */
export interface AgentAuthenticateReadParams {
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** An agent session that was opened. */
export interface AgentBound {
  how: Binding;
  /** The agent's result of `initialize`. */
  initialize?: Json | null;
  /** The version of ACP that the agent speaks, if it is not 1. `initialize` and `session` have the form of version 1 in any case. */
  protocol?: number | null;
  /** The result of the ACP method that opened the session. */
  session?: Json | null;
  /** The agent's id for the session. */
  sessionId: string;
}

export type AgentDoctorParams = ExamineAgent;

/** Result of `agent/doctor`. */
export interface AgentExamined {
  /** Name of the agent. */
  agentType: string;
  /** Why the agent failed. */
  error?: string | null;
  /** The agent's result of `initialize`; absent if the agent failed. */
  hello?: AgentHello | null;
  /** Milliseconds from the start of the process to its response or its failure. */
  millis: number;
  /** The sandbox of the agent and its terminals. */
  sandbox?: AgentSandbox | null;
  /** The end of the agent's stderr. */
  stderr: string;
  /** The first lines of the agent's stdout that are not messages. */
  strayLines: string[];
}

/** What an agent reports in `initialize`. */
export interface AgentHello {
  /** ACP capabilities of the agent. */
  agentCapabilities?: AcpObject | null;
  /** Name and version of the agent. */
  agentInfo?: AcpObject | null;
  /** ACP authentication methods of the agent. */
  authMethods?: AcpObject[] | null;
  /** The version of ACP that the agent chose. */
  protocolVersion: number;
}

export type AgentInstallParams = InstallAgent;

/** The agent that was installed. */
export interface AgentInstalled {
  agent: Agent;
}

export type AgentListParams = NoParams;

/** No params. */
export interface AgentLogoutParams {
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** An unknown message of the agent. */
export interface AgentNotification {
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  method: string;
  /** The params of any other method. */
  params?: Json | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
  /** The `update` of a `session/update`. */
  update?: Json | null;
}

/** A message that ACP does not define. */
export interface AgentNotifyParams {
  /** Name of the method, which begins with `_`, and not with `_acpd/`. */
  method: string;
  /** Params, which the agent receives unchanged. */
  params?: Json | null;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

export type AgentOptionsParams = ReadSessionOptions;

export type AgentRememberedListParams = ListAgentAnswers;

export type AgentRememberedRevokeParams = RevokeAgentAnswer;

/** A message that ACP does not define. */
export interface AgentRequestParams {
  /** Name of the method, which begins with `_`, and not with `_acpd/`. */
  method: string;
  /** Params, which the agent receives unchanged. */
  params?: Json | null;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

export type AgentRunningParams = NoParams;

/** The sandbox of an agent. */
export interface AgentSandbox {
  /** Writable directories in which no new files can be created, because they contain acpd's own files. */
  closed: string[];
  /** Restrictions that the kernel does not enforce. */
  gaps: string[];
  /** Configured paths that do not exist. They grant no access. */
  missing: string[];
  /** `workspace`, `readonly` or `off`. */
  mode: string;
  /** `on`, `off`, or comma-separated ports. */
  network: string;
  /** Readable paths, in addition to the writable ones; empty without a sandbox. */
  read: string[];
  /** Why there is no sandbox although none was switched off, or why one cannot be built on this host. */
  reason?: string | null;
  /** Writable paths, in addition to the workspace. */
  write: string[];
}

/** Selects sessions of the agent. */
export interface AgentSessionDeleteParams {
  /** The agent's id for the session. */
  sessionId: string;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** Selects sessions of the agent. */
export interface AgentSessionListParams {
  /** The agent's cursor for the next page, from the previous result. */
  cursor?: string | null;
  /** Lists only sessions of this directory. */
  cwd?: string | null;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** The agents. */
export interface AgentsListed {
  data: Agent[];
}

/** The running agent processes. */
export interface AgentsRunning {
  data: RunningAgent[];
}

/** Params of `config/folder/add`. */
export interface AllowFolder {
  /** Name of the agent, as in `agent/list`. */
  agentType: string;
  /** The folder, an absolute path on the daemon's host without links, such as `folder` of a notice. */
  folder: string;
}

/** The effect of an "always" answer. */
export type Always = {
  holds: string;
} | {
  notRemembered: string;
};

/** Params of `item/answer`. */
export interface AnswerInput {
  /** Answers that follow the question's schema. The agent receives them unchanged. */
  answers?: Json | null;
  /** Whether the user declines to answer. */
  dismissed?: boolean;
  /** Id of the question. */
  requestId: string;
}

/** A permission request. */
export interface Approval {
  /** Ids of the always-options that the agent may remember itself. acpd stores no rule for them. */
  agentRemembers?: string[] | null;
  /** The effect of an "always" answer. Absent in logs from before this member existed. */
  always?: Always | null;
  /** The tool call's item. Absent if the agent did not ask and the policy requires an approval. */
  itemId?: string | null;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  options: PermissionOption[];
  reason?: string | null;
  requestId: string;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** The effects of the call, as the daemon interprets them. The policy and the answer apply to exactly these. Empty in logs from before this member existed. */
  subjects: CallSubject[];
  threadId: string;
  /** The agent's title of the tool call, or acpd's own title if there is no `itemId`. */
  title: string;
  /** The agent's own description of the call. */
  toolCall?: AcpObject | null;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** Params of `item/approve`. */
export interface Approve {
  /** Whether the agent may proceed. */
  approved?: boolean | null;
  /** Id of one of the agent's options. The answer is refused if `approved` contradicts it. */
  optionId?: string | null;
  /** Kind of that option, as shown to the user. The answer is refused if the option is of another kind. */
  optionKind?: string | null;
  /** Id of the question. */
  requestId: string;
  /** Remembers the answer, so that it also applies to later questions in this scope. */
  scope?: Scope | null;
}

/** How a thread got its agent session. */
export type Binding = "new" | "load" | "resume" | "fork";

/** Who caused an event. */
export type By = {
  kind: "agent";
} | {
  kind: "daemon";
} | {
  kind: "policy";
  /** One sentence for the user. */
  reason?: string | null;
  /** The rule that matched, as written in the policy. */
  rule?: string | null;
  /** Scope of the policy: `session`, `thread`, `agent` or `daemon`. */
  scope?: string | null;
} | {
  /** The client's name, as it reported it. */
  client: string;
  kind: "client";
  /** The principal whose credentials the client used. */
  principal: string;
};

/** One effect of a call. */
export type CallSubject = {
  /** The program, followed by its arguments. */
  argv: string[];
  /** Absolute path of the working directory. */
  cwd: string;
  /** Environment variables that the call sets. */
  env?: Variable[] | null;
  type: "command";
} | {
  /** Absolute path of the working directory. */
  cwd: string;
  /** Environment variables that the call sets. */
  env?: Variable[] | null;
  /** The whole command line. */
  line: string;
  type: "commandLine";
} | {
  /** The type of access. */
  access: FileAccess;
  /** The call's input as JSON text, if the call changes a file and the diff does not show all of the change. */
  arguments?: string | null;
  /** The change as a unified diff, if the call shows one. */
  diff?: string | null;
  /** Absolute path, without `..`. */
  path: string;
  /** The target of the path after symbolic links, if it differs from `path`. */
  realPath?: string | null;
  type: "file";
} | {
  /** The host of the URL, if it can be determined. */
  host?: string | null;
  type: "fetch";
  /** The URL. */
  url: string;
} | {
  /** The call's input, as JSON text. */
  arguments?: string | null;
  /** Name of the MCP server. */
  server: string;
  /** Name of the tool; absent if the call does not name it. */
  tool?: string | null;
  type: "mcp";
} | {
  /** The call's input, as JSON text. */
  arguments?: string | null;
  /** ACP's kind of the tool. */
  kind: string;
  /** Programmatic name of the tool, if the agent sends one. */
  name?: string | null;
  type: "tool";
} | {
  type: "unknown";
  /** What is known about the part: one sentence for the user, without a period. */
  what: string;
};

/** The new summary of a thread whose entry in lists has changed. */
export interface ChangedThread {
  /** Name of the agent, as in `agent/list`. */
  agentType: string;
  /** Whether the thread is archived. */
  archived: boolean;
  /** When the thread was created or forked, in milliseconds since the epoch. */
  createdAt: number;
  /** Absolute path of the working directory. */
  cwd: string;
  /** Why the status is `failed`. */
  error?: string | null;
  /** Id of the thread. */
  id: string;
  /** Whether the last turn was interrupted by an error, such as a restart of acpd, and not by a client. */
  lastTurnCutOff?: boolean | null;
  /** Status of the last ended turn; absent if there was none, or if it was dropped. */
  lastTurnStatus?: TurnStatus | null;
  /** Arbitrary data that the client stored with the thread; `null` if the thread has none. Absent if it has not changed. */
  metadata?: Json | null;
  /** The name that a user set, else the agent's title, else the beginning of the first prompt. */
  name?: string | null;
  /** The place that a user has chosen for the pinned thread. Clients list those without a place first, then the lowest. */
  pinPlace?: number | null;
  /** Whether a user pinned the thread. Clients list pinned threads first. */
  pinned?: boolean | null;
  /** Project id that the client chose to group threads by. */
  projectId?: string | null;
  /** The oldest unanswered question. */
  question?: WaitingQuestion | null;
  status: ThreadStatus;
  /** Number of turns in the conversation. Dropped turns do not count. */
  turnCount: number;
  /** When a turn last started or ended, in milliseconds since the epoch. */
  updatedAt: number;
}

/** Capabilities of a client. */
export interface ClientCapabilities {
  /** Whether the client answers questions. Otherwise it receives them as notifications. */
  approvals?: boolean;
  /** Exact names of notifications that the client does not want. Their `seq` are skipped. A client that answers questions still receives all questions. */
  optOutNotificationMethods?: string[];
  streaming?: boolean;
  /** Whether the client wants `thread/subscribers/changed` for the threads that it follows. */
  subscribers?: boolean;
  tools?: boolean;
}

/** Name and version of the client program. */
export interface ClientInfo {
  /** Name of the client, which the log records with every decision. */
  name: string;
  title?: string | null;
  version?: string | null;
}

/** The command that was started. */
export interface CommandStarted {
  /** Id of the command's item. */
  itemId: string;
  /** Id of the turn that contains the item. */
  turnId: string;
}

export type ConfigAgentSetParams = SetDefaultAgent;

/** The setting is in the configuration file, and the daemon has applied it. */
export interface ConfigChanged {
  /** Whether the file was written: it may have had the setting already. */
  changed: boolean;
  /** Absolute path of the file on the daemon's host. */
  file: string;
}

export type ConfigFolderAddParams = AllowFolder;

export type ConfigPolicySetParams = SetDefaultPolicy;

/** The value of a config option. */
export type ConfigValue = boolean | string;

/** A cost. */
export interface CostSum {
  amount: number;
  /** The code of the currency, such as `USD`. */
  currency: string;
}

/** Params of `folder/create`. */
export interface CreateFolder {
  /** Absolute path of the new folder, or a path that begins with `~/`. The folder that contains it must exist. */
  path: string;
}

/** How a message reaches the agent. */
export type Delivery = "steered" | "queued";

/** An addition to a message or thought. */
export interface Delta {
  /** A content block other than plain text. */
  content?: AcpObject | null;
  itemId: string;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  text: string;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** The size of a diff. */
export interface DiffSize {
  /** Number of added lines. */
  added: number;
  /** Number of changed files. */
  files: number;
  /** Whether there are changes that the diff does not show. */
  incomplete: boolean;
  /** Number of removed lines. */
  removed: number;
}

/** A diff. */
export interface DiffUpdated {
  /** Unified diff of all files that the turn changed. */
  diff: string;
  /** Number of the event; absent if the diff is only shown live. */
  seq?: number | null;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  turnId?: string | null;
}

/** The directories that a thread works in. */
export interface Directories {
  /** Further directories of the workspace. */
  additionalDirectories: string[];
  /** Working directory. */
  cwd: string;
}

/** A JSON-RPC error. */
export interface Error {
  /** JSON-RPC error code. */
  code: number;
  data?: ErrorData | null;
  /** One sentence for the user. */
  message: string;
}

/** Error details for programs. */
export interface ErrorData {
  /** Stable code of the error. */
  code: string;
  /** Further explanation. */
  detail?: string | null;
  /** Whether the same request may succeed later. */
  retryable: boolean;
}

/** Params of `agent/doctor`. */
export interface ExamineAgent {
  /** Name of the agent, as in `agent/list`. */
  agentType: string;
}

/** How well an agent remembers the kept turns of a thread after a rollback or a fork. */
export type Fidelity = "exact" | "recalled";

/** A type of access to a file. */
export type FileAccess = "read" | "search" | "edit" | "delete" | "move";

/** A change to a file. */
export interface FileChange {
  /** Unified diff, once it is known. */
  diff?: string | null;
  /** Absolute path of the file. */
  path: string;
  /** What the write replaced, if the daemon wrote the file. */
  replaced?: Replaced | null;
  type: FileChangeType;
}

/** A file change that ended. */
export interface FileChangeCompleted {
  /** The client that acted instead of the daemon. */
  by?: By | null;
  /** Unified diff, once it is known. */
  diff?: string | null;
  itemId: string;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  outcome: ItemOutcome;
  /** Absolute path of the file. */
  path: string;
  /** What the write replaced, if the daemon wrote the file. */
  replaced?: Replaced | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
  type: FileChangeType;
}

/** A file change that started. */
export interface FileChangeStarted {
  /** The client that acts instead of the daemon. */
  by?: By | null;
  /** Unified diff, once it is known. */
  diff?: string | null;
  itemId: string;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  parentItemId?: string | null;
  /** Absolute path of the file. */
  path: string;
  /** What the write replaced, if the daemon wrote the file. */
  replaced?: Replaced | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
  type: FileChangeType;
}

export type FileChangeType = "fileChange";

/** A file, and the number of bytes. */
export interface FileTouched {
  /** The client that acted instead of the daemon. */
  by?: By | null;
  bytes: number;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  path: string;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** A written file, the number of bytes, and what they replaced. */
export interface FileWritten {
  /** The client that acted instead of the daemon. */
  by?: By | null;
  bytes: number;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  path: string;
  replaced?: Replaced | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** A folder in another one. */
export interface Folder {
  /** Name of the folder. */
  name: string;
  /** Whether it is the root of a Git repository or worktree. */
  repository: boolean;
}

export type FolderCreateParams = CreateFolder;

/** The folder that was created. */
export interface FolderCreated {
  /** Absolute path of the folder. */
  path: string;
}

export type FolderListParams = ListFolders;

/** Result of `folder/list`. */
export interface FoldersListed {
  /** The folders, sorted by name. Those whose name is not UTF-8 are left out. */
  folders: Folder[];
  /** The home directory of the daemon's user. */
  home: string;
  /** Name of the daemon's host. */
  host: string;
  /** Absolute path of the folder that contains it; absent for `/`. */
  parent?: string | null;
  /** Absolute path of the folder. */
  path: string;
  /** Whether there are more. */
  truncated: boolean;
}

/** Identity and role of a connection. */
export interface Identity {
  principal: string;
  role: Role;
}

/** Params of `initialize`. */
export interface InitializeParams {
  capabilities?: ClientCapabilities;
  clientInfo: ClientInfo;
}

/** Result of `initialize`. */
export interface Initialized {
  capabilities: ServerCapabilities;
  identity: Identity;
  limits: LimitsInForce;
  protocolVersion: number;
  serverInfo: ServerInfo;
}

/** An elicitation. */
export interface InputWanted {
  /** The params of ACP's `elicitation/create`. */
  elicitation?: AcpObject | null;
  itemId?: string | null;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** `form` or `url`. */
  mode?: string | null;
  requestId: string;
  /** JSON Schema of a form. */
  schema?: Json | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** The agent's message. */
  title: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
  /** The URL that the user is to open. */
  url?: string | null;
}

/** Params of `agent/install`. */
export interface InstallAgent {
  /** Name of the agent, as in `agent/list`. */
  agentType: string;
}

/** The progress of an installation. */
export interface InstallProgress {
  /** The last line that the installer wrote. */
  line?: string | null;
  /** Bytes of the download that have arrived. */
  receivedBytes?: number | null;
  step: InstallStep;
  /** Bytes of the whole download, if known. */
  totalBytes?: number | null;
}

/** A step of an installation. */
export type InstallStep = "downloading" | "unpacking" | "installing";

/** One part of a turn. `outcome` is `null` until the item ends. */
export type Item = ({
  itemId: string;
  /** The subagent that the item belongs to, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  outcome?: ItemOutcome | null;
  /** Id of the item that contains this one. */
  parentItemId?: string | null;
  /** When the message started, in milliseconds since the epoch. Only messages have it, except in imported turns. Notifications have `ts` instead. */
  startedAt?: number | null;
}) & (Message | ToolCall | FileChange | TerminalCommand);

export type ItemAnswerParams = AnswerInput;

export type ItemApproveParams = Approve;

/** How an item ended. */
export type ItemOutcome = "completed" | "failed" | "interrupted";

/** Any JSON value. */
export type Json = unknown;

/** A subagent of a thread. */
export interface Lane {
  /** Whether the agent did not announce the session, so that acpd assumes a subagent. */
  assumed: boolean;
  /** The working directory, by the agent's words. */
  cwd?: string | null;
  /** The role or purpose of the subagent. */
  description?: string | null;
  /** Further directories, by the agent's words. */
  directories?: string[] | null;
  /** Id of the subagent's lane: its items and questions have it. */
  lane: string;
  /** Whether clients may cancel the subagent's work. `turn/interrupt` does. */
  mayCancel: boolean;
  /** The subagent that created this one; absent if the main agent did. */
  parent?: string | null;
  /** The agent's id for the subagent's session. Absent once the agent's session has ended. */
  sessionId?: string | null;
  /** When the subagent was first reported, in milliseconds since the epoch. */
  startedAt: number;
  /** What the subagent is doing; absent if that is unknown. */
  state?: LaneState | null;
  /** The name that users see. */
  title?: string | null;
  /** When the subagent was last reported, in milliseconds since the epoch. */
  updatedAt: number;
}

/** What a subagent is doing. */
export interface LaneState {
  /** `running`, `idle`, `requires_action` or `unknown`; other values are the agent's own. */
  state: string;
  /** Why the work of an idle subagent ended. */
  stopReason?: string | null;
}

/** A change of a subagent, which is `lane`. Contains only what has changed; `null` clears it. */
export interface LaneUpdated {
  /** Whether the agent did not announce the session. Only in the first notification. */
  assumed?: boolean | null;
  /** The working directory, by the agent's words; `null` if it was removed. */
  cwd?: string | null;
  /** The role or purpose of the subagent; `null` if it was removed. */
  description?: string | null;
  /** The list of further directories, by the agent's words; `null` if it was removed. */
  directories?: string[] | null;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** Whether clients may cancel the subagent's work. */
  mayCancel?: boolean | null;
  /** The subagent that created this one; absent if the main agent did. */
  parent?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** The agent's id for the subagent's session. Only in the first notification about the subagent. */
  sessionId?: string | null;
  /** What the subagent is doing; `null` if it was removed: that is unknown from now on. */
  state?: LaneState | null;
  threadId: string;
  /** The name that users see; `null` if it was removed. */
  title?: string | null;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** The subagents of a thread. */
export interface LanesListed {
  data: Lane[];
}

/** The editor connection that answers the agent's client requests (files, terminals). */
export interface LeaseHolder {
  /** The editor's name, as it reported it. */
  client: string;
  /** Unique id of the connection. */
  connection: string;
  /** The principal whose credentials the connection used. */
  principal: string;
}

/** Why a thread's lease moved. */
export type LeaseMove = "opened" | "acquired" | "released" | "left" | "restarted";

/** A move of the lease. */
export interface LeaseMoved {
  by: By;
  /** The new holder; absent if the daemon itself answers. */
  holder?: LeaseHolder | null;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
  why: LeaseMove;
}

/** Severity of a notice. */
export type Level = "info" | "warning" | "error";

/** Effective limits of the daemon. */
export interface LimitsInForce {
  /** Maximum number of concurrent connections. Further ones are refused; on a local socket they wait. */
  connections: number;
  /** Batches of events that a connection may fall behind before the daemon serves it from the log. */
  liveBatches: number;
  /** Maximum size of a client's message, in bytes. */
  messageBytes: number;
  /** Maximum number of batches of events queued for one connection. */
  outboundQueue: number;
  /** Seconds between the daemon's pings. */
  pingSecs: number;
  /** Seconds of silence after a ping, after which the daemon closes the connection. */
  pongSecs: number;
  /** Maximum number of queued turns in a thread. */
  queuedTurns: number;
  requestWindowSecs: number;
  /** Maximum number of requests in flight on one connection. */
  requestsInFlight: number;
  /** Maximum number of requests of one connection within `requestWindowSecs`. */
  requestsPerWindow: number;
  /** Maximum number of commands queued for a thread. Further requests fail with -32001. */
  threadCommands: number;
  /** Seconds that a client may read nothing, after which the daemon closes the connection. */
  writeSecs: number;
}

/** Params of `agent/remembered/list`. */
export interface ListAgentAnswers {
  /** Only answers for this agent; by default, for every agent. */
  agentType?: string | null;
}

/** A change of the thread list. */
export interface ListChanged {
  /** The thread's new entry in `thread/list`; `null` if the thread is deleted. */
  thread?: ChangedThread | null;
  threadId: string;
  /** Time of the notification, in milliseconds since the epoch. */
  ts: number;
}

/** Params of `folder/list`. */
export interface ListFolders {
  /** Absolute path of the folder, or a path that begins with `~/`; by default the home directory of the daemon's user. */
  path?: string | null;
}

/** A reset of the thread list, without members. */
export type ListReset = Record<string, unknown>;

/** Params of `thread/share/list`. */
export interface ListShares {
  /** Only links of this thread; by default, of all threads. */
  threadId?: string | null;
}

/** Params of `thread/list`. */
export interface ListThreads {
  /** Lists only threads of this agent. */
  agentType?: string | null;
  /** Whether to list archived threads; by default, only threads that are not archived. */
  archived?: boolean | null;
  /** `nextCursor` of the previous page. */
  cursor?: string | null;
  /** Lists only threads in this directory. */
  cwd?: string | null;
  /** Lists only threads whose id begins or ends with these 1 to 32 hexadecimal digits; hyphens do not count. */
  idPart?: string | null;
  /** Maximum number of threads. A page has at most about 1 MiB: with large metadata, it has fewer. */
  limit?: number | null;
  /** Lists only pinned threads, or only the others. */
  pinned?: boolean | null;
  /** Lists only threads whose name contains this text. */
  searchTerm?: string | null;
  /** Lists only threads with this status. */
  status?: ListedStatus | null;
}

/** Filter of `thread/list`: what a thread is doing, or how its last turn ended. */
export type ListedStatus = "active" | "running" | "waiting" | "idle" | "failed";

/** Whether a thread's log can be written. */
export interface LogChanged {
  /** Why the log cannot be written, or which events cannot be read; absent if the thread works again. */
  error?: string | null;
  threadId: string;
  /** Time of the notification, in milliseconds since the epoch. */
  ts: number;
}

/** Events that cannot be read. */
export interface LogDamaged {
  /** Number of the first of these events. */
  firstSeq: number;
  /** Why they cannot be read. */
  reason: string;
  /** Number of the last of these events. */
  seq: number;
  threadId: string;
  /** Time of the notification, in milliseconds since the epoch. */
  ts: number;
}

/** A message or a thought. */
export interface Message {
  /** ACP content blocks. */
  content?: AcpObject[] | null;
  /** The agent's own id for the message. */
  messageId?: string | null;
  /** The whole text. */
  text?: string | null;
  type: MessageType;
}

/** A complete message. */
export interface MessageCompleted {
  /** ACP content blocks. */
  content?: AcpObject[] | null;
  itemId: string;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The agent's own id for the message. */
  messageId?: string | null;
  outcome: ItemOutcome;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** The whole text. */
  text?: string | null;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
  type: MessageType;
}

/** A message that started. */
export interface MessageStarted {
  /** ACP content blocks. */
  content?: AcpObject[] | null;
  itemId: string;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The agent's own id for the message. */
  messageId?: string | null;
  parentItemId?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** The whole text. */
  text?: string | null;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
  type: MessageType;
}

/** Type of a message, which also names its author. */
export type MessageType = "userMessage" | "agentMessage" | "agentThought";

/** A new thread, as created. */
export interface NewThread {
  additionalDirectories: string[];
  agentType: string;
  createdAt: number;
  cwd: string;
  id: string;
  metadata?: Json | null;
  name?: string | null;
  projectId?: string | null;
  status: ThreadStatus;
}

/** No params. */
export type NoParams = Record<string, unknown>;

/** An empty result. */
export type Nothing = Record<string, unknown>;

/** A notice for the user. */
export interface Notice {
  /** Who refused the call of the agent or of a user. */
  by?: By | null;
  /** Length of a line that is not a message. */
  bytes?: number | null;
  code: string;
  detail?: string | null;
  /** The folder in which the agent was denied a path, if `thread/directories/add` may open it. The agent has named the path: show the folder to the user first. */
  folder?: string | null;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  level: Level;
  message: string;
  /** Whether it is larger than 16 KiB: then pages of turns leave it out. */
  omitted?: boolean | null;
  /** The client whose user wanted to run a command that was refused. */
  requestedBy?: By | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
  /** The agent's own update, unchanged. */
  update?: Json | null;
}

export type NotificationListParams = NoParams;

/** A target of notifications. */
export interface NotificationTarget {
  /** Why the last delivery failed; `null` if it succeeded. */
  error?: string | null;
  /** Deliveries that failed since the last one that succeeded. */
  failures: number;
  /** Name of the target. */
  name: string;
  /** The user of the browser; absent for targets of the configuration. */
  principal?: string | null;
  /** `webhook`, `command`, `ntfy`, or `push` for the browser of a user. */
  type: string;
  /** Notifications that wait for delivery. */
  waiting: number;
}

/** The targets of notifications, by name. */
export interface NotificationTargetsListed {
  data: NotificationTarget[];
}

/** The result of a test of one target. */
export interface NotificationTest {
  /** Why the test failed; `null` if it succeeded. */
  error?: string | null;
  /** Name of the target. */
  name: string;
}

export type NotificationTestParams = TestNotifications;

/** The results of a test, by the targets' names. */
export interface NotificationsTested {
  data: NotificationTest[];
}

/** A message for the running turn that the agent has not taken yet. */
export interface PendingSteering {
  /** Number of its event. */
  seq: number;
  text: string;
  turnId?: string | null;
}

/** One of the answers that an agent offers. */
export interface PermissionOption {
  /** ACP's `PermissionOptionKind`. */
  kind: string;
  name: string;
  optionId: string;
}

/** A call that the policy allowed. */
export interface Permitted {
  by: By;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The method that the agent called. */
  method: string;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** The file, command or other subject of the call. */
  subject: string;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** An answer, and its place. */
export interface PlacedAnswer {
  /** Id of the item before the answer. Absent if the answer comes after the end of the turn, or before the first turn. */
  afterItemId?: string | null;
  /** Whether the answer comes after the end of the turn: no turn was running. */
  afterTurn?: boolean | null;
  /** Answers to an elicitation with a form. */
  answers?: Json | null;
  by: By;
  itemId?: string | null;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** Whether the answer is larger than 16 KiB: then pages of turns leave it out. */
  omitted?: boolean | null;
  /** Id of the agent's option that was selected. */
  optionId?: string | null;
  /** ACP's kind of that option. */
  optionKind?: string | null;
  outcome: Resolution;
  /** Why the question was closed. */
  reason?: string | null;
  requestId: string;
  /** The option that the daemon sent to the agent instead. acpd remembers an "always" and sends "once" to the agent. */
  sentOptionId?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** The title of an answered question that is about no item, or its beginning. Absent in logs from before this member existed. */
  title?: string | null;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** A notice, and its place. */
export interface PlacedNotice {
  /** Id of the item before the notice. Absent if the notice comes after the end of the turn, or before the first turn. */
  afterItemId?: string | null;
  /** Whether the notice comes after the end of the turn: no turn was running. */
  afterTurn?: boolean | null;
  /** Who refused the call of the agent or of a user. */
  by?: By | null;
  /** Length of a line that is not a message. */
  bytes?: number | null;
  code: string;
  detail?: string | null;
  /** The folder in which the agent was denied a path, if `thread/directories/add` may open it. The agent has named the path: show the folder to the user first. */
  folder?: string | null;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  level: Level;
  message: string;
  /** Whether it is larger than 16 KiB: then pages of turns leave it out. */
  omitted?: boolean | null;
  /** The client whose user wanted to run a command that was refused. */
  requestedBy?: By | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
  /** The agent's own update, unchanged. */
  update?: Json | null;
}

/** A plan of the agent. One without an id, and of steps, has only `entries`. */
export interface Plan {
  /** Steps of the plan, in order. Empty for a plan of another form. */
  entries: PlanEntry[];
  /** Absent for a plan of steps. */
  form?: PlanForm | null;
  /** The whole plan, if its form is `markdown`. It can be empty. */
  markdown?: string | null;
  /** The absolute path of the file that contains the plan, as the agent reported it. Only some Markdown plans have one. */
  path?: string | null;
  /** The agent's id for the plan. Absent for the plan without an id. */
  planId?: string | null;
}

/** One step of an agent's plan. */
export interface PlanEntry {
  /** Description of the step. */
  content: string;
  /** `high`, `medium` or `low`; other values are kept as received. */
  priority: string;
  /** `pending`, `in_progress` or `completed`; other values are kept as received. */
  status: string;
}

/** The form of a plan that has no steps. */
export type PlanForm = "markdown";

/** A plan that is no longer valid. */
export interface PlanRemoved {
  by: By;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The agent's id for the plan. Absent for the plan without an id. */
  planId?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** A plan. */
export interface PlanUpdated {
  /** Steps of the plan, in order. Empty for a plan of another form. */
  entries: PlanEntry[];
  /** Absent for a plan of steps. */
  form?: PlanForm | null;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The whole plan, if its form is `markdown`. It can be empty. */
  markdown?: string | null;
  /** The absolute path of the file that contains the plan, as the agent reported it. Only some Markdown plans have one. */
  path?: string | null;
  /** The agent's id for the plan. Absent for the plan without an id. */
  planId?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** The configured policies. Each is a preset's name or an object with rules; see `docs/policy.md`. */
export interface PoliciesRead {
  /** The agent's own policy, which takes precedence over the daemon's. */
  agent?: Json | null;
  /** The daemon's policy. Without one, the user is asked about every permission request. */
  daemon?: Json | null;
}

/** Params of `policy/explain`. */
export interface PolicyExplainParams {
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
  /** An ACP tool call. */
  toolCall: AcpObject;
}

/** Result of `policy/explain`. */
export interface PolicyExplained {
  /** The decision and its reason. */
  decision: AcpObject;
  /** Every part of the call, with its matching rules. */
  subjects: AcpObject[];
}

export type PolicyReadParams = ReadPolicy;

/** No params. */
export interface PolicyRememberedListParams {
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** Params of `policy/remembered/revoke`. */
export interface PolicyRememberedRevokeParams {
  /** Id of the answer, as in `policy/remembered/list`. */
  id: number;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** A client's response to a question: `decision`, optionally with `optionId` and `scope`, or `answers`, or `dismissed: true`. */
export interface QuestionAnswered {
  /** Answers to an elicitation. */
  answers?: Json | null;
  /** `accept`, `acceptForSession`, `decline`, `declineForSession` or `cancel`. */
  decision?: string | null;
  /** Whether the user declines to answer. */
  dismissed?: boolean;
  /** Id of one of the agent's options. It is more specific than `decision` and must not contradict it. */
  optionId?: string | null;
  /** Kind of that option, as shown to the user. The answer is refused if the option is of another kind. */
  optionKind?: string | null;
  /** Remembers the answer, so that it also applies to later questions in this scope. */
  scope?: Scope | null;
}

/** What a question asks for. */
export type QuestionType = "permission" | "input";

/** The queue of a thread. */
export interface QueueChanged {
  by: By;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** Whether no queued turn starts by itself. */
  paused: boolean;
  /** Ids of the queued turns, in their order. */
  queuedTurnIds: string[];
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** Params of `policy/read`. */
export interface ReadPolicy {
  /** Name of an agent whose own policy is also returned, as in `agent/list`. */
  agentType?: string | null;
}

/** Params of `agent/options`. */
export interface ReadSessionOptions {
  /** Absolute paths of additional directories of the workspace. */
  additionalDirectories?: string[];
  /** Name of the agent, as in `agent/list`. */
  agentType: string;
  /** Absolute path of the session's working directory. */
  cwd: string;
}

/** Params of `usage/read`. */
export interface ReadUsage {
  /** What the rows are; days by default. */
  by?: UsageBy | null;
  /** Number of days until today, in UTC; 30 by default. */
  days?: number | null;
}

/** A refused response. */
export interface Rejected {
  error: Error;
  requestId: string;
  threadId: string;
}

/** A remembered answer. */
export interface Remembered {
  answer: Json;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** A remembered answer. */
export interface RememberedAnswer {
  /** Whether the answer allows the call; otherwise it denies it. */
  allow: boolean;
  /** Hash of the input that the call must have. */
  arguments?: string | null;
  /** Hash of the kind, tool, locations and diffs that the call must have. */
  call?: string | null;
  /** Working directory in which the command must be started. */
  cwd?: string | null;
  id: number;
  /** Hash of the command line that the command must be part of. */
  line?: string | null;
  /** The rule that was made from the answer. */
  rule: string;
  /** `session`, `thread` or `agent`. */
  scope: string;
}

/** The remembered answers. */
export interface RememberedListed {
  data: RememberedAnswer[];
}

/** A thread that was removed, or whose attachments were. */
export interface Removal {
  /** About how many bytes were removed. */
  bytes: number;
  limit: RetentionLimit;
  /** The thread's name. */
  name?: string | null;
  threadId: string;
  /** When a turn last started or ended, in milliseconds since the epoch. */
  updatedAt: number;
}

/** What a write replaced. */
export type Replaced = "nothing" | "text" | "unknown";

/** How a question was resolved. */
export type Resolution = "accepted" | "declined" | "cancelled" | "void";

/** How a question was resolved. */
export interface Resolved {
  /** Answers to an elicitation with a form. */
  answers?: Json | null;
  by: By;
  itemId?: string | null;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** Whether the answer is larger than 16 KiB: then pages of turns leave it out. */
  omitted?: boolean | null;
  /** Id of the agent's option that was selected. */
  optionId?: string | null;
  /** ACP's kind of that option. */
  optionKind?: string | null;
  outcome: Resolution;
  /** Why the question was closed. */
  reason?: string | null;
  requestId: string;
  /** The option that the daemon sent to the agent instead. acpd remembers an "always" and sends "once" to the agent. */
  sentOptionId?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** The title of an answered question that is about no item, or its beginning. Absent in logs from before this member existed. */
  title?: string | null;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** A limit of the configuration. */
export type RetentionLimit = "maxAge" | "archivedMaxAge" | "maxSize" | "attachmentsMaxAge";

/** Result of `retention/run`. */
export interface RetentionRun {
  /** Number of removed attachments of threads that stay. */
  attachments: number;
  /** About how many bytes both took. They are overwritten and free after some seconds. */
  bytes: number;
  /** Whether the configuration has any limit. */
  configured: boolean;
  /** Whether nothing was removed. */
  dryRun: boolean;
  /** Number of threads that stay although a limit applies, because they are in use or cannot be read. */
  kept: number;
  /** Bytes that the log takes without what was removed. */
  logBytes: number;
  /** What was removed, in the order of removal; at most 1,000 entries. */
  removed: Removal[];
  /** Number of removed threads. */
  threads: number;
}

export type RetentionRunParams = RunRetention;

/** Params of `agent/remembered/revoke`. */
export interface RevokeAgentAnswer {
  /** Name of the agent, as in `agent/remembered/list`. */
  agentType: string;
  /** Id of the answer, as in `agent/remembered/list`. */
  id: number;
}

/** Params of `thread/share/revoke`. */
export interface RevokeShare {
  /** Id of the link, as in `thread/share/list`. */
  shareId: string;
}

/** A revoked answer. */
export interface Revoked {
  id: number;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** The role of a principal. Each role includes the permissions of those before it. */
export type Role = "observer" | "approver" | "operator" | "owner";

/** Result of a rollback. */
export interface RolledBack {
  fidelity: Fidelity;
}

/** Params of `retention/run`. */
export interface RunRetention {
  /** Whether the clock of the daemon's host is right. If it was set, the daemon follows it and retention trusts it from then on. */
  confirmClock?: boolean | null;
  /** Whether nothing is removed: the result is what would be. */
  dryRun?: boolean | null;
}

/** A running agent process. */
export interface RunningAgent {
  /** Name of the agent. */
  agentType: string;
  /** Since when the process is idle, in milliseconds since the epoch. */
  idleSince?: number | null;
  /** Resident memory of the process and of all processes that it started, in bytes. */
  memoryBytes: number;
  /** Process id; `null` while the process starts. */
  pid?: number | null;
  /** When the process was started, in milliseconds since the epoch. */
  startedAt: number;
  /** `busy` (in a turn), `idle`, `waiting` (for its first session) or `leaving` (being stopped). */
  state: string;
  /** Ids of the threads that use the process: several if it is shared, none while it waits for its first session. */
  threads: string[];
}

/** Scope of a policy or a remembered answer, from the innermost to the outermost. */
export type Scope = "session" | "thread" | "agent" | "daemon";

/** Params of `thread/search`. */
export interface SearchThreads {
  /** `nextCursor` of the previous page. */
  cursor?: string | null;
  /** Maximum number of hits, at most 100. */
  limit?: number | null;
  /** Words that must all occur in one text. Case and accents are ignored. Words in double quotes must follow each other. The last word, if it is not in quotes, matches every word that begins with it. At most 1 KiB. */
  query: string;
  /** Searches only this thread; by default, all threads. */
  threadId?: string | null;
}

/** Threads that the principal of the connection has seen. */
export interface SeenChanged {
  /** The threads. A mark that is earlier than one before changes nothing. */
  threads: SeenThread[];
  /** Time of the notification, in milliseconds since the epoch. */
  ts: number;
}

/** How far a user has seen a thread. */
export interface SeenMark {
  /** The `updatedAt` of the thread, as the user has seen it. */
  seenAt: number;
  /** Id of the thread. */
  threadId: string;
}

/** How far a principal has seen a thread. */
export interface SeenThread {
  /** Changes until then have been seen, in milliseconds since the epoch. */
  seenAt: number;
  threadId: string;
}

/** Capabilities of the daemon. */
export interface ServerCapabilities {
  approvals: boolean;
  /** Whether `turn/start` takes `replacesTurnId`. Without this, an older daemon ignores it and adds the prompt to the conversation. */
  replacesTurns: boolean;
  streaming: boolean;
  tools: boolean;
}

/** Name and version of the daemon. */
export interface ServerInfo {
  name: string;
  version: string;
}

/** Whether a deleted thread's session was also deleted in the agent. */
export type SessionDeleted = "deleted" | "failed" | "notAsked";

/** Parameters for opening the agent's session that differ from those the thread was created with. */
export interface SessionParams {
  /** Working directory of the session; `null` is the thread's. */
  cwd?: string | null;
  /** Names of additional MCP servers. */
  mcpServers: (string | null)[];
}

/** Params of `config/agent/set`. */
export interface SetDefaultAgent {
  /** Name of the agent, as in `agent/list`. If absent or `null`, removes the setting. */
  agentType?: string | null;
}

/** Params of `config/policy/set`. */
export interface SetDefaultPolicy {
  /** Name of the agent whose own policy is set, as in `agent/list`; the policy of all agents if absent. */
  agentType?: string | null;
  /** `permissive`, `standard`, `restricted` or `readonly`. If absent or `null`, removes the policy. */
  preset?: string | null;
}

/** Params of `thread/seen/set`. */
export interface SetSeen {
  /** For a principal that has never called this method: changes until then count as seen, in milliseconds since the epoch. By default, all changes until now. */
  since?: number | null;
  /** The threads, at most 500. */
  threads: SeenMark[];
}

/** Result of `thread/share/create`. */
export interface ShareCreated {
  /** The link's secret, which is stored nowhere. The link is the daemon's address and `/#share=SECRET`. Programs send the secret as a token. */
  secret: string;
  share: ThreadShare;
}

/** The links, oldest first. */
export interface SharesListed {
  data: ThreadShare[];
}

/** The sign-in to the agent. */
export interface SignInRead {
  /** Whether one is in progress. */
  inProgress: boolean;
  /** The lines with addresses and codes that the agent has printed for the last one. */
  lines: string[];
}

/** A piece of a snippet. */
export interface SnippetPiece {
  /** Whether the piece matches the query. */
  hit: boolean;
  text: string;
}

/** Params of `thread/start`. */
export interface StartThread {
  /** Absolute paths of additional directories of the workspace. */
  additionalDirectories?: string[];
  /** Name of an agent, as in `agent/list`. */
  agentType: string;
  /** The client's own id for the first turn. */
  clientTurnId?: string | null;
  /** Initial values of config options, by id. */
  config?: Record<string, ConfigValue>;
  /** Absolute path of the working directory. */
  cwd: string;
  /** The first turn as ACP content blocks. */
  input?: AcpObject[] | null;
  /** ACP `McpServer` objects, passed on to the agent. */
  mcpServers?: AcpObject[];
  /** Arbitrary data that the client stores with the thread. */
  metadata?: Json | null;
  /** Id of the initial mode. */
  mode?: string | null;
  /** Name of the thread, as shown to users. */
  name?: string | null;
  /** The thread's own permission policy: a preset's name, or an object. Requires the role owner. */
  policy?: Json | null;
  /** Project id that the client chooses to group threads by. */
  projectId?: string | null;
  /** Id of an agent's session to continue instead of a new one, as in `agent/session/list`. Its history is imported if the agent replays it. Returns `conflict` if a thread already uses the session. */
  sessionId?: string | null;
  /** Instructions for the agent, in addition to its own or instead of them. Returns `unsupported` if the agent does not declare that it takes them. */
  systemPrompt?: SystemPrompt | null;
  /** The first turn as plain text, placed before `input`. */
  text?: string | null;
}

/** A thread's status. */
export interface StatusChanged {
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  status: ThreadStatus;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** A client that follows a thread. */
export interface Subscriber {
  /** The client's name, as it reported it. */
  client: string;
  /** Whether the client receives the agent's questions as requests: it answers questions, and its role allows that. */
  mayAnswer: boolean;
  /** The principal whose credentials the client used. */
  principal: string;
}

/** The other clients that follow a thread. */
export interface SubscribersChanged {
  /** Number of further clients. */
  more: number;
  /** At most 32 of the other clients. Clients that answer questions come first, each group in order of arrival. */
  others: Subscriber[];
  threadId: string;
  /** Time of the notification, in milliseconds since the epoch. */
  ts: number;
}

/** A prompt that the agent suggests. */
export interface Suggestion {
  /** ACP content blocks: text, and links to resources. The texts have at most 4 KiB and no control characters. */
  prompt: AcpObject[];
}

/** Prompts that the agent suggests. */
export interface SuggestionsUpdated {
  /** Absent, because suggestions are only shown live. */
  seq?: number | null;
  /** At most 8 suggestions, the most likely one first. An empty list withdraws those before. */
  suggestions: Suggestion[];
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  turnId?: string | null;
}

/** A system prompt for a thread's agent. */
export interface SystemPrompt {
  /** The instructions; at most 256 KiB. */
  content: string;
  /** How the agent combines it with its own instructions; `append` if absent. */
  mode?: SystemPromptMode | null;
}

/** How an agent combines a system prompt with its own instructions. */
export type SystemPromptMode = "append" | "override";

/** A command in a terminal. */
export interface TerminalCommand {
  args?: string[] | null;
  command?: string | null;
  cwd?: string | null;
  /** Exit code, if the command exited normally. */
  exitCode?: number | null;
  /** The last part of the output. */
  output?: string | null;
  /** Blob with all kept output, at `GET /api/blobs/{outputBlob}`, if `output` is only the end of it. */
  outputBlob?: string | null;
  /** The client whose user requested the command: `command` is the whole line then, without `args`. Absent for a command of the agent. */
  requestedBy?: By | null;
  /** Whether the terminal of a waiting command does not show what is typed, as for a password. */
  secret?: boolean | null;
  /** Name of the signal that terminated the command. */
  signal?: string | null;
  terminalId: string;
  /** Whether some of the output was not kept. */
  truncated?: boolean | null;
  type: TerminalCommandType;
  /** Whether the running command has been silent and waits for input. */
  waiting?: boolean | null;
}

/** A command that ended. */
export interface TerminalCommandCompleted {
  args?: string[] | null;
  /** The client that acted instead of the daemon, or whose user requested the command. */
  by?: By | null;
  command?: string | null;
  cwd?: string | null;
  /** Exit code, if the command exited normally. */
  exitCode?: number | null;
  itemId: string;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  outcome: ItemOutcome;
  /** The last part of the output. */
  output?: string | null;
  /** Blob with all kept output, at `GET /api/blobs/{outputBlob}`, if `output` is only the end of it. */
  outputBlob?: string | null;
  /** The client whose user requested the command: `command` is the whole line then, without `args`. Absent for a command of the agent. */
  requestedBy?: By | null;
  /** Whether the terminal of a waiting command does not show what is typed, as for a password. */
  secret?: boolean | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** Name of the signal that terminated the command. */
  signal?: string | null;
  terminalId: string;
  threadId: string;
  /** Whether some of the output was not kept. */
  truncated?: boolean | null;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
  type: TerminalCommandType;
  /** Whether the running command has been silent and waits for input. */
  waiting?: boolean | null;
}

/** A command that started. */
export interface TerminalCommandStarted {
  args?: string[] | null;
  /** The client that acted instead of the daemon, or whose user requested the command. */
  by?: By | null;
  command?: string | null;
  cwd?: string | null;
  /** Exit code, if the command exited normally. */
  exitCode?: number | null;
  itemId: string;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The last part of the output. */
  output?: string | null;
  /** Blob with all kept output, at `GET /api/blobs/{outputBlob}`, if `output` is only the end of it. */
  outputBlob?: string | null;
  parentItemId?: string | null;
  /** The client whose user requested the command: `command` is the whole line then, without `args`. Absent for a command of the agent. */
  requestedBy?: By | null;
  /** Whether the terminal of a waiting command does not show what is typed, as for a password. */
  secret?: boolean | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** Name of the signal that terminated the command. */
  signal?: string | null;
  terminalId: string;
  threadId: string;
  /** Whether some of the output was not kept. */
  truncated?: boolean | null;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
  type: TerminalCommandType;
  /** Whether the running command has been silent and waits for input. */
  waiting?: boolean | null;
}

export type TerminalCommandType = "terminalCommand";

/** A terminal. */
export interface TerminalNamed {
  /** The client that acted instead of the daemon. */
  by?: By | null;
  itemId?: string | null;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  terminalId: string;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** Output of a command in a terminal. */
export interface TerminalOutput {
  itemId: string;
  /** Number of the event; absent if the output is only shown live. */
  seq?: number | null;
  /** Number of bytes before `text` that were omitted. */
  skippedBytes?: number | null;
  terminalId: string;
  text: string;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  turnId?: string | null;
}

/** A terminal that waits for input. */
export interface TerminalWaiting {
  itemId: string;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** Whether the terminal does not show what is typed, as for a password. */
  secret: boolean;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  terminalId: string;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** Params of `notification/test`. */
export interface TestNotifications {
  /** Name of the target, as in `notification/list`; all targets if absent. */
  target?: string | null;
}

/** A search hit. */
export interface TextFound {
  itemId?: string | null;
  kind: TextKind;
  /** The thread's name. */
  name?: string | null;
  /** Number of the event that contains the text. */
  seq: number;
  /** An extract of the text: one line, in pieces. An ellipsis marks omitted text. */
  snippet: SnippetPiece[];
  threadId: string;
  /** Time of that event, in milliseconds since the epoch. */
  ts: number;
  turnId?: string | null;
}

/** Type of a text. */
export type TextKind = "userMessage" | "agentMessage" | "toolCall" | "command" | "path";

/** A page of search hits. */
export interface TextsFound {
  data: TextFound[];
  /** Cursor for the next page. */
  nextCursor?: string | null;
}

/** A thread with its current state. */
export interface Thread {
  /** Additional directories of the workspace. */
  additionalDirectories: string[];
  /** Name of the agent, as in `agent/list`. */
  agentType: string;
  /** Whether the thread is archived. */
  archived: boolean;
  /** ACP's `available_commands_update` with the agent's commands. */
  availableCommandsUpdate?: AcpObject | null;
  /** ACP's `SessionConfigOption` objects. */
  configOptions?: AcpObject[] | null;
  /** When the thread was created or forked, in milliseconds since the epoch. */
  createdAt: number;
  /** Cursor for older turns. */
  cursor?: string | null;
  /** Absolute path of the working directory. */
  cwd: string;
  /** Why the status is `failed`. */
  error?: string | null;
  /** Id of the thread. */
  id: string;
  /** Whether the running turn was interrupted and has not ended yet. */
  interrupting?: boolean | null;
  /** Whether the last turn was interrupted by an error, such as a restart of acpd, and not by a client. */
  lastTurnCutOff?: boolean | null;
  /** Status of the last ended turn; absent if there was none, or if it was dropped. */
  lastTurnStatus?: TurnStatus | null;
  /** Number of the thread's last event. */
  latestSeq: number;
  /** The editor that answers the agent's client requests; if absent, the daemon answers. */
  lease?: LeaseHolder | null;
  /** Arbitrary data that the client stored with the thread. */
  metadata?: Json | null;
  /** Id of the agent's current mode. */
  modeId?: string | null;
  /** ACP's `SessionModeState`, as it was when the session was opened. */
  modes?: AcpObject | null;
  /** The name that a user set, else the agent's title, else the beginning of the first prompt. */
  name?: string | null;
  /** Ids of open questions. */
  pendingRequestIds: string[];
  /** The place that a user has chosen for the pinned thread. Clients list those without a place first, then the lowest. */
  pinPlace?: number | null;
  /** Whether a user pinned the thread. Clients list pinned threads first. */
  pinned?: boolean | null;
  /** The plan with steps that changed last. */
  plan?: PlanEntry[] | null;
  /** All plans, in the order in which they came. Absent if `plan` is the only one, and has no id. */
  plans?: Plan[] | null;
  /** The thread's own permission policy. */
  policy?: Json | null;
  /** Project id that the client chose to group threads by. */
  projectId?: string | null;
  /** The oldest unanswered question. */
  question?: WaitingQuestion | null;
  /** Whether no queued turn starts by itself. */
  queuePaused?: boolean | null;
  /** Ids of queued turns. */
  queuedTurnIds: string[];
  /** In `thread/list`: the principal of the connection has seen all changes until then, in milliseconds since the epoch. The thread is unread if `updatedAt` is later. Absent if the principal has never called `thread/seen/set`. */
  seenAt?: number | null;
  /** The agent's id for its session. */
  sessionId?: string | null;
  /** What the thread has used, with all sessions of its agent, also of dropped turns. Absent if its agents have reported nothing. */
  spent?: UsageSum | null;
  status: ThreadStatus;
  /** Messages for the running turn that the agent has not taken yet, in order. */
  steering?: PendingSteering[] | null;
  tokenUsage?: TokenUsage | null;
  /** Number of turns in the conversation. Dropped turns do not count. */
  turnCount: number;
  /** Id of the running turn. */
  turnId?: string | null;
  /** The latest turns, oldest first, if the request includes turns. */
  turns?: Turn[] | null;
  /** When a turn last started or ended, in milliseconds since the epoch. */
  updatedAt: number;
}

/** No params. */
export interface ThreadArchiveParams {
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** A change of the thread, with its originator. */
export interface ThreadChanged {
  by: By;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** Params of `thread/command/run`. */
export interface ThreadCommandRunParams {
  /** The command line, at most 64 KiB. */
  command: string;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** Params of `thread/config/set`. */
export interface ThreadConfigSetParams {
  /** Id of one of the agent's config options. */
  configId: string;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
  /** Id of one of a select option's values, or a boolean. */
  value: ConfigValue;
}

/** No params. */
export interface ThreadDeleteParams {
  /** Id of the thread. */
  threadId: string;
}

/** A deleted thread. */
export interface ThreadDeleted {
  by: By;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  session: SessionDeleted;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** Params of `thread/directories/add`. */
export interface ThreadDirectoriesAddParams {
  /** The directory, an absolute path on the daemon's host without links, such as `folder` of a notice. */
  directory: string;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** Params of `thread/directories/set`. */
export interface ThreadDirectoriesSetParams {
  /** Further directories of the workspace. By default, those inside the earlier working directory move along, and the others stay. */
  additionalDirectories?: string[] | null;
  /** The working directory, an absolute path on the daemon's host. */
  cwd: string;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** Params of `thread/fork`. */
export interface ThreadForkParams {
  /** Name of the new thread; by default, the name of this thread. */
  name?: string | null;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
  /** Id of the last turn to copy; by default, the last turn that is over. */
  turnId?: string | null;
}

/** The origin of a forked thread. */
export interface ThreadForked {
  by: By;
  /** How well the agent remembers, if it opens the fork of its session. The answer to `thread/fork` says whether it has. */
  fidelity: Fidelity;
  fromThreadId: string;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The last turn that was copied. */
  lastTurnId?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** The agent's id for the fork of its session. */
  sessionId?: string | null;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** The new thread of a fork. */
export interface ThreadForkedResult {
  fidelity: Fidelity;
  thread: Thread;
}

/** One thread. */
export interface ThreadFound {
  thread: Thread;
}

/** No params. */
export interface ThreadLanesParams {
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

export type ThreadListParams = ListThreads;

export type ThreadListUnwatchParams = NoParams;

export type ThreadListWatchParams = NoParams;

/** A new thread. */
export interface ThreadMade {
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  thread: NewThread;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** Params of `thread/metadata/set`. */
export interface ThreadMetadataSetParams {
  /** The new data, at most 64 KiB; `null` removes the data. */
  metadata: Json;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** Params of `thread/mode/set`. */
export interface ThreadModeSetParams {
  /** Id of one of the agent's modes. */
  modeId: string;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** Params of `thread/name/set`. */
export interface ThreadNameSetParams {
  /** The new name, at most 1024 bytes; `null` removes it. */
  name: string | null;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** Params of `thread/pin/set`. */
export interface ThreadPinSetParams {
  /** Whether the thread is pinned from now on. */
  pinned: boolean;
  /** The thread's place among the pinned threads, the lowest first; by default, it keeps the one that it has. Without a pin it has none. */
  place?: number | null;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** Params of `thread/policy/set`. */
export interface ThreadPolicySetParams {
  /** A preset's name or an object. If absent or `null`, removes the thread's own policy. */
  policy?: Json | null;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** Params of `thread/read`. */
export interface ThreadReadParams {
  /** `thread.cursor` of the previous page. */
  cursor?: string | null;
  /** Whether the result contains turns and items. */
  includeTurns?: boolean | null;
  /** Maximum number of turns. A page has at most about 1 MiB; the earlier items of a turn that is too large for it are on the next page, in a turn with the same id. */
  limit?: number | null;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** Params of `thread/resume`. */
export interface ThreadResumeParams {
  /** Number of the last event that the client has received; 0 for none. */
  after?: number | null;
  /** Maximum number of turns in the result, if `after` is absent. A page has at most about 1 MiB; the earlier items of a turn that is too large for it are on the next page, in a turn with the same id. */
  limit?: number | null;
  /** Whether to start the agent now; by default, it is started, so that the next turn begins sooner. */
  startAgent?: boolean | null;
  /** Id of the thread. */
  threadId: string;
}

/** The subscribed thread. */
export interface ThreadResumed {
  /** Number of the thread's last event. Later events follow as notifications. */
  latestSeq: number;
  thread: Thread;
}

/** Params of `thread/rollback`. */
export interface ThreadRollbackParams {
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
  /** Id of the last turn to keep; `null` keeps none. */
  turnId: string | null;
}

export type ThreadSearchParams = SearchThreads;

export type ThreadSeenSetParams = SetSeen;

/** A link with which anyone can read one thread. */
export interface ThreadShare {
  createdAt: number;
  /** Name of the token that made it. */
  createdBy: string;
  /** The link ends then, or when the token that made it does. */
  expiresAt: number;
  /** Id of the link, which is not secret. */
  id: string;
  /** Its name, for the list of links. */
  name?: string | null;
  /** The thread that it shares. */
  threadId: string;
}

/** Params of `thread/share/create`. */
export interface ThreadShareCreateParams {
  /** Seconds until the link expires, from 60 to 31,536,000 (a year); 604,800 (7 days) if absent. */
  expiresInSecs?: number | null;
  /** A name for the list of links, at most 100 bytes. Readers of the thread do not see it. */
  name?: string | null;
  /** Id of the thread. */
  threadId: string;
}

export type ThreadShareListParams = ListShares;

export type ThreadShareRevokeParams = RevokeShare;

export type ThreadStartParams = StartThread;

/** The new thread. */
export interface ThreadStarted {
  thread: Thread;
  /** The first turn, if the params contain one. */
  turn?: Turn | null;
}

/** What a thread is doing. */
export type ThreadStatus = "idle" | "running" | "waiting" | "deleting" | "failed";

/** The summary of a thread, as lists show it. */
export interface ThreadSummary {
  /** Name of the agent, as in `agent/list`. */
  agentType: string;
  /** Whether the thread is archived. */
  archived: boolean;
  /** When the thread was created or forked, in milliseconds since the epoch. */
  createdAt: number;
  /** Absolute path of the working directory. */
  cwd: string;
  /** Why the status is `failed`. */
  error?: string | null;
  /** Id of the thread. */
  id: string;
  /** Whether the last turn was interrupted by an error, such as a restart of acpd, and not by a client. */
  lastTurnCutOff?: boolean | null;
  /** Status of the last ended turn; absent if there was none, or if it was dropped. */
  lastTurnStatus?: TurnStatus | null;
  /** Arbitrary data that the client stored with the thread. */
  metadata?: Json | null;
  /** The name that a user set, else the agent's title, else the beginning of the first prompt. */
  name?: string | null;
  /** The place that a user has chosen for the pinned thread. Clients list those without a place first, then the lowest. */
  pinPlace?: number | null;
  /** Whether a user pinned the thread. Clients list pinned threads first. */
  pinned?: boolean | null;
  /** Project id that the client chose to group threads by. */
  projectId?: string | null;
  /** The oldest unanswered question. */
  question?: WaitingQuestion | null;
  /** In `thread/list`: the principal of the connection has seen all changes until then, in milliseconds since the epoch. The thread is unread if `updatedAt` is later. Absent if the principal has never called `thread/seen/set`. */
  seenAt?: number | null;
  status: ThreadStatus;
  /** Number of turns in the conversation. Dropped turns do not count. */
  turnCount: number;
  /** When a turn last started or ended, in milliseconds since the epoch. */
  updatedAt: number;
}

/** Params of `thread/terminal/kill`. */
export interface ThreadTerminalKillParams {
  /** Id of the terminal, as in its item. */
  terminalId: string;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** Params of `thread/terminal/write`. */
export interface ThreadTerminalWriteParams {
  /** Id of the terminal, as in its item. */
  terminalId: string;
  /** What the user types, at most 2048 bytes. `\n` ends a line, U+0004 ends the input, and U+0003 interrupts the program. */
  text: string;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** No params. */
export interface ThreadUnarchiveParams {
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** No params. */
export interface ThreadUnsubscribeParams {
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** Changed properties of a thread. */
export interface ThreadUpdated {
  /** A session was opened. */
  agent?: AgentBound | null;
  /** ACP's `available_commands_update`. */
  availableCommandsUpdate?: AcpObject | null;
  /** The originator of the change of the name, the data, the pin or the directories. */
  by?: By | null;
  /** ACP's `config_option_update`. */
  configOptionUpdate?: AcpObject | null;
  /** The directories that the thread works in from now on. */
  directories?: Directories | null;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The client's own data; `null` if it was removed. */
  metadata?: Json | null;
  /** Id of the new mode. */
  modeId?: string | null;
  /** Id of the new model. */
  modelId?: string | null;
  /** The thread's name; `null` if it was removed. */
  name?: string | null;
  /** With `pinned`: the thread's place among the pinned threads from now on, the lowest first; absent if it has none. */
  pinPlace?: number | null;
  /** Whether the thread is pinned from now on. */
  pinned?: boolean | null;
  /** The thread's own policy. */
  policy?: Json | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** Parameters with which a client wants the agent's session to be opened from now on. */
  session?: SessionParams | null;
  /** ACP's `session_info_update`. */
  sessionInfo?: AcpObject | null;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** A page of threads. */
export interface ThreadsListed {
  data: ThreadSummary[];
  /** Cursor for the next page. */
  nextCursor?: string | null;
}

/** Where the principal begins. */
export interface ThreadsSeen {
  /** Changes of all threads until then count as seen, in milliseconds since the epoch. */
  since: number;
}

/** Usage of the agent's context. */
export interface TokenUsage {
  /** ACP's `Cost`: what the agent's session has cost, as the agent reported it. */
  cost?: AcpObject | null;
  /** Tokens that fit into the context. */
  size?: number | null;
  /** Tokens in use. */
  used?: number | null;
}

/** Usage of the agent's context. */
export interface TokenUsageUpdated {
  /** ACP's `Cost`: what the agent's session has cost, as the agent reported it. */
  cost?: AcpObject | null;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  size?: number | null;
  /** What the thread has cost in this currency, with all sessions of its agent, as ACP's `Cost`. */
  threadCost?: AcpObject | null;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
  used?: number | null;
}

/** A tool call. */
export interface ToolCall {
  /** ACP's `ToolKind`. */
  kind?: string | null;
  /** The same as `title`. */
  name?: string | null;
  status: ToolStatus;
  /** The agent's title for the call. */
  title?: string | null;
  /** The ACP tool call with all its updates applied. */
  toolCall?: AcpObject | null;
  /** The agent's id for the call. */
  toolCallId?: string | null;
  type: ToolCallType;
}

/** A tool call that ended. */
export interface ToolCallCompleted {
  itemId: string;
  /** ACP's `ToolKind`. */
  kind?: string | null;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The same as `title`. */
  name?: string | null;
  outcome: ItemOutcome;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  status: ToolStatus;
  threadId: string;
  /** The agent's title for the call. */
  title?: string | null;
  /** The ACP tool call with all its updates applied. */
  toolCall?: AcpObject | null;
  /** The agent's id for the call. */
  toolCallId?: string | null;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
  type: ToolCallType;
}

/** A tool call that started. */
export interface ToolCallStarted {
  itemId: string;
  /** ACP's `ToolKind`. */
  kind?: string | null;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The same as `title`. */
  name?: string | null;
  parentItemId?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  status: ToolStatus;
  threadId: string;
  /** The agent's title for the call. */
  title?: string | null;
  /** The ACP tool call with all its updates applied. */
  toolCall?: AcpObject | null;
  /** The agent's id for the call. */
  toolCallId?: string | null;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
  type: ToolCallType;
}

export type ToolCallType = "toolCall";

/** A change of a tool call. */
export interface ToolCallUpdated {
  itemId: string;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  status: ToolStatus;
  threadId: string;
  /** ACP's `tool_call_update`. Absent members are unchanged. */
  toolCall?: AcpObject | null;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** ACP's tool call status. */
export type ToolStatus = "pending" | "in_progress" | "completed" | "failed";

/** One prompt and everything that the agent did until the turn ended; or commands that users ran in between. */
export interface Turn {
  /** Answers to questions, in order; only if the request includes turns. */
  answers?: PlacedAnswer[] | null;
  /** The size of the turn's diff, which `turn/diff/read` returns. Absent if the turn has changed no file, while it runs, and in logs from before this member existed. */
  changes?: DiffSize | null;
  /** The client's own id for the turn. */
  clientTurnId?: string | null;
  /** Milliseconds since the epoch. */
  completedAt?: number | null;
  /** Why the turn failed, in one sentence. */
  error?: string | null;
  /** Id of the turn. Items outside of any turn are in a turn without an id. */
  id?: string | null;
  /** Whether the turn took place in the agent's session outside of acpd and was imported. It is already over. */
  imported?: boolean | null;
  /** ACP content blocks of the prompt, while the turn is queued, and if it ended without a start. */
  input?: AcpObject[] | null;
  /** Items in the order in which they started; only if the request includes turns. */
  items?: Item[] | null;
  /** Notices, in order; only if the request includes turns. There are at most 16 notices and answers after an item, and after the end of the turn. */
  notices?: PlacedNotice[] | null;
  /** Number of calls that the policy allowed without a permission request. Absent in logs from before this member existed. */
  permitted?: number | null;
  /** The plan with steps that the agent changed last in the turn; only if the request includes turns. Absent in logs from before this member existed. */
  plan?: PlanEntry[] | null;
  /** All plans that the agent changed in the turn, in the order in which they came; only if the request includes turns. Absent if `plan` is the only one, and has no id. */
  plans?: Plan[] | null;
  /** Milliseconds since the epoch. */
  startedAt?: number | null;
  status: TurnStatus;
  /** ACP's stop reason, as the agent sent it. */
  stopReason?: string | null;
  /** The token usage that the agent reported. */
  tokenUsage?: AcpObject | null;
  /** Milliseconds in which a question waited for its answer; while the turn runs, without the present wait. The rest of the turn's time is that of the agent. Absent for none, and in logs from before this member existed. */
  waitedMs?: number | null;
  /** When the present wait began, in milliseconds since the epoch. Only while the turn runs and a question is open. */
  waitingSince?: number | null;
}

/** A turn. */
export interface TurnChanged {
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  turn: Turn;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** A turn that has ended. */
export interface TurnCompleted {
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  tokenUsage?: AcpObject | null;
  /** Milliseconds since the epoch. */
  ts: number;
  turn: Turn;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** The diff of a turn. */
export interface TurnDiffRead {
  /** Unified diff of all files that the turn changed. */
  diff: string;
}

/** Params of `turn/diff/read`. */
export interface TurnDiffReadParams {
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
  /** Id of the turn. */
  turnId: string;
}

/** Params of `turn/interrupt`. */
export interface TurnInterruptParams {
  /** Whether to terminate the agent instead of waiting for it. Also for a turn that was interrupted before. */
  atOnce?: boolean;
  /** Whether to pause the queue, so that no queued turn starts after the running one. */
  pauseQueue?: boolean;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
  /** Id of the turn; by default, the running turn. */
  turnId?: string | null;
}

/** The originator of the interruption. */
export interface TurnInterrupting {
  by: By;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** Params of `turn/queue/arrange`. */
export interface TurnQueueArrangeParams {
  /** Whether no queued turn starts by itself; if absent, that does not change. */
  paused?: boolean | null;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
  /** Ids of the turns that come first, in this order. Turns that are not queued any more are ignored. */
  turnIds?: string[];
}

/** Params of `turn/queue/edit`. */
export interface TurnQueueEditParams {
  /** Plain text, or ACP content blocks. */
  content: Words;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
  /** Id of the queued turn. */
  turnId: string;
}

/** Params of `turn/queue/steer`. */
export interface TurnQueueSteerParams {
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
  /** Id of the queued turn. */
  turnId: string;
}

/** Params of `turn/start`, with at least one of `text` and `input`. */
export interface TurnStartParams {
  /** `_meta` of the prompt, which the agent receives unchanged. `traceparent` and `tracestate` in it are W3C trace context. */
  _meta?: AcpObject | null;
  /** The client's own id for the turn. */
  clientTurnId?: string | null;
  /** ACP content blocks. */
  input?: AcpObject[] | null;
  /** Id of an earlier turn that this prompt replaces. It and all later turns leave the conversation first, as by `thread/rollback`; if that or the prompt is refused, nothing changes. */
  replacesTurnId?: string | null;
  /** Plain text, placed before `input`. */
  text?: string | null;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
}

/** The running or queued turn. */
export interface TurnStartedResult {
  turn: Turn;
}

/** Status of a turn. */
export type TurnStatus = "queued" | "running" | "completed" | "interrupted" | "failed" | "refused" | "limited";

/** Params of `turn/steer`. */
export interface TurnSteerParams {
  /** Plain text, or ACP content blocks. */
  content: Words;
  /** Id of the thread; by default, the one that this connection last started, resumed or forked. */
  threadId?: string;
  /** Id of the turn to steer. Returns `conflict` if it is not the running turn. */
  turnId?: string | null;
}

/** What happened to the message. */
export interface TurnSteered {
  delivery: Delivery;
  /** Id of the turn that the message belongs to. */
  turnId: string;
}

/** A message for the running turn. */
export interface TurnSteering {
  by: By;
  /** ACP content blocks. */
  content: AcpObject[];
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  text: string;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** Result of a rollback. */
export interface TurnsRolledBack {
  by: By;
  fidelity: Fidelity;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The last turn that is kept; `null` if no turn is kept. */
  lastKeptTurnId?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** Result of `thread/unsubscribe`. */
export interface Unsubscribed {
  /** `unsubscribed` or `notSubscribed`. */
  status: string;
}

/** What the rows of `usage/read` are. */
export type UsageBy = "day" | "agent" | "thread" | "folder";

/** Result of `usage/read`. */
export interface UsageRead {
  /** Number of currencies that the total leaves out: a sum has the 8 that most threads report. */
  currenciesOmitted: number;
  /** Days from the last, other rows from the most expensive. Rows without usage are left out. */
  data: UsageRow[];
  /** The first day, such as `2026-11-01`, in UTC. */
  firstDay: string;
  /** The last day: today. */
  lastDay: string;
  /** Number of rows that are left out, because there are too many. */
  omitted: number;
  /** What all threads have used in these days. */
  total: UsageSum;
}

export type UsageReadParams = ReadUsage;

/** What a part of the threads has used. */
export interface UsageRow {
  /** The agent of the threads. */
  agentType?: string | null;
  /** The working directory of the threads. */
  cwd?: string | null;
  /** The day, such as `2026-11-29`, in UTC. */
  day?: string | null;
  /** The thread's name. */
  name?: string | null;
  spent: UsageSum;
  /** The thread. */
  threadId?: string | null;
}

/** Tokens and costs, as agents reported them. */
export interface UsageSum {
  /** Costs, one for each currency. */
  costs: CostSum[];
  /** Tokens of prompts and of what agents read. */
  inputTokens: number;
  /** Tokens that agents wrote. */
  outputTokens: number;
  /** All tokens, also those of caches and thoughts. */
  totalTokens: number;
}

/** A message of the user. */
export interface UserMessage {
  /** ACP content blocks. */
  content: AcpObject[];
  itemId: string;
  /** The subagent that the event is about, as in `thread/lanes`; absent for the main agent. */
  lane?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  text: string;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn in which the event happened. */
  turnId?: string | null;
}

/** Result of `user/present`. */
export interface UserPresent {
  /** The time in which no client of the principal was in front, if that is 5 minutes or more. Only the client that comes back first receives it. */
  away?: Absence | null;
}

export type UserPresentParams = NoParams;

/** An environment variable. */
export interface Variable {
  /** Name of the variable. */
  name: string;
  /** Value of the variable. */
  value: string;
}

/** A question that waits for an answer, as lists show it. `item/approve` needs nothing else. */
export interface WaitingQuestion {
  /** When the agent asked, in milliseconds since the epoch; absent if an older version of acpd stored the question. */
  askedAt?: number | null;
  /** The subagent that asks, as sentences name it: `Subagent "review"`. Absent for the main agent. */
  asker?: string | null;
  /** Number of further unanswered questions of the thread. */
  more: number;
  /** The answers that the agent offers. */
  options?: PermissionOption[] | null;
  requestId: string;
  /** The effects of the call. `subjects` and `options` are absent if they are longer than 4 KiB together, or if no effect is known: the question has to be opened before it is answered. */
  subjects?: CallSubject[] | null;
  /** The title of the permission request, or the agent's message; the first 512 bytes. */
  title: string;
  type: QuestionType;
}

/** Plain text, or ACP content blocks. Plain text becomes one block. */
export type Words = string | AcpObject[];

/** Methods that a client may call. */
export interface Methods {
  /** Signs in to the agent. Returns once signed in; times out after 10 minutes. */
  "agent/authenticate": { params: AgentAuthenticateParams; result: Nothing };
  /** Cancels a sign-in that is in progress: its request fails, and the agent is stopped until it is needed again. Returns `conflict` if there is none, or while a turn or command runs. */
  "agent/authenticate/cancel": { params: AgentAuthenticateCancelParams; result: Nothing };
  /** Returns the addresses and codes that the agent has printed on stderr for the sign-in in progress, or the last one. They are not stored, and only the owner gets them: a user who opens such an address first may sign the agent in to an account of their own. */
  "agent/authenticate/read": { params: AgentAuthenticateReadParams; result: SignInRead };
  /** Starts the agent, sends `initialize`, and stops it. Creates no thread and no session. Returns the findings even if the agent fails. Times out after `agent_start_secs`. */
  "agent/doctor": { params: AgentDoctorParams; result: AgentExamined };
  /** Installs the agent, or its newest version, into the data directory. Returns once it is installed, which can take minutes. The installation continues without the connection, a second request waits for the same one, and `agent/list` shows its progress. Needs npm, uv or python3 on the daemon's host for agents that are packages. */
  "agent/install": { params: AgentInstallParams; result: AgentInstalled };
  /** Lists the known agents and, for those that cannot be started, the reason. Configured agents come first, then those of the registry and installed ones. */
  "agent/list": { params: AgentListParams; result: AgentsListed };
  /** Signs out of the agent. */
  "agent/logout": { params: AgentLogoutParams; result: Nothing };
  /** Sends the agent an extension notification, which ACP does not define. Its name begins with `_`, and not with `_acpd/`. Returns `conflict` if the agent is not running. */
  "agent/notify": { params: AgentNotifyParams; result: Nothing };
  /** Reads ACP's `modes` and `configOptions` with which a session of the agent would begin in a directory, so that a client can offer them before it starts a thread. Starts a process of the agent, sends `session/options`, and stops it; creates no thread and no session. Returns `unsupported` if the agent does not declare `sessionCapabilities.options`. */
  "agent/options": { params: AgentOptionsParams; result: AgentAnswered };
  /** Lists the remembered answers that apply to all threads of an agent, by agent. They stay when the agent has no threads any more, or is no longer known. */
  "agent/remembered/list": { params: AgentRememberedListParams; result: AgentAnswersListed };
  /** Revokes a remembered answer that applies to all threads of an agent. Returns `not_found` if there is no such answer. */
  "agent/remembered/revoke": { params: AgentRememberedRevokeParams; result: Nothing };
  /** Sends the agent an extension request, which ACP does not define. Its name begins with `_`, and not with `_acpd/`. */
  "agent/request": { params: AgentRequestParams; result: AgentAnswered };
  /** Lists running agent processes with their memory use, busy ones first. */
  "agent/running": { params: AgentRunningParams; result: AgentsRunning };
  /** Deletes one of the sessions that the agent has stored. */
  "agent/session/delete": { params: AgentSessionDeleteParams; result: Nothing };
  /** Lists the sessions that the agent has stored. */
  "agent/session/list": { params: AgentSessionListParams; result: AgentAnswered };
  /** Sets `default_agent` in the configuration file: the agent of clients that name none. As all methods of `config`, it keeps the comments and the order of the file, and returns once the daemon has applied the change. Returns `conflict`, and changes nothing, if the file has mistakes, cannot be written, or is changed by another program at the same time. */
  "config/agent/set": { params: ConfigAgentSetParams; result: ConfigChanged };
  /** Adds a folder to `folders` of the agent's sandbox in the configuration file: the agent and its commands may read and write there in all threads. A running agent gets it when it starts again. The agent can become the default, as with `config/policy/set`. Returns `forbidden` for the same directories as `thread/directories/add`, and `unsupported` if the agent runs without acpd's sandbox. */
  "config/folder/add": { params: ConfigFolderAddParams; result: ConfigChanged };
  /** Sets a preset as `policy` in the configuration file, for all agents or for one. Applies to all threads at once. An agent that gets its first setting is a configured one from then on: if there was no default agent and no other is configured, it becomes the default. Returns `conflict` if the file has a policy with rules of its own there. */
  "config/policy/set": { params: ConfigPolicySetParams; result: ConfigChanged };
  /** Creates a folder on the daemon's host. */
  "folder/create": { params: FolderCreateParams; result: FolderCreated };
  /** Lists the folders in a folder of the daemon's host, sorted by name, at most 2,000. */
  "folder/list": { params: FolderListParams; result: FoldersListed };
  /** The first request of a connection; the notification `initialized` follows its result. */
  "initialize": { params: InitializeParams; result: Initialized };
  /** Answers an elicitation. */
  "item/answer": { params: ItemAnswerParams; result: Nothing };
  /** Answers a permission request. `optionId` selects one of the agent's options; `approved` alone selects the first once-option of that kind. */
  "item/approve": { params: ItemApproveParams; result: Nothing };
  /** Lists the targets of notifications, with what waits for each and its last error. */
  "notification/list": { params: NotificationListParams; result: NotificationTargetsListed };
  /** Sends a test notification to one target or to all. Returns once each has accepted it or failed, within seconds, or within `timeout_secs` of a command. */
  "notification/test": { params: NotificationTestParams; result: NotificationsTested };
  /** Returns the policy's decision about a tool call and every matching rule. */
  "policy/explain": { params: PolicyExplainParams; result: PolicyExplained };
  /** Returns the configured permission policies: the daemon's and an agent's. A thread's policy is part of the thread. */
  "policy/read": { params: PolicyReadParams; result: PoliciesRead };
  /** Lists remembered answers. */
  "policy/remembered/list": { params: PolicyRememberedListParams; result: RememberedListed };
  /** Revokes a remembered answer. Only the owner can revoke an answer that applies to the agent. */
  "policy/remembered/revoke": { params: PolicyRememberedRevokeParams; result: Nothing };
  /** Removes what exceeds the limits of `[retention]` in the configuration, as the daemon does each hour. Threads that are in use stay. Returns when no request finds the removed threads any more. */
  "retention/run": { params: RetentionRunParams; result: RetentionRun };
  /** Archives the thread: `thread/list` omits it, it accepts no turns, and its agent stops. Returns `conflict` while a turn runs. Archiving an archived thread has no effect. */
  "thread/archive": { params: ThreadArchiveParams; result: Nothing };
  /** Runs a command line in the thread's directory and its agent's sandbox, because a user wants it. The agent does not see it. The command is an item of the running turn, or of a turn without a prompt. Returns `forbidden` if the policy denies the line, and `overloaded` while 8 such commands run. */
  "thread/command/run": { params: ThreadCommandRunParams; result: CommandStarted };
  /** Sets one of the agent's config options. Returns once the agent has accepted it. */
  "thread/config/set": { params: ThreadConfigSetParams; result: Nothing };
  /** Permanently deletes the thread and its log, after the agent's session if the agent supports that. Returns `conflict` while a turn runs. Returns when no request finds the thread any more; its data is overwritten after that. Subscribers receive `thread/deleted` as the thread's last notification. */
  "thread/delete": { params: ThreadDeleteParams; result: Nothing };
  /** Opens a further directory of the user for the thread: the agent and its commands may read and write there. Stops the agent; the next prompt continues its session. Returns `conflict` while a turn runs, and `forbidden` for directories that stay closed, such as the home directory, those with keys or programs, and acpd's own. */
  "thread/directories/add": { params: ThreadDirectoriesAddParams; result: Nothing };
  /** Sets the directories that the thread works in, for example after they were moved. Stops the agent; the next prompt continues its session in `cwd`. Returns `conflict` while a turn runs, and `invalidParams` if a directory does not exist. */
  "thread/directories/set": { params: ThreadDirectoriesSetParams; result: Nothing };
  /** Forks the thread. The new thread begins with this one's events up to the end of `turnId`, or with all of them after its last turn, and has its current permission policy. If that is the whole thread and the agent can fork its session, the new thread continues with that fork, and the answer comes when its agent has opened it. Otherwise its agent receives the conversation with the first prompt. Subscribes the caller from the end of the shared events. Returns `conflict` if the turn is not over. */
  "thread/fork": { params: ThreadForkParams; result: ThreadForkedResult };
  /** Lists the subagents of a thread, in the order in which the agent has reported them. */
  "thread/lanes": { params: ThreadLanesParams; result: LanesListed };
  /** Lists threads, newest first. */
  "thread/list": { params: ThreadListParams; result: ThreadsListed };
  /** Stops watching the thread list. */
  "thread/list/unwatch": { params: ThreadListUnwatchParams; result: Nothing };
  /** Sends `thread/list/changed` to this connection when any thread is created, deleted or changes its list entry, even threads that it does not follow. Request the list after this method. If a change to a thread arrives before the list, the change takes precedence. */
  "thread/list/watch": { params: ThreadListWatchParams; result: Nothing };
  /** Replaces all of the client's own data; `null` removes it. */
  "thread/metadata/set": { params: ThreadMetadataSetParams; result: Nothing };
  /** Sets the agent's mode. Returns once the agent has accepted it. */
  "thread/mode/set": { params: ThreadModeSetParams; result: Nothing };
  /** Sets the thread's name, which takes precedence over the agent's titles. `null` removes it. `thread/updated` contains the resulting name. */
  "thread/name/set": { params: ThreadNameSetParams; result: Nothing };
  /** Pins the thread, or removes its pin. Pins are for all users and devices. They change neither `updatedAt` nor the order of `thread/list`: clients show pinned threads first, by their places. Two threads may have the same place. Setting what is set has no effect. */
  "thread/pin/set": { params: ThreadPinSetParams; result: Nothing };
  /** Sets or removes the thread's own permission policy. */
  "thread/policy/set": { params: ThreadPolicySetParams; result: Nothing };
  /** Reads a thread without following it and without starting its agent. */
  "thread/read": { params: ThreadReadParams; result: ThreadFound };
  /** Subscribes to a thread. With `after`, sends every later event as its original notification, without gaps or duplicates. Without it, the result contains the thread's latest turns. Sends open questions again in both cases. Starts the agent if it is not running and the caller's role allows that, unless `startAgent` is false. */
  "thread/resume": { params: ThreadResumeParams; result: ThreadResumed };
  /** Drops the turns after `turnId` from the conversation. Views and agents do not receive them; the log and exports keep them. Releases the agent's session. The next prompt opens a new one, which receives the remaining conversation. Returns `conflict` while a turn runs, and `unsupported` if agents receive no history (`recall_bytes = 0`). */
  "thread/rollback": { params: ThreadRollbackParams; result: RolledBack };
  /** Searches all threads, including archived ones: messages of users and agents, titles of tool calls, commands and file paths. Returns the newest hits first. A text can be found once its item is complete. */
  "thread/search": { params: ThreadSearchParams; result: TextsFound };
  /** Marks threads as seen by the principal of this connection, for all of its devices: also for those that it has paired, and for the principal that has paired it. A mark never goes back, and is not later than the thread's `updatedAt`. Unknown threads are ignored. The result is durable. The daemon keeps the latest 1,000 marks of a principal; threads that changed before these count as seen. Connections of the principal that watch the thread list receive `thread/list/seen`. */
  "thread/seen/set": { params: ThreadSeenSetParams; result: ThreadsSeen };
  /** Makes a link with which anyone can read this thread until the link expires, and nothing else. The thread includes its later turns. The result contains the link's secret. The link ends with the token that made it, and with the thread. */
  "thread/share/create": { params: ThreadShareCreateParams; result: ShareCreated };
  /** Lists the links that have not expired, oldest first. */
  "thread/share/list": { params: ThreadShareListParams; result: SharesListed };
  /** Revokes a link. Connections that it authenticated end before the response. Returns `not_found` if there is no such link. */
  "thread/share/revoke": { params: ThreadShareRevokeParams; result: Nothing };
  /** Creates a thread, starts its agent and opens a session. Returns once the agent is ready, or asks a user something first. `thread/started` is sent immediately, and the caller is subscribed from then on. `mode` and `config` are set before the first turn. If one of them is refused, the request fails, but the thread exists. */
  "thread/start": { params: ThreadStartParams; result: ThreadStarted };
  /** Ends a running command, of the agent or of a user: with SIGTERM, then with SIGKILL. Returns `not_found` if no command runs in the terminal, and `unsupported` if it runs in an editor. */
  "thread/terminal/kill": { params: ThreadTerminalKillParams; result: Nothing };
  /** Types into the terminal of a running command, of the agent or of a user. Returns `not_found` if no command runs there, `unsupported` if it runs in an editor, and `overloaded` if the program does not read and no more fits. */
  "thread/terminal/write": { params: ThreadTerminalWriteParams; result: Nothing };
  /** Unarchives the thread. */
  "thread/unarchive": { params: ThreadUnarchiveParams; result: ThreadFound };
  /** Ends the subscription. The agent keeps running. */
  "thread/unsubscribe": { params: ThreadUnsubscribeParams; result: Unsubscribed };
  /** Returns the diff of all files that an ended turn changed. Returns `not_found` if it has none. */
  "turn/diff/read": { params: TurnDiffReadParams; result: TurnDiffRead };
  /** Ends a turn. The agent is asked to stop, and its open questions are answered with `cancelled`. `turn/completed` follows with the agent's response. If the agent or the daemon ends first, or `cancel_secs` pass without a response, the turn is `interrupted` and a notice says why. A queued turn is removed from the queue. */
  "turn/interrupt": { params: TurnInterruptParams; result: Nothing };
  /** Reorders, pauses or continues the queue of turns. While it is paused, `turn/start` without a running turn starts a turn before the queued ones. */
  "turn/queue/arrange": { params: TurnQueueArrangeParams; result: Nothing };
  /** Replaces the prompt of a queued turn. Returns `conflict` if the turn is not queued any more. */
  "turn/queue/edit": { params: TurnQueueEditParams; result: Nothing };
  /** Sends the prompt of a queued turn during the running turn, as `turn/steer` does, and removes it from the queue. Returns `unsupported` if the agent does not accept messages during a turn. */
  "turn/queue/steer": { params: TurnQueueSteerParams; result: TurnSteered };
  /** Sends a prompt. While a turn runs, later prompts are queued. A repeated `clientTurnId` refers to the same turn. With `replacesTurnId`, returns `conflict` while a turn runs or is queued, and `not_found` if that turn is not part of the conversation. */
  "turn/start": { params: TurnStartParams; result: TurnStartedResult };
  /** Sends a message during the running turn. `steered` means that the agent accepted it, and it is a message of that turn. `queued` means that it becomes a turn of its own, after the turns that are already queued. */
  "turn/steer": { params: TurnSteerParams; result: TurnSteered };
  /** Reads what threads have used: tokens of their turns, and costs, as agents reported them. The daemon computes costs from the counters of the agents' sessions, so they outlive the daemon. A turn counts when it ends. Deleted threads do not count. Returns at most 500 rows. */
  "usage/read": { params: UsageReadParams; result: UsageRead };
  /** Reports that the user looks at this client now. Call it when the client comes to the front, each half minute while it is there, and when it leaves. The daemon knows by that when a principal was away: no client of it was in front for 5 minutes. The time in which the host of the daemon, or of the client, slept counts. */
  "user/present": { params: UserPresentParams; result: UserPresent };
}

/** Notifications of the daemon. */
export interface Notifications {
  /** An unknown message from the agent, unchanged. */
  "agent/notification": AgentNotification;
  /** Text or a content block was added to a message. */
  "item/agentMessage/delta": Delta;
  /** Text or a content block was added to a thought. */
  "item/agentThought/delta": Delta;
  /** A message or thought is complete. */
  "item/completed": MessageCompleted;
  /** A file change ended, successfully or not. */
  "item/fileChange/completed": FileChangeCompleted;
  /** A file change started. */
  "item/fileChange/started": FileChangeStarted;
  /** A message or thought started. */
  "item/started": MessageStarted;
  /** A command in a terminal ended. */
  "item/terminalCommand/completed": TerminalCommandCompleted;
  /** A command in a terminal wrote output. Output that is only shown live has no `seq`. */
  "item/terminalCommand/output": TerminalOutput;
  /** A command in a terminal started. */
  "item/terminalCommand/started": TerminalCommandStarted;
  /** A tool call ended. */
  "item/toolCall/completed": ToolCallCompleted;
  /** A tool call started. */
  "item/toolCall/started": ToolCallStarted;
  /** A tool call changed. */
  "item/updated": ToolCallUpdated;
  /** A message of the user, from this client, another client or the agent's own history. */
  "item/userMessage": UserMessage;
  /** The agent called a method without a permission request, and the policy allowed it. */
  "policy/permitted": Permitted;
  /** An answer was remembered. */
  "policy/remembered": Remembered;
  /** A remembered answer was revoked. */
  "policy/revoked": Revoked;
  /** The client's response to a question was refused. Sent only to that client. */
  "serverRequest/rejected": Rejected;
  /** A question was answered, or needs no answer any more. */
  "serverRequest/resolved": Resolved;
  /** The thread was archived. */
  "thread/archived": ThreadChanged;
  /** The thread and its log are deleted. No event follows. */
  "thread/deleted": ThreadDeleted;
  /** The agent read a file. */
  "thread/file/read": FileTouched;
  /** The agent wrote a file. */
  "thread/file/written": FileWritten;
  /** The thread was forked from another thread. All events before this one are shared with that thread, or end what concerned that thread alone. */
  "thread/forked": ThreadForked;
  /** A subagent was reported or has changed. Contains only what has changed. */
  "thread/lane/updated": LaneUpdated;
  /** The lease moved: another editor, or the daemon, answers the agent's client requests (files, terminals). */
  "thread/lease/moved": LeaseMoved;
  /** Sent to connections that watch the thread list when a thread is created, deleted or changes its list entry. Not an event of the thread: it has no `seq`, and intermediate changes are omitted. */
  "thread/list/changed": ListChanged;
  /** Sent to a connection that missed changes of the thread list and must request it again. The watch continues. */
  "thread/list/reset": ListReset;
  /** Sent to connections that watch the thread list when their own principal has marked threads as seen, on this connection or another one. Not an event of the thread: it has no `seq`. */
  "thread/list/seen": SeenChanged;
  /** Sent to subscribers when the daemon cannot write the thread's log, or can write it again. Until then the thread accepts no changes, and work that is not in the log is lost. Not an event of the thread: it has no `seq`. */
  "thread/log/changed": LogChanged;
  /** Sent to a subscriber in place of events that cannot be read, because their part of the log is damaged. `seq` is the number of the last one. */
  "thread/log/damaged": LogDamaged;
  /** A notice for the user. */
  "thread/notice": Notice;
  /** Turns were dropped and are no longer part of the conversation. */
  "thread/rolledBack": TurnsRolledBack;
  /** A thread was created. */
  "thread/started": ThreadMade;
  /** The status of the thread changed: a turn started, ended, or waits for a user. */
  "thread/status/changed": StatusChanged;
  /** Sent to subscribers with `capabilities.subscribers`: the other clients that follow the thread. Sent at the start and whenever a client joins or leaves, possibly without a change. Not an event of the thread: it has no `seq`. */
  "thread/subscribers/changed": SubscribersChanged;
  /** The prompts that the agent suggests for the next turn changed. They are only shown live, so it has no `seq`: a new subscriber receives the current ones behind the events that it missed. The next prompt, and the end of the agent's process, withdraw them. */
  "thread/suggestions/updated": SuggestionsUpdated;
  /** A user types into a terminal, or, without `by`, the daemon ended the input of a command that waited for long. */
  "thread/terminal/input": TerminalNamed;
  /** The agent, or a user, terminated the command in a terminal. */
  "thread/terminal/killed": TerminalNamed;
  /** The agent released a terminal. */
  "thread/terminal/released": TerminalNamed;
  /** A silent command in a terminal waits for input. The wait ends with the next output, input or exit. */
  "thread/terminal/waiting": TerminalWaiting;
  /** The usage of the agent's context changed. */
  "thread/tokenUsage/updated": TokenUsageUpdated;
  /** The thread was unarchived. */
  "thread/unarchived": ThreadChanged;
  /** Properties of the thread changed. Contains only the changed ones. */
  "thread/updated": ThreadUpdated;
  /** A turn ended. */
  "turn/completed": TurnCompleted;
  /** The unified diff of the whole turn changed. While the turn runs, it is only shown live and has no `seq`. */
  "turn/diff/updated": DiffUpdated;
  /** A turn is being interrupted. */
  "turn/interrupting": TurnInterrupting;
  /** The agent removed a plan, or the daemon did, because the thread has more than 64 plans, or 1 MiB of them. */
  "turn/plan/removed": PlanRemoved;
  /** The agent replaced a whole plan: the one with this id, or the one without an id. An empty plan counts too. */
  "turn/plan/updated": PlanUpdated;
  /** The queue was reordered, paused or continued. */
  "turn/queue/changed": QueueChanged;
  /** A prompt was queued until the turns before it are over, or the prompt of a queued turn was replaced. */
  "turn/queued": TurnChanged;
  /** A turn started. */
  "turn/started": TurnChanged;
  /** A client sent a message during the running turn, and the daemon passed it on to the agent. Once the agent has accepted it, it follows as a message of the turn. */
  "turn/steering": TurnSteering;
}

/** Requests of the daemon. */
export interface ServerRequests {
  /** Asks whether the agent may run a command. */
  "item/commandExecution/requestApproval": { params: Approval; result: QuestionAnswered };
  /** Asks whether the agent may change a file. */
  "item/fileChange/requestApproval": { params: Approval; result: QuestionAnswered };
  /** Asks whether the agent may make any other tool call. */
  "item/permissions/requestApproval": { params: Approval; result: QuestionAnswered };
  /** The agent requests information from the user. */
  "item/tool/requestUserInput": { params: InputWanted; result: QuestionAnswered };
}
