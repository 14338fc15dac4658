//! How the held process and its descendants end.
//!
//! In: the time. Out: whether all are gone. Never: waits.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::descendants;

/// Time between two rounds. A child that ends makes its own children known without an event.
const ROUND: Duration = Duration::from_millis(10);
/// How long killed processes may take to end. What is in an uninterruptible call of the kernel takes longer; the daemon finds it.
const KILL_PATIENCE: Duration = Duration::from_secs(10);

/// An end that has begun.
#[derive(Debug)]
pub(super) struct Ending {
    /// From here on they are killed.
    kill_at: Instant,
    /// The group that has SIGTERM already.
    group: Option<Pid>,
    /// Whether SIGTERM was sent to the children outside of that group.
    is_announced: bool,
    next_round: Instant,
}

impl Ending {
    /// Begins: all get SIGTERM, except this group, which has it, and SIGKILL after `grace`.
    pub fn new(now: Instant, grace: Duration, group: Option<Pid>) -> Self {
        Self {
            kill_at: now + grace,
            group,
            is_announced: false,
            next_round: now,
        }
    }

    /// Returns when the next round is due.
    pub fn due(&self) -> Instant {
        self.next_round
    }

    /// Does what is due. Returns whether no process is left, or none can be ended.
    pub fn proceed(&mut self, now: Instant, is_childless: bool) -> bool {
        if is_childless {
            return true;
        }
        if now < self.next_round {
            return false;
        }
        self.next_round = now + ROUND;
        if now >= self.kill_at {
            descendants::signal_children(Signal::KILL, None);
        } else if !self.is_announced {
            self.is_announced = true;
            descendants::signal_children(Signal::TERM, self.group);
        }
        now >= self.kill_at + KILL_PATIENCE
    }
}
