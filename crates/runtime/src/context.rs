//! What the threads of a daemon share.

use std::sync::Arc;

use acpd_host::Reserved;
use acpd_log::SharedLog;
use acpd_model::Limits;
use tokio::sync::watch;

use crate::agent::launcher::Launcher;
use crate::agent::process_table::ProcessTable;
use crate::agent::registry::Agents;
use crate::agent::shared::SharedAgents;
use crate::clock::Clock;
use crate::feed::presence::Subscribers;
use crate::feed::session_claims::SessionClaims;
use crate::feed::thread_list::ThreadListFeed;
use crate::host::Host;
use crate::ids::Ids;
use crate::metrics::Metrics;
use crate::policy::book::PolicyBook;
use crate::policy::remembered::RememberedAnswers;

/// What a daemon is made of before any thread is awake.
#[derive(Debug)]
pub struct Parts {
    /// Stores all events.
    pub log: SharedLog,
    /// The agents that it knows.
    pub agents: Agents,
    /// The limits of its configuration.
    pub limits: Arc<Limits>,
    /// The time.
    pub clock: Clock,
    /// Makes ids.
    pub ids: Ids,
    /// Runs processes and terminals.
    pub host: Arc<dyn Host>,
    /// The policies of its configuration, which can change.
    pub policies: watch::Receiver<PolicyBook>,
    /// Answers that are remembered for agents.
    pub answers: RememberedAnswers,
    /// Files that agents may not open.
    pub reserved: Arc<Reserved>,
}

/// What every thread of a daemon shares.
#[derive(Debug, Clone)]
pub struct Context {
    /// Stores all events.
    pub log: SharedLog,
    /// Agents by name.
    pub agents: Arc<Agents>,
    /// Agents' processes that run.
    pub processes: ProcessTable,
    /// Processes that several threads share.
    pub shared: SharedAgents,
    /// Counters and gauges.
    pub metrics: Arc<Metrics>,
    /// The limits of the configuration.
    pub limits: Arc<Limits>,
    /// The time.
    pub clock: Clock,
    /// Makes ids.
    pub ids: Ids,
    /// Runs processes and terminals.
    pub host: Arc<dyn Host>,
    /// The policies of the configuration.
    pub policies: watch::Receiver<PolicyBook>,
    /// Answers that are remembered for agents.
    pub answers: RememberedAnswers,
    /// Changes of the thread list.
    pub thread_list: ThreadListFeed,
    /// Who subscribes to which thread.
    pub subscribers: Subscribers,
    /// Sessions that threads are being started with.
    pub session_claims: SessionClaims,
    /// Files that agents may not open.
    pub reserved: Arc<Reserved>,
}

impl Context {
    /// Starts the tasks that all threads share. They end with the last clone of the context.
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
            reserved,
        } = parts;
        let metrics = Arc::new(Metrics::new(log.clone()));
        let launcher = Launcher {
            host: Arc::clone(&host),
            limits: Arc::clone(&limits),
            clock,
            metrics: Arc::clone(&metrics),
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
            thread_list: ThreadListFeed::open(),
            subscribers: Subscribers::default(),
            session_claims: SessionClaims::default(),
            reserved,
        }
    }

    pub(crate) fn launcher(&self) -> Launcher {
        Launcher {
            host: Arc::clone(&self.host),
            limits: Arc::clone(&self.limits),
            clock: self.clock,
            metrics: Arc::clone(&self.metrics),
        }
    }
}
