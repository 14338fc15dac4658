//! Requests of an agent to its client, on their way through one editor's connection.
//!
//! A request waits until the editor has received all earlier events. The daemon gives it an id of its own, and replaces
//! the ids of the session and the terminal by those that the editor knows. It does the same in the agent's messages
//! about such a terminal.

use acpd_model::limits::{EDITOR_CALLS, EDITOR_TERMINAL_NAMES};
use acpd_model::{RawJson, Seq, ThreadId, json};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::peer::Peer;
use super::session::Session;
use crate::surface::contract::Output;
use crate::thread::{EditorCommand, EditorRequest};
use crate::wire::{self, Object, RpcError};
use crate::wire::{has_string, member, spliced};

/// The JSON-RPC code for a cancelled request.
const CANCELLED: i64 = -32800;

/// A request that the editor has received and not answered.
#[derive(Debug)]
pub(super) struct Delegation {
    thread: ThreadId,
    call: u64,
    /// The terminal that the request creates, by the daemon's id.
    makes: Option<String>,
}

/// A request that waits for earlier events.
#[derive(Debug)]
pub(super) struct QueuedRequest {
    call: u64,
    after: Seq,
    request: EditorRequest,
}

impl Peer {
    /// Handles a command of a thread.
    pub(super) fn order(&mut self, thread: ThreadId, order: EditorCommand) {
        let Some(session) = self.sessions.get_mut(&thread) else {
            // The thread knows of the open session before the connection does.
            let early = self.early.entry(thread).or_default();
            if early.len() < EDITOR_CALLS {
                early.push(order);
            }
            return;
        };
        match order {
            EditorCommand::Request { call, after, request } => {
                let request = *request;
                // A reloaded thread starts its numbers again: its requests from before the unload have no receiver.
                self.delegations
                    .retain(|_, delegation| (delegation.thread, delegation.call) != (thread, call));
                session.queued.push_back(QueuedRequest { call, after, request });
                self.send_queued(thread);
            }
            EditorCommand::Withdraw { call, forget } => self.withdraw_delegation(thread, call, forget),
            EditorCommand::EndTerminal { terminal_id } => {
                let Some(its) = session.terminal(&terminal_id).cloned() else {
                    return;
                };
                // The daemon ignores the response.
                let id = self.next_delegation_id();
                let mut out = Vec::new();
                let mut message = Object::open(&mut out);
                message.raw("jsonrpc", "\"2.0\"").put("id", &id);
                message.plain("method", "terminal/release");
                message.object("params", |params| {
                    params.put("sessionId", &thread).put("terminalId", &its);
                });
                message.close();
                self.send(out);
            }
        }
    }

    /// Drops a request that was not sent, because its thread counts the connection as gone.
    pub(super) fn forget_delegation(&mut self, thread: ThreadId, call: u64) {
        self.delegations
            .retain(|_, delegation| (delegation.thread, delegation.call) != (thread, call));
    }

    /// Handles the commands that arrived while the session was being opened.
    pub(super) fn take_early(&mut self, thread: ThreadId) {
        for order in self.early.remove(&thread).unwrap_or_default() {
            self.order(thread, order);
        }
    }

    /// Forgets the requests of a session that is closed here: their responses are ignored.
    pub(super) fn forget_delegations(&mut self, thread: ThreadId) {
        self.delegations
            .retain(|_, delegation| delegation.thread != thread);
        self.early.remove(&thread);
    }

    /// Sends the queued requests that no longer have to wait.
    pub(super) fn send_queued(&mut self, thread: ThreadId) {
        loop {
            let Some(session) = self.sessions.get_mut(&thread) else {
                return;
            };
            let received = session.received;
            let is_next = |queued: &QueuedRequest| queued.after <= received;
            if session.opening.is_some() || !session.queued.front().is_some_and(is_next) {
                return;
            }
            let Some(QueuedRequest { call, request, .. }) = session.queued.pop_front() else {
                return;
            };
            let its = request
                .terminal_id
                .as_ref()
                .and_then(|terminal| session.terminal(terminal).cloned());
            let params = request.params.as_ref().map(|params| {
                let name = Value::from(thread.to_string()).to_string();
                let its = its.map(|its| Value::from(its).to_string());
                let mut put = Vec::new();
                if has_string(params, "sessionId") {
                    put.push(("sessionId", name.as_str()));
                }
                put.extend(its.as_deref().map(|its| ("terminalId", its)));
                if put.is_empty() {
                    params.clone()
                } else {
                    spliced(params, &put)
                }
            });
            let id = self.next_delegation_id();
            let mut out = Vec::new();
            let mut message = Object::open(&mut out);
            message.raw("jsonrpc", "\"2.0\"").put("id", &id);
            message
                .put("method", &request.method)
                .json("params", params.as_ref());
            message.close();
            crate::wire::one_line(&mut out);
            let makes = request.terminal_id.filter(|_| request.creates);
            self.delegations
                .insert(self.last_delegation, Delegation { thread, call, makes });
            let text = Bytes::from(out);
            self.out.push(Output::Delegate { thread, call, text });
        }
    }

    /// Returns the next request id. It cannot be mistaken for the id of a question.
    fn next_delegation_id(&mut self) -> String {
        self.last_delegation += 1;
        format!("{PREFIX}{}", self.last_delegation)
    }

    fn withdraw_delegation(&mut self, thread: ThreadId, call: u64, forget: bool) {
        let queued = self.sessions.get_mut(&thread).map(|session| &mut session.queued);
        let at = queued
            .as_ref()
            .and_then(|queued| queued.iter().position(|queued| queued.call == call));
        if let (Some(queued), Some(at)) = (queued, at) {
            queued.remove(at);
            if !forget {
                let result = Err(RpcError::new(CANCELLED, "it was taken back before it was asked"));
                let result = Box::new(result);
                self.out.push(Output::Delegated { thread, call, result });
            }
            return;
        }
        let sent = self
            .delegations
            .iter()
            .find(|(_, delegation)| (delegation.thread, delegation.call) == (thread, call));
        let Some(number) = sent.map(|(number, _)| *number) else {
            return;
        };
        if forget {
            self.delegations.remove(&number);
        }
        if !self.client.knows_notifications {
            return;
        }
        let mut out = Vec::new();
        wire::notification(&mut out, "$/cancel_request", |params| {
            params.put("requestId", &format!("{PREFIX}{number}"));
        });
        self.send(out);
    }

    /// Handles the response to a delegated request. A repeated or late response is ignored.
    pub(super) fn delegation_answered(&mut self, id: &str, result: Result<&RawValue, RpcError>) {
        let delegation = number_of(id).and_then(|number| self.delegations.remove(&number));
        let Some(Delegation { thread, call, makes }) = delegation else {
            return;
        };
        let result = result.map(RawJson::from).map(|result| match makes {
            Some(ours) => self.terminal_made(thread, ours, result),
            None => result,
        });
        let result = Box::new(result);
        self.out.push(Output::Delegated { thread, call, result });
    }

    /// Handles an invalid response to a delegated request. Returns whether it was such a response.
    pub(super) fn delegation_malformed(&mut self, text: &str) -> bool {
        #[derive(Deserialize)]
        struct Odd {
            id: RawJson,
        }
        let Ok(Odd { id }) = serde_json::from_str(text) else {
            return false;
        };
        if number_of(id.get()).is_none() {
            return false;
        }
        let error = RpcError::new(
            -32603,
            "the editor's answer cannot be read: it has neither a result nor an error, or a member twice",
        );
        self.delegation_answered(id.get(), Err(error));
        true
    }

    /// Stores the editor's id of a new terminal, and returns the response with the daemon's id instead.
    fn terminal_made(&mut self, thread: ThreadId, ours: String, result: RawJson) -> RawJson {
        let its = member(&result, "terminalId").and_then(|its| json::read::<String>(its).ok());
        let (Some(its), Some(session)) = (its, self.sessions.get_mut(&thread)) else {
            return result;
        };
        let name = Value::from(ours.as_str()).to_string();
        if session.terminals.len() >= EDITOR_TERMINAL_NAMES {
            session.terminals.pop_front();
        }
        session.terminals.push_back((ours, its));
        spliced(&result, &[("terminalId", &name)])
    }
}

impl Session {
    /// Returns the editor's id of a terminal.
    pub(super) fn terminal(&self, ours: &str) -> Option<&String> {
        let known = self.terminals.iter().find(|(known, _)| known == ours);
        known.map(|(_, its)| its)
    }
}

/// Prefix of the ids of delegated requests.
const PREFIX: &str = "call_";

pub(super) fn number_of(id: &str) -> Option<u64> {
    let id: String = serde_json::from_str(id).ok()?;
    id.strip_prefix(PREFIX)?.parse().ok()
}
