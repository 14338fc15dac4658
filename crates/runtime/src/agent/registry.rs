//! The agents that a daemon can start: the configured agents, then the agents of the catalog.
//!
//! In: a name. Out: a command line, or a message that says what is missing. Never: starts or downloads anything.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::path::Path;

use acpd_catalog::{
    Catalog, CatalogError, InstallMethod, Launch, LaunchMethod, Snapshot, Watch, find_program,
};
use acpd_model::similar::nearest;
use acpd_model::{ErrorCode, Failure};
use serde::Serialize;

use crate::agent::config::AgentConfig;
use crate::agent::installs::Installs;
use crate::agent::sandbox::SandboxSettings;

/// All agents that this daemon knows by name.
#[derive(Debug)]
pub struct Agents {
    configured: BTreeMap<String, AgentConfig>,
    sandbox: SandboxSettings,
    catalog: Catalog,
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
}

impl Source {
    /// Returns the source as the protocol and the CLI write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Registry => "registry",
            Self::Installed => "installed",
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
    /// Collects the configured agents and the agents of the catalog in `data_dir`. `sandbox` holds the settings for all
    /// agents; an agent's own mode and network take precedence.
    pub fn new(configured: BTreeMap<String, AgentConfig>, sandbox: SandboxSettings, data_dir: &Path) -> Self {
        Self {
            configured,
            sandbox,
            catalog: Catalog::new(data_dir),
            installs: Installs::default(),
        }
    }

    /// Returns the names of the configured agents.
    pub fn configured(&self) -> impl Iterator<Item = &str> {
        self.configured.keys().map(String::as_str)
    }

    /// Returns whether an agent of that name exists, even if it cannot be started.
    pub fn knows(&self, name: &str) -> bool {
        self.configured.contains_key(name)
            || !self
                .find(name)
                .is_err_and(|failure| failure.code == ErrorCode::NotFound)
    }

    /// Returns how to run the agent of that name.
    pub fn find(&self, name: &str) -> Result<Runnable, Failure> {
        let mut found = self.find_program_of(name)?;
        found.config.sandbox = std::mem::take(&mut found.config.sandbox).over(&self.sandbox);
        Ok(found)
    }

    fn find_program_of(&self, name: &str) -> Result<Runnable, Failure> {
        match self.configured.get(name) {
            Some(config) => find_configured(config, || self.catalog.look()).map_err(|reason| {
                Failure::agent(format!("the agent {name:?} cannot be started: {reason}"))
                    .with_detail("install it, or correct its command in the configuration")
            }),
            None => self
                .catalog
                .look()
                .launch(name, &search_path())
                .map(|launch| runnable(&launch))
                .map_err(|error| self.failure(name, &error)),
        }
    }

    fn failure(&self, name: &str, error: &CatalogError) -> Failure {
        if !matches!(error, CatalogError::Unknown(_)) {
            return Failure::agent(error.to_string());
        }
        let configured: Vec<_> = self.configured().collect();
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

    /// Returns all agents: the configured ones first, then the catalog's, each in the order of its source.
    pub fn list(&self) -> Vec<ListedAgent> {
        self.list_of(&self.catalog.look())
    }

    /// Returns the same list, from an existing snapshot of the catalog.
    pub fn list_of(&self, snapshot: &Snapshot) -> Vec<ListedAgent> {
        let path = search_path();
        let configured = self.configured.iter().map(|(name, config)| {
            let found = find_configured(config, || snapshot);
            ListedAgent {
                id: name.clone(),
                title: config.title.clone().unwrap_or_else(|| name.clone()),
                source: Source::Config,
                installed: found.is_ok(),
                runs: found.as_ref().ok().map(|found| found.how),
                command: found
                    .as_ref()
                    .map_or_else(|_| line(config), |found| line(&found.config)),
                reason: found.err(),
                version: None,
                description: None,
                installs_by: snapshot
                    .agent_with(&config.command)
                    .and_then(|entry| snapshot.install_method(&entry.id, &path).ok()),
            }
        });
        let catalog = |id: &str, title: &str, version: &str| {
            let found = snapshot.launch(id, &path);
            ListedAgent {
                id: id.to_owned(),
                title: title.to_owned(),
                source: if found
                    .as_ref()
                    .is_ok_and(|launch| launch.how == LaunchMethod::Installed)
                {
                    Source::Installed
                } else {
                    Source::Registry
                },
                installed: found.is_ok(),
                runs: found.as_ref().ok().map(|launch| launch.how),
                command: found
                    .as_ref()
                    .map(|launch| line(&runnable(launch).config))
                    .unwrap_or_default(),
                // A program on PATH may have any version.
                version: Some(version.to_owned()).filter(|_| {
                    !found
                        .as_ref()
                        .is_ok_and(|launch| launch.how == LaunchMethod::Path)
                }),
                reason: found.err().map(|error| error.to_string()),
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
            .filter(|listed| !self.configured.contains_key(&listed.id));
        configured.chain(others).collect()
    }

    /// Returns the catalog's id of the agent of that name. A configured agent has the id of the catalog's agent with the
    /// same program.
    pub fn catalog_id(&self, name: &str) -> Result<String, Failure> {
        let snapshot = self.catalog.look();
        let id = match self.configured.get(name) {
            Some(config) => snapshot.agent_with(&config.command).map(|entry| entry.id.clone()),
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

    /// Installs an agent of the catalog. Blocks until it is installed.
    pub fn install(&self, id: &str, watch: Watch<'_>) -> Result<(), Failure> {
        let installed = self.catalog.install_watched(id, &search_path(), watch);
        installed.map(drop).map_err(|error| self.failure(id, &error))
    }

    /// Returns the catalog of agents.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}

/// Resolves a configured agent. If its program is not on `PATH` but the catalog knows it, uses the catalog's command.
fn find_configured<S: Borrow<Snapshot>>(
    config: &AgentConfig,
    catalog: impl FnOnce() -> S,
) -> Result<Runnable, String> {
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
