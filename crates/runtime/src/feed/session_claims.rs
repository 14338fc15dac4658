//! Sessions of agents that threads are being started with.
//!
//! In: a request that names a session. Out: whether it is the only one. Owns: the names, for as long as the start takes;
//! from then on the log knows which thread has the session.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An agent's name, and its id for a session.
type SessionKey = (String, String);

/// The sessions that threads are being started with.
#[derive(Debug, Clone, Default)]
pub struct SessionClaims(Arc<Mutex<BTreeSet<SessionKey>>>);

impl SessionClaims {
    /// Begins a start with this session; `None` while there is another one.
    pub fn begin(&self, agent: &str, session: &str) -> Option<SessionClaim> {
        let name = (agent.to_owned(), session.to_owned());
        self.lock().insert(name.clone()).then(|| SessionClaim {
            session_claims: self.clone(),
            name,
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<SessionKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A start, until it is dropped.
#[derive(Debug)]
pub struct SessionClaim {
    session_claims: SessionClaims,
    name: SessionKey,
}

impl Drop for SessionClaim {
    fn drop(&mut self) {
        self.session_claims.lock().remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_start_at_a_time() {
        let session_claims = SessionClaims::default();
        let first = session_claims.begin("a", "s").unwrap();
        assert!(session_claims.begin("a", "s").is_none());
        assert!(session_claims.begin("b", "s").is_some(), "another agent's");
        drop(first);
        assert!(session_claims.begin("a", "s").is_some());
    }
}
