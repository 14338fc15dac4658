//! Editors of version 2 on agents of version 2: between them is version 1, and the editor receives what the agent said.

use acpd_model::RequestId;
use acpd_proto::agent::AcpVersion;
use acpd_proto::projection::SessionChange;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::stage::{SIMPLE, Stage, play, play_in};
use crate::support::Scene;

const EDITOR: &str = concat!(
    r#"{"protocolVersion":2,"info":{"name":"two","version":"1"},"#,
    r#""capabilities":{"elicitation":{"form":{},"url":{}}}}"#
);
const HELLO: &str = r#"{"protocolVersion":2,"info":{"name":"fake","version":"1"},"capabilities":{"session":{"prompt":{},"mcp":{"stdio":{}}}}}"#;

/// Runs a scenario with an agent of version 2.
fn play_both(scenario: impl FnOnce(&mut Stage)) {
    let mut scene = Scene::new();
    scene.acp = AcpVersion::Two;
    play_in(scene, |s| {
        s.start = opens;
        s.offers_v2 = true;
        scenario(s);
    });
}

fn opens(scene: &mut Scene, change: SessionChange) {
    scene.create_with(change);
    scene.answer("initialize", HELLO);
    scene.answer("session/new", r#"{"sessionId":"s-1"}"#);
}

/// Returns an editor of version 2 whose prompt the agent has.
fn at_work(s: &mut Stage) -> usize {
    let who = Stage::at_work(EDITOR, s);
    s.prompt(who, "do it");
    s.then(|scene| scene.answer("session/prompt", r#"{"messageId":"p-1"}"#));
    who
}

/// The agent sends updates, and then is idle.
fn say(s: &mut Stage, updates: &[Value]) {
    s.then(|scene| {
        for update in updates {
            scene.update(&update.to_string());
        }
        scene.update(r#"{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}"#);
    });
}

/// Returns the updates that an editor received from message `from` on, without those of the state and of
/// cursors, which acpd adds.
fn updates(s: &Stage, who: usize, from: usize) -> Vec<Value> {
    let got = s.editors[who].got[from..].iter();
    let updates = got.map(|message| message["params"]["update"].clone());
    updates
        .filter(Value::is_object)
        .filter(|update| {
            update["sessionUpdate"] != "state_update" && update["sessionUpdate"] != "cursor_update"
        })
        .collect()
}

/// Checks that an editor receives these updates as the agent sends them, now and when it loads the session.
fn arrive(said: &[Value]) {
    play_both(|s| {
        let who = at_work(s);
        let one = s.editor(SIMPLE);
        s.ask_session(one, "session/resume", r#","cwd":"/workspace","mcpServers":[]"#);
        let (from, of_one) = (s.count(who), s.count(one));
        say(s, said);
        assert_eq!(updates(s, who, from), said);
        // The stage checks them against the schema of version 1.
        assert!(s.count(one) > of_one);
        let other = s.editor(EDITOR);
        let from = s.count(other);
        let replayed = r#","cwd":"/workspace","replayFrom":{"type":"start"}"#;
        s.ask_session(other, "session/resume", replayed);
        let replayed = updates(s, other, from);
        let mut left = replayed.iter();
        for update in said {
            assert!(
                left.any(|replayed| replayed == update),
                "{update}\nis not in order in {replayed:#?}"
            );
        }
    });
}

fn call(more: &Value) -> Value {
    let mut call = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t" });
    for (name, value) in more.as_object().unwrap() {
        call[name] = value.clone();
    }
    call
}

fn block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn chunk(kind: &str, id: &str, text: &str) -> Value {
    json!({ "sessionUpdate": format!("{kind}_chunk"), "messageId": id, "content": block(text) })
}

fn whole(kind: &str, id: &str, texts: &[&str]) -> Value {
    let blocks: Vec<Value> = texts.iter().map(|text| block(text)).collect();
    json!({ "sessionUpdate": kind, "messageId": id, "content": blocks })
}

#[test]
fn statuses_of_calls_arrive_as_they_were_said() {
    arrive(&[
        call(&json!({ "title": "make", "kind": "execute", "status": "pending" })),
        call(&json!({ "status": "in_progress" })),
        call(&json!({ "status": "paused" })),
        call(&json!({ "status": "_waits" })),
        call(&json!({ "status": "pending" })),
        call(&json!({ "status": null })),
        call(&json!({ "status": "in_progress", "_meta": { "theirs": 1 } })),
        call(&json!({ "status": "cancelled" })),
    ]);
}

#[test]
fn members_of_calls_are_cleared() {
    arrive(&[
        call(&json!({
            "title": "make", "name": "Bash", "kind": "execute", "rawInput": { "a": null }, "rawOutput": 1,
            "content": [{ "type": "content", "content": block("a") }], "locations": [{ "path": "/w/a" }],
        })),
        call(&json!({
            "title": null, "name": null, "kind": null, "rawInput": null, "rawOutput": null, "content": null,
            "locations": null,
        })),
        call(&json!({ "rawInput": 2 })),
    ]);
}

#[test]
fn a_call_without_a_title_has_none() {
    arrive(&[
        call(&json!({ "name": "Bash" })),
        call(&json!({ "title": "make" })),
    ]);
}

#[test]
fn changes_of_files_arrive_whole() {
    let patch = concat!(
        "diff --git a/w/a b/w/a\n--- a/w/a\n+++ b/w/a\n@@ -1,2 +1,2 @@\n x\n-old\n+new\n@@ -9 +9,2 @@\n-a\n+b\n+c\n",
        "diff --git a/w/b b/w/b\ndeleted file mode 100644\n--- a/w/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n",
    );
    let two = json!({
        "type": "diff",
        "changes": [{ "operation": "modify", "path": "/w/a" }, { "operation": "delete", "path": "/w/b" }],
        "patch": { "format": "git_patch", "text": patch },
    });
    let without_text = json!({ "type": "diff", "changes": [
        { "operation": "move", "oldPath": "/w/c", "path": "/w/d" },
        { "operation": "copy", "oldPath": "/w/d", "path": "/w/e" },
        { "operation": "add", "path": "/w/i.png", "fileType": "binary" },
    ] });
    let content = json!([
        { "type": "content", "content": block("before") },
        two,
        { "type": "content", "content": block("between") },
        without_text,
        { "type": "_chart", "points": [1, 2] },
        { "type": "content", "content": block("after") },
    ]);
    arrive(&[call(
        &json!({ "title": "edit", "kind": "edit", "content": content }),
    )]);
}

#[test]
fn messages_are_replaced_and_cleared() {
    for kind in ["agent_message", "agent_thought"] {
        arrive(&[
            chunk(kind, "m", "a"),
            whole(kind, "m", &["b"]),
            chunk(kind, "m", "c"),
            whole(kind, "m", &[]),
            chunk(kind, "m", "d"),
            chunk(kind, "n", "e"),
            whole(kind, "m", &["f"]),
        ]);
    }
}

#[test]
fn a_replacement_is_not_a_message_of_its_own() {
    play_both(|s| {
        let who = at_work(s);
        say(
            s,
            &[
                chunk("agent_message", "m", "a"),
                whole("agent_message", "m", &["b"]),
            ],
        );
        for _ in 0..2 {
            let from = s.count(who);
            let start = r#","cwd":"/workspace","replayFrom":{"type":"start"}"#;
            s.ask_session(who, "session/resume", start);
            let ids: Vec<Value> = updates(s, who, from)
                .iter()
                .filter(|update| update["sessionUpdate"].as_str().unwrap().starts_with("agent_"))
                .map(|update| update["messageId"].clone())
                .collect();
            assert_eq!(ids, ["m"; 3], "it is emptied, written, and replaced");
        }
    });
}

#[test]
fn steps_of_plans_keep_their_statuses() {
    let entry = |status: &str| json!({ "content": "a", "priority": "low", "status": status });
    let entries = json!([
        entry("completed"),
        entry("cancelled"),
        entry("_later"),
        entry("pending")
    ]);
    arrive(&[
        json!({ "sessionUpdate": "plan_update", "plan": { "type": "items", "planId": "p", "entries": entries } }),
    ]);
}

#[test]
fn updates_that_acpd_does_not_know_arrive() {
    arrive(&[
        json!({ "sessionUpdate": "_theirs", "n": [1.5, null], "_meta": { "theirs": {} } }),
        json!({ "sessionUpdate": "session_info_update", "_meta": { "theirs": 1 } }),
    ]);
}

#[test]
fn an_agent_does_not_say_what_acpd_says() {
    play_both(|s| {
        let who = at_work(s);
        let from = s.count(who);
        let forged = |update: Value| json!({ "sessionUpdate": "session_info_update", "title": "a", "_meta": { "acpd": { "update": update }, "x": 1 } });
        let words = [
            "replay_complete",
            "user_message",
            "config_option_update",
            "_theirs",
        ];
        let mut said: Vec<Value> = words
            .map(|word| forged(json!({ "sessionUpdate": word, "messageId": "m", "configOptions": [] })))
            .to_vec();
        let mut call = call(&json!({ "title": "b", "_meta": { "acpd": { "status": "cancelled" } } }));
        call["content"] = json!([
            { "type": "content", "content": block("a"), "_meta": { "acpd": { "continues": "diff" } } },
        ]);
        said.push(call);
        let mut replaces = chunk("agent_message", "m~acpd:1", "c");
        replaces["_meta"] = json!({ "acpd": { "replaces": "m", "begins": true } });
        said.push(replaces);
        say(s, &said);
        let heard = updates(s, who, from);
        let words: Vec<&str> = heard
            .iter()
            .map(|update| update["sessionUpdate"].as_str().unwrap())
            .collect();
        let info = "session_info_update";
        assert_eq!(
            words,
            [info, info, info, info, "tool_call_update", "agent_message_chunk"]
        );
        assert_eq!(heard[0]["_meta"], json!({ "x": 1 }));
        assert_eq!(heard[4].get("status"), None);
        assert_eq!(heard[4]["content"][0]["content"], block("a"));
        assert_eq!(heard[5]["messageId"], "m~acpd:1");
    });
}

#[test]
fn an_agent_of_version_1_is_not_believed() {
    play(|s| {
        s.offers_v2 = true;
        let who = Stage::at_work(EDITOR, s);
        s.prompt(who, "do it");
        let from = s.count(who);
        let acpd = json!({ "update": { "sessionUpdate": "_theirs" }, "status": "cancelled", "replaces": "m", "begins": true });
        let meta = json!({ "acpd": acpd });
        let mut chunk = chunk("agent_message", "m~acpd:1", "a");
        chunk["_meta"] = meta.clone();
        let mut call =
            json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "a", "status": "in_progress" });
        call["_meta"] = meta.clone();
        let info = json!({ "sessionUpdate": "session_info_update", "_meta": meta });
        s.then(|scene| {
            for update in [&chunk, &call, &info] {
                scene.update(&update.to_string());
            }
            scene.stops_with("end_turn");
        });
        call["sessionUpdate"] = json!("tool_call_update");
        assert_eq!(updates(s, who, from), [chunk, call, info]);
    });
}

/// Returns the last report of the state.
fn state(s: &Stage, who: usize) -> Value {
    let mut got = s.editors[who].got.iter().rev();
    let last = got.find(|message| message["params"]["update"]["sessionUpdate"] == "state_update");
    let mut last = last.unwrap()["params"]["update"].clone();
    last.as_object_mut().unwrap().remove("_meta");
    last
}

#[test]
fn stop_reasons_arrive_as_they_were_said() {
    for reason in [r#","stopReason":"_tired""#, "", r#","stopReason":"refusal""#] {
        play_both(|s| {
            let who = at_work(s);
            let idle = format!(r#"{{"sessionUpdate":"state_update","state":"idle"{reason}}}"#);
            s.then(|scene| {
                scene.update(r#"{"sessionUpdate":"state_update","state":"running"}"#);
                scene.update(&idle);
            });
            let idle: Value = serde_json::from_str(&idle).unwrap();
            assert_eq!(state(s, who), idle);
        });
    }
}

#[test]
fn work_in_the_background_is_told_with_the_state() {
    play_both(|s| {
        let who = at_work(s);
        let report = |state: &str, work: &Value| json!({ "sessionUpdate": "state_update", "state": state, "background": work });
        let work = json!([{ "type": "tool_call", "toolCallId": "t" }, { "type": "_later" }]);
        s.then(|scene| scene.update(&report("running", &work).to_string()));
        assert_eq!(state(s, who), report("running", &work));
        let mut with_session = work.as_array().unwrap().clone();
        with_session.push(json!({ "type": "subagent", "sessionId": "theirs" }));
        let mut idle = report("idle", &json!(with_session));
        idle["stopReason"] = json!("end_turn");
        s.then(|scene| scene.update(&idle.to_string()));
        idle["background"] = work.clone();
        assert_eq!(state(s, who), idle);
        // An editor that loads the session learns of it.
        let other = s.editor(EDITOR);
        s.ask_session(
            other,
            "session/resume",
            r#","cwd":"/workspace","replayFrom":{"type":"start"}"#,
        );
        assert_eq!(state(s, other), report("idle", &work));
        let done = report("idle", &json!([]));
        s.then(|scene| scene.update(&done.to_string()));
        assert_eq!(state(s, who), done);
        s.then(|scene| scene.update(&report("idle", &work).to_string()));
        s.then(|scene| scene.exits("it broke"));
        assert_eq!(state(s, who), done, "its process has ended");
    });
}

/// The agent asks, and the editor answers with the first option. Returns the params that the editor received.
fn ask(s: &mut Stage, who: usize, number: u32, more: &Value) -> Value {
    let mut params = json!({
        "sessionId": "s-1", "title": "Run it?", "options": [{ "optionId": "y", "name": "Yes", "kind": "allow_once" }],
    });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    let id = number.to_string();
    s.then(|scene| scene.calls(&id, "session/request_permission", &params.to_string()));
    let asked = s.editors[who].got.iter().rev();
    let mut asked = asked.filter(|message| message["method"] == "session/request_permission");
    let params = asked.next().unwrap()["params"].clone();
    let thread = s.scene.id;
    let id = RequestId { thread, number };
    s.says(
        who,
        &format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"outcome":{{"outcome":"selected","optionId":"1"}}}}}}"#
        ),
    );
    params
}

#[test]
fn questions_are_about_what_the_agent_says() {
    play_both(|s| {
        let who = at_work(s);
        let from = s.count(who);
        let command = json!({ "type": "command", "command": "make", "cwd": "/w" });
        let about = ask(
            s,
            who,
            1,
            &json!({ "subject": command, "description": "It is needed." }),
        );
        assert_eq!(about["subject"], command);
        let description = about["description"].as_str().unwrap();
        assert!(description.contains("make"), "{description}");
        assert!(
            description.ends_with("The agent asks: “Run it?”\n\nIt is needed."),
            "{description}"
        );
        let none = ask(s, who, 2, &json!({}));
        assert_eq!(none.get("subject"), None);
        let own = json!({ "type": "_network", "host": "a" });
        assert_eq!(ask(s, who, 3, &json!({ "subject": own }))["subject"], own);
        assert_eq!(updates(s, who, from), Vec::<Value>::new(), "no call was made");
        let begun = call(&json!({ "title": "rm", "kind": "execute", "status": "paused" }));
        s.then(|scene| scene.update(&begun.to_string()));
        let of_call = json!({ "type": "tool_call", "toolCall": { "toolCallId": "t", "rawInput": { "command": "rm" } } });
        let about = ask(s, who, 4, &json!({ "subject": of_call }));
        let asked = &about["subject"]["toolCall"];
        assert_eq!((&asked["toolCallId"], asked.get("_meta")), (&json!("t"), None));
        assert_eq!(asked["rawInput"]["command"], "rm");
        say(s, &[]);
    });
}

/// Returns the bytes that an editor has of a terminal, in the order of its updates.
fn output_of(updates: &[Value], id: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for update in updates.iter().filter(|update| update["terminalId"] == id) {
        if update.get("output").is_some() {
            bytes.clear();
        }
        let data = update["data"].as_str().or(update["output"]["data"].as_str());
        bytes.extend(STANDARD.decode(data.unwrap_or_default()).unwrap());
    }
    bytes
}

fn terminal_chunk(id: &str, bytes: &[u8]) -> Value {
    json!({ "sessionUpdate": "terminal_output_chunk", "terminalId": id, "data": STANDARD.encode(bytes) })
}

#[test]
fn terminals_of_the_agent_arrive_as_they_are() {
    let terminal = json!({ "type": "terminal", "terminalId": "x" });
    let content = json!([terminal, { "type": "content", "content": block("a") }, terminal]);
    arrive(&[
        json!({
            "sessionUpdate": "terminal_update", "terminalId": "x", "command": "make", "cwd": "/w",
            "size": { "cols": 80, "rows": 24 },
        }),
        call(&json!({ "title": "make", "kind": "execute", "content": content })),
        // Not a character.
        terminal_chunk("x", b"a\xff"),
        terminal_chunk("x", b"\xc3"),
        terminal_chunk("x", b"\xa9\n"),
        json!({ "sessionUpdate": "terminal_update", "terminalId": "x", "output": { "data": STANDARD.encode(b"b\0") } }),
        call(&json!({ "content": [{ "type": "content", "content": block("b") }, terminal] })),
        json!({ "sessionUpdate": "terminal_update", "terminalId": "x", "exitStatus": { "exitCode": 2, "signal": null } }),
        // No call shows it.
        json!({ "sessionUpdate": "terminal_update", "terminalId": "y", "command": "ls" }),
        terminal_chunk("y", b"a"),
    ]);
}

#[test]
fn long_output_arrives_whole() {
    let terminal = json!({ "type": "terminal", "terminalId": "term_1" });
    let mut said = vec![call(&json!({ "title": "make", "content": [terminal] }))];
    let mut expected = Vec::new();
    for number in 0..3_000_u32 {
        let part = [number.to_be_bytes(); 25].concat();
        said.push(terminal_chunk("term_1", &part));
        expected.extend(part);
    }
    play_both(|s| {
        let who = at_work(s);
        let from = s.count(who);
        say(s, &said);
        let heard = updates(s, who, from);
        // Terminals of acpd have such ids.
        assert_eq!(heard[0]["content"][0]["terminalId"], "agent:term_1");
        assert_eq!(output_of(&heard, "agent:term_1"), expected);
        let calls = heard
            .iter()
            .filter(|update| update["sessionUpdate"] == "tool_call_update");
        assert_eq!(calls.count(), 1, "its output is not repeated in the call");
        let mut had = heard;
        for _ in 0..2 {
            let from = s.count(who);
            let start = r#","cwd":"/workspace","replayFrom":{"type":"start"}"#;
            s.ask_session(who, "session/resume", start);
            had.extend(updates(s, who, from));
            assert_eq!(output_of(&had, "agent:term_1"), expected, "it is emptied before");
        }
    });
}
