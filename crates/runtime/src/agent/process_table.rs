//! The running agent processes, and the limits on their number and memory.
//!
//! In: requests to start a process, the threads that use each process, the memory of each process. Out: a slot for a
//! process, or the reason why there is none; to idle threads, a request to release their agent. Owns: the list of
//! processes. Never: stops a process itself, or makes a thread release its agent during a turn.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use acpd_host::memory;
use acpd_model::{ErrorCode, Failure, Millis, ThreadId};
use acpd_proto::surface::reply::{ProcessState, RunningProcess};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::agent::launcher::Launcher;
use crate::agent::running::{Process, ProcessSlot, ProcessUse};
use crate::host::blocking;
use crate::host::budget::{Budget, Total};

/// Seconds between measurements of the agents' memory use.
const AGENT_MEMORY_SECS: u64 = 5;
/// Requests that may wait for the table of running agents.
const RUNNING_INBOX: usize = 64;

/// Gives access to the process table; cheap to clone.
#[derive(Debug, Clone)]
pub struct ProcessTable {
    requests_tx: mpsc::Sender<TableRequest>,
}

#[derive(Debug)]
enum TableRequest {
    Start {
        agent: String,
        reply: oneshot::Sender<Result<ProcessSlot, Failure>>,
    },
    Use {
        process: Arc<Process>,
        thread: Option<ThreadId>,
        reply: oneshot::Sender<Arc<ProcessUse>>,
    },
    Starts {
        agent: String,
        reply: oneshot::Sender<Arc<Semaphore>>,
    },
    List(oneshot::Sender<Vec<RunningProcess>>),
}

impl ProcessTable {
    /// Starts the task that owns the table. It ends when the last clone is dropped.
    pub fn open(launcher: Launcher) -> Self {
        let (requests_tx, requests_rx) = mpsc::channel(RUNNING_INBOX);
        let task = Task {
            processes: Vec::new(),
            uses: Vec::new(),
            starts: BTreeMap::new(),
            total: Budget::total(),
            host_memory: memory::of_machine(),
            launcher,
        };
        tokio::spawn(task.run(requests_rx));
        Self { requests_tx }
    }

    /// Reserves a slot for one more process. If none is free, the thread that has been idle the longest releases its agent.
    pub async fn start(&self, agent: &str) -> Result<ProcessSlot, Failure> {
        let agent = agent.to_owned();
        self.ask(|reply| TableRequest::Start { agent, reply }).await?
    }

    /// Waits until a process of this agent may start that has no slot, such as one that is only tried.
    pub async fn turn_to_start(&self, agent: &str) -> Result<OwnedSemaphorePermit, Failure> {
        let agent = agent.to_owned();
        let starts = self.ask(|reply| TableRequest::Starts { agent, reply }).await?;
        let closed = |_| Failure::new(ErrorCode::Overloaded, "the daemon is stopping");
        starts.acquire_owned().await.map_err(closed)
    }

    /// Registers the use of a process by a thread, or by a connection that has no thread yet.
    pub async fn join(
        &self,
        process: Arc<Process>,
        thread: Option<ThreadId>,
    ) -> Result<Arc<ProcessUse>, Failure> {
        self.ask(|reply| TableRequest::Use {
            process,
            thread,
            reply,
        })
        .await
    }

    /// Returns the running processes, those in a turn first.
    pub async fn list(&self) -> Result<Vec<RunningProcess>, Failure> {
        self.ask(TableRequest::List).await
    }

    async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> TableRequest) -> Result<T, Failure> {
        let stopping = || Failure::new(ErrorCode::Overloaded, "the daemon is stopping");
        let (reply, answer) = oneshot::channel();
        self.requests_tx.send(ask(reply)).await.map_err(|_| stopping())?;
        answer.await.map_err(|_| stopping())
    }
}

struct Task {
    processes: Vec<Weak<Process>>,
    uses: Vec<Weak<ProcessUse>>,
    /// How many processes of each agent may begin to start now, and the limit for which that was counted.
    starts: BTreeMap<String, (usize, Arc<Semaphore>)>,
    /// The memory of the host, in bytes, if it can be read.
    host_memory: Option<u64>,
    launcher: Launcher,
    /// The room that all processes share.
    total: Total,
}

impl Task {
    async fn run(mut self, mut requests_rx: mpsc::Receiver<TableRequest>) {
        let every = Duration::from_secs(AGENT_MEMORY_SECS);
        let mut look = interval_at(Instant::now() + every, every);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                ask = requests_rx.recv() => match ask {
                    Some(ask) => self.asked(ask).await,
                    None => return,
                },
                _ = look.tick(), if !self.processes.is_empty() => self.look().await,
            }
        }
    }

    async fn asked(&mut self, ask: TableRequest) {
        // The caller may have gone; here and below.
        match ask {
            TableRequest::Start { agent, reply } => {
                let _ = reply.send(self.start(agent));
            }
            TableRequest::Use {
                process,
                thread,
                reply,
            } => {
                let using = Arc::new(ProcessUse::new(process, thread));
                self.uses.push(Arc::downgrade(&using));
                let _ = reply.send(using);
            }
            TableRequest::Starts { agent, reply } => {
                let (_, starts) = self.starts(&agent);
                let _ = reply.send(starts);
            }
            TableRequest::List(reply) => {
                self.measure().await;
                let _ = reply.send(self.list());
            }
        }
    }

    fn start(&mut self, agent: String) -> Result<ProcessSlot, Failure> {
        let (alive, uses) = self.present();
        let staying = alive.iter().filter(|process| !process.is_leaving());
        let room = self.launcher.limits.now().agents;
        if staying.count() >= room && self.let_one_go(&uses).is_none() {
            let message = format!(
                "{room} agents run already, and each is at something: try again when one is done, or raise limits.agents"
            );
            return Err(Failure::new(ErrorCode::Overloaded, message));
        }
        let starts = self.starts(&agent);
        let has_company = alive.iter().any(|process| process.agent() == agent);
        let budget = Budget::within(&self.total, self.launcher.limits.clone());
        let process = Arc::new(Process::new(agent, self.launcher.clock.now().wall, budget));
        self.processes.push(Arc::downgrade(&process));
        Ok(ProcessSlot::new(process, starts, has_company))
    }

    /// Returns how many processes of an agent may start at the same time, and what limits them. After a change of the limit,
    /// starts of before do not count.
    fn starts(&mut self, agent: &str) -> (usize, Arc<Semaphore>) {
        let limit = self.launcher.limits.now().agent_starts;
        let fresh = || (limit, Arc::new(Semaphore::new(limit)));
        let known = self.starts.entry(agent.to_owned()).or_insert_with(fresh);
        if known.0 != limit {
            *known = fresh();
        }
        (known.0, Arc::clone(&known.1))
    }

    /// Returns all processes and uses that still exist. A process that was asked to leave but is in use again stays.
    fn present(&mut self) -> (Vec<Arc<Process>>, Vec<Arc<ProcessUse>>) {
        self.processes.retain(|process| process.strong_count() > 0);
        self.uses.retain(|using| using.strong_count() > 0);
        let alive: Vec<_> = self.processes.iter().filter_map(Weak::upgrade).collect();
        let uses: Vec<_> = self.uses.iter().filter_map(Weak::upgrade).collect();
        for using in uses.iter().filter(|using| using.idle_since().is_none()) {
            using.process().set_leaving(false);
        }
        (alive, uses)
    }

    /// Asks the users of one process to release it: the one that loses the least, and among several the one idle the longest.
    fn let_one_go(&self, uses: &[Arc<ProcessUse>]) -> Option<Arc<Process>> {
        let of = |process: &Arc<Process>| {
            let process = Arc::clone(process);
            uses.iter()
                .filter(move |using| Arc::ptr_eq(using.process(), &process))
        };
        let candidates = uses
            .iter()
            .map(|using| using.process())
            .filter(|process| !process.is_leaving())
            .filter_map(|process| {
                let since: Option<Vec<Millis>> = of(process).map(|using| using.idle_since()).collect();
                let rank = of(process).map(|using| using.rank()).max();
                Some((process, (rank, since?.into_iter().max()?)))
            });
        let (process, _) = candidates.min_by_key(|(_, rank)| *rank)?;
        process.set_leaving(true);
        for using in of(process) {
            using.release();
        }
        self.launcher.metrics.agent_evicted();
        tracing::info!(
            agent = process.agent(),
            "stopping an idle agent to make room for another"
        );
        Some(Arc::clone(process))
    }

    /// Returns the bytes that all processes may use before idle ones are released.
    fn memory(&self) -> u64 {
        match self.launcher.limits.now().agent_memory_mib {
            0 => self.host_memory.map_or(u64::MAX, |all| all / 2),
            mib => (mib as u64) << 20,
        }
    }

    /// Measures the memory of all processes and releases idle ones until the rest fits.
    async fn look(&mut self) {
        let mut taken = self.measure().await;
        self.launcher.metrics.agent_memory(taken);
        let (_, uses) = self.present();
        let memory = self.memory();
        while taken > memory {
            let Some(process) = self.let_one_go(&uses) else {
                return;
            };
            taken = taken.saturating_sub(process.memory());
        }
    }

    /// Reads the memory of each process from the system. Returns the sum for those that stay.
    async fn measure(&mut self) -> u64 {
        let (alive, _) = self.present();
        let pids: Vec<u32> = alive.iter().map(|process| process.pid()).collect();
        let host = Arc::clone(&self.launcher.host);
        let measure = move || Ok(host.resident_memory(&pids));
        let measured = blocking(&*self.launcher.host, measure).await;
        let mut sum = 0;
        for (process, bytes) in alive.iter().zip(measured.unwrap_or_default()) {
            process.set_memory(bytes);
            if !process.is_leaving() {
                sum += bytes;
            }
        }
        sum
    }

    fn list(&mut self) -> Vec<RunningProcess> {
        let (alive, uses) = self.present();
        let mut listed: Vec<RunningProcess> = alive
            .iter()
            .map(|process| {
                let of: Vec<_> = uses
                    .iter()
                    .filter(|using| Arc::ptr_eq(using.process(), process))
                    .collect();
                let since: Option<Vec<Millis>> = of.iter().map(|using| using.idle_since()).collect();
                let idle_since = since.as_ref().and_then(|since| since.iter().copied().max());
                let threads: Vec<_> = of.iter().filter_map(|using| using.thread()).collect();
                let state = match (process.is_leaving(), &since) {
                    (true, _) => ProcessState::Leaving,
                    (_, None) => ProcessState::Busy,
                    (_, Some(_)) if threads.is_empty() => ProcessState::Waiting,
                    (_, Some(_)) => ProcessState::Idle,
                };
                RunningProcess {
                    agent_type: process.agent().to_owned(),
                    pid: Some(process.pid()).filter(|pid| *pid > 0),
                    threads,
                    state,
                    memory_bytes: process.memory(),
                    started_at: process.started_at(),
                    idle_since,
                }
            })
            .collect();
        listed.sort_by_key(|one| {
            (
                one.state != ProcessState::Busy,
                one.idle_since.map(Reverse),
                one.started_at,
            )
        });
        listed
    }
}

#[cfg(test)]
mod tests {
    use acpd_log::Memory;
    use acpd_model::Limits;

    use super::*;
    use crate::agent::running::Rank;
    use crate::metrics::Metrics;

    fn open(agents: usize) -> ProcessTable {
        let limits = Limits {
            agents,
            ..Limits::default()
        };
        ProcessTable::open(launcher(limits))
    }

    fn launcher(limits: Limits) -> Launcher {
        Launcher::local(limits, Arc::new(Metrics::new(Arc::new(Memory::new()))))
    }

    /// Creates a process of a thread that is idle since the given time, or in a turn.
    async fn thread(running: &ProcessTable, idle_since: Option<Millis>) -> (ProcessSlot, Arc<ProcessUse>) {
        let slot = running.start("a").await.unwrap();
        let using = running
            .join(slot.process(), Some(ThreadId(uuid::Uuid::now_v7())))
            .await
            .unwrap();
        using.note(
            idle_since.is_some(),
            Rank::KeepsSession,
            idle_since.unwrap_or_default(),
        );
        (slot, using)
    }

    fn is_notified(using: &ProcessUse) -> bool {
        let mut released = std::pin::pin!(using.released());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        released.as_mut().poll(&mut context).is_ready()
    }

    #[tokio::test]
    async fn the_one_that_was_idle_for_the_longest_time_makes_room() {
        let running = open(3);
        let (_busy, busy) = thread(&running, None).await;
        let (_late, late) = thread(&running, Some(30)).await;
        let (early_slot, early) = thread(&running, Some(20)).await;
        let (_next, next) = thread(&running, None).await;
        assert_eq!(
            [&busy, &late, &early].map(|using| is_notified(using)),
            [false, false, true]
        );
        // A process that is leaving frees its slot, and is not notified again.
        let states =
            |listed: Vec<RunningProcess>| listed.into_iter().map(|one| one.state).collect::<Vec<_>>();
        assert_eq!(
            states(running.list().await.unwrap()),
            [
                ProcessState::Busy,
                ProcessState::Busy,
                ProcessState::Idle,
                ProcessState::Leaving
            ]
        );
        drop((early_slot, early));
        next.note(true, Rank::KeepsSession, 40);
        let (_more, _) = thread(&running, None).await;
        assert_eq!([&late, &next].map(|using| is_notified(using)), [true, false]);
    }

    #[tokio::test]
    async fn agents_that_would_forget_are_evicted_last() {
        let running = open(2);
        let (_early, early) = thread(&running, Some(10)).await;
        early.note(true, Rank::Forgets, 10);
        let (_late, late) = thread(&running, Some(20)).await;
        let _next = thread(&running, None).await;
        assert_eq!([&early, &late].map(|using| is_notified(using)), [false, true]);
    }

    #[tokio::test]
    async fn a_turn_is_never_broken_off_for_another() {
        let running = open(2);
        let _busy = (thread(&running, None).await, thread(&running, None).await);
        let refused = running.start("a").await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Overloaded);
        assert!(refused.message.contains("limits.agents"), "{refused}");
    }

    #[tokio::test]
    async fn a_shared_process_is_idle_when_all_its_threads_are() {
        let running = open(1);
        let (slot, first) = thread(&running, Some(10)).await;
        let second = running
            .join(slot.process(), Some(ThreadId(uuid::Uuid::now_v7())))
            .await
            .unwrap();
        second.note(false, Rank::KeepsSession, 0);
        assert!(running.start("a").await.is_err());
        second.note(true, Rank::KeepsSession, 20);
        running.start("a").await.unwrap();
        assert!(is_notified(&first) && is_notified(&second));
        let listed = running.list().await.unwrap();
        assert_eq!(listed[0].threads.len(), 2);
    }

    #[tokio::test]
    async fn a_thread_that_resumed_counts_again() {
        let running = open(1);
        let (_slot, using) = thread(&running, Some(10)).await;
        running.start("a").await.unwrap();
        using.note(false, Rank::KeepsSession, 0);
        assert!(running.start("a").await.is_err());
    }

    #[tokio::test]
    async fn memory_has_a_bound_too() {
        let mut task = Task {
            processes: Vec::new(),
            uses: Vec::new(),
            starts: BTreeMap::new(),
            total: Budget::total(),
            host_memory: Some(2),
            launcher: launcher(Limits::default()),
        };
        let slot = task.start("a".into()).unwrap();
        // The test's own process, which uses more than a byte.
        slot.started(Some(std::process::id()));
        let (reply, answer) = oneshot::channel();
        task.asked(TableRequest::Use {
            process: slot.process(),
            thread: Some(ThreadId(uuid::Uuid::now_v7())),
            reply,
        })
        .await;
        let using = answer.await.unwrap();
        task.look().await;
        assert!(!is_notified(&using), "it is in a turn");
        using.note(true, Rank::KeepsSession, 10);
        task.look().await;
        assert!(is_notified(&using) == cfg!(target_os = "linux"));
    }
}
