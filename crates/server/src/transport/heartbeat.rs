//! When a client is asked whether it is still there, and when it counts as gone.
//!
//! In: moments at which something came, and the time. Out: when to look next, and what to do then. Owns: two
//! moments. Never: reads a clock.

use std::time::Duration;

use tokio::time::Instant;

/// The life signs of one connection.
#[derive(Debug)]
pub struct Heartbeat {
    every: Duration,
    patience: Duration,
    next_ping: Instant,
    /// The first ping since something was heard.
    unanswered: Option<Instant>,
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Nothing yet.
    Nothing,
    /// Ask.
    Ping,
    /// It was asked, and has been silent for too long since.
    Gone,
}

impl Heartbeat {
    /// Asks each `every`; gives up once nothing has come for `patience` after it asked.
    pub fn new(every: Duration, patience: Duration, now: Instant) -> Self {
        Self {
            every,
            patience,
            next_ping: now + every,
            unanswered: None,
        }
    }

    /// Something came from the client, whatever it was.
    pub fn heard(&mut self) {
        self.unanswered = None;
    }

    /// When something is due next.
    pub fn deadline(&self) -> Instant {
        match self.unanswered {
            Some(asked) => self.next_ping.min(asked + self.patience),
            None => self.next_ping,
        }
    }

    /// What is due now.
    pub fn due(&mut self, now: Instant) -> Due {
        if self.unanswered.is_some_and(|asked| asked + self.patience <= now) {
            return Due::Gone;
        }
        if now < self.next_ping {
            return Due::Nothing;
        }
        self.next_ping = now + self.every;
        self.unanswered.get_or_insert(now);
        Due::Ping
    }
}

#[cfg(test)]
mod tests {
    use acpd_model::Limits;

    use super::*;

    /// A connection with the usual times, and a way to name moments.
    fn usual() -> (Heartbeat, impl Fn(u64) -> Instant) {
        let Limits {
            ping_secs, pong_secs, ..
        } = Limits::default();
        let start = Instant::now();
        let beat = Heartbeat::new(
            Duration::from_secs(ping_secs),
            Duration::from_secs(pong_secs),
            start,
        );
        (beat, move |secs| start + Duration::from_secs(secs))
    }

    #[test]
    fn a_client_that_is_silent_for_35_s_after_a_ping_is_gone() {
        let (mut beat, at) = usual();
        assert_eq!(beat.deadline(), at(30));
        assert_eq!(beat.due(at(29)), Due::Nothing);
        assert_eq!(beat.due(at(30)), Due::Ping);
        assert_eq!(beat.deadline(), at(60));
        assert_eq!(beat.due(at(60)), Due::Ping);
        assert_eq!(
            beat.deadline(),
            at(65),
            "counted from the first ping that it left unanswered"
        );
        assert_eq!(beat.due(at(64)), Due::Nothing);
        assert_eq!(beat.due(at(65)), Due::Gone);
    }

    #[test]
    fn whatever_comes_is_a_sign_of_life() {
        let (mut beat, at) = usual();
        for round in 1..10 {
            assert_eq!(beat.due(at(round * 30)), Due::Ping);
            beat.heard();
            assert_eq!(beat.deadline(), at(round * 30 + 30));
        }
        assert_eq!(beat.due(at(300)), Due::Ping);
        assert_eq!(beat.due(at(330)), Due::Ping);
        assert_eq!(beat.due(at(335)), Due::Gone);
    }
}
