//! Messages of the daemon.

use std::time::Instant;

use super::question::Question;
use super::{App, Focus};
use crate::attach::conversation::HELD_BYTES;
use crate::attach::conversation::entry::originator;
use crate::attach::conversation::fold::Folded;
use crate::incoming::Incoming;
use crate::terminal::plain::plain_line;

impl App {
    /// Folds a notification, or takes a question.
    pub fn handle_message(&mut self, incoming: &Incoming, now: Instant) {
        let (method, params) = (&*incoming.method, &incoming.params);
        if params["threadId"] != *self.thread {
            return;
        }
        if method == "serverRequest/rejected" {
            self.rejected(incoming, now);
            return;
        }
        let question = Question::read(incoming, usize::from(self.size().0));
        let is_question = question.is_some();
        if let Some(seq) = params["seq"].as_u64() {
            let is_next = seq == self.seq + 1 || method == "thread/log/damaged";
            if seq > self.seq && !is_next {
                // Events are missing: this client or the daemon is at fault. The log has them all.
                self.wants_snapshot = true;
                return;
            }
            if seq <= self.seq && !is_question {
                return;
            }
            self.seq = self.seq.max(seq);
        }
        if let Some(question) = question {
            self.ask(question);
        } else {
            self.fold(incoming, now);
        }
        self.merge_older(now);
        if self.conversation.bytes() > HELD_BYTES && self.conversation.shrink(self.top().entry) {
            self.wants_snapshot = true;
        }
    }

    fn fold(&mut self, incoming: &Incoming, now: Instant) {
        let (method, params) = (&*incoming.method, &incoming.params);
        self.head.fold(method, params);
        match self.conversation.fold(method, params) {
            Folded::Done => {}
            Folded::NotHeld => self.older.miss(method, params, incoming.text.len()),
            Folded::ReadAgain => self.wants_snapshot = true,
        }
        match method {
            "serverRequest/resolved" => {
                let request = params["requestId"].as_str().unwrap_or_default();
                self.resolved(request, &originator(&params["by"]), now);
            }
            // The message is about the turn before.
            "turn/started" | "turn/completed" if !params["turn"]["startedAt"].is_null() => {
                self.escape_until = None;
                self.message.take_if(|message| !message.is_error);
            }
            "turn/completed" if params["turn"]["startedAt"].is_null() => {
                self.show_message("a queued prompt was taken back", now);
            }
            "thread/deleted" => {
                let by = originator(&params["by"]);
                self.show_error(format!("the thread was deleted by {by}; Ctrl+D leaves"), now);
            }
            _ => {}
        }
    }

    /// Adds a question. The daemon repeats open ones when a client subscribes.
    fn ask(&mut self, question: Question) {
        match self
            .questions
            .iter_mut()
            .find(|known| known.request == question.request)
        {
            Some(known) => known.renew(question),
            None => self.questions.push_back(question),
        }
    }

    /// Removes a question that is not open any more.
    fn resolved(&mut self, request: &str, by: &str, now: Instant) {
        let Some(at) = self
            .questions
            .iter()
            .position(|question| question.request == request)
        else {
            return;
        };
        let Some(question) = self.questions.remove(at) else {
            return;
        };
        if !question.is_answered {
            self.show_message(format!("the question was answered by {by}"), now);
        }
        if at == 0 {
            self.leave_answer();
        }
    }

    fn rejected(&mut self, incoming: &Incoming, now: Instant) {
        let request = incoming.params["requestId"].as_str().unwrap_or_default();
        let message = incoming.params["error"]["message"]
            .as_str()
            .unwrap_or("no reason given");
        if let Some(question) = self.questions.iter_mut().find(|known| known.request == request) {
            question.is_answered = false;
        }
        self.show_error(
            format!("the answer was not accepted: {}", plain_line(message)),
            now,
        );
    }

    /// Empties the answer, and returns to the prompt.
    pub(super) fn leave_answer(&mut self) {
        self.answer.set("");
        if self.focus == Focus::Answer {
            self.focus = Focus::Prompt;
        }
    }
}
