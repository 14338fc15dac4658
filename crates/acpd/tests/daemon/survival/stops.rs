//! Stops: SIGTERM as `on_stop` says, SIGINT, and `acpd restart`.

use rustix::process::Signal;

use super::{Survivor, held, left, place, rows, words};
use crate::support::{Running, acpd, signal};

#[test]
fn a_stop_that_leaves_turns_lets_the_next_daemon_complete_them() {
    let mut one = Survivor::stopping("leave");
    let turn = one.start("stream n=300 ms=4");
    one.read_deltas(20);
    let processes = one.processes();
    assert_eq!(one.daemon.stop().code(), Some(0));
    assert_eq!(one.processes(), processes);
    assert_eq!(held(&one.daemon.place)[0]["state"], "waiting");
    one.come_back();
    let end = one.finish(&turn);
    assert_eq!(
        (end.status(), end.said()),
        ("completed", words(300)),
        "{:?}",
        end.end
    );
    one.next_turn();
    assert_eq!(one.processes(), processes);
}

#[test]
fn a_stop_that_ends_turns_leaves_nothing() {
    let mut one = Survivor::stopping("end");
    let turn = one.start("say begun; slow ms=600000");
    one.client.wait_for("item/toolCall/started");
    let processes = one.processes();
    assert_eq!(one.daemon.stop().code(), Some(0));
    one.wait_for_nothing(&processes);
    one.come_back();
    let end = one.finish(&turn);
    assert_eq!(
        (end.status(), &*end.said()),
        ("interrupted", "begun"),
        "{:?}",
        end.end
    );
    one.next_turn();
}

#[test]
fn a_stop_that_waits_for_turns_lets_them_complete_and_leaves_nothing() {
    let mut one = Survivor::stopping("drain");
    let turn = one.start("stream n=100 ms=4");
    one.read_deltas(10);
    let processes = one.processes();
    assert_eq!(one.daemon.stop().code(), Some(0));
    one.wait_for_nothing(&processes);
    one.come_back();
    let end = one.finish(&turn);
    assert_eq!(
        (end.status(), end.said()),
        ("completed", words(100)),
        "{:?}",
        end.end
    );
}

#[test]
fn an_interrupt_from_the_keyboard_ends_turns_whatever_is_configured() {
    let mut one = Survivor::stopping("leave");
    let turn = one.start("say begun; slow ms=600000");
    one.client.wait_for("item/toolCall/started");
    let processes = one.processes();
    signal(one.daemon.pid(), Signal::INT);
    assert_eq!(one.daemon.wait().code(), Some(0));
    one.wait_for_nothing(&processes);
    one.come_back();
    assert_eq!(one.finish(&turn).status(), "interrupted");
}

#[test]
fn agents_between_turns_end_with_a_stop_that_ends_turns() {
    let mut one = Survivor::stopping("end");
    one.next_turn();
    let processes = one.processes();
    one.kill();
    assert_eq!(one.processes(), processes);
    assert_eq!(one.daemon.stop().code(), Some(0));
    one.wait_for_nothing(&processes);
}

#[test]
fn a_restart_by_the_command_line_changes_nothing_of_a_turn() {
    let place = place("leave");
    let listed = acpd(&place, &["threads"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let first = place.background();
    let run = Running::start(&mut place.command(&["run", "--agent", "fake", "stream n=1500 ms=4"]));
    run.wait_for_output(" word 20");
    let before = held(&place);
    let restarted = acpd(&place, &["restart"]);
    let _second = place.background();
    assert_eq!(restarted.code, Some(0), "{}", restarted.stderr);
    assert!(
        restarted
            .stderr
            .contains("1 thread at work continues with the next daemon"),
        "{}",
        restarted.stderr
    );
    assert_ne!(place.noticed_pid(), first.as_ref().map(|first| first.0));
    assert_eq!(held(&place)[0]["pid"], before[0]["pid"]);
    let run = run.finish();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.stdout, format!("{}\n", words(1500)));
    let stopped = acpd(&place, &["shims", "end", "--all", "--yes"]);
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    assert_eq!(acpd(&place, &["stop"]).code, Some(0));
    assert!(left(&place).is_empty(), "{:?}", left(&place));
    assert_eq!(rows(&place), 0);
}
