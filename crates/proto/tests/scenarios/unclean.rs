//! Lines that are not clean: messages between other text, messages that break off, and texts that are cut within a character.

use acpd_model::event::TurnStatus;
use acpd_model::{EventKind, SessionEvent, TurnId};
use acpd_proto::thread::Answer;
use acpd_proto::wire::LineDecoder;
use serde_json::json;

use crate::support::{FULL, Scene, check};

const TURN: TurnId = TurnId(1);

fn noted(s: &Scene) -> Vec<(String, String)> {
    s.kinds()
        .filter_map(|kind| match kind {
            EventKind::Session(SessionEvent::NoticeGiven {
                code,
                message,
                detail,
                ..
            }) if code == "protocolViolation" => Some((message.clone(), detail.clone().unwrap_or_default())),
            _ => None,
        })
        .collect()
}

#[test]
fn messages_are_found_between_other_text() {
    for line in [
        &b"\x1b]0;agent\x07{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"stopReason\":\"end_turn\"}}"[..],
        b"\x1b[32m{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"stopReason\":\"end_turn\"}}\x1b[0m",
        b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"stopReason\":\"end_turn\"}}",
        b"\0{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"stopReason\":\"end_turn\"}}\0",
        b"{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"stopReason\":\"end_turn\",\"_meta\":{\"x\":\"\xff\"}}}",
        b"DEBUG sent {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"stopReason\":\"end_turn\"}}",
        b"[{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"stopReason\":\"end_turn\"}}]",
    ] {
        let scene = check(|s| {
            s.open_turn();
            s.answers_prompt_with(line);
        });
        let text = String::from_utf8_lossy(line);
        assert_eq!(scene.ending(TURN), (TurnStatus::Completed, Some("end_turn"), None), "{text:?}");
        let noted = noted(&scene);
        assert_eq!(noted.len(), 1, "{text:?}");
        assert!(noted[0].1.contains("\"result\""), "what came is kept: {noted:?}");
    }
}

#[test]
fn an_answer_that_is_written_oddly_is_one() {
    for (line, expected) in [
        (
            &br#"{"jsonrpc":"2.0","id":"ID","result":{"stopReason":"end_turn"}}"#[..],
            TurnStatus::Completed,
        ),
        (
            br#"{"jsonrpc":"2.0","id":ID.0,"result":{"stopReason":"end_turn"}}"#,
            TurnStatus::Completed,
        ),
        (
            br#"{"jsonrpc":"2.0","id":ID,"error":null,"result":{"stopReason":"end_turn"}}"#,
            TurnStatus::Completed,
        ),
        // It says no stop reason.
        (br#"{"jsonrpc":"2.0","id":ID}"#, TurnStatus::Failed),
    ] {
        let scene = check(|s| {
            s.open_turn();
            s.answers_prompt_with(line);
        });
        assert_eq!(scene.status(TURN), expected, "{}", String::from_utf8_lossy(line));
        assert_eq!(scene.notices(), [""; 0]);
    }
}

#[test]
fn an_answer_that_cannot_be_read_fails_the_turn_at_once() {
    for (line, reason) in [
        (
            &br#"{"jsonrpc":"2.0","id":ID,"result":{"stopReason":"end_tu"#[..],
            "not JSON",
        ),
        (
            br#"{"jsonrpc":"2.0","result":{"stopReason":"a "b""},"id":ID}"#,
            "not JSON",
        ),
        (
            br#"{"jsonrpc":"2.0","id":ID,"id":77,"result":{}}"#,
            "not a JSON-RPC message",
        ),
    ] {
        let scene = check(|s| {
            s.open_turn();
            s.chunk("so far");
            s.answers_prompt_with(line);
        });
        assert_eq!(scene.status(TURN), TurnStatus::Failed);
        let error = scene.settled_error(TURN);
        assert!(
            error.contains(&format!("the agent's answer cannot be read: {reason}")),
            "{error}"
        );
        assert_eq!(scene.notices(), ["malformedLine"]);
    }
}

#[test]
fn a_line_that_is_too_long_concerns_the_request_that_its_ends_name() {
    let rest = "é".repeat(50_000);
    for line in [
        format!(
            r#"{{"jsonrpc":"2.0","id":ID,"result":{{"stopReason":"end_turn","_meta":{{"x":"{rest}"}}}}}}"#
        ),
        format!(
            r#"{{"jsonrpc":"2.0","result":{{"stopReason":"end_turn","_meta":{{"x":"{rest}"}}}},"id":ID}}"#
        ),
    ] {
        let scene = check(|s| {
            s.open_turn();
            let id = s.open_request("session/prompt").to_string();
            s.forgets_requests();
            let mut decoder = LineDecoder::new(10_000);
            for part in format!("{}\n", line.replace("ID", &id)).as_bytes().chunks(999) {
                s.streams(part, &mut decoder);
            }
        });
        assert!(scene.settled_error(TURN).contains("longer than the limit"));
    }
    check(|s| {
        s.open_turn();
        let mut decoder = LineDecoder::new(10_000);
        let call = format!(
            r#"{{"jsonrpc":"2.0","method":"fs/write_text_file","params":{{"content":"{rest}"}},"id":"w"}}"#
        );
        s.streams(format!("{call}\n").as_bytes(), &mut decoder);
        assert_eq!(s.answer_to(&json!("w"))["error"]["code"], -32700);
        s.stops_with("end_turn");
    });
}

#[test]
fn a_request_that_cannot_be_read_is_answered_under_its_id() {
    for (line, id, code) in [
        (
            &br#"{"jsonrpc":"2.0","id":7,"method":"fs/read_text_file","params":{"path":"/x"#[..],
            json!(7),
            -32700,
        ),
        (br#"{"jsonrpc":"2.0","id":"q","method":7}"#, json!("q"), -32600),
        (br#"{"id":"q","method":"a","method":"b"}"#, json!("q"), -32600),
    ] {
        check(|s| {
            s.open_turn();
            s.says_bytes(line);
            assert_eq!(s.answer_to(&id)["error"]["code"], code);
            assert_eq!(s.notices(), ["malformedLine"]);
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn a_coloured_permission_request_is_asked() {
    check(|s| {
        s.open_turn();
        let option = r#"{"optionId":"a","name":"Yes \ud83d","kind":"allow_once"}"#;
        s.says(&format!(
            "\u{1b}[33m{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"session/request_permission\",\"params\":{{\"sessionId\":\"s-1\",\
             \"toolCall\":{{\"toolCallId\":\"t\",\"title\":\"x\"}},\"options\":[{option}]}}}}\u{1b}[0m"
        ));
        assert_eq!(s.thread.live().requests.len(), 1);
        s.decide(1, Answer::Place(0)).unwrap();
        assert_eq!(s.answer_to(&json!(7))["result"]["outcome"]["optionId"], "a");
        s.stops_with("end_turn");
    });
}

#[test]
fn several_messages_on_one_line_are_several_and_it_is_noted_once() {
    let scene = check(|s| {
        s.open_turn();
        for _ in 0..3 {
            let update = |text: &str| {
                format!(
                    r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s-1","update":{}}}}}"#,
                    crate::support::message(text)
                )
            };
            s.says(&format!("{}{}", update("a"), update("b")));
        }
        s.stops_with("end_turn");
    });
    assert_eq!(scene.said(), ["ababab"]);
    let [(message, _)] = &noted(&scene)[..] else {
        panic!("it is noted once")
    };
    assert!(message.contains("several messages on one line"), "{message}");
}

#[test]
fn a_start_whose_answer_cannot_be_read_fails_at_once_with_the_line() {
    let cut = br#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1"#;
    let utf_16: Vec<u8> = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}"#
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (line, word) in [(&cut[..], "protocolVersion"), (&utf_16, "UTF-16")] {
        check(|s| {
            let call = s.create();
            s.forgets_requests();
            s.says_bytes(line);
            let failure = s.replies[&call].clone().unwrap_err();
            let said = format!("{} {}", failure.message, failure.detail.unwrap_or_default());
            assert!(
                said.contains("to initialize cannot be read") && said.contains(word),
                "{said}"
            );
            assert_eq!(s.notices(), ["malformedLine", "agentFailed"]);
        });
    }
    check(|s| {
        let call = s.create();
        s.answer("initialize", FULL);
        s.forgets_requests();
        s.says(r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s-1"#);
        let failure = s.replies[&call].clone().unwrap_err();
        assert!(
            failure
                .message
                .contains("to session/new cannot be read: not JSON"),
            "{failure:?}"
        );
    });
}

#[test]
fn a_start_without_an_answer_quotes_the_line_that_came_instead() {
    check(|s| {
        let call = s.create();
        s.says("panic: no configuration");
        s.forgets_requests();
        s.later(600_000);
        let failure = s.replies[&call].clone().unwrap_err();
        assert!(failure.detail.unwrap().contains("panic: no configuration"));
    });
}

/// A chunk in which half of a surrogate pair stands at the end or the start.
fn piece(text: &str) -> String {
    format!(r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}"#)
}

#[test]
fn a_character_that_is_cut_between_two_chunks_is_whole() {
    let scene = check(|s| {
        s.open_turn();
        s.update(&piece(r"a\ud83d"));
        s.update(r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#);
        s.update(&piece(r"\ude00b"));
        s.stops_with("end_turn");
    });
    assert_eq!(scene.said(), ["a😀b"]);
    let raws = scene.log.iter().filter_map(|event| event.raw.as_ref());
    let cut: Vec<&str> = raws
        .map(acpd_model::RawJson::get)
        .filter(|raw| raw.contains(r"\u"))
        .collect();
    assert_eq!(
        cut,
        [piece(r"a\ud83d"), piece(r"\ude00b")],
        "the agent's own text is kept"
    );
}

#[test]
fn half_of_a_character_alone_is_replaced() {
    for (pieces, said) in [
        (&[r"a\ud83d"][..], "a\u{fffd}"),
        (&[r"a\ud83d", "b"], "a\u{fffd}b"),
        (&[r"\ude00b"], "\u{fffd}b"),
        (&[r"a\ud83d", r"\ud83d", r"\ude00"], "a\u{fffd}😀"),
        (&[r"a\ud83db", "c"], "a\u{fffd}bc"),
    ] {
        let scene = check(|s| {
            s.open_turn();
            for text in pieces {
                s.update(&piece(text));
            }
            s.stops_with("end_turn");
        });
        assert_eq!(scene.said(), [said], "{pieces:?}");
    }
    let scene = check(|s| {
        s.open_turn();
        s.update(&piece(r"a\ud83d"));
        s.update(&crate::support::tool(
            "t",
            false,
            r#","title":"x \ud83d","status":"completed""#,
        ));
        s.update(&piece(r"\ude00b"));
        s.stops_with("end_turn");
    });
    assert_eq!(scene.said(), ["a\u{fffd}", "\u{fffd}b"]);
}
