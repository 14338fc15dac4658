//! When the next request may be sent, so that the daemon refuses none for its rate.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::protocol::LimitsInForce;

/// Added to the daemon's window: requests may arrive closer to each other than they were sent.
const MARGIN: Duration = Duration::from_millis(500);

/// The longest window that makes sense. A daemon may send any number.
const LONGEST_SECS: u64 = 24 * 60 * 60;

/// The requests that were sent in the daemon's window, on one connection.
#[derive(Debug)]
pub(crate) struct Pace {
    most: usize,
    window: Duration,
    in_flight: usize,
    sent: VecDeque<Instant>,
}

impl Pace {
    pub(crate) fn new(limits: &LimitsInForce) -> Self {
        Self {
            most: usize::try_from(limits.requests_per_window)
                .unwrap_or(usize::MAX)
                .max(1),
            window: Duration::from_secs(limits.request_window_secs.min(LONGEST_SECS)) + MARGIN,
            in_flight: usize::try_from(limits.requests_in_flight)
                .unwrap_or(usize::MAX)
                .max(1),
            sent: VecDeque::new(),
        }
    }

    /// Returns whether a request may be sent while `waiting` ones have no response.
    pub(crate) fn admits(&mut self, now: Instant, waiting: usize) -> bool {
        while self.sent.front().is_some_and(|at| *at + self.window <= now) {
            self.sent.pop_front();
        }
        waiting < self.in_flight && self.sent.len() < self.most
    }

    /// Records a request.
    pub(crate) fn sent(&mut self, now: Instant) {
        self.sent.push_back(now);
    }

    /// Returns when the window admits the next request, if it is full.
    pub(crate) fn opens_at(&self) -> Option<Instant> {
        let first = self.sent.front().filter(|_| self.sent.len() >= self.most);
        first.map(|at| *at + self.window)
    }
}
