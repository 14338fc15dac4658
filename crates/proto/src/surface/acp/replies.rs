//! Responses to an editor, made from the daemon's replies.

use acpd_model::{ErrorCode, Failure, RawJson, TurnId, TurnPosition};
use serde_json::json;

use super::frame::{Feature, TurnResult};
use super::handshake;
use super::peer::Peer;
use super::session::{OpenMode, Opened};
use super::subagents::announcements;
use super::version::Version;
use crate::surface::contract::{OpenRequest, Phase, Steps, request};
use crate::surface::export::rfc3339;
use crate::surface::reply::{self, ListedThread, ThreadView};
use crate::surface::request::Turns;
use crate::thread::TurnView;
use crate::wire::Object;

impl Peer {
    /// Records the turn of a prompt. The editor may have sent the prompt before, so that its turn has ended.
    pub(super) fn prompt_started(&mut self, number: u64, turn: Result<TurnView, Failure>) {
        match turn {
            Ok(turn) => {
                self.turn_known(|prompt| prompt.number == number, turn.id);
                match self.client.version {
                    Version::One if turn.status.is_some() => self.read_result(number, turn.id),
                    Version::One => {}
                    Version::Two => self.was_accepted(number, &turn),
                }
            }
            Err(failure) => self.refuse_prompt(number, &failure),
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
        let turns = Turns {
            before: Some(behind),
            limit: Some(1),
            ..Turns::default()
        };
        let read = request!(ReadThread {
            thread: prompt.thread,
            turns: Some(turns),
        });
        let (read, then) = Peer::alone(read, move |peer, view| match view {
            Ok(view) => peer.result_read(number, &view),
            Err(failure) => peer.refuse_prompt(number, &failure),
        });
        self.call(read, then);
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
            None => self.refuse_removed(number),
        }
    }

    /// Answers a repeated prompt whose turn is no longer there.
    pub(super) fn refuse_removed(&mut self, number: u64) {
        let message = "the turn of this idempotencyKey was removed from the conversation";
        self.refuse_prompt(number, &Failure::new(ErrorCode::Conflict, message));
    }

    pub(super) fn refuse_prompt(&mut self, number: u64, failure: &Failure) {
        let at = self.prompts.iter().position(|prompt| prompt.number == number);
        if let Some(request) = at.and_then(|at| self.prompts.remove(at).request) {
            self.refuse(request, failure);
        }
    }

    /// Answers `initialize`, and handles the messages that arrived before.
    pub(super) fn greeted(&mut self, request: OpenRequest, agent: Result<RawJson, Failure>) {
        match agent {
            Ok(agent) => {
                self.exchange.enter(Phase::Ready);
                let welcome = match self.client.version {
                    Version::One => handshake::welcome(&agent),
                    Version::Two => handshake::welcome_v2(&agent),
                };
                self.answer(request, &welcome);
            }
            Err(failure) => {
                self.exchange.enter(Phase::New);
                self.refuse(request, &failure);
            }
        }
        self.read_on();
    }

    /// Opens the session of a thread that the connection follows now.
    pub(super) fn follows(&mut self, request: OpenRequest, mode: OpenMode, opened: reply::Opened) {
        let reply::Opened {
            live,
            cursor,
            claimed,
            ..
        } = opened;
        let mut known = Opened::from(&*live);
        // Where the editor continues after an event, it has what came before.
        let has_earlier = mode != OpenMode::Resume || self.start.after.contains_key(&live.thread);
        if self.client.takes(Feature::Subagents) && !has_earlier {
            known.announced = announcements(&live);
        }
        self.opened(request, mode, known);
        if mode == OpenMode::Load {
            // Nothing may be left to replay.
            self.reached(live.thread, cursor);
        }
        self.take_over(live.thread, claimed);
        self.mark_opened(&live, cursor);
    }
}

pub(super) fn empty() -> RawJson {
    RawJson::trusted("{}")
}

pub(super) fn session_list(page: &[ListedThread], next_cursor: Option<&str>) -> RawJson {
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
