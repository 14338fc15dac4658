//! Tool calls and plans: sparse, out of order, late, repeated.

use acpd_model::limits::{
    AGENT_ID_BYTES, ENDED_TOOL_BYTES, OPEN_FILE_CHANGES, OPEN_TOOL_BYTES, OPEN_TOOL_CALLS,
};
use acpd_model::{EventKind, ItemEnd, ItemEvent, ItemId, ItemOutcome, ItemStart};
use acpd_proto::projection::Item;
use acpd_proto::thread::Answer;
use serde_json::{Value, json};

use crate::support::{Scene, check, tool};

/// Returns the finished tool call of `item` from the transcript of the whole thread.
fn read(scene: &Scene, item: ItemId) -> (Value, Value) {
    let transcript = scene.transcript();
    let mut items = transcript.turns.iter().flat_map(|turn| &turn.items);
    match items.find(|found| found.id == item).and_then(Item::content) {
        Some(ItemEnd::ToolCall { status, call }) => (json!(status), call.read().unwrap()),
        other => panic!("{item} is {other:?}"),
    }
}

fn calls(s: &Scene) -> Vec<ItemId> {
    let calls = s.kinds().filter_map(|kind| match kind {
        EventKind::Item(ItemEvent::Started {
            item,
            start: ItemStart::ToolCall { .. },
            ..
        }) => Some(*item),
        _ => None,
    });
    calls.collect()
}

/// Some agents report a call only after its end, even if the user has denied it.
#[test]
fn a_call_reported_after_its_refusal_is_the_same_item() {
    for status in ["failed", "completed", "pending"] {
        check(|s| {
            s.open_turn();
            s.asks_permission("7", "t");
            s.decide(1, Answer::Decline { always: false }).unwrap();
            s.update(&tool(
                "t",
                false,
                &format!(r#","title":"rm x","status":"{status}""#),
            ));
            s.update(&tool("t", true, r#","content":[]"#));
            let asked = calls(s);
            assert_eq!(asked.len(), 1, "{status}");
            let ended = s.kinds().find_map(|kind| match kind {
                EventKind::Item(ItemEvent::Completed { item, outcome, .. }) if *item == asked[0] => {
                    Some(*outcome)
                }
                _ => None,
            });
            assert_eq!(ended, Some(ItemOutcome::Failed), "{status}");
            // A further update starts another call, and so does one in the next turn.
            s.update(&tool("t", false, r#","title":"rm x""#));
            assert_eq!(calls(s).len(), 2, "{status}");
            s.asks_permission("8", "u");
            s.decide(2, Answer::Decline { always: false }).unwrap();
            s.stops_with("end_turn");
            s.prompt("go on");
            s.update(&tool("u", false, r#","title":"rm x""#));
            assert_eq!(calls(s).len(), 4, "{status}");
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn a_late_update_opens_no_second_call() {
    check(|s| {
        s.open_turn();
        s.update(&tool(
            "t",
            false,
            r#","title":"ls","kind":"execute","status":"completed""#,
        ));
        s.update(&tool("t", true, r#","rawOutput":"late","title":"ls -l""#));
        assert_eq!(s.params("item/toolCall/started").len(), 1);
        assert_eq!(s.params("item/toolCall/completed").len(), 1);
        let late = s.params("item/updated").pop().unwrap();
        assert_eq!(
            (&late["itemId"], &late["status"]),
            (&"item_2".into(), &"completed".into())
        );
        s.stops_with("end_turn");
        s.update(&tool("t", true, r#","rawOutput":"later still""#));
        let (status, call) = read(s, ItemId(2));
        assert_eq!(status, "completed");
        assert_eq!(call["title"], "ls -l");
        assert_eq!(
            call["rawOutput"], "later still",
            "what it says is shown all the same"
        );
    });
}

#[test]
fn a_status_never_goes_back() {
    check(|s| {
        s.open_turn();
        s.update(&tool("t", false, r#","title":"x","status":"in_progress""#));
        s.update(&tool("t", true, r#","status":"pending""#));
        s.update(&tool("t", true, r#","status":"completed""#));
        for step in ["in_progress", "pending", "failed", "sideways"] {
            s.update(&tool("t", true, &format!(r#","status":"{step}""#)));
        }
        s.stops_with("end_turn");
        s.update(&tool("t", true, r#","status":"failed""#));
        let statuses: Vec<Value> = s
            .params("item/updated")
            .iter()
            .map(|params| params["status"].clone())
            .collect();
        assert_eq!(statuses[0], "in_progress");
        assert!(
            statuses[1..].iter().all(|status| status == "completed"),
            "{statuses:?}"
        );
        let (status, call) = read(s, ItemId(2));
        assert_eq!(
            (status, &call["status"]),
            (json!("completed"), &json!("completed"))
        );
        let steps = s.log.iter().filter(|event| event.raw.is_some()).count();
        assert_eq!(steps, 8, "each step is recorded as it came");
    });
}

#[test]
fn a_failure_is_final_too() {
    check(|s| {
        s.open_turn();
        s.update(&tool("t", false, r#","title":"x","status":"failed""#));
        s.update(&tool("t", true, r#","status":"completed""#));
        let (status, call) = read(s, ItemId(2));
        assert_eq!((status, &call["status"]), (json!("failed"), &json!("failed")));
        assert_eq!(s.end_of(ItemId(2)).0, ItemOutcome::Failed);
        s.stops_with("end_turn");
    });
}

#[test]
fn an_update_for_an_unknown_id_makes_the_call() {
    check(|s| {
        s.open_turn();
        s.update(&tool("t", true, r#","status":"in_progress""#));
        let started = &s.params("item/toolCall/started")[0];
        assert_eq!(started["toolCallId"], "t");
        assert_eq!(
            (&started["title"], &started["kind"]),
            (&"".into(), &"other".into())
        );
        s.update(&tool(
            "t",
            true,
            r#","title":"named at last","status":"completed""#,
        ));
        assert_eq!(read(s, ItemId(2)).1["title"], "named at last");
        s.stops_with("end_turn");
    });
}

#[test]
fn an_id_that_is_used_again_is_another_call() {
    check(|s| {
        s.open_turn();
        s.update(&tool("t", false, r#","title":"first","status":"completed""#));
        s.update(&tool("t", false, r#","title":"second","status":"pending""#));
        s.update(&tool("t", true, r#","status":"completed""#));
        let titles: Vec<Value> = s
            .params("item/toolCall/completed")
            .iter()
            .map(|params| params["toolCall"]["title"].clone())
            .collect();
        assert_eq!(titles, ["first", "second"]);
        s.update(&tool("t", false, r#","title":"third","status":"pending""#));
        s.update(&tool(
            "t",
            false,
            r#","title":"third, said twice","status":"in_progress""#,
        ));
        assert_eq!(
            s.params("item/toolCall/started").len(),
            3,
            "while it is open it is the same call"
        );
        s.stops_with("end_turn");
        assert_eq!(read(s, ItemId(4)).1["title"], "third, said twice");
    });
}

#[test]
fn null_and_absent_mean_unchanged() {
    check(|s| {
        s.open_turn();
        let locations = r#","locations":[{"path":"/a","line":3}]"#;
        s.update(&tool(
            "t",
            false,
            &format!(r#","title":"edit","kind":"edit"{locations}"#),
        ));
        s.update(&tool(
            "t",
            true,
            r#","title":null,"kind":null,"locations":null,"content":null,"status":null"#,
        ));
        s.update(&tool("t", true, r#","status":"completed""#));
        let (_, call) = read(s, ItemId(2));
        assert_eq!(
            call,
            json!({ "toolCallId": "t", "title": "edit", "kind": "edit", "status": "completed",
                "locations": [{ "path": "/a", "line": 3 }] })
        );
        s.stops_with("end_turn");
    });
}

#[test]
fn content_is_replaced_not_added() {
    check(|s| {
        s.open_turn();
        let text = |text: &str| {
            format!(r#","content":[{{"type":"content","content":{{"type":"text","text":"{text}"}}}}]"#)
        };
        s.update(&tool("t", false, &text("one")));
        s.update(&tool("t", true, &text("two")));
        s.update(&tool("t", true, r#","content":[],"status":"completed""#));
        assert_eq!(read(s, ItemId(2)).1["content"], json!([]));
        s.stops_with("end_turn");
    });
}

#[test]
fn parallel_calls_do_not_mix() {
    check(|s| {
        s.open_turn();
        s.update(&tool("a", false, r#","title":"A""#));
        s.update(&tool("b", false, r#","title":"B""#));
        s.update(&tool("b", true, r#","status":"failed""#));
        s.update(&tool("a", true, r#","status":"completed""#));
        assert_eq!(s.end_of(ItemId(2)).0, ItemOutcome::Completed);
        assert_eq!(s.end_of(ItemId(3)).0, ItemOutcome::Failed);
        s.stops_with("end_turn");
    });
}

#[test]
fn unfinished_items_end_with_their_turn() {
    for (reason, outcome) in [
        ("end_turn", ItemOutcome::Completed),
        ("cancelled", ItemOutcome::Interrupted),
    ] {
        check(|s| {
            s.open_turn();
            s.update(&tool("t", false, r#","title":"x","status":"in_progress""#));
            s.stops_with(reason);
            assert_eq!(s.end_of(ItemId(2)).0, outcome);
        });
    }
}

#[test]
fn an_update_of_a_call_that_its_turn_ended_is_late() {
    check(|s| {
        s.open_turn();
        s.update(&tool("t", false, r#","title":"sleep","status":"in_progress""#));
        s.stops_with("cancelled");
        s.update(&tool("t", true, r#","status":"completed","rawOutput":"slept""#));
        assert_eq!(s.params("item/toolCall/started").len(), 1);
        assert_eq!(read(s, ItemId(2)).1["rawOutput"], "slept");
    });
}

fn diff(path: &str, old: &str, new: &str) -> String {
    format!(r#"{{"type":"diff","path":"{path}","oldText":{old},"newText":"{new}"}}"#)
}

#[test]
fn each_file_of_a_call_is_a_change_of_its_own() {
    check(|s| {
        s.open_turn();
        let two = [diff("/w/a", "null", "1\\n"), diff("/w/b", r#""x""#, "y")].join(",");
        s.update(&tool("t", false, &format!(r#","kind":"edit","content":[{two}]"#)));
        let started = s.params("item/fileChange/started");
        assert_eq!(
            (&started[0]["path"], &started[1]["path"]),
            (&"/w/a".into(), &"/w/b".into())
        );
        assert_eq!(started[0]["parentItemId"], "item_2");
        s.update(&tool("t", true, r#","status":"completed""#));
        let done = s.params("item/fileChange/completed");
        assert_eq!(done[0]["diff"], "--- /dev/null\n+++ b/w/a\n@@ -0,0 +1 @@\n+1\n");
        s.stops_with("end_turn");
        let whole = s.params("turn/diff/updated").pop().unwrap();
        assert_eq!(
            whole["diff"],
            concat!(
                "--- /dev/null\n+++ b/w/a\n@@ -0,0 +1 @@\n+1\n",
                "--- a/w/b\n+++ b/w/b\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n"
            )
        );
    });
}

#[test]
fn the_turns_diff_is_from_its_beginning_to_now() {
    check(|s| {
        s.open_turn();
        for (id, old, new) in [("t1", r#""1\n""#, "2\\n"), ("t2", r#""2\n""#, "3\\n")] {
            s.update(&tool(
                id,
                false,
                &format!(r#","status":"completed","content":[{}]"#, diff("/w/a", old, new)),
            ));
        }
        s.stops_with("end_turn");
        let last = s.params("turn/diff/updated").pop().unwrap();
        assert_eq!(last["diff"], "--- a/w/a\n+++ b/w/a\n@@ -1 +1 @@\n-1\n+3\n");
        s.prompt("more");
        s.update(&tool(
            "t3",
            false,
            &format!(
                r#","status":"completed","content":[{}]"#,
                diff("/w/b", "null", "b\\n")
            ),
        ));
        s.stops_with("end_turn");
        let last = s.params("turn/diff/updated").pop().unwrap();
        assert!(
            !last["diff"].as_str().unwrap().contains("/w/a"),
            "a turn has its own diff"
        );
    });
}

/// Observed with opencode: the request contains the diff, and the final update replaces it by "Wrote file successfully."
#[test]
fn a_diff_that_is_shown_no_more_is_still_what_changed() {
    check(|s| {
        s.open_turn();
        let two = [diff("/w/a", "null", "draft"), diff("/w/b", "null", "b\\n")].join(",");
        s.update(&tool("t", false, &format!(r#","kind":"edit","content":[{two}]"#)));
        s.update(&tool(
            "t",
            true,
            &format!(r#","content":[{}]"#, diff("/w/a", "null", "a\\n")),
        ));
        let done = r#","status":"completed","content":[{"type":"content","content":{"type":"text","text":"Done."}}]"#;
        s.update(&tool("t", true, done));
        let diffs: Vec<Value> = s
            .params("item/fileChange/completed")
            .iter()
            .map(|p| p["diff"].clone())
            .collect();
        assert_eq!(
            diffs,
            [
                "--- /dev/null\n+++ b/w/a\n@@ -0,0 +1 @@\n+a\n",
                "--- /dev/null\n+++ b/w/b\n@@ -0,0 +1 @@\n+b\n",
            ]
        );
        s.stops_with("end_turn");
        assert_eq!(s.params("turn/diff/updated").len(), 1);
    });
}

#[test]
fn a_call_that_failed_changed_no_file() {
    check(|s| {
        s.open_turn();
        s.update(&tool(
            "t",
            false,
            &format!(r#","content":[{}]"#, diff("/w/a", "null", "1")),
        ));
        s.update(&tool("t", true, r#","status":"failed""#));
        assert_eq!(s.params("item/fileChange/completed")[0]["outcome"], "failed");
        s.stops_with("end_turn");
        assert!(s.params("turn/diff/updated").is_empty());
    });
}

#[test]
fn a_plan_replaces_the_one_before_also_when_it_is_empty() {
    check(|s| {
        s.open_turn();
        let entry = r#"{"content":"look","priority":"high","status":"pending"}"#;
        s.update(&format!(r#"{{"sessionUpdate":"plan","entries":[{entry}]}}"#));
        s.update(r#"{"sessionUpdate":"plan","entries":[]}"#);
        let plans = s.params("turn/plan/updated");
        assert_eq!(
            plans[0]["entries"],
            json!([{ "content": "look", "priority": "high", "status": "pending" }])
        );
        assert_eq!(plans[1]["entries"], json!([]));
        s.stops_with("end_turn");
    });
}

/// Returns the number of notices that contain these words.
fn notices_with(scene: &Scene, words: &str) -> usize {
    let notices = scene.params("thread/notice");
    let fits = |notice: &&Value| notice["message"].as_str().unwrap().contains(words);
    notices.iter().filter(fits).count()
}

/// Opens `count` more tool calls, with numbers from `first`.
fn open_calls(scene: &mut Scene, first: usize, count: usize) {
    for number in first..first + count {
        scene.update(&tool(&format!("t{number}"), false, r#","status":"in_progress""#));
    }
}

#[test]
fn the_oldest_excess_open_tool_call_is_ended() {
    check(|s| {
        s.open_turn();
        // The first call has an open permission request.
        s.asks_permission("7", "asked");
        open_calls(s, 0, OPEN_TOOL_CALLS - 1);
        assert_eq!(s.params("item/toolCall/completed").len(), 0);
        open_calls(s, OPEN_TOOL_CALLS, 2);
        let ended = s.params("item/toolCall/completed");
        let items: Vec<&str> = ended.iter().map(|end| end["itemId"].as_str().unwrap()).collect();
        assert_eq!(items, ["item_3", "item_4"]);
        assert_eq!(s.end_of(ItemId(3)).0, ItemOutcome::Failed);
        assert_eq!(notices_with(s, "left more tool calls open"), 1);
        // Later updates of such a call are recorded, and do not open it again.
        s.update(&tool("t0", true, r#","status":"completed","rawOutput":"late""#));
        assert_eq!(s.params("item/updated").pop().unwrap()["itemId"], "item_3");
        assert_eq!(s.params("item/toolCall/started").len(), OPEN_TOOL_CALLS + 2);
        // Other calls continue as usual.
        s.update(&tool("t2", true, r#","status":"completed""#));
        assert_eq!(s.params("item/toolCall/completed").len(), 3);
        s.stops_with("end_turn");
        assert_eq!(s.params("item/toolCall/completed").len(), OPEN_TOOL_CALLS + 2);
    });
}

#[test]
fn the_bytes_of_open_tool_calls_are_bounded() {
    check(|s| {
        s.open_turn();
        s.asks_permission("7", "asked");
        open_calls(s, 0, 2);
        // Each part of an update is kept, so one call can become as large as many.
        let says = |s: &mut Scene, call: &str, part: usize| {
            let text = "x".repeat(OPEN_TOOL_BYTES / 6);
            s.update(&tool(call, true, &format!(r#","part{part}":"{text}""#)));
            let held = s.thread.live().items.tool_bytes();
            assert!(held <= OPEN_TOOL_BYTES, "{held}");
        };
        for part in 0..3 {
            says(s, "t0", part);
            says(s, "t1", part);
        }
        let ended = s.params("item/toolCall/completed");
        assert_eq!(ended.len(), 1, "the oldest that nobody is asked about");
        assert_eq!(ended[0]["itemId"], "item_3");
        assert_eq!(notices_with(s, "said more of its open tool calls"), 1);
        assert_eq!(s.thread.live().requests.len(), 1);
        // If the call has an open permission request, the request ends as well.
        for part in 0..6 {
            says(s, "asked", part);
        }
        assert_eq!(s.params("item/toolCall/completed").len(), 3);
        assert!(s.thread.live().requests.is_empty());
        assert_eq!(
            s.answer_to(&json!(7))["result"]["outcome"]["outcome"],
            "cancelled"
        );
        s.stops_with("end_turn");
    });
}

#[test]
fn the_oldest_excess_ended_tool_call_is_forgotten() {
    check(|s| {
        s.open_turn();
        let count = ENDED_TOOL_BYTES / AGENT_ID_BYTES + 1;
        let calls: Vec<String> = (0..count)
            .map(|number| format!("{number:04}{}", "x".repeat(AGENT_ID_BYTES - 4)))
            .collect();
        for call in &calls {
            s.update(&tool(call, false, r#","status":"completed""#));
        }
        let held = s.thread.live().tools.ended_bytes();
        assert!(held <= ENDED_TOOL_BYTES, "{held}");
        // An update of a known call is recorded; an update of an unknown one starts a call.
        let started = |s: &Scene| s.params("item/toolCall/started").len();
        s.update(&tool(&calls[count - 1], true, r#","rawOutput":1"#));
        assert_eq!(started(s), count);
        s.update(&tool(&calls[0], true, r#","rawOutput":1"#));
        assert_eq!(started(s), count + 1);
        s.stops_with("end_turn");
    });
}

#[test]
fn excess_files_are_reported_by_the_tool_call() {
    check(|s| {
        s.open_turn();
        for (id, files) in [("a", OPEN_FILE_CHANGES - 1), ("b", 3)] {
            let shown: Vec<String> = (0..files)
                .map(|n| diff(&format!("/w/{id}{n}"), "null", ""))
                .collect();
            s.update(&tool(id, false, &format!(r#","content":[{}]"#, shown.join(","))));
        }
        assert_eq!(s.params("item/fileChange/started").len(), OPEN_FILE_CHANGES);
        assert_eq!(notices_with(s, "shows more files than"), 1);
        s.update(&tool("a", true, r#","status":"completed""#));
        assert_eq!(s.params("item/fileChange/completed").len(), OPEN_FILE_CHANGES - 1);
        s.stops_with("end_turn");
        let (_, call) = read(s, ItemId(u32::try_from(OPEN_FILE_CHANGES).unwrap() + 2));
        assert_eq!(call["content"].as_array().unwrap().len(), 3);
    });
}
