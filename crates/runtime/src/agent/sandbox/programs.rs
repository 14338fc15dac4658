//! The files that the programs of an agent consist of: its own program and those of its MCP servers.
//!
//! In: command lines. Out: paths to read and execute: programs, what runs them, the scripts that their arguments name, and the
//! packages of all. Never: opens the home directory, a directory that belongs to no single program, or one with secrets.

use std::path::{Path, PathBuf};

use super::interpreter::Finder;
use super::package;

/// Returns the paths for one command line. A file that an agent may have written, and that is a link, opens only itself.
pub fn files(finder: &Finder<'_>, command: &str, args: &[String]) -> Vec<PathBuf> {
    let needed = finder.needed(command);
    let arguments = args.iter().map(PathBuf::from).filter(|path| path.is_absolute());
    let (scripts, others): (Vec<_>, Vec<_>) = arguments.partition(|path| path.is_file());
    // "uv --directory /srv/server run server.py"
    let projects = others.into_iter().filter(|path| package::is_root(path));
    // The program under the name that was given, and its real path.
    let program = needed.files.first();
    let real = program.and_then(|program| program.canonicalize().ok());
    let own = needed
        .files
        .iter()
        .filter(|file| Some(*file) == program || Some(*file) == real.as_ref());
    let parents = own.filter_map(|program| program.parent());
    let packages = needed
        .files
        .iter()
        .chain(&scripts)
        .filter_map(|file| package::directory(file));
    let mut read: Vec<_> = parents.chain(packages).map(Path::to_owned).collect();
    read.extend(projects);
    read.extend(needed.directories);
    read.retain(|directory| finder.places.is_of_a_program(directory));
    read.extend(needed.files);
    read.extend(scripts);
    read
}

/// Returns the paths for one command line that a client sent with a session. Leaves out secrets, even if the line names one.
pub fn files_of_session(finder: &Finder<'_>, command: &str, args: &[String]) -> Vec<PathBuf> {
    let mut read = files(finder, command, args);
    read.retain(|path| !finder.places.touches_secrets(path));
    read
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::agent::sandbox::places::Places;

    #[test]
    fn a_servers_command_line_opens_its_program_and_package_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        for file in [
            "ext/server/package.json",
            "ext/server/dist/index.js",
            "package.json",
            ".config/package.json",
            ".config/tool/run.js",
            "py/pyproject.toml",
            "py/server.py",
            ".ssh/key",
            ".ssh/package.json",
            "bare.js",
            "docs/private",
            "tools/x/tool",
        ] {
            let path = home.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
        }
        std::os::unix::fs::symlink(home.join(".ssh/key"), home.join("tools/key")).unwrap();
        let env: BTreeMap<_, _> = [("HOME".to_owned(), home.display().to_string())].into();
        let finder = Finder {
            places: Places(&env),
            search: "",
            is_trusted: &|_| true,
        };
        let opened = |words: &[&str]| {
            let args: Vec<_> = words
                .iter()
                .map(|arg| home.join(arg).display().to_string())
                .collect();
            let read = files_of_session(&finder, "/usr/bin/env", &args);
            let below = read.iter().filter_map(|path| path.strip_prefix(&home).ok());
            let mut below: Vec<_> = below.map(|path| path.display().to_string()).collect();
            below.sort();
            below.dedup();
            below
        };
        assert_eq!(
            opened(&["ext/server/dist/index.js"]),
            ["ext/server", "ext/server/dist/index.js"]
        );
        assert_eq!(opened(&["py"]), ["py"]);
        assert_eq!(
            opened(&["bare.js"]),
            ["bare.js"],
            "the package around it is the home directory"
        );
        assert_eq!(opened(&[".config/tool/run.js"]), [".config/tool/run.js"]);
        for nothing in ["docs", "", ".config", ".ssh", ".ssh/key", "tools/key", "none"] {
            assert_eq!(opened(&[nothing]), [""; 0], "{nothing}");
        }
        let tool = home.join("tools/x/tool").display().to_string();
        assert!(files(&finder, &tool, &[]).contains(&home.join("tools/x")));
        let key = home.join(".ssh/key").display().to_string();
        assert!(!files(&finder, &key, &[]).contains(&home.join(".ssh")));
    }
}
