//! `daemon.json`, by which a running daemon publishes where it listens.

use std::fs::OpenOptions;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use acpd_files::{Form, StateError, StateFile, data_files};
use anyhow::Context;
use serde::{Deserialize, Serialize};

/// Variable by which a command tells the daemon that it starts where the log goes.
pub(super) const LOG_FILE: &str = "ACPD_LOG_FILE";

/// The form of `daemon.json`. The options in it have no bound but that of the system for arguments. Its member `version` is that of acpd.
const FORM: Form = Form {
    versions: &[],
    bytes: 16 << 20,
    is_pretty: false,
    is_private: false,
};

/// The content of `daemon.json`, by which a running daemon publishes its address.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DaemonFile {
    address: SocketAddr,
    /// URL for a browser.
    url: String,
    /// The daemon's process id.
    pub pid: u32,
    version: String,
    /// When the daemon started, in milliseconds since the epoch.
    #[serde(default)]
    pub started_at: i64,
    /// The file with the daemon's log; absent if the daemon logs to a terminal or a service manager.
    #[serde(default)]
    pub log_file: Option<PathBuf>,
    /// The options of `acpd serve` that a restart repeats.
    #[serde(default)]
    pub options: Vec<String>,
    /// The daemon's host.
    #[serde(default)]
    pub host: Option<HostMark>,
}

impl DaemonFile {
    /// Reads the notice of the daemon that runs on a data directory.
    pub fn read(data_dir: &Path) -> anyhow::Result<Self> {
        let file = Self::file(data_dir);
        let path = file.path().display();
        match file.read() {
            Ok(Some(notice)) => Ok(notice),
            Ok(None) => {
                let missing = std::io::Error::from(rustix::io::Errno::NOENT);
                Err(missing).with_context(|| format!("{path} cannot be read"))
            }
            Err(StateError::File(error)) => Err(error).with_context(|| format!("{path} cannot be read")),
            Err(error @ StateError::Damaged(_)) => {
                Err(error).with_context(|| format!("{path} does not say where the daemon listens"))
            }
        }
    }

    fn file(data_dir: &Path) -> StateFile<Self> {
        StateFile::new(Self::path(data_dir), &FORM)
    }

    /// Returns the path of the notice in a data directory.
    pub fn path(data_dir: &Path) -> PathBuf {
        data_files::DAEMON.path(data_dir)
    }

    /// Returns the address on which the daemon listens.
    pub fn listens(&self) -> SocketAddr {
        self.address
    }

    /// Returns the daemon's URL, with a wildcard address replaced by one that a browser can open.
    pub fn address(&self) -> String {
        reachable(&self.url)
    }
}

/// A host, as `daemon.json` names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostMark {
    /// The name of the host.
    pub name: String,
    /// The id of the host's start, which every container of the host has too; `None` where the system has no such id.
    #[serde(default)]
    pub boot_id: Option<String>,
}

impl HostMark {
    /// Returns the mark of this host.
    pub fn own() -> Self {
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        Self {
            name: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            boot_id: boot_id.map(|id| id.trim().to_owned()),
        }
    }
}

/// Replaces a wildcard address in a URL by one that a browser can open.
pub fn reachable(url: &str) -> String {
    url.replacen("//0.0.0.0:", "//127.0.0.1:", 1)
        .replacen("//[::]:", "//[::1]:", 1)
}

/// A daemon's published notice; dropping it removes the file.
#[derive(Debug)]
pub struct Running {
    path: PathBuf,
}

impl Running {
    /// Publishes the daemon's address.
    pub fn announce(
        data_dir: &Path,
        address: SocketAddr,
        url: String,
        options: Vec<String>,
    ) -> std::io::Result<Self> {
        let file = DaemonFile::file(data_dir);
        let notice = DaemonFile {
            address,
            url,
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: jiff::Timestamp::now().as_millisecond(),
            log_file: std::env::var_os(LOG_FILE).map(PathBuf::from),
            options,
            host: Some(HostMark::own()),
        };
        file.write(&notice)?;
        Ok(Self {
            path: file.path().to_owned(),
        })
    }

    /// Shows other hosts that the daemon still runs.
    pub fn touch(&self) {
        let touched = OpenOptions::new()
            .write(true)
            .open(&self.path)
            .and_then(|file| file.set_modified(std::time::SystemTime::now()));
        if let Err(error) = touched {
            tracing::debug!(path = %self.path.display(), %error, "the daemon's notice cannot be touched");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A file that remains names a daemon that is gone. The next daemon replaces it, and acpd's commands use the
        // socket.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_notice_is_whole_and_read_as_earlier_daemons_wrote_it() {
        let dir = tempfile::tempdir().unwrap();
        let read = || DaemonFile::read(dir.path()).map_err(|error| format!("{error:#}"));
        assert!(
            read()
                .unwrap_err()
                .contains("daemon.json cannot be read: No such file")
        );
        let address: SocketAddr = ([127, 0, 0, 1], 4127).into();
        let url = "http://127.0.0.1:4127".to_owned();
        let running = Running::announce(dir.path(), address, url, Vec::new()).unwrap();
        let path = DaemonFile::path(dir.path());
        assert_eq!(read().unwrap().pid, std::process::id());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(dir.path().read_dir().unwrap().count(), 1);
        drop(running);
        assert!(!path.exists());
        let earlier =
            r#"{"address":"127.0.0.1:4127","url":"http://127.0.0.1:4127","pid":7,"version":"0.1.0"}"#;
        std::fs::write(&path, earlier).unwrap();
        assert_eq!(read().unwrap().pid, 7);
        std::fs::write(&path, "{}").unwrap();
        assert!(
            read()
                .unwrap_err()
                .contains("daemon.json does not say where the daemon listens")
        );
    }

    #[test]
    fn every_address_of_a_machine_is_also_its_own() {
        let notice = |url: &str| DaemonFile {
            address: ([127, 0, 0, 1], 4127).into(),
            url: url.to_owned(),
            pid: 1,
            version: String::new(),
            started_at: 0,
            log_file: None,
            options: Vec::new(),
            host: None,
        };
        for (url, seen) in [
            ("http://127.0.0.1:4127", "http://127.0.0.1:4127"),
            ("https://0.0.0.0:4127", "https://127.0.0.1:4127"),
            ("https://[::]:4127", "https://[::1]:4127"),
            ("http://10.0.0.0:1", "http://10.0.0.0:1"),
        ] {
            assert_eq!(notice(url).address(), seen);
        }
    }
}
