//! Agents that a shim holds: they outlive what is attached to them, and end when they must.

#![allow(clippy::unwrap_used, reason = "what helps a test fails by panicking")]

mod ending;
mod kills;
mod limits;
mod streams;
mod sweeping;

use std::path::PathBuf;
use std::time::Duration;

use acpd_host::{HeldAgent, HeldStdout, Hold, ProcessExit, Program, Shims};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::shell;

/// Long enough for a process that ends by itself. Only failures reach it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the shim's binary, which is built beside the tests.
fn binary() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().and_then(|deps| deps.parent()).unwrap();
    let binary = built.join("acpd-shim");
    assert!(
        binary.is_file(),
        "{} is missing: build it with cargo build -p acpd-shim",
        binary.display()
    );
    binary
}

/// A data directory, and its shims.
struct Place {
    data: TempDir,
    shims: Shims,
}

impl Place {
    fn new() -> Self {
        Self::with_copies(false)
    }

    fn with_copies(copies: bool) -> Self {
        let data = tempfile::tempdir().unwrap();
        let shims = Shims::new(binary(), data.path());
        shims.set_copies(copies);
        Self { data, shims }
    }

    /// Returns the program `sh -c script`, whose `$0` is `token`, in the data directory.
    fn program(&self, script: &str, token: &str) -> Program {
        shell(script, token, self.data.path())
    }

    fn start(&self, script: &str, token: &str) -> (HeldAgent, Hold) {
        let hold = Hold::new();
        let agent = self.shims.start(&self.program(script, token), &hold).unwrap();
        (agent, hold)
    }

    /// Starts a script that prints this line first, and reads it.
    async fn start_ready(&self, script: &str, token: &str) -> (HeldAgent, Hold) {
        let (mut agent, hold) = self.start(script, token);
        assert_eq!(read(&mut agent.stdout, 6).await, "ready\n");
        (agent, hold)
    }

    fn names(&self) -> Vec<String> {
        let mut names = self.shims.names().unwrap();
        names.sort();
        names
    }
}

/// Reads this many bytes, or up to the end.
async fn read(stdout: &mut HeldStdout, bytes: usize) -> String {
    let mut found = Vec::new();
    let most = u64::try_from(bytes).unwrap();
    stdout.take(most).read_to_end(&mut found).await.unwrap();
    String::from_utf8(found).unwrap()
}

async fn read_to_end(stdout: &mut HeldStdout) -> String {
    let mut found = String::new();
    stdout.read_to_string(&mut found).await.unwrap();
    found
}

async fn write(agent: &mut HeldAgent, lines: &str) {
    agent.stdin.write_all(lines.as_bytes()).await.unwrap();
}

async fn stop(agent: HeldAgent) -> ProcessExit {
    agent.process.stop(PATIENCE).await
}

/// Returns the pid of the only child of this process: the shim.
fn shim() -> rustix::process::Pid {
    let children = crate::support::own_children();
    assert_eq!(children.len(), 1, "{children:?}");
    rustix::process::Pid::from_raw(i32::try_from(children[0]).unwrap()).unwrap()
}
