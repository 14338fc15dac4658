//! What the daemon is told to do.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use acpd_host::Reserved;
use acpd_log::Durability;
use acpd_model::Limits;
use acpd_policy::Policy;
use serde::Deserialize;

use crate::net::tls::TlsConfig;
use acpd_runtime::agent::config::AgentConfig;
use acpd_runtime::sandbox::SandboxSettings;

/// Everything that a daemon needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where clients connect. Beyond loopback only with TLS, or where `server` says so.
    pub listen: SocketAddr,
    /// How the daemon stands in the network.
    pub server: ServerConfig,
    /// Where log and token live. Out of the reach of agents.
    pub data_dir: PathBuf,
    /// Where the configuration is read from, also while there is none. Out of the reach of agents.
    pub config_file: Option<PathBuf>,
    /// What a stored event survives.
    pub durability: Durability,
    /// Agents by name.
    pub agents: BTreeMap<String, AgentConfig>,
    /// The agent for editors that name none.
    pub default_agent: Option<String>,
    /// What agents may do.
    pub policy: Option<Policy>,
    /// How agents are confined that do not say so themselves.
    pub sandbox: SandboxSettings,
    /// Every bound.
    pub limits: Limits,
    /// A program that calls [`crate::keep`] for `PROGRAM keep RUN`; it ends the agents of a daemon that was
    /// killed. `None`: they are ended by the next start.
    pub keeper: Option<PathBuf>,
}

impl Config {
    /// The daemon's own files, which no agent gets at.
    pub fn reserved(&self) -> Reserved {
        let key = self.server.tls.as_ref().and_then(|tls| tls.key.clone());
        let files = self.config_file.iter().cloned().chain(key).collect();
        Reserved::new(vec![self.data_dir.clone()], files)
    }
}
/// How the daemon stands in the network (`[server]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// Names under which browsers reach the daemon, besides this machine's own: `name` or `name:port`.
    pub hosts: Vec<String>,
    /// Listens to the network without TLS.
    pub insecure_listen: bool,
    /// Certificate and key.
    pub tls: Option<TlsConfig>,
}
