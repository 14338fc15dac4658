//! The messages of an agent reach an editor unchanged.

use serde_json::json;

use super::stage::{ABLE, SIMPLE, Stage, play};
use super::v2::EDITOR;
use crate::support::SESSION;

/// Sends lines of the agent, one in each window, and checks that the editor receives their params except for the session's
/// id.
fn carried(lines: &[&str]) {
    play(|s| {
        s.strict = false;
        let who = Stage::at_work(ABLE, s);
        s.then(|scene| {
            scene.prompt("do it");
        });
        for line in lines {
            let from = s.editors[who].texts.len();
            let (method, params) = line.split_once(' ').unwrap();
            s.then(|scene| {
                scene.says(&format!(
                    r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#
                ));
                scene.later(20);
            });
            let ours = params.replace(&format!("\"{SESSION}\""), &format!("\"{}\"", s.session()));
            let expected = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{ours}}}"#);
            assert_eq!(s.editors[who].texts[from..], [expected]);
        }
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

fn updates(updates: &[&str]) {
    let lines: Vec<String> = updates
        .iter()
        .map(|update| format!(r#"session/update {{"sessionId":"s-1","update":{update}}}"#))
        .collect();
    carried(&lines.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn unknown_kinds_members_and_numbers() {
    updates(&[
        r#"{"sessionUpdate":"hologram","x":1.10,"y":1234567890123456789012,"_meta":{"a":[null]}}"#,
        r#"{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":1.10,"currency":"USD"},"new":7}"#,
        r#"{"sessionUpdate":"usage_update","used":18446744073709551616,"size":1e999}"#,
        r#"{"sessionUpdate":"tool_call","toolCallId":"t","rawInput":{"n":1234567890123456789012},"vendor":1.10}"#,
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","rawOutput":{"b":1,"a":1234567890123456789012}}"#,
        r#"{"sessionUpdate":"plan","entries":[{"content":"c","priority":"high","status":"pending","extra":1}],"_meta":{}}"#,
        r#"{"sessionUpdate":"current_mode_update","currentModeId":"x","_meta":{"k":1}}"#,
        r#"{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"x","n":1234567890123456789012}]}"#,
        r#"{"sessionUpdate":"config_option_update","configOptions":[{"id":"m","odd":1.10}]}"#,
        r#"{"sessionUpdate":"session_info_update","title":"T","_meta":{"n":1234567890123456789012}}"#,
        r#"{"sessionUpdate":"notice","severity":"info","title":"x","n":1.10}"#,
        r#"{"sessionUpdate":"compaction_update","compactionId":"c","status":"in_progress","more":1}"#,
        r#"{"sessionUpdate":"compaction_summary_chunk","compactionId":"c","content":{"type":"text","text":"x"}}"#,
    ]);
}

#[test]
fn wrong_types_and_halves_of_characters() {
    updates(&[
        r#"{"sessionUpdate":"agent_message_chunk","content":7}"#,
        r#"{"sessionUpdate":"plan","entries":"none"}"#,
        r#"{"sessionUpdate":"tool_call","toolCallId":5}"#,
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\ud83d"}}"#,
        r#"{"sessionUpdate":"\ud83d"}"#,
        r#"{"sessionUpdate":7}"#,
        "{}",
        "[]",
        "7",
        r#""text""#,
    ]);
}

#[test]
fn lone_chunks_reach_editors_unchanged() {
    updates(&[
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a\"b\\c\nd é😀"}}"#,
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"messageId":"m","vendor":1}"#,
        r#"{"content":{"text":"\u0062","type":"text"},"sessionUpdate":"agent_message_chunk","messageId":"m"}"#,
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"c","annotations":{"priority":1.10}}}"#,
        r#"{"sessionUpdate":"agent_thought_chunk","content":{"type":"hologram","n":1.10}}"#,
        r#"{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"{\"type\":\"image\"}"}}"#,
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"","mimeType":"a/b"},"_meta":{}}"#,
    ]);
}

#[test]
fn params_with_more_to_them_and_other_notifications() {
    carried(&[
        r#"session/update {"update":{"sessionUpdate":"plan","entries":[]},"_meta":{"n":1.10},"sessionId":"s-1"}"#,
        r#"session/update {"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}},"k":12345678901234567890123}"#,
        r#"session/update { "sessionId" : "s-1" , "update":{"sessionUpdate":"hologram"} }"#,
        r#"_vendor/thing {"b":1.10,"sessionId":"s-1","a":12345678901234567890123}"#,
        "_vendor/thing [1,2]",
        r#"auth/status_update {"x":1.0}"#,
    ]);
}

#[test]
fn a_compaction_without_a_status_reaches_editors_that_know_compactions() {
    let odd = r#"{"sessionUpdate":"compaction_update","compactionId":"c"}"#;
    for (editor, count) in [(ABLE, 1), (SIMPLE, 0)] {
        play(|s| {
            s.strict = false;
            let who = Stage::at_work(editor, s);
            s.then(|scene| {
                scene.prompt("do it");
                scene.update(odd);
                scene.later(20);
            });
            let texts = s.editors[who].texts.iter();
            assert_eq!(
                texts.filter(|text| text.contains("compaction_update")).count(),
                count
            );
            s.then(|scene| scene.stops_with("end_turn"));
        });
    }
}

#[test]
fn lines_that_are_not_updates_do_not_reach_editors() {
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        let from = s.count(who);
        s.then(|scene| {
            for line in [
                r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}"#,
                r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"another","update":{"sessionUpdate":"plan","entries":[]}}}"#,
                r#"{"jsonrpc":"2.0","id":7,"method":"vendor/ask","params":{}}"#,
                "a line on stdout",
            ] {
                scene.says(line);
            }
        });
        assert_eq!(s.heard_from(who, from), Vec::<String>::new());
    });
}

/// An agent cannot say for acpd what an editor has seen, or who holds the lease, however it writes the name.
#[test]
fn messages_with_names_of_acpd_do_not_reach_editors() {
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        let (from, refused) = (s.count(who), s.scene.sent.len());
        s.then(|scene| {
            for line in [
                r#"{"jsonrpc":"2.0","method":"_acpd/mark","params":{"sessionId":"s-1","seq":99,"open":[]}}"#,
                r#"{"jsonrpc":"2.0","method":"_acpd\/prompt","params":{"id":2,"name":"n"}}"#,
                r#"{"jsonrpc":"2.0","method":"\u005facp\u0064/lease/moved","params":{"sessionId":"s-1","lease":null}}"#,
                r#"{"jsonrpc":"2.0","id":7,"method":"_acpd\u002flease/acquire","params":{"sessionId":"s-1"}}"#,
            ] {
                scene.says(line);
            }
        });
        assert_eq!(s.heard_from(who, from), Vec::<String>::new());
        let answers: Vec<_> = s.scene.sent[refused..].iter().map(|sent| &sent.json).collect();
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!(answers[0]["error"]["code"], -32601);
    });
}

#[test]
fn merged_chunks_keep_their_message() {
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        s.then(|scene| {
            scene.prompt("do it");
            for (id, word) in [("m1", "a"), ("m1", "b"), ("m1", "c"), ("m2", "d"), ("m2", "e")] {
                scene.update(&format!(
                    r#"{{"sessionUpdate":"agent_message_chunk","messageId":"{id}","content":{{"type":"text","text":"{word}"}}}}"#
                ));
            }
            scene.stops_with("end_turn");
        });
        let chunks: Vec<(String, String)> = s.editors[who]
            .got
            .iter()
            .map(|message| &message["params"]["update"])
            .filter(|update| update["sessionUpdate"] == "agent_message_chunk")
            .map(|update| {
                let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
                (text(&update["messageId"]), text(&update["content"]["text"]))
            })
            .collect();
        let expected = [("m1", "a"), ("m1", "bc"), ("m2", "de")];
        assert_eq!(
            chunks,
            expected.map(|(id, text)| (id.to_owned(), text.to_owned()))
        );
    });
}

#[test]
fn a_prompts_answer_is_the_agents_own() {
    for answer in [
        r#"{"stopReason":"end_turn"}"#,
        r#"{"stopReason":"end_turn","usage":{"totalTokens":3,"inputTokens":1,"outputTokens":2}}"#,
        r#"{"_meta":{"n":12345678901234567890123},"stopReason":"end_turn","odd":1.10}"#,
    ] {
        play(|s| {
            let who = Stage::at_work(ABLE, s);
            let id = s.prompt(who, "do it");
            s.then(|scene| scene.answer("session/prompt", answer));
            let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{answer}}}"#);
            assert_eq!(s.editors[who].texts.last().unwrap(), &expected);
        });
    }
}

#[test]
fn a_prompts_error_is_the_agents_own() {
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        let id = s.prompt(who, "do it");
        let error = r#"{"code":-32000,"message":"sign in","data":{"n":12345678901234567890123,"a":1.10}}"#;
        s.then(|scene| {
            let id = scene.open_request("session/prompt");
            scene.says_answer(id, &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
        });
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
        assert_eq!(s.editors[who].texts.last().unwrap(), &expected);
    });
}

/// The daemon sets the ids and names of the options, the call's title and first content, and `_meta.acpd`.
#[test]
fn the_rest_of_a_permissions_params_is_the_agents_own() {
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        let params = r#"{"options":[{"kind":"allow_once","name":"Y","optionId":"y","n":1.10},{"kind":"reject_once","name":"N","optionId":"n"}],"x":1.10,"_meta":{"big":12345678901234567890123},"sessionId":"SESSION","toolCall":{"toolCallId":"t","kind":"think","rawInput":{"z":1,"a":1.10},"n":1.10}}"#;
        s.then(|scene| {
            scene.prompt("do it");
            scene.calls(
                "5",
                "session/request_permission",
                &params.replace("SESSION", SESSION),
            );
        });
        let ours = [
            (
                r#""name":"Y","optionId":"y""#,
                r#""name":"Allow once: “Y”","optionId":"1""#,
            ),
            (
                r#""name":"N","optionId":"n""#,
                r#""name":"Reject: “N”","optionId":"2""#,
            ),
            ("SESSION", &s.session()),
        ];
        let expected = ours.iter().fold(params.to_owned(), |text, (theirs, ours)| {
            text.replace(theirs, ours)
        });
        let (before, after) = expected.split_once("123}").unwrap();
        let text = s.editors[who].texts.last().unwrap();
        let (got, rest) = text.split_once(r#","acpd":{"#).unwrap();
        assert!(got.ends_with(&format!("{before}123")), "{got}");
        let (_, call) = after.split_once(r#""toolCall""#).unwrap();
        let call = call.strip_suffix("}}").unwrap();
        assert!(rest.contains(&format!(r#""toolCall"{call},"title":"#)), "{rest}");
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn a_question_keeps_the_agents_meta_and_warns_that_the_agent_may_remember_the_answer() {
    for (theirs, expected) in [
        ("", json!({})),
        (r#","_meta":null"#, json!({})),
        (r#","_meta":{"n":1,"acpd":7}"#, json!({ "n": 1 })),
    ] {
        play(|s| {
            let who = Stage::at_work(ABLE, s);
            s.then(|scene| {
                scene.prompt("do it");
                let params = format!(
                    r#"{{"sessionId":"{SESSION}","toolCall":{{"toolCallId":"t"}},"options":[{{"kind":"allow_always","name":"A","optionId":"a\"b"}}]{theirs}}}"#
                );
                scene.calls("5", "session/request_permission", &params);
            });
            let meta = &s.editors[who].got.last().unwrap()["params"]["_meta"];
            let mut expected = expected;
            expected["acpd"] = json!({
                "agentRemembers": ["1"],
                "always": { "notRemembered": "no rule can be about exactly a tool call of which nothing is known" },
                "subjects": [{ "type": "unknown", "what": "the call does not say what it would do" }],
            });
            assert_eq!(*meta, expected, "{theirs}");
            s.then(|scene| scene.stops_with("end_turn"));
        });
    }
}

#[test]
fn line_ends_within_a_persons_blocks_do_not_end_the_message() {
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        s.then(|scene| {
            let block = acpd_model::RawJson::parse("{\"type\":\"text\",\r\n\"text\":\"a\\nb\"}").unwrap();
            scene.start_turn(vec![block], None).unwrap();
            scene.stops_with("end_turn");
        });
        assert_eq!(s.heard(who).last().unwrap(), "user_message_chunk a\nb");
    });
}

/// Returns the `_meta` of an agent's request, which is the last member of its params.
fn meta_of(line: &str) -> Option<&str> {
    line.split_once(r#","_meta":"#)?.1.strip_suffix("}}")
}

const META: &str = r#"{"b":1.10,"a":1234567890123456789012,"é\u00e9":[null,{"_meta":1.0e9}],"a":2}"#;

#[test]
fn meta_of_a_prompt_reaches_the_agent() {
    play(|s| {
        let who = Stage::at_work(ABLE, s);
        let session = s.session();
        let prompt = |text: &str, meta: &str| {
            format!(
                r#"{{"_meta":{meta},"sessionId":"{session}","prompt":[{{"type":"text","text":"{text}"}}]}}"#
            )
        };
        let queued = META.replace("1.10", "2.20");
        s.says(who, &request(90, "session/prompt", &prompt("one", META)));
        s.says(who, &request(91, "session/prompt", &prompt("waits", &queued)));
        s.says(who, &request(92, "session/prompt", &prompt("none", "null")));
        for _ in 0..3 {
            s.then(|scene| scene.stops_with("end_turn"));
        }
        let sent = s.scene.sent_as("session/prompt");
        let metas: Vec<_> = sent.iter().map(|sent| meta_of(&sent.text)).collect();
        assert_eq!(metas, [Some(META), Some(&queued), None]);
    });
}

#[test]
fn meta_of_a_new_session_reaches_the_agent() {
    play(|s| {
        let who = s.editor(ABLE);
        let params = format!(r#"{{"cwd":"/workspace","_meta":{META},"mcpServers":[]}}"#);
        s.says(who, &request(90, "session/new", &params));
        assert_eq!(meta_of(&s.scene.sent_as("session/new")[0].text), Some(META));
        // The value belongs to the session, so another process receives it as well.
        s.then(|scene| {
            scene.exits("crashed");
            scene.later(2_000);
            scene.prompt("go on");
            scene.answer("initialize", crate::support::FULL);
        });
        let sent = s.scene.sent.iter().rfind(|sent| sent.process == 2).unwrap();
        assert_eq!(
            (sent.json["method"].as_str(), meta_of(&sent.text)),
            (Some("session/resume"), Some(META))
        );
    });
}

fn request(id: u32, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// Whatever acpd makes of them: without a status, with members of other types, or about another session.
#[test]
fn updates_of_features_reach_no_editor_without_them() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        s.then(|scene| {
            scene.prompt("do it");
        });
        let from = s.count(who);
        for update in [
            r#"{"sessionUpdate":"compaction_update","compactionId":"c"}"#,
            r#"{"sessionUpdate":"compaction_update","compactionId":7}"#,
            r#"{"sessionUpdate":"compaction_summary_chunk","compactionId":"c"}"#,
            r#"{"sessionUpdate":"notice","severity":7}"#,
            r#"{"sessionUpdate":"plan_removed","planId":7}"#,
            r#"{"sessionUpdate":"cursor_update","cursorId":7}"#,
            r#"{"sessionUpdate":"cursor\u005fupdate","cursorId":7}"#,
            r#"{"sessionUpdate":"prompt_suggestions_update","suggestions":7}"#,
            r#"{"sessionUpdate":"subagent_update","sessionId":7}"#,
            r#"{"sessionUpdate":"session_message","messageId":"m","content":[]}"#,
            r#"{"sessionUpdate":"session_message_chunk","messageId":"m","content":{"type":"text","text":"x"}}"#,
        ] {
            s.then(|scene| {
                scene.update(update);
                scene.later(20);
            });
            assert_eq!(s.heard_from(who, from), [""; 0], "{update}");
        }
        s.then(|scene| scene.stops_with("end_turn"));
    });
}

#[test]
fn methods_of_acpd_itself_are_not_the_agents() {
    for hello in [ABLE, EDITOR] {
        play(|s| {
            s.offers_v2 = true;
            let who = Stage::at_work(hello, s);
            let from = s.count(who);
            s.then(|scene| {
                scene.prompt("do it");
                for params in [r#"{"sessionId":"s-1","seq":1152921504606846976}"#, "{}"] {
                    scene.says(&format!(
                        r#"{{"jsonrpc":"2.0","method":"_acpd/mark","params":{params}}}"#
                    ));
                }
                scene.calls("7", "_acpd/lease/acquire", r#"{"sessionId":"s-1"}"#);
            });
            let own = |text: &String| text.contains("_acpd/");
            assert!(!s.editors[who].texts[from..].iter().any(own));
            assert_eq!(s.scene.answer_to(&json!(7))["error"]["code"], -32601);
            s.then(|scene| scene.stops_with("end_turn"));
        });
    }
}
