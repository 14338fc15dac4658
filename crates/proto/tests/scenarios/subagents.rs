//! Subagents: sessions of the agent beside the thread's own.

use acpd_model::event::TurnStatus;
use acpd_model::{EventKind, ItemEvent, LaneId, Limits, PreviousContent, ThreadStatus, TurnId};
use acpd_proto::surface::acp::{self, Feature, FrameKind};
use acpd_proto::surface::export::Format;
use acpd_proto::thread::{Answer, Command, HostReply};
use serde_json::{Value, json};

use crate::export::export;
use crate::support::markup::html_is_ours;
use crate::support::{FULL, SESSION, Scene, check, check_in, message, tool, wake};
use crate::tail::tail;

const RUNNING: &str = r#","title":"review","state":{"state":"running"}"#;

fn lane(number: u32) -> Option<LaneId> {
    LaneId::new(number)
}

/// A session of the agent sends an update.
fn update_of(s: &mut Scene, session: &str, update: &str) {
    s.says(&format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{session}","update":{update}}}}}"#
    ));
}

/// The agent of the session `parent` reports on a subagent.
fn report(s: &mut Scene, parent: &str, child: &str, members: &str) {
    update_of(
        s,
        parent,
        &format!(r#"{{"sessionUpdate":"subagent_update","sessionId":"{child}"{members}}}"#),
    );
}

fn asks(s: &mut Scene, id: &str, session: &str, call: &str) {
    let options = r#"[{"optionId":"ao","name":"Once","kind":"allow_once"},{"optionId":"ro","name":"No","kind":"reject_once"}]"#;
    s.calls(
        id,
        "session/request_permission",
        &format!(r#"{{"sessionId":"{session}","toolCall":{{"toolCallId":"t",{call}}},"options":{options}}}"#),
    );
}

/// Returns the messages of the agents, with their lanes.
fn messages(s: &Scene) -> Vec<(Option<LaneId>, String)> {
    let spoken = |params: &&Value| params["type"] == "agentMessage";
    let lane = |params: &Value| params["lane"].as_str().map(|lane| lane.parse().unwrap());
    s.params("item/completed")
        .iter()
        .filter(spoken)
        .map(|params| (lane(params), params["text"].as_str().unwrap().to_owned()))
        .collect()
}

fn codes(s: &Scene, code: &str) -> usize {
    s.notices().iter().filter(|known| *known == code).count()
}

/// A subagent, one of a subagent, and one that nobody has announced ask, write and run commands.
#[test]
fn a_subagent_asks_writes_and_runs_in_its_lane() {
    type Begin = fn(&mut Scene);
    let scenes: [(&str, u32, &str, Begin); 4] = [
        ("c", 1, "Subagent \"review\"", |s| {
            report(s, SESSION, "c", RUNNING)
        }),
        // Its description cannot end the name.
        ("d", 1, "Subagent \"x' works\"", |s| {
            let described = r#","title":" ","description":"x\" works","state":{"state":"running"}"#;
            report(s, SESSION, "d", described);
        }),
        ("g", 2, "Subagent \"deep\"", |s| {
            report(s, SESSION, "c", RUNNING);
            report(s, "c", "g", r#","title":"deep","state":{"state":"running"}"#);
        }),
        ("task-1", 1, "Subagent \"task-1\"", |s| {
            s.update(&tool("task", false, r#","kind":"think""#));
            update_of(s, "task-1", &message("hello"));
        }),
    ];
    for (session, number, name, begin) in scenes {
        let scene = check(|s| {
            s.open_turn();
            s.ask(Command::SetPolicy(Some(json!({ "ask": ["*"] }).into())))
                .unwrap();
            begin(s);
            asks(
                s,
                "7",
                session,
                r#""title":"rm x","kind":"execute","rawInput":{"command":"rm x"}"#,
            );
            let asked = &s.params("item/commandExecution/requestApproval")[0];
            assert_eq!(asked["title"], format!("{name}: rm x"));
            assert_eq!(asked["lane"], format!("lane_{number}"));
            s.decide(1, Answer::Decline { always: false }).unwrap();
            assert_eq!(s.answer_to(&json!(7))["result"]["outcome"]["optionId"], "ro");
            s.calls(
                "8",
                "fs/write_text_file",
                &format!(r#"{{"sessionId":"{session}","path":"/workspace/f","content":"x"}}"#),
            );
            let asked = &s.params("item/fileChange/requestApproval")[0];
            assert_eq!(asked["title"], format!("{name} wants to write /workspace/f"));
            s.decide(2, Answer::Accept { always: false }).unwrap();
            s.host_replies(Ok(HostReply::Written {
                old: PreviousContent::Nothing,
            }));
            assert_eq!(s.answer_to(&json!(8))["result"], json!({}));
            s.calls(
                "9",
                "terminal/create",
                &format!(r#"{{"sessionId":"{session}","command":"ls"}}"#),
            );
            let asked = &s.params("item/commandExecution/requestApproval")[1];
            assert_eq!(asked["title"], format!("{name} wants to run ls"));
            s.decide(3, Answer::Accept { always: false }).unwrap();
            s.host_replies(Ok(HostReply::Created));
            assert!(s.answer_to(&json!(9))["result"]["terminalId"].is_string());
            s.stops_with("end_turn");
        });
        for method in [
            "item/fileChange/started",
            "item/fileChange/completed",
            "thread/file/written",
            "item/terminalCommand/started",
        ] {
            assert_eq!(
                scene.params(method)[0]["lane"],
                format!("lane_{number}"),
                "{method}"
            );
        }
        let resolved = scene.params("serverRequest/resolved");
        assert!(
            resolved
                .iter()
                .all(|params| params["lane"] == format!("lane_{number}")),
            "{resolved:?}"
        );
        let lanes = &scene.thread.live().lanes;
        assert_eq!(lanes.get(lane(number).unwrap()).unwrap().depth, number);
        assert_eq!(codes(&scene, "subagentAssumed"), usize::from(session == "task-1"));
    }
}

#[test]
fn a_subagent_cannot_use_what_its_parent_was_allowed() {
    let write = r#""path":"/workspace/f","content":"x"}"#;
    let edit = r#""kind":"edit","rawInput":{"path":"/workspace/f","content":"x"}"#;
    for (asks_first, then) in [(SESSION, "c"), ("c", SESSION), ("c", "d")] {
        check(|s| {
            s.open_turn();
            s.ask(Command::SetPolicy(Some(json!({ "ask": ["*"] }).into())))
                .unwrap();
            report(s, SESSION, "c", RUNNING);
            report(s, SESSION, "d", RUNNING);
            asks(s, "7", asks_first, edit);
            s.decide(1, Answer::Accept { always: false }).unwrap();
            s.calls(
                "8",
                "fs/write_text_file",
                &format!(r#"{{"sessionId":"{then}",{write}"#),
            );
            assert_eq!(s.thread.live().requests.len(), 1, "{then} has to ask");
            s.decide(2, Answer::Decline { always: false }).unwrap();
            s.calls(
                "9",
                "fs/write_text_file",
                &format!(r#"{{"sessionId":"{asks_first}",{write}"#),
            );
            assert!(s.thread.live().requests.is_empty(), "{asks_first} was allowed");
            s.host_replies(Ok(HostReply::Written {
                old: PreviousContent::Nothing,
            }));
            s.stops_with("end_turn");
        });
    }
}

#[test]
fn a_lasting_answer_says_that_it_holds_for_all() {
    check(|s| {
        s.open_turn();
        s.ask(Command::SetPolicy(Some(json!({ "ask": ["*"] }).into())))
            .unwrap();
        report(s, SESSION, "c", RUNNING);
        s.calls("8", "terminal/create", r#"{"sessionId":"c","command":"ls"}"#);
        let always = s.params("item/commandExecution/requestApproval")[0]["always"].to_string();
        assert!(always.contains("by any agent of this thread"), "{always}");
        s.decide(1, Answer::Decline { always: false }).unwrap();
        s.stops_with("end_turn");
    });
}

#[test]
fn messages_of_several_subagents_do_not_mix() {
    for ids in [false, true] {
        let scene = check(|s| {
            s.open_turn();
            report(s, SESSION, "a", RUNNING);
            report(s, SESSION, "b", RUNNING);
            let chunk = |text: &str| {
                let chunk = message(text);
                if ids {
                    chunk.replacen('{', r#"{"messageId":"m","#, 1)
                } else {
                    chunk
                }
            };
            for (session, text) in [
                ("a", "a1 "),
                ("b", "b1 "),
                (SESSION, "m1 "),
                ("a", "a2"),
                ("b", "b2"),
                (SESSION, "m2"),
            ] {
                update_of(s, session, &chunk(text));
            }
            for session in ["a", "b"] {
                report(s, SESSION, session, r#","state":{"state":"idle"}"#);
            }
            s.stops_with("end_turn");
        });
        let mut said = messages(&scene);
        said.sort();
        let expected = [(None, "m1 m2"), (lane(1), "a1 a2"), (lane(2), "b1 b2")];
        assert_eq!(said, expected.map(|(lane, text)| (lane, text.to_owned())));
    }
}

#[test]
fn a_message_of_a_subagent_that_works_outlives_turns() {
    check_in(Scene::with_limits(Limits::default()), |s| {
        s.open_turn();
        report(s, SESSION, "a", RUNNING);
        update_of(s, "a", &message("one "));
        s.stops_with("end_turn");
        update_of(s, "a", &message("mes"));
        s.prompt("next");
        update_of(s, "a", &message("sage"));
        s.stops_with("end_turn");
        assert!(messages(s).is_empty());
        report(s, SESSION, "a", r#","state":{"state":"idle"}"#);
        s.later(1000);
        assert_eq!(messages(s), [(lane(1), "one message".to_owned())]);
    });
    // It ends with the process.
    check_in(Scene::with_limits(Limits::default()), |s| {
        s.open_turn();
        report(s, SESSION, "a", RUNNING);
        update_of(s, "a", &message("half"));
        s.stops_with("end_turn");
        s.send(Command::Delete);
        assert!(s.thread.live().items.is_empty());
        s.exits("exit status 0");
        assert_eq!(messages(s), [(lane(1), "half".to_owned())]);
    });
}

#[test]
fn calls_with_the_same_id_are_those_of_their_subagents() {
    check(|s| {
        s.open_turn();
        report(s, SESSION, "a", RUNNING);
        s.update(&tool("t", false, r#","title":"main","kind":"read""#));
        update_of(s, "a", &tool("t", false, r#","title":"child","kind":"read""#));
        s.update(&tool("t", true, r#","status":"completed""#));
        let done = s.params("item/toolCall/completed");
        assert_eq!((done.len(), done[0].get("lane")), (1, None));
        update_of(s, "a", &tool("t", true, r#","status":"failed""#));
        let done = &s.params("item/toolCall/completed")[1];
        assert_eq!(
            (&done["lane"], &done["outcome"]),
            (&json!("lane_1"), &json!("failed"))
        );
        s.stops_with("end_turn");
    });
}

#[test]
fn reports_of_a_subagent_on_its_own_session_are_not_the_threads() {
    let scene = check(|s| {
        s.open_turn();
        report(s, SESSION, "a", RUNNING);
        for update in [
            r#"{"sessionUpdate":"plan","entries":[{"content":"x","priority":"high","status":"pending"}]}"#,
            r#"{"sessionUpdate":"usage_update","used":7,"size":9}"#,
            r#"{"sessionUpdate":"current_mode_update","currentModeId":"wild"}"#,
            r#"{"sessionUpdate":"session_info_update","title":"mine"}"#,
        ] {
            update_of(s, "a", update);
        }
        s.stops_with("end_turn");
    });
    let live = scene.thread.live();
    assert!(live.plans.as_slice().is_empty() && live.usage.is_none() && live.mode.is_none());
    assert_eq!(live.names.agent, None);
    let kept = scene.params("agent/notification");
    assert!(
        kept.len() == 4 && kept.iter().all(|kept| kept["lane"] == "lane_1"),
        "{kept:?}"
    );
}

#[test]
fn a_plan_of_a_subagent_starts_no_turn() {
    check_in(Scene::with_limits(Limits::default()), |s| {
        s.open_turn();
        report(s, SESSION, "a", RUNNING);
        report(s, SESSION, "a", r#","state":{"state":"idle"}"#);
        s.stops_with("end_turn");
        let plan =
            r#"{"sessionUpdate":"plan","entries":[{"content":"x","priority":"high","status":"pending"}]}"#;
        update_of(s, "a", plan);
        update_of(s, "a", plan);
        s.later(60_000);
        assert_eq!(s.settled_turns().len(), 1);
    });
}

#[test]
fn lists_name_the_subagent_that_asks() {
    check_in(Scene::with_limits(Limits::default()), |s| {
        s.open_turn();
        report(s, SESSION, "a", RUNNING);
        let asker = |s: &Scene| {
            let question = s.thread.live().summary.question.as_ref();
            question.map(|question| question.asker.clone())
        };
        asks(s, "7", "a", r#""title":"rm x","kind":"execute""#);
        assert_eq!(asker(s), Some(Some(r#"Subagent "review""#.to_owned())));
        s.decide(1, Answer::Accept { always: false }).unwrap();
        asks(s, "8", SESSION, r#""title":"rm y","kind":"execute""#);
        assert_eq!(asker(s), Some(None));
        s.decide(2, Answer::Accept { always: false }).unwrap();
        report(s, SESSION, "a", r#","state":{"state":"idle"}"#);
        s.stops_with("end_turn");
        s.later(60_000);
    });
}

#[test]
fn documents_have_what_a_subagent_did_in_one_place() {
    let scene = check_in(Scene::with_limits(Limits::default()), |s| {
        s.open_turn();
        let plan = |step: &str| {
            format!(
                r#"{{"sessionUpdate":"plan","entries":[{{"content":"{step}","priority":"high","status":"pending"}}]}}"#
            )
        };
        update_of(s, SESSION, &plan("of the agent"));
        report(
            s,
            SESSION,
            "a",
            r#","title":"re<view>","state":{"state":"running"}"#,
        );
        update_of(s, "a", &message("from the subagent"));
        update_of(s, SESSION, &message("from the agent"));
        update_of(s, "a", &tool("t", false, r#","title":"Look","kind":"read""#));
        update_of(s, "a", &tool("t", true, r#","status":"completed""#));
        update_of(s, "a", &plan("of the subagent"));
        report(s, SESSION, "a", r#","state":{"state":"idle"}"#);
        s.stops_with("end_turn");
        s.later(1000);
    });
    let html = export(&scene, Format::Html);
    html_is_ours(&html);
    let begin = html
        .find("<summary>Subagent <code>re&lt;view&gt;</code>")
        .unwrap();
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("no {text:?}: {html}"));
    let (inside, agent) = (
        html[begin..]
            .split("</details>\n</article>\n<article class=\"agent\">")
            .next()
            .unwrap(),
        at("from the agent"),
    );
    for text in ["from the subagent", "Look"] {
        assert!(inside.contains(text), "{text:?} is not in {inside}");
    }
    assert!(begin < agent && !inside.contains("from the agent"), "{html}");
    assert!(
        !inside.contains("of the agent"),
        "the plan is not the subagent's: {html}"
    );
    assert!(
        !html.contains("of the subagent"),
        "the log alone has its plan: {html}"
    );
    assert_eq!(html.matches("<article class=\"subagent\">").count(), 1);
    let markdown = export(&scene, Format::Markdown);
    assert!(markdown.contains("**Subagent `re<view>`: Agent**"), "{markdown}");
    assert!(markdown.contains("**Agent**"), "{markdown}");
}

#[test]
fn a_patch_changes_what_it_names() {
    let scene = check(|s| {
        s.open_turn();
        report(
            s,
            SESSION,
            "a",
            r#","title":"review","description":"reads","cwd":"/elsewhere","additionalDirectories":["/"]"#,
        );
        report(
            s,
            SESSION,
            "a",
            r#","description":null,"state":{"state":"idle","stopReason":"end_turn"}"#,
        );
        s.stops_with("end_turn");
    });
    let changed = scene.params("thread/lane/updated");
    assert_eq!(changed[1]["description"], Value::Null);
    assert_eq!(changed[1].get("title"), None);
    let lanes = &scene.thread.live().lanes;
    let known = lanes.get(lane(1).unwrap()).unwrap();
    assert_eq!(known.title.as_deref(), Some("review"));
    assert_eq!(known.description, None);
    assert!(!known.is_live && !known.is_at_work());
}

/// Directories of a subagent are words of the agent.
#[test]
fn a_subagents_files_stay_in_the_directories_of_the_thread() {
    check(|s| {
        s.open_turn();
        report(
            s,
            SESSION,
            "a",
            r#","cwd":"/elsewhere","additionalDirectories":["/elsewhere"]"#,
        );
        s.calls("7", "terminal/create", r#"{"sessionId":"a","command":"ls"}"#);
        let asked = format!("{:?}", s.waiting[0].1);
        assert!(
            asked.contains("/workspace") && !asked.contains("/elsewhere"),
            "{asked}"
        );
        s.host_replies(Ok(HostReply::Created));
        s.stops_with("end_turn");
    });
}

#[test]
fn subagents_are_bounded() {
    // In the thread's life.
    let scene = check(|s| {
        s.open_turn();
        for number in 0..1025 {
            report(s, SESSION, &format!("c{number}"), r#","state":{"state":"idle"}"#);
        }
        assert_eq!(s.thread.live().lanes.count(), 1024);
        s.calls(
            "7",
            "fs/read_text_file",
            r#"{"sessionId":"c1024","path":"/workspace/f"}"#,
        );
        assert_eq!(s.answer_to(&json!(7))["error"]["code"], -32602);
        s.stops_with("end_turn");
    });
    assert_eq!(codes(&scene, "subagentRefused"), 1);
    // At the same time.
    let scene = check(|s| {
        s.open_turn();
        for number in 0..70 {
            report(s, SESSION, &format!("c{number}"), RUNNING);
        }
        assert_eq!(s.thread.live().lanes.count(), 64);
        report(s, SESSION, "c0", r#","state":{"state":"idle"}"#);
        report(s, SESSION, "c69", RUNNING);
        assert_eq!(s.thread.live().lanes.count(), 65);
        s.stops_with("end_turn");
    });
    assert_eq!(codes(&scene, "subagentRefused"), 1);
    // In depth.
    let scene = check(|s| {
        s.open_turn();
        let mut parent = SESSION.to_owned();
        for depth in 1..=9 {
            let child = format!("d{depth}");
            report(s, &parent, &child, RUNNING);
            parent = child;
        }
        assert_eq!(s.thread.live().lanes.count(), 8);
        s.stops_with("end_turn");
    });
    assert_eq!(codes(&scene, "subagentRefused"), 1);
}

#[test]
fn a_report_on_the_threads_own_session_is_refused() {
    let scene = check(|s| {
        s.open_turn();
        report(s, SESSION, "a", RUNNING);
        report(s, "a", SESSION, RUNNING);
        s.chunk("mine");
        s.stops_with("end_turn");
    });
    assert_eq!(codes(&scene, "subagentRefused"), 1);
    assert_eq!(messages(&scene), [(None, "mine".to_owned())]);
}

#[test]
fn an_unknown_session_without_a_running_call_is_foreign() {
    let scene = check(|s| {
        s.open_turn();
        update_of(s, "other", &message("hello"));
        s.calls(
            "7",
            "fs/read_text_file",
            r#"{"sessionId":"other","path":"/workspace/f"}"#,
        );
        assert_eq!(s.answer_to(&json!(7))["error"]["code"], -32602);
        s.stops_with("end_turn");
    });
    assert_eq!(scene.thread.live().lanes.count(), 0);
}

#[test]
fn the_thread_stays_active_while_a_subagent_works() {
    check_in(Scene::with_limits(Limits::default()), |s| {
        s.open_turn();
        report(s, SESSION, "a", RUNNING);
        update_of(s, "a", &tool("t", false, r#","kind":"read""#));
        asks(s, "7", "a", r#""title":"rm x","kind":"execute""#);
        s.stops_with("end_turn");
        assert_eq!(s.status(TurnId(1)), TurnStatus::Completed);
        s.later(60_000);
        assert_eq!(s.thread.live().requests.len(), 1, "the question is still open");
        assert_eq!(s.thread.live().turn.map(|turn| turn.id), Some(TurnId(2)));
        s.decide(1, Answer::Accept { always: false }).unwrap();
        s.later(10_000);
        assert_eq!(s.thread.live().summary.status, ThreadStatus::Running);
        assert_eq!(s.params("item/toolCall/completed").len(), 0, "its call goes on");
        update_of(s, "a", &tool("t", true, r#","status":"completed""#));
        report(s, SESSION, "a", r#","state":{"state":"idle"}"#);
        s.later(60_000);
        assert_eq!(s.thread.live().summary.status, ThreadStatus::Idle);
        assert_eq!(s.settled_turns().len(), 2);
    });
}

#[test]
fn a_busy_subagent_does_not_delay_the_end_of_a_turn() {
    check_in(Scene::with_limits(Limits::default()), |s| {
        s.open_turn();
        report(s, SESSION, "a", RUNNING);
        s.answers_prompt("end_turn");
        s.later(tail() - 1);
        update_of(s, "a", &message("still "));
        assert!(s.settled_turns().is_empty());
        s.later(1);
        assert_eq!(s.status(TurnId(1)), TurnStatus::Completed);
        update_of(s, "a", &message("busy"));
        s.exits("exit status 0");
    });
}

/// The text is the rest of an answer that a user has cut off, whatever subagents do meanwhile.
#[test]
fn a_busy_subagent_takes_no_rest_from_the_turn() {
    let stops: [fn(&mut Scene); 2] = [
        |s| {
            s.interrupt();
            s.answers_prompt("cancelled");
        },
        |s| {
            s.answers_prompt("end_turn");
            s.interrupt();
        },
    ];
    for stop in stops {
        check_in(Scene::with_limits(Limits::default()), |s| {
            s.open_turn();
            report(s, SESSION, "a", RUNNING);
            stop(s);
            assert_eq!(s.settled_turns().len(), 1, "the user does not wait");
            update_of(s, "a", &message("busy"));
            assert_eq!(s.thread.live().last_turn, 2);
            s.later(tail() / 2);
            s.chunk("Stopped.");
            s.later(tail());
            let said = crate::tail::messages(s);
            assert!(said.contains(&(Some(1), "Stopped.".to_owned())), "{said:?}");
            s.exits("exit status 0");
        });
    }
}

#[test]
fn text_of_the_agent_after_its_subagent_is_in_the_same_turn() {
    check_in(Scene::with_limits(Limits::default()), |s| {
        s.open_turn();
        report(s, SESSION, "a", RUNNING);
        s.stops_with("end_turn");
        s.later(60_000);
        report(s, SESSION, "a", r#","state":{"state":"idle"}"#);
        s.later(100);
        s.chunk("it has found nothing");
        s.later(60_000);
        assert_eq!(s.settled_turns().len(), 2);
        assert_eq!(s.thread.live().summary.status, ThreadStatus::Idle);
    });
}

#[test]
fn stop_stops_all() {
    check_in(Scene::with_limits(Limits::default()), |s| {
        s.open_turn();
        report(
            s,
            SESSION,
            "a",
            &format!(r#"{RUNNING},"capabilities":{{"cancel":{{}}}}"#),
        );
        report(s, SESSION, "b", RUNNING);
        s.interrupt();
        let cancelled: Vec<&Value> = s
            .sent_as("session/cancel")
            .iter()
            .map(|sent| &sent.json["params"]["sessionId"])
            .collect();
        assert_eq!(cancelled, ["a", SESSION]);
        report(
            s,
            SESSION,
            "a",
            r#","state":{"state":"idle","stopReason":"cancelled"}"#,
        );
        s.stops_with("cancelled");
        assert_eq!(s.thread.live().summary.status, ThreadStatus::Idle);
    });
}

#[test]
fn a_process_that_exits_ends_its_subagents() {
    let scene = check(|s| {
        s.open_turn();
        report(s, SESSION, "a", RUNNING);
        update_of(s, "a", &message("half"));
        update_of(s, "a", &tool("t", false, ""));
        s.exits("crashed");
    });
    assert_eq!(scene.thread.live().lanes.at_work().count(), 0);
    assert!(scene.thread.live().items.is_empty());
    assert_eq!(scene.params("thread/lane/updated")[1]["state"], Value::Null);
    // The next daemon knows the same.
    let again = Scene::restarted(&scene.log[..scene.log.len() / 2]);
    assert_eq!(again.thread.live().lanes.at_work().count(), 0);
}

/// Observed with Codex: an agent that loads a session repeats what its subagents did, too.
#[test]
fn history_of_a_subagent_is_not_stored_twice() {
    fn work(s: &mut Scene) {
        report(s, SESSION, "a", RUNNING);
        update_of(
            s,
            "a",
            &tool("t", false, r#","title":"look","status":"completed""#),
        );
        update_of(s, "a", &message("found"));
        update_of(
            s,
            "a",
            r#"{"sessionUpdate":"session_message","messageId":"m","senderSessionId":"a","content":[{"type":"text","text":"done"}]}"#,
        );
        report(s, SESSION, "a", r#","state":{"state":"idle"}"#);
    }
    fn calls(s: &Scene) -> usize {
        s.params("item/toolCall/completed").len()
    }
    let scene = check(|s| {
        s.open_turn();
        work(s);
        s.stops_with("end_turn");
        let (said, called) = (messages(s), calls(s));
        s.exits("exit status 0");
        s.ask(wake()).unwrap();
        s.answer("initialize", FULL);
        s.refuse("session/resume", -32601, "Method not found");
        work(s);
        s.answer("session/load", "{}");
        s.later(200);
        work(s);
        s.prompt("next");
        s.later(249);
        assert!(!s.awaits("session/prompt"), "it may still repeat");
        s.later(1);
        assert_eq!((messages(s), calls(s)), (said, called));
        assert!(s.awaits("session/prompt"));
        report(s, SESSION, "a", RUNNING);
        update_of(s, "a", &message("news"));
        report(s, SESSION, "a", r#","state":{"state":"idle"}"#);
        s.stops_with("end_turn");
    });
    assert_eq!(scene.thread.live().lanes.count(), 1);
    assert_eq!(messages(&scene).last(), Some(&(lane(1), "news".to_owned())));
}

#[test]
fn messages_between_sessions_are_in_the_lane() {
    let scene = check(|s| {
        s.open_turn();
        report(s, SESSION, "a", RUNNING);
        let chunk = |id: &str, text: &str| {
            format!(
                r#"{{"sessionUpdate":"session_message_chunk","messageId":"{id}","content":{{"type":"text","text":"{text}"}}}}"#
            )
        };
        s.update(&chunk("m0", "not shown"));
        update_of(s, "a", &chunk("m1", "do "));
        update_of(s, "a", &chunk("m1", "this"));
        update_of(
            s,
            "a",
            r#"{"sessionUpdate":"session_message","messageId":"m2","senderSessionId":"a","content":[{"type":"text","text":"done"}]}"#,
        );
        report(s, SESSION, "a", r#","state":{"state":"idle"}"#);
        s.stops_with("end_turn");
    });
    assert_eq!(messages(&scene), [(lane(1), "done".to_owned())]);
    let received = scene.params("item/completed");
    let received = received
        .iter()
        .find(|params| params["type"] == "userMessage" && params.get("lane").is_some());
    assert_eq!(received.unwrap()["text"], "do this");
    // No user has said it.
    for format in [Format::Markdown, Format::Html] {
        let document = export(&scene, format);
        assert!(
            document.contains("Told") && !document.contains("as the agent remembers it"),
            "{document}"
        );
    }
}

#[test]
fn editors_see_subagents_as_they_can() {
    let scene = check(|s| {
        s.open_turn();
        report(s, SESSION, "a", RUNNING);
        update_of(s, "a", &message("hidden"));
        update_of(s, "a", &tool("t", false, r#","title":"look","_meta":{"x":1}"#));
        s.stops_with("end_turn");
    });
    let thread = scene.id.to_string();
    let frames = acp::frames(&thread, &scene.log);
    let of = |kind: FrameKind| -> Vec<Value> {
        let texts = frames.iter().filter(|frame| frame.kind == kind);
        let texts = texts.filter_map(|frame| frame.text.as_ref());
        texts
            .map(|text| serde_json::from_slice::<Value>(text).unwrap()["params"].take())
            .collect()
    };
    let declared = of(FrameKind::Declared(Feature::Subagents));
    assert_eq!(declared[0]["sessionId"], thread);
    assert_eq!(declared[0]["update"]["sessionId"], format!("{thread}/lane_1"));
    let others = &declared[1..];
    assert!(
        others.len() >= 2
            && others
                .iter()
                .all(|params| params["sessionId"] == format!("{thread}/lane_1"))
    );
    let plain = of(FrameKind::OfSubagent(lane(1).unwrap()));
    assert_eq!(plain[0]["sessionId"], thread);
    assert_eq!(plain[0]["update"]["title"], "Subagent: look");
    assert_eq!(
        plain[0]["update"]["_meta"],
        json!({ "x": 1, "acpd": { "lane": "lane_1" } })
    );
    let words = of(FrameKind::Update);
    assert!(
        words.iter().all(|params| !params.to_string().contains("hidden")),
        "{words:?}"
    );
}

#[test]
fn calls_link_to_no_session_of_the_agent() {
    let content = r#""content":[{"type":"content","content":{"type":"text","text":"kept"}},{ "sessionId":"b", "type" : "session" }]"#;
    let scene = check(|s| {
        s.open_turn();
        s.ask(Command::SetPolicy(Some(json!({ "ask": ["*"] }).into())))
            .unwrap();
        report(s, SESSION, "a", RUNNING);
        for session in [SESSION, "a"] {
            update_of(s, session, &tool("call", false, &format!(",{content}")));
            update_of(
                s,
                session,
                &tool("call", true, &format!(r#","_meta":{{"x":1}},{content}"#)),
            );
        }
        // A parameter beside the update.
        s.says(&format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{SESSION}","more":1,"update":{}}}}}"#,
            tool("beside", false, &format!(",{content}"))
        ));
        asks(
            s,
            "7",
            "a",
            &format!(r#""kind":"execute","rawInput":{{"command":"rm x"}},{content}"#),
        );
        s.decide(1, Answer::Decline { always: false }).unwrap();
        s.stops_with("end_turn");
    });
    let frames = acp::frames(&scene.id.to_string(), &scene.log);
    let texts = frames.iter().filter_map(|frame| frame.text.as_deref());
    let texts: Vec<&str> = texts.map(|text| std::str::from_utf8(text).unwrap()).collect();
    let with = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
    assert!(with(r#""text":"kept""#) >= 8, "{texts:#?}");
    assert_eq!(with(r#""sessionId":"b""#), 0, "{texts:#?}");
    assert_eq!(with(r#""more":1"#), 1);
}

#[test]
fn each_lane_is_that_of_a_subagent() {
    let scene = check(|s| {
        s.open_turn();
        s.update(&tool("task", false, r#","kind":"other""#));
        update_of(s, "x", &tool("t", false, ""));
        s.chunk("main");
        s.stops_with("end_turn");
    });
    let started = scene.log.iter().filter_map(|event| match &event.kind {
        EventKind::Item(ItemEvent::Started { item, .. }) => Some((item.0, event.lane)),
        _ => None,
    });
    let started: Vec<_> = started.collect();
    assert_eq!(started, [(1, None), (2, None), (3, lane(1)), (4, None)]);
}
