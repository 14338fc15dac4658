//! What is written to a terminal: read by a thread of its own, and kept from the end.
//!
//! In: a terminal. Out: the last of what was written, and that there is more. Owns: the terminal's master and
//! the thread that reads it. Never: waits for who looks at it, or keeps more than asked.
//!
//! A read that finds nothing waits for the kernel's worker that fills the terminal, whatever the descriptor was
//! told, and so does asking the kernel whether there is something to read. On a busy machine that takes many
//! milliseconds, in which a thread of the runtime would serve nobody else.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::{Notify, watch};

use crate::pty::Master;
use crate::tail::Tail;

/// Read at once; the system gives no more.
const READ_BYTES: usize = 4096;
/// The thread has one buffer and calls nothing deep.
const STACK_BYTES: usize = 64 << 10;

/// How often it is looked whether a terminal that everybody has closed was opened again.
const REOPENED: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// How far the thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// There may be more.
    Reading,
    /// Nobody had the other end open when it was told so many times to look again.
    HungUp(u32),
    /// The master is closed.
    Closed,
}

/// The last of what was written to a terminal, for whoever wants to look at it.
#[derive(Debug)]
pub(crate) struct OutputBuffer {
    kept: Mutex<RetainedOutput>,
    news: Notify,
    stage: watch::Sender<Stage>,
}

#[derive(Debug)]
struct RetainedOutput {
    tail: Tail,
    /// Nothing is added any more.
    over: bool,
}

impl OutputBuffer {
    fn kept(&self) -> MutexGuard<'_, RetainedOutput> {
        // A tail is whole between any two calls.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes ever written.
    pub fn bytes(&self) -> u64 {
        self.kept().tail.written()
    }

    /// See [`Tail::limit`].
    pub fn limit(&self) -> usize {
        self.kept().tail.limit()
    }

    /// See [`Tail::text`].
    pub fn text(&self) -> (String, bool) {
        let kept = self.kept();
        kept.tail.text(kept.over)
    }

    /// See [`Tail::since`].
    pub fn since(&self, from: u64, most: usize) -> Option<(String, u64)> {
        let kept = self.kept();
        kept.tail.since(from, most, kept.over)
    }
}

/// The reading of a terminal. Dropped, the master is closed as soon as the thread sees it.
#[derive(Debug)]
pub(crate) struct Output {
    written: Arc<OutputBuffer>,
    /// A byte makes the thread look again; the end makes it close the master.
    to_thread: Option<PipeWriter>,
    /// Bytes sent to the thread.
    looks: u32,
}

impl Output {
    /// Reads the terminal from now on, and keeps up to `limit` bytes.
    pub fn read(master: Master, limit: usize) -> io::Result<Self> {
        let (commands, to_thread) = io::pipe()?;
        let written = Arc::new(OutputBuffer {
            kept: Mutex::new(RetainedOutput {
                tail: Tail::new(limit),
                over: false,
            }),
            news: Notify::new(),
            stage: watch::Sender::new(Stage::Reading),
        });
        let reader = Reader {
            master,
            commands,
            looks: 0,
            written: written.clone(),
            _closed: Closed(written.clone()),
        };
        std::thread::Builder::new()
            .name("terminal".into())
            .stack_size(STACK_BYTES)
            .spawn(move || reader.run())?;
        Ok(Self {
            written,
            to_thread: Some(to_thread),
            looks: 0,
        })
    }

    /// What was written.
    pub fn written(&self) -> &Arc<OutputBuffer> {
        &self.written
    }

    /// Waits for something to be written; at once if something was since the last time. Safe to cancel.
    pub async fn written_to(&self) {
        self.written.news.notified().await;
    }

    /// Waits until nobody has the other end open. Safe to cancel.
    pub fn hung_up(&self) -> impl Future<Output = ()> + use<> {
        let looks = self.looks;
        self.reached(move |stage| *stage == Stage::HungUp(looks) || *stage == Stage::Closed)
    }

    /// Whoever had closed the other end may have opened it again.
    pub fn look_again(&mut self) {
        if let Some(to_thread) = &mut self.to_thread {
            self.looks += 1;
            // A thread that is gone has closed the master, and said so.
            drop(to_thread.write_all(&[0]));
        }
    }

    /// Closes the master, which hangs up on whoever still has the other end. What comes after this is not kept.
    pub async fn close(&mut self) {
        self.written.kept().over = true;
        self.to_thread = None;
        self.reached(|stage| *stage == Stage::Closed).await;
    }

    fn reached<F: FnMut(&Stage) -> bool>(&self, wanted: F) -> impl Future<Output = ()> + use<F> {
        let mut stage = self.written.stage.subscribe();
        // The sender is ours, and is asked no more when we are gone.
        async move { drop(stage.wait_for(wanted).await) }
    }
}

/// The thread's side. Dropped in this order, so that the master is closed when it is said to be.
struct Reader {
    master: Master,
    commands: PipeReader,
    /// Bytes read of `commands`.
    looks: u32,
    written: Arc<OutputBuffer>,
    _closed: Closed,
}

/// Says at its end, whatever that is, that the master is closed.
struct Closed(Arc<OutputBuffer>);

impl Drop for Closed {
    fn drop(&mut self) {
        self.0.stage.send_replace(Stage::Closed);
    }
}

impl Reader {
    fn run(mut self) {
        let mut buffer = [0; READ_BYTES];
        loop {
            match self.master.read(&mut buffer) {
                Ok(0) => {
                    let hung_up = Stage::HungUp(self.looks);
                    self.written
                        .stage
                        .send_if_modified(|stage| std::mem::replace(stage, hung_up) != hung_up);
                    if !self.rest() {
                        break;
                    }
                }
                Ok(bytes) => {
                    let mut kept = self.written.kept();
                    if kept.over {
                        break;
                    }
                    kept.tail.push(&buffer[..bytes]);
                    drop(kept);
                    self.written.news.notify_one();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !self.wait() {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
    }

    /// Waits for output, or to be told something. Whether to go on.
    fn wait(&mut self) -> bool {
        let mut both = [
            PollFd::new(&self.commands, PollFlags::IN),
            PollFd::new(&self.master, PollFlags::IN),
        ];
        // Interrupted, or out of memory for a moment: the read says what there is.
        let _ = poll(&mut both, None);
        both[0].revents().is_empty() || self.handle_command()
    }

    /// Waits while nobody has the other end: the command may open it again. Whether to go on.
    fn rest(&mut self) -> bool {
        let mut commands = [PollFd::new(&self.commands, PollFlags::IN)];
        let _ = poll(&mut commands, Some(&REOPENED));
        commands[0].revents().is_empty() || self.handle_command()
    }

    /// Takes what it is told: to look again, or to close. Whether to go on.
    fn handle_command(&mut self) -> bool {
        let commands = self.commands.read(&mut [0; 1]).is_ok_and(|bytes| bytes == 1);
        self.looks += u32::from(commands);
        commands
    }
}
