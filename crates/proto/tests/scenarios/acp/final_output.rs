//! The final output of commands that run in an editor.

use acpd_model::limits::{EDITOR_ANSWER_SECS, TERMINALS};
use acpd_proto::thread::Command;
use serde_json::{Value, json};

use super::delegated::{CREATE, answer, answers, asked, calls, working};
use super::stage::{Stage, play};

const OUTPUT: &str = "terminal/output";
const WAIT: &str = "terminal/wait_for_exit";
const RELEASE: &str = "terminal/release";
const NAMED: &str = r#""terminalId":"term_1""#;
const EXITED: &str = r#""result":{"exitCode":0,"signal":null}"#;
const WROTE: &str = r#""result":{"output":"value-42\n","truncated":false}"#;

/// Returns an editor with a terminal.
fn with_terminal(s: &mut Stage) -> usize {
    let who = working(s);
    calls(s, 5, CREATE);
    answers(s, who, r#""result":{"terminalId":"x"}"#);
    who
}

/// Returns an editor with a terminal whose command has exited.
fn exited(s: &mut Stage) -> usize {
    let who = with_terminal(s);
    calls(s, 6, (WAIT, NAMED));
    answers(s, who, EXITED);
    assert!(answer(s, 6).unwrap().contains(r#""exitCode":0"#));
    assert_eq!(ended(s), [], "its output is not known");
    who
}

/// Returns how terminals ended: outcome, output, and whether the output is truncated.
fn ended(s: &Stage) -> Vec<(String, String, bool)> {
    let done = s.scene.params("item/terminalCommand/completed");
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    done.iter()
        .map(|end| {
            (
                word(&end["outcome"]),
                word(&end["output"]),
                end["truncated"] == true,
            )
        })
        .collect()
}

fn end(outcome: &str, output: &str, truncated: bool) -> (String, String, bool) {
    (outcome.to_owned(), output.to_owned(), truncated)
}

fn whole() -> [(String, String, bool); 1] {
    [end("completed", "value-42\n", false)]
}

/// Returns the method of the last request to the editor.
fn last_asked(s: &Stage, who: usize) -> String {
    asked(s, who).pop().unwrap().1
}

/// Returns the methods of the events from the end of the terminal's item on.
fn after_its_end(s: &Stage) -> Vec<&str> {
    let methods = s.scene.frames.iter().map(|frame| frame.method);
    methods
        .skip_while(|method| *method != "item/terminalCommand/completed")
        .collect()
}

/// Observed with kimi and crow.
#[test]
fn output_that_the_agent_requests_after_the_exit_is_recorded() {
    play(|s| {
        let who = exited(s);
        calls(s, 7, (OUTPUT, NAMED));
        answers(s, who, WROTE);
        assert_eq!(ended(s), whole());
        let written = s.scene.params("item/terminalCommand/output");
        assert_eq!(written[0]["text"], "value-42\n");
        calls(s, 8, (RELEASE, NAMED));
        assert_eq!(last_asked(s, who), RELEASE, "nothing more is asked");
        answers(s, who, r#""result":{}"#);
        assert_eq!(after_its_end(s).last(), Some(&"thread/terminal/released"));
        s.then(|scene| scene.stops_with("end_turn"));
        assert_eq!(asked(s, who).len(), 4);
    });
}

#[test]
fn a_terminal_is_read_before_it_is_released() {
    play(|s| {
        let who = exited(s);
        calls(s, 7, (RELEASE, NAMED));
        assert_eq!(last_asked(s, who), OUTPUT);
        let request = s.editors[who].got.last().unwrap()["params"].clone();
        assert_eq!(request, json!({ "sessionId": s.session(), "terminalId": "x" }));
        assert_eq!(answer(s, 7), None);
        answers(s, who, WROTE);
        assert_eq!(ended(s), whole());
        assert_eq!(last_asked(s, who), RELEASE);
        answers(s, who, r#""result":{}"#);
        assert!(answer(s, 7).unwrap().contains(r#""result""#));
        let after = after_its_end(s);
        assert_eq!(
            after[..2],
            ["item/terminalCommand/completed", "thread/terminal/released"]
        );
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn a_release_waits_no_longer_than_an_editor_may_take() {
    for given_up in [true, false] {
        play(|s| {
            let who = exited(s);
            calls(s, 7, (RELEASE, NAMED));
            if given_up {
                s.then(|scene| scene.later(EDITOR_ANSWER_SECS * 1000 - 1));
                assert_eq!(ended(s), []);
                s.then(|scene| scene.later(1));
            } else {
                answers(s, who, r#""error":{"code":-32603,"message":"no"}"#);
            }
            assert_eq!(ended(s), [end("completed", "", true)]);
            assert_eq!(last_asked(s, who), RELEASE);
            answers(s, who, r#""result":{}"#);
            assert!(answer(s, 7).unwrap().contains(r#""result""#));
            s.then(|scene| scene.stops_with("end_turn"));
        });
    }
}

#[test]
fn a_release_records_the_exit_of_a_command_without_a_waiter() {
    for (status, expected) in [
        (r#"{"exitCode":3}"#, end("failed", "value-42\n", false)),
        ("null", end("interrupted", "value-42\n", true)),
    ] {
        play(|s| {
            let who = with_terminal(s);
            calls(s, 7, (RELEASE, NAMED));
            let wrote =
                format!(r#""result":{{"output":"value-42\n","truncated":false,"exitStatus":{status}}}"#);
            answers(s, who, &wrote);
            assert_eq!(last_asked(s, who), RELEASE);
            answers(s, who, r#""result":{}"#);
            assert_eq!(ended(s), [expected]);
            s.then(|scene| scene.stops_with("end_turn"));
        });
    }
}

#[test]
fn a_release_that_the_agent_takes_back_is_not_passed_on() {
    play(|s| {
        let who = exited(s);
        calls(s, 7, (RELEASE, NAMED));
        let cancel = r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}"#;
        s.then(|scene| scene.says(cancel));
        answers(s, who, WROTE);
        assert_eq!(
            (ended(s), last_asked(s, who)),
            (whole().into(), OUTPUT.to_owned())
        );
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn an_output_from_before_the_exit_is_not_the_last() {
    play(|s| {
        let who = with_terminal(s);
        calls(s, 6, (OUTPUT, NAMED));
        let early = asked(s, who).pop().unwrap().0;
        calls(s, 7, (WAIT, NAMED));
        answers(s, who, EXITED);
        s.says(
            who,
            &format!(r#"{{"jsonrpc":"2.0","id":"{early}","result":{{"output":"value","truncated":false}}}}"#),
        );
        assert!(answer(s, 6).is_some());
        assert_eq!(ended(s), []);
        calls(s, 8, (OUTPUT, NAMED));
        answers(s, who, WROTE);
        assert_eq!(ended(s), whole());
        let written = s.scene.params("item/terminalCommand/output");
        let texts: Vec<_> = written.iter().map(|params| params["text"].clone()).collect();
        assert_eq!(texts, ["value", "-42\n"]);
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn a_terminal_that_is_still_unread_is_read_when_the_turn_is_over() {
    play(|s| {
        let who = exited(s);
        assert!(!s.scene.thread.has_pending_work());
        s.then(|scene| scene.stops_with("end_turn"));
        assert_eq!(last_asked(s, who), OUTPUT);
        assert!(
            s.scene.thread.has_pending_work(),
            "the thread does not sleep before it has the answer"
        );
        answers(s, who, WROTE);
        assert_eq!(ended(s), whole());
        assert!(!s.scene.thread.has_pending_work());
        // The daemon does not release the terminal twice.
        s.then(|scene| {
            scene.prompt("more");
            scene.stops_with("end_turn");
        });
        assert_eq!(asked(s, who).len(), 3);
    });
}

#[test]
fn a_terminal_is_read_before_it_is_ended_for_an_exited_agent() {
    for (call, expected) in [
        (Some(EXITED), end("completed", "value-42\n", false)),
        (None, end("interrupted", "value-42\n", true)),
    ] {
        play(|s| {
            let who = with_terminal(s);
            if let Some(result) = call {
                calls(s, 6, (WAIT, NAMED));
                answers(s, who, result);
            }
            s.then(|scene| scene.exits("it crashed"));
            assert_eq!(last_asked(s, who), OUTPUT);
            assert_eq!(ended(s), []);
            answers(s, who, WROTE);
            assert_eq!(ended(s), [expected]);
            assert_eq!(s.heard(who).pop().unwrap(), RELEASE);
            assert!(!s.scene.thread.has_pending_work());
        });
    }
    play(|s| {
        let who = exited(s);
        s.then(|scene| scene.exits("it crashed"));
        s.then(|scene| scene.later(EDITOR_ANSWER_SECS * 1000));
        assert_eq!(ended(s), [end("completed", "", true)]);
        assert_eq!(s.heard(who).pop().unwrap(), RELEASE);
    });
}

#[test]
fn a_release_that_waits_is_dropped_with_its_agent() {
    play(|s| {
        let who = exited(s);
        calls(s, 7, (RELEASE, NAMED));
        s.then(|scene| scene.exits("it crashed"));
        // The next process does not know the terminal, and receives no response for it.
        s.then(|scene| {
            scene.prompt("more");
            scene.answer("initialize", r#"{"protocolVersion":1,"agentCapabilities":{}}"#);
            scene.answer("session/new", r#"{"sessionId":"s-1"}"#);
        });
        calls(s, 8, (OUTPUT, NAMED));
        assert_eq!(s.scene.waiting.len(), 1, "it is nobody's");
        s.scene.waiting.clear();
        answers(s, who, WROTE);
        assert_eq!(ended(s), whole());
        assert_eq!(s.heard(who).iter().filter(|heard| *heard == RELEASE).count(), 1);
        assert_eq!(answer(s, 7), None);
        assert!(s.scene.params("thread/terminal/released").is_empty());
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn several_releases_of_one_terminal_ask_once() {
    play(|s| {
        let who = exited(s);
        calls(s, 7, (RELEASE, NAMED));
        calls(s, 8, (RELEASE, NAMED));
        answers(s, who, WROTE);
        let methods: Vec<_> = asked(s, who).into_iter().map(|(_, method)| method).collect();
        assert_eq!(methods[2..], [OUTPUT, RELEASE, RELEASE]);
        answers(s, who, r#""result":{}"#);
        assert_eq!((ended(s), answer(s, 8).is_some()), (whole().into(), true));
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn a_lost_editor_ends_the_terminal_with_the_known_output() {
    for releases in [true, false] {
        play(|s| {
            let who = exited(s);
            if releases {
                calls(s, 7, (RELEASE, NAMED));
            }
            s.kill(who);
            assert_eq!(ended(s), [end("completed", "", true)]);
            assert_eq!(answer(s, 7).is_some(), releases);
            s.then(|scene| scene.stops_with("end_turn"));
            assert!(!s.scene.thread.has_pending_work());
        });
    }
    play(|s| {
        let who = exited(s);
        s.then(|scene| scene.exits("it crashed"));
        s.kill(who);
        assert_eq!(ended(s), [end("completed", "", true)]);
        assert!(!s.scene.thread.has_pending_work());
    });
}

#[test]
fn nothing_follows_when_the_thread_is_deleted_or_the_daemon_stops() {
    play(|s| {
        let who = exited(s);
        s.then(|scene| scene.stops_with("end_turn"));
        s.then(|scene| {
            scene.send(Command::Delete);
        });
        assert_eq!(ended(s), [end("completed", "", true)]);
        let heard = s.heard(who);
        assert_eq!(heard[heard.len() - 2..], ["$/cancel_request", RELEASE]);
        let events = s.scene.log.len();
        answers(s, who, WROTE);
        assert_eq!(s.scene.log.len(), events);
    });
    play(|s| {
        let who = exited(s);
        s.then(|scene| {
            scene.send(Command::Stop);
        });
        assert_eq!(ended(s), [end("completed", "", true)]);
        assert_eq!(s.heard(who).pop().unwrap(), RELEASE);
        assert!(!s.scene.thread.has_pending_work());
        s.then(|scene| scene.exits("it was stopped"));
        let methods = asked(s, who);
        assert!(
            methods.iter().all(|(_, method)| method != OUTPUT),
            "it is not asked for it"
        );
    });
}

#[test]
fn a_roll_back_waits_for_no_output() {
    play(|s| {
        let who = exited(s);
        s.then(|scene| scene.stops_with("end_turn"));
        assert_eq!(last_asked(s, who), OUTPUT);
        s.then(|scene| {
            scene.ask(Command::RollBack { last_kept: None }).unwrap();
        });
        assert_eq!(ended(s), [end("completed", "", true)]);
        answers(s, who, WROTE);
        s.then(|scene| scene.exits("it was stopped"));
        assert_eq!(ended(s).len(), 1);
        assert_eq!(s.heard(who).pop().unwrap(), RELEASE);
    });
}

#[test]
fn unread_ended_terminals_are_bounded() {
    play(|s| {
        let who = working(s);
        let most = u32::try_from(TERMINALS).unwrap() + 2;
        for at in 0..most {
            calls(s, 100 + 2 * at, CREATE);
            answers(s, who, &format!(r#""result":{{"terminalId":"x{at}"}}"#));
            let made: Value = serde_json::from_str(&answer(s, 100 + 2 * at).unwrap()).unwrap();
            let name = made["result"]["terminalId"]
                .as_str()
                .expect("it is made")
                .to_owned();
            calls(s, 101 + 2 * at, (WAIT, &format!(r#""terminalId":"{name}""#)));
            answers(s, who, EXITED);
        }
        assert_eq!(ended(s), [end("completed", "", true), end("completed", "", true)]);
        let before = asked(s, who).len();
        s.then(|scene| scene.stops_with("end_turn"));
        assert_eq!(asked(s, who).len() - before, TERMINALS);
        s.then(|scene| scene.later(EDITOR_ANSWER_SECS * 1000));
        assert_eq!(ended(s).len(), TERMINALS + 2);
    });
}
