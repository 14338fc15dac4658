//! The agent actor: one process and its connection.

use std::sync::Arc;
use std::time::Duration;

use acpd_host::{Program, StderrTail};
use acpd_model::limits::{AGENT_CALL_BYTES, AGENT_COMMAND_SECS, SMALL_CALL_BYTES};
use acpd_model::{ErrorCode, Failure, ThreadId};
use acpd_proto::agent::{AgentCommand, AgentConnection, AgentEvent, SignInOutput, Start};
use acpd_proto::thread::AgentExit;
use acpd_proto::wire::RpcError;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::agent_clock::AgentClock;
use crate::agent::launcher::{Launched, Launcher};
use crate::agent::leaderless::Leaderless;
use crate::agent::lines::{AgentLines, EndOfLines};
use crate::agent::running::{Process, ProcessSlot};
use crate::agent::stalled::Stalled;
use crate::agent::stdin::Stdin;
use crate::host::budget::{Budget, Charge};
use crate::host::{AgentProcess, AgentStdout};
use crate::metrics::Present;

/// Batches of lines from an agent that may wait for its thread.
const AGENT_BATCHES: usize = 4;
/// Messages that may wait for an agent's stdin.
const AGENT_WRITES: usize = 64;
/// Interval for polling what an agent prints during a sign-in, in milliseconds.
const SIGN_IN_POLL_MILLIS: u64 = 250;

/// A message from an agent to its thread.
#[derive(Debug)]
pub enum AgentMessage {
    /// Events of the agent, in order.
    Events(Vec<AgentEvent>),
    /// The agent's process has ended; no message follows.
    Exited(Box<AgentExit>),
}

/// A command for an agent, with its part of the agent's budget. The part is held until the command is in the agent's pipe.
#[derive(Debug)]
pub(crate) struct ChargedCommand {
    pub command: AgentCommand,
    pub charge: Option<Charge>,
}

/// A thread's connection to its agent. Dropping it stops the process, unless other threads share the process.
#[derive(Debug)]
pub struct AgentHandle {
    // A channel reserves space for 32 messages; boxes keep that small for the many agents that are silent.
    commands: mpsc::Sender<Box<ChargedCommand>>,
    messages: mpsc::Receiver<Box<AgentMessage>>,
    stop: CancellationToken,
    /// The longest time that a command may wait for capacity.
    patience: Duration,
    /// The thread that uses the handle, for the log; `None` before a thread has it.
    pub(crate) thread: Option<ThreadId>,
    /// The process, for the list of running processes.
    pub(crate) process: Arc<Process>,
}

impl Drop for AgentHandle {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The agent's side of a handle.
#[derive(Debug)]
pub(crate) struct AgentSide {
    pub commands: mpsc::Receiver<Box<ChargedCommand>>,
    pub events_tx: mpsc::Sender<Box<AgentMessage>>,
    pub stop: CancellationToken,
}

impl ChargedCommand {
    /// Ensures that a large answer is charged to the budget.
    fn new(command: AgentCommand, charge: Option<Charge>, budget: &Budget) -> Self {
        let AgentCommand::Answer { call, result } = command else {
            return Self { command, charge };
        };
        let bytes = match &result {
            Ok(result) => result.get().len(),
            Err(error) => error.bytes(),
        };
        let charge = match charge {
            Some(mut charge) => {
                charge.shrink(bytes as u64);
                Some(charge)
            }
            None if bytes > SMALL_CALL_BYTES => budget.try_take(bytes as u64),
            None => None,
        };
        let result = if charge.is_none() && bytes > SMALL_CALL_BYTES {
            Err(RpcError::new(
                ErrorCode::Overloaded.rpc(),
                format!(
                    "the answer has {bytes} bytes, which the answers that this agent has not read yet leave no room for \
                     (limit {AGENT_CALL_BYTES} bytes): read them, then ask again"
                ),
            ))
        } else {
            result
        };
        let command = AgentCommand::Answer { call, result };
        Self { command, charge }
    }
}

impl AgentHandle {
    /// Creates a handle for the process, and the agent's side of it.
    pub(crate) fn new(process: Arc<Process>) -> (Self, AgentSide) {
        let (commands, commanded) = mpsc::channel(AGENT_WRITES);
        let (events_tx, messages) = mpsc::channel(AGENT_BATCHES);
        let stop = CancellationToken::new();
        let ends = AgentSide {
            commands: commanded,
            events_tx,
            stop: stop.clone(),
        };
        let handle = Self {
            commands,
            messages,
            stop,
            patience: Duration::from_secs(AGENT_COMMAND_SECS),
            thread: None,
            process,
        };
        (handle, ends)
    }

    /// Returns the agent's next message; `None` after its last one. Cancel safe.
    pub async fn receive(&mut self) -> Option<AgentMessage> {
        self.messages.recv().await.map(|message| *message)
    }

    /// Returns the agent's next message if it is there.
    pub fn try_receive(&mut self) -> Option<AgentMessage> {
        self.messages.try_recv().ok().map(|message| *message)
    }

    /// Sends a command once the process's budget has capacity for it. An agent that has exited receives nothing;
    /// [`AgentMessage::Exited`] reports that to the thread. The thread does nothing else while it waits, so it drops
    /// an agent that reads too slowly.
    ///
    /// A large answer needs a `charge`, or must fit into the agent's budget; otherwise the agent receives an error instead.
    pub async fn send_command(&self, command: AgentCommand, charge: Option<Charge>) {
        let sent = tokio::time::timeout(self.patience, self.queue_command(command, charge)).await;
        if sent.is_err() {
            tracing::warn!(
                thread = self.thread.map(tracing::field::display),
                agent = self.process.agent(),
                secs = self.patience.as_secs(),
                "agent is not reading its stdin; the thread drops it"
            );
            self.stop.cancel();
        }
    }

    async fn queue_command(&self, command: AgentCommand, charge: Option<Charge>) {
        let budget = self.process.budget();
        let charge = match command.bytes() {
            0 => charge,
            bytes => tokio::select! {
                biased;
                charge = budget.take_for_command(bytes as u64) => Some(charge),
                () = self.commands.closed() => return,
            },
        };
        // An agent that has exited receives nothing.
        let _ = self
            .commands
            .send(Box::new(ChargedCommand::new(command, charge, budget)))
            .await;
    }

    /// Stops the process after its grace period, or leaves it to the other threads that share
    /// it. [`AgentMessage::Exited`] follows.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

/// Starts the process and the task that owns it.
pub(crate) fn spawn(
    launcher: &Launcher,
    program: &Program,
    start: Start,
    mut slot: ProcessSlot,
) -> Result<AgentHandle, Failure> {
    let (handle, ends) = AgentHandle::new(slot.process());
    if slot.try_begin() {
        let begun = launch(launcher, program, start, slot)?;
        tokio::spawn(begun.actor.run(begun.process, begun.stdout, ends));
    } else {
        let (launcher, program) = (launcher.clone(), program.clone());
        tokio::spawn(Box::pin(start_in_turn(launcher, program, start, slot, ends)));
    }
    Ok(handle)
}

/// Starts a process when few others of its agent are starting. What hinders the start is the reason of the exit.
async fn start_in_turn(
    launcher: Launcher,
    program: Program,
    start: Start,
    mut slot: ProcessSlot,
    ends: AgentSide,
) {
    let begun = tokio::select! {
        biased;
        () = ends.stop.cancelled() => Err(Failure::agent("it was stopped before its start")),
        () = slot.begin() => launch(&launcher, &program, start, slot),
    };
    match begun {
        Ok(begun) => begun.actor.run(begun.process, begun.stdout, ends).await,
        Err(failure) => {
            let exit = AgentExit {
                reason: failure.message,
                stderr: failure.detail.unwrap_or_default(),
            };
            // The thread may have gone.
            let _ = ends
                .events_tx
                .send(Box::new(AgentMessage::Exited(Box::new(exit))))
                .await;
        }
    }
}

/// A process that was just started, and its actor.
struct Begun {
    actor: Box<Actor>,
    process: Box<dyn AgentProcess>,
    stdout: AgentStdout,
}

/// Starts the process in its slot, and creates its actor.
fn launch(launcher: &Launcher, program: &Program, start: Start, slot: ProcessSlot) -> Result<Begun, Failure> {
    let Launched {
        stdin,
        stdout,
        stderr,
        process,
    } = launcher.launch(program, &slot)?;
    let connection = AgentConnection::new(start, launcher.clock.now());
    // Boxed: a future reserves space twice for values that are moved into it.
    let actor = Box::new(Actor {
        connection,
        lines: AgentLines::new(
            launcher.limits.now().agent_line_bytes,
            slot.process().budget().clone(),
        ),
        clock: AgentClock::new(launcher.clock, slot.process().budget().clone()),
        stdin,
        stderr,
        sign_in: None,
        events: Vec::new(),
        grace: Duration::from_secs(launcher.limits.now().agent_exit_grace_secs),
        _running: launcher.metrics.agent(),
        slot,
    });
    Ok(Begun {
        actor,
        process,
        stdout,
    })
}

/// What an agent prints while a user signs in.
struct SignIn {
    /// When to poll next.
    next_poll: tokio::time::Instant,
    /// The position in stderr up to which it was read.
    seen: u64,
    output: SignInOutput,
}

/// How often to poll it.
const SIGN_IN_POLL: Duration = Duration::from_millis(SIGN_IN_POLL_MILLIS);

struct Actor {
    connection: AgentConnection,
    lines: AgentLines,
    clock: AgentClock,
    stdin: Stdin,
    stderr: StderrTail,
    /// What the agent prints while a user signs in.
    sign_in: Option<Box<SignIn>>,
    /// Events that the thread has not received yet.
    events: Vec<AgentEvent>,
    grace: Duration,
    _running: Present,
    slot: ProcessSlot,
}

/// How long to wait for the rest of stdout after the process has ended.
const SHUTDOWN_FLUSH: Duration = Duration::from_millis(200);

impl Actor {
    async fn run(
        mut self: Box<Self>,
        mut process: Box<dyn AgentProcess>,
        mut stdout: AgentStdout,
        ends: AgentSide,
    ) {
        let AgentSide {
            mut commands,
            events_tx,
            stop,
        } = ends;
        self.collect();
        let mut open = true;
        let mut stalled = None;
        let mut leaderless = Leaderless::new(&mut *process, self.clock.clone());
        while open {
            let deadline = self.connection.poll_timeout().map(|at| self.clock.instant(at));
            let look = self.sign_in.as_ref().map(|sign_in| sign_in.next_poll);
            let deadline = deadline.into_iter().chain(look).min();
            // While the thread is behind, the actor reads nothing more from the agent. This slows the agent down.
            let has_room = self.stdin.has_room();
            let may_read = self.events.is_empty() && has_room;
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = leaderless.silent() => break,
                () = sleep_until(deadline) => {
                    self.connection.handle_timeout(self.clock.now());
                    self.poll_stderr();
                }
                () = self.slot.begin_alone(), if self.connection.sign_in_is_due() => {
                    self.connection.sign_in_again(self.clock.now());
                }
                written = self.stdin.write(), if self.stdin.waits() => if let Err(stall) = written {
                    stalled = Some(stall);
                    if stall != Stalled::Closed {
                        break;
                    }
                    leaderless.give_up();
                },
                command = commands.recv(), if has_room => match command {
                    Some(order) => {
                        let ChargedCommand { command, charge } = *order;
                        self.stdin.charge(charge);
                        self.prepare(&command);
                        self.connection.handle_command(command, self.clock.now());
                    }
                    None => break,
                },
                permit = events_tx.reserve(), if !self.events.is_empty() => match permit {
                    Ok(permit) => permit.send(Box::new(self.batch())),
                    Err(_) => break,
                },
                read = self.lines.read(&mut stdout), if may_read => {
                    open = read.is_ok();
                    if let Err(EndOfLines::Paused) = read {
                        stalled = Some(Stalled::Output);
                    }
                    leaderless.heard();
                    self.decode();
                }
            }
            self.collect();
        }
        drop(leaderless);
        // Avoids a deadlock: the thread must not wait for this actor while the actor waits for the thread.
        drop(commands);
        Box::pin(self.finish(process, stdout, events_tx, open, stalled)).await;
    }

    /// Prepares for what the agent does after a command.
    fn prepare(&mut self, command: &AgentCommand) {
        match command {
            // It may take hours until the user answers.
            AgentCommand::WaitForUser(true) => self.slot.end_start(),
            // The agent has to answer in time, however much it has written.
            AgentCommand::Cancel => self.lines.set_free(true),
            AgentCommand::Prompt { .. } => {
                self.lines.set_free(false);
                self.lines.expect_debt();
            }
            _ => {}
        }
    }

    /// Converts the bytes read so far to events.
    fn decode(&mut self) {
        let now = self.clock.now();
        if self.slot.has_company() {
            self.connection.retry_sign_in();
        }
        while let Some(line) = self.lines.next_line() {
            self.connection.handle_line(&line, now);
        }
    }

    /// Passes on what the agent has printed for a user who signs in.
    fn poll_stderr(&mut self) {
        let Some(sign_in) = &mut self.sign_in else {
            return;
        };
        let now = tokio::time::Instant::now();
        let lines = match self.stderr.since(sign_in.seen) {
            Some((text, seen)) => {
                sign_in.seen = seen;
                sign_in.next_poll = now + SIGN_IN_POLL;
                sign_in.output.push(&text)
            }
            None if now < sign_in.next_poll => return,
            None => {
                sign_in.next_poll = now + SIGN_IN_POLL;
                sign_in.output.pause()
            }
        };
        self.events
            .extend(lines.into_iter().map(AgentEvent::SignInPrinted));
    }

    fn collect(&mut self) {
        if self.connection.is_signing_in() {
            self.sign_in.get_or_insert_with(|| {
                Box::new(SignIn {
                    next_poll: tokio::time::Instant::now() + SIGN_IN_POLL,
                    seen: self.stderr.written(),
                    output: SignInOutput::default(),
                })
            });
        } else if self.sign_in.is_some() {
            self.poll_stderr();
            self.sign_in = None;
        }
        self.stdin.add(self.connection.take_writes());
        let mut events = self.connection.take_events();
        // A start in debt may take long, and keeps no other waiting.
        if self.slot.is_starting() && (events.iter().any(ends_start) || self.lines.is_in_debt()) {
            self.slot.end_start();
        }
        if events.iter().any(AgentEvent::ends_prompt) {
            self.lines.set_free(false);
        }
        if self.lines.begins_debt() {
            log_slowed(&self.slot.process());
            events.push(AgentEvent::Slowed);
        }
        if self.events.is_empty() {
            self.events = events;
        } else {
            self.events.append(&mut events);
        }
    }

    /// Stops the process. Handles its remaining output while `is_reading`.
    async fn finish(
        mut self: Box<Self>,
        process: Box<dyn AgentProcess>,
        mut stdout: AgentStdout,
        events_tx: mpsc::Sender<Box<AgentMessage>>,
        mut is_reading: bool,
        stalled: Option<Stalled>,
    ) {
        self.slot.end_start();
        self.connection
            .handle_command(AgentCommand::Close, self.clock.now());
        self.collect();
        std::mem::take(&mut self.stdin).close(self.grace).await;
        let mut stopped = process.stop(self.grace);
        let ended = loop {
            // It has no time to wait, however much it has written.
            self.lines.set_free(true);
            tokio::select! {
                biased;
                ended = &mut stopped => break ended,
                permit = events_tx.reserve(), if !self.events.is_empty() => match permit {
                    Ok(permit) => permit.send(Box::new(self.batch())),
                    // A thread that has gone needs no events; the process is stopped all the same.
                    Err(_) => {
                        self.events.clear();
                        is_reading = false;
                    }
                },
                read = self.lines.read(&mut stdout), if is_reading && self.events.is_empty() => {
                    is_reading = read.is_ok();
                    self.decode();
                    self.collect();
                }
            }
        };
        if is_reading {
            // Reads what is left in the pipe. No process can write more, except one that cannot be killed.
            let rest = async {
                while self.lines.read_rest(&mut stdout).await {
                    self.decode();
                }
            };
            let _ = tokio::time::timeout(SHUTDOWN_FLUSH, rest).await;
        }
        if let Some(line) = self.lines.finish() {
            self.connection.handle_line(&line, self.clock.now());
        }
        self.collect();
        if !self.events.is_empty() {
            let _ = events_tx.send(Box::new(self.batch())).await;
        }
        let _ = events_tx
            .send(Box::new(AgentMessage::Exited(Box::new(AgentExit {
                reason: stalled.map_or_else(|| ended.reason.clone(), |stalled| stalled.reason(&ended)),
                stderr: ended.stderr,
            }))))
            .await;
    }

    /// Takes the collected events as one message.
    fn batch(&mut self) -> AgentMessage {
        AgentMessage::Events(std::mem::take(&mut self.events))
    }
}

/// Returns whether the process has started, or does not keep starting by itself.
fn ends_start(event: &AgentEvent) -> bool {
    matches!(
        event,
        AgentEvent::Opened(_)
            | AgentEvent::Initialized(_)
            | AgentEvent::SignInRequired(_)
            | AgentEvent::Failed(_)
    )
}

/// Logs that the process is read more slowly.
pub(crate) fn log_slowed(process: &Process) {
    tracing::warn!(
        agent = process.agent(),
        pid = process.pid(),
        "an agent writes more than agent_bytes_per_sec in [limits] allows: the daemon reads it more slowly"
    );
}

pub(crate) async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
