//! An agent's actions in a turn, as clients see them: plans, tools, files, terminals, questions.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, wait_until};

#[test]
fn a_plan_is_replaced_as_a_whole_also_by_an_empty_one() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "plan; plan empty");
    let plans = turn.of("turn/plan/updated");
    let first = plans[0].params["entries"].as_array().unwrap();
    assert_eq!(first.len(), 3);
    for entry in first {
        assert!(
            entry["content"].is_string() && entry["priority"].is_string() && entry["status"].is_string(),
            "{entry}"
        );
    }
    assert_eq!(plans.last().unwrap().params["entries"], json!([]));
}

#[test]
fn a_thread_and_its_turns_have_each_plan_by_its_id() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "plan");
    let read = |client: &mut Client| {
        let found = client.call(
            "thread/read",
            &json!({ "threadId": thread, "includeTurns": true }),
        );
        found["thread"].clone()
    };
    let plain = read(&mut client);
    assert_eq!(
        (plain["plan"].as_array().map(Vec::len), plain.get("plans")),
        (Some(3), None),
        "as before"
    );
    let prompt = "plan-by-id id=a text=One; plan-by-id markdown id=b text=Two path=/w/two.md; plan-by-id id=c; \
                  plan-by-id remove id=c";
    let turn = client.turn(&thread, prompt);
    assert_eq!(turn.of("turn/plan/removed")[0].params["planId"], "c");
    let found = read(&mut client);
    let text =
        json!({ "planId": "b", "form": "markdown", "markdown": "Two", "path": "/w/two.md", "entries": [] });
    let step = json!([{ "content": "One", "priority": "medium", "status": "pending" }]);
    let of_turn = json!([{ "planId": "a", "entries": step }, text]);
    let turns = found["turns"].as_array().unwrap();
    assert_eq!(
        (turns[0].get("plans"), &turns[1]["plans"], &turns[1]["plan"]),
        (None, &of_turn, &step)
    );
    let ids: Vec<Value> = found["plans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|plan| plan["planId"].clone())
        .collect();
    assert_eq!(
        (ids, &found["plan"]),
        (vec![Value::Null, json!("a"), json!("b")], &step)
    );
}

#[test]
fn the_seed_example_gives_the_seed_notifications() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "seed");
    let order: Vec<_> = turn
        .methods()
        .into_iter()
        .filter(|method| method.starts_with("item/") && *method != "item/userMessage")
        .collect();
    let mut order = order;
    order.dedup();
    assert_eq!(
        order,
        [
            // The user's message.
            "item/started",
            "item/completed",
            "item/started",
            "item/agentMessage/delta",
            "item/toolCall/started",
            "item/updated",
            "item/fileChange/started",
            "item/fileChange/completed",
            "item/toolCall/completed",
            "item/completed",
        ]
    );
    let tool = turn.one("item/toolCall/started");
    assert_eq!((tool.text("name"), tool.text("kind")), ("edit_file", "edit"));
    let change = turn.one("item/fileChange/completed");
    assert!(change.text("path").ends_with("/src/auth.ts"), "{change:?}");
    assert!(
        change
            .text("diff")
            .contains("-export const ttl = 0;\n+export const ttl = 3600;"),
        "{change:?}"
    );
    assert_eq!(turn.one("turn/diff/updated").text("diff"), change.text("diff"));
}

#[test]
fn a_tool_that_misbehaves_is_still_one_item_that_goes_forward() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "tool status=failed kind=read");
    assert_eq!(turn.one("item/toolCall/completed").text("status"), "failed");
    let turn = client.turn(&thread, "backwards");
    assert_eq!(turn.one("item/toolCall/completed").text("status"), "completed");
    let turn = client.turn(&thread, "orphan");
    assert_eq!(turn.one("item/toolCall/started").text("title"), "orphan");
    assert_eq!(turn.one("item/toolCall/completed").text("status"), "completed");
    let turn = client.turn(&thread, "dup");
    assert_eq!(
        turn.of("item/toolCall/started").len(),
        turn.of("item/toolCall/completed").len()
    );
    let turn = client.turn(&thread, "tool status=in_progress");
    let left = turn.one("item/toolCall/completed");
    assert_eq!(turn.status(), "completed");
    assert!(left.text("status") != "pending", "{left:?}");
}

#[test]
fn files_are_read_and_written_inside_the_workspace_only() {
    let daemon = Daemon::start();
    std::fs::write(daemon.place.work().join("README.md"), "one\ntwo\nthree\n").unwrap();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "read; read line=2 limit=1");
    assert_eq!(turn.said(), "read 14 bytes: one\ntwo\nthree\nread 4 bytes: two\n");
    let turn = client.turn(&thread, "write path=a/new.txt text=\"fresh\\n\"");
    assert_eq!(turn.said(), "wrote 6 bytes");
    let written = std::fs::read_to_string(daemon.place.work().join("a/new.txt")).unwrap();
    assert_eq!(written, "fresh\n");
    assert!(
        turn.one("item/fileChange/completed")
            .text("diff")
            .contains("+fresh")
    );
    assert!(turn.one("turn/diff/updated").text("diff").contains("+fresh"));
    for text in [
        "read path=/etc/passwd",
        "write path=/tmp/acpd-e2e-outside",
        "read path=../acpd.toml",
    ] {
        let turn = client.turn(&thread, text);
        assert!(
            turn.said().contains("outside workspace"),
            "{text}: {}",
            turn.said()
        );
    }
    let turn = client.turn(&thread, "read path=none");
    assert!(turn.said().contains("not found"), "{}", turn.said());
}

#[test]
fn a_terminal_shows_its_command_its_output_and_its_end() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "terminal sh -c \"echo out; echo err >&2; exit 3\"");
    let started = turn.one("item/terminalCommand/started");
    assert_eq!(
        (started.text("command"), &started.params["args"][0]),
        ("sh", &json!("-c"))
    );
    assert_eq!(started.text("cwd"), daemon.place.work().display().to_string());
    let output: String = turn
        .of("item/terminalCommand/output")
        .iter()
        .map(|message| message.text("text"))
        .collect();
    let done = turn.one("item/terminalCommand/completed");
    assert_eq!(done.params["exitCode"], 3);
    assert_eq!(done.text("output"), output);
    assert!(
        output.contains("out\r\n") && output.contains("err\r\n"),
        "{output}"
    );
    assert!(turn.said().starts_with("exit 3: "), "{}", turn.said());
    let turn = client.turn(&thread, "terminal /no/such/program");
    assert_eq!(turn.status(), "completed");
    assert!(turn.said().contains("failed to start"), "{}", turn.said());
}

#[test]
fn a_terminal_ends_as_a_whole_when_the_turn_is_interrupted() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "terminal sh -c \"sleep 600 & echo up; sleep 600\"");
    client.wait_for("item/terminalCommand/output");
    wait_until("the agent, the shell and two sleepers run", || {
        daemon.place.agents().len() >= 4
    });
    client.call("turn/interrupt", &json!({}));
    let ended = client.finish(&thread, &turn);
    assert_eq!(ended.status(), "interrupted");
    wait_until("only the agent is left", || daemon.place.agents().len() == 1);
}

#[test]
fn a_question_is_answered_by_a_response() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    for (text, method, answer, outcome, said) in [
        (
            "permission",
            "item/commandExecution/requestApproval",
            json!({ "decision": "accept" }),
            "accepted",
            "allowed (allow_once)",
        ),
        (
            "permission kind=edit",
            "item/fileChange/requestApproval",
            json!({ "decision": "acceptForSession" }),
            "accepted",
            "allowed (allow_once)",
        ),
        (
            "permission kind=read",
            "item/permissions/requestApproval",
            json!({ "decision": "decline" }),
            "declined",
            "rejected (reject_once)",
        ),
        (
            "permission",
            "item/commandExecution/requestApproval",
            json!({ "decision": "declineForSession", "optionId": "reject_always", "optionKind": "reject_always" }),
            "declined",
            "rejected (reject_once)",
        ),
    ] {
        let turn = client.start(&thread, text);
        let question = client.question();
        assert_eq!(question.method, method);
        assert_eq!(question.params["options"].as_array().unwrap().len(), 4);
        assert!(
            !question.text("title").is_empty() && question.params["toolCall"].is_object(),
            "{question:?}"
        );
        if method.contains("command") {
            assert_eq!(question.params["subjects"][0]["line"], "echo hi");
        } else if method.contains("file") {
            let diff = question.params["subjects"][0]["diff"].as_str().unwrap();
            assert!(diff.contains('+'), "{question:?}");
        } else {
            let path = question.params["subjects"][0]["path"].as_str().unwrap();
            assert!(path.ends_with("src/example.rs"), "{question:?}");
        }
        client.respond(&question, &answer);
        let turn = client.finish(&thread, &turn);
        let resolved = turn.one("serverRequest/resolved");
        assert_eq!(
            (resolved.text("outcome"), resolved.text("requestId")),
            (outcome, question.text("requestId"))
        );
        assert_eq!(turn.said(), said);
    }
    // A different session, to which no remembered answer applies.
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "permission");
    let question = client.question();
    client.respond(&question, &json!({ "decision": "cancel" }));
    assert_eq!(
        client
            .finish(&thread, &turn)
            .one("serverRequest/resolved")
            .text("outcome"),
        "cancelled"
    );
}

#[test]
fn a_question_is_answered_by_the_first_of_several_clients() {
    let daemon = Daemon::start();
    let mut first = Client::named(&daemon, "first", &json!({ "approvals": true }));
    let thread = first.thread(&daemon);
    let mut second = Client::named(&daemon, "second", &json!({ "approvals": true }));
    let mut observer = Client::observer(&daemon);
    for client in [&mut second, &mut observer] {
        client.call("thread/resume", &json!({ "threadId": thread }));
    }
    let turn = first.start(&thread, "permission");
    let question = first.question();
    assert_eq!(*question, *second.question(), "both are asked the same");
    let wrong = second.refused(
        "item/approve",
        &json!({ "requestId": question.text("requestId"), "approved": true, "optionId": "none" }),
    );
    assert_eq!(wrong["code"], -32602, "{wrong}");
    second.call(
        "item/approve",
        &json!({ "requestId": question.text("requestId"), "approved": true }),
    );
    for client in [&mut first, &mut second, &mut observer] {
        let turn = client.finish(&thread, &turn);
        let resolved = turn.one("serverRequest/resolved");
        assert_eq!(
            (resolved.text("outcome"), &resolved.params["by"]["client"]),
            ("accepted", &json!("second"))
        );
        assert_eq!(turn.said(), "allowed (allow_once)");
    }
    let seen = observer.seen.iter().find(|m| m.is_question()).unwrap();
    assert_eq!(
        (&seen.id, &seen.params),
        (&None, &question.params),
        "an observer sees and is not asked"
    );

    first.respond(&question, &json!({ "decision": "decline" }));
    let late = first.wait_for("serverRequest/rejected");
    assert_eq!(
        late.params["error"]["data"]["code"], "already_resolved",
        "{late:?}"
    );
    assert_eq!(late.text("requestId"), question.text("requestId"));
    let late = second.refused(
        "item/approve",
        &json!({ "requestId": question.text("requestId"), "approved": false }),
    );
    assert_eq!(
        (&late["code"], &late["data"]["code"]),
        (&json!(-32004), &json!("already_resolved"))
    );
}

#[test]
fn invalid_answers_leave_the_question_open() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "permission");
    let question = client.question();
    for nonsense in [
        json!({ "decision": "perhaps" }),
        json!({}),
        json!(null),
        json!({ "decision": "accept", "optionId": "x" }),
    ] {
        client.respond(&question, &nonsense);
        let rejected = client.wait_for("serverRequest/rejected");
        assert_eq!(
            rejected.params["error"]["code"], -32602,
            "{nonsense}: {rejected:?}"
        );
    }
    let read = client.call("thread/read", &json!({ "threadId": thread }));
    assert_eq!(
        read["thread"]["pendingRequestIds"],
        json!([question.text("requestId")])
    );
    assert_eq!(read["thread"]["status"], "waiting");
    client.call(
        "item/approve",
        &json!({ "requestId": question.text("requestId"), "approved": false }),
    );
    assert_eq!(client.finish(&thread, &turn).said(), "rejected (reject_once)");
}

#[test]
fn state_updates_and_extensions_go_through() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(
        &thread,
        "mode code; title New; usage used=5 size=10; commands; config; ext; notice",
    );
    assert_eq!(turn.status(), "completed");
    let usage = turn.one("thread/tokenUsage/updated");
    assert_eq!(
        (&usage.params["used"], &usage.params["size"]),
        (&json!(5), &json!(10))
    );
    assert_eq!(usage.params["cost"]["currency"], "USD");
    let updates: Vec<&Value> = turn.of("thread/updated").iter().map(|m| &m.params).collect();
    assert!(
        updates.iter().any(|update| update["modeId"] == "code"),
        "{updates:#?}"
    );
    assert!(
        updates.iter().any(|update| update["name"] == "New"),
        "{updates:#?}"
    );
    let note = turn.one("agent/notification");
    assert_eq!(
        (note.text("method"), &note.params["params"]["odd"][1]),
        ("_example.com/note", &json!(1.10))
    );
    assert!(
        turn.said().contains("-32601") || turn.said().contains("not"),
        "{}",
        turn.said()
    );
    let read = client.call("thread/read", &json!({ "threadId": thread }))["thread"].take();
    assert_eq!((&read["name"], &read["modeId"]), (&json!("New"), &json!("code")));
    assert_eq!(read["tokenUsage"]["used"], 5);
}

#[test]
fn other_content_than_text_is_kept_as_it_came() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "say look; image; resource");
    let whole = turn.of("item/completed").pop().unwrap();
    let kinds: Vec<&Value> = whole.params["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| &b["type"])
        .collect();
    assert_eq!(kinds, ["text", "image", "resource", "resource_link"]);
    assert_eq!(whole.params["content"][2]["annotations"]["priority"], json!(0.5));
    assert_eq!(whole.text("text"), "look");
}

#[test]
fn messages_after_the_turn_are_not_lost() {
    // On a busy host the late text comes later.
    let daemon = Daemon::with("[limits]\nturn_tail_millis = 5000\n");
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "say the end is ne; late ms=1 text=ar");
    assert_eq!(turn.said(), "the end is near");
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "say in time; late ms=1000 text=afterwards");
    assert_eq!(turn.said(), "in time");
    let late = client.wait_for("item/agentMessage/delta");
    assert_eq!(late.text("text"), "afterwards");
    assert_eq!(client.turn(&thread, "say next").said(), "next");
    // With the id of its message, it belongs to the turn before.
    let id = "msg_ebce90c09001gryYsSnuDhEeCe";
    let turn = client.turn(
        &thread,
        &format!("stream n=1 text=long id={id}; late ms=1000 text=tail id={id}"),
    );
    assert_eq!(turn.said(), " long 1");
    let late = client.wait_for("item/agentMessage/delta");
    assert_eq!(
        (late.text("text"), &late.params["turnId"]),
        ("tail", &turn.end["id"])
    );
}
