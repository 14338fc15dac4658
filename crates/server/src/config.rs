//! The configuration of the daemon.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use acpd_host::Reserved;
use acpd_log::Durability;
use acpd_model::Limits;
use acpd_policy::Policy;
use serde::Deserialize;

use crate::net::tls::TlsConfig;
use crate::notify::{NotificationsConfig, TargetConfig};
use acpd_runtime::agent::config::AgentConfig;
use acpd_runtime::agent::registry::AgentBook;
use acpd_runtime::agent::sandbox::SandboxSettings;
use acpd_runtime::policy::book::PolicyBook;
use acpd_runtime::retention::RetentionSettings;

/// The configuration of a daemon.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address for clients. An address beyond loopback needs TLS, or [`ServerConfig::insecure_listen`].
    pub listen: SocketAddr,
    /// Network settings.
    pub server: ServerConfig,
    /// Settings for Codex clients.
    pub codex: CodexConfig,
    /// Settings for traces.
    pub traces: TracesConfig,
    /// The directory of the log and the tokens. Agents cannot access it.
    pub data_dir: PathBuf,
    /// The path of the configuration file, even if the file does not exist. Agents cannot access it.
    pub config_file: Option<PathBuf>,
    /// The directory of recordings of the wire. Agents cannot access it.
    pub record_wire: Option<PathBuf>,
    /// The failures that a stored event survives.
    pub durability: Durability,
    /// Agents by name.
    pub agents: BTreeMap<String, AgentConfig>,
    /// The agent for editors that name none.
    pub default_agent: Option<String>,
    /// The demo agent, which this program contains.
    pub demo: Option<AgentConfig>,
    /// The approval policy for agents.
    pub policy: Option<Policy>,
    /// The sandbox settings for agents without their own.
    pub sandbox: SandboxSettings,
    /// The limits of this daemon.
    pub limits: Limits,
    /// The limits above which old data is removed.
    pub retention: RetentionSettings,
    /// The targets of notifications.
    pub notifications: NotificationsConfig,
    /// A program that calls [`acpd_host::keep`] for `PROGRAM keep RUN`. It terminates the agents of a daemon that was killed.
    /// With `None`, the next start of the daemon terminates them.
    pub keeper: Option<PathBuf>,
}

impl Config {
    /// Returns the agents of this configuration.
    pub fn agent_book(&self) -> AgentBook {
        AgentBook {
            configured: self.agents.clone(),
            sandbox: self.sandbox.clone(),
            default: self.default_agent.clone(),
            demo: self.demo.clone(),
        }
    }

    /// Returns the policies of this configuration.
    pub(crate) fn policy_book(&self) -> PolicyBook {
        PolicyBook::new(self.policy.clone(), &self.agents)
    }

    /// Returns the settings that differ from `other` and that a running daemon cannot change.
    pub(crate) fn fixed_changes(&self, other: &Self) -> Vec<&'static str> {
        let differs = [
            ("listen", self.listen != other.listen),
            ("data_dir", self.data_dir != other.data_dir),
            ("durability", self.durability != other.durability),
            ("server", self.server != other.server),
            ("codex", self.codex != other.codex),
            ("traces", self.traces != other.traces),
            (
                "limits.connections",
                self.limits.connections != other.limits.connections,
            ),
        ];
        let differing = differs.into_iter().filter(|(_, differs)| *differs);
        differing.map(|(name, _)| name).collect()
    }

    /// Returns the daemon's own files, which no agent can access.
    pub fn reserved(&self) -> Reserved {
        let key = self.server.tls.as_ref().and_then(|tls| tls.key.clone());
        let secrets = self.notifications.targets.values().flat_map(TargetConfig::files);
        let files = self
            .config_file
            .iter()
            .cloned()
            .chain(key)
            .chain(secrets)
            .collect();
        let directories = std::iter::once(&self.data_dir).chain(&self.record_wire);
        Reserved::new(directories.cloned().collect(), files)
    }
}

/// Network settings (`[server]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// Host names under which browsers reach the daemon, besides the names of this host: `name` or `name:port`.
    pub hosts: Vec<String>,
    /// Allows listening on the network without TLS.
    pub insecure_listen: bool,
    /// The certificate and the key.
    pub tls: Option<TlsConfig>,
}

/// Settings for Codex clients (`[codex]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodexConfig {
    /// An address for Codex clients alone, in addition to the daemon's address.
    pub listen: Option<SocketAddr>,
}

/// Settings for traces (`[traces]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TracesConfig {
    /// The address of an OpenTelemetry collector that receives spans: `http://HOST:PORT`. Without it, there are no traces.
    pub endpoint: Option<String>,
}
