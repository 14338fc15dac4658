//! Every method of the app protocol that a client may call: its params, its result, who may call it, and in what
//! order it is done. The requests below, the JSON Schema, the TypeScript types and the reference all come from
//! this table.

use acpd_model::role::Role;
use acpd_model::{Failure, ThreadId};

use super::params::{
    AgentExtension, AnswerInput, Approve, Authenticate, DeleteSession, ExplainPolicy, InterruptTurn,
    ListSessions, ListThreads, Named, NoParams, On, Params, ReadThread, ResumeThread, RevokeRemembered,
    SearchThreads, SetConfig, SetMode, SetPolicy, StartThread, StartTurn,
};

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

methods! {
    /// Lists the agents that the daemon can start, and why it cannot start the others: the configured ones first,
    /// then those of the registry and those that are installed.
    "agent/list" AgentList(NoParams) -> AgentsListed, Observer, Free;

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

    /// Reads a thread without following it and without starting its agent.
    "thread/read" ThreadRead(On<ReadThread>) -> ThreadFound, Observer, Free;

    /// Finds texts of all threads, archived ones too: what people and agents said, titles of tool calls, commands, and
    /// paths of files. The newest come first. A thread's texts are found from the moment their item is complete.
    "thread/search" ThreadSearch(SearchThreads) -> TextsFound, Observer, Free;

    /// Ends the subscription. The agent goes on.
    "thread/unsubscribe" ThreadUnsubscribe(On<NoParams>) -> Unsubscribed, Observer, Thread;

    /// Sets the agent's mode. Answered once the agent has agreed.
    "thread/mode/set" ThreadModeSet(On<SetMode>) -> Nothing, Operator, Thread;

    /// Sets one of the agent's options. Answered once the agent has agreed.
    "thread/config/set" ThreadConfigSet(On<SetConfig>) -> Nothing, Operator, Thread;

    /// Gives the thread a permission policy of its own, or takes it away.
    "thread/policy/set" ThreadPolicySet(On<SetPolicy>) -> Nothing, Owner, Thread;

    /// Sends a prompt. While a turn runs, the next ones wait. The same `clientTurnId` again is the same turn.
    "turn/start" TurnStart(On<StartTurn>) -> TurnStartedResult, Operator, Thread;

    /// Ends a turn: the agent is told to stop, and what it asked is answered with `cancelled`. `turn/completed` comes
    /// when it has stopped, or when it was given up.
    "turn/interrupt" TurnInterrupt(On<InterruptTurn>) -> Nothing, Operator, Thread;

    /// Answers a permission request. `optionId` picks one of the agent's options; `approved` alone the first
    /// once-option of that kind.
    "item/approve" ItemApprove(Approve) -> Nothing, Approver, Thread;

    /// Answers a question for information.
    "item/answer" ItemAnswer(AnswerInput) -> Nothing, Approver, Thread;

    /// Says what the policy would decide about a tool call, and every rule that has a say.
    "policy/explain" PolicyExplain(On<ExplainPolicy>) -> PolicyExplained, Observer, Thread;

    /// Lists the answers that hold for more than their question.
    "policy/remembered/list" RememberedList(On<NoParams>) -> RememberedListed, Observer, Thread;

    /// Takes back an answer that holds.
    "policy/remembered/revoke" RememberedRevoke(On<RevokeRemembered>) -> Nothing, Owner, Thread;

    /// Signs in to the agent. Answered once somebody is signed in; has 10 minutes.
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
