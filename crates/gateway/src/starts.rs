//! Sessions of agents that threads are being started with.
//!
//! In: a request that names a session. Out: whether it is the only one. Owns: the names, for as long as the start takes;
//! from then on the log knows which thread has the session.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An agent's name, and its id for a session.
type Name = (String, String);

/// The sessions that threads are being started with.
#[derive(Debug, Clone, Default)]
pub struct Starts(Arc<Mutex<HashSet<Name>>>);

impl Starts {
    /// Begins a start with this session; `None` while there is another one.
    pub fn begin(&self, agent: &str, session: &str) -> Option<Start> {
        let name = (agent.to_owned(), session.to_owned());
        self.lock().insert(name.clone()).then(|| Start {
            starts: self.clone(),
            name,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Name>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A start, until it is dropped.
#[derive(Debug)]
pub struct Start {
    starts: Starts,
    name: Name,
}

impl Drop for Start {
    fn drop(&mut self) {
        self.starts.lock().remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_start_at_a_time() {
        let starts = Starts::default();
        let first = starts.begin("a", "s").unwrap();
        assert!(starts.begin("a", "s").is_none());
        assert!(starts.begin("b", "s").is_some(), "another agent's");
        drop(first);
        assert!(starts.begin("a", "s").is_some());
    }
}
