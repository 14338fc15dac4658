//! The client against a scripted daemon, on pipes in memory.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::protocol::{
    Agent, AgentExamined, Approval, CallSubject, Item, ItemObject, LimitsInForce, Notification, StartThread,
    Thread, ThreadListParams, ThreadNameSetParams, ThreadStatus, ThreadUpdated, UsageRead,
};
use crate::{Client, ConnectError, Connection, Error, Follow, Options, State, Transport, Update};

/// Returns a thread in the form of the protocol.
fn thread_json(id: &str, latest: u64) -> Value {
    json!({
        "id": id, "agentType": "demo", "cwd": "/", "status": "idle", "archived": false, "createdAt": 1, "updatedAt": 1,
        "turnCount": 0, "latestSeq": latest, "additionalDirectories": [], "queuedTurnIds": [], "pendingRequestIds": [],
    })
}

pub(crate) fn thread(id: &str) -> Thread {
    serde_json::from_value(thread_json(id, 0)).expect("it is a thread")
}

/// The daemon's side of one connection.
struct Server {
    socket: WebSocketStream<DuplexStream>,
    /// What the client has announced.
    capabilities: Value,
}

/// A request as the daemon reads it.
struct Asked {
    id: Value,
    method: String,
    params: Value,
}

impl Server {
    /// Accepts the next connection and its handshake.
    async fn accept(connections: &mut mpsc::UnboundedReceiver<DuplexStream>) -> Self {
        Self::accept_with(connections, 1000).await
    }

    async fn accept_with(
        connections: &mut mpsc::UnboundedReceiver<DuplexStream>,
        requests_per_window: u64,
    ) -> Self {
        let pipe = connections.recv().await.expect("the client connects");
        let socket = tokio_tungstenite::accept_async(pipe)
            .await
            .expect("it is a WebSocket");
        let mut server = Self::of(socket);
        let hello = server.asked().await;
        assert_eq!(
            (hello.method.as_str(), &hello.params["clientInfo"]["name"]),
            ("initialize", &json!("test"))
        );
        let limits = json!({
            "messageBytes": 10_000, "requestsPerWindow": requests_per_window, "requestWindowSecs": 10, "queuedTurns": 1,
            "requestsInFlight": 64, "threadCommands": 1, "outboundQueue": 1, "liveBatches": 1, "connections": 1,
            "pingSecs": 20, "pongSecs": 10, "writeSecs": 10,
        });
        let welcome = json!({
            "protocolVersion": 1, "serverInfo": { "name": "acpd", "version": "9" }, "limits": limits,
            "capabilities": { "streaming": true, "tools": true, "approvals": true, "replacesTurns": true, "later": true },
            "identity": { "principal": "owner", "role": "emperor" },
        });
        server.capabilities = hello.params["capabilities"].clone();
        server.answer(&hello, &welcome).await;
        server.read("initialized").await;
        server
    }

    fn of(socket: WebSocketStream<DuplexStream>) -> Self {
        Self {
            socket,
            capabilities: Value::Null,
        }
    }

    async fn message(&mut self) -> Value {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).expect("it is JSON"),
                Some(Ok(_)) => {}
                other => panic!("the client sent {other:?}"),
            }
        }
    }

    async fn read(&mut self, method: &str) -> Value {
        let mut message = self.message().await;
        assert_eq!(message["method"], method, "{message}");
        message["params"].take()
    }

    async fn asked(&mut self) -> Asked {
        let mut message = self.message().await;
        Asked {
            id: message["id"].take(),
            method: message["method"].as_str().expect("it has a method").to_owned(),
            params: message["params"].take(),
        }
    }

    async fn send(&mut self, message: &Value) {
        let text = Message::text(message.to_string());
        self.socket.send(text).await.expect("the client reads");
    }

    async fn answer(&mut self, asked: &Asked, result: &Value) {
        let answer = json!({ "jsonrpc": "2.0", "id": asked.id, "result": result });
        self.send(&answer).await;
    }

    /// Answers a `thread/resume`, and returns its `after`.
    async fn resume(&mut self, latest: u64) -> Value {
        let mut asked = self.asked().await;
        assert_eq!(asked.method, "thread/resume");
        let result = json!({ "thread": thread_json("t", latest), "latestSeq": latest });
        self.answer(&asked, &result).await;
        asked.params["after"].take()
    }

    async fn event(&mut self, seq: u64) {
        let params = json!({ "threadId": "t", "seq": seq, "ts": 0, "itemId": "i", "text": format!("{seq}") });
        let event = json!({ "jsonrpc": "2.0", "method": "item/agentMessage/delta", "params": params });
        self.send(&event).await;
    }

    async fn notify(&mut self, method: &str, params: &Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.send(&message).await;
    }
}

/// Returns options that connect to a scripted daemon, and the daemon's ends of the connections.
fn scripted() -> (Options, mpsc::UnboundedReceiver<DuplexStream>) {
    let (pipes, connections) = mpsc::unbounded_channel();
    let options = Options::connector("test", move || {
        let (client, server) = tokio::io::duplex(64 << 10);
        let sent = pipes.send(server);
        async move {
            sent.map_err(|_| io::Error::other("the script is over"))?;
            Ok(Connection::stream(client))
        }
    });
    (options, connections)
}

async fn next_seq(events: &mut crate::Subscription) -> u64 {
    let event = events
        .next()
        .await
        .expect("there is an event")
        .expect("it is no error");
    event.seq().expect("it has a number")
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_or_repeated_when_the_connection_breaks() {
    let (options, mut connections) = scripted();
    let script = async {
        let mut server = Server::accept(&mut connections).await;
        assert_eq!(server.resume(3).await, 0);
        server.event(1).await;
        server.event(2).await;
        // It breaks while the next event is on its way.
        drop(server);
        let mut server = Server::accept(&mut connections).await;
        assert_eq!(
            server.resume(5).await,
            2,
            "it continues after the last event that it received"
        );
        // A daemon may send what is known already, and omit an event.
        for seq in [1, 2, 3, 5] {
            server.event(seq).await;
        }
        assert_eq!(server.resume(5).await, 3, "4 is missing");
        server.event(4).await;
        server.event(5).await;
        server
    };
    let program = async {
        let client = Client::connect(options).await.expect("it connects");
        let mut events = client
            .follow("t", Follow::all())
            .await
            .expect("the thread exists");
        let mut found = Vec::new();
        while found.len() < 5 {
            found.push(next_seq(&mut events).await);
        }
        assert_eq!(found, [1, 2, 3, 4, 5]);
        assert_eq!(events.cursor(), 5);
        (client, events)
    };
    let (_server, (client, mut events)) = tokio::join!(script, program);
    client.close();
    assert!(events.next().await.is_none(), "closing on purpose is no error");
    let closed = client.thread_list(&ThreadListParams::default()).await;
    assert_eq!(closed.expect_err("it is closed").code(), "closed");
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_gets_everything_with_a_small_buffer() {
    const LAST: u64 = 50;
    let (options, mut connections) = scripted();
    let script = async {
        let mut server = Server::accept(&mut connections).await;
        loop {
            let asked = server.asked().await;
            if asked.method != "thread/resume" {
                server.answer(&asked, &json!({ "status": "unsubscribed" })).await;
                continue;
            }
            let after = asked.params["after"].as_u64().expect("it has a cursor");
            let result = json!({ "thread": thread_json("t", LAST), "latestSeq": LAST });
            server.answer(&asked, &result).await;
            for seq in after + 1..=LAST {
                server.event(seq).await;
            }
        }
    };
    let program = async {
        let client = Client::connect(options.buffer(4, 1 << 20))
            .await
            .expect("it connects");
        let mut events = client
            .follow("t", Follow::all())
            .await
            .expect("the thread exists");
        for seq in 1..=LAST {
            // Lets the buffer become full.
            tokio::time::sleep(Duration::from_millis(10)).await;
            assert_eq!(next_seq(&mut events).await, seq);
        }
    };
    tokio::select! {
        () = program => {}
        () = script => unreachable!("the script has no end"),
    }
}

#[tokio::test(start_paused = true)]
async fn open_questions_are_repeated_and_the_cursor_stays() {
    let (options, mut connections) = scripted();
    let question = json!({
        "threadId": "t", "seq": 2, "ts": 0, "requestId": "r", "title": "rm", "options": [], "subjects": [],
    });
    let script = async {
        let mut server = Server::accept(&mut connections).await;
        assert_eq!(server.resume(3).await, Value::Null);
        server.notify("item/permissions/requestApproval", &question).await;
        server.event(4).await;
        drop(server);
        let mut server = Server::accept(&mut connections).await;
        assert_eq!(server.resume(4).await, 4);
        server.notify("item/permissions/requestApproval", &question).await;
        server
    };
    let program = async {
        let client = Client::connect(options).await.expect("it connects");
        let follow = Follow {
            repeat_questions: true,
            ..Follow::default()
        };
        let mut events = client.follow("t", follow).await.expect("the thread exists");
        let resumed = events.take_resumed().expect("it has a first response");
        assert_eq!(resumed.latest_seq, 3);
        assert!(events.resumed().is_none(), "it is taken");
        for (seq, cursor) in [(2, 3), (4, 4), (2, 4)] {
            assert_eq!((next_seq(&mut events).await, events.cursor()), (seq, cursor));
        }
        (client, events)
    };
    let (_server, (_client, _events)) = tokio::join!(script, program);
}

#[tokio::test(start_paused = true)]
async fn unknown_kinds_are_passed_on_as_they_are() {
    let (options, mut connections) = scripted();
    let script = async {
        let mut server = Server::accept(&mut connections).await;
        server.resume(0).await;
        let later = json!({ "threadId": "t", "seq": 1, "ts": 0, "dream": { "depth": 3 } });
        server.notify("turn/dreamed", &later).await;
        // A known kind in a form that this version cannot read.
        server
            .notify("turn/completed", &json!({ "threadId": "t", "seq": 2, "ts": 0 }))
            .await;
        let status = json!({ "threadId": "t", "seq": 3, "ts": 0, "status": "dreaming", "more": [] });
        server.notify("thread/status/changed", &status).await;
        server.notify("daemon/moved", &json!({ "to": "elsewhere" })).await;
        server
    };
    let program = async {
        let client = Client::connect(options).await.expect("it connects");
        let server = client.ready().await.expect("it is open");
        assert_eq!(server.identity.role.as_str(), "emperor");
        let mut updates = client.notifications();
        let mut events = client
            .follow("t", Follow::all())
            .await
            .expect("the thread exists");
        let event = events
            .next()
            .await
            .expect("it continues")
            .expect("it is no error");
        let Notification::Unrecognized { method, params } = &event else {
            panic!("{event:?}");
        };
        assert_eq!(
            (method.as_str(), &params["dream"]["depth"]),
            ("turn/dreamed", &json!(3))
        );
        assert_eq!((event.seq(), event.thread_id()), (Some(1), Some("t")));
        let event = events
            .next()
            .await
            .expect("it continues")
            .expect("it is no error");
        assert!(
            matches!(&event, Notification::Unrecognized { method, .. } if method == "turn/completed"),
            "{event:?}"
        );
        let event = events
            .next()
            .await
            .expect("it continues")
            .expect("it is no error");
        let Notification::ThreadStatusChanged(changed) = &event else {
            panic!("{event:?}");
        };
        assert_eq!(changed.status, ThreadStatus::Unrecognized("dreaming".to_owned()));
        let update = updates
            .next()
            .await
            .expect("it continues")
            .expect("it is no error");
        assert!(
            matches!(&update, Update::Notification(it) if it.method() == "daemon/moved"),
            "{update:?}"
        );
        client
    };
    tokio::join!(script, program);
}

#[tokio::test(start_paused = true)]
async fn requests_are_paced_and_refusals_have_a_code() {
    let (options, mut connections) = scripted();
    let script = async {
        let mut server = Server::accept_with(&mut connections, 3).await;
        for _ in 0..4 {
            let asked = server.asked().await;
            server
                .answer(&asked, &json!({ "data": [], "nextCursor": null }))
                .await;
        }
        let asked = server.asked().await;
        assert_eq!(
            asked.params,
            json!({ "threadId": "t", "name": null }),
            "null is sent where it is a value"
        );
        let data = json!({ "code": "not_found", "retryable": false, "detail": "look elsewhere" });
        let error = json!({ "code": -32002, "message": "there is no thread t", "data": data });
        server
            .send(&json!({ "jsonrpc": "2.0", "id": asked.id, "error": error }))
            .await;
        server
    };
    let program = async {
        let client = Client::connect(options).await.expect("it connects");
        let began = Instant::now();
        for at in 0..4 {
            client
                .thread_list(&ThreadListParams::default())
                .await
                .expect("it is answered");
            let is_late = began.elapsed() >= Duration::from_secs(10);
            assert_eq!(is_late, at >= 2, "request {at}: initialize counts as well");
        }
        let params = ThreadNameSetParams {
            name: None,
            thread_id: "t".to_owned(),
        };
        let error = client.thread_name_set(&params).await.expect_err("it is refused");
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            ("not_found", "there is no thread t")
        );
        let Error::Refused(refusal) = error else {
            panic!("{error:?}");
        };
        assert_eq!(
            (refusal.rpc_code, refusal.detail.as_deref()),
            (-32002, Some("look elsewhere"))
        );
        let long = StartThread {
            text: Some("x".repeat(20_000)),
            ..StartThread::default()
        };
        let error = client
            .thread_start(&long)
            .await
            .expect_err("the daemon accepts 10,000 bytes");
        assert_eq!(error.code(), "too_large");
    };
    tokio::join!(script, program);
}

#[tokio::test(start_paused = true)]
async fn the_thread_list_is_watched_again_and_a_gap_says_so() {
    let (options, mut connections) = scripted();
    let changed = json!({ "threadId": "t", "ts": 1, "thread": null });
    let script = async {
        let mut server = Server::accept(&mut connections).await;
        let asked = server.asked().await;
        assert_eq!(asked.method, "thread/list/watch");
        server.answer(&asked, &json!({})).await;
        server.notify("thread/list/changed", &changed).await;
        drop(server);
        let mut server = Server::accept(&mut connections).await;
        assert_eq!(server.asked().await.method, "thread/list/watch");
        server
    };
    let program = async {
        let client = Client::connect(options).await.expect("it connects");
        let mut updates = client.notifications();
        client.thread_list_watch().await.expect("it is watched");
        let update = updates
            .next()
            .await
            .expect("it continues")
            .expect("it is no error");
        let Update::Notification(notification) = update else {
            panic!("{update:?}");
        };
        assert!(
            matches!(&**notification, Notification::ThreadListChanged(changed) if changed.thread.is_none())
        );
        let update = updates
            .next()
            .await
            .expect("it continues")
            .expect("it is no error");
        assert!(matches!(update, Update::Gap), "{update:?}");
        client
    };
    tokio::join!(script, program);
}

#[tokio::test(start_paused = true)]
async fn permanent_errors_close_the_client_and_others_are_retried() {
    let (options, mut connections) = scripted();
    let script = async {
        // A daemon that ends before the handshake, and one of another version.
        drop(connections.recv().await);
        let pipe = connections.recv().await.expect("it tries again");
        let socket = tokio_tungstenite::accept_async(pipe)
            .await
            .expect("it is a WebSocket");
        let mut server = Server::of(socket);
        let hello = server.asked().await;
        server.answer(&hello, &json!({ "protocolVersion": 2 })).await;
        server
    };
    let program = async {
        let client = Client::start(options);
        let mut state = client.state();
        let waiting = state
            .wait_for(|state| matches!(state, State::Waiting { .. }))
            .await;
        drop(waiting.expect("the client lives"));
        let error = client.ready().await.expect_err("the versions differ");
        assert!(matches!(error, Error::ProtocolVersion { daemon: 2 }), "{error}");
        let error = client.follow("t", Follow::all()).await.expect_err("it is closed");
        assert_eq!(error.code(), "protocol_version");
        let mut updates = client.notifications();
        assert!(matches!(
            updates.next().await,
            Some(Err(Error::ProtocolVersion { .. }))
        ));
        assert!(updates.next().await.is_none());
    };
    tokio::join!(script, program);
}

#[tokio::test(start_paused = true)]
async fn a_thread_has_one_subscription_and_dropping_it_unsubscribes() {
    let (options, mut connections) = scripted();
    let script = async {
        let mut server = Server::accept(&mut connections).await;
        assert_eq!(server.resume(7).await, Value::Null);
        let asked = server.asked().await;
        assert_eq!(
            (asked.method.as_str(), asked.params),
            ("thread/unsubscribe", json!({ "threadId": "t" }))
        );
        assert_eq!(server.resume(7).await, 7);
        server
    };
    let program = async {
        let client = Client::connect(options).await.expect("it connects");
        let events = client
            .follow("t", Follow::default())
            .await
            .expect("the thread exists");
        let second = client.follow("t", Follow::default()).await;
        assert_eq!(second.expect_err("there is one").code(), "already_followed");
        assert_eq!(events.cursor(), 7);
        let cursor = events.cursor();
        drop(events);
        client
            .follow("t", Follow::after(cursor))
            .await
            .expect("the first is gone")
    };
    let (_server, events) = tokio::join!(script, program);
    assert_eq!(events.cursor(), 7);
}

#[test]
fn objects_are_read_by_their_kind_and_keep_what_is_unknown() {
    let read = |value: Value| serde_json::from_value::<Item>(value).expect("it is an item");
    let item =
        read(json!({ "itemId": "i", "type": "toolCall", "status": "pending", "title": "x", "new": 1 }));
    assert!(
        matches!(&item.object, ItemObject::ToolCall(call) if call.title.as_deref() == Some("x")),
        "{item:?}"
    );
    let item = read(json!({ "itemId": "i", "type": "agentThought", "text": "hm" }));
    assert!(
        matches!(&item.object, ItemObject::Message(message) if message.text.as_deref() == Some("hm")),
        "{item:?}"
    );
    let item = read(json!({ "itemId": "i", "type": "picture", "pixels": 3 }));
    assert!(
        matches!(&item.object, ItemObject::Unrecognized(object) if object["pixels"] == 3),
        "{item:?}"
    );
    let subject = json!({ "type": "teleport", "to": "mars" });
    let subject: CallSubject = serde_json::from_value(subject).expect("it is a subject");
    assert!(matches!(subject, CallSubject::Unrecognized(_)), "{subject:?}");
}

#[test]
fn non_objects_of_an_agent_are_left_out() {
    let read = |hello: &Value| {
        let report = json!({ "agentType": "a", "millis": 1, "stderr": "", "strayLines": [], "hello": hello });
        let report: AgentExamined = serde_json::from_value(report).expect("it is a report");
        report.hello.expect("the agent answered")
    };
    for odd in [json!(null), json!("x"), json!(5), json!([[]])] {
        let hello = read(&json!({ "protocolVersion": 1, "agentInfo": odd, "agentCapabilities": odd }));
        assert_eq!(
            (hello.agent_info, hello.agent_capabilities),
            (None, None),
            "{odd}"
        );
    }
    let hello = read(&json!({ "protocolVersion": 1, "authMethods": {} }));
    assert_eq!(hello.auth_methods, None);
    let hello = read(&json!({ "protocolVersion": 1, "authMethods": ["x", { "id": "key" }, null] }));
    let methods = hello.auth_methods.expect("it is a list");
    assert_eq!(json!(methods), json!([{ "id": "key" }]));
}

#[test]
fn members_missing_from_older_daemons_have_defaults() {
    let agent = json!({ "id": "a", "installed": true, "source": "config", "title": "A" });
    let agent: Agent = serde_json::from_value(agent).expect("it is an agent");
    assert!(!agent.is_default && !agent.is_set_up);
    let total = json!({ "costs": [], "inputTokens": 1, "outputTokens": 2, "totalTokens": 3 });
    let used = json!({ "data": [], "firstDay": "2026-01-01", "lastDay": "2026-01-02", "omitted": 1, "total": total });
    let used: UsageRead = serde_json::from_value(used).expect("it is a report");
    assert_eq!((used.omitted, used.currencies_omitted), (1, 0));
    let question =
        json!({ "threadId": "t", "seq": 1, "ts": 0, "requestId": "r", "title": "rm x", "options": [] });
    let question: Approval = serde_json::from_value(question).expect("it is a question");
    assert_eq!(question.subjects, []);
    // What every daemon sends, and nothing can stand in for, is still required.
    let nameless = json!({ "installed": true, "source": "config", "title": "A" });
    assert!(serde_json::from_value::<Agent>(nameless).is_err());
    let limits = json!({ "requestsPerWindow": 100, "requestWindowSecs": 10 });
    assert!(serde_json::from_value::<LimitsInForce>(limits).is_err());
    let odd = json!({ "id": "a", "installed": "yes", "source": "config", "title": "A" });
    assert!(serde_json::from_value::<Agent>(odd).is_err());
}

#[test]
fn a_removed_name_is_not_an_unchanged_one() {
    let read = |value: Value| serde_json::from_value::<ThreadUpdated>(value).expect("it is an update");
    let unchanged = read(json!({ "threadId": "t", "seq": 1, "ts": 0 }));
    let removed = read(json!({ "threadId": "t", "seq": 1, "ts": 0, "name": null }));
    assert_eq!((unchanged.name, removed.name), (None, Some(None)));
}

#[tokio::test(start_paused = true)]
async fn absurd_numbers_of_a_daemon_cause_no_panic() {
    let (options, mut connections) = scripted();
    let script = async {
        let mut server = Server::accept_with(&mut connections, u64::MAX).await;
        server.resume(u64::MAX).await;
        server.event(u64::MAX).await;
        server.event(0).await;
        server.notify("daemon/moved", &Value::Null).await;
        server
    };
    let program = async {
        let client = Client::connect(options).await.expect("it connects");
        let mut updates = client.notifications();
        let events = client
            .follow("t", Follow::default())
            .await
            .expect("the thread exists");
        assert_eq!(events.cursor(), u64::MAX);
        assert!(matches!(updates.next().await, Some(Ok(Update::Notification(_)))));
        (client, events)
    };
    let (_server, (client, events)) = tokio::join!(script, program);
    drop((client, events));
}

#[tokio::test(start_paused = true)]
async fn a_program_hands_over_one_websocket_and_the_client_ends_with_it() {
    let (client_end, server_end) = tokio::io::duplex(64 << 10);
    let (pipes, mut connections) = mpsc::unbounded_channel();
    pipes.send(server_end).expect("the script takes it");
    let script = async {
        let mut server = Server::accept(&mut connections).await;
        assert_eq!(server.capabilities["approvals"], true);
        let question = json!({
            "jsonrpc": "2.0", "id": "req_1", "method": "item/tool/requestUserInput",
            "params": { "threadId": "t", "seq": 1, "ts": 0, "requestId": "req_1", "title": "?", "newer": { "b": 1, "a": 2 } },
        });
        server.send(&question).await;
        let frame = CloseFrame {
            code: CloseCode::Away,
            reason: "it stops".into(),
        };
        server.socket.close(Some(frame)).await.expect("the client reads");
        server
    };
    let program = async {
        let end: Box<dyn Transport> = Box::new(client_end);
        let opened = tokio_tungstenite::client_async("ws://localhost/ws", end).await;
        let (socket, _) = opened.expect("it is a WebSocket");
        let slot = Mutex::new(Some(Connection::websocket(socket)));
        let options = Options::connector("test", move || {
            let connection = slot.lock().expect("no test panics with it").take();
            async move { connection.ok_or_else(|| ConnectError::permanent("there is no second connection")) }
        });
        let options = options.approvals(true).texts(true).reconnect(false);
        let client = Client::start(options);
        let mut updates = client.notifications();
        client.ready().await.expect("it is open");
        let update = updates
            .next()
            .await
            .expect("it continues")
            .expect("it is no error");
        let Update::Notification(question) = update else {
            panic!("{update:?}");
        };
        assert_eq!(question.method(), "item/tool/requestUserInput");
        let text = question.text.as_deref().expect("texts are kept");
        assert!(
            text.contains(r#""id":"req_1""#) && text.contains("newer"),
            "{text}"
        );
        let end = updates.next().await;
        assert!(
            matches!(&end, Some(Err(Error::ClosedByDaemon { reason })) if reason == "it stops"),
            "{end:?}"
        );
        let error = client
            .thread_list(&ThreadListParams::default())
            .await
            .expect_err("it is closed");
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            ("disconnected", "the daemon closed the connection: it stops")
        );
    };
    tokio::join!(script, program);
}

#[tokio::test(start_paused = true)]
async fn a_connector_decides_whether_its_failure_may_pass() {
    let attempts = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&attempts);
    let options = Options::connector("test", move || {
        let attempt = counted.fetch_add(1, Ordering::Relaxed);
        async move {
            if attempt < 2 {
                Err(io::Error::other("asleep"))?;
            }
            Err(ConnectError::permanent("the token is wrong"))
        }
    });
    let client = Client::start(options);
    let error = client
        .ready()
        .await
        .expect_err("the third attempt is the last one");
    assert_eq!(attempts.load(Ordering::Relaxed), 3);
    assert_eq!(error.to_string(), "the token is wrong");
    assert!(!error.is_retryable());
}

#[tokio::test(start_paused = true)]
async fn a_silent_daemon_is_given_as_long_as_its_pings_take() {
    let (options, mut connections) = scripted();
    let script = async { Server::accept(&mut connections).await };
    let program = async {
        Client::connect(options.reconnect(false))
            .await
            .expect("it connects")
    };
    let (_silent, client) = tokio::join!(script, program);
    let began = Instant::now();
    let mut state = client.state();
    let closed = state
        .wait_for(|state| matches!(state, State::Closed(_)))
        .await
        .expect("the client lives");
    assert!(
        matches!(&*closed, State::Closed(Error::Silent { silence }) if silence.as_secs() == 30),
        "{closed:?}"
    );
    assert_eq!(began.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_message_over_a_slow_link_is_no_silence() {
    const PIECES: usize = 8;
    const PIECE: usize = 1000;
    let (pipes, mut connections) = mpsc::unbounded_channel();
    let options = Options::connector("test", move || {
        let (client, server) = tokio::io::duplex(PIECE);
        let sent = pipes.send(server);
        async move {
            sent.map_err(|_| io::Error::other("the script is over"))?;
            Ok(Connection::stream(client))
        }
    });
    let script = async {
        let mut server = Server::accept(&mut connections).await;
        // The request takes longer than the silence, which is 30 s, and the response as well.
        let wire = server.socket.get_mut();
        let mut piece = vec![0; PIECE];
        for _ in 0..PIECES {
            tokio::time::sleep(Duration::from_secs(20)).await;
            wire.read_exact(&mut piece).await.expect("the client writes");
        }
        let text = "x".repeat(PIECE * PIECES);
        let response = format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{text}"}}"#);
        // A whole frame of text, with a length of 16 bits.
        let mut frame = vec![0x81, 126];
        let length = u16::try_from(response.len()).expect("it is short");
        frame.extend(length.to_be_bytes());
        frame.extend(response.as_bytes());
        for piece in frame.chunks(PIECE) {
            wire.write_all(piece).await.expect("the client reads");
            tokio::time::sleep(Duration::from_secs(20)).await;
        }
        server
    };
    let program = async {
        let client = Client::connect(options.reconnect(false))
            .await
            .expect("it connects");
        let text = "y".repeat(PIECE * PIECES);
        let response: String = client.call("echo", &text).await.expect("the link is slow");
        assert_eq!(response.len(), text.len());
        client
    };
    let (_server, client) = tokio::join!(script, program);
    // A client that hears no byte still ends.
    let closed = client
        .state()
        .wait_for(|state| matches!(state, State::Closed(_)))
        .await
        .map(|state| state.clone());
    assert!(
        matches!(closed, Ok(State::Closed(Error::Silent { .. }))),
        "{closed:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn values_that_no_type_can_hold_are_replaced() {
    let (options, mut connections) = scripted();
    let script = async {
        let mut server = Server::accept(&mut connections).await;
        let asked = server.asked().await;
        let id = &asked.id;
        let odd = format!(
            r#"{{"half":"a \ud83d b","big":1e999,"deep":{}{}}}"#,
            "[".repeat(300),
            "]".repeat(300)
        );
        let event = format!(
            r#"{{"jsonrpc":"2.0","method":"item/agentMessage/delta","params":{{"threadId":"t","seq":1,"ts":0,"itemId":"i","text":"a \ud83d","new":{odd}}}}}"#
        );
        server
            .socket
            .send(Message::text(event))
            .await
            .expect("the client reads");
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{odd}}}"#);
        server
            .socket
            .send(Message::text(answer))
            .await
            .expect("the client reads");
        let asked = server.asked().await;
        let id = &asked.id;
        let refusal = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32002,"message":"no \udc00","data":{{"code":"not_found","retryable":false}}}}}}"#
        );
        server
            .socket
            .send(Message::text(refusal))
            .await
            .expect("the client reads");
        server
    };
    let program = async {
        let client = Client::connect(options).await.expect("it connects");
        let mut updates = client.notifications();
        let answer: Value = client.call("odd", &json!({})).await.expect("it can be read");
        assert_eq!(
            (&answer["half"], &answer["big"]),
            (&json!("a \u{fffd} b"), &json!("1e999"))
        );
        let update = updates
            .next()
            .await
            .expect("it continues")
            .expect("it is no error");
        let Update::Notification(event) = update else {
            panic!("{update:?}");
        };
        assert!(
            matches!(&**event, Notification::ItemAgentMessageDelta(delta) if delta.text == "a \u{fffd}"),
            "{event:?}"
        );
        let refused = client.call::<_, Value>("odd", &json!({})).await;
        let error = refused.expect_err("it is refused");
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            ("not_found", "no \u{fffd}")
        );
        client
    };
    tokio::join!(script, program);
}

#[tokio::test]
async fn tokens_are_in_no_debug_text() {
    let (options, _connections) = scripted();
    let client = Client::start(options.token("acpd_secret"));
    assert!(!format!("{client:?}").contains("secret"));
}
