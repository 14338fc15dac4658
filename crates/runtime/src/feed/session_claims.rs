//! Agent sessions that new threads are about to use.
//!
//! In: a request that names a session. Out: whether it is the only such request. Owns: the reserved names while the
//! thread starts; from then on the log knows which thread uses the session.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An agent's name, and its id for a session.
type SessionKey = (String, String);

/// The sessions that are reserved for threads that are being started.
#[derive(Debug, Clone, Default)]
pub struct SessionClaims(Arc<Mutex<BTreeSet<SessionKey>>>);

impl SessionClaims {
    /// Reserves a session for a start; returns `None` if another start has reserved it.
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

/// The reservation of a session, released on drop.
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
