//! Folders that a user opens for a thread, because its agent was denied a path in one.
//!
//! In: a folder, or the path that was denied. Out: that it may be opened, or why it stays closed. Never: follows a link, believes
//! that the path was denied, or opens what makes more of an agent than the agent of its thread: keys, settings, programs, acpd's own
//! files.

use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use acpd_host::{Reserved, Walks};
use acpd_model::{ErrorCode, Failure};

use super::denial::real;
use super::places::Places;
use crate::agent::config::AgentConfig;

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
    /// Its surroundings cannot be looked up at the moment.
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

impl AgentConfig {
    /// Checks that a user may open this folder for a thread of the agent.
    pub fn check_folder(&self, reserved: &Reserved, folder: &Path) -> Result<(), ClosedFolder> {
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
        let (env, walks) = (self.variables(), Walks::default());
        let places = Places(&env, &walks);
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
        if let Some(reason) = self.reason_against(places, reserved, folder) {
            let folder = named();
            return Err(ClosedFolder::Never { folder, reason });
        }
        // What cannot be looked up could be one of these.
        walks
            .check()
            .map_err(|error| ClosedFolder::Unknown(error.to_string()))
    }

    /// Returns why a folder is never opened. Its path has no links.
    fn reason_against(&self, places: Places<'_>, reserved: &Reserved, folder: &Path) -> Option<&'static str> {
        let real = |path: &Path| places.1.real(path);
        let overlaps = |other: &Path| {
            let other = real(other);
            other.starts_with(folder) || folder.starts_with(&other)
        };
        if folder.parent().is_none() || Places::is_of_system(folder) {
            return Some("it belongs to the system");
        }
        if places.path("$HOME").is_none() || places.holds_home(folder) {
            return Some("it contains your home directory");
        }
        if reserved.paths().any(overlaps) {
            return Some("acpd's own files are there");
        }
        if places.touches_secrets(folder) {
            return Some("there are keys or passwords");
        }
        if self.homes_of_others().iter().any(|other| overlaps(other)) {
            return Some("another agent has its settings and credentials there");
        }
        let home = places.path("$HOME").map(|home| real(&home));
        let below = home.and_then(|home| folder.strip_prefix(home).ok().map(Path::to_owned));
        if below.is_some_and(|below| is_for_settings(&below)) {
            return Some("programs keep their settings there");
        }
        if places.search().any(|search| overlaps(&search)) {
            return Some("programs are there that run outside of the sandbox");
        }
        let owner = folder.symlink_metadata().map(|found| found.uid());
        if owner.ok() != Some(rustix::process::geteuid().as_raw()) {
            return Some("it belongs to another user");
        }
        None
    }

    /// Returns the folder that a user may open for a thread whose agent was denied this path.
    pub fn folder_to_open(&self, reserved: &Reserved, denied: &Path) -> Option<String> {
        let real = real(denied)?;
        let folder = if real.is_dir() { &*real } else { real.parent()? };
        self.check_folder(reserved, folder).ok()?;
        folder.to_str().map(str::to_owned)
    }
}

/// Returns whether a path below the home directory is where programs keep what they are set to do.
fn is_for_settings(below: &Path) -> bool {
    let is_hidden = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
    below.components().any(is_hidden) || cfg!(target_os = "macos") && below.starts_with("Library")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::symlink;

    use super::*;

    struct Home {
        _dir: tempfile::TempDir,
        root: PathBuf,
        config: AgentConfig,
        reserved: Reserved,
    }

    /// Returns an agent with a home directory of its own.
    fn home() -> Home {
        let dir = tempfile::tempdir().unwrap();
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
            self.config.check_folder(&self.reserved, &path)
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
    fn what_makes_more_of_an_agent_stays_closed() {
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
            let closed = home.config.check_folder(&home.reserved, &path).unwrap_err();
            assert!(closed.to_string().contains(reason), "{folder}: {closed}");
            assert_eq!(Failure::from(closed).code, ErrorCode::Forbidden, "{folder}");
            let denied = path.join("new-file");
            assert_eq!(
                home.config.folder_to_open(&home.reserved, &denied),
                None,
                "{folder}"
            );
        }
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
        let relative = home.config.check_folder(&home.reserved, Path::new("notes"));
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
        let offered = |path: &str| home.config.folder_to_open(&home.reserved, &home.root.join(path));
        let notes = home.root.join("u/notes").display().to_string();
        for path in ["u/notes", "u/notes/new", "u/alias/new"] {
            assert_eq!(offered(path), Some(notes.clone()), "{path}");
        }
        // Keys behind a link, a new directory of the home, and one so far below that a click would open too much.
        for path in ["u/keys/id", "u/new", "u/notes/a/b"] {
            assert_eq!(offered(path), None, "{path}");
        }
    }
}
