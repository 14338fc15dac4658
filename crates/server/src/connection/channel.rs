//! Drives the transport of one client: sends and receives concurrently, sends pings, and detects a client that is
//! disconnected or stuck.
//!
//! In: messages to queue. Out: received messages, and when the queue has room. Owns: the transport. Never: stops receiving
//! because messages wait to be sent.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use acpd_model::Limits;
use acpd_model::limits::{LAST_WORDS_SECS, OUTBOX_BYTES, UNREAD_ANSWERS};
use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::connection::pulse::{Due, Pulse};
use crate::transport::End;
use crate::transport::{Broken, Stalled, Transport};

/// Messages that a client can have processed in a row before answers and events get their turn.
const IN_A_ROW: u32 = 64;

/// The connection to one client.
pub struct Channel {
    transport: Box<dyn Transport>,
    pulse: Pulse,
    /// Ends at the deadline of `pulse`, or earlier.
    timer: Pin<Box<Sleep>>,
    heard: u64,
    in_a_row: u32,
    /// Whether the owner waits for room in the queue.
    wants_room: bool,
    /// The number of a message that the owner waits for.
    awaited: Option<u64>,
    /// Bytes that were queued since the client connected.
    queued: u64,
    excess: Excess,
}

/// The additions to a full queue since the client last made room.
#[derive(Debug, Default)]
struct Excess {
    /// Whether the queue was full at the last check.
    is_full: bool,
    /// Bytes that had been queued at the last check.
    queued: u64,
    steps: usize,
    bytes: u64,
}

/// An event on a channel.
#[derive(Debug, PartialEq, Eq)]
pub enum ChannelEvent {
    /// The client sent a message.
    Received(String),
    /// The queue has room again, or the awaited message was sent.
    Written,
}

impl From<Broken> for End {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::TooLong => Self::TooLong,
            Broken::Binary => Self::Binary,
            Broken::Io(error) => {
                tracing::debug!(%error, "a connection ended");
                Self::Gone
            }
        }
    }
}

impl Channel {
    /// Drives `transport` with the intervals of `limits`.
    pub fn new(transport: Box<dyn Transport>, limits: &Limits) -> Self {
        let pulse = Pulse::new(limits, Instant::now());
        Self {
            transport,
            timer: Box::pin(sleep_until(pulse.deadline())),
            pulse,
            heard: 0,
            in_a_row: 0,
            wants_room: false,
            awaited: None,
            queued: 0,
            excess: Excess::default(),
        }
    }

    /// Queues one message, and returns its number. Events and large responses must wait for [room](Self::has_room).
    pub fn queue(&mut self, text: Bytes) -> u64 {
        self.queued += text.len() as u64;
        self.transport.queue(text)
    }

    /// Returns whether the queue has room. If not, [`ChannelEvent::Written`] follows when it has.
    pub fn has_room(&mut self) -> bool {
        let has_room = self.transport.backlog() < OUTBOX_BYTES;
        self.wants_room |= !has_room;
        has_room
    }

    /// Returns whether this message was sent. If not, [`ChannelEvent::Written`] follows when it, or an earlier awaited
    /// message, was sent.
    pub fn has_sent(&mut self, number: u64) -> bool {
        let sent = self.transport.sent() >= number;
        if !sent {
            self.awaited = Some(self.awaited.map_or(number, |awaited| awaited.min(number)));
        }
        sent
    }

    /// Sends and receives until an event occurs. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<ChannelEvent, End> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Sends all queued messages, and receives none.
    pub async fn flush(&mut self) -> Result<(), End> {
        poll_fn(|cx| self.transport.poll_write(cx)).await?;
        Ok(())
    }

    /// Closes the connection, and gives the client a moment to receive the rest.
    pub async fn close(&mut self, why: End) {
        if why != End::Stalled {
            self.transport.close(why);
            // The client may have disconnected.
            let _ = tokio::time::timeout(Duration::from_secs(LAST_WORDS_SECS), self.flush()).await;
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<ChannelEvent, End>> {
        self.check_excess()?;
        if let Poll::Ready(written) = self.transport.poll_write(cx) {
            written?;
        }
        let has_room = self.transport.backlog() < OUTBOX_BYTES;
        self.excess.is_full = !has_room;
        let sent = self.transport.sent();
        if self.wants_room && has_room || self.awaited.is_some_and(|number| number <= sent) {
            self.wants_room &= !has_room;
            self.awaited = self.awaited.filter(|number| *number > sent);
            return Poll::Ready(Ok(ChannelEvent::Written));
        }
        if let Poll::Ready(text) = self.poll_receive(cx) {
            return Poll::Ready(text.map(ChannelEvent::Received));
        }
        self.poll_pulse(cx).map(Err)
    }

    /// Fails if the client sends request after request without reading the responses.
    fn check_excess(&mut self) -> Result<(), End> {
        let excess = &mut self.excess;
        let more = self.queued - excess.queued;
        excess.queued = self.queued;
        if !excess.is_full {
            (excess.steps, excess.bytes) = (0, 0);
        } else if more > 0 {
            excess.steps += 1;
            excess.bytes += more;
        }
        if excess.steps > UNREAD_ANSWERS || excess.bytes > OUTBOX_BYTES as u64 {
            return Err(End::Flooding);
        }
        Ok(())
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<String, End>> {
        if self.in_a_row >= IN_A_ROW {
            self.in_a_row = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let received = self.transport.poll_receive(cx);
        let heard = self.transport.heard();
        if heard != self.heard {
            self.heard = heard;
            self.pulse.heard();
        }
        let Poll::Ready(received) = received else {
            self.in_a_row = 0;
            return Poll::Pending;
        };
        self.in_a_row += 1;
        Poll::Ready(received?.ok_or(End::Gone))
    }

    /// Handles what is due. Returns the reason if the connection ends.
    fn poll_pulse(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        // After receiving, since the transport may have answered by itself.
        let (taken, backlog) = (self.transport.taken(), self.transport.backlog());
        self.pulse.written(taken, backlog, Instant::now());
        loop {
            let deadline = self.pulse.deadline();
            // A later deadline is set when the timer ends, so that accepted bytes do not set the timer each time.
            if deadline < self.timer.deadline() || self.timer.is_elapsed() {
                self.timer.as_mut().reset(deadline);
            }
            ready!(self.timer.as_mut().poll(cx));
            let now = Instant::now();
            match self.pulse.due(now) {
                Due::Ping if self.transport.ping() => {
                    self.pulse.asked(now);
                    // The next call sends it.
                    cx.waker().wake_by_ref();
                }
                Due::Nothing | Due::Ping => {}
                Due::Silent => return Poll::Ready(End::Silent),
                Due::Stalled => match self.transport.stalled() {
                    Stalled::End => return Poll::Ready(End::Stalled),
                    Stalled::GoOn => cx.waker().wake_by_ref(),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests;
