//! One connection of a Codex client.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::collections::free_if_empty;
use acpd_model::event::ClientOrigin;
use acpd_model::json::well_formed;
use acpd_model::{ErrorCode, Failure, Millis, RequestId, Seq, ThreadId};
use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use super::encode::frames;
use super::frame::{Ask, Frame, FrameKind, Listed, ServerRequest};
use super::params;
use super::question::{Asked, NoAnswer, changes_of, read_answer, turn_of, write_question, write_resolved};
use super::session::{Session, Sessions};
use super::shown::Messages;
use super::write;
use crate::queue::Queue;
use crate::surface::contract::{
    self, ANSWER, ConnectionNotification, Delivery, Exchange, Gate, Lane, OpenRequest, Output, Phase,
    Profile, Source, Steps, Surface, UNKNOWN_METHOD,
};
use crate::surface::reply::Reply;
use crate::surface::request::{Permissions, Request, RequestKind};
use crate::thread::InterruptOptions;
use crate::time::Now;
use crate::wire::{Found, Message, Object, Unreadable, read_unclean_message};

/// A step of what a Codex client asks for.
pub(super) type Step = contract::Step<Peer>;

/// Largest number of entries of the thread list that a client has received.
const SHOWN_ENTRIES: usize = 1024;

/// What a client learns of the daemon.
#[derive(Debug, Clone, Default)]
pub struct Host {
    /// The home directory of the daemon's user.
    pub home: String,
    /// The agent of new threads whose client names none.
    pub default_agent: Option<String>,
}

/// The version of Codex whose protocol this surface speaks. Clients compare it with their own: they call an older server
/// out of date, and send it less.
const CODEX_VERSION: &str = "0.171.0";

/// What a request to the daemon is for if the client has sent none. No failure of it is shown.
pub(super) const OWN: &str = "this request";

/// One connection: reads messages, keeps the threads that the client follows, and writes responses.
#[derive(Debug)]
pub struct Peer {
    pub(super) exchange: Exchange<Self>,
    principal: String,
    pub(super) host: Host,
    client: String,
    opted_out: BTreeSet<String>,
    pub(super) sessions: Sessions,
    /// The thread that the client opened last.
    pub(super) current: Option<ThreadId>,
    /// The entries of the thread list that the client has received.
    shown_entries: BTreeMap<ThreadId, ShownEntry>,
    /// When the client was greeted.
    greeted_at: Millis,
    /// An empty list, whose memory is used again.
    messages: Messages,
    out: Queue<Output>,
}

/// What a client has received of a thread in the list.
#[derive(Debug, PartialEq)]
struct ShownEntry {
    name: Option<String>,
    archived: bool,
    status: &'static str,
}

impl Surface for Peer {
    type Frame = Frame;

    fn encode(_: Lane, source: Source<'_>) -> Vec<Frame> {
        frames(source)
    }

    fn seq(frame: &Frame) -> Seq {
        frame.seq
    }

    fn lane(&self) -> Lane {
        Lane::Codex
    }

    fn profile(&self) -> Profile {
        Profile {
            origin: ClientOrigin {
                principal: self.principal.clone(),
                client: self.client.clone(),
            },
            may_answer: self.may_answer(),
            sees_subscribers: false,
            abilities: None,
        }
    }

    fn gate(&mut self) -> &mut Gate {
        self.exchange.gate()
    }

    fn handle_message(&mut self, text: &str, now: Now) {
        let text = &*well_formed(text);
        match Message::parse(text) {
            Ok(Message::Request { id, method, params }) => self.request(id, &method, params, now),
            Ok(Message::Notification { .. }) => {}
            Ok(Message::Response { id, result }) => self.answered(id, result.ok()),
            Err(_) => match read_unclean_message(text) {
                Ok(mended) => mended
                    .texts
                    .iter()
                    .for_each(|text| self.handle_message(text, now)),
                Err(unreadable) => self.unreadable(&unreadable),
            },
        }
    }

    fn handle_reply(&mut self, call: u64, reply: Result<Reply, Failure>) {
        if let Some(then) = self.exchange.replied(call) {
            then(self, reply);
        }
    }

    fn handle_frames(&mut self, delivery: Delivery<'_, Frame>) {
        let Delivery {
            thread,
            frames,
            pending,
            ..
        } = delivery;
        self.out.reserve(frames.len());
        for frame in frames {
            let is_open = if let FrameKind::Asked(question) = &frame.kind {
                pending.is_open(frame.seq, question.request)
            } else {
                true
            };
            self.frame(thread, frame, is_open);
        }
    }

    fn handle_notification(&mut self, notice: ConnectionNotification<'_, Frame>) {
        match notice {
            ConnectionNotification::List(frames) => {
                for frame in frames {
                    if let FrameKind::Listed(listed) = &frame.kind {
                        self.listed(listed);
                    }
                }
            }
            ConnectionNotification::Log {
                thread,
                error: Some(error),
                ..
            } => {
                self.warn(
                    Some(thread),
                    &format!("The thread’s log cannot be written: {error}"),
                );
            }
            ConnectionNotification::Damaged { thread, lost, .. } => {
                let reason = &lost.reason;
                self.warn(
                    Some(thread),
                    &format!("A part of the thread cannot be read: {reason}"),
                );
            }
            ConnectionNotification::Log { .. } | ConnectionNotification::Subscribers { .. } => {}
        }
    }

    fn handle_closed(&mut self, thread: ThreadId, why: &Failure) {
        self.sessions.remove(&thread);
        // The last event of a deleted thread says so.
        if why.code != ErrorCode::NotFound {
            self.out.push(Output::End);
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.out.pop()
    }
}

impl Steps for Peer {
    fn refuse(&mut self, request: OpenRequest, failure: &Failure) {
        self.send(|out| write::error(out, request.id.get(), failure));
        self.exchange.end(request, Some(failure.code));
    }
}

impl Peer {
    /// Creates a connection of `principal`, before its handshake.
    pub fn new(principal: String, permissions: impl Into<Permissions>, host: Host, gate: Gate) -> Self {
        Self {
            exchange: Exchange::new(gate, permissions.into()),
            principal,
            host,
            client: String::new(),
            opted_out: BTreeSet::new(),
            sessions: Sessions::new(),
            current: None,
            shown_entries: BTreeMap::new(),
            greeted_at: 0,
            messages: Messages::new(),
            out: Queue::default(),
        }
    }

    fn may_answer(&self) -> bool {
        self.exchange.permissions().may(RequestKind::Answer)
    }

    pub(super) fn initialize(&mut self, request: OpenRequest, params: Option<&RawValue>, now: Millis) {
        let hello: params::Initialize = match params::read(params) {
            Ok(hello) => hello,
            Err(failure) => return self.refuse(request, &failure),
        };
        self.exchange.enter(Phase::Ready);
        self.greeted_at = now;
        self.client = hello.client_info.name.chars().take(200).collect();
        let capabilities = hello.capabilities.unwrap_or_default();
        self.opted_out = capabilities
            .opt_out_notification_methods
            .unwrap_or_default()
            .into_iter()
            .collect();
        let welcome = serde_json::json!({
            "userAgent": format!("acpd/{CODEX_VERSION} (acpd {})", env!("CARGO_PKG_VERSION")),
            "codexHome": self.host.home, "platformFamily": std::env::consts::FAMILY, "platformOs": std::env::consts::OS,
        });
        self.respond(request, &welcome);
        self.call(Request::WatchThreadList { on: true, only: None }, OWN, |_, _| {});
    }

    /// Takes a step of a request of the client.
    pub(super) fn take_step(&mut self, open: OpenRequest, Step { request, then }: Step) {
        let is_of_turn = matches!(request, Request::StartTurn(_) | Request::SteerTurn { .. });
        let turn_of = if is_of_turn { request.ordered_by() } else { None };
        if let Some(session) = turn_of.and_then(|thread| self.sessions.get_mut(&thread)) {
            session.starting += 1;
        }
        let method = open.method();
        self.call(request, method, move |peer, reply| {
            then(peer, open, reply);
            if let Some(thread) = turn_of {
                peer.turn_answered(thread);
            }
        });
    }

    /// Makes a request to the daemon, if the client may have it made for `what`.
    pub(super) fn call(
        &mut self,
        request: Request,
        what: &str,
        then: impl FnOnce(&mut Self, Result<Reply, Failure>) + Send + 'static,
    ) {
        let permissions = self.exchange.permissions();
        let permitted = permissions.check_scope(request.kind());
        match permitted.and_then(|()| permissions.check_role(request.role(), what)) {
            Ok(()) => {
                let output = self.exchange.call(request, then);
                self.out.push(output);
            }
            Err(failure) => then(self, Err(failure)),
        }
    }

    /// Records that a request for a turn has its response, and sends what was held back for it.
    pub(super) fn turn_answered(&mut self, thread: ThreadId) {
        let Some(session) = self.sessions.get_mut(&thread) else {
            return;
        };
        session.starting = session.starting.saturating_sub(1);
        self.send_held(thread);
    }

    /// Sends the frames that need not be held back any more.
    fn send_held(&mut self, thread: ThreadId) {
        let session = self.sessions.get_mut(&thread);
        for (frame, is_open) in session.map(Session::take_held).unwrap_or_default() {
            self.frame(thread, &frame, is_open);
        }
    }

    fn frame(&mut self, thread: ThreadId, frame: &Frame, is_open: bool) {
        let may_answer = self.may_answer();
        let Some(session) = self.sessions.get_mut(&thread) else {
            return;
        };
        if session.hold(frame, is_open) {
            return self.send_held(thread);
        }
        if matches!(frame.kind, FrameKind::Message) {
            return self.push(frame.method, frame.text.clone());
        }
        let mut messages = std::mem::take(&mut self.messages);
        session.shown.frame(thread, frame, &mut messages);
        match &frame.kind {
            FrameKind::Asked(question) if is_open && may_answer => {
                ask(session, thread, frame, question, &mut messages);
            }
            FrameKind::Answered(request, ..) => {
                if session.asked.remove(request).is_some() {
                    let mut out = Vec::new();
                    write_resolved(&mut out, thread, *request);
                    messages.push(("serverRequest/resolved", out.into()));
                }
                free_if_empty(&mut session.asked);
            }
            FrameKind::Settings => self.read_settings(thread),
            FrameKind::Message
            | FrameKind::Named(_)
            | FrameKind::TurnEnded
            | FrameKind::TextStarted(..)
            | FrameKind::Text(..)
            | FrameKind::TextEnded(_)
            | FrameKind::UserMessage(..)
            | FrameKind::Call(..)
            | FrameKind::CallEnded(..)
            | FrameKind::FileStarted(..)
            | FrameKind::FileEnded(..)
            | FrameKind::Terminal(..)
            | FrameKind::Output(..)
            | FrameKind::TerminalEnded(..)
            | FrameKind::Asked(_)
            | FrameKind::Listed(_) => {}
        }
        for (method, text) in messages.drain(..) {
            self.push(method, text);
        }
        self.messages = messages;
    }

    /// Notifies the client of a change in the thread list. A thread that it follows reports its changes itself.
    fn listed(&mut self, listed: &Listed) {
        let thread = listed.thread;
        let follows = self.sessions.contains_key(&thread);
        let Some(entry) = &listed.entry else {
            self.shown_entries.remove(&thread);
            if !follows {
                self.notify("thread/deleted", |params| {
                    params.put("threadId", &thread);
                });
            }
            return;
        };
        let shown = ShownEntry {
            name: entry.name.clone(),
            archived: entry.archived,
            status: entry.status,
        };
        let before = self.shown_entries.insert(thread, shown);
        if self.shown_entries.len() > SHOWN_ENTRIES {
            // Without it, the next change of that thread is sent in full.
            self.shown_entries.pop_first();
        }
        if before.is_none() && entry.created_at >= self.greeted_at {
            self.notify("thread/started", |params| {
                params.raw("thread", entry.thread.get());
            });
        }
        if follows {
            return;
        }
        if before.as_ref().is_none_or(|before| before.status != entry.status) {
            self.notify("thread/status/changed", |params| {
                params.put("threadId", &thread).raw("status", entry.status);
            });
        }
        if before.as_ref().is_none_or(|before| before.name != entry.name) {
            self.notify("thread/name/updated", |params| {
                params.put("threadId", &thread);
                params.maybe("threadName", entry.name.as_ref());
            });
        }
        if before.is_some_and(|before| before.archived != entry.archived) {
            let method = if entry.archived {
                "thread/archived"
            } else {
                "thread/unarchived"
            };
            self.notify(method, |params| {
                params.put("threadId", &thread);
            });
        }
    }

    /// Handles the client's answer to a question. An error decides nothing: others can still answer.
    fn answered(&mut self, id: &RawValue, result: Option<&RawValue>) {
        let Ok(request) = serde_json::from_str::<RequestId>(id.get()) else {
            return;
        };
        let session = self.sessions.get(&request.thread);
        let Some(asked) = session.and_then(|session| session.asked.get(&request)) else {
            return;
        };
        let Some(result) = result else { return };
        let given = match read_answer(&asked.form, result.get()) {
            Ok(given) => given,
            Err(NoAnswer::Malformed) => return,
            Err(NoAnswer::WrongField(field)) => {
                let message = format!("The answer does not fit the field {field:?}: please answer again.");
                return self.ask_again(request, &message);
            }
        };
        let turn = turn_of(asked);
        let answer = Request::Answer {
            request,
            answer: given.answer,
            scope: None,
        };
        // The role was checked when the question was sent.
        let open = self.exchange.adopt_answer();
        let output = self.exchange.call(answer, move |peer, reply| {
            let error = reply.err().map(|failure| failure.code);
            peer.exchange.end_answer(open, error);
        });
        self.out.push(output);
        if given.interrupts && turn.is_some() {
            let interrupt = Request::Interrupt {
                thread: request.thread,
                turn,
                options: InterruptOptions::default(),
            };
            self.call(interrupt, OWN, |_, _| {});
        }
    }

    /// Sends a question once more: the client has closed its form.
    fn ask_again(&mut self, request: RequestId, why: &str) {
        let session = self.sessions.get(&request.thread);
        let Some(asked) = session.and_then(|session| session.asked.get(&request)) else {
            return;
        };
        let again = asked.text.clone();
        self.warn(Some(request.thread), why);
        self.out.push(Output::Send(again));
    }

    /// Handles a message that cannot be read: asks the question that it answers again, or returns an error.
    fn unreadable(&mut self, unreadable: &Unreadable) {
        let failure = unreadable.failure();
        let question = match &unreadable.found {
            Found::Answer { id } => serde_json::from_str::<RequestId>(id).ok(),
            Found::Request { .. } | Found::Other => None,
        };
        if let Some(question) = question {
            self.exchange.count(ANSWER, &failure);
            let reason = &unreadable.reason;
            return self.ask_again(
                question,
                &format!("The answer cannot be read ({reason}): please answer again."),
            );
        }
        self.exchange.count(UNKNOWN_METHOD, &failure);
        self.send(|out| write::error(out, unreadable.request_id(), &failure));
    }

    /// Starts following a thread from the state that the client receives.
    pub(super) fn follow(&mut self, live: &crate::projection::Live) {
        self.current = Some(live.thread);
        self.sessions.insert(live.thread, Session::new(live));
    }

    /// Shows a warning to the user.
    pub(super) fn warn(&mut self, thread: Option<ThreadId>, message: &str) {
        self.notify("warning", |params| {
            params.put("threadId", &thread).put("message", message);
        });
    }

    /// Sends a notification, unless the client opted out of it.
    pub(super) fn notify(&mut self, method: &'static str, fill: impl FnOnce(&mut Object<'_>)) {
        let mut out = Vec::new();
        write::notification(&mut out, method, fill);
        self.push(method, out.into());
    }

    fn push(&mut self, method: &'static str, text: Bytes) {
        if !self.opted_out.contains(method) {
            self.out.push(Output::Send(text));
        }
    }

    pub(super) fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut out = Vec::new();
        write(&mut out);
        self.out.push(Output::Send(out.into()));
    }

    /// Responds to a request.
    pub(super) fn respond(&mut self, request: OpenRequest, result: &Value) {
        self.respond_with(request, |out| crate::wire::write_json(out, result));
    }

    /// Responds to a request with a result that `write` appends.
    pub(super) fn respond_with(&mut self, request: OpenRequest, write: impl FnOnce(&mut Vec<u8>)) {
        self.send(|out| write::response(out, request.id.get(), write));
        self.exchange.end(request, None);
    }
}

/// Sends a question, after the item that it is about.
fn ask(
    session: &mut Session,
    thread: ThreadId,
    frame: &Frame,
    question: &ServerRequest,
    messages: &mut Messages,
) {
    if session.asked.contains_key(&question.request) {
        return;
    }
    session.shown.before_question(thread, frame, messages);
    let shows_changes = match &question.ask {
        Ask::Permission {
            item: Some(item),
            subjects,
            call,
            ..
        } => {
            let changes = changes_of(subjects);
            session
                .shown
                .show_asked(thread, frame, *item, call, changes.as_deref(), messages)
        }
        Ask::Permission { item: None, .. } | Ask::Input { .. } => false,
    };
    let mut out = Vec::new();
    let (method, form) = write_question(
        &mut out,
        thread,
        frame.turn,
        frame.at,
        &session.agent,
        question,
        shows_changes,
    );
    let text = Bytes::from(out);
    messages.push((method, text.clone()));
    let asked = Asked {
        text,
        form,
        turn: frame.turn,
    };
    session.asked.insert(question.request, asked);
}
