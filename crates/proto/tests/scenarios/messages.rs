//! Messages: the assembly of chunks, and the merging of deltas.

use acpd_model::limits::{COALESCE_BYTES, MESSAGE_ITEM_BYTES, REPEATED_MEMBERS_BYTES};
use acpd_model::{EventKind, ItemEvent, ItemId, ItemOutcome, MessageType, RawJson};
use serde_json::{Value, json};

use crate::support::{SESSION, Scene, check, message, thought, tool};

fn with_id(text: &str, id: &str) -> String {
    format!(
        r#"{{"sessionUpdate":"agent_message_chunk","messageId":"{id}","content":{{"type":"text","text":"{text}"}}}}"#
    )
}

/// Returns the messages in order: role and text.
fn spoken(scene: &Scene) -> Vec<(String, String)> {
    let done = scene.params("item/completed");
    let word = |params: &Value, key: &str| params[key].as_str().unwrap().to_owned();
    done[1..]
        .iter()
        .map(|params| (word(params, "type"), word(params, "text")))
        .collect()
}

#[test]
fn the_first_delta_leaves_at_once_and_the_rest_is_merged() {
    check(|s| {
        s.open_turn();
        s.chunk("a");
        assert_eq!(s.deltas(), ["a"]);
        s.later(1);
        s.chunk("b");
        s.later(8);
        s.chunk("c");
        assert_eq!(s.deltas(), ["a"], "the window is open");
        s.later(1);
        assert_eq!(s.deltas(), ["a", "bc"], "10 ms after the first");
        s.chunk("d");
        s.later(9);
        assert_eq!(s.deltas(), ["a", "bc"]);
        s.later(1);
        assert_eq!(s.deltas(), ["a", "bc", "d"]);
        s.later(10);
        s.chunk("e");
        assert_eq!(s.deltas(), ["a", "bc", "d", "e"], "quiet again, at once again");
        s.stops_with("end_turn");
        assert_eq!(s.said(), ["abcde"]);
    });
}

#[test]
fn four_kib_do_not_wait_for_the_window() {
    check(|s| {
        s.open_turn();
        s.chunk("a");
        let half = "x".repeat(COALESCE_BYTES / 2);
        s.chunk(&half);
        assert_eq!(s.deltas().len(), 1);
        s.chunk(&half);
        assert_eq!(s.deltas().len(), 2);
        assert_eq!(s.deltas()[1].len(), COALESCE_BYTES);
        s.later(10);
        let large = "y".repeat(3 * COALESCE_BYTES);
        s.chunk(&large);
        s.stops_with("end_turn");
        assert_eq!(s.said()[0].len(), 1 + 4 * COALESCE_BYTES);
    });
}

#[test]
fn other_events_flush_first() {
    let others: [fn(&mut Scene); 12] = [
        |s| s.update(&tool("t", false, "")),
        |s| s.update(&thought("hm")),
        |s| s.update(r#"{"sessionUpdate":"plan","entries":[]}"#),
        |s| s.says("rubbish"),
        |s| s.asks_permission("7", "t"),
        |s| s.update(&with_id("other", "m2")),
        |s| s.update(r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#),
        |s| s.calls("8", "_example.com/unknown", "{}"),
        |s| {
            s.prompt("next");
        },
        |s| s.stops_with("end_turn"),
        Scene::interrupt,
        |s| s.exits("gone"),
    ];
    for other in others {
        check(|s| {
            s.open_turn();
            s.chunk("a");
            s.chunk("b");
            s.chunk("c");
            let before = s.next_seq();
            other(s);
            assert_eq!(s.methods_from(before)[0], "item/agentMessage/delta");
            assert_eq!(s.deltas()[..2], ["a", "bc"]);
            assert!(s.methods_from(before).len() > 1);
        });
    }
}

#[test]
fn a_time_out_with_nothing_held_says_nothing() {
    check(|s| {
        s.open_turn();
        s.chunk("a");
        let before = s.next_seq();
        s.later(1000);
        s.thread.handle_timeout(s.now);
        s.settle();
        assert_eq!(s.next_seq(), before);
        s.stops_with("end_turn");
    });
}

#[test]
fn real_repetitions_are_text() {
    check(|s| {
        s.open_turn();
        for _ in 0..3 {
            s.chunk("ha");
        }
        s.update(&tool("t", false, r#","status":"completed""#));
        s.chunk("ha");
        s.chunk("ha");
        s.stops_with("end_turn");
        assert_eq!(s.said(), ["hahaha", "haha"]);
    });
}

#[test]
fn another_message_id_is_another_message() {
    check(|s| {
        s.open_turn();
        s.update(&with_id("a", "m1"));
        s.update(&with_id("b", "m1"));
        s.update(&with_id("c", "m2"));
        s.update(&message("d"));
        s.stops_with("end_turn");
        assert_eq!(s.said(), ["ab", "c", "d"]);
        let started: Vec<Value> = s
            .params("item/started")
            .iter()
            .map(|p| p["messageId"].clone())
            .collect();
        assert_eq!(started, [Value::Null, json!("m1"), json!("m2"), Value::Null]);
    });
}

#[test]
fn a_message_too_long_for_an_item_continues_in_the_next_one() {
    check(|s| {
        s.open_turn();
        let half = "x".repeat(MESSAGE_ITEM_BYTES / 2);
        for _ in 0..5 {
            s.update(&with_id(&half, "m"));
        }
        s.stops_with("end_turn");
        let sizes: Vec<usize> = s.said().iter().map(String::len).collect();
        assert_eq!(sizes, [2 * half.len(), 2 * half.len(), half.len()]);
        let started = s.params("item/started");
        let ids: Vec<&Value> = started.iter().map(|params| &params["messageId"]).collect();
        assert_eq!(ids, [&Value::Null, &json!("m"), &json!("m"), &json!("m")]);
    });
}

#[test]
fn a_chunk_that_is_too_long_for_an_item_is_divided_between_characters() {
    // The second text has an escape, so its update is read in another way.
    for text in [
        "é".repeat(MESSAGE_ITEM_BYTES + 1),
        format!("\n{}", "€".repeat(MESSAGE_ITEM_BYTES / 2)),
    ] {
        check(|s| {
            s.open_turn();
            s.chunk("a");
            s.chunk(&text);
            s.update(&thought(&text));
            s.stops_with("end_turn");
            let said = s.said();
            assert!(said.iter().all(|part| part.len() <= MESSAGE_ITEM_BYTES));
            assert_eq!(said.concat(), format!("a{text}{text}"));
            assert!(said.len() <= 7, "{}", said.len());
        });
    }
}

/// Returns the texts of all deltas and blocks of messages.
fn parts(scene: &Scene) -> Vec<String> {
    let text = |block: &RawJson| block.read::<Value>().unwrap()["text"].as_str().map(str::to_owned);
    let parts = scene.kinds().filter_map(|kind| match kind {
        EventKind::Item(ItemEvent::Delta { text, .. }) => Some(text.clone()),
        EventKind::Item(ItemEvent::Content { block, .. }) => text(block),
        _ => None,
    });
    parts.collect()
}

#[test]
fn a_long_text_is_divided_whatever_else_its_update_has() {
    let text = "é\n".repeat(MESSAGE_ITEM_BYTES / 2);
    let json = Value::from(&*text);
    let plain = format!(r#"{{"type":"text","text":{json}}}"#);
    let meta = |bytes| format!(r#""_meta":{{"n":"{}"}}"#, "m".repeat(bytes));
    for (kind, content, more, with_more) in [
        ("agent_message_chunk", plain.clone(), meta(10), 2),
        ("agent_thought_chunk", plain.clone(), meta(10), 2),
        ("user_message_chunk", plain.clone(), meta(10), 2),
        // Only the first part has much.
        ("agent_message_chunk", plain, meta(REPEATED_MEMBERS_BYTES), 1),
        (
            "agent_message_chunk",
            format!(r#"{{"text":{json},"annotations":{{"priority":1.50}},"type":"text"}}"#),
            r#""x":1"#.to_owned(),
            2,
        ),
        (
            "agent_message_chunk",
            format!(r#"{{"type":"text","te\u0078t":{json}}}"#),
            meta(10),
            2,
        ),
    ] {
        check(|s| {
            s.open_turn();
            s.update(&format!(
                r#"{{{more},"sessionUpdate":"{kind}","content":{content},"messageId":"m"}}"#
            ));
            s.stops_with("end_turn");
            let parts = parts(s);
            assert!(parts.iter().all(|part| part.len() <= MESSAGE_ITEM_BYTES));
            assert_eq!(parts.concat().len(), text.len(), "{kind} with {content:.40}");
            assert!(parts.concat() == text);
            let raws = s.log.iter().filter_map(|event| event.raw.as_ref());
            let raws: Vec<_> = raws.filter(|raw| raw.get().contains(&more)).collect();
            assert_eq!(raws.len(), with_more, "{kind} with {content:.40}");
            let bytes: usize = raws.iter().map(|raw| raw.get().len()).sum();
            assert!(bytes <= 2 * text.len(), "no part has the text of the others");
        });
    }
}

#[test]
fn params_with_more_than_an_update_come_with_each_part() {
    check(|s| {
        s.open_turn();
        let text = "x".repeat(MESSAGE_ITEM_BYTES + 1);
        let params = |text: &str| {
            let update = message(text);
            format!(r#"{{"_meta":{{"n":1}},"sessionId":"{SESSION}","update":{update}}}"#)
        };
        s.says(&format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{}}}"#,
            params(&text)
        ));
        s.stops_with("end_turn");
        assert_eq!(parts(s), [&text[..MESSAGE_ITEM_BYTES], "x"]);
        let stored = s.log.iter().filter_map(|event| event.raw_params.as_ref());
        let stored: Vec<&str> = stored.map(RawJson::get).collect();
        assert_eq!(stored, [params(&text[1..]), params("x")]);
    });
}

#[test]
fn non_text_blocks_stay_whole_at_any_size() {
    check(|s| {
        s.open_turn();
        s.chunk("a");
        let data = "x".repeat(MESSAGE_ITEM_BYTES + 1);
        s.update(&format!(
            r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"image","mimeType":"image/png","data":"{data}"}}}}"#
        ));
        s.chunk("b");
        s.stops_with("end_turn");
        let blocks = s
            .kinds()
            .filter(|kind| matches!(kind, EventKind::Item(ItemEvent::Content { .. })));
        assert_eq!(blocks.count(), 1);
    });
}

#[test]
fn text_on_both_sides_of_a_tool_call_is_two_messages_in_order() {
    check(|s| {
        s.open_turn();
        s.update(&with_id("a", "m"));
        s.update(&tool("t", false, ""));
        s.update(&with_id("b", "m"));
        s.update(&tool("t", true, r#","status":"completed""#));
        s.update(&with_id("c", "m"));
        s.stops_with("end_turn");
        assert_eq!(s.said(), ["a", "bc"]);
    });
    check(|s| {
        s.open_turn();
        s.chunk("a");
        s.update(&tool("t", false, r#","status":"completed""#));
        let open = s.thread.live().items.len();
        assert_eq!(open, 1, "it stays open across the tool call");
        s.chunk("b");
        s.stops_with("end_turn");
        assert_eq!(s.said(), ["a", "b"]);
    });
}

#[test]
fn thoughts_and_messages_take_turns() {
    check(|s| {
        s.open_turn();
        s.update(&thought("hm"));
        s.update(&thought(" hm"));
        s.chunk("well");
        s.update(&thought("but"));
        s.chunk("no");
        s.stops_with("end_turn");
        assert_eq!(
            spoken(s),
            [
                ("agentThought".into(), "hm hm".into()),
                ("agentMessage".into(), "well".into()),
                ("agentThought".into(), "but".into()),
                ("agentMessage".into(), "no".into()),
            ]
        );
        assert_eq!(s.params("item/agentThought/delta").len(), 3);
    });
}

#[test]
fn an_agent_may_repeat_the_users_message() {
    check(|s| {
        s.open_turn();
        s.update(r#"{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"/compact"}}"#);
        s.chunk("ok");
        s.stops_with("end_turn");
        assert_eq!(spoken(s)[0], ("userMessage".into(), "/compact".into()));
        let shown = s.params("item/userMessage").pop().unwrap();
        assert_eq!(shown["content"], json!([{ "type": "text", "text": "/compact" }]));
    });
}

#[test]
fn non_text_blocks_stay_whole_and_in_place() {
    let image =
        r#"{"type":"image","data":"AAAA","mimeType":"image/png","_meta":{"n":1234567890123456789012}}"#;
    check(|s| {
        s.open_turn();
        s.chunk("see ");
        s.update(&format!(
            r#"{{"sessionUpdate":"agent_message_chunk","content":{image}}}"#
        ));
        s.chunk("nice");
        s.later(10);
        s.stops_with("end_turn");
        let done = s.kinds().rev().find_map(|kind| match kind {
            EventKind::Item(ItemEvent::Completed {
                item: ItemId(2),
                end: acpd_model::ItemEnd::Message { content, .. },
                outcome,
            }) => Some((content.iter().map(RawJson::get).collect::<Vec<_>>(), *outcome)),
            _ => None,
        });
        let (content, outcome) = done.unwrap();
        assert_eq!(
            content,
            [
                r#"{"text":"see ","type":"text"}"#,
                image,
                r#"{"text":"nice","type":"text"}"#
            ]
        );
        assert_eq!(outcome, ItemOutcome::Completed);
        let delta = &s.params("item/agentMessage/delta")[1];
        assert_eq!(delta["content"]["mimeType"], "image/png");
    });
}

#[test]
fn text_that_looks_like_a_block_is_text() {
    check(|s| {
        s.open_turn();
        let json = r#"{"type":"image","data":""}"#;
        s.chunk(json);
        s.chunk(json);
        s.stops_with("end_turn");
        assert_eq!(s.said(), [json.repeat(2)]);
    });
}

#[test]
fn a_prompt_is_kept_and_shown_as_it_was_given() {
    let block =
        r#"{"type":"resource_link","uri":"file:///a","name":"a","_meta":{"n":1234567890123456789012}}"#;
    check(|s| {
        s.open_session();
        let input = vec![RawJson::parse(block).unwrap()];
        s.start_turn(input, None).unwrap();
        assert!(
            s.sent_as("session/prompt")[0].text.contains(block),
            "the agent gets it as it was written"
        );
        let shown = s.kinds().any(|kind| {
            matches!(kind, EventKind::Item(ItemEvent::Completed { end: acpd_model::ItemEnd::Message { role: MessageType::UserMessage, content }, .. })
                if content[0].get() == block)
        });
        assert!(shown);
        s.stops_with("end_turn");
    });
}

#[test]
fn an_empty_chunk_is_a_chunk() {
    check(|s| {
        s.open_turn();
        s.chunk("");
        s.stops_with("end_turn");
        assert_eq!(s.said(), [""]);
    });
}
