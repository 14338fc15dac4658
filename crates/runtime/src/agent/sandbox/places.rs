//! Tables of the paths that programs, toolchains and agents use.
//!
//! In: an agent's environment. Out: paths to read, paths to write. Never: includes a path that stores passwords or keys.
//!
//! Paths contain variables: the agent's own value if it is set, else the default below.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use acpd_catalog::find_program;
use acpd_host::{Walk, Walks};

/// Defaults of variables; each may refer to an earlier one.
const DEFAULTS: [(&str, &str); 31] = [
    ("XDG_CONFIG_HOME", "$HOME/.config"),
    ("XDG_CACHE_HOME", "$HOME/.cache"),
    ("XDG_DATA_HOME", "$HOME/.local/share"),
    ("XDG_STATE_HOME", "$HOME/.local/state"),
    ("TMPDIR", "/tmp"),
    ("CARGO_HOME", "$HOME/.cargo"),
    ("RUSTUP_HOME", "$HOME/.rustup"),
    ("GOPATH", "$HOME/go"),
    ("GOMODCACHE", "$GOPATH/pkg"),
    ("GOCACHE", "$XDG_CACHE_HOME/go-build"),
    ("npm_config_cache", "$HOME/.npm"),
    ("NVM_DIR", "$HOME/.nvm"),
    ("VOLTA_HOME", "$HOME/.volta"),
    ("FNM_DIR", "$XDG_DATA_HOME/fnm"),
    ("PNPM_HOME", "$XDG_DATA_HOME/pnpm"),
    ("DENO_DIR", "$XDG_CACHE_HOME/deno"),
    ("BUN_INSTALL", "$HOME/.bun"),
    ("PYENV_ROOT", "$HOME/.pyenv"),
    ("ASDF_DATA_DIR", "$HOME/.asdf"),
    ("MISE_DATA_DIR", "$XDG_DATA_HOME/mise"),
    ("MAMBA_ROOT_PREFIX", "$HOME/micromamba"),
    ("N_PREFIX", "$HOME/n"),
    ("NODENV_ROOT", "$HOME/.nodenv"),
    ("PIP_CACHE_DIR", "$XDG_CACHE_HOME/pip"),
    ("UV_CACHE_DIR", "$XDG_CACHE_HOME/uv"),
    ("UV_PYTHON_INSTALL_DIR", "$XDG_DATA_HOME/uv/python"),
    ("UV_TOOL_DIR", "$XDG_DATA_HOME/uv/tools"),
    ("UV_CREDENTIALS_DIR", "$XDG_DATA_HOME/uv/credentials"),
    ("GRADLE_USER_HOME", "$HOME/.gradle"),
    ("CLAUDE_CONFIG_DIR", "$HOME/.claude"),
    ("CODEX_HOME", "$HOME/.codex"),
];

/// Paths of the operating system.
const SYSTEM: [&str; 29] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    // These are links to other directories on some systems.
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/localtime",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/proc",
    "/sys",
    "/run/systemd/resolve",
    "/run/NetworkManager",
    "/run/current-system",
    "/run/opengl-driver",
    "/run/nscd",
    "/var/lib/ca-certificates",
    "/var/lib/dpkg",
    "/var/lib/rpm",
    "/var/lib/pacman",
    "/home/linuxbrew/.linuxbrew",
    "/dev/fd",
];

/// Common devices, and temporary files.
const SCRATCH: [&str; 13] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
    "/dev/mqueue",
    "$TMPDIR",
    "/tmp",
    "/var/tmp",
];

/// Files that shells, git, editors and version managers read when they start.
const STARTUP: [&str; 22] = [
    "$HOME/.profile",
    "$HOME/.bash_profile",
    "$HOME/.bash_login",
    "$HOME/.bash_logout",
    "$HOME/.bashrc",
    "$HOME/.bash_aliases",
    "$HOME/.inputrc",
    "$HOME/.zshenv",
    "$HOME/.zprofile",
    "$HOME/.zshrc",
    "$HOME/.zlogin",
    "$XDG_CONFIG_HOME/fish",
    "$HOME/.gitconfig",
    "$XDG_CONFIG_HOME/git/config",
    "$XDG_CONFIG_HOME/git/ignore",
    "$XDG_CONFIG_HOME/git/attributes",
    "$HOME/.editorconfig",
    "$HOME/.tool-versions",
    "$HOME/.asdfrc",
    "$HOME/.node-version",
    "$HOME/.nvmrc",
    "$HOME/.python-version",
];

/// Programs of toolchains, in their usual directories.
const TOOLS: [&str; 51] = [
    "$CARGO_HOME/bin",
    "$CARGO_HOME/env",
    "$CARGO_HOME/config",
    "$CARGO_HOME/config.toml",
    "$RUSTUP_HOME",
    "$GOPATH/bin",
    "$HOME/.local/bin",
    "$HOME/.local/lib",
    "$HOME/bin",
    "$NVM_DIR",
    "$VOLTA_HOME",
    "$FNM_DIR",
    "$PNPM_HOME",
    "$HOME/.fnm",
    "$XDG_STATE_HOME/fnm_multishells",
    "$N_PREFIX/bin",
    "$N_PREFIX/lib",
    "$N_PREFIX/n",
    "$NODENV_ROOT",
    "$ASDF_DATA_DIR",
    "$HOME/.asdf",
    "$MISE_DATA_DIR",
    "$XDG_CONFIG_HOME/mise",
    "$XDG_STATE_HOME/mise",
    "$XDG_CACHE_HOME/mise",
    "$UV_TOOL_DIR",
    "$UV_PYTHON_INSTALL_DIR",
    "$XDG_CONFIG_HOME/uv/.python-version",
    "$XDG_DATA_HOME/pipx",
    "$PYENV_ROOT",
    "$HOME/miniconda3",
    "$HOME/anaconda3",
    "$HOME/miniforge3",
    "$HOME/mambaforge",
    "$HOME/.conda",
    "$MAMBA_ROOT_PREFIX",
    "$HOME/.micromamba",
    "$HOME/.local/share/mamba",
    "$CONDA_PREFIX",
    "$VIRTUAL_ENV",
    "$HOME/.deno",
    "$BUN_INSTALL",
    "$HOME/.rbenv",
    "$HOME/.dotnet",
    "$HOME/.opam",
    "$HOME/.ghcup",
    "$HOME/.nix-profile",
    "$XDG_STATE_HOME/nix",
    "$HOME/.sdkman",
    "$JAVA_HOME",
    "$HOME/.agents/skills",
];

/// Directories and files with passwords, keys and private data. A program in one of them opens no directory, and the path of
/// one in a session's parameters opens nothing.
const SECRETS: [&str; 38] = [
    "$HOME/.ssh",
    "$HOME/.gnupg",
    "$HOME/.aws",
    "$HOME/.azure",
    "$HOME/.kube",
    "$HOME/.docker",
    "$HOME/.netrc",
    "$HOME/.npmrc",
    "$HOME/.pypirc",
    "$HOME/.pgpass",
    "$HOME/.my.cnf",
    "$HOME/.git-credentials",
    "$HOME/.password-store",
    "$HOME/.pki",
    "$HOME/.mozilla",
    "$HOME/.thunderbird",
    "$HOME/.bash_history",
    "$HOME/.zsh_history",
    "$HOME/.terraform.d",
    "$CARGO_HOME/credentials",
    "$CARGO_HOME/credentials.toml",
    "$XDG_CONFIG_HOME/gh",
    "$XDG_CONFIG_HOME/glab-cli",
    "$XDG_CONFIG_HOME/git/credentials",
    "$XDG_CONFIG_HOME/gcloud",
    "$XDG_CONFIG_HOME/op",
    "$XDG_CONFIG_HOME/sops",
    "$XDG_CONFIG_HOME/rclone",
    "$XDG_CONFIG_HOME/pip",
    // Addresses of package indexes, often with passwords.
    "$XDG_CONFIG_HOME/uv/uv.toml",
    "$UV_CREDENTIALS_DIR",
    "$XDG_CONFIG_HOME/google-chrome",
    "$XDG_CONFIG_HOME/chromium",
    "$XDG_CONFIG_HOME/containers",
    "$XDG_CACHE_HOME/mozilla",
    "$XDG_DATA_HOME/keyrings",
    "$XDG_DATA_HOME/kwalletd",
    "$XDG_DATA_HOME/fish",
];

/// Directories that belong to no single program.
const COMMON: [&str; 5] = [
    "$XDG_CONFIG_HOME",
    "$XDG_CACHE_HOME",
    "$XDG_DATA_HOME",
    "$XDG_STATE_HOME",
    "$HOME/.local",
];

/// Caches that toolchains write, by program. If the program exists and a cache does not, the daemon creates the cache,
/// because a missing path cannot be granted.
const CACHES: [(&str, &[&str]); 16] = [
    (
        "cargo",
        &[
            "$CARGO_HOME/registry",
            "$CARGO_HOME/git",
            "$XDG_CACHE_HOME/sccache",
        ],
    ),
    ("npm", &["$npm_config_cache"]),
    ("yarn", &["$XDG_CACHE_HOME/yarn", "$HOME/.yarn/berry"]),
    ("pnpm", &["$XDG_CACHE_HOME/pnpm", "$PNPM_HOME/store"]),
    ("node", &["$XDG_CACHE_HOME/node"]),
    ("bun", &["$BUN_INSTALL/install/cache"]),
    ("deno", &["$DENO_DIR"]),
    ("pip", &["$PIP_CACHE_DIR"]),
    ("uv", &["$UV_CACHE_DIR"]),
    ("poetry", &["$XDG_CACHE_HOME/pypoetry"]),
    ("pre-commit", &["$XDG_CACHE_HOME/pre-commit"]),
    ("go", &["$GOMODCACHE", "$GOCACHE"]),
    ("mvn", &["$HOME/.m2/repository"]),
    (
        "java",
        &[
            "$GRADLE_USER_HOME/caches",
            "$GRADLE_USER_HOME/daemon",
            "$GRADLE_USER_HOME/native",
            "$GRADLE_USER_HOME/wrapper",
            "$HOME/.m2/wrapper",
        ],
    ),
    ("dotnet", &["$HOME/.nuget/packages"]),
    ("ccache", &["$XDG_CACHE_HOME/ccache"]),
];

/// Lock files, by program. Without them a toolchain shares its caches unguarded, or fails.
const LOCKS: [(&str, &[&str]); 2] = [
    (
        "cargo",
        &["$CARGO_HOME/.package-cache", "$CARGO_HOME/.package-cache-mutate"],
    ),
    // uvx locks the installed tools, and creates the other file if it is missing.
    ("uv", &["$UV_TOOL_DIR/.lock", "$UV_TOOL_DIR/.gitignore"]),
];

/// Returns the devices that every program may write.
pub fn devices() -> Vec<PathBuf> {
    let devices = SCRATCH.iter().filter(|place| place.starts_with("/dev/"));
    devices.map(PathBuf::from).collect()
}

/// Resolves paths with the variables of an agent, and with the walks by which all of its paths are checked.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a>(pub &'a BTreeMap<String, String>, pub &'a Walks);

impl Places<'_> {
    /// Expands the variables in a path; returns `None` if the result is not absolute.
    pub fn path(self, place: &str) -> Option<PathBuf> {
        let path = match place.strip_prefix('$') {
            None => PathBuf::from(place),
            Some(rest) => {
                let (name, below) = rest.split_once('/').unwrap_or((rest, ""));
                // GOPATH is a list; Go writes to its first directory.
                let own = self.0.get(name).and_then(|value| match name {
                    "GOPATH" => std::env::split_paths(value).next(),
                    _ => Some(PathBuf::from(value)),
                });
                let own = own.filter(|path| path.is_absolute());
                let base = own.or_else(|| {
                    let (_, default) = DEFAULTS.iter().find(|(variable, _)| *variable == name)?;
                    self.path(default)
                })?;
                if below.is_empty() { base } else { base.join(below) }
            }
        };
        Some(path).filter(|path| path.is_absolute())
    }

    /// Returns the walk along a path.
    pub fn along(self, path: &Path) -> Option<Arc<Walk>> {
        self.1.along(path)
    }

    /// Returns whether `directory` is the home directory or contains it, by its name or its real path. A program or a
    /// repository there does not grant access to it.
    pub fn holds_home(self, directory: &Path) -> bool {
        let real = |path: &Path| self.1.real(path);
        self.path("$HOME")
            .is_some_and(|home| home.starts_with(directory) || real(&home).starts_with(real(directory)))
    }

    /// Returns whether a program may open a directory for its agent: it is the directory of a program or a package, without
    /// the home directory, the common directories in it, or secrets.
    pub fn is_of_a_program(self, directory: &Path) -> bool {
        let real = |path: &Path| self.1.real(path);
        let own = real(directory);
        let is_common = COMMON
            .iter()
            .filter_map(|place| self.path(place))
            .any(|common| common.starts_with(directory) || real(&common).starts_with(&own));
        !is_common && !self.holds_home(directory) && !self.touches_secrets(directory)
    }

    /// Returns whether a directory is in one of the operating system, or has such directories in it.
    pub fn is_of_system(directory: &Path) -> bool {
        SYSTEM
            .iter()
            .chain(&[
                "/boot", "/dev", "/run", "/var/lib", "/var/log", "/var/run", "/System", "/Library",
            ])
            .any(|system| directory.starts_with(system) || Path::new(system).starts_with(directory))
    }

    /// Returns whether a path is a secret, or in a directory of secrets, or contains one.
    pub fn touches_secrets(self, path: &Path) -> bool {
        let own = self.1.real(path);
        let overlap = |one: &Path, other: &Path| one.starts_with(other) || other.starts_with(one);
        SECRETS
            .iter()
            .filter_map(|place| self.path(place))
            .any(|secret| overlap(path, &secret) || overlap(&own, &self.1.real(&secret)))
    }

    /// Returns whether links lead from a path to the home directory, to one around it, or to secrets. The agent of any thread
    /// may have made such a link.
    pub fn is_led_astray(self, path: &Path) -> bool {
        self.along(path).is_some_and(|walk| {
            !walk.links().is_empty() && (self.holds_home(walk.real()) || self.touches_secrets(walk.real()))
        })
    }

    /// Returns the directories that are searched for programs.
    pub fn search(self) -> impl Iterator<Item = PathBuf> {
        let search = self.0.get("PATH").cloned().unwrap_or_default();
        let directories: Vec<_> = std::env::split_paths(&search).collect();
        directories
            .into_iter()
            .filter(|directory| directory.is_absolute())
    }

    /// Returns where programs are that the user runs: those that are searched, and those of toolchains. A daemon that a service manager
    /// has started does not search all that the user's shell does.
    pub fn programs(self) -> Vec<PathBuf> {
        let tools = TOOLS.iter().filter_map(|place| self.path(place));
        tools.chain(self.search()).collect()
    }

    /// Returns where the user's programs keep what they are set to do.
    pub fn settings(self) -> Vec<PathBuf> {
        let places = STARTUP.iter().chain(&COMMON);
        places.filter_map(|place| self.path(place)).collect()
    }

    /// Returns all paths that every agent may read.
    pub fn read(self) -> Vec<PathBuf> {
        let places = SYSTEM.iter().chain(&STARTUP).chain(&TOOLS);
        let mut paths: Vec<_> = places.filter_map(|place| self.path(place)).collect();
        for directory in self.search() {
            if self.holds_home(&directory) {
                continue;
            }
            if directory.ends_with("bin") {
                let beside = ["lib", "lib64", "libexec", "include"];
                paths.extend(beside.iter().map(|name| directory.with_file_name(name)));
                let context = directory.parent().filter(|context| {
                    let marks = ["pyvenv.cfg", "conda-meta"];
                    !self.holds_home(context) && marks.iter().any(|mark| context.join(mark).exists())
                });
                paths.extend(context.map(Path::to_owned));
            }
            paths.push(directory);
        }
        paths.retain(|path| !self.is_led_astray(path));
        paths
    }

    /// Returns all paths that every agent may write.
    pub fn write(self) -> Vec<PathBuf> {
        let scratch = SCRATCH.iter().filter_map(|place| self.path(place));
        let used = self.used(&CACHES).into_iter().chain(self.used(&LOCKS));
        scratch
            .chain(used.filter(|path| !self.is_led_astray(path)))
            .collect()
    }

    /// Creates the caches and locks of installed toolchains.
    pub fn make_caches(self) {
        for cache in self.used(&CACHES) {
            make(&cache);
        }
        for lock in self.used(&LOCKS) {
            make_file(&lock);
        }
    }

    /// Returns the paths of the installed programs in the table.
    fn used(self, table: &[(&str, &'static [&'static str])]) -> Vec<PathBuf> {
        let search = self.0.get("PATH").map(String::as_str).unwrap_or_default();
        let there = table
            .iter()
            .filter(|(program, _)| find_program(program, search).is_some());
        there
            .flat_map(|(_, places)| places.iter().filter_map(|place| self.path(place)))
            .collect()
    }
}

/// Creates a directory that only the user can access. If that fails, there is nothing to grant.
pub fn make(directory: &Path) {
    use std::os::unix::fs::DirBuilderExt;
    let mut private = std::fs::DirBuilder::new();
    let _ = private.recursive(true).mode(0o700).create(directory);
}

/// Creates a file that only the user can access, and its directory.
fn make_file(file: &Path) {
    use std::os::unix::fs::OpenOptionsExt;
    if let Some(directory) = file.parent() {
        make(directory);
    }
    let mut private = std::fs::OpenOptions::new();
    let _ = private.create_new(true).write(true).mode(0o600).open(file);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_the_agents_own_or_the_default() {
        let env = [
            ("HOME", "/home/u"),
            ("CARGO_HOME", "/data/cargo"),
            ("TMPDIR", "relative"),
        ];
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let path = |place| {
            Places(&env, &Walks::default())
                .path(place)
                .map(|path| path.display().to_string())
        };
        assert_eq!(path("$CARGO_HOME/bin").as_deref(), Some("/data/cargo/bin"));
        assert_eq!(path("$GOMODCACHE").as_deref(), Some("/home/u/go/pkg"));
        assert_eq!(path("$XDG_CACHE_HOME").as_deref(), Some("/home/u/.cache"));
        assert_eq!(path("$TMPDIR").as_deref(), Some("/tmp"));
        assert_eq!(path("$UNKNOWN/x"), None);
        assert_eq!(
            Places(&BTreeMap::new(), &Walks::default()).path("$RUSTUP_HOME"),
            None
        );
    }

    #[test]
    fn a_home_is_known_under_every_name() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for made in ["u/bin", "x"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        std::fs::write(root.join("u/pyvenv.cfg"), "").unwrap();
        std::os::unix::fs::symlink(root.join("u"), root.join("home")).unwrap();
        let text = |path: &str| root.join(path).display().to_string();
        let search = ["u", "home", "home/bin", "x"].map(text).join(":");
        let env = [("HOME".to_owned(), text("home")), ("PATH".to_owned(), search)].into();
        for (path, holds) in [
            ("u", true),
            ("home", true),
            ("", true),
            ("u/bin", false),
            ("x", false),
        ] {
            assert_eq!(
                Places(&env, &Walks::default()).holds_home(&root.join(path)),
                holds,
                "{path}"
            );
        }
        let read = Places(&env, &Walks::default()).read();
        assert!(read.contains(&root.join("x")));
        for home in ["u", "home"] {
            assert!(!read.contains(&root.join(home)), "{home}");
        }
    }

    #[test]
    fn links_that_another_thread_may_have_made_open_no_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for made in [".ssh", "dots", "bin", ".config/git", ".nvm-real"] {
            std::fs::create_dir_all(root.join("home").join(made)).unwrap();
        }
        for (link, target) in [
            (".bashrc", "dots/bashrc"),
            ("dots/bashrc", "../.ssh"),
            (".rustup", ".."),
            (".profile", "dots"),
            (".nvm", ".nvm-real"),
        ] {
            std::os::unix::fs::symlink(target, root.join("home").join(link)).unwrap();
        }
        let home = root.join("home").display().to_string();
        let env = [("HOME".to_owned(), home)].into();
        let read = Places(&env, &Walks::default()).read();
        let has = |name: &str| read.contains(&root.join("home").join(name));
        assert_eq!([".bashrc", ".rustup"].map(has), [false; 2]);
        assert_eq!([".profile", ".nvm", "bin", ".zshrc"].map(has), [true; 4]);
    }

    #[test]
    fn folders_with_secrets_are_in_no_list() {
        let env: BTreeMap<_, _> = [("HOME", "/home/u"), ("PATH", "/home/u/bin:/home/u:/home:/x/bin")]
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let all = [
            Places(&env, &Walks::default()).read(),
            Places(&env, &Walks::default()).write(),
        ]
        .concat();
        for secret in [
            ".ssh/id_ed25519",
            ".aws/credentials",
            ".gnupg/x",
            ".netrc",
            ".npmrc",
            ".git-credentials",
            ".config/gh/hosts.yml",
            ".config/git/credentials",
            ".config/acpd/config.toml",
            ".config/pip/pip.conf",
            ".config/uv/uv.toml",
            ".local/share/uv/credentials/credentials.toml",
            ".local/state/acpd/token",
            ".local/share/keyrings/login.keyring",
            ".cargo/credentials.toml",
            ".docker/config.json",
            ".kube/config",
            ".mozilla/firefox/x",
            ".cache/mozilla/x",
            ".bash_history",
        ] {
            let secret = Path::new("/home/u").join(secret);
            assert!(
                !all.iter().any(|granted| secret.starts_with(granted)),
                "{}",
                secret.display()
            );
        }
        for open in [
            "/x/lib",
            "/home/u/bin",
            "/home/u/.local/share/uv/python",
            "/home/u/.local/share/uv/tools",
        ] {
            assert!(all.contains(&open.into()), "{open}");
        }
        for secret in [".local/share/uv", ".config/uv"] {
            let secret = Path::new("/home/u").join(secret);
            assert!(Places(&env, &Walks::default()).touches_secrets(&secret));
        }
    }
}
