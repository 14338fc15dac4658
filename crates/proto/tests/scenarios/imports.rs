//! The history that an agent replays when it resumes a session. Content that the log has is not stored again, however it is
//! replayed. Content from outside of acpd is imported.

use acpd_model::event::{Binding, TurnStatus};
use acpd_model::{ErrorCode, EventKind, Failure, ItemEvent, RawJson, SessionEvent, TurnId};
use acpd_proto::projection::Spec;
use serde_json::{Value, json};

use crate::support::{FULL, Scene, check, message, thought, tool, wake};

const LOADS: &str = r#"{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}"#;

fn user(text: &str) -> String {
    json!({ "sessionUpdate": "user_message_chunk", "content": { "type": "text", "text": text } }).to_string()
}

/// The user's text, the agent's response, and a tool that the agent called.
type Said = (&'static str, &'static str, Option<&'static str>);

const ONE: Said = (
    "Please look at the parser",
    "It has a fault in line 7.",
    Some("call-1"),
);
const TWO: Said = ("continue", "ok", None);
const THREE: Said = ("continue", "It is mended, and the tests pass.", Some("call-2"));
const NEW: Said = ("And now the docs", "They are written.", Some("call-3"));

/// Creates a thread with these turns, whose agent has exited.
fn spoken(s: &mut Scene, said: &[Said]) {
    s.create();
    s.answer("initialize", LOADS);
    s.answer("session/new", r#"{"sessionId":"s-1"}"#);
    for (prompt, answer, called) in said {
        s.prompt(prompt);
        s.update(&thought("I wonder"));
        if let Some(id) = called {
            s.update(&tool(id, false, r#","title":"look","status":"completed""#));
        }
        s.chunk(answer);
        s.stops_with("end_turn");
    }
    s.exits("exit status 0");
}

/// The form in which an agent replays a history.
#[derive(Debug, Clone, Copy, Default)]
struct Way {
    /// The number of letters of a chunk; 0 for one chunk.
    pieces: usize,
    /// Whether the agent has lost the ids of its tool calls.
    other_ids: bool,
    thoughts: bool,
    /// Whether the agent changes whitespace.
    spaces: bool,
    /// The number of rounds that the agent has replaced by a summary.
    compacted: usize,
}

const WAYS: [Way; 7] = [
    Way {
        pieces: 0,
        other_ids: false,
        thoughts: true,
        spaces: false,
        compacted: 0,
    },
    Way {
        pieces: 1,
        other_ids: false,
        thoughts: false,
        spaces: false,
        compacted: 0,
    },
    Way {
        pieces: 3,
        other_ids: true,
        thoughts: true,
        spaces: false,
        compacted: 0,
    },
    Way {
        pieces: 5,
        other_ids: false,
        thoughts: false,
        spaces: true,
        compacted: 0,
    },
    Way {
        pieces: 0,
        other_ids: true,
        thoughts: false,
        spaces: true,
        compacted: 0,
    },
    Way {
        pieces: 4,
        other_ids: false,
        thoughts: false,
        spaces: false,
        compacted: 1,
    },
    Way {
        pieces: 0,
        other_ids: true,
        thoughts: true,
        spaces: true,
        compacted: 2,
    },
];

/// Returns the updates with which an agent replays the history.
fn history_lines(said: &[Said], way: Way) -> Vec<String> {
    let pieces = |text: &str| -> Vec<String> {
        let text = if way.spaces {
            text.replace(' ', "\n\n  ") + "\n"
        } else {
            text.to_owned()
        };
        let letters: Vec<char> = text.chars().collect();
        let most = if way.pieces == 0 {
            letters.len()
        } else {
            way.pieces
        };
        letters.chunks(most).map(|piece| piece.iter().collect()).collect()
    };
    let mut updates = Vec::new();
    if way.compacted > 0 {
        updates.push(user(
            "This session is continued from one that ran out of room. In short: a parser was mended.",
        ));
        updates.push(message("Understood."));
    }
    for (prompt, answer, called) in said.iter().skip(way.compacted) {
        updates.extend(pieces(prompt).iter().map(|piece| user(piece)));
        if way.thoughts {
            updates.push(thought("I wondered"));
        }
        if let Some(id) = called {
            let id = if way.other_ids {
                format!("again-{}", updates.len())
            } else {
                (*id).to_owned()
            };
            updates.push(tool(&id, false, r#","title":"look","status":"completed""#));
        }
        updates.extend(pieces(answer).iter().map(|piece| message(piece)));
    }
    updates
}

/// Restarts the agent, which loads its session and replays these updates.
fn loads(s: &mut Scene, updates: &[String]) {
    if s.agent.is_none() {
        s.ask(wake()).unwrap();
    }
    // The restart of an agent that has exited by itself is delayed.
    if s.agent.is_none() {
        s.later(60_000);
    }
    s.answer("initialize", LOADS);
    for update in updates {
        s.update(update);
    }
    s.answer("session/load", "{}");
    s.later(250);
}

/// Returns the texts of each turn in the thread, and whether the turn was imported.
fn shown(s: &Scene) -> Vec<(bool, Vec<String>)> {
    let text = |item: &acpd_proto::projection::Item| match item.content() {
        Some(acpd_model::ItemEnd::Message { content, .. }) => acpd_proto::projection::content_text(&content),
        Some(acpd_model::ItemEnd::ToolCall { .. }) => "(tool)".to_owned(),
        other => panic!("{other:?}"),
    };
    let transcript = s.transcript();
    for turn in &transcript.turns {
        let timed = |item: &acpd_proto::projection::Item| item.started_at.is_some();
        assert!(turn.items.iter().all(|item| timed(item) != turn.imported));
    }
    transcript
        .turns
        .iter()
        .map(|turn| (turn.imported, turn.items.iter().map(text).collect()))
        .collect()
}

fn words(said: &[&str]) -> Vec<String> {
    said.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn recorded_history_is_not_stored_again_in_another_form() {
    let histories: [&[Said]; 5] = [
        &[ONE],
        &[ONE, TWO, THREE],
        &[TWO, TWO, TWO, ONE],
        &[THREE, TWO, TWO],
        &[ONE, ONE, THREE, NEW],
    ];
    for said in histories {
        for way in WAYS {
            if way.compacted >= said.len() {
                continue;
            }
            check(|s| {
                spoken(s, said);
                let before = shown(s);
                for other in [way, Way::default()] {
                    loads(s, &history_lines(said, other));
                    assert_eq!(shown(s), before, "{said:?} told as {other:?}");
                    s.exits("exit status 0");
                }
            });
        }
    }
}

#[test]
fn exchanges_outside_of_acpd_are_stored_once_and_marked() {
    for way in WAYS {
        check(|s| {
            let known = [ONE, TWO, THREE];
            spoken(s, &known);
            let before = shown(s);
            let outside = [ONE, TWO, THREE, NEW, TWO];
            let way = Way {
                compacted: way.compacted.min(2),
                ..way
            };
            loads(s, &history_lines(&outside, way));
            let after = shown(s);
            assert_eq!(after[..3], before, "{way:?}");
            assert_eq!(after.len(), 5, "{way:?}: {after:#?}");
            let squeezed = |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let new: Vec<Vec<String>> = after[3..]
                .iter()
                .map(|(imported, items)| {
                    assert!(imported);
                    items
                        .iter()
                        .map(squeezed)
                        .filter(|text| text != "I wondered")
                        .collect()
                })
                .collect();
            assert_eq!(
                new,
                [
                    words(&["And now the docs", "(tool)", "They are written."]),
                    words(&["continue", "ok"])
                ]
            );
            assert!(s.notices().contains(&"imported".to_owned()));
            assert_eq!(s.status(TurnId(5)), TurnStatus::Completed);
            // From then on, the history is recognized in any form.
            for other in WAYS {
                s.exits("exit status 0");
                loads(s, &history_lines(&outside, other));
                assert_eq!(shown(s), after, "{other:?} after {way:?}");
            }
            // And the thread continues with its own turns.
            let turn = s.prompt("next");
            s.chunk("yes");
            s.stops_with("end_turn");
            assert_eq!((turn, s.status(turn)), (TurnId(6), TurnStatus::Completed));
        });
    }
}

#[test]
fn another_conversation_than_the_one_on_record_is_not_taken_over() {
    check(|s| {
        spoken(s, &[ONE, TWO]);
        let before = shown(s);
        loads(s, &[user("[the conversation was summarised]"), message("Go on.")]);
        assert_eq!(shown(s), before);
        assert!(s.notices().contains(&"notImported".to_owned()));
    });
}

#[test]
fn a_prompt_that_got_no_answer_is_not_taken_over() {
    check(|s| {
        spoken(s, &[ONE]);
        let before = shown(s);
        let mut updates = history_lines(&[ONE], WAYS[0]);
        updates.push(user("[Request interrupted by user]"));
        loads(s, &updates);
        assert_eq!(shown(s), before);
    });
}

/// Final rounds whose text matches nothing are assumed to be rounds that the log has.
#[test]
fn where_it_is_in_doubt_nothing_is_new() {
    check(|s| {
        spoken(s, &[ONE, ("see this", "ok", None)]);
        let before = shown(s);
        let mut updates = history_lines(&[ONE], WAYS[0]);
        updates.extend([user("<image> look at it"), message("fine")]);
        loads(s, &updates);
        assert_eq!(shown(s), before);
    });
}

#[test]
fn history_before_the_prompt_is_not_part_of_the_waiting_turn() {
    check(|s| {
        spoken(s, &[ONE]);
        let turn = s.prompt("next");
        loads(s, &history_lines(&[ONE, NEW], WAYS[0]));
        assert_eq!(s.thread.live().turn.map(|turn| turn.id), Some(turn));
        s.chunk("yes");
        s.stops_with("end_turn");
        let shown = shown(s);
        assert_eq!(shown[1], (false, words(&["next", "yes"])));
        assert!(shown[2].0 && shown[2].1.contains(&"They are written.".to_owned()));
        assert_eq!(s.settled_turns().len(), 3);
    });
}

/// The daemon was killed during a response, or the end of the response was lost.
#[test]
fn the_end_of_an_answer_that_was_not_heard_is_taken_over() {
    check(|s| {
        s.create();
        s.answer("initialize", LOADS);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.prompt("go");
        s.chunk("first half,");
        s.exits("killed");
        assert_eq!(s.settled_turns(), [TurnStatus::Failed]);
        let telling = [user("go"), message("first "), message("half, second half")];
        for _ in 0..2 {
            loads(s, &telling);
            assert_eq!(s.said(), ["first half,", "second half"]);
            s.exits("exit status 0");
        }
    });
}

#[test]
fn a_log_that_cannot_be_read_takes_nothing_over() {
    check(|s| {
        spoken(s, &[ONE]);
        s.unreadable = Some(Failure::new(ErrorCode::Internal, "the disk is gone"));
        let before = shown(s);
        loads(s, &history_lines(&[ONE, NEW], WAYS[0]));
        assert_eq!(shown(s), before);
        assert!(s.notices().contains(&"notImported".to_owned()));
        // The next attempt succeeds.
        s.exits("exit status 0");
        loads(s, &history_lines(&[ONE, NEW], WAYS[0]));
        assert_eq!(shown(s).len(), 2);
    });
}

#[test]
fn an_agent_that_dies_over_its_telling_leaves_no_trace_of_it() {
    check(|s| {
        spoken(s, &[ONE]);
        let before = shown(s);
        s.ask(wake()).unwrap();
        s.answer("initialize", LOADS);
        for update in history_lines(&[ONE, NEW], WAYS[0]) {
            s.update(&update);
        }
        s.exits("a panic");
        assert_eq!(shown(s), before);
    });
}

fn foreign() -> Spec {
    Spec {
        agent: "fake".into(),
        cwd: "/workspace".into(),
        session_id: Some("s-1".into()),
        ..Spec::default()
    }
}

#[test]
fn a_session_from_elsewhere_is_taken_over_whole() {
    check(|s| {
        let call = s.create_as(foreign());
        s.answer("initialize", FULL);
        assert!(s.sent_as("session/resume").is_empty(), "nothing would be told");
        assert_eq!(s.sent_as("session/load")[0].json["params"]["sessionId"], "s-1");
        for update in history_lines(&[ONE, TWO], WAYS[1]) {
            s.update(&update);
        }
        assert!(!s.replies.contains_key(&call));
        s.answer("session/load", "{}");
        s.later(250);
        assert!(s.replies[&call].is_ok());
        let shown = shown(s);
        assert_eq!(
            shown,
            [
                (true, words(&[ONE.0, "(tool)", ONE.1])),
                (true, words(&[TWO.0, TWO.1]))
            ]
        );
        assert_eq!(
            s.thread.live().summary.name.as_deref(),
            Some("look at the parser"),
            "it is called by its first prompt"
        );
        assert_eq!(
            (s.thread.live().summary.turns, s.thread.live().forgotten),
            (2, false)
        );
        let turn = s.prompt("go on");
        assert_eq!(s.sent_as("session/prompt")[0].json["params"]["sessionId"], "s-1");
        s.stops_with("end_turn");
        assert_eq!(turn, TurnId(3));
        // From now on, it is a normal session.
        s.exits("exit status 0");
        s.ask(wake()).unwrap();
        s.answer("initialize", FULL);
        assert_eq!(s.sent_as("session/resume").len(), 1);
    });
}

#[test]
fn an_imported_session_is_the_requested_one_or_fails() {
    let refused = |s: &Scene, call: u64| {
        let failure = s.replies[&call].as_ref().unwrap_err();
        assert_eq!(failure.code, ErrorCode::AgentFailed);
        failure.message.clone()
    };
    check(|s| {
        let call = s.create_as(foreign());
        s.answer("initialize", FULL);
        s.refuse("session/load", -32002, "Resource not found");
        s.refuse("session/resume", -32002, "Resource not found");
        assert!(refused(s, call).contains("s-1"));
        assert!(s.sent_as("session/new").is_empty());
    });
    check(|s| {
        let call = s.create_as(foreign());
        s.answer("initialize", r#"{"protocolVersion":1}"#);
        assert!(refused(s, call).contains("session/load"));
    });
}

#[test]
fn blocks_of_a_prompt_that_is_taken_over_are_kept() {
    let image = json!({ "type": "image", "mimeType": "image/png", "data": "aGk=" });
    check(|s| {
        s.create_as(foreign());
        s.answer("initialize", FULL);
        s.update(&user("look "));
        s.update(&user("here"));
        s.update(&json!({ "sessionUpdate": "user_message_chunk", "content": image }).to_string());
        s.update(&message("a cat"));
        s.answer("session/load", "{}");
        s.later(250);
        let content: Vec<Vec<Value>> = s
            .kinds()
            .filter_map(|kind| match kind {
                EventKind::Item(ItemEvent::UserMessageAdded { content, .. }) => Some(
                    content
                        .iter()
                        .map(|block: &RawJson| block.read().unwrap())
                        .collect(),
                ),
                _ => None,
            })
            .collect();
        assert_eq!(
            content,
            [[json!({ "type": "text", "text": "look here" }), image.clone()]]
        );
        let how = s.kinds().find_map(|kind| match kind {
            EventKind::Session(SessionEvent::AgentBound { how, .. }) => Some(*how),
            _ => None,
        });
        assert_eq!(how, Some(Binding::Load));
    });
}
