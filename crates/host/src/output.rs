//! Output of a terminal: read by a separate OS thread, and kept from the end.
//!
//! In: a terminal, and what users type. Out: the last output, and notifications of new output and of a wait for input. Owns:
//! the terminal's master and the OS thread that reads and writes it. Never: waits for a consumer, or keeps more than requested.
//!
//! A read without data waits for the kernel worker that fills the terminal, even on a nonblocking descriptor. So does a
//! poll. On a busy host that takes many milliseconds, in which a thread of the runtime could serve no other task.

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::{Notify, oneshot, watch};

use crate::pty::{InputKind, Master};
use crate::tail::Tail;

/// How many times a terminal gets end-of-input characters again because its program waits for input and no user types.
const TERMINAL_INPUT_OFFERS: usize = 3;
/// Size of one read. The system returns no more at once.
const READ_BYTES: usize = 4096;
/// Number of reads after which a busy thread looks for a command.
const READS: usize = 16;
/// Stack of the thread, which has one buffer and no deep calls.
const STACK_BYTES: usize = 64 << 10;

/// Interval for checking whether a closed terminal was opened again.
const REOPENED: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// What the output says when a program has waited for input for long.
const ENDED_INPUT: &str = "the command has been silent and may wait for input; it gets an end of input";

/// A command for the thread: check again whether the other end is open.
const LOOK_AGAIN: u8 = 0;
/// A command for the thread: queue ends of input if no input is left.
const END_INPUT: u8 = 1;
/// A command for the thread: check whether the silent program waits for input.
const CHECK_INPUT: u8 = 2;
/// A command for the thread: queue what a user typed.
const TYPE_IN: u8 = 3;

/// What a user typed, and the channel for the outcome.
#[derive(Debug)]
pub(crate) struct Typed {
    pub bytes: Vec<u8>,
    pub done: oneshot::Sender<io::Result<()>>,
}

/// A change of a terminal's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputChange {
    /// The program waits for input.
    Waiting(InputKind),
    /// The waiting program got an end of input.
    Ended,
}

/// State of the reading thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// More output may arrive.
    Reading,
    /// The other end had no open descriptor after this many requests to check again.
    HungUp(u32),
    /// The master is closed.
    Closed,
}

/// The last output of a terminal, for any reader.
#[derive(Debug)]
pub(crate) struct OutputBuffer {
    kept: Mutex<RetainedOutput>,
    news: Notify,
    stage: watch::Sender<Stage>,
}

#[derive(Debug)]
struct RetainedOutput {
    tail: Tail,
    /// Whether further output is discarded.
    over: bool,
    /// Whether the program waits for input: it was silent, and has written nothing since.
    waits: bool,
    /// A change of the input that was not taken yet.
    input: Option<InputChange>,
    /// What users typed and the thread has not queued yet.
    typed: VecDeque<Typed>,
}

impl OutputBuffer {
    fn kept(&self) -> MutexGuard<'_, RetainedOutput> {
        // The tail is consistent between any two calls.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line of acpd's own, also to output that is complete.
    pub fn note(&self, text: &str) {
        let mut kept = self.kept();
        let so_far = kept.tail.text(true).0;
        let begin = if so_far.is_empty() || so_far.ends_with('\n') {
            ""
        } else {
            "\r\n"
        };
        kept.tail.push(format!("{begin}[acpd: {text}]\r\n").as_bytes());
        drop(kept);
        self.news.notify_one();
    }

    /// Returns whether the program waits for input.
    pub fn waits(&self) -> bool {
        self.kept().waits
    }

    /// Returns whether the input has changed.
    pub fn has_input_change(&self) -> bool {
        self.kept().input.is_some()
    }

    /// Takes the last change of the input.
    pub fn take_input_change(&self) -> Option<InputChange> {
        self.kept().input.take()
    }

    /// Drops what the thread will never queue, which reports that.
    fn refuse_typed(&self) {
        self.kept().typed.clear();
    }

    fn notify_input(&self, change: InputChange) {
        let mut kept = self.kept();
        kept.waits = matches!(change, InputChange::Waiting(_));
        kept.input = Some(change);
        drop(kept);
        self.news.notify_one();
    }

    /// Returns the number of bytes ever written.
    pub fn bytes(&self) -> u64 {
        self.kept().tail.written()
    }

    /// Returns [`Tail::limit`].
    pub fn limit(&self) -> usize {
        self.kept().tail.limit()
    }

    /// Returns [`Tail::text`].
    pub fn text(&self) -> (String, bool) {
        let kept = self.kept();
        kept.tail.text(kept.over)
    }

    /// Returns [`Tail::since`].
    pub fn since(&self, from: u64, most: usize) -> Option<(String, u64)> {
        let kept = self.kept();
        kept.tail.since(from, most, kept.over)
    }
}

/// The reading side of a terminal. After a drop, the thread closes the master as soon as it notices.
#[derive(Debug)]
pub(crate) struct Output {
    written: Arc<OutputBuffer>,
    /// A byte makes the thread check again. End of file makes it close the master.
    to_thread: Option<PipeWriter>,
    /// Number of bytes sent to the thread.
    looks: u32,
}

impl Output {
    /// Starts reading the terminal. Keeps up to `limit` bytes.
    pub fn read(master: Master, limit: usize) -> io::Result<Self> {
        let (commands, to_thread) = io::pipe()?;
        let written = Arc::new(OutputBuffer {
            kept: Mutex::new(RetainedOutput {
                tail: Tail::new(limit),
                over: false,
                waits: false,
                input: None,
                typed: VecDeque::new(),
            }),
            news: Notify::new(),
            stage: watch::Sender::new(Stage::Reading),
        });
        let reader = Reader {
            master,
            commands,
            looks: 0,
            offers: 0,
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

    /// Returns the output so far.
    pub fn written(&self) -> &Arc<OutputBuffer> {
        &self.written
    }

    /// Waits for new output. Returns immediately if there was any since the last call. Safe to cancel.
    pub async fn written_to(&self) {
        self.written.news.notified().await;
    }

    /// Waits until no process has the other end open. Safe to cancel.
    pub fn hung_up(&self) -> impl Future<Output = ()> + use<> {
        let looks = self.looks;
        self.reached(move |stage| *stage == Stage::HungUp(looks) || *stage == Stage::Closed)
    }

    /// Makes the thread check again whether a process has opened the other end.
    pub fn look_again(&mut self) {
        self.looks += u32::from(self.to_thread.is_some());
        self.tell(LOOK_AGAIN);
    }

    /// Makes the thread check whether the silent program waits for input.
    pub fn check_input(&mut self) {
        self.tell(CHECK_INPUT);
    }

    /// Makes the thread queue ends of input if a waiting program has none left, and say so in the output.
    pub fn offer_end_of_input(&mut self) {
        self.tell(END_INPUT);
    }

    /// Makes the thread queue what a user typed.
    pub fn type_in(&mut self, typed: Typed) {
        self.written.kept().typed.push_back(typed);
        self.tell(TYPE_IN);
        if *self.written.stage.borrow() == Stage::Closed {
            self.written.refuse_typed();
        }
    }

    fn tell(&mut self, command: u8) {
        if let Some(to_thread) = &mut self.to_thread {
            // If the thread is gone, it has closed the master and reported it.
            drop(to_thread.write_all(&[command]));
        }
    }

    /// Closes the master, which hangs up on every process with the other end. Later output is not kept.
    pub async fn close(&mut self) {
        self.written.kept().over = true;
        self.to_thread = None;
        self.reached(|stage| *stage == Stage::Closed).await;
    }

    fn reached<F: FnMut(&Stage) -> bool>(&self, wanted: F) -> impl Future<Output = ()> + use<F> {
        let mut stage = self.written.stage.subscribe();
        // This value holds the sender, so the future is not polled after the sender is dropped.
        async move { drop(stage.wait_for(wanted).await) }
    }
}

/// The thread's side. The order of the fields ensures that the master is closed before that is reported.
struct Reader {
    master: Master,
    commands: PipeReader,
    /// Bytes read from `commands`.
    looks: u32,
    /// How many times further ends of input were queued.
    offers: usize,
    written: Arc<OutputBuffer>,
    _closed: Closed,
}

/// Reports on drop, for any reason, that the master is closed.
struct Closed(Arc<OutputBuffer>);

impl Drop for Closed {
    fn drop(&mut self) {
        self.0.stage.send_replace(Stage::Closed);
        self.0.refuse_typed();
    }
}

impl Reader {
    fn run(mut self) {
        let mut buffer = [0; READ_BYTES];
        let mut reads = 0_usize;
        loop {
            // A program that writes without end can be interrupted, too.
            reads += 1;
            if reads.is_multiple_of(READS) && !self.handle_pending_command() {
                break;
            }
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
                    kept.waits = false;
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

    /// Handles a command if there is one. Returns whether to continue.
    fn handle_pending_command(&mut self) -> bool {
        let mut commands = [PollFd::new(&self.commands, PollFlags::IN)];
        let _ = poll(&mut commands, Some(&Timespec::default()));
        commands[0].revents().is_empty() || self.handle_command()
    }

    /// Waits for output or a command. Returns whether to continue.
    fn wait(&mut self) -> bool {
        let mut both = [
            PollFd::new(&self.commands, PollFlags::IN),
            PollFd::new(&self.master, PollFlags::IN),
        ];
        // After an interruption, or a temporary lack of memory, the next read shows the state.
        let _ = poll(&mut both, None);
        both[0].revents().is_empty() || self.handle_command()
    }

    /// Waits while no process has the other end open, since the command may open it again. Returns whether to continue.
    fn rest(&mut self) -> bool {
        let mut commands = [PollFd::new(&self.commands, PollFlags::IN)];
        let _ = poll(&mut commands, Some(&REOPENED));
        commands[0].revents().is_empty() || self.handle_command()
    }

    /// Handles a command, or closes at the end of commands. Returns whether to continue.
    fn handle_command(&mut self) -> bool {
        let mut command = [LOOK_AGAIN];
        if !self.commands.read(&mut command).is_ok_and(|bytes| bytes == 1) {
            return false;
        }
        match command {
            // A terminal that cannot be opened has no program that waits.
            [CHECK_INPUT] => {
                let used_up = self.master.used_up_input().unwrap_or(None);
                if let Some(kind) = used_up.filter(|_| !self.written.waits()) {
                    self.written.notify_input(InputChange::Waiting(kind));
                }
            }
            [END_INPUT] => {
                if self.offers < TERMINAL_INPUT_OFFERS && self.master.end_input_again().unwrap_or(false) {
                    self.offers += 1;
                    self.written.notify_input(InputChange::Ended);
                    self.written.note(ENDED_INPUT);
                }
            }
            [TYPE_IN] => {
                let mut kept = self.written.kept();
                kept.waits = false;
                let typed = kept.typed.pop_front();
                drop(kept);
                if let Some(Typed { bytes, done }) = typed {
                    // The user may not wait for the outcome any more.
                    let _ = done.send(self.master.type_in(&bytes));
                }
            }
            _ => self.looks += 1,
        }
        true
    }
}
