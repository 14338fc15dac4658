//! How an editor's messages come in and go out, whatever carries them.
//!
//! In and out: one JSON text each. A transport owns its bytes, its framing, and how long an editor may take nothing;
//! the editor actor takes the next message only when it is done with the one before, so that who sends too much waits.

pub mod event_stream;
pub mod heartbeat;
pub mod websocket;

use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::time::Duration;

use acpd_model::Limits;
use acpd_proto::wire::{Line, LineDecoder};
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// One editor's connection.
pub trait Transport: Send {
    /// The next message; `None` if the editor has gone. A call that is given up loses nothing.
    fn next(&mut self) -> impl Future<Output = Result<Option<String>>> + Send;

    /// Sends one message. It has left with the next [`flush`](Self::flush); an error means that the editor takes nothing
    /// any more.
    fn send(&mut self, text: Bytes) -> impl Future<Output = Result<()>> + Send;

    /// Lets go of what was sent.
    fn flush(&mut self) -> impl Future<Output = Result<()>> + Send;

    /// The daemon has nothing more to say.
    fn close(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// Lines of JSON over a stream of bytes.
pub struct Lines<R, W> {
    reader: R,
    writer: W,
    decoder: LineDecoder,
    patience: Duration,
}

impl<R, W> Lines<R, W> {
    /// With the bounds of `limits`: the longest line, and how long a write may take.
    pub fn new(reader: R, writer: W, limits: &Limits) -> Self {
        Self {
            reader,
            writer,
            decoder: LineDecoder::new(limits.editor_message_bytes()),
            patience: Duration::from_secs(limits.write_secs),
        }
    }
}

/// The text of a line. Of one that is too long it is the head, which is no JSON, and is answered as such.
fn text(line: &Line<'_>) -> String {
    let (Line::Whole(bytes) | Line::TooLong { head: bytes, .. }) = line;
    String::from_utf8_lossy(bytes).into_owned()
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send> Transport for Lines<R, W> {
    async fn next(&mut self) -> Result<Option<String>> {
        loop {
            if let Some(line) = self.decoder.next_line() {
                return Ok(Some(text(&line)));
            }
            if self.reader.read_buf(self.decoder.buffer()).await? == 0 {
                return Ok(self.decoder.finish().map(|line| text(&line)));
            }
        }
    }

    async fn send(&mut self, sent: Bytes) -> Result<()> {
        let writer = &mut self.writer;
        in_time(self.patience, async {
            writer.write_all(&sent).await?;
            writer.write_all(b"\n").await
        })
        .await
    }

    async fn flush(&mut self) -> Result<()> {
        in_time(self.patience, self.writer.flush()).await
    }
}

/// An editor that takes nothing for `patience` is gone.
pub async fn in_time<T>(patience: Duration, write: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(patience, write).await {
        Ok(written) => written,
        Err(_) => Err(Error::new(ErrorKind::TimedOut, "it takes nothing")),
    }
}
