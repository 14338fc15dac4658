//! One client's way through one thread: catch up from the log, follow live, fall back to the log on lag.

use acpd_model::Seq;

/// Where a client stands. Whatever happens, it is handed the events after its cursor, in order, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    cursor: Seq,
    live: bool,
}

/// What to do with a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Hand on the events from this `seq`; the cursor has moved to the batch's end.
    Send {
        /// The first event that the client has not seen.
        from: Seq,
    },
    /// Nothing in it is new.
    Skip,
    /// Something before it is missing: read the log after this cursor.
    CatchUp {
        /// The last event that the client has seen.
        after: Seq,
    },
}

impl Subscription {
    /// A client that has seen everything up to `cursor`; it begins by reading the log.
    pub fn new(cursor: Seq) -> Self {
        Self { cursor, live: false }
    }

    /// The last event that the client has seen.
    pub fn cursor(&self) -> Seq {
        self.cursor
    }

    /// Whether the log is not needed at the moment.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Events `first..=last` were published.
    pub fn on_batch(&mut self, first: Seq, last: Seq) -> Step {
        if last <= self.cursor {
            return Step::Skip;
        }
        if first > self.cursor + 1 {
            self.live = false;
            return Step::CatchUp { after: self.cursor };
        }
        let from = self.cursor + 1;
        self.cursor = last;
        Step::Send { from }
    }

    /// A page of the log, up to `last`, was handed on; `at_end` if the log had no more.
    pub fn on_page(&mut self, last: Option<Seq>, at_end: bool) {
        self.cursor = last.map_or(self.cursor, |last| last.max(self.cursor));
        self.live = at_end;
    }

    /// Batches were dropped unseen.
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
        assert_eq!(s.on_batch(6, 8), Step::CatchUp { after: 3 });
        s.on_page(Some(7), true);
        assert_eq!(s.on_batch(6, 8), Step::Send { from: 8 });
        assert_eq!(s.on_batch(6, 8), Step::Skip);
        assert!(s.is_live());
        s.on_lag();
        assert!(!s.is_live());
    }

    proptest! {
        /// Batches and pages in any order: what is handed on is 1, 2, 3 … without gap or repeat.
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
                    Step::Send { from } => seen.extend(from..=last),
                    Step::Skip => {}
                    Step::CatchUp { after } => {
                        seen.extend(after + 1..=last);
                        s.on_page(Some(last), true);
                    }
                }
            }
            prop_assert_eq!(&seen, &(1..=s.cursor()).collect::<Vec<_>>());
        }
    }
}
