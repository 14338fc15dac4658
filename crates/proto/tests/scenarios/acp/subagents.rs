//! Subagents of an agent: sessions for editors that know them, calls of the thread for others.

use serde_json::{Value, json};

use super::stage::{SIMPLE, Stage, play};
use crate::support::{Scene, message, tool};

/// The `initialize` params of an editor that knows subagents.
const KNOWING: &str = r#"{"protocolVersion":1,"clientInfo":{"name":"knowing","version":"1"},"clientCapabilities":{"subagents":{}}}"#;

/// The same of one that knows plans by id.
const PLANS: &str =
    r#"{"protocolVersion":1,"clientInfo":{"name":"planner","version":"1"},"clientCapabilities":{"plan":{}}}"#;

/// The same of one that knows both.
const BOTH: &str = r#"{"protocolVersion":1,"clientInfo":{"name":"both","version":"1"},"clientCapabilities":{"plan":{},"subagents":{}}}"#;

/// A subagent says something and calls a tool.
fn turn_of_a_subagent(scene: &mut Scene) {
    turn_of_one_with("title", scene);
}

/// The same. This member of the agent's report names the subagent.
fn turn_of_one_with(name: &str, scene: &mut Scene) {
    scene.prompt("do it");
    scene.update(&format!(
        r#"{{"sessionUpdate":"subagent_update","sessionId":"c","{name}":"review","capabilities":{{"cancel":{{}}}},"state":{{"state":"running"}}}}"#,
    ));
    for update in [
        message("hello"),
        tool("t", false, r#","title":"look","kind":"read""#),
    ] {
        scene.says(&format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"c","update":{update}}}}}"#
        ));
        scene.later(20);
    }
    scene.stops_with("end_turn");
}

/// Returns the session, the kind and the title of each update that an editor has received, from message `from` on.
fn updates(s: &Stage, who: usize, from: usize) -> Vec<(String, String, Value)> {
    let thread = s.scene.id.to_string();
    let received = s.editors[who].got[from..].iter();
    received
        .filter(|message| message["method"] == "session/update")
        .map(|message| {
            let update = &message["params"]["update"];
            let session = message["params"]["sessionId"]
                .as_str()
                .unwrap()
                .replace(&thread, "T");
            let kind = update["sessionUpdate"].as_str().unwrap().to_owned();
            (session, kind, update["title"].clone())
        })
        .filter(|(_, kind, _)| kind != "user_message_chunk")
        .collect()
}

#[test]
fn an_editor_that_knows_subagents_has_a_session_for_each() {
    play(|s| {
        // The schema of the tests is older than subagents.
        let who = Stage::at_work(KNOWING, s);
        let from = s.count(who);
        s.then(turn_of_a_subagent);
        let expected = [
            ("T", "subagent_update", json!("review")),
            ("T/lane_1", "agent_message_chunk", Value::Null),
            ("T/lane_1", "tool_call", json!("look")),
        ];
        let expected = expected.map(|(session, kind, title)| (session.to_owned(), kind.to_owned(), title));
        assert_eq!(updates(s, who, from), expected);
        let announced = s.editors[who].got[from..]
            .iter()
            .map(|message| &message["params"]["update"])
            .find(|update| update["sessionUpdate"] == "subagent_update");
        assert_eq!(
            announced.unwrap().get("capabilities"),
            None,
            "acpd cancels all together"
        );
    });
}

#[test]
fn other_editors_see_the_calls_with_the_name_of_the_subagent() {
    for name in ["title", "description"] {
        play(|s| {
            let who = Stage::at_work(SIMPLE, s);
            let from = s.count(who);
            s.then(|scene| turn_of_one_with(name, scene));
            let call = (
                "T".to_owned(),
                "tool_call".to_owned(),
                json!("Subagent \"review\": look"),
            );
            assert_eq!(updates(s, who, from), std::slice::from_ref(&call));
            let late = s.editor(SIMPLE);
            s.ask_session(late, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
            assert_eq!(updates(s, late, 0), [call]);
        });
    }
}

#[test]
fn plans_of_a_subagent_are_for_editors_that_know_both() {
    for (params, received) in [(KNOWING, false), (PLANS, false), (BOTH, true)] {
        play(|s| {
            let who = Stage::at_work(params, s);
            let from = s.count(who);
            s.then(|scene| {
                scene.prompt("plan it");
                scene.update(
                    r#"{"sessionUpdate":"subagent_update","sessionId":"c","title":"review","state":{"state":"running"}}"#,
                );
                for update in [
                    r#"{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"p","entries":[]}}"#,
                    r#"{"sessionUpdate":"plan_removed","planId":"p"}"#,
                    r#"{"sessionUpdate":"compaction_summary_chunk","compactionId":"k","content":{"type":"text","text":"x"}}"#,
                ] {
                    scene.says(&format!(
                        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"c","update":{update}}}}}"#
                    ));
                }
                scene.stops_with("end_turn");
            });
            let of_lane = updates(s, who, from)
                .into_iter()
                .filter(|(session, ..)| session == "T/lane_1");
            let kinds: Vec<String> = of_lane.map(|(_, kind, _)| kind).collect();
            let expected: &[&str] = if received {
                &["plan_update", "plan_removed"]
            } else {
                &[]
            };
            assert_eq!(kinds, expected, "{params}");
        });
    }
}

/// The history would announce them. Without it, an editor receives what subagents do in sessions that it does not know.
#[test]
fn known_subagents_are_announced_to_an_editor_that_resumes() {
    play(|s| {
        Stage::at_work(SIMPLE, s);
        let knowing = s.editor(KNOWING);
        s.ask_session(knowing, "session/resume", r#","cwd":"/workspace""#);
        assert_eq!(updates(s, knowing, 0), []);
        s.then(|scene| {
            scene.prompt("do it");
            for (session, update) in [
                (
                    "s-1",
                    r#"{"sessionUpdate":"subagent_update","sessionId":"c","title":"review","description":"reads","cwd":"/workspace/a","additionalDirectories":["/b"],"capabilities":{"cancel":{}},"state":{"state":"running"}}"#,
                ),
                (
                    "c",
                    r#"{"sessionUpdate":"subagent_update","sessionId":"g","state":{"state":"idle","stopReason":"end_turn"}}"#,
                ),
            ] {
                scene.says(&format!(
                    r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{session}","update":{update}}}}}"#
                ));
            }
        });
        let late = s.editor(KNOWING);
        s.ask_session(late, "session/resume", r#","cwd":"/workspace""#);
        let announced: Vec<(Value, Value)> = s.editors[late]
            .got
            .iter()
            .map(|message| &message["params"])
            .filter(|params| params["update"]["sessionUpdate"] == "subagent_update")
            .map(|params| (params["sessionId"].clone(), params["update"].clone()))
            .collect();
        let (thread, child) = (s.session(), format!("{}/lane_1", s.session()));
        let of_child = json!({
            "sessionUpdate": "subagent_update", "sessionId": child, "title": "review", "description": "reads",
            "state": { "state": "running" }, "cwd": "/workspace/a", "additionalDirectories": ["/b"],
        });
        let of_grandchild = json!({
            "sessionUpdate": "subagent_update", "sessionId": format!("{thread}/lane_2"),
            "state": { "state": "idle", "stopReason": "end_turn" },
        });
        assert_eq!(
            announced,
            [(json!(thread), of_child), (json!(child), of_grandchild)]
        );
        let (from, simple) = (s.count(late), s.editor(SIMPLE));
        s.ask_session(simple, "session/resume", r#","cwd":"/workspace""#);
        assert_eq!(updates(s, simple, 0), []);
        s.then(|scene| {
            let update = message("hello");
            scene.says(&format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"c","update":{update}}}}}"#
            ));
            scene.later(20);
        });
        assert_eq!(
            updates(s, late, from),
            [(
                "T/lane_1".to_owned(),
                "agent_message_chunk".to_owned(),
                Value::Null
            )]
        );
        s.then(|scene| scene.stops_with("end_turn"));
    });
}
