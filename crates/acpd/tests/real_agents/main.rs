//! Whole turns with agents that others have written, through the real daemon.
//!
//! `simple` holds those that need no model. The rest drives each agent of [`agents::AGENTS`] against the fake model
//! through the same cases; `make test-agents` installs the agents, runs this, and writes what was seen into
//! `docs/agents.md`.

#[path = "../support/mod.rs"]
mod support;

mod agents;
mod bench;
mod cases;
mod findings;
mod simple;
mod table;

use std::path::{Path, PathBuf};

use agents::Agent;
use bench::Bench;
use cases::Case;
use findings::{Cell, Findings, Seen};

/// The project's directory.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
#[ignore = "make test-agents"]
fn claude() {
    drive(&agents::CLAUDE);
}

#[test]
#[ignore = "make test-agents"]
fn codex() {
    drive(&agents::CODEX);
}

#[test]
#[ignore = "make test-agents"]
fn gemini() {
    drive(&agents::GEMINI);
}

#[test]
#[ignore = "make test-agents"]
fn opencode() {
    drive(&agents::OPENCODE);
}

#[test]
#[ignore = "make test-agents"]
fn qwen() {
    drive(&agents::QWEN);
}

/// Runs all cases with one agent, keeps what was seen, and fails for what was not foreseen.
fn drive(agent: &Agent) {
    if let Some(reason) = agent.absent() {
        eprintln!("skipped: {} could not be installed: {reason}", agent.package);
        return Findings::skipped(agent, reason).keep();
    }
    let mut bench = Bench::new(agent);
    let mut findings = Findings::new(agent);
    let mut surprises = Vec::new();
    for case in Case::ALL {
        let known = agent.known.iter().find(|(known, _)| known == case).map(|(_, why)| *why);
        let seen = bench.attempt(*case);
        eprintln!("{}: {}: {seen:?}", agent.name, case.name());
        match (&seen, known) {
            (Err(why), None) => surprises.push(format!("{}: {why}", case.name())),
            (Ok(_), Some(_)) => surprises.push(format!("{} works now: strike it from what is known", case.name())),
            _ => {}
        }
        let cell = match (seen, known) {
            (Ok(note), _) => Cell { seen: Seen::Works, note },
            (Err(_), Some(why)) => Cell { seen: Seen::Fails, note: why.to_owned() },
            (Err(why), None) => Cell { seen: Seen::Fails, note: why },
        };
        findings.cells.insert(case.name().to_owned(), cell);
    }
    findings.keep();
    if !surprises.is_empty() {
        bench.explain();
        panic!("{} does not do what is known of it:\n{}", agent.title, surprises.join("\n"));
    }
}
