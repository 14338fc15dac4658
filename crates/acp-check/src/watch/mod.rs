//! Watches all messages of one process, and checks each against the schema and the rules that a schema cannot express.
//!
//! In: requests and notifications of the client, and lines of the agent. Out: the agent's messages, and verdicts. Owns: what is known of
//! requests and sessions. Never: sends a message, or knows why the client sent one.

mod session;
mod update;

use std::collections::BTreeMap;

use serde_json::Value;

pub use self::session::{Life, Session, values};
use crate::evidence::cut;
use crate::report::Rows;
use crate::rule::Rule;
use crate::schema::{Schema, Shape, Side};
use crate::version::Version;
use crate::wire::{self, Answer, Frame};

/// Most of a line that is quoted, in bytes.
const LINE_BYTES: usize = 240;

/// Most sessions that are remembered. Later ones are not checked.
const MOST_SESSIONS: usize = 4_096;

/// Most requests of the agent that may wait for an answer.
const MOST_OPEN: usize = 1_024;

/// A request of the client.
#[derive(Debug)]
struct Asked {
    method: String,
    session: Option<String>,
    is_answered: bool,
}

/// What is known of one process of an agent.
#[derive(Debug)]
pub struct Watch {
    version: Version,
    schema: Schema,
    /// The verdicts.
    pub rows: Rows,
    asked: BTreeMap<String, Asked>,
    /// Ids of the agent's requests that wait for an answer.
    open: Vec<String>,
    sessions: BTreeMap<String, Session>,
    /// Sessions that were named before the answer that creates them, with the line.
    early: Vec<(String, String)>,
    /// Whether the client has sent a line that is not JSON. Its answer has the id null.
    malformed: bool,
}

impl Watch {
    /// Watches a new process.
    pub fn new(version: Version, rows: Rows) -> Self {
        Self {
            version,
            schema: Schema::of(version),
            rows,
            asked: BTreeMap::new(),
            open: Vec::new(),
            sessions: BTreeMap::new(),
            early: Vec::new(),
            malformed: false,
        }
    }

    /// Returns a session that the agent has opened.
    pub fn session(&self, id: &str) -> Option<&Session> {
        self.sessions.get(id)
    }

    /// Records a request of the client.
    pub fn request(&mut self, id: &Value, method: &str, params: &Value) {
        let session = params.get("sessionId").and_then(Value::as_str);
        if matches!(method, "session/load" | "session/resume")
            && let Some(known) = session.and_then(|session| self.sessions.get_mut(session))
        {
            known.life = Life::Open;
            known.replays = 0;
        }
        self.asked.insert(
            id.to_string(),
            Asked {
                method: method.to_owned(),
                session: session.map(str::to_owned),
                is_answered: false,
            },
        );
    }

    /// Returns whether the client has sent a request with this id.
    pub fn has_asked(&self, id: &Value) -> bool {
        self.asked.contains_key(&id.to_string())
    }

    /// Records that the client has sent a line that is not JSON.
    pub fn malformed(&mut self) {
        self.malformed = true;
    }

    /// Records that the client answered a request of the agent.
    pub fn answered(&mut self, id: &Value) {
        let id = id.to_string();
        self.open.retain(|open| *open != id);
    }

    /// Records that the client created a terminal for the agent.
    pub fn created_terminal(&mut self, session: &str, terminal: &str) {
        if let Some(session) = self.sessions.get_mut(session) {
            session.terminal(terminal);
        }
    }

    /// Reads a line of the agent, and checks it.
    pub fn line(&mut self, line: &[u8]) -> Option<Frame> {
        let quoted = cut(
            &String::from_utf8_lossy(&line[..line.len().min(2 * LINE_BYTES)]),
            LINE_BYTES,
        );
        match wire::read(line) {
            Ok(frame) => {
                self.rows.ok("stdout", Rule::Lines);
                self.frame(&frame, &quoted);
                Some(frame)
            }
            Err(reason) => {
                self.rows
                    .violated_by("stdout", Rule::Lines, &format!("{reason}: {quoted}"));
                None
            }
        }
    }

    fn frame(&mut self, frame: &Frame, line: &str) {
        match frame {
            Frame::Request { id, method, params } => {
                self.check_id(id, method, line);
                self.check_call(Shape::Request, method, params, line);
                self.check_session(method, params, line);
                self.agent_request(method, params, line);
            }
            Frame::Notification { method, params } => {
                self.check_call(Shape::Notification, method, params, line);
                self.check_session(method, params, line);
                if method == "session/update" {
                    self.update(params, line);
                }
            }
            Frame::Response { id, answer } => self.response(id, answer, line),
        }
    }

    /// Checks the id of a request of the agent.
    fn check_id(&mut self, id: &Value, method: &str, line: &str) {
        let id = id.to_string();
        if self.open.contains(&id) {
            self.rows
                .violated_by(method, Rule::Ids, &format!("{id} waits for an answer: {line}"));
        } else {
            self.rows.ok(method, Rule::Ids);
            if self.open.len() < MOST_OPEN {
                self.open.push(id);
            }
        }
    }

    /// Checks the method and the params of a request or notification.
    fn check_call(&mut self, shape: Shape, method: &str, params: &Value, line: &str) {
        if method.starts_with('_') {
            return;
        }
        if !self.schema.has(Side::Client, shape, method) {
            let reason = format!("not a method of clients in {}: {line}", self.version);
            self.rows.violated_by(method, Rule::Method, &reason);
            return;
        }
        let name = named(method, params);
        match self.schema.check(Side::Client, shape, method, params) {
            Ok(()) => self.rows.ok(&name, Rule::Schema),
            Err(fault) => self
                .rows
                .violated_by(&name, Rule::Schema, &format!("{fault}: {line}")),
        }
    }

    /// Checks the session that a request or notification of the agent names.
    fn check_session(&mut self, method: &str, params: &Value, line: &str) {
        let Some(id) = params.get("sessionId").and_then(Value::as_str) else {
            return;
        };
        let name = named(method, params);
        match self.sessions.get(id).map(|session| session.life) {
            Some(Life::Open) => self.rows.ok("session/update", Rule::Session),
            Some(Life::Closed) => self.rows.violated_by(&name, Rule::Closed, line),
            None if self.sessions.len() >= MOST_SESSIONS => {}
            // The answer that creates it may be on its way.
            None if self.creates() && self.early.len() < MOST_OPEN => {
                self.early.push((id.to_owned(), line.to_owned()));
            }
            None => self.rows.violated_by(&name, Rule::Session, line),
        }
    }

    /// Returns whether a request that creates a session waits for its answer.
    fn creates(&self) -> bool {
        self.asked.values().any(|asked| {
            !asked.is_answered && matches!(asked.method.as_str(), "session/new" | "session/fork")
        })
    }

    /// Checks an update of a session that is open. Those of other sessions have a fault of their own.
    fn update(&mut self, params: &Value, line: &str) {
        let update = params.get("update").unwrap_or(&Value::Null);
        let word = |name: &str| update.get(name).and_then(Value::as_str);
        let kind = word("sessionUpdate").unwrap_or_default();
        let id = params.get("sessionId").and_then(Value::as_str);
        let session = id.and_then(|id| self.sessions.get_mut(id));
        let Some(session) = session.filter(|session| session.life == Life::Open) else {
            return;
        };
        let name = named("session/update", params);
        for (rule, fault) in update::check(self.version, session, kind, update) {
            match fault {
                None => self.rows.ok(&name, rule),
                Some(fault) => self.rows.violated_by(&name, rule, &format!("{fault}: {line}")),
            }
        }
        // Children are announced on their parent.
        if kind == "subagent_update"
            && let Some(child) = word("sessionId")
        {
            self.opened(child);
        }
        if kind == "config_option_update"
            && let Some(options) = update.get("configOptions")
        {
            self.check_options(&name, options, line);
        }
    }

    /// Checks what a request of the agent says about tool calls and terminals.
    fn agent_request(&mut self, method: &str, params: &Value, line: &str) {
        let word = |pointer: &str| params.pointer(pointer).and_then(Value::as_str);
        let Some(session) = word("/sessionId").and_then(|id| self.sessions.get_mut(id)) else {
            return;
        };
        match method {
            "session/request_permission" => {
                let call = word("/toolCall/toolCallId").or(word("/subject/toolCall/toolCallId"));
                if let Some(call) = call {
                    session.call(call);
                }
            }
            "terminal/output" | "terminal/wait_for_exit" | "terminal/kill" | "terminal/release" => {
                let id = word("/terminalId").unwrap_or_default();
                match session.has_terminal(id) {
                    Some(true) => self.rows.ok(method, Rule::Terminal),
                    Some(false) => {
                        let reason = format!("terminal {id:?} was released: {line}");
                        self.rows.violated_by(method, Rule::Terminal, &reason);
                    }
                    None => {
                        let reason = format!("no terminal {id:?}: {line}");
                        self.rows.violated_by(method, Rule::Terminal, &reason);
                    }
                }
                if method == "terminal/release" {
                    session.release(id);
                }
            }
            _ => {}
        }
    }

    fn response(&mut self, id: &Value, answer: &Answer, line: &str) {
        let Some(asked) = self.asked.get_mut(&id.to_string()) else {
            // A malformed line has no id that an answer could have.
            if !(id.is_null() && answer.is_err() && self.malformed) {
                let reason = format!("no request has this id: {line}");
                self.rows.violated_by("(response)", Rule::Answered, &reason);
            }
            return;
        };
        let (method, session) = (asked.method.clone(), asked.session.clone());
        if std::mem::replace(&mut asked.is_answered, true) {
            let reason = format!("a second answer: {line}");
            self.rows.violated_by(&method, Rule::Answered, &reason);
            return;
        }
        self.rows.ok(&method, Rule::Answered);
        let checked = match answer {
            Ok(result) => self.schema.check(Side::Agent, Shape::Response, &method, result),
            Err(error) => self.schema.check_error(error),
        };
        match checked {
            Ok(()) => self.rows.ok(&method, Rule::Schema),
            Err(fault) => self
                .rows
                .violated_by(&method, Rule::Schema, &format!("{fault}: {line}")),
        }
        if let Ok(result) = answer {
            self.succeeded(&method, session.as_deref(), result, line);
        }
        if !self.creates() {
            for (id, line) in std::mem::take(&mut self.early) {
                if !self.sessions.contains_key(&id) {
                    self.rows.violated_by("session/update", Rule::Session, &line);
                }
            }
        }
    }

    /// Follows what a successful request changes.
    fn succeeded(&mut self, method: &str, session: Option<&str>, result: &Value, line: &str) {
        let created = result.get("sessionId").and_then(Value::as_str);
        let about = match method {
            "session/new" | "session/fork" => {
                let Some(created) = created else { return };
                if self.sessions.contains_key(created) {
                    self.rows.violated_by(method, Rule::NewId, line);
                } else {
                    self.rows.ok(method, Rule::NewId);
                    self.opened(created);
                }
                Some(created)
            }
            "session/load" | "session/resume" => {
                if let Some(session) = session {
                    self.opened(session);
                }
                session
            }
            "session/close" | "session/delete" => {
                let known = session.and_then(|session| self.sessions.get_mut(session));
                if let Some(known) = known {
                    known.life = Life::Closed;
                }
                return;
            }
            _ => session,
        };
        let known = about.and_then(|id| self.sessions.get_mut(id));
        if let (Some(known), Some(modes)) = (known, result.get("modes").filter(|modes| modes.is_object())) {
            known.read_modes(modes);
            let is_offered = known.mode.as_ref().is_none_or(|mode| known.modes.contains(mode));
            self.choice(method, is_offered, line);
        }
        if let Some(options) = result.get("configOptions") {
            self.check_options(method, options, line);
        }
    }

    fn opened(&mut self, id: &str) {
        if self.sessions.len() < MOST_SESSIONS || self.sessions.contains_key(id) {
            let session = self.sessions.entry(id.to_owned()).or_insert_with(Session::open);
            session.life = Life::Open;
        }
    }

    /// Checks that each option's value is among those that it offers.
    fn check_options(&mut self, name: &str, options: &Value, line: &str) {
        for option in options.as_array().into_iter().flatten() {
            let offered = values(option);
            if let Some(current) = option.get("currentValue").and_then(Value::as_str) {
                self.choice(name, offered.contains(&current), line);
            }
        }
    }

    fn choice(&mut self, name: &str, is_offered: bool, line: &str) {
        if is_offered {
            self.rows.ok(name, Rule::Choice);
        } else {
            self.rows.violated_by(name, Rule::Choice, line);
        }
    }
}

/// Returns a method's name in rows: updates have their kind behind it.
fn named(method: &str, params: &Value) -> String {
    let kind = params.pointer("/update/sessionUpdate").and_then(Value::as_str);
    match kind.filter(|_| method == "session/update") {
        Some(kind) => format!("{method} {kind}"),
        None => method.to_owned(),
    }
}
