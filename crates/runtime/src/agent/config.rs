//! The configuration of one agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use acpd_catalog::OwnNames;
use acpd_host::{Program, Sandbox};
use acpd_model::section::{About, Folder, Reload, Section, Setting};
use acpd_policy::Policy;
use acpd_proto::agent::{AcpVersion, ElicitationModes, Quirks};
use acpd_proto::projection::Chunks;
use serde::Deserialize;

use crate::agent::mcp::McpServer;
use crate::agent::sandbox_settings::SandboxSettings;
use crate::agent::system_prompt::SystemPromptSetting;

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
    /// The versions of ACP that the agent is offered.
    #[serde(default)]
    pub acp: AcpVersion,
    /// Deviations of this agent from ACP, in addition to the known ones.
    #[serde(default)]
    pub quirks: Quirks,
    /// The mode of a session in which no user has chosen one. Without it, a known agent that would decide by itself what it
    /// may do gets its mode that asks.
    #[serde(default)]
    pub mode: Option<String>,
    /// The system prompt of a session for which no client has one.
    #[serde(default)]
    pub system_prompt: Option<SystemPromptSetting>,
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

impl Section for AgentConfig {
    const ABOUT: About = About {
        reload: Reload::Live,
        settings: &[
            Setting::new(
                "NAME.command",
                "program on `PATH`, or path",
                "that of the registry, if it knows `NAME`",
            ),
            Setting::new("NAME.args", "list of texts", "none"),
            Setting::new("NAME.env", "table of texts", "none"),
            Setting::new(
                "NAME.pass_env",
                "list of `\"NAME\"` or `\"PREFIX*\"`",
                "none; for known agents, their vendor's",
            ),
            Setting::new("NAME.title", "text", "the agent's own"),
            Setting::new(
                "NAME.start_in",
                "`\"empty\"`, `\"workspace\"`: [Start directory](agents.md#start-directory)",
                "`\"empty\"`",
            ),
            Setting::new("NAME.share", "`true`, `false`", "`false`"),
            Setting::new(
                "NAME.acp",
                "`\"auto\"`, `1`, `2`: [ACP versions](agents.md#acp-versions)",
                "`\"auto\"`",
            ),
            Setting::new("NAME.chunks", "`\"merged\"`, `\"single\"`", "`\"merged\"`"),
            Setting::new("NAME.quirks", "table: [Quirks](#quirks)", "none"),
            Setting::new(
                "NAME.mode",
                "one of the agent's modes: [Modes](agents.md#modes)",
                "the agent's own; for known agents, one that asks",
            ),
            Setting::new(
                "NAME.system_prompt",
                "text, or table of `content` and `mode`: [System prompt](agents.md#system-prompt)",
                "none",
            ),
            Setting::new("NAME.policy", "as `policy` above", "that for all agents"),
            Setting::new("NAME.sandbox", "as `sandbox` above", "that for all agents"),
            Setting::new(
                "NAME.mcp_servers",
                "list of tables: [MCP servers](#mcp-servers)",
                "none",
            ),
        ],
        template: r#"# Agents. Those of the registry ("acpd agents list") need no section: one without a command only refines them.
[agents]
# An agent of your own: any program that speaks ACP over standard input and output.
#example = { command = "my-agent", args = ["--acp"], title = "My agent" }
"#,
    };

    fn check(&self, key: &str) -> Vec<String> {
        let prompt = self.system_prompt.as_ref().map(SystemPromptSetting::to_acp);
        let prompt = prompt.and_then(Result::err);
        let prompt = prompt.map(|failure| format!("{key}.system_prompt: {}", failure.message));
        self.validate(key).err().into_iter().chain(prompt).collect()
    }

    fn resolve(&mut self, folder: &Folder) {
        self.command = folder.resolve_program(&self.command);
        for server in &mut self.mcp_servers {
            if let McpServer::Program(program) = server {
                program.command = folder.resolve_program(&program.command);
            }
        }
    }
}

impl AgentConfig {
    /// Checks the command line.
    fn validate(&self, key: &str) -> Result<(), String> {
        let command = &self.command;
        if self.share && self.acp == AcpVersion::Two {
            return Err(format!(
                "{key} has share = true and acp = 2, and a shared process speaks version 1: remove one of them"
            ));
        }
        if command.is_empty() && !self.args.is_empty() {
            return Err(format!(
                "{key} has args and no command: add the command, or remove args to run the agent of the registry"
            ));
        }
        let mut words = command.split_whitespace();
        let first = words.next().unwrap_or_default();
        let others: Vec<String> = words.map(|word| format!("{word:?}")).collect();
        if others.is_empty() || Path::new(command).exists() {
            return Ok(());
        }
        Err(format!(
            "{key}.command is {command:?}: a command is one program; write command = {first:?} and args = [{}]",
            others.join(", ")
        ))
    }

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

    /// Returns the modes of elicitation to offer to a process that starts for clients that can show `shown`. A shared process is
    /// offered all: a client of a later thread may show what that of the first one cannot.
    pub fn offered(&self, shown: ElicitationModes) -> ElicitationModes {
        if self.share { ElicitationModes::ALL } else { shown }
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
