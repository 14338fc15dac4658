//! Responses to an editor, made from the daemon's replies.

use acpd_model::{ErrorCode, Failure, RawJson, TurnId, TurnPosition};
use serde_json::json;

use super::frame::TurnResult;
use super::handshake;
use super::peer::{Peer, ReplyTo, Waiting};
use super::session::Opened;
use crate::surface::contract::{OpenRequest, Phase};
use crate::surface::export::rfc3339;
use crate::surface::reply::{Call, ListedThread, Reply, ThreadView};
use crate::surface::request::{Request, Turns, calls};
use crate::wire::Object;

impl Peer {
    /// Handles the daemon's reply for whoever waits for it.
    pub(super) fn replied(&mut self, waiting: Waiting, reply: Result<Reply, Failure>) {
        match waiting {
            Waiting::Answer(answer) => {
                let error = reply.err().map(|failure| failure.code);
                self.exchange.end_answer(answer, error);
            }
            Waiting::Prompt(number) => match reply.and_then(calls::StartTurn::take) {
                Ok(turn) => {
                    self.turn_known(|prompt| prompt.number == number, turn.id);
                    if turn.status.is_some() {
                        self.read_result(number, turn.id);
                    }
                }
                Err(failure) => self.refuse_prompt(number, &failure),
            },
            Waiting::EndedTurn(number) => match reply.and_then(calls::ReadThread::take) {
                Ok(view) => self.result_read(number, &view),
                Err(failure) => self.refuse_prompt(number, &failure),
            },
            Waiting::Request(request, reply_to) => self.result(request, reply_to, reply),
        }
    }

    /// Reads the result of a repeated prompt's turn, which has ended before, so that no event reports it.
    fn read_result(&mut self, number: u64, turn: TurnId) {
        let Some(prompt) = self.prompts.iter().find(|prompt| prompt.number == number) else {
            return;
        };
        let behind = TurnPosition {
            turn: turn.0.saturating_add(1),
            item: None,
        };
        let read = Request::ReadThread {
            thread: prompt.thread,
            turns: Some(Turns {
                before: Some(behind),
                limit: Some(1),
                ..Turns::default()
            }),
        };
        self.call(read, Waiting::EndedTurn(number));
    }

    /// Answers a repeated prompt with the result of its turn.
    fn result_read(&mut self, number: u64, view: &ThreadView) {
        let Some(prompt) = self.prompts.iter().find(|prompt| prompt.number == number) else {
            return;
        };
        let (thread, id) = (prompt.thread, prompt.turn);
        let mut turns = view.turns.iter().flat_map(|page| &page.turns);
        let turn = turns.find(|turn| turn.id.is_some() && turn.id == id);
        match turn.and_then(|turn| turn.settled.as_ref()) {
            Some(settled) => self.turn_ended(thread, id, &TurnResult::of_settled(settled)),
            None => {
                let message = "the turn of this idempotencyKey is no part of the conversation any more";
                self.refuse_prompt(number, &Failure::new(ErrorCode::Conflict, message));
            }
        }
    }

    fn refuse_prompt(&mut self, number: u64, failure: &Failure) {
        let at = self.prompts.iter().position(|prompt| prompt.number == number);
        if let Some(request) = at.and_then(|at| self.prompts.remove(at).request) {
            self.refuse(request, failure);
        }
    }

    /// Answers `initialize`, and handles the messages that arrived before.
    fn greeted(&mut self, request: OpenRequest, agent: Result<RawJson, Failure>) {
        match agent {
            Ok(agent) => {
                self.exchange.enter(Phase::Ready);
                self.answer(request, &handshake::welcome(&agent));
            }
            Err(failure) => {
                self.exchange.enter(Phase::New);
                self.refuse(request, &failure);
            }
        }
        self.read_on();
    }

    fn result(&mut self, request: OpenRequest, reply_to: ReplyTo, reply: Result<Reply, Failure>) {
        let result = match reply_to {
            ReplyTo::Initialize => return self.greeted(request, reply.and_then(calls::Initialize::take)),
            ReplyTo::Open(mode) => match reply.and_then(calls::OpenThread::take) {
                Ok(opened) => {
                    let live = &*opened.live;
                    self.opened(request, mode, Opened::from(live));
                    self.take_over(live.thread, opened.claimed);
                    return self.mark_opened(live, opened.cursor);
                }
                Err(failure) => Err(failure),
            },
            ReplyTo::Agent => reply
                .and_then(calls::AskAgent::take)
                .map(|result| if result.get() == "null" { empty() } else { result }),
            ReplyTo::Lease => reply
                .and_then(calls::MoveLease::take)
                .map(|holder| json!({ "lease": holder }).into()),
            ReplyTo::Nothing => reply.map(|_| empty()),
            ReplyTo::Sessions => reply
                .and_then(calls::ListThreads::take)
                .map(|list| session_list(&list.page, list.next.as_deref())),
            ReplyTo::Deleted(thread) => reply.map(|_| {
                self.leave(thread);
                empty()
            }),
        };
        match result {
            Ok(result) => self.answer(request, &result),
            Err(failure) => self.refuse(request, &failure),
        }
    }
}

fn empty() -> RawJson {
    RawJson::trusted("{}")
}

fn session_list(page: &[ListedThread], next_cursor: Option<&str>) -> RawJson {
    // Editors open a session before the user says something, and would list each of them as untitled.
    let said = |listed: &&ListedThread| listed.summary.turns > 0 || listed.summary.name.is_some();
    let sessions: Vec<_> = page
        .iter()
        .filter(said)
        .map(|ListedThread { thread, summary, .. }| {
            let at = rfc3339(summary.updated_at);
            let mut session = json!({ "sessionId": thread, "cwd": summary.cwd, "updatedAt": at });
            // Some editors join the title with other texts, and fail on `null`.
            if let Some(title) = &summary.name {
                session["title"] = json!(title);
            }
            session
        })
        .collect();
    let mut out = Vec::new();
    let mut result = Object::open(&mut out);
    result
        .put("sessions", &sessions)
        .maybe("nextCursor", next_cursor.as_ref());
    result.close();
    RawJson::trusted(&String::from_utf8_lossy(&out))
}
