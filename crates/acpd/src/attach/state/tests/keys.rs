use serde_json::json;

use super::*;
use crate::attach::state::End;

#[test]
fn a_prompt_starts_a_turn_and_during_a_turn_it_is_queued() {
    let mut scene = Scene::open(&json!([]));
    scene.typed("fix it");
    scene.keys(&["M-Enter"]);
    scene.typed("now");
    scene.key("C-j");
    scene.key("Backspace");
    scene.key("Enter");
    let (token, method, params) = scene.request();
    assert_eq!((method, &params["text"]), ("turn/start", &json!("fix it\nnow")));
    assert_eq!(params["threadId"], THREAD);
    assert!(scene.app.prompt.is_empty());
    scene.reply(token, json!({ "turn": { "id": "turn_1", "status": "queued" } }));
    assert!(scene.status().starts_with("queued: it starts when"));

    scene.run_turn("turn_1");
    scene.event(
        "turn/queued",
        json!({ "turn": { "id": "turn_2", "status": "queued", "input": [{ "type": "text", "text": "and\nthen" }] } }),
    );
    assert!(scene.draw().contains("queued: and\u{fffd}then"));
    // The last queued prompt comes back to be changed.
    scene.key("C-x");
    let (token, method, params) = scene.request();
    assert_eq!((method, &params["turnId"]), ("turn/interrupt", &json!("turn_2")));
    scene.event(
        "turn/completed",
        json!({ "turn": { "id": "turn_2", "status": "interrupted" } }),
    );
    scene.reply(token, json!({}));
    assert_eq!(scene.app.prompt.text(), "and\nthen");
    assert!(!scene.draw().contains("queued:"));
}

#[test]
fn a_prompt_that_is_refused_comes_back() {
    let mut scene = Scene::open(&json!([]));
    scene.typed("one");
    scene.key("Enter");
    let (token, ..) = scene.request();
    scene.typed("two");
    scene.refuse(token, "your role may not", false);
    assert_eq!(scene.app.prompt.text(), "one\ntwo");
    assert_eq!(scene.status(), "not sent: your role may not");
    scene.keys(&["C-u", "Backspace", "C-u"]);
    scene.key("Enter");
    assert!(scene.effects().is_empty(), "an empty prompt is not sent");
}

#[test]
fn a_message_goes_into_the_running_turn() {
    let mut scene = Scene::open(&json!([]));
    scene.run_turn("turn_1");
    scene.typed("use the other file");
    scene.key("M-s");
    let (token, method, params) = scene.request();
    assert_eq!(
        (method, &params["content"]),
        ("turn/steer", &json!("use the other file"))
    );
    scene.reply(token, json!({ "delivery": "queued", "turnId": "turn_2" }));
    assert!(scene.status().contains("takes no messages"));
    // Without words, a queued prompt is sent into the turn.
    scene.event(
        "turn/queued",
        json!({ "turn": { "id": "turn_2", "status": "queued" } }),
    );
    scene.key("M-s");
    assert_eq!(scene.request().1, "turn/queue/steer");
}

#[test]
fn two_escapes_interrupt_and_two_more_terminate() {
    let mut scene = Scene::open(&json!([]));
    scene.keys(&["Esc", "Esc"]);
    assert!(scene.effects().is_empty(), "nothing runs");
    scene.run_turn("turn_1");
    scene.key("Esc");
    assert_eq!(scene.status(), "Esc again interrupts the turn");
    // Too late, or with a key between them, they are two first ones.
    scene.wait(2_500);
    scene.key("Esc");
    scene.keys(&["x", "Backspace", "Esc"]);
    assert!(scene.effects().is_empty());
    scene.key("Esc");
    let (_, method, params) = scene.request();
    assert_eq!((method, &params["turnId"]), ("turn/interrupt", &json!("turn_1")));
    assert_eq!(params["atOnce"], false);
    scene.event(
        "turn/interrupting",
        json!({ "turnId": "turn_1", "by": { "kind": "daemon" } }),
    );
    scene.keys(&["Esc", "Esc"]);
    assert_eq!(scene.request().2["atOnce"], true);
}

#[test]
fn control_c_interrupts_once_and_then_detaches() {
    let mut scene = Scene::open(&json!([]));
    scene.run_turn("turn_1");
    scene.key("C-c");
    assert_eq!(scene.request().1, "turn/interrupt");
    scene.wait(5_000);
    scene.event("turn/interrupting", json!({ "turnId": "turn_1" }));
    scene.key("C-c");
    assert!(
        scene.effects().is_empty(),
        "it is interrupted already, and the first Ctrl+C is long ago"
    );
    scene.wait(500);
    scene.key("C-c");
    assert_eq!(scene.effects(), [Effect::End(End::Detached)]);
    // Without a turn, the first one empties the prompt.
    let mut scene = Scene::open(&json!([]));
    scene.typed("half a thought");
    scene.key("C-c");
    assert!(scene.app.prompt.is_empty());
    scene.key("M-Up");
    assert_eq!(scene.app.prompt.text(), "half a thought");
}

#[test]
fn characters_are_text_on_an_empty_prompt_as_well() {
    let mut scene = Scene::open(&json!([]));
    for first in ["q", "/", "?", "n", "1", " "] {
        scene.key(first);
        assert_eq!(scene.app.prompt.text(), first);
        scene.key("Backspace");
    }
    scene.typed("/compact");
    scene.key("Enter");
    assert_eq!(scene.request().2["text"], "/compact");
    scene.key("C-d");
    assert_eq!(scene.effects(), [Effect::End(End::Detached)]);
}

#[test]
fn pasted_text_is_not_sent_and_cannot_drive_the_terminal() {
    let mut scene = Scene::open(&json!([]));
    scene.app.handle_paste("q\r\n/x\u{1b}[2J\n", scene.now);
    assert!(scene.effects().is_empty());
    assert_eq!(scene.app.prompt.text(), "q\n/x\u{fffd}[2J\n");
    assert!(scene.draw().contains("/x\u{fffd}[2J"));
    let long = "x".repeat(2 << 20);
    scene.app.handle_paste(&long, scene.now);
    assert!(scene.status().contains("too long"));
}

#[test]
fn the_conversation_follows_its_end_until_the_user_scrolls() {
    let lines: String = (1..=50).map(|n| format!("line {n}\n")).collect();
    let mut scene = Scene::open(&json!([turn(
        "turn_1",
        &json!([message("item_1", "agentMessage", &lines)])
    )]));
    scene.run_turn("turn_2");
    scene.say("turn_2", "item_2", "first");
    assert!(scene.draw().contains("first"));
    scene.key("PgUp");
    let before = scene.draw();
    assert!(
        before.contains("line 40") && before.contains("End: newest"),
        "{before}"
    );
    scene.event(
        "item/agentMessage/delta",
        json!({ "turnId": "turn_2", "itemId": "item_2", "text": "\nsecond" }),
    );
    assert_eq!(scene.draw(), before, "nothing moves under the reader's eyes");
    scene.key("Home");
    assert!(scene.draw().contains("line 1\n"));
    scene.keys(&["Up", "Down"]);
    assert!(!scene.draw().contains("line 1\n"));
    scene.key("End");
    let after = scene.draw();
    assert!(
        after.contains("second") && !after.contains("End: newest"),
        "{after}"
    );
    // Scrolling down to the end follows it again.
    scene.keys(&["PgUp", "PgDn"]);
    scene.event(
        "item/agentMessage/delta",
        json!({ "turnId": "turn_2", "itemId": "item_2", "text": "\nthird" }),
    );
    assert!(scene.draw().contains("third"));
}

#[test]
fn folds_open_and_close() {
    let output: String = (1..=30).map(|n| format!("out {n}\n")).collect();
    let call = json!({
        "itemId": "item_1", "type": "toolCall", "status": "completed", "outcome": "completed",
        "toolCall": { "title": "make", "content": [{ "type": "content", "content": { "type": "text", "text": output } }] },
    });
    let mut scene = Scene::open(&json!([turn("turn_1", &json!([call]))]));
    let closed = scene.draw();
    assert!(
        closed.contains("24 more lines") && !closed.contains("out 25"),
        "{closed}"
    );
    scene.key("C-o");
    assert!(scene.draw().contains("out 25"));
    scene.key("C-o");
    assert_eq!(scene.draw(), closed);
}

#[test]
fn a_search_marks_hits_opens_folds_and_goes_back_and_forth() {
    let output: String = (1..=30).map(|n| format!("out {n} NEEDLE\n")).collect();
    let call = json!({
        "itemId": "item_2", "type": "toolCall", "status": "completed", "outcome": "completed",
        "toolCall": { "title": "make", "content": [{ "type": "content", "content": { "type": "text", "text": output } }] },
    });
    let items = json!([message("item_1", "userMessage", "a needle"), call]);
    let mut scene = Scene::open(&json!([turn("turn_1", &items)]));
    let at = |scene: &Scene| {
        let hit = scene.app.search.as_ref().and_then(|search| search.hit.clone());
        hit.map(|hit| (hit.entry, hit.line))
    };
    scene.key("C-f");
    scene.key("Enter");
    assert!(scene.app.search.is_none(), "there is nothing to search for");
    scene.typed("needle");
    scene.key("Enter");
    assert_eq!(at(&scene), Some(("item_2".to_owned(), 30)));
    assert!(scene.app.is_open);
    scene.key("Enter");
    assert_eq!(at(&scene), Some(("item_2".to_owned(), 29)));
    scene.key("Down");
    assert_eq!(at(&scene), Some(("item_2".to_owned(), 30)));
    scene.key("Down");
    assert_eq!(scene.status(), "no newer text has \"needle\"");
    for _ in 0..30 {
        scene.key("Up");
    }
    assert_eq!(at(&scene), Some(("item_1".to_owned(), 0)));
    assert!(scene.draw().contains("> a needle"));
    scene.key("Up");
    assert_eq!(scene.status(), "no older text has \"needle\"");
    scene.key("Esc");
    assert!(scene.app.search.is_none());
    scene.key("n");
    assert_eq!(scene.app.prompt.text(), "n");
    // An empty search repeats the last one.
    scene.keys(&["C-f", "Enter"]);
    assert!(at(&scene).is_some());
}

/// Two turns, of which the second was steered, and a third with a picture.
fn with_prompts() -> Scene {
    let picture = json!({ "type": "image", "mimeType": "image/png", "data": "" });
    let mut shown = message("item_5", "userMessage", "look");
    shown["content"] = json!([{ "type": "text", "text": "look" }, picture]);
    Scene::open(&json!([
        turn(
            "turn_1",
            &json!([
                message("item_1", "userMessage", "one"),
                message("item_2", "agentMessage", "1")
            ])
        ),
        turn(
            "turn_2",
            &json!([
                message("item_3", "userMessage", "two"),
                message("item_4", "userMessage", "and more")
            ])
        ),
        turn("turn_3", &json!([shown])),
    ]))
}

#[test]
fn an_earlier_prompt_is_edited_and_sent_in_its_place() {
    let mut scene = with_prompts();
    scene.typed("half a thought");
    scene.key("M-e");
    assert_eq!(
        scene.app.prompt.text(),
        "two",
        "not what was said during the turn"
    );
    assert!(scene.draw().contains("Earlier prompt"));
    scene.key("M-e");
    assert_eq!(scene.app.prompt.text(), "one");
    scene.key("M-e");
    assert_eq!(scene.app.prompt.text(), "one");
    assert!(scene.status().starts_with("no earlier prompt"));
    scene.key("Esc");
    assert_eq!(scene.app.prompt.text(), "half a thought");

    scene.key("M-e");
    scene.typed("!");
    scene.key("Enter");
    let (token, method, params) = scene.request();
    assert_eq!(
        (method, &params["text"], &params["replacesTurnId"]),
        ("turn/start", &json!("two!"), &json!("turn_2"))
    );
    assert_eq!(scene.app.prompt.text(), "half a thought");
    // What is refused is edited further, and the draft waits.
    scene.refuse(token, "a turn is running", false);
    assert_eq!(scene.app.prompt.text(), "two!");
    assert_eq!(scene.status(), "not sent: a turn is running");
    scene.key("Esc");
    assert_eq!(scene.app.prompt.text(), "half a thought");
    scene.key("M-Up");
    assert_eq!(scene.app.prompt.text(), "two!");
}

#[test]
fn an_edited_prompt_can_be_recalled_after_an_earlier_one_was_chosen() {
    let mut scene = with_prompts();
    scene.key("M-e");
    scene.typed(", rewritten");
    scene.key("M-e");
    assert_eq!(scene.app.prompt.text(), "one");
    scene.key("M-Up");
    assert_eq!(scene.app.prompt.text(), "two, rewritten");
}

#[test]
fn a_prompt_whose_place_is_gone_is_sent_as_a_new_one() {
    let mut scene = with_prompts();
    scene.key("M-e");
    scene.typed("!");
    scene.key("Enter");
    let (token, ..) = scene.request();
    scene.fail(token, "turn_2 does not exist", FailureKind::NotFound);
    assert_eq!((scene.app.prompt.text(), &scene.app.edit), ("two!", &None));
    assert!(scene.status().starts_with("not sent: that prompt has left"));
    scene.key("Enter");
    let (_, method, params) = scene.request();
    assert_eq!(
        (method, &params["text"], &params["replacesTurnId"]),
        ("turn/start", &json!("two!"), &json!(null))
    );
}

#[test]
fn an_earlier_prompt_waits_for_the_running_turn() {
    let mut scene = with_prompts();
    scene.key("M-e");
    scene.run_turn("turn_4");
    scene.keys(&["Enter", "M-s"]);
    assert!(scene.effects().is_empty());
    assert!(scene.status().starts_with("a turn runs or is queued"));
    // The first Esc leaves the prompt, and is none of the two that interrupt.
    scene.keys(&["Esc", "Esc"]);
    assert!(scene.effects().is_empty() && scene.app.edit.is_none());
    scene.key("Esc");
    assert_eq!(scene.request().1, "turn/interrupt");
}

#[test]
fn a_thread_without_prompts_has_none_to_edit() {
    let mut scene = Scene::open(&json!([]));
    scene.typed("x");
    scene.key("M-e");
    assert_eq!((scene.app.prompt.text(), &scene.app.edit), ("x", &None));
}

#[test]
fn an_older_daemon_receives_no_prompt_in_place_of_an_earlier_one() {
    let mut scene = with_prompts();
    scene.key("M-e");
    scene.typed("!");
    scene.key("Enter");
    scene.request();
    // The prompt was on its way when an older daemon took over.
    scene.lose("lost");
    let older = Abilities {
        replaces_turns: false,
        ..ABILITIES
    };
    scene.app.handle_connected(older, scene.now);
    assert!(scene.effects().is_empty());
    assert_eq!(scene.app.prompt.text(), "two!");
    assert!(scene.status().starts_with("the daemon is older"));
    scene.keys(&["Esc", "M-e"]);
    assert_eq!((scene.app.prompt.text(), &scene.app.edit), ("", &None));
    assert!(scene.status().starts_with("the daemon is older"));
}
