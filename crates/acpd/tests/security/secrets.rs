//! The daemon's own files: their owner, and who can access them.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use serde_json::json;

use crate::support::{self, Client, Daemon, Place, acpd, wait_until};

/// A user that is neither root nor the one that runs the tests.
const STRANGER: u32 = 65534;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

/// Runs `acpd serve`, which must fail, and returns its error.
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

/// Returns whether this user can give a file to another one. Only root can, and not in every container.
fn gives_files_away(directory: &Path) -> bool {
    let file = directory.join("given");
    std::fs::write(&file, "").expect("it can be written");
    let gives = chown(&file, Some(STRANGER), None).is_ok();
    if !gives {
        support::record_not_tested("only root can give a file to another user");
    }
    gives
}

/// The rule itself has a unit test.
#[test]
fn files_of_other_users_in_the_data_directory_are_not_trusted() {
    let mut daemon = Daemon::start();
    daemon.stop();
    let data = daemon.place.data();
    let gives_away = gives_files_away(&daemon.place.work());
    let inside = ["token", "log.db", "tokens.json", "planted"].map(|name| data.join(name));
    for path in inside.into_iter().chain([data.clone()]) {
        let was_there = path.exists();
        if !was_there {
            std::fs::write(&path, r#"{"version":1,"tokens":[]}"#).unwrap();
            set_mode(&path, 0o600);
        }
        if gives_away {
            chown(&path, Some(STRANGER), None).unwrap();
            let said = refusal(&daemon.place);
            let expected = format!("{} belongs to another user ({STRANGER})", path.display());
            assert!(said.contains(&expected), "{expected}: {said}");
            chown(&path, Some(0), None).unwrap();
        }
        if !was_there {
            std::fs::remove_file(&path).unwrap();
        }
    }
    daemon.restart();
    // A running daemon does not trust a later file either.
    let tokens = data.join("tokens.json");
    let made = acpd(
        &daemon.place,
        &["token", "create", "--name", "x", "--role", "owner"],
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    if gives_away {
        chown(&tokens, Some(STRANGER), None).unwrap();
        let listed = acpd(&daemon.place, &["token", "list"]);
        assert!(
            listed.stderr.contains("belongs to another user"),
            "{}",
            listed.stderr
        );
    }
}

/// Starts a thread whose workspace contains the data directory and the configuration.
fn thread_around(client: &mut Client, daemon: &Daemon) -> String {
    let cwd = daemon
        .place
        .data()
        .parent()
        .expect("it is in the place")
        .to_owned();
    let started = client.call("thread/start", &json!({ "agentType": "fake", "cwd": cwd }));
    started["thread"]["id"]
        .as_str()
        .expect("a thread has an id")
        .to_owned()
}

#[test]
fn agents_reach_none_of_the_daemons_files_under_any_policy() {
    for policy in [
        "",
        "[policy]\nbase = \"readonly\"\n",
        "[policy]\nbase = \"permissive\"\n",
    ] {
        // No sandbox: it would refuse this thread's workspace.
        let daemon = Daemon::at(Place::without_sandbox(policy));
        let mut client = Client::new(&daemon);
        let (data, config) = (daemon.place.data(), daemon.place.config());
        let thread = thread_around(&mut client, &daemon);
        std::fs::hard_link(data.join("token"), daemon.place.work().join("hard")).unwrap();
        symlink(&data, daemon.place.work().join("link")).unwrap();
        let read = [
            data.join("token"),
            data.join("../data/log.db"),
            daemon.place.work().join("hard"),
            daemon.place.work().join("link/token"),
            config.clone(),
        ];
        let written = [data.join("tokens.json"), data.join("new"), config.clone()];
        let before = std::fs::read(&config).unwrap();
        for path in read {
            let turn = client.turn(&thread, &format!("read path='{}'", path.display()));
            let said = turn.said();
            assert!(
                said.contains("belongs to acpd itself"),
                "{policy} {}: {said}",
                path.display()
            );
        }
        for path in written.iter().filter(|_| !policy.contains("readonly")) {
            let turn = client.turn(&thread, &format!("write path='{}' text=mine", path.display()));
            let said = turn.said();
            assert!(
                said.contains("belongs to acpd itself"),
                "{policy} {}: {said}",
                path.display()
            );
        }
        assert_eq!(std::fs::read(&config).unwrap(), before);
        assert!(!data.join("tokens.json").exists() && !data.join("new").exists());
        let turn = client.turn(
            &thread,
            &format!(
                "write path='{}/fine' text=x; read path='{0}/fine'",
                daemon.place.work().display()
            ),
        );
        assert!(
            policy.contains("readonly") || turn.said().contains("read 1 bytes"),
            "{}",
            turn.said()
        );
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path)
        .expect("read the mode")
        .permissions()
        .mode()
        & 0o777
}

#[test]
fn files_that_an_agent_opens_to_other_users_are_closed() {
    let place = Place::new("");
    // The user may have opened it to others.
    let config = place.config();
    set_mode(&config, 0o640);
    let mut daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let data = daemon.place.data();
    let [token, socket, log] = ["token", "acpd.sock", "log.db"].map(|name| data.join(name));
    for (tool, given, path) in [
        ("chmod", "755", &data),
        ("chmod", "a+rx", &data),
        ("chmod", "0", &data),
        ("chmod", "644", &token),
        ("chmod", "000", &token),
        ("chmod", "go+w", &socket),
        ("python", "0o640", &log),
        ("chmod", "o+r", &config),
        ("chmod", "000", &config),
    ] {
        let closed = mode(path);
        let before = daemon.log().matches("had mode").count();
        let path_text = path.display();
        let line = match tool {
            "python" => format!("python3 -c \"import os; os.chmod('{path_text}', {given})\""),
            _ => format!("{tool} {given} '{path_text}'"),
        };
        let turn = client.turn(&thread, &format!("terminal {line}"));
        assert!(turn.said().starts_with("exit 0"), "{line}: {}", turn.said());
        wait_until("it is closed", || {
            daemon.log().matches("had mode").count() > before && mode(path) == closed
        });
    }
    // An agent that does it again and again does not keep the next daemon from starting.
    let line = format!("while :; do chmod 755 '{}'; done", data.display());
    client.start(&thread, &format!("terminal sh -c \"{line}\""));
    wait_until("it is open", || mode(&data) == 0o755);
    assert!(daemon.stop().success());
    assert_eq!(mode(&data), 0o700);
    daemon.restart();
}

#[test]
fn a_process_of_an_agent_is_not_the_owner_at_the_sockets() {
    const REFUSED: &str = "not the owner at this socket";
    let daemon = Daemon::at(Place::without_sandbox(""));
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let script = daemon.place.work().join("peer.py");
    std::fs::write(&script, include_str!("../support/peer.py")).expect("it can be written");
    let run = |way: &str, socket: &str| {
        let socket = daemon.place.data().join(socket);
        format!("python3 '{}' {way} '{}'", script.display(), socket.display())
    };
    // In each of these ways, the user's own processes connect as the owner. An exited process may be too late.
    for (way, socket, own) in [
        ("http", "acpd.sock", Some("\"owner\"")),
        ("child", "acpd.sock", None),
        ("hidden", "acpd.sock", Some("\"owner\"")),
        ("editor", "acp.sock", Some("protocolVersion")),
    ] {
        let line = run(way, socket);
        if let Some(own) = own {
            let ours = support::outcome(std::process::Command::new("sh").args(["-c", &line]));
            assert!(ours.stdout.contains(own), "{way}: {ours:?}");
        }
        let turn = client.turn(&thread, &format!("terminal {line}"));
        assert!(turn.said().contains(REFUSED), "{way}: {}", turn.said());
    }
    let acpd = support::built("acpd");
    let data = daemon.place.data();
    let line = format!("'{}' --data-dir '{}' threads", acpd.display(), data.display());
    let turn = client.turn(&thread, &format!("terminal {line}"));
    assert!(turn.said().contains(REFUSED), "{}", turn.said());
    // A token determines an agent's permissions.
    let made = support::acpd(
        &daemon.place,
        &["token", "create", "--name", "agent", "--role", "observer"],
    );
    let line = format!("env ACPD_TOKEN={} {line}", made.stdout.trim());
    let turn = client.turn(&thread, &format!("terminal {line}"));
    assert!(
        turn.said().starts_with("exit 0") && turn.said().contains(&thread[28..]),
        "{}",
        turn.said()
    );
}

/// Returns a function that has `peer.py` ask at the socket of a daemon, behind a program and in one of its ways.
#[cfg(target_os = "linux")]
fn peer_of(daemon: &Daemon) -> impl Fn(&str, &str) -> String {
    let script = daemon.place.work().join("peer.py");
    std::fs::write(&script, include_str!("../support/peer.py")).expect("it can be written");
    let socket = daemon.place.data().join("acpd.sock");
    move |before, way| {
        let line = format!(
            "{before} python3 '{}' {way} '{}'",
            script.display(),
            socket.display()
        );
        support::outcome(std::process::Command::new("sh").args(["-c", &line])).stdout
    }
}

/// Returns whether a process gave up new privileges.
#[cfg(target_os = "linux")]
fn gave_up_privileges(process: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("read the status");
    status.contains("NoNewPrivs:\t1")
}

#[test]
#[cfg(target_os = "linux")]
fn agents_never_count_as_the_owner() {
    let daemon = Daemon::at(Place::without_sandbox(""));
    let ask = peer_of(&daemon);
    assert!(ask("", "http").contains("\"owner\""));
    let mark = "ACPD_PROCESS=0000abc-0007-42";
    let own_parent = format!("env {mark} sh -c 'env -i PATH=\"$PATH\" \"$@\"; true' sh");
    let mut ways = vec![
        (format!("env {mark}"), "http"),
        (own_parent, "http"),
        (String::new(), "limited"),
    ];
    // Where the daemon has no privileges to gain either, this tells nothing about others.
    if !gave_up_privileges("self") {
        ways.push((String::new(), "confined"));
    }
    for (before, way) in ways {
        let answer = ask(&before, way);
        assert!(
            answer.contains("not the owner at this socket"),
            "{before} {way}: {answer}"
        );
        assert!(!answer.contains("\"owner\""), "{before} {way}: {answer}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_service_that_gains_no_privileges_recognizes_processes_in_a_sandbox() {
    if gave_up_privileges("self") {
        support::not_tested("no process here can gain privileges");
    }
    // As `NoNewPrivileges=yes` of the units does.
    let daemon = Daemon::behind(Place::without_sandbox(""), &["setpriv", "--no-new-privs", "--"]);
    assert!(gave_up_privileges(&daemon.pid().to_string()));
    let ask = peer_of(&daemon);
    assert!(ask("", "http").contains("\"owner\""));
    let answer = ask("", "confined");
    assert!(answer.contains("not the owner at this socket"), "{answer}");
}

/// Opens 40 connections, each of which shows a token, and prints the answers: many.py SOCKET TOKEN.
#[cfg(target_os = "linux")]
const MANY: &str = r"import socket, sys
ask = 'GET /api/session HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n' % sys.argv[2]
held = []
for _ in range(40):
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(sys.argv[1])
    held.append(peer)
    peer.sendall(ask.encode())
    print(peer.recv(4096).split(b'\r')[0].decode())
";

#[test]
#[cfg(target_os = "linux")]
fn agents_leave_room_at_the_local_socket() {
    let daemon = Daemon::at(Place::without_sandbox("[limits]\nconnections = 64\n"));
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let script = daemon.place.work().join("crowd.py");
    let text = "import select, socket, sys, time\n\
                held = []\n\
                for _ in range(500):\n\
                \x20   peer = socket.socket(socket.AF_UNIX)\n\
                \x20   peer.connect(sys.argv[1])\n\
                \x20   held.append(peer)\n\
                while len(held) > 256:\n\
                \x20   ended, _, _ = select.select(held, [], [], 60)\n\
                \x20   if not ended: break\n\
                \x20   held = [peer for peer in held if peer not in ended]\n\
                print('held', len(held), flush=True)\n\
                time.sleep(600)\n";
    std::fs::write(&script, text).unwrap();
    let socket = daemon.place.data().join("acpd.sock");
    let line = format!("python3 '{}' '{}'", script.display(), socket.display());
    client.call(
        "thread/command/run",
        &json!({ "threadId": thread, "command": line }),
    );
    client.until(|message| {
        message.method == "item/terminalCommand/output" && message.text("text").contains("held ")
    });
    let listed = acpd(&daemon.place, &["threads"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    // Nor do they take the place of processes with a token, each of which keeps its connection.
    let made = acpd(
        &daemon.place,
        &["token", "create", "--name", "many", "--role", "observer"],
    );
    let many = daemon.place.work().join("many.py");
    std::fs::write(&many, MANY).unwrap();
    let mut command = std::process::Command::new("python3");
    command.arg(&many).arg(&socket).arg(made.stdout.trim());
    let answers = support::outcome(command.env("ACPD_PROCESS", "0000abc-0007-42")).stdout;
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 40, "{answers}");
}
