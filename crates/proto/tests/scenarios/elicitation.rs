//! Elicitations: forms and URLs.

use acpd_model::event::Outcome;
use acpd_model::{ErrorCode, EventKind, Origin, RawJson, RequestEvent};
use acpd_proto::agent::ElicitationModes;
use acpd_proto::projection::Spec;
use acpd_proto::thread::{Answer, Command, EditorCapabilities, Input, Reply};
use serde_json::{Value, json};

use crate::support::{FULL, Scene, check, wake};

const FORM: &str = r#"{"sessionId":"s-1","mode":"form","message":"Which key?","requestedSchema":{"type":"object","properties":{"key":{"type":"string"},"n":{"type":"integer","maximum":18446744073709551616}}}}"#;

fn open_form(s: &mut Scene) {
    s.open_turn();
    s.calls("9", "elicitation/create", FORM);
}

fn answered(s: &Scene) -> &Value {
    let answer = s
        .sent
        .iter()
        .rfind(|sent| sent.answers.as_deref() == Some("elicitation/create"));
    &answer.expect("the agent has its answer").json["result"]
}

#[test]
fn a_form_is_shown_with_its_schema_and_its_answers_reach_the_agent() {
    check(|s| {
        open_form(s);
        let asked = &s.params("item/tool/requestUserInput")[0];
        assert_eq!(
            (&asked["title"], &asked["mode"]),
            (&json!("Which key?"), &json!("form"))
        );
        assert_eq!(asked["schema"]["properties"]["key"]["type"], "string");
        let frame = s.frames.iter().find(|frame| frame.ask.is_some()).unwrap();
        let text = std::str::from_utf8(&frame.text).unwrap();
        assert!(text.contains("18446744073709551616"), "{text}");
        let answers = RawJson::parse(r#"{"key":"k","n":12345678901234567890123}"#).unwrap();
        s.decide(1, Answer::Provide(answers)).unwrap();
        let sent = s.sent.last().unwrap().text.clone();
        assert!(
            sent.contains(r#""action":"accept""#) && sent.contains(r#""key":"k""#),
            "{sent}"
        );
        assert_eq!(s.params("serverRequest/resolved")[0]["outcome"], "accepted");
        assert_eq!(
            s.decide(1, Answer::Cancel).unwrap_err().code,
            ErrorCode::AlreadyResolved
        );
        s.stops_with("end_turn");
    });
}

#[test]
fn no_and_never_mind_are_not_the_same() {
    for (answer, action, outcome) in [
        (Answer::Decline { always: false }, "decline", "declined"),
        (Answer::Cancel, "cancel", "cancelled"),
        (Answer::Accept { always: false }, "accept", "accepted"),
    ] {
        check(|s| {
            open_form(s);
            s.decide(1, answer).unwrap();
            assert_eq!(answered(s), &json!({ "action": action }));
            assert_eq!(s.params("serverRequest/resolved")[0]["outcome"], outcome);
        });
    }
}

#[test]
fn each_question_has_its_own_kind_of_answer() {
    check(|s| {
        open_form(s);
        let wrong = s.decide(1, Answer::Option("ao".into())).unwrap_err();
        assert!(wrong.message.contains("item/answer"), "{wrong}");
        s.asks_permission("10", "t");
        let wrong = s.decide(2, Answer::Provide(json!({}).into())).unwrap_err();
        assert!(wrong.message.contains("item/approve"), "{wrong}");
        assert_eq!(s.thread.live().requests.len(), 2, "both are still open");
        s.decide(1, Answer::Cancel).unwrap();
        s.decide(2, Answer::Cancel).unwrap();
    });
}

#[test]
fn an_interrupted_turn_cancels_the_question() {
    check(|s| {
        open_form(s);
        s.interrupt();
        assert_eq!(answered(s), &json!({ "action": "cancel" }));
        s.calls("10", "elicitation/create", FORM);
        assert_eq!(
            answered(s),
            &json!({ "action": "cancel" }),
            "and the ones that come late"
        );
        s.stops_with("cancelled");
    });
}

#[test]
fn an_address_and_a_question_outside_of_a_session() {
    check(|s| {
        s.open_session();
        s.calls(
            "9",
            "elicitation/create",
            r#"{"requestId":1,"mode":"url","message":"Sign in","url":"https://example.com/?a=1","elicitationId":"e"}"#,
        );
        let asked = &s.params("item/tool/requestUserInput")[0];
        assert_eq!(asked["url"], "https://example.com/?a=1");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        let settled = |kind: &EventKind| {
            matches!(
                kind,
                EventKind::Request(RequestEvent::Settled {
                    outcome: Outcome::Accepted { .. },
                    ..
                })
            )
        };
        assert!(s.kinds().any(settled));
    });
}

#[test]
fn invalid_questions_are_refused() {
    check(|s| {
        s.open_turn();
        for params in [
            r#"{"sessionId":"s-1","mode":"hologram","message":"x"}"#,
            r#"{"sessionId":"s-1","mode":"form"}"#,
            r#"{"sessionId":7,"mode":"form","message":"x","requestedSchema":{"type":"object"}}"#,
        ] {
            s.calls("9", "elicitation/create", params);
            assert_eq!(s.sent.last().unwrap().json["error"]["code"], -32602, "{params}");
        }
        assert!(s.thread.live().requests.is_empty());
    });
}

#[test]
fn a_subagents_question_says_that_it_is_one() {
    check(|s| {
        s.open_turn();
        let wanted =
            r#"{"sessionId":"s-child","mode":"form","message":"Which?","requestedSchema":{"type":"object"}}"#;
        s.calls("9", "elicitation/create", wanted);
        let asked = s.frames.iter().find(|frame| frame.ask.is_some()).unwrap();
        let asked = std::str::from_utf8(&asked.text).unwrap();
        assert!(asked.contains(r#"Subagent \"s-child\": Which?"#), "{asked}");
        s.stops_with("end_turn");
    });
}

/// The daemon's own request ids mean nothing to a client.
#[test]
fn a_question_about_a_request_of_ours_reaches_clients_without_its_number() {
    check(|s| {
        s.open_turn();
        let wanted = r#"{"requestId":7,"mode":"url","message":"Sign in","elicitationId":"e","url":"https://a.example/","n":1.10}"#;
        s.calls("9", "elicitation/create", wanted);
        let asked = s.frames.iter().find(|frame| frame.ask.is_some()).unwrap();
        let asked = std::str::from_utf8(&asked.text).unwrap();
        assert!(
            asked.contains(r#""n":1.10"#) && asked.contains("elicitationId"),
            "{asked}"
        );
        assert!(!asked.contains(r#""requestId":7"#), "{asked}");
        s.stops_with("end_turn");
    });
}

/// Forms and no addresses.
const FORMS: ElicitationModes = ElicitationModes {
    form: true,
    url: false,
};

/// Returns the modes of elicitation that each process was offered, as its `initialize` had them.
fn offered(s: &Scene) -> Vec<Value> {
    let hellos = s.sent.iter().filter(|sent| sent.json["method"] == "initialize");
    hellos
        .map(|sent| sent.json["params"]["clientCapabilities"]["elicitation"].clone())
        .collect()
}

fn create_for(s: &mut Scene, elicitation: ElicitationModes) -> u64 {
    let spec = Spec {
        agent: "fake".into(),
        cwd: "/workspace".into(),
        ..Spec::default()
    };
    s.create_for(elicitation, spec)
}

/// An editor with these modes of elicitation opens the thread.
fn attach(s: &mut Scene, connection: &str, elicitation: ElicitationModes) {
    let abilities = EditorCapabilities {
        elicitation,
        ..EditorCapabilities::default()
    };
    let connection = connection.to_owned();
    s.send_as(
        Origin::Daemon,
        Command::Attach {
            connection,
            abilities,
        },
    );
}

fn leave(s: &mut Scene, connection: &str) {
    s.handle(Input::EditorGone {
        connection: connection.to_owned(),
        unsent: Vec::new(),
    });
}

/// Stops the agent's process, and starts the next one.
fn restart(s: &mut Scene) {
    s.ask(Command::Rest).unwrap();
    s.exits("exit status 0");
    s.ask(wake()).unwrap();
    resume(s);
}

/// The process that was started opens the thread's session again.
fn resume(s: &mut Scene) {
    s.answer("initialize", FULL);
    s.answer("session/resume", "{}");
    s.later(100);
}

#[test]
fn an_agent_is_offered_the_questions_that_the_editors_of_its_thread_can_show() {
    check(|s| {
        create_for(s, ElicitationModes::NONE);
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        attach(s, "simple", ElicitationModes::NONE);
        restart(s);
        attach(s, "forms", FORMS);
        assert_eq!(offered(s).len(), 2, "the process that runs is not told");
        restart(s);
        leave(s, "forms");
        restart(s);
        leave(s, "simple");
        // Any client may come and answer then.
        restart(s);
        let (form, all) = (json!({ "form": {} }), json!({ "form": {}, "url": {} }));
        assert_eq!(offered(s), [Value::Null, Value::Null, form, Value::Null, all]);
    });
}

#[test]
fn the_client_that_creates_a_thread_counts_until_its_session_is_open() {
    for (shows, member) in [
        (ElicitationModes::NONE, Value::Null),
        (FORMS, json!({ "form": {} })),
        (ElicitationModes::ALL, json!({ "form": {}, "url": {} })),
    ] {
        check(|s| {
            let call = create_for(s, shows);
            s.answer("initialize", FULL);
            s.exits("exit status 1");
            assert!(s.replies[&call].is_err());
            // It is not attached yet when it tries again, such as after a sign-in.
            s.ask(wake()).unwrap();
            s.answer("initialize", FULL);
            s.answer("session/new", r#"{"sessionId":"s-1"}"#);
            assert_eq!(offered(s), [member.clone(), member]);
            restart(s);
            assert_eq!(offered(s)[2], json!({ "form": {}, "url": {} }));
        });
    }
}

/// It follows the thread only after the start.
#[test]
fn the_client_that_starts_an_agent_counts_beside_the_editors_for_this_start() {
    check(|s| {
        let start_for = |s: &mut Scene, shows| assert_eq!(s.ask(Command::Wake { shows }), Ok(Reply::Done));
        create_for(s, ElicitationModes::NONE);
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        attach(s, "simple", ElicitationModes::NONE);
        s.ask(Command::Rest).unwrap();
        s.exits("exit status 0");
        start_for(s, ElicitationModes::ALL);
        resume(s);
        // The process that runs has its offer, and the next one is not started for this client.
        start_for(s, ElicitationModes::ALL);
        restart(s);
        let all = json!({ "form": {}, "url": {} });
        assert_eq!(offered(s), [Value::Null, all.clone(), Value::Null]);
        // The old process must exit first.
        s.ask(Command::Rest).unwrap();
        start_for(s, FORMS);
        s.exits("exit status 0");
        assert_eq!(offered(s)[3], json!({ "form": {} }));
        resume(s);
        // The agent has failed twice, and may start only later.
        s.exits("exit status 1");
        start_for(s, ElicitationModes::NONE);
        s.exits("exit status 1");
        start_for(s, ElicitationModes::ALL);
        assert_eq!(offered(s).len(), 5);
        s.later(1_000);
        assert_eq!(offered(s)[4..], [Value::Null, all]);
    });
}

#[test]
fn after_a_restart_of_the_daemon_the_editors_that_come_back_decide() {
    let scene = check(|s| {
        create_for(s, ElicitationModes::NONE);
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
    });
    let mut again = Scene::restarted(&scene.log);
    attach(&mut again, "simple", ElicitationModes::NONE);
    again.ask(wake()).unwrap();
    assert_eq!(offered(&again), [Value::Null]);
    let mut without = Scene::restarted(&scene.log);
    without.ask(wake()).unwrap();
    assert_eq!(offered(&without), [json!({ "form": {}, "url": {} })]);
}

/// An agent may send a question that it was not offered. It is asked as any other.
#[test]
fn a_question_that_was_not_offered_is_asked() {
    check(|s| {
        create_for(s, ElicitationModes::NONE);
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.prompt("do it");
        s.calls("9", "elicitation/create", FORM);
        assert_eq!(s.params("item/tool/requestUserInput").len(), 1);
        s.decide(1, Answer::Decline { always: false }).unwrap();
        assert_eq!(answered(s), &json!({ "action": "decline" }));
        s.stops_with("end_turn");
    });
}
