//! The command-line arguments.

mod access;
mod agents;
mod backup;
mod codex;
mod config;
mod daemon;
mod doctor;
mod editors;
mod group;
pub mod help;
mod notifications;
mod service;
mod setup;
mod threads;
mod tools;
mod work;

use clap::{Parser, Subcommand};

pub use self::access::*;
pub use self::agents::*;
pub use self::backup::*;
pub use self::codex::CodexArgs;
pub use self::config::*;
pub use self::daemon::*;
pub use self::doctor::*;
pub use self::editors::*;
use self::group::Listed;
pub use self::notifications::*;
pub use self::service::*;
pub use self::setup::*;
pub use self::threads::*;
pub use self::tools::*;
pub use self::work::*;
use crate::options::Common;

/// Run coding agents in a daemon: many clients, one durable log
#[derive(Debug, Parser)]
#[command(name = "acpd", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// The commands, by their group in the help of `acpd`.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(flatten)]
    Work(Work),
    #[command(flatten)]
    Threads(Threads),
    #[command(flatten)]
    Agents(Agents),
    #[command(flatten)]
    Daemon(Daemon),
    #[command(flatten)]
    Tools(Tools),
    /// Terminate the agents of a daemon when the daemon exits; started by the daemon itself
    #[command(hide = true)]
    Keep(KeepArgs),
    /// Run the demo agent; started by the daemon itself
    #[command(hide = true)]
    DemoAgent(DemoAgentArgs),
}

/// Returns the groups in the help of `acpd`.
fn groups() -> [Listed; 5] {
    [
        Listed::of::<Work>(),
        Listed::of::<Threads>(),
        Listed::of::<Agents>(),
        Listed::of::<Daemon>(),
        Listed::of::<Tools>(),
    ]
}
