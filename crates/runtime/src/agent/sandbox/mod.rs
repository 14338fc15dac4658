//! The sandbox of an agent and its terminals: translates the configuration to kernel rules.
//!
//! In: the agent's configuration, and its workspace. Out: a sandbox, or none, or an error that names the setting.
//! Never: grants access to the daemon's own files.

mod git;
mod git_config;
mod package;
mod places;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use acpd_catalog::{self as catalog, find_program};
use acpd_host::{Environment, Grants, Kernel, Network, Reserved, Sandbox, SandboxError, cut};
use acpd_model::Failure;
use serde::Serialize;

pub use settings::{Mode, SandboxSettings};

use crate::agent::config::AgentConfig;
use crate::agent::mcp::McpServer;
use places::Places;

/// The environment variable that tells programs which sandbox mode they run in.
const VARIABLE: &str = "ACPD_SANDBOX";

/// Whether an agent runs in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxState {
    /// The agent is confined.
    Confined(Mode),
    /// The agent is not confined, as configured.
    Off,
    /// The agent is not confined, because a sandbox is impossible; contains the reason.
    Impossible(&'static str),
}

const SHARED: &str = "one process serves several workspaces (share = true)";
const NO_LANDLOCK: &str = "this system has no Landlock";

impl AgentConfig {
    /// Returns whether the agent is confined: as configured, or else to the workspace where that is possible.
    pub fn sandbox_state(&self) -> SandboxState {
        match self.sandbox.mode {
            Some(Mode::Off) => SandboxState::Off,
            Some(mode) => SandboxState::Confined(mode),
            None if self.share => SandboxState::Impossible(SHARED),
            None if !Kernel::here().has_sandboxes() => SandboxState::Impossible(NO_LANDLOCK),
            None => SandboxState::Confined(Mode::Workspace),
        }
    }

    /// Returns the agent's sandbox for a workspace; `None` if it runs without one.
    pub fn confine(&self, reserved: &Reserved, workspace: &[PathBuf]) -> Result<Option<Sandbox>, Failure> {
        let confined = self.confine_with_grants(reserved, workspace)?;
        Ok(confined.map(|(sandbox, _)| sandbox))
    }

    fn confine_with_grants(
        &self,
        reserved: &Reserved,
        workspace: &[PathBuf],
    ) -> Result<Option<(Sandbox, Grants)>, Failure> {
        let SandboxState::Confined(mode) = self.sandbox_state() else {
            return Ok(None);
        };
        let grants = self.grants(mode, reserved, workspace);
        let sandbox = Sandbox::new(&grants).map_err(|error| refusal(&error))?;
        Ok(Some((sandbox, grants)))
    }

    /// Returns the directories of other known agents, in the home directory or where variables say.
    pub fn homes_of_others(&self) -> Vec<PathBuf> {
        // The agent's environment has no variables of other agents, so it cannot be used here.
        let env = Environment::here(&["*".to_owned()], &BTreeMap::new());
        let others = catalog::homes_of_others(&self.own_homes()).into_iter();
        others.filter_map(|place| Places(&env).path(place)).collect()
    }

    /// Returns the directories where the agent keeps its own files.
    fn own_homes(&self) -> Vec<&'static str> {
        let words = std::iter::once(&self.command).chain(&self.args);
        let recognized = || catalog::homes(words.map(String::as_str));
        self.homes.clone().unwrap_or_else(recognized)
    }

    /// Returns the variables that locate directories. Variables from a registry document do not count.
    fn variables(&self) -> BTreeMap<String, String> {
        let own = BTreeMap::new();
        let configured = if self.homes.is_some() { &own } else { &self.env };
        Environment::here(&self.pass_env, configured)
    }

    /// Returns the sandbox for a probe of the agent from `cwd`, in which no session is opened, and a summary for the user.
    pub fn confine_to_look(
        &self,
        reserved: &Reserved,
        cwd: &Path,
    ) -> (Result<Option<Sandbox>, Failure>, Confinement) {
        let within = self.confine_with_grants(reserved, &[cwd.to_owned()]);
        let reason = within.as_ref().err().map(|failure| failure.message.clone());
        let confined = within.or_else(|_| self.confine_with_grants(reserved, &[]));
        let grants = confined
            .as_ref()
            .ok()
            .and_then(Option::as_ref)
            .map(|(_, grants)| grants);
        let confinement = Confinement::new(self.sandbox_state(), grants, reason, &self.missing(), reserved);
        (
            confined.map(|confined| confined.map(|(sandbox, _)| sandbox)),
            confinement,
        )
    }

    /// Returns the same values for a sandbox that could not be examined.
    pub fn not_looked_at(&self, failure: Failure) -> (Result<Option<Sandbox>, Failure>, Confinement) {
        let reason = Some(failure.message.clone());
        let confinement = Confinement::new(self.sandbox_state(), None, reason, &[], &Reserved::default());
        (Err(failure), confinement)
    }

    /// Returns configured paths that do not exist, so that nothing is granted for them.
    fn missing(&self) -> Vec<String> {
        let env = self.variables();
        let lists = self.sandbox.read.iter().chain(&self.sandbox.write);
        let missing = lists.filter(|path| !listed(Places(&env), path).is_some_and(|path| path.exists()));
        missing.cloned().collect()
    }

    /// Returns the paths that the agent may write, besides the workspace.
    fn write(&self, places: Places<'_>) -> Vec<PathBuf> {
        let listed = self.sandbox.write.iter().filter_map(|path| listed(places, path));
        let homes = self
            .own_homes()
            .into_iter()
            .filter_map(|place| places.path(place));
        listed.chain(homes).chain(places.write()).collect()
    }

    /// Returns everything that the agent may use.
    fn grants(&self, mode: Mode, reserved: &Reserved, workspace: &[PathBuf]) -> Grants {
        let env = self.variables();
        let places = Places(&env);
        let of = |paths: &[String]| -> Vec<PathBuf> {
            paths.iter().filter_map(|path| listed(places, path)).collect()
        };
        for place in self.own_homes() {
            // A name with a dot inside is a file.
            if let (Some(home), None) = (places.path(place), Path::new(place).extension()) {
                places::make(&home);
            }
        }
        places.make_caches();
        let mut write = self.write(places);
        let (mut read, spared) = self.program_files(&env, reserved);
        read.extend(of(&self.sandbox.read));
        read.extend(places.read());
        let repositories: Vec<_> = workspace
            .iter()
            .filter_map(|directory| git::repository(directory))
            .filter(|repository| {
                !repository.ends_with(".git")
                    || !repository.parent().is_some_and(|root| places.holds_home(root))
            })
            .collect();
        let roots = workspace
            .iter()
            .filter_map(|directory| git::root(directory))
            .filter(|root| !places.holds_home(root));
        read.extend(roots.map(Path::to_owned));
        match mode {
            Mode::Readonly => read.extend(repositories),
            _ => write.extend(repositories),
        }
        let mut grants = Grants {
            workspace: workspace.to_vec(),
            readonly: mode == Mode::Readonly,
            read,
            write,
            withheld: reserved.paths().map(Path::to_owned).collect(),
            spared,
            network: self.sandbox.network.clone().unwrap_or_default(),
        };
        // References from a file that an agent may have written are ignored.
        let writable = grants.writable();
        let is_trusted = |file: &Path| !writable.decides(file);
        if let Some(home) = places.path("$HOME") {
            for config in ["$HOME/.gitconfig", "$XDG_CONFIG_HOME/git/config"] {
                let config = places.path(config).into_iter();
                let named = config.flat_map(|config| git_config::named_files(&config, &home, is_trusted));
                grants.read.extend(named);
            }
        }
        grants
    }

    /// Returns the readable files of the agent's program and its MCP servers: the programs, the files that their arguments name,
    /// and the packages of both. Also returns the install directory, which is inside the data directory.
    fn program_files(
        &self,
        env: &BTreeMap<String, String>,
        reserved: &Reserved,
    ) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let search = env.get("PATH").map(String::as_str).unwrap_or_default();
        let places = |command: &str| {
            let named = find_program(command, search).unwrap_or_else(|| command.into());
            let real = named.canonicalize().unwrap_or_else(|_| named.clone());
            [named, real]
        };
        let own = places(&self.command);
        let installed = reserved
            .directories()
            .flat_map(|data| own.iter().filter_map(|program| catalog::folder_of(data, program)))
            .collect();
        let servers: Vec<_> = self.mcp_servers.iter().filter_map(McpServer::program).collect();
        let others = servers.iter().flat_map(|server| places(&server.command));
        let programs: Vec<_> = own.into_iter().chain(others).collect();
        let own_arguments = self.args.iter().filter(|_| self.homes.is_none());
        let arguments = own_arguments.chain(servers.iter().flat_map(|server| &server.args));
        let scripts: Vec<_> = arguments
            .map(PathBuf::from)
            .filter(|path| path.is_absolute() && path.is_file())
            .collect();
        let packages = programs
            .iter()
            .chain(&scripts)
            .filter_map(|file| package::directory(file));
        let mut read: Vec<_> = programs
            .iter()
            .filter_map(|program| program.parent())
            .chain(packages)
            .map(Path::to_owned)
            .collect();
        read.retain(|directory| !Places(env).holds_home(directory));
        read.extend(programs);
        read.extend(scripts);
        (read, installed)
    }

    /// Returns the environment of the agent's process.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let mut env = Environment::here(&self.pass_env, &self.env);
        if let SandboxState::Confined(mode) = self.sandbox_state() {
            env.insert(VARIABLE.to_owned(), mode.name().to_owned());
        }
        env
    }
}

/// Resolves a path from the configuration.
fn listed(places: Places<'_>, path: &str) -> Option<PathBuf> {
    match path.strip_prefix('~') {
        Some(below) => places.path(&format!("$HOME{below}")),
        None => places.path(path),
    }
}

/// Returns the error for an impossible sandbox, with what to do.
fn refusal(error: &SandboxError) -> Failure {
    let off = "set sandbox = \"off\" for it in the configuration to run it without a sandbox";
    let what_to_do = match error {
        SandboxError::Contains { .. } | SandboxError::Inside { .. } => {
            format!("run it in another directory, such as that of a project, or {off}")
        }
        SandboxError::Unavailable | SandboxError::Elsewhere { .. } | SandboxError::System(_) => {
            off.to_owned()
        }
    };
    Failure::agent(format!("the agent cannot be confined: {error}")).with_detail(what_to_do)
}

/// Returns an error if the sandbox settings of a configuration conflict. `all` holds the settings for all agents.
pub fn check(agents: &BTreeMap<String, AgentConfig>, all: &SandboxSettings) -> Result<(), String> {
    let confined = |agent: &AgentConfig| !matches!(agent.sandbox.mode.or(all.mode), None | Some(Mode::Off));
    match agents.iter().find(|(_, agent)| agent.share && confined(agent)) {
        None => Ok(()),
        Some((name, _)) => Err(format!(
            "the agent {name:?} has share = true and a sandbox; {SHARED}, which a sandbox cannot follow: set sandbox = \"off\" for \
             it, or share = false"
        )),
    }
}

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
                for directory in closed_of(&config.write(Places(&config.variables())), reserved) {
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
    fn new(
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
