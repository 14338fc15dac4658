//! Running agent processes, as their users and the [process table](super::process_table) see them.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering};

use acpd_model::{Millis, ThreadId};
use tokio::sync::{AcquireError, Notify, OwnedSemaphorePermit, Semaphore};

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
struct StartTurn {
    /// Limits how many processes of the agent start at the same time: at most `limit`.
    starts: Arc<Semaphore>,
    limit: usize,
    /// Held while the process starts.
    permit: Option<OwnedSemaphorePermit>,
    /// The place among those that wait until they are the only one that starts.
    waits: Option<Pin<Box<Acquire>>>,
    has_company: bool,
}

impl fmt::Debug for StartTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartTurn")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

type Acquire = dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send + Sync;

impl ProcessSlot {
    /// Creates a slot for a process of an agent of which `starts` lets `limit` processes start at the same time.
    /// `has_company` says whether other processes of the agent run.
    pub(super) fn new(
        process: Arc<Process>,
        (limit, starts): (usize, Arc<Semaphore>),
        has_company: bool,
    ) -> Self {
        let start = Some(Box::new(StartTurn {
            starts,
            limit,
            permit: None,
            waits: None,
            has_company,
        }));
        Self { process, start }
    }

    /// Returns whether other processes of the agent ran when this one was requested, or are starting, until this one has
    /// started.
    pub fn has_company(&self) -> bool {
        self.start.as_ref().is_some_and(|start| {
            let own = start.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
            start.has_company || start.starts.available_permits() + own < start.limit
        })
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

    /// Lets the other processes of the agent start, then waits until this one is the only one that does. Those that wait begin
    /// in order.
    pub(super) async fn begin_alone(&mut self) {
        let Some(start) = &mut self.start else { return };
        start.permit = None;
        let all = u32::try_from(start.limit).unwrap_or(u32::MAX);
        let waits = start
            .waits
            .get_or_insert_with(|| Box::pin(Arc::clone(&start.starts).acquire_many_owned(all)));
        // It is never closed.
        let permit = waits.await.ok();
        start.waits = None;
        start.permit = permit;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(starts: &Arc<Semaphore>) -> ProcessSlot {
        let process = Process::new("fake".into(), 0, Budget::default());
        ProcessSlot::new(Arc::new(process), (2, Arc::clone(starts)), false)
    }

    #[tokio::test]
    async fn a_process_begins_alone_when_those_before_it_have_started() {
        let starts = Arc::new(Semaphore::new(2));
        let [mut first, mut second, mut third, mut fourth] = [(); 4].map(|()| slot(&starts));
        assert!(first.try_begin() && !first.has_company());
        assert!(second.try_begin() && !third.try_begin());
        assert!(first.has_company() && second.has_company());
        let alone = async {
            // The place among the waiting ones is kept.
            for _ in 0..3 {
                let waits = tokio::time::timeout(std::time::Duration::ZERO, first.begin_alone());
                assert!(waits.await.is_err());
            }
            first.begin_alone().await;
            assert!(!first.has_company() && !fourth.try_begin());
            first.end_start();
            fourth.begin().await;
        };
        let others = async {
            third.begin().await;
            third.end_start();
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            assert!(second.is_starting());
            second.end_start();
        };
        tokio::time::pause();
        // The third one waits already when the first one begins to.
        tokio::join!(others, alone);
    }
}
