//! Routes the messages of the process to the connections that own them.
//!
//! A response belongs to the connection whose number is in its id. A request or a notification belongs to the session
//! that it names, which can be one of a subagent; without a session, to that of the request or the elicitation that it names. A message for a session
//! whose thread has left is dropped or rejected. A notification that names nothing goes to all connections. The rest
//! (invalid lines, requests and sessions without an owner) is recorded once: by the oldest thread that has a turn
//! running, else by the oldest thread. Its connection also rejects such requests.

use acpd_model::json;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{CANCELLED, Handshake, Seat, SeatState, Sent, SharedAgent};
use crate::agent::bounds::is_name;
use crate::agent::not_found;
use crate::time::Now;
use crate::wire::{Flaw, Found, Line, Mended, Message, RpcError, Text, Unreadable, number, read_unclean};

/// URL elicitations of one shared agent process whose completion may still arrive.
const ELICITATIONS: usize = 256;
/// The prefix of nearly all lines; the session's id follows.
const USUAL: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":""#;

/// JSON-RPC's error code for params that refer to something unknown.
const INVALID_PARAMS: i64 = -32602;

/// The members of a message's params that identify its owner.
#[derive(Deserialize, Default)]
#[serde(default)]
struct MessageTarget<'a> {
    #[serde(borrow, rename = "sessionId")]
    session: Option<Text<'a>>,
    #[serde(borrow, rename = "requestId")]
    request: Option<&'a RawValue>,
    #[serde(borrow, rename = "elicitationId")]
    elicitation: Option<Text<'a>>,
}

/// The owner of a message.
enum Owner {
    Of(Seat),
    /// A thread that has left.
    Departed,
    /// The message names an unknown session.
    Unknown,
    /// The message names nothing.
    Nobody,
}

impl SeatState {
    pub(super) fn has_turn(&self) -> bool {
        self.sent.values().any(|sent| *sent == Sent::Prompt)
    }
}

impl SharedAgent {
    pub(super) fn route(&mut self, line: &Line<'_>, now: Now) {
        let unreadable = match *line {
            Line::Whole(bytes) => {
                let is_clean = std::str::from_utf8(bytes).is_ok_and(|text| self.route_text(text, line, now));
                if is_clean {
                    return;
                }
                match read_unclean(bytes) {
                    Ok(Mended { texts, flaw }) => {
                        self.note_flaw(flaw, bytes);
                        for text in &texts {
                            self.route_text(text, &Line::Whole(text.as_bytes()), now);
                        }
                        return;
                    }
                    Err(unreadable) => unreadable,
                }
            }
            Line::TooLong { head, tail, .. } => Unreadable::too_long(head, tail),
        };
        self.route_unreadable(&unreadable, line, now);
    }

    /// Passes the message of a line on. Returns whether the text is a message.
    fn route_text(&mut self, text: &str, line: &Line<'_>, now: Now) -> bool {
        if let Some(seat) = usual_session(text).and_then(|session| self.seat_of(session)) {
            self.update(seat, line, now);
            return true;
        }
        match Message::parse(text) {
            Ok(Message::Response { id, result }) => self.answer(id.get(), result, line, now),
            // Their connection refuses such names, and no more is kept of them here.
            Ok(Message::Request { id, method, .. }) if !is_name(&method) || !is_name(id.get()) => {
                if is_name(id.get()) && self.recorder().is_none() {
                    self.refuse(id.get(), &not_found(&method));
                } else {
                    self.record(line, now);
                }
            }
            Ok(Message::Notification { method, .. }) if !is_name(&method) => self.record(line, now),
            Ok(Message::Request { id, method, params }) => self.called(id, &method, params, line, now),
            Ok(Message::Notification { method, params }) => self.notified(&method, params, line, now),
            Err(_) => return false,
        }
        true
    }

    /// Passes a line without a message to the connection whose request it answers, which settles it, or to the one that
    /// records it.
    fn route_unreadable(&mut self, unreadable: &Unreadable, line: &Line<'_>, now: Now) {
        match &unreadable.found {
            Found::Answer { id } => self.answer(id, Err(unreadable.error()), line, now),
            Found::Request { id } if self.recorder().is_none() => self.refuse(id, &unreadable.error()),
            _ => self.record(line, now),
        }
    }

    /// Reports a line that is not clean, once for the process.
    fn note_flaw(&mut self, flaw: Flaw, line: &[u8]) {
        if let Some(seat) = self.recorder().filter(|_| !self.has_noted_flaw)
            && let Some(state) = self.seats.get_mut(&seat)
        {
            self.has_noted_flaw = true;
            state.connection.note_flaw(flaw, line);
            self.collect(seat);
        }
    }

    /// Handles nearly all lines. The events of the connection are collected later, when the caller polls for them.
    fn update(&mut self, seat: Seat, line: &Line<'_>, now: Now) {
        if let Some(state) = self.seats.get_mut(&seat) {
            state.connection.handle_line(line, now);
            if !std::mem::replace(&mut state.has_events, true) {
                self.has_events.push(seat);
            }
        }
    }

    fn answer(&mut self, id: &str, result: Result<&RawValue, RpcError>, line: &Line<'_>, now: Now) {
        let seat = number(id).and_then(|id| Some((id, Seat::of(id)?)));
        let Some((id, seat)) = seat.filter(|(_, seat)| seat.0 < self.next_seat) else {
            return self.record(line, now);
        };
        let result = result.map(RawValue::get);
        if let Handshake::Asked(asked, waiting) = &mut self.handshake
            && *asked == id
        {
            let waiting = std::mem::take(waiting);
            return self.greeted(seat, result, waiting, line, now);
        }
        let opened = self.opening.take_if(|(opening, _)| *opening == id);
        let is_orphan = opened.is_some_and(|(_, by)| !self.seats.contains_key(&by));
        let orphan = result.as_ref().ok().filter(|_| is_orphan);
        let orphan = orphan.and_then(|result| session_of(result));
        if let Some(session) = orphan.filter(|session| self.seat_of(session).is_none()) {
            self.close_orphan(&session);
            self.depart(&session, seat);
        }
        if self.seats.contains_key(&seat) {
            self.answer_seat(seat, id, result, line, now);
        } else {
            self.settle_departed(seat, id);
        }
        self.open_next();
    }

    fn greeted(
        &mut self,
        seat: Seat,
        result: Result<&str, RpcError>,
        waiting: Vec<(Seat, u64)>,
        line: &Line<'_>,
        now: Now,
    ) {
        if let Ok(handshake) = result {
            let handshake = acpd_model::RawJson::trusted(handshake);
            self.closes = super::super::Capabilities::read(&handshake).close;
        } else {
            self.retire();
        }
        self.handshake_finished(result.map(str::to_owned), waiting);
        self.handle_seat_line(seat, line, now);
    }

    fn answer_seat(
        &mut self,
        seat: Seat,
        id: u64,
        result: Result<&str, RpcError>,
        line: &Line<'_>,
        now: Now,
    ) {
        let Some(state) = self.seats.get_mut(&seat) else {
            return;
        };
        let sent = state.sent.remove(&id);
        let is_new = state.session.is_none() && !self.sessions.values().any(|whose| *whose == seat);
        match (sent, result) {
            (Some(Sent::Open), Ok(result)) if is_new => {
                if let Some(session) = session_of(result) {
                    if self.seat_of(&session).is_some() {
                        let error = RpcError::new(
                            INVALID_PARAMS,
                            format!("its answer names the session {session:?}, which another thread has"),
                        );
                        return self.reply_error(seat, id, &error);
                    }
                    self.belongs_to(session, seat);
                }
            }
            (Some(Sent::Reopen(session)), Err(_)) => {
                // The connection may already try another method for the session, or another thread may own it.
                let again = state
                    .sent
                    .values()
                    .any(|sent| *sent == Sent::Reopen(session.clone()));
                if !again && self.sessions.get(&session) == Some(&seat) {
                    self.sessions.remove(&session);
                }
            }
            (Some(Sent::Authenticate), Ok(_)) => {
                self.handle_seat_line(seat, line, now);
                return self.signed_in(seat, now);
            }
            _ => {}
        }
        self.handle_seat_line(seat, line, now);
    }

    /// A sign-in on one connection applies to the whole process, so all connections retry.
    fn signed_in(&mut self, by: Seat, now: Now) {
        for seat in self.seats.keys().copied().collect::<Vec<_>>() {
            if let Some(state) = self.seats.get_mut(&seat).filter(|_| seat != by) {
                state.connection.signed_in(now);
                self.collect(seat);
            }
        }
    }

    /// Records an answer that a departed thread still waited for.
    fn settle_departed(&mut self, seat: Seat, id: u64) {
        if let Some(leaving) = self.leaving.get_mut(&seat) {
            leaving.owed.remove(&id);
            if leaving.owed.is_empty() {
                self.leaving.remove(&seat);
                self.seat_events.push_back((seat, super::SeatEvent::Left));
            }
        }
    }

    fn called(&mut self, id: &RawValue, method: &str, params: Option<&RawValue>, line: &Line<'_>, now: Now) {
        let about = MessageTarget::of(params);
        self.find_subagent(about.session.as_deref());
        let owner = match self.owner(&about) {
            Owner::Unknown => self.recorder_with_session().ok_or_else(|| unknown(&about)),
            // Without an owner, the elicitation must not appear in an arbitrary thread.
            Owner::Nobody if method == "elicitation/create" => Err(RpcError::new(
                INVALID_PARAMS,
                "elicitation/create: it names neither a session nor a request that is open",
            )),
            // An arbitrary thread's editor must not get the request either.
            Owner::Nobody if method.starts_with('_') && self.seats.len() > 1 => Err(not_found(method)),
            Owner::Nobody => self.recorder().ok_or_else(|| unknown(&about)),
            Owner::Departed => Err(RpcError::new(CANCELLED, "the session's thread released it")),
            Owner::Of(seat) => Ok(seat),
        };
        let seat = match owner {
            Ok(seat) => seat,
            Err(error) => return self.refuse(id.get(), &error),
        };
        if let Some(elicitation) = about.elicitation.filter(|id| is_name(id)) {
            if self.elicitations.len() >= ELICITATIONS {
                self.elicitations.pop_front();
            }
            self.elicitations.push_back((elicitation.into_string(), seat));
        }
        self.calls.insert((id.get().to_owned(), seat));
        self.handle_seat_line(seat, line, now);
    }

    fn notified(&mut self, method: &str, params: Option<&RawValue>, line: &Line<'_>, now: Now) {
        let about = MessageTarget::of(params);
        if method == "$/cancel_request" {
            let id = about.request.map(RawValue::get).unwrap_or_default();
            let call = self.calls.iter().find(|(open, _)| open == id);
            return match call.map(|(_, seat)| *seat) {
                Some(seat) => self.handle_seat_line(seat, line, now),
                None => self.record(line, now),
            };
        }
        self.find_subagent(about.session.as_deref());
        match self.owner(&about) {
            Owner::Of(seat) => self.handle_seat_line(seat, line, now),
            Owner::Departed => {}
            Owner::Unknown => {
                if let Some(seat) = self.recorder_with_session() {
                    self.handle_seat_line(seat, line, now);
                }
            }
            // ACP requires a session id here, so the message is invalid.
            Owner::Nobody if method.starts_with("session/") => self.record(line, now),
            Owner::Nobody => {
                for seat in self.seats.keys().copied().collect::<Vec<_>>() {
                    self.handle_seat_line(seat, line, now);
                }
            }
        }
        // An elicitation ends only once.
        if let Some(over) = about.elicitation {
            self.elicitations.retain(|(known, _)| **known != *over);
        }
    }

    fn owner(&self, about: &MessageTarget<'_>) -> Owner {
        if let Some(session) = about.session.as_deref() {
            if let Some(seat) = self.seat_of(session) {
                return Owner::Of(seat);
            }
            if self.departed.contains(session) {
                return Owner::Departed;
            }
            return match self.opening {
                Some((_, seat)) if self.seats.contains_key(&seat) => Owner::Of(seat),
                Some(_) => Owner::Departed,
                None => Owner::Unknown,
            };
        }
        let request = about.request.and_then(|id| number(id.get()));
        let asked_for = request.and_then(Seat::of);
        let about_question = || {
            let id = about.elicitation.as_deref()?;
            let known = self.elicitations.iter().find(|(known, _)| known == id);
            known.map(|(_, seat)| *seat)
        };
        match asked_for.or_else(about_question) {
            Some(seat) if self.seats.contains_key(&seat) => Owner::Of(seat),
            Some(seat) if seat != super::NOBODY && seat.0 < self.next_seat => Owner::Departed,
            _ => Owner::Nobody,
        }
    }

    pub(super) fn seat_of(&self, session: &str) -> Option<Seat> {
        let seat = self.sessions.get(session).or_else(|| self.subagents.get(session));
        seat.copied()
    }

    /// Passes a message without an owner to one thread, which records it.
    fn record(&mut self, line: &Line<'_>, now: Now) {
        if let Some(seat) = self.recorder() {
            self.handle_seat_line(seat, line, now);
        }
    }

    fn recorder(&self) -> Option<Seat> {
        let mut seats = self.seats.iter();
        let working = self.seats.iter().find(|(_, state)| state.has_turn());
        working.or_else(|| seats.next()).map(|(seat, _)| *seat)
    }

    /// Returns the thread that records messages of unknown sessions. It must have an open session; otherwise it would
    /// treat the unknown session as its own.
    fn recorder_with_session(&self) -> Option<Seat> {
        let open = |(_, state): &(&Seat, &SeatState)| state.session.is_some();
        let working = self.seats.iter().filter(open).find(|(_, s)| s.has_turn());
        working
            .or_else(|| self.seats.iter().find(open))
            .map(|(seat, _)| *seat)
    }
}

impl<'a> MessageTarget<'a> {
    fn of(params: Option<&'a RawValue>) -> Self {
        params
            .and_then(|params| serde_json::from_str(params.get()).ok())
            .unwrap_or_default()
    }
}

fn unknown(about: &MessageTarget<'_>) -> RpcError {
    match about.session.as_deref() {
        Some(session) => RpcError::new(INVALID_PARAMS, format!("unknown session {session:?}")),
        None => RpcError::new(-32601, "no client is attached"),
    }
}

/// Returns the session id of a line in the usual form, without parsing.
fn usual_session(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(USUAL)?;
    let end = memchr::memchr2(b'"', b'\\', rest.as_bytes())?;
    (rest.as_bytes()[end] == b'"').then(|| &rest[..end])
}

/// Returns the id of the opened session.
fn session_of(result: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct New {
        session_id: String,
    }
    let New { session_id } = json::read(result).ok()?;
    is_name(&session_id).then_some(session_id)
}
