//! Divides chunks that are larger than [`encode`](super::encode) makes them, as earlier versions wrote them.

use acpd_model::Seq;
use acpd_model::limits::LOG_ROW_BYTES;

use super::{CHECKED, Chunk, HEAD, PACKED, Records, records};

/// Returns the size of a chunk that is not compressed, or that a compressed chunk claims to have.
pub fn unpacked_bytes(chunk: &[u8]) -> usize {
    let Some((format, rest)) = chunk.split_first() else {
        return 0;
    };
    if format & PACKED == 0 {
        return chunk.len();
    }
    let length = if format & CHECKED == 0 { 0 } else { HEAD - 1 };
    let length = rest.get(length..).and_then(<[u8]>::first_chunk);
    length.map_or(0, |length| u32::from_le_bytes(*length) as usize)
}

/// The records of a row, which are taken out of it chunk by chunk.
#[derive(Debug)]
pub struct RecordsOfRow {
    unpacked: Vec<u8>,
    at: usize,
    next: Seq,
    last: Seq,
}

impl RecordsOfRow {
    /// Unpacks a row with the events `first` to `last`, for those after `after`. Returns `None` if the row is damaged or
    /// does not have the event after `after`.
    pub fn after(first: Seq, last: Seq, chunk: &[u8], after: Seq) -> Option<Self> {
        let unpacked = records(chunk).ok()?.into_owned();
        let mut rest = Records(&unpacked);
        let next = after
            .checked_add(1)
            .filter(|next| (first..=last).contains(next))?;
        rest.by_ref()
            .take(usize::try_from(next - first).ok()?)
            .for_each(drop);
        let at = unpacked.len() - rest.0.len();
        let is_whole = rest.by_ref().count() as u64 == last - next + 1 && rest.0.is_empty();
        is_whole.then_some(Self {
            unpacked,
            at,
            next,
            last,
        })
    }

    /// Takes the next events, as a chunk of at most [`LOG_ROW_BYTES`] or of one event that is larger.
    pub fn next_chunk(&mut self) -> Option<Chunk> {
        let rest = Records(&self.unpacked[self.at..]);
        let (first, mut taken, mut bytes) = (self.next, 0, HEAD);
        for record in rest {
            bytes += 1 + record.len();
            if bytes > LOG_ROW_BYTES && taken > 0 {
                break;
            }
            taken += 1 + record.len();
            self.next += 1;
        }
        if self.next == first || self.next > self.last + 1 {
            return None;
        }
        let records = &self.unpacked[self.at..self.at + taken];
        self.at += taken;
        Some(Chunk::new(first, self.next - 1, [&[0; HEAD], records].concat()))
    }
}
