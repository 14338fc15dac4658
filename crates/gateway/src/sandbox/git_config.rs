//! Files that a user's git configuration names. Git ends with an error where it cannot read one.
//!
//! In: a configuration file. Out: the files that it names, and those that these name. Never: runs git.

use std::path::{Path, PathBuf};

use acpd_host::read_small;

/// A configuration is not longer, and names not more files.
const FILE_BYTES: u64 = 256 << 10;
const FILES: usize = 64;

/// The files that `config` and what it includes name, wherever they are.
pub fn named_files(config: &Path, home: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![config.to_owned()];
    while let Some(file) = left.pop() {
        for (is_config, path) in read(&file, home) {
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

/// The files that one file names, and whether they are configuration as well.
fn read(file: &Path, home: &Path) -> Vec<(bool, PathBuf)> {
    let text = read_small(file, FILE_BYTES);
    let mut section = String::new();
    let mut files = Vec::new();
    for line in text.unwrap_or_default().lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let name = header.split([']', ' ', '\t', '"']).next();
            section = name.unwrap_or_default().to_ascii_lowercase();
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let is_config = match (&*section, &*key.trim().to_ascii_lowercase()) {
            ("include" | "includeif", "path") => true,
            ("core", "excludesfile" | "attributesfile") | ("commit", "template") => false,
            _ => continue,
        };
        let value = value.trim().trim_matches('"');
        let path = match value.strip_prefix("~/") {
            Some(below) => home.join(below),
            None => file.parent().unwrap_or(home).join(value),
        };
        files.push((is_config, path));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_configuration_names_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        std::fs::write(
            home.join(".gitconfig"),
            "# path = no\n[user]\n\tname = path\n[core]\n  excludesFile = ~/ignore\n[Include]\n path = work.conf\n\
             [includeIf \"gitdir:~/w/\"]\n\tpath = \"/x/y\"\n[other]\npath = no\n",
        )
        .unwrap();
        // It includes itself, and what is not there.
        std::fs::write(
            home.join("work.conf"),
            "[include]\npath=work.conf\npath=none\n[commit]\ntemplate=t\n",
        )
        .unwrap();
        let mut found = named_files(&home.join(".gitconfig"), home);
        found.sort();
        let mut expected: Vec<_> = ["ignore", "none", "t", "work.conf"]
            .map(|name| home.join(name))
            .into();
        expected.push("/x/y".into());
        expected.sort();
        assert_eq!(found, expected);
        assert!(named_files(&home.join("none"), home).is_empty());
    }
}
