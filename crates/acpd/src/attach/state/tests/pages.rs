use serde_json::json;

use super::*;
use crate::attach::conversation::HELD_BYTES;
use crate::terminal::items::ITEM_BYTES;

/// Returns a page with one turn whose answer has many lines.
fn page(number: usize, lines: usize, cursor: Option<&str>) -> Value {
    let text: String = (1..=lines)
        .map(|line| format!("page {number} line {line}\n"))
        .collect();
    let id = format!("turn_{number}");
    let items = json!([message(&format!("item_{number}"), "agentMessage", &text)]);
    json!({ "turns": [turn(&id, &items)], "cursor": cursor, "latestSeq": 10 })
}

/// Returns a page that is as large as an item can be, a hundred times.
fn large_page(number: usize, cursor: Option<&str>) -> Value {
    let items: Vec<Value> = (0..20)
        .map(|item| {
            message(
                &format!("item_{number}_{item}"),
                "agentMessage",
                &format!("{}\n", "x".repeat(ITEM_BYTES / 100)).repeat(100),
            )
        })
        .collect();
    let id = format!("turn_{number}");
    json!({ "turns": [turn(&id, &json!(items))], "cursor": cursor, "latestSeq": 10 })
}

#[test]
fn older_turns_are_loaded_when_the_user_scrolls_to_them() {
    let mut scene = Scene::with(page(9, 200, Some("c8")));
    scene.draw();
    assert!(
        scene.effects().is_empty(),
        "nothing is loaded before it is wanted"
    );
    scene.key("Home");
    assert!(scene.draw().contains("loading older turns"));
    let (token, method, params) = scene.request();
    assert_eq!((method, &params["cursor"]), ("thread/read", &json!("c8")));
    scene.draw();
    assert!(scene.effects().is_empty(), "it is requested once");
    let before = scene.draw();
    scene.reply(token, json!({ "thread": page(8, 200, None) }));
    let after = scene.draw();
    let first = |picture: &str| {
        picture
            .lines()
            .find(|line| line.starts_with("page"))
            .map(str::to_owned)
    };
    assert_eq!(first(&before), first(&after), "the window stays where it was");
    scene.key("PgUp");
    assert!(scene.draw().contains("page 8 line 200"));
    scene.key("Home");
    scene.draw();
    assert!(scene.effects().is_empty(), "there is nothing older");
}

#[test]
fn a_short_page_is_filled_at_once() {
    let mut scene = Scene::with(page(9, 1, Some("c8")));
    let (token, ..) = scene.request();
    scene.reply(token, json!({ "thread": page(8, 1, None) }));
    let picture = scene.draw();
    assert!(
        picture.contains("page 8 line 1") && picture.contains("page 9 line 1"),
        "{picture}"
    );
}

#[test]
fn a_turn_that_is_on_two_pages_ends_once() {
    let mut scene = Scene::with(page(9, 1, Some("c8")));
    let (token, ..) = scene.request();
    let mut older = page(9, 1, None);
    older["turns"][0]["items"] = json!([message("item_0", "agentMessage", "begin")]);
    scene.reply(token, json!({ "thread": older }));
    let picture = scene.draw();
    assert_eq!(picture.matches("── completed").count(), 1, "{picture}");
    assert!(picture.find("begin") < picture.find("page 9"), "{picture}");
}

#[test]
fn a_page_that_cannot_be_loaded_is_tried_again_later() {
    let mut scene = Scene::with(page(9, 1, Some("c8")));
    let (token, ..) = scene.request();
    scene.refuse(token, "storage", false);
    assert_eq!(scene.status(), "older turns cannot be loaded: storage");
    assert!(scene.effects().is_empty());
    scene.wait(2_500);
    scene.draw();
    assert_eq!(scene.request().1, "thread/read");
}

#[test]
fn changes_during_a_page_load_are_neither_lost_nor_doubled() {
    // The running turn is too large for one page: its first item is on the one before.
    let running =
        |items: Value| json!([{ "id": "turn_1", "status": "running", "startedAt": 1, "items": items }]);
    let mut scene = Scene::with(
        json!({ "turns": running(json!([message("item_2", "agentMessage", "two")])),
        "cursor": "c", "turnId": "turn_1" }),
    );
    let (token, ..) = scene.request();
    let delta = |text: &str| json!({ "turnId": "turn_1", "itemId": "item_1", "text": text });
    scene.event("item/agentMessage/delta", delta("b"));
    scene.event("item/agentMessage/delta", delta("c"));
    // The page has the first of these, and one that has not arrived yet.
    let items = json!([{ "itemId": "item_1", "type": "agentMessage", "text": "abcd" }]);
    scene.reply(
        token,
        json!({ "thread": { "turns": running(items), "latestSeq": scene.seq + 1 } }),
    );
    assert!(!scene.draw().contains("ab"), "the page is from the future");
    scene.event("item/agentMessage/delta", delta("d"));
    scene.event("item/agentMessage/delta", delta("e"));
    let picture = scene.draw();
    assert!(picture.contains("abcde\n"), "{picture}");

    // A page from the past gets what came since.
    let mut scene = Scene::with(json!({ "turns": running(json!([])), "cursor": "c", "turnId": "turn_1" }));
    let (token, ..) = scene.request();
    let past = scene.seq + 1;
    scene.event("item/agentMessage/delta", delta("b"));
    scene.event("item/agentMessage/delta", delta("c"));
    let items = json!([{ "itemId": "item_1", "type": "agentMessage", "text": "ab" }]);
    scene.reply(
        token,
        json!({ "thread": { "turns": running(items), "latestSeq": past } }),
    );
    assert!(scene.draw().contains("abc\n"));
}

#[test]
fn a_thread_of_any_length_is_held_in_parts() {
    let mut scene = Scene::with(large_page(9, Some("c8")));
    // Upwards, until the newest pages are gone.
    for number in (5..9).rev() {
        scene.key("Home");
        scene.draw();
        let (token, _, params) = scene.request();
        assert_eq!(params["cursor"], format!("c{number}"));
        let cursor = (number > 5).then(|| format!("c{}", number - 1));
        scene.reply(token, json!({ "thread": large_page(number, cursor.as_deref()) }));
        scene.draw();
        assert!(
            scene.app.conversation.bytes() <= HELD_BYTES,
            "{}",
            scene.app.conversation.bytes()
        );
    }
    let ids = |scene: &Scene| {
        let entries = scene.app.conversation.entries();
        let (first, last) = (entries.front(), entries.back());
        (
            first.map(|entry| entry.id.clone()),
            last.map(|entry| entry.id.clone()),
        )
    };
    assert_eq!(ids(&scene).0.as_deref(), Some("item_5_0"));
    let (_, last) = ids(&scene);
    assert_ne!(last.as_deref(), Some("end turn_9"));

    // New events do not appear in the middle.
    scene.run_turn("turn_10");
    scene.say("turn_10", "item_10", "new");
    assert_eq!(ids(&scene).1, last);

    // Downwards, pages are read again.
    scene.key("C-Home");
    scene.app.scroll = crate::attach::conversation::scroll::Scroll::At {
        entry: last.expect("it has entries"),
        row: 0,
    };
    scene.draw();
    let (token, method, params) = scene.request();
    assert_eq!(method, "thread/read");
    let cursor = params["cursor"].as_str().expect("it has a cursor").to_owned();
    let number: usize = cursor[1..].parse().expect("it is one of ours");
    scene.reply(token, json!({ "thread": large_page(number, None) }));
    scene.draw();
    assert_eq!(ids(&scene).1, Some(format!("end turn_{number}")));
    assert!(scene.app.conversation.bytes() <= HELD_BYTES);
    // The pages that were dropped at the other end are found again.
    assert!(scene.app.conversation.older().is_some());

    // The end of the thread is read as a whole.
    scene.effects();
    scene.key("C-End");
    scene.draw();
    let requests = scene.effects();
    let [Effect::Follow { token, .. }] = &requests[..] else {
        panic!("{requests:?}");
    };
    let items = json!([message("item_10", "agentMessage", "new")]);
    let thread = json!({ "turns": [turn("turn_10", &items)], "cursor": "c9", "pendingRequestIds": [] });
    scene.reply(*token, json!({ "thread": thread, "latestSeq": scene.seq }));
    assert!(scene.draw().contains("new"));
    assert!(scene.app.conversation.newer().is_none());
}

#[test]
fn a_page_that_arrives_after_the_thread_was_read_again_is_not_used() {
    let mut scene = Scene::with(page(9, 1, Some("c8")));
    let (late, ..) = scene.request();
    scene.event("thread/rolledBack", json!({ "lastKeptTurnId": "turn_5" }));
    scene.draw();
    let (token, ..) = scene.request();
    let mut thread = page(5, 1, Some("c4"));
    thread["pendingRequestIds"] = json!([]);
    scene.reply(token, json!({ "thread": thread, "latestSeq": scene.seq }));
    scene.draw();
    let (token, _, params) = scene.request();
    assert_eq!(params["cursor"], "c4");
    scene.reply(late, json!({ "thread": page(8, 1, None) }));
    scene.reply(token, json!({ "thread": page(4, 1, None) }));
    let picture = scene.draw();
    assert!(
        picture.contains("page 4 line 1") && !picture.contains("page 8"),
        "{picture}"
    );
    assert!(scene.effects().is_empty());
}

#[test]
fn a_turn_that_fills_the_memory_is_read_again() {
    let mut scene = Scene::open(&json!([]));
    scene.run_turn("turn_1");
    let piece = "y".repeat(ITEM_BYTES);
    for item in 0..=HELD_BYTES / ITEM_BYTES {
        scene.say("turn_1", &format!("item_{item}"), &piece);
    }
    scene.draw();
    let (token, method, _) = scene.request();
    assert_eq!(method, "thread/resume");
    let thread = json!({ "turns": [{ "id": "turn_1", "status": "running", "items": [] }], "turnId": "turn_1",
        "cursor": "c", "pendingRequestIds": [] });
    scene.reply(token, json!({ "thread": thread, "latestSeq": scene.seq }));
    assert!(scene.app.conversation.bytes() < ITEM_BYTES);
    scene.say("turn_1", "item_last", "the end");
    assert!(scene.draw().contains("the end"));
}

#[test]
fn a_search_loads_older_turns_until_it_finds_the_text() {
    let mut scene = Scene::with(page(9, 100, Some("c8")));
    scene.key("C-f");
    scene.typed("page 7 line 50");
    scene.key("Enter");
    assert!(scene.draw().contains("searching older turns"));
    let (token, ..) = scene.request();
    scene.reply(token, json!({ "thread": page(8, 100, Some("c7")) }));
    scene.draw();
    let (token, ..) = scene.request();
    scene.reply(token, json!({ "thread": page(7, 100, Some("c6")) }));
    assert!(scene.draw().contains("page 7 line 50"));
    assert!(scene.effects().is_empty(), "it is found");
}

#[test]
fn warnings_are_shown_with_their_fix() {
    let mut scene = Scene::open(&json!([]));
    scene.run_turn("turn_1");
    let notice = json!({
        "turnId": "turn_1", "level": "warning", "code": "sandboxDenied", "message": "/x was denied",
        "detail": "add it to \"read\"",
    });
    scene.event("thread/notice", notice);
    let picture = scene.draw();
    assert!(
        picture.contains("! /x was denied") && picture.contains("add it to \"read\""),
        "{picture}"
    );
}

#[test]
fn the_rest_of_an_answer_is_before_the_end_of_its_turn() {
    let mut scene = Scene::open(&json!([]));
    scene.run_turn("turn_1");
    scene.say("turn_1", "item_2", "in time");
    let ended = json!({ "id": "turn_1", "status": "completed", "startedAt": 1 });
    scene.event("turn/completed", json!({ "turnId": "turn_1", "turn": ended }));
    scene.run_turn("turn_2");
    scene.say("turn_2", "item_4", "of the second");
    scene.say("turn_1", "item_5", "too late");
    let picture = scene.draw();
    let places = ["in time", "too late", "── completed", "of the second"]
        .map(|text| picture.find(text).unwrap_or_else(|| panic!("{text}: {picture}")));
    assert!(places.is_sorted(), "{picture}");
}

#[test]
fn each_plan_is_shown_until_the_agent_removes_it() {
    let mut scene = Scene::with(json!({ "turns": [] }));
    scene.run_turn("turn_1");
    let step = |text: &str| json!([{ "content": text, "status": "pending", "priority": "low" }]);
    for plan in [
        json!({ "turnId": "turn_1", "planId": "a", "entries": step("first way") }),
        json!({ "turnId": "turn_1", "planId": "b", "entries": [], "form": "markdown", "markdown": "a text" }),
        json!({ "turnId": "turn_1", "planId": "a", "entries": step("other way") }),
    ] {
        scene.event("turn/plan/updated", plan);
    }
    let drawn = scene.draw();
    for (words, is) in [("first way", false), ("○ other way", true), ("│ a text", true)] {
        assert_eq!(drawn.contains(words), is, "{words}: {drawn}");
    }
    let removed = json!({ "turnId": "turn_1", "planId": "b", "by": { "kind": "agent" } });
    scene.event("turn/plan/removed", removed);
    let drawn = scene.draw();
    assert!(
        drawn.contains("○ other way") && !drawn.contains("a text"),
        "{drawn}"
    );
}

#[test]
fn a_subagent_that_was_there_before_gets_its_name_and_ends_with_its_process() {
    let mut scene = Scene::open(&json!([]));
    scene.run_turn("turn_1");
    let report = json!({ "lane": "lane_1", "state": { "state": "running" } });
    scene.event("thread/lane/updated", report);
    let (token, method, _) = scene.request();
    assert_eq!(method, "thread/lanes");
    let listed = json!({ "data": [{ "lane": "lane_1", "title": "review" }] });
    scene.reply(token, listed);
    let begun = json!({ "turnId": "turn_1", "itemId": "item_3", "type": "agentMessage", "lane": "lane_1", "text": "Found." });
    scene.event("item/started", begun);
    let picture = scene.draw();
    for expected in ["review │ Found.", "● 1 subagent at work"] {
        assert!(picture.contains(expected), "{picture}");
    }
    assert!(scene.effects().is_empty(), "the names are requested once");
    scene.event("thread/lane/updated", json!({ "lane": "lane_1", "state": null }));
    assert!(!scene.draw().contains("at work"), "{}", scene.draw());
}

#[test]
fn lines_about_a_subagent_begin_with_its_name_which_is_requested_once() {
    let said = |item: &str, lane: &str| {
        let mut said = message(item, "agentMessage", "Found two.\nAnd more.");
        said["lane"] = json!(lane);
        said
    };
    let items = json!([
        said("item_1", "lane_1"),
        message("item_2", "agentMessage", "Done.")
    ]);
    let mut scene = Scene::open(&json!([turn("turn_1", &items)]));
    assert!(scene.draw().contains("subagent │ Found two."));
    let (token, method, _) = scene.request();
    assert_eq!(method, "thread/lanes");
    let listed = json!({ "data": [{ "lane": "lane_1", "title": "review" }, { "lane": "lane_2", "title": "x".repeat(100) }] });
    scene.reply(token, listed);
    let picture = scene.draw();
    for expected in ["review │ Found two.", "review │ And more.", "\nDone."] {
        assert!(picture.contains(expected), "{picture}");
    }
    let report = json!({ "lane": "lane_1", "title": "other" });
    scene.event("thread/lane/updated", report);
    assert!(scene.draw().contains("other │ Found two."));
    scene.run_turn("turn_2");
    let begun = json!({ "turnId": "turn_2", "itemId": "item_3", "type": "agentMessage", "lane": "lane_2", "text": "Long." });
    scene.event("item/started", begun);
    let picture = scene.draw();
    let long = picture
        .lines()
        .find(|line| line.contains("Long."))
        .unwrap_or_default();
    assert!(long.starts_with('x') && long.chars().count() < 30, "{picture}");
    assert!(scene.effects().is_empty(), "all names are there");
    for (lane, says) in [
        ("lane_1", "● 1 subagent at work"),
        ("lane_2", "● 2 subagents at work"),
    ] {
        let report = json!({ "lane": lane, "state": { "state": "running" } });
        scene.event("thread/lane/updated", report);
        assert!(scene.draw().contains(says), "{}", scene.draw());
    }
}
