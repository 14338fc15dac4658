//! Tests of the state, with time moved by hand, and of its pictures.

mod connection;
mod keys;
mod lists;
mod pages;
mod pictures;
mod questions;

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

use super::{App, Effect, Failure};
use crate::attach::view::draw;
use crate::attach::view::theme::Theme;
use crate::incoming::Incoming;

const THREAD: &str = "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4";

/// An app, the time, and the number of the last event.
struct Scene {
    app: App,
    now: Instant,
    seq: u64,
}

impl Scene {
    /// Opens a thread with these turns in a window of 60×20.
    fn open(turns: &Value) -> Self {
        Self::with(json!({ "turns": turns }))
    }

    /// Opens a thread with these members.
    fn with(more: Value) -> Self {
        let mut thread = json!({
            "id": THREAD, "name": "Fix the login", "agentType": "demo", "cwd": "/code/site", "status": "idle",
            "pendingRequestIds": [], "queuedTurnIds": [], "latestSeq": 10, "turns": [],
        });
        if let (Some(thread), Value::Object(more)) = (thread.as_object_mut(), more) {
            thread.extend(more);
        }
        let resumed = json!({ "thread": thread, "latestSeq": 10 });
        let mut scene = Self {
            app: App::new(&resumed, "seed".to_owned(), (60, 20)),
            now: Instant::now(),
            seq: 10,
        };
        scene.app.replaces_turns = true;
        scene.draw();
        scene
    }

    /// Receives the next event.
    fn event(&mut self, method: &str, params: Value) {
        self.seq += 1;
        self.event_at(self.seq, method, params);
    }

    fn event_at(&mut self, seq: u64, method: &str, mut params: Value) {
        params["seq"] = json!(seq);
        self.message(method, params, None);
    }

    fn message(&mut self, method: &str, mut params: Value, id: Option<Value>) {
        params["threadId"] = json!(THREAD);
        let text = json!({ "method": method, "params": params, "id": id }).to_string();
        let incoming = Incoming {
            method: method.to_owned(),
            params,
            text,
            id,
        };
        self.app.handle_message(&incoming, self.now);
    }

    /// Receives a question that this client may answer.
    fn ask(&mut self, method: &str, request: &str, mut params: Value) {
        self.seq += 1;
        params["seq"] = json!(self.seq);
        params["requestId"] = json!(request);
        self.message(method, params, Some(json!(request)));
    }

    fn permission(&mut self, request: &str) {
        let params = json!({
            "title": "rm", "options": [
                { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
                { "optionId": "no", "name": "No", "kind": "reject_once" },
            ],
            "subjects": [{ "type": "command", "argv": ["rm", "-r", "build"], "cwd": "/code/site" }],
        });
        self.ask("item/commandExecution/requestApproval", request, params);
    }

    fn run_turn(&mut self, id: &str) {
        self.event(
            "turn/started",
            json!({ "turnId": id, "turn": { "id": id, "status": "running", "startedAt": 1 } }),
        );
        self.event(
            "thread/status/changed",
            json!({ "turnId": id, "status": "running" }),
        );
    }

    fn say(&mut self, turn: &str, item: &str, text: &str) {
        self.event(
            "item/started",
            json!({ "turnId": turn, "itemId": item, "type": "agentMessage" }),
        );
        self.event(
            "item/agentMessage/delta",
            json!({ "turnId": turn, "itemId": item, "text": text }),
        );
    }

    /// Presses a key: a character, `C-x`, `M-x`, or a name such as `PgUp`.
    fn key(&mut self, name: &str) {
        let (modifiers, rest) = match (name.strip_prefix("C-"), name.strip_prefix("M-")) {
            (Some(rest), _) => (KeyModifiers::CONTROL, rest),
            (_, Some(rest)) => (KeyModifiers::ALT, rest),
            _ => (KeyModifiers::NONE, name),
        };
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (Some(c), None) => KeyCode::Char(c),
            _ => match rest {
                "Enter" => KeyCode::Enter,
                "Esc" => KeyCode::Esc,
                "Tab" => KeyCode::Tab,
                "BackTab" => KeyCode::BackTab,
                "Up" => KeyCode::Up,
                "Down" => KeyCode::Down,
                "PgUp" => KeyCode::PageUp,
                "PgDn" => KeyCode::PageDown,
                "Home" => KeyCode::Home,
                "End" => KeyCode::End,
                "F1" => KeyCode::F(1),
                "Backspace" => KeyCode::Backspace,
                other => panic!("no key {other}"),
            },
        };
        self.app.handle_key(KeyEvent::new(code, modifiers), self.now);
    }

    fn keys(&mut self, names: &[&str]) {
        for name in names {
            self.key(name);
        }
    }

    /// Chooses an option, and lets it be marked for a moment.
    fn choose(&mut self, key: &str) {
        self.key(key);
        self.wait(200);
    }

    fn typed(&mut self, text: &str) {
        for c in text.chars() {
            self.key(&c.to_string());
        }
    }

    /// Lets time pass.
    fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
        if self.app.poll_timeout().is_some_and(|at| at <= self.now) {
            self.app.handle_timeout(self.now);
        }
    }

    /// Draws, as the driver does, and returns the picture.
    fn draw(&mut self) -> String {
        self.app.prepare(self.now);
        let (columns, rows) = self.app.size();
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("it has a screen");
        let theme = Theme::new(false);
        terminal
            .draw(|frame| draw(frame, &self.app, theme))
            .expect("it draws");
        self.app.drawn(self.now);
        let buffer = terminal.backend().buffer();
        let line = |y: u16| {
            let mut line = String::new();
            let mut x = 0;
            while x < columns {
                let symbol = buffer[(x, y)].symbol();
                line.push_str(symbol);
                x += u16::try_from(unicode_width::UnicodeWidthStr::width(symbol).max(1))
                    .expect("it is narrow");
            }
            line.trim_end().to_owned()
        };
        (0..rows).map(|y| line(y) + "\n").collect()
    }

    fn resize(&mut self, columns: u16, rows: u16) -> String {
        self.app.handle_resize(columns, rows);
        self.draw()
    }

    /// Returns the effects so far.
    fn effects(&mut self) -> Vec<Effect> {
        std::iter::from_fn(|| self.app.poll_effect()).collect()
    }

    /// Returns the only request so far: its token, method and params.
    fn request(&mut self) -> (u64, &'static str, Value) {
        let effects = self.effects();
        match <[Effect; 1]>::try_from(effects) {
            Ok(
                [
                    Effect::Request {
                        token,
                        method,
                        params,
                    },
                ],
            ) => (token, method, params),
            other => panic!("one request was expected: {other:?}"),
        }
    }

    fn reply(&mut self, token: u64, result: Value) {
        self.app.handle_reply(token, Ok(result), self.now);
    }

    fn refuse(&mut self, token: u64, message: &str, is_final: bool) {
        let failure = Failure {
            message: message.to_owned(),
            is_final,
            is_not_found: false,
        };
        self.app.handle_reply(token, Err(failure), self.now);
    }

    fn refuse_unknown(&mut self, token: u64, message: &str) {
        let failure = Failure {
            message: message.to_owned(),
            is_final: true,
            is_not_found: true,
        };
        self.app.handle_reply(token, Err(failure), self.now);
    }

    /// Returns the last line of the picture.
    fn status(&mut self) -> String {
        self.draw().lines().last().unwrap_or_default().to_owned()
    }
}

fn message(id: &str, kind: &str, text: &str) -> Value {
    json!({ "itemId": id, "type": kind, "text": text, "outcome": "completed" })
}

fn turn(id: &str, items: &Value) -> Value {
    json!({ "id": id, "status": "completed", "startedAt": 1, "items": items })
}
