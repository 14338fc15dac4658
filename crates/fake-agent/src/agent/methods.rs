//! Responses to every method except `session/prompt`.

use std::time::Duration;

use acpd_scripted_agent::params::{self, cwd, servers, text};
use serde_json::{Value, json};

use super::{Agent, cursor_id};
use crate::scenarios;
use crate::session::{Session, lock};
use crate::wire::{self, RpcError, RpcResult};

/// Sessions per page of `session/list`.
const PAGE: usize = 50;

/// Returns whether a message for the running turn has the word "later".
pub(super) fn comes_later(params: &Value) -> bool {
    let mut blocks = params
        .get("prompt")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    blocks.any(|block| {
        let text = block.get("text").and_then(Value::as_str);
        text.is_some_and(|text| text.split_whitespace().any(|word| word == "later"))
    })
}

/// The answer to a message for a turn that has ended.
pub(super) fn no_running_turn() -> Value {
    json!({ "outcome": "promptRequired", "reason": "noRunningTurn" })
}

impl Agent {
    /// Handles a request.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> RpcResult {
        self.handshaken(method)?;
        match method {
            "initialize" => self.initialize(params),
            "authenticate" => self.authenticate(params),
            "logout" if self.flags.sign_in => {
                self.store.sign_in(false);
                Ok(json!({}))
            }
            "session/new" => self.new_session(params),
            "session/load" if self.flags.load => {
                servers(params)?;
                self.reopen(params, true)
            }
            "session/resume" if self.flags.load => self.reopen(params, false),
            "session/options" if self.flags.options => {
                Ok(self.state(&Session::new(String::new(), cwd(params)?.to_owned())))
            }
            "session/list" => self.list(params),
            "session/close" => self.close(params),
            "session/fork" if self.flags.fork => self.fork(params),
            "session/delete" if self.flags.delete => self.delete(params),
            "_session/steering" if self.flags.steer => self.steer(params),
            "session/set_mode" => self
                .change(params, |session| session.set_mode(text(params, "modeId")?))
                .map(|_| json!({})),
            "session/set_config_option" => self.change(params, |session| session.set_option(params)),
            _ => Err(RpcError::new(
                wire::METHOD_NOT_FOUND,
                format!("no method {method}"),
            )),
        }
    }

    /// Sends the updates that follow a successful response.
    pub(super) fn after(&mut self, method: &str, params: &Value) {
        if let ("session/set_mode", Ok(id), Ok(mode)) =
            (method, text(params, "sessionId"), text(params, "modeId"))
        {
            let update = json!({ "sessionUpdate": "current_mode_update", "currentModeId": mode });
            self.out.send(&wire::update(id, &update));
        }
    }

    fn initialize(&mut self, params: &Value) -> RpcResult {
        self.booleans = params::initialize(params)?;
        let knows_cursors = params.pointer("/clientCapabilities/session/cursors");
        self.cursors = self.flags.cursors && knows_cursors.is_some_and(Value::is_object);
        self.ready = true;
        let mut session = json!({ "list": {}, "close": {} });
        if self.flags.load {
            session["resume"] = json!({});
        }
        if self.flags.fork {
            session["fork"] = json!({});
        }
        if self.flags.delete {
            session["delete"] = json!({});
        }
        if self.flags.options {
            session["options"] = json!({});
        }
        if self.flags.system_prompt {
            session["systemPrompt"] = json!({ "mode": { "override": {} } });
        }
        let mut hello = json!({
            "protocolVersion": 1,
            "agentInfo": {
                "name": self.flags.name, "title": "Fake Agent", "version": env!("CARGO_PKG_VERSION"),
            },
            "agentCapabilities": {
                "loadSession": self.flags.load,
                "promptCapabilities": { "image": true, "audio": true, "embeddedContext": true },
                "sessionCapabilities": session,
            },
            "authMethods": [],
        });
        if self.flags.sign_in {
            let mut methods = vec![json!({ "id": "key", "name": "API key" })];
            if self.flags.sign_in_by_browser {
                methods.push(json!({ "id": "browser", "name": "Browser" }));
            }
            hello["authMethods"] = methods.into();
            hello["agentCapabilities"]["auth"] = json!({ "logout": {} });
        }
        if self.flags.steer {
            hello["_meta"] = json!({ "steering": { "supported": true } });
        }
        Ok(hello)
    }

    fn authenticate(&mut self, params: &Value) -> RpcResult {
        let method = text(params, "methodId")?;
        if self.flags.sign_in {
            if method == "browser" && self.flags.sign_in_by_browser {
                eprint!(
                    "\u{1b}[1mOpen https://login.example/device\u{1b}[0m\nand enter the code ABCD-EFGH: "
                );
                // The user never comes back from there.
                loop {
                    std::thread::park();
                }
            }
            if method != "key" {
                return Err(RpcError::params(format!("no auth method {method:?}")));
            }
            self.store.sign_in(true);
        }
        Ok(json!({}))
    }

    /// Fails unless the user is signed in.
    fn check_signed_in(&self) -> Result<(), RpcError> {
        let refreshes = |ms| self.store.refresh(Duration::from_millis(ms));
        let signed_in = !self.flags.sign_in || self.store.signed_in();
        if signed_in && self.flags.refresh.is_none_or(refreshes) {
            return Ok(());
        }
        Err(RpcError::new(wire::AUTH_REQUIRED, "Authentication required"))
    }

    fn new_session(&mut self, params: &Value) -> RpcResult {
        self.check_signed_in()?;
        let cwd = cwd(params)?.to_owned();
        servers(params)?;
        let system_prompt = self.system_prompt(params)?;
        let session = self.store.create(cwd);
        let mut session = lock(&session);
        self.take(&session.id)?;
        session.system_prompt = system_prompt;
        self.set_initial(&mut session, params)?;
        if self.flags.early {
            self.out.send(&wire::update(&session.id, &scenarios::commands()));
        }
        let mut state = self.state(&session);
        state["sessionId"] = json!(session.id);
        Ok(state)
    }

    fn reopen(&mut self, params: &Value, replay: bool) -> RpcResult {
        self.check_signed_in()?;
        let id = text(params, "sessionId")?;
        let cwd = cwd(params)?.to_owned();
        let system_prompt = self.system_prompt(params)?;
        let session = self.store.find(id).ok_or_else(|| RpcError::no_session(id))?;
        self.take(id)?;
        let mut session = lock(&session);
        session.cwd = cwd;
        session.system_prompt = system_prompt;
        session.open = true;
        self.set_initial(&mut session, params)?;
        if replay {
            session.replay().for_each(|update| self.out.send(&update));
        }
        for turn in 1..=session.ends.len() {
            self.announce(&session, turn);
        }
        self.store.save(&session);
        Ok(self.state(&session))
    }

    /// Takes a session for this process, if sessions are locked. Fails if another process has it.
    fn take(&mut self, id: &str) -> Result<(), RpcError> {
        if !self.flags.lock || self.store.lock(id) {
            return Ok(());
        }
        let text = format!("session {id:?} is in use by another process");
        Err(RpcError::new(wire::INVALID_REQUEST, text))
    }

    /// Returns the system prompt of a request. Clients may send one only to an agent that has declared it.
    fn system_prompt(&self, params: &Value) -> Result<Option<Value>, RpcError> {
        match params.get("systemPrompt") {
            None | Some(Value::Null) => Ok(None),
            Some(_) if !self.flags.system_prompt => Err(RpcError::params(
                "systemPrompt was not declared; see --system-prompt",
            )),
            Some(prompt) => Ok(Some(prompt.clone())),
        }
    }

    /// Sets the initial values of options. What is unknown is ignored.
    fn set_initial(&self, session: &mut Session, params: &Value) -> Result<(), RpcError> {
        let Some(options) = params.get("configOptions").and_then(Value::as_array) else {
            return Ok(());
        };
        if !self.flags.options {
            return Err(RpcError::params("configOptions was not declared; see --options"));
        }
        for option in options {
            // The schema has unknown options and values ignored.
            let _ = session.set_option(option);
        }
        Ok(())
    }

    /// Lists sessions in pages of [`PAGE`]; a cursor is the number of sessions on the earlier pages.
    fn list(&mut self, params: &Value) -> RpcResult {
        let cwd = params.get("cwd").and_then(Value::as_str);
        let start = match params.get("cursor") {
            None | Some(Value::Null) => 0,
            Some(cursor) => cursor
                .as_str()
                .and_then(|cursor| cursor.parse().ok())
                .ok_or_else(|| RpcError::params("no cursor of ours"))?,
        };
        let sessions = self.store.list();
        let mut infos: Vec<Value> = sessions
            .iter()
            .map(|session| lock(session).info())
            .filter(|info| cwd.is_none_or(|cwd| info["cwd"] == cwd))
            .skip(start)
            .take(PAGE + 1)
            .collect();
        let more = infos.len() > PAGE;
        infos.truncate(PAGE);
        let mut answer = json!({ "sessions": infos });
        if more {
            answer["nextCursor"] = json!((start + PAGE).to_string());
        }
        Ok(answer)
    }

    /// Creates a session with a copy of the history, or of its part before a cursor.
    fn fork(&mut self, params: &Value) -> RpcResult {
        let (id, cwd) = (text(params, "sessionId")?, cwd(params)?.to_owned());
        servers(params)?;
        let session = self.store.find(id).ok_or_else(|| RpcError::no_session(id))?;
        let turn = match params.get("cursorId") {
            None | Some(Value::Null) => None,
            Some(cursor) => Some(self.turn_of(&lock(&session), cursor)?),
        };
        let system_prompt = self.system_prompt(params)?;
        let fork = self.store.create(cwd);
        let mut fork = lock(&fork);
        self.take(&fork.id)?;
        fork.continue_from(&lock(&session), turn);
        fork.system_prompt = system_prompt;
        self.set_initial(&mut fork, params)?;
        self.store.save(&fork);
        let mut state = self.state(&fork);
        state["sessionId"] = json!(fork.id);
        Ok(state)
    }

    /// Returns the turn before a cursor.
    fn turn_of(&self, session: &Session, cursor: &Value) -> Result<usize, RpcError> {
        let mut turns = 1..=session.ends.len();
        let found = turns.find(|turn| cursor.as_str() == Some(cursor_id(session, *turn).as_str()));
        found
            .filter(|_| self.flags.cursors)
            .ok_or_else(|| RpcError::params(format!("the session has no cursor {cursor}")))
    }

    fn delete(&mut self, params: &Value) -> RpcResult {
        let id = text(params, "sessionId")?;
        if self.store.delete(id) {
            Ok(json!({}))
        } else {
            Err(RpcError::no_session(id))
        }
    }

    /// Forwards a message to the running turn. The client must make sure that a turn runs.
    fn steer(&mut self, params: &Value) -> RpcResult {
        let id = text(params, "sessionId")?;
        let words = params::prompt(params)?
            .iter()
            .filter_map(|block| block.get("text")?.as_str())
            .collect();
        Ok(if self.running.steer(id, words) {
            json!({ "outcome": "injected" })
        } else {
            no_running_turn()
        })
    }

    /// Cancels the turn, as the schema requires, and marks the session as closed.
    fn close(&mut self, params: &Value) -> RpcResult {
        let id = text(params, "sessionId")?;
        let session = self.store.active(id).ok_or_else(|| RpcError::no_session(id))?;
        self.running.cancel(id);
        lock(&session).open = false;
        Ok(json!({}))
    }

    /// Changes a session and responds with its options.
    fn change(
        &mut self,
        params: &Value,
        what: impl FnOnce(&mut Session) -> Result<(), RpcError>,
    ) -> RpcResult {
        let id = text(params, "sessionId")?;
        let session = self.store.active(id).ok_or_else(|| RpcError::no_session(id))?;
        let mut session = lock(&session);
        what(&mut session)?;
        self.store.save(&session);
        Ok(json!({ "configOptions": session.config(self.booleans) }))
    }

    fn state(&self, session: &Session) -> Value {
        json!({ "modes": session.modes(), "configOptions": session.config(self.booleans) })
    }
}
