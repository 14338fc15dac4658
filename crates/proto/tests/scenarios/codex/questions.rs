//! Questions: their forms, and the answers to them.

use acpd_model::event::{Always, PermissionOption, QuestionTopic};
use acpd_model::subject::{CallSubject, FileAccess};
use acpd_model::{
    Event, EventKind, ItemEvent, ItemId, Origin, RawJson, RequestEvent, RequestId, Role, TurnId,
};
use acpd_proto::surface::request::Request;
use acpd_proto::thread::Answer;
use serde_json::{Value, json};

use super::client::{Client, turn_id};
use super::connection::live;
use crate::support::NEW_THREAD;

const ID: RequestId = RequestId {
    thread: NEW_THREAD,
    number: 3,
};

fn event(seq: u64, kind: EventKind) -> Event {
    Event {
        seq,
        at: 9_000,
        turn: Some(TurnId(2)),
        by: Origin::Agent,
        kind,
        raw: None,
        raw_params: None,
        repeats_id: false,
        translated: false,
        lane: None,
    }
}

fn options(kinds: &[&str]) -> Box<[PermissionOption]> {
    let option = |kind: &&str| PermissionOption {
        option_id: format!("id-{kind}"),
        name: String::new(),
        kind: (*kind).to_owned(),
    };
    kinds.iter().map(option).collect()
}

fn permission(kinds: &[&str], subjects: Vec<CallSubject>) -> Event {
    let kind = EventKind::Request(RequestEvent::PermissionRequested {
        request: ID,
        item: Some(ItemId(7)),
        about: QuestionTopic::Permissions,
        title: "The title".into(),
        options: options(kinds),
        decided: false,
        agent_remembers: Box::default(),
        subjects: subjects.into(),
        always: None,
        whole: None,
        keeps_content: false,
    });
    event(5, kind)
}

fn command(line: &str) -> CallSubject {
    CallSubject::CommandLine {
        line: line.into(),
        cwd: "/w".into(),
        env: Vec::new(),
    }
}

fn change(path: &str, diff: &str) -> CallSubject {
    CallSubject::File {
        access: FileAccess::Edit,
        path: path.into(),
        real_path: None,
        diff: Some(diff.into()),
        arguments: None,
    }
}

const DIFF: &str = "--- a/w/a\n+++ b/w/a\n@@ -1 +1 @@\n-one\n+two\n";
const USUAL: [&str; 3] = ["allow_once", "allow_always", "reject_once"];

/// Asks a question, and returns its request.
fn asked(client: &mut Client, question: &Event) -> Value {
    client.deliver(NEW_THREAD, std::slice::from_ref(question));
    let is_it = |message: &&Value| message["id"] == json!(ID.to_string());
    client.got.iter().find(is_it).expect("no question").clone()
}

/// Answers the question, and returns the requests that follow.
fn answered(client: &mut Client, result: &Value) -> Vec<Request> {
    client.says(&json!({ "id": ID.to_string(), "result": result }));
    let mut requests = Vec::new();
    while !client.asked.is_empty() {
        requests.push(client.take());
    }
    requests
}

fn answer(answer: Answer) -> Request {
    Request::Answer {
        request: ID,
        answer,
        scope: None,
    }
}

#[test]
fn a_command_is_asked_with_the_words_that_the_policy_judges() {
    let mut client = Client::following(&live());
    let question = asked(&mut client, &permission(&USUAL, vec![command("rm -r x")]));
    assert_eq!(question["method"], "item/commandExecution/requestApproval");
    let params = &question["params"];
    assert_eq!(
        (&params["command"], &params["cwd"]),
        (&json!("rm -r x"), &json!("/w"))
    );
    assert_eq!(
        params["availableDecisions"],
        json!(["accept", "acceptForSession", "decline", "cancel"])
    );
    assert_eq!(
        (&params["itemId"], &params["turnId"]),
        (&json!("item_7"), &json!(turn_id(2)))
    );
    let given = answered(&mut client, &json!({ "decision": "acceptForSession" }));
    assert_eq!(given, [answer(Answer::Accept { always: true })]);
}

#[test]
fn a_line_for_a_shell_is_asked_as_the_line_that_runs() {
    let line = "cat a.txt | grep -c x > out && echo $HOME; ls *.md";
    let mut client = Client::following(&live());
    let params = asked(&mut client, &permission(&USUAL, vec![command(line)]))["params"].clone();
    assert_eq!(params["command"], json!(format!("/bin/bash -lc '{line}'")));
    assert_eq!(
        params["commandActions"],
        json!([{ "type": "unknown", "command": line }])
    );
}

#[test]
fn the_answer_for_this_once_is_first_in_a_list() {
    let mut client = Client::following(&live());
    let kinds = ["allow_always", "allow_once", "allow_once", "reject_once"];
    let mut event = permission(&kinds, vec![command("ls")]);
    if let EventKind::Request(RequestEvent::PermissionRequested { options, .. }) = &mut event.kind {
        for (option, name) in options.iter_mut().zip(["Always", "Once", "Just now", "No"]) {
            option.name = name.into();
        }
    }
    let question = asked(&mut client, &event);
    assert_eq!(question["method"], "item/tool/requestUserInput");
    let shown = question["params"]["questions"][0]["options"].as_array().unwrap();
    let labels: Vec<&str> = shown
        .iter()
        .map(|option| option["label"].as_str().unwrap())
        .collect();
    assert!(
        labels[0].contains("Once") && labels[2].contains("Always"),
        "{labels:?}"
    );
    // The answer is still the agent's option of this label.
    let given = answered(
        &mut client,
        &json!({ "answers": { "answer": { "answers": [labels[2]] } } }),
    );
    assert_eq!(given, [answer(Answer::Place(0))]);
}

#[test]
fn a_question_whose_answer_cannot_be_read_is_asked_again() {
    let mut client = Client::following(&live());
    let question = asked(&mut client, &permission(&USUAL, vec![command("ls")]));
    client.got.clear();
    client.writes(&format!(r#"{{"id":"{ID}","result":{{"decision":'accept'}}}}"#));
    assert_eq!(client.asked, []);
    assert_eq!(client.got.last(), Some(&question));
    let given = answered(&mut client, &json!({ "decision": "accept" }));
    assert_eq!(given, [answer(Answer::Accept { always: false })]);
}

#[test]
fn a_request_that_cannot_be_read_is_answered_under_its_id() {
    let mut client = Client::ready(Role::Owner);
    for (text, id, code) in [
        (r#"{"id":9,"method":"thread/list","params":{"#, json!(9), -32700),
        (r#"{"id":"q","method":7}"#, json!("q"), -32600),
        ("nonsense", Value::Null, -32700),
    ] {
        client.writes(text);
        let answer = client.got.last().unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(code)),
            "{text}"
        );
    }
}

#[test]
fn escape_rejects_and_interrupts() {
    let mut client = Client::following(&live());
    asked(&mut client, &permission(&USUAL, vec![command("ls")]));
    let given = answered(&mut client, &json!({ "decision": "cancel" }));
    assert_eq!(given[0], answer(Answer::Decline { always: false }));
    let Request::Interrupt {
        turn: Some(TurnId(2)),
        ..
    } = given[1]
    else {
        panic!("{given:?}");
    };
}

#[test]
fn changes_are_shown_before_their_question() {
    let mut client = Client::following(&live());
    let question = asked(&mut client, &permission(&USUAL, vec![change("/w/a", DIFF)]));
    assert_eq!(question["method"], "item/fileChange/requestApproval");
    let started = &client.params("item/started")[0]["item"];
    assert_eq!(
        (&started["id"], &started["type"]),
        (&json!("item_7"), &json!("fileChange"))
    );
    assert_eq!(started["changes"][0]["diff"], "@@ -1 +1 @@\n-one\n+two\n");
    let given = answered(&mut client, &json!({ "decision": "decline" }));
    assert_eq!(given, [answer(Answer::Decline { always: false })]);
}

/// Otherwise a user would see one change and allow another.
#[test]
fn changes_that_differ_from_those_shown_are_asked_in_words() {
    let mut client = Client::following(&live());
    let call = json!({
        "toolCallId": "t", "kind": "edit", "title": "Edit",
        "content": [{ "type": "diff", "path": "/w/a", "oldText": "one\n", "newText": "harmless\n" }],
    });
    let update = Event {
        raw: Some(call.into()),
        ..event(
            4,
            EventKind::Item(ItemEvent::Updated {
                item: ItemId(7),
                status: acpd_model::item::ToolStatus::Pending,
            }),
        )
    };
    client.deliver(NEW_THREAD, &[update]);
    assert_eq!(client.params("item/started").len(), 1);
    let question = asked(&mut client, &permission(&USUAL, vec![change("/w/a", DIFF)]));
    assert_eq!(question["method"], "item/tool/requestUserInput");
    let text = question["params"]["questions"][0]["question"].as_str().unwrap();
    assert!(text.contains("+two"), "{text}");
}

#[test]
fn a_question_has_the_same_form_after_a_thread_is_opened_again() {
    let old = r#""oldText":"one\n","newText":"two\n""#;
    opened_again(old, DIFF);
    let new = "--- /dev/null\n+++ b/w/a\n@@ -0,0 +1 @@\n+two\n\\ No newline at end of file\n";
    opened_again(r#""newText":"two""#, new);
}

/// Checks the question about an edit whose content has these members, and whose subject is this diff.
fn opened_again(members: &str, subject: &str) {
    let scene = crate::support::check(|scene| {
        scene.open_turn();
        let diff = format!(r#"{{"type":"diff","path":"/w/a",{members}}}"#);
        let more = format!(r#","title":"Edit","kind":"edit","content":[{diff}]"#);
        scene.update(&crate::support::tool("t", false, &more));
    });
    let mut live = acpd_proto::projection::Live::new(scene.id);
    for event in &scene.log {
        live.fold(event);
    }
    let call = *live.items.keys().next().expect("the call is open");
    let mut question = permission(&USUAL, vec![change("/w/a", subject)]);
    if let EventKind::Request(RequestEvent::PermissionRequested { item, .. }) = &mut question.kind {
        *item = Some(call);
    }
    let mut client = Client::following(&live);
    client.deliver(scene.id, &[question]);
    assert_eq!(
        client.params("item/fileChange/requestApproval").len(),
        1,
        "{:?}",
        client.got
    );
    assert!(client.params("item/started").is_empty());
}

#[test]
fn other_answers_are_listed_with_the_agents_words() {
    let mut client = Client::following(&live());
    let kinds = ["allow_once", "allow_once", "reject_once", "surprise"];
    let question = asked(&mut client, &permission(&kinds, vec![command("ls")]));
    assert_eq!(question["method"], "item/tool/requestUserInput");
    let ask = &question["params"]["questions"][0];
    let labels: Vec<&str> = ask["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| option["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["Allow once", "Allow once (2)", "Reject", "Other answer"]);
    assert!(ask["question"].as_str().unwrap().contains("$ ls"));
    let chosen = json!({ "answers": { "answer": { "answers": ["Allow once (2)"] } } });
    assert_eq!(answered(&mut client, &chosen), [answer(Answer::Place(1))]);
}

#[test]
fn several_parts_or_an_environment_are_asked_in_words() {
    let with_env = CallSubject::CommandLine {
        line: "ls".into(),
        cwd: "/w".into(),
        env: vec![acpd_model::subject::Variable {
            name: "LD_PRELOAD".into(),
            value: "/tmp/x".into(),
        }],
    };
    for subjects in [vec![command("ls"), command("rm x")], vec![with_env], vec![]] {
        let mut client = Client::following(&live());
        let question = asked(&mut client, &permission(&USUAL, subjects.clone()));
        assert_eq!(question["method"], "item/tool/requestUserInput", "{subjects:?}");
    }
}

#[test]
fn invalid_answers_decide_nothing() {
    for (subjects, answers) in [
        (
            vec![command("ls")],
            vec![
                json!({}),
                json!(null),
                json!({ "decision": "yes" }),
                json!({ "decision": {} }),
            ],
        ),
        (
            vec![],
            vec![
                json!({ "answers": {} }),
                json!({ "answers": { "answer": { "answers": [] } } }),
                json!({ "answers": { "answer": { "answers": ["user_note: yes"] } } }),
                json!({ "answers": { "other": { "answers": ["Allow once"] } } }),
            ],
        ),
    ] {
        let mut client = Client::following(&live());
        asked(&mut client, &permission(&USUAL, subjects));
        for answer in answers {
            assert!(answered(&mut client, &answer).is_empty(), "{answer}");
        }
        client.says(&json!({ "id": ID.to_string(), "error": { "code": 1, "message": "no" } }));
        client.says(
            &json!({ "id": "req_9_00000000000000000000000000000063", "result": { "decision": "accept" } }),
        );
        client.says(&json!({ "id": 7, "result": { "decision": "accept" } }));
        assert!(client.asked.is_empty());
    }
}

#[test]
fn the_end_of_a_question_reaches_every_client_once() {
    let question = permission(&USUAL, vec![command("ls")]);
    let voided = event(
        6,
        EventKind::Request(RequestEvent::Voided {
            request: ID,
            reason: "over".into(),
        }),
    );
    let mut client = Client::following(&live());
    asked(&mut client, &question);
    // A subscription that starts again repeats open questions.
    client.deliver(NEW_THREAD, std::slice::from_ref(&question));
    assert_eq!(client.params("item/commandExecution/requestApproval").len(), 1);
    client.deliver(NEW_THREAD, &[voided.clone(), voided.clone()]);
    let resolved = client.params("serverRequest/resolved");
    assert_eq!(resolved, [&json!({ "threadId": NEW_THREAD, "requestId": ID })]);
    assert!(answered(&mut client, &json!({ "decision": "accept" })).is_empty());
    let mut observer = Client::following_as(Role::Observer, &live());
    observer.deliver(NEW_THREAD, &[question, voided]);
    assert!(
        observer
            .params("item/commandExecution/requestApproval")
            .is_empty()
    );
    assert!(observer.params("serverRequest/resolved").is_empty());
}

#[test]
fn forms_and_addresses_are_elicitations() {
    let schema = r#"{"type":"object","properties":{"n":{"type":"string","maxLength":12345678901234567890}}}"#;
    let form = format!(r#"{{"mode":"form","message":"How many?","requestedSchema":{schema}}}"#);
    let url = r#"{"mode":"url","message":"Sign in","url":"https://x.test/","elicitationId":"e1"}"#;
    let input = |params: &str| Event {
        raw: Some(RawJson::parse(params).unwrap()),
        ..event(
            5,
            EventKind::Request(RequestEvent::InputRequested {
                request: ID,
                message: "How many?".into(),
                call: None,
            }),
        )
    };
    let mut client = Client::following(&live());
    let question = asked(&mut client, &input(&form));
    assert_eq!(question["method"], "mcpServer/elicitation/request");
    assert_eq!(
        (&question["params"]["mode"], &question["params"]["serverName"]),
        (&json!("form"), &json!("alpha"))
    );
    let given = answered(
        &mut client,
        &json!({ "action": "accept", "content": { "n": 3 }, "_meta": null }),
    );
    let content = RawJson::parse(r#"{"n":3}"#).unwrap();
    assert_eq!(given, [answer(Answer::Provide(content))]);
    let mut client = Client::following(&live());
    let question = asked(&mut client, &input(url));
    assert_eq!(
        (&question["params"]["mode"], &question["params"]["url"]),
        (&json!("url"), &json!("https://x.test/"))
    );
    assert_eq!(question["params"]["elicitationId"], "e1");
    let given = answered(&mut client, &json!({ "action": "cancel", "content": null }));
    assert_eq!(given, [answer(Answer::Cancel)]);
}

/// Codex has no input for them, and would accept the form without its content.
#[test]
fn numbers_and_lists_are_asked_as_text() {
    let schema = json!({
        "type": "object", "required": ["age"],
        "properties": {
            "age": { "type": "integer", "description": "In years." },
            "size": { "type": "number" },
            "tags": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] } },
            "name": { "type": "string" },
        },
    });
    let params = json!({ "mode": "form", "message": "Who?", "requestedSchema": schema });
    let question = Event {
        raw: Some(params.into()),
        ..event(
            5,
            EventKind::Request(RequestEvent::InputRequested {
                request: ID,
                message: "Who?".into(),
                call: None,
            }),
        )
    };
    let mut client = Client::following(&live());
    let shown = asked(&mut client, &question)["params"]["requestedSchema"].take();
    let age = json!({ "type": "string", "title": "age", "description": "In years. An integer." });
    assert_eq!(
        (&shown["properties"]["age"], &shown["required"]),
        (&age, &json!(["age"]))
    );
    let tags = shown["properties"]["tags"]["description"].as_str();
    assert_eq!(tags, Some("Any of a, b, separated by commas."));
    let wrong = json!({ "action": "accept", "content": { "age": "old" } });
    assert!(answered(&mut client, &wrong).is_empty());
    assert_eq!(client.params("warning").len(), 1);
    assert_eq!(client.params("mcpServer/elicitation/request").len(), 2);
    let right =
        json!({ "action": "accept", "content": { "age": " 7 ", "size": "", "tags": "a, b", "name": "Ann" } });
    let content = json!({ "age": 7, "name": "Ann", "tags": ["a", "b"] });
    assert_eq!(
        answered(&mut client, &right),
        [answer(Answer::Provide(content.into()))]
    );
}

/// A title, or characters that a terminal hides, could make a user read something else than acpd judges.
#[test]
fn misleading_text_is_replaced_with_words_of_acpd() {
    let hidden = change("/w/a\u{202e}b", DIFF);
    let escape = change("/w/a", "--- a/w/a\n+++ b/w/a\n@@ -1 +1 @@\n-one\n+\u{1b}[8mtwo\n");
    for subject in [command("ls \u{202e}x"), command("ls\u{1b}[2J"), hidden, escape] {
        let mut client = Client::following(&live());
        let question = asked(&mut client, &permission(&USUAL, vec![subject.clone()]));
        assert_eq!(question["method"], "item/tool/requestUserInput", "{subject:?}");
        let text = question["params"]["questions"][0]["question"].as_str().unwrap();
        assert!(!text.contains(['\u{202e}', '\u{1b}']), "{text:?}");
    }
    let mut spoof = permission(&["allow_once", "allow_once"], vec![command("rm x")]);
    if let EventKind::Request(RequestEvent::PermissionRequested { title, .. }) = &mut spoof.kind {
        *title = "Harmless\n  $ ls".into();
    }
    let mut client = Client::following(&live());
    let question = asked(&mut client, &spoof);
    let text = question["params"]["questions"][0]["question"].as_str().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "  $ rm x");
    assert!(!lines.contains(&"  $ ls"), "{text}");
}

#[test]
fn the_scope_of_an_answer_is_shown_before_it_is_given() {
    for subject in [command("git status"), change("/w/a", DIFF)] {
        let mut question = permission(&USUAL, vec![subject]);
        if let EventKind::Request(RequestEvent::PermissionRequested { always, .. }) = &mut question.kind {
            *always = Some(Box::new(Always::Holds("every command of git".into())));
        }
        let mut client = Client::following(&live());
        let shown = asked(&mut client, &question);
        let reason = shown["params"]["reason"].as_str().unwrap();
        assert!(
            reason.contains("allow every command of git for this session"),
            "{shown}"
        );
    }
}
