//! Byte streams that count their bytes. The HTTP server hides the socket, so a client's progress within one large message
//! is visible only here.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The number of bytes that one connection has transferred.
#[derive(Debug, Clone, Default)]
pub struct Traffic(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    read: AtomicU64,
    written: AtomicU64,
}

impl Traffic {
    /// Returns the bytes received.
    pub fn read(&self) -> u64 {
        self.0.read.load(Ordering::Relaxed)
    }

    /// Returns the bytes sent.
    pub fn written(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }
}

/// A stream that adds its bytes to a [`Traffic`].
pub struct Counted<S> {
    stream: S,
    traffic: Traffic,
}

impl<S> Counted<S> {
    /// Counts the bytes of `stream` in `traffic`.
    pub fn new(stream: S, traffic: Traffic) -> Self {
        Self { stream, traffic }
    }

    fn wrote(&self, written: Poll<Result<usize>>) -> Poll<Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = written {
            self.traffic.0.written.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = buffer.filled().len() - before;
        self.traffic.0.read.fetch_add(read as u64, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn bytes_are_counted_as_they_pass() {
        let traffic = Traffic::default();
        let (near, mut far) = tokio::io::duplex(4);
        let mut near = Counted::new(near, traffic.clone());
        assert_eq!(near.write(b"123456").await.unwrap(), 4);
        assert_eq!((traffic.written(), traffic.read()), (4, 0));
        let slices = [IoSlice::new(b"56"), IoSlice::new(b"7")];
        far.read_exact(&mut [0; 4]).await.unwrap();
        let written = near.write_vectored(&slices).await.unwrap() as u64;
        assert_eq!((traffic.written(), traffic.read()), (4 + written, 0));
        far.write_all(b"abc").await.unwrap();
        near.read_exact(&mut [0; 3]).await.unwrap();
        assert_eq!((traffic.written(), traffic.read()), (4 + written, 3));
    }
}
