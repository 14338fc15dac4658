//! An agent's callbacks use bounded memory in the daemon, whatever it reads, writes and leaves unread.

#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use acpd_model::limits::{AGENT_BURST_BYTES, MESSAGE_ITEM_BYTES};
use serde_json::{Value, json};

use crate::support::{Client, Daemon, PATIENCE, ask, wait_until};

/// An agent whose prompts contain what it sends: `{"method", "params", "count"}`. It reads no responses until its
/// directory contains a file `go`. Then it reports the number of responses, the longest length, and the errors among
/// them.
const GREEDY: &str = r#"
import json, os, sys, time
def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()
def hear():
    line = sys.stdin.buffer.readline()
    return line or sys.exit()
for result in ({"protocolVersion": 1}, {"sessionId": "s"}):
    send({"id": json.loads(hear())["id"], "result": result})
while True:
    prompt = json.loads(hear())
    order = json.loads(prompt["params"]["prompt"][0]["text"])
    params = {"sessionId": "s", **order["params"]}
    if "letters" in order:
        params["content"] = "x" * order["letters"]
    for number in range(order["count"]):
        send({"id": f"c{number}", "method": order["method"], "params": params})
    while not os.path.exists("go"):
        time.sleep(0.02)
    answers = [hear() for _ in range(order["count"])]
    errors = sorted(json.loads(answer)["error"]["message"] for answer in answers if b'"error":' in answer[:200])
    said = {"answers": len(answers), "longest": max(map(len, answers)), "errors": errors}
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": json.dumps(said)}}
    send({"method": "session/update", "params": {"sessionId": "s", "update": update}})
    send({"id": prompt["id"], "result": {"stopReason": "end_turn"}})
"#;

fn greedy(more: &str) -> Daemon {
    Daemon::with(&format!(
        "{more}[limits]\nagent_bytes_per_sec = 0\n[agents.greedy]\ncommand = \"python3\"\nargs = [\"-c\", '''{GREEDY}''']\nstart_in = \"workspace\"\n"
    ))
}

/// Returns a value of the kernel's memory statistics for the daemon, in MiB.
fn memory(daemon: &Daemon, what: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.expect("the system counts it") >> 10
}

fn letters(count: usize) -> String {
    "x".repeat(count)
}

#[test]
fn files_that_an_agent_reads_and_does_not_take_fill_no_memory() {
    let daemon = greedy("");
    let work = daemon.place.work();
    let large = work.join("large");
    std::fs::write(&large, letters(10 << 20)).unwrap();
    // Each byte of the file takes six in JSON.
    std::fs::write(work.join("control"), "\u{1}".repeat(10 << 20)).unwrap();
    for (name, count, longest, most) in [("large", 24, 10 << 20, 200), ("control", 2, 60 << 20, 450)] {
        let mut client = Client::new(&daemon);
        let thread = client.thread_of(&daemon, "greedy");
        let order = json!({
            "method": "fs/read_text_file", "params": { "path": work.join(name) }, "count": count,
        });
        let turn = client.start(&thread, &order.to_string());
        client.wait_for("thread/file/read");
        std::fs::write(work.join("go"), "").unwrap();
        let end = client.finish(&thread, &turn);
        let said: Value = serde_json::from_str(&end.said()).unwrap();
        assert_eq!(
            (&said["answers"], &said["errors"]),
            (&json!(count), &json!([])),
            "{name}"
        );
        assert!(said["longest"].as_u64().unwrap() > longest, "{name}: {said}");
        std::fs::remove_file(work.join("go")).unwrap();
        let peak = memory(&daemon, "VmHWM:");
        assert!(peak < most, "{name}: the daemon took {peak} MiB");
    }
    wait_until("the memory is given back", || memory(&daemon, "VmRSS:") < 100);
}

#[test]
fn pending_writes_of_an_agent_fill_no_memory() {
    let daemon = greedy("[policy]\nask = [\"*\"]\n");
    let mut client = Client::new(&daemon);
    let thread = client.thread_of(&daemon, "greedy");
    let work = daemon.place.work();
    let (count, letters) = (40, 6 << 20);
    let order = json!({
        "method": "fs/write_text_file", "params": { "path": work.join("f") }, "count": count, "letters": letters,
    });
    std::fs::write(work.join("go"), "").unwrap();
    let turn = client.start(&thread, &order.to_string());
    // The daemon forwards as many requests as fit, and refuses the rest immediately.
    let mut questions = Vec::new();
    let mut refused = 0;
    while questions.len() + refused < count {
        let message = client.next();
        if message.is_question() {
            questions.push(message);
        } else if message.method == "thread/notice" {
            refused += 1;
        }
    }
    assert!((1..=10).contains(&questions.len()), "{}", questions.len());
    for question in &questions {
        client.respond(question, &json!({ "decision": "accept" }));
    }
    let end = client.finish(&thread, &turn);
    let said: Value = serde_json::from_str(&end.said()).unwrap();
    let errors = said["errors"].as_array().unwrap();
    assert_eq!((errors.len(), &said["answers"]), (refused, &json!(count)));
    assert!(
        errors
            .iter()
            .all(|error| error.as_str().unwrap().contains("67108864 bytes")),
        "{said}"
    );
    assert_eq!(std::fs::metadata(work.join("f")).unwrap().len(), letters);
    let peak = memory(&daemon, "VmHWM:");
    assert!(peak < 450, "the daemon took {peak} MiB");
}

/// What a thread takes from its agent at once is bounded in bytes, and an append of any size is stored.
#[test]
fn large_updates_as_fast_as_the_agent_can_fill_no_memory() {
    let daemon = Daemon::with("[limits]\nagent_bytes_per_sec = 0\n");
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "flood n=40 bytes=4000000 kind=update");
    assert_eq!(turn.status(), "completed");
    let peak = memory(&daemon, "VmHWM:");
    assert!(peak < 140, "the daemon took {peak} MiB");
}

/// What one agent may add to the log is what the configuration says: the burst, and then its rate.
#[test]
fn an_agent_that_writes_without_end_fills_no_log_and_delays_no_other_thread() {
    const MB: u64 = 1_000_000;
    const PER_SEC: u64 = 1 << 16;
    let daemon = Daemon::with(&format!(
        "[limits]\nagent_bytes_per_sec = {PER_SEC}\nrequests_per_window = 100000\n"
    ));
    // It reads nothing more.
    let mut deaf = Client::new(&daemon);
    let mut client = Client::new(&daemon);
    let (hostile, other) = (deaf.thread(&daemon), client.thread(&daemon));
    let begun = Instant::now();
    deaf.start(&hostile, &format!("flood n=400 bytes={MB} kind=update"));
    // Each update counts twice: in the pipe, and in the log.
    let stored = |client: &mut Client| {
        let read = client.call("thread/read", &json!({ "threadId": hostile }));
        read["thread"]["latestSeq"].as_u64().expect("it has events") * MB
    };
    wait_until("the agent has used most of its burst", || {
        stored(&mut client) > 25 * MB
    });
    for _ in 0..20 {
        assert_eq!(client.turn(&other, "say hi").said(), "hi");
    }
    let all = stored(&mut client);
    let most = AGENT_BURST_BYTES as u64 + PER_SEC * (begun.elapsed().as_secs() + 1);
    assert!(all <= most, "{all} of {most} bytes");
    client.call("turn/interrupt", &json!({ "threadId": hostile }));
    let peak = memory(&daemon, "VmHWM:");
    assert!(peak < 140, "the daemon took {peak} MiB");
}

/// Returns how many connections the daemon has ended because their clients read nothing.
fn stalled(daemon: &Daemon) -> usize {
    let (host, bearer) = (
        daemon.address().to_string(),
        format!("Bearer {}", daemon.place.token()),
    );
    let headers = [("Host", &*host), ("Authorization", &bearer)];
    let (status, answer) = ask(daemon.address(), "/metrics", &headers);
    assert_eq!(status, 200, "{answer}");
    let name = "acpd_clients_dropped_total{reason=\"stalled\"} ";
    let count = answer.lines().find_map(|line| line.strip_prefix(name));
    // The first of them adds the line.
    count.map_or(0, |count| count.parse().expect("a number"))
}

/// A thread whose last message has not ended has its text in its state. Neither that nor a page is read for a client without
/// room for it.
#[test]
fn clients_that_read_no_pages_fill_no_memory() {
    const MESSAGES: usize = 31;
    const CLIENTS: usize = 16;
    let daemon = Daemon::with("[limits]\nagent_bytes_per_sec = 0\nwrite_secs = 1\n");
    let mut client = Client::new(&daemon);
    let idle = memory(&daemon, "VmRSS:");
    let thread = client.thread(&daemon);
    client.start(
        &thread,
        &format!("flood n={MESSAGES} bytes={MESSAGE_ITEM_BYTES} kind=chunk; hang"),
    );
    // The last one stays open.
    for _ in 1..MESSAGES {
        client.wait_for("item/completed");
    }
    let page = json!({ "threadId": thread, "includeTurns": true });
    let unread: Vec<Client> = (0..CLIENTS)
        .map(|_| {
            let mut client = Client::new(&daemon);
            for _ in 0..30 {
                client.request("thread/read", &page);
            }
            client
        })
        .collect();
    // Each has its time, and the daemon answers one HTTP request in 100 ms in the long run.
    let deadline = Instant::now() + 4 * PATIENCE;
    while stalled(&daemon) < CLIENTS {
        assert!(Instant::now() < deadline, "others have had the room of each");
        std::thread::sleep(Duration::from_millis(200));
    }
    drop(unread);
    let peak = memory(&daemon, "VmHWM:");
    assert!(
        peak < idle + 140,
        "the daemon took {peak} MiB, and {idle} MiB before"
    );
    // A client that reads gets its page.
    let read = Client::new(&daemon).call("thread/read", &page);
    assert!(read["thread"]["turns"].to_string().len() > MESSAGE_ITEM_BYTES / 2);
}
