//! Terminals of an agent that the daemon runs.

use acpd_model::limits::{RUNNING_OUTPUT_BYTES, TERMINAL_BYTES, TERMINAL_BYTES_MAX, TERMINALS};
use acpd_model::{EventKind, Failure, HostEvent, ItemEnd};
use acpd_proto::agent::TerminalExit;
use acpd_proto::projection::extract;
use acpd_proto::thread::{HostCall, HostReply, Input, TerminalEvent};
use serde_json::{Value, json};

use crate::support::{Scene, check, check_in};

pub fn exit(code: i32) -> TerminalExit {
    TerminalExit {
        code: Some(code),
        signal: None,
    }
}

pub fn create(scene: &mut Scene, id: u32) {
    scene.script.push_back(Ok(HostReply::Created));
    let params = r#"{"sessionId":"s-1","command":"sh","args":["-c","ls"],"env":[{"name":"A","value":"1"}],"cwd":"/workspace/sub","outputByteLimit":100}"#;
    scene.calls(&id.to_string(), "terminal/create", params);
}

pub fn terminal(scene: &mut Scene, id: u32, verb: &str, terminal_id: &str) {
    scene.calls(
        &id.to_string(),
        &format!("terminal/{verb}"),
        &format!(r#"{{"sessionId":"s-1","terminalId":"{terminal_id}"}}"#),
    );
}

#[test]
fn a_command_from_its_start_to_its_release() {
    check(|s| {
        s.open_turn();
        create(s, 5);
        let id = s.answer_to(&json!(5))["result"]["terminalId"]
            .as_str()
            .unwrap()
            .to_owned();
        let started = &s.params("item/terminalCommand/started")[0];
        assert_eq!(
            (&started["command"], &started["args"], &started["cwd"]),
            (&json!("sh"), &json!(["-c", "ls"]), &json!("/workspace/sub"))
        );
        s.terminal_says(&id, TerminalEvent::Output("one\n".into()));
        s.script.push_back(Ok(HostReply::Output {
            output: "one\n".into(),
            truncated: false,
            exit: None,
        }));
        terminal(s, 6, "output", &id);
        assert_eq!(
            s.answer_to(&json!(6))["result"],
            json!({ "output": "one\n", "truncated": false, "exitStatus": null })
        );
        terminal(s, 7, "wait_for_exit", &id);
        s.terminal_says(
            &id,
            TerminalEvent::Exited {
                exit: exit(3),
                output: "one\ntwo\n".into(),
                truncated: true,
            },
        );
        s.host_replies(Ok(HostReply::Exited(exit(3))));
        assert_eq!(
            s.answer_to(&json!(7))["result"],
            json!({ "exitCode": 3, "signal": null })
        );
        let done = &s.params("item/terminalCommand/completed")[0];
        assert_eq!(
            (&done["exitCode"], &done["outcome"]),
            (&json!(3), &json!("failed"))
        );
        assert_eq!(
            (&done["output"], &done["truncated"]),
            (&json!("one\ntwo\n"), &json!(true))
        );
        for (id, verb) in [(8, "kill"), (9, "release")] {
            s.script.push_back(Ok(HostReply::Done));
            terminal(s, id, verb, "term_1");
            assert_eq!(s.answer_to(&json!(id))["result"], json!({}));
        }
        s.stops_with("end_turn");
    });
}

#[test]
fn polling_a_terminal_is_not_recorded_again_and_again() {
    check(|s| {
        s.open_turn();
        create(s, 5);
        let before = s.log.len();
        s.machine = Some(|_| HostReply::Output {
            output: "same".into(),
            truncated: false,
            exit: Some(exit(0)),
        });
        for id in 10..60 {
            terminal(s, id, "output", "term_1");
        }
        assert_eq!(s.log.len(), before);
        s.stops_with("end_turn");
    });
}

#[test]
fn omitted_params_have_defaults() {
    check(|s| {
        s.open_turn();
        for (id, more) in [
            (5, ""),
            (6, r#","args":null,"env":null,"cwd":null,"outputByteLimit":null"#),
        ] {
            s.calls(
                &format!("{id}"),
                "terminal/create",
                &format!(r#"{{"sessionId":"s-1","command":"ls -l | wc"{more}}}"#),
            );
            let HostCall::CreateTerminal {
                command,
                args,
                cwd,
                output_bytes,
                ..
            } = &s.waiting[0].1
            else {
                panic!("{:?}", s.waiting)
            };
            assert_eq!(
                (command.as_str(), args.len(), cwd.as_str()),
                ("ls -l | wc", 0, "/workspace")
            );
            assert_eq!(*output_bytes, TERMINAL_BYTES);
            s.host_replies(Ok(HostReply::Created));
        }
        let greedy = r#"{"sessionId":"s-1","command":"x","outputByteLimit":18446744073709551615}"#;
        s.calls("7", "terminal/create", greedy);
        assert!(
            matches!(s.waiting[0].1, HostCall::CreateTerminal { output_bytes, .. } if output_bytes == TERMINAL_BYTES_MAX)
        );
        s.host_replies(Ok(HostReply::Created));
        s.stops_with("end_turn");
    });
}

/// 64 terminals of 10 MiB would use 640 MiB.
#[test]
fn the_output_of_all_terminals_is_bounded() {
    check(|s| {
        s.open_turn();
        let mut kept = Vec::new();
        for call in 0..TERMINALS {
            let params = r#"{"sessionId":"s-1","command":"yes","outputByteLimit":10485760}"#;
            s.calls(&call.to_string(), "terminal/create", params);
            let Some((_, HostCall::CreateTerminal { output_bytes, .. })) = s.waiting.last() else {
                panic!("no terminal")
            };
            kept.push(*output_bytes);
            s.host_replies(Ok(HostReply::Created));
        }
        assert_eq!(kept[..6], [TERMINAL_BYTES_MAX; 6]);
        assert_eq!(kept[TERMINALS - 1], TERMINAL_BYTES);
        assert!(kept.iter().sum::<usize>() <= RUNNING_OUTPUT_BYTES + TERMINALS * TERMINAL_BYTES);
        // A terminal whose command has exited frees room for the next.
        let exited = TerminalEvent::Exited {
            exit: TerminalExit::default(),
            output: String::new(),
            truncated: false,
        };
        for terminal in 1..=TERMINALS {
            s.terminal_says(&format!("term_{terminal}"), exited.clone());
        }
        s.calls(
            "\"x\"",
            "terminal/create",
            r#"{"sessionId":"s-1","command":"yes","outputByteLimit":10485760}"#,
        );
        assert!(
            matches!(s.waiting.last(), Some((_, HostCall::CreateTerminal { output_bytes, .. })) if *output_bytes == TERMINAL_BYTES_MAX)
        );
        s.host_replies(Ok(HostReply::Created));
        s.terminal_says(&format!("term_{}", TERMINALS + 1), exited);
        s.stops_with("end_turn");
    });
}

#[test]
fn a_terminal_outlives_its_turn_but_not_its_agent() {
    check(|s| {
        s.open_turn();
        create(s, 5);
        s.stops_with("end_turn");
        assert!(s.params("item/terminalCommand/completed").is_empty());
        s.terminal_says("term_1", TerminalEvent::Output("tick".into()));
        assert_eq!(s.params("item/terminalCommand/output").len(), 1);
        s.exits("exit status 0");
        assert_eq!(s.params("item/terminalCommand/completed").len(), 1);
        s.terminal_says("term_1", TerminalEvent::Output("ghost".into()));
        assert_eq!(s.params("item/terminalCommand/output").len(), 1);
    });
}

#[test]
fn signals_are_failures() {
    check(|s| {
        s.open_turn();
        create(s, 5);
        s.terminal_says(
            "term_1",
            TerminalEvent::Exited {
                exit: TerminalExit {
                    code: None,
                    signal: Some("SIGKILL".into()),
                },
                output: String::new(),
                truncated: false,
            },
        );
        let done = &s.params("item/terminalCommand/completed")[0];
        assert_eq!(
            (&done["outcome"], &done["signal"]),
            (&json!("failed"), &json!("SIGKILL"))
        );
        s.stops_with("end_turn");
    });
}

fn outputs(s: &Scene) -> Vec<String> {
    let text = |kind: &EventKind| match kind {
        EventKind::Host(HostEvent::TerminalOutput { text, .. }) => Some(text.clone()),
        _ => None,
    };
    s.kinds().filter_map(text).collect()
}

fn running(s: &mut Scene, limit: &str) {
    s.open_turn();
    s.calls(
        "1",
        "terminal/create",
        &format!(r#"{{"sessionId":"s-1","command":"yes"{limit}}}"#),
    );
    s.host_replies(Ok(HostReply::Created));
}

#[test]
fn output_is_merged_like_deltas() {
    check(|s| {
        running(s, "");
        for text in ["a", "b", "c"] {
            s.terminal_says("term_1", TerminalEvent::Output(text.into()));
        }
        assert_eq!(outputs(s), ["a"], "the first at once");
        s.later(10);
        assert_eq!(outputs(s), ["a", "bc"]);
        s.terminal_says("term_1", TerminalEvent::Output("d".into()));
        s.chunk("meanwhile");
        assert_eq!(outputs(s), ["a", "bc", "d"], "before anything else");
        s.stops_with("end_turn");
        s.exits("exit status 0");
    });
}

#[test]
fn endless_output_fills_neither_memory_nor_the_log() {
    check(|s| {
        running(s, r#","outputByteLimit":5000"#);
        let before = s.log.len();
        for _ in 0..1000 {
            s.terminal_says("term_1", TerminalEvent::Output("y".repeat(4000)));
        }
        assert!(s.shown.is_empty());
        s.later(100);
        assert_eq!(outputs(s).concat().len(), 8000, "what passes the limit is whole");
        assert_eq!(s.log.len(), before + 2);
        assert_eq!(s.shown.len(), 1);
        let shown: Value = serde_json::from_slice(&s.shown[0].text).unwrap();
        let params = &shown["params"];
        assert_eq!(shown["method"], "item/terminalCommand/output");
        assert_eq!(
            (&params["terminalId"], &params["turnId"]),
            (&"term_1".into(), &"turn_1".into())
        );
        assert!(params.get("seq").is_none(), "it is in no log");
        let text = params["text"].as_str().unwrap().len() as u64;
        assert_eq!(text + params["skippedBytes"].as_u64().unwrap(), 998 * 4000);
        s.terminal_says("term_1", TerminalEvent::Output("the end".into()));
        let exited = TerminalEvent::Exited {
            exit: TerminalExit::default(),
            output: "…the end".into(),
            truncated: true,
        };
        s.terminal_says("term_1", exited);
        assert_eq!(s.shown.len(), 2, "what was held comes before the end");
        assert_eq!(
            s.params("item/terminalCommand/completed")[0]["output"],
            "…the end"
        );
        s.stops_with("end_turn");
    });
}

#[test]
fn long_output_is_a_blob_and_the_event_has_its_end() {
    use acpd_model::BlobId;
    use acpd_model::limits::{INLINE_BYTES, TERMINAL_PREVIEW_BYTES};
    for bytes in [INLINE_BYTES, 3 * INLINE_BYTES] {
        check(|s| {
            running(s, "");
            let all = "é".repeat(bytes / 2 - 1) + "\r\n";
            let terminal_id = s.params("item/terminalCommand/started").last().unwrap()["terminalId"].clone();
            let exited = TerminalEvent::Exited {
                exit: exit(0),
                output: all.clone(),
                truncated: false,
            };
            s.terminal_says(terminal_id.as_str().unwrap(), exited);
            let notified = s.params("item/terminalCommand/completed").pop().unwrap();
            let end = notified["output"].as_str().unwrap();
            assert_eq!(notified["truncated"], false, "all of it was kept");
            if bytes > INLINE_BYTES {
                assert!(all.ends_with(end) && end.len().abs_diff(TERMINAL_PREVIEW_BYTES) <= 1);
                let id = BlobId::of(all.as_bytes());
                assert_eq!(notified["outputBlob"], id.to_string());
                assert!(
                    s.blobs.contains(&all.into_bytes()),
                    "it is stored before the event"
                );
                let named = extract(&s.log).blobs;
                assert_eq!(named, [id], "it lives as long as the thread");
            } else {
                assert_eq!(end, all);
                assert!(notified.get("outputBlob").is_none());
            }
            s.stops_with("end_turn");
            s.exits("exit status 0");
        });
    }
}

#[test]
fn killing_and_releasing_a_terminal_are_on_record() {
    check(|s| {
        running(s, "");
        terminal(s, 2, "kill", "term_1");
        s.host_replies(Ok(HostReply::Done));
        terminal(s, 3, "release", "term_1");
        s.host_replies(Ok(HostReply::Done));
        let notified = s.methods();
        let of = |method: &str| notified.iter().filter(|notified| **notified == method).count();
        assert_eq!(
            (of("thread/terminal/killed"), of("thread/terminal/released")),
            (1, 1)
        );
        s.stops_with("end_turn");
        s.exits("exit status 0");
    });
}

#[test]
fn a_terminals_name_is_its_own_for_as_long_as_the_thread_lives() {
    let named = |s: &Scene| -> Vec<Value> {
        let started = s.params("item/terminalCommand/started");
        started
            .iter()
            .map(|started| started["terminalId"].clone())
            .collect()
    };
    let before = check(|s| {
        s.open_turn();
        create(s, 5);
        create(s, 6);
        s.stops_with("end_turn");
    });
    assert_eq!(named(&before), ["term_1", "term_2"]);
    check_in(Scene::restarted(&before.log), |s| {
        s.prompt("again");
        s.answer("initialize", r#"{"protocolVersion":1}"#);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        create(s, 5);
        assert_eq!(
            s.answer_to(&json!(5))["result"],
            json!({ "terminalId": "term_3" })
        );
        terminal(s, 6, "kill", "term_3");
        s.host_replies(Ok(HostReply::Done));
        assert_eq!(s.answer_to(&json!(6))["result"], json!({}));
        s.stops_with("end_turn");
        assert_eq!(named(s), ["term_1", "term_2", "term_3"]);
    });
}

#[test]
fn a_terminal_is_asked_for_in_either_spelling() {
    let variable = || vec![("A".to_owned(), "1".to_owned())];
    for (more, limit, env) in [
        (r#","outputByteLimit":7"#, 7, Vec::new()),
        (r#","maxOutputBytes":7"#, 7, Vec::new()),
        (r#","maxOutputBytes":8,"outputByteLimit":7"#, 7, Vec::new()),
        (r#","env":[{"name":"A","value":"1"}]"#, TERMINAL_BYTES, variable()),
        (r#","env":{"A":"1"}"#, TERMINAL_BYTES, variable()),
        (r#","env":null"#, TERMINAL_BYTES, Vec::new()),
    ] {
        check(|s| {
            s.open_turn();
            let params = format!(r#"{{"sessionId":"s-1","command":"ls"{more}}}"#);
            s.calls("5", "terminal/create", &params);
            let HostCall::CreateTerminal {
                output_bytes,
                env: got,
                ..
            } = &s.waiting[0].1
            else {
                panic!("{more}: {:?}", s.waiting);
            };
            assert_eq!((*output_bytes, got), (limit, &env), "{more}");
            s.host_replies(Err(Failure::agent("no")));
            s.stops_with("end_turn");
        });
    }
}

/// Until the command has exited, the log stores only a bounded part of its output.
#[test]
fn a_terminal_that_runs_and_has_written_too_much_is_read_as_cut() {
    let read = |s: &Scene| match s.transcript().turns[0].items.last().unwrap().content() {
        Some(ItemEnd::TerminalCommand {
            output, truncated, ..
        }) => (output, truncated),
        other => panic!("{other:?}"),
    };
    check(|s| {
        s.open_turn();
        create(s, 5);
        let mut says = |text: String| {
            let event = TerminalEvent::Output(text);
            s.handle(Input::Terminal {
                terminal_id: "term_1".into(),
                event,
            });
            s.later(200);
            read(s)
        };
        assert_eq!(says("a".repeat(60)), ("a".repeat(60), false));
        // The view keeps the end of the output, up to the limit.
        let (output, truncated) = says("é".repeat(30));
        assert_eq!((output, truncated), ("a".repeat(40) + &"é".repeat(30), true));
        let (output, _) = says("b".repeat(1000));
        assert_eq!(output, "a".repeat(40) + &"é".repeat(30), "that is only shown");
        s.stops_with("end_turn");
    });
}
