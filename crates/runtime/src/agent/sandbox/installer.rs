//! The sandbox of programs that install agents.
//!
//! In: the directory of an installation. Out: a sandbox, or none on a system without sandboxes. Never: lets an installer write
//! anything else, or code of packages read the user's passwords for package registries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use acpd_catalog::{INSTALLER_VARIABLES, Phase, find_program};
use acpd_host::{Environment, Grants, Kernel, Reserved, Sandbox, Walks, Writable, check_descriptors};

use super::interpreter::Finder;
use super::places::{Places, devices};
use super::{SandboxSettings, listed, programs};

/// Settings of installers, often with passwords for package registries: in their usual places, and where variables say.
const SETTINGS: [&str; 13] = [
    "$HOME/.npmrc",
    "$HOME/.netrc",
    "$HOME/.pip",
    "$XDG_CONFIG_HOME/pip",
    "$XDG_CONFIG_HOME/uv",
    "$UV_CREDENTIALS_DIR",
    "$NPM_CONFIG_USERCONFIG",
    "$npm_config_userconfig",
    "$NPM_CONFIG_GLOBALCONFIG",
    "$npm_config_globalconfig",
    "$PIP_CONFIG_FILE",
    "$PIP_CLIENT_CERT",
    "$UV_CONFIG_FILE",
];

/// Certificates of servers, where variables say.
const CERTIFICATES: [&str; 6] = [
    "$SSL_CERT_FILE",
    "$SSL_CERT_DIR",
    "$NODE_EXTRA_CA_CERTS",
    "$NPM_CONFIG_CAFILE",
    "$npm_config_cafile",
    "$PIP_CERT",
];

/// Returns the sandbox for an installer, `program`, that writes the directory `target`. `settings` are those for all agents.
pub fn for_installer(
    settings: &SandboxSettings,
    reserved: &Reserved,
    program: &Path,
    target: &Path,
    phase: Phase,
) -> Result<Option<Sandbox>, String> {
    if !Kernel::here().has_sandboxes() {
        return Ok(None);
    }
    check_descriptors().map_err(|error| error.to_string())?;
    let env = Environment::here(&INSTALLER_VARIABLES.map(str::to_owned), &BTreeMap::new());
    let walks = Walks::default();
    let places = Places(&env, &walks);
    let mut read = places.read();
    read.extend(program_files(places, program));
    read.extend(settings.read.iter().filter_map(|path| listed(places, path)));
    read.extend(CERTIFICATES.iter().filter_map(|place| places.path(place)));
    if phase == Phase::Fetch {
        read.extend(SETTINGS.iter().filter_map(|place| places.path(place)));
    }
    let grants = Grants {
        read,
        write: devices(),
        withheld: reserved.paths().map(Path::to_owned).collect(),
        target: Some(target.to_owned()),
        walks,
        ..Grants::default()
    };
    Sandbox::new(&grants).map(Some).map_err(|error| error.to_string())
}

/// Returns the files of an installer, and of the Python with which it makes virtual environments and builds packages. Either may be
/// a link to another directory.
fn program_files(places: Places<'_>, program: &Path) -> Vec<PathBuf> {
    let written = places.write();
    let writable = Writable::new(places.1, written.iter());
    let is_trusted = |file: &Path| !writable.decides(file);
    let search = places.0.get("PATH").map(String::as_str).unwrap_or_default();
    let finder = Finder {
        places,
        search,
        is_trusted: &is_trusted,
    };
    let python = find_program("python3", search);
    std::iter::once(program.to_owned())
        .chain(python)
        .flat_map(|program| programs::files(&finder, &program.to_string_lossy(), &[]))
        .filter(|path| !places.is_led_astray(path))
        .collect()
}
