//! Whether splice moves bytes and positions together, in both directions.
//!
//! In: nothing. Out: whether it does. Never: keeps anything open.

use std::io;

use rustix::io::write;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::journal::{Flushed, Journal};
use crate::ring::{Moved, Ring};

/// Small enough for the end of the ring to be passed.
const RING: u64 = 16;

/// Tests splice as a shim and its daemon use it. A kernel, an emulation or a filter of system calls that does it in another way gets
/// a shim that copies.
pub fn splice_works() -> bool {
    // An error means the same as a wrong result.
    works().unwrap_or(false)
}

fn works() -> io::Result<bool> {
    let (from, to) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let ring = Ring::create(RING)?;
    let mut journal = Journal::create()?;
    // The journal gives the bytes to the pipe, and the ring takes them from it.
    let lines = [&b"one\n"[..], b"twelve bytes\n", b"three\n"];
    let mut tail = 0;
    for line in lines {
        journal.append(line)?;
        if journal.splice_to(&to)? != Flushed::All || journal.sent()? != journal.end() {
            return Ok(false);
        }
        let mut found = Vec::new();
        let mut head = tail;
        while found.len() < line.len() {
            let Moved::Bytes(moved) = ring.splice_from(&from, tail)? else {
                return Ok(false);
            };
            if ring.head(tail)? != head + moved {
                return Ok(false);
            }
            let mut buffer = [0; 16];
            let read = ring.read(head, head + moved, &mut buffer)?;
            found.extend_from_slice(&buffer[..read]);
            head += moved;
        }
        if found != line || ring.splice_from(&from, tail)? == Moved::Ended {
            return Ok(false);
        }
        tail = head;
    }
    // What does not fit stays in the pipe.
    write(&to, &[b'x'; 20])?;
    let first = ring.splice_from(&from, tail)?;
    let second = ring.splice_from(&from, tail)?;
    let third = ring.splice_from(&from, tail)?;
    let moved = |moved| match moved {
        Moved::Bytes(moved) => moved,
        Moved::Full | Moved::Nothing | Moved::Ended => 0,
    };
    if moved(first) + moved(second) != ring.capacity() || third != Moved::Full {
        return Ok(false);
    }
    drop(to);
    tail += ring.capacity();
    while let Moved::Bytes(moved) = ring.splice_from(&from, tail)? {
        tail += moved;
    }
    Ok(ring.splice_from(&from, tail)? == Moved::Ended)
}

#[cfg(test)]
mod tests {
    #[test]
    fn splice_works_on_this_host() {
        assert!(super::works().unwrap());
    }
}
