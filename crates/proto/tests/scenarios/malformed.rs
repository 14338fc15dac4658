//! Lines that are not messages, between lines that are.

use acpd_model::limits::MALFORMED_BYTES;
use acpd_model::{EventKind, SessionEvent};
use acpd_proto::wire::LineDecoder;

use crate::support::{Scene, check};

fn malformed(scene: &Scene) -> Vec<(&str, &str, u64)> {
    scene
        .kinds()
        .filter_map(|kind| match kind {
            EventKind::Session(SessionEvent::LineMalformed { reason, text, bytes }) => {
                Some((reason.as_str(), text.as_str(), *bytes))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn malformed_lines_are_recorded_and_the_next_line_is_read() {
    let bad = [
        "Loading model…",
        "DEBUG {\"a\":1}",
        "{",
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_me"#,
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{]}}"#,
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":}}"#,
        "[]",
        "{}",
        "null",
        "7",
        "\"text\"",
        "nan",
        "{'method':'a'}",
        r#"{"method":7}"#,
        r#"{"method":null}"#,
        r#"{"id":1}"#,
        r#"{"jsonrpc":"2.0","id":77,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
        "\u{0}",
    ];
    let scene = check(|s| {
        s.open_turn();
        for (at, line) in bad.iter().enumerate() {
            s.says(line);
            s.chunk(&format!("{at} "));
        }
        s.stops_with("end_turn");
    });
    let seen = malformed(&scene);
    assert_eq!(seen.iter().map(|(_, text, _)| *text).collect::<Vec<_>>(), bad);
    assert!(
        seen.iter()
            .all(|(reason, text, bytes)| !reason.is_empty() && *bytes == text.len() as u64)
    );
    let all: String = (0..bad.len()).map(|at| format!("{at} ")).collect();
    assert_eq!(scene.said(), [all], "every good line arrived");
    assert!(
        scene.sent.iter().all(|sent| sent.answers.is_none()),
        "logs on stdout are not answered"
    );
    assert_eq!(scene.notices(), vec!["malformedLine"; bad.len()]);
}

/// The user never sees such a request, so the log must record the refusal.
#[test]
fn a_question_that_cannot_be_read_is_refused_and_recorded() {
    let option = r#"{"optionId":"a","name":"Yes","kind":"allow_once"}"#;
    for params in [
        format!(
            r#"{{"sessionId":"s-1","toolCall":{{"toolCallId":"t"}},"tool\u0043all":{{"toolCallId":"u"}},"options":[{option}]}}"#
        ),
        r#"{"sessionId":"s-1","toolCall":{"toolCallId":"t"}}"#.to_owned(),
        r#"{"sessionId":"s-1","toolCall":{"toolCallId":"t"},"options":{}}"#.to_owned(),
        r#"{"sessionId":"s-1","toolCall":{"toolCallId":"t"},"options":[{"name":"Yes"}]}"#.to_owned(),
        format!(r#"{{"sessionId":"s-1","options":[{option}]}}"#),
        format!(r#"{{"sessionId":"s-1","toolCall":{{}},"options":[{option}]}}"#),
        format!(r#"{{"sessionId":"s-1","toolCall":{{"toolCallId":7}},"options":[{option}]}}"#),
        format!(r#"{{"sessionId":"s-1","toolCall":"rm x","options":[{option}]}}"#),
        "[]".to_owned(),
    ] {
        check(|s| {
            s.open_turn();
            s.calls("7", "session/request_permission", &params);
            assert!(s.thread.live().requests.is_empty(), "{params}");
            assert_eq!(s.answer_to(&7.into())["error"]["code"], -32602, "{params}");
            let refused = s.params("thread/notice").pop().expect("it is told");
            assert_eq!(refused["code"], "callRefused", "{params}");
            // The audit trail names the daemon.
            assert_eq!(refused["by"]["kind"], "daemon", "{params}");
            let lines = crate::export::lines(s);
            let line = lines
                .iter()
                .find(|line| line["type"] == "agent:refused")
                .expect("it is exported");
            assert_eq!(line["method"], "session/request_permission");
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn lines_with_invalid_utf_8() {
    let scene = check(|s| {
        s.open_turn();
        s.says_bytes(b"\xff\xfe{}");
        s.says_bytes(b"\xc3");
        s.chunk("still here");
        s.stops_with("end_turn");
    });
    let seen = malformed(&scene);
    assert_eq!(seen[0], ("UTF-16, and ACP is UTF-8", "\u{fffd}\u{fffd}{}", 4));
    assert_eq!(seen[1].0, "not JSON, or not UTF-8");
    assert_eq!(seen.len(), 2);
    assert_eq!(scene.said(), ["still here"]);
}

#[test]
fn a_line_that_is_too_long_is_counted_and_its_head_is_kept() {
    let scene = check(|s| {
        s.open_turn();
        let mut decoder = LineDecoder::new(10_000);
        let good = |text: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s-1","update":{}}}}}"#,
                crate::support::message(text)
            )
        };
        let stream = format!("{}\n{}\n{}\n", good("a"), "é".repeat(50_000), good("b"));
        for bytes in stream.as_bytes().chunks(999) {
            s.streams(bytes, &mut decoder);
        }
        s.stops_with("end_turn");
    });
    let seen = malformed(&scene);
    let (reason, text, bytes) = seen[0];
    assert_eq!((reason, bytes), ("longer than the limit", 100_000));
    assert!(text.starts_with("éé") && text.len() <= MALFORMED_BYTES);
    assert_eq!(scene.said(), ["ab"]);
}

#[test]
fn a_long_line_that_is_rubbish_is_cut() {
    let scene = check(|s| {
        s.open_turn();
        s.says(&"ö".repeat(MALFORMED_BYTES));
        s.says_bytes(&[0xff; MALFORMED_BYTES * 2]);
    });
    for (_, text, bytes) in malformed(&scene) {
        assert!(text.len() <= MALFORMED_BYTES && bytes == 2 * MALFORMED_BYTES as u64);
    }
}

#[test]
fn deep_nesting_is_harmless() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let scene = check(|s| {
        s.open_turn();
        s.says(&deep);
        s.says(&"[".repeat(100_000));
        s.says(&format!(
            r#"{{"jsonrpc":"2.0","method":"_deep","params":{}}}"#,
            &deep[..]
        ));
        s.chunk("alive");
        s.stops_with("end_turn");
    });
    assert_eq!(malformed(&scene).len(), 2);
    assert_eq!(scene.said(), ["alive"]);
}

#[test]
fn an_agent_may_write_its_json_with_spaces_and_other_line_ends() {
    let scene = check(|s| {
        s.open_turn();
        let mut decoder = LineDecoder::new(10_000);
        let id = s.open_request("session/prompt");
        let stream = format!(
            "\r\n  \n {{ \"method\" : \"session/update\" , \"params\" : {{ \"update\" : {{ \"content\" : {{ \"text\" : \"hi\" , \"type\" : \"text\" }} , \"sessionUpdate\" : \"agent_message_chunk\" }} , \"sessionId\" : \"s-1\" }} , \"jsonrpc\" : \"2.0\" }} \r\n{{\"result\":{{\"stopReason\":\"end_turn\"}},\"id\":{id},\"jsonrpc\":\"2.0\"}}\r\n"
        );
        s.streams(stream.as_bytes(), &mut decoder);
    });
    assert_eq!(malformed(&scene), []);
    assert_eq!(scene.said(), ["hi"]);
    assert_eq!(scene.ending(acpd_model::TurnId(1)).1, Some("end_turn"));
}

#[test]
fn rubbish_before_and_after_the_turn_belongs_to_the_thread() {
    let scene = check(|s| {
        s.create();
        s.says("starting up…");
        s.answer("initialize", crate::support::FULL);
        s.says("npm warn deprecated");
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.prompt("x");
        s.stops_with("end_turn");
        s.says("bye");
        s.exits("exit status 0");
    });
    assert_eq!(malformed(&scene).len(), 3);
}
