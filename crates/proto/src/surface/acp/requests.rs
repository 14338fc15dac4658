//! What an editor's messages ask for.

use acpd_model::{ErrorCode, Failure, RawJson, Role, ThreadId};
use serde_json::value::RawValue;

use super::call::{Call, SessionOptions};
use super::params::{
    self, Authenticate, CancelRequest, ListSessions, OpenSession, SetConfigOption, SetMode, SetModel,
};
use super::peer::{Peer, Phase, Prompt, ReplyTo};
use super::roles::{is_extension, unknown};
use super::session::OpenMode;
use super::splice;
use crate::agent::{AgentRequest, PassthroughMethod};
use crate::projection::SessionChange;

impl Peer {
    pub(super) fn read(
        &mut self,
        id: RawJson,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(Call, ReplyTo), Failure> {
        Ok(match method {
            "session/new" => {
                let SessionOptions {
                    mut change,
                    additional_directories,
                } = wanted(method, params)?;
                let missing = || Failure::invalid_params("session/new: missing field `cwd`");
                let call = Call::New {
                    cwd: change.cwd.take().ok_or_else(missing)?,
                    additional_directories,
                    change,
                };
                (call, ReplyTo::Open(id, OpenMode::New))
            }
            "session/load" => {
                let (thread, wanted) = existing(method, params)?;
                (Call::Load(thread, wanted), ReplyTo::Open(id, OpenMode::Load))
            }
            "session/resume" => {
                let (thread, wanted) = existing(method, params)?;
                (Call::Resume(thread, wanted), ReplyTo::Open(id, OpenMode::Resume))
            }
            "session/fork" => {
                let (thread, wanted) = existing(method, params)?;
                (Call::Fork(thread, wanted), ReplyTo::Open(id, OpenMode::New))
            }
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
                let members = params.and_then(|params| splice::others(&params.into(), &["methodId"]));
                (
                    Call::Ask {
                        thread: None,
                        request: AgentRequest::Authenticate { method_id, members },
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
            "_acpd/lease/acquire" | "_acpd/lease/release" => {
                let thread = self.open_thread(method, params)?;
                let take = method == "_acpd/lease/acquire";
                (Call::Lease { thread, take }, ReplyTo::Result(id))
            }
            _ if is_extension(method) => {
                let thread = self.named(method, params)?;
                let (method, params) = (method.to_owned(), params.map(RawJson::from));
                let request = AgentRequest::Extension { method, params };
                (Call::Ask { thread, request }, ReplyTo::Result(id))
            }
            _ if let Some(method) = PassthroughMethod::of(method) => {
                let params = params.map(RawJson::from);
                let request = AgentRequest::Passthrough { method, params };
                (
                    Call::Ask {
                        thread: None,
                        request,
                    },
                    ReplyTo::Result(id),
                )
            }
            _ => return Err(unknown(method)),
        })
    }

    fn prompt(&mut self, id: RawJson, params: Option<&RawValue>) -> Result<(Call, ReplyTo), Failure> {
        let thread = self.open_thread("session/prompt", params)?;
        let params::Prompt { prompt: blocks, meta } = params::read("session/prompt", params)?;
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
            meta,
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

    /// The session that an extension's params name, if they name one.
    fn named(&self, method: &str, params: Option<&RawValue>) -> Result<Option<ThreadId>, Failure> {
        let names_one = |params: &RawValue| splice::has_string(&params.into(), "sessionId");
        match params {
            Some(value) if names_one(value) => self.open_thread(method, params).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn notification(&mut self, method: &str, params: Option<&RawValue>) {
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
                // One that names no session is for the agent, which has a process for each.
                let threads = match self.named(method, params) {
                    Ok(Some(thread)) => vec![thread],
                    Ok(None) => self.sessions.keys().copied().collect(),
                    Err(_) => return,
                };
                for thread in threads {
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
}

/// Members of `_meta` that ACP keeps for W3C's trace context.
const TRACE: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// The session that is to be opened, and what is wanted of it.
fn existing(method: &str, params: Option<&RawValue>) -> Result<(ThreadId, SessionOptions), Failure> {
    let thread = params::thread(method, params)?;
    let mut wanted = wanted(method, params)?;
    // What is about this one request is no change of the session.
    let meta = wanted.change.meta.take();
    wanted.change.meta = meta.and_then(|meta| splice::others(&meta, &TRACE));
    Ok((thread, wanted))
}

/// What is wanted of a session.
fn wanted(method: &str, params: Option<&RawValue>) -> Result<SessionOptions, Failure> {
    let OpenSession {
        cwd,
        additional_directories,
        mcp_servers,
        meta,
        members,
    } = OpenSession::read(method, params)?;
    Ok(SessionOptions {
        change: SessionChange {
            cwd,
            mcp_servers,
            members,
            meta,
        },
        additional_directories: additional_directories.unwrap_or_default(),
    })
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
