//! Finds files that a user's git configuration refers to. Git fails if it cannot read one of them.
//!
//! In: a configuration file. Out: its settings, and the files that it and its includes refer to. Never: runs git, or
//! returns a directory.

use std::path::{Path, PathBuf};

use acpd_host::{Walk, Walks};

/// Limits on the size of one configuration file and on the number of files.
const FILE_BYTES: u64 = 256 << 10;
const FILES: usize = 64;

/// Settings whose value is the path of a file that is not git configuration.
const NAMING: [(&str, &str); 3] = [
    ("core", "excludesfile"),
    ("core", "attributesfile"),
    ("commit", "template"),
];

/// A line `key = value` of a configuration.
#[derive(Debug, PartialEq, Eq)]
pub struct Setting {
    /// In lower case, as is the key.
    section: String,
    has_subsection: bool,
    key: String,
    value: String,
}

impl Setting {
    /// Returns whether this is the setting `key` of `section`, without a subsection. Both names are in lower case.
    pub fn is(&self, section: &str, key: &str) -> bool {
        self.section == section && !self.has_subsection && self.key == key
    }

    /// Returns the value without quotation marks.
    pub fn value(&self) -> &str {
        &self.value
    }
}

/// Returns the settings of a file; empty if there is none, or it cannot be read.
pub fn settings(file: Option<&Walk>) -> Vec<Setting> {
    let text = file.and_then(|file| file.read_small(FILE_BYTES).ok());
    let text = text.unwrap_or_default();
    let (mut section, mut has_subsection) = (String::new(), false);
    let mut settings = Vec::new();
    for line in text.lines().map(str::trim) {
        let mut rest = line;
        if let Some(header) = line.strip_prefix('[') {
            let end = if header.contains('"') { "\"]" } else { "]" };
            let (inside, behind) = header.split_once(end).unwrap_or((header, ""));
            let (name, subsection) = inside.split_once([' ', '\t', '"']).unwrap_or((inside, ""));
            section = name.to_ascii_lowercase();
            has_subsection = !subsection.is_empty();
            rest = behind;
        }
        if let Some((key, value)) = rest.split_once('=') {
            settings.push(Setting {
                section: section.clone(),
                has_subsection,
                key: key.trim().to_ascii_lowercase(),
                value: unquoted(value.trim()).to_owned(),
            });
        }
    }
    settings
}

/// Removes quotation marks, or a trailing comment from an unquoted value.
fn unquoted(value: &str) -> &str {
    match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default(),
        None => value.split(['#', ';']).next().unwrap_or_default().trim_end(),
    }
}

/// Returns the files that `config` and its includes refer to, in any directory. Reads only trusted files.
pub fn named_files(
    walks: &Walks,
    config: &Path,
    home: &Path,
    is_trusted: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![config.to_owned()];
    while let Some(file) = left.pop() {
        if !is_trusted(&file) {
            continue;
        }
        for (is_config, path) in named_in(walks, &file, home) {
            if found.len() < FILES && !found.contains(&path) {
                if is_config {
                    left.push(path.clone());
                }
                found.push(path);
            }
        }
    }
    found
}

/// Returns the files that one file refers to, and whether each is git configuration as well.
fn named_in(walks: &Walks, file: &Path, home: &Path) -> Vec<(bool, PathBuf)> {
    let settings = settings(walks.along(file).as_deref());
    let named = settings.into_iter().filter_map(|setting| {
        let is_config = match &*setting.section {
            "include" | "includeif" if setting.key == "path" => true,
            _ if NAMING.iter().any(|(section, key)| setting.is(section, key)) => false,
            _ => return None,
        };
        let path = match setting.value().strip_prefix("~/") {
            Some(below) => home.join(below),
            None => file.parent().unwrap_or(home).join(setting.value()),
        };
        // An empty value resolves to a directory, and nothing may grant the files in it.
        let is_file = walks.along(&path).is_some_and(|found| found.is_file());
        is_file.then_some((is_config, path))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_named_by_a_git_configuration_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        for name in ["ignore", "t", "x y", "no"] {
            std::fs::write(home.join(name), "").unwrap();
        }
        let absolute = home.join("x y").display().to_string();
        std::fs::write(
            home.join(".gitconfig"),
            format!(
                "# path = no\n[user]\n\tname = path\n[core]\n  excludesFile = ~/ignore # mine\n[Include]\n path = work.conf\n\
                 [includeIf \"gitdir:~/w[1]/\"]\n\tpath = \"{absolute}\" ; x\n[other]\npath = no\n"
            ),
        )
        .unwrap();
        // The file includes itself, and a file that does not exist.
        std::fs::write(
            home.join("work.conf"),
            "[include] path=work.conf\npath=none\n[commit]\ntemplate=t\n",
        )
        .unwrap();
        let mut found = named_files(&Walks::default(), &home.join(".gitconfig"), home, |_| true);
        found.sort();
        assert_eq!(
            found,
            ["ignore", "t", "work.conf", "x y"].map(|name| home.join(name))
        );
        assert!(named_files(&Walks::default(), &home.join("none"), home, |_| true).is_empty());
        // References from a file that an agent may have written are ignored.
        let is_trusted = |file: &Path| !file.ends_with("work.conf");
        let mut found = named_files(&Walks::default(), &home.join(".gitconfig"), home, is_trusted);
        found.sort();
        assert_eq!(found, ["ignore", "work.conf", "x y"].map(|name| home.join(name)));
    }

    #[test]
    fn only_files_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        std::fs::create_dir(home.join("keys")).unwrap();
        let empty = "[core]\nexcludesfile =\nattributesfile = ~/\n[commit]\ntemplate = \"\"\n[include]\npath = ~/keys\npath = /\n";
        std::fs::write(home.join(".gitconfig"), empty).unwrap();
        assert_eq!(
            named_files(&Walks::default(), &home.join(".gitconfig"), home, |_| true),
            [""; 0].map(PathBuf::from)
        );
    }

    #[test]
    fn a_setting_is_identified_by_its_section() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config");
        std::fs::write(&file, "[core \"x\"]\nworktree = no\n[Core]\n\tWorkTree = ../w\n").unwrap();
        let found: Vec<_> = settings(Some(&Walk::along(&file).unwrap()))
            .into_iter()
            .filter(|setting| setting.is("core", "worktree"))
            .collect();
        assert_eq!(found.iter().map(Setting::value).collect::<Vec<_>>(), ["../w"]);
    }
}
