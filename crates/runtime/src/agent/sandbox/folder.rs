//! Folders that a user opens for a thread, because its agent was denied a path in one.
//!
//! In: a folder, or the path that was denied. Out: that it may be opened, or why it stays closed. Never: follows a link, believes
//! that the path was denied, or opens what makes more of an agent than the agent of its thread: keys, settings, programs, acpd's own
//! files.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use acpd_catalog::find_program;
use acpd_host::{Reserved, Walks};
use acpd_model::{ErrorCode, Failure};

use super::denial::real;
use super::places::Places;
use crate::agent::config::AgentConfig;
use crate::agent::mcp::McpServer;

/// Why a folder stays closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClosedFolder {
    /// The path is relative, or not the folder's only name.
    #[error("{0:?} is not an absolute path without \".\" and \"..\"")]
    NotPlain(String),
    /// There is no such folder.
    #[error("directory not found on the daemon's host: {0:?}")]
    Missing(String),
    /// The path contains a link, which an agent may have made.
    #[error("{named:?} leads to {real:?}: name that directory, if you mean it")]
    Link {
        /// The path that was named.
        named: String,
        /// Where it leads.
        real: String,
    },
    /// The folder is never opened for a thread.
    #[error(
        "{folder:?} stays closed, because {reason}. \"acpd move THREAD DIRECTORY\" lets a thread work elsewhere, and the sandbox's \
         settings in the configuration grant single paths"
    )]
    Never {
        /// The folder.
        folder: String,
        /// The reason.
        reason: &'static str,
    },
    /// The folders around it cannot be looked up at the moment.
    #[error("{0}")]
    Unknown(String),
}

impl From<ClosedFolder> for Failure {
    fn from(closed: ClosedFolder) -> Self {
        let code = match closed {
            ClosedFolder::Never { .. } => ErrorCode::Forbidden,
            ClosedFolder::Unknown(_) => ErrorCode::Overloaded,
            _ => ErrorCode::InvalidParams,
        };
        Self::new(code, closed.to_string())
    }
}

/// What a folder must not have to do with.
struct Surroundings<'a> {
    /// The places of the agent, and those of the user.
    places: Vec<Places<'a>>,
    walks: &'a Walks,
    reserved: &'a Reserved,
    /// Files that run as agents or for them.
    programs: &'a [PathBuf],
}

impl AgentConfig {
    /// Checks that a user may open this folder for a thread of the agent. `programs` are the files that run as any agent.
    pub fn check_folder(
        &self,
        reserved: &Reserved,
        programs: &[PathBuf],
        folder: &Path,
    ) -> Result<(), ClosedFolder> {
        self.check_folder_in(&self.environments(), reserved, programs, folder)
    }

    fn check_folder_in(
        &self,
        environments: &[BTreeMap<String, String>],
        reserved: &Reserved,
        programs: &[PathBuf],
        folder: &Path,
    ) -> Result<(), ClosedFolder> {
        let named = || folder.to_string_lossy().into_owned();
        let is_plain = folder
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if !folder.is_absolute()
            || !is_plain
            // Parts leave out spare slashes and dots.
            || folder.iter().collect::<PathBuf>().as_os_str() != folder.as_os_str()
            || named().chars().any(char::is_control)
        {
            return Err(ClosedFolder::NotPlain(named()));
        }
        let walks = Walks::default();
        let walk = walks.along(folder).filter(|walk| walk.is_directory());
        let Some(walk) = walk else {
            return Err(ClosedFolder::Missing(named()));
        };
        if !walk.links().is_empty() || walk.real() != folder {
            return Err(ClosedFolder::Link {
                named: named(),
                real: walk.real().to_string_lossy().into_owned(),
            });
        }
        let surroundings = Surroundings {
            places: environments.iter().map(|env| Places(env, &walks)).collect(),
            walks: &walks,
            reserved,
            programs,
        };
        if let Some(reason) = surroundings.reason_against(folder, &self.homes_of_others()) {
            let folder = named();
            return Err(ClosedFolder::Never { folder, reason });
        }
        // What cannot be looked up could be one of these.
        walks
            .check()
            .map_err(|error| ClosedFolder::Unknown(error.to_string()))
    }

    /// Returns the folder that a user may open for a thread whose agent was denied this path.
    pub fn folder_to_open(&self, reserved: &Reserved, programs: &[PathBuf], denied: &Path) -> Option<String> {
        let real = real(denied)?;
        let folder = if real.is_dir() { &*real } else { real.parent()? };
        self.check_folder(reserved, programs, folder).ok()?;
        folder.to_str().map(str::to_owned)
    }

    /// Returns the files that run as the agent or as its configured servers: programs, and what their command lines name.
    pub fn program_paths(&self) -> Vec<PathBuf> {
        let env = self.variables();
        let search = env.get("PATH").map(String::as_str).unwrap_or_default();
        let servers = self.mcp_servers.iter().filter_map(McpServer::program);
        let servers = servers.map(|server| (&server.command, &server.args));
        let lines = std::iter::once((&self.command, &self.args)).chain(servers);
        let mut paths = Vec::new();
        for (command, args) in lines {
            paths.extend(find_program(command, search));
            // A script, for example.
            paths.extend(args.iter().map(PathBuf::from).filter(|path| path.is_file()));
        }
        paths.retain(|path| path.is_absolute());
        paths
    }
}

impl Surroundings<'_> {
    /// Returns why a folder is never opened. Its path has no links.
    fn reason_against(&self, folder: &Path, homes_of_others: &[PathBuf]) -> Option<&'static str> {
        let overlaps = |other: &Path| {
            let real = self.walks.real(other);
            let mut names = [other, &*real].into_iter();
            names.any(|other| other.starts_with(folder) || folder.starts_with(other))
        };
        let any = |is_so: &dyn Fn(Places<'_>) -> bool| self.places.iter().any(|places| is_so(*places));
        if folder.parent().is_none() || Places::is_of_system(folder) {
            return Some("it belongs to the system");
        }
        if any(&|places| places.path("$HOME").is_none() || places.holds_home(folder)) {
            return Some("it contains your home directory");
        }
        if self.reserved.paths().any(overlaps) {
            return Some("acpd's own files are there");
        }
        if any(&|places| places.touches_secrets(folder)) {
            return Some("there are keys or passwords");
        }
        if homes_of_others.iter().any(|other| overlaps(other)) {
            return Some("another agent has its settings and credentials there");
        }
        if any(&|places| {
            let home = places.path("$HOME").map(|home| self.walks.real(&home));
            let below = home.and_then(|home| folder.strip_prefix(home).ok().map(Path::to_owned));
            // Hidden directories of a repository or a service decide what runs, too.
            is_for_settings(below.as_deref(), folder)
                || places.settings().iter().any(|settings| overlaps(settings))
        }) {
            return Some("programs keep their settings there");
        }
        let own = std::env::current_exe().ok();
        if any(&|places| places.programs().iter().any(|programs| overlaps(programs)))
            || self
                .programs
                .iter()
                .chain(&own)
                .any(|program| self.is_near(folder, program))
        {
            return Some("programs are there that run outside of the sandbox");
        }
        let owner = folder.symlink_metadata().map(|found| found.uid());
        if owner.ok() != Some(rustix::process::geteuid().as_raw()) {
            return Some("it belongs to another user");
        }
        None
    }

    /// Returns whether a folder contains a program, or is where its parts are.
    fn is_near(&self, folder: &Path, program: &Path) -> bool {
        let real = self.walks.real(program);
        [program, &*real].into_iter().any(|program| {
            // All of the user's directories are beside a program of the home directory itself.
            let around = program
                .parent()
                .filter(|around| !self.places.iter().any(|places| places.holds_home(around)));
            program.starts_with(folder) || around.is_some_and(|around| folder.starts_with(around))
        })
    }
}

/// Returns whether a folder is where programs keep what they are set to do. Its path `below` the home directory decides, if it is there.
fn is_for_settings(below: Option<&Path>, folder: &Path) -> bool {
    let is_hidden = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
    below.unwrap_or(folder).components().any(is_hidden)
        || cfg!(target_os = "macos") && below.is_some_and(|below| below.starts_with("Library"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::agent::sandbox::Mode;

    struct Home {
        _dir: tempfile::TempDir,
        root: PathBuf,
        config: AgentConfig,
        reserved: Reserved,
    }

    /// Returns an agent with a home directory of its own.
    fn home() -> Home {
        // Its usual name is hidden.
        let dir = tempfile::Builder::new().prefix("acpd-").tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for made in [
            "u/work",
            "u/notes/deep",
            "u/.ssh",
            "u/.config/x",
            "u/bin",
            "u/state/acpd",
            "elsewhere",
        ] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        let text = |path: &str| root.join(path).display().to_string();
        let variables = [("HOME", "u"), ("PATH", "u/bin"), ("XDG_CONFIG_HOME", "u/.config")];
        let env: BTreeMap<_, _> = variables.map(|(name, path)| (name.to_owned(), text(path))).into();
        let config = AgentConfig {
            command: "sh".into(),
            env,
            ..AgentConfig::default()
        };
        let reserved = Reserved::new(vec![root.join("u/state/acpd")], Vec::new());
        Home {
            _dir: dir,
            root,
            config,
            reserved,
        }
    }

    impl Home {
        fn check(&self, path: &str) -> Result<(), ClosedFolder> {
            let path = self.root.join(path);
            self.config.check_folder(&self.reserved, &[], &path)
        }
    }

    #[test]
    fn folders_of_the_user_can_be_opened() {
        let home = home();
        for folder in ["u/notes", "u/notes/deep", "elsewhere"] {
            assert_eq!(home.check(folder), Ok(()), "{folder}");
        }
    }

    #[test]
    fn folders_beyond_an_agents_own_stay_closed() {
        let home = home();
        for (folder, reason) in [
            ("/", "the system"),
            ("/usr", "the system"),
            ("/etc", "the system"),
            ("", "your home directory"),
            ("u", "your home directory"),
            ("u/state", "acpd's own files"),
            ("u/state/acpd", "acpd's own files"),
            ("u/.ssh", "keys or passwords"),
            ("u/.config", "keys or passwords"),
            ("u/.config/x", "settings"),
            ("u/bin", "programs"),
        ] {
            let path = match folder {
                "" => home.root.clone(),
                folder => home.root.join(folder),
            };
            let closed = home.config.check_folder(&home.reserved, &[], &path).unwrap_err();
            assert!(closed.to_string().contains(reason), "{folder}: {closed}");
            assert_eq!(Failure::from(closed).code, ErrorCode::Forbidden, "{folder}");
            let denied = path.join("new-file");
            assert_eq!(
                home.config.folder_to_open(&home.reserved, &[], &denied),
                None,
                "{folder}"
            );
        }
    }

    #[test]
    fn a_folder_of_all_threads_is_open_until_a_link_takes_its_place() {
        let mut home = home();
        let notes = home.root.join("u/notes");
        home.config.sandbox.folders = vec![notes.display().to_string()];
        let is_open = |mode| {
            let grants = home.config.grants(mode, &home.reserved, &[], &[]);
            (grants.read.contains(&notes), grants.write.contains(&notes))
        };
        assert_eq!(is_open(Mode::Workspace), (false, true));
        assert_eq!(is_open(Mode::Readonly), (true, false));
        std::fs::rename(&notes, home.root.join("moved")).unwrap();
        assert_eq!(is_open(Mode::Workspace), (false, false));
        symlink(home.root.join("u/.ssh"), &notes).unwrap();
        assert_eq!(is_open(Mode::Workspace), (false, false));
        std::fs::remove_file(&notes).unwrap();
        std::fs::write(&notes, "").unwrap();
        assert_eq!(is_open(Mode::Workspace), (false, false));
    }

    #[test]
    fn links_and_other_names_open_nothing() {
        let home = home();
        symlink(home.root.join("u/.ssh"), home.root.join("u/notes/link")).unwrap();
        symlink(home.root.join("u/notes"), home.root.join("u/alias")).unwrap();
        for folder in ["u/notes/link", "u/alias", "u/alias/deep"] {
            let closed = home.check(folder).unwrap_err();
            assert!(matches!(closed, ClosedFolder::Link { .. }), "{folder}: {closed}");
        }
        for folder in [
            "u/notes/../.ssh",
            "u/./notes",
            "u//notes",
            "u/notes/",
            "u/notes/.",
            "u/no\ntes",
        ] {
            let closed = home.check(folder).unwrap_err();
            assert!(matches!(closed, ClosedFolder::NotPlain(_)), "{folder}: {closed}");
        }
        let relative = home.config.check_folder(&home.reserved, &[], Path::new("notes"));
        assert!(matches!(relative, Err(ClosedFolder::NotPlain(_))));
        assert!(matches!(home.check("u/none"), Err(ClosedFolder::Missing(_))));
        std::fs::write(home.root.join("u/notes/file"), "").unwrap();
        assert!(matches!(
            home.check("u/notes/file"),
            Err(ClosedFolder::Missing(_))
        ));
    }

    #[test]
    fn the_folder_of_a_denied_path_is_the_next_one_without_links() {
        let home = home();
        symlink(home.root.join("u/notes"), home.root.join("u/alias")).unwrap();
        symlink(home.root.join("u/.ssh"), home.root.join("u/keys")).unwrap();
        let offered = |path: &str| {
            home.config
                .folder_to_open(&home.reserved, &[], &home.root.join(path))
        };
        let notes = home.root.join("u/notes").display().to_string();
        for path in ["u/notes", "u/notes/new", "u/alias/new"] {
            assert_eq!(offered(path), Some(notes.clone()), "{path}");
        }
        // Keys behind a link, a new directory of the home, and one so far below that a click would open too much.
        for path in ["u/keys/id", "u/new", "u/notes/a/b"] {
            assert_eq!(offered(path), None, "{path}");
        }
    }

    #[test]
    fn an_agent_with_a_home_of_its_own_gets_nothing_of_the_users() {
        let home = home();
        for made in ["agent/.ssh", "agent/notes"] {
            std::fs::create_dir_all(home.root.join(made)).unwrap();
        }
        let agents = BTreeMap::from([
            ("HOME".to_owned(), home.root.join("agent").display().to_string()),
            ("PATH".to_owned(), "/usr/bin".to_owned()),
        ]);
        let both = [agents, home.config.env.clone()];
        let check = |folder: &str| {
            let folder = home.root.join(folder);
            home.config.check_folder_in(&both, &home.reserved, &[], &folder)
        };
        for (folder, reason) in [
            ("u", "your home directory"),
            ("agent", "your home directory"),
            ("u/.ssh", "keys or passwords"),
            ("agent/.ssh", "keys or passwords"),
            ("u/.config/x", "settings"),
            ("u/bin", "programs"),
        ] {
            let closed = check(folder).unwrap_err();
            assert!(closed.to_string().contains(reason), "{folder}: {closed}");
        }
        for folder in ["u/notes", "agent/notes", "elsewhere"] {
            assert_eq!(check(folder), Ok(()), "{folder}");
        }
    }

    #[test]
    fn programs_and_settings_stay_closed_that_the_daemon_does_not_search() {
        let mut home = home();
        home.config.env.insert("PATH".to_owned(), "/usr/bin".to_owned());
        home.config.env.remove("XDG_CONFIG_HOME");
        let data = home.root.join("data/config").display().to_string();
        home.config.env.insert("XDG_CONFIG_HOME".to_owned(), data);
        for made in [
            "u/go/bin",
            "u/miniconda3/envs",
            "u/dots",
            "data/config/systemd/user",
            "repo/.git/hooks",
            "agents/one/parts",
        ] {
            std::fs::create_dir_all(home.root.join(made)).unwrap();
        }
        std::fs::write(home.root.join("u/dots/bashrc"), "").unwrap();
        symlink("dots/bashrc", home.root.join("u/.bashrc")).unwrap();
        let program = home.root.join("agents/one/run");
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        let script = home.root.join("u/script.js");
        std::fs::write(&script, "").unwrap();
        let other = AgentConfig {
            command: program.display().to_string(),
            args: vec!["--fast".to_owned(), script.display().to_string()],
            ..AgentConfig::default()
        };
        assert_eq!(other.program_paths(), [program, script]);
        let environments = [home.config.env.clone()];
        let check = |folder: &Path| {
            let programs = other.program_paths();
            home.config
                .check_folder_in(&environments, &home.reserved, &programs, folder)
        };
        for (folder, reason) in [
            ("u/bin", "programs"),
            ("u/go/bin", "programs"),
            ("u/go", "programs"),
            ("u/miniconda3/envs", "programs"),
            ("agents", "programs"),
            ("agents/one/parts", "programs"),
            ("u/dots", "settings"),
            ("data/config/systemd/user", "settings"),
            ("repo/.git/hooks", "settings"),
        ] {
            let closed = check(&home.root.join(folder)).unwrap_err();
            assert!(closed.to_string().contains(reason), "{folder}: {closed}");
        }
        // A script in the home directory closes no other directory of it.
        for folder in ["u/notes", "repo"] {
            assert_eq!(check(&home.root.join(folder)), Ok(()), "{folder}");
        }
        let own = std::env::current_exe().unwrap().canonicalize().unwrap();
        let closed = check(own.parent().unwrap()).unwrap_err();
        assert!(matches!(closed, ClosedFolder::Never { .. }), "{closed}");
    }
}
