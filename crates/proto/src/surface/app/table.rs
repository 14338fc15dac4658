//! Every method of the app protocol that a client may call: its params, its result, and the request that it is. The
//! JSON Schema, the TypeScript types and the reference all come from this table.

use acpd_model::role::Role;
use acpd_model::{Failure, ThreadId};

use super::params::{
    AgentExtension, AnswerInput, Approve, Authenticate, DeleteSession, ExamineAgent, ExplainPolicy,
    InterruptTurn, ListSessions, ListThreads, Named, NoParams, On, Params, ReadPolicy, ReadThread,
    ResumeThread, RevokeRemembered, SearchThreads, SetConfig, SetMode, SetPolicy, StartThread, StartTurn,
};
use super::results::ResultType;
use super::thread_params::{ForkThread, RollBack, SetMetadata, SetName, SteerTurn};
use crate::agent::AgentRequest;
use crate::surface::request::{Request, RequestKind};
use crate::thread::Change;

/// What holds for all requests of one method.
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// What its requests ask for.
    pub kind: RequestKind,
    /// What it answers.
    pub(super) result: ResultType,
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

    /// The least role that may call it.
    pub fn role(&self) -> Role {
        self.kind.role()
    }

    /// Reads a request. `current` is the thread that is meant where none is named.
    pub fn read(&self, params: &str, current: Option<ThreadId>) -> Result<Request, Failure> {
        let request = (self.read)(params, current)?;
        debug_assert_eq!(request.kind(), self.kind, "the row of {}", self.name);
        Ok(request)
    }
}

macro_rules! methods {
    ($(
        $(#[doc = $about:literal])+
        $name:literal $kind:ident($params:ty) -> $result:ident, $request:expr;
    )+) => {
        /// Every method.
        pub static METHODS: &[Method] = &[$(
            Method {
                name: $name,
                kind: RequestKind::$kind,
                result: ResultType::$result,
                read: |params, current| {
                    let request: fn($params) -> Result<Request, Failure> = $request;
                    request(<$params>::read(params, current)?)
                },
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

fn change(thread: ThreadId, change: Change) -> Request {
    Request::ChangeThread { thread, change }
}

fn ask_agent(thread: ThreadId, request: AgentRequest) -> Request {
    Request::AskAgent {
        thread: Some(thread),
        request,
        names_thread: false,
    }
}

methods! {
    /// Lists the agents that the daemon can start, and why it cannot start the others: the configured ones first,
    /// then those of the registry and those that are installed.
    "agent/list" ListAgents(NoParams) -> AgentsListed,
        |_| Ok(Request::ListAgents);

    /// Lists running agent processes with their memory use, busy ones first.
    "agent/running" ListRunningAgents(NoParams) -> AgentsRunning,
        |_| Ok(Request::ListRunningAgents);

    /// Starts the agent, sends `initialize`, and stops it. Creates no thread and no session. Returns the findings even if
    /// the agent fails. Times out after `agent_start_secs`.
    "agent/doctor" ExamineAgent(ExamineAgent) -> AgentExamined,
        |params| Ok(Request::ExamineAgent { agent: params.agent_type });

    /// Makes a thread, starts its agent and opens a session. Answered once the agent is ready; `thread/started`
    /// comes at once, and the caller is subscribed from there on. `mode` and `config` are set before the first turn:
    /// if one of them is refused, so is the request, and the thread is there all the same.
    "thread/start" StartThread(StartThread) -> ThreadStarted,
        |params| Ok(Request::StartThread(Box::new(params.into())));

    /// Subscribes. With `after`, every later event follows as the notification it was, without gap or repeat;
    /// without it, the result has the thread's latest turns. Open questions are asked again either way. Starts the
    /// agent if it is gone and the caller may do that.
    "thread/resume" OpenThread(Named<ResumeThread>) -> ThreadResumed,
        |Named { thread, params }| Ok(Request::OpenThread(Box::new(params.on(thread))));

    /// Lists threads, the newest first.
    "thread/list" ListThreads(ListThreads) -> ThreadsListed,
        |params| Ok(Request::ListThreads(params.into()));

    /// Sends `thread/list/changed` to this connection when any thread is created, deleted or listed differently, even
    /// threads that it does not follow. Ask for the list after that, and for a thread of which a
    /// change comes while the list is on its way, let the change win.
    "thread/list/watch" WatchThreadList(NoParams) -> Nothing,
        |_| Ok(Request::WatchThreadList { on: true });

    /// Stops watching the thread list.
    "thread/list/unwatch" WatchThreadList(NoParams) -> Nothing,
        |_| Ok(Request::WatchThreadList { on: false });

    /// Reads a thread without following it and without starting its agent.
    "thread/read" ReadThread(On<ReadThread>) -> ThreadFound,
        |On { thread, params }| Ok(Request::ReadThread { thread, turns: params.turns()? });

    /// Finds texts of all threads, archived ones too: what people and agents said, titles of tool calls, commands, and
    /// paths of files. The newest come first. A thread's texts are found from the moment their item is complete.
    "thread/search" SearchThreads(SearchThreads) -> TextsFound,
        |params| Ok(Request::SearchThreads(params.into()));

    /// Ends the subscription. The agent keeps running.
    "thread/unsubscribe" CloseThread(On<NoParams>) -> Unsubscribed,
        |On { thread, .. }| Ok(Request::CloseThread { thread, release: false });

    /// Names the thread. Such a name wins over the agent's titles; `null` gives it back. `thread/updated` has the name
    /// that the thread is called by from then on.
    "thread/name/set" ChangeThread(On<SetName>) -> Nothing,
        |On { thread, params }| Ok(change(thread, Change::Rename { name: params.name }));

    /// Replaces the client's own data as a whole; `null` takes them away.
    "thread/metadata/set" ChangeThread(On<SetMetadata>) -> Nothing,
        |On { thread, params }| Ok(change(thread, Change::SetMetadata { metadata: params.metadata }));

    /// Archives the thread: `thread/list` omits it, it accepts no turns, and its agent stops. Returns `conflict` while
    /// a turn runs. Archiving an archived thread has no effect.
    "thread/archive" ChangeThread(On<NoParams>) -> Nothing,
        |On { thread, .. }| Ok(change(thread, Change::Archive));

    /// Unarchives the thread.
    "thread/unarchive" ChangeThread(On<NoParams>) -> ThreadFound,
        |On { thread, .. }| Ok(change(thread, Change::Unarchive));

    /// Deletes the thread and its log, for good; before it, the agent's session where the agent can do that.
    /// `conflict` while a turn runs. Answered when nothing is left; those who follow the thread get `thread/deleted`
    /// as its last notification.
    "thread/delete" DeleteThread(Named<NoParams>) -> Nothing,
        |Named { thread, .. }| Ok(Request::DeleteThread { thread });

    /// Drops the turns after `turnId` from the conversation: no view shows them, no agent is told of them, the log and
    /// exports keep them. The agent's session is let go; the next prompt opens a new one, which is told what is kept.
    /// `conflict` while a turn runs, `unsupported` where agents are told nothing (`recall_bytes = 0`).
    "thread/rollback" ChangeThread(On<RollBack>) -> RolledBack,
        |On { thread, params }| Ok(change(thread, Change::RollBack { last_kept: params.turn_id }));

    /// Splits a new thread off: it begins with this one's events up to the end of `turnId`, and has its permission
    /// policy as it is now. Where that is the whole thread and the agent can fork its session, the new one goes on with
    /// that fork; else its agent is told the conversation with the first prompt. The caller is subscribed, from the end
    /// of what was copied on. `conflict` if the turn is not over.
    "thread/fork" ForkThread(On<ForkThread>) -> ThreadForkedResult,
        |On { thread, params }| Ok(Request::ForkThread(Box::new(params.on(thread))));

    /// Sets the agent's mode. Answered once the agent has agreed.
    "thread/mode/set" AskAgent(On<SetMode>) -> Nothing,
        |On { thread, params }| Ok(ask_agent(thread, AgentRequest::SetMode { mode_id: params.mode_id }));

    /// Sets one of the agent's options. Answered once the agent has agreed.
    "thread/config/set" AskAgent(On<SetConfig>) -> Nothing,
        |On { thread, params: SetConfig { config_id, value } }| {
            Ok(ask_agent(thread, AgentRequest::SetConfigOption { config_id, value }))
        };

    /// Gives the thread a permission policy of its own, or takes it away.
    "thread/policy/set" SetThreadPolicy(On<SetPolicy>) -> Nothing,
        |On { thread, params }| Ok(Request::SetThreadPolicy { thread, policy: params.policy });

    /// Sends a prompt. While a turn runs, the next ones wait. The same `clientTurnId` again is the same turn.
    "turn/start" StartTurn(On<StartTurn>) -> TurnStartedResult,
        |On { thread, params }| Ok(Request::StartTurn(params.on(thread)));

    /// Says something in the middle of the running turn: `steered` if the agent takes the words into it, which then are a
    /// message of that turn; else `queued`: they are a turn of their own, after those that wait.
    "turn/steer" SteerTurn(On<SteerTurn>) -> TurnSteered,
        |On { thread, params }| Ok(Request::SteerTurn { thread, input: params.content.0, turn: params.turn_id });

    /// Ends a turn: the agent is told to stop, and what it asked is answered with `cancelled`. `turn/completed` comes
    /// with the agent's answer. If the agent or the daemon ends first, or `cancel_secs` pass without an answer, the turn
    /// is `interrupted` and a notice says why. A turn that waits is taken back.
    "turn/interrupt" Interrupt(On<InterruptTurn>) -> Nothing,
        |On { thread, params }| Ok(Request::Interrupt { thread, turn: params.turn_id });

    /// Answers a permission request. `optionId` picks one of the agent's options; `approved` alone the first
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

    /// Lists remembered answers.
    "policy/remembered/list" ListRemembered(On<NoParams>) -> RememberedListed,
        |On { thread, .. }| Ok(Request::ListRemembered { thread });

    /// Revokes a remembered answer. One that holds for the agent only the owner takes back.
    "policy/remembered/revoke" RevokeRemembered(On<RevokeRemembered>) -> Nothing,
        |On { thread, params }| Ok(Request::RevokeRemembered { thread, id: params.id });

    /// Signs in to the agent. Returns once signed in; times out after 10 minutes.
    "agent/authenticate" SignIn(On<Authenticate>) -> Nothing,
        |On { thread, params }| {
            let (method_id, members) = (params.method_id, None);
            Ok(ask_agent(thread, AgentRequest::Authenticate { method_id, members }))
        };

    /// Signs out of the agent.
    "agent/logout" SignIn(On<NoParams>) -> Nothing,
        |On { thread, .. }| Ok(ask_agent(thread, AgentRequest::Logout));

    /// Lists the sessions that the agent keeps.
    "agent/session/list" AskAgent(On<ListSessions>) -> AgentAnswered,
        |On { thread, params: ListSessions { cwd, cursor } }| {
            Ok(ask_agent(thread, AgentRequest::ListSessions { cwd, cursor }))
        };

    /// Deletes one of the sessions that the agent keeps.
    "agent/session/delete" AskAgent(On<DeleteSession>) -> Nothing,
        |On { thread, params: DeleteSession { session_id } }| {
            Ok(ask_agent(thread, AgentRequest::DeleteSession { session_id }))
        };

    /// Sends the agent a request that ACP does not know; its name begins with `_`.
    "agent/request" AskAgent(On<AgentExtension>) -> AgentAnswered,
        |On { thread, params: AgentExtension { method, params } }| {
            Ok(ask_agent(thread, AgentRequest::Extension { method, params }))
        };

    /// Sends the agent a notification that ACP does not know; its name begins with `_`. `conflict` if the agent is
    /// not running.
    "agent/notify" NotifyAgent(On<AgentExtension>) -> Nothing,
        |On { thread, params: AgentExtension { method, params } }| {
            Ok(Request::NotifyAgent { thread, method, params, names_thread: false })
        };
}
