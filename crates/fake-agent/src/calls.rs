//! Our own requests to the client, and which turn waits for each answer.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::wire::Answer;

/// What a running turn is told from outside.
#[derive(Debug)]
pub enum Signal {
    /// Stop.
    Cancel,
    /// The person says something in the middle of it.
    Steer(String),
    /// The client answered the request of this id.
    Answer(u64, Answer),
}

/// The open requests of this process. Ids count from 0, as the official SDKs do.
#[derive(Debug, Default)]
pub struct Calls {
    open: Mutex<(u64, HashMap<u64, Sender<Signal>>)>,
}

impl Calls {
    /// Takes the next id, and notes who waits for the answer.
    pub fn open(&self, waiting: &Sender<Signal>) -> u64 {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let id = open.0;
        open.0 += 1;
        open.1.insert(id, waiting.clone());
        id
    }

    /// Hands an answer to the turn that waits for it. False if none does.
    pub fn settle(&self, id: &Value, answer: Answer) -> bool {
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
