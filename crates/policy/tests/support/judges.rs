//! Real shells as judges of the policy: they run a line, and the programs of a scratch directory report how they were
//! called.
//!
//! In: a line. Out: the programs that ran in each shell, and the files that it made. Owns: a directory. Never: finds any
//! other program by its name. `crates/fuzz` includes this file.

use std::fmt;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use acpd_policy::{Effect, Layers, Policy, Request, Rule};

#[path = "../../../host/tests/support/not_tested.rs"]
pub mod not_tested;

/// All shells that can judge. `make test-shells` names them.
const ALL: [&str; 7] = ["bash", "dash", "zsh", "mksh", "ksh", "busybox", "yash"];
/// Those that judge unless `ACPD_SHELLS` names others.
const USUAL: [&str; 3] = ["bash", "dash", "zsh"];
/// Programs of the scratch directory `bin`. Those of the same names in the directory `bad` beside it all count as `evil`.
const PROGRAMS: [&str; 4] = ["good", "fine", "exact", "evil"];
/// Programs of the system that lines may use, since they only run others.
const WRAPPERS: [&str; 6] = ["env", "nohup", "nice", "timeout", "setsid", "stdbuf"];
const ALLOWED: [&str; 17] = [
    "Bash(good *)",
    "Bash(fine x *)",
    "Bash(exact a b)",
    "Bash(echo *)",
    "Bash(printf *)",
    "Bash([ *)",
    "Bash(test *)",
    "Bash(:)",
    "Bash(true)",
    "Bash(read *)",
    "Bash(set *)",
    "Bash(export *)",
    "Bash(unset *)",
    "Bash(exit *)",
    "Bash(wait *)",
    "Bash(type *)",
    "Edit(ok)",
];

/// The policies whose decisions are compared with the shells.
pub struct Policies {
    allow: Policy,
    deny: Policy,
}

/// How the policies decide about a line.
#[derive(Debug, Clone, Copy)]
pub struct Decided {
    /// A rule allows it, so it runs nothing that no rule allows.
    pub by_rule: bool,
    /// No rule denies it, so it does not run `evil`.
    pub by_default: bool,
}

impl Policies {
    pub fn new() -> Self {
        let rules = |texts: &[&str]| texts.iter().map(|text| Rule::parse(text).unwrap()).collect();
        Self {
            allow: Policy {
                allow: rules(&ALLOWED),
                ..Policy::default()
            },
            deny: Policy {
                deny: rules(&["Bash(evil *)"]),
                default: Some(Effect::Allow),
                ..Policy::default()
            },
        }
    }

    pub fn decide(&self, line: &str) -> Decided {
        let request = Request::command_line(line, "/w");
        let allows = |policy| {
            let layers = Layers {
                daemon: Some(policy),
                ..Layers::default()
            };
            layers.decide(&request).effect == Effect::Allow
        };
        Decided {
            by_rule: allows(&self.allow),
            by_default: allows(&self.deny),
        }
    }
}

/// The effects of a line in one shell.
pub struct Done<'a> {
    shell: &'static str,
    line: &'a str,
    /// Programs that were called, with their arguments.
    calls: Vec<Vec<String>>,
    /// Names of the files that were made. They have been removed again.
    made: Vec<String>,
}

impl Done<'_> {
    pub fn ran_evil(&self) -> bool {
        self.calls.iter().any(|call| call[0] == "evil")
    }

    /// Returns what was wrong about the decision.
    pub fn wrong(&self, decided: Decided) -> Option<String> {
        let is_allowed = |call: &Vec<String>| {
            let words: Vec<&str> = call.iter().map(String::as_str).collect();
            matches!(words[..], ["good", ..] | ["fine", "x", ..] | ["exact", "a", "b"])
        };
        let as_allowed = self.calls.iter().all(is_allowed) && self.made.iter().all(|name| name == "ok");
        if decided.by_rule && !as_allowed {
            Some(format!("allowed: {self}"))
        } else if decided.by_default && self.ran_evil() {
            Some(format!("not denied: {self}"))
        } else {
            None
        }
    }
}

impl fmt::Display for Done<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            shell,
            line,
            calls,
            made,
        } = self;
        writeln!(f, "{shell} {line:?}\n    ran {calls:?}, made {made:?}")
    }
}

/// A shell of this host.
#[derive(Debug, Clone)]
pub struct Shell {
    name: &'static str,
    place: PathBuf,
}

/// Returns the shells that judge. Those that this host does not have are recorded as not tested.
pub fn shells() -> Vec<Shell> {
    let named = std::env::var("ACPD_SHELLS");
    let names: Vec<_> = match &named {
        Ok(names) => names.split_whitespace().collect(),
        Err(_) => USUAL.to_vec(),
    };
    let mut shells = Vec::new();
    for name in names {
        let known = ALL.into_iter().find(|shell| *shell == name);
        let name = known.unwrap_or_else(|| panic!("no judge {name}: one of {ALL:?}"));
        match found(name) {
            Some(place) => shells.push(Shell { name, place }),
            None => not_tested::record_not_tested(&format!("the shell {name} is not installed")),
        }
    }
    shells
}

/// Shells with an empty directory for each to run lines in, and the programs on their PATH.
pub struct Judges {
    shells: Vec<Shell>,
    programs: PathBuf,
    cwds: PathBuf,
}

impl Judges {
    /// Sets up `shells` in the directory `home`, which is emptied.
    pub fn new(shells: Vec<Shell>, home: &Path) -> Self {
        let _ = fs::remove_dir_all(home);
        let (programs, bad, cwds) = (home.join("bin"), home.join("bad"), home.join("cwd"));
        for directory in [&programs, &bad] {
            fs::create_dir_all(directory).unwrap();
            for name in PROGRAMS {
                let path = directory.join(name);
                let said = if *directory == bad { "evil" } else { name };
                // One write per call, so that concurrent calls are not interleaved.
                let says = format!("#!/bin/sh\nprintf '%s\\037' {said} \"$@\" END >&9\n");
                fs::write(&path, says).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        for name in ["sh"].iter().chain(&ALL).chain(&WRAPPERS) {
            if let Some(place) = found(name) {
                symlink(place, programs.join(name)).unwrap();
            }
        }
        for shell in &shells {
            fs::create_dir_all(cwds.join(shell.name)).unwrap();
        }
        let judges = Self {
            shells,
            programs,
            cwds,
        };
        // Some systems mount their temporary directory without permission to execute.
        let runs = judges.run("good").iter().all(|done| done.calls == [["good"]]);
        assert!(runs, "no program can be run in {}", home.display());
        judges
    }

    /// Runs `line` in all shells at the same time.
    pub fn run<'l>(&self, line: &'l str) -> Vec<Done<'l>> {
        let running: Vec<_> = self.shells.iter().map(|shell| self.start(shell, line)).collect();
        let done = self.shells.iter().zip(running).map(|(shell, child)| {
            let said = child.wait_with_output().unwrap().stdout;
            let said = String::from_utf8_lossy(&said);
            let calls = said.split("\u{1f}END\u{1f}").filter(|call| !call.is_empty());
            Done {
                shell: shell.name,
                line,
                calls: calls
                    .map(|call| call.split('\u{1f}').map(str::to_owned).collect())
                    .collect(),
                made: swept(&self.cwds.join(shell.name)),
            }
        });
        done.collect()
    }

    fn start(&self, shell: &Shell, line: &str) -> Child {
        // All processes of the line hold this descriptor, so its end means that all of them have ended.
        // One that spins in the background outlives the shell and its time limit: ksh repeats "select" at the end of the input.
        let setup = "ulimit -t 5; exec 9>&1 >/dev/null 2>&1; exec timeout -s KILL 5 \"$@\"";
        let options: &[&str] = match shell.name {
            "busybox" => &["sh", "-c"],
            "zsh" => &["-fc"],
            _ => &["-c"],
        };
        let cwd = self.cwds.join(shell.name);
        Command::new("/bin/sh")
            .args(["-c", setup, "_"])
            .arg(&shell.place)
            .args(options)
            .arg(line)
            .env_clear()
            .env("PATH", &self.programs)
            .env("HOME", &cwd)
            .current_dir(&cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }
}

/// Returns the path of a program on PATH.
fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|place| place.is_file())
}

fn swept(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| {
        let entry = entry.unwrap();
        fs::remove_file(entry.path()).unwrap();
        entry.file_name().to_string_lossy().into_owned()
    });
    names.collect()
}
