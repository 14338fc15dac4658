//! Finds what runs a program: the interpreter of a script, and the installation that the interpreter belongs to.
//!
//! In: a program's file. Out: files to execute, and directories from which they load their parts. Never: runs a program, or
//! returns more than an installation of a known kind because of a file that an agent may have written.

use std::path::{Path, PathBuf};

use acpd_catalog::find_program;
use acpd_host::{interpreter_of, interpreter_words, read_beginning};

use super::places::Places;

/// The maximum size of the settings of a virtual environment.
const SETTINGS_BYTES: u64 = 8192;

/// How many programs may stand behind one another: a script, a wrapper, `env`, a shim, an interpreter.
const DEPTH: usize = 6;

/// The settings of a virtual environment, which name the Python that it was made with.
const VENV: &str = "pyvenv.cfg";

/// Directories of an installation that programs load their parts from.
const PARTS: [&str; 5] = ["bin", "lib", "lib64", "libexec", "include"];

/// What programs need to run.
#[derive(Debug, Default)]
pub struct Needed {
    /// Programs and scripts.
    pub files: Vec<PathBuf>,
    /// Directories of installations.
    pub directories: Vec<PathBuf>,
}

/// Looks programs up.
pub struct Finder<'a> {
    pub places: Places<'a>,
    /// The value of `PATH`.
    pub search: &'a str,
    /// Returns whether no agent can have written a file, so that it may refer to any other.
    pub is_trusted: &'a dyn Fn(&Path) -> bool,
}

impl Finder<'_> {
    /// Returns what a program needs. `command` is a name to look up on `PATH`, or a path.
    pub fn needed(&self, command: &str) -> Needed {
        let mut needed = Needed::default();
        let file = find_program(command, self.search).unwrap_or_else(|| command.into());
        self.add(&file, DEPTH, &mut needed);
        needed
    }

    fn add(&self, file: &Path, depth: usize, needed: &mut Needed) {
        if depth == 0 || needed.files.iter().any(|known| known == file) {
            return;
        }
        let is_trusted = (self.is_trusted)(file);
        needed.files.push(file.to_owned());
        let Some(walk) = self.places.along(file) else {
            return;
        };
        let real = walk.real();
        self.add_installation(real, is_trusted, needed);
        if is_trusted && real != file {
            needed.files.push(real.to_owned());
        }
        for named in [file, real] {
            self.add_shims(named, is_trusted, needed);
            if let Some(python) = base_python(named) {
                self.follow(&python, is_trusted, depth, needed);
            }
        }
        if let Some(interpreter) = interpreter(real, self.search) {
            self.follow(&interpreter, is_trusted, depth, needed);
        }
    }

    /// Adds a program that a file refers to. If an agent may have written the file, adds only an installation of a known kind.
    fn follow(&self, program: &Path, is_trusted: bool, depth: usize, needed: &mut Needed) {
        if is_trusted {
            self.add(program, depth - 1, needed);
        } else if let Some(walk) = self.places.along(program) {
            self.add_installation(walk.real(), false, needed);
        }
    }

    /// Adds the installation of Python or Node that a program belongs to.
    fn add_installation(&self, program: &Path, is_trusted: bool, needed: &mut Needed) {
        let Some(prefix) = prefix_of(program).filter(|prefix| !self.places.holds_home(prefix)) else {
            return;
        };
        let marks = [VENV, "conda-meta"];
        if is_trusted && marks.iter().any(|mark| prefix.join(mark).exists()) {
            needed.directories.push(prefix.to_owned());
        } else if is_installation(prefix) {
            needed
                .directories
                .extend(PARTS.iter().map(|part| prefix.join(part)));
        }
    }

    /// Adds the directory of a version manager (pyenv, asdf, mise) that has put a program into its directory `shims`.
    fn add_shims(&self, program: &Path, is_trusted: bool, needed: &mut Needed) {
        let shims = program.parent().filter(|directory| directory.ends_with("shims"));
        let Some(root) = shims.and_then(Path::parent) else {
            return;
        };
        let versions = ["versions", "installs"];
        let is_manager = versions.iter().any(|versions| root.join(versions).is_dir());
        if is_trusted && is_manager && !self.places.holds_home(root) {
            let parts = [
                "shims",
                "bin",
                "libexec",
                "lib",
                "plugins",
                "completions",
                "version",
            ];
            let parts = parts.iter().chain(&versions);
            needed.directories.extend(parts.map(|part| root.join(part)));
        }
    }
}

/// Returns the directory around the `bin` that contains a program.
fn prefix_of(program: &Path) -> Option<&Path> {
    let directory = program.parent().filter(|directory| directory.ends_with("bin"))?;
    directory.parent()
}

/// Returns whether a directory contains an installation of Python or Node.
fn is_installation(prefix: &Path) -> bool {
    let has = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name == "node_modules" || name.starts_with("libpython") || name.starts_with("python")
    };
    let programs = ["python3", "python", "node"];
    let entries = prefix.join("lib").read_dir().into_iter().flatten().flatten();
    programs.iter().any(|name| prefix.join("bin").join(name).exists()) && entries.into_iter().any(has)
}

/// Returns the Python behind a virtual environment that contains the program.
fn base_python(program: &Path) -> Option<PathBuf> {
    let text = read_beginning(&prefix_of(program)?.join(VENV), SETTINGS_BYTES).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let home = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "home").then(|| PathBuf::from(value.trim()))
    })?;
    let names = ["python3", "python"];
    let candidates = names.iter().map(|name| home.join(name));
    candidates
        .filter(|python| python.is_absolute())
        .find(|python| python.exists())
}

/// Returns the program that the first line of a script names, or that `env` in it finds on `search`.
fn interpreter(script: &Path, search: &str) -> Option<PathBuf> {
    let words = interpreter_words(script)?;
    let named = interpreter_of(&words)?;
    if named.starts_with('/') {
        return Some(PathBuf::from(named));
    }
    find_program(named, search).filter(|program| program.is_absolute())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use acpd_host::Walks;

    use super::*;

    struct Host {
        dir: tempfile::TempDir,
        root: PathBuf,
    }

    impl Host {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap();
            std::fs::create_dir(root.join("home")).unwrap();
            Self { dir, root }
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }

        fn link(&self, path: &str, target: &str) {
            let path = self.root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(self.root.join(target), path).unwrap();
        }

        /// Returns what is needed, relative to the host's root, if files below `work` are not trusted.
        fn needed(&self, command: &str) -> (Vec<String>, Vec<String>) {
            let home = self.root.join("home").display().to_string();
            let search = self.root.join("path").display().to_string();
            let env = BTreeMap::from([("HOME".to_owned(), home), ("PATH".to_owned(), search.clone())]);
            let work = self.root.join("work");
            let walks = Walks::default();
            let finder = Finder {
                places: Places(&env, &walks),
                search: &search,
                is_trusted: &|file| !file.starts_with(&work),
            };
            let needed = finder.needed(self.root.join(command).to_str().unwrap());
            let shown = |paths: Vec<PathBuf>| {
                let paths = paths.iter().filter(|path| path.exists());
                let shown = paths.map(|path| {
                    path.strip_prefix(&self.root)
                        .unwrap_or(path)
                        .display()
                        .to_string()
                });
                shown.collect::<Vec<_>>()
            };
            (shown(needed.files), shown(needed.directories))
        }

        fn python(&self, prefix: &str) {
            self.file(&format!("{prefix}/bin/python3.13"), "ELF");
            self.file(&format!("{prefix}/lib/libpython3.13.so.1.0"), "ELF");
            self.file(&format!("{prefix}/lib/python3.13/os.py"), "");
            self.file(&format!("{prefix}/notes/mine"), "");
            self.link(
                &format!("{prefix}/bin/python3"),
                &format!("{prefix}/bin/python3.13"),
            );
        }
    }

    #[test]
    fn a_virtual_environment_leads_to_the_python_it_was_made_with() {
        let host = Host::new();
        host.python("away/versions/3.13");
        host.file(
            "venv/bin/agent",
            &format!("#!{}\n", host.root.join("venv/bin/python3").display()),
        );
        host.link("venv/bin/python3", "away/versions/3.13/bin/python3");
        host.file("venv/pyvenv.cfg", "include-system-site-packages = false\n");
        let (files, directories) = host.needed("venv/bin/agent");
        for file in [
            "venv/bin/agent",
            "venv/bin/python3",
            "away/versions/3.13/bin/python3.13",
        ] {
            assert!(files.contains(&file.to_owned()), "{file}: {files:?}");
        }
        for directory in ["venv", "away/versions/3.13/bin", "away/versions/3.13/lib"] {
            assert!(
                directories.contains(&directory.to_owned()),
                "{directory}: {directories:?}"
            );
        }
        assert!(
            !directories.iter().any(|path| path.ends_with("notes")),
            "{directories:?}"
        );
        assert!(!directories.contains(&"away/versions/3.13".to_owned()));
    }

    #[test]
    fn a_virtual_environment_with_a_copy_of_python_names_the_original() {
        let host = Host::new();
        host.python("away");
        host.file("venv/bin/python3", "ELF");
        let home = host.root.join("away/bin");
        host.file("venv/pyvenv.cfg", &format!("home = {}\n", home.display()));
        let (_, directories) = host.needed("venv/bin/python3");
        assert!(directories.contains(&"away/lib".to_owned()), "{directories:?}");
    }

    #[test]
    fn conda_and_version_managers_are_found() {
        let host = Host::new();
        host.python("forge");
        host.file("forge/conda-meta/history", "");
        host.file("forge/ssl/cert.pem", "");
        host.file(
            "tool",
            &format!("#!{}\n", host.root.join("forge/bin/python3").display()),
        );
        assert_eq!(host.needed("tool").1, ["forge"]);
        host.file("pyenv/shims/python3", "#!/bin/sh\n");
        host.file("pyenv/versions/3/bin/python3", "ELF");
        host.link("path/python3", "pyenv/shims/python3");
        host.file("script", "#!/usr/bin/env -S python3 -u\n");
        let (_, directories) = host.needed("script");
        assert!(
            directories.contains(&"pyenv/versions".to_owned()),
            "{directories:?}"
        );
    }

    #[test]
    fn a_file_that_an_agent_may_have_written_opens_no_other_file() {
        let host = Host::new();
        host.python("away");
        host.file("home/.ssh/key", "");
        host.file("home/project/pyvenv.cfg", "");
        host.file("home/project/bin/tool", "");
        host.link("work/a", "home/.ssh/key");
        assert_eq!(host.needed("work/a"), (vec!["work/a".to_owned()], Vec::new()));
        for target in ["home/.ssh/key", "home/project/bin/tool"] {
            host.file("work/b", &format!("#!{}\n", host.root.join(target).display()));
            assert_eq!(
                host.needed("work/b"),
                (vec!["work/b".to_owned()], Vec::new()),
                "{target}"
            );
        }
        // Installations of Python hold no secrets.
        host.link("work/venv/bin/python3", "away/bin/python3");
        let (files, directories) = host.needed("work/venv/bin/python3");
        assert_eq!(files, ["work/venv/bin/python3"]);
        assert_eq!(directories, ["away/bin", "away/lib"]);
    }

    #[test]
    fn a_home_with_an_installation_in_it_stays_closed() {
        let host = Host::new();
        host.python("home");
        host.file("home/conda-meta/history", "");
        assert_eq!(host.needed("home/bin/python3").1, [""; 0]);
    }

    #[test]
    fn programs_that_name_each_other_end() {
        let host = Host::new();
        for (one, other) in [("a", "b"), ("b", "a")] {
            host.file(one, &format!("#!{}\n", host.root.join(other).display()));
        }
        assert_eq!(host.needed("a").0, ["a", "b"]);
    }
}
