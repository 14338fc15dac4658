//! Responses to an editor, made from the daemon's replies.

use acpd_model::{ErrorCode, Failure, RawJson, TurnId, TurnPosition};
use serde_json::json;

use super::frame::TurnResult;
use super::handshake;
use super::peer::{OpenRequest, Peer, Phase, ReplyTo, Waiting};
use super::session::Opened;
use crate::surface::export::rfc3339;
use crate::surface::reply::{ListedThread, Reply, ThreadView};
use crate::surface::request::{Request, Turns};
use crate::wire::Object;

impl Peer {
    /// Handles the daemon's reply for whoever waits for it.
    pub(super) fn replied(&mut self, waiting: Waiting, reply: Result<Reply, Failure>) {
        match (waiting, reply) {
            (Waiting::Answer(token), reply) => self.answered(token, reply.err().map(|failure| failure.code)),
            (Waiting::Prompt(number), Ok(Reply::Turn(turn))) => {
                self.turn_known(|prompt| prompt.number == number, turn.id);
                if turn.status.is_some() {
                    self.read_result(number, turn.id);
                }
            }
            (Waiting::EndedTurn(number), Ok(Reply::Thread(view))) => self.result_read(number, &view),
            (Waiting::Prompt(number) | Waiting::EndedTurn(number), reply) => {
                let failure = reply.err().unwrap_or_else(misplaced);
                self.refuse_prompt(number, &failure);
            }
            (Waiting::Request(request, ReplyTo::Initialize), reply) => self.greeted(request, reply),
            (Waiting::Request(request, _), Err(failure)) => self.refuse(request, &failure),
            (Waiting::Request(request, reply_to), Ok(reply)) => self.result(request, reply_to, reply),
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
        self.call(read, Some(Waiting::EndedTurn(number)));
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
    fn greeted(&mut self, request: OpenRequest, reply: Result<Reply, Failure>) {
        match reply {
            Ok(Reply::Initialized(agent)) => {
                self.phase = Phase::Ready;
                self.answer(request, &handshake::welcome(&agent));
            }
            reply => {
                self.phase = Phase::New;
                self.refuse(request, &reply.err().unwrap_or_else(misplaced));
            }
        }
        self.read_on();
    }

    fn result(&mut self, request: OpenRequest, reply_to: ReplyTo, reply: Reply) {
        match (reply_to, reply) {
            (ReplyTo::Open(mode), Reply::Opened(opened)) => {
                let live = &*opened.live;
                self.opened(request, mode, Opened::from(live));
                self.take_over(live.thread, opened.claimed);
                self.mark_opened(live, opened.cursor);
            }
            (ReplyTo::Result, Reply::Agent(result)) if result.get() != "null" => {
                self.answer(request, &result)
            }
            (ReplyTo::Result, Reply::Lease(holder)) => {
                self.answer(request, &json!({ "lease": holder }).into());
            }
            (ReplyTo::Result, _) => self.answer(request, &RawJson::trusted("{}")),
            (ReplyTo::Sessions, Reply::Threads { page, next }) => {
                self.answer(request, &session_list(&page, next.as_deref()));
            }
            (ReplyTo::Deleted(thread), _) => {
                self.leave(thread);
                self.answer(request, &RawJson::trusted("{}"));
            }
            (ReplyTo::Initialize | ReplyTo::Open(_) | ReplyTo::Sessions, _) => {
                self.refuse(request, &misplaced())
            }
        }
    }
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

/// Returns the failure for a reply of an unexpected type.
fn misplaced() -> Failure {
    Failure::new(ErrorCode::Internal, "internal error: unexpected reply type")
}
