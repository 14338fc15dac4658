//! Settings: from flags and environment variables, then the configuration file, then defaults.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use acpd_catalog as catalog;
use acpd_log::Durability;
use acpd_model::Limits;
use acpd_policy::{Policy, shell_line};
use acpd_runtime::agent::config::AgentConfig;
use acpd_runtime::agent::sandbox;
use acpd_runtime::agent::sandbox::SandboxSettings;
use acpd_runtime::policy::book::PolicyBook;
use acpd_server::{Config, ServerConfig};
use anyhow::{Context, bail};
use serde::Deserialize;

use crate::cli::Common;
use crate::client::reach::Remote;

const PORT: u16 = 4127;

/// The contents of the configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    listen: Option<SocketAddr>,
    server: ServerConfig,
    data_dir: Option<PathBuf>,
    durability: Survives,
    agents: BTreeMap<String, AgentConfig>,
    default_agent: Option<String>,
    policy: Option<Policy>,
    sandbox: SandboxSettings,
    registry_url: Option<String>,
    limits: Limits,
}

/// The failure that a stored event survives.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Survives {
    /// The end of the daemon process, including `kill -9`.
    #[default]
    Process,
    /// A power failure too; each commit waits for the disk.
    Power,
}

/// All settings of one invocation.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The configuration of the daemon, running or to be started.
    pub daemon: Config,
    /// The configuration file, if it exists.
    pub config_file: Option<PathBuf>,
    /// The path of the configuration file, whether it exists or not.
    pub config_path: PathBuf,
    /// URL from which "acpd agents update" downloads the registry.
    pub registry_url: String,
    /// The token of the flag or the environment.
    pub token: Option<String>,
    /// Whether other commands require `--data-dir` to find the same daemon.
    names_data_dir: bool,
    /// The remote daemon to use, if any.
    pub remote: Option<Remote>,
}

impl Settings {
    /// Reads flags, environment variables and the configuration file.
    pub fn load(common: &Common) -> anyhow::Result<Self> {
        let named = common.config.is_some();
        let path = match &common.config {
            Some(path) => path.clone(),
            None => base("XDG_CONFIG_HOME", ".config")?.join("acpd/config.toml"),
        };
        let (file, config_file) = match std::fs::read_to_string(&path) {
            Ok(text) => {
                let file: File = toml::from_str(&text)
                    .with_context(|| format!("the configuration {} is wrong", path.display()))?;
                let File {
                    limits,
                    agents,
                    sandbox,
                    ..
                } = &file;
                if let Err(wrong) = limits.check().and_then(|()| sandbox::check(agents, sandbox)) {
                    bail!("the configuration {} is wrong: {wrong}", path.display());
                }
                (file, Some(absolute(&path)?))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !named => (File::default(), None),
            Err(error) => bail!("the configuration {} cannot be read: {error}", path.display()),
        };
        let File {
            listen,
            mut server,
            data_dir,
            durability,
            agents,
            default_agent,
            policy,
            sandbox,
            registry_url,
            limits,
        } = file;
        let names_data_dir = common.data_dir.is_some() || (named && data_dir.is_some());
        let data_dir = match common.data_dir.clone().or(data_dir) {
            Some(dir) => absolute(&dir)?,
            None => base("XDG_STATE_HOME", ".local/state")?.join("acpd"),
        };
        // Relative to the directory of the configuration file that names them.
        if let (Some(tls), Some(folder)) = (&mut server.tls, config_file.as_deref().and_then(Path::parent)) {
            for file in [&mut tls.cert, &mut tls.key].into_iter().flatten() {
                *file = folder.join(&file);
            }
        }
        let remote = match &common.connect {
            Some(url) => Some(Remote::parse(url, common.tls_fingerprint.as_deref())?),
            None => None,
        };
        let config_path = absolute(&path)?;
        let daemon = Config {
            listen: common
                .listen
                .or(listen)
                .unwrap_or((Ipv4Addr::LOCALHOST, PORT).into()),
            server,
            data_dir,
            config_file: Some(config_path.clone()),
            durability: match durability {
                Survives::Process => Durability::Process,
                Survives::Power => Durability::Power,
            },
            agents,
            default_agent,
            policy,
            sandbox,
            limits,
            keeper: None,
        };
        Ok(Self {
            daemon,
            config_file,
            config_path,
            registry_url: registry_url.unwrap_or_else(|| catalog::OFFICIAL.to_owned()),
            token: common.token.clone(),
            names_data_dir,
            remote,
        })
    }

    /// Returns the shell line of another acpd command for the same daemon.
    pub fn own_command(&self, command: &str) -> String {
        let dir = self.daemon.data_dir.to_string_lossy();
        let place = if self.names_data_dir {
            &["--data-dir", &*dir][..]
        } else {
            &[]
        };
        shell_line("acpd", std::iter::once(command).chain(place.iter().copied()))
    }

    /// Reads the current policies of a configuration file.
    pub fn policies(path: &Path) -> anyhow::Result<PolicyBook> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("the configuration {} cannot be read", path.display()))?;
        let file: File = toml::from_str(&text)
            .with_context(|| format!("the configuration {} is wrong", path.display()))?;
        Ok(PolicyBook::new(file.policy, &file.agents))
    }
}

fn base(variable: &str, below_home: &str) -> anyhow::Result<PathBuf> {
    if let Some(dir) = std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|dir| dir.is_absolute())
    {
        return Ok(dir);
    }
    let home = std::env::var_os("HOME").context("HOME is not set: set --data-dir and --config")?;
    Ok(PathBuf::from(home).join(below_home))
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("{} is no path", path.display()))
}
