//! Tests of the fake model over HTTP, as an agent uses it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use acpd_fake_model::FakeModel;
use serde_json::{Value, json};

/// Timeout of every wait; only failures reach it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends a request on a new connection.
fn send(address: &str, method: &str, path: &str, body: &str) -> TcpStream {
    let address = address.strip_prefix("http://").expect("a URL");
    let mut stream = TcpStream::connect(address).expect("the model listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a socket takes options");
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .expect("the model reads");
    stream
}

/// Makes a request; returns the status code, and the whole response.
fn ask(address: &str, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut answer = Vec::new();
    send(address, method, path, body)
        .read_to_end(&mut answer)
        .expect("the model answers");
    let answer = String::from_utf8(answer).expect("an answer is text");
    let status = answer
        .split(' ')
        .nth(1)
        .expect("a status")
        .parse()
        .expect("a number");
    (status, answer)
}

fn prompts(text: &str) -> [(&'static str, Value); 5] {
    let messages = json!([{ "role": "user", "content": text }]);
    let tools =
        json!([{ "name": "Bash", "input_schema": { "properties": { "command": { "type": "string" } } } }]);
    [
        (
            "/v1/messages",
            json!({ "stream": true, "messages": messages, "tools": tools }),
        ),
        (
            "/v1/responses",
            json!({ "stream": true, "input": messages, "tools": [{ "type": "custom", "name": "x" }] }),
        ),
        (
            "/v1/chat/completions",
            json!({ "stream": true, "messages": messages, "tools": [{ "function": { "name": "x" } }] }),
        ),
        (
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            json!({
                "contents": [{ "role": "user", "parts": [{ "text": text }] }],
                "tools": [{ "functionDeclarations": [{ "name": "x" }] }],
            }),
        ),
        (
            "/chat-stream",
            json!({
                "nodes": [{ "type": 0, "text_node": { "content": text } }],
                "tool_definitions": [{ "name": "x", "input_schema_json": "{}" }],
            }),
        ),
    ]
}

#[test]
fn every_api_streams() {
    let model = FakeModel::start().unwrap();
    let events = "text/event-stream";
    let ends = [
        (events, "\"type\":\"message_stop\"}"),
        (events, "response.completed"),
        (events, "[DONE]"),
        (events, "\"finishReason\":\"STOP\""),
        ("application/x-ndjson", "\"stop_reason\":1"),
    ];
    for ((path, body), (kind, end)) in prompts("say hello").into_iter().zip(ends) {
        let (status, answer) = ask(&model.url(), "POST", path, &body.to_string());
        assert_eq!(status, 200, "{answer}");
        assert!(answer.contains(kind), "{answer}");
        assert!(answer.contains("hello") && answer.contains(end), "{answer}");
    }
    let seen = model.seen();
    assert_eq!(seen.len(), 5);
    assert!(seen.iter().all(|seen| !seen.cut), "{seen:?}");
}

#[test]
fn streams_that_are_not_read_to_the_end_are_marked() {
    let model = FakeModel::start().unwrap();
    for (at, (path, body)) in prompts("slow 2000").into_iter().enumerate() {
        let stream = send(&model.url(), "POST", path, &body.to_string());
        let mut lines = BufReader::new(stream).lines();
        assert!(lines.any(|line| line.unwrap().contains("piece 2. ")), "{path}");
        assert!(!model.seen()[at].cut, "{path}");
        drop(lines);
        let deadline = Instant::now() + PATIENCE;
        while !model.seen()[at].cut {
            assert!(Instant::now() < deadline, "{path} is not marked");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[test]
fn unstreamed_responses_are_complete() {
    let model = FakeModel::start().unwrap();
    let body = json!({ "messages": [{ "role": "user", "content": "say hi" }] }).to_string();
    let (_, answer) = ask(&model.url(), "POST", "/v1/chat/completions", &body);
    assert!(
        answer.contains("application/json") && answer.contains("\"content\":\"hi\""),
        "{answer}"
    );
    let body = json!({ "contents": [{ "parts": [{ "text": "say hi" }] }] }).to_string();
    let (_, answer) = ask(&model.url(), "POST", "/v1beta/models/m:generateContent", &body);
    assert!(
        answer.contains("\"text\":\"hi\"") && answer.contains("\"modelVersion\":\"m\""),
        "{answer}"
    );
    for (method, path, wanted) in [
        ("POST", "/v1/messages/count_tokens", "input_tokens"),
        ("POST", "/v1beta/models/m:countTokens", "totalTokens"),
        ("GET", "/v1/models", "mock-model"),
        ("POST", "/get-models", "\"default_model\":\"mock-model\""),
    ] {
        let (status, answer) = ask(&model.url(), method, path, "{}");
        assert!(status == 200 && answer.contains(wanted), "{answer}");
    }
}

#[test]
fn bad_requests_are_refused_and_do_no_harm() {
    let model = FakeModel::start().unwrap();
    let deep = "[".repeat(100_000);
    for path in [
        "/v1/messages",
        "/v1/responses",
        "/v1/chat/completions",
        "/v1beta/models/m:generateContent",
        "/chat-stream",
    ] {
        for body in ["", "{", "\u{0}", deep.as_str()] {
            let (status, answer) = ask(&model.url(), "POST", path, body);
            assert!(
                status == 400 && answer.contains("the body is not JSON"),
                "{path} {answer}"
            );
        }
    }
    for path in [
        "/nowhere",
        "/v1/models/m",
        "/v1beta/models/m:embed",
        "/v1beta/models/m:streamGenerateContent",
    ] {
        assert_eq!(ask(&model.url(), "POST", path, "{}").0, 404, "{path}");
    }
    assert!(model.seen().iter().any(|seen| seen.path == "POST /nowhere"));
    let (status, answer) = ask(&model.url(), "POST", "/v1/messages", "{}");
    assert!(status == 200 && answer.contains("Ready."), "{answer}");
}

#[test]
fn the_program_listens_on_loopback_only() {
    let program = || Command::new(env!("CARGO_BIN_EXE_acpd-fake-model"));
    let refused = program().args(["--listen", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("loopback addresses only"));

    let mut child = program().stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address = line
        .strip_prefix("acpd-fake-model listens on ")
        .map(str::trim)
        .map(str::to_owned);
    let answer = address.map(|address| ask(&address, "GET", "/v1/models", ""));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(answer.map(|(status, _)| status), Some(200), "{line}");
}
