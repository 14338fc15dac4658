//! Names and sentences of an agent that are absurdly long. The log has each once, as the agent's original message; no other member of
//! an event, no state and no answer repeats it.

use acpd_model::limits::{AGENT_ID_BYTES, AGENT_STATE_BYTES, AGENT_TEXT_BYTES};
use acpd_model::{Event, EventKind, ItemEvent, RequestEvent, SessionEvent};
use acpd_proto::projection::SessionChange;
use acpd_proto::thread::Answer;

use crate::support::{FULL, SESSION, Scene, message, tool};

/// An absurdly long text.
const ABSURD: usize = 8 << 20;

fn absurd() -> String {
    "x".repeat(ABSURD)
}

/// Returns the bytes of an event without the agent's original message.
fn own_bytes(event: &Event) -> usize {
    let own = Event {
        raw: None,
        raw_params: None,
        ..event.clone()
    };
    let mut bytes = Vec::new();
    own.encode(&mut bytes).unwrap();
    bytes.len()
}

/// Checks that no event, no answer and no state has more than what is read of a sentence.
fn check_bounds(scene: &Scene, what: &str) {
    let most = 4 * AGENT_TEXT_BYTES;
    for event in &scene.log {
        let bytes = own_bytes(event);
        assert!(bytes < most, "{what}: event {} has {bytes} bytes", event.seq);
    }
    let mut live = scene.thread.live().clone();
    // Unfinished calls have their own bound, for all of them together.
    drop(std::mem::take(&mut live.items));
    let bytes = serde_json::to_vec(&live).unwrap().len();
    assert!(bytes < 2 * most, "{what}: the state has {bytes} bytes");
    for sent in &scene.sent {
        let bytes = sent.text.len();
        assert!(bytes < most, "{what}: the agent is sent {bytes} bytes");
    }
}

fn last(scene: &Scene) -> &EventKind {
    &scene.log.last().unwrap().kind
}

#[test]
fn an_update_with_an_absurd_name_is_passed_on_without_effect() {
    let x = absurd();
    for (what, update) in [
        ("toolCallId", tool(&x, false, "")),
        ("toolCallId of an update", tool(&x, true, "")),
        (
            "currentModeId",
            format!(r#"{{"sessionUpdate":"current_mode_update","currentModeId":"{x}"}}"#),
        ),
        (
            "compactionId",
            format!(r#"{{"sessionUpdate":"compaction_update","compactionId":"{x}","status":"completed"}}"#),
        ),
        (
            "status of a compaction",
            format!(r#"{{"sessionUpdate":"compaction_update","compactionId":"c","status":"{x}"}}"#),
        ),
        (
            "plan",
            format!(
                r#"{{"sessionUpdate":"plan","entries":[{{"content":"{x}","priority":"high","status":"pending"}}]}}"#
            ),
        ),
        (
            "commands",
            format!(
                r#"{{"sessionUpdate":"available_commands_update","availableCommands":[{{"name":"{x}","description":""}}]}}"#
            ),
        ),
        (
            "options",
            format!(r#"{{"sessionUpdate":"config_option_update","configOptions":[{{"id":"{x}"}}]}}"#),
        ),
        (
            "cost",
            format!(
                r#"{{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{{"amount":1,"currency":"{x}"}}}}"#
            ),
        ),
        ("sessionUpdate", format!(r#"{{"sessionUpdate":"{x}"}}"#)),
    ] {
        let mut scene = Scene::new();
        scene.open_turn();
        let before = scene.log.len();
        scene.update(&update);
        assert_eq!(scene.log.len(), before + 1, "{what}");
        assert!(
            matches!(last(&scene), EventKind::Session(SessionEvent::AgentNotified { method }) if method == "session/update"),
            "{what}"
        );
        let raw = scene.log[before].raw.as_ref().unwrap();
        assert!(raw.get() == update, "{what}: it is passed on");
        check_bounds(&scene, what);
        assert!(scene.thread.live().items.is_empty(), "{what}");
    }
    // A message keeps its text.
    let mut scene = Scene::new();
    scene.open_turn();
    scene.update(&format!(
        r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"a"}},"messageId":"{x}"}}"#
    ));
    scene.chunk("b");
    scene.stops_with("end_turn");
    assert_eq!(scene.said().concat(), "ab");
    check_bounds(&scene, "messageId");
}

#[test]
fn an_absurd_sentence_is_shortened() {
    let x = absurd();
    for (what, update) in [
        ("title", tool("t", false, &format!(r#","title":"{x}""#))),
        ("kind", tool("t", false, &format!(r#","kind":"{x}""#))),
        (
            "path of a diff",
            tool(
                "t",
                false,
                &format!(r#","content":[{{"type":"diff","path":"/{x}","newText":"a"}}]"#),
            ),
        ),
        (
            "title of a notice",
            format!(r#"{{"sessionUpdate":"notice","severity":"error","title":"{x}"}}"#),
        ),
        (
            "description of a notice",
            format!(r#"{{"sessionUpdate":"notice","severity":"error","title":"t","description":"{x}"}}"#),
        ),
        (
            "title of a session",
            format!(r#"{{"sessionUpdate":"session_info_update","title":"{x}"}}"#),
        ),
    ] {
        let mut scene = Scene::new();
        scene.open_turn();
        let before = scene.log.len();
        scene.update(&update);
        let first = &scene.log[before];
        assert!(
            !matches!(first.kind, EventKind::Session(SessionEvent::AgentNotified { .. })),
            "{what}: {:?}",
            first.kind
        );
        assert!(
            first.raw.as_ref().unwrap().get() == update,
            "{what}: it is passed on"
        );
        check_bounds(&scene, what);
    }
}

#[test]
fn messages_with_absurd_methods_or_ids_are_refused() {
    let x = absurd();
    for (what, line, answered) in [
        (
            "notification",
            format!(r#"{{"jsonrpc":"2.0","method":"_{x}","params":{{}}}}"#),
            false,
        ),
        (
            "request",
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"_{x}","params":{{}}}}"#),
            true,
        ),
        (
            "id",
            format!(r#"{{"jsonrpc":"2.0","id":"{x}","method":"fs/read_text_file","params":{{}}}}"#),
            false,
        ),
        (
            "params",
            format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{SESSION}","update":{{"sessionUpdate":7,"x":"{x}"}}}}}}"#
            ),
            false,
        ),
    ] {
        let mut scene = Scene::new();
        scene.open_turn();
        let before = scene.sent.len();
        scene.says(&line);
        assert_eq!(scene.sent.len() - before, usize::from(answered), "{what}");
        check_bounds(&scene, what);
        scene.chunk("next");
        scene.stops_with("end_turn");
        assert_eq!(scene.said(), ["next"], "{what}");
    }
}

#[test]
fn a_request_with_an_absurd_member_is_refused_or_shown_in_part() {
    let x = absurd();
    let option = r#"{"optionId":"a","name":"Yes","kind":"allow_once"}"#;
    let asks_in = |session: &str, call: &str, option: &str| {
        format!(r#"{{"sessionId":"{session}","toolCall":{call},"options":[{option}]}}"#)
    };
    let permission = |call: &str, option: &str| asks_in(SESSION, call, option);
    let call = r#"{"toolCallId":"t","title":"t"}"#;
    let form = |mode: &str, message: &str| {
        format!(
            r#"{{"sessionId":"{SESSION}","mode":"{mode}","message":"{message}","requestedSchema":{{"type":"object","properties":{{}}}}}}"#
        )
    };
    let ask = "session/request_permission";
    let elicit = "elicitation/create";
    for (method, params, is_asked) in [
        (
            ask,
            permission(&format!(r#"{{"toolCallId":"{x}"}}"#), option),
            false,
        ),
        (
            ask,
            permission(&format!(r#"{{"toolCallId":"t","title":"{x}"}}"#), option),
            true,
        ),
        (
            ask,
            permission(call, &format!(r#"{{"optionId":"{x}","kind":"allow_once"}}"#)),
            false,
        ),
        (
            ask,
            permission(call, &format!(r#"{{"optionId":"a","kind":"{x}"}}"#)),
            false,
        ),
        (
            ask,
            permission(
                call,
                &format!(r#"{{"optionId":"a","name":"{x}","kind":"allow_once"}}"#),
            ),
            true,
        ),
        (elicit, form("form", &x), true),
        (elicit, form(&x, "m"), false),
        // The session of a subagent becomes a part of the id.
        (ask, asks_in(&x, call, option), false),
        (
            "fs/read_text_file",
            format!(r#"{{"sessionId":"{x}","path":"/a"}}"#),
            false,
        ),
        (
            "fs/read_text_file",
            format!(r#"{{"sessionId":"{SESSION}","path":"/{x}"}}"#),
            false,
        ),
        (
            "fs/write_text_file",
            format!(r#"{{"sessionId":"{SESSION}","path":"/{x}","content":""}}"#),
            false,
        ),
        (
            "fs/read_text_file",
            format!(r#"{{"sessionId":"{SESSION}","path":"/a","line":"{x}"}}"#),
            false,
        ),
        (
            "terminal/create",
            format!(r#"{{"sessionId":"{SESSION}","command":"ls","cwd":"/{x}"}}"#),
            false,
        ),
        (
            "terminal/create",
            format!(r#"{{"sessionId":"{SESSION}","command":"{x}"}}"#),
            false,
        ),
        (
            "terminal/create",
            format!(r#"{{"sessionId":"{SESSION}","command":"ls","args":["{x}"]}}"#),
            false,
        ),
        (
            "terminal/output",
            format!(r#"{{"sessionId":"{SESSION}","terminalId":"{x}"}}"#),
            false,
        ),
    ] {
        let mut scene = Scene::new();
        scene.open_turn();
        scene.calls("7", method, &params);
        let is_open = !scene.thread.live().requests.is_empty();
        let head: String = params.chars().take(60).collect();
        assert_eq!(is_open, is_asked, "{method} {head}");
        if !is_asked {
            assert!(scene.answer_to(&7.into())["error"].is_object(), "{method} {head}");
        }
        check_bounds(&scene, method);
    }
}

/// Each question has a part of its own that is long: the agent's params, or the call that it does not repeat.
#[test]
fn open_questions_keep_no_long_params() {
    const QUESTIONS: usize = 40;
    let long = "x".repeat(60_000);
    let options = r#"[{"optionId":"a","name":"Yes","kind":"allow_once"}]"#;
    let mut scene = Scene::new();
    scene.open_turn();
    for number in 0..QUESTIONS {
        let id = format!("t{number}");
        let input = format!(r#""title":"t","kind":"execute","rawInput":{{"command":"echo {long}"}}"#);
        let call = if number % 2 == 0 {
            scene.update(&tool(&id, false, &format!(",{input}")));
            format!(r#"{{"toolCallId":"{id}"}}"#)
        } else {
            format!(r#"{{"toolCallId":"{id}",{input}}}"#)
        };
        let params = format!(r#"{{"sessionId":"{SESSION}","toolCall":{call},"options":{options}}}"#);
        scene.calls(&number.to_string(), "session/request_permission", &params);
    }
    let live = scene.thread.live();
    assert_eq!(live.requests.len(), QUESTIONS);
    let kept = serde_json::to_vec(&live.requests).unwrap().len();
    assert!(kept < QUESTIONS * AGENT_TEXT_BYTES, "{kept} bytes");
    for open in live.requests.values() {
        let whole = scene
            .log
            .iter()
            .find(|event| event.seq == open.event.seq)
            .unwrap();
        assert!(open.left_out > 60_000 && own_bytes(whole) > 60_000, "{}", open.id);
    }
    // An answer finds its option.
    scene.decide(1, Answer::Option("a".into())).unwrap();
    assert_eq!(scene.answer_to(&0.into())["result"]["outcome"]["optionId"], "a");
    // A short question is kept as it came.
    scene.asks_permission("99", "short");
    let short = scene.thread.live().requests.values().next_back().unwrap();
    assert_eq!(
        (short.left_out, Some(&short.event)),
        (0, asked(&scene).next_back())
    );
}

/// Returns the events of permission requests.
fn asked(scene: &Scene) -> impl DoubleEndedIterator<Item = &Event> {
    let is_question = |event: &&Event| {
        matches!(
            event.kind,
            EventKind::Request(RequestEvent::PermissionRequested { .. })
        )
    };
    scene.log.iter().filter(is_question)
}

#[test]
fn reasons_for_the_end_of_a_turn_are_bounded() {
    let x = absurd();
    let ends: [fn(&mut Scene, &str); 4] = [
        |scene, x| scene.stops_with(x),
        |scene, x| scene.refuse("session/prompt", -32000, x),
        |scene, x| {
            scene.refuse_with(
                "session/prompt",
                &format!(r#"{{"code":1,"message":"m","data":"{x}"}}"#),
            );
        },
        |scene, x| {
            let usage = format!(r#"{{"stopReason":"end_turn","usage":{{"x":"{x}"}}}}"#);
            scene.answer("session/prompt", &usage);
        },
    ];
    for (at, end) in ends.into_iter().enumerate() {
        let mut scene = Scene::new();
        scene.open_turn();
        end(&mut scene, &x);
        assert_eq!(scene.settled_turns().len(), 1, "{at}");
        check_bounds(&scene, &format!("end {at}"));
    }
}

#[test]
fn a_session_with_an_absurd_id_or_state_is_not_opened() {
    let x = absurd();
    let long_id = "x".repeat(AGENT_ID_BYTES + 1);
    let large = "x".repeat(AGENT_STATE_BYTES);
    for (hello, session) in [
        (
            format!(r#"{{"protocolVersion":1,"agentInfo":{{"name":"{x}"}}}}"#),
            None,
        ),
        (FULL.to_owned(), Some(format!(r#"{{"sessionId":"{long_id}"}}"#))),
        (
            FULL.to_owned(),
            Some(format!(r#"{{"sessionId":"{SESSION}","modes":"{large}"}}"#)),
        ),
    ] {
        let mut scene = Scene::new();
        let call = scene.create_with(SessionChange::default());
        scene.answer("initialize", &hello);
        if let Some(session) = session {
            scene.answer("session/new", &session);
        }
        let failure = scene.replies[&call].as_ref().unwrap_err();
        assert!(failure.message.len() < 500, "{} bytes", failure.message.len());
        check_bounds(&scene, &failure.message);
    }
}

#[test]
fn an_id_of_usual_length_has_its_effect() {
    let mut scene = Scene::new();
    scene.open_turn();
    // Some services give out ids of several hundred bytes.
    let id = "x".repeat(AGENT_ID_BYTES);
    scene.update(&tool(&id, false, r#","title":"t""#));
    scene.update(&tool(&id, true, r#","status":"completed""#));
    scene.update(&message("done"));
    scene.stops_with("end_turn");
    assert!(
        scene
            .kinds()
            .any(|kind| matches!(kind, EventKind::Item(ItemEvent::Completed { .. })))
    );
    assert_eq!(scene.said(), ["done"]);
}
