//! A disk that fills up while a turn runs, and has room again later: a small file system of the daemon's own.

mod support;

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use support::{Client, Daemon, Place};

/// Runs a program where it may mount file systems that it alone sees.
const UNSHARE: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];

/// Copies the data directory `$0` to a file system of 24 MiB, which hides it from then on, and becomes the daemon.
const SMALL_DISK: &str = r#"
mkdir "$0.small" && mount -t tmpfs -o size=24m,mode=700 none "$0.small" &&
cp -a "$0/." "$0.small" && mount --bind "$0.small" "$0" && exec "$@"
"#;

/// Starts a daemon whose data is on a small file system. Returns `None` where a user cannot mount one.
fn on_small_disk() -> Option<(Daemon, PathBuf)> {
    let may_mount = Command::new(UNSHARE[0])
        .args(&UNSHARE[1..])
        .args(["mount", "-t", "tmpfs", "none", "/mnt"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !may_mount {
        println!("skipped: a user cannot mount a file system here");
        return None;
    }
    let place = Place::without_sandbox("");
    place.make_data();
    // Tests read it from outside.
    let token = place.data().join("token");
    std::fs::write(&token, "a-token-that-is-long-enough-for-a-test").expect("it can be written");
    std::fs::set_permissions(&token, Permissions::from_mode(0o600)).expect("it is the user's own");
    let data = place.data().display().to_string();
    let daemon = Daemon::behind(place, &[&UNSHARE[..], &["sh", "-c", SMALL_DISK, &data]].concat());
    let inside = PathBuf::from(format!("/proc/{}/root", daemon.pid()));
    let data = daemon.place.data();
    let data = inside.join(data.strip_prefix("/").expect("it is absolute"));
    Some((daemon, data))
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
    let Some((mut daemon, data)) = on_small_disk() else {
        return;
    };
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

    std::fs::remove_file(data.join("filler")).expect("there is a filler");
    let end = client.finish(&thread, &turn);
    assert_eq!(end.status(), "failed");
    assert!(end.error().contains("log"), "{}", end.error());
    let after = client.turn(&thread, "say after");
    assert_eq!(after.said(), "after");
    let mut late = Client::new(&daemon);
    late.resume(&thread, 0);
    late.until(|message| message.seq() >= after.messages.last().expect("it has messages").seq());
    assert!(daemon.stop().success());
}
