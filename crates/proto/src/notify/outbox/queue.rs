//! The notifications that wait for one target, and when the next one may be sent.

use std::collections::VecDeque;
use std::time::Duration;

use acpd_model::RequestId;
use acpd_model::limits::NOTIFICATIONS_WAITING;

use crate::notify::target::{DeliveryError, Target, TargetState};
use crate::notify::{Subject, Trigger};
use crate::time::{Instant, Now};

/// Pause after the first failed delivery to a target. It doubles with each further failure.
const NOTIFICATIONS_RETRY: Duration = Duration::from_secs(5);
/// Longest pause between two deliveries to a failing target.
const NOTIFICATIONS_RETRY_MOST: Duration = Duration::from_hours(1);

/// A target's queue. One notification at a time is on its way.
#[derive(Debug)]
pub(super) struct Queue {
    target: Target,
    waiting: VecDeque<Trigger>,
    sending: Option<Trigger>,
    failures: u32,
    not_before: Instant,
    error: Option<String>,
}

impl Queue {
    pub fn new(target: Target) -> Self {
        Self {
            target,
            waiting: VecDeque::new(),
            sending: None,
            failures: 0,
            not_before: Instant::ZERO,
            error: None,
        }
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Replaces the target. If it has changed, its address may have been corrected, so the next delivery does not wait.
    pub fn set_target(&mut self, target: Target) {
        if self.target != target {
            self.target = target;
            self.not_before = Instant::ZERO;
        }
    }

    /// Returns all notifications that are not delivered.
    pub fn all(&self) -> impl Iterator<Item = &Trigger> {
        self.sending.iter().chain(&self.waiting)
    }

    pub fn len(&self) -> usize {
        self.all().count()
    }

    /// Adds a notification; returns the one that made room for it.
    pub fn push(&mut self, trigger: Trigger) -> Option<Trigger> {
        self.waiting.push_back(trigger);
        if self.waiting.len() > NOTIFICATIONS_WAITING {
            return self.drop_oldest();
        }
        None
    }

    pub fn drop_oldest(&mut self) -> Option<Trigger> {
        let oldest = self
            .waiting
            .iter()
            .enumerate()
            .min_by_key(|(_, trigger)| trigger.at);
        let oldest = oldest.map(|(index, _)| index)?;
        self.waiting.remove(oldest)
    }

    pub fn drop_question(&mut self, request: RequestId) {
        self.waiting
            .retain(|trigger| trigger.subject != Subject::Question(request));
    }

    /// Returns the next notification, which counts as being sent from now on.
    pub fn next(&mut self, now: Now) -> Option<Trigger> {
        if self.sending.is_some() || self.not_before > now.mono {
            return None;
        }
        self.sending = self.waiting.pop_front();
        self.sending
    }

    /// Drops the notification that is being sent.
    pub fn forget(&mut self) {
        self.sending = None;
    }

    /// Handles the result of the notification that was being sent, and returns it. A failed one leaves its place to the
    /// others, in case the receiver refuses it alone.
    pub fn finish(&mut self, result: &Result<(), DeliveryError>, name: &str, now: Now) -> Option<Trigger> {
        let trigger = self.sending.take()?;
        match result {
            Ok(()) => {
                self.failures = 0;
                self.error = None;
                self.not_before = now.mono;
            }
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                self.error = Some(error.reason.clone());
                let pause = pause(self.failures, name, &trigger);
                let wished = error
                    .retry_after
                    .unwrap_or_default()
                    .min(NOTIFICATIONS_RETRY_MOST);
                self.not_before = now.mono + pause.max(wished);
            }
        }
        Some(trigger)
    }

    /// Returns when the next notification may be sent; `None` if none waits, or one is being sent.
    pub fn ready_at(&self) -> Option<Instant> {
        (self.sending.is_none() && !self.waiting.is_empty()).then_some(self.not_before)
    }

    pub fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// Returns why nothing was delivered lately.
    pub fn last_error(&self) -> String {
        let error = self.error.clone();
        error.unwrap_or_else(|| "the daemon did not run".to_owned())
    }

    pub fn state(&self, name: &str) -> TargetState {
        TargetState {
            name: name.to_owned(),
            owner: self.target.owner.clone(),
            waiting: self.len(),
            failures: self.failures,
            error: self.error.clone(),
        }
    }
}

/// Returns the pause after this number of failures in a row. It doubles each time, and varies by a quarter, so that many
/// daemons do not return to a receiver at the same moment. The variation comes from the notification, since a state
/// machine has no randomness.
fn pause(failures: u32, target: &str, trigger: &Trigger) -> Duration {
    let doubled = NOTIFICATIONS_RETRY.saturating_mul(1 << failures.saturating_sub(1).min(16));
    let pause = doubled.min(NOTIFICATIONS_RETRY_MOST);
    let thread = trigger.thread.0.as_bytes();
    let bytes = target.bytes().chain(thread.iter().copied());
    // FNV-1a.
    let hash = bytes
        .chain(failures.to_le_bytes())
        .fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
    // 75 % to 125 %.
    pause * (75 + hash % 51) / 100
}

#[cfg(test)]
mod tests {
    use acpd_model::{ThreadId, TurnId};
    use uuid::Uuid;

    use super::*;
    use crate::notify::TriggerKind;

    #[test]
    fn pauses_double_up_to_an_hour_and_differ_between_threads() {
        let trigger = |thread: u128| Trigger {
            thread: ThreadId(Uuid::from_u128(thread)),
            kind: TriggerKind::Done,
            subject: Subject::Turn(TurnId(1)),
            seq: 1,
            at: 1,
        };
        for (failures, nominal) in [
            (1, 5),
            (2, 10),
            (3, 20),
            (10, 2_560),
            (11, 3_600),
            (u32::MAX, 3_600),
        ] {
            let nominal = Duration::from_secs(nominal);
            let pause = pause(failures, "a", &trigger(1));
            assert!(
                nominal * 3 / 4 <= pause && pause <= nominal * 5 / 4,
                "{failures}: {pause:?}"
            );
        }
        let pauses: std::collections::BTreeSet<_> =
            (0..20).map(|thread| pause(5, "a", &trigger(thread))).collect();
        assert!(pauses.len() > 10, "{pauses:?}");
    }
}
