//! Fuzz targets: every parser of bytes that an agent, a client, a registry, another program or a damaged disk can write.
//!
//! In: any bytes. Out: nothing, or a panic that names the violated invariant. Owns: the targets and their corpora
//! (`corpus/NAME`). Never: touches anything but a temporary directory, or waits for anything but shells that judge.
//!
//! `make test` runs each target on its corpus and on derived inputs (`tests/targets.rs`), always the same ones. `make
//! fuzz` runs the same targets under libFuzzer (`fuzz/`), which is guided by coverage.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a target says by a panic what does not hold"
)]

mod acp_check;
mod agents;
mod archives;
mod clients;
mod credentials;
mod exports;
mod formats;
mod frames;
mod host_names;
mod json;
#[allow(
    dead_code,
    missing_debug_implementations,
    missing_docs,
    reason = "the judges as the policy's tests have them"
)]
#[path = "../../policy/tests/support/judges.rs"]
mod judges;
mod log_rows;
mod mutate;
mod paths;
mod policy;
mod scratch;
#[allow(
    dead_code,
    missing_debug_implementations,
    missing_docs,
    unused_imports,
    reason = "the machines as the scenarios couple them"
)]
#[path = "../../proto/tests/support/mod.rs"]
mod support;
mod tool_calls;

use std::path::PathBuf;

pub use mutate::Mutator;

/// A parser with its invariants.
#[derive(Debug)]
pub struct Target {
    /// The target's name on the command line, and the name of its corpus.
    pub name: &'static str,
    /// Panics if the input violates an invariant.
    pub run: fn(&[u8]),
    /// Fragments for derived inputs, so that these get past the first bytes.
    pub words: &'static [&'static str],
}

/// All fuzz targets.
pub static TARGETS: [Target; 20] = [
    agents::LINES,
    agents::HISTORIES,
    agents::SECOND_VERSION,
    clients::APP_FRAMES,
    clients::ACP_MESSAGES,
    policy::SHELL_LINES,
    policy::RULES,
    frames::UNCLEAN_LINES,
    json::PASS_THROUGH,
    archives::ARCHIVES,
    log_rows::LOG_ROWS,
    formats::SETTINGS,
    formats::CERTIFICATES,
    clients::CODEX_FRAMES,
    exports::EXPORTS,
    host_names::HOST_NAMES,
    credentials::CREDENTIALS,
    paths::PATHS,
    tool_calls::TOOL_CALLS,
    acp_check::CHECKED_LINES,
];

impl Target {
    /// Returns the target with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Returns the directory of the target's corpus.
    pub fn corpus(&self) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(self.name)
    }
}
