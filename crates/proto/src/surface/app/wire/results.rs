//! The results of methods, made from the daemon's replies.

use acpd_model::event::Fidelity;
use acpd_model::{BlobId, ItemId, Millis, RawJson, SearchHit, Seq, SnippetPiece, TextKind, ThreadId, TurnId};
use acpd_policy::{Decision, Policy, RememberedRule, Rule, Scope, SubjectExplanation};

use super::thread::Thread;
use super::turn::Turn;
use super::{Plain, Serde};
use crate::surface::reply::{
    self, Absence, AgentInfo, AgentReport, CreatedShare, FolderList, ListedThread, Reply, RetentionReport,
    RunningProcess, ShareInfo, TargetInfo, TargetTest, UsageReport,
};
use crate::thread::SteerDelivery;

#[cfg(test)]
use crate::surface::app::describe::{Acp, Json};

/// The result of a method.
pub trait MethodResult<'a>: super::Value + Sized {
    /// Makes the result from a reply. Returns `None` for a reply to another request.
    fn from_reply(reply: &'a Reply) -> Option<Self>;
}

/// Makes results from replies that match a pattern.
macro_rules! from_reply {
    ($($result:ident $(<$life:lifetime>)?: $reply:pat => $made:expr;)+) => {$(
        impl<'a> MethodResult<'a> for $result $(<$life>)? {
            fn from_reply(reply: &'a Reply) -> Option<Self> {
                match reply {
                    $reply => Some($made),
                    _ => None,
                }
            }
        }
    )+};
}

from_reply! {
    Nothing: Reply::Done | Reply::Agent(_) => Self::new();
    AgentsListed<'a>: Reply::Agents(agents) => Self::new(agents);
    AgentsRunning<'a>: Reply::RunningAgents(processes) => Self::new(processes);
    AgentExamined<'a>: Reply::AgentReport(report) => report;
    AgentInstalled<'a>: Reply::AgentInstalled(agent) => Self::new(agent);
    AgentAnswered<'a>: Reply::Agent(result) => Self::new(result);
    FoldersListed<'a>: Reply::Folders(list) => list;
    FolderCreated<'a>: Reply::Folder(path) => Self::new(path);
    PoliciesRead<'a>: Reply::Policies { daemon, agent } => {
        Self::new(daemon.as_ref().map(Serde), agent.as_ref().map(Serde))
    };
    ConfigChanged<'a>: Reply::ConfigChanged { file, changed } => Self::new(file, *changed);
    NotificationTargetsListed<'a>: Reply::NotificationTargets(targets) => Self::new(targets);
    NotificationsTested<'a>: Reply::NotificationsTested(tests) => Self::new(tests);
    PolicyExplained<'a>: Reply::Explained(why) => Self::new(Serde(&why.decision), Serde(&why.subjects));
    RememberedListed<'a>: Reply::Remembered(answers) => Self::new(answers);
    AgentAnswersListed<'a>: Reply::AgentAnswers(agents) => Self::new(agents);
    ShareCreated<'a>: Reply::ShareCreated(created) => created;
    SharesListed<'a>: Reply::Shares(shares) => Self::new(shares);
    ThreadStarted<'a>: Reply::Opened(new) => {
        Self::new(Thread::of(&new.live, None), new.turn.as_ref().map(Turn::started))
    };
    ThreadResumed<'a>: Reply::Opened(opened) => {
        Self::new(Thread::of(&opened.live, opened.turns.as_ref()), opened.live.last_seq)
    };
    ThreadForkedResult<'a>: Reply::Opened(fork) => Self::new(Thread::of(&fork.live, None), fork.fidelity);
    ThreadFound<'a>: Reply::Thread(found) => Self::new(Thread::of(&found.live, found.turns.as_ref()));
    ThreadsListed<'a>: Reply::Threads { page, next } => Self::new(page, next.as_ref());
    ThreadsSeen: Reply::Seen { since } => Self::new(*since);
    UserPresent: Reply::Present { away } => Self::new(*away);
    UsageRead<'a>: Reply::Usage(report) => report;
    TextsFound<'a>: Reply::Hits { page, next } => Self::new(page, next.as_ref());
    RetentionRun<'a>: Reply::Retention(report) => report;
    Unsubscribed: Reply::Closed { was_open } => {
        Self::new(Plain(if *was_open { "unsubscribed" } else { "notSubscribed" }))
    };
    SignInRead<'a>: Reply::SignIn { in_progress, lines } => Self::new(*in_progress, lines);
    RolledBack: Reply::RolledBack(fidelity) => Self::new(*fidelity);
    TurnStartedResult<'a>: Reply::Turn(turn) => Self::new(Turn::started(turn));
    CommandStarted: Reply::CommandStarted { item, turn } => Self::new(*item, *turn);
    TurnDiffRead<'a>: Reply::TurnDiff(diff) => Self::new(diff);
    TurnSteered: Reply::Steered { turn, delivery } => Self::new(*turn, *delivery);
}

/// The findings of `agent/doctor`.
pub type AgentExamined<'a> = &'a AgentReport;

/// The result of `retention/run`.
pub type RetentionRun<'a> = &'a RetentionReport;

/// The result of `usage/read`.
pub type UsageRead<'a> = &'a UsageReport;

/// The result of `folder/list`.
pub type FoldersListed<'a> = &'a FolderList;

/// The result of `thread/share/create`.
pub type ShareCreated<'a> = &'a CreatedShare;

wire! {
    /// An empty result.
    struct Nothing {}

    /// The agents.
    struct AgentsListed<'a> { data: &'a [AgentInfo] }

    /// The diff of a turn.
    struct TurnDiffRead<'a> {
        /// Unified diff of all files that the turn changed.
        diff: &'a String,
    }

    /// The agent that was installed.
    struct AgentInstalled<'a> { agent: &'a AgentInfo }

    /// The folder that was created.
    struct FolderCreated<'a> {
        /// Absolute path of the folder.
        path: &'a String,
    }

    /// The running agent processes.
    struct AgentsRunning<'a> { data: &'a [RunningProcess] }

    /// The new thread.
    struct ThreadStarted<'a> {
        thread: Thread<'a>,
        /// The first turn, if the params contain one.
        turn: Option<Turn<'a>>,
    }

    /// The subscribed thread.
    struct ThreadResumed<'a> {
        thread: Thread<'a>,
        /// Number of the thread's last event. Later events follow as notifications.
        latest_seq: Seq,
    }

    /// One thread.
    struct ThreadFound<'a> { thread: Thread<'a> }

    /// Result of a rollback.
    struct RolledBack { fidelity: Fidelity }

    /// The new thread of a fork.
    struct ThreadForkedResult<'a> { thread: Thread<'a>, fidelity: Option<Fidelity> as Fidelity | null }

    /// What happened to the message.
    struct TurnSteered {
        /// Id of the turn that the message belongs to.
        turn_id: TurnId,
        delivery: SteerDelivery,
    }

    /// A page of threads.
    struct ThreadsListed<'a> {
        data: &'a [ListedThread],
        /// Cursor for the next page.
        next_cursor: Option<&'a String> | null,
    }

    /// Where the principal begins.
    struct ThreadsSeen {
        /// Changes of all threads until then count as seen, in milliseconds since the epoch.
        since: Millis as u64,
    }

    /// Result of `user/present`.
    struct UserPresent {
        /// The time in which no client of the principal was in front, if that is 5 minutes or more. Only the client that comes back
        /// first receives it.
        away: Option<Absence> | null,
    }

    /// A time in which a user was away.
    struct Absence for Absence {
        /// When a client of the user was last in front, in milliseconds since the epoch.
        since: Millis as u64,
        /// When the user came back, in milliseconds since the epoch.
        until: Millis as u64,
    }

    /// A page of search hits.
    struct TextsFound<'a> {
        data: &'a [SearchHit],
        /// Cursor for the next page.
        next_cursor: Option<&'a String> | null,
    }

    /// A search hit.
    struct TextFound for SearchHit {
        [rename = "threadId"] thread: ThreadId,
        /// The thread's name.
        name: Option<String> | null,
        /// Number of the event that contains the text.
        seq: Seq,
        /// Time of that event, in milliseconds since the epoch.
        [rename = "ts"] at: Millis,
        [rename = "turnId"] turn: Option<TurnId> | null,
        [rename = "itemId"] item: Option<ItemId> | null,
        kind: TextKind,
        /// An extract of the text: one line, in pieces. An ellipsis marks omitted text.
        snippet: Vec<SnippetPiece>,
    }

    /// A piece of a snippet.
    struct SnippetPiece for SnippetPiece {
        text: String,
        /// Whether the piece matches the query.
        hit: bool,
    }

    /// Result of `thread/unsubscribe`.
    struct Unsubscribed {
        /// `unsubscribed` or `notSubscribed`.
        status: Plain<'static>,
    }

    /// The sign-in to the agent.
    struct SignInRead<'a> {
        /// Whether one is in progress.
        in_progress: bool,
        /// The lines with addresses and codes that the agent has printed for the last one.
        lines: &'a [String],
    }

    /// The command that was started.
    struct CommandStarted {
        /// Id of the command's item.
        item_id: ItemId,
        /// Id of the turn that contains the item.
        turn_id: TurnId,
    }

    /// The running or queued turn.
    struct TurnStartedResult<'a> { turn: Turn<'a> }

    /// The agent's response.
    struct AgentAnswered<'a> {
        /// The agent's result, unchanged.
        result: &'a RawJson,
    }

    /// The configured policies. Each is a preset's name or an object with rules; see `docs/policy.md`.
    struct PoliciesRead<'a> {
        /// The daemon's policy. Without one, the user is asked about every permission request.
        daemon: Option<Serde<'a, Policy>> as Option<Json> | null,
        /// The agent's own policy, which takes precedence over the daemon's.
        agent: Option<Serde<'a, Policy>> as Option<Json> | null,
    }

    /// The setting is in the configuration file, and the daemon has applied it.
    struct ConfigChanged<'a> {
        /// Absolute path of the file on the daemon's host.
        file: &'a String,
        /// Whether the file was written: it may have had the setting already.
        changed: bool,
    }

    /// The targets of notifications, by name.
    struct NotificationTargetsListed<'a> { data: &'a [TargetInfo] }

    /// The results of a test, by the targets' names.
    struct NotificationsTested<'a> { data: &'a [TargetTest] }

    /// Result of `policy/explain`.
    struct PolicyExplained<'a> {
        /// The decision and its reason.
        decision: Serde<'a, Decision> as Acp,
        /// Every part of the call, with its matching rules.
        subjects: Serde<'a, Vec<SubjectExplanation>> as Vec<Acp>,
    }

    /// The links, oldest first.
    struct SharesListed<'a> { data: &'a [ShareInfo] }

    /// The remembered answers.
    struct RememberedListed<'a> { data: &'a [RememberedRule] }

    /// The remembered answers for agents, by the agents' names.
    struct AgentAnswersListed<'a> { data: &'a [reply::AgentAnswers] }

    /// The remembered answers that apply to all threads of an agent.
    struct AgentAnswers<'a> {
        /// Name of the agent.
        agent_type: &'a str,
        /// The answers, oldest first.
        answers: &'a [RememberedRule],
    }

    /// A remembered answer.
    struct RememberedAnswer<'a> {
        id: u64,
        /// `session`, `thread` or `agent`.
        scope: Scope,
        /// Whether the answer allows the call; otherwise it denies it.
        allow: bool,
        /// The rule that was made from the answer.
        rule: &'a Rule,
        /// Working directory in which the command must be started.
        cwd: Option<&'a String>,
        /// Hash of the command line that the command must be part of.
        line: Option<&'a BlobId>,
        /// Hash of the input that the call must have.
        arguments: Option<&'a BlobId>,
        /// Hash of the kind, tool, locations and diffs that the call must have.
        call: Option<&'a BlobId>,
    }
}

shown! { reply::AgentAnswers as AgentAnswers, |of| AgentAnswers {
    agent_type: &of.agent,
    answers: &of.answers,
} }

shown! { RememberedRule as RememberedAnswer, |answer| RememberedAnswer {
    id: answer.id,
    scope: answer.scope,
    allow: answer.allow,
    rule: &answer.rule,
    cwd: answer.bounds.cwd.as_ref(),
    line: answer.bounds.line.as_ref(),
    arguments: answer.bounds.arguments.as_ref(),
    call: answer.bounds.call.as_ref(),
} }
