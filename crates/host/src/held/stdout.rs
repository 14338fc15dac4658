//! The pipe for messages from a held agent.
//!
//! In: the number of the first byte to read. Out: all later ones, once and in order. Never: lets a byte be overwritten that the log does
//! not have.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use acpd_shim::{Attached, Pipes};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, Interest, ReadBuf};

use super::shared::{Shared, State, Taken};
use crate::descriptors::watch;

/// The pipe for messages from a held agent. A reader that is ahead of the log by the size of the ring waits until
/// [`HeldPipes::acknowledge`](super::HeldPipes::acknowledge) makes room. The end is that of the agent's output, or of this daemon's
/// attachment.
#[derive(Debug)]
pub struct HeldStdout {
    shared: Arc<Shared>,
    /// The number of the next byte.
    next: u64,
    /// What becomes readable when output arrives.
    arrivals: Arrivals,
}

/// A copy of the descriptor that becomes readable when output arrives.
#[derive(Debug)]
pub(super) struct Arrivals {
    copy: AsyncFd<OwnedFd>,
    original: RawFd,
}

impl Arrivals {
    /// Has the runtime watch it. Must be called where a runtime is.
    pub fn of(attached: &Attached<Pipes>) -> io::Result<Self> {
        let output = attached.streams().output();
        Ok(Self {
            original: output.as_raw_fd(),
            copy: watch(output.try_clone_to_owned()?, Interest::READABLE)?,
        })
    }

    /// Takes another descriptor if the shim that moved the bytes is gone.
    fn follow(&mut self, state: &mut State) -> io::Result<()> {
        if let Some(attached) = state.attached()
            && attached.streams().output().as_raw_fd() != self.original
        {
            *self = Self::of(attached)?;
        }
        Ok(())
    }
}

impl HeldStdout {
    /// Reads from this byte on.
    pub(super) fn new(shared: Arc<Shared>, arrivals: Arrivals, next: u64) -> Self {
        Self {
            shared,
            next,
            arrivals,
        }
    }

    /// Receives news, and reads what is there.
    fn take(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> io::Result<Taken> {
        let news = self.shared.control().poll_read_ready(cx);
        let mut state = self.shared.state();
        if let Poll::Ready(news) = news {
            self.shared.receive(&mut state);
            news?.clear_ready();
        }
        let taken = state.take_output(self.next, buffer)?;
        match taken {
            Taken::Bytes(bytes) => self.next += u64::try_from(bytes).unwrap_or_default(),
            Taken::Full => state.wait_for_room(cx.waker()),
            Taken::Nothing => self.arrivals.follow(&mut state)?,
            Taken::Ended => {}
        }
        Ok(taken)
    }

    /// Notifies the shim of what the log has, as soon as it reads.
    fn poll_notice(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.shared.state().has_notice() {
            return Poll::Pending;
        }
        let mut ready = ready!(self.shared.control().poll_write_ready(cx))?;
        if !self.shared.state().notify_stored() {
            ready.clear_ready();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for HeldStdout {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        loop {
            match this.take(cx, buffer)? {
                Taken::Bytes(_) | Taken::Ended => return Poll::Ready(Ok(())),
                Taken::Full => ready!(this.poll_notice(cx))?,
                // What arrives before it is cleared is found by the next look, and what arrives later makes it ready again.
                Taken::Nothing => ready!(this.arrivals.copy.poll_read_ready(cx))?.clear_ready(),
            }
        }
    }
}
