//! The catalog: which agents there are besides the configured ones, and how each is run on this machine.
//!
//! In: a registry document (one is shipped, a newer one may be fetched), what is on `PATH`, what is installed in
//! the data directory. Out: command lines, or sentences that say what is missing. Owns: `registry.json` and
//! `agents/` of the data directory. Never: speaks with an agent, or fetches anything by itself; only
//! [`Catalog::install`] and [`Catalog::update`] do, and they block.

mod download;
mod error;
mod install;
mod known;
mod registry;
mod resolve;
mod unpack;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use acpd_model::limits::REGISTRY_BYTES;
use serde::Serialize;

use acpd_host::read_small;

pub use error::CatalogError;
pub use install::{Installed, folder_of};
pub use known::{homes, homes_of_others};
pub use registry::{Binary, Distribution, Entry, Package, Registry};
pub use resolve::{Launch, LaunchMethod, find_program};
pub use unpack::{Bounds, Kind as ArchiveKind, unpack};

/// Where the registry's project publishes its document.
pub const OFFICIAL: &str = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json";

const SHIPPED: &str = include_str!("registry.json");

/// The agents that acpd knows of, and those that are installed.
#[derive(Debug, Clone)]
pub struct Catalog {
    data_dir: PathBuf,
}

/// Which document is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RegistryOrigin {
    /// The one that acpd brings.
    Shipped,
    /// The one that was fetched last.
    Updated,
}

/// The catalog as it was at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The agents of the registry; [`Registry::skipped`] tells of those that cannot be used.
    pub registry: Registry,
    /// Which document it is.
    pub origin: RegistryOrigin,
    /// What is installed, by id.
    pub installed: BTreeMap<String, Installed>,
}

impl Snapshot {
    /// The command line for the agent `id`; programs are looked for on `path`.
    pub fn launch(&self, id: &str, path: &str) -> Result<Launch, CatalogError> {
        match (self.registry.get(id), self.installed.get(id)) {
            (Some(entry), installed) => resolve::resolve(entry, installed, path),
            (None, Some(installed)) => Ok(installed.launch()),
            (None, None) => Err(CatalogError::Unknown(id.to_owned())),
        }
    }

    /// For a configured `command` that is not on `path`: how else that program can be run, if the catalog knows it.
    pub fn stand_in(&self, command: &str, path: &str) -> Option<Result<Launch, CatalogError>> {
        let brings = |entry: &&Entry| resolve::programs(entry).iter().any(|own| own.program == command);
        let entry = self.registry.agents.iter().find(brings)?;
        Some(resolve::resolve(entry, self.installed.get(&entry.id), path))
    }
}

impl Catalog {
    /// The catalog of a data directory, which need not exist.
    pub fn new(data_dir: &Path) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
        }
    }

    fn document(&self) -> PathBuf {
        self.data_dir.join("registry.json")
    }

    fn agents(&self) -> PathBuf {
        self.data_dir.join("agents")
    }

    /// Looks at everything. Another process may have changed it since the last time.
    pub fn look(&self) -> Snapshot {
        let (registry, origin) = self.registry();
        Snapshot {
            registry,
            origin,
            installed: install::all(&self.agents()),
        }
    }

    /// The fetched document, else the shipped one. A fetched one that cannot be read is told of as skipped.
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

    /// Fetches the agent `id` into the data directory. `path` is searched for npm, uv and python3, which write what
    /// they do to our standard error. A download without checksum is refused unless `unverified`.
    pub fn install(&self, id: &str, unverified: bool, path: &str) -> Result<Installed, CatalogError> {
        let (registry, _) = self.registry();
        let entry = registry
            .get(id)
            .ok_or_else(|| CatalogError::Unknown(id.to_owned()))?;
        make_private(&self.data_dir)?;
        install::install(entry, unverified, &self.agents(), path)
    }

    /// Fetches a newer document. One that no agent can be taken from is refused, and the one in use stays.
    pub fn update(&self, url: &str) -> Result<Registry, CatalogError> {
        let mut text = Vec::new();
        download::fetch(url, REGISTRY_BYTES, &mut text)?;
        let text =
            String::from_utf8(text).map_err(|_| CatalogError::Document("it is not UTF-8".to_owned()))?;
        let registry = Registry::parse(&text)?;
        if registry.agents.is_empty() {
            return Err(CatalogError::Document(
                "it has no agent that acpd can use".to_owned(),
            ));
        }
        make_private(&self.data_dir)?;
        write_whole(&self.document(), text.as_bytes())?;
        Ok(registry)
    }
}

fn shipped() -> Registry {
    // A test holds it to being readable; an empty one would only mean that no agent is known.
    Registry::parse(SHIPPED).unwrap_or_default()
}

/// Makes the directory for its owner alone; one that is there keeps its mode.
fn make_private(path: &Path) -> Result<(), CatalogError> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(CatalogError::disk(path))
}

/// Replaces a file as a whole.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), CatalogError> {
    let fresh = path.with_extension(format!("new-{}", std::process::id()));
    let write = || {
        let mut file = std::fs::File::create(&fresh)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&fresh, path)
    };
    write().map_err(|error| {
        let _ = std::fs::remove_file(&fresh);
        CatalogError::disk(path)(error)
    })
}
