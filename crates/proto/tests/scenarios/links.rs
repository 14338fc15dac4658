//! Decisions apply to the target of a path, and the operation uses this target.

use acpd_model::{EventKind, Failure, Origin, PreviousContent, RequestEvent};
use acpd_policy::{Policy, RealPaths, Scope};
use acpd_proto::thread::{Answer, Command, HostCall, HostReply, Input, Reply, Sight, Waiter};
use serde_json::{Value, json};

use crate::support::{Scene, check};

fn under(s: &mut Scene, daemon: Value) {
    let policy: Policy = serde_json::from_value(daemon).unwrap();
    s.rule(Some(policy));
    s.links = [
        ("/workspace/link", Ok("/workspace/secret/f")),
        ("/workspace/src/out", Ok("/etc/passwd")),
        ("/workspace/src/in", Ok("/workspace/src/a")),
        (
            "/workspace/loop",
            Err("/workspace/loop leads through too many symbolic links"),
        ),
    ]
    .map(|(path, place)| {
        (
            path.to_owned(),
            place.map(str::to_owned).map_err(Failure::invalid_params),
        )
    })
    .into();
    s.open_turn();
}

fn writes(s: &mut Scene, id: i64, path: &str) {
    let params = json!({ "sessionId": "s-1", "path": path, "content": "x" });
    s.calls(&id.to_string(), "fs/write_text_file", &params.to_string());
}

fn reads(s: &mut Scene, id: i64, path: &str) {
    let params = json!({ "sessionId": "s-1", "path": path });
    s.calls(&id.to_string(), "fs/read_text_file", &params.to_string());
}

/// The agent requests permission to edit `path`, which it names in the field `how`.
fn asks_to_edit(s: &mut Scene, id: i64, path: &str, how: &str) {
    let mut call = json!({ "toolCallId": format!("t{id}"), "title": "Edit", "kind": "edit" });
    match how {
        "locations" => call["locations"] = json!([{ "path": path }]),
        "input" => call["rawInput"] = json!({ "file_path": path }),
        _ => call["content"] = json!([{ "type": "diff", "path": path, "newText": "x" }]),
    }
    let options = json!([
        { "optionId": "ao", "name": "Once", "kind": "allow_once" },
        { "optionId": "aa", "name": "Always", "kind": "allow_always" },
        { "optionId": "ro", "name": "No", "kind": "reject_once" },
    ]);
    let params = json!({ "sessionId": "s-1", "toolCall": call, "options": options });
    s.calls(&id.to_string(), "session/request_permission", &params.to_string());
}

fn refused(s: &Scene, id: i64) -> Value {
    s.answer_to(&id.into())["error"].clone()
}

fn chosen(s: &Scene, id: i64) -> Value {
    s.answer_to(&id.into())["result"]["outcome"]["optionId"].clone()
}

#[test]
fn links_do_not_bypass_deny_rules() {
    check(|s| {
        under(
            s,
            json!({ "deny": ["Edit(secret/**)", "Read(secret/**)"], "allow": ["Edit"] }),
        );
        writes(s, 7, "/workspace/link");
        assert_eq!(refused(s, 7)["code"], -32007);
        assert!(
            refused(s, 7)["message"].as_str().unwrap().contains("secret"),
            "{}",
            refused(s, 7)
        );
        reads(s, 8, "/workspace/link");
        assert_eq!(refused(s, 8)["code"], -32007);
        for (id, how) in [(9, "locations"), (10, "input"), (11, "diff")] {
            asks_to_edit(s, id, "/workspace/link", how);
            assert_eq!(chosen(s, id), "ro", "{how}");
        }
        assert!(s.waiting.is_empty());
        assert!(
            s.params("serverRequest/resolved")
                .iter()
                .all(|p| p["by"]["rule"] == "Edit(secret/**)")
        );
    });
}

#[test]
fn a_link_is_allowed_where_the_place_it_leads_to_is() {
    check(|s| {
        under(s, json!({ "allow": ["Edit(src/**)"], "default": "ask" }));
        writes(s, 7, "/workspace/src/in");
        let expected = HostCall::WriteFile {
            path: "/workspace/src/in".into(),
            at: Some("/workspace/src/a".into()),
            content: "x".into(),
        };
        assert_eq!(s.waiting[0].1, expected, "it is written where it was decided on");
        s.host_replies(Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        }));
        writes(s, 8, "/workspace/src/out");
        assert!(s.waiting.is_empty());
        let asked = &s.params("item/fileChange/requestApproval")[0];
        assert_eq!(asked["title"], "Write /workspace/src/out, which is /etc/passwd");
        // If the link changes before the user decides, the approval still applies to the original target.
        s.links.clear();
        s.decide(1, Answer::Accept { always: false }).unwrap();
        let HostCall::WriteFile { at, .. } = &s.waiting[0].1 else {
            panic!()
        };
        assert_eq!(at.as_deref(), Some("/etc/passwd"));
        s.host_replies(Err(Failure::invalid_params(
            "path outside workspace: /etc/passwd",
        )));
        s.stops_with("end_turn");
    });
}

#[test]
fn a_missing_file_is_refused_with_the_reason_and_without_a_question() {
    check(|s| {
        under(s, json!({ "ask": ["Edit"] }));
        writes(s, 7, "/workspace/loop");
        assert_eq!(
            refused(s, 7)["message"],
            "/workspace/loop leads through too many symbolic links"
        );
        assert_eq!(s.thread.live().last_request, 0);
        under_more(s, json!({ "deny": ["Edit(loop)"] }));
        writes(s, 8, "/workspace/loop");
        assert_eq!(
            refused(s, 8)["code"],
            -32007,
            "a name that is denied needs no place"
        );
        asks_to_edit(s, 9, "/workspace/loop", "input");
        assert_eq!(chosen(s, 9), "ro");
    });
}

fn under_more(s: &mut Scene, daemon: Value) {
    let policy: Policy = serde_json::from_value(daemon).unwrap();
    s.rule(Some(policy));
}

#[test]
fn a_rule_about_reading_stops_a_read_and_a_default_does_not() {
    check(|s| {
        under(
            s,
            json!({ "deny": ["Read(.env)"], "ask": ["Read(private/**)"], "default": "deny" }),
        );
        reads(s, 7, "/workspace/.env");
        assert_eq!(refused(s, 7)["code"], -32007);
        assert!(s.waiting.is_empty());
        reads(s, 8, "/workspace/a");
        s.host_replies(Ok(HostReply::Read { content: "a".into() }));
        assert_eq!(s.answer_to(&8.into())["result"]["content"], "a");
        reads(s, 9, "/workspace/private/b");
        let asked = &s.params("item/permissions/requestApproval")[0];
        assert_eq!(asked["title"], "Read /workspace/private/b");
        assert!(s.waiting.is_empty(), "not before somebody has said yes");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        s.host_replies(Ok(HostReply::Read { content: "b".into() }));
        assert_eq!(s.answer_to(&9.into())["result"]["content"], "b");
        reads(s, 10, "/workspace/private/b");
        s.decide(2, Answer::Decline { always: false }).unwrap();
        assert_eq!(refused(s, 10)["code"], -32007);
        s.stops_with("end_turn");
    });
}

#[test]
fn without_a_policy_a_file_is_not_looked_up_and_goes_ahead() {
    check(|s| {
        s.open_turn();
        s.looks_up = false;
        writes(s, 7, "/workspace/a");
        reads(s, 8, "/workspace/a");
        assert_eq!((s.waiting.len(), s.unresolved.len()), (2, 0));
        s.host_replies(Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        }));
        s.host_replies(Ok(HostReply::Read { content: "x".into() }));
        s.stops_with("end_turn");
    });
}

#[test]
fn a_yes_holds_while_the_link_leads_to_the_same_place() {
    check(|s| {
        under(s, json!({ "ask": ["Edit"] }));
        asks_to_edit(s, 7, "/workspace/link", "diff");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        writes(s, 8, "/workspace/link");
        s.host_replies(Ok(HostReply::Written {
            old: PreviousContent::Nothing,
        }));
        asks_to_edit(s, 10, "/workspace/link", "diff");
        s.decide(2, Answer::Accept { always: false }).unwrap();
        s.links
            .insert("/workspace/link".into(), Ok("/workspace/other".into()));
        writes(s, 9, "/workspace/link");
        assert_eq!(
            s.thread.live().requests.len(),
            1,
            "another place is another question"
        );
        s.decide(3, Answer::Cancel).unwrap();
        s.stops_with("end_turn");
    });
}

#[test]
fn an_answer_that_holds_is_about_the_place_too() {
    check(|s| {
        under(s, json!({ "ask": ["Edit"] }));
        asks_to_edit(s, 7, "/workspace/link", "input");
        let answer = Answer::Accept { always: true };
        s.decide_for(1, answer, Some(Scope::Thread)).unwrap();
        let rules: Vec<_> = s
            .params("policy/remembered")
            .iter()
            .map(|p| p["answer"]["rule"].clone())
            .collect();
        assert_eq!(rules, ["Edit(/workspace/link)", "Edit(/workspace/secret/f)"]);
        asks_to_edit(s, 8, "/workspace/link", "diff");
        assert_eq!(chosen(s, 8), "ao");
        s.links
            .insert("/workspace/link".into(), Ok("/workspace/other".into()));
        asks_to_edit(s, 9, "/workspace/link", "diff");
        assert_eq!(s.thread.live().requests.len(), 1);
        s.decide(3, Answer::Cancel).unwrap();
        s.stops_with("end_turn");
    });
}

#[test]
fn a_callback_that_waits_for_a_path_can_be_withdrawn() {
    check(|s| {
        under(s, json!({ "allow": ["Edit"] }));
        s.looks_up = false;
        writes(s, 7, "/workspace/a");
        s.says(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}"#);
        assert_eq!(refused(s, 7)["code"], -32800);
        s.look_up();
        assert!(s.waiting.is_empty(), "it was not begun");
        // A request whose turn ends in the meantime is cancelled.
        asks_to_edit(s, 8, "/workspace/a", "input");
        assert_eq!(s.thread.live().last_request, 0);
        s.stops_with("end_turn");
        s.look_up();
        assert_eq!(
            s.answer_to(&8.into())["result"]["outcome"]["outcome"],
            "cancelled"
        );
        assert!(s.thread.live().requests.is_empty());
        // During an interrupt, no request reaches the user.
        s.prompt("again");
        asks_to_edit(s, 9, "/workspace/a", "input");
        s.interrupt();
        s.look_up();
        assert_eq!(
            s.answer_to(&9.into())["result"]["outcome"]["outcome"],
            "cancelled"
        );
        s.stops_with("cancelled");
        // Calls of the next process are distinct from those of the previous one.
        s.prompt("again");
        writes(s, 10, "/workspace/a");
        s.exits("exit status 1");
        s.look_up();
        assert!(s.waiting.is_empty());
    });
}

#[test]
fn a_program_is_the_one_that_its_path_leads_to() {
    check(|s| {
        under(
            s,
            json!({ "allow": ["Bash(./src/in *)", "Bash(./tool *)"], "deny": ["Bash(passwd *)"], "default": "ask" }),
        );
        let runs = |s: &mut Scene, id: i64, program: &str| {
            let params = json!({ "sessionId": "s-1", "command": program, "args": ["x"] });
            s.calls(&id.to_string(), "terminal/create", &params.to_string());
        };
        // The rule names the link. The target of the link is the same program.
        runs(s, 7, "src/in");
        runs(s, 8, "/workspace/src/a");
        assert_eq!(s.waiting.len(), 2);
        runs(s, 9, "src/out");
        assert_eq!(refused(s, 9)["code"], -32007);
        // The target could not be determined.
        s.links.insert(
            "/workspace/./tool".to_owned(),
            Err(Failure::invalid_params(
                "it leads through too many symbolic links",
            )),
        );
        runs(s, 10, "./tool");
        assert_eq!(s.waiting.len(), 2);
        assert_eq!(s.thread.live().requests.len(), 1, "a person is asked");
    });
}

#[test]
fn a_rule_that_comes_while_paths_are_looked_up_holds() {
    check(|s| {
        under(s, json!({ "allow": ["Edit"] }));
        s.looks_up = false;
        writes(s, 7, "/workspace/link");
        s.rule(Some(
            serde_json::from_value(json!({ "deny": ["Edit(secret/**)"] })).unwrap(),
        ));
        s.look_up();
        assert_eq!(refused(s, 7)["code"], -32007);
        // A lookup without any result must not let the call proceed.
        writes(s, 8, "/workspace/a");
        let (waiter, _) = s.unresolved.remove(0);
        assert!(matches!(waiter, Waiter::Call(_)));
        s.handle(Input::Resolved {
            waiter,
            real: RealPaths::default(),
        });
        assert!(
            refused(s, 8)["message"]
                .as_str()
                .unwrap()
                .contains("cannot resolve")
        );
        assert!(s.waiting.is_empty());
    });
}

#[test]
fn a_question_about_the_daemons_own_files_is_refused_whatever_the_policy_says() {
    for policy in [
        json!({}),
        json!({ "default": "allow" }),
        json!({ "allow": ["*"] }),
    ] {
        check(|s| {
            under(s, policy);
            s.reserved.insert("/workspace/a".to_owned());
            for (id, how) in [(7, "locations"), (8, "input"), (9, "diff")] {
                asks_to_edit(s, id, "/workspace/a", how);
                assert_eq!(chosen(s, id), "ro");
                let last = s
                    .log
                    .iter()
                    .rev()
                    .find_map(|event| match (&event.kind, &event.by) {
                        (EventKind::Request(RequestEvent::Settled { .. }), Origin::Policy(ruling)) => {
                            Some(ruling.reason.clone())
                        }
                        _ => None,
                    });
                let reason = last.expect("it is recorded");
                assert!(reason.contains("belongs to acpd itself"), "{reason}");
            }
            let call = json!({ "kind": "edit", "rawInput": { "path": "a" } });
            let explain = Command::Explain {
                tool_call: call.into(),
                sight: Sight::Everything,
            };
            let Ok(Reply::Explained(shown)) = s.ask(explain) else {
                panic!()
            };
            let shown = json!(shown);
            assert_eq!(shown["decision"]["effect"], "deny");
            assert_eq!(shown["decision"]["subject"], "the reserved file /workspace/a");
        });
    }
}

#[test]
fn an_explanation_is_about_the_place_as_well() {
    check(|s| {
        under(s, json!({ "deny": ["Edit(secret/**)"], "allow": ["Edit"] }));
        let call = json!({ "kind": "edit", "rawInput": { "path": "link" } });
        let Ok(Reply::Explained(shown)) = s.ask(Command::Explain {
            tool_call: call.into(),
            sight: Sight::Everything,
        }) else {
            panic!()
        };
        let shown = json!(shown);
        assert_eq!(shown["decision"]["effect"], "deny");
        assert_eq!(shown["decision"]["subject"], "changing /workspace/secret/f");
        assert_eq!(shown["subjects"][0]["decision"]["effect"], "allow");
    });
}
