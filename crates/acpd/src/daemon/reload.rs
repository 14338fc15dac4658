//! Changes of the configuration, tokens and certificate, which a running daemon applies.
//!
//! In: the files, and SIGHUP. Out: reloads of the daemon. Owns: the state of the files when they were last read. Never:
//! applies a part of a wrong file.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use acpd_files::private_file::UserFile;
use acpd_server::auth::tokens;
use acpd_server::net::tls::TlsError;
use acpd_server::{Config, Daemon};

use crate::daemon::modes;

/// Interval at which the daemon checks its files for changes.
pub const LOOK_AT_FILES: Duration = Duration::from_secs(1);

/// Modification time, size and inode: differs when a file is written or replaced.
type Stamp = Option<(SystemTime, u64, u64)>;

fn stamp(path: &Path) -> Stamp {
    let file = std::fs::metadata(path).ok()?;
    Some((file.modified().ok()?, file.len(), file.ino()))
}

/// A file that is reloaded when it changes.
struct Watched {
    path: PathBuf,
    seen: Stamp,
}

impl Watched {
    fn new(path: PathBuf) -> Self {
        let seen = stamp(&path);
        Self { path, seen }
    }

    fn has_changed(&mut self) -> bool {
        let now = stamp(&self.path);
        std::mem::replace(&mut self.seen, now) != now
    }
}

/// The files of a daemon.
pub struct Files {
    config: Watched,
    tokens: Watched,
    certificate: Vec<Watched>,
    data_dir: PathBuf,
    /// What agents cannot access outside of the data directory, for its modes.
    private: Vec<UserFile>,
}

impl Files {
    /// Begins to watch. Called before the daemon reads its files, so that no later change is missed.
    pub fn of(config: &Config, config_path: &Path) -> Result<Self, TlsError> {
        let certificate = match &config.server.tls {
            Some(tls) => <[_; 2]>::from(tls.files(&config.data_dir)?)
                .map(Watched::new)
                .into(),
            None => Vec::new(),
        };
        let mut files = Self {
            // It may have changed since the settings were read: the first check reloads it.
            config: Watched {
                path: config_path.to_owned(),
                seen: None,
            },
            tokens: Watched::new(tokens::path(&config.data_dir)),
            certificate,
            data_dir: config.data_dir.clone(),
            private: Vec::new(),
        };
        files.watch_modes_of(config);
        Ok(files)
    }

    /// Watches the modes of what this configuration reserves. Those that are known keep the mode that is.
    fn watch_modes_of(&mut self, config: &Config) {
        let reserved = config.reserved();
        let paths: BTreeSet<&Path> = reserved.paths().filter(|path| *path != config.data_dir).collect();
        self.private.retain(|file| paths.contains(file.path()));
        for path in paths {
            if self.private.iter().all(|file| file.path() != path) {
                self.private.push(UserFile::new(path.to_owned()));
            }
        }
    }

    /// Continues once the daemon has started, which creates a self-signed certificate if there was none.
    pub fn started(&mut self) {
        for file in &mut self.certificate {
            if file.seen.is_none() {
                file.seen = stamp(&file.path);
            }
        }
        // It may be a link, whose mode means nothing.
        if let Ok(real) = self.data_dir.canonicalize() {
            self.data_dir = real;
        }
        // Files of an earlier version may have other modes.
        modes::close(&self.data_dir);
    }

    /// Closes what agents opened last, so that the next daemon can start. Called when they have ended.
    pub fn finish(&mut self) {
        modes::watch(&self.data_dir, &mut self.private);
    }

    /// Returns the mode that the configuration file is to have, once what an agent has changed is taken back; `None` if there is none.
    pub fn config_mode(&mut self) -> Option<u32> {
        modes::watch(&self.data_dir, &mut self.private);
        self.private_config().and_then(|config| config.mode())
    }

    /// Remembers the mode of the configuration file that the daemon has just written.
    pub fn config_written(&mut self, mode: u32) {
        if let Some(config) = self.private_config() {
            config.replaced(mode);
        }
    }

    fn private_config(&mut self) -> Option<&mut UserFile> {
        let path = &self.config.path;
        self.private.iter_mut().find(|file| file.path() == path)
    }

    /// Applies what has changed, or everything if `all`. `load` reads the configuration.
    pub async fn apply(&mut self, daemon: &Daemon, all: bool, load: impl Fn() -> anyhow::Result<Config>) {
        modes::watch(&self.data_dir, &mut self.private);
        if self.config.has_changed() || all {
            let config = load();
            if let Ok(config) = &config {
                self.watch_modes_of(config);
            }
            reload_config(daemon, config);
        }
        if self.tokens.has_changed() || all {
            reload_tokens(daemon).await;
        }
        // Check both files, so that a renewed pair is reloaded once.
        let renewed = self
            .certificate
            .iter_mut()
            .filter_map(|file| file.has_changed().then_some(()))
            .count();
        if renewed > 0 || (all && !self.certificate.is_empty()) {
            reload_certificate(daemon);
        }
    }
}

/// Keeps the current settings if the file is wrong: a typing error must not allow an agent more.
fn reload_config(daemon: &Daemon, config: anyhow::Result<Config>) {
    let reloaded = match config {
        Ok(config) => daemon.reload(&config),
        Err(error) => {
            tracing::error!("configuration not reloaded: {error:#}");
            return;
        }
    };
    if !reloaded.changed.is_empty() {
        tracing::info!("reloaded {}", reloaded.changed.join(", "));
    }
    if !reloaded.needs_restart.is_empty() {
        let names = reloaded.needs_restart.join(", ");
        tracing::warn!("changes of {names} need a restart of the daemon: run \"acpd restart\"");
    }
}

/// Keeps the current certificate if the files are invalid: while they are renewed, only one of the pair is new.
fn reload_certificate(daemon: &Daemon) {
    match daemon.reload_certificate() {
        Ok(()) => tracing::info!("reloaded certificate"),
        Err(error) => tracing::error!("certificate not reloaded: {error}"),
    }
}

async fn reload_tokens(daemon: &Daemon) {
    if let Err(error) = daemon.reload_keys().await {
        tracing::error!("tokens not reloaded: {error}");
    }
}
