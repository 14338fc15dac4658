//! The position of one client in one thread: it catches up from the log, follows live batches, and returns to the log
//! on lag.

use acpd_model::Seq;

/// A client's position. The client receives the events after its cursor, in order, each exactly once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    cursor: Seq,
    live: bool,
}

/// How to handle a batch or a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchAction {
    /// Send the events from this `seq` on; the cursor has moved to the end of the batch.
    Send {
        /// The first event that the client has not received.
        from: Seq,
    },
    /// The batch contains no new events.
    Skip,
    /// Events before the batch are missing: read the log after this cursor.
    CatchUp {
        /// The last event that the client has received.
        after: Seq,
    },
}

impl Subscription {
    /// Creates a subscription for a client that has received everything up to `cursor`; it starts by reading the log.
    pub fn new(cursor: Seq) -> Self {
        Self { cursor, live: false }
    }

    /// Returns the last event that the client has received.
    pub fn cursor(&self) -> Seq {
        self.cursor
    }

    /// Returns whether the client follows live batches and does not need the log.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Handles a published batch of the events `first..=last`.
    pub fn on_batch(&mut self, first: Seq, last: Seq) -> BatchAction {
        if last <= self.cursor {
            return BatchAction::Skip;
        }
        if first > self.cursor + 1 {
            self.live = false;
            return BatchAction::CatchUp { after: self.cursor };
        }
        let from = self.cursor + 1;
        self.cursor = last;
        BatchAction::Send { from }
    }

    /// Records that a page of the log, up to `last`, was sent; `at_end` if the log had no more events.
    pub fn on_page(&mut self, last: Option<Seq>, at_end: bool) {
        self.cursor = last.map_or(self.cursor, |last| last.max(self.cursor));
        self.live = at_end;
    }

    /// Records that batches were dropped before they were handled.
    pub fn on_lag(&mut self) {
        self.live = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_gap_sends_it_to_the_log() {
        let mut s = Subscription::new(3);
        assert_eq!(s.on_batch(6, 8), BatchAction::CatchUp { after: 3 });
        s.on_page(Some(7), true);
        assert_eq!(s.on_batch(6, 8), BatchAction::Send { from: 8 });
        assert_eq!(s.on_batch(6, 8), BatchAction::Skip);
        assert!(s.is_live());
        s.on_lag();
        assert!(!s.is_live());
    }

    proptest! {
        /// With batches and pages in any order, the client receives 1, 2, 3 … without gap or repeat.
        #[test]
        fn each_event_once_and_in_order(cuts in prop::collection::vec(1u64..5, 1..20), lost in prop::collection::vec(any::<bool>(), 20)) {
            let mut s = Subscription::new(0);
            let mut seen = Vec::new();
            let mut last = 0;
            for (size, lost) in cuts.iter().zip(lost) {
                let first = last + 1;
                last += size;
                if lost {
                    continue;
                }
                match s.on_batch(first, last) {
                    BatchAction::Send { from } => seen.extend(from..=last),
                    BatchAction::Skip => {}
                    BatchAction::CatchUp { after } => {
                        seen.extend(after + 1..=last);
                        s.on_page(Some(last), true);
                    }
                }
            }
            prop_assert_eq!(&seen, &(1..=s.cursor()).collect::<Vec<_>>());
        }
    }
}
