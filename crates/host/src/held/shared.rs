//! What the parts of a held agent share: the attachment to its shim.
//!
//! In: what one part does with the shim. Out: its result, and news for the others. Owns: the attachment. Never: waits while it is
//! locked, or touches the shim's descriptors once it is detached.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use acpd_shim::{Attached, Flushed, Moved, News, Pipes, Status};
use rustix::net::Shutdown;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::descriptors::watch;
use crate::stderr::StderrSource;
use crate::tail::Tail;

/// The shim is notified of what the log has after this many bytes, and when it has everything. A notice costs both sides a system
/// call and the shim a wake-up.
const NOTICE_BYTES: u64 = 64 << 10;
/// After this many bytes, an empty ring gives its memory back. New pages cost little more than this.
const GIVE_BACK_BYTES: u64 = 128 << 10;
/// The journal gives memory back in steps of this size, and takes some system calls for each.
const FORGET_BYTES: u64 = 64 << 10;
/// Bytes of lines that a shim which copies may have before it, until more are taken.
const COPIED_BYTES: u64 = 64 << 10;
/// The interval of attempts to send the rest of the lines where no event says that there is room.
const RETRY: Duration = Duration::from_millis(10);
/// Bytes of stderr that are copied at once.
const STDERR_READ_BYTES: usize = 4 << 10;

/// The attachment to a shim.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// A copy of the connection.
    control: AsyncFd<OwnedFd>,
    /// Notified of all news.
    news: Notify,
}

/// Why there is no shim any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// All processes have ended, but for this number of them.
    Ended { left: u32 },
    /// The shim was killed.
    Lost,
    /// This daemon has left it to the next one.
    Left,
}

/// The attachment, and what waits for it.
#[derive(Debug)]
pub(super) struct State {
    /// `None` once this daemon has left the shim.
    attached: Option<Attached<Pipes>>,
    over: Option<Over>,
    /// Bytes of output that the log has.
    stored: u64,
    /// Of these, what the shim was notified of.
    known: u64,
    /// Bytes of output after which the ring's memory was given back last.
    given_back: u64,
    /// The journal's place up to which its memory was given back.
    forgotten: u64,
    /// The journal's end, also after this daemon has left.
    journal_end: u64,
    /// Waits for room in the ring.
    reader: Option<Waker>,
    /// Waits until all lines are sent.
    writer: Option<Waker>,
    /// Sends lines that did not fit into the pipe.
    mover: Option<JoinHandle<()>>,
    is_moving: bool,
}

/// What a read has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// This many bytes.
    Bytes(usize),
    /// Nothing at the moment.
    Nothing,
    /// Nothing before the log has more.
    Full,
    /// The end.
    Ended,
}

/// Has the runtime watch the connection to a shim. Must be called where a runtime is.
pub(super) fn watch_control(attached: &Attached<Pipes>) -> io::Result<AsyncFd<OwnedFd>> {
    let control = attached.control().try_clone_to_owned()?;
    watch(control, Interest::READABLE | Interest::WRITABLE)
}

impl Shared {
    /// Takes an attachment.
    pub fn new(attached: Attached<Pipes>, control: AsyncFd<OwnedFd>) -> Arc<Self> {
        let head = attached.streams().head();
        let state = State {
            over: None,
            // The shim has released everything before the cursor. What it has is not less, and the first notice sends it once more.
            stored: 0,
            known: 0,
            given_back: head,
            forgotten: 0,
            journal_end: attached.streams().journal().end(),
            attached: Some(attached),
            reader: None,
            writer: None,
            mover: None,
            is_moving: false,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            control,
            news: Notify::new(),
        })
    }

    /// Returns the state. Each change of it is made as a whole.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection, to wait for news.
    pub fn control(&self) -> &AsyncFd<OwnedFd> {
        &self.control
    }

    /// Receives what the shim has sent.
    pub fn receive(&self, state: &mut State) {
        if state.receive() {
            self.news.notify_waiters();
        }
    }

    /// Waits until `find` finds something. Safe to cancel.
    async fn find<T>(&self, find: impl Fn(&State) -> Option<T>) -> T {
        loop {
            // Before the look: another part may receive the news.
            let mut news = std::pin::pin!(self.news.notified());
            news.as_mut().enable();
            if let Some(found) = find(&self.state()) {
                return found;
            }
            tokio::select! {
                biased;
                () = &mut news => {}
                ready = self.control.readable() => match ready {
                    Ok(mut ready) => {
                        self.receive(&mut self.state());
                        ready.clear_ready();
                    }
                    // The runtime is shutting down, and ends this task.
                    Err(_) => std::future::pending().await,
                },
            }
        }
    }

    /// Waits until the process has ended. Returns how, if the shim has said it. Safe to cancel.
    pub async fn exited(&self) -> Option<Status> {
        self.find(|state| {
            let status = state.status();
            (status.is_some() || state.over.is_some()).then_some(status)
        })
        .await
    }

    /// Waits until the shim has ended. Safe to cancel.
    pub async fn over(&self) -> Over {
        self.find(|state| state.over).await
    }

    /// Sends something to the shim, as soon as it reads. Safe to cancel.
    pub async fn send(&self, send: impl Fn(&mut Attached<Pipes>) -> io::Result<()>) -> io::Result<()> {
        loop {
            let mut ready = self.control.writable().await?;
            let sent = match &mut self.state().attached {
                Some(attached) => send(attached),
                None => return Err(io::ErrorKind::NotConnected.into()),
            };
            match sent {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                sent => return sent,
            }
        }
    }

    /// Sends all lines, and closes the process's stdin. Safe to cancel.
    pub async fn close_stdin(self: &Arc<Self>) -> io::Result<()> {
        std::future::poll_fn(|cx| {
            let mut state = self.state();
            match self.flush(&mut state) {
                Ok(Flushed::Blocked) => {
                    state.writer = Some(cx.waker().clone());
                    std::task::Poll::Pending
                }
                flushed => std::task::Poll::Ready(flushed),
            }
        })
        .await?;
        self.send(Attached::close_stdin).await
    }

    /// Sends lines. What does not fit is sent later, and wakes the writer then.
    pub fn flush(self: &Arc<Self>, state: &mut State) -> io::Result<Flushed> {
        let flushed = state.flush()?;
        if flushed == Flushed::Blocked && !state.is_moving {
            state.is_moving = true;
            let input = state.input();
            state.mover = Some(tokio::spawn(Arc::clone(self).send_rest(input)));
        }
        Ok(flushed)
    }

    /// Sends the rest of the lines as the process reads them. `input` becomes writable then; without it, time passes between two
    /// attempts.
    async fn send_rest(self: Arc<Self>, input: Option<AsyncFd<OwnedFd>>) {
        loop {
            let ready = match &input {
                Some(input) => match input.writable().await {
                    Ok(ready) => Some(ready),
                    // The runtime is shutting down.
                    Err(_) => return,
                },
                None => {
                    tokio::time::sleep(RETRY).await;
                    None
                }
            };
            let mut state = self.state();
            if let Ok(Flushed::Blocked) = state.flush() {
                if let Some(mut ready) = ready {
                    ready.clear_ready();
                }
                continue;
            }
            // An error is the writer's, which tries next.
            state.is_moving = false;
            wake(&mut state.writer);
            return;
        }
    }

    /// Detaches: the shim continues alone, for at most `orphan`. Returns `false` if the shim is gone.
    pub fn leave(&self, orphan: Duration) -> bool {
        let mut state = self.state();
        self.receive(&mut state);
        if state.over.is_some() {
            return false;
        }
        state.notify_stored();
        state.stop_sending();
        state.limit_orphan(orphan);
        state.attached = None;
        state.over = Some(Over::Left);
        // The shim moves no byte before the connection is closed, of which this process has another copy. If it is closed already,
        // nothing is left to do.
        let _ = rustix::net::shutdown(self.control.get_ref(), Shutdown::Both);
        state.wake();
        self.news.notify_waiters();
        true
    }
}

impl State {
    /// Returns how the process ended, if the shim has said it.
    pub fn status(&self) -> Option<Status> {
        self.attached.as_ref()?.status()
    }

    /// Returns whether there is no shim any more.
    pub fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// Sets how long the shim waits for another daemon.
    pub fn limit_orphan(&self, orphan: Duration) {
        if let Some(attached) = &self.attached {
            // A shim that reads nothing at the moment keeps the limit that it has.
            let _ = attached.limit_orphan(orphan);
        }
    }

    /// Returns the attachment, unless this daemon has left it.
    pub fn attached(&mut self) -> Option<&mut Attached<Pipes>> {
        self.attached.as_mut()
    }

    /// Returns whether there was news.
    fn receive(&mut self) -> bool {
        let mut has_news = false;
        while self.over.is_none() {
            let Some(attached) = &mut self.attached else {
                break;
            };
            match attached.receive() {
                Ok(Some(news)) => {
                    has_news = true;
                    self.over = match news {
                        News::Ended { left } => Some(Over::Ended { left }),
                        News::Lost => Some(Over::Lost),
                        // What is about the process or its output is looked at there.
                        News::Exited(_) | News::OutputEnded | News::Refused(_) | News::Swept { .. } => None,
                    };
                }
                // It was received, and means nothing.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                // After an error, for which memory must be short, the frames are still there.
                Ok(None) | Err(_) => break,
            }
        }
        if has_news {
            self.wake();
        }
        has_news
    }

    fn wake(&mut self) {
        wake(&mut self.reader);
        wake(&mut self.writer);
    }

    // Output.

    /// Reads output from this byte on, at most as much as fits.
    pub fn take_output(&mut self, from: u64, into: &mut tokio::io::ReadBuf<'_>) -> io::Result<Taken> {
        loop {
            let is_over = self.over.is_some();
            let Some(attached) = &mut self.attached else {
                return Ok(Taken::Ended);
            };
            let head = attached.streams().head();
            let there = usize::try_from(head.saturating_sub(from)).unwrap_or(usize::MAX);
            if there > 0 {
                let most = there.min(into.remaining());
                let read = attached.streams().read(from, into.initialize_unfilled_to(most))?;
                into.advance(read);
                return Ok(Taken::Bytes(read));
            }
            if is_over {
                // No other daemon can continue from here.
                attached.acknowledge(head)?;
            }
            match attached.fill()? {
                Moved::Bytes(_) => {}
                Moved::Nothing => return Ok(Taken::Nothing),
                Moved::Ended => return Ok(Taken::Ended),
                Moved::Full if self.known < self.stored && self.notify_stored() => {}
                Moved::Full => return Ok(Taken::Full),
            }
        }
    }

    /// Has this waker woken when there is room in the ring.
    pub fn wait_for_room(&mut self, waker: &Waker) {
        self.reader = Some(waker.clone());
    }

    /// Returns whether the shim must still be notified of what the log has.
    pub fn has_notice(&self) -> bool {
        self.known < self.stored
    }

    /// The log has all output before this byte.
    pub fn acknowledge(&mut self, cursor: u64) {
        let Some(attached) = &self.attached else {
            return;
        };
        let head = attached.streams().head();
        self.stored = self.stored.max(cursor.min(head));
        let is_due = self.stored == head || self.stored - self.known >= NOTICE_BYTES || self.reader.is_some();
        if !is_due || !self.has_notice() {
            return;
        }
        self.notify_stored();
        self.give_back();
        wake(&mut self.reader);
    }

    /// Notifies the shim of what the log has. Returns whether it worked; if not, the next read or acknowledgement does it.
    pub fn notify_stored(&mut self) -> bool {
        let Some(attached) = &mut self.attached else {
            return false;
        };
        let is_known = matches!(attached.acknowledge(self.stored), Ok(true));
        if is_known {
            self.known = self.stored;
        }
        is_known
    }

    fn give_back(&mut self) {
        let Some(attached) = &mut self.attached else {
            return;
        };
        let head = attached.streams().head();
        if self.known == head && head - self.given_back >= GIVE_BACK_BYTES {
            self.given_back = head;
            // If the system refuses, the memory is given back after as many bytes more.
            let _ = attached.give_back();
        }
    }

    // Input.

    /// Stops the task that sends the rest of the lines.
    pub fn stop_sending(&mut self) {
        if let Some(mover) = self.mover.take() {
            mover.abort();
        }
    }

    /// Sends lines, as far as the process reads them.
    fn flush(&mut self) -> io::Result<Flushed> {
        let Some(attached) = &mut self.attached else {
            return Ok(Flushed::Closed);
        };
        let flushed = attached.flush()?;
        let journal = attached.streams().journal();
        // A shim that copies has taken them, and sends them when it can.
        if flushed == Flushed::All && journal.end() - journal.sent()?.min(journal.end()) > COPIED_BYTES {
            return Ok(Flushed::Blocked);
        }
        Ok(flushed)
    }

    /// Appends lines to the journal.
    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let attached = self.attached.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        attached.append(lines)?;
        self.journal_end = attached.streams().journal().end();
        Ok(())
    }

    /// Has this waker woken when all lines are sent.
    pub fn wait_until_sent(&mut self, waker: &Waker) {
        self.writer = Some(waker.clone());
    }

    /// Returns a copy of the process's stdin that becomes writable when the process reads. `None` if that says nothing about the lines,
    /// since the shim copies them, or if the system has no descriptor left.
    fn input(&self) -> Option<AsyncFd<OwnedFd>> {
        let streams = self.attached.as_ref()?.streams();
        if streams.is_copied() {
            return None;
        }
        let input = streams.input()?.try_clone_to_owned().ok()?;
        watch(input, Interest::WRITABLE).ok()
    }

    /// Returns the number of bytes that were appended to the journal.
    pub fn journal_end(&self) -> u64 {
        self.journal_end
    }

    /// Returns the lines that the journal has from this place on.
    pub fn sent_since(&self, mark: u64) -> io::Result<Vec<u8>> {
        let attached = self.attached.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let length = self
            .journal_end
            .checked_sub(mark)
            .filter(|_| mark >= self.forgotten);
        let length = length.ok_or(io::ErrorKind::InvalidInput)?;
        let mut lines = vec![0; usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?];
        let mut done = 0;
        while done < lines.len() {
            let place = mark + u64::try_from(done).unwrap_or_default();
            match attached.streams().journal().read(place, &mut lines[done..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => done += read,
            }
        }
        Ok(lines)
    }

    /// Gives the memory of lines before this place back.
    pub fn forget(&mut self, mark: u64) {
        let mark = mark.min(self.journal_end);
        let Some(attached) = &mut self.attached else {
            return;
        };
        if mark.saturating_sub(self.forgotten) >= FORGET_BYTES {
            self.forgotten = mark;
            // If the system refuses, the next call gives this memory back as well.
            let _ = attached.forget(mark);
        }
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

impl StderrSource for Shared {
    fn extend(&self, tail: &mut Tail) {
        let state = self.state();
        let Some(attached) = &state.attached else {
            return;
        };
        let errors = attached.streams().errors();
        let Ok(written) = errors.written() else {
            return;
        };
        tail.skip_to(written.saturating_sub(tail.limit() as u64));
        let mut buffer = [0; STDERR_READ_BYTES];
        while tail.written() < written {
            match errors.read(tail.written(), &mut buffer) {
                Ok(piece) if piece.length > 0 => {
                    tail.skip_to(piece.from);
                    tail.push(&buffer[..piece.length]);
                }
                // What cannot be read is left out, as if it had been dropped.
                _ => return,
            }
        }
    }
}
