//! Third-party clients at the daemon's native ACP: the official SDKs, and `acpx`.
//!
//! Each program of `tests/interop` plays the same [`part`]; its expected results are here, once for all programs.
//! [`behaviour`] covers what else a client may rely on; there the test lists the calls that an SDK makes ([`calls`]).
//! Each program reports all frames that it sends and receives; every received one is checked against the official
//! schema.

mod acpx;
mod behaviour;
mod calls;
mod part;
mod programs;
mod trace;

use part::{Part, Way};
use programs::Program;

use crate::support::Daemon;

#[test]
fn typescript_over_stdio() {
    play(Program::TypeScript, Way::Stdio);
}

#[test]
fn typescript_over_websocket() {
    play(Program::TypeScript, Way::WebSocket);
}

#[test]
fn typescript_over_http() {
    play(Program::TypeScript, Way::Http);
}

#[test]
fn python_over_stdio() {
    play(Program::Python, Way::Stdio);
}

#[test]
fn python_over_websocket() {
    play(Program::Python, Way::WebSocket);
}

#[test]
fn python_over_http() {
    play(Program::Python, Way::Http);
}

#[test]
#[ignore = "make test-interop"]
fn rust_over_stdio() {
    play(Program::Rust, Way::Stdio);
}

#[test]
#[ignore = "make test-interop"]
fn rust_over_websocket() {
    play(Program::Rust, Way::WebSocket);
}

#[test]
#[ignore = "make test-interop"]
fn rust_over_http() {
    play(Program::Rust, Way::Http);
}

#[test]
fn editors_that_delegate_nothing_receive_no_requests() {
    let daemon = Daemon::start();
    let part = Part::new(&daemon, Way::Stdio, false);
    let trace = Program::TypeScript.play(&daemon, &part);
    part.check(&trace);
    assert_eq!(trace.lent(), [""; 0]);
    assert_eq!(std::fs::read_to_string(part.file()).unwrap(), part::TEXT);
}

/// Plays the whole life of a session, with an editor that serves files and terminals.
fn play(program: Program, way: Way) {
    let daemon = Daemon::start();
    let part = Part::new(&daemon, way, true);
    let trace = program.play(&daemon, &part);
    part.check(&trace);
    assert_eq!(trace.lent(), part::LENT);
    // The text is in a buffer of the editor, which the editor has not saved.
    assert!(!part.file().exists());
}
