//! A thread continues with a new process: by resume, else load, else a new session. Also covers updates before the session
//! is open, or after the turn has ended.

use acpd_model::event::{Binding, Directories, TurnStatus};
use acpd_model::{ErrorCode, EventKind, SessionEvent, TurnId};
use acpd_proto::thread::{Change, Command};
use serde_json::json;

use crate::support::{FULL, Scene, check, message, thought, tool, wake};

/// Restarts the agent of a thread with one completed turn.
fn reopened(scene: &mut Scene) {
    scene.open_turn();
    scene.chunk("first answer");
    scene.stops_with("end_turn");
    scene.exits("exit status 0");
    scene.ask(wake()).unwrap();
}

fn bindings(scene: &Scene) -> Vec<Binding> {
    let how = |kind: &EventKind| match kind {
        EventKind::Session(SessionEvent::AgentBound { how, .. }) => Some(*how),
        _ => None,
    };
    scene.kinds().filter_map(how).collect()
}

/// Agents replay a conversation in their own form, with different chunks and ids.
fn history(scene: &mut Scene) {
    scene.update(r#"{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"do it"}}"#);
    scene.update(&thought("hm"));
    scene.update(&message("first "));
    scene.update(&message("answer"));
    scene.update(&tool("old", false, r#","title":"ls","status":"completed""#));
    scene.update(&tool("old", true, r#","status":"completed""#));
    scene.update(r#"{"sessionUpdate":"plan","entries":[]}"#);
}

const COMMANDS: &str =
    r#"{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"go","description":"Go"}]}"#;

#[test]
fn resume_comes_first() {
    check(|s| {
        reopened(s);
        s.answer("initialize", FULL);
        let params = &s.sent_as("session/resume")[0].json["params"];
        assert_eq!(
            params,
            &json!({ "sessionId": "s-1", "cwd": "/workspace", "mcpServers": [] })
        );
        s.answer("session/resume", "{}");
        s.later(100);
        assert_eq!(bindings(s), [Binding::New, Binding::Resume]);
        assert!(s.sent_as("session/load").is_empty());
        assert!(!s.notices().contains(&"agentForgot".to_owned()));
    });
}

#[test]
fn a_thread_whose_directory_was_moved_continues_in_the_new_one() {
    let moved = |to: &str| {
        Command::Change(Change::SetDirectories(Directories {
            cwd: to.into(),
            additional_directories: Vec::new(),
            real_directories: vec![to.into()],
        }))
    };
    check(|s| {
        s.open_turn();
        assert_eq!(s.ask(moved("/new")).unwrap_err().code, ErrorCode::Conflict);
        s.chunk("first answer");
        s.stops_with("end_turn");
        s.ask(moved("/new")).unwrap();
        assert_eq!(s.stops, 1, "the agent runs in the old directory");
        let live = s.thread.live();
        assert_eq!((&*live.summary.cwd, live.spec.session_cwd()), ("/new", "/new"));
        let told = s.params("thread/updated");
        let told = told
            .iter()
            .find(|params| params.get("directories").is_some())
            .unwrap();
        assert_eq!(
            told["directories"],
            json!({ "cwd": "/new", "additionalDirectories": [] })
        );
        assert_eq!(told["by"]["principal"], "owner");
        let logged = s.log.len();
        s.ask(moved("/new")).unwrap();
        assert_eq!(s.log.len(), logged, "it works there already");
        s.exits("exit status 0");
        s.ask(wake()).unwrap();
        s.answer("initialize", FULL);
        let params = &s.sent_as("session/resume")[0].json["params"];
        assert_eq!(
            (&params["sessionId"], &params["cwd"]),
            (&json!("s-1"), &json!("/new"))
        );
        s.answer("session/resume", "{}");
    });
}

#[test]
fn a_folder_is_added_between_turns_for_an_agent_that_starts_anew() {
    let add = |directory: &str| {
        Command::Change(Change::AddDirectory {
            directory: directory.into(),
            real_directories: Vec::new(),
        })
    };
    check(|s| {
        s.open_turn();
        let refused = s.ask(add("/library")).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Conflict);
        assert!(refused.message.contains("when the turn has ended"), "{refused}");
        s.stops_with("end_turn");
        let logged = s.log.len();
        s.ask(add("/workspace/inside")).unwrap();
        assert_eq!(
            (s.log.len(), s.stops),
            (logged, 0),
            "the agent may use it already"
        );
        s.ask(add("/library")).unwrap();
        assert_eq!(s.stops, 1);
        s.ask(add("/library/part")).unwrap();
        let spec = &s.thread.live().spec;
        assert_eq!(spec.additional_directories, ["/library"]);
        let told = s.params("thread/updated");
        let told = told
            .iter()
            .rfind(|params| params.get("directories").is_some())
            .unwrap();
        assert_eq!(told["directories"]["additionalDirectories"], json!(["/library"]));
        assert_eq!(told["by"]["principal"], "owner");
        s.exits("exit status 0");
    });
}

#[test]
fn a_thread_of_an_older_version_gets_resolved_paths_with_its_first_folder() {
    let add = |directory: &str, real_directories: &[&str]| {
        Command::Change(Change::AddDirectory {
            directory: directory.into(),
            real_directories: real_directories.iter().map(|real| (*real).to_owned()).collect(),
        })
    };
    check(|s| {
        s.open_turn();
        s.stops_with("end_turn");
        let real = |s: &Scene| s.thread.live().spec.real_directories.clone();
        assert!(real(s).is_empty());
        // Those of other directories say nothing about these.
        s.ask(add("/one", &["/real", "/other"])).unwrap();
        assert!(real(s).is_empty());
        s.ask(add("/two", &["/real", "/one"])).unwrap();
        assert_eq!(real(s), ["/real", "/one", "/two"]);
        // Later, they stay as they were recorded.
        s.ask(add("/three", &["/a", "/b", "/c"])).unwrap();
        assert_eq!(real(s), ["/real", "/one", "/two", "/three"]);
        s.exits("exit status 0");
    });
}

#[test]
fn a_thread_has_so_many_further_folders() {
    check(|s| {
        s.open_turn();
        s.stops_with("end_turn");
        let add = |directory: String| {
            Command::Change(Change::AddDirectory {
                directory,
                real_directories: Vec::new(),
            })
        };
        for number in 0..acpd_model::limits::ADDITIONAL_DIRECTORIES {
            s.ask(add(format!("/library-{number}"))).unwrap();
        }
        let refused = s.ask(add("/one-more".to_owned())).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Conflict);
        s.exits("exit status 0");
    });
}

#[test]
fn then_load_then_a_new_session_that_remembers_nothing() {
    check(|s| {
        reopened(s);
        s.answer("initialize", FULL);
        s.refuse("session/resume", -32601, "Method not found");
        s.refuse("session/load", -32002, "Resource not found");
        let params = &s.sent_as("session/new")[1].json["params"];
        assert!(params.get("sessionId").is_none());
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        assert_eq!(bindings(s), [Binding::New, Binding::New]);
        assert_eq!(
            s.notices(),
            ["agentLost", "notReopened", "notReopened", "agentForgot"]
        );
        assert_eq!(s.thread.live().summary.session_id.as_deref(), Some("s-2"));
        s.prompt("and now?");
        assert_eq!(s.sent_as("session/prompt")[1].json["params"]["sessionId"], "s-2");
        s.stops_with("end_turn");
    });
}

#[test]
fn a_process_that_dies_while_it_loads_leaves_its_prompt_to_the_next_method() {
    check(|s| {
        s.open_turn();
        s.stops_with("end_turn");
        s.exits("exit status 0");
        s.prompt("go on");
        s.answer("initialize", FULL);
        s.exits("exit status 1");
        // The process of the next method starts after a delay.
        s.later(5_000);
        s.answer("initialize", FULL);
        s.exits("exit status 1");
        s.later(5_000);
        s.answer("initialize", FULL);
        for (method, times) in [("session/resume", 1), ("session/load", 1), ("session/new", 2)] {
            assert_eq!(s.sent_as(method).len(), times, "{method}");
        }
        assert_eq!(s.thread.live().summary.last_turn, Some(TurnStatus::Completed));
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        let prompt = &s.sent_as("session/prompt")[1].json["params"];
        assert!(prompt["prompt"].to_string().contains("go on"), "{prompt}");
        s.stops_with("end_turn");
    });
}

#[test]
fn undeclared_methods_are_not_tried() {
    let load_only = r#"{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}"#;
    check(|s| {
        reopened(s);
        s.answer("initialize", load_only);
        assert!(s.sent_as("session/resume").is_empty());
        s.answer("session/load", "null");
        s.later(250);
        assert_eq!(bindings(s), [Binding::New, Binding::Load]);
    });
    check(|s| {
        reopened(s);
        s.answer("initialize", r#"{"protocolVersion":1}"#);
        assert!(s.sent_as("session/load").is_empty());
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        assert_eq!(bindings(s), [Binding::New, Binding::New]);
    });
}

#[test]
fn history_is_not_stored_twice() {
    for way in ["session/resume", "session/load"] {
        check(|s| {
            reopened(s);
            s.answer("initialize", FULL);
            if way == "session/load" {
                s.refuse("session/resume", -32601, "Method not found");
            }
            let before = s.next_seq();
            history(s);
            s.later(100);
            assert_eq!(s.methods_from(before), Vec::<&str>::new(), "{way}");
            s.update(COMMANDS);
            s.update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"ask"}"#);
            s.answer(way, r#"{"modes":{"currentModeId":"code","availableModes":[]}}"#);
            s.later(250);
            assert_eq!(
                s.methods_from(before),
                ["thread/updated"; 3],
                "state is news, history is not"
            );
            assert_eq!(s.said(), ["first answer"]);
            assert_eq!(s.thread.live().mode.as_deref(), Some("code"));
            s.prompt("next");
            s.chunk("second answer");
            s.update(&tool("old", true, r#","status":"completed","rawOutput":1"#));
            s.stops_with("end_turn");
            assert_eq!(
                s.said(),
                ["first answer", "second answer"],
                "what comes afterwards is news again"
            );
        });
    }
}

/// Observed with Gemini: the response to `session/load` arrives when the replay has just started.
#[test]
fn history_that_comes_after_the_answer_is_not_stored_twice_either() {
    check(|s| {
        reopened(s);
        let turn = s.prompt("next");
        s.answer("initialize", FULL);
        s.refuse("session/resume", -32601, "Method not found");
        s.chunk("first ");
        s.answer("session/load", "{}");
        for _ in 0..4 {
            s.later(200);
            history(s);
            s.update(COMMANDS);
        }
        assert_eq!(s.said(), ["first answer"]);
        assert!(s.thread.live().commands.is_some(), "state is news all the while");
        assert!(
            !s.awaits("session/prompt"),
            "it is not asked while it repeats old words"
        );
        s.later(249);
        assert!(!s.awaits("session/prompt"));
        s.later(1);
        assert_eq!(bindings(s), [Binding::New, Binding::Load]);
        assert!(s.awaits("session/prompt"), "it has been silent for 250 ms");
        s.chunk("second answer");
        s.stops_with("end_turn");
        assert_eq!(s.status(turn), TurnStatus::Completed);
        assert_eq!(s.said(), ["first answer", "second answer"]);
    });
}

#[test]
fn history_without_end_is_not_waited_for() {
    check(|s| {
        reopened(s);
        s.answer("initialize", FULL);
        s.refuse("session/resume", -32601, "Method not found");
        s.answer("session/load", "{}");
        for _ in 0..599 {
            s.later(100);
            s.chunk("la");
        }
        assert_eq!(bindings(s), [Binding::New]);
        s.later(100);
        assert_eq!(bindings(s), [Binding::New, Binding::Load]);
        s.chunk("news");
        s.prompt("next");
        assert_eq!(s.said(), ["first answer", "news"]);
        s.stops_with("end_turn");
    });
}

#[test]
fn a_way_that_fails_after_some_history_leaves_no_trace_of_it() {
    check(|s| {
        reopened(s);
        s.answer("initialize", FULL);
        s.refuse("session/resume", -32601, "Method not found");
        history(s);
        s.refuse("session/load", -32603, "half way through");
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        assert_eq!(s.said(), ["first answer"]);
    });
}

#[test]
fn an_update_before_the_session_is_open_belongs_to_the_thread() {
    check(|s| {
        let call = s.create();
        s.answer("initialize", FULL);
        s.update(COMMANDS);
        s.update(&message("Welcome!"));
        s.update(&tool("t", false, r#","title":"warm up","status":"completed""#));
        assert!(!s.replies.contains_key(&call));
        s.answer("session/new", r#"{"sessionId":"s-1"}"#);
        let methods = s.methods();
        assert!(methods.contains(&"item/agentMessage/delta"), "{methods:?}");
        assert!(methods.contains(&"item/toolCall/completed"), "{methods:?}");
        assert!(s.thread.live().commands.is_some());
        s.prompt("hello");
        assert_eq!(s.said(), ["Welcome!"], "it ends before the turn begins");
        s.chunk("hi");
        s.stops_with("end_turn");
        assert_eq!(s.said(), ["Welcome!", "hi"]);
        let before_turns = &s.transcript().turns[0];
        assert_eq!((before_turns.id, before_turns.items.len()), (None, 2));
    });
}

#[test]
fn an_update_after_the_answer_to_the_prompt_belongs_to_the_thread() {
    check(|s| {
        s.open_turn();
        s.chunk("done");
        s.stops_with("end_turn");
        let over = s.next_seq();
        s.chunk(", and one more thing");
        s.later(10);
        s.update(r#"{"sessionUpdate":"usage_update","used":5,"size":10}"#);
        assert_eq!(
            s.methods_from(over),
            [
                "item/started",
                "item/agentMessage/delta",
                "thread/tokenUsage/updated"
            ]
        );
        assert!(
            s.params("item/agentMessage/delta")[1].get("turnId").is_none(),
            "its turn is over"
        );
        s.prompt("next");
        s.stops_with("end_turn");
        assert_eq!(s.said(), ["done", ", and one more thing"]);
        assert_eq!(s.status(TurnId(1)), TurnStatus::Completed);
        assert_eq!(
            s.transcript().turns[0].items.len(),
            3,
            "it is read where it was said"
        );
    });
}

#[test]
fn the_tool_calls_of_a_forgotten_session_are_not_mistaken_for_new_ones() {
    check(|s| {
        s.open_turn();
        s.update(&tool("t", false, r#","title":"first","status":"completed""#));
        s.stops_with("end_turn");
        s.exits("exit status 0");
        s.prompt("again");
        s.answer("initialize", r#"{"protocolVersion":1}"#);
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        s.says(&format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s-2","update":{}}}}}"#,
            tool("t", true, r#","title":"second","status":"completed""#)
        ));
        assert_eq!(s.params("item/toolCall/completed").len(), 2);
        s.stops_with("end_turn");
    });
}
