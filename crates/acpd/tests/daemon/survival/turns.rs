//! Kills in a turn: what was under way is continued, and done once.

use serde_json::json;

use super::{Survivor, place_with, words};

#[test]
fn a_streaming_turn_continues_and_each_word_is_said_once() {
    let mut one = Survivor::new();
    let turn = one.start("stream n=300 ms=4");
    one.read_deltas(20);
    let processes = one.processes();
    one.kill();
    assert_eq!(one.processes(), processes, "the same agent works on");
    let end = one.finish(&turn);
    assert_eq!(end.status(), "completed", "{:?}", end.end);
    assert_eq!(end.said(), words(300));
    one.next_turn();
    assert_eq!(one.processes(), processes);
}

#[test]
fn a_question_stays_open_under_its_id_and_its_answer_arrives() {
    let mut one = Survivor::new();
    let turn = one.start("permission; say , and on");
    let question = one.client.question();
    one.kill();
    let again = one.client.question();
    assert_eq!((&again.id, &again.params), (&question.id, &question.params));
    one.kill();
    let again = one.client.question();
    assert_eq!(again.id, question.id);
    one.client.respond(&again, &json!({ "decision": "accept" }));
    let end = one.finish(&turn);
    assert_eq!(
        (end.status(), &*end.said()),
        ("completed", "allowed (allow_once), and on")
    );
    let resolved = end.one("serverRequest/resolved");
    assert_eq!(resolved.params["requestId"], question.params["requestId"]);
    let late = json!({ "requestId": question.params["requestId"], "approved": true });
    let late = one.client.refused("item/approve", &late);
    assert_eq!(late["data"]["code"], "already_resolved", "{late}");
    one.next_turn();
}

#[test]
fn a_question_may_be_answered_by_a_client_that_never_saw_it() {
    let mut one = Survivor::new();
    let turn = one.start("permission");
    let question = one.client.question();
    one.kill();
    let answer = json!({ "requestId": question.params["requestId"], "approved": false });
    one.client.call("item/approve", &answer);
    let end = one.finish(&turn);
    assert_eq!(
        (end.status(), &*end.said()),
        ("completed", "rejected (reject_once)")
    );
}

#[test]
fn each_file_that_is_written_over_a_kill_is_whole_and_each_call_is_answered_once() {
    const FILES: usize = 150;
    let text = "lorem ipsum ".repeat(40);
    let mut one = Survivor::new();
    let steps: Vec<_> = (0..FILES)
        .map(|number| format!("write path={number}.txt text='{text}'; say |"))
        .collect();
    let turn = one.start(&steps.join("; "));
    for _ in 0..4 {
        for _ in 0..10 {
            one.client.wait_for("item/fileChange/completed");
        }
        one.kill();
    }
    let end = one.finish(&turn);
    assert_eq!(end.status(), "completed", "{:?}", end.end);
    let said = end.said();
    let answers: Vec<_> = said.trim_end_matches('|').split('|').collect();
    assert_eq!(answers.len(), FILES, "{said}");
    for (number, answer) in answers.into_iter().enumerate() {
        let file = std::fs::read_to_string(one.daemon.place.work().join(format!("{number}.txt")));
        if answer == format!("wrote {} bytes", text.len()) {
            assert!(file.is_ok_and(|file| file == text), "{number}");
        } else {
            // Killed after the call was in the log, and before the file was there.
            assert!(answer.contains("it is not known whether"), "{answer}");
            assert!(file.is_err() || file.is_ok_and(|file| file == text), "{number}");
        }
    }
}

#[test]
fn a_prompt_of_five_megabytes_reaches_the_agent_once_and_whole() {
    let place = place_with("end", "[limits]\nclient_message_bytes = 8000000");
    let mut one = Survivor::at(place);
    let text: String = (0..500_000).map(|number| format!("{number:09} ")).collect();
    let text = text.trim_end();
    for kills in 0..3 {
        let turn = one.start(&format!("say {text}"));
        for _ in 0..=kills {
            one.kill();
        }
        let end = one.finish(&turn);
        assert_eq!(end.status(), "completed", "{:?}", end.end);
        assert!(
            end.said() == text,
            "the answer is another text, of {} bytes",
            end.said().len()
        );
    }
    one.next_turn();
}

#[test]
fn a_turn_that_waits_behind_another_one_starts_after_it() {
    let mut one = Survivor::new();
    let first = one.start("stream n=200 ms=4");
    let second = one.start("say second");
    one.read_deltas(10);
    one.kill();
    let end = one.finish(&first);
    assert_eq!((end.status(), end.said()), ("completed", words(200)));
    let end = one.finish(&second);
    assert_eq!((end.status(), &*end.said()), ("completed", "second"));
}

#[test]
fn a_turn_can_be_interrupted_by_the_next_daemon() {
    let mut one = Survivor::new();
    let turn = one.start("say begun; slow ms=600000");
    one.client.wait_for("item/toolCall/started");
    one.kill();
    let interrupt = json!({ "threadId": one.thread, "turnId": turn });
    one.client.call("turn/interrupt", &interrupt);
    let end = one.finish(&turn);
    assert_eq!(end.status(), "interrupted", "{:?}", end.end);
    one.next_turn();
}
