//! A Codex client, whose daemon is the test.

use std::time::Duration;

use acpd_model::{Event, Failure, Role, ThreadId};
use acpd_proto::projection::{Live, TurnsPage};
use acpd_proto::surface::codex::{Host, Peer};
use acpd_proto::surface::contract::{Delivery, Lane, Output, Pending, Source, Surface};
use acpd_proto::surface::reply::{Opened, Reply, ThreadView};
use acpd_proto::surface::request::Request;
use acpd_proto::time::Now;
use serde_json::{Value, json};

use crate::support::{NEW_THREAD, gate};

/// A connection, and everything that it has sent.
pub struct Client {
    peer: Peer,
    /// Messages for the client, in order.
    pub got: Vec<Value>,
    /// Requests to the daemon that wait for a reply.
    pub asked: Vec<(u64, Request)>,
    next_id: u64,
}

impl Client {
    /// Connects with this role.
    pub fn of(role: Role) -> Self {
        let host = Host {
            home: "/home/u".into(),
            default_agent: None,
        };
        let peer = Peer::new("owner".into(), role, host, gate());
        Self {
            peer,
            got: Vec::new(),
            asked: Vec::new(),
            next_id: 0,
        }
    }

    /// Returns a client after its handshake.
    pub fn ready(role: Role) -> Self {
        let mut client = Self::of(role);
        let hello = client.ask(
            "initialize",
            &json!({ "clientInfo": { "name": "tui", "version": "1" } }),
        );
        assert_eq!(hello["result"]["codexHome"], "/home/u");
        assert_eq!(client.take(), Request::WatchThreadList { on: true, only: None });
        client
    }

    /// Returns a client that follows a thread in the state `live`.
    pub fn following(live: &Live) -> Self {
        Self::following_as(Role::Owner, live)
    }

    /// Like [`Client::following`], with this role.
    pub fn following_as(role: Role, live: &Live) -> Self {
        let mut client = Self::ready(role);
        let params = json!({ "threadId": live.thread, "excludeTurns": true });
        let id = client.request("thread/resume", &params);
        assert!(
            matches!(client.peek(), Request::OpenThread(_)),
            "{:?}",
            client.asked
        );
        client.reply(Ok(opened(live, None)));
        assert_eq!(client.response(id)["result"]["thread"]["id"], json!(live.thread));
        client.got.clear();
        client
    }

    pub fn says(&mut self, message: &Value) {
        self.writes(&message.to_string());
    }

    /// Writes a message that may be none.
    pub fn writes(&mut self, text: &str) {
        let now = Now {
            mono: Duration::from_secs(100),
            wall: 1_000,
        };
        self.peer.handle_message(text, now);
        self.poll();
    }

    /// Sends a request, and returns its id.
    pub fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.says(&json!({ "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a request that has its response at once.
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.response(id)
    }

    /// Returns the response to request `id`.
    pub fn response(&self, id: u64) -> Value {
        let is_it = |message: &&Value| message["id"] == id && message.get("method").is_none();
        let found = self.got.iter().find(is_it);
        found
            .unwrap_or_else(|| panic!("no response to {id}: {:?}", self.asked))
            .clone()
    }

    /// Returns the oldest request to the daemon.
    pub fn peek(&self) -> &Request {
        &self.asked.first().expect("nothing was asked").1
    }

    /// Answers the oldest request to the daemon, and returns it.
    pub fn reply(&mut self, reply: Result<Reply, Failure>) -> Request {
        assert!(!self.asked.is_empty(), "nothing was asked");
        let (call, request) = self.asked.remove(0);
        self.peer.handle_reply(call, reply);
        self.poll();
        request
    }

    /// Confirms the oldest request to the daemon, and returns it.
    pub fn take(&mut self) -> Request {
        self.reply(Ok(Reply::Done))
    }

    /// Delivers events of a thread, all whose questions are open.
    pub fn deliver(&mut self, thread: ThreadId, events: &[Event]) {
        let name = thread.to_string();
        let source = Source::Events {
            thread: &name,
            events,
        };
        let frames = Peer::encode(Lane::Codex, source);
        self.peer.handle_frames(Delivery {
            thread,
            frames: &frames,
            last: events.last().map_or(0, |event| event.seq),
            pending: &Pending::all(),
        });
        self.poll();
    }

    /// Delivers a change of the thread list.
    pub fn list(&mut self, source: Source<'_>) {
        let frames = Peer::encode(Lane::Codex, source);
        self.peer
            .handle_notification(acpd_proto::surface::contract::ConnectionNotification::List(
                &frames,
            ));
        self.poll();
    }

    /// Returns the params of all notifications and requests with this method.
    pub fn params(&self, method: &str) -> Vec<&Value> {
        let of = |message: &&Value| message["method"] == method;
        self.got
            .iter()
            .filter(of)
            .map(|message| &message["params"])
            .collect()
    }

    /// Returns the methods of all notifications and requests, and removes them.
    pub fn methods(&mut self) -> Vec<String> {
        let got = std::mem::take(&mut self.got);
        got.iter()
            .map(|message| message["method"].as_str().unwrap_or("response").to_owned())
            .collect()
    }

    fn poll(&mut self) {
        while let Some(output) = self.peer.poll_output() {
            match output {
                Output::Send(text) => {
                    let text = std::str::from_utf8(&text).unwrap();
                    assert!(!text.contains(['\n', '\r']), "not one line: {text:?}");
                    self.got.push(serde_json::from_str(text).unwrap());
                }
                Output::Request { call, request, .. } => self.asked.push((call, *request)),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Returns the reply that opens a thread.
pub fn opened(live: &Live, turns: Option<TurnsPage>) -> Reply {
    Reply::Opened(Box::new(Opened {
        live: live.clone().into(),
        cursor: live.last_seq,
        turns,
        turn: None,
        fidelity: None,
        claimed: Vec::new(),
    }))
}

/// Returns the reply with a thread.
pub fn view(live: &Live, turns: Option<TurnsPage>) -> Reply {
    Reply::Thread(Box::new(ThreadView {
        live: live.clone().into(),
        turns,
    }))
}

/// Returns the id of a turn of the thread that the client follows.
pub fn turn_id(number: u32) -> String {
    format!("turn_{number}_{NEW_THREAD}")
}
