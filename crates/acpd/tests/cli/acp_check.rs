//! `acpd acp-check`: the agents of acpd keep the rules, and those that do not are found.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Outcome, Place, Running, acpd, built, exists, fake_agent, signal, wait_until};

fn check(place: &Place, options: &[&str], agent: &[&str]) -> Outcome {
    acpd(place, &[&["acp-check"][..], options, agent].concat())
}

fn report(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).expect("it is JSON")
}

#[test]
fn the_agents_of_acpd_violate_no_rule() {
    let place = Place::new("");
    let (fake, acpd) = (
        fake_agent().display().to_string(),
        built("acpd").display().to_string(),
    );
    let agents: [&[&str]; 4] = [
        &[&fake, "--pace", "10"],
        &[
            &fake,
            "--pace",
            "10",
            "--fork",
            "--delete",
            "--steer",
            "--sign-in",
        ],
        &[&fake, "--pace", "10", "--no-load"],
        &[&acpd, "demo-agent", "--pace", "10"],
    ];
    for agent in agents {
        for more in [&["--json"][..], &["--json", "--sign-in", "key", "--allow"]] {
            let outcome = check(&place, more, agent);
            let report = report(&outcome);
            assert_eq!(
                (outcome.code, &report["violations"]),
                (Some(0), &Value::from(0)),
                "{agent:?}: {report:#}"
            );
            // Without a sign-in, the report says what it prevented.
            let is_prevented = agent.contains(&"--sign-in") && !more.contains(&"--sign-in");
            assert_eq!(report["needsSignIn"].is_string(), is_prevented, "{report:#}");
            let rows = report["rows"].as_array().expect("a list");
            let turn = rows
                .iter()
                .find(|row| row["method"] == "session/prompt" && row["rule"] == "turn");
            let expected = if is_prevented { "notTried" } else { "ok" };
            assert_eq!(
                turn.expect("a turn is in the report")["verdict"],
                expected,
                "{report:#}"
            );
        }
    }
}

#[test]
fn violations_are_in_the_table_and_in_the_exit_code() {
    let place = Place::new("");
    let fake = fake_agent().display().to_string();
    // Each step of the prompt is one violation.
    let agent = [fake.as_str()];
    let outcome = check(
        &place,
        &["--protocol", "1", "--prompt", "orphan; garbage"],
        &agent,
    );
    assert_eq!(outcome.code, Some(1), "{}", outcome.stdout);
    let row = |method: &str, rule: &str| {
        let mut lines = outcome.stdout.lines();
        lines.any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            line.contains(method) && words.contains(&rule) && words.contains(&"VIOLATED")
        })
    };
    assert!(
        row("session/update tool_call_update", "tool-call"),
        "{}",
        outcome.stdout
    );
    assert!(row("stdout", "lines"), "{}", outcome.stdout);
    assert!(
        outcome
            .stdout
            .contains("lines: standard output has JSON-RPC messages only"),
        "{}",
        outcome.stdout
    );
    let markdown = check(&place, &["--protocol", "1", "--markdown"], &agent);
    assert!(
        markdown.stdout.starts_with("| ACP | Method |"),
        "{}",
        markdown.stdout
    );
}

#[test]
fn a_program_without_acp_is_named_and_leaves_nothing_behind() {
    let place = Place::new("");
    let missing = check(&place, &[], &["/no/such/agent"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.stderr.contains("/no/such/agent"), "{}", missing.stderr);
    assert_eq!(check(&place, &[], &[]).code, Some(2));
    // Options behind the command are the agent's, a wrong one before it is an error.
    assert_eq!(check(&place, &["--jsno"], &["true"]).code, Some(2));

    let script = place.work().join("silent");
    std::fs::write(&script, "#!/bin/sh\npwd >&2\nexit 3\n").expect("it can be written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let silent = check(&place, &["--json"], &["./silent"]);
    assert_eq!(silent.code, Some(1), "{}", silent.stdout);
    let report = report(&silent);
    let rows = report["rows"].as_array().expect("a list");
    let gone = rows
        .iter()
        .find(|row| row["rule"] == "running" && row["verdict"] == "violated")
        .expect("its end is a violation");
    let evidence = gone["evidence"].as_str().expect("text");
    // Its standard error is quoted, and has its working directory, which is gone.
    let directory = evidence
        .split_whitespace()
        .find(|word| word.starts_with('/'))
        .expect("it printed its directory");
    assert!(directory.contains("acp-check-"), "{evidence}");
    assert!(!std::path::Path::new(directory).exists(), "{directory}");
}

#[test]
fn a_signal_ends_the_agent_and_removes_its_directory() {
    let place = Place::new("");
    let script = place.work().join("deaf");
    // It ends neither with its input nor at SIGTERM.
    let text = "#!/bin/sh\ntrap '' TERM HUP\necho \"$$ $(pwd)\" > \"$1.new\"\nmv \"$1.new\" \"$1\"\nexec sleep 600\n";
    std::fs::write(&script, text).expect("it can be written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    for ending in [Signal::INT, Signal::TERM, Signal::HUP] {
        let said = place.work().join(format!("{ending:?}"));
        let words = ["acp-check", "./deaf", said.to_str().expect("a text")];
        let check = Running::start(&mut place.command(&words));
        wait_until("the agent runs", || said.exists());
        let text = std::fs::read_to_string(&said).expect("it is there");
        let (agent, directory) = text.trim_end().split_once(' ').expect("two words");
        signal(check.pid(), ending);
        let ended = check.finish();
        assert_eq!(ended.code, Some(130), "{ending:?}: {}", ended.stderr);
        let agent: u32 = agent.parse().expect("a pid");
        wait_until("the agent is gone", || !exists(agent));
        assert!(!std::path::Path::new(directory).exists(), "{directory}");
    }
}
