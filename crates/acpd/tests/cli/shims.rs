//! `acpd shims`, with and without a daemon. The shims hold shells, which stand for agents.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Child;

use acpd_shim::{Attached, Pipes, Start, Starting, StreamKind, Token};
use serde_json::Value;

use crate::support::{Daemon, Outcome, PATIENCE, Place, acpd, wait_until};

const TOKEN: Token = Token(7);

fn done(place: &Place, args: &[&str]) -> Outcome {
    let ended = acpd(place, args);
    assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.stderr);
    ended
}

/// A shim of the place, and the daemon's end of it.
struct Shim {
    attached: Option<Attached<Pipes>>,
    child: Child,
}

impl Drop for Shim {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a shim that holds a shell with this script.
fn shim(place: &Place, name: &str, script: &str) -> Shim {
    let directory = place.data().join("shims");
    if !directory.exists() {
        use std::os::unix::fs::DirBuilderExt;
        let mut private = std::fs::DirBuilder::new();
        private
            .mode(0o700)
            .recursive(true)
            .create(&directory)
            .expect("it can be made");
    }
    let binary = place.home().join("acpd-shim");
    acpd_shim_binary::install(&binary).expect("it can be written");
    let start = Start {
        arguments: ["-c", script].map(OsString::from).into(),
        environment: vec![("PATH".into(), std::env::var_os("PATH").expect("it is set"))],
        orphan_secs: 600,
        ..Start::new(TOKEN, "sh", StreamKind::Pipes { ring: 4096 })
    };
    let (starting, child) =
        Starting::spawn(&binary, &directory, OsStr::new(name), &start, None).expect("it starts");
    Shim {
        attached: Some(starting.welcomed(PATIENCE).expect("it answers")),
        child,
    }
}

fn listed(place: &Place) -> Vec<Value> {
    let listed = done(place, &["shims", "--json"]);
    let lines = listed.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("it is JSON"))
        .collect()
}

fn states(place: &Place) -> Vec<(String, String)> {
    let text = |shim: &Value, name: &str| shim[name].as_str().unwrap_or_default().to_owned();
    listed(place)
        .iter()
        .map(|shim| (text(shim, "name"), text(shim, "state")))
        .collect()
}

fn expected(states: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, state): &(&str, &str)| ((*name).to_owned(), (*state).to_owned());
    states.iter().map(owned).collect()
}

fn ended(place: &Place, args: &[&str]) -> Outcome {
    acpd(place, &[&["shims", "end"], args].concat())
}

fn is_alive(pid: &Value) -> bool {
    Path::new(&format!("/proc/{pid}/status")).exists()
}

#[test]
fn shims_are_listed_and_ended_without_a_daemon() {
    let place = Place::new("");
    place.make_data();
    assert!(done(&place, &["shims"]).stderr.contains("no shim runs"));
    let mut first = shim(&place, "s1", "sleep 1000 & echo hello; exec sleep 1000");
    let second = shim(&place, "s2", "exec cat");
    assert_eq!(
        states(&place),
        expected(&[("s1", "attached"), ("s2", "attached")])
    );
    first.attached = None;
    wait_until("one waits, with its line", || {
        let listed = listed(&place);
        listed[0]["state"] == "waiting" && listed[0]["unreadBytes"] == 6
    });
    let one = &listed(&place)[0];
    assert_eq!(one["shimPid"], first.child.id());
    assert!(
        is_alive(&one["pid"]) && one["memoryBytes"].as_u64() > Some(0),
        "{one}"
    );
    let table = done(&place, &["shims"]).stdout;
    assert!(table.starts_with("NAME") && table.contains("waiting"), "{table}");
    assert_eq!(place.noticed_pid(), None, "no daemon was started");

    // Without a terminal, it must be said that a turn may fail.
    assert_eq!(ended(&place, &["s1"]).code, Some(2));
    assert_eq!(ended(&place, &[]).code, Some(2));
    let unknown = ended(&place, &["--yes", "s9", "../s1"]);
    assert_eq!(unknown.code, Some(5), "{}", unknown.stdout);
    let end = ended(&place, &["--yes", "s1"]);
    assert_eq!(
        (end.code, &*end.stdout),
        (Some(0), "ended s1\n"),
        "{}",
        end.stderr
    );
    assert!(!is_alive(&one["pid"]));
    assert!(first.child.wait().expect("it has ended").success());
    assert_eq!(states(&place), expected(&[("s2", "attached")]));

    // A shim that was killed leaves its socket.
    drop(second);
    assert_eq!(states(&place), expected(&[("s2", "gone")]));
    let _third = shim(&place, "s3", "trap '' TERM; while :; do sleep 1; done");
    let all = ended(&place, &["--all", "--yes", "--json"]);
    assert_eq!(all.code, Some(0), "{}", all.stderr);
    assert_eq!(
        all.stdout,
        "{\"name\":\"s2\",\"result\":\"removed\"}\n{\"name\":\"s3\",\"result\":\"ended\"}\n"
    );
    // Of the agent whose output no daemon has stored, that is left.
    let left = std::fs::read_dir(place.data().join("shims")).expect("it can be read");
    let left: Vec<_> = left
        .map(|entry| entry.expect("it can be read").file_name())
        .collect();
    assert_eq!(left, ["s1.rest"]);
}

#[test]
fn a_daemon_that_runs_changes_nothing_about_shims_that_it_does_not_know() {
    let daemon = Daemon::start();
    let place = &daemon.place;
    let mut one = shim(place, "s1", "exec cat");
    one.attached = None;
    wait_until("it waits", || states(place) == expected(&[("s1", "waiting")]));
    assert_eq!(listed(place)[0]["agent"], Value::Null);
    let end = ended(place, &["--all", "--yes"]);
    assert_eq!(
        (end.code, &*end.stdout),
        (Some(0), "ended s1\n"),
        "{}",
        end.stderr
    );
    assert_eq!(place.noticed_pid(), Some(daemon.pid()));
}
