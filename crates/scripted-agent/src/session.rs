//! One session: its history, mode and options.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::clock;
use crate::wire::{self, RpcError};

/// The modes: id, name and description.
const MODES: [(&str, &str, &str); 2] = [
    ("ask", "Ask", "Asks before it changes anything"),
    ("code", "Code", "Goes ahead"),
];

/// The values of the option `model`: id and name.
const MODELS: [(&str, &str); 2] = [("fake-small", "Fake Small"), ("fake-large", "Fake Large")];

/// A session shared by the main loop and the turn's thread.
pub type Shared = Arc<Mutex<Session>>;

/// Locks a session, even after a panic of another thread.
pub fn lock(session: &Shared) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The user of the client.
    User,
    /// This agent.
    Agent,
}

/// One session, open or closed.
#[derive(Debug)]
pub struct Session {
    /// ACP's session id.
    pub id: String,
    /// The working directory, absolute.
    pub cwd: String,
    /// The title that the step `title` set.
    pub title: Option<String>,
    /// The current mode's id.
    pub mode: String,
    /// The current value of the option `model`.
    pub model: String,
    /// The current value of the option `verbose`.
    pub verbose: bool,
    /// The system prompt of the request that opened the session in this process.
    pub system_prompt: Option<Value>,
    /// The number of prompts so far; part of tool call ids, so that they stay unique after a reload.
    pub turns: u64,
    /// The time of the last use, in seconds since 1970.
    pub used: u64,
    /// Whether the session accepts prompts; a closed session can be loaded again.
    pub open: bool,
    /// The content blocks of the conversation, in order.
    pub history: Vec<(Role, Value)>,
    /// The number of these blocks at the end of each turn.
    pub ends: Vec<usize>,
}

impl Session {
    /// Creates an empty session.
    pub fn new(id: String, cwd: String) -> Self {
        Self {
            id,
            cwd,
            title: None,
            mode: MODES[0].0.into(),
            model: MODELS[0].0.into(),
            verbose: false,
            system_prompt: None,
            turns: 0,
            used: clock::seconds(),
            open: true,
            history: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds a prompt to the history.
    pub fn asked(&mut self, blocks: &[Value]) {
        self.turns += 1;
        self.used = clock::seconds();
        self.history
            .extend(blocks.iter().map(|block| (Role::User, block.clone())));
    }

    /// Adds a chunk of the agent's text to the history. Merges consecutive chunks into one block.
    pub fn said(&mut self, piece: &str) {
        if let Some((Role::Agent, block)) = self.history.last_mut()
            && let Some(Value::String(text)) = block.get_mut("text")
        {
            text.push_str(piece);
            return;
        }
        self.history.push((Role::Agent, wire::text(piece)));
    }

    /// Records that a turn has ended.
    pub fn turn_ended(&mut self) {
        self.ends.push(self.history.len());
    }

    /// Returns the texts of the user's messages before the running turn.
    pub fn remembered(&self) -> Vec<&str> {
        let before = self.ends.last().copied().unwrap_or_default();
        let said = self.history[..before]
            .iter()
            .filter(|(role, _)| *role == Role::User);
        said.filter_map(|(_, block)| block.get("text")?.as_str())
            .collect()
    }

    /// Continues another session from the end of a turn, or as it is now.
    pub fn continue_from(&mut self, other: &Self, turn: Option<usize>) {
        let turns = turn.unwrap_or(other.ends.len());
        let blocks = match turn {
            Some(turn) => turn.checked_sub(1).and_then(|last| other.ends.get(last)).copied(),
            None => Some(other.history.len()),
        };
        self.history = other.history[..blocks.unwrap_or_default()].to_vec();
        self.ends = other.ends[..turns].to_vec();
        self.turns = u64::try_from(turns).unwrap_or(u64::MAX);
    }

    /// Returns the history as the updates that `session/load` sends.
    pub fn replay(&self) -> impl Iterator<Item = Value> + '_ {
        self.history.iter().map(|(role, block)| {
            let kind = match role {
                Role::User => "user_message_chunk",
                Role::Agent => "agent_message_chunk",
            };
            wire::update(&self.id, &wire::chunk(kind, block))
        })
    }

    /// Returns the `SessionModeState`.
    pub fn modes(&self) -> Value {
        let modes: Vec<Value> = MODES
            .iter()
            .map(|(id, name, about)| json!({ "id": id, "name": name, "description": about }))
            .collect();
        json!({ "currentModeId": self.mode, "availableModes": modes })
    }

    /// Returns the `SessionConfigOption[]`. Omits boolean options if the client does not support them.
    pub fn config(&self, booleans: bool) -> Value {
        let models: Vec<Value> = MODELS
            .iter()
            .map(|(value, name)| json!({ "value": value, "name": name }))
            .collect();
        let mut options = vec![json!({
            "type": "select", "id": "model", "name": "Model", "category": "model",
            "description": "Which model answers", "currentValue": self.model, "options": models,
        })];
        if booleans {
            options.push(json!({
                "type": "boolean", "id": "verbose", "name": "Verbose", "description": "Says more",
                "currentValue": self.verbose,
            }));
        }
        Value::Array(options)
    }

    /// Switches the mode.
    pub fn set_mode(&mut self, id: &str) -> Result<(), RpcError> {
        if !MODES.iter().any(|mode| mode.0 == id) {
            return Err(RpcError::params(format!("no mode {id:?}")));
        }
        id.clone_into(&mut self.mode);
        Ok(())
    }

    /// Sets an option, from the params of `session/set_config_option`.
    pub fn set_option(&mut self, params: &Value) -> Result<(), RpcError> {
        let id = params.get("configId").and_then(Value::as_str);
        let typed = params.get("type").and_then(Value::as_str);
        match (id, typed, params.get("value")) {
            (Some("model"), _, Some(Value::String(value))) if MODELS.iter().any(|model| model.0 == value) => {
                value.clone_into(&mut self.model);
            }
            (Some("verbose"), Some("boolean"), Some(Value::Bool(value))) => self.verbose = *value,
            (Some("model" | "verbose"), _, value) => {
                return Err(RpcError::params(format!("no value for this option: {value:?}")));
            }
            (id, ..) => return Err(RpcError::params(format!("no option {id:?}"))),
        }
        Ok(())
    }

    /// Returns the `SessionInfo` for `session/list`.
    pub fn info(&self) -> Value {
        let mut info = json!({ "sessionId": self.id, "cwd": self.cwd, "updatedAt": clock::iso(self.used) });
        if let Some(title) = &self.title {
            info["title"] = json!(title);
        }
        info
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_checked() {
        let mut session = Session::new("s".into(), "/w".into());
        assert!(
            session
                .set_option(&json!({"configId": "model", "value": "fake-large"}))
                .is_ok()
        );
        assert!(
            session
                .set_option(&json!({"configId": "model", "value": "other"}))
                .is_err()
        );
        assert!(
            session
                .set_option(&json!({"configId": "verbose", "type": "boolean", "value": true}))
                .is_ok()
        );
        assert!(
            session
                .set_option(&json!({"configId": "verbose", "value": "true"}))
                .is_err()
        );
        assert!(
            session
                .set_option(&json!({"configId": "what", "value": "x"}))
                .is_err()
        );
        assert!(session.set_mode("fly").is_err());
        assert_eq!((session.model.as_str(), session.verbose), ("fake-large", true));
    }
}
