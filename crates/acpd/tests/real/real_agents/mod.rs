//! Whole turns with third-party agents, through the real daemon.
//!
//! `simple` tests agents that require no model. The other modules run each agent of [`agents::AGENTS`] with the fake
//! model through the same cases; `make test-agents` installs the agents, runs the tests, and compares the results
//! with `docs/agents.md`.

mod agents;
mod bench;
mod cases;
mod editor;
mod findings;
mod simple;
mod table;

use std::path::{Path, PathBuf};

use agents::Agent;
use bench::Bench;
use cases::Case;
use findings::{Cell, Findings};

use crate::support::{acpd, not_tested};

/// Returns the project's directory.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
#[ignore = "make test-agents"]
fn auggie() {
    drive(&agents::AUGGIE);
}

#[test]
#[ignore = "make test-agents"]
fn claude() {
    drive(&agents::CLAUDE);
}

#[test]
#[ignore = "make test-agents"]
fn a_subagent_of_claude_asks_the_user() {
    cases::delegate(&mut bench_of(&agents::CLAUDE));
}

#[test]
#[ignore = "make test-agents"]
fn a_fork_of_claude_remembers() {
    cases::fork(&mut bench_of(&agents::CLAUDE));
}

/// Codex lets only the process use a session that has made it.
#[test]
#[ignore = "make test-agents"]
fn a_fork_of_codex_remembers() {
    cases::fork(&mut bench_of(&agents::CODEX));
}

#[test]
#[ignore = "make test-agents"]
fn claude_in_version_2() {
    drive_in_version_2(&agents::CLAUDE);
}

#[test]
#[ignore = "make test-agents"]
fn codex_in_version_2() {
    drive_in_version_2(&agents::CODEX);
}

/// Returns a bench for an agent that is installed, or skips the test.
fn bench_of(agent: &'static Agent) -> Bench {
    bench_with(agent, "")
}

fn bench_with(agent: &'static Agent, more: &str) -> Bench {
    if let Some(reason) = agent.absent() {
        not_tested(&format!("{} cannot be installed: {reason}", agent.package));
    }
    Bench::with(agent, more)
}

/// Runs all cases with an agent that speaks version 2 of ACP. They hold in both versions.
fn drive_in_version_2(agent: &'static Agent) {
    let mut bench = bench_with(agent, "acp = 2\n");
    let failed: Vec<_> = Case::ALL
        .iter()
        .filter_map(|case| Some(format!("{}: {}", case.name(), bench.attempt(*case).err()?)))
        .collect();
    if !failed.is_empty() {
        bench.explain();
        panic!("{} in version 2:\n{}", agent.title, failed.join("\n"));
    }
    let thread = bench.talk().thread.clone();
    let exported = acpd(&bench.daemon.place, &["export", &thread]);
    assert!(
        exported.stdout.contains("\"protocol\":2"),
        "it spoke version 1: {}",
        exported.stdout
    );
}

#[test]
#[ignore = "make test-agents"]
fn cline() {
    drive(&agents::CLINE);
}

#[test]
#[ignore = "make test-agents"]
fn copilot() {
    drive(&agents::COPILOT);
}

#[test]
#[ignore = "make test-agents"]
fn fast() {
    drive(&agents::FAST);
}

#[test]
#[ignore = "make test-agents"]
fn pi() {
    drive(&agents::PI);
}

#[test]
#[ignore = "make test-agents"]
fn codex() {
    drive(&agents::CODEX);
}

#[test]
#[ignore = "make test-agents"]
fn crow() {
    drive(&agents::CROW);
}

#[test]
#[ignore = "make test-agents"]
fn deepagents() {
    drive(&agents::DEEPAGENTS);
}

#[test]
#[ignore = "make test-agents"]
fn gemini() {
    drive(&agents::GEMINI);
}

#[test]
#[ignore = "make test-agents"]
fn hermes() {
    drive(&agents::HERMES);
}

#[test]
#[ignore = "make test-agents"]
fn kimi() {
    drive(&agents::KIMI);
}

#[test]
#[ignore = "make test-agents"]
fn vibe() {
    drive(&agents::VIBE);
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

/// Runs all cases with one agent, stores the results, and fails if they differ from the known ones.
fn drive(agent: &'static Agent) {
    if let Some(reason) = agent.absent() {
        Findings::skipped(agent, reason.clone()).keep();
        not_tested(&format!("{} cannot be installed: {reason}", agent.package));
    }
    let mut bench = Bench::new(agent);
    let mut findings = Findings::new(agent);
    let mut surprises = Vec::new();
    for case in Case::ALL {
        let known = agent.known.iter().find(|known| known.case == *case);
        let (works, note) = match (bench.attempt(*case), known) {
            (Ok(note), None) => (true, noted(agent, *case, note)),
            (Err(why), Some(known)) if why.contains(known.sign) => (false, known.note.to_owned()),
            (Ok(note), Some(_)) => {
                surprises.push(format!("{} works now: strike it from what is known", case.name()));
                (true, note)
            }
            (Err(why), _) => {
                surprises.push(format!("{}: {why}", case.name()));
                (false, why)
            }
        };
        findings
            .cells
            .insert(case.name().to_owned(), Cell { works, note });
    }
    findings.keep();
    if !surprises.is_empty() {
        bench.explain();
        panic!(
            "{} does not do what is known of it:\n{}",
            agent.title,
            surprises.join("\n")
        );
    }
}

/// Joins the remarks of a case and the agent's notes about it.
fn noted(agent: &Agent, case: Case, seen: String) -> String {
    let more = agent.notes.iter().filter(|(noted, _)| *noted == case);
    let notes = std::iter::once(seen).chain(more.map(|(_, note)| (*note).to_owned()));
    notes
        .filter(|note| !note.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}
