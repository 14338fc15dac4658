//! What users chose for the session is set again in each process that opens it.

use acpd_model::event::TurnStatus;
use acpd_proto::agent::{AgentRequest, ConfigValue, ElicitationModes};
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

const LOADS: &str = r#"{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}"#;
const NEITHER: &str = r#"{"protocolVersion":1}"#;

/// The agents that open the session of another process each in their own way, with the method of it.
const WAYS: [(&str, &str); 3] = [
    (FULL, "session/resume"),
    (LOADS, "session/load"),
    (NEITHER, "session/new"),
];

/// Returns the options of an agent in which the model decides which efforts there are.
fn options(model: &str, effort: Option<&str>, mode: &str) -> serde_json::Value {
    let select = |id: &str, category: &str, current: &str, values: &[&str]| {
        let values: Vec<_> = values
            .iter()
            .map(|value| json!({ "value": value, "name": value }))
            .collect();
        json!({
            "id": id, "name": id, "category": category, "type": "select", "currentValue": current, "options": values,
        })
    };
    let efforts = effort.map(|effort| select("effort", "thought_level", effort, &["low", "high"]));
    let model = select("model", "model", model, &["m-1", "m-2"]);
    let mode = select("how", "mode", mode, &["ask", "plan"]);
    let all: Vec<_> = [model].into_iter().chain(efforts).chain([mode]).collect();
    json!(all)
}

/// Returns the current value of an option in a list.
fn current(list: &acpd_model::RawJson, id: &str) -> serde_json::Value {
    let list: Vec<serde_json::Value> = list.read().unwrap();
    let option = list.iter().find(|option| option["id"] == id).unwrap();
    option["currentValue"].clone()
}

fn opened(options: &serde_json::Value) -> String {
    json!({ "sessionId": "s-1", "configOptions": options }).to_string()
}

fn listed(options: &serde_json::Value) -> String {
    json!({ "configOptions": options }).to_string()
}

/// Opens a session with options, in which a user sets all of them.
fn chosen_options(s: &mut Scene, hello: &str) {
    s.create();
    s.answer("initialize", hello);
    s.answer("session/new", &opened(&options("m-1", None, "ask")));
    for (id, value, answer) in [
        ("model", "m-2", options("m-2", Some("low"), "ask")),
        ("effort", "high", options("m-2", Some("high"), "ask")),
        ("how", "plan", options("m-2", Some("high"), "plan")),
    ] {
        let (config_id, value) = (id.to_owned(), ConfigValue::Id(value.to_owned()));
        request(
            s,
            AgentRequest::SetConfigOption { config_id, value },
            &listed(&answer),
        );
    }
    s.prompt("do it");
    s.stops_with("end_turn");
}

/// Another process opens the session in its way and reports these options.
fn opens_again(s: &mut Scene, (hello, method): (&str, &str), reported: &serde_json::Value) {
    s.prompt("go on");
    s.answer("initialize", hello);
    s.answer(method, &opened(reported));
    s.later(5_000);
}

/// The agent is asked to set an option to a value, and answers with these options.
fn takes(s: &mut Scene, id: &str, value: &str, answer: &serde_json::Value) {
    let asked = s.sent_as("session/set_config_option");
    let params = &asked.last().unwrap().json["params"];
    assert_eq!(
        (&params["configId"], &params["value"]),
        (&json!(id), &json!(value))
    );
    assert!(!s.awaits("session/prompt"), "the prompt waits");
    s.answer("session/set_config_option", &listed(answer));
}

#[test]
fn options_are_set_again_however_the_session_is_opened() {
    // The process crashes, or the daemon stops it because it was not used.
    for (way, rests) in WAYS
        .into_iter()
        .flat_map(|way| [false, true].map(|rests| (way, rests)))
    {
        check(|s| {
            chosen_options(s, way.0);
            if rests {
                s.send(Command::Rest);
                assert_eq!(s.stops, 1);
            }
            s.exits("exit status 0");
            opens_again(s, way, &options("m-1", None, "ask"));
            takes(s, "model", "m-2", &options("m-2", Some("low"), "ask"));
            takes(s, "effort", "high", &options("m-2", Some("high"), "ask"));
            takes(s, "how", "plan", &options("m-2", Some("high"), "plan"));
            assert!(s.awaits("session/prompt"), "{}", way.1);
            assert!(!s.notices().contains(&"settingLost".to_owned()), "{}", way.1);
            assert_eq!(s.thread.live().choices.options["effort"].get(), r#""high""#);
            assert!(s.thread.live().choices.options_by_agent.is_empty(), "{}", way.1);
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn modes_and_models_are_set_again_however_the_session_is_opened() {
    for way in WAYS {
        check(|s| {
            s.create();
            s.answer("initialize", way.0);
            s.answer("session/new", SESSION);
            set_mode(s, "plan");
            let model_id = "m-2".to_owned();
            request(s, AgentRequest::SetModel { model_id }, "{}");
            s.prompt("do it");
            s.stops_with("end_turn");
            s.exits("exit status 0");
            s.prompt("go on");
            s.answer("initialize", way.0);
            s.answer(way.1, SESSION);
            s.later(5_000);
            s.answer("session/set_model", "{}");
            s.answer("session/set_mode", "{}");
            assert!(s.awaits("session/prompt"), "{}", way.1);
            let live = s.thread.live();
            assert_eq!(
                (live.mode.as_deref(), live.model.as_deref()),
                (Some("plan"), Some("m-2")),
                "{}",
                way.1
            );
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn a_daemon_that_was_killed_sets_the_options_again() {
    let log = check(|s| chosen_options(s, FULL)).log;
    let mut s = Scene::restarted(&log);
    opens_again(&mut s, WAYS[0], &options("m-1", None, "ask"));
    takes(&mut s, "model", "m-2", &options("m-2", Some("high"), "plan"));
    // What the answer has already is set all the same: it was requested when the session was opened.
    takes(&mut s, "effort", "high", &options("m-2", Some("high"), "plan"));
    takes(&mut s, "how", "plan", &options("m-2", Some("high"), "plan"));
    assert!(s.awaits("session/prompt"));
}

/// The process has kept the effort, but loses it when the model is set.
#[test]
fn an_option_that_another_one_resets_is_set_once_more() {
    check(|s| {
        chosen_options(s, FULL);
        s.exits("exit status 0");
        opens_again(s, WAYS[0], &options("m-1", Some("high"), "plan"));
        takes(s, "model", "m-2", &options("m-2", Some("low"), "plan"));
        takes(s, "effort", "high", &options("m-2", Some("high"), "plan"));
        assert!(s.awaits("session/prompt"));
        assert!(!s.notices().contains(&"settingLost".to_owned()));
        s.stops_with("end_turn");
    });
}

#[test]
fn options_that_reset_each_other_are_set_a_bounded_number_of_times() {
    check(|s| {
        chosen_options(s, FULL);
        s.exits("exit status 0");
        opens_again(s, WAYS[0], &options("m-1", Some("high"), "plan"));
        let before = s.sent_as("session/set_config_option").len();
        while s.awaits("session/set_config_option") {
            let asked = s.sent_as("session/set_config_option");
            assert!(asked.len() < before + 10, "it ends");
            let answer = match asked.last().unwrap().json["params"]["configId"].as_str() {
                Some("model") => options("m-2", Some("low"), "plan"),
                _ => options("m-1", Some("high"), "plan"),
            };
            s.answer("session/set_config_option", &listed(&answer));
        }
        assert!(s.awaits("session/prompt"));
        assert_eq!(
            s.notices().iter().filter(|code| *code == "settingLost").count(),
            1
        );
        s.stops_with("end_turn");
    });
}

#[test]
fn another_value_than_the_chosen_one_is_said() {
    check(|s| {
        chosen_options(s, FULL);
        s.exits("exit status 0");
        opens_again(s, WAYS[0], &options("m-1", Some("high"), "plan"));
        takes(s, "model", "m-2", &options("m-1", Some("high"), "plan"));
        assert!(s.awaits("session/prompt"));
        assert!(s.notices().contains(&"settingLost".to_owned()));
        let live = s.thread.live();
        assert_eq!(
            current(live.config_options.as_ref().unwrap(), "model"),
            json!("m-1")
        );
        // The next process is asked again.
        assert_eq!(live.choices.options["model"].get(), r#""m-2""#);
        s.stops_with("end_turn");
    });
}

#[test]
fn without_the_chosen_mode_among_the_options_there_is_no_prompt() {
    check(|s| {
        chosen_options(s, FULL);
        s.exits("exit status 0");
        opens_again(s, WAYS[0], &options("m-2", Some("high"), "ask"));
        takes(s, "how", "plan", &options("m-2", Some("high"), "ask"));
        assert!(!s.awaits("session/prompt"));
        let failed = acpd_model::TurnId(s.thread.live().last_turn);
        assert_eq!(s.status(failed), TurnStatus::Failed);
        assert!(s.settled_error(failed).contains("choose a mode"));
    });
}

#[test]
fn a_value_that_is_no_longer_offered_is_said() {
    check(|s| {
        chosen_options(s, FULL);
        s.exits("exit status 0");
        let mut without = options("m-1", Some("high"), "plan");
        without[0]["options"] = json!([{ "value": "m-1", "name": "m-1" }]);
        opens_again(s, WAYS[0], &without);
        assert!(s.awaits("session/prompt"));
        assert!(s.notices().contains(&"settingLost".to_owned()));
        s.stops_with("end_turn");
    });
}

/// The agent reads its models only after it has opened the session.
#[test]
fn options_that_are_offered_later_are_set_then() {
    check(|s| {
        chosen_options(s, NEITHER);
        s.exits("exit status 0");
        s.prompt("go on");
        s.answer("initialize", NEITHER);
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        assert!(s.awaits("session/prompt"));
        let said = |s: &Scene, code: &str| s.notices().iter().filter(|said| *said == code).count();
        assert_eq!(said(s, "settingLost"), 3);
        let update = |list: &serde_json::Value| {
            json!({ "sessionUpdate": "config_option_update", "configOptions": list }).to_string()
        };
        s.update(&update(&options("m-1", None, "plan")));
        for (id, value, answer) in [
            ("model", "m-2", options("m-2", Some("low"), "plan")),
            ("effort", "high", options("m-2", Some("high"), "plan")),
        ] {
            let asked = s.sent_as("session/set_config_option");
            let params = &asked.last().unwrap().json["params"];
            assert_eq!(
                (&params["configId"], &params["value"]),
                (&json!(id), &json!(value))
            );
            s.answer("session/set_config_option", &listed(&answer));
        }
        assert_eq!((said(s, "settingLost"), said(s, "settingRestored")), (3, 3));
        assert_eq!(s.thread.live().choices.options["effort"].get(), r#""high""#);
        s.stops_with("end_turn");
    });
}

#[test]
fn an_option_offered_later_does_not_replace_a_users_open_setting() {
    check(|s| {
        chosen_options(s, FULL);
        s.exits("exit status 0");
        let mut without = options("m-1", Some("high"), "plan");
        without[0]["options"] = json!([{ "value": "m-1", "name": "m-1" }]);
        opens_again(s, WAYS[0], &without);
        s.stops_with("end_turn");
        let (config_id, value) = ("model".to_owned(), ConfigValue::Id("m-1".to_owned()));
        let call = s.send(Command::AgentRequest(AgentRequest::SetConfigOption {
            config_id,
            value,
        }));
        let asked = |s: &Scene| s.sent_as("session/set_config_option").len();
        let before = asked(s);
        let list = options("m-1", Some("high"), "plan");
        s.update(&json!({ "sessionUpdate": "config_option_update", "configOptions": list }).to_string());
        assert_eq!(asked(s), before);
        s.answer("session/set_config_option", &listed(&list));
        assert!(s.replies[&call].is_ok());
        assert_eq!(asked(s), before);
        assert_eq!(s.thread.live().choices.options["model"].get(), r#""m-1""#);
    });
}

/// A user who changes the model knows that the new one has no efforts.
#[test]
fn an_option_that_a_users_choice_removed_is_not_missed() {
    check(|s| {
        chosen_options(s, FULL);
        let (config_id, value) = ("model".to_owned(), ConfigValue::Id("m-1".to_owned()));
        let answer = listed(&options("m-1", None, "plan"));
        request(s, AgentRequest::SetConfigOption { config_id, value }, &answer);
        s.exits("exit status 0");
        opens_again(s, WAYS[0], &options("m-1", None, "plan"));
        assert!(s.awaits("session/prompt"));
        assert!(!s.notices().contains(&"settingLost".to_owned()));
        s.stops_with("end_turn");
    });
}

/// A newer version of the agent has an option instead of its modes and models.
#[test]
fn a_mode_and_a_model_become_the_options_that_replace_them() {
    check(|s| {
        s.create();
        s.answer("initialize", FULL);
        s.answer("session/new", SESSION);
        set_mode(s, "plan");
        let model_id = "m-2".to_owned();
        request(s, AgentRequest::SetModel { model_id }, "{}");
        s.prompt("do it");
        s.stops_with("end_turn");
        s.exits("exit status 0");
        opens_again(s, WAYS[0], &options("m-1", None, "ask"));
        takes(s, "model", "m-2", &options("m-2", None, "ask"));
        takes(s, "how", "plan", &options("m-2", None, "plan"));
        assert!(s.awaits("session/prompt"));
        assert!(!s.notices().contains(&"settingLost".to_owned()));
        s.stops_with("end_turn");
    });
}

#[test]
fn the_latest_choice_of_a_model_counts_whichever_way_it_was_set() {
    check(|s| {
        s.create();
        s.answer("initialize", FULL);
        let mut session: serde_json::Value = serde_json::from_str(SESSION).unwrap();
        session["configOptions"] = options("m-1", None, "ask");
        s.answer("session/new", &session.to_string());
        let (config_id, value) = ("model".to_owned(), ConfigValue::Id("m-2".to_owned()));
        let answer = listed(&options("m-2", None, "ask"));
        request(s, AgentRequest::SetConfigOption { config_id, value }, &answer);
        let model_id = "m-1".to_owned();
        request(s, AgentRequest::SetModel { model_id }, "{}");
        let choices = &s.thread.live().choices;
        assert_eq!(choices.model.as_deref(), Some("m-1"));
        assert!(!choices.options.contains_key("model"));
    });
}

/// The agent answers a setting without its list of options, as some do.
#[test]
fn a_choice_is_kept_if_another_one_is_answered_without_the_list() {
    check(|s| {
        s.create();
        s.answer("initialize", FULL);
        s.answer("session/new", &opened(&options("m-1", Some("low"), "ask")));
        for (id, value) in [("effort", "high"), ("model", "m-2")] {
            let (config_id, value) = (id.to_owned(), ConfigValue::Id(value.to_owned()));
            request(s, AgentRequest::SetConfigOption { config_id, value }, "{}");
        }
        let choices = &s.thread.live().choices;
        assert_eq!(choices.options["effort"].get(), r#""high""#);
        assert_eq!(choices.options["model"].get(), r#""m-2""#);
    });
}

/// An agent that takes initial values has them with the request, and is asked only for what it did not take.
#[test]
fn an_agent_that_takes_initial_values_is_asked_for_the_others_only() {
    let hello = FULL.replace(r#""resume":{}"#, r#""resume":{},"options":{}"#);
    check(|s| {
        chosen_options(s, &hello);
        assert_eq!(
            s.sent_as("session/new")[0].json["params"]["configOptions"],
            json!(null)
        );
        s.exits("exit status 0");
        opens_again(
            s,
            (&hello, "session/resume"),
            &options("m-2", Some("low"), "plan"),
        );
        assert_eq!(
            s.sent_as("session/resume")[0].json["params"]["configOptions"],
            json!([
                { "configId": "model", "value": "m-2" },
                { "configId": "effort", "value": "high" },
                { "configId": "how", "value": "plan" },
            ])
        );
        takes(s, "effort", "high", &options("m-2", Some("high"), "plan"));
        assert!(s.awaits("session/prompt"));
        s.stops_with("end_turn");
    });
}

/// The agent has taken one of the values with the request that opened the session, and is asked for the other one.
#[test]
fn a_new_session_begins_with_the_options_of_its_client() {
    let hello = FULL.replace(r#""resume":{}"#, r#""resume":{},"options":{}"#);
    check(|s| {
        let option = |id: &str, value: &str| (id.to_owned(), ConfigValue::Id(value.to_owned()));
        let both = [option("model", "m-2"), option("effort", "high")];
        s.send(Command::Create {
            spec: Box::default(),
            name: None,
            project_id: None,
            metadata: None,
            elicitation: ElicitationModes::ALL,
            config_options: both.to_vec(),
        });
        let calls = both.map(|(config_id, value)| {
            s.send(Command::AgentRequest(AgentRequest::SetConfigOption {
                config_id,
                value,
            }))
        });
        s.answer("initialize", &hello);
        assert_eq!(
            s.sent_as("session/new")[0].json["params"]["configOptions"],
            json!([{ "configId": "model", "value": "m-2" }, { "configId": "effort", "value": "high" }])
        );
        s.answer("session/new", &opened(&options("m-2", Some("low"), "ask")));
        assert!(s.replies[&calls[0]].is_ok(), "it has it already");
        takes(s, "effort", "high", &options("m-2", Some("high"), "ask"));
        assert!(s.replies[&calls[1]].is_ok());
        assert_eq!(s.sent_as("session/set_config_option").len(), 1);
        let choices = &s.thread.live().choices;
        assert_eq!(choices.options["model"].get(), r#""m-2""#);
        assert_eq!(choices.options["effort"].get(), r#""high""#);
    });
}
