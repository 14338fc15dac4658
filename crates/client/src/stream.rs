//! This client's subscription to one thread: which events its reader gets, and when missed ones are requested again.
//!
//! In: notifications, responses to `thread/resume`, and connections that open and break. Out: the next events in the
//! reader's buffer, and the requests that the connection should send. Never: stores events that the reader has not room
//! for; the daemon's log has them.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::error::Error;
use crate::inbox::Inbox;
use crate::protocol::{Notification, ThreadResumeParams, ThreadResumed};
use crate::received::Received;

/// Bytes of questions that are kept until the beginning is known. One question of any size is kept.
const EARLY_BYTES: usize = 1 << 20;

/// Where a subscription begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Follow {
    /// Number of the last event that the program knows; 0 for all events. Without it, the subscription begins with the next
    /// event.
    pub after: Option<u64>,
    /// Without `after`: the number of latest turns in [`Subscription::resumed`](crate::Subscription::resumed).
    pub limit: Option<u64>,
    /// Whether following starts the agent, so that the next turn begins sooner; by default, it does.
    pub start_agent: Option<bool>,
    /// Whether open questions are delivered again at the beginning and after each reconnect, also those with a number that
    /// was delivered before: for programs that begin without earlier events and answer questions. By default, each event is
    /// delivered once.
    pub repeat_questions: bool,
}

impl Follow {
    /// Follows a thread from its first event.
    pub fn all() -> Self {
        Self::after(0)
    }

    /// Follows a thread from the event after this one.
    pub fn after(seq: u64) -> Self {
        Self {
            after: Some(seq),
            ..Self::default()
        }
    }
}

/// A request that a stream needs.
#[derive(Debug, PartialEq)]
pub(crate) enum Wanted {
    Resume(ThreadResumeParams),
    Unsubscribe,
}

/// Reports the outcome of the first `thread/resume`.
pub(crate) type First = oneshot::Sender<Result<ThreadResumed, Error>>;

/// Questions that arrived before the beginning was known.
#[derive(Debug, Default)]
struct EarlyQuestions {
    kept: Vec<(Received, usize)>,
    bytes: usize,
    /// Whether there were more than fit.
    is_full: bool,
}

impl EarlyQuestions {
    fn push(&mut self, question: Received, bytes: usize) {
        if !self.kept.is_empty() && self.bytes.saturating_add(bytes) > EARLY_BYTES {
            self.is_full = true;
            return;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.kept.push((question, bytes));
    }
}

/// The subscription.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Tells it from earlier ones of the same thread.
    pub(crate) key: u64,
    pub(crate) thread_id: String,
    pub(crate) inbox: Arc<Inbox<Received>>,
    follow: Follow,
    backoff: Backoff,
    first: Option<First>,
    /// The last event that the buffer accepted.
    taken: Option<u64>,
    /// The last event that arrived before the beginning was known.
    early: u64,
    early_questions: EarlyQuestions,
    /// Whether the next event on the connection is the next one for the reader.
    synced: bool,
    /// Whether the daemon sends events.
    subscribed: bool,
    /// Whether a request has no response yet.
    busy: bool,
    /// Whether the buffer is full.
    paused: bool,
    /// Failures in a row.
    failures: u32,
    retry_at: Option<Instant>,
}

impl Stream {
    pub(crate) fn new(
        key: u64,
        thread_id: String,
        follow: Follow,
        backoff: Backoff,
        inbox: Arc<Inbox<Received>>,
        first: First,
    ) -> Self {
        Self {
            key,
            thread_id,
            inbox,
            taken: follow.after,
            follow,
            backoff,
            first: Some(first),
            early: 0,
            early_questions: EarlyQuestions::default(),
            synced: false,
            subscribed: false,
            busy: false,
            paused: false,
            failures: 0,
            retry_at: None,
        }
    }

    /// Returns the request to send now.
    pub(crate) fn wanted(&mut self, now: Instant) -> Option<Wanted> {
        if self.busy || self.retry_at.is_some_and(|at| at > now) {
            return None;
        }
        if self.paused {
            // Otherwise the daemon would send events for which there is no room.
            return std::mem::take(&mut self.subscribed).then_some(Wanted::Unsubscribe);
        }
        if self.synced {
            return None;
        }
        self.busy = true;
        self.retry_at = None;
        Some(Wanted::Resume(ThreadResumeParams {
            after: self.taken,
            limit: if self.taken.is_none() {
                self.follow.limit
            } else {
                None
            },
            start_agent: self.follow.start_agent,
            thread_id: self.thread_id.clone(),
        }))
    }

    /// Returns when the next request is due, if it waits for a time.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.retry_at.filter(|_| !self.busy && !self.paused)
    }

    /// Handles a notification about the thread, of so many bytes. Returns whether the stream has ended.
    pub(crate) fn take(&mut self, notification: Received, bytes: usize, now: Instant) -> bool {
        if self.paused {
            return false;
        }
        let seq = notification.seq();
        if let Some(seq) = seq {
            if self.taken.is_none() {
                self.early = self.early.max(seq);
                // It may have been answered before the beginning: an earlier subscription has left it on the connection.
                if self.follow.repeat_questions && notification.is_question() {
                    self.early_questions.push(notification, bytes);
                }
                return false;
            }
            let Some(taken) = self.taken.filter(|taken| *taken < seq) else {
                if self.follow.repeat_questions && notification.is_question() {
                    self.repeated(notification, bytes);
                }
                return false;
            };
            // The notice about lost events takes the place of all of them.
            let first = match &*notification {
                Notification::ThreadLogDamaged(damaged) => damaged.first_seq,
                _ => seq,
            };
            if first > taken.saturating_add(1) {
                self.missed(now);
                return false;
            }
        }
        let is_last = matches!(*notification, Notification::ThreadDeleted(_));
        if !self.inbox.push(notification, bytes) {
            // The log has it. What is only shown live has no number, and is in no log.
            self.paused = true;
            self.synced = false;
            return false;
        }
        if seq.is_some() {
            self.taken = seq;
            self.failures = 0;
        }
        if is_last {
            self.inbox.end(None);
        }
        is_last
    }

    /// Delivers a question that the daemon has sent because it is still open.
    fn repeated(&mut self, question: Received, bytes: usize) {
        if !self.inbox.push(question, bytes) {
            // The daemon repeats it when the client subscribes again.
            self.paused = true;
            self.synced = false;
        }
    }

    /// Requests the events of a gap. If the daemon keeps omitting events, less and less often.
    fn missed(&mut self, now: Instant) {
        if !self.busy && self.synced {
            self.synced = false;
            self.retry_at = (self.failures > 0).then(|| now + self.backoff.delay(self.failures));
            self.failures = self.failures.saturating_add(1);
        }
    }

    /// Handles a response to `thread/resume`.
    pub(crate) fn resumed(&mut self, resumed: ThreadResumed) {
        self.busy = false;
        self.subscribed = true;
        self.synced = !self.paused;
        if self.taken.is_none() {
            self.taken = Some(resumed.latest_seq);
            self.synced &= self.early <= resumed.latest_seq;
            self.begin_questions(&resumed);
        }
        if let Some(first) = self.first.take() {
            // A caller that does not wait for it any more has dropped the subscription.
            let _ = first.send(Ok(resumed));
        }
    }

    /// Delivers the early questions that are open at the beginning.
    fn begin_questions(&mut self, resumed: &ThreadResumed) {
        let early = std::mem::take(&mut self.early_questions);
        let open = &resumed.thread.pending_request_ids;
        for (question, bytes) in early.kept {
            if question
                .question_id()
                .is_some_and(|id| open.iter().any(|open| open == id))
            {
                self.repeated(question, bytes);
            }
        }
        if early.is_full {
            // The daemon repeats the others when the client subscribes again, once the reader has these.
            self.inbox.block();
            self.paused = true;
            self.synced = false;
        }
    }

    /// Handles a refused `thread/resume`. The caller of the first one learns why, and decides about a retry. Returns whether the
    /// stream has ended.
    pub(crate) fn refused(&mut self, error: Error, now: Instant) -> bool {
        self.busy = false;
        if matches!(error, Error::Disconnected(_) | Error::Closed) {
            return false;
        }
        if error.is_retryable() && self.first.is_none() {
            self.retry_at = Some(now + self.backoff.delay(self.failures));
            self.failures = self.failures.saturating_add(1);
            return false;
        }
        self.end(Some(error));
        true
    }

    /// Handles room in the buffer that was full.
    pub(crate) fn unpaused(&mut self) {
        self.paused = false;
    }

    /// Handles a new connection.
    pub(crate) fn opened(&mut self) {
        self.failures = 0;
    }

    /// Handles the loss of the connection.
    pub(crate) fn lost(&mut self) {
        self.early_questions = EarlyQuestions::default();
        self.synced = false;
        self.subscribed = false;
        self.busy = false;
        self.retry_at = None;
    }

    /// Ends the subscription; with an error, unless it was closed on purpose.
    pub(crate) fn end(&mut self, error: Option<Error>) {
        if let Some(first) = self.first.take() {
            // As above.
            let _ = first.send(Err(error.clone().unwrap_or(Error::Closed)));
        }
        self.inbox.end(error);
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::inbox::{Room, Taken};

    fn stream(follow: Follow, items: usize) -> (Stream, oneshot::Receiver<Result<ThreadResumed, Error>>) {
        let room = Room {
            items,
            bytes: 1 << 20,
        };
        let (first, outcome) = oneshot::channel();
        let inbox = Arc::new(Inbox::new(room));
        let stream = Stream::new(1, "t".to_owned(), follow, Backoff::default(), inbox, first);
        (stream, outcome)
    }

    fn event(seq: u64) -> Received {
        let params = json!({ "threadId": "t", "seq": seq, "ts": 0, "itemId": "i", "text": "x" });
        let params = serde_json::value::to_raw_value(&params).expect("it is JSON");
        Notification::read("item/agentMessage/delta", &params).into()
    }

    fn resumed(latest: u64) -> ThreadResumed {
        ThreadResumed {
            latest_seq: latest,
            thread: crate::tests::thread("t"),
        }
    }

    #[expect(clippy::option_option, reason = "nothing, an unsubscription, or a cursor")]
    fn after(stream: &mut Stream, now: Instant) -> Option<Option<u64>> {
        match stream.wanted(now)? {
            Wanted::Resume(params) => Some(params.after),
            Wanted::Unsubscribe => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_gap_is_requested_again_and_what_is_known_is_not_delivered() {
        let now = Instant::now();
        let (mut stream, _outcome) = stream(Follow::after(4), 100);
        assert_eq!(after(&mut stream, now), Some(Some(4)));
        assert_eq!(after(&mut stream, now), None, "one request at a time");
        stream.resumed(resumed(6));
        stream.take(event(4), 1, now);
        stream.take(event(5), 1, now);
        stream.take(event(7), 1, now);
        assert_eq!(after(&mut stream, now), Some(Some(5)), "6 is missing");
        stream.resumed(resumed(7));
        stream.take(event(7), 1, now);
        assert_eq!(after(&mut stream, now), None, "it waits before it asks again");
        let later = now + Duration::from_secs(1);
        assert_eq!(after(&mut stream, later), Some(Some(5)));
        stream.resumed(resumed(7));
        stream.take(event(6), 1, later);
        stream.take(event(7), 1, later);
        assert_eq!(stream.taken, Some(7));
        assert_eq!(after(&mut stream, later), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_buffer_unsubscribes_and_continues_where_it_ended() {
        let now = Instant::now();
        let (mut stream, _outcome) = stream(Follow::all(), 2);
        assert_eq!(after(&mut stream, now), Some(Some(0)));
        stream.resumed(resumed(4));
        for seq in 1..=4 {
            stream.take(event(seq), 1, now);
        }
        assert_eq!(stream.taken, Some(2));
        assert_eq!(stream.wanted(now), Some(Wanted::Unsubscribe));
        assert_eq!(stream.wanted(now), None, "once");
        stream.unpaused();
        assert_eq!(after(&mut stream, now), Some(Some(2)));
    }

    fn question(seq: u64) -> Received {
        let params = json!({
            "threadId": "t", "seq": seq, "ts": 0, "requestId": format!("r{seq}"), "title": "", "options": [], "subjects": [],
        });
        let params = serde_json::value::to_raw_value(&params).expect("it is JSON");
        Notification::read("item/permissions/requestApproval", &params).into()
    }

    /// Returns a response with open questions.
    fn asking(latest: u64, open: &[&str]) -> ThreadResumed {
        let mut resumed = resumed(latest);
        resumed.thread.pending_request_ids = open.iter().map(|id| (*id).to_owned()).collect();
        resumed
    }

    /// Returns the numbers of what the reader finds.
    fn found(stream: &Stream) -> Vec<u64> {
        let mut context = Context::from_waker(Waker::noop());
        let taken = std::iter::from_fn(|| match stream.inbox.poll(&mut context) {
            Poll::Ready(Taken::Item(notification)) => notification.seq(),
            _ => None,
        });
        taken.collect()
    }

    #[tokio::test(start_paused = true)]
    async fn open_questions_are_repeated_only_where_that_is_wanted() {
        let now = Instant::now();
        for (repeat_questions, expected) in [(true, vec![3, 2, 5, 3, 5]), (false, vec![5])] {
            let follow = Follow {
                repeat_questions,
                ..Follow::default()
            };
            let (mut stream, _outcome) = stream(follow, 100);
            assert_eq!(after(&mut stream, now), Some(None));
            // The daemon may send one before its response, also one that was answered meanwhile.
            stream.take(question(1), 1, now);
            stream.take(question(3), 1, now);
            stream.resumed(asking(4, &["r3"]));
            assert_eq!(after(&mut stream, now), None, "nothing is missing");
            stream.take(question(2), 1, now);
            stream.take(event(4), 1, now);
            stream.take(question(5), 1, now);
            stream.lost();
            stream.opened();
            assert_eq!(after(&mut stream, now), Some(Some(5)));
            stream.resumed(resumed(5));
            stream.take(question(3), 1, now);
            stream.take(question(5), 1, now);
            assert_eq!(found(&stream), expected, "{repeat_questions}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_repeated_question_without_room_is_repeated_later() {
        let now = Instant::now();
        let follow = Follow {
            repeat_questions: true,
            ..Follow::after(4)
        };
        let (mut stream, _outcome) = stream(follow, 1);
        assert_eq!(after(&mut stream, now), Some(Some(4)));
        stream.resumed(resumed(4));
        stream.take(question(1), 1, now);
        stream.take(question(2), 1, now);
        assert_eq!(found(&stream), [1]);
        assert_eq!(stream.wanted(now), Some(Wanted::Unsubscribe));
        stream.unpaused();
        assert_eq!(after(&mut stream, now), Some(Some(4)));
    }

    #[tokio::test(start_paused = true)]
    async fn early_questions_are_bounded_and_the_others_are_repeated_later() {
        let now = Instant::now();
        let follow = Follow {
            repeat_questions: true,
            ..Follow::default()
        };
        let (mut stream, _outcome) = stream(follow, 100);
        assert_eq!(after(&mut stream, now), Some(None));
        stream.take(question(1), EARLY_BYTES, now);
        stream.take(question(2), 1, now);
        stream.resumed(asking(4, &["r1", "r2"]));
        assert_eq!(found(&stream), [1]);
        assert_eq!(stream.wanted(now), Some(Wanted::Unsubscribe));
        stream.unpaused();
        assert_eq!(after(&mut stream, now), Some(Some(4)));
        // Those of a connection that breaks before its response are forgotten.
        let (mut stream, _outcome) = self::stream(
            Follow {
                repeat_questions: true,
                ..Follow::default()
            },
            100,
        );
        assert_eq!(after(&mut stream, now), Some(None));
        stream.take(question(1), 1, now);
        stream.lost();
        assert_eq!(after(&mut stream, now), Some(None));
        stream.resumed(asking(4, &["r1"]));
        assert_eq!(found(&stream), [0_u64; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_refusal_is_final_and_a_later_one_only_if_no_retry_helps() {
        let now = Instant::now();
        let (mut stream, mut outcome) = stream(Follow::default(), 2);
        let error = |retryable: bool| -> Error {
            let data = json!({ "code": "x", "retryable": retryable });
            let error = json!({ "code": -32000, "message": "no", "data": data });
            serde_json::from_value::<crate::protocol::Error>(error)
                .expect("it is an error")
                .into()
        };
        for retryable in [true, false] {
            let (mut stream, mut outcome) = self::stream(Follow::default(), 2);
            assert_eq!(after(&mut stream, now), Some(None));
            assert!(stream.refused(error(retryable), now));
            assert!(matches!(outcome.try_recv(), Ok(Err(Error::Refused(_)))));
        }
        assert_eq!(after(&mut stream, now), Some(None));
        stream.resumed(resumed(4));
        assert!(matches!(outcome.try_recv(), Ok(Ok(_))));
        stream.lost();
        assert_eq!(after(&mut stream, now), Some(Some(4)));
        assert!(!stream.refused(error(true), now));
        assert_eq!(stream.wanted(now), None);
        assert!(stream.due().is_some_and(|due| due > now));
        assert_eq!(after(&mut stream, now + Duration::from_secs(1)), Some(Some(4)));
        assert!(stream.refused(error(false), now));
    }
}
