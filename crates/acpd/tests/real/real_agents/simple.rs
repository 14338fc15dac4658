//! Agents that require no model.

use serde_json::Value;

use super::agents::{installed, skipped};
use super::root;
use crate::support::{Daemon, Outcome, Place, acpd, not_tested};

/// Starts a daemon with one agent.
fn daemon(agent: &str) -> Daemon {
    let place = Place::new("");
    place.configure(agent);
    Daemon::at(place)
}

/// Starts a daemon with the example agent of the official TypeScript SDK.
fn sdk_example() -> Daemon {
    let script = root().join("tests/node/node_modules/acp-sdk-1/dist/examples/agent.js");
    assert!(
        script.is_file(),
        "{} is missing: install it with npm ci --prefix tests/node, as make test does",
        script.display()
    );
    let script = script.display().to_string();
    daemon(&format!(
        "[agents.sdk]\ncommand = \"node\"\nargs = [{script:?}]\n"
    ))
}

/// Starts a daemon with an agent of both versions of ACP, on the newest of these SDKs. `more` are further settings of it.
fn dual_agent(more: &str) -> Daemon {
    let root = root().canonicalize().expect("the project's directory has a path");
    let packages = root.join("tests/node");
    assert!(
        packages.join("node_modules/@agentclientprotocol/sdk").is_dir(),
        "the SDK is missing: install it with npm ci --prefix tests/node, as make test does"
    );
    let script = root.join("tests/interop/dual-agent.mjs").display().to_string();
    let packages = packages.display().to_string();
    daemon(&format!(
        "[agents.dual]\ncommand = \"node\"\nargs = [{script:?}]\nsandbox = {{ read = [{packages:?}] }}\n{more}"
    ))
}

fn lines(run: &Outcome) -> Vec<Value> {
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

fn of<'a>(lines: &'a [Value], method: &str) -> Vec<&'a Value> {
    let found = lines.iter().filter(|line| line["method"] == method);
    found.map(|line| &line["params"]).collect()
}

#[test]
fn the_sdk_example_works_and_is_allowed_to_edit() {
    let daemon = sdk_example();
    let run = acpd(
        &daemon.place,
        &["run", "--json", "--permissions", "allow", "Change it."],
    );
    assert_eq!(run.code, Some(0), "{} {}", run.stdout, run.stderr);
    let lines = lines(&run);
    let titles: Vec<_> = of(&lines, "item/toolCall/started")
        .iter()
        .map(|tool| &tool["title"])
        .collect();
    assert_eq!(
        titles,
        ["Reading project files", "Modifying critical configuration file"]
    );
    let ends: Vec<_> = of(&lines, "item/toolCall/completed")
        .iter()
        .map(|tool| &tool["status"])
        .collect();
    assert_eq!(ends, ["completed", "completed"]);
    let [question] = of(&lines, "item/fileChange/requestApproval")[..] else {
        panic!("{}", run.stdout);
    };
    assert_eq!(question["subjects"][0]["path"], "/home/user/project/config.json");
    assert_eq!(of(&lines, "serverRequest/resolved")[0]["optionId"], "allow");
    let messages: Vec<_> = of(&lines, "item/completed")
        .into_iter()
        .filter(|item| item["type"] == "agentMessage")
        .collect();
    assert_eq!(messages.len(), 3, "{messages:#?}");
    assert!(
        messages[2]["text"]
            .as_str()
            .unwrap()
            .contains("successfully updated"),
        "{messages:#?}"
    );
    let end = of(&lines, "turn/completed")[0];
    assert_eq!(
        (&end["turn"]["status"], &end["turn"]["stopReason"]),
        (&"completed".into(), &"end_turn".into())
    );
}

#[test]
fn the_sdk_example_hears_a_refusal() {
    let daemon = sdk_example();
    let run = acpd(&daemon.place, &["run", "--permissions", "deny", "Change it."]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.starts_with("I'll help you with that."),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("I'll skip the configuration update"),
        "{}",
        run.stdout
    );
    assert!(
        run.stderr
            .contains("● Modifying critical configuration file (edit)"),
        "{}",
        run.stderr
    );
    let shown = acpd(&daemon.place, &["threads"]);
    assert!(
        shown.stdout.trim_end().ends_with("Change it."),
        "{}",
        shown.stdout
    );
}

#[test]
fn an_agent_of_both_versions_speaks_the_configured_one() {
    for (more, version) in [
        ("", 1),
        ("acp = \"auto\"\n", 1),
        ("acp = 1\n", 1),
        ("acp = 2\n", 2),
    ] {
        let daemon = dual_agent(more);
        let run = acpd(&daemon.place, &["run", "Hello."]);
        assert_eq!(
            (run.code, run.stdout.trim_end()),
            (Some(0), format!("Hello from version {version}.").as_str()),
            "{more}: {}",
            run.stderr
        );
    }
}

#[test]
#[ignore = "make test-agents"]
fn fast_agent_repeats_its_prompt() {
    if let Some(reason) = skipped("fast") {
        not_tested(&format!("fast-agent-mcp cannot be installed: {reason}"));
    }
    let program = installed().join("fast/venv/bin/fast-agent");
    assert!(
        program.is_file(),
        "{} is missing: make test-agents installs it",
        program.display()
    );
    let place = Place::new("");
    let (program, home) = (program.display().to_string(), place.work().display().to_string());
    place.configure(&format!(
        "[agents.fast]\ncommand = {program:?}\nargs = [\"acp\", \"--model\", \"passthrough\"]\nenv = {{ HOME = {home:?} }}\n"
    ));
    let daemon = Daemon::at(place);
    let run = acpd(&daemon.place, &["run", "Every word comes back."]);
    assert_eq!(
        (run.code, run.stdout.trim_end()),
        (Some(0), "Every word comes back."),
        "{}",
        run.stderr
    );
    let thread = run
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("thread "))
        .expect("the thread is told");
    let again = acpd(
        &daemon.place,
        &["run", "--thread", thread, "--json", "Once more."],
    );
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let lines = lines(&again);
    let said: String = of(&lines, "item/agentMessage/delta")
        .iter()
        .filter_map(|delta| delta["text"].as_str())
        .collect();
    assert_eq!(said.trim_end(), "Once more.");
    let shown = acpd(&daemon.place, &["show", thread]);
    assert!(
        shown.stdout.contains("turn_2 completed: end_turn"),
        "{}",
        shown.stdout
    );
}
