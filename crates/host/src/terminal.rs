//! Commands that an agent runs through us, each on a terminal of its own.
//!
//! In: a command; questions. Out: its output, live and on demand; its end. Owns: the command, and all that comes
//! from it. Never: waits for who hears the output.
//!
//! The end of the command is the end of all that it started: as on any terminal that is closed.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use acpd_model::Failure;
use acpd_model::limits::{
    TERMINAL_BYTES_MAX, TERMINAL_DRAIN_MILLIS, TERMINAL_KILL_MILLIS, TERMINAL_UPDATE_BYTES,
};
use rustix::process::Signal;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::command::Program;
use crate::exit::{Exit, cannot_start};
use crate::leader::{self, Leader};
use crate::output::{Output, OutputBuffer};
use crate::pty;

/// What to run, and how much of its output to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalSpec {
    /// The command.
    pub program: Program,
    /// Bytes of output kept, from the end; at most [`TERMINAL_BYTES_MAX`].
    pub output_bytes: usize,
}

/// What a terminal tells by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalUpdate {
    /// It wrote something. Who hears this late misses what the terminal no longer keeps.
    Output(String),
    /// The command ended, and all of its output is in.
    Exited {
        /// How.
        exit: Exit,
        /// The last of its output.
        output: String,
        /// Whether earlier output was dropped.
        truncated: bool,
    },
}

/// How far a terminal is.
#[derive(Debug, Clone)]
enum Stage {
    Running,
    /// The command has ended and its output is in.
    Exited(Exit),
    /// Nothing that came from it is left either.
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

/// A running command. When the last clone is dropped, the command and all that came from it is killed.
#[derive(Debug, Clone)]
pub struct Terminal {
    /// Each is a wish that the command ends.
    kills: mpsc::Sender<()>,
    written: Arc<OutputBuffer>,
    stage: watch::Receiver<Stage>,
}

impl Terminal {
    /// Runs the command. What it does goes to `updates`.
    pub fn spawn(spec: &TerminalSpec, updates: mpsc::Sender<TerminalUpdate>) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            let reason = cannot_start(&spec.program, &error);
            Failure::invalid_params(format!("the command failed to start: {reason}"))
        };
        let no_terminal = |error: std::io::Error| {
            Failure::new(
                acpd_model::ErrorCode::Internal,
                format!("no terminal could be opened for the command: {error}"),
            )
        };
        let (master, slave) = pty::open().map_err(no_terminal)?;
        let output = Output::read(master, spec.output_bytes.min(TERMINAL_BYTES_MAX)).map_err(no_terminal)?;
        let mut command = leader::command(&spec.program);
        let leader = Leader::start(&mut command, spec.program.sandbox.as_ref(), |command| {
            pty::attach(command, slave)
        })
        .map_err(failed)?;
        // It has our copies of the command's end; as long as they are open, output has no end.
        drop(command);
        let (kills, killed) = mpsc::channel(1);
        let written = Arc::clone(output.written());
        let (stage, staged) = watch::channel(Stage::Running);
        let publisher = OutputPublisher {
            output,
            sent: 0,
            held: 0,
            end: None,
            updates: Some(updates),
        };
        tokio::spawn(run(leader, publisher, killed, stage));
        Ok(Self {
            kills,
            written,
            stage: staged,
        })
    }

    /// Bytes of output that it keeps at most.
    pub fn output_limit(&self) -> usize {
        self.written.limit()
    }

    /// What it has written so far, whether the beginning was dropped, and how it ended if it has.
    pub fn output(&self) -> (String, bool, Option<Exit>) {
        // First: of a command that has ended it is all.
        let exit = self.stage.borrow().exit();
        let (output, truncated) = self.written.text();
        (output, truncated, exit)
    }

    /// Waits for the command's end and for all of its output. A child of it that holds the terminal open
    /// delays this for [`TERMINAL_DRAIN_MILLIS`] at most.
    pub async fn wait(&self) -> Exit {
        self.reached(|stage| stage.exit().is_some()).await
    }

    /// Tells the command and all that came from it to end: SIGTERM, and SIGKILL to those who are still there
    /// after [`TERMINAL_KILL_MILLIS`]. Does not wait for it; the output stays readable.
    pub async fn kill(&self) {
        // A terminal whose task has ended has no command left.
        let _ = self.kills.send(()).await;
    }

    /// Kills, and waits until nothing is left. Again is fine.
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

/// What was written, and who hears of it.
struct OutputPublisher {
    output: Output,
    /// Bytes that `updates` has heard of. What it has not heard of is in `output` anyway, and merged there.
    sent: u64,
    /// Up to here there was nothing to tell but the first part of a character.
    held: u64,
    /// The last update.
    end: Option<TerminalUpdate>,
    /// `None` when nobody listens any more, or when all is told.
    updates: Option<mpsc::Sender<TerminalUpdate>>,
}

impl OutputPublisher {
    /// Whether there is something to tell.
    fn behind(&self) -> bool {
        let written = self.output.written().bytes();
        self.updates.is_some() && (self.end.is_some() || (self.sent < written && self.held < written))
    }

    /// Waits for something to tell, or tells the next thing as soon as there is room for it. Safe to cancel.
    async fn publish(&mut self) {
        if !self.behind() {
            return self.output.written_to().await;
        }
        let Some(updates) = &self.updates else { return };
        let Ok(room) = updates.reserve().await else {
            self.updates = None;
            return;
        };
        // Before it is looked at, since more is written meanwhile.
        let written = self.output.written().bytes();
        match self.output.written().since(self.sent, TERMINAL_UPDATE_BYTES) {
            Some((text, at)) => {
                self.sent = at;
                room.send(TerminalUpdate::Output(text));
            }
            None => {
                self.held = written;
                if let Some(end) = self.end.take() {
                    room.send(end);
                    self.updates = None;
                }
            }
        }
    }

    /// Puts the end behind all that was written, and tells what there is room for at once.
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

async fn run(
    mut leader: Leader,
    mut publisher: OutputPublisher,
    mut killed: mpsc::Receiver<()>,
    stage: watch::Sender<Stage>,
) {
    let (mut ended, mut terminated) = (false, false);
    let mut deadline = None;
    loop {
        let hung_up = publisher.output.hung_up();
        tokio::select! {
            wish = killed.recv() => match wish {
                Some(()) if terminated || ended => {}
                Some(()) => {
                    terminated = true;
                    leader.terminate();
                    deadline = Some(Instant::now() + Duration::from_millis(TERMINAL_KILL_MILLIS));
                }
                // Nobody has it any more.
                None => {
                    terminated = true;
                    break;
                }
            },
            () = publisher.publish(), if publisher.updates.is_some() => {}
            () = leader.exited(), if !ended => {
                ended = true;
                publisher.output.look_again();
                deadline = Some(Instant::now() + Duration::from_millis(TERMINAL_DRAIN_MILLIS));
            }
            () = hung_up, if ended => break,
            () = sleep_until(deadline) => {
                if ended {
                    break;
                }
                deadline = None;
                leader.signal(Signal::KILL);
            }
        }
    }
    drop(killed);
    finish(leader, publisher, stage, terminated).await;
}

/// The command is gone, or nobody wants it any more.
async fn finish(
    mut leader: Leader,
    mut publisher: OutputPublisher,
    stage: watch::Sender<Stage>,
    terminated: bool,
) {
    let mut known = leader.status().map(Exit::from);
    if known.is_none() {
        // Before the line goes dead, which may end it as well, by another signal.
        leader.signal(Signal::KILL);
    }
    publisher.output.close().await;
    if let Some(exit) = &known {
        // Those who listen hear it before those who wait, if they are not behind.
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

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
