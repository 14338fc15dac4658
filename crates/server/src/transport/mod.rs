//! Transports. Each sends and receives the messages of one client, one JSON text each.
//!
//! In: bytes, and messages to send. Out: received messages. Owns: framing, and messages that the client has not received yet.
//! Never: makes receiving wait for sending, or decides that a client is too slow; [`Channel`](crate::connection::channel::Channel) does.

mod end;
pub mod event_stream;
pub mod lines;
pub mod recorded;
pub mod websocket;

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;

pub use self::end::End;

/// The connection of one client. Receiving and sending are independent. A method that returns `Pending` wakes the task when it
/// can continue.
pub trait Transport: Send {
    /// Returns the next message, or `None` if the client has disconnected.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<String>, Broken>>;

    /// Queues one message, and returns its number: 1, 2, 3 … Never waits.
    fn queue(&mut self, text: Bytes) -> u64;

    /// Writes as much as the client accepts. Returns `Ready` when the queue is empty.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>>;

    /// Returns the number of queued bytes that the client has not accepted. A partly written message may count as a whole.
    fn backlog(&self) -> usize;

    /// Returns the number of the last message that was written completely.
    fn sent(&self) -> u64;

    /// Returns the number of bytes that the client has accepted since it connected. The client makes progress while it grows.
    fn taken(&self) -> u64;

    /// Returns a number that grows whenever bytes arrive from the client, if the transport counts them.
    fn heard(&self) -> u64 {
        0
    }

    /// Queues a ping. Returns `false` if this transport has none.
    fn ping(&mut self) -> bool {
        false
    }

    /// Handles a client that has accepted nothing for too long.
    fn stalled(&mut self) -> Stalled {
        Stalled::End
    }

    /// Queues the message that closes the connection, if this transport has one.
    fn close(&mut self, _why: End) {}
}

/// The reason why a transport failed.
#[derive(Debug)]
pub enum Broken {
    /// The client sent a message that exceeds the limit.
    TooLong,
    /// The client sent a binary message where only text is allowed.
    Binary,
    /// The connection failed.
    Io(io::Error),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The treatment of a connection whose client accepts nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stalled {
    /// The connection ends.
    End,
    /// The connection continues. Its messages wait for another reader.
    GoOn,
}
