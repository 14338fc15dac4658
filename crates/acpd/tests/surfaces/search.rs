//! Search in messages and actions.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, acpd};

/// Returns the kind and snippet of each hit, with the matches in brackets.
fn shown(page: &Value) -> Vec<(String, String)> {
    let hits = page["data"].as_array().expect("a page has data").iter();
    let show = |hit: &Value| {
        let pieces = hit["snippet"].as_array().expect("a hit has a snippet").iter();
        let pieces = pieces.map(|piece| {
            let text = piece["text"].as_str().expect("a piece has text");
            if piece["hit"] == true {
                format!("[{text}]")
            } else {
                text.to_owned()
            }
        });
        (
            hit["kind"].as_str().expect("a hit has a kind").to_owned(),
            pieces.collect(),
        )
    };
    hits.map(show).collect()
}

fn pair(kind: &str, text: &str) -> (String, String) {
    (kind.to_owned(), text.to_owned())
}

#[test]
fn rolled_back_turns_are_not_found() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say zebra one");
    client.turn(&thread, "say zebra two");
    client.call(
        "thread/rollback",
        &json!({ "threadId": thread, "turnId": "turn_1" }),
    );
    client.turn(&thread, "say zebra three");
    let found = client.call("thread/search", &json!({ "query": "zebra" }));
    let turns: Vec<_> = found["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| &hit["turnId"])
        .collect();
    assert_eq!(turns, ["turn_3", "turn_3", "turn_1", "turn_1"]);
}

#[test]
fn words_paths_and_commands_are_found() {
    let mut daemon = Daemon::with("[policy]\ndefault = \"allow\"\n");
    let mut client = Client::new(&daemon);
    let one = client.thread(&daemon);
    client.turn(
        &one,
        "think n=1 text=gherkin; say 'A pickled gherkin, 修复登录错误.'",
    );
    let other = client.thread(&daemon);
    client.turn(&other, "tool title='Edit the gherkin' path=/w/src/auth.ts");
    client.turn(&other, "terminal echo snake_case_word");

    // Newest first; the search excludes thoughts.
    let all = client.call("thread/search", &json!({ "query": "gherkin" }));
    let kinds: Vec<_> = shown(&all).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["toolCall", "userMessage", "agentMessage", "userMessage"]);
    assert_eq!(shown(&all)[0].1, "Edit the [gherkin]");
    assert_eq!(shown(&all)[2].1, "A pickled [gherkin], 修复登录错误.");
    assert_eq!(all["nextCursor"], Value::Null);
    let hit = &all["data"][2];
    assert_eq!(
        (&hit["threadId"], &hit["turnId"]),
        (&json!(one), &json!("turn_1"))
    );
    let seq = hit["seq"].as_u64().expect("a hit has its event");
    let events = Client::new(&daemon);
    let replayed = replay(events, &one, seq);
    assert_eq!(
        (&replayed["itemId"], &replayed["ts"]),
        (&hit["itemId"], &hit["ts"])
    );

    for (query, expected) in [
        ("登录", pair("agentMessage", "A pickled gherkin, 修复[登录]错误.")),
        ("src/auth.ts", pair("path", "/w/[src/auth.ts]")),
        ("echo snake_case", pair("command", "[echo] [snake_case]_word")),
    ] {
        let page = client.call("thread/search", &json!({ "query": query, "limit": 100 }));
        let mut found = shown(&page);
        found.retain(|(kind, _)| *kind == expected.0);
        assert_eq!(found, [expected], "{query}");
    }
    for query in ["", "\"", "((", "nothing-like-it", "gherkin AND"] {
        let none = client.call("thread/search", &json!({ "query": query }));
        assert_eq!(none, json!({ "data": [], "nextCursor": null }), "{query}");
    }

    // A search without a thread ignores the connection's current thread.
    let of_one = client.call("thread/search", &json!({ "query": "gherkin", "threadId": one }));
    assert_eq!(shown(&of_one), shown(&all)[2..]);
    let mut paged = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = client.call(
            "thread/search",
            &json!({ "query": "gherkin", "limit": 3, "cursor": cursor }),
        );
        paged.extend(page["data"].as_array().unwrap().clone());
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(json!(paged), all["data"]);

    for params in [
        json!({}),
        json!({ "query": "a", "cursor": "nonsense" }),
        json!({ "query": "a", "threadId": "nonsense" }),
        json!({ "query": "a".repeat(2000) }),
    ] {
        assert_eq!(
            client.refused("thread/search", &params)["code"],
            -32602,
            "{params}"
        );
    }
    daemon.kill();
    daemon.restart();
    let again = Client::observer(&daemon).call("thread/search", &json!({ "query": "gherkin" }));
    assert_eq!(again["data"], all["data"]);
}

/// Returns the replayed event with this number.
fn replay(mut client: Client, thread: &str, seq: u64) -> Value {
    client.resume(thread, seq - 1);
    let messages = client.until(|message| message.params["seq"] == seq);
    messages.last().expect("it is replayed").params.clone()
}

#[test]
fn the_command_line_searches() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let params = json!({ "agentType": "fake", "cwd": daemon.place.work(), "name": "Larder", "text": "say 'A jar of\u{1b}[31m quince'" });
    let started = client.call("thread/start", &params);
    let thread = started["thread"]["id"].as_str().expect("it has an id").to_owned();
    client.finish(&thread, "turn_1");
    let found = acpd(&daemon.place, &["search", "jar", "quince"]);
    assert_eq!(found.code, Some(0), "{}", found.stderr);
    let lines: Vec<_> = found.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{}", found.stdout);
    assert!(lines[0].starts_with(&thread[28..]), "{}", found.stdout);
    assert!(
        lines[0].contains("agentMessage") && lines[0].ends_with("Larder"),
        "{}",
        found.stdout
    );
    assert!(!found.stdout.contains('\u{1b}'), "{:?}", found.stdout);
    let found = acpd(
        &daemon.place,
        &["search", "--json", "--limit", "1", "--thread", &thread, "quin"],
    );
    let hit: Value = serde_json::from_str(&found.stdout).expect("one line of JSON");
    assert_eq!(
        (&hit["threadId"], &hit["name"]),
        (&json!(thread), &json!("Larder"))
    );
    let nothing = acpd(&daemon.place, &["search", "mustard"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(5), ""));
}
