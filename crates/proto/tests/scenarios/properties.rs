//! Properties that hold for any input. Inputs are random, and failing seeds are kept.

use acpd_model::{Event, ItemEnd};
use acpd_proto::agent::{ChunkContent, Update, UpdateKind};
use acpd_proto::projection::{Item, Transcript};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::{Scene, check, message, thought, tool, willing};

/// Valid lines, one of each sort.
const GOOD: [&str; 25] = [
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi é"}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"a\"\\\n"}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"image","data":"","mimeType":"a/b"}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"x"}},"_meta":{"a":1}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","kind":"edit","status":"pending","content":[{"type":"diff","path":"/w/a","oldText":"1","newText":"2"}]}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","rawOutput":{"n":123456789012345678901}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"plan","entries":[{"content":"a","priority":"high","status":"pending"}]}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":0.1,"currency":"USD"}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"current_mode_update","currentModeId":"m"}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"session_info_update","title":"T"}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"config_option_update","configOptions":[]}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"available_commands_update","availableCommands":[]}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"hologram","x":[{}]}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"cursor_update","cursorId":"c","anchor":{"type":"agent_message","messageId":"m","position":"after"},"capabilities":{"fork":{}}}}}"#,
    r#"{"jsonrpc":"2.0","method":"_vendor/note","params":{"a":[1,2.5,null,true]}}"#,
    r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":40}}"#,
    r#"{"jsonrpc":"2.0","id":40,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"t","kind":"execute","rawInput":{"command":"ls"}},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}"#,
    r#"{"jsonrpc":"2.0","id":41,"method":"fs/read_text_file","params":{"sessionId":"s-1","path":"/w/a","line":1,"limit":2}}"#,
    r#"{"jsonrpc":"2.0","id":42,"method":"fs/write_text_file","params":{"sessionId":"s-1","path":"/w/a","content":"x"}}"#,
    r#"{"jsonrpc":"2.0","id":"c","method":"terminal/create","params":{"sessionId":"s-1","command":"ls","args":["-l"],"env":[{"name":"A","value":"b"}]}}"#,
    r#"{"jsonrpc":"2.0","id":43,"method":"terminal/output","params":{"sessionId":"s-1","terminalId":"term_1"}}"#,
    r#"{"jsonrpc":"2.0","id":44,"method":"_vendor/ask","params":{}}"#,
    r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","usage":{"totalTokens":3}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no","data":{"a":1}}}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
];

/// Returns a valid line with a few changed bytes.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let edit = (
        any::<prop::sample::Index>(),
        0u8..5,
        prop::sample::select(b"{}[]\",:\\ 0x-\xc3\x01nt".to_vec()),
    );
    (prop::sample::select(&GOOD[..]), prop::collection::vec(edit, 0..5)).prop_map(|(line, edits)| {
        let mut line = line.as_bytes().to_vec();
        for (at, how, byte) in edits {
            if line.is_empty() {
                break;
            }
            let at = at.index(line.len());
            match how {
                0 => drop(line.remove(at)),
                1 => line[at] = byte,
                2 => line.insert(at, byte),
                3 => line.truncate(at),
                _ => {
                    let tail = line[at..].to_vec();
                    line.extend(tail);
                }
            }
        }
        line
    })
}

fn garbage() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => mutated(),
        1 => "[ -~é😀]{0,60}".prop_map(String::into_bytes),
        1 => "[\\[\\]{}\",:0-9a-z ]{0,40}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..60),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_line_panics_and_none_is_lost(lines in prop::collection::vec(garbage(), 1..20)) {
        check(|s| {
            s.open_turn();
            s.machine = Some(willing);
            for line in &lines {
                let line: Vec<u8> = line.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect();
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                let before = (s.log.len(), s.sent.len());
                s.says_bytes(&line);
                s.later(20);
                assert!(
                    s.log.len() > before.0 || s.sent.len() > before.1,
                    "no trace of {:?}",
                    String::from_utf8_lossy(&line)
                );
            }
            s.exits("gone");
        });
    }

    #[test]
    fn the_beginning_of_an_agent_may_be_garbage_as_well(lines in prop::collection::vec(garbage(), 0..6), at in 0..3) {
        check(|s| {
            s.create();
            let say = |s: &mut Scene| {
                for line in &lines {
                    let line: Vec<u8> = line.iter().filter(|byte| **byte != b'\n').copied().collect();
                    if !line.is_empty() && s.agent.is_some() {
                        s.says_bytes(&line);
                    }
                }
            };
            if at == 0 {
                say(s);
            }
            if s.awaits("initialize") {
                s.answer("initialize", crate::support::FULL);
            }
            if at == 1 {
                say(s);
            }
            if s.awaits("session/new") {
                s.answer("session/new", r#"{"sessionId":"s-1"}"#);
            }
            if at == 2 {
                say(s);
            }
            s.exits("gone");
        });
    }
}

/// A chunk of an agent: whether it is a thought, the text, and the time until the next chunk.
type Piece = (bool, String, u64);

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    prop::collection::vec((any::<bool>(), "[a-zé😀\"\\\\ \n]{0,12}", 0u64..25), 1..40)
}

/// Plays the chunks, and returns the finished items without their raw content and their times, which depend on the pauses.
fn finished(pieces: &[Piece]) -> Vec<(Item, String)> {
    let scene = check(|s| {
        s.open_turn();
        for (thinks, text, pause) in pieces {
            let chunk = if *thinks { thought(text) } else { message(text) };
            s.update(&chunk);
            s.later(*pause);
        }
        s.stops_with("end_turn");
    });
    let turns = scene.transcript().turns;
    let items = turns.into_iter().flat_map(|turn| turn.items);
    let whole = |mut item: Item| {
        item.started_at = None;
        let text = match item.content() {
            Some(ItemEnd::Message { content, .. }) => content
                .iter()
                .map(|block| {
                    block.read::<Value>().unwrap()["text"]
                        .as_str()
                        .unwrap()
                        .to_owned()
                })
                .collect(),
            _ => String::new(),
        };
        (item, text)
    };
    items.map(whole).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, failure_persistence: None, ..ProptestConfig::default() })]

    /// Merging deltas does not change the complete text.
    #[test]
    fn merged_and_unmerged_read_the_same(pieces in pieces(), pauses in prop::collection::vec(0u64..25, 40), cuts in prop::collection::vec(any::<prop::sample::Index>(), 40)) {
        let merged = finished(&pieces);
        let unmerged: Vec<Piece> = pieces.iter().map(|(who, text, _)| (*who, text.clone(), 50)).collect();
        prop_assert_eq!(&finished(&unmerged), &merged, "one event each");
        let mut recut = Vec::new();
        for ((who, text, _), (pause, cut)) in pieces.iter().zip(pauses.iter().zip(&cuts)) {
            let at = text.floor_char_boundary(cut.index(text.len() + 1));
            recut.push((*who, text[..at].to_owned(), *pause));
            recut.push((*who, text[at..].to_owned(), pause / 2));
        }
        prop_assert_eq!(&finished(&recut), &merged, "cut anew, at other times");
    }

    /// A client that attaches after event `n`, with the state folded up to it, reaches the same view.
    #[test]
    fn attaching_anywhere_reaches_the_same_view(lines in prop::collection::vec(mutated(), 1..15), at in any::<prop::sample::Index>()) {
        let scene = check(|s| {
            s.open_turn();
            s.machine = Some(willing);
            for line in &lines {
                let line: Vec<u8> = line.iter().filter(|byte| **byte != b'\n').copied().collect();
                s.says_bytes(&line);
                s.later(5);
            }
            s.exits("gone");
        });
        let at = at.index(scene.log.len() + 1);
        let mut view = Transcript::default();
        scene.log[..at].iter().for_each(|event| view.fold(event));
        let mut attached = view.clone();
        for event in &scene.log[at..] {
            let mut bytes = Vec::new();
            event.encode(&mut bytes).unwrap();
            attached.fold(&Event::decode(&bytes).unwrap());
        }
        prop_assert_eq!(attached, scene.transcript());
    }
}

/// Values for the members of an update, valid and invalid.
fn member() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-z\"\\\\é\u{7f}\n]{0,8}".prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        Just(serde_json::json!({ "type": "text", "text": "x" })),
        "[a-z\"\\\\é ]{0,8}".prop_map(|text| serde_json::json!({ "type": "text", "text": text })),
        Just(serde_json::json!([{ "type": "diff", "path": "/a", "newText": "b" }])),
        Just(serde_json::json!([{ "content": "a", "priority": "low", "status": "pending" }])),
    ]
}

fn update() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec![
        "agent_message_chunk",
        "agent_thought_chunk",
        "user_message_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "usage_update",
        "current_mode_update",
        "session_info_update",
        "hologram",
    ]);
    let names = vec![
        "content",
        "messageId",
        "toolCallId",
        "title",
        "kind",
        "status",
        "entries",
        "used",
        "size",
        "currentModeId",
        "_meta",
        "vendor",
    ];
    let members = prop::collection::vec((prop::sample::select(names), member()), 0..5);
    (kind, members).prop_map(|(kind, members)| {
        let mut update = serde_json::json!({ "sessionUpdate": kind });
        for (name, value) in members {
            update[name] = value;
        }
        update
    })
}

/// Returns a kind without the original text of its block, and the parsed block.
fn meaning(kind: UpdateKind) -> (UpdateKind, Option<Value>) {
    match kind {
        UpdateKind::Chunk(mut chunk) => {
            let block = match &chunk.content {
                ChunkContent::Block(block) => Some(block.read().unwrap()),
                ChunkContent::Text(_) => None,
            };
            if block.is_some() {
                chunk.content = ChunkContent::Text(String::new());
            }
            (UpdateKind::Chunk(chunk), block)
        }
        other => (other, None),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// The fast paths for common forms give the same result as the general parser.
    #[test]
    fn spacing_and_order_change_no_meaning(update in update()) {
        let mut members: Vec<String> = update
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())))
            .collect();
        let sorted = members.clone();
        members.sort_by_key(|member| !member.starts_with("\"sessionUpdate\""));
        let usual = format!("{{{}}}", members.join(","));
        let spaced = serde_json::to_string_pretty(&update).unwrap();
        let ordered = format!("{{{}}}", sorted.join(" , "));
        let expected = meaning(Update::parse(&usual, None).unwrap().kind);
        for text in [&spaced, &ordered] {
            let parsed = Update::parse(text, None).unwrap();
            prop_assert_eq!(parsed.raw.as_ref().map(acpd_model::RawJson::get), Some(text.as_str()));
            prop_assert_eq!(&meaning(parsed.kind), &expected, "{} against {}", text, usual);
        }
        let kinds = |line: String| {
            let scene = check(|s| {
                s.open_turn();
                s.says(&line);
                s.exits("gone");
            });
            scene.log.iter().map(|event| std::mem::discriminant(&event.kind)).collect::<Vec<_>>()
        };
        let usual_line = format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s-1","update":{usual}}}}}"#
        );
        let other_line = format!(
            r#"{{ "params":{{"update": {ordered},"sessionId":"s-1"}}, "method":"session/update","jsonrpc":"2.0" }}"#
        );
        prop_assert_eq!(kinds(usual_line), kinds(other_line));
    }

    /// Tool calls in any order with any status: a status never goes back, and each call ends once.
    #[test]
    fn statuses_only_go_forward(steps in prop::collection::vec((0..3u8, any::<bool>(), prop::sample::select(vec!["pending", "in_progress", "completed", "failed", "odd"])), 1..30)) {
        let scene = check(|s| {
            s.open_turn();
            for (id, is_update, status) in &steps {
                s.update(&tool(&format!("t{id}"), *is_update, &format!(r#","title":"x","status":"{status}""#)));
            }
            s.stops_with("end_turn");
        });
        let rank = |word: &Value| ["pending", "in_progress", "completed", "failed"].iter().position(|known| word == known).unwrap();
        let mut last = std::collections::BTreeMap::new();
        for frame in &scene.frames {
            if !matches!(frame.method, "item/toolCall/started" | "item/updated" | "item/toolCall/completed") {
                continue;
            }
            let message: Value = serde_json::from_slice(&frame.text).unwrap();
            let params = &message["params"];
            let now = rank(&params["status"]);
            let before = last.insert(params["itemId"].to_string(), now).unwrap_or(0);
            prop_assert!(before <= now && (before < 2 || before == now), "{} after {}", now, before);
        }
    }
}
