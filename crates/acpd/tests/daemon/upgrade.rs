//! Logs that older versions wrote: what the daemon answers about them, and how it upgrades them.

use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Place, Recording, needs_mounts, on_small_disk, outcome, wait_until};

/// The form of a cursor is of one version only.
fn without_cursors(value: &mut Value) {
    if let Value::Array(pages) = value {
        for page in pages {
            for place in ["/nextCursor", "/thread/cursor"] {
                if let Some(cursor) = page.pointer_mut(place) {
                    *cursor = Value::Bool(true);
                }
            }
        }
    }
}

/// Makes equal what later versions answer on purpose otherwise, and removes cursors:
///
/// - a turn that a restart broke off is interrupted, not failed, and so are its items;
/// - a queued turn has its prompt;
/// - an answer that acpd remembers is shown with its duration;
/// - a message has the time of its start;
/// - a line of the agent that is not JSON-RPC is called invalid;
/// - a turn has its notices, and the answers to its questions, and a thread without turns has one for its notices.
fn as_of_now(value: &mut Value) {
    without_cursors(value);
    restarted(value);
}

fn restarted(value: &mut Value) {
    const BEFORE: &str = "the daemon was stopped while the turn was running";
    const NOW: &str = "acpd was restarted while this turn was running";
    match value {
        Value::Array(list) => {
            list.iter_mut().for_each(restarted);
            list.retain(|turn| turn.get("id").is_some() || turn.get("items") != Some(&json!([])));
        }
        Value::Object(members) => {
            if members.get("error").is_some_and(|error| error == BEFORE) {
                members.insert("status".to_owned(), json!("interrupted"));
            }
            if members.get("status").is_some_and(|status| status == "queued") {
                members.remove("input");
            }
            if members.get("outcome").is_some_and(|outcome| outcome == "failed") {
                members.insert("outcome".to_owned(), json!("interrupted"));
            }
            if members.contains_key("items") {
                members.retain(|name, _| name != "notices" && name != "answers");
            }
            if members.contains_key("itemId") {
                members.remove("startedAt");
            }
            // What an old thread has spent is counted after the start.
            members.remove("spent");
            members.values_mut().for_each(restarted);
        }
        // What acpd remembers is shown with its duration.
        Value::String(text) if text.contains("` Always ") => {
            *text = text
                .replace("` Always allow ", "` Allow ")
                .replace("` Always reject ", "` Reject ")
                + " for this session";
        }
        Value::String(text) if text == "It failed." => "It was interrupted.".clone_into(text),
        Value::String(text) if text.starts_with("**Turn ") => *text = text.replace(" failed", " interrupted"),
        Value::String(text) => {
            *text = text
                .replace(BEFORE, NOW)
                .replace("wrote a line that is no message", "wrote an invalid line");
        }
        _ => {}
    }
}

/// Makes equal what versions of the program after that of version 1 answer on purpose otherwise:
///
/// - threads have the status of their last turn;
/// - a queued turn is started by the client that queued it, and not by the daemon;
/// - questions have their parts (`subjects`) instead of a command, and exports name the agent's words and the kinds of its
///   options as such.
fn without_later_changes(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(without_later_changes),
        Value::Object(members) => {
            let is_question = members.contains_key("requestId");
            let kind = members.get("type").and_then(Value::as_str).unwrap_or_default();
            let is_start = kind == "turn:start" || kind.starts_with("prompt:");
            members.retain(|name, _| match name.as_str() {
                "lastTurnStatus" | "subjects" => false,
                "command" => !is_question,
                "by" => !is_start,
                _ => true,
            });
            members.values_mut().for_each(without_later_changes);
        }
        Value::String(line) if line.contains("Permission asked for") || line.contains("allow_") => {
            line.clear()
        }
        Value::String(line) if line.contains("reject_") => line.clear(),
        _ => {}
    }
}

fn check(version: &str, adapt: impl Fn(&mut Value)) {
    let recording = Recording::of(version);
    let daemon = Daemon::at(recording.place());
    recording.check(&daemon, |answer| {
        as_of_now(answer);
        adapt(answer);
    });
    check_end(daemon, version);
}

/// Waits until the upgrade is complete, and starts the daemon again.
fn check_end(mut daemon: Daemon, version: &str) {
    let copy = copy_of(&daemon.place, version);
    let part = copy_of(&daemon.place, &format!("{version}.part"));
    wait_until("the copy is removed", || !copy.exists() && !part.exists());
    assert!(daemon.stop().success());
    daemon.restart();
    Client::new(&daemon);
}

#[test]
fn a_log_of_version_2_has_the_same_answers() {
    check("v2", |_| {});
}

#[test]
fn a_log_of_version_1_has_the_same_answers() {
    check("v1", without_later_changes);
}

/// Returns the id of the thread with this name.
fn named(client: &mut Client, name: &str) -> String {
    let found = client.call("thread/list", &json!({ "searchTerm": name }));
    found["data"][0]["id"].as_str().expect("it is listed").to_owned()
}

/// Returns the turns of a thread.
/// Returns the turns of a thread, without notices: the end of an agent is one.
fn turns(client: &mut Client, thread: &str) -> Value {
    let mut read = client.call(
        "thread/read",
        &json!({ "threadId": thread, "includeTurns": true }),
    );
    restarted(&mut read);
    read["thread"]["turns"].take()
}

#[test]
fn threads_of_an_older_log_are_continued_forked_and_deleted() {
    let mut daemon = Daemon::at(Recording::of("v2").place());
    let mut client = Client::new(&daemon);
    let (origin, fork) = (
        named(&mut client, "the origin of a fork"),
        named(&mut client, "the fork"),
    );
    let before = turns(&mut client, &origin);
    let last = before[1]["id"].clone();
    let forked = client.call(
        "thread/fork",
        &json!({ "threadId": origin, "turnId": last, "name": "new" }),
    );
    let new = forked["thread"]["id"].as_str().expect("it has an id").to_owned();
    client.resume(&origin, 0);
    assert_eq!(
        client.turn(&origin, "say 'after the upgrade'").said(),
        "after the upgrade"
    );
    assert_eq!(
        client.turn(&new, "say 'in the new fork'").said(),
        "in the new fork"
    );
    let shared = turns(&mut client, &new);
    assert_eq!(shared[0]["items"], before[0]["items"]);
    let of_old_fork = turns(&mut client, &fork);

    client.call("thread/delete", &json!({ "threadId": origin }));
    let found = client.call("thread/search", &json!({ "query": "\"only in the origin\"" }));
    let of_origin = |hit: &Value| hit["threadId"] == origin.as_str();
    assert!(
        !found["data"].as_array().expect("a list").iter().any(of_origin),
        "{found}"
    );
    assert!(daemon.stop().success());
    daemon.restart();
    let mut client = Client::new(&daemon);
    assert_eq!(turns(&mut client, &new), shared);
    assert_eq!(turns(&mut client, &fork), of_old_fork);
    client.refused("thread/read", &json!({ "threadId": origin }));
}

/// Returns the path of the copy of the log before its upgrade.
fn copy_of(place: &Place, version: &str) -> std::path::PathBuf {
    place.data().join(format!("log.db.{version}"))
}

/// Starts a daemon without waiting for it.
fn begin(place: &Place) -> Child {
    let mut command = place.command(&["serve"]);
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("acpd starts")
}

/// Returns whether the daemon of a data directory has reached a step.
type Reached = fn(&Path) -> bool;

/// Returns whether the upgrade is in the database. It is in the write-ahead log first, which each start empties.
fn is_upgraded(log: &Path) -> bool {
    // The header has the version in these bytes.
    std::fs::read(log).is_ok_and(|content| content.get(60..64).is_some_and(|number| number != [0, 0, 0, 2]))
}

#[test]
fn a_kill_at_any_step_of_an_upgrade_loses_nothing() {
    let recording = Recording::of("v2");
    let steps: [(&str, Reached); 4] = [
        ("a copy has begun", |data| {
            data.join("log.db.v2.part").exists() || data.join("log.db.v2").exists()
        }),
        ("the copy is complete", |data| data.join("log.db.v2").exists()),
        ("the database is upgraded", |data| {
            is_upgraded(&data.join("log.db"))
        }),
        ("it listens", |data| data.join("acpd.sock").exists()),
    ];
    for rounds in [1, 3] {
        for (step, is_reached) in steps {
            let place = recording.place();
            for _ in 0..rounds {
                let mut child = begin(&place);
                wait_until(step, || {
                    is_reached(&place.data()) || child.try_wait().expect("it can be waited for").is_some()
                });
                child.kill().expect("it is our own");
                child.wait().expect("it can be waited for");
            }
            place.wait_for_no_agents();
            let daemon = Daemon::at(place);
            recording.check_after_kills(&daemon, as_of_now);
            check_end(daemon, "v2");
        }
    }
}

#[test]
fn a_daemon_without_space_for_an_upgrade_does_not_start() {
    needs_mounts();
    let recording = Recording::of("v2");
    let place = recording.place();
    let wrapper = on_small_disk(&place, "1m");
    let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
    let refused = outcome(&mut place.command_behind(&wrapper, &["serve"]));
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let data = place.data().display().to_string();
    for expected in ["must be upgraded", &data, "of free space", "nothing was changed"] {
        assert!(
            refused.stderr.contains(expected),
            "{expected}: {}",
            refused.stderr
        );
    }
    let daemon = Daemon::at(place);
    recording.check(&daemon, as_of_now);
    check_end(daemon, "v2");
}
