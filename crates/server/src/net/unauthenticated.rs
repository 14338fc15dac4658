//! Network connections that are not authenticated yet. Their number and duration are limited, and a new connection evicts
//! the oldest.
//!
//! In: connections and their sources. Out: evictions. Owns: the list of unauthenticated connections; each connection has
//! its own [`AuthProgress`]. Never: closes a connection itself.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use acpd_model::limits::{NEWCOMERS, NEWCOMERS_OF_ONE};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::auth::store::Source;

/// Whether a connection is authenticated, and whether it was evicted before that.
#[derive(Debug)]
pub struct AuthProgress {
    /// The limit of authenticated connections.
    room: Arc<Semaphore>,
    /// The connection's permit under this limit.
    permit: OnceLock<OwnedSemaphorePermit>,
    /// Cancelled when another connection evicts this one.
    evicted: CancellationToken,
}

impl AuthProgress {
    /// Marks the connection as authenticated, which removes its time limit. Returns `false` at the limit of connections.
    pub fn admit(&self) -> bool {
        if self.is_admitted() {
            return true;
        }
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            return false;
        };
        // Two requests of one connection may run concurrently. The second permit is returned, because one is enough.
        let _ = self.permit.set(permit);
        true
    }

    fn is_admitted(&self) -> bool {
        self.permit.get().is_some()
    }

    /// Waits until an unauthenticated connection must end: after `within`, or when it is evicted.
    pub async fn over(&self, within: Duration) {
        tokio::select! {
            () = self.evicted.cancelled() => {}
            () = tokio::time::sleep(within) => {}
        }
        if self.is_admitted() {
            std::future::pending().await
        }
    }
}

/// Unauthenticated connections, oldest first.
#[derive(Debug)]
pub struct UnauthenticatedConnections {
    waiting: VecDeque<(Source, Weak<AuthProgress>)>,
    room: Arc<Semaphore>,
}

impl UnauthenticatedConnections {
    /// Creates an empty list. `room` limits authenticated connections.
    pub fn new(room: Arc<Semaphore>) -> Self {
        Self {
            waiting: VecDeque::new(),
            room,
        }
    }

    /// Adds a connection. At the limit of its source or of all sources, the oldest connection is evicted.
    pub fn add(&mut self, source: Source) -> Arc<AuthProgress> {
        self.waiting.retain(|(_, progress)| {
            let progress = progress.upgrade();
            progress.is_some_and(|progress| !progress.is_admitted())
        });
        let of_place = self.waiting.iter().filter(|(from, _)| *from == source).count();
        if of_place >= NEWCOMERS_OF_ONE {
            let oldest = self.waiting.iter().position(|(from, _)| *from == source);
            self.evict(oldest.unwrap_or_default());
        } else if self.waiting.len() >= NEWCOMERS {
            self.evict(0);
        }
        let progress = Arc::new(AuthProgress {
            room: Arc::clone(&self.room),
            permit: OnceLock::new(),
            evicted: CancellationToken::new(),
        });
        self.waiting.push_back((source, Arc::downgrade(&progress)));
        progress
    }

    fn evict(&mut self, index: usize) {
        let evicted = self.waiting.remove(index);
        if let Some(progress) = evicted.and_then(|(_, progress)| progress.upgrade()) {
            progress.evicted.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use futures_util::FutureExt;

    use super::*;

    const SOON: Duration = Duration::ZERO;
    const LATE: Duration = Duration::from_hours(1);

    fn place(number: usize) -> Source {
        let bits = u32::try_from(number).unwrap();
        Source::of(Ipv4Addr::from_bits(bits).into())
    }

    fn connections(room: usize) -> UnauthenticatedConnections {
        UnauthenticatedConnections::new(Arc::new(Semaphore::new(room)))
    }

    fn is_over(progress: &AuthProgress) -> bool {
        progress.over(LATE).now_or_never().is_some()
    }

    #[tokio::test]
    async fn the_oldest_newcomer_of_an_address_makes_room() {
        let mut all = connections(1);
        let other = all.add(place(1));
        let many: Vec<_> = (0..NEWCOMERS_OF_ONE).map(|_| all.add(place(2))).collect();
        assert!(many.iter().all(|one| !is_over(one)));
        let last = all.add(place(2));
        let over: Vec<_> = many.iter().map(|one| is_over(one)).collect();
        assert!(over[0] && !over[1..].contains(&true), "{over:?}");
        assert!(
            !is_over(&last) && !is_over(&other),
            "another address has its own bound"
        );
    }

    #[tokio::test]
    async fn the_oldest_newcomer_of_all_makes_room() {
        let mut all = connections(1);
        let many: Vec<_> = (0..=NEWCOMERS).map(|number| all.add(place(number))).collect();
        let over: Vec<_> = many.iter().map(|one| is_over(one)).collect();
        assert!(over[0] && !over[1..].contains(&true));
        // Connections that have ended free their places.
        drop(many);
        let first = all.add(place(0));
        let _many: Vec<_> = (1..NEWCOMERS).map(|number| all.add(place(number))).collect();
        assert!(!is_over(&first));
    }

    #[tokio::test]
    async fn an_admitted_connection_takes_no_place_and_has_all_time() {
        let mut all = connections(1);
        let (known, second) = (all.add(place(1)), all.add(place(1)));
        assert!(known.admit() && known.admit());
        assert!(!second.admit(), "there is room for one");
        let _many: Vec<_> = (0..NEWCOMERS_OF_ONE).map(|_| all.add(place(1))).collect();
        assert!(!is_over(&known) && is_over(&second));
        known.evicted.cancel();
        assert!(!is_over(&known), "it came in at that very moment");
        drop(known);
        assert!(all.add(place(1)).admit(), "its room is free again");
    }

    #[tokio::test]
    async fn a_newcomer_that_shows_nothing_in_time_ends() {
        let progress = connections(1).add(place(1));
        progress.over(SOON).await;
    }
}
