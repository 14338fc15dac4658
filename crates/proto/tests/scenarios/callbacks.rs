//! Files and terminals that an agent uses through us.

use acpd_model::limits::{
    AGENT_CALL_BYTES, AGENT_CALLS, RUNNING_OUTPUT_BYTES, TERMINAL_BYTES, TERMINAL_BYTES_MAX, TERMINALS,
};
use acpd_model::{ErrorCode, EventKind, Failure, ItemEnd, PreviousContent};
use acpd_proto::agent::TerminalExit;
use acpd_proto::projection::extract;
use acpd_proto::thread::{HostCall, HostReply, Input, TerminalEvent};
use serde_json::{Value, json};

use crate::support::{Scene, check, check_in, tool};

fn exit(code: i32) -> TerminalExit {
    TerminalExit {
        code: Some(code),
        signal: None,
    }
}

fn create(scene: &mut Scene, id: u32) {
    scene.script.push_back(Ok(HostReply::Created));
    let params = r#"{"sessionId":"s-1","command":"sh","args":["-c","ls"],"env":[{"name":"A","value":"1"}],"cwd":"/workspace/sub","outputByteLimit":100}"#;
    scene.calls(&id.to_string(), "terminal/create", params);
}

fn terminal(scene: &mut Scene, id: u32, verb: &str, terminal_id: &str) {
    scene.calls(
        &id.to_string(),
        &format!("terminal/{verb}"),
        &format!(r#"{{"sessionId":"s-1","terminalId":"{terminal_id}"}}"#),
    );
}

#[test]
fn a_file_is_read() {
    check(|s| {
        s.open_turn();
        s.calls(
            "5",
            "fs/read_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/a","line":2,"limit":3}"#,
        );
        let expected = HostCall::ReadFile {
            path: "/workspace/a".into(),
            at: None,
            line: Some(2),
            limit: Some(3),
        };
        assert_eq!(s.waiting[0].1, expected);
        s.host_replies(Ok(HostReply::Read {
            content: "é\n".into(),
        }));
        assert_eq!(s.answer_to(&json!(5))["result"], json!({ "content": "é\n" }));
        let read = &s.params("thread/file/read")[0];
        assert_eq!(
            (&read["path"], &read["bytes"]),
            (&"/workspace/a".into(), &3.into())
        );
        s.stops_with("end_turn");
    });
}

#[test]
fn a_file_is_written() {
    check(|s| {
        s.open_turn();
        s.calls(
            "5",
            "fs/write_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/a","content":"new\n"}"#,
        );
        assert_eq!(s.params("item/fileChange/started")[0]["path"], "/workspace/a");
        s.host_replies(Ok(HostReply::Written {
            old: PreviousContent::Text("old\n".into()),
        }));
        assert_eq!(s.answer_to(&json!(5))["result"], json!({}));
        let done = &s.params("item/fileChange/completed")[0];
        assert_eq!(
            done["diff"],
            "--- a/workspace/a\n+++ b/workspace/a\n@@ -1 +1 @@\n-old\n+new\n"
        );
        assert_eq!(s.params("turn/diff/updated")[0]["diff"], done["diff"]);
        assert_eq!(s.params("thread/file/written")[0]["bytes"], 4);
        assert_eq!(
            (&done["replaced"], &s.params("thread/file/written")[0]["replaced"]),
            (&json!("text"), &json!("text"))
        );
        s.stops_with("end_turn");
    });
}

#[test]
fn what_a_write_replaced_is_told_as_far_as_it_is_known() {
    let unknown = "--- a/workspace/a\n+++ b/workspace/a\n\\ what it replaced cannot be shown: no UTF-8 text, too large, not readable, or written by a client\n@@ -0,0 +1 @@\n+new\n";
    let new = "--- /dev/null\n+++ b/workspace/a\n@@ -0,0 +1 @@\n+new\n";
    for (old, replaced, diff) in [
        (PreviousContent::Nothing, "nothing", new),
        (PreviousContent::Text("new\n".into()), "text", ""),
        (PreviousContent::Unknown, "unknown", unknown),
    ] {
        check(|s| {
            s.open_turn();
            s.script.push_back(Ok(HostReply::Written { old: old.clone() }));
            s.calls(
                "5",
                "fs/write_text_file",
                r#"{"sessionId":"s-1","path":"/workspace/a","content":"new\n"}"#,
            );
            let done = &s.params("item/fileChange/completed")[0];
            assert_eq!(
                (&done["replaced"], &done["diff"]),
                (&json!(replaced), &json!(diff))
            );
            assert_eq!(s.params("thread/file/written")[0]["replaced"], replaced);
            assert_eq!(s.params("turn/diff/updated")[0]["diff"], diff);
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn a_write_that_a_tool_call_shows_already_is_one_change() {
    check(|s| {
        s.open_turn();
        let diff = r#"[{"type":"diff","path":"/workspace/a","oldText":null,"newText":"x"}]"#;
        s.update(&tool("t", false, &format!(r#","kind":"edit","content":{diff}"#)));
        s.script.push_back(Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        }));
        s.calls(
            "5",
            "fs/write_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/a","content":"x"}"#,
        );
        s.update(&tool("t", true, r#","status":"completed""#));
        assert_eq!(s.params("item/fileChange/started").len(), 1);
        assert_eq!(s.params("item/fileChange/completed").len(), 1);
        assert_eq!(s.params("thread/file/written").len(), 1);
        s.stops_with("end_turn");
    });
}

#[test]
fn a_refusal_of_the_machine_is_told_and_final() {
    check(|s| {
        s.open_turn();
        let outside = || Err(Failure::invalid_params("path outside workspace"));
        s.script.extend([outside(), outside()]);
        s.calls(
            "5",
            "fs/write_text_file",
            r#"{"sessionId":"s-1","path":"/etc/passwd","content":"x"}"#,
        );
        s.calls(
            "6",
            "fs/read_text_file",
            r#"{"sessionId":"s-1","path":"/etc/passwd"}"#,
        );
        for id in [5, 6] {
            let error = &s.answer_to(&json!(id))["error"];
            assert_eq!(
                error,
                &json!({ "code": -32602, "message": "path outside workspace" })
            );
        }
        assert_eq!(s.params("item/fileChange/completed")[0]["outcome"], "failed");
        assert!(s.params("thread/file/written").is_empty() && s.params("turn/diff/updated").is_empty());
        assert!(s.waiting.is_empty(), "it is not tried again");
        s.stops_with("end_turn");
    });
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
fn what_an_agent_leaves_out_has_a_default() {
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

/// 64 terminals of 10 MiB would be 640 MiB.
#[test]
fn all_terminals_together_keep_so_much_output_and_no_more() {
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
        // One that has ended makes room for the next.
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
fn a_signal_is_no_success() {
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

#[test]
fn too_much_at_once_is_refused() {
    check(|s| {
        s.open_turn();
        for id in 0..=u32::try_from(TERMINALS).unwrap() {
            if id as usize == TERMINALS {
                s.calls("64", "terminal/create", r#"{"sessionId":"s-1","command":"x"}"#);
            } else {
                create(s, id);
            }
        }
        let error = &s.answer_to(&json!(TERMINALS))["error"];
        assert_eq!(error["code"], ErrorCode::Overloaded.rpc());
        for id in 0..=AGENT_CALLS {
            s.calls(
                &format!("\"r{id}\""),
                "fs/read_text_file",
                r#"{"sessionId":"s-1","path":"/workspace/a"}"#,
            );
        }
        assert_eq!(s.waiting.len(), AGENT_CALLS);
        let error = &s.answer_to(&json!(format!("r{AGENT_CALLS}")))["error"];
        assert_eq!(error["code"], ErrorCode::Overloaded.rpc());
        s.exits("gone");
    });
}

#[test]
fn params_that_do_not_fit_are_refused_and_recorded() {
    check(|s| {
        s.open_turn();
        let bad = [
            ("fs/read_text_file", "{}"),
            ("fs/read_text_file", r#"{"sessionId":"s-1","path":7}"#),
            (
                "fs/read_text_file",
                r#"{"sessionId":"s-1","path":"/a","line":-1}"#,
            ),
            ("fs/read_text_file", r#"{"sessionId":"s-2","path":"/a"}"#),
            ("fs/write_text_file", r#"{"sessionId":"s-1","path":"/a"}"#),
            ("terminal/create", r#"{"sessionId":"s-1","command":["ls"]}"#),
            ("terminal/output", r#"{"sessionId":"s-1"}"#),
            ("terminal/kill", r#"{"terminalId":"term_1"}"#),
            ("terminal/release", "[]"),
            ("terminal/wait_for_exit", "null"),
        ];
        for (id, (method, params)) in bad.iter().enumerate() {
            s.calls(&id.to_string(), method, params);
            assert_eq!(
                s.answer_to(&json!(id))["error"]["code"],
                -32602,
                "{method} {params}"
            );
        }
        let refused = s
            .kinds()
            .filter(|kind| matches!(kind, EventKind::CallRefused { .. }));
        assert_eq!(refused.count(), bad.len());
        assert!(s.waiting.is_empty());
        s.stops_with("end_turn");
    });
}

#[test]
fn what_could_not_be_done_is_on_record() {
    check(|s| {
        s.open_turn();
        let refused = |s: &Scene| -> Vec<(String, String)> {
            let of = |kind: &EventKind| match kind {
                EventKind::CallRefused { method, reason } => Some((method.clone(), reason.clone())),
                _ => None,
            };
            s.kinds().filter_map(of).collect()
        };
        let outside = Failure::invalid_params("path outside workspace: /etc/shadow");
        let calls = [
            ("fs/read_text_file", r#"{"sessionId":"s-1","path":"/etc/shadow"}"#),
            (
                "fs/write_text_file",
                r#"{"sessionId":"s-1","path":"/etc/shadow","content":""}"#,
            ),
            (
                "terminal/create",
                r#"{"sessionId":"s-1","command":"x","cwd":"/etc/shadow"}"#,
            ),
        ];
        for (at, (method, params)) in calls.iter().enumerate() {
            s.script.push_back(Err(outside.clone()));
            s.calls(&(at + 1).to_string(), method, params);
            assert_eq!(
                refused(s)[at..],
                [((*method).to_owned(), outside.message.clone())]
            );
        }
        // Agents look whether a file is there by reading it.
        s.script.push_back(Err(Failure::not_found("/workspace/x")));
        s.calls(
            "4",
            "fs/read_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/x"}"#,
        );
        assert_eq!(refused(s).len(), calls.len());
        let told = s.params("thread/notice");
        assert_eq!(told.len(), calls.len());
        assert!(told.iter().all(|told| told["code"] == "callRefused"));
        s.stops_with("end_turn");
    });
}

#[test]
fn a_callback_may_be_withdrawn() {
    check(|s| {
        s.open_turn();
        create(s, 4);
        terminal(s, 5, "wait_for_exit", "term_1");
        s.says(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":5}}"#);
        assert_eq!(s.answer_to(&json!(5))["error"]["code"], -32800);
        let answers = s.sent.len();
        s.host_replies(Ok(HostReply::Exited(exit(0))));
        assert_eq!(s.sent.len(), answers, "one answer to one request");
        s.stops_with("end_turn");
    });
}

#[test]
fn a_write_that_was_withdrawn_and_done_all_the_same_is_recorded() {
    check(|s| {
        s.open_turn();
        s.calls(
            "5",
            "fs/write_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/a","content":"new\n"}"#,
        );
        s.says(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":5}}"#);
        s.host_replies(Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        }));
        assert_eq!(s.params("thread/file/written").len(), 1, "the file was changed");
        assert_eq!(s.params("item/fileChange/completed")[0]["outcome"], "completed");
        assert_eq!(s.sent.iter().filter(|sent| sent.answers.is_some()).count(), 1);
        s.stops_with("end_turn");
    });
}

#[test]
fn ids_are_answered_as_they_were_written() {
    check(|s| {
        s.open_turn();
        s.machine = Some(|_| HostReply::Read {
            content: String::new(),
        });
        for id in ["0", "-7", "\"a\"", "\"\\u00e9\"", "null"] {
            s.calls(
                id,
                "fs/read_text_file",
                r#"{"sessionId":"s-1","path":"/workspace/a"}"#,
            );
            let answer = s.sent.last().unwrap();
            assert!(answer.text.contains(&format!(r#""id":{id},"#)), "{}", answer.text);
        }
        s.stops_with("end_turn");
    });
}

#[test]
fn a_file_may_be_asked_for_between_turns() {
    check(|s| {
        s.open_session();
        s.script.push_back(Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        }));
        s.calls(
            "5",
            "fs/write_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/a","content":"x"}"#,
        );
        assert_eq!(s.answer_to(&json!(5))["result"], json!({}));
        assert!(s.params("item/fileChange/completed")[0].get("turnId").is_none());
        assert_eq!(
            s.params("turn/diff/updated"),
            Vec::<Value>::new(),
            "there is no turn to have a diff"
        );
    });
}

fn outputs(s: &Scene) -> Vec<String> {
    let text = |kind: &EventKind| match kind {
        EventKind::TerminalOutput { text, .. } => Some(text.clone()),
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
fn what_is_written_is_on_record_and_what_is_long_is_a_blob() {
    use acpd_model::BlobId;
    use acpd_model::event::Content;
    use acpd_model::limits::{INLINE_BYTES, PREVIEW_BYTES};
    check(|s| {
        s.open_turn();
        for text in ["short".to_owned(), "é".repeat(INLINE_BYTES)] {
            let params = json!({ "sessionId": "s-1", "path": "/workspace/x", "content": text });
            s.calls("7", "fs/write_text_file", &params.to_string());
            s.host_replies(Ok(HostReply::Written {
                old: PreviousContent::Nothing,
            }));
            let written = s
                .kinds()
                .rfind(|kind| matches!(kind, EventKind::FileWritten { .. }));
            let Some(EventKind::FileWritten {
                content: Some(Content { text: kept, blob }),
                ..
            }) = written
            else {
                panic!("{written:?}");
            };
            assert!(text.starts_with(kept.as_str()));
            if text.len() > INLINE_BYTES {
                assert!(kept.len() <= PREVIEW_BYTES);
                assert_eq!(*blob, Some(BlobId::of(text.as_bytes())));
                assert!(
                    s.blobs.contains(&text.clone().into_bytes()),
                    "it is stored before the event"
                );
            } else {
                assert_eq!((kept, blob), (&text, &None));
            }
        }
        s.stops_with("end_turn");
    });
}

#[test]
fn long_output_is_a_blob_of_which_the_end_is_told() {
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
            let told = s.params("item/terminalCommand/completed").pop().unwrap();
            let end = told["output"].as_str().unwrap();
            assert_eq!(told["truncated"], false, "all of it was kept");
            if bytes > INLINE_BYTES {
                assert!(all.ends_with(end) && end.len().abs_diff(TERMINAL_PREVIEW_BYTES) <= 1);
                let id = BlobId::of(all.as_bytes());
                assert_eq!(told["outputBlob"], id.to_string());
                assert!(
                    s.blobs.contains(&all.into_bytes()),
                    "it is stored before the event"
                );
                let named = extract(&s.log).blobs;
                assert_eq!(named, [id], "it lives as long as the thread");
            } else {
                assert_eq!(end, all);
                assert!(told.get("outputBlob").is_none());
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
        let told = s.methods();
        let of = |method: &str| told.iter().filter(|told| **told == method).count();
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

/// The log has no more of its output than is kept until the command has ended.
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
        // No more than is kept, from the end.
        let (output, truncated) = says("é".repeat(30));
        assert_eq!((output, truncated), ("a".repeat(40) + &"é".repeat(30), true));
        let (output, _) = says("b".repeat(1000));
        assert_eq!(output, "a".repeat(40) + &"é".repeat(30), "that is only shown");
        s.stops_with("end_turn");
    });
}

/// Params of a write whose unanswered call holds about `bytes`: the content and the agent's own words for it.
fn a_write_of(bytes: usize) -> String {
    let content = "x".repeat(bytes / 2);
    format!(r#"{{"sessionId":"s-1","path":"/w/f","content":"{content}"}}"#)
}

#[test]
fn unanswered_callbacks_hold_so_many_bytes_and_no_more() {
    check(|s| {
        s.open_turn();
        let half = AGENT_CALL_BYTES as usize / 2;
        s.calls(r#""a""#, "fs/write_text_file", &a_write_of(half));
        s.calls(r#""b""#, "fs/write_text_file", &a_write_of(half));
        assert_eq!(s.waiting.len(), 1, "the second takes a little more than is left");
        let error = &s.answer_to(&json!("b"))["error"];
        assert!(
            error["message"].as_str().unwrap().contains("bytes already"),
            "{error}"
        );
        // What is small is done all the same.
        s.calls(
            r#""c""#,
            "fs/read_text_file",
            r#"{"sessionId":"s-1","path":"/w/f"}"#,
        );
        assert_eq!(s.waiting.len(), 2);
        // What was withdrawn is written nevertheless, and holds its bytes until it is.
        s.says(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"a"}}"#);
        s.calls(r#""d""#, "fs/write_text_file", &a_write_of(half));
        assert_eq!(s.waiting.len(), 2);
        s.host_replies(Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        }));
        s.calls(r#""e""#, "fs/write_text_file", &a_write_of(half));
        assert_eq!(s.waiting.len(), 2);
        s.stops_with("end_turn");
    });
}

#[test]
fn one_callback_that_is_larger_than_all_the_room_is_done_alone() {
    check(|s| {
        s.open_turn();
        s.calls(
            r#""a""#,
            "fs/write_text_file",
            &a_write_of(AGENT_CALL_BYTES as usize + 2000),
        );
        s.calls(r#""b""#, "fs/write_text_file", &a_write_of(200_000));
        assert_eq!(s.waiting.len(), 1);
        s.host_replies(Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        }));
        s.calls(r#""c""#, "fs/write_text_file", &a_write_of(200_000));
        assert_eq!(s.waiting.len(), 1);
        s.stops_with("end_turn");
    });
}
