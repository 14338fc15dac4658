//! The place of a thread in a shared process.

/// The bits of a request's id for the counter; the bits above are the seat's number. Together they fit in a double.
const COUNTING_BITS: u32 = 32;

/// A thread's number in a shared process, counted from 1. It is the upper half of the ids of the thread's requests,
/// so that these ids rarely equal an id that the agent makes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat(pub(super) u32);

impl Seat {
    pub(super) fn first_id(self) -> u64 {
        u64::from(self.0) << COUNTING_BITS
    }

    pub(super) fn of(id: u64) -> Option<Self> {
        u32::try_from(id >> COUNTING_BITS).ok().map(Self)
    }
}
