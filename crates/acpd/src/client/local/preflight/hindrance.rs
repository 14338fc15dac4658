//! Hindrances, in words.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use acpd_server::net::tls::{TlsConfig, TlsError};

use super::holder::Holder;
use crate::client::local::elsewhere::Elsewhere;
use crate::exit::{Exit, without_numbers};

/// How a user names another data directory.
const ANOTHER: &str = "--data-dir, ACPD_DATA_DIR or data_dir";

/// What hinders the start of a daemon, or the daemon in its work.
#[derive(Debug)]
pub enum Hindrance {
    /// A daemon of another host uses the data directory.
    Elsewhere(Elsewhere),
    /// The data directory is on a network file system of this kind, and the configuration does not permit that.
    NetworkFileSystem {
        dir: PathBuf,
        kind: &'static str,
        config: PathBuf,
    },
    /// The data directory does not exist, and nothing can be created in the nearest directory that does.
    CannotBeMade {
        dir: PathBuf,
        parent: PathBuf,
        denied: Denied,
    },
    /// The data directory is not a directory of this user alone.
    NotPrivate { dir: PathBuf, reason: String },
    /// Nothing can be created in the data directory.
    NotWritable { dir: PathBuf, denied: Denied },
    /// The file system of the data directory has too few free bytes for the log.
    DiskFull { dir: PathBuf, free: u64 },
    /// A newer acpd has made the log.
    NewerLog {
        path: PathBuf,
        version: usize,
        known: usize,
    },
    /// The file of the log is something else.
    ForeignLog(PathBuf),
    /// The file of the log cannot be read.
    UnreadableLog { path: PathBuf, reason: String },
    /// Another daemon of this host uses the data directory.
    LogInUse {
        path: PathBuf,
        /// Its process and its URL, if it has published them.
        other: Option<(u32, String)>,
        /// The command that stops it.
        stop: String,
    },
    /// The daemon would send secrets over the network in clear text.
    NoTls(SocketAddr),
    /// A configured host name is invalid.
    Host { reason: String, config: PathBuf },
    /// The certificate cannot be used.
    Tls {
        reason: String,
        /// Whether the daemon has made it, and makes another one if it is gone.
        is_own: bool,
    },
    /// A file that the daemon needs cannot be used.
    File {
        path: PathBuf,
        reason: String,
        advice: String,
    },
    /// Another program has the address.
    AddressTaken {
        address: SocketAddr,
        holder: Holder,
        /// How the user chooses another one.
        advice: String,
    },
    /// The system does not permit the address.
    AddressRefused {
        address: SocketAddr,
        reason: String,
        advice: String,
    },
}

/// Why a directory cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// Its file system is mounted read-only.
    ReadOnly,
    /// This user has no access.
    Access,
    /// It is not a directory.
    NotDirectory,
}

impl Hindrance {
    /// Creates the one of a certificate that cannot be used.
    pub fn of_tls(tls: &TlsConfig, error: &TlsError) -> Self {
        Self::Tls {
            reason: error.to_string(),
            is_own: tls.self_signed && !matches!(error, TlsError::Config),
        }
    }

    /// Returns whether a start fails for certain, or must not be tried. For the others, it shows.
    pub fn is_certain(&self) -> bool {
        match self {
            Self::Elsewhere(_)
            | Self::NetworkFileSystem { .. }
            | Self::CannotBeMade { .. }
            | Self::NotPrivate { .. }
            | Self::NotWritable { .. }
            | Self::NewerLog { .. }
            | Self::NoTls(_)
            | Self::Host { .. } => true,
            // Space and addresses may become free, and SQLite may mend what a crash left of the file.
            Self::DiskFull { .. }
            | Self::ForeignLog(_)
            | Self::UnreadableLog { .. }
            | Self::LogInUse { .. }
            | Self::Tls { .. }
            | Self::File { .. }
            | Self::AddressTaken { .. }
            | Self::AddressRefused { .. } => false,
        }
    }

    /// Returns what hinders.
    pub fn reason(&self) -> String {
        match self {
            Self::Elsewhere(elsewhere) => elsewhere.reason(),
            Self::NetworkFileSystem { dir, kind, .. } => format!(
                "{} is on a network file system ({kind}), where the log can be damaged",
                dir.display()
            ),
            Self::CannotBeMade { dir, parent, denied } => {
                let (dir, parent) = (dir.display(), parent.display());
                match denied {
                    Denied::ReadOnly => {
                        format!("{dir} cannot be created: {parent} is on a read-only file system")
                    }
                    Denied::Access => format!("{dir} cannot be created: this user may not write to {parent}"),
                    Denied::NotDirectory => format!("{dir} cannot be created: {parent} is not a directory"),
                }
            }
            Self::NotPrivate { dir, reason } => {
                let reason = without_numbers(reason);
                format!("the data directory {} cannot be used: {reason}", dir.display())
            }
            Self::NotWritable { dir, denied } => match denied {
                Denied::ReadOnly => format!(
                    "{} is on a read-only file system, so no event can be stored",
                    dir.display()
                ),
                Denied::Access => format!(
                    "this user may not write to {}, so no event can be stored",
                    dir.display()
                ),
                Denied::NotDirectory => {
                    format!("{} is not a directory, so no event can be stored", dir.display())
                }
            },
            Self::DiskFull { dir, free } => format!(
                "the disk of {} is full, only {} KiB are free; nothing is lost",
                dir.display(),
                free >> 10
            ),
            Self::NewerLog { path, version, known } => format!(
                "{} was made by a newer acpd: it has version {version}, and this acpd knows versions up to {known}; nothing was changed",
                path.display()
            ),
            Self::ForeignLog(path) => format!("{} is not a database of SQLite", path.display()),
            Self::UnreadableLog { path, reason } => {
                format!("{} cannot be read: {}", path.display(), without_numbers(reason))
            }
            Self::LogInUse { path, other, .. } => {
                let other = other
                    .as_ref()
                    .map_or_else(String::new, |(pid, url)| format!(" (process {pid}, {url})"));
                format!("{} is in use by another acpd{other}", path.display())
            }
            Self::NoTls(address) => format!(
                "{address} is not a loopback address, and TLS is not configured: the access token would be sent in clear text"
            ),
            Self::Host { reason, .. } => reason.clone(),
            Self::Tls { reason, .. } => format!("TLS cannot be used: {}", without_numbers(reason)),
            Self::File { reason, .. } => without_numbers(reason),
            Self::AddressTaken { address, holder, .. } => format!("cannot listen on {address}: {holder}"),
            Self::AddressRefused { address, reason, .. } => {
                format!("cannot listen on {address}: {}", without_numbers(reason))
            }
        }
    }

    /// Returns what to do.
    pub fn advice(&self) -> String {
        match self {
            Self::Elsewhere(elsewhere) => elsewhere.advice(),
            Self::NetworkFileSystem { config, .. } => format!(
                "name a directory on a local disk with {ANOTHER}; or set data_dir_on_network = true in {} if only one host ever uses it",
                config.display()
            ),
            Self::NotPrivate { .. } => {
                format!("make it a directory of this user alone, or name another one with {ANOTHER}")
            }
            Self::CannotBeMade { denied, .. } | Self::NotWritable { denied, .. } => match denied {
                Denied::ReadOnly => format!("make it writable, or name another directory with {ANOTHER}"),
                Denied::Access => {
                    format!("change its permissions, or name another directory with {ANOTHER}")
                }
                Denied::NotDirectory => format!("name another directory with {ANOTHER}"),
            },
            Self::DiskFull { .. } => {
                "free some space and start again; a running daemon continues by itself".to_owned()
            }
            Self::NewerLog { .. } => "install the newer acpd again or restore an older backup".to_owned(),
            Self::ForeignLog(_) => {
                format!("restore a backup with acpd restore, or name another directory with {ANOTHER}")
            }
            Self::UnreadableLog { .. } => "make it a file that this user can read".to_owned(),
            Self::LogInUse { stop, .. } => {
                format!("use that one, stop it with \"{stop}\", or start this one with another --data-dir")
            }
            Self::NoTls(_) => "set up [server.tls], use an SSH tunnel, or pass --insecure-listen".to_owned(),
            Self::Host { config, .. } => format!("correct hosts of [server] in {}", config.display()),
            Self::Tls { is_own: true, .. } => {
                "correct the file, or remove tls-cert.pem and tls-key.pem from the data directory: the daemon makes others, with a new \
                 fingerprint"
                    .to_owned()
            }
            Self::Tls { is_own: false, .. } => {
                "correct cert and key of [server.tls] in the configuration".to_owned()
            }
            Self::File { advice, .. }
            | Self::AddressTaken { advice, .. }
            | Self::AddressRefused { advice, .. } => advice.clone(),
        }
    }

    /// Returns the error of a start that it prevents.
    pub fn error(&self) -> anyhow::Error {
        match self {
            Self::Elsewhere(elsewhere) => elsewhere.error(),
            _ => Exit::Failure.error(self.to_string()),
        }
    }
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.reason(), self.advice())
    }
}

#[cfg(test)]
mod tests {
    use acpd_log::LogError;
    use acpd_server::StartError;

    use super::*;

    #[test]
    fn the_libraries_have_the_same_words() {
        let newer = LogError::Newer {
            path: "/d/log.db".to_owned(),
            version: 9,
            known: 3,
        };
        let hindrance = Hindrance::NewerLog {
            path: "/d/log.db".into(),
            version: 9,
            known: 3,
        };
        assert_eq!(newer.to_string(), hindrance.to_string());
        let address = "0.0.0.0:1".parse().unwrap();
        assert_eq!(
            StartError::NotLoopback(address).to_string(),
            Hindrance::NoTls(address).to_string()
        );
    }
}
