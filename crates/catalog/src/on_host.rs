//! The agents that are on this host already, whether acpd can start them as they are or not.
//!
//! In: the registry and the installed agents, the directories of `PATH`, and the home directory. Out: agents, with what
//! it takes to start each. Never: runs a program, or downloads anything.

use std::path::{Path, PathBuf};

use acpd_host::read_small;
use serde::Deserialize;

use super::install::InstallMethod;
use super::known;
use super::registry::Entry;
use super::resolve::{LaunchMethod, find_program, programs};
use super::snapshot::Snapshot;

/// Directories below the home directory in which installers put programs, often without adding them to `PATH`.
const BELOW_HOME: [&str; 9] = [
    ".local/bin",
    ".npm-global/bin",
    ".bun/bin",
    ".volta/bin",
    ".cargo/bin",
    ".opencode/bin",
    ".claude/local",
    ".local/share/mise/shims",
    ".asdf/shims",
];

/// Where Homebrew puts programs on macOS. Programs that a desktop starts have no `PATH` with it.
const HOMEBREW: &str = "/opt/homebrew/bin";

/// Agents that are in no registry: the id, the name, the program and its arguments.
const OTHERS: [(&str, &str, &str, &[&str]); 2] = [
    ("hermes", "Hermes Agent", "hermes-acp", &[]),
    ("kimi-code", "Kimi Code", "kimi", &["acp"]),
];

/// The largest description of an npm package that is read, in bytes.
const PACKAGE_BYTES: u64 = 256 << 10;

/// An agent on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnHost {
    /// The id of the registry, or a name for the configuration.
    pub id: String,
    /// The name that clients display.
    pub title: String,
    /// What it takes to start the agent.
    pub presence: Presence,
}

/// What it takes to start an agent that is on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// Nothing: the agent's program is on `PATH`, or acpd has installed it.
    Runs(LaunchMethod),
    /// A command in the configuration: the program is not on `PATH`, or the registry does not have the agent.
    Command {
        /// The program, as it is written in the configuration.
        command: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// An adapter between this program of the vendor and ACP.
    Adapter {
        /// The program that was found.
        program: PathBuf,
        /// How acpd installs the adapter, or why it cannot.
        install: Result<InstallMethod, String>,
    },
}

/// Returns the directories in which installers put programs, besides those of `PATH`.
pub fn usual_places(home: Option<&Path>) -> Vec<PathBuf> {
    let below = |home: &Path| BELOW_HOME.map(|place| home.join(place));
    let mut places: Vec<PathBuf> = home.into_iter().flat_map(below).collect();
    if cfg!(target_os = "macos") {
        places.push(HOMEBREW.into());
    }
    if let Some(home) = home {
        let versions = std::fs::read_dir(home.join(".nvm/versions/node"))
            .into_iter()
            .flatten();
        let mut versions: Vec<PathBuf> = versions
            .flatten()
            .map(|version| version.path().join("bin"))
            .collect();
        // The newest last, by name; then first.
        versions.sort();
        places.extend(versions.into_iter().rev());
    }
    places
}

impl Snapshot {
    /// Returns the agents whose program, or whose vendor's program, is in a directory of `path` or in one of `places`.
    pub fn on_host(&self, path: &str, places: &[PathBuf]) -> Vec<OnHost> {
        let registry = self.registry.agents.iter().filter_map(|entry| {
            Some(OnHost {
                id: entry.id.clone(),
                title: entry.name.clone(),
                presence: self.presence(entry, path, places)?,
            })
        });
        let mut found: Vec<OnHost> = registry.collect();
        let orphans = self
            .installed
            .iter()
            .filter(|(id, _)| self.registry.get(id).is_none());
        found.extend(orphans.map(|(id, installed)| OnHost {
            id: id.clone(),
            title: installed.name.clone(),
            presence: Presence::Runs(LaunchMethod::Installed),
        }));
        for (id, title, program, args) in OTHERS {
            let is_known = found
                .iter()
                .any(|agent| agent.id == id || (id == "kimi-code" && agent.id == "kimi"));
            if let (false, Some(command)) = (is_known, command(program, path, places)) {
                found.push(OnHost {
                    id: id.to_owned(),
                    title: title.to_owned(),
                    presence: Presence::Command {
                        command,
                        args: args.iter().map(|&arg| arg.to_owned()).collect(),
                    },
                });
            }
        }
        found
    }

    fn presence(&self, entry: &Entry, path: &str, places: &[PathBuf]) -> Option<Presence> {
        match self.launch(&entry.id, path).map(|launch| launch.how) {
            Ok(how @ (LaunchMethod::Path | LaunchMethod::Installed)) => return Some(Presence::Runs(how)),
            Ok(LaunchMethod::Npx | LaunchMethod::Uvx) | Err(_) => {}
        }
        for own in programs(entry) {
            if let Some(program) = in_places(own.program, places) {
                return Some(Presence::Command {
                    command: program.to_str()?.to_owned(),
                    args: own.args.to_vec(),
                });
            }
        }
        let vendor = known::vendor_program(&entry.id)?;
        let program = find_program(vendor, path).or_else(|| in_places(vendor, places))?;
        let install = self
            .install_method(&entry.id, path)
            .map_err(|error| error.to_string());
        Some(Presence::Adapter { program, install })
    }
}

/// Returns how the configuration names a program: by its name if it is on `PATH`.
fn command(program: &str, path: &str, places: &[PathBuf]) -> Option<String> {
    if find_program(program, path).is_some() {
        return Some(program.to_owned());
    }
    in_places(program, places)?.to_str().map(str::to_owned)
}

fn in_places(program: &str, places: &[PathBuf]) -> Option<PathBuf> {
    let mut files = places.iter().map(|place| place.join(program));
    files.find_map(|file| find_program(file.to_str()?, ""))
}

/// Returns the version of the npm package that a program belongs to. Runs nothing.
pub fn package_version(program: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Description {
        version: Option<String>,
    }
    let real = program.canonicalize().ok()?;
    let is_package = real.components().any(|part| part.as_os_str() == "node_modules");
    let mut folders = real.ancestors().skip(1).take(4).filter(|_| is_package);
    folders.find_map(|folder| {
        let text = read_small(&folder.join("package.json"), PACKAGE_BYTES).ok()?;
        serde_json::from_str::<Description>(&text).ok()?.version
    })
}
