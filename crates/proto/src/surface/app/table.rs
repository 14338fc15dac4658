//! Every method of the app protocol that a client may call: its params, its result, and the request that it is. The
//! JSON Schema, the types of the clients and the reference all come from this table.

use acpd_model::role::Role;
use acpd_model::{Failure, ThreadId};

use super::params::{
    AgentExtension, AllowFolder, AnswerInput, Approve, Authenticate, CreateFolder, DeleteSession,
    ExamineAgent, ExplainPolicy, InstallAgent, InterruptTurn, ListAgentAnswers, ListFolders, ListSessions,
    ListThreads, Named, NoParams, On, Params, ReadPolicy, ReadSessionOptions, ReadThread, ReadTurnDiff,
    ReadUsage, ResumeThread, RevokeAgentAnswer, RevokeRemembered, RunRetention, SearchThreads, SetConfig,
    SetDefaultAgent, SetDefaultPolicy, SetMode, SetPolicy, SetSeen, StartThread, StartTurn,
    TestNotifications,
};
use super::results::{ResultType, write};
use super::thread_params::{
    AddDirectory, ArrangeQueue, CreateShare, EditQueued, ForkThread, KillTerminal, ListShares, RevokeShare,
    RollBack, RunCommand, SetDirectories, SetMetadata, SetName, SetPin, SteerQueued, SteerTurn,
    WriteTerminal,
};
use super::wire::lane::LanesListed;
use super::wire::results::{
    AgentAnswered, AgentAnswersListed, AgentExamined, AgentInstalled, AgentsListed, AgentsRunning,
    CommandStarted, ConfigChanged, FolderCreated, FoldersListed, Nothing, NotificationTargetsListed,
    NotificationsTested, PoliciesRead, PolicyExplained, RememberedListed, RetentionRun, RolledBack,
    ShareCreated, SharesListed, SignInRead, TextsFound, ThreadForkedResult, ThreadFound, ThreadResumed,
    ThreadStarted, ThreadsListed, ThreadsSeen, TurnDiffRead, TurnStartedResult, TurnSteered, Unsubscribed,
    UsageRead, UserPresent,
};
use crate::agent::AgentRequest;
use crate::surface::request::{self, ConfigChange, Request, RequestKind, calls};
use crate::thread::{Change, QueueChange, TerminalAct};

/// The properties of one method.
pub struct Method {
    /// Name of the method.
    pub name: &'static str,
    /// What its requests ask for.
    pub kind: RequestKind,
    /// What it answers.
    pub(super) result: ResultType,
    read: fn(&str, Option<ThreadId>) -> Result<Request, Failure>,
    /// Description and types of the method.
    #[cfg(test)]
    pub(super) described: super::describe::Described,
}

impl std::fmt::Debug for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Method").field(&self.name).finish()
    }
}

impl Method {
    /// Returns the method with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        METHODS.iter().find(|method| method.name == name)
    }

    /// The lowest role that may call the method.
    pub fn role(&self) -> Role {
        self.kind.role()
    }

    /// Parses a request. `current` is the thread that the request defaults to.
    pub fn read(&self, params: &str, current: Option<ThreadId>) -> Result<Request, Failure> {
        let request = (self.read)(params, current)?;
        debug_assert_eq!(request.kind(), self.kind, "the row of {}", self.name);
        Ok(request)
    }
}

macro_rules! methods {
    ($(
        $(#[doc = $about:literal])+
        $name:literal $kind:ident($params:ty) -> $result:ty, $request:expr;
    )+) => {
        /// All methods.
        pub static METHODS: &[Method] = &[$(
            Method {
                name: $name,
                kind: RequestKind::$kind,
                result: ResultType::of(|out, id, reply| write::<calls::$kind, $result>(out, id, reply)),
                read: |params, current| {
                    let request: fn($params) -> Result<Request, Failure> = $request;
                    request(<$params>::read(params, current)?)
                },
                #[cfg(test)]
                described: super::describe::Described {
                    about: concat!($($about),+),
                    params: <$params>::schema,
                    result: |generator| generator.subschema_for::<<$result as super::wire::Described>::Schema>(),
                },
            },
        )+];
    };
}

fn change(thread: ThreadId, change: Change) -> Request {
    Request::ChangeThread { thread, change }
}

fn queue(thread: ThreadId, change: QueueChange) -> Request {
    Request::ChangeQueue { thread, change }
}

fn ask_agent(thread: ThreadId, request: AgentRequest) -> Request {
    Request::AskAgent {
        thread: Some(thread),
        request,
        names_thread: false,
    }
}

methods! {
    /// Lists the known agents and, for those that cannot be started, the reason. Configured agents come first, then
    /// those of the registry and installed ones.
    "agent/list" ListAgents(NoParams) -> AgentsListed,
        |_| Ok(Request::ListAgents);

    /// Lists running agent processes with their memory use, busy ones first.
    "agent/running" ListRunningAgents(NoParams) -> AgentsRunning,
        |_| Ok(Request::ListRunningAgents);

    /// Starts the agent, sends `initialize`, and stops it. Creates no thread and no session. Returns the findings even if
    /// the agent fails. Times out after `agent_start_secs`.
    "agent/doctor" ExamineAgent(ExamineAgent) -> AgentExamined,
        |params| Ok(Request::ExamineAgent { agent: params.agent_type });

    /// Reads ACP's `modes` and `configOptions` with which a session of the agent would begin in a directory, so that a client can offer
    /// them before it starts a thread. Starts a process of the agent, sends `session/options`, and stops it; creates no thread and no
    /// session. Returns `unsupported` if the agent does not declare `sessionCapabilities.options`.
    "agent/options" ReadSessionOptions(ReadSessionOptions) -> AgentAnswered,
        |ReadSessionOptions { agent_type, cwd, additional_directories }| {
            Ok(Request::ReadSessionOptions { agent: agent_type, cwd, additional_directories })
        };

    /// Installs the agent, or its newest version, into the data directory. Returns once it is installed, which can take
    /// minutes. The installation continues without the connection, a second request waits for the same one, and
    /// `agent/list` shows its progress. Needs npm, uv or python3 on the daemon's host for agents that are packages.
    "agent/install" InstallAgent(InstallAgent) -> AgentInstalled,
        |params| Ok(Request::InstallAgent { agent: params.agent_type });

    /// Lists the folders in a folder of the daemon's host, sorted by name, at most 2,000.
    "folder/list" ListFolders(ListFolders) -> FoldersListed,
        |params| Ok(Request::ListFolders { path: params.path });

    /// Creates a folder on the daemon's host.
    "folder/create" CreateFolder(CreateFolder) -> FolderCreated,
        |params| Ok(Request::CreateFolder { path: params.path });

    /// Creates a thread, starts its agent and opens a session. Returns once the agent is ready, or asks a
    /// user something first. `thread/started` is sent immediately, and the caller is subscribed from then on. `mode` and
    /// `config` are set before the first turn. If one of them is refused, the request fails, but the thread exists.
    "thread/start" StartThread(StartThread) -> ThreadStarted,
        |params| Ok(Request::StartThread(Box::new(params.into())));

    /// Subscribes to a thread. With `after`, sends every later event as its original notification, without gaps or
    /// duplicates. Without it, the result contains the thread's latest turns. Sends open questions again in both cases.
    /// Starts the agent if it is not running and the caller's role allows that, unless `startAgent` is false.
    "thread/resume" OpenThread(Named<ResumeThread>) -> ThreadResumed,
        |Named { thread, params }| Ok(Request::OpenThread(Box::new(params.on(thread))));

    /// Lists threads, newest first.
    "thread/list" ListThreads(ListThreads) -> ThreadsListed,
        |params| Ok(Request::ListThreads(params.into()));

    /// Sends `thread/list/changed` to this connection when any thread is created, deleted or changes its list entry, even
    /// threads that it does not follow. Request the list after this method. If a change to a thread arrives before the list,
    /// the change takes precedence.
    "thread/list/watch" WatchThreadList(NoParams) -> Nothing,
        |_| Ok(Request::WatchThreadList { on: true, only: None });

    /// Stops watching the thread list.
    "thread/list/unwatch" WatchThreadList(NoParams) -> Nothing,
        |_| Ok(Request::WatchThreadList { on: false, only: None });

    /// Marks threads as seen by the principal of this connection, for all of its devices: also for those that it has paired, and for
    /// the principal that has paired it. A mark never goes back, and is not later than the thread's `updatedAt`. Unknown threads are ignored. The result is durable. The daemon keeps the latest
    /// 1,000 marks of a principal; threads that changed before these count as seen. Connections of the principal that
    /// watch the thread list receive `thread/list/seen`.
    "thread/seen/set" SeeThreads(SetSeen) -> ThreadsSeen,
        |params| request::SeeThreads::try_from(params).map(Request::SeeThreads);

    /// Reports that the user looks at this client now. Call it when the client comes to the front, each half minute while it
    /// is there, and when it leaves. The daemon knows by that when a principal was away: no client of it was in front for
    /// 5 minutes. The time in which the host of the daemon, or of the client, slept counts.
    "user/present" ReportPresence(NoParams) -> UserPresent,
        |_| Ok(Request::ReportPresence);

    /// Reads what threads have used: tokens of their turns, and costs, as agents reported them. The daemon computes costs from the
    /// counters of the agents' sessions, so they outlive the daemon. A turn counts when it ends. Deleted threads do not count.
    /// Returns at most 500 rows.
    "usage/read" ReadUsage(ReadUsage) -> UsageRead,
        |params| Ok(Request::ReadUsage(request::ReadUsage {
            days: params.days,
            by: params.by.unwrap_or_default(),
        }));

    /// Reads a thread without following it and without starting its agent.
    "thread/read" ReadThread(On<ReadThread>) -> ThreadFound,
        |On { thread, params }| Ok(Request::ReadThread { thread, turns: params.turns()? });

    /// Lists the subagents of a thread, in the order in which the agent has reported them.
    "thread/lanes" ListLanes(On<NoParams>) -> LanesListed,
        |On { thread, .. }| Ok(Request::ListLanes { thread });

    /// Searches all threads, including archived ones: messages of users and agents, titles of tool calls, commands and file
    /// paths. Returns the newest hits first. A text can be found once its item is complete.
    "thread/search" SearchThreads(SearchThreads) -> TextsFound,
        |params| Ok(Request::SearchThreads(params.into()));

    /// Ends the subscription. The agent keeps running.
    "thread/unsubscribe" CloseThread(On<NoParams>) -> Unsubscribed,
        |On { thread, .. }| Ok(Request::CloseThread { thread, release: false });

    /// Sets the thread's name, which takes precedence over the agent's titles. `null` removes it. `thread/updated` contains
    /// the resulting name.
    "thread/name/set" ChangeThread(On<SetName>) -> Nothing,
        |On { thread, params }| Ok(change(thread, Change::Rename { name: params.name }));

    /// Replaces all of the client's own data; `null` removes it.
    "thread/metadata/set" ChangeThread(On<SetMetadata>) -> Nothing,
        |On { thread, params }| Ok(change(thread, Change::SetMetadata { metadata: params.metadata }));

    /// Pins the thread, or removes its pin. Pins are for all users and devices. They change neither `updatedAt` nor the order of
    /// `thread/list`: clients show pinned threads first, by their places. Two threads may have the same place. Setting what is set
    /// has no effect.
    "thread/pin/set" ChangeThread(On<SetPin>) -> Nothing,
        |On { thread, params }| Ok(change(thread, Change::Pin { pinned: params.pinned, place: params.place }));

    /// Sets the directories that the thread works in, for example after they were moved. Stops the agent; the next prompt
    /// continues its session in `cwd`. Returns `conflict` while a turn runs, and `invalidParams` if a directory does not
    /// exist.
    "thread/directories/set" SetDirectories(On<SetDirectories>) -> Nothing,
        |On { thread, params }| Ok(Request::SetDirectories {
            thread,
            cwd: params.cwd,
            additional_directories: params.additional_directories,
        });

    /// Opens a further directory of the user for the thread: the agent and its commands may read and write there. Stops the agent;
    /// the next prompt continues its session. Returns `conflict` while a turn runs, and `forbidden` for directories that stay closed,
    /// such as the home directory, those with keys or programs, and acpd's own.
    "thread/directories/add" AddDirectory(On<AddDirectory>) -> Nothing,
        |On { thread, params }| Ok(Request::AddDirectory { thread, directory: params.directory });

    /// Archives the thread: `thread/list` omits it, it accepts no turns, and its agent stops. Returns `conflict` while
    /// a turn runs. Archiving an archived thread has no effect.
    "thread/archive" ChangeThread(On<NoParams>) -> Nothing,
        |On { thread, .. }| Ok(change(thread, Change::Archive));

    /// Unarchives the thread.
    "thread/unarchive" UnarchiveThread(On<NoParams>) -> ThreadFound,
        |On { thread, .. }| Ok(Request::UnarchiveThread { thread });

    /// Permanently deletes the thread and its log, after the agent's session if the agent supports that. Returns
    /// `conflict` while a turn runs. Returns when no request finds the thread any more; its data is overwritten after that.
    /// Subscribers receive `thread/deleted` as the thread's last notification.
    "thread/delete" DeleteThread(Named<NoParams>) -> Nothing,
        |Named { thread, .. }| Ok(Request::DeleteThread { thread });

    /// Removes what exceeds the limits of `[retention]` in the configuration, as the daemon does each hour. Threads that are in
    /// use stay. Returns when no request finds the removed threads any more.
    "retention/run" RunRetention(RunRetention) -> RetentionRun,
        |params| Ok(Request::RunRetention(request::RunRetention {
            dry_run: params.dry_run.unwrap_or(false),
            confirm_clock: params.confirm_clock.unwrap_or(false),
        }));

    /// Drops the turns after `turnId` from the conversation. Views and agents do not receive them; the log and exports keep
    /// them. Releases the agent's session. The next prompt opens a new one, which receives the remaining conversation.
    /// Returns `conflict` while a turn runs, and `unsupported` if agents receive no history (`recall_bytes = 0`).
    "thread/rollback" RollBack(On<RollBack>) -> RolledBack,
        |On { thread, params }| Ok(Request::RollBack { thread, last_kept: params.turn_id });

    /// Forks the thread. The new thread begins with this one's events up to the end of `turnId`, or with all of them after
    /// its last turn, and has its current permission policy. If that is the whole thread and the agent can fork its session,
    /// the new thread continues with that fork, and the answer comes when its agent has opened it. Otherwise its agent
    /// receives the conversation with the first prompt. Subscribes the caller from the end of the shared events. Returns
    /// `conflict` if the turn is not over.
    "thread/fork" ForkThread(On<ForkThread>) -> ThreadForkedResult,
        |On { thread, params }| Ok(Request::ForkThread(Box::new(params.on(thread))));

    /// Makes a link with which anyone can read this thread until the link expires, and nothing else. The thread includes its
    /// later turns. The result contains the link's secret. The link ends with the token that made it, and with the thread.
    "thread/share/create" CreateShare(Named<CreateShare>) -> ShareCreated,
        |Named { thread, params: CreateShare { expires_in_secs, name } }| {
            Ok(Request::CreateShare { thread, expires_in_secs, name })
        };

    /// Lists the links that have not expired, oldest first.
    "thread/share/list" ListShares(ListShares) -> SharesListed,
        |params| Ok(Request::ListShares { thread: params.thread_id });

    /// Revokes a link. Connections that it authenticated end before the response. Returns `not_found` if there is no such link.
    "thread/share/revoke" RevokeShare(RevokeShare) -> Nothing,
        |params| Ok(Request::RevokeShare { share: params.share_id });

    /// Sets the agent's mode. Returns once the agent has accepted it.
    "thread/mode/set" AskAgent(On<SetMode>) -> Nothing,
        |On { thread, params }| Ok(ask_agent(thread, AgentRequest::SetMode { mode_id: params.mode_id }));

    /// Sets one of the agent's config options. Returns once the agent has accepted it.
    "thread/config/set" AskAgent(On<SetConfig>) -> Nothing,
        |On { thread, params: SetConfig { config_id, value } }| {
            Ok(ask_agent(thread, AgentRequest::SetConfigOption { config_id, value }))
        };

    /// Sets or removes the thread's own permission policy.
    "thread/policy/set" SetThreadPolicy(On<SetPolicy>) -> Nothing,
        |On { thread, params }| Ok(Request::SetThreadPolicy { thread, policy: params.policy });

    /// Sends a prompt. While a turn runs, later prompts are queued. A repeated `clientTurnId` refers to the same turn. With
    /// `replacesTurnId`, returns `conflict` while a turn runs or is queued, and `not_found` if that turn is not part of the
    /// conversation.
    "turn/start" StartTurn(On<StartTurn>) -> TurnStartedResult,
        |On { thread, params }| Ok(Request::StartTurn(params.on(thread)));

    /// Sends a message during the running turn. `steered` means that the agent accepted it, and it is a message of that turn.
    /// `queued` means that it becomes a turn of its own, after the turns that are already queued.
    "turn/steer" SteerTurn(On<SteerTurn>) -> TurnSteered,
        |On { thread, params }| Ok(Request::SteerTurn { thread, input: params.content.0, turn: params.turn_id, client_turn_id: None });

    /// Runs a command line in the thread's directory and its agent's sandbox, because a user wants it. The agent does not see
    /// it. The command is an item of the running turn, or of a turn without a prompt. Returns `forbidden` if the policy denies
    /// the line, and `overloaded` while 8 such commands run.
    "thread/command/run" RunCommand(On<RunCommand>) -> CommandStarted,
        |On { thread, params }| Ok(Request::RunCommand { thread, line: params.command });

    /// Types into the terminal of a running command, of the agent or of a user. Returns `not_found` if no command runs there,
    /// `unsupported` if it runs in an editor, and `overloaded` if the program does not read and no more fits.
    "thread/terminal/write" UseTerminal(On<WriteTerminal>) -> Nothing,
        |On { thread, params }| {
            let WriteTerminal { terminal_id, text } = params;
            Ok(Request::UseTerminal { thread, terminal_id, act: TerminalAct::TypeIn(text) })
        };

    /// Ends a running command, of the agent or of a user: with SIGTERM, then with SIGKILL. Returns `not_found` if no command runs
    /// in the terminal, and `unsupported` if it runs in an editor.
    "thread/terminal/kill" UseTerminal(On<KillTerminal>) -> Nothing,
        |On { thread, params }| {
            let KillTerminal { terminal_id } = params;
            Ok(Request::UseTerminal { thread, terminal_id, act: TerminalAct::Kill })
        };

    /// Returns the diff of all files that an ended turn changed. Returns `not_found` if it has none.
    "turn/diff/read" ReadTurnDiff(On<ReadTurnDiff>) -> TurnDiffRead,
        |On { thread, params }| Ok(Request::ReadTurnDiff { thread, turn: params.turn_id });

    /// Ends a turn. The agent is asked to stop, and its open questions are answered with `cancelled`. `turn/completed` follows
    /// with the agent's response. If the agent or the daemon ends first, or `cancel_secs` pass without a response, the turn
    /// is `interrupted` and a notice says why. A queued turn is removed from the queue.
    "turn/interrupt" Interrupt(On<InterruptTurn>) -> Nothing,
        |On { thread, params }| Ok(params.on(thread));

    /// Reorders, pauses or continues the queue of turns. While it is paused, `turn/start` without a running turn starts a
    /// turn before the queued ones.
    "turn/queue/arrange" ChangeQueue(On<ArrangeQueue>) -> Nothing,
        |On { thread, params }| Ok(queue(thread, QueueChange::Arrange { first: params.turn_ids, paused: params.paused }));

    /// Replaces the prompt of a queued turn. Returns `conflict` if the turn is not queued any more.
    "turn/queue/edit" ChangeQueue(On<EditQueued>) -> Nothing,
        |On { thread, params }| Ok(queue(thread, QueueChange::Edit { turn: params.turn_id, input: params.content.0 }));

    /// Sends the prompt of a queued turn during the running turn, as `turn/steer` does, and removes it from the queue. Returns
    /// `unsupported` if the agent does not accept messages during a turn.
    "turn/queue/steer" SteerQueuedTurn(On<SteerQueued>) -> TurnSteered,
        |On { thread, params }| Ok(Request::SteerQueuedTurn { thread, turn: params.turn_id });

    /// Answers a permission request. `optionId` selects one of the agent's options; `approved` alone selects the first
    /// once-option of that kind.
    "item/approve" Answer(Approve) -> Nothing,
        |Approve(answered)| Ok(answered.into());

    /// Answers an elicitation.
    "item/answer" Answer(AnswerInput) -> Nothing,
        |AnswerInput(answered)| Ok(answered.into());

    /// Returns the policy's decision about a tool call and every matching rule.
    "policy/explain" ExplainPolicy(On<ExplainPolicy>) -> PolicyExplained,
        |On { thread, params }| Ok(Request::ExplainPolicy { thread, tool_call: params.tool_call });

    /// Returns the configured permission policies: the daemon's and an agent's. A thread's policy is
    /// part of the thread.
    "policy/read" ReadPolicies(ReadPolicy) -> PoliciesRead,
        |params| Ok(Request::ReadPolicies { agent: params.agent_type });

    /// Sets `default_agent` in the configuration file: the agent of clients that name none. As all methods of `config`, it keeps the
    /// comments and the order of the file, and returns once the daemon has applied the change. Returns `conflict`, and
    /// changes nothing, if the file has mistakes, cannot be written, or is changed by another program at the same time.
    "config/agent/set" ChangeConfig(SetDefaultAgent) -> ConfigChanged,
        |params| Ok(Request::ChangeConfig(ConfigChange::DefaultAgent { agent: params.agent_type }));

    /// Sets a preset as `policy` in the configuration file, for all agents or for one. Applies to all threads at once. An agent that
    /// gets its first setting is a configured one from then on: if there was no default agent and no other is configured, it
    /// becomes the default. Returns `conflict` if the file has a policy with rules of its own there.
    "config/policy/set" ChangeConfig(SetDefaultPolicy) -> ConfigChanged,
        |SetDefaultPolicy { agent_type, preset }| {
            Ok(Request::ChangeConfig(ConfigChange::Policy { agent: agent_type, preset }))
        };

    /// Adds a folder to `folders` of the agent's sandbox in the configuration file: the agent and its commands may read and write there
    /// in all threads. A running agent gets it when it starts again. The agent can become the default, as with `config/policy/set`.
    /// Returns `forbidden` for the same directories as `thread/directories/add`, and `unsupported` if the agent runs without acpd's
    /// sandbox.
    "config/folder/add" ChangeConfig(AllowFolder) -> ConfigChanged,
        |AllowFolder { agent_type, folder }| {
            Ok(Request::ChangeConfig(ConfigChange::AllowFolder { agent: agent_type, folder }))
        };

    /// Lists the targets of notifications, with what waits for each and its last error.
    "notification/list" ListNotificationTargets(NoParams) -> NotificationTargetsListed,
        |_| Ok(Request::ListNotificationTargets);

    /// Sends a test notification to one target or to all. Returns once each has accepted it or failed, within seconds, or
    /// within `timeout_secs` of a command.
    "notification/test" TestNotifications(TestNotifications) -> NotificationsTested,
        |params| Ok(Request::TestNotifications { target: params.target });

    /// Lists remembered answers.
    "policy/remembered/list" ListRemembered(On<NoParams>) -> RememberedListed,
        |On { thread, .. }| Ok(Request::ListRemembered { thread });

    /// Revokes a remembered answer. Only the owner can revoke an answer that applies to the agent.
    "policy/remembered/revoke" RevokeRemembered(On<RevokeRemembered>) -> Nothing,
        |On { thread, params }| Ok(Request::RevokeRemembered { thread, id: params.id });

    /// Lists the remembered answers that apply to all threads of an agent, by agent. They stay when the agent has no threads any
    /// more, or is no longer known.
    "agent/remembered/list" ListAgentAnswers(ListAgentAnswers) -> AgentAnswersListed,
        |params| Ok(Request::ListAgentAnswers { agent: params.agent_type });

    /// Revokes a remembered answer that applies to all threads of an agent. Returns `not_found` if there is no such answer.
    "agent/remembered/revoke" RevokeAgentAnswer(RevokeAgentAnswer) -> Nothing,
        |params| Ok(Request::RevokeAgentAnswer { agent: params.agent_type, id: params.id });

    /// Signs in to the agent. Returns once signed in; times out after 10 minutes.
    "agent/authenticate" SignIn(On<Authenticate>) -> Nothing,
        |On { thread, params }| {
            let (method_id, members) = (params.method_id, None);
            Ok(ask_agent(thread, AgentRequest::Authenticate { method_id, members }))
        };

    /// Returns the addresses and codes that the agent has printed on stderr for the sign-in in progress, or the last one. They
    /// are not stored, and only the owner gets them: a user who opens such an address first may sign the agent in to an
    /// account of their own.
    "agent/authenticate/read" ReadSignIn(On<NoParams>) -> SignInRead,
        |On { thread, .. }| Ok(Request::ReadSignIn { thread });

    /// Cancels a sign-in that is in progress: its request fails, and the agent is stopped until it is needed again. Returns
    /// `conflict` if there is none, or while a turn or command runs.
    "agent/authenticate/cancel" CancelSignIn(On<NoParams>) -> Nothing,
        |On { thread, .. }| Ok(Request::CancelSignIn { thread });

    /// Signs out of the agent.
    "agent/logout" SignIn(On<NoParams>) -> Nothing,
        |On { thread, .. }| Ok(ask_agent(thread, AgentRequest::Logout));

    /// Lists the sessions that the agent has stored.
    "agent/session/list" AskAgent(On<ListSessions>) -> AgentAnswered,
        |On { thread, params: ListSessions { cwd, cursor } }| {
            Ok(ask_agent(thread, AgentRequest::ListSessions { cwd, cursor }))
        };

    /// Deletes one of the sessions that the agent has stored.
    "agent/session/delete" AskAgent(On<DeleteSession>) -> Nothing,
        |On { thread, params: DeleteSession { session_id } }| {
            Ok(ask_agent(thread, AgentRequest::DeleteSession { session_id }))
        };

    /// Sends the agent an extension request, which ACP does not define. Its name begins with `_`, and not with `_acpd/`.
    "agent/request" AskAgent(On<AgentExtension>) -> AgentAnswered,
        |On { thread, params: AgentExtension { method, params } }| {
            Ok(ask_agent(thread, AgentRequest::Extension { method, params }))
        };

    /// Sends the agent an extension notification, which ACP does not define. Its name begins with `_`, and not with
    /// `_acpd/`. Returns `conflict` if the agent is not running.
    "agent/notify" NotifyAgent(On<AgentExtension>) -> Nothing,
        |On { thread, params: AgentExtension { method, params } }| {
            Ok(Request::NotifyAgent { thread, method, params, names_thread: false })
        };
}
