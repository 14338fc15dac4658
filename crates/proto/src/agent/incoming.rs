//! What an agent writes: each line becomes events, and perhaps an answer.
//!
//! In: lines. Out: events of the connection, and answers to requests that cannot be read. Never: lets a request wait whose
//! answer was thrown away.

use acpd_model::limits::MALFORMED_BYTES;
use acpd_model::{Failure, RawJson, event::Binding, json};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::auth_status::without_accounts;
use super::bounds::{is_name, sentence};
use super::call::{Call, KnownSessions, SubagentSessions, not_found};
use super::connection::{AgentConnection, AgentEvent, Sent};
use super::opening::method;
use super::update::{ChunkContent, Update, UpdateKind, rebuild_params};
use super::v2;
use crate::time::Now;
use crate::wire::{self, Flaw, Found, Line, Mended, Message, RpcError, UTF_16, Unreadable};

/// ACP's code for an error inside of a program.
const INTERNAL: i64 = -32603;

/// Why a message with an absurdly long name is refused.
const LONG_METHOD: &str = "its method or its id is too long";

/// Bytes of a line that a failure quotes.
const QUOTED_BYTES: usize = 200;

impl AgentConnection {
    /// Handles one line of the agent's stdout.
    pub fn handle_line(&mut self, line: &Line<'_>, now: Now) {
        self.end_history(now);
        match *line {
            Line::Whole(bytes) => {
                let is_clean = std::str::from_utf8(bytes).is_ok_and(|text| self.handle_text(text, now));
                if !is_clean {
                    self.handle_unclean(bytes, now);
                }
            }
            Line::TooLong { head, tail, bytes } => {
                let unreadable = Unreadable::too_long(head, tail);
                self.unreadable(&unreadable, &String::from_utf8_lossy(head), bytes, now);
            }
        }
    }

    /// Handles a line that is not a clean message.
    fn handle_unclean(&mut self, line: &[u8], now: Now) {
        match wire::read_unclean(line) {
            Ok(Mended { texts, flaw }) => {
                self.note_flaw(flaw, line);
                for text in texts {
                    self.handle_text(&text, now);
                }
            }
            Err(unreadable) => {
                let text = String::from_utf8_lossy(line);
                self.unreadable(&unreadable, &text, line.len() as u64, now);
            }
        }
    }

    /// Reports that the agent writes lines that are not clean, once.
    pub(super) fn note_flaw(&mut self, flaw: Flaw, line: &[u8]) {
        if !std::mem::replace(&mut self.has_noted_flaw, true) {
            let text = start_of(&String::from_utf8_lossy(line), MALFORMED_BYTES);
            self.push_event(AgentEvent::Mended { flaw, text });
        }
    }

    /// Records a line without a message, and settles the request that it concerns.
    fn unreadable(&mut self, unreadable: &Unreadable, text: &str, bytes: u64, now: Now) {
        let reason = unreadable.reason.as_str();
        let sent = match &unreadable.found {
            Found::Answer { id } => wire::number(id).and_then(|id| self.pending.take(id)),
            _ => None,
        };
        self.malformed(reason, text, bytes);
        match (sent, &unreadable.found) {
            (Some(Sent::Initialize), _) => self.fail(self.unreadable_start("initialize", reason, text)),
            (Some(Sent::Open(how @ Binding::New)), _) => {
                self.fail(self.unreadable_start(method(how), reason, text));
            }
            (Some(sent), _) => {
                let error = RpcError::new(INTERNAL, format!("the agent's answer cannot be read: {reason}"));
                self.handle_response(sent, Err(error), now);
            }
            (None, Found::Request { id }) => {
                let mut line = Vec::new();
                wire::error_response(&mut line, id, &unreadable.error());
                self.write(line);
            }
            // Such an agent cannot read its client either.
            (None, _) if reason == UTF_16 && self.agent.is_none() => {
                self.fail(self.unreadable_start("initialize", reason, text));
            }
            (None, _) => {}
        }
    }

    /// Returns the failure of an agent whose answer to a request of its start cannot be read.
    fn unreadable_start(&self, method: &str, reason: &str, line: &str) -> Failure {
        let agent = &self.start.names.id;
        let line = start_of(line, QUOTED_BYTES);
        Failure::agent(format!(
            "the answer of the agent {agent:?} to {method} cannot be read: {reason}"
        ))
        .with_detail(format!(
            "it wrote {line:?}; \"acpd agents doctor {agent}\" shows what it does"
        ))
    }

    /// Handles the text of a line. Returns whether it is a message.
    fn handle_text(&mut self, text: &str, now: Now) -> bool {
        if let Some(Ok(update)) = self.usual_update(text).map(|update| Update::parse(update, None)) {
            self.update(update, now);
            return true;
        }
        match Message::parse(text) {
            Ok(Message::Notification { method, .. }) if !is_name(&method) => {
                self.malformed(LONG_METHOD, text, text.len() as u64);
            }
            Ok(Message::Request { id, method, .. }) if !is_name(&method) || !is_name(id.get()) => {
                self.malformed(LONG_METHOD, text, text.len() as u64);
                if is_name(id.get()) {
                    let mut line = Vec::new();
                    wire::error_response(&mut line, id.get(), &not_found(&method));
                    self.write(line);
                }
            }
            Ok(Message::Notification { method, params }) => self.handle_notification(&method, params, now),
            Ok(Message::Request { id, method, params }) => self.handle_request(id, &method, params),
            Ok(Message::Response { id, result }) => match self.pending.close(id) {
                Some(sent) => self.handle_response(sent, result, now),
                None => self.malformed(
                    "an answer to a request that was never made",
                    text,
                    text.len() as u64,
                ),
            },
            Err(_) => return false,
        }
        true
    }

    /// Returns the `update` object of a line in the form that nearly all updates have, without parsing the line.
    fn usual_update<'t>(&self, text: &'t str) -> Option<&'t str> {
        if self.prefix.is_empty() || self.v2.is_some() {
            return None;
        }
        let update = text.strip_prefix(self.prefix.as_str())?.strip_suffix("}}")?;
        update.starts_with('{').then_some(update)
    }

    fn handle_notification(&mut self, method: &str, params: Option<&RawValue>, now: Now) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            #[serde(borrow)]
            session_id: wire::Text<'a>,
            #[serde(borrow)]
            update: &'a RawValue,
        }
        if method == "$/cancel_request" {
            return self.withdraw(params);
        }
        let params_text = params.map(RawValue::get);
        let parsed = params_text
            .filter(|_| method == "session/update")
            .and_then(|text| serde_json::from_str::<Params<'_>>(text).ok())
            .filter(|params| params.update.get() != "null");
        let Some(Params { session_id, update }) = parsed else {
            return self.notified(method, params);
        };
        if self.given_up.as_deref() == Some(&*session_id) {
            return;
        }
        // While our session's id is unknown, only our session is being opened, so the update belongs to it.
        let is_other = self.session.as_deref().is_some_and(|ours| *ours != *session_id);
        if is_other && !self.subagents().contain(&session_id) {
            return self.event(AgentEvent::Foreign {
                params: params.map(RawJson::from),
            });
        }
        if self.v2.is_some() {
            return self.handle_v2_update(&session_id, update, params, is_other, now);
        }
        let usual = rebuild_params(&session_id, update.get());
        let raw_params = params.filter(|raw| raw.get() != usual).map(RawJson::from);
        match Update::parse(update.get(), raw_params) {
            Ok(update) if is_other => self.subagent_update(session_id.into_string(), update, now),
            Ok(update) => self.update(update, now),
            Err(error) => self.malformed(&error.to_string(), update.get(), update.get().len() as u64),
        }
    }

    /// Handles an update of version 2, as the updates of version 1 that say the same. It may end the turn: then after these.
    fn handle_v2_update(
        &mut self,
        session: &str,
        update: &RawValue,
        params: Option<&RawValue>,
        is_other: bool,
        now: Now,
    ) {
        let Some(v2) = &mut self.v2 else { return };
        let update = RawJson::from(update);
        let ending = if is_other { None } else { v2.follow_prompt(&update) };
        let updates = v2.update(session, &update);
        let params = params.map(RawJson::from);
        let params = params.filter(|params| wire::others(params, &["sessionId", "update"]).is_some());
        for update in updates {
            let raw_params = params
                .as_ref()
                .map(|params| wire::spliced(params, &[("update", update.get())]));
            match Update::parse(update.get(), raw_params) {
                Ok(update) if is_other => self.subagent_update(session.to_owned(), update, now),
                Ok(update) => self.update(update, now),
                Err(error) => self.malformed(&error.to_string(), update.get(), update.get().len() as u64),
            }
        }
        if let Some((turn, result)) = ending {
            self.event(AgentEvent::PromptEnded { turn, result });
        }
    }

    fn notified(&mut self, method: &str, params: Option<&RawValue>) {
        self.event(AgentEvent::Notified {
            method: method.to_owned(),
            params: params
                .map(RawJson::from)
                .and_then(|params| without_accounts(method, params)),
        });
    }

    /// An update may arrive before the response with its session's id; this connection has only one session.
    fn update(&mut self, mut update: Update, now: Now) {
        if let UpdateKind::Chunk(chunk) = &mut update.kind {
            self.join_halves(chunk);
        }
        let repeats = self.replay.repeats(&update, now.mono);
        self.event(if repeats {
            AgentEvent::Replayed(update)
        } else {
            AgentEvent::Update(update)
        });
    }

    /// Passes an update of a subagent on. A surrogate pair that is cut between two of its chunks is not joined: the chunks of
    /// several sessions take turns. What a subagent did before the session was opened again is not passed on: its lane has it, and
    /// an import shows the main agent's conversation only.
    fn subagent_update(&mut self, session: String, mut update: Update, now: Now) {
        if self.replay.is_replaying() && !matches!(update.kind, UpdateKind::Subagent(_)) {
            self.replay.repeats(&update, now.mono);
            return;
        }
        if let UpdateKind::Chunk(chunk) | UpdateKind::SessionChunk(chunk) = &mut update.kind {
            let halves = (chunk.first_half.take(), chunk.last_half.take());
            if let ChunkContent::Text(text) = &mut chunk.content {
                if halves.0.is_some() {
                    text.insert(0, char::REPLACEMENT_CHARACTER);
                }
                if halves.1.is_some() {
                    text.push(char::REPLACEMENT_CHARACTER);
                }
            }
        }
        self.event_of(Some(session), AgentEvent::Update(update));
    }

    /// Adds an event of a subagent's session, or of ours.
    fn event_of(&mut self, subagent: Option<String>, event: AgentEvent) {
        self.event(match subagent {
            None => event,
            Some(session) => AgentEvent::Subagent {
                session,
                event: Box::new(event),
            },
        });
    }

    /// Returns the sessions that may be those of subagents.
    fn subagents(&self) -> SubagentSessions<'_> {
        if self.is_alone {
            SubagentSessions::All
        } else {
            SubagentSessions::Named(&self.subagents)
        }
    }

    /// Makes the session usable after the replay of the earlier one has ended.
    pub(super) fn end_history(&mut self, now: Now) {
        if self.replay.expire(now.mono)
            && let Some(opened) = self.pending_session.take()
        {
            self.event(AgentEvent::Opened(Box::new(opened)));
        }
    }

    fn handle_request(&mut self, id: &RawValue, method: &str, params: Option<&RawValue>) {
        let call = self.next_call;
        self.next_call += 1;
        self.calls.insert(call, id.into());
        let of_one = match (&mut self.v2, params) {
            (Some(v2), Some(params)) => v2.call(method, params),
            _ => None,
        };
        let params = of_one.as_deref().or(params);
        let sessions = KnownSessions {
            ours: self.session.as_deref(),
            given_up: self.given_up.as_deref(),
            subagents: self.subagents(),
        };
        match Call::parse(method, params, sessions) {
            Ok((request, subagent)) => {
                let params = params.filter(|_| request.is_delegatable()).map(RawJson::from);
                let received = AgentEvent::CallbackReceived {
                    call,
                    request,
                    params,
                };
                self.event_of(subagent, received);
            }
            Err(error) => {
                let params = params.map(RawJson::from);
                self.event(AgentEvent::CallbackRefused {
                    call,
                    method: method.to_owned(),
                    error,
                    params,
                });
            }
        }
    }

    fn withdraw(&mut self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            request_id: RawJson,
        }
        let id = params.and_then(|raw| json::read::<Params>(raw.get()).ok());
        let call = id.and_then(|id| {
            self.calls
                .iter()
                .find(|(_, ours)| **ours == id.request_id)
                .map(|(call, _)| *call)
        });
        match call {
            Some(call) => self.event(AgentEvent::CallbackWithdrawn { call }),
            None => self.notified("$/cancel_request", params),
        }
    }

    fn handle_response(&mut self, sent: Sent, result: Result<&RawValue, RpcError>, now: Now) {
        match (sent, result) {
            (Sent::Initialize, Ok(result)) => self.initialized(result, now),
            (Sent::Initialize, Err(error)) if self.tries_sign_in_again(&error, now) => {}
            (Sent::Initialize, Err(error)) => {
                self.fail(Failure::agent(format!("the agent refused initialize: {error}")));
            }
            (Sent::Open(how), Ok(result)) => self.opened(how, result, now),
            (Sent::Open(how), Err(error)) => self.not_opened(how, &error, now),
            (Sent::Prompt(turn), result) => {
                let result = result.map(RawJson::from);
                let ending = match &mut self.v2 {
                    Some(v2) => v2.prompt_answered(turn, result),
                    None => Some((turn, result)),
                };
                if let Some((turn, result)) = ending {
                    self.event(AgentEvent::PromptEnded { turn, result });
                }
            }
            (
                Sent::Ask {
                    ask,
                    signs_in,
                    method,
                },
                result,
            ) => {
                let signed_in = signs_in && result.is_ok();
                let result = result.map(RawJson::from).map(|result| match &self.v2 {
                    Some(_) => v2::answer(&method, &result),
                    None => result,
                });
                self.event(AgentEvent::Answered { ask, result });
                if signed_in {
                    self.signed_in(now);
                }
            }
            (Sent::Close | Sent::GivenUp, _) => {}
        }
    }

    fn malformed(&mut self, reason: &str, text: &str, bytes: u64) {
        let text = start_of(text, MALFORMED_BYTES);
        if self.prefix.is_empty() {
            self.stray = Some(start_of(&text, QUOTED_BYTES));
        }
        self.event(AgentEvent::Malformed {
            reason: sentence(reason),
            text,
            bytes,
        });
    }
}

/// Returns the first `bytes` bytes of a text, cut between characters.
fn start_of(text: &str, bytes: usize) -> String {
    text[..text.floor_char_boundary(bytes)].to_owned()
}
