//! The one place that reads the clocks.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use acpd_proto::time::Now;

/// Tells machines what time it is.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Starts a clock whose `mono` begins a little above zero, so that "long ago" can be told from "now".
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// Now, by both clocks.
    pub fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Now {
            mono: self.start.elapsed() + std::time::Duration::from_secs(1),
            wall: i64::try_from(wall.as_millis()).unwrap_or(i64::MAX),
        }
    }

    /// The moment of a machine's deadline, as tokio wants it.
    pub fn instant(&self, mono: acpd_proto::time::Instant) -> tokio::time::Instant {
        (self.start + mono.saturating_sub(std::time::Duration::from_secs(1))).into()
    }
}
