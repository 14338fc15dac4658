//! What an editor asks: for each method, the first request to the daemon; and the editor's notifications.

use acpd_model::limits::EDITOR_EARLY;
use acpd_model::{ErrorCode, Failure, RawJson, ThreadId};
use serde_json::json;
use serde_json::value::RawValue;

use super::handshake::Client;
use super::params::{
    self, Authenticate, CancelRequest, ListSessions, Params, ReadOptions, SetConfigOption, SetMode, SetModel,
    SetTitle,
};
use super::peer::{Peer, Prompt, Step};
use super::replies::{empty, session_list};
use super::version::{Version, agreed};
use crate::agent::{AgentRequest, PassthroughMethod, is_extension};
use crate::surface::contract::{OpenRequest, Phase, Steps, request};
use crate::surface::idempotency::{OF_EDITORS, idempotency_key};
use crate::surface::request::{AgentFilter, ListThreads, Request, RequestKind, StartTurn};
use crate::thread::Change;
use crate::wire::{has_string, others};

pub(super) fn initialize(peer: &mut Peer, _: &str, params: Params<'_>) -> Result<Step, Failure> {
    let params = params.map(RawValue::get);
    peer.client = match agreed(params, peer.start.offers_v2)? {
        Version::One => Client::read(params),
        Version::Two => Client::read_v2(params),
    };
    peer.exchange.enter(Phase::Begun(no_room));
    Ok(Peer::finally(request!(Initialize), Peer::greeted))
}

/// Returns the failure of requests between `initialize` and its response, for which the queue has no room.
fn no_room() -> Failure {
    let message = format!("too many messages before the response to initialize (limit {EDITOR_EARLY})");
    Failure::new(ErrorCode::Overloaded, message)
}

pub(super) fn list_sessions(_: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let ListSessions { cwd, cursor } = params::read(method, params)?;
    let wanted = ListThreads {
        cursor,
        cwd,
        agent: AgentFilter::Default,
        ..ListThreads::default()
    };
    Ok(Peer::then(request!(ListThreads(wanted)), |peer, open, list| {
        peer.answer(open, &session_list(&list.page, list.next.as_deref()));
    }))
}

pub(super) fn close_session(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let thread = params::thread(method, params)?;
    peer.leave(thread);
    let release = true;
    Ok(Peer::then(
        request!(CloseThread { thread, release }),
        |peer, open, _| peer.answer(open, &empty()),
    ))
}

pub(super) fn delete_session(_: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let thread = params::thread(method, params)?;
    Ok(Peer::then(
        request!(DeleteThread { thread }),
        move |peer, open, ()| {
            peer.leave(thread);
            peer.answer(open, &empty());
        },
    ))
}

/// Names a thread. A name of a user is not replaced by one that the agent makes.
pub(super) fn set_title(_: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let thread = params::thread(method, params)?;
    let SetTitle { title } = params::read(method, params)?;
    // Only the blanks around it are left out: the daemon refuses other names that it does not store as they are.
    let title = title.trim().to_owned();
    let change = Change::Rename {
        name: Some(title.clone()),
    };
    Ok(Peer::then(
        request!(ChangeThread { thread, change }),
        move |peer, open, ()| peer.answer(open, &json!({ "title": title }).into()),
    ))
}

pub(super) fn set_mode(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let thread = peer.open_thread(method, params)?;
    let SetMode { mode_id } = params::read(method, params)?;
    Ok(ask_agent(Some(thread), AgentRequest::SetMode { mode_id }))
}

pub(super) fn set_model(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let thread = peer.open_thread(method, params)?;
    let SetModel { model_id } = params::read(method, params)?;
    Ok(ask_agent(Some(thread), AgentRequest::SetModel { model_id }))
}

pub(super) fn set_config_option(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let thread = peer.open_thread(method, params)?;
    let SetConfigOption { config_id, value } = params::read(method, params)?;
    let request = AgentRequest::SetConfigOption { config_id, value };
    Ok(ask_agent(Some(thread), request))
}

pub(super) fn session_options(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let (thread, request) = options_request(peer, method, params)?;
    Ok(ask_agent(thread, request))
}

/// Reads a request for the options before a session, and the session that it names.
pub(super) fn options_request(
    peer: &Peer,
    method: &str,
    params: Params<'_>,
) -> Result<(Option<ThreadId>, AgentRequest), Failure> {
    let ReadOptions {
        cwd,
        additional_directories,
        session_id,
    } = params::read(method, params)?;
    let thread = session_id.map(|_| params::thread(method, params)).transpose()?;
    let more = additional_directories.unwrap_or_default().into_iter();
    let request = AgentRequest::SessionOptions {
        cwd: peer.absolute(cwd),
        additional_directories: more.map(|directory| peer.absolute(directory)).collect(),
        of_session: thread.is_some(),
    };
    Ok((thread, request))
}

pub(super) fn authenticate(_: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let Authenticate { method_id } = params::read(method, params)?;
    let members = params.and_then(|params| others(&params.into(), &["methodId"]));
    Ok(ask_agent(None, AgentRequest::Authenticate { method_id, members }))
}

pub(super) fn log_out(_: &mut Peer, _: &str, _: Params<'_>) -> Step {
    ask_agent(None, AgentRequest::Logout)
}

pub(super) fn pass_through(_: &mut Peer, _: &str, params: Params<'_>, method: PassthroughMethod) -> Step {
    let params = params.map(RawJson::from);
    ask_agent(None, AgentRequest::Passthrough { method, params })
}

pub(super) fn extension(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let thread = peer.named(method, params)?;
    let (method, params) = (method.to_owned(), params.map(RawJson::from));
    Ok(ask_agent(thread, AgentRequest::Extension { method, params }))
}

/// The response is the agent's, or an empty one.
pub(super) fn ask_agent(thread: Option<ThreadId>, request: AgentRequest) -> Step {
    let ask = request!(AskAgent {
        thread,
        request,
        names_thread: true,
    });
    Peer::then(ask, |peer, open, result| {
        let result = if result.get() == "null" { empty() } else { result };
        peer.answer(open, &result);
    })
}

pub(super) fn move_lease(
    peer: &mut Peer,
    method: &str,
    params: Params<'_>,
    take: bool,
) -> Result<Step, Failure> {
    let thread = peer.open_thread(method, params)?;
    Ok(Peer::then(
        request!(MoveLease { thread, take }),
        |peer, open, holder| {
            peer.answer(open, &json!({ "lease": holder }).into());
        },
    ))
}

/// Reads a prompt, and names its turn.
pub(super) fn read_prompt(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<StartTurn, Failure> {
    let thread = peer.open_thread(method, params)?;
    let params::Prompt { prompt: input, meta } = params::read(method, params)?;
    let key = idempotency_key(meta.as_ref())?;
    peer.prompts_so_far += 1;
    let own = || format!("{OF_EDITORS}{}:{}", peer.connection, peer.prompts_so_far);
    Ok(StartTurn {
        thread,
        input,
        meta,
        client_turn_id: Some(key.unwrap_or_else(own)),
        replaces: None,
    })
}

impl Peer {
    /// Starts the turn of a prompt. The response follows when the turn ends.
    pub(super) fn prompt(&mut self, request: OpenRequest, turn: StartTurn) {
        let name = turn.client_turn_id.clone().unwrap_or_default();
        self.mark_prompt(&request.id, &name);
        let number = self.prompts_so_far;
        self.prompts.push(Prompt {
            request: Some(request),
            thread: turn.thread,
            number,
            name,
            turn: None,
            cancelled: false,
        });
        let (start, then) = Peer::alone(request!(StartTurn(turn)), move |peer: &mut Self, turn| {
            peer.prompt_started(number, turn);
        });
        self.call(start, then);
    }

    /// Returns the session that the params name, if it is open here.
    pub(super) fn open_thread(&self, method: &str, params: Params<'_>) -> Result<ThreadId, Failure> {
        self.checked_open(params::thread(method, params)?)
    }

    /// Returns the session if it is open here.
    pub(super) fn checked_open(&self, thread: ThreadId) -> Result<ThreadId, Failure> {
        if self.sessions.contains_key(&thread) {
            return Ok(thread);
        }
        let message = format!("session {thread} is not open on this connection: load or resume it first");
        Err(Failure::new(ErrorCode::NotFound, message))
    }

    /// Returns the session that an extension's params name, if they name one.
    fn named(&self, method: &str, params: Params<'_>) -> Result<Option<ThreadId>, Failure> {
        let names_one = |params: &RawValue| has_string(&params.into(), "sessionId");
        match params {
            Some(value) if names_one(value) => self.open_thread(method, params).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn notification(&mut self, method: &str, params: Params<'_>) {
        // A notification has no response, so that errors cannot be reported.
        let kind = match method {
            "session/cancel" | "$/cancel_request" => RequestKind::Interrupt,
            _ => RequestKind::NotifyAgent,
        };
        let is_ready = matches!(self.exchange.phase(), Phase::Ready);
        if !is_ready || !self.exchange.permissions().may(kind) {
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
                let meant = |prompt: &Prompt| {
                    let request = prompt.request.as_ref();
                    request.is_some_and(|request| request.id == request_id)
                };
                if let Some(at) = self.prompts.iter().position(meant) {
                    self.cancel_prompt(at);
                }
            }
            _ if is_extension(method) => {
                // A notification without a session is for the agent, which has one process for each session.
                let threads = match self.named(method, params) {
                    Ok(Some(thread)) => vec![thread],
                    Ok(None) => self.sessions.keys().copied().collect(),
                    Err(_) => return,
                };
                for thread in threads {
                    let (method, params) = (method.to_owned(), params.map(RawJson::from));
                    self.call(
                        Request::NotifyAgent {
                            thread,
                            method,
                            params,
                            names_thread: true,
                        },
                        |_, _| {},
                    );
                }
            }
            _ => {}
        }
    }
}
