//! The only module that reads the clocks.
//!
//! A process that was stopped, or whose host was paused, has not used the time that passed meanwhile: no agent worked, so no limit
//! of a turn is over. The daemon's clock looks at itself each second, and leaves out longer gaps.
//!
//! A host whose clock is set back, or that starts without the right time, does not make the daemon's time earlier than one that is
//! known to be right. Retention knows it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use acpd_model::Millis;
use acpd_model::limits::{CLOCK_SLACK_MILLIS, CLOCK_STEADY_LOOKS};
use acpd_proto::time::Now;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

/// Time between two looks of the daemon at its own clock, in milliseconds.
const CLOCK_LOOK_MILLIS: u64 = 1000;
/// Time between two looks from which on the daemon was stopped or its host paused, in milliseconds.
const CLOCK_PAUSE_MILLIS: u64 = 10_000;

/// The source of time for the state machines.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    wall: WallClock,
    /// `None` if pauses count like other time.
    pauses: Option<&'static Pauses>,
    /// `None` if the wall time is always the host's.
    known: Option<&'static Known>,
}

/// A wall time that was right, and how long after the start of the clock that was.
#[derive(Debug)]
struct Known(Mutex<Option<(Millis, Duration)>>);

impl Known {
    /// Returns what all copies of a clock share.
    fn nothing() -> &'static Self {
        Box::leak(Box::new(Self(Mutex::new(None))))
    }

    fn set(&self, wall: Millis, elapsed: Duration) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((wall, elapsed));
    }

    fn is_set(&self) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.is_some()
    }

    /// Returns the wall time after `elapsed`: the host's, unless it is behind the time that is known, which continues.
    fn wall(&self, host: Millis, elapsed: Duration) -> Millis {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((known, since)) = known else {
            return host;
        };
        let passed = elapsed.saturating_sub(since).as_millis();
        let now = known.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX));
        let is_behind = host.saturating_add(CLOCK_SLACK_MILLIS) < now;
        if is_behind { now } else { host }
    }
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
            known: None,
        }
    }

    /// Starts the clock of a daemon, and the task that looks at it. It leaves out the time during which this process did not run, and
    /// its wall time is not before one that is known. A process has one such clock.
    pub fn start_of_daemon() -> Self {
        let clock = Self {
            pauses: Some(&PAUSES),
            known: Some(Known::nothing()),
            ..Self::start()
        };
        clock.now();
        tokio::spawn(async move {
            let mut was_behind = false;
            loop {
                tokio::time::sleep(Duration::from_millis(CLOCK_LOOK_MILLIS)).await;
                let behind = clock.behind();
                if behind > 0 && !was_behind {
                    tracing::warn!(
                        secs = behind / 1000,
                        "the clock of this host is behind a time that was right; acpd continues from that time, until the clock has not \
                         been set for {CLOCK_STEADY_LOOKS} h in which acpd ran, or \"acpd prune --confirm-clock\" confirms it"
                    );
                }
                was_behind = behind > 0;
            }
        });
        clock
    }

    /// Records that `wall` is right now: from now on, the time is not before it, however the host's clock is set.
    pub fn confirm(&self, wall: Millis) {
        if let Some(known) = self.known {
            known.set(wall, self.start.elapsed());
        }
    }

    /// Returns whether a time is known that was right, and the host's clock is not behind it.
    pub fn is_known(&self) -> bool {
        self.known.is_some_and(Known::is_set) && self.behind() == 0
    }

    /// Returns by how many milliseconds the host's clock is behind this one: zero while this one follows it.
    pub fn behind(&self) -> Millis {
        self.now().wall.saturating_sub(self.host_wall()).max(0)
    }

    /// Starts a clock whose wall time begins at `began` and follows tokio's clock, for tests that move time by hand.
    #[cfg(any(test, feature = "testing"))]
    pub fn starting_at(began: Millis) -> Self {
        Self {
            start: Instant::now(),
            wall: WallClock::Manual(began),
            pauses: None,
            known: Some(Known::nothing()),
        }
    }

    /// Returns the current time by both clocks.
    pub fn now(&self) -> Now {
        let elapsed = self.start.elapsed();
        let pause = self.look(elapsed);
        let host = self.host_wall();
        Now {
            mono: pause.seen.saturating_sub(pause.skipped) + FIRST,
            wall: self.known.map_or(host, |known| known.wall(host, elapsed)),
        }
    }

    /// Returns the wall time of the host.
    #[allow(
        clippy::disallowed_methods,
        reason = "the one place that reads the host's clock"
    )]
    pub fn host_wall(&self) -> Millis {
        let wall = match self.wall {
            WallClock::Host => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            #[cfg(any(test, feature = "testing"))]
            WallClock::Manual(began) => Duration::from_millis(began.unsigned_abs()) + self.start.elapsed(),
        };
        i64::try_from(wall.as_millis()).unwrap_or(i64::MAX)
    }

    /// Returns the time since the host has started, to the second. It does not leap, and contains the time in which the host slept.
    pub fn since_boot(&self) -> Duration {
        // Elsewhere the monotonic clock continues during sleep.
        #[cfg(target_os = "linux")]
        const WITH_SLEEP: ClockId = ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        const WITH_SLEEP: ClockId = ClockId::Monotonic;
        match self.wall {
            WallClock::Host => {
                Duration::from_secs(u64::try_from(clock_gettime(WITH_SLEEP).tv_sec).unwrap_or_default())
            }
            #[cfg(any(test, feature = "testing"))]
            WallClock::Manual(_) => self.start.elapsed(),
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

    #[test]
    fn the_time_is_not_before_one_that_was_right() {
        const DAY: Millis = 24 * 3600 * 1000;
        const RIGHT: Millis = 20_000 * DAY;
        let known = Known::nothing();
        let secs = Duration::from_secs;
        assert_eq!(known.wall(5, secs(1)), 5, "nothing is known");
        known.set(RIGHT, secs(1));
        assert_eq!(known.wall(RIGHT - 400 * DAY, secs(1)), RIGHT);
        assert_eq!(known.wall(0, secs(61)), RIGHT + 60_000, "it continues");
        for host in [
            // A small correction, and a host that slept.
            RIGHT + 60_000 - CLOCK_SLACK_MILLIS,
            RIGHT + 400 * DAY,
            // The end of a leap.
            RIGHT + 60_000,
        ] {
            assert_eq!(known.wall(host, secs(61)), host);
        }
        known.set(5, secs(62));
        assert_eq!(known.wall(6, secs(62)), 6);
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_continues_from_the_confirmed_time() {
        let clock = Clock::starting_at(1_000);
        assert_eq!((clock.now().wall, clock.behind()), (1_000, 0));
        let hour = 3_600_000;
        clock.confirm(hour);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!((clock.now().wall, clock.behind()), (hour + 2_000, hour - 1_000));
        clock.confirm(clock.host_wall());
        assert_eq!((clock.now().wall, clock.behind()), (3_000, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_host_does_not_count_as_a_pause() {
        let clock = clock_with_pauses();
        let before = clock.now().mono;
        tokio::time::advance(Duration::from_millis(CLOCK_PAUSE_MILLIS - 1)).await;
        assert_eq!(
            clock.now().mono.saturating_sub(before),
            Duration::from_millis(CLOCK_PAUSE_MILLIS - 1)
        );
    }
}
