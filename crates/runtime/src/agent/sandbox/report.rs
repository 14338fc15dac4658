//! What users see of sandboxes: the log, the doctor, and messages about closed directories.
//!
//! In: sandboxes and their grants. Out: texts. Never: changes what is granted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use acpd_host::{Grants, Kernel, Network, Reserved, Walks, cut};
use serde::Serialize;

use super::places::Places;
use super::{Mode, SandboxSettings, SandboxState};
use crate::agent::config::AgentConfig;

/// Returns the directories of `write` in which agents cannot create new files.
fn closed_of(write: &[PathBuf], reserved: &Reserved) -> Vec<PathBuf> {
    let there = cut(write, reserved).filter(|path| path.exists());
    there.cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns a message about such a directory: what does not work, and how to fix it.
pub fn closed(directory: &Path) -> String {
    format!(
        "agents cannot make new files directly in {}, because acpd's own files are in it: move the data directory and the configuration \
         elsewhere",
        directory.display()
    )
}

/// Logs which agents are not confined, and what the kernel does not enforce.
pub fn announce(agents: &BTreeMap<String, AgentConfig>, all: &SandboxSettings, reserved: &Reserved) {
    let kernel = Kernel::here();
    let mut known: Vec<_> = agents
        .iter()
        .map(|(name, agent)| (name.as_str(), agent.clone()))
        .collect();
    known.push(("every other agent", AgentConfig::default()));
    for (agent, mut config) in known {
        config.sandbox = config.sandbox.over(all);
        match config.sandbox_state() {
            SandboxState::Off => tracing::info!(agent, "runs without a sandbox, as configured"),
            SandboxState::Impossible(why) => tracing::warn!(agent, why, "runs without a sandbox"),
            SandboxState::Confined(_) => {
                let network = config.sandbox.network.clone().unwrap_or_default();
                for gap in kernel.gaps(&network) {
                    tracing::warn!(agent, gap, "this kernel does not enforce all of the sandbox");
                }
                let (env, walks) = (config.variables(), Walks::default());
                for directory in closed_of(&config.write(Places(&env, &walks)), reserved) {
                    tracing::warn!(agent, "{}", closed(&directory));
                }
            }
        }
    }
}

/// A summary of an agent's sandbox, for the user.
#[derive(Debug, Clone, Serialize)]
pub struct Confinement {
    /// `workspace`, `readonly` or `off`.
    pub mode: &'static str,
    /// The reason why there is no sandbox although none was turned off, or why one is impossible here.
    pub reason: Option<String>,
    /// Rules of the sandbox that the kernel does not enforce.
    pub gaps: Vec<&'static str>,
    /// Readable paths, besides the writable ones.
    pub read: Vec<PathBuf>,
    /// Writable paths, besides the workspace.
    pub write: Vec<PathBuf>,
    /// `on`, `off`, or ports.
    pub network: String,
    /// Paths of the configuration that do not exist.
    pub missing: Vec<String>,
    /// Writable directories in which agents cannot create new files, because acpd's own files are in them.
    pub closed: Vec<PathBuf>,
}

impl Confinement {
    pub(super) fn new(
        state: SandboxState,
        grants: Option<&Grants>,
        reason: Option<String>,
        missing: &[String],
        reserved: &Reserved,
    ) -> Self {
        let (mode, cannot) = match state {
            SandboxState::Confined(mode) => (mode, None),
            SandboxState::Off => (Mode::Off, None),
            SandboxState::Impossible(why) => (Mode::Off, Some(why.to_owned())),
        };
        let there = |paths: &[PathBuf]| -> Vec<PathBuf> {
            let mut paths: Vec<_> = paths.iter().filter(|path| path.exists()).cloned().collect();
            paths.sort();
            paths.dedup();
            paths
        };
        Self {
            mode: mode.name(),
            reason: reason.or(cannot),
            gaps: grants
                .map(|grants| Kernel::here().gaps(&grants.network))
                .unwrap_or_default(),
            read: grants.map(|grants| there(&grants.read)).unwrap_or_default(),
            write: grants.map(|grants| there(&grants.write)).unwrap_or_default(),
            network: match grants.map(|grants| &grants.network) {
                None | Some(Network::On) => "on".to_owned(),
                Some(Network::Off) => "off".to_owned(),
                Some(Network::Ports(ports)) => ports
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", "),
            },
            missing: missing.to_vec(),
            closed: grants
                .map(|grants| closed_of(&grants.write, reserved))
                .unwrap_or_default(),
        }
    }
}
