//! Counts events by group, and turns by status.

use acpd_model::event::{MetricGroup, TurnStatus};
use acpd_model::{Event, EventKind, SessionEvent, ThreadEvent, TurnEvent};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::metrics::labels::Labels;

pub(super) const STATUSES: [&str; 5] = ["completed", "interrupted", "failed", "refused", "limited"];

/// Counters for events. They are resolved once, so that counting an event is an array index.
#[derive(Debug)]
pub(super) struct Counted {
    events: Family<Labels, Counter>,
    turns: Family<Labels, Counter>,
    by_group: [Counter; MetricGroup::ALL.len()],
    by_status: [Counter; STATUSES.len()],
    started: Counter,
}

/// Further counts from a batch of events.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    /// Threads that were created.
    pub threads: u64,
    /// Agents that exited unexpectedly.
    pub lost: u64,
}

impl Default for Counted {
    fn default() -> Self {
        let (events, turns) = (
            Family::<Labels, Counter>::default(),
            Family::<Labels, Counter>::default(),
        );
        let by_group =
            MetricGroup::ALL.map(|group| events.get_or_create(&[("group", group.label())]).clone());
        let by_status = STATUSES.map(|status| turns.get_or_create(&[("status", status)]).clone());
        Self {
            events,
            turns,
            by_group,
            by_status,
            started: Counter::default(),
        }
    }
}

impl Counted {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "events",
            "Events in the log, by what they are about",
            self.events.clone(),
        );
        registry.register("turns_started", "Turns that have begun", self.started.clone());
        registry.register(
            "turns",
            "Turns that are over, by how they ended",
            self.turns.clone(),
        );
    }

    /// Counts stored events, with one addition for each group among them.
    pub(super) fn count(&self, events: &[Event]) -> Seen {
        let mut groups = [0; MetricGroup::ALL.len()];
        let mut seen = Seen::default();
        for event in events {
            groups[event.kind.metric_group() as usize] += 1;
            match &event.kind {
                EventKind::Thread(ThreadEvent::Created(_)) => seen.threads += 1,
                EventKind::Session(SessionEvent::AgentLost { expected: false, .. }) => seen.lost += 1,
                EventKind::Turn(TurnEvent::Started { .. }) => {
                    self.started.inc();
                }
                EventKind::Turn(TurnEvent::Settled { status, .. }) => {
                    self.by_status[place(*status)].inc();
                }
                _ => {}
            }
        }
        for (counter, count) in self.by_group.iter().zip(groups) {
            if count > 0 {
                counter.inc_by(count);
            }
        }
        seen
    }
}

pub(super) fn place(status: TurnStatus) -> usize {
    match status {
        TurnStatus::Completed => 0,
        TurnStatus::Interrupted => 1,
        TurnStatus::Failed => 2,
        TurnStatus::Refused => 3,
        TurnStatus::Limited => 4,
    }
}
