//! Editors over HTTP: posted messages and event streams, and WebSockets.

use std::net::TcpStream;
use std::sync::mpsc;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Message, client};

use crate::support::{self, Client, Daemon, Door, Editor, PATIENCE, acpd, ask, body, header, wait_until};

const JSON: (&str, &str) = ("Content-Type", "application/json");

fn message(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn prompt(id: u64, session: &str, text: &str) -> String {
    let block = json!({ "type": "text", "text": text });
    message(
        id,
        "session/prompt",
        &json!({ "sessionId": session, "prompt": [block] }),
    )
}

/// Opens a connection with a session; returns its id, the connection's event stream, and the session.
fn with_session(daemon: &Daemon, door: &Door) -> (String, support::Events, String) {
    let (connection, _) = door.initialize();
    let events = door
        .listen(&connection, None, None)
        .unwrap_or_else(|status| panic!("{status}"));
    let new = message(
        1,
        "session/new",
        &json!({ "cwd": daemon.place.work(), "mcpServers": [] }),
    );
    assert_eq!(door.post(&connection, None, &new), 202);
    let made: Value = serde_json::from_str(&events.next().1).expect("it works");
    let session = made["result"]["sessionId"].as_str().expect("it works").to_owned();
    (connection, events, session)
}

#[test]
fn an_editor_works_by_posts_and_streams() {
    let daemon = Daemon::start();
    let mut editor = Editor::http(&Door::of(&daemon));
    editor.greet();
    let session = editor.open(&daemon);
    let (said, end) = editor.turn(&session, "say hello");
    assert_eq!((said.as_str(), &end["stopReason"]), ("hello", &json!("end_turn")));
    let turn = editor.prompt(&session, "permission; say done");
    let question = editor.wait_for("session/request_permission");
    let option = question["params"]["options"][0]["optionId"].clone();
    editor.respond(
        &question,
        &json!({ "outcome": { "outcome": "selected", "optionId": option } }),
    );
    assert!(editor.answer(turn).is_ok());

    let mut second = Editor::http(&Door::of(&daemon));
    second.greet();
    let named = json!({ "sessionId": session, "cwd": daemon.place.work(), "mcpServers": [] });
    second.call("session/load", &named);
    // All updates arrived before the response, which uses another stream.
    assert!(second.said().contains("done"));
}

#[test]
fn a_session_loaded_without_a_stream_arrives_on_the_connections_stream() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say before");
    let door = Door::of(&daemon);
    let (connection, _) = door.initialize();
    let events = door
        .listen(&connection, None, None)
        .unwrap_or_else(|status| panic!("{status}"));
    let load = json!({ "sessionId": thread, "cwd": daemon.place.work(), "mcpServers": [] });
    assert_eq!(
        door.post(&connection, None, &message(7, "session/load", &load)),
        202
    );
    let mut seen = String::new();
    while !seen.contains("\"id\":7") {
        seen.push_str(&events.next().1);
    }
    assert!(seen.contains("\"before\""), "{seen}");
    assert_eq!(door.post(&connection, None, &prompt(8, &thread, "say more")), 202);
    while !seen.contains("\"id\":8") {
        seen.push_str(&events.next().1);
    }
    assert!(seen.contains("\"more\""), "{seen}");
}

#[test]
fn each_wrong_request_has_its_own_answer() {
    let daemon = Daemon::start();
    let door = Door::of(&daemon);
    let hello = message(0, "initialize", &json!({ "protocolVersion": 1 }));
    let status = |method: &str, more: &[(&str, &str)], body: &str| door.ask(method, more, body).0;
    assert_eq!(status("POST", &[("Content-Type", "text/plain")], &hello), 415);
    assert_eq!(status("POST", &[JSON, ("Accept", "text/html")], &hello), 406);
    assert_eq!(status("POST", &[JSON], "{}x"), 400);
    let (batch, answer) = door.ask("POST", &[JSON], "[{}]");
    assert_eq!(batch, 400);
    assert_eq!(
        (&body(&answer)["error"]["code"], &body(&answer)["id"]),
        (&json!(-32600), &json!(null))
    );
    let list = message(1, "session/list", &json!({}));
    assert_eq!(status("POST", &[JSON], &list), 400);
    let unknown = ("Acp-Connection-Id", "x");
    assert_eq!(status("POST", &[JSON, unknown], &list), 404);
    let events = ("Accept", "text/event-stream");
    assert_eq!(status("GET", &[events], ""), 400);
    assert_eq!(status("GET", &[events, unknown], ""), 404);
    assert_eq!(status("GET", &[("Accept", "application/json")], ""), 406);
    assert_eq!(status("DELETE", &[], ""), 400);
    assert_eq!(status("DELETE", &[unknown], ""), 404);
    assert_eq!(status("PUT", &[], ""), 405);
    assert_eq!(
        ask(daemon.address(), "/acp", &[("Host", &door.host), events]).0,
        401
    );

    let (connection, answer) = door.initialize();
    assert!(header(&answer, "Content-Type").starts_with("application/json"));
    let own = ("Acp-Connection-Id", connection.as_str());
    assert_eq!(status("POST", &[JSON, own], &hello), 400);
    let stream = door.listen(&connection, None, None);
    assert!(stream.is_ok());
    assert_eq!(door.listen(&connection, None, None).err(), Some(409));
    assert_eq!(door.listen(&connection, None, Some(9)).err(), Some(400));
    // Clients of the draft open a session's stream before any message names the session.
    assert!(door.listen(&connection, Some("s"), None).is_ok());
    let other = prompt(2, "t", "say x");
    assert_eq!(door.post(&connection, Some("s"), &other), 400);
    assert_eq!(status("DELETE", &[own], ""), 202);
    assert_eq!(status("DELETE", &[own], ""), 404);
    assert_eq!(door.post(&connection, None, &list), 404);
    let mut nobody = Door::of(&daemon);
    nobody.path = "/acp?agent=nobody".to_owned();
    let (status, answer) = nobody.ask("POST", &[JSON], &hello);
    assert_eq!((status, header(&answer, "Acp-Connection-Id")), (200, ""));
    assert!(
        body(&answer)["error"]["message"]
            .as_str()
            .unwrap()
            .contains("nobody")
    );
}

#[test]
fn a_connection_is_its_principals_alone() {
    let daemon = Daemon::start();
    let made = acpd(
        &daemon.place,
        &["token", "create", "--name", "eve", "--role", "owner"],
    );
    let door = Door::of(&daemon);
    let (connection, _) = door.initialize();
    let eve = Door {
        bearer: format!("Bearer {}", made.stdout.trim()),
        ..door.clone()
    };
    let (own, _) = eve.initialize();
    assert!(eve.listen(&own, None, None).is_ok());
    assert_eq!(eve.listen(&connection, None, None).err(), Some(404));
    assert_eq!(
        eve.post(&connection, None, &message(1, "session/list", &json!({}))),
        404
    );
    assert_eq!(
        eve.ask("DELETE", &[("Acp-Connection-Id", &connection)], "").0,
        404
    );
    assert!(door.listen(&connection, None, None).is_ok());
}

#[test]
fn a_broken_stream_resumes_without_gaps_or_repeats() {
    let daemon = Daemon::start();
    let door = Door::of(&daemon);
    let (connection, _events, session) = with_session(&daemon, &door);
    let listen = |after| {
        let opened = door.listen(&connection, Some(&session), after);
        opened.unwrap_or_else(|status| panic!("{status}"))
    };
    let first = listen(None);
    let text = prompt(2, &session, "stream n=40 ms=5");
    assert_eq!(door.post(&connection, Some(&session), &text), 202);
    let mut seen: Vec<(u64, String)> = (0..5).map(|_| first.next()).collect();
    first.vanish();
    // The messages in flight are lost; the editor resumes after the last one that it has received.
    let last = seen.last().unwrap().0;
    let second = listen(Some(last));
    loop {
        seen.push(second.next());
        if seen.last().unwrap().1.contains("\"id\":2") {
            break;
        }
    }
    let numbers: Vec<_> = seen.iter().map(|(number, _)| *number).collect();
    let expected: Vec<_> = (1..=numbers.len() as u64).collect();
    assert_eq!(numbers, expected);
    // A second resume, from the middle, sends the same events again.
    second.vanish();
    let third = listen(Some(3));
    for event in &seen[3..] {
        assert_eq!(&third.next(), event);
    }
}

#[test]
fn a_lost_connection_ends_no_session_and_the_next_daemon_knows_it() {
    let mut daemon = Daemon::start();
    let door = Door::of(&daemon);
    let (connection, events, session) = with_session(&daemon, &door);
    assert_eq!(
        door.post(&connection, None, &prompt(2, &session, "say one; permission")),
        202
    );
    events.vanish();
    assert_eq!(
        door.ask("DELETE", &[("Acp-Connection-Id", &connection)], "").0,
        202
    );
    let mut client = Client::new(&daemon);
    client.resume(&session, 0);
    client.question();
    daemon.kill();
    daemon.restart();
    let door = Door::of(&daemon);
    assert_eq!(door.listen(&connection, None, None).err(), Some(404));
    let mut editor = Editor::http(&door);
    editor.greet();
    let named = json!({ "sessionId": session, "cwd": daemon.place.work(), "mcpServers": [] });
    editor.call("session/load", &named);
    assert_eq!(editor.said(), "one");
}

/// Connects an editor by WebSocket; returns it with the response to its handshake.
pub fn websocket(daemon: &Daemon, path: &str, binary: bool) -> (Editor, String) {
    let stream = TcpStream::connect(daemon.address()).expect("it works");
    let mut request = format!("ws://{}{path}", daemon.address())
        .into_client_request()
        .expect("it works");
    let bearer = format!("Bearer {}", daemon.place.token());
    request
        .headers_mut()
        .insert("authorization", bearer.parse().expect("it works"));
    let offered = "permessage-deflate".parse().expect("it works");
    request.headers_mut().insert("sec-websocket-extensions", offered);
    let reads = stream.try_clone().expect("it works");
    reads.set_read_timeout(Some(PATIENCE)).expect("it works");
    let (mut socket, response) = client(request, stream).expect("it works");
    assert!(response.headers().get("sec-websocket-extensions").is_none());
    let id = response.headers()["acp-connection-id"]
        .to_str()
        .expect("it works")
        .to_owned();
    let (told, incoming) = mpsc::channel();
    let (write, writes) = mpsc::channel::<String>();
    // One thread for both directions: it writes pending messages before it waits for input.
    socket.get_ref().set_nonblocking(true).expect("it works");
    std::thread::spawn(move || {
        loop {
            match writes.try_recv() {
                Ok(text) if binary => socket
                    .send(Message::binary(format!("{text}\n").into_bytes()))
                    .expect("it works"),
                Ok(text) => socket.send(Message::text(text)).expect("it works"),
                Err(mpsc::TryRecvError::Disconnected) => return,
                Err(mpsc::TryRecvError::Empty) => {}
            }
            match socket.read() {
                Ok(Message::Text(text)) => drop(told.send(text.to_string())),
                Ok(_) => {}
                Err(tokio_tungstenite::tungstenite::Error::Io(error))
                    if error.kind() == std::io::ErrorKind::WouldBlock =>
                {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                Err(_) => return,
            }
        }
    });
    let editor = Editor::new(incoming, move |text| drop(write.send(text.to_owned())));
    (editor, id)
}

#[test]
fn an_editor_works_by_websocket() {
    let daemon = Daemon::start();
    let (mut text, first) = websocket(&daemon, "/acp?agent=fake", false);
    text.greet();
    let session = text.open(&daemon);
    assert_eq!(text.turn(&session, "say hello").0, "hello");
    let (mut bytes, second) = websocket(&daemon, "/acp", true);
    bytes.greet();
    let named = json!({ "sessionId": session, "cwd": daemon.place.work(), "mcpServers": [] });
    bytes.call("session/load", &named);
    assert_eq!(bytes.said(), "hello");
    assert_ne!(first, second);
    let (mut lost, _) = websocket(&daemon, "/acp?agent=nobody", false);
    let error = lost.refused("initialize", &json!({ "protocolVersion": 1 }));
    assert!(error["message"].as_str().unwrap().contains("nobody"), "{error}");
}

#[test]
fn a_token_that_is_taken_back_ends_its_connections() {
    let daemon = Daemon::start();
    let made = acpd(
        &daemon.place,
        &["token", "create", "--name", "eve", "--role", "owner"],
    );
    let eve = Door {
        bearer: format!("Bearer {}", made.stdout.trim()),
        ..Door::of(&daemon)
    };
    let (connection, _) = eve.initialize();
    let events = eve
        .listen(&connection, None, None)
        .unwrap_or_else(|status| panic!("{status}"));
    assert_eq!(acpd(&daemon.place, &["token", "revoke", "eve"]).code, Some(0));
    wait_until("the stream has ended", || {
        matches!(events.incoming.try_recv(), Err(mpsc::TryRecvError::Disconnected))
    });
}
