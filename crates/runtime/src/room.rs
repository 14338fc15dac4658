//! Bytes of memory that several tasks share.
//!
//! In: requests for a number of bytes. Out: charges, which are returned when they are dropped. Owns: the count of free bytes.
//! Never: grants more than it has, or lets a later request overtake an earlier one that waits.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// The time for which a request that was refused counts as waiting.
const ASKED: Duration = Duration::from_secs(1);

/// A number of bytes that are free or charged. Clones share them.
#[derive(Debug, Clone)]
pub struct Room(Arc<Bytes>);

#[derive(Debug)]
struct Bytes {
    free: Semaphore,
    most: u32,
    /// The bytes that these are a part of.
    whole: Option<Arc<Bytes>>,
    /// Whether a request for more than there is takes the rest of it around.
    overflows: bool,
    /// When a request was refused that is made again.
    asked: Mutex<Option<Instant>>,
}

/// A part of a [`Room`], and of the rooms around it; returned on drop.
#[derive(Debug)]
pub struct Charge {
    of: Arc<Bytes>,
    /// The bytes that were requested. A smaller room has all of its own of them.
    bytes: u64,
}

impl Room {
    /// Creates a room of `most` bytes.
    pub fn new(most: u32) -> Self {
        Self::with(most, None, false)
    }

    /// Creates a room of `most` bytes, at most as many as this one has. They are charged to both, and to what is around this one.
    #[must_use]
    pub fn part(&self, most: u32) -> Self {
        Self::with(most.min(self.0.most), Some(Arc::clone(&self.0)), false)
    }

    /// Creates a part like [`part`](Self::part), in which a request for more than `most` bytes receives all of these, and takes what
    /// it needs of the room around.
    #[must_use]
    pub fn overflowing_part(&self, most: u32) -> Self {
        Self::with(most.min(self.0.most), Some(Arc::clone(&self.0)), true)
    }

    fn with(most: u32, whole: Option<Arc<Bytes>>, overflows: bool) -> Self {
        Self(Arc::new(Bytes {
            free: Semaphore::new(most as usize),
            most,
            whole,
            overflows,
            asked: Mutex::default(),
        }))
    }

    /// Waits for `bytes`. A request for more than there is receives all of it.
    pub async fn take(&self, bytes: u64) -> Charge {
        // From the inside out. A caller that gives up returns what it has.
        let mut permits = Vec::with_capacity(3);
        for (room, bytes) in self.0.shares(bytes) {
            permits.push(take(&room.free, bytes).await);
        }
        permits.into_iter().for_each(SemaphorePermit::forget);
        self.charge(bytes)
    }

    /// Takes `bytes` if they are free and no other request waits.
    pub fn try_take(&self, bytes: u64) -> Option<Charge> {
        self.take_free(bytes).ok()
    }

    /// Takes `bytes` like [`try_take`](Self::try_take). If they are not free, the request counts as waiting for a second, within which it
    /// is made again. This is for requests that are not polled at times: one that waits in line would be granted room that it does not use.
    pub fn ask(&self, bytes: u64) -> Option<Charge> {
        let taken = self.take_free(bytes);
        if let Err(full) = &taken {
            *full.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        taken.ok()
    }

    /// Takes `bytes` if they are free. Otherwise returns the room in which they are not.
    fn take_free(&self, bytes: u64) -> Result<Charge, &Bytes> {
        let mut permits = Vec::with_capacity(3);
        for (room, bytes) in self.0.shares(bytes) {
            permits.push(room.free.try_acquire_many(bytes).map_err(|_| room)?);
        }
        permits.into_iter().for_each(SemaphorePermit::forget);
        Ok(self.charge(bytes))
    }

    /// Returns whether something is charged, or another owner of the room may charge something.
    pub fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Returns whether nothing is free, or another request waits.
    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }

    fn charge(&self, bytes: u64) -> Charge {
        Charge {
            of: Arc::clone(&self.0),
            bytes,
        }
    }
}

impl Bytes {
    /// Returns this room and those around it, from the inside out.
    fn and_around(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |room| room.whole.as_deref())
    }

    /// Returns what a request for `bytes` takes of this room and of each around it, from the inside out.
    fn shares(&self, bytes: u64) -> impl Iterator<Item = (&Self, u32)> {
        let mut wanted = bytes;
        self.and_around().map(move |room| {
            let taken = u32::try_from(wanted).map_or(room.most, |wanted| wanted.min(room.most));
            if !room.overflows {
                wanted = taken.into();
            }
            (room, taken)
        })
    }

    fn is_full(&self) -> bool {
        // Free bytes are assigned to a waiting request immediately, so the semaphore never shows them as available.
        self.free.available_permits() == 0
    }

    fn is_asked(&self) -> bool {
        let asked = *self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.is_some_and(|asked| asked.elapsed() < ASKED)
    }
}

async fn take(free: &Semaphore, bytes: u32) -> SemaphorePermit<'_> {
    match free.acquire_many(bytes).await {
        Ok(permit) => permit,
        // The semaphore is never closed.
        Err(_) => std::future::pending().await,
    }
}

impl Charge {
    /// Returns all but `bytes`.
    pub fn shrink(&mut self, bytes: u64) {
        let kept = bytes.min(self.bytes);
        let (before, after) = (self.of.shares(self.bytes), self.of.shares(kept));
        for ((room, before), (_, after)) in before.zip(after) {
            room.free.add_permits((before - after) as usize);
        }
        self.bytes = kept;
    }

    /// Makes this a charge of `bytes`: returns the rest, or takes more if that is free now.
    pub fn settle(&mut self, bytes: u64) {
        self.shrink(bytes);
        let mut permits = Vec::with_capacity(3);
        let (before, after) = (self.of.shares(self.bytes), self.of.shares(bytes));
        for ((room, before), (_, after)) in before.zip(after) {
            match room.free.try_acquire_many(after - before) {
                Ok(permit) => permits.push(permit),
                Err(_) => return,
            }
        }
        permits.into_iter().for_each(SemaphorePermit::forget);
        self.bytes = bytes;
    }

    /// Returns how many bytes were requested.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns whether a room around the charge's own is full, or was asked for more than is free.
    pub fn is_wanted(&self) -> bool {
        let mut around = self.of.and_around().skip(1);
        around.any(|room| room.is_full() || room.is_asked())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_part_is_charged_to_the_whole() {
        let whole = Room::new(100);
        let parts = [whole.part(60), whole.part(60)];
        let mut first = parts[0].take(60).await;
        assert!(parts[0].is_full() && parts[1].try_take(50).is_none());
        assert!(
            parts[1].try_take(40).is_some(),
            "what was not granted is returned"
        );
        let mut waiting = Box::pin(parts[1].take(50));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(waiting);
        assert!(
            parts[1].try_take(40).is_some(),
            "a request that is given up takes nothing"
        );
        first.shrink(50);
        let second = parts[1].take(50).now_or_never();
        assert!(second.is_some() && whole.is_full());
        drop((first, second));
        assert!(whole.try_take(100).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_made_again_is_granted_nothing_in_between() {
        let whole = Room::new(100);
        let parts = [whole.part(60), whole.part(60)];
        let first = parts[0].take(60).await;
        assert!(!first.is_wanted());
        assert!(parts[1].ask(50).is_none());
        assert!(first.is_wanted(), "it counts as waiting");
        tokio::time::advance(ASKED).await;
        assert!(!first.is_wanted(), "it was given up");
        assert!(parts[1].ask(40).is_some() && parts[1].ask(50).is_none());
        drop(first);
        assert!(whole.try_take(100).is_some());
        assert!(parts[1].ask(50).is_some());
    }

    #[tokio::test]
    async fn a_part_of_a_part_is_charged_to_all() {
        let whole = Room::new(100);
        let part = whole.part(60);
        let small = [part.part(30), part.part(30)];
        let first = small[0].take(u64::MAX).await;
        assert!(
            small[0].is_full() && !first.is_wanted(),
            "only its own room is full"
        );
        let second = small[1].take(30).await;
        assert!(part.is_full() && first.is_wanted() && second.is_wanted());
        assert!(whole.try_take(41).is_none() && whole.try_take(40).is_some());
        drop((first, second));
        assert!(whole.try_take(100).is_some());
    }

    #[tokio::test]
    async fn a_request_beyond_a_part_may_take_the_room_around_it() {
        let whole = Room::new(100);
        let middle = whole.part(60);
        let small = [middle.overflowing_part(20), middle.overflowing_part(20)];
        // All of its own room, and what it needs of the others.
        let mut first = small[0].take(50).await;
        assert!(small[1].try_take(11).is_none() && small[1].try_take(10).is_some());
        assert!(whole.try_take(51).is_none() && whole.try_take(50).is_some());
        first.shrink(30);
        assert!(small[0].is_full() && small[1].try_take(30).is_some());
        first.shrink(5);
        assert!(small[0].try_take(15).is_some() && whole.try_take(95).is_some());
        // No part of it takes more than its middle has.
        drop(first);
        let all = small[0].take(u64::MAX).await;
        assert!(middle.is_full() && whole.try_take(40).is_some());
        drop(all);
        assert!(whole.try_take(100).is_some());
    }

    #[tokio::test]
    async fn a_charge_grows_only_by_what_is_free() {
        let whole = Room::new(100);
        let part = whole.part(60);
        let mut first = part.take(10).await;
        first.settle(40);
        assert!(whole.try_take(61).is_none() && whole.try_take(60).is_some());
        let second = whole.take(50).await;
        first.settle(55);
        assert!(
            whole.try_take(11).is_none() && whole.try_take(10).is_some(),
            "it stays as it was"
        );
        drop(second);
        first.settle(5);
        assert!(whole.try_take(95).is_some());
        drop(first);
        assert!(whole.try_take(100).is_some());
    }
}
