//! What waits for the writer: threads take turns by bytes.
//!
//! In: changes with their thread and size. Out: the same changes, in an order in which a thread that stores much delays no
//! other. Owns: the changes that wait. Never: changes the order of one thread's changes.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::ThreadId;

/// Bytes that each change counts in addition to its own.
const CHANGE_BYTES: u64 = 1 << 10;

/// A queue in which the threads take turns.
///
/// All threads share a count of bytes, which advances with what is taken. A change comes when the count reaches what its thread
/// had used before it.
#[derive(Debug)]
pub(super) struct FairQueue<T> {
    /// The changes, by the count at which they come, then by their arrival.
    waiting: BTreeMap<(u64, u64), Waiting<T>>,
    /// What each thread has used that is ahead of the count.
    used: BTreeMap<ThreadId, u64>,
    count: u64,
    arrived: u64,
}

#[derive(Debug)]
struct Waiting<T> {
    thread: ThreadId,
    bytes: usize,
    change: T,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            used: BTreeMap::new(),
            count: 0,
            arrived: 0,
        }
    }
}

impl<T> FairQueue<T> {
    /// Adds a change of a thread.
    pub(super) fn push(&mut self, thread: ThreadId, bytes: usize, change: T) {
        let used = self.used.entry(thread).or_default();
        let at = self.count.max(*used);
        *used = at + bytes as u64 + CHANGE_BYTES;
        let waiting = Waiting {
            thread,
            bytes,
            change,
        };
        self.waiting.insert((at, self.arrived), waiting);
        self.arrived += 1;
    }

    /// Returns the number of changes that wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns whether no change waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes the next change that has at most so many bytes, with its size. Larger ones are passed over, with all later changes of
    /// their threads, and stay the next ones.
    pub(super) fn pop_within(&mut self, bytes: usize) -> Option<(usize, T)> {
        let mut passed = BTreeSet::new();
        let (key, _) = self.waiting.iter().find(|(_, next)| {
            let fits = next.bytes <= bytes && !passed.contains(&next.thread);
            if !fits {
                passed.insert(next.thread);
            }
            fits
        })?;
        let key = *key;
        let Waiting { bytes, change, .. } = self.waiting.remove(&key)?;
        // It does not go back for one that was passed over.
        let count = self.count.max(key.0);
        self.count = count;
        self.used.retain(|_, used| *used > count);
        if self.waiting.is_empty() {
            self.used.clear();
        }
        Some((bytes, change))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::sample;

    fn order(queue: &mut FairQueue<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.pop_within(usize::MAX).map(|(_, name)| name)).collect()
    }

    #[test]
    fn a_thread_that_stores_much_comes_in_turn() {
        let [large, small, other] = [1, 2, 3].map(sample::thread);
        let mut queue = FairQueue::default();
        for name in ["large 1", "large 2", "large 3"] {
            queue.push(large, 1 << 20, name);
        }
        for name in ["small 1", "small 2", "small 3"] {
            queue.push(small, 100, name);
        }
        queue.push(other, 1 << 20, "other 1");
        queue.push(other, 100, "other 2");
        let expected = [
            "large 1", "small 1", "other 1", "small 2", "small 3", "large 2", "other 2", "large 3",
        ];
        assert_eq!(order(&mut queue), expected);
        assert!(queue.is_empty() && queue.used.is_empty());
    }

    #[test]
    fn a_thread_that_was_silent_saves_nothing_up_and_one_that_has_used_much_waits() {
        let [large, small] = [1, 2].map(sample::thread);
        let mut queue = FairQueue::default();
        queue.push(large, 1 << 20, "large 1");
        queue.push(large, 1 << 20, "large 2");
        queue.push(large, 1 << 20, "large 3");
        for _ in 0..2 {
            queue.pop_within(usize::MAX);
        }
        queue.push(small, 1 << 20, "small 1");
        queue.push(small, 1 << 20, "small 2");
        queue.push(large, 1 << 20, "large 4");
        assert_eq!(order(&mut queue), ["small 1", "large 3", "small 2", "large 4"]);
    }

    #[test]
    fn a_large_change_waits_for_a_commit_of_its_own_and_smaller_ones_pass_it() {
        let [first, large, other] = [1, 2, 3].map(sample::thread);
        let mut queue = FairQueue::default();
        queue.push(first, 100, "first");
        queue.push(large, 5000, "large 1");
        queue.push(large, 10, "large 2");
        queue.push(other, 200, "other 1");
        queue.push(other, 300, "other 2");
        assert_eq!(queue.pop_within(usize::MAX), Some((100, "first")));
        assert_eq!(queue.pop_within(1000), Some((200, "other 1")));
        assert_eq!(queue.pop_within(800), Some((300, "other 2")));
        assert_eq!(queue.pop_within(500), None, "the order of a thread stays");
        assert_eq!(queue.len(), 2);
        // What arrives now does not pass the large one again.
        queue.push(first, 100, "first 2");
        let count = queue.count;
        assert_eq!(queue.pop_within(usize::MAX), Some((5000, "large 1")));
        assert_eq!(queue.count, count);
        assert_eq!(order(&mut queue), ["first 2", "large 2"]);
    }
}
