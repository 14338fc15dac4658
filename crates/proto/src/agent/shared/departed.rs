//! The sessions of a shared process that no thread has any more.
//!
//! In: sessions that their threads leave or give up, and sessions that threads open again. Out: whether a message is of such a session.
//! Owns: their names, within a bound. Never: forgets the sessions of a thread for another thread that has left more of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::seat::Seat;

/// Bytes for the sessions that a shared process remembers: about 6,000 with usual names.
const DEPARTED_BYTES: usize = 1 << 20;
/// Bytes that each of them takes beside its name.
const ENTRY_BYTES: usize = 128;

/// The sessions whose late messages are dropped.
#[derive(Debug, Default)]
pub(super) struct DepartedSessions {
    /// The thread that had each session.
    seats: BTreeMap<Arc<str>, Seat>,
    of_seats: BTreeMap<Seat, SessionsOfSeat>,
    bytes: usize,
}

/// The sessions that one thread had.
#[derive(Debug, Default)]
struct SessionsOfSeat {
    /// Newest last.
    sessions: VecDeque<Arc<str>>,
    bytes: usize,
}

impl DepartedSessions {
    pub fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    pub fn contains(&self, session: &str) -> bool {
        self.seats.contains_key(session)
    }

    /// Adds a session that the thread had. Beyond the bound, the thread with the most bytes loses its oldest session: a thread may have
    /// had a thousand sessions of subagents.
    pub fn add(&mut self, session: &str, seat: Seat) {
        if self.contains(session) {
            return;
        }
        let session: Arc<str> = session.into();
        let bytes = size(&session);
        self.seats.insert(Arc::clone(&session), seat);
        let of_seat = self.of_seats.entry(seat).or_default();
        of_seat.sessions.push_back(session);
        of_seat.bytes += bytes;
        self.bytes += bytes;
        while self.bytes > DEPARTED_BYTES {
            let largest = self
                .of_seats
                .iter()
                .max_by_key(|(seat, of)| (of.bytes, Reverse(**seat)));
            let oldest = largest.and_then(|(_, of)| of.sessions.front().cloned());
            let Some(oldest) = oldest else {
                return;
            };
            self.remove(&oldest);
        }
    }

    /// Removes a session that a thread opens.
    pub fn remove(&mut self, session: &str) {
        let Some(seat) = self.seats.remove(session) else {
            return;
        };
        let bytes = size(session);
        self.bytes -= bytes;
        if let Some(of_seat) = self.of_seats.get_mut(&seat) {
            of_seat.bytes -= bytes;
            of_seat.sessions.retain(|known| **known != *session);
            if of_seat.sessions.is_empty() {
                self.of_seats.remove(&seat);
            }
        }
    }
}

fn size(session: &str) -> usize {
    session.len() + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds sessions with names of 1 KiB.
    fn add(departed: &mut DepartedSessions, seat: u32, count: usize) {
        for number in 0..count {
            departed.add(&name(seat, number), Seat(seat));
        }
    }

    fn name(seat: u32, number: usize) -> String {
        format!("{seat:0>4} {number:0>1019}")
    }

    #[test]
    fn a_thread_with_many_sessions_displaces_its_own() {
        let mut departed = DepartedSessions::default();
        add(&mut departed, 1, 100);
        add(&mut departed, 2, 10_000);
        for number in 0..100 {
            assert!(departed.contains(&name(1, number)), "{number}");
        }
        assert!(departed.contains(&name(2, 9_999)) && !departed.contains(&name(2, 0)));
        assert!(departed.bytes <= DEPARTED_BYTES);
        assert!(departed.seats.len() > 800, "{}", departed.seats.len());
    }

    #[test]
    fn of_threads_with_one_session_each_the_oldest_goes_first() {
        let mut departed = DepartedSessions::default();
        for seat in 1..=2_000 {
            add(&mut departed, seat, 1);
        }
        assert!(departed.contains(&name(2_000, 0)) && !departed.contains(&name(1, 0)));
    }

    #[test]
    fn a_session_that_is_opened_takes_no_room() {
        let mut departed = DepartedSessions::default();
        for _ in 0..3 {
            add(&mut departed, 1, 2);
            departed.remove(&name(1, 0));
            departed.remove(&name(1, 0));
            departed.remove(&name(1, 1));
            assert!(departed.is_empty() && departed.of_seats.is_empty());
            assert_eq!(departed.bytes, 0);
        }
    }
}
