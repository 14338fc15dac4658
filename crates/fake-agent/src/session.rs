//! One session: what it was told and what it said, its mode and its options, and its form as a file.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::clock;
use crate::wire::{self, RpcError};

/// The modes, id and name.
const MODES: [(&str, &str, &str); 2] = [
    ("ask", "Ask", "Asks before it changes anything"),
    ("code", "Code", "Goes ahead"),
];

/// The values of the option `model`, id and name.
const MODELS: [(&str, &str); 2] = [("fake-small", "Fake Small"), ("fake-large", "Fake Large")];

/// A session that the main loop and the turn's thread share.
pub type Shared = Arc<Mutex<Session>>;

/// Locks a session, whatever became of the thread that held it last.
pub fn lock(session: &Shared) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person.
    User,
    /// This agent.
    Agent,
}

/// One session.
#[derive(Debug)]
pub struct Session {
    /// ACP's session id.
    pub id: String,
    /// The working directory, absolute.
    pub cwd: String,
    /// Set by the step `title`.
    pub title: Option<String>,
    /// The current mode's id.
    pub mode: String,
    /// The current value of the option `model`.
    pub model: String,
    /// The current value of the option `verbose`.
    pub verbose: bool,
    /// How many prompts it has had; part of tool call ids, so that these stay unique over a reload.
    pub turns: u64,
    /// When it was last used, in seconds since 1970.
    pub used: u64,
    /// Whether it takes prompts; a closed one can be loaded again.
    pub open: bool,
    /// Content blocks in the order in which they were said.
    pub history: Vec<(Role, Value)>,
}

impl Session {
    /// A fresh one.
    pub fn new(id: String, cwd: String) -> Self {
        Self {
            id,
            cwd,
            title: None,
            mode: MODES[0].0.into(),
            model: MODELS[0].0.into(),
            verbose: false,
            turns: 0,
            used: clock::seconds(),
            open: true,
            history: Vec::new(),
        }
    }

    /// A prompt has come.
    pub fn asked(&mut self, blocks: &[Value]) {
        self.turns += 1;
        self.used = clock::seconds();
        self.history
            .extend(blocks.iter().map(|block| (Role::User, block.clone())));
    }

    /// The agent said a piece of text. Pieces that follow each other are kept as one block.
    pub fn said(&mut self, piece: &str) {
        if let Some((Role::Agent, block)) = self.history.last_mut()
            && let Some(Value::String(text)) = block.get_mut("text")
        {
            text.push_str(piece);
            return;
        }
        self.history.push((Role::Agent, wire::text(piece)));
    }

    /// The history as the updates that `session/load` replays.
    pub fn replay(&self) -> impl Iterator<Item = Value> + '_ {
        self.history.iter().map(|(role, block)| {
            let kind = match role {
                Role::User => "user_message_chunk",
                Role::Agent => "agent_message_chunk",
            };
            wire::update(&self.id, &wire::chunk(kind, block))
        })
    }

    /// `SessionModeState`.
    pub fn modes(&self) -> Value {
        let modes: Vec<Value> = MODES
            .iter()
            .map(|(id, name, about)| json!({ "id": id, "name": name, "description": about }))
            .collect();
        json!({ "currentModeId": self.mode, "availableModes": modes })
    }

    /// `SessionConfigOption[]`. A client that does not know boolean options gets none.
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

    /// `SessionInfo`, as `session/list` gives it.
    pub fn info(&self) -> Value {
        let mut info = json!({ "sessionId": self.id, "cwd": self.cwd, "updatedAt": clock::iso(self.used) });
        if let Some(title) = &self.title {
            info["title"] = json!(title);
        }
        info
    }

    /// The form in which it lies in the state directory.
    pub fn to_json(&self) -> Value {
        let history: Vec<Value> = self
            .history
            .iter()
            .map(|(role, block)| json!({ "user": *role == Role::User, "block": block }))
            .collect();
        json!({
            "sessionId": self.id, "cwd": self.cwd, "title": self.title, "mode": self.mode, "model": self.model,
            "verbose": self.verbose, "turns": self.turns, "used": self.used, "history": history,
        })
    }

    /// The other way. It is closed at first; `None` if the file is not one of ours.
    pub fn from_json(file: &Value) -> Option<Self> {
        let text = |key: &str| file.get(key)?.as_str().map(String::from);
        let number = |key: &str| file.get(key).and_then(Value::as_u64);
        let history = file.get("history")?.as_array()?.iter();
        Some(Self {
            title: text("title"),
            mode: text("mode")?,
            model: text("model")?,
            verbose: file.get("verbose")?.as_bool()?,
            turns: number("turns")?,
            used: number("used")?,
            open: false,
            history: history
                .map(|entry| {
                    let role = if entry.get("user")?.as_bool()? {
                        Role::User
                    } else {
                        Role::Agent
                    };
                    Some((role, entry.get("block")?.clone()))
                })
                .collect::<Option<_>>()?,
            ..Self::new(text("sessionId")?, text("cwd")?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_brings_back_what_was_said() {
        let mut session = Session::new("s".into(), "/w".into());
        session.asked(&[
            wire::text("hi"),
            json!({"type": "image", "data": "", "mimeType": "image/png"}),
        ]);
        session.said("Good ");
        session.said("day");
        session.title = Some("T".into());
        session.set_mode("code").unwrap();
        let back = Session::from_json(&session.to_json()).unwrap();
        assert!(!back.open);
        assert_eq!(back.to_json(), session.to_json());
        let replay: Vec<Value> = back.replay().collect();
        assert_eq!(replay.len(), 3);
        assert_eq!(replay[2]["params"]["update"]["content"]["text"], "Good day");
    }

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
