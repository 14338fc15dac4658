//! `acpd run` while its connection is lost, and while the daemon is replaced.

use std::process::Command;

use serde_json::json;

use crate::support::{Client, Daemon, Place, Running, Wire, fake_agent, on_terminal, wait_until, wired};

/// Returns a command that reaches the daemon over a wire.
fn far(daemon: &Daemon, wire: &Wire, args: &[&str]) -> Command {
    let mut command = daemon.place.command(args);
    command
        .env("ACPD_CONNECT", wire.url())
        .env("ACPD_TOKEN", daemon.place.token().trim());
    command
}

#[test]
fn the_answer_continues_where_the_connection_was_lost() {
    let (daemon, wire) = wired();
    let cwd = daemon.place.work().display().to_string();
    let args = ["run", "--agent", "fake", "--cwd", &cwd, "stream n=300 ms=10"];
    let run = Running::start(&mut far(&daemon, &wire, &args));
    for (times, part) in [(1, " word 20"), (2, " word 60")] {
        run.wait_for_output(part);
        wire.cut();
        wait_until("it is noticed", || {
            run.errors().matches("; reconnecting").count() == times
        });
        wire.mend();
        wait_until("it is back", || {
            run.errors().matches("acpd: reconnected").count() == times
        });
    }
    let run = run.finish();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let expected: String = (1..=300).map(|number| format!(" word {number}")).collect();
    assert_eq!(run.stdout, format!("{expected}\n"));
    assert!(
        run.stderr.contains("acpd: reconnected to the daemon\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_turn_that_ended_with_its_daemon_is_reported_by_the_next_one() {
    let mut daemon = Daemon::start();
    let run = Running::start(&mut daemon.place.command(&["run", "say begun; slow ms=600000"]));
    run.wait_for_output("begun");
    daemon.kill();
    run.wait_for_error("reconnecting");
    daemon.restart();
    let run = run.finish();
    assert_eq!(
        (run.code, &run.stdout[..]),
        (Some(130), "begun\n"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("acpd was restarted"), "{}", run.stderr);
}

/// The agent starts once the test wants it, and the response to the request comes after that.
#[test]
fn a_prompt_whose_response_is_lost_is_carried_out_once() {
    let (place, wire) = (Place::new(""), Wire::new());
    let agent = fake_agent().display().to_string();
    place.configure(&format!(
        "[agents.slow]\ncommand = \"sh\"\nargs = [\"-c\", \"until [ -e go ]; do sleep 0.02; done; exec {agent}\"]\nstart_in = \"workspace\"\n[sandbox]\nread = [\"{agent}\"]\n{}",
        wire.config()
    ));
    let daemon = Daemon::at(place);
    wire.lead_to(daemon.address());
    let cwd = daemon.place.work();
    let args = [
        "run",
        "--agent",
        "slow",
        "--cwd",
        &cwd.display().to_string(),
        "say once",
    ];
    let run = Running::start(&mut far(&daemon, &wire, &args));
    run.wait_for_error("thread ");
    wire.cut();
    run.wait_for_error("reconnecting");
    wire.mend();
    run.wait_for_error("reconnected");
    std::fs::write(cwd.join("go"), "").expect("the directory is there");
    let run = run.finish();
    assert_eq!((run.code, &run.stdout[..]), (Some(0), "once\n"), "{}", run.stderr);
    let mut client = Client::new(&daemon);
    let listed = client.call("thread/list", &json!({}));
    let threads = listed["data"].as_array().expect("a list");
    assert_eq!(threads.len(), 1, "{listed}");
    let params = json!({ "threadId": threads[0]["id"], "includeTurns": true });
    let read = client.call("thread/read", &params);
    assert_eq!(
        read["thread"]["turns"].as_array().map(Vec::len),
        Some(1),
        "{read}"
    );
}

#[test]
fn a_question_is_answered_over_the_next_connection() {
    let (daemon, wire) = wired();
    let cwd = daemon.place.work().display().to_string();
    let command = far(
        &daemon,
        &wire,
        &["run", "--agent", "fake", "--cwd", &cwd, "permission; say done"],
    );
    let mut run = Running::start(&mut on_terminal(&command));
    run.wait_for_output("Your choice [1-4]: ");
    wire.cut();
    run.wait_for_output("reconnecting");
    // The user does not wait.
    run.write("1\n");
    wire.mend();
    let run = run.finish();
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    assert!(
        run.stdout.contains("allowed") && run.stdout.contains("done"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("not accepted"), "{}", run.stdout);
}
