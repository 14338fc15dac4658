//! Arguments of the commands about agents.

use clap::{Args, Subcommand};

use super::codex::CodexArgs;
use super::editors::EditorsCommand;
use super::group::{Group, examples};

/// Commands about agents, and programs that use acpd as an agent.
#[derive(Debug, Subcommand)]
#[expect(clippy::enum_variant_names, reason = "they are the names of commands")]
pub enum Agents {
    /// List, install and check agents
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// List editors, and add acpd to their settings
    #[command(subcommand)]
    Editors(EditorsCommand),
    /// Run as an ACP agent for an editor, over standard input and output
    #[command(before_help = examples(["acpd acp --agent claude     # as the agent command of an editor"]))]
    Acp(AcpArgs),
    /// Check whether an agent follows the rules of ACP; exits with 0 if it violates none
    #[command(before_help = examples([
        "acpd acp-check ./my-agent --acp",
        "acpd acp-check --markdown npx @agentclientprotocol/claude-agent-acp",
        "acpd acp-check --json --protocol 2 ./my-agent | jq '.rows[] | select(.verdict == \"violated\")'",
    ]))]
    AcpCheck(AcpCheckArgs),
    /// Run the Codex TUI with the agents of the daemon, or a pipe for programs that start Codex
    #[command(before_help = examples([
        "acpd codex --agent claude",
        "acpd codex \"fix the failing test\"",
        "acpd codex resume",
        "acpd codex app-server        # as the codex program of an extension or SDK",
    ]))]
    Codex(CodexArgs),
}

impl Group for Agents {
    const HEADING: &'static str = "Agents and editors";
    const ON_HOST: &'static [&'static str] =
        &["agents uninstall", "agents update", "agents login", "editors"];
    const WITHOUT_DAEMON: &'static [&'static str] = &["acp-check"];
}

#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// List configured agents, then agents of the registry
    #[command(before_help = examples([
        "acpd agents list",
        "acpd agents list --json | jq -r 'select(.installed).id'",
    ]))]
    List(AgentsListArgs),
    /// List running agent processes and their memory use
    #[command(before_help = examples(["acpd agents running"]))]
    Running(AgentsRunningArgs),
    /// Show the default agent, or set it in the configuration
    #[command(before_help = examples(["acpd agents default", "acpd agents default gemini"]))]
    Default(AgentsDefaultArgs),
    /// Install an agent of the registry into the data directory
    #[command(before_help = examples(["acpd agents install goose"]))]
    Install(AgentsInstallArgs),
    /// Remove an installed agent from the data directory
    #[command(before_help = examples(["acpd agents uninstall goose"]))]
    Uninstall(AgentsUninstallArgs),
    /// Download the current registry
    #[command(before_help = examples(["acpd agents update"]))]
    Update(AgentsUpdateArgs),
    /// Sign in to an agent in the terminal
    #[command(before_help = examples(["acpd agents login claude-code"]))]
    Login(AgentsLoginArgs),
    /// Start an agent and show its capabilities; exits with 0 if it works
    #[command(before_help = examples(["acpd agents doctor gemini"]))]
    Doctor(AgentsDoctorArgs),
}

#[derive(Debug, Args)]
pub struct AgentsListArgs {
    /// Print JSON, one agent per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AgentsRunningArgs {
    /// Print JSON, one process per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AgentsDefaultArgs {
    /// Agent of clients that name none, as named by "acpd agents list" [default: print the current one]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Remove the setting
    #[arg(long, conflicts_with = "name")]
    pub none: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AgentsInstallArgs {
    /// Agent, as named by "acpd agents list"
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Install a download that has no checksum in the registry
    #[arg(long)]
    pub unverified: bool,
    /// Run install scripts and builds of packages without asking, in a sandbox where there is one
    #[arg(long)]
    pub run_scripts: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AgentsUninstallArgs {
    /// Agent, as named by "acpd agents list"
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AgentsUpdateArgs {
    /// URL of the registry document [default: the configured URL, or the official one]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AgentsLoginArgs {
    /// Agent, as named by "acpd agents list"
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Authentication method, if the agent has several
    #[arg(value_name = "METHOD")]
    pub method: Option<String>,
    /// Run the command without confirmation
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct AgentsDoctorArgs {
    /// Agent, as named by "acpd agents list"
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AcpArgs {
    /// Agent, as named by "acpd agents list" [default: the configured default, or the only configured agent]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Continue this thread in the editor's first new session; as in "acpd show"
    #[arg(long, value_name = "THREAD")]
    pub thread: Option<String>,
}

#[derive(Debug, Args)]
pub struct AcpCheckArgs {
    /// Print JSON, one object
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print a Markdown table
    #[arg(long)]
    pub markdown: bool,
    /// Version of ACP to check [default: 1 and 2]
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u8).range(1..=2))]
    pub protocol: Option<u8>,
    /// Prompt of turns that end by themselves
    #[arg(long, value_name = "TEXT", default_value = acpd_acp_check::PROMPT)]
    pub prompt: String,
    /// Prompt of turns that are cancelled
    #[arg(long, value_name = "TEXT", default_value = acpd_acp_check::LONG_PROMPT)]
    pub long_prompt: String,
    /// Sign in with this method of the agent first
    #[arg(long, value_name = "METHOD")]
    pub sign_in: Option<String>,
    /// Grant the agent's requests for permission, instead of rejecting them
    #[arg(long)]
    pub allow: bool,
    /// Time for an answer, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,
    /// Time for a turn, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub turn_timeout: u64,
    /// Command line of the agent
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub command: Vec<String>,
}
