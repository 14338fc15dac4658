//! Unknown content is forwarded unchanged: the log stores it exactly, and clients receive it.

use acpd_model::{Event, EventKind, ItemEvent, MessageType, SessionEvent};
use acpd_proto::surface::app::Frame;
use serde_json::Value;

use crate::support::{SESSION, Scene, check, message};

/// Returns the exact `update` behind an event.
fn update_of(event: &Event) -> Option<String> {
    if let Some(raw) = &event.raw {
        return Some(raw.get().to_owned());
    }
    match &event.kind {
        EventKind::Item(ItemEvent::Delta { role, text, .. }) => {
            let word = match role {
                MessageType::UserMessage => "user_message_chunk",
                MessageType::AgentMessage => "agent_message_chunk",
                MessageType::AgentThought => "agent_thought_chunk",
            };
            let text = Value::from(text.as_str());
            Some(format!(
                r#"{{"sessionUpdate":"{word}","content":{{"type":"text","text":{text}}}}}"#
            ))
        }
        _ => None,
    }
}

/// Sends updates, one in each window, and checks that the log contains each of them unchanged.
fn kept(updates: &[&str]) {
    let scene = check(|s| {
        s.open_turn();
        for update in updates {
            s.update(update);
            s.later(20);
        }
        s.stops_with("end_turn");
    });
    let stored: Vec<String> = scene.log.iter().filter_map(update_of).collect();
    for update in updates {
        assert!(
            stored.iter().any(|stored| stored == update),
            "{update} is not in {stored:#?}"
        );
        let shown_whole = [
            "hologram",
            "tool_call",
            "available_commands",
            "config_option",
            "session_info",
            "notice",
        ];
        if shown_whole
            .iter()
            .any(|kind| update.contains(&format!(r#""sessionUpdate":"{kind}"#)))
        {
            let shown = |frame: &Frame| std::str::from_utf8(&frame.text).unwrap().contains(update);
            assert!(scene.frames.iter().any(shown), "clients are not shown {update}");
        }
    }
}

#[test]
fn unknown_kinds_and_members() {
    kept(&[
        r#"{"sessionUpdate":"hologram","x":1.10,"y":1234567890123456789012,"_meta":{"a":[null]}}"#,
        r#"{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":1.10,"currency":"USD"},"new":7}"#,
        r#"{"sessionUpdate":"tool_call","toolCallId":"t","rawInput":{"n":1234567890123456789012},"vendor":1.10}"#,
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","rawOutput":{"b":1,"a":1234567890123456789012},"status":"completed"}"#,
        r#"{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"x","n":1234567890123456789012}]}"#,
        r#"{"sessionUpdate":"config_option_update","configOptions":[{"id":"m","odd":1.10}]}"#,
        r#"{"sessionUpdate":"session_info_update","title":"T","_meta":{"n":1234567890123456789012}}"#,
    ]);
    kept(&[
        r#"{"sessionUpdate":"current_mode_update","currentModeId":"x","_meta":{"k":1}}"#,
        r#"{"sessionUpdate":"plan","entries":[{"content":"c","priority":"high","status":"pending","extra":1}],"_meta":{}}"#,
        r#"{"sessionUpdate":"notice","severity":"warning","title":"low disk","more":[1]}"#,
        r#"{"sessionUpdate":"compaction_update","compactionId":"c","status":"in_progress","more":1}"#,
    ]);
}

#[test]
fn wrong_types() {
    kept(&[
        r#"{"sessionUpdate":"agent_message_chunk","content":7}"#,
        r#"{"sessionUpdate":"agent_message_chunk"}"#,
        r#"{"sessionUpdate":"plan","entries":"none"}"#,
        r#"{"sessionUpdate":"plan"}"#,
        r#"{"sessionUpdate":"tool_call"}"#,
        r#"{"sessionUpdate":"tool_call","toolCallId":5}"#,
        r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":7,"kind":[],"status":{},"content":"x","locations":9}"#,
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","content":[1,{"type":"diff"}],"status":"\"diff\""}"#,
        r#"{"sessionUpdate":"usage_update","used":-1,"size":2}"#,
        r#"{"sessionUpdate":"usage_update","used":1e999,"size":2}"#,
        r#"{"sessionUpdate":"current_mode_update","currentModeId":null}"#,
        r#"{"sessionUpdate":7}"#,
        r#"{"sessionUpdate":null}"#,
        "{}",
        "[]",
        "7",
        r#""text""#,
    ]);
}

#[test]
fn halves_of_characters_are_carried() {
    kept(&[
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\ud83d"}}"#,
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\ude00"}}"#,
        r#"{"sessionUpdate":"\ud83d"}"#,
    ]);
}

#[test]
fn chunks_with_more_to_them() {
    kept(&[
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"messageId":"m","vendor":1}"#,
        r#"{"content":{"text":"b","type":"text"},"sessionUpdate":"agent_message_chunk","messageId":"m"}"#,
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"c","annotations":{"priority":1.10}}}"#,
        r#"{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"d"},"_meta":{"n":1234567890123456789012}}"#,
        r#"{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"e"},"_meta":null}"#,
    ]);
}

/// Chunks merge only if the result loses nothing. A member that only one of them has must not be dropped.
#[test]
fn a_chunk_with_an_unknown_member_is_not_merged_away() {
    let odd = |text: &str, n: u32| {
        format!(
            r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}},"vendor":{n}}}"#
        )
    };
    let scene = check(|s| {
        s.open_turn();
        s.chunk("a");
        s.chunk("b");
        s.update(&odd("c", 1));
        s.update(&odd("d", 2));
        s.chunk("e");
        s.later(10);
        s.stops_with("end_turn");
    });
    let stored: Vec<String> = scene.log.iter().filter_map(update_of).collect();
    for update in [odd("c", 1), odd("d", 2), message("b")] {
        assert!(stored.contains(&update), "{update} is not in {stored:#?}");
    }
    assert_eq!(scene.said(), ["abcde"], "it is text all the same");
}

#[test]
fn members_beside_the_update_are_kept() {
    let lines = [
        format!(
            r#"{{"sessionId":"{SESSION}","update":{},"_meta":{{"n":1234567890123456789012}}}}"#,
            message("a")
        ),
        format!(
            r#"{{"_meta":{{"x":1.10}},"sessionId":"{SESSION}","update":{}}}"#,
            message("b")
        ),
        format!(r#"{{"update":{},"sessionId":"{SESSION}"}}"#, message("c")),
        format!(r#"{{"sessionId":"{SESSION}", "update":{}}}"#, message("d")),
        format!(r#"{{"sessionId":"{SESSION}","update":{{"sessionUpdate":"x"}},"more":[]}}"#),
    ];
    let scene = check(|s| {
        s.open_turn();
        for params in &lines {
            s.says(&format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{params}}}"#
            ));
        }
        s.stops_with("end_turn");
    });
    let stored: Vec<&str> = scene
        .log
        .iter()
        .filter_map(|event| Some(event.raw_params.as_ref()?.get()))
        .collect();
    assert_eq!(stored, lines);
    assert_eq!(scene.said(), ["abcd"]);
}

/// Returns the method and params of all events with an unhandled notification.
fn notified(scene: &Scene) -> Vec<(&str, Option<&str>)> {
    scene
        .log
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Session(SessionEvent::AgentNotified { method }) => {
                Some((method.as_str(), event.raw.as_ref().map(acpd_model::RawJson::get)))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn foreign_notifications_are_forwarded() {
    let scene = check(|s| {
        s.open_turn();
        for line in [
            r#"{"jsonrpc":"2.0","method":"_vendor/x","params":{"b":1.10,"a":1234567890123456789012}}"#,
            r#"{"jsonrpc":"2.0","method":"_vendor/none"}"#,
            r#"{"jsonrpc":"2.0","method":"_vendor/null","params":null}"#,
            r#"{"jsonrpc":"2.0","method":"_vendor/list","params":[1,2]}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"plan","entries":[]}}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":null}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1"}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":7,"update":{}}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update"}"#,
            r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":99}}"#,
            r#"{"jsonrpc":"2.0","method":"$/cancel_request"}"#,
            r#"{"jsonrpc":"2.0","method":"session/prompt","params":{}}"#,
        ] {
            s.says(line);
        }
        s.stops_with("end_turn");
    });
    assert_eq!(
        notified(&scene),
        [
            ("_vendor/x", Some(r#"{"b":1.10,"a":1234567890123456789012}"#)),
            ("_vendor/none", None),
            ("_vendor/null", None),
            ("_vendor/list", Some("[1,2]")),
            (
                "session/update",
                Some(r#"{"sessionId":"other","update":{"sessionUpdate":"plan","entries":[]}}"#)
            ),
            ("session/update", Some(r#"{"sessionId":"s-1","update":null}"#)),
            ("session/update", Some(r#"{"sessionId":"s-1"}"#)),
            ("session/update", Some(r#"{"sessionId":7,"update":{}}"#)),
            ("session/update", None),
            ("$/cancel_request", Some(r#"{"requestId":99}"#)),
            ("$/cancel_request", None),
            ("session/prompt", Some("{}")),
        ]
    );
    let shown = scene
        .frames
        .iter()
        .find(|frame| frame.method == "agent/notification")
        .unwrap();
    let text = std::str::from_utf8(&shown.text).unwrap();
    assert!(
        text.contains(r#""method":"_vendor/x","params":{"b":1.10,"a":1234567890123456789012}"#),
        "{text}"
    );
    assert!(
        scene.params("turn/plan/updated").is_empty(),
        "another session's plan is not this thread's"
    );
}

#[test]
fn an_extension_request_is_refused_and_recorded() {
    let scene = check(|s| {
        s.open_turn();
        s.calls("\"x-1\"", "_vendor/pick", r#"{"n":1234567890123456789012}"#);
        s.calls("8", "mcp/message", r#"{"sessionId":"s-1"}"#);
        s.calls("null", "terminal/hologram", "[]");
        s.stops_with("end_turn");
    });
    for id in ["x-1".into(), 8.into(), Value::Null] {
        assert_eq!(scene.answer_to(&id)["error"]["code"], -32601);
    }
    let refused = scene
        .log
        .iter()
        .find(|event| matches!(event.kind, EventKind::Session(SessionEvent::CallRefused { .. })));
    assert_eq!(
        refused.unwrap().raw.as_ref().unwrap().get(),
        r#"{"n":1234567890123456789012}"#
    );
    assert_eq!(scene.notices(), ["callRefused"; 3]);
}

#[test]
fn a_question_shows_the_tool_call_as_it_came() {
    let call = r#"{"toolCallId":"t","title":"\ud83d","kind":"execute","rawInput":{"command":"ls","n":1234567890123456789012,"a":1.10}}"#;
    let scene = check(|s| {
        s.open_turn();
        s.calls(
            "7",
            "session/request_permission",
            &format!(r#"{{"sessionId":"s-1","toolCall":{call},"options":[]}}"#),
        );
    });
    let asked = scene.frames.iter().find(|frame| frame.ask.is_some()).unwrap();
    let text = std::str::from_utf8(&asked.text).unwrap();
    assert!(text.contains(&format!(r#""toolCall":{call}"#)), "{text}");
    assert!(text.contains(r#""command":"ls""#), "{text}");
}

#[test]
fn modes_and_options_of_the_session_are_shown_as_they_came() {
    let modes = r#"{"currentModeId":"a","availableModes":[{"name":"A","id":"a"}],"zeta":1,"alpha":1234567890123456789012}"#;
    let options = r#"[{"type":"select","id":"m","zeta":1.10,"alpha":1234567890123456789012}]"#;
    check(|s| {
        s.create();
        s.answer("initialize", crate::support::FULL);
        s.answer(
            "session/new",
            &format!(r#"{{"sessionId":"s-1","modes":{modes},"configOptions":{options},"odd":"\ud83d"}}"#),
        );
        let live = s.thread.live();
        assert_eq!(live.modes.as_ref().unwrap().get(), modes);
        assert_eq!(live.config_options.as_ref().unwrap().get(), options);
        assert_eq!(live.mode.as_deref(), Some("a"));
        s.update(&format!(
            r#"{{"sessionUpdate":"config_option_update","configOptions":{options}}}"#
        ));
        assert_eq!(s.thread.live().config_options.as_ref().unwrap().get(), options);
        s.update(r#"{"sessionUpdate":"config_option_update"}"#);
        assert_eq!(
            s.thread.live().config_options.as_ref().unwrap().get(),
            options,
            "it says nothing of them"
        );
    });
}
