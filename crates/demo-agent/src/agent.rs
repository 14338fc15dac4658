//! The main loop of the demo agent, and its answers to the client.
//!
//! In: the client's messages, from the thread that reads stdin, and the ends of turns, each from its own thread. Out:
//! responses. Owns: the sessions and the list of running turns. Never: waits for a turn, or for the client.

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use acpd_scripted_agent::calls::Calls;
use acpd_scripted_agent::clock;
use acpd_scripted_agent::input::{self, Incoming};
use acpd_scripted_agent::out::Out;
use acpd_scripted_agent::params::{self, cwd, servers, text};
use acpd_scripted_agent::running::Turns;
use acpd_scripted_agent::session::{Session, Shared, lock};
use acpd_scripted_agent::turn::{self, Flow, Turn};
use acpd_scripted_agent::wire::{self, RpcError, RpcResult};
use serde_json::{Value, json};

use crate::story;

/// The inputs of the main loop.
#[derive(Debug)]
enum Event {
    Message(Incoming),
    /// stdin was closed.
    Closed,
    /// The turn of this session has ended, with the response to its prompt.
    TurnOver(String, RpcResult),
}

/// The state of the agent.
#[derive(Debug)]
struct Agent {
    pace: u64,
    out: Arc<Out>,
    calls: Arc<Calls>,
    events: Sender<Event>,
    running: Turns,
    sessions: BTreeMap<String, Shared>,
    /// What the ids of this process's sessions begin with.
    prefix: String,
    /// Whether the client has sent `initialize`.
    ready: bool,
    /// Whether the client supports boolean options.
    booleans: bool,
}

/// Runs the agent until stdin is closed. It pauses for `pace` milliseconds between pieces of text.
pub fn run(pace: u64) {
    let (events, inbox) = channel();
    let reader = events.clone();
    input::spawn(move |message| reader.send(message.map_or(Event::Closed, Event::Message)).is_ok());
    // The pid alone is not unique: in a container it is always the same.
    let start = clock::nanos() / 1_000_000;
    let mut agent = Agent {
        pace,
        out: Arc::new(Out::stdout()),
        calls: Arc::default(),
        events,
        running: Turns::default(),
        sessions: BTreeMap::new(),
        prefix: format!("demo-{}-{start:x}", std::process::id()),
        ready: false,
        booleans: false,
    };
    for event in inbox {
        match event {
            Event::Message(message) => agent.message(message),
            Event::TurnOver(session, answer) => agent.turn_over(&session, &answer),
            Event::Closed => break,
        }
    }
}

/// Runs the turn of a prompt.
fn script(turn: &mut Turn) -> Flow {
    let said = turn.texts().find_map(said).map(str::to_owned);
    match said {
        Some(text) => {
            turn.say(&text);
            turn.pause(0)
        }
        None => story::run(turn),
    }
}

/// Returns the text that a prompt asks the agent to say.
fn said(prompt: &str) -> Option<&str> {
    let text = prompt.trim().strip_prefix("say ")?.trim_start();
    (!text.is_empty()).then_some(text)
}

impl Agent {
    fn message(&mut self, message: Incoming) {
        match message {
            Incoming::Request { id, method, params } if method == "session/prompt" => {
                if let Err(error) = self.prompt(&id, &params) {
                    self.out.send(&wire::response(&id, &Err(error)));
                }
            }
            Incoming::Request { id, method, params } => {
                let answer = self.request(&method, &params);
                self.out.send(&wire::response(&id, &answer));
                if answer.is_ok() && method == "session/set_mode" {
                    self.mode_changed(&params);
                }
            }
            Incoming::Notification { method, params } => self.running.notified(&method, &params),
            Incoming::Response { id, answer } => {
                if !self.calls.settle(&id, answer) {
                    eprintln!("demo-agent: unexpected response {id}");
                }
            }
            Incoming::Unreadable(error) => {
                eprintln!("demo-agent: {error}");
                self.out.send(&wire::response(&Value::Null, &Err(error)));
            }
        }
    }

    /// Starts a turn on its own thread.
    fn prompt(&mut self, request: &Value, params: &Value) -> Result<(), RpcError> {
        self.handshaken("session/prompt")?;
        let session = self.active(params)?;
        let blocks = params::prompt(params)?.to_vec();
        let id = lock(&session).id.clone();
        self.running.check_idle(&id)?;
        lock(&session).asked(&blocks);
        let mut turn = Turn::new(&session, blocks, &self.out, &self.calls);
        turn.pace = self.pace;
        self.running.begin(request, &turn);
        let events = self.events.clone();
        std::thread::spawn(move || {
            let flow = script(&mut turn);
            // The receiver is gone only when the process is about to exit.
            let _ = events.send(Event::TurnOver(id, turn::response(flow)));
        });
        Ok(())
    }

    /// Responds to the prompt. The session is free before: the client may send the next prompt at once.
    fn turn_over(&mut self, session: &str, answer: &RpcResult) {
        if let Some(running) = self.running.end(session) {
            self.out.send(&wire::response(&running.request, answer));
        }
    }

    fn handshaken(&self, method: &str) -> Result<(), RpcError> {
        if self.ready || method == "initialize" {
            return Ok(());
        }
        Err(RpcError::new(
            wire::INVALID_REQUEST,
            format!("{method} before initialize"),
        ))
    }

    /// Handles every request except `session/prompt`.
    fn request(&mut self, method: &str, params: &Value) -> RpcResult {
        self.handshaken(method)?;
        match method {
            "initialize" => self.initialize(params),
            "authenticate" => text(params, "methodId").map(|_| json!({})),
            "session/new" => self.new_session(params),
            "session/load" => {
                servers(params)?;
                self.reopen(params, true)
            }
            "session/resume" => self.reopen(params, false),
            "session/list" => Ok(self.list(params)),
            "session/close" => self.close(params),
            "session/set_mode" => {
                let mode = text(params, "modeId")?;
                lock(&self.active(params)?).set_mode(mode)?;
                Ok(json!({}))
            }
            "session/set_config_option" => {
                let session = self.active(params)?;
                let mut session = lock(&session);
                session.set_option(params)?;
                Ok(json!({ "configOptions": session.config(self.booleans) }))
            }
            _ => Err(RpcError::new(
                wire::METHOD_NOT_FOUND,
                format!("no method {method}"),
            )),
        }
    }

    fn mode_changed(&self, params: &Value) {
        let update = json!({ "sessionUpdate": "current_mode_update", "currentModeId": params["modeId"] });
        if let Ok(id) = text(params, "sessionId") {
            self.out.send(&wire::update(id, &update));
        }
    }

    fn initialize(&mut self, params: &Value) -> RpcResult {
        self.booleans = params::initialize(params)?;
        self.ready = true;
        Ok(json!({
            "protocolVersion": 1,
            "agentInfo": {
                "name": "demo-agent", "title": "Demo agent", "version": env!("CARGO_PKG_VERSION"),
            },
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": { "image": true, "audio": true, "embeddedContext": true },
                "sessionCapabilities": { "list": {}, "close": {}, "resume": {} },
            },
            "authMethods": [],
        }))
    }

    fn new_session(&mut self, params: &Value) -> RpcResult {
        let cwd = cwd(params)?.to_owned();
        servers(params)?;
        let id = format!("{}-{}", self.prefix, self.sessions.len() + 1);
        let session = Session::new(id.clone(), cwd);
        let mut state = self.state(&session);
        state["sessionId"] = json!(id);
        self.sessions.insert(id, Arc::new(Mutex::new(session)));
        Ok(state)
    }

    fn reopen(&self, params: &Value, replay: bool) -> RpcResult {
        let session = self.session(params)?;
        let cwd = cwd(params)?.to_owned();
        let mut session = lock(session);
        session.cwd = cwd;
        session.open = true;
        if replay {
            session.replay().for_each(|update| self.out.send(&update));
        }
        Ok(self.state(&session))
    }

    /// Lists the sessions of this process, which are too few for pages.
    fn list(&self, params: &Value) -> Value {
        let cwd = params.get("cwd").and_then(Value::as_str);
        let infos = self.sessions.values().map(|session| lock(session).info());
        let infos: Vec<Value> = infos
            .filter(|info| cwd.is_none_or(|cwd| info["cwd"] == cwd))
            .collect();
        json!({ "sessions": infos })
    }

    /// Cancels the turn, as the schema requires, and marks the session as closed.
    fn close(&self, params: &Value) -> RpcResult {
        let session = self.active(params)?;
        let mut session = lock(&session);
        self.running.cancel(&session.id);
        session.open = false;
        Ok(json!({}))
    }

    /// Returns the session of a request, open or closed.
    fn session(&self, params: &Value) -> Result<&Shared, RpcError> {
        let id = text(params, "sessionId")?;
        self.sessions.get(id).ok_or_else(|| RpcError::no_session(id))
    }

    /// Returns the session of a request, which accepts prompts.
    fn active(&self, params: &Value) -> Result<Shared, RpcError> {
        let session = self.session(params)?;
        let locked = lock(session);
        if locked.open {
            Ok(session.clone())
        } else {
            Err(RpcError::no_session(&locked.id))
        }
    }

    fn state(&self, session: &Session) -> Value {
        json!({ "modes": session.modes(), "configOptions": session.config(self.booleans) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_to_be_said_is_said() {
        assert_eq!(said(" say  hello, it's me\n"), Some("hello, it's me"));
        for talk in [
            "",
            "say",
            "say ",
            "Say hi",
            "please say hi",
            "saying hi",
            "hello; say hi",
        ] {
            assert_eq!(said(talk), None, "{talk:?}");
        }
    }

    /// Returns an agent after the handshake, with one session, and the id of that.
    fn agent() -> (Agent, String) {
        let mut agent = Agent {
            pace: 0,
            out: Arc::new(Out::stdout()),
            calls: Arc::default(),
            events: channel().0,
            running: Turns::default(),
            sessions: BTreeMap::new(),
            prefix: "demo".into(),
            ready: false,
            booleans: false,
        };
        let before = agent.request("session/new", &json!({}));
        assert!(before.is_err_and(|error| error.code == wire::INVALID_REQUEST));
        agent
            .request("initialize", &json!({ "protocolVersion": 1 }))
            .unwrap();
        let opened = agent.request("session/new", &json!({ "cwd": "/w", "mcpServers": [] }));
        let id = opened.unwrap()["sessionId"].as_str().unwrap().to_owned();
        (agent, id)
    }

    #[test]
    fn a_session_has_modes_and_models_and_is_listed() {
        let (mut agent, id) = agent();
        let params = json!({ "sessionId": id, "modeId": "code", "configId": "model", "value": "fake-large" });
        agent.request("session/set_mode", &params).unwrap();
        agent.request("session/set_config_option", &params).unwrap();
        let again = json!({ "sessionId": id, "cwd": "/v" });
        let state = agent.request("session/resume", &again).unwrap();
        assert_eq!(state["modes"]["currentModeId"], "code");
        assert_eq!(state["configOptions"][0]["currentValue"], "fake-large");
        let listed = |agent: &mut Agent, cwd: &str| {
            let list = agent.request("session/list", &json!({ "cwd": cwd })).unwrap();
            list["sessions"].as_array().map(Vec::len)
        };
        assert_eq!(
            (listed(&mut agent, "/v"), listed(&mut agent, "/w")),
            (Some(1), Some(0))
        );
    }

    #[test]
    fn a_closed_session_takes_no_prompt_until_it_is_resumed() {
        let (mut agent, id) = agent();
        let params = json!({ "sessionId": id, "cwd": "/w", "modeId": "ask" });
        agent.request("session/close", &params).unwrap();
        let closed = agent.request("session/set_mode", &params);
        assert!(closed.is_err_and(|error| error.code == wire::RESOURCE_NOT_FOUND));
        agent.request("session/resume", &params).unwrap();
        agent.request("session/set_mode", &params).unwrap();
        let unknown = agent.request("session/resume", &json!({ "sessionId": "x", "cwd": "/w" }));
        assert!(unknown.is_err_and(|error| error.code == wire::RESOURCE_NOT_FOUND));
    }

    #[test]
    fn params_are_checked() {
        let (mut agent, id) = agent();
        for (method, params) in [
            ("session/new", json!({ "cwd": "w", "mcpServers": [] })),
            ("session/new", json!({ "cwd": "/w" })),
            ("session/load", json!({ "sessionId": id, "cwd": "/w" })),
            ("session/set_mode", json!({ "sessionId": id, "modeId": "fly" })),
            ("session/close", json!({ "sessionId": 7 })),
        ] {
            let refused = agent.request(method, &params);
            assert!(
                refused.is_err_and(|error| error.code == wire::INVALID_PARAMS),
                "{method} {params}"
            );
        }
        let unknown = agent.request("session/fork", &json!({ "sessionId": id }));
        assert!(unknown.is_err_and(|error| error.code == wire::METHOD_NOT_FOUND));
    }
}
