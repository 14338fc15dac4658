//! Items: what a client sees live, and what it reads afterwards.

use std::collections::BTreeMap;

use acpd_model::limits::{CODEX_ITEM_BYTES, DIFF_BYTES};
use acpd_model::{Event, EventKind, ItemEvent, ItemStart, Limits, RawJson, Role};
use acpd_proto::projection::{Live, Transcript, TurnsPage, text_block};
use acpd_proto::thread::{Command, HostReply, TerminalAct, TerminalEvent};
use serde_json::{Value, json};

use super::client::{Client, view};
use crate::steer::STEERS;
use crate::support::recording::Recording;
use crate::support::replay::{Replay, conversations};
use crate::support::{Scene, check, check_in, message, thought, tool};

/// Returns the items of a thread by turn, as its history has them, and checks that pages of any size have the same.
fn history(log: &[Event]) -> BTreeMap<String, Value> {
    let live = folded(log);
    let mut transcript = Transcript::new(live.thread);
    for event in log {
        transcript.fold(event);
    }
    let page = TurnsPage {
        turns: transcript.into_turns(),
        older: None,
    };
    let mut client = Client::ready(Role::Owner);
    let params =
        json!({ "threadId": live.thread, "itemsView": "full", "limit": 200, "sortDirection": "asc" });
    let id = client.request("thread/turns/list", &params);
    client.reply(Ok(view(&live, Some(page.clone()))));
    let turns = client.response(id)["result"]["data"].take();
    let mut items = BTreeMap::new();
    for turn in turns.as_array().unwrap() {
        for item in turn["items"].as_array().unwrap() {
            items.insert(item["id"].as_str().unwrap().to_owned(), item.clone());
        }
    }
    let id = client.request(
        "thread/items/list",
        &json!({ "threadId": live.thread, "limit": 200 }),
    );
    client.reply(Ok(view(&live, Some(page))));
    let listed = client.response(id)["result"]["data"].take();
    let listed: Vec<&Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["item"])
        .collect();
    assert_eq!(listed.len(), items.len());
    assert!(
        listed
            .iter()
            .all(|item| items[item["id"].as_str().unwrap()] == **item)
    );
    items
}

#[test]
fn a_summary_has_the_answer_of_the_agent_itself() {
    let scene = check(|s| {
        s.open_turn();
        s.chunk("Both are done.");
        s.update(r#"{"sessionUpdate":"subagent_update","sessionId":"c","state":{"state":"running"}}"#);
        s.says(&format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"c","update":{}}}}}"#,
            message("not the answer")
        ));
        s.update(r#"{"sessionUpdate":"subagent_update","sessionId":"c","state":{"state":"idle"}}"#);
        s.stops_with("end_turn");
    });
    let live = folded(&scene.log);
    let mut transcript = Transcript::new(live.thread);
    for event in &scene.log {
        transcript.fold(event);
    }
    let page = TurnsPage {
        turns: transcript.into_turns(),
        older: None,
    };
    let mut client = Client::ready(Role::Owner);
    let id = client.request(
        "thread/turns/list",
        &json!({ "threadId": live.thread, "itemsView": "summary", "limit": 200 }),
    );
    client.reply(Ok(view(&live, Some(page))));
    let turns = client.response(id)["result"]["data"].take();
    let items = turns[0]["items"].as_array().unwrap();
    let types: Vec<&Value> = items.iter().map(|item| &item["type"]).collect();
    assert_eq!(types, ["userMessage", "agentMessage"], "{items:?}");
    assert_eq!(items[1]["text"], "Both are done.");
}

fn folded(log: &[Event]) -> Live {
    let mut live = Live::new(crate::support::Scene::new().id);
    for event in log {
        live.fold(event);
    }
    live
}

/// Returns the finished items that a client was shown. A message that was shown in parts is one again.
fn shown(client: &Client) -> BTreeMap<String, Value> {
    let mut items: BTreeMap<String, Value> = BTreeMap::new();
    for params in client.params("item/completed") {
        let mut item = params["item"].clone();
        let id = item["id"].as_str().unwrap();
        let whole = id.splitn(3, '_').take(2).collect::<Vec<_>>().join("_");
        item["id"] = json!(whole);
        let member = match item["type"].as_str() {
            Some("agentMessage") => "/text",
            Some("reasoning") => "/summary/0",
            _ => "",
        };
        let before = items
            .get(&whole)
            .and_then(|before| before.pointer(member))
            .cloned();
        if let (Some(Value::String(before)), Some(Value::String(text))) = (before, item.pointer_mut(member)) {
            text.insert_str(0, &before);
        }
        items.insert(whole, item);
    }
    items
}

/// Checks the order of an item's messages: it starts once, changes in between, and ends once, as the same type.
fn check_order(client: &Client) {
    let mut open: BTreeMap<&str, &Value> = BTreeMap::new();
    for message in &client.got {
        let params = &message["params"];
        let id = params["item"]["id"].as_str().or(params["itemId"].as_str());
        let (Some(method), Some(id)) = (message["method"].as_str(), id) else {
            continue;
        };
        match method {
            "item/started" => {
                assert!(
                    open.insert(id, &params["item"]["type"]).is_none(),
                    "{id} starts twice"
                );
            }
            "item/completed" => {
                let kind = open
                    .remove(id)
                    .unwrap_or_else(|| panic!("{id} ends without a start"));
                assert_eq!(kind, &params["item"]["type"], "{id} changes its type");
            }
            _ if method.ends_with("elta") => assert!(open.contains_key(id), "{method} of {id}"),
            _ => {}
        }
    }
}

/// Plays a log to a client, in batches of `size` events.
fn told(log: &[Event], size: usize) -> Client {
    let live = folded(&log[..1]);
    let mut client = Client::following(&live);
    for batch in log[1..].chunks(size) {
        client.deliver(live.thread, batch);
    }
    check_order(&client);
    client
}

fn play(agent: &str) {
    let recording = Recording::read(agent);
    let all = conversations(&recording);
    for one in &all {
        let limits = Limits {
            cancel_secs: 300,
            ..Scene::limits()
        };
        let scene = check_in(Scene::with_limits(limits), |scene| {
            let stage = std::mem::replace(scene, Scene::new());
            *scene = Replay::play(&recording, &all, one, stage).scene;
        });
        let client = told(&scene.log, 7);
        let read = history(&scene.log);
        let live = shown(&client);
        for (id, item) in &read {
            if item["status"] != "inProgress" {
                assert_eq!(live.get(id), Some(item), "{agent}: {id}");
            }
        }
        for id in live.keys() {
            assert!(read.contains_key(id), "{agent}: {id} is not in the history");
        }
        assert!(!read.is_empty(), "{agent} did nothing");
    }
}

macro_rules! each {
    ($($name:ident $agent:literal),+ $(,)?) => {
        $(#[test]
        fn $name() {
            play($agent);
        })+
    };
}

each!(
    what_codex_does_is_read_as_it_was_shown "codex",
    what_deepagents_does_is_read_as_it_was_shown "deepagents",
    what_gemini_does_is_read_as_it_was_shown "gemini",
    what_opencode_does_is_read_as_it_was_shown "opencode",
    what_openhands_does_is_read_as_it_was_shown "openhands",
    what_the_sdk_agent_does_is_read_as_it_was_shown "sdk-agent",
    what_zed_codex_does_is_read_as_it_was_shown "zed-codex",
    what_fast_agent_does_is_read_as_it_was_shown "fast-agent-passthrough",
);

#[test]
fn text_ends_where_a_call_starts() {
    let scene = check(|scene| {
        scene.open_turn();
        let with_id = |text: &str| message(text).replacen('{', r#"{"messageId":"m","#, 1);
        scene.update(&with_id("before"));
        scene.update(&tool(
            "t",
            false,
            r#","title":"ls","kind":"execute","status":"in_progress""#,
        ));
        scene.update(&with_id(" after"));
        scene.update(&tool("t", true, r#","status":"completed""#));
        scene.stops_with("end_turn");
    });
    let client = told(&scene.log, 1);
    let ids: Vec<(&str, &str)> = client
        .params("item/completed")
        .into_iter()
        .filter(|params| params["item"]["type"] == "agentMessage")
        .map(|params| {
            (
                params["item"]["id"].as_str().unwrap(),
                params["item"]["text"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    assert_eq!(ids[0].1, "before");
    assert_eq!(ids[1].1, " after");
    assert_ne!(ids[1].0, ids[0].0);
    assert_eq!(shown(&client)[ids[0].0], history(&scene.log)[ids[0].0]);
}

#[test]
fn each_message_of_the_user_has_the_clients_own_id() {
    let scene = check(|scene| {
        scene.create();
        scene.answer("initialize", STEERS);
        scene.answer("session/new", r#"{"sessionId":"s-1"}"#);
        scene.start_turn(vec![text_block("begin")], Some("m-1")).unwrap();
        scene.chunk("I will");
        for id in [Some("m-2"), None] {
            scene.send(Command::Steer {
                input: vec![text_block("more")],
                turn: None,
                client_turn_id: id.map(str::to_owned),
            });
            scene.answer("_session/steering", r#"{"outcome":"injected"}"#);
        }
        scene.stops_with("end_turn");
    });
    let client = told(&scene.log, 1);
    for items in [shown(&client), history(&scene.log)] {
        let by_user = items.values().filter(|item| item["type"] == "userMessage");
        let ids: Vec<&Value> = by_user.map(|item| &item["clientId"]).collect();
        assert_eq!(ids, [&json!("m-1"), &json!("m-2"), &json!(null)]);
    }
}

#[test]
fn an_item_waits_until_its_type_is_clear() {
    let scene = check(|scene| {
        scene.open_turn();
        scene.update(&tool(
            "t",
            false,
            r#","title":"Edit","kind":"edit","status":"in_progress""#,
        ));
    });
    let live = folded(&scene.log[..1]);
    let mut client = Client::following(&live);
    client.deliver(live.thread, &scene.log[1..]);
    assert!(
        !client
            .got
            .iter()
            .any(|message| message["params"]["item"]["type"] == "fileChange")
    );
    let seen = scene.log.len();
    let scene = check_in(scene, |scene| {
        let diff = r#"{"type":"diff","path":"/workspace/a","oldText":"one\n","newText":"two\n"}"#;
        scene.update(&tool("t", true, &format!(r#","content":[{diff}]"#)));
    });
    client.deliver(live.thread, &scene.log[seen..]);
    let started = client.params("item/started");
    let item = &started.last().unwrap()["item"];
    assert_eq!(item["type"], "fileChange");
    let change = json!({
        "path": "/workspace/a", "kind": { "type": "update", "move_path": null },
        "diff": "@@ -1 +1 @@\n-one\n+two\n",
    });
    assert_eq!(item["changes"], json!([change]));
}

#[test]
fn an_endless_message_is_shown_in_parts() {
    let text = "x".repeat(300 << 10);
    let scene = check(|scene| {
        scene.open_turn();
        for _ in 0..8 {
            scene.update(&message(&text));
            scene.later(1_000);
        }
        scene.stops_with("end_turn");
    });
    let client = told(&scene.log, 1);
    let messages: Vec<&Value> = client
        .params("item/completed")
        .into_iter()
        .filter(|params| params["item"]["type"] == "agentMessage")
        .collect();
    assert!(messages.len() >= 2, "{}", messages.len());
    let whole: usize = messages
        .iter()
        .map(|params| params["item"]["text"].as_str().unwrap().len())
        .sum();
    assert_eq!(whole, text.len() * 8);
}

#[test]
fn a_command_is_shown_when_it_is_known() {
    let scene = check(|scene| {
        scene.open_turn();
        scene.update(&tool(
            "t",
            false,
            r#","title":"Terminal","kind":"execute","status":"pending","rawInput":{}"#,
        ));
        scene.update(&tool(
            "t",
            true,
            r#","title":"ls","rawInput":{"command":"ls -la"}"#,
        ));
        let output = r#"{"type":"content","content":{"type":"text","text":"```console\na\nb\n```"}}"#;
        scene.update(&tool(
            "t",
            true,
            &format!(r#","status":"completed","content":[{output}]"#),
        ));
        scene.stops_with("end_turn");
    });
    let client = told(&scene.log, 1);
    let started = &client.params("item/started").last().unwrap()["item"];
    assert_eq!(started["command"], "ls -la");
    let ended = &client.params("item/completed").last().unwrap()["item"];
    assert_eq!(
        (&ended["aggregatedOutput"], &ended["exitCode"]),
        (&json!("a\nb\n"), &json!(0))
    );
}

/// Returns the command, the status and the exit code of each command in a thread, and checks that its history has the same.
fn commands(log: &[Event]) -> Vec<(String, String, Value)> {
    let of = |items: BTreeMap<String, Value>| -> Vec<(String, String, Value)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        items
            .values()
            .filter(|item| item["type"] == "commandExecution")
            .map(|item| {
                (
                    text(&item["command"]),
                    text(&item["status"]),
                    item["exitCode"].clone(),
                )
            })
            .collect()
    };
    let live = of(shown(&told(log, 1)));
    assert_eq!(live, of(history(log)));
    live
}

/// The TUI shows an exit code as that of a command that ran.
#[test]
fn a_failed_command_has_no_exit_code_but_the_agents() {
    let start = |name: &str| {
        let more = format!(
            r#","title":"{name}","kind":"execute","status":"pending","rawInput":{{"command":"{name}"}}"#
        );
        tool(name, false, &more)
    };
    let expected = |name: &str, status: &str, code: Value| (name.to_owned(), status.to_owned(), code);
    let scene = check(|scene| {
        scene.open_turn();
        for (name, end) in [
            ("one", r#","status":"completed""#),
            ("two", r#","status":"failed""#),
            ("three", r#","status":"failed","rawOutput":{"exitCode":3}"#),
            ("four", r#","status":"failed","rawOutput":{"exit_code":4}"#),
        ] {
            scene.update(&start(name));
            scene.update(&tool(name, true, end));
        }
        scene.stops_with("end_turn");
    });
    assert_eq!(
        commands(&scene.log),
        [
            expected("one", "completed", json!(0)),
            expected("two", "failed", Value::Null),
            expected("three", "failed", json!(3)),
            expected("four", "failed", json!(4)),
        ]
    );
    // A command that never ran, because the turn was interrupted or the daemon was killed.
    let open = check(|scene| {
        scene.open_turn();
        scene.update(&start("never"));
    });
    let killed = Scene::restarted(&open.log);
    let interrupted = check_in(open, |scene| {
        scene.interrupt();
        scene.stops_with("cancelled");
    });
    for scene in [interrupted, killed] {
        assert_eq!(commands(&scene.log), [expected("never", "failed", Value::Null)]);
    }
}

#[test]
fn a_command_that_waits_for_input_is_a_warning_with_how_to_type() {
    for secret in [false, true] {
        let scene = check(|scene| {
            scene.open_turn();
            crate::terminals::create(scene, 5);
            scene.terminal_says("term_1", TerminalEvent::Waiting { secret });
            scene.send(Command::UseTerminal {
                terminal_id: "term_1".into(),
                act: TerminalAct::TypeIn("hush\n".into()),
            });
            scene.host_replies(Ok(HostReply::Done));
        });
        let client = told(&scene.log, 1);
        let warnings = client.params("warning");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let text = warnings[0]["message"].as_str().unwrap();
        let types_it = format!("acpd type {} --terminal term_1", scene.id);
        for part in ["The command in term_1 waits for input", "web UI", &types_it] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.contains("such as a password"), secret, "{text}");
        let got = format!("{:?}", client.got);
        assert!(!got.contains("hush"), "{got}");
    }
}

/// Returns an item that is the same live and in the history. No message is larger than an item may be.
fn large_item(scene: &Scene, id: &str) -> Value {
    let client = told(&scene.log, 1);
    let read = history(&scene.log)[id].clone();
    assert_eq!(shown(&client)[id], read);
    let longest = client.got.iter().map(|message| message.to_string().len()).max();
    assert!(longest.unwrap() < CODEX_ITEM_BYTES, "{longest:?}");
    read
}

#[test]
fn items_too_large_for_a_client_are_named() {
    let text = "x".repeat(CODEX_ITEM_BYTES + (1 << 20));
    let scene = check(|scene| {
        scene.open_turn();
        let done = |id: &str, kind: &str, content: &str| {
            let more = format!(r#","title":"t","kind":"{kind}","status":"completed","content":[{content}]"#);
            tool(id, false, &more)
        };
        let block = format!(r#"{{"type":"content","content":{{"type":"text","text":"{text}"}}}}"#);
        scene.update(&done("run", "execute", &block));
        scene.update(&done("other", "other", &block));
        let diff = |path: &str, text: &str| {
            format!(r#"{{"type":"diff","path":"{path}","oldText":null,"newText":"{text}"}}"#)
        };
        let mut diffs = vec![diff("/workspace/a", "a"), diff("/workspace/large", &text)];
        let file = &text[..DIFF_BYTES];
        diffs.extend((0..20).map(|number| diff(&format!("/workspace/{number}"), file)));
        scene.update(&done("edit", "edit", &diffs.join(",")));
        let image = format!(r#"{{"type":"image","mimeType":"image/png","data":"{text}"}}"#);
        let small = r#"{"type":"content","content":{"type":"image","mimeType":"image/png","data":"AA=="}}"#;
        let images = format!(r#"{small},{{"type":"content","content":{image}}}"#);
        scene.update(&done("draw", "other", &images));
        scene.update(&format!(
            r#"{{"sessionUpdate":"agent_message_chunk","content":{image}}}"#
        ));
        scene.update(&thought("hm"));
        // A text is divided into items that a client takes, also with members of its own.
        scene.update(&format!(
            r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}},"_meta":{{}}}}"#
        ));
        scene.stops_with("end_turn");
    });
    let whole = format!("acpd export {}", scene.id);
    let is_named = |text: &Value| {
        let text = text.as_str().unwrap();
        assert!(
            text.starts_with("[5.") && text.contains(" MiB") && text.contains(&whole),
            "{text}"
        );
    };
    let of_tool = |title: &str| {
        let start = scene.log.iter().find_map(|event| match &event.kind {
            EventKind::Item(ItemEvent::Started {
                item,
                start: ItemStart::ToolCall { tool_call_id, .. },
                ..
            }) if tool_call_id == title => Some(item.to_string()),
            _ => None,
        });
        start.unwrap()
    };
    is_named(&large_item(&scene, &of_tool("run"))["aggregatedOutput"]);
    is_named(&large_item(&scene, &of_tool("other"))["contentItems"][0]["text"]);
    let changes = large_item(&scene, &of_tool("edit"))["changes"].take();
    assert_eq!(changes.as_array().unwrap().len(), 22, "each file is there");
    assert_eq!(changes[0]["diff"], "a");
    assert_eq!(
        changes[1]["diff"],
        format!("\\ 0 bytes replaced by {} bytes\n", CODEX_ITEM_BYTES + (1 << 20))
    );
    is_named(&changes[21]["diff"]);
    let drawn = large_item(&scene, &of_tool("draw"))["contentItems"][0]["text"].take();
    assert_eq!(
        drawn,
        "[image]\n[image of 5.0 MiB: see it in acpd’s web UI (acpd open)]"
    );
    let spoken: Vec<Value> = history(&scene.log)
        .into_values()
        .filter(|item| item["type"] == "agentMessage")
        .collect();
    let spoken: Vec<&str> = spoken.iter().map(|item| item["text"].as_str().unwrap()).collect();
    let (images, texts): (Vec<&str>, Vec<&str>) = spoken
        .into_iter()
        .partition(|spoken| spoken.starts_with("[image"));
    assert!(images[0].starts_with("[image of 5.0 MiB"), "{}", images[0]);
    assert_eq!(images.len(), 1);
    assert_eq!(texts.concat().len(), text.len(), "nothing is left out");
}

/// The prompt's text stays beside an image that is too large.
#[test]
fn the_text_of_a_prompt_stays_beside_a_large_image() {
    let data = "A".repeat(CODEX_ITEM_BYTES);
    let scene = check(|scene| {
        scene.open_session();
        let image = format!(r#"{{"type":"image","mimeType":"image/png","data":"{data}"}}"#);
        let blocks = [r#"{"type":"text","text":"look"}"#, image.as_str()];
        let blocks = blocks.map(|block| RawJson::parse(block).unwrap());
        scene.start_turn(blocks.to_vec(), None).unwrap();
        scene.stops_with("end_turn");
    });
    let item = large_item(&scene, "item_1");
    assert_eq!(item["content"][0]["text"], "look");
    let words = item["content"][1]["text"].as_str().unwrap();
    assert!(words.contains("4.0 MiB"), "{words}");
}

#[test]
fn the_rest_of_an_answer_names_its_turn() {
    let scene = check_in(Scene::with_limits(Limits::default()), |scene| {
        let part = |text: &str| message(text).replacen('{', r#"{"messageId":"m","#, 1);
        scene.open_turn();
        scene.update(&part("in time"));
        scene.answers_prompt("end_turn");
        scene.update(&part(", nearly"));
        scene.later(5_000);
        scene.update(&part(", late"));
        scene.later(5_000);
    });
    let client = told(&scene.log, 1);
    let completed = client.params("item/completed").into_iter();
    let said: Vec<(&Value, &Value)> = completed
        .filter(|params| params["item"]["type"] == "agentMessage")
        .map(|params| (&params["turnId"], &params["item"]["text"]))
        .collect();
    let turn = json!(format!("turn_1_{}", scene.thread.live().thread));
    let texts = [json!("in time, nearly"), json!(", late")];
    assert_eq!(said, [(&turn, &texts[0]), (&turn, &texts[1])]);
    let read = history(&scene.log);
    let read = read.values().filter(|item| item["type"] == "agentMessage");
    assert_eq!(
        read.map(|item| &item["text"]).collect::<Vec<_>>(),
        [&texts[0], &texts[1]]
    );
}

#[test]
fn the_plan_is_the_list_of_steps_that_changed_last() {
    let step = |text: &str| json!([{ "content": text, "priority": "low", "status": "in_progress" }]);
    let items = |id: &str, text: &str| {
        let plan = json!({ "type": "items", "planId": id, "entries": step(text) });
        json!({ "sessionUpdate": "plan_update", "plan": plan }).to_string()
    };
    let text = json!({ "type": "markdown", "planId": "t", "content": "# T" });
    let text = json!({ "sessionUpdate": "plan_update", "plan": text }).to_string();
    let removed = |id: &str| json!({ "sessionUpdate": "plan_removed", "planId": id }).to_string();
    let scene = check(|s| {
        s.open_turn();
        for update in [items("a", "1"), text, items("b", "2"), removed("a"), removed("b")] {
            s.update(&update);
        }
        s.stops_with("end_turn");
    });
    let client = told(&scene.log, 3);
    let plans: Vec<Value> = client
        .params("turn/plan/updated")
        .iter()
        .map(|params| params["plan"].clone())
        .collect();
    let shown = |text: &str| json!([{ "step": text, "status": "inProgress" }]);
    assert_eq!(plans, [shown("1"), shown("2"), json!([])]);
}
