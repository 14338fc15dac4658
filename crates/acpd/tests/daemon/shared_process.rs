//! `share = true`: one agent process serves many threads.

#![cfg(target_os = "linux")]

use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Incoming, Place, peak_kib, wait_until};

/// Starts a daemon whose agent `fake` is shared, with `limits`.
fn sharing(limits: &str) -> Daemon {
    let place = Place::new("");
    // The agent sends an update before each response to session/new.
    let agent = place.agent("fake", &["--pace", "0", "--early"], &[]);
    place.configure(&format!("{agent}share = true\n[limits]\n{limits}\n"));
    Daemon::at(place)
}

/// Reads until both turns are over; returns their final states.
fn ends(client: &mut Client, turns: [(&str, &str); 2]) -> [Value; 2] {
    loop {
        let end = |(thread, turn): (&str, &str)| {
            let over = |m: &&Arc<Incoming>| {
                m.method == "turn/completed" && m.text("threadId") == thread && m.params["turn"]["id"] == turn
            };
            client.seen.iter().find(over).map(|m| m.params["turn"].clone())
        };
        if let [Some(one), Some(other)] = turns.map(end) {
            return [one, other];
        }
        client.next();
    }
}

/// Returns the agent's text to a thread in a turn.
fn said(client: &Client, thread: &str, turn: &str) -> String {
    let of_turn = |m: &&Arc<Incoming>| {
        m.method == "item/agentMessage/delta" && m.text("threadId") == thread && m.text("turnId") == turn
    };
    client
        .seen
        .iter()
        .filter(of_turn)
        .map(|m| m.text("text"))
        .collect()
}

/// Starts a turn that first asks a question, and waits for the question.
fn asking(client: &mut Client, thread: &str, then: &str) -> (String, Arc<Incoming>) {
    let turn = client.start(thread, &format!("permission; {then}"));
    let question = client.question();
    assert_eq!(question.text("threadId"), thread);
    (turn, question)
}

fn allow(client: &mut Client, question: &Incoming) {
    client.respond(question, &json!({ "decision": "accept" }));
}

#[test]
fn two_threads_work_at_once_in_one_process() {
    let daemon = sharing("");
    let mut client = Client::new(&daemon);
    let there = daemon.place.work().join("there");
    std::fs::create_dir(&there).unwrap();
    let a = client.thread(&daemon);
    let started = client.call("thread/start", &json!({ "agentType": "fake", "cwd": there }));
    let b = started["thread"]["id"].as_str().unwrap().to_owned();
    assert_eq!(daemon.place.agents().len(), 1);
    let (turn_a, asked_a) = asking(&mut client, &a, "cwd");
    let (turn_b, asked_b) = asking(&mut client, &b, "cwd; stream n=50");
    allow(&mut client, &asked_b);
    client.finish(&b, &turn_b);
    client.respond(&asked_a, &json!({ "decision": "decline" }));
    client.finish(&a, &turn_a);
    let here = daemon.place.work().display().to_string();
    let start = daemon.place.data().join("start").display().to_string();
    let words: String = (1..=50).map(|k| format!(" word {k}")).collect();
    assert_eq!(
        said(&client, &b, &turn_b),
        format!(
            "allowed (allow_once)session {}, process {start}{words}",
            there.display()
        )
    );
    assert_eq!(
        said(&client, &a, &turn_a),
        format!("rejected (reject_once)session {here}, process {start}")
    );
    assert_eq!(daemon.place.agents().len(), 1);
    // Both threads contain the update from before the response to session/new.
    for thread in [&a, &b] {
        let read = client.call("thread/read", &json!({ "threadId": thread }));
        assert!(read["thread"]["availableCommandsUpdate"].is_object(), "{read}");
    }
}

#[test]
fn a_crash_fails_all_turns_and_all_threads_work_again() {
    let daemon = sharing("");
    let mut client = Client::new(&daemon);
    let (a, b) = (client.thread(&daemon), client.thread(&daemon));
    let idle = client.thread(&daemon);
    let (turn_b, _) = asking(&mut client, &b, "say never");
    let turn_a = client.start(&a, "crash");
    for end in ends(&mut client, [(&a, &turn_a), (&b, &turn_b)]) {
        assert_eq!(end["status"], "failed");
        assert!(
            end["error"].as_str().unwrap().contains("exited with code 3"),
            "{end}"
        );
    }
    for thread in [&b, &a, &idle] {
        assert_eq!(client.turn(thread, "say back").said(), "back");
    }
    assert_eq!(daemon.place.agents().len(), 1, "they share the next process, too");
}

#[test]
fn a_turn_that_does_not_stop_ends_no_other_threads_turn() {
    let daemon = sharing("cancel_secs = 1\nagent_exit_grace_secs = 1");
    let mut client = Client::new(&daemon);
    let (a, b) = (client.thread(&daemon), client.thread(&daemon));
    let (turn_b, question) = asking(&mut client, &b, "say unharmed");
    let turn_a = client.start(&a, "say deep; hang");
    client.until(|m| m.method == "item/agentMessage/delta" && m.text("threadId") == a);
    client.call("turn/interrupt", &json!({ "threadId": a, "turnId": turn_a }));
    let ended = client.finish(&a, &turn_a);
    assert_eq!(ended.status(), "interrupted");
    let notice = ended.one("thread/notice");
    assert_eq!(
        (notice.text("threadId"), notice.text("code")),
        (a.as_str(), "cancelTimedOut")
    );
    let message = notice.text("message");
    assert!(
        message.contains("didn't respond to Stop, so acpd ended it after 1 s"),
        "{message}"
    );
    // Its thread continues in a new process, away from the unwanted turn.
    assert_eq!(client.turn(&a, "say again").said(), "again");
    assert_eq!(daemon.place.agents().len(), 2);
    allow(&mut client, &question);
    assert_eq!(client.finish(&b, &turn_b).status(), "completed");
    assert_eq!(said(&client, &b, &turn_b), "allowed (allow_once)unharmed");
    // The old process exits once no thread uses it.
    wait_until("one process is left", || daemon.place.agents().len() == 1);
    assert_eq!(client.turn(&b, "say on").said(), "on");
    assert_eq!(daemon.place.agents().len(), 1);
    let failed = |m: &&Arc<Incoming>| m.text("code") == "agentLost" && m.text("level") != "info";
    assert_eq!(client.seen.iter().filter(failed).count(), 0, "all of them let go");
}

#[test]
fn the_last_thread_that_leaves_ends_the_process() {
    let daemon = sharing("agent_idle_secs = 1");
    let mut client = Client::new(&daemon);
    let (a, b) = (client.thread(&daemon), client.thread(&daemon));
    client.turn(&a, "say one");
    client.call("thread/unsubscribe", &json!({ "threadId": a }));
    assert_eq!(client.turn(&b, "say two").said(), "two");
    assert_eq!(daemon.place.agents().len(), 1);
    client.call("thread/unsubscribe", &json!({ "threadId": b }));
    daemon.place.wait_for_no_agents();
    client.call("thread/resume", &json!({ "threadId": a }));
    assert_eq!(client.turn(&a, "say three").said(), "three");
}

#[test]
fn a_daemon_that_stops_leaves_no_shared_process() {
    let mut daemon = sharing("");
    let mut client = Client::new(&daemon);
    let (a, b) = (client.thread(&daemon), client.thread(&daemon));
    let _ = asking(&mut client, &a, "say never");
    client.turn(&b, "say x");
    assert_eq!(daemon.place.agents().len(), 1);
    assert_eq!(daemon.stop().code(), Some(0));
    assert_eq!(daemon.place.agents(), [0; 0]);
}

/// An agent that opens two sessions, accepts two prompts, reports that, and then stops reading.
const STUCK: &str = r#"
import json, sys, time
def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()
sessions = prompts = 0
while prompts < 2:
    message = json.loads(sys.stdin.readline())
    if message["method"] == "initialize":
        send({"id": message["id"], "result": {"protocolVersion": 1}})
    elif message["method"] == "session/new":
        sessions += 1
        send({"id": message["id"], "result": {"sessionId": f"s{sessions}"}})
    elif message["method"] == "session/prompt":
        prompts += 1
        content = {"type": "text", "text": "heard"}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        send({"method": "session/update", "params": {"sessionId": message["params"]["sessionId"], "update": update}})
time.sleep(1000)
"#;

#[test]
fn a_stuck_shared_agent_is_found() {
    let daemon = Daemon::with(&format!(
        "[agents.stuck]\ncommand = \"python3\"\nargs = [\"-c\", '''{STUCK}''']\nshare = true\n\
         [limits]\nrequests_per_window = 1000\nrequests_in_flight = 16\nagent_exit_grace_secs = 1\n"
    ));
    let mut client = Client::new(&daemon);
    let (a, b) = (
        client.thread_of(&daemon, "stuck"),
        client.thread_of(&daemon, "stuck"),
    );
    let (turn_a, turn_b) = (client.start(&a, "one"), client.start(&b, "two"));
    for thread in [&a, &b] {
        wait_until("the agent has the prompt", || {
            let read = client.call(
                "thread/read",
                &json!({ "threadId": thread, "includeTurns": true }),
            );
            read.to_string().contains("heard")
        });
    }
    // 360 MB, none of which the agent reads. Besides its commands (32 MiB), only requests in flight are kept.
    let text = "x".repeat(900_000);
    let params = json!({ "threadId": a, "method": "_x", "params": { "text": text } });
    for _ in 0..400 {
        client.request("agent/notify", &params);
    }
    for end in ends(&mut client, [(&a, &turn_a), (&b, &turn_b)]) {
        assert_eq!(end["status"], "failed");
        assert!(end["error"].as_str().unwrap().contains("stdin"), "{end}");
    }
    let peak = peak_kib(daemon.pid()) >> 10;
    assert!(peak < 150, "the daemon took {peak} MiB");
}
