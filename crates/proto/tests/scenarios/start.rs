//! Agents that fail to start.

use std::time::Duration;

use acpd_model::event::TurnStatus;
use acpd_model::{ErrorCode, Failure, ThreadStatus};
use acpd_proto::agent::{AgentConnection, AgentEvent, Start};
use acpd_proto::projection::Spec;
use acpd_proto::thread::Answer;
use acpd_proto::time::Now;
use acpd_proto::wire::Line;

use crate::support::{FULL, Scene, check};

/// Plays the start of an agent that fails while a turn is queued.
fn failing(play: impl FnOnce(&mut Scene)) -> Failure {
    let mut failure = None;
    check(|s| {
        let call = s.create();
        let turn = s.prompt("x");
        play(s);
        let told = s.replies[&call].clone().unwrap_err();
        assert_eq!(told.code, ErrorCode::AgentFailed);
        let (status, stop, error) = s.ending(turn);
        assert_eq!((status, stop), (TurnStatus::Failed, None));
        assert_eq!(
            error,
            Some(told.message.as_str()),
            "the turn says the same as the caller hears"
        );
        assert_eq!(s.notices(), ["agentFailed"]);
        assert_eq!(s.stops, 1, "the process is of no use");
        s.exits("exit status 0");
        assert_eq!(s.starts.len(), 1);
        s.prompt("try again");
        assert_eq!(s.starts.len(), 2, "the thread stays usable");
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        s.stops_with("end_turn");
        failure = Some(told);
    });
    failure.unwrap()
}

#[test]
fn initialize_is_refused() {
    let failure = failing(|s| s.refuse("initialize", -32603, "no config"));
    assert_eq!(
        failure.message,
        "the agent refused initialize: no config (-32603)"
    );
}

#[test]
fn another_protocol_version() {
    let failure = failing(|s| s.answer("initialize", r#"{"protocolVersion":2,"agentCapabilities":{}}"#));
    assert_eq!(
        failure.message,
        "the agent speaks ACP version 2; acpd speaks version 1"
    );
}

#[test]
fn invalid_initialize_results_are_refused() {
    for result in [
        "null",
        "{}",
        "[]",
        r#"{"protocolVersion":"one"}"#,
        r#"{"protocolVersion":-1}"#,
    ] {
        let failure = failing(|s| s.answer("initialize", result));
        assert!(failure.message.contains("protocolVersion"), "{result}: {failure}");
    }
}

#[test]
fn it_wants_a_sign_in() {
    let failure = failing(|s| {
        s.answer("initialize", FULL);
        s.refuse("session/new", -32000, "Authentication required");
    });
    assert!(failure.message.contains("offers no way to sign in"), "{failure}");
    assert!(failure.message.contains("Authentication required"), "{failure}");
}

#[test]
fn it_opens_no_session() {
    let failure = failing(|s| {
        s.answer("initialize", FULL);
        s.refuse("session/new", -32603, "disk full");
    });
    assert!(failure.message.contains("disk full"), "{failure}");
    let failure = failing(|s| {
        s.answer("initialize", FULL);
        s.answer("session/new", r#"{"session":"s-1"}"#);
    });
    assert!(failure.message.contains("names no session"), "{failure}");
}

#[test]
fn it_takes_too_long() {
    let failure = failing(|s| {
        s.later(59_999);
        assert!(s.replies.len() < 2);
        s.later(1);
    });
    assert_eq!(
        failure.message,
        "the agent \"fake\" did not answer initialize within 60 s"
    );
    let advice = failure.detail.unwrap_or_default();
    assert!(
        advice.contains("acpd agents doctor fake") && advice.contains("agent_start_secs"),
        "{advice}"
    );
    let failure = failing(|s| {
        s.later(59_000);
        s.answer("initialize", FULL);
        s.later(59_999);
        assert_eq!(s.stops, 0, "each step has its own time");
        s.later(1);
    });
    assert_eq!(
        failure.message,
        "the agent \"fake\" did not answer session/new within 60 s"
    );
}

/// Begins an opening in which the agent asks something.
fn asks_while_it_opens(s: &mut Scene, tool_call: &str) {
    s.answer("initialize", FULL);
    s.later(50_000);
    s.calls(
        "7",
        "session/request_permission",
        &format!(
            r#"{{"sessionId":"s-1","toolCall":{{"toolCallId":"t"{tool_call}}},"options":[{{"optionId":"y","name":"Trust","kind":"allow_once"}}]}}"#
        ),
    );
}

/// A question that names no paths, and one whose paths are looked up before it is asked.
const QUESTIONS: [&str; 2] = [
    "",
    r#","kind":"execute","title":"run","rawInput":{"command":"./setup.sh"},"locations":[{"path":"/workspace/setup.sh"}]"#,
];

#[test]
fn it_waits_for_an_answer_of_a_user() {
    for question in QUESTIONS {
        check(|s| {
            s.create();
            asks_while_it_opens(s, question);
            assert_eq!(s.thread.live().summary.status, ThreadStatus::Waiting);
            s.later(3_600_000);
            assert_eq!(s.stops, 0, "the time of users does not count");
            s.decide(1, Answer::Option("y".into())).unwrap();
            assert_ne!(s.thread.live().summary.status, ThreadStatus::Waiting);
            s.later(59_999);
            s.answer("session/new", r#"{"sessionId":"s-1"}"#);
            assert_eq!(s.thread.live().summary.session_id.as_deref(), Some("s-1"));
            s.later(3_600_000);
            assert_eq!(s.stops, 0);
        });
        check(|s| {
            let call = s.create();
            let turn = s.prompt("x");
            asks_while_it_opens(s, question);
            assert!(s.replies[&call].is_ok(), "the client can see the question");
            s.decide(1, Answer::Option("y".into())).unwrap();
            s.later(59_999);
            assert_eq!(s.stops, 0, "its own time begins again");
            s.later(1);
            let (status, _, error) = s.ending(turn);
            assert_eq!(status, TurnStatus::Failed);
            assert!(error.unwrap().contains("did not answer session/new"), "{error:?}");
            s.exits("exit status 0");
        });
    }
}

/// The history of an agent's own session comes first, and until then no other thread may begin with it.
#[test]
fn a_question_while_an_agents_own_session_is_loaded_ends_no_wait() {
    check(|s| {
        let call = s.create_as(Spec {
            agent: "fake".into(),
            cwd: "/workspace".into(),
            session_id: Some("s-1".into()),
            ..Spec::default()
        });
        asks_while_it_opens(s, QUESTIONS[1]);
        s.later(3_600_000);
        assert!(!s.replies.contains_key(&call));
        s.decide(1, Answer::Option("y".into())).unwrap();
        s.answer("session/load", "{}");
        s.later(60_000);
        assert!(s.replies[&call].is_ok());
    });
}

/// Until a session opens, no user can be asked.
#[test]
fn a_connection_without_a_thread_does_not_wait_for_users() {
    let start = Start {
        pending_session: true,
        ..Start::new("fake", "/", Duration::from_mins(1))
    };
    let at = |secs| Now {
        mono: Duration::from_secs(secs),
        wall: 0,
    };
    let mut connection = AgentConnection::new(start, at(0));
    let question = r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{}}}}"#;
    connection.handle_line(&Line::Whole(question.as_bytes()), at(1));
    connection.take_events();
    connection.handle_timeout(at(60));
    let events = connection.take_events();
    assert!(matches!(events[..], [AgentEvent::Failed(_)]), "{events:?}");
}

#[test]
fn slow_prompt_responses_are_not_failures() {
    check(|s| {
        s.open_turn();
        s.later(3_600_000);
        assert_eq!(s.stops, 0);
        s.stops_with("end_turn");
    });
}

#[test]
fn a_late_response_does_not_open_a_session() {
    check(|s| {
        s.create();
        s.later(60_000);
        s.answer("initialize", FULL);
        assert!(!s.awaits("session/new"));
        assert!(s.thread.live().summary.session_id.is_none());
        s.exits("exit status 0");
    });
}

#[test]
fn a_directory_and_servers_are_passed_on() {
    use acpd_model::RawJson;
    use acpd_proto::projection::Spec;

    let server = r#"{"name":"m","command":"/bin/m","args":[],"env":[]}"#;
    let spec = || Spec {
        agent: "fake".into(),
        cwd: "/workspace".into(),
        additional_directories: vec!["/more".into()],
        mcp_servers: vec![RawJson::parse(server).unwrap()],
        ..Spec::default()
    };
    check(|s| {
        s.create_as(spec());
        s.answer("initialize", FULL);
        let params = &s.sent_as("session/new")[0].json["params"];
        assert_eq!(params["cwd"], "/workspace");
        assert_eq!(params["additionalDirectories"][0], "/more");
        assert_eq!(params["mcpServers"][0]["name"], "m");
    });
    check(|s| {
        s.create_as(spec());
        s.answer("initialize", r#"{"protocolVersion":1}"#);
        let params = &s.sent_as("session/new")[0].json["params"];
        assert!(
            params.get("additionalDirectories").is_none(),
            "it did not declare them"
        );
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        assert_eq!(s.notices(), ["directoriesNotTold"], "it is said");
    });
}

#[test]
fn a_thread_records_which_directories_are_links() {
    use acpd_proto::projection::Spec;

    check(|s| {
        let names = |names: [&str; 3]| names.map(str::to_owned);
        let [cwd, more, last] = names(["/workspace", "/linked", "/same/"]);
        s.create_as(Spec {
            agent: "fake".into(),
            cwd,
            additional_directories: vec![more, last],
            real_directories: names(["/workspace", "/elsewhere", "/same"]).to_vec(),
            ..Spec::default()
        });
        let notices = s.params("thread/notice");
        assert_eq!(notices.len(), 1);
        assert_eq!(
            notices[0]["message"],
            "The workspace directory /linked is a link: the agent works in /elsewhere."
        );
        s.answer("initialize", FULL);
        assert_eq!(s.notices(), ["linkedDirectory"]);
    });
}

#[test]
fn agents_receive_pretty_printed_content_on_one_line() {
    use acpd_model::RawJson;
    use acpd_proto::projection::Spec;

    let server = "{\r\n  \"name\": \"a\\nb\",\n  \"command\": \"/bin/m\", \"args\": [], \"env\": []\n}";
    check(|s| {
        s.create_as(Spec {
            agent: "fake".into(),
            cwd: "/workspace".into(),
            mcp_servers: vec![RawJson::parse(server).unwrap()],
            ..Spec::default()
        });
        s.answer("initialize", FULL);
        let params = &s.sent_as("session/new")[0].json["params"];
        assert_eq!(params["mcpServers"][0]["name"], "a\nb");
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        let block = RawJson::parse("{\"type\":\"text\",\n\"text\":\"x\"}").unwrap();
        s.start_turn(vec![block], None).unwrap();
        s.stops_with("end_turn");
    });
}
