//! Requests to the daemon, and their replies.

use std::time::Instant;

use acpd_client::protocol::{
    Delivery, ThreadLanesParams, ThreadReadParams, ThreadResumed, TurnInterruptParams, TurnQueueSteerParams,
    TurnStartParams, TurnStatus, TurnSteerParams,
};

use super::exchange::{Failure, FailureKind, Reply, Request};
use super::head::Head;
use super::question::Answered;
use super::search::Towards;
use super::{App, Effect, RETRY};
use crate::attach::conversation::Source;
use crate::attach::conversation::scroll::Scroll;
use crate::client::REPLACES_NO_TURNS;
use crate::terminal::plain::plain_line;

/// Number of turns on a page, whose size the daemon limits as well.
pub const PAGE_TURNS: u64 = 20;

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
    /// The answer to a question.
    Answer(String),
    /// The newest page, in place of everything that is held.
    Snapshot,
    /// The page at this cursor, before the held ones or after them.
    Older(String),
    Newer(String),
    /// The names of the subagents.
    Lanes,
    /// The threads to pick from.
    Threads,
    /// A new thread, with the number of the pick.
    Begin(u64),
    /// Another thread.
    Open {
        pick: u64,
        thread: String,
    },
    /// The value of an option, and how it is called.
    Set {
        value: String,
        label: String,
    },
}

impl Pending {
    /// Returns whether the reply is about the thread that is shown.
    pub(super) fn is_of_thread(&self) -> bool {
        !matches!(self, Self::Threads | Self::Begin(_) | Self::Open { .. })
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
    /// Sends a request.
    pub(super) fn request(&mut self, request: Request, pending: Pending) {
        let token = self.await_reply(pending);
        self.effects.push_back(Effect::Request { token, request });
    }

    /// Subscribes to a thread.
    pub(super) fn follow(&mut self, thread: &str, pending: Pending) {
        let token = self.await_reply(pending);
        let thread = thread.to_owned();
        self.effects.push_back(Effect::Follow { token, thread });
    }

    fn await_reply(&mut self, pending: Pending) -> u64 {
        let token = self.next_token;
        self.next_token += 1;
        self.pending.insert(token, pending);
        token
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
            let params = TurnSteerParams {
                content: text.as_str().into(),
                thread_id: self.thread.clone(),
                turn_id: None,
            };
            self.request(Request::Steer(params), Pending::Steer(text));
            return true;
        }
        let id = format!("{}-{}", self.seed, self.next_token);
        self.show_message("sending…", now);
        self.start(Prompt { text, id, replaces }, now);
        true
    }

    pub(super) fn start(&mut self, prompt: Prompt, now: Instant) {
        // The daemon may have been replaced by an older one since the user began to edit.
        if let Some(turn) = &prompt.replaces
            && !self.abilities.replaces_turns
        {
            self.edit_again(turn.clone(), &prompt.text);
            self.show_error(REPLACES_NO_TURNS, now);
            return;
        }
        let params = TurnStartParams {
            client_turn_id: Some(prompt.id.clone()),
            replaces_turn_id: prompt.replaces.clone(),
            text: Some(prompt.text.clone()),
            thread_id: self.thread.clone(),
            ..TurnStartParams::default()
        };
        self.request(Request::StartTurn(params), Pending::Start(prompt));
    }

    /// Sends the first queued prompt into the running turn.
    pub(super) fn steer_queued(&mut self, now: Instant) {
        match self.head.queue.first() {
            Some(first) if self.head.is_running() && self.lost.is_none() => {
                let params = TurnQueueSteerParams {
                    thread_id: self.thread.clone(),
                    turn_id: first.turn.clone(),
                };
                self.request(Request::SteerQueued(params), Pending::SteerQueued);
            }
            _ => self.show_message("type a message for the running turn first", now),
        }
    }

    /// Takes the last queued prompt back into the input.
    pub(super) fn take_back(&mut self) {
        if let Some(last) = self.head.queue.last().cloned()
            && self.lost.is_none()
        {
            let params = TurnInterruptParams {
                thread_id: self.thread.clone(),
                turn_id: Some(last.turn),
                ..TurnInterruptParams::default()
            };
            self.request(Request::Interrupt(params), Pending::TakeBack(last.text));
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
        let params = TurnInterruptParams {
            at_once,
            thread_id: self.thread.clone(),
            turn_id: Some(turn),
            ..TurnInterruptParams::default()
        };
        self.request(Request::Interrupt(params), Pending::Interrupt);
    }

    /// Gives an answer to the question in the panel.
    pub(super) fn give(&mut self, answered: Answered, now: Instant) {
        let Some(question) = self.questions.front_mut() else {
            return;
        };
        match answered {
            Answered::Response(_) if self.lost.is_some() => {
                self.show_error("not connected: answer when the daemon is back", now);
            }
            Answered::Response(request) => {
                question.is_answered = true;
                let answered = Pending::Answer(question.request.clone());
                self.message = None;
                self.request(request, answered);
                self.leave_answer();
            }
            Answered::Next => self.answer.set(""),
            Answered::Refused(why) => self.show_error(why, now),
        }
    }

    pub(super) fn request_older(&mut self) {
        if let Some(cursor) = self.conversation.older().map(str::to_owned) {
            self.older.request(&cursor);
            self.request(self.page_at(&cursor), Pending::Older(cursor));
        }
    }

    /// Requests the names of the subagents, if one is shown that has none.
    pub(super) fn look_for_lanes(&mut self) {
        if self.may_look_for_lanes() && self.conversation.lacks_names() {
            self.request_lanes();
        }
    }

    /// Requests the names of the subagents, if this one has none. Of a busy one, there are many pieces of text in a second.
    pub(super) fn look_for_lane(&mut self, lane: &str) {
        if self.may_look_for_lanes() && self.conversation.lacks_name(lane) {
            self.request_lanes();
        }
    }

    fn may_look_for_lanes(&self) -> bool {
        !self.has_lanes && self.lost.is_none()
    }

    fn request_lanes(&mut self) {
        self.has_lanes = true;
        let params = ThreadLanesParams {
            thread_id: self.thread.clone(),
        };
        self.request(Request::ListLanes(params), Pending::Lanes);
    }

    pub(super) fn request_newer(&mut self, cursor: String) {
        self.is_loading_newer = true;
        self.request(self.page_at(&cursor), Pending::Newer(cursor));
    }

    fn page_at(&self, cursor: &str) -> Request {
        Request::ReadPage(ThreadReadParams {
            cursor: Some(cursor.to_owned()),
            include_turns: Some(true),
            limit: Some(PAGE_TURNS),
            thread_id: self.thread.clone(),
        })
    }

    pub(super) fn request_snapshot(&mut self) {
        self.wants_snapshot = false;
        self.is_reading = true;
        self.follow(&self.thread.clone(), Pending::Snapshot);
    }

    /// Takes the reply to a request.
    pub fn handle_reply(&mut self, token: u64, reply: Result<Reply, Failure>, now: Instant) {
        let Some(pending) = self.pending.remove(&token) else {
            return;
        };
        match reply {
            Ok(reply) => self.replied(pending, reply, now),
            Err(failure) if failure.kind == FailureKind::Lost => self.cut_off(token, pending, now),
            Err(failure) => self.refused(pending, &failure, now),
        }
    }

    fn replied(&mut self, pending: Pending, reply: Reply, now: Instant) {
        match (pending, reply) {
            (Pending::Start(_), Reply::Turn(turn)) if turn.status == TurnStatus::Queued => {
                self.show_message("queued: it starts when the turns before it are over", now);
            }
            (Pending::Start(_), _) => self.message = None,
            (Pending::Steer(_) | Pending::SteerQueued, reply) => {
                let delivery = if reply == Reply::Steered(Delivery::Queued) {
                    "queued, since the agent takes no messages in a running turn"
                } else {
                    "added to the running turn"
                };
                self.show_message(delivery, now);
            }
            (Pending::TakeBack(text), _) => {
                self.give_back(&text);
                self.show_message("the queued prompt is yours again", now);
            }
            (Pending::Snapshot, Reply::Followed(resumed)) => self.read_again(&resumed),
            (Pending::Older(cursor), Reply::Thread(page)) => {
                self.older.receive(&cursor, page);
                self.merge_older(now);
            }
            // The question goes when its resolution arrives as an event.
            (Pending::Interrupt | Pending::Answer(_), _) => {}
            (Pending::Lanes, Reply::Lanes(listed)) => self.conversation.add_lanes(&listed),
            (Pending::Threads, Reply::Threads(threads)) => self.threads_listed(&threads),
            (Pending::Begin(pick), Reply::Thread(thread)) => self.begun(pick, &thread.id, now),
            // The user may have picked another thread meanwhile, or sent a prompt.
            (Pending::Open { pick, thread }, _) if pick != self.picks || self.is_busy_sending(now) => {
                self.leave(&thread);
            }
            (Pending::Open { .. }, Reply::Followed(resumed)) => self.opened(&resumed),
            (Pending::Set { value, label }, _) => {
                self.setting.take_if(|(_, wanted)| *wanted == value);
                self.show_message(label, now);
            }
            (Pending::Newer(cursor), Reply::Thread(page)) => {
                self.is_loading_newer = false;
                // Meanwhile, the thread may have been read again.
                if self.conversation.newer() == Some(&Source::Cursor(cursor)) {
                    self.conversation.append(&page);
                    self.look_for_lanes();
                }
            }
            (
                pending @ (Pending::Snapshot
                | Pending::Lanes
                | Pending::Older(_)
                | Pending::Newer(_)
                | Pending::Threads
                | Pending::Begin(_)
                | Pending::Open { .. }),
                _,
            ) => {
                let failure = Failure::other("the reply is that of another request");
                self.refused(pending, &failure, now);
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
            }) if failure.kind == FailureKind::NotFound => {
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
            // The lines say "subagent" without a name. An older daemon has no names.
            Pending::Lanes => {}
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
            Pending::Answer(request) => {
                self.reopen(&request);
                if matches!(failure.kind, FailureKind::NotFound | FailureKind::Resolved) {
                    // Another client was first.
                    self.close_question(&request);
                }
                self.show_error(
                    format!("the answer was not accepted: {}", plain_line(message)),
                    now,
                );
            }
            Pending::Snapshot => self.handle_unfollowed(&self.thread.clone(), failure, now),
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
    fn read_again(&mut self, resumed: &ThreadResumed) {
        let thread = &resumed.thread;
        self.is_reading = false;
        self.older.forget();
        let was_newer_dropped = self.conversation.newer().is_some();
        self.conversation.open_again(thread);
        self.head = Head::read(thread);
        self.seq = resumed.latest_seq;
        self.keep_open(&thread.pending_request_ids);
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
        self.look_for_lanes();
    }

    /// Drops questions that are not among the open ones.
    fn keep_open(&mut self, open: &[String]) {
        let before = self.questions.front().map(|question| question.request.clone());
        self.questions.retain(|question| open.contains(&question.request));
        if before.as_ref() != self.questions.front().map(|question| &question.request) {
            self.leave_answer();
        }
    }

    /// Adds the older page, if it has arrived, and continues a search in it.
    pub(super) fn merge_older(&mut self, now: Instant) {
        if !self.older.merge(&mut self.conversation, self.seq) {
            return;
        }
        self.look_for_lanes();
        if self.search.as_ref().is_some_and(|search| search.is_loading) {
            self.search_on(Towards::Older, now);
        }
    }

    /// Lets a question be answered again.
    pub(super) fn reopen(&mut self, request: &str) {
        if let Some(question) = self.questions.iter_mut().find(|known| known.request == request) {
            question.is_answered = false;
        }
    }
}
