//! Support for these tests: programs to run, and a view of the host's processes that shares no code with the tested
//! crate.

#![allow(clippy::unwrap_used, reason = "what helps a test fails by panicking")]

mod not_tested;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use acpd_host::Program;
pub use not_tested::not_tested;

/// Timeout of all waits. Only failures reach it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns `sh -c script`, in the given directory. `$0` is `token`.
pub fn shell(script: &str, token: &str, cwd: &Path) -> Program {
    Program {
        command: "sh".into(),
        args: ["-c", script, token].map(str::to_owned).into(),
        env: BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]),
        cwd: cwd.to_owned(),
        sandbox: None,
    }
}

/// Returns a number that only this test's processes have on their command lines, and that `sleep` accepts.
pub fn token() -> String {
    (4_000_000_000 + u64::from(std::process::id())).to_string()
}

/// Returns the living processes with `token` among their arguments.
pub fn with_token(token: &str) -> Vec<u32> {
    let has = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|argument| argument == token.as_bytes())
    };
    all().filter(has).collect()
}

/// Returns the children of this process, including zombies.
pub fn own_children() -> Vec<u32> {
    let own = std::process::id();
    all().filter(|pid| parent_of(*pid) == Some(own)).collect()
}

fn all() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat[stat.rfind(')')? + 1..]
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

/// Returns the number of open descriptors of this process.
pub fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Returns the number of threads of this process.
pub fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Waits until `holds` returns true.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
