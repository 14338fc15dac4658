//! The sandbox of an agent and its terminals: translates the configuration to kernel rules.
//!
//! In: the agent's configuration, and its workspace. Out: a sandbox, or none, or an error that names the setting.
//! Never: grants access to the daemon's own files.

mod denial;
mod folder;
mod git;
mod git_config;
mod installer;
mod interpreter;
mod own_directories;
mod package;
mod places;
mod programs;
mod report;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use acpd_catalog::{self as catalog, OwnNames, find_program};
use acpd_host::{
    Environment, Grants, Kernel, Reserved, Sandbox, SandboxError, Walk, Walks, Writable, check_descriptors,
};
use acpd_model::{ErrorCode, Failure};

pub use crate::agent::sandbox_settings::{Mode, SandboxSettings};
pub use denial::denied_paths;
pub use folder::ClosedFolder;
pub use installer::for_installer;
pub use report::{Confinement, announce, closed};

use crate::agent::config::AgentConfig;
use crate::agent::mcp::{McpServer, ServerCommand};
use interpreter::Finder;
use own_directories::OwnDirectories;
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

/// The folders that a sandbox opens like the workspace, by the walks that it was made with.
pub type Folders = Vec<Arc<Walk>>;

const SHARED: &str = "one process serves several workspaces (share = true)";
const NO_LANDLOCK: &str = "this system has no Landlock";
const CONFINES_ITSELF: &str = "it confines its commands with a sandbox of its own, which does not work inside acpd's sandbox; set sandbox \
     = \"workspace\" for it to use acpd's sandbox instead";

impl AgentConfig {
    /// Returns whether the agent is confined: as configured, or else to the workspace where that is possible.
    pub fn sandbox_state(&self) -> SandboxState {
        match self.sandbox.mode {
            Some(Mode::Off) => SandboxState::Off,
            Some(mode) => SandboxState::Confined(mode),
            None if self.share => SandboxState::Impossible(SHARED),
            None if self.uses_own_sandbox() => SandboxState::Impossible(CONFINES_ITSELF),
            None if !Kernel::here().has_sandboxes() => SandboxState::Impossible(NO_LANDLOCK),
            None => SandboxState::Confined(Mode::Workspace),
        }
    }

    /// Returns whether the agent runs without acpd's sandbox because it confines its own commands.
    pub fn uses_own_sandbox(&self) -> bool {
        self.sandbox.mode.is_none() && !self.share && self.confines_itself()
    }

    /// Returns the agent's sandbox for a workspace; `None` if it runs without one. `servers` are the MCP servers of its session, and
    /// `attachments` are the directories with the files of its prompts. Makes the directories that the agent needs.
    pub fn confine(
        &self,
        reserved: &Reserved,
        workspace: &[PathBuf],
        servers: &[ServerCommand],
        attachments: &[PathBuf],
    ) -> Result<Option<Sandbox>, Failure> {
        let confined = self.confine_with_grants(reserved, workspace, servers, attachments)?;
        Ok(confined.map(|(sandbox, _)| sandbox))
    }

    /// Returns the same sandbox, and the folders that it opens like the workspace.
    pub fn confine_with_folders(
        &self,
        reserved: &Reserved,
        workspace: &[PathBuf],
        servers: &[ServerCommand],
        attachments: &[PathBuf],
    ) -> Result<Option<(Sandbox, Folders)>, Failure> {
        let confined = self.confine_with_grants(reserved, workspace, servers, attachments)?;
        Ok(confined.map(|(sandbox, grants)| {
            let env = self.variables();
            let folders = self.folders(Places(&env, &grants.walks));
            let folders = folders.iter().filter_map(|folder| grants.walks.along(folder));
            (sandbox, folders.collect())
        }))
    }

    fn confine_with_grants(
        &self,
        reserved: &Reserved,
        workspace: &[PathBuf],
        servers: &[ServerCommand],
        attachments: &[PathBuf],
    ) -> Result<Option<(Sandbox, Grants)>, Failure> {
        self.make_start_directory();
        let SandboxState::Confined(mode) = self.sandbox_state() else {
            return Ok(None);
        };
        check_descriptors().map_err(|error| {
            let reason = format!("the agent cannot be confined: {error}");
            Failure::new(ErrorCode::Overloaded, reason)
        })?;
        let mut grants = self.grants(mode, reserved, workspace, servers);
        grants.spared.extend_from_slice(attachments);
        let sandbox = Sandbox::new(&grants).map_err(|error| refusal(&error))?;
        Ok(Some((sandbox, grants)))
    }

    /// Returns the directories of other known agents, in the home directory or where variables say.
    pub fn homes_of_others(&self) -> Vec<PathBuf> {
        // The agent's environment has no variables of other agents, so it cannot be used here.
        let env = Environment::here(&["*".to_owned()], &BTreeMap::new());
        let others = catalog::homes_of_others(&self.own_homes()).into_iter();
        let walks = Walks::default();
        others
            .filter_map(|place| Places(&env, &walks).path(place))
            .collect()
    }

    /// Returns the words of the agent's command line.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> + Clone {
        std::iter::once(&self.command)
            .chain(&self.args)
            .map(String::as_str)
    }

    /// Returns the directories where the agent keeps its own files.
    fn own_homes(&self) -> Vec<&'static str> {
        let recognized = || catalog::homes(self.words());
        self.homes.clone().unwrap_or_else(recognized)
    }

    /// Returns the names of the agent's own directories.
    fn own_names(&self) -> OwnNames {
        match self.homes {
            Some(_) => self.names.clone(),
            None => catalog::own_names(self.words()),
        }
    }

    /// Returns whether the agent confines its own commands, in a way that does not work inside acpd's sandbox.
    fn confines_itself(&self) -> bool {
        self.confines_itself
            .unwrap_or_else(|| catalog::confines_itself(self.words()))
    }

    /// Returns the variables that locate directories. Variables from a registry document do not count.
    fn variables(&self) -> BTreeMap<String, String> {
        let own = BTreeMap::new();
        let configured = if self.homes.is_some() { &own } else { &self.env };
        Environment::here(&self.pass_env, configured)
    }

    /// Returns where the agent looks for programs.
    pub fn search_path(&self) -> String {
        self.variables().remove("PATH").unwrap_or_default()
    }

    /// Returns the variables of the agent, and those of the daemon. An agent may have a home directory of its own in the configuration,
    /// and what the user has is where the daemon's variables say.
    fn environments(&self) -> [BTreeMap<String, String>; 2] {
        let own = Environment::here(&["*".to_owned()], &BTreeMap::new());
        [self.variables(), own]
    }

    /// Returns whether a path concerns keys or passwords, of the agent or of the user.
    fn touches_secrets(&self, walks: &Walks, path: &Path) -> bool {
        let environments = self.environments();
        let mut places = environments.iter().map(|env| Places(env, walks));
        places.any(|places| places.touches_secrets(path))
    }

    /// Returns the sandbox for a probe of the agent from `cwd`, in which no session is opened, and a summary for the user.
    pub fn confine_to_look(
        &self,
        reserved: &Reserved,
        cwd: &Path,
    ) -> (Result<Option<Sandbox>, Failure>, Confinement) {
        let within = self.confine_with_grants(reserved, &[cwd.to_owned()], &[], &[]);
        let reason = within.as_ref().err().map(|failure| failure.message.clone());
        let confined = within.or_else(|_| self.confine_with_grants(reserved, &[], &[], &[]));
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
        let (env, walks) = (self.variables(), Walks::default());
        let places = Places(&env, &walks);
        let SandboxSettings {
            read, write, folders, ..
        } = &self.sandbox;
        let lists = read.iter().chain(write).chain(folders);
        let missing = lists.filter(|path| !listed(places, path).is_some_and(|path| path.exists()));
        missing.cloned().collect()
    }

    /// Returns the paths that the agent may write, besides the workspace.
    fn write(&self, places: Places<'_>) -> Vec<PathBuf> {
        let listed = self.sandbox.write.iter().filter_map(|path| listed(places, path));
        let homes = self
            .own_homes()
            .into_iter()
            .filter_map(|place| places.path(place))
            .filter(|home| !places.is_led_astray(home));
        listed.chain(homes).chain(places.write()).collect()
    }

    /// Returns the folders that are open like the workspace. An agent may have named them, and another one may have replaced one since
    /// the owner has allowed it: a link that is there now opens nothing.
    fn folders(&self, places: Places<'_>) -> Vec<PathBuf> {
        let listed = self
            .sandbox
            .folders
            .iter()
            .filter_map(|path| listed(places, path));
        let is_itself = |folder: &PathBuf| {
            places
                .along(folder)
                .is_some_and(|walk| walk.is_directory() && walk.links().is_empty())
        };
        listed.filter(is_itself).collect()
    }

    /// Returns everything that the agent may use.
    fn grants(
        &self,
        mode: Mode,
        reserved: &Reserved,
        workspace: &[PathBuf],
        servers: &[ServerCommand],
    ) -> Grants {
        let (env, walks) = (self.variables(), Walks::default());
        let places = Places(&env, &walks);
        let mut write = self.write_and_make(places, reserved);
        let (mut read, repositories) = worktrees(places, workspace);
        let open = repositories.into_iter().chain(self.folders(places));
        match mode {
            Mode::Readonly => read.extend(open),
            _ => write.extend(open),
        }
        // References from a file that an agent may have written are ignored.
        let writable = Writable::new(&walks, write.iter().chain(workspace));
        let is_trusted = |file: &Path| !writable.decides(file);
        let finder = Finder {
            places,
            search: env.get("PATH").map(String::as_str).unwrap_or_default(),
            is_trusted: &is_trusted,
        };
        read.extend(self.program_files(&finder));
        if let Some(home) = places.path("$HOME") {
            for config in ["$HOME/.gitconfig", "$XDG_CONFIG_HOME/git/config"] {
                let config = places.path(config).into_iter();
                read.extend(
                    config.flat_map(|config| git_config::named_files(&walks, &config, &home, is_trusted)),
                );
            }
        }
        read.retain(|path| !places.is_led_astray(path));
        read.extend(self.sandbox.read.iter().filter_map(|path| listed(places, path)));
        read.extend(places.read());
        let of_servers = servers
            .iter()
            .flat_map(|server| programs::files_of_session(&finder, &server.command, &server.args));
        let of_servers: Vec<_> = of_servers.collect();
        let granted = [&read[..], &write, workspace].concat();
        read.extend(additional(&walks, of_servers, &granted));
        Grants {
            workspace: workspace.to_vec(),
            readonly: mode == Mode::Readonly,
            read,
            withheld: reserved.paths().map(Path::to_owned).collect(),
            spared: self.spared(places, reserved),
            target: None,
            network: self.sandbox.network.clone().unwrap_or_default(),
            write,
            walks,
        }
    }

    /// Returns the paths that the agent may write, besides the workspace. Makes its own directories and the caches of
    /// toolchains.
    fn write_and_make(&self, places: Places<'_>, reserved: &Reserved) -> Vec<PathBuf> {
        for place in self.own_homes() {
            // A name with a dot inside is a file.
            if let (Some(home), None) = (places.path(place), Path::new(place).extension()) {
                places::make(&home);
            }
        }
        places.make_caches();
        let search = places.0.get("PATH").map(String::as_str).unwrap_or_default();
        let own = OwnDirectories {
            places,
            names: &self.own_names(),
            others: self.homes_of_others(),
            reserved,
            programs: find_program(&self.command, search).into_iter().collect(),
        };
        let mut write = self.write(places);
        write.extend(own.open().into_iter().filter(|own| !places.is_led_astray(own)));
        write
    }

    /// Returns the readable files of the agent's program and of its configured MCP servers.
    fn program_files(&self, finder: &Finder<'_>) -> Vec<PathBuf> {
        let own_arguments: &[String] = if self.homes.is_none() { &self.args } else { &[] };
        let own = programs::files(finder, &self.command, own_arguments);
        let servers = self.mcp_servers.iter().filter_map(McpServer::program);
        let servers = servers.flat_map(|server| programs::files(finder, &server.command, &server.args));
        own.into_iter().chain(servers).collect()
    }

    /// Returns the directories inside the data directory that the agent may read: where it is installed, and where it starts.
    fn spared(&self, places: Places<'_>, reserved: &Reserved) -> Vec<PathBuf> {
        let search = places.0.get("PATH").map(String::as_str).unwrap_or_default();
        let named = find_program(&self.command, search).unwrap_or_else(|| PathBuf::from(&self.command));
        let real = places.along(&named).map(|walk| walk.real().to_owned());
        let own = [Some(named), real];
        reserved
            .directories()
            .flat_map(|data| {
                let own = own.iter().flatten();
                own.filter_map(|program| catalog::folder_of(data, program))
            })
            .chain(self.start_directory.clone())
            .collect()
    }

    /// Returns the environment of the agent's process.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let mut env = Environment::here(&self.pass_env, &self.env);
        if let SandboxState::Confined(mode) = self.sandbox_state() {
            env.insert(VARIABLE.to_owned(), mode.name().to_owned());
        }
        // The agent cannot write into the directory in which it starts.
        if self.start_directory.is_some() {
            for (name, place) in catalog::instead_of_cwd(self.words()) {
                let path = Places(&env, &Walks::default()).path(place);
                if let Some(path) = path.filter(|_| !env.contains_key(name)) {
                    env.insert(name.to_owned(), path.display().to_string());
                }
            }
        }
        env
    }
}

/// Returns the roots of the worktrees around a workspace, and their repositories, which commits write to.
fn worktrees(places: Places<'_>, workspace: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let is_of_home = |repository: &Path| {
        let root = repository.parent().filter(|_| repository.ends_with(".git"));
        root.is_some_and(|root| places.holds_home(root))
    };
    let roots = workspace
        .iter()
        .filter_map(|directory| git::root(places.1, directory))
        .filter(|root| !places.holds_home(root) && !places.is_led_astray(root));
    let repositories = workspace
        .iter()
        .filter_map(|directory| git::repository(places.1, directory))
        .filter(|repository| !is_of_home(repository) && !places.is_led_astray(repository));
    (roots.collect(), repositories.collect())
}

/// Resolves a path from the configuration.
fn listed(places: Places<'_>, path: &str) -> Option<PathBuf> {
    match path.strip_prefix('~') {
        Some(below) => places.path(&format!("$HOME{below}")),
        None => places.path(path),
    }
}

/// Returns those of `paths` that are not inside of a granted path already. So a session whose servers need nothing more has the
/// same sandbox as one without servers, and can use the same process.
fn additional(walks: &Walks, paths: Vec<PathBuf>, granted: &[PathBuf]) -> Vec<PathBuf> {
    let granted: Vec<_> = granted.iter().filter_map(|path| walks.along(path)).collect();
    let is_granted = |path: &PathBuf| {
        let is_in = |walk: Arc<Walk>| {
            granted
                .iter()
                .any(|granted| walk.real().starts_with(granted.real()))
        };
        walks.along(path).is_none_or(is_in)
    };
    paths.into_iter().filter(|path| !is_granted(path)).collect()
}

/// Returns the error for an impossible sandbox, with what to do.
fn refusal(error: &SandboxError) -> Failure {
    let off = "set sandbox = \"off\" for it in the configuration to run it without a sandbox";
    let what_to_do = match error {
        SandboxError::Contains { .. } | SandboxError::Inside { .. } => {
            format!("run it in another directory, such as that of a project, or {off}")
        }
        SandboxError::Lookup(_) => "try again when that path can be looked up".to_owned(),
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
