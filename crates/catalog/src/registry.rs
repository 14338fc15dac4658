//! The ACP registry document, as `agentclientprotocol/registry` publishes it (`registry.json`, format 1).
//!
//! In: its text. Out: the usable agents, and the unusable ones with the reason for each. Unknown members are ignored.
//! Values that later become part of a command line or a path are validated here, once.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::CatalogError;

/// A registry document.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// The usable agents, in the order of the document.
    pub agents: Vec<Entry>,
    /// Entries that cannot be used: one message for each.
    pub skipped: Vec<String>,
}

/// One agent of the registry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Entry {
    /// Id of the agent, as used in commands and in `agentType`.
    pub id: String,
    /// Display name of the agent.
    pub name: String,
    /// Version of the agent.
    pub version: String,
    /// Description of the agent, in one sentence.
    #[serde(default)]
    pub description: String,
    /// The ways to obtain the agent.
    pub distribution: Distribution,
}

/// The ways to obtain an agent. Other ways in the document are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Distribution {
    /// An npm package.
    pub npx: Option<Package>,
    /// A `PyPI` package.
    pub uvx: Option<Package>,
    /// Archives by platform.
    pub binary: BTreeMap<String, Binary>,
}

/// A package that a runner downloads and starts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Package {
    /// Name of the package, usually with a version.
    pub package: String,
    /// Arguments of the package's program.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables to set.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// A program that can be downloaded.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Binary {
    /// Address of the download: `.zip`, `.tar.gz`, `.tgz`, `.tar.bz2`, `.tbz2`, or the program itself.
    pub archive: String,
    /// Path of the program in the archive.
    pub cmd: String,
    /// Arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables to set.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// SHA-256 of the archive, in hexadecimal digits.
    #[serde(default)]
    pub sha256: Option<String>,
}

/// Returns the registry's name for the host's platform.
pub fn platform() -> String {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    format!("{os}-{}", std::env::consts::ARCH)
}

/// Longest id of an agent, in bytes. The id becomes the name of a directory.
const ID_BYTES: usize = 64;

impl Registry {
    /// Parses a document. An invalid entry is omitted and reported, and the others stay.
    pub fn parse(text: &str) -> Result<Self, CatalogError> {
        #[derive(Deserialize)]
        struct Document<'a> {
            #[serde(default)]
            version: Option<String>,
            #[serde(borrow)]
            agents: Vec<&'a RawValue>,
        }
        let document: Document<'_> =
            serde_json::from_str(text).map_err(|error| CatalogError::Document(error.to_string()))?;
        if let Some(version) = document
            .version
            .filter(|version| version.split('.').next() != Some("1"))
        {
            return Err(CatalogError::Document(format!(
                "it has format version {version:?}, and this acpd reads version 1"
            )));
        }
        let mut registry = Self::default();
        let mut seen = BTreeSet::new();
        for raw in document.agents {
            let entry = serde_json::from_str::<Entry>(raw.get()).map_err(|error| error.to_string());
            let entry = entry.and_then(|entry| entry.check().map(|()| entry));
            match entry {
                Ok(entry) if seen.insert(entry.id.clone()) => registry.agents.push(entry),
                Ok(entry) => registry.skipped.push(format!("{}: it is there twice", entry.id)),
                Err(reason) => registry.skipped.push(format!("{}: {reason}", name_of(raw))),
            }
        }
        Ok(registry)
    }

    /// Returns the agent with that id.
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.agents.iter().find(|entry| entry.id == id)
    }
}

/// Returns a name for an entry that could not be parsed.
fn name_of(raw: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Id {
        id: String,
    }
    match serde_json::from_str::<Id>(raw.get()) {
        Ok(Id { id }) => format!("{:?}", id.chars().take(ID_BYTES).collect::<String>()),
        Err(_) => "an entry without an id".to_owned(),
    }
}

impl Entry {
    fn check(&self) -> Result<(), String> {
        if !is_id(&self.id) {
            return Err("its id is not of small letters, digits and hyphens".to_owned());
        }
        let Distribution { npx, uvx, binary } = &self.distribution;
        if npx.is_none() && uvx.is_none() && binary.is_empty() {
            return Err("it has no distribution that acpd knows".to_owned());
        }
        if let Some(npx) = npx {
            npm_name(&npx.package).ok_or_else(|| format!("{:?} is not an npm package", npx.package))?;
            check_env(&npx.env)?;
        }
        if let Some(uvx) = uvx {
            pypi_name(&uvx.package).ok_or_else(|| format!("{:?} is not a PyPI package", uvx.package))?;
            check_env(&uvx.env)?;
        }
        // Check only the path for this platform: paths of other systems follow other rules.
        if let Some(binary) = binary.get(&platform()) {
            if inner_path(&binary.cmd).is_none_or(|path| path.is_empty()) {
                return Err(format!(
                    "its program {:?} is not a path inside its archive",
                    binary.cmd
                ));
            }
            if let Some(sum) = &binary.sha256
                && !(sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit()))
            {
                return Err("its sha256 is not 64 hexadecimal digits".to_owned());
            }
            check_env(&binary.env)?;
        }
        Ok(())
    }
}

fn check_env(env: &BTreeMap<String, String>) -> Result<(), String> {
    let bad = |(name, value): &(&String, &String)| {
        name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
    };
    match env.iter().find(bad) {
        Some((name, _)) => Err(format!("{name:?} cannot be set in an environment")),
        None => Ok(()),
    }
}

/// Returns whether `id` is a valid agent id: `[a-z][a-z0-9-]*`.
pub fn is_id(id: &str) -> bool {
    id.len() <= ID_BYTES
        && id.starts_with(|c: char| c.is_ascii_lowercase())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Returns the parts of a path inside an archive. Returns `None` if the path is absolute, contains `..`, or is
/// ambiguous.
pub fn inner_path(path: &str) -> Option<Vec<&str>> {
    if path.starts_with('/') || path.contains(['\\', '\0']) {
        return None;
    }
    let parts: Vec<_> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    (!parts.contains(&"..")).then_some(parts)
}

/// Returns the package name of an npm package with or without a version. Returns `None` for addresses, paths, aliases
/// and anything that npm could interpret as an option.
pub fn npm_name(package: &str) -> Option<&str> {
    let from = usize::from(package.starts_with('@'));
    let (name, version) = match package[from..].find('@') {
        Some(at) => (&package[..from + at], Some(&package[from + at + 1..])),
        None => (package, None),
    };
    let bare = match name.strip_prefix('@') {
        Some(scoped) => {
            let (scope, bare) = scoped.split_once('/')?;
            is_word(scope, "-._~").then_some(bare)?
        }
        None => name,
    };
    (is_word(bare, "-._~") && version.is_none_or(|version| is_word(version, "-._+~^"))).then_some(name)
}

/// Returns the name in a `PyPI` requirement with or without extras and one version. Returns `None` for addresses and
/// options.
pub fn pypi_name(package: &str) -> Option<&str> {
    let end = package
        .find(['[', '=', '>', '<', '~', '!', '@'])
        .unwrap_or(package.len());
    let (name, mut rest) = package.split_at(end);
    if let Some(extras) = rest.strip_prefix('[') {
        let (extras, after) = extras.split_once(']')?;
        if !extras.split(',').all(|extra| is_word(extra, "-._")) {
            return None;
        }
        rest = after;
    }
    let version = ["==", ">=", "<=", "~=", "@"]
        .iter()
        .find_map(|sign| rest.strip_prefix(sign));
    let fits = rest.is_empty() || version.is_some_and(|version| is_word(version, "-._+!*"));
    (is_word(name, "-._") && fits).then_some(name)
}

/// Returns whether `text` starts with a letter or a digit (a version also with a sign) and continues with these and
/// `signs`.
fn is_word(text: &str, signs: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || "^~".contains(c) && signs.contains(c))
        && text.chars().all(fits)
}
