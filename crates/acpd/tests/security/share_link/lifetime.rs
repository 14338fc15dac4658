//! When a link ends, and where its secret is stored.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::RecvTimeoutError;

use serde_json::{Value, json};

use super::{NOBODY, Stage, end_of, share};
use crate::support::{Client, Daemon, Door, PATIENCE, Place, acpd};

#[test]
fn revoking_a_link_ends_its_connections_and_no_others() {
    let mut stage = Stage::new();
    let (_, second) = share(
        &mut stage.owner,
        &json!({ "threadId": stage.shared, "name": "second" }),
    );
    let mut reader = stage.reader();
    reader.resume(&stage.shared, 0);
    let mut kept = Client::with_token(&stage.daemon, &second);
    let door = Door {
        bearer: stage.bearer(),
        ..Door::of(&stage.daemon)
    };
    let (connection, _) = door.initialize();
    let stream = door.listen(&connection, None, None).unwrap();
    let listed = stage
        .owner
        .call("thread/share/list", &json!({ "threadId": stage.shared }));
    let names: Vec<_> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|share| share["name"].as_str())
        .collect();
    assert_eq!(names, [None, Some("second")]);
    assert_eq!(listed["data"][0]["createdBy"], "owner");
    assert!(!listed.to_string().contains(&stage.secret));
    assert_eq!(
        stage
            .owner
            .call("thread/share/list", &json!({ "threadId": stage.other }))["data"],
        json!([])
    );

    stage
        .owner
        .call("thread/share/revoke", &json!({ "shareId": stage.id }));
    end_of(reader);
    let ended = loop {
        if let Err(ended) = stream.incoming.recv_timeout(PATIENCE) {
            break ended;
        }
    };
    assert_eq!(ended, RecvTimeoutError::Disconnected, "the stream has ended");
    assert_eq!(stage.http("GET", "/api/session").0, 401);
    assert_eq!(
        stage
            .http("GET", &format!("/api/threads/{}/export", stage.shared))
            .0,
        401
    );
    let again = stage
        .owner
        .refused("thread/share/revoke", &json!({ "shareId": stage.id }));
    assert_eq!(again["data"]["code"], "not_found", "{again}");
    kept.call("thread/read", &json!({ "threadId": stage.shared }));
}

/// Moves the expiry of all links of a stopped daemon.
fn expire_at(place: &Place, at: i64) {
    let path = place.data().join("shares.json");
    let mut file: Value =
        serde_json::from_slice(&std::fs::read(&path).expect("there is a file")).expect("it is JSON");
    for share in file["shares"].as_array_mut().expect("it is a list") {
        share["expiresAt"] = json!(at);
    }
    std::fs::write(&path, file.to_string()).expect("it can be written");
}

fn now() -> i64 {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("the clock is right");
    i64::try_from(now.as_millis()).expect("it fits")
}

#[test]
fn links_survive_a_restart_and_expire() {
    let mut stage = Stage::new();
    stage.daemon.stop();
    stage.daemon.restart();
    stage
        .reader()
        .call("thread/read", &json!({ "threadId": stage.shared }));
    // An open connection ends when the link expires. The daemon waits for that time, and nothing is sent.
    stage.daemon.stop();
    expire_at(&stage.daemon.place, now() + 5_000);
    stage.daemon.restart();
    let reader = stage.reader();
    end_of(reader);
    assert_eq!(stage.http("GET", "/api/session").0, 401);
    let mut owner = Client::new(&stage.daemon);
    assert_eq!(owner.call("thread/share/list", &json!({}))["data"], json!([]));
    for secs in [0, 59, 31_536_001] {
        let params = json!({ "threadId": stage.shared, "expiresInSecs": secs });
        assert_eq!(
            owner.refused("thread/share/create", &params)["data"]["code"],
            "invalid_params"
        );
    }
    let params = json!({ "threadId": NOBODY });
    assert_eq!(
        owner.refused("thread/share/create", &params)["data"]["code"],
        "not_found"
    );
}

/// Stores the time that a stopped daemon knew, a few minutes after a start.
fn known_at(place: &Place, at: i64) {
    let path = place.data().join("retention.json");
    let record = json!({ "trustedAt": at, "knownAt": at, "looksLeft": 24 });
    std::fs::write(&path, record.to_string()).expect("it can be written");
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("it can be set");
}

#[test]
fn an_expired_link_stays_so_when_the_clock_is_set_back_until_the_clock_is_confirmed() {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    let mut stage = Stage::new();
    stage.daemon.stop();
    expire_at(&stage.daemon.place, now() + DAY);
    known_at(&stage.daemon.place, now() + 365 * DAY);
    stage.daemon.restart();
    assert_eq!(stage.http("GET", "/api/session").0, 401);
    // What is used now is listed first.
    let mut owner = Client::new(&stage.daemon);
    let newest = owner.thread(&stage.daemon);
    owner.turn(&newest, "say squirrel");
    let first = &owner.call("thread/list", &json!({}))["data"][0];
    assert_eq!(first["id"], json!(newest));
    assert!(first["updatedAt"].as_i64() > Some(now() + 364 * DAY), "{first}");
    // A token is created by the time that the daemon judges it by.
    let args = [
        "token",
        "create",
        "--name",
        "ann",
        "--role",
        "observer",
        "--expires",
        "1d",
    ];
    let made = acpd(&stage.daemon.place, &args);
    Client::with_token(&stage.daemon, made.stdout.trim()).call("thread/list", &json!({}));
    let done = acpd(&stage.daemon.place, &["prune", "--confirm-clock"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    stage
        .reader()
        .call("thread/read", &json!({ "threadId": stage.shared }));
}

#[test]
fn a_link_ends_with_its_thread_and_with_the_token_that_made_it() {
    let place = Place::new("");
    let made = acpd(
        &place,
        &["token", "create", "--name", "ann", "--role", "operator"],
    );
    let ann = made.stdout.trim().to_owned();
    let mut stage = Stage::at(Daemon::at(place));
    let mut operator = Client::with_token(&stage.daemon, &ann);
    let (_, of_ann) = share(&mut operator, &json!({ "threadId": stage.other }));
    let reader_of_ann = Client::with_token(&stage.daemon, &of_ann);
    let mut reader = stage.reader();
    reader.resume(&stage.shared, 0);

    let revoked = acpd(&stage.daemon.place, &["token", "revoke", "ann"]);
    assert_eq!(revoked.code, Some(0), "{}", revoked.stderr);
    end_of(reader_of_ann);
    reader.call("thread/read", &json!({ "threadId": stage.shared }));

    stage
        .owner
        .call("thread/delete", &json!({ "threadId": stage.shared }));
    let rest = std::iter::from_fn(|| reader.next_or_end());
    assert!(rest.into_iter().any(|message| message.method == "thread/deleted"));
    assert_eq!(stage.http("GET", "/api/session").0, 401);
    assert_eq!(
        stage.owner.call("thread/share/list", &json!({}))["data"],
        json!([])
    );
}

#[test]
fn a_secret_is_in_no_log_and_in_no_file() {
    let mut stage = Stage::new();
    stage
        .reader()
        .call("thread/read", &json!({ "threadId": stage.shared }));
    stage.http("GET", "/api/session");
    stage
        .owner
        .call("thread/share/revoke", &json!({ "shareId": stage.id }));
    stage.daemon.stop();
    let (_, random) = stage.secret.rsplit_once('_').unwrap();
    assert!(!stage.daemon.log().contains(random));
    for entry in std::fs::read_dir(stage.daemon.place.data()).unwrap() {
        let path = entry.unwrap().path();
        if let Ok(content) = std::fs::read(&path) {
            let found = content
                .windows(random.len())
                .any(|part| part == random.as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
}
