//! An agent for both versions, in this process. It does what ACP says, but for one fault.

use std::collections::BTreeMap;
use std::path::Path;

use acpd_acp_check::{Connection, Schema, Shape, Side, Start, Version};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// Bytes that a pipe holds.
const PIPE: usize = 1 << 20;

/// What an agent does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A log line on standard output.
    PrintsLogs,
    /// It exits at the first prompt.
    Exits,
    /// A message without a required member.
    BreaksSchema,
    /// A result without a required member.
    BreaksResult,
    /// A method that clients do not have.
    InventsMethod,
    /// Each prompt is answered twice.
    AnswersTwice,
    /// Ids that are texts come back as other ones.
    ChangesIds,
    /// Two requests have one id.
    RepeatsIds,
    /// It answers any version with the same one.
    EchoesVersion,
    /// Version 2 with the members of version 1.
    MixesShapes,
    /// Wrong params have the code of an internal error.
    CodesParams,
    /// Unknown methods have the code of an internal error.
    CodesMethods,
    /// Unknown notifications end it.
    DiesOfNotifications,
    /// Malformed lines end it.
    DiesOfNoise,
    /// A declared method does not exist.
    DeclaresTooMuch,
    /// A method exists that is not declared.
    DeclaresTooLittle,
    /// An update of a session that does not exist.
    NamesNoSession,
    /// All sessions have one id.
    RepeatsSessions,
    /// An update after the session was closed.
    SpeaksAfterClose,
    /// Prompts of unknown sessions succeed.
    TakesAnySession,
    /// An update of a tool call that never began.
    SkipsToolCall,
    /// A terminal that was never created.
    InventsTerminal,
    /// The user's message has the id of the agent's.
    SharesMessageIds,
    /// The current mode or value is not offered.
    PicksUnoffered,
    /// A change has no effect.
    IgnoresChanges,
    /// Turns do not end.
    NeverEnds,
    /// A cancelled turn ends as if it was not.
    EndsAsIfNot,
    /// Version 2: the user's message is not sent back.
    KeepsMessage,
    /// Version 2: a replay has no mark at its end.
    EndsReplayWithoutMark,
}

/// Starts agents with a fault.
#[derive(Debug)]
pub struct Agents {
    /// The newest version that they speak.
    pub newest: Version,
    /// Whether they speak no earlier one.
    pub is_only: bool,
    /// What they do wrong.
    pub fault: Option<Fault>,
    /// Whether they need a sign-in.
    pub signs_in: bool,
    /// Whether each turn ends in the write that begins it, so that none can be cancelled.
    pub is_fast: bool,
}

impl Start for Agents {
    fn start(&mut self, _: &Path) -> Result<Connection, String> {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (output, input) = tokio::io::split(ours);
        let agent = Agent {
            newest: self.newest,
            is_only: self.is_only,
            version: Version::One,
            fault: self.fault,
            needs_sign_in: self.signs_in,
            is_fast: self.is_fast,
            sessions: BTreeMap::new(),
            made: 0,
            asked: 0,
            out: String::new(),
        };
        tokio::spawn(agent.run(theirs));
        Ok(Connection::within(output, input))
    }
}

/// A session, and the id of the prompt that it works on.
#[derive(Debug, Default)]
struct Session {
    is_open: bool,
    prompt: Option<Value>,
    model: String,
    mode: String,
    turns: u64,
}

struct Agent {
    newest: Version,
    is_only: bool,
    version: Version,
    fault: Option<Fault>,
    needs_sign_in: bool,
    is_fast: bool,
    sessions: BTreeMap<String, Session>,
    made: u64,
    asked: u64,
    /// What leaves with the next write.
    out: String,
}

/// An answer, or that the agent ends.
type Answer = Result<Value, (i64, &'static str)>;

const MODELS: [&str; 2] = ["small", "large"];
const MODES: [&str; 2] = ["ask", "code"];
const NO_METHOD: Answer = Err((-32601, "no such method"));
const NO_PARAMS: Answer = Err((-32602, "wrong params"));

impl Agent {
    async fn run(mut self, stream: DuplexStream) {
        let (input, mut output) = tokio::io::split(stream);
        let mut lines = BufReader::new(input).lines();
        if self.is(Fault::PrintsLogs) {
            self.out.push_str("starting up\n");
        }
        while let Ok(Some(line)) = lines.next_line().await {
            let continues = self.line(&line);
            if output.write_all(self.out.as_bytes()).await.is_err() || !continues {
                return;
            }
            self.out.clear();
        }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn is_two(&self) -> bool {
        self.version == Version::Two
    }

    fn send(&mut self, message: &Value) {
        self.out.push_str(&format!("{message}\n"));
    }

    fn answer(&mut self, id: &Value, answer: &Answer) {
        self.send(&match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, message)) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
            }
        });
    }

    fn update(&mut self, session: &str, update: &Value) {
        let params = json!({ "sessionId": session, "update": update });
        self.send(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
    }

    /// Handles a line. Returns false if the agent ends.
    fn line(&mut self, line: &str) -> bool {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            self.answer(&Value::Null, &Err((-32700, "not JSON")));
            return !self.is(Fault::DiesOfNoise);
        };
        let Some(method) = message["method"].as_str() else {
            return true;
        };
        let (id, params) = (message["id"].clone(), &message["params"]);
        if id.is_null() {
            if method == "session/cancel" {
                self.cancel(params["sessionId"].as_str().unwrap());
            }
            return !(self.is(Fault::DiesOfNotifications) && method.starts_with("acp_check"));
        }
        let id = match id {
            Value::String(text) if self.is(Fault::ChangesIds) => json!(format!("{text}!")),
            id => id,
        };
        if method == "session/prompt" && self.is(Fault::Exits) {
            return false;
        }
        match self.request(method, params) {
            Some(answer) => {
                self.answer(&id, &answer);
                if method == "session/close" && self.is(Fault::SpeaksAfterClose) {
                    let session = params["sessionId"].as_str().unwrap();
                    self.update(session, &chunk("agent_message_chunk", Some("late"), "late"));
                }
            }
            // Its turn answers.
            None => self.begin(&id, params),
        }
        true
    }

    fn request(&mut self, method: &str, params: &Value) -> Option<Answer> {
        let version = self.version;
        let schema = Schema::of(version);
        if method != "initialize" && !schema.has(Side::Agent, Shape::Request, method) {
            let code = if self.is(Fault::CodesMethods) {
                -32603
            } else {
                -32601
            };
            return Some(Err((code, "no such method")));
        }
        // The version is not agreed on before.
        if method != "initialize" && schema.check(Side::Agent, Shape::Request, method, params).is_err() {
            let code = if self.is(Fault::CodesParams) {
                -32603
            } else {
                -32602
            };
            return Some(Err((code, "wrong params")));
        }
        let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
        Some(match method {
            "initialize" => self.initialize(params),
            "authenticate" | "auth/login" if self.needs_sign_in => match params["methodId"].as_str() {
                Some("key") => {
                    self.needs_sign_in = false;
                    Ok(json!({}))
                }
                _ => NO_PARAMS,
            },
            _ if self.needs_sign_in => Err((-32000, "Authentication required")),
            "session/new" => Ok(self.new_session()),
            "session/list" if self.is(Fault::DeclaresTooMuch) => NO_METHOD,
            "session/list" => {
                let listed = self.sessions.keys();
                let listed: Vec<Value> = listed.map(|id| json!({ "sessionId": id, "cwd": "/w" })).collect();
                Ok(json!({ "sessions": listed }))
            }
            "session/archive" if self.is(Fault::DeclaresTooLittle) => Ok(json!({})),
            "session/prompt" => {
                let known = self.sessions.get(&session);
                match known {
                    Some(known) if !known.is_open => Err((-32002, "closed")),
                    Some(known) if known.prompt.is_some() && version == Version::One => {
                        Err((-32600, "a turn is running"))
                    }
                    Some(_) => return None,
                    None if self.is(Fault::TakesAnySession) && session.starts_with("acp-check") => {
                        Ok(json!({ "stopReason": "end_turn", "messageId": "m" }))
                    }
                    None => Err((-32002, "no such session")),
                }
            }
            _ if !method.starts_with("session/") => NO_METHOD,
            _ if !self.sessions.contains_key(&session) => Err((-32002, "no such session")),
            _ => self.about_session(method, params, &session),
        })
    }

    fn about_session(&mut self, method: &str, params: &Value, session: &str) -> Answer {
        let ignores = self.is(Fault::IgnoresChanges);
        match method {
            "session/load" if !self.is_two() => {
                self.sessions.get_mut(session).unwrap().is_open = true;
                self.update(session, &chunk("user_message_chunk", None, "hello"));
                Ok(self.state(session))
            }
            "session/resume" => {
                self.sessions.get_mut(session).unwrap().is_open = true;
                if params.get("replayFrom").is_some() && !self.is(Fault::EndsReplayWithoutMark) {
                    self.update(session, &json!({ "sessionUpdate": "replay_complete" }));
                }
                let mut state = self.state(session);
                if self.is_two() {
                    state.as_object_mut().unwrap().remove("modes");
                }
                Ok(state)
            }
            "session/close" => {
                self.cancel(session);
                self.sessions.get_mut(session).unwrap().is_open = false;
                Ok(json!({}))
            }
            "session/delete" => {
                self.sessions.remove(session);
                Ok(json!({}))
            }
            "session/fork" => Ok(self.new_session()),
            "session/set_mode" if !self.is_two() => {
                let mode = params["modeId"].as_str().unwrap_or_default();
                if !MODES.contains(&mode) {
                    return NO_PARAMS;
                }
                mode.clone_into(&mut self.sessions.get_mut(session).unwrap().mode);
                Ok(json!({}))
            }
            "session/set_config_option" => {
                let model = params["value"].as_str().unwrap_or_default();
                if !MODELS.contains(&model) {
                    return NO_PARAMS;
                }
                if !ignores {
                    model.clone_into(&mut self.sessions.get_mut(session).unwrap().model);
                }
                Ok(json!({ "configOptions": self.options(session) }))
            }
            _ => NO_METHOD,
        }
    }

    fn initialize(&mut self, params: &Value) -> Answer {
        let Some(asked) = params["protocolVersion"].as_u64() else {
            return NO_PARAMS;
        };
        if self.is(Fault::EchoesVersion) && asked > 2 {
            return Ok(json!({ "protocolVersion": asked }));
        }
        if asked == 0 || (self.is_only && asked < self.newest.number()) {
            return Err((-32022, "no such version"));
        }
        if self.is(Fault::MixesShapes) && asked > 1 {
            return Ok(json!({ "protocolVersion": 2, "agentCapabilities": {} }));
        }
        let version = if asked == 1 { Version::One } else { self.newest };
        self.version = version;
        let methods = |name: &str| {
            let method = json!({ name: "key", "name": "Key", "type": "agent" });
            if self.needs_sign_in {
                json!([method])
            } else {
                json!([])
            }
        };
        Ok(match version {
            Version::One => json!({
                "protocolVersion": 1, "authMethods": methods("id"),
                "agentInfo": { "name": "one", "version": "1.0" },
                "agentCapabilities": {
                    "loadSession": true,
                    "sessionCapabilities": { "list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {} },
                },
            }),
            Version::Two => json!({
                "protocolVersion": 2, "authMethods": methods("methodId"),
                "info": { "name": "two", "version": "2.0" },
                "capabilities": { "session": { "delete": {}, "fork": {} } },
            }),
        })
    }

    fn new_session(&mut self) -> Value {
        self.made += 1;
        let number = if self.is(Fault::RepeatsSessions) {
            1
        } else {
            self.made
        };
        let id = format!("session-{number}");
        let session = Session {
            is_open: true,
            model: MODELS[0].to_owned(),
            mode: MODES[0].to_owned(),
            ..Session::default()
        };
        self.sessions.insert(id.clone(), session);
        let mut state = self.state(&id);
        if self.is_two() {
            state.as_object_mut().unwrap().remove("modes");
        }
        state["sessionId"] = json!(id);
        if self.is(Fault::BreaksResult) {
            state["configOptions"][0].as_object_mut().unwrap().remove("name");
        }
        state
    }

    fn options(&self, session: &str) -> Value {
        let id = if self.is_two() { "configId" } else { "id" };
        let values = MODELS.map(|model| json!({ "value": model, "name": model }));
        let current = match self.fault {
            Some(Fault::PicksUnoffered) => "other",
            _ => &self.sessions[session].model,
        };
        json!([{ id: "model", "name": "Model", "type": "select", "currentValue": current, "options": values }])
    }

    fn state(&self, session: &str) -> Value {
        let modes = MODES.map(|mode| json!({ "id": mode, "name": mode }));
        json!({
            "modes": { "currentModeId": self.sessions[session].mode, "availableModes": modes },
            "configOptions": self.options(session),
        })
    }

    /// Begins a turn. A prompt with the word "Count" waits to be cancelled, unless the agent is fast.
    fn begin(&mut self, id: &Value, params: &Value) {
        let session = params["sessionId"].as_str().unwrap().to_owned();
        let text = params["prompt"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let number = {
            let known = self.sessions.get_mut(&session).unwrap();
            if known.prompt.is_some() {
                // Version 2 holds it: it is cancelled with the first one.
                self.answer(id, &Err((-32800, "cancelled")));
                return;
            }
            known.turns += 1;
            known.turns
        };
        let (user, agent) = (format!("user-{number}"), format!("agent-{number}"));
        if self.is_two() {
            self.update(
                &session,
                &json!({ "sessionUpdate": "state_update", "state": "running" }),
            );
            self.answer(id, &Ok(json!({ "messageId": user })));
            if !self.is(Fault::KeepsMessage) {
                self.update(&session, &chunk("user_message_chunk", Some(&user), &text));
            }
        }
        self.sessions.get_mut(&session).unwrap().prompt = Some(id.clone());
        let shown = if self.is(Fault::SharesMessageIds) {
            &user
        } else {
            &agent
        };
        if self.is(Fault::SharesMessageIds) && !self.is_two() {
            self.update(&session, &chunk("user_message_chunk", Some(&user), &text));
        }
        self.update(&session, &chunk("agent_message_chunk", Some(shown), "ok"));
        self.tools(&session, number);
        self.mistakes(&session);
        if (self.is_fast || !text.contains("Count")) && !self.is(Fault::NeverEnds) {
            self.end(&session, "end_turn");
        }
    }

    /// Shows a tool call, and asks for permission.
    fn tools(&mut self, session: &str, number: u64) {
        let id = format!("call-{number}");
        let name = if self.is_two() {
            "tool_call_update"
        } else {
            "tool_call"
        };
        if !self.is(Fault::SkipsToolCall) {
            let call = json!({ "sessionUpdate": name, "toolCallId": id, "title": "Read" });
            self.update(session, &call);
        }
        let next = if self.is_two() && self.is(Fault::SkipsToolCall) {
            let content = json!({ "type": "content", "content": { "type": "text", "text": "x" } });
            json!({ "sessionUpdate": "tool_call_content_chunk", "toolCallId": id, "content": content })
        } else {
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed" })
        };
        self.update(session, &next);
        let options = json!([{ "optionId": "no", "name": "No", "kind": "reject_once" }]);
        let params = if self.is_two() {
            json!({ "sessionId": session, "title": "Read?", "options": options })
        } else {
            json!({ "sessionId": session, "toolCall": { "toolCallId": id }, "options": options })
        };
        self.call("session/request_permission", &params);
        if self.is(Fault::RepeatsIds) {
            self.asked -= 1;
            self.call("session/request_permission", &params);
        }
    }

    fn call(&mut self, method: &str, params: &Value) {
        self.asked += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }));
    }

    fn mistakes(&mut self, session: &str) {
        match self.fault {
            Some(Fault::BreaksSchema) => self.update(
                session,
                &json!({ "sessionUpdate": "agent_message_chunk", "messageId": "m", "content": { "type": "text" } }),
            ),
            Some(Fault::InventsMethod) => self.call("fs/format_disk", &json!({ "sessionId": session })),
            Some(Fault::NamesNoSession) => {
                self.update("other", &chunk("agent_message_chunk", Some("x"), "hello"));
            }
            Some(Fault::InventsTerminal) if self.is_two() => self.update(
                session,
                &json!({ "sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "eA==" }),
            ),
            Some(Fault::InventsTerminal) => {
                let params = json!({ "sessionId": session, "terminalId": "terminal-9" });
                self.call("terminal/output", &params);
            }
            _ => {}
        }
    }

    fn end(&mut self, session: &str, reason: &str) {
        let Some(id) = self
            .sessions
            .get_mut(session)
            .and_then(|known| known.prompt.take())
        else {
            return;
        };
        if self.is_two() {
            let idle = json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": reason });
            self.update(session, &idle);
            if self.is(Fault::AnswersTwice) {
                self.answer(&id, &Ok(json!({ "messageId": "user-1" })));
            }
            return;
        }
        let times = if self.is(Fault::AnswersTwice) { 2 } else { 1 };
        for _ in 0..times {
            self.answer(&id, &Ok(json!({ "stopReason": reason })));
        }
    }

    fn cancel(&mut self, session: &str) {
        if self.is(Fault::NeverEnds) {
            return;
        }
        let reason = if self.is(Fault::EndsAsIfNot) {
            "end_turn"
        } else {
            "cancelled"
        };
        self.end(session, reason);
    }
}

fn chunk(kind: &str, id: Option<&str>, text: &str) -> Value {
    let mut update = json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
    if let Some(id) = id {
        update["messageId"] = json!(id);
    }
    update
}
