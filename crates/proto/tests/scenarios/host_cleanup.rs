//! The ends of an agent's terminals and file accesses when the agent has exited or is being stopped.

use acpd_model::event::TurnStatus;
use acpd_model::limits::{LIVE_OUTPUT_BYTES, LIVE_OUTPUT_MILLIS};
use acpd_model::{ErrorCode, EventKind, Failure, Limits, PreviousContent, SessionEvent, TurnId};
use acpd_proto::thread::{Answer, Change, Command, HostCall, HostReply, Input, TerminalEvent};
use serde_json::{Value, json};

use crate::support::{FULL, Scene, check, check_in};

const WRITE: &str = r#"{"sessionId":"s-1","path":"/workspace/a","content":"new\n"}"#;

/// Runs a command whose stored output is limited to `limit` bytes.
fn running(s: &mut Scene, limit: usize) {
    s.open_turn();
    let params = json!({ "sessionId": "s-1", "command": "yes", "outputByteLimit": limit });
    s.calls("1", "terminal/create", &params.to_string());
    s.host_replies(Ok(HostReply::Created));
}

fn writes(s: &mut Scene, text: &str) {
    s.terminal_says("term_1", TerminalEvent::Output(text.to_owned()));
}

/// Returns the output of a terminal's completed item, and whether it is truncated.
fn output(s: &Scene) -> (String, bool) {
    let done = s.params("item/terminalCommand/completed");
    assert_eq!(done.len(), 1, "it is completed once");
    assert_eq!(done[0]["outcome"], "interrupted");
    let output = done[0]["output"].as_str().unwrap().to_owned();
    (output, done[0]["truncated"].as_bool().unwrap())
}

/// Returns the number of the oldest pending host call, whose result arrives last.
fn late(s: &Scene) -> u64 {
    s.waiting[0].0
}

fn written(s: &Scene) -> Vec<Value> {
    s.params("thread/file/written")
}

fn answered(s: &Scene) -> usize {
    s.sent.iter().filter(|sent| sent.answers.is_some()).count()
}

fn comes_back(s: &mut Scene) {
    s.answer("initialize", FULL);
    s.answer("session/resume", "{}");
    s.later(100);
}

#[test]
fn a_terminal_that_ends_with_its_agent_has_all_that_it_said() {
    check(|s| {
        running(s, 1000);
        writes(s, "one\n");
        writes(s, "two\n");
        s.exits("exit status 1");
        assert_eq!(output(s), ("one\ntwo\n".into(), false));
    });
}

#[test]
fn a_terminal_that_ends_with_its_agent_shows_the_end_and_not_the_beginning() {
    for wait in [0, LIVE_OUTPUT_MILLIS] {
        check(|s| {
            running(s, 1000);
            writes(s, &"head\n".repeat(300));
            writes(s, &"é".repeat(LIVE_OUTPUT_BYTES));
            writes(s, "the end");
            s.later(wait);
            s.exits("exit status 1");
            let (end, truncated) = output(s);
            assert!(end.ends_with("éthe end") && !end.contains("head"), "{end}");
            assert!(
                end.len() <= 1000 && end.len() > 990,
                "as much as is kept: {}",
                end.len()
            );
            assert!(truncated);
        });
    }
}

#[test]
fn output_that_was_only_shown_continues_the_logged_output() {
    check(|s| {
        running(s, 10);
        writes(s, "0123456789");
        writes(s, "abc");
        s.later(LIVE_OUTPUT_MILLIS);
        writes(s, "é");
        s.exits("exit status 1");
        assert_eq!(output(s), ("56789abcé".into(), true));
    });
}

#[test]
fn a_terminal_ends_the_same_way_when_the_daemon_stops() {
    check(|s| {
        running(s, 4);
        writes(s, "head");
        writes(s, "tail");
        s.ask(Command::Stop).unwrap();
        assert_eq!(output(s), ("tail".into(), true));
        s.exits("exit status 0");
    });
}

#[test]
fn output_after_a_daemon_was_killed_is_missing() {
    let before = check(|s| {
        running(s, 1000);
        writes(s, "one\n");
    });
    check_in(Scene::restarted(&before.log), |s| {
        assert_eq!(output(s), ("one\n".into(), true));
    });
}

#[test]
fn a_write_that_its_agent_did_not_live_to_see_is_on_record() {
    check(|s| {
        s.open_turn();
        s.calls("5", "fs/write_text_file", WRITE);
        let call = late(s);
        s.exits("exit status 1");
        assert_eq!(s.status(TurnId(1)), TurnStatus::Failed);
        assert!(s.params("item/fileChange/completed").is_empty(), "it is not over");
        let result = Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        });
        s.handle(Input::Host { call, result });
        assert_eq!(written(s)[0]["path"], "/workspace/a");
        let done = s.params("item/fileChange/completed");
        assert_eq!((done.len(), &done[0]["outcome"]), (1, &json!("completed")));
        assert!(done[0]["diff"].as_str().unwrap().contains("+new"));
        assert_eq!(answered(s), 0, "nobody is there to be answered");
    });
}

#[test]
fn a_late_write_does_not_belong_to_the_next_turn() {
    check(|s| {
        s.open_turn();
        s.calls("5", "fs/write_text_file", WRITE);
        let call = late(s);
        s.exits("exit status 1");
        s.prompt("again");
        comes_back(s);
        let result = Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        });
        s.handle(Input::Host { call, result });
        assert_eq!(written(s).len(), 1);
        assert!(
            s.params("turn/diff/updated").is_empty(),
            "that turn has changed nothing"
        );
        assert_eq!(answered(s), 0, "the next process is told nothing of it");
        s.stops_with("end_turn");
    });
}

#[test]
fn a_write_that_outlives_its_turn_is_over_when_it_is_over() {
    check(|s| {
        s.open_turn();
        s.calls("5", "fs/write_text_file", WRITE);
        s.stops_with("end_turn");
        assert!(s.params("item/fileChange/completed").is_empty());
        s.host_replies(Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        }));
        assert_eq!(s.params("item/fileChange/completed").len(), 1);
        assert_eq!(s.answer_to(&json!(5))["result"], json!({}));
    });
}

#[test]
fn a_failed_late_write_does_not_count() {
    check(|s| {
        s.open_turn();
        s.calls("5", "fs/write_text_file", WRITE);
        let call = late(s);
        s.exits("exit status 1");
        let result = Err(Failure::invalid_params("path outside workspace"));
        s.handle(Input::Host { call, result });
        assert_eq!(s.params("item/fileChange/completed")[0]["outcome"], "failed");
        assert!(written(s).is_empty());
        assert_eq!(answered(s), 0);
    });
}

#[test]
fn a_late_read_leaves_no_trace() {
    check(|s| {
        s.open_turn();
        s.calls(
            "5",
            "fs/read_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/a"}"#,
        );
        let call = late(s);
        s.exits("exit status 1");
        let before = s.log.len();
        let result = Ok(HostReply::Read { content: "x".into() });
        s.handle(Input::Host { call, result });
        assert_eq!(s.log.len(), before);
    });
}

#[test]
fn a_terminal_that_began_too_late_is_known_and_over() {
    check(|s| {
        s.open_turn();
        s.calls("5", "terminal/create", r#"{"sessionId":"s-1","command":"top"}"#);
        let call = late(s);
        s.exits("exit status 1");
        let result = Ok(HostReply::Created);
        s.handle(Input::Host { call, result });
        assert_eq!(s.params("item/terminalCommand/started")[0]["command"], "top");
        assert_eq!(output(s), (String::new(), true), "what it said is not known");
        s.terminal_says("term_1", TerminalEvent::Output("ghost".into()));
        assert!(s.params("item/terminalCommand/output").is_empty());
        assert_eq!(answered(s), 0);
    });
}

/// Returns a scene in which the agent did not end its turn in time and is being stopped.
fn stopping() -> Scene {
    let mut s = Scene::with_limits(Limits {
        cancel_secs: 1,
        ..Scene::limits()
    });
    s.open_turn();
    s.interrupt();
    s.later(1000);
    assert_eq!(s.stops, 1);
    s
}

#[test]
fn an_agent_that_is_being_stopped_is_given_nothing() {
    check_in(stopping(), |s| {
        let options = r#"[{"optionId":"y","name":"Yes","kind":"allow_once"}]"#;
        let calls = [
            (
                "fs/read_text_file",
                r#"{"sessionId":"s-1","path":"/workspace/a"}"#.to_owned(),
            ),
            ("fs/write_text_file", WRITE.to_owned()),
            (
                "terminal/create",
                r#"{"sessionId":"s-1","command":"rm"}"#.to_owned(),
            ),
            (
                "terminal/output",
                r#"{"sessionId":"s-1","terminalId":"term_1"}"#.to_owned(),
            ),
            (
                "session/request_permission",
                format!(r#"{{"sessionId":"s-1","toolCall":{{"toolCallId":"t"}},"options":{options}}}"#),
            ),
        ];
        for (id, (method, params)) in calls.iter().enumerate() {
            s.calls(&id.to_string(), method, params);
            let error = &s.answer_to(&json!(id))["error"];
            assert_eq!(error["code"], ErrorCode::Conflict.rpc(), "{method}");
        }
        assert!(s.waiting.is_empty(), "{:?}", s.waiting);
        assert!(s.thread.live().requests.is_empty() && s.thread.live().items.is_empty());
        let refused = s
            .kinds()
            .filter(|kind| matches!(kind, EventKind::Session(SessionEvent::CallRefused { .. })));
        assert_eq!(refused.count(), calls.len(), "each is on record");
        s.exits("exit status 0");
    });
}

#[test]
fn an_answer_comes_too_late_for_an_agent_that_is_being_stopped() {
    check(|s| {
        s.open_session();
        let policy = json!({ "ask": ["Write"] }).into();
        s.ask(Command::SetPolicy(Some(policy))).unwrap();
        s.calls("5", "fs/write_text_file", WRITE);
        assert_eq!(s.thread.live().requests.len(), 1);
        s.ask(Command::Rest).unwrap();
        assert_eq!(s.stops, 0, "the question is the agent's work");
        s.ask(Command::Change(Change::Archive)).unwrap();
        assert_eq!(s.stops, 1);
        let failure = s.decide(1, Answer::Accept { always: false }).unwrap_err();
        assert_eq!(failure.code, ErrorCode::AlreadyResolved);
        let is_write = |what: &HostCall| matches!(what, HostCall::WriteFile { .. });
        assert!(!s.waiting.iter().any(|(_, what)| is_write(what)));
        s.exits("exit status 0");
    });
}
