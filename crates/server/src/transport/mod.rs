//! One client's bytes as messages, whatever carries them.
//!
//! In and out: one JSON text each. Owns: bytes, framing, and what is queued and has not been taken. Never: lets reading wait for
//! writing, or decides how long a client may take; that is [`Link`](crate::connection::link::Link)'s.

pub mod event_stream;
pub mod lines;
pub mod websocket;

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::connection::End;

/// One client's connection. Reading and writing are independent of each other. A call that returns `Pending` wakes the task once
/// there is more to do.
pub trait Transport: Send {
    /// Returns the next message; `None` if the client has gone.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<String>, Broken>>;

    /// Queues one message, and returns its number: 1, 2, 3 … Never waits.
    fn queue(&mut self, text: Bytes) -> u64;

    /// Writes as much as the client takes; `Ready` if nothing is left.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>>;

    /// Bytes that are queued and that the client has not taken. Bytes of a message that is being written may be counted until
    /// all of it has been taken.
    fn backlog(&self) -> usize;

    /// The number of the last message that has left as a whole.
    fn sent(&self) -> u64;

    /// Bytes that the client has taken so far. While it grows, the client is alive.
    fn taken(&self) -> u64;

    /// Grows when anything comes from the client, if the transport can tell.
    fn heard(&self) -> u64 {
        0
    }

    /// Asks the client for a sign of life; `false` if this transport cannot.
    fn ping(&mut self) -> bool {
        false
    }

    /// The client has taken nothing for too long.
    fn stalled(&mut self) -> Stalled {
        Stalled::End
    }

    /// Queues the farewell, if this transport has one.
    fn close(&mut self, _why: End) {}
}

/// Why nothing more comes from a client.
#[derive(Debug)]
pub enum Broken {
    /// It sent a message that is longer than the limit.
    TooLong,
    /// It sent a binary message where only text is taken.
    Binary,
    /// The connection failed.
    Io(io::Error),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What becomes of a connection whose client takes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stalled {
    /// It ends.
    End,
    /// It goes on: what was not taken waits for another reader.
    GoOn,
}
