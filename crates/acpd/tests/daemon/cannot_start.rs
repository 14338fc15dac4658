//! What prevents the start of the daemon or of an agent. Each is a sentence with what to do and an exit code, and nothing is
//! damaged.
//!
//! A log of a newer acpd is in `backup.rs`, a log that needs more space for its upgrade in `upgrade.rs`, and a disk that fills
//! up while the daemon runs in `full_disk.rs`.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{
    Client, Daemon, Outcome, Place, acpd, ask, needs_mounts, on_small_disk, outcome, read_only,
    without_network,
};

/// Checks that `acpd doctor` lists what prevented a start as a problem, in the same words.
fn doctor_says_the_same(place: &Place, wrapper: &[String], args: &[&str], refused: &Outcome) {
    let doctor = outcome(&mut behind(
        place,
        wrapper,
        &[&["doctor", "--json"], args].concat(),
    ));
    let report: Value = serde_json::from_str(&doctor.stdout).expect("it is JSON");
    let findings = report["findings"].as_array().expect("it is a list");
    let mut problems = findings.iter().filter(|finding| finding["level"] == "problem");
    let is_said = |finding: &Value| {
        let part = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        refused
            .stderr
            .contains(&format!("{}; {}", part("message"), part("fix")))
    };
    assert!(problems.any(is_said), "{}\n{report:#}", refused.stderr);
}

fn write_private(path: &Path, content: &str) {
    std::fs::write(path, content).expect("it can be written");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
}

/// Prepares a place in which a daemon cannot start.
type Prepare<'a> = Box<dyn Fn(&Place) + 'a>;

#[test]
fn doctor_has_the_words_of_each_start_that_fails() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("it has an address").to_string();
    let cases: [(&str, Prepare, &[&str]); 12] = [
        (
            "a daemon on the host \"another-host\"",
            Box::new(|place: &Place| {
                let notice = json!({
                    "address": "127.0.0.1:1",
                    "url": "http://127.0.0.1:1",
                    "pid": 1,
                    "version": "0",
                    "host": { "name": "another-host", "bootId": "another-boot" },
                });
                let path = place.data().join("daemon.json");
                std::fs::write(&path, notice.to_string()).expect("it can be written");
                // By a clock that is ahead, so that its age is the same for both.
                let file = std::fs::File::options().write(true).open(&path);
                let touched = SystemTime::now() + Duration::from_hours(1);
                file.and_then(|file| file.set_modified(touched))
                    .expect("it is ours");
            }),
            &[],
        ),
        (
            "was made by a newer acpd",
            Box::new(|place: &Place| {
                let mut log = [&b"SQLite format 3\0"[..], &[0; 84]].concat();
                log[60..64].copy_from_slice(&9999u32.to_be_bytes());
                std::fs::write(place.data().join("log.db"), log).expect("it can be written");
            }),
            &[],
        ),
        (
            "other users can use it",
            Box::new(|place: &Place| {
                let open = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(place.data(), open).expect("it is ours");
            }),
            &[],
        ),
        (
            "the token in",
            Box::new(|place: &Place| write_private(&place.data().join("token"), "short")),
            &[],
        ),
        (
            "the remembered answers in",
            Box::new(|place: &Place| write_private(&place.data().join("answers.json"), "{")),
            &[],
        ),
        (
            "another program listens there",
            Box::new(|_: &Place| {}),
            &["--listen", &address],
        ),
        (
            "another program listens there",
            Box::new(|place: &Place| place.configure(&format!("[codex]\nlisten = \"{address}\"\n"))),
            &[],
        ),
        (
            "not a loopback address",
            Box::new(|_: &Place| {}),
            &["--listen", "0.0.0.0:0"],
        ),
        (
            "in [server] hosts",
            Box::new(|place: &Place| place.configure("[server]\nhosts = [\"https://box.example/\"]\n")),
            &[],
        ),
        (
            "[server.tls] requires cert and key, or self_signed = true",
            Box::new(|place: &Place| place.configure("[server.tls]\ncert = \"box.pem\"\n")),
            &[],
        ),
        (
            "box.pem cannot be used for TLS",
            Box::new(|place: &Place| {
                place.configure("[server.tls]\ncert = \"box.pem\"\nkey = \"box.key\"\n");
            }),
            &[],
        ),
        (
            "remove tls-cert.pem and tls-key.pem from the data directory",
            Box::new(|place: &Place| {
                place.configure("[server.tls]\nself_signed = true\n");
                for file in ["tls-cert.pem", "tls-key.pem"] {
                    write_private(&place.data().join(file), "-----BEGIN");
                }
            }),
            &[],
        ),
    ];
    for (part, prepare, args) in cases {
        let place = Place::new("");
        place.make_data();
        prepare(&place);
        let started = acpd(&place, &[&["serve"], args].concat());
        assert_ne!(started.code, Some(0), "{part}");
        assert!(started.stderr.contains(part), "{part}: {}", started.stderr);
        doctor_says_the_same(&place, &[], args, &started);
    }
}

/// Every file below a directory, with its content. Sockets have none.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten() {
        let path = entry.expect("it can be listed").path();
        found.insert(
            path.display().to_string(),
            std::fs::read(&path).unwrap_or_default(),
        );
    }
    found
}

/// Checks that a command failed with this code, and said all of this in one sentence.
fn refused(outcome: &Outcome, code: i32, parts: &[&str]) {
    let said = &outcome.stderr;
    assert_eq!(outcome.code, Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "{part:?} is missing: {said}");
    }
    for never in ["panicked", "os error", "Error {", "backtrace"] {
        assert!(!said.contains(never), "{said}");
    }
}

fn behind(place: &Place, wrapper: &[String], args: &[&str]) -> Command {
    if wrapper.is_empty() {
        return place.command(args);
    }
    let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
    place.command_behind(&wrapper, args)
}

/// Returns a place with a stopped daemon, whose log has a thread with this id.
fn used_place(config: &str) -> (Place, String) {
    let mut daemon = Daemon::at(Place::without_sandbox(config));
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    assert_eq!(client.turn(&thread, "say kept").said(), "kept");
    drop(client);
    assert!(daemon.stop().success());
    (std::mem::replace(&mut daemon.place, Place::new("")), thread)
}

/// Checks that a thread can be read and continued.
fn goes_on(place: Place, thread: &str) {
    let mut daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let read = client.call(
        "thread/read",
        &json!({ "threadId": thread, "includeTurns": true }),
    );
    assert!(read.to_string().contains("kept"), "{read}");
    client.resume(thread, 0);
    assert_eq!(client.turn(thread, "say more").said(), "more");
    drop(client);
    assert!(daemon.stop().success());
}

#[test]
fn a_wrong_configuration() {
    let (place, thread) = used_place("");
    let before = files(&place.data());
    let right = std::fs::read_to_string(place.config()).expect("it can be read");
    for (text, parts) in [
        (
            "[retention]\nmax_age = 90\n",
            ["line 2", "at retention.max_age", "such as \"12h\""],
        ),
        (
            "listen = 1\n",
            ["line 1", "at listen", "such as \"127.0.0.1:4127\""],
        ),
        ("[agents.a\n", ["line 1", "is wrong", "unclosed table"]),
        (
            "data_dir = \"\"\n",
            ["line 1", "at data_dir", "the path is empty: name a directory"],
        ),
    ] {
        place.configure(text);
        refused(&acpd(&place, &["serve"]), 2, &parts);
        refused(&acpd(&place, &["config", "check"]), 2, &parts);
    }
    assert!(files(&place.data()) == before, "the data directory has changed");
    place.configure(&right);
    goes_on(place, &thread);
}

#[test]
fn a_taken_port() {
    let (place, thread) = used_place("");
    let other = Daemon::start();
    let address = other.address().to_string();
    let taken = acpd(&place, &["serve", "--listen", &address]);
    let config = place.config().display().to_string();
    let parts = [
        &*address,
        "another acpd, with another data directory, listens there",
        "choose another address",
        "--listen",
        &config,
    ];
    refused(&taken, 1, &parts);
    // Neither does it disturb the daemon that listens.
    Client::new(&other).thread(&other);
    goes_on(place, &thread);
}

/// Fills the disk, starts the daemon in vain, and starts it again with room.
const FILLED: &str = r#"
for size in 65536 4096 1; do dd if=/dev/zero of="$0/filler" oflag=append conv=notrunc bs=$size 2>/dev/null; done
before=$(sha256sum < "$0/log.db")
"$@" > "$0.out" 2> "$0.err"
echo $? > "$0.code"
[ "$before" = "$(sha256sum < "$0/log.db")" ] && echo same >> "$0.code"
rm "$0/filler"
exec "$@"
"#;

#[test]
fn a_full_disk() {
    needs_mounts();
    let (place, thread) = used_place("");
    let mut wrapper = on_small_disk(&place, "24m");
    let data = place.data().display().to_string();
    wrapper.extend(["sh", "-c", FILLED, &data].map(str::to_owned));
    let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
    let mut daemon = Daemon::behind(place, &wrapper);
    let read = |suffix: &str| std::fs::read_to_string(format!("{data}.{suffix}")).expect("it was written");
    assert_eq!(read("code"), "1\nsame\n", "{}", read("err"));
    let said = read("err");
    for part in [
        &*data,
        "is full",
        "free some space and start again",
        "nothing is lost",
    ] {
        assert!(said.contains(part), "{part:?} is missing: {said}");
    }
    let mut client = Client::new(&daemon);
    client.resume(&thread, 0);
    assert_eq!(client.turn(&thread, "say more").said(), "more");
    assert_eq!(
        ask(
            daemon.address(),
            "/readyz",
            &[("Host", &daemon.address().to_string())]
        )
        .0,
        200
    );
    drop(client);
    assert!(daemon.stop().success());
}

#[test]
fn a_read_only_data_directory() {
    needs_mounts();
    let (place, thread) = used_place("");
    let wrapper = read_only(&place.data());
    let before = files(&place.data());
    let data = place.data().display().to_string();
    let parts = [&*data, "read-only file system", "make it writable", "--data-dir"];
    let started = outcome(&mut behind(&place, &wrapper, &["serve"]));
    refused(&started, 1, &parts);
    doctor_says_the_same(&place, &wrapper, &[], &started);
    // A command that would start the daemon in the background says the same.
    refused(&outcome(&mut behind(&place, &wrapper, &["threads"])), 6, &parts);
    assert!(files(&place.data()) == before, "the data directory has changed");
    goes_on(place, &thread);
}

#[test]
fn a_data_directory_that_cannot_be_made() {
    needs_mounts();
    let place = Place::new("");
    let parent = place.home().join("parent");
    std::fs::create_dir(&parent).expect("it can be made");
    let wrapper = read_only(&parent);
    let inside = parent.join("data").display().to_string();
    let serve = ["serve", "--data-dir", &inside];
    let parts = [&*inside, "read-only file system", "--data-dir"];
    let started = outcome(&mut behind(&place, &wrapper, &serve));
    refused(&started, 1, &parts);
    doctor_says_the_same(&place, &wrapper, &serve[1..], &started);
    assert_eq!(files(&parent), BTreeMap::new());
    // A file in the place of the directory.
    std::fs::write(parent.join("data"), "mine").expect("it can be written");
    refused(&acpd(&place, &serve), 1, &[&inside, "cannot be used"]);
    assert_eq!(std::fs::read(parent.join("data")).expect("it is there"), b"mine");
}

#[test]
fn a_data_directory_below_a_file() {
    let place = Place::new("");
    let file = place.home().join("file");
    std::fs::write(&file, "mine").expect("it can be written");
    let inside = file.join("data").display().to_string();
    let file_said = format!("{} is not a directory", file.display());
    let serve = ["serve", "--data-dir", &inside];
    let started = acpd(&place, &serve);
    refused(&started, 1, &[&inside, &file_said, "--data-dir"]);
    doctor_says_the_same(&place, &[], &serve[1..], &started);
    assert_eq!(std::fs::read(&file).expect("it is there"), b"mine");
}

#[test]
fn a_dead_agent() {
    let daemon =
        Daemon::with("[agents.dead]\ncommand = \"sh\"\nargs = [\"-c\", \"echo no key >&2; exit 3\"]\n");
    let place = &daemon.place;
    let dead = acpd(place, &["run", "--agent", "dead", "hello"]);
    refused(
        &dead,
        1,
        &["sh exited with code 3", "no key", "acpd agents doctor NAME"],
    );
    let crashed = acpd(place, &["run", "--agent", "fake", "crash code=3"]);
    refused(&crashed, 1, &["exit"]);
    // The thread has what happened, and its next turn starts the agent again.
    let shown = acpd(place, &["show", "@last"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stdout.contains("crash code=3"), "{}", shown.stdout);
    let next = acpd(place, &["run", "-t", "@last", "say alive"]);
    assert_eq!(next.code, Some(0), "{}", next.stderr);
    assert!(next.stdout.contains("alive"), "{}", next.stdout);
}

#[test]
fn no_network() {
    let wrapper = without_network();
    let place = Place::new("");
    place.make_data();
    for args in [&["agents", "update"][..], &["agents", "install", "goose"]] {
        let offline = outcome(&mut behind(&place, &wrapper, args));
        refused(
            &offline,
            1,
            &[
                "https://",
                "cannot be fetched",
                "check the network and the proxy settings",
            ],
        );
    }
    // The list works without a network, from the registry in the program, and nothing is half installed.
    let listed = outcome(&mut behind(&place, &wrapper, &["agents", "list"]));
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    assert!(listed.stdout.contains("goose"), "{}", listed.stdout);
    let none = outcome(&mut behind(&place, &wrapper, &["agents", "uninstall", "goose"]));
    refused(&none, 5, &["goose is not installed by acpd"]);
}
