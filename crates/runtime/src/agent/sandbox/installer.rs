//! The sandbox of programs that install agents.
//!
//! In: the directory of an installation. Out: a sandbox, or none on a system without sandboxes. Never: lets an installer write
//! anything else, or code of packages read the user's passwords for package registries.

use std::collections::BTreeMap;
use std::path::Path;

use acpd_catalog::Phase;
use acpd_host::{Environment, Grants, Kernel, Reserved, Sandbox, Walks};

use super::places::{Places, devices};

/// Settings of installers, often with passwords for package registries.
const SETTINGS: [&str; 4] = [
    "$HOME/.npmrc",
    "$HOME/.netrc",
    "$HOME/.pip",
    "$XDG_CONFIG_HOME/pip",
];

/// Returns the sandbox for an installer that writes the directory `target`.
pub fn for_installer(reserved: &Reserved, target: &Path, phase: Phase) -> Result<Option<Sandbox>, String> {
    if !Kernel::here().has_sandboxes() {
        return Ok(None);
    }
    let env = Environment::here(&[], &BTreeMap::new());
    let walks = Walks::default();
    let places = Places(&env, &walks);
    let mut read = places.read();
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
