//! The connection with a scripted daemon, on pipes in memory.

use std::io;

use acpd_client::protocol::{ThreadListParams, ThreadStatus};
use acpd_client::{Connection, Options};
use futures_util::SinkExt;
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::*;

/// The daemon's side of one connection.
struct Server(WebSocketStream<DuplexStream>);

impl Server {
    /// Accepts a connection. `replaces`: whether the daemon sends prompts in place of earlier ones.
    async fn accept(pipes: &mut mpsc::UnboundedReceiver<DuplexStream>, replaces: bool) -> Self {
        let pipe = pipes.recv().await.expect("the client connects");
        let socket = tokio_tungstenite::accept_async(pipe)
            .await
            .expect("it is a WebSocket");
        let mut server = Self(socket);
        let limits = json!({
            "messageBytes": 10_000, "requestsPerWindow": 1000, "requestWindowSecs": 10, "queuedTurns": 1,
            "requestsInFlight": 64, "threadCommands": 1, "outboundQueue": 1, "liveBatches": 1, "connections": 1,
            "pingSecs": 20, "pongSecs": 10, "writeSecs": 10,
        });
        let welcome = json!({
            "protocolVersion": 1, "serverInfo": { "name": "acpd", "version": "9" }, "limits": limits,
            "capabilities": { "streaming": true, "tools": true, "approvals": true, "replacesTurns": replaces },
            "identity": { "principal": "owner", "role": "owner" },
        });
        server.answer("initialize", &welcome).await;
        let initialized = server.message().await;
        assert_eq!(initialized["method"], "initialized");
        server
    }

    async fn message(&mut self) -> Value {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).expect("it is JSON"),
                Some(Ok(_)) => {}
                other => panic!("the client sent {other:?}"),
            }
        }
    }

    async fn send(&mut self, message: &Value) {
        let sent = self.0.send(Message::text(message.to_string())).await;
        sent.expect("the client reads");
    }

    /// Answers the next request, which has this method. Returns its params.
    async fn answer(&mut self, method: &str, result: &Value) -> Value {
        let mut asked = self.message().await;
        assert_eq!(asked["method"], method, "{asked}");
        self.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }))
            .await;
        asked["params"].take()
    }

    async fn refuse(&mut self, method: &str, code: &str) {
        self.refuse_with(method, code, false).await;
    }

    async fn refuse_for_now(&mut self, method: &str, code: &str) {
        self.refuse_with(method, code, true).await;
    }

    async fn refuse_with(&mut self, method: &str, code: &str, retryable: bool) {
        let asked = self.message().await;
        assert_eq!(asked["method"], method, "{asked}");
        let error =
            json!({ "code": -32000, "message": code, "data": { "code": code, "retryable": retryable } });
        self.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }))
            .await;
    }

    async fn resume(&mut self, thread: &str, latest: u64) -> Value {
        self.answer("thread/resume", &resumed(thread, latest)).await
    }

    async fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            .await;
    }

    async fn status(&mut self, thread: &str, seq: u64) {
        let params = json!({ "threadId": thread, "seq": seq, "ts": 0, "status": "running" });
        self.notify("thread/status/changed", &params).await;
    }
}

fn resumed(thread: &str, latest: u64) -> Value {
    json!({ "latestSeq": latest, "thread": {
        "id": thread, "agentType": "demo", "cwd": "/", "status": "idle", "archived": false, "createdAt": 1, "updatedAt": 1,
        "turnCount": 0, "latestSeq": latest, "additionalDirectories": [], "queuedTurnIds": [], "pendingRequestIds": [],
    } })
}

/// Returns a client of a scripted daemon, which is not connected yet, and the daemon's ends of its connections.
fn scripted() -> (Client, mpsc::UnboundedReceiver<DuplexStream>) {
    let (pipes_tx, pipes) = mpsc::unbounded_channel();
    let options = Options::connector("test", move || {
        let (client, server) = tokio::io::duplex(64 << 10);
        let sent = pipes_tx.send(server);
        async move {
            sent.map_err(|_| io::Error::other("the script is over"))?;
            Ok(Connection::stream(client))
        }
    });
    (Client::start(options.reconnect(true)), pipes)
}

/// Returns a link that follows the thread `t`.
async fn linked(pipes: &mut mpsc::UnboundedReceiver<DuplexStream>, client: Client) -> (Link, Server) {
    let script = async {
        let mut server = Server::accept(pipes, true).await;
        let params = server.resume("t", 3).await;
        let expected = json!({ "threadId": "t", "limit": PAGE_TURNS, "startAgent": false });
        assert_eq!(params, expected);
        server
    };
    let (server, opened) = tokio::join!(script, Link::open(client, "t"));
    let (link, abilities, first) = opened.expect("the thread exists");
    assert!(abilities.replaces_turns && abilities.may_answer);
    assert_eq!((first.latest_seq, first.thread.status), (3, ThreadStatus::Idle));
    (link, server)
}

fn list() -> Request {
    Request::ListThreads(ThreadListParams::default())
}

/// Describes news.
fn said(news: &News) -> String {
    match news {
        News::Connected(abilities) => format!("connected, replaces: {}", abilities.replaces_turns),
        News::Lost(_) => "lost".to_owned(),
        News::Notification(event) => format!(
            "{} {} {}",
            event.thread_id().unwrap_or_default(),
            event.method(),
            event.seq().unwrap_or_default()
        ),
        News::Reply { token, reply } => match reply {
            Ok(Reply::Followed(resumed)) => format!("{token} follows {}", resumed.thread.id),
            Ok(_) => format!("{token} done"),
            Err(failure) => format!("{token} {:?}", failure.kind),
        },
        News::Unfollowed { thread, failure } => format!("{thread} ended: {:?}", failure.kind),
        News::Ended(error) => format!("ended: {error}"),
    }
}

/// Returns the next news.
async fn next(link: &mut Link, count: usize) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(said(&link.next().await));
    }
    all
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_fails_requests_first_and_subscriptions_continue() {
    let (client, mut pipes) = scripted();
    let (mut link, mut server) = linked(&mut pipes, client).await;
    link.request(1, list()).expect("there is room");
    let script = async {
        server.status("t", 4).await;
        server.message().await;
        drop(server);
        // The next daemon is an older one.
        let mut server = Server::accept(&mut pipes, false).await;
        assert_eq!(server.resume("t", 5).await["after"], 4);
        server.status("t", 5).await;
        server
    };
    let (_server, news) = tokio::join!(script, next(&mut link, 5));
    assert_eq!(
        news,
        [
            "t thread/status/changed 4",
            "1 Lost",
            "lost",
            "connected, replaces: false",
            "t thread/status/changed 5",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_first_thread_without_a_response_is_an_error_that_says_why() {
    // The daemon refuses it for now.
    let (client, mut pipes) = scripted();
    let script = async {
        let mut server = Server::accept(&mut pipes, true).await;
        server.refuse_for_now("thread/resume", "overloaded").await;
        server
    };
    let (_server, opened) = tokio::join!(script, Link::open(client, "t"));
    let error = opened.map(drop).expect_err("it is refused");
    assert!(error.is_retryable() && error.code() == "overloaded", "{error:?}");
    // The connection is lost before the response.
    let (client, mut pipes) = scripted();
    let script = async {
        let mut server = Server::accept(&mut pipes, true).await;
        let asked = server.message().await;
        assert_eq!(asked["method"], "thread/resume");
    };
    let ((), opened) = tokio::join!(script, Link::open(client, "t"));
    let error = opened.map(drop).expect_err("the connection is lost");
    assert_eq!(error.code(), "disconnected", "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_for_now_of_a_later_thread_is_reported() {
    let (client, mut pipes) = scripted();
    let (mut link, mut server) = linked(&mut pipes, client).await;
    link.follow(1, "busy".to_owned()).expect("there is room");
    let script = async {
        server.refuse_for_now("thread/resume", "overloaded").await;
        server
    };
    let (_server, news) = tokio::join!(script, next(&mut link, 1));
    assert_eq!(news, ["1 Other"]);
}

#[tokio::test(start_paused = true)]
async fn a_thread_is_followed_again_in_place_of_the_earlier_subscription() {
    let (client, mut pipes) = scripted();
    let (mut link, mut server) = linked(&mut pipes, client).await;
    link.follow(1, "t".to_owned()).expect("there is room");
    link.follow(2, "other".to_owned()).expect("there is room");
    let script = async {
        server
            .answer("thread/unsubscribe", &json!({ "status": "unsubscribed" }))
            .await;
        server.resume("t", 7).await;
        server.resume("other", 1).await;
        server.status("t", 8).await;
        server.status("other", 2).await;
        // It belongs to no subscription.
        let failed = json!({ "threadId": "t", "ts": 0, "error": "disk full" });
        server.notify("thread/log/changed", &failed).await;
        server
    };
    let (mut server, mut news) = tokio::join!(script, next(&mut link, 5));
    news.sort_unstable();
    assert_eq!(
        news,
        [
            "1 follows t",
            "2 follows other",
            "other thread/status/changed 2",
            "t thread/log/changed 0",
            "t thread/status/changed 8",
        ]
    );
    // One subscription ends; a thread that was only started is left with a request.
    link.unfollow("other".to_owned());
    link.unfollow("started".to_owned());
    let script = async {
        let mut left = Vec::new();
        for _ in 0..2 {
            let params = server
                .answer("thread/unsubscribe", &json!({ "status": "unsubscribed" }))
                .await;
            left.push(params["threadId"].as_str().map(str::to_owned));
        }
        left.sort_unstable();
        assert_eq!(left, [Some("other".to_owned()), Some("started".to_owned())]);
        server.status("t", 9).await;
        server
    };
    let (_server, news) = tokio::join!(script, next(&mut link, 1));
    assert_eq!(news, ["t thread/status/changed 9"]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_subscription_and_too_many_requests_are_said() {
    let (client, mut pipes) = scripted();
    let (mut link, mut server) = linked(&mut pipes, client).await;
    link.follow(1, "gone".to_owned()).expect("there is room");
    let (mut server, news) = tokio::join!(
        async {
            server.refuse("thread/resume", "not_found").await;
            server
        },
        next(&mut link, 1)
    );
    assert_eq!(news, ["1 NotFound"]);
    // The thread was deleted while the connection was lost. What came before is shown before.
    let script = async {
        server.status("t", 4).await;
        drop(server);
        let mut server = Server::accept(&mut pipes, true).await;
        server.refuse("thread/resume", "not_found").await;
        server
    };
    let (_server, news) = tokio::join!(script, next(&mut link, 4));
    assert_eq!(
        news,
        [
            "t thread/status/changed 4",
            "lost",
            "connected, replaces: true",
            "t ended: NotFound"
        ]
    );
    for (token, _) in (0..).zip(0..IN_FLIGHT) {
        link.request(token, list()).expect("there is room");
    }
    assert!(link.request(99, list()).is_err());
    assert!(link.follow(99, "more".to_owned()).is_err());
}
