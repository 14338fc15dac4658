//! What the catalog knows at one moment.

use std::collections::BTreeMap;

use serde::Serialize;

use super::error::CatalogError;
use super::install::{self, InstallMethod};
use super::installed::Installed;
use super::registry::{Entry, Registry};
use super::resolve::{self, Launch};

/// The origin of the registry document in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RegistryOrigin {
    /// The document shipped with acpd.
    Shipped,
    /// The document that was downloaded last.
    Updated,
}

/// The state of the catalog at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The agents of the registry. [`Registry::skipped`] lists the entries that cannot be used.
    pub registry: Registry,
    /// The origin of the document.
    pub origin: RegistryOrigin,
    /// Installed agents, by id.
    pub installed: BTreeMap<String, Installed>,
}

impl Snapshot {
    /// Returns the command line for the agent `id`. Searches `path` for programs.
    pub fn launch(&self, id: &str, path: &str) -> Result<Launch, CatalogError> {
        match (self.registry.get(id), self.installed.get(id)) {
            (Some(entry), installed) => resolve::resolve(entry, installed, path),
            (None, Some(installed)) => Ok(installed.launch()),
            (None, None) => Err(CatalogError::Unknown(id.to_owned())),
        }
    }

    /// Returns the name of the agent `id` that clients display.
    pub fn title(&self, id: &str) -> Option<&str> {
        let entry = self.registry.get(id).map(|entry| &entry.name);
        entry
            .or_else(|| self.installed.get(id).map(|installed| &installed.name))
            .map(String::as_str)
    }

    /// Returns how [`Catalog::install`](crate::Catalog::install) installs the agent `id`, or why it cannot.
    pub fn install_method(&self, id: &str, path: &str) -> Result<InstallMethod, CatalogError> {
        let entry = self
            .registry
            .get(id)
            .ok_or_else(|| CatalogError::Unknown(id.to_owned()))?;
        install::method(entry, path)
    }

    /// Returns the agent that has the program `command`.
    pub fn agent_with(&self, command: &str) -> Option<&Entry> {
        let brings = |entry: &&Entry| resolve::programs(entry).iter().any(|own| own.program == command);
        self.registry.agents.iter().find(brings)
    }

    /// For a configured `command` that is not on `path`, returns another way to run that program, if the catalog knows
    /// it.
    pub fn stand_in(&self, command: &str, path: &str) -> Option<Result<Launch, CatalogError>> {
        let entry = self.agent_with(command)?;
        Some(resolve::resolve(entry, self.installed.get(&entry.id), path))
    }
}
