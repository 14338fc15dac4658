//! Care for the agent's process: one that gives no sign of life is told to stop, one that fails again and again is
//! started less and less often.

use std::time::Duration;

use acpd_model::event::Level;
use acpd_model::limits::{RESTART_MILLIS, RESTART_MILLIS_MAX};
use acpd_model::{EventKind, Origin};

use super::thread::Thread;
use crate::agent::AgentCommand;
use crate::time::Instant;

/// What is known of the process's health.
#[derive(Debug, Default)]
pub(super) struct Watchdog {
    /// When the agent last did something.
    last_activity: Instant,
    /// Why it was told to stop, if it was silent.
    silence: Option<String>,
    /// Failures in a row.
    failures: u32,
    /// When it may be started again.
    not_before: Instant,
    /// Somebody wants it then.
    restart_wanted: bool,
}

impl Watchdog {
    pub(super) fn record_activity(&mut self, now: Instant) {
        self.last_activity = now;
    }

    pub(super) fn record_success(&mut self) {
        self.failures = 0;
    }

    /// The first start after a failure is at once, the ones after it wait twice as long each time.
    pub(super) fn record_failure(&mut self, now: Instant) {
        let wait = match self.failures {
            0 => 0,
            n => (RESTART_MILLIS << (n - 1).min(16)).min(RESTART_MILLIS_MAX),
        };
        self.failures = self.failures.saturating_add(1);
        self.not_before = now + Duration::from_millis(wait);
    }

    /// Whether it may be started now; if not, it is as soon as it may.
    pub(super) fn try_start(&mut self, now: Instant) -> bool {
        self.restart_wanted = now < self.not_before;
        !self.restart_wanted
    }

    pub(super) fn start_at(&self) -> Option<Instant> {
        self.restart_wanted.then_some(self.not_before)
    }

    pub(super) fn start_is_due(&mut self, now: Instant) -> bool {
        self.start_at().is_some_and(|at| at <= now)
    }

    pub(super) fn take_silence(&mut self) -> Option<String> {
        self.silence.take()
    }
}

impl Thread {
    /// When the agent will have been silent for too long. Not while it waits for us or for a person.
    pub(super) fn silence_deadline(&self) -> Option<Instant> {
        let limit = self.journal.limits().agent_silence_secs;
        let waits =
            self.approvals.len() > 0 || self.callbacks.has_agent_waiting() || self.cancel_deadline.is_some();
        if limit == 0 || waits || self.prompted.is_none() {
            return None;
        }
        Some(self.watchdog.last_activity + Duration::from_secs(limit))
    }

    pub(super) fn handle_silence(&mut self) {
        let seconds = self.journal.limits().agent_silence_secs;
        let reason = format!("the agent sent no message for {seconds} s");
        self.journal.notice(Level::Warning, "agentSilent", &reason);
        let kind = EventKind::InterruptRequested {};
        self.journal.emit(Origin::Daemon, kind, None);
        self.watchdog.silence = Some(reason);
        self.journal.send_to_agent(AgentCommand::Cancel);
        self.cancel_deadline =
            Some(self.journal.now().mono + Duration::from_secs(self.journal.limits().cancel_secs));
    }
}
