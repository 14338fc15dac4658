//! Bytes of memory that several tasks share.
//!
//! In: requests for a number of bytes. Out: charges, which are returned when they are dropped. Owns: the count of free bytes.
//! Never: grants more than it has, or lets a later request overtake an earlier one that waits.

use std::sync::Arc;

use tokio::sync::Semaphore;

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

/// A part of a [`Room`], and of the room around it; returned on drop.
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

    /// Creates a room of `most` bytes, at most as many as this one has. They are charged to both.
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
        // Of this room alone, until there is room around it: a caller that gives up must return no more than it has.
        let part = take(&self.0.free, bytes).await;
        if let Some(whole) = &self.0.whole {
            take(&whole.free, bytes).await.forget();
        }
        part.forget();
        self.charge(bytes)
    }

    /// Takes `bytes` if they are free and no other request waits.
    pub fn try_take(&self, bytes: u64) -> Option<Charge> {
        let bytes = self.fitting(bytes);
        let part = self.0.free.try_acquire_many(bytes).ok()?;
        if let Some(whole) = &self.0.whole {
            whole.free.try_acquire_many(bytes).ok()?.forget();
        }
        part.forget();
        Some(self.charge(bytes))
    }

    /// Returns whether something is charged, or another owner of the room may charge something.
    pub fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Returns whether nothing is free, or another request waits.
    pub fn is_full(&self) -> bool {
        // Free bytes are assigned to a waiting request immediately, so the semaphore never shows them as available.
        self.0.free.available_permits() == 0
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

async fn take(free: &Semaphore, bytes: u32) -> tokio::sync::SemaphorePermit<'_> {
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
        self.of.free.add_permits(returned);
        if let Some(whole) = &self.of.whole {
            whole.free.add_permits(returned);
        }
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
}
