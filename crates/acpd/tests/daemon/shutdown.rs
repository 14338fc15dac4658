//! Shutdown: every client learns the outcome, and no process or lock stays behind.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Client, Daemon, Place, signal};

/// The daemon's maximum shutdown time, plus a margin for a slow host.
const LIMIT: Duration = Duration::from_secs(12);

#[test]
fn a_turn_in_the_middle_fails_with_the_reason_and_the_log_keeps_it() {
    let mut daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "say half; spawn; slow");
    let queued = client.start(&thread, "say never");
    client.wait_for("item/toolCall/started");
    assert_eq!(
        daemon.place.agents().len(),
        2,
        "the agent and the child that it spawned"
    );
    let began = Instant::now();
    daemon.terminate();
    let (rest, closed) = client.drain();
    assert_eq!(daemon.wait().code(), Some(0));
    assert!(began.elapsed() < LIMIT, "{:?}", began.elapsed());
    daemon.place.wait_for_no_agents();
    assert_eq!(closed.unwrap().0, 1001);
    let reasons = [
        (&turn, "acpd was restarted while this turn was running"),
        (&queued, "acpd was restarted before this was sent to the agent"),
    ];
    for (id, reason) in reasons {
        let end = rest
            .iter()
            .find(|message| message.method == "turn/completed" && message.params["turn"]["id"] == **id)
            .unwrap_or_else(|| panic!("{id} did not end: {rest:#?}"));
        assert_eq!(end.params["turn"]["status"], "interrupted");
        assert_eq!(end.params["turn"]["error"], reason);
    }

    daemon.restart();
    let mut again = Client::new(&daemon);
    let read = again.call(
        "thread/read",
        &json!({ "threadId": thread, "includeTurns": true }),
    );
    let turns = read["thread"]["turns"].as_array().unwrap();
    assert_eq!(
        (&turns[0]["status"], &turns[1]["status"]),
        (&json!("interrupted"), &json!("interrupted"))
    );
    assert_eq!(turns[0]["items"][1]["text"].as_str().unwrap()[..4], *"half");
    assert_eq!(read["thread"]["status"], "idle");
    let last = client.seen.last().unwrap().seq();
    let resumed = again.resume(&thread, last);
    assert_eq!(resumed["latestSeq"], last, "the client has heard everything");
    assert_eq!(again.turn(&thread, "say back").said(), "back");
}

#[test]
fn a_stop_without_work_is_quick_and_clean() {
    for how in [Signal::TERM, Signal::INT] {
        // A data directory below the directory for temporary files would log a warning.
        let mut daemon = Daemon::at(Place::away(""));
        let mut client = Client::new(&daemon);
        let thread = client.thread(&daemon);
        client.turn(&thread, "say done");
        let began = Instant::now();
        signal(daemon.pid(), how);
        let (rest, closed) = client.drain();
        assert_eq!(daemon.wait().code(), Some(0));
        // Less than the agent's grace period: the agent exited by itself.
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        assert_eq!(closed.unwrap().0, 1001);
        assert!(rest.iter().all(|message| message.method != "turn/completed"));
        assert!(!daemon.place.data().join("daemon.json").exists());
        assert!(
            !daemon.log().contains("ERROR") && !daemon.log().contains("WARN"),
            "{}",
            daemon.log()
        );
    }
}

#[test]
fn an_agent_that_does_not_want_to_go_is_killed() {
    let place = Place::new("");
    let config = place.agent("fake", &["--linger"], &[]);
    place.configure(&format!("{config}\n[limits]\nagent_exit_grace_secs = 1\n"));
    let mut daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.start(&thread, "spawn hold; hang");
    client.wait_for("item/agentMessage/delta");
    assert_eq!(daemon.place.agents().len(), 2);
    let began = Instant::now();
    assert_eq!(daemon.stop().code(), Some(0));
    assert!(began.elapsed() < LIMIT, "{:?}", began.elapsed());
    daemon.place.wait_for_no_agents();
}

#[test]
fn a_client_that_does_not_read_does_not_hold_the_daemon_up() {
    let mut daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let mut deaf = Client::new(&daemon);
    deaf.resume(&thread, 0);
    let turn = client.start(&thread, "flood n=50000 bytes=600; say done");
    client.finish(&thread, &turn);
    let began = Instant::now();
    assert_eq!(daemon.stop().code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    drop(deaf);
}

#[test]
fn a_terminal_ends_with_the_daemon() {
    let mut daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.start(&thread, "terminal sh -c \"sleep 600 & echo up; sleep 600\"");
    client.wait_for("item/terminalCommand/output");
    assert_eq!(daemon.stop().code(), Some(0));
    daemon.place.wait_for_no_agents();
    let (rest, _) = client.drain();
    let done = rest
        .iter()
        .find(|message| message.method == "item/terminalCommand/completed");
    assert_eq!(
        done.expect("the terminal's end is told").params["outcome"],
        "interrupted"
    );
}
