//! The pipes of an agent, with a copy of all bytes for a recording.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{Direction, Recording};
use crate::host::{AgentStdin, AgentStdout};

/// The agent's output.
pub(crate) struct RecordedReader {
    pub reader: AgentStdout,
    pub recording: Arc<Recording>,
}

impl AsyncRead for RecordedReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.reader).poll_read(cx, buffer))?;
        let read = &buffer.filled()[before..];
        if !read.is_empty() {
            self.recording.part(Direction::FromAgent, read);
        }
        Poll::Ready(Ok(()))
    }
}

/// The agent's input. Only bytes that the pipe has accepted are recorded.
pub(crate) struct RecordedWriter {
    pub writer: AgentStdin,
    pub recording: Arc<Recording>,
}

impl AsyncWrite for RecordedWriter {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.writer).poll_write(cx, bytes))?;
        self.recording.part(Direction::ToAgent, &bytes[..written]);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(cx)
    }
}
