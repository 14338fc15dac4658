//! Terminals of tool calls that the editor does not have.

use acpd_model::RawJson;
use acpd_proto::agent::TerminalExit;
use acpd_proto::thread::{Command, HostReply, TerminalAct, TerminalEvent};
use serde_json::{Value, json};

use super::stage::{ABLE, SIMPLE, Stage, play};
use crate::support::tool;

/// Runs a turn in which the daemon runs a command and a tool call displays it.
fn runs_a_command(s: &mut Stage) {
    s.then(|scene| {
        scene.prompt("do it");
        scene.update(&tool("t", false, r#","title":"make","kind":"execute""#));
        scene.calls("5", "terminal/create", r#"{"sessionId":"s-1","command":"make"}"#);
        scene.host_replies(Ok(HostReply::Created));
        let shows = r#","content":[{"type":"content","content":{"type":"text","text":"$"}},{"type":"terminal","terminalId":"term_1"}]"#;
        scene.update(&tool("t", true, shows));
    });
}

fn ends(s: &mut Stage, output: &str) {
    let event = TerminalEvent::Exited {
        exit: TerminalExit {
            code: Some(0),
            signal: None,
        },
        output: output.to_owned(),
        truncated: false,
    };
    s.then(|scene| scene.terminal_says("term_1", event));
}

/// Returns the contents of the tool call's updates that an editor received.
fn contents(s: &Stage, who: usize) -> Vec<Value> {
    let got = s.editors[who].got.iter();
    let of_call = got.filter(|message| message["params"]["update"]["toolCallId"] == "t");
    of_call
        .map(|message| message["params"]["update"]["content"].clone())
        .filter(|content| !content.is_null())
        .collect()
}

fn text(text: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}

#[test]
fn an_editor_without_the_terminal_receives_its_output_after_the_exit() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        runs_a_command(s);
        assert_eq!(contents(s, who), [json!([text("$"), text("")])]);
        ends(s, "built\n");
        assert_eq!(contents(s, who)[1..], [json!([text("$"), text("built\n")])]);
        // Later updates contain the output immediately.
        s.then(|scene| {
            let shows = r#","status":"completed","content":[{"type":"terminal","terminalId":"term_1"}]"#;
            scene.update(&tool("t", true, shows));
            scene.stops_with("end_turn");
        });
        assert_eq!(contents(s, who)[2..], [json!([text("built\n")])]);
        // An editor that loads the session receives the same.
        let late = s.editor(SIMPLE);
        s.ask_session(late, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        assert_eq!(contents(s, late), contents(s, who));
    });
}

#[test]
fn an_editor_that_resumes_later_receives_the_place_of_the_output() {
    play(|s| {
        Stage::at_work(SIMPLE, s);
        runs_a_command(s);
        ends(s, "built\n");
        let late = s.editor(SIMPLE);
        s.ask_session(late, "session/resume", r#","cwd":"/workspace""#);
        s.then(|scene| {
            let shows = r#","status":"completed","content":[{"type":"terminal","terminalId":"term_1"}]"#;
            scene.update(&tool("t", true, shows));
            scene.stops_with("end_turn");
        });
        assert_eq!(
            contents(s, late),
            [json!([text("(The output is in the thread's record.)")])]
        );
    });
}

#[test]
fn a_terminal_that_the_agent_made_by_itself_stays_as_it_is() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        s.then(|scene| {
            scene.prompt("do it");
            for id in ["own-1", "term_9", "term_x", "term_0"] {
                let shows = format!(r#","content":[{{"type":"terminal","terminalId":"{id}"}}]"#);
                scene.update(&tool("t", true, &shows));
            }
            scene.stops_with("end_turn");
        });
        let named: Vec<_> = contents(s, who)
            .iter()
            .map(|content| content[0]["terminalId"].clone())
            .collect();
        assert_eq!(named, ["own-1", "term_9", "term_x", "term_0"]);
    });
}

/// The other content of a tool call must not use up the daemon's memory.
#[test]
fn a_tool_call_that_is_too_large_is_not_kept_for_later() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        s.then(|scene| {
            scene.prompt("do it");
            scene.calls("5", "terminal/create", r#"{"sessionId":"s-1","command":"make"}"#);
            scene.host_replies(Ok(HostReply::Created));
            let large = RawJson::of(&"x".repeat(2 << 20)).unwrap();
            let shows = format!(
                r#","content":[{{"type":"content","content":{{"type":"text","text":{}}}}},{{"type":"terminal","terminalId":"term_1"}}]"#,
                large.get()
            );
            scene.update(&tool("t", true, &shows));
        });
        ends(s, "built\n");
        assert_eq!(contents(s, who).len(), 1);
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

/// Otherwise, one line of an agent could expand to gigabytes, with each load again.
#[test]
fn an_output_appears_once_in_a_message() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        runs_a_command(s);
        ends(s, &"x".repeat(50_000));
        s.then(|scene| {
            let block = r#"{"type":"terminal","terminalId":"term_1"}"#;
            let blocks = vec![block; 1000].join(",");
            scene.update(&tool(
                "t",
                true,
                &format!(r#","status":"completed","content":[{blocks}]"#),
            ));
            scene.stops_with("end_turn");
        });
        let told = contents(s, who).pop().unwrap();
        assert_eq!(told.as_array().unwrap().len(), 1000);
        assert!(told.to_string().len() < 200_000);
    });
}

/// The agent replaces the content while its command runs. The end of the command does not revert this.
#[test]
fn content_that_a_call_shows_meanwhile_is_kept() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        runs_a_command(s);
        s.then(|scene| {
            let large = "y".repeat(600 << 10);
            for text in [large.as_str(), "z"] {
                let shows = format!(
                    r#","content":[{{"type":"content","content":{{"type":"text","text":"{text}"}}}},{{"type":"terminal","terminalId":"term_1"}}]"#
                );
                scene.update(&tool("t", true, &shows));
            }
        });
        ends(s, "built\n");
        assert_eq!(
            contents(s, who).pop().unwrap(),
            json!([text("z"), text("built\n")])
        );
        s.then(|scene| {
            scene.update(&tool("t", true, r#","content":[]"#));
            scene.stops_with("end_turn");
        });
    });
}

#[test]
fn a_command_that_waits_for_input_is_reported_with_how_to_type() {
    let types = |scene: &mut crate::support::Scene| {
        scene.send(Command::UseTerminal {
            terminal_id: "term_1".into(),
            act: TerminalAct::TypeIn("hush\n".into()),
        });
        scene.host_replies(Ok(HostReply::Done));
    };
    for (hello, secret) in [(SIMPLE, false), (SIMPLE, true), (ABLE, false), (ABLE, true)] {
        play(|s| {
            let who = Stage::at_work(hello, s);
            runs_a_command(s);
            let from = s.count(who);
            s.then(|scene| scene.terminal_says("term_1", TerminalEvent::Waiting { secret }));
            let update = s.editors[who].got[from]["params"]["update"].clone();
            let kind = if hello == ABLE {
                "notice"
            } else {
                "agent_message_chunk"
            };
            assert_eq!((s.count(who), &update["sessionUpdate"]), (from + 1, &json!(kind)));
            let text = update.to_string();
            let types_it = format!("acpd type {} --terminal term_1", s.session());
            for part in ["The command in term_1 waits for input", "web UI", &types_it] {
                assert!(text.contains(part), "{part}: {text}");
            }
            assert_eq!(text.contains("such as a password"), secret, "{text}");
            s.then(types);
            let got = format!("{:?}", s.editors[who].got);
            assert!(!got.contains("hush"), "{got}");
            // It is no part of the history.
            let late = s.editor(hello);
            s.ask_session(late, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
            let got = format!("{:?}", s.editors[late].got);
            assert!(!got.contains("waits for input"), "{got}");
        });
    }
}
