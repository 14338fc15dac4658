//! What memos contain: times, and JSON that no event has.
//!
//! In: times and JSON of this process. Out: the same in a form that outlives it. Owns: the relation of both clocks. Never: reads a clock.

use std::time::Duration;

use acpd_model::{BlobId, Millis, RawJson};
use serde::{Deserialize, Serialize};

use crate::time::{Instant, Now};

/// How far the two clocks may drift apart before the relation is measured again. Below that, a time has the same form in
/// each memo, so that the memo does not change.
const DRIFT_MILLIS: Millis = 1000;

/// How the times of this process relate to the time of day, which memos use.
#[derive(Debug, Clone, Copy)]
pub(in crate::thread) struct Anchor(Now);

impl Anchor {
    pub fn at(now: Now) -> Self {
        Self(now)
    }

    /// Measures the relation again if a clock was set.
    pub fn follow(&mut self, now: Now) {
        if self.wall(now.mono).abs_diff(now.wall) > DRIFT_MILLIS.unsigned_abs() {
            self.0 = now;
        }
    }

    /// Returns a time of this process as time of day.
    pub fn wall(self, at: Instant) -> Millis {
        let millis = |passed: Duration| Millis::try_from(passed.as_millis()).unwrap_or(Millis::MAX);
        match at.checked_sub(self.0.mono) {
            Some(later) => self.0.wall.saturating_add(millis(later)),
            None => self.0.wall.saturating_sub(millis(self.0.mono.saturating_sub(at))),
        }
    }

    /// Returns a time of day as a time of this process; its beginning for a time before it.
    pub fn instant(self, at: Millis) -> Instant {
        let passed = Duration::from_millis(at.abs_diff(self.0.wall));
        if at >= self.0.wall {
            self.0.mono.saturating_add(passed)
        } else {
            self.0.mono.saturating_sub(passed)
        }
    }
}

/// A JSON value of a memo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::thread) enum Kept {
    Inline(RawJson),
    Blob(BlobId),
}

impl Kept {
    /// Returns the blob that has the value.
    pub fn blob(&self) -> Option<BlobId> {
        match self {
            Self::Inline(_) => None,
            Self::Blob(id) => Some(*id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(mono: u64, wall: Millis) -> Now {
        Now {
            mono: Duration::from_millis(mono),
            wall,
        }
    }

    #[test]
    fn a_time_has_one_form_while_the_clocks_go_alike() {
        let mut anchor = Anchor::at(now(5_000, 1_000_000));
        let at = Duration::from_secs(65);
        for (mono, wall) in [(5_001, 1_000_000), (20_000, 1_015_900), (60_000, 1_054_100)] {
            anchor.follow(now(mono, wall));
            assert_eq!(anchor.wall(at), 1_060_000);
        }
        anchor.follow(now(60_000, 2_000_000));
        assert_eq!(anchor.wall(at), 2_005_000, "the clock was set");
    }

    #[test]
    fn times_return_in_another_process() {
        let before = Anchor::at(now(5_000, 1_000_000));
        let after = Anchor::at(now(100, 1_002_000));
        for (millis, back) in [(8_000, Some(1_100)), (7_000, Some(100)), (1, None)] {
            let at = before.wall(Duration::from_millis(millis));
            let back = Duration::from_millis(back.unwrap_or_default());
            assert_eq!(after.instant(at), back, "{millis}");
        }
        for extreme in [Millis::MIN, Millis::MAX] {
            let _never_panics = after.wall(after.instant(extreme));
        }
    }
}
