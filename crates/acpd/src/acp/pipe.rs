//! The state that lets an editor keep its sessions while the daemon restarts.
//!
//! In: lines of the editor, messages of the daemon, and that the connection is lost or back. Out: the same lines and
//! messages, unchanged. After a loss, also the handshake, a resume of each session from the last event that the editor
//! has seen, and the prompts without a response. The outcome of any other request in flight is unknown, and its error
//! response states that. A state machine: no clock, no files, no connection.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use acpd_proto::wire::{Found, read_unclean_message};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::message::{ConnectionHeader, Mark, Message, Named, PendingPrompt};

/// An effect that the caller carries out.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// A line for the editor.
    ToEditor(String),
    /// A message for the daemon.
    ToDaemon(String),
    /// A diagnostic for the user.
    Say(String),
    /// An error that ends the pipe.
    Fail(String),
}

/// What the editor's user asked this connection to open.
#[derive(Debug, Clone)]
pub struct Purpose {
    /// The agent's name.
    pub agent: Option<String>,
    /// The editor's working directory.
    pub cwd: Option<PathBuf>,
    /// The thread that the first new session opens.
    pub thread: Option<String>,
}

/// The state machine between one editor and the daemon.
#[derive(Debug)]
pub struct Pipe {
    purpose: Purpose,
    /// Whether the thread of `purpose` was opened.
    opened: bool,
    phase: Phase,
    /// The editor's `initialize`, as received.
    hello: Option<String>,
    /// The version of ACP that the daemon answered it with.
    version: Option<u64>,
    /// The editor's requests without a response, by id.
    pending: BTreeMap<String, Pending>,
    /// The daemon's requests that the editor has not answered, with their sessions.
    asked: BTreeMap<String, Option<String>>,
    sessions: BTreeMap<String, Session>,
    /// The pipe's own resume requests, by id, with the session that each resumes.
    resuming: BTreeMap<String, String>,
    own_requests: u64,
    out: VecDeque<Output>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// There is no connection.
    Lost,
    /// There is a new connection, and the pipe repeats the handshake.
    Greeting,
    /// The pipe resumes the sessions.
    Resuming,
    /// Messages pass in both directions.
    Attached,
}

#[derive(Debug)]
struct Pending {
    method: String,
    session: Option<String>,
    line: String,
    /// The daemon's name for a prompt.
    name: Option<String>,
    /// Whether the editor received a message of this request's session meanwhile.
    shown: bool,
}

#[derive(Debug, Default)]
struct Session {
    /// Whether the editor knows that the session is open.
    known: bool,
    /// The last event that the editor has seen.
    seq: u64,
    /// Hashes of the messages that the editor received after `seq`.
    since: VecDeque<u64>,
    /// After a loss: hashes of the messages that the daemon will repeat, and the editor has already seen.
    skip: VecDeque<u64>,
    /// Whether the daemon has sent the whole backlog since the resume.
    live: bool,
    /// Whether the editor has cancelled the session's prompts.
    cancelled: bool,
    /// Whether the editor knows that the agent has nothing to do, as in version 2.
    idle: bool,
    /// Whether the editor's session was opened before that of the agent.
    early: bool,
    /// The turn of the editor's last prompt that was answered when it became part of the conversation.
    own: Option<String>,
}

/// Requests that are safe to repeat.
const REPEATABLE: [&str; 5] = [
    "initialize",
    "session/list",
    "session/load",
    "session/resume",
    "session/close",
];

/// The version of ACP in which sessions have a state.
const VERSION_2: u64 = 2;

/// The id of the pipe's own `initialize`.
const HELLO: &str = "\"acpd-pipe-hello\"";

impl Pipe {
    /// Creates a pipe without a connection.
    pub fn new(purpose: Purpose) -> Self {
        Self {
            purpose,
            opened: false,
            phase: Phase::Lost,
            hello: None,
            version: None,
            pending: BTreeMap::new(),
            asked: BTreeMap::new(),
            sessions: BTreeMap::new(),
            resuming: BTreeMap::new(),
            own_requests: 0,
            out: VecDeque::new(),
        }
    }

    /// Returns the next effect.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// Returns whether the pipe accepts lines of the editor now.
    pub fn takes_lines(&self) -> bool {
        self.phase == Phase::Attached
    }

    /// Returns whether the editor waits for a response.
    pub fn is_awaited(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Handles a new connection: sends the header and repeats the handshake.
    pub fn attached(&mut self) {
        let prompts = self.pending.iter().filter_map(|(id, pending)| {
            Some(PendingPrompt {
                id: serde_json::from_str(id).ok()?,
                thread: pending.session.as_deref()?,
                name: pending.name.as_deref()?,
            })
        });
        let sessions = self.sessions.iter();
        let early = sessions.clone().filter(|(_, session)| session.early);
        let own = sessions
            .clone()
            .filter_map(|(name, session)| Some((name.as_str(), session.own.as_deref()?)));
        let header = ConnectionHeader {
            agent: self.purpose.agent.as_deref(),
            cwd: self.purpose.cwd.as_deref(),
            thread: self.purpose.thread.as_deref(),
            opened: self.opened,
            marks: true,
            after: sessions
                .map(|(name, session)| (name.as_str(), session.seq))
                .collect(),
            early: early.map(|(name, _)| name.as_str()).collect(),
            own: own.collect(),
            prompts: prompts.collect(),
        };
        // A header of strings and numbers always serializes.
        let header = serde_json::to_string(&header).unwrap_or_default();
        self.send_to_daemon(format!("{{\"acpd\":{header}}}"));
        self.phase = Phase::Attached;
        let is_greeted = !self
            .pending
            .values()
            .any(|pending| pending.method == "initialize");
        match self.hello.clone() {
            Some(hello) if is_greeted => {
                self.phase = Phase::Greeting;
                self.send_to_daemon(repeated(&hello, self.version));
            }
            _ => self.go_on(),
        }
    }

    /// Handles the loss of the connection.
    pub fn lost(&mut self) {
        self.phase = Phase::Lost;
        self.resuming.clear();
        self.sessions.retain(|_, session| session.known);
        for session in self.sessions.values_mut() {
            let mut shown = std::mem::take(&mut session.since);
            shown.append(&mut session.skip);
            session.skip = shown;
            session.live = false;
        }
        let sessions = &self.sessions;
        let is_unknown = |_: &String, pending: &mut Pending| {
            let is_open = pending
                .session
                .as_ref()
                .is_some_and(|session| sessions.contains_key(session));
            let is_known = match pending.name {
                Some(_) => is_open,
                None => REPEATABLE.contains(&&*pending.method) && !pending.shown,
            };
            !is_known
        };
        let unknown: Vec<_> = self.pending.extract_if(.., is_unknown).collect();
        for (id, Pending { method, .. }) in unknown {
            let message = format!(
                "the connection to the daemon was lost while it worked on {method}: it may have been done or not"
            );
            self.refuse(&id, &message);
        }
    }

    /// Fails all pending requests: there will be no further connection.
    pub fn give_up(&mut self, reason: &str) {
        for (id, _) in std::mem::take(&mut self.pending) {
            self.refuse(&id, reason);
        }
    }

    /// Handles a line of the editor. A line that is not clean is sent as the messages in it.
    pub fn handle_editor_message(&mut self, line: String) {
        if Message::read(&line).is_none() {
            match read_unclean_message(&line) {
                Ok(mended) => {
                    return mended
                        .texts
                        .into_iter()
                        .for_each(|text| self.editor_message(text));
                }
                Err(unreadable) => {
                    // The daemon settles the request that this answers.
                    if let Found::Answer { id } = &unreadable.found {
                        self.asked.remove(id);
                    }
                }
            }
        }
        self.editor_message(line);
    }

    fn editor_message(&mut self, line: String) {
        if let Some(message) = Message::read(&line) {
            let session = message.named().session_id;
            match (message.key(), message.method.as_deref()) {
                (Some(id), Some(method)) => {
                    if method == "initialize" && self.hello.is_none() {
                        self.hello = Some(line.clone());
                    }
                    if method == "session/prompt"
                        && let Some(session) = session.as_ref().and_then(|name| self.sessions.get_mut(name))
                    {
                        // The cancellation does not concern this prompt.
                        session.cancelled = false;
                    }
                    let pending = Pending {
                        method: method.to_owned(),
                        session,
                        line: line.clone(),
                        name: None,
                        shown: false,
                    };
                    self.pending.insert(id.to_owned(), pending);
                }
                (Some(id), None) => drop(self.asked.remove(id)),
                (None, Some("session/cancel")) => {
                    let is_awaited = self.awaits_prompt(session.as_deref());
                    if let Some(session) = session.and_then(|session| self.sessions.get_mut(&session)) {
                        // Later, it would cancel other work.
                        session.cancelled = is_awaited || !session.idle;
                    }
                }
                _ => {}
            }
        }
        self.send_to_daemon(line);
    }

    /// Handles a message of the daemon.
    pub fn handle_daemon_message(&mut self, text: String) {
        let Some(message) = Message::read(&text) else {
            return self.send_to_editor(text);
        };
        match (message.key(), message.method.as_deref()) {
            (None, Some("_acpd/mark")) => {
                if let Some(mark) = message.params() {
                    self.mark(mark);
                }
                return;
            }
            (None, Some("_acpd/prompt")) => {
                if let Some(Named { id, name }) = message.params()
                    && let Some(pending) = self.pending.get_mut(id.get())
                {
                    pending.name = Some(name);
                }
                return;
            }
            (None, Some("$/cancel_request")) => {
                let request = message.named().request_id;
                drop(request.map(|request| self.asked.remove(request.get())));
            }
            (Some(id), Some(_)) => {
                // The editor already shows this request.
                if self.asked.insert(id.to_owned(), message.session()).is_some() {
                    return;
                }
            }
            (None, Some(_)) => {
                let session = message.session();
                if session.is_some_and(|session| self.was_shown(&session, &text, &message)) {
                    return;
                }
            }
            (Some(id), None) => {
                if self.is_own(id, &message) {
                    return;
                }
                self.answered(id, &message);
            }
            (None, None) => {}
        }
        self.send_to_editor(text);
    }

    /// Returns whether the editor has already seen this message of the session. Records it as seen.
    fn was_shown(&mut self, name: &str, text: &str, message: &Message<'_>) -> bool {
        for pending in self.pending.values_mut() {
            pending.shown |= pending.session.as_deref() == Some(name);
        }
        let Some(session) = self.sessions.get_mut(name) else {
            return false;
        };
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let hash = hasher.finish();
        session.since.push_back(hash);
        let seen = session.skip.front() == Some(&hash);
        if seen {
            session.skip.pop_front();
        } else if self.version == Some(VERSION_2)
            && let Some(state) = message.state(name, text)
        {
            session.idle = state == "idle";
            session.cancelled &= !session.idle;
        }
        seen
    }

    fn answered(&mut self, id: &str, message: &Message<'_>) {
        let Some(pending) = self.pending.remove(id) else {
            return;
        };
        let names = message.answered();
        match (pending.method.as_str(), names) {
            ("initialize", None) => self.hello = None,
            ("initialize", Some(_)) => self.version = self.version.or(message.version()),
            ("session/new" | "session/fork", Some(names)) => {
                self.opened |= pending.method == "session/new";
                if let Some(session) = names.session_id {
                    let is_v2 = self.version == Some(VERSION_2);
                    let session = self.sessions.entry(session).or_default();
                    (session.known, session.idle) = (true, is_v2);
                }
            }
            ("session/load" | "session/resume", Some(_)) => {
                if let Some(session) = pending.session {
                    let session = self.sessions.entry(session).or_default();
                    session.known = true;
                    // The editor has the modes in this response.
                    session.early = false;
                }
            }
            ("session/close" | "session/delete", Some(_)) => {
                if let Some(session) = &pending.session {
                    self.sessions.remove(session);
                    self.asked.retain(|_, of| of.as_ref() != Some(session));
                }
            }
            ("session/prompt", result) => {
                // In version 2, the work of a prompt begins with its response.
                let begins = result.is_some() && self.version == Some(VERSION_2);
                let others = begins || self.awaits_prompt(pending.session.as_deref());
                let session = pending.session.and_then(|name| self.sessions.get_mut(&name));
                if let Some(session) = session {
                    session.cancelled &= others;
                    session.own = message.turn().or(session.own.take());
                }
            }
            _ => {}
        }
    }

    /// Returns whether a prompt of the session has no response.
    fn awaits_prompt(&self, session: Option<&str>) -> bool {
        let is_one =
            |pending: &Pending| pending.method == "session/prompt" && pending.session.as_deref() == session;
        self.pending.values().any(is_one)
    }

    /// Handles the response to one of the pipe's own requests; returns whether it is one.
    fn is_own(&mut self, id: &str, message: &Message<'_>) -> bool {
        let failure = || {
            let reason = message.reason();
            reason.unwrap_or_else(|| "it does not say why".to_owned())
        };
        if id == HELLO {
            let agreed = self.version.zip(message.version());
            let message = match (message.answered(), agreed) {
                (Some(_), Some((before, now))) if before != now => format!(
                    "the daemon now speaks version {now} of ACP with this editor, and spoke version {before} before: start the \
                     session again"
                ),
                (Some(_), _) => {
                    self.resume();
                    return true;
                }
                (None, _) => format!("the daemon does not resume the connection: {}", failure()),
            };
            self.out.push_back(Output::Fail(message));
            return true;
        }
        let Some(name) = self.resuming.remove(id) else {
            return false;
        };
        if message.answered().is_none() {
            let message = format!("the session {name} is lost: {}", failure());
            self.sessions.remove(&name);
            let of_it = |_: &String, pending: &mut Pending| pending.session.as_ref() == Some(&name);
            let ended: Vec<_> = self.pending.extract_if(.., of_it).collect();
            for (id, _) in ended {
                self.refuse(&id, &message);
            }
            self.out.push_back(Output::Say(message));
        }
        self.go_on();
        true
    }

    fn resume(&mut self) {
        self.phase = Phase::Resuming;
        let names: Vec<_> = self.sessions.keys().cloned().collect();
        for name in names {
            self.own_requests += 1;
            let id = format!("acpd-pipe-{}", self.own_requests);
            let params = json!({ "sessionId": name, "cwd": self.purpose.cwd, "mcpServers": [] });
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": "session/resume", "params": params });
            self.send_to_daemon(request.to_string());
            self.resuming.insert(format!("\"{id}\""), name);
        }
        self.go_on();
    }

    /// Repeats pending requests and cancellations, once all sessions are resumed.
    fn go_on(&mut self) {
        let is_there = self.resuming.is_empty() && self.sessions.values().all(|session| session.live);
        match self.phase {
            Phase::Resuming if is_there => self.phase = Phase::Attached,
            Phase::Attached => {}
            _ => return,
        }
        let again = self.pending.values().filter(|pending| pending.name.is_none());
        let lines: Vec<_> = again.map(|pending| pending.line.clone()).collect();
        let cancelled = self.sessions.iter().filter(|(_, session)| session.cancelled);
        let cancels: Vec<_> = cancelled
            .map(|(name, _)| {
                let params = json!({ "sessionId": name });
                json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }).to_string()
            })
            .collect();
        for text in lines.into_iter().chain(cancels) {
            self.send_to_daemon(text);
        }
    }

    fn mark(&mut self, mark: Mark) {
        let Mark {
            session_id,
            seq,
            open,
            live,
            early,
        } = mark;
        let session = self.sessions.entry(session_id.clone()).or_default();
        session.live |= live;
        session.early |= early;
        // What is only shown live belongs to no event, and the daemon does not repeat it.
        if seq >= session.seq {
            session.since.clear();
        }
        if seq > session.seq {
            session.seq = seq;
            session.skip.clear();
        }
        let Some(open) = open else {
            if self.phase == Phase::Resuming {
                self.go_on();
            }
            return;
        };
        // Another client has answered these requests meanwhile.
        let is_over = |id: &String, session: &mut Option<String>| {
            let id: Option<String> = serde_json::from_str(id).ok();
            session.as_ref() == Some(&session_id) && !id.is_some_and(|id| open.contains(&id))
        };
        let over: Vec<_> = self.asked.extract_if(.., is_over).collect();
        // As the daemon does: editors from before this notification may lose what comes behind an unknown method.
        let knows_it = self
            .hello
            .as_deref()
            .is_some_and(|hello| names_its_client(hello, self.version));
        for (id, _) in over.into_iter().filter(|_| knows_it) {
            self.send_to_editor(format!(
                r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{id}}}}}"#
            ));
        }
    }

    fn refuse(&mut self, id: &str, message: &str) {
        let message = Value::from(message);
        self.send_to_editor(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":{message},"data":{{"acpd":{{"code":"connection_lost"}}}}}}}}"#
        ));
    }

    fn send_to_editor(&mut self, text: String) {
        self.out.push_back(Output::ToEditor(text));
    }

    fn send_to_daemon(&mut self, text: String) {
        self.out.push_back(Output::ToDaemon(text));
    }
}

/// Returns `initialize` under the pipe's own id. It asks for the version that the editor speaks, if that is known: the daemon may have
/// another configuration than before.
fn repeated(hello: &str, version: Option<u64>) -> String {
    let mut message = members(hello);
    message.extend(RawValue::from_string(HELLO.to_owned()).map(|id| ("id".to_owned(), id)));
    if let (Some(version), Some(params)) = (version, message.get_mut("params")) {
        let mut changed = members(params.get());
        let version = RawValue::from_string(version.to_string()).ok();
        changed.extend(version.map(|version| ("protocolVersion".to_owned(), version)));
        // A map of JSON texts always serializes.
        if let Ok(changed) = serde_json::value::to_raw_value(&changed) {
            *params = changed;
        }
    }
    serde_json::to_string(&message).unwrap_or_default()
}

fn members(object: &str) -> BTreeMap<String, Box<RawValue>> {
    serde_json::from_str(object).unwrap_or_default()
}

/// Returns whether an editor says what it is in `initialize`. In version 2, that is in another member.
fn names_its_client(hello: &str, version: Option<u64>) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct InitializeParams {
        client_info: Option<Map<String, Value>>,
    }
    #[derive(Deserialize)]
    struct InitializeParams2 {
        info: Option<Map<String, Value>>,
    }
    let Some(hello) = Message::read(hello) else {
        return false;
    };
    if version == Some(VERSION_2) {
        let params: Option<InitializeParams2> = hello.params();
        return params.is_some_and(|params| params.info.is_some());
    }
    let params: Option<InitializeParams> = hello.params();
    params.is_some_and(|params| params.client_info.is_some())
}

#[cfg(test)]
mod tests;
