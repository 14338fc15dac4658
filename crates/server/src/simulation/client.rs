//! A client of the app protocol. It exchanges plain text, follows the protocol's rules, and records all messages.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acpd_log::{EventLog, Memory};
use acpd_model::{Seq, ThreadId};
use futures_util::FutureExt;
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::time::Instant;

use super::line::{Common, Line, Record};

/// One connection.
pub struct Client {
    line: Line<Seen>,
    last_id: u64,
}

/// The messages of a connection, and the state that follows from them.
pub struct Seen {
    pub common: Common,
    truth: Truth,
    /// Requests that wait for their responses.
    pub pending: BTreeMap<u64, Request>,
    /// All subscriptions.
    pub streams: Vec<Stream>,
    /// The index of the latest stream of each subscribed thread.
    pub current: BTreeMap<String, usize>,
    /// The ids of open requests.
    pub questions: Vec<String>,
}

/// A request without a response.
pub struct Request {
    pub method: &'static str,
    pub thread: Option<String>,
    pub after: Seq,
    /// Whether the thread's log was already deleted when the request was sent.
    is_about_deleted: bool,
}

/// The events of one subscription.
pub struct Stream {
    pub thread: String,
    pub base: Seq,
    pub events: Vec<(Seq, String)>,
}

impl Stream {
    /// Returns the client's cursor.
    pub fn last(&self) -> Seq {
        self.events.last().map_or(self.base, |(seq, _)| *seq)
    }
}

/// The stored events and the clock, against which a client checks its messages.
#[derive(Debug, Clone)]
pub struct Truth {
    pub memory: Arc<Memory>,
    pub began: Instant,
    deleted: Arc<Mutex<BTreeMap<ThreadId, Seq>>>,
}

impl Truth {
    /// Starts with an empty log.
    pub fn new() -> Self {
        Self {
            memory: Arc::new(Memory::new()),
            began: Instant::now(),
            deleted: Arc::default(),
        }
    }

    /// Records that the log of a thread is deleted now.
    pub fn delete(&self, thread: ThreadId) {
        if let Some(last) = self.last_seq(thread) {
            self.deleted().insert(thread, last);
        }
    }

    /// Returns whether the log of a thread was deleted.
    pub fn is_deleted(&self, thread: ThreadId) -> bool {
        self.deleted().contains_key(&thread)
    }

    /// Returns the last event of a thread, even if it was deleted.
    fn last_seq(&self, thread: ThreadId) -> Option<Seq> {
        let stored = self.memory.last_seq(thread).now_or_never()?;
        stored.ok().or_else(|| self.deleted().get(&thread).copied())
    }

    /// Returns the last events of deleted threads.
    pub fn deleted(&self) -> MutexGuard<'_, BTreeMap<ThreadId, Seq>> {
        self.deleted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    /// Performs the handshake on the client's end of a connection.
    pub async fn connect(io: DuplexStream, truth: Truth) -> Self {
        let began = truth.began;
        let seen = Seen {
            common: Common::default(),
            truth,
            pending: BTreeMap::new(),
            streams: Vec::new(),
            current: BTreeMap::new(),
            questions: Vec::new(),
        };
        let mut client = Self {
            line: Line::new(io, seen, began),
            last_id: 0,
        };
        let hello = json!({
            "clientInfo": { "name": "sim", "version": "1" },
            "capabilities": { "approvals": true },
        });
        client.request("initialize", None, hello).await;
        client
            .line(&json!({ "jsonrpc": "2.0", "method": "initialized" }).to_string())
            .await;
        client
    }

    /// Returns the recorded state.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.line.record()
    }

    /// Sends a request.
    pub async fn request(&mut self, method: &'static str, thread: Option<&str>, mut params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        if let Some(thread) = thread {
            params["threadId"] = thread.into();
        }
        let request = Request {
            method,
            thread: thread.map(str::to_owned),
            after: params["after"].as_u64().unwrap_or_default(),
            is_about_deleted: false,
        };
        self.seen().sends(id, request);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.line(&message.to_string()).await;
        id
    }

    /// Responds to a permission request.
    pub async fn answer(&mut self, question: &str, yes: bool) {
        let answer = json!({ "requestId": question, "approved": yes });
        self.request("item/approve", None, answer).await;
    }

    /// Sends a line, which may be invalid.
    pub async fn line(&mut self, line: &str) {
        self.line.send(line).await;
    }

    /// Returns whether the client reads.
    pub fn is_reading(&self) -> bool {
        self.line.is_reading()
    }

    /// Stops or resumes reading.
    pub fn read(&self, reads: bool) {
        self.line.read(reads);
    }
}

impl Record for Seen {
    fn handle(&mut self, line: &str) {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        let params = &message["params"];
        match (message["method"].as_str(), message["id"].as_u64()) {
            (None, Some(id)) => self.response(id, &message),
            (None, None) => {
                if message["error"].is_null() {
                    self.break_rule(format!("neither request nor response: {line}"));
                }
            }
            (Some(method), _) => {
                if method.ends_with("/requestApproval") && !message["id"].is_null() {
                    let question = params["requestId"].as_str().unwrap_or_default().to_owned();
                    self.questions.push(question);
                }
                if let (Some(thread), Some(seq)) = (params["threadId"].as_str(), params["seq"].as_u64()) {
                    let is_asked_again = !message["id"].is_null();
                    self.event(thread, method, seq, is_asked_again, line);
                    self.is_stored(thread, seq);
                }
            }
        }
    }

    fn common(&mut self) -> &mut Common {
        &mut self.common
    }
}

impl Seen {
    fn break_rule(&mut self, fault: String) {
        self.common.break_rule(fault);
    }

    fn sends(&mut self, id: u64, request: Request) {
        let thread = request.thread.as_deref().and_then(|thread| thread.parse().ok());
        let is_about_deleted = thread.is_some_and(|thread| self.truth.is_deleted(thread));
        let request = Request {
            is_about_deleted,
            ..request
        };
        self.pending.insert(id, request);
    }

    fn response(&mut self, id: u64, message: &Value) {
        let Some(request) = self.pending.remove(&id) else {
            return self.break_rule(format!("a response without a request: {message}"));
        };
        if !message["error"].is_null() {
            return;
        }
        let Some(thread) = request.thread else {
            return;
        };
        if request.is_about_deleted && request.method != "thread/unsubscribe" {
            self.break_rule(format!(
                "a request about the deleted {thread} succeeded: {message}"
            ));
        }
        match request.method {
            "thread/resume" => {
                self.follow(thread, request.after);
            }
            "thread/fork" => {
                let fork = &message["result"]["thread"];
                match (fork["id"].as_str(), fork["latestSeq"].as_u64()) {
                    (Some(id), Some(last)) => self.follow(id.to_owned(), last),
                    _ => self.break_rule(format!("a fork without a thread: {message}")),
                }
            }
            "thread/unsubscribe" => drop(self.current.remove(&thread)),
            _ => {}
        }
    }

    fn event(&mut self, thread: &str, method: &str, seq: Seq, may_be_old: bool, line: &str) {
        if method == "thread/started" && !self.current.contains_key(thread) {
            self.follow(thread.to_owned(), seq - 1);
        }
        let stream = self.current.get(thread).and_then(|at| self.streams.get_mut(*at));
        let Some(stream) = stream else {
            return self.break_rule(format!("an event of a thread without a subscription: {line}"));
        };
        match seq > stream.last() {
            true => stream.events.push((seq, line.to_owned())),
            false if may_be_old => {}
            false => {
                let last = stream.last();
                self.break_rule(format!("an event after event {last}: {line}"));
            }
        }
        if method == "thread/deleted" {
            self.current.remove(thread);
        }
    }

    /// Begins a subscription after an event.
    fn follow(&mut self, thread: String, base: Seq) {
        self.current.insert(thread.clone(), self.streams.len());
        self.streams.push(Stream {
            thread,
            base,
            events: Vec::new(),
        });
    }

    /// Checks that an event was stored before it was sent.
    fn is_stored(&mut self, thread: &str, seq: Seq) {
        let thread_id = thread.parse().ok();
        let stored = thread_id.and_then(|thread| self.truth.last_seq(thread));
        if stored.is_none_or(|last| last < seq) {
            self.break_rule(format!("event {seq} of {thread} came before it was stored"));
        }
    }
}
