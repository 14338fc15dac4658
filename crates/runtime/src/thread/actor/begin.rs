//! Preparation for starting a thread's agent.
//!
//! In: a thread's spec. Out: the agent's configuration, its sandbox and its open workspace. Never: starts a process. It
//! blocks on the disk.

use std::path::Path;
use std::sync::Arc;

use acpd_host::{Reserved, Sandbox, Workspace};
use acpd_model::Failure;
use acpd_proto::projection::Spec;

use crate::agent::config::AgentConfig;
use crate::agent::registry::{Agents, Runnable};
use crate::host::callbacks;
use crate::host::paths;

/// Everything that is needed to start an agent.
pub struct Begun {
    pub config: AgentConfig,
    pub sandbox: Option<Sandbox>,
    /// The thread's directories, without reserved files and without other agents' own directories.
    pub workspace: Workspace,
}

/// Finds a thread's agent, prepares its sandbox and opens its workspace. Blocks on the disk.
pub fn begin_agent(agents: &Agents, reserved: &Reserved, spec: &Spec) -> Result<Begun, Failure> {
    let Runnable { config, .. } = agents.find(&spec.agent)?;
    let sandbox = config.confine(reserved, &callbacks::directories(spec))?;
    let workspace = paths::open(spec, sandbox.as_ref())?;
    let directories: Vec<_> = workspace.real_directories().map(Path::to_owned).collect();
    let reserved = reserved.and(config.homes_of_others(), &directories);
    Ok(Begun {
        workspace: workspace.without(Arc::new(reserved)),
        config,
        sandbox,
    })
}
