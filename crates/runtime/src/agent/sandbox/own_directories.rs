//! The directories that bear an agent's name, which the agent may write.
//!
//! In: the agent's names, and its environment. Out: directories. Owns: the list of directories that the daemon has made for
//! names of a registry document. Never: follows a link, makes more than the directory itself and the user's directory around
//! it, or returns a directory with programs that run outside of the sandbox.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use acpd_catalog::{OwnNames, places_named};
use acpd_host::{Reserved, read_small};
use acpd_model::limits::SANDBOX_ENTRIES;

use super::places::{Places, make};

/// Bytes of the list of directories that the daemon has made for agents of registry documents.
const OWN_DIRECTORIES_BYTES: u64 = 1 << 20;
/// The file of the data directory with the directories that were made for names of a registry document, one a line.
const MADE: &str = "own-directories";

/// Directories of the operating system, with many links, none of which leads into a home directory.
const SYSTEM: [&str; 4] = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];

/// Finds the directories that bear the names of one agent.
pub struct OwnDirectories<'a> {
    pub places: Places<'a>,
    pub names: &'a OwnNames,
    /// Directories and files of other agents.
    pub others: Vec<PathBuf>,
    pub reserved: &'a Reserved,
    /// Files that the agent runs.
    pub programs: Vec<PathBuf>,
}

impl OwnDirectories<'_> {
    /// Returns the directories. Makes those that are missing.
    pub fn open(&self) -> Vec<PathBuf> {
        if !self.places.path("$HOME").is_some_and(|home| home.is_dir()) {
            return Vec::new();
        }
        let places = self.names.names.iter().flat_map(|name| places_named(name));
        let paths = places.filter_map(|place| self.places.path(&place));
        paths
            .filter(|path| !self.is_elsewhere(path) && self.is_there(path))
            .filter(|path| !self.holds_programs(path))
            .collect()
    }

    /// Returns whether the path is another agent's, or concerns acpd's own files.
    fn is_elsewhere(&self, path: &Path) -> bool {
        let overlaps = |other: &Path| other.starts_with(path) || path.starts_with(other);
        self.others.iter().any(|other| overlaps(other)) || self.reserved.paths().any(overlaps)
    }

    /// Returns whether the path is a directory that may be granted. Makes it if nothing is there.
    fn is_there(&self, path: &Path) -> bool {
        let may_be = match path.symlink_metadata() {
            Ok(_) => !self.names.only_new || self.was_made(path),
            Err(_) => self.make(path),
        };
        let walk = self.places.along(path).filter(|_| may_be);
        walk.is_some_and(|walk| walk.is_directory() && !walk.is_link())
    }

    fn make(&self, path: &Path) -> bool {
        if let Some(parent) = path.parent() {
            make(parent);
        }
        let made = std::fs::DirBuilder::new().mode(0o700).create(path).is_ok();
        if made && self.names.only_new && self.record(path).is_none() {
            // Without a record, the directory would be refused at the next start. If the removal fails, it is empty.
            let _ = std::fs::remove_dir(path);
            return false;
        }
        made
    }

    fn list(&self) -> Option<PathBuf> {
        self.reserved.directories().next().map(|data| data.join(MADE))
    }

    fn was_made(&self, path: &Path) -> bool {
        let text = self
            .list()
            .and_then(|list| read_small(&list, OWN_DIRECTORIES_BYTES).ok());
        let wanted = path.to_str();
        text.is_some_and(|text| text.lines().any(|line| Some(line) == wanted))
    }

    fn record(&self, path: &Path) -> Option<()> {
        let line = format!("{}\n", path.to_str().filter(|path| !path.contains('\n'))?);
        let mut options = std::fs::OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        let mut file = options.open(self.list()?).ok()?;
        file.write_all(line.as_bytes()).ok()
    }

    /// Returns whether a program is below the directory that users run: on `PATH`, or behind a link there. An agent that can
    /// replace it leaves its sandbox.
    fn holds_programs(&self, directory: &Path) -> bool {
        let Some(walk) = self.places.along(directory) else {
            return true;
        };
        let is_below = |path: &Path| {
            path.starts_with(directory)
                || path
                    .canonicalize()
                    .is_ok_and(|path| path.starts_with(walk.real()))
        };
        let search: Vec<_> = self.places.search().collect();
        self.programs.iter().any(|program| is_below(program))
            || search.iter().any(|place| is_below(place))
            || search
                .iter()
                .filter(|place| !SYSTEM.iter().any(|system| place.as_path() == Path::new(system)))
                .any(|place| links_of(place).iter().any(|link| is_below(link)))
    }
}

/// Returns the links of a directory.
fn links_of(directory: &Path) -> Vec<PathBuf> {
    let entries = directory.read_dir().into_iter().flatten().flatten();
    let links = entries
        .take(SANDBOX_ENTRIES)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use acpd_host::Walks;

    use super::*;

    struct Home {
        dir: tempfile::TempDir,
        env: BTreeMap<String, String>,
        reserved: Reserved,
    }

    impl Home {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let text = |path: &str| dir.path().join(path).display().to_string();
            for made in ["bin", "data"] {
                std::fs::create_dir(dir.path().join(made)).unwrap();
            }
            let env = [("HOME".to_owned(), text("")), ("PATH".to_owned(), text("bin"))];
            Self {
                env: env.into(),
                reserved: Reserved::new(vec![text("data").into()], Vec::new()),
                dir,
            }
        }

        fn at(&self, path: &str) -> PathBuf {
            self.dir.path().join(path)
        }

        fn open(&self, name: &str, only_new: bool) -> Vec<String> {
            let walks = Walks::default();
            let own = OwnDirectories {
                places: Places(&self.env, &walks),
                names: &OwnNames {
                    names: vec![name.to_owned()],
                    only_new,
                },
                others: vec![self.at(".others"), self.at(".config/mine/theirs")],
                reserved: &self.reserved,
                programs: vec![self.at(".local/share/runs/bin/agent")],
            };
            let shown = |path: PathBuf| path.strip_prefix(self.dir.path()).unwrap().display().to_string();
            own.open().into_iter().map(shown).collect()
        }
    }

    #[test]
    fn a_missing_directory_is_made_for_the_user_alone() {
        let home = Home::new();
        let all = [
            ".thing",
            ".config/thing",
            ".cache/thing",
            ".local/share/thing",
            ".local/state/thing",
        ];
        assert_eq!(home.open("thing", false), all);
        for made in all {
            let mode = home.at(made).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{made}");
        }
        assert_eq!(home.open("thing", false), all, "again");
    }

    #[test]
    fn links_files_and_directories_of_others_are_left_out() {
        let home = Home::new();
        std::fs::create_dir_all(home.at(".config")).unwrap();
        symlink(home.at("bin"), home.at(".thing")).unwrap();
        symlink(home.at("nowhere"), home.at(".config/thing")).unwrap();
        std::fs::create_dir_all(home.at(".cache")).unwrap();
        std::fs::write(home.at(".cache/thing"), "").unwrap();
        assert_eq!(
            home.open("thing", false),
            [".local/share/thing", ".local/state/thing"]
        );
        assert!(!home.at("nowhere").exists());
        assert!(!home.open("others", false).contains(&".others".to_owned()));
        assert!(!home.open("mine", false).contains(&".config/mine".to_owned()));
    }

    #[test]
    fn a_directory_with_programs_that_users_run_is_left_out() {
        let home = Home::new();
        std::fs::create_dir_all(home.at(".local/share/runs/bin")).unwrap();
        std::fs::write(home.at(".local/share/runs/bin/agent"), "").unwrap();
        std::fs::create_dir_all(home.at(".thing/versions")).unwrap();
        std::fs::write(home.at(".thing/versions/1"), "").unwrap();
        symlink(home.at(".thing/versions/1"), home.at("bin/thing")).unwrap();
        let has = |name: &str, path: &str| home.open(name, false).contains(&path.to_owned());
        assert!(!has("runs", ".local/share/runs") && has("runs", ".runs"));
        assert!(!has("thing", ".thing") && has("thing", ".config/thing"));
        let mut on_path = Home::new();
        let place = on_path.at(".tool/bin");
        std::fs::create_dir_all(&place).unwrap();
        on_path.env.insert("PATH".to_owned(), place.display().to_string());
        assert!(!on_path.open("tool", false).contains(&".tool".to_owned()));
    }

    #[test]
    fn a_document_opens_no_directory_that_was_there_before() {
        let home = Home::new();
        std::fs::create_dir_all(home.at(".thing")).unwrap();
        std::fs::write(home.at(".thing/key"), "secret").unwrap();
        for round in 0..2 {
            let opened = home.open("thing", true);
            assert_eq!(opened.len(), 4, "{round}: {opened:?}");
            assert!(!opened.contains(&".thing".to_owned()), "{round}");
        }
        assert_eq!(home.open("thing", false).len(), 5, "the user names the program");
        let mut nowhere = Home::new();
        nowhere.reserved = Reserved::default();
        assert_eq!(nowhere.open("thing", true), [""; 0], "it cannot be recorded");
        assert!(!nowhere.at(".thing").exists());
    }
}
