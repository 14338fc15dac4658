//! Kills between turns, and agents that end while no daemon is there.

use super::{Survivor, left, place, place_with, words};
use crate::support::{Incoming, exists, wait_until};

#[test]
fn the_next_prompt_goes_to_the_process_that_waited() {
    let mut one = Survivor::new();
    one.next_turn();
    let processes = one.processes();
    one.kill();
    one.next_turn();
    assert_eq!(one.processes(), processes);
    let turn = one.start("recall");
    let said = one.finish(&turn).said();
    assert!(said.contains("say back"), "the session is the same: {said}");
}

#[test]
fn an_agent_that_crashed_without_a_daemon_fails_its_turn_with_the_reason() {
    let mut one = Survivor::new();
    let turn = one.start("stream n=5; wait ms=300; crash code=7 after=3");
    one.read_deltas(1);
    let processes = one.processes();
    one.daemon.kill();
    one.daemon.place.wait_for_no_agents();
    one.come_back();
    let end = one.finish(&turn);
    assert_eq!(end.status(), "failed", "{:?}", end.end);
    assert_eq!(end.error(), "the agent exited with code 7");
    let has_stderr = |message: &Incoming| message.params.to_string().contains("about to crash");
    assert!(one.seen.values().any(|message| has_stderr(message)));
    assert_eq!(end.said(), words(5) + &words(3), "its last words are kept");
    one.replaced(&processes);
    assert!(left(&one.daemon.place).is_empty());
}

#[test]
fn an_agent_whose_daemon_does_not_come_back_ends_and_the_next_prompt_starts_another() {
    let mut one = Survivor::at(place_with("end", "[limits]\norphan_idle_secs = 1"));
    one.next_turn();
    let processes = one.processes();
    one.daemon.kill();
    one.daemon.place.wait_for_no_agents();
    wait_until("its shim is gone", || !exists(processes[0]));
    one.come_back();
    one.replaced(&processes);
    assert!(left(&one.daemon.place).is_empty());
}

#[test]
fn a_turn_whose_daemon_does_not_come_back_is_interrupted() {
    let mut one = Survivor::at(place_with("end", "[limits]\norphan_turn_secs = 1"));
    let turn = one.start("say begun; slow ms=600000");
    one.client.wait_for("item/toolCall/started");
    let processes = one.processes();
    one.daemon.kill();
    one.daemon.place.wait_for_no_agents();
    wait_until("its shim is gone", || !exists(processes[0]));
    one.come_back();
    let end = one.finish(&turn);
    assert_eq!(
        (end.status(), &*end.said()),
        ("interrupted", "begun"),
        "{:?}",
        end.end
    );
    one.replaced(&processes);
    assert!(left(&one.daemon.place).is_empty());
}

#[test]
fn a_process_that_threads_share_ends_with_the_daemon() {
    let place = place("end");
    let config = std::fs::read_to_string(place.config()).expect("it can be read");
    place.configure(&config.replace("survive = true", "survive = true\nshare = true"));
    let mut one = Survivor::at(place);
    let turn = one.start("say begun; slow ms=600000");
    one.client.wait_for("item/toolCall/started");
    one.daemon.kill();
    one.daemon.place.wait_for_no_agents();
    one.come_back();
    assert_eq!(one.finish(&turn).status(), "interrupted");
    one.next_turn();
    assert_eq!(one.daemon.stop().code(), Some(0));
    one.wait_for_nothing(&[]);
}

#[test]
fn a_turn_that_completed_without_a_daemon_is_completed() {
    let mut one = Survivor::new();
    let turn = one.start("stream n=5; wait ms=300; stream n=5; exit code=0");
    one.read_deltas(1);
    one.daemon.kill();
    one.daemon.place.wait_for_no_agents();
    one.come_back();
    let end = one.finish(&turn);
    assert_eq!(
        (end.status(), end.said()),
        ("completed", words(5) + &words(5)),
        "{:?}",
        end.end
    );
    one.next_turn();
}
