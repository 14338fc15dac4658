//! The daemon's own files: whose they must be, and who gets at them.

mod support;

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use support::{Daemon, Place, acpd};

/// A user that is not root and runs no test.
const STRANGER: u32 = 65534;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Runs `acpd serve`, which must not start, and returns what it says.
fn refusal(place: &Place) -> String {
    let refused = acpd(place, &["serve"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    refused.stderr
}

#[test]
fn a_data_directory_that_others_can_use_is_refused_until_it_is_closed() {
    let place = Place::new("");
    let data = place.data();
    std::fs::create_dir(&data).unwrap();
    let hint = format!("run chmod 700 {}", data.display());
    for mode in [0o777, 0o755, 0o710, 0o701, 0o1770] {
        set_mode(&data, mode);
        let token = &["token", "create", "--name", "x", "--role", "owner"][..];
        for args in [&["serve"][..], token] {
            let refused = acpd(&place, args);
            assert_eq!(refused.code, Some(1), "{mode:o} {args:?}: {}", refused.stderr);
            assert!(
                refused.stderr.contains(&hint),
                "{mode:o} {args:?}: {}",
                refused.stderr
            );
        }
        assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0, "{mode:o}");
    }
    set_mode(&data, 0o700);
    Daemon::at(place);
}

#[test]
fn a_data_directory_may_be_a_link_to_one_that_is_closed() {
    let place = Place::new("");
    let elsewhere = place.work().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, place.data()).unwrap();
    set_mode(&elsewhere, 0o750);
    assert!(refusal(&place).contains("run chmod 700"));
    set_mode(&elsewhere, 0o700);
    Daemon::at(place);
}

#[test]
fn secret_files_that_others_can_read_or_that_are_links_are_refused() {
    let mut daemon = Daemon::start();
    daemon.stop();
    let data = daemon.place.data();
    for name in ["token", "tokens.json", "answers.json"] {
        let path = data.join(name);
        let real = data.join("real");
        if !path.exists() {
            let empty = if name == "tokens.json" {
                "tokens\":[]"
            } else {
                "agents\":{}"
            };
            std::fs::write(&path, format!("{{\"version\":1,\"{empty}}}")).unwrap();
        }
        for mode in [0o644, 0o640, 0o602] {
            set_mode(&path, mode);
            let said = refusal(&daemon.place);
            let hint = format!("run chmod 600 {}", path.display());
            assert!(said.contains(&hint), "{name} {mode:o}: {said}");
        }
        set_mode(&path, 0o600);
        std::fs::rename(&path, &real).unwrap();
        symlink(&real, &path).unwrap();
        let said = refusal(&daemon.place);
        assert!(said.contains("is a symbolic link"), "{name}: {said}");
        std::fs::rename(&real, &path).unwrap();
    }
    daemon.restart();
}

/// Only root can make a file that is another user's; the rule itself has a test beside it.
#[test]
fn what_another_user_has_put_into_the_data_directory_is_not_believed() {
    let mut daemon = Daemon::start();
    daemon.stop();
    let data = daemon.place.data();
    let inside = ["token", "log.db", "tokens.json", "planted"].map(|name| data.join(name));
    for path in inside.into_iter().chain([data.clone()]) {
        let was_there = path.exists();
        if !was_there {
            std::fs::write(&path, r#"{"version":1,"tokens":[]}"#).unwrap();
            set_mode(&path, 0o600);
        }
        if chown(&path, Some(STRANGER), None).is_ok() {
            let said = refusal(&daemon.place);
            let told = format!("{} belongs to another user ({STRANGER})", path.display());
            assert!(said.contains(&told), "{told}: {said}");
            chown(&path, Some(0), None).unwrap();
        }
        if !was_there {
            std::fs::remove_file(&path).unwrap();
        }
    }
    daemon.restart();
    // A daemon that runs believes no file that came later either.
    let tokens = data.join("tokens.json");
    let made = acpd(
        &daemon.place,
        &["token", "create", "--name", "x", "--role", "owner"],
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    if chown(&tokens, Some(STRANGER), None).is_ok() {
        let listed = acpd(&daemon.place, &["token", "list"]);
        assert!(
            listed.stderr.contains("belongs to another user"),
            "{}",
            listed.stderr
        );
    }
}
