use acpd_client::protocol::Notification;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Returns the answers that were sent.
fn answers(scene: &mut Scene) -> Vec<Value> {
    let effects = scene.effects();
    let requests = effects.iter().filter_map(request_of);
    let answers = requests.filter(|(_, method, _)| ["item/approve", "item/answer"].contains(method));
    answers.map(|(_, _, params)| params).collect()
}

#[test]
fn a_number_answers_a_question_that_was_in_sight() {
    let mut scene = Scene::open(&json!([]));
    scene.run_turn("turn_1");
    scene.permission("req_1");
    scene.choose("M-1");
    scene.key("Enter");
    assert!(answers(&mut scene).is_empty(), "it was not drawn yet");
    assert!(scene.draw().contains("$ rm -r build"));
    scene.wait(100);
    scene.key("Enter");
    assert!(
        answers(&mut scene).is_empty(),
        "the key was meant for something else"
    );
    scene.wait(500);
    scene.choose("M-3");
    assert!(answers(&mut scene).is_empty());
    assert!(scene.status().contains("1 to 2"));
    scene.choose("M-1");
    scene.key("Enter");
    let given =
        json!({ "requestId": "req_1", "approved": true, "optionId": "yes", "optionKind": "allow_once" });
    assert_eq!(answers(&mut scene), [given]);
    scene.choose("M-1");
    scene.key("Enter");
    assert!(answers(&mut scene).is_empty(), "it is answered once");
    scene.event(
        "serverRequest/resolved",
        json!({ "turnId": "turn_1", "requestId": "req_1", "outcome": "accepted", "optionKind": "allow_once",
            "by": { "kind": "client", "principal": "owner", "client": "acpd-cli" } }),
    );
    let picture = scene.draw();
    assert!(
        !picture.contains("Question") && picture.contains("✓ allowed by owner (acpd-cli)"),
        "{picture}"
    );
}

#[test]
fn escape_and_a_digit_that_arrive_together_do_not_answer() {
    let mut scene = Scene::open(&json!([]));
    scene.permission("req_1");
    scene.draw();
    scene.wait(1_000);
    // Esc, and "2 files" for the prompt: the terminal's decoder reads Alt+2.
    scene.key("M-2");
    assert!(answers(&mut scene).is_empty());
    let picture = scene.draw();
    assert!(
        picture.contains("› 2) Reject") && picture.contains("  1) Allow once"),
        "{picture}"
    );
    scene.typed(" files");
    assert!(!scene.draw().contains('›'));
    scene.wait(1_000);
    scene.key("Enter");
    assert!(answers(&mut scene).is_empty());
    assert!(scene.status().contains("invalid option"));
    // Nor with an Enter that arrives together with them.
    scene.keys(&["M-1", "Enter"]);
    assert!(answers(&mut scene).is_empty());
    assert_eq!(scene.status(), "press Enter again to answer");
    // Esc leaves no choice behind.
    scene.keys(&["Esc", "Tab"]);
    assert!(!scene.draw().contains('›'));
}

#[test]
fn a_number_and_enter_answer_where_the_question_has_the_focus() {
    let mut scene = Scene::open(&json!([]));
    scene.permission("req_1");
    scene.draw();
    scene.wait(1_000);
    scene.typed("2 more");
    assert_eq!(scene.app.prompt.text(), "2 more");
    scene.keys(&["Tab", "2"]);
    assert!(answers(&mut scene).is_empty(), "it may be the start of a text");
    assert!(scene.draw().contains("› 2) Reject"));
    scene.key("Enter");
    assert_eq!(answers(&mut scene)[0]["optionKind"], "reject_once");
    // The answer gives the focus back.
    scene.key("1");
    assert_eq!(scene.app.prompt.text(), "2 more1");
}

#[test]
fn more_than_nine_options_are_chosen_by_typing() {
    let mut scene = Scene::open(&json!([]));
    let options: Vec<Value> = (1..=10)
        .map(|n| json!({ "optionId": format!("o{n}"), "name": "x", "kind": "allow_once" }))
        .collect();
    scene.ask(
        "item/permissions/requestApproval",
        "req_1",
        json!({ "title": "x", "subjects": [], "options": options }),
    );
    scene.app.handle_resize(80, 60);
    scene.draw();
    scene.wait(1_000);
    scene.keys(&["Tab", "1", "0"]);
    assert!(answers(&mut scene).is_empty());
    scene.key("Enter");
    assert_eq!(answers(&mut scene)[0]["optionId"], "o10");
}

/// Returns a key that the user presses while typing a prompt: a character mostly, else a key of editors.
fn typed_key() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[1-9yna-zA-Z0 /?!.-]",
        2 => any::<char>().prop_filter("it is printed", |c| !c.is_control()).prop_map(String::from),
        1 => prop::sample::select(vec!["Enter", "Backspace", "M-Enter", "Esc", "Up", "Down", "Home", "End", "PgUp"])
            .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn nothing_that_is_typed_into_the_prompt_answers_a_question(
        keys in prop::collection::vec((typed_key(), prop_oneof![Just(10_u64), Just(700)]), 1..60),
        is_form in any::<bool>(),
        at in 0..10_usize,
    ) {
        let mut scene = Scene::open(&json!([]));
        scene.run_turn("turn_1");
        let mut sent = Vec::new();
        for (index, (key, pause)) in keys.iter().enumerate() {
            if index == at && is_form {
                let schema = json!({ "properties": { "name": { "type": "string" } } });
                scene.ask("item/tool/requestUserInput", "req_1", json!({ "title": "?", "mode": "form", "schema": schema }));
            } else if index == at {
                scene.permission("req_1");
            }
            scene.draw();
            scene.wait(*pause);
            scene.key(key);
            sent.extend(scene.effects());
        }
        let is_answer = |effect: &&Effect| match effect {
            Effect::Request { request, .. } => matches!(request, Request::Approve(_) | Request::Answer(_)),
            effect => matches!(effect, Effect::End(_)),
        };
        prop_assert_eq!(sent.iter().find(is_answer), None);
    }
}

#[test]
fn a_long_question_is_answered_after_all_of_it_was_drawn() {
    let mut scene = Scene::open(&json!([]));
    let argv: Vec<String> = (0..200).map(|n| format!("argument-{n}")).collect();
    scene.ask(
        "item/commandExecution/requestApproval",
        "req_1",
        json!({ "title": "x", "subjects": [{ "type": "command", "argv": argv, "cwd": "/w" }],
            "options": [{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }] }),
    );
    scene.draw();
    scene.wait(1_000);
    scene.choose("M-1");
    scene.key("Enter");
    assert!(scene.status().contains("scroll to see all of it first"));
    // Scrolled over, but never drawn.
    for _ in 0..100 {
        scene.key("Down");
    }
    scene.draw();
    scene.wait(1_000);
    scene.key("Enter");
    assert!(answers(&mut scene).is_empty());
    for _ in 0..100 {
        scene.key("Up");
    }
    for _ in 0..100 {
        scene.draw();
        scene.key("Down");
    }
    assert!(scene.draw().contains("1) Allow once"));
    scene.wait(1_000);
    scene.key("Enter");
    let (token, method, _) = scene.request();
    assert_eq!(method, "item/approve");
    scene.refuse(token, "no", false);
    assert_eq!(scene.status(), "the answer was not accepted: no");
    // In a window of another width, it is another picture.
    scene.app.handle_resize(50, 20);
    scene.draw();
    scene.choose("M-1");
    scene.wait(1_000);
    scene.key("Enter");
    assert!(answers(&mut scene).is_empty());
}

#[test]
fn a_question_that_is_answered_elsewhere_disappears() {
    let mut scene = Scene::open(&json!([]));
    scene.permission("req_1");
    scene.permission("req_2");
    assert!(scene.draw().contains("Question, 1 more"));
    scene.key("Tab");
    scene.typed("allo");
    scene.event(
        "serverRequest/resolved",
        json!({ "requestId": "req_1", "outcome": "declined", "optionKind": "reject_once",
            "by": { "kind": "client", "principal": "alice", "client": "acpd-web" } }),
    );
    assert_eq!(scene.status(), "the question was answered by alice (acpd-web)");
    scene.key("Enter");
    assert!(
        answers(&mut scene).is_empty(),
        "what was typed was for the first question"
    );
    assert_eq!(scene.app.questions.len(), 1);
}

#[test]
fn a_repeated_question_is_shown_once_and_keeps_the_numbers_of_events() {
    let mut scene = Scene::open(&json!([]));
    scene.permission("req_1");
    let seq = scene.seq;
    scene.say("turn_1", "item_0", "meanwhile");
    scene.event_at(
        seq,
        "item/commandExecution/requestApproval",
        json!({ "requestId": "req_1" }),
    );
    assert_eq!(scene.app.questions.len(), 1);
    // One that was asked before this client came is repeated as well.
    scene.event_at(
        2,
        "item/permissions/requestApproval",
        json!({ "requestId": "req_0" }),
    );
    assert_eq!(scene.app.questions.len(), 2);
    scene.say("turn_1", "item_1", "continues");
    assert!(scene.draw().contains("continues"));
    assert!(scene.effects().is_empty());
}

#[test]
fn an_observer_sees_a_question_and_cannot_answer() {
    let mut scene = Scene::open(&json!([]));
    scene.app.abilities.may_answer = false;
    let options = json!([{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }]);
    scene.ask(
        "item/permissions/requestApproval",
        "req_1",
        json!({ "options": options }),
    );
    assert!(scene.draw().contains("1) Allow once"));
    scene.wait(1_000);
    scene.choose("M-1");
    scene.key("Enter");
    assert_eq!(scene.status(), "your role may not answer questions");
}

#[test]
fn a_form_is_filled_in_field_by_field() {
    let mut scene = Scene::open(&json!([]));
    let schema = json!({ "properties": { "count": { "type": "integer", "maximum": 3 }, "name": { "type": "string" } },
        "required": ["count"] });
    let form = json!({ "title": "How many?", "mode": "form", "schema": schema });
    scene.ask("item/tool/requestUserInput", "req_1", form.clone());
    let picture = scene.draw();
    assert!(
        picture.contains("How many?") && picture.contains("count (a whole number, at most 3"),
        "{picture}"
    );
    scene.wait(1_000);
    // Enter and digits are the prompt's, until Tab leads to the form.
    scene.keys(&["Enter", "M-1"]);
    assert_eq!(scene.status(), "Tab leads to the question");
    scene.key("Tab");
    scene.typed("9");
    scene.key("Enter");
    assert!(scene.draw().contains("This takes at most 3"));
    scene.key("Backspace");
    scene.typed("2");
    scene.wait(1_000);
    scene.key("Enter");
    assert!(scene.draw().contains("name (optional)"));
    scene.wait(1_000);
    scene.typed("äß");
    scene.key("Enter");
    assert_eq!(
        answers(&mut scene),
        [json!({ "requestId": "req_1", "answers": { "count": 2, "name": "äß" }, "dismissed": false })]
    );

    let mut scene = Scene::open(&json!([]));
    scene.ask("item/tool/requestUserInput", "req_1", form);
    scene.draw();
    scene.key("C-d");
    let asked = "Tab, then Ctrl+D dismisses the question; Ctrl+D again";
    assert!(scene.status().starts_with(asked));
    scene.keys(&["Tab", "C-d"]);
    assert_eq!(
        answers(&mut scene),
        [json!({ "requestId": "req_1", "dismissed": true })]
    );
}

#[test]
fn an_address_is_agreed_to_and_fields_keep_their_order() {
    let mut scene = Scene::open(&json!([]));
    scene.ask(
        "item/tool/requestUserInput",
        "req_1",
        json!({ "title": "Sign in", "mode": "url", "url": "https://a.example/" }),
    );
    assert!(scene.draw().contains("https://a.example/"));
    scene.wait(1_000);
    scene.keys(&["Tab", "y"]);
    scene.wait(1_000);
    scene.key("Enter");
    assert_eq!(
        answers(&mut scene),
        [json!({ "requestId": "req_1", "approved": true })]
    );

    let mut scene = Scene::open(&json!([]));
    let params = format!(
        r#"{{"threadId":{THREAD:?},"seq":11,"ts":0,"requestId":"req_1","title":"?","mode":"form",
            "schema":{{"properties":{{"z":{{"type":"string"}},"a":{{"type":"string"}}}}}}}}"#
    );
    let wanted = serde_json::from_str(&params).expect("it is a question");
    scene
        .app
        .handle_notification(&Notification::ItemToolRequestUserInput(wanted), scene.now);
    assert!(scene.draw().contains("z (optional)"));
}

#[test]
fn an_answer_that_comes_too_late_removes_the_question() {
    let mut scene = Scene::open(&json!([]));
    scene.permission("req_1");
    scene.draw();
    scene.wait(1_000);
    scene.choose("M-1");
    scene.key("Enter");
    let (token, ..) = scene.request();
    scene.fail(token, "alice was first", FailureKind::Resolved);
    assert!(scene.app.questions.is_empty());
    assert_eq!(scene.status(), "the answer was not accepted: alice was first");
}

#[test]
fn a_question_that_this_program_does_not_know_can_be_dismissed() {
    let mut scene = Scene::open(&json!([]));
    for (method, request) in [
        ("item/dream/requestApproval", "req_1"),
        ("item/tool/requestUserInput", "req_2"),
    ] {
        // The title is missing.
        let unknown = Notification::Unrecognized {
            method: method.to_owned(),
            params: json!({ "threadId": THREAD, "seq": 11, "requestId": request }),
        };
        scene.app.handle_notification(&unknown, scene.now);
    }
    assert!(scene.draw().contains("acpd cannot show"));
    scene.wait(1_000);
    scene.keys(&["Tab", "C-d"]);
    assert_eq!(
        answers(&mut scene),
        [json!({ "requestId": "req_1", "dismissed": true })]
    );
    // Without an id, it is no question.
    let nothing = Notification::Unrecognized {
        method: "item/dream/requestApproval".to_owned(),
        params: json!({ "threadId": THREAD, "seq": 12 }),
    };
    scene.app.handle_notification(&nothing, scene.now);
    assert_eq!(scene.app.questions.len(), 2);
}

#[test]
fn the_last_answer_decides_what_an_edit_is_called() {
    for (outcomes, how) in [
        (["declined", "accepted"], "failed"),
        (["accepted", "declined"], "rejected"),
    ] {
        let mut scene = Scene::open(&json!([]));
        scene.run_turn("turn_1");
        scene.event(
            "item/toolCall/started",
            json!({ "turnId": "turn_1", "itemId": "item_1", "type": "toolCall", "title": "Edit", "status": "pending" }),
        );
        for outcome in outcomes {
            scene.event(
                "serverRequest/resolved",
                json!({ "turnId": "turn_1", "requestId": "req_1", "itemId": "item_1", "outcome": outcome,
                    "by": { "kind": "client", "principal": "owner", "client": "acpd-web" } }),
            );
        }
        // A queued prompt that is taken back ends nothing.
        scene.event(
            "turn/completed",
            json!({ "turn": { "id": "turn_2", "status": "interrupted" } }),
        );
        scene.event(
            "item/fileChange/started",
            json!({ "turnId": "turn_1", "itemId": "item_2", "parentItemId": "item_1", "type": "fileChange", "path": "/w/x" }),
        );
        for (method, item) in [
            ("item/fileChange/completed", "item_2"),
            ("item/toolCall/completed", "item_1"),
        ] {
            let params =
                json!({ "turnId": "turn_1", "itemId": item, "outcome": "failed", "status": "failed" });
            scene.event(method, params);
        }
        let picture = scene.draw();
        assert!(
            picture.contains(&format!("● Edit [{how}]")) && picture.contains(&format!("✎ /w/x [{how}]")),
            "{picture}"
        );
    }
}
