//! `acpd upgrade`. A copy of acpd stands for the program of another version.

use std::process::Command;

use serde_json::Value;

use crate::support::{self, Outcome, Place, acpd, built, outcome, scratch};

fn done(place: &Place, args: &[&str]) -> Outcome {
    let ended = acpd(place, args);
    assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.stderr);
    ended
}

#[test]
fn an_upgrade_replaces_the_daemon_of_another_program_and_no_other() {
    let place = Place::new("");
    let none = done(&place, &["upgrade"]);
    assert!(none.stderr.contains("no daemon is running"), "{}", none.stderr);
    assert_eq!(place.noticed_pid(), None);
    done(&place, &["threads"]);
    let _guard = place.background();
    let before = place.noticed_pid();
    let same = done(&place, &["upgrade", "--json"]);
    let same: Value = serde_json::from_str(&same.stdout).expect("it is JSON");
    assert_eq!(
        (&same["upgraded"], same["pid"].as_u64()),
        (&Value::Bool(false), before.map(u64::from))
    );
    assert!(done(&place, &["upgrade"]).stdout.contains(" already\n"));
    assert_eq!(place.noticed_pid(), before);

    let folder = tempfile::tempdir_in(scratch()).expect("it can be made");
    let copy = folder.path().join("acpd");
    std::fs::copy(built("acpd"), &copy).expect("it can be copied");
    let by_copy = |args: &[&str]| {
        let mut command = Command::new(&copy);
        support::copy_surroundings(&place.command(args), &mut command);
        outcome(command.args(args))
    };
    let upgraded = by_copy(&["upgrade"]);
    let _other = place.background();
    assert_eq!(upgraded.code, Some(0), "{}", upgraded.stderr);
    assert!(
        upgraded.stderr.contains("is to be replaced by acpd"),
        "{}",
        upgraded.stderr
    );
    assert!(
        upgraded.stdout.contains(", instead of acpd "),
        "{}",
        upgraded.stdout
    );
    let after = place.noticed_pid().expect("a daemon runs");
    assert_ne!(Some(after), before);
    let runs = std::fs::read_link(format!("/proc/{after}/exe")).expect("it can be read");
    assert_eq!(runs, copy.canonicalize().expect("it is there"));
    done(&place, &["stop"]);
}

#[test]
fn a_daemon_is_not_stopped_for_one_that_would_not_start() {
    let place = Place::new("");
    done(&place, &["threads"]);
    let _guard = place.background();
    let pid = place.noticed_pid();
    // Other users may read it now, so the next daemon would refuse it.
    let set = |mode| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(place.data(), std::fs::Permissions::from_mode(mode)).expect("it can be set");
    };
    set(0o755);
    let refused = acpd(&place, &["restart"]);
    set(0o700);
    assert_eq!(refused.code, Some(6), "{}", refused.stdout);
    assert!(
        refused.stderr.contains("the daemon was not stopped"),
        "{}",
        refused.stderr
    );
    assert_eq!(place.noticed_pid(), pid);
    done(&place, &["stop"]);
}
