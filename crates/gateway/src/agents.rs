//! The agents that a daemon can start: those of the configuration, then those of the catalog.
//!
//! In: a name. Out: a command line, or a sentence that says what is missing. Never: starts or fetches anything.

use std::collections::BTreeMap;
use std::path::Path;

use acpd_host::catalog::{Catalog, CatalogError, How, Launch, Snapshot, find_program};
use acpd_model::{ErrorCode, Failure};
use serde::Serialize;

use crate::config::AgentConfig;

/// Every agent that has a name here.
#[derive(Debug)]
pub struct Agents {
    configured: BTreeMap<String, AgentConfig>,
    catalog: Catalog,
}

/// An agent that can be started.
#[derive(Debug, Clone)]
pub struct Runnable {
    /// How to run it.
    pub config: AgentConfig,
    /// How its program was found.
    pub how: How,
}

/// Where a name is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The configuration.
    Config,
    /// The registry.
    Registry,
    /// Installed, and no longer in the registry.
    Installed,
}

/// One agent in a list.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// Its name.
    pub id: String,
    /// What people call it.
    pub title: String,
    /// Where it is from.
    pub source: Source,
    /// Whether it can be started.
    pub installed: bool,
    /// How its program is found.
    pub runs: Option<How>,
    /// Why it cannot be started.
    pub reason: Option<String>,
    /// The version that is installed, else the one that the registry names.
    pub version: Option<String>,
    /// One sentence about it.
    pub description: Option<String>,
    /// What is run, as an argument vector.
    #[serde(skip)]
    pub command: Vec<String>,
}

impl Agents {
    /// Those of a configuration, and those of the catalog in a data directory.
    pub fn new(configured: BTreeMap<String, AgentConfig>, data_dir: &Path) -> Self {
        Self {
            configured,
            catalog: Catalog::new(data_dir),
        }
    }

    /// Names in the configuration.
    pub fn configured(&self) -> impl Iterator<Item = &str> {
        self.configured.keys().map(String::as_str)
    }

    /// How to run the agent of that name.
    pub fn find(&self, name: &str) -> Result<Runnable, Failure> {
        match self.configured.get(name) {
            Some(config) => self.find_configured(config).map_err(|reason| {
                Failure::agent(format!("the agent {name:?} cannot be started: {reason}"))
                    .with_detail("install it, or correct its command in the configuration")
            }),
            None => self
                .catalog
                .launch(name, &search_path())
                .map(|launch| runnable(&launch))
                .map_err(|error| self.failure(name, &error)),
        }
    }

    /// A configured agent as it is; if its program is not on `PATH` and the catalog knows it, the catalog's way to it.
    fn find_configured(&self, config: &AgentConfig) -> Result<Runnable, String> {
        let path = config.env.get("PATH").cloned().unwrap_or_else(search_path);
        if find_program(&config.command, &path).is_some() {
            let config = config.clone();
            return Ok(Runnable { config, how: How::Path });
        }
        let missing = || format!("{:?} was not found or may not be executed", config.command);
        match self.catalog.stand_in(&config.command, &path) {
            None => Err(missing()),
            Some(Err(error)) => Err(format!("{}; {error}", missing())),
            Some(Ok(launch)) => {
                let mut config = config.clone();
                config.command = launch.command.to_string_lossy().into_owned();
                config.args = [launch.before, config.args].concat();
                Ok(Runnable {
                    config,
                    how: launch.how,
                })
            }
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
        Failure::not_found(format!("agent {name:?}")).with_detail(format!(
            "configured agents: {configured}; \"acpd agents list\" shows those of the registry as well"
        ))
    }

    /// All of them: the configured ones first, then the catalog's, each in the order of its source.
    pub fn list(&self) -> Vec<Listed> {
        self.list_of(&self.catalog.look())
    }

    /// The same, for a look at the catalog that was taken already.
    pub fn list_of(&self, snapshot: &Snapshot) -> Vec<Listed> {
        let configured = self.configured.iter().map(|(name, config)| {
            let found = self.find_configured(config);
            Listed {
                id: name.clone(),
                title: config.title.clone().unwrap_or_else(|| name.clone()),
                source: Source::Config,
                installed: found.is_ok(),
                runs: found.as_ref().ok().map(|found| found.how),
                command: found.as_ref().map_or_else(|_| line(config), |found| line(&found.config)),
                reason: found.err(),
                version: None,
                description: None,
            }
        });
        let path = search_path();
        let catalog = |id: &str, title: &str, version: &str, source| {
            let found = self.catalog.launch(id, &path);
            Listed {
                id: id.to_owned(),
                title: title.to_owned(),
                source,
                installed: found.is_ok(),
                runs: found.as_ref().ok().map(|launch| launch.how),
                command: found.as_ref().map(|launch| line(&runnable(launch).config)).unwrap_or_default(),
                reason: found.err().map(|error| error.to_string()),
                version: Some(version.to_owned()),
                description: None,
            }
        };
        let registry = snapshot.registry.agents.iter().map(|entry| {
            let installed = snapshot.installed.get(&entry.id);
            let version = installed.map_or(&entry.version, |installed| &installed.version);
            let mut listed = catalog(&entry.id, &entry.name, version, Source::Registry);
            listed.description = Some(entry.description.clone()).filter(|text| !text.is_empty());
            listed
        });
        let orphans = snapshot
            .installed
            .iter()
            .filter(|(id, _)| snapshot.registry.get(id).is_none())
            .map(|(id, installed)| catalog(id, &installed.name, &installed.version, Source::Installed));
        let others = registry
            .chain(orphans)
            .filter(|listed| !self.configured.contains_key(&listed.id));
        configured.chain(others).collect()
    }

    /// The catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}

fn runnable(launch: &Launch) -> Runnable {
    Runnable {
        config: AgentConfig {
            command: launch.command.to_string_lossy().into_owned(),
            args: [&launch.before[..], &launch.args].concat(),
            env: launch.env.clone(),
            pass_env: launch.pass_env.clone(),
            title: None,
        },
        how: launch.how,
    }
}

fn line(config: &AgentConfig) -> Vec<String> {
    std::iter::once(&config.command).chain(&config.args).cloned().collect()
}

/// Where programs are looked for.
pub fn search_path() -> String {
    std::env::var("PATH").unwrap_or_default()
}

/// Whether nothing of this name was known, rather than that it cannot be run.
pub fn is_unknown(failure: &Failure) -> bool {
    failure.code == ErrorCode::NotFound
}
