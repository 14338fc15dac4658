//! `acpd editors`: the settings files that it changes, and those that it leaves alone.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{self, Outcome, Place, Screen, outcome, without_terminal};

fn command(place: &Place, args: &[&str]) -> Command {
    let mut command = place.command(&[&["editors"], args].concat());
    command.env(
        "PATH",
        format!("{}:/usr/bin:/bin", place.home().join("bin").display()),
    );
    command
}

fn editors(place: &Place, args: &[&str]) -> Outcome {
    outcome(&mut without_terminal(&command(place, args)))
}

fn zed(place: &Place) -> PathBuf {
    place.home().join(".config/zed/settings.json")
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

const SETTINGS: &str = "// Zed\n{\n  \"theme\": \"One\", // light\n  \"agent_servers\": {\n    \"other\": { \"command\": \"x\" }\n  }\n}\n";

#[test]
fn a_file_gets_the_entry_and_keeps_everything_else() {
    let place = Place::new("");
    write(&zed(&place), SETTINGS);
    let installed = editors(&place, &["install", "zed", "--agent", "fake", "--yes"]);
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    // The change is shown as a diff.
    assert!(
        installed.stdout.contains("+    \"acpd\": {"),
        "{}",
        installed.stdout
    );
    assert!(!installed.stdout.contains("-  \"theme\""), "{}", installed.stdout);
    let text = std::fs::read_to_string(zed(&place)).unwrap();
    assert!(
        text.starts_with("// Zed\n{\n  \"theme\": \"One\", // light\n"),
        "{text}"
    );
    assert!(text.contains("\"other\": { \"command\": \"x\" },"), "{text}");
    let copy = zed(&place).with_file_name("settings.json.before-acpd");
    assert_eq!(std::fs::read_to_string(copy).unwrap(), SETTINGS);

    let listed = editors(&place, &["list", "--json"]);
    let listed: Vec<Value> = listed
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let entry = listed.iter().find(|editor| editor["id"] == "zed").unwrap();
    assert_eq!(entry["found"], true);
    let command: Vec<&str> = entry["command"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    let program = support::built("acpd")
        .canonicalize()
        .unwrap()
        .display()
        .to_string();
    assert_eq!(command[..4], [&program, "acp", "--agent", "fake"]);

    // A second time, nothing is to be done.
    let again = editors(&place, &["install", "zed", "--agent", "fake"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(
        again.stdout.contains("has this entry already"),
        "{}",
        again.stdout
    );
    assert_eq!(std::fs::read_to_string(zed(&place)).unwrap(), text);
}

#[test]
fn new_files_are_made_for_each_editor() {
    let place = Place::new("");
    place.configure(&format!(
        "default_agent = \"fake\"\n{}",
        place.agent("fake", &["--pace", "0"], &[])
    ));
    for (name, file, keys) in [
        ("jetbrains", ".jetbrains/acp.json", ["agent_servers", "acpd"]),
        (
            "vscode",
            ".config/Code/User/settings.json",
            ["acp.agents", "acpd"],
        ),
    ] {
        let installed = editors(&place, &["install", name, "--yes", "--json"]);
        assert_eq!(installed.code, Some(0), "{}", installed.stderr);
        let said: Value = serde_json::from_str(&installed.stdout).unwrap();
        assert_eq!(
            (&said["changed"], &said["copy"]),
            (&Value::Bool(true), &Value::Null)
        );
        let text = std::fs::read_to_string(place.home().join(file)).unwrap();
        let settings: Value = serde_json::from_str(&text).unwrap();
        let entry = &settings[keys[0]][keys[1]];
        // Without --agent, the configuration decides.
        assert_eq!(entry["args"][0], "acp");
        assert!(!text.contains("--agent"), "{text}");
    }
    for (name, part) in [
        ("neovim", "require(\"codecompanion\")"),
        ("emacs", "agent-shell-make-agent-config"),
    ] {
        let printed = editors(&place, &["install", name]);
        assert_eq!(printed.code, Some(0), "{}", printed.stderr);
        assert!(printed.stdout.contains(part), "{}", printed.stdout);
    }
    let printed = editors(&place, &["install", "zed", "--print"]);
    assert!(
        printed.stdout.contains("\"type\": \"custom\""),
        "{}",
        printed.stdout
    );
    assert!(!zed(&place).exists());
}

#[test]
fn the_installed_command_speaks_acp() {
    let place = Place::new("");
    let installed = editors(&place, &["install", "jetbrains", "--agent", "fake", "--yes"]);
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    let text = std::fs::read_to_string(place.home().join(".jetbrains/acp.json")).unwrap();
    let settings: Value = serde_json::from_str(&text).unwrap();
    let args = settings["agent_servers"]["acpd"]["args"]
        .as_array()
        .unwrap()
        .clone();
    let args: Vec<&str> = args.iter().map(|arg| arg.as_str().unwrap()).collect();
    let ended = outcome(&mut place.command(&args));
    let _daemon = place.background();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[test]
fn unsafe_changes_leave_the_file_alone() {
    let place = Place::new("");
    for text in ["{ nonsense", "[]", "{\"agent_servers\": 1}", "{} {}"] {
        write(&zed(&place), text);
        let refused = editors(&place, &["install", "zed", "--agent", "fake", "--yes"]);
        assert_eq!(refused.code, Some(1), "{text}: {}", refused.stdout);
        assert!(
            refused.stderr.contains("nothing was written"),
            "{}",
            refused.stderr
        );
        assert_eq!(std::fs::read_to_string(zed(&place)).unwrap(), text);
    }
    // Without a terminal and without --yes, there is no one to ask.
    write(&zed(&place), SETTINGS);
    let unasked = editors(&place, &["install", "zed", "--agent", "fake"]);
    assert_eq!(unasked.code, Some(2), "{}", unasked.stderr);
    assert!(unasked.stderr.contains("--yes"), "{}", unasked.stderr);
    assert_eq!(std::fs::read_to_string(zed(&place)).unwrap(), SETTINGS);
    for (args, code, part) in [
        (
            &["install", "zedd", "--agent", "fake"][..],
            5,
            "did you mean \"zed\"?",
        ),
        (&["install", "zed", "--agent", "nope"], 5, "acpd agents list"),
        (&["install", "zed", "--json"], 2, "--yes"),
    ] {
        let refused = editors(&place, args);
        assert_eq!(refused.code, Some(code), "{args:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    place.configure("");
    let refused = editors(&place, &["install", "zed"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("--agent"), "{}", refused.stderr);
}

#[test]
fn a_linked_file_is_written_through_its_link() {
    let place = Place::new("");
    let dotfiles = place.home().join("dotfiles/zed.json");
    write(&dotfiles, SETTINGS);
    std::fs::create_dir_all(zed(&place).parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&dotfiles, zed(&place)).unwrap();
    let installed = editors(&place, &["install", "zed", "--agent", "fake", "--yes"]);
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    assert!(zed(&place).is_symlink());
    assert!(std::fs::read_to_string(&dotfiles).unwrap().contains("\"acpd\""));
}

#[test]
fn the_change_is_confirmed_on_a_terminal() {
    let place = Place::new("");
    write(&zed(&place), SETTINGS);
    for (key, code) in [("n\r", 1), ("\u{3}", 130), ("y\r", 0)] {
        let screen = Screen::start(&command(&place, &["install", "zed", "--agent", "fake"]), 200, 50);
        screen.wait_for("Write this change? [y/N]");
        assert_eq!(std::fs::read_to_string(zed(&place)).unwrap(), SETTINGS);
        screen.press(key);
        let (status, shown) = screen.finish();
        assert_eq!(status.code(), Some(code), "{shown}");
    }
    assert!(std::fs::read_to_string(zed(&place)).unwrap().contains("\"acpd\""));
}
