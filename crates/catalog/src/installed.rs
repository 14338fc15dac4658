//! An agent that acpd has installed.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// An installed agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Display name of the agent.
    pub name: String,
    /// Version of the installed package.
    pub version: String,
    /// Path of the agent's program.
    pub command: PathBuf,
    /// Packages whose install scripts were not run.
    pub scripts_left: Vec<String>,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) package: String,
    /// The agent's id in the registry.
    pub(super) id: String,
    pub(super) from_archive: bool,
}
