//! Tokens with roles, tickets, and browser sessions.

use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use acpd_model::Role;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    Client, Daemon, PATIENCE, Place, acpd, body, exchange, header, outcome, send, signal, upgrade, wait_until,
};

/// Creates a token.
fn create(place: &Place, name: &str, role: &str) -> String {
    let made = acpd(place, &["token", "create", "--name", name, "--role", role]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let secret = made.stdout.trim().to_owned();
    assert!(!made.stderr.contains(&secret), "{}", made.stderr);
    secret
}

/// Returns the status of a WebSocket upgrade with this token.
fn met(daemon: &Daemon, token: &str) -> u16 {
    let (host, bearer) = (daemon.address().to_string(), format!("Bearer {token}"));
    upgrade(
        daemon.address(),
        "/ws",
        &[("Host", &host), ("Authorization", &bearer)],
    )
    .0
}

/// Makes a request with a valid `Host`.
fn call(daemon: &Daemon, method: &str, path: &str, more: &[(&str, &str)], body: &str) -> (u16, String) {
    let host = daemon.address().to_string();
    let mut headers = vec![("Host", &host[..])];
    headers.extend(more);
    send(daemon.address(), method, path, &headers, body)
}

/// A browser's session: its cookie header, and the page key.
struct Session {
    cookie: String,
    key: String,
}

/// Signs in.
fn log_in(daemon: &Daemon, login: &Value) -> Session {
    let json = [("Content-Type", "application/json")];
    let (status, answer) = call(daemon, "POST", "/api/session", &json, &login.to_string());
    assert_eq!(status, 200, "{answer}");
    let cookie = header(&answer, "set-cookie").split(';').next();
    Session {
        cookie: cookie.unwrap_or_default().to_owned(),
        key: body(&answer)["pageKey"].as_str().unwrap_or_default().to_owned(),
    }
}

#[test]
fn a_token_opens_what_its_role_is_for() {
    let place = Place::new("");
    // One token exists before the daemon starts; the daemon loads the others while it runs.
    let mut tokens = vec![(Role::Observer, create(&place, "observer-1", "observer"))];
    let daemon = Daemon::at(place);
    for role in &Role::ALL[1..] {
        let token = create(&daemon.place, &format!("{role}-1"), role.name());
        tokens.push((*role, token));
    }
    for (role, token) in &tokens {
        let bearer = format!("Bearer {token}");
        let mut client = Client::entering(&daemon, "/ws", &[("authorization", &bearer)]);
        let welcome = client.greet("test", &json!({}));
        let identity = json!({ "principal": format!("{role}-1"), "role": role });
        assert_eq!(welcome["identity"], identity);
        for (method, needed) in [
            ("agent/list", Role::Observer),
            ("item/approve", Role::Approver),
            ("thread/start", Role::Operator),
            ("thread/policy/set", Role::Owner),
        ] {
            let error = client.try_call(method, &json!({})).err().unwrap_or_default();
            assert_eq!(
                error["code"] == -32007,
                !role.may(needed),
                "{role} {method}: {error}"
            );
        }
        // Of these routes, the first requires the role observer, the second the role owner.
        let shown = [("Authorization", &bearer[..])];
        assert_eq!(call(&daemon, "GET", "/api/threads/x/export", &shown, "").0, 400);
        let (status, answer) = call(&daemon, "POST", "/api/tokens/reload", &shown, "");
        assert_eq!(status, if *role == Role::Owner { 204 } else { 403 }, "{answer}");
    }
}

#[test]
fn an_operator_cannot_set_a_threads_policy() {
    let daemon = Daemon::start();
    let ann = create(&daemon.place, "ann", "operator");
    let mut ann = Client::with_token(&daemon, &ann);
    let mut start = json!({ "agentType": "fake", "cwd": daemon.place.work(), "policy": "permissive" });
    let refused = ann.refused("thread/start", &start);
    assert_eq!(refused["data"]["code"], "forbidden", "{refused}");
    assert_eq!(
        Client::new(&daemon).call("thread/list", &json!({}))["data"],
        json!([])
    );
    start["policy"] = Value::Null;
    ann.call("thread/start", &start);
}

#[test]
fn the_record_says_who_did_what() {
    let daemon = Daemon::start();
    let ann = create(&daemon.place, "ann", "operator");
    let bob = create(&daemon.place, "bob@box.example", "approver");
    let mut ann = Client::with_token(&daemon, &ann);
    let thread = ann.thread(&daemon);
    let turn = ann.start(&thread, "permission");
    let mut bob = Client::with_token(&daemon, &bob);
    bob.resume(&thread, 0);
    let question = bob.question();
    bob.respond(&question, &json!({ "decision": "accept" }));
    assert_eq!(ann.finish(&thread, &turn).said(), "allowed (allow_once)");
    let record = acpd(&daemon.place, &["export", &thread]).stdout;
    let by = |principal: &str| record.contains(&format!("\"principal\":\"{principal}\""));
    assert!(by("ann") && by("bob@box.example") && !by("owner"), "{record}");
}

#[test]
fn a_revoked_token_is_out_at_once() {
    let daemon = Daemon::start();
    let (gone, stays) = (
        create(&daemon.place, "gone", "operator"),
        create(&daemon.place, "stays", "operator"),
    );
    let mut client = Client::with_token(&daemon, &gone);
    let mut other = Client::with_token(&daemon, &stays);
    let mut by_cookie = {
        let session = log_in(&daemon, &json!({ "token": gone }));
        let origin = format!("http://{}", daemon.address());
        let key = ("acpd-page-key", &session.key[..]);
        let headers = [("cookie", &session.cookie[..]), ("origin", &origin), key];
        Client::entering(&daemon, "/ws", &headers)
    };
    let revoked = acpd(&daemon.place, &["token", "revoke", "gone"]);
    assert!(
        revoked.stdout.contains("its connections have ended"),
        "{}",
        revoked.stdout
    );
    assert_eq!(met(&daemon, &gone), 401);
    for client in [&mut client, &mut by_cookie] {
        let (_, closed) = client.drain();
        assert_eq!(closed, Some((1008, "access has ended".to_owned())));
    }
    let bearer = format!("Bearer {}", daemon.place.token());
    wait_until("both connections are counted", || {
        let (_, metrics) = call(&daemon, "GET", "/metrics", &[("Authorization", &bearer)], "");
        metrics.contains("acpd_clients_dropped_total{reason=\"expired\"} 2")
    });
    other.call("agent/list", &json!({}));
    let again = acpd(&daemon.place, &["token", "revoke", "gone"]);
    assert_eq!(again.code, Some(5));
    assert!(again.stderr.contains("there is no token"), "{}", again.stderr);
    // The daemon notices the change without a notification. A damaged file revokes no token.
    let file = daemon.place.data().join("tokens.json");
    std::fs::write(&file, "{").unwrap();
    wait_until("the daemon has seen it", || {
        daemon.log().contains("tokens not reloaded")
    });
    other.call("agent/list", &json!({}));
    std::fs::remove_file(&file).unwrap();
    let (_, closed) = other.drain();
    assert_eq!(closed.map(|(code, _)| code), Some(1008));
}

#[test]
fn tokens_are_listed_and_end_without_their_secret() {
    let daemon = Daemon::start();
    let secret = create(&daemon.place, "ann", "observer");
    let made = acpd(
        &daemon.place,
        &[
            "token",
            "create",
            "--name",
            "short",
            "--role",
            "owner",
            "--expires",
            "90m",
        ],
    );
    let short = made.stdout.trim().to_owned();
    assert_eq!((met(&daemon, &short), met(&daemon, &secret)), (101, 101));
    let listed = acpd(&daemon.place, &["token", "list", "--json"]).stdout;
    assert!(
        !listed.contains(&secret[5..]) && !listed.contains("hash"),
        "{listed}"
    );
    let lines: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["expiresAt"], Value::Null);
    let lives = lines[1]["expiresAt"].as_i64().unwrap() - lines[1]["createdAt"].as_i64().unwrap();
    assert_eq!((&lines[1]["role"], lives), (&json!("owner"), 90 * 60_000));
    // Makes the token expire.
    let file = daemon.place.data().join("tokens.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let over = text.replace(&lines[1]["expiresAt"].to_string(), "1");
    std::fs::write(&file, over).unwrap();
    wait_until("the daemon has seen it", || met(&daemon, &short) == 401);
    assert_eq!(met(&daemon, &secret), 101);
    let listed = acpd(&daemon.place, &["token", "list"]).stdout;
    assert!(
        listed.contains("never") && listed.contains("(expired)"),
        "{listed}"
    );
    for (args, public_text) in [
        (
            ["--name", "owner", "--role", "observer"],
            "cannot be a token's name",
        ),
        (["--name", "ann", "--role", "observer"], "already"),
        (["--name", "x", "--role", "admin"], "unknown role"),
        (["--name", "x", "--expires", "soon"], "--role"),
    ] {
        let mut line = vec!["token", "create"];
        line.extend(args);
        let refused = acpd(&daemon.place, &line);
        assert!(refused.code != Some(0) && refused.stdout.is_empty(), "{line:?}");
        assert!(refused.stderr.contains(public_text), "{}", refused.stderr);
    }
}

#[test]
fn a_ticket_works_once_with_the_identity_of_its_creator() {
    let daemon = Daemon::start();
    let token = format!("Bearer {}", create(&daemon.place, "ann", "approver"));
    let ticket = || {
        let (status, answer) = call(&daemon, "POST", "/api/tickets", &[("Authorization", &token)], "");
        assert_eq!(
            (status, &body(&answer)["expiresInSecs"]),
            (200, &json!(30)),
            "{answer}"
        );
        format!("/ws?ticket={}", body(&answer)["ticket"].as_str().unwrap())
    };
    assert_eq!(call(&daemon, "POST", "/api/tickets", &[], "").0, 401);
    let (used, unused) = (ticket(), ticket());
    let mut client = Client::entering(&daemon, &used, &[]);
    let welcome = client.greet("test", &json!({}));
    assert_eq!(
        welcome["identity"],
        json!({ "principal": "ann", "role": "approver" })
    );
    let host = daemon.address().to_string();
    let status = |path: &str, more: &[(&str, &str)]| {
        let mut headers = vec![("Host", &host[..])];
        headers.extend(more);
        upgrade(daemon.address(), path, &headers).0
    };
    assert_eq!(status(&used, &[]), 401, "it is used");
    assert_eq!(status("/ws?ticket=", &[]), 401);
    assert_eq!(status("/ws?ticket=0000", &[]), 401);
    assert_eq!(status(&unused, &[("Origin", "http://evil.example")]), 403);
    let elsewhere = unused.replace("/ws", "/api/session");
    assert_eq!(
        call(&daemon, "GET", &elsewhere, &[], "").0,
        401,
        "it is for the socket"
    );
    assert_eq!(status(&unused, &[]), 101, "and is still there");
    let late = ticket();
    acpd(&daemon.place, &["token", "revoke", "ann"]);
    assert_eq!(status(&late, &[]), 401);
    assert_eq!(client.drain().1.map(|(code, _)| code), Some(1008));
}

#[test]
fn a_ticket_that_finds_no_room_still_works_afterwards() {
    let daemon = Daemon::with("[limits]\nconnections = 1\n");
    // The local socket has its own limit.
    let mut socket = UnixStream::connect(daemon.place.data().join("acpd.sock")).unwrap();
    let (_, answer) = exchange(&mut socket, "POST", "/api/tickets", &[("Host", "x")], "");
    let login = json!({ "ticket": body(&answer)["ticket"] }).to_string();
    let host = daemon.address().to_string();
    let bearer = format!("Bearer {}", daemon.place.token());
    let known = [("Host", &host[..]), ("Authorization", &bearer[..])];
    let mut other = TcpStream::connect(daemon.address()).unwrap();
    other.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(exchange(&mut other, "GET", "/api/session", &known, "").0, 200);
    let json = [("Content-Type", "application/json")];
    let log_in = || call(&daemon, "POST", "/api/session", &json, &login);
    let (status, answer) = log_in();
    assert_eq!(status, 503, "{answer}");
    drop(other);
    // The daemon notices the end of the other connection with a delay.
    let mut answered = (503, String::new());
    wait_until("there is room again", || {
        answered = log_in();
        answered.0 != 503
    });
    assert_eq!(answered.0, 200, "{}", answered.1);
    assert_eq!(log_in().0, 401, "it is used");
}

#[test]
fn no_more_tickets_wait_than_there_is_room_for() {
    let daemon = Daemon::start();
    let token = format!("Bearer {}", daemon.place.token());
    let ticket = |_| call(&daemon, "POST", "/api/tickets", &[("Authorization", &token)], "");
    let (status, answer) = (0..100).map(ticket).find(|(status, _)| *status != 200).unwrap();
    assert_eq!(status, 429, "{answer}");
    assert_eq!(header(&answer, "retry-after"), "30");
}

#[test]
fn a_browser_has_a_cookie_and_speaks_for_its_own_page_alone() {
    let mut daemon = Daemon::start();
    let token = create(&daemon.place, "ann", "operator");
    let json = [("Content-Type", "application/json")];
    let login = json!({ "token": token }).to_string();
    let (status, answer) = call(&daemon, "POST", "/api/session", &json, &login);
    assert_eq!(
        (status, &body(&answer)["principal"]),
        (200, &json!("ann")),
        "{answer}"
    );
    let set = header(&answer, "set-cookie").to_owned();
    assert!(!set.contains(&token) && !set.contains("Secure"), "{set}");
    for flag in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(set.contains(flag), "{set}");
    }
    let cookie = set.split(';').next().unwrap().to_owned();
    let key = body(&answer)["pageKey"].as_str().unwrap().to_owned();
    let origin = format!("http://{}", daemon.address());
    let host = daemon.address().to_string();
    let with = |more: &[(&'static str, &'static str)]| {
        let mut headers = vec![
            ("Host", host.clone()),
            ("Cookie", format!("a=b; {cookie}; c=d")),
            ("Acpd-Page-Key", key.clone()),
        ];
        headers.extend(more.iter().map(|(name, value)| {
            let value = if *value == "own" {
                origin.clone()
            } else {
                (*value).to_owned()
            };
            (*name, value)
        }));
        headers
    };
    let evil = ("Origin", "http://evil.example");
    let (own, beside) = (("Origin", "own"), ("Sec-Fetch-Site", "same-site"));
    for (method, path, more, status) in [
        ("GET", "/api/session", &[][..], 200),
        ("GET", "/api/session", &[own], 200),
        ("GET", "/api/session", &[evil], 403),
        ("GET", "/api/session", &[beside], 403),
        ("POST", "/api/tickets", &[], 403),
        ("POST", "/api/tickets", &[evil], 403),
        ("POST", "/api/tickets", &[own], 200),
        ("UPGRADE", "/ws", &[], 403),
        ("UPGRADE", "/ws", &[evil], 403),
        ("UPGRADE", "/ws", &[("Origin", "null")], 403),
        ("UPGRADE", "/ws", &[own], 101),
    ] {
        let headers = with(more);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, &value[..])).collect();
        let (got, answer) = match method {
            "UPGRADE" => upgrade(daemon.address(), path, &headers),
            method => send(daemon.address(), method, path, &headers, ""),
        };
        assert_eq!(got, status, "{method} {path} {more:?}: {answer}");
    }
    // The session outlives the daemon. The cookie's name contains the port, which has changed.
    let old_port = daemon.address().port().to_string();
    daemon.stop();
    daemon.restart();
    let cookie = cookie.replace(&old_port, &daemon.address().port().to_string());
    let shown = [("Cookie", &cookie[..]), ("Acpd-Page-Key", &key)];
    let (status, answer) = call(&daemon, "GET", "/api/session", &shown, "");
    assert_eq!(
        (status, &body(&answer)["role"]),
        (200, &json!("operator")),
        "{answer}"
    );
    // Signing out closes the connections that the session opened.
    let origin = format!("http://{}", daemon.address());
    let both = [
        ("cookie", &cookie[..]),
        ("acpd-page-key", &key),
        ("origin", &origin),
    ];
    let mut client = Client::entering(&daemon, "/ws", &both);
    assert_eq!(call(&daemon, "DELETE", "/api/session", &shown, "").0, 403);
    let (status, answer) = call(&daemon, "DELETE", "/api/session", &both, "");
    assert_eq!(status, 204, "{answer}");
    assert!(header(&answer, "set-cookie").contains("Max-Age=0"), "{answer}");
    assert_eq!(client.drain().1.map(|(code, _)| code), Some(1008));
    assert_eq!(call(&daemon, "GET", "/api/session", &shown, "").0, 401);
    assert_eq!(met(&daemon, &token), 101, "the token holds");
}

/// A browser sends a cookie to every port of a host. So the server of another port has it, and can send any `Origin`.
#[test]
fn a_cookie_that_another_port_was_sent_opens_nothing() {
    let mut daemon = Daemon::start();
    let Session { cookie, key } = log_in(&daemon, &json!({ "token": daemon.place.token() }));
    let other = log_in(&daemon, &json!({ "token": daemon.place.token() }));
    let (origin, host) = (
        format!("http://{}", daemon.address()),
        daemon.address().to_string(),
    );
    let page = [("Host", &host[..]), ("Origin", &origin), ("Cookie", &cookie)];
    let guesses = [None, Some(""), Some("0000"), Some(&other.key[..])];
    for guess in guesses {
        let mut headers = page.to_vec();
        headers.extend(guess.map(|guess| ("Acpd-Page-Key", guess)));
        for (method, path) in [
            ("GET", "/api/session"),
            ("DELETE", "/api/session"),
            ("POST", "/api/session"),
            ("POST", "/api/tickets"),
            ("POST", "/api/tokens/reload"),
            ("GET", "/api/threads/x/export"),
            ("GET", "/api/blobs/x"),
            ("PUT", "/api/threads/x/attachments/y"),
            ("GET", "/metrics"),
            ("POST", "/acp"),
        ] {
            let (status, answer) = send(daemon.address(), method, path, &headers, "");
            assert_eq!(status, 401, "{method} {path} {guess:?}: {answer}");
        }
        let offered = guess.map(|guess| format!("acpd, acpd.page-key.{guess}"));
        let mut headers = page.to_vec();
        headers.extend(
            offered
                .iter()
                .map(|offered| ("Sec-WebSocket-Protocol", &offered[..])),
        );
        for path in ["/ws", "/acp"] {
            let (status, answer) = upgrade(daemon.address(), path, &headers);
            assert_eq!(status, 401, "{path} {guess:?}: {answer}");
        }
    }
    // The page has the other half. It sends the key in a header, or for a WebSocket as a protocol.
    let both = [&page[..], &[("Acpd-Page-Key", &key)]].concat();
    assert_eq!(send(daemon.address(), "GET", "/api/session", &both, "").0, 200);
    let offered = format!("acpd, acpd.page-key.{key}");
    let both = [&page[..], &[("Sec-WebSocket-Protocol", &offered)]].concat();
    let (status, answer) = upgrade(daemon.address(), "/ws", &both);
    assert_eq!(status, 101, "{answer}");
    assert_eq!(header(&answer, "sec-websocket-protocol"), "acpd");
    // The key is useless without its cookie.
    let alone = [page[0], page[1], ("Acpd-Page-Key", &key)];
    assert_eq!(send(daemon.address(), "GET", "/api/session", &alone, "").0, 401);
    // Sessions of a version without page keys are invalid; everything else stays valid.
    daemon.stop();
    let file = daemon.place.data().join("sessions.json");
    let kept = std::fs::read_to_string(&file).unwrap();
    let mut old: Value = serde_json::from_str(&kept).unwrap();
    old["version"] = json!(1);
    for session in old["sessions"].as_array_mut().unwrap() {
        session.as_object_mut().unwrap().remove("pageKey");
    }
    std::fs::write(&file, old.to_string()).unwrap();
    daemon.restart();
    assert!(
        daemon.log().contains("browsers have to log in again"),
        "{}",
        daemon.log()
    );
    assert!(daemon.place.data().join("sessions.json.damaged").exists());
    log_in(&daemon, &json!({ "token": daemon.place.token() }));
}

/// A browser stores one cookie of a name for all ports of a host. Behind two tunnels, two daemons may have the same port of their own.
#[test]
fn sessions_at_two_ports_of_a_host_do_not_end_each_other() {
    let daemon = Daemon::with("[server]\nhosts = [\"tunnel:9001\", \"tunnel:9002\"]\n");
    let login = json!({ "token": daemon.place.token() }).to_string();
    let log_in = |host: &str| {
        let headers = [("Host", host), ("Content-Type", "application/json")];
        let (status, answer) = send(daemon.address(), "POST", "/api/session", &headers, &login);
        assert_eq!(status, 200, "{answer}");
        let cookie = header(&answer, "set-cookie").split(';').next();
        Session {
            cookie: cookie.unwrap_or_default().to_owned(),
            key: body(&answer)["pageKey"].as_str().unwrap_or_default().to_owned(),
        }
    };
    let (one, other) = (log_in("tunnel:9001"), log_in("tunnel:9002"));
    assert!(one.cookie.starts_with("acpd_session_9001="), "{}", one.cookie);
    assert!(other.cookie.starts_with("acpd_session_9002="), "{}", other.cookie);
    // A server on a third port adds a cookie of the same name, which the browser sends first.
    let jar = format!("acpd_session_9001=tossed; {}; {}", one.cookie, other.cookie);
    let ask = |method: &str, host: &str, jar: &str, key: &str| {
        let origin = format!("http://{host}");
        let headers = [
            ("Host", host),
            ("Origin", &origin),
            ("Cookie", jar),
            ("Acpd-Page-Key", key),
        ];
        send(daemon.address(), method, "/api/session", &headers, "")
    };
    assert_eq!(ask("GET", "tunnel:9001", &jar, &one.key).0, 200);
    assert_eq!(ask("GET", "tunnel:9002", &jar, &other.key).0, 200);
    // The cookie of one port is none at the other, also with its key.
    assert_eq!(ask("GET", "tunnel:9002", &one.cookie, &one.key).0, 401);
    let (status, answer) = ask("DELETE", "tunnel:9001", &jar, &one.key);
    assert_eq!(status, 204, "{answer}");
    assert!(
        header(&answer, "set-cookie").starts_with("acpd_session_9001=;"),
        "{answer}"
    );
    assert_eq!(ask("GET", "tunnel:9001", &jar, &one.key).0, 401);
    assert_eq!(ask("GET", "tunnel:9002", &jar, &other.key).0, 200);
}

#[test]
fn a_ticket_is_exchanged_for_a_session_once() {
    let daemon = Daemon::start();
    let mut socket = UnixStream::connect(daemon.place.data().join("acpd.sock")).unwrap();
    let (_, answer) = exchange(&mut socket, "POST", "/api/tickets", &[("Host", "x")], "");
    let login = json!({ "ticket": body(&answer)["ticket"] });
    let Session { cookie, key } = log_in(&daemon, &login);
    let shown = [("Cookie", &cookie[..]), ("Acpd-Page-Key", &key)];
    let (_, answer) = call(&daemon, "GET", "/api/session", &shown, "");
    assert_eq!(body(&answer)["principal"], "owner");
    let json = ("Content-Type", "application/json");
    let token = json!({ "token": daemon.place.token() }).to_string();
    let both = json!({ "token": "x", "ticket": "y" }).to_string();
    let long = json!({ "token": "x".repeat(17 << 10) }).to_string();
    for (kind, sent, status) in [
        (Some(json), &login.to_string()[..], 401),
        (Some(json), r#"{"token":"wrong"}"#, 401),
        (Some(json), "{}", 401),
        (None, "", 401),
        (Some(json), &both, 400),
        (Some(json), r#"{"tokens":"x"}"#, 400),
        (Some(json), "[", 400),
        (None, &token, 415),
        (Some(("Content-Type", "text/plain")), &token, 415),
        (Some(json), &long, 413),
        (Some(("Origin", "http://evil.example")), &token, 403),
        (Some(("Cookie", &cookie)), "", 403),
        (Some(json), &token, 200),
    ] {
        let headers: Vec<_> = kind.into_iter().collect();
        let (got, answer) = call(&daemon, "POST", "/api/session", &headers, sent);
        assert_eq!(got, status, "{kind:?} {sent:.80}: {answer}");
    }
}

#[test]
fn guesses_are_throttled_and_generated_tokens_are_not() {
    let place = Place::new("");
    place.make_data();
    let token = place.data().join("token");
    std::fs::write(&token, "thought-up-by-a-person").unwrap();
    std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let random = create(&place, "ann", "observer");
    let daemon = Daemon::at(place);
    assert_eq!(met(&daemon, "thought-up-by-a-person"), 101);
    let guesses = (0..40).map(|guess| met(&daemon, &format!("guess-{guess}")));
    assert!(guesses.into_iter().any(|status| status == 429));
    // One more guess restarts the wait.
    assert_eq!(
        (met(&daemon, "guess"), met(&daemon, "thought-up-by-a-person")),
        (429, 429)
    );
    assert_eq!(met(&daemon, &random), 101, "this cannot have been guessed");
    assert_eq!(
        acpd(&daemon.place, &["threads"]).code,
        Some(0),
        "nor is the owner shut out"
    );
}

#[test]
fn no_secret_is_logged_or_repeated() {
    let place = Place::new("").with_env("ACPD_LOG", "trace");
    let daemon = Daemon::at(place);
    let token = create(&daemon.place, "ann", "operator");
    let json = [("Content-Type", "application/json")];
    let Session { cookie, key } = log_in(&daemon, &json!({ "token": token }));
    let session = cookie.split_once('=').unwrap().1;
    let bearer = format!("Bearer {token}");
    let (_, answer) = call(&daemon, "POST", "/api/tickets", &[("Authorization", &bearer)], "");
    let ticket = body(&answer)["ticket"].as_str().unwrap().to_owned();
    Client::entering(&daemon, &format!("/ws?ticket={ticket}"), &[]).greet("test", &json!({}));
    let wrong = "wrong-but-still-secret";
    let mut answers = String::new();
    for sent in [
        json!({ "token": wrong }).to_string(),
        json!({ "ticket": ticket }).to_string(),
        json!({ "token": wrong, "more": token }).to_string(),
        format!("{{\"token\": \"{token}\", oops"),
    ] {
        answers += &call(&daemon, "POST", "/api/session", &json, &sent).1;
    }
    answers += &call(
        &daemon,
        "GET",
        "/api/session",
        &[("Cookie", &format!("{cookie}x")), ("Acpd-Page-Key", &key)],
        "",
    )
    .1;
    acpd(&daemon.place, &["token", "revoke", "ann"]);
    let public_text = format!("{answers}{}", daemon.log());
    for secret in [&daemon.place.token(), &token, session, &key, &ticket, wrong] {
        assert!(!public_text.contains(secret), "{public_text}");
    }
    for file in ["tokens.json", "sessions.json"] {
        let text = std::fs::read_to_string(daemon.place.data().join(file)).unwrap();
        assert!(
            !text.contains(session) && !text.contains(&key) && !text.contains(&token[5..]),
            "{file}: {text}"
        );
    }
}

#[test]
fn a_token_in_the_environment_counts_for_our_own_commands() {
    let daemon = Daemon::start();
    let token = create(&daemon.place, "ann", "observer");
    let run = |args: &[&str]| outcome(daemon.place.command(args).env("ACPD_TOKEN", &token));
    assert_eq!(run(&["threads"]).code, Some(0));
    let refused = run(&["run", "--agent", "fake", "say hi"]);
    assert_eq!(refused.code, Some(7));
    assert!(
        refused.stderr.contains("needs the role operator"),
        "{}",
        refused.stderr
    );
    // Creating tokens requires only write access to the data directory, whatever token the environment contains.
    signal(daemon.pid(), Signal::HUP);
    assert_eq!(
        run(&["token", "create", "--name", "bob", "--role", "observer"]).code,
        Some(0)
    );
}
