//! Protocol violations of agents, and the known quirks of some.

use acpd_model::event::TurnStatus;
use acpd_model::limits::MESSAGE_ITEM_BYTES;
use acpd_model::{ErrorCode, EventKind, Failure, SessionEvent, TurnId};
use acpd_proto::agent::Quirks;
use acpd_proto::thread::{HostCall, HostReply};
use serde_json::json;

use crate::support::{Scene, check, check_in, message, tool};

fn recorded(s: &Scene) -> Vec<String> {
    let notice = |kind: &EventKind| match kind {
        EventKind::Session(SessionEvent::NoticeGiven { code, message, .. })
            if code == "protocolViolation" =>
        {
            Some(message.clone())
        }
        _ => None,
    };
    s.kinds().filter_map(notice).collect()
}

#[test]
fn a_status_that_goes_back_is_recorded_and_not_shown() {
    check(|s| {
        s.open_turn();
        s.update(&tool("t", false, r#","title":"x","status":"in_progress""#));
        for _ in 0..3 {
            s.update(&tool("t", true, r#","status":"pending""#));
        }
        assert_eq!(
            recorded(s),
            ["The agent set the status of a tool call back (item_2)."]
        );
        assert!(
            s.params("item/updated")
                .iter()
                .all(|p| p["status"] == "in_progress")
        );
        s.stops_with("end_turn");
    });
}

#[test]
fn a_tool_call_that_is_opened_twice_is_recorded_and_one_that_is_asked_about_is_not() {
    check(|s| {
        s.open_turn();
        s.update(&tool("t", false, r#","title":"x""#));
        s.asks_permission("7", "t");
        assert_eq!(recorded(s), [""; 0]);
        s.update(&tool("t", false, r#","title":"x""#));
        assert_eq!(
            recorded(s),
            ["The agent opened the same tool call twice (item_2)."]
        );
        s.decide(1, acpd_proto::thread::Answer::Cancel).unwrap();
        s.stops_with("end_turn");
    });
}

fn repeating() -> Scene {
    let mut scene = Scene::new();
    scene.quirks = Quirks {
        repeats_messages: true,
        ..Quirks::default()
    };
    scene
}

#[test]
fn a_message_that_is_sent_once_more_as_a_whole_is_text_unless_the_agent_is_known_to_do_so() {
    let play = |s: &mut Scene| {
        s.open_turn();
        for text in ["ha", " ha", "ha ha"] {
            s.chunk(text);
        }
        s.stops_with("end_turn");
    };
    let plain = check(play);
    assert_eq!(plain.deltas().concat(), "ha haha ha");
    let quirky = check_in(repeating(), play);
    assert_eq!(quirky.deltas().concat(), "ha ha");
    assert!(
        quirky
            .kinds()
            .any(|kind| matches!(kind, EventKind::Session(SessionEvent::AgentNotified { .. }))),
        "what is dropped is kept in the log"
    );
}

/// Such a message has several items, of which only the last is held.
#[test]
fn a_repeated_message_that_is_longer_than_an_item_is_shown_once() {
    let halves = ["ab", "cd", "ef"].map(|text| text.repeat(MESSAGE_ITEM_BYTES / 4));
    let whole = halves.concat();
    for pieces in [halves.each_ref().map(String::as_str).to_vec(), vec![&*whole]] {
        check_in(repeating(), |s| {
            s.open_turn();
            for piece in &pieces {
                s.chunk(piece);
            }
            s.chunk(&whole);
            s.chunk("!");
            s.stops_with("end_turn");
            assert_eq!(s.said().concat().len(), whole.len() + 1);
        });
    }
    // Of the same size, but other text.
    check_in(repeating(), |s| {
        s.open_turn();
        s.chunk(&whole);
        s.chunk(&whole.replace('b', "c"));
        s.stops_with("end_turn");
        assert_eq!(s.said().concat().len(), 2 * whole.len());
    });
}

#[test]
fn two_equal_pieces_are_text_for_every_agent() {
    check_in(repeating(), |s| {
        s.open_turn();
        for text in ["a", "ha", "ha", "!"] {
            s.chunk(text);
        }
        assert_eq!(s.thread.live().items.len(), 1);
        s.stops_with("end_turn");
        assert_eq!(s.deltas().concat(), "ahaha!");
    });
}

#[test]
fn a_repetition_after_something_else_is_text() {
    check_in(repeating(), |s| {
        s.open_turn();
        s.chunk("hello");
        s.update(&tool("t", false, r#","title":"x","status":"completed""#));
        s.update(&message("hello"));
        s.stops_with("end_turn");
        assert_eq!(s.deltas(), ["hello", "hello"]);
    });
}

const GEMINI: &str = r#"{"protocolVersion":1,"agentInfo":{"name":"gemini-cli","version":"9"}}"#;

#[test]
fn an_agent_that_gives_up_on_a_missing_file_gets_an_empty_one() {
    for (hello, code) in [(GEMINI, None), (r#"{"protocolVersion":1}"#, Some(-32002))] {
        check(|s| {
            s.create();
            s.answer("initialize", hello);
            s.answer("session/new", r#"{"sessionId":"s-1"}"#);
            s.prompt("go");
            s.calls(
                "3",
                "fs/read_text_file",
                r#"{"sessionId":"s-1","path":"/workspace/new"}"#,
            );
            s.host_replies(Err(Failure::not_found("file")));
            let answer = &s.sent.last().unwrap().json;
            match code {
                None => assert_eq!(answer["result"], json!({ "content": "" })),
                Some(code) => assert_eq!(answer["error"]["code"], code),
            }
            s.calls("4", "fs/read_text_file", r#"{"sessionId":"s-1","path":"/etc/x"}"#);
            s.host_replies(Err(Failure::new(
                ErrorCode::InvalidParams,
                "path outside workspace",
            )));
            assert_eq!(s.sent.last().unwrap().json["error"]["code"], -32602);
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn a_shell_line_is_one_only_where_it_is_known() {
    for (name, expected) in [
        ("kimi-cli", ("/bin/sh", vec!["-c", "ls -l | wc"])),
        ("crow-cli", ("/bin/sh", vec!["-c", "ls -l | wc"])),
        ("other", ("ls -l | wc", vec![])),
    ] {
        check(|s| {
            s.create();
            s.answer(
                "initialize",
                &format!(r#"{{"protocolVersion":1,"agentInfo":{{"name":"{name}","version":"9"}}}}"#),
            );
            s.answer("session/new", r#"{"sessionId":"s-1"}"#);
            s.prompt("go");
            s.calls(
                "3",
                "terminal/create",
                r#"{"sessionId":"s-1","command":"ls -l | wc"}"#,
            );
            let HostCall::CreateTerminal { command, args, .. } = &s.waiting[0].1 else {
                panic!("{:?}", s.waiting);
            };
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            assert_eq!((command.as_str(), args), expected);
            s.host_replies(Ok(HostReply::Created));
            s.stops_with("end_turn");
        });
    }
}

/// A repetition follows immediately. After any other content, equal text is new text.
#[test]
fn after_anything_that_is_not_text_the_same_words_are_text() {
    for between in [
        r#"{"sessionUpdate":"plan","entries":[]}"#,
        r#"{"sessionUpdate":"current_mode_update","currentModeId":"x"}"#,
        r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#,
        r#"{"sessionUpdate":"hologram"}"#,
    ] {
        check_in(repeating(), |s| {
            s.open_turn();
            s.chunk("ha");
            s.update(between);
            s.chunk("ha");
            s.chunk("haha");
            s.stops_with("end_turn");
            assert_eq!(s.said(), ["haha"], "{between}");
        });
    }
}

#[test]
fn updates_of_another_session_are_only_recorded() {
    check(|s| {
        s.open_turn();
        let before = s.next_seq();
        for text in ["a", "b"] {
            s.says(&format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s-9","update":{}}}}}"#,
                message(text)
            ));
        }
        assert_eq!(
            s.methods_from(before),
            ["agent/notification", "thread/notice", "agent/notification"],
            "the violation is told once in a turn"
        );
        let notice = &s.params("thread/notice")[0];
        assert_eq!(notice["code"], "protocolViolation");
        assert!(s.said().is_empty());
        s.stops_with("end_turn");
    });
}

#[test]
fn every_limit_ends_a_turn_as_limited() {
    for reason in ["max_tokens", "max_turn_requests", "max_requests"] {
        check(|s| {
            s.open_turn();
            s.stops_with(reason);
            assert_eq!(s.ending(TurnId(1)), (TurnStatus::Limited, Some(reason), None));
        });
    }
}

#[test]
fn a_question_shows_the_command_in_either_spelling() {
    for input in ["rawInput", "input"] {
        check(|s| {
            s.open_turn();
            let params = format!(
                r#"{{"sessionId":"s-1","toolCall":{{"toolCallId":"t","kind":"execute","{input}":{{"command":"ls -l","cwd":"/w"}}}},"options":[]}}"#
            );
            s.calls("9", "session/request_permission", &params);
            let asked = &s.params("item/commandExecution/requestApproval")[0];
            assert_eq!(
                asked["subjects"],
                serde_json::json!([{ "type": "commandLine", "line": "ls -l", "cwd": "/w" }])
            );
            s.stops_with("end_turn");
        });
    }
}
