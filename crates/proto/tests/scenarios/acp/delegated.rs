//! Requests of an agent to its client that an editor answers.

use acpd_model::limits::{EDITOR_ANSWER_SECS, EDITOR_CALLS};
use acpd_model::{EventKind, HostEvent, Origin};
use acpd_policy::Policy;
use acpd_proto::thread::{Answer, HostCall};
use serde_json::{Value, json};

use super::lease::loads;
use super::stage::{SIMPLE, Stage, WORKER, play};

/// The requests of this scenario.
pub const READ: (&str, &str) = ("fs/read_text_file", r#""path":"/workspace/a""#);
pub const WRITE: (&str, &str) = ("fs/write_text_file", r#""path":"/workspace/a","content":"new\n""#);
pub const CREATE: (&str, &str) = ("terminal/create", r#""command":"make","args":["all"]"#);

/// Returns an editor that serves host calls, while a turn runs.
pub fn working(s: &mut Stage) -> usize {
    let who = Stage::at_work(WORKER, s);
    s.then(|scene| {
        scene.prompt("do it");
    });
    who
}

/// The agent sends a request.
pub fn calls(s: &mut Stage, id: u32, (method, members): (&str, &str)) {
    let params = format!(r#"{{"sessionId":"s-1",{members}}}"#);
    s.then(|scene| scene.calls(&id.to_string(), method, &params));
}

/// Returns the ids and methods of the agent's requests that an editor received.
pub fn asked(s: &Stage, who: usize) -> Vec<(String, String)> {
    let of_agent = s.editors[who].got.iter().filter_map(|message| {
        let id = message["id"].as_str()?.strip_prefix("call_")?;
        Some((format!("call_{id}"), message["method"].as_str()?.to_owned()))
    });
    of_agent.collect()
}

/// An editor responds to its last request.
pub fn answers(s: &mut Stage, who: usize, kind: &str) {
    let (id, _) = asked(s, who).pop().expect("it was asked");
    s.says(who, &format!(r#"{{"jsonrpc":"2.0","id":"{id}",{kind}}}"#));
}

/// Returns the line of the response to the agent, if any.
pub fn answer(s: &Stage, id: u32) -> Option<String> {
    let mut answers = s
        .scene
        .sent
        .iter()
        .filter(|sent| sent.answers.is_some() && sent.json["id"] == id);
    let found = answers.next().map(|sent| sent.text.clone());
    assert!(answers.next().is_none(), "one answer is enough");
    found
}

pub fn error(s: &Stage, id: u32) -> String {
    let line: Value = serde_json::from_str(&answer(s, id).expect("it is answered")).unwrap();
    line["error"]["message"].as_str().expect("an error").to_owned()
}

#[test]
fn an_answer_that_cannot_be_read_is_an_error_at_once() {
    for kind in [
        r#""result":{"content":"a "b""}"#,
        r#""result":{"content":"#,
        r#""result":{},"result":{}"#,
    ] {
        play(|s| {
            s.strict = false;
            let who = working(s);
            calls(s, 7, READ);
            answers(s, who, kind);
            assert!(
                error(s, 7).contains("the editor's answer cannot be read"),
                "{}",
                error(s, 7)
            );
            s.then(|scene| scene.stops_with("end_turn"));
        });
    }
}

fn by_editor(s: &Stage, wanted: impl Fn(&EventKind) -> bool) -> bool {
    let mut events = s.scene.log.iter().filter(|event| wanted(&event.kind));
    let event = events.next().expect("it is recorded");
    matches!(&event.by, Origin::Client(caller) if caller.client == "worker")
}

#[test]
fn delegated_requests_and_results_pass_unchanged() {
    play(|s| {
        let who = working(s);
        s.then(|scene| {
            let params = r#"{ "n":12345678901234567890123, "sessionId":"s-1","path":"/workspace/a","line":2,"_meta":{"z":1.10,"a":0}}"#;
            scene.calls("5", READ.0, params);
        });
        let text = s.editors[who].texts.last().unwrap();
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":"call_1","method":"fs/read_text_file","params":{{ "n":12345678901234567890123, "sessionId":"{}","path":"/workspace/a","line":2,"_meta":{{"z":1.10,"a":0}}}}}}"#,
            s.session()
        );
        assert_eq!(text, &expected);
        answers(
            s,
            who,
            r#""result":{"z":12345678901234567890123,"content":"é\n","_meta":{"b":1.10}}"#,
        );
        assert_eq!(
            answer(s, 5).unwrap(),
            r#"{"jsonrpc":"2.0","id":5,"result":{"z":12345678901234567890123,"content":"é\n","_meta":{"b":1.10}}}"#
        );
        assert!(by_editor(s, |kind| matches!(
            kind,
            EventKind::Host(HostEvent::FileRead { bytes: 3, .. })
        )));
        assert_eq!(s.scene.params("thread/file/read")[0]["by"]["client"], "worker");
        assert!(s.scene.waiting.is_empty(), "nothing is done here");
    });
}

#[test]
fn an_editors_error_is_passed_to_the_agent() {
    for call in [READ, WRITE, CREATE] {
        play(|s| {
            let who = working(s);
            calls(s, 5, call);
            answers(
                s,
                who,
                r#""error":{"code":-32002,"message":"no","data":{"z":12345678901234567890123,"a":1.10}}"#,
            );
            assert_eq!(
                answer(s, 5).unwrap(),
                r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32002,"message":"no","data":{"z":12345678901234567890123,"a":1.10}}}"#
            );
            assert!(s.scene.waiting.is_empty(), "it is not tried again here");
            assert!(s.scene.params("thread/file/written").is_empty());
            s.then(|scene| scene.stops_with("end_turn"));
        });
    }
}

#[test]
fn a_delegated_write_is_recorded_without_unknown_members() {
    play(|s| {
        let who = working(s);
        calls(s, 5, WRITE);
        answers(s, who, r#""result":null"#);
        assert_eq!(answer(s, 5).unwrap(), r#"{"jsonrpc":"2.0","id":5,"result":{}}"#);
        let done = &s.scene.params("item/fileChange/completed")[0];
        assert_eq!(
            (&done["outcome"], &done["replaced"], &done["by"]["client"]),
            (&json!("completed"), &json!("unknown"), &json!("worker"))
        );
        assert!(done["diff"].as_str().unwrap().contains("written by a client"));
        assert!(by_editor(s, |kind| matches!(
            kind,
            EventKind::Host(HostEvent::FileWritten { bytes: 4, .. })
        )));
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn a_terminal_has_a_name_of_ours_for_the_agent_and_its_own_for_the_editor() {
    play(|s| {
        let who = working(s);
        let other = loads(s, SIMPLE);
        calls(s, 5, CREATE);
        answers(s, who, r#""result":{"terminalId":"term_1","_meta":{"k":1.10}}"#);
        let made: Value = serde_json::from_str(&answer(s, 5).unwrap()).unwrap();
        let ours = made["result"]["terminalId"].as_str().unwrap().to_owned();
        assert!(answer(s, 5).unwrap().contains(r#""_meta":{"k":1.10}"#));
        let shows =
            r#","title":"T","content":[{"type":"terminal","terminalId":"OURS"}]"#.replace("OURS", &ours);
        s.then(|scene| scene.update(&crate::support::tool("t", false, &shows)));
        let shown = |who: usize| {
            let message = s.editors[who].got.last().unwrap();
            message["params"]["update"]["content"][0]["terminalId"].clone()
        };
        assert_eq!((shown(who), shown(other)), (json!("term_1"), Value::Null));
        let named = format!(r#""terminalId":"{ours}""#);
        calls(s, 6, ("terminal/output", &named));
        let request = s.editors[who].got.last().unwrap();
        assert_eq!(request["params"]["terminalId"], "term_1");
        answers(s, who, r#""result":{"output":"one\n","truncated":false}"#);
        calls(s, 7, ("terminal/output", &named));
        answers(
            s,
            who,
            r#""result":{"output":"one\ntwo\n","truncated":false,"exitStatus":null}"#,
        );
        calls(s, 8, ("terminal/wait_for_exit", &named));
        answers(s, who, r#""result":{"exitCode":0,"signal":null}"#);
        calls(s, 12, ("terminal/output", &named));
        answers(s, who, r#""result":{"output":"one\ntwo\n","truncated":false}"#);
        let written = s.scene.params("item/terminalCommand/output");
        let texts: Vec<_> = written
            .iter()
            .map(|params| params["text"].as_str().unwrap())
            .collect();
        assert_eq!(texts.concat(), "one\ntwo\n");
        let ended = &s.scene.params("item/terminalCommand/completed")[0];
        assert_eq!(
            (&ended["exitCode"], &ended["output"], &ended["by"]["client"]),
            (&json!(0), &json!("one\ntwo\n"), &json!("worker"))
        );
        calls(s, 9, ("terminal/kill", &named));
        answers(s, who, r#""result":{}"#);
        calls(s, 10, ("terminal/release", &named));
        answers(s, who, r#""result":{}"#);
        assert_eq!(s.scene.params("thread/terminal/released").len(), 1);
        assert_eq!(asked(s, who).len(), 7);
        // The terminal belongs to no editor any more, and is treated as an unknown one.
        calls(s, 11, ("terminal/output", &named));
        assert!(matches!(s.scene.waiting[0].1, HostCall::TerminalOutput { .. }));
    });
}

#[test]
fn a_terminal_stays_where_it_was_made() {
    play(|s| {
        let first = working(s);
        calls(s, 5, CREATE);
        answers(s, first, r#""result":{"terminalId":"x"}"#);
        let second = loads(s, WORKER);
        s.ask_session(second, "_acpd/lease/acquire", "");
        calls(s, 6, ("terminal/wait_for_exit", r#""terminalId":"term_1""#));
        assert_eq!(asked(s, first).pop().unwrap().1, "terminal/wait_for_exit");
        calls(s, 7, READ);
        assert_eq!(asked(s, second), [("call_1".to_owned(), READ.0.to_owned())]);
    });
}

#[test]
fn the_daemon_runs_callbacks_that_the_editor_did_not_declare() {
    let hello = WORKER.replace(r#""writeTextFile":true"#, r#""writeTextFile":false"#);
    play(|s| {
        let who = Stage::at_work(&hello, s);
        s.then(|scene| {
            scene.prompt("do it");
        });
        calls(s, 5, WRITE);
        assert!(asked(s, who).is_empty());
        assert!(matches!(s.scene.waiting[0].1, HostCall::WriteFile { .. }));
    });
}

/// Editors differ: some run a command without arguments as a program, some as a shell line.
#[test]
fn a_command_for_an_editor_is_judged_in_every_way_to_run_it() {
    play(|s| {
        let policy = json!({ "allow": ["Bash(git *)"], "ask": ["Bash"] });
        s.scene
            .rule(Some(serde_json::from_value::<Policy>(policy).unwrap()));
        let who = working(s);
        calls(s, 7, ("terminal/create", r#""command":"git""#));
        assert_eq!(asked(s, who).len(), 1);
        answers(s, who, r#""result":{"terminalId":"t"}"#);
        calls(s, 8, ("terminal/create", r#""command":"git status""#));
        assert_eq!(asked(s, who).len(), 1);
        assert_eq!(s.scene.thread.live().requests.len(), 1);
    });
}

/// An editor that starts programs could not start a line, so it receives the shell that runs it. The policy then knows what
/// runs.
#[test]
fn a_known_shell_line_reaches_an_editor_as_a_program() {
    play(|s| {
        s.scene.quirks.shell_lines = true;
        let policy = json!({ "allow": ["Bash(git *)"], "ask": ["Bash"] });
        s.scene
            .rule(Some(serde_json::from_value::<Policy>(policy).unwrap()));
        let who = working(s);
        calls(
            s,
            7,
            ("terminal/create", r#""command":"git log | git \"x\"","n":1.10"#),
        );
        assert_eq!(asked(s, who).len(), 1, "nobody was asked");
        let text = s.editors[who].texts.last().unwrap();
        let params = format!(
            r#"{{"sessionId":"{}","command":"/bin/sh","n":1.10,"args":["-c","git log | git \"x\""]}}"#,
            s.session()
        );
        assert!(text.ends_with(&format!(r#""params":{params}}}"#)), "{text}");
        answers(s, who, r#""result":{"terminalId":"t"}"#);
        calls(s, 8, CREATE);
        s.then(|scene| scene.decide(1, Answer::Accept { always: false }).unwrap());
        let text = s.editors[who].texts.last().unwrap();
        assert!(text.contains(r#""command":"make","args":["all"]"#), "{text}");
    });
}

#[test]
fn the_policy_decides_first() {
    play(|s| {
        let policy = json!({ "deny": ["Write", "Bash"] });
        s.scene
            .rule(Some(serde_json::from_value::<Policy>(policy).unwrap()));
        let who = working(s);
        calls(s, 5, WRITE);
        calls(s, 6, CREATE);
        assert!(asked(s, who).is_empty() && s.scene.waiting.is_empty());
        assert!(error(s, 5).contains("not allowed") && error(s, 6).contains("not allowed"));
    });
}

#[test]
fn an_editor_receives_a_callback_after_earlier_updates() {
    play(|s| {
        let who = working(s);
        s.then(|scene| {
            scene.update(&crate::support::tool("t", false, r#","title":"T""#));
            scene.chunk("I read it");
            scene.calls("5", READ.0, r#"{"sessionId":"s-1","path":"/workspace/a"}"#);
        });
        let heard = s.heard(who);
        let last = &heard[heard.len() - 3..];
        assert_eq!(last, ["tool_call", "agent_message_chunk I read it", READ.0]);
    });
}

#[test]
fn odd_answers_of_an_editor_are_errors_and_late_ones_nothing() {
    for (call, odd) in [
        (READ, r#"{"content":7}"#),
        (READ, "null"),
        (WRITE, "true"),
        (CREATE, r#"{"terminalId":7}"#),
        (CREATE, "[]"),
    ] {
        play(|s| {
            let who = working(s);
            calls(s, 5, call);
            answers(s, who, &format!(r#""result":{odd}"#));
            assert!(error(s, 5).starts_with(&format!("worker sent an invalid response to {}", call.0)));
            // Once more, and with unknown ids.
            answers(s, who, r#""result":{"content":"x","terminalId":"x"}"#);
            for id in ["\"call_99\"", "\"call_x\"", "7", "null"] {
                s.says(who, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
            }
            assert!(answer(s, 5).is_some() && s.scene.waiting.is_empty());
            s.then(|scene| scene.stops_with("end_turn"));
        });
    }
    play(|s| {
        let who = working(s);
        calls(s, 5, READ);
        s.says(who, r#"{"id":"call_1"}"#);
        assert!(error(s, 5).contains("neither a result nor an error"));
    });
}

#[test]
fn an_editor_that_never_answers_is_given_up() {
    for (call, why) in [(READ, ""), (WRITE, "not known"), (CREATE, "not known")] {
        play(|s| {
            let who = working(s);
            calls(s, 5, call);
            s.then(|scene| scene.later(EDITOR_ANSWER_SECS * 1000 - 1));
            assert_eq!(answer(s, 5), None);
            s.then(|scene| scene.later(1));
            assert!(error(s, 5).contains("did not answer") && error(s, 5).contains(why));
            assert_eq!(s.heard(who).pop().unwrap(), "$/cancel_request");
            answers(s, who, r#""result":{"content":"late","terminalId":"x"}"#);
            assert!(s.scene.waiting.is_empty());
            s.then(|scene| scene.stops_with("end_turn"));
        });
    }
}

#[test]
fn only_so_many_are_asked_at_once() {
    play(|s| {
        let who = working(s);
        let most = u32::try_from(EDITOR_CALLS).unwrap();
        for id in 0..=most {
            calls(s, 100 + id, READ);
        }
        assert_eq!(asked(s, who).len(), EDITOR_CALLS);
        assert!(error(s, 100 + most).contains("wait for the answer of worker"));
    });
}

#[test]
fn a_withdrawn_callback_is_withdrawn_from_the_editor() {
    play(|s| {
        let who = working(s);
        let cancel = |s: &mut Stage, id: u32| {
            let params = format!(r#"{{"requestId":{id}}}"#);
            s.then(|scene| {
                scene.says(&format!(
                    r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{params}}}"#
                ));
            });
        };
        calls(s, 5, READ);
        cancel(s, 5);
        assert_eq!(
            s.editors[who].got.last().unwrap()["params"]["requestId"],
            "call_1"
        );
        answers(s, who, r#""result":{"content":"x"}"#);
        assert!(s.scene.params("thread/file/read").is_empty());
        // The write may have succeeded nevertheless, and is recorded then.
        calls(s, 6, WRITE);
        cancel(s, 6);
        answers(s, who, r#""result":{}"#);
        assert_eq!(s.scene.params("thread/file/written").len(), 1);
        // This terminal is unknown.
        calls(s, 7, CREATE);
        cancel(s, 7);
        answers(s, who, r#""result":{"terminalId":"x"}"#);
        let last = s.editors[who].got.last().unwrap();
        assert_eq!(
            (&last["method"], &last["params"]["terminalId"]),
            (&json!("terminal/release"), &json!("x"))
        );
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn an_agent_that_dies_leaves_nothing_running_in_an_editor() {
    play(|s| {
        let who = working(s);
        calls(s, 5, CREATE);
        answers(s, who, r#""result":{"terminalId":"x"}"#);
        calls(s, 6, READ);
        let before = s.count(who);
        s.then(|scene| scene.exits("it crashed"));
        answers(s, who, r#""result":{"output":"","truncated":false}"#);
        let heard = s.heard_from(who, before);
        assert_eq!(heard, ["$/cancel_request", "terminal/output", "terminal/release"]);
        assert_eq!(s.scene.params("item/terminalCommand/completed").len(), 1);
    });
}

#[test]
fn an_extension_goes_to_the_holder_or_else_to_the_first_editor() {
    let ask = ("_vendor/pick", r#""n":12345678901234567890123"#);
    play(|s| {
        let first = Stage::at_work(SIMPLE, s);
        calls(s, 5, ask);
        let text = s.editors[first].texts.last().unwrap();
        assert!(
            text.contains(r#""n":12345678901234567890123"#) && text.contains(&s.session()),
            "{text}"
        );
        answers(s, first, r#""result":[1.10]"#);
        assert_eq!(
            answer(s, 5).unwrap(),
            r#"{"jsonrpc":"2.0","id":5,"result":[1.10]}"#
        );
        let holder = loads(s, WORKER);
        calls(s, 6, ask);
        answers(s, holder, r#""error":{"code":-32601,"message":"what?"}"#);
        assert_eq!(error(s, 6), "what?");
        s.kill(first);
        s.kill(holder);
        calls(s, 7, ask);
        assert_eq!(error(s, 7), "method not found: _vendor/pick");
    });
}
