//! Editors of a scene. The stage passes on the messages of the editors and of the thread as the daemon does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use acpd_model::{ErrorCode, Event, Failure, Origin, RawJson, Role, Summary, ThreadId};
use acpd_proto::projection::{SessionChange, Transcript, TurnsPage};
use acpd_proto::surface::acp::{ConnectionStart, Frame, Peer};
use acpd_proto::surface::contract::{Delegated, Delivery, Lane, Output, Pending, Source, Surface};
use acpd_proto::surface::reply::{Closed, ListPage, ListedThread, Opened, Reply, ThreadView};
use acpd_proto::surface::request::{FollowFrom, Request, SessionOptions};
use acpd_proto::thread::{Command, EditorCommand, Input, Reply as Done};
use acpd_proto::time::Now;
use serde_json::Value;

use super::schema;
use crate::support::{FULL, Scene, check_in, gate};

/// The `initialize` params of an editor with all capabilities.
pub const ABLE: &str = concat!(
    r#"{"protocolVersion":1,"clientInfo":{"name":"able","version":"1"},"clientCapabilities":{"#,
    r#""elicitation":{"form":{},"url":{}},"session":{"notices":{},"compaction":{}}}}"#
);

/// The `initialize` params of an editor that serves host calls.
pub const WORKER: &str = concat!(
    r#"{"protocolVersion":1,"clientInfo":{"name":"worker","version":"1"},"clientCapabilities":{"#,
    r#""fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}}"#
);

/// The `initialize` params of a simple editor.
pub const SIMPLE: &str = r#"{"protocolVersion":1,"clientInfo":{"name":"simple","version":"1"}}"#;

/// The time of messages where it does not matter.
pub const NOW: Now = Now {
    mono: Duration::ZERO,
    wall: 0,
};

/// One editor.
pub struct Editor {
    pub peer: Peer,
    /// The name of its connection.
    connection: String,
    role: Role,
    /// The exact texts that the editor received.
    pub texts: Vec<String>,
    /// The parsed texts.
    pub got: Vec<Value>,
    /// The editor's open requests: id as JSON → method.
    open: BTreeMap<String, String>,
    /// The last event that the editor received.
    cursor: Option<u64>,
    /// The requests that were open when the history was read, and the last event of the history.
    past: (BTreeSet<u32>, u64),
    next_id: u64,
    /// Whether the thread counts the editor as attached.
    attached: bool,
    /// Callbacks for the editor, and whether each was sent.
    asked: BTreeMap<u64, bool>,
    /// Whether the connection accepts callbacks.
    pub hears: bool,
}

/// A scene and its editors.
pub struct Stage {
    pub scene: Scene,
    pub editors: Vec<Editor>,
    /// Whether to validate all messages to editors. Disabled where an agent sends invalid messages.
    pub strict: bool,
    /// Requests with a pending response: editor, token, number of the command.
    later: Vec<(usize, u64, u64)>,
    /// All requests, in order of arrival.
    pub requests: Vec<Request>,
    /// Whether the daemon offers version 2 to editors that connect.
    pub offers_v2: bool,
    /// The response to `initialize`; the default is [`FULL`].
    pub hello: Result<RawJson, Failure>,
    /// How the agent of a new thread starts; by default it opens its session.
    pub start: fn(&mut Scene, SessionChange),
    /// Whether slow requests wait for [`Stage::catch_up`].
    pub slow: bool,
    held_back: Vec<(usize, u64, Request)>,
    now: Now,
    /// The time between two messages of editors: long enough for the rate of requests.
    pub step: Duration,
}

/// Runs a scenario with editors, and checks all invariants.
pub fn play(scenario: impl FnOnce(&mut Stage)) -> Scene {
    play_in(Scene::new(), scenario)
}

/// Like [`play`], in a scene of its own.
pub fn play_in(scene: Scene, scenario: impl FnOnce(&mut Stage)) -> Scene {
    check_in(scene, |scene| {
        let mut stage = Stage {
            scene: std::mem::replace(scene, Scene::new()),
            editors: Vec::new(),
            strict: true,
            later: Vec::new(),
            requests: Vec::new(),
            offers_v2: false,
            hello: Ok(RawJson::parse(FULL).unwrap()),
            start: Scene::open_session_with,
            slow: false,
            held_back: Vec::new(),
            now: NOW,
            step: Duration::from_secs(1),
        };
        scenario(&mut stage);
        stage.pump();
        *scene = stage.scene;
    })
}

impl Stage {
    /// Connects an editor without a handshake. Returns its number.
    pub fn connect(&mut self, role: Role) -> usize {
        let connection = format!("c{}", self.editors.len());
        self.editors.push(Editor {
            peer: Peer::new("owner".into(), role, connection.clone(), gate()).starting(ConnectionStart {
                offers_v2: self.offers_v2,
                ..ConnectionStart::default()
            }),
            connection,
            role,
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

    /// Connects an editor with a handshake.
    pub fn editor(&mut self, hello: &str) -> usize {
        let who = self.connect(Role::Owner);
        assert!(self.ask(who, "initialize", hello)["result"].is_object());
        who
    }

    /// Connects an editor that has created the session and received the response.
    pub fn at_work(hello: &str, stage: &mut Self) -> usize {
        let who = stage.editor(hello);
        let answer = stage.ask(who, "session/new", r#"{"cwd":"/workspace","mcpServers":[]}"#);
        assert_eq!(answer["result"]["sessionId"], stage.session());
        who
    }

    /// Returns the session id that editors use.
    pub fn session(&self) -> String {
        self.scene.id.to_string()
    }

    /// An editor sends a message.
    pub fn says(&mut self, who: usize, text: &str) {
        let message: Value = serde_json::from_str(text).unwrap_or_default();
        if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
            self.editors[who].open.insert(id.to_string(), method.to_owned());
        }
        self.now.mono += self.step;
        self.editors[who].peer.handle_message(text, self.now);
        self.pump();
    }

    /// An editor sends a request. Returns its id.
    pub fn request(&mut self, who: usize, method: &str, params: &str) -> Value {
        let id = self.editors[who].next_id;
        self.editors[who].next_id += 1;
        self.says(
            who,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#),
        );
        id.into()
    }

    /// An editor sends a request that has an immediate response.
    pub fn ask(&mut self, who: usize, method: &str, params: &str) -> Value {
        let id = self.request(who, method, params);
        self.answer_to(who, &id)
            .unwrap_or_else(|| panic!("{method} is not answered: {:?}", self.editors[who].got))
    }

    /// Like [`Stage::ask`] for the session, with further members, each after a comma.
    pub fn ask_session(&mut self, who: usize, method: &str, more: &str) -> Value {
        let params = format!(r#"{{"sessionId":"{}"{more}}}"#, self.session());
        self.ask(who, method, &params)
    }

    /// An editor sends a prompt. Returns the id of the request.
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

    /// Returns the response to a request, if there is one.
    pub fn answer_to(&self, who: usize, id: &Value) -> Option<Value> {
        let got = self.editors[who].got.iter();
        got.filter(|message| message.get("method").is_none())
            .find(|message| message["id"] == *id)
            .cloned()
    }

    /// Runs an action of the agent or the thread, and delivers the results.
    pub fn then(&mut self, happens: impl FnOnce(&mut Scene)) {
        happens(&mut self.scene);
        self.pump();
    }

    /// Returns a summary of each message to an editor.
    pub fn heard(&self, who: usize) -> Vec<String> {
        self.editors[who].got.iter().map(brief).collect()
    }

    /// Returns the summaries from message `from` on.
    pub fn heard_from(&self, who: usize, from: usize) -> Vec<String> {
        self.editors[who].got[from..].iter().map(brief).collect()
    }

    /// Returns the number of messages to an editor.
    pub fn count(&self, who: usize) -> usize {
        self.editors[who].got.len()
    }

    /// Delivers all messages until none are left.
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

    /// Executes the requests that a slow daemon has delayed.
    pub fn catch_up(&mut self) {
        for (who, token, request) in std::mem::take(&mut self.held_back) {
            self.carry_out(who, token, request);
        }
        self.pump();
    }

    /// Disconnects an editor or closes its session. Pending callbacks are never sent.
    pub fn kill(&mut self, who: usize) {
        let editor = &mut self.editors[who];
        editor.attached = false;
        let unsent = std::mem::take(&mut editor.asked)
            .into_iter()
            .filter(|(_, was_asked)| !was_asked)
            .map(|(call, _)| call)
            .collect();
        let connection = editor.connection.clone();
        self.scene.handle(Input::EditorGone { connection, unsent });
        self.pump();
    }

    fn attach(&mut self, who: usize) {
        let editor = &mut self.editors[who];
        if !editor.role.may(Role::Operator) {
            return;
        }
        editor.attached = true;
        let connection = editor.connection.clone();
        let abilities = editor.peer.profile().abilities.unwrap();
        let command = Command::Attach {
            connection,
            abilities,
        };
        let call = self.say(who, command);
        assert!(self.scene.replies[&call].is_ok());
    }

    /// Applies the session parameters that an editor requests.
    fn wants(&mut self, who: usize, wanted: SessionOptions) -> Result<(), Failure> {
        let call = self.say(who, Command::SetSessionParams(wanted.change));
        self.scene.replies[&call].clone().map(drop)
    }

    /// Sends a command as the editor. Returns its number.
    fn say(&mut self, who: usize, command: Command) -> u64 {
        let peer = &self.editors[who].peer;
        let by = Origin::Client(Box::new(peer.profile().origin));
        self.scene.send_as(by, command)
    }

    /// Delivers the thread's commands to the editors.
    fn orders(&mut self) -> bool {
        let thread = self.scene.id;
        let mut moved = false;
        for (connection, order) in std::mem::take(&mut self.scene.orders) {
            let Some(editor) = self
                .editors
                .iter_mut()
                .find(|editor| editor.connection == connection && editor.attached)
            else {
                continue;
            };
            match &order {
                EditorCommand::Request { call, .. } => drop(editor.asked.insert(*call, false)),
                EditorCommand::Withdraw { call, forget: true } => drop(editor.asked.remove(call)),
                _ => {}
            }
            if editor.hears {
                editor.peer.handle_delegated(thread, Delegated::Command(order));
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
                Output::Send(text) => self.sent(who, std::str::from_utf8(&text).unwrap()),
                Output::Delegate { thread, call, text } => match self.editors[who].asked.get_mut(&call) {
                    Some(asked) => {
                        *asked = true;
                        self.sent(who, std::str::from_utf8(&text).unwrap());
                    }
                    None => self.editors[who]
                        .peer
                        .handle_delegated(thread, Delegated::NotSent { call }),
                },
                Output::Delegated { call, result, .. } => {
                    let editor = &mut self.editors[who];
                    if editor.asked.remove(&call).is_some() {
                        let connection = editor.connection.clone();
                        self.scene.handle(Input::EditorAnswered {
                            connection,
                            call,
                            result: *result,
                        });
                    }
                }
                Output::End => panic!("an editor's connection does not end itself"),
                Output::Request {
                    call: token, request, ..
                } => {
                    let request = *request;
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
        // JSON that does not fit into a `Value` comes from an agent.
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
            match editor.peer.lane() {
                Lane::AcpV2 => schema::check_v2(&message, answers.as_deref()),
                _ => schema::check(&message, answers.as_deref()),
            }
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
        let frames = encoded(&self.scene, editor.peer.lane(), events);
        let (open, end) = &editor.past;
        editor.peer.handle_frames(Delivery {
            thread: self.scene.id,
            frames: &frames,
            last,
            pending: &Pending::up_to(*end, Arc::new(open.clone())),
        });
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
            self.editors[*who].peer.handle_reply(*token, result);
        }
        !ready.is_empty()
    }

    fn carry_out(&mut self, who: usize, token: u64, request: Request) {
        let command = match request {
            Request::StartTurn(turn) => Command::StartTurn {
                input: turn.input,
                meta: turn.meta,
                client_turn_id: turn.client_turn_id,
                replaces: turn.replaces,
            },
            Request::Interrupt { turn, options, .. } => Command::Interrupt { turn, options },
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
                let connection = self.editors[who].connection.clone();
                if take {
                    Command::AcquireLease { connection }
                } else {
                    Command::ReleaseLease { connection }
                }
            }
            Request::AskAgent { request, .. } => Command::AgentRequest(request),
            Request::UseTerminal { terminal_id, act, .. } => Command::UseTerminal { terminal_id, act },
            Request::NotifyAgent { method, params, .. } => Command::Notify { method, params },
            Request::ChangeThread { change, .. } => Command::Change(change),
            request => {
                let result = self.done(who, request);
                self.editors[who].peer.handle_reply(token, result);
                return self.ask_again(who);
            }
        };
        self.command(who, token, command);
    }

    /// Executes a request that has an immediate response.
    fn done(&mut self, who: usize, request: Request) -> Result<Reply, Failure> {
        let is_empty = self.scene.log.is_empty();
        match request {
            Request::Initialize => self.hello.clone().map(Reply::Initialized),
            Request::StartThread(_) if !is_empty => {
                Err(Failure::new(ErrorCode::Conflict, "there is one thread here"))
            }
            Request::StartThread(start) => {
                (self.start)(&mut self.scene, start.session);
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
            Request::ReadThread { .. } => {
                let mut transcript = Transcript::new(self.scene.id);
                for event in &self.scene.log {
                    transcript.fold(event);
                }
                let page = TurnsPage {
                    turns: transcript.into_turns(),
                    older: None,
                };
                Ok(Reply::Thread(Box::new(ThreadView {
                    live: Arc::new(self.scene.thread.live().clone()),
                    turns: Some(page),
                })))
            }
            Request::ForkThread(_) => Err(Failure::new(ErrorCode::Unsupported, "no forks here")),
            Request::CloseThread { .. } => {
                self.editors[who].cursor = None;
                self.kill(who);
                Ok(Reply::Closed(Closed { was_open: true }))
            }
            Request::ListThreads(_) => Ok(Reply::Threads(ListPage {
                page: vec![ListedThread {
                    thread: self.scene.id,
                    summary: Summary {
                        cwd: "/workspace".into(),
                        updated_at: 1_700_000_000_000,
                        ..Summary::default()
                    },
                    seen_at: None,
                }],
                next: Some("more".into()),
            })),
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
            live: Arc::new(live.clone()),
            cursor,
            turns: None,
            turn: None,
            fidelity: None,
            claimed: Vec::new(),
        }))
    }

    /// Sends open requests from before the cursor again.
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
            let lane = self.editors[who].peer.lane();
            let frames = encoded(&self.scene, lane, std::slice::from_ref(event));
            self.editors[who].peer.handle_frames(Delivery {
                thread: self.scene.id,
                frames: &frames,
                last: event.seq,
                pending: &Pending::all(),
            });
        }
    }
}

/// Returns the frames of events, and checks that encoding them one by one gives the same.
fn encoded(scene: &Scene, lane: Lane, events: &[Event]) -> Vec<Frame> {
    let thread = scene.id.to_string();
    let frames = |events| {
        let thread = thread.as_str();
        Peer::encode(lane, Source::Events { thread, events })
    };
    let all = frames(events);
    let single: Vec<Frame> = events
        .iter()
        .flat_map(|event| frames(std::slice::from_ref(event)))
        .collect();
    let texts = |frames: &[Frame]| frames.iter().map(|frame| frame.text.clone()).collect::<Vec<_>>();
    assert_eq!(texts(&all), texts(&single));
    all
}

/// Returns a short summary of a message.
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
