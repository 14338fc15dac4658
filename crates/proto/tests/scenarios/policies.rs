//! The approval policy of a thread.

use acpd_model::event::TurnStatus;
use acpd_model::{ErrorCode, EventKind, Origin, PreviousContent, RawJson, RequestEvent, TurnId};
use acpd_policy::{Policy, Scope};
use acpd_proto::thread::{Answer, Command, HostCall, HostReply, Reply, Sight};
use serde_json::{Value, json};

use crate::support::{Scene, check, tool};

fn policy(json: Value) -> Policy {
    serde_json::from_value(json).unwrap()
}

fn under(s: &mut Scene, daemon: Value) {
    s.rule(Some(policy(daemon)));
    s.open_turn();
}

/// The agent requests permission to run `command`; the title differs.
fn asks_to_run(s: &mut Scene, id: &str, call: &str, command: &str) {
    let options = r#"[{"optionId":"aa","name":"Always","kind":"allow_always"},{"optionId":"ao","name":"Once","kind":"allow_once"},{"optionId":"ro","name":"No","kind":"reject_once"}]"#;
    let command = Value::from(command);
    let params = format!(
        r#"{{"sessionId":"s-1","toolCall":{{"toolCallId":"{call}","title":"git status","kind":"execute","rawInput":{{"command":{command}}}}},"options":{options}}}"#
    );
    s.calls(id, "session/request_permission", &params);
}

fn answer(s: &Scene, id: i64) -> Value {
    s.answer_to(&id.into())["result"]["outcome"].clone()
}

fn writes(s: &mut Scene, id: &str, path: &str) {
    s.calls(
        id,
        "fs/write_text_file",
        &format!(r#"{{"sessionId":"s-1","path":"{path}","content":"x"}}"#),
    );
}

#[test]
fn a_rule_answers_for_the_user_and_the_log_names_the_rule() {
    check(|s| {
        under(
            s,
            json!({ "ask": ["Bash"], "allow": ["Bash(git *)"], "deny": ["Bash(rm *)"] }),
        );
        asks_to_run(s, "7", "a", "git push");
        assert_eq!(answer(s, 7), json!({ "outcome": "selected", "optionId": "ao" }));
        asks_to_run(s, "8", "b", "git status && rm -rf x");
        assert_eq!(answer(s, 8), json!({ "outcome": "selected", "optionId": "ro" }));
        asks_to_run(s, "9", "c", "cargo test");
        assert_eq!(
            s.thread.live().requests.len(),
            1,
            "a person is asked about the rest"
        );
        let resolved = s.params("serverRequest/resolved");
        assert_eq!(resolved[0]["by"]["kind"], "policy");
        assert_eq!(resolved[0]["by"]["rule"], "Bash(git *)");
        assert_eq!(
            (&resolved[1]["by"]["rule"], &resolved[1]["outcome"]),
            (&json!("Bash(rm *)"), &json!("declined"))
        );
        s.decide(3, Answer::Cancel).unwrap();
        s.stops_with("end_turn");
        assert_eq!(s.status(TurnId(1)), TurnStatus::Completed);
    });
}

/// The policy checks what actually runs: the path of a program, or a shell line where the agent is known to send those.
#[test]
fn a_command_without_arguments_is_judged_as_it_is_run() {
    for (name, command, asked, run) in [
        ("kimi-cli", "git status", false, Some("/bin/sh")),
        ("kimi-cli", "git", false, Some("/bin/sh")),
        ("kimi-cli", "git log &>/dev/null touch x", true, None),
        ("other", "git", false, Some("git")),
        ("other", "git /x", true, None),
        ("other", "ls ./y", true, None),
    ] {
        check(|s| {
            s.rule(Some(policy(
                json!({ "allow": ["Bash(git *)", "Bash(ls)"], "ask": ["Bash"] }),
            )));
            s.create();
            s.answer(
                "initialize",
                &format!(r#"{{"protocolVersion":1,"agentInfo":{{"name":"{name}","version":"9"}}}}"#),
            );
            s.answer("session/new", r#"{"sessionId":"s-1"}"#);
            s.prompt("go");
            let params = json!({ "sessionId": "s-1", "command": command });
            s.calls("7", "terminal/create", &params.to_string());
            assert_eq!(
                s.thread.live().requests.len(),
                usize::from(asked),
                "{name}: {command}"
            );
            let runs = s.waiting.first().map(|(_, call)| match call {
                HostCall::CreateTerminal { command, .. } => command.as_str(),
                other => panic!("{other:?}"),
            });
            assert_eq!(runs, run, "{name}: {command}");
            if asked {
                s.decide(1, Answer::Cancel).unwrap();
            } else {
                s.host_replies(Ok(HostReply::Created));
            }
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn a_policy_never_takes_an_answer_that_the_agent_does_not_offer() {
    check(|s| {
        under(s, json!("permissive"));
        let params = r#"{"sessionId":"s-1","toolCall":{"toolCallId":"t","kind":"execute","rawInput":{"command":"ls"}},"options":[{"optionId":"x","name":"?","kind":"_odd"}]}"#;
        s.calls("7", "session/request_permission", params);
        assert_eq!(s.thread.live().requests.len(), 1);
        s.decide(1, Answer::Cancel).unwrap();
    });
}

#[test]
fn without_a_policy_everything_is_as_in_an_editor() {
    check(|s| {
        s.open_turn();
        asks_to_run(s, "7", "a", "git status");
        assert_eq!(s.thread.live().requests.len(), 1);
        writes(s, "8", "/workspace/x");
        assert_eq!(s.waiting.len(), 1, "the file is written");
        s.host_replies(Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        }));
        s.decide(1, Answer::Cancel).unwrap();
    });
}

#[test]
fn files_and_commands_that_come_without_a_question_are_guarded_too() {
    check(|s| {
        under(
            s,
            json!({ "deny": ["Edit(/workspace/.env)"], "allow": ["Edit(/workspace/src/**)"], "ask": ["Bash"] }),
        );
        writes(s, "7", "/workspace/.env");
        assert_eq!(s.answer_to(&7.into())["error"]["code"], -32007);
        assert!(s.waiting.is_empty());
        writes(s, "8", "/workspace/src/a.rs");
        s.host_replies(Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        }));
        assert_eq!(s.answer_to(&8.into())["result"], json!({}));
        let permitted = s
            .log
            .iter()
            .find(|event| matches!(event.kind, EventKind::Request(RequestEvent::CallPermitted { .. })));
        assert!(
            matches!(&permitted.unwrap().by, Origin::Policy(ruling) if ruling.rule.as_deref() == Some("Edit(/workspace/src/**)"))
        );
        assert_eq!(s.thread.live().turn.unwrap().permitted, 1);

        s.calls(
            "9",
            "terminal/create",
            r#"{"sessionId":"s-1","command":"ls","args":["-l"]}"#,
        );
        let asked = &s.params("item/commandExecution/requestApproval")[0];
        assert_eq!(
            (&asked["title"], &asked["subjects"][0]["argv"]),
            (&json!("Run ls -l"), &json!(["ls", "-l"]))
        );
        assert!(s.waiting.is_empty(), "not before somebody has said yes");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        s.host_replies(Ok(HostReply::Created));
        assert_eq!(
            s.answer_to(&9.into())["result"],
            json!({ "terminalId": "term_3" })
        );
        // Such an approval applies to one call.
        s.calls(
            "10",
            "terminal/create",
            r#"{"sessionId":"s-1","command":"ls","args":["-l"]}"#,
        );
        assert_eq!(s.thread.live().requests.len(), 1);
        s.decide(2, Answer::Cancel).unwrap();
        s.stops_with("end_turn");
        s.exits("exit status 0");
        assert_eq!(s.params("turn/completed")[0]["turn"]["permitted"], 1);
    });
}

#[test]
fn a_call_that_a_user_refuses_is_not_executed() {
    check(|s| {
        under(s, json!({ "ask": ["*"] }));
        writes(s, "7", "/workspace/x");
        assert_eq!(
            s.params("item/fileChange/requestApproval")[0]["subjects"][0]["path"],
            "/workspace/x"
        );
        s.decide(1, Answer::Decline { always: false }).unwrap();
        assert_eq!(s.answer_to(&7.into())["error"]["code"], -32007);
        writes(s, "8", "/workspace/x");
        s.interrupt();
        assert_eq!(s.answer_to(&8.into())["error"]["code"], -32007);
        assert!(s.waiting.is_empty());
        s.stops_with("cancelled");
    });
}

#[test]
fn an_agent_that_has_asked_is_not_asked_about_again() {
    check(|s| {
        under(s, json!({ "ask": ["Edit"] }));
        let params = r#"{"sessionId":"s-1","toolCall":{"toolCallId":"t","title":"Edit","kind":"edit","content":[{"type":"diff","path":"/workspace/x","newText":"x"}]},"options":[{"optionId":"ao","name":"Once","kind":"allow_once"}]}"#;
        s.calls("7", "session/request_permission", params);
        s.decide(1, Answer::Accept { always: false }).unwrap();
        writes(s, "8", "/workspace/x");
        s.host_replies(Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        }));
        assert_eq!(s.thread.live().last_request, 1);
        writes(s, "9", "/workspace/y");
        assert_eq!(
            s.thread.live().requests.len(),
            1,
            "another file is another question"
        );
        s.decide(2, Answer::Cancel).unwrap();
        s.stops_with("end_turn");
        s.prompt("next");
        writes(s, "10", "/workspace/x");
        assert_eq!(
            s.thread.live().requests.len(),
            1,
            "another turn is another question"
        );
        s.decide(3, Answer::Cancel).unwrap();
    });
}

fn always(s: &mut Scene, number: u32, scope: Option<Scope>) {
    s.decide_for(number, Answer::Accept { always: true }, scope)
        .unwrap();
}

#[test]
fn an_answer_that_holds_is_listed_and_can_be_taken_back() {
    check(|s| {
        under(s, json!({ "ask": ["Bash"] }));
        asks_to_run(s, "7", "a", "cargo test");
        always(s, 1, None);
        asks_to_run(s, "8", "b", "cargo test");
        assert_eq!(answer(s, 8)["optionId"], "ao", "the second time nobody is asked");
        asks_to_run(s, "9", "c", "cargo test; rm x");
        assert_eq!(s.thread.live().requests.len(), 1, "it holds for exactly that");
        s.decide(3, Answer::Cancel).unwrap();
        let Ok(Reply::Remembered(rules)) = s.ask(Command::Remembered) else {
            panic!()
        };
        assert_eq!(json!(rules)[0]["rule"], "Bash(cargo test)");
        assert_eq!(json!(rules)[0]["scope"], "session");
        s.ask(Command::Revoke { id: 1 }).unwrap();
        assert_eq!(
            s.ask(Command::Revoke { id: 1 }).unwrap_err().code,
            ErrorCode::NotFound
        );
        asks_to_run(s, "10", "d", "cargo test");
        assert_eq!(s.thread.live().requests.len(), 1);
        s.decide(4, Answer::Cancel).unwrap();
    });
}

#[test]
fn an_answer_for_the_session_ends_with_it_and_one_for_the_thread_does_not() {
    for (scope, expected) in [(Scope::Session, 1), (Scope::Thread, 0)] {
        check(|s| {
            under(s, json!({ "ask": ["Bash"] }));
            asks_to_run(s, "7", "a", "cargo test");
            always(s, 1, Some(scope));
            s.stops_with("end_turn");
            s.exits("exit status 0");
            s.prompt("again");
            s.answer("initialize", r#"{"protocolVersion":1}"#);
            s.answer("session/new", r#"{"sessionId":"s-1"}"#);
            asks_to_run(s, "7", "b", "cargo test");
            assert_eq!(s.thread.live().requests.len(), expected);
            s.interrupt();
        });
    }
    check(|s| {
        under(s, json!({ "ask": ["Bash"] }));
        asks_to_run(s, "7", "a", "cargo test");
        let answer = Answer::Accept { always: true };
        let refused = s.decide_for(1, answer, Some(Scope::Daemon)).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Unsupported);
        s.decide(1, Answer::Cancel).unwrap();
    });
}

#[test]
fn a_thread_has_a_policy_of_its_own_and_a_deny_of_the_daemon_holds() {
    check(|s| {
        under(s, json!({ "deny": ["Bash(rm *)"] }));
        let own = RawJson::parse(r#"{"allow":["Bash"]}"#).unwrap();
        s.ask(Command::SetPolicy(Some(own))).unwrap();
        asks_to_run(s, "7", "a", "cargo test");
        assert_eq!(answer(s, 7)["optionId"], "ao");
        asks_to_run(s, "8", "b", "rm x");
        assert_eq!(answer(s, 8)["optionId"], "ro");
        s.ask(Command::SetPolicy(None)).unwrap();
        asks_to_run(s, "9", "c", "cargo test");
        assert_eq!(s.thread.live().requests.len(), 1);
        s.decide(3, Answer::Cancel).unwrap();
        let wrong = RawJson::parse(r#"{"allow":["Bash("]}"#).unwrap();
        assert_eq!(
            s.ask(Command::SetPolicy(Some(wrong))).unwrap_err().code,
            ErrorCode::InvalidParams
        );
    });
}

#[test]
fn a_policy_that_changes_holds_from_then_on() {
    check(|s| {
        under(s, json!({ "ask": ["Bash"] }));
        s.rule(Some(policy(json!("readonly"))));
        asks_to_run(s, "7", "a", "ls");
        assert_eq!(answer(s, 7)["optionId"], "ro");
    });
}

#[test]
fn a_decision_is_explained_without_being_made() {
    check(|s| {
        under(s, json!({ "ask": ["Bash"], "allow": ["Bash(git *)"] }));
        let before = s.log.len();
        let call = json!({ "kind": "execute", "title": "harmless", "rawInput": { "command": "git push" } });
        let Ok(Reply::Explained(shown)) = s.ask(Command::Explain {
            tool_call: call.into(),
            sight: Sight::Everything,
        }) else {
            panic!()
        };
        let shown = json!(shown);
        assert_eq!(shown["decision"]["effect"], "allow");
        assert_eq!(shown["decision"]["rule"], "Bash(git *)");
        assert_eq!(shown["subjects"][0]["rules"].as_array().unwrap().len(), 2);
        assert_eq!(s.log.len(), before);
    });
}

#[test]
fn a_held_call_of_an_exited_agent_or_that_is_withdrawn_is_never_executed() {
    check(|s| {
        under(s, json!({ "ask": ["*"] }));
        writes(s, "7", "/workspace/x");
        s.says(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}"#);
        assert_eq!(s.answer_to(&7.into())["error"]["code"], -32800);
        assert!(s.thread.live().requests.is_empty());
        writes(s, "8", "/workspace/x");
        s.exits("exit status 1");
        assert!(s.thread.live().requests.is_empty());
        assert!(s.waiting.is_empty());
        assert!(s.decide(2, Answer::Accept { always: false }).is_err());
    });
    check(|s| {
        under(s, json!({ "ask": ["*"] }));
        s.update(&tool("t", false, r#","title":"x""#));
        writes(s, "8", "/workspace/x");
        s.stops_with("end_turn");
        assert_eq!(
            s.answer_to(&8.into())["error"]["code"],
            -32007,
            "the turn is over"
        );
        assert!(s.waiting.is_empty());
    });
}

#[test]
fn an_approval_covers_only_the_request() {
    check(|s| {
        under(s, json!({ "ask": ["*"] }));
        asks_to_run(s, "7", "a", "./deploy.sh");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        for (id, more) in [
            ("8", r#","cwd":"/workspace/evil""#),
            ("9", r#","env":[{"name":"LD_PRELOAD","value":"x"}]"#),
        ] {
            let params = format!(r#"{{"sessionId":"s-1","command":"./deploy.sh"{more}}}"#);
            s.calls(id, "terminal/create", &params);
            assert!(s.waiting.is_empty(), "{more}");
        }
        s.calls(
            "10",
            "terminal/create",
            r#"{"sessionId":"s-1","command":"./deploy.sh"}"#,
        );
        assert_eq!(s.waiting.len(), 1);
        s.host_replies(Ok(HostReply::Created));
        s.ask(Command::SetPolicy(Some(json!("readonly").into()))).unwrap();
        s.calls(
            "11",
            "terminal/create",
            r#"{"sessionId":"s-1","command":"./deploy.sh"}"#,
        );
        assert_eq!(
            s.answer_to(&11.into())["error"]["code"],
            -32007,
            "the policy has changed since"
        );
        s.interrupt();
        s.stops_with("cancelled");
        s.exits("exit status 0");
    });
}

#[test]
fn a_question_of_the_policys_own_names_variables_as_acp_does() {
    check(|s| {
        under(s, json!({ "ask": ["Bash"] }));
        let params = r#"{"sessionId":"s-1","command":"ls","env":[{"name":"A","value":"1"}]}"#;
        s.calls("9", "terminal/create", params);
        let asked = &s.params("item/commandExecution/requestApproval")[0];
        assert_eq!(
            asked["toolCall"]["rawInput"]["env"],
            json!([{ "name": "A", "value": "1" }])
        );
        s.stops_with("end_turn");
    });
}
