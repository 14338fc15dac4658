//! The agent actor: one process and its connection.

use std::path::PathBuf;
use std::time::Duration;

use acpd_host::{AgentProcess, Environment, Program};
use acpd_model::Failure;
use acpd_model::limits::{AGENT_BATCHES, AGENT_OUTBOX_BYTES, AGENT_WRITES};
use acpd_proto::agent::{AgentCommand, AgentConnection, AgentEvent, Start};
use acpd_proto::thread::Gone;
use acpd_proto::wire::LineDecoder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::config::AgentConfig;
use crate::metrics::Present;
use crate::thread::Surroundings;

/// What an agent's thread hears.
#[derive(Debug)]
pub enum FromAgent {
    /// What it did, in order.
    Events(Vec<AgentEvent>),
    /// It is gone; nothing follows.
    Gone(Box<Gone>),
}

/// An agent that a thread talks to. Dropping it ends the process, unless others share that.
#[derive(Debug)]
pub struct AgentHandle {
    // A channel keeps room for 32 messages; boxes make that little for the many agents that are silent.
    commands: mpsc::Sender<Box<AgentCommand>>,
    /// What it does.
    pub events: mpsc::Receiver<FromAgent>,
    stop: CancellationToken,
}

impl Drop for AgentHandle {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The agent's side of a handle.
#[derive(Debug)]
pub(crate) struct Ends {
    pub commands: mpsc::Receiver<Box<AgentCommand>>,
    pub told: mpsc::Sender<FromAgent>,
    pub stop: CancellationToken,
}

impl AgentHandle {
    /// A handle and its other side.
    pub(crate) fn new() -> (Self, Ends) {
        let (commands, commanded) = mpsc::channel(AGENT_WRITES);
        let (told, events) = mpsc::channel(AGENT_BATCHES);
        let stop = CancellationToken::new();
        let ends = Ends {
            commands: commanded,
            told,
            stop: stop.clone(),
        };
        let handle = Self {
            commands,
            events,
            stop,
        };
        (handle, ends)
    }

    /// Tells the agent. One that is gone hears nothing; its thread learns of that by [`FromAgent::Gone`].
    pub async fn tell(&self, command: AgentCommand) {
        let _ = self.commands.send(Box::new(command)).await;
    }

    /// Ends the process, with its grace, or leaves it to the other threads that share it; [`FromAgent::Gone`] follows.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

/// A session for a thread: in a process of its own, or in one that it shares.
pub(crate) async fn start(
    around: &Surroundings,
    name: &str,
    config: &AgentConfig,
    start: Start,
) -> Result<AgentHandle, Failure> {
    if config.share {
        // Boxed, so that the threads that share nothing have no room for it.
        return Box::pin(around.shared.join(name, config, start)).await;
    }
    spawn(config, start, around)
}

/// Starts the process and the task that owns it.
fn spawn(config: &AgentConfig, start: Start, around: &Surroundings) -> Result<AgentHandle, Failure> {
    let (limits, clock) = (&around.limits, around.clock);
    let program = Program {
        command: config.command.clone(),
        args: config.args.clone(),
        env: Environment::build(std::env::vars(), &config.pass_env, &config.env),
        cwd: PathBuf::from(&start.cwd),
    };
    let mut process = AgentProcess::spawn(&program)?;
    let (handle, ends) = AgentHandle::new();
    let stdin = process.stdin.take();
    let actor = Actor {
        connection: AgentConnection::new(start, clock.now()),
        decoder: LineDecoder::new(limits.agent_line_bytes),
        clock,
        outbox: Vec::new(),
        events: Vec::new(),
        grace: Duration::from_secs(limits.agent_exit_grace_secs),
        _running: around.metrics.agent(),
    };
    tokio::spawn(actor.run(process, stdin, ends));
    Ok(handle)
}

struct Actor {
    connection: AgentConnection,
    decoder: LineDecoder,
    clock: Clock,
    /// Bytes for the agent's stdin that the pipe has not taken yet.
    outbox: Vec<u8>,
    /// What the thread has not taken yet.
    events: Vec<AgentEvent>,
    grace: Duration,
    _running: Present,
}

/// How long a reader keeps its buffer while the agent is silent.
const QUIET: Duration = Duration::from_secs(1);

impl Actor {
    async fn run(mut self, mut process: AgentProcess, mut stdin: Option<ChildStdin>, ends: Ends) {
        let Ends {
            mut commands,
            told,
            stop,
        } = ends;
        self.collect();
        let mut open = true;
        while open {
            let deadline = self.connection.poll_timeout().map(|at| self.clock.instant(at));
            // While the thread is behind, nothing more is read from the agent; that is what slows it down.
            let may_read = self.events.is_empty() && self.outbox.len() < AGENT_OUTBOX_BYTES;
            tokio::select! {
                () = stop.cancelled() => break,
                read = read(&mut self.decoder, &mut process.stdout), if may_read => {
                    open = matches!(read, Ok(1..));
                    self.decode();
                }
                permit = told.reserve(), if !self.events.is_empty() => match permit {
                    Ok(permit) => permit.send(FromAgent::Events(std::mem::take(&mut self.events))),
                    Err(_) => break,
                },
                written = write(stdin.as_mut(), &self.outbox), if !self.outbox.is_empty() => match written {
                    Ok(bytes) => drop(self.outbox.drain(..bytes)),
                    // The agent reads no more; it is on its way out, and what it still says is wanted.
                    Err(_) => {
                        self.outbox.clear();
                        stdin = None;
                    }
                },
                command = commands.recv() => match command {
                    Some(command) => self.connection.handle_command(*command, self.clock.now()),
                    None => break,
                },
                () = sleep_until(deadline) => self.connection.handle_timeout(self.clock.now()),
            }
            self.collect();
        }
        // The thread must not wait for us while we wait for it.
        drop(commands);
        self.finish(process, stdin, told).await;
    }

    /// Turns what was read into events.
    fn decode(&mut self) {
        let now = self.clock.now();
        while let Some(line) = self.decoder.next_line() {
            self.connection.handle_line(&line, now);
        }
    }

    fn collect(&mut self) {
        self.outbox.append(&mut self.connection.take_writes());
        let mut events = self.connection.take_events();
        if self.events.is_empty() {
            self.events = events;
        } else {
            self.events.append(&mut events);
        }
    }

    async fn finish(
        mut self,
        process: AgentProcess,
        stdin: Option<ChildStdin>,
        told: mpsc::Sender<FromAgent>,
    ) {
        let now = self.clock.now();
        if let Some(line) = self.decoder.finish() {
            self.connection.handle_line(&line, now);
        }
        self.connection.handle_command(AgentCommand::Close, now);
        self.collect();
        // Best effort: one that takes nothing any more is ended by its signals.
        if let Some(mut stdin) = stdin {
            let _ = tokio::time::timeout(self.grace, stdin.write_all(&self.outbox)).await;
        }
        if !self.events.is_empty() {
            // A thread that is gone needs no news; the process is ended all the same.
            let _ = told
                .send(FromAgent::Events(std::mem::take(&mut self.events)))
                .await;
        }
        let ended = process.stop(self.grace).await;
        let _ = told
            .send(FromAgent::Gone(Box::new(Gone {
                reason: ended.reason,
                stderr: ended.stderr,
            })))
            .await;
    }
}

/// Reads once. An agent that is silent for a while costs no buffer.
pub(crate) async fn read(decoder: &mut LineDecoder, stdout: &mut ChildStdout) -> std::io::Result<usize> {
    let first = tokio::time::timeout(QUIET, stdout.read_buf(decoder.buffer())).await;
    match first {
        Ok(read) => read,
        Err(_) => {
            decoder.shrink();
            // A small read: the next one has the whole buffer again.
            let mut one = [0; 256];
            let read = stdout.read(&mut one).await?;
            decoder.push(&one[..read]);
            Ok(read)
        }
    }
}

pub(crate) async fn write(stdin: Option<&mut ChildStdin>, bytes: &[u8]) -> std::io::Result<usize> {
    match stdin {
        Some(stdin) => stdin.write(bytes).await,
        None => Ok(bytes.len()),
    }
}

pub(crate) async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
