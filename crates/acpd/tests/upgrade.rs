//! Logs that older versions wrote: what the daemon answers about them, and how it upgrades them.

mod support;

use serde_json::{Value, json};
use support::{Client, Daemon, Recording};

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
    let mut daemon = Daemon::at(recording.place());
    recording.check(&daemon, |answer| {
        without_cursors(answer);
        adapt(answer);
    });
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
fn turns(client: &mut Client, thread: &str) -> Value {
    let read = client.call(
        "thread/read",
        &json!({ "threadId": thread, "includeTurns": true }),
    );
    read["thread"]["turns"].clone()
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
