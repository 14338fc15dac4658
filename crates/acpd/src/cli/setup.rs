//! Arguments of `acpd setup`.

use clap::Args;

#[derive(Debug, Args)]
pub struct SetupArgs {
    /// Agent of the file, as named by "acpd agents list"; may be repeated [default: all agents on this host]
    #[arg(long = "agent", short, value_name = "NAME")]
    pub agents: Vec<String>,
    /// The agent of commands that name none [default: the first that can be started]
    #[arg(long, value_name = "NAME")]
    pub default_agent: Option<String>,
    /// Install adapters that the agents need
    #[arg(long)]
    pub install: bool,
    /// Use the defaults without questions
    #[arg(long)]
    pub yes: bool,
    /// Replace an existing file, after copying it
    #[arg(long)]
    pub force: bool,
    /// Print the file instead of writing it
    #[arg(long, visible_alias = "dry-run", conflicts_with = "force")]
    pub print: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "print")]
    pub json: bool,
}
