//! A client of the app protocol that checks all messages of the daemon.
//!
//! Each notification about a thread has `threadId`, `seq` and `ts`; within a subscription, `seq` increases by one each
//! time. A violation fails the test that sees it.

use std::collections::{HashMap, VecDeque};
use std::io::ErrorKind;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::client::client_with_config;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket};

use super::app_schema;
use super::follow::Follow;
use super::message::{Incoming, Turn};
use super::{Daemon, PATIENCE};

/// One client connection.
pub struct Client {
    socket: WebSocket<TcpStream>,
    next_id: u64,
    answers: HashMap<u64, Result<Value, Value>>,
    /// Methods of pending requests, by id.
    asked: HashMap<u64, String>,
    inbox: VecDeque<Arc<Incoming>>,
    follows: HashMap<String, Follow>,
    /// All received messages, in order.
    pub seen: Vec<Arc<Incoming>>,
    /// Errors without a request id.
    pub errors: Vec<Value>,
    /// Code and reason with which the daemon closed the connection, once it has.
    pub closed: Option<(u16, String)>,
    /// Whether `seq` may have gaps, since the client opted out of some notifications.
    pub gaps: bool,
}

impl Client {
    /// Connects a client that receives questions.
    pub fn new(daemon: &Daemon) -> Self {
        Self::named(daemon, "test", &json!({ "approvals": true }))
    }

    /// Connects a client that only watches.
    pub fn observer(daemon: &Daemon) -> Self {
        Self::named(daemon, "observer", &json!({}))
    }

    /// Connects with a name and capabilities.
    pub fn named(daemon: &Daemon, name: &str, capabilities: &Value) -> Self {
        let mut client = Self::bare(daemon);
        client.greet(name, capabilities);
        client
    }

    /// Connects without a handshake.
    pub fn bare(daemon: &Daemon) -> Self {
        let token = format!("Bearer {}", daemon.place.token());
        Self::entering(daemon, "/ws", &[("authorization", &token)])
    }

    /// Connects with an issued token.
    pub fn with_token(daemon: &Daemon, token: &str) -> Self {
        let token = format!("Bearer {token}");
        let mut client = Self::entering(daemon, "/ws", &[("authorization", &token)]);
        client.greet("test", &json!({ "approvals": true }));
        client
    }

    /// Connects with these headers, without a handshake.
    pub fn entering(daemon: &Daemon, path: &str, headers: &[(&'static str, &str)]) -> Self {
        let stream = TcpStream::connect(daemon.address()).expect("the daemon listens");
        stream.set_nodelay(true).expect("a socket takes options");
        stream
            .set_write_timeout(Some(PATIENCE))
            .expect("a socket takes options");
        let mut request = format!("ws://{}{path}", daemon.address())
            .into_client_request()
            .expect("a URL");
        for (name, value) in headers {
            request
                .headers_mut()
                .insert(*name, value.parse().expect("a header"));
        }
        let config = WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        let (socket, _) = client_with_config(request, stream, Some(config)).expect("the daemon lets us in");
        Self {
            socket,
            next_id: 0,
            answers: HashMap::new(),
            asked: HashMap::new(),
            inbox: VecDeque::new(),
            follows: HashMap::new(),
            seen: Vec::new(),
            errors: Vec::new(),
            closed: None,
            gaps: false,
        }
    }

    /// Runs the handshake; returns the daemon's response.
    pub fn greet(&mut self, name: &str, capabilities: &Value) -> Value {
        let hello = json!({
            "clientInfo": { "name": name, "version": "1" },
            "capabilities": capabilities,
        });
        let welcome = self.call("initialize", &hello);
        self.notify("initialized");
        welcome
    }

    /// Sends one message unchanged.
    pub fn send(&mut self, message: Message) -> Result<(), Error> {
        self.socket.send(message)
    }

    /// Sends a notification without params.
    pub fn notify(&mut self, method: &str) {
        let message = json!({ "jsonrpc": "2.0", "method": method });
        self.send(Message::text(message.to_string()))
            .expect("the daemon reads");
    }

    /// Sends a request; returns its id.
    pub fn request(&mut self, method: &str, params: &Value) -> u64 {
        if method == "thread/resume"
            && let Some(thread) = params["threadId"].as_str()
        {
            let follow = Follow::resumed(params["after"].as_u64());
            self.follows.insert(thread.to_owned(), follow);
        }
        let id = self.next_id;
        self.next_id += 1;
        self.asked.insert(id, method.to_owned());
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(Message::text(message.to_string()))
            .expect("the daemon reads");
        id
    }

    /// Waits for the response to a request.
    pub fn answer(&mut self, id: u64) -> Result<Value, Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            assert!(
                self.read(deadline),
                "the connection ended before the answer: {:?}",
                self.closed
            );
        }
    }

    /// Sends a request and waits for its response.
    pub fn try_call(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        let id = self.request(method, params);
        let answer = self.answer(id);
        if let (Ok(result), "thread/resume", Some(thread)) = (&answer, method, params["threadId"].as_str()) {
            let latest = result["latestSeq"]
                .as_u64()
                .expect("thread/resume tells the latest seq");
            let follow = self.follows.get_mut(thread).expect("it was asked for");
            follow.begin(latest, self.gaps);
        }
        if let (Ok(result), "thread/fork") = (&answer, method) {
            let thread = result["thread"]["id"].as_str().expect("a thread has an id");
            let latest = result["thread"]["latestSeq"].as_u64();
            self.follows.insert(thread.to_owned(), Follow::resumed(latest));
        }
        if let (Ok(_), "thread/unsubscribe", Some(thread)) = (&answer, method, params["threadId"].as_str()) {
            self.follows.remove(thread);
        }
        answer
    }

    /// Makes a request that must not fail.
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        self.try_call(method, params)
            .unwrap_or_else(|error| panic!("{method} {params} failed: {error}"))
    }

    /// Makes a request that must fail; returns the error.
    pub fn refused(&mut self, method: &str, params: &Value) -> Value {
        match self.try_call(method, params) {
            Ok(result) => panic!("{method} {params} was answered with {result}"),
            Err(error) => error,
        }
    }

    /// Responds to a question.
    pub fn respond(&mut self, question: &Incoming, result: &Value) {
        let id = question.id.as_ref().expect("a question has an id");
        let message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        self.send(Message::text(message.to_string()))
            .expect("the daemon reads");
    }

    /// Starts a thread with the agent `fake`; returns its id.
    pub fn thread(&mut self, daemon: &Daemon) -> String {
        self.thread_of(daemon, "fake")
    }

    /// Starts a thread; returns its id.
    pub fn thread_of(&mut self, daemon: &Daemon, agent: &str) -> String {
        let started = self.call(
            "thread/start",
            &json!({ "agentType": agent, "cwd": daemon.place.work() }),
        );
        started["thread"]["id"]
            .as_str()
            .expect("a thread has an id")
            .to_owned()
    }

    /// Resumes a thread after an event.
    pub fn resume(&mut self, thread: &str, after: u64) -> Value {
        self.call("thread/resume", &json!({ "threadId": thread, "after": after }))
    }

    /// Starts a turn; returns its id.
    pub fn start(&mut self, thread: &str, text: &str) -> String {
        let started = self.call("turn/start", &json!({ "threadId": thread, "text": text }));
        started["turn"]["id"]
            .as_str()
            .expect("a turn has an id")
            .to_owned()
    }

    /// Runs a turn to its end.
    pub fn turn(&mut self, thread: &str, text: &str) -> Turn {
        let turn = self.start(thread, text);
        self.finish(thread, &turn)
    }

    /// Returns all messages up to the end of a turn.
    pub fn finish(&mut self, thread: &str, turn: &str) -> Turn {
        let messages = self.until(|message| {
            message.method == "turn/completed"
                && message.params["threadId"] == thread
                && message.params["turn"]["id"] == turn
        });
        let end = messages.last().expect("it ended").params["turn"].clone();
        Turn { messages, end }
    }

    /// Returns the next message; fails if the connection ends.
    pub fn next(&mut self) -> Arc<Incoming> {
        self.next_or_end()
            .unwrap_or_else(|| panic!("the connection ended: {:?}", self.closed))
    }

    /// Returns the next message; `None` if the connection has ended.
    pub fn next_or_end(&mut self) -> Option<Arc<Incoming>> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(message) = self.inbox.pop_front() {
                return Some(message);
            }
            if !self.read(deadline) {
                return None;
            }
        }
    }

    /// Removes and returns all queued messages.
    pub fn take(&mut self) -> Vec<Arc<Incoming>> {
        self.inbox.drain(..).collect()
    }

    /// Removes and returns messages, up to and including the first match.
    pub fn until(&mut self, fits: impl Fn(&Incoming) -> bool) -> Vec<Arc<Incoming>> {
        let mut messages = Vec::new();
        loop {
            let message = self.next();
            let found = fits(&message);
            messages.push(message);
            if found {
                return messages;
            }
        }
    }

    /// Discards messages up to the first of a method, and returns that one.
    pub fn wait_for(&mut self, method: &str) -> Arc<Incoming> {
        self.until(|message| message.method == method)
            .pop()
            .expect("it came")
    }

    /// Discards messages up to the first question, and returns it.
    pub fn question(&mut self) -> Arc<Incoming> {
        self.until(Incoming::is_question).pop().expect("it came")
    }

    /// Reads until the connection ends; returns the messages, and the close code and reason.
    pub fn drain(&mut self) -> (Vec<Arc<Incoming>>, Option<(u16, String)>) {
        let mut messages = Vec::new();
        while let Some(message) = self.next_or_end() {
            messages.push(message);
        }
        (messages, self.closed.clone())
    }

    /// Disconnects without a close frame, like a client whose host is switched off.
    pub fn vanish(self) -> Vec<Arc<Incoming>> {
        self.seen
    }

    /// Reads one message; returns `false` if the connection has ended.
    fn read(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = left.max(Duration::from_millis(1));
        self.socket
            .get_ref()
            .set_read_timeout(Some(left))
            .expect("a socket takes options");
        match self.socket.read() {
            Ok(Message::Text(text)) => {
                let message = serde_json::from_str(&text)
                    .unwrap_or_else(|error| panic!("the daemon sent no JSON: {error}: {text}"));
                self.sort(message);
                true
            }
            Ok(Message::Close(frame)) => {
                self.closed = frame.map(|frame| (frame.code.into(), frame.reason.to_string()));
                true
            }
            Ok(_) => true,
            Err(Error::Io(error)) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                let last: Vec<_> = self.seen.iter().rev().take(5).collect();
                panic!("waited in vain; the last that came, newest first: {last:#?}");
            }
            Err(_) => false,
        }
    }

    /// Stores a message in the queue for its kind.
    fn sort(&mut self, mut message: Value) {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        let id = message.get("id").cloned();
        if let Some(method) = message["method"].as_str().map(str::to_owned) {
            let params = message["params"].take();
            let message = Arc::new(Incoming { method, params, id });
            self.check(&message);
            self.seen.push(Arc::clone(&message));
            self.inbox.push_back(message);
            return;
        }
        let answer = match (message.get("result"), message.get("error")) {
            (Some(result), None) => Ok(result.clone()),
            (None, Some(error)) => Err(error.clone()),
            _ => panic!("neither result nor error: {message}"),
        };
        match (id.as_ref().and_then(Value::as_u64), answer) {
            (Some(id), answer) => {
                if let Some(method) = self.asked.remove(&id) {
                    app_schema::check_answer(&method, answer.as_ref());
                }
                assert!(
                    self.answers.insert(id, answer).is_none(),
                    "two answers to request {id}"
                );
            }
            (None, Err(error)) => self.errors.push(error),
            (None, Ok(result)) => panic!("an answer to nothing: {result}"),
        }
    }

    /// Checks the invariants of every message that the daemon sends by itself.
    fn check(&mut self, message: &Arc<Incoming>) {
        app_schema::check_sent(&message.method, &message.params, message.id.is_some());
        // These are no events of the thread: they concern this client's response, the thread list, the subscribers, or the log.
        let asides = [
            "serverRequest/rejected",
            "thread/subscribers/changed",
            "thread/log/changed",
        ];
        if asides.contains(&message.method.as_str()) || message.method.starts_with("thread/list/") {
            return;
        }
        message.check();
        if message.is_live() {
            return;
        }
        let thread = message.text("threadId").to_owned();
        let follow = self.follows.entry(thread).or_insert_with(Follow::anew);
        follow.take(message, self.gaps);
    }
}
