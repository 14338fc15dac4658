//! HTTP by hand, for requests that no WebSocket library would send.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::PATIENCE;

/// Makes a GET request with exactly these headers; returns the status and the whole response.
pub fn ask(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
    send(address, "GET", path, headers, "")
}

/// Makes a request with exactly these headers, and the length of its body if it has one.
pub fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("the daemon listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a time-out can be set");
    exchange(&mut stream, method, path, headers, body)
}

/// Makes a request over an existing connection.
pub fn exchange(
    stream: &mut (impl Read + Write),
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, String) {
    let mut head = format!("{method} {path} HTTP/1.1\r\n");
    if !body.is_empty() {
        let _ = write!(head, "Content-Length: {}\r\n", body.len());
    }
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    head.push_str(body);
    stream.write_all(head.as_bytes()).expect("the daemon reads");
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    // An upgraded connection stays open: only its head is needed.
    while !complete(&answer) {
        match stream.read(&mut buffer).expect("the daemon answers") {
            0 => break,
            read => answer.extend_from_slice(&buffer[..read]),
        }
    }
    let text = String::from_utf8_lossy(&answer).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("no status: {text:?}")), text)
}

/// Returns the value of a response header; empty if it is missing.
pub fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    let (head, _) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map_or("", |(_, value)| value)
}

/// Returns the JSON body of a response.
pub fn body(answer: &str) -> serde_json::Value {
    let (_, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body:?}"))
}

/// Returns whether the head and the whole body have arrived.
fn complete(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let has = |line: &str| head.lines().any(|one| one.starts_with(line));
    // A stream of events has no end.
    if has("transfer-encoding: chunked") && !has("content-type: text/event-stream") {
        return body.ends_with("0\r\n\r\n");
    }
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    body.len() >= length.unwrap_or(0)
}

/// Requests a WebSocket at `path`, with `more` headers; returns the status and the whole response.
pub fn upgrade(address: SocketAddr, path: &str, more: &[(&str, &str)]) -> (u16, String) {
    let mut headers = vec![
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    headers.extend(more);
    ask(address, path, &headers)
}
