// Generated from the table of the app protocol's methods: run `make generate`. Do not edit.

/** Goes up when something is renamed or dropped. */
export const PROTOCOL_VERSION = 1;

/** An object of the Agent Client Protocol, unchanged. */
export type AcpObject = Record<string, unknown>;

/** An agent that the daemon knows. */
export interface Agent {
  /** One sentence about it. */
  description?: string | null;
  /** Its name: `agentType` of a thread. */
  id: string;
  /** Whether it can be started. */
  installed: boolean;
  /** Why it cannot be started. */
  reason?: string | null;
  /** How its program is found: `path`, `installed`, `npx` or `uvx`. */
  runs?: string | null;
  /** `config`, `registry` or `installed`. */
  source: string;
  /** What people call it. */
  title: string;
  version?: string | null;
}

/** What the agent answered. */
export interface AgentAnswered {
  /** Unchanged. */
  result: Json;
}

/** How to sign in. */
export interface AgentAuthenticateParams {
  /** One of the agent's authentication methods. */
  methodId: string;
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** A session that was opened. */
export interface AgentBound {
  how: Binding;
  /** The agent's answer to `initialize`. */
  initialize?: Json | null;
  /** The agent's answer to the request that opened the session. */
  session?: Json | null;
  /** The agent's id for it. */
  sessionId: string;
}

export type AgentDoctorParams = ExamineAgent;

/** What a look at an agent found. */
export interface AgentExamined {
  /** The agent's name. */
  agentType: string;
  /** Why it does not work. */
  error?: string | null;
  /** The result of its `initialize`; nothing if it does not work. */
  hello?: AgentHello | null;
  /** Milliseconds from the start of the process to its answer, or to its failure. */
  millis: number;
  /** What it and its terminals may use. */
  sandbox?: AgentSandbox | null;
  /** The last of its standard error. */
  stderr: string;
  /** First lines of its standard output that are no message. */
  strayLines: string[];
}

/** What an agent says of itself. */
export interface AgentHello {
  /** What it can do. */
  agentCapabilities?: AcpObject | null;
  /** Its name and version. */
  agentInfo?: AcpObject | null;
  /** Ways to sign in. */
  authMethods?: AcpObject[] | null;
  /** The version of ACP that it chose. */
  protocolVersion: number;
}

export type AgentListParams = NoParams;

/** None. */
export interface AgentLogoutParams {
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** A message of the agent. */
export interface AgentNotification {
  method: string;
  /** Of any other method. */
  params?: Json | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
  /** Of `session/update`. */
  update?: Json | null;
}

/** A message that ACP does not know. */
export interface AgentNotifyParams {
  /** Its name, which begins with `_`. */
  method: string;
  /** Passed on as they came. */
  params?: Json | null;
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** A message that ACP does not know. */
export interface AgentRequestParams {
  /** Its name, which begins with `_`. */
  method: string;
  /** Passed on as they came. */
  params?: Json | null;
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

export type AgentRunningParams = NoParams;

/** How an agent is confined. */
export interface AgentSandbox {
  /** Directories that may be written, in which no new files can be made, because acpd's own files are in them. */
  closed: string[];
  /** What the kernel does not enforce. */
  gaps: string[];
  /** Paths of the configuration that do not exist, for which nothing is granted. */
  missing: string[];
  /** `workspace`, `readonly` or `off`. */
  mode: string;
  /** `on`, `off`, or ports with commas between. */
  network: string;
  /** Paths that may be read, beside those that may be written; empty without a sandbox. */
  read: string[];
  /** Why it is not confined although nobody wanted that, or why it cannot be confined here. */
  reason?: string | null;
  /** Paths that may be written, beside the workspace. */
  write: string[];
}

/** Which of the agent's sessions. */
export interface AgentSessionDeleteParams {
  /** The agent's id for it. */
  sessionId: string;
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** Which of the agent's sessions. */
export interface AgentSessionListParams {
  /** Where the agent's last page ended. */
  cursor?: string | null;
  /** Those of this directory. */
  cwd?: string | null;
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** The agents. */
export interface AgentsListed {
  data: Agent[];
}

/** The agents that run. */
export interface AgentsRunning {
  data: RunningAgent[];
}

/** What becomes of an "always" as the answer to a question. */
export type Always = {
  holds: string;
} | {
  notRemembered: string;
};

/** Params of `item/answer`. */
export interface AnswerInput {
  /** By the question's schema; they reach the agent as they are. */
  answers?: Json | null;
  /** Nothing will be said. */
  dismissed?: boolean;
  /** The question. */
  requestId: string;
}

/** A question about what the agent may do. */
export interface Approval {
  /** Ids of the always-options that the agent may remember by itself; acpd keeps no rule in its place. */
  agentRemembers?: string[] | null;
  /** What becomes of an "always". None in threads that were recorded before there was this member. */
  always?: Always | null;
  /** None where the policy asks about something that the agent did not ask for. */
  itemId?: string | null;
  options: PermissionOption[];
  reason?: string | null;
  requestId: string;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** What it would do, as the daemon reads it: this is what the policy decides on and what an answer is about. Empty in threads that were recorded before there was this member. */
  subjects: CallSubject[];
  threadId: string;
  /** The agent's title of the tool call; acpd's own where there is no `itemId`. */
  title: string;
  /** The agent's own words for it. */
  toolCall?: AcpObject | null;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** Params of `item/approve`. */
export interface Approve {
  /** Yes or no. */
  approved?: boolean | null;
  /** One of the agent's options. An answer that `approved` contradicts is refused. */
  optionId?: string | null;
  /** The kind of that option as the person saw it. An answer whose option is of another kind is refused. */
  optionKind?: string | null;
  /** The question. */
  requestId: string;
  /** Makes the answer hold for more than this question. */
  scope?: Scope | null;
}

/** How a session was opened. */
export type Binding = "new" | "load" | "resume";

/** Who did something. */
export type By = {
  kind: "agent";
} | {
  kind: "daemon";
} | {
  kind: "policy";
  /** One sentence. */
  reason?: string | null;
  /** The rule as it was written. */
  rule?: string | null;
  /** Whose policy: `session`, `thread`, `agent` or `daemon`. */
  scope?: string | null;
} | {
  /** The program's name for itself. */
  client: string;
  kind: "client";
  /** Whose credentials. */
  principal: string;
};

/** One part of what a call would do. */
export type CallSubject = {
  /** The program and its arguments. */
  argv: string[];
  /** Absolute path of the directory that it runs in. */
  cwd: string;
  /** Variables set for it. */
  env?: Variable[] | null;
  type: "command";
} | {
  /** Absolute path of the directory that it runs in. */
  cwd: string;
  /** Variables set for it. */
  env?: Variable[] | null;
  /** All of it. */
  line: string;
  type: "commandLine";
} | {
  /** What is done. */
  access: FileAccess;
  /** The call's input as JSON text, where it changes a file and the diff does not show all of it. */
  arguments?: string | null;
  /** The change as a unified diff, where the call shows one. */
  diff?: string | null;
  /** Absolute path, without `..`. */
  path: string;
  /** The file that it leads to through symbolic links, if that is another one. */
  realPath?: string | null;
  type: "file";
} | {
  /** Its host, if that is clear. */
  host?: string | null;
  type: "fetch";
  /** The address. */
  url: string;
} | {
  /** The call's input, as JSON text. */
  arguments?: string | null;
  /** The server's name. */
  server: string;
  /** The tool's name; none if the call does not say which. */
  tool?: string | null;
  type: "mcp";
} | {
  /** The call's input, as JSON text. */
  arguments?: string | null;
  /** ACP's kind of it. */
  kind: string;
  /** Its name for programs, if the agent gives one. */
  name?: string | null;
  type: "tool";
} | {
  type: "unknown";
  /** What is known of it: one sentence for a person, without an end. */
  what: string;
};

/** What a client can do. */
export interface ClientCapabilities {
  /** It answers questions; otherwise it only sees them. */
  approvals?: boolean;
  /** Notifications that it does not want, by their exact names. Their `seq` are left out; whoever answers questions is asked all the same. */
  optOutNotificationMethods?: string[];
  streaming?: boolean;
  /** It wants to know who else follows its threads: `thread/subscribers/changed`. */
  subscribers?: boolean;
  tools?: boolean;
}

/** Which program this is. */
export interface ClientInfo {
  /** Stands beside every decision in the log. */
  name: string;
  title?: string | null;
  version?: string | null;
}

/** The value of a config option. */
export type ConfigValue = boolean | string;

/** How words reach the agent. */
export type Delivery = "steered" | "queued";

/** More of something. */
export interface Delta {
  /** A block that is no text. */
  content?: AcpObject | null;
  itemId: string;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  text: string;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** A diff. */
export interface DiffUpdated {
  /** Unified. */
  diff: string;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** A JSON-RPC error. */
export interface Error {
  /** JSON-RPC's number. */
  code: number;
  data?: ErrorData | null;
  /** One sentence. */
  message: string;
}

/** What programs look at. */
export interface ErrorData {
  /** Stable. */
  code: string;
  /** What explains it further. */
  detail?: string | null;
  /** Whether the same request may succeed later. */
  retryable: boolean;
}

/** Which agent. */
export interface ExamineAgent {
  /** Its name, as in `agent/list`. */
  agentType: string;
}

/** How well the agent remembers what a thread keeps. */
export type Fidelity = "exact" | "recalled";

/** What is done with a file. */
export type FileAccess = "read" | "search" | "edit" | "delete" | "move";

/** A file that changes. */
export interface FileChange {
  /** Unified; once it is known. */
  diff?: string | null;
  /** Absolute. */
  path: string;
  /** Where the daemon wrote the file: what was there before. */
  replaced?: Replaced | null;
  type: FileChangeType;
}

/** A file that has changed. */
export interface FileChangeCompleted {
  /** The client that did it in the daemon's place. */
  by?: By | null;
  /** Unified; once it is known. */
  diff?: string | null;
  itemId: string;
  outcome: ItemOutcome;
  /** Absolute. */
  path: string;
  /** Where the daemon wrote the file: what was there before. */
  replaced?: Replaced | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
  type: FileChangeType;
}

/** A file that is about to change. */
export interface FileChangeStarted {
  /** The client that does it in the daemon's place. */
  by?: By | null;
  /** Unified; once it is known. */
  diff?: string | null;
  itemId: string;
  parentItemId?: string | null;
  /** Absolute. */
  path: string;
  /** Where the daemon wrote the file: what was there before. */
  replaced?: Replaced | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
  type: FileChangeType;
}

export type FileChangeType = "fileChange";

/** A file, and how much of it. */
export interface FileTouched {
  /** The client that did it in the daemon's place. */
  by?: By | null;
  bytes: number;
  path: string;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** A file, how much was written, and what it replaced. */
export interface FileWritten {
  /** The client that did it in the daemon's place. */
  by?: By | null;
  bytes: number;
  path: string;
  replaced?: Replaced | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** As whom a client has come in. */
export interface Identity {
  principal: string;
  role: Role;
}

/** The first params of a connection. */
export interface InitializeParams {
  capabilities?: ClientCapabilities;
  clientInfo: ClientInfo;
}

/** Whom a client has reached, and what holds. */
export interface Initialized {
  capabilities: ServerCapabilities;
  identity: Identity;
  limits: LimitsInForce;
  protocolVersion: number;
  serverInfo: ServerInfo;
}

/** A question for information. */
export interface InputWanted {
  /** The params of ACP's `elicitation/create`. */
  elicitation?: AcpObject | null;
  itemId?: string | null;
  /** `form` or `url`. */
  mode?: string | null;
  requestId: string;
  /** Of a form: a JSON Schema. */
  schema?: Json | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** What the agent says. */
  title: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
  /** Of an address: where the person is to go. */
  url?: string | null;
}

/** One thing inside a turn. `outcome` is `null` while it goes on. */
export type Item = ({
  itemId: string;
  outcome?: ItemOutcome | null;
  /** The item inside which it stands. */
  parentItemId?: string | null;
}) & (Message | ToolCall | FileChange | TerminalCommand);

export type ItemAnswerParams = AnswerInput;

export type ItemApproveParams = Approve;

/** How an item ended. */
export type ItemOutcome = "completed" | "failed" | "interrupted";

/** Any JSON value. */
export type Json = unknown;

/** The connection of an editor that answers what an agent asks of its client. */
export interface LeaseHolder {
  /** The editor's name for itself. */
  client: string;
  /** Names the connection among all others. */
  connection: string;
  /** Whose credentials it showed. */
  principal: string;
}

/** Why a lease moved. */
export type LeaseMove = "opened" | "acquired" | "released" | "left" | "restarted";

/** Who answers from now on. */
export interface LeaseMoved {
  by: By;
  /** None: the daemon itself. */
  holder?: LeaseHolder | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
  why: LeaseMove;
}

/** How grave it is. */
export type Level = "info" | "warning" | "error";

/** The limits in force. */
export interface LimitsInForce {
  /** Connections served at once; further ones are refused, at a local socket they wait. */
  connections: number;
  /** Batches of events that a connection may be behind before it is sent them from the log. */
  liveBatches: number;
  /** Bytes of one message of a client. */
  messageBytes: number;
  /** Batches of events that may wait for one connection. */
  outboundQueue: number;
  /** Seconds between the daemon's pings. */
  pingSecs: number;
  /** Seconds of silence after a ping until the connection is closed. */
  pongSecs: number;
  /** Turns that may wait in a thread. */
  queuedTurns: number;
  requestWindowSecs: number;
  /** Requests of one connection that may be unanswered. */
  requestsInFlight: number;
  /** Requests of one connection within `requestWindowSecs`. */
  requestsPerWindow: number;
  /** Commands that may wait for a thread; beyond them requests are refused with -32001. */
  threadCommands: number;
  /** Seconds that a client may take nothing of what is sent until the connection is closed. */
  writeSecs: number;
}

/** A thread in the list. */
export interface ListChanged {
  /** The thread as `thread/list` has it from now on; `null` if it is deleted. */
  thread?: ThreadSummary | null;
  threadId: string;
  /** When it was told: milliseconds since the epoch. */
  ts: number;
}

/** Nothing but that it is so. */
export type ListReset = Record<string, unknown>;

/** Which threads. */
export interface ListThreads {
  /** Those of this agent. */
  agentType?: string | null;
  /** Archived threads, or (the default) threads that are not archived. */
  archived?: boolean | null;
  /** Where the last page ended. */
  cursor?: string | null;
  /** Those in this directory. */
  cwd?: string | null;
  /** Threads wanted. */
  limit?: number | null;
  /** Those with this in their name. */
  searchTerm?: string | null;
  /** Those of which this is true. */
  status?: ListedStatus | null;
}

/** What a thread is doing, or how its last turn ended. */
export type ListedStatus = "active" | "running" | "waiting" | "idle" | "failed";

/** A message or a thought. */
export interface Message {
  /** ACP content blocks. */
  content?: AcpObject[] | null;
  /** The agent's own id for it. */
  messageId?: string | null;
  /** All of its text. */
  text?: string | null;
  type: MessageType;
}

/** A whole message. */
export interface MessageCompleted {
  /** ACP content blocks. */
  content?: AcpObject[] | null;
  itemId: string;
  /** The agent's own id for it. */
  messageId?: string | null;
  outcome: ItemOutcome;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** All of its text. */
  text?: string | null;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
  type: MessageType;
}

/** A message that begins. */
export interface MessageStarted {
  /** ACP content blocks. */
  content?: AcpObject[] | null;
  itemId: string;
  /** The agent's own id for it. */
  messageId?: string | null;
  parentItemId?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** All of its text. */
  text?: string | null;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
  type: MessageType;
}

/** Who speaks. */
export type MessageType = "userMessage" | "agentMessage" | "agentThought";

/** A thread as it began. */
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

/** None. */
export type NoParams = Record<string, unknown>;

/** Nothing but that it is done. */
export type Nothing = Record<string, unknown>;

/** What a person should know. */
export interface Notice {
  /** Who refused. */
  by?: By | null;
  /** Of a line that is no message: its length. */
  bytes?: number | null;
  code: string;
  detail?: string | null;
  level: Level;
  message: string;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
  /** The agent's own words. */
  update?: Json | null;
}

/** One of the answers that the agent offers. */
export interface PermissionOption {
  /** ACP's `PermissionOptionKind`. */
  kind: string;
  name: string;
  optionId: string;
}

/** What was let pass. */
export interface Permitted {
  by: By;
  /** What the agent called. */
  method: string;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** The path or the command line. */
  subject: string;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** One step of a plan. */
export interface PlanEntry {
  /** What is to be done. */
  content: string;
  /** `high`, `medium` or `low`, or whatever the agent says. */
  priority: string;
  /** `pending`, `in_progress` or `completed`, or whatever the agent says. */
  status: string;
}

/** A plan. */
export interface PlanUpdated {
  entries: PlanEntry[];
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** The policies of the configuration. Each is a preset's name or an object with rules, see `docs/policy.md`. */
export interface PoliciesRead {
  /** The agent's own, which goes before the daemon's. */
  agent?: Json | null;
  /** The daemon's; without one, everything is asked. */
  daemon?: Json | null;
}

/** What is to be explained. */
export interface PolicyExplainParams {
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
  /** An ACP tool call. */
  toolCall: AcpObject;
}

/** What the policy would decide. */
export interface PolicyExplained {
  /** What becomes of it, and why. */
  decision: AcpObject;
  /** Every part of the call, with the rules that match it. */
  subjects: AcpObject[];
}

export type PolicyReadParams = ReadPolicy;

/** None. */
export interface PolicyRememberedListParams {
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** Which answer. */
export interface PolicyRememberedRevokeParams {
  /** Its id in `policy/remembered/list`. */
  id: number;
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** The result of a question, as a client's response has it: `decision`, with `optionId` and `scope` if there is more to say, or `answers`, or `dismissed: true`. */
export interface QuestionAnswered {
  /** Of a question for information. */
  answers?: Json | null;
  /** `accept`, `acceptForSession`, `decline`, `declineForSession` or `cancel`. */
  decision?: string | null;
  /** Nothing will be said. */
  dismissed?: boolean;
  /** One of the agent's options; it says more than `decision`, and must not contradict it. */
  optionId?: string | null;
  /** The kind of that option as the person saw it. An answer whose option is of another kind is refused. */
  optionKind?: string | null;
  /** Makes the answer hold for more than this question. */
  scope?: Scope | null;
}

/** Whose policies. */
export interface ReadPolicy {
  /** The agent whose own policy is wanted as well, as in `agent/list`. */
  agentType?: string | null;
}

/** A response that was not taken. */
export interface Rejected {
  error: Error;
  requestId: string;
  threadId: string;
}

/** An answer that holds. */
export interface Remembered {
  answer: Json;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** An answer that holds. */
export interface RememberedAnswer {
  /** Yes or no. */
  allow: boolean;
  /** Stands for the input that the call must have. */
  arguments?: string | null;
  /** Stands for the kind, tool, locations and diffs that the call must have. */
  call?: string | null;
  /** The directory in which the command must be started. */
  cwd?: string | null;
  id: number;
  /** Stands for the command line that the command must be a part of. */
  line?: string | null;
  /** What it is about. */
  rule: string;
  /** `session`, `thread` or `agent`. */
  scope: string;
}

/** The answers that hold. */
export interface RememberedListed {
  data: RememberedAnswer[];
}

/** What a write replaced. */
export type Replaced = "nothing" | "text" | "unknown";

/** What became of a question. */
export type Resolution = "accepted" | "declined" | "cancelled" | "void";

/** The answer. */
export interface Resolved {
  /** Of a form. */
  answers?: Json | null;
  by: By;
  itemId?: string | null;
  /** The agent's option that was picked. */
  optionId?: string | null;
  /** Its kind. */
  optionKind?: string | null;
  outcome: Resolution;
  /** Why it is void. */
  reason?: string | null;
  requestId: string;
  /** The agent's option that it was told instead: acpd remembers the answer, and the agent is told "once". */
  sentOptionId?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** An answer that holds no longer. */
export interface Revoked {
  id: number;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** What a principal may do; each may do what those before it may. */
export type Role = "observer" | "approver" | "operator" | "owner";

/** The turns after one were dropped. */
export interface RolledBack {
  fidelity: Fidelity;
}

/** A process of an agent. */
export interface RunningAgent {
  /** The agent's name. */
  agentType: string;
  /** Since when it is idle. */
  idleSince?: number | null;
  /** Resident memory of it and of what it has started, in bytes. */
  memoryBytes: number;
  /** The process's id; `null` while it starts. */
  pid?: number | null;
  /** When it was started, milliseconds since the epoch. */
  startedAt: number;
  /** `busy`: it is in a turn; `idle`; `waiting`: for its first session; `leaving`: it was told to go. */
  state: string;
  /** The threads that use it: several where it is shared, none while it waits for its first session. */
  threads: string[];
}

/** Scope of a policy or a remembered answer, from the innermost to the outermost. */
export type Scope = "session" | "thread" | "agent" | "daemon";

/** What is looked for. */
export interface SearchThreads {
  /** Where the last page ended. */
  cursor?: string | null;
  /** Hits wanted, at most 100. */
  limit?: number | null;
  /** Words that must all be in one text, whatever their case and accents; those in double quotes one after the other. The last one, if it is not in quotes, stands for every word that begins so. At most 1 KiB. */
  query: string;
  /** In this thread alone; if it is left out, in all of them. */
  threadId?: string | null;
}

/** What the daemon can do. */
export interface ServerCapabilities {
  approvals: boolean;
  streaming: boolean;
  tools: boolean;
}

/** The daemon. */
export interface ServerInfo {
  name: string;
  version: string;
}

/** What became of a deleted thread's session in the agent. */
export type SessionDeleted = "deleted" | "failed" | "notAsked";

/** What the agent's session is opened with, beside what the thread was made with. */
export interface SessionParams {
  /** Its directory; `null`: that of the thread. */
  cwd?: string | null;
  /** The names of further MCP servers. */
  mcpServers: (string | null)[];
}

/** A piece of a snippet. */
export interface SnippetPiece {
  /** Whether it is what was looked for. */
  hit: boolean;
  text: string;
}

/** What a new thread is. */
export interface StartThread {
  /** Further directories of the workspace, absolute. */
  additionalDirectories?: string[];
  /** Name of an agent, as in `agent/list`. */
  agentType: string;
  /** The client's own id for the first turn. */
  clientTurnId?: string | null;
  /** Config options to begin with, by id. */
  config?: Record<string, ConfigValue>;
  /** Absolute working directory. */
  cwd: string;
  /** The first turn as ACP content blocks. */
  input?: AcpObject[] | null;
  /** ACP `McpServer` objects, passed on to the agent. */
  mcpServers?: AcpObject[];
  /** The client's own data. */
  metadata?: Json | null;
  /** The mode to begin in: a mode's id. */
  mode?: string | null;
  /** A name for people. */
  name?: string | null;
  /** A permission policy of its own: a preset's name, or an object. Needs the role owner. */
  policy?: Json | null;
  /** The client's own grouping. */
  projectId?: string | null;
  /** The session of the agent to go on with, as `agent/session/list` has it, in place of a new one: what was said there is taken over, if the agent tells it. `conflict` if a thread goes on with it already. */
  sessionId?: string | null;
  /** The first turn as plain text; it stands before `input`. */
  text?: string | null;
}

/** A thread's status. */
export interface StatusChanged {
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  status: ThreadStatus;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** Somebody who follows a thread. */
export interface Subscriber {
  /** The program's name for itself. */
  client: string;
  /** Whether it is asked what the agent asks: it says that it answers, and has the role for it. */
  mayAnswer: boolean;
  /** Whose credentials. */
  principal: string;
}

/** Who else follows a thread. */
export interface SubscribersChanged {
  /** How many more there are. */
  more: number;
  /** All others; of more than 32 those who came first. Those who are asked stand before those who only look. */
  others: Subscriber[];
  threadId: string;
  /** When it was told: milliseconds since the epoch. */
  ts: number;
}

/** A command in a terminal. */
export interface TerminalCommand {
  args?: string[] | null;
  command?: string | null;
  cwd?: string | null;
  /** Once it has exited by itself. */
  exitCode?: number | null;
  /** The end of what it wrote. */
  output?: string | null;
  /** All that was kept of what it wrote, at `GET /api/blobs/{outputBlob}`, where `output` is only the end of that. */
  outputBlob?: string | null;
  /** The name of the signal that ended it. */
  signal?: string | null;
  terminalId: string;
  /** Whether it wrote more than was kept. */
  truncated?: boolean | null;
  type: TerminalCommandType;
}

/** A command that has ended. */
export interface TerminalCommandCompleted {
  args?: string[] | null;
  /** The client that did it in the daemon's place. */
  by?: By | null;
  command?: string | null;
  cwd?: string | null;
  /** Once it has exited by itself. */
  exitCode?: number | null;
  itemId: string;
  outcome: ItemOutcome;
  /** The end of what it wrote. */
  output?: string | null;
  /** All that was kept of what it wrote, at `GET /api/blobs/{outputBlob}`, where `output` is only the end of that. */
  outputBlob?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** The name of the signal that ended it. */
  signal?: string | null;
  terminalId: string;
  threadId: string;
  /** Whether it wrote more than was kept. */
  truncated?: boolean | null;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
  type: TerminalCommandType;
}

/** A command that begins. */
export interface TerminalCommandStarted {
  args?: string[] | null;
  /** The client that did it in the daemon's place. */
  by?: By | null;
  command?: string | null;
  cwd?: string | null;
  /** Once it has exited by itself. */
  exitCode?: number | null;
  itemId: string;
  /** The end of what it wrote. */
  output?: string | null;
  /** All that was kept of what it wrote, at `GET /api/blobs/{outputBlob}`, where `output` is only the end of that. */
  outputBlob?: string | null;
  parentItemId?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** The name of the signal that ended it. */
  signal?: string | null;
  terminalId: string;
  threadId: string;
  /** Whether it wrote more than was kept. */
  truncated?: boolean | null;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
  type: TerminalCommandType;
}

export type TerminalCommandType = "terminalCommand";

/** A terminal. */
export interface TerminalNamed {
  /** The client that did it in the daemon's place. */
  by?: By | null;
  itemId?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  terminalId: string;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** What a command wrote. */
export interface TerminalOutput {
  itemId: string;
  /** The event's number; none if it is only shown live. */
  seq?: number | null;
  /** Bytes before `text` that were left out. */
  skippedBytes?: number | null;
  terminalId: string;
  text: string;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  turnId?: string | null;
}

/** A text that was found. */
export interface TextFound {
  itemId?: string | null;
  kind: TextKind;
  /** The thread's name. */
  name?: string | null;
  /** The event that has the text. */
  seq: number;
  /** What is shown of the text: one line, in pieces. An ellipsis stands where something is left out. */
  snippet: SnippetPiece[];
  threadId: string;
  /** When that was, in milliseconds since the epoch. */
  ts: number;
  turnId?: string | null;
}

/** What a text is. */
export type TextKind = "userMessage" | "agentMessage" | "toolCall" | "command" | "path";

/** A page of what was found. */
export interface TextsFound {
  data: TextFound[];
  /** Leads to the next page. */
  nextCursor?: string | null;
}

/** A thread and its state. */
export interface Thread {
  /** Further directories of the workspace. */
  additionalDirectories: string[];
  /** Its agent, as in `agent/list`. */
  agentType: string;
  /** Whether it was put away. */
  archived: boolean;
  /** ACP's update with the agent's commands. */
  availableCommandsUpdate?: AcpObject | null;
  /** ACP's `SessionConfigOption` objects. */
  configOptions?: AcpObject[] | null;
  /** When it was made, or split off another one: milliseconds since the epoch. */
  createdAt: number;
  /** Leads to older turns. */
  cursor?: string | null;
  /** Absolute working directory. */
  cwd: string;
  /** Its id. */
  id: string;
  /** How the last turn ended that is over; not there if there was none, or if it was dropped. */
  lastTurnStatus?: TurnStatus | null;
  /** Its last event. */
  latestSeq: number;
  /** Whose editor answers what the agent asks of its client; nobody's: the daemon does. */
  lease?: LeaseHolder | null;
  /** The client's own data. */
  metadata?: Json | null;
  /** The agent's mode. */
  modeId?: string | null;
  /** ACP's `SessionModeState`, as it was when the session was opened. */
  modes?: AcpObject | null;
  /** A name for people: given by one, or by the agent. */
  name?: string | null;
  /** Questions that are open. */
  pendingRequestIds: string[];
  /** The latest plan. */
  plan?: PlanEntry[] | null;
  /** The thread's own permission policy. */
  policy?: Json | null;
  /** The client's own grouping. */
  projectId?: string | null;
  /** Turns that wait. */
  queuedTurnIds: string[];
  /** The agent's id for its session. */
  sessionId?: string | null;
  status: ThreadStatus;
  tokenUsage?: TokenUsage | null;
  /** Turns that are part of the conversation. */
  turnCount: number;
  /** The turn that runs. */
  turnId?: string | null;
  /** The latest turns, oldest first, if they were asked for. */
  turns?: Turn[] | null;
  /** When a turn last began or ended: milliseconds since the epoch. */
  updatedAt: number;
}

/** None. */
export interface ThreadArchiveParams {
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** Who did it. */
export interface ThreadChanged {
  by: By;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** Which option. */
export interface ThreadConfigSetParams {
  /** One of the agent's options. */
  configId: string;
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
  /** One of a select option's values, or a boolean. */
  value: ConfigValue;
}

/** None. */
export interface ThreadDeleteParams {
  /** The thread. */
  threadId: string;
}

/** A thread that is no more. */
export interface ThreadDeleted {
  by: By;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  session: SessionDeleted;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** What is taken over. */
export interface ThreadForkParams {
  /** A name for the new thread; it has the other one's otherwise. */
  name?: string | null;
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
  /** The last turn that is taken over; if it is left out, the last that is over. */
  turnId?: string | null;
}

/** Where a thread comes from. */
export interface ThreadForked {
  by: By;
  fidelity: Fidelity;
  fromThreadId: string;
  /** The last turn that was taken over. */
  lastTurnId?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** The fork of the agent's session. */
  sessionId?: string | null;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** The thread that was split off. */
export interface ThreadForkedResult {
  fidelity: Fidelity;
  thread: Thread;
}

/** One thread. */
export interface ThreadFound {
  thread: Thread;
}

export type ThreadListParams = ListThreads;

export type ThreadListUnwatchParams = NoParams;

export type ThreadListWatchParams = NoParams;

/** A new thread. */
export interface ThreadMade {
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  thread: NewThread;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** The client's own data. */
export interface ThreadMetadataSetParams {
  /** At most 64 KiB; `null` takes them away. */
  metadata: Json;
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** Which mode. */
export interface ThreadModeSetParams {
  /** One of the agent's modes. */
  modeId: string;
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** What the thread is to be called. */
export interface ThreadNameSetParams {
  /** At most 1024 bytes; `null` gives the name back. */
  name: string | null;
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** Which policy. */
export interface ThreadPolicySetParams {
  /** A preset's name or an object; nothing, or `null`, takes the thread's own policy away. */
  policy?: Json | null;
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** What of a thread. */
export interface ThreadReadParams {
  /** Where the last page ended: `thread.cursor`. */
  cursor?: string | null;
  /** With its turns and items. */
  includeTurns?: boolean | null;
  /** Turns wanted. */
  limit?: number | null;
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** Where to begin to follow. */
export interface ThreadResumeParams {
  /** The last event that the client has seen; 0 for none. */
  after?: number | null;
  /** Turns wanted in the result, if there is no `after`. */
  limit?: number | null;
  /** The thread. */
  threadId: string;
}

/** The thread that is followed now. */
export interface ThreadResumed {
  /** Its last event. What comes after it follows as notifications. */
  latestSeq: number;
  thread: Thread;
}

/** What is kept. */
export interface ThreadRollbackParams {
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
  /** The last turn that is kept; `null` keeps none. */
  turnId: string | null;
}

export type ThreadSearchParams = SearchThreads;

export type ThreadStartParams = StartThread;

/** The new thread. */
export interface ThreadStarted {
  thread: Thread;
  /** The first turn, if there was one in the params. */
  turn?: Turn | null;
}

/** Whether something goes on in a thread. */
export type ThreadStatus = "idle" | "running" | "waiting" | "deleting";

/** What a thread is. */
export interface ThreadSummary {
  /** Its agent, as in `agent/list`. */
  agentType: string;
  /** Whether it was put away. */
  archived: boolean;
  /** When it was made, or split off another one: milliseconds since the epoch. */
  createdAt: number;
  /** Absolute working directory. */
  cwd: string;
  /** Its id. */
  id: string;
  /** How the last turn ended that is over; not there if there was none, or if it was dropped. */
  lastTurnStatus?: TurnStatus | null;
  /** The client's own data. */
  metadata?: Json | null;
  /** A name for people: given by one, or by the agent. */
  name?: string | null;
  /** The client's own grouping. */
  projectId?: string | null;
  status: ThreadStatus;
  /** Turns that are part of the conversation. */
  turnCount: number;
  /** When a turn last began or ended: milliseconds since the epoch. */
  updatedAt: number;
}

/** None. */
export interface ThreadUnarchiveParams {
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** None. */
export interface ThreadUnsubscribeParams {
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** What changed. */
export interface ThreadUpdated {
  /** A session was opened. */
  agent?: AgentBound | null;
  /** ACP's `available_commands_update`. */
  availableCommandsUpdate?: AcpObject | null;
  /** Who changed the name or the data. */
  by?: By | null;
  /** ACP's `config_option_update`. */
  configOptionUpdate?: AcpObject | null;
  /** The client's own data; `null` if they were taken away. */
  metadata?: Json | null;
  /** The mode. */
  modeId?: string | null;
  /** The model. */
  modelId?: string | null;
  /** The thread's name; `null` if it has none any more. */
  name?: string | null;
  /** The thread's own policy. */
  policy?: Json | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  /** A client wants the agent's session to be opened otherwise. */
  session?: SessionParams | null;
  /** ACP's `session_info_update`. */
  sessionInfo?: AcpObject | null;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** A page of threads. */
export interface ThreadsListed {
  data: ThreadSummary[];
  /** Leads to the next page. */
  nextCursor?: string | null;
}

/** How full the agent's context is. */
export interface TokenUsage {
  /** ACP's `Cost`. */
  cost?: AcpObject | null;
  /** Tokens that fit. */
  size?: number | null;
  /** Tokens in the context. */
  used?: number | null;
}

/** How full the context is. */
export interface TokenUsageUpdated {
  cost?: AcpObject | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  size?: number | null;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
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
  /** What the agent calls it. */
  title?: string | null;
  /** ACP's tool call with everything known of it. */
  toolCall?: AcpObject | null;
  /** The agent's id for it. */
  toolCallId?: string | null;
  type: ToolCallType;
}

/** A tool call that is over. */
export interface ToolCallCompleted {
  itemId: string;
  /** ACP's `ToolKind`. */
  kind?: string | null;
  /** The same as `title`. */
  name?: string | null;
  outcome: ItemOutcome;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  status: ToolStatus;
  threadId: string;
  /** What the agent calls it. */
  title?: string | null;
  /** ACP's tool call with everything known of it. */
  toolCall?: AcpObject | null;
  /** The agent's id for it. */
  toolCallId?: string | null;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
  type: ToolCallType;
}

/** A tool call that begins. */
export interface ToolCallStarted {
  itemId: string;
  /** ACP's `ToolKind`. */
  kind?: string | null;
  /** The same as `title`. */
  name?: string | null;
  parentItemId?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  status: ToolStatus;
  threadId: string;
  /** What the agent calls it. */
  title?: string | null;
  /** ACP's tool call with everything known of it. */
  toolCall?: AcpObject | null;
  /** The agent's id for it. */
  toolCallId?: string | null;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
  type: ToolCallType;
}

export type ToolCallType = "toolCall";

/** What changed about a tool call. */
export interface ToolCallUpdated {
  itemId: string;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  status: ToolStatus;
  threadId: string;
  /** ACP's `tool_call_update`: what is left out is unchanged. */
  toolCall?: AcpObject | null;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** How far a tool call is. */
export type ToolStatus = "pending" | "in_progress" | "completed" | "failed";

/** One prompt and everything that the agent did until it stopped. */
export interface Turn {
  /** The client's own id for it. */
  clientTurnId?: string | null;
  /** Milliseconds since the epoch. */
  completedAt?: number | null;
  /** Why it failed: one sentence. */
  error?: string | null;
  /** Its id. What came outside of any turn stands in one without an id. */
  id?: string | null;
  /** Whether it was held in the agent's session outside of acpd, and was taken over from there. It is over already. */
  imported?: boolean | null;
  /** What is in it, in the order in which it began; only where turns were asked for. */
  items?: Item[] | null;
  /** Milliseconds since the epoch. */
  startedAt?: number | null;
  status: TurnStatus;
  /** Why the agent stopped, in its own word. */
  stopReason?: string | null;
  /** What the agent says that it took. */
  tokenUsage?: AcpObject | null;
}

/** A turn. */
export interface TurnChanged {
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  turn: Turn;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** A turn that has ended. */
export interface TurnCompleted {
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  tokenUsage?: AcpObject | null;
  /** Milliseconds since the epoch. */
  ts: number;
  turn: Turn;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** Which turn. */
export interface TurnInterruptParams {
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
  /** The one that runs, if it is left out. */
  turnId?: string | null;
}

/** Who stops it. */
export interface TurnInterrupting {
  by: By;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** What a turn says: at least one of `text` and `input`. */
export interface TurnStartParams {
  /** The client's own id for the turn. */
  clientTurnId?: string | null;
  /** ACP content blocks. */
  input?: AcpObject[] | null;
  /** Plain text; it stands before `input`. */
  text?: string | null;
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
}

/** The turn that runs or waits. */
export interface TurnStartedResult {
  turn: Turn;
}

/** How a turn stands. */
export type TurnStatus = "queued" | "running" | "completed" | "interrupted" | "failed" | "refused" | "limited";

/** What is said into the turn. */
export interface TurnSteerParams {
  /** Plain text, or ACP content blocks. */
  content: Words;
  /** The thread; if it is left out, the one that this connection started or resumed last. */
  threadId?: string;
  /** The turn that is meant: `conflict` if it is not the one that runs. */
  turnId?: string | null;
}

/** What became of the words. */
export interface TurnSteered {
  delivery: Delivery;
  /** The turn that they are part of. */
  turnId: string;
}

/** Words for the turn. */
export interface TurnSteering {
  by: By;
  /** ACP content blocks. */
  content: AcpObject[];
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  text: string;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** What is kept. */
export interface TurnsRolledBack {
  by: By;
  fidelity: Fidelity;
  /** The last turn that is kept; `null` if none is. */
  lastKeptTurnId?: string | null;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** What became of the subscription. */
export interface Unsubscribed {
  /** `unsubscribed` or `notSubscribed`. */
  status: string;
}

/** Words of a person. */
export interface UserMessage {
  /** ACP content blocks. */
  content: AcpObject[];
  itemId: string;
  /** The event's number in its thread: 1, 2, 3 … without gaps. */
  seq: number;
  text: string;
  threadId: string;
  /** Milliseconds since the epoch. */
  ts: number;
  /** The turn inside which it is. */
  turnId?: string | null;
}

/** An environment variable. */
export interface Variable {
  /** Its name. */
  name: string;
  /** Its value. */
  value: string;
}

/** Plain text, or ACP content blocks; read as the latter. */
export type Words = string | AcpObject[];

/** What a client may ask for. */
export interface Methods {
  /** Signs in to the agent. Returns once signed in; times out after 10 minutes. */
  "agent/authenticate": { params: AgentAuthenticateParams; result: Nothing };
  /** Starts the agent, sends `initialize`, and stops it. Creates no thread and no session. Returns the findings even if the agent fails. Times out after `agent_start_secs`. */
  "agent/doctor": { params: AgentDoctorParams; result: AgentExamined };
  /** Lists the agents that the daemon can start, and why it cannot start the others: the configured ones first, then those of the registry and those that are installed. */
  "agent/list": { params: AgentListParams; result: AgentsListed };
  /** Signs out of the agent. */
  "agent/logout": { params: AgentLogoutParams; result: Nothing };
  /** Sends the agent a notification that ACP does not know; its name begins with `_`. `conflict` if the agent is not running. */
  "agent/notify": { params: AgentNotifyParams; result: Nothing };
  /** Sends the agent a request that ACP does not know; its name begins with `_`. */
  "agent/request": { params: AgentRequestParams; result: AgentAnswered };
  /** Lists running agent processes with their memory use, busy ones first. */
  "agent/running": { params: AgentRunningParams; result: AgentsRunning };
  /** Deletes one of the sessions that the agent keeps. */
  "agent/session/delete": { params: AgentSessionDeleteParams; result: Nothing };
  /** Lists the sessions that the agent keeps. */
  "agent/session/list": { params: AgentSessionListParams; result: AgentAnswered };
  /** The first request of a connection; the notification `initialized` follows its result. */
  "initialize": { params: InitializeParams; result: Initialized };
  /** Answers an elicitation. */
  "item/answer": { params: ItemAnswerParams; result: Nothing };
  /** Answers a permission request. `optionId` picks one of the agent's options; `approved` alone the first once-option of that kind. */
  "item/approve": { params: ItemApproveParams; result: Nothing };
  /** Returns the policy's decision about a tool call and every matching rule. */
  "policy/explain": { params: PolicyExplainParams; result: PolicyExplained };
  /** Returns the configured permission policies: the daemon's and an agent's. A thread's policy is part of the thread. */
  "policy/read": { params: PolicyReadParams; result: PoliciesRead };
  /** Lists remembered answers. */
  "policy/remembered/list": { params: PolicyRememberedListParams; result: RememberedListed };
  /** Revokes a remembered answer. One that holds for the agent only the owner takes back. */
  "policy/remembered/revoke": { params: PolicyRememberedRevokeParams; result: Nothing };
  /** Archives the thread: `thread/list` omits it, it accepts no turns, and its agent stops. Returns `conflict` while a turn runs. Archiving an archived thread has no effect. */
  "thread/archive": { params: ThreadArchiveParams; result: Nothing };
  /** Sets one of the agent's options. Answered once the agent has agreed. */
  "thread/config/set": { params: ThreadConfigSetParams; result: Nothing };
  /** Deletes the thread and its log, for good; before it, the agent's session where the agent can do that. `conflict` while a turn runs. Answered when nothing is left; those who follow the thread get `thread/deleted` as its last notification. */
  "thread/delete": { params: ThreadDeleteParams; result: Nothing };
  /** Splits a new thread off: it begins with this one's events up to the end of `turnId`, and has its permission policy as it is now. Where that is the whole thread and the agent can fork its session, the new one goes on with that fork; else its agent is told the conversation with the first prompt. The caller is subscribed, from the end of what was copied on. `conflict` if the turn is not over. */
  "thread/fork": { params: ThreadForkParams; result: ThreadForkedResult };
  /** Lists threads, the newest first. */
  "thread/list": { params: ThreadListParams; result: ThreadsListed };
  /** Stops watching the thread list. */
  "thread/list/unwatch": { params: ThreadListUnwatchParams; result: Nothing };
  /** Sends `thread/list/changed` to this connection when any thread is created, deleted or listed differently, even threads that it does not follow. Ask for the list after that, and for a thread of which a change comes while the list is on its way, let the change win. */
  "thread/list/watch": { params: ThreadListWatchParams; result: Nothing };
  /** Replaces the client's own data as a whole; `null` takes them away. */
  "thread/metadata/set": { params: ThreadMetadataSetParams; result: Nothing };
  /** Sets the agent's mode. Answered once the agent has agreed. */
  "thread/mode/set": { params: ThreadModeSetParams; result: Nothing };
  /** Names the thread. Such a name wins over the agent's titles; `null` gives it back. `thread/updated` has the name that the thread is called by from then on. */
  "thread/name/set": { params: ThreadNameSetParams; result: Nothing };
  /** Gives the thread a permission policy of its own, or takes it away. */
  "thread/policy/set": { params: ThreadPolicySetParams; result: Nothing };
  /** Reads a thread without following it and without starting its agent. */
  "thread/read": { params: ThreadReadParams; result: ThreadFound };
  /** Subscribes. With `after`, every later event follows as the notification it was, without gap or repeat; without it, the result has the thread's latest turns. Open questions are asked again either way. Starts the agent if it is gone and the caller may do that. */
  "thread/resume": { params: ThreadResumeParams; result: ThreadResumed };
  /** Drops the turns after `turnId` from the conversation: no view shows them, no agent is told of them, the log and exports keep them. The agent's session is let go; the next prompt opens a new one, which is told what is kept. `conflict` while a turn runs, `unsupported` where agents are told nothing (`recall_bytes = 0`). */
  "thread/rollback": { params: ThreadRollbackParams; result: RolledBack };
  /** Finds texts of all threads, archived ones too: what people and agents said, titles of tool calls, commands, and paths of files. The newest come first. A thread's texts are found from the moment their item is complete. */
  "thread/search": { params: ThreadSearchParams; result: TextsFound };
  /** Makes a thread, starts its agent and opens a session. Answered once the agent is ready; `thread/started` comes at once, and the caller is subscribed from there on. `mode` and `config` are set before the first turn: if one of them is refused, so is the request, and the thread is there all the same. */
  "thread/start": { params: ThreadStartParams; result: ThreadStarted };
  /** Unarchives the thread. */
  "thread/unarchive": { params: ThreadUnarchiveParams; result: ThreadFound };
  /** Ends the subscription. The agent keeps running. */
  "thread/unsubscribe": { params: ThreadUnsubscribeParams; result: Unsubscribed };
  /** Ends a turn: the agent is told to stop, and what it asked is answered with `cancelled`. `turn/completed` comes with the agent's answer. If the agent or the daemon ends first, or `cancel_secs` pass without an answer, the turn is `interrupted` and a notice says why. A turn that waits is taken back. */
  "turn/interrupt": { params: TurnInterruptParams; result: Nothing };
  /** Sends a prompt. While a turn runs, the next ones wait. The same `clientTurnId` again is the same turn. */
  "turn/start": { params: TurnStartParams; result: TurnStartedResult };
  /** Says something in the middle of the running turn: `steered` if the agent takes the words into it, which then are a message of that turn; else `queued`: they are a turn of their own, after those that wait. */
  "turn/steer": { params: TurnSteerParams; result: TurnSteered };
}

/** What the daemon sends by itself. */
export interface Notifications {
  /** An unknown message from the agent, unchanged. */
  "agent/notification": AgentNotification;
  /** More of a message. */
  "item/agentMessage/delta": Delta;
  /** More of a thought. */
  "item/agentThought/delta": Delta;
  /** A message or a thought is whole. */
  "item/completed": MessageCompleted;
  /** A file has changed, or has not. */
  "item/fileChange/completed": FileChangeCompleted;
  /** A file is about to change. */
  "item/fileChange/started": FileChangeStarted;
  /** A message or a thought begins. */
  "item/started": MessageStarted;
  /** A command has ended. */
  "item/terminalCommand/completed": TerminalCommandCompleted;
  /** A command wrote something. What is only shown live has no `seq`. */
  "item/terminalCommand/output": TerminalOutput;
  /** A command begins. */
  "item/terminalCommand/started": TerminalCommandStarted;
  /** A tool call is over. */
  "item/toolCall/completed": ToolCallCompleted;
  /** A tool call begins. */
  "item/toolCall/started": ToolCallStarted;
  /** More is known of a tool call. */
  "item/updated": ToolCallUpdated;
  /** What a person said; also when another client, or the agent's own history, put it there. */
  "item/userMessage": UserMessage;
  /** The policy let the agent do something that it had not asked for. */
  "policy/permitted": Permitted;
  /** An answer was remembered. */
  "policy/remembered": Remembered;
  /** A remembered answer was revoked. */
  "policy/revoked": Revoked;
  /** The client's response to a question was not taken. Goes to that client alone. */
  "serverRequest/rejected": Rejected;
  /** A question is answered, or is none any more. */
  "serverRequest/resolved": Resolved;
  /** The thread was archived. */
  "thread/archived": ThreadChanged;
  /** The thread and its log are deleted. Nothing follows. */
  "thread/deleted": ThreadDeleted;
  /** The agent read a file. */
  "thread/file/read": FileTouched;
  /** The agent wrote a file. */
  "thread/file/written": FileWritten;
  /** The thread was split off another one: all before this is that thread's. */
  "thread/forked": ThreadForked;
  /** What the agent asks of its client, files and terminals, is answered by another editor, or by the daemon. */
  "thread/lease/moved": LeaseMoved;
  /** To those who watch the list of threads: a thread is new, is no more, or is listed differently. It is no event of the thread: it has no `seq`, and what happened in between is left out. */
  "thread/list/changed": ListChanged;
  /** To one of those: changes were missed, so that the list is to be asked for again. The watch goes on. */
  "thread/list/reset": ListReset;
  /** What a person should know. */
  "thread/notice": Notice;
  /** Turns were dropped: they are no longer part of the conversation. */
  "thread/rolledBack": TurnsRolledBack;
  /** A thread was made. */
  "thread/started": ThreadMade;
  /** A turn begins, ends, or waits for a person. */
  "thread/status/changed": StatusChanged;
  /** To a subscriber that offers `capabilities.subscribers`: who else follows the thread. It comes at the beginning, and when somebody came or left; it may say the same again. It is no event of the thread: it has no `seq`. */
  "thread/subscribers/changed": SubscribersChanged;
  /** The agent ended a terminal's command. */
  "thread/terminal/killed": TerminalNamed;
  /** The agent released a terminal. */
  "thread/terminal/released": TerminalNamed;
  /** The agent's context fills up. */
  "thread/tokenUsage/updated": TokenUsageUpdated;
  /** The thread was unarchived. */
  "thread/unarchived": ThreadChanged;
  /** Something about the thread changed; only what did is there. */
  "thread/updated": ThreadUpdated;
  /** A turn has ended. */
  "turn/completed": TurnCompleted;
  /** All changes of files in the turn so far. */
  "turn/diff/updated": DiffUpdated;
  /** A turn is being stopped. */
  "turn/interrupting": TurnInterrupting;
  /** The whole plan; it replaces the one before, also when it is empty. */
  "turn/plan/updated": PlanUpdated;
  /** A turn waits for those before it. */
  "turn/queued": TurnChanged;
  /** A turn begins. */
  "turn/started": TurnChanged;
  /** Somebody has something to say in the middle of a turn; the agent was told. Once it has taken the words, they come as a message of the turn. */
  "turn/steering": TurnSteering;
}

/** What the daemon asks. */
export interface ServerRequests {
  /** May the agent run a command? */
  "item/commandExecution/requestApproval": { params: Approval; result: QuestionAnswered };
  /** May the agent change a file? */
  "item/fileChange/requestApproval": { params: Approval; result: QuestionAnswered };
  /** May the agent do something else? */
  "item/permissions/requestApproval": { params: Approval; result: QuestionAnswered };
  /** The agent wants to know something. */
  "item/tool/requestUserInput": { params: InputWanted; result: QuestionAnswered };
}
