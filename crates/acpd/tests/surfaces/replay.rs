//! A client that reconnects sees every event once, in order, however often and wherever its connection ended.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::{IntoClientRequest, client_with_config};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, WebSocket};

use crate::support::{Client, Daemon, Incoming, PATIENCE, peak_kib};

/// Pseudo-random numbers, which are the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Returns method and params, which must be equal for all clients. The id only shows which clients can respond.
fn facts(messages: &[Arc<Incoming>]) -> Vec<(&str, &Value)> {
    messages
        .iter()
        .map(|message| (&message.method[..], &message.params))
        .collect()
}

/// Fails at the first difference, without printing two long lists completely.
fn assert_same(left: &[Arc<Incoming>], right: &[Arc<Incoming>]) {
    for (left, right) in facts(left).iter().zip(facts(right)) {
        assert_eq!(*left, right);
    }
    assert_eq!(left.len(), right.len());
}

fn is_end(message: &Incoming) -> bool {
    message.method == "turn/completed"
}

#[test]
fn a_client_that_breaks_off_again_and_again_misses_nothing() {
    let daemon = Daemon::start();
    let mut witness = Client::new(&daemon);
    let thread = witness.thread(&daemon);
    let script = "stream n=100 ms=1; flood n=4000; think n=100 ms=1; tool; flood n=4000 kind=chunkmeta; stream n=100 ms=1";
    witness.start(&thread, script);
    let mut dice = Dice(42);
    let (mut seen, mut connections) = (Vec::<Arc<Incoming>>::new(), 0);
    while !seen.last().is_some_and(|last| is_end(last)) {
        let mut client = Client::new(&daemon);
        connections += 1;
        client.resume(&thread, seen.last().map_or(0, |last| last.seq()));
        for _ in 0..=dice.roll(600) {
            let next = client.next();
            // A live view is shown to those who are connected at that moment, and has no place to continue from.
            if next.is_live() {
                continue;
            }
            seen.push(next);
            if is_end(&seen[seen.len() - 1]) {
                break;
            }
        }
        // The client disconnects with unread events in its socket.
    }
    assert!(connections > 10, "{connections}");
    let mut whole = witness.until(is_end);
    whole.retain(|message| !message.is_live());
    assert_eq!(whole[0].seq(), 1);
    assert_same(&seen, &whole);
    // Once more, from the log alone.
    let mut late = Client::new(&daemon);
    late.resume(&thread, 0);
    assert_same(&late.until(is_end), &whole);
}

/// The response contains the client's starting point, so no event of the thread may come before it.
#[test]
fn the_answer_to_resume_comes_before_everything_that_it_brings() {
    let daemon = Daemon::start();
    let mut asked = Client::new(&daemon);
    let thread = asked.thread(&daemon);
    asked.start(&thread, "flood n=4000; permission");
    asked.question();
    for params in [
        json!({ "threadId": thread }),
        json!({ "threadId": thread, "after": 0 }),
    ] {
        let mut late = Client::new(&daemon);
        // Two requests in a row for the same thread.
        let ids = [
            late.request("thread/resume", &params),
            late.request("turn/interrupt", &json!({ "turnId": "turn_9" })),
        ];
        late.answer(ids[0]).unwrap();
        let early = late.take();
        assert!(early.is_empty(), "{:?}", early.first());
        let error = late.answer(ids[1]).unwrap_err();
        assert_eq!(error["message"], "that turn is not running", "{error}");
        assert_eq!(late.question().text("threadId"), thread);
    }
    // A client that unsubscribes at once does not follow the thread, wherever the daemon was with
    // its answer: what comes before the second answer may be of the thread, nothing after it.
    let mut lost = Client::new(&daemon);
    let ids = [
        lost.request("thread/resume", &json!({ "threadId": thread })),
        lost.request("thread/unsubscribe", &json!({})),
    ];
    lost.answer(ids[0]).unwrap();
    assert_eq!(lost.answer(ids[1]).unwrap()["status"], "unsubscribed");
    lost.take();
    asked.call("turn/interrupt", &json!({ "threadId": thread }));
    asked.until(is_end);
    lost.call("thread/list", &json!({}));
    let seen_after = lost.take();
    assert!(seen_after.is_empty(), "{:?}", seen_after.first());
}

#[test]
fn clients_that_come_at_any_moment_agree() {
    let daemon = Daemon::start();
    let mut witness = Client::new(&daemon);
    let thread = witness.thread(&daemon);
    witness.start(
        &thread,
        "flood n=3000 kind=delta; stream n=50 ms=2; flood n=6000; stream n=50 ms=2",
    );
    let mut whole = Vec::new();
    let mut others = Vec::new();
    for _ in 0..6 {
        // Each client starts at its own cursor during the flood.
        for _ in 0..800 {
            if whole.last().is_some_and(|last: &Arc<Incoming>| is_end(last)) {
                break;
            }
            whole.push(witness.next());
        }
        let after = whole.last().map_or(0, |last| last.seq()) / 2;
        let mut other = Client::observer(&daemon);
        other.resume(&thread, after);
        others.push((after, other));
    }
    if !is_end(&whole[whole.len() - 1]) {
        whole.extend(witness.until(is_end));
    }
    for (after, mut other) in others {
        let after = usize::try_from(after).unwrap();
        assert_same(&other.until(is_end), &whole[after..]);
    }
}

#[test]
fn a_client_that_does_not_read_delays_no_other_and_loses_nothing() {
    // Small queues, so that a longer queue becomes visible.
    let daemon = Daemon::with("[limits]\nlive_batches = 4\noutbound_queue = 4\nagent_bytes_per_sec = 0\n");
    let mut fast = Client::new(&daemon);
    let thread = fast.thread(&daemon);
    let mut slow = Client::new(&daemon);
    slow.resume(&thread, 0);
    let before = peak_kib(daemon.pid());
    fast.start(
        &thread,
        "flood n=50000 bytes=1500; permission; permission; say done",
    );
    let mut messages = fast.until(Incoming::is_question);
    // 75 MB were sent while one client read nothing. They are in the log, not in memory.
    let grown = (peak_kib(daemon.pid()) - before) / 1024;
    assert!(grown < 50, "the daemon grew by {grown} MiB");
    let first = messages[messages.len() - 1].clone();

    // Another client connects now, and is still far behind when the next request comes. It receives this request, too.
    let mut late = Client::new(&daemon);
    late.resume(&thread, 0);
    fast.respond(&first, &json!({ "decision": "accept" }));
    messages.extend(fast.until(Incoming::is_question));
    let second = late
        .until(|message| message.is_question() && message.params["requestId"] != first.params["requestId"])
        .pop()
        .unwrap();
    assert!(second.id.is_some(), "it is not asked: {second:?}");
    late.respond(&second, &json!({ "decision": "accept" }));
    messages.extend(fast.until(is_end));

    let updates = messages.iter().filter(|message| message.method == "item/updated");
    assert!(updates.count() >= 50_000);
    let all = slow.until(is_end);
    assert_eq!(all[0].seq(), 1);
    assert_same(&all[all.len() - messages.len()..], &messages);
}

#[test]
fn a_client_that_reads_nothing_is_heard() {
    // The daemon does not disconnect the client for reading nothing.
    let daemon = Daemon::with("[limits]\nwrite_secs = 3600\n");
    let mut other = Client::new(&daemon);
    let thread = other.thread(&daemon);
    let mut silent = Client::new(&daemon);
    silent.resume(&thread, 0);
    other.start(&thread, "flood n=20000 bytes=1500; say over; slow ms=600000");
    other.until(|message| message.method == "item/agentMessage/delta" && message.text("text") == "over");
    let asked = silent.request("turn/interrupt", &json!({ "threadId": thread }));
    other.until(is_end);
    silent.answer(asked).unwrap();
    silent.until(is_end);
}

/// A socket that reads 4 MB per second.
struct Slow(TcpStream);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        std::thread::sleep(Duration::from_millis(10));
        let most = buffer.len().min(40_000);
        self.0.read(&mut buffer[..most])
    }
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Slow {
    /// Connects to a daemon.
    fn open(daemon: &Daemon) -> WebSocket<Self> {
        let stream = TcpStream::connect(daemon.address()).expect("the daemon lets us in");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("the daemon lets us in");
        let mut request = format!("ws://{}/ws", daemon.address())
            .into_client_request()
            .expect("the daemon lets us in");
        let token = format!("Bearer {}", daemon.place.token());
        request
            .headers_mut()
            .insert("authorization", token.parse().expect("the daemon lets us in"));
        let config = WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        client_with_config(request, Self(stream), Some(config))
            .expect("the daemon lets us in")
            .0
    }
}

/// A client that makes progress is not disconnected, however slow it is.
#[test]
fn a_slow_client_gets_a_large_event() {
    let daemon = Daemon::with("[limits]\nwrite_secs = 2\n");
    let mut fast = Client::new(&daemon);
    let thread = fast.thread(&daemon);
    // The slow client needs several times write_secs for it.
    fast.turn(&thread, "flood n=1 bytes=25000000 kind=call");
    let mut slow = Slow::open(&daemon);
    let quiet = json!({ "optOutNotificationMethods": ["item/agentMessage/delta"] });
    let hello = json!({ "clientInfo": { "name": "slow", "version": "1" }, "capabilities": quiet });
    let resume = json!({ "threadId": thread, "after": 0 });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "thread/resume", "params": resume }),
    ] {
        slow.send(Message::text(message.to_string())).unwrap();
    }
    let mut largest = 0;
    loop {
        match slow.read().unwrap() {
            Message::Text(text) if text.contains("\"method\":\"turn/completed\"") => break,
            Message::Text(text) => largest = largest.max(text.len()),
            Message::Close(frame) => panic!("it was closed: {frame:?}"),
            _ => {}
        }
    }
    assert!(largest > 24_000_000, "{largest}");
}

#[test]
fn a_thread_opens_with_its_latest_turns_and_a_way_to_the_older_ones() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    for k in 1..=22 {
        client.turn(&thread, &format!("say {k}"));
    }
    let mut late = Client::new(&daemon);
    let resumed = late.call("thread/resume", &json!({ "threadId": thread }));
    let turns = resumed["thread"]["turns"].as_array().unwrap();
    assert_eq!(
        (turns.len(), &turns[0]["id"], &turns[19]["id"]),
        (20, &json!("turn_3"), &json!("turn_22"))
    );
    assert_eq!(turns[19]["items"][1]["text"], "22");
    let older = late.call(
        "thread/read",
        &json!({ "threadId": thread, "includeTurns": true, "cursor": resumed["thread"]["cursor"] }),
    );
    let ids: Vec<&Value> = older["thread"]["turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| &turn["id"])
        .collect();
    assert_eq!(ids, ["turn_1", "turn_2"]);
    assert_eq!(older["thread"].get("cursor"), None);
    assert!(
        late.seen.is_empty(),
        "nothing is replayed without after: {:?}",
        late.seen
    );
    assert_eq!(late.turn(&thread, "say live").said(), "live");
    assert_eq!(late.seen[0].seq(), resumed["latestSeq"].as_u64().unwrap() + 1);

    let latest = client.call("thread/read", &json!({ "threadId": thread }))["thread"]["latestSeq"]
        .as_u64()
        .unwrap();
    let beyond = Client::new(&daemon).refused(
        "thread/resume",
        &json!({ "threadId": thread, "after": latest + 1 }),
    );
    assert_eq!(beyond["code"], -32602, "{beyond}");
}

#[test]
fn a_running_turn_is_shown_and_continues_live() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "say begun; permission; say ended");
    client.question();
    let mut late = Client::new(&daemon);
    let resumed = late.call("thread/resume", &json!({ "threadId": thread }));
    let shown = &resumed["thread"]["turns"][0];
    assert_eq!(
        (&shown["status"], &shown["items"][1]["text"]),
        (&json!("running"), &json!("begun"))
    );
    let question = late.question();
    late.respond(&question, &json!({ "decision": "accept" }));
    let rest = late.finish(&thread, &turn);
    assert_eq!(rest.said(), "allowed (allow_once)ended");
}

#[test]
fn a_question_is_asked_again_of_later_clients_until_it_is_answered() {
    let daemon = Daemon::start();
    let mut observer = Client::observer(&daemon);
    let thread = observer.thread(&daemon);
    let turn = observer.start(&thread, "permission");
    // No client can approve the request, so it stays open.
    let asked = observer.question();
    assert_eq!(asked.id, None);
    let mut late: Vec<Client> = (0..3)
        .map(|k| Client::named(&daemon, &format!("late-{k}"), &json!({ "approvals": true })))
        .collect();
    late[0].call("thread/resume", &json!({ "threadId": thread }));
    late[1].resume(&thread, asked.seq());
    late[2].resume(&thread, 0);
    for client in &mut late {
        let question = client.question();
        assert_eq!((&question.params, question.id.is_some()), (&asked.params, true));
    }
    let question = late[1].seen[0].clone();
    late[1].respond(&question, &json!({ "decision": "accept" }));
    for client in late.iter_mut().chain([&mut observer]) {
        let end = client.finish(&thread, &turn);
        assert_eq!(end.one("serverRequest/resolved").params["by"]["client"], "late-1");
        let questions = client.seen.iter().filter(|message| message.is_question()).count();
        assert_eq!(questions, 1, "asked once each");
    }
    let mut after = Client::new(&daemon);
    after.resume(&thread, 0);
    let turn = after.finish(&thread, &turn);
    assert!(
        turn.messages.iter().all(|message| message.id.is_none()),
        "an old question is not asked"
    );
}

#[test]
fn a_client_may_begin_anew_on_the_same_connection() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "stream n=5; tool");
    let turn = client.start(&thread, "permission");
    client.question();
    // The last event: no event of the old subscription is in flight any more.
    client.wait_for("thread/status/changed");
    for after in [0, 7, 3] {
        client.resume(&thread, after);
        let question = client.question();
        assert!(question.id.is_some());
        client.wait_for("thread/status/changed");
    }
    client.call("turn/interrupt", &json!({}));
    assert_eq!(client.finish(&thread, &turn).status(), "interrupted");
}
