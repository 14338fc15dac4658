//! What threads share, for tests: with a log in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use acpd_log::{Memory, SharedLog};
use acpd_model::Limits;
use tokio::sync::watch;

use crate::agent::config::AgentConfig;
use crate::agent::process_table::ProcessTable;
use crate::agent::registry::Agents;
use crate::agent::shared::SharedAgents;
use crate::clock::Clock;
use crate::context::Context;
use crate::feed::presence::Subscribers;
use crate::feed::session_claims::SessionClaims;
use crate::feed::thread_list::ThreadListFeed;
use crate::metrics::Metrics;
use crate::policy::book::PolicyBook;
use crate::policy::remembered::RememberedAnswers;
use crate::sandbox::SandboxSettings;

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
    let (limits, clock) = (Arc::new(limits), Clock::start());
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
        answers: RememberedAnswers::open(data_dir).expect("answers are read"),
        thread_list: ThreadListFeed::open(),
        subscribers: Subscribers::default(),
        session_claims: SessionClaims::default(),
        reserved: Arc::default(),
    }
}
