//! The only module that reads the clocks.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(any(test, feature = "testing"))]
use acpd_model::Millis;
use acpd_proto::time::Now;
use tokio::time::Instant;

/// The source of time for the state machines.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    wall: WallClock,
}

/// The source of wall time.
#[derive(Debug, Clone, Copy)]
enum WallClock {
    Host,
    /// Begins at this time, and follows tokio's clock.
    #[cfg(any(test, feature = "testing"))]
    Manual(Millis),
}

/// `mono` begins above zero, so that "long ago" differs from "now".
const FIRST: Duration = Duration::from_secs(1);

impl Clock {
    /// Starts a clock that reads the host's wall time.
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
            wall: WallClock::Host,
        }
    }

    /// Starts a clock whose wall time begins at `began` and follows tokio's clock, for tests that move time by hand.
    #[cfg(any(test, feature = "testing"))]
    pub fn starting_at(began: Millis) -> Self {
        Self {
            start: Instant::now(),
            wall: WallClock::Manual(began),
        }
    }

    /// Returns the current time by both clocks.
    #[allow(
        clippy::disallowed_methods,
        reason = "the one place that reads the host's clock"
    )]
    pub fn now(&self) -> Now {
        let elapsed = self.start.elapsed();
        let wall = match self.wall {
            WallClock::Host => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            #[cfg(any(test, feature = "testing"))]
            WallClock::Manual(began) => Duration::from_millis(began.unsigned_abs()) + elapsed,
        };
        Now {
            mono: elapsed + FIRST,
            wall: i64::try_from(wall.as_millis()).unwrap_or(i64::MAX),
        }
    }

    /// Converts a state machine's deadline to tokio's clock.
    pub fn instant(&self, mono: acpd_proto::time::Instant) -> Instant {
        self.start + mono.saturating_sub(FIRST)
    }
}
