//! What a link reads on each surface: the shared thread, and nothing of another.

use std::net::TcpStream;

use acpd_proto::surface::app;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::{IntoClientRequest, client};
use tokio_tungstenite::tungstenite::{Message, WebSocket};

use super::{NOBODY, Stage, end_of, share};
use crate::support::{Client, Daemon, Door, Editor, PATIENCE, Place, ask, body, header, send};

#[test]
fn a_reader_sees_the_shared_thread_and_no_sign_of_another() {
    let mut stage = Stage::new();
    let (shared, other) = (stage.shared.clone(), stage.other.clone());
    let mut reader = Client::entering(&stage.daemon, "/ws", &[("authorization", &stage.bearer())]);
    let welcome = reader.greet("reader", &json!({ "approvals": true, "subscribers": true }));
    let identity = json!({ "principal": format!("share:{}", stage.id), "role": "observer" });
    assert_eq!(welcome["identity"], identity);

    // Lists, whatever they are filtered by, and wherever they begin.
    let page = stage.owner.call("thread/list", &json!({ "limit": 1 }));
    for filter in [
        json!({}),
        json!({ "limit": 1 }),
        json!({ "agentType": "fake" }),
        json!({ "cwd": stage.daemon.place.work() }),
        json!({ "idPart": shared }),
    ] {
        let listed = reader.call("thread/list", &filter);
        assert_eq!(
            listed["data"].as_array().map(Vec::len),
            Some(1),
            "{filter}: {listed}"
        );
        assert_eq!(listed["data"][0]["id"], shared, "{filter}");
    }
    for filter in [
        json!({ "idPart": other }),
        json!({ "archived": true }),
        json!({ "agentType": "another" }),
        json!({ "status": "failed" }),
        json!({ "searchTerm": "elephant" }),
    ] {
        let listed = reader.call("thread/list", &filter);
        assert_eq!(listed["data"], json!([]), "{filter}");
    }
    let listed = reader.call("thread/list", &json!({ "cursor": page["nextCursor"] }));
    let ids = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|thread| &thread["id"]);
    assert!(ids.into_iter().all(|id| *id == shared), "{listed}");

    // Searches.
    let found = reader.call("thread/search", &json!({ "query": "walrus" }));
    assert!(!found["data"].as_array().unwrap().is_empty(), "{found}");
    let found = reader.call("thread/search", &json!({ "query": "elephant" }));
    assert_eq!(found["data"], json!([]));

    // The thread itself, and what follows in it.
    let read = reader.call(
        "thread/read",
        &json!({ "threadId": shared, "includeTurns": true }),
    );
    assert_eq!(read["thread"]["turns"].as_array().map(Vec::len), Some(1));
    reader.resume(&shared, 0);
    let turn = stage.owner.start(&shared, "say again");
    reader.finish(&shared, &turn);
    stage.owner.finish(&shared, &turn);
    let of_others: Vec<_> = reader
        .seen
        .iter()
        .filter(|message| message.method.contains("ubscriber"))
        .collect();
    assert_eq!(of_others.len(), 0, "a reader is not told of the others");
}

#[test]
fn a_reader_of_the_list_is_notified_of_the_shared_thread_alone() {
    let mut stage = Stage::new();
    let mut reader = stage.reader();
    reader.call("thread/list/watch", &json!({}));
    let new = stage.owner.thread(&stage.daemon);
    stage.owner.turn(&stage.other.clone(), "say more");
    stage.owner.call(
        "thread/name/set",
        &json!({ "threadId": stage.other, "name": "secret" }),
    );
    stage
        .owner
        .call("thread/fork", &json!({ "threadId": stage.shared }));
    stage.owner.call("thread/delete", &json!({ "threadId": new }));
    stage.owner.call(
        "thread/name/set",
        &json!({ "threadId": stage.shared, "name": "last" }),
    );
    let last = reader.until(|message| message.params["thread"]["name"] == "last");
    for message in last {
        let text = message.params.to_string();
        assert!(text.contains(&stage.shared), "{text}");
        assert!(!text.contains("secret") && !text.contains(&new), "{text}");
    }
    let listed = reader.call("thread/list", &json!({}));
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "not the fork");
}

#[test]
fn another_threads_id_is_as_good_as_one_that_does_not_exist() {
    let stage = Stage::new();
    let mut reader = stage.reader();
    let mut tried = 0;
    for method in app::METHODS {
        let params = |thread: &str| {
            json!({
                "threadId": thread, "turnId": 1, "query": "elephant", "after": 0, "text": "x", "content": "x",
                "name": "x", "cursor": null, "shareId": stage.id, "path": "/", "command": "x",
            })
        };
        // Params that the method does not have are refused before anything is looked up.
        let mut known = params(&stage.other);
        let mut error = reader.try_call(method.name, &known).err();
        while let Some(unknown) = error.as_ref().and_then(unknown_member) {
            known.as_object_mut().unwrap().remove(&unknown);
            error = reader.try_call(method.name, &known).err();
        }
        let mut nobodys = known.clone();
        if known.get("threadId").is_none() {
            continue;
        }
        nobodys["threadId"] = json!(NOBODY);
        let of_nobody = reader.try_call(method.name, &nobodys).err();
        let shown = |error: &Option<Value>, id: &str| {
            error
                .as_ref()
                .unwrap_or_else(|| panic!("{} succeeds", method.name))
                .to_string()
                .replace(id, "ID")
        };
        assert_eq!(
            shown(&error, &stage.other),
            shown(&of_nobody, NOBODY),
            "{}",
            method.name
        );
        tried += 1;
    }
    assert!(tried > 20, "{tried}");
    // A cursor of another thread's turns leads nowhere else.
    let mut owner = Client::new(&stage.daemon);
    let all = json!({ "threadId": stage.other, "includeTurns": true, "limit": 1 });
    let cursor = owner.call("thread/read", &all)["thread"]["turnsCursor"].clone();
    let page = json!({ "threadId": stage.shared, "includeTurns": true, "cursor": cursor });
    if let Ok(read) = reader.try_call("thread/read", &page) {
        assert!(!read.to_string().contains("elephant"), "{read}");
    }
    // Nor does the origin of a fork that is shared.
    let fork = owner.call("thread/fork", &json!({ "threadId": stage.other }));
    let fork = fork["thread"]["id"].as_str().unwrap().to_owned();
    let (_, secret) = share(&mut owner, &json!({ "threadId": fork }));
    let mut reader = Client::with_token(&stage.daemon, &secret);
    reader.call("thread/read", &json!({ "threadId": fork }));
    let refused = reader.refused("thread/read", &json!({ "threadId": stage.other }));
    assert_eq!(refused["data"]["code"], "not_found", "{refused}");
}

/// Returns the member that a method refused.
fn unknown_member(error: &Value) -> Option<String> {
    let message = error["message"].as_str()?;
    let (_, rest) = message.split_once("unknown")?;
    let rest = rest.trim_start_matches(|c: char| c != '"' && c != '`');
    let name: String = rest
        .chars()
        .skip(1)
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    (!name.is_empty()).then_some(name)
}

#[test]
fn exports_blobs_and_other_routes_are_of_the_shared_thread_alone() {
    let mut stage = Stage::new();
    let mut blob_of = |thread: &str, to: u32| {
        let run = json!({ "threadId": thread, "command": format!("seq 1 {to}") });
        stage.owner.call("thread/command/run", &run);
        let ended = stage.owner.until(|message| {
            message.method == "item/terminalCommand/completed" && message.params["threadId"] == thread
        });
        ended.last().unwrap().text("outputBlob").to_owned()
    };
    let own = blob_of(&stage.shared.clone(), 40_000);
    let other = blob_of(&stage.other.clone(), 50_000);
    assert_eq!(stage.http("GET", &format!("/api/blobs/{own}")).0, 200);
    let nothing = "00".repeat(32);
    let (status, refused) = stage.http("GET", &format!("/api/blobs/{other}"));
    let (_, unknown) = stage.http("GET", &format!("/api/blobs/{nothing}"));
    assert_eq!(status, 404);
    let said = |answer: &str, id: &str| body(answer).to_string().replace(id, "ID");
    assert_eq!(said(&refused, &other), said(&unknown, &nothing));
    for format in ["jsonl", "md", "html"] {
        let export =
            |thread: &str| stage.http("GET", &format!("/api/threads/{thread}/export?format={format}"));
        let (status, text) = export(&stage.shared);
        assert!(status == 200 && text.contains("walrus"), "{text}");
        let (status, refused) = export(&stage.other);
        assert_eq!(status, 404);
        assert_eq!(said(&refused, &stage.other), said(&export(NOBODY).1, NOBODY));
    }
    for (method, path) in [
        ("GET", "/metrics"),
        ("POST", "/api/tickets"),
        ("POST", "/api/tickets/used"),
        ("POST", "/api/tokens/reload"),
    ] {
        let (status, answer) = stage.http(method, path);
        assert_eq!(status, 403, "{path}");
        let error = body(&answer)["error"]["message"].to_string();
        assert!(error.contains("shares one thread to read"), "{path}: {error}");
    }
}

#[test]
fn an_editor_with_a_link_loads_the_shared_session_to_read() {
    let place = Place::new("[agents.hidden-agent]\ncommand = \"/bin/false\"\n");
    let stage = Stage::at(Daemon::at(place));
    let door = Door {
        bearer: stage.bearer(),
        ..Door::of(&stage.daemon)
    };
    let mut editor = Editor::http(&door);
    let welcome = editor.greet();
    assert_eq!(welcome["agentCapabilities"]["loadSession"], true);
    assert_eq!(welcome["authMethods"], json!([]));
    assert_eq!(welcome.get("agentInfo"), None, "no agent was asked: {welcome}");
    let sessions = editor.call("session/list", &json!({}));
    assert_eq!(
        sessions["sessions"].as_array().map(Vec::len),
        Some(1),
        "{sessions}"
    );
    assert_eq!(sessions["sessions"][0]["sessionId"], stage.shared);
    let named = |id: &str| json!({ "sessionId": id, "cwd": stage.daemon.place.work(), "mcpServers": [] });
    for method in ["session/load", "session/resume"] {
        let error =
            |editor: &mut Editor, id: &str| editor.refused(method, &named(id)).to_string().replace(id, "ID");
        assert_eq!(
            error(&mut editor, &stage.other),
            error(&mut editor, NOBODY),
            "{method}"
        );
    }
    editor.call("session/load", &named(&stage.shared));
    assert!(editor.chunks("user_message_chunk").contains("walrus"));
    let prompt = json!({ "sessionId": stage.shared, "prompt": [{ "type": "text", "text": "x" }] });
    let refused = editor.refused("session/prompt", &prompt);
    assert!(
        refused.to_string().contains("shares one thread to read"),
        "{refused}"
    );

    // A header that names another thread finds out nothing, nor does one that names an agent.
    let url = format!("ws://{}/acp", stage.daemon.address());
    let begin = |header: &Value| {
        let mut socket = socket(&stage, &url);
        socket.send(Message::text(header.to_string())).unwrap();
        let hello =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": 1 } });
        socket.send(Message::text(hello.to_string())).unwrap();
        let answer = socket.read().unwrap().into_text().unwrap();
        answer.to_string()
    };
    let of = |id: &str| begin(&json!({ "acpd": { "thread": id } })).replace(id, "ID");
    // `initialize` itself succeeds: the daemon answers it without an agent.
    assert_eq!(of(&stage.other), of(NOBODY));
    let answer = begin(&json!({ "acpd": { "agent": "nothing" } }));
    assert!(!answer.contains("hidden-agent"), "{answer}");
}

/// Opens a WebSocket with the link.
fn socket(stage: &Stage, url: &str) -> WebSocket<TcpStream> {
    let stream = TcpStream::connect(stage.daemon.address()).expect("the daemon listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a socket takes options");
    let mut request = url.into_client_request().expect("a URL");
    let bearer = stage.bearer().parse().expect("a header");
    request.headers_mut().insert("authorization", bearer);
    client(request, stream).expect("the daemon accepts the link").0
}

#[test]
fn a_codex_client_with_a_link_reads_the_shared_thread() {
    let stage = Stage::new();
    let mut socket = socket(&stage, &format!("ws://{}/", stage.daemon.address()));
    let mut next = 0;
    let mut call = |method: &str, params: Value| {
        next += 1;
        let request = json!({ "id": next, "method": method, "params": params });
        socket.send(Message::text(request.to_string())).unwrap();
        loop {
            let text = socket.read().unwrap().into_text().unwrap();
            let message: Value = serde_json::from_str(&text).unwrap();
            if message["id"] == next {
                return message;
            }
        }
    };
    let info = json!({ "name": "test", "title": null, "version": "1" });
    let welcome = call("initialize", json!({ "clientInfo": info }));
    assert_eq!(welcome["result"]["codexHome"], "/", "not the user's home");
    let listed = call("thread/list", json!({}));
    assert_eq!(
        listed["result"]["data"].as_array().map(Vec::len),
        Some(1),
        "{listed}"
    );
    assert_eq!(listed["result"]["data"][0]["id"], stage.shared);
    let read = call(
        "thread/read",
        json!({ "threadId": stage.shared, "includeTurns": true }),
    );
    assert!(read.to_string().contains("walrus"), "{read}");
    let resumed = call("thread/resume", json!({ "threadId": stage.shared }));
    assert!(resumed["result"].is_object(), "{resumed}");
    for (method, more) in [
        ("thread/read", json!({})),
        ("thread/read", json!({ "includeTurns": true })),
        ("thread/resume", json!({})),
        ("thread/turns/list", json!({})),
        ("thread/items/list", json!({})),
        ("thread/queue/list", json!({})),
        ("thread/fork", json!({})),
        ("thread/delete", json!({})),
        ("thread/archive", json!({})),
    ] {
        let mut of = |thread: &str| {
            let mut params = more.clone();
            params["threadId"] = json!(thread);
            let error = call(method, params)["error"].to_string().replace(thread, "ID");
            assert_ne!(error, "null", "{method} of {thread}");
            error
        };
        assert_eq!(of(&stage.other), of(NOBODY), "{method}");
    }
    let input = json!([{ "type": "text", "text": "x" }]);
    for (method, params) in [
        ("model/list", json!({})),
        ("thread/start", json!({ "cwd": "/" })),
        ("turn/start", json!({ "threadId": stage.shared, "input": input })),
    ] {
        let error = call(method, params)["error"]["message"].to_string();
        assert!(error.contains("shares one thread to read"), "{method}: {error}");
    }
    let found = call("thread/search", json!({ "searchTerm": "elephant" }));
    assert!(!found.to_string().contains(&stage.other), "{found}");
    // A refused command is shown as a turn that failed. It does not run.
    call(
        "thread/shellCommand",
        json!({ "threadId": stage.shared, "command": "touch ran" }),
    );
    let read = call(
        "thread/read",
        json!({ "threadId": stage.shared, "includeTurns": true }),
    );
    assert_eq!(
        read["result"]["thread"]["turns"].as_array().map(Vec::len),
        Some(1),
        "{read}"
    );
    assert!(!stage.daemon.place.work().join("ran").exists());
}

#[test]
fn a_page_exchanges_a_link_for_a_session_beside_the_one_that_it_has() {
    let stage = Stage::new();
    let origin = format!("http://{}", stage.daemon.address());
    let host = stage.daemon.address().to_string();
    let login = |token: &str| {
        let headers = [
            ("Host", &*host),
            ("Origin", &*origin),
            ("Content-Type", "application/json"),
        ];
        let login = json!({ "token": token }).to_string();
        let (status, answer) = send(stage.daemon.address(), "POST", "/api/session", &headers, &login);
        assert_eq!(status, 200, "{answer}");
        let cookie = header(&answer, "set-cookie")
            .split(';')
            .next()
            .unwrap()
            .to_owned();
        let key = body(&answer)["pageKey"].as_str().unwrap().to_owned();
        (cookie, key, body(&answer))
    };
    let (own_cookie, own_key, _) = login(&stage.daemon.place.token());
    let (cookie, key, session) = login(&stage.secret);
    assert_eq!(session["role"], "observer");
    assert_eq!(session["share"]["threadId"], stage.shared);
    assert_eq!(session["share"]["expiresAt"], session["expiresAt"]);
    let name = |cookie: &str| cookie.split('=').next().unwrap().to_owned();
    assert_ne!(name(&cookie), name(&own_cookie), "the browser keeps both");
    // The browser sends both cookies. The page's key says which one counts.
    let cookies = format!("{own_cookie}; {cookie}");
    let who = |key: &str| {
        let headers = [
            ("Host", &*host),
            ("Origin", &*origin),
            ("Cookie", &*cookies),
            ("Acpd-Page-Key", key),
        ];
        ask(stage.daemon.address(), "/api/session", &headers)
    };
    assert_eq!(body(&who(&own_key).1)["role"], "owner");
    assert_eq!(body(&who(&key).1)["share"]["id"], stage.id);
    // No key of one works with the cookie of the other.
    let (_, bare_key) = key.rsplit_once('-').unwrap();
    for forged in [
        bare_key.to_owned(),
        format!("share-{}-{own_key}", stage.id),
        format!("share--{own_key}"),
    ] {
        assert_eq!(who(&forged).0, 401, "{forged}");
    }
    // The session makes no tickets, and opens a connection that is limited like the link's.
    let headers = [
        ("Host", &*host),
        ("Origin", &*origin),
        ("Cookie", &*cookies),
        ("Acpd-Page-Key", &*key),
    ];
    assert_eq!(
        send(stage.daemon.address(), "POST", "/api/tickets", &headers, "").0,
        403
    );
    let protocols = format!("acpd, acpd.page-key.{key}");
    let mut page = Client::entering(
        &stage.daemon,
        "/ws",
        &[
            ("origin", &origin),
            ("cookie", &cookies),
            ("sec-websocket-protocol", &protocols),
        ],
    );
    page.greet("page", &json!({}));
    let listed = page.call("thread/list", &json!({}));
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));
    // Revoking the link ends the session and its connection.
    let mut owner = Client::new(&stage.daemon);
    owner.call("thread/share/revoke", &json!({ "shareId": stage.id }));
    assert_eq!(who(&key).0, 401);
    assert_eq!(body(&who(&own_key).1)["role"], "owner");
    end_of(page);
}
