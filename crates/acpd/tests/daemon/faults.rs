//! Known faults of earlier systems, end to end. xtask/tests/faults.md lists them all.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{Client, Daemon, Place, wait_until};

/// An agent in a few lines of shell. Its session has the id `$1`; in each turn it calls the terminal `term_1`, and
/// sends the response as text.
const CURIOUS: &str = r#"
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "${line#*\"id\":}" "$1" | sed 's/\("id":[0-9]*\)[^\n]*,"result":/\1,"result":/'; }
quoted() { sed 's/\\/\\\\/g; s/"/\\"/g'; }
say() {
    text=$(printf '%s' "$1" | quoted)
    printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$session" "$text"
}
session=$1
read -r line; reply '{"protocolVersion":1}'
read -r line; reply "{\"sessionId\":\"$session\"}"
while read -r line; do
    for method in output kill release; do
        printf '{"jsonrpc":"2.0","id":"%s","method":"terminal/%s","params":{"sessionId":"%s","terminalId":"term_1"}}\n' "$method" "$method" "$session"
        read -r answer
        say "$answer"
    done
    reply '{"stopReason":"end_turn"}'
done
"#;

/// Returns the configuration lines of that agent.
fn curious(name: &str, session: &str) -> String {
    format!("[agents.{name}]\ncommand = \"sh\"\nargs = [\"-c\", '''{CURIOUS}''', \"curious\", {session:?}]\n")
}

/// Returns all files and directories below `directory`.
fn below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(&directory).expect("it can be read") {
            let path = entry.expect("it can be read on").path();
            if path.is_dir() && !path.is_symlink() {
                left.push(path.clone());
            }
            found.push(path);
        }
    }
    found
}

#[test]
fn a_client_that_is_lost_while_it_is_asked_allows_nothing() {
    let daemon = Daemon::with("[policy]\nask = [\"*\"]\n");
    let mut first = Client::new(&daemon);
    let thread = first.thread(&daemon);
    for (step, said) in [
        ("permission", "rejected (reject_once)"),
        ("write path=x", "it was not allowed"),
        ("terminal touch x", "it was not allowed"),
    ] {
        let mut client = Client::new(&daemon);
        client.call("thread/resume", &json!({ "threadId": thread }));
        let turn = client.start(&thread, step);
        let lost = client.question();
        // All clients disconnect while the question is open.
        client.vanish();
        std::mem::replace(&mut first, Client::new(&daemon)).vanish();
        // A new client receives the same question: it stayed open, and nothing was done.
        first.call("thread/resume", &json!({ "threadId": thread }));
        let question = first.question();
        assert_eq!(question.params, lost.params, "{step}");
        assert!(!daemon.place.work().join("x").exists(), "{step}");
        first.respond(&question, &json!({ "decision": "decline" }));
        let end = first.finish(&thread, &turn);
        assert!(end.said().contains(said), "{step}: {}", end.said());
        assert_eq!(end.one("serverRequest/resolved").text("outcome"), "declined");
        assert_eq!(below(&daemon.place.work()), [""; 0].map(PathBuf::from), "{step}");
    }
}

#[test]
fn an_allowed_call_is_executed_once_with_several_answers() {
    let daemon = Daemon::with("[policy]\nask = [\"Bash\"]\n");
    let mut first = Client::new(&daemon);
    let mut second = Client::new(&daemon);
    let thread = first.thread(&daemon);
    second.call("thread/resume", &json!({ "threadId": thread }));
    let turn = first.start(&thread, "terminal sh -c \"echo run >> runs\"");
    let questions = (first.question(), second.question());
    first.respond(&questions.0, &json!({ "decision": "accept" }));
    second.respond(&questions.1, &json!({ "decision": "accept" }));
    let end = first.finish(&thread, &turn);
    assert!(end.said().starts_with("exit 0"), "{}", end.said());
    second.finish(&thread, &turn);
    let runs = || std::fs::read_to_string(daemon.place.work().join("runs")).unwrap();
    assert_eq!(runs(), "run\n");
    // Reopening the thread does not repeat the action either.
    let mut late = Client::new(&daemon);
    late.resume(&thread, 0);
    late.finish(&thread, &turn);
    assert_eq!(late.turn(&thread, "say x").said(), "x");
    assert_eq!(runs(), "run\n");
}

#[test]
fn the_configured_policy_holds_for_what_agents_do() {
    let daemon = Daemon::with(
        "[policy]\ndeny = [\"Edit(secret/**)\", \"Bash(rm *)\"]\nask = [\"Bash\"]\nallow = [\"Bash(echo *)\"]\n",
    );
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let work = daemon.place.work();
    std::fs::write(work.join("kept"), "").unwrap();
    // No turn here waits for a user: a rule decides each request.
    for (step, said) in [
        ("write path=secret/x", "not allowed here"),
        ("write path=open", "wrote"),
        ("terminal rm kept", "not allowed here"),
        ("terminal echo hi", "exit 0: hi"),
        ("permission command=\"echo hi\"", "allowed (allow_once)"),
        (
            "permission command=\"echo hi; rm kept\"",
            "rejected (reject_once)",
        ),
    ] {
        let turn = client.turn(&thread, step);
        assert!(turn.said().contains(said), "{step}: {}", turn.said());
        assert!(
            turn.messages.iter().all(|message| message.id.is_none()),
            "{step}: nobody is asked"
        );
    }
    let turn = client.start(&thread, "permission command=ls");
    let question = client.question();
    client.respond(&question, &json!({ "decision": "decline" }));
    assert_eq!(client.finish(&thread, &turn).said(), "rejected (reject_once)");
    let mut left = below(&work);
    left.sort();
    assert_eq!(left, [work.join("kept"), work.join("open")]);
}

#[test]
fn a_terminal_belongs_to_its_session() {
    let place = Place::new(&curious("curious", "s-2"));
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let owner = client.thread(&daemon);
    let owned = client.start(&owner, "terminal sh -c \"echo secret; sleep 600\"");
    let started = client.wait_for("item/terminalCommand/started");
    assert_eq!(
        started.text("terminalId"),
        "term_1",
        "the name that the other one tries"
    );
    client.wait_for("item/terminalCommand/output");
    let other = client.thread_of(&daemon, "curious");
    let tried = client.turn(&other, "try");
    assert_eq!(tried.status(), "completed");
    let said = tried.said();
    assert!(said.contains("terminal term_1 not found"), "{said}");
    assert!(!said.contains("secret"), "{said}");
    // The terminal runs until its own turn is interrupted: neither "kill" nor "release" has reached it.
    client.call("turn/interrupt", &json!({ "threadId": owner }));
    assert_eq!(client.finish(&owner, &owned).status(), "interrupted");
}

#[test]
fn session_ids_are_not_file_names() {
    let place = Place::new(&curious("curious", "../../../escaped/../escaped"));
    let root = place.work().parent().unwrap().to_owned();
    let mut daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let thread = client.thread_of(&daemon, "curious");
    assert_eq!(client.turn(&thread, "try").status(), "completed");
    daemon.stop();
    daemon.restart();
    let mut client = Client::new(&daemon);
    let read = client.call(
        "thread/read",
        &json!({ "threadId": thread, "includeTurns": true }),
    );
    assert_eq!(read["thread"]["turns"].as_array().unwrap().len(), 1);
    wait_until("the agent is gone", || daemon.place.agents().is_empty());
    for path in below(&root).into_iter().chain(below(&daemon.place.data())) {
        assert!(!path.display().to_string().contains("escaped"), "{path:?}");
    }
}
