//! Installed agents in the data directory. `agents/ID/` holds a folder for each installed version, and
//! `installed.json`, which names the one in use. Writing that file completes an installation. The steps before it touch
//! nothing that is in use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

use acpd_files::{Form, StateFile};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::error::CatalogError;
use super::files::make_private;
use super::installed::Installed;
use super::installer::{Installer, Phase, cache};
use super::progress::Progress;
use super::registry::{Binary, Entry, Package, inner_path, is_id, npm_name, platform, pypi_name};
use super::resolve::{find_program, npm_program};
use super::unpack::{self, Kind};
use super::{download, known};
use acpd_host::read_small;

/// Largest list of the packages that npm has installed for an agent, in bytes.
const PACKAGE_LOCK_BYTES: u64 = 16 << 20;
/// Largest archive of an agent, in bytes.
const ARCHIVE_BYTES: u64 = 1 << 30;
/// Largest file of an installed package that the daemon reads, in bytes.
const PACKAGE_FILE_BYTES: u64 = 1 << 20;

/// The content of `installed.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    name: String,
    version: String,
    /// Name of the folder in use.
    folder: String,
    /// Path of the program in that folder.
    command: String,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    /// The package of the program, without a version. Empty if acpd does not know the package.
    package: String,
    /// Whether the program comes from an archive at an address of the document, not from a package registry. Anything can
    /// be in it, under any name.
    #[serde(default)]
    from_archive: bool,
    /// Packages whose install scripts were not run.
    #[serde(default)]
    scripts_left: Vec<String>,
}

/// Files that were installed.
struct Fetched {
    /// Path of the program in the folder of the installation.
    command: String,
    /// Packages whose install scripts were not run.
    scripts_left: Vec<String>,
}

impl From<String> for Fetched {
    fn from(command: String) -> Self {
        Self {
            command,
            scripts_left: Vec::new(),
        }
    }
}

const RECORD: &str = "installed.json";
/// The form of that file. Its member `version` is that of the package. Earlier versions of acpd wrote it with the mode of any file.
const FORM: Form = Form {
    versions: &[],
    bytes: PACKAGE_FILE_BYTES,
    is_pretty: true,
    is_private: false,
};
const LOCK: &str = "lock";

/// Returns all agents that are installed below `agents`, by id.
pub fn all(agents: &Path) -> BTreeMap<String, Installed> {
    let Ok(folders) = std::fs::read_dir(agents) else {
        return BTreeMap::new();
    };
    folders
        .filter_map(|folder| folder.ok()?.file_name().into_string().ok())
        .filter_map(|id| one(agents, &id).map(|installed| (id, installed)))
        .collect()
}

/// Returns the folder of the installed agent that contains the file `program`. `data_dir` is the data directory.
pub fn folder_of(data_dir: &Path, program: &Path) -> Option<PathBuf> {
    let agents = data_dir.join("agents");
    let real = agents.canonicalize().ok()?;
    let below = program
        .strip_prefix(&agents)
        .or_else(|_| program.strip_prefix(&real))
        .ok()?;
    let id = below.components().next()?.as_os_str().to_str()?;
    is_id(id).then(|| real.join(id))
}

/// Returns the agent `id` if it is installed below `agents` and its program exists.
pub fn one(agents: &Path, id: &str) -> Option<Installed> {
    let home = Some(agents.join(id)).filter(|_| is_id(id))?;
    let record = read(&home)?;
    let command = home
        .join(inner_path(&record.folder)?.iter().collect::<PathBuf>())
        .join(inner_path(&record.command)?.iter().collect::<PathBuf>());
    command.is_file().then_some(Installed {
        name: record.name,
        version: record.version,
        command,
        scripts_left: record.scripts_left,
        args: record.args,
        env: record.env,
        package: record.package,
        id: id.to_owned(),
        from_archive: record.from_archive,
    })
}

fn record_in(home: &Path) -> StateFile<Record> {
    StateFile::new(home.join(RECORD), &FORM)
}

/// Returns the record of the installed agent. One that cannot be used is as good as none: the agent can be installed again.
fn read(home: &Path) -> Option<Record> {
    record_in(home).read().ok().flatten()
}

/// The way in which an agent is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallMethod {
    /// By acpd itself, which downloads an archive.
    Download,
    /// By npm.
    Npm,
    /// By uv.
    Uv,
    /// By pip.
    Pip,
}

impl InstallMethod {
    /// Returns the name as the protocol writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Download => "download",
            Self::Npm => "npm",
            Self::Uv => "uv",
            Self::Pip => "pip",
        }
    }
}

/// Returns how `entry` is installed.
pub fn method(entry: &Entry, path: &str) -> Result<InstallMethod, CatalogError> {
    Ok(match choose(entry, false, path)? {
        Chosen::Npm(..) => InstallMethod::Npm,
        Chosen::Uv(..) => InstallMethod::Uv,
        Chosen::Pip(..) => InstallMethod::Pip,
        Chosen::Binary(_) => InstallMethod::Download,
    })
}

/// The selected way to install an agent, with all that it needs.
enum Chosen<'a> {
    Npm(&'a Package, PathBuf),
    Uv(&'a Package, PathBuf),
    Pip(&'a Package, PathBuf),
    Binary(&'a Binary),
}

/// Installs `entry` below `agents`.
pub fn install(entry: &Entry, agents: &Path, host: Installer<'_>) -> Result<Installed, CatalogError> {
    let method = choose(entry, host.unverified, host.path)?;
    let home = agents.join(&entry.id);
    make_private(&home)?;
    let _lock = lock(&entry.id, &home)?;
    let earlier = read(&home).map(|record| record.folder);
    let folder = folder_name(&entry.version);
    let into = home.join(&folder);
    make_private(&into)?;
    let done = fetch(&method, &into, host).and_then(|fetched| {
        let (args, env, package) = match method {
            Chosen::Npm(npm, _) => (&npm.args, &npm.env, npm_name(&npm.package)),
            Chosen::Uv(pypi, _) | Chosen::Pip(pypi, _) => (&pypi.args, &pypi.env, pypi_name(&pypi.package)),
            Chosen::Binary(binary) => (&binary.args, &binary.env, known::package_of(&entry.id)),
        };
        let package = package.unwrap_or_default();
        let from_archive = matches!(method, Chosen::Binary(_));
        // What cannot be removed is removed with the version.
        let _ = std::fs::remove_dir_all(cache(&into));
        let record = Record {
            from_archive,
            scripts_left: fetched.scripts_left,
            name: entry.name.clone(),
            version: entry.version.clone(),
            folder: folder.clone(),
            command: fetched.command,
            args: args.clone(),
            env: env.clone(),
            package: package.to_owned(),
        };
        let file = record_in(&home);
        file.write(&record).map_err(CatalogError::disk(file.path()))
    });
    if let Err(error) = done {
        give_up(&home, &folder);
        return Err(error);
    }
    // Agents of the previous version may still run and load parts of their files late.
    sweep(&home, &[Some(folder.as_str()), earlier.as_deref()]);
    one(agents, &entry.id).ok_or_else(|| CatalogError::NoProgram {
        package: entry.id.clone(),
    })
}

/// Removes the installed agent `id`. Returns its version, or `None` if it is not installed.
pub fn uninstall(id: &str, agents: &Path) -> Result<Option<String>, CatalogError> {
    let home = agents.join(id);
    let Some(record) = is_id(id).then(|| read(&home)).flatten() else {
        return Ok(None);
    };
    let _lock = lock(id, &home)?;
    // Without the record, the agent is not installed. Folders that cannot be removed are swept by the next installation.
    let named = home.join(RECORD);
    std::fs::remove_file(&named).map_err(CatalogError::disk(&named))?;
    sweep(&home, &[]);
    Ok(Some(record.version))
}

/// Excludes other processes from the agent's folder until the result is dropped.
fn lock(id: &str, home: &Path) -> Result<File, CatalogError> {
    let lock = File::create(home.join(LOCK)).map_err(CatalogError::disk(home))?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| CatalogError::Busy(id.to_owned()))?;
    Ok(lock)
}

/// Selects the way to install. A download with a checksum needs no other program on the host, so it comes first.
fn choose<'a>(entry: &'a Entry, unverified: bool, path: &str) -> Result<Chosen<'a>, CatalogError> {
    let agent = || entry.id.clone();
    let distribution = &entry.distribution;
    let binary = distribution.binary.get(&platform());
    if let Some(binary) = binary
        && (binary.sha256.is_some() || unverified)
    {
        return Ok(Chosen::Binary(binary));
    }
    let mut missing = None;
    if let Some(package) = &distribution.npx {
        if let Some(npm) = find_program("npm", path) {
            return Ok(Chosen::Npm(package, npm));
        }
        missing = Some(CatalogError::NeedsNode {
            agent: agent(),
            program: "npm",
            also: String::new(),
        });
    }
    if let Some(package) = &distribution.uvx {
        if let Some(uv) = find_program("uv", path) {
            return Ok(Chosen::Uv(package, uv));
        }
        if let Some(python) = find_program("python3", path) {
            return Ok(Chosen::Pip(package, python));
        }
        missing.get_or_insert(CatalogError::NeedsPython { agent: agent() });
    }
    if let Some(binary) = binary {
        return Err(CatalogError::NoChecksum {
            url: binary.archive.clone(),
        });
    }
    Err(missing.unwrap_or_else(|| CatalogError::NotForPlatform {
        agent: agent(),
        platform: platform(),
    }))
}

/// Installs everything into `into`.
fn fetch(method: &Chosen<'_>, into: &Path, host: Installer<'_>) -> Result<Fetched, CatalogError> {
    match method {
        Chosen::Npm(package, npm) => npm_install(package, npm, into, host),
        Chosen::Uv(package, uv) => {
            let python = into.join("venv/bin/python");
            let python: &str = &python.to_string_lossy();
            let requirement = requirement(&package.package);
            host.run(uv, &["venv", "venv"], &package.package, into, Phase::Fetch)?;
            let mut args = vec!["pip", "install", "--python", python];
            if !host.scripts {
                args.push("--no-build");
            }
            args.extend(["--", requirement.as_str()]);
            host.run(uv, &args, &package.package, into, host.phase())
                .map_err(|error| unbuilt(error, host))?;
            python_program(package, into).map(Fetched::from)
        }
        Chosen::Pip(package, python) => {
            let venv = ["-m", "venv", "venv"];
            host.run(python, &venv, &package.package, into, Phase::Fetch)?;
            let pip = into.join("venv/bin/python");
            let requirement = requirement(&package.package);
            let mut args = vec!["-m", "pip", "install", "--disable-pip-version-check"];
            if !host.scripts {
                args.extend(["--only-binary", ":all:"]);
            }
            args.extend(["--", requirement.as_str()]);
            host.run(&pip, &args, &package.package, into, host.phase())
                .map_err(|error| unbuilt(error, host))?;
            python_program(package, into).map(Fetched::from)
        }
        Chosen::Binary(binary) => unpack_binary(binary, into, host).map(Fetched::from),
    }
}

/// Adds to the error of an installer that may not build packages how to permit it. Its output names the package.
fn unbuilt(error: CatalogError, host: Installer<'_>) -> CatalogError {
    match error {
        CatalogError::Installer {
            program,
            package,
            reason,
        } if !host.scripts => CatalogError::Installer {
            program,
            package,
            reason: format!(
                "{reason}\na package without a wheel must be built, which runs its code: --run-scripts permits that"
            ),
        },
        error => error,
    }
}

fn npm_install(
    package: &Package,
    npm: &Path,
    into: &Path,
    host: Installer<'_>,
) -> Result<Fetched, CatalogError> {
    let (folder, cache) = (into.to_string_lossy(), cache(into));
    let cache = cache.to_string_lossy();
    let places: [&str; 4] = ["--prefix", &folder, "--cache", &cache];
    let run = |verb: &str, args: &[&str], phase: Phase| {
        let args = [&[verb][..], &places[..], args].concat();
        host.run(npm, &args, &package.package, into, phase)
    };
    let args = [
        "--ignore-scripts",
        "--allow-git=none",
        "--global=false",
        "--no-audit",
        "--no-fund",
        "--",
        package.package.as_str(),
    ];
    run("install", &args, Phase::Fetch)?;
    let packages = locked_packages(into)?;
    if let Some((place, locked)) = packages.iter().find(|(_, locked)| locked.is_from_git()) {
        return Err(CatalogError::FromGit {
            package: package.package.clone(),
            dependency: locked.named(place),
        });
    }
    let mut scripts_left = packages_with_scripts(&packages);
    if host.scripts && !scripts_left.is_empty() {
        run("rebuild", &["--ignore-scripts=false"], Phase::Scripts)?;
        scripts_left.clear();
    }
    let no_program = || CatalogError::NoProgram {
        package: package.package.clone(),
    };
    let name = npm_name(&package.package).ok_or_else(no_program)?;
    let manifest = into.join("node_modules").join(name).join("package.json");
    let text = read_small(&manifest, PACKAGE_FILE_BYTES).map_err(CatalogError::disk(&manifest))?;
    let program = npm_bin(&text, name, npm_program(package)).ok_or_else(no_program)?;
    Ok(Fetched {
        command: format!("node_modules/.bin/{program}"),
        scripts_left,
    })
}

/// A package in npm's list of what it has installed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Locked {
    #[serde(default)]
    version: String,
    #[serde(default)]
    resolved: String,
    #[serde(default)]
    has_install_script: bool,
}

impl Locked {
    /// Returns whether npm cloned a repository to make the package, which runs code of it.
    fn is_from_git(&self) -> bool {
        self.resolved.starts_with("git")
    }

    /// Returns the name and version of the package at `place`.
    fn named(&self, place: &str) -> String {
        let name = place.rsplit("node_modules/").next().unwrap_or_default();
        format!("{name}@{}", self.version)
    }
}

/// Returns the packages that npm has installed, by their places. It writes no list if it has installed none.
fn locked_packages(into: &Path) -> Result<BTreeMap<String, Locked>, CatalogError> {
    #[derive(Deserialize)]
    struct Lock {
        packages: BTreeMap<String, Locked>,
    }
    let lock = into.join("node_modules/.package-lock.json");
    let text = match read_small(&lock, PACKAGE_LOCK_BYTES) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        read => read.map_err(CatalogError::disk(&lock))?,
    };
    let parsed = serde_json::from_str::<Lock>(&text);
    Ok(parsed
        .map_err(|error| CatalogError::disk(&lock)(error.into()))?
        .packages)
}

/// Returns the packages that want to run a script while they are installed.
fn packages_with_scripts(packages: &BTreeMap<String, Locked>) -> Vec<String> {
    let wanting = packages.iter().filter(|(_, locked)| locked.has_install_script);
    let named: BTreeSet<_> = wanting.map(|(place, locked)| locked.named(place)).collect();
    named.into_iter().collect()
}

/// Returns the program from an npm package's manifest. As in npx, this is the only program, else the one with the
/// package's name. A known program comes first.
fn npm_bin(manifest: &str, name: &str, known: Option<&str>) -> Option<String> {
    #[derive(Deserialize)]
    struct Manifest {
        bin: Bin,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Bin {
        One(#[allow(dead_code, reason = "npm links it under the package's name")] String),
        Several(BTreeMap<String, String>),
    }
    let bare = name.rsplit('/').next()?;
    let found = match serde_json::from_str::<Manifest>(manifest).ok()?.bin {
        Bin::One(_) => bare.to_owned(),
        Bin::Several(programs) => {
            let has = |program: &&str| programs.contains_key(*program);
            match known.filter(has).or(Some(bare).filter(has)) {
                Some(program) => program.to_owned(),
                None if programs.len() == 1 => programs.into_keys().next()?,
                None => return None,
            }
        }
    };
    // The name becomes one part of a path.
    (inner_path(&found)?.len() == 1).then_some(found)
}

/// Converts a uvx requirement for pip: uvx accepts `name@version`, and pip does not.
fn requirement(package: &str) -> String {
    match package.split_once('@') {
        Some((name, "latest")) => name.to_owned(),
        Some((name, version)) => format!("{name}=={version}"),
        None => package.to_owned(),
    }
}

/// Returns the program that uvx would run: the one with the package's name.
fn python_program(package: &Package, into: &Path) -> Result<String, CatalogError> {
    let name = pypi_name(&package.package).unwrap_or_default();
    let command = format!("venv/bin/{name}");
    if into.join(&command).is_file() {
        return Ok(command);
    }
    Err(CatalogError::NoProgram {
        package: package.package.clone(),
    })
}

fn unpack_binary(binary: &Binary, into: &Path, host: Installer<'_>) -> Result<String, CatalogError> {
    use std::os::unix::fs::PermissionsExt;
    let url = &binary.archive;
    let kind = Kind::of(url)
        .ok_or_else(|| CatalogError::Archive(format!("{url} is an installer or of a kind not known")))?;
    let download = into.join("download");
    let files = into.join("files");
    make_private(&files)?;
    let mut archive = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&download)
        .map_err(CatalogError::disk(&download))?;
    let found = download::fetch(url, ARCHIVE_BYTES, &mut archive, host.watch)?;
    // Verify the checksum before any of the content is parsed.
    if let Some(wanted) = &binary.sha256
        && !wanted.eq_ignore_ascii_case(&found)
    {
        return Err(CatalogError::Checksum {
            url: url.clone(),
            wanted: wanted.clone(),
            found,
        });
    }
    host.report(Progress::Unpacking);
    let inner: PathBuf = inner_path(&binary.cmd).unwrap_or_default().iter().collect();
    let command = Path::new("files").join(&inner);
    let dir = Dir::open_ambient_dir(&files, ambient_authority()).map_err(CatalogError::disk(&files))?;
    if kind == Kind::Program {
        if let Some(above) = inner.parent() {
            dir.create_dir_all(above).map_err(CatalogError::disk(&files))?;
        }
        std::fs::rename(&download, into.join(&command)).map_err(CatalogError::disk(&download))?;
    } else {
        // Use the same open file that the checksum was computed from.
        archive
            .seek(SeekFrom::Start(0))
            .map_err(CatalogError::disk(&download))?;
        unpack::unpack(archive, kind, &dir, unpack::BOUNDS)?;
        std::fs::remove_file(&download).map_err(CatalogError::disk(&download))?;
    }
    let no_program = |_| CatalogError::Archive(format!("it has no program {:?}", binary.cmd));
    // Zip archives often contain no modes. Use the directory handle, so that a link cannot redirect the change.
    let mode = cap_std::fs::Permissions::from_std(std::fs::Permissions::from_mode(0o755));
    dir.set_permissions(&inner, mode).map_err(no_program)?;
    Ok(command.to_string_lossy().into_owned())
}

/// Returns a folder name that was not used before.
fn folder_name(version: &str) -> String {
    let version: String = version
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            }
        })
        .take(40)
        .collect();
    let mut random = [0; 4];
    // Without randomness, the process id distinguishes two folders well enough.
    if getrandom::fill(&mut random).is_err() {
        random = std::process::id().to_be_bytes();
    }
    format!("v{version}-{:08x}", u32::from_be_bytes(random))
}

/// Removes the folder of an installation that has failed. It stays if the record names it: the record is written, and only its directory
/// could not be synced.
fn give_up(home: &Path, folder: &str) {
    if read(home).is_none_or(|record| record.folder != folder) {
        // The next installation removes what cannot be removed now.
        let _ = std::fs::remove_dir_all(home.join(folder));
    }
}

/// Removes all folders except `kept`. A folder that cannot be removed stays until the next run.
fn sweep(home: &Path, kept: &[Option<&str>]) {
    for folder in std::fs::read_dir(home).into_iter().flatten().flatten() {
        let name = folder.file_name();
        let is_dir = folder.file_type().is_ok_and(|kind| kind.is_dir());
        if is_dir && !kept.contains(&name.to_str()) {
            let _ = std::fs::remove_dir_all(folder.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_installation_leaves_the_folder_that_the_record_names() {
        let dir = tempfile::tempdir().unwrap();
        let record = Record {
            name: "Agent".to_owned(),
            version: "2".to_owned(),
            folder: "v2-1".to_owned(),
            command: "agent".to_owned(),
            args: Vec::new(),
            env: BTreeMap::new(),
            package: String::new(),
            from_archive: true,
            scripts_left: Vec::new(),
        };
        for folder in ["v2-1", "v2-2", "v2-3"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        give_up(dir.path(), "v2-3");
        record_in(dir.path()).write(&record).unwrap();
        give_up(dir.path(), "v2-2");
        give_up(dir.path(), "v2-1");
        let exists = ["v2-1", "v2-2", "v2-3"].map(|folder| dir.path().join(folder).exists());
        assert_eq!(exists, [true, false, false]);
    }

    #[test]
    fn the_program_of_an_npm_package_is_picked_as_npx_does() {
        let pick = |manifest, known| npm_bin(manifest, "@scope/agent", known);
        assert_eq!(pick(r#"{"bin": "cli.js"}"#, None).as_deref(), Some("agent"));
        assert_eq!(pick(r#"{"bin": {"x": "cli.js"}}"#, None).as_deref(), Some("x"));
        let two = r#"{"bin": {"agent": "a.js", "other": "b.js"}}"#;
        assert_eq!(pick(two, None).as_deref(), Some("agent"));
        assert_eq!(pick(two, Some("other")).as_deref(), Some("other"));
        assert_eq!(pick(r#"{"bin": {"x": "a.js", "y": "b.js"}}"#, None), None);
        assert_eq!(pick(r#"{"bin": {"../x": "a.js"}}"#, None), None);
        assert_eq!(pick("{}", None), None);
    }

    #[test]
    fn requirements_of_uvx_are_written_for_pip() {
        assert_eq!(requirement("a@1.2"), "a==1.2");
        assert_eq!(requirement("a@latest"), "a");
        assert_eq!(requirement("a[x]==1"), "a[x]==1");
    }
}
