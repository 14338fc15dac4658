//! Prompts of an editor of version 2. A prompt has its response once it is part of the conversation; a queued one waits.

use acpd_model::{ItemId, ItemStart, MessageType, ThreadId, TurnId};

use super::frame::{Frame, TurnResult};
use super::peer::{Peer, Prompt};
use crate::projection::Turn;
use crate::surface::contract::OpenRequest;
use crate::wire::{RpcError, object};

/// The JSON-RPC code for a cancelled request.
const CANCELLED: i64 = -32800;

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

    /// Answers a prompt whose turn had begun when the daemon accepted it: the editor has sent it before.
    pub(super) fn was_inserted(&mut self, number: u64, turn: TurnId) {
        let prompt = self.prompts.iter().find(|prompt| prompt.number == number);
        let session = prompt.and_then(|prompt| self.sessions.get(&prompt.thread));
        let Some(item) = session.and_then(|session| session.foreground.message_of(turn)) else {
            return;
        };
        for request in self.take_requests(|prompt| prompt.number == number) {
            self.answer_inserted(request, turn, item);
        }
    }

    /// Answers the prompts of a turn that has ended, and whose messages this connection has not received: the turn was cancelled while
    /// it was queued, or began before the session was open here.
    pub(super) fn prompts_left(&mut self, thread: ThreadId, turn: TurnId, result: &TurnResult) {
        let of_turn = |prompt: &&Prompt| prompt.thread == thread && prompt.turn == Some(turn);
        let numbers: Vec<u64> = self
            .prompts
            .iter()
            .filter(of_turn)
            .map(|prompt| prompt.number)
            .collect();
        for number in numbers {
            match result {
                TurnResult::Stopped(_) => self.read_result(number, turn),
                TurnResult::Failed(_) => {
                    for request in self.take_requests(|prompt| prompt.number == number) {
                        self.answer_prompt(thread, request, result);
                    }
                }
            }
        }
    }

    /// Answers a prompt with the message that is in its turn, or as a cancelled one.
    pub(super) fn answer_from_turn(&mut self, number: u64, turn: &Turn) {
        let is_prompt = |start: &ItemStart| {
            matches!(
                start,
                ItemStart::Message {
                    role: MessageType::UserMessage,
                    ..
                }
            )
        };
        let message = turn
            .items
            .iter()
            .find(|item| item.lane.is_none() && is_prompt(&item.start));
        for request in self.take_requests(|prompt| prompt.number == number) {
            match (turn.id, message) {
                (Some(id), Some(message)) => self.answer_inserted(request, id, message.id),
                _ => self.answer_cancelled(request),
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
