//! One agent process that many threads share: each thread has its own session in it.
//!
//! In: lines from the process's stdout, commands from each thread, threads that join and leave, time. Out: lines for
//! the process's stdin, and for each thread the events that a separate agent would send it. Owns: one
//! [`AgentConnection`] for each thread, the sender of each request, and the owner of each session. Never: shows a
//! thread another thread's session, or ends the process for one thread while others still need it.
//!
//! Messages pass through unchanged. Each connection counts its requests from a separate range ([`Seat`]). So an id
//! identifies its connection in both directions, also in `elicitation/create`. The agent's ids are unique in the
//! process already. Two things must be shared. The handshake runs once, and later connections get its result. New
//! sessions are opened one at a time: until the response, an unknown session is the one being opened.
//!
//! If the agent does not answer such a request in time, no thread owns the session that it may still open. No other thread can have a new session
//! until then, so the process accepts no new thread from then on.
//!
//! If a thread leaves before the agent has ended its turn, unwanted work still runs in the process. From then on the
//! process accepts no new thread. The other threads are asked to unload it as soon as they are idle
//! ([`AgentEvent::Retiring`]). The process ends when the last thread has left.

mod departed;
mod incoming;
mod outgoing;
mod seat;
mod subagents;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use self::departed::DepartedSessions;
pub use self::seat::Seat;
use super::connection::{AgentCommand, AgentConnection, AgentEvent, Start};
use crate::time::{Instant, Now, earliest};
use crate::wire::{self, Line, RpcError};

/// Threads that one shared agent process serves in its life. Then the next process is started. With this limit, a
/// request's id, which has the thread's number above its own 32 bits, is exact in a double.
const SHARED_SESSIONS: u32 = 1 << 20;

/// The seat for requests that belong to no thread; never assigned to a thread.
const NOBODY: Seat = Seat(0);

/// An output for a thread.
#[derive(Debug, Clone, PartialEq)]
pub enum SeatEvent {
    /// Events of the agent.
    Events(Vec<AgentEvent>),
    /// The thread has left, and no event follows; the process may continue to run.
    Left,
}

/// The kind of an unanswered request, for requests that this module must track.
#[derive(Debug, Clone, PartialEq)]
enum Sent {
    /// `session/new` or `session/fork`.
    Open,
    /// `session/load` or `session/resume`.
    Reopen(String),
    Prompt,
    Close,
    Authenticate,
}

/// The state of a thread in the process.
#[derive(Debug)]
struct SeatState {
    connection: AgentConnection,
    sent: BTreeMap<u64, Sent>,
    session: Option<String>,
    /// Whether the connection has failed.
    failed: bool,
    /// Whether the connection may have uncollected events.
    has_events: bool,
}

/// A thread that has left while some of its requests are unanswered.
#[derive(Debug)]
struct DepartingSeat {
    owed: BTreeSet<u64>,
    until: Instant,
}

/// The state of the handshake.
#[derive(Debug)]
enum Handshake {
    Unasked,
    /// The request's id, and the requests of other connections that wait for the answer.
    Asked(u64, Vec<(Seat, u64)>),
    /// The result, unchanged.
    Known(Result<String, RpcError>),
}

/// The client side of ACP for one process with many sessions.
#[derive(Debug)]
pub struct SharedAgent {
    seats: BTreeMap<Seat, SeatState>,
    next_seat: u32,
    leaving: BTreeMap<Seat, DepartingSeat>,
    /// How long a departed thread waits for unanswered requests.
    grace: Duration,
    handshake: Handshake,
    /// Whether the agent supports `session/close`.
    closes: bool,
    /// The `session/new` or `session/fork` in flight, and its sender; no thread, if the sender has given it up.
    opening: Option<(u64, Seat)>,
    /// The requests queued behind it.
    to_open: VecDeque<(Seat, u64, Vec<u8>)>,
    sessions: BTreeMap<String, Seat>,
    /// The sessions of subagents, and the threads whose agents have announced them.
    subagents: BTreeMap<String, Seat>,
    /// Sessions of threads that have left, and those that threads have given up.
    departed: DepartedSessions,
    /// The agent's unanswered requests: the id as the agent wrote it, and the receiving thread.
    calls: BTreeSet<(String, Seat)>,
    /// Elicitations with a URL; the notification that ends one names neither session nor request.
    elicitations: VecDeque<(String, Seat)>,
    /// Lines to a connection that replace lines of the agent.
    replies: VecDeque<(Seat, Vec<u8>)>,
    own_ids: u64,
    retired: bool,
    /// Whether a thread knows that the agent writes lines that are not clean.
    has_noted_flaw: bool,
    has_events: Vec<Seat>,
    seat_events: VecDeque<(Seat, SeatEvent)>,
    writes: Vec<u8>,
}

impl SharedAgent {
    /// Creates the state for a process that was just started. After a thread leaves, its unanswered requests get
    /// `grace` to finish.
    pub fn new(grace: Duration) -> Self {
        Self {
            seats: BTreeMap::new(),
            next_seat: 1,
            leaving: BTreeMap::new(),
            grace,
            handshake: Handshake::Unasked,
            closes: false,
            opening: None,
            to_open: VecDeque::new(),
            sessions: BTreeMap::new(),
            subagents: BTreeMap::new(),
            departed: DepartedSessions::default(),
            calls: BTreeSet::new(),
            elicitations: VecDeque::new(),
            replies: VecDeque::new(),
            own_ids: NOBODY.first_id(),
            retired: false,
            has_noted_flaw: false,
            has_events: Vec::new(),
            seat_events: VecDeque::new(),
            writes: Vec::new(),
        }
    }

    /// Adds a thread and opens its session. The caller must check that the process still [accepts](Self::is_retired)
    /// threads.
    pub fn join(&mut self, start: Start, now: Now) -> Seat {
        let seat = Seat(self.next_seat);
        self.next_seat += 1;
        let state = SeatState {
            connection: AgentConnection::with_ids(start, seat.first_id(), now),
            sent: BTreeMap::new(),
            session: None,
            failed: false,
            has_events: false,
        };
        self.seats.insert(seat, state);
        if seat.0 >= SHARED_SESSIONS {
            self.retire();
        }
        self.collect(seat);
        self.reply(now);
        seat
    }

    /// Carries out a command of a thread.
    pub fn handle_command(&mut self, seat: Seat, command: AgentCommand, now: Now) {
        if let Some(state) = self.seats.get_mut(&seat) {
            state.connection.handle_command(command, now);
            self.collect(seat);
            self.reply(now);
        }
    }

    /// Handles one line of the agent's stdout.
    pub fn handle_line(&mut self, line: &Line<'_>, now: Now) {
        self.route(line, now);
        self.reply(now);
    }

    /// Removes a thread: closes its session, if the agent supports that, and answers the agent's requests to it.
    /// [`SeatEvent::Left`] follows when the agent has ended the session's work, or after the grace period.
    pub fn leave(&mut self, seat: Seat, now: Now) {
        let Some(state) = self.seats.get_mut(&seat) else {
            return;
        };
        // A failed handshake fails for later threads, too, and another attempt does not replace a missing sign-in.
        let useless = state.connection.waits_for_sign_in || (state.failed && !self.handshake.is_good());
        if state.has_turn() {
            // Closing a session also ends its turn, but not every agent can close a session.
            state.connection.handle_command(AgentCommand::Cancel, now);
        }
        state.connection.handle_command(AgentCommand::Close, now);
        self.collect(seat);
        let Some(state) = self.seats.remove(&seat) else {
            return;
        };
        self.to_open.retain(|(whose, ..)| *whose != seat);
        self.elicitations.retain(|(_, whose)| *whose != seat);
        self.refuse_calls(seat);
        self.depart_subagents(seat);
        for session in state.session.into_iter().chain(self.sessions_of(seat)) {
            self.depart(&session, seat);
        }
        let owed = |sent: &Sent| !matches!(sent, Sent::Authenticate);
        let owed: BTreeSet<u64> = state
            .sent
            .iter()
            .filter(|(_, sent)| owed(sent))
            .map(|(id, _)| *id)
            .collect();
        if useless {
            self.retire();
        }
        if owed.is_empty() {
            self.seat_events.push_back((seat, SeatEvent::Left));
        } else {
            let until = now.mono + self.grace;
            self.leaving.insert(seat, DepartingSeat { owed, until });
        }
        self.reply(now);
    }

    /// Expires requests and departed threads whose time is over.
    pub fn handle_timeout(&mut self, now: Now) {
        let due: Vec<Seat> = self
            .seats
            .iter()
            .filter(|(_, s)| s.connection.poll_timeout().is_some_and(|at| at <= now.mono))
            .map(|(seat, _)| *seat)
            .collect();
        for seat in due {
            if let Some(state) = self.seats.get_mut(&seat) {
                state.connection.handle_timeout(now);
                self.collect(seat);
            }
        }
        self.disown_opening();
        let late = |leaving: &DepartingSeat| leaving.until <= now.mono;
        let over: Vec<Seat> = self
            .leaving
            .iter()
            .filter(|(_, leaving)| late(leaving))
            .map(|(seat, _)| *seat)
            .collect();
        for seat in over {
            self.leaving.remove(&seat);
            self.seat_events.push_back((seat, SeatEvent::Left));
            // The departed thread's work still runs in the process.
            self.retire();
        }
        self.reply(now);
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout) at the latest.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let of_seats = self.seats.values().filter_map(|s| s.connection.poll_timeout());
        let of_leaving = self.leaving.values().map(|leaving| leaving.until);
        earliest(of_seats.min(), of_leaving.min())
    }

    /// Returns the next output for a thread, oldest first.
    pub fn poll_event(&mut self) -> Option<(Seat, SeatEvent)> {
        for seat in std::mem::take(&mut self.has_events) {
            self.collect(seat);
        }
        self.seat_events.pop_front()
    }

    /// Returns the bytes to write to the agent's stdin: always whole lines.
    pub fn take_writes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.writes)
    }

    /// Returns whether the process accepts no new threads.
    pub fn is_retired(&self) -> bool {
        self.retired
    }

    /// Returns whether no thread needs the process. Threads that are leaving do not count.
    pub fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    fn retire(&mut self) {
        if !std::mem::replace(&mut self.retired, true) {
            for seat in self.seats.keys().copied().collect::<Vec<_>>() {
                self.push_events(seat, vec![AgentEvent::Retiring]);
            }
        }
    }

    /// Passes a line to a connection.
    fn handle_seat_line(&mut self, seat: Seat, line: &Line<'_>, now: Now) {
        if let Some(state) = self.seats.get_mut(&seat) {
            state.connection.handle_line(line, now);
            self.collect(seat);
        }
    }

    /// Passes the queued replies to their connections, until none are left.
    fn reply(&mut self, now: Now) {
        while let Some((seat, line)) = self.replies.pop_front() {
            self.handle_seat_line(seat, &Line::Whole(&line), now);
        }
    }

    /// Collects the output and the events of a connection.
    fn collect(&mut self, seat: Seat) {
        let Some(state) = self.seats.get_mut(&seat) else {
            return;
        };
        state.has_events = false;
        let writes = state.connection.take_writes();
        let mut events = state.connection.take_events();
        for event in &mut events {
            self.note_subagent(seat, event);
        }
        let Some(state) = self.seats.get_mut(&seat) else {
            return;
        };
        for event in &events {
            match event {
                AgentEvent::Failed(_) => state.failed = true,
                AgentEvent::Opened(opened) => state.session = Some(opened.session_id.clone()),
                _ => {}
            }
        }
        // A thread may become idle with any of these events.
        let idle = |event: &AgentEvent| {
            matches!(
                event,
                AgentEvent::PromptEnded { .. } | AgentEvent::Answered { .. } | AgentEvent::Opened(_)
            )
        };
        if self.retired && events.iter().any(idle) {
            events.push(AgentEvent::Retiring);
        }
        for line in writes.split_inclusive(|byte| *byte == b'\n') {
            self.outgoing(seat, line);
        }
        if !events.is_empty() {
            self.push_events(seat, events);
        }
    }

    fn push_events(&mut self, seat: Seat, mut events: Vec<AgentEvent>) {
        match self.seat_events.back_mut() {
            Some((last, SeatEvent::Events(earlier))) if *last == seat => earlier.append(&mut events),
            _ => self.seat_events.push_back((seat, SeatEvent::Events(events))),
        }
    }

    fn sessions_of(&self, seat: Seat) -> Vec<String> {
        let of_seat = self.sessions.iter().filter(|(_, whose)| **whose == seat);
        of_seat.map(|(session, _)| session.clone()).collect()
    }

    /// Remembers the session that the thread had, so that its late updates are not recorded in another thread.
    fn depart(&mut self, session: &str, seat: Seat) {
        self.sessions.remove(session);
        self.departed.add(session, seat);
    }

    fn belongs_to(&mut self, session: String, seat: Seat) {
        self.departed.remove(&session);
        self.sessions.insert(session, seat);
    }

    /// Rejects the agent's requests that the departed thread can no longer answer.
    fn refuse_calls(&mut self, seat: Seat) {
        let calls = std::mem::take(&mut self.calls).into_iter();
        let (theirs, others): (BTreeSet<_>, BTreeSet<_>) = calls.partition(|(_, whose)| *whose == seat);
        self.calls = others;
        for (id, _) in theirs {
            self.refuse(&id, &RpcError::new(CANCELLED, "the session's thread released it"));
        }
    }

    fn refuse(&mut self, id: &str, error: &RpcError) {
        wire::error_response(&mut self.writes, id, error);
        self.writes.push(b'\n');
    }

    /// Closes a session that no thread waited for when it was opened.
    fn close_orphan(&mut self, session: &str) {
        if self.closes {
            let id = self.own_ids;
            self.own_ids += 1;
            wire::request(&mut self.writes, id, "session/close", |params| {
                params.put("sessionId", session);
            });
            self.writes.push(b'\n');
        }
    }
}

/// ACP's error code for a cancelled request.
const CANCELLED: i64 = -32800;

impl Handshake {
    fn is_good(&self) -> bool {
        matches!(self, Self::Known(Ok(_)))
    }
}
