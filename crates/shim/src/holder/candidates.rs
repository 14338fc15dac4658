//! Connections that have not shown the token.
//!
//! In: connections. Out: the first frame of each. Owns: those that wait. Never: lets one wait for long, or many.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use acpd_shim::{Channel, Frame};

/// How long a connection may be open without a token.
const ATTACH_PATIENCE: Duration = Duration::from_secs(2);
/// The most of them. One more ends the oldest: a process without the token must not keep a daemon out.
const MOST_CANDIDATES: usize = 4;

/// Connections in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Candidates(Vec<Candidate>);

#[derive(Debug)]
struct Candidate {
    channel: Channel,
    deadline: Instant,
}

impl Candidates {
    /// Adds a connection.
    pub fn add(&mut self, channel: Channel, now: Instant) {
        if self.0.len() >= MOST_CANDIDATES {
            self.0.remove(0);
        }
        let deadline = now + ATTACH_PATIENCE;
        self.0.push(Candidate { channel, deadline });
    }

    /// Closes those that have waited too long.
    pub fn expire(&mut self, now: Instant) {
        self.0.retain(|candidate| candidate.deadline > now);
    }

    /// Returns when the next one has waited too long.
    pub fn due(&self) -> Option<Instant> {
        self.0.iter().map(|candidate| candidate.deadline).min()
    }

    /// Returns what is readable when a frame has arrived, by place.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|candidate| candidate.channel.as_fd())
    }

    /// Takes the connection at this place out, with its first frame; `None` if none has arrived, or the place is empty. Places behind
    /// it change.
    pub fn take(&mut self, place: usize) -> Option<(Channel, Frame)> {
        let received = match self.0.get(place)?.channel.receive() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
            received => received,
        };
        let Candidate { channel, .. } = self.0.remove(place);
        // It has closed, or sent something else than a frame.
        let frame = received.ok().flatten()?.frame;
        Some((channel, frame))
    }
}
