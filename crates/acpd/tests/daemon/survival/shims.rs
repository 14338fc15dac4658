//! Shims that end before their daemon, with it, or by command.

use rustix::process::Signal;

use super::{Survivor, held, left};
use crate::support::{acpd, end};

/// A turn that does not end by itself.
const ENDLESS: &str = "say begun; spawn; slow ms=600000";

#[test]
fn a_killed_shim_fails_the_turn_and_leaves_nothing() {
    let mut one = Survivor::new();
    let turn = one.start(ENDLESS);
    one.client.wait_for("item/toolCall/started");
    let processes = one.processes();
    end(processes[0], Signal::KILL);
    let ended = one.finish(&turn);
    assert_eq!(ended.status(), "failed", "{:?}", ended.end);
    assert!(ended.said().starts_with("begun"), "{}", ended.said());
    one.replaced(&processes);
}

#[test]
fn a_shim_that_was_killed_with_its_daemon_leaves_nothing() {
    let mut one = Survivor::new();
    let turn = one.start(ENDLESS);
    one.client.wait_for("item/toolCall/started");
    let processes = one.processes();
    one.daemon.kill();
    end(processes[0], Signal::KILL);
    one.come_back();
    let ended = one.finish(&turn);
    assert_eq!(ended.status(), "interrupted", "{:?}", ended.end);
    one.replaced(&processes);
}

#[test]
fn all_shims_of_a_killed_daemon_can_be_ended() {
    let mut one = Survivor::new();
    let turn = one.start(ENDLESS);
    one.client.wait_for("item/toolCall/started");
    let processes = one.processes();
    one.daemon.kill();
    let place = &one.daemon.place;
    let ended = acpd(place, &["shims", "end", "--all", "--yes"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(held(place).is_empty(), "{:?}", held(place));
    place.wait_for_no_agents();
    assert!(left(place).is_empty(), "{:?}", left(place));
    one.come_back();
    assert_eq!(one.finish(&turn).status(), "interrupted");
    one.replaced(&processes);
    assert!(left(&one.daemon.place).is_empty());
}
