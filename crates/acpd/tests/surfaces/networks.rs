//! Networks and hosts that misbehave: proxies on both sides, daemons that do not answer, requests that come twice, few
//! descriptors, and a data directory that another host uses.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    Client, Daemon, Editor, Place, Running, acpd, body, header, outcome, send, upgrade, wait_until,
};

#[test]
fn a_password_of_a_proxy_in_front_is_not_ours() {
    let daemon = Daemon::start();
    let (address, host) = (daemon.address(), daemon.address().to_string());
    let login = json!({ "token": daemon.place.token() }).to_string();
    let basic = ("Authorization", "Basic eDp5");
    let json_body = ("Content-Type", "application/json");
    let (status, answer) = send(
        address,
        "POST",
        "/api/session",
        &[("Host", &host), json_body, basic],
        &login,
    );
    assert_eq!(status, 200, "{answer}");
    let cookie = header(&answer, "set-cookie")
        .split(';')
        .next()
        .unwrap_or_default();
    let login = body(&answer);
    let key = login["pageKey"].as_str().expect("it has a key");
    let origin = format!("http://{host}");
    let page = [
        ("Host", &host[..]),
        ("Origin", &origin),
        ("Cookie", cookie),
        ("Acpd-Page-Key", key),
    ];
    let wrong = ("Authorization", "Bearer wrong");
    for (authorization, expected) in [(Some(basic), 200), (Some(wrong), 401), (None, 200)] {
        let headers: Vec<_> = page.into_iter().chain(authorization).collect();
        let (status, answer) = send(address, "GET", "/api/session", &headers, "");
        assert_eq!(status, expected, "{authorization:?}: {answer}");
        let opened = if expected == 200 { 101 } else { expected };
        assert_eq!(upgrade(address, "/ws", &headers).0, opened, "{authorization:?}");
    }
}

/// Passes on one connection after a `CONNECT`, to an address of the test's choice. Returns the proxy's address, and what it was
/// asked.
fn proxy(to: std::net::SocketAddr) -> (std::net::SocketAddr, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    let (asked_tx, asked) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut near = stream.expect("a connection comes in");
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                near.read_exact(&mut byte).expect("the client sends a head");
                head.push(byte[0]);
            }
            // The test may have seen enough.
            let _ = asked_tx.send(String::from_utf8_lossy(&head).into_owned());
            near.write_all(b"HTTP/1.1 200 OK\r\n\r\n")
                .expect("the client reads");
            let mut far = TcpStream::connect(to).expect("the daemon listens");
            let (mut from, mut back) = (
                near.try_clone().expect("shared"),
                far.try_clone().expect("shared"),
            );
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut far);
                let _ = far.shutdown(std::net::Shutdown::Write);
            });
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut back, &mut near);
                let _ = near.shutdown(std::net::Shutdown::Write);
            });
        }
    });
    (address, asked)
}

#[test]
fn commands_reach_a_daemon_through_the_proxy_of_their_environment() {
    let daemon = Daemon::with("[server]\nhosts = [\"box.invalid:4127\"]\n[server.tls]\nself_signed = true\n");
    let log = std::fs::read(daemon.place.data().join("tls-cert.pem")).expect("a certificate was made");
    let fingerprint = fingerprint(&log);
    let (address, asked) = proxy(daemon.address());
    let command = |args: &[&str]| {
        let mut command = daemon.place.command(args);
        command
            .env("ACPD_CONNECT", "https://box.invalid:4127")
            .env("ACPD_TLS_FINGERPRINT", &fingerprint)
            .env("ACPD_TOKEN", daemon.place.token().trim())
            .env("HTTPS_PROXY", format!("http://me:secret@{address}"))
            .env("NO_PROXY", "localhost, .example")
            .env_remove("no_proxy");
        command
    };
    let listed = outcome(&mut command(&["threads", "--json"]));
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let head = asked.recv().expect("the proxy was asked");
    assert!(
        head.starts_with("CONNECT box.invalid:4127 HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(head.contains("Proxy-Authorization: Basic bWU6c2VjcmV0"), "{head}");
    // With blanks, and then without the proxy: the name does not exist.
    let direct = outcome(command(&["threads"]).env("NO_PROXY", "x, .invalid"));
    assert_eq!(direct.code, Some(6), "{}", direct.stderr);
    assert!(asked.try_recv().is_err(), "the proxy was not asked");
    // This host is never reached through the proxy.
    let local = outcome(
        command(&["threads"])
            .env_remove("ACPD_CONNECT")
            .env_remove("ACPD_TLS_FINGERPRINT"),
    );
    assert_eq!(local.code, Some(0), "{}", local.stderr);
    assert!(asked.try_recv().is_err(), "the proxy was not asked");
    let refused = outcome(command(&["threads"]).env("HTTPS_PROXY", "socks5://127.0.0.1:1"));
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("HTTPS_PROXY names a SOCKS5 proxy"),
        "{}",
        refused.stderr
    );
}

/// Returns the fingerprint of a certificate in PEM.
fn fingerprint(pem: &[u8]) -> String {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    let certificate = CertificateDer::from_pem_slice(pem).expect("a certificate");
    format!("sha256:{}", acpd_loopback::sha256(&certificate))
}

#[test]
fn a_daemon_that_does_not_answer_is_reported() {
    let place = Place::new("");
    place.make_data();
    let far = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let near = UnixListener::bind(place.data().join("acpd.sock")).expect("the directory is there");
    let url = format!("http://{}", far.local_addr().expect("it has an address"));
    let mut remote = place.command(&["threads"]);
    remote
        .env("ACPD_CONNECT", url)
        .env("ACPD_TOKEN", "0123456789abcdef");
    let (mut local, accepted) = (place.command(&["threads"]), || {
        near.accept().map(|(stream, _)| stream)
    });
    for (command, accept) in [
        (
            &mut remote,
            &(|| far.accept().map(|(stream, _)| Box::new(stream) as Box<dyn Read>)) as &dyn Fn() -> _,
        ),
        (&mut local, &|| {
            accepted().map(|stream| Box::new(stream) as Box<dyn Read>)
        }),
    ] {
        let running = Running::start(command);
        let stream = accept().expect("the command connects");
        running.wait_for_error("has not answered yet; waiting for up to 30 s");
        drop(stream);
        let ended = running.finish();
        assert_eq!(ended.code, Some(6), "{}", ended.stderr);
    }
}

#[test]
fn an_id_in_flight_is_refused_and_a_thread_is_started_once() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let start = json!({
        "agentType": "fake",
        "cwd": daemon.place.work(),
        "input": [{ "type": "text", "text": "say once" }],
        "clientTurnId": "mine",
    });
    let first = client.call("thread/start", &start);
    // The client did not see the answer, and comes back on another connection.
    let mut other = Client::new(&daemon);
    let again = other.call("thread/start", &start);
    assert_eq!(first["thread"]["id"], again["thread"]["id"], "{first} {again}");
    let thread = first["thread"]["id"].as_str().expect("it has an id").to_owned();
    client.until(|message| message.method == "turn/completed");
    let third = Client::new(&daemon).call("thread/start", &start);
    assert_eq!(third["thread"]["id"], json!(thread));
    let mut different = start.clone();
    different["input"][0]["text"] = json!("say twice");
    let refused = client.refused("thread/start", &different);
    assert_eq!(refused["data"]["code"], "conflict", "{refused}");
    let read = client.call(
        "thread/read",
        &json!({ "threadId": thread, "includeTurns": true }),
    );
    assert_eq!(
        read["thread"]["turns"].as_array().map(Vec::len),
        Some(1),
        "{read}"
    );
    let listed = client.call("thread/list", &json!({}));
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "{listed}");
}

#[test]
fn a_prompt_of_an_editor_with_a_key_is_done_once() {
    let daemon = Daemon::start();
    let mut editor = Editor::socket(&daemon.place);
    editor.greet();
    let session = editor.open(&daemon);
    let prompt = json!({
        "sessionId": session,
        "prompt": [{ "type": "text", "text": "say once" }],
        "_meta": { "acpd": { "idempotencyKey": "mine" } },
    });
    assert_eq!(editor.call("session/prompt", &prompt)["stopReason"], "end_turn");
    // The editor did not see the answer, and comes back on another connection; also after a restart of the daemon.
    let repeat = |daemon: &Daemon| {
        let mut editor = Editor::socket(&daemon.place);
        editor.greet();
        let load = json!({ "sessionId": session, "cwd": daemon.place.work(), "mcpServers": [] });
        editor.call("session/load", &load);
        assert_eq!(editor.call("session/prompt", &prompt)["stopReason"], "end_turn");
        assert_eq!(editor.said(), "once");
    };
    repeat(&daemon);
    let mut daemon = daemon;
    daemon.stop();
    daemon.restart();
    repeat(&daemon);
}

/// Returns whether a connection got the answer of a daemon without descriptors.
fn is_refused(stream: &mut TcpStream) -> bool {
    let patience = Some(Duration::from_millis(200));
    stream.set_read_timeout(patience).expect("it can be set");
    let mut start = [0; 12];
    stream.read_exact(&mut start).is_ok() && start == *b"HTTP/1.1 503"
}

#[test]
fn the_limit_of_open_files_is_raised_for_the_daemon_alone() {
    let wrapper = ["sh", "-c", "ulimit -Sn 100; ulimit -Hn 120; exec \"$0\" \"$@\""];
    let daemon = Daemon::behind(Place::without_sandbox(""), &wrapper);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", daemon.pid())).expect("it runs");
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))
        .unwrap_or_default();
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!(words[3..5], ["120", "120"], "{line}");
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let run = json!({ "threadId": thread, "command": "ulimit -Sn" });
    let item = client.call("thread/command/run", &run)["itemId"].clone();
    let seen = client.until(|message| {
        message.method == "item/terminalCommand/completed" && message.params["itemId"] == item
    });
    assert_eq!(seen.last().expect("it ended").params["output"], "100\r\n");
    // Connections until only the reserved descriptors are left.
    let mut open = Vec::new();
    wait_until("a connection is refused", || {
        open.push(TcpStream::connect(daemon.address()).expect("the system accepts it"));
        daemon
            .log()
            .contains("acpd has too many open files: its limit is 120")
    });
    // The latest are the refused ones, and those that were not accepted yet.
    let mut latest = open.iter_mut().rev();
    assert!(latest.any(is_refused), "none got the answer");
    // On a busy machine, some are closed meanwhile.
    let mut refused = false;
    for _ in 0..20 {
        let turn = client.call("thread/command/run", &run)["turnId"].clone();
        let seen = client
            .until(|message| message.method == "turn/completed" && message.params["turn"]["id"] == turn);
        let ended = seen.last().expect("it ended").params.to_string();
        refused = ended.contains("too many open files: its limit is 120");
        if refused {
            break;
        }
        open.extend((0..40).map(|_| TcpStream::connect(daemon.address()).expect("the system accepts it")));
    }
    assert!(refused, "commands run although no descriptor is left");
    // The log and the local socket go on.
    let named = acpd(&daemon.place, &["rename", "@last", "still here"]);
    assert_eq!(named.code, Some(0), "{}", named.stderr);
    drop(open);
}

/// Writes the file of a daemon on another host.
fn elsewhere(data: &Path) {
    let notice = json!({
        "address": "127.0.0.1:1",
        "url": "http://127.0.0.1:1",
        "pid": 1,
        "version": "0",
        "host": { "name": "another-host", "bootId": "another-boot" },
    });
    std::fs::write(data.join("daemon.json"), notice.to_string()).expect("it can be written");
}

#[test]
fn a_data_directory_that_another_host_uses_is_left_alone() {
    let place = Place::new("");
    place.make_data();
    elsewhere(&place.data());
    for (args, code) in [
        (&["serve"][..], 6),
        (&["stop"], 6),
        (&["status"], 6),
        (&["run", "--agent", "fake", "say x"], 6),
    ] {
        let refused = acpd(&place, args);
        assert_eq!(refused.code, Some(code), "{args:?}: {}", refused.stderr);
        assert!(
            refused
                .stderr
                .contains("a daemon on the host \"another-host\" uses"),
            "{args:?}: {}",
            refused.stderr
        );
    }
    assert!(!place.data().join("log.db").exists(), "nothing was written");
    // The file of a daemon that was killed becomes old.
    let file = std::fs::File::options()
        .write(true)
        .open(place.data().join("daemon.json"))
        .expect("it is there");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    file.set_modified(long_ago).expect("its time can be set");
    let daemon = Daemon::at(place);
    let notice = std::fs::read(daemon.place.data().join("daemon.json")).expect("it is written");
    let notice: Value = serde_json::from_slice(&notice).expect("it is JSON");
    let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
    assert_eq!(notice["host"]["name"], json!(own), "{notice}");
}

#[test]
fn a_daemon_in_the_background_has_a_session_of_its_own_and_the_newest_ssh_agent() {
    let place = Place::without_sandbox("");
    let sockets = place.home().join("sockets");
    std::fs::create_dir(&sockets).expect("it can be made");
    let login = |name: &str| {
        let path = sockets.join(name);
        (UnixListener::bind(&path).expect("the path is free"), path)
    };
    let (first, path) = login("a");
    let run = ["run", "--agent", "fake", "say x"];
    let started = outcome(place.command(&run).env("SSH_AUTH_SOCK", &path));
    let background = place.background().expect("it runs");
    assert_eq!(started.code, Some(0), "{}", started.stderr);
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", background.0)).expect("it runs");
    let (_, rest) = stat.rsplit_once(") ").expect("it has a name");
    let session = rest.split(' ').nth(3).expect("it has a session");
    assert_eq!(session, background.0.to_string());
    let environment = std::fs::read(format!("/proc/{}/environ", background.0)).expect("it runs");
    let link = place.data().join("ssh-agent.sock");
    let variable = format!("SSH_AUTH_SOCK={}", link.display());
    assert!(
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == variable.as_bytes())
    );
    assert_eq!(std::fs::read_link(&link).expect("there is a link"), path);
    drop(first);
    let (_second, newer) = login("b");
    let listed = outcome(place.command(&["threads"]).env("SSH_AUTH_SOCK", &newer));
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    assert_eq!(std::fs::read_link(&link).expect("there is a link"), newer);
    assert_eq!(acpd(&place, &["stop"]).code, Some(0));
}
