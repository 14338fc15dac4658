//! When bytes last passed over a connection.
//!
//! In: a byte stream. Out: the same stream, and the times of its progress. Never: changes or stores a byte.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::address::Transport;

/// The progress of a stream.
#[derive(Debug)]
pub(crate) struct Progress {
    read_at: Mutex<Instant>,
    written_at: Mutex<Instant>,
}

impl Progress {
    /// Returns when a byte was read last; at first, when the stream was wrapped.
    pub(crate) fn read_at(&self) -> Instant {
        *lock(&self.read_at)
    }

    /// Returns when a byte was written last; at first, when the stream was wrapped.
    pub(crate) fn written_at(&self) -> Instant {
        *lock(&self.written_at)
    }
}

fn lock(at: &Mutex<Instant>) -> MutexGuard<'_, Instant> {
    // No code that can panic runs while it is locked.
    at.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stream that takes note of its progress.
pub(crate) struct Heard {
    wire: Box<dyn Transport>,
    progress: Arc<Progress>,
}

impl Heard {
    /// Puts itself around a stream, in its place.
    pub(crate) fn insert(place: &mut Box<dyn Transport>) -> Arc<Progress> {
        let now = Instant::now();
        let progress = Arc::new(Progress {
            read_at: Mutex::new(now),
            written_at: Mutex::new(now),
        });
        let wire = std::mem::replace(place, Box::new(tokio::io::empty()));
        *place = Box::new(Self {
            wire,
            progress: Arc::clone(&progress),
        });
        progress
    }
}

impl AsyncRead for Heard {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.wire).poll_read(context, buffer);
        if buffer.filled().len() > before {
            *lock(&self.progress.read_at) = Instant::now();
        }
        read
    }
}

impl AsyncWrite for Heard {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.wire).poll_write(context, bytes);
        if matches!(written, Poll::Ready(Ok(count)) if count > 0) {
            *lock(&self.progress.written_at) = Instant::now();
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(context)
    }
}
