//! The client programs: their paths, their runtimes, and the make targets that install them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::part::Part;
use super::trace::Trace;
use crate::support::{Daemon, outcome};

/// The oldest Node version that acpx supports.
const OLDEST_NODE: (u32, u32) = (22, 13);

/// Maximum length of a program's line in the output of a failed test, in bytes.
const SHOWN_BYTES: usize = 1000;

/// A program that plays a part through an SDK.
#[derive(Clone, Copy)]
pub enum Program {
    /// `@agentclientprotocol/sdk`.
    TypeScript,
    /// `agent-client-protocol` on `PyPI`.
    Python,
    /// `agent-client-protocol` and `agent-client-protocol-http`.
    Rust,
}

/// Returns the path of a file of the project.
pub fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Returns the path of a file that a make target downloads or builds.
pub fn installed(path: &str, target: &str) -> PathBuf {
    let file = file(path);
    assert!(file.is_file(), "{path} is missing: run `make {target}`");
    file
}

/// Returns the path of Node: the project's own, or the host's.
pub fn node() -> PathBuf {
    let own = file(".tools/agents/node/bin/node");
    let node = if own.is_file() { own } else { "node".into() };
    let said = Command::new(&node).arg("--version").output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let version = said.unwrap_or_default();
    let mut numbers = version.trim().trim_start_matches('v').split('.');
    let mut number = || numbers.next()?.parse::<u32>().ok();
    let new = number()
        .zip(number())
        .is_some_and(|version| version >= OLDEST_NODE);
    let (major, minor) = OLDEST_NODE;
    assert!(
        new,
        "Node {major}.{minor} or later is needed, there is {version:?}: run `make deps`"
    );
    node
}

/// Returns a command with the environment that `acpd` requires to find the daemon, and the words that start `acpd acp`.
pub fn beside(daemon: &Daemon, agent: &str, program: impl AsRef<OsStr>) -> (Command, Vec<String>) {
    let acpd = daemon.place.command(&["acp", "--agent", agent]);
    let mut command = Command::new(program);
    command.current_dir(daemon.place.work());
    for (name, value) in acpd.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let words = std::iter::once(acpd.get_program()).chain(acpd.get_args());
    let words = words.map(|word| word.to_str().expect("paths of tests are text").to_owned());
    (command, words.collect())
}

impl Program {
    /// Returns the command line: its script of that name, or its binary with that name as an argument.
    fn line(self, script: &str) -> Vec<PathBuf> {
        match self {
            Self::TypeScript => {
                installed("tests/node/node_modules/.package-lock.json", "deps");
                vec![node(), file(&format!("tests/interop/{script}.mjs"))]
            }
            Self::Python => vec![
                installed(".tools/interop/python/bin/python", "deps"),
                file(&format!("tests/interop/{script}.py")),
            ],
            Self::Rust => vec![
                installed(".tools/interop/rust/debug/interop", "test-interop"),
                script.into(),
            ],
        }
    }

    /// Returns the command that makes the calls from its input, and the words that start `acpd acp`.
    pub fn calls(self, daemon: &Daemon, agent: &str) -> (Command, Vec<String>) {
        let line = self.line("calls");
        let (mut command, acpd) = beside(daemon, agent, &line[0]);
        command.args(&line[1..]);
        (command, acpd)
    }

    /// Plays the part to its end; returns the recorded trace.
    pub fn play(self, daemon: &Daemon, part: &Part) -> Trace {
        let line = self.line("sdk");
        let (mut command, acpd) = beside(daemon, "fake", &line[0]);
        let told = part.told(daemon, &acpd).to_string();
        command.args(&line[1..]).env("INTEROP", &told);
        let outcome = outcome(&mut command);
        // Visible if the test fails.
        eprintln!("INTEROP='{told}'");
        for line in outcome.stdout.lines() {
            eprintln!("{}", &line[..line.floor_char_boundary(SHOWN_BYTES)]);
        }
        // SDKs write complaints about messages to standard error.
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
        Trace::read(&outcome.stdout)
    }
}
