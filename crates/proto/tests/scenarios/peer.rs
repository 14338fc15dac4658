//! One connection of the app protocol: handshake, rules, responses.

use std::time::Duration;

use acpd_model::event::Fidelity;
use acpd_model::{ErrorCode, Failure, ItemId, RawJson, Role, ThreadId, TurnId, TurnPosition};
use acpd_proto::projection::Live;
use acpd_proto::surface::app::Peer;
use acpd_proto::surface::contract::{Delivery, Output, Pending, Surface};
use acpd_proto::surface::reply::{AgentAnswers, Closed, Opened, Reply, Steered};
use acpd_proto::surface::request::{ListThreads, Request, Turns};
use acpd_proto::thread::{InterruptOptions, SteerDelivery};
use acpd_proto::time::Now;
use serde_json::{Value, json};
use uuid::Uuid;

mod questions;

use crate::support::{NEW_THREAD, gate};

/// A connection and its clock.
pub(crate) struct Line {
    peer: Peer,
    mono: Duration,
    /// The number of the last request.
    requests: u64,
}

impl Line {
    fn new() -> Self {
        Self::of(Role::Owner)
    }

    fn of(role: Role) -> Self {
        let peer = Peer::new("owner".into(), role, gate());
        let mono = Duration::from_secs(100);
        Self {
            peer,
            mono,
            requests: 0,
        }
    }

    /// Returns a connection after its handshake.
    pub(crate) fn ready(capabilities: &str) -> Self {
        Self::ready_as(Role::Owner, capabilities)
    }

    fn ready_as(role: Role, capabilities: &str) -> Self {
        let mut line = Self::of(role);
        let hello = format!(r#"{{"clientInfo":{{"name":"test"}},"capabilities":{capabilities}}}"#);
        assert!(line.ask("initialize", &hello)["result"].is_object());
        line.says(r#"{"jsonrpc":"2.0","method":"initialized"}"#);
        line
    }

    fn says(&mut self, text: &str) {
        let now = Now {
            mono: self.mono,
            wall: 0,
        };
        self.peer.handle_message(text, now);
    }

    fn later(&mut self, millis: u64) {
        self.mono += Duration::from_millis(millis);
    }

    /// Returns the message to the client, and checks that it is the only output.
    fn sent(&mut self) -> Value {
        let sent = match self.peer.poll_output() {
            Some(Output::Send(message)) => serde_json::from_slice(&message).unwrap(),
            other => panic!("nothing was sent: {other:?}"),
        };
        assert_eq!(self.peer.poll_output(), None);
        sent
    }

    /// Returns the request to the daemon, and checks that it is the only output.
    fn called(&mut self) -> (u64, Request) {
        let called = match self.peer.poll_output() {
            Some(Output::Request { call, request, .. }) => (call, *request),
            other => panic!("nothing is asked: {other:?}"),
        };
        assert_eq!(self.peer.poll_output(), None);
        called
    }

    fn request(&mut self, method: &str, params: &str) {
        self.requests += 1;
        self.says(&format!(
            r#"{{"jsonrpc":"2.0","id":"r{}","method":"{method}","params":{params}}}"#,
            self.requests
        ));
    }

    /// Sends a request that the connection answers itself.
    fn ask(&mut self, method: &str, params: &str) -> Value {
        self.request(method, params);
        let answer = self.sent();
        let id = format!("r{}", self.requests);
        assert_eq!((&answer["id"], &answer["jsonrpc"]), (&json!(id), &json!("2.0")));
        answer
    }

    /// Sends a request that the connection passes on.
    fn wants(&mut self, method: &str, params: &str) -> Request {
        self.request(method, params);
        let (token, request) = self.called();
        self.peer.handle_reply(token, Ok(Reply::Done));
        self.sent();
        request
    }

    /// Opens a thread, which is the default for requests without one from then on.
    fn opens_thread(&mut self) {
        let params = json!({ "threadId": thread() }).to_string();
        self.result("thread/resume", &params, opened("null"));
    }

    /// Returns the result of a request to which the daemon gives this reply.
    pub(crate) fn result(&mut self, method: &str, params: &str, reply: Reply) -> Value {
        self.request(method, params);
        let (token, _) = self.called();
        self.peer.handle_reply(token, Ok(reply));
        self.sent()["result"].take()
    }
}

fn thread() -> ThreadId {
    ThreadId(Uuid::from_u128(7))
}

fn error(answer: &Value) -> (i64, &str, &str) {
    let error = &answer["error"];
    (
        error["code"].as_i64().unwrap(),
        error["data"]["code"].as_str().unwrap(),
        error["message"].as_str().unwrap(),
    )
}

#[test]
fn the_handshake_has_an_order() {
    let mut line = Line::new();
    let early = line.ask("thread/list", "{}");
    assert_eq!(error(&early), (-32003, "handshake", "Not initialized"));
    let welcome = line.ask(
        "initialize",
        r#"{"clientInfo":{"name":"me","title":"Me","version":"1"}}"#,
    );
    let result = &welcome["result"];
    assert_eq!(result["serverInfo"]["name"], "acpd");
    assert_eq!(result["protocolVersion"], 1);
    assert_eq!(
        result["identity"],
        json!({ "principal": "owner", "role": "owner" })
    );
    assert_eq!(result["capabilities"]["approvals"], true);
    assert_eq!(result["limits"]["messageBytes"], 1 << 20);
    assert_eq!(result["limits"]["requestsPerWindow"], 60);
    let between = line.ask("thread/list", "{}");
    assert!(error(&between).2.starts_with("Not initialized"));
    let twice = line.ask("initialize", r#"{"clientInfo":{"name":"me"}}"#);
    assert_eq!(error(&twice), (-32003, "handshake", "Already initialized"));
    line.says(r#"{"jsonrpc":"2.0","method":"initialized"}"#);
    assert_eq!(
        line.wants("thread/list", "{}"),
        Request::ListThreads(ListThreads::default())
    );
    let thrice = line.ask("initialize", r#"{"clientInfo":{"name":"me"}}"#);
    assert_eq!(error(&thrice).2, "Already initialized");
    assert_eq!(line.peer.profile().origin.client, "me");
}

#[test]
fn a_bad_hello_may_be_said_again() {
    let mut line = Line::new();
    for bad in [
        "{}",
        r#"{"clientInfo":{}}"#,
        r#"{"clientInfo":{"name":7}}"#,
        "[]",
        "null",
    ] {
        assert_eq!(error(&line.ask("initialize", bad)).1, "invalid_params", "{bad}");
    }
    line.says(r#"{"jsonrpc":"2.0","method":"initialized"}"#);
    assert_eq!(error(&line.ask("agent/list", "{}")).2, "Not initialized");
    let unknown = r#"{"clientInfo":{"name":"n","x":1},"capabilities":{"new":{}},"more":[]}"#;
    assert!(
        line.ask("initialize", unknown)["result"].is_object(),
        "what is unknown is passed over"
    );
}

#[test]
fn sixty_requests_in_ten_seconds() {
    let mut line = Line::ready("{}");
    for _ in 1..60 {
        line.wants("agent/list", "{}");
        line.later(100);
    }
    let refused = line.ask("agent/list", "{}");
    assert_eq!((error(&refused).0, error(&refused).1), (-32005, "rate_limited"));
    assert_eq!(refused["error"]["data"]["retryable"], true);
    line.says(r#"{"jsonrpc":"2.0","method":"whatever"}"#);
    assert_eq!(line.peer.poll_output(), None, "a notification is no request");
    line.later(4099);
    assert_eq!(error(&line.ask("agent/list", "{}")).1, "rate_limited");
    line.later(1);
    line.wants("agent/list", "{}");
    line.later(10_000);
    for _ in 0..60 {
        line.wants("agent/list", "{}");
    }
    assert_eq!(
        error(&line.ask("agent/list", "{}")).1,
        "rate_limited",
        "the window slides"
    );
}

#[test]
fn too_many_unanswered_requests() {
    let mut line = Line::ready("{}");
    let mut tokens = Vec::new();
    for _ in 0..64 {
        line.later(200);
        line.request("agent/list", "{}");
        tokens.push(line.called().0);
    }
    line.later(200);
    assert_eq!(error(&line.ask("agent/list", "{}")).1, "overloaded");
    line.peer.handle_reply(tokens[5], Ok(Reply::Agents(Vec::new())));
    assert_eq!(line.sent()["result"], json!({ "data": [] }));
    line.request("agent/list", "{}");
    line.called();
    line.peer.handle_reply(tokens[5], Ok(Reply::Agents(Vec::new())));
    assert_eq!(line.peer.poll_output(), None, "one answer to one request");
}

/// Two responses under one id could not be told apart.
#[test]
fn an_id_in_progress_is_refused_and_its_request_is_still_answered() {
    let mut line = Line::ready("{}");
    let request = r#"{"jsonrpc":"2.0","id":"x","method":"agent/list"}"#;
    line.says(request);
    let (first, _) = line.called();
    for method in ["agent/list", "thread/list"] {
        line.says(&format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{method}"}}"#));
        let refused = line.sent();
        assert_eq!(
            (error(&refused).0, error(&refused).1, &refused["id"]),
            (-32600, "invalid_request", &json!("x")),
            "{method}"
        );
        assert!(error(&refused).2.contains("use another id"), "{refused}");
    }
    line.peer.handle_reply(first, Ok(Reply::Agents(Vec::new())));
    let answer = line.sent();
    assert_eq!(
        (&answer["id"], &answer["result"]),
        (&json!("x"), &json!({ "data": [] }))
    );
    // An answer makes the id free again, also one with an error.
    line.says(request);
    let (second, _) = line.called();
    line.peer.handle_reply(second, Err(Failure::agent("it died")));
    assert_eq!(error(&line.sent()).1, "agent_failed");
    line.says(request);
    line.called();
}

#[test]
fn malformed_requests_are_refused() {
    for (text, word, id) in [
        ("hello", "parse_error", Value::Null),
        ("{", "parse_error", Value::Null),
        ("", "parse_error", Value::Null),
        ("[]", "invalid_request", Value::Null),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"agent/list"}]"#,
            "invalid_request",
            Value::Null,
        ),
        ("{}", "invalid_request", Value::Null),
        ("7", "invalid_request", Value::Null),
        (r#"{"id":1,"method":7}"#, "invalid_request", json!(1)),
        (r#"{"id":1,"result":{}}"#, "invalid_request", Value::Null),
        (
            r#"{"jsonrpc":"2.0","id":"q","method":"agent/list","params":{"#,
            "parse_error",
            json!("q"),
        ),
        (
            r#"{"method":"agent/list","params":{]},"id":7}"#,
            "parse_error",
            json!(7),
        ),
    ] {
        let mut line = Line::ready("{}");
        line.says(text);
        let answer = line.sent();
        assert_eq!((error(&answer).1, &answer["id"]), (word, &id), "{text}");
    }
}

#[test]
fn messages_are_found_between_other_text() {
    for text in [
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agent/list\"}",
        "\u{1b}[32m{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agent/list\"}\u{1b}[0m\0",
    ] {
        let mut line = Line::ready("{}");
        line.says(text);
        let (call, _) = line.called();
        line.peer.handle_reply(call, Ok(Reply::Agents(Vec::new())));
        assert_eq!(line.sent()["id"], 1, "{text:?}");
    }
}

#[test]
fn texts_of_clients_are_well_formed() {
    let mut line = Line::ready("{}");
    let thread = thread();
    line.request(
        "turn/start",
        &format!(r#"{{"threadId":"{thread}","input":[{{"type":"text","text":"\ud83d a \ud83d\ude00"}}]}}"#),
    );
    let (_, request) = line.called();
    let Request::StartTurn(start) = request else {
        panic!("{request:?}")
    };
    assert!(
        format!("{start:?}").contains(r"\ufffd a \ud83d\ude00"),
        "{start:?}"
    );
}

#[test]
fn unknown_methods_and_bad_params() {
    let mut line = Line::ready("{}");
    let answer = line.ask("thread/hologram", "{}");
    assert_eq!(error(&answer).0, -32601);
    assert!(error(&answer).2.contains("thread/hologram"));
    for (method, params) in [
        ("thread/resume", "{}"),
        ("thread/resume", r#"{"threadId":"x"}"#),
        ("thread/resume", "[]"),
        ("thread/read", "{}"),
        ("thread/start", r#"{"cwd":"/w"}"#),
        ("thread/start", r#"{"agentType":"a","cwd":7}"#),
        (
            "thread/start",
            r#"{"agentType":"a","cwd":"/w","systemPrompt":"be kind"}"#,
        ),
        (
            "thread/start",
            r#"{"agentType":"a","cwd":"/w","systemPrompt":{"content":" "}}"#,
        ),
        (
            "thread/start",
            r#"{"agentType":"a","cwd":"/w","systemPrompt":{"content":"x","mode":"shout"}}"#,
        ),
        ("thread/list", r#"{"status":"sleepy"}"#),
        ("thread/list", r#"{"limit":-1}"#),
        ("turn/start", r#"{"text":"x"}"#),
        ("turn/interrupt", r#"{"turnId":"item_1"}"#),
        ("turn/start", r#"{"text":"x","replacesTurnId":"item_1"}"#),
        ("item/approve", r#"{"approved":true}"#),
        ("item/approve", r#"{"requestId":"req_1"}"#),
        (
            "item/approve",
            r#"{"requestId":"req_1_00000000000000000000000000000007"}"#,
        ),
    ] {
        let answer = line.ask(method, params);
        assert_eq!(
            (error(&answer).0, error(&answer).1),
            (-32602, "invalid_params"),
            "{method} {params}"
        );
    }
}

#[test]
fn ids_come_back_as_they_were_written() {
    for id in ["1", "-1", "\"a\"", "1.50", "null", "123456789012345678901"] {
        let mut line = Line::ready("{}");
        line.says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"agent/list"}}"#));
        let (token, _) = line.called();
        line.peer.handle_reply(token, Ok(Reply::Agents(Vec::new())));
        let Some(Output::Send(answer)) = line.peer.poll_output() else {
            panic!("no answer")
        };
        assert_eq!(
            std::str::from_utf8(&answer).unwrap(),
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"data":[]}}}}"#)
        );
    }
}

#[test]
fn an_error_has_a_code_and_says_whether_to_retry() {
    let mut line = Line::ready("{}");
    line.request("agent/list", "{}");
    let (token, _) = line.called();
    let failure = Failure::agent("it died").with_detail("stack trace");
    line.peer.handle_reply(token, Err(failure));
    assert_eq!(
        line.sent()["error"],
        json!({ "code": -32008, "message": "it died",
            "data": { "code": "agent_failed", "retryable": true, "detail": "stack trace" } })
    );
}

/// Returns the thread that a request without one is for.
fn default_thread(line: &mut Line) -> Option<ThreadId> {
    line.request("turn/interrupt", "{}");
    match line.peer.poll_output() {
        Some(Output::Request { call, request, .. }) => {
            line.peer.handle_reply(call, Ok(Reply::Done));
            line.sent();
            request.ordered_by()
        }
        Some(Output::Send(_)) => None,
        other => panic!("{other:?}"),
    }
}

/// Requests that a client sends right after it opens a thread may leave the thread out.
#[test]
fn a_thread_is_the_default_from_the_request_that_opens_it() {
    let mut line = Line::ready("{}");
    assert_eq!(default_thread(&mut line), None);
    line.request("thread/start", r#"{"agentType":"a","cwd":"/w"}"#);
    let (started, _) = line.called();
    assert_eq!(default_thread(&mut line), Some(NEW_THREAD));
    line.request("thread/resume", &json!({ "threadId": thread() }).to_string());
    let (resumed, _) = line.called();
    assert_eq!(default_thread(&mut line), Some(thread()));
    line.peer.handle_reply(resumed, Err(Failure::not_found("it")));
    line.sent();
    assert_eq!(default_thread(&mut line), Some(NEW_THREAD), "the one before");
    line.peer.handle_reply(started, Err(Failure::agent("it")));
    line.sent();
    assert_eq!(default_thread(&mut line), None);
}

/// A thread can exist although the request that started it failed.
#[test]
fn a_thread_whose_events_arrive_stays_the_default() {
    let mut line = Line::ready("{}");
    line.request("thread/start", r#"{"agentType":"a","cwd":"/w"}"#);
    let (started, _) = line.called();
    line.peer.handle_frames(Delivery {
        thread: NEW_THREAD,
        frames: &[],
        last: 1,
        pending: &Pending::all(),
    });
    line.peer.handle_reply(started, Err(Failure::agent("it")));
    line.sent();
    assert_eq!(default_thread(&mut line), Some(NEW_THREAD));
}

#[test]
fn a_fork_is_the_default_from_its_reply() {
    let mut line = Line::ready("{}");
    line.opens_thread();
    let params = json!({ "threadId": NEW_THREAD }).to_string();
    line.result("thread/fork", &params, opened("null"));
    assert_eq!(default_thread(&mut line), Some(thread()));
}

#[test]
fn a_thread_that_is_left_out_is_the_current_one() {
    let mut line = Line::ready("{}");
    line.opens_thread();
    assert_eq!(
        line.wants("turn/interrupt", r#"{"turnId":"turn_3"}"#),
        Request::Interrupt {
            thread: thread(),
            turn: Some(TurnId(3)),
            options: InterruptOptions::default(),
        }
    );
    let other = ThreadId(Uuid::from_u128(8));
    assert_eq!(
        line.wants("turn/interrupt", &format!(r#"{{"threadId":"{other}"}}"#)),
        Request::Interrupt {
            thread: other,
            turn: None,
            options: InterruptOptions::default(),
        }
    );
    let read = |turns| Request::ReadThread {
        thread: thread(),
        turns,
    };
    assert_eq!(line.wants("thread/read", "{}"), read(None));
    for (cursor, item) in [("7", None), ("7.12", Some(ItemId(12)))] {
        let before = Some(TurnPosition { turn: 7, item });
        let params = format!(r#"{{"includeTurns":true,"cursor":"{cursor}"}}"#);
        let wanted = line.wants("thread/read", &params);
        let turns = Turns {
            before,
            ..Turns::default()
        };
        assert_eq!(wanted, read(Some(turns)));
    }
}

#[test]
fn json_of_a_client_is_kept_unchanged() {
    let block = r#"{"type":"text","text":"x","_meta":{"n":1234567890123456789012,"b":1.10,"a":1}}"#;
    let server = r#"{"name":"m","zeta":1.10,"alpha":1234567890123456789012}"#;
    let mut line = Line::ready("{}");
    let params = format!(
        r#"{{"agentType":"a","cwd":"/w","metadata":{server},"mcpServers":[{server}],"input":[{block}],"clientTurnId":"c"}}"#
    );
    let Request::StartThread(start) = line.wants("thread/start", &params) else {
        panic!()
    };
    assert_eq!(start.metadata.unwrap().get(), server);
    assert_eq!(start.session.mcp_servers.unwrap()[0].get(), server);
    assert_eq!(start.input.iter().map(RawJson::get).collect::<Vec<_>>(), [block]);
    assert_eq!(start.client_turn_id.as_deref(), Some("c"));
    assert_eq!(start.session.system_prompt, None);
    line.opens_thread();
    let params = format!(r#"{{"text":"first","input":[{block}]}}"#);
    let Request::StartTurn(turn) = line.wants("turn/start", &params) else {
        panic!()
    };
    let input: Vec<&str> = turn.input.iter().map(RawJson::get).collect();
    assert_eq!(input, [r#"{"text":"first","type":"text"}"#, block]);
    assert_eq!(turn.replaces, None);
    let Request::StartTurn(turn) = line.wants("turn/start", r#"{"text":"x","replacesTurnId":"turn_2"}"#)
    else {
        panic!()
    };
    assert_eq!(turn.replaces, Some(TurnId(2)));
    let Request::StartThread(start) = line.wants("thread/start", r#"{"agentType":"a","cwd":"/w"}"#) else {
        panic!()
    };
    assert!(start.input.is_empty(), "a thread without a first turn");
}

/// Returns a thread with nothing but the client's data.
fn opened(metadata: &str) -> Reply {
    let mut live = Live::new(thread());
    live.summary.metadata = Some(RawJson::parse(metadata).unwrap());
    Reply::Opened(Box::new(Opened {
        live: live.into(),
        cursor: 0,
        turns: None,
        turn: None,
        fidelity: None,
        claimed: Vec::new(),
    }))
}

#[test]
fn a_clients_metadata_is_returned_unchanged() {
    let metadata = r#"{"zeta":1.10,"alpha":1234567890123456789012}"#;
    for (method, params) in [
        ("thread/start", r#"{"agentType":"a","cwd":"/w"}"#),
        (
            "thread/resume",
            r#"{"threadId":"00000000-0000-0000-0000-000000000007"}"#,
        ),
    ] {
        let mut line = Line::ready("{}");
        line.request(method, params);
        let (token, _) = line.called();
        line.peer.handle_reply(token, Ok(opened(metadata)));
        let Some(Output::Send(answer)) = line.peer.poll_output() else {
            panic!("no answer")
        };
        let answer = std::str::from_utf8(&answer).unwrap();
        assert!(
            answer.contains(&format!(r#""metadata":{metadata}"#)),
            "{method}: {answer}"
        );
    }
}

#[test]
fn results_are_written_from_replies() {
    let delivery = SteerDelivery::Queued;
    let turn = TurnId(2);
    let agent = |answer: &str| Reply::Agent(RawJson::parse(answer).unwrap());
    for (method, params, reply, result) in [
        ("agent/logout", "{}", agent(r#"{"_meta":{}}"#), json!({})),
        ("thread/archive", "{}", Reply::Done, json!({})),
        (
            "agent/request",
            r#"{"method":"_x"}"#,
            agent("7"),
            json!({ "result": 7 }),
        ),
        (
            "turn/steer",
            r#"{"content":"x"}"#,
            Reply::Steered(Steered { turn, delivery }),
            json!({ "turnId": "turn_2", "delivery": "queued" }),
        ),
        (
            "thread/rollback",
            r#"{"turnId":null}"#,
            Reply::RolledBack(Fidelity::Recalled),
            json!({ "fidelity": "recalled" }),
        ),
        (
            "thread/unsubscribe",
            "{}",
            Reply::Closed(Closed { was_open: false }),
            json!({ "status": "notSubscribed" }),
        ),
        (
            "policy/remembered/list",
            "{}",
            Reply::Remembered(Vec::new()),
            json!({ "data": [] }),
        ),
        (
            "agent/remembered/list",
            "{}",
            Reply::AgentAnswers(vec![AgentAnswers {
                agent: "gone".to_owned(),
                answers: Vec::new(),
            }]),
            json!({ "data": [{ "agentType": "gone", "answers": [] }] }),
        ),
    ] {
        let mut line = Line::ready("{}");
        line.opens_thread();
        assert_eq!(line.result(method, params, reply), result, "{method}");
    }
}

#[test]
fn a_reply_to_something_else_is_an_internal_error() {
    let mut line = Line::ready("{}");
    line.request("agent/list", "{}");
    let (token, _) = line.called();
    line.peer.handle_reply(token, Ok(Reply::Done));
    assert_eq!(error(&line.sent()).1, "internal");
    assert_eq!(
        line.peer.gate().take_handled().last().unwrap().error,
        Some(ErrorCode::Internal)
    );
}
