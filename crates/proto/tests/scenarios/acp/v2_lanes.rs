//! Subagents and terminals for editors of version 2.

use acpd_model::limits::LIVE_OUTPUT_MILLIS;
use acpd_model::{ItemId, LaneId};
use acpd_proto::agent::TerminalExit;
use acpd_proto::fanout::{LiveText, LiveUpdate};
use acpd_proto::surface::acp::Peer;
use acpd_proto::surface::contract::{Lane, Source, Surface};
use acpd_proto::thread::{HostReply, TerminalEvent};
use serde_json::{Value, json};

use super::delegated::{CREATE, answers, calls, working};
use super::stage::{Stage, play};
use super::v2::{EDITOR, asked, at_work, told, updates};
use crate::support::{Scene, tool};

/// The agent announces a subagent.
fn announces(scene: &mut Scene) {
    scene.update(
        r#"{"sessionUpdate":"subagent_update","sessionId":"c","title":"review","state":{"state":"running"}}"#,
    );
}

/// Returns the id of the session of the subagent for editors.
fn session(s: &Stage) -> String {
    format!("{}/lane_1", s.session())
}

/// Returns the updates of a kind in a session.
fn updates_in(s: &Stage, who: usize, session: &str, kind: &str) -> Vec<Value> {
    let got = s.editors[who].got.iter();
    let of_session = got.filter(|message| message["params"]["sessionId"] == session);
    let updates = of_session.map(|message| &message["params"]["update"]);
    updates
        .filter(|update| update["sessionUpdate"] == kind)
        .cloned()
        .collect()
}

#[test]
fn a_known_subagent_is_announced_to_an_editor_that_resumes() {
    play(|s| {
        let who = at_work(s);
        s.prompt(who, "do it");
        s.then(announces);
        let late = s.editor(EDITOR);
        s.ask_session(late, "session/resume", r#","cwd":"/workspace""#);
        let announced = updates_in(s, late, &s.session(), "subagent_update");
        assert_eq!(announced.len(), 1);
        assert_eq!(announced[0]["sessionId"], session(s));
        assert_eq!(announced[0]["state"]["state"], "running");
    });
}

#[test]
fn a_subagent_asks_in_its_session() {
    play(|s| {
        let who = at_work(s);
        s.prompt(who, "do it");
        s.then(|scene| {
            announces(scene);
            scene.update(&tool("t", false, r#","title":"of the parent""#));
            let options = r#"[{"optionId":"ao","name":"Once","kind":"allow_once"}]"#;
            let call = r#"{"toolCallId":"t","title":"rm x","kind":"execute"}"#;
            let params = format!(r#"{{"sessionId":"c","toolCall":{call},"options":{options}}}"#);
            scene.calls("5", "session/request_permission", &params);
        });
        let question = asked(s, who, "session/request_permission").clone();
        assert_eq!(question["params"]["sessionId"], session(s));
        assert_eq!(updates_in(s, who, &s.session(), "tool_call_update").len(), 1);
        let calls = updates_in(s, who, &session(s), "tool_call_update");
        assert_eq!(calls.len(), 1, "{calls:?}");
        let subject = &question["params"]["subject"]["toolCall"];
        assert_eq!(subject["toolCallId"], calls[0]["toolCallId"]);
        let result = json!({ "outcome": { "outcome": "selected", "optionId": "1" } });
        s.says(
            who,
            &json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }).to_string(),
        );
        assert_eq!(
            s.scene.answer_to(&json!(5))["result"]["outcome"]["optionId"],
            "ao"
        );
        for form in [
            r#"{"sessionId":"c","message":"which?","mode":"form","requestedSchema":{"type":"object","properties":{}}}"#,
            r#"{"sessionId":"c","message":"open it","mode":"url","url":"https://x/","elicitationId":"e"}"#,
        ] {
            s.then(|scene| scene.calls("6", "elicitation/create", form));
            let form = asked(s, who, "elicitation/create").clone();
            assert_eq!(form["params"]["sessionId"], session(s));
            s.says(
                who,
                &json!({ "jsonrpc": "2.0", "id": form["id"], "result": { "action": "cancel" } }).to_string(),
            );
        }
        assert!(!told(s, who, 0).contains(&"state_update requires_action".to_owned()));
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn a_command_of_a_subagent_is_in_its_session_and_can_be_cancelled() {
    play(|s| {
        let who = at_work(s);
        s.prompt(who, "do it");
        s.then(|scene| {
            announces(scene);
            let params = r#"{"sessionId":"c","command":"yes","outputByteLimit":1}"#;
            scene.calls("5", "terminal/create", params);
            scene.host_replies(Ok(HostReply::Created));
            // More than the log has: the scene checks whose it is.
            scene.terminal_says("term_1", TerminalEvent::Output("yyy".to_owned()));
            scene.later(LIVE_OUTPUT_MILLIS);
        });
        let begun = &updates_in(s, who, &session(s), "terminal_update")[0];
        assert_eq!(begun["capabilities"], json!({ "cancel": {} }));
        assert_eq!(
            updates_in(s, who, &s.session(), "terminal_update"),
            [Value::Null; 0]
        );
        let cancel = |session: &str, terminal: &str| {
            json!({ "sessionId": session, "terminalId": terminal }).to_string()
        };
        let unknown = s.ask(who, "terminal/cancel", &cancel(&session(s), "term_9"));
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
        for other in ["lane_0", "task"] {
            let other = format!("{}/{other}", s.session());
            let refused = s.ask(who, "terminal/cancel", &cancel(&other, "term_1"));
            assert_eq!(refused["error"]["code"], -32002, "{refused}");
        }
        let params = cancel(&session(s), "term_1");
        let id = s.request(who, "terminal/cancel", &params);
        s.then(|scene| scene.host_replies(Ok(HostReply::Done)));
        assert!(s.answer_to(who, &id).unwrap()["result"].is_object());
        let exited = TerminalEvent::Exited {
            exit: TerminalExit {
                code: Some(-1),
                signal: None,
            },
            output: String::new(),
            truncated: false,
        };
        s.then(|scene| scene.terminal_says("term_1", exited));
        let ended = updates_in(s, who, &session(s), "terminal_update").pop().unwrap();
        assert_eq!(ended["exitStatus"], json!({ "exitCode": -1 }));
        let ended = s.ask(who, "terminal/cancel", &params);
        assert_eq!(ended["error"]["code"], -32602, "{ended}");
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn live_output_of_a_subagent_is_in_its_session() {
    for (lane, session) in [(LaneId::new(1), "T/lane_1"), (None, "T")] {
        let update = LiveUpdate::Output(LiveText {
            item: ItemId(1),
            lane,
            terminal_id: "term_1".to_owned(),
            text: "y".to_owned(),
            skipped: 0,
        });
        let source = Source::Shown {
            thread: "T",
            turn: None,
            at: 0,
            update: &update,
        };
        let frames = Peer::encode(Lane::AcpV2, source);
        let text = frames[0].text.as_ref().unwrap();
        let message: Value = serde_json::from_slice(text).unwrap();
        assert_eq!(message["params"]["sessionId"], session);
    }
}

#[test]
fn a_command_in_another_editor_cannot_be_cancelled() {
    play(|s| {
        let one = working(s);
        calls(s, 5, CREATE);
        answers(s, one, r#""result":{"terminalId":"its"}"#);
        s.offers_v2 = true;
        let two = s.editor(EDITOR);
        let replay = r#","cwd":"/workspace","replayFrom":{"type":"start"}"#;
        s.ask_session(two, "session/resume", replay);
        let begun = &updates(s, two, "terminal_update")[0];
        assert_eq!(
            (&begun["command"], &begun["capabilities"]),
            (&json!("make all"), &Value::Null)
        );
        let terminal = format!(r#","terminalId":{}"#, begun["terminalId"]);
        let refused = s.ask_session(two, "terminal/cancel", &terminal);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        s.then(|scene| scene.stops_with("end_turn"));
    });
}
