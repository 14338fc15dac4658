//! The permission policies of the configuration, which threads read while they may change.

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_policy::{Policy, Remembered};
use acpd_proto::thread::Policies;

use crate::agent::config::AgentConfig;

/// The policies of one version of the configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PolicyBook {
    daemon: Option<Policy>,
    agents: BTreeMap<String, Policy>,
    home: Option<String>,
}

impl PolicyBook {
    /// Collects the policies of a configuration.
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

    /// Returns the daemon's policy and the policy of `agent`.
    pub fn layers(&self, agent: Option<&str>) -> [Option<&Policy>; 2] {
        [
            self.daemon.as_ref(),
            agent.and_then(|agent| self.agents.get(agent)),
        ]
    }

    /// Returns the policies for a thread of `agent`, together with the agent's remembered answers.
    pub fn for_agent(&self, agent: &str, answers: Arc<Remembered>) -> Arc<Policies> {
        Arc::new(Policies {
            daemon: self.daemon.clone(),
            agent: self.agents.get(agent).cloned(),
            answers,
            home: self.home.clone(),
        })
    }
}
