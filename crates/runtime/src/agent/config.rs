//! How one agent is run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use acpd_host::{Program, Sandbox};
use acpd_policy::Policy;
use acpd_proto::agent::Quirks;
use acpd_proto::projection::Chunks;
use serde::Deserialize;

use crate::agent::mcp::McpServer;
use crate::sandbox::SandboxSettings;

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
