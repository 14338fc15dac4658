//! What every client may do, whatever its protocol: the order of the handshake, the limits of requests, and how a refusal reads.

use std::time::Duration;

use acpd_model::{AccessScope, ErrorCode, Limits, RawJson, Role};
use acpd_proto::surface::contract::{Gate, Output, Surface};
use acpd_proto::surface::reply::{ListPage, Reply};
use acpd_proto::surface::request::{Permissions, Request};
use acpd_proto::surface::{acp, app, codex};
use acpd_proto::time::Now;
use serde_json::{Value, json};

use crate::support::{NEW_THREAD, gate};

enum Peer {
    App(Box<app::Peer>),
    Acp(Box<acp::Peer>),
    Codex(Box<codex::Peer>),
}

macro_rules! each {
    ($client:expr, $peer:ident => $does:expr) => {
        match &mut $client.peer {
            Peer::App($peer) => $does,
            Peer::Acp($peer) => $does,
            Peer::Codex($peer) => $does,
        }
    };
}

/// A connection of one protocol, whose daemon is the test.
struct Client {
    peer: Peer,
    mono: Duration,
}

/// A response: its id, and its error with the code and the message.
type Response = (Value, Option<(i64, String)>);

impl Client {
    /// Connects with each protocol.
    fn of(permissions: Permissions) -> [Self; 3] {
        let host = codex::Host::default();
        [
            Peer::App(Box::new(app::Peer::new("p".into(), permissions, gate()))),
            Peer::Acp(Box::new(acp::Peer::new(
                "p".into(),
                permissions,
                "c".into(),
                gate(),
            ))),
            Peer::Codex(Box::new(codex::Peer::new("p".into(), permissions, host, gate()))),
        ]
        .map(|peer| Self {
            peer,
            mono: Duration::from_secs(100),
        })
    }

    /// Returns a client of each protocol after its handshake.
    fn ready(permissions: impl Into<Permissions>) -> [Self; 3] {
        let mut clients = Self::of(permissions.into());
        for client in &mut clients {
            client.greet();
            // Only what follows counts for the rate.
            client.mono += Duration::from_secs(Limits::default().request_window_secs);
        }
        clients
    }

    fn greet(&mut self) {
        let (responses, requests) = self.request("hello", "initialize", &hello());
        let (mut responses, requests) = self.serve(responses, requests);
        if matches!(self.peer, Peer::App(_)) {
            self.says(&json!({ "jsonrpc": "2.0", "method": "initialized" }));
        }
        assert_eq!(responses.pop(), Some((json!("hello"), None)), "{}", self.name());
        assert!(
            requests
                .iter()
                .all(|request| !matches!(request, Request::ListThreads(_)))
        );
    }

    /// Confirms the requests of a handshake.
    fn serve(
        &mut self,
        mut responses: Vec<Response>,
        calls: Vec<(u64, Request)>,
    ) -> (Vec<Response>, Vec<Request>) {
        let mut requests = Vec::new();
        for (call, request) in calls {
            let reply = match request {
                Request::Initialize => Reply::Initialized(RawJson::parse("{}").unwrap()),
                _ => Reply::Done,
            };
            requests.push(request);
            responses.extend(self.reply(call, reply));
        }
        (responses, requests)
    }

    fn name(&self) -> &'static str {
        match self.peer {
            Peer::App(_) => "app",
            Peer::Acp(_) => "acp",
            Peer::Codex(_) => "codex",
        }
    }

    fn gate(&mut self) -> &mut Gate {
        each!(self, peer => peer.gate())
    }

    fn says(&mut self, message: &Value) {
        let now = Now {
            mono: self.mono,
            wall: 0,
        };
        each!(self, peer => peer.handle_message(&message.to_string(), now));
    }

    /// Sends a request. Returns the responses, and the requests to the daemon with their numbers.
    fn request(&mut self, id: &str, method: &str, params: &Value) -> (Vec<Response>, Vec<(u64, Request)>) {
        self.says(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.poll()
    }

    fn reply(&mut self, call: u64, reply: Reply) -> Vec<Response> {
        each!(self, peer => peer.handle_reply(call, Ok(reply)));
        self.poll().0
    }

    fn poll(&mut self) -> (Vec<Response>, Vec<(u64, Request)>) {
        let (mut responses, mut requests) = (Vec::new(), Vec::new());
        while let Some(output) = each!(self, peer => peer.poll_output()) {
            match output {
                Output::Send(text) => {
                    let message: Value = serde_json::from_slice(&text).unwrap();
                    let error = message.get("error").map(|error| {
                        let words = error["message"].as_str().unwrap();
                        (error["code"].as_i64().unwrap(), words.to_owned())
                    });
                    responses.push((message["id"].clone(), error));
                }
                Output::Request { call, request, .. } => requests.push((call, *request)),
                other => panic!("{other:?}"),
            }
        }
        (responses, requests)
    }

    /// Returns why a request is refused, and checks that it has no other effect.
    fn refusal(&mut self, id: &str, method: &str, params: &Value) -> (i64, String) {
        let (mut responses, requests) = self.request(id, method, params);
        assert!(requests.is_empty(), "{}: {requests:?}", self.name());
        assert_eq!(responses.len(), 1, "{}: {responses:?}", self.name());
        let (answered, error) = responses.remove(0);
        assert_eq!(answered, id, "{}", self.name());
        error.unwrap_or_else(|| panic!("{} {method} is not refused", self.name()))
    }

    /// Begins a request for the list of threads.
    fn list(&mut self, id: &str) -> Result<u64, String> {
        let (responses, mut requests) = self.request(id, self.listing(), &json!({}));
        match requests.pop() {
            Some((call, Request::ListThreads(_))) => Ok(call),
            Some(other) => panic!("{other:?}"),
            None => Err(responses[0].1.clone().unwrap().1),
        }
    }

    fn listing(&self) -> &'static str {
        match self.peer {
            Peer::Acp(_) => "session/list",
            Peer::App(_) | Peer::Codex(_) => "thread/list",
        }
    }
}

fn hello() -> Value {
    json!({ "protocolVersion": 1, "clientInfo": { "name": "test", "version": "1" } })
}

fn no_threads() -> Reply {
    Reply::Threads(ListPage {
        page: Vec::new(),
        next: None,
    })
}

/// Checks that each protocol refuses a request of the same kind with the same words, under the code that the protocol has for it.
fn same(clients: [Client; 3], code: ErrorCode, words: &str, refusal: impl Fn(&mut Client) -> (i64, String)) {
    for mut client in clients {
        let name = client.name();
        let of_protocol = match (&client.peer, code) {
            // ACP has no code of its own for the handshake.
            (Peer::Acp(_), ErrorCode::Handshake) => ErrorCode::InvalidRequest,
            _ => code,
        };
        client.gate().take_handled();
        assert_eq!(
            refusal(&mut client),
            (of_protocol.rpc(), words.to_owned()),
            "{name}"
        );
        let handled = client.gate().take_handled().pop().unwrap();
        assert_eq!(handled.error, Some(code), "{name}");
    }
}

#[test]
fn a_refusal_reads_the_same_on_each_surface() {
    same(
        Client::of(Role::Owner.into()),
        ErrorCode::Handshake,
        "Not initialized",
        |client| client.refusal("1", client.listing(), &json!({})),
    );
    same(
        Client::ready(Role::Owner),
        ErrorCode::Handshake,
        "Already initialized",
        |client| client.refusal("1", "initialize", &hello()),
    );
    same(
        Client::ready(Role::Owner),
        ErrorCode::MethodNotFound,
        "unknown method \"thread/hologram\"",
        |client| client.refusal("1", "thread/hologram", &json!({})),
    );
    let absurd = "é".repeat(100_000);
    same(
        Client::ready(Role::Owner),
        ErrorCode::MethodNotFound,
        &format!("unknown method {:?}", "é".repeat(80)),
        |client| client.refusal("1", &absurd, &json!({})),
    );
    same(
        Client::ready(Role::Owner),
        ErrorCode::InvalidRequest,
        "a request with the id \"1\" is in progress on this connection: use another id for each",
        |client| {
            client.list("1").unwrap();
            client.refusal("1", client.listing(), &json!({}))
        },
    );
    same(
        Client::ready(Role::Owner),
        ErrorCode::Overloaded,
        "too many requests in flight on this connection (limit 64)",
        |client| {
            for id in 0..Limits::default().requests_in_flight {
                client.mono += Duration::from_secs(1);
                client.list(&id.to_string()).unwrap();
            }
            client.mono += Duration::from_secs(1);
            client.refusal("one more", client.listing(), &json!({}))
        },
    );
    same(
        Client::ready(Role::Owner),
        ErrorCode::RateLimited,
        "more than 60 requests in 10 s on this connection",
        |client| {
            for id in 0..Limits::default().requests_per_window {
                let call = client.list(&id.to_string()).unwrap();
                client.reply(call, no_threads());
            }
            client.refusal("one more", client.listing(), &json!({}))
        },
    );
}

/// What the request would do needs a role or a scope that the client does not have. Only the name of the method differs.
#[test]
fn refusals_read_the_same_on_each_surface() {
    let delete = |client: &Client| match client.peer {
        Peer::Acp(_) => ("session/delete", json!({ "sessionId": NEW_THREAD })),
        Peer::App(_) | Peer::Codex(_) => ("thread/delete", json!({ "threadId": NEW_THREAD })),
    };
    for role in [Role::Observer, Role::Approver, Role::Operator] {
        for mut client in Client::ready(role) {
            let (method, params) = delete(&client);
            let words = format!("{method} needs the role owner; this client has the role {role}");
            let refused = client.refusal("1", method, &params);
            assert_eq!(refused, (ErrorCode::Forbidden.rpc(), words));
        }
    }
    let link = Permissions {
        role: Role::Observer,
        scope: AccessScope::Thread(NEW_THREAD),
    };
    same(
        Client::ready(link),
        ErrorCode::Forbidden,
        "this link shares one thread to read; it permits nothing else",
        |client| {
            let (method, params) = delete(client);
            client.refusal("1", method, &params)
        },
    );
}

#[test]
fn requests_before_the_handshake_do_nothing_and_do_not_prevent_it() {
    for mut client in Client::of(Role::Owner.into()) {
        for method in [client.listing(), "no/such", "session/prompt", "turn/start"] {
            assert_eq!(client.refusal("1", method, &json!({})).1, "Not initialized");
        }
        assert_eq!(client.gate().in_progress(), 0);
        client.greet();
        let call = client.list("1").unwrap();
        assert_eq!(client.reply(call, no_threads()), [(json!("1"), None)]);
    }
}

/// The requests of a flood are refused because the handshake is missing. They do not count, so that the client can begin it at once.
#[test]
fn a_flood_before_the_handshake_leaves_room_for_it() {
    for mut client in Client::of(Role::Owner.into()) {
        for _ in 0..1000 {
            assert_eq!(
                client.refusal("1", client.listing(), &json!({})).1,
                "Not initialized"
            );
        }
        client.greet();
        let most = Limits::default().requests_per_window;
        for id in 1..most {
            let call = client.list(&id.to_string()).unwrap();
            client.reply(call, no_threads());
        }
        let refused = client.list("one more").unwrap_err();
        assert!(refused.contains("more than 60 requests"), "{refused}");
    }
}

/// A handshake that fails may be repeated, but not without end: the agent of an editor starts for each.
#[test]
fn a_flood_of_failing_handshakes_is_limited() {
    for mut client in Client::of(Role::Owner.into()) {
        let mut refused = String::new();
        for id in 0..=Limits::default().requests_per_window {
            let (responses, requests) = client.request(&id.to_string(), "initialize", &json!([]));
            let mut error = responses.into_iter().next().and_then(|(_, error)| error);
            for (call, _) in requests {
                let gone = Err(acpd_model::Failure::agent("no such program"));
                each!(client, peer => peer.handle_reply(call, gone));
                error = client.poll().0.remove(0).1;
            }
            refused = error.unwrap().1;
        }
        assert!(
            refused.contains("more than 60 requests"),
            "{}: {refused}",
            client.name()
        );
    }
}

#[test]
fn an_id_repeated_while_its_request_waits_gets_one_result() {
    for mut client in Client::ready(Role::Owner) {
        let call = client.list("1").unwrap();
        for _ in 0..3 {
            assert!(client.list("1").unwrap_err().contains("use another id"));
        }
        assert_eq!(client.reply(call, no_threads()), [(json!("1"), None)]);
        assert_eq!(client.reply(call, no_threads()), []);
        assert_eq!(client.gate().in_progress(), 0);
        // The answer makes the id free again.
        let call = client.list("1").unwrap();
        assert_eq!(client.reply(call, no_threads()), [(json!("1"), None)]);
    }
}
