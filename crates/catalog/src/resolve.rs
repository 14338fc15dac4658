//! Resolves an agent of the registry to a command line.
//!
//! The order is: the program on `PATH`, the version installed by `acpd agents install`, then the package's runner (npx,
//! uvx). Otherwise the error names the way to install the agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::CatalogError;
use super::installed::Installed;
use super::known;
use super::names::OwnNames;
use super::registry::{Binary, Distribution, Entry, Package, npm_name, platform, pypi_name};

/// How the agent's program was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LaunchMethod {
    /// The program is on `PATH`, or named by a path.
    Path,
    /// The program is installed in the data directory.
    Installed,
    /// npx downloads the package on first use.
    Npx,
    /// uvx downloads the package on first use.
    Uvx,
}

impl LaunchMethod {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Installed => "installed",
            Self::Npx => "npx",
            Self::Uvx => "uvx",
        }
    }

    /// Returns whether the start of the agent may download it first.
    pub fn downloads(self) -> bool {
        match self {
            Self::Path | Self::Installed => false,
            Self::Npx | Self::Uvx => true,
        }
    }
}

/// A command line that starts an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Absolute path of the program.
    pub command: PathBuf,
    /// Arguments before the agent's own arguments.
    pub before: Vec<String>,
    /// The agent's own arguments.
    pub args: Vec<String>,
    /// Environment variables to set.
    pub env: BTreeMap<String, String>,
    /// Environment variables to pass on.
    pub pass_env: Vec<String>,
    /// Where the agent stores its own files. Paths begin with variables.
    pub homes: Vec<&'static str>,
    /// The names of the agent's own directories.
    pub names: OwnNames,
    /// Whether the agent confines its own commands, in a way that does not work inside another sandbox. Never true if the
    /// document adds arguments or variables, which could change that.
    pub confines_itself: bool,
    /// How the program was found.
    pub how: LaunchMethod,
}

/// Finds a program like `execvp`: a name with a slash is a path, any other name is searched on `path`.
pub fn find_program(command: &str, path: &str) -> Option<PathBuf> {
    let candidates: Vec<PathBuf> = if command.contains('/') {
        vec![PathBuf::from(command)]
    } else {
        std::env::split_paths(path)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join(command))
            .collect()
    };
    candidates.into_iter().find(|file| is_executable(file))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Returns the program of an npm package, if the package is known.
pub(super) fn npm_program(package: &Package) -> Option<&'static str> {
    known::program(npm_name(&package.package)?)
}

/// An agent's program on `PATH`, with its arguments and variables.
pub(super) struct OnPath<'a> {
    pub program: &'a str,
    /// The package of the program. Its known facts determine the agent's own files and variables.
    package: &'a str,
    pub args: &'a [String],
    env: &'a BTreeMap<String, String>,
}

/// Returns the names that the agent may have on `PATH`.
pub(super) fn programs(entry: &Entry) -> Vec<OnPath<'_>> {
    let Distribution { npx, uvx, binary } = &entry.distribution;
    let npx = npx.as_ref().and_then(|package| {
        Some(OnPath {
            program: npm_program(package)?,
            package: npm_name(&package.package)?,
            args: &package.args,
            env: &package.env,
        })
    });
    let uvx = uvx.as_ref().and_then(|package| {
        let name = pypi_name(&package.package)?;
        Some(OnPath {
            program: name,
            package: name,
            args: &package.args,
            env: &package.env,
        })
    });
    let binary = binary.get(&platform()).and_then(|Binary { cmd, args, env, .. }| {
        Some(OnPath {
            program: cmd.rsplit('/').next()?,
            package: known::package_of(&entry.id).unwrap_or_default(),
            args,
            env,
        })
    });
    npx.into_iter().chain(uvx).chain(binary).collect()
}

/// Returns the command line for an agent of the registry. Searches `path` for programs. Only the package that is
/// started opens its own files; other packages in the document do not.
pub fn resolve(entry: &Entry, installed: Option<&Installed>, path: &str) -> Result<Launch, CatalogError> {
    for own in programs(entry) {
        if let Some(command) = find_program(own.program, path) {
            return Ok(Launch {
                command,
                before: Vec::new(),
                args: own.args.to_vec(),
                env: own.env.clone(),
                pass_env: known::pass_env(own.package),
                homes: known::homes_of(own.package).to_vec(),
                names: known::names_of(&entry.id, own.package, own.program),
                confines_itself: confines_itself(own.package, own.args, own.env),
                how: LaunchMethod::Path,
            });
        }
    }
    if let Some(installed) = installed {
        return Ok(installed.launch());
    }
    let run = |package: &Package, name: Option<&str>, runner: &str, before: &[&str], how| {
        let mut before: Vec<_> = before.iter().map(|&arg| arg.to_owned()).collect();
        before.push(package.package.clone());
        find_program(runner, path).map(|command| Launch {
            command,
            before,
            args: package.args.clone(),
            env: package.env.clone(),
            pass_env: known::pass_env(name.unwrap_or_default()),
            homes: known::homes_of(name.unwrap_or_default()).to_vec(),
            names: known::names_of(&entry.id, name.unwrap_or_default(), ""),
            confines_itself: name.is_some_and(|name| confines_itself(name, &package.args, &package.env)),
            how,
        })
    };
    let Distribution { npx, uvx, .. } = &entry.distribution;
    let npx = npx.as_ref().and_then(|package| {
        run(
            package,
            npm_name(&package.package),
            "npx",
            &["--yes"],
            LaunchMethod::Npx,
        )
    });
    let uvx = || {
        let package = uvx.as_ref()?;
        run(
            package,
            pypi_name(&package.package),
            "uvx",
            &[],
            LaunchMethod::Uvx,
        )
    };
    npx.or_else(uvx).ok_or_else(|| missing(entry))
}

/// Returns whether the agent of a package confines its own commands, and nothing that a document says can change that.
pub(super) fn confines_itself(package: &str, args: &[String], env: &BTreeMap<String, String>) -> bool {
    args.is_empty() && env.is_empty() && known::package_confines_itself(package)
}

/// Returns the error for a host that cannot run the agent as it is.
fn missing(entry: &Entry) -> CatalogError {
    let agent = entry.id.clone();
    let distribution = &entry.distribution;
    let downloads = distribution.binary.contains_key(&platform());
    if distribution.npx.is_some() {
        let also = if downloads || distribution.uvx.is_some() {
            format!(", or run \"acpd agents install {agent}\"")
        } else {
            String::new()
        };
        return CatalogError::NeedsNode {
            agent,
            program: "npx",
            also,
        };
    }
    if distribution.uvx.is_some() {
        return CatalogError::NeedsUv { agent };
    }
    if downloads {
        return CatalogError::NotInstalled { agent };
    }
    CatalogError::NotForPlatform {
        agent,
        platform: platform(),
    }
}

impl Installed {
    fn program(&self) -> String {
        let name = self.command.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    pub(super) fn launch(&self) -> Launch {
        Launch {
            command: self.command.clone(),
            before: Vec::new(),
            args: self.args.clone(),
            env: self.env.clone(),
            pass_env: known::pass_env(&self.package),
            homes: known::homes_of(&self.package).to_vec(),
            names: known::names_of(&self.id, &self.package, &self.program()),
            confines_itself: !self.from_archive && confines_itself(&self.package, &self.args, &self.env),
            how: LaunchMethod::Installed,
        }
    }
}
