//! Settings: from flags and environment variables, then the configuration file, then defaults.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use acpd_catalog as catalog;
use acpd_policy::shell_line;
use acpd_runtime::agent::config::AgentConfig;
use acpd_server::Config;
use anyhow::Context;

use crate::config::{ConfigError, data_dir_of, parse};
use crate::exit::Exit;
use crate::options::Common;
use crate::own_program::own_program;
use crate::remote::Remote;

/// All settings of one invocation.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The configuration of the daemon, running or to be started.
    pub daemon: Config,
    /// The configuration file, if it exists.
    pub config_file: Option<PathBuf>,
    /// The path of the configuration file, whether it exists or not.
    pub config_path: PathBuf,
    /// The error of the configuration file. Then [`Self::daemon`] has defaults, besides the data directory.
    pub wrong: Option<ConfigError>,
    /// The address that the flag or the environment names.
    pub named_listen: Option<SocketAddr>,
    /// Whether nothing names an address, so that the daemon takes another port where the default one is taken.
    pub any_port: bool,
    /// The token of the flag or the environment.
    pub token: Option<String>,
    /// Whether other commands require `--data-dir` to find the same daemon.
    names_data_dir: bool,
    /// Whether an option or a variable names the configuration file.
    names_config: bool,
    /// The remote daemon to use, if any.
    pub remote: Option<Remote>,
}

impl Settings {
    /// Reads flags, environment variables and the configuration file.
    pub fn load(common: &Common) -> anyhow::Result<Self> {
        let path = config_path(common)?;
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && common.config.is_none() => None,
            Err(error) => return Err(unreadable(&path, &error)),
        };
        Self::of(common, path, text)
    }

    /// Reads the same. If the configuration file cannot be read, uses the defaults and also returns the reason.
    pub fn load_anyway(common: &Common) -> anyhow::Result<(Self, Option<String>)> {
        match Self::load(common) {
            Ok(settings) => Ok((settings, None)),
            Err(error) => Ok((
                Self::of(common, config_path(common)?, None)?,
                Some(error.to_string()),
            )),
        }
    }

    /// Combines the options of the command with the text of the configuration file at `path`.
    fn of(common: &Common, path: PathBuf, text: Option<String>) -> anyhow::Result<Self> {
        let named = common.config.is_some();
        let mut wrong = None;
        let file = match &text {
            Some(text) => parse(&path, text).unwrap_or_else(|error| {
                wrong = Some(error);
                Config {
                    data_dir: data_dir_of(&path, text).unwrap_or_default(),
                    ..Config::default()
                }
            }),
            None => Config::default(),
        };
        let in_file = Some(&file.data_dir).filter(|dir| !dir.as_os_str().is_empty());
        let names_data_dir = common.data_dir.is_some() || (named && in_file.is_some());
        let data_dir = match common.data_dir.as_ref().or(in_file) {
            Some(dir) => absolute(dir)?,
            None => base("XDG_STATE_HOME", ".local/state")?.join("acpd"),
        };
        let any_port = common.listen.is_none() && file.listen.is_none();
        let remote = match &common.connect {
            Some(url) => Some(Remote::parse(url, common.tls_fingerprint.as_deref())?),
            None => None,
        };
        let daemon = Config {
            listen: Some(common.listen.unwrap_or(file.address())),
            data_dir,
            config_file: Some(path.clone()),
            demo: demo_agent(),
            ..file
        };
        Ok(Self {
            daemon,
            config_file: text.map(|_| path.clone()),
            config_path: path,
            wrong,
            named_listen: common.listen,
            any_port,
            token: common.token.clone(),
            names_data_dir,
            names_config: named,
            remote,
        })
    }

    /// Returns an error if the configuration file is wrong.
    pub fn checked(self) -> anyhow::Result<Self> {
        match &self.wrong {
            Some(error) => Err(Exit::Usage.error(error.to_string())),
            None => Ok(self),
        }
    }

    /// Returns the URL from which "acpd agents update" downloads the registry.
    pub fn registry_url(&self) -> &str {
        self.daemon.registry_url.as_deref().unwrap_or(catalog::OFFICIAL)
    }

    /// Returns the options with which `acpd serve` uses the same files and address.
    pub fn options_of_serve(&self) -> Vec<String> {
        let mut options = Vec::new();
        if self.names_config {
            options.extend([
                "--config".to_owned(),
                self.config_path.to_string_lossy().into_owned(),
            ]);
        }
        if self.names_data_dir {
            let dir = self.daemon.data_dir.to_string_lossy().into_owned();
            options.extend(["--data-dir".to_owned(), dir]);
        }
        if let Some(address) = self.named_listen {
            options.extend(["--listen".to_owned(), address.to_string()]);
        }
        options
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
}

/// Returns the demo agent, which this program contains. Returns `None` if the program's own path is unknown.
fn demo_agent() -> Option<AgentConfig> {
    let program = own_program().ok()?;
    Some(AgentConfig {
        command: program.to_string_lossy().into_owned(),
        args: vec!["demo-agent".to_owned()],
        title: Some("Demo agent".to_owned()),
        ..AgentConfig::default()
    })
}

/// Returns the path of the configuration file, whether it exists or not.
fn config_path(common: &Common) -> anyhow::Result<PathBuf> {
    absolute(&match &common.config {
        Some(path) => path.clone(),
        None => base("XDG_CONFIG_HOME", ".config")?.join("acpd/config.toml"),
    })
}

fn unreadable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let named_by = match std::env::var_os("ACPD_CONFIG") {
        Some(value) if std::path::absolute(&value).is_ok_and(|named| named == path) => {
            ", which ACPD_CONFIG names,"
        }
        _ => "",
    };
    Exit::Usage.error(format!(
        "the configuration {}{named_by} cannot be read: {error}",
        path.display()
    ))
}

/// Returns the user's home directory: that of the variable HOME, or of the user database. Some editors start programs with
/// next to no environment.
pub fn home() -> anyhow::Result<PathBuf> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    home.context("this user has no home directory: set HOME, or --data-dir and --config")
}

/// Returns a base directory of the user: that of the variable, or the one below the home.
pub fn base(variable: &str, below_home: &str) -> anyhow::Result<PathBuf> {
    if let Some(dir) = std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|dir| dir.is_absolute())
    {
        return Ok(dir);
    }
    Ok(home()?.join(below_home))
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("invalid path {}", path.display()))
}
