//! What all threads of a daemon share.

use std::sync::Arc;

use acpd_log::SharedLog;
use acpd_model::Limits;
use tokio::sync::watch;

use crate::agent::process_table::ProcessTable;
use crate::agent::registry::Agents;
use crate::agent::shared::SharedAgents;
use crate::clock::Clock;
use crate::feed::presence::Subscribers;
use crate::feed::session_claims::SessionClaims;
use crate::feed::thread_list::ThreadListFeed;
use crate::metrics::Metrics;
use crate::policy::book::PolicyBook;
use crate::policy::remembered::RememberedAnswers;

/// What every thread of a daemon shares.
#[derive(Debug, Clone)]
pub struct Context {
    /// The memory.
    pub log: SharedLog,
    /// Agents by name.
    pub agents: Arc<Agents>,
    /// Their processes that run.
    pub processes: ProcessTable,
    /// Those whose processes are shared.
    pub shared: SharedAgents,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Every bound.
    pub limits: Arc<Limits>,
    /// The time.
    pub clock: Clock,
    /// What agents may do.
    pub policies: watch::Receiver<PolicyBook>,
    /// Answers that hold for all threads of an agent.
    pub answers: RememberedAnswers,
    /// Where threads say how they are listed.
    pub thread_list: ThreadListFeed,
    /// Who follows them.
    pub subscribers: Subscribers,
    /// Those that are being started with a session.
    pub session_claims: SessionClaims,
    /// Files that no agent gets at.
    pub reserved: Arc<acpd_host::Reserved>,
}
