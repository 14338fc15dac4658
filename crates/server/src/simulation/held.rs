//! A scripted agent whose pipes outlive the daemon, as those of a shim do.
//!
//! In: the agent's output, lines for it, and attachments of daemons. Out: the same bytes, each as often as the log lacks it. Owns:
//! the ring and the journal. Never: gives a byte back that the log may still need, or serves a daemon that another one has replaced.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use acpd_host::{Hold, ProcessExit, StderrTail};
use acpd_runtime::host::{AgentIo, AgentProcess, HeldIo};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// The room for output that the log does not have yet, in bytes.
const RING_BYTES: usize = 2 << 20;
/// Bytes that are moved at once.
const MOVED_BYTES: usize = 1 << 10;

/// One agent with its shim.
#[derive(Clone)]
pub struct HeldAgent(Arc<Shim>);

struct Shim {
    hold: Hold,
    pipes: Mutex<Pipes>,
    /// Notified when the shim has something to move, or room for it.
    moves: Notify,
    killed: CancellationToken,
    ended: watch::Receiver<bool>,
}

#[derive(Default)]
struct Pipes {
    /// Output that was not acknowledged, and the number of its first byte.
    ring: Vec<u8>,
    tail: u64,
    /// Lines that were not forgotten, and the number of their first byte.
    journal: Vec<u8>,
    journal_start: u64,
    /// The bytes of the journal that the agent's pipe has.
    sent: u64,
    /// The number of the attachment that is served.
    attachment: u64,
    /// Whether no more output follows.
    is_closed: bool,
    closes_stdin: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Pipes {
    fn head(&self) -> u64 {
        self.tail + self.ring.len() as u64
    }

    fn journal_end(&self) -> u64 {
        self.journal_start + self.journal.len() as u64
    }

    fn wake(&mut self) {
        let wakers = [self.reader.take(), self.writer.take()];
        wakers.into_iter().flatten().for_each(Waker::wake);
    }
}

impl HeldAgent {
    /// Begins to hold an agent, which ends when `killed` is cancelled, and reports that through `ended`.
    pub fn new(
        hold: Hold,
        stdin: DuplexStream,
        stdout: DuplexStream,
        killed: CancellationToken,
        ended: watch::Receiver<bool>,
    ) -> Self {
        let shim = Arc::new(Shim {
            hold,
            pipes: Mutex::default(),
            moves: Notify::new(),
            killed,
            ended,
        });
        tokio::spawn(fill_ring(Arc::clone(&shim), stdout));
        tokio::spawn(send_journal(Arc::clone(&shim), stdin));
        Self(shim)
    }

    /// Serves another daemon, which has the output before `cursor`. Returns nothing to a daemon without the token.
    pub fn attach(&self, hold: &Hold, cursor: u64, id: Option<u32>) -> Option<AgentIo> {
        if self.0.hold.token != hold.token {
            return None;
        }
        let number = {
            let mut pipes = self.0.pipes();
            assert!(
                (pipes.tail..=pipes.head()).contains(&cursor),
                "the log has the output before {cursor}, the ring that from {} to {}",
                pipes.tail,
                pipes.head()
            );
            pipes.attachment += 1;
            pipes.reader = None;
            pipes.writer = None;
            pipes.attachment
        };
        let end = || Attachment {
            shim: Arc::clone(&self.0),
            number,
        };
        Some(AgentIo {
            id,
            stdin: Some(Box::new(Input(end()))),
            stdout: Box::new(Output {
                end: end(),
                at: cursor,
            }),
            stderr: StderrTail::default(),
            process: Box::new(HeldProcess(end())),
            held: Some(Box::new(end())),
        })
    }

    /// Returns the mark of its processes.
    pub fn mark(&self) -> u64 {
        self.0.hold.mark
    }

    /// Returns what terminates the agent.
    pub fn kill_switch(&self) -> CancellationToken {
        self.0.killed.clone()
    }

    /// Returns whether the agent has ended.
    pub fn is_over(&self) -> bool {
        *self.0.ended.borrow()
    }
}

impl Shim {
    fn pipes(&self) -> MutexGuard<'_, Pipes> {
        self.pipes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Moves the agent's output into the ring while that has room.
async fn fill_ring(shim: Arc<Shim>, mut stdout: DuplexStream) {
    let mut buffer = [0; MOVED_BYTES];
    loop {
        let has_room = || shim.pipes().ring.len() + MOVED_BYTES <= RING_BYTES;
        while !has_room() {
            let more = shim.moves.notified();
            if has_room() {
                break;
            }
            more.await;
        }
        let read = stdout.read(&mut buffer).await.unwrap_or_default();
        let mut pipes = shim.pipes();
        pipes.ring.extend_from_slice(&buffer[..read]);
        pipes.is_closed = read == 0;
        pipes.wake();
        if read == 0 {
            return;
        }
    }
}

/// Moves the journal into the agent's pipe.
async fn send_journal(shim: Arc<Shim>, mut stdin: DuplexStream) {
    loop {
        let next = {
            let pipes = shim.pipes();
            let from = usize::try_from(pipes.sent - pipes.journal_start).unwrap_or(usize::MAX);
            let part = &pipes.journal[from..];
            let part = part[..part.len().min(MOVED_BYTES)].to_vec();
            if part.is_empty() && pipes.closes_stdin {
                return;
            }
            part
        };
        if next.is_empty() {
            tokio::select! {
                () = shim.moves.notified() => continue,
                () = shim.killed.cancelled() => return,
            }
        }
        if stdin.write_all(&next).await.is_err() {
            return;
        }
        let mut pipes = shim.pipes();
        pipes.sent += next.len() as u64;
        pipes.wake();
    }
}

/// The end of a daemon, which does nothing any more once another daemon has attached the agent.
struct Attachment {
    shim: Arc<Shim>,
    number: u64,
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Attachment").field(&self.number).finish()
    }
}

impl Attachment {
    /// Returns the pipes, unless another daemon has attached the agent.
    fn pipes(&self) -> Option<MutexGuard<'_, Pipes>> {
        Some(self.shim.pipes()).filter(|pipes| pipes.attachment == self.number)
    }
}

impl HeldIo for Attachment {
    fn acknowledge(&self, cursor: u64) {
        let Some(mut pipes) = self.pipes() else { return };
        let done = usize::try_from(cursor.saturating_sub(pipes.tail)).unwrap_or(usize::MAX);
        assert!(done <= pipes.ring.len(), "the log has what was not written");
        let before = done.checked_sub(1).map(|last| pipes.ring[last]);
        assert!(
            before.is_none_or(|byte| byte == b'\n'),
            "a cursor within a line: {cursor}"
        );
        pipes.ring.drain(..done);
        pipes.tail = pipes.tail.max(cursor);
        drop(pipes);
        self.shim.moves.notify_waiters();
    }

    fn journal_end(&self) -> u64 {
        self.shim.pipes().journal_end()
    }

    fn sent_since(&self, mark: u64) -> io::Result<Vec<u8>> {
        let pipes = self.shim.pipes();
        assert!(
            (pipes.journal_start..=pipes.journal_end()).contains(&mark),
            "the journal was forgotten too early: {mark}"
        );
        let from = usize::try_from(mark - pipes.journal_start).map_err(io::Error::other)?;
        Ok(pipes.journal[from..].to_vec())
    }

    fn forget(&self, mark: u64) {
        let Some(mut pipes) = self.pipes() else { return };
        // What the agent has not received yet is kept.
        let mark = mark.min(pipes.sent);
        let done = usize::try_from(mark.saturating_sub(pipes.journal_start)).unwrap_or(usize::MAX);
        pipes.journal.drain(..done);
        pipes.journal_start = pipes.journal_start.max(mark);
    }
}

struct Output {
    end: Attachment,
    at: u64,
}

impl AsyncRead for Output {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(mut pipes) = self.end.pipes() else {
            return Poll::Pending;
        };
        // What was acknowledged was read before.
        let from = usize::try_from(self.at - pipes.tail).map_err(io::Error::other)?;
        let part = &pipes.ring[from..];
        let taken = part.len().min(buffer.remaining()).min(MOVED_BYTES);
        if taken == 0 && !pipes.is_closed {
            pipes.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        buffer.put_slice(&part[..taken]);
        drop(pipes);
        self.at += taken as u64;
        Poll::Ready(Ok(()))
    }
}

struct Input(Attachment);

impl AsyncWrite for Input {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, lines: &[u8]) -> Poll<io::Result<usize>> {
        let Some(mut pipes) = self.0.pipes() else {
            return Poll::Pending;
        };
        if pipes.sent < pipes.journal_end() && !pipes.is_closed {
            pipes.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        assert!(lines.ends_with(b"\n"), "a part of a line is written");
        pipes.journal.extend_from_slice(lines);
        drop(pipes);
        self.0.shim.moves.notify_waiters();
        Poll::Ready(Ok(lines.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The process. Dropping it changes nothing, as the end of a daemon does.
struct HeldProcess(Attachment);

impl AgentProcess for HeldProcess {
    fn gone(&mut self) -> BoxFuture<'_, ()> {
        let mut ended = self.0.shim.ended.clone();
        async move {
            // The runtime of the task may have ended.
            let _ = ended.wait_for(|ended| *ended).await;
        }
        .boxed()
    }

    fn stop(self: Box<Self>, grace: Duration) -> BoxFuture<'static, ProcessExit> {
        async move {
            // A daemon that was killed stops nothing.
            let is_served = self
                .0
                .pipes()
                .map(|mut pipes| pipes.closes_stdin = true)
                .is_some();
            if !is_served {
                return std::future::pending().await;
            }
            let shim = &self.0.shim;
            shim.moves.notify_waiters();
            let mut ended = shim.ended.clone();
            let by_itself = tokio::time::timeout(grace, ended.wait_for(|ended| *ended))
                .await
                .is_ok();
            shim.killed.cancel();
            // The runtime of the task may have ended.
            let _ = ended.wait_for(|ended| *ended).await;
            ProcessExit {
                reason: "a held agent has ended".to_owned(),
                code: by_itself.then_some(0),
                by_itself,
                stderr: String::new(),
            }
        }
        .boxed()
    }

    fn leave(self: Box<Self>, orphan: Duration) {
        tokio::spawn(async move {
            tokio::time::sleep(orphan).await;
            if self.0.pipes().is_some() {
                self.0.shim.killed.cancel();
            }
        });
    }
}
