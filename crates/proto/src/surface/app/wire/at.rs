//! Where an event belongs.

use acpd_model::{Event, LaneId, Millis, Seq, TurnId};

use super::Plain;

wire! {
    /// Members of every event.
    struct At<'a> {
        thread_id: Plain<'a>,
        /// The event's number in its thread: 1, 2, 3 … without gaps.
        seq: Seq,
        /// Milliseconds since the epoch.
        ts: Millis as u64,
        /// The turn in which the event happened.
        turn_id: Option<TurnId>,
        /// The subagent that the event is about, as in `thread/lanes`; absent for the main agent.
        lane: Option<LaneId>,
    }
}

impl<'a> At<'a> {
    pub fn of(thread: &'a str, event: &Event) -> Self {
        Self::new(Plain(thread), event.seq, event.at, event.turn, event.lane)
    }
}
