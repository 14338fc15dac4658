//! Connections that are lost and found, and subscriptions that end.
//!
//! In: failures of requests that a lost connection has cut off, then the next connection. Out: prompts that are sent again.
//! Never: sends again what the daemon might carry out twice.

use std::time::Instant;

use super::exchange::{Abilities, Failure};
use super::requests::Pending;
use super::{App, Effect, End, RETRY};

impl App {
    /// Takes note that the connection was lost before the reply to a request.
    pub(super) fn cut_off(&mut self, token: u64, pending: Pending, now: Instant) {
        match pending {
            Pending::Start(prompt) => self.unsent.push((token, prompt)),
            Pending::Steer(text) => {
                self.give_back(&text);
                self.show_error("the connection was lost: look whether the message arrived", now);
            }
            Pending::Begin(_) => {
                self.show_error("the connection was lost: look whether the thread started", now);
            }
            Pending::Answer(request) => self.reopen(&request),
            Pending::Threads => {
                self.picker.take_if(|picker| picker.entries.is_none());
            }
            Pending::Set { .. } => self.setting = None,
            Pending::Older(_) => self.older.forget(),
            Pending::Newer(_) => self.is_loading_newer = false,
            Pending::Lanes => self.has_lanes = false,
            Pending::Snapshot => {
                self.is_reading = false;
                self.wants_snapshot = true;
            }
            Pending::SteerQueued | Pending::Interrupt | Pending::TakeBack(_) | Pending::Open { .. } => {}
        }
    }

    /// Takes note of a lost connection. Requests without a reply fail by themselves.
    pub fn handle_lost(&mut self, why: &str) {
        self.lost = Some(why.to_owned());
        self.suggested = None;
    }

    /// Continues on a new connection, on which the subscriptions continue by themselves.
    pub fn handle_connected(&mut self, abilities: Abilities, now: Instant) {
        self.lost = None;
        self.abilities = abilities;
        for question in &mut self.questions {
            question.may_answer = abilities.may_answer;
        }
        // If the log cannot be used, the daemon says so again.
        self.head.error = None;
        // Replies fail in any order.
        self.unsent.sort_unstable_by_key(|(token, _)| *token);
        for (_, prompt) in std::mem::take(&mut self.unsent) {
            self.start(prompt, now);
        }
        self.look_for_lanes();
    }

    /// Takes note that the subscription to a thread has ended.
    pub fn handle_unfollowed(&mut self, thread: &str, failure: &Failure, now: Instant) {
        if thread != self.thread {
            return;
        }
        if failure.is_final() {
            let why = failure.message.clone();
            self.effects.push_back(Effect::End(End::Failed(why)));
            return;
        }
        self.is_reading = false;
        self.wants_snapshot = true;
        self.retry_at = Some(now + RETRY);
        self.show_error(&failure.message, now);
    }
}
