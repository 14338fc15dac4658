//! What the daemon is told to do.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use acpd_host::{Program, Reserved, Sandbox};
use acpd_log::Durability;
use acpd_model::Limits;
use acpd_proto::agent::Quirks;
use acpd_proto::policy::Policy;
use acpd_proto::projection::Chunks;
use serde::Deserialize;

use crate::door::ServerConfig;
use crate::mcp::McpServer;
use crate::sandbox::SandboxSettings;

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

/// How to run one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// Name to look up on `PATH`, or a path.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables to set.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables of the daemon's own environment to pass on, besides the usual ones; `NAME` or `PREFIX*`.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// What people call it.
    #[serde(default)]
    pub title: Option<String>,
    /// Whether one process of it serves many threads; else each thread has one of its own.
    #[serde(default)]
    pub share: bool,
    /// What is odd about it, beside what is known of such an agent.
    #[serde(default)]
    pub quirks: Quirks,
    /// How its text is recorded, where a client does not say so: `merged`, unless it is `single`.
    #[serde(default)]
    pub chunks: Option<Chunks>,
    /// MCP servers for each of its sessions, beside those that a thread wants.
    #[serde(default)]
    pub mcp_servers: Vec<McpServer>,
    /// What it may do, for every thread.
    #[serde(default)]
    pub policy: Option<Policy>,
    /// How it and its terminals are confined.
    #[serde(default)]
    pub sandbox: SandboxSettings,
    /// Where it keeps its own files, if a registry's document says how it is run. Then neither its command line nor its variables
    /// open anything else.
    #[serde(skip)]
    pub homes: Option<Vec<&'static str>>,
}

impl AgentConfig {
    /// Its program in a directory.
    pub fn program(&self, cwd: PathBuf, sandbox: Option<Sandbox>) -> Program {
        Program {
            command: self.command.clone(),
            args: self.args.clone(),
            env: self.environment(),
            cwd,
            sandbox,
        }
    }
}
