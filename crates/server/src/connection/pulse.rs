//! When a client is asked whether it is still there, and when it counts as gone: it says nothing, or takes nothing of what is there
//! for it.
//!
//! In: signs of life, what the client has taken, and the time. Out: when to look next, and what to do then. Owns: moments.
//! Never: reads a clock.

use std::time::Duration;

use acpd_model::Limits;
use tokio::time::Instant;

/// The life signs of one connection.
#[derive(Debug)]
pub struct Pulse {
    ping_every: Duration,
    pong_within: Duration,
    write_within: Duration,
    next_ping: Instant,
    /// The first ping since something was heard.
    unanswered: Option<Instant>,
    /// Bytes that the client has taken so far.
    taken: u64,
    /// Since when it has taken nothing of what waits for it.
    waits_since: Option<Instant>,
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Nothing yet.
    Nothing,
    /// To ask the client for a sign of life.
    Ping,
    /// The client was asked, and has been silent for too long since.
    Silent,
    /// The client has taken nothing for too long.
    Stalled,
}

impl Pulse {
    /// Takes its times from `limits`.
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

    /// Something came from the client, whatever it was.
    pub fn heard(&mut self) {
        self.unanswered = None;
    }

    /// The client was asked for a sign of life.
    pub fn asked(&mut self, now: Instant) {
        self.unanswered.get_or_insert(now);
    }

    /// The client has taken `taken` bytes so far, and `backlog` more are there for it.
    pub fn written(&mut self, taken: u64, backlog: usize, now: Instant) {
        let grew = taken != self.taken;
        self.taken = taken;
        if backlog == 0 {
            self.waits_since = None;
        } else if grew {
            // It may have so much before it that it has not seen the ping yet. Where nothing waits, the bytes may be on their
            // way to nobody.
            self.heard();
            self.waits_since = Some(now);
        } else {
            self.waits_since.get_or_insert(now);
        }
    }

    /// When something is due next.
    pub fn deadline(&self) -> Instant {
        let silent = self.unanswered.map(|asked| asked + self.pong_within);
        let stalled = self.waits_since.map(|since| since + self.write_within);
        let others = silent.into_iter().chain(stalled);
        others.fold(self.next_ping, Instant::min)
    }

    /// What is due now.
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

    /// A connection with the usual times, and a way to name moments.
    fn usual() -> (Pulse, impl Fn(u64) -> Instant) {
        let start = Instant::now();
        let at = move |millis| start + Duration::from_millis(millis);
        (Pulse::new(&Limits::default(), start), at)
    }

    #[test]
    fn a_client_that_is_silent_for_35_s_after_a_ping_is_gone() {
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
    fn whatever_comes_is_a_sign_of_life() {
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

    /// Asks whatever is due between two moments, second by second, and fails if the client counts as gone.
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
    fn a_client_for_which_nothing_waits_is_no_slow_one() {
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
    fn bytes_that_leave_at_once_are_no_sign_of_life() {
        let (mut pulse, at) = usual();
        assert_eq!(pulse.due(at(30_000)), Due::Ping);
        pulse.asked(at(30_000));
        for second in 31..65 {
            pulse.written(second, 0, at(second * 1000));
        }
        assert_eq!(pulse.due(at(65_000)), Due::Silent);
    }
}
