//! What the clients of one thread are sent together, encoded once for all of them.

use acpd_model::{Event, Seq};
use acpd_proto::surface::app::{Frame, frames};

/// Events that were stored together, as clients are sent them; or one frame that belongs to no event.
#[derive(Debug)]
pub struct Batch {
    /// The first event's number; 0 for what is only shown.
    pub first: Seq,
    /// The last event's number; for what is only shown, that of the event before it.
    pub last: Seq,
    /// One frame for each event that can be shown.
    pub frames: Vec<Frame>,
}

impl Batch {
    /// Encodes `events`, which are not empty.
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

    /// What is only shown, after the event `after`.
    pub fn shown(after: Seq, frame: Frame) -> Self {
        Self {
            first: 0,
            last: after,
            frames: vec![frame],
        }
    }

    /// Whether it belongs to no event.
    pub fn is_shown_only(&self) -> bool {
        self.first == 0
    }

    /// Puts what is only shown between the events where it belongs: nothing about an item may come after the
    /// item's end.
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

    /// The events up to `last`, and those after it.
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

    /// Events, of which some cannot be shown.
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
