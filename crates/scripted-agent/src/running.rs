//! The running turns, at most one for each session.

use std::collections::HashMap;
use std::sync::mpsc::Sender;

use serde_json::Value;

use crate::calls::Signal;
use crate::session::Shared;
use crate::turn::Turn;
use crate::wire::{self, RpcError};

/// A running turn.
#[derive(Debug)]
pub struct Running {
    /// The id of the prompt request.
    pub request: Value,
    /// The turn's session.
    pub session: Shared,
    /// The ids of requests that are answered after the turn.
    pub unanswered: Vec<Value>,
    signals: Sender<Signal>,
}

impl Running {
    fn cancel(&self) {
        // A turn that has ended needs no cancellation.
        let _ = self.signals.send(Signal::Cancel);
    }
}

/// The running turns, by the ids of their sessions.
#[derive(Debug, Default)]
pub struct Turns(HashMap<String, Running>);

impl Turns {
    /// Fails if a turn of the session runs.
    pub fn check_idle(&self, session: &str) -> Result<(), RpcError> {
        if self.0.contains_key(session) {
            return Err(RpcError::new(wire::INVALID_REQUEST, "a turn is already running"));
        }
        Ok(())
    }

    /// Adds the turn of the prompt request with this id.
    pub fn begin(&mut self, request: &Value, turn: &Turn) {
        let running = Running {
            request: request.clone(),
            session: turn.session.clone(),
            unanswered: Vec::new(),
            signals: turn.signals(),
        };
        self.0.insert(turn.id.clone(), running);
    }

    /// Removes the turn of a session, if one runs.
    pub fn end(&mut self, session: &str) -> Option<Running> {
        self.0.remove(session)
    }

    /// Returns the running turn of a session.
    pub fn get_mut(&mut self, session: &str) -> Option<&mut Running> {
        self.0.get_mut(session)
    }

    /// Cancels the turn of a session, if one runs.
    pub fn cancel(&self, session: &str) {
        if let Some(turn) = self.0.get(session) {
            turn.cancel();
        }
    }

    /// Sends a message of the user to the turn of a session; returns `false` if none runs.
    pub fn steer(&self, session: &str, words: String) -> bool {
        let turn = self.0.get(session);
        turn.is_some_and(|turn| turn.signals.send(Signal::Steer(words)).is_ok())
    }

    /// Handles a notification of the client. All that concern a turn cancel it; others are ignored.
    pub fn notified(&self, method: &str, params: &Value) {
        match method {
            "session/cancel" => {
                let session = params.get("sessionId").and_then(Value::as_str);
                self.cancel(session.unwrap_or_default());
            }
            "$/cancel_request" => {
                let request = params.get("requestId");
                self.0
                    .values()
                    .filter(|turn| Some(&turn.request) == request)
                    .for_each(Running::cancel);
            }
            _ => {}
        }
    }
}
