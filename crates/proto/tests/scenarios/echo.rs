//! Agents that echo their prompts.

use acpd_model::{EventKind, ItemEvent, MessageType, RawJson, SessionEvent};
use acpd_proto::projection::text_block;
use acpd_proto::thread::Command;
use serde_json::{Value, json};

use crate::support::{Scene, check, message, tool};

const STEERS: &str =
    r#"{"protocolVersion":1,"agentCapabilities":{},"_meta":{"steering":{"supported":true}}}"#;
const IMAGE: &str = r#"{"type":"image","data":"AAAA","mimeType":"image/png","uri":null,"_meta":{"a":1}}"#;

/// Returns an echo of a block. mistral-vibe gives the message an id.
fn echo(block: &str) -> String {
    format!(r#"{{"sessionUpdate":"user_message_chunk","messageId":"m-1","content":{block}}}"#)
}

fn echo_text(text: &str) -> String {
    echo(text_block(text).get())
}

/// Returns the texts of all user messages in the thread.
fn shown(s: &Scene) -> Vec<String> {
    let done = s.params("item/completed").into_iter();
    done.filter(|params| params["type"] == "userMessage")
        .map(|params| params["text"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the number of recorded echoes.
fn recorded(s: &Scene) -> usize {
    let is_echo = |event: &&acpd_model::Event| {
        matches!(event.kind, EventKind::Session(SessionEvent::AgentNotified { .. }))
            && event
                .raw
                .as_ref()
                .is_some_and(|raw| raw.get().contains("user_message_chunk"))
    };
    s.log.iter().filter(is_echo).count()
}

fn turn(s: &mut Scene, blocks: &[&str]) {
    s.open_session();
    let blocks = blocks.iter().map(|block| RawJson::parse(*block).unwrap());
    s.start_turn(blocks.collect(), None).unwrap();
}

#[test]
fn a_prompt_that_comes_back_is_recorded_and_not_shown() {
    check(|s| {
        s.open_turn();
        s.update(&echo_text("do it"));
        s.chunk("done");
        s.stops_with("end_turn");
        assert_eq!((shown(s), recorded(s)), (vec!["do it".to_owned()], 1));
        assert_eq!(s.said(), ["done"]);
        s.prompt("do it");
        s.update(r#"{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"do it"}}"#);
        s.stops_with("end_turn");
        assert_eq!((shown(s).len(), recorded(s)), (2, 2));
    });
}

#[test]
fn a_prompt_may_come_back_in_pieces_or_joined() {
    let blocks = [
        r#"{"type":"text","text":"see\nthis "}"#,
        IMAGE,
        r#"{"type":"text","text":"\nand that"}"#,
        r#"{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"A"}}"#,
        r#"{"type":"resource_link","uri":"file:///b","name":"b"}"#,
    ];
    let ways: [&[&str]; 4] = [
        &["see\nthis \n\n\nand that"],
        &["see", "\nthis ", "and ", "that"],
        &["see\nthis", "\n\n", "\nand that\n"],
        &["see\nthisand", " that"],
    ];
    for way in ways {
        check(|s| {
            turn(s, &blocks);
            for piece in way {
                s.update(&echo_text(piece));
            }
            // Other members or another order of members still make the same block.
            s.update(&echo(r#"{"mimeType":"image/png","type":"image","data":"AAAA"}"#));
            s.update(&echo(
                r#"{"type":"resource","resource":{"text":"A","uri":"file:///a","mimeType":null}}"#,
            ));
            s.update(&echo(
                r#"{"type":"resource_link","name":"other","uri":"file:///b","size":1}"#,
            ));
            s.stops_with("end_turn");
            assert_eq!((shown(s).len(), recorded(s)), (1, way.len() + 3), "{way:?}");
        });
    }
}

#[test]
fn anything_else_is_a_message() {
    let other_image = r#"{"type":"image","data":"BBBB","mimeType":"image/png"}"#;
    for odd in [
        vec![echo_text("do it!")],
        vec![echo_text("do")],
        vec![echo_text("")],
        vec![echo_text("o it")],
        vec![echo_text("do "), echo_text("that")],
        vec![echo(other_image)],
    ] {
        check(|s| {
            s.open_turn();
            for update in &odd {
                s.update(update);
            }
            s.update(&message("ok"));
            // The first difference ends the echo.
            s.update(&echo_text("do it"));
            s.stops_with("end_turn");
            let kept = s.params("item/userMessage");
            let text: String = kept
                .iter()
                .map(|params| params["text"].as_str().unwrap())
                .collect();
            let expected: String = odd
                .iter()
                .map(|update| {
                    let update: Value = serde_json::from_str(update).unwrap();
                    update["content"]["text"].as_str().unwrap_or_default().to_owned()
                })
                .collect();
            assert_eq!(text, format!("do it{expected}do it"), "{odd:?}");
            let last = s.said();
            assert_eq!(last, ["ok"]);
        });
    }
}

#[test]
fn a_prompt_that_comes_back_twice_is_a_message_the_second_time() {
    check(|s| {
        s.open_turn();
        s.update(&echo_text("do it"));
        s.update(&echo_text("do it"));
        s.stops_with("end_turn");
        assert_eq!(shown(s), ["do it", "do it"]);
        s.prompt("more");
        s.update(&echo_text("do it"));
        s.stops_with("end_turn");
        assert_eq!(shown(s), ["do it", "do it", "more", "do it"], "of another turn");
    });
}

#[test]
fn a_part_of_the_prompt_that_the_turn_ends_with_is_a_message() {
    check(|s| {
        s.open_turn();
        s.update(&echo_text("do"));
        s.update(r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#);
        s.stops_with("end_turn");
        assert_eq!(shown(s), ["do it", "do"]);
    });
    check(|s| {
        s.open_turn();
        s.update(&echo_text("do"));
        s.update(r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#);
        s.update(&echo_text(" it"));
        s.update(&tool("t", false, r#","status":"completed""#));
        s.stops_with("end_turn");
        assert_eq!(shown(s), ["do it"]);
    });
}

#[test]
fn words_for_the_running_turn_come_back_too() {
    check(|s| {
        s.create();
        s.answer("initialize", STEERS);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.prompt("begin");
        s.update(&echo_text("begin"));
        s.chunk("I will");
        let input = vec![text_block("but quickly")];
        s.send(Command::Steer {
            input,
            turn: None,
            client_turn_id: None,
        });
        s.update(&echo_text("but quickly"));
        s.answer("_session/steering", r#"{"outcome":"queuedForTurn"}"#);
        s.chunk("I do");
        s.stops_with("end_turn");
        assert_eq!(shown(s), ["begin", "but quickly"]);
        assert_eq!(recorded(s), 2);
    });
}

#[test]
fn the_earlier_conversation_comes_back_with_the_prompt_or_not() {
    for with_it in [true, false] {
        check(|s| {
            s.open_turn();
            s.chunk("yes");
            s.stops_with("end_turn");
            s.exits("gone");
            s.prompt("more");
            s.answer("initialize", r#"{"protocolVersion":1,"agentCapabilities":{}}"#);
            s.answer("session/new", r#"{"sessionId":"s-2"}"#);
            let sent = s.sent_as("session/prompt").pop().unwrap().json["params"]["prompt"].clone();
            assert_eq!(sent.as_array().unwrap().len(), 2, "{sent}");
            let primer = sent[0]["text"].as_str().unwrap().to_owned();
            let echoed = if with_it {
                format!("{primer}\n\nmore")
            } else {
                "more".to_owned()
            };
            let update = json!({ "sessionUpdate": "user_message_chunk",
                "content": { "type": "text", "text": echoed } });
            s.says(&format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s-2","update":{update}}}}}"#
            ));
            s.stops_with("end_turn");
            assert_eq!(
                (shown(s), recorded(s)),
                (vec!["do it".to_owned(), "more".to_owned()], 1)
            );
        });
    }
}

#[test]
fn users_words_are_users_words() {
    check(|s| {
        s.open_turn();
        s.update(&message("do it"));
        s.stops_with("end_turn");
        assert_eq!(s.said(), ["do it"], "the agent's own words are no echo");
        let roles = s.kinds().filter_map(|kind| match kind {
            EventKind::Item(ItemEvent::Delta { role, .. }) => Some(*role),
            _ => None,
        });
        assert_eq!(roles.collect::<Vec<_>>(), [MessageType::AgentMessage]);
    });
}
