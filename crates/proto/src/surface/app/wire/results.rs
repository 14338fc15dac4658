//! The results of methods, made from the daemon's replies.

use acpd_model::event::Fidelity;
use acpd_model::{
    BlobId, ItemId, LaneId, Millis, RawJson, SearchHit, Seq, SnippetPiece, TextKind, ThreadId, TurnId,
};
use acpd_policy::{Decision, Explanation, Policy, RememberedRule, Rule, Scope, SubjectExplanation};

use super::lane::LanesListed;
use super::thread::Thread;
use super::turn::Turn;
use super::{Plain, Serde};
use crate::projection::Subagent;
use crate::surface::reply::{
    self, Absence, AgentInfo, AgentReport, Closed, CreatedShare, FolderList, ListPage, ListedThread, Opened,
    RetentionReport, RunningProcess, ShareInfo, StartedCommand, Steered, TargetInfo, TargetTest, ThreadView,
    UsageReport,
};
use crate::thread::{SteerDelivery, TurnView};

#[cfg(test)]
use crate::surface::app::describe::{Acp, Json};

/// The result of a method whose request has replies of the type `R`.
pub trait MethodResult<'a, R>: super::Value {
    /// Makes the result from the reply.
    fn from_reply(reply: &'a R) -> Self;
}

/// Makes results from replies: the type of the reply, and a pattern that it matches.
macro_rules! made_of {
    ($($result:ident $(<$life:lifetime>)?: $type:ty, $reply:pat_param => $made:expr;)+) => {$(
        impl<'a> MethodResult<'a, $type> for $result $(<$life>)? {
            fn from_reply($reply: &'a $type) -> Self {
                $made
            }
        }
    )+};
}

impl<'a, R> MethodResult<'a, R> for Nothing {
    fn from_reply(_: &'a R) -> Self {
        Self::new()
    }
}

made_of! {
    AgentsListed<'a>: Vec<AgentInfo>, agents => Self::new(agents);
    AgentsRunning<'a>: Vec<RunningProcess>, processes => Self::new(processes);
    AgentExamined<'a>: Box<AgentReport>, report => report;
    AgentInstalled<'a>: Box<AgentInfo>, agent => Self::new(agent);
    AgentAnswered<'a>: RawJson, result => Self::new(result);
    FoldersListed<'a>: Box<FolderList>, list => list;
    FolderCreated<'a>: String, path => Self::new(path);
    PoliciesRead<'a>: reply::Policies, reply::Policies { daemon, agent } => {
        Self::new(daemon.as_ref().map(Serde), agent.as_ref().map(Serde))
    };
    ConfigChanged<'a>: reply::ConfigChanged, reply::ConfigChanged { file, changed } => Self::new(file, *changed);
    NotificationTargetsListed<'a>: Vec<TargetInfo>, targets => Self::new(targets);
    NotificationsTested<'a>: Vec<TargetTest>, tests => Self::new(tests);
    PolicyExplained<'a>: Box<Explanation>, why => Self::new(Serde(&why.decision), Serde(&why.subjects));
    LanesListed<'a>: Vec<(LaneId, Subagent)>, lanes => Self::new(lanes);
    RememberedListed<'a>: Vec<RememberedRule>, answers => Self::new(answers);
    AgentAnswersListed<'a>: Vec<reply::AgentAnswers>, agents => Self::new(agents);
    ShareCreated<'a>: Box<CreatedShare>, created => created;
    SharesListed<'a>: Vec<ShareInfo>, shares => Self::new(shares);
    ThreadStarted<'a>: Box<Opened>, new => {
        Self::new(Thread::of(&new.live, None), new.turn.as_ref().map(Turn::started))
    };
    ThreadResumed<'a>: Box<Opened>, opened => {
        Self::new(Thread::of(&opened.live, opened.turns.as_ref()), opened.live.last_seq)
    };
    ThreadForkedResult<'a>: Box<Opened>, fork => Self::new(Thread::of(&fork.live, None), fork.fidelity);
    ThreadFound<'a>: Box<ThreadView>, found => Self::new(Thread::of(&found.live, found.turns.as_ref()));
    ThreadsListed<'a>: ListPage<ListedThread>, list => Self::new(&list.page, list.next.as_ref());
    ThreadsSeen: Millis, since => Self::new(*since);
    UserPresent: Option<Absence>, away => Self::new(*away);
    UsageRead<'a>: Box<UsageReport>, report => report;
    TextsFound<'a>: ListPage<SearchHit>, list => Self::new(&list.page, list.next.as_ref());
    RetentionRun<'a>: Box<RetentionReport>, report => report;
    Unsubscribed: Closed, closed => {
        Self::new(Plain(if closed.was_open { "unsubscribed" } else { "notSubscribed" }))
    };
    SignInRead<'a>: reply::SignIn, sign_in => Self::new(sign_in.in_progress, &sign_in.lines);
    RolledBack: Fidelity, fidelity => Self::new(*fidelity);
    TurnStartedResult<'a>: TurnView, turn => Self::new(Turn::started(turn));
    CommandStarted: StartedCommand, command => Self::new(command.item, command.turn);
    TurnDiffRead<'a>: String, diff => Self::new(diff);
    TurnSteered: Steered, steered => Self::new(steered.turn, steered.delivery);
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
