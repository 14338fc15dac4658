//! The scope of "always": the request displays it, and a remembered answer settles nothing beyond it.

use acpd_model::limits::RULE_BYTES;
use acpd_model::{Event, EventKind, RequestEvent};
use acpd_policy::Scope;
use acpd_proto::thread::{Answer, Command};
use serde_json::{Value, json};

use crate::support::{Scene, check};

/// The agent requests permission for a call with these members.
fn asks(s: &mut Scene, id: i64, call: &Value) {
    let mut call = call.clone();
    call["toolCallId"] = json!(format!("t{id}"));
    let options = json!([
        { "optionId": "aa", "name": "Always", "kind": "allow_always" },
        { "optionId": "ao", "name": "Once", "kind": "allow_once" },
        { "optionId": "ro", "name": "No", "kind": "reject_once" },
        { "optionId": "ra", "name": "Never", "kind": "reject_always" },
    ]);
    let params = json!({ "sessionId": "s-1", "toolCall": call, "options": options });
    s.calls(&id.to_string(), "session/request_permission", &params.to_string());
}

fn run(input: &Value) -> Value {
    json!({ "kind": "execute", "rawInput": input })
}

fn mcp(input: &Value) -> Value {
    json!({ "kind": "other", "_meta": { "toolName": "mcp__gh__api" }, "rawInput": input })
}

/// Returns a call of the tool `notes`, whose input has unknown members. `more` replaces members of the call.
fn notes(more: &Value) -> Value {
    let mut call = json!({ "kind": "other", "_meta": { "toolName": "notes" }, "rawInput": { "foo": 1 } });
    for (key, value) in more.as_object().unwrap() {
        call[key] = value.clone();
    }
    call
}

fn moves(from: &str, to: &str) -> Value {
    json!({ "kind": "move", "rawInput": { "source": from, "destination": to } })
}

fn thinks(tool: Option<&str>) -> Value {
    json!({ "kind": "think", "_meta": { "toolName": tool }, "rawInput": { "prompt": "x" } })
}

/// Returns a call of `kind` whose input is `input` and `more`.
fn with(kind: &str, mut input: Value, more: &Value) -> Value {
    let more = more.as_object().unwrap().clone();
    input.as_object_mut().unwrap().extend(more);
    json!({ "kind": kind, "rawInput": input })
}

fn fetch(more: &Value) -> Value {
    with("fetch", json!({ "url": "https://a.b/" }), more)
}

fn search(more: &Value) -> Value {
    with("search", json!({ "path": "/elsewhere" }), more)
}

fn answers_always(s: &mut Scene, scope: Scope) {
    let number = s.thread.live().last_request;
    let request = acpd_model::RequestId { thread: s.id, number };
    s.ask(Command::Answer {
        request,
        answer: Answer::Accept { always: true },
        scope: Some(scope),
    })
    .unwrap();
}

/// Returns whether the call needs the user's approval. Dismisses the request if so.
fn is_asked(s: &mut Scene, id: i64, call: &Value) -> bool {
    asks(s, id, call);
    let asked = !s.thread.live().requests.is_empty();
    if asked {
        let number = s.thread.live().last_request;
        s.decide(number, Answer::Cancel).unwrap();
    }
    asked
}

/// Returns the scope of "always" in the last request.
fn said(s: &Scene) -> Value {
    let asked = ["commandExecution", "fileChange", "permissions"];
    let asked = asked.map(|about| s.params(&format!("item/{about}/requestApproval")));
    let last = asked
        .into_iter()
        .flatten()
        .max_by_key(|params| params["seq"].as_u64());
    last.expect("a question")["always"].clone()
}

#[test]
fn an_answer_applies_only_to_what_was_asked() {
    let file = |path: &str| json!({ "kind": "edit", "locations": [{ "path": path }] });
    let change = json!({ "type": "diff", "path": "/workspace/a", "oldText": "teh", "newText": "the" });
    let other_change = json!({ "type": "diff", "path": "/workspace/a", "oldText": "teh", "newText": "evil" });
    // The call in the request, equivalent calls, and different calls.
    let rows = [
        (
            run(&json!({ "command": "make" })),
            vec![
                run(&json!({ "command": "make", "cwd": "/workspace" })),
                run(&json!({ "command": ["make"] })),
            ],
            vec![
                run(&json!({ "command": "make", "cwd": "sub" })),
                run(&json!({ "command": "make; ls" })),
            ],
        ),
        (
            run(&json!({ "command": "./run.sh" })),
            vec![run(&json!({ "command": "/workspace/run.sh" }))],
            vec![
                run(&json!({ "command": "./run.sh", "cwd": "sub" })),
                run(&json!({ "command": "/workspace/run.sh", "cwd": "sub" })),
            ],
        ),
        (
            run(&json!({ "command": "make", "cwd": "sub" })),
            vec![run(&json!({ "command": "make", "cwd": "/workspace/./sub" }))],
            vec![
                run(&json!({ "command": "make" })),
                run(&json!({ "command": "make", "cwd": "link/../sub" })),
            ],
        ),
        (
            run(&json!({ "command": "test -f y && rm x" })),
            vec![run(&json!({ "command": "test -f y && rm x" }))],
            vec![
                run(&json!({ "command": "rm x" })),
                run(&json!({ "command": "test -f y || rm x" })),
            ],
        ),
        (
            run(&json!({ "command": "cd sub && make" })),
            vec![run(&json!({ "command": "cd sub && make" }))],
            vec![
                run(&json!({ "command": "cd other; make" })),
                run(&json!({ "command": "make" })),
            ],
        ),
        (
            run(&json!({ "command": "python3 - <<E\nprint(1)\nE\n" })),
            vec![run(&json!({ "command": "python3 - <<E\nprint(1)\nE\n" }))],
            vec![
                run(&json!({ "command": "python3 - <<E\nevil()\nE\n" })),
                run(&json!({ "command": "python3 - < evil.py" })),
            ],
        ),
        (
            mcp(&json!({ "method": "GET" })),
            vec![mcp(&json!({ "method": "GET" }))],
            vec![
                mcp(&json!({ "method": "DELETE" })),
                mcp(&json!({})),
                mcp(&Value::Null),
            ],
        ),
        (
            mcp(&Value::Null),
            vec![mcp(&Value::Null)],
            vec![mcp(&json!({ "method": "DELETE" }))],
        ),
        (
            json!({ "kind": "other", "name": "spawn", "rawInput": { "x": 1 } }),
            vec![json!({ "kind": "other", "name": "spawn", "rawInput": { "x": 1 } })],
            vec![json!({ "kind": "other", "name": "spawn", "rawInput": { "x": 2 } })],
        ),
        // The same input with another kind, tool, location or diff is a different call.
        (
            notes(&json!({})),
            vec![notes(&json!({}))],
            vec![
                notes(&json!({ "kind": "edit", "content": [change] })),
                notes(&json!({ "content": [change] })),
                notes(&json!({ "kind": "delete", "locations": [{ "path": "/etc/passwd" }] })),
                notes(&json!({ "kind": "read", "locations": [{ "path": "/etc/shadow" }] })),
                notes(&json!({ "kind": "fetch" })),
                notes(&json!({ "kind": "execute" })),
                notes(&json!({ "kind": "switch_mode" })),
                notes(&json!({ "locations": [{ "path": "/etc/passwd" }] })),
                notes(&json!({ "_meta": { "toolName": "spawn" } })),
            ],
        ),
        // The same applies to a file if the input has unknown members.
        (
            notes(&json!({ "kind": "edit", "content": [change] })),
            vec![notes(&json!({ "kind": "edit", "content": [change] }))],
            vec![
                notes(&json!({ "kind": "edit", "content": [other_change] })),
                notes(&json!({ "kind": "edit", "content": [change], "_meta": { "toolName": "spawn" } })),
                notes(&json!({})),
            ],
        ),
        // An answer about a thinking tool applies to no other tool.
        (
            thinks(Some("ponder")),
            vec![thinks(Some("ponder"))],
            vec![thinks(Some("delegate")), thinks(None)],
        ),
        (
            thinks(None),
            vec![thinks(None)],
            vec![thinks(Some("ponder")), json!({ "kind": "think" })],
        ),
        // The two paths of a move do not determine its direction.
        (
            moves("a", "b"),
            vec![moves("a", "b")],
            vec![moves("b", "a"), moves("a", "c"), moves("a", "a")],
        ),
        (
            json!({ "kind": "move", "locations": [{ "path": "a" }, { "path": "b" }] }),
            vec![json!({ "kind": "move", "locations": [{ "path": "a" }, { "path": "b" }] })],
            vec![json!({ "kind": "move", "locations": [{ "path": "b" }, { "path": "a" }] })],
        ),
        (file("/workspace/a"), vec![file("a")], vec![file("/workspace/b")]),
        // The meaning of an unknown member is part of the approval.
        (
            run(&json!({ "command": "ls", "run_also": "true" })),
            vec![run(&json!({ "command": "ls", "run_also": "true" }))],
            vec![
                run(&json!({ "command": "ls", "run_also": "touch x" })),
                run(&json!({ "command": "ls" })),
            ],
        ),
        // A member that is irrelevant for one kind of call may matter for another.
        (
            run(&json!({ "command": "psql db" })),
            vec![run(
                &json!({ "command": "psql db", "description": "d", "timeout": 7 }),
            )],
            vec![run(&json!({ "command": "psql db", "query": "DROP TABLE x" }))],
        ),
        (
            fetch(&json!({})),
            vec![fetch(&json!({ "method": "GET", "prompt": "p", "timeout": 7 }))],
            vec![
                fetch(&json!({ "method": "POST" })),
                fetch(&json!({ "query": "q" })),
                fetch(&json!({ "text": "x=1" })),
            ],
        ),
        (
            search(&json!({ "pattern": "a" })),
            vec![search(
                &json!({ "pattern": "b", "-n": true, "-A": 1, "-B": 1, "-C": 2, "-i": true }),
            )],
            vec![search(&json!({ "pattern": "a", "--pre": "rm" }))],
        ),
    ];
    for scope in [Scope::Session, Scope::Thread, Scope::Agent] {
        for (asked, same, other) in &rows {
            check(|s| {
                s.open_turn();
                asks(s, 7, asked);
                assert!(said(s)["holds"].is_string(), "{asked}: {}", said(s));
                answers_always(s, scope);
                let same = same.iter().map(|call| (call, false));
                let calls = same.chain(other.iter().map(|call| (call, true)));
                for ((call, expected), id) in calls.zip(8..) {
                    assert_eq!(is_asked(s, id, call), expected, "{scope:?} of {asked}: {call}");
                }
                s.stops_with("end_turn");
            });
        }
    }
}

#[test]
fn a_question_says_what_an_always_answer_covers() {
    for (call, expected) in [
        (
            run(&json!({ "command": "cargo test" })),
            json!({ "holds": "this command in /workspace" }),
        ),
        (
            run(&json!({ "command": "cd sub && make", "cwd": "/workspace/a" })),
            json!({ "holds": "this command line in /workspace/a" }),
        ),
        (
            run(&json!({ "command": "ls", "run_also": "x" })),
            json!({ "holds": "this command in /workspace with these arguments" }),
        ),
        (
            mcp(&json!({ "method": "GET" })),
            json!({ "holds": "calling mcp__gh__api with these arguments" }),
        ),
        (
            json!({ "kind": "edit", "locations": [{ "path": "/workspace/src/a.rs" }] }),
            json!({ "holds": "changing /workspace/src/a.rs" }),
        ),
        (
            json!({ "kind": "edit", "locations": [{ "path": "a" }, { "path": "b" }, { "path": "c" }, { "path": "d" }, { "path": "e" }] }),
            json!({ "holds": "changing /workspace/a, changing /workspace/b, changing /workspace/c and 2 more parts of this call" }),
        ),
        (
            thinks(Some("ponder")),
            json!({ "holds": "the tool ponder with these arguments" }),
        ),
        (thinks(None), json!({ "holds": "thinking with these arguments" })),
        (
            moves("a", "b"),
            json!({ "holds": "moving /workspace/a with these arguments and moving /workspace/b with these arguments" }),
        ),
        (
            run(&json!({ "command": "../run.sh" })),
            json!({ "holds": "this command in /workspace" }),
        ),
        (
            run(&json!({ "command": "cd sub && ./run.sh" })),
            json!({ "notRemembered": "cannot resolve the program ./run.sh" }),
        ),
        (
            run(&json!({ "command": "ls", "cwd": format!("/{}", "d".repeat(RULE_BYTES)) })),
            json!({ "notRemembered": "no rule can be about exactly the command `ls`" }),
        ),
        (
            run(&json!({ "command": "git log", "env": { "GIT_PAGER": "x" } })),
            json!({ "notRemembered": "no rule can be about exactly a command that is run with variables that may change what it does" }),
        ),
    ] {
        check(|s| {
            s.open_turn();
            asks(s, 7, &call);
            assert_eq!(said(s), expected, "{call}");
            let logged = s.kinds().find_map(|kind| match kind {
                EventKind::Request(RequestEvent::PermissionRequested { always, .. }) => {
                    serde_json::to_value(always).ok()
                }
                _ => None,
            });
            assert_eq!(logged, Some(expected.clone()), "{call}");
            s.stops_with("end_turn");
        });
    }
}

/// acpd's own requests offer no "always" that acpd could not remember.
#[test]
fn acpd_offers_no_always_that_it_cannot_remember() {
    let pager = json!([{ "name": "GIT_PAGER", "value": "x" }]);
    for (env, expected) in [(json!([]), 4), (pager, 2)] {
        check(|s| {
            s.rule(Some(serde_json::from_value(json!({ "ask": ["Bash"] })).unwrap()));
            s.open_turn();
            let params = json!({ "sessionId": "s-1", "command": "git", "env": env });
            s.calls("7", "terminal/create", &params.to_string());
            let asked = &s.params("item/commandExecution/requestApproval")[0];
            assert_eq!(asked["options"].as_array().unwrap().len(), expected, "{asked}");
            s.decide(1, Answer::Cancel).unwrap();
        });
    }
}

/// The log of an earlier version has answers without a directory or arguments.
#[test]
fn answers_of_an_earlier_version_are_narrowed_or_asked_again() {
    let old = |allow: bool, rule: &str| {
        json!({ "id": 1, "scope": "thread", "allow": allow, "rule": rule }).to_string()
    };
    let before = check(|s| {
        s.open_turn();
        asks(s, 7, &run(&json!({ "command": "make" })));
        answers_always(s, Scope::Thread);
        s.stops_with("end_turn");
    });
    let mut log: Vec<Event> = before.log.clone();
    let at = log
        .iter()
        .position(|event| {
            matches!(
                event.kind,
                EventKind::Request(RequestEvent::AnswerRemembered { .. })
            )
        })
        .unwrap();
    for (rule, allow, call, is_kept) in [
        ("Bash(make)", true, run(&json!({ "command": "make" })), true),
        (
            "Bash(make)",
            true,
            run(&json!({ "command": "make", "cwd": "sub" })),
            false,
        ),
        (
            "Bash(make)",
            true,
            run(&json!({ "command": "make && make" })),
            false,
        ),
        (
            "Bash(./run.sh)",
            true,
            run(&json!({ "command": "./run.sh" })),
            true,
        ),
        (
            "Bash(./run.sh)",
            true,
            run(&json!({ "command": "./run.sh", "cwd": "sub" })),
            false,
        ),
        ("mcp__gh__api", true, mcp(&json!({ "method": "GET" })), false),
        (
            "Tool(spawn)",
            true,
            json!({ "kind": "other", "name": "spawn", "rawInput": { "x": 1 } }),
            false,
        ),
        (
            "Edit(/workspace/a)",
            true,
            json!({ "kind": "edit", "locations": [{ "path": "a" }] }),
            true,
        ),
        (
            "Move(/workspace/a)",
            true,
            json!({ "kind": "move", "locations": [{ "path": "a" }] }),
            false,
        ),
        ("Think", true, thinks(Some("ponder")), false),
        // A denial keeps its full scope.
        ("Think", false, thinks(Some("ponder")), true),
        ("Move(/workspace/a)", false, moves("a", "b"), true),
        (
            "Bash(make)",
            false,
            run(&json!({ "command": "make", "cwd": "sub" })),
            true,
        ),
        ("mcp__gh__api", false, mcp(&json!({ "method": "GET" })), true),
    ] {
        log[at].kind = EventKind::Request(RequestEvent::AnswerRemembered {
            answer: acpd_model::RawJson::parse(old(allow, rule)).unwrap(),
        });
        let mut scene = Scene::restarted(&log);
        let s = &mut scene;
        s.prompt("again");
        s.answer("initialize", r#"{"protocolVersion":1}"#);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        assert_eq!(is_asked(s, 7, &call), !is_kept, "{allow} {rule}: {call}");
        s.stops_with("end_turn");
    }
}

/// An earlier version bound an answer only to the input of the call.
#[test]
fn answers_that_know_only_the_input_are_asked_again() {
    let call = notes(&json!({}));
    for (allow, expected) in [(true, true), (false, false)] {
        let before = check(|s| {
            s.open_turn();
            asks(s, 7, &call);
            let answer = if allow {
                Answer::Accept { always: true }
            } else {
                Answer::Option("ra".into())
            };
            let number = s.thread.live().last_request;
            s.decide_for(number, answer, Some(Scope::Thread)).unwrap();
            s.stops_with("end_turn");
        });
        let mut log: Vec<Event> = before.log.clone();
        let mut changed = 0;
        for event in &mut log {
            if let EventKind::Request(RequestEvent::AnswerRemembered { answer }) = &mut event.kind {
                let mut old: Value = answer.read().unwrap();
                assert!(old["arguments"].is_string(), "{old}");
                changed += usize::from(old.as_object_mut().unwrap().remove("call").is_some());
                *answer = acpd_model::RawJson::of(&old).unwrap();
            }
        }
        assert_eq!(changed, 1);
        let mut scene = Scene::restarted(&log);
        let s = &mut scene;
        s.prompt("again");
        s.answer("initialize", r#"{"protocolVersion":1}"#);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        assert_eq!(is_asked(s, 7, &call), expected, "{allow}");
        // A denial applies to all locations that the agent reports.
        let elsewhere = notes(&json!({ "locations": [{ "path": "/workspace/b" }] }));
        assert_eq!(is_asked(s, 8, &elsewhere), expected, "{allow}");
        s.stops_with("end_turn");
    }
}

/// Two answers about moves allow no third move between their paths.
#[test]
fn answers_about_moves_do_not_add_up() {
    check(|s| {
        s.open_turn();
        for (call, id) in [moves("a", "b"), moves("c", "d")].iter().zip(7..) {
            asks(s, id, call);
            answers_always(s, Scope::Thread);
        }
        assert!(!is_asked(s, 9, &moves("c", "d")));
        assert!(is_asked(s, 10, &moves("a", "d")));
        s.stops_with("end_turn");
    });
}

/// A denial names the same tool as the request.
#[test]
fn a_refusal_about_a_thinking_tool_is_about_no_other() {
    check(|s| {
        s.open_turn();
        asks(s, 7, &thinks(Some("ponder")));
        let request = acpd_model::RequestId {
            thread: s.id,
            number: s.thread.live().last_request,
        };
        let (answer, scope) = (Answer::Option("ra".into()), Some(Scope::Thread));
        s.ask(Command::Answer {
            request,
            answer,
            scope,
        })
        .unwrap();
        assert!(!is_asked(s, 8, &thinks(Some("ponder"))));
        assert!(is_asked(s, 9, &thinks(Some("delegate"))));
        s.stops_with("end_turn");
    });
}
