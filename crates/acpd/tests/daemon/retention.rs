//! Retention of the real daemon, on a recorded log whose threads are days old.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Outcome, Place, Recording, acpd, ask, header, wait_until};

/// Starts a daemon on the recorded log, and waits until its interrupted turn is over.
fn recorded(retention: &str) -> Daemon {
    let place = Recording::of("v2").place();
    let config = std::fs::read_to_string(place.config()).expect("it can be read");
    place.configure(&format!("{config}\n{retention}"));
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    client.call("thread/list/watch", &json!({}));
    while client.call("thread/list", &json!({ "status": "running" }))["data"] != json!([]) {
        client.wait_for("thread/list/changed");
    }
    daemon
}

/// Returns the names of all threads, with their ids.
fn threads(client: &mut Client) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for archived in [false, true] {
        let listed = client.call("thread/list", &json!({ "archived": archived, "limit": 100 }));
        for thread in listed["data"].as_array().expect("a list") {
            let text = |key: &str| thread[key].as_str().unwrap_or_default().to_owned();
            found.push((text("name"), text("id")));
        }
    }
    found.sort();
    found
}

fn names(client: &mut Client) -> Vec<String> {
    threads(client).into_iter().map(|(name, _)| name).collect()
}

fn id_of(client: &mut Client, name: &str) -> String {
    let found = threads(client).into_iter().find(|(known, _)| known == name);
    found.expect("it is recorded").1
}

fn json_of(place: &Place, args: &[&str]) -> Value {
    let done = acpd(place, args);
    assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
    serde_json::from_str(&done.stdout).expect("it prints JSON")
}

fn says(done: &Outcome, code: i32, part: &str) {
    assert_eq!(done.code, Some(code), "{}", done.stderr);
    let text = format!("{}{}", done.stdout, done.stderr);
    assert!(text.contains(part), "{part:?} is missing: {text}");
}

/// Returns the response to a request of the owner.
fn get(daemon: &Daemon, path: &str) -> (u16, String) {
    get_with(daemon, path, &[])
}

/// Returns the response to a request of the owner with more headers.
fn get_with(daemon: &Daemon, path: &str, more: &[(&str, &str)]) -> (u16, String) {
    let bearer = format!("Bearer {}", daemon.place.token());
    let host = daemon.address().to_string();
    let mut headers = vec![("Host", &*host), ("Authorization", &bearer)];
    headers.extend(more);
    ask(daemon.address(), path, &headers)
}

#[test]
fn old_threads_are_removed_and_those_in_use_stay() {
    let daemon = recorded("");
    let place = &daemon.place;
    let mut client = Client::new(&daemon);
    let all = names(&mut client);
    assert_eq!(all.len(), 9, "{all:?}");
    says(&acpd(place, &["prune", "--yes"]), 0, "nothing is ever removed");
    assert_eq!(
        json_of(place, &["prune", "--dry-run", "--json"])["configured"],
        false
    );

    let config = std::fs::read_to_string(place.config()).expect("it can be read");
    place.configure(&format!("{config}\n[retention]\nmax_age = \"1h\"\n"));
    wait_until("the limit is applied", || {
        daemon.log().contains("reloaded retention")
    });
    let followed = id_of(&mut client, "the origin of a fork");
    let mut follower = Client::new(&daemon);
    // Without the agent, which would also keep the thread.
    follower.call(
        "thread/resume",
        &json!({ "threadId": followed, "startAgent": false }),
    );
    let young = client.thread(&daemon);
    assert_eq!(client.turn(&young, "say young").said(), "young");

    let planned = json_of(place, &["prune", "--dry-run", "--json"]);
    assert_eq!(
        (&planned["threads"], &planned["kept"]),
        (&json!(7), &json!(1)),
        "{planned}"
    );
    assert_eq!(planned["dryRun"], true);
    let first = &planned["removed"][0];
    assert_eq!(
        (&first["name"], &first["limit"]),
        (&json!("many items"), &json!("maxAge"))
    );
    assert!(
        first["bytes"].as_u64().is_some_and(|bytes| bytes > 70_000),
        "{first}"
    );
    let table = acpd(place, &["prune", "-n"]);
    for part in [
        "many items",
        "max_age",
        "7 threads",
        "1 more thread exceeds a limit",
    ] {
        says(&table, 0, part);
    }
    says(&acpd(place, &["prune"]), 2, "--yes does it without asking");
    assert_eq!(names(&mut client).len(), 10, "nothing was removed");

    says(&acpd(place, &["prune", "--yes"]), 0, "removed 7 threads");
    let left = names(&mut client);
    assert_eq!(left.len(), 3, "{left:?}");
    for name in ["the origin of a fork", "in the middle of a turn"] {
        assert!(left.iter().any(|left| left == name), "{left:?}");
    }
    // The followed thread works, and is removed once no client follows it.
    assert_eq!(client.turn(&young, "say still").said(), "still");
    follower.call("thread/unsubscribe", &json!({ "threadId": followed }));
    let again = json_of(place, &["prune", "--yes", "--json"]);
    assert_eq!(
        (&again["threads"], &again["removed"][0]["threadId"]),
        (&json!(1), &json!(followed))
    );
    client.refused("thread/read", &json!({ "threadId": followed }));
    let log = daemon.log();
    let deletions = log
        .lines()
        .filter(|line| line.contains("deleted") && line.contains("by=\"owner\""));
    assert_eq!(
        deletions.filter(|line| line.contains("retention")).count(),
        8,
        "{log}"
    );
    let (_, metrics) = get(&daemon, "/metrics");
    assert!(metrics.contains("acpd_retention_threads_total 8"), "{metrics}");
}

#[test]
fn attachments_are_removed_and_their_readers_get_the_reason() {
    let daemon = recorded("[retention]\nattachments_max_age = \"1h\"\n");
    let place = &daemon.place;
    let mut client = Client::new(&daemon);
    let thread = id_of(&mut client, "many items");
    let read = |client: &mut Client| {
        client
            .call(
                "thread/read",
                &json!({ "threadId": thread, "includeTurns": true }),
            )
            .to_string()
    };
    let before = read(&mut client);
    let (_, rest) = before
        .split_once("Blob\":\"")
        .or(before.split_once("blob\":\""))
        .expect("it has a blob");
    let blob = format!("/api/blobs/{}", &rest[..64]);
    let (code, whole) = get(&daemon, &blob);
    let tag = header(&whole, "etag");
    assert_eq!((code, tag), (200, &*format!("\"{}\"", &rest[..64])));
    assert_eq!(
        header(&whole, "cache-control"),
        "private, max-age=3600, immutable"
    );
    // Only for the client that received it.
    assert!(
        header(&whole, "vary").contains("cookie"),
        "{}",
        header(&whole, "vary")
    );
    let content = whole.split_once("\r\n\r\n").expect("a head").1;
    assert_eq!(header(&whole, "content-length"), content.len().to_string());
    // The last bytes are in another part than the first ones.
    for (range, expected) in [
        ("bytes=0-9", &content[..10]),
        ("bytes=-10", &content[content.len() - 10..]),
    ] {
        let (code, part) = get_with(&daemon, &blob, &[("Range", range)]);
        let received = part.split_once("\r\n\r\n").expect("a head").1;
        assert_eq!((code, received), (206, expected), "{range}");
        assert!(header(&part, "content-range").ends_with(&format!("/{}", content.len())));
    }
    assert_eq!(get_with(&daemon, &blob, &[("Range", "bytes=99999999-")]).0, 416);
    let (code, known) = get_with(&daemon, &blob, &[("If-None-Match", tag)]);
    assert_eq!((code, known.split_once("\r\n\r\n").expect("a head").1), (304, ""));

    let done = json_of(place, &["prune", "--yes", "--json"]);
    assert_eq!(
        (&done["threads"], &done["attachments"], &done["bytes"]),
        (&json!(0), &json!(1), &json!(70_000))
    );
    let (code, answer) = get(&daemon, &blob);
    assert_eq!(code, 410, "{answer}");
    assert_eq!(get_with(&daemon, &blob, &[("If-None-Match", tag)]).0, 410);
    assert!(
        answer.contains("this attachment was removed") && answer.contains("attachments_max_age"),
        "{answer}"
    );
    let unknown = format!("/api/blobs/{}", "0".repeat(64));
    assert_eq!(get(&daemon, &unknown).0, 404);
    assert_eq!(read(&mut client), before, "the thread stays as it was");
    says(&acpd(place, &["export", &thread]), 0, "many items");
    says(&acpd(place, &["prune", "--yes"]), 0, "nothing exceeds the limits");
}
