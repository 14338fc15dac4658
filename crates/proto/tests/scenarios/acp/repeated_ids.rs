//! Ids that an agent gives to several messages or tool calls: an editor receives each under an id of its own.

use serde_json::{Value, json};

use super::stage::{ABLE, Stage, play};
use crate::support::{FULL, tool};

/// Returns the kind and the id of each update about a message or a tool call, from message `from` on.
fn ids(s: &Stage, who: usize, from: usize) -> Vec<String> {
    let updates = s.editors[who].got[from..]
        .iter()
        .map(|message| &message["params"]["update"]);
    let named = updates.filter_map(|update| {
        let id = update["toolCallId"].as_str().or(update["messageId"].as_str())?;
        Some(format!("{} {id}", update["sessionUpdate"].as_str()?))
    });
    named.collect()
}

fn chunk(kind: &str, id: &str, text: &str) -> String {
    format!(
        r#"{{"sessionUpdate":"agent_{kind}_chunk","messageId":"{id}","content":{{"type":"text","text":"{text}"}}}}"#
    )
}

/// Runs a turn with these updates, each in a window of its own.
fn turn(s: &mut Stage, updates: &[String]) {
    s.then(|scene| {
        scene.prompt("do it");
        for update in updates {
            scene.update(update);
            scene.later(20);
        }
        scene.stops_with("end_turn");
    });
}

/// Returns what an editor receives that loads the session now.
fn loaded(s: &mut Stage) -> Vec<String> {
    let late = s.editor(ABLE);
    s.ask_session(late, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
    ids(s, late, 0)
}

#[test]
fn a_tool_call_with_the_id_of_an_earlier_one_gets_its_own() {
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        let from = s.count(who);
        let call = [
            tool("t", false, r#","title":"ls""#),
            tool("t", true, r#","status":"completed""#),
            // Some agents report on a call that has ended.
            tool("t", true, r#","rawOutput":1"#),
        ];
        turn(s, &call);
        turn(s, &call);
        let expected = [
            "user_message_chunk item_1",
            "tool_call t",
            "tool_call_update t",
            "tool_call_update t",
            "user_message_chunk item_3",
            "tool_call item_4",
            "tool_call_update item_4",
            "tool_call_update item_4",
        ];
        assert_eq!(ids(s, who, from), expected);
        assert_eq!(loaded(s), expected);
        let stored = s.scene.log.iter().filter_map(|event| event.raw.as_ref());
        let with_ours = stored.filter(|raw| raw.get().contains("item_"));
        assert_eq!(with_ours.count(), 0, "the log has the agent's own words");
    });
}

#[test]
fn a_message_with_the_id_of_an_earlier_one_gets_its_own() {
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        let from = s.count(who);
        turn(
            s,
            &[
                chunk("message", "m", "first"),
                tool("t", false, r#","title":"ls","status":"completed""#),
                chunk("message", "m", "second"),
            ],
        );
        turn(s, &[chunk("thought", "m", "hm"), chunk("message", "m", "third")]);
        let expected = [
            "user_message_chunk item_1",
            "agent_message_chunk m",
            "tool_call t",
            "agent_message_chunk item_4",
            "user_message_chunk item_5",
            "agent_thought_chunk m",
            "agent_message_chunk item_7",
        ];
        assert_eq!(ids(s, who, from), expected);
        assert_eq!(loaded(s), expected);
    });
}

#[test]
fn every_form_of_a_chunk_gets_the_id_of_its_message() {
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        turn(s, &[chunk("message", "m", "before")]);
        let from = s.count(who);
        let image = r#"{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"image","data":"","mimeType":"a/b"}}"#;
        s.then(|scene| {
            scene.prompt("do it");
            // The second and the third are merged.
            for text in ["a", "b", "c"] {
                scene.update(&chunk("message", "m", text));
            }
            scene.update(image);
            scene.says(&format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"_meta":{{"n":1.10}},"sessionId":"s-1","update":{}}}}}"#,
                chunk("message", "m", "d")
            ));
            scene.stops_with("end_turn");
        });
        let all = vec!["agent_message_chunk item_4"; 4];
        assert_eq!(ids(s, who, from + 1), all);
        let last = s.editors[who].texts.iter().rfind(|text| text.contains("1.10"));
        assert!(last.unwrap().contains(r#""_meta":{"n":1.10}"#));
    });
}

#[test]
fn an_id_that_looks_like_one_of_the_daemon_is_not_passed_on() {
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        let from = s.count(who);
        turn(s, &[chunk("message", "item_1", "mine")]);
        let expected = ["user_message_chunk item_1", "agent_message_chunk item_2"];
        assert_eq!(ids(s, who, from), expected);
    });
}

#[test]
fn a_question_names_the_call_that_the_editor_knows() {
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        turn(s, &[tool("t", false, r#","title":"ls","status":"completed""#)]);
        let from = s.count(who);
        s.then(|scene| {
            scene.prompt("do it");
            scene.asks_permission("5", "t");
        });
        let asked = |message: &&Value| message["method"] == "session/request_permission";
        let question = s.editors[who].got.iter().find(asked).unwrap();
        assert_eq!(question["params"]["toolCall"]["toolCallId"], "item_4");
        s.then(|scene| scene.exits("crashed"));
        let expected = [
            "user_message_chunk item_3",
            "tool_call item_4",
            "tool_call_update item_4",
        ];
        assert_eq!(ids(s, who, from), expected, "the lost call is failed");
    });
}

/// Returns the ids of the calls that the questions for information name.
fn named_in_forms(s: &Stage, who: usize) -> Vec<Value> {
    let asked = s.editors[who].got.iter();
    asked
        .filter(|message| message["method"] == "elicitation/create")
        .map(|message| message["params"]["toolCallId"].clone())
        .collect()
}

#[test]
fn a_form_names_the_call_that_the_editor_knows() {
    let form = |call: &str| {
        format!(
            r#"{{"sessionId":"s-1",{call}"mode":"form","message":"Which key?","requestedSchema":{{"type":"object","properties":{{"key":{{"type":"string"}}}}}}}}"#
        )
    };
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        turn(s, &[tool("t", false, r#","title":"ls","status":"completed""#)]);
        s.then(|scene| {
            scene.prompt("do it");
            scene.update(&tool("u", false, r#","title":"cat","status":"pending""#));
            scene.update(&tool("t", false, r#","title":"ls","status":"pending""#));
            scene.calls("5", "elicitation/create", &form(r#""toolCallId":"t","#));
            scene.calls("6", "elicitation/create", &form(r#""toolCallId":"u","#));
            scene.calls("7", "elicitation/create", &form(r#""toolCallId":"unknown","#));
            scene.calls("8", "elicitation/create", &form(""));
        });
        let expected = [json!("item_5"), json!("u"), json!("unknown"), Value::Null];
        assert_eq!(named_in_forms(s, who), expected);
        // An editor that loads the session now has the call under the same id.
        let late = s.editor(ABLE);
        s.ask_session(late, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        assert_eq!(named_in_forms(s, late), expected);
        assert!(ids(s, late, 0).contains(&"tool_call item_5".to_owned()));
        let asked = s
            .scene
            .log
            .iter()
            .filter(|event| event.kind.named_item() != event.kind.item());
        let own = asked.map(|event| event.raw.as_ref().unwrap().get().contains("item_"));
        assert_eq!(
            own.collect::<Vec<_>>(),
            [false, false],
            "the log has the agent's own words"
        );
    });
}

#[test]
fn another_process_of_the_agent_may_count_from_the_start() {
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        turn(s, &[tool("t", false, r#","title":"ls","status":"completed""#)]);
        s.then(|scene| {
            scene.exits("crashed");
            scene.later(2_000);
            scene.prompt("go on");
            scene.answer("initialize", FULL);
            scene.answer("session/resume", "{}");
            scene.later(100);
        });
        let from = s.count(who);
        s.then(|scene| {
            scene.update(&tool("t", false, r#","title":"ls","status":"completed""#));
            scene.stops_with("end_turn");
        });
        assert_eq!(ids(s, who, from), ["tool_call item_4"]);
    });
}
