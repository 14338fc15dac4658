//! The pipe for messages to a held agent.
//!
//! In: whole lines. Out: the same lines in the agent's stdin, also if this daemon is killed. Never: sends a line whose end is missing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use acpd_shim::Flushed;
use tokio::io::AsyncWrite;

use super::shared::Shared;

/// The pipe for messages to a held agent. Each write takes whole lines, and all of them, once those before are sent. From then on they
/// are sent even if this daemon is killed.
///
/// Dropping it does not close the agent's stdin: another daemon may use it. [`HeldProcess::stop`](super::HeldProcess::stop) does.
#[derive(Debug)]
pub struct HeldStdin(Arc<Shared>);

impl HeldStdin {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }
}

impl AsyncWrite for HeldStdin {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, lines: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.0.state();
        match self.0.flush(&mut state)? {
            Flushed::Blocked => {
                state.wait_until_sent(cx.waker());
                return Poll::Pending;
            }
            Flushed::Closed => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            Flushed::All => {}
        }
        state.append(lines)?;
        match self.0.flush(&mut state)? {
            // The rest follows by itself.
            Flushed::All | Flushed::Blocked => Poll::Ready(Ok(lines.len())),
            Flushed::Closed => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.state();
        match self.0.flush(&mut state)? {
            Flushed::Blocked => {
                state.wait_until_sent(cx.waker());
                Poll::Pending
            }
            Flushed::All | Flushed::Closed => Poll::Ready(Ok(())),
        }
    }

    /// Waits until all lines are sent. The agent's stdin stays open.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
