//! Threads as clients list, read, leave and share them.

use serde_json::{Value, json};

use crate::support::{self, Client, Daemon, acpd};

fn ids(page: &Value) -> Vec<&str> {
    let data = page["data"].as_array().expect("a list has data");
    data.iter()
        .map(|thread| thread["id"].as_str().expect("a thread has an id"))
        .collect()
}

#[test]
fn threads_are_listed_newest_first_page_by_page() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let mut made: Vec<String> = (0..5)
        .map(|k| {
            let params = json!({ "agentType": "fake", "cwd": daemon.place.work(), "name": format!("thread {k}"), "text": "say x" });
            let started = client.call("thread/start", &params);
            let thread = started["thread"]["id"].as_str().unwrap().to_owned();
            client.finish(&thread, "turn_1");
            thread
        })
        .collect();
    made.reverse();
    let all = client.call("thread/list", &json!({}));
    assert_eq!(ids(&all), made);
    assert_eq!(all["nextCursor"], Value::Null);
    assert_eq!(
        (&all["data"][0]["name"], &all["data"][0]["status"]),
        (&json!("thread 4"), &json!("idle"))
    );
    assert_eq!(all["data"][0]["turnCount"], 1);

    let mut paged = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = client.call("thread/list", &json!({ "limit": 2, "cursor": cursor }));
        assert!(ids(&page).len() <= 2);
        paged.extend(ids(&page).into_iter().map(str::to_owned));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(paged, made);

    client.turn(&made[4].clone(), "say y");
    let newest = client.call("thread/list", &json!({ "limit": 1 }));
    assert_eq!(ids(&newest), [&made[4]], "a turn makes a thread the newest");
    let found = client.call("thread/list", &json!({ "searchTerm": "thread 3" }));
    assert_eq!(ids(&found), [&made[1]]);
    for (params, count) in [
        (json!({ "cwd": daemon.place.work() }), 5),
        (json!({ "cwd": "/" }), 0),
        (json!({ "agentType": "fake" }), 5),
        (json!({ "agentType": "other" }), 0),
        (json!({ "status": "idle" }), 5),
        (json!({ "status": "active" }), 0),
        (json!({ "archived": true }), 0),
    ] {
        assert_eq!(ids(&client.call("thread/list", &params)).len(), count, "{params}");
    }
    for params in [
        json!({ "cursor": "nonsense" }),
        json!({ "status": "odd" }),
        json!({ "limit": -1 }),
    ] {
        assert_eq!(client.refused("thread/list", &params)["code"], -32602, "{params}");
    }
}

#[test]
fn a_running_thread_shows_that_it_runs() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "permission");
    let question = client.question();
    let active = client.call("thread/list", &json!({ "status": "active" }));
    assert_eq!(
        (ids(&active), &active["data"][0]["status"]),
        (vec![&thread[..]], &json!("waiting"))
    );
    client.respond(&question, &json!({ "decision": "accept" }));
    client.finish(&thread, &turn);
}

/// Returns a listed thread's status, and the status of its last turn.
fn shown(thread: &Value) -> (&str, Option<&str>) {
    let status = thread["status"].as_str().expect("a thread has a status");
    (status, thread["lastTurnStatus"].as_str())
}

#[test]
fn a_list_is_narrowed_to_what_threads_do() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let threads: Vec<String> = (0..4).map(|_| client.thread(&daemon)).collect();
    client.turn(&threads[1], "say x");
    client.turn(&threads[2], "error");
    let turn = client.start(&threads[3], "permission; slow");
    let question = client.question();
    let [new, done, failed, waiting] = [0, 1, 2, 3].map(|k: usize| &threads[k][..]);
    let check = |client: &mut Client, status: &str, wanted: &[&str]| {
        let page = client.call("thread/list", &json!({ "status": status }));
        let mut found = ids(&page);
        found.sort_unstable();
        assert_eq!(found, wanted, "{status}");
    };
    check(&mut client, "active", &[waiting]);
    check(&mut client, "waiting", &[waiting]);
    check(&mut client, "running", &[]);
    check(&mut client, "idle", &[new, done, failed]);
    check(&mut client, "failed", &[failed]);
    client.respond(&question, &json!({ "decision": "accept" }));
    client.wait_for("serverRequest/resolved");
    client.until(|message| message.method == "thread/status/changed");
    check(&mut client, "running", &[waiting]);
    check(&mut client, "waiting", &[]);
    client.call("turn/interrupt", &json!({ "threadId": waiting }));
    client.finish(waiting, &turn);
    let page = client.call("thread/list", &json!({}));
    let mut all: Vec<_> = page["data"].as_array().unwrap().iter().collect();
    all.sort_unstable_by_key(|thread| thread["id"].as_str());
    assert_eq!(
        all.iter().map(|thread| shown(thread)).collect::<Vec<_>>(),
        [
            ("idle", None),
            ("idle", Some("completed")),
            ("idle", Some("failed")),
            ("idle", Some("interrupted"))
        ]
    );
}

#[test]
fn read_marks_are_shared_by_the_devices_of_a_user() {
    let daemon = Daemon::start();
    let token = acpd(
        &daemon.place,
        &["token", "create", "--name", "bob", "--role", "observer"],
    );
    let (mut phone, mut desktop) = (Client::new(&daemon), Client::new(&daemon));
    let mut bob = Client::with_token(&daemon, token.stdout.trim());
    let thread = phone.thread(&daemon);
    phone.turn(&thread, "say x");
    let listed = |client: &mut Client| client.call("thread/list", &json!({}))["data"][0].clone();
    assert_eq!(
        listed(&mut desktop)["seenAt"],
        Value::Null,
        "nobody has marked a thread"
    );
    for client in [&mut desktop, &mut bob] {
        client.call("thread/list/watch", &json!({}));
        let begun = client.call("thread/seen/set", &json!({ "threads": [], "since": 7 }));
        assert_eq!(begun, json!({ "since": 7 }));
    }
    assert_eq!(listed(&mut desktop)["seenAt"], 7);
    // Nobody has seen what has not happened, or a thread that does not exist.
    let unknown = "00000000-0000-7000-8000-000000000000";
    let marks = json!([{ "threadId": thread, "seenAt": u64::MAX }, { "threadId": unknown, "seenAt": 1 }]);
    phone.call("thread/seen/set", &json!({ "threads": marks, "since": 0 }));
    let updated = listed(&mut phone)["updatedAt"].clone();
    let seen = desktop.wait_for("thread/list/seen");
    assert_eq!(
        seen.params["threads"],
        json!([{ "threadId": thread, "seenAt": updated }])
    );
    assert_eq!(listed(&mut desktop)["seenAt"], updated);
    assert_eq!(listed(&mut bob)["seenAt"], 7, "another user");
    // A mark does not go back.
    let earlier = json!([{ "threadId": thread, "seenAt": 9 }]);
    phone.call("thread/seen/set", &json!({ "threads": earlier }));
    assert_eq!(listed(&mut desktop)["seenAt"], updated);
    let many: Vec<_> = (0..501)
        .map(|_| json!({ "threadId": thread, "seenAt": 1 }))
        .collect();
    let refused = phone.refused("thread/seen/set", &json!({ "threads": many }));
    assert_eq!(refused["data"]["code"], "invalid_params");
    assert_eq!(phone.call("user/present", &json!({})), json!({ "away": null }));
    assert_eq!(desktop.call("user/present", &json!({})), json!({ "away": null }));
}

#[test]
fn a_watcher_of_the_list_receives_metadata_only_if_it_is_set() {
    let daemon = Daemon::start();
    let mut watcher = Client::observer(&daemon);
    let mut client = Client::new(&daemon);
    watcher.call("thread/list/watch", &json!({}));
    let params = json!({ "agentType": "fake", "cwd": daemon.place.work(), "metadata": { "note": 1 } });
    let thread = client.call("thread/start", &params)["thread"]["id"].clone();
    let thread = thread.as_str().unwrap_or_default();
    client.turn(thread, "say x");
    client.call(
        "thread/metadata/set",
        &json!({ "threadId": thread, "metadata": [2] }),
    );
    client.turn(thread, "say y");
    let of_thread = |client: &mut Client| {
        let listed = client.call("thread/list", &json!({}))["data"][0].clone();
        let read = client.call("thread/read", &json!({ "threadId": thread }))["thread"].clone();
        assert_eq!(listed["metadata"], read["metadata"]);
        listed["metadata"].clone()
    };
    assert_eq!(of_thread(&mut client), json!([2]));
    client.call("thread/archive", &json!({ "threadId": thread }));
    client.call("thread/unarchive", &json!({ "threadId": thread }));
    client.call(
        "thread/metadata/set",
        &json!({ "threadId": thread, "metadata": null }),
    );
    assert_eq!(of_thread(&mut client), json!(null));
    client.call("thread/delete", &json!({ "threadId": thread }));
    let changes = watcher.until(|message| message.params["thread"].is_null());
    let (_, changes) = changes.split_last().expect("the deletion");
    let metadata = changes
        .iter()
        .filter_map(|change| change.params["thread"].get("metadata"));
    assert_eq!(
        metadata.collect::<Vec<_>>(),
        [&json!({ "note": 1 }), &json!([2]), &json!([2]), &json!(null)]
    );
    assert!(changes.len() > 8, "{}", changes.len());
}

#[test]
fn the_diff_of_a_turn_is_read_when_it_is_over() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let path = daemon.place.work().join("a.txt");
    std::fs::write(&path, "one\ntwo\n").unwrap();
    let turn = client.turn(&thread, "say nothing");
    assert!(turn.end["changes"].is_null(), "{:?}", turn.end);
    let turn = client.turn(
        &thread,
        &format!("write path='{}' text=\"one\\n2\\n3\\n\"", path.display()),
    );
    let size = json!({ "files": 1, "added": 2, "removed": 1, "incomplete": false });
    assert_eq!(turn.end["changes"], size);
    let read = client.call(
        "thread/read",
        &json!({ "threadId": thread, "includeTurns": true }),
    );
    let turns = read["thread"]["turns"].as_array().unwrap();
    assert_eq!(turns[1]["changes"], size);
    let mut reader = Client::observer(&daemon);
    let diff = |turn: &str| json!({ "threadId": thread, "turnId": turn });
    let found = reader.call("turn/diff/read", &diff("turn_2"));
    assert!(
        found["diff"]
            .as_str()
            .unwrap()
            .ends_with("@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n"),
        "{found}"
    );
    for (turn, code) in [
        ("turn_1", "not_found"),
        ("turn_3", "not_found"),
        ("turn_4294967295", "not_found"),
        ("x", "invalid_params"),
    ] {
        let refused = reader.refused("turn/diff/read", &diff(turn));
        assert_eq!(refused["data"]["code"], code, "{turn}: {refused}");
    }
}

#[test]
fn plans_stay_with_their_turns_and_a_reader_sees_that_a_turn_is_being_stopped() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "plan");
    client.turn(&thread, "say x");
    let running = client.start(&thread, "plan; hang");
    client.until(|message| message.method == "turn/plan/updated" && message.params["turnId"] == running);
    let read = |client: &mut Client| {
        let found = client.call(
            "thread/read",
            &json!({ "threadId": thread, "includeTurns": true }),
        );
        let turns = found["thread"]["turns"].as_array().unwrap().iter();
        let plans: Vec<_> = turns.map(|turn| turn["plan"].as_array().map(Vec::len)).collect();
        (plans, found["thread"]["interrupting"].clone())
    };
    assert_eq!(read(&mut client), (vec![Some(3), None, Some(3)], Value::Null));
    client.call("turn/interrupt", &json!({ "threadId": thread }));
    assert_eq!(read(&mut client), (vec![Some(3), None, Some(3)], json!(true)));
    client.call("turn/interrupt", &json!({ "threadId": thread, "atOnce": true }));
    client.finish(&thread, &running);
    assert_eq!(read(&mut client), (vec![Some(3), None, Some(3)], Value::Null));
}

#[test]
fn a_list_shows_what_a_thread_waits_for_and_the_question_is_answered_from_there() {
    let daemon = Daemon::start();
    let (mut watcher, mut client) = (Client::new(&daemon), Client::new(&daemon));
    watcher.call("thread/list/watch", &json!({}));
    let thread = client.thread(&daemon);
    let asked = |message: &support::Incoming| message.params["thread"]["question"].is_object();
    let long = "x".repeat(5_000);
    let prompts = [
        "permission kind=execute command='rm -rf build'".to_owned(),
        format!("permission kind=execute command='echo {long}'"),
        "elicit".to_owned(),
    ];
    for (number, prompt) in prompts.iter().enumerate() {
        let turn = client.start(&thread, prompt);
        let change = watcher.until(asked).pop().unwrap();
        let question = change.params["thread"]["question"].clone();
        assert_eq!(change.params["thread"]["status"], "waiting");
        let listed = watcher.call("thread/list", &json!({}))["data"][0]["question"].clone();
        assert_eq!(listed, question);
        assert_eq!(
            (&question["more"], question["title"].as_str().unwrap().is_empty()),
            (&json!(0), false)
        );
        let answer = json!({ "requestId": question["requestId"], "approved": true });
        if number == 2 {
            assert_eq!(
                (&question["type"], &question["options"]),
                (&json!("input"), &Value::Null)
            );
            client.call(
                "item/answer",
                &json!({ "requestId": question["requestId"], "dismissed": true }),
            );
        } else {
            assert_eq!(question["type"], "permission");
            // A client shows what it answers: what is too long for a list has to be opened.
            let subjects = question["subjects"].as_array().map(Vec::len);
            assert_eq!(subjects, (number == 0).then_some(1), "{question}");
            assert_eq!(question["options"].is_array(), number == 0);
            if number == 0 {
                assert!(
                    question["subjects"][0].to_string().contains("rm -rf build"),
                    "{question}"
                );
            }
            watcher.call("item/approve", &answer);
            let late = client.refused("item/approve", &answer);
            assert_eq!(late["data"]["code"], "already_resolved", "{late}");
        }
        client.finish(&thread, &turn);
        watcher.until(|message| message.params["thread"]["status"] == "idle");
        let after = watcher.call("thread/list", &json!({}));
        assert!(after["data"][0]["question"].is_null(), "{after}");
    }
}

#[test]
fn a_watcher_of_the_list_sees_all_threads() {
    let daemon = Daemon::start();
    let mut watcher = Client::observer(&daemon);
    let mut idle = Client::observer(&daemon);
    let mut client = Client::new(&daemon);
    assert_eq!(watcher.call("thread/list/watch", &json!({})), json!({}));
    let thread = client.thread(&daemon);
    client.turn(&thread, "say x");
    let turn = client.start(&thread, "permission; error");
    let question = client.question();
    client.respond(&question, &json!({ "decision": "accept" }));
    client.finish(&thread, &turn);
    client.call("thread/name/set", &json!({ "threadId": thread, "name": "Mine" }));
    client.call("thread/archive", &json!({ "threadId": thread }));
    client.call("thread/delete", &json!({ "threadId": thread }));
    let is_deleted = |message: &support::Incoming| message.params["thread"].is_null();
    let changes = watcher.until(is_deleted);
    for change in &changes {
        assert_eq!(change.method, "thread/list/changed");
        assert_eq!(change.text("threadId"), thread);
        assert!(
            change.params["seq"].is_null() && change.params["ts"].is_u64(),
            "{change:?}"
        );
    }
    let (last, changes) = changes.split_last().unwrap();
    assert!(is_deleted(last));
    let mut seen: Vec<_> = changes
        .iter()
        .map(|change| shown(&change.params["thread"]))
        .collect();
    seen.dedup();
    assert_eq!(
        seen,
        [
            ("idle", None),
            ("running", None),
            ("idle", Some("completed")),
            ("running", Some("completed")),
            ("waiting", Some("completed")),
            ("running", Some("completed")),
            ("idle", Some("failed")),
            ("deleting", Some("failed")),
        ]
    );
    let names = changes.iter().map(|change| &change.params["thread"]["name"]);
    assert!(names.clone().any(|name| name == "Mine"));
    assert!(
        changes
            .iter()
            .any(|change| change.params["thread"]["archived"] == true)
    );
    // A client that has not subscribed to the list, or has unsubscribed, receives nothing.
    watcher.call("thread/list/unwatch", &json!({}));
    client.thread(&daemon);
    for quiet in [&mut watcher, &mut idle] {
        assert_eq!(ids(&quiet.call("thread/list", &json!({}))).len(), 1);
        assert!(quiet.take().is_empty());
    }
}

#[test]
fn a_thread_is_read_with_its_turns_page_by_page() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    for k in 1..=5 {
        client.turn(&thread, &format!("say answer {k}"));
    }
    client.turn(&thread, "think n=1; tool; say done");
    let mut reader = Client::observer(&daemon);
    let plain = reader.call("thread/read", &json!({ "threadId": thread }))["thread"].take();
    assert_eq!((&plain["turnCount"], plain.get("turns")), (&json!(6), None));

    let mut turns: Vec<Value> = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let params = json!({ "threadId": thread, "includeTurns": true, "limit": 4, "cursor": cursor });
        let mut read = reader.call("thread/read", &params)["thread"].take();
        let mut page: Vec<Value> = read["turns"].as_array().unwrap().clone();
        assert!(page.len() <= 4);
        page.append(&mut turns);
        turns = page;
        cursor = read["cursor"].take();
        if cursor.is_null() {
            break;
        }
    }
    let ids: Vec<&Value> = turns.iter().map(|turn| &turn["id"]).collect();
    assert_eq!(ids, ["turn_1", "turn_2", "turn_3", "turn_4", "turn_5", "turn_6"]);
    assert_eq!(turns[1]["items"][0]["text"], "say answer 2");
    assert_eq!(turns[1]["items"][1]["text"], "answer 2");
    let kinds: Vec<&Value> = turns[5]["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["type"])
        .collect();
    assert_eq!(
        kinds,
        [
            "userMessage",
            "agentThought",
            "toolCall",
            "fileChange",
            "agentMessage"
        ]
    );
    assert!(
        turns
            .iter()
            .all(|turn| turn["status"] == "completed" && turn["completedAt"].is_u64())
    );
    let timed: Vec<_> = turns[5]["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["startedAt"].as_u64())
        .collect();
    assert!(
        timed[0].is_some() && timed[4] >= timed[0],
        "messages have a time: {timed:?}"
    );
    assert_eq!((timed[2], timed[3]), (None, None), "other items have none");

    client.turn(&thread, "say x");
    // The response follows all events that would have been sent before it.
    reader.call("agent/list", &json!({}));
    assert!(
        reader.seen.is_empty(),
        "reading is not subscribing: {:?}",
        reader.seen
    );
}

#[test]
fn a_client_that_unsubscribes_receives_nothing_and_the_agent_continues() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let mut other = Client::new(&daemon);
    other.resume(&thread, 0);
    let turn = client.start(&thread, "flood n=50000 bytes=200; say done");
    // This client does not read in the meantime, so many events are in flight when it unsubscribes.
    assert_eq!(other.finish(&thread, &turn).said(), "done");
    // After the response, no event of the thread may come. The client would attribute it to a new subscription.
    let left = client.call("thread/unsubscribe", &json!({ "threadId": thread }));
    assert_eq!(left["status"], "unsubscribed");
    client.take();
    let again = client.call("thread/unsubscribe", &json!({ "threadId": thread }));
    assert_eq!(again["status"], "notSubscribed");
    assert_eq!(
        client.take(),
        [],
        "something came after the end of the subscription"
    );
}

#[test]
fn the_current_thread_is_the_last_one_started_or_resumed() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let first = client.thread(&daemon);
    let second = client.thread(&daemon);
    let turn = client.call("turn/start", &json!({ "text": "say here" }));
    assert_eq!(
        client
            .finish(&second, turn["turn"]["id"].as_str().unwrap())
            .said(),
        "here"
    );
    let read = client.call("thread/read", &json!({}));
    assert_eq!(read["thread"]["id"], json!(second));
    client.call("thread/unsubscribe", &json!({ "threadId": first }));
    client.resume(&first, 0);
    client.call("turn/start", &json!({ "text": "permission" }));
    let question = client.question();
    assert_eq!(question.text("threadId"), first);
    client.call("turn/interrupt", &json!({}));
    assert_eq!(client.finish(&first, "turn_1").status(), "interrupted");
}

#[test]
fn threads_do_not_disturb_each_other() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let crashing = client.thread(&daemon);
    let working = client.thread(&daemon);
    let turn = client.start(&working, "permission; say unharmed");
    let question = client.question();
    assert_eq!(client.turn(&crashing, "crash").status(), "failed");
    client.respond(&question, &json!({ "decision": "accept" }));
    let turn = client.finish(&working, &turn);
    assert_eq!(turn.said(), "allowed (allow_once)unharmed");
}

#[test]
fn notifications_that_a_client_opted_out_of_are_omitted() {
    let daemon = Daemon::start();
    let quiet = json!({ "approvals": true, "optOutNotificationMethods": ["item/agentMessage/delta", "item/started"] });
    let mut client = Client::named(&daemon, "quiet", &quiet);
    client.gaps = true;
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "stream n=5; think n=1");
    assert!(turn.of("item/agentMessage/delta").is_empty() && turn.of("item/started").is_empty());
    assert_eq!(turn.of("item/agentThought/delta").len(), 1);
    let whole: Vec<_> = turn.of("item/completed");
    assert!(
        whole
            .iter()
            .any(|item| item.text("text") == " word 1 word 2 word 3 word 4 word 5")
    );
    // Live and from the log, from the start and from any received event: all remaining events, and no others.
    let unwanted = ["item/agentMessage/delta", "item/started"];
    let mut witness = Client::observer(&daemon);
    witness.resume(&thread, 0);
    let all = witness.until(|message| message.method == "turn/completed");
    let wanted: Vec<_> = all
        .iter()
        .filter(|message| !unwanted.contains(&&message.method[..]))
        .map(|message| message.seq())
        .collect();
    assert!(wanted.len() + 2 < all.len());
    let seen: Vec<_> = client.seen.iter().map(|message| message.seq()).collect();
    assert_eq!(seen[..wanted.len()], wanted);
    for (at, seq) in wanted.iter().enumerate() {
        client.call("thread/unsubscribe", &json!({ "threadId": thread }));
        client.take();
        client.resume(&thread, *seq);
        for next in &wanted[at + 1..] {
            assert_eq!(client.next().seq(), *next, "after {seq}");
        }
    }
}

#[test]
fn a_session_from_elsewhere_becomes_a_thread_with_all_that_was_said() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let first = client.thread(&daemon);
    client.turn(&first, "say one");
    client.turn(&first, "tool; say two");
    let session = client.call("thread/read", &json!({ "threadId": first }))["thread"]["sessionId"].take();
    client.call("thread/unsubscribe", &json!({ "threadId": first }));
    let start =
        json!({ "agentType": "fake", "cwd": daemon.place.work(), "sessionId": session, "text": "say three" });
    // Two threads would not know of each other's turns.
    let refused = client.refused("thread/start", &start);
    assert_eq!(refused["data"]["code"], "conflict");
    assert!(refused["message"].as_str().unwrap().contains(&first));
    // A thread that starts over releases its session.
    client.call("thread/rollback", &json!({ "threadId": first, "turnId": null }));
    let started = client.call("thread/start", &start);
    let second = started["thread"]["id"].as_str().unwrap().to_owned();
    assert_eq!(started["thread"]["sessionId"], session);
    assert_eq!(
        started["turn"]["id"], "turn_3",
        "what was said before comes first"
    );
    client.finish(&second, "turn_3");
    let read = |client: &mut Client, thread: &str| {
        let params = json!({ "threadId": thread, "includeTurns": true });
        let turns = client.call("thread/read", &params)["thread"]["turns"].take();
        let turns = turns.as_array().unwrap().clone();
        let texts = |turn: &Value| -> Vec<String> {
            let items = turn["items"].as_array().unwrap();
            items
                .iter()
                .filter_map(|item| Some(item["text"].as_str()?.to_owned()))
                .collect()
        };
        turns
            .iter()
            .map(|turn| (turn["imported"] == true, texts(turn)))
            .collect::<Vec<_>>()
    };
    let words = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let whole = [
        (true, words(&["say one", "one"])),
        (true, words(&["tool; say two", "two"])),
        (false, words(&["say three", "three"])),
    ];
    assert_eq!(read(&mut client, &second), whole);
    // The thread has this session or none. A session that could not be opened belongs to no thread.
    let params = json!({ "agentType": "fake", "cwd": daemon.place.work(), "sessionId": "nowhere" });
    for _ in 0..2 {
        assert_eq!(
            client.refused("thread/start", &params)["data"]["code"],
            "agent_failed"
        );
    }
    // The session belongs to the thread as soon as the thread has it, even during the first turn.
    let third = client.thread(&daemon);
    let turn = client.start(&third, "slow ms=600000");
    let session = client.call("thread/read", &json!({ "threadId": third }))["thread"]["sessionId"].take();
    let start = json!({ "agentType": "fake", "cwd": daemon.place.work(), "sessionId": session });
    assert_eq!(client.refused("thread/start", &start)["data"]["code"], "conflict");
    client.call("turn/interrupt", &json!({ "threadId": third, "turnId": turn }));
}

#[test]
fn an_unused_agent_is_stopped_and_restarted() {
    let daemon = Daemon::with("[limits]\nagent_idle_secs = 1\n");
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say first");
    assert_eq!(daemon.place.agents().len(), 1);
    client.call("thread/unsubscribe", &json!({ "threadId": thread }));
    daemon.place.wait_for_no_agents();
    let resumed = client.call("thread/resume", &json!({ "threadId": thread }));
    assert_eq!(resumed["thread"]["turns"][0]["items"][1]["text"], "first");
    assert_eq!(client.turn(&thread, "say second").said(), "second");
    // The client had no subscription while the agent was stopped. The log has the event.
    let mut late = Client::new(&daemon);
    late.resume(&thread, 0);
    late.until(|message| message.text("text") == "second" || message.params["item"]["text"] == "second");
    let lost = late.seen.iter().filter(|m| m.text("code") == "agentLost");
    let levels: Vec<&str> = lost.map(|notice| notice.text("level")).collect();
    assert_eq!(levels, ["info"]);
}

#[test]
fn subscribers_are_notified_of_other_subscribers() {
    let daemon = Daemon::start();
    let mut first = Client::named(
        &daemon,
        "desk",
        &json!({ "approvals": true, "subscribers": true }),
    );
    let thread = first.thread(&daemon);
    let changed = "thread/subscribers/changed";
    assert_eq!(first.wait_for(changed).params["others"], json!([]), "it is alone");
    let mut second = Client::named(&daemon, "phone", &json!({ "subscribers": true }));
    second.resume(&thread, 0);
    let notified = first.wait_for(changed);
    let others = notified.params["others"].as_array().unwrap();
    assert_eq!(others.len(), 1, "{notified:?}");
    assert_eq!(others[0]["mayAnswer"], false);
    assert!(notified.params.get("seq").is_none());
    let notified = second.wait_for(changed);
    assert_eq!(
        (
            &notified.params["others"][0]["client"],
            &notified.params["others"][0]["mayAnswer"]
        ),
        (&"desk".into(), &true.into())
    );
    second.vanish();
    assert_eq!(first.wait_for(changed).params["others"], json!([]));
}
