//! An editor: a client of native ACP over any transport. Every message of the daemon is checked against the official
//! schema.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;

use serde_json::{Value, json};

use super::acp_schema;
use super::{Daemon, PATIENCE, Place};

/// One editor connection.
pub struct Editor {
    incoming: mpsc::Receiver<String>,
    /// The channel for all messages after the first, if it differs.
    then: Option<mpsc::Receiver<String>>,
    write: Box<dyn FnMut(&str)>,
    next_id: u64,
    /// Methods of pending requests, by id.
    asked: HashMap<String, String>,
    answers: HashMap<String, Result<Value, Value>>,
    /// The received requests and notifications that no test code has read.
    inbox: std::collections::VecDeque<Value>,
    /// Whether it speaks version 2.
    is_v2: bool,
}

/// Returns the lines of `from`, as they arrive.
pub fn lines_of(from: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (told, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if told.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

impl Editor {
    /// Creates an editor that receives messages from `incoming`, and sends them by a function.
    pub fn new(incoming: mpsc::Receiver<String>, write: impl FnMut(&str) + 'static) -> Self {
        Self {
            incoming,
            then: None,
            write: Box::new(write),
            next_id: 0,
            asked: HashMap::new(),
            answers: HashMap::new(),
            inbox: std::collections::VecDeque::new(),
            is_v2: false,
        }
    }

    /// Sets another channel for all messages after the first.
    pub fn also(mut self, then: mpsc::Receiver<String>) -> Self {
        self.then = Some(then);
        self
    }

    /// Creates an editor over lines of JSON.
    pub fn lines(read: impl Read + Send + 'static, mut write: impl Write + 'static) -> Self {
        Self::new(lines_of(read), move |text| {
            // If the other end is gone, no further message arrives either.
            let _ = writeln!(write, "{text}").and_then(|()| write.flush());
        })
    }

    /// Connects to the editor socket.
    pub fn socket(place: &Place) -> Self {
        let stream = UnixStream::connect(place.data().join("acp.sock")).expect("the daemon listens");
        let reader = stream.try_clone().expect("a socket can be cloned");
        Self::lines(reader, stream)
    }

    /// Sends one message unchanged.
    pub fn send(&mut self, text: &str) {
        (self.write)(text);
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: &Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.send(&message.to_string());
    }

    /// Sends a request; returns its id.
    pub fn request(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.asked.insert(id.to_string(), method.to_owned());
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&message.to_string());
        id
    }

    /// Waits for the response to a request.
    pub fn answer(&mut self, id: u64) -> Result<Value, Value> {
        loop {
            if let Some(answer) = self.answers.remove(&id.to_string()) {
                return answer;
            }
            assert!(self.read(), "the connection ended before the answer");
        }
    }

    /// Sends a request; returns its response.
    pub fn try_call(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Makes a request that must not fail.
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        self.try_call(method, params)
            .unwrap_or_else(|error| panic!("{method} {params} failed: {error}"))
    }

    /// Makes a request that must fail.
    pub fn refused(&mut self, method: &str, params: &Value) -> Value {
        match self.try_call(method, params) {
            Ok(result) => panic!("{method} {params} was answered with {result}"),
            Err(error) => error,
        }
    }

    /// Runs the handshake.
    pub fn greet(&mut self) -> Value {
        let info = json!({ "name": "test-editor", "version": "1" });
        self.call(
            "initialize",
            &json!({ "protocolVersion": 1, "clientInfo": info, "clientCapabilities": {} }),
        )
    }

    /// Runs the handshake of version 2.
    pub fn greet_v2(&mut self) -> Value {
        self.is_v2 = true;
        let info = json!({ "name": "test-editor", "version": "1" });
        self.call(
            "initialize",
            &json!({ "protocolVersion": 2, "info": info, "capabilities": {} }),
        )
    }

    /// Opens a new session; returns its id.
    pub fn open(&mut self, daemon: &Daemon) -> String {
        let params = json!({ "cwd": daemon.place.work(), "mcpServers": [] });
        let made = self.call("session/new", &params);
        made["sessionId"]
            .as_str()
            .expect("a session has an id")
            .to_owned()
    }

    /// Sends a prompt request; returns its id.
    pub fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let block = json!({ "type": "text", "text": text });
        self.request(
            "session/prompt",
            &json!({ "sessionId": session, "prompt": [block] }),
        )
    }

    /// Runs a turn to its end; returns the agent's text, and the response.
    pub fn turn(&mut self, session: &str, text: &str) -> (String, Value) {
        self.inbox.clear();
        let id = self.prompt(session, text);
        let end = self.answer(id).expect("the turn ends well");
        (self.said(), end)
    }

    /// Removes all queued messages; returns the agent's text in them.
    pub fn said(&mut self) -> String {
        self.chunks("agent_message_chunk")
    }

    /// Removes all queued messages; returns the text of their chunks of this kind.
    pub fn chunks(&mut self, kind: &str) -> String {
        let texts = self.inbox.drain(..).filter_map(|message| {
            let update = &message["params"]["update"];
            (update["sessionUpdate"] == kind)
                .then(|| update["content"]["text"].as_str().unwrap_or("").to_owned())
        });
        texts.collect()
    }

    /// Removes and returns all queued messages.
    pub fn take(&mut self) -> Vec<Value> {
        self.inbox.drain(..).collect()
    }

    /// Removes and returns messages, up to and including the first match.
    pub fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut taken = Vec::new();
        loop {
            while let Some(message) = self.inbox.pop_front() {
                let found = fits(&message);
                taken.push(message);
                if found {
                    return taken;
                }
            }
            assert!(self.read(), "the connection ended: {taken:#?}");
        }
    }

    /// Discards messages up to the first of a method; returns that one.
    pub fn wait_for(&mut self, method: &str) -> Value {
        self.until(|message| message["method"] == method)
            .pop()
            .expect("it came")
    }

    /// Discards messages until the agent has sent all of `text`.
    pub fn wait_for_text(&mut self, text: &str) {
        self.until(|message| {
            let update = &message["params"]["update"];
            let said = update["content"]["text"].as_str().unwrap_or_default();
            update["sessionUpdate"] == "agent_message_chunk" && said.contains(text)
        });
    }

    /// Responds to the daemon's requests by `serve`, until the response to request `id` arrives. Returns all queued
    /// messages, and that response.
    pub fn serve(
        &mut self,
        id: u64,
        mut serve: impl FnMut(&Value) -> Value,
    ) -> (Vec<Value>, Result<Value, Value>) {
        let mut taken = Vec::new();
        loop {
            while let Some(message) = self.inbox.pop_front() {
                if message.get("id").is_some() {
                    let result = serve(&message);
                    self.respond(&message, &result);
                }
                taken.push(message);
            }
            if let Some(answer) = self.answers.remove(&id.to_string()) {
                return (taken, answer);
            }
            assert!(self.read(), "the connection ended: {taken:#?}");
        }
    }

    /// Responds to a request of the daemon.
    pub fn respond(&mut self, question: &Value, result: &Value) {
        let message = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
        self.send(&message.to_string());
    }

    /// Responds to a permission request with its first option of this kind.
    pub fn pick(&mut self, question: &Value, kind: &str) {
        self.respond(question, &picked(question, kind));
    }

    /// Reads until the connection ends.
    pub fn drain(&mut self) {
        while self.read() {}
    }

    /// Reads one message; returns `false` if the connection has ended.
    fn check(&self, message: &Value, answers: Option<&str>) {
        if self.is_v2 {
            acp_schema::check_v2(message, answers);
        } else {
            acp_schema::check(message, answers);
        }
    }

    fn read(&mut self) -> bool {
        let text = match self.incoming.recv_timeout(PATIENCE) {
            Ok(text) => {
                if let Some(then) = self.then.take() {
                    self.incoming = then;
                }
                text
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => return false,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("waited in vain; unread: {:#?}", self.inbox),
        };
        let message: Value = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("the daemon sent no JSON: {error}: {text}"));
        let id = message["id"].to_string();
        if message.get("method").is_some() {
            self.check(&message, None);
            self.inbox.push_back(message);
            return true;
        }
        let method = self.asked.remove(&id);
        self.check(&message, method.as_deref());
        let answer = match message.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(message["result"].clone()),
        };
        assert!(
            method.is_some() || message["id"].is_null(),
            "it was never asked, or is answered twice: {message}"
        );
        self.answers.insert(id, answer);
        true
    }
}

/// Builds the response to a permission request that chooses its first option of this kind.
pub fn picked(question: &Value, kind: &str) -> Value {
    let options = question["params"]["options"].as_array();
    let option = options.and_then(|options| options.iter().find(|option| option["kind"] == kind));
    let id = &option.expect("it is offered")["optionId"];
    json!({ "outcome": { "outcome": "selected", "optionId": id } })
}
