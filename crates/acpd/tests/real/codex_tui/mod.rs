//! The stock Codex TUI, and the schema that its version generates. `make agent-codex-tui` installs that version.
//!
//! The tests are ignored by default, because Codex is large to install: `make test-agents` and `make test-interop` run
//! them. Where Codex or tmux cannot be had, they end as not tested.

mod schema;
mod terminal;

use std::path::PathBuf;

use serde_json::json;

use crate::support::{Client, Daemon, not_tested};
use terminal::Tui;

/// Returns the installed Codex. Ends the test as not tested if it cannot be installed here.
fn codex() -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools/agents/codex-tui");
    let folder = PathBuf::from(folder);
    if let Ok(reason) = std::fs::read_to_string(folder.join("skipped")) {
        not_tested(&format!("Codex cannot be installed: {}", reason.trim()));
    }
    let program = folder.join("node_modules/.bin/codex");
    assert!(
        program.exists(),
        "{} is missing: run make agent-codex-tui",
        program.display()
    );
    program
}

/// Starts a daemon with the demo agent and a TUI on it. Ends the test as not tested if that cannot be had here.
fn demo(args: &[&str]) -> (Daemon, Tui) {
    let program = codex();
    terminal::needs_tmux();
    let daemon = Daemon::demo();
    let tui = Tui::start(&program, &daemon, args);
    tui.wait_for("Ask Codex to do anything");
    (daemon, tui)
}

#[test]
#[ignore = "needs Codex: make test-agents"]
fn an_allowed_change_continues_the_turn() {
    let (daemon, tui) = demo(&[]);
    tui.types("Greet everybody");
    tui.wait_for("Would you like to make the following edits?");
    tui.wait_for("+Hello, world.");
    tui.answers("y");
    tui.wait_for("Ran cat");
    tui.wait_for("you can delete acpd-demo");
    let notes = daemon.place.work().join("acpd-demo/notes.md");
    let notes = std::fs::read_to_string(notes).expect("the agent has written it");
    assert!(notes.contains("Hello, world."), "{notes}");
}

#[test]
#[ignore = "needs Codex: make test-agents"]
fn escape_at_a_question_refuses_and_interrupts() {
    let (daemon, tui) = demo(&[]);
    tui.types("Greet everybody");
    tui.wait_for("Would you like to make the following edits?");
    tui.answers("Escape");
    tui.wait_for("Conversation interrupted");
    let notes = daemon.place.work().join("acpd-demo/notes.md");
    let notes = std::fs::read_to_string(notes).expect("the agent has written it");
    assert!(!notes.contains("Hello, world."), "{notes}");
}

#[test]
#[ignore = "needs Codex: make test-agents"]
fn modes_models_and_names_are_set() {
    let (_daemon, tui) = demo(&[]);
    tui.types("/rename Greetings");
    tui.wait_for("· Greetings");
    tui.types("/permissions");
    tui.wait_for("2. code");
    tui.keys("2");
    tui.wait_for("requested: code");
    tui.types("/model");
    tui.wait_for("Fake Large");
    tui.keys("Down");
    tui.keys("Enter");
    tui.wait_for("Model changed to demo/fake-large");
    tui.types("Greet everybody");
    tui.wait_for("Would you like to make the following edits?");
}

#[test]
#[ignore = "needs Codex: make test-agents"]
fn unsupported_requests_are_reported_and_end_nothing() {
    let (_daemon, tui) = demo(&[]);
    tui.types("/compact");
    tui.wait_for("has no command that compacts its context");
    tui.types("Greet everybody");
    tui.wait_for("Would you like to make the following edits?");
}

#[test]
#[ignore = "needs Codex: make test-agents"]
fn a_killed_daemon_loses_nothing_and_the_next_prompt_works() {
    let (mut daemon, tui) = demo(&[]);
    tui.types("first words");
    tui.wait_for("Would you like to make the following edits?");
    daemon.kill();
    daemon.restart();
    tui.wait_for("acpd was restarted while this turn was running");
    let screen = tui.history();
    assert_eq!(screen.matches("› first words").count(), 1, "{screen}");
    assert_eq!(screen.matches("You said:").count(), 1, "{screen}");
    tui.types("second words");
    tui.wait_for("Would you like to make the following edits?");
    tui.answers("y");
    tui.wait_for("you can delete acpd-demo");
}

#[test]
#[ignore = "needs Codex: make test-agents"]
fn two_tuis_share_a_thread_and_its_question() {
    let (daemon, first) = demo(&[]);
    first.types("/rename Shared");
    first.wait_for("· Shared");
    first.types("Greet everybody");
    first.wait_for("Would you like to make the following edits?");
    let listed = Client::new(&daemon).call("thread/list", &json!({}));
    let thread = listed["data"][0]["id"].as_str().expect("a thread");
    let program = codex();
    let second = Tui::start(&program, &daemon, &["resume", thread]);
    second.wait_for("Would you like to make the following edits?");
    second.answers("y");
    second.wait_for("you can delete acpd-demo");
    first.wait_for("you can delete acpd-demo");
    first.wait_until("the question is gone", |screen| {
        !screen.contains("Would you like to make the following edits?")
    });
}

#[test]
#[ignore = "needs Codex: make test-agents"]
fn a_command_of_the_user_runs() {
    let (_daemon, tui) = demo(&[]);
    tui.types("!echo one two");
    tui.wait_for("You ran echo one two");
    tui.types("Greet everybody");
    tui.wait_for("Would you like to make the following edits?");
}

#[test]
#[ignore = "needs Codex: make test-agents"]
fn a_thread_of_another_client_is_resumed_with_its_history() {
    let program = codex();
    terminal::needs_tmux();
    let daemon = Daemon::demo();
    let mut client = Client::new(&daemon);
    let thread = client.thread_of(&daemon, "demo");
    client.start(&thread, "Greet everybody");
    client.question();
    let tui = Tui::start(&program, &daemon, &["resume", &thread]);
    tui.wait_for("Would you like to make the following edits?");
    assert!(tui.history().contains("Greet everybody"), "{}", tui.history());
    tui.answers("y");
    tui.wait_for("you can delete acpd-demo");
    client.wait_for("turn/completed");
}
