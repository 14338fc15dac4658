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
use crate::agent::sandbox_settings::SandboxSettings;

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
    /// Where the agent's process starts.
    #[serde(default)]
    pub start_in: StartIn,
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
    /// The directory in which the process starts, if that is not the workspace.
    #[serde(skip)]
    pub start_directory: Option<PathBuf>,
}

/// Where an agent's process starts. Its session works in the thread's directory in any case: the agent receives it with
/// `session/new`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StartIn {
    /// In an empty directory. What starts the agent, such as npx, a version manager or an interpreter, reads settings and
    /// programs of its working directory, and would run those of a workspace before the user asks for anything.
    #[default]
    Empty,
    /// In the workspace, for an agent that works in the directory of its process alone.
    Workspace,
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

    /// Returns the program to run for a workspace.
    pub fn program(&self, workspace: PathBuf, sandbox: Option<Sandbox>) -> Program {
        Program {
            command: self.command.clone(),
            args: self.args.clone(),
            env: self.environment(),
            cwd: self.start_directory.clone().unwrap_or(workspace),
            sandbox,
        }
    }

    /// Makes the directory in which the process starts. Nothing can be put there later. If that fails, the process cannot be
    /// started.
    pub fn make_start_directory(&self) {
        use std::os::unix::fs::DirBuilderExt;
        let Some(directory) = &self.start_directory else {
            return;
        };
        let mut builder = std::fs::DirBuilder::new();
        if let Some(data_dir) = directory.parent() {
            let _ = builder.recursive(true).mode(0o700).create(data_dir);
        }
        let _ = builder.recursive(false).mode(0o500).create(directory);
    }
}
