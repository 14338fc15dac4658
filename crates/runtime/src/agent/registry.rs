//! The agents that a daemon can start: the configured agents, the agents of the catalog, and the demo agent.
//!
//! In: a name. Out: a command line, or a message that says what is missing. Never: starts or downloads anything.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use acpd_catalog::{
    Catalog, CatalogError, InstallMethod, Installer, Launch, LaunchMethod, Snapshot, Watch, downloader,
    find_program,
};
use acpd_host::{Kernel, Reserved};
use acpd_model::similar::nearest;
use acpd_model::{ErrorCode, Failure};
use serde::Serialize;
use tokio::sync::watch;

use crate::agent::config::{AgentConfig, StartIn};
use crate::agent::installs::Installs;
use crate::agent::sandbox::{SandboxSettings, SandboxState, for_installer};
use crate::agent::start_directory;

/// The name of the demo agent, unless the configuration or the registry has an agent of that name.
pub const DEMO: &str = "demo";

/// The agents of one version of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentBook {
    /// The configured agents, by name.
    pub configured: BTreeMap<String, AgentConfig>,
    /// Sandbox settings for all agents; an agent's own mode and network take precedence.
    pub sandbox: SandboxSettings,
    /// The agent for editors that name none.
    pub default: Option<String>,
    /// The agent that acpd itself contains, if any.
    pub demo: Option<AgentConfig>,
}

impl AgentBook {
    /// Returns the agent of clients that name none: the default one, the only one that is configured, or the demo agent if an option of
    /// the daemon has configured it.
    pub fn default_agent(&self) -> Option<&str> {
        let mut configured = self.configured.keys();
        let only = || configured.next().filter(|_| self.configured.len() == 1);
        let demo = || {
            let (name, config) = self.configured.get_key_value(DEMO)?;
            (self.demo.as_ref() == Some(config)).then_some(name)
        };
        let default = self.default.as_ref().or_else(only).or_else(demo);
        default.map(String::as_str)
    }
}

/// All agents that this daemon knows by name.
#[derive(Debug)]
pub struct Agents {
    /// A reload of the configuration sends new ones.
    book: watch::Receiver<Arc<AgentBook>>,
    catalog: Catalog,
    /// The empty directory in which agents start.
    start_directory: PathBuf,
    /// The agents that are being installed.
    pub(crate) installs: Installs,
}

/// An agent that can be started.
#[derive(Debug, Clone)]
pub struct Runnable {
    /// The agent's configuration, with the resolved command.
    pub config: AgentConfig,
    /// The way to run the program: found on `PATH`, installed, or downloaded by npx or uvx.
    pub how: LaunchMethod,
}

impl Runnable {
    /// Completes the agent's sandbox by the settings for all agents. Returns an error if a program would download the agent that
    /// must not.
    fn within(mut self, name: &str, all: &SandboxSettings) -> Result<Self, String> {
        self.config.sandbox = std::mem::take(&mut self.config.sandbox).over(all);
        self.check_downloader(name)?;
        Ok(self)
    }

    /// Returns an error if the agent is downloaded when it starts, and either starts in the workspace, whose packages and settings
    /// would be used, or is not confined: every other agent may write the caches from which it would run.
    fn check_downloader(&self, name: &str) -> Result<(), String> {
        let Some(program) = downloader(self.config.words()) else {
            return Ok(());
        };
        let install = match self.how {
            LaunchMethod::Npx | LaunchMethod::Uvx => format!("run \"acpd agents install {name}\""),
            LaunchMethod::Path | LaunchMethod::Installed => {
                "install it, and name its own program in \"command\"".to_owned()
            }
        };
        if self.config.start_in == StartIn::Workspace {
            return Err(format!(
                "it is not installed, and {program} runs what a workspace contains: {install}, or remove start_in"
            ));
        }
        let is_confined = matches!(self.config.sandbox_state(), SandboxState::Confined(_));
        if !is_confined && Kernel::here().has_sandboxes() {
            return Err(format!(
                "it is not installed, runs without acpd's sandbox, and {program} would run it from a cache that other agents may \
                 write: {install}, or set sandbox = \"workspace\" for it, without share"
            ));
        }
        Ok(())
    }
}

/// The source of an agent's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The configuration file.
    Config,
    /// The ACP registry.
    Registry,
    /// The data directory, where the agent was installed.
    Installed,
    /// acpd itself contains the agent.
    BuiltIn,
}

impl Source {
    /// Returns the source as the protocol and the CLI write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Registry => "registry",
            Self::Installed => "installed",
            Self::BuiltIn => "builtin",
        }
    }
}

/// One agent in a list.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedAgent {
    /// The name that requests use for the agent.
    pub id: String,
    /// The name that clients display.
    pub title: String,
    /// The source of the entry.
    pub source: Source,
    /// Whether the agent can be started.
    pub installed: bool,
    /// Whether a client may offer to start the agent at once: it is configured, on `PATH`, installed, or part of acpd. Others that can
    /// be started are downloaded first.
    pub is_set_up: bool,
    /// Whether it is the agent of clients that name none. At most one is.
    pub is_default: bool,
    /// The way to run the program; `None` if the agent cannot be started.
    pub runs: Option<LaunchMethod>,
    /// The reason why the agent cannot be started.
    pub reason: Option<String>,
    /// The installed version, else the version in the registry; `None` for a program on `PATH`.
    pub version: Option<String>,
    /// One sentence about the agent.
    pub description: Option<String>,
    /// How the agent can be installed, even if it can be started already.
    #[serde(skip)]
    pub installs_by: Option<InstallMethod>,
    /// The command to run, as an argument vector.
    #[serde(skip)]
    pub command: Vec<String>,
}

impl Agents {
    /// Collects the agents of the configuration and the agents of the catalog in `data_dir`.
    pub fn new(book: watch::Receiver<Arc<AgentBook>>, data_dir: &Path) -> Self {
        Self {
            book,
            catalog: Catalog::new(data_dir),
            start_directory: data_dir.join("start"),
            installs: Installs::default(),
        }
    }

    /// Collects the same agents, from a configuration that does not change.
    pub fn fixed(book: AgentBook, data_dir: &Path) -> Self {
        Self::new(watch::channel(Arc::new(book)).1, data_dir)
    }

    /// Returns the agents of the current configuration.
    pub fn book(&self) -> Arc<AgentBook> {
        Arc::clone(&self.book.borrow())
    }

    /// Returns the files that run as a configured agent or for one, which no other agent may write.
    pub fn programs(&self) -> Vec<PathBuf> {
        let book = self.book();
        let agents = book.configured.values().chain(&book.demo);
        agents.flat_map(AgentConfig::program_paths).collect()
    }

    /// Returns whether an agent of that name exists, even if it cannot be started.
    pub fn knows(&self, name: &str) -> bool {
        self.book().configured.contains_key(name)
            || !self
                .find(name)
                .is_err_and(|failure| failure.code == ErrorCode::NotFound)
    }

    /// Returns how to run the agent of that name.
    pub fn find(&self, name: &str) -> Result<Runnable, Failure> {
        let book = self.book();
        let found = self.find_program_of(&book, name)?;
        let refused =
            |reason: String| Failure::agent(format!("the agent {name:?} cannot be started: {reason}"));
        let mut found = found.within(name, &book.sandbox).map_err(refused)?;
        found.config.start_directory = match found.config.start_in {
            StartIn::Empty => {
                start_directory::check(&self.start_directory).map_err(refused)?;
                Some(self.start_directory.clone())
            }
            StartIn::Workspace => None,
        };
        Ok(found)
    }

    fn find_program_of(&self, book: &AgentBook, name: &str) -> Result<Runnable, Failure> {
        if let Some(config) = book.configured.get(name) {
            return find_configured(name, config, || self.catalog.look()).map_err(|reason| {
                Failure::agent(format!("the agent {name:?} cannot be started: {reason}"))
                    .with_detail("install it, or correct its command in the configuration")
            });
        }
        let snapshot = self.catalog.look();
        match (snapshot.launch(name, &search_path()), &book.demo) {
            (Ok(launch), _) => {
                let mut found = runnable(&launch);
                found.config.title = snapshot.title(name).map(str::to_owned);
                Ok(found)
            }
            (Err(CatalogError::Unknown(_)), Some(demo)) if name == DEMO => Ok(Runnable {
                config: demo.clone(),
                how: LaunchMethod::Path,
            }),
            (Err(error), _) => Err(self.failure(name, &error)),
        }
    }

    fn failure(&self, name: &str, error: &CatalogError) -> Failure {
        if !matches!(error, CatalogError::Unknown(_)) {
            return Failure::agent(error.to_string());
        }
        let book = self.book();
        let configured: Vec<_> = book.configured.keys().map(String::as_str).collect();
        let configured = if configured.is_empty() {
            "none".to_owned()
        } else {
            configured.join(", ")
        };
        let listed = self.list();
        let ids = listed.iter().map(|agent| agent.id.as_str());
        let suggestion = nearest(name, ids).map(|id| format!("did you mean {id:?}? "));
        Failure::not_found(format!("agent {name:?}")).with_detail(format!(
            "{}configured agents: {configured}; \"acpd agents list\" shows those of the registry as well",
            suggestion.unwrap_or_default()
        ))
    }

    /// Returns the agent of clients that name none: that of the configuration, or the only one that is set up if none is configured.
    pub fn default_agent(&self) -> Option<String> {
        let default = self.book().default_agent().map(str::to_owned);
        default.or_else(|| {
            let mut listed = self.list().into_iter();
            listed.find(|agent| agent.is_default).map(|agent| agent.id)
        })
    }

    /// Returns all agents in the order in which clients offer them: the default one, the configured ones, those that are set up, the
    /// other ones of the catalog, and the demo agent.
    pub fn list(&self) -> Vec<ListedAgent> {
        self.list_of(&self.catalog.look())
    }

    /// Returns the same list, from an existing snapshot of the catalog.
    pub fn list_of(&self, snapshot: &Snapshot) -> Vec<ListedAgent> {
        let (path, book) = (search_path(), self.book());
        let configured = book.configured.iter().map(|(name, config)| {
            let found = find_configured(name, config, || snapshot)
                .and_then(|found| found.within(name, &book.sandbox));
            ListedAgent {
                id: name.clone(),
                title: config.title.clone().unwrap_or_else(|| name.clone()),
                source: Source::Config,
                installed: found.is_ok(),
                is_set_up: found.is_ok(),
                is_default: false,
                runs: found.as_ref().ok().map(|found| found.how),
                command: found
                    .as_ref()
                    .map_or_else(|_| line(config), |found| line(&found.config)),
                reason: found.err(),
                version: None,
                description: None,
                installs_by: catalog_id_of(snapshot, name, config)
                    .and_then(|id| snapshot.install_method(&id, &path).ok()),
            }
        });
        let catalog = |id: &str, title: &str, version: &str| {
            let found = snapshot.launch(id, &path).map_err(|error| error.to_string());
            let found = found.and_then(|launch| runnable(&launch).within(id, &book.sandbox));
            ListedAgent {
                id: id.to_owned(),
                title: title.to_owned(),
                source: if found
                    .as_ref()
                    .is_ok_and(|found| found.how == LaunchMethod::Installed)
                {
                    Source::Installed
                } else {
                    Source::Registry
                },
                installed: found.is_ok(),
                is_set_up: found.as_ref().is_ok_and(|found| !found.how.downloads()),
                is_default: false,
                runs: found.as_ref().ok().map(|found| found.how),
                command: found
                    .as_ref()
                    .map(|found| line(&found.config))
                    .unwrap_or_default(),
                // A program on PATH may have any version.
                version: Some(version.to_owned())
                    .filter(|_| !found.as_ref().is_ok_and(|found| found.how == LaunchMethod::Path)),
                reason: found.err(),
                description: None,
                installs_by: snapshot.install_method(id, &path).ok(),
            }
        };
        let registry = snapshot.registry.agents.iter().map(|entry| {
            let installed = snapshot.installed.get(&entry.id);
            let version = installed.map_or(&entry.version, |installed| &installed.version);
            let mut listed = catalog(&entry.id, &entry.name, version);
            listed.description = Some(entry.description.clone()).filter(|text| !text.is_empty());
            listed
        });
        let orphans = snapshot
            .installed
            .iter()
            .filter(|(id, _)| snapshot.registry.get(id).is_none())
            .map(|(id, installed)| catalog(id, &installed.name, &installed.version));
        let others = registry
            .chain(orphans)
            .filter(|listed| !book.configured.contains_key(&listed.id));
        let mut all: Vec<_> = configured.chain(others).collect();
        if let Some(demo) = &book.demo
            && all.iter().all(|listed| listed.id != DEMO)
        {
            all.push(listed_demo(demo));
        }
        mark_default(&mut all, book.default_agent());
        all.sort_by_key(rank);
        all
    }

    /// Returns the catalog's id of the agent of that name. A configured agent has the id of the catalog's agent with the
    /// same program.
    pub fn catalog_id(&self, name: &str) -> Result<String, Failure> {
        let snapshot = self.catalog.look();
        let id = match self.book().configured.get(name) {
            Some(config) => catalog_id_of(&snapshot, name, config),
            None => Some(name.to_owned()),
        };
        let unknown = || {
            Failure::new(
                ErrorCode::Unsupported,
                format!("the registry has no agent with the program of {name:?}"),
            )
        };
        let id = id.ok_or_else(unknown)?;
        match snapshot.install_method(&id, &search_path()) {
            Ok(_) => Ok(id),
            Err(error) => Err(self.failure(name, &error)),
        }
    }

    /// Installs an agent of the catalog, without code of its packages. Blocks until it is installed.
    pub fn install(&self, id: &str, reserved: &Reserved, watch: Watch<'_>) -> Result<(), Failure> {
        let (path, book) = (search_path(), self.book());
        let installer = Installer {
            path: &path,
            watch: Some(watch),
            unverified: false,
            scripts: false,
            confine: &|program, target, phase| for_installer(&book.sandbox, reserved, program, target, phase),
        };
        let installed = self.catalog.install(id, installer);
        let installed = installed.map_err(|error| self.failure(id, &error))?;
        if !installed.scripts_left.is_empty() {
            let packages = installed.scripts_left.join(", ");
            tracing::warn!(
                agent = id,
                packages,
                "install scripts of packages were not run; if the agent needs them: acpd agents install NAME --run-scripts"
            );
        }
        Ok(())
    }

    /// Returns the catalog of agents.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}

/// Returns the catalog's id of a configured agent: its name, or the agent with the same program.
fn catalog_id_of(snapshot: &Snapshot, name: &str, config: &AgentConfig) -> Option<String> {
    if config.command.is_empty() {
        return Some(name.to_owned());
    }
    snapshot.agent_with(&config.command).map(|entry| entry.id.clone())
}

/// Marks the agent of clients that name none: the one of this name, or the only one that is set up if none is configured. The demo
/// counts only if it is named, since it cannot do a task.
fn mark_default(agents: &mut [ListedAgent], named: Option<&str>) {
    let is_configured = agents.iter().any(|agent| agent.source == Source::Config);
    let default = match named {
        Some(name) => agents.iter().position(|agent| agent.id == name),
        None if is_configured => None,
        None => {
            let is_candidate = |agent: &ListedAgent| agent.is_set_up && agent.source != Source::BuiltIn;
            let mut candidates = (0..agents.len()).filter(|at| is_candidate(&agents[*at]));
            candidates.next().filter(|_| candidates.next().is_none())
        }
    };
    if let Some(agent) = default.and_then(|at| agents.get_mut(at)) {
        agent.is_default = true;
    }
}

/// Returns the place of an agent in a list; those with the same rank keep their order.
fn rank(agent: &ListedAgent) -> u8 {
    match agent {
        ListedAgent { is_default: true, .. } => 0,
        ListedAgent {
            source: Source::Config,
            ..
        } => 1,
        ListedAgent {
            source: Source::BuiltIn,
            ..
        } => 4,
        ListedAgent { is_set_up: true, .. } => 2,
        _ => 3,
    }
}

fn listed_demo(demo: &AgentConfig) -> ListedAgent {
    ListedAgent {
        id: DEMO.to_owned(),
        title: demo.title.clone().unwrap_or_else(|| DEMO.to_owned()),
        source: Source::BuiltIn,
        installed: true,
        is_set_up: true,
        is_default: false,
        runs: Some(LaunchMethod::Path),
        reason: None,
        version: None,
        description: Some("Shows what acpd can do, without a model".to_owned()),
        installs_by: None,
        command: line(demo),
    }
}

/// Resolves a configured agent. Uses the catalog's command line if the configuration has none, or if its program is not
/// on `PATH` but the catalog knows it.
fn find_configured<S: Borrow<Snapshot>>(
    name: &str,
    config: &AgentConfig,
    catalog: impl FnOnce() -> S,
) -> Result<Runnable, String> {
    if config.command.is_empty() {
        let launch = catalog().borrow().launch(name, &search_path());
        let found = launch
            .map(|launch| runnable(&launch))
            .map_err(|error| match error {
                CatalogError::Unknown(_) => {
                    format!("its configuration has no command, and the registry has no agent {name:?}")
                }
                error => error.to_string(),
            })?;
        return Ok(Runnable {
            config: config.clone().run_by(found.config),
            how: found.how,
        });
    }
    let path = config.env.get("PATH").cloned().unwrap_or_else(search_path);
    let mut config = config.clone();
    if find_program(&config.command, &path).is_some() {
        return Ok(Runnable {
            config,
            how: LaunchMethod::Path,
        });
    }
    let missing = format!("{:?} was not found or may not be executed", config.command);
    match catalog().borrow().stand_in(&config.command, &path) {
        None => Err(missing),
        Some(Err(error)) => Err(format!("{missing}; {error}")),
        Some(Ok(launch)) => {
            config.command = launch.command.to_string_lossy().into_owned();
            config.args = [launch.before, config.args].concat();
            config.confines_itself = Some(launch.confines_itself);
            Ok(Runnable {
                config,
                how: launch.how,
            })
        }
    }
}

fn runnable(launch: &Launch) -> Runnable {
    Runnable {
        config: AgentConfig {
            command: launch.command.to_string_lossy().into_owned(),
            args: [&launch.before[..], &launch.args].concat(),
            env: launch.env.clone(),
            pass_env: launch.pass_env.clone(),
            homes: Some(launch.homes.clone()),
            names: launch.names.clone(),
            confines_itself: Some(launch.confines_itself),
            ..AgentConfig::default()
        },
        how: launch.how,
    }
}

fn line(config: &AgentConfig) -> Vec<String> {
    std::iter::once(&config.command)
        .chain(&config.args)
        .cloned()
        .collect()
}

/// Returns the directories that are searched for programs.
pub fn search_path() -> String {
    std::env::var("PATH").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(id: &str, source: Source, is_set_up: bool) -> ListedAgent {
        ListedAgent {
            id: id.to_owned(),
            title: id.to_owned(),
            source,
            installed: true,
            is_set_up,
            is_default: false,
            runs: None,
            reason: None,
            version: None,
            description: None,
            installs_by: None,
            command: Vec::new(),
        }
    }

    /// Returns the names in the order of the list, and the default agent.
    fn ordered(mut agents: Vec<ListedAgent>, named: Option<&str>) -> (Vec<String>, Option<String>) {
        mark_default(&mut agents, named);
        agents.sort_by_key(rank);
        let default = agents.iter().filter(|agent| agent.is_default);
        let default: Vec<_> = default.map(|agent| agent.id.clone()).collect();
        assert!(default.len() <= 1, "{default:?}");
        let names = agents.iter().map(|agent| agent.id.clone()).collect();
        (names, default.first().cloned())
    }

    /// A client has changed a setting of another agent, which is a configured one from then on.
    #[test]
    fn the_demo_agent_of_an_option_stays_the_default() {
        let config = |command: &str| AgentConfig {
            command: command.to_owned(),
            ..AgentConfig::default()
        };
        let mut book = AgentBook {
            configured: BTreeMap::from([(DEMO.to_owned(), config("acpd"))]),
            demo: Some(config("acpd")),
            ..AgentBook::default()
        };
        assert_eq!(book.default_agent(), Some(DEMO));
        book.configured.insert("a".to_owned(), config(""));
        assert_eq!(book.default_agent(), Some(DEMO));
        book.default = Some("a".to_owned());
        assert_eq!(book.default_agent(), Some("a"));
        book.default = None;
        // An agent of that name in the file is one of several.
        book.configured.insert(DEMO.to_owned(), config("other"));
        assert_eq!(book.default_agent(), None);
    }

    fn some() -> Vec<ListedAgent> {
        vec![
            listed("own", Source::Config, true),
            listed("by-npx", Source::Registry, false),
            listed("on-path", Source::Registry, true),
            listed("demo", Source::BuiltIn, true),
        ]
    }

    #[test]
    fn the_default_comes_first_and_what_is_not_set_up_last_before_the_demo() {
        assert_eq!(ordered(Vec::new(), None), (Vec::new(), None));
        let (names, default) = ordered(some(), None);
        assert_eq!(names, ["own", "on-path", "by-npx", "demo"]);
        assert_eq!(default, None);
        for name in ["demo", "on-path", "by-npx"] {
            let (names, default) = ordered(some(), Some(name));
            assert_eq!((names[0].as_str(), default.as_deref()), (name, Some(name)));
        }
        assert_eq!(ordered(some(), Some("gone")).1, None);
    }

    #[test]
    fn the_only_agent_that_is_set_up_is_the_default_and_the_demo_is_not() {
        let without_own = || some().into_iter().skip(1);
        assert_eq!(
            ordered(without_own().collect(), None).1.as_deref(),
            Some("on-path")
        );
        let two = without_own().chain([listed("other", Source::Installed, true)]);
        assert_eq!(ordered(two.collect(), None).1, None);
        let none = without_own().filter(|agent| agent.id != "on-path");
        assert_eq!(ordered(none.collect(), None).1, None);
    }
}
