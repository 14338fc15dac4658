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
        self.take(number(id.get())?)
    }

    /// Removes the request with this number and returns its note.
    pub fn take(&mut self, id: u64) -> Option<T> {
        let (what, _) = self.waiting.remove(&id)?;
        free_if_empty(&mut self.waiting);
        Some(what)
    }

    /// Returns the earliest deadline.
    pub fn deadline(&self) -> Option<Instant> {
        self.waiting.values().filter_map(|(_, deadline)| *deadline).min()
    }

    /// Returns the note of the request with this number.
    pub fn get(&self, id: u64) -> Option<&T> {
        self.waiting.get(&id).map(|(what, _)| what)
    }

    /// Returns the notes of all requests.
    pub fn notes(&self) -> impl Iterator<Item = &T> {
        self.waiting.values().map(|(what, _)| what)
    }

    /// Replaces the deadlines of those requests whose notes `of` accepts.
    pub fn set_deadline(&mut self, of: impl Fn(&T) -> bool, deadline: Option<Instant>) {
        for (what, until) in self.waiting.values_mut() {
            if of(what) {
                *until = deadline;
            }
        }
    }

    /// Removes one request whose deadline has passed, and returns it with its id.
    pub fn expired(&mut self, now: Instant) -> Option<(u64, T)> {
        let id = *self
            .waiting
            .iter()
            .find(|(_, (_, deadline))| deadline.is_some_and(|at| at <= now))?
            .0;
        self.take(id).map(|what| (id, what))
    }

    /// Adds an expired request again, without a deadline, to wait for its late response.
    pub fn wait_on(&mut self, id: u64, what: T) {
        self.waiting.insert(id, (what, None));
    }
}

/// Returns the number of an id of ours, as a peer returns it: some peers return it as text, or as a double.
pub fn number(id: &str) -> Option<u64> {
    /// Integers up to this one are exact as doubles.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if let Ok(number) = id.parse() {
        return Some(number);
    }
    if let Some(text) = id.strip_prefix('"') {
        return text.strip_suffix('"')?.parse().ok();
    }
    let double: f64 = id.parse().ok()?;
    let is_whole = double.fract() == 0.0 && (0.0..=EXACT).contains(&double);
    is_whole
        .then(|| format!("{:.0}", double.abs()).parse().ok())
        .flatten()
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
        assert_eq!(pending.close(&id("\"x\"")), None);
        assert_eq!(pending.close(&id("0")), Some("a"));
        assert_eq!(pending.close(&id("0")), None);
        assert_eq!(pending.deadline(), Some(Duration::from_secs(5)));
        assert_eq!(pending.expired(Duration::from_secs(4)), None);
        assert_eq!(pending.expired(Duration::from_secs(5)), Some((1, "b")));
        pending.wait_on(1, "late");
        assert_eq!(pending.deadline(), None);
        assert_eq!(pending.close(&id("1")), Some("late"));
    }

    #[test]
    fn an_id_is_ours_however_it_is_written() {
        for (id, expected) in [
            ("7", Some(7)),
            ("\"7\"", Some(7)),
            ("7.0", Some(7)),
            ("7e0", Some(7)),
            ("-0.0", Some(0)),
            ("4294967296", Some(1 << 32)),
            ("4294967296.0", Some(1 << 32)),
            ("18446744073709551615", Some(u64::MAX)),
            ("7.5", None),
            ("-7", None),
            ("1e300", None),
            ("\"7.0\"", None),
            ("\"\"", None),
            ("null", None),
            ("[7]", None),
            ("NaN", None),
        ] {
            assert_eq!(number(id), expected, "{id}");
        }
    }
}
