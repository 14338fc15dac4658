//! Notices and answers between the items of a thread: where they are shown, and how many.

use acpd_model::event::Level;
use acpd_model::{EventKind, Failure, ItemId, SessionEvent, TurnId};
use acpd_proto::surface::export::Format;
use acpd_proto::thread::{AccessDenied, Answer, Command};

use crate::export::{export, lines};
use crate::support::{FULL, Scene, check, message};

fn turn(s: &mut Scene, prompt: &str) {
    s.prompt(prompt);
    s.chunk("answer");
    s.stops_with("end_turn");
}

/// Returns the notes of a thread: each with its turn, the item before it, and whether it is after the turn.
fn notes(s: &Scene) -> Vec<(Option<TurnId>, Option<u32>, bool)> {
    let turns = s.transcript().into_turns();
    let notes = turns.iter().flat_map(|turn| {
        let place = |after: Option<ItemId>| after.map(|item| item.0);
        turn.notes
            .iter()
            .map(move |note| (turn.id, place(note.after), note.after_turn))
    });
    notes.collect()
}

fn roll_back(s: &mut Scene, last_kept: Option<u32>) {
    let last_kept = last_kept.map(TurnId);
    s.ask(Command::RollBack { last_kept }).unwrap();
}

const FIRST: Option<TurnId> = Some(TurnId(1));

#[test]
fn a_notice_is_in_the_running_turn_or_after_the_last_one() {
    check(|s| {
        s.open_session();
        s.prompt("first");
        s.says("rubbish");
        s.chunk("answer");
        s.stops_with("end_turn");
        s.exits("exit status 3");
        assert_eq!(notes(s), [(FIRST, Some(1), false), (FIRST, None, true)]);
        // The next turn begins with its prompt, so nothing moves.
        s.prompt("second");
        assert_eq!(notes(s), [(FIRST, Some(1), false), (FIRST, None, true)]);
    });
}

#[test]
fn the_exit_of_an_agent_is_in_the_turn_that_it_ends() {
    check(|s| {
        s.open_session();
        s.prompt("first");
        s.exits("exit status 3");
        assert_eq!(notes(s), [(FIRST, Some(1), false)]);
    });
}

#[test]
fn before_the_first_turn_a_notice_is_first() {
    check(|s| {
        s.open_session();
        s.update(&message("hello"));
        s.says("rubbish");
        assert_eq!(notes(s), [(None, None, false)]);
        turn(s, "first");
        assert_eq!(notes(s), [(None, None, false)]);
        roll_back(s, None);
        assert_eq!(notes(s), [(None, None, false)]);
    });
}

#[test]
fn after_a_rollback_a_notice_is_after_the_last_kept_turn() {
    check(|s| {
        s.open_session();
        turn(s, "first");
        turn(s, "second");
        s.says("dropped");
        roll_back(s, Some(1));
        s.exits("exit status 0");
        assert_eq!(notes(s), [(FIRST, None, true)]);
        roll_back(s, None);
        assert_eq!(notes(s), []);
    });
}

#[test]
fn a_place_has_room_for_some_notes() {
    check(|s| {
        s.open_session();
        s.prompt("first");
        for _ in 0..20 {
            s.says("rubbish");
        }
        assert_eq!(notes(s).len(), 16);
        s.chunk("answer");
        s.says("rubbish");
        assert_eq!(notes(s).len(), 17);
        s.stops_with("end_turn");
        for _ in 0..20 {
            s.says("rubbish");
        }
        assert_eq!(notes(s).len(), 33);
    });
}

#[test]
fn clients_receive_which_notice_is_too_large_for_pages() {
    check(|s| {
        s.open_turn();
        s.says("rubbish");
        let large = "x".repeat(20_000);
        s.calls("7", "_vendor/x", &format!(r#"{{"text":"{large}"}}"#));
        let omitted: Vec<_> = s
            .params("thread/notice")
            .iter()
            .map(|notice| notice["omitted"].as_bool())
            .collect();
        assert_eq!(omitted, [None, Some(true)]);
        assert_eq!(notes(s).len(), 1);
    });
}

#[test]
fn an_answer_about_no_item_has_the_title_of_its_question() {
    check(|s| {
        s.open_turn();
        let form = r#"{"sessionId":"s-1","mode":"form","message":"Which key?","requestedSchema":{"type":"object","properties":{}}}"#;
        s.calls("9", "elicitation/create", form);
        s.decide(1, Answer::Cancel).unwrap();
        s.asks_permission("10", "t");
        s.decide(2, Answer::Accept { always: false }).unwrap();
        let titles: Vec<_> = s
            .params("serverRequest/resolved")
            .iter()
            .map(|answer| answer["title"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(titles, [Some("Which key?".to_owned()), None]);
    });
}

#[test]
fn an_agent_that_forgot_says_so_in_one_sentence() {
    check(|s| {
        s.open_session();
        turn(s, "first");
        s.exits("exit status 0");
        s.prompt("second");
        s.answer("initialize", FULL);
        s.refuse("session/resume", -32002, "gone");
        s.refuse("session/load", -32002, "gone");
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        let forgot = s.kinds().find_map(|kind| match kind {
            EventKind::Session(SessionEvent::NoticeGiven {
                level, code, message, ..
            }) if code == "agentForgot" => Some((*level, message.clone())),
            _ => None,
        });
        let sentence = "The agent restarted and has lost the earlier context.";
        assert_eq!(forgot, Some((Level::Warning, sentence.to_owned())));
    });
}

#[test]
fn a_directory_that_is_gone_is_said_once_in_a_turn() {
    fn gone(s: &mut Scene) {
        let (failure, now) = (Failure::agent("it is gone").with_detail("say where it is"), s.now);
        s.thread.directory_gone(failure, now);
        s.settle();
    }
    check(|s| {
        s.open_turn();
        gone(s);
        gone(s);
        s.stops_with("end_turn");
        gone(s);
        assert_eq!(s.notices(), ["directoryGone"]);
        assert_eq!(s.params("thread/notice")[0]["detail"], "say where it is");
        s.prompt("again");
        gone(s);
        assert_eq!(s.notices().len(), 2);
        s.stops_with("end_turn");
    });
}

#[test]
fn a_denied_path_comes_with_what_to_do_and_its_folder() {
    let s = check(|s| {
        s.open_session();
        turn(s, "first");
        for folder in [Some("/library".to_owned()), None] {
            let denied = AccessDenied {
                code: "outsideWorkspace",
                message: "/library/x is outside".to_owned(),
                advice: "acpd add-dir".to_owned(),
                folder,
            };
            s.thread.access_denied(denied, s.now);
            s.settle();
        }
    });
    let notices = s.params("thread/notice");
    let [.., with, without] = &notices[..] else {
        panic!("{notices:?}")
    };
    for (member, expected) in [
        ("code", "outsideWorkspace"),
        ("level", "warning"),
        ("folder", "/library"),
        ("detail", "acpd add-dir"),
    ] {
        assert_eq!(with[member], expected, "{with}");
    }
    assert!(without.get("folder").is_none(), "{without}");
    for format in [Format::Jsonl, Format::Markdown, Format::Html] {
        let text = export(&s, format);
        assert!(
            text.contains("/library/x is outside") && text.contains("acpd add-dir"),
            "{text}"
        );
    }
    let folders = lines(&s);
    let folders = folders.iter().filter(|line| line["folder"] == "/library");
    assert_eq!(folders.count(), 1);
}
