//! Scenarios that violate the protocol or end the process.

#![cfg(unix)]

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use serde_json::{Value, json};

use crate::driver::Agent;

#[test]
fn a_crash_in_mid_turn() {
    let (mut agent, id) = Agent::with_session(&[]);
    agent.start_turn(&id, "crash code=7 after=2");
    for k in 1..=2 {
        assert_eq!(
            agent.message()["params"]["update"]["content"]["text"],
            format!(" word {k}")
        );
    }
    assert!(agent.line().is_empty());
    let (status, stderr) = agent.wait();
    assert_eq!(status.code(), Some(7));
    assert_eq!(stderr, "fake-agent: about to crash\nfake-agent: exit code 7\n");
}

#[test]
fn an_abort() {
    let (mut agent, id) = Agent::with_session(&[]);
    agent.start_turn(&id, "abort");
    assert_eq!(agent.wait().0.signal(), Some(6));
}

#[test]
fn half_a_line() {
    let (mut agent, id) = Agent::with_session(&[]);
    agent.start_turn(&id, "halfline");
    let line = agent.line();
    assert!(line.starts_with(b"{") && serde_json::from_slice::<Value>(&line).is_err());
    assert!(agent.wait().0.success());
}

#[test]
fn a_hang_ends_with_stdin() {
    let (mut agent, id) = Agent::with_session(&[]);
    agent.start_turn(&id, "say a; hang");
    agent.message();
    agent.notify("session/cancel", json!({ "sessionId": id }));
    // The session list still works.
    assert!(agent.request("session/list", json!({})).is_ok());
    agent.close();
    assert!(agent.line().is_empty());
    assert!(agent.wait().0.success());
}

#[test]
fn garbage_between_good_chunks() {
    let (mut agent, id) = Agent::with_session(&[]);
    let prompt = agent.start_turn(&id, "garbage");
    let mut lines = Vec::new();
    let mut said = String::new();
    loop {
        let line = agent.line();
        let message: Option<Value> = serde_json::from_slice(&line).ok();
        let text = message
            .as_ref()
            .and_then(|m| m.pointer("/params/update/content/text")?.as_str());
        match (text, &message) {
            (Some(text), _) if text.starts_with(" ok ") || text == "still here" => said.push_str(text),
            (_, Some(message)) if message["id"] == prompt => break,
            _ => lines.push(line),
        }
    }
    assert_eq!(
        said,
        " ok 1 ok 2 ok 3 ok 4 ok 5 ok 6 ok 7 ok 8 ok 9 ok 10 ok 11 ok 12still here"
    );
    assert_eq!(lines.len(), 12);
    let whole = |at: usize| String::from_utf8_lossy(&lines[at]).into_owned();
    assert!(lines[1].is_empty());
    assert!(whole(2).starts_with("[{"));
    assert!(!whole(4).contains("jsonrpc"));
    assert!(whole(6).contains("hologram"));
    assert!(whole(7).contains(r#""content":42"#));
    assert!(whole(8).contains("18446744073709551616"));
    assert!(std::str::from_utf8(&lines[10]).is_err());
    assert!(lines[11].contains(&0));
}

#[test]
fn a_child_that_ignores_sigterm() {
    let (mut agent, id) = Agent::with_session(&[]);
    let said = agent.prompt(&id, "stderr a warning; spawn ms=30000").said();
    let pid = said.strip_prefix("spawned ").unwrap();
    let kill = |signal: &str| {
        Command::new("sh")
            .args(["-c", &format!("kill -{signal} {pid}")])
            .status()
            .unwrap()
    };
    assert!(kill("TERM").success());
    let state = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    if cfg!(target_os = "linux") {
        // SIGTERM is number 15: the 15th bit of the mask of ignored signals.
        let status = state(pid);
        let ignored = status
            .lines()
            .find_map(|line| line.strip_prefix("SigIgn:"))
            .unwrap()
            .trim();
        assert_ne!(u64::from_str_radix(ignored, 16).unwrap() & (1 << 14), 0);
    }
    assert!(kill("KILL").success());
    agent.close();
    let (status, stderr) = agent.wait();
    assert!(status.success());
    assert_eq!(stderr, "a warning\n");
}

#[test]
fn a_child_that_holds_stdout() {
    let (mut agent, id) = Agent::with_session(&[]);
    // Short, since the read below lasts as long as the child.
    let said = agent.prompt(&id, "spawn hold").said();
    let pid = said.strip_prefix("spawned ").unwrap().to_owned();
    agent.close();
    // The child does not hold stderr; the agent itself has exited.
    let mut kill = Command::new("sh");
    kill.args(["-c", &format!("kill -KILL {pid}")]);
    assert!(kill.status().unwrap().success());
    assert!(agent.line().is_empty());
}

#[test]
fn lingering_after_stdin_closed() {
    let (mut agent, id) = Agent::with_session(&["--linger"]);
    agent.start_turn(&id, "wait ms=50; say still there");
    agent.close();
    assert_eq!(
        agent.message()["params"]["update"]["content"]["text"],
        "still there"
    );
}
