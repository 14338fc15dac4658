//! Requests to the daemon, their replies, and what becomes of them when the connection is lost.

use std::time::Instant;

use serde_json::{Value, json};

use super::head::Head;
use super::question::Answered;
use super::search::Towards;
use super::{App, Effect, End, Failure, RETRY};
use crate::attach::conversation::scroll::Scroll;
use crate::attach::conversation::{Conversation, Source};
use crate::client::REPLACES_NO_TURNS;

/// Number of turns on a page, whose size the daemon limits as well.
pub const PAGE_TURNS: usize = 20;

/// A request that awaits its reply.
#[derive(Debug)]
pub enum Pending {
    /// `turn/start`.
    Start(Prompt),
    /// `turn/steer`, with its text.
    Steer(String),
    /// A queued turn into the running one.
    SteerQueued,
    Interrupt,
    /// A queued prompt back into the input.
    TakeBack(String),
    /// The events after the last one that was received.
    Resume,
    /// The newest page, in place of everything that is held.
    Snapshot,
    /// The page at this cursor, before the held ones or after them.
    Older(String),
    Newer(String),
    /// The threads to pick from.
    Threads,
    /// A new thread, with the number of the pick.
    Begin(u64),
    /// Another thread.
    Open {
        pick: u64,
        thread: String,
    },
    /// The end of the subscription to the thread before.
    Leave,
    /// The value of an option, and how it is called.
    Set {
        value: String,
        label: String,
    },
}

impl Pending {
    /// Returns whether the reply is about the thread that is shown.
    pub(super) fn is_of_thread(&self) -> bool {
        !matches!(
            self,
            Self::Threads | Self::Begin(_) | Self::Open { .. } | Self::Leave
        )
    }
}

/// A prompt with the id under which the daemon carries it out once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    text: String,
    id: String,
    /// The turn in whose place it is sent.
    replaces: Option<String>,
}

impl App {
    pub(super) fn request(&mut self, method: &'static str, mut params: Value, pending: Pending) {
        params["threadId"] = json!(self.thread);
        self.request_elsewhere(method, params, pending);
    }

    /// Sends a request that is not about the current thread.
    pub(super) fn request_elsewhere(&mut self, method: &'static str, params: Value, pending: Pending) {
        let token = self.next_token;
        self.next_token += 1;
        self.pending.insert(token, pending);
        self.effects.push_back(Effect::Request {
            token,
            method,
            params,
        });
    }

    /// Sends the prompt of the input. Returns whether it was sent.
    pub(super) fn send(&mut self, steer: bool, now: Instant) -> bool {
        if self.prompt.text().trim().is_empty() {
            return false;
        }
        if self.lost.is_some() {
            self.show_error(
                "not connected: the prompt stays here until the daemon is back",
                now,
            );
            return false;
        }
        if self.edit.is_some() && (self.head.is_running() || !self.head.queue.is_empty()) {
            self.show_error(
                "a turn runs or is queued: end it first, or press Esc to leave this prompt",
                now,
            );
            return false;
        }
        let text = self.prompt.take();
        let replaces = self.edit.as_ref().map(|edit| edit.turn.clone());
        // The input is empty now, so this restores the draft alone.
        self.leave_edit();
        self.scroll_to_end();
        if steer && self.head.is_running() {
            self.show_message("sending it into the running turn…", now);
            self.request("turn/steer", json!({ "content": text }), Pending::Steer(text));
            return true;
        }
        let id = format!("{}-{}", self.seed, self.next_token);
        self.show_message("sending…", now);
        self.start(Prompt { text, id, replaces }, now);
        true
    }

    fn start(&mut self, prompt: Prompt, now: Instant) {
        let mut params = json!({ "text": prompt.text, "clientTurnId": prompt.id });
        if let Some(turn) = &prompt.replaces {
            // The daemon may have been replaced by an older one since the user began to edit.
            if !self.replaces_turns {
                self.edit_again(turn.clone(), &prompt.text);
                self.show_error(REPLACES_NO_TURNS, now);
                return;
            }
            params["replacesTurnId"] = json!(turn);
        }
        self.request("turn/start", params, Pending::Start(prompt));
    }

    /// Sends the first queued prompt into the running turn.
    pub(super) fn steer_queued(&mut self, now: Instant) {
        match self.head.queue.first() {
            Some(first) if self.head.is_running() && self.lost.is_none() => {
                let params = json!({ "turnId": first.turn });
                self.request("turn/queue/steer", params, Pending::SteerQueued);
            }
            _ => self.show_message("type a message for the running turn first", now),
        }
    }

    /// Takes the last queued prompt back into the input.
    pub(super) fn take_back(&mut self) {
        if let Some(last) = self.head.queue.last().cloned()
            && self.lost.is_none()
        {
            let params = json!({ "turnId": last.turn });
            self.request("turn/interrupt", params, Pending::TakeBack(last.text));
        }
    }

    /// Interrupts the running turn; terminates the agent if that was done before.
    pub(super) fn interrupt(&mut self, now: Instant) {
        let Some(turn) = self.head.turn.clone() else {
            return;
        };
        if self.lost.is_some() {
            self.show_error("not connected: the turn cannot be interrupted now", now);
            return;
        }
        let at_once = self.head.is_interrupting;
        self.show_message(
            if at_once {
                "terminating the agent…"
            } else {
                "interrupting; Esc Esc again terminates the agent"
            },
            now,
        );
        let params = json!({ "turnId": turn, "atOnce": at_once });
        self.request("turn/interrupt", params, Pending::Interrupt);
    }

    /// Gives an answer to the question in the panel.
    pub(super) fn give(&mut self, answered: Answered, now: Instant) {
        let Some(question) = self.questions.front_mut() else {
            return;
        };
        match answered {
            Answered::Response(..) if self.lost.is_some() => {
                self.show_error("not connected: answer when the daemon is back", now);
            }
            Answered::Response(id, result) => {
                question.is_answered = true;
                self.message = None;
                self.effects.push_back(Effect::Respond { id, result });
                self.leave_answer();
            }
            Answered::Next => self.answer.set(""),
            Answered::Refused(why) => self.show_error(why, now),
        }
    }

    pub(super) fn request_older(&mut self) {
        if let Some(cursor) = self.conversation.older().map(str::to_owned) {
            self.older.request(&cursor);
            self.request("thread/read", page_at(&cursor), Pending::Older(cursor));
        }
    }

    pub(super) fn request_newer(&mut self, cursor: String) {
        self.is_loading_newer = true;
        self.request("thread/read", page_at(&cursor), Pending::Newer(cursor));
    }

    pub(super) fn request_snapshot(&mut self) {
        self.wants_snapshot = false;
        self.is_reading = true;
        let params = json!({ "limit": PAGE_TURNS, "startAgent": false });
        self.request("thread/resume", params, Pending::Snapshot);
    }

    /// Takes the reply to a request.
    pub fn handle_reply(&mut self, token: u64, reply: Result<Value, Failure>, now: Instant) {
        let Some(pending) = self.pending.remove(&token) else {
            return;
        };
        match reply {
            Ok(result) => self.replied(pending, result, now),
            Err(failure) => self.refused(pending, &failure, now),
        }
    }

    fn replied(&mut self, pending: Pending, mut result: Value, now: Instant) {
        match pending {
            Pending::Start(_) if result["turn"]["status"] == "queued" => {
                self.show_message("queued: it starts when the turns before it are over", now);
            }
            Pending::Start(_) => self.message = None,
            Pending::Steer(_) | Pending::SteerQueued => {
                let delivery = if result["delivery"] == "queued" {
                    "queued, since the agent takes no messages in a running turn"
                } else {
                    "added to the running turn"
                };
                self.show_message(delivery, now);
            }
            Pending::TakeBack(text) => {
                self.give_back(&text);
                self.show_message("the queued prompt is yours again", now);
            }
            Pending::Resume => {
                self.head.error = result["thread"]["error"].as_str().map(str::to_owned);
                self.keep_open(&result["thread"]["pendingRequestIds"]);
                for prompt in std::mem::take(&mut self.unsent) {
                    self.start(prompt, now);
                }
            }
            Pending::Snapshot => self.read_again(&result, now),
            Pending::Older(cursor) => {
                self.older.receive(&cursor, result["thread"].take());
                self.merge_older(now);
            }
            Pending::Interrupt | Pending::Leave => {}
            Pending::Threads => self.threads_listed(&result),
            Pending::Begin(pick) => self.begun(pick, &result, now),
            // The user may have picked another thread meanwhile, or sent a prompt.
            Pending::Open { pick, thread } if pick != self.picks || self.is_busy_sending(now) => {
                self.leave(&thread);
            }
            Pending::Open { .. } => self.opened(&result),
            Pending::Set { value, label } => {
                self.setting.take_if(|(_, wanted)| *wanted == value);
                self.show_message(label, now);
            }
            Pending::Newer(cursor) => {
                self.is_loading_newer = false;
                // Meanwhile, the thread may have been read again.
                if self.conversation.newer() == Some(&Source::Cursor(cursor)) {
                    self.conversation.append(&result["thread"]);
                }
            }
        }
    }

    fn refused(&mut self, pending: Pending, failure: &Failure, now: Instant) {
        let message = &failure.message;
        match pending {
            Pending::Start(Prompt {
                text,
                replaces: Some(_),
                ..
            }) if failure.is_not_found => {
                self.give_back(&text);
                self.show_error(
                    "not sent: that prompt has left the conversation; Enter sends this as a new one",
                    now,
                );
            }
            Pending::Start(Prompt {
                text,
                replaces: Some(turn),
                ..
            }) => {
                self.edit_again(turn, &text);
                self.show_error(format!("not sent: {message}"), now);
            }
            Pending::Start(Prompt { text, .. }) | Pending::Steer(text) => {
                self.give_back(&text);
                self.show_error(format!("not sent: {message}"), now);
            }
            Pending::Open { pick, .. } if pick != self.picks => {}
            Pending::SteerQueued
            | Pending::TakeBack(_)
            | Pending::Interrupt
            | Pending::Begin(_)
            | Pending::Open { .. } => self.show_error(message, now),
            Pending::Threads => {
                self.picker.take_if(|picker| picker.entries.is_none());
                self.show_error(message, now);
            }
            Pending::Set { .. } => {
                self.setting = None;
                self.show_error(message, now);
            }
            // The subscription is of no use either way: messages about other threads are ignored.
            Pending::Leave => {}
            Pending::Resume | Pending::Snapshot if failure.is_final => {
                self.effects.push_back(Effect::End(End::Failed(message.clone())));
            }
            Pending::Resume | Pending::Snapshot => {
                // A snapshot serves both, and needs no events of the log.
                self.is_reading = false;
                self.wants_snapshot = true;
                self.retry_at = Some(now + RETRY);
                self.show_error(message, now);
            }
            Pending::Older(_) | Pending::Newer(_) => {
                self.older.forget();
                self.is_loading_newer = false;
                self.retry_at = Some(now + RETRY);
                self.show_error(format!("older turns cannot be loaded: {message}"), now);
            }
        }
    }

    /// Puts a text back into the input, before what was typed since.
    pub(super) fn give_back(&mut self, text: &str) {
        let typed = self.prompt.text();
        let both = if typed.is_empty() {
            text.to_owned()
        } else {
            format!("{text}\n{typed}")
        };
        self.prompt.set(&both);
    }

    /// Replaces everything that is held by the newest page.
    fn read_again(&mut self, resumed: &Value, now: Instant) {
        let thread = &resumed["thread"];
        self.is_reading = false;
        self.older.forget();
        let was_newer_dropped = self.conversation.newer().is_some();
        self.conversation = Conversation::open(thread);
        self.head = Head::read(thread);
        self.seq = resumed["latestSeq"].as_u64().unwrap_or_default();
        self.keep_open(&thread["pendingRequestIds"]);
        let is_held = match &self.scroll {
            Scroll::End => true,
            Scroll::At { entry, .. } => self.conversation.find(entry).is_some(),
        };
        if !is_held {
            let first = self.conversation.entries().front().filter(|_| was_newer_dropped);
            self.scroll = first.map_or(Scroll::End, |first| Scroll::At {
                entry: first.id.clone(),
                row: 0,
            });
        }
        for prompt in std::mem::take(&mut self.unsent) {
            self.start(prompt, now);
        }
    }

    /// Drops questions that are not among the open ones.
    fn keep_open(&mut self, open: &Value) {
        let is_open = |request: &str| {
            open.as_array()
                .is_some_and(|open| open.iter().any(|id| *id == *request))
        };
        let before = self.questions.front().map(|question| question.request.clone());
        self.questions.retain(|question| is_open(&question.request));
        if before.as_ref() != self.questions.front().map(|question| &question.request) {
            self.leave_answer();
        }
    }

    /// Adds the older page, if it has arrived, and continues a search in it.
    pub(super) fn merge_older(&mut self, now: Instant) {
        if self.older.merge(&mut self.conversation, self.seq)
            && self.search.as_ref().is_some_and(|search| search.is_loading)
        {
            self.search_on(Towards::Older, now);
        }
    }

    /// Takes note that a response could not be sent.
    pub fn handle_unanswered(&mut self, now: Instant) {
        for question in &mut self.questions {
            question.is_answered = false;
        }
        self.show_error(
            "the answer was not sent: the daemon takes no more messages; try again",
            now,
        );
    }

    /// Takes note of a lost connection.
    pub fn handle_lost(&mut self, why: &str, now: Instant) {
        if self.lost.is_none() {
            self.older.forget();
            self.is_loading_newer = false;
            self.wants_snapshot |= self.is_reading;
            self.is_reading = false;
            self.setting = None;
            self.picker.take_if(|picker| picker.entries.is_none());
            let mut pending: Vec<_> = self.pending.drain().collect();
            pending.sort_unstable_by_key(|(token, _)| *token);
            for (_, pending) in pending {
                match pending {
                    Pending::Start(prompt) => self.unsent.push(prompt),
                    Pending::Steer(text) => {
                        self.give_back(&text);
                        self.show_error("the connection was lost: look whether the message arrived", now);
                    }
                    Pending::Begin(_) => {
                        self.show_error("the connection was lost: look whether the thread started", now);
                    }
                    _ => {}
                }
            }
        }
        self.lost = Some(why.to_owned());
    }

    /// Continues on a new connection. `replaces_turns`: whether its daemon sends a prompt in place of an earlier one.
    pub fn handle_connected(&mut self, replaces_turns: bool) {
        self.lost = None;
        self.replaces_turns = replaces_turns;
        for question in &mut self.questions {
            question.is_answered = false;
        }
        if self.wants_snapshot {
            self.request_snapshot();
        } else {
            let params = json!({ "after": self.seq, "startAgent": false });
            self.request("thread/resume", params, Pending::Resume);
        }
    }
}

fn page_at(cursor: &str) -> Value {
    json!({ "includeTurns": true, "cursor": cursor, "limit": PAGE_TURNS })
}
