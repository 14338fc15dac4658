//! What a client's requests do.

pub mod fork;
pub mod queries;
pub mod search;
pub mod threads;

use std::fmt;
use std::path::Path;
use std::pin::Pin;

use acpd_log::{Filter, ListedThread};
use acpd_model::limits::{LIST_PAGE, TURNS_PAGE};
use acpd_model::{ErrorCode, Failure, Origin, RawJson, Role, ThreadId};
use acpd_proto::agent::{AgentRequest, check_extension};
use acpd_proto::projection::Spec;
use acpd_proto::surface::app::{
    AnswerInput, Approve, Named, On, Order, Request, ResumeThread, StartThread, blocks, thread_json,
    turn_json, turns_json,
};
use acpd_proto::thread::{Command, Reply, Sight};
use acpd_proto::wire;
use serde_json::json;

use crate::context::Context;
use crate::feed::session_claims::SessionClaim;
use crate::feed::snapshot::FollowRequest;
use crate::host::paths;
use crate::thread::directory::{Answer, Directory, log_failure};

/// A client's request, as far as it was carried out at once.
pub struct Dispatched {
    /// What the client is to follow from now on.
    pub follow: Option<FollowRequest>,
    /// Whether the client hears nothing of that before it has the answer; if the answer is a failure, nothing at all.
    pub answer_first: bool,
    /// What it is to follow no longer.
    pub unfollow: Option<ThreadId>,
    /// Whether it is told of changes of the list of threads from now on, if that is to change.
    pub watch: Option<bool>,
    /// The rest: the answer.
    pub answer: Pin<Box<dyn Future<Output = Result<Response, Failure>> + Send>>,
}

/// An answer.
#[derive(Debug)]
pub struct Response {
    /// What the client hears.
    pub result: RawJson,
    /// What it is to follow from now on, if that was not known before.
    pub follow: Option<FollowRequest>,
}

impl fmt::Debug for Dispatched {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Dispatched").finish_non_exhaustive()
    }
}

impl Dispatched {
    pub(crate) fn answer(answer: impl Future<Output = Result<RawJson, Failure>> + Send + 'static) -> Self {
        Self::respond(async move { answer.await.map(|result| Response { result, follow: None }) })
    }

    pub(crate) fn respond(answer: impl Future<Output = Result<Response, Failure>> + Send + 'static) -> Self {
        Self {
            follow: None,
            answer_first: false,
            unfollow: None,
            watch: None,
            answer: Box::pin(answer),
        }
    }

    fn watch(watch: bool) -> Self {
        Self {
            watch: Some(watch),
            ..Self::now(Ok(json!({}).into()))
        }
    }

    fn now(result: Result<RawJson, Failure>) -> Self {
        Self::answer(std::future::ready(result))
    }
}

/// Carries out requests for one client.
#[derive(Debug, Clone)]
pub struct Service {
    /// The way to threads.
    pub directory: Directory,
    /// What they share.
    pub context: Context,
}

/// Who asks.
#[derive(Debug, Clone)]
pub struct Caller {
    /// As the log names it.
    pub by: Origin,
    /// What it may do.
    pub role: Role,
}

impl Service {
    /// Carries out `request`. What must happen in the order of the client's requests has happened on return.
    pub async fn call(
        &self,
        caller: Caller,
        request: Request,
        order: Order,
        is_following: impl Fn(ThreadId) -> bool,
    ) -> Dispatched {
        if order == Order::Free {
            let calls = self.clone();
            return Dispatched::answer(async move { calls.query(request).await });
        }
        let called = self.act(caller, request, is_following).await;
        called.unwrap_or_else(|failure| Dispatched::now(Err(failure)))
    }

    /// What changes something, or belongs to a place among what does.
    async fn act(
        &self,
        Caller { by, role }: Caller,
        request: Request,
        is_following: impl Fn(ThreadId) -> bool,
    ) -> Result<Dispatched, Failure> {
        match request {
            Request::ThreadStart(start) => self.start(by, role, start).await,
            Request::ThreadResume(Named { thread, params }) => self.resume(by, role, thread, params).await,
            Request::ThreadUnsubscribe(On { thread, .. }) => {
                let status = if is_following(thread) {
                    "unsubscribed"
                } else {
                    "notSubscribed"
                };
                let result = Ok(json!({ "status": status }).into());
                Ok(Dispatched {
                    unfollow: Some(thread),
                    ..Dispatched::now(result)
                })
            }
            Request::ThreadListWatch(_) => Ok(Dispatched::watch(true)),
            Request::ThreadListUnwatch(_) => Ok(Dispatched::watch(false)),
            Request::TurnStart(On { thread, params }) => {
                let command = Command::StartTurn {
                    input: blocks(params.text.as_deref(), params.input),
                    meta: None,
                    client_turn_id: params.client_turn_id,
                };
                let answer = self.directory.command(thread, by, command).await?;
                Ok(Dispatched::answer(async move {
                    turn_result(await_reply(answer).await?)
                }))
            }
            Request::TurnInterrupt(On { thread, params }) => {
                let turn = params.turn_id;
                self.simple(thread, by, Command::Interrupt { turn }).await
            }
            Request::ItemApprove(Approve(answered)) | Request::ItemAnswer(AnswerInput(answered)) => {
                let thread = answered.request.thread;
                let command = Command::Answer {
                    request: answered.request,
                    answer: answered.answer,
                    scope: answered.scope,
                };
                self.simple(thread, by, command).await
            }
            Request::PolicyExplain(On { thread, params }) => {
                // Who may run commands can look at the disk anyway; nobody else learns of it what is no part of a thread.
                let sight = if role.may(Role::Operator) {
                    Sight::Everything
                } else {
                    Sight::Workspace
                };
                let tool_call = params.tool_call;
                self.query_thread(thread, by, Command::Explain { tool_call, sight })
                    .await
            }
            Request::RememberedList(On { thread, .. }) => {
                self.query_thread(thread, by, Command::Remembered).await
            }
            Request::ThreadPolicySet(On { thread, params }) => {
                self.simple(thread, by, Command::SetPolicy(params.policy)).await
            }
            Request::RememberedRevoke(On { thread, params }) => {
                self.simple(thread, by, Command::Revoke { id: params.id }).await
            }
            Request::ThreadModeSet(On { thread, params }) => {
                let mode_id = params.mode_id;
                self.command_agent(thread, by, AgentRequest::SetMode { mode_id })
                    .await
            }
            Request::ThreadConfigSet(On { thread, params }) => {
                let (config_id, value) = (params.config_id, params.value);
                let request = AgentRequest::SetConfigOption { config_id, value };
                self.command_agent(thread, by, request).await
            }
            Request::AgentAuthenticate(On { thread, params }) => {
                let method_id = params.method_id;
                let members = None;
                self.command_agent(thread, by, AgentRequest::Authenticate { method_id, members })
                    .await
            }
            Request::AgentLogout(On { thread, .. }) => {
                self.command_agent(thread, by, AgentRequest::Logout).await
            }
            Request::AgentSessionDelete(On { thread, params }) => {
                let session_id = params.session_id;
                self.command_agent(thread, by, AgentRequest::DeleteSession { session_id })
                    .await
            }
            Request::AgentSessionList(On { thread, params }) => {
                let (cwd, cursor) = (params.cwd, params.cursor);
                self.query_agent(thread, by, AgentRequest::ListSessions { cwd, cursor })
                    .await
            }
            Request::AgentRequest(On { thread, params }) => {
                let (method, params) = (params.method, params.params);
                check_extension(&method)?;
                self.query_agent(thread, by, AgentRequest::Extension { method, params })
                    .await
            }
            Request::AgentNotify(On { thread, params }) => {
                let (method, params) = (params.method, params.params);
                check_extension(&method)?;
                self.simple(thread, by, Command::Notify { method, params }).await
            }
            other => self.lifecycle(by, other).await,
        }
    }

    /// Has the agent do something; that it is done is the answer.
    async fn command_agent(
        &self,
        thread: ThreadId,
        by: Origin,
        request: AgentRequest,
    ) -> Result<Dispatched, Failure> {
        self.simple(thread, by, Command::AgentRequest(request)).await
    }

    /// Has the agent do something; what it says is the answer.
    async fn query_agent(
        &self,
        thread: ThreadId,
        by: Origin,
        request: AgentRequest,
    ) -> Result<Dispatched, Failure> {
        let answer = self
            .directory
            .command(thread, by, Command::AgentRequest(request))
            .await?;
        Ok(Dispatched::answer(async move {
            match await_reply(answer).await? {
                // Its own words, number for number.
                Reply::Agent(result) => Ok(wire::object(|told| {
                    told.json("result", Some(&result));
                })),
                _ => Ok(json!({ "result": null }).into()),
            }
        }))
    }

    /// What the thread itself knows.
    pub(crate) async fn query_thread(
        &self,
        thread: ThreadId,
        by: Origin,
        command: Command,
    ) -> Result<Dispatched, Failure> {
        let answer = self.directory.command(thread, by, command).await?;
        Ok(Dispatched::answer(
            async move { result(await_reply(answer).await?) },
        ))
    }

    pub(crate) async fn simple(
        &self,
        thread: ThreadId,
        by: Origin,
        command: Command,
    ) -> Result<Dispatched, Failure> {
        let answer = self.directory.command(thread, by, command).await?;
        Ok(Dispatched::answer(async move {
            await_reply(answer).await?;
            Ok(json!({}).into())
        }))
    }

    async fn start(&self, by: Origin, role: Role, start: StartThread) -> Result<Dispatched, Failure> {
        let StartThread {
            agent_type,
            cwd,
            name,
            project_id,
            metadata,
            additional_directories,
            mcp_servers,
            mode,
            config,
            policy,
            session_id,
            text,
            input,
            client_turn_id,
        } = start;
        // As where it is set later: who starts a thread does not say what its agent may do.
        if policy.is_some() && !role.may(Role::Owner) {
            let message = format!("policy needs the role owner; this token has the role {role}");
            return Err(Failure::new(ErrorCode::Forbidden, message));
        }
        self.check_agent(&agent_type)?;
        for directory in std::iter::once(&cwd).chain(&additional_directories) {
            check_directory(directory)?;
        }
        let alone = match &session_id {
            Some(session) => Some(self.begin_with(&agent_type, session).await?),
            None => None,
        };
        let thread = ThreadId(uuid::Uuid::now_v7());
        let mut spec = Spec {
            agent: agent_type,
            cwd,
            additional_directories,
            mcp_servers,
            session_id,
            ..Spec::default()
        };
        spec.real_directories = paths::real_directories(&spec);
        // What was said before comes first.
        let begins_with_session = spec.session_id.is_some();
        let create = Command::Create {
            spec: Box::new(spec),
            name,
            project_id,
            metadata,
        };
        let created = self.directory.command(thread, by.clone(), create).await?;
        let snapshot = self.directory.subscribe(thread).await?;
        let mut settings = Vec::new();
        if let Some(policy) = policy {
            let command = Command::SetPolicy(Some(policy));
            settings.push(self.directory.command(thread, by.clone(), command).await?);
        }
        let mode = mode.map(|mode_id| AgentRequest::SetMode { mode_id });
        let config = config
            .into_iter()
            .map(|(config_id, value)| AgentRequest::SetConfigOption { config_id, value });
        for request in mode.into_iter().chain(config) {
            let command = Command::AgentRequest(request);
            settings.push(self.directory.command(thread, by.clone(), command).await?);
        }
        let input = blocks(text.as_deref(), input);
        let mut first = (!input.is_empty()).then_some(Command::StartTurn {
            input,
            meta: None,
            client_turn_id,
        });
        let mut first_turn = None;
        if let Some(command) = first.take_if(|_| !begins_with_session) {
            first_turn = Some(self.directory.command(thread, by.clone(), command).await?);
        }
        let calls = self.clone();
        let answer = Dispatched::answer(async move {
            await_reply(created).await?;
            // From here on the log knows whose it is.
            drop(alone);
            if let Some(command) = first {
                first_turn = Some(calls.directory.command(thread, by, command).await?);
            }
            for setting in settings {
                await_reply(setting).await.map_err(|failure| Failure {
                    message: format!("the thread {thread} was started, but {}", failure.message),
                    ..failure
                })?;
            }
            let turn = match first_turn {
                Some(answer) => Some(turn_result(await_reply(answer).await?)?),
                None => None,
            };
            let live = calls.directory.subscribe(thread).await?.live;
            let mut result: serde_json::Map<String, serde_json::Value> = serde_json::Map::new();
            result.insert("thread".into(), value(&thread_json(&live, None, None)));
            if let Some(turn) = turn {
                result.insert("turn".into(), value(&turn)["turn"].take());
            }
            Ok(serde_json::Value::from(result).into())
        });
        Ok(Dispatched {
            follow: Some(FollowRequest {
                thread,
                cursor: 0,
                snapshot,
            }),
            ..answer
        })
    }

    fn check_agent(&self, name: &str) -> Result<(), Failure> {
        self.context.agents.find(name).map(drop)
    }

    /// A session that a thread goes on with is that thread's: two would not know of each other's turns. One that never got
    /// it does not go on with it.
    async fn begin_with(&self, agent: &str, session: &str) -> Result<SessionClaim, Failure> {
        let conflict = |message: String| Failure::new(ErrorCode::Conflict, message);
        let start = self.context.session_claims.begin(agent, session);
        let start =
            start.ok_or_else(|| conflict("another thread is being started with this session".into()))?;
        let filter = Filter {
            agent: Some(agent.to_owned()),
            session_id: Some(session.to_owned()),
            ..Filter::default()
        };
        let found = self.context.log.list(filter, None, LIST_PAGE).await;
        for ListedThread { thread, .. } in found.map_err(|error| log_failure(&error))? {
            if self.directory.subscribe(thread).await?.live.bound {
                let message = format!("thread {thread} already uses this session");
                return Err(conflict(message));
            }
        }
        Ok(start)
    }

    async fn resume(
        &self,
        by: Origin,
        role: Role,
        thread: ThreadId,
        ResumeThread { after, limit }: ResumeThread,
    ) -> Result<Dispatched, Failure> {
        let snapshot = self.directory.subscribe(thread).await?;
        let live = snapshot.live.clone();
        let latest = live.last_seq;
        if after.is_some_and(|after| after > latest) {
            let message = format!("invalid after: the thread's latest event is {latest}");
            return Err(Failure::invalid_params(message));
        }
        // Started in the background: who only wants to look need not wait for the agent.
        if role.may(Role::Operator) && self.context.agents.knows(&live.spec.agent) {
            drop(self.directory.command(thread, by, Command::Wake).await?);
        }
        let calls = self.clone();
        let answer = Dispatched::answer(async move {
            let thread_json = match after {
                Some(_) => thread_json(&live, None, None),
                None => {
                    let transcript = calls.transcript(thread, latest, None).await?;
                    let (turns, older) = turns_json(&transcript, None, limit.unwrap_or(TURNS_PAGE));
                    thread_json(&live, Some(&turns), older.map(|at| at.to_string()).as_deref())
                }
            };
            Ok(wire::object(|result| {
                result
                    .json("thread", Some(&thread_json))
                    .put("latestSeq", &latest);
            }))
        });
        Ok(Dispatched {
            follow: Some(FollowRequest {
                thread,
                cursor: after.unwrap_or(latest),
                snapshot,
            }),
            answer_first: true,
            ..answer
        })
    }
}

/// The table says otherwise about the order of this request than the code that carries it out.
pub(crate) fn misrouted(request: &Request) -> Failure {
    tracing::error!(?request, "a request came by the wrong way");
    Failure::new(ErrorCode::Internal, "the daemon cannot carry out this request")
}

/// Waits for a thread's answer.
pub async fn await_reply(answer: Answer) -> Result<Reply, Failure> {
    let asleep = |_| Failure::new(ErrorCode::Overloaded, "the thread is being unloaded; try again");
    answer.await.map_err(asleep)?
}

fn turn_result(reply: Reply) -> Result<RawJson, Failure> {
    match reply {
        Reply::Turn(turn) => Ok(wire::object(|result| {
            result.json("turn", Some(&turn_json(&turn)));
        })),
        _ => Err(Failure::new(
            ErrorCode::Internal,
            "the thread answered without a turn",
        )),
    }
}

/// The result of what a thread knows by itself.
fn result(reply: Reply) -> Result<RawJson, Failure> {
    let json = match reply {
        Reply::Steered { turn, delivery } => json!({ "turnId": turn, "delivery": delivery }),
        Reply::RolledBack(fidelity) => json!({ "fidelity": fidelity }),
        Reply::Remembered(rules) => json!({ "data": rules }),
        Reply::Explained(explanation) => {
            return RawJson::of(&explanation).map_err(|error| {
                Failure::new(
                    ErrorCode::Internal,
                    format!("the decision cannot be told: {error}"),
                )
            });
        }
        _ => json!({}),
    };
    Ok(json.into())
}

fn value(raw: &RawJson) -> serde_json::Value {
    raw.read().unwrap_or_default()
}

/// Refuses what is no directory of this host.
pub fn check_directory(path: &str) -> Result<(), Failure> {
    let directory = Path::new(path);
    if !directory.is_absolute() {
        return Err(Failure::invalid_params(format!(
            "{path:?} is not an absolute path"
        )));
    }
    if !directory.is_dir() {
        return Err(Failure::invalid_params(format!(
            "directory not found on the daemon's host: {path:?}"
        )));
    }
    Ok(())
}
