//! Backups of the real daemon, and data directories that are made of them.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{self, Client, Daemon, Outcome, Place, acpd, outcome, wait_until};

/// Returns the names in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let entries = directory.read_dir().expect("it can be listed");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("it can be listed")
                .file_name()
                .into_string()
                .expect("it is text")
        })
        .collect();
    names.sort();
    names
}

/// Runs a command that must succeed.
fn succeeds(place: &Place, args: &[&str]) -> Outcome {
    let outcome = acpd(place, args);
    assert_eq!(outcome.code, Some(0), "{args:?}: {}", outcome.stderr);
    outcome
}

/// Runs a command that must fail with code 1 and these parts of the message.
fn fails(place: &Place, args: &[&str], parts: &[&str]) {
    let outcome = acpd(place, args);
    assert_eq!(outcome.code, Some(1), "{args:?}: {}", outcome.stderr);
    for part in parts {
        assert!(outcome.stderr.contains(part), "{part:?}: {}", outcome.stderr);
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("it is text")
}

/// Returns all events of a thread, as `acpd export` prints them.
fn events(place: &Place, thread: &str) -> Vec<String> {
    let lines = succeeds(place, &["export", thread]).stdout;
    lines.lines().map(str::to_owned).collect()
}

fn turns(client: &mut Client, thread: &str) -> Value {
    client.call(
        "thread/read",
        &json!({ "threadId": thread, "includeTurns": true }),
    )["thread"]["turns"]
        .take()
}

#[test]
fn a_backup_during_a_turn_becomes_a_data_directory_with_the_same_threads() {
    let mut daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let done = client.thread(&daemon);
    client.turn(&done, "say 'it is in the backup'");
    let busy = client.thread(&daemon);
    let turn = client.start(&busy, "say before; permission; say 'after the question'");
    let question = client.question();

    let file = daemon.place.home().join("acpd.tar");
    let said = succeeds(&daemon.place, &["backup", "--json", text(&file)]).stdout;
    let said: Value = serde_json::from_str(&said).expect("it is JSON");
    assert_eq!((&said["threads"], &said["secrets"]), (&json!(2), &json!(false)));
    let bytes = file.metadata().expect("it exists").len();
    assert_eq!(said["bytes"], bytes);
    assert_eq!(
        file.metadata().expect("it exists").permissions().mode() & 0o777,
        0o600
    );
    let content = std::fs::read(&file).expect("it can be read");
    let token = daemon.place.token();
    assert!(
        !content
            .windows(token.trim().len())
            .any(|part| part == token.trim().as_bytes())
    );

    // The turn goes on, and is not in the backup.
    client.respond(&question, &json!({ "decision": "accept" }));
    assert!(client.finish(&busy, &turn).said().contains("after the question"));
    let before = turns(&mut client, &done);
    let exported = events(&daemon.place, &done);

    fails(
        &daemon.place,
        &["restore", "--force", text(&file)],
        &["a daemon uses", "acpd stop"],
    );
    assert!(daemon.stop().success());
    let restored = daemon.place.home().join("elsewhere/acpd");
    succeeds(
        &daemon.place,
        &["restore", "--data-dir", text(&restored), text(&file)],
    );
    assert_eq!(names(&restored), ["log.db"]);
    assert_eq!(
        restored.metadata().expect("it exists").permissions().mode() & 0o777,
        0o700
    );
    assert_eq!(names(restored.parent().expect("it has one")), ["acpd"]);

    std::fs::rename(daemon.place.data(), daemon.place.home().join("before")).expect("it can be moved");
    std::fs::rename(&restored, daemon.place.data()).expect("it can be moved");
    daemon.restart();
    let mut client = Client::new(&daemon);
    assert_eq!(turns(&mut client, &done), before);
    assert_eq!(events(&daemon.place, &done), exported);
    wait_until("the turn of the backup is interrupted", || {
        turns(&mut client, &busy)[0]["status"] == "interrupted"
    });
    assert_ne!(daemon.place.token(), token);
    client.resume(&busy, 0);
    assert_eq!(client.turn(&busy, "say again").said(), "again");
}

#[test]
fn a_backup_of_a_killed_daemon_has_its_last_events_and_its_secrets_if_wanted() {
    let mut daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say 'only in the write-ahead log'");
    let exported = events(&daemon.place, &thread);
    daemon.kill();
    let place = &daemon.place;
    place.wait_for_no_agents();
    let file = place.home().join("acpd.tar");
    let path = text(&file);
    succeeds(place, &["backup", "--with-secrets", path]);
    fails(place, &["backup", path], &["exists", "--force"]);
    fails(place, &["backup", text(place.home())], &["is a directory"]);
    fails(
        place,
        &["backup", "/no/such/directory/acpd.tar"],
        &["does not exist"],
    );
    succeeds(place, &["backup", "--force", "--with-secrets", path]);
    assert!(!names(place.home()).iter().any(|name| name.contains(".part")));

    fails(place, &["restore", path], &["is not empty", "--force"]);
    let token = place.token();
    std::fs::write(place.data().join("agents-and-more"), "").expect("it can be written");
    let before = names(&place.data());
    succeeds(place, &["restore", "--force", path]);
    assert_eq!(names(&place.data()), ["log.db", "token"]);
    assert_eq!(names(&place.home().join("data.before-restore-1")), before);
    assert_eq!(place.token(), token);
    daemon.restart();
    let again = events(&daemon.place, &thread);
    assert_eq!(again, exported);
}

#[test]
fn a_refused_backup_leaves_nothing_behind() {
    let mut daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say hello");
    drop(client);
    assert!(daemon.stop().success());
    let place = &daemon.place;
    let file = place.home().join("acpd.tar");
    succeeds(place, &["backup", text(&file)]);
    let whole = std::fs::read(&file).expect("it can be read");
    let into = place.home().join("into");
    let restore = ["restore", "--data-dir", text(&into), text(&file)];

    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x40;
    std::fs::write(&file, &damaged).expect("it can be written");
    fails(place, &restore, &[text(&file), "was not restored", "is damaged"]);
    std::fs::write(&file, &whole[..middle]).expect("it can be written");
    fails(place, &restore, &["was not restored"]);
    let mut newer = whole.clone();
    let at = whole
        .windows(11)
        .position(|part| part == b"\"format\":1,")
        .expect("it has one");
    newer[at + 9] = b'2';
    std::fs::write(&file, &newer).expect("it can be written");
    fails(place, &restore, &["was made by a newer acpd", "format 2"]);
    assert!(!into.exists());
    assert!(!names(place.home()).iter().any(|name| name.contains(".part")));

    std::fs::write(&file, &whole).expect("it can be written");
    std::fs::create_dir(&into).expect("it can be made");
    std::fs::write(into.join("mine"), "").expect("it can be written");
    let forced = ["restore", "--force", "--data-dir", text(&into), text(&file)];
    fails(place, &forced, &["nor a data directory of acpd"]);
    assert_eq!(names(&into), ["mine"]);
    fails(
        place,
        &["backup", "--data-dir", text(&into), "x.tar"],
        &["nothing to back up"],
    );
}

#[test]
fn an_interrupted_backup_leaves_nothing_behind() {
    let daemon = Daemon::start();
    Client::new(&daemon).thread(&daemon);
    let place = &daemon.place;
    let part = place.home().join(".acpd.tar.part");
    let file = place.home().join("acpd.tar");
    let mut command = place.command(&["backup", text(&file)]);
    let mut child = command
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("acpd starts");
    wait_until("it has begun or ended", || {
        part.exists() || child.try_wait().expect("it can be waited for").is_some()
    });
    support::signal(child.id(), rustix::process::Signal::INT);
    child.wait().expect("it can be waited for");
    assert!(!part.exists());
    // Either whole or not there.
    if file.exists() {
        let into = place.home().join("into");
        succeeds(place, &["restore", "--data-dir", text(&into), text(&file)]);
    }
}

#[test]
fn a_log_of_a_newer_acpd_is_refused_and_left_alone() {
    let mut daemon = Daemon::start();
    Client::new(&daemon).thread(&daemon);
    assert!(daemon.stop().success());
    let log = daemon.place.data().join("log.db");
    let mut content = std::fs::read(&log).expect("it can be read");
    // The header has the version in these bytes.
    content[60..64].copy_from_slice(&999_u32.to_be_bytes());
    std::fs::write(&log, &content).expect("it can be written");
    let before = names(&daemon.place.data());
    let refused = outcome(&mut daemon.place.command(&["serve"]));
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    for part in ["newer acpd", "version 999", "nothing was changed", text(&log)] {
        assert!(refused.stderr.contains(part), "{part:?}: {}", refused.stderr);
    }
    assert_eq!(std::fs::read(&log).expect("it can be read"), content);
    assert_eq!(names(&daemon.place.data()), before);
    // So do a command that would start the daemon, and a backup.
    let refused = acpd(&daemon.place, &["threads"]);
    assert_eq!(refused.code, Some(6), "{}", refused.stderr);
    assert!(refused.stderr.contains("newer acpd"), "{}", refused.stderr);
    let file = daemon.place.home().join("acpd.tar");
    fails(
        &daemon.place,
        &["backup", text(&file)],
        &["newer acpd", "version 999"],
    );
    assert!(!file.exists());
    assert_eq!(std::fs::read(&log).expect("it can be read"), content);
}
