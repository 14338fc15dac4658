//! The events of a thread, rewritten for a thread that is forked from it.

use acpd_model::{Event, EventKind, RequestId, ThreadId, TurnId};

/// The events of one thread as those of another.
#[derive(Debug)]
pub struct ThreadCopy {
    to: ThreadId,
    last: Option<TurnId>,
    settled: u32,
    is_whole: bool,
    events: Vec<Event>,
}

impl ThreadCopy {
    /// Begins a copy for the thread `to`, up to the end of the turn `last`, or of what was before any turn.
    pub fn new(to: ThreadId, last: Option<TurnId>) -> Self {
        Self {
            to,
            last,
            settled: 0,
            is_whole: false,
            events: Vec::new(),
        }
    }

    /// Takes the next event of the other thread, unless the copy is whole.
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
            // All turns up to that one were settled when it was chosen, though perhaps in another order.
            self.is_whole = self.last.is_some_and(|last| self.settled == last.0);
        }
        self.events.push(copy);
    }

    /// Whether nothing more is wanted.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The copy.
    pub fn into_events(self) -> Vec<Event> {
        self.events
    }

    /// A question's id names its thread.
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
