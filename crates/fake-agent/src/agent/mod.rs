//! The main loop of the agent.
//!
//! In: the client's messages, from the thread that reads stdin, and the ends of turns, each from its own thread. Out:
//! responses. Owns: the sessions and the list of running turns. Never: waits for a turn, or for the client.

mod methods;

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use acpd_scripted_agent::params;
use acpd_scripted_agent::running::Turns;
use serde_json::{Value, json};

use crate::calls::Calls;
use crate::flags::Flags;
use crate::input::{self, Incoming};
use crate::out::Out;
use crate::scenarios;
use crate::session::{Session, lock};
use crate::store::Store;
use crate::turn::{Outcome, Turn};
use crate::wire::{self, RpcError};

/// The inputs of the main loop.
#[derive(Debug)]
enum Event {
    Message(Incoming),
    /// stdin was closed.
    Closed,
    /// The turn of this session has ended.
    TurnOver(String, Outcome),
}

/// The state of the agent.
#[derive(Debug)]
struct Agent {
    flags: Flags,
    out: Arc<Out>,
    store: Store,
    calls: Arc<Calls>,
    events: Sender<Event>,
    running: Turns,
    /// Whether the client has sent `initialize`.
    ready: bool,
    /// Whether the client supports boolean options.
    booleans: bool,
    /// Whether the client knows cursors, and the agent has some.
    cursors: bool,
}

/// Runs until stdin is closed.
pub fn run(flags: Flags, out: &Arc<Out>) -> Result<(), String> {
    let (events, inbox) = channel();
    let reader = events.clone();
    input::spawn(move |message| reader.send(message.map_or(Event::Closed, Event::Message)).is_ok());
    let mut agent = Agent {
        store: Store::open(flags.state.clone())?,
        flags,
        out: out.clone(),
        calls: Arc::default(),
        events,
        running: Turns::default(),
        ready: false,
        booleans: false,
        cursors: false,
    };
    for event in inbox {
        match event {
            Event::Message(message) => agent.message(message),
            Event::TurnOver(session, outcome) => agent.turn_over(&session, outcome),
            Event::Closed => break,
        }
    }
    Ok(())
}

/// Returns the id of the messages of a turn, counted from 1.
fn message_id(turn: u64) -> String {
    format!("m-{turn}")
}

/// Returns the id of the cursor after a turn.
fn cursor_id(session: &Session, turn: usize) -> String {
    format!("{}@{turn}", session.id)
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
                if self.puts_off(&id, &method, &params) {
                    return;
                }
                let answer = self.request(&method, &params);
                self.out.send(&wire::response(&id, &answer));
                if answer.is_ok() {
                    self.after(&method, &params);
                }
            }
            Incoming::Notification { method, params } => self.running.notified(&method, &params),
            Incoming::Response { id, answer } => {
                if !self.calls.settle(&id, answer) {
                    eprintln!("fake-agent: unexpected response {id}");
                }
            }
            Incoming::Unreadable(error) => {
                eprintln!("fake-agent: {error}");
                self.out.send(&wire::response(&Value::Null, &Err(error)));
            }
        }
    }

    /// Returns whether a request is answered only after the running turn: a message for it with the word "later".
    fn puts_off(&mut self, id: &Value, method: &str, params: &Value) -> bool {
        let is_late = self.flags.steer && method == "_session/steering" && methods::comes_later(params);
        let session = params.get("sessionId").and_then(Value::as_str);
        let turn = session.and_then(|session| self.running.get_mut(session));
        let Some(turn) = turn.filter(|_| is_late) else {
            return false;
        };
        turn.unanswered.push(id.clone());
        true
    }

    /// Starts a turn on its own thread.
    fn prompt(&mut self, request: &Value, params: &Value) -> Result<(), RpcError> {
        self.handshaken("session/prompt")?;
        let id = params::text(params, "sessionId")?;
        let blocks = params::prompt(params)?.to_vec();
        let session = self.store.active(id).ok_or_else(|| RpcError::no_session(id))?;
        self.running.check_idle(id)?;
        {
            let mut session = lock(&session);
            session.asked(&blocks);
            self.store.save(&session);
        }
        let mut turn = Turn::new(&session, blocks, &self.out, &self.calls);
        turn.pace = self.flags.pace;
        turn.booleans = self.booleans;
        if self.flags.cursors {
            turn.message_id = Some(message_id(lock(&session).turns));
        }
        self.running.begin(request, &turn);
        let (id, events) = (id.to_owned(), self.events.clone());
        std::thread::spawn(move || {
            let flow = scenarios::run(&mut turn);
            // The receiver is gone only when the process is about to exit.
            let _ = events.send(Event::TurnOver(id, turn.finish(flow)));
        });
        Ok(())
    }

    /// Responds to the prompt. The session is free before: the client may send the next prompt at once.
    fn turn_over(&mut self, session: &str, outcome: Outcome) {
        let Some(running) = self.running.end(session) else {
            return;
        };
        {
            let mut session = lock(&running.session);
            session.turn_ended();
            self.store.save(&session);
            self.announce(&session, session.ends.len());
        }
        self.out.send(&wire::response(&running.request, &outcome.answer));
        for id in &running.unanswered {
            self.out
                .send(&wire::response(id, &Ok(methods::no_running_turn())));
        }
        if let Some(code) = outcome.exit {
            std::process::exit(code);
        }
        if !outcome.late.is_empty() {
            let out = self.out.clone();
            std::thread::spawn(move || {
                for (ms, message) in outcome.late {
                    std::thread::sleep(Duration::from_millis(ms));
                    out.send(&message);
                }
            });
        }
    }

    /// Announces the cursor after a turn, counted from 1.
    fn announce(&self, session: &Session, turn: usize) {
        if !self.cursors {
            return;
        }
        let message = message_id(u64::try_from(turn).unwrap_or(u64::MAX));
        let update = json!({
            "sessionUpdate": "cursor_update", "cursorId": cursor_id(session, turn),
            "anchor": { "type": "agent_message", "messageId": message, "position": "after" },
            "capabilities": { "fork": {} },
        });
        self.out.send(&wire::update(&session.id, &update));
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
}
