//! Running agent processes, as their users and the [process table](super::process_table) see them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering};

use acpd_model::{Millis, ThreadId};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::host::budget::Budget;

/// One agent process.
#[derive(Debug)]
pub struct Process {
    agent: String,
    started_at: Millis,
    /// The process id; zero until it is known.
    pid: AtomicU32,
    /// The resident memory at the last measurement, in bytes.
    memory: AtomicU64,
    /// Whether all users of the process were asked to release it.
    leaving: AtomicBool,
    /// Limits the memory for callbacks and commands of this process.
    budget: Budget,
}

impl Process {
    /// Creates a process that is about to start.
    pub(super) fn new(agent: String, now: Millis, budget: Budget) -> Self {
        Self {
            agent,
            started_at: now,
            pid: AtomicU32::new(0),
            memory: AtomicU64::new(0),
            leaving: AtomicBool::new(false),
            budget,
        }
    }

    pub(super) fn agent(&self) -> &str {
        &self.agent
    }

    pub(super) fn started_at(&self) -> Millis {
        self.started_at
    }

    /// Returns the process id, or zero until it is known.
    pub(super) fn pid(&self) -> u32 {
        self.pid.load(Ordering::Relaxed)
    }

    /// Returns the resident memory at the last measurement, in bytes.
    pub(super) fn memory(&self) -> u64 {
        self.memory.load(Ordering::Relaxed)
    }

    pub(super) fn set_memory(&self, bytes: u64) {
        self.memory.store(bytes, Ordering::Relaxed);
    }

    /// Returns whether all users of the process were asked to release it.
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    pub(super) fn set_leaving(&self, is_leaving: bool) {
        self.leaving.store(is_leaving, Ordering::Relaxed);
    }

    /// Returns the budget for callbacks and commands of this process.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }
}

/// A slot for one process, held until dropped.
#[derive(Debug)]
pub struct ProcessSlot {
    process: Arc<Process>,
    /// What matters until the process has started. Boxed, because that is soon over.
    start: Option<Box<StartTurn>>,
}

/// The turn of a process to start.
#[derive(Debug)]
struct StartTurn {
    /// Limits how many processes of the agent start at the same time.
    starts: Arc<Semaphore>,
    /// Held while the process starts.
    permit: Option<OwnedSemaphorePermit>,
    has_company: bool,
}

impl ProcessSlot {
    /// Creates a slot for a process whose agent starts as `starts` permits. `has_company` says whether other processes of
    /// the agent run.
    pub(super) fn new(process: Arc<Process>, starts: Arc<Semaphore>, has_company: bool) -> Self {
        let start = Some(Box::new(StartTurn {
            starts,
            permit: None,
            has_company,
        }));
        Self { process, start }
    }

    /// Returns whether other processes of the agent ran when this one was requested, until it has started.
    pub fn has_company(&self) -> bool {
        self.start.as_ref().is_some_and(|start| start.has_company)
    }

    /// Begins the start if few others of the agent are starting.
    pub(super) fn try_begin(&mut self) -> bool {
        let Some(start) = &mut self.start else { return true };
        start.permit = Arc::clone(&start.starts).try_acquire_owned().ok();
        start.permit.is_some()
    }

    /// Waits until few others of the agent are starting, then begins the start. Those that wait begin in order.
    pub(super) async fn begin(&mut self) {
        if let Some(start) = &mut self.start {
            // It is never closed.
            start.permit = Arc::clone(&start.starts).acquire_owned().await.ok();
        }
    }

    /// Returns whether the process is starting.
    pub(super) fn is_starting(&self) -> bool {
        self.start.is_some()
    }

    /// Ends the start, so that the next process of the agent may begin.
    pub(super) fn end_start(&mut self) {
        self.start = None;
    }

    /// Records the id of the started process.
    pub fn started(&self, pid: Option<u32>) {
        self.process.pid.store(pid.unwrap_or_default(), Ordering::Relaxed);
    }

    /// Returns the process that the slot is for.
    pub fn process(&self) -> Arc<Process> {
        Arc::clone(&self.process)
    }
}

/// The use of a process by a thread, or by a connection without a session yet, held until dropped.
#[derive(Debug)]
pub struct ProcessUse {
    process: Arc<Process>,
    thread: Option<ThreadId>,
    /// The start of the idle time in milliseconds since the epoch; zero while in use.
    idle_since: AtomicI64,
    rank: AtomicU8,
    released: Notify,
}

/// What is lost when a process stops. Processes that lose the least are released first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// The process has no session.
    Unused,
    /// Another process can resume the session.
    KeepsSession,
    /// A user has signed in to this process, and perhaps to no other.
    SignedIn,
    /// The session ends with the process.
    Forgets,
}

impl ProcessUse {
    /// Registers the use of a process by a thread, or by a connection that has no thread yet.
    pub(super) fn new(process: Arc<Process>, thread: Option<ThreadId>) -> Self {
        Self {
            process,
            thread,
            idle_since: AtomicI64::new(0),
            rank: AtomicU8::new(Rank::Unused as u8),
            released: Notify::new(),
        }
    }

    pub(super) fn process(&self) -> &Arc<Process> {
        &self.process
    }

    pub(super) fn thread(&self) -> Option<ThreadId> {
        self.thread
    }

    /// Returns the [`Rank`] as a number.
    pub(super) fn rank(&self) -> u8 {
        self.rank.load(Ordering::Relaxed)
    }

    /// Asks the user of the process to release it.
    pub(super) fn release(&self) {
        self.released.notify_one();
    }

    /// Records whether the user of the process is idle, and the rank.
    pub fn note(&self, idle: bool, rank: Rank, now: Millis) {
        self.rank.store(rank as u8, Ordering::Relaxed);
        if !idle {
            self.idle_since.store(0, Ordering::Relaxed);
        } else if self.idle_since.load(Ordering::Relaxed) == 0 {
            self.idle_since.store(now.max(1), Ordering::Relaxed);
        }
    }

    /// Waits until the process should be released, if possible. Cancel safe.
    pub async fn released(&self) {
        self.released.notified().await;
    }

    /// Returns since when the user has been idle, in milliseconds since the epoch.
    pub(super) fn idle_since(&self) -> Option<Millis> {
        Some(self.idle_since.load(Ordering::Relaxed)).filter(|since| *since > 0)
    }
}
