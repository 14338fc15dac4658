use serde_json::json;

use super::*;

const OTHER: &str = "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d5";

fn modes(current: &str) -> Value {
    json!([
        { "type": "select", "id": "acpd.mode", "name": "Mode", "category": "mode", "currentValue": current,
          "options": [{ "value": "ask", "name": "Ask first" }, { "value": "plan", "name": "Plan" }] },
        { "type": "select", "id": "model", "name": "Model", "category": "model", "currentValue": "large",
          "options": [{ "value": "small", "name": "Small" }, { "value": "large", "name": "Large\u{1b}[2J" }] },
    ])
}

/// Answers the request for the threads.
fn listed(scene: &mut Scene) {
    let (token, method, params) = scene.request();
    assert_eq!((method, &params["limit"]), ("thread/list", &json!(100)));
    let thread = |id: &str, name: &str, status: &str| json!({ "id": id, "name": name, "status": status, "agentType": "demo", "cwd": "/code/\u{202e}x" });
    scene.reply(
        token,
        json!({ "data": [thread(THREAD, "Fix the login", "idle"), thread(OTHER, "Other\u{7}", "waiting")] }),
    );
}

#[test]
fn another_thread_is_picked_and_what_was_typed_waits() {
    let mut scene = Scene::open(&json!([]));
    scene.permission("req_1");
    scene.typed("half a prompt");
    scene.key("C-p");
    assert!(scene.draw().contains("loading…"));
    listed(&mut scene);
    let picture = scene.draw();
    assert!(picture.contains("+ New thread: demo in /code/site"), "{picture}");
    assert!(picture.contains("› ◐ Other\u{fffd}"), "{picture}");
    assert!(picture.contains("○ Fix the login (current)"), "{picture}");
    // Characters narrow the list; neither they nor Alt with a digit answer the question.
    scene.keys(&["M-1", "%"]);
    assert!(scene.draw().contains("nothing matches"));
    scene.keys(&["Enter", "Backspace"]);
    scene.typed("othe");
    scene.key("Enter");
    assert!(scene.app.picker.is_none());
    let (token, method, params) = scene.request();
    assert_eq!((method, &params["threadId"]), ("thread/resume", &json!(OTHER)));
    // Until it is open, this thread continues.
    assert_eq!(scene.app.thread, THREAD);
    let items = json!([message("item_1", "agentMessage", "over there")]);
    let thread = json!({ "id": OTHER, "name": "Other", "agentType": "demo", "cwd": "/x", "status": "waiting",
        "turns": [turn("turn_1", &items)], "pendingRequestIds": [], "queuedTurnIds": [] });
    scene.reply(token, json!({ "thread": thread, "latestSeq": 7 }));
    assert_eq!(scene.app.thread, OTHER);
    assert!(scene.app.questions.is_empty() && scene.app.prompt.is_empty());
    let (_, method, params) = scene.request();
    assert_eq!(
        (method, &params["threadId"]),
        ("thread/unsubscribe", &json!(THREAD))
    );
    assert!(scene.draw().contains("over there"));
    // Messages of the thread before change nothing.
    scene.say("turn_9", "item_9", "not here");
    assert!(!scene.draw().contains("not here"));
    scene.typed("for the other");
    scene.key("Enter");
    let (_, method, params) = scene.request();
    assert_eq!((method, &params["threadId"]), ("turn/start", &json!(OTHER)));

    // A prompt on its way may come back to its thread.
    scene.key("C-p");
    listed(&mut scene);
    scene.keys(&["Home", "Down", "Enter"]);
    assert!(scene.effects().is_empty());
    assert!(scene.status().contains("a prompt is being sent"));
}

#[test]
fn a_draft_returns_with_its_thread() {
    let mut scene = Scene::open(&json!([]));
    scene.typed("a draft");
    for (id, draft) in [(OTHER, ""), (THREAD, "a draft")] {
        scene.app.open_thread(id, scene.now);
        let (token, ..) = scene.request();
        scene.reply(token, opened(id));
        assert_eq!(scene.app.prompt.text(), draft);
        scene.effects();
    }
}

#[test]
fn a_prompt_that_is_sent_while_another_thread_opens_keeps_this_one() {
    let mut scene = Scene::open(&json!([]));
    scene.app.open_thread(OTHER, scene.now);
    let (token, ..) = scene.request();
    scene.typed("one more");
    scene.key("Enter");
    let (sent, method, _) = scene.request();
    assert_eq!(method, "turn/start");
    scene.reply(token, json!({ "thread": { "id": OTHER }, "latestSeq": 1 }));
    assert_eq!(scene.app.thread, THREAD);
    let (_, method, params) = scene.request();
    assert_eq!(
        (method, &params["threadId"]),
        ("thread/unsubscribe", &json!(OTHER))
    );
    scene.refuse(sent, "your role may not", false);
    assert_eq!(scene.app.prompt.text(), "one more");
}

/// Returns the daemon's reply to a request that opens a thread.
fn opened(id: &str) -> Value {
    json!({ "thread": { "id": id, "turns": [], "pendingRequestIds": [], "queuedTurnIds": [] }, "latestSeq": 1 })
}

#[test]
fn a_prompt_that_was_cut_off_goes_to_its_own_thread() {
    let mut scene = Scene::open(&json!([]));
    scene.typed("delete it");
    scene.key("Enter");
    let (_, _, first) = scene.request();
    scene.lose("gone");
    scene.app.open_thread(OTHER, scene.now);
    assert!(scene.effects().is_empty());
    scene.reconnect();
    let (token, method, again) = scene.request();
    assert_eq!((method, again), ("turn/start", first));
    for pick in ["/new", "another"] {
        match pick {
            "/new" => scene.app.start_thread_like_this(scene.now),
            _ => scene.app.open_thread(OTHER, scene.now),
        }
        assert!(scene.effects().is_empty(), "{pick}");
        assert!(scene.status().contains("a prompt is being sent"));
    }
    scene.reply(token, json!({ "turn": { "id": "turn_1" } }));
    scene.app.open_thread(OTHER, scene.now);
    assert_eq!(scene.request().2["threadId"], OTHER);
}

#[test]
fn only_the_last_of_several_picked_threads_is_shown() {
    const THIRD: &str = "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d6";
    for last_first in [false, true] {
        let mut scene = Scene::open(&json!([]));
        scene.app.open_thread(OTHER, scene.now);
        let (first, ..) = scene.request();
        scene.app.open_thread(THIRD, scene.now);
        let (second, ..) = scene.request();
        let mut replies = [(first, OTHER), (second, THIRD)];
        if last_first {
            replies.reverse();
        }
        let mut left = Vec::new();
        for (token, id) in replies {
            scene.reply(token, opened(id));
            for effect in scene.effects() {
                match effect {
                    Effect::Unfollow { thread } => left.push(thread),
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!(scene.app.thread, THIRD);
        left.sort();
        assert_eq!(left, [THREAD, OTHER], "{last_first}");
    }

    // A thread that is picked again while it opens is requested once, also after another one was picked.
    let mut scene = Scene::open(&json!([]));
    scene.app.open_thread(OTHER, scene.now);
    let (first, ..) = scene.request();
    scene.app.open_thread(THIRD, scene.now);
    let (third, ..) = scene.request();
    scene.app.open_thread(OTHER, scene.now);
    assert!(scene.effects().is_empty());
    scene.reply(third, opened(THIRD));
    assert_eq!(scene.request().2["threadId"], THIRD);
    scene.reply(first, opened(OTHER));
    assert_eq!(scene.app.thread, OTHER);

    // Who picks the current thread stays, and hears nothing of the other one.
    let mut scene = Scene::open(&json!([]));
    scene.app.open_thread(OTHER, scene.now);
    let (token, ..) = scene.request();
    scene.key("C-p");
    listed(&mut scene);
    scene.keys(&["Home", "Down", "Enter"]);
    scene.reply(token, opened(OTHER));
    assert_eq!(scene.app.thread, THREAD);
    assert_eq!(scene.request().2["threadId"], OTHER);
}

#[test]
fn a_thread_that_starts_after_another_was_picked_is_named() {
    let new = "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d7";
    let mut scene = Scene::open(&json!([]));
    scene.app.start_thread_like_this(scene.now);
    let (begin, ..) = scene.request();
    scene.app.open_thread(OTHER, scene.now);
    let (open, ..) = scene.request();
    scene.reply(open, opened(OTHER));
    scene.effects();
    scene.reply(begin, json!({ "thread": { "id": new } }));
    assert_eq!(scene.app.thread, OTHER);
    let (_, method, params) = scene.request();
    assert_eq!((method, &params["threadId"]), ("thread/unsubscribe", &json!(new)));
    assert!(scene.status().contains("has started: Ctrl+P opens it"));

    // So is one that starts while a prompt is being sent.
    scene.app.start_thread_like_this(scene.now);
    let (begin, ..) = scene.request();
    scene.typed("one more");
    scene.key("Enter");
    scene.request();
    scene.reply(begin, json!({ "thread": { "id": new } }));
    assert_eq!(scene.request().1, "thread/unsubscribe");
    assert!(scene.status().contains("has started: Ctrl+P opens it"));
}

#[test]
fn a_list_that_loads_while_a_thread_opens_is_shown() {
    let mut scene = Scene::with(json!({ "configOptions": modes("ask") }));
    scene.key("BackTab");
    let (set, ..) = scene.request();
    scene.app.open_thread(OTHER, scene.now);
    let (open, ..) = scene.request();
    scene.key("C-p");
    let (list, ..) = scene.request();
    let mut resumed = opened(OTHER);
    resumed["thread"]["configOptions"] = modes("ask");
    scene.reply(open, resumed);
    scene.effects();
    scene.reply(list, json!({ "data": [] }));
    assert!(scene.draw().contains("+ New thread"));
    scene.key("Esc");
    // What was set in the thread before is not the mode of this one.
    scene.refuse(set, "too late", false);
    scene.key("BackTab");
    assert_eq!(scene.request().2["value"], "plan");
}

#[test]
fn keys_typed_while_the_list_loads_choose_from_it() {
    let mut scene = Scene::open(&json!([]));
    scene.key("C-p");
    scene.typed("othe");
    listed(&mut scene);
    assert!(scene.draw().contains("› ◐ Other"));
    scene.key("Enter");
    assert_eq!(scene.request().2["threadId"], OTHER);
}

#[test]
fn a_new_thread_has_the_agent_and_the_folder_of_this_one() {
    let mut scene = Scene::open(&json!([]));
    scene.typed("/new");
    scene.key("Enter");
    let (token, method, params) = scene.request();
    assert_eq!(
        (method, params),
        (
            "thread/start",
            json!({ "agentType": "demo", "cwd": "/code/site" })
        )
    );
    scene.reply(token, json!({ "thread": { "id": OTHER } }));
    let (token, method, _) = scene.request();
    assert_eq!(method, "thread/resume");
    scene.refuse(token, "it is gone", true);
    assert_eq!(scene.status(), "it is gone");
    assert_eq!(scene.app.thread, THREAD);
}

#[test]
fn a_new_thread_can_have_the_agent_and_the_folder_of_any_listed_one() {
    let mut scene = Scene::open(&json!([]));
    scene.key("C-p");
    let (token, ..) = scene.request();
    let thread =
        |id: &str, agent: &str, cwd: &str| json!({ "id": id, "name": "x", "agentType": agent, "cwd": cwd });
    scene.reply(
        token,
        json!({ "data": [
            thread(THREAD, "demo", "/code/site"), thread(OTHER, "gemini", "/code/shop"), thread(OTHER, "gemini", "/code/shop"),
        ] }),
    );
    assert_eq!(scene.draw().matches("+ New thread").count(), 2);
    scene.typed("new thread: gemini");
    scene.key("Enter");
    let (_, method, params) = scene.request();
    let expected = json!({ "agentType": "gemini", "cwd": "/code/shop" });
    assert_eq!((method, params), ("thread/start", expected));
}

#[test]
fn a_list_closes_and_is_not_loaded_without_a_connection() {
    let mut scene = Scene::open(&json!([]));
    for key in ["Esc", "C-p", "C-c"] {
        scene.key("C-p");
        assert!(scene.app.picker.is_some());
        listed(&mut scene);
        scene.key(key);
        assert!(scene.app.picker.is_none() && scene.effects().is_empty(), "{key}");
    }
    scene.key("C-p");
    scene.lose("gone");
    assert!(scene.app.picker.is_none());
    scene.effects();
    scene.key("C-p");
    assert!(scene.app.picker.is_none() && scene.effects().is_empty());
}

#[test]
fn shift_tab_changes_to_the_next_mode() {
    let mut scene = Scene::with(json!({ "configOptions": modes("ask") }));
    assert!(scene.draw().contains("Ask first · Large\u{fffd}[2J"));
    scene.key("BackTab");
    let (token, method, params) = scene.request();
    assert_eq!(method, "thread/config/set");
    assert_eq!(
        (&params["configId"], &params["value"]),
        (&json!("acpd.mode"), &json!("plan"))
    );
    // The next one begins where this one leads.
    scene.key("BackTab");
    let (second, _, params) = scene.request();
    assert_eq!(params["value"], "ask");
    scene.reply(token, json!({}));
    scene.refuse(second, "not now", false);
    assert_eq!(scene.status(), "not now");
    scene.event("thread/updated", json!({ "modeId": "plan" }));
    assert!(scene.draw().contains("Plan · Large"));
    scene.key("BackTab");
    assert_eq!(scene.request().2["value"], "ask");
    // Another list of options replaces the agent's, and keeps the daemon's.
    scene.event(
        "thread/updated",
        json!({ "configOptionUpdate": { "configOptions": [{ "id": "x", "currentValue": true }] } }),
    );
    assert_eq!(scene.app.head.options.len(), 2);

    let mut scene = Scene::open(&json!([]));
    scene.key("BackTab");
    assert!(scene.effects().is_empty());
    assert_eq!(scene.status(), "the agent offers no modes");
}

#[test]
fn a_model_is_picked_from_the_list() {
    let mut scene = Scene::with(json!({ "configOptions": modes("ask") }));
    scene.key("M-m");
    let picture = scene.draw();
    assert!(picture.contains("› Large\u{fffd}[2J (current)"), "{picture}");
    scene.keys(&["Up", "Up", "Enter"]);
    let (token, _, params) = scene.request();
    assert_eq!(
        (&params["configId"], &params["value"]),
        (&json!("model"), &json!("small"))
    );
    scene.reply(token, json!({}));
    assert_eq!(scene.status(), "Model: Small");
}

#[test]
fn the_right_arrow_takes_what_the_agent_suggests() {
    let mut scene = Scene::with(json!({}));
    let suggestions = json!([
        { "prompt": [{ "type": "resource_link", "uri": "file:///w/a", "name": "a" }] },
        { "prompt": [{ "type": "text", "text": "Run the tests\u{1b}" }] },
    ]);
    scene.event(
        "thread/suggestions/updated",
        json!({ "suggestions": suggestions }),
    );
    assert!(scene.draw().contains("Run the tests\u{fffd} (→)"));
    scene.typed("x");
    scene.key("Right");
    assert_eq!(scene.app.prompt.text(), "x");
    scene.key("Backspace");
    scene.key("Right");
    assert_eq!(scene.app.prompt.text(), "Run the tests\u{fffd}");
    scene.key("C-u");
    scene.event("thread/suggestions/updated", json!({ "suggestions": [] }));
    scene.key("Right");
    assert_eq!(scene.app.prompt.text(), "");
}

#[test]
fn a_slash_completes_the_commands_of_the_agent() {
    let commands = json!({ "availableCommands": [
        { "name": "review", "description": "Reviews\nchanges\u{1b}[2J" }, { "name": "model", "description": "Its own" },
        { "name": "bad name" }, { "name": "" },
        { "type": "skill", "name": "deploy", "description": "Deploys it" },
        { "type": "hologram", "name": "odd", "description": "Of a later version" },
    ] });
    let mut scene = Scene::with(json!({ "availableCommandsUpdate": commands }));
    scene.typed("/");
    let picture = scene.draw();
    for part in [
        "› /review  Reviews\u{fffd}changes\u{fffd}[2J",
        "/model  Its own",
        "/deploy  (skill) Deploys it",
        "/mode  choose",
        "/threads",
        "/new",
    ] {
        assert!(picture.contains(part), "{part}: {picture}");
    }
    assert!(!picture.contains("bad name") && !picture.contains("/odd"));
    scene.keys(&["Down", "Up"]);
    scene.typed("re");
    scene.key("Tab");
    assert_eq!(scene.app.prompt.text(), "/review ");
    assert!(scene.app.completions().is_empty(), "words follow");
    scene.typed("all");
    scene.key("Enter");
    assert_eq!(scene.request().2["text"], "/review all");

    // Enter completes what is begun, and sends what is whole.
    scene.typed("/vie");
    scene.key("Enter");
    assert_eq!(scene.app.prompt.text(), "/review ");
    scene.keys(&["Backspace", "Enter"]);
    assert_eq!(scene.request().2["text"], "/review");
    // The agent's own command is not this program's.
    scene.typed("/model");
    scene.key("Enter");
    assert_eq!(scene.request().2["text"], "/model");
    // A path is no command, and a closed list leaves the keys alone.
    scene.typed("/etc");
    assert!(scene.app.completions().is_empty());
    scene.key("C-u");
    scene.typed("/re");
    scene.key("Esc");
    scene.key("Enter");
    assert_eq!(scene.request().2["text"], "/re");
}

#[test]
fn thousands_of_commands_and_threads_fit_the_window() {
    let commands: Vec<Value> = (0..5000)
        .map(|k| json!({ "name": format!("c{k}"), "description": "x".repeat(5000) }))
        .collect();
    let mut scene = Scene::with(json!({ "availableCommandsUpdate": { "availableCommands": commands } }));
    scene.typed("/c");
    for _ in 0..20 {
        scene.key("Down");
    }
    assert!(scene.draw().contains("› /c20 "));
    for (columns, rows) in [(40, 10), (200, 60), (1, 1)] {
        scene.resize(columns, rows);
        scene.key("C-p");
        scene.draw();
        scene.key("Esc");
        scene.effects();
    }
}
