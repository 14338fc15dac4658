//! Plays a scene with an agent and an editor of a pair. Each message of both sides is checked against the schema of its version.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use acpd_proto::agent::{AcpVersion, TerminalExit};
use acpd_proto::projection::SessionChange;
use acpd_proto::thread::{HostReply, TerminalEvent};
use jsonschema::Validator;
use serde_json::{Value, json};

use super::super::official::{part, read};
use super::super::stage::{Stage, play_in};
use super::act::{Act, Version, options, question};
use super::editor::Screen;
use super::expected::{Expected, Pair};
use super::told::Told;
use crate::support::{FULL, SESSION, Scene};

/// The answer of an agent of version 2 to `initialize`.
const HELLO_2: &str = r#"{"protocolVersion":2,"info":{"name":"fake","version":"1"},"capabilities":{"session":{"prompt":{},"mcp":{"stdio":{}}}}}"#;

/// An editor of version 1 that can show all that version 1 has.
const EDITOR_1: &str = concat!(
    r#"{"protocolVersion":1,"clientInfo":{"name":"one","version":"1"},"clientCapabilities":{"#,
    r#""elicitation":{"form":{},"url":{}},"plan":{},"subagents":{},"#,
    r#""session":{"notices":{},"compaction":{},"promptSuggestions":{}}}}"#
);
const EDITOR_2: &str = concat!(
    r#"{"protocolVersion":2,"info":{"name":"two","version":"1"},"#,
    r#""capabilities":{"session":{"commands":{"skill":{}}},"elicitation":{"form":{},"url":{}}}}"#
);

/// The options of each session at first.
pub const OPTIONS: [(&str, &str); 2] = [("mode", "ask"), ("effort", "low")];

/// The order in which an agent of version 2 answers a prompt, repeats it, and reports that it works.
#[derive(Debug, Clone, Copy)]
pub enum Order {
    /// As the adapter of Claude Code.
    EchoAnswerRunning,
    /// As the adapter of Codex.
    RunningEchoAnswer,
    /// As the example of the SDK.
    AnswerEchoRunning,
}

pub const ORDERS: [Order; 3] = [
    Order::EchoAnswerRunning,
    Order::RunningEchoAnswer,
    Order::AnswerEchoRunning,
];

/// What became of a scene.
pub struct Played {
    pub expected: Expected,
    /// What the editor showed at the end.
    pub shown: Told,
    /// The sentences of acpd.
    pub words: Vec<String>,
    /// What an editor shows that has opened the session at the end.
    pub late: Told,
    /// What the agent received.
    pub heard: Vec<String>,
}

/// The messages that a side can receive in a version, by method, and the results for its own requests.
struct Side {
    params: BTreeMap<String, Validator>,
    results: BTreeMap<String, Validator>,
}

impl Side {
    fn of_agent(version: &str) -> Self {
        Self::load(version, ["agent", "protocol"], "client")
    }

    fn of_client(version: &str) -> Self {
        Self::load(version, ["client", "protocol"], "agent")
    }

    fn load(version: &str, receives: [&str; 2], asks: &str) -> Self {
        let whole = read(version);
        let (mut params, mut results) = (BTreeMap::new(), BTreeMap::new());
        for (name, definition) in whole["$defs"].as_object().unwrap() {
            let (Some(method), Some(side)) = (definition["x-method"].as_str(), definition["x-side"].as_str())
            else {
                continue;
            };
            let is_result = name.ends_with("Response");
            if is_result && side == asks {
                results.insert(method.to_owned(), part(&whole, name));
            } else if !is_result && receives.contains(&side) {
                params.insert(method.to_owned(), part(&whole, name));
            }
        }
        Self { params, results }
    }
}

fn validate(validators: &BTreeMap<String, Validator>, method: &str, value: &Value) {
    let validator = validators.get(method);
    let validator = validator.unwrap_or_else(|| panic!("no side has {method}"));
    let errors: Vec<String> = validator
        .iter_errors(value)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{method}: {}\n{value}", errors.join("\n"));
}

/// What an agent receives, and what it sends.
static AGENTS: LazyLock<[(Side, Side); 2]> = LazyLock::new(|| {
    ["v1.unstable", "v2.unstable"].map(|version| (Side::of_agent(version), Side::of_client(version)))
});

fn sides(version: Version) -> &'static (Side, Side) {
    &AGENTS[match version {
        Version::One => 0,
        Version::Two => 1,
    }]
}

/// Checks what an agent has received.
fn follows_the_schema(scene: &Scene, version: Version) {
    let (receives, _) = sides(version);
    for sent in &scene.sent {
        match (sent.json["method"].as_str(), &sent.answers) {
            (Some(method), _) => validate(&receives.params, method, &sent.json["params"]),
            (None, Some(method)) if sent.json["result"].is_object() => {
                validate(&receives.results, method, &sent.json["result"]);
            }
            (None, _) => {}
        }
    }
}

/// Returns what an agent has received, in words.
fn heard(scene: &Scene, version: Version) -> Vec<String> {
    let mut heard = Vec::new();
    for sent in &scene.sent {
        let (params, result) = (&sent.json["params"], &sent.json["result"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match (sent.json["method"].as_str(), sent.answers.as_deref()) {
            (Some("session/prompt"), _) => {
                heard.push(format!("prompt {}", text(&params["prompt"][0]["text"])));
            }
            (Some("session/cancel"), _) => heard.push("cancel".to_owned()),
            (Some("session/set_config_option"), _) => {
                assert_eq!(params["type"].is_string(), version == Version::Two, "{params}");
                let (id, value) = (text(&params["configId"]), text(&params["value"]));
                heard.push(format!("option {id} {value}"));
            }
            (None, Some("session/request_permission")) => {
                let option = result["outcome"]["optionId"].as_str().unwrap_or("dismissed");
                heard.push(format!("answer {option}"));
            }
            (None, Some("elicitation/create")) => {
                let content = result.get("content").filter(|content| !content.is_null());
                let words = match (result["action"].as_str(), content) {
                    (Some("accept"), Some(content)) => content.to_string(),
                    (Some("decline"), _) => "declined".to_owned(),
                    _ => "dismissed".to_owned(),
                };
                heard.push(format!("answer {words}"));
            }
            _ => {}
        }
    }
    heard
}

fn opened(version: Version, now: &[(&str, &str)]) -> String {
    json!({ "sessionId": SESSION, "configOptions": options(now, version) }).to_string()
}

fn starts_1(scene: &mut Scene, change: SessionChange) {
    starts(Version::One, scene, change);
}

fn starts_2(scene: &mut Scene, change: SessionChange) {
    starts(Version::Two, scene, change);
}

/// The agent of a new thread opens its session.
fn starts(version: Version, scene: &mut Scene, change: SessionChange) {
    scene.create_with(change);
    scene.answer("initialize", hello_of_agent(version));
    scene.answer("session/new", &opened(version, &OPTIONS));
}

fn hello_of_agent(version: Version) -> &'static str {
    match version {
        Version::One => FULL,
        Version::Two => HELLO_2,
    }
}

/// Plays a scene.
pub fn play(acts: &[Act], pair: Pair, order: Order) -> Played {
    let mut scene = Scene::new();
    scene.acp = match pair.agent {
        Version::One => AcpVersion::One,
        Version::Two => AcpVersion::Two,
    };
    let mut played = None;
    let scene = play_in(scene, |s| {
        s.offers_v2 = true;
        s.start = match pair.agent {
            Version::One => starts_1,
            Version::Two => starts_2,
        };
        let who = Stage::at_work(hello(pair.editor), s);
        let session = s.session();
        let mut player = Player {
            pair,
            order,
            who,
            read: 0,
            screen: Screen::new(pair.editor, &session),
            expected: Expected::new(pair, OPTIONS.to_vec()),
            calls: 0,
            terminals: Vec::new(),
        };
        player.read(s);
        for act in acts {
            player.play(s, act);
        }
        let (shown, words) = player.screen.shown();
        played = Some((player.expected, shown, words, opens_late(s, pair.editor)));
    });
    follows_the_schema(&scene, pair.agent);
    let (expected, shown, words, late) = played.unwrap();
    Played {
        expected,
        shown,
        words,
        late,
        heard: heard(&scene, pair.agent),
    }
}

fn hello(version: Version) -> &'static str {
    match version {
        Version::One => EDITOR_1,
        Version::Two => EDITOR_2,
    }
}

/// Returns what an editor shows that opens the session now.
fn opens_late(s: &mut Stage, version: Version) -> Told {
    let late = s.editor(hello(version));
    let from = s.count(late);
    match version {
        Version::One => s.ask_session(late, "session/load", r#","cwd":"/workspace","mcpServers":[]"#),
        Version::Two => s.ask_session(
            late,
            "session/resume",
            r#","cwd":"/workspace","replayFrom":{"type":"start"}"#,
        ),
    };
    let session = s.session();
    let mut screen = Screen::new(version, &session);
    for message in &s.editors[late].got[from..] {
        screen.reads(message);
    }
    screen.shown().0
}

struct Player {
    pair: Pair,
    order: Order,
    who: usize,
    /// The messages that the editor has read.
    read: usize,
    screen: Screen,
    expected: Expected,
    /// The requests of the agent so far.
    calls: usize,
    /// The terminals of acpd, by the name that the scene gives them.
    terminals: Vec<(&'static str, String)>,
}

impl Player {
    fn read(&mut self, s: &Stage) {
        for message in &s.editors[self.who].got[self.read..] {
            self.screen.reads(message);
        }
        self.read = s.count(self.who);
    }

    fn play(&mut self, s: &mut Stage, act: &Act) {
        self.expected.play(act);
        if act.is_of_agent() {
            self.agent(s, act);
        } else {
            self.editor(s, act);
        }
        self.works(s);
        self.read(s);
    }

    fn editor(&mut self, s: &mut Stage, act: &Act) {
        match act {
            Act::EditorPrompts(text) => {
                let id = s.prompt(self.who, text);
                self.screen.prompts(id, text);
            }
            Act::EditorCancels => s.notify(self.who, "session/cancel"),
            Act::EditorPicks(kind) => {
                let open = self.screen.answers(kind.unwrap_or("dismissed"));
                let outcome = match kind {
                    Some(kind) => {
                        let options = open.params["options"].as_array().unwrap();
                        let option = options.iter().find(|option| option["kind"] == *kind).unwrap();
                        json!({ "outcome": "selected", "optionId": option["optionId"] })
                    }
                    None => json!({ "outcome": "cancelled" }),
                };
                let result = json!({ "jsonrpc": "2.0", "id": open.id, "result": { "outcome": outcome } });
                s.says(self.who, &result.to_string());
            }
            Act::EditorFills(content) => {
                let outcome = content
                    .as_ref()
                    .map_or_else(|| "declined".to_owned(), ToString::to_string);
                let open = self.screen.answers(&outcome);
                let result = match content {
                    Some(content) => json!({ "action": "accept", "content": content }),
                    None => json!({ "action": "decline" }),
                };
                let result = json!({ "jsonrpc": "2.0", "id": open.id, "result": result });
                s.says(self.who, &result.to_string());
            }
            Act::EditorSets(id, value) => {
                let mut params = json!({ "sessionId": s.session(), "configId": id, "value": value });
                if self.pair.editor == Version::Two {
                    params["type"] = json!("id");
                }
                s.request(self.who, "session/set_config_option", &params.to_string());
            }
            Act::Dies => s.then(|scene| {
                if scene.agent.is_some() {
                    scene.exits("killed by signal 9");
                }
            }),
            other => panic!("no editor does {other:?}"),
        }
    }

    /// The agent does what it is asked to do at once.
    fn works(&mut self, s: &mut Stage) {
        let version = self.pair.agent;
        let now = self.expected.options.clone();
        Self::restarts(s);
        loop {
            let awaits = |method: &&str| s.scene.awaits(method);
            let open = [
                "initialize",
                "session/resume",
                "session/load",
                "session/new",
                "session/set_config_option",
            ];
            if let Some(method) = open.into_iter().find(awaits) {
                let answer = match method {
                    "initialize" => hello_of_agent(version).to_owned(),
                    "session/new" => opened(version, &now),
                    _ => json!({ "configOptions": options(&now, version) }).to_string(),
                };
                s.then(|scene| scene.answer(method, &answer));
                // An agent may repeat its history after the answer.
                if method == "session/resume" {
                    s.then(|scene| scene.later(100));
                }
            } else if version == Version::Two && s.scene.awaits("session/prompt") {
                self.takes(s);
            } else {
                return;
            }
        }
    }

    /// Lets the time pass after which a process is started again.
    fn restarts(s: &mut Stage) {
        for _ in 0..100 {
            let live = s.scene.thread.live();
            if s.scene.agent.is_some() || live.turn.is_none() && live.queue.is_empty() {
                return;
            }
            s.then(|scene| scene.later(1000));
        }
    }

    /// An agent of version 2 takes the prompt into its conversation.
    fn takes(&self, s: &mut Stage) {
        let count = s.scene.sent_as("session/prompt").len();
        let sent = &s.scene.sent_as("session/prompt")[count - 1].json["params"]["prompt"];
        let (id, content) = (format!("u{count}"), sent.clone());
        let message = json!({ "sessionUpdate": "user_message", "messageId": id, "content": content });
        let chunk = json!({ "sessionUpdate": "user_message_chunk", "messageId": id, "content": content[0] });
        let running = json!({ "sessionUpdate": "state_update", "state": "running" });
        let answer = json!({ "messageId": id }).to_string();
        let updates = |s: &mut Stage, updates: &[&Value]| {
            for update in updates {
                self.sends(s, SESSION, update);
            }
        };
        let answers = |s: &mut Stage| s.then(|scene| scene.answer("session/prompt", &answer));
        match self.order {
            Order::EchoAnswerRunning => {
                updates(s, &[&message]);
                answers(s);
                updates(s, &[&running]);
            }
            Order::RunningEchoAnswer => {
                updates(s, &[&running, &chunk]);
                answers(s);
            }
            Order::AnswerEchoRunning => {
                answers(s);
                updates(s, &[&message, &running]);
            }
        }
    }

    fn sends(&self, s: &mut Stage, session: &str, update: &Value) {
        let params = json!({ "sessionId": session, "update": update });
        validate(&sides(self.pair.agent).1.params, "session/update", &params);
        let line = json!({ "jsonrpc": "2.0", "method": "session/update", "params": params });
        s.then(|scene| scene.says(&line.to_string()));
    }

    fn asks(&mut self, s: &mut Stage, method: &str, params: &Value) {
        self.calls += 1;
        let id = (1000 + self.calls).to_string();
        validate(&sides(self.pair.agent).1.params, method, params);
        s.then(|scene| scene.calls(&id, method, &params.to_string()));
    }

    fn agent(&mut self, s: &mut Stage, act: &Act) {
        let now = self.expected.options.clone();
        match (self.pair.agent, act) {
            (version, Act::Asks(asked)) => {
                self.asks(s, "session/request_permission", &question(*asked, version));
            }
            (_, Act::AsksForm(message)) => {
                let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
                let params = json!({ "sessionId": SESSION, "mode": "form", "message": message, "requestedSchema": schema });
                self.asks(s, "elicitation/create", &params);
            }
            (Version::One, Act::Runs(id, command)) => {
                let params = json!({ "sessionId": SESSION, "command": command });
                self.asks(s, "terminal/create", &params);
                s.then(|scene| scene.host_replies(Ok(HostReply::Created)));
                self.terminals
                    .push((*id, format!("term_{}", self.terminals.len() + 1)));
            }
            (Version::One, Act::Prints(id, bytes)) => {
                let event = TerminalEvent::Output(String::from_utf8(bytes.clone()).unwrap());
                let id = self.named(id);
                s.then(|scene| scene.terminal_says(&id, event));
            }
            (Version::One, Act::Exits(id, code)) => {
                let (output, _) = self.expected.output(id);
                let event = TerminalEvent::Exited {
                    exit: TerminalExit {
                        code: Some(i32::try_from(*code).unwrap()),
                        signal: None,
                    },
                    output,
                    truncated: false,
                };
                let id = self.named(id);
                s.then(|scene| scene.terminal_says(&id, event));
            }
            (Version::One, Act::Ends(reason)) => s.then(|scene| scene.stops_with(reason)),
            (Version::One, Act::Fails(message)) => {
                s.then(|scene| scene.refuse("session/prompt", -32603, message));
            }
            (version, act) => {
                let (session, mut update) = act.update(version, &now).unwrap();
                if version == Version::One {
                    let content = update.get_mut("content").and_then(Value::as_array_mut);
                    for piece in content.into_iter().flatten() {
                        if let Some(id) = piece["terminalId"].as_str() {
                            piece["terminalId"] = json!(self.named(id));
                        }
                    }
                }
                self.sends(s, &session, &update);
            }
        }
    }

    /// Returns the name that acpd has given to a terminal of the scene.
    fn named(&self, id: &str) -> String {
        let named = self.terminals.iter().find(|(of_scene, _)| *of_scene == id);
        named.expect("the terminal runs").1.clone()
    }
}
