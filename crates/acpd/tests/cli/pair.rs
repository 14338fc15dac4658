//! `acpd pair`: a phone signs in by a link, and has a token of its own.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    self, Daemon, Outcome, Running, acpd, body, header, on_terminal_of, outcome, send, signal,
};

/// Shows a ticket as the page does. Returns the status and the response.
fn sign_in(daemon: &Daemon, ticket: &str) -> (u16, String) {
    let host = daemon.address().to_string();
    let headers = [("Host", &host[..]), ("Content-Type", "application/json")];
    let login = json!({ "ticket": ticket }).to_string();
    send(daemon.address(), "POST", "/api/session", &headers, &login)
}

/// Returns the ticket of a link.
fn ticket(link: &str) -> String {
    let (_, after) = link
        .split_once("#ticket=")
        .unwrap_or_else(|| panic!("no link: {link}"));
    after.chars().take_while(char::is_ascii_hexdigit).collect()
}

/// Returns the tokens.
fn tokens(daemon: &Daemon) -> Vec<Value> {
    let listed = acpd(&daemon.place, &["token", "list", "--json"]);
    let lines = listed.stdout.lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn url(daemon: &Daemon) -> String {
    format!("http://{}", daemon.address())
}

fn pair(daemon: &Daemon, more: &[&str]) -> Outcome {
    acpd(&daemon.place, &[&["pair", "--json"], more].concat())
}

#[test]
fn a_link_pairs_one_device_which_has_its_own_token() {
    let daemon = Daemon::start();
    let url = url(&daemon);
    let made = pair(&daemon, &["--url", &url]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    assert_eq!(
        (&made["name"], &made["role"], &made["secs"]),
        (&json!("phone"), &json!("approver"), &json!(600))
    );
    let link = made["link"].as_str().unwrap();
    assert!(link.starts_with(&format!("{url}/#ticket=")), "{link}");
    // Nothing exists until a device uses it.
    assert_eq!(tokens(&daemon), Vec::<Value>::new());

    // It opens no connection in the name of its maker.
    let host = daemon.address().to_string();
    let socket = format!("/ws?ticket={}", ticket(link));
    assert_eq!(
        support::upgrade(daemon.address(), &socket, &[("Host", &host)]).0,
        401
    );

    let (status, answer) = sign_in(&daemon, &ticket(link));
    assert_eq!(status, 200, "{answer}");
    let session = body(&answer);
    assert_eq!(
        (&session["principal"], &session["role"]),
        (&json!("phone"), &json!("approver"))
    );
    let listed = tokens(&daemon);
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (&listed[0]["name"], &listed[0]["paired"]),
        (&json!("phone"), &json!(true))
    );
    assert_eq!(sign_in(&daemon, &ticket(link)).0, 401, "it works once");

    // Another one has another name, and each can be signed out.
    let more = pair(&daemon, &["--url", &url, "--role", "observer", "--ttl", "1m"]);
    assert_eq!(
        body(&sign_in(&daemon, &ticket(&more.stdout)).1)["principal"],
        "phone-2"
    );
    let cookie = header(&answer, "set-cookie")
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    let key = session["pageKey"].as_str().unwrap().to_owned();
    let who = || {
        let headers = [("Host", &host[..]), ("Cookie", &cookie), ("Acpd-Page-Key", &key)];
        send(daemon.address(), "GET", "/api/session", &headers, "").0
    };
    assert_eq!(who(), 200);
    assert_eq!(acpd(&daemon.place, &["token", "revoke", "phone"]).code, Some(0));
    assert_eq!(who(), 401);
}

/// Returns the credentials of a session, as headers.
fn of_session(answer: &str) -> (String, String) {
    let cookie = header(answer, "set-cookie");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    (cookie, body(answer)["pageKey"].as_str().unwrap().to_owned())
}

#[test]
fn a_device_is_listed_named_and_removed() {
    let daemon = Daemon::start();
    let host = daemon.address().to_string();
    let page = url(&daemon);
    let made = pair(&daemon, &["--url", &page]);
    let login = json!({ "ticket": ticket(&made.stdout) }).to_string();
    let headers = [
        ("Host", &host[..]),
        ("Content-Type", "application/json"),
        (
            "User-Agent",
            "Mozilla/5.0 (Linux; Android 10; K) Chrome/140.0.0.0 Mobile",
        ),
    ];
    let (status, answer) = send(daemon.address(), "POST", "/api/session", &headers, &login);
    assert_eq!(status, 200, "{answer}");
    let (cookie, key) = of_session(&answer);
    let as_phone = |method: &str, asked: &Value| {
        let headers = [
            ("Host", &host[..]),
            ("Origin", &page),
            ("Content-Type", "application/json"),
            ("Cookie", &cookie),
            ("Acpd-Page-Key", &key),
        ];
        let asked = if method == "GET" {
            String::new()
        } else {
            asked.to_string()
        };
        send(daemon.address(), method, "/api/devices", &headers, &asked)
    };
    let listed = body(&as_phone("GET", &Value::Null).1);
    assert_eq!(listed["mayPair"], false, "a paired device pairs no other");
    let own = &listed["devices"][0];
    assert_eq!(
        (
            &own["principal"],
            &own["role"],
            &own["browser"],
            &own["isCurrent"],
            &own["isPaired"]
        ),
        (
            &json!("phone"),
            &json!("approver"),
            &json!("Chrome on Android"),
            &json!(true),
            &json!(true)
        )
    );
    let id = own["id"].as_str().unwrap().to_owned();
    assert_eq!(as_phone("PUT", &json!({ "id": "0123", "name": "x" })).0, 404);
    let long = "x".repeat(acpd_model::limits::DEVICE_NAME_BYTES + 1);
    for name in ["a\u{1b}[0m", &long] {
        assert_eq!(
            as_phone("PUT", &json!({ "id": id, "name": name })).0,
            400,
            "{name:?}"
        );
    }
    // The longest name that the web UI accepts, in letters of three bytes.
    for name in ["机".repeat(32), " My phone ".to_owned()] {
        assert_eq!(
            as_phone("PUT", &json!({ "id": id, "name": name })).0,
            204,
            "{name:?}"
        );
    }

    // The owner sees it as well, and removes it with its token.
    let owner = std::fs::read_to_string(daemon.place.data().join("token")).unwrap();
    let bearer = format!("Bearer {}", owner.trim());
    let as_owner = |method: &str, asked: &str| {
        let headers = [
            ("Host", &host[..]),
            ("Content-Type", "application/json"),
            ("Authorization", &bearer),
        ];
        send(daemon.address(), method, "/api/devices", &headers, asked)
    };
    let listed = body(&as_owner("GET", "").1);
    assert_eq!(listed["devices"][0]["name"], "My phone");
    assert_eq!(
        (&listed["devices"][0]["isCurrent"], &listed["mayPair"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(tokens(&daemon).len(), 1);
    let asked = json!({ "id": id }).to_string();
    assert_eq!(as_owner("DELETE", &asked).0, 204);
    assert_eq!(tokens(&daemon), Vec::<Value>::new());
    assert_eq!(as_phone("GET", &Value::Null).0, 401);
    assert_eq!(as_owner("DELETE", &asked).0, 404);
}

#[test]
fn the_command_waits_for_the_device() {
    let daemon = Daemon::start();
    let url = url(&daemon);
    let waiting = Running::start(&mut daemon.place.command(&["pair", "--url", &url]));
    waiting.wait_for_error("open it on the device within 10 min");
    waiting.wait_for_output("\n");
    let link = waiting.output();
    // Without a terminal there is the link alone.
    assert_eq!(link.lines().count(), 1, "{link}");
    assert_eq!(sign_in(&daemon, &ticket(&link)).0, 200);
    let ended = waiting.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("paired phone as approver"),
        "{}",
        ended.stderr
    );
}

#[test]
fn ctrl_c_ends_the_link() {
    let daemon = Daemon::start();
    let url = url(&daemon);
    for kind in [Signal::INT, Signal::TERM] {
        let waiting = Running::start(&mut daemon.place.command(&["pair", "--url", &url]));
        waiting.wait_for_error("open it on the device");
        signal(waiting.pid(), kind);
        let ended = waiting.finish();
        assert_eq!(ended.code, Some(130), "{}", ended.stderr);
        assert_eq!(sign_in(&daemon, &ticket(&ended.stdout)).0, 401);
    }
    assert_eq!(tokens(&daemon), Vec::<Value>::new());
}

#[test]
fn ctrl_c_says_which_device_was_faster() {
    let daemon = Daemon::start();
    let url = url(&daemon);
    let waiting = Running::start(&mut daemon.place.command(&["pair", "--url", &url]));
    waiting.wait_for_error("open it on the device");
    waiting.wait_for_output("\n");
    // The command learns nothing of the device before it is interrupted.
    signal(waiting.pid(), Signal::STOP);
    assert_eq!(sign_in(&daemon, &ticket(&waiting.output())).0, 200);
    signal(waiting.pid(), Signal::INT);
    signal(waiting.pid(), Signal::CONT);
    let ended = waiting.finish();
    // Whichever of both it sees first, it names the device.
    assert!(
        ended.stderr.contains("acpd token revoke phone"),
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("no longer works"), "{}", ended.stderr);
}

#[test]
fn a_daemon_that_stops_ends_the_link() {
    let mut daemon = Daemon::start();
    let url = url(&daemon);
    let waiting = Running::start(&mut daemon.place.command(&["pair", "--url", &url]));
    waiting.wait_for_error("open it on the device");
    daemon.stop();
    let ended = waiting.finish();
    assert_ne!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        !ended.stderr.contains("no device has opened the link"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_terminal_shows_a_code_if_it_has_room() {
    let daemon = Daemon::start();
    let command = daemon.place.command(&["pair", "--url", &url(&daemon)]);
    for (columns, has_code) in [(100, true), (30, false)] {
        let shown = Running::start(&mut on_terminal_of(columns, &command));
        shown.wait_for_output("open it on the device");
        let text = shown.output();
        assert!(text.contains("#ticket="), "{text}");
        assert_eq!(text.contains('▀'), has_code, "{text}");
    }
}

#[test]
fn where_no_phone_can_reach_the_daemon_there_is_no_link() {
    let daemon = Daemon::start();
    let refused = pair(&daemon, &[]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
    for part in [
        &daemon.address().to_string()[..],
        "acpd pair --tailscale",
        "acpd pair --url ",
    ] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    // The daemon says which names it answers to.
    let refused = pair(&daemon, &["--url", "https://box.example"]);
    assert_eq!(refused.code, Some(1));
    for part in ["hosts = [\"box.example\"]", "acpd restart"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    for (option, value) in [
        ("--url", "box.example"),
        ("--ttl", "2h"),
        ("--name", "a b"),
        ("--role", "king"),
    ] {
        let wrong = pair(&daemon, &["--url", &url(&daemon), option, value]);
        assert!(
            wrong.code.is_some_and(|code| code != 0),
            "{option}: {}",
            wrong.stdout
        );
        assert_eq!(wrong.stdout, "", "{option}");
    }
}

#[test]
fn a_token_pairs_devices_of_at_most_its_own_role_which_end_with_it() {
    let daemon = Daemon::start();
    let url = url(&daemon);
    let with = |token: &str, role: &str| {
        let mut command = daemon
            .place
            .command(&["pair", "--json", "--url", &url, "--role", role]);
        outcome(command.env("ACPD_TOKEN", token))
    };
    let create = |name: &str, role: &str| {
        let made = acpd(
            &daemon.place,
            &["token", "create", "--name", name, "--role", role],
        );
        made.stdout.trim().to_owned()
    };
    let observer = with(&create("eve", "observer"), "observer");
    assert!(
        observer.stderr.contains("requires the role approver"),
        "{}",
        observer.stderr
    );
    let ann = create("ann", "approver");
    let above = with(&ann, "operator");
    assert_ne!(above.code, Some(0));
    assert!(
        above.stderr.contains("cannot give a device the role operator"),
        "{}",
        above.stderr
    );
    let made = with(&ann, "approver");
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(sign_in(&daemon, &ticket(&made.stdout)).0, 200);
    let open = with(&ann, "approver");
    assert_eq!(acpd(&daemon.place, &["token", "revoke", "ann"]).code, Some(0));
    assert_eq!(sign_in(&daemon, &ticket(&open.stdout)).0, 401);
    let names: Vec<_> = tokens(&daemon)
        .into_iter()
        .map(|token| token["name"].clone())
        .collect();
    assert_eq!(names, [json!("eve")]);
}

#[test]
fn a_paired_device_pairs_no_other() {
    let daemon = Daemon::start();
    let origin = url(&daemon);
    let made = pair(&daemon, &["--url", &origin]);
    let (status, answer) = sign_in(&daemon, &ticket(&made.stdout));
    assert_eq!(status, 200, "{answer}");
    let cookie = header(&answer, "set-cookie")
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    let key = body(&answer)["pageKey"].as_str().unwrap().to_owned();
    let host = daemon.address().to_string();
    let headers = [
        ("Host", &host[..]),
        ("Origin", &origin),
        ("Content-Type", "application/json"),
        ("Cookie", &cookie),
        ("Acpd-Page-Key", &key),
    ];
    let (status, answer) = send(daemon.address(), "POST", "/api/pairings", &headers, "{}");
    assert_eq!(status, 403, "{answer}");
    assert!(
        answer.contains("a paired device cannot pair another one"),
        "{answer}"
    );
}

/// Puts a program `tailscale` on the `PATH` of a command. It runs this script, whose `$1` and so on are its arguments.
fn with_tailscale(daemon: &Daemon, script: &str) -> Command {
    let bin = daemon.place.home().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let program = bin.join("tailscale");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = daemon.place.command(&["pair", "--tailscale", "--json"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command
}

const RUNNING: &str = r#"case "$*" in
"status --json") echo '{"BackendState":"Running","Self":{"DNSName":"box.tail1234.ts.net."}}' ;;
"serve status --json") echo '{}' ;;
"serve --bg "*) echo "$3" >> "$HOME/served" ;;
esac"#;

#[test]
fn tailscale_serves_the_daemon_once_it_knows_the_name() {
    let mut daemon = Daemon::start();
    let served = daemon.place.home().join("served");
    let unknown = outcome(with_tailscale(&daemon, RUNNING).env("HOME", daemon.place.home()));
    assert_eq!(unknown.code, Some(1));
    assert!(
        unknown.stderr.contains("hosts = [\"box.tail1234.ts.net\"]"),
        "{}",
        unknown.stderr
    );
    assert!(
        !served.exists(),
        "nothing is forwarded to a daemon that would refuse it"
    );

    // Until the user has done what it says: the lines, and the restart.
    let written = std::fs::read_to_string(daemon.place.config()).unwrap();
    let lines = "\n  [server]\n  hosts = [\"box.tail1234.ts.net\"]\n";
    let file = daemon.place.config().display().to_string();
    for part in [
        lines,
        "Add these lines to the end of ",
        &file,
        "Then run \"acpd restart",
    ] {
        assert!(unknown.stderr.contains(part), "{part}: {}", unknown.stderr);
    }
    daemon.place.configure(&format!("{written}{lines}"));
    let early = outcome(with_tailscale(&daemon, RUNNING).env("HOME", daemon.place.home()));
    assert_eq!(early.code, Some(1));
    assert!(
        early
            .stderr
            .contains("has it since the daemon started: run \"acpd restart"),
        "{}",
        early.stderr
    );
    daemon.stop();
    daemon.restart();
    let made = outcome(with_tailscale(&daemon, RUNNING).env("HOME", daemon.place.home()));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    let link = made["link"].as_str().unwrap();
    assert!(link.starts_with("https://box.tail1234.ts.net/#ticket="), "{link}");
    assert_eq!(
        std::fs::read_to_string(served).unwrap(),
        format!("{}\n", url(&daemon))
    );
}

#[test]
fn missing_features_of_tailscale_are_reported() {
    let daemon = Daemon::with("[server]\nhosts = [\"box.tail1234.ts.net\"]\n");
    let mut without = daemon.place.command(&["pair", "--tailscale"]);
    let missing = outcome(without.env("PATH", daemon.place.work()));
    assert_eq!(missing.code, Some(1));
    assert!(
        missing.stderr.contains("Tailscale is not installed"),
        "{}",
        missing.stderr
    );
    let refusing = RUNNING.replace(
        "echo \"$3\" >> \"$HOME/served\"",
        "echo 'access denied' >&2; exit 1",
    );
    for (script, words) in [
        ("echo '{\"BackendState\":\"NeedsLogin\"}'", "sudo tailscale up"),
        ("echo 'no daemon here' >&2; exit 1", "no daemon here"),
        (&refusing[..], "was refused: access denied"),
    ] {
        let told = outcome(&mut with_tailscale(&daemon, script));
        assert_eq!((told.code, told.stdout.as_str()), (Some(1), ""), "{words}");
        assert!(told.stderr.contains(words), "{words}: {}", told.stderr);
    }
}
