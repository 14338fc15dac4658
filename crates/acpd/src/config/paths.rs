//! Paths of the configuration file.

use std::path::{Path, PathBuf};

/// The directory of a configuration file. Relative paths in the file start from it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    home: Option<PathBuf>,
}

impl Folder {
    /// Returns the directory of this file.
    pub fn of(file: &Path) -> Self {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        Self {
            path: file.parent().unwrap_or(Path::new("/")).to_owned(),
            home: std::env::home_dir(),
        }
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
        let folder = Folder {
            path: "/etc/acpd".into(),
            home: Some("/home/ada".into()),
        };
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
}
