//! Rewrites the events of a thread for a fork of that thread.

use acpd_model::{Event, EventKind, RequestId, ThreadId, TurnId};

/// Copies the events of one thread for another thread.
#[derive(Debug)]
pub struct ThreadCopy {
    to: ThreadId,
    last: Option<TurnId>,
    settled: u32,
    is_whole: bool,
    events: Vec<Event>,
}

impl ThreadCopy {
    /// Starts a copy for the thread `to`, up to the end of the turn `last`; with `None`, up to the first turn.
    pub fn new(to: ThreadId, last: Option<TurnId>) -> Self {
        Self {
            to,
            last,
            settled: 0,
            is_whole: false,
            events: Vec::new(),
        }
    }

    /// Adds the next event of the original thread, unless the copy is complete.
    pub fn fold(&mut self, event: &Event) {
        if self.last.is_none() && event.turn.is_some() {
            self.is_whole = true;
        }
        let later = event.turn.is_some() && event.turn > self.last;
        let unwanted = matches!(
            event.kind,
            EventKind::ThreadArchived {} | EventKind::ThreadUnarchived {} | EventKind::LeaseMoved { .. }
        );
        if self.is_whole || later || unwanted {
            return;
        }
        let mut copy = event.clone();
        copy.seq = self.events.len() as u64 + 1;
        self.readdress(&mut copy.kind);
        if matches!(copy.kind, EventKind::TurnSettled { .. }) {
            self.settled += 1;
            // When `last` was chosen, all turns up to it were settled, though perhaps in another order.
            self.is_whole = self.last.is_some_and(|last| self.settled == last.0);
        }
        self.events.push(copy);
    }

    /// Returns whether the copy is complete.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns the copied events.
    pub fn into_events(self) -> Vec<Event> {
        self.events
    }

    /// Replaces the thread in the ids of requests, which contain their thread's id.
    fn readdress(&self, kind: &mut EventKind) {
        let thread = self.to;
        let readdress = |request: &mut RequestId| request.thread = thread;
        match kind {
            EventKind::PermissionRequested { request, .. }
            | EventKind::InputRequested { request, .. }
            | EventKind::RequestSettled { request, .. }
            | EventKind::RequestVoided { request, .. } => readdress(request),
            _ => {}
        }
    }
}
