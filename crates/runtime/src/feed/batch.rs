//! Batches of events for the clients of one thread, encoded once for all clients of a lane.

use acpd_model::{Event, Millis, Seq, TurnId};
use acpd_proto::fanout::LiveUpdate;
use acpd_proto::surface::contract::{Lane, Source};
use acpd_proto::surface::frames::Frames;
use tokio::time::Instant;

use crate::room::Charge;

/// Events that were stored together, as the clients of one lane receive them; or a live update that belongs to no event.
#[derive(Debug)]
pub struct Batch {
    /// The first event's number; 0 for a live update.
    pub first: Seq,
    /// The last event's number; for a live update, the number of the event before it.
    pub last: Seq,
    /// The frames of the events. Events can have no frame.
    pub frames: Frames,
    /// Whether the frames are left out, because the subscribers have too many unread batches already.
    pub is_left_out: bool,
    /// The memory that the frames take until all subscribers have received them.
    pub charge: Option<Charge>,
    /// When the events were stored; `None` for events that are read from the log, and for live updates.
    pub stored_at: Option<Instant>,
}

/// An update that is shown live and not stored.
#[derive(Debug)]
pub struct Shown {
    /// The event before it.
    pub after: Seq,
    /// The turn that the update belongs to.
    pub turn: Option<TurnId>,
    /// When it was made.
    pub at: Millis,
    /// The update.
    pub update: LiveUpdate,
}

impl Batch {
    /// Encodes `events`, which must not be empty.
    pub fn encode(lane: Lane, thread: &str, events: &[Event]) -> Self {
        Self {
            first: events.first().map_or(0, |event| event.seq),
            last: events.last().map_or(0, |event| event.seq),
            frames: Frames::encode(lane, Source::Events { thread, events }),
            is_left_out: false,
            charge: None,
            stored_at: None,
        }
    }

    /// Names events that subscribers read from the log.
    pub fn left_out(lane: Lane, events: &[Event]) -> Self {
        Self {
            is_left_out: true,
            first: events.first().map_or(0, |event| event.seq),
            last: events.last().map_or(0, |event| event.seq),
            ..Self::encode(lane, "", &[])
        }
    }

    /// Encodes a live update.
    pub fn live(lane: Lane, thread: &str, shown: &Shown) -> Self {
        let Shown {
            after,
            turn,
            at,
            update,
        } = shown;
        let source = Source::Shown {
            thread,
            turn: *turn,
            at: *at,
            update,
        };
        Self {
            first: 0,
            last: *after,
            frames: Frames::encode(lane, source),
            is_left_out: false,
            charge: None,
            stored_at: None,
        }
    }

    /// Returns whether the batch is a live update, which belongs to no event.
    pub fn is_shown_only(&self) -> bool {
        self.first == 0
    }

    /// Encodes events, with live updates at their positions between them: nothing about an item may follow the item's end.
    pub fn in_order(lane: Lane, thread: &str, events: &[Event], shown: &[Shown]) -> Vec<Self> {
        let mut ordered = Vec::with_capacity(1 + 2 * shown.len());
        let mut rest = events;
        for shown in shown {
            let (before, after) = rest.split_at(rest.partition_point(|event| event.seq <= shown.after));
            if !before.is_empty() {
                ordered.push(Self::encode(lane, thread, before));
            }
            ordered.push(Self::live(lane, thread, shown));
            rest = after;
        }
        if !rest.is_empty() {
            ordered.push(Self::encode(lane, thread, rest));
        }
        ordered
    }
}

#[cfg(test)]
mod tests {
    use acpd_model::ItemId;
    use acpd_proto::fanout::LiveText;
    use acpd_proto::surface::app::Peer;

    use super::*;
    use crate::test_context::event;

    fn order(stored: std::ops::RangeInclusive<Seq>, after: &[Seq]) -> Vec<(Seq, Seq, Vec<Seq>)> {
        let events: Vec<_> = stored.map(event).collect();
        let update = LiveUpdate::Output(LiveText {
            item: ItemId(1),
            lane: None,
            terminal_id: String::new(),
            text: String::new(),
            skipped: 0,
        });
        let shown = |after: &Seq| Shown {
            after: *after,
            turn: None,
            at: 0,
            update: update.clone(),
        };
        let shown: Vec<_> = after.iter().map(shown).collect();
        let seqs = |batch: &Batch| batch.frames.of::<Peer>().iter().map(|frame| frame.seq).collect();
        let ordered = Batch::in_order(Lane::App, "t", &events, &shown);
        ordered.iter().map(|b| (b.first, b.last, seqs(b))).collect()
    }

    #[test]
    #[allow(clippy::reversed_empty_ranges, reason = "nothing was stored")]
    fn live_output_comes_where_it_happened() {
        let live = |after| (0, after, vec![0]);
        assert_eq!(order(1..=0, &[7]), [live(7)]);
        assert_eq!(order(5..=7, &[6]), [(5, 6, vec![5, 6]), live(6), (7, 7, vec![7])]);
        assert_eq!(order(5..=7, &[4]), [live(4), (5, 7, vec![5, 6, 7])]);
        assert_eq!(order(5..=7, &[7]), [(5, 7, vec![5, 6, 7]), live(7)]);
        assert_eq!(
            order(1..=5, &[2, 2, 4]),
            [
                (1, 2, vec![1, 2]),
                live(2),
                live(2),
                (3, 4, vec![3, 4]),
                live(4),
                (5, 5, vec![5])
            ]
        );
    }
}
