//! Decodes an editor's messages into requests.

use acpd_model::{ErrorCode, Failure, RawJson, ThreadId};
use serde_json::value::RawValue;

use super::methods::{is_extension, unknown};
use super::params::{self, Authenticate, CancelRequest, ListSessions, SetConfigOption, SetMode, SetModel};
use super::peer::{Peer, Phase, Prompt, ReplyTo};
use crate::agent::{AgentRequest, PassthroughMethod};
use crate::surface::request::{AgentFilter, ListThreads, Request, RequestKind, StartTurn};
use crate::wire::{has_string, others};

impl Peer {
    pub(super) fn read(
        &mut self,
        id: RawJson,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(Request, ReplyTo), Failure> {
        Ok(match method {
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                self.open_request(id, method, params)?
            }
            "session/list" => {
                let ListSessions { cwd, cursor } = params::read(method, params)?;
                let wanted = ListThreads {
                    cursor,
                    cwd,
                    agent: AgentFilter::Default,
                    ..ListThreads::default()
                };
                (Request::ListThreads(wanted), ReplyTo::Sessions(id))
            }
            "session/close" => {
                let thread = params::thread(method, params)?;
                self.leave(thread);
                let release = true;
                (Request::CloseThread { thread, release }, ReplyTo::Result(id))
            }
            "session/delete" => {
                let thread = params::thread(method, params)?;
                (Request::DeleteThread { thread }, ReplyTo::Deleted(id, thread))
            }
            "session/prompt" => self.prompt(id, params)?,
            "session/set_mode" | "session/set_model" | "session/set_config_option" => {
                let thread = Some(self.open_thread(method, params)?);
                let request = setting(method, params)?;
                (ask_agent(thread, request), ReplyTo::Result(id))
            }
            "authenticate" => {
                let Authenticate { method_id } = params::read(method, params)?;
                let members = params.and_then(|params| others(&params.into(), &["methodId"]));
                let request = AgentRequest::Authenticate { method_id, members };
                (ask_agent(None, request), ReplyTo::Result(id))
            }
            "logout" => (ask_agent(None, AgentRequest::Logout), ReplyTo::Result(id)),
            "_acpd/lease/acquire" | "_acpd/lease/release" => {
                let thread = self.open_thread(method, params)?;
                let take = method == "_acpd/lease/acquire";
                (Request::MoveLease { thread, take }, ReplyTo::Result(id))
            }
            _ if is_extension(method) => {
                let thread = self.named(method, params)?;
                let (method, params) = (method.to_owned(), params.map(RawJson::from));
                let request = AgentRequest::Extension { method, params };
                (ask_agent(thread, request), ReplyTo::Result(id))
            }
            _ if let Some(method) = PassthroughMethod::of(method) => {
                let params = params.map(RawJson::from);
                let request = AgentRequest::Passthrough { method, params };
                (ask_agent(None, request), ReplyTo::Result(id))
            }
            _ => return Err(unknown(method)),
        })
    }

    fn prompt(&mut self, id: RawJson, params: Option<&RawValue>) -> Result<(Request, ReplyTo), Failure> {
        let thread = self.open_thread("session/prompt", params)?;
        let params::Prompt { prompt: blocks, meta } = params::read("session/prompt", params)?;
        self.prompts_so_far += 1;
        let name = format!("acp:{}:{}", self.connection, self.prompts_so_far);
        self.mark_prompt(&id, &name);
        self.prompts.push(Prompt {
            id: Some(id),
            thread,
            name: name.clone(),
            turn: None,
            cancelled: false,
        });
        let turn = StartTurn {
            thread,
            input: blocks,
            meta,
            client_turn_id: Some(name.clone()),
        };
        Ok((Request::StartTurn(turn), ReplyTo::Prompt(name)))
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
        if self.phase != Phase::Ready || !self.role.may(kind.role()) {
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
