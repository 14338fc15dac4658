//! Counters of the log's own work: plain numbers for any consumer.
//!
//! In: each commit, from the single writing thread. Out: numbers, which any task can read at any time. Owns: a few
//! atomics. Never: depends on a display format, or blocks the counting thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A histogram of values. Recording a value costs two atomic additions. The bounds are fixed.
#[derive(Debug)]
pub struct Distribution {
    bounds: &'static [u64],
    /// One count for each bound, and one for larger values.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// A [`Distribution`] at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// Number of values up to each bound and above the previous one. The last has no bound.
    pub counts: Vec<(Option<u64>, u64)>,
    /// Sum of all values.
    pub sum: u64,
}

impl Distribution {
    /// Creates a histogram for values up to each of `bounds`, which must ascend.
    pub fn new(bounds: &'static [u64]) -> Self {
        Self {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    /// Records one value.
    pub fn observe(&self, value: u64) {
        let at = self.bounds.partition_point(|bound| *bound < value);
        self.counts[at].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Records a duration, in microseconds.
    pub fn observe_time(&self, took: Duration) {
        self.observe(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }

    /// Returns the counts so far.
    pub fn snapshot(&self) -> Snapshot {
        let bounds = self.bounds.iter().copied().map(Some).chain([None]);
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        Snapshot {
            counts: bounds.zip(counts).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

/// Bounds for durations, in microseconds.
pub const TIMES: &[u64] = &[
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000,
];

/// Bounds for batch sizes.
pub const SIZES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/// Counters of a log since it was opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// Appends and blobs in each stored commit.
    pub commit_changes: Snapshot,
    /// Duration of each commit, stored or not, in microseconds.
    pub commit_time: Snapshot,
    /// Commits that stored nothing.
    pub failed_commits: u64,
    /// Appends and blobs that are waiting for the writer.
    pub waiting: u64,
    /// Whether files have deleted data that is not overwritten yet.
    pub erasing: bool,
}

/// The counters of the writer.
#[derive(Debug)]
pub(crate) struct Counters {
    pub commit_changes: Distribution,
    pub commit_time: Distribution,
    pub failed_commits: AtomicU64,
    pub erasing: AtomicBool,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            commit_changes: Distribution::new(SIZES),
            commit_time: Distribution::new(TIMES),
            failed_commits: AtomicU64::new(0),
            erasing: AtomicBool::new(true),
        }
    }
}

impl Counters {
    /// Returns the current numbers, with `waiting` queued changes.
    pub fn stats(&self, waiting: usize) -> Stats {
        Stats {
            commit_changes: self.commit_changes.snapshot(),
            commit_time: self.commit_time.snapshot(),
            failed_commits: self.failed_commits.load(Ordering::Relaxed),
            waiting: waiting as u64,
            erasing: self.erasing.load(Ordering::Relaxed),
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
