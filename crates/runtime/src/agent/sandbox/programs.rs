//! The files that the programs of an agent consist of: its own program and those of its MCP servers.
//!
//! In: command lines. Out: paths to read and execute: programs, what runs them, the scripts that their arguments name, and the
//! packages of all. Never: opens the home directory, a directory that belongs to no single program, or one with secrets.

use std::path::{Path, PathBuf};

use acpd_host::Walk;

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
    let walk = program.and_then(|program| finder.places.along(program));
    let real = walk.as_deref().map(Walk::real);
    let own = needed
        .files
        .iter()
        .filter(|file| Some(*file) == program || Some(file.as_path()) == real);
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

    use acpd_host::Walks;

    use super::*;
    use crate::agent::sandbox::places::Places;

    /// A program below the home directory, as a version manager makes it.
    struct Layout {
        program: &'static str,
        /// Links with their targets: below `~`, or relative to the link.
        links: &'static [(&'static str, &'static str)],
        /// Files that the program reads or runs.
        needs: &'static [&'static str],
    }

    const LAYOUTS: [Layout; 7] = [
        Layout {
            program: ".nvm/versions/node/v22.1.0/bin/tool",
            links: &[(
                ".nvm/versions/node/v22.1.0/bin/tool",
                "../lib/node_modules/tool/cli.js",
            )],
            needs: &[
                ".nvm/versions/node/v22.1.0/lib/node_modules/tool/cli.js",
                ".nvm/versions/node/v22.1.0/bin/node",
                ".nvm/alias/default",
                ".nvmrc",
            ],
        },
        Layout {
            program: ".volta/bin/node",
            links: &[(".volta/bin/node", "~/.volta/bin/volta-shim")],
            needs: &[
                ".volta/bin/volta-shim",
                ".volta/tools/user/platform.json",
                ".volta/tools/image/node/22.1.0/bin/node",
                ".volta/tools/image/node/22.1.0/lib/node_modules/npm/index.js",
            ],
        },
        Layout {
            program: ".local/share/mise/shims/node",
            links: &[
                (".local/share/mise/shims/node", "~/.local/bin/mise"),
                (".local/share/mise/installs/node/22", "./22.1.0"),
            ],
            needs: &[
                ".local/bin/mise",
                ".local/share/mise/installs/node/22.1.0/bin/node",
                ".local/share/mise/installs/node/22.1.0/lib/node_modules/npm/index.js",
                ".config/mise/config.toml",
                ".local/state/mise/trusted-configs/project",
                ".cache/mise/node/22.1.0/bin_paths",
            ],
        },
        Layout {
            program: ".asdf/shims/node",
            links: &[],
            needs: &[
                ".asdf/bin/asdf",
                ".asdf/plugins/nodejs/bin/exec-env",
                ".asdf/installs/nodejs/22.1.0/bin/node",
                ".asdfrc",
                ".tool-versions",
                ".node-version",
            ],
        },
        Layout {
            program: "project/.venv/bin/python3",
            links: &[
                ("project/.venv/bin/python3", "python"),
                (
                    "project/.venv/bin/python",
                    "~/.local/share/uv/python/cpython-3.12-linux-x86_64-gnu/bin/python3.12",
                ),
                (
                    ".local/share/uv/python/cpython-3.12-linux-x86_64-gnu",
                    "cpython-3.12.4-linux-x86_64-gnu",
                ),
            ],
            needs: &[
                "project/.venv/pyvenv.cfg",
                "project/.venv/lib/python3.12/site-packages/tool.py",
                ".local/share/uv/python/cpython-3.12.4-linux-x86_64-gnu/bin/python3.12",
                ".local/share/uv/python/cpython-3.12.4-linux-x86_64-gnu/lib/python3.12/os.py",
            ],
        },
        Layout {
            program: ".pyenv/shims/python3",
            links: &[
                (".pyenv/bin/pyenv", "../libexec/pyenv"),
                (".pyenv/versions/3.12.4/bin/python3", "python3.12"),
            ],
            needs: &[
                ".pyenv/libexec/pyenv",
                ".pyenv/version",
                ".pyenv/versions/3.12.4/bin/python3.12",
                ".pyenv/versions/3.12.4/lib/python3.12/os.py",
                ".python-version",
            ],
        },
        Layout {
            program: "miniconda3/envs/work/bin/python3",
            links: &[("miniconda3/envs/work/bin/python3", "python3.12")],
            needs: &[
                "miniconda3/envs/work/bin/python3.12",
                "miniconda3/envs/work/conda-meta/history",
                "miniconda3/envs/work/lib/python3.12/os.py",
                "miniconda3/envs/work/ssl/cacert.pem",
            ],
        },
    ];

    fn make(home: &Path, layout: &Layout) {
        let place = |path: &str| {
            let path = home.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            path
        };
        for &(link, target) in layout.links {
            let below = target.strip_prefix("~/");
            let target = below.map_or_else(|| PathBuf::from(target), |below| home.join(below));
            std::os::unix::fs::symlink(target, place(link)).unwrap();
        }
        for &file in layout.needs {
            std::fs::write(place(file), "").unwrap();
        }
        let program = place(layout.program);
        if !program.is_symlink() {
            std::fs::write(program, "#!/usr/bin/env bash\n").unwrap();
        }
    }

    #[test]
    fn programs_of_version_managers_read_what_they_need() {
        for layout in LAYOUTS {
            let dir = tempfile::tempdir().unwrap();
            let home = dir.path().canonicalize().unwrap();
            make(&home, &layout);
            let env: BTreeMap<_, _> = [("HOME".to_owned(), home.display().to_string())].into();
            let walks = Walks::default();
            let finder = Finder {
                places: Places(&env, &walks),
                search: "",
                is_trusted: &|_| true,
            };
            let program = home.join(layout.program);
            assert!(program.is_file(), "{}", layout.program);
            let mut read = files(&finder, &program.display().to_string(), &[]);
            read.extend(finder.places.read());
            let granted: Vec<_> = read.iter().filter_map(|path| path.canonicalize().ok()).collect();
            let can_read = |path: &Path| granted.iter().any(|granted| path.starts_with(granted));
            for need in layout.needs {
                assert!(can_read(&home.join(need)), "{}: {need}", layout.program);
            }
            assert!(!can_read(&home), "{}", layout.program);
        }
    }

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
        let walks = Walks::default();
        let finder = Finder {
            places: Places(&env, &walks),
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
