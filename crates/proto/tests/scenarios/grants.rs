//! An approval applies once, and only to what the request displayed.

use acpd_model::limits::DIFF_BYTES;
use acpd_model::{ErrorCode, Failure, PreviousContent};
use acpd_proto::thread::{Answer, Command, HostReply};
use serde_json::{Value, json};

use crate::support::{Scene, check};

fn under_ask(scene: &mut Scene) {
    scene.open_turn();
    scene
        .ask(Command::SetPolicy(Some(json!({ "ask": ["*"] }).into())))
        .unwrap();
}

/// The agent requests permission for a tool call, and receives it.
fn is_allowed(scene: &mut Scene, id: &str, call: &str) {
    let options = r#"[{"optionId":"ao","name":"Once","kind":"allow_once"}]"#;
    scene.calls(
        id,
        "session/request_permission",
        &format!(r#"{{"sessionId":"s-1","toolCall":{{"toolCallId":"t-{id}",{call}}},"options":{options}}}"#),
    );
    let number = scene.thread.live().last_request;
    scene.decide(number, Answer::Accept { always: false }).unwrap();
}

/// Returns whether a call proceeds without a permission request. Denies the request otherwise.
fn goes_ahead(scene: &mut Scene, id: &str, method: &str, mut params: Value, reply: HostReply) -> bool {
    params["sessionId"] = json!("s-1");
    scene.calls(id, method, &params.to_string());
    if scene.thread.live().requests.is_empty() {
        scene.host_replies(Ok(reply));
        return true;
    }
    let number = scene.thread.live().last_request;
    scene.decide(number, Answer::Decline { always: false }).unwrap();
    false
}

fn writes(scene: &mut Scene, id: &str, path: &str, content: &str) -> bool {
    let params = json!({ "path": path, "content": content });
    let reply = HostReply::Written {
        old: PreviousContent::Nothing,
    };
    goes_ahead(scene, id, "fs/write_text_file", params, reply)
}

/// Sets the content of the next file that is written.
fn holds(scene: &mut Scene, text: &str) {
    let content = text.to_owned();
    scene.script.push_back(Ok(HostReply::Read { content }));
}

fn runs(scene: &mut Scene, id: &str, params: Value) -> bool {
    goes_ahead(scene, id, "terminal/create", params, HostReply::Created)
}

#[test]
fn a_yes_to_a_change_is_for_that_text_and_once() {
    let calls = [
        r#""kind":"edit","content":[{"type":"diff","path":"/workspace/f","oldText":"a","newText":"harmless"}]"#,
        r#""kind":"edit","rawInput":{"path":"f","content":"harmless"}"#,
    ];
    for call in calls {
        check(|s| {
            under_ask(s);
            is_allowed(s, "7", call);
            assert!(!writes(s, "8", "/workspace/f", "#!/bin/sh"));
            assert!(!writes(s, "9", "/workspace/g", "harmless"));
            if call.contains("oldText") {
                holds(s, "a");
            }
            assert!(writes(s, "10", "/workspace/f", "harmless"));
            assert!(!writes(s, "11", "/workspace/f", "harmless"), "once");
            s.stops_with("end_turn");
        });
    }
    // An approved text of one file does not apply to another file of the same request.
    check(|s| {
        under_ask(s);
        let two = r#""kind":"edit","content":[{"type":"diff","path":"/workspace/a","newText":"1"},{"type":"diff","path":"/workspace/b","newText":"2"}]"#;
        is_allowed(s, "7", two);
        assert!(!writes(s, "8", "/workspace/a", "2"));
        assert!(writes(s, "9", "/workspace/b", "2"));
        assert!(writes(s, "10", "/workspace/a", "1"));
        s.stops_with("end_turn");
    });
    // A request that displays no text approves no text.
    check(|s| {
        under_ask(s);
        is_allowed(s, "7", r#""kind":"edit","locations":[{"path":"/workspace/f"}]"#);
        assert!(!writes(s, "8", "/workspace/f", ""));
        s.stops_with("end_turn");
    });
}

/// A diff displays only the differences from the old text that the agent gives.
#[test]
fn a_yes_to_a_diff_holds_while_the_file_has_the_old_text() {
    let old = "unseen\na\nb\nc\nd\nteh\n";
    let new = "unseen\na\nb\nc\nd\nthe\n";
    let call = |old: &str, new: &str| {
        let diff = json!([{ "type": "diff", "path": "/workspace/f", "oldText": old, "newText": new }]);
        format!(r#""kind":"edit","content":{diff}"#)
    };
    check(|s| {
        under_ask(s);
        is_allowed(s, "7", &call(old, new));
        holds(s, "main\n");
        assert!(!writes(s, "8", "/workspace/f", new));
        // The new request displays what the file would really lose.
        let asked = s.params("item/fileChange/requestApproval");
        let diff = asked.last().unwrap()["subjects"][0]["diff"].as_str().unwrap();
        assert!(diff.contains("-main\n") && diff.contains("+unseen\n"), "{diff}");
        s.script
            .push_back(Err(Failure::new(ErrorCode::NotFound, "no such file")));
        assert!(!writes(s, "9", "/workspace/f", new));
        s.script.push_back(Err(Failure::invalid_params("no UTF-8")));
        assert!(!writes(s, "10", "/workspace/f", new));
        holds(s, old);
        assert!(writes(s, "11", "/workspace/f", new));
        assert!(!writes(s, "12", "/workspace/f", new), "once");
        s.stops_with("end_turn");
    });
    // The policy is checked again after the file was read.
    check(|s| {
        under_ask(s);
        is_allowed(s, "7", &call(old, new));
        let params = json!({ "sessionId": "s-1", "path": "/workspace/f", "content": new });
        s.calls("8", "fs/write_text_file", &params.to_string());
        let never = json!({ "deny": ["*"] }).into();
        s.ask(Command::SetPolicy(Some(never))).unwrap();
        s.host_replies(Ok(HostReply::Read {
            content: old.to_owned(),
        }));
        assert!(s.answer_to(&json!(8))["error"].is_object());
        assert!(s.waiting.is_empty());
        s.stops_with("end_turn");
    });
    // A diff of equal texts displays nothing, and a diff of large texts only their sizes.
    let large = "x".repeat(DIFF_BYTES + 1);
    for (old, new) in [("same\n", "same\n"), ("", large.as_str())] {
        check(|s| {
            under_ask(s);
            is_allowed(s, "7", &call(old, new));
            assert!(!writes(s, "8", "/workspace/f", new));
            s.stops_with("end_turn");
        });
    }
}

/// The request leaves out a part that is too long.
#[test]
fn a_yes_to_a_question_that_leaves_a_part_out_covers_no_text() {
    check(|s| {
        under_ask(s);
        let half = "x\n".repeat(DIFF_BYTES / 3);
        let diffs = ["/workspace/f", "/workspace/g"]
            .map(|path| json!({ "type": "diff", "path": path, "newText": half }));
        is_allowed(s, "7", &format!(r#""kind":"edit","content":{}"#, json!(diffs)));
        assert!(!writes(s, "8", "/workspace/g", &half));
        s.stops_with("end_turn");
    });
}

#[test]
fn two_texts_for_one_file_are_both_shown_and_neither_is_granted() {
    check(|s| {
        under_ask(s);
        let two = r#""kind":"edit","rawInput":{"file_path":"/workspace/f","content":"unseen\n"},"content":[{"type":"diff","path":"/workspace/f","newText":"the\n"}]"#;
        is_allowed(s, "7", two);
        assert!(!writes(s, "8", "/workspace/f", "unseen\n"));
        assert!(!writes(s, "9", "/workspace/f", "the\n"));
        s.stops_with("end_turn");
    });
    // The same text twice counts once, and a fragment of it is no other text.
    for input in [
        r#"{"file_path":"/workspace/f","content":"one\nthe\n"}"#,
        r#"{"file_path":"f","old_string":"","new_string":"the"}"#,
    ] {
        check(|s| {
            under_ask(s);
            let call = format!(
                r#""kind":"edit","rawInput":{input},"content":[{{"type":"diff","path":"/workspace/f","newText":"one\nthe\n"}}]"#
            );
            is_allowed(s, "7", &call);
            assert!(!writes(s, "8", "/workspace/f", "the"), "a piece");
            assert!(writes(s, "9", "/workspace/f", "one\nthe\n"));
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn a_yes_to_a_command_is_for_that_line_and_once() {
    check(|s| {
        under_ask(s);
        let line = "test -f y && rm x";
        is_allowed(
            s,
            "7",
            &format!(
                r#""kind":"execute","rawInput":{{"command":"{line}","cwd":"/workspace/sub","env":{{"LANG":"C"}}}}"#
            ),
        );
        let lang = json!([{ "name": "LANG", "value": "C" }]);
        let at = |command: &str| json!({ "command": command, "cwd": "/workspace/sub", "env": lang });
        assert!(!runs(s, "8", at("rm x")), "a part of it");
        assert!(!runs(s, "9", at("test -f y || rm x")), "the opposite of it");
        assert!(
            !runs(s, "10", json!({ "command": line, "env": lang })),
            "elsewhere"
        );
        assert!(
            !runs(s, "11", json!({ "command": line, "cwd": "/workspace/sub" })),
            "without its variables"
        );
        let sh = json!({ "command": "/bin/sh", "args": ["-c", line], "cwd": "/workspace/sub", "env": lang });
        assert!(runs(s, "12", sh.clone()));
        assert!(!runs(s, "13", sh), "once");
        s.exits("exit status 0");
    });
    // A simple command may be written in another form.
    check(|s| {
        under_ask(s);
        is_allowed(
            s,
            "7",
            r#""kind":"execute","rawInput":{"command":"git  commit -m a"}"#,
        );
        assert!(runs(
            s,
            "8",
            json!({ "command": "git", "args": ["commit", "-m", "a"] })
        ));
        s.exits("exit status 0");
    });
}
