//! A disk that fills up while a turn runs, and has room again later: a small file system of the daemon's own. A start on a
//! full disk is in `cannot_start.rs`.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{self, Client, Daemon, Place, acpd, needs_mounts, on_small_disk, outcome, tiny_disk};

/// Starts a daemon whose data is on a small file system. Returns it with the path to its data.
fn full_disk_daemon() -> (Daemon, PathBuf) {
    needs_mounts();
    let place = Place::without_sandbox("");
    place.make_data();
    // Tests read it from outside.
    let token = place.data().join("token");
    std::fs::write(&token, "a-token-that-is-long-enough-for-a-test").expect("it can be written");
    std::fs::set_permissions(&token, Permissions::from_mode(0o600)).expect("it is the user's own");
    let wrapper = on_small_disk(&place, "24m");
    let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
    let daemon = Daemon::behind(place, &wrapper);
    let inside = PathBuf::from(format!("/proc/{}/root", daemon.pid()));
    let data = daemon.place.data();
    let data = inside.join(data.strip_prefix("/").expect("it is absolute"));
    (daemon, data)
}

/// Fills the file system.
fn fill(data: &Path) {
    let mut filler = File::create(data.join("filler")).expect("a file can be made");
    for part in [1 << 20, 4096, 512] {
        while filler.write_all(&vec![0; part]).is_ok() {}
    }
}

#[test]
fn a_full_disk_fails_the_turn_and_loses_nothing() {
    let (mut daemon, data) = full_disk_daemon();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    assert_eq!(client.turn(&thread, "say before").said(), "before");
    let turn = client.start(&thread, "permission command=ls");
    let question = client.question();
    fill(&data);
    client.respond(&question, &json!({ "decision": "accept" }));
    let failed = client.wait_for("thread/log/changed");
    let reason = failed.params["error"].as_str().expect("it says why").to_owned();
    assert!(reason.contains("full"), "{reason}");
    let read = client.call("thread/read", &json!({ "threadId": thread }));
    assert_eq!(read["thread"]["status"], "failed");
    let refused = client.refused("turn/start", &json!({ "threadId": thread, "text": "say no" }));
    assert_eq!(refused["code"], -32009, "{refused}");
    assert_eq!(refused["data"]["retryable"], true, "{refused}");

    let ready = || {
        support::ask(
            daemon.address(),
            "/readyz",
            &[("Host", &daemon.address().to_string())],
        )
    };
    let (code, why) = ready();
    assert_eq!(code, 503);
    assert!(why.contains("full"), "{why}");

    std::fs::remove_file(data.join("filler")).expect("there is a filler");
    let end = client.finish(&thread, &turn);
    assert_eq!(end.status(), "failed");
    assert!(end.error().contains("log"), "{}", end.error());
    assert_eq!(ready().0, 200);
    let after = client.turn(&thread, "say after");
    assert_eq!(after.said(), "after");
    let mut late = Client::new(&daemon);
    late.resume(&thread, 0);
    late.until(|message| message.seq() >= after.messages.last().expect("it has messages").seq());
    assert!(daemon.stop().success());
}

#[test]
fn a_backup_to_a_full_disk_leaves_nothing_behind_and_damages_nothing() {
    needs_mounts();
    let daemon = Daemon::at(Place::without_sandbox(""));
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    assert_eq!(client.turn(&thread, "say before").said(), "before");
    let place = &daemon.place;
    let target = place.home().join("backups");
    std::fs::create_dir(&target).expect("it can be made");
    let file = target.join("acpd.tar").display().to_string();
    let mut wrapper = tiny_disk(&target);
    // Lists what is left on the file system that only the command sees.
    let script = r#""$@"; code=$?; ls -A "$0" >&2; exit $code"#;
    wrapper.extend(["sh", "-c", script, &target.display().to_string()].map(str::to_owned));
    let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
    let refused = outcome(&mut place.command_behind(&wrapper, &["backup", &file]));
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    for part in ["of free space", "are free", "name a file on another disk"] {
        assert!(refused.stderr.contains(part), "{part:?}: {}", refused.stderr);
    }
    let last = refused.stderr.lines().last().unwrap_or_default();
    assert!(
        last.contains("name a file on another disk"),
        "something is left: {}",
        refused.stderr
    );
    assert_eq!(client.turn(&thread, "say after").said(), "after");
    let written = acpd(place, &["backup", &file]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
}
