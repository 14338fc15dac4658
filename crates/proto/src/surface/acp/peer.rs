//! One connection of an editor.

use std::collections::BTreeMap;

use acpd_model::limits::EDITOR_REQUESTS;
use acpd_model::{ErrorCode, Failure, RawJson, RequestId, Role, Seq, ThreadId, TurnId};
use bytes::Bytes;
use serde_json::json;
use serde_json::value::RawValue;

use super::call::{Call, Listed, Opened, Reply};
use super::encode::{Ending, Feature, Frame, Question, What, one_line};
use super::hello::{self, Client};
use super::params::{
    self, Authenticate, CancelRequest, ListSessions, NewSession, SetConfigOption, SetMode, SetModel,
};
use super::session::{Opening, Session, Way};
use super::{answer, splice};
use crate::agent::AgentRequest;
use crate::queue::Queue;
use crate::surface::export::rfc3339;
use crate::wire::{self, Message, Object, RpcError};

/// What the connection wants done. One after another: a message may belong behind what was sent before.
#[derive(Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "one of them is made for each request, and handed on at once"
)]
pub enum PeerOutput {
    /// Send one message.
    Send(Bytes),
    /// Do something; its answer goes to [`Peer::reply`] under `token`. Of what is answered to nobody it may be left out.
    Call {
        /// Names the answer.
        token: u64,
        /// What.
        call: Call,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    New,
    Greeting,
    Ready,
}

/// Where an answer goes: mostly to a request, under its id.
#[derive(Debug)]
enum ReplyTo {
    Hello(RawJson),
    Open(RawJson, Way),
    /// What the agent answered, or nothing.
    Result(RawJson),
    Sessions(RawJson),
    Deleted(RawJson, ThreadId),
    Prompt(String),
}

/// A prompt of this connection, from when it came until its turn is over.
#[derive(Debug)]
struct Prompt {
    /// The editor's id for the request; none once it was answered.
    id: Option<RawJson>,
    thread: ThreadId,
    /// The turn's id by us.
    name: String,
    /// The turn, once it is known.
    turn: Option<TurnId>,
    /// Whether it is to end as soon as its turn is known.
    cancelled: bool,
}

/// One connection: reads messages, keeps the handshake and the sessions that are open, writes answers.
#[derive(Debug)]
pub struct Peer {
    principal: String,
    role: Role,
    /// Names the connection among all others, for the ids of its turns.
    connection: String,
    phase: Phase,
    client: Client,
    sessions: BTreeMap<ThreadId, Session>,
    prompts: Vec<Prompt>,
    prompts_so_far: u64,
    waiting: BTreeMap<u64, ReplyTo>,
    next_token: u64,
    out: Queue<PeerOutput>,
}

impl Peer {
    /// A connection of `principal`, before its handshake. No other connection has, or had, the name `connection`.
    pub fn new(principal: String, role: Role, connection: String) -> Self {
        Self {
            principal,
            role,
            connection,
            phase: Phase::New,
            client: Client::default(),
            sessions: BTreeMap::new(),
            prompts: Vec::new(),
            prompts_so_far: 0,
            waiting: BTreeMap::new(),
            next_token: 0,
            out: Queue::default(),
        }
    }

    /// Who is at the other end; nameless before the handshake.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Whose credentials it showed.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// What it may do.
    pub fn role(&self) -> Role {
        self.role
    }

    /// What is to be done next.
    pub fn poll_output(&mut self) -> Option<PeerOutput> {
        self.out.pop()
    }

    /// Takes one message.
    pub fn handle_text(&mut self, text: &str) {
        match Message::parse(text) {
            Ok(Message::Request { id, method, params }) => {
                if let Err(failure) = self.request(id, &method, params) {
                    self.refuse(&id.into(), &failure);
                }
            }
            Ok(Message::Notification { method, params }) => self.notification(&method, params),
            Ok(Message::Response { id, result }) => self.response(id, result.ok()),
            Err(malformed) => {
                let code = if malformed.is_json {
                    ErrorCode::InvalidRequest
                } else {
                    ErrorCode::ParseError
                };
                self.refuse(&RawJson::trusted("null"), &Failure::new(code, malformed.reason));
            }
        }
    }

    /// Takes the answer to a [`PeerOutput::Call`].
    pub fn reply(&mut self, token: u64, result: Result<Reply, Failure>) {
        let Some(reply_to) = self.waiting.remove(&token) else {
            return;
        };
        match (reply_to, result) {
            (ReplyTo::Hello(id), Ok(Reply::Json(agent))) => {
                self.phase = Phase::Ready;
                self.answer(&id, &hello::welcome(&agent));
            }
            (ReplyTo::Hello(id), Err(failure)) => {
                self.phase = Phase::New;
                self.refuse(&id, &failure);
            }
            (ReplyTo::Open(id, way), Ok(Reply::Opened(opened))) => self.opened(id, way, opened),
            (ReplyTo::Result(id), Ok(Reply::Json(result))) if result.get() != "null" => {
                self.answer(&id, &result)
            }
            (ReplyTo::Result(id), Ok(_)) => self.answer(&id, &RawJson::trusted("{}")),
            (
                ReplyTo::Sessions(id),
                Ok(Reply::Sessions {
                    sessions,
                    next_cursor,
                }),
            ) => {
                self.answer(&id, &session_list(&sessions, next_cursor.as_deref()));
            }
            (ReplyTo::Deleted(id, thread), Ok(_)) => {
                self.leave(thread);
                self.answer(&id, &RawJson::trusted("{}"));
            }
            (ReplyTo::Prompt(name), Ok(Reply::Turn(turn))) => self.turn_known(&name, turn),
            (ReplyTo::Prompt(name), result) => {
                let at = self.prompts.iter().position(|prompt| prompt.name == name);
                let id = at.and_then(|at| self.prompts.remove(at).id);
                if let Some(id) = id {
                    self.refuse(&id, &result.err().unwrap_or_else(misplaced));
                }
            }
            (
                ReplyTo::Open(id, _) | ReplyTo::Result(id) | ReplyTo::Sessions(id) | ReplyTo::Deleted(id, _),
                Err(failure),
            ) => self.refuse(&id, &failure),
            (ReplyTo::Hello(id) | ReplyTo::Open(id, _) | ReplyTo::Sessions(id), Ok(_)) => {
                self.refuse(&id, &misplaced());
            }
        }
    }

    /// Takes frames of a thread, in order, each once, up to event `last`. `pending` says of a frame's question whether it is
    /// still open.
    pub fn deliver<'f>(
        &mut self,
        thread: ThreadId,
        frames: impl IntoIterator<Item = &'f Frame>,
        last: Seq,
        pending: impl Fn(Seq, RequestId) -> bool,
    ) {
        for frame in frames {
            self.reached(thread, frame.seq.saturating_sub(1));
            self.frame(thread, frame, &pending);
        }
        self.reached(thread, last);
    }

    /// A thread cannot be followed any further.
    pub fn lost(&mut self, thread: ThreadId, failure: &Failure) {
        let ended = self.prompts.extract_if(.., |prompt| prompt.thread == thread);
        let ids: Vec<RawJson> = ended.filter_map(|prompt| prompt.id).collect();
        ids.iter().for_each(|id| self.refuse(id, failure));
        if let Some(opening) = self.sessions.remove(&thread).and_then(|session| session.opening) {
            self.refuse(&opening.id, failure);
        }
    }

    fn request(&mut self, id: &RawValue, method: &str, params: Option<&RawValue>) -> Result<(), Failure> {
        let invalid = |message| Err(Failure::new(ErrorCode::InvalidRequest, message));
        match (self.phase, method) {
            (Phase::New, "initialize") => {
                self.client = Client::read(params.map(RawValue::get));
                self.phase = Phase::Greeting;
                self.call(Call::Hello, Some(ReplyTo::Hello(id.into())));
                return Ok(());
            }
            (_, "initialize") => return invalid("the connection is initialized already"),
            (Phase::New | Phase::Greeting, _) => return invalid("the connection is not initialized yet"),
            (Phase::Ready, _) => {}
        }
        let openings = self
            .sessions
            .values()
            .filter(|session| session.opening.is_some())
            .count();
        if self.waiting.len() + self.prompts.len() + openings >= EDITOR_REQUESTS {
            let message = format!("{EDITOR_REQUESTS} requests of this connection are unanswered already");
            return Err(Failure::new(ErrorCode::Overloaded, message));
        }
        self.need(role_for(method), method)?;
        let (call, reply_to) = self.read(id.into(), method, params)?;
        self.call(call, Some(reply_to));
        Ok(())
    }

    fn need(&self, role: Role, what: &str) -> Result<(), Failure> {
        if self.role.may(role) {
            return Ok(());
        }
        let message = format!(
            "{what} needs the role {role}; this connection has the role {}",
            self.role
        );
        Err(Failure::new(ErrorCode::Forbidden, message))
    }

    fn read(
        &mut self,
        id: RawJson,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(Call, ReplyTo), Failure> {
        Ok(match method {
            "session/new" => {
                let NewSession {
                    cwd,
                    additional_directories,
                    mcp_servers,
                } = params::read(method, params)?;
                let call = Call::New {
                    cwd,
                    additional_directories: additional_directories.unwrap_or_default(),
                    mcp_servers: mcp_servers.unwrap_or_default(),
                };
                (call, ReplyTo::Open(id, Way::New))
            }
            "session/load" => (
                Call::Load(params::thread(method, params)?),
                ReplyTo::Open(id, Way::Load),
            ),
            "session/resume" => (
                Call::Resume(params::thread(method, params)?),
                ReplyTo::Open(id, Way::Resume),
            ),
            "session/fork" => (
                Call::Fork(params::thread(method, params)?),
                ReplyTo::Open(id, Way::New),
            ),
            "session/list" => {
                let ListSessions { cwd, cursor } = params::read(method, params)?;
                (Call::List { cwd, cursor }, ReplyTo::Sessions(id))
            }
            "session/close" => {
                let thread = params::thread(method, params)?;
                self.leave(thread);
                (Call::Close(thread), ReplyTo::Result(id))
            }
            "session/delete" => {
                let thread = params::thread(method, params)?;
                (Call::Delete(thread), ReplyTo::Deleted(id, thread))
            }
            "session/prompt" => self.prompt(id, params)?,
            "session/set_mode" | "session/set_model" | "session/set_config_option" => {
                let thread = Some(self.open_thread(method, params)?);
                let request = setting(method, params)?;
                (Call::Ask { thread, request }, ReplyTo::Result(id))
            }
            "authenticate" => {
                let Authenticate { method_id } = params::read(method, params)?;
                let request = AgentRequest::Authenticate { method_id };
                (
                    Call::Ask {
                        thread: None,
                        request,
                    },
                    ReplyTo::Result(id),
                )
            }
            "logout" => {
                let request = AgentRequest::Logout;
                (
                    Call::Ask {
                        thread: None,
                        request,
                    },
                    ReplyTo::Result(id),
                )
            }
            _ if is_extension(method) => {
                let thread = self.meant(method, params)?;
                let (method, params) = (method.to_owned(), params.map(RawJson::from));
                let request = AgentRequest::Extension { method, params };
                (Call::Ask { thread, request }, ReplyTo::Result(id))
            }
            _ => {
                let shown: String = method.chars().take(80).collect();
                let message = format!("there is no method {shown:?}");
                return Err(Failure::new(ErrorCode::MethodNotFound, message));
            }
        })
    }

    fn prompt(&mut self, id: RawJson, params: Option<&RawValue>) -> Result<(Call, ReplyTo), Failure> {
        let thread = self.open_thread("session/prompt", params)?;
        let params::Prompt { prompt: blocks } = params::read("session/prompt", params)?;
        self.prompts_so_far += 1;
        let name = format!("acp:{}:{}", self.connection, self.prompts_so_far);
        self.prompts.push(Prompt {
            id: Some(id),
            thread,
            name: name.clone(),
            turn: None,
            cancelled: false,
        });
        let call = Call::Prompt {
            thread,
            client_turn_id: name.clone(),
            blocks,
        };
        Ok((call, ReplyTo::Prompt(name)))
    }

    /// The session that the params name, if it is open here.
    fn open_thread(&self, method: &str, params: Option<&RawValue>) -> Result<ThreadId, Failure> {
        let thread = params::thread(method, params)?;
        if self.sessions.contains_key(&thread) {
            return Ok(thread);
        }
        let message = format!("session {thread} is not open on this connection: load or resume it first");
        Err(Failure::new(ErrorCode::NotFound, message))
    }

    /// The session that an extension's params name, or that it can only mean.
    fn meant(&self, method: &str, params: Option<&RawValue>) -> Result<Option<ThreadId>, Failure> {
        let names_one = |params: &RawValue| splice::has_string(&params.into(), "sessionId");
        if params.is_some_and(names_one) {
            return self.open_thread(method, params).map(Some);
        }
        let mut open = self.sessions.keys();
        Ok(open.next().copied().filter(|_| open.next().is_none()))
    }

    fn notification(&mut self, method: &str, params: Option<&RawValue>) {
        // Nobody can be told that a notification was none.
        if self.phase != Phase::Ready || !self.role.may(Role::Operator) {
            return;
        }
        match method {
            "session/cancel" => {
                if let Ok(thread) = self.open_thread(method, params) {
                    self.cancel(thread);
                }
            }
            "$/cancel_request" => {
                let Ok(CancelRequest { request_id }) = params::read(method, params) else {
                    return;
                };
                let meant = |prompt: &Prompt| prompt.id.as_ref() == Some(&request_id);
                if let Some(at) = self.prompts.iter().position(meant) {
                    self.cancel_prompt(at);
                }
            }
            _ if is_extension(method) => {
                if let Ok(Some(thread)) = self.meant(method, params) {
                    let (method, params) = (method.to_owned(), params.map(RawJson::from));
                    self.call(
                        Call::Notify {
                            thread,
                            method,
                            params,
                        },
                        None,
                    );
                }
            }
            _ => {}
        }
    }

    /// Ends what this connection has begun in a session. One that has begun nothing there ends what runs.
    fn cancel(&mut self, thread: ThreadId) {
        // Those that wait are taken back first: else they would begin.
        let own: Vec<usize> = (0..self.prompts.len())
            .rev()
            .filter(|at| self.prompts[*at].thread == thread)
            .collect();
        if own.is_empty() {
            self.call(Call::Interrupt { thread, turn: None }, None);
        }
        own.into_iter().for_each(|at| self.cancel_prompt(at));
    }

    fn cancel_prompt(&mut self, at: usize) {
        let prompt = &mut self.prompts[at];
        let thread = prompt.thread;
        match prompt.turn {
            Some(turn) => self.call(
                Call::Interrupt {
                    thread,
                    turn: Some(turn),
                },
                None,
            ),
            None => prompt.cancelled = true,
        }
    }

    /// The turn of a prompt is known, which it may be twice.
    fn turn_known(&mut self, name: &str, turn: TurnId) {
        let Some(at) = self.prompts.iter().position(|prompt| prompt.name == name) else {
            return;
        };
        let prompt = &mut self.prompts[at];
        prompt.turn = Some(turn);
        let (thread, cancelled) = (prompt.thread, std::mem::take(&mut prompt.cancelled));
        if prompt.id.is_none() {
            self.prompts.remove(at);
        }
        if cancelled {
            self.call(
                Call::Interrupt {
                    thread,
                    turn: Some(turn),
                },
                None,
            );
        }
    }

    /// The connection has nothing to do with a session any more: its prompts end, and nothing of it is sent.
    fn leave(&mut self, thread: ThreadId) {
        if self.sessions.remove(&thread).is_none() {
            return;
        }
        if self.prompts.iter().any(|prompt| prompt.thread == thread) {
            self.cancel(thread);
        }
        let cancelled = RawJson::trusted(r#"{"stopReason":"cancelled"}"#);
        let own = self.prompts.iter_mut().filter(|prompt| prompt.thread == thread);
        let ids: Vec<RawJson> = own.filter_map(|prompt| prompt.id.take()).collect();
        ids.iter().for_each(|id| self.answer(id, &cancelled));
        self.prompts
            .retain(|prompt| prompt.id.is_some() || prompt.turn.is_none());
    }

    fn response(&mut self, id: &RawValue, result: Option<&RawValue>) {
        let Some(request) = hello::question_id(id.get()) else {
            return;
        };
        let session = self.sessions.get_mut(&request.thread);
        let Some(question) = session.and_then(|session| session.asked.remove(&request)) else {
            return;
        };
        // An error is no decision: others may still answer.
        if let Some(answer) = result.and_then(|result| answer::read(question, result.get())) {
            self.call(Call::Answer { request, answer }, None);
        }
    }

    fn opened(&mut self, id: RawJson, way: Way, opened: Opened) {
        let thread = opened.thread;
        // What was asked before, and not answered, the editor still has on its screen.
        let session = self.sessions.entry(thread).or_default();
        let earlier = session.opening.replace(Opening {
            id,
            way,
            opened,
            held: Vec::new(),
        });
        if let Some(earlier) = earlier {
            let failure = Failure::new(ErrorCode::Conflict, "the session was opened once more meanwhile");
            self.refuse(&earlier.id, &failure);
        }
        match way {
            Way::Resume => self.open(thread, None),
            Way::Load => self.reached(thread, 0),
            Way::New => {}
        }
    }

    /// All events up to `seq` were told.
    fn reached(&mut self, thread: ThreadId, seq: Seq) {
        let opening = self
            .sessions
            .get(&thread)
            .and_then(|session| session.opening.as_ref());
        if opening.is_some_and(|opening| seq >= opening.opened.until) {
            self.open(thread, None);
        }
    }

    /// A session is open: says so, then what was held back until then.
    fn open(&mut self, thread: ThreadId, bound: Option<&RawJson>) {
        let Some(opening) = self
            .sessions
            .get_mut(&thread)
            .and_then(|session| session.opening.take())
        else {
            return;
        };
        self.answer(&opening.id, &opening.result(bound));
        if opening.way == Way::Resume {
            for update in &opening.opened.updates {
                let mut out = Vec::new();
                wire::notification(&mut out, "session/update", |params| {
                    params.put("sessionId", &thread).raw("update", update.get());
                });
                self.send(out);
            }
        }
        for (_, text) in opening.held {
            self.out.push(PeerOutput::Send(text));
        }
    }

    fn frame(&mut self, thread: ThreadId, frame: &Frame, pending: &impl Fn(Seq, RequestId) -> bool) {
        let Some(session) = self.sessions.get_mut(&thread) else {
            return;
        };
        let replays = session.replays(frame.seq);
        match &frame.what {
            What::Update => self.show(thread, frame, None),
            What::Declared(feature) => {
                let is_past = *feature == Feature::Notices && replays;
                if self.client.takes(*feature) && !is_past {
                    self.show(thread, frame, None);
                }
            }
            What::Prompt => {
                let own = |prompt: &Prompt| prompt.thread == thread && prompt.turn == frame.turn;
                if replays || !self.prompts.iter().any(own) {
                    self.show(thread, frame, None);
                }
            }
            What::Asked(request, question) => {
                let asks = self.can_answer(*question) && pending(frame.seq, *request);
                let Some(session) = self.sessions.get_mut(&thread).filter(|_| asks) else {
                    return;
                };
                if session.asked.insert(*request, *question).is_none() {
                    self.show(thread, frame, Some(*request));
                }
            }
            What::Answered(request) => {
                if session.asked.remove(request).is_none() {
                    return;
                }
                let held = session.opening.as_mut().map(|opening| &mut opening.held);
                let before = held.as_ref().map_or(0, |held| held.len());
                let left = held.map_or(0, |held| {
                    held.retain(|(question, _)| *question != Some(*request));
                    held.len()
                });
                if left == before {
                    self.show(thread, frame, None);
                }
            }
            What::Taken(Some(name)) => {
                if let Some(turn) = frame.turn {
                    self.turn_known(name, turn);
                }
            }
            What::Taken(None) => {}
            What::Ended(ending) => self.turn_ended(thread, frame.turn, ending),
            What::Bound(bound) => {
                session.wants_sign_in = false;
                if session
                    .opening
                    .as_ref()
                    .is_some_and(|opening| opening.way == Way::New)
                {
                    self.open(thread, Some(bound));
                }
            }
            What::SignIn => session.wants_sign_in = true,
        }
    }

    fn can_answer(&self, question: Question) -> bool {
        self.role.may(Role::Approver) && self.client.answers(question)
    }

    /// Sends a frame's message. Before its answer, a new session has said nothing, and nobody is asked.
    fn show(&mut self, thread: ThreadId, frame: &Frame, question: Option<RequestId>) {
        let Some(text) = frame.text.clone() else { return };
        let opening = self
            .sessions
            .get_mut(&thread)
            .and_then(|session| session.opening.as_mut());
        match opening.filter(|opening| opening.way == Way::New || question.is_some()) {
            Some(opening) => opening.held.push((question, text)),
            None => self.out.push(PeerOutput::Send(text)),
        }
    }

    fn turn_ended(&mut self, thread: ThreadId, turn: Option<TurnId>, ending: &Ending) {
        let own = |prompt: &Prompt| prompt.thread == thread && turn.is_some() && prompt.turn == turn;
        let Some(at) = self.prompts.iter().position(own) else {
            return;
        };
        let Some(id) = self.prompts.remove(at).id else {
            return;
        };
        match ending {
            Ending::Stopped(response) => self.answer(&id, response),
            Ending::Failed(reason) => {
                let wants_sign_in = self
                    .sessions
                    .get(&thread)
                    .is_some_and(|session| session.wants_sign_in);
                let code = if wants_sign_in {
                    ErrorCode::SignInRequired
                } else {
                    ErrorCode::Internal
                };
                self.refuse(&id, &Failure::new(code, reason.clone()));
            }
        }
    }

    /// What is answered to nobody has no token that is waited for.
    fn call(&mut self, call: Call, reply_to: Option<ReplyTo>) {
        let token = self.next_token;
        self.next_token += 1;
        if let Some(reply_to) = reply_to {
            self.waiting.insert(token, reply_to);
        }
        self.out.push(PeerOutput::Call { token, call });
    }

    fn answer(&mut self, id: &RawJson, result: &RawJson) {
        let mut out = Vec::with_capacity(result.get().len() + 64);
        wire::response(&mut out, id.get(), result.get());
        self.send(out);
    }

    fn refuse(&mut self, id: &RawJson, failure: &Failure) {
        let mut error = RpcError::from(failure);
        // ACP has words for these.
        error.code = match failure.code {
            ErrorCode::Handshake => ErrorCode::InvalidRequest.rpc(),
            ErrorCode::Unsupported => ErrorCode::MethodNotFound.rpc(),
            _ => error.code,
        };
        let detail = failure.detail.as_deref();
        error.data = Some(json!({ "acpd": { "code": failure.code, "detail": detail } }).into());
        let mut out = Vec::new();
        wire::error_response(&mut out, id.get(), &error);
        self.send(out);
    }

    fn send(&mut self, mut out: Vec<u8>) {
        one_line(&mut out);
        self.out.push(PeerOutput::Send(out.into()));
    }
}

/// Those that begin with `_acpd/` are ours, and no agent's.
fn is_extension(method: &str) -> bool {
    method.starts_with('_') && !method.starts_with("_acpd/")
}

/// The least role that may make a request.
fn role_for(method: &str) -> Role {
    match method {
        "session/load" | "session/resume" | "session/list" | "session/close" => Role::Observer,
        "authenticate" | "logout" => Role::Owner,
        _ => Role::Operator,
    }
}

fn setting(method: &str, params: Option<&RawValue>) -> Result<AgentRequest, Failure> {
    Ok(match method {
        "session/set_mode" => {
            let SetMode { mode_id } = params::read(method, params)?;
            AgentRequest::SetMode { mode_id }
        }
        "session/set_model" => {
            let SetModel { model_id } = params::read(method, params)?;
            AgentRequest::SetModel { model_id }
        }
        _ => {
            let SetConfigOption { config_id, value } = params::read(method, params)?;
            AgentRequest::SetConfigOption { config_id, value }
        }
    })
}

fn session_list(sessions: &[Listed], next_cursor: Option<&str>) -> RawJson {
    let sessions: Vec<_> = sessions
        .iter()
        .map(|listed| {
            let at = rfc3339(listed.updated_at);
            json!({ "sessionId": listed.thread, "cwd": listed.cwd, "title": listed.title, "updatedAt": at })
        })
        .collect();
    let mut out = Vec::new();
    let mut result = Object::open(&mut out);
    result
        .put("sessions", &sessions)
        .maybe("nextCursor", next_cursor.as_ref());
    result.close();
    RawJson::trusted(&String::from_utf8_lossy(&out))
}

/// The daemon answered with something else than was asked for.
fn misplaced() -> Failure {
    Failure::new(
        ErrorCode::Internal,
        "the daemon answered something else than it was asked",
    )
}
