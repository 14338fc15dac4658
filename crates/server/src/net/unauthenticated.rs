//! Connections of the network, and of agents at the local socket, that are not authenticated yet. Their number and duration are limited, and a new connection evicts
//! the oldest. The limit of one address leaves each connection a moment to authenticate: a team behind a proxy, or local programs,
//! connect again at once when the daemon has restarted. An address never takes the places of others.
//!
//! In: connections and their sources. Out: evictions. Owns: the list of unauthenticated connections; each connection has
//! its own [`AuthProgress`]. Never: closes a connection itself.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::auth::store::Source;

/// Connections without a valid credential, of the network or of agents at the local socket, from all addresses.
/// Above it, the oldest of the address with the most is closed.
const NEWCOMERS: usize = 256;
/// Connections without a valid credential from one address (IPv6: /64), or of all agents. Above it, the oldest is closed, unless it is
/// younger than [`NEWCOMER_GRACE_MILLIS`].
const NEWCOMERS_OF_ONE: usize = 64;
/// Milliseconds in which a connection can authenticate before others of its address take its place. All clients behind a proxy
/// connect at once when the daemon has restarted.
const NEWCOMER_GRACE_MILLIS: u64 = 1000;

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

/// An unauthenticated connection.
#[derive(Debug)]
struct Newcomer {
    from: Source,
    since: Instant,
    progress: Weak<AuthProgress>,
}

/// Unauthenticated connections, oldest first.
#[derive(Debug)]
pub struct UnauthenticatedConnections {
    waiting: VecDeque<Newcomer>,
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

    /// Adds a connection. At the limit of its source, older ones of the source are evicted that had time to authenticate; at the
    /// limit of all sources, the oldest of the source with the most.
    pub fn add(&mut self, source: Source) -> Arc<AuthProgress> {
        self.waiting.retain(|newcomer| {
            let progress = newcomer.progress.upgrade();
            progress.is_some_and(|progress| !progress.is_admitted())
        });
        let now = Instant::now();
        while let Some(index) = self.excess(source, now) {
            self.evict(index);
        }
        if self.waiting.len() >= NEWCOMERS {
            self.evict(self.oldest_of_largest());
        }
        let progress = Arc::new(AuthProgress {
            room: Arc::clone(&self.room),
            permit: OnceLock::new(),
            evicted: CancellationToken::new(),
        });
        self.waiting.push_back(Newcomer {
            from: source,
            since: now,
            progress: Arc::downgrade(&progress),
        });
        progress
    }

    /// Returns the oldest connection of a source that leaves no room for another one, if it had time to authenticate.
    fn excess(&self, source: Source, now: Instant) -> Option<usize> {
        let of_source = self.waiting.iter().filter(|newcomer| newcomer.from == source);
        if of_source.count() < NEWCOMERS_OF_ONE {
            return None;
        }
        let oldest = self.waiting.iter().position(|newcomer| newcomer.from == source)?;
        let age = now.saturating_duration_since(self.waiting[oldest].since);
        (age >= Duration::from_millis(NEWCOMER_GRACE_MILLIS)).then_some(oldest)
    }

    /// Returns the oldest connection of the sources that have the most.
    fn oldest_of_largest(&self) -> usize {
        let mut counts: HashMap<Source, usize> = HashMap::new();
        for newcomer in &self.waiting {
            *counts.entry(newcomer.from).or_default() += 1;
        }
        let most = counts.values().max().copied();
        let is_largest = |newcomer: &Newcomer| counts.get(&newcomer.from).copied() == most;
        self.waiting.iter().position(is_largest).unwrap_or_default()
    }

    fn evict(&mut self, index: usize) {
        let evicted = self.waiting.remove(index);
        if let Some(progress) = evicted.and_then(|newcomer| newcomer.progress.upgrade()) {
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
    const GRACE: Duration = Duration::from_millis(NEWCOMER_GRACE_MILLIS);

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

    #[tokio::test(start_paused = true)]
    async fn the_oldest_newcomer_of_an_address_makes_room() {
        let mut all = connections(1);
        let other = all.add(place(1));
        let many: Vec<_> = (0..NEWCOMERS_OF_ONE).map(|_| all.add(place(2))).collect();
        assert!(many.iter().all(|one| !is_over(one)));
        tokio::time::advance(GRACE).await;
        let last = all.add(place(2));
        let over: Vec<_> = many.iter().map(|one| is_over(one)).collect();
        assert!(over[0] && !over[1..].contains(&true), "{over:?}");
        assert!(
            !is_over(&last) && !is_over(&other),
            "another address has its own bound"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn newcomers_that_come_at_once_all_have_time_to_authenticate() {
        let mut all = connections(1);
        let crowd: Vec<_> = (0..200).map(|_| all.add(place(1))).collect();
        assert!(crowd.iter().all(|one| !is_over(one)));
        // Those that have not used it make room.
        tokio::time::advance(GRACE).await;
        let _next = all.add(place(1));
        let over = crowd.iter().filter(|one| is_over(one)).count();
        assert_eq!(over, 200 + 1 - NEWCOMERS_OF_ONE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_of_one_address_takes_no_place_of_another() {
        let mut all = connections(1);
        let other = all.add(place(1));
        let crowd: Vec<_> = (0..NEWCOMERS).map(|_| all.add(place(2))).collect();
        assert!(!is_over(&other));
        let over: Vec<_> = crowd.iter().map(|one| is_over(one)).collect();
        assert!(over[0] && !over[1..].contains(&true), "{over:?}");
        let _third = all.add(place(3));
        assert!(!is_over(&other) && is_over(&crowd[1]));
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

    #[tokio::test(start_paused = true)]
    async fn an_admitted_connection_takes_no_place_and_has_all_time() {
        let mut all = connections(1);
        let (known, second) = (all.add(place(1)), all.add(place(1)));
        assert!(known.admit() && known.admit());
        assert!(!second.admit(), "there is room for one");
        tokio::time::advance(GRACE).await;
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
