//! One client's transport, driven: it is read from and written to side by side, and judged by its signs of life.
//!
//! In: messages to queue. Out: messages that came, and when there is room for more. Owns: the transport. Never: holds reading back
//! because of what waits to be written.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use acpd_model::Limits;
use acpd_model::limits::{OUTBOX_BYTES, UNREAD_ANSWERS};
use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::connection::pulse::{Due, Pulse};
use crate::connection::{End, LAST_WORDS};
use crate::transport::{Broken, Stalled, Transport};

/// Messages of a client that are taken one after the other, before what else is there has its turn.
const IN_A_ROW: u32 = 64;

/// The transport, and how its client does.
pub struct Link {
    transport: Box<dyn Transport>,
    pulse: Pulse,
    /// Ends when the pulse has something due, or earlier.
    timer: Pin<Box<Sleep>>,
    heard: u64,
    in_a_row: u32,
    /// Whether somebody waits for room.
    wants_room: bool,
    /// The number of a message that somebody waits for to have left.
    awaited: Option<u64>,
    /// Bytes that were queued so far.
    queued: u64,
    /// What was queued without room.
    excess: Excess,
}

/// What was queued since there was no room any more.
#[derive(Debug, Default)]
struct Excess {
    /// Whether there was no room when this was last looked at, and the bytes that were queued until then.
    is_full: bool,
    queued: u64,
    times: usize,
    bytes: u64,
}

/// What happened on a link.
#[derive(Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// A message came.
    Received(String),
    /// There is room again, or the message that was waited for has left.
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

impl Link {
    /// Drives `transport` with the times of `limits`.
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

    /// Queues one message, and returns its number. What is no direct answer waits for [room](Self::has_room).
    pub fn queue(&mut self, text: Bytes) -> u64 {
        self.queued += text.len() as u64;
        self.transport.queue(text)
    }

    /// Whether so little waits for the client that more may be queued. If not, [`LinkEvent::Written`] comes when it is so.
    pub fn has_room(&mut self) -> bool {
        let has_room = self.transport.backlog() < OUTBOX_BYTES;
        self.wants_room |= !has_room;
        has_room
    }

    /// Whether this message has left. If not, [`LinkEvent::Written`] comes when it, or an earlier one that was asked about, has.
    pub fn has_sent(&mut self, number: u64) -> bool {
        let sent = self.transport.sent() >= number;
        if !sent {
            self.awaited = Some(self.awaited.map_or(number, |awaited| awaited.min(number)));
        }
        sent
    }

    /// Writes and reads until something happens. A call that is given up loses nothing.
    pub async fn next(&mut self) -> Result<LinkEvent, End> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Writes until nothing is left, and reads nothing.
    pub async fn flush(&mut self) -> Result<(), End> {
        poll_fn(|cx| self.transport.poll_write(cx)).await?;
        Ok(())
    }

    /// Says farewell, and lets the client take what is left for a moment.
    pub async fn close(&mut self, why: End) {
        if why != End::Stalled {
            self.transport.close(why);
            // The client may be gone; then it needs no reason.
            let _ = tokio::time::timeout(LAST_WORDS, self.flush()).await;
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<LinkEvent, End>> {
        self.look_at_excess()?;
        if let Poll::Ready(written) = self.transport.poll_write(cx) {
            written?;
        }
        let has_room = self.transport.backlog() < OUTBOX_BYTES;
        self.excess.is_full = !has_room;
        let sent = self.transport.sent();
        if self.wants_room && has_room || self.awaited.is_some_and(|number| number <= sent) {
            self.wants_room &= !has_room;
            self.awaited = self.awaited.filter(|number| *number > sent);
            return Poll::Ready(Ok(LinkEvent::Written));
        }
        if let Poll::Ready(text) = self.poll_receive(cx) {
            return Poll::Ready(text.map(LinkEvent::Received));
        }
        self.poll_pulse(cx).map(Err)
    }

    /// Fails for a client that makes this side queue more and more, and takes nothing of it.
    fn look_at_excess(&mut self) -> Result<(), End> {
        let excess = &mut self.excess;
        let more = self.queued - excess.queued;
        excess.queued = self.queued;
        if !excess.is_full {
            (excess.times, excess.bytes) = (0, 0);
        } else if more > 0 {
            excess.times += 1;
            excess.bytes += more;
        }
        if excess.times > UNREAD_ANSWERS || excess.bytes > OUTBOX_BYTES as u64 {
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

    /// Does what is due; why the connection ends, if it does.
    fn poll_pulse(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        // After reading, too: what comes may have its answer in the transport.
        let (taken, backlog) = (self.transport.taken(), self.transport.backlog());
        self.pulse.written(taken, backlog, Instant::now());
        loop {
            let deadline = self.pulse.deadline();
            // One that is later is noticed when the timer has ended, so that it is not set with each byte.
            if deadline < self.timer.deadline() || self.timer.is_elapsed() {
                self.timer.as_mut().reset(deadline);
            }
            ready!(self.timer.as_mut().poll(cx));
            let now = Instant::now();
            match self.pulse.due(now) {
                Due::Nothing => {}
                Due::Ping if self.transport.ping() => {
                    self.pulse.asked(now);
                    // It leaves with the next write.
                    cx.waker().wake_by_ref();
                }
                Due::Ping => {}
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
