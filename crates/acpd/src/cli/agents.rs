//! Arguments of the commands about agents.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// List configured agents, then agents of the registry
    List(AgentsListArgs),
    /// List running agent processes and their memory use
    Running(AgentsRunningArgs),
    /// Show the default agent, or set it in the configuration
    Default(AgentsDefaultArgs),
    /// Install an agent of the registry into the data directory
    Install(AgentsInstallArgs),
    /// Remove an installed agent from the data directory
    Uninstall(AgentsUninstallArgs),
    /// Download the current registry
    Update(AgentsUpdateArgs),
    /// Sign in to an agent in the terminal
    Login(AgentsLoginArgs),
    /// Start an agent and show its capabilities; exits with 0 if it works
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
