//! Measures how long stored events take until a connection has accepted them.
//!
//! In: when events were stored, and the number of their last message. Out: the time that passed when it was sent. Owns: one
//! measurement at a time, so that the path of an event has no further cost. Never: keeps a message.

use std::collections::VecDeque;
use std::time::Duration;

use acpd_runtime::metrics::Present;
use acpd_runtime::unsent::UnsentCharge;
use tokio::time::Instant;

/// The shortest time between two measurements of one connection.
const PAUSE: Duration = Duration::from_millis(100);

/// What is counted and measured about one connection.
#[derive(Debug)]
pub(super) struct Meter {
    _connected: Present,
    pub sample: DeliverySample,
    /// The room of large answers, each with the number of the message that must be sent.
    unsent: VecDeque<(u64, Box<UnsentCharge>)>,
}

impl Meter {
    /// Creates the meter of a connection that `connected` counts.
    pub fn new(connected: Present) -> Self {
        Self {
            _connected: connected,
            sample: DeliverySample::default(),
            unsent: VecDeque::new(),
        }
    }

    /// Holds the room of an answer until message `number` is sent.
    pub fn hold(&mut self, charge: Option<Box<UnsentCharge>>, number: u64) {
        self.unsent.extend(charge.map(|charge| (number, charge)));
    }

    /// Returns the room that is held for the longest time.
    pub fn oldest(&self) -> Option<&UnsentCharge> {
        self.unsent.front().map(|(_, charge)| &**charge)
    }

    /// Returns the room of the answers that were sent.
    pub fn release(&mut self, mut has_sent: impl FnMut(u64) -> bool) {
        while self.unsent.front().is_some_and(|(number, _)| has_sent(*number)) {
            self.unsent.pop_front();
        }
    }
}

/// One measurement at a time.
#[derive(Debug, Default)]
pub(super) struct DeliverySample {
    /// When the events were stored, and the message that must be sent.
    running: Option<(Instant, u64)>,
    /// When the events of the last measurement were stored.
    last: Option<Instant>,
}

impl DeliverySample {
    /// Begins to measure events that were `stored_at` this time and end with message `number`, unless a measurement runs or
    /// has just ended.
    pub fn begin(&mut self, stored_at: Option<Instant>, number: u64) {
        let Some(stored_at) = stored_at else { return };
        let is_due = self.last.is_none_or(|last| stored_at >= last + PAUSE);
        if self.running.is_none() && is_due {
            self.running = Some((stored_at, number));
            self.last = Some(stored_at);
        }
    }

    /// Returns the time between storage and delivery, once `has_sent` says that the message was sent.
    pub fn take_delivered(&mut self, has_sent: impl FnOnce(u64) -> bool) -> Option<Duration> {
        let (stored_at, number) = self.running?;
        has_sent(number).then(|| {
            self.running = None;
            stored_at.elapsed()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_measurement_lasts_until_its_message_is_sent() {
        let mut sample = DeliverySample::default();
        assert_eq!(sample.take_delivered(|_| true), None);
        sample.begin(None, 1);
        assert_eq!(
            sample.take_delivered(|_| true),
            None,
            "events of the log count not"
        );
        sample.begin(Some(Instant::now()), 3);
        tokio::time::advance(Duration::from_millis(30)).await;
        // The next batch does not restart it.
        sample.begin(Some(Instant::now()), 5);
        tokio::time::advance(Duration::from_millis(10)).await;
        assert_eq!(sample.take_delivered(|number| number <= 2), None);
        assert_eq!(
            sample.take_delivered(|number| number <= 3),
            Some(Duration::from_millis(40))
        );
        assert_eq!(sample.take_delivered(|_| true), None);
    }

    #[tokio::test(start_paused = true)]
    async fn measurements_have_a_pause_between_them() {
        let mut sample = DeliverySample::default();
        sample.begin(Some(Instant::now()), 1);
        assert!(sample.take_delivered(|_| true).is_some());
        sample.begin(Some(Instant::now()), 2);
        assert_eq!(sample.take_delivered(|_| true), None);
        tokio::time::advance(PAUSE).await;
        sample.begin(Some(Instant::now()), 3);
        assert!(sample.take_delivered(|_| true).is_some());
    }
}
