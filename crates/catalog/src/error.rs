//! Errors of the catalog. Each message tells the user what to do.

use std::path::{Path, PathBuf};

/// Why an agent cannot be found, downloaded or started.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The registry document cannot be used at all.
    #[error("invalid ACP registry document: {0}")]
    Document(String),
    /// The agent is in neither the registry nor the data directory.
    #[error("no agent {0:?} is known: \"acpd agents list\" shows those that are")]
    Unknown(String),
    /// The agent is an npm package, and Node.js is missing.
    #[error("the agent {agent:?} needs {program}, which is not on PATH: install Node.js 22 or later{also}")]
    NeedsNode {
        /// Id of the agent.
        agent: String,
        /// The missing program of Node.js.
        program: &'static str,
        /// An alternative for the user, or an empty text.
        also: String,
    },
    /// The agent is a Python package, and uv is missing.
    #[error(
        "the agent {agent:?} needs uvx, which is not on PATH: install uv, or run \"acpd agents install {agent}\""
    )]
    NeedsUv {
        /// Id of the agent.
        agent: String,
    },
    /// Neither uv nor Python is available to install the agent with.
    #[error("the agent {agent:?} is installed with uv or with python3, and neither is on PATH")]
    NeedsPython {
        /// Id of the agent.
        agent: String,
    },
    /// The agent is not installed yet, and has no runner.
    #[error("the agent {agent:?} is not installed: run \"acpd agents install {agent}\"")]
    NotInstalled {
        /// Id of the agent.
        agent: String,
    },
    /// The agent has no download for this platform.
    #[error("the registry has nothing of the agent {agent:?} for {platform}")]
    NotForPlatform {
        /// Id of the agent.
        agent: String,
        /// The host's platform, in the registry's format.
        platform: String,
    },
    /// The registry has no checksum for the download.
    #[error(
        "the registry gives no sha256 for {url}: install it yourself, or add --unverified to take it as it comes"
    )]
    NoChecksum {
        /// Address of the download.
        url: String,
    },
    /// The checksum of the download differs from the registry's.
    #[error(
        "{url} is not what the registry describes: its sha256 is {found}, not {wanted}; nothing was installed"
    )]
    Checksum {
        /// Address of the download.
        url: String,
        /// The SHA-256 from the registry.
        wanted: String,
        /// The SHA-256 of the downloaded content.
        found: String,
    },
    /// Downloads from this address are not allowed.
    #[error("{0:?} may not be fetched: only https, or http of this machine itself")]
    Address(String),
    /// A download failed.
    #[error("{url} cannot be fetched: {reason}; check the network and the proxy settings")]
    Fetch {
        /// Address of the download.
        url: String,
        /// Why it failed.
        reason: String,
    },
    /// A download exceeds its size limit.
    #[error("{url} is larger than {limit} bytes")]
    TooLarge {
        /// Address of the download.
        url: String,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The archive contains an entry that must not be unpacked.
    #[error("the archive was refused: {0}")]
    Archive(String),
    /// npm, uv or pip failed. It wrote the reason to stderr.
    #[error("{program} could not install {package}: {reason}")]
    Installer {
        /// Name of the installer.
        program: String,
        /// The package that it should install.
        package: String,
        /// How the installer exited.
        reason: String,
    },
    /// A dependency comes from git, and npm runs code of a repository to make a package of it.
    #[error(
        "{package} was not installed: its dependency {dependency} comes from git, and npm would run code of it; install it yourself"
    )]
    FromGit {
        /// The package to install.
        package: String,
        /// Name and version of the dependency.
        dependency: String,
    },
    /// The package was installed but contains no program to run.
    #[error("the package {package} has no program to run")]
    NoProgram {
        /// Name of the package.
        package: String,
    },
    /// Another process is installing the same agent.
    #[error("the agent {0:?} is being installed by another acpd")]
    Busy(String),
    /// The data directory is not readable or not writable.
    #[error("{}: {source}", path.display())]
    Disk {
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

impl CatalogError {
    pub(super) fn disk(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Disk { path, source }
    }
}
