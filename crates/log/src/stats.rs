//! What a log counts of its own work: plain numbers, for whoever wants to show them.
//!
//! In: each commit, from the one thread that writes. Out: numbers, read at any time by anyone. Owns: a few atomics.
//! Never: knows in which format they are shown, or makes whoever counts wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often a value was how large. Observing costs two atomic additions; the bounds do not change.
#[derive(Debug)]
pub struct Distribution {
    bounds: &'static [u64],
    /// One for each bound, and one for what is beyond the last.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// A [`Distribution`] at some moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// Values up to each bound, and above the one before it. The last has no bound.
    pub counts: Vec<(Option<u64>, u64)>,
    /// All values together.
    pub sum: u64,
}

impl Distribution {
    /// Counts values up to each of `bounds`, which ascend.
    pub fn new(bounds: &'static [u64]) -> Self {
        Self {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    /// Counts one value.
    pub fn observe(&self, value: u64) {
        let at = self.bounds.partition_point(|bound| *bound < value);
        self.counts[at].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Counts a time, in microseconds.
    pub fn observe_time(&self, took: Duration) {
        self.observe(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }

    /// What was counted so far.
    pub fn snapshot(&self) -> Snapshot {
        let bounds = self.bounds.iter().copied().map(Some).chain([None]);
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        Snapshot {
            counts: bounds.zip(counts).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

/// Bounds for times, in microseconds.
pub const TIMES: &[u64] = &[
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000,
];

/// Bounds for how many things were done at once.
pub const SIZES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/// What a log has done since it was opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// Appends and blobs in each commit that was stored.
    pub commit_changes: Snapshot,
    /// How long each commit took, stored or not, in microseconds.
    pub commit_time: Snapshot,
    /// Commits of which nothing was stored.
    pub failed_commits: u64,
    /// Appends and blobs that wait for the writer now.
    pub waiting: u64,
}

/// What the writer counts.
#[derive(Debug)]
pub(crate) struct Counters {
    pub commit_changes: Distribution,
    pub commit_time: Distribution,
    pub failed_commits: AtomicU64,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            commit_changes: Distribution::new(SIZES),
            commit_time: Distribution::new(TIMES),
            failed_commits: AtomicU64::new(0),
        }
    }
}

impl Counters {
    /// The numbers now, with so many changes that wait.
    pub fn stats(&self, waiting: usize) -> Stats {
        Stats {
            commit_changes: self.commit_changes.snapshot(),
            commit_time: self.commit_time.snapshot(),
            failed_commits: self.failed_commits.load(Ordering::Relaxed),
            waiting: waiting as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_the_values_up_to_it() {
        let distribution = Distribution::new(&[1, 10]);
        for value in [0, 1, 2, 10, 11] {
            distribution.observe(value);
        }
        let Snapshot { counts, sum } = distribution.snapshot();
        assert_eq!(counts, [(Some(1), 2), (Some(10), 2), (None, 1)]);
        assert_eq!(sum, 24);
    }
}
