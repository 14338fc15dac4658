//! Tool calls, which agents send in pieces.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::RawJson;
use acpd_proto::projection::ToolView;
use acpd_proto::wire::members;

use crate::Target;

/// Updates of one tool call, one per line. Invariants: the merged call is JSON and a call that merges to itself, an update that
/// comes twice changes nothing, and updates of different members give the same call in any order, whole or in pieces.
pub const TOOL_CALLS: Target = Target {
    name: "tool_calls",
    run: tool_calls,
    words: &[
        "\n",
        "{\"toolCallId\":\"t\"}",
        "\"status\":\"completed\"",
        "\"status\":\"in_progress\"",
        "\"status\":null",
        "\"title\":\"x\"",
        "\"kind\":\"edit\"",
        "\"content\":[{\"type\":\"diff\",\"path\":\"/w/a\",\"newText\":\"\"}]",
        "\"content\":[]",
        "\"rawInput\":{\"command\":[\"ls\"]}",
        "\"stat\\u0075s\":",
        "\"sessionUpdate\":\"tool_call\"",
        ",",
        "1e999",
        "\\ud800",
        "null",
    ],
};

fn tool_calls(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let updates: Vec<RawJson> = text
        .lines()
        .take(32)
        .filter_map(|line| RawJson::parse(line).ok())
        .collect();
    let mut merged = ToolView::default();
    for update in &updates {
        merged.apply(update);
        reads(&merged);
        let mut again = ToolView::default();
        again.apply(&merged.to_json());
        assert_eq!(
            again.to_json(),
            merged.to_json(),
            "a merged call merges to itself"
        );
        if keys(update).len() == pieces(update).len() {
            let mut twice = merged.clone();
            twice.apply(update);
            assert_eq!(twice.to_json(), merged.to_json(), "it comes twice");
            assert_eq!(twice.diffs(), merged.diffs(), "it comes twice");
        }
    }
    // A later value replaces an earlier one, so only different members have no order.
    let all: Vec<(String, String)> = updates.iter().flat_map(pieces).collect();
    let names: BTreeSet<String> = all.iter().map(|(key, _)| name(key)).collect();
    if names.len() == all.len() {
        let mut pieced = ToolView::default();
        for (key, value) in all.iter().rev() {
            let piece = format!("{{\"{key}\":{value}}}");
            pieced.apply(&RawJson::parse(piece).expect("a member is a value"));
        }
        let sorted = |view: &ToolView| {
            let pieces = pieces(&view.to_json()).into_iter();
            pieces
                .map(|(key, value)| (name(&key), value))
                .collect::<BTreeMap<_, _>>()
        };
        assert_eq!(sorted(&pieced), sorted(&merged), "in another order");
        assert_eq!(pieced.status(), merged.status());
        assert_eq!(pieced.diffs(), merged.diffs());
    }
}

/// Returns the members of an object with their keys, as they are written.
fn pieces(update: &RawJson) -> Vec<(String, String)> {
    let mut found = Vec::new();
    members(update, |key, value| {
        found.push((key.to_owned(), value.to_owned()))
    });
    found
}

fn keys(update: &RawJson) -> BTreeSet<String> {
    pieces(update).into_iter().map(|(key, _)| name(&key)).collect()
}

/// Returns the name that a key, as it is written, stands for.
fn name(key: &str) -> String {
    serde_json::from_str(&format!("\"{key}\"")).unwrap_or_else(|_| key.to_owned())
}

/// Reads everything that is shown of a call, which must not panic.
fn reads(view: &ToolView) {
    for text in [view.title(), view.shown_title(), view.kind(), view.output_text()] {
        drop(text);
    }
}
