//! What the sections of the configuration have in common.
//!
//! In: a section as it was read. Out: its mistakes, its absolute paths, when a change applies, and how documents describe it. Never: reads
//! a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A table of the configuration, such as `[limits]`.
pub trait Section: PartialEq {
    /// What is known of the section besides its values.
    const ABOUT: About;

    /// Returns what is wrong and cannot be expressed by the types. Each sentence begins with its key, and that with the key of the
    /// section.
    fn check(&self, _key: &str) -> Vec<String> {
        Vec::new()
    }

    /// Makes the paths absolute.
    fn resolve(&mut self, _folder: &Folder) {}

    /// Returns the key that differs from the settings with which the daemon has started, if the daemon needs a restart to use it.
    fn needs_restart(&self, started: &Self, key: &'static str) -> Option<&'static str> {
        (Self::ABOUT.reload == Reload::Restart && self != started).then_some(key)
    }
}

/// What is known of a section, or of a key beside the sections, whatever its value.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// When a change applies.
    pub reload: Reload,
    /// The settings that the reference lists.
    pub settings: &'static [Setting],
    /// The lines about it in a new configuration file. All of its settings there are comments: a `#` without a space before a setting,
    /// and one with a space before a sentence. Empty for what a new user does not need.
    pub template: &'static str,
}

/// When a change of the configuration file applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// Without a restart of the daemon.
    Live,
    /// The same, but for these keys of the section, which [`Section::needs_restart`] compares.
    LiveExcept(&'static [&'static str]),
    /// When the daemon starts.
    Restart,
}

/// One row of the reference of settings.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The key in the section; empty for the section itself.
    pub key: &'static str,
    /// Its values, as Markdown.
    pub values: &'static str,
    /// Its default, as Markdown.
    pub default: &'static str,
}

impl Setting {
    /// Creates a row.
    pub const fn new(key: &'static str, values: &'static str, default: &'static str) -> Self {
        Self { key, values, default }
    }
}

/// Sections by their names: `[agents.NAME]`.
impl<T: Section> Section for BTreeMap<String, T> {
    const ABOUT: About = T::ABOUT;

    fn check(&self, key: &str) -> Vec<String> {
        let sections = self.iter();
        sections
            .flat_map(|(name, section)| section.check(&format!("{key}.{name}")))
            .collect()
    }

    fn resolve(&mut self, folder: &Folder) {
        for section in self.values_mut() {
            section.resolve(folder);
        }
    }
}

/// The directory of a configuration file. Relative paths in the file start from it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    home: Option<PathBuf>,
}

impl Folder {
    /// Creates the directory at `path`, of a user with this home directory.
    pub fn new(path: PathBuf, home: Option<PathBuf>) -> Self {
        Self { path, home }
    }

    /// Returns an absolute path. `~` is the home directory, and other paths are relative to the file.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => self.path.join(path),
        }
    }

    /// Returns the absolute path of a program. A name without a slash is looked up on `PATH`, so it is returned as it is.
    pub fn resolve_program(&self, command: &str) -> String {
        if command.contains('/') {
            self.resolve(Path::new(command)).to_string_lossy().into_owned()
        } else {
            command.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_is_the_home_directory() {
        let folder = Folder::new("/etc/acpd".into(), Some("/home/ada".into()));
        for (path, expected) in [
            ("~", "/home/ada"),
            ("~/acpd", "/home/ada/acpd"),
            ("~acpd", "/etc/acpd/~acpd"),
            ("data", "/etc/acpd/data"),
            ("/srv/acpd", "/srv/acpd"),
        ] {
            let found = folder.resolve(Path::new(path));
            assert_eq!(found, Path::new(expected), "{path}");
        }
        assert_eq!(folder.resolve_program("~/bin/agent"), "/home/ada/bin/agent");
        assert_eq!(folder.resolve_program("agent"), "agent");
    }

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Fixed(u8);

    impl Section for Fixed {
        const ABOUT: About = About {
            reload: Reload::Restart,
            settings: &[],
            template: "",
        };

        fn check(&self, key: &str) -> Vec<String> {
            vec![format!("{key} is {}", self.0)]
        }
    }

    #[test]
    fn named_sections_are_one_section_whose_keys_have_the_names() {
        let sections = |values: &[(&str, u8)]| -> BTreeMap<String, Fixed> {
            let sections = values.iter();
            sections
                .map(|(name, value)| ((*name).to_owned(), Fixed(*value)))
                .collect()
        };
        let started = sections(&[("a", 1), ("b", 2)]);
        assert_eq!(started.check("x"), ["x.a is 1", "x.b is 2"]);
        assert_eq!(started.needs_restart(&started.clone(), "x"), None);
        assert_eq!(sections(&[("a", 1)]).needs_restart(&started, "x"), Some("x"));
        assert!(sections(&[]).check("x").is_empty());
    }
}
