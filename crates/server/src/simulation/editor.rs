//! An editor: a client of ACP. It speaks only text, and has one session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, split};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// One connection.
pub struct Editor {
    seen: Arc<Mutex<Seen>>,
    writer: WriteHalf<DuplexStream>,
    last_id: u64,
    valve: watch::Sender<bool>,
    _reading: AbortOnDropHandle<()>,
}

/// What came over a connection.
#[derive(Default)]
pub struct Seen {
    /// Each message, and the milliseconds from the start of the run until it came.
    pub messages: Vec<(u128, String)>,
    /// Requests that wait for their response, and whether each was cancelled.
    pub pending: BTreeMap<u64, (&'static str, bool)>,
    /// The session, once it is open.
    pub session: Option<String>,
    /// Open questions.
    pub questions: Vec<Value>,
    /// Whether the daemon has ended the connection.
    pub is_closed: bool,
    /// The first rule of the protocol that the daemon broke.
    pub fault: Option<String>,
}

impl Editor {
    /// Takes over the editor's end of a connection, and opens a session in `cwd`.
    pub async fn connect(io: DuplexStream, began: Instant, cwd: &str) -> Self {
        let (reader, writer) = split(io);
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (valve, open) = watch::channel(true);
        let reading = tokio::spawn(read(reader, open, Arc::clone(&seen), began));
        let mut editor = Self {
            seen,
            writer,
            last_id: 0,
            valve,
            _reading: AbortOnDropHandle::new(reading),
        };
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        editor.request("initialize", hello).await;
        let session = json!({ "cwd": cwd, "mcpServers": [] });
        editor.request("session/new", session).await;
        editor
    }

    /// Returns what came so far.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.seen)
    }

    /// Sends a prompt, unless one waits for its answer.
    pub async fn prompt(&mut self) {
        let session = {
            let seen = self.seen();
            let waits = seen
                .pending
                .values()
                .any(|(method, _)| *method == "session/prompt");
            seen.session.clone().filter(|_| !waits)
        };
        if let Some(session) = session {
            let prompt = json!([{ "type": "text", "text": "go" }]);
            let params = json!({ "sessionId": session, "prompt": prompt });
            self.request("session/prompt", params).await;
        }
    }

    /// Cancels the turn.
    pub async fn cancel(&mut self) {
        let session = {
            let mut seen = self.seen();
            for (method, is_cancelled) in seen.pending.values_mut() {
                *is_cancelled |= *method == "session/prompt";
            }
            seen.session.clone()
        };
        if let Some(session) = session {
            let params = json!({ "sessionId": session });
            self.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }))
                .await;
        }
    }

    /// Answers the newest open question.
    pub async fn answer(&mut self, option: usize) {
        let question = self.seen().questions.pop();
        if let Some(question) = question {
            let option = &question["params"]["options"][option]["optionId"];
            let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
            self.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": outcome }))
                .await;
        }
    }

    /// Stops or continues to read.
    pub fn read(&self, reads: bool) {
        self.valve.send_replace(reads);
    }

    /// Returns whether it reads.
    pub fn is_reading(&self) -> bool {
        *self.valve.borrow()
    }

    async fn request(&mut self, method: &'static str, params: Value) {
        self.last_id += 1;
        let id = self.last_id;
        self.seen().pending.insert(id, (method, false));
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
    }

    async fn send(&mut self, message: &Value) {
        let text = format!("{message}\n");
        let written = self.writer.write_all(text.as_bytes());
        match tokio::time::timeout(Duration::from_secs(1), written).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => self.seen().is_closed = true,
            Err(_) => self
                .seen()
                .break_rule(format!("the daemon does not read: {message}")),
        }
    }
}

async fn read(
    reader: ReadHalf<DuplexStream>,
    mut open: watch::Receiver<bool>,
    seen: Arc<Mutex<Seen>>,
    began: Instant,
) {
    let mut reader = BufReader::with_capacity(512, reader);
    while open.wait_for(|open| *open).await.is_ok() {
        let mut line = String::new();
        let read = reader.read_line(&mut line).await;
        // A connection may end within a line.
        if read.is_err() || !line.ends_with('\n') {
            lock(&seen).is_closed = true;
            return;
        }
        line.truncate(line.len() - 1);
        lock(&seen).handle(line, began);
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Seen {
    fn break_rule(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }

    fn handle(&mut self, line: String, began: Instant) {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        match (message["method"].as_str(), message["id"].as_u64()) {
            (None, Some(id)) => match self.pending.remove(&id) {
                None => self.break_rule(format!("a response without a request: {line}")),
                Some(("session/new", _)) => {
                    self.session = message["result"]["sessionId"].as_str().map(str::to_owned);
                }
                Some(_) => {}
            },
            (Some("session/request_permission"), _) => self.questions.push(message),
            (Some(_), _) => {
                let about = message["params"]["sessionId"].as_str();
                if about.is_some() && self.session.is_some() && about != self.session.as_deref() {
                    self.break_rule(format!("about another session: {line}"));
                }
            }
            (None, None) => self.break_rule(format!("neither request nor response: {line}")),
        }
        self.messages.push((began.elapsed().as_millis(), line));
    }
}
