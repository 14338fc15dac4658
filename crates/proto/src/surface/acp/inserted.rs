//! Prompts of an editor of version 2. A prompt has its response once it is part of the conversation; a queued one waits.

use acpd_model::{ItemId, ItemStart, MessageType, ThreadId, TurnId, TurnPosition};

use super::frame::{Frame, TurnResult};
use super::peer::{Peer, Prompt};
use crate::projection::Turn;
use crate::surface::contract::{OpenRequest, Steps, request};
use crate::surface::idempotency::OF_EDITORS;
use crate::surface::reply::ThreadView;
use crate::surface::request::Turns;
use crate::thread::TurnView;
use crate::wire::{RpcError, object};

/// The JSON-RPC code for a cancelled request.
const CANCELLED: i64 = -32800;

/// A search for the message of a prompt at the beginning of its turn, which may have any number of items. Each page is between two of
/// them, so that few are read.
#[derive(Debug)]
struct Search {
    /// The prompt.
    number: u64,
    turn: TurnId,
    /// How the turn has ended, if this connection knows.
    ended: Option<TurnResult>,
    /// The turn has no item before this one.
    first: u32,
    /// The turn has items before this one; unknown at first.
    rest: Option<u32>,
}

impl Search {
    fn new(number: u64, turn: TurnId) -> Self {
        Self {
            number,
            turn,
            ended: None,
            first: 0,
            rest: None,
        }
    }

    /// Returns where the next page ends.
    fn end(&self) -> TurnPosition {
        match self.middle() {
            Some(item) => TurnPosition {
                turn: self.turn.0,
                item: Some(ItemId(item)),
            },
            None => TurnPosition {
                turn: self.turn.0.saturating_add(1),
                item: None,
            },
        }
    }

    fn middle(&self) -> Option<u32> {
        let rest = self.rest?;
        let middle = self.first + rest.saturating_sub(self.first) / 2;
        Some(if middle > self.first { middle } else { rest })
    }

    /// Returns the search on the next page, if this one is empty or there is a rest of the turn before it. Otherwise, the search is over.
    fn further(self, is_empty: bool, rest: Option<ItemId>) -> Result<Self, Self> {
        match (rest, self.rest, self.middle()) {
            (Some(ItemId(rest)), ..) => Ok(Self {
                rest: Some(rest),
                ..self
            }),
            (None, Some(rest), Some(middle)) if is_empty && middle < rest => Ok(Self {
                first: middle,
                ..self
            }),
            _ => Err(self),
        }
    }
}

fn is_prompt(start: &ItemStart) -> bool {
    matches!(
        start,
        ItemStart::Message {
            role: MessageType::UserMessage,
            ..
        }
    )
}

impl Peer {
    /// Sends the message of a prompt to the editor, and answers the request of its sender.
    pub(super) fn inserted(&mut self, thread: ThreadId, frame: &Frame, item: ItemId) {
        self.show(thread, frame, None);
        let Some(turn) = frame.turn else { return };
        let requests = self.take_requests(|prompt| prompt.thread == thread && prompt.turn == Some(turn));
        if let Some(session) = self.sessions.get_mut(&thread) {
            session.foreground.insert(turn, item, !requests.is_empty());
        }
        for request in requests {
            self.answer_inserted(request, turn, item);
        }
    }

    /// Handles that the daemon has accepted a prompt. One that the editor has sent before may be in the conversation already.
    pub(super) fn was_accepted(&mut self, number: u64, turn: &TurnView) {
        let Some(prompt) = self.prompts.iter().find(|prompt| prompt.number == number) else {
            return;
        };
        let session = self.sessions.get(&prompt.thread);
        if let Some(item) = session.and_then(|session| session.foreground.message_of(turn.id)) {
            for request in self.take_requests(|prompt| prompt.number == number) {
                self.answer_inserted(request, turn.id, item);
            }
            return;
        }
        let has_key = !prompt.name.starts_with(OF_EDITORS);
        if turn.status.is_some() || has_key && !turn.queued {
            self.find_message(Search::new(number, turn.id));
        }
    }

    /// Answers the prompts of a turn that has ended, and whose messages this connection has not received: the turn was cancelled while
    /// it was queued, or began before the session was open here.
    pub(super) fn prompts_left(&mut self, thread: ThreadId, turn: TurnId, result: &TurnResult) {
        for number in self.prompts_of(thread, turn) {
            self.find_message(Search {
                ended: Some(result.clone()),
                ..Search::new(number, turn)
            });
        }
    }

    /// Answers the prompts of a turn of an earlier connection that runs, if it has their messages.
    pub(super) fn take_over_running(&mut self, thread: ThreadId, turn: TurnId) {
        for number in self.prompts_of(thread, turn) {
            self.find_message(Search::new(number, turn));
        }
    }

    fn prompts_of(&self, thread: ThreadId, turn: TurnId) -> Vec<u64> {
        let of_turn = |prompt: &&Prompt| prompt.thread == thread && prompt.turn == Some(turn);
        let prompts = self.prompts.iter().filter(of_turn);
        prompts.map(|prompt| prompt.number).collect()
    }

    /// Looks for the message of a prompt in its turn.
    fn find_message(&mut self, search: Search) {
        let Some(prompt) = self.prompts.iter().find(|prompt| prompt.number == search.number) else {
            return;
        };
        let turns = Turns {
            before: Some(search.end()),
            limit: Some(1),
            ..Turns::default()
        };
        let read = request!(ReadThread {
            thread: prompt.thread,
            turns: Some(turns),
        });
        let (read, then) = Peer::alone(read, move |peer, view| match view {
            Ok(view) => peer.page_searched(search, &view),
            Err(failure) => peer.refuse_prompt(search.number, &failure),
        });
        self.call(read, then);
    }

    fn page_searched(&mut self, search: Search, view: &ThreadView) {
        let Some(prompt) = self.prompts.iter().find(|prompt| prompt.number == search.number) else {
            return;
        };
        let thread = prompt.thread;
        let page = view.turns.as_ref();
        let found = page.and_then(|page| {
            let turn = page.turns.iter().find(|turn| turn.id == Some(search.turn))?;
            let older = page.older.filter(|older| older.turn == search.turn.0);
            Some((turn, older.and_then(|older| older.item)))
        });
        let Some((turn, rest)) = found else {
            return self.refuse_removed(search.number);
        };
        match search.further(turn.items.is_empty(), rest) {
            Ok(next) => self.find_message(next),
            Err(search) => self.answer_from_turn(thread, &search, turn),
        }
    }

    /// Answers a prompt with the message at the beginning of its turn. Without a message, the turn was cancelled, or failed, before it
    /// had one, or will have one.
    fn answer_from_turn(&mut self, thread: ThreadId, search: &Search, turn: &Turn) {
        let message = turn
            .items
            .iter()
            .find(|item| item.lane.is_none() && is_prompt(&item.start));
        let settled = turn.settled.as_ref().map(TurnResult::of_settled);
        let result = search.ended.clone().or(settled);
        let since = self.sessions.get(&thread).map_or(0, |session| session.since);
        // This connection receives the message.
        if result.is_none() && (message.is_none() || turn.place > since) {
            return;
        }
        let session = self.sessions.get_mut(&thread);
        let session = session.filter(|session| session.foreground.running() == Some(search.turn));
        if let (Some(session), Some(message)) = (session, message) {
            session.foreground.insert(search.turn, message.id, true);
        }
        for request in self.take_requests(|prompt| prompt.number == search.number) {
            match (message, &result) {
                (Some(message), _) => self.answer_inserted(request, search.turn, message.id),
                (None, Some(failed @ TurnResult::Failed(_))) => self.answer_prompt(thread, request, failed),
                (None, _) => self.answer_cancelled(request),
            }
        }
    }

    /// Cancels the work of a session, and what this connection has sent for it.
    pub(super) fn cancel_foreground(&mut self, thread: ThreadId) {
        // Queued prompts are cancelled first; otherwise they would start.
        let own: Vec<usize> = (0..self.prompts.len())
            .rev()
            .filter(|at| self.prompts[*at].thread == thread)
            .collect();
        let session = self.sessions.get(&thread);
        let is_continued = session.is_some_and(|session| session.foreground.is_continued());
        let running = session.and_then(|session| session.foreground.running());
        let is_running = |at: &usize| running.is_some() && self.prompts[*at].turn == running;
        let covered = own.iter().any(is_running);
        for at in own {
            self.cancel_prompt(at);
        }
        if (running.is_some() || is_continued) && !covered {
            self.interrupt(thread, running);
        }
    }

    /// Ends what this connection does in a session that the editor closes.
    pub(super) fn close_foreground(&mut self, thread: ThreadId) {
        let Some(session) = self.sessions.get(&thread) else {
            return;
        };
        let received = session.received;
        if session.foreground.runs_own() {
            self.cancel_foreground(thread);
            self.show_cancelled(thread, received);
        } else {
            // Other clients may have sent what runs.
            for at in (0..self.prompts.len()).rev() {
                if self.prompts[at].thread == thread {
                    self.cancel_prompt(at);
                }
            }
        }
        let own = self.prompts.iter_mut().filter(|prompt| prompt.thread == thread);
        let requests: Vec<OpenRequest> = own.filter_map(|prompt| prompt.request.take()).collect();
        for request in requests {
            self.answer_cancelled(request);
        }
    }

    fn take_requests(&mut self, is_meant: impl Fn(&Prompt) -> bool) -> Vec<OpenRequest> {
        let taken = self.prompts.extract_if(.., |prompt| is_meant(prompt));
        taken.filter_map(|prompt| prompt.request).collect()
    }

    fn answer_inserted(&mut self, request: OpenRequest, turn: TurnId, item: ItemId) {
        let result = object(|out| {
            out.put("messageId", &item).object("_meta", |meta| {
                meta.object("acpd", |acpd| {
                    acpd.put("turnId", &turn);
                });
            });
        });
        self.answer(request, &result);
    }

    fn answer_cancelled(&mut self, request: OpenRequest) {
        let message = "the prompt was cancelled before it became part of the conversation";
        self.answer_error(request, &RpcError::new(CANCELLED, message));
    }
}
