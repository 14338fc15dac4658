//! Time, as it is handed to a machine.

use std::time::Duration;

use acpd_model::Millis;

/// One moment, by both clocks. The caller's only duty is that `mono` never runs backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Since some fixed moment in this process; time-outs are measured with it.
    pub mono: Duration,
    /// Milliseconds since the epoch; events carry it.
    pub wall: Millis,
}

/// A moment of [`Now::mono`].
pub type Instant = Duration;

/// The earlier of two optional moments.
pub fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}
