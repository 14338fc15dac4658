//! Messages of the daemon.

use std::time::Instant;

use acpd_client::protocol::{Notification, Resolved};

use super::acp::text_of;
use super::question::Question;
use super::{App, Focus};
use crate::attach::conversation::HELD_BYTES;
use crate::attach::conversation::entry::originator;
use crate::attach::conversation::fold::Folded;
use crate::terminal::items::lanes::lane_of;

impl App {
    /// Folds a notification, or takes a question. Events arrive once and in order; questions that are open may be repeated.
    pub fn handle_notification(&mut self, notification: &Notification, now: Instant) {
        if notification.thread_id() != Some(&*self.thread) {
            return;
        }
        let is_repeated = notification.seq().is_some_and(|seq| seq <= self.seq);
        self.seq = self.seq.max(notification.seq().unwrap_or_default());
        match Question::read(
            notification,
            usize::from(self.size().0),
            self.abilities.may_answer,
        ) {
            Some(question) => self.ask(question),
            None if is_repeated => return,
            None => self.fold(notification, now),
        }
        self.merge_older(now);
        if self.conversation.bytes() > HELD_BYTES && self.conversation.shrink(self.top().entry) {
            self.wants_snapshot = true;
        }
    }

    fn fold(&mut self, notification: &Notification, now: Instant) {
        self.head.fold(notification);
        match self.conversation.fold(notification) {
            Folded::Done => {}
            Folded::NotHeld => self.older.miss(notification),
            Folded::ReadAgain => self.wants_snapshot = true,
        }
        if let Some(lane) = lane_of(notification) {
            self.look_for_lane(lane);
        }
        match notification {
            Notification::ServerRequestResolved(resolved) => self.resolved(resolved, now),
            Notification::TurnStarted(started) if started.turn.started_at.is_some() => self.turn_changed(),
            // What the agent suggested was about this prompt.
            Notification::ItemUserMessage(message) if message.lane.is_none() => self.suggested = None,
            Notification::ThreadSuggestionsUpdated(updated) => {
                let texts = updated
                    .suggestions
                    .iter()
                    .map(|suggestion| text_of(&suggestion.prompt));
                self.suggested = texts
                    .map(|text| text.trim().to_owned())
                    .find(|text| !text.is_empty());
            }
            Notification::TurnCompleted(completed) if completed.turn.started_at.is_some() => {
                self.turn_changed();
            }
            Notification::TurnCompleted(_) => self.show_message("a queued prompt was taken back", now),
            Notification::ThreadDeleted(deleted) => {
                let by = originator(&deleted.by);
                self.show_error(format!("the thread was deleted by {by}; Ctrl+D leaves"), now);
            }
            _ => {}
        }
    }

    /// Drops what was about the turn before.
    fn turn_changed(&mut self) {
        self.escape_until = None;
        self.message.take_if(|message| !message.is_error);
    }

    /// Adds a question. The daemon repeats open ones when a client subscribes.
    fn ask(&mut self, question: Question) {
        if self
            .questions
            .iter()
            .all(|known| known.request != question.request)
        {
            self.questions.push_back(question);
        }
    }

    fn resolved(&mut self, resolved: &Resolved, now: Instant) {
        if let Some(question) = self.close_question(&resolved.request_id)
            && !question.is_answered
        {
            let by = originator(&resolved.by);
            self.show_message(format!("the question was answered by {by}"), now);
        }
    }

    /// Removes a question that is not open any more.
    pub(super) fn close_question(&mut self, request: &str) -> Option<Question> {
        let at = self
            .questions
            .iter()
            .position(|question| question.request == request)?;
        let question = self.questions.remove(at);
        if at == 0 {
            self.leave_answer();
        }
        question
    }

    /// Empties the answer, and returns to the prompt.
    pub(super) fn leave_answer(&mut self) {
        self.answer.set("");
        if self.focus == Focus::Answer {
            self.focus = Focus::Prompt;
        }
    }
}
