//! One agent process that many threads share: each has a session of its own in it.
//!
//! In: lines from the process's stdout, commands from each thread, who comes and who leaves, time. Out: lines for its
//! stdin, and for each thread what an agent of its own would have told it. Owns: one [`AgentConnection`] for each
//! thread, who asked for what, and whose session is whose. Never: lets a thread hear of another one's session, or
//! ends the process for one thread while others still need it.
//!
//! Nothing is rewritten on its way. Each connection counts its requests from a number of its own ([`Seat`]), so
//! that an id names its connection in either direction, in `elicitation/create` too; the agent's ids are its own
//! already. What has to be shared is the handshake, which is made once and repeated to later connections, and the
//! opening of new sessions, one at a time: until the answer, an unknown session is the one being opened.
//!
//! A thread that leaves while the agent still owes it the end of its turn leaves a process in which something runs
//! that nobody wants. No new thread comes into it, and the others are asked to let go of it as soon as they are
//! idle ([`AgentEvent::Retiring`]); the last one that leaves ends it.

mod incoming;
mod outgoing;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use acpd_model::limits::{DEPARTED_SESSIONS, SHARED_SESSIONS};

use super::connection::{AgentCommand, AgentConnection, AgentEvent, Start};
use crate::time::{Instant, Now, earliest};
use crate::wire::{self, Line, RpcError};

/// A thread's place in a shared process, counted from 1. It is the upper half of the ids of that thread's requests, so
/// that no number of the agent's own making is easily taken for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat(u32);

/// Bits of a request's id that count; the ones above are the seat's number. Together they fit a double.
const COUNTING_BITS: u32 = 32;

/// Requests that no thread made have the ids of this seat, which is never given away.
const NOBODY: Seat = Seat(0);

impl Seat {
    fn first_id(self) -> u64 {
        u64::from(self.0) << COUNTING_BITS
    }

    fn of(id: u64) -> Option<Self> {
        u32::try_from(id >> COUNTING_BITS).ok().map(Self)
    }
}

/// What a thread is to hear.
#[derive(Debug, Clone, PartialEq)]
pub enum SeatEvent {
    /// What the agent did.
    Events(Vec<AgentEvent>),
    /// The thread has left, and nothing follows; the process may live on.
    Left,
}

/// A request that the process has and has not answered, if more than its connection must know.
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

/// A thread that is here.
#[derive(Debug)]
struct SeatState {
    connection: AgentConnection,
    sent: BTreeMap<u64, Sent>,
    session: Option<String>,
    /// Whether the connection has given up.
    failed: bool,
    /// Whether it may have events that were not collected.
    has_events: bool,
}

/// A thread that has gone and is still owed something.
#[derive(Debug)]
struct DepartingSeat {
    owed: BTreeSet<u64>,
    until: Instant,
}

/// Where the handshake is.
#[derive(Debug)]
enum Handshake {
    Unasked,
    /// Under this id, and with these requests of other connections waiting for the answer.
    Asked(u64, Vec<(Seat, u64)>),
    /// The result as it came.
    Known(Result<String, RpcError>),
}

/// The client's side of ACP with one process that has many sessions.
#[derive(Debug)]
pub struct SharedAgent {
    seats: BTreeMap<Seat, SeatState>,
    next_seat: u32,
    leaving: BTreeMap<Seat, DepartingSeat>,
    /// How long one that leaves waits for what it is owed.
    grace: Duration,
    handshake: Handshake,
    /// Whether the agent has `session/close`.
    closes: bool,
    /// The `session/new` or `session/fork` that the process has, and whose it is.
    opening: Option<(u64, Seat)>,
    /// Those that wait for that.
    to_open: VecDeque<(Seat, u64, Vec<u8>)>,
    sessions: BTreeMap<String, Seat>,
    /// Sessions of threads that have left, the newest last.
    departed: VecDeque<String>,
    /// The agent's requests that are not answered: its id as it wrote it, and who was asked.
    calls: BTreeSet<(String, Seat)>,
    /// Questions with an address, which end by a notification that names neither session nor request.
    elicitations: VecDeque<(String, Seat)>,
    /// Lines that we say to a connection in the agent's place.
    replies: VecDeque<(Seat, Vec<u8>)>,
    own_ids: u64,
    retired: bool,
    has_events: Vec<Seat>,
    seat_events: VecDeque<(Seat, SeatEvent)>,
    writes: Vec<u8>,
}

impl SharedAgent {
    /// For a process that was just started. One that leaves is given `grace` to be told of its end.
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
            departed: VecDeque::new(),
            calls: BTreeSet::new(),
            elicitations: VecDeque::new(),
            replies: VecDeque::new(),
            own_ids: NOBODY.first_id(),
            retired: false,
            has_events: Vec::new(),
            seat_events: VecDeque::new(),
            writes: Vec::new(),
        }
    }

    /// A thread comes: its session is opened. To be asked of a process that [takes](Self::is_retired) threads.
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

    /// Does what a thread wants.
    pub fn handle_command(&mut self, seat: Seat, command: AgentCommand, now: Now) {
        if let Some(state) = self.seats.get_mut(&seat) {
            state.connection.handle_command(command, now);
            self.collect(seat);
            self.reply(now);
        }
    }

    /// Takes one line of the agent's stdout.
    pub fn handle_line(&mut self, line: &Line<'_>, now: Now) {
        self.route(line, now);
        self.reply(now);
    }

    /// A thread goes: its session is closed, if the agent can do that, and what it was asked is answered.
    /// [`SeatEvent::Left`] follows, once the agent has ended what runs in the session, or when the grace is over.
    pub fn leave(&mut self, seat: Seat, now: Now) {
        let Some(state) = self.seats.get_mut(&seat) else {
            return;
        };
        // A handshake that failed once fails for others, too; one that was refused for want of a sign-in is not
        // made good by asking again.
        let useless = state.connection.waits_for_sign_in || (state.failed && !self.handshake.is_good());
        if state.has_turn() {
            // To close the session ends its turn as well, but not every agent can close one.
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
        for session in state.session.into_iter().chain(self.sessions_of(seat)) {
            self.depart(session);
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

    /// Gives up on what has taken too long.
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
            // Something runs on that nobody wants.
            self.retire();
        }
        self.reply(now);
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) at the latest.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let of_seats = self.seats.values().filter_map(|s| s.connection.poll_timeout());
        let of_leaving = self.leaving.values().map(|leaving| leaving.until);
        earliest(of_seats.min(), of_leaving.min())
    }

    /// What a thread is to be told, the oldest first.
    pub fn poll_event(&mut self) -> Option<(Seat, SeatEvent)> {
        for seat in std::mem::take(&mut self.has_events) {
            self.collect(seat);
        }
        self.seat_events.pop_front()
    }

    /// What is to be written to the agent: whole lines.
    pub fn take_writes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.writes)
    }

    /// Whether no new thread is to come in.
    pub fn is_retired(&self) -> bool {
        self.retired
    }

    /// Whether no thread needs the process any longer. One that is leaving does not.
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

    /// Lets a connection hear a line.
    fn handle_seat_line(&mut self, seat: Seat, line: &Line<'_>, now: Now) {
        if let Some(state) = self.seats.get_mut(&seat) {
            state.connection.handle_line(line, now);
            self.collect(seat);
        }
    }

    /// Says to connections what was to be said in the agent's place, until they want no more.
    fn reply(&mut self, now: Now) {
        while let Some((seat, line)) = self.replies.pop_front() {
            self.handle_seat_line(seat, &Line::Whole(&line), now);
        }
    }

    /// Takes from a connection what it wants written and told.
    fn collect(&mut self, seat: Seat) {
        let Some(state) = self.seats.get_mut(&seat) else {
            return;
        };
        state.has_events = false;
        let writes = state.connection.take_writes();
        let mut events = state.connection.take_events();
        for event in &events {
            match event {
                AgentEvent::Failed(_) => state.failed = true,
                AgentEvent::Opened(opened) => state.session = Some(opened.session_id.clone()),
                _ => {}
            }
        }
        // A thread may be idle after any of these.
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

    /// What a session that nobody has any more still says is not recorded as another one's.
    fn depart(&mut self, session: String) {
        self.sessions.remove(&session);
        if self.departed.contains(&session) {
            return;
        }
        if self.departed.len() >= DEPARTED_SESSIONS {
            self.departed.pop_front();
        }
        self.departed.push_back(session);
    }

    fn belongs_to(&mut self, session: String, seat: Seat) {
        self.departed.retain(|departed| *departed != session);
        self.sessions.insert(session, seat);
    }

    /// The agent waits for answers that the thread will not give any more.
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

    /// Closes a session whose thread left before it was opened.
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

/// ACP's error code for a request that is given up.
const CANCELLED: i64 = -32800;

impl Handshake {
    fn is_good(&self) -> bool {
        matches!(self, Self::Known(Ok(_)))
    }
}
