//! Time, as callers pass it to a state machine.

use std::time::Duration;

use acpd_model::Millis;

/// One point in time on both clocks. The caller must ensure that `mono` never goes backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Time since a fixed point in this process; timeouts are measured with it.
    pub mono: Duration,
    /// Milliseconds since the Unix epoch; recorded in events.
    pub wall: Millis,
}

/// A value of [`Now::mono`].
pub type Instant = Duration;

/// A point in time, with the reason for waiting until then.
pub type Deadline = (Instant, &'static str);

/// Returns a deadline with its reason.
pub fn because(at: Option<Instant>, reason: &'static str) -> Option<Deadline> {
    at.map(|at| (at, reason))
}

/// Returns the earlier of two optional points in time or deadlines.
pub fn earliest<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}
