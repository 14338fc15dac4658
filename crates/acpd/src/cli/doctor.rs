//! Arguments of `acpd doctor`.

use clap::Args;

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Start each agent that needs no download, and check that it answers
    #[arg(long)]
    pub agents: bool,
    /// Fetch the registry of agents; without this option, nothing is connected to
    #[arg(long)]
    pub network: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
