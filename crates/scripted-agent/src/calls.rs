//! The agent's requests to the client, with the turn that awaits each response.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::wire::RpcResult;

/// A message to a running turn.
#[derive(Debug)]
pub enum Signal {
    /// Cancel the turn.
    Cancel,
    /// A message of the user during the turn.
    Steer(String),
    /// The client's response to the request with this id.
    Answer(u64, RpcResult),
}

/// The open requests of this process. Ids start at 0, as in the official SDKs.
#[derive(Debug, Default)]
pub struct Calls {
    open: Mutex<(u64, HashMap<u64, Sender<Signal>>)>,
}

impl Calls {
    /// Returns the next id, and records the turn that awaits the response.
    pub fn open(&self, waiting: &Sender<Signal>) -> u64 {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let id = open.0;
        open.0 += 1;
        open.1.insert(id, waiting.clone());
        id
    }

    /// Sends a response to the turn that awaits it; returns `false` if there is none.
    pub fn settle(&self, id: &Value, answer: RpcResult) -> bool {
        let Some(id) = id.as_u64() else { return false };
        let waiting = self
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .1
            .remove(&id);
        waiting.is_some_and(|turn| turn.send(Signal::Answer(id, answer)).is_ok())
    }
}
