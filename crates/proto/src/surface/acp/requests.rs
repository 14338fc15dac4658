//! Decodes an editor's messages into requests.

use acpd_model::limits::EDITOR_EARLY;
use acpd_model::{ErrorCode, Failure, RawJson, ThreadId};
use serde_json::value::RawValue;

use super::handshake::Client;
use super::methods::is_extension;
use super::params::{self, Authenticate, CancelRequest, ListSessions, SetConfigOption, SetMode, SetModel};
use super::peer::{Peer, Prompt, ReplyTo, Waiting};
use crate::agent::{AgentRequest, PassthroughMethod};
use crate::surface::contract::{OpenRequest, Phase, unknown_method};
use crate::surface::idempotency::{OF_EDITORS, idempotency_key};
use crate::surface::request::{AgentFilter, ListThreads, Request, RequestKind, StartTurn};
use crate::wire::{has_string, others};

impl Peer {
    pub(super) fn read(
        &mut self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(Request, ReplyTo), Failure> {
        Ok(match method {
            "initialize" => {
                self.client = Client::read(params.map(RawValue::get));
                self.exchange.enter(Phase::Begun(no_room));
                (Request::Initialize, ReplyTo::Initialize)
            }
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                self.open_request(method, params)?
            }
            "session/list" => {
                let ListSessions { cwd, cursor } = params::read(method, params)?;
                let wanted = ListThreads {
                    cursor,
                    cwd,
                    agent: AgentFilter::Default,
                    ..ListThreads::default()
                };
                (Request::ListThreads(wanted), ReplyTo::Sessions)
            }
            "session/close" => {
                let thread = params::thread(method, params)?;
                self.leave(thread);
                let release = true;
                (Request::CloseThread { thread, release }, ReplyTo::Nothing)
            }
            "session/delete" => {
                let thread = params::thread(method, params)?;
                (Request::DeleteThread { thread }, ReplyTo::Deleted(thread))
            }
            "session/set_mode" | "session/set_model" | "session/set_config_option" => {
                let thread = Some(self.open_thread(method, params)?);
                let request = setting(method, params)?;
                (ask_agent(thread, request), ReplyTo::Agent)
            }
            "authenticate" => {
                let Authenticate { method_id } = params::read(method, params)?;
                let members = params.and_then(|params| others(&params.into(), &["methodId"]));
                let request = AgentRequest::Authenticate { method_id, members };
                (ask_agent(None, request), ReplyTo::Agent)
            }
            "logout" => (ask_agent(None, AgentRequest::Logout), ReplyTo::Agent),
            "_acpd/lease/acquire" | "_acpd/lease/release" => {
                let thread = self.open_thread(method, params)?;
                let take = method == "_acpd/lease/acquire";
                (Request::MoveLease { thread, take }, ReplyTo::Lease)
            }
            _ if is_extension(method) => {
                let thread = self.named(method, params)?;
                let (method, params) = (method.to_owned(), params.map(RawJson::from));
                let request = AgentRequest::Extension { method, params };
                (ask_agent(thread, request), ReplyTo::Agent)
            }
            _ if let Some(method) = PassthroughMethod::of(method) => {
                let params = params.map(RawJson::from);
                let request = AgentRequest::Passthrough { method, params };
                (ask_agent(None, request), ReplyTo::Agent)
            }
            _ => return Err(unknown_method(method)),
        })
    }

    /// Reads a prompt, and names its turn.
    pub(super) fn read_prompt(&mut self, params: Option<&RawValue>) -> Result<StartTurn, Failure> {
        let thread = self.open_thread("session/prompt", params)?;
        let params::Prompt { prompt: input, meta } = params::read("session/prompt", params)?;
        let key = idempotency_key(meta.as_ref())?;
        self.prompts_so_far += 1;
        let own = || format!("{OF_EDITORS}{}:{}", self.connection, self.prompts_so_far);
        Ok(StartTurn {
            thread,
            input,
            meta,
            client_turn_id: Some(key.unwrap_or_else(own)),
            replaces: None,
        })
    }

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
        self.call(Request::StartTurn(turn), Waiting::Prompt(number));
    }

    /// Returns the session that the params name, if it is open here.
    fn open_thread(&self, method: &str, params: Option<&RawValue>) -> Result<ThreadId, Failure> {
        let thread = params::thread(method, params)?;
        if self.sessions.contains_key(&thread) {
            return Ok(thread);
        }
        let message = format!("session {thread} is not open on this connection: load or resume it first");
        Err(Failure::new(ErrorCode::NotFound, message))
    }

    /// Returns the session that an extension's params name, if they name one.
    fn named(&self, method: &str, params: Option<&RawValue>) -> Result<Option<ThreadId>, Failure> {
        let names_one = |params: &RawValue| has_string(&params.into(), "sessionId");
        match params {
            Some(value) if names_one(value) => self.open_thread(method, params).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn notification(&mut self, method: &str, params: Option<&RawValue>) {
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
                        None,
                    );
                }
            }
            _ => {}
        }
    }
}

/// Returns the failure of requests between `initialize` and its response, for which the queue has no room.
fn no_room() -> Failure {
    let message = format!("too many messages before the response to initialize (limit {EDITOR_EARLY})");
    Failure::new(ErrorCode::Overloaded, message)
}

fn ask_agent(thread: Option<ThreadId>, request: AgentRequest) -> Request {
    Request::AskAgent {
        thread,
        request,
        names_thread: true,
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
