//! Finds the package that a program's file belongs to.
//!
//! In: a file. Out: the directory from which the program loads its other files. Never: reads the content of files.

use std::path::Path;

/// Files that mark the root of a package, or of a virtual environment.
const MARKS: [&str; 3] = ["package.json", "pyproject.toml", "pyvenv.cfg"];

/// Returns the package directory of `file`. Packages in one `node_modules` load each other, so the result is that
/// directory for all of them.
pub fn directory(file: &Path) -> Option<&Path> {
    let above = || file.ancestors().skip(1);
    let modules = above()
        .filter(|directory| directory.ends_with("node_modules"))
        .last();
    modules.or_else(|| above().find(|directory| is_root(directory)))
}

/// Returns whether a directory is the root of a package.
pub fn is_root(directory: &Path) -> bool {
    MARKS.iter().any(|mark| directory.join(mark).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_leads_to_its_package() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for made in [
            "app/node_modules/a/node_modules/b/dist",
            "app/dist",
            "venv/bin",
            "none",
        ] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        for mark in [
            "app/package.json",
            "app/node_modules/a/package.json",
            "venv/pyvenv.cfg",
        ] {
            std::fs::write(root.join(mark), "").unwrap();
        }
        for (file, package) in [
            (
                "app/node_modules/a/node_modules/b/dist/x.js",
                Some("app/node_modules"),
            ),
            ("app/node_modules/.bin/x", Some("app/node_modules")),
            ("app/dist/index.js", Some("app")),
            ("venv/bin/agent", Some("venv")),
            ("none/agent", None),
        ] {
            let package = package.map(|package| root.join(package));
            assert_eq!(directory(&root.join(file)), package.as_deref(), "{file}");
        }
    }
}
