//! Bytes of memory that several tasks share.
//!
//! In: requests for a number of bytes. Out: charges, which are returned when they are dropped. Owns: the count of free bytes.
//! Never: grants more than it has, or lets a later request overtake an earlier one that waits.

use std::sync::Arc;

use tokio::sync::{Semaphore, SemaphorePermit};

/// A number of bytes that are free or charged. Clones share them.
#[derive(Debug, Clone)]
pub struct Room(Arc<Bytes>);

#[derive(Debug)]
struct Bytes {
    free: Semaphore,
    most: u32,
    /// The bytes that these are a part of.
    whole: Option<Arc<Bytes>>,
}

/// A part of a [`Room`], and of the rooms around it; returned on drop.
#[derive(Debug)]
pub struct Charge {
    of: Arc<Bytes>,
    bytes: u32,
}

impl Room {
    /// Creates a room of `most` bytes.
    pub fn new(most: u32) -> Self {
        Self::with(most, None)
    }

    /// Creates a room of `most` bytes, at most as many as this one has. They are charged to both, and to what is around this one.
    #[must_use]
    pub fn part(&self, most: u32) -> Self {
        Self::with(most.min(self.0.most), Some(Arc::clone(&self.0)))
    }

    fn with(most: u32, whole: Option<Arc<Bytes>>) -> Self {
        Self(Arc::new(Bytes {
            free: Semaphore::new(most as usize),
            most,
            whole,
        }))
    }

    /// Waits for `bytes`. A request for more than there is receives all of it.
    pub async fn take(&self, bytes: u64) -> Charge {
        let bytes = self.fitting(bytes);
        // From the inside out. A caller that gives up returns what it has.
        let mut permits = Vec::with_capacity(3);
        for room in self.0.and_around() {
            permits.push(take(&room.free, bytes).await);
        }
        permits.into_iter().for_each(SemaphorePermit::forget);
        self.charge(bytes)
    }

    /// Takes `bytes` if they are free and no other request waits.
    pub fn try_take(&self, bytes: u64) -> Option<Charge> {
        let bytes = self.fitting(bytes);
        let mut permits = Vec::with_capacity(3);
        for room in self.0.and_around() {
            permits.push(room.free.try_acquire_many(bytes).ok()?);
        }
        permits.into_iter().for_each(SemaphorePermit::forget);
        Some(self.charge(bytes))
    }

    /// Returns whether something is charged, or another owner of the room may charge something.
    pub fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Returns whether nothing is free, or another request waits.
    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }

    fn fitting(&self, bytes: u64) -> u32 {
        u32::try_from(bytes).map_or(self.0.most, |bytes| bytes.min(self.0.most))
    }

    fn charge(&self, bytes: u32) -> Charge {
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

    fn is_full(&self) -> bool {
        // Free bytes are assigned to a waiting request immediately, so the semaphore never shows them as available.
        self.free.available_permits() == 0
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
        let kept = u32::try_from(bytes).map_or(self.bytes, |bytes| bytes.min(self.bytes));
        let returned = (self.bytes - kept) as usize;
        self.bytes = kept;
        for room in self.of.and_around() {
            room.free.add_permits(returned);
        }
    }

    /// Returns whether a room around the charge's own is full.
    pub fn is_wanted(&self) -> bool {
        self.of.and_around().skip(1).any(Bytes::is_full)
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
}
