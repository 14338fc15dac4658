//! Connections of the network that have shown nothing valid yet: few, briefly, and the oldest makes room.
//!
//! In: connections, with where they come from. Out: which of them end. Owns: nothing but the list of those that wait; each
//! connection has its own [`AuthProgress`].

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use acpd_model::limits::{NEWCOMERS, NEWCOMERS_OF_ONE};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::auth::store::Source;

/// Whether a connection has shown something valid, and when it ends if it does not.
#[derive(Debug)]
pub struct AuthProgress {
    /// Room for connections that have.
    room: Arc<Semaphore>,
    /// Its part of that room.
    permit: OnceLock<OwnedSemaphorePermit>,
    /// Cancelled when another connection takes its place.
    evicted: CancellationToken,
}

impl AuthProgress {
    /// The connection has shown something valid, and stays as long as it likes. `false` if there is no room for it.
    pub fn admit(&self) -> bool {
        if self.is_admitted() {
            return true;
        }
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            return false;
        };
        // Two requests of one connection may come here at once; one permit is enough, and the other goes back.
        let _ = self.permit.set(permit);
        true
    }

    fn is_admitted(&self) -> bool {
        self.permit.get().is_some()
    }

    /// Waits until the connection is to end: `within` is over, or its place is taken, and it has shown nothing valid.
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

/// The connections that have shown nothing valid, oldest first.
#[derive(Debug)]
pub struct UnauthenticatedConnections {
    waiting: VecDeque<(Source, Weak<AuthProgress>)>,
    room: Arc<Semaphore>,
}

impl UnauthenticatedConnections {
    /// None yet; `room` is for those that are admitted.
    pub fn new(room: Arc<Semaphore>) -> Self {
        Self {
            waiting: VecDeque::new(),
            room,
        }
    }

    /// One more. Where there are too many, of its place or of all, the oldest ends.
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
        // Those that are gone by themselves leave their places.
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
