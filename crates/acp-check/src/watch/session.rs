//! What is known of one session: its life, calls, terminals, messages and choices.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Most ids of a kind that are remembered in a session. Later ones are not checked.
const MOST_IDS: usize = 20_000;

/// Whether a session may send messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// Open, or being opened.
    Open,
    /// Closed or deleted by the client.
    Closed,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The user.
    User,
    /// The agent, with its thoughts.
    Agent,
}

/// A session of the agent.
#[derive(Debug)]
pub struct Session {
    /// Whether it may send messages.
    pub life: Life,
    /// Updates so far.
    pub updates: u64,
    /// Version 2: the last reported state.
    pub state: String,
    /// Version 2: reports of foreground work so far.
    pub started: u64,
    /// Version 2: the stop reason of the last `idle`.
    pub stop_reason: Option<String>,
    /// `replay_complete` updates since the session was resumed.
    pub replays: u64,
    /// The ids of modes, if it has modes.
    pub modes: BTreeSet<String>,
    /// The current mode.
    pub mode: Option<String>,
    calls: BTreeSet<String>,
    terminals: BTreeMap<String, bool>,
    messages: BTreeMap<String, Role>,
}

impl Session {
    /// A session that was just opened.
    pub fn open() -> Self {
        Self {
            life: Life::Open,
            updates: 0,
            state: "idle".to_owned(),
            started: 0,
            stop_reason: None,
            replays: 0,
            modes: BTreeSet::new(),
            mode: None,
            calls: BTreeSet::new(),
            terminals: BTreeMap::new(),
            messages: BTreeMap::new(),
        }
    }

    /// Records a tool call.
    pub fn call(&mut self, id: &str) {
        if self.calls.len() < MOST_IDS {
            self.calls.insert(id.to_owned());
        }
    }

    /// Returns whether a tool call is known, or may be one that was not remembered.
    pub fn has_call(&self, id: &str) -> bool {
        self.calls.contains(id) || self.calls.len() >= MOST_IDS
    }

    /// Records a terminal.
    pub fn terminal(&mut self, id: &str) {
        if self.terminals.len() < MOST_IDS {
            self.terminals.entry(id.to_owned()).or_insert(true);
        }
    }

    /// Returns whether a terminal exists, and whether it was not released; `None` if there is none.
    pub fn has_terminal(&self, id: &str) -> Option<bool> {
        let is_full = self.terminals.len() >= MOST_IDS;
        self.terminals.get(id).copied().or(is_full.then_some(true))
    }

    /// Records that the agent released a terminal.
    pub fn release(&mut self, id: &str) {
        if let Some(is_held) = self.terminals.get_mut(id) {
            *is_held = false;
        }
    }

    /// Records a message. Returns whether its id had the other role before.
    pub fn message(&mut self, id: &str, role: Role) -> bool {
        match self.messages.get(id) {
            Some(known) => *known != role,
            None => {
                if self.messages.len() < MOST_IDS {
                    self.messages.insert(id.to_owned(), role);
                }
                false
            }
        }
    }

    /// Returns whether the user's message with this id was sent back.
    pub fn has_echo(&self, id: &str) -> bool {
        self.messages.get(id) == Some(&Role::User)
    }

    /// Reads the modes of a result.
    pub fn read_modes(&mut self, modes: &Value) {
        let offered = modes.get("availableModes").and_then(Value::as_array);
        self.modes = offered
            .into_iter()
            .flatten()
            .filter_map(|mode| mode.get("id")?.as_str().map(str::to_owned))
            .collect();
        self.mode = modes
            .get("currentModeId")
            .and_then(Value::as_str)
            .map(str::to_owned);
    }
}

/// Returns the values of a select; groups are flattened.
pub fn values(option: &Value) -> Vec<&str> {
    let listed = option.get("options").and_then(Value::as_array);
    let mut found = Vec::new();
    for entry in listed.into_iter().flatten() {
        let group = entry.get("options").and_then(Value::as_array);
        let entries = group.map_or(std::slice::from_ref(entry), Vec::as_slice);
        found.extend(entries.iter().filter_map(|entry| entry.get("value")?.as_str()));
    }
    found
}
