//! The configuration of one agent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use acpd_catalog::OwnNames;
use acpd_host::{Program, Sandbox};
use acpd_policy::Policy;
use acpd_proto::agent::Quirks;
use acpd_proto::projection::Chunks;
use serde::Deserialize;

use crate::agent::mcp::McpServer;
use crate::agent::sandbox::SandboxSettings;

/// The configuration of one agent: how to run it, and what it may do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// A program name to look up on `PATH`, or a path. Empty in the configuration of an agent of the registry, which says
    /// how the agent is run.
    #[serde(default)]
    pub command: String,
    /// Arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables to set.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables of the daemon's own environment to pass on, besides the usual ones; `NAME` or `PREFIX*`.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// The name that clients display.
    #[serde(default)]
    pub title: Option<String>,
    /// Whether one process serves many threads. Otherwise each thread has its own process.
    #[serde(default)]
    pub share: bool,
    /// Deviations of this agent from ACP, in addition to the known ones.
    #[serde(default)]
    pub quirks: Quirks,
    /// The mode of a session in which no user has chosen one. Without it, a known agent that would decide by itself what it
    /// may do gets its mode that asks.
    #[serde(default)]
    pub mode: Option<String>,
    /// How to record the agent's text if the client does not specify it: `merged`, unless it is `single`.
    #[serde(default)]
    pub chunks: Option<Chunks>,
    /// MCP servers for each session, in addition to the thread's own servers.
    #[serde(default)]
    pub mcp_servers: Vec<McpServer>,
    /// The policy for every thread of the agent.
    #[serde(default)]
    pub policy: Option<Policy>,
    /// The sandbox settings for the agent and its terminals.
    #[serde(default)]
    pub sandbox: SandboxSettings,
    /// The agent's own directories, if a registry document says how it is run. In that case neither its command line
    /// nor its variables open any other path.
    #[serde(skip)]
    pub homes: Option<Vec<&'static str>>,
    /// The names of the agent's own directories, if a registry document says how it is run.
    #[serde(skip)]
    pub names: OwnNames,
    /// Whether the agent confines its own commands, if a registry document says how it is run or where its program is.
    #[serde(skip)]
    pub confines_itself: Option<bool>,
}

impl AgentConfig {
    /// Returns this configuration, with the command line of an agent of the registry. The variables of the configuration
    /// take precedence.
    #[must_use]
    pub fn run_by(self, registry: Self) -> Self {
        Self {
            command: registry.command,
            args: registry.args,
            env: registry.env.into_iter().chain(self.env).collect(),
            pass_env: [registry.pass_env, self.pass_env].concat(),
            homes: registry.homes,
            names: registry.names,
            // Arguments and variables of the configuration are the user's.
            confines_itself: registry.confines_itself,
            ..self
        }
    }

    /// Returns the program to run in a directory.
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
