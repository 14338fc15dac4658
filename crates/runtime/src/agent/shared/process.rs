//! The actor of one shared process.
//!
//! In: the process's output, joining threads, their commands. Out: the messages for each thread. Owns: the process and
//! its [`SharedAgent`]. Never: stops while a thread needs it, unless the process has stopped reading; reads further
//! while a thread is behind. No queue grows, so the slowest thread sets the pace for all.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::path::PathBuf;
use std::task::Poll;
use std::time::Duration;

use acpd_model::Failure;
use acpd_model::limits::SHARED_INBOX;
use acpd_proto::agent::{AgentCommand, AgentEvent, Seat, SeatEvent, SharedAgent};
use acpd_proto::thread::AgentExit;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::PollSender;

use crate::agent::agent_clock::AgentClock;
use crate::agent::config::AgentConfig;
use crate::agent::launcher::{Launched, Launcher};
use crate::agent::leaderless::Leaderless;
use crate::agent::lines::{AgentLines, EndOfLines};
use crate::agent::process::{AgentMessage, AgentSide, ChargedCommand, log_slowed, sleep_until};
use crate::agent::running::ProcessSlot;
use crate::agent::shared::joining::JoiningThread;
use crate::agent::stalled::Stalled;
use crate::agent::stdin::Stdin;
use crate::host::{AgentProcess, AgentStdout};
use crate::metrics::Present;

/// Messages that a thread has not received yet.
struct SeatOutbox {
    to: PollSender<Box<AgentMessage>>,
    events: Vec<AgentEvent>,
    /// Whether the thread's exit message follows the events.
    left: bool,
}

/// Starts a process for the first thread. Other threads join through the returned channel until it is closed.
pub(super) fn spawn(
    config: &AgentConfig,
    first: JoiningThread,
    launcher: &Launcher,
    slot: ProcessSlot,
) -> Result<mpsc::Sender<JoiningThread>, Failure> {
    // No sandbox: it would have to include the workspaces of threads that join later.
    let program = config.program(PathBuf::from(&first.start.cwd), None);
    let Launched {
        stdin,
        stdout,
        // It may concern any of the threads.
        stderr: _,
        process,
    } = launcher.launch(&program, &slot)?;
    let (joins, joining) = mpsc::channel(SHARED_INBOX);
    let (inbox, said) = mpsc::channel(SHARED_INBOX);
    let (leaves, left) = mpsc::channel(SHARED_INBOX);
    let grace = Duration::from_secs(launcher.limits.now().agent_exit_grace_secs);
    let mut actor = Actor {
        agent: SharedAgent::new(grace),
        lines: AgentLines::new(
            launcher.limits.now().agent_line_bytes,
            slot.process().budget().clone(),
        ),
        clock: AgentClock::new(launcher.clock, slot.process().budget().clone()),
        stdin,
        events_tx: BTreeMap::new(),
        inbox,
        leaves,
        cancelled: BTreeSet::new(),
        grace,
        _running: launcher.metrics.agent(),
        slot,
    };
    actor.seat(first);
    let inputs = Inputs {
        joins: joining,
        said,
        left,
    };
    tokio::spawn(actor.run(process, stdout, inputs));
    Ok(joins)
}

/// The inputs of the actor.
struct Inputs {
    joins: mpsc::Receiver<JoiningThread>,
    said: mpsc::Receiver<(Seat, Box<ChargedCommand>)>,
    left: mpsc::Receiver<Seat>,
}

struct Actor {
    agent: SharedAgent,
    lines: AgentLines,
    clock: AgentClock,
    stdin: Stdin,
    events_tx: BTreeMap<Seat, SeatOutbox>,
    inbox: mpsc::Sender<(Seat, Box<ChargedCommand>)>,
    leaves: mpsc::Sender<Seat>,
    /// The threads whose turn the agent has to end in time. Until then it is read even if it writes too much.
    cancelled: BTreeSet<Seat>,
    grace: Duration,
    _running: Present,
    slot: ProcessSlot,
}

impl Actor {
    async fn run(
        mut self,
        mut process: Box<dyn AgentProcess>,
        mut stdout: AgentStdout,
        Inputs {
            mut joins,
            mut said,
            mut left,
        }: Inputs,
    ) {
        let mut open = true;
        let mut may_join = true;
        let mut stalled = None;
        let mut leaderless = Leaderless::new(&mut *process, self.clock.clone());
        let mut paused = false;
        while open {
            self.collect();
            if self.agent.is_retired() {
                joins.close();
            }
            if self.agent.is_empty() {
                // Threads that are queued already still join; later ones cannot.
                joins.close();
                match joins.recv().await {
                    Some(joining) => {
                        self.seat(joining);
                        continue;
                    }
                    None => break,
                }
            }
            let deadline = self.agent.poll_timeout().map(|at| self.clock.instant(at));
            let behind = self.events_tx.values().any(SeatOutbox::waits);
            let has_room = self.stdin.has_room();
            let may_read = !behind && has_room;
            // What is not read is no silence.
            if may_read && paused {
                leaderless.heard();
            }
            paused = !may_read;
            tokio::select! {
                biased;
                () = leaderless.silent(), if may_read => break,
                () = sleep_until(deadline) => self.agent.handle_timeout(self.clock.now()),
                written = self.stdin.write(), if self.stdin.waits() => if let Err(stall) = written {
                    stalled = Some(stall);
                    if stall != Stalled::Closed {
                        break;
                    }
                    leaderless.give_up();
                },
                // Handled even without capacity: a thread that leaves must not wait.
                Some(seat) = left.recv() => {
                    while self.stdin.has_room() && let Ok((seat, order)) = said.try_recv() {
                        self.handle_charged_command(seat, *order);
                        self.collect();
                    }
                    self.cancelled.remove(&seat);
                    self.agent.leave(seat, self.clock.now());
                }
                joining = joins.recv(), if may_join && has_room => match joining {
                    Some(joining) => self.seat(joining),
                    None => may_join = false,
                },
                Some((seat, order)) = said.recv(), if has_room => self.handle_charged_command(seat, *order),
                () = hand_over(&mut self.events_tx), if behind => {}
                read = self.lines.read(&mut stdout), if may_read => {
                    open = read.is_ok();
                    if let Err(EndOfLines::Paused) = read {
                        stalled = Some(Stalled::Output);
                    }
                    leaderless.heard();
                    self.decode();
                }
            }
        }
        drop(leaderless);
        // Avoids a deadlock: no thread may wait for this actor while it waits for the thread. No further thread can
        // join a process that is ending.
        drop((said, left));
        joins.close();
        while let Some(joining) = joins.recv().await {
            self.seat(joining);
        }
        self.finish(process, stalled).await;
        // Kept open until here, so that an agent that is still writing can exit by itself.
        drop(stdout);
    }

    fn seat(&mut self, joining: JoiningThread) {
        let JoiningThread { start, ends } = joining;
        let AgentSide {
            commands,
            events_tx,
            stop,
        } = ends;
        let seat = self.agent.join(*start, self.clock.now());
        self.events_tx.insert(
            seat,
            SeatOutbox {
                to: PollSender::new(events_tx),
                events: Vec::new(),
                left: false,
            },
        );
        tokio::spawn(carry(
            seat,
            commands,
            stop,
            self.inbox.clone(),
            self.leaves.clone(),
        ));
    }

    fn handle_charged_command(&mut self, seat: Seat, ChargedCommand { command, charge }: ChargedCommand) {
        self.stdin.charge(charge);
        match &command {
            AgentCommand::Cancel => {
                self.cancelled.insert(seat);
            }
            AgentCommand::Prompt { .. } => {
                self.cancelled.remove(&seat);
                self.lines.expect_debt();
            }
            _ => {}
        }
        self.agent.handle_command(seat, command, self.clock.now());
    }

    fn decode(&mut self) {
        let now = self.clock.now();
        while let Some(line) = self.lines.next_line() {
            self.agent.handle_line(&line, now);
        }
    }

    fn collect(&mut self) {
        self.stdin.add(self.agent.take_writes());
        while let Some((seat, news)) = self.agent.poll_event() {
            let Some(events_tx) = self.events_tx.get_mut(&seat) else {
                continue;
            };
            match news {
                SeatEvent::Events(mut events) => {
                    if events.iter().any(AgentEvent::ends_prompt) {
                        self.cancelled.remove(&seat);
                    }
                    events_tx.events.append(&mut events);
                }
                SeatEvent::Left => events_tx.left = true,
            }
        }
        self.lines.set_free(!self.cancelled.is_empty());
        if self.lines.begins_debt() {
            log_slowed(&self.slot.process());
            for events_tx in self.events_tx.values_mut() {
                events_tx.events.push(AgentEvent::Slowed);
            }
        }
    }

    async fn finish(mut self, process: Box<dyn AgentProcess>, stalled: Option<Stalled>) {
        if let Some(line) = self.lines.finish() {
            self.agent.handle_line(&line, self.clock.now());
        }
        self.collect();
        self.stdin.close(self.grace).await;
        // Each thread receives its last messages at its own pace.
        let mut farewells = Vec::new();
        for events_tx in self.events_tx.into_values() {
            let (tell, end) = oneshot::channel();
            farewells.push(tell);
            tokio::spawn(events_tx.farewell(end));
        }
        let ended = process.stop(self.grace).await;
        let reason = stalled.map_or_else(|| ended.reason.clone(), |stalled| stalled.reason(&ended));
        for tell in farewells {
            // A thread that has gone needs no message.
            let _ = tell.send(AgentExit {
                reason: reason.clone(),
                stderr: ended.stderr.clone(),
            });
        }
    }
}

impl SeatOutbox {
    fn waits(&self) -> bool {
        !self.events.is_empty() || self.left
    }

    /// Returns the thread's next message, and whether it is the last.
    fn next(&mut self) -> (Box<AgentMessage>, bool) {
        if self.events.is_empty() {
            (Box::new(AgentMessage::Exited(Box::new(expected_exit()))), true)
        } else {
            (
                Box::new(AgentMessage::Events(std::mem::take(&mut self.events))),
                false,
            )
        }
    }

    async fn farewell(self, end: oneshot::Receiver<AgentExit>) {
        let Some(to) = self.to.get_ref().cloned() else {
            return;
        };
        // The channel slot that the sender reserved must be released first.
        drop(self.to);
        if !self.events.is_empty()
            && to
                .send(Box::new(AgentMessage::Events(self.events)))
                .await
                .is_err()
        {
            return;
        }
        let gone = if self.left { Ok(expected_exit()) } else { end.await };
        if let Ok(gone) = gone {
            // A thread that has gone needs no message.
            let _ = to.send(Box::new(AgentMessage::Exited(Box::new(gone)))).await;
        }
    }
}

/// Returns the exit message for a thread that left a process which others may still use. Its stderr may be about them.
fn expected_exit() -> AgentExit {
    AgentExit {
        reason: "the thread released the shared agent process".to_owned(),
        stderr: String::new(),
    }
}

/// Delivers one message to the first thread that can receive it.
async fn hand_over(events_tx: &mut BTreeMap<Seat, SeatOutbox>) {
    let done = poll_fn(|context| {
        for (seat, events_tx) in events_tx.iter_mut().filter(|(_, events_tx)| events_tx.waits()) {
            match events_tx.to.poll_reserve(context) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => {
                    let (next, last) = events_tx.next();
                    // The slot was reserved above, so this cannot fail.
                    let _ = events_tx.to.send_item(next);
                    return Poll::Ready(last.then_some(*seat));
                }
                // The thread has gone; dropping its handle reports that it left.
                Poll::Ready(Err(_)) => {
                    events_tx.events.clear();
                    return Poll::Ready(std::mem::take(&mut events_tx.left).then_some(*seat));
                }
            }
        }
        Poll::Pending
    })
    .await;
    if let Some(seat) = done {
        events_tx.remove(&seat);
    }
}

/// Forwards one thread's commands until it leaves or the process ends.
async fn carry(
    seat: Seat,
    mut commands: mpsc::Receiver<Box<ChargedCommand>>,
    stop: tokio_util::sync::CancellationToken,
    inbox: mpsc::Sender<(Seat, Box<ChargedCommand>)>,
    leaves: mpsc::Sender<Seat>,
) {
    loop {
        let order = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            order = commands.recv() => order,
            () = inbox.closed() => return,
        };
        let Some(order) = order else { break };
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            sent = inbox.send((seat, order)) => if sent.is_err() {
                return;
            },
        }
    }
    // A process that has ended needs no message.
    let _ = leaves.send(seat).await;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use acpd_model::limits::AGENT_OUTBOX_BYTES;
    use acpd_model::{Limits, RawJson};

    use super::*;
    use crate::agent::process::AgentHandle;
    use crate::agent::process_table::ProcessTable;
    use crate::agent::stalled::STALL;
    use crate::clock::Clock;
    use crate::metrics::Metrics;

    fn outbox(room: usize) -> (SeatOutbox, mpsc::Receiver<Box<AgentMessage>>) {
        let (to, events) = mpsc::channel(room);
        let events_tx = SeatOutbox {
            to: PollSender::new(to),
            events: vec![AgentEvent::Retiring],
            left: false,
        };
        (events_tx, events)
    }

    /// Returns the seats of two threads in a process that was never started.
    fn seats() -> [Seat; 2] {
        let mut agent = SharedAgent::new(Duration::ZERO);
        let now = Clock::start().now();
        [(); 2].map(|()| {
            let start = acpd_proto::agent::Start::new("fake", "/", Duration::ZERO);
            agent.join(start, now)
        })
    }

    fn is_events(message: Option<Box<AgentMessage>>) -> bool {
        message.is_some_and(|message| matches!(*message, AgentMessage::Events(_)))
    }

    /// Returns the exit message that a thread receives.
    async fn exit(mut handle: AgentHandle) -> AgentExit {
        let exited = async {
            loop {
                match handle.receive().await {
                    Some(AgentMessage::Exited(exit)) => break *exit,
                    Some(AgentMessage::Events(_)) => {}
                    None => panic!("the thread is not told"),
                }
            }
        };
        let exit = tokio::time::timeout(Duration::from_secs(30), exited).await;
        exit.expect("the process is ended")
    }

    #[tokio::test]
    async fn a_process_that_reads_nothing_fills_no_memory_and_is_ended() {
        let config = AgentConfig {
            command: "sleep".into(),
            args: vec!["1000".into()],
            share: true,
            ..AgentConfig::default()
        };
        let limits = Limits {
            agent_exit_grace_secs: 1,
            ..Limits::default()
        };
        let metrics = Arc::new(Metrics::new(Arc::new(acpd_log::Memory::default())));
        let launcher = Launcher::local(limits, metrics);
        let running = ProcessTable::open(launcher.clone());
        let slot = running.start("sleep").await.unwrap();
        let start = || Box::new(acpd_proto::agent::Start::new("fake", "/", Duration::from_mins(1)));
        let (busy, busy_side) = AgentHandle::new(slot.process());
        let (idle, idle_side) = AgentHandle::new(slot.process());
        let first = JoiningThread {
            start: start(),
            ends: busy_side,
        };
        let second = JoiningThread {
            start: start(),
            ends: idle_side,
        };
        let joins = spawn(&config, first, &launcher, slot).unwrap();
        joins.send(second).await.unwrap();
        let text = RawJson::of(&"x".repeat(900 << 10)).unwrap();
        let notify = || AgentCommand::Notify {
            method: "_x".into(),
            params: Some(text.clone()),
        };
        let mut sent = 0;
        let sending = async {
            for _ in 0..400 {
                busy.send_command(notify(), None).await;
                sent += text.get().len();
            }
        };
        // Time passes only when all tasks wait: a slow machine must not end the process before this has looked.
        tokio::time::pause();
        let soon = tokio::time::timeout(STALL / 4, sending).await;
        tokio::time::resume();
        assert!(
            soon.is_err() && sent <= AGENT_OUTBOX_BYTES,
            "{} MiB wait for a process that reads nothing",
            sent >> 20
        );
        // Another thread's command finds no capacity either; the wait ends with the process, and not before.
        idle.send_command(notify(), None).await;
        joins.closed().await;
        for handle in [busy, idle] {
            let exit = exit(handle).await;
            assert!(exit.reason.contains("stdin"), "{}", exit.reason);
        }
    }

    #[tokio::test]
    async fn a_slow_thread_keeps_no_other_from_hearing() {
        let [slow, quick] = seats();
        let (behind, mut slow_rx) = outbox(1);
        let (ahead, mut quick_rx) = outbox(1);
        let mut all = BTreeMap::from([(slow, behind), (quick, ahead)]);
        hand_over(&mut all).await;
        all.get_mut(&slow).unwrap().events.push(AgentEvent::Retiring);
        // The slow thread's channel is full now.
        hand_over(&mut all).await;
        assert!(is_events(quick_rx.try_recv().ok()));
        assert!(all[&slow].waits() && !all[&quick].waits());
        let waits = tokio::select! {
            biased;
            () = hand_over(&mut all) => false,
            () = std::future::ready(()) => true,
        };
        assert!(waits, "nothing is dropped, nothing is queued");
        assert!(is_events(slow_rx.try_recv().ok()));
        hand_over(&mut all).await;
        assert!(is_events(slow_rx.try_recv().ok()));
        assert!(!all.values().any(SeatOutbox::waits));
    }

    #[tokio::test]
    async fn the_exit_is_the_last_message_of_a_thread() {
        let [one, other] = seats();
        let (mut leaves, mut messages_rx) = outbox(2);
        leaves.left = true;
        let (gone, nobody) = outbox(2);
        drop(nobody);
        let mut all = BTreeMap::from([(one, leaves), (other, gone)]);
        while all.values().any(SeatOutbox::waits) {
            hand_over(&mut all).await;
        }
        assert!(is_events(messages_rx.recv().await));
        let last = messages_rx.recv().await.map(|message| *message);
        assert!(matches!(last, Some(AgentMessage::Exited(gone)) if gone.stderr.is_empty()));
        assert!(messages_rx.recv().await.is_none());
        assert!(all.contains_key(&other), "its handle says when it has left");
    }
}
