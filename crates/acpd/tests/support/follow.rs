//! Where a client stands in a thread: it sees every event once, in order.

use std::sync::Arc;

use super::message::Incoming;

/// Where this client stands in a thread.
#[derive(Debug)]
pub struct Follow {
    /// The last event seen; `None` until `thread/resume` has said where it begins.
    last: Option<u64>,
    /// Where the subscription began: questions from before are asked again.
    base: u64,
    /// What came before it was known where the subscription begins.
    early: Vec<Arc<Incoming>>,
}

impl Follow {
    /// A thread that this client has just started.
    pub fn anew() -> Self {
        Self::resumed(Some(0))
    }

    /// A thread that this client has asked for, after an event or from wherever it stands.
    pub fn resumed(after: Option<u64>) -> Self {
        Self {
            last: after,
            base: after.unwrap_or(u64::MAX),
            early: Vec::new(),
        }
    }

    /// The daemon has said where the thread stands: a subscription without a beginning begins there.
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
