//! What can go wrong with the catalog, each as a sentence that says what to do.

use std::path::{Path, PathBuf};

/// Why an agent cannot be found, fetched or run.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The registry document cannot be used at all.
    #[error("this is no ACP registry document: {0}")]
    Document(String),
    /// No agent of this name.
    #[error("no agent {0:?} is known: \"acpd agents list\" shows those that are")]
    Unknown(String),
    /// The agent comes as an npm package, and Node.js is missing.
    #[error("the agent {agent:?} needs {program}, which is not on PATH: install Node.js 22 or later{also}")]
    NeedsNode {
        /// Its name.
        agent: String,
        /// Which program of Node.js.
        program: &'static str,
        /// Another way, or nothing.
        also: String,
    },
    /// The agent comes as a Python package, and uv is missing.
    #[error(
        "the agent {agent:?} needs uvx, which is not on PATH: install uv, or run \"acpd agents install {agent}\""
    )]
    NeedsUv {
        /// Its name.
        agent: String,
    },
    /// Neither uv nor Python is there to install with.
    #[error("the agent {agent:?} is installed with uv or with python3, and neither is on PATH")]
    NeedsPython {
        /// Its name.
        agent: String,
    },
    /// The agent is a download that was not fetched yet.
    #[error("the agent {agent:?} is not installed: run \"acpd agents install {agent}\"")]
    NotInstalled {
        /// Its name.
        agent: String,
    },
    /// Nothing for this kind of machine.
    #[error("the registry has nothing of the agent {agent:?} for {platform}")]
    NotForPlatform {
        /// Its name.
        agent: String,
        /// This machine's kind.
        platform: String,
    },
    /// The registry gives no checksum.
    #[error(
        "the registry gives no sha256 for {url}: install it yourself, or add --unverified to take it as it comes"
    )]
    NoChecksum {
        /// What would be fetched.
        url: String,
    },
    /// The download is not what the registry says.
    #[error(
        "{url} is not what the registry describes: its sha256 is {found}, not {wanted}; nothing was installed"
    )]
    Checksum {
        /// What was fetched.
        url: String,
        /// What the registry says.
        wanted: String,
        /// What came.
        found: String,
    },
    /// An address that may not be fetched.
    #[error("{0:?} may not be fetched: only https, or http of this machine itself")]
    Address(String),
    /// A download failed.
    #[error("{url} cannot be fetched: {reason}")]
    Fetch {
        /// What.
        url: String,
        /// Why.
        reason: String,
    },
    /// A download is larger than it may be.
    #[error("{url} is larger than {limit} bytes")]
    TooLarge {
        /// What.
        url: String,
        /// The bound.
        limit: u64,
    },
    /// The archive holds something that may not be unpacked.
    #[error("the archive was refused: {0}")]
    Archive(String),
    /// npm, uv or pip failed; it said why on standard error.
    #[error("{program} could not install {package}: {reason}")]
    Installer {
        /// Which.
        program: String,
        /// What.
        package: String,
        /// How it ended.
        reason: String,
    },
    /// The package is there and has no program to run.
    #[error("the package {package} has no program to run")]
    NoProgram {
        /// Which.
        package: String,
    },
    /// Somebody else installs the same agent.
    #[error("the agent {0:?} is being installed by another acpd")]
    Busy(String),
    /// The data directory cannot be read or written.
    #[error("{}: {source}", path.display())]
    Disk {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl CatalogError {
    pub(super) fn disk(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Disk { path, source }
    }
}
