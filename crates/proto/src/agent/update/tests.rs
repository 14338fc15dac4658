use acpd_model::event::CursorSide;

use super::*;

fn parse(text: &str) -> Update {
    Update::parse(text, None).unwrap()
}

#[test]
fn a_plain_delta_is_rebuilt_from_its_text() {
    for text in ["", "hello", "a\"b\\c\nd", "é😀", "tab\t", "\u{7f}"] {
        let json = serde_json::to_string(text).unwrap();
        let update =
            format!(r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":{json}}}}}"#);
        let parsed = parse(&update);
        assert_eq!(parsed.raw, None, "{update}");
        let UpdateKind::Chunk(chunk) = parsed.kind else {
            panic!("{update}")
        };
        assert_eq!(chunk.content, ChunkContent::Text(text.into()));
        assert_eq!(canonical(&chunk).unwrap(), update);
    }
}

#[test]
fn unusual_spellings_are_kept_verbatim() {
    for update in [
        r#"{"content":{"type":"text","text":"a"},"sessionUpdate":"agent_message_chunk"}"#,
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\u0061"}}"#,
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"messageId":"m"}"#,
        r#"{"sessionUpdate":"agent_message_chunk", "content":{"type":"text","text":"a"}}"#,
    ] {
        let parsed = parse(update);
        assert_eq!(parsed.raw.as_ref().unwrap().get(), update);
        assert!(
            matches!(parsed.kind, UpdateKind::Chunk(Chunk { content: ChunkContent::Text(t), .. }) if t == "a")
        );
    }
}

#[test]
fn updates_with_further_members_are_not_merged() {
    for (update, is_block) in [
        (
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"_meta":{"x":1}}"#,
            false,
        ),
        (
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"vendor":1}"#,
            false,
        ),
        (
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"messageId":7}"#,
            false,
        ),
        (
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a","annotations":{}}}"#,
            true,
        ),
        (
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"","mimeType":"a/b"}}"#,
            true,
        ),
        (
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"hologram"}}"#,
            true,
        ),
    ] {
        let UpdateKind::Chunk(chunk) = parse(update).kind else {
            panic!("{update}")
        };
        assert!(chunk.alone, "{update}");
        assert_eq!(
            matches!(chunk.content, ChunkContent::Block(_)),
            is_block,
            "{update}"
        );
    }
    let plain =
        r#"{"messageId":"m","sessionUpdate":"agent_message_chunk","content":{"text":"a","type":"text"}}"#;
    assert!(matches!(
        parse(plain).kind,
        UpdateKind::Chunk(Chunk { alone: false, .. })
    ));
}

#[test]
fn text_that_looks_like_a_block_is_text() {
    let update =
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"{\"type\":\"image\"}"}}"#;
    assert!(
        matches!(parse(update).kind, UpdateKind::Chunk(Chunk { content: ChunkContent::Text(t), .. }) if t == r#"{"type":"image"}"#)
    );
}

#[test]
fn wrong_types_and_unknown_kinds_are_carried() {
    for update in [
        r#"{"sessionUpdate":"hologram","x":1.10}"#,
        r#"{"sessionUpdate":"agent_message_chunk","content":7}"#,
        r#"{"sessionUpdate":"agent_message_chunk"}"#,
        r#"{"sessionUpdate":"plan","entries":"none"}"#,
        r#"{"sessionUpdate":"usage_update","used":18446744073709551616,"size":1}"#,
        r#"{"sessionUpdate":"usage_update","used":1e999,"size":1}"#,
        r#"{"sessionUpdate":"\ud83d"}"#,
        r#"{"sessionUpdate":"tool_call","toolCallId":5}"#,
        r#"{"sessionUpdate":7}"#,
        r#"{"content":{}}"#,
        "[]",
        "null",
    ] {
        let parsed = parse(update);
        assert_eq!(parsed.kind, UpdateKind::Other, "{update}");
        assert_eq!(parsed.raw.unwrap().get(), update);
    }
    assert!(Update::parse("{", None).is_err());
    assert!(
        Update::parse(
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"b"}}"#,
            None
        )
        .is_err()
    );
}

#[test]
fn a_text_that_is_cut_within_a_character_is_a_text() {
    let chunk = |text: &str| {
        let update = format!(
            r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}"#
        );
        let parsed = parse(&update);
        assert_eq!(parsed.raw.unwrap().get(), update);
        let UpdateKind::Chunk(chunk) = parsed.kind else {
            panic!("{update}")
        };
        let ChunkContent::Text(text) = chunk.content else {
            panic!("{update}")
        };
        (chunk.first_half, text, chunk.last_half)
    };
    assert_eq!(chunk("a\\ud83d"), (None, "a".into(), Some(0xd83d)));
    assert_eq!(
        chunk("\\ude00 b\\ud83dc"),
        (Some(0xde00), " b\u{fffd}c".into(), None)
    );
    let call = parse(r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"x \ud83d"}"#);
    let expected = ToolUpdate {
        id: "t".into(),
        opens: true,
        title: Some("x \u{fffd}".into()),
        ..ToolUpdate::default()
    };
    assert_eq!(call.kind, UpdateKind::Tool(expected));
    assert!(call.raw.unwrap().get().contains(r"x \ud83d"));
}

#[test]
fn a_tool_call_says_what_we_act_on_and_bad_members_count_as_absent() {
    let update = parse(
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"weird","title":null,"kind":"execute","content":[]}"#,
    );
    let expected = ToolUpdate {
        id: "t".into(),
        kind: Some("execute".into()),
        ..ToolUpdate::default()
    };
    assert_eq!(update.kind, UpdateKind::Tool(expected));
}

/// Agents use the spellings of ACP's drafts as well as those of its schema.
#[test]
fn both_spellings_are_read() {
    let usage = |cost: Option<&str>| UpdateKind::Usage {
        used: 5,
        size: 10,
        cost: cost.map(|cost| RawJson::parse(cost).unwrap()),
    };
    let mode = || UpdateKind::Mode("ask".into());
    for (update, expected) in [
        (
            r#"{"sessionUpdate":"current_mode_update","currentModeId":"ask"}"#,
            mode(),
        ),
        (
            r#"{"sessionUpdate":"current_mode_update","modeId":"ask"}"#,
            mode(),
        ),
        (
            r#"{"sessionUpdate":"current_mode_update","modeId":"old","currentModeId":"ask"}"#,
            mode(),
        ),
        (
            r#"{"sessionUpdate":"config_option_update","configOptions":[]}"#,
            UpdateKind::ConfigOptions,
        ),
        (
            r#"{"sessionUpdate":"config_options_update","configOptions":[]}"#,
            UpdateKind::ConfigOptions,
        ),
        (
            r#"{"sessionUpdate":"usage_update","used":5,"size":10}"#,
            usage(None),
        ),
        (
            r#"{"sessionUpdate":"usage_update","usage":{"used":5,"size":10,"cost":{"amount":1.10}}}"#,
            usage(Some(r#"{"amount":1.10}"#)),
        ),
        (
            r#"{"sessionUpdate":"usage_update","usage":{"used":5}}"#,
            UpdateKind::Other,
        ),
        (r#"{"sessionUpdate":"usage_update","usage":7}"#, UpdateKind::Other),
    ] {
        assert_eq!(parse(update).kind, expected, "{update}");
    }
}

#[test]
fn an_empty_plan_is_a_plan() {
    assert_eq!(
        parse(r#"{"sessionUpdate":"plan","entries":[]}"#).kind,
        UpdateKind::Plan(PlanUpdate::default())
    );
    let mixed = parse(
        r#"{"sessionUpdate":"plan","entries":[1,{"content":"a","priority":"high","status":"pending"}]}"#,
    );
    assert!(matches!(mixed.kind, UpdateKind::Plan(plan) if plan.entries.len() == 1));
}

#[test]
fn a_plan_by_id_is_replaced_and_removed() {
    let replaced = parse(
        r#"{"sessionUpdate":"plan_update","plan":{"type":"markdown","planId":"p","content":"a"},"_meta":{}}"#,
    );
    assert!(matches!(replaced.kind, UpdateKind::Plan(plan) if plan.id == "p" && plan.markdown.is_some()));
    let removed = parse(r#"{"sessionUpdate":"plan_removed","planId":"p"}"#);
    assert_eq!(removed.kind, UpdateKind::PlanRemoved("p".to_owned()));
    let long = format!(
        r#"{{"sessionUpdate":"plan_removed","planId":"{}"}}"#,
        "p".repeat(1 << 16)
    );
    let large = format!(
        r#"{{"sessionUpdate":"plan_update","plan":{{"type":"markdown","planId":"p","content":"{}"}}}}"#,
        "a".repeat(AGENT_STATE_BYTES)
    );
    for update in [
        r#"{"sessionUpdate":"plan_removed"}"#,
        r#"{"sessionUpdate":"plan_removed","planId":7}"#,
        r#"{"sessionUpdate":"plan_update"}"#,
        r#"{"sessionUpdate":"plan_update","plan":{"type":"_custom","planId":"p"}}"#,
        r#"{"sessionUpdate":"plan_update","planId":"p","entries":[]}"#,
        &long,
        &large,
    ] {
        let parsed = parse(update);
        assert_eq!(parsed.kind, UpdateKind::Other);
        assert_eq!(parsed.raw.unwrap().get(), update, "passed on as it is");
    }
}

#[test]
fn a_cursor_has_an_anchor_that_can_be_found_or_none() {
    let read = |members: &str| match parse(&format!(r#"{{"sessionUpdate":"cursor_update",{members}}}"#)).kind
    {
        UpdateKind::Cursor(cursor) => {
            let anchor = cursor.anchor.map(|anchor| (anchor.kind, anchor.id, anchor.side));
            Some((cursor.id, anchor, cursor.forks))
        }
        _ => None,
    };
    let anchored = |anchor: &str| read(&format!(r#""cursorId":"c","anchor":{anchor}"#));
    let none = || Some(("c".to_owned(), None, None));
    let at = |kind, id: &str, side| Some(("c".to_owned(), Some((kind, id.to_owned(), side)), None));
    assert_eq!(
        anchored(r#"{"type":"user_message","messageId":"u","position":"before"}"#),
        at("user", "u", CursorSide::Before)
    );
    assert_eq!(
        anchored(r#"{"position":"after","toolCallId":"t","type":"tool_call","_meta":{}}"#),
        at("call", "t", CursorSide::After)
    );
    for unknown in [
        "null",
        r#"{"type":"_vendor"}"#,
        r#"{"type":"compaction","compactionId":"c","position":"after"}"#,
        r#"{"type":"session_message","messageId":"m","position":"after"}"#,
        r#"{"type":"agent_message","messageId":"m","position":"_within"}"#,
    ] {
        assert_eq!(anchored(unknown), none(), "{unknown}");
    }
    // A known type with another shape is an error.
    for wrong in [
        "7",
        "{}",
        r#"{"type":"agent_message","position":"after"}"#,
        r#"{"type":"agent_message","messageId":"m"}"#,
        r#"{"type":"tool_call","messageId":"m","position":"after"}"#,
        r#"{"type":"compaction","position":"after"}"#,
    ] {
        assert_eq!(anchored(wrong), None, "{wrong}");
    }
    assert_eq!(read(r#""anchor":null"#), None);
    assert_eq!(read(r#""cursorId":7"#), None);
    let able = |capabilities: &str| {
        let read = read(&format!(r#""cursorId":"c","capabilities":{capabilities}"#));
        read.unwrap().2
    };
    let forks = [
        "{\"fork\":{}}",
        "{\"fork\":null}",
        "{}",
        "null",
        "7",
        "{\"fork\":true}",
    ]
    .map(able);
    assert_eq!(
        forks,
        [
            Some(true),
            Some(false),
            Some(false),
            Some(false),
            None,
            Some(false)
        ]
    );
    let long = format!(r#""cursorId":"{}""#, "x".repeat(AGENT_TEXT_BYTES * 4));
    assert_eq!(read(&long), None);
}
