//! A client's position in a thread: checks that it sees every event once, in order.

use std::sync::Arc;

use super::message::Incoming;

/// This client's position in a thread.
#[derive(Debug)]
pub struct Follow {
    /// The last seen event; `None` until the response to `thread/resume` contains the start.
    last: Option<u64>,
    /// The start of the subscription: earlier questions are sent again.
    base: u64,
    /// Messages that arrived before the start of the subscription was known.
    early: Vec<Arc<Incoming>>,
}

impl Follow {
    /// Starts at the beginning of a thread that this client has just created.
    pub fn anew() -> Self {
        Self::resumed(Some(0))
    }

    /// Starts a subscription that this client has requested, after an event or at the thread's current position.
    pub fn resumed(after: Option<u64>) -> Self {
        Self {
            last: after,
            base: after.unwrap_or(u64::MAX),
            early: Vec::new(),
        }
    }

    /// Handles the thread's latest event number: a subscription without a start begins there.
    pub fn begin(&mut self, latest: u64, gaps: bool) {
        if self.last.is_none() {
            self.last = Some(latest);
            self.base = latest;
            for message in std::mem::take(&mut self.early) {
                self.take(&message, gaps);
            }
        }
    }

    /// Checks that a message is the next one; with `gaps`, that it is a later one.
    pub fn take(&mut self, message: &Arc<Incoming>, gaps: bool) {
        let Some(last) = self.last else {
            return self.early.push(Arc::clone(message));
        };
        let seq = message.seq();
        if message.is_question() && seq <= self.base {
            return;
        }
        if gaps {
            assert!(seq > last, "seq {seq} after {last}: {message:?}");
        } else {
            assert_eq!(seq, last + 1, "seq {seq} after {last}: {message:?}");
        }
        self.last = Some(seq);
    }
}
