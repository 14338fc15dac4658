//! The permission policies of the configuration, as threads see them while they may change.

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_policy::{Policy, Remembered};
use acpd_proto::thread::Policies;

use crate::agent::config::AgentConfig;

/// The policies of one state of the configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PolicyBook {
    daemon: Option<Policy>,
    agents: BTreeMap<String, Policy>,
    home: Option<String>,
}

impl PolicyBook {
    /// Those of a configuration.
    pub fn new(daemon: Option<Policy>, agents: &BTreeMap<String, AgentConfig>) -> Self {
        let agents = agents
            .iter()
            .filter_map(|(name, agent)| Some((name.clone(), agent.policy.clone()?)))
            .collect();
        Self {
            daemon,
            agents,
            home: std::env::var("HOME").ok(),
        }
    }

    /// The daemon's, and that of `agent`.
    pub fn layers(&self, agent: Option<&str>) -> [Option<&Policy>; 2] {
        [
            self.daemon.as_ref(),
            agent.and_then(|agent| self.agents.get(agent)),
        ]
    }

    /// Those that hold for a thread of `agent`, with the answers that hold for it.
    pub fn for_agent(&self, agent: &str, answers: Arc<Remembered>) -> Arc<Policies> {
        Arc::new(Policies {
            daemon: self.daemon.clone(),
            agent: self.agents.get(agent).cloned(),
            answers,
            home: self.home.clone(),
        })
    }
}
