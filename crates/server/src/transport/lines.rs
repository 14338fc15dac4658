//! JSON lines over a byte stream.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use acpd_model::Limits;
use acpd_proto::wire::{Found, Line, LineDecoder, read_ends};
use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use crate::transport::{Broken, Transport};

/// A byte stream with one message on each line.
pub struct Lines<R, W> {
    reader: R,
    writer: W,
    decoder: LineDecoder,
    /// Lines that are not written completely. The first one has only its remaining text.
    queue: VecDeque<Bytes>,
    backlog: usize,
    sent: u64,
    taken: u64,
}

/// Lines in one call to the writer.
const AT_ONCE: usize = 16;

const NEWLINE: &[u8] = b"\n";

impl<R, W> Lines<R, W> {
    /// Creates the transport. `limits` bounds the lines that it reads.
    pub fn new(reader: R, writer: W, limits: &Limits) -> Self {
        Self {
            reader,
            writer,
            decoder: LineDecoder::new(limits.editor_message_bytes()),
            queue: VecDeque::new(),
            backlog: 0,
            sent: 0,
            taken: 0,
        }
    }

    /// Removes so many written bytes from the queue.
    fn advance(&mut self, mut bytes: usize) {
        self.backlog -= bytes;
        self.taken += bytes as u64;
        while let Some(line) = self.queue.front_mut() {
            let text = line.len().min(bytes);
            line.advance(text);
            bytes -= text;
            if bytes == 0 {
                return;
            }
            bytes -= NEWLINE.len();
            self.queue.pop_front();
            self.sent += 1;
        }
    }
}

/// Returns the text of a line. A line that is too long becomes a message that fails: an answer is an error, and a request is
/// one that breaks off, so that the client receives an error with its id.
fn text(line: &Line<'_>) -> String {
    match *line {
        Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Line::TooLong { head, tail, bytes } => match read_ends(head, tail) {
            Found::Answer { id } => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32700,"message":"the answer has {bytes} bytes, which is too long"}}}}"#
            ),
            Found::Request { id } => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"#),
            Found::Other => String::from_utf8_lossy(head).into_owned(),
        },
    }
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send> Transport for Lines<R, W> {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<String>, Broken>> {
        loop {
            if let Some(line) = self.decoder.next_line() {
                return Poll::Ready(Ok(Some(text(&line))));
            }
            // Dropping a pending read loses no bytes.
            let read = pin!(self.reader.read_buf(self.decoder.buffer()));
            if ready!(read.poll(cx))? == 0 {
                return Poll::Ready(Ok(self.decoder.finish().map(|line| text(&line))));
            }
        }
    }

    fn queue(&mut self, text: Bytes) -> u64 {
        self.backlog += text.len() + NEWLINE.len();
        self.queue.push_back(text);
        self.sent + self.queue.len() as u64
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        while !self.queue.is_empty() {
            let mut slices = [IoSlice::new(&[]); 2 * AT_ONCE];
            for (pair, line) in slices.chunks_mut(2).zip(&self.queue) {
                pair[0] = IoSlice::new(line);
                pair[1] = IoSlice::new(NEWLINE);
            }
            let lines = 2 * self.queue.len().min(AT_ONCE);
            let written = ready!(Pin::new(&mut self.writer).poll_write_vectored(cx, &slices[..lines]))?;
            if written == 0 {
                return Poll::Ready(Err(Error::from(ErrorKind::WriteZero).into()));
            }
            self.advance(written);
        }
        Pin::new(&mut self.writer).poll_flush(cx).map_err(Broken::Io)
    }

    fn backlog(&self) -> usize {
        self.backlog
    }

    fn sent(&self) -> u64 {
        self.sent
    }

    fn taken(&self) -> u64 {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use futures_util::task::noop_waker_ref;
    use tokio::io::{AsyncWriteExt, split};

    use super::*;

    #[tokio::test]
    async fn lines_leave_in_order_however_few_bytes_are_taken_at_once() {
        for at_once in [1, 2, 3, 7, 100] {
            tokio::task::unconstrained(leave_in_order(at_once)).await;
        }
    }

    async fn leave_in_order(at_once: usize) {
        let (theirs, mut ours) = tokio::io::duplex(at_once);
        let (reader, writer) = split(theirs);
        let mut lines = Lines::new(reader, writer, &Limits::default());
        let mut cx = Context::from_waker(noop_waker_ref());
        let mut expected = Vec::new();
        for number in 1..=40 {
            let text = "x".repeat(number % 5);
            expected.extend_from_slice(format!("{text}\n").as_bytes());
            assert_eq!(lines.queue(text.into()), number as u64);
        }
        let mut read = Vec::new();
        while lines.poll_write(&mut cx).is_pending() {
            ours.read_buf(&mut read).await.unwrap();
            let left = read.split(|byte| *byte == b'\n').count() as u64 - 1;
            assert!((left..=left + at_once as u64).contains(&lines.sent()));
            assert_eq!(lines.taken() + lines.backlog() as u64, expected.len() as u64);
        }
        ours.read_buf(&mut read).await.unwrap();
        assert_eq!(read, expected, "{at_once}");
        assert_eq!((lines.backlog(), lines.sent()), (0, 40));
    }

    #[tokio::test]
    async fn a_line_may_come_in_parts_and_the_last_without_its_end() {
        let (theirs, mut ours) = tokio::io::duplex(100);
        let (reader, writer) = split(theirs);
        let mut lines = Lines::new(reader, writer, &Limits::default());
        let mut cx = Context::from_waker(noop_waker_ref());
        ours.write_all(b"on").await.unwrap();
        assert!(lines.poll_receive(&mut cx).is_pending());
        ours.write_all(b"e\ntwo\nthree").await.unwrap();
        drop(ours);
        for expected in [Some("one"), Some("two"), Some("three"), None] {
            let Poll::Ready(Ok(line)) = lines.poll_receive(&mut cx) else {
                panic!("it is there");
            };
            assert_eq!(line.as_deref(), expected);
        }
    }
}
