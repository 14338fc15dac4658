//! Batches of events for the clients of one thread, encoded once for all of them.

use acpd_model::{Event, Seq};
use acpd_proto::surface::app::{Frame, frames};

/// Events that were stored together, as clients receive them; or one live frame that belongs to no event.
#[derive(Debug)]
pub struct Batch {
    /// The first event's number; 0 for a live frame.
    pub first: Seq,
    /// The last event's number; for a live frame, the number of the event before it.
    pub last: Seq,
    /// One frame for each event that clients can display.
    pub frames: Vec<Frame>,
}

impl Batch {
    /// Encodes `events`, which must not be empty.
    pub fn encode(thread: &str, events: &[Event]) -> Self {
        let (first, last) = (
            events.first().map_or(0, |e| e.seq),
            events.last().map_or(0, |e| e.seq),
        );
        Self {
            first,
            last,
            frames: frames(thread, events),
        }
    }

    /// Creates a batch for a live frame that follows the event `after`.
    pub fn shown(after: Seq, frame: Frame) -> Self {
        Self {
            first: 0,
            last: after,
            frames: vec![frame],
        }
    }

    /// Returns whether the batch is a live frame, which belongs to no event.
    pub fn is_shown_only(&self) -> bool {
        self.first == 0
    }

    /// Inserts live frames at their position between the events: nothing about an item may follow the item's end.
    pub fn in_order(stored: Option<Self>, shown: Vec<Self>) -> Vec<Self> {
        let mut ordered = Vec::with_capacity(shown.len() + 1);
        let mut rest = stored;
        for shown in shown {
            rest = rest.and_then(|events| {
                let (before, after) = events.split(shown.last);
                ordered.extend(before);
                after
            });
            ordered.push(shown);
        }
        ordered.extend(rest);
        ordered
    }

    /// Splits the batch into the events up to `last` and the events after it.
    fn split(mut self, last: Seq) -> (Option<Self>, Option<Self>) {
        if self.last <= last {
            return (Some(self), None);
        }
        if last < self.first {
            return (None, Some(self));
        }
        let at = self.frames.partition_point(|frame| frame.seq <= last);
        let after = Self {
            first: last + 1,
            last: self.last,
            frames: self.frames.split_off(at),
        };
        self.last = last;
        (Some(self), Some(after))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn frame(seq: Seq) -> Frame {
        Frame {
            seq,
            method: "",
            text: Bytes::new(),
            ask: None,
        }
    }

    /// Events, some of which clients cannot display.
    fn stored(first: Seq, last: Seq, seqs: &[Seq]) -> Batch {
        Batch {
            first,
            last,
            frames: seqs.iter().copied().map(frame).collect(),
        }
    }

    fn order(stored: impl Into<Option<Batch>>, after: &[Seq]) -> Vec<(Seq, Seq, Vec<Seq>)> {
        let shown = after.iter().map(|after| Batch::shown(*after, frame(0))).collect();
        let ordered = Batch::in_order(stored.into(), shown);
        let seqs = |batch: &Batch| batch.frames.iter().map(|frame| frame.seq).collect();
        ordered.iter().map(|b| (b.first, b.last, seqs(b))).collect()
    }

    #[test]
    fn what_is_only_shown_comes_where_it_happened() {
        let live = |after| (0, after, vec![0]);
        assert_eq!(order(None, &[7]), [live(7)]);
        assert_eq!(
            order(stored(5, 7, &[5, 6, 7]), &[6]),
            [(5, 6, vec![5, 6]), live(6), (7, 7, vec![7])]
        );
        assert_eq!(
            order(stored(5, 7, &[5, 6, 7]), &[4]),
            [live(4), (5, 7, vec![5, 6, 7])]
        );
        assert_eq!(
            order(stored(5, 7, &[5, 6, 7]), &[7]),
            [(5, 7, vec![5, 6, 7]), live(7)]
        );
        assert_eq!(
            order(stored(1, 9, &[2, 8]), &[4, 4, 8]),
            [
                (1, 4, vec![2]),
                live(4),
                live(4),
                (5, 8, vec![8]),
                live(8),
                (9, 9, vec![])
            ]
        );
    }
}
