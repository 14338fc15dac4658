//! How the held process and its descendants end.
//!
//! In: the time. Out: whether all are gone. Never: waits.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::descendants;

/// Time between two rounds while processes may end by themselves. The children of one that ends become the shim's without an event,
/// if it was not the shim's child.
const POLITE_ROUND: Duration = Duration::from_millis(100);
/// Time between two rounds while processes are killed.
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
    /// Numbers of children that have SIGTERM.
    asked: BTreeSet<i32>,
    /// Numbers of children that have SIGKILL.
    killed: BTreeSet<i32>,
    next_round: Instant,
}

/// What a round has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Processes are left.
    Continues,
    /// It is over, with this number of children that did not end.
    Over(u32),
}

impl Ending {
    /// Begins: all get SIGTERM, except this group, which has it, and SIGKILL after `grace`.
    pub fn new(now: Instant, grace: Duration, group: Option<Pid>) -> Self {
        Self {
            kill_at: now + grace,
            group,
            asked: BTreeSet::new(),
            killed: BTreeSet::new(),
            next_round: now,
        }
    }

    /// Kills after `grace` from now on, if that is earlier.
    pub fn hasten(&mut self, now: Instant, grace: Duration) {
        self.kill_at = self.kill_at.min(now + grace);
        self.next_round = self.next_round.min(self.kill_at);
    }

    /// Returns when the next round is due.
    pub fn due(&self) -> Instant {
        self.next_round
    }

    /// A child was waited for. Its number may become another process's.
    pub fn forget(&mut self, child: Pid) {
        self.asked.remove(&child.as_raw_pid());
        self.killed.remove(&child.as_raw_pid());
    }

    /// Does what is due.
    pub fn proceed(&mut self, now: Instant, is_childless: bool) -> Progress {
        if is_childless {
            return Progress::Over(0);
        }
        if now < self.next_round {
            return Progress::Continues;
        }
        if now < self.kill_at {
            self.ask();
            self.next_round = self.kill_at.min(now + POLITE_ROUND);
            return Progress::Continues;
        }
        let (left, some_are_new) = self.kill();
        if now >= self.kill_at + KILL_PATIENCE {
            return Progress::Over(left);
        }
        // A process that always leaves a child behind and ends is caught only by one who is as fast.
        self.next_round = if some_are_new { now } else { now + ROUND };
        Progress::Continues
    }

    /// Sends SIGTERM to the children that have not got it.
    fn ask(&mut self) {
        for child in descendants::children() {
            if self.asked.insert(child.as_raw_pid())
                && !self.group.is_some_and(|group| descendants::is_in(child, group))
            {
                descendants::signal(child, Signal::TERM);
            }
        }
    }

    /// Kills all children. Returns their number, and whether some of them were not killed before.
    fn kill(&mut self) -> (u32, bool) {
        let mut some_are_new = false;
        let children = descendants::children();
        for child in &children {
            descendants::signal(*child, Signal::KILL);
            some_are_new |= self.killed.insert(child.as_raw_pid());
        }
        (u32::try_from(children.len()).unwrap_or(u32::MAX), some_are_new)
    }
}
