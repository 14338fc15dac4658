//! An editor disconnects before a request, during it, and after its response, for each of ACP's callbacks. This never
//! approves a request, and never repeats an action.

use acpd_model::event::Outcome;
use acpd_model::{EventKind, PreviousContent, RequestEvent};
use acpd_proto::thread::HostReply;
use serde_json::{Value, json};

use super::delegated::{CREATE, READ, WRITE, answer, answers, asked, calls, error, working};
use super::lease::loads;
use super::stage::{SIMPLE, Stage, play};

/// A callback, the editor's response, and the host's reply.
type Case = ((&'static str, &'static str), &'static str, fn() -> HostReply);

const FILES: [Case; 3] = [
    (READ, r#"{"content":"theirs"}"#, || HostReply::Read {
        content: "ours".into(),
    }),
    (WRITE, "{}", || HostReply::Written {
        old: PreviousContent::Nothing,
    }),
    (CREATE, r#"{"terminalId":"x"}"#, || HostReply::Created),
];

fn over(s: &mut Stage) {
    assert!(s.scene.waiting.is_empty(), "nothing is done a second time");
    s.then(|scene| scene.stops_with("end_turn"));
}

#[test]
fn before_it_was_asked_it_is_done_here() {
    for (call, _, here) in FILES {
        play(|s| {
            let who = working(s);
            s.editors[who].hears = false;
            calls(s, 5, call);
            assert!(s.scene.waiting.is_empty() && answer(s, 5).is_none());
            s.kill(who);
            assert_eq!(s.scene.waiting.len(), 1);
            s.then(|scene| scene.host_replies(Ok(here())));
            let line: Value = serde_json::from_str(&answer(s, 5).unwrap()).unwrap();
            assert!(line["result"].is_object(), "{line}");
            assert!(asked(s, who).is_empty());
            over(s);
        });
    }
}

#[test]
fn while_it_was_at_it_only_a_read_is_done_again() {
    for (call, _, here) in FILES {
        play(|s| {
            let who = working(s);
            calls(s, 5, call);
            assert_eq!(asked(s, who).len(), 1);
            s.kill(who);
            if call == READ {
                s.then(|scene| scene.host_replies(Ok(here())));
                assert!(answer(s, 5).unwrap().contains("ours"));
            } else {
                assert!(error(s, 5).contains("it is not known whether"), "{}", error(s, 5));
            }
            // The response is too late.
            answers(s, who, r#""result":{"content":"late","terminalId":"x"}"#);
            over(s);
            let changes = s.scene.params("item/fileChange/completed");
            assert!(changes.iter().all(|change| change["outcome"] == "failed"));
        });
    }
}

#[test]
fn after_its_answer_nothing_changes() {
    for (call, result, _) in FILES {
        play(|s| {
            let who = working(s);
            calls(s, 5, call);
            answers(s, who, &format!(r#""result":{result}"#));
            let before = answer(s, 5).unwrap();
            assert!(before.contains(r#""result""#));
            s.kill(who);
            assert_eq!(answer(s, 5).unwrap(), before);
            over(s);
        });
    }
}

/// Returns an editor with a terminal.
fn with_terminal(s: &mut Stage) -> usize {
    let who = working(s);
    calls(s, 5, CREATE);
    answers(s, who, r#""result":{"terminalId":"x"}"#);
    who
}

#[test]
fn a_terminal_that_is_lost_has_ended() {
    for verb in ["output", "wait_for_exit", "kill", "release"] {
        let method = format!("terminal/{verb}");
        let call = (method.as_str(), r#""terminalId":"term_1""#);
        let check = |s: &Stage| {
            let line: Value = serde_json::from_str(&answer(s, 6).unwrap()).unwrap();
            let result = &line["result"];
            match verb {
                "output" => {
                    assert_eq!(
                        result["exitStatus"],
                        json!({ "exitCode": null, "signal": "SIGHUP" })
                    );
                    assert_eq!(result["truncated"], true);
                }
                "wait_for_exit" => assert_eq!(result["signal"], "SIGHUP"),
                _ => assert_eq!(*result, json!({})),
            }
            if verb != "kill" && verb != "release" {
                assert!(
                    result["_meta"]["acpd"]["lost"]
                        .as_str()
                        .unwrap()
                        .contains("worker")
                );
            }
            let ended = s.scene.params("item/terminalCommand/completed");
            assert_eq!((ended.len(), &ended[0]["outcome"]), (1, &json!("interrupted")));
        };
        // The editor disconnects long before the request, just before it, and during it.
        play(|s| {
            let who = with_terminal(s);
            s.kill(who);
            calls(s, 6, call);
            check(s);
            over(s);
        });
        play(|s| {
            let who = with_terminal(s);
            s.editors[who].hears = false;
            calls(s, 6, call);
            s.kill(who);
            check(s);
            over(s);
        });
        play(|s| {
            let who = with_terminal(s);
            calls(s, 6, call);
            assert_eq!(asked(s, who).len(), 2);
            s.kill(who);
            check(s);
            answers(
                s,
                who,
                r#""result":{"output":"late","truncated":false,"exitCode":0}"#,
            );
            over(s);
        });
        // The editor disconnects after its response.
        play(|s| {
            let who = with_terminal(s);
            calls(s, 6, call);
            let result = r#"{"output":"o","truncated":false,"exitStatus":{"exitCode":3},"exitCode":3}"#;
            if verb == "release" {
                // The daemon first requests the output.
                answers(s, who, r#""result":{"output":"o","truncated":false}"#);
            }
            answers(s, who, &format!(r#""result":{result}"#));
            let before = answer(s, 6).unwrap();
            assert!(before.contains(result), "{before}");
            s.kill(who);
            assert_eq!(answer(s, 6).unwrap(), before);
            over(s);
        });
    }
}

fn outcomes(s: &Stage) -> Vec<Outcome> {
    let settled = s.scene.kinds().filter_map(|kind| match kind {
        EventKind::Request(RequestEvent::Settled { outcome, .. }) => Some(outcome.clone()),
        _ => None,
    });
    settled.collect()
}

fn says_yes(s: &mut Stage, who: usize) {
    let question = s.editors[who]
        .got
        .iter()
        .rfind(|message| message["method"] == "session/request_permission")
        .expect("it was asked");
    let id = question["id"].clone();
    s.says(
        who,
        &format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"outcome":{{"outcome":"selected","optionId":"2"}}}}}}"#
        ),
    );
}

#[test]
fn a_permission_request_waits_for_another_editor() {
    // Before the request and during it: the loss decides nothing.
    for early in [true, false] {
        play(|s| {
            let who = working(s);
            if early {
                s.kill(who);
            }
            s.then(|scene| scene.asks_permission("5", "t"));
            if !early {
                s.kill(who);
            }
            assert!(outcomes(s).is_empty() && answer(s, 5).is_none());
            let other = loads(s, SIMPLE);
            says_yes(s, other);
            assert_eq!(outcomes(s).len(), 1);
            over(s);
        });
    }
    play(|s| {
        let who = working(s);
        s.then(|scene| scene.asks_permission("5", "t"));
        says_yes(s, who);
        let before = answer(s, 5).unwrap();
        s.kill(who);
        assert_eq!((answer(s, 5).unwrap(), outcomes(s).len()), (before, 1));
        over(s);
    });
}

#[test]
fn an_update_reaches_the_log_and_the_others() {
    play(|s| {
        let who = working(s);
        let other = loads(s, SIMPLE);
        s.then(|scene| scene.chunk("one "));
        s.kill(who);
        s.then(|scene| {
            scene.chunk("two");
            scene.stops_with("end_turn");
        });
        let later = loads(s, SIMPLE);
        for who in [other, later] {
            let said = |heard: String| heard.strip_prefix("agent_message_chunk ").map(str::to_owned);
            let said: Vec<String> = s.heard(who).into_iter().filter_map(said).collect();
            assert_eq!(said.concat(), "one two");
        }
    });
}

#[test]
fn an_unsent_callback_goes_to_the_next_holder_once() {
    play(|s| {
        let first = working(s);
        let second = loads(s, super::stage::WORKER);
        s.editors[first].hears = false;
        calls(s, 5, WRITE);
        s.kill(first);
        // The host already executes this call. The second editor's lease applies to later calls.
        s.then(|scene| {
            scene.host_replies(Ok(HostReply::Written {
                old: PreviousContent::Nothing,
            }))
        });
        assert!(asked(s, second).is_empty());
        calls(s, 6, READ);
        assert_eq!(asked(s, second).len(), 1);
        over(s);
    });
}
