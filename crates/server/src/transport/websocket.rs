//! WebSockets, with one message in each frame.

use std::collections::VecDeque;
use std::io;
use std::task::{Context, Poll, ready};

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};

use crate::net::counted::Traffic;
use crate::transport::End;
use crate::transport::{Broken, Transport};

/// Bytes that are copied into the WebSocket's buffer before it is flushed.
const WRITE_BYTES: usize = 32 << 10;

/// Bytes of pongs that may be buffered for a client before the daemon reads nothing more from it.
const PONG_BYTES: usize = 64 << 10;

/// The WebSocket of one client.
pub struct Socket {
    stream: WebSocket,
    /// Counts the bytes of the connection below the WebSocket.
    traffic: Traffic,
    binary: Binary,
    queue: VecDeque<Item>,
    /// Bytes of the messages in `queue`.
    queued: usize,
    /// Bytes that were copied into the buffer of `stream` since it was last empty.
    buffered: usize,
    /// Bytes of the pongs among them.
    pongs: usize,
    /// Number of the last message that was queued.
    last_queued: u64,
    /// Number of the last message that was copied into the buffer.
    last_buffered: u64,
    sent: u64,
}

/// Sets the sizes of a WebSocket whose client may send messages of this size.
pub fn sized(upgrade: WebSocketUpgrade, message_bytes: usize) -> WebSocketUpgrade {
    upgrade
        .read_buffer_size(4096)
        .write_buffer_size(WRITE_BYTES)
        // The buffer holds one message at a time, whatever the size of its event. With a limit, a client could never
        // receive a larger event, and would never get past it.
        .max_write_buffer_size(usize::MAX)
        .max_message_size(message_bytes)
        .max_frame_size(message_bytes)
}

/// The treatment of binary messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// A binary message ends the connection.
    Refused,
    /// A binary message is read as text. Old editors send JSON lines as bytes.
    Text,
}

#[derive(Debug)]
enum Item {
    Text(Bytes),
    Ping,
    Close(CloseFrame),
}

impl Socket {
    /// Sends and receives on `stream`, whose connection `traffic` counts.
    pub fn new(stream: WebSocket, traffic: Traffic, binary: Binary) -> Self {
        Self {
            stream,
            traffic,
            binary,
            queue: VecDeque::new(),
            queued: 0,
            buffered: 0,
            pongs: 0,
            last_queued: 0,
            last_buffered: 0,
            sent: 0,
        }
    }

    /// Copies the first queued item into the buffer of the WebSocket, which must be ready.
    fn buffer_next(&mut self) -> Result<(), Broken> {
        let message = match self.queue.pop_front() {
            None => return Ok(()),
            Some(Item::Ping) => Message::Ping(Bytes::new()),
            Some(Item::Close(frame)) => Message::Close(Some(frame)),
            Some(Item::Text(text)) => {
                self.queued -= text.len();
                self.buffered += text.len();
                self.last_buffered += 1;
                Message::Text(Utf8Bytes::try_from(text).map_err(io::Error::other)?)
            }
        };
        // Control frames count as well.
        self.buffered += 2;
        self.stream.start_send_unpin(message).map_err(broken)
    }

    /// Writes the WebSocket's buffer.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        ready!(self.stream.poll_flush_unpin(cx)).map_err(broken)?;
        (self.buffered, self.pongs, self.sent) = (0, 0, self.last_buffered);
        Poll::Ready(Ok(()))
    }
}

fn broken(error: axum::Error) -> Broken {
    Broken::Io(io::Error::other(error))
}

impl Transport for Socket {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<String>, Broken>> {
        loop {
            match ready!(self.stream.poll_next_unpin(cx)) {
                Some(Ok(Message::Text(text))) => return Poll::Ready(Ok(Some(text.to_string()))),
                Some(Ok(Message::Binary(bytes))) => {
                    return Poll::Ready(match self.binary {
                        Binary::Refused => Err(Broken::Binary),
                        Binary::Text => {
                            Ok(Some(String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned()))
                        }
                    });
                }
                Some(Ok(Message::Ping(payload))) => {
                    self.buffered += payload.len() + 2;
                    self.pongs += payload.len() + 2;
                    // The WebSocket puts a pong into its buffer by itself, however large the buffer is.
                    if self.pongs > PONG_BYTES {
                        ready!(self.poll_flush(cx))?;
                    }
                }
                Some(Ok(Message::Pong(_))) => {}
                Some(Ok(Message::Close(_))) | None => return Poll::Ready(Ok(None)),
                Some(Err(error)) => {
                    let too_long = error.to_string().to_lowercase().contains("too long");
                    let why = if too_long { Broken::TooLong } else { broken(error) };
                    return Poll::Ready(Err(why));
                }
            }
        }
    }

    fn queue(&mut self, text: Bytes) -> u64 {
        self.queued += text.len();
        self.queue.push_back(Item::Text(text));
        self.last_queued += 1;
        self.last_queued
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        loop {
            while !self.queue.is_empty() && self.buffered < WRITE_BYTES {
                ready!(self.stream.poll_ready_unpin(cx)).map_err(broken)?;
                self.buffer_next()?;
            }
            if self.buffered == 0 {
                return Poll::Ready(Ok(()));
            }
            ready!(self.poll_flush(cx))?;
        }
    }

    fn backlog(&self) -> usize {
        self.queued + self.buffered
    }

    fn sent(&self) -> u64 {
        self.sent
    }

    fn taken(&self) -> u64 {
        self.traffic.written()
    }

    fn heard(&self) -> u64 {
        self.traffic.read()
    }

    fn ping(&mut self) -> bool {
        // The ping does not wait behind all messages.
        if !matches!(self.queue.front(), Some(Item::Ping)) {
            self.queue.push_front(Item::Ping);
        }
        true
    }

    fn close(&mut self, why: End) {
        let (code, reason) = match why {
            End::Gone | End::Stalled => return,
            End::Silent => (close_code::POLICY, "no response"),
            End::Flooding => (close_code::POLICY, "answers are not read"),
            End::Expired => (close_code::POLICY, "access has ended"),
            End::Stopping => (close_code::AWAY, "the daemon is stopping"),
            End::TooLong => (close_code::SIZE, "message too long"),
            End::Binary => (close_code::UNSUPPORTED, "send text frames"),
            End::Lost => (close_code::ERROR, "a thread cannot be followed; connect again"),
        };
        if why == End::Expired {
            // The client may not receive these any more.
            self.queue.clear();
            self.queued = 0;
        }
        let reason = Utf8Bytes::from_static(reason);
        self.queue.push_back(Item::Close(CloseFrame { code, reason }));
    }
}
