//! Each scenario, one prompt at a time.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::driver::{Agent, RpcResult, nothing};

/// Returns a client that supports everything, and chooses this option.
fn able(option: &'static str) -> impl FnMut(&str, &Value) -> RpcResult {
    move |method, params| match method {
        "session/request_permission" => {
            let outcome = if option == "cancelled" {
                json!({ "outcome": "cancelled" })
            } else {
                json!({ "outcome": "selected", "optionId": option })
            };
            Ok(json!({ "outcome": outcome }))
        }
        "fs/read_text_file" => {
            Ok(json!({ "content": format!("{} here", params["path"].as_str().unwrap_or("?")) }))
        }
        "terminal/create" => Ok(json!({ "terminalId": "t-1" })),
        "terminal/wait_for_exit" => Ok(json!({ "exitCode": 0, "signal": null })),
        "terminal/output" => Ok(json!({ "output": "hi\n", "truncated": false })),
        "elicitation/create" => Ok(json!({ "action": "accept", "content": { "name": "Ada" } })),
        "fs/write_text_file" | "terminal/release" | "terminal/kill" | "_example.com/ask" => Ok(json!({})),
        _ => nothing(method, params),
    }
}

#[test]
fn content() {
    let (mut agent, id) = Agent::with_session(&[]);
    let turn = agent.prompt(&id, "stream n=3 id=m");
    assert_eq!(turn.said(), " word 1 word 2 word 3");
    assert!(turn.updates().all(|update| update["messageId"] == "m"));
    assert_eq!(turn.stop(), "end_turn");
    assert_eq!(agent.prompt(&id, "stream").updates().count(), 20);
    assert_eq!(agent.prompt(&id, "think").of("agent_thought_chunk").len(), 3);
    assert_eq!(
        agent.prompt(&id, "say It's  exact=ly this").said(),
        "It's  exact=ly this"
    );
    assert_eq!(agent.prompt(&id, "say a\nsay b;say c").said(), "abc");
    assert_eq!(
        agent.prompt(&id, "env FAKE_AGENT_TEST").said(),
        "FAKE_AGENT_TEST=from outside"
    );
    assert_eq!(
        agent.prompt(&id, "env NO_SUCH_THING").said(),
        "NO_SUCH_THING is not set"
    );
    assert!(
        agent
            .prompt(&id, "cwd")
            .said()
            .starts_with("session /w, process /")
    );
    assert_eq!(agent.prompt(&id, "longline bytes=70000").said().len(), 70_000);
    let turn = agent.prompt(&id, "image; audio; resource");
    let types: Vec<&Value> = turn.updates().map(|update| &update["content"]["type"]).collect();
    assert_eq!(types, ["image", "audio", "resource", "resource_link"]);
}

#[test]
fn the_first_block_that_is_a_script_counts() {
    let (mut agent, id) = Agent::with_session(&[]);
    let prompt = json!([
        { "type": "text", "text": "What we said before: say hello" },
        { "type": "resource_link", "uri": "file:///w/a", "name": "a" },
        { "type": "text", "text": "echo" },
    ]);
    let asked = agent.ask("session/prompt", json!({ "sessionId": id, "prompt": prompt }));
    let said = agent.finish(asked, nothing).said();
    assert_eq!(
        said,
        "3 blocks (text, resource_link, text): What we said before: say hello\necho"
    );
}

#[test]
fn session_state() {
    let (mut agent, id) = Agent::with_session(&[]);
    let turn = agent.prompt(&id, "plan");
    let plans = turn.of("plan");
    assert_eq!(plans[0]["entries"][0]["status"], "in_progress");
    assert_eq!(plans[1]["entries"][0]["status"], "completed");
    assert_eq!(
        agent.prompt(&id, "plan empty").of("plan")[0]["entries"],
        json!([])
    );
    let turn = agent.prompt(
        &id,
        "plan-by-id text=One; plan-by-id markdown id=q text=Two; plan-by-id remove id=q",
    );
    let plans = turn.of("plan_update");
    assert_eq!(plans[0]["plan"]["entries"][0]["content"], "One");
    assert_eq!(
        (&plans[1]["plan"]["planId"], &plans[1]["plan"]["content"]),
        (&json!("q"), &json!("Two"))
    );
    assert_eq!(turn.of("plan_removed")[0]["planId"], "q");
    assert_eq!(
        agent.prompt(&id, "mode code").of("current_mode_update")[0]["currentModeId"],
        "code"
    );
    assert_eq!(agent.prompt(&id, "mode fly").error(), -32602);
    let turn = agent.prompt(
        &id,
        "commands; config; title A title; usage used=5 size=10 cost=1.5; notice; compaction",
    );
    assert_eq!(turn.of("available_commands_update").len(), 1);
    assert_eq!(
        turn.of("config_option_update")[0]["configOptions"][0]["id"],
        "model"
    );
    assert_eq!(turn.of("session_info_update")[0]["title"], "A title");
    let usage = turn.of("usage_update")[0];
    assert_eq!((&usage["used"], &usage["size"]), (&json!(5), &json!(10)));
    assert_eq!(usage["cost"], json!({ "amount": 1.5, "currency": "USD" }));
    assert_eq!(
        (turn.of("notice").len(), turn.of("compaction_update").len()),
        (1, 2)
    );
}

#[test]
fn tool_calls() {
    let (mut agent, id) = Agent::with_session(&[]);
    let turn = agent.prompt(&id, "tool");
    assert_eq!(turn.statuses(), ["pending", "in_progress", "completed"]);
    assert_eq!(turn.of("tool_call")[0]["kind"], "edit");
    let done = turn.of("tool_call_update")[1];
    assert_eq!(done["content"][0]["type"], "diff");
    assert_eq!(done["content"][0]["path"], "/w/src/example.rs");

    let turn = agent.prompt(&id, "tool kind=read id=X title=Read it all status=failed");
    assert_eq!(turn.statuses(), ["pending", "in_progress", "failed"]);
    let call = turn.of("tool_call")[0];
    assert_eq!(
        (&call["toolCallId"], &call["title"]),
        (&json!("X"), &json!("Read it all"))
    );
    assert_eq!(agent.prompt(&id, "tool status=pending").statuses(), ["pending"]);

    let turn = agent.prompt(&id, "dup");
    let opened = turn.of("tool_call");
    assert_eq!(opened[0]["toolCallId"], opened[1]["toolCallId"]);
    let turn = agent.prompt(&id, "orphan");
    assert_eq!(
        (turn.of("tool_call").len(), turn.of("tool_call_update").len()),
        (0, 1)
    );
    assert_eq!(
        agent.prompt(&id, "backwards").statuses(),
        ["in_progress", "completed", "pending"]
    );
}

#[test]
fn the_seeds_turn() {
    let (mut agent, id) = Agent::with_session(&[]);
    let turn = agent.prompt(&id, "seed");
    let kinds: Vec<&Value> = turn.updates().map(|update| &update["sessionUpdate"]).collect();
    assert_eq!(
        kinds,
        [
            "agent_message_chunk",
            "agent_message_chunk",
            "tool_call",
            "tool_call_update"
        ]
    );
    assert_eq!(turn.said(), "Here is the fix...");
    assert_eq!(turn.of("tool_call")[0]["title"], "edit_file");
    assert_eq!(
        turn.of("tool_call_update")[0]["content"][0]["path"],
        "/w/src/auth.ts"
    );
    assert_eq!(turn.statuses(), ["in_progress", "completed"]);
    assert_eq!(turn.stop(), "end_turn");
}

#[test]
fn files() {
    let (mut agent, id) = Agent::with_session(&[]);
    let turn = agent.prompt_with(&id, "read path=a.txt line=2 limit=3; read path=/b", able(""));
    assert_eq!(turn.said(), "read 13 bytes: /w/a.txt hereread 7 bytes: /b here");
    assert_eq!(turn.messages[0]["params"]["line"], 2);
    let turn = agent.prompt_with(&id, r#"write path=a.txt text="one\n""#, able(""));
    assert_eq!(
        turn.messages[0]["params"],
        json!({ "sessionId": id, "path": "/w/a.txt", "content": "one\n" })
    );
    assert_eq!(turn.said(), "wrote 4 bytes");
    assert_eq!(agent.prompt(&id, "read path=a").said(), "error -32601: cannot");
}

#[test]
fn terminals() {
    let (mut agent, id) = Agent::with_session(&[]);
    let turn = agent.prompt_with(&id, r#"terminal sh -c "echo hi; true""#, able(""));
    assert_eq!(
        turn.asked(),
        [
            "terminal/create",
            "terminal/wait_for_exit",
            "terminal/output",
            "terminal/release"
        ]
    );
    let create = turn
        .messages
        .iter()
        .find(|m| m["method"] == "terminal/create")
        .unwrap();
    assert_eq!(create["params"]["command"], "sh");
    assert_eq!(create["params"]["args"], json!(["-c", "echo hi; true"]));
    assert_eq!(
        turn.of("tool_call_update")[0]["content"],
        json!([{ "type": "terminal", "terminalId": "t-1" }])
    );
    assert_eq!(turn.statuses(), ["pending", "in_progress", "completed"]);
    assert_eq!(turn.said(), "exit 0: hi\n");

    let turn = agent.prompt(&id, "terminal false");
    assert_eq!(
        (turn.said().as_str(), turn.stop()),
        ("error -32601: cannot", "end_turn")
    );
    assert_eq!(turn.statuses(), ["pending", "failed"]);
}

#[test]
fn a_cancelled_terminal_is_killed_and_released() {
    let (mut agent, id) = Agent::with_session(&[]);
    let prompt = agent.start_turn(&id, "terminal sleep 100");
    let waiting = loop {
        let message = agent.message();
        match message["method"].as_str() {
            Some("terminal/create") => agent.reply(&message, Ok(json!({ "terminalId": "t" }))),
            Some("terminal/wait_for_exit") => break message,
            _ => {}
        }
    };
    agent.notify("session/cancel", json!({ "sessionId": id }));
    let kill = agent.message();
    assert_eq!(kill["method"], "terminal/kill");
    agent.reply(&kill, Ok(json!({})));
    agent.reply(&waiting, Ok(json!({ "signal": "SIGTERM" })));
    let turn = agent.finish(prompt, able(""));
    assert_eq!(turn.asked(), ["terminal/output", "terminal/release"]);
    assert_eq!(turn.stop(), "cancelled");
}

#[test]
fn permissions() {
    let (mut agent, id) = Agent::with_session(&[]);
    let turn = agent.prompt_with(&id, "permission", able("allow_always"));
    let request = turn
        .messages
        .iter()
        .find(|m| m["method"] == "session/request_permission")
        .unwrap();
    let kinds: Vec<&Value> = request["params"]["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| &option["kind"])
        .collect();
    assert_eq!(
        kinds,
        ["allow_once", "allow_always", "reject_once", "reject_always"]
    );
    assert_eq!(
        request["params"]["toolCall"]["rawInput"],
        json!({ "command": "echo hi" })
    );
    assert_eq!(turn.said(), "allowed (allow_always)");
    assert_eq!(turn.statuses(), ["pending", "in_progress", "completed"]);

    let turn = agent.prompt_with(&id, "permission kind=edit path=x", able("reject_once"));
    assert_eq!(turn.said(), "rejected (reject_once)");
    assert_eq!(turn.statuses(), ["pending", "failed"]);
    assert_eq!(turn.of("tool_call")[0]["content"][0]["path"], "/w/x");

    let turn = agent.prompt_with(&id, "permission command=rm -rf x; say no", able("cancelled"));
    assert_eq!((turn.said().as_str(), turn.stop()), ("", "cancelled"));
    assert_eq!(turn.of("tool_call")[0]["rawInput"]["command"], "rm -rf x");
    assert_eq!(
        agent.prompt(&id, "permission kind=read").said(),
        "error -32601: cannot"
    );
}

#[test]
fn a_cancel_does_not_excuse_the_client_from_its_answer() {
    let (mut agent, id) = Agent::with_session(&[]);
    let prompt = agent.start_turn(&id, "permission");
    agent.message();
    let request = agent.message();
    agent.notify("session/cancel", json!({ "sessionId": id }));
    // A late client that responds to a request from before the cancellation.
    agent.reply(
        &request,
        able("allow_once")("session/request_permission", &Value::Null),
    );
    let turn = agent.finish(prompt, nothing);
    assert_eq!(
        (turn.said().as_str(), turn.stop()),
        ("allowed (allow_once)", "cancelled")
    );
}

#[test]
fn questions_to_the_client() {
    let (mut agent, id) = Agent::with_session(&[]);
    let turn = agent.prompt_with(&id, "elicit", able(""));
    assert_eq!(turn.messages[0]["params"]["mode"], "form");
    assert_eq!(turn.said(), r#"elicited accept: {"name":"Ada"}"#);
    let turn = agent.prompt_with(&id, "elicit url", able(""));
    assert_eq!(turn.messages[1]["method"], "elicitation/complete");
    assert_eq!(
        turn.messages[1]["params"]["elicitationId"],
        turn.messages[0]["params"]["elicitationId"]
    );
    let turn = agent.prompt_with(&id, "ext", able(""));
    assert_eq!(turn.messages[0]["method"], "_example.com/note");
    assert_eq!(turn.said(), "ext: {}");
    assert_eq!(agent.prompt(&id, "ext").said(), "error -32601: cannot");
}

#[test]
fn subagents() {
    let (mut agent, id) = Agent::with_session(&[]);
    let turn = agent.prompt(&id, "subagent title=look id=c; say hi; parent; say done");
    let sent: Vec<(&Value, &Value)> = turn
        .messages
        .iter()
        .map(|message| {
            let params = &message["params"];
            (&params["sessionId"], &params["update"]["sessionUpdate"])
        })
        .collect();
    let own = json!(id);
    let (child, report, chunk) = (json!("c"), json!("subagent_update"), json!("agent_message_chunk"));
    assert_eq!(
        sent,
        [(&own, &report), (&child, &chunk), (&own, &report), (&own, &chunk)]
    );
    assert_eq!(turn.messages[0]["params"]["update"]["title"], "look");
    assert_eq!(turn.messages[2]["params"]["update"]["state"]["state"], "idle");
}

#[test]
fn cancels() {
    let (mut agent, id) = Agent::with_session(&[]);
    let cancelled = |agent: &mut Agent, text: &str| {
        let prompt = agent.start_turn(&id, text);
        agent.message();
        agent.notify("session/cancel", json!({ "sessionId": id }));
        agent.finish(prompt, nothing)
    };
    let turn = cancelled(&mut agent, "slow; say never");
    assert_eq!((turn.messages.len(), turn.stop()), (0, "cancelled"));
    let turn = cancelled(&mut agent, "latecancel");
    assert_eq!(
        (turn.said().as_str(), turn.stop()),
        ("still winding down", "cancelled")
    );
    let turn = cancelled(&mut agent, "stubborn ms=20; say done");
    assert_eq!((turn.said().as_str(), turn.stop()), ("done", "end_turn"));
    let turn = cancelled(&mut agent, "stream n=1000000 ms=10");
    assert_eq!(turn.stop(), "cancelled");
    // A late cancellation must not affect the next turn.
    agent.notify("session/cancel", json!({ "sessionId": id }));
    assert_eq!(agent.prompt(&id, "wait ms=1; say fine").said(), "fine");

    let prompt = agent.start_turn(&id, "slow");
    agent.message();
    agent.notify("$/cancel_request", json!({ "requestId": "another" }));
    agent.notify("$/cancel_request", json!({ "requestId": prompt }));
    assert_eq!(agent.finish(prompt, nothing).stop(), "cancelled");
}

#[test]
fn endings() {
    let (mut agent, id) = Agent::with_session(&[]);
    let turn = agent.prompt(&id, "say a; stop reason=max_tokens; say b");
    assert_eq!((turn.said().as_str(), turn.stop()), ("a", "max_tokens"));
    let turn = agent.prompt(&id, "error code=-32000 message=who are you");
    assert_eq!(
        turn.answer,
        Err(json!({ "code": -32000, "message": "who are you" }))
    );
    assert_eq!(agent.prompt(&id, "error").error(), -32603);
    assert_eq!(agent.prompt(&id, "say a; what").error(), -32602);
    assert_eq!(agent.prompt(&id, "stream n=many").error(), -32602);
    assert!(agent.prompt(&id, "late ms=1").messages.is_empty());
    assert_eq!(agent.message()["params"]["update"]["content"]["text"], "too late");
    assert_eq!(agent.prompt(&id, "exit code=4; say b").stop(), "end_turn");
    assert_eq!(agent.wait().0.code(), Some(4));
}

#[test]
fn load() {
    let (mut agent, id) = Agent::with_session(&[]);
    let turn = agent.prompt(&id, "flood n=3000 bytes=400");
    let updates = turn.of("tool_call_update");
    // The last update completes the call.
    assert_eq!(updates.len(), 3001);
    assert_eq!(updates[0]["rawOutput"]["n"], "0000000001");
    assert_eq!(updates[2999]["rawOutput"]["n"], "0000003000");
    assert_eq!(turn.messages[5].to_string().len(), 399);

    let turn = agent.prompt(&id, "flood n=2 kind=delta");
    let texts: Vec<&str> = turn
        .updates()
        .filter_map(|update| update["content"]["text"].as_str())
        .collect();
    assert_eq!(texts, ["0000000001 delta....", "0000000002 delta...."]);
    let turn = agent.prompt(&id, "flood n=2 kind=chunkmeta");
    assert_eq!(turn.of("agent_message_chunk")[1]["_meta"]["n"], "0000000002");
    assert_eq!(turn.messages[0].to_string().len(), 299);
    let turn = agent.prompt(&id, "flood n=2 bytes=1000 kind=diff");
    let calls = turn.of("tool_call");
    assert_eq!((calls.len(), turn.of("tool_call_update").len()), (2, 2));
    let diffs: Vec<&Value> = calls.iter().map(|call| &call["content"][0]).collect();
    assert_eq!(diffs[1]["oldText"].as_str().map(str::len), Some(1000));
    assert_ne!(diffs[0]["newText"], diffs[1]["newText"]);
    let turn = agent.prompt(&id, "flood n=2 bytes=600 kind=plan");
    let plans = turn.of("plan");
    assert_eq!(plans[0]["entries"].as_array().map(Vec::len), Some(10));
    assert_ne!(plans[0], plans[1]);
    let turn = agent.prompt(&id, "flood n=1 bytes=600 kind=commands");
    let lists = turn.of("available_commands_update");
    assert_eq!(lists[0]["availableCommands"].as_array().map(Vec::len), Some(10));
    assert_eq!(agent.prompt(&id, "flood kind=other").error(), -32602);

    let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let turn = agent.prompt(&id, "lone n=3 ms=1 bytes=320");
    let sent: Vec<u128> = turn
        .updates()
        .filter_map(|u| u["_meta"]["sentNs"].as_u64())
        .map(u128::from)
        .collect();
    assert_eq!(sent.len(), 3);
    assert!(before < sent[0] && sent[0] < sent[1] && sent[1] < sent[2]);
    assert_eq!(turn.messages[1].to_string().len(), 319);
}

#[test]
fn the_demo() {
    let (mut agent, id) = Agent::with_session(&["--pace", "0"]);
    for (option, statuses, end) in [
        (
            "allow_once",
            &[
                "pending",
                "in_progress",
                "completed",
                "pending",
                "in_progress",
                "completed",
                "pending",
                "in_progress",
                "completed",
            ][..],
            "whenever you like.\n",
        ),
        (
            "reject_once",
            &["pending", "in_progress", "completed", "pending", "failed"],
            "is unchanged.\n",
        ),
    ] {
        let turn = agent.prompt_with(&id, "write me a poem", able(option));
        assert_eq!(turn.stop(), "end_turn");
        assert_eq!(turn.statuses(), statuses);
        assert!(!turn.of("agent_thought_chunk").is_empty());
        let plans = turn.of("plan");
        assert!(
            plans.last().unwrap()["entries"]
                .as_array()
                .unwrap()
                .iter()
                .all(|e| e["status"] == "completed")
        );
        assert_eq!(turn.of("usage_update").len(), 1);
        let said = turn.said();
        assert!(said.starts_with("You said:\n\n> write me a poem\n"), "{said}");
        assert!(said.contains("demo agent") && said.ends_with(end), "{said}");
    }
    assert_eq!(
        agent.prompt_with(&id, "hello", able("cancelled")).stop(),
        "cancelled"
    );
    let unable = agent.prompt_with(&id, "hello", nothing);
    assert!(
        unable.said().contains("since a call failed: "),
        "{}",
        unable.said()
    );
}

#[test]
fn the_demo_has_one_folder() {
    for (cwd, file) in [
        ("/home/ann", "/home/ann/acpd-demo/notes.md"),
        // The web UI starts it in its folder.
        ("/home/ann/acpd-demo", "/home/ann/acpd-demo/notes.md"),
        ("/home/ann/acpd-demo/", "/home/ann/acpd-demo/notes.md"),
        (
            "/home/ann/my-acpd-demo",
            "/home/ann/my-acpd-demo/acpd-demo/notes.md",
        ),
        ("/", "/acpd-demo/notes.md"),
    ] {
        let (mut agent, _) = Agent::with_session(&["--pace", "0"]);
        let params = json!({ "cwd": cwd, "mcpServers": [] });
        let opened = agent.request("session/new", params).unwrap();
        let id = opened["sessionId"].as_str().unwrap();
        let mut paths = Vec::new();
        let mut client = able("allow_once");
        let turn = agent.prompt_with(id, "hello", |method, params| {
            paths.extend(
                params["path"]
                    .as_str()
                    .filter(|_| method.starts_with("fs/"))
                    .map(String::from),
            );
            client(method, params)
        });
        assert!(
            !paths.is_empty() && paths.iter().all(|path| path == file),
            "{paths:?}"
        );
        let said = turn.said();
        let shown = file.strip_prefix(cwd).unwrap().trim_start_matches('/');
        assert!(said.contains(&format!("Done: `{shown}`")), "{said}");
        assert!(said.contains("you can delete `acpd-demo`"), "{said}");
    }
}

#[test]
fn many_files() {
    let (mut agent, id) = Agent::with_session(&[]);
    let prompt = |text: &str| json!([{ "type": "text", "text": text }]);
    for (by, calls, writes) in [("write", 0, 3), ("tool", 3, 0), ("both", 3, 3)] {
        let script = format!("files n=3 bytes=200 by={by}");
        let asked = agent.ask(
            "session/prompt",
            json!({ "sessionId": id, "prompt": prompt(&script) }),
        );
        let turn = agent.finish(asked, able("allow_once"));
        assert_eq!(turn.said(), "changed 3 files");
        assert_eq!(turn.of("tool_call").len(), calls);
        assert_eq!(turn.asked(), vec!["fs/write_text_file"; writes]);
        for call in turn.of("tool_call") {
            assert_eq!(call["content"][0]["newText"].as_str().unwrap().len(), 200);
        }
    }
    assert_eq!(agent.prompt(&id, "files by=magic").error(), -32602);
}
