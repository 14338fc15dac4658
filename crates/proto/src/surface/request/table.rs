//! Every request of clients, in one row each: what it consists of, and what the daemon does with requests of its kind.
//!
//! In: a request. Out: its kind, and the properties of that. Owns: nothing. Never: looks anything up. So a surface knows the
//! properties of a request before it reads the params.

use acpd_model::event::{Fidelity, LeaseHolder};
use acpd_model::{Failure, LaneId, Millis, RawJson, RequestId, Role, SearchHit, ThreadId, TurnId};
use acpd_policy::{AGENT_IDS, Explanation, RememberedRule, Scope};

use super::params::{
    ConfigChange, ForkThread, ListThreads, OpenThread, ReadUsage, RunRetention, SearchThreads, SeeThreads,
    StartThread, StartTurn, Turns,
};
use super::properties::{AnswerSize, Order, SharedAccess};
use crate::agent::{AgentRequest, PassthroughMethod};
use crate::projection::Subagent;
use crate::surface::reply::{
    Absence, AgentAnswers, AgentInfo, AgentReport, Call, Closed, ConfigChanged, CreatedShare, FolderList,
    ListPage, ListedThread, Opened, Policies, Reply, RetentionReport, RunningProcess, ShareInfo, SignIn,
    StartedCommand, Steered, TargetInfo, TargetTest, ThreadView, UsageReport, misplaced,
};
use crate::thread::{Answer, Change, InterruptOptions, QueueChange, TerminalAct, TurnView};

requests! {
    requests {
        /// Reads the result of `initialize` of the connection's agent.
        // What the agent has declared, as long as its line. A link gets the answer of the daemon itself: no agent is asked.
        Initialize -> Initialized(RawJson): Observer, Free, Late, Limited;

        /// Lists the agents that the daemon knows.
        // An entry for each agent of the registry, with its description.
        ListAgents -> Agents(Vec<AgentInfo>): Observer, Free, Large, Refused;

        /// Lists the running processes of agents.
        ListRunningAgents -> RunningAgents(Vec<RunningProcess>): Observer, Free, Large, Refused;

        /// Starts an agent to check whether it works, then stops it.
        ExamineAgent {
            /// Name of the agent.
            agent: String,
        } -> AgentReport(Box<AgentReport>): Operator, Free, Late, Refused;

        /// Reads the modes and options with which a session of an agent would begin. Starts a process of the agent, then stops it.
        // The agent's own lists, as long as its line.
        ReadSessionOptions {
            /// Name of the agent.
            agent: String,
            /// Absolute working directory of the session.
            cwd: String,
            /// Further directories of the session, absolute.
            additional_directories: Vec<String>,
        } -> Agent(RawJson): Operator, Free, Late, Refused;

        /// Installs an agent, or waits for an installation that runs already.
        InstallAgent {
            /// Name of the agent.
            agent: String,
        } -> AgentInstalled(Box<AgentInfo>): Owner, Free, Small, Refused;

        /// Lists the folders in a folder of the host.
        // Names of up to 255 bytes.
        ListFolders {
            /// The folder; the home directory if absent.
            path: Option<String>,
        } -> Folders(Box<FolderList>): Operator, Free, Late, Refused;

        /// Creates a folder on the host.
        CreateFolder {
            /// Path of the new folder.
            path: String,
        } -> Folder(String): Operator, Connection, Small, Refused;

        /// Reads the policies in the configuration.
        // As long as the configuration.
        ReadPolicies {
            /// The agent whose own policy is included.
            agent: Option<String>,
        } -> Policies(Policies): Observer, Free, Large, Refused;

        /// Changes the configuration file.
        ChangeConfig(ConfigChange) -> ConfigChanged(ConfigChanged): Owner, Connection, Small, Refused;

        /// Lists the targets of notifications with their states.
        // Errors of targets show names and addresses of the owner's network.
        ListNotificationTargets -> NotificationTargets(Vec<TargetInfo>): Owner, Free, Large, Refused;

        /// Sends a test notification.
        TestNotifications {
            /// Name of the target; all targets if absent.
            target: Option<String>,
        } -> NotificationsTested(Vec<TargetTest>): Owner, Free, Small, Refused;

        /// Lists threads, the newest first.
        // Up to 64 KiB of metadata for each thread. A directory is looked up before.
        ListThreads(ListThreads) -> Threads(ListPage<ListedThread>): Observer, Free, Measured, Limited;

        /// Searches the texts of threads.
        // A snippet and a name for each of up to 100 texts.
        SearchThreads(SearchThreads) -> Hits(ListPage<SearchHit>): Observer, Free, Large, Limited;

        /// Reads a thread without following it.
        ReadThread {
            /// The thread to read.
            thread: ThreadId,
            /// The turns to include.
            turns: Option<Turns>,
        } -> Thread(Box<ThreadView>): Observer, Free, Measured, ThatThread;

        /// Lists the subagents of a thread.
        // Up to 1,024 subagents.
        ListLanes {
            /// The thread.
            thread: ThreadId,
        } -> Lanes(Vec<(LaneId, Subagent)>): Observer, Free, Large, ThatThread;

        /// Starts or stops watching the list of threads.
        WatchThreadList {
            /// Whether to watch the list.
            on: bool,
            /// The only thread whose changes the client receives.
            only: Option<ThreadId>,
        } -> Done: Observer, Connection, Small, Limited;

        /// Marks threads as seen by the client's principal.
        // Readers of a link are many, and have one principal.
        SeeThreads(SeeThreads) -> Seen(Millis): Observer, Free, Small, Refused;

        /// Reports that a page of the client's principal is in front.
        ReportPresence -> Present(Option<Absence>): Observer, Free, Small, Refused;

        /// Reads what threads have used.
        // An entry for each day and agent, or for each thread. The sums are of all threads, so that no link permits them.
        ReadUsage(ReadUsage) -> Usage(Box<UsageReport>): Observer, Free, Large, Refused;

        /// Creates a thread and follows it from its first event.
        // The modes, options and commands of a session.
        StartThread(Box<StartThread>) -> Opened(Box<Opened>): Operator, Thread((start) => start.thread), Late, Refused;

        /// Follows a thread. The daemon starts its agent if the caller's role permits that.
        OpenThread(Box<OpenThread>) -> Opened(Box<Opened>): Observer, Thread((open) => Some(open.thread)), Measured, ThatThread;

        /// Stops following a thread.
        CloseThread {
            /// The thread to close.
            thread: ThreadId,
            /// Whether to stop its agent if no other client follows the thread and no turn runs.
            release: bool,
        } -> Closed(Closed): Observer, Thread(thread), Small, ThatThread;

        /// Creates a thread that continues another one, and follows the new thread.
        ForkThread(Box<ForkThread>) -> Opened(Box<Opened>): Operator, Thread((fork) => Some(fork.thread)), Late, Refused;

        /// Removes what exceeds the limits of the configuration.
        RunRetention(RunRetention) -> Retention(Box<RetentionReport>): Owner, Free, Small, Refused;

        /// Deletes a thread and its log.
        DeleteThread {
            /// The thread to delete.
            thread: ThreadId,
        } -> Done: Owner, Thread(thread), Small, Refused;

        /// Changes a property of a thread.
        ChangeThread {
            /// The thread to change.
            thread: ThreadId,
            /// The property and its new value.
            change: Change,
        } -> Done: Operator, Thread(thread), Small, Refused;

        /// Unarchives a thread.
        UnarchiveThread {
            /// The thread to change.
            thread: ThreadId,
        } -> Thread(Box<ThreadView>): Operator, Thread(thread), Small, Refused;

        /// Drops the last turns of a thread.
        RollBack {
            /// The thread to change.
            thread: ThreadId,
            /// The last turn to keep; `None` drops all turns.
            last_kept: Option<TurnId>,
        } -> RolledBack(Fidelity): Operator, Thread(thread), Small, Refused;

        /// Sets the directories that a thread works in from now on.
        SetDirectories {
            /// The thread to change.
            thread: ThreadId,
            /// The working directory, absolute.
            cwd: String,
            /// The further directories. If absent, those inside the earlier working directory move along, and the others stay.
            additional_directories: Option<Vec<String>>,
        } -> Done: Operator, Thread(thread), Small, Refused;

        /// Opens a further directory for a thread.
        AddDirectory {
            /// The thread to change.
            thread: ThreadId,
            /// The directory, absolute and without links.
            directory: String,
        } -> Done: Operator, Thread(thread), Small, Refused;

        /// Sets the thread's own policy.
        SetThreadPolicy {
            /// The thread that gets the policy.
            thread: ThreadId,
            /// A preset's name or an object; `None` removes the thread's own policy.
            policy: Option<RawJson>,
        } -> Done: Owner, Thread(thread), Small, Refused;

        /// Explains the policy's decision about a tool call.
        // All parts of a call, as long as the client's message. Its paths are looked up.
        ExplainPolicy {
            /// The thread whose policy applies.
            thread: ThreadId,
            /// An ACP tool call.
            tool_call: RawJson,
        } -> Explained(Box<Explanation>): Observer, Thread(thread), Late, Refused;

        /// Lists the remembered answers of a thread and of its agent.
        // Up to 1024 rules for the thread and for its agent.
        ListRemembered {
            /// The thread whose answers are listed.
            thread: ThreadId,
        } -> Remembered(Vec<RememberedRule>): Observer, Thread(thread), Large, Refused;

        /// Revokes a remembered answer.
        RevokeRemembered {
            /// The thread for which the answer applies.
            thread: ThreadId,
            /// Id of the remembered answer.
            id: u64,
        } -> Done: Approver, Thread(thread), Small, Refused;

        /// Lists the remembered answers that apply to all threads of an agent, whether it has threads or not.
        // An answer for an agent is the owner's to give. Up to 1024 rules for each agent.
        ListAgentAnswers {
            /// The agent; every agent that has answers if absent.
            agent: Option<String>,
        } -> AgentAnswers(Vec<AgentAnswers>): Owner, Free, Large, Refused;

        /// Revokes a remembered answer that applies to all threads of an agent.
        RevokeAgentAnswer {
            /// The agent.
            agent: String,
            /// Id of the remembered answer.
            id: u64,
        } -> Done: Owner, Free, Small, Refused;

        /// Makes a link with which anyone can read a thread.
        // An operator can export every thread anyway.
        CreateShare {
            /// The thread to share.
            thread: ThreadId,
            /// Seconds until the link expires; the default if absent.
            expires_in_secs: Option<u64>,
            /// A name for lists of links.
            name: Option<String>,
        } -> ShareCreated(Box<CreatedShare>): Operator, Free, Small, Refused;

        /// Lists the links that have not expired.
        // Up to 512 links.
        ListShares {
            /// The only thread whose links are listed.
            thread: Option<ThreadId>,
        } -> Shares(Vec<ShareInfo>): Operator, Free, Large, Refused;

        /// Revokes a link.
        RevokeShare {
            /// Id of the link.
            share: String,
        } -> Done: Operator, Free, Small, Refused;

        /// Acquires a thread's lease, or releases it.
        MoveLease {
            /// The thread that the lease belongs to.
            thread: ThreadId,
            /// Whether to acquire the lease.
            take: bool,
        } -> Lease(Option<LeaseHolder>): Operator, Thread(thread), Small, Refused;

        /// Sends a prompt, now or after the turns that precede it.
        StartTurn(StartTurn) -> Turn(TurnView): Operator, Thread((start) => Some(start.thread)), Small, Refused;

        /// Adds input to the running turn.
        SteerTurn {
            /// The thread that runs the turn.
            thread: ThreadId,
            /// ACP content blocks.
            input: Vec<RawJson>,
            /// The expected running turn; the request fails if another turn is running.
            turn: Option<TurnId>,
            /// The client's own id for the turn that the input becomes if the running one cannot take it.
            client_turn_id: Option<String>,
        } -> Steered(Steered): Operator, Thread(thread), Small, Refused;

        /// Runs a command line in the thread's directory, because a user wants it. The agent does not see it.
        // An operator runs commands anyway: it prompts agents, and its role includes the answers to their questions.
        RunCommand {
            /// The thread whose directory, sandbox and policy apply.
            thread: ThreadId,
            /// The line, for `/bin/sh`.
            line: String,
        } -> CommandStarted(StartedCommand): Operator, Thread(thread), Small, Refused;

        /// Reads what the agent of a thread has printed for a sign-in.
        ReadSignIn {
            /// The thread.
            thread: ThreadId,
        } -> SignIn(SignIn): Owner, Thread(thread), Late, Refused;

        /// Cancels a sign-in to the agent of a thread.
        CancelSignIn {
            /// The thread.
            thread: ThreadId,
        } -> Done: Owner, Thread(thread), Late, Refused;

        /// Types into the terminal of a running command, or ends the command.
        UseTerminal {
            /// The thread that has the terminal.
            thread: ThreadId,
            /// The daemon's id for the terminal.
            terminal_id: String,
            /// What to do.
            act: TerminalAct,
        } -> Done: Operator, Thread(thread), Small, Refused;

        /// Reads the diff of an ended turn.
        // Up to 1 MiB.
        ReadTurnDiff {
            /// The thread that has the turn.
            thread: ThreadId,
            /// The turn.
            turn: TurnId,
        } -> TurnDiff(String): Observer, Free, Large, ThatThread;

        /// Interrupts a turn, or removes it from the queue.
        Interrupt {
            /// The thread that has the turn.
            thread: ThreadId,
            /// The turn to interrupt; the running one if absent.
            turn: Option<TurnId>,
            /// Further effects.
            options: InterruptOptions,
        } -> Done: Operator, Thread(thread), Small, Refused;

        /// Changes the queue of turns.
        ChangeQueue {
            /// The thread that has the queue.
            thread: ThreadId,
            /// The change.
            change: QueueChange,
        } -> Done: Operator, Thread(thread), Small, Refused;

        /// Sends the prompt of a queued turn into the running turn.
        SteerQueuedTurn {
            /// The thread that has the queue.
            thread: ThreadId,
            /// The queued turn, which ends.
            turn: TurnId,
        } -> Steered(Steered): Operator, Thread(thread), Small, Refused;

        /// Answers a question.
        Answer {
            /// The question's request id.
            request: RequestId,
            /// The client's answer.
            answer: Answer,
            /// How long the answer applies, if it applies to more than this question.
            scope: Option<Scope>,
        } -> Done: Approver, Thread({ request, .. } => Some(request.thread)), Small, Refused;

        /// Sends the agent a request other than a prompt.
        // What the agent has answered, as long as its line. It may have to start first.
        AskAgent {
            /// The thread whose agent receives the request. If absent, any process of the connection's agent receives it,
            /// even one without a session.
            thread: Option<ThreadId>,
            /// The request for the agent.
            request: AgentRequest,
            /// Whether an extension's params name the thread as their session. The agent gets the id of its own session.
            names_thread: bool,
        } -> Agent(RawJson): Operator, Thread({ thread, .. } => *thread), Late, Refused;

        /// Sends the agent a notification that ACP does not define.
        NotifyAgent {
            /// The thread whose agent receives the notification.
            thread: ThreadId,
            /// Method; its name begins with `_`.
            method: String,
            /// Params, passed on unchanged.
            params: Option<RawJson>,
            /// Whether the params name the thread as their session. The agent gets the id of its own session.
            names_thread: bool,
        } -> Done: Operator, Thread(thread), Small, Refused;
    }

    kinds {
        /// [`Request::AskAgent`] to sign in or out.
        SignIn of AskAgent: Owner;

        /// [`Request::AskAgent`] to set or disable a provider.
        ChangeProvider of AskAgent: Owner;
    }
}

impl Request {
    /// Returns the request's kind.
    pub fn kind(&self) -> RequestKind {
        let Self::AskAgent { request, .. } = self else {
            return self.named_kind();
        };
        match request {
            AgentRequest::Authenticate { .. } | AgentRequest::Logout => RequestKind::SignIn,
            AgentRequest::Passthrough {
                method: PassthroughMethod::SetProvider | PassthroughMethod::DisableProvider,
                ..
            } => RequestKind::ChangeProvider,
            AgentRequest::SetMode { .. }
            | AgentRequest::SetModel { .. }
            | AgentRequest::SetConfigOption { .. }
            | AgentRequest::ListSessions { .. }
            | AgentRequest::SessionOptions { .. }
            | AgentRequest::DeleteSession { .. }
            | AgentRequest::ForkSession { .. }
            | AgentRequest::CloseSession { .. }
            | AgentRequest::Steer { .. }
            | AgentRequest::Extension { .. }
            | AgentRequest::Passthrough { .. } => RequestKind::AskAgent,
        }
    }

    /// Returns the minimum role for this request. Answers that apply to more than one thread need the owner, whatever
    /// their kind needs.
    pub fn role(&self) -> Role {
        let holds_beyond_its_thread = matches!(
            self,
            Self::Answer {
                scope: Some(Scope::Agent | Scope::Daemon),
                ..
            }
        ) || matches!(self, Self::RevokeRemembered { id, .. } if *id >= AGENT_IDS);
        if holds_beyond_its_thread {
            return Role::Owner;
        }
        self.kind().role()
    }

    /// Returns the order in which the request executes.
    pub fn order(&self) -> Order {
        self.kind().order()
    }
}
