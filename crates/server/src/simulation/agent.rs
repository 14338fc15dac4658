//! An ACP agent that acts by random numbers. It exchanges plain text, and uses none of acpd's own types.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::time::{Instant, sleep};

use super::dice::Dice;

/// One process of the agent.
pub struct Agent {
    dice: Dice,
    sessions: Arc<AtomicU64>,
    turns: BTreeMap<String, Turn>,
    /// Sessions whose turns wait, by the id of the agent's request.
    asked: BTreeMap<u64, String>,
    last_id: u64,
    last_item: u64,
    /// The time until which the agent reads nothing.
    deaf_until: Instant,
    out: Vec<String>,
}

/// A prompt in progress.
struct Turn {
    prompt: Value,
    steps: u64,
    /// Whether the agent waits for a response of its client.
    waits: bool,
    is_cancelled: bool,
    ignores_cancel: bool,
    open_call: Option<String>,
}

impl Agent {
    /// Starts a process. `sessions` counts the sessions of all processes.
    pub fn new(dice: Dice, sessions: Arc<AtomicU64>) -> Self {
        Self {
            dice,
            sessions,
            turns: BTreeMap::new(),
            asked: BTreeMap::new(),
            last_id: 0,
            last_item: 0,
            deaf_until: Instant::now(),
            out: Vec::new(),
        }
    }

    /// Runs until the input ends or the process crashes.
    pub async fn run(mut self, stdin: DuplexStream, mut stdout: DuplexStream) {
        let mut lines = BufReader::new(stdin).lines();
        loop {
            let moves = self.turns.values().any(|turn| !turn.waits);
            let pause = Duration::from_millis(1 + self.dice.roll(20));
            let is_deaf = Instant::now() < self.deaf_until;
            tokio::select! {
                biased;
                line = lines.next_line(), if !is_deaf => match line {
                    Ok(Some(line)) => self.read(&line),
                    _ => return,
                },
                () = sleep(pause), if moves || is_deaf => if moves && self.step().is_none() {
                    return;
                },
            }
            for line in std::mem::take(&mut self.out) {
                if stdout.write_all(line.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    }

    fn read(&mut self, line: &str) {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            return;
        };
        let (id, params) = (message["id"].clone(), &message["params"]);
        let Some(method) = message["method"].as_str() else {
            if let Some(session) = id.as_u64().and_then(|id| self.asked.remove(&id))
                && let Some(turn) = self.turns.get_mut(&session)
            {
                turn.waits = false;
            }
            return;
        };
        let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
        match method {
            "initialize" => self.answer(
                &id,
                &json!({
                    "protocolVersion": 1,
                    "agentCapabilities": {
                        "loadSession": true,
                        "sessionCapabilities": { "resume": {}, "fork": {}, "delete": {} },
                    },
                }),
            ),
            "session/load" | "session/resume" | "session/fork" | "session/delete"
                if self.dice.happens(20) =>
            {
                self.line(&json!({
                    "jsonrpc": "2.0",
                    "id": id,
                    "error": { "code": -32603, "message": "I have forgotten it" },
                }));
            }
            "session/new" | "session/fork" => {
                let number = self.sessions.fetch_add(1, Ordering::Relaxed);
                self.answer(&id, &json!({ "sessionId": format!("s{number}") }));
            }
            "session/load" | "session/resume" | "session/delete" => self.answer(&id, &json!({})),
            "session/prompt" => {
                let turn = Turn {
                    prompt: id,
                    steps: self.dice.roll(30),
                    waits: false,
                    is_cancelled: false,
                    ignores_cancel: self.dice.happens(15),
                    open_call: None,
                };
                self.turns.insert(session, turn);
            }
            "session/cancel" => {
                if let Some(turn) = self.turns.get_mut(&session) {
                    turn.is_cancelled = true;
                }
            }
            _ if id.is_null() => {}
            _ => self.line(&json!({
                "jsonrpc": "2.0",
                "id": id,
                "error": { "code": -32601, "message": "unknown method" },
            })),
        }
    }

    /// Performs the next action in one of the turns. Returns `None` if the process crashes.
    fn step(&mut self) -> Option<()> {
        let moving: Vec<String> = self
            .turns
            .iter()
            .filter(|(_, turn)| !turn.waits)
            .map(|(session, _)| session.clone())
            .collect();
        let session = self.dice.pick(&moving)?;
        let turn = self.turns.get_mut(&session)?;
        let is_cancelled = turn.is_cancelled && !turn.ignores_cancel;
        if turn.steps == 0 || is_cancelled {
            let prompt = turn.prompt.clone();
            self.turns.remove(&session);
            let reason = if is_cancelled { "cancelled" } else { "end_turn" };
            self.answer(&prompt, &json!({ "stopReason": reason }));
            return Some(());
        }
        turn.steps -= 1;
        match self.dice.roll(100) {
            0..30 => self.say(&session, "agent_message_chunk"),
            30..40 => self.say(&session, "agent_thought_chunk"),
            40..60 => self.call(&session),
            60..65 => self.update(
                &session,
                &json!({
                    "sessionUpdate": "plan",
                    "entries": [{ "content": "c", "priority": "low", "status": "pending" }],
                }),
            ),
            65..75 => self.ask_permission(&session),
            75..80 => self.ask(&session, "fs/read_text_file", json!({ "path": "/nowhere/file" })),
            80..84 => self.ask(&session, "terminal/create", json!({ "command": "true" })),
            84..87 => self.out.push("this is not JSON\n".to_owned()),
            87..90 => self.update(&session, &json!({ "sessionUpdate": "from_the_future", "x": 1 })),
            90..93 => (0..150).for_each(|_| self.say(&session, "agent_message_chunk")),
            93..95 => self.deaf_until = Instant::now() + Duration::from_secs(self.dice.roll(90)),
            95 => return None,
            _ => {}
        }
        Some(())
    }

    fn say(&mut self, session: &str, kind: &str) {
        let text = format!(
            "{} ",
            "w".repeat(1 + usize::try_from(self.dice.roll(200)).unwrap_or(0))
        );
        let update = json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
        self.update(session, &update);
    }

    /// Starts a tool call, or ends the open one.
    fn call(&mut self, session: &str) {
        self.last_item += 1;
        let new = format!("t{}", self.last_item);
        let Some(turn) = self.turns.get_mut(session) else {
            return;
        };
        let update = match turn.open_call.take() {
            Some(call) => {
                json!({ "sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed" })
            }
            None => {
                turn.open_call = Some(new.clone());
                json!({ "sessionUpdate": "tool_call", "toolCallId": new, "title": "a call", "kind": "other" })
            }
        };
        self.update(session, &update);
    }

    fn ask_permission(&mut self, session: &str) {
        self.last_item += 1;
        let call = json!({
            "toolCallId": format!("t{}", self.last_item),
            "title": "run it",
            "kind": "execute",
            "rawInput": { "command": "make all" },
        });
        let options = json!([
            { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
            { "optionId": "no", "name": "No", "kind": "reject_once" },
        ]);
        let params = json!({ "toolCall": call, "options": options });
        self.ask(session, "session/request_permission", params);
    }

    fn ask(&mut self, session: &str, method: &str, mut params: Value) {
        self.last_id += 1;
        params["sessionId"] = session.into();
        self.asked.insert(self.last_id, session.to_owned());
        if let Some(turn) = self.turns.get_mut(session) {
            turn.waits = true;
        }
        self.line(&json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }));
    }

    fn update(&mut self, session: &str, update: &Value) {
        let params = json!({ "sessionId": session, "update": update });
        self.line(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
    }

    fn answer(&mut self, id: &Value, result: &Value) {
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    fn line(&mut self, message: &Value) {
        self.out.push(format!("{message}\n"));
    }
}
