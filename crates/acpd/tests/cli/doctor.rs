//! `acpd doctor`, on hosts that are empty, good and broken.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{Client, Daemon, Outcome, Place, on_terminal, outcome};

/// Returns the command without the programs and settings of the person who runs the tests.
fn doctor(place: &Place, args: &[&str]) -> Command {
    let mut command = place.command(&[&["doctor"], args].concat());
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(name);
    }
    command.env_remove("NO_COLOR");
    command.env("PATH", place.home().join("bin")).env("TZ", "UTC");
    command
}

fn json(outcome: &Outcome) -> Value {
    assert_eq!(
        outcome.stdout.lines().count(),
        1,
        "{} {}",
        outcome.stdout,
        outcome.stderr
    );
    serde_json::from_str(&outcome.stdout).expect("it is JSON")
}

/// Returns the messages of a level.
fn messages(report: &Value, level: &str) -> Vec<String> {
    let findings = report["findings"].as_array().expect("it has findings").iter();
    let wanted = findings.filter(|finding| finding["level"] == level);
    wanted
        .map(|finding| {
            format!(
                "{}: {}",
                finding["group"].as_str().unwrap(),
                finding["message"].as_str().unwrap()
            )
        })
        .collect()
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it can be set");
}

#[test]
fn an_empty_home_has_no_problem() {
    let place = Place::new("");
    std::fs::remove_file(place.config()).unwrap();
    let mut command = doctor(&place, &["--json"]);
    command.env_remove("ACPD_CONFIG").env_remove("ACPD_DATA_DIR");
    let ended = outcome(&mut command);
    let report = json(&ended);
    assert_eq!(messages(&report, "problem"), [""; 0]);
    assert_eq!(ended.code, Some(0));
    let fine = messages(&report, "ok").join("\n");
    for part in [
        "configuration: ",
        "does not exist; the defaults apply",
        "data: ",
        "the first daemon creates it",
        "daemon: it is not running",
        "addresses: 127.0.0.1:0 is free",
        "network: acpd itself needs no network",
        "service: none is installed",
        "editors: none of the editors",
    ] {
        assert!(fine.contains(part), "{part}: {fine}");
    }
    let warnings = messages(&report, "warning").join("\n");
    assert!(warnings.contains("agents: no agent is configured"), "{warnings}");
    // It looks, and makes nothing.
    let names: Vec<_> = std::fs::read_dir(place.home())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        !names
            .iter()
            .any(|name| name == ".local" || name == ".config" || name == "data"),
        "{names:?}"
    );
}

#[test]
fn a_good_host_is_found_to_be_good() {
    let daemon = Daemon::start();
    // The agent of the tests has variables.
    set_mode(&daemon.place.config(), 0o600);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say hello");
    let mut command = doctor(&daemon.place, &["--json", "--agents"]);
    command.env("PATH", std::env::var_os("PATH").unwrap());
    let ended = outcome(&mut command);
    let report = json(&ended);
    assert_eq!(messages(&report, "problem"), [""; 0]);
    assert_eq!((ended.code, &report["ok"]), (Some(0), &Value::Bool(true)));
    let fine = messages(&report, "ok").join("\n");
    for part in [
        "is correct",
        "is private and can be written",
        "the current one",
        "and is ready",
        "agents: fake answers as",
        "no other user can read",
        "times are shown in",
    ] {
        assert!(fine.contains(part), "{part}: {fine}");
    }
    let pid = format!("(process {})", daemon.pid());
    assert!(fine.contains(&pid), "{fine}");
    // No secret is printed.
    assert!(!ended.stdout.contains(&daemon.place.token()), "{}", ended.stdout);
    drop(client);
    let shown = outcome(&mut doctor(&daemon.place, &[]));
    assert!(
        shown.stdout.starts_with("Configuration\n  ok       "),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.contains("\nData directory\n"), "{}", shown.stdout);
    let quiet = outcome(&mut doctor(&daemon.place, &["-q"]));
    assert!(!quiet.stdout.contains("  ok  "), "{}", quiet.stdout);
    let mut colored = doctor(&daemon.place, &[]);
    colored
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("TERM", "xterm");
    let colored = outcome(&mut on_terminal(&colored));
    assert!(colored.stdout.contains("\u{1b}[32mok"), "{}", colored.stdout);
}

#[test]
fn everything_that_is_broken_is_found_at_once() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let place = Place::new("").with_env("ACPD_LISTEN", &address);
    place.make_data();
    std::fs::write(place.data().join("token"), "x").unwrap();
    set_mode(&place.data().join("token"), 0o644);
    // The version of a database is at its byte 60.
    let mut log = [&b"SQLite format 3\0"[..], &[0; 84]].concat();
    log[60..64].copy_from_slice(&9999u32.to_be_bytes());
    std::fs::write(place.data().join("log.db"), log).unwrap();
    place.configure("liste = 1\n");
    let unit = place.home().join(".config/systemd/user/acpd.service");
    std::fs::create_dir_all(unit.parent().unwrap()).unwrap();
    std::fs::write(&unit, "[Service]\nExecStart=/no/such/acpd serve\n").unwrap();
    let zed = place.home().join(".config/zed/settings.json");
    std::fs::create_dir_all(zed.parent().unwrap()).unwrap();
    std::fs::write(&zed, "{ nonsense").unwrap();

    let ended = outcome(&mut doctor(&place, &["--json"]));
    let report = json(&ended);
    assert_eq!((ended.code, &report["ok"]), (Some(1), &Value::Bool(false)));
    let problems = messages(&report, "problem").join("\n");
    for part in [
        "configuration: the configuration",
        "unknown key \"liste\"",
        "was made by a newer acpd: it has version 9999",
        "other users can use it (mode 0644): run chmod 600",
        &format!("cannot listen on {address}: another program listens there (cli"),
        "starts /no/such/acpd, which does not exist",
    ] {
        assert!(problems.contains(part), "{part}: {problems}");
    }
    let warnings = messages(&report, "warning").join("\n");
    assert!(
        warnings.contains("settings.json of Zed cannot be read: line 1"),
        "{warnings}"
    );
    for finding in report["findings"].as_array().unwrap() {
        assert!(
            finding["level"] == "ok" || finding["fix"].is_string(),
            "{finding}"
        );
    }

    // A configuration that is named and missing, and one that cannot be read as text, are findings too.
    std::fs::remove_file(place.config()).unwrap();
    let missing = json(&outcome(&mut doctor(&place, &["--json"])));
    assert!(
        messages(&missing, "problem")
            .join("\n")
            .contains("cannot be read"),
        "{missing}"
    );
    std::fs::write(place.config(), b"\xff\xfe").unwrap();
    let unreadable = json(&outcome(&mut doctor(&place, &["--json"])));
    assert!(
        messages(&unreadable, "problem")
            .join("\n")
            .contains("cannot be read"),
        "{unreadable}"
    );
}

#[test]
fn an_agent_that_does_not_work_is_a_problem_only_if_it_is_used() {
    let place =
        Place::new("[agents.gone]\ncommand = \"no-such-program\"\n[agents.odd]\ncommand = \"false\"\n");
    let path = std::env::var_os("PATH").unwrap();
    let report = json(&outcome(doctor(&place, &["--json"]).env("PATH", &path)));
    let problems = messages(&report, "problem").join("\n");
    assert!(problems.contains("gone cannot be started"), "{problems}");
    assert!(!problems.contains("odd"), "{problems}");
    let report = json(&outcome(
        doctor(&place, &["--json", "--agents"]).env("PATH", &path),
    ));
    let problems = messages(&report, "problem").join("\n");
    assert!(problems.contains("odd does not work"), "{problems}");
}

#[test]
fn the_agents_of_the_host_are_found_with_what_they_need() {
    let place = Place::new("");
    place.configure("");
    let bin = place.home().join("bin");
    let local = place.home().join(".local/bin");
    for (folder, name, text) in [
        (&bin, "gemini", "#!/usr/bin/env node\n"),
        (&bin, "claude", "#!/bin/sh\n"),
        (&bin, "npm", "#!/bin/sh\n"),
        (&local, "qwen", "#!/bin/sh\n"),
    ] {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join(name), text).unwrap();
        set_mode(&folder.join(name), 0o755);
    }
    let report = json(&outcome(&mut doctor(&place, &["--json"])));
    let problems = messages(&report, "problem").join("\n");
    assert!(
        problems.contains("gemini is a program for Node.js, and there is no node"),
        "{problems}"
    );
    let findings = report["findings"].as_array().unwrap();
    let fix = |part: &str| {
        let finding = findings
            .iter()
            .find(|finding| finding["message"].as_str().unwrap().contains(part));
        finding.unwrap_or_else(|| panic!("{part}: {report}"))["fix"].clone()
    };
    assert_eq!(
        fix("bin/claude is on this host"),
        "acpd agents install claude-acp"
    );
    assert!(
        fix(".local/bin/qwen")
            .as_str()
            .unwrap()
            .starts_with("acpd setup --agent qwen-code")
    );
}
