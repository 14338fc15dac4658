//! What threads share, for tests: with a log in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use acpd_log::{Memory, SharedLog};
use acpd_model::Limits;
use tokio::sync::watch;

use crate::agent_config::AgentConfig;
use crate::agents::Agents;
use crate::clock::Clock;
use crate::context::Context;
use crate::metrics::Metrics;
use crate::policies::PolicyBook;
use crate::presence::Subscribers;
use crate::process_table::ProcessTable;
use crate::remembered::RememberedAnswers;
use crate::sandbox::SandboxSettings;
use crate::session_claims::SessionClaims;
use crate::shared::SharedAgents;
use crate::thread_list::ThreadListFeed;

/// With these agents; what must be in files is in `data_dir`.
pub fn context(data_dir: &Path, agents: BTreeMap<String, AgentConfig>, limits: Limits) -> Context {
    context_with_log(Arc::new(Memory::new()), data_dir, agents, limits)
}

/// The same, of this log.
pub fn context_with_log(
    log: SharedLog,
    data_dir: &Path,
    agents: BTreeMap<String, AgentConfig>,
    limits: Limits,
) -> Context {
    let (limits, clock) = (Arc::new(limits), Clock::new());
    let metrics = Arc::new(Metrics::new(log.clone()));
    let processes = ProcessTable::open(&limits, clock, Arc::clone(&metrics));
    Context {
        log,
        policies: watch::channel(PolicyBook::new(None, &agents)).1,
        agents: Arc::new(Agents::new(agents, SandboxSettings::default(), data_dir)),
        shared: SharedAgents::open(
            Arc::clone(&limits),
            clock,
            Arc::clone(&metrics),
            processes.clone(),
        ),
        metrics,
        processes,
        limits,
        clock,
        answers: RememberedAnswers::open(data_dir).unwrap(),
        thread_list: ThreadListFeed::new(),
        subscribers: Subscribers::default(),
        session_claims: SessionClaims::default(),
        reserved: Arc::default(),
    }
}
