//! What users chose for the session is set again in each process that opens it.

use acpd_model::event::TurnStatus;
use acpd_proto::agent::{AgentRequest, ConfigValue};
use acpd_proto::thread::Command;
use serde_json::json;

use crate::support::{FULL, Scene, check};

const SESSION: &str = concat!(
    r#"{"sessionId":"s-1","modes":{"currentModeId":"act","availableModes":[{"id":"act","name":"A"},{"id":"plan","name":"P"}]},"#,
    r#""models":{"currentModelId":"m-1","availableModels":[{"modelId":"m-1","name":"1"},{"modelId":"m-2","name":"2"}]},"#,
    r#""configOptions":[{"id":"web","name":"Web","type":"boolean","currentValue":false}]}"#
);

fn request(s: &mut Scene, request: AgentRequest, answer: &str) {
    let method = request.method().to_owned();
    let call = s.send(Command::AgentRequest(request));
    s.answer(&method, answer);
    assert!(s.replies[&call].is_ok());
}

fn set_mode(s: &mut Scene, mode: &str) {
    let mode_id = mode.to_owned();
    request(s, AgentRequest::SetMode { mode_id }, "{}");
}

/// Opens a session in which a user has set everything.
fn chosen(s: &mut Scene) {
    s.create();
    s.answer("initialize", FULL);
    s.answer("session/new", SESSION);
    set_mode(s, "plan");
    let model_id = "m-2".to_owned();
    request(s, AgentRequest::SetModel { model_id }, "{}");
    let (config_id, value) = ("web".to_owned(), ConfigValue::Boolean(true));
    request(s, AgentRequest::SetConfigOption { config_id, value }, "{}");
    s.prompt("do it");
    s.stops_with("end_turn");
}

/// The process exits, and a prompt starts another one that resumes the session and reports `session`.
fn again(s: &mut Scene, session: &str) {
    s.exits("exit status 0");
    s.prompt("go on");
    s.answer("initialize", FULL);
    s.answer("session/resume", session);
    s.later(300);
}

/// The agent takes the choices over: one after another, the model first.
fn takes_over(s: &mut Scene) {
    for method in [
        "session/set_model",
        "session/set_mode",
        "session/set_config_option",
    ] {
        s.answer(method, "{}");
    }
}

const REPORTED: &str = concat!(
    r#"{"modes":{"currentModeId":"act","availableModes":[{"id":"act","name":"A"},{"id":"plan","name":"P"}]},"#,
    r#""models":{"currentModelId":"m-1","availableModels":[{"modelId":"m-1","name":"1"},{"modelId":"m-2","name":"2"}]},"#,
    r#""configOptions":[{"id":"web","name":"Web","type":"boolean","currentValue":false}]}"#
);

#[test]
fn a_new_process_is_set_to_the_choices_before_its_first_prompt() {
    for reported in [REPORTED, "{}"] {
        check(|s| {
            chosen(s);
            again(s, reported);
            for (method, member, value) in [
                ("session/set_model", "modelId", json!("m-2")),
                ("session/set_mode", "modeId", json!("plan")),
                ("session/set_config_option", "value", json!(true)),
            ] {
                assert_eq!(s.sent_as(method).last().unwrap().json["params"][member], value);
                assert!(!s.awaits("session/prompt"), "the prompt waits for all of them");
                s.answer(method, "{}");
            }
            assert!(s.awaits("session/prompt"));
            assert_eq!(s.thread.live().mode.as_deref(), Some("plan"));
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn an_agent_that_keeps_them_is_not_asked() {
    check(|s| {
        chosen(s);
        let kept = REPORTED
            .replace(r#":"act","av"#, r#":"plan","av"#)
            .replace(r#"Id":"m-1","av"#, r#"Id":"m-2","av"#)
            .replace("false", "true");
        let count = |s: &Scene| s.sent_as("session/set_mode").len() + s.sent_as("session/set_model").len();
        let before = count(s);
        again(s, &kept);
        assert_eq!(count(s), before);
        assert!(s.awaits("session/prompt"));
        s.stops_with("end_turn");
    });
}

#[test]
fn unchosen_settings_keep_the_agents_default() {
    check(|s| {
        s.create();
        s.answer("initialize", FULL);
        s.answer("session/new", SESSION);
        s.update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"plan"}"#);
        s.prompt("do it");
        s.stops_with("end_turn");
        again(s, REPORTED);
        assert!(s.sent_as("session/set_mode").is_empty());
        s.stops_with("end_turn");
    });
}

#[test]
fn a_change_of_the_agent_replaces_a_choice() {
    check(|s| {
        chosen(s);
        s.update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"act"}"#);
        let before = s.sent_as("session/set_mode").len();
        again(s, REPORTED);
        assert_eq!(s.sent_as("session/set_mode").len(), before);
        s.answer("session/set_model", "{}");
        s.answer("session/set_config_option", "{}");
        s.stops_with("end_turn");
    });
}

#[test]
fn without_the_chosen_mode_there_is_no_prompt_until_a_user_chooses() {
    check(|s| {
        chosen(s);
        again(s, REPORTED);
        s.answer("session/set_model", "{}");
        s.refuse("session/set_mode", -32603, "not in this session");
        s.answer("session/set_config_option", "{}");
        assert!(!s.awaits("session/prompt"));
        assert!(s.notices().contains(&"settingLost".to_owned()));
        let failed = s.thread.live().last_turn;
        assert_eq!(s.status(acpd_model::TurnId(failed)), TurnStatus::Failed);
        assert!(
            s.settled_error(acpd_model::TurnId(failed))
                .contains("the mode \"plan\"")
        );
        let next = s.prompt("again");
        assert_eq!(s.status(next), TurnStatus::Failed, "still not");
        set_mode(s, "act");
        s.prompt("now");
        assert!(s.awaits("session/prompt"));
        s.stops_with("end_turn");
        again(s, REPORTED);
        s.answer("session/set_model", "{}");
        s.answer("session/set_config_option", "{}");
        s.stops_with("end_turn");
    });
}

#[test]
fn a_refused_model_is_a_notice_only() {
    check(|s| {
        chosen(s);
        again(s, REPORTED);
        s.refuse("session/set_model", -32603, "no quota");
        s.answer("session/set_mode", "{}");
        s.answer("session/set_config_option", "{}");
        assert!(s.awaits("session/prompt"));
        assert!(s.notices().contains(&"settingLost".to_owned()));
        s.stops_with("end_turn");
    });
}

/// A user chooses while no process runs. The older choice is set before the newer one.
#[test]
fn the_latest_choice_counts() {
    check(|s| {
        chosen(s);
        s.exits("exit status 0");
        let mode_id = "act".to_owned();
        let call = s.send(Command::AgentRequest(AgentRequest::SetMode { mode_id }));
        s.prompt("go on");
        s.answer("initialize", FULL);
        s.answer("session/resume", REPORTED);
        s.later(300);
        takes_over(s);
        assert_eq!(
            s.sent_as("session/set_mode").last().unwrap().json["params"]["modeId"],
            "act"
        );
        s.answer("session/set_mode", "{}");
        assert!(s.replies[&call].is_ok());
        assert_eq!(s.thread.live().choices.mode.as_deref(), Some("act"));
        s.stops_with("end_turn");
    });
}

#[test]
fn reports_of_a_starting_process_replace_no_choice() {
    check(|s| {
        chosen(s);
        s.exits("exit status 0");
        s.prompt("go on");
        s.answer("initialize", FULL);
        s.update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"act"}"#);
        s.update(r#"{"sessionUpdate":"config_option_update","configOptions":[{"id":"web","name":"Web","type":"boolean","currentValue":false}]}"#);
        s.answer("session/resume", REPORTED);
        s.later(300);
        takes_over(s);
        assert_eq!(s.thread.live().mode.as_deref(), Some("plan"));
        s.stops_with("end_turn");
    });
}

/// The agent may leave a mode by itself, but that makes no choice of a user's.
#[test]
fn a_mode_in_which_the_agent_decides_is_not_set_again_unless_a_user_chose_it() {
    let session = |text: &str| {
        text.replace(
            r#"{"id":"plan","name":"P"}"#,
            r#"{"id":"plan","name":"P"},{"id":"yolo","name":"Y"}"#,
        )
    };
    check(|s| {
        s.create();
        s.answer("initialize", FULL);
        s.answer("session/new", &session(SESSION));
        set_mode(s, "plan");
        s.prompt("do it");
        s.update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"yolo"}"#);
        s.stops_with("end_turn");
        let before = s.sent_as("session/set_mode").len();
        again(s, &session(REPORTED));
        assert_eq!(s.sent_as("session/set_mode").len(), before);
        s.stops_with("end_turn");
        let mode_id = "yolo".to_owned();
        let call = s.send(Command::AgentRequest(AgentRequest::SetMode { mode_id }));
        // Some agents report the mode before they answer.
        s.update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"yolo"}"#);
        s.answer("session/set_mode", "{}");
        s.update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"yolo"}"#);
        assert!(s.replies[&call].is_ok());
        again(s, &session(REPORTED));
        s.answer("session/set_mode", "{}");
        assert_eq!(s.thread.live().mode.as_deref(), Some("yolo"));
        s.stops_with("end_turn");
    });
}

/// A newer version of the agent may have its modes in an option.
#[test]
fn a_refused_mode_is_replaced_by_a_choice_of_the_option_that_is_the_mode() {
    check(|s| {
        s.create();
        s.answer("initialize", FULL);
        s.answer("session/new", SESSION);
        set_mode(s, "plan");
        s.prompt("do it");
        s.stops_with("end_turn");
        let option = r#"{"configOptions":[{"id":"m","name":"Mode","category":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"A"},{"value":"read","name":"R"}]}]}"#;
        again(s, option);
        s.refuse("session/set_mode", -32601, "Method not found");
        let failed = s.thread.live().last_turn;
        assert_eq!(s.status(acpd_model::TurnId(failed)), TurnStatus::Failed);
        let (config_id, value) = ("m".to_owned(), ConfigValue::Id("read".to_owned()));
        request(s, AgentRequest::SetConfigOption { config_id, value }, option);
        assert_eq!(s.thread.live().choices.mode, None, "the latest choice counts");
        s.prompt("now");
        assert!(s.awaits("session/prompt"));
        s.stops_with("end_turn");
    });
}

#[test]
fn a_daemon_that_was_killed_knows_the_choices() {
    let log = check(chosen).log;
    let s = Scene::restarted(&log);
    let choices = &s.thread.live().choices;
    assert_eq!(choices.mode.as_deref(), Some("plan"));
    assert_eq!(choices.model.as_deref(), Some("m-2"));
    assert_eq!(choices.options["web"].get(), json!(true).to_string());
}
