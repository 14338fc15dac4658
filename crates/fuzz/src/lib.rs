//! Fuzz targets: every parser of bytes that an agent, a client, a registry or a damaged disk can write.
//!
//! In: any bytes. Out: nothing, or a panic that says which promise was broken. Owns: the targets and their corpora
//! (`corpus/NAME`). Never: waits, or touches anything but a temporary directory.
//!
//! Each target runs its corpus and inputs derived from it in `make test` (`tests/targets.rs`), always the same ones.
//! `make fuzz` runs the same targets under libFuzzer (`fuzz/`), which is guided by coverage.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a target says by a panic what does not hold"
)]

mod agents;
mod archives;
mod clients;
mod json;
mod log_rows;
mod mutate;
mod policy;
#[allow(
    dead_code,
    missing_debug_implementations,
    missing_docs,
    unused_imports,
    reason = "the machines as the scenarios couple them"
)]
#[path = "../../proto/tests/support/mod.rs"]
mod support;

use std::path::PathBuf;

pub use mutate::Mutator;

/// A parser, with what must hold of it.
#[derive(Debug)]
pub struct Target {
    /// Names it on the command line, and its corpus.
    pub name: &'static str,
    /// Panics if something does not hold for the input.
    pub run: fn(&[u8]),
    /// Pieces of which inputs are made that get past the first bytes.
    pub words: &'static [&'static str],
}

/// All targets.
pub static TARGETS: [Target; 9] = [
    agents::LINES,
    agents::HISTORIES,
    clients::APP_FRAMES,
    clients::ACP_MESSAGES,
    policy::SHELL_LINES,
    policy::RULES,
    json::PASS_THROUGH,
    archives::ARCHIVES,
    log_rows::LOG_ROWS,
];

impl Target {
    /// Returns the target with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Returns the folder of its corpus.
    pub fn corpus(&self) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(self.name)
    }
}
