//! Converts the paths to grant into rules that the kernel supports.
//!
//! In: paths to grant, paths to withhold. Out: paths whose whole contents may be granted. Never: returns a path that
//! contains, or is inside of, a withheld one.
//!
//! Landlock grants directories as a whole. If a directory contains a withheld path, all its other entries are granted
//! one by one, as they exist now. Entries that appear later, and the listing of the directory, stay out of reach.
//!
//! An agent may have created a link in a directory that sandboxes may write. The target of such a link is granted only
//! if it is below the same directory.

use std::path::{Path, PathBuf};

use acpd_model::limits::SANDBOX_ENTRIES;

use super::writable::{Writable, real_name};
use super::{SandboxError, overlap};

/// Withheld paths, and paths that agents may have changed.
pub(super) struct Reach {
    /// The withheld paths, without links.
    withheld: Vec<PathBuf>,
    writable: Writable,
}

impl Reach {
    pub fn new(withheld: &[PathBuf]) -> Self {
        Self {
            withheld: withheld.iter().map(|path| real_name(path)).collect(),
            writable: Writable::default(),
        }
    }

    /// Adds the directories that agents may write.
    pub fn writable(self, writable: Writable) -> Self {
        Self { writable, ..self }
    }

    /// Returns the paths to grant for `path`: itself, parts of it, or none.
    pub fn carve(&self, path: &Path) -> Vec<PathBuf> {
        let mut parts = Vec::new();
        if let Ok(real) = path.canonicalize()
            && !self.writable.leads_out(path)
        {
            self.add(real, &mut parts);
        }
        parts
    }

    fn add(&self, real: PathBuf, parts: &mut Vec<PathBuf>) {
        if self.withheld.iter().any(|withheld| real.starts_with(withheld)) {
            return;
        }
        if !self.withheld.iter().any(|withheld| withheld.starts_with(&real)) {
            parts.push(real);
            return;
        }
        let entries: Vec<_> = real
            .read_dir()
            .into_iter()
            .flatten()
            .flatten()
            .take(SANDBOX_ENTRIES + 1)
            .collect();
        if entries.len() > SANDBOX_ENTRIES {
            return;
        }
        for entry in entries {
            // The target of a link is granted by its own path, or not at all.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.add(entry.path(), parts);
            }
        }
    }

    /// Returns the real path of a workspace directory.
    pub fn workspace(&self, path: &Path) -> Result<PathBuf, SandboxError> {
        let real = real_name(path);
        if self.writable.leads_out(path) {
            return Err(SandboxError::Elsewhere {
                workspace: path.to_owned(),
                real,
            });
        }
        match self.withheld.iter().find(|withheld| overlap(withheld, &real)) {
            None => Ok(real),
            Some(withheld) if withheld.starts_with(&real) => Err(SandboxError::Contains {
                workspace: path.to_owned(),
                withheld: withheld.clone(),
            }),
            Some(withheld) => Err(SandboxError::Inside {
                workspace: path.to_owned(),
                withheld: withheld.clone(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_withheld_is_cut_out_of_what_contains_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for made in ["home/state/acpd/agents", "home/state/other", "home/docs", "away"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        symlink(root.join("home/state/acpd"), root.join("home/link")).unwrap();
        let withheld = Reach::new(&[root.join("home/link"), root.join("home/later/config.toml")]);
        let carved = |path: &str| {
            let mut parts = withheld.carve(&root.join(path));
            parts.sort();
            let parts = parts
                .iter()
                .map(|part| part.strip_prefix(&root).unwrap().display().to_string());
            parts.collect::<Vec<_>>()
        };
        assert_eq!(carved("away"), ["away"]);
        assert_eq!(carved("home"), ["home/docs", "home/state/other"]);
        assert_eq!(carved("home/state"), ["home/state/other"]);
        for inside in ["home/state/acpd", "home/state/acpd/agents", "home/link", "none"] {
            assert_eq!(carved(inside), [""; 0], "{inside}");
        }
        // A path that is created later is withheld from the start.
        std::fs::create_dir(root.join("home/later")).unwrap();
        assert_eq!(carved("home/later"), [""; 0]);
        std::fs::write(root.join("home/later/config.toml"), "").unwrap();
        std::fs::write(root.join("home/later/beside"), "").unwrap();
        assert_eq!(carved("home/later"), ["home/later/beside"]);
        assert!(withheld.workspace(&root.join("home/docs")).is_ok());
        assert!(withheld.workspace(&root.join("home/docs/new")).is_ok());
        assert!(matches!(
            withheld.workspace(&root.join("home")),
            Err(SandboxError::Contains { .. })
        ));
        assert!(matches!(
            withheld.workspace(&root.join("home/link/agents")),
            Err(SandboxError::Inside { .. })
        ));
    }

    #[test]
    fn what_an_agent_has_made_a_link_of_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for made in ["work/real", "work/sub", "keys"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        symlink(root.join("keys"), root.join("work/made")).unwrap();
        symlink(root.join("work/sub"), root.join("work/inner")).unwrap();
        symlink(root.join("keys"), root.join("users")).unwrap();
        let writable = [root.join("work")];
        let reach = Reach::new(&[]).writable(Writable::new(writable.iter()));
        let granted = |path: &str| reach.carve(&root.join(path)).len();
        assert_eq!(
            [granted("work"), granted("work/real"), granted("work/inner")],
            [1; 3]
        );
        assert_eq!([granted("work/made"), granted("work/made/below")], [0; 2]);
        assert_eq!(granted("users"), 1, "no agent could make it");
        let made = reach.workspace(&root.join("work/made"));
        assert!(matches!(made, Err(SandboxError::Elsewhere { .. })), "{made:?}");
        assert!(reach.workspace(&root.join("work/real")).is_ok());
    }

    #[test]
    fn a_directory_with_too_many_entries_is_not_cut() {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        std::fs::write(&secret, "").unwrap();
        for number in 0..SANDBOX_ENTRIES - 1 {
            std::fs::write(dir.path().join(number.to_string()), "").unwrap();
        }
        let withheld = Reach::new(&[secret]);
        assert_eq!(withheld.carve(dir.path()).len(), SANDBOX_ENTRIES - 1);
        std::fs::write(dir.path().join("more"), "").unwrap();
        assert!(withheld.carve(dir.path()).is_empty());
    }
}
