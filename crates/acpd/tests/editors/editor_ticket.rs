//! Editors over HTTP that cannot set custom headers: an address with a ticket authenticates them.

use std::sync::mpsc;

use serde_json::{Value, json};

use crate::support::{
    self, Client, Daemon, Door, Editor, Place, acpd, header, outcome, send, upgrade, wait_until,
};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}"#;

/// Returns an address with a ticket of the owner.
fn address(place: &Place, args: &[&str]) -> String {
    let made = acpd(place, &[&["token", "ticket"], args].concat());
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert!(
        made.stderr.contains("one connection, within 30 seconds"),
        "{}",
        made.stderr
    );
    made.stdout.trim().to_owned()
}

/// Returns an address with a ticket of a new token's holder, with this role.
fn address_of(place: &Place, name: &str, role: &str) -> String {
    let token = acpd(place, &["token", "create", "--name", name, "--role", role]);
    let mut command = place.command(&["token", "ticket"]);
    outcome(command.env("ACPD_TOKEN", token.stdout.trim()))
        .stdout
        .trim()
        .to_owned()
}

/// Returns the path of the address without any credentials.
fn bare(door: &Door) -> Door {
    Door {
        path: "/acp".to_owned(),
        ..door.clone()
    }
}

#[test]
fn an_editor_that_can_set_no_header_works_by_an_address() {
    let daemon = Daemon::start();
    let door = Door::at(&daemon, &address(&daemon.place, &["--agent", "fake"]));
    assert!(door.path.starts_with("/acp?agent=fake&ticket="), "{}", door.path);
    // The editor keeps using the same address, although its ticket is used up.
    let mut editor = Editor::http(&door);
    editor.greet();
    let session = editor.open(&daemon);
    let (said, end) = editor.turn(&session, "say hello");
    assert_eq!((said.as_str(), &end["stopReason"]), ("hello", &json!("end_turn")));
    let listed = Client::new(&daemon).call("thread/list", &json!({}));
    assert_eq!(listed["data"][0]["id"], session.as_str());

    let door = Door::at(&daemon, &address(&daemon.place, &["--agent", "no body&x"]));
    let (status, answer) = door.ask("POST", &[JSON], HELLO);
    assert!(status == 200 && answer.contains("no body&x"), "{answer}");
}

#[test]
fn a_ticket_opens_one_connection_and_its_id_opens_that_one_alone() {
    let daemon = Daemon::start();
    let door = Door::at(&daemon, &address(&daemon.place, &[]));
    let plain = bare(&door);
    let (connection, _) = door.initialize();
    assert!(
        connection.len() == 64 && connection.bytes().all(|digit| digit.is_ascii_hexdigit()),
        "{connection}: 256 bits of chance"
    );
    let own = ("Acp-Connection-Id", connection.as_str());
    let status = |method: &str, more: &[(&str, &str)], body: &str| plain.ask(method, more, body).0;
    assert_eq!(door.ask("POST", &[JSON], HELLO).0, 401, "the ticket is used");
    assert_eq!(status("POST", &[JSON], HELLO), 401);
    assert_eq!(status("POST", &[JSON, own], LIST), 202);
    assert_eq!(status("POST", &[JSON, own], HELLO), 400);
    let events = plain.listen(&connection, None, None);
    let answer = events.unwrap_or_else(|status| panic!("{status}")).next().1;
    assert!(answer.contains("\"sessions\""), "{answer}");

    // The id authorizes this connection only.
    let last = if connection.ends_with('0') { '1' } else { '0' };
    let almost = format!("{}{last}", &connection[..63]);
    for wrong in ["", "x", &almost, &connection[..32], &format!("{connection}0")] {
        assert_eq!(
            status("POST", &[JSON, ("Acp-Connection-Id", wrong)], LIST),
            401,
            "{wrong}"
        );
    }
    for (method, path) in [
        ("GET", "/api/session"),
        ("POST", "/api/tickets"),
        ("POST", "/api/tokens/reload"),
        ("GET", "/metrics"),
        ("GET", "/api/threads/x/export"),
    ] {
        let (got, answer) = send(daemon.address(), method, path, &[("Host", &door.host), own], "");
        assert_eq!(got, 401, "{path}: {answer}");
    }
    for path in ["/ws", "/acp"] {
        let (got, answer) = upgrade(daemon.address(), path, &[("Host", &door.host), own]);
        assert_eq!(got, 401, "{path}: {answer}");
    }
    // A valid connection id does not make up for a wrong token.
    assert_eq!(
        status("POST", &[JSON, own, ("Authorization", "Bearer x")], LIST),
        401
    );

    // The id of a connection that a token opened authorizes nothing by itself.
    let (of_token, _) = Door::of(&daemon).initialize();
    let named = [JSON, ("Acp-Connection-Id", of_token.as_str())];
    assert_eq!(plain.ask("POST", &named, LIST).0, 401);
    assert_eq!(Door::of(&daemon).ask("POST", &named, LIST).0, 202);

    assert_eq!(status("DELETE", &[own], ""), 202);
    assert_eq!(status("POST", &[JSON, own], LIST), 401);
}

#[test]
fn pages_of_other_origins_and_proxies_use_neither_ticket_nor_id() {
    let daemon = Daemon::start();
    let opened = Door::at(&daemon, &address(&daemon.place, &[]));
    let (connection, _) = opened.initialize();
    let own = ("Acp-Connection-Id", connection.as_str());
    let unused = Door::at(&daemon, &address(&daemon.place, &[]));
    let rebound = |door: &Door| Door {
        host: format!("evil.example:{}", daemon.address().port()),
        ..door.clone()
    };
    for more in [
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("X-Forwarded-For", "192.0.2.1"),
        ("Forwarded", "for=192.0.2.1"),
        ("Via", "1.1 proxy"),
    ] {
        assert_eq!(unused.ask("POST", &[JSON, more], HELLO).0, 403, "{more:?}");
        assert_eq!(opened.ask("POST", &[JSON, own, more], LIST).0, 403, "{more:?}");
        assert_eq!(opened.ask("DELETE", &[own, more], "").0, 403, "{more:?}");
    }
    assert_eq!(rebound(&unused).ask("POST", &[JSON], HELLO).0, 403);
    assert_eq!(rebound(&opened).ask("POST", &[JSON, own], LIST).0, 403);
    // A page can send these without a preflight request. The first is not a message, the others have another origin.
    assert_eq!(
        opened.ask("POST", &[own, ("Content-Type", "text/plain")], LIST).0,
        415
    );
    // None of these requests has used the ticket or closed the connection.
    unused.initialize();
    assert_eq!(opened.ask("POST", &[JSON, own], LIST).0, 202);
    let page = format!("http://{}", daemon.address());
    let (status, _) = opened.ask(
        "POST",
        &[JSON, own, ("Origin", &page), ("Sec-Fetch-Site", "same-origin")],
        LIST,
    );
    assert_eq!(status, 202);
}

#[test]
fn a_ticket_grants_the_permissions_of_its_token() {
    let daemon = Daemon::start();
    let door = Door::at(&daemon, &address_of(&daemon.place, "ann", "observer"));
    let mut editor = Editor::http(&door);
    editor.greet();
    let new = json!({ "cwd": daemon.place.work(), "mcpServers": [] });
    let refused = editor.refused("session/new", &new);
    assert!(refused.to_string().contains("operator"), "{refused}");

    // The connection id of another holder is useless, whatever other credentials the client sends.
    let door = Door::at(&daemon, &address_of(&daemon.place, "bob", "operator"));
    let (connection, _) = door.initialize();
    let owner = Door::of(&daemon);
    assert_eq!(
        owner.ask("DELETE", &[("Acp-Connection-Id", &connection)], "").0,
        404
    );
    let events = door.listen(&connection, None, None);
    let events = events.unwrap_or_else(|status| panic!("{status}"));
    let late = address_of(&daemon.place, "cid", "operator");
    for name in ["bob", "cid"] {
        assert_eq!(acpd(&daemon.place, &["token", "revoke", name]).code, Some(0));
    }
    wait_until("the stream has ended", || {
        matches!(events.incoming.try_recv(), Err(mpsc::TryRecvError::Disconnected))
    });
    assert_eq!(door.post(&connection, None, LIST), 401);
    assert_eq!(Door::at(&daemon, &late).ask("POST", &[JSON], HELLO).0, 401);
}

#[test]
fn neither_ticket_nor_id_is_logged() {
    let daemon = Daemon::at(Place::new("").with_env("ACPD_LOG", "trace"));
    let door = Door::at(&daemon, &address(&daemon.place, &[]));
    let (connection, _) = door.initialize();
    assert_eq!(door.post(&connection, None, LIST), 202);
    let (_, again) = door.ask("POST", &[JSON], HELLO);
    let (status, gone) = door.ask(
        "POST",
        &[JSON, ("Acp-Connection-Id", &connection), ("Via", "x")],
        LIST,
    );
    assert_eq!((status, header(&gone, "Acp-Connection-Id")), (403, ""));
    let ticket = door.path.split_once("ticket=").expect("it has one").1;
    let public_text = format!("{again}{gone}{}", daemon.log());
    for secret in [ticket, &connection] {
        assert!(!public_text.contains(secret), "{public_text}");
    }
    let message: Value = support::body(&again);
    assert!(
        message["error"]["message"]
            .as_str()
            .unwrap()
            .contains("a ticket works once"),
        "{message}"
    );
}
