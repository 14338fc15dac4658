//! Decides when to ping a client, and when it counts as disconnected: it sends nothing, or accepts none of its messages.
//!
//! In: received bytes, accepted bytes, and the current time. Out: the next deadline, and the action at that time. Owns:
//! deadlines. Never: reads a clock.

use std::time::Duration;

use acpd_model::Limits;
use tokio::time::Instant;

/// The deadlines of one connection.
#[derive(Debug)]
pub struct Pulse {
    ping_every: Duration,
    pong_within: Duration,
    write_within: Duration,
    next_ping: Instant,
    /// When the first ping was sent after which nothing was received.
    unanswered: Option<Instant>,
    /// Bytes that the client has accepted.
    taken: u64,
    /// When the client last accepted a byte, while more bytes are queued.
    waits_since: Option<Instant>,
}

/// The action that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    Nothing,
    Ping,
    /// The client has sent nothing for too long after a ping.
    Silent,
    /// The client has accepted nothing for too long.
    Stalled,
}

impl Pulse {
    /// Starts with the intervals of `limits`.
    pub fn new(limits: &Limits, now: Instant) -> Self {
        let secs = Duration::from_secs;
        Self {
            ping_every: secs(limits.ping_secs),
            pong_within: secs(limits.pong_secs),
            write_within: secs(limits.write_secs),
            next_ping: now + secs(limits.ping_secs),
            unanswered: None,
            taken: 0,
            waits_since: None,
        }
    }

    /// Records that bytes arrived from the client.
    pub fn heard(&mut self) {
        self.unanswered = None;
    }

    /// Records that a ping was sent.
    pub fn asked(&mut self, now: Instant) {
        self.unanswered.get_or_insert(now);
    }

    /// Records that the client has accepted `taken` bytes since it connected, and that `backlog` more are queued.
    pub fn written(&mut self, taken: u64, backlog: usize, now: Instant) {
        let grew = taken != self.taken;
        self.taken = taken;
        if backlog == 0 {
            self.waits_since = None;
        } else if grew {
            // The ping may be behind the bytes that the client still reads. Without a backlog, the system may have accepted
            // the bytes for a client that has disconnected.
            self.heard();
            self.waits_since = Some(now);
        } else {
            self.waits_since.get_or_insert(now);
        }
    }

    /// Returns the next deadline.
    pub fn deadline(&self) -> Instant {
        let silent = self.unanswered.map(|asked| asked + self.pong_within);
        let stalled = self.waits_since.map(|since| since + self.write_within);
        let others = silent.into_iter().chain(stalled);
        others.fold(self.next_ping, Instant::min)
    }

    /// Returns the action that is due now.
    pub fn due(&mut self, now: Instant) -> Due {
        if self
            .waits_since
            .is_some_and(|since| since + self.write_within <= now)
        {
            self.waits_since = None;
            return Due::Stalled;
        }
        if self
            .unanswered
            .is_some_and(|asked| asked + self.pong_within <= now)
        {
            return Due::Silent;
        }
        if now < self.next_ping {
            return Due::Nothing;
        }
        self.next_ping = now + self.ping_every;
        Due::Ping
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a connection with the default intervals, and a function that returns points in time.
    fn usual() -> (Pulse, impl Fn(u64) -> Instant) {
        let start = Instant::now();
        let at = move |millis| start + Duration::from_millis(millis);
        (Pulse::new(&Limits::default(), start), at)
    }

    #[test]
    fn a_client_that_answers_no_ping_for_35_s_is_disconnected() {
        let (mut pulse, at) = usual();
        assert_eq!(pulse.deadline(), at(30_000));
        assert_eq!(pulse.due(at(29_000)), Due::Nothing);
        assert_eq!(pulse.due(at(30_000)), Due::Ping);
        pulse.asked(at(30_000));
        assert_eq!(pulse.deadline(), at(60_000));
        assert_eq!(pulse.due(at(60_000)), Due::Ping);
        pulse.asked(at(60_000));
        assert_eq!(
            pulse.deadline(),
            at(65_000),
            "counted from the first ping that it left unanswered"
        );
        assert_eq!(pulse.due(at(64_000)), Due::Nothing);
        assert_eq!(pulse.due(at(65_000)), Due::Silent);
    }

    #[test]
    fn any_message_counts_as_progress() {
        let (mut pulse, at) = usual();
        for round in 1..10 {
            assert_eq!(pulse.due(at(round * 30_000)), Due::Ping);
            pulse.asked(at(round * 30_000));
            pulse.heard();
            assert_eq!(pulse.deadline(), at(round * 30_000 + 30_000));
        }
        for ping in [300_000, 330_000] {
            assert_eq!(pulse.due(at(ping)), Due::Ping);
            pulse.asked(at(ping));
        }
        assert_eq!(pulse.due(at(335_000)), Due::Silent);
    }

    /// Processes all deadlines between two points in time, and fails if the client counts as disconnected.
    fn lives(pulse: &mut Pulse, from: Instant, until: Instant) {
        let mut now = from;
        while now < until {
            match pulse.due(now) {
                Due::Nothing => {}
                Due::Ping => pulse.asked(now),
                gone => panic!("{gone:?} after {:?}", now - from),
            }
            now += Duration::from_secs(1);
        }
    }

    #[test]
    fn a_client_that_takes_a_little_now_and_then_stays() {
        let (mut pulse, at) = usual();
        for round in 0..100 {
            pulse.written(round, 1 << 20, at(round * 29_000));
            lives(&mut pulse, at(round * 29_000), at(round * 29_000 + 29_000));
        }
        let last = 99 * 29_000;
        assert_eq!(pulse.due(at(last + 29_999)), Due::Nothing);
        assert_eq!(pulse.due(at(last + 30_000)), Due::Stalled);
    }

    #[test]
    fn a_client_with_an_empty_queue_is_not_slow() {
        let (mut pulse, at) = usual();
        pulse.written(1, 1, at(0));
        pulse.written(2, 0, at(1000));
        assert_eq!(pulse.deadline(), at(30_000));
        pulse.written(2, 1, at(20_000));
        assert_eq!(pulse.due(at(30_000)), Due::Ping);
        assert_eq!(pulse.deadline(), at(50_000));
        assert_eq!(pulse.due(at(50_000)), Due::Stalled);
    }

    #[test]
    fn bytes_that_leave_at_once_prove_no_progress() {
        let (mut pulse, at) = usual();
        assert_eq!(pulse.due(at(30_000)), Due::Ping);
        pulse.asked(at(30_000));
        for second in 31..65 {
            pulse.written(second, 0, at(second * 1000));
        }
        assert_eq!(pulse.due(at(65_000)), Due::Silent);
    }
}
