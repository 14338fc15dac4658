//! The only module that reads the clocks.
//!
//! A process that was stopped, or whose host was paused, has not used the time that passed meanwhile: no agent worked, so no limit
//! of a turn is over. The daemon's clock looks at itself each second, and leaves out longer gaps.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(any(test, feature = "testing"))]
use acpd_model::Millis;
use acpd_model::limits::{CLOCK_LOOK_MILLIS, CLOCK_PAUSE_MILLIS};
use acpd_proto::time::Now;
use tokio::time::Instant;

/// The source of time for the state machines.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    wall: WallClock,
    /// `None` if pauses count like other time.
    pauses: Option<&'static Pauses>,
}

/// The time during which this process did not run.
#[derive(Debug)]
struct Pauses(Mutex<Pause>);

#[derive(Debug, Clone, Copy)]
struct Pause {
    /// When the clock was last looked at.
    seen: Duration,
    /// All gaps together.
    skipped: Duration,
}

/// Pauses concern the whole process.
static PAUSES: Pauses = Pauses::new();

impl Pauses {
    const fn new() -> Self {
        Self(Mutex::new(Pause {
            seen: Duration::ZERO,
            skipped: Duration::ZERO,
        }))
    }

    /// Looks at the clock after `elapsed`. Returns the latest time that any thread has seen, and all pauses so far.
    fn look(&self, elapsed: Duration) -> Pause {
        // One lock for both, or the time that a second thread sees would go back.
        let mut pause = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let gap = elapsed.saturating_sub(pause.seen);
        pause.seen = pause.seen.max(elapsed);
        if gap >= Duration::from_millis(CLOCK_PAUSE_MILLIS) {
            pause.skipped += gap;
            tracing::info!(
                secs = gap.as_secs(),
                "the daemon did not run for some time, which counts for no limit"
            );
        }
        *pause
    }
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
            pauses: None,
        }
    }

    /// Starts a clock that leaves out the time during which this process did not run, and the task that notices it. A process
    /// has one such clock.
    pub fn start_without_pauses() -> Self {
        let clock = Self {
            pauses: Some(&PAUSES),
            ..Self::start()
        };
        clock.now();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(CLOCK_LOOK_MILLIS)).await;
                clock.now();
            }
        });
        clock
    }

    /// Starts a clock whose wall time begins at `began` and follows tokio's clock, for tests that move time by hand.
    #[cfg(any(test, feature = "testing"))]
    pub fn starting_at(began: Millis) -> Self {
        Self {
            start: Instant::now(),
            wall: WallClock::Manual(began),
            pauses: None,
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
        let pause = self.look(elapsed);
        Now {
            mono: pause.seen.saturating_sub(pause.skipped) + FIRST,
            wall: i64::try_from(wall.as_millis()).unwrap_or(i64::MAX),
        }
    }

    /// Converts a state machine's deadline to tokio's clock. After a pause, the same deadline is a later time.
    pub fn instant(&self, mono: acpd_proto::time::Instant) -> Instant {
        self.start + mono.saturating_sub(FIRST) + self.look(self.start.elapsed()).skipped
    }

    fn look(&self, elapsed: Duration) -> Pause {
        let without = Pause {
            seen: elapsed,
            skipped: Duration::ZERO,
        };
        self.pauses.map_or(without, |pauses| pauses.look(elapsed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock_with_pauses() -> Clock {
        Clock {
            pauses: Some(Box::leak(Box::new(Pauses::new()))),
            ..Clock::start()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_gap_counts_for_no_limit() {
        let clock = clock_with_pauses();
        for _ in 0..20 {
            tokio::time::advance(Duration::from_millis(CLOCK_LOOK_MILLIS)).await;
            clock.now();
        }
        let before = clock.now();
        let deadline = before.mono + Duration::from_secs(20);
        let due = clock.instant(deadline);
        tokio::time::advance(Duration::from_hours(1)).await;
        assert_eq!(clock.now().mono, before.mono, "the process did not run");
        assert_eq!(clock.instant(deadline), due + Duration::from_hours(1));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(clock.now().mono, before.mono + Duration::from_secs(1));
    }

    #[test]
    fn time_does_not_go_back_for_a_thread_that_read_it_before_another_one() {
        let pauses = Pauses::new();
        let later = Duration::from_millis(CLOCK_PAUSE_MILLIS);
        pauses.look(later);
        let pause = pauses.look(Duration::from_millis(1));
        assert_eq!((pause.seen, pause.skipped), (later, later));
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_host_is_no_pause() {
        let clock = clock_with_pauses();
        let before = clock.now().mono;
        tokio::time::advance(Duration::from_millis(CLOCK_PAUSE_MILLIS - 1)).await;
        assert_eq!(
            clock.now().mono.saturating_sub(before),
            Duration::from_millis(CLOCK_PAUSE_MILLIS - 1)
        );
    }
}
