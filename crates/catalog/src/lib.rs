//! The agent catalog: the agents that exist besides the configured ones, and how to run each of them on this host.
//!
//! In: a registry document (one is shipped, a newer one can be downloaded), the programs on `PATH`, and the agents
//! installed in the data directory. Out: command lines, or messages that name what is missing. Owns: `registry.json`
//! and `agents/` of the data directory. Never: talks to an agent, or downloads anything on its own; only
//! [`Catalog::install`] and [`Catalog::update`] do, and they block.

mod download;
mod error;
mod files;
mod install;
mod installed;
mod installer;
mod known;
mod names;
mod on_host;
mod progress;
mod registry;
mod resolve;
mod snapshot;
mod unpack;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use acpd_files::data_files;

use acpd_host::read_small;

use files::{make_private, replace};

pub use error::CatalogError;
pub use install::{InstallMethod, folder_of};
pub use installed::Installed;
pub use installer::{Confine, INSTALLER_VARIABLES, Installer, Phase};
pub use known::{confines_itself, homes, homes_of_others, instead_of_cwd, own_names};
pub use names::{OwnNames, downloader, places as places_named};
pub use on_host::{OnHost, Presence, package_version, usual_places};
pub use progress::{Progress, Watch};
pub use registry::{Binary, Distribution, Entry, Package, Registry};
pub use resolve::{Launch, LaunchMethod, find_program};
pub use snapshot::{RegistryOrigin, Snapshot};
pub use unpack::{Bounds, Kind as ArchiveKind, unpack};

/// Largest registry document, in bytes.
const REGISTRY_BYTES: u64 = 4 << 20;

/// Where the registry project publishes its document.
pub const OFFICIAL: &str = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json";

const SHIPPED: &str = include_str!("registry.json");

/// The agents that acpd knows, and the installed ones.
#[derive(Debug, Clone)]
pub struct Catalog {
    data_dir: PathBuf,
}

impl Catalog {
    /// Creates the catalog of a data directory, which need not exist.
    pub fn new(data_dir: &Path) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
        }
    }

    fn document(&self) -> PathBuf {
        data_files::REGISTRY.path(&self.data_dir)
    }

    fn agents(&self) -> PathBuf {
        self.data_dir.join("agents")
    }

    /// Reads the current state. Another process may have changed it since the last call.
    pub fn look(&self) -> Snapshot {
        let (registry, origin) = self.registry();
        Snapshot {
            registry,
            origin,
            installed: install::all(&self.agents()),
        }
    }

    /// Returns the downloaded document, else the shipped one. A downloaded document that cannot be read is reported as
    /// skipped.
    fn registry(&self) -> (Registry, RegistryOrigin) {
        let path = self.document();
        let updated = match read_small(&path, REGISTRY_BYTES) {
            Ok(text) => Registry::parse(&text).map_err(|error| error.to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return (shipped(), RegistryOrigin::Shipped);
            }
            Err(error) => Err(error.to_string()),
        };
        match updated {
            Ok(registry) => (registry, RegistryOrigin::Updated),
            Err(reason) => {
                let mut registry = shipped();
                registry.skipped.push(format!("{}: {reason}", path.display()));
                (registry, RegistryOrigin::Shipped)
            }
        }
    }

    /// Installs the agent `id` into the data directory. With progress, an installer is stopped after
    /// [`INSTALL_SECS`](acpd_model::limits::INSTALL_SECS), and the end of its output is part of the error if it fails;
    /// otherwise its output goes to stderr.
    pub fn install(&self, id: &str, installer: Installer<'_>) -> Result<Installed, CatalogError> {
        let (registry, _) = self.registry();
        let entry = registry
            .get(id)
            .ok_or_else(|| CatalogError::Unknown(id.to_owned()))?;
        make_private(&self.data_dir)?;
        install::install(entry, &self.agents(), installer)
    }

    /// Removes the agent `id` from the data directory. Returns its version, or `None` if acpd has not installed it.
    pub fn uninstall(&self, id: &str) -> Result<Option<String>, CatalogError> {
        install::uninstall(id, &self.agents())
    }

    /// Returns the number of usable agents in the document at `url`. Keeps nothing.
    pub fn check_url(url: &str) -> Result<usize, CatalogError> {
        Ok(fetch_document(url)?.1.agents.len())
    }

    /// Downloads a newer document. A document without any usable agent is refused, and the current one remains in use.
    pub fn update(&self, url: &str) -> Result<Registry, CatalogError> {
        let (text, registry) = fetch_document(url)?;
        if registry.agents.is_empty() {
            return Err(CatalogError::Document(
                "it has no agent that acpd can use".to_owned(),
            ));
        }
        make_private(&self.data_dir)?;
        let path = self.document();
        replace(&path, text.as_bytes())?;
        Ok(registry)
    }
}

fn fetch_document(url: &str) -> Result<(String, Registry), CatalogError> {
    let mut text = Vec::new();
    download::fetch(url, REGISTRY_BYTES, &mut text, None)?;
    let text = String::from_utf8(text).map_err(|_| CatalogError::Document("it is not UTF-8".to_owned()))?;
    let registry = Registry::parse(&text)?;
    Ok((text, registry))
}

fn shipped() -> Registry {
    // A test ensures that the shipped document parses. An empty registry would only mean that no agent is known.
    Registry::parse(SHIPPED).unwrap_or_default()
}
