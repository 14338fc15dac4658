//! Output of the connections: most lines go to the process unchanged.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Handshake, NOBODY, Seat, Sent, SharedAgent};
use crate::wire::{self, Message, RpcError};

/// JSON-RPC's error code for a request that is not allowed in the current state.
const INVALID_REQUEST: i64 = -32600;

impl SharedAgent {
    /// Writes one line of a connection to the process, queues it, or answers it in place of the agent.
    pub(super) fn outgoing(&mut self, seat: Seat, line: &[u8]) {
        let text = std::str::from_utf8(line).unwrap_or_default();
        match Message::parse(text) {
            Ok(Message::Request { id, method, params }) => {
                if let Ok(id) = id.get().parse() {
                    self.request(seat, id, &method, params, line);
                }
            }
            Ok(Message::Response { id, .. }) => {
                self.calls.remove(&(id.get().to_owned(), seat));
                self.writes.extend_from_slice(line);
            }
            Ok(Message::Notification { .. }) | Err(_) => self.writes.extend_from_slice(line),
        }
    }

    fn request(&mut self, seat: Seat, id: u64, method: &str, params: Option<&RawValue>, line: &[u8]) {
        let sent = match method {
            "initialize" => return self.initialize(seat, id, line),
            "session/new" | "session/fork" => {
                let state = self.seats.get(&seat);
                // The fork of an open session is not the thread's.
                if method == "session/new" || state.is_some_and(|state| state.session.is_none()) {
                    self.give_up_earlier(seat);
                }
                self.to_open.push_back((seat, id, line.to_owned()));
                return self.open_next();
            }
            "session/load" | "session/resume" => match self.claim(seat, params) {
                Ok(session) => Some(Sent::Reopen(session)),
                Err(error) => return self.reply_error(seat, id, &error),
            },
            "session/prompt" => Some(Sent::Prompt),
            "session/close" => Some(Sent::Close),
            "authenticate" => Some(Sent::Authenticate),
            _ => None,
        };
        if let (Some(sent), Some(state)) = (sent, self.seats.get_mut(&seat)) {
            state.sent.insert(id, sent);
        }
        self.writes.extend_from_slice(line);
    }

    /// Sends only the first `initialize` to the process; later ones get the same answer.
    fn initialize(&mut self, seat: Seat, id: u64, line: &[u8]) {
        match &mut self.handshake {
            Handshake::Unasked => {
                self.handshake = Handshake::Asked(id, Vec::new());
                self.writes.extend_from_slice(line);
            }
            Handshake::Asked(_, waiting) => waiting.push((seat, id)),
            Handshake::Known(answer) => {
                let reply = answer_line(id, answer.as_deref());
                self.replies.push_back((seat, reply));
            }
        }
    }

    /// Sends the agent's answer to `initialize` to the connections that wait for it.
    pub(super) fn handshake_finished(&mut self, answer: Result<String, RpcError>, waiting: Vec<(Seat, u64)>) {
        for (seat, id) in waiting {
            let reply = answer_line(id, answer.as_deref());
            self.replies.push_back((seat, reply));
        }
        self.handshake = Handshake::Known(answer);
    }

    /// Sends the next request to open a session, unless one is in flight. Those that timed out in the queue are dropped.
    pub(super) fn open_next(&mut self) {
        while self.opening.is_none() {
            let Some((seat, id, line)) = self.to_open.pop_front() else {
                return;
            };
            let state = self.seats.get_mut(&seat);
            let Some(state) = state.filter(|state| state.connection.waits_for(id)) else {
                continue;
            };
            state.sent.insert(id, Sent::Open);
            self.opening = Some((id, seat));
            self.writes.extend_from_slice(&line);
        }
    }

    /// Gives up the request in flight that opens a session, if its sender no longer waits for the answer: it may have another session by
    /// then. The process may never answer, and no other session can be opened before.
    pub(super) fn disown_opening(&mut self) {
        let Some((id, seat)) = self.opening else {
            return;
        };
        if let Some(state) = self.seats.get_mut(&seat)
            && !state.connection.waits_for(id)
        {
            state.sent.remove(&id);
            self.opening = Some((id, NOBODY));
            self.retire();
        }
    }

    /// Releases the earlier session of a connection that opens a new one, because the attempts to resume it have
    /// failed.
    fn give_up_earlier(&mut self, seat: Seat) {
        for session in self.sessions_of(seat) {
            self.depart(&session, seat);
        }
    }

    /// Assigns the session to this connection before it is loaded, because the agent may send updates of it before it
    /// answers. Two threads cannot own the same session.
    fn claim(&mut self, seat: Seat, params: Option<&RawValue>) -> Result<String, RpcError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            session_id: String,
        }
        let params = params.and_then(|raw| serde_json::from_str::<Params>(raw.get()).ok());
        let session = params.map(|params| params.session_id).unwrap_or_default();
        let is_anothers = |whose: Option<&Seat>| whose.is_some_and(|whose| *whose != seat);
        if is_anothers(self.sessions.get(&session)) || is_anothers(self.subagents.get(&session)) {
            return Err(RpcError::new(
                INVALID_REQUEST,
                "another thread has this session open in the same process",
            ));
        }
        self.belongs_to(session.clone(), seat);
        Ok(session)
    }

    pub(super) fn reply_error(&mut self, seat: Seat, id: u64, error: &RpcError) {
        let reply = answer_line(id, Err(error));
        self.replies.push_back((seat, reply));
    }
}

fn answer_line(id: u64, answer: Result<&str, &RpcError>) -> Vec<u8> {
    let id = id.to_string();
    let mut line = Vec::new();
    match answer {
        Ok(result) => wire::response(&mut line, &id, result),
        Err(error) => wire::error_response(&mut line, &id, error),
    }
    line
}
