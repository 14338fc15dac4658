//! The watchdog of the agent's process: a silent process is asked to stop, and a process that fails repeatedly is
//! restarted with growing delays.

use std::time::Duration;

use acpd_model::event::Level;
use acpd_model::limits::{RESTART_MILLIS, RESTART_MILLIS_MAX};
use acpd_model::{EventKind, Limits, Origin, TurnEvent, TurnId};

use crate::thread::journal::Journal;
use crate::time::Instant;

/// The health of the agent's process.
#[derive(Debug, Default)]
pub(super) struct Watchdog {
    /// When the agent last made progress.
    last_activity: Instant,
    /// Why the agent was asked to end its turn, if it was silent.
    silence: Option<String>,
    /// The last turn in which the agent was read more slowly.
    slowed_in: Option<TurnId>,
    /// Failures in a row.
    failures: u32,
    /// The earliest time of the next start.
    not_before: Instant,
    /// Whether a start is pending until then.
    restart_wanted: bool,
}

impl Watchdog {
    pub fn record_activity(&mut self, now: Instant) {
        self.last_activity = now;
    }

    pub fn record_success(&mut self) {
        self.failures = 0;
    }

    /// Forgets failures: the next start is immediate.
    pub fn forget_failures(&mut self, now: Instant) {
        self.failures = 0;
        self.not_before = now;
    }

    /// The first start after a failure is immediate; each further delay doubles.
    pub fn record_failure(&mut self, now: Instant) {
        let wait = match self.failures {
            0 => 0,
            n => (RESTART_MILLIS << (n - 1).min(16)).min(RESTART_MILLIS_MAX),
        };
        self.failures = self.failures.saturating_add(1);
        self.not_before = now + Duration::from_millis(wait);
    }

    /// Returns whether the agent may start now; otherwise a start is pending until it may.
    pub fn try_start(&mut self, now: Instant) -> bool {
        self.restart_wanted = now < self.not_before;
        !self.restart_wanted
    }

    pub fn start_at(&self) -> Option<Instant> {
        self.restart_wanted.then_some(self.not_before)
    }

    pub fn take_silence(&mut self) -> Option<String> {
        self.silence.take()
    }

    /// Returns when the agent's silence exceeds the limit.
    pub fn silence_deadline(&self, limits: &Limits) -> Option<Instant> {
        let limit = limits.agent_silence_secs;
        (limit > 0).then(|| self.last_activity + Duration::from_secs(limit))
    }

    /// Records that the agent was silent for too long, and must end its turn.
    pub fn note_silence(&mut self, journal: &mut Journal) {
        let seconds = journal.limits().agent_silence_secs;
        let reason = format!("the agent made no progress for {seconds} s");
        journal.notice(Level::Warning, "agentSilent", &reason);
        journal.emit(
            Origin::Daemon,
            EventKind::Turn(TurnEvent::InterruptRequested {}),
            None,
        );
        self.silence = Some(reason);
    }

    /// Says once a turn that the agent is read more slowly.
    pub fn note_slowed(&mut self, journal: &mut Journal) {
        let turn = journal.live().turn.map(|turn| turn.id);
        if turn.is_none() || turn == self.slowed_in {
            return;
        }
        self.slowed_in = turn;
        let message = "The agent wrote more than agent_bytes_per_sec in [limits] allows, so acpd reads it more slowly for a while. Nothing is lost.";
        journal.notice(Level::Warning, "agentSlowed", message);
    }
}
