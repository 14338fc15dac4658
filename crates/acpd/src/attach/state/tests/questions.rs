use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Returns the results that were sent.
fn answers(scene: &mut Scene) -> Vec<Value> {
    let effects = scene.effects().into_iter();
    let results = effects.filter_map(|effect| match effect {
        Effect::Respond { result, .. } => Some(result),
        _ => None,
    });
    results.collect()
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
    let given = json!({ "decision": "accept", "optionId": "yes", "optionKind": "allow_once" });
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
    assert!(scene.status().contains("is no option"));
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
    assert_eq!(answers(&mut scene)[0]["decision"], "decline");
    // The answer gives the focus back.
    scene.key("1");
    assert_eq!(scene.app.prompt.text(), "2 more1");
}

#[test]
fn of_more_than_nine_options_one_is_typed() {
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
        let is_answer = |effect: &&Effect| matches!(effect, Effect::Respond { .. } | Effect::End(_));
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
    assert_eq!(answers(&mut scene).len(), 1);
    // In a window of another width, it is another picture.
    scene.message(
        "serverRequest/rejected",
        json!({ "requestId": "req_1", "error": { "message": "no" } }),
        None,
    );
    assert_eq!(scene.status(), "the answer was not accepted: no");
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
    scene.message(
        "item/commandExecution/requestApproval",
        json!({ "requestId": "req_1", "seq": seq, "options": [], "subjects": [] }),
        Some(json!("req_1")),
    );
    assert_eq!(scene.app.questions.len(), 1);
    // A replayed event of it does not take away the answer.
    scene.message(
        "item/commandExecution/requestApproval",
        json!({ "requestId": "req_1", "seq": seq, "options": [], "subjects": [] }),
        None,
    );
    assert!(scene.app.questions[0].may_answer());
    scene.say("turn_1", "item_1", "goes on");
    assert!(scene.draw().contains("goes on"));
    assert!(scene.effects().is_empty());
}

#[test]
fn an_observer_sees_a_question_and_cannot_answer() {
    let mut scene = Scene::open(&json!([]));
    scene.seq += 1;
    let params = json!({ "seq": scene.seq, "requestId": "req_1", "subjects": [], "options": [
        { "optionId": "yes", "name": "Yes", "kind": "allow_once" }] });
    scene.message("item/permissions/requestApproval", params, None);
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
        [json!({ "answers": { "count": 2, "name": "äß" } })]
    );

    let mut scene = Scene::open(&json!([]));
    scene.ask("item/tool/requestUserInput", "req_1", form);
    scene.draw();
    scene.key("C-d");
    let asked = "Tab, then Ctrl+D dismisses the question; Ctrl+D again";
    assert!(scene.status().starts_with(asked));
    scene.keys(&["Tab", "C-d"]);
    assert_eq!(answers(&mut scene), [json!({ "dismissed": true })]);
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
