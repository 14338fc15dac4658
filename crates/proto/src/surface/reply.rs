//! The daemon's replies to a [`Request`](super::request::Request). Each surface writes results of its own protocol from
//! them. JSON in a reply is always text of an agent or a client.

use std::sync::Arc;

use acpd_model::event::{Fidelity, LeaseHolder};
use acpd_model::usage::Spent;
use acpd_model::{
    ErrorCode, Event, Failure, ItemId, LaneId, Millis, RawJson, SearchHit, Seq, Summary, ThreadId, TurnId,
};
use acpd_policy::{Explanation, Policy, RememberedRule};
use serde::Serialize;

use crate::projection::{Live, Subagent, TurnsPage};
use crate::thread::{SteerDelivery, TurnView};

/// The reply to a request.
#[derive(Debug, PartialEq)]
pub enum Reply {
    /// The request succeeded and has no result.
    Done,
    /// The result of the agent's `initialize`, unchanged.
    Initialized(RawJson),
    /// All agents that the daemon knows.
    Agents(Vec<AgentInfo>),
    /// The running processes of agents.
    RunningAgents(Vec<RunningProcess>),
    /// The outcome of a test start of an agent.
    AgentReport(Box<AgentReport>),
    /// The agent that was installed.
    AgentInstalled(Box<AgentInfo>),
    /// The folders in a folder.
    Folders(Box<FolderList>),
    /// Absolute path of the folder that was created.
    Folder(String),
    /// The policies in the configuration.
    Policies(Policies),
    /// The configuration file has the setting.
    ConfigChanged(ConfigChanged),
    /// The targets of notifications.
    NotificationTargets(Vec<TargetInfo>),
    /// The results of a test of targets.
    NotificationsTested(Vec<TargetTest>),
    /// A page of the thread list.
    Threads(ListPage<ListedThread>),
    /// The threads were marked as seen. Changes of all threads until then count as seen.
    Seen(Millis),
    /// A page of the principal is in front, with the time in which none was, if that was long.
    Present(Option<Absence>),
    /// What threads have used.
    Usage(Box<UsageReport>),
    /// A page of search results.
    Hits(ListPage<SearchHit>),
    /// A thread that was read without following it.
    Thread(Box<ThreadView>),
    /// A thread that the client now follows.
    Opened(Box<Opened>),
    /// The client no longer follows the thread.
    Closed(Closed),
    /// The turn that was started or queued.
    Turn(TurnView),
    /// The diff of a turn.
    TurnDiff(String),
    /// The input for the running turn was accepted.
    Steered(Steered),
    /// The command line of a user that was started.
    CommandStarted(StartedCommand),
    /// The sign-in in progress.
    SignIn(SignIn),
    /// How well the agent remembers the turns that are left after a rollback.
    RolledBack(Fidelity),
    /// The policy's decision about a tool call.
    Explained(Box<Explanation>),
    /// The subagents of a thread.
    Lanes(Vec<(LaneId, Subagent)>),
    /// The remembered answers of a thread and of its agent.
    Remembered(Vec<RememberedRule>),
    /// The remembered answers that apply to all threads of agents, for each agent that has any.
    AgentAnswers(Vec<AgentAnswers>),
    /// The link that was made.
    ShareCreated(Box<CreatedShare>),
    /// Links that have not expired.
    Shares(Vec<ShareInfo>),
    /// The current holder of the thread's lease.
    Lease(Option<LeaseHolder>),
    /// What retention removed, or would remove.
    Retention(Box<RetentionReport>),
    /// The agent's response, unchanged.
    Agent(RawJson),
}

/// A kind of request, and the type of its reply.
///
/// A handler returns that type, and a surface takes it out of a [`Reply`] again. Requests and replies are enums in between, so that
/// connections and their tests need no type for each.
pub trait Call: 'static {
    /// What the request is answered with.
    type Reply;

    /// Makes the reply of a connection.
    fn reply(reply: Self::Reply) -> Reply;

    /// Takes the answer out of a reply. Fails if it is the reply to another request.
    fn take(reply: Reply) -> Result<Self::Reply, Failure>;

    /// Returns the answer in a reply. Fails if it is the reply to another request.
    fn read(reply: &Reply) -> Result<&Self::Reply, Failure>;
}

/// Returns the failure for a reply to another request. A connection counts its requests, so only a fault of the daemon causes it.
pub(super) fn misplaced() -> Failure {
    Failure::new(ErrorCode::Internal, "internal error: unexpected reply type")
}

impl Reply {
    /// Returns about how many bytes the answer has, if that is known before it is encoded.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the others have no length before they are encoded"
    )]
    pub fn bytes(&self) -> Option<u64> {
        let bytes = match self {
            Self::Done => 0,
            Self::Initialized(result) | Self::Agent(result) => result.get().len(),
            Self::Opened(opened) => opened.live.described_bytes(),
            Self::SignIn(SignIn { lines, .. }) => lines.iter().map(String::len).sum(),
            _ => return None,
        };
        Some(bytes as u64)
    }
}

/// The policies in the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Policies {
    /// The policy for every thread.
    pub daemon: Option<Policy>,
    /// The policy for every thread of the requested agent.
    pub agent: Option<Policy>,
}

/// A setting that the configuration file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigChanged {
    /// Absolute path of the file.
    pub file: String,
    /// Whether the file was written: it may have had the setting already.
    pub changed: bool,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListPage<T> {
    /// What is on this page.
    pub page: Vec<T>,
    /// Cursor of the next page; `None` on the last page.
    pub next: Option<String>,
}

/// A thread that the client no longer follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed {
    /// Whether the client followed the thread before.
    pub was_open: bool,
}

/// Input for the running turn that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steered {
    /// The turn that the input belongs to.
    pub turn: TurnId,
    /// How the input reaches the agent.
    pub delivery: SteerDelivery,
}

/// A command line of a user that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartedCommand {
    /// The command's item.
    pub item: ItemId,
    /// The turn that contains the item: the running one, or one without a prompt.
    pub turn: TurnId,
}

/// What the agent of a thread has printed for a sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// Whether a sign-in is in progress.
    pub in_progress: bool,
    /// The lines with addresses and codes that the agent has printed for it.
    pub lines: Vec<String>,
}

/// The remembered answers that apply to all threads of one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentAnswers {
    /// Name of the agent.
    pub agent: String,
    /// The answers, oldest first.
    pub answers: Vec<RememberedRule>,
}

/// What a run of retention removed, or would remove.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RetentionReport {
    /// Whether the configuration has any limit.
    pub configured: bool,
    /// Whether nothing was removed.
    pub dry_run: bool,
    /// What was removed, in the order of removal; the first [`RETENTION_LISTED`](acpd_model::limits::RETENTION_LISTED) of it.
    pub removed: Vec<Removal>,
    /// Number of removed threads.
    pub threads: u64,
    /// Number of removed attachments of threads that stay.
    pub attachments: u64,
    /// About how many bytes both took.
    pub bytes: u64,
    /// Threads that stay although a limit applies, because they are in use or cannot be read.
    pub kept: u64,
    /// Bytes that the log takes without them.
    pub log_bytes: u64,
}

/// A thread that was removed, or whose attachments were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// Id of the thread.
    pub thread: ThreadId,
    /// The thread's name.
    pub name: Option<String>,
    /// When a turn of it last started or ended.
    pub updated_at: Millis,
    /// The limit that applied.
    pub limit: RetentionLimit,
    /// About how many bytes were removed.
    pub bytes: u64,
}

/// A limit of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionLimit {
    /// The age of threads.
    MaxAge,
    /// The age of archived threads.
    ArchivedMaxAge,
    /// The size of the log.
    MaxSize,
    /// The age of attachments, whose thread stays.
    AttachmentsMaxAge,
}

/// An agent that the daemon knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentInfo {
    /// The agent's name in requests.
    pub id: String,
    /// The agent's name for display.
    pub title: String,
    /// Where the agent comes from: `config`, `registry` or `installed`.
    pub source: &'static str,
    /// Whether the daemon can start the agent.
    pub installed: bool,
    /// Whether it is configured, on `PATH`, installed or part of acpd, so that nothing is downloaded when it starts.
    pub is_set_up: bool,
    /// Whether it is the agent of clients that name none.
    pub is_default: bool,
    /// How its program is found: `path`, `installed`, `npx` or `uvx`.
    pub runs: Option<&'static str>,
    /// Why the daemon cannot start it.
    pub reason: Option<String>,
    /// Its version, if known.
    pub version: Option<String>,
    /// One sentence about the agent.
    pub description: Option<String>,
    /// How the daemon can install the agent: `download`, `npm`, `uv` or `pip`.
    pub installs_by: Option<&'static str>,
    /// The progress of its installation, if that runs now.
    pub installing: Option<InstallProgress>,
}

/// The progress of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallProgress {
    /// What is being done.
    pub step: InstallStep,
    /// Bytes of the download that have arrived.
    pub received_bytes: Option<u64>,
    /// Bytes of the whole download, if known.
    pub total_bytes: Option<u64>,
    /// The last line that the installer wrote.
    pub line: Option<String>,
}

impl InstallProgress {
    /// Creates the progress of a step of which nothing else is known.
    pub fn new(step: InstallStep) -> Self {
        Self {
            step,
            received_bytes: None,
            total_bytes: None,
            line: None,
        }
    }
}

/// A step of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallStep {
    /// acpd downloads an archive.
    Downloading,
    /// acpd unpacks it.
    Unpacking,
    /// npm, uv or pip runs.
    Installing,
}

/// A folder of the daemon's host, and the folders in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderList {
    /// Absolute path of the folder.
    pub path: String,
    /// Absolute path of the folder that contains it.
    pub parent: Option<String>,
    /// The home directory of the daemon's user.
    pub home: String,
    /// Name of the daemon's host.
    pub host: String,
    /// The folders, sorted by name.
    pub folders: Vec<Folder>,
    /// Whether there are more.
    pub truncated: bool,
}

/// A folder in another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Name of the folder.
    pub name: String,
    /// Whether it is the root of a Git repository or worktree.
    pub repository: bool,
}

/// A target of notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetInfo {
    /// Name of the target.
    pub name: String,
    /// Type of the target.
    pub kind: String,
    /// The user of a device; `None` for targets of the configuration.
    pub principal: Option<String>,
    /// Notifications that wait for it.
    pub waiting: usize,
    /// Deliveries that failed since the last one that succeeded.
    pub failures: u32,
    /// Why the last delivery failed.
    pub error: Option<String>,
}

/// The result of a test of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetTest {
    /// Name of the target.
    pub name: String,
    /// Why the test failed; `None` if it succeeded.
    pub error: Option<String>,
}

/// A process of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningProcess {
    /// The agent's name.
    pub agent_type: String,
    /// The process id, once the process has one.
    pub pid: Option<u32>,
    /// The threads that use the process. Empty if it was started only to read the agent's capabilities.
    pub threads: Vec<ThreadId>,
    /// What the process is doing.
    pub state: ProcessState,
    /// Resident memory of the process and its descendants, in bytes.
    pub memory_bytes: u64,
    /// When the process was started, in milliseconds since the epoch.
    pub started_at: Millis,
    /// When its last turn ended, if the process is idle.
    pub idle_since: Option<Millis>,
}

/// What an agent process is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ProcessState {
    /// A thread runs a turn, or the agent has other work to do.
    Busy,
    /// The process has no work.
    Idle,
    /// The process waits for its first session.
    Waiting,
    /// The daemon has asked the process to exit.
    Leaving,
}

/// The outcome of a test start of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentReport {
    /// The agent's name.
    pub agent: String,
    /// The result of its `initialize`; `None` if the agent does not work.
    pub hello: Option<AgentHello>,
    /// Why the agent does not work.
    pub error: Option<String>,
    /// Milliseconds from the start of the process to its response, or to its failure.
    pub millis: u64,
    /// The end of its standard error.
    pub stderr: String,
    /// The first lines of its standard output that are not messages.
    pub stray_lines: Vec<String>,
    /// What the agent's sandbox permits.
    pub sandbox: AgentSandbox,
}

/// The result of an agent's `initialize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentHello {
    /// The version of ACP that the agent chose.
    pub protocol_version: i64,
    /// The agent's name and version, as it sent them.
    pub agent_info: Option<RawJson>,
    /// The agent's capabilities, as it sent them.
    pub agent_capabilities: Option<RawJson>,
    /// The agent's ways to sign in, as it sent them.
    pub auth_methods: Option<RawJson>,
}

/// How an agent is confined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSandbox {
    /// `workspace`, `readonly` or `off`.
    pub mode: &'static str,
    /// Why the agent runs unconfined against the configuration, or why this host cannot confine it.
    pub reason: Option<String>,
    /// Restrictions that the kernel does not enforce.
    pub gaps: Vec<&'static str>,
    /// Readable paths, in addition to the writable ones.
    pub read: Vec<String>,
    /// Writable paths, in addition to the workspace.
    pub write: Vec<String>,
    /// Network access: `on`, `off`, or ports.
    pub network: String,
    /// Paths in the configuration that do not exist.
    pub missing: Vec<String>,
    /// Writable directories in which no new files can be created.
    pub closed: Vec<String>,
}

/// A thread in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedThread {
    /// Id of the thread.
    pub thread: ThreadId,
    /// The thread's name, state and counts, as lists show them.
    pub summary: Summary,
    /// The principal of the connection has seen all changes until then; `None` if it marks no threads.
    pub seen_at: Option<Millis>,
}

/// What threads have used in some days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageReport {
    /// The first day, since 1970 in UTC.
    pub first_day: i64,
    /// Today.
    pub last_day: i64,
    /// The rows: days from the last, others from the most expensive.
    pub rows: Vec<UsageRow>,
    /// What all threads have used.
    pub total: Spent,
    /// Number of rows that are left out.
    pub omitted: usize,
    /// Number of currencies that the total leaves out.
    pub currencies_omitted: usize,
}

/// What a part of the threads has used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// The part.
    pub of: UsageKey,
    /// What it has used.
    pub spent: Spent,
}

/// A part of the threads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UsageKey {
    /// A day since 1970, in UTC.
    Day(i64),
    /// The threads of an agent.
    Agent(String),
    /// One thread, with its name.
    Thread(ThreadId, Option<String>),
    /// The threads in a working directory.
    Folder(String),
}

/// A time in which a user was away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absence {
    /// When a page of the user was last in front.
    pub since: Millis,
    /// When the user came back.
    pub until: Millis,
}

/// How far a principal has seen a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenThread {
    /// The thread.
    pub thread: ThreadId,
    /// The principal has seen all changes until then.
    pub seen_at: Millis,
}

/// A link with which anyone can read a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareInfo {
    /// Id of the link. It is not a secret.
    pub id: String,
    /// The thread that it shares.
    pub thread: ThreadId,
    /// Its name for lists of links.
    pub name: Option<String>,
    /// The client that made it, as the log names clients.
    pub created_by: String,
    /// When it was made, in milliseconds since the epoch.
    pub created_at: Millis,
    /// When it expires, in milliseconds since the epoch.
    pub expires_at: Millis,
}

/// A link, with the secret that it consists of. The secret is stored nowhere. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct CreatedShare {
    /// What is known of the link.
    pub share: ShareInfo,
    /// The secret.
    pub secret: String,
}

impl std::fmt::Debug for CreatedShare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreatedShare")
            .field("share", &self.share)
            .finish_non_exhaustive()
    }
}

/// A thread, with turns if the client requested them.
#[derive(Debug, PartialEq)]
pub struct ThreadView {
    /// The thread's current state.
    pub live: Arc<Live>,
    /// A page of its turns.
    pub turns: Option<TurnsPage>,
}

/// A thread that the client follows from now on.
#[derive(Debug, PartialEq)]
pub struct Opened {
    /// The thread's current state.
    pub live: Arc<Live>,
    /// The last event that is not delivered: delivery starts after it.
    pub cursor: Seq,
    /// A page of its turns, if the client requested them.
    pub turns: Option<TurnsPage>,
    /// The first turn of a new thread.
    pub turn: Option<TurnView>,
    /// How well the agent of a fork remembers the conversation.
    pub fidelity: Option<Fidelity>,
    /// The outcome of each claimed prompt, in the order of the claims.
    pub claimed: Vec<ClaimedPrompt>,
}

/// The outcome of a prompt that an earlier connection sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedPrompt {
    /// The client's own id for the prompt's turn.
    pub client_turn_id: String,
    /// The prompt's turn, if the prompt has reached the thread.
    pub turn: Option<TurnId>,
    /// The event that ended the turn, unless that event comes after the cursor.
    pub settled: Option<Box<Event>>,
}
