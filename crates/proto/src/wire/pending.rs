//! Requests of the daemon that wait for a response.

use std::collections::BTreeMap;

use acpd_model::collections::free_if_empty;
use serde_json::value::RawValue;

use crate::time::Instant;

/// The requests in flight to one peer. Their ids are numbers that start at 0 or at a number that the caller sets. Each
/// request has a note `T` about its purpose and optionally a deadline.
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
    /// Creates an empty set; the first request gets the id `next`.
    pub fn starting_at(next: u64) -> Self {
        let waiting = BTreeMap::new();
        Self { next, waiting }
    }

    /// Adds a request and returns its id.
    pub fn open(&mut self, what: T, deadline: Option<Instant>) -> u64 {
        let id = self.next;
        self.next += 1;
        self.waiting.insert(id, (what, deadline));
        id
    }

    /// Removes the request that a response belongs to and returns its note; `None` if no request has this id.
    pub fn close(&mut self, id: &RawValue) -> Option<T> {
        let id: u64 = id.get().parse().ok()?;
        self.remove(id)
    }

    /// Returns the earliest deadline.
    pub fn deadline(&self) -> Option<Instant> {
        self.waiting.values().filter_map(|(_, deadline)| *deadline).min()
    }

    /// Removes one request whose deadline has passed, and returns it with its id.
    pub fn expired(&mut self, now: Instant) -> Option<(u64, T)> {
        let id = *self
            .waiting
            .iter()
            .find(|(_, (_, deadline))| deadline.is_some_and(|at| at <= now))?
            .0;
        self.remove(id).map(|what| (id, what))
    }

    fn remove(&mut self, id: u64) -> Option<T> {
        let (what, _) = self.waiting.remove(&id)?;
        free_if_empty(&mut self.waiting);
        Some(what)
    }

    /// Adds an expired request again, without a deadline, to wait for its late response.
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
