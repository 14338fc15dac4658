//! Permission requests of an agent to editors, and the effects of their responses.

use acpd_model::event::Outcome;
use acpd_model::limits::QUESTION_BYTES;
use acpd_model::{EventKind, RequestEvent, RequestId};
use acpd_policy::Policy;
use acpd_proto::agent::AgentRequest;
use acpd_proto::projection::SessionChange;
use acpd_proto::thread::{Answer, Command, HostReply};
use serde_json::{Value, json};

use super::stage::{ABLE, SIMPLE, Stage, play};
use crate::support::{FULL, SESSION, Scene, tool};

const ASK: &str = "session/request_permission";

/// Returns two editors, and an agent that sends the first request of its turn.
fn asked(s: &mut Stage) -> (usize, usize) {
    let first = Stage::at_work(SIMPLE, s);
    let second = s.editor(SIMPLE);
    s.ask_session(second, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
    s.then(|scene| {
        scene.prompt("do it");
        scene.asks_permission("5", "t");
    });
    (first, second)
}

fn id(s: &Stage) -> String {
    let (thread, number) = (s.scene.id, 1);
    RequestId { thread, number }.to_string()
}

fn answers(s: &mut Stage, who: usize, kind: &str) {
    let id = id(s);
    s.says(who, &format!(r#"{{"jsonrpc":"2.0","id":"{id}",{kind}}}"#));
}

/// An editor that writes no JSON has closed its question, and the agent must not wait for another answer.
#[test]
fn an_answer_that_cannot_be_read_cancels_the_question() {
    play(|s| {
        let (first, second) = asked(s);
        let id = id(s);
        s.says(
            first,
            &format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"outcome":{{'"#),
        );
        let answer = s.scene.answer_to(&json!(5));
        assert_eq!(answer["result"]["outcome"]["outcome"], "cancelled");
        assert_eq!(taken_back(s, second), id);
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

fn last_method(s: &Stage, who: usize) -> Value {
    s.editors[who].got.last().unwrap()["method"].clone()
}

/// Returns the id of the last request that an editor saw cancelled.
fn taken_back(s: &Stage, who: usize) -> Value {
    let mut got = s.editors[who].got.iter().rev();
    let found = got.find(|message| message["method"] == "$/cancel_request");
    found.expect("it is taken back")["params"]["requestId"].clone()
}

/// Returns the updates of the tool call that an editor received, each with its status.
fn statuses(s: &Stage, who: usize) -> Vec<(String, String)> {
    let updates = s.editors[who]
        .got
        .iter()
        .map(|message| &message["params"]["update"]);
    let of_call = updates.filter(|update| update["toolCallId"] == "t");
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    of_call
        .map(|update| (word(&update["sessionUpdate"]), word(&update["status"])))
        .collect()
}

#[test]
fn an_editor_is_left_with_no_pending_call_that_only_a_question_named() {
    let told = |words: [(&str, &str); 2]| words.map(|(kind, status)| (kind.to_owned(), status.to_owned()));
    for (option, status) in [("3", "failed"), ("2", "completed")] {
        play(|s| {
            let (first, second) = asked(s);
            let selected =
                format!(r#""result":{{"outcome":{{"outcome":"selected","optionId":"{option}"}}}}"#);
            answers(s, first, &selected);
            s.then(|scene| scene.stops_with("end_turn"));
            for who in [first, second] {
                let expected = told([("tool_call", "pending"), ("tool_call_update", status)]);
                assert_eq!(statuses(s, who), expected);
            }
        });
    }
}

fn outcomes(s: &Stage) -> Vec<Outcome> {
    let settled = s.scene.kinds().filter_map(|kind| match kind {
        EventKind::Request(RequestEvent::Settled { outcome, .. }) => Some(outcome.clone()),
        _ => None,
    });
    settled.collect()
}

#[test]
fn the_first_answer_wins_and_the_question_is_taken_back_from_the_others() {
    play(|s| {
        let (first, second) = asked(s);
        for who in [first, second] {
            let question = s.editors[who].got.last().unwrap();
            assert_eq!(
                (&question["method"], &question["id"]),
                (&json!(ASK), &json!(id(s)))
            );
            let params = &question["params"];
            assert_eq!(
                (&params["sessionId"], &params["toolCall"]["toolCallId"]),
                (&json!(s.session()), &json!("t"))
            );
            let ours: Vec<_> = params["options"]
                .as_array()
                .unwrap()
                .iter()
                .map(|option| &option["optionId"])
                .collect();
            assert_eq!(ours[..2], ["1", "2"]);
        }
        let before = s.count(first);
        answers(
            s,
            first,
            r#""result":{"outcome":{"outcome":"selected","optionId":"2"}}"#,
        );
        assert_eq!(s.count(first), before, "who answered needs no more");
        assert_eq!(taken_back(s, second), id(s));
        let outcome = &s.scene.answer_to(&json!(5))["result"]["outcome"];
        assert_eq!(*outcome, json!({ "outcome": "selected", "optionId": "ao" }));
        // The response is too late.
        answers(
            s,
            second,
            r#""result":{"outcome":{"outcome":"selected","optionId":"3"}}"#,
        );
        assert_eq!(outcomes(s).len(), 1);
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

/// The agent's option id could equal the number of another option.
#[test]
fn an_editor_answers_by_our_numbers() {
    for (selected, expected) in [
        ("2", Some("reject_once")),
        ("1", Some("allow_always")),
        ("3", None),
        ("x", None),
    ] {
        play(|s| {
            let first = Stage::at_work(SIMPLE, s);
            s.then(|scene| {
                scene.prompt("do it");
                let call = r#"{"toolCallId":"t","kind":"execute","rawInput":{"command":"ls"}}"#;
                let options = r#"[{"optionId":"2","name":"No","kind":"allow_always"},{"optionId":"x","name":"Yes","kind":"reject_once"}]"#;
                let params = format!(r#"{{"sessionId":"{SESSION}","toolCall":{call},"options":{options}}}"#);
                scene.calls("5", ASK, &params);
            });
            let offered = s.editors[first].got.last().unwrap()["params"]["options"].clone();
            assert_eq!(
                offered,
                json!([
                    { "optionId": "1", "name": "Allow this command in /workspace for this session: “No”", "kind": "allow_always" },
                    { "optionId": "2", "name": "Reject: “Yes”", "kind": "reject_once" },
                ])
            );
            answers(
                s,
                first,
                &format!(r#""result":{{"outcome":{{"outcome":"selected","optionId":"{selected}"}}}}"#),
            );
            let kinds: Vec<String> = outcomes(s)
                .into_iter()
                .map(|outcome| match outcome {
                    Outcome::Selected { kind, .. } => kind,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(kinds, Vec::from_iter(expected.map(str::to_owned)), "{selected}");
            s.then(|scene| scene.stops_with("end_turn"));
        });
    }
}

#[test]
fn an_editor_shows_the_subjects_of_the_decision_and_marks_the_agents_text() {
    play(|s| {
        let first = Stage::at_work(SIMPLE, s);
        s.then(|scene| {
            scene.prompt("do it");
            scene.update(&crate::support::tool(
                "t",
                false,
                r#","title":"x","kind":"execute","rawInput":{"command":"touch pwned\n```\n- ok","n":1.10},"content":[{"type":"content","content":{"type":"text","text":"harmless"}}]"#,
            ));
            let call = r#"{"toolCallId":"t","title":"Read `README.md`\n\u202e","kind":"read","locations":[{"path":"README.md"}]}"#;
            let options = r#"[{"optionId":"a","name":"Yes\u001b","kind":"allow_once","_meta":{"n":1.10}}]"#;
            let params = format!(r#"{{"sessionId":"{SESSION}","toolCall":{call},"options":{options}}}"#);
            scene.calls("5", ASK, &params);
        });
        let text = s.editors[first].texts.last().unwrap();
        assert!(
            text.contains(r#""n":1.10}"#) && text.contains(r#""_meta":{"n":1.10}"#),
            "{text}"
        );
        let params = s.editors[first].got.last().unwrap()["params"].clone();
        let call = &params["toolCall"];
        assert_eq!(
            call["title"],
            "Read /workspace/README.md, and 3 more parts (the agent’s title: “Read `README.md`\u{fffd}\u{fffd}”)"
        );
        let expected = "What acpd decides on:\n\n````text\n  read /workspace/README.md\n  $ touch pwned\n  | ```\n  | - ok\n    in /workspace\n  do something that is not clear: the command has a backtick without an end\n  do something that is not clear: the call has members that acpd does not know: \"n\"\n````";
        assert_eq!(call["content"][0]["content"]["text"], expected);
        assert_eq!(call["content"][1]["content"]["text"], "harmless");
        assert_eq!(call["rawInput"]["command"], "touch pwned\n```\n- ok");
        assert_eq!(params["options"][0]["name"], "Allow once: “Yes\u{fffd}”");
        assert_eq!(
            params["_meta"]["acpd"]["subjects"][1]["line"],
            "touch pwned\n```\n- ok"
        );
        assert!(params["_meta"]["acpd"]["always"]["notRemembered"].is_string());
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn a_question_that_is_answered_elsewhere_is_taken_back() {
    play(|s| {
        let (first, second) = asked(s);
        s.then(|scene| scene.decide(1, Answer::Decline { always: false }).unwrap());
        for who in [first, second] {
            assert_eq!(taken_back(s, who), id(s));
        }
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

/// Any response of an editor except an approval approves nothing.
#[test]
fn an_invalid_answer_leaves_the_question_open_for_others() {
    for odd in [
        r#""error":{"code":-32800,"message":"cancelled"}"#,
        r#""error":{"code":-32603,"message":"boom"}"#,
        r#""result":null"#,
        r#""result":{}"#,
        r#""result":{"outcome":"selected"}"#,
        r#""result":{"outcome":{"outcome":"selected","optionId":"no such option"}}"#,
        r#""result":{"action":"accept"}"#,
    ] {
        play(|s| {
            let (first, second) = asked(s);
            answers(s, first, odd);
            assert!(outcomes(s).is_empty(), "{odd}");
            answers(
                s,
                second,
                r#""result":{"outcome":{"outcome":"selected","optionId":"3"}}"#,
            );
            assert_eq!(outcomes(s).len(), 1, "{odd}");
            assert!(!outcomes(s)[0].allows());
            s.then(|scene| scene.stops_with("end_turn"));
        });
    }
}

#[test]
fn a_choice_without_an_option_is_a_refusal() {
    play(|s| {
        let (first, second) = asked(s);
        answers(s, first, r#""result":{"outcome":{"outcome":"selected"}}"#);
        assert_eq!(outcomes(s).len(), 1);
        assert!(!outcomes(s)[0].allows());
        assert_eq!(taken_back(s, second), id(s));
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn older_editors_receive_no_new_notifications() {
    play(|s| {
        let old = r#"{"protocolVersion":1,"clientCapabilities":{"clientInfo":{"name":"old","version":"1"}}}"#;
        let first = Stage::at_work(old, s);
        s.then(|scene| {
            scene.prompt("do it");
            scene.asks_permission("5", "t");
        });
        assert!(s.heard(first).contains(&ASK.to_owned()));
        s.then(|scene| scene.decide(1, Answer::Decline { always: false }).unwrap());
        assert!(!s.heard(first).contains(&"$/cancel_request".to_owned()));
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn an_editor_that_dismisses_it_has_decided() {
    play(|s| {
        let (first, second) = asked(s);
        answers(s, first, r#""result":{"outcome":{"outcome":"cancelled"}}"#);
        assert_eq!(outcomes(s), [Outcome::Cancelled]);
        assert_eq!(taken_back(s, second), id(s));
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn answers_to_nothing_do_nothing() {
    play(|s| {
        let (first, _) = asked(s);
        for id in [
            "1",
            "null",
            r#""req_9_0192f0c1c5d77c0aa5e5f8d9a1b2c3d4""#,
            r#""req_1_00""#,
            "[]",
        ] {
            let result = r#""result":{"outcome":{"outcome":"selected","optionId":"2"}}"#;
            s.says(first, &format!(r#"{{"jsonrpc":"2.0","id":{id},{result}}}"#));
        }
        assert!(outcomes(s).is_empty());
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn a_later_editor_is_asked_once_its_session_is_open() {
    for method in ["session/load", "session/resume"] {
        play(|s| {
            asked(s);
            let late = s.editor(SIMPLE);
            let answer = s.ask_session(late, method, r#","cwd":"/workspace","mcpServers":[]"#);
            let heard = s.heard(late);
            assert_eq!(
                heard[heard.len() - 2..],
                [format!("answer to {}", answer["id"]), ASK.to_owned()]
            );
            answers(
                s,
                late,
                r#""result":{"outcome":{"outcome":"selected","optionId":"2"}}"#,
            );
            assert_eq!(outcomes(s).len(), 1);
            // A settled request is not sent again.
            let later = s.editor(SIMPLE);
            s.ask_session(later, method, r#","cwd":"/workspace","mcpServers":[]"#);
            assert!(!s.heard(later).contains(&ASK.to_owned()));
            assert!(!s.heard(later).contains(&"$/cancel_request".to_owned()));
            s.then(|scene| scene.stops_with("end_turn"));
        });
    }
}

/// Starts an agent that asks whether to trust the directory before it opens a session there.
fn asks_whether_it_is_trusted(scene: &mut Scene, change: SessionChange) {
    scene.create_with(change);
    scene.answer("initialize", FULL);
    scene.calls(
        "7",
        "session/request_permission",
        r#"{"sessionId":"s-1","toolCall":{"toolCallId":"t"},"options":[{"optionId":"y","name":"Trust","kind":"allow_once"}]}"#,
    );
}

#[test]
fn an_editor_is_asked_before_the_agent_has_opened_its_session() {
    play(|s| {
        let who = s.editor(SIMPLE);
        s.start = asks_whether_it_is_trusted;
        let id = s.request(who, "session/new", r#"{"cwd":"/workspace","mcpServers":[]}"#);
        let heard = s.heard(who);
        assert_eq!(
            heard[heard.len() - 3..],
            [
                format!("answer to {id}"),
                "tool_call pending".to_owned(),
                ASK.to_owned()
            ]
        );
        assert_eq!(s.answer_to(who, &id).unwrap()["result"]["sessionId"], s.session());
        answers(
            s,
            who,
            r#""result":{"outcome":{"outcome":"selected","optionId":"1"}}"#,
        );
        assert_eq!(outcomes(s).len(), 1);
        let options = r#"[{"id":"effort","name":"Effort","type":"select","currentValue":"low","options":[{"value":"low","name":"Low"}]}]"#;
        s.then(|scene| {
            scene.answer(
                "session/new",
                &format!(r#"{{"sessionId":"s-1","configOptions":{options}}}"#),
            );
        });
        let update = &s.editors[who].got.last().unwrap()["params"]["update"];
        assert_eq!(update["sessionUpdate"], "config_option_update");
        assert_eq!(
            update["configOptions"],
            serde_json::from_str::<Value>(options).unwrap()
        );
        s.prompt(who, "go on");
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

/// Returns the options of the last list that an editor has received, each with its value.
fn options_of(s: &Stage, who: usize) -> Vec<(Value, Value)> {
    let updates = s.editors[who].got.iter().rev();
    let list = updates
        .map(|message| &message["params"]["update"])
        .find(|update| update["sessionUpdate"] == "config_option_update");
    let list = list.and_then(|update| update["configOptions"].as_array());
    list.into_iter()
        .flatten()
        .map(|option| (option["id"].clone(), option["currentValue"].clone()))
        .collect()
}

#[test]
fn modes_that_come_after_the_response_are_options() {
    play(|s| {
        let who = s.editor(SIMPLE);
        s.start = asks_whether_it_is_trusted;
        s.request(who, "session/new", r#"{"cwd":"/workspace","mcpServers":[]}"#);
        answers(
            s,
            who,
            r#""result":{"outcome":{"outcome":"selected","optionId":"1"}}"#,
        );
        s.then(|scene| {
            scene.answer(
                "session/new",
                r#"{"sessionId":"s-1","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"}]},"models":{"currentModelId":"m-1","availableModels":[{"modelId":"m-1","name":"One"},{"modelId":"m-2","name":"Two"}]}}"#,
            );
        });
        let expected = |mode: &str, model: &str| {
            let mode = (json!("acpd.mode"), json!(mode));
            vec![mode, (json!("acpd.model"), json!(model))]
        };
        assert_eq!(options_of(s, who), expected("ask", "m-1"));

        let params = format!(
            r#"{{"sessionId":"{}","configId":"acpd.mode","value":"code"}}"#,
            s.session()
        );
        let id = s.request(who, "session/set_config_option", &params);
        s.then(|scene| scene.answer("session/set_mode", "{}"));
        let answer = s.answer_to(who, &id).unwrap();
        assert_eq!(answer["result"]["configOptions"][0]["currentValue"], "code");
        assert_eq!(options_of(s, who), expected("code", "m-1"));

        // What others change, and the agent itself, is in the list as well.
        s.then(|scene| {
            scene.send(Command::AgentRequest(AgentRequest::SetModel {
                model_id: "m-2".to_owned(),
            }));
            scene.answer("session/set_model", "{}");
        });
        assert_eq!(options_of(s, who), expected("code", "m-2"));
        s.then(|scene| scene.update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"ask"}"#));
        assert_eq!(options_of(s, who), expected("ask", "m-2"));
        s.then(|scene| {
            scene.update(r#"{"sessionUpdate":"config_option_update","configOptions":[{"id":"effort","name":"Effort","type":"select","currentValue":"low","options":[{"value":"low","name":"Low"}]}]}"#);
        });
        let mut with_own = expected("ask", "m-2");
        with_own.insert(0, (json!("effort"), json!("low")));
        assert_eq!(options_of(s, who), with_own);

        // Another editor has the modes and the agent's own options in its response.
        let later = s.editor(SIMPLE);
        s.ask_session(later, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        s.then(|scene| scene.update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"code"}"#));
        assert_eq!(
            s.editors[later].got.last().unwrap()["params"]["update"]["sessionUpdate"],
            "current_mode_update"
        );

        // An agent that starts again may have other modes.
        s.then(|scene| {
            scene.exits("it broke");
            scene.prompt("go on");
            scene.answer("initialize", FULL);
            scene.answer(
                "session/resume",
                r#"{"modes":{"currentModeId":"plan","availableModes":[{"id":"plan","name":"Plan"}]}}"#,
            );
            // The history of the session may come first.
            scene.later(300);
        });
        with_own[1].1 = json!("plan");
        assert_eq!(options_of(s, who), with_own);
    });
}

#[test]
fn a_question_is_not_asked_twice_on_one_connection() {
    play(|s| {
        let (first, _) = asked(s);
        s.ask_session(first, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        let times = s.heard(first).iter().filter(|heard| *heard == ASK).count();
        assert_eq!(times, 1);
        answers(
            s,
            first,
            r#""result":{"outcome":{"outcome":"selected","optionId":"2"}}"#,
        );
        assert_eq!(outcomes(s).len(), 1);
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn a_tool_call_that_first_appears_in_a_question_is_sent() {
    play(|s| {
        let (first, _) = asked(s);
        let heard = s.heard(first);
        assert_eq!(heard[heard.len() - 2..], ["tool_call pending", ASK]);
        s.then(|scene| scene.asks_permission("6", "t"));
        assert_eq!(
            s.heard(first)[s.count(first) - 2..],
            ["tool_call_update pending", ASK]
        );
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn no_client_is_asked_when_the_policy_decides() {
    play(|s| {
        let policy: Policy = serde_json::from_value(json!({ "allow": ["Bash"] })).unwrap();
        s.scene.rule(Some(policy));
        let first = Stage::at_work(SIMPLE, s);
        s.then(|scene| {
            scene.prompt("do it");
            let call = r#"{"toolCallId":"t","title":"ls","kind":"execute","rawInput":{"command":"ls"}}"#;
            let options = r#"[{"optionId":"ao","name":"Once","kind":"allow_once"}]"#;
            let params = format!(r#"{{"sessionId":"{SESSION}","toolCall":{call},"options":{options}}}"#);
            scene.calls("5", ASK, &params);
        });
        assert_eq!(outcomes(s).len(), 1);
        let heard = s.heard(first);
        assert!(
            !heard.contains(&ASK.to_owned()) && !heard.contains(&"$/cancel_request".to_owned()),
            "{heard:?}"
        );
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn the_policy_has_a_person_asked_in_words_of_its_own() {
    play(|s| {
        let policy: Policy = serde_json::from_value(json!({ "ask": ["Write"] })).unwrap();
        s.scene.rule(Some(policy));
        let who = Stage::at_work(SIMPLE, s);
        s.then(|scene| {
            scene.prompt("do it");
            let params = format!(r#"{{"sessionId":"{SESSION}","path":"/workspace/x","content":"y"}}"#);
            scene.calls("5", "fs/write_text_file", &params);
        });
        let question = s.editors[who].got.last().unwrap().clone();
        assert_eq!(question["method"], ASK);
        assert_eq!(question["params"]["toolCall"]["content"][1]["newText"], "y");
        let names = question["params"]["options"]
            .as_array()
            .unwrap()
            .iter()
            .map(|option| &option["name"]);
        let expected = [
            "Allow once",
            "Allow changing /workspace/x for this session",
            "Reject",
            "Reject changing /workspace/x for this session",
        ];
        assert!(names.eq(&expected), "{question}");
        assert_eq!(question["params"]["toolCall"]["title"], "Write /workspace/x");
        answers(
            s,
            who,
            r#""result":{"outcome":{"outcome":"selected","optionId":"1"}}"#,
        );
        s.then(|scene| {
            scene.host_replies(Ok(HostReply::Written {
                old: acpd_model::PreviousContent::Nothing,
            }));
            scene.stops_with("end_turn");
        });
    });
}

#[test]
fn a_question_of_our_own_has_a_title_of_one_line_and_a_bounded_length() {
    play(|s| {
        let policy: Policy = serde_json::from_value(json!({ "ask": ["Bash"] })).unwrap();
        s.scene.rule(Some(policy));
        let who = Stage::at_work(SIMPLE, s);
        let argument = format!("\u{202e}\u{2028}\u{1b}[2J\nAllow once{}", "x".repeat(50_000));
        s.then(|scene| {
            scene.prompt("do it");
            let params = json!({ "sessionId": SESSION, "command": "echo", "args": [argument] });
            scene.calls("5", "terminal/create", &params.to_string());
        });
        let call = &s.editors[who].got.last().unwrap()["params"]["toolCall"];
        let title = call["title"].as_str().unwrap();
        let head: String = title.chars().take(36).collect();
        assert_eq!(
            head,
            "Run echo '\u{fffd}\u{fffd}\u{fffd}[2J\u{fffd}Allow oncexxxxxxxxx"
        );
        assert_eq!(title.chars().count(), 1000);
        let content = call["content"][0]["content"]["text"].as_str().unwrap();
        assert!(
            content.contains(&"x".repeat(50_000)),
            "the content has the whole of it"
        );
        answers(
            s,
            who,
            r#""result":{"outcome":{"outcome":"selected","optionId":"3"}}"#,
        );
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn elicitations_go_to_editors_that_support_them() {
    play(|s| {
        let able = Stage::at_work(ABLE, s);
        let simple = s.editor(SIMPLE);
        s.ask_session(simple, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        s.then(|scene| {
            scene.prompt("do it");
            let schema = r#"{"type":"object","properties":{"n":{"type":"integer","title":"N"}}}"#;
            let params = format!(
                r#"{{"message":"how many?","mode":"form","requestedSchema":{schema},"sessionId":"{SESSION}","_meta":{{"k":1.10}}}}"#
            );
            scene.calls("5", "elicitation/create", &params);
        });
        assert!(!s.heard(simple).contains(&"elicitation/create".to_owned()));
        let told = s.editors[simple].texts.last().unwrap();
        let words = format!(
            "The agent asks: “how many?” This editor cannot show the question. Answer it in acpd’s web UI (acpd open), or with: \
             acpd answer {}",
            s.session()
        );
        assert!(told.contains(&words), "{told}");
        let text = s.editors[able].texts.last().unwrap();
        assert!(
            text.contains(&format!(
                r#""sessionId":"{}","_meta":{{"k":1.10}}}}"#,
                s.session()
            )),
            "{text}"
        );
        answers(
            s,
            able,
            r#""result":{"action":"accept","content":{"n":12345678901234567890}}"#,
        );
        let told = s.scene.sent.iter().rfind(|sent| sent.answers.is_some()).unwrap();
        assert!(
            told.text.contains(r#""content":{"n":12345678901234567890}"#),
            "{}",
            told.text
        );
        assert!(
            !s.heard(simple).contains(&"$/cancel_request".to_owned()),
            "it was never asked"
        );
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

/// Claude Code asks several questions at once under one sentence.
#[test]
fn editors_without_forms_receive_each_question_as_text() {
    play(|s| {
        let simple = Stage::at_work(SIMPLE, s);
        s.then(|scene| {
            scene.prompt("do it");
            let schema = r#"{"type":"object","properties":{"q0":{"type":"string","title":"Database","description":"Which one?","oneOf":[{"const":"pg","title":"Postgres"},{"const":"lite","title":"SQLite"}]},"q0_custom":{"type":"string","title":"Other"},"q1":{"type":"boolean","title":"Tests"}},"required":["q1"]}"#;
            let params = format!(
                r#"{{"message":"Please answer.","mode":"form","requestedSchema":{schema},"sessionId":"{SESSION}"}}"#
            );
            scene.calls("5", "elicitation/create", &params);
        });
        let told = s.editors[simple].got.last().unwrap();
        let told = told["params"]["update"]["content"]["text"].as_str().unwrap();
        let words = format!(
            "\n\nThe agent asks: “Please answer.” This editor cannot show the question. Answer it in acpd’s web UI (acpd open), or with: \
             acpd answer {}\n\n- “Database”: “Which one?” (“Postgres”, “SQLite”)\n- “Tests”\n\n",
            s.session()
        );
        assert_eq!(told, words);
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn a_question_about_a_request_of_ours_is_the_sessions() {
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        s.then(|scene| {
            let params =
                r#"{"requestId":0,"message":"open it","mode":"url","url":"https://x/","elicitationId":"e"}"#;
            scene.calls("5", "elicitation/create", params);
        });
        let question = s.editors[who].got.last().unwrap();
        assert_eq!(question["params"]["sessionId"], s.session());
        assert!(question["params"].get("requestId").is_none());
        s.then(|scene| {
            let done = r#"{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"e"}}"#;
            scene.says(done);
        });
        assert_eq!(last_method(s, who), "elicitation/complete");
        answers(s, who, r#""result":{"action":"accept"}"#);
        assert_eq!(outcomes(s), [Outcome::Accepted { content: None }]);
    });
}

#[test]
fn a_cancel_takes_the_questions_back() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        let prompt = s.prompt(who, "do it");
        s.then(|scene| scene.asks_permission("5", "t"));
        s.notify(who, "session/cancel");
        assert_eq!(taken_back(s, who), id(s));
        answers(s, who, r#""result":{"outcome":{"outcome":"cancelled"}}"#);
        s.then(|scene| scene.stops_with("cancelled"));
        assert_eq!(
            s.answer_to(who, &prompt).unwrap()["result"]["stopReason"],
            "cancelled"
        );
        assert_eq!(outcomes(s), [Outcome::Cancelled]);
    });
}

/// Content replaces the content that an editor has.
#[test]
fn a_question_takes_no_large_diff_away_from_an_editor() {
    let diff = |text: &str| json!([{ "type": "diff", "path": "/workspace/f", "newText": text }]);
    let large = "x".repeat(QUESTION_BYTES + 1);
    let small_room = "d/".repeat(600);
    // The locations, the displayed content, and whether the request has its own content.
    for (also, shown, has_content) in [
        ("g", diff(&large), false),
        ("g", diff("x\n"), true),
        (
            "g",
            json!([{ "type": "content", "content": { "type": "text", "text": large } }]),
            true,
        ),
        // A title without room for all locations does not replace the content.
        (&small_room, diff(&large), true),
    ] {
        play(|s| {
            let who = Stage::at_work(SIMPLE, s);
            s.then(|scene| {
                scene.prompt("do it");
                let call = json!({ "title": "Edit", "kind": "edit", "locations": [{ "path": also }], "content": shown });
                let call = call.to_string();
                scene.update(&tool("t", false, &format!(",{}", &call[1..call.len() - 1])));
                let options = r#"[{"optionId":"ao","name":"Once","kind":"allow_once"}]"#;
                let params =
                    format!(r#"{{"sessionId":"{SESSION}","toolCall":{{"toolCallId":"t"}},"options":{options}}}"#);
                scene.calls("5", ASK, &params);
            });
            let question = &s.editors[who].got.last().unwrap()["params"]["toolCall"];
            assert_eq!(question.get("content").is_some(), has_content, "{also}");
            let title = question["title"].as_str().unwrap();
            let names_all = title.contains("/workspace/f") && title.contains("/workspace/g");
            assert_eq!(names_all, !has_content, "{title}");
            answers(s, who, r#""result":{"outcome":{"outcome":"cancelled"}}"#);
            s.then(|scene| scene.stops_with("end_turn"));
        });
    }
}
