//! Prompts that the agent suggests: shown live until the next prompt, and in no log.

use acpd_model::EventKind;
use serde_json::{Value, json};

use crate::support::{Scene, check};

/// The agent suggests these texts.
fn suggests(s: &mut Scene, texts: &[&str]) {
    let suggestions: Vec<Value> = texts
        .iter()
        .map(|text| json!({ "prompt": [{ "type": "text", "text": text }] }))
        .collect();
    s.update(
        &json!({ "sessionUpdate": "prompt_suggestions_update", "suggestions": suggestions }).to_string(),
    );
}

/// Returns the texts of each list of suggestions that clients were shown.
fn shown(s: &Scene) -> Vec<Vec<String>> {
    let lists = s.shown.iter().map(|frame| {
        let message: Value = serde_json::from_slice(&frame.text).unwrap();
        assert_eq!((frame.seq, frame.method), (0, "thread/suggestions/updated"));
        let params = &message["params"];
        assert!(params.get("seq").is_none(), "{params}");
        let suggestions = params["suggestions"].as_array().unwrap().iter();
        suggestions
            .map(|suggestion| suggestion["prompt"][0]["text"].as_str().unwrap().to_owned())
            .collect()
    });
    lists.collect()
}

#[test]
fn suggestions_are_shown_until_the_next_prompt_and_not_stored() {
    check(|s| {
        s.open_turn();
        s.chunk("done");
        s.stops_with("end_turn");
        let events = s.log.len();
        suggests(s, &["Run the tests", "Commit"]);
        suggests(s, &["Run the tests", "Commit"]);
        assert_eq!(s.log.len(), events, "they are in no log");
        assert_eq!(shown(s), [vec!["Run the tests", "Commit"]], "once");
        s.prompt("do something else");
        assert_eq!(shown(s).last().unwrap(), &[""; 0], "they were about this prompt");
        suggests(s, &["Stop"]);
        suggests(s, &[]);
        assert_eq!(shown(s)[2..], [vec!["Stop".to_owned()], vec![]]);
        s.stops_with("end_turn");
        s.prompt("and more");
        assert_eq!(shown(s).len(), 4, "there is nothing to withdraw");
    });
}

#[test]
fn the_end_of_the_process_withdraws_suggestions() {
    check(|s| {
        s.open_turn();
        s.stops_with("end_turn");
        suggests(s, &["Run the tests"]);
        s.exits("it crashed");
        assert_eq!(shown(s), [vec!["Run the tests".to_owned()], vec![]]);
    });
}

#[test]
fn suggestions_do_not_end_a_message() {
    check(|s| {
        s.open_turn();
        s.chunk("one ");
        suggests(s, &["Run the tests"]);
        s.chunk("message");
        s.stops_with("end_turn");
        let started = s
            .kinds()
            .filter(|kind| matches!(kind, EventKind::Item(acpd_model::ItemEvent::Started { .. })));
        assert_eq!(started.count(), 2, "the prompt and one message");
    });
}

#[test]
fn a_list_of_another_shape_is_kept_as_it_is() {
    check(|s| {
        s.open_turn();
        s.stops_with("end_turn");
        let events = s.log.len();
        s.update(r#"{"sessionUpdate":"prompt_suggestions_update","suggestions":"Run"}"#);
        s.update(r#"{"sessionUpdate":"prompt_suggestions_update"}"#);
        assert_eq!(s.log.len(), events + 2);
        assert!(s.shown.is_empty());
    });
}
