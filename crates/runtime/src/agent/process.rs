//! The agent actor: one process and its connection.

use std::sync::Arc;
use std::time::Duration;

use acpd_host::{Program, StderrTail};
use acpd_model::limits::{
    AGENT_BATCHES, AGENT_CALL_BYTES, AGENT_COMMAND_SECS, AGENT_WRITES, SIGN_IN_POLL_MILLIS, SMALL_CALL_BYTES,
};
use acpd_model::{ErrorCode, Failure, ThreadId};
use acpd_proto::agent::{AgentCommand, AgentConnection, AgentEvent, SignInOutput, Start};
use acpd_proto::thread::AgentExit;
use acpd_proto::wire::RpcError;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::launcher::{Launched, Launcher};
use crate::agent::leaderless::Leaderless;
use crate::agent::lines::{AgentLines, EndOfLines};
use crate::agent::running::{Process, ProcessSlot};
use crate::agent::stalled::Stalled;
use crate::agent::stdin::Stdin;
use crate::clock::Clock;
use crate::host::budget::{Budget, Charge};
use crate::host::{AgentProcess, AgentStdout};
use crate::metrics::Present;

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
pub(crate) struct Order {
    pub command: AgentCommand,
    pub charge: Option<Charge>,
}

/// A thread's connection to its agent. Dropping it stops the process, unless other threads share the process.
#[derive(Debug)]
pub struct AgentHandle {
    // A channel reserves space for 32 messages; boxes keep that small for the many agents that are silent.
    commands: mpsc::Sender<Box<Order>>,
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
    pub commands: mpsc::Receiver<Box<Order>>,
    pub events_tx: mpsc::Sender<Box<AgentMessage>>,
    pub stop: CancellationToken,
}

impl Order {
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
            .send(Box::new(Order::new(command, charge, budget)))
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
        clock: launcher.clock,
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
    clock: Clock,
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
        let mut leaderless = Leaderless::new(&mut *process);
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
                        let Order { command, charge } = *order;
                        self.stdin.charge(charge);
                        if command == AgentCommand::WaitForUser(true) {
                            // It may take hours until the user answers.
                            self.slot.end_start();
                        }
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
        if self.slot.is_starting() && events.iter().any(ends_start) {
            self.slot.end_start();
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

/// Returns whether the process has started, or does not go on starting by itself.
fn ends_start(event: &AgentEvent) -> bool {
    matches!(
        event,
        AgentEvent::Opened(_)
            | AgentEvent::Initialized(_)
            | AgentEvent::SignInRequired(_)
            | AgentEvent::Failed(_)
    )
}

pub(crate) async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::agent::config::AgentConfig;
    use crate::agent::process_table::ProcessTable;
    use crate::agent::stalled::STALL;
    use crate::metrics::Metrics;
    use acpd_model::limits::{AGENT_COMMAND_BYTES, AGENT_OUTBOX_BYTES};
    use acpd_model::{Limits, RawJson};

    async fn run(script: &str) -> AgentHandle {
        let limits = Limits {
            agent_exit_grace_secs: 1,
            ..Limits::default()
        };
        let metrics = Arc::new(Metrics::new(Arc::new(acpd_log::Memory::default())));
        let launcher = Launcher::local(limits, metrics);
        let running = ProcessTable::open(launcher.clone());
        run_in(&launcher, &running, script).await
    }

    async fn run_in(launcher: &Launcher, running: &ProcessTable, script: &str) -> AgentHandle {
        let config = AgentConfig {
            command: "sh".into(),
            args: vec!["-c".into(), script.into()],
            ..AgentConfig::default()
        };
        let cwd = std::env::temp_dir().display().to_string();
        let start = Start::new("fake", cwd, Duration::from_mins(1));
        let slot = running.start("sh").await.unwrap();
        let program = config.program(start.cwd.clone().into(), None);
        spawn(launcher, &program, start, slot).unwrap()
    }

    /// Returns the size of the future that a function returns.
    fn size_of_future<A, B, C, D, F>(_: fn(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }

    /// A daemon has thousands of idle agents. A future reserves space for its largest step, so box what is rare and
    /// large.
    #[test]
    fn an_idle_agent_needs_little_memory() {
        let sizes = [
            ("the task", size_of_future(Actor::run), 1_184),
            ("the actor", size_of::<Actor>(), 1_112),
        ];
        for (name, size, limit) in sizes {
            assert!(size <= limit, "{name} has {size} bytes (limit {limit})");
        }
    }

    fn notify(params: &RawJson) -> AgentCommand {
        AgentCommand::Notify {
            method: "_x".into(),
            params: Some(params.clone()),
        }
    }

    async fn exit_reason(mut handle: AgentHandle) -> String {
        let exited = async {
            loop {
                match handle.receive().await.expect("its end is told") {
                    AgentMessage::Exited(exit) => break exit.reason,
                    AgentMessage::Events(_) => {}
                }
            }
        };
        let exited = tokio::time::timeout(Duration::from_secs(30), exited).await;
        exited.expect("it is ended")
    }

    /// Returns the malformed lines that the agent wrote until its end.
    async fn words(mut handle: AgentHandle) -> Vec<String> {
        let mut words = Vec::new();
        while let Some(AgentMessage::Events(events)) = handle.receive().await {
            words.extend(events.into_iter().filter_map(|event| match event {
                AgentEvent::Malformed { text, .. } => Some(text),
                _ => None,
            }));
        }
        words
    }

    #[tokio::test]
    async fn processes_of_one_agent_start_one_after_another_and_in_order() {
        let limits = Limits {
            agent_exit_grace_secs: 1,
            agent_starts: 1,
            ..Limits::default()
        };
        let metrics = Arc::new(Metrics::new(Arc::new(acpd_log::Memory::default())));
        let launcher = Launcher::local(limits, metrics);
        let running = ProcessTable::open(launcher.clone());
        let hello = r#"read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'"#;
        let session =
            r#"read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}'; cat >/dev/null"#;
        let opens = format!("{hello}; {session}");
        // The first one never answers.
        let first = run_in(&launcher, &running, "cat >/dev/null").await;
        let mut second = run_in(&launcher, &running, &opens).await;
        let third = run_in(&launcher, &running, "echo third").await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(first.process.pid() > 0);
        assert_eq!((second.process.pid(), third.process.pid()), (0, 0));
        drop(first);
        let opened = async {
            while let Some(AgentMessage::Events(events)) = second.receive().await {
                if events.iter().any(|event| matches!(event, AgentEvent::Opened(_))) {
                    return;
                }
            }
            panic!("it opened no session");
        };
        tokio::time::timeout(Duration::from_secs(30), opened)
            .await
            .unwrap();
        // The second one goes on, but does not start any more.
        assert_eq!(words(third).await, ["third"]);
        assert!(second.process.pid() > 0);
    }

    #[tokio::test]
    async fn a_process_that_waits_for_its_start_can_be_stopped() {
        let limits = Limits {
            agent_starts: 1,
            ..Limits::default()
        };
        let metrics = Arc::new(Metrics::new(Arc::new(acpd_log::Memory::default())));
        let launcher = Launcher::local(limits, metrics);
        let running = ProcessTable::open(launcher.clone());
        let _first = run_in(&launcher, &running, "cat >/dev/null").await;
        let second = run_in(&launcher, &running, "echo started").await;
        second.stop();
        assert_eq!(exit_reason(second).await, "it was stopped before its start");
    }

    #[tokio::test]
    async fn the_last_words_of_an_agent_that_is_stopped_are_heard() {
        for script in [
            "cat >/dev/null; echo at the end; printf 'of input'",
            "trap 'echo at the end; printf \"of input\"; exit' TERM; while :; do sleep 0.1; done",
        ] {
            let handle = run(script).await;
            handle.stop();
            assert_eq!(words(handle).await, ["at the end", "of input"], "{script}");
        }
    }

    #[test]
    fn an_answer_that_nobody_made_room_for_takes_what_is_left_or_is_an_error() {
        let budget = Budget::default();
        let free = || budget.try_take(u64::from(AGENT_CALL_BYTES)).is_some();
        let answer = |bytes: usize, charge| {
            let result = RawJson::of(&"x".repeat(bytes - 2)).map_err(|_| unreachable!());
            let order = Order::new(AgentCommand::Answer { call: 7, result }, charge, &budget);
            let AgentCommand::Answer { call: 7, result } = order.command else {
                panic!("it is another command");
            };
            (result, order.charge)
        };
        let large = AGENT_CALL_BYTES as usize / 2 + 1;
        let (first, charge) = answer(large, None);
        assert!(first.is_ok() && charge.is_some() && !free());
        let (second, none) = answer(large, None);
        assert_eq!(
            second.map_err(|error| error.code),
            Err(ErrorCode::Overloaded.rpc())
        );
        assert!(none.is_none());
        let (small, none) = answer(SMALL_CALL_BYTES, None);
        assert!(small.is_ok() && none.is_none());
        drop(charge);
        // An answer with a charge is charged for its actual size.
        let (_, charge) = answer(10, budget.try_take(u64::MAX));
        assert!(charge.is_some() && budget.try_take(u64::from(AGENT_CALL_BYTES) - 10).is_some());
        drop(charge);
        assert!(free());
    }

    #[tokio::test]
    async fn an_agent_that_reads_nothing_fills_no_memory_and_is_ended() {
        let handle = run("exec sleep 1000").await;
        let text = RawJson::of(&"x".repeat(900 << 10)).unwrap();
        let mut sent = 0;
        while tokio::time::timeout(STALL / 4, handle.send_command(notify(&text), None))
            .await
            .is_ok()
        {
            sent += text.get().len();
            assert!(sent <= AGENT_OUTBOX_BYTES, "{} MiB wait for it", sent >> 20);
        }
        assert!(sent >= AGENT_OUTBOX_BYTES / 2, "there was room");
        // This command waits until the process has ended.
        handle.send_command(notify(&text), None).await;
        let reason = exit_reason(handle).await;
        assert!(reason.contains("stdin"), "{reason}");
    }

    #[tokio::test]
    async fn an_agent_ends_with_its_process_although_a_child_holds_its_output() {
        for (script, reason) in [
            ("sleep 1000 & echo last; exit 3", "sh exited with code 3"),
            ("sleep 1000 & echo last; kill -9 $$", "sh was ended by SIGKILL"),
            // The child has no stdin, so it is no agent.
            ("sleep 1000 </dev/null & echo last", "sh exited with code 0"),
        ] {
            let handle = run(script).await;
            assert_eq!(exit_reason(handle).await, reason, "{script}");
        }
    }

    #[tokio::test]
    async fn an_agent_that_has_closed_its_stdin_is_ended() {
        let handle = run("exec <&-; sleep 1000").await;
        let notification = notify(&RawJson::of(&1).unwrap());
        let sends = async {
            loop {
                handle.send_command(notification.clone(), None).await;
                tokio::task::yield_now().await;
                if handle.commands.is_closed() {
                    break;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), sends)
            .await
            .expect("it is ended");
        let reason = exit_reason(handle).await;
        assert!(reason.contains("closed its stdin"), "{reason}");
    }

    #[tokio::test]
    async fn a_thread_waits_for_room_for_so_long_and_no_longer() {
        // The agent reads too little to make room for the rest, but too much to count as stalled.
        let mut handle = run("while :; do head -c 70000 >/dev/null; sleep 0.2; done").await;
        handle.patience = Duration::from_millis(500);
        let large = RawJson::of(&"x".repeat(AGENT_COMMAND_BYTES as usize)).unwrap();
        handle.send_command(notify(&large), None).await;
        assert!(!handle.stop.is_cancelled(), "it fits alone");
        let sent = tokio::time::timeout(Duration::from_secs(30), handle.send_command(notify(&large), None));
        sent.await.expect("it waits no longer");
        assert!(handle.stop.is_cancelled());
    }
}
