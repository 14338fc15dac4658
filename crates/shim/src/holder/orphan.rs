//! A shim without a daemon.
//!
//! In: when a daemon was lost and found. Out: whether to wait longer. Never: waits forever.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use acpd_shim::Place;
use rustix::io::{Errno, write};

use super::streams::Pipes;

/// Time between two looks whether the socket's file is still there. Without it no daemon comes.
const LOOK: Duration = Duration::from_secs(30);
/// Ending of the name of a rest that is not whole.
const PART: &str = ".rest.part";

/// How long a shim has no daemon.
#[derive(Debug)]
pub(super) struct Orphan {
    limit: Duration,
    since: Option<Instant>,
    next_look: Option<Instant>,
}

impl Orphan {
    /// Begins with a daemon.
    pub fn new(limit: Duration) -> Self {
        Self {
            limit,
            since: None,
            next_look: None,
        }
    }

    /// Sets how long the shim waits for a daemon.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// A daemon is attached.
    pub fn found(&mut self) {
        self.since = None;
        self.next_look = None;
    }

    /// No daemon is attached any more.
    pub fn lost(&mut self, now: Instant) {
        self.since = Some(now);
        self.next_look = now.checked_add(LOOK);
    }

    /// Returns when [`Orphan::is_over`] may have another answer.
    pub fn due(&self) -> Option<Instant> {
        let end = self.since.and_then(|since| since.checked_add(self.limit));
        end.into_iter().chain(self.next_look).min()
    }

    /// Returns whether no daemon came in time, or none can come. `is_reachable` is whether the socket is still there.
    pub fn is_over(&mut self, now: Instant, is_reachable: impl FnOnce() -> bool) -> bool {
        let Some(since) = self.since else {
            return false;
        };
        if now.saturating_duration_since(since) >= self.limit {
            return true;
        }
        if self.next_look.is_none_or(|next| next > now) {
            return false;
        }
        self.next_look = now.checked_add(LOOK);
        !is_reachable()
    }
}

/// Writes the output behind the tail to a file beside the socket, which is there as a whole or not at all.
pub(super) fn leave_rest(place: &Place, pipes: &Pipes) -> io::Result<()> {
    let head = pipes.ring.head(pipes.tail)?;
    if pipes.tail == head {
        return Ok(());
    }
    let file = place.file_beside(PART)?;
    let written = write_rest(&file, pipes, head).and_then(|()| place.rename_beside(PART, ".rest"));
    if written.is_err() {
        // The disk is full, or an older rest is there.
        let _ = place.remove_beside(PART);
    }
    written
}

fn write_rest(file: &OwnedFd, pipes: &Pipes, head: u64) -> io::Result<()> {
    let mut from = pipes.tail;
    let mut buffer = [0; 16 << 10];
    while from < head {
        let read = pipes.ring.read(from, head, &mut buffer)?;
        let mut rest = buffer.get(..read).unwrap_or_default();
        if rest.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        from += u64::try_from(read).unwrap_or_default();
        while !rest.is_empty() {
            match write(file, rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shim_waits_for_its_limit_and_no_longer_without_its_socket() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut orphan = Orphan::new(Duration::from_secs(100));
        assert_eq!(orphan.due(), None);
        assert!(!orphan.is_over(after(1000), || false), "a daemon is attached");
        orphan.lost(start);
        assert_eq!(orphan.due(), Some(after(30)));
        assert!(!orphan.is_over(after(29), || unreachable!("it is too early to look")));
        assert!(!orphan.is_over(after(30), || true));
        assert_eq!(orphan.due(), Some(after(60)));
        assert!(orphan.is_over(after(60), || false), "the socket is gone");
        assert!(!orphan.is_over(after(99), || true));
        assert_eq!(orphan.due(), Some(after(100)));
        assert!(orphan.is_over(after(100), || true));
        orphan.set_limit(Duration::from_hours(1));
        assert!(!orphan.is_over(after(100), || true));
        orphan.found();
        assert_eq!(orphan.due(), None);
        orphan.set_limit(Duration::from_secs(u64::MAX));
        orphan.lost(start);
        assert_eq!(orphan.due(), Some(after(30)), "the limit is beyond all times");
    }
}
