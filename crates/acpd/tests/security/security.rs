//! Authentication, secrets, and the consequences of breaking the rules.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::process::Signal;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{
    self, Client, Daemon, PATIENCE, Place, Running, acpd, ask, end, exchange, header, not_tested, outcome,
    send, upgrade, wait_until,
};

fn mode(path: &Path) -> u32 {
    let metadata = std::fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    metadata.permissions().mode() & 0o777
}

#[test]
fn only_the_token_grants_access() {
    let daemon = Daemon::start();
    let host = daemon.address().to_string();
    let token = daemon.place.token();
    assert!(token.len() >= 32, "{} characters", token.len());
    let right = format!("Bearer {token}");
    let wrong = format!("Bearer {}x", &token[1..]);
    let basic = format!("Basic {token}");
    let longer = format!("Bearer {token}{token}");
    let in_url = format!("/ws?token={token}&access_token={token}");
    for (path, authorization, status) in [
        ("/ws", None, 401),
        ("/ws", Some(&wrong), 401),
        ("/ws", Some(&basic), 401),
        ("/ws", Some(&longer), 401),
        ("/ws", Some(&"Bearer ".to_owned()), 401),
        (&in_url[..], None, 401),
        ("/ws", Some(&right), 101),
    ] {
        let mut headers = vec![("Host", &host[..])];
        if let Some(authorization) = authorization {
            headers.push(("Authorization", &authorization[..]));
        }
        let (got, answer) = upgrade(daemon.address(), path, &headers);
        assert_eq!(got, status, "{path} {authorization:?}: {answer}");
        assert!(!answer.contains(&token), "the token is told");
        assert!(
            status != 401 || answer.to_lowercase().contains("www-authenticate: bearer"),
            "{answer}"
        );
    }
    assert!(!daemon.log().contains(&token), "the token is logged");
}

#[test]
fn pages_of_other_origins_and_other_names_are_turned_away() {
    let daemon = Daemon::start();
    let own = daemon.address().to_string();
    let port = daemon.address().port();
    let local = format!("localhost:{port}");
    let rebound = format!("evil.example:{port}");
    let bearer = format!("Bearer {}", daemon.place.token());
    let own_origin = format!("http://{own}");
    let local_origin = format!("http://{local}");
    let secure = format!("https://{own}");
    for (host, origin, status) in [
        (&own[..], None, 101),
        (&local, None, 101),
        (&own, Some(&own_origin[..]), 101),
        (&local, Some(&local_origin), 101),
        (&own, Some("http://evil.example"), 403),
        (&own, Some(&local_origin), 403),
        (&own, Some("null"), 403),
        (&own, Some(&secure), 403),
        (&own, Some("http://127.0.0.1"), 403),
        (&rebound, None, 403),
        (&rebound, Some(&own_origin), 403),
        ("127.0.0.1", None, 403),
        ("", None, 403),
    ] {
        let mut headers = vec![("Host", host), ("Authorization", &bearer[..])];
        headers.extend(origin.map(|origin| ("Origin", origin)));
        let (got, answer) = upgrade(daemon.address(), "/ws", &headers);
        assert_eq!(got, status, "{host} {origin:?}: {answer}");
    }
    for (path, host, status) in [
        ("/healthz", &own, 200),
        ("/readyz", &own, 200),
        ("/api/nothing", &own, 404),
        ("/healthz", &rebound, 403),
    ] {
        let (got, answer) = ask(daemon.address(), path, &[("Host", host)]);
        assert_eq!(got, status, "{path} {host}: {answer}");
    }
}

#[test]
fn localhost_leads_to_the_daemon_whichever_address_a_browser_takes() {
    let daemon = Daemon::start();
    let port = daemon.address().port();
    let local = format!("localhost:{port}");
    for ip in ["127.0.0.1", "::1"] {
        if TcpListener::bind((ip, 0)).is_err() {
            // The host has no IPv6.
            continue;
        }
        let address = SocketAddr::new(ip.parse().unwrap(), port);
        for (host, status) in [
            (local.clone(), 200),
            (address.to_string(), 200),
            (format!("evil.example:{port}"), 403),
        ] {
            let (got, answer) = ask(address, "/healthz", &[("Host", &host)]);
            assert_eq!(got, status, "{ip} {host}: {answer}");
        }
        let taken = TcpListener::bind(address).map(drop).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AddrInUse);
    }
}

#[test]
fn localhost_is_refused_while_another_program_has_an_address_of_it() {
    // In both orders: which of the two is the daemon's.
    for (ours, theirs) in [("127.0.0.1", "::1"), ("::1", "127.0.0.1")] {
        let (Ok(other), Ok(_)) = (TcpListener::bind((theirs, 0)), TcpListener::bind((ours, 0))) else {
            not_tested("the host has no IPv6");
        };
        let port = other.local_addr().unwrap().port();
        let address = SocketAddr::new(ours.parse().unwrap(), port);
        // The name is not the daemon's even if it is configured.
        let place = Place::new("[server]\nhosts = [\"localhost\"]\n");
        let daemon = Running::start(place.command(&["serve"]).env("ACPD_LISTEN", address.to_string()));
        daemon.wait_for_output("web UI: ");
        let other_address = SocketAddr::new(theirs.parse().unwrap(), port);
        daemon.wait_for_error(&format!("{other_address} is taken by another program"));
        let local = format!("localhost:{port}");
        for accept in ["*/*", "text/html"] {
            for name in [local.clone(), local.to_uppercase()] {
                let headers = [("Host", &name[..]), ("Accept", accept)];
                let (status, answer) = ask(address, "/", &headers);
                assert_eq!(status, 403, "{name}: {answer}");
                assert!(answer.contains(&format!("use http://{address}")), "{answer}");
            }
        }
        let (status, answer) = ask(address, "/healthz", &[("Host", &address.to_string())]);
        assert_eq!(status, 200, "{answer}");
        if ours == "127.0.0.1" {
            // The token is not sent to the other program.
            let url = format!("http://{local}");
            let mut threads = place.command(&["threads", "--connect", &url]);
            let refused = outcome(threads.env("ACPD_TOKEN", place.token()));
            assert_ne!(refused.code, Some(0));
            assert!(
                refused.stderr.contains(&format!("use http://{address}")),
                "{}",
                refused.stderr
            );
        }
        other.set_nonblocking(true).unwrap();
        assert!(other.accept().is_err(), "nothing was sent to the other program");
    }
}

#[test]
fn a_configured_name_is_ours_on_every_route() {
    let daemon = Daemon::with("[server]\nhosts = [\"box.example\"]\n");
    let port = daemon.address().port();
    let bearer = format!("Bearer {}", daemon.place.token());
    let here = format!("box.example:{port}");
    for (host, origin, status) in [
        ("box.example", None, 200),
        (&here[..], None, 200),
        // Behind a TLS-terminating proxy, and without one.
        ("box.example", Some("https://box.example"), 200),
        ("box.example", Some("http://box.example"), 200),
        ("box.example", Some("https://evil.example"), 403),
        ("box.example:9999", None, 403),
        ("evil.example", None, 403),
        ("box.example.evil.example", None, 403),
    ] {
        for (method, path) in [
            ("GET", "/api/session"),
            ("GET", "/healthz"),
            ("GET", "/readyz"),
            ("GET", "/ws"),
            ("GET", "/nothing"),
            ("GET", "/api/threads/x/export"),
            ("GET", "/api/blobs/x"),
            ("PUT", "/api/threads/x/attachments/y"),
            ("POST", "/api/tickets"),
            ("POST", "/api/session"),
            ("DELETE", "/api/session"),
            ("POST", "/api/tokens/reload"),
        ] {
            let mut headers = vec![("Host", host), ("Authorization", &bearer[..])];
            headers.extend(origin.map(|origin| ("Origin", origin)));
            let (got, answer) = send(daemon.address(), method, path, &headers, "");
            if path == "/api/session" && method == "GET" {
                assert_eq!(got, status, "{host} {origin:?}: {answer}");
            }
            assert_eq!(
                got == 403,
                status == 403,
                "{method} {path} {host} {origin:?}: {answer}"
            );
        }
    }
    let refused = acpd(
        &Place::new("[server]\nhosts = [\"https://box.example\"]\n"),
        &["serve"],
    );
    assert!(
        refused.stderr.contains("without scheme or path"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_name_that_is_refused_comes_with_the_setting_that_allows_it() {
    let mut daemon = Daemon::start();
    // As through `ssh -L 8080:localhost:PORT`, and through a forwarded port of another host.
    for (host, setting) in [
        ("localhost:8080", r#"[server] hosts = ["localhost:8080"]"#),
        ("box:8080", r#"[server] hosts = ["box:8080"]"#),
        ("box.example", r#"[server] hosts = ["box.example"]"#),
    ] {
        let (status, answer) = ask(daemon.address(), "/healthz", &[("Host", host)]);
        let sent_message = support::body(&answer)["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            status == 403 && sent_message.ends_with(setting),
            "{host}: {answer}"
        );
        daemon.stop();
        daemon.place.configure(&setting.replace("] hosts", "]\nhosts"));
        daemon.restart();
        let own = format!("http://{host}");
        let (status, answer) = ask(daemon.address(), "/healthz", &[("Host", host), ("Origin", &own)]);
        assert_eq!(status, 200, "{host}: {answer}");
    }
    let (status, answer) = ask(daemon.address(), "/healthz", &[("Host", "a b")]);
    assert!(
        status == 403 && answer.contains("does not name one host"),
        "{answer}"
    );
}

#[test]
fn each_response_has_security_headers() {
    let daemon = Daemon::start();
    let host = daemon.address().to_string();
    let bearer = format!("Bearer {}", daemon.place.token());
    for (method, path, host, status) in [
        ("GET", "/healthz", &host[..], 200),
        ("GET", "/api/nothing", &host, 404),
        ("GET", "/api/session", &host, 200),
        ("POST", "/api/tickets", &host, 200),
        ("PUT", "/api/session", &host, 405),
        ("GET", "/api/session", "evil.example", 403),
    ] {
        let headers = [("Host", host), ("Authorization", &bearer[..])];
        let (got, answer) = send(daemon.address(), method, path, &headers, "");
        assert_eq!(got, status, "{method} {path}: {answer}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("cache-control", "no-store"),
            (
                "content-security-policy",
                "default-src 'none'; frame-ancestors 'none'",
            ),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
        ] {
            assert_eq!(header(&answer, name), value, "{method} {path} {name}");
        }
    }
}

#[test]
fn files_of_the_daemon_are_readable_by_the_owner_only() {
    let mut daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    client.thread(&daemon);
    let data = daemon.place.data();
    assert_eq!(mode(&data), 0o700);
    let mut files = 0;
    for entry in std::fs::read_dir(&data).unwrap() {
        let path = entry.unwrap().path();
        let expected = match path.file_name().and_then(|name| name.to_str()) {
            // Agents start in a directory that stays empty.
            Some("start") => 0o500,
            Some("attachments") => 0o700,
            _ => 0o600,
        };
        assert_eq!(mode(&path), expected, "{}", path.display());
        files += 1;
    }
    assert!(files >= 3, "token, notice and log");
    let token = daemon.place.token();
    daemon.stop();
    daemon.restart();
    assert_eq!(daemon.place.token(), token, "a restart shuts nobody out");
    daemon.stop();
    std::fs::set_permissions(data.join("token"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = acpd(&daemon.place, &["serve"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("chmod 600") && !refused.stderr.contains(&token),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_short_token_is_refused() {
    let place = Place::new("");
    let refused = support::outcome(place.command(&["serve"]).env("ACPD_TOKEN", "short"));
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("at least 16 characters"),
        "{}",
        refused.stderr
    );
    assert!(!refused.stderr.contains("short"), "{}", refused.stderr);
}

#[test]
fn an_agent_gets_nothing_of_the_daemons_own_environment() {
    let daemon = Daemon::start();
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(
        &thread,
        "env CARGO_MANIFEST_DIR; env ACPD_DATA_DIR; env ACPD_TOKEN",
    );
    let expected = "CARGO_MANIFEST_DIR is not setACPD_DATA_DIR is not setACPD_TOKEN is not set";
    assert_eq!(turn.said(), expected);
    let turn = client.turn(
        &thread,
        "terminal sh -c \"echo [$ACPD_DATA_DIR$CARGO_MANIFEST_DIR]\"",
    );
    assert_eq!(turn.said(), "exit 0: []\r\n");
}

#[test]
fn the_network_is_not_listened_to() {
    let place = Place::new("");
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:4127"] {
        let refused = acpd(&place, &["serve", "--listen", address]);
        assert_eq!(refused.code, Some(1), "{address}");
        assert!(
            refused.stderr.contains("not a loopback address") && refused.stderr.contains("[server.tls]"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn a_message_beyond_the_limit_ends_its_connection_alone() {
    let daemon = Daemon::start();
    let mut other = Client::new(&daemon);
    let thread = other.thread(&daemon);
    let turn = other.start(&thread, "permission");
    let question = other.question();

    let request = |pad: usize| {
        json!({ "jsonrpc": "2.0", "id": 7, "method": "agent/list", "params": { "_pad": "x".repeat(pad) } })
            .to_string()
    };
    let limit = 1 << 20;
    let mut client = Client::new(&daemon);
    client
        .send(Message::text(request(limit - request(0).len())))
        .unwrap();
    client.answer(7).unwrap();
    for excess in [1, 5 << 20] {
        let mut client = Client::new(&daemon);
        // The daemon may close the connection before the whole message is sent.
        let _ = client.send(Message::text(request(limit - request(0).len() + excess)));
        let (_, closed) = client.drain();
        assert_eq!(
            closed.map(|(code, _)| code),
            Some(1009),
            "{excess} bytes too many"
        );
    }
    other.respond(&question, &json!({ "decision": "accept" }));
    assert_eq!(other.finish(&thread, &turn).said(), "allowed (allow_once)");
}

#[test]
fn binary_frames_are_refused() {
    let daemon = Daemon::start();
    let mut other = Client::new(&daemon);
    let mut client = Client::new(&daemon);
    client.send(Message::binary(&b"{}"[..])).unwrap();
    let (_, closed) = client.drain();
    assert_eq!(closed.map(|(code, _)| code), Some(1003));
    other.call("agent/list", &json!({}));
}

#[test]
fn too_many_requests_are_refused_on_their_connection_alone() {
    let daemon = Daemon::with("[limits]\nrequest_window_secs = 3600\n");
    let mut client = Client::new(&daemon);
    for _ in 1..60 {
        client.call("agent/list", &json!({}));
    }
    let refused = client.refused("agent/list", &json!({}));
    assert_eq!(
        (&refused["code"], &refused["data"]["retryable"]),
        (&json!(-32005), &json!(true))
    );
    Client::new(&daemon).call("agent/list", &json!({}));
}

#[test]
fn the_window_of_requests_slides_on() {
    let daemon = Daemon::with("[limits]\nrequests_per_window = 3\nrequest_window_secs = 1\n");
    let mut client = Client::new(&daemon);
    wait_until("a request is refused", || {
        client.try_call("agent/list", &json!({})).is_err()
    });
    wait_until("a request is taken again", || {
        client.try_call("agent/list", &json!({})).is_ok()
    });
}

#[test]
fn a_second_daemon_leaves_the_first_one_alone() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let notice = std::fs::read(daemon.place.data().join("daemon.json")).unwrap();
    let second = acpd(&daemon.place, &["serve"]);
    assert_eq!(second.code, Some(1));
    assert!(
        second.stderr.contains("in use by another acpd"),
        "{}",
        second.stderr
    );
    assert_eq!(
        std::fs::read(daemon.place.data().join("daemon.json")).unwrap(),
        notice
    );
    let thread = client.thread(&daemon);
    assert_eq!(client.turn(&thread, "say fine").said(), "fine");
}

#[test]
fn a_busy_port_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let place = Place::new("");
    let refused = acpd(&place, &["serve", "--listen", &address]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains(&format!("cannot listen on {address}")),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("another program listens there"),
        "{}",
        refused.stderr
    );
    assert!(!place.data().join("daemon.json").exists());
}

#[test]
fn the_local_socket_is_for_programs_of_its_user() {
    let mut daemon = Daemon::start();
    let path = daemon.place.data().join("acpd.sock");
    let status = |path: &Path, headers: &[(&str, &str)]| {
        let mut socket = UnixStream::connect(path).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        exchange(&mut socket, "GET", "/api/session", headers, "").0
    };
    assert_eq!(status(&path, &[("Host", "localhost")]), 200);
    assert_eq!(
        status(&path, &[("Host", "x"), ("Authorization", "Bearer wrong")]),
        401
    );
    for passed_on in [
        "Origin",
        "Cookie",
        "X-Forwarded-For",
        "Forwarded",
        "Via",
        "X-Real-IP",
    ] {
        assert_eq!(
            status(&path, &[("Host", "x"), (passed_on, "x")]),
            403,
            "{passed_on}"
        );
    }
    daemon.kill();
    assert!(path.exists(), "a daemon that was killed leaves it");
    daemon.restart();
    assert_eq!(acpd(&daemon.place, &["threads"]).code, Some(0));
    daemon.stop();
    assert!(!path.exists());
}

#[test]
fn a_stranger_on_a_dead_daemons_port_is_shown_nothing() {
    let mut daemon = Daemon::start();
    daemon.kill();
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let notice = json!({ "address": stranger.local_addr().unwrap(), "pid": 1, "version": "0" });
    std::fs::write(daemon.place.data().join("daemon.json"), notice.to_string()).unwrap();
    let listed = acpd(&daemon.place, &["threads"]);
    if let Some(pid) = daemon.place.noticed_pid() {
        end(pid, Signal::TERM);
    }
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    assert!(listed.stderr.contains("starting one"), "{}", listed.stderr);
    stranger.set_nonblocking(true).unwrap();
    assert_eq!(stranger.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn connections_without_a_token_do_not_block_others() {
    // The daemon closes an HTTP/2 connection that sends only this after a minute, which is longer than this test waits.
    const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
    let daemon = Daemon::with("[limits]\nconnections = 80\n");
    let bearer = format!("Bearer {}", daemon.place.token());
    let host = daemon.address().to_string();
    let headers = [("Host", &host[..]), ("Authorization", &bearer[..])];
    let connect = || {
        let stream = TcpStream::connect(daemon.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    };
    let mut known = connect();
    assert_eq!(exchange(&mut known, "GET", "/api/session", &headers, "").0, 200);
    // More than all addresses together may have, so that none is waited for.
    let mut strangers: Vec<_> = (0..300)
        .map(|_| {
            let mut stranger = connect();
            stranger.write_all(HELLO).unwrap();
            stranger
        })
        .collect();
    let (status, answer) = send(daemon.address(), "GET", "/api/session", &headers, "");
    assert_eq!(status, 200, "{answer}");
    // The daemon closed the oldest connection, and kept the authenticated one.
    let end = strangers[0].read_to_end(&mut Vec::new());
    let late = |error: &std::io::Error| error.kind() == ErrorKind::WouldBlock;
    assert!(!end.as_ref().is_err_and(late), "{end:?}");
    assert_eq!(exchange(&mut known, "GET", "/api/session", &headers, "").0, 200);
}
