//! File requests of an agent, and the rules for all of its callbacks.

use acpd_model::limits::{AGENT_CALL_BYTES, AGENT_CALLS, TERMINALS};
use acpd_model::{ErrorCode, EventKind, Failure, HostEvent, PreviousContent, SessionEvent};
use acpd_proto::thread::{HostCall, HostReply};
use serde_json::{Value, json};

use crate::support::{FULL, Scene, check, tool};
use crate::terminals::{create, exit, terminal};

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
        assert_eq!(s.params("thread/file/written")[0]["bytes"], 4);
        assert_eq!(
            (&done["replaced"], &s.params("thread/file/written")[0]["replaced"]),
            (&json!("text"), &json!("text"))
        );
        s.stops_with("end_turn");
        assert_eq!(s.params("turn/diff/updated")[0]["diff"], done["diff"]);
    });
}

#[test]
fn a_write_records_the_replaced_content_if_it_is_known() {
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
            s.stops_with("end_turn");
            assert_eq!(s.params("turn/diff/updated")[0]["diff"], diff);
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
fn an_error_of_the_host_is_returned_to_the_agent_and_final() {
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
            .filter(|kind| matches!(kind, EventKind::Session(SessionEvent::CallRefused { .. })));
        assert_eq!(refused.count(), bad.len());
        assert!(s.waiting.is_empty());
        s.stops_with("end_turn");
    });
}

#[test]
fn a_failed_callback_is_recorded() {
    check(|s| {
        s.open_turn();
        let refused = |s: &Scene| -> Vec<(String, String)> {
            let of = |kind: &EventKind| match kind {
                EventKind::Session(SessionEvent::CallRefused { method, reason, .. }) => {
                    Some((method.clone(), reason.clone()))
                }
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
        // Agents check for a file by reading it.
        s.script.push_back(Err(Failure::not_found("/workspace/x")));
        s.calls(
            "4",
            "fs/read_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/x"}"#,
        );
        assert_eq!(refused(s).len(), calls.len());
        let notices = s.params("thread/notice");
        assert_eq!(notices.len(), calls.len());
        assert!(notices.iter().all(|notices| notices["code"] == "callRefused"));
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

#[test]
fn a_write_is_recorded_and_long_content_is_a_blob() {
    use acpd_model::BlobId;
    use acpd_model::event::Content;
    use acpd_model::limits::{INLINE_BYTES, PREVIEW_BYTES};
    check(|s| {
        s.open_turn();
        for text in ["short".to_owned(), "é".repeat(INLINE_BYTES)] {
            let params = json!({ "sessionId": "s-1", "path": "/workspace/x", "content": text });
            s.calls("7", "fs/write_text_file", &params.to_string());
            s.host_replies(Ok(HostReply::Written {
                old: PreviousContent::Text("old".into()),
            }));
            let written = s
                .kinds()
                .rfind(|kind| matches!(kind, EventKind::Host(HostEvent::FileWritten { .. })));
            let Some(EventKind::Host(HostEvent::FileWritten {
                content: Some(Content { text: kept, blob }),
                ..
            })) = written
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

/// Returns whether the last write is recorded with its content.
fn has_content(s: &Scene) -> bool {
    let written = s.kinds().rev().find_map(|kind| match kind {
        EventKind::Host(HostEvent::FileWritten { content, .. }) => Some(content.is_some()),
        _ => None,
    });
    written.unwrap()
}

/// The content was stored beside the diff that adds all of it, and beside the tool call that shows it.
#[test]
fn written_content_that_other_events_have_is_not_stored_again() {
    use acpd_model::limits::{DIFF_BYTES, INLINE_BYTES};
    let write = |s: &mut Scene, content: &str, old| {
        s.script.push_back(Ok(HostReply::Written { old }));
        let params = json!({ "sessionId": "s-1", "path": "/workspace/x", "content": content });
        s.calls("7", "fs/write_text_file", &params.to_string());
    };
    check(|s| {
        s.open_turn();
        for (bytes, old, is_stored) in [
            (3, PreviousContent::Nothing, false),
            (INLINE_BYTES + 1, PreviousContent::Nothing, false),
            (DIFF_BYTES + 1, PreviousContent::Nothing, true),
            (3, PreviousContent::Text("old".into()), true),
            (3, PreviousContent::Unknown, true),
        ] {
            let blobs = s.blobs.len();
            write(s, &"x".repeat(bytes), old.clone());
            assert_eq!(has_content(s), is_stored, "{bytes} bytes, {old:?} before");
            let is_blob = is_stored && bytes > INLINE_BYTES;
            assert_eq!(s.blobs.len() - blobs, usize::from(is_blob));
        }
        let long = "y".repeat(1000);
        for (id, shown, written, is_stored) in [
            ("a", "y", "y", false),
            ("b", "y", "z", true),
            ("c", &*long.repeat(10), "y", true),
        ] {
            let (shown, written) = (shown.repeat(1000), written.repeat(1000));
            let content =
                json!([{ "type": "diff", "path": "/workspace/x", "oldText": "old", "newText": shown }]);
            s.update(&tool(
                id,
                false,
                &format!(r#","kind":"edit","content":{content}"#),
            ));
            write(s, &written, PreviousContent::Text("old".into()));
            assert_eq!(has_content(s), is_stored, "{id}");
            s.update(&tool(id, true, r#","status":"completed""#));
        }
        s.stops_with("end_turn");
    });
}

/// Returns the params of a write whose open call needs about `bytes`, for its content and for the agent's raw params.
fn a_write_of(bytes: usize) -> String {
    let content = "x".repeat(bytes / 2);
    format!(r#"{{"sessionId":"s-1","path":"/w/f","content":"{content}"}}"#)
}

#[test]
fn the_bytes_of_unanswered_callbacks_are_bounded() {
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
        // Small requests still succeed.
        s.calls(
            r#""c""#,
            "fs/read_text_file",
            r#"{"sessionId":"s-1","path":"/w/f"}"#,
        );
        assert_eq!(s.waiting.len(), 2);
        // A cancelled write is still executed, and counts until then.
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

/// Some agents read their configuration in the folder before they answer `session/new` or `session/load`.
#[test]
fn callbacks_are_served_while_the_session_opens() {
    const LOADS: &str = r#"{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}"#;
    let reads = |s: &mut Scene, id: u32| {
        s.calls(
            &id.to_string(),
            "fs/read_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/.agent/local.toml"}"#,
        );
        s.host_replies(Ok(HostReply::Read {
            content: "x = 1\n".into(),
        }));
        assert_eq!(s.answer_to(&json!(id))["result"], json!({ "content": "x = 1\n" }));
    };
    check(|s| {
        s.create();
        s.answer("initialize", FULL);
        reads(s, 5);
        s.calls(
            "6",
            "fs/write_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/a","content":"new"}"#,
        );
        s.host_replies(Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        }));
        assert_eq!(s.answer_to(&json!(6))["result"], json!({}));
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        assert_eq!(s.thread.live().last_turn, 0);
        s.prompt("do it");
        s.stops_with("end_turn");
        s.exits("exit status 0");
        s.prompt("again");
        s.answer("initialize", LOADS);
        reads(s, 8);
        s.answer("session/load", "{}");
        s.later(1_000);
        s.stops_with("end_turn");
    });
    check(|s| {
        s.create();
        s.answer("initialize", FULL);
        create(s, 7);
        assert!(s.answer_to(&json!(7))["result"]["terminalId"].is_string());
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
    });
}
