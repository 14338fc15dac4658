//! Editors in front of a scene: their messages go in, and what they are sent comes out, as the daemon carries both.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::{ErrorCode, Event, Failure, Origin, RawJson, Role, Summary, ThreadId};
use acpd_proto::surface::acp::{Frame, Peer, PeerOutput, frames};
use acpd_proto::surface::reply::{ListedThread, Opened, Reply};
use acpd_proto::surface::request::{FollowFrom, Request, SessionOptions};
use acpd_proto::thread::{Command, EditorCommand, Input, Reply as Done};
use serde_json::Value;

use super::schema;
use crate::support::{FULL, Scene, check};

/// What an editor that can do everything declares.
pub const ABLE: &str = concat!(
    r#"{"protocolVersion":1,"clientInfo":{"name":"able","version":"1"},"clientCapabilities":{"#,
    r#""elicitation":{"form":{},"url":{}},"session":{"notices":{},"compaction":{}}}}"#
);

/// What one declares that answers for the agent's machine.
pub const WORKER: &str = concat!(
    r#"{"protocolVersion":1,"clientInfo":{"name":"worker","version":"1"},"clientCapabilities":{"#,
    r#""fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}}"#
);

/// What a simple one declares.
pub const SIMPLE: &str = r#"{"protocolVersion":1,"clientInfo":{"name":"simple","version":"1"}}"#;

/// One editor.
pub struct Editor {
    pub peer: Peer,
    /// Everything that it was sent, as it was written.
    pub texts: Vec<String>,
    /// The same, parsed.
    pub got: Vec<Value>,
    /// Its requests that were not answered: id as JSON → method.
    open: BTreeMap<String, String>,
    /// The last event that it was handed.
    cursor: Option<u64>,
    /// Questions that were open when the past was read, and its last event.
    past: (BTreeSet<u32>, u64),
    next_id: u64,
    /// Whether it has the thread open, as the thread knows it.
    attached: bool,
    /// Callbacks that it is to be asked, and whether it was.
    asked: BTreeMap<u64, bool>,
    /// Whether its connection takes what it is to be asked.
    pub hears: bool,
}

/// A scene and its editors.
pub struct Stage {
    pub scene: Scene,
    pub editors: Vec<Editor>,
    /// Whether all that editors are sent is held against the schema: not where an agent says what it may not.
    pub strict: bool,
    /// Requests whose answer comes later: editor, token, number of the command.
    later: Vec<(usize, u64, u64)>,
    /// Requests as they came.
    pub requests: Vec<Request>,
    /// The answer to `initialize`; else [`FULL`].
    pub hello: Result<RawJson, Failure>,
    /// Whether prompts and the like are answered only by [`Stage::catch_up`].
    pub slow: bool,
    held_back: Vec<(usize, u64, Request)>,
}

/// Plays with editors, and checks what must hold after any scenario.
pub fn play(scenario: impl FnOnce(&mut Stage)) -> Scene {
    check(|scene| {
        let mut stage = Stage {
            scene: std::mem::replace(scene, Scene::new()),
            editors: Vec::new(),
            strict: true,
            later: Vec::new(),
            requests: Vec::new(),
            hello: Ok(RawJson::parse(FULL).unwrap()),
            slow: false,
            held_back: Vec::new(),
        };
        scenario(&mut stage);
        stage.pump();
        *scene = stage.scene;
    })
}

impl Stage {
    /// Another editor, before its handshake; its number.
    pub fn connect(&mut self, role: Role) -> usize {
        self.editors.push(Editor {
            peer: Peer::new("owner".into(), role, format!("c{}", self.editors.len())),
            texts: Vec::new(),
            got: Vec::new(),
            open: BTreeMap::new(),
            cursor: None,
            past: (BTreeSet::new(), 0),
            next_id: 0,
            attached: false,
            asked: BTreeMap::new(),
            hears: true,
        });
        self.editors.len() - 1
    }

    /// Another editor, after its handshake.
    pub fn editor(&mut self, hello: &str) -> usize {
        let who = self.connect(Role::Owner);
        assert!(self.ask(who, "initialize", hello)["result"].is_object());
        who
    }

    /// An editor that has made the session, and has seen the answer to that.
    pub fn at_work(hello: &str, stage: &mut Self) -> usize {
        let who = stage.editor(hello);
        let answer = stage.ask(who, "session/new", r#"{"cwd":"/workspace","mcpServers":[]}"#);
        assert_eq!(answer["result"]["sessionId"], stage.session());
        who
    }

    /// The session's id towards editors.
    pub fn session(&self) -> String {
        self.scene.id.to_string()
    }

    /// An editor writes a message.
    pub fn says(&mut self, who: usize, text: &str) {
        let message: Value = serde_json::from_str(text).unwrap_or_default();
        if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
            self.editors[who].open.insert(id.to_string(), method.to_owned());
        }
        self.editors[who].peer.handle_text(text);
        self.pump();
    }

    /// An editor makes a request; the id that it has.
    pub fn request(&mut self, who: usize, method: &str, params: &str) -> Value {
        let id = self.editors[who].next_id;
        self.editors[who].next_id += 1;
        self.says(
            who,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#),
        );
        id.into()
    }

    /// An editor makes a request that is answered at once.
    pub fn ask(&mut self, who: usize, method: &str, params: &str) -> Value {
        let id = self.request(who, method, params);
        self.answer_to(who, &id)
            .unwrap_or_else(|| panic!("{method} is not answered: {:?}", self.editors[who].got))
    }

    /// The same, of the session and with further members, each after a comma.
    pub fn ask_session(&mut self, who: usize, method: &str, more: &str) -> Value {
        let params = format!(r#"{{"sessionId":"{}"{more}}}"#, self.session());
        self.ask(who, method, &params)
    }

    /// An editor sends a prompt; the id of the request.
    pub fn prompt(&mut self, who: usize, text: &str) -> Value {
        let (session, text) = (self.session(), Value::from(text));
        let params = format!(r#"{{"sessionId":"{session}","prompt":[{{"type":"text","text":{text}}}]}}"#);
        self.request(who, "session/prompt", &params)
    }

    /// An editor sends a notification about the session.
    pub fn notify(&mut self, who: usize, method: &str) {
        let session = self.session();
        self.says(
            who,
            &format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"sessionId":"{session}"}}}}"#),
        );
    }

    /// The answer to a request, if there is one.
    pub fn answer_to(&self, who: usize, id: &Value) -> Option<Value> {
        let got = self.editors[who].got.iter();
        got.filter(|message| message.get("method").is_none())
            .find(|message| message["id"] == *id)
            .cloned()
    }

    /// The agent and the thread go on.
    pub fn then(&mut self, happens: impl FnOnce(&mut Scene)) {
        happens(&mut self.scene);
        self.pump();
    }

    /// What an editor was sent, in short.
    pub fn heard(&self, who: usize) -> Vec<String> {
        self.editors[who].got.iter().map(brief).collect()
    }

    /// The same, from message `from` on.
    pub fn heard_from(&self, who: usize, from: usize) -> Vec<String> {
        self.editors[who].got[from..].iter().map(brief).collect()
    }

    /// How much an editor was sent.
    pub fn count(&self, who: usize) -> usize {
        self.editors[who].got.len()
    }

    /// Carries everything to where it goes, until nothing moves.
    pub fn pump(&mut self) {
        loop {
            let mut moved = false;
            moved |= self.orders();
            for who in 0..self.editors.len() {
                moved |= self.outputs(who);
                moved |= self.deliver(who);
            }
            moved |= self.answer_later();
            if !moved {
                return;
            }
        }
    }

    /// Does what a slow daemon has not done yet.
    pub fn catch_up(&mut self) {
        for (who, token, request) in std::mem::take(&mut self.held_back) {
            self.carry_out(who, token, request);
        }
        self.pump();
    }

    /// The connection is gone, or the session closed: what was not asked by then never is.
    pub fn kill(&mut self, who: usize) {
        let editor = &mut self.editors[who];
        editor.attached = false;
        let unsent = std::mem::take(&mut editor.asked)
            .into_iter()
            .filter(|(_, was_asked)| !was_asked)
            .map(|(call, _)| call)
            .collect();
        let connection = editor.peer.connection().to_owned();
        self.scene.handle(Input::EditorGone { connection, unsent });
        self.pump();
    }

    fn attach(&mut self, who: usize) {
        let editor = &mut self.editors[who];
        if !editor.peer.role().may(Role::Operator) {
            return;
        }
        editor.attached = true;
        let connection = editor.peer.connection().to_owned();
        let abilities = editor.peer.client().abilities();
        let command = Command::Attach {
            connection,
            abilities,
        };
        let call = self.say(who, command);
        assert!(self.scene.replies[&call].is_ok());
    }

    /// A command of the editor, under its own name.
    /// An editor wants the session to be opened otherwise.
    fn wants(&mut self, who: usize, wanted: SessionOptions) -> Result<(), Failure> {
        let call = self.say(who, Command::SetSessionParams(wanted.change));
        self.scene.replies[&call].clone().map(drop)
    }

    fn say(&mut self, who: usize, command: Command) -> u64 {
        let peer = &self.editors[who].peer;
        let by = Origin::Client(Box::new(peer.caller()));
        self.scene.send_as(by, command)
    }

    /// Hands the editors what the thread wants of them.
    fn orders(&mut self) -> bool {
        let thread = self.scene.id;
        let mut moved = false;
        for (connection, order) in std::mem::take(&mut self.scene.orders) {
            let Some(editor) = self
                .editors
                .iter_mut()
                .find(|editor| editor.peer.connection() == connection && editor.attached)
            else {
                continue;
            };
            match &order {
                EditorCommand::Request { call, .. } => drop(editor.asked.insert(*call, false)),
                EditorCommand::Withdraw { call, forget: true } => drop(editor.asked.remove(call)),
                _ => {}
            }
            if editor.hears {
                editor.peer.order(thread, order);
                moved = true;
            }
        }
        moved
    }

    fn outputs(&mut self, who: usize) -> bool {
        let mut moved = false;
        while let Some(output) = self.editors[who].peer.poll_output() {
            moved = true;
            match output {
                PeerOutput::Send(text) => self.sent(who, std::str::from_utf8(&text).unwrap()),
                PeerOutput::Ask { thread, call, text } => match self.editors[who].asked.get_mut(&call) {
                    Some(asked) => {
                        *asked = true;
                        self.sent(who, std::str::from_utf8(&text).unwrap());
                    }
                    None => self.editors[who].peer.request_not_sent(thread, call),
                },
                PeerOutput::Answered { call, result, .. } => {
                    let editor = &mut self.editors[who];
                    if editor.asked.remove(&call).is_some() {
                        let connection = editor.peer.connection().to_owned();
                        self.scene.handle(Input::EditorAnswered {
                            connection,
                            call,
                            result,
                        });
                    }
                }
                PeerOutput::Call { token, request, .. } => {
                    self.requests.push(request.clone());
                    if self.slow {
                        self.held_back.push((who, token, request));
                    } else {
                        self.carry_out(who, token, request);
                    }
                }
            }
        }
        moved
    }

    fn sent(&mut self, who: usize, text: &str) {
        assert!(!text.contains(['\n', '\r']), "one message is one line: {text:?}");
        // What no `Value` can hold is an agent's.
        let message: Value = match serde_json::from_str(text) {
            Ok(message) => message,
            Err(_) if !self.strict => Value::Null,
            Err(error) => panic!("{error}: {text}"),
        };
        let editor = &mut self.editors[who];
        let answers = match message.get("method") {
            None => editor.open.remove(&message["id"].to_string()),
            Some(_) => None,
        };
        if self.strict {
            schema::check(&message, answers.as_deref());
        }
        editor.texts.push(text.to_owned());
        editor.got.push(message);
    }

    fn deliver(&mut self, who: usize) -> bool {
        let (log, editor) = (&self.scene.log, &mut self.editors[who]);
        let Some(cursor) = editor.cursor else { return false };
        let events = &log[usize::try_from(cursor).unwrap()..];
        let Some(last) = events.last().map(|event| event.seq) else {
            return false;
        };
        editor.cursor = Some(last);
        let frames = encoded(&self.scene, events);
        let (open, end) = &editor.past;
        let pending = |seq, request: acpd_model::RequestId| seq > *end || open.contains(&request.number);
        editor.peer.deliver(self.scene.id, &frames, last, pending);
        true
    }

    fn answer_later(&mut self) -> bool {
        let replies = &self.scene.replies;
        let ready: Vec<_> = self
            .later
            .extract_if(.., |(_, _, call)| replies.contains_key(call))
            .collect();
        for (who, token, call) in &ready {
            let result = self.scene.replies[call].clone().map(|reply| match reply {
                Done::Turn(turn) => Reply::Turn(turn),
                Done::Lease(holder) => Reply::Lease(holder),
                Done::Agent(answer) => Reply::Agent(answer),
                _ => Reply::Done,
            });
            self.editors[*who].peer.reply(*token, result);
        }
        !ready.is_empty()
    }

    fn carry_out(&mut self, who: usize, token: u64, request: Request) {
        let command = match request {
            Request::StartTurn(turn) => Command::StartTurn {
                input: turn.input,
                meta: turn.meta,
                client_turn_id: turn.client_turn_id,
            },
            Request::Interrupt { turn, .. } => Command::Interrupt { turn },
            Request::Answer {
                request,
                answer,
                scope,
            } => Command::Answer {
                request,
                answer,
                scope,
            },
            Request::MoveLease { take, .. } => {
                let connection = self.editors[who].peer.connection().to_owned();
                if take {
                    Command::AcquireLease { connection }
                } else {
                    Command::ReleaseLease { connection }
                }
            }
            Request::AskAgent { request, .. } => Command::AgentRequest(request),
            Request::NotifyAgent { method, params, .. } => Command::Notify { method, params },
            request => {
                let result = self.done(who, request);
                self.editors[who].peer.reply(token, result);
                return self.ask_again(who);
            }
        };
        self.command(who, token, command);
    }

    /// Carries out what is answered at once.
    fn done(&mut self, who: usize, request: Request) -> Result<Reply, Failure> {
        let is_empty = self.scene.log.is_empty();
        match request {
            Request::Initialize => self.hello.clone().map(Reply::Initialized),
            Request::StartThread(_) if !is_empty => {
                Err(Failure::new(ErrorCode::Conflict, "there is one thread here"))
            }
            Request::StartThread(start) => {
                self.scene.open_session_with(start.session);
                self.attach(who);
                Ok(self.open(who, 0))
            }
            Request::OpenThread(open) => {
                self.known(open.thread)?;
                self.wants(who, open.session.unwrap_or_default())?;
                self.attach(who);
                let last = self.scene.log.len() as u64;
                let cursor = match open.from {
                    FollowFrom::Start => 0,
                    FollowFrom::Latest => last,
                    FollowFrom::After { seq, .. } => seq.min(last),
                };
                Ok(self.open(who, cursor))
            }
            Request::ForkThread(_) => Err(Failure::new(ErrorCode::Unsupported, "no forks here")),
            Request::CloseThread { .. } => {
                self.editors[who].cursor = None;
                self.kill(who);
                Ok(Reply::Closed { was_open: true })
            }
            Request::ListThreads(_) => Ok(Reply::Threads {
                page: vec![ListedThread {
                    thread: self.scene.id,
                    summary: Summary {
                        cwd: "/workspace".into(),
                        updated_at: 1_700_000_000_000,
                        ..Summary::default()
                    },
                }],
                next: Some("more".into()),
            }),
            Request::DeleteThread { thread } => self.known(thread).map(|()| Reply::Done),
            other => panic!("no editor asks for {other:?}"),
        }
    }

    fn known(&self, thread: ThreadId) -> Result<(), Failure> {
        if thread == self.scene.id && !self.scene.log.is_empty() {
            return Ok(());
        }
        Err(Failure::not_found(format!("thread {thread}")))
    }

    fn command(&mut self, who: usize, token: u64, command: Command) {
        let call = self.say(who, command);
        self.later.push((who, token, call));
        self.answer_later();
    }

    fn open(&mut self, who: usize, cursor: u64) -> Reply {
        let live = self.scene.thread.live();
        let editor = &mut self.editors[who];
        editor.cursor = Some(cursor);
        editor.past = (live.requests.keys().copied().collect(), live.last_seq);
        Reply::Opened(Box::new(Opened {
            live: Box::new(live.clone()),
            cursor,
            turns: None,
            turn: None,
            fidelity: None,
            claimed: Vec::new(),
        }))
    }

    /// Questions from before the cursor that are still open are asked again.
    fn ask_again(&mut self, who: usize) {
        let Some(cursor) = self.editors[who].cursor else {
            return;
        };
        let events: Vec<Event> = self
            .scene
            .thread
            .live()
            .requests
            .values()
            .map(|open| open.event.clone())
            .collect();
        for event in events.iter().filter(|event| event.seq <= cursor) {
            let frames = encoded(&self.scene, std::slice::from_ref(event));
            self.editors[who]
                .peer
                .deliver(self.scene.id, &frames, event.seq, |_, _| true);
        }
    }
}

/// The frames of events; all at once and one by one they are the same.
fn encoded(scene: &Scene, events: &[Event]) -> Vec<Frame> {
    let thread = scene.id.to_string();
    let all = frames(&thread, events);
    let single: Vec<Frame> = events
        .iter()
        .flat_map(|event| frames(&thread, std::slice::from_ref(event)))
        .collect();
    let texts = |frames: &[Frame]| frames.iter().map(|frame| frame.text.clone()).collect::<Vec<_>>();
    assert_eq!(texts(&all), texts(&single));
    all
}

/// A message in a few words.
fn brief(message: &Value) -> String {
    let update = &message["params"]["update"];
    match (message["method"].as_str(), message.get("error")) {
        (Some("session/update"), _) => {
            let kind = update["sessionUpdate"].as_str().unwrap_or("?");
            let more = update["content"]["text"].as_str().or(update["status"].as_str());
            more.map_or_else(|| kind.to_owned(), |more| format!("{kind} {more}"))
        }
        (Some(method), _) => method.to_owned(),
        (None, Some(error)) => format!("error {} to {}", error["code"], message["id"]),
        (None, None) => match message["result"]["stopReason"].as_str() {
            Some(reason) => format!("{reason} to {}", message["id"]),
            None => format!("answer to {}", message["id"]),
        },
    }
}
