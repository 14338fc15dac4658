//! An approval applies to what the request displayed.

use acpd_model::limits::QUESTION_BYTES;
use acpd_model::{EventKind, RequestEvent, SessionEvent};
use acpd_proto::thread::{Answer, Command, HostReply};
use serde_json::{Value, json};

use crate::support::{Scene, check, tool};

/// The agent requests permission for a tool call with these members.
fn asks(scene: &mut Scene, id: &str, call: &str) {
    let options = r#"[{"optionId":"ao","name":"Once","kind":"allow_once"},{"optionId":"ro","name":"No","kind":"reject_once"}]"#;
    scene.calls(
        id,
        "session/request_permission",
        &format!(r#"{{"sessionId":"s-1","toolCall":{{"toolCallId":"t"{call}}},"options":{options}}}"#),
    );
}

/// Returns the displayed parts of such a call.
fn shown(call: &str) -> Value {
    let mut found = Value::Null;
    check(|s| {
        s.open_turn();
        asks(s, "7", call);
        found = last_shown(s);
        s.stops_with("end_turn");
    });
    found
}

fn last_shown(scene: &Scene) -> Value {
    let asked = ["commandExecution", "fileChange", "permissions"];
    let asked = asked.map(|about| scene.params(&format!("item/{about}/requestApproval")));
    let last = asked
        .into_iter()
        .flatten()
        .max_by_key(|params| params["seq"].as_u64());
    last.expect("a question")["subjects"].clone()
}

#[test]
fn all_of_a_command_is_shown() {
    for (input, expected) in [
        (
            r#"{"command":"git","args":["push","--force","evil"]}"#,
            json!([{ "type": "command", "argv": ["git", "push", "--force", "evil"], "cwd": "/workspace" }]),
        ),
        (
            r#"{"command":"ls","cmd":"touch pwned"}"#,
            json!([
                { "type": "commandLine", "line": "ls", "cwd": "/workspace" },
                { "type": "commandLine", "line": "touch pwned", "cwd": "/workspace" },
            ]),
        ),
        (
            r#"{"command":["ls"],"cwd":"../up","env":{"LANG":"C","N":7}}"#,
            json!([{
                "type": "commandLine", "line": "ls", "cwd": "/workspace/../up",
                "env": [{ "name": "LANG", "value": "C" }, { "name": "N", "value": "7" }],
            }, { "type": "unknown", "what": "the command is run with variables that may change what it does" }]),
        ),
    ] {
        let call = format!(r#","title":"Read README.md","kind":"execute","rawInput":{input}"#);
        assert_eq!(shown(&call), expected, "{input}");
    }
}

#[test]
fn content_of_an_earlier_update_is_shown() {
    check(|s| {
        s.open_turn();
        s.update(&tool(
            "t",
            false,
            r#","kind":"execute","rawInput":{"command":"touch pwned"}"#,
        ));
        asks(
            s,
            "7",
            r#","title":"Read README.md","kind":"read","locations":[{"path":"README.md"}]"#,
        );
        let shown = last_shown(s);
        let parts = shown.as_array().unwrap();
        assert!(
            parts.contains(&json!({ "type": "commandLine", "line": "touch pwned", "cwd": "/workspace" })),
            "{shown}"
        );
        assert!(
            parts.contains(&json!({ "type": "file", "access": "read", "path": "/workspace/README.md" })),
            "{shown}"
        );
        // The log contains what was displayed.
        let logged = s.kinds().find_map(|kind| match kind {
            EventKind::Request(RequestEvent::PermissionRequested { subjects, .. }) => {
                serde_json::to_value(subjects).ok()
            }
            _ => None,
        });
        assert_eq!(logged, Some(shown));
        s.stops_with("end_turn");
    });
}

#[test]
fn objects_with_repeated_keys_are_not_questions() {
    let twice = [
        r#","kind":"execute","rawInput":{"command":"ls"},"raw\u0049nput":{"command":"touch pwned"}"#,
        r#","kind":"execute","rawInput":{"command":"ls","comman\u0064":"touch pwned"}"#,
        r#","kind":"execute","rawInput":{"command":"ls","env":{"A":"1","A":"2"}}"#,
        r#","kind":"edit","content":[{"type":"diff","path":"/a","newText":"x","newText":"y"}]"#,
    ];
    let refused = |s: &Scene| {
        assert!(s.thread.live().requests.is_empty());
        assert_eq!(s.answer_to(&json!(7))["error"]["code"], -32602);
        assert!(s.kinds().any(|kind| {
            matches!(kind, EventKind::Session(SessionEvent::CallRefused { method, reason, .. })
                if method == "session/request_permission" && reason.contains("twice"))
        }));
    };
    for call in twice {
        check(|s| {
            s.open_turn();
            asks(s, "7", call);
            refused(s);
            s.stops_with("end_turn");
        });
        // The same members, but from an earlier update of the call.
        check(|s| {
            s.open_turn();
            s.update(&tool("t", false, call));
            asks(s, "7", "");
            refused(s);
            s.stops_with("end_turn");
        });
    }
}

/// Each of the two sources contains the key once, in another spelling. Together they have it once.
#[test]
fn a_question_replaces_a_member_in_any_spelling() {
    check(|s| {
        s.open_turn();
        s.update(&tool(
            "t",
            false,
            r#","kind":"execute","raw\u0049nput":{"command":"touch pwned"}"#,
        ));
        asks(s, "7", r#","rawInput":{"command":"ls"}"#);
        let shown = last_shown(s).to_string();
        assert!(
            shown.contains(r#""line":"ls""#) && !shown.contains("pwned"),
            "{shown}"
        );
        s.stops_with("end_turn");
    });
}

#[test]
fn each_kind_of_call_shows_its_parts() {
    let diff = "--- a/w/./a\n+++ b/w/./a\n@@ -1 +1 @@\n-1\n+2\n";
    for (call, expected) in [
        (
            r#","kind":"edit","rawInput":{"path":"/w/a","new_string":"2"},"content":[{"type":"diff","path":"/w/./a","oldText":"1\n","newText":"2\n"}]"#,
            json!([{ "type": "file", "access": "edit", "path": "/w/a", "diff": diff }]),
        ),
        (
            r#","kind":"edit","rawInput":{"path":"/w/a","content":"1.10"}"#,
            json!([{ "type": "file", "access": "edit", "path": "/w/a", "arguments": r#"{"path":"/w/a","content":"1.10"}"# }]),
        ),
        (
            r#","kind":"fetch","rawInput":{"url":"https://user@Evil.com:8080/x"}"#,
            json!([{ "type": "fetch", "url": "https://user@Evil.com:8080/x", "host": "evil.com" }]),
        ),
        (
            r#","kind":"other","_meta":{"toolName":"mcp__gh__api"},"rawInput":{"n":12345678901234567890123}"#,
            json!([{ "type": "mcp", "server": "gh", "tool": "api", "arguments": r#"{"n":12345678901234567890123}"# }]),
        ),
        (
            r#","kind":"other","name":"spawn","rawInput":{"x":1}"#,
            json!([{ "type": "tool", "name": "spawn", "kind": "other", "arguments": r#"{"x":1}"# }]),
        ),
        (
            r#","kind":"execute","rawInput":{"command":{"a":1}}"#,
            json!([{ "type": "unknown", "what": "the command has a form that cannot be read" }]),
        ),
        (
            r#","kind":"execute","rawInput":{"command":"make","cwd":"/a","workdir":"/b"}"#,
            json!([
                { "type": "commandLine", "line": "make", "cwd": "/a" },
                { "type": "unknown", "what": "the command does not say for certain in which directory it is run" },
            ]),
        ),
        (
            r#","title":"$ ls","content":[{"type":"content","content":{"type":"text","text":"$ ls"}}]"#,
            json!([{ "type": "unknown", "what": "the call does not say what it would do" }]),
        ),
    ] {
        // The targets of paths are looked up first.
        let mut found = Value::Null;
        check(|s| {
            s.open_turn();
            asks(s, "7", call);
            found = last_shown(s);
            s.stops_with("end_turn");
        });
        assert_eq!(found, expected, "{call}");
    }
}

#[test]
fn a_change_hides_no_input_that_it_does_not_show() {
    let diff =
        |old: &str, new: &str| json!([{ "type": "diff", "path": "/w/a", "oldText": old, "newText": new }]);
    let shown = |input: &Value, content: Value| {
        let call = json!({ "kind": "edit", "rawInput": input, "content": content }).to_string();
        shown(&format!(",{}", &call[1..call.len() - 1]))
    };
    let different = json!({
        "type": "unknown",
        "what": "the input of the call and the change that it shows have different texts",
    });
    // The input, whether it is displayed, and whether it contradicts the change.
    for (input, is_shown, contradicts) in [
        (
            json!({ "file_path": "/w/a", "content": "one\nthe" }),
            false,
            false,
        ),
        (
            json!({ "file_path": "/w/a", "old_string": "teh", "new_string": "one\nthe\n" }),
            false,
            false,
        ),
        (json!({ "file_path": "/w/a" }), false, false),
        (json!({ "file_path": "/w/a", "new_string": "the" }), true, false),
        (
            json!({ "file_path": "/w/a", "old_string": "gone", "new_string": "one\nthe\n" }),
            true,
            false,
        ),
        (
            json!({ "file_path": "/w/a", "edits": [{ "new": "unseen" }] }),
            true,
            false,
        ),
        (json!({ "file_path": "/w/a", "content": "unseen" }), true, true),
        (
            json!({ "file_path": "/w/a", "content": "one\nthe", "new_string": "unseen" }),
            true,
            true,
        ),
        (json!({ "content": "unseen" }), true, true),
        (json!({ "file_path": "/w/b", "content": "unseen" }), true, false),
    ] {
        let parts = shown(&input, diff("teh\n", "one\nthe\n"));
        let parts = parts.as_array().unwrap();
        let has = |name: &str| parts.iter().any(|part| part[name].is_string());
        assert!(has("diff"), "{parts:?}");
        assert_eq!(has("arguments"), is_shown, "{input}");
        assert_eq!(parts.contains(&different), contradicts, "{input}");
    }
    // An empty change does not replace the arguments.
    let parts = shown(&json!({ "file_path": "/w/a", "content": "x" }), diff("x", "x"));
    assert_eq!(parts[0]["diff"], Value::Null);
    assert!(parts[0]["arguments"].is_string(), "{parts}");
}

#[test]
fn members_that_acpd_does_not_know_are_named() {
    let unknown = |names: &str| {
        let what = format!("the call has members that acpd does not know: {names}");
        json!({ "type": "unknown", "what": what })
    };
    for (call, expected) in [
        (
            r#","kind":"execute","rawInput":{"command":"ls","run_also":"touch x","description":"d","timeout":7}"#,
            json!([
                { "type": "commandLine", "line": "ls", "cwd": "/workspace" },
                unknown(r#""run_also""#),
            ]),
        ),
        (
            r#","kind":"fetch","rawInput":{"url":"https://a.b/","method":"GET","body":"x","headers":{"a":"b"}}"#,
            json!([
                { "type": "fetch", "url": "https://a.b/", "host": "a.b" },
                unknown(r#""body", "headers""#),
            ]),
        ),
        (
            r#","kind":"read","rawInput":{"path":"a","offset":1,"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":null,"h":false}"#,
            json!([
                { "type": "file", "access": "read", "path": "/workspace/a" },
                unknown(r#""a", "b", "c", "d", "e" and 1 more"#),
            ]),
        ),
        // A member that is expected for one kind of call may say more in another.
        (
            r#","kind":"fetch","rawInput":{"url":"https://a.b/","method":"POST","text":"x","query":"q","prompt":"p"}"#,
            json!([
                { "type": "fetch", "url": "https://a.b/", "host": "a.b" },
                unknown(r#""method", "query", "text""#),
            ]),
        ),
        (
            r#","kind":"execute","rawInput":{"command":"psql db","query":"DROP TABLE x","cwd":"/a","timeout":7}"#,
            json!([
                { "type": "commandLine", "line": "psql db", "cwd": "/a" },
                unknown(r#""query""#),
            ]),
        ),
        (
            r#","kind":"execute","rawInput":{"command":"python3","text":"t","lines":["l"],"session_id":1,"context":"c","path":"p"}"#,
            json!([
                { "type": "commandLine", "line": "python3", "cwd": "/workspace" },
                unknown(r#""context", "lines", "path", "session_id", "text""#),
            ]),
        ),
        (
            r#","kind":"execute","rawInput":{"command":"ls","process_id":"1","instruction":"i","timeout":{"x":1}}"#,
            json!([
                { "type": "commandLine", "line": "ls", "cwd": "/workspace" },
                unknown(r#""instruction", "process_id", "timeout""#),
            ]),
        ),
        // A call of two kinds is displayed as both.
        (
            r#","kind":"search","rawInput":{"command":"psql db","path":"a","query":"DROP TABLE x"}"#,
            json!([
                { "type": "file", "access": "search", "path": "/workspace/a" },
                { "type": "commandLine", "line": "psql db", "cwd": "/workspace" },
                unknown(r#""query""#),
            ]),
        ),
        (
            r#","kind":"edit","rawInput":{"path":"a","old_string":"b","new_string":"c","replace_all":true,"destination":"d"}"#,
            json!([
                { "type": "file", "access": "edit", "path": "/workspace/a",
                  "arguments": r#"{"path":"a","old_string":"b","new_string":"c","replace_all":true,"destination":"d"}"# },
                unknown(r#""destination""#),
            ]),
        ),
        // For any other tool, the complete input is displayed.
        (
            r#","kind":"other","_meta":{"toolName":"mcp__gh__api"},"rawInput":{"run_also":1}"#,
            json!([{ "type": "mcp", "server": "gh", "tool": "api", "arguments": r#"{"run_also":1}"# }]),
        ),
    ] {
        assert_eq!(shown(call), expected, "{call}");
    }
}

/// Any part that is cut off could be the decisive one.
#[test]
fn a_part_that_is_too_long_is_named_and_not_cut() {
    let line = format!("ls {}; rm -rf /", " ".repeat(QUESTION_BYTES));
    let call = format!(r#","kind":"execute","rawInput":{{"command":"{line}","cmd":"ls"}}"#);
    let shown = shown(&call);
    let parts = shown.as_array().unwrap();
    assert!(parts.iter().all(|part| part["line"] != line.as_str()));
    assert!(
        parts.contains(&json!({ "type": "commandLine", "line": "ls", "cwd": "/workspace" })),
        "{shown}"
    );
    let last = parts.last().unwrap()["what"].as_str().unwrap();
    assert!(last.contains("too long to be shown"), "{last}");
}

#[test]
fn a_terminal_without_a_permission_request_shows_directory_and_variables() {
    check(|s| {
        s.open_turn();
        s.ask(Command::SetPolicy(Some(json!({ "ask": ["*"] }).into())))
            .unwrap();
        s.calls(
            "7",
            "terminal/create",
            r#"{"sessionId":"s-1","command":"git","args":["status"],"cwd":"/workspace/sub","env":[{"name":"GIT_SSH_COMMAND","value":"evil"}]}"#,
        );
        let shown = last_shown(s);
        assert_eq!(
            shown[0],
            json!({
                "type": "command", "argv": ["git", "status"], "cwd": "/workspace/sub",
                "env": [{ "name": "GIT_SSH_COMMAND", "value": "evil" }],
            })
        );
        s.decide(1, Answer::Accept { always: false }).unwrap();
        s.host_replies(Ok(HostReply::Created));
        s.exits("exit status 0");
    });
}
