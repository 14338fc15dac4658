//! Every method of the app protocol that a client may call: its params, its result, who may call it, and in what
//! order it is done. The requests below, the JSON Schema, the TypeScript types and the reference all come from
//! this table.

use acpd_model::role::Role;
use acpd_model::{Failure, ThreadId};

use super::params::{
    AgentExtension, AnswerInput, Approve, Authenticate, DeleteSession, ExamineAgent, ExplainPolicy,
    InterruptTurn, ListSessions, ListThreads, Named, NoParams, On, Params, ReadPolicy, ReadThread,
    ResumeThread, RevokeRemembered, SearchThreads, SetConfig, SetMode, SetPolicy, StartThread, StartTurn,
};
use super::thread_params::{ForkThread, RollBack, SetMetadata, SetName, SteerTurn};
use acpd_policy::{AGENT_IDS, Scope};

/// In what order a request is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Done whenever it can be: it only looks.
    Free,
    /// Done in the order in which this connection asked, as far as the same thread is concerned.
    Thread,
}

impl Order {
    /// The word for it in the schema.
    pub fn word(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Thread => "thread",
        }
    }
}

/// What holds for all requests of one method.
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// The least role that may call it.
    pub role: Role,
    /// In what order its requests are done.
    pub order: Order,
    read: fn(&str, Option<ThreadId>) -> Result<Request, Failure>,
    /// What it does, and its types.
    #[cfg(test)]
    pub(super) described: super::describe::Described,
}

impl std::fmt::Debug for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Method").field(&self.name).finish()
    }
}

impl Method {
    /// The method of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        METHODS.iter().find(|method| method.name == name)
    }

    /// Reads a request. `current` is the thread that is meant where none is named.
    pub fn read(&self, params: &str, current: Option<ThreadId>) -> Result<Request, Failure> {
        (self.read)(params, current)
    }
}

macro_rules! methods {
    ($(
        $(#[doc = $about:literal])+
        $name:literal $request:ident($params:ty) -> $result:ident, $role:ident, $order:ident;
    )+) => {
        /// A request that the daemon carries out. A thread that was left out has been filled in.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Request {
            $( $(#[doc = $about])+ $request($params), )+
        }

        /// Every method.
        pub static METHODS: &[Method] = &[$(
            Method {
                name: $name,
                role: Role::$role,
                order: Order::$order,
                read: |params, current| <$params>::read(params, current).map(Request::$request),
                #[cfg(test)]
                described: super::describe::Described {
                    about: concat!($($about),+),
                    params: <$params>::schema,
                    result: |generator| generator.subschema_for::<super::describe::$result>(),
                },
            },
        )+];
    };
}

impl Request {
    /// Whether it is about answers that hold in more than one thread. That takes the owner, whatever role the method needs.
    pub(super) fn is_about_all_threads(&self) -> bool {
        match self {
            Self::ItemApprove(Approve(answered)) => {
                matches!(answered.scope, Some(Scope::Agent | Scope::Daemon))
            }
            Self::RememberedRevoke(On { params, .. }) => params.id >= AGENT_IDS,
            _ => false,
        }
    }
}

methods! {
    /// Lists the agents that the daemon can start, and why it cannot start the others: the configured ones first,
    /// then those of the registry and those that are installed.
    "agent/list" AgentList(NoParams) -> AgentsListed, Observer, Free;

    /// Lists running agent processes with their memory use, busy ones first.
    "agent/running" AgentRunning(NoParams) -> AgentsRunning, Observer, Free;

    /// Starts the agent, sends `initialize`, and stops it. Creates no thread and no session. Returns the findings even if
    /// the agent fails. Times out after `agent_start_secs`.
    "agent/doctor" AgentDoctor(ExamineAgent) -> AgentExamined, Operator, Free;

    /// Makes a thread, starts its agent and opens a session. Answered once the agent is ready; `thread/started`
    /// comes at once, and the caller is subscribed from there on. `mode` and `config` are set before the first turn:
    /// if one of them is refused, so is the request, and the thread is there all the same.
    "thread/start" ThreadStart(StartThread) -> ThreadStarted, Operator, Thread;

    /// Subscribes. With `after`, every later event follows as the notification it was, without gap or repeat;
    /// without it, the result has the thread's latest turns. Open questions are asked again either way. Starts the
    /// agent if it is gone and the caller may do that.
    "thread/resume" ThreadResume(Named<ResumeThread>) -> ThreadResumed, Observer, Thread;

    /// Lists threads, the newest first.
    "thread/list" ThreadList(ListThreads) -> ThreadsListed, Observer, Free;

    /// Sends `thread/list/changed` to this connection when any thread is created, deleted or listed differently, even
    /// threads that it does not follow. Ask for the list after that, and for a thread of which a
    /// change comes while the list is on its way, let the change win.
    "thread/list/watch" ThreadListWatch(NoParams) -> Nothing, Observer, Thread;

    /// Stops watching the thread list.
    "thread/list/unwatch" ThreadListUnwatch(NoParams) -> Nothing, Observer, Thread;

    /// Reads a thread without following it and without starting its agent.
    "thread/read" ThreadRead(On<ReadThread>) -> ThreadFound, Observer, Free;

    /// Finds texts of all threads, archived ones too: what people and agents said, titles of tool calls, commands, and
    /// paths of files. The newest come first. A thread's texts are found from the moment their item is complete.
    "thread/search" ThreadSearch(SearchThreads) -> TextsFound, Observer, Free;

    /// Ends the subscription. The agent keeps running.
    "thread/unsubscribe" ThreadUnsubscribe(On<NoParams>) -> Unsubscribed, Observer, Thread;

    /// Names the thread. Such a name wins over the agent's titles; `null` gives it back. `thread/updated` has the name
    /// that the thread is called by from then on.
    "thread/name/set" ThreadNameSet(On<SetName>) -> Nothing, Operator, Thread;

    /// Replaces the client's own data as a whole; `null` takes them away.
    "thread/metadata/set" ThreadMetadataSet(On<SetMetadata>) -> Nothing, Operator, Thread;

    /// Archives the thread: `thread/list` omits it, it accepts no turns, and its agent stops. Returns `conflict` while
    /// a turn runs. Archiving an archived thread has no effect.
    "thread/archive" ThreadArchive(On<NoParams>) -> Nothing, Operator, Thread;

    /// Unarchives the thread.
    "thread/unarchive" ThreadUnarchive(On<NoParams>) -> ThreadFound, Operator, Thread;

    /// Deletes the thread and its log, for good; before it, the agent's session where the agent can do that.
    /// `conflict` while a turn runs. Answered when nothing is left; those who follow the thread get `thread/deleted`
    /// as its last notification.
    "thread/delete" ThreadDelete(Named<NoParams>) -> Nothing, Owner, Thread;

    /// Drops the turns after `turnId` from the conversation: no view shows them, no agent is told of them, the log and
    /// exports keep them. The agent's session is let go; the next prompt opens a new one, which is told what is kept.
    /// `conflict` while a turn runs, `unsupported` where agents are told nothing (`recall_bytes = 0`).
    "thread/rollback" ThreadRollback(On<RollBack>) -> RolledBack, Operator, Thread;

    /// Splits a new thread off: it begins with this one's events up to the end of `turnId`, and has its permission
    /// policy as it is now. Where that is the whole thread and the agent can fork its session, the new one goes on with
    /// that fork; else its agent is told the conversation with the first prompt. The caller is subscribed, from the end
    /// of what was copied on. `conflict` if the turn is not over.
    "thread/fork" ThreadFork(On<ForkThread>) -> ThreadForkedResult, Operator, Thread;

    /// Sets the agent's mode. Answered once the agent has agreed.
    "thread/mode/set" ThreadModeSet(On<SetMode>) -> Nothing, Operator, Thread;

    /// Sets one of the agent's options. Answered once the agent has agreed.
    "thread/config/set" ThreadConfigSet(On<SetConfig>) -> Nothing, Operator, Thread;

    /// Gives the thread a permission policy of its own, or takes it away.
    "thread/policy/set" ThreadPolicySet(On<SetPolicy>) -> Nothing, Owner, Thread;

    /// Sends a prompt. While a turn runs, the next ones wait. The same `clientTurnId` again is the same turn.
    "turn/start" TurnStart(On<StartTurn>) -> TurnStartedResult, Operator, Thread;

    /// Says something in the middle of the running turn: `steered` if the agent takes the words into it, which then are a
    /// message of that turn; else `queued`: they are a turn of their own, after those that wait.
    "turn/steer" TurnSteer(On<SteerTurn>) -> TurnSteered, Operator, Thread;

    /// Ends a turn: the agent is told to stop, and what it asked is answered with `cancelled`. `turn/completed` comes
    /// with the agent's answer. If the agent or the daemon ends first, or `cancel_secs` pass without an answer, the turn
    /// is `interrupted` and a notice says why. A turn that waits is taken back.
    "turn/interrupt" TurnInterrupt(On<InterruptTurn>) -> Nothing, Operator, Thread;

    /// Answers a permission request. `optionId` picks one of the agent's options; `approved` alone the first
    /// once-option of that kind.
    "item/approve" ItemApprove(Approve) -> Nothing, Approver, Thread;

    /// Answers an elicitation.
    "item/answer" ItemAnswer(AnswerInput) -> Nothing, Approver, Thread;

    /// Returns the policy's decision about a tool call and every matching rule.
    "policy/explain" PolicyExplain(On<ExplainPolicy>) -> PolicyExplained, Observer, Thread;

    /// Returns the configured permission policies: the daemon's and an agent's. A thread's policy is
    /// part of the thread.
    "policy/read" PolicyRead(ReadPolicy) -> PoliciesRead, Observer, Free;

    /// Lists remembered answers.
    "policy/remembered/list" RememberedList(On<NoParams>) -> RememberedListed, Observer, Thread;

    /// Revokes a remembered answer. One that holds for the agent only the owner takes back.
    "policy/remembered/revoke" RememberedRevoke(On<RevokeRemembered>) -> Nothing, Approver, Thread;

    /// Signs in to the agent. Returns once signed in; times out after 10 minutes.
    "agent/authenticate" AgentAuthenticate(On<Authenticate>) -> Nothing, Owner, Thread;

    /// Signs out of the agent.
    "agent/logout" AgentLogout(On<NoParams>) -> Nothing, Owner, Thread;

    /// Lists the sessions that the agent keeps.
    "agent/session/list" AgentSessionList(On<ListSessions>) -> AgentAnswered, Operator, Thread;

    /// Deletes one of the sessions that the agent keeps.
    "agent/session/delete" AgentSessionDelete(On<DeleteSession>) -> Nothing, Operator, Thread;

    /// Sends the agent a request that ACP does not know; its name begins with `_`.
    "agent/request" AgentRequest(On<AgentExtension>) -> AgentAnswered, Operator, Thread;

    /// Sends the agent a notification that ACP does not know; its name begins with `_`. `conflict` if the agent is
    /// not running.
    "agent/notify" AgentNotify(On<AgentExtension>) -> Nothing, Operator, Thread;
}
