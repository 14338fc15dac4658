//! Commands that an agent runs through the daemon, each on a terminal of its own.
//!
//! In: a command; requests; what users type. Out: its output, live and on demand; when it waits for input; its exit. Owns: the command and its descendants.
//! Never: waits for a consumer of the output.
//!
//! When the command ends, its descendants may write for a moment. Then they are ended, and the output says so.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use acpd_model::limits::TERMINAL_BYTES_MAX;
use acpd_model::{ErrorCode, Failure};
use rustix::process::Signal;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::command::Program;
use crate::descriptors::check_descriptors;
use crate::exit::{Exit, cannot_start};
use crate::leader::{self, Leader};
use crate::output::{InputChange, Output, OutputBuffer, Typed};
use crate::pty::{self, InputKind};
use crate::walk::Walk;

/// Bytes of a terminal's output that one update contains at most.
const TERMINAL_UPDATE_BYTES: usize = 16 << 10;
/// Milliseconds between SIGTERM and SIGKILL for a terminal's command.
const TERMINAL_KILL_MILLIS: u64 = 2_000;
/// Milliseconds that a child of an ended command may hold the terminal's output open after its last output.
const TERMINAL_DRAIN_MILLIS: u64 = 500;
/// Milliseconds that children of an ended command may write to its terminal in all.
const TERMINAL_DRAIN_MAX_MILLIS: u64 = 5_000;
/// Milliseconds of silence after which a command that has used up its input counts as waiting for input.
const TERMINAL_SILENCE_MILLIS: u64 = 10_000;
/// How many times as long a waiting command is silent until it gets an end of input again. In this time, a user can type.
const TERMINAL_PATIENCE: u32 = 6;
/// The same once a user has typed into the terminal.
const TERMINAL_PATIENCE_TYPED: u32 = 60;

/// The command of a terminal, and how much of its output to keep.
#[derive(Debug, Clone)]
pub struct TerminalSpec {
    /// The command to run.
    pub program: Program,
    /// The directory in which it starts, if that was checked: whatever the program's `cwd` leads to by then.
    pub directory: Option<Arc<Walk>>,
    /// Bytes of output kept, from the end; at most [`TERMINAL_BYTES_MAX`].
    pub output_bytes: usize,
}

/// An update that a terminal sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalUpdate {
    /// New output. A slow receiver misses output that the terminal no longer keeps.
    Output(String),
    /// The silent command waits for input. This is over with its next output or input.
    Waiting(InputKind),
    /// Nothing was typed for long, and the waiting command got an end of input.
    InputEnded,
    /// The command ended, and all of its output has been read.
    Exited {
        /// How the command ended.
        exit: Exit,
        /// The last part of its output.
        output: String,
        /// Whether earlier output was dropped.
        truncated: bool,
    },
}

/// Progress of a terminal.
#[derive(Debug, Clone)]
enum Stage {
    Running,
    /// The command has ended, and its output has been read.
    Exited(Exit),
    /// None of its descendants is left either.
    Swept(Exit),
}

impl Stage {
    fn exit(&self) -> Option<Exit> {
        match self {
            Self::Running => None,
            Self::Exited(exit) | Self::Swept(exit) => Some(exit.clone()),
        }
    }
}

/// A request to a running command.
#[derive(Debug)]
enum ControlRequest {
    /// Ends the command.
    Kill,
    /// Passes on what a user typed.
    TypeIn(Typed),
}

/// A running command. Dropping the last clone kills the command and its descendants.
#[derive(Debug, Clone)]
pub struct Terminal {
    requests: mpsc::Sender<ControlRequest>,
    written: Arc<OutputBuffer>,
    stage: watch::Receiver<Stage>,
}

impl Terminal {
    /// Starts the command and sends its updates to `updates`.
    pub fn spawn(spec: &TerminalSpec, updates: mpsc::Sender<TerminalUpdate>) -> Result<Self, Failure> {
        check_descriptors().map_err(|error| {
            let reason = format!("the command cannot be started: {error}");
            Failure::new(ErrorCode::Overloaded, reason)
        })?;
        let failed = |error: std::io::Error| {
            let reason = cannot_start(&spec.program, &error);
            Failure::invalid_params(format!("the command failed to start: {reason}"))
        };
        let no_terminal = |error: std::io::Error| {
            Failure::new(
                ErrorCode::Internal,
                format!("no terminal could be opened for the command: {error}"),
            )
        };
        let (master, slave) = pty::open().map_err(no_terminal)?;
        let output = Output::read(master, spec.output_bytes.min(TERMINAL_BYTES_MAX)).map_err(no_terminal)?;
        let mut command = leader::command(&spec.program);
        let leader = Leader::start(&mut command, spec.program.sandbox.as_ref(), |command| {
            pty::attach(command, slave)?;
            if let Some(directory) = spec.directory.clone() {
                leader::start_in(command, directory);
            }
            Ok(())
        })
        .map_err(failed)?;
        // The command has our copies of its terminal end. While they are open, the output does not end.
        drop(command);
        let (requests, requested) = mpsc::channel(1);
        let written = Arc::clone(output.written());
        let (stage, staged) = watch::channel(Stage::Running);
        let publisher = OutputPublisher {
            output,
            sent: 0,
            held: 0,
            input: None,
            end: None,
            updates: Some(updates),
        };
        tokio::spawn(run(leader, publisher, requested, stage));
        Ok(Self {
            requests,
            written,
            stage: staged,
        })
    }

    /// Returns the maximum number of output bytes that the terminal keeps.
    pub fn output_limit(&self) -> usize {
        self.written.limit()
    }

    /// Returns the output so far, whether its beginning was dropped, and the exit status if the command has ended.
    pub fn output(&self) -> (String, bool, Option<Exit>) {
        // Read the exit status first, so that the output of an ended command is complete.
        let exit = self.stage.borrow().exit();
        let (output, truncated) = self.written.text();
        (output, truncated, exit)
    }

    /// Waits for the command's end and all of its output. A child that holds the terminal open delays this for
    /// [`TERMINAL_DRAIN_MILLIS`] after its last output, and for at most [`TERMINAL_DRAIN_MAX_MILLIS`].
    pub async fn wait(&self) -> Exit {
        self.reached(|stage| stage.exit().is_some()).await
    }

    /// Sends SIGTERM to the command and its descendants, and SIGKILL to those that remain after
    /// [`TERMINAL_KILL_MILLIS`]. Does not wait. The output stays readable.
    pub async fn kill(&self) {
        // A terminal whose task has ended has no command left.
        let _ = self.requests.send(ControlRequest::Kill).await;
    }

    /// Types into the terminal, as a user with a keyboard. A line ends with `\n` or `\r`, `\x04` ends the input, and `\x03`
    /// interrupts the command.
    pub async fn type_in(&self, text: String) -> Result<(), Failure> {
        let (done, queued) = oneshot::channel();
        let typed = Typed {
            bytes: text.into_bytes(),
            done,
        };
        let ended = || Failure::new(ErrorCode::Conflict, "the command has ended");
        let sent = self.requests.send(ControlRequest::TypeIn(typed)).await;
        sent.map_err(|_| ended())?;
        queued.await.map_err(|_| ended())?.map_err(|error| {
            let reason = match error.kind() {
                std::io::ErrorKind::WouldBlock => {
                    "the command does not read its input, and no more fits: only a part arrived".to_owned()
                }
                _ => format!("the terminal does not accept input: {error}"),
            };
            Failure::new(ErrorCode::Overloaded, reason)
        })
    }

    /// Kills the command, and waits until no descendant is left. May be called again.
    pub async fn release(&self) {
        self.kill().await;
        self.reached(|stage| matches!(stage, Stage::Swept(_))).await;
    }

    async fn reached(&self, wanted: impl FnMut(&Stage) -> bool) -> Exit {
        let mut stage = self.stage.clone();
        match stage.wait_for(wanted).await {
            Ok(stage) => stage.exit().unwrap_or_default(),
            Err(_) => Exit::default(),
        }
    }
}

/// The output of a terminal, and the receiver of its updates.
struct OutputPublisher {
    output: Output,
    /// Number of bytes sent to `updates`. The rest remains in `output` and is merged there.
    sent: u64,
    /// Position up to which only an incomplete character was left to send.
    held: u64,
    /// A change of the input after the output so far.
    input: Option<InputChange>,
    /// The last update.
    end: Option<TerminalUpdate>,
    /// `None` if the receiver is gone, or if everything was sent.
    updates: Option<mpsc::Sender<TerminalUpdate>>,
}

impl OutputPublisher {
    /// Returns whether an update is pending.
    fn behind(&self) -> bool {
        let written = self.output.written().bytes();
        let changed = self.input.is_some() || self.end.is_some() || self.output.written().has_input_change();
        self.updates.is_some() && (changed || (self.sent < written && self.held < written))
    }

    /// Waits until an update is pending, or sends the next one as soon as there is room. Safe to cancel.
    async fn publish(&mut self) {
        if !self.behind() {
            return self.output.written_to().await;
        }
        let Some(updates) = &self.updates else { return };
        let Ok(room) = updates.reserve().await else {
            self.updates = None;
            return;
        };
        // Read the change and the count first, since more output may arrive meanwhile.
        let change = self.output.written().take_input_change();
        self.input = change.or(self.input);
        let written = self.output.written().bytes();
        match self.output.written().since(self.sent, TERMINAL_UPDATE_BYTES) {
            Some((text, at)) => {
                self.sent = at;
                room.send(TerminalUpdate::Output(text));
            }
            None => {
                self.held = written;
                if let Some(change) = self.input.take() {
                    match change {
                        InputChange::Ended => room.send(TerminalUpdate::InputEnded),
                        InputChange::Waiting(kind) if self.output.written().waits() => {
                            room.send(TerminalUpdate::Waiting(kind));
                        }
                        // It has gone on meanwhile.
                        InputChange::Waiting(_) => {}
                    }
                } else if let Some(end) = self.end.take() {
                    room.send(end);
                    self.updates = None;
                }
            }
        }
    }

    /// Queues the final update after all output, and sends as much as there is room for.
    fn publish_end(&mut self, exit: &Exit) {
        let (output, truncated) = self.output.written().text();
        self.end = Some(TerminalUpdate::Exited {
            exit: exit.clone(),
            output,
            truncated,
        });
        while self.behind() {
            let terminated = std::pin::pin!(self.publish()).poll(&mut Context::from_waker(Waker::noop()));
            if terminated.is_pending() {
                return;
            }
        }
    }
}

/// When a terminal does something by itself.
struct Timers {
    /// When the command is killed.
    kill: Option<Instant>,
    /// When the output of an ended command counts as complete.
    drained: Option<Instant>,
    /// The latest such time.
    drained_at_last: Instant,
    /// When the command has been silent for long enough to look at its input.
    silent: Instant,
    /// How many times the command was found to wait for input since its last output or input.
    waited: u32,
    /// How many times until it gets an end of input.
    patience: u32,
    /// Bytes of output at the last change of `silent` or `drained`.
    seen: u64,
}

impl Timers {
    fn start() -> Self {
        let now = Instant::now();
        Self {
            kill: None,
            drained: None,
            drained_at_last: now,
            silent: now + SILENCE,
            waited: 0,
            patience: TERMINAL_PATIENCE,
            seen: 0,
        }
    }

    /// Output or input has arrived.
    fn reset_silence(&mut self, now: Instant) {
        self.silent = now + SILENCE;
        self.waited = 0;
    }

    /// The command has ended, after so many bytes of output. Its descendants may still write, after a kill only for a moment.
    fn ended(&mut self, bytes: u64, terminated: bool) {
        let now = Instant::now();
        self.seen = bytes;
        self.drained = Some(now + DRAIN);
        self.drained_at_last = if terminated {
            now + DRAIN
        } else {
            now + Duration::from_millis(TERMINAL_DRAIN_MAX_MILLIS)
        };
    }

    /// Waits no longer for descendants of an ended command.
    fn end_drain(&mut self) {
        self.drained_at_last = Instant::now();
        self.drained = Some(self.drained_at_last);
    }

    /// Waits longer if there was output since the last call.
    fn wrote(&mut self, bytes: u64) {
        if std::mem::replace(&mut self.seen, bytes) == bytes {
            return;
        }
        let now = Instant::now();
        self.reset_silence(now);
        self.drained = self.drained.map(|_| (now + DRAIN).min(self.drained_at_last));
    }

    /// Returns when to look again.
    fn next(&self) -> Instant {
        let due = self.drained.unwrap_or(self.silent);
        self.kill.map_or(due, |kill| kill.min(due))
    }
}

const DRAIN: Duration = Duration::from_millis(TERMINAL_DRAIN_MILLIS);
const SILENCE: Duration = Duration::from_millis(TERMINAL_SILENCE_MILLIS);

async fn run(
    mut leader: Leader,
    mut publisher: OutputPublisher,
    mut requests: mpsc::Receiver<ControlRequest>,
    stage: watch::Sender<Stage>,
) {
    let (mut ended, mut terminated) = (false, false);
    let mut timers = Timers::start();
    loop {
        let hung_up = publisher.output.hung_up();
        tokio::select! {
            request = requests.recv() => match request {
                Some(ControlRequest::TypeIn(typed)) => {
                    timers.reset_silence(Instant::now());
                    // A user is there, and a silent program may be working.
                    timers.patience = TERMINAL_PATIENCE_TYPED;
                    publisher.output.type_in(typed);
                }
                Some(ControlRequest::Kill) if terminated => {}
                Some(ControlRequest::Kill) if ended => timers.end_drain(),
                Some(ControlRequest::Kill) => {
                    terminated = true;
                    leader.terminate();
                    timers.kill = Some(Instant::now() + Duration::from_millis(TERMINAL_KILL_MILLIS));
                }
                // All handles were dropped.
                None => {
                    terminated = true;
                    break;
                }
            },
            () = publisher.publish(), if publisher.updates.is_some() => {
                timers.wrote(publisher.output.written().bytes());
            }
            () = leader.exited(), if !ended => {
                ended = true;
                publisher.output.look_again();
                timers.ended(publisher.output.written().bytes(), terminated);
            }
            () = hung_up, if ended => break,
            () = tokio::time::sleep_until(timers.next()) => {
                timers.wrote(publisher.output.written().bytes());
                let now = Instant::now();
                if timers.drained.is_some_and(|due| due <= now) {
                    break;
                }
                if timers.kill.is_some_and(|due| due <= now) {
                    timers.kill = None;
                    leader.signal(Signal::KILL);
                }
                if timers.silent <= now {
                    timers.silent = now + SILENCE;
                    look_at_input(&mut publisher.output, &mut timers);
                }
            }
        }
    }
    drop(requests);
    finish(leader, publisher, stage, terminated).await;
}

/// Finds out whether a silent command waits for input, and ends its input once it has waited for long.
fn look_at_input(output: &mut Output, timers: &mut Timers) {
    if !output.written().waits() {
        timers.waited = 0;
        return output.check_input();
    }
    timers.waited += 1;
    if timers.waited >= timers.patience {
        timers.waited = 0;
        output.offer_end_of_input();
    }
}

/// Ends a terminal whose command has ended, or that has no handles left.
async fn finish(
    mut leader: Leader,
    mut publisher: OutputPublisher,
    stage: watch::Sender<Stage>,
    terminated: bool,
) {
    let mut known = leader.status().map(Exit::from);
    if known.is_none() {
        // Kill before the hangup, which could end the command too, with another signal.
        leader.signal(Signal::KILL);
    }
    publisher.output.close().await;
    if let Some(exit) = &known {
        if !terminated {
            note_ended(&leader, &publisher).await;
        }
        // Receivers of updates get the end before those that wait for the exit, unless they are behind.
        publisher.publish_end(exit);
        stage.send_replace(Stage::Exited(exit.clone()));
    }
    let mut sweep = std::pin::pin!(leader.end(terminated));
    let mut swept = false;
    while !swept || publisher.behind() {
        tokio::select! {
            () = publisher.publish(), if publisher.behind() => {}
            ending = &mut sweep, if !swept => {
                swept = true;
                let exit = known.take().unwrap_or_else(|| {
                    let exit = ending.status.map(Exit::from).unwrap_or_default();
                    publisher.publish_end(&exit);
                    exit
                });
                stage.send_replace(Stage::Swept(exit));
            }
        }
    }
}

/// Says in the output how many processes the command has left, which are about to be ended.
async fn note_ended(leader: &Leader, publisher: &OutputPublisher) {
    let processes = match leader.descendants().await {
        0 => return,
        1 => "1 process".to_owned(),
        count => format!("{count} processes"),
    };
    publisher.output.written().note(&format!(
        "ended with {processes} that the command left running; a server keeps running in the foreground of a terminal that is not \
         released"
    ));
}
