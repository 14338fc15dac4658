use acpd_model::{RawJson, TurnId};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Translator, answer, client_capabilities, has_sessions, hello, request, session};
use crate::agent::ElicitationModes;

const SESSION: &str = "s-1";

/// Returns the updates of version 1 for one of version 2.
fn read(translator: &mut Translator, update: &Value) -> Vec<Value> {
    let updates = translator.update(SESSION, &update.into());
    updates.iter().map(|update| update.read().unwrap()).collect()
}

/// Returns the updates for several.
fn read_all(updates: &[Value]) -> Vec<Value> {
    let mut translator = Translator::default();
    let read = |update| read(&mut translator, update);
    updates.iter().flat_map(read).collect()
}

fn value(json: &RawJson) -> Value {
    json.read().unwrap()
}

fn call(more: &Value) -> Value {
    let mut call = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t" });
    for (name, value) in more.as_object().unwrap() {
        call[name] = value.clone();
    }
    call
}

fn text(text: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}

/// Returns the texts of the content, one update after another.
fn texts(updates: &[Value]) -> Vec<&str> {
    updates
        .iter()
        .filter_map(|update| update["content"][0]["content"]["text"].as_str())
        .collect()
}

#[test]
fn an_answer_to_initialize_gets_the_form_of_version_1() {
    let answer = json!({
        "protocolVersion": 2,
        "info": { "name": "a", "version": "1" },
        "capabilities": {
            "session": { "prompt": { "image": {}, "skill": {} }, "mcp": { "http": {}, "acp": {} }, "fork": {}, "delete": null },
            "auth": { "status": {} },
            "_meta": { "x": 1 },
        },
        "authMethods": [
            { "methodId": "key", "type": "agent", "name": "Key" },
            { "methodId": "term", "type": "terminal", "name": "T", "env": [{ "name": "A", "value": "b" }] },
        ],
        "_meta": { "steering": { "supported": true } },
    });
    let one = value(&hello(&answer.clone().into()).unwrap());
    assert!(has_sessions(&answer.into()));
    assert_eq!(
        one,
        json!({
            "protocolVersion": 1,
            "agentInfo": { "name": "a", "version": "1" },
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": { "image": true, "audio": false, "embeddedContext": false, "skill": {} },
                "mcpCapabilities": { "stdio": false, "http": true, "sse": false },
                "sessionCapabilities": { "list": {}, "resume": {}, "close": {}, "fork": {}, "delete": null },
                "auth": { "logout": {}, "status": {} },
                "_meta": { "x": 1 },
            },
            "authMethods": [
                { "id": "key", "type": "agent", "name": "Key" },
                { "id": "term", "type": "terminal", "name": "T", "env": { "A": "b" } },
            ],
            "_meta": { "steering": { "supported": true } },
        })
    );
}

#[test]
fn an_answer_with_members_of_version_1_is_none_of_version_2() {
    for answer in [
        json!({ "protocolVersion": 2, "agentInfo": { "name": "a" }, "agentCapabilities": {} }),
        json!({ "protocolVersion": 2, "info": {}, "capabilities": {}, "agentCapabilities": {} }),
        json!({ "protocolVersion": 2, "info": {} }),
        json!({ "protocolVersion": 2, "capabilities": {} }),
        json!({ "protocolVersion": 2 }),
    ] {
        assert_eq!(hello(&answer.into()), None);
    }
}

#[test]
fn the_capabilities_of_the_client_are_json() {
    for elicitation in [ElicitationModes::ALL, ElicitationModes::NONE] {
        let capabilities: Value = serde_json::from_str(&client_capabilities(elicitation)).unwrap();
        assert!(capabilities["auth"]["terminal"].is_object());
        assert!(capabilities["session"]["commands"]["skill"].is_object());
    }
}

#[test]
fn requests_get_the_form_of_version_2() {
    let params = json!({
        "sessionId": "s-1",
        "cwd": "/w",
        "mcpServers": [
            { "name": "a", "command": "/a", "args": [], "env": [] },
            { "name": "b", "command": "/b" },
            { "type": "http", "name": "c", "url": "http://c" },
        ],
        "configOptions": [{ "configId": "o", "value": "v" }, { "configId": "b", "type": "boolean", "value": true }],
    });
    let (method, params) = request("session/load", &params.into());
    assert_eq!(method, "session/resume");
    assert_eq!(
        value(&params),
        json!({
            "sessionId": "s-1",
            "cwd": "/w",
            "mcpServers": [
                { "name": "a", "command": "/a", "args": [], "env": [], "type": "stdio" },
                { "name": "b", "command": "/b", "type": "stdio", "args": [], "env": [] },
                { "type": "http", "name": "c", "url": "http://c" },
            ],
            "configOptions": [
                { "configId": "o", "value": "v", "type": "id" },
                { "configId": "b", "type": "boolean", "value": true },
            ],
            "replayFrom": { "type": "start" },
        })
    );
    for (method, params, other, expected) in [
        (
            "authenticate",
            json!({ "methodId": "m" }),
            "auth/login",
            json!({ "methodId": "m" }),
        ),
        ("logout", json!({}), "auth/logout", json!({})),
        (
            "session/set_mode",
            json!({ "sessionId": "s", "modeId": "plan" }),
            "session/set_config_option",
            json!({ "sessionId": "s", "configId": "mode", "type": "id", "value": "plan" }),
        ),
        (
            "session/list",
            json!({ "cwd": "/w" }),
            "session/list",
            json!({ "cwd": "/w" }),
        ),
    ] {
        let (method, params) = request(method, &params.into());
        assert_eq!((method.as_str(), value(&params)), (other, expected));
    }
}

#[test]
fn options_and_commands_get_the_form_of_version_1() {
    let options = json!([
        { "configId": "m", "type": "select", "currentValue": "a", "options": [{ "value": "a", "name": "A" }] },
        { "configId": "g", "type": "select", "currentValue": "a", "options": [
            { "groupId": "x", "name": "X", "options": [{ "value": "a", "name": "A" }] },
        ] },
        { "configId": "n", "type": "_number", "currentValue": 1 },
    ]);
    let expected = json!([
        { "id": "m", "type": "select", "currentValue": "a", "options": [{ "value": "a", "name": "A" }] },
        { "id": "g", "type": "select", "currentValue": "a", "options": [
            { "group": "x", "name": "X", "options": [{ "value": "a", "name": "A" }] },
        ] },
    ]);
    let commands = json!([
        { "type": "command", "name": "a", "description": "d", "input": { "type": "text", "hint": "h" } },
        { "type": "command", "name": "b", "description": "d", "input": { "type": "_file", "hint": "h" } },
        { "type": "skill", "name": "c", "description": "d" },
        { "type": "_later", "name": "e", "description": "d" },
    ]);
    let result = json!({ "sessionId": "s", "configOptions": options, "availableCommands": commands });
    let (opened, update) = session(&result.into());
    assert_eq!(
        value(&opened),
        json!({ "sessionId": "s", "configOptions": expected })
    );
    assert_eq!(
        value(&update.unwrap()),
        json!({
            "sessionUpdate": "available_commands_update",
            "availableCommands": [
                { "name": "a", "description": "d", "input": { "hint": "h" } },
                { "name": "b", "description": "d" },
                { "type": "skill", "name": "c", "description": "d" },
            ],
        })
    );
    let set = answer(
        "session/set_config_option",
        &json!({ "configOptions": options }).into(),
    );
    assert_eq!(value(&set), json!({ "configOptions": expected }));
}

#[test]
fn the_first_update_of_a_tool_call_begins_it_and_null_clears() {
    let mut updates = read_all(&[
        call(&json!({ "name": "Bash", "title": null, "status": "paused", "content": null })),
        call(
            &json!({ "title": null, "kind": null, "locations": null, "rawInput": null, "status": "cancelled" }),
        ),
    ]);
    let cleared = updates[1]["_meta"]["acpd"]["cleared"].as_array_mut().unwrap();
    cleared.sort_by_key(Value::to_string);
    assert_eq!(
        updates,
        [
            json!({
                "sessionUpdate": "tool_call", "toolCallId": "t", "name": "Bash", "status": "in_progress", "title": "Bash",
                "content": [], "_meta": { "acpd": { "status": "paused", "added": ["title"] } },
            }),
            json!({
                "sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "Tool call", "kind": "other",
                "locations": [], "status": "failed",
                "_meta": { "acpd": { "status": "cancelled", "cleared": ["kind", "locations", "rawInput", "title"] } },
            }),
        ]
    );
}

#[test]
fn a_status_does_not_go_back() {
    let updates = read_all(&[
        call(&json!({ "title": "a", "status": "in_progress" })),
        call(&json!({ "status": "pending" })),
        call(&json!({ "status": null })),
        call(&json!({ "status": "completed" })),
        call(&json!({ "status": "cancelled" })),
    ]);
    let statuses: Vec<_> = updates.iter().map(|update| update["status"].as_str()).collect();
    assert_eq!(
        statuses,
        [Some("in_progress"), None, None, Some("completed"), Some("failed")]
    );
    assert_eq!(updates[1]["_meta"]["acpd"]["status"], "pending");
}

#[test]
fn a_status_of_version_2_alone_is_noted_until_there_is_another_one() {
    let updates = read_all(&[
        call(&json!({ "title": "a", "status": "paused" })),
        call(&json!({ "title": "b" })),
        call(&json!({ "status": "in_progress" })),
        call(&json!({ "status": "completed" })),
    ]);
    let notes: Vec<_> = updates
        .iter()
        .map(|update| update["_meta"]["acpd"].get("status"))
        .collect();
    assert_eq!(notes, [Some(&json!("paused")), None, Some(&Value::Null), None]);
}

#[test]
fn a_kind_of_version_2_alone_is_noted() {
    let updates = read_all(&[
        call(&json!({ "kind": "_deploy" })),
        call(&json!({ "kind": "execute" })),
        call(&json!({ "kind": 7 })),
    ]);
    let kinds: Vec<_> = updates.iter().map(|update| &update["kind"]).collect();
    assert_eq!(kinds, ["other", "execute", "other"]);
    assert_eq!(updates[0]["_meta"]["acpd"]["kind"], "_deploy");
    assert_eq!(updates[1]["_meta"], Value::Null);
}

#[test]
fn pieces_of_content_are_shown_with_what_was_there() {
    let piece = |piece: &str| json!({ "sessionUpdate": "tool_call_content_chunk", "toolCallId": "t", "content": text(piece) });
    let updates = read_all(&[piece("a"), piece("b")]);
    assert_eq!(updates[0]["sessionUpdate"], "tool_call");
    assert_eq!(updates[1]["content"], json!([text("a"), text("b")]));
}

#[test]
fn many_pieces_are_not_repeated_each_time() {
    let mut translator = Translator::default();
    let piece = json!({
        "sessionUpdate": "tool_call_content_chunk", "toolCallId": "t", "content": text(&"x".repeat(1000)),
    });
    let mut bytes = 0;
    for _ in 0..1000 {
        let updates = translator.update(SESSION, &(&piece).into());
        bytes += updates.iter().map(|update| update.get().len()).sum::<usize>();
    }
    assert!(bytes < 8_000_000, "{bytes} bytes for 1 MB");
    let idle = json!({ "sessionUpdate": "state_update", "state": "idle" });
    let rest = read(&mut translator, &idle);
    assert_eq!(rest[0]["content"].as_array().unwrap().len(), 1000);
    assert_eq!(read(&mut translator, &idle), Vec::<Value>::new());
}

#[test]
fn short_messages_do_not_repeat_a_long_content() {
    let mut translator = Translator::default();
    let terminal = json!({ "type": "terminal", "terminalId": "x" });
    let long = call(&json!({ "content": [text(&"x".repeat(1 << 20)), terminal] }));
    let mut received = long.to_string().len();
    let mut sent = 0;
    let mut updates = vec![long];
    for code in 0..2_000 {
        let exit = json!({ "exitCode": code });
        updates.push(json!({ "sessionUpdate": "terminal_update", "terminalId": "x", "exitStatus": exit }));
        updates.push(call(&json!({ "content": [terminal] })));
        updates.push(json!({ "sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": "YQ==" }));
        updates.push(json!({ "sessionUpdate": "state_update", "state": "idle" }));
    }
    for update in &updates {
        received += update.to_string().len();
        let written = translator.update(SESSION, &update.into());
        sent += written.iter().map(|update| update.get().len()).sum::<usize>();
    }
    assert!(sent < (2 << 20) + 20 * received, "{sent} bytes for {received}");
}

#[test]
fn the_output_of_a_terminal_is_text_of_its_call() {
    let chunk =
        |data: &str| json!({ "sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": data });
    let terminal = json!({ "type": "terminal", "terminalId": "x" });
    let updates = read_all(&[
        json!({ "sessionUpdate": "terminal_update", "terminalId": "x", "command": "make" }),
        call(&json!({ "content": [terminal] })),
        // "a`" and the first byte of "é", then the second one.
        chunk("YWDD"),
        chunk("qQ=="),
        json!({ "sessionUpdate": "terminal_update", "terminalId": "x", "exitStatus": { "exitCode": 2, "signal": null } }),
    ]);
    assert_eq!(updates[0]["_meta"]["acpd"]["update"]["command"], "make");
    assert_eq!(updates[1]["content"], json!([]), "it has no output yet");
    let notes: Vec<&Value> = updates.iter().map(|update| &update["_meta"]["acpd"]).collect();
    assert_eq!(notes[1]["hidden"], json!([{ "at": 0, "block": terminal }]));
    assert_eq!(
        (&notes[2]["output"], &notes[3]["output"]),
        (
            &json!([{ "terminalId": "x", "data": "YWDD", "begins": false }]),
            &json!([{ "terminalId": "x", "data": "qQ==", "begins": false }])
        )
    );
    assert_eq!(notes[5]["update"]["exitStatus"]["exitCode"], 2);
    assert_eq!(
        texts(&updates),
        [
            "```\na`\u{fffd}\n```",
            "```\na`é\n```",
            "```\na`é\n```\n\nExit code 2"
        ]
    );
    assert_eq!(updates[2]["content"][0]["_meta"]["acpd"]["terminal"], terminal);
}

#[test]
fn a_call_that_ends_has_the_last_output_of_its_terminals() {
    let terminal = json!({ "type": "terminal", "terminalId": "x" });
    let output = STANDARD.encode("a".repeat(40_000));
    let chunk =
        |data: &str| json!({ "sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": data });
    let updates = read_all(&[
        call(&json!({ "status": "in_progress", "content": [terminal] })),
        chunk(&output),
        chunk("YmJi"),
        call(&json!({ "title": "make" })),
        call(&json!({ "status": "completed" })),
    ]);
    let ends: Vec<_> = texts(&updates)
        .into_iter()
        .map(|text| text.contains("bbb"))
        .collect();
    assert_eq!(ends, [false, true]);
    assert_eq!(updates[3]["status"], "completed");
    assert!(updates[3]["content"].is_array());
}

#[test]
fn a_terminal_that_no_call_shows_is_beside_the_conversation() {
    let odd = json!({ "sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": "%" });
    let output =
        json!({ "sessionUpdate": "terminal_update", "terminalId": "x", "output": { "data": "YQ==" } });
    for (update, begins) in [
        (odd, false),
        (output, true),
        (json!({ "sessionUpdate": "_later", "n": 1 }), false),
    ] {
        let read = read_all(std::slice::from_ref(&update));
        let mut note = json!({ "update": update });
        if begins {
            note["begins"] = json!(true);
        }
        assert_eq!(
            read,
            [json!({ "sessionUpdate": "session_info_update", "_meta": { "acpd": note } })]
        );
    }
}

#[test]
fn a_message_that_is_replaced_is_another_one() {
    let block = |text: &str| json!({ "type": "text", "text": text });
    let chunk = |id: &str, text: &str| json!({ "sessionUpdate": "agent_message_chunk", "messageId": id, "content": block(text) });
    let whole =
        |content: Value| json!({ "sessionUpdate": "agent_message", "messageId": "m", "content": content });
    let replaced = |id: &str, text: &str| {
        let mut chunk = chunk(id, text);
        chunk["_meta"] = json!({ "acpd": { "replaces": "m" } });
        chunk
    };
    let first = |id: &str, text: &str| {
        let mut chunk = replaced(id, text);
        chunk["_meta"]["acpd"]["begins"] = json!(true);
        chunk
    };
    let cleared = json!({
        "sessionUpdate": "session_info_update", "_meta": { "acpd": { "update": whole(Value::Null) } },
    });
    let updates = read_all(&[
        whole(json!([])),
        chunk("m", "a"),
        chunk("m", "b"),
        // What it says already.
        whole(json!([block("ab")])),
        whole(json!([block("c"), block("d")])),
        chunk("m", "e"),
        whole(Value::Null),
        chunk("m", "f"),
        json!({ "sessionUpdate": "agent_message", "messageId": "m" }),
    ]);
    assert_eq!(
        updates,
        [
            chunk("m", "a"),
            chunk("m", "b"),
            first("m~acpd:1", "c"),
            replaced("m~acpd:1", "d"),
            replaced("m~acpd:1", "e"),
            cleared,
            replaced("m~acpd:2", "f"),
        ]
    );
}

#[test]
fn steps_of_a_plan_have_words_of_version_1() {
    let plan = |statuses: &[&str]| {
        let entries: Vec<Value> = statuses
            .iter()
            .map(|status| json!({ "content": "a", "priority": "low", "status": status }))
            .collect();
        json!({ "sessionUpdate": "plan_update", "plan": { "type": "items", "planId": "p", "entries": entries } })
    };
    let read = read_all(&[plan(&["in_progress", "cancelled", "_later"])]);
    let entries = &read[0]["plan"]["entries"];
    assert_eq!(
        entries[0],
        json!({ "content": "a", "priority": "low", "status": "in_progress" })
    );
    assert_eq!(
        (&entries[1]["status"], &entries[2]["status"]),
        (&json!("completed"), &json!("pending"))
    );
    assert_eq!(entries[1]["_meta"]["acpd"]["status"], "cancelled");
    let entry = json!({ "content": "a", "priority": "_soon", "status": "pending" });
    let plan = json!({ "sessionUpdate": "plan_update", "plan": { "type": "items", "planId": "p", "entries": [entry] } });
    let entry = &read_all(&[plan])[0]["plan"]["entries"][0];
    assert_eq!(
        *entry,
        json!({
            "content": "a", "priority": "medium", "status": "pending", "_meta": { "acpd": { "priority": "_soon" } },
        })
    );
}

#[test]
fn work_in_the_background_is_told_until_it_has_ended() {
    let state = |background: Value| json!({ "sessionUpdate": "state_update", "state": "idle", "background": background });
    let updates = read_all(&[
        state(json!([])),
        state(json!([{ "type": "terminal", "terminalId": "x" }])),
        state(json!([])),
        state(json!([])),
        json!({ "sessionUpdate": "state_update", "state": "running" }),
        json!({ "sessionUpdate": "replay_complete" }),
    ]);
    assert_eq!(updates.len(), 2, "{updates:?}");
}

/// Returns the question of version 1 for one of version 2 with these members.
fn ask(translator: &mut Translator, more: &Value) -> Value {
    let mut params = json!({ "sessionId": SESSION, "title": "Run?", "options": [] });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    let params = serde_json::value::to_raw_value(&params).unwrap();
    let one = translator.call("session/request_permission", &params).unwrap();
    serde_json::from_str(one.get()).unwrap()
}

#[test]
fn questions_are_about_a_tool_call_in_version_1() {
    let mut translator = Translator::default();
    read(
        &mut translator,
        &call(&json!({ "title": "make", "status": "in_progress" })),
    );
    let mut ask = |more: Value| ask(&mut translator, &more);
    let about = ask(json!({
        "description": "Why.",
        "subject": { "type": "tool_call", "toolCall": { "toolCallId": "t", "status": "pending", "rawInput": 1 } },
    }));
    let mut of_question = text("Why.");
    of_question["_meta"] = json!({ "acpd": { "continues": "question" } });
    assert_eq!(
        about["toolCall"],
        json!({ "toolCallId": "t", "rawInput": 1, "content": [of_question] }),
        "the call keeps its status and its title"
    );
    assert_eq!(
        about["_meta"]["acpd"],
        json!({ "title": "Run?", "description": "Why." })
    );
    let none = ask(json!({}));
    assert_eq!(
        none["toolCall"],
        json!({ "toolCallId": "acpd:question:1", "title": "Run?" })
    );
    let command = ask(json!({ "subject": { "type": "command", "command": "ls", "cwd": "/w" } }));
    assert_eq!(
        command["toolCall"],
        json!({
            "toolCallId": "acpd:question:2", "title": "ls", "kind": "execute",
            "rawInput": { "command": "ls", "cwd": "/w" },
        })
    );
    assert_eq!(command["_meta"]["acpd"]["subject"]["command"], "ls");
}

#[test]
fn a_question_that_has_a_member_twice_stays_as_it_is() {
    let params = r#"{"sessionId":"s-1","title":"a","subject":{"type":"command","command":"ls","command":"rm","cwd":"/"},"options":[]}"#;
    let params = serde_json::value::RawValue::from_string(params.to_owned()).unwrap();
    let mut translator = Translator::default();
    assert!(translator.call("session/request_permission", &params).is_none());
}

#[test]
fn the_description_of_a_question_does_not_stay_in_the_call() {
    let mut translator = Translator::default();
    read(&mut translator, &call(&json!({ "content": [text("a")] })));
    let about = json!({
        "description": "Why.", "subject": { "type": "tool_call", "toolCall": { "toolCallId": "t" } },
    });
    let asked = ask(&mut translator, &about);
    let mut why = text("Why.");
    why["_meta"] = json!({ "acpd": { "continues": "question" } });
    assert_eq!(asked["toolCall"]["content"], json!([text("a"), why]));
    let next = read(&mut translator, &call(&json!({ "status": "in_progress" })));
    assert_eq!(next[0]["content"], json!([text("a")]));
    let next = read(&mut translator, &call(&json!({ "status": "completed" })));
    assert_eq!(next[0]["content"], Value::Null);
}

#[test]
fn a_question_about_a_call_without_an_id_says_all_that_the_call_says() {
    let mut translator = Translator::default();
    for id in [Value::Null, json!(7), json!("x".repeat(100_000))] {
        let call = json!({ "toolCallId": id, "title": "rm x", "kind": "execute", "rawInput": { "command": "rm x" } });
        let subject = json!({ "type": "tool_call", "toolCall": call });
        let asked = ask(&mut translator, &json!({ "subject": subject }));
        let call = &asked["toolCall"];
        assert!(
            call["toolCallId"].as_str().unwrap().starts_with("acpd:question:"),
            "{call}"
        );
        assert_eq!(
            (&call["title"], &call["kind"]),
            (&json!("rm x"), &json!("execute"))
        );
        assert_eq!(call["rawInput"], json!({ "command": "rm x" }));
    }
}

/// A diff may become many times as long, which is not charged if it does not.
#[test]
fn only_what_is_shown_is_charged() {
    let mut translator = Translator::default();
    let line = format!("+{}\n", "x".repeat(100_000));
    let diff = json!({
        "type": "diff",
        "changes": [{ "operation": "add", "path": "/w/a" }],
        "patch": { "format": "git_patch", "text": format!("--- /dev/null\n+++ b/w/a\n@@ -0,0 +1 @@\n{line}") },
    });
    read(&mut translator, &call(&json!({ "content": [diff] })));
    let about = json!({
        "description": "Why.", "subject": { "type": "tool_call", "toolCall": { "toolCallId": "t" } },
    });
    for _ in 0..8 {
        let asked = ask(&mut translator, &about);
        assert_eq!(asked["toolCall"]["content"].as_array().map(Vec::len), Some(2));
    }
}

#[test]
fn a_content_for_which_there_is_no_room_is_not_cleared_by_a_question() {
    let mut translator = Translator::default();
    let long = text(&"x".repeat(3 << 20));
    read(&mut translator, &call(&json!({ "content": [long] })));
    let about = json!({
        "description": "Why.", "subject": { "type": "tool_call", "toolCall": { "toolCallId": "t" } },
    });
    let contents: Vec<_> = (0..40)
        .map(|_| {
            ask(&mut translator, &about)["toolCall"]["content"]
                .as_array()
                .map(Vec::len)
        })
        .collect();
    assert!(contents.contains(&None));
    assert!(
        contents.iter().flatten().all(|pieces| *pieces == 2),
        "{contents:?}"
    );
}

#[test]
fn a_block_of_a_type_of_version_2_alone_becomes_text() {
    let later = json!({ "type": "_later", "n": 1 });
    let skill = json!({ "type": "skill", "name": "deploy" });
    let block = |block: &Value| json!({ "type": "text", "text": "[_later]", "_meta": { "acpd": { "block": block } } });
    let updates = read_all(&[
        json!({ "sessionUpdate": "agent_message_chunk", "messageId": "m", "content": later }),
        json!({ "sessionUpdate": "agent_message_chunk", "content": later }),
        json!({ "sessionUpdate": "agent_thought", "messageId": "n", "content": [later] }),
        json!({ "sessionUpdate": "session_message", "messageId": "o", "content": [later, skill] }),
        json!({ "sessionUpdate": "user_message", "messageId": "p", "content": [skill] }),
        call(&json!({ "content": [{ "type": "content", "content": later }, text("a")] })),
    ]);
    assert_eq!(updates[0]["content"], block(&later));
    assert_eq!(updates[1]["content"], block(&later));
    assert_eq!(updates[2]["content"], block(&later));
    assert_eq!(updates[3]["content"], json!([block(&later), skill]));
    assert_eq!(updates[4]["content"], skill);
    assert_eq!(
        updates[5]["content"],
        json!([{ "type": "content", "content": block(&later) }, text("a")])
    );
}

#[test]
fn each_update_of_a_compaction_has_its_status() {
    let compaction = |id: &str, more: &Value| {
        let mut update = json!({ "sessionUpdate": "compaction_update", "compactionId": id });
        for (name, value) in more.as_object().unwrap() {
            update[name] = value.clone();
        }
        update
    };
    let updates = read_all(&[
        compaction("a", &json!({})),
        compaction("a", &json!({ "status": "completed" })),
        compaction("b", &json!({ "status": "failed" })),
        compaction("a", &json!({ "summary": [] })),
        compaction("a", &json!({ "status": null })),
        compaction("b", &json!({ "error": "e" })),
    ]);
    let statuses: Vec<_> = updates.iter().map(|update| &update["status"]).collect();
    assert_eq!(
        statuses,
        [
            "in_progress",
            "completed",
            "failed",
            "completed",
            "in_progress",
            "failed"
        ]
    );
}

#[test]
fn a_text_is_the_same_however_it_is_divided_and_escaped() {
    let mut translator = Translator::default();
    let mut said = |kind: &str, content: &str| {
        let update = format!(r#"{{"sessionUpdate":"{kind}","messageId":"m","content":{content}}}"#);
        translator.update(SESSION, &RawJson::trusted(&update)).len()
    };
    for part in [r"a\u00e9\ud83d", r"\ude00\n", r#"\"é\/"#] {
        let block = format!(r#"{{"type":"text","text":"{part}"}}"#);
        assert_eq!(said("agent_message_chunk", &block), 1);
    }
    for whole in [r#"aé😀\n\"é/"#, r"a\u00e9\uD83D\uDE00\u000a\u0022\u00e9/"] {
        let blocks = format!(r#"[{{"type":"text","text":"{whole}"}}]"#);
        assert_eq!(said("agent_message", &blocks), 0, "{whole}");
    }
    assert_eq!(
        said("agent_message", r#"[{"type":"text","text":"aé😀\n\"é"}]"#),
        1
    );
}

#[test]
fn a_cursor_after_a_message_is_after_what_replaces_it() {
    let whole = |text: &str| {
        json!({
            "sessionUpdate": "agent_message", "messageId": "m", "content": [{ "type": "text", "text": text }],
        })
    };
    let cursor = |position: &str| {
        let anchor = json!({ "type": "agent_message", "messageId": "m", "position": position });
        json!({ "sessionUpdate": "cursor_update", "cursorId": "c", "anchor": anchor })
    };
    let updates = read_all(&[
        whole("a"),
        cursor("after"),
        whole("b"),
        cursor("after"),
        cursor("before"),
        json!({ "sessionUpdate": "cursor_update", "cursorId": "c" }),
    ]);
    let anchors: Vec<_> = updates
        .iter()
        .map(|update| update["anchor"]["messageId"].as_str())
        .collect();
    assert_eq!(
        anchors,
        [None, Some("m"), None, Some("m~acpd:1"), Some("m"), None]
    );
}

#[test]
fn the_output_of_a_command_that_runs_outlasts_that_of_commands_that_have_ended() {
    let mut translator = Translator::default();
    let terminal = json!({ "type": "terminal", "terminalId": "x" });
    let chunk = json!({ "sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": "YQ==" });
    read(&mut translator, &call(&json!({ "content": [terminal] })));
    read(&mut translator, &chunk);
    for at in 0..200 {
        let ended = json!({
            "sessionUpdate": "terminal_update", "terminalId": format!("{at}"), "exitStatus": { "exitCode": 0 },
        });
        read(&mut translator, &ended);
    }
    let updates = read(&mut translator, &chunk);
    assert_eq!(texts(&updates), ["```\naa\n```"]);
}

#[test]
fn a_form_has_fields_of_version_1() {
    let mut translator = Translator::default();
    let mut form = |required: &[&str]| {
        let params = json!({
            "sessionId": SESSION, "mode": "form", "message": "Which?",
            "requestedSchema": { "type": "object", "required": required, "properties": {
                "mail": { "type": "string", "format": "email" },
                "color": { "type": "string", "format": "_color", "title": "C" },
                "place": { "type": "_place" },
            } },
        });
        let params = serde_json::value::to_raw_value(&params).unwrap();
        let one = translator.call("elicitation/create", &params).unwrap();
        serde_json::from_str::<Value>(one.get()).unwrap()
    };
    let one = form(&["mail"]);
    let known = json!({
        "mail": { "type": "string", "format": "email" }, "color": { "type": "string", "title": "C" },
    });
    assert_eq!(one["requestedSchema"]["properties"], known);
    let note = &one["_meta"]["acpd"]["requestedSchema"];
    assert_eq!(note["properties"]["color"]["format"], "_color");
    let one = form(&["place"]);
    assert_eq!(one["requestedSchema"]["properties"]["place"]["type"], "_place");
    let plain = r#"{"sessionId":"s-1","mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"boolean"}}}}"#;
    let plain = serde_json::value::RawValue::from_string(plain.to_owned()).unwrap();
    assert!(translator.call("elicitation/create", &plain).is_none());
}

#[test]
fn an_agent_does_not_write_the_notes_itself() {
    let meta =
        json!({ "acpd": { "status": "cancelled", "update": {}, "diff": {}, "stopReason": "a" }, "x": 1 });
    let mut piece = text("a");
    piece["_meta"] = meta.clone();
    let entry = json!({ "content": "a", "priority": "low", "status": "pending", "_meta": meta });
    let command = json!({ "name": "a", "description": "d", "_meta": meta });
    let option =
        json!({ "configId": "o", "name": "O", "type": "boolean", "currentValue": true, "_meta": meta });
    let said = [
        call(&json!({ "title": "a", "content": [piece], "_meta": meta })),
        json!({ "sessionUpdate": "plan_update", "plan": { "type": "items", "planId": "p", "entries": [entry] } }),
        json!({ "sessionUpdate": "available_commands_update", "availableCommands": [command] }),
        json!({ "sessionUpdate": "config_option_update", "configOptions": [option] }),
        json!({ "sessionUpdate": "session_info_update", "_meta": meta }),
        json!({ "sessionUpdate": "agent_message_chunk", "messageId": "m", "content": { "type": "text", "text": "a" }, "_meta": meta }),
    ];
    for update in read_all(&said) {
        assert!(!update.to_string().contains("acpd"), "{update}");
    }
    let mut translator = Translator::default();
    translator.prompt(TurnId(1), Vec::new());
    translator.prompt_answered(TurnId(1), Ok(json!({ "messageId": "m" }).into()));
    let idle =
        json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn", "_meta": meta });
    translator.follow_prompt(&json!({ "sessionUpdate": "state_update", "state": "running" }).into());
    let (_, ended) = translator.follow_prompt(&idle.into()).unwrap();
    assert_eq!(value(&ended.unwrap())["_meta"], json!({ "x": 1 }));
}
