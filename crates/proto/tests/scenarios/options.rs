//! The options of permission requests: the user's selection reaches the agent as intended.

use acpd_model::limits::QUESTION_OPTIONS;
use acpd_model::{ErrorCode, EventKind, SessionEvent};
use acpd_proto::thread::{Answer, PickedOption, Verdict};
use serde_json::json;

use crate::support::{Scene, check};

fn asks(scene: &mut Scene, options: &str) {
    scene.open_turn();
    let call = r#"{"toolCallId":"t","title":"x","kind":"execute","rawInput":{"command":"touch x"}}"#;
    scene.calls(
        "7",
        "session/request_permission",
        &format!(r#"{{"sessionId":"s-1","toolCall":{call},"options":{options}}}"#),
    );
}

/// "Refuse" would have been read as the first option with that id, which allows.
#[test]
fn options_with_equal_ids_are_refused() {
    check(|s| {
        let name = "x".repeat(4_000);
        asks(
            s,
            &format!(
                r#"[{{"optionId":"{name}","name":"Allow","kind":"allow_always"}},{{"optionId":"{name}","name":"Refuse","kind":"reject_once"}}]"#
            ),
        );
        assert!(s.thread.live().requests.is_empty());
        assert_eq!(s.answer_to(&json!(7))["error"]["code"], -32602);
        let recorded = s.kinds().find_map(|kind| match kind {
            EventKind::Session(SessionEvent::CallRefused { method, reason, .. }) => {
                Some((method.as_str(), reason.as_str()))
            }
            _ => None,
        });
        let (method, reason) = recorded.expect("it is in the log");
        assert_eq!(method, "session/request_permission");
        assert!(reason.contains("two options") && reason.len() < 500, "{reason}");
    });
}

#[test]
fn questions_with_too_many_options_are_refused() {
    for (count, is_asked) in [(QUESTION_OPTIONS, true), (QUESTION_OPTIONS + 1, false)] {
        check(|s| {
            let options: Vec<_> = (0..count)
                .map(|at| json!({ "optionId": at.to_string(), "name": "x", "kind": "allow_once" }))
                .collect();
            asks(s, &json!(options).to_string());
            assert_eq!(s.thread.live().requests.is_empty(), !is_asked);
            let refused = s
                .kinds()
                .any(|kind| matches!(kind, EventKind::Session(SessionEvent::CallRefused { .. })));
            assert_eq!(refused, !is_asked);
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn contradictory_answers_are_refused() {
    let verdict = |allow, always| Some(Verdict { allow, always });
    let wrong = [
        ("aa", Some("reject_once"), None),
        ("aa", Some("allow_once"), None),
        ("aa", Some(""), None),
        ("aa", None, verdict(false, false)),
        ("aa", None, verdict(false, true)),
        ("ao", None, verdict(true, true)),
        ("ro", None, verdict(true, false)),
        ("ro", None, verdict(false, true)),
        ("ra", None, verdict(true, true)),
        ("ao", Some("allow_once"), verdict(false, false)),
        ("odd", None, verdict(true, false)),
        ("odd", None, verdict(false, false)),
    ];
    let right = [
        ("aa", Some("allow_always"), verdict(true, true)),
        ("aa", None, verdict(true, false)),
        ("ra", None, verdict(false, true)),
        ("ra", Some("reject_always"), verdict(false, false)),
        ("odd", Some("_odd"), None),
    ];
    let options = concat!(
        r#"[{"optionId":"aa","name":"No","kind":"allow_always"},{"optionId":"ao","name":"Once","kind":"allow_once"},"#,
        r#"{"optionId":"ro","name":"Yes","kind":"reject_once"},{"optionId":"ra","name":"Never","kind":"reject_always"},"#,
        r#"{"optionId":"odd","name":"Later","kind":"_odd"}]"#
    );
    let answer = |(id, kind, verdict): (&str, Option<&str>, _)| {
        Answer::Option(PickedOption {
            option_id: id.to_owned(),
            kind: kind.map(str::to_owned),
            verdict,
        })
    };
    for last in right {
        check(|s| {
            asks(s, options);
            for wrong in wrong {
                let refused = s.decide(1, answer(wrong)).unwrap_err();
                assert_eq!(refused.code, ErrorCode::InvalidParams, "{wrong:?}");
                assert_eq!(s.thread.live().requests.len(), 1, "it stays open");
            }
            s.decide(1, answer(last)).unwrap();
            let outcome = &s.answer_to(&json!(7))["result"]["outcome"]["outcome"];
            assert_eq!(outcome, "selected");
        });
    }
}
