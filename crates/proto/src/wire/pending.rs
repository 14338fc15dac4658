//! Requests of ours that wait for an answer.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::time::Instant;

/// Requests in flight towards one peer, under numbers counted from 0 or from where the caller says, each with a note `T` of what it was
/// for and perhaps a moment by which it must be answered.
#[derive(Debug)]
pub struct Pending<T> {
    next: u64,
    waiting: BTreeMap<u64, (T, Option<Instant>)>,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self::starting_at(0)
    }
}

impl<T> Pending<T> {
    /// None in flight; the next one has this id.
    pub fn starting_at(next: u64) -> Self {
        let waiting = BTreeMap::new();
        Self { next, waiting }
    }

    /// Notes a request and gives its id.
    pub fn open(&mut self, what: T, deadline: Option<Instant>) -> u64 {
        let id = self.next;
        self.next += 1;
        self.waiting.insert(id, (what, deadline));
        id
    }

    /// What the answer with this id belongs to; `None` if nothing waits for it.
    pub fn close(&mut self, id: &RawValue) -> Option<T> {
        let id: u64 = id.get().parse().ok()?;
        self.waiting.remove(&id).map(|(what, _)| what)
    }

    /// The next moment at which a request runs out of time.
    pub fn deadline(&self) -> Option<Instant> {
        self.waiting.values().filter_map(|(_, deadline)| *deadline).min()
    }

    /// Takes one request whose time is over, with its id.
    pub fn expired(&mut self, now: Instant) -> Option<(u64, T)> {
        let id = *self
            .waiting
            .iter()
            .find(|(_, (_, deadline))| deadline.is_some_and(|at| at <= now))?
            .0;
        self.waiting.remove(&id).map(|(what, _)| (id, what))
    }

    /// Waits on for the answer to a request that was taken as expired, for ever.
    pub fn wait_on(&mut self, id: u64, what: T) {
        self.waiting.insert(id, (what, None));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_answer_finds_its_request_once() {
        let mut pending = Pending::default();
        assert_eq!(pending.open("a", None), 0);
        assert_eq!(pending.open("b", Some(Duration::from_secs(5))), 1);
        let id = |text: &str| RawValue::from_string(text.into()).unwrap();
        assert_eq!(pending.close(&id("7")), None);
        assert_eq!(pending.close(&id("\"0\"")), None);
        assert_eq!(pending.close(&id("0")), Some("a"));
        assert_eq!(pending.close(&id("0")), None);
        assert_eq!(pending.deadline(), Some(Duration::from_secs(5)));
        assert_eq!(pending.expired(Duration::from_secs(4)), None);
        assert_eq!(pending.expired(Duration::from_secs(5)), Some((1, "b")));
        pending.wait_on(1, "late");
        assert_eq!(pending.deadline(), None);
        assert_eq!(pending.close(&id("1")), Some("late"));
    }
}
