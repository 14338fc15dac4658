//! State that all threads of a daemon share.

use std::sync::Arc;

use acpd_host::Reserved;
use acpd_log::SharedLog;
use acpd_model::limits::{LIVE_BYTES, SNAPSHOT_BYTES};
use acpd_proto::surface::contract::Gate;
use tokio::sync::watch;

use crate::agent::launcher::Launcher;
use crate::agent::process_table::ProcessTable;
use crate::agent::registry::Agents;
use crate::agent::shared::SharedAgents;
use crate::attachments::Attachments;
use crate::bulk::Bulk;
use crate::clock::Clock;
use crate::feed::log_faults::LogFaults;
use crate::feed::presence::Subscribers;
use crate::feed::thread_list::ThreadListFeed;
use crate::host::Host;
use crate::ids::Ids;
use crate::live_limits::LiveLimits;
use crate::metrics::Metrics;
use crate::notify::Notifications;
use crate::observe::Sinks;
use crate::policy::book::PolicyBook;
use crate::policy::remembered::RememberedAnswers;
use crate::room::Room;
use crate::seen::Seen;
use crate::share::ShareStore;
use crate::unsent::UnsentAnswers;

/// The components that a [`Context`] is built from, before any thread is loaded.
#[derive(Debug)]
pub struct Parts {
    /// Stores all events.
    pub log: SharedLog,
    /// The agents that this daemon can start.
    pub agents: Agents,
    /// The limits from the configuration.
    pub limits: LiveLimits,
    /// Provides the wall time and the monotonic time.
    pub clock: Clock,
    /// Generates ids for threads and connections.
    pub ids: Ids,
    /// Runs processes and terminals.
    pub host: Arc<dyn Host>,
    /// The policies from the configuration; a reload of the configuration sends new ones.
    pub policies: watch::Receiver<PolicyBook>,
    /// Remembered answers that apply to all threads of an agent.
    pub answers: RememberedAnswers,
    /// What users have seen.
    pub seen: Seen,
    /// The files that clients attach to threads.
    pub attachments: Attachments,
    /// Files that agents must not open.
    pub reserved: Arc<Reserved>,
    /// Runs work that reads much of the log.
    pub bulk: Bulk,
    /// Stores the links with which threads are shared.
    pub shares: Arc<dyn ShareStore>,
    /// Where observations leave the daemon.
    pub sinks: Sinks,
    /// Receives the events of which people are notified.
    pub notifications: Notifications,
}

/// State that every thread of a daemon shares; cheap to clone.
#[derive(Debug, Clone)]
pub struct Context {
    /// Stores all events.
    pub log: SharedLog,
    /// The agents that this daemon can start, by name.
    pub agents: Arc<Agents>,
    /// The running agent processes.
    pub processes: ProcessTable,
    /// Agent processes that several threads share.
    pub shared: SharedAgents,
    /// Counters and gauges of the daemon.
    pub metrics: Arc<Metrics>,
    /// The limits from the configuration.
    pub limits: LiveLimits,
    /// Provides the wall time and the monotonic time.
    pub clock: Clock,
    /// Generates ids for threads and connections.
    pub ids: Ids,
    /// Runs processes and terminals.
    pub host: Arc<dyn Host>,
    /// The policies from the configuration; a reload of the configuration sends new ones.
    pub policies: watch::Receiver<PolicyBook>,
    /// Remembered answers that apply to all threads of an agent.
    pub answers: RememberedAnswers,
    /// What users have seen.
    pub seen: Seen,
    /// The files that clients attach to threads.
    pub attachments: Attachments,
    /// Publishes changes to the thread list.
    pub thread_list: ThreadListFeed,
    /// The threads whose log fails.
    pub log_faults: LogFaults,
    /// Files that agents must not open.
    pub reserved: Arc<Reserved>,
    /// Runs work that reads much of the log.
    pub bulk: Bulk,
    /// Stores the links with which threads are shared.
    pub shares: Arc<dyn ShareStore>,
    /// Where observations leave the daemon.
    pub sinks: Sinks,
    /// Receives the events of which people are notified.
    pub notifications: Notifications,
    /// The subscribers of each thread.
    pub subscribers: Subscribers,
    /// The room for batches that subscribers have not received yet.
    pub live_room: Room,
    /// The room for large answers that clients have not received yet.
    pub unsent: UnsentAnswers,
    /// Bytes of a thread's events after which it stores another snapshot of its state.
    pub snapshot_bytes: u64,
}

impl Context {
    /// Starts the tasks that all threads share. They end when the last clone of the context is dropped.
    pub fn open(parts: Parts) -> Self {
        let Parts {
            log,
            agents,
            limits,
            clock,
            ids,
            host,
            policies,
            answers,
            seen,
            attachments,
            reserved,
            bulk,
            shares,
            sinks,
            notifications,
        } = parts;
        let metrics = Arc::new(Metrics::new(log.clone()));
        let launcher = Launcher {
            host: Arc::clone(&host),
            limits: limits.clone(),
            clock,
            metrics: Arc::clone(&metrics),
            wire: sinks.wire.clone(),
        };
        let processes = ProcessTable::open(launcher.clone());
        Self {
            log,
            agents: Arc::new(agents),
            shared: SharedAgents::open(launcher, processes.clone()),
            processes,
            metrics,
            limits,
            clock,
            ids,
            host,
            policies,
            answers,
            seen,
            attachments,
            thread_list: ThreadListFeed::open(),
            log_faults: LogFaults::default(),
            subscribers: Subscribers::default(),
            reserved,
            bulk,
            shares,
            sinks,
            notifications,
            live_room: Room::new(LIVE_BYTES),
            unsent: UnsentAnswers::default(),
            snapshot_bytes: SNAPSHOT_BYTES,
        }
    }

    /// Runs a long read of the log where it delays no other task.
    pub(crate) async fn read_log<T, F>(&self, read: impl FnOnce(SharedLog) -> F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.bulk.run(read(self.log.clone())).await
    }

    /// Returns the gate of a new connection.
    pub fn gate(&self) -> Gate {
        let ids = self.ids.clone();
        Gate::new(self.limits.now(), Arc::new(move || ids.thread()))
    }

    pub(crate) fn launcher(&self) -> Launcher {
        Launcher {
            host: Arc::clone(&self.host),
            limits: self.limits.clone(),
            clock: self.clock,
            metrics: Arc::clone(&self.metrics),
            wire: self.sinks.wire.clone(),
        }
    }
}
