//! What threads share, for tests: with a log in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use acpd_log::{Memory, SharedLog};
use acpd_model::Limits;
use tokio::sync::watch;

use crate::agents::Agents;
use crate::answers::Answers;
use crate::board::Board;
use crate::clock::Clock;
use crate::config::AgentConfig;
use crate::metrics::Metrics;
use crate::policies::PolicyBook;
use crate::running::Running;
use crate::sandbox::SandboxSettings;
use crate::shared::SharedAgents;
use crate::starts::Starts;
use crate::subscribers::Subscribers;
use crate::thread::Surroundings;

/// With these agents; what must be in files is in `data_dir`.
pub fn surroundings(data_dir: &Path, agents: BTreeMap<String, AgentConfig>, limits: Limits) -> Surroundings {
    surroundings_of(Arc::new(Memory::new()), data_dir, agents, limits)
}

/// The same, of this log.
pub fn surroundings_of(
    log: SharedLog,
    data_dir: &Path,
    agents: BTreeMap<String, AgentConfig>,
    limits: Limits,
) -> Surroundings {
    let (limits, clock) = (Arc::new(limits), Clock::new());
    let metrics = Arc::new(Metrics::new(log.clone()));
    let running = Running::open(&limits, clock, Arc::clone(&metrics));
    Surroundings {
        log,
        policies: watch::channel(PolicyBook::new(None, &agents)).1,
        agents: Arc::new(Agents::new(agents, SandboxSettings::default(), data_dir)),
        shared: SharedAgents::open(Arc::clone(&limits), clock, Arc::clone(&metrics), running.clone()),
        metrics,
        running,
        limits,
        clock,
        answers: Answers::open(data_dir).unwrap(),
        board: Board::new(),
        subscribers: Subscribers::default(),
        starts: Starts::default(),
        reserved: Arc::default(),
    }
}
