//! `acpd setup`: what it writes, and what it never does.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::{Outcome, Place, Screen, acpd, outcome};

/// A home with these programs on `PATH`, and without a configuration.
fn home(programs: &[&str]) -> Place {
    let place = Place::new("");
    std::fs::remove_file(place.config()).unwrap();
    let bin = place.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for name in programs {
        std::fs::write(bin.join(name), "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    place
}

fn command(place: &Place, args: &[&str]) -> Command {
    let mut command = place.command(&[&["setup"], args].concat());
    command.env(
        "PATH",
        format!("{}:/usr/bin:/bin", place.home().join("bin").display()),
    );
    command
}

fn setup(place: &Place, args: &[&str]) -> Outcome {
    outcome(&mut command(place, args))
}

fn text(place: &Place) -> String {
    std::fs::read_to_string(place.config()).unwrap()
}

/// Checks a text as a configuration.
fn check(place: &Place, text: &str) {
    place.configure(text);
    let checked = acpd(place, &["config", "check"]);
    assert_eq!(checked.code, Some(0), "{}\n{text}", checked.stderr);
}

#[test]
fn the_file_has_the_agents_of_the_host_and_passes_the_check() {
    let place = home(&["gemini", "claude", "npm", "opencode"]);
    let written = setup(&place, &[]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert!(
        written
            .stdout
            .contains("agents: gemini, opencode\ndefault agent: gemini\n"),
        "{}",
        written.stdout
    );
    assert!(
        written.stderr.contains("acpd agents install claude-acp"),
        "{}",
        written.stderr
    );
    let file = text(&place);
    let mode = place.config().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(
        file.contains("\n[agents.gemini]\n") && file.contains("\n#[agents.claude-acp]\n"),
        "{file}"
    );
    let shown = acpd(&place, &["config", "show", "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["default_agent"], "gemini");

    // Each line, uncommented, is a correct setting; and all of them together.
    let is_setting = |line: &str| line.starts_with('#') && !line.starts_with("# ");
    let uncommented = |wanted: &dyn Fn(usize) -> bool| -> String {
        let lines = file.lines().enumerate();
        lines
            .map(|(at, line)| {
                let used = is_setting(line) && wanted(at);
                format!("{}\n", if used { &line[1..] } else { line })
            })
            .collect()
    };
    for (at, _) in file.lines().enumerate().filter(|(_, line)| is_setting(line)) {
        check(&place, &uncommented(&|place| place == at));
    }
    check(&place, &uncommented(&|_| true));
}

#[test]
fn an_existing_file_is_kept() {
    let place = home(&["gemini"]);
    place.configure("# mine\n");
    let refused = setup(&place, &[]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("stays as it is"), "{}", refused.stderr);
    let printed = setup(&place, &["--print"]);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    assert!(printed.stdout.contains("[agents.gemini]"), "{}", printed.stdout);
    assert_eq!(text(&place), "# mine\n");
    let forced = setup(&place, &["--force", "--json"]);
    let forced: Value = serde_json::from_str(&forced.stdout).unwrap();
    let copy = PathBuf::from(forced["copy"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(copy).unwrap(), "# mine\n");
    assert!(text(&place).contains("[agents.gemini]"));
    // A file with a mistake is replaced as well: that is what it is for.
    place.configure("nonsense = 1\n");
    assert_eq!(setup(&place, &["--force"]).code, Some(0));
    assert_eq!(setup(&place, &["--force", "--print"]).code, Some(2));
}

#[test]
fn without_agents_the_file_is_only_comments() {
    let place = home(&[]);
    let written = setup(&place, &["--yes"]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert!(written.stdout.contains("agents: none"), "{}", written.stdout);
    assert!(
        written.stderr.contains("acpd run --agent demo"),
        "{}",
        written.stderr
    );
    assert!(text(&place).contains("#default_agent = \"demo\""));
}

#[test]
fn named_agents_are_checked() {
    let place = home(&["gemini"]);
    let unknown = setup(&place, &["--agent", "gemni"]);
    assert_eq!(unknown.code, Some(5));
    assert!(
        unknown.stderr.contains("did you mean \"gemini\"?"),
        "{}",
        unknown.stderr
    );
    let other = setup(&place, &["--agent", "gemini", "--default-agent", "codex-acp"]);
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    assert!(!place.config().exists());
    let written = setup(
        &place,
        &[
            "--agent",
            "opencode",
            "--agent",
            "gemini",
            "--default-agent",
            "gemini",
            "--yes",
        ],
    );
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert!(
        text(&place).contains("default_agent = \"gemini\""),
        "{}",
        text(&place)
    );
}

#[test]
fn questions_are_answered_on_a_terminal() {
    let place = home(&["gemini", "opencode", "claude", "npm"]);
    let screen = Screen::start(&command(&place, &[]), 200, 40);
    screen.wait_for("Which ones? Numbers, or Enter for all:");
    screen.press("7\r");
    screen.wait_for("type numbers from 1 to 3");
    screen.press("1 3\r");
    screen.wait_for("Which one is the default?");
    screen.press("2\r");
    screen.wait_for("Install it with npm? [y/N]");
    screen.press("n\r");
    let (status, shown) = screen.finish();
    assert_eq!(status.code(), Some(0), "{shown}");
    assert!(shown.contains("default agent: opencode"), "{shown}");
    let file = text(&place);
    assert!(
        file.contains("\n[agents.opencode]\n") && !file.contains("agents.gemini"),
        "{file}"
    );
}

#[test]
fn ctrl_c_writes_nothing() {
    let place = home(&["gemini", "opencode"]);
    for key in ["\u{3}", "\u{4}"] {
        let screen = Screen::start(&command(&place, &[]), 200, 40);
        screen.wait_for("Which ones?");
        screen.press(key);
        let (status, shown) = screen.finish();
        assert_eq!(status.code(), Some(130), "{shown}");
        assert!(!place.config().exists());
    }
}
