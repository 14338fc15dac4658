//! The player: replays the agent's side of a recorded conversation.
//!
//! In: a recording, and the messages of a real client. Out: the recorded agent's lines, byte for byte, with the
//! client's ids in the responses. Owns: its position in the recording. Never: reads params, except the session id.

mod machine;
mod recording;

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::Value;

use crate::flags::Play;
use crate::input::{self, Incoming};
use crate::out::Out;
use crate::wire::{self, RpcError};
use machine::{Action, Client, Machine};
use recording::Key;

/// Replays until stdin is closed.
pub fn run(play: &Play, out: &Arc<Out>) -> Result<(), String> {
    let text =
        std::fs::read_to_string(&play.file).map_err(|error| format!("{}: {error}", play.file.display()))?;
    let entries =
        recording::read(&text, play.proc).map_err(|error| format!("{}: {error}", play.file.display()))?;
    if entries.is_empty() {
        return Err(format!("{} has no process {}", play.file.display(), play.proc));
    }
    let mut machine = Machine::new(entries);
    let (sender, inbox) = channel();
    input::spawn(move |message| sender.send(message).is_ok());
    perform(machine.start(), play.speed, out);
    loop {
        let message = match play.patience {
            Some(ms) if machine.owes() => match inbox.recv_timeout(Duration::from_millis(ms)) {
                Err(RecvTimeoutError::Timeout) => {
                    perform(machine.give_up(), play.speed, out);
                    continue;
                }
                received => received.ok().flatten(),
            },
            _ => inbox.recv().ok().flatten(),
        };
        let Some(message) = message else { return Ok(()) };
        if let Some(client) = client(message) {
            perform(machine.handle(client), play.speed, out);
        }
    }
}

fn perform(actions: Vec<Action>, speed: f64, out: &Out) {
    for action in actions {
        match action {
            Action::Send { mut line, after } => {
                if speed > 0.0 {
                    // A delay too long for a `Duration` is skipped.
                    std::thread::sleep(Duration::try_from_secs_f64(after / speed).unwrap_or_default());
                }
                line.push('\n');
                out.raw(line.as_bytes());
            }
            Action::Refuse { id, message } => {
                let id: Value = serde_json::from_str(&id).unwrap_or_default();
                let error = RpcError::new(wire::METHOD_NOT_FOUND, message);
                out.send(&wire::response(&id, &Err(error)));
            }
        }
    }
}

fn client(message: Incoming) -> Option<Client> {
    let key = |method, params: &Value| Key {
        method,
        session: params.get("sessionId").and_then(Value::as_str).map(String::from),
    };
    match message {
        Incoming::Request { id, method, params } => Some(Client::Request {
            id: id.to_string(),
            key: key(method, &params),
        }),
        Incoming::Notification { method, params } => Some(Client::Notification {
            key: key(method, &params),
        }),
        Incoming::Response { id, .. } => Some(Client::Response { id: id.to_string() }),
        Incoming::Unreadable(error) => {
            eprintln!("fake-agent: {error}");
            None
        }
    }
}
