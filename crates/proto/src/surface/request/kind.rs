//! The properties that all requests of one kind share: their minimum role and their order.

use acpd_model::{Role, ThreadId};
use acpd_policy::{AGENT_IDS, Scope};

use super::Request;
use crate::agent::{AgentRequest, PassthroughMethod};

/// The order in which requests execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// No fixed order: no other request depends on it.
    Free,
    /// In the order of arrival on its connection, among requests for the same thread.
    Thread,
}

impl Order {
    /// Returns the name of this order in schemas.
    pub fn word(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Thread => "thread",
        }
    }
}

/// How large an answer can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerSize {
    /// At most about [`SMALL_ANSWER_BYTES`](acpd_model::limits::SMALL_ANSWER_BYTES), or the report of work that the client has started.
    Small,
    /// It is read or made for the client, and can be larger: it needs room before.
    Large,
    /// The same, but the handler learns the size or when it can be read, and takes the room.
    Measured,
    /// As large, but making it waits for a disk or an agent that may never answer: it needs room once it is made.
    Late,
}

/// The kind of a request, known before its params are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the request of that name")]
pub enum RequestKind {
    Initialize,
    ListAgents,
    ListRunningAgents,
    ExamineAgent,
    InstallAgent,
    ListFolders,
    CreateFolder,
    ReadPolicies,
    ChangeConfig,
    ListNotificationTargets,
    TestNotifications,
    ListThreads,
    SearchThreads,
    ReadThread,
    ReadTurnDiff,
    WatchThreadList,
    SeeThreads,
    ReportPresence,
    ReadUsage,
    StartThread,
    OpenThread,
    CloseThread,
    ForkThread,
    RunRetention,
    DeleteThread,
    ChangeThread,
    SetDirectories,
    AddDirectory,
    SetThreadPolicy,
    ExplainPolicy,
    ListRemembered,
    RevokeRemembered,
    ListAgentAnswers,
    RevokeAgentAnswer,
    CreateShare,
    ListShares,
    RevokeShare,
    MoveLease,
    StartTurn,
    SteerTurn,
    RunCommand,
    UseTerminal,
    Interrupt,
    ChangeQueue,
    Answer,
    AskAgent,
    /// [`Request::AskAgent`] to sign in or out, [`Request::CancelSignIn`] and [`Request::ReadSignIn`].
    SignIn,
    /// [`Request::AskAgent`] to set or disable a provider.
    ChangeProvider,
    NotifyAgent,
}

impl RequestKind {
    /// Returns the minimum role for this kind of request.
    pub fn role(self) -> Role {
        match self {
            Self::Initialize
            | Self::ListAgents
            | Self::ListRunningAgents
            | Self::ReadPolicies
            | Self::ListThreads
            | Self::SearchThreads
            | Self::ReadThread
            | Self::ReadTurnDiff
            | Self::WatchThreadList
            | Self::SeeThreads
            | Self::ReportPresence
            | Self::ReadUsage
            | Self::OpenThread
            | Self::CloseThread
            | Self::ExplainPolicy
            | Self::ListRemembered => Role::Observer,
            Self::Answer | Self::RevokeRemembered => Role::Approver,
            Self::ExamineAgent
            | Self::ListFolders
            | Self::CreateFolder
            | Self::StartThread
            | Self::ForkThread
            | Self::ChangeThread
            | Self::SetDirectories
            | Self::AddDirectory
            // An operator can export every thread anyway.
            | Self::CreateShare
            | Self::ListShares
            | Self::RevokeShare
            | Self::MoveLease
            | Self::StartTurn
            | Self::SteerTurn
            // An operator runs commands anyway: it prompts agents, and its role includes the answers to their questions.
            | Self::RunCommand
            | Self::UseTerminal
            | Self::Interrupt
            | Self::ChangeQueue
            | Self::AskAgent
            | Self::NotifyAgent => Role::Operator,
            Self::InstallAgent
            | Self::ChangeConfig
            | Self::RunRetention
            // Errors of targets show names and addresses of the owner's network.
            | Self::ListNotificationTargets
            | Self::TestNotifications
            | Self::DeleteThread
            | Self::SetThreadPolicy
            // An answer for an agent is the owner's to give.
            | Self::ListAgentAnswers
            | Self::RevokeAgentAnswer
            | Self::SignIn
            | Self::ChangeProvider => Role::Owner,
        }
    }

    /// Returns how large the answer to a request of this kind can be.
    pub fn answer_size(self) -> AnswerSize {
        match self {
            Self::ReadThread
            | Self::OpenThread
            // Up to 64 KiB of metadata for each thread. A directory is looked up before.
            | Self::ListThreads => AnswerSize::Measured,
            // Names of up to 255 bytes.
            Self::ListFolders
            // All parts of a call, as long as the client's message. Its paths are looked up.
            | Self::ExplainPolicy
            // What an agent has answered or declared, as long as its line. It may have to start first.
            | Self::Initialize
            | Self::ExamineAgent
            | Self::AskAgent
            | Self::SignIn
            | Self::ChangeProvider
            // The modes, options and commands of a session.
            | Self::StartThread
            | Self::ForkThread => AnswerSize::Late,
            // An entry for each agent of the registry, with its description.
            Self::ListAgents
            | Self::ListRunningAgents
            // As long as the configuration.
            | Self::ReadPolicies
            | Self::ListNotificationTargets
            // A snippet and a name for each of up to 100 texts.
            | Self::SearchThreads
            // Up to 1 MiB.
            | Self::ReadTurnDiff
            // Up to 1024 rules for the thread and for its agent.
            | Self::ListRemembered
            // The same for each agent.
            | Self::ListAgentAnswers
            // An entry for each day and agent, or for each thread.
            | Self::ReadUsage
            // Up to 512 links.
            | Self::ListShares => AnswerSize::Large,
            Self::InstallAgent
            | Self::ChangeConfig
            | Self::CreateFolder
            | Self::TestNotifications
            | Self::WatchThreadList
            | Self::CloseThread
            | Self::RunRetention
            | Self::DeleteThread
            | Self::ChangeThread
            | Self::SetDirectories
            | Self::AddDirectory
            | Self::SetThreadPolicy
            | Self::RevokeRemembered
            | Self::RevokeAgentAnswer
            | Self::SeeThreads
            | Self::ReportPresence
            | Self::CreateShare
            | Self::RevokeShare
            | Self::MoveLease
            | Self::StartTurn
            | Self::SteerTurn
            | Self::RunCommand
            | Self::UseTerminal
            | Self::Interrupt
            | Self::ChangeQueue
            | Self::Answer
            | Self::NotifyAgent => AnswerSize::Small,
        }
    }

    /// Returns the order in which requests of this kind execute.
    pub fn order(self) -> Order {
        match self {
            Self::Initialize
            | Self::ListAgents
            | Self::ListRunningAgents
            | Self::ExamineAgent
            | Self::InstallAgent
            | Self::ListFolders
            | Self::ReadPolicies
            | Self::ListNotificationTargets
            | Self::TestNotifications
            | Self::ListThreads
            | Self::SearchThreads
            | Self::ReadThread
            | Self::ReadTurnDiff
            | Self::ListAgentAnswers
            | Self::RevokeAgentAnswer
            | Self::SeeThreads
            | Self::ReportPresence
            | Self::ReadUsage
            | Self::CreateShare
            | Self::ListShares
            | Self::RevokeShare
            | Self::RunRetention => Order::Free,
            Self::CreateFolder
            | Self::ChangeConfig
            | Self::WatchThreadList
            | Self::StartThread
            | Self::OpenThread
            | Self::CloseThread
            | Self::ForkThread
            | Self::DeleteThread
            | Self::ChangeThread
            | Self::SetDirectories
            | Self::AddDirectory
            | Self::SetThreadPolicy
            | Self::ExplainPolicy
            | Self::ListRemembered
            | Self::RevokeRemembered
            | Self::MoveLease
            | Self::StartTurn
            | Self::SteerTurn
            | Self::RunCommand
            | Self::UseTerminal
            | Self::Interrupt
            | Self::ChangeQueue
            | Self::Answer
            | Self::AskAgent
            | Self::SignIn
            | Self::ChangeProvider
            | Self::NotifyAgent => Order::Thread,
        }
    }
}

impl Request {
    /// Returns the request's kind.
    pub fn kind(&self) -> RequestKind {
        match self {
            Self::Initialize => RequestKind::Initialize,
            Self::ListAgents => RequestKind::ListAgents,
            Self::ListRunningAgents => RequestKind::ListRunningAgents,
            Self::ExamineAgent { .. } => RequestKind::ExamineAgent,
            Self::InstallAgent { .. } => RequestKind::InstallAgent,
            Self::ListFolders { .. } => RequestKind::ListFolders,
            Self::CreateFolder { .. } => RequestKind::CreateFolder,
            Self::ReadPolicies { .. } => RequestKind::ReadPolicies,
            Self::ChangeConfig(_) => RequestKind::ChangeConfig,
            Self::ListNotificationTargets => RequestKind::ListNotificationTargets,
            Self::TestNotifications { .. } => RequestKind::TestNotifications,
            Self::ListThreads(_) => RequestKind::ListThreads,
            Self::SearchThreads(_) => RequestKind::SearchThreads,
            Self::ReadThread { .. } => RequestKind::ReadThread,
            Self::ReadTurnDiff { .. } => RequestKind::ReadTurnDiff,
            Self::WatchThreadList { .. } => RequestKind::WatchThreadList,
            Self::SeeThreads(_) => RequestKind::SeeThreads,
            Self::ReportPresence => RequestKind::ReportPresence,
            Self::ReadUsage(_) => RequestKind::ReadUsage,
            Self::StartThread(_) => RequestKind::StartThread,
            Self::OpenThread(_) => RequestKind::OpenThread,
            Self::CloseThread { .. } => RequestKind::CloseThread,
            Self::ForkThread(_) => RequestKind::ForkThread,
            Self::RunRetention { .. } => RequestKind::RunRetention,
            Self::DeleteThread { .. } => RequestKind::DeleteThread,
            Self::ChangeThread { .. } => RequestKind::ChangeThread,
            Self::SetDirectories { .. } => RequestKind::SetDirectories,
            Self::AddDirectory { .. } => RequestKind::AddDirectory,
            Self::SetThreadPolicy { .. } => RequestKind::SetThreadPolicy,
            Self::ExplainPolicy { .. } => RequestKind::ExplainPolicy,
            Self::ListRemembered { .. } => RequestKind::ListRemembered,
            Self::RevokeRemembered { .. } => RequestKind::RevokeRemembered,
            Self::ListAgentAnswers { .. } => RequestKind::ListAgentAnswers,
            Self::RevokeAgentAnswer { .. } => RequestKind::RevokeAgentAnswer,
            Self::CreateShare { .. } => RequestKind::CreateShare,
            Self::ListShares { .. } => RequestKind::ListShares,
            Self::RevokeShare { .. } => RequestKind::RevokeShare,
            Self::MoveLease { .. } => RequestKind::MoveLease,
            Self::StartTurn(_) => RequestKind::StartTurn,
            Self::SteerTurn { .. } => RequestKind::SteerTurn,
            Self::RunCommand { .. } => RequestKind::RunCommand,
            Self::UseTerminal { .. } => RequestKind::UseTerminal,
            Self::CancelSignIn { .. } | Self::ReadSignIn { .. } => RequestKind::SignIn,
            Self::Interrupt { .. } => RequestKind::Interrupt,
            Self::ChangeQueue { .. } => RequestKind::ChangeQueue,
            Self::Answer { .. } => RequestKind::Answer,
            Self::AskAgent { request, .. } => match request {
                AgentRequest::Authenticate { .. } | AgentRequest::Logout => RequestKind::SignIn,
                AgentRequest::Passthrough {
                    method: PassthroughMethod::SetProvider | PassthroughMethod::DisableProvider,
                    ..
                } => RequestKind::ChangeProvider,
                _ => RequestKind::AskAgent,
            },
            Self::NotifyAgent { .. } => RequestKind::NotifyAgent,
        }
    }

    /// Returns the minimum role for this request. Answers that apply to more than one thread need the owner, whatever
    /// their kind needs.
    pub fn role(&self) -> Role {
        let holds_beyond_its_thread = match self {
            Self::Answer { scope, .. } => matches!(scope, Some(Scope::Agent | Scope::Daemon)),
            Self::RevokeRemembered { id, .. } => *id >= AGENT_IDS,
            _ => false,
        };
        if holds_beyond_its_thread {
            return Role::Owner;
        }
        self.kind().role()
    }

    /// Returns the thread whose order the request has; `None` if it may run at any time, or has the order of its connection.
    pub fn ordered_by(&self) -> Option<ThreadId> {
        if self.order() == Order::Free {
            return None;
        }
        match self {
            Self::StartThread(start) => start.thread,
            Self::OpenThread(open) => Some(open.thread),
            Self::ForkThread(fork) => Some(fork.thread),
            Self::StartTurn(start) => Some(start.thread),
            Self::Answer { request, .. } => Some(request.thread),
            Self::AskAgent { thread, .. } => *thread,
            Self::ReadThread { thread, .. }
            | Self::ReadTurnDiff { thread, .. }
            | Self::CloseThread { thread, .. }
            | Self::DeleteThread { thread }
            | Self::ChangeThread { thread, .. }
            | Self::SetDirectories { thread, .. }
            | Self::AddDirectory { thread, .. }
            | Self::SetThreadPolicy { thread, .. }
            | Self::ExplainPolicy { thread, .. }
            | Self::ListRemembered { thread }
            | Self::RevokeRemembered { thread, .. }
            | Self::CreateShare { thread, .. }
            | Self::MoveLease { thread, .. }
            | Self::SteerTurn { thread, .. }
            | Self::RunCommand { thread, .. }
            | Self::UseTerminal { thread, .. }
            | Self::CancelSignIn { thread }
            | Self::ReadSignIn { thread }
            | Self::Interrupt { thread, .. }
            | Self::ChangeQueue { thread, .. }
            | Self::NotifyAgent { thread, .. } => Some(*thread),
            Self::Initialize
            | Self::ListAgents
            | Self::ListRunningAgents
            | Self::ExamineAgent { .. }
            | Self::InstallAgent { .. }
            | Self::ListFolders { .. }
            | Self::CreateFolder { .. }
            | Self::ReadPolicies { .. }
            | Self::ChangeConfig(_)
            | Self::ListNotificationTargets
            | Self::TestNotifications { .. }
            | Self::ListThreads(_)
            | Self::SearchThreads(_)
            | Self::WatchThreadList { .. }
            | Self::ListAgentAnswers { .. }
            | Self::RevokeAgentAnswer { .. }
            | Self::SeeThreads(_)
            | Self::ReportPresence
            | Self::ReadUsage(_)
            | Self::ListShares { .. }
            | Self::RevokeShare { .. }
            | Self::RunRetention { .. } => None,
        }
    }

    /// Returns the order in which the request executes.
    pub fn order(&self) -> Order {
        self.kind().order()
    }
}
