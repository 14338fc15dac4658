//! `kill -9` of the daemon at many moments of a turn. Afterwards, all events that any client saw exist with the same
//! numbers. The turn is interrupted with a reason, the next turn works, and no agent process is left.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Incoming};

/// A thread whose daemon is killed repeatedly, and all events that its clients saw.
struct Ordeal {
    daemon: Daemon,
    client: Client,
    thread: String,
    seen: BTreeMap<u64, (String, Value)>,
}

impl Ordeal {
    fn new() -> Self {
        let daemon = Daemon::start();
        let mut client = Client::new(&daemon);
        let thread = client.thread(&daemon);
        Self {
            daemon,
            client,
            thread,
            seen: BTreeMap::new(),
        }
    }

    /// Adds the events that a client saw. Fails if a client saw another event under the same number.
    fn remember(&mut self, messages: &[Arc<Incoming>]) {
        for message in messages
            .iter()
            .filter(|message| message.method != "serverRequest/rejected" && !message.is_live())
        {
            let fact = (message.method.clone(), message.params.clone());
            if let Some(known) = self.seen.get(&message.seq()) {
                assert_eq!(*known, fact, "two events have the number {}", message.seq());
            }
            self.seen.insert(message.seq(), fact);
        }
    }

    /// Kills the daemon, checks the remains, and restarts it. If the turn was running, it must be interrupted. A turn whose
    /// end clients saw stays as it was.
    fn kill(&mut self, turn: &str) {
        self.daemon.kill();
        self.daemon.place.wait_for_no_agents();
        let _ = self.client.drain();
        let seen = std::mem::take(&mut self.client.seen);
        self.remember(&seen);
        let last_seen = self.seen.keys().next_back().copied().unwrap_or_default();

        self.daemon.restart();
        let mut client = Client::new(&self.daemon);
        let resumed = client.resume(&self.thread, 0);
        let latest = resumed["latestSeq"]
            .as_u64()
            .expect("a thread has a latest event");
        assert!(
            latest >= last_seen,
            "{latest} is before {last_seen}, which a client saw"
        );
        // The client itself checks that no number is missing or repeated.
        let replay = client.until(|message| !message.is_live() && message.seq() == latest);
        self.remember(&replay);
        assert_eq!(self.seen.len() as u64, latest);
        let ends: Vec<_> = replay
            .iter()
            .filter(|m| m.method == "turn/completed" && m.params["turn"]["id"] == turn)
            .collect();
        let begun = replay.iter().any(|m| m.text("turnId") == turn);
        assert_eq!(ends.len(), usize::from(begun), "{ends:#?}");
        if let Some(end) = ends.first().filter(|end| end.seq() > last_seen) {
            let turn = &end.params["turn"];
            assert_eq!(turn["status"], "interrupted", "{turn}");
            assert!(
                turn["error"]
                    .as_str()
                    .is_some_and(|why| why.contains("acpd was restarted")),
                "{turn}"
            );
        }
        // Only this turn's items, because the turn queued behind it may already run.
        let items = |method: &str, of: Option<&str>| {
            replay
                .iter()
                .filter(|m| m.method == method && of.is_none_or(|turn| m.text("turnId") == turn))
                .map(|m| m.text("itemId"))
                .collect::<Vec<_>>()
        };
        for (start, end) in [
            ("item/started", "item/completed"),
            ("item/toolCall/started", "item/toolCall/completed"),
            ("item/terminalCommand/started", "item/terminalCommand/completed"),
        ] {
            let ended = items(end, None);
            for item in items(start, Some(turn)) {
                let ends = ended.iter().filter(|ended| **ended == item).count();
                assert_eq!(ends, 1, "{start}: {item} must have ended once");
            }
        }
        self.client = client;
    }

    /// Checks that the next turn works normally.
    fn next_turn(&mut self) {
        let turn = self.client.turn(&self.thread, "say back");
        assert_eq!((turn.status(), &turn.said()[..]), ("completed", "back"));
    }

    /// For each number, kills the daemon once a client has seen so many messages of a turn.
    fn kill_after(&mut self, script: &str, moments: &[usize]) {
        for &after in moments {
            let turn = self.client.start(&self.thread, script);
            for _ in 0..after {
                let message = self.client.next();
                assert!(
                    message.method != "turn/completed",
                    "the turn is over before moment {after}"
                );
            }
            self.kill(&turn);
            self.next_turn();
        }
    }
}

/// A turn with many kinds of events. It waits for an approval at the end, so it never ends by itself.
const SCRIPT: &str = "think n=3 ms=1; plan; stream n=5 ms=1; tool; seed; read; write; \
    terminal sh -c \"echo hi; exit 1\"; usage; stream n=8 ms=12; permission";

#[test]
fn at_any_message_of_a_turn() {
    Ordeal::new().kill_after(SCRIPT, &[0, 1, 2, 4, 6, 9, 13]);
}

#[test]
fn at_any_later_message_of_a_turn() {
    Ordeal::new().kill_after(SCRIPT, &[18, 23, 29, 36, 44, 50]);
}

#[test]
fn while_the_agent_pours() {
    Ordeal::new().kill_after("flood n=60000 bytes=300; permission", &[30, 700, 5_000]);
}

#[test]
fn while_tokens_stream() {
    Ordeal::new().kill_after(
        "flood n=20000 kind=delta; stream n=100 ms=3; permission",
        &[8, 16, 30],
    );
}

#[test]
fn while_a_question_is_open_or_a_command_runs() {
    let mut ordeal = Ordeal::new();
    let turn = ordeal.client.start(&ordeal.thread, "permission");
    let question = ordeal.client.question();
    let queued = ordeal.client.start(&ordeal.thread, "say queued");
    ordeal.kill(&turn);
    let read = ordeal
        .client
        .call("thread/read", &json!({ "threadId": ordeal.thread }))["thread"]
        .take();
    assert_eq!(
        read["pendingRequestIds"],
        json!([]),
        "nobody would hear the answer"
    );
    let late = ordeal.client.refused(
        "item/approve",
        &json!({ "requestId": question.text("requestId"), "approved": true }),
    );
    assert_eq!(late["data"]["code"], "already_resolved", "{late}");
    // The turn queued behind it had not started, and starts now.
    let over =
        |(method, params): &(String, Value)| method == "turn/completed" && params["turn"]["id"] == queued;
    match ordeal.seen.values().find(|seen| over(seen)).cloned() {
        // It may have ended before a client checks.
        Some((_, params)) => assert_eq!(params["turn"]["status"], "completed"),
        None => {
            let end = ordeal.client.finish(&ordeal.thread, &queued);
            assert_eq!((end.status(), &end.said()[..]), ("completed", "queued"));
        }
    }
    ordeal.next_turn();

    let turn = ordeal.client.start(&ordeal.thread, "terminal sleep 600");
    ordeal.client.wait_for("item/terminalCommand/started");
    ordeal.kill(&turn);
    ordeal.next_turn();
}

/// Returns the events with which a request ended.
fn ends_of<'a>(seen: &'a BTreeMap<u64, (String, Value)>, question: &Value) -> Vec<&'a Value> {
    let recorded = seen
        .values()
        .filter(|(method, _)| method == "serverRequest/resolved");
    recorded
        .map(|(_, params)| params)
        .filter(|params| params["requestId"] == *question)
        .collect()
}

#[test]
fn an_open_question_is_voided_for_all_clients() {
    let mut ordeal = Ordeal::new();
    let turn = ordeal.client.start(&ordeal.thread, "permission");
    let question = ordeal.client.question();
    let request = question.params["requestId"].clone();
    ordeal.kill(&turn);
    // The agent's process died with its request, so no response can reach it.
    let ends = ends_of(&ordeal.seen, &request);
    assert_eq!(ends.len(), 1, "{ends:#?}");
    assert_eq!(ends[0]["outcome"], "void", "{}", ends[0]);
    assert!(!ends[0]["reason"].as_str().unwrap().is_empty(), "{}", ends[0]);
    let void = ends[0]["seq"].as_u64().unwrap();

    // A client that saw the request and reconnects is notified, and does not receive the request again.
    let mut back = Client::new(&ordeal.daemon);
    back.resume(&ordeal.thread, question.seq());
    let recorded = back.until(|message| !message.is_live() && message.seq() == void);
    assert!(
        recorded.iter().all(|message| message.id.is_none()),
        "{recorded:#?}"
    );
    // A client that still responds immediately learns that it is too late, by either method.
    back.respond(&question, &json!({ "decision": "accept" }));
    let rejected = back.wait_for("serverRequest/rejected");
    assert_eq!(rejected.params["error"]["data"]["code"], "already_resolved");
    assert_eq!(rejected.params["requestId"], request);
    // A new client sees no open request.
    let mut late = Client::new(&ordeal.daemon);
    let shown = late.call("thread/resume", &json!({ "threadId": ordeal.thread }));
    assert_eq!(shown["thread"]["pendingRequestIds"], json!([]));
    late.refused("item/approve", &json!({ "requestId": request, "approved": true }));

    // The new process sends a request with another id, and receives the response.
    let turn = ordeal.client.start(&ordeal.thread, "permission");
    let next = ordeal.client.question();
    assert_ne!(next.params["requestId"], request);
    ordeal.client.respond(&next, &json!({ "decision": "accept" }));
    let end = ordeal.client.finish(&ordeal.thread, &turn);
    assert_eq!(
        (end.status(), &end.said()[..]),
        ("completed", "allowed (allow_once)")
    );
    late.finish(&ordeal.thread, &turn);
    assert!(
        late.seen
            .iter()
            .all(|message| message.params["requestId"] != request)
    );
}

#[test]
fn an_answer_that_the_kill_overtakes_counts_once_or_not_at_all() {
    let mut ordeal = Ordeal::new();
    for _ in 0..4 {
        let turn = ordeal.client.start(&ordeal.thread, "permission; permission");
        let question = ordeal.client.question();
        let request = question.params["requestId"].clone();
        // Whether the response is stored before the kill depends on timing.
        ordeal.client.respond(&question, &json!({ "decision": "accept" }));
        ordeal.kill(&turn);
        let ends = ends_of(&ordeal.seen, &request);
        assert_eq!(ends.len(), 1, "{ends:#?}");
        let outcome = ends[0]["outcome"].as_str().unwrap();
        assert_eq!(
            outcome == "void",
            ends[0]["by"]["client"].is_null(),
            "{}",
            ends[0]
        );
        let late = json!({ "requestId": request, "approved": false });
        let late = ordeal.client.refused("item/approve", &late);
        assert_eq!(late["data"]["code"], "already_resolved", "{late}");
        ordeal.next_turn();
    }
}

#[test]
fn between_two_turns_and_before_the_first() {
    let mut ordeal = Ordeal::new();
    ordeal.kill("turn_1");
    let turn = ordeal.client.turn(&ordeal.thread, "say whole");
    let end = turn.end.clone();
    ordeal.kill("turn_1");
    let recorded = ordeal
        .seen
        .values()
        .find(|(method, _)| method == "turn/completed")
        .unwrap();
    assert_eq!(recorded.1["turn"], end, "a turn that was over stays as it was");
    ordeal.next_turn();
    ordeal.kill("turn_2");
    ordeal.next_turn();
}

#[test]
fn right_after_a_request_was_sent() {
    let mut ordeal = Ordeal::new();
    for k in 1..=3 {
        // The test does not wait for the response, so whether the turn has started depends on timing.
        let params = json!({ "threadId": ordeal.thread, "text": SCRIPT, "clientTurnId": k.to_string() });
        ordeal.client.request("turn/start", &params);
        let before = ordeal
            .seen
            .values()
            .filter(|(method, _)| method == "turn/started")
            .count();
        ordeal.kill(&format!("turn_{}", before + 1));
        ordeal.next_turn();
    }
    // A client without a response retries. If the first turn was accepted, no second one starts.
    let params = json!({ "threadId": ordeal.thread, "text": "say once", "clientTurnId": "again" });
    let first = ordeal.client.call("turn/start", &params);
    ordeal.kill(first["turn"]["id"].as_str().unwrap());
    let second = ordeal.client.call("turn/start", &params);
    assert_eq!(first["turn"]["id"], second["turn"]["id"]);
}

#[test]
fn while_a_thread_starts() {
    let mut daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    client.request(
        "thread/start",
        &json!({ "agentType": "fake", "cwd": daemon.place.work(), "text": "say hi" }),
    );
    let started = client.wait_for("thread/started");
    daemon.kill();
    daemon.place.wait_for_no_agents();
    daemon.restart();
    let mut client = Client::new(&daemon);
    let thread = started.text("threadId");
    let resumed = client.resume(thread, 0);
    let replay = client.until(|message| !message.is_live() && resumed["latestSeq"] == message.seq());
    assert_eq!(*replay[0], *started);
    let turn = client.turn(thread, "say back");
    assert_eq!((turn.status(), &turn.said()[..]), ("completed", "back"));
}
