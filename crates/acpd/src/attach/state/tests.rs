//! Tests of the state, with time moved by hand, and of its pictures.

mod connection;
mod keys;
mod lists;
mod pages;
mod pictures;
mod questions;
pub mod typed;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

use self::typed::{fill, notification, object, resumed, thread};
use super::exchange::{Abilities, Failure, FailureKind, Reply, Request};
use super::requests::Pending;
use super::{App, Effect};
use crate::attach::view::draw;
use crate::attach::view::theme::Theme;

const THREAD: &str = "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4";

const ABILITIES: Abilities = Abilities {
    replaces_turns: true,
    may_answer: true,
};

/// An app, the time, the number of the last event, and the methods of requests by their tokens.
struct Scene {
    app: App,
    now: Instant,
    seq: u64,
    sent: HashMap<u64, &'static str>,
}

impl Scene {
    /// Opens a thread with these turns in a window of 60×20.
    fn open(turns: &Value) -> Self {
        Self::with(json!({ "turns": turns }))
    }

    /// Opens a thread with these members.
    fn with(mut more: Value) -> Self {
        fill(&mut more, json!({ "name": "Fix the login", "turns": [] }));
        let resumed = resumed(json!({ "thread": more, "latestSeq": 10 }));
        let mut scene = Self {
            app: App::new(&resumed, ABILITIES, "seed".to_owned(), (60, 20)),
            now: Instant::now(),
            seq: 10,
            sent: HashMap::new(),
        };
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
        self.app
            .handle_notification(&notification(method, params), self.now);
    }

    /// Receives a question.
    fn ask(&mut self, method: &str, request: &str, mut params: Value) {
        params["requestId"] = json!(request);
        self.event(method, params);
    }

    /// Loses the connection. Requests fail in any order; subscriptions wait for the next connection.
    fn lose(&mut self, why: &str) {
        let waits = |pending: &Pending| matches!(pending, Pending::Open { .. } | Pending::Snapshot);
        let pending = self.app.pending.iter().filter(|(_, pending)| !waits(pending));
        let mut tokens: Vec<u64> = pending.map(|(token, _)| *token).collect();
        tokens.sort_unstable_by_key(|token| Reverse(*token));
        for token in tokens {
            self.fail(token, "lost", FailureKind::Lost);
        }
        self.app.handle_lost(why);
    }

    /// Connects again.
    fn reconnect(&mut self) {
        self.app.handle_connected(ABILITIES, self.now);
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
                "Right" => KeyCode::Right,
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
        let effects: Vec<Effect> = std::iter::from_fn(|| self.app.poll_effect()).collect();
        for (token, method, _) in effects.iter().filter_map(request_of) {
            self.sent.insert(token, method);
        }
        effects
    }

    /// Returns the only request so far: its token, method and params.
    fn request(&mut self) -> (u64, &'static str, Value) {
        let effects = self.effects();
        match &effects[..] {
            [effect] => request_of(effect).unwrap_or_else(|| panic!("a request was expected: {effect:?}")),
            other => panic!("one request was expected: {other:?}"),
        }
    }

    /// Replies to a request.
    fn reply(&mut self, token: u64, mut result: Value) {
        let reply = match self.sent[&token] {
            "turn/start" => {
                let mut turn = result["turn"].take();
                fill(&mut turn, json!({ "status": "running" }));
                Reply::Turn(Box::new(object(turn)))
            }
            "turn/steer" | "turn/queue/steer" => Reply::Steered(object(result["delivery"].take())),
            "thread/read" | "thread/start" => Reply::Thread(Box::new(thread(result["thread"].take()))),
            "thread/resume" => Reply::Followed(Box::new(resumed(result))),
            "thread/lanes" => Reply::Lanes(object(result)),
            "thread/list" => {
                let mut listed = result["data"].take();
                for thread in listed.as_array_mut().expect("it is a list") {
                    let always = json!({ "archived": false, "createdAt": 1, "updatedAt": 1, "turnCount": 1, "status": "idle" });
                    fill(thread, always);
                }
                Reply::Threads(object(listed))
            }
            _ => Reply::Done,
        };
        self.app.handle_reply(token, Ok(reply), self.now);
    }

    fn refuse(&mut self, token: u64, message: &str, is_final: bool) {
        let kind = if is_final {
            FailureKind::Forbidden
        } else {
            FailureKind::Other
        };
        self.fail(token, message, kind);
    }

    fn fail(&mut self, token: u64, message: &str, kind: FailureKind) {
        let message = message.to_owned();
        self.app
            .handle_reply(token, Err(Failure { message, kind }), self.now);
    }

    /// Returns the last line of the picture.
    fn status(&mut self) -> String {
        self.draw().lines().last().unwrap_or_default().to_owned()
    }
}

/// Returns the token, method and params of a request to the daemon, as the connection sends it.
fn request_of(effect: &Effect) -> Option<(u64, &'static str, Value)> {
    Some(match effect {
        Effect::Request { token, request } => {
            let (method, params) = match request {
                Request::StartTurn(params) => ("turn/start", json!(params)),
                Request::Steer(params) => ("turn/steer", json!(params)),
                Request::SteerQueued(params) => ("turn/queue/steer", json!(params)),
                Request::Interrupt(params) => ("turn/interrupt", json!(params)),
                Request::ReadPage(params) => ("thread/read", json!(params)),
                Request::ListLanes(params) => ("thread/lanes", json!(params)),
                Request::ListThreads(params) => ("thread/list", json!(params)),
                Request::StartThread(params) => ("thread/start", json!(params)),
                Request::SetOption(params) => ("thread/config/set", json!(params)),
                Request::Approve(params) => ("item/approve", json!(params)),
                Request::Answer(params) => ("item/answer", json!(params)),
            };
            (*token, method, params)
        }
        Effect::Follow { token, thread } => (*token, "thread/resume", json!({ "threadId": thread })),
        Effect::Unfollow { thread } => (u64::MAX, "thread/unsubscribe", json!({ "threadId": thread })),
        Effect::Suspend | Effect::Redraw | Effect::End(_) => return None,
    })
}

fn message(id: &str, kind: &str, text: &str) -> Value {
    json!({ "itemId": id, "type": kind, "text": text, "outcome": "completed" })
}

fn turn(id: &str, items: &Value) -> Value {
    json!({ "id": id, "status": "completed", "startedAt": 1, "items": items })
}
