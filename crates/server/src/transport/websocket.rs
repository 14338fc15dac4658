//! A WebSocket: one message a frame.

use std::collections::VecDeque;
use std::io;
use std::task::{Context, Poll, ready};

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};

use crate::connection::End;
use crate::net::counted::Traffic;
use crate::transport::{Broken, Transport};

/// Bytes that are handed to the WebSocket before they must leave.
const WRITE_BYTES: usize = 32 << 10;

/// Bytes of answers to pings that may wait for a client before nothing more is read from it.
const PONG_BYTES: usize = 64 << 10;

/// A WebSocket that carries a client's messages.
pub struct Socket {
    stream: WebSocket,
    /// What passes on the connection below it.
    traffic: Traffic,
    binary: Binary,
    queue: VecDeque<Item>,
    /// Bytes of what is queued.
    queued: usize,
    /// Bytes of what was handed to `stream` since all of it has left.
    handed: usize,
    /// Bytes of answers to pings that `stream` has made since then.
    pongs: usize,
    /// Messages that were queued, that were handed to `stream`, and that have left.
    numbered: u64,
    begun: u64,
    sent: u64,
}

/// What a binary message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// A fault of the client.
    Refused,
    /// Text: old editors send lines, as bytes.
    Text,
}

#[derive(Debug)]
enum Item {
    Text(Bytes),
    Ping,
    Close(CloseFrame),
}

impl Socket {
    /// Carries messages over `stream`.
    pub fn new(stream: WebSocket, traffic: Traffic, binary: Binary) -> Self {
        Self {
            stream,
            traffic,
            binary,
            queue: VecDeque::new(),
            queued: 0,
            handed: 0,
            pongs: 0,
            numbered: 0,
            begun: 0,
            sent: 0,
        }
    }

    /// Hands the first of what is queued to the WebSocket, which is ready for it.
    fn begin(&mut self) -> Result<(), Broken> {
        let message = match self.queue.pop_front() {
            None => return Ok(()),
            Some(Item::Ping) => Message::Ping(Bytes::new()),
            Some(Item::Close(frame)) => Message::Close(Some(frame)),
            Some(Item::Text(text)) => {
                self.queued -= text.len();
                self.handed += text.len();
                self.begun += 1;
                Message::Text(Utf8Bytes::try_from(text).map_err(io::Error::other)?)
            }
        };
        // A control frame has bytes, too.
        self.handed += 2;
        self.stream.start_send_unpin(message).map_err(broken)
    }

    /// Has all that was handed over leave.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        ready!(self.stream.poll_flush_unpin(cx)).map_err(broken)?;
        (self.handed, self.pongs, self.sent) = (0, 0, self.begun);
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
                    self.handed += payload.len() + 2;
                    self.pongs += payload.len() + 2;
                    // The WebSocket has queued the answer by itself, however much waits there.
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
        self.numbered += 1;
        self.numbered
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        loop {
            while !self.queue.is_empty() && self.handed < WRITE_BYTES {
                ready!(self.stream.poll_ready_unpin(cx)).map_err(broken)?;
                self.begin()?;
            }
            if self.handed == 0 {
                return Poll::Ready(Ok(()));
            }
            ready!(self.poll_flush(cx))?;
        }
    }

    fn backlog(&self) -> usize {
        self.queued + self.handed
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
        // Between two messages, not behind all of them.
        if !matches!(self.queue.front(), Some(Item::Ping)) {
            self.queue.push_front(Item::Ping);
        }
        true
    }

    fn close(&mut self, why: End) {
        let (code, reason) = match why {
            End::Gone | End::Stalled => return,
            End::Silent => (close_code::POLICY, "no sign of life"),
            End::Flooding => (close_code::POLICY, "answers are not read"),
            End::Expired => (close_code::POLICY, "access has ended"),
            End::Stopping => (close_code::AWAY, "the daemon is stopping"),
            End::TooLong => (close_code::SIZE, "message too long"),
            End::Binary => (close_code::UNSUPPORTED, "send text frames"),
            End::Lost => (close_code::ERROR, "a thread cannot be followed; connect again"),
        };
        if why == End::Expired {
            // What has not begun to leave is not its client's any more.
            self.queue.clear();
            self.queued = 0;
        }
        let reason = Utf8Bytes::from_static(reason);
        self.queue.push_back(Item::Close(CloseFrame { code, reason }));
    }
}
