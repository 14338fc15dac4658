//! Many clients, including slow and hostile ones. Only clients that violate the limits are affected, memory stays bounded,
//! and all other clients continue. The daemon's metrics contain no content.

#![allow(clippy::float_cmp, reason = "whole numbers, far below 2^53")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{
    Client, Daemon, Editor, Incoming, PATIENCE, Place, acpd, ask, peak_kib, upgrade, wait_until,
};

/// Returns the metrics at `/metrics` by name and labels, and their text.
fn metrics(daemon: &Daemon) -> (BTreeMap<String, f64>, String) {
    let host = daemon.address().to_string();
    let bearer = format!("Bearer {}", daemon.place.token());
    let (status, answer) = ask(
        daemon.address(),
        "/metrics",
        &[("Host", &host), ("Authorization", &bearer)],
    );
    assert_eq!(status, 200, "{answer}");
    let (_, text) = answer.split_once("\r\n\r\n").expect("a head");
    let numbers = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            (name.to_owned(), value.parse().expect("a number"))
        })
        .collect();
    (numbers, text.to_owned())
}

fn is_end(message: &Incoming) -> bool {
    message.method == "turn/completed"
}

/// Editors have the same limits and counters as all clients.
#[test]
fn editors_are_counted_as_all_clients() {
    let daemon = Daemon::start();
    let mut editor = Editor::socket(&daemon.place);
    editor.greet();
    let session = editor.open(&daemon);
    editor.turn(&session, "say hello");
    let before = metrics(&daemon).0;
    let count = |name: &str| before.get(name).copied().unwrap_or_default();
    for method in ["initialize", "session/new", "session/prompt"] {
        let series = format!("acpd_requests_total{{method=\"{method}\",result=\"ok\"}}");
        assert_eq!(count(&series), 1.0, "{series}");
    }
    assert!(
        count("acpd_messages_sent_total") >= 4.0,
        "three answers and an update"
    );
    assert!(count("acpd_sent_bytes_total") > 400.0);
    assert_eq!(count("acpd_clients_connected"), 1.0);
    let mut last = Ok(json!({}));
    for _ in 0..60 {
        last = editor.try_call("session/list", &json!({}));
    }
    assert_eq!(
        last.unwrap_err()["code"],
        -32005,
        "the limit of 60 requests in 10 s"
    );
    let (numbers, text) = metrics(&daemon);
    let refused = "acpd_requests_total{method=\"session/list\",result=\"rate_limited\"}";
    assert!(numbers.get(refused).is_some_and(|count| *count > 0.0), "{text}");
}

#[test]
fn metrics_need_a_token_and_contain_no_content() {
    let daemon = Daemon::start();
    let host = daemon.address().to_string();
    assert_eq!(ask(daemon.address(), "/metrics", &[("Host", &host)]).0, 401);
    assert_eq!(
        upgrade(daemon.address(), "/ws", &[("Host", "evil.example")]).0,
        403
    );
    let mut client = Client::named(&daemon, "who-is-this", &json!({ "approvals": true }));
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "say confidential; tool; terminal echo confidential");
    assert_eq!(turn.status(), "completed");
    client.refused("turn/start", &json!({ "threadId": thread }));
    client.refused("confidential/method", &json!({}));
    wait_until("the terminal is counted as gone", || {
        metrics(&daemon).0["acpd_terminals_running"] == 0.0
    });
    let (numbers, text) = metrics(&daemon);
    let expected = [
        ("acpd_threads_awake", 1.0),
        ("acpd_threads_started_total", 1.0),
        ("acpd_threads_woken_total", 0.0),
        ("acpd_turns_started_total", 1.0),
        ("acpd_turns_total{status=\"completed\"}", 1.0),
        ("acpd_turns_total{status=\"failed\"}", 0.0),
        ("acpd_agents_running", 1.0),
        ("acpd_agents_started_total", 1.0),
        ("acpd_agents_failed_total", 0.0),
        ("acpd_terminals_started_total", 1.0),
        ("acpd_clients_connected", 1.0),
        ("acpd_clients_total", 1.0),
        ("acpd_http_refused_total{reason=\"unauthenticated\"}", 1.0),
        ("acpd_http_refused_total{reason=\"forbidden\"}", 1.0),
        ("acpd_requests_total{method=\"initialize\",result=\"ok\"}", 1.0),
        ("acpd_requests_total{method=\"thread/start\",result=\"ok\"}", 1.0),
        ("acpd_requests_total{method=\"turn/start\",result=\"ok\"}", 1.0),
        (
            "acpd_requests_total{method=\"unknown\",result=\"method_not_found\"}",
            1.0,
        ),
        ("acpd_client_catch_ups_total", 0.0),
        ("acpd_log_failed_commits_total", 0.0),
    ];
    for (name, value) in expected {
        assert_eq!(numbers.get(name), Some(&value), "{name}\n{text}");
    }
    let read = client.call("thread/read", &json!({ "threadId": thread }));
    let latest = read["thread"]["latestSeq"].as_f64().unwrap();
    wait_until("all events of the thread are counted", || {
        let (numbers, _) = metrics(&daemon);
        let groups = numbers
            .iter()
            .filter(|(name, _)| name.starts_with("acpd_events_total{"));
        let counted = groups.map(|(_, count)| count).sum::<f64>();
        (counted, numbers["acpd_batch_events_sum"]) == (latest, latest)
    });
    let appends = numbers["acpd_batch_events_count"];
    assert_eq!(numbers["acpd_append_seconds_count"], appends);
    assert!(numbers["acpd_log_commit_changes_sum"] >= appends, "{text}");
    assert_eq!(
        numbers["acpd_log_commit_seconds_bucket{le=\"+Inf\"}"],
        numbers["acpd_log_commit_seconds_count"]
    );
    assert!(text.ends_with("# EOF\n"), "{text}");
    let work = daemon.place.work().display().to_string();
    let token = daemon.place.token();
    for secret in [
        &thread[..],
        &work,
        &token,
        "confidential",
        "who-is-this",
        "owner",
        "fake",
    ] {
        assert!(!text.contains(secret), "{secret}:\n{text}");
    }
    drop(client);
    wait_until("the client is counted as gone", || {
        metrics(&daemon).0["acpd_clients_connected"] == 0.0
    });
}

/// Every limit of a connection: the configured name, the name that clients receive, and the value.
const LIMITS: [(&str, &str, u64); 12] = [
    ("client_message_bytes", "messageBytes", 70_000),
    ("requests_per_window", "requestsPerWindow", 61),
    ("request_window_secs", "requestWindowSecs", 11),
    ("requests_in_flight", "requestsInFlight", 7),
    ("queued_turns", "queuedTurns", 3),
    ("thread_commands", "threadCommands", 9),
    ("outbound_queue", "outboundQueue", 5),
    ("live_batches", "liveBatches", 4),
    ("connections", "connections", 17),
    ("ping_secs", "pingSecs", 21),
    ("pong_secs", "pongSecs", 22),
    ("write_secs", "writeSecs", 23),
];

#[test]
fn every_limit_of_a_connection_is_configurable_and_announced() {
    let lines: Vec<_> = LIMITS.map(|(name, _, value)| format!("{name} = {value}")).into();
    let daemon = Daemon::with(&format!("[limits]\n{}\n", lines.join("\n")));
    let welcome = Client::bare(&daemon).greet("test", &json!({}));
    let announced: BTreeMap<&str, u64> = welcome["limits"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (&name[..], value.as_u64().unwrap()))
        .collect();
    assert_eq!(
        announced,
        LIMITS.iter().map(|(_, name, value)| (*name, *value)).collect()
    );
}

#[test]
fn limits_that_serve_no_client_are_refused() {
    for (name, value) in [
        ("outbound_queue", 0),
        ("live_batches", 0),
        ("thread_commands", 1_000_000),
        ("ping_secs", 0),
        ("agent_bytes_per_sec", 1000),
    ] {
        let place = Place::new(&format!("[limits]\n{name} = {value}\n"));
        let refused = acpd(&place, &["serve"]);
        assert_eq!(refused.code, Some(2), "{name}");
        assert!(
            refused
                .stderr
                .contains(&format!("limits.{name} is {value}: it must be")),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn clients_that_stop_reading_cost_no_memory_and_come_back_to_their_place() {
    const STALLED: u32 = 4;
    // Their queues fill up before they are disconnected, and hold little.
    let daemon = Daemon::with(
        "[limits]\nlive_batches = 4\noutbound_queue = 4\nwrite_secs = 5\nagent_bytes_per_sec = 0\n",
    );
    let mut fast = Client::new(&daemon);
    let thread = fast.thread(&daemon);
    let mut stalled: Vec<Client> = (0..STALLED)
        .map(|_| {
            let mut client = Client::observer(&daemon);
            client.resume(&thread, 0);
            client
        })
        .collect();
    let before = peak_kib(daemon.pid());
    fast.start(&thread, "flood n=50000 bytes=1500; permission");
    let mut whole = fast.until(Incoming::is_question);
    // 75 MB were sent. An unbounded queue would hold them at least once.
    let grown = (peak_kib(daemon.pid()) - before) / 1024;
    assert!(grown < 50, "the daemon grew by {grown} MiB");
    wait_until("the daemon has let go of those that take nothing", || {
        // The daemon answers one HTTP request in 100 ms in the long run.
        std::thread::sleep(Duration::from_millis(100));
        metrics(&daemon).0["acpd_clients_connected"] == 1.0
    });
    let let_go = metrics(&daemon).0["acpd_clients_dropped_total{reason=\"stalled\"}"];
    assert_eq!(let_go, f64::from(STALLED));
    fast.respond(&whole[whole.len() - 1].clone(), &json!({ "decision": "accept" }));
    whole.extend(fast.until(is_end));
    let thread_began = whole[0].seq();
    // Two of them, at different positions. More would only take time.
    for client in stalled.drain(..).take(2) {
        let mut client = client;
        let (seen, _) = client.drain();
        let cursor = seen.last().map_or(0, |last| last.seq());
        assert!(
            cursor < whole[whole.len() - 1].seq(),
            "it was cut off before the end"
        );
        let mut again = Client::observer(&daemon);
        again.resume(&thread, cursor);
        let rest = again.until(is_end);
        let all = seen
            .iter()
            .chain(&rest)
            .filter(|message| message.seq() >= thread_began);
        assert!(
            all.map(|message| (message.seq(), &message.method))
                .eq(whole.iter().map(|message| (message.seq(), &message.method))),
            "it has seen something else than who never stopped"
        );
    }
}

#[test]
fn a_client_that_pings_and_reads_nothing_is_disconnected_and_uses_no_memory() {
    // Far more than the buffers of both sockets hold.
    const PINGS: usize = 2_000_000;
    let daemon = Daemon::with("[limits]\nwrite_secs = 1\n");
    let mut client = Client::new(&daemon);
    let before = peak_kib(daemon.pid());
    let payload = vec![0; 125];
    let began = Instant::now();
    let refused = (0..PINGS).find_map(|_| client.send(Message::Ping(payload.clone().into())).err());
    assert!(refused.is_some(), "it takes them all");
    assert!(
        began.elapsed() < PATIENCE / 2,
        "it has closed the connection: {refused:?}"
    );
    let grown = (peak_kib(daemon.pid()) - before) / 1024;
    assert!(grown < 20, "the daemon grew by {grown} MiB");
    let let_go = || metrics(&daemon).0["acpd_clients_dropped_total{reason=\"stalled\"}"];
    wait_until("it is let go of", || {
        // The daemon answers one HTTP request in 100 ms in the long run.
        std::thread::sleep(Duration::from_millis(100));
        let_go() == 1.0
    });
}

#[test]
fn a_flood_of_requests_is_answered_and_disturbs_no_other_client() {
    const REQUESTS: usize = 1500;
    let daemon = Daemon::with("[limits]\nrequest_window_secs = 3600\n");
    let mut flooder = Client::new(&daemon);
    let mut other = Client::new(&daemon);
    let thread = other.thread(&daemon);
    let asked: Vec<u64> = (0..REQUESTS)
        .map(|_| flooder.request("agent/list", &json!({})))
        .collect();
    let turn = other.turn(&thread, "stream n=20; say still here");
    assert_eq!(turn.status(), "completed");
    assert!(turn.said().ends_with("still here"));
    let refused = asked
        .into_iter()
        .filter_map(|id| flooder.answer(id).err())
        .inspect(|error| {
            assert_eq!(
                (&error["code"], &error["data"]["retryable"]),
                (&json!(-32005), &json!(true))
            );
        })
        .count();
    assert_eq!(refused, REQUESTS - 59, "its handshake was the first of 60");
}

/// An agent that does not respond until its directory has a file `go`; then it opens its session.
const LATE: &str = r#"
import json, os, sys, time
while not os.path.exists("go"):
    time.sleep(0.02)
for result in ({"protocolVersion": 1}, {"sessionId": "s"}):
    message = json.loads(sys.stdin.readline())
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
sys.stdin.read()
"#;

#[test]
fn requests_beyond_those_in_flight_are_refused_as_overload_and_the_others_are_answered() {
    const IN_FLIGHT: usize = 3;
    let daemon = Daemon::with(&format!(
        "[agents.late]\ncommand = \"python3\"\nargs = [\"-c\", '''{LATE}''']\nstart_in = \"workspace\"\n[limits]\nrequests_in_flight = {IN_FLIGHT}\n"
    ));
    let mut client = Client::new(&daemon);
    // Each request gets its response once its agent is ready.
    let params = json!({ "agentType": "late", "cwd": daemon.place.work() });
    let mut asked: Vec<u64> = (0..8).map(|_| client.request("thread/start", &params)).collect();
    for id in asked.split_off(IN_FLIGHT) {
        let error = client.answer(id).unwrap_err();
        assert_eq!(
            (
                &error["code"],
                &error["data"]["code"],
                &error["data"]["retryable"]
            ),
            (&json!(-32001), &json!("overloaded"), &json!(true))
        );
    }
    std::fs::write(daemon.place.work().join("go"), "").unwrap();
    for id in asked {
        client.answer(id).unwrap();
    }
    client.call("agent/list", &json!({}));
}

/// Opens a WebSocket without a library, which answers no ping.
fn deaf(daemon: &Daemon) -> TcpStream {
    let mut stream = TcpStream::connect(daemon.address()).expect("the daemon listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a time-out can be set");
    let head = format!(
        "GET /ws HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        daemon.address(),
        daemon.place.token()
    );
    stream.write_all(head.as_bytes()).expect("the daemon reads");
    stream
}

#[test]
fn a_client_that_answers_no_ping_is_disconnected() {
    let daemon = Daemon::with("[limits]\nping_secs = 1\npong_secs = 1\n");
    let mut other = Client::new(&daemon);
    let thread = other.thread(&daemon);
    let mut all = Vec::new();
    std::thread::scope(|scope| {
        // A client that reads also answers pings, and stays connected.
        let reader = scope.spawn(|| other.turn(&thread, "stream n=300 ms=10; say here"));
        deaf(&daemon).read_to_end(&mut all).unwrap();
        assert!(reader.join().unwrap().said().ends_with("here"));
    });
    let head = all.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    let frames = &all[head..];
    assert_eq!(frames[..2], [0x89, 0], "first a ping");
    let close = frames.windows(2).position(|pair| pair[0] == 0x88).unwrap();
    let code = u16::from_be_bytes([frames[close + 2], frames[close + 3]]);
    assert_eq!((code, &frames[close + 4..]), (1008, &b"no response"[..]));
}

#[test]
fn nothing_is_compressed() {
    let daemon = Daemon::start();
    let host = daemon.address().to_string();
    let bearer = format!("Bearer {}", daemon.place.token());
    let offer = "permessage-deflate; client_max_window_bits";
    let headers = [
        ("Host", &host[..]),
        ("Authorization", &bearer),
        ("Sec-WebSocket-Extensions", offer),
    ];
    let (status, answer) = upgrade(daemon.address(), "/ws", &headers);
    assert_eq!(status, 101, "{answer}");
    assert!(
        !answer.to_lowercase().contains("sec-websocket-extensions"),
        "{answer}"
    );
}
