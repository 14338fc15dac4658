//! Turns of a thread: their order, and all ways in which they end.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Incoming, Place};

#[test]
fn a_thread_starts_with_its_first_turn() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let started = client.call(
        "thread/start",
        &json!({
            "agentType": "fake", "cwd": daemon.place.work(), "text": "stream n=2; cwd",
            "name": "First", "projectId": "p", "metadata": { "k": [1] },
        }),
    );
    let thread = &started["thread"];
    assert_eq!(
        (&thread["name"], &thread["projectId"]),
        (&json!("First"), &json!("p"))
    );
    assert_eq!(thread["metadata"], json!({ "k": [1] }));
    assert_eq!(started["turn"]["id"], "turn_1");
    let turn = client.finish(thread["id"].as_str().unwrap(), "turn_1");
    let work = daemon.place.work().display().to_string();
    let start = daemon.place.data().join("start").display().to_string();
    assert_eq!(
        turn.said(),
        format!(" word 1 word 2session {work}, process {start}")
    );
    assert_eq!(turn.methods()[0], "thread/started");
    let user = turn.one("item/userMessage");
    assert_eq!(user.text("text"), "stream n=2; cwd");
}

#[test]
fn a_turn_streams_in_order_and_a_second_one_follows() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.wait_for("thread/updated");
    let turn = client.turn(&thread, "think n=1; stream n=200 ms=1");
    assert_eq!(
        (turn.status(), turn.end["stopReason"].as_str()),
        ("completed", Some("end_turn"))
    );
    let expected: String = (1..=200).map(|k| format!(" word {k}")).collect();
    assert_eq!(turn.said(), expected);
    let mut methods = turn.methods();
    methods.dedup();
    assert_eq!(
        methods,
        [
            "turn/started",
            "thread/status/changed",
            "item/started",
            "item/userMessage",
            "item/completed",
            "item/started",
            "item/agentThought/delta",
            "item/completed",
            "item/started",
            "item/agentMessage/delta",
            "item/completed",
            "turn/completed",
        ]
    );
    let whole = turn.of("item/completed").pop().unwrap();
    assert_eq!(
        (whole.text("type"), whole.text("text")),
        ("agentMessage", &expected[..])
    );
    let second = client.turn(&thread, "echo");
    assert_eq!(
        (second.status(), &second.end["id"]),
        ("completed", &json!("turn_2"))
    );
    assert_eq!(second.said(), "1 blocks (text): echo");
}

#[test]
fn suggested_prompts_reach_every_client_until_the_next_prompt() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.start(&thread, "suggest 'Run the tests | Commit'");
    let shown = client.wait_for("thread/suggestions/updated");
    let text = |shown: &Incoming, at: usize| shown.params["suggestions"][at]["prompt"][0]["text"].clone();
    assert_eq!(
        (text(&shown, 0), text(&shown, 1)),
        (json!("Run the tests"), json!("Commit"))
    );
    client.wait_for("turn/completed");
    let mut late = Client::new(&daemon);
    late.resume(&thread, 0);
    let messages = late.until(|message| message.method == "thread/suggestions/updated");
    assert!(
        messages.iter().any(|message| message.method == "turn/completed"),
        "they follow what the client missed"
    );
    assert_eq!(
        messages.last().map(|shown| text(shown, 0)),
        Some(json!("Run the tests"))
    );
    client.start(&thread, "say hi");
    for client in [&mut client, &mut late] {
        let withdrawn = client.wait_for("thread/suggestions/updated");
        assert_eq!(withdrawn.params["suggestions"], json!([]));
    }
}

#[test]
fn prompts_during_a_turn_are_queued() {
    let daemon = Daemon::with("[limits]\nqueued_turns = 2\n");
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let start = |text: &str, own: &str| json!({ "threadId": thread, "text": text, "clientTurnId": own });
    let first = client.call("turn/start", &start("permission; say one", "a"));
    assert_eq!(first["turn"]["status"], "running");
    let question = client.question();
    let second = client.call("turn/start", &start("say two", "b"));
    let third = client.call("turn/start", &start("say three", "c"));
    assert_eq!(
        (&second["turn"]["status"], &third["turn"]["status"]),
        (&json!("queued"), &json!("queued"))
    );
    let again = client.call("turn/start", &start("say two", "b"));
    assert_eq!(
        again["turn"]["id"], second["turn"]["id"],
        "one clientTurnId is one turn"
    );
    let full = client.refused("turn/start", &start("say four", "d"));
    assert_eq!(
        (&full["code"], &full["data"]["retryable"]),
        (&json!(-32001), &json!(true))
    );
    client.respond(&question, &json!({ "decision": "accept" }));
    for (turn, said) in [
        ("turn_1", "allowed (allow_once)one"),
        ("turn_2", "two"),
        ("turn_3", "three"),
    ] {
        let turn = client.finish(&thread, turn);
        assert_eq!((turn.status(), &turn.said()[..]), ("completed", said));
    }
    let starts: Vec<_> = client
        .seen
        .iter()
        .filter(|m| m.method == "turn/started")
        .collect();
    assert_eq!(starts.len(), 3);
}

#[test]
fn an_interrupt_waits_for_the_agent_and_for_its_last_words() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let idle = client.refused("turn/interrupt", &json!({ "threadId": thread }));
    assert_eq!(idle["code"], -32004, "{idle}");
    let turn = client.start(&thread, "latecancel");
    client.wait_for("item/toolCall/started");
    client.call("turn/interrupt", &json!({ "threadId": thread, "turnId": turn }));
    let ended = client.finish(&thread, &turn);
    assert_eq!(
        (ended.status(), ended.end["stopReason"].as_str()),
        ("interrupted", Some("cancelled"))
    );
    assert_eq!(ended.said(), "still winding down");
    assert_eq!(
        ended.one("item/toolCall/completed").params["outcome"],
        "interrupted"
    );
    assert_eq!(client.turn(&thread, "say on").said(), "on");
}

#[test]
fn an_interrupt_answers_what_is_asked_with_cancelled() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "permission");
    let question = client.question();
    client.call("turn/interrupt", &json!({}));
    let ended = client.finish(&thread, &turn);
    assert_eq!(ended.status(), "interrupted");
    let resolved = ended.one("serverRequest/resolved");
    assert_eq!(
        (resolved.text("outcome"), resolved.text("requestId")),
        ("cancelled", question.text("requestId"))
    );
    assert_eq!(resolved.params["by"]["client"], "test");
}

#[test]
fn a_queued_turn_can_be_taken_back() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let first = client.start(&thread, "permission");
    let question = client.question();
    let second = client.start(&thread, "say never");
    client.call("turn/interrupt", &json!({ "threadId": thread, "turnId": second }));
    assert_eq!(client.finish(&thread, &second).status(), "interrupted");
    client.respond(&question, &json!({ "decision": "decline" }));
    let ended = client.finish(&thread, &first);
    assert_eq!(
        (ended.status(), &ended.said()[..]),
        ("completed", "rejected (reject_once)")
    );
    assert_eq!(client.turn(&thread, "say next").said(), "next");
}

#[test]
fn an_agent_that_does_not_cancel_is_stopped_and_the_turn_says_so() {
    let daemon = Daemon::with("[limits]\ncancel_secs = 1\nagent_exit_grace_secs = 1\n");
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "say deep; hang");
    client.wait_for("item/agentMessage/delta");
    client.call("turn/interrupt", &json!({}));
    let ended = client.finish(&thread, &turn);
    assert_eq!(ended.status(), "interrupted");
    let notice = ended.one("thread/notice");
    assert_eq!(notice.text("code"), "cancelTimedOut");
    assert!(
        notice.text("message").contains("after 1 s"),
        "{}",
        notice.text("message")
    );
    assert_eq!(client.turn(&thread, "say back").said(), "back");
}

#[test]
fn each_stop_reason_has_its_own_status() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    for (text, status) in [
        ("stop reason=end_turn", "completed"),
        ("stop reason=refusal", "refused"),
        ("stop reason=max_tokens", "limited"),
        ("stop reason=max_turn_requests", "limited"),
        ("stop reason=cancelled", "interrupted"),
        ("error message='the model is away'", "failed"),
    ] {
        let turn = client.turn(&thread, text);
        assert_eq!(turn.status(), status, "{text}");
        assert_eq!(
            status == "failed",
            turn.error().contains("the model is away"),
            "{:?}",
            turn.end
        );
    }
}

#[test]
fn a_crash_fails_the_turn_and_the_next_one_works() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    for (text, why) in [
        ("crash code=3 after=2", "exited with code 3"),
        ("say x; halfline", "exited with code 0"),
        ("abort", "SIGABRT"),
    ] {
        let turn = client.turn(&thread, text);
        assert_eq!(turn.status(), "failed", "{text}");
        assert!(turn.error().contains(why), "{text}: {}", turn.error());
        let lost: Vec<_> = turn.of("thread/notice");
        let lost = lost
            .iter()
            .find(|notice| notice.text("code") == "agentLost")
            .unwrap();
        assert!(
            !text.starts_with("crash") || lost.text("detail").contains("about to crash"),
            "{lost:?}"
        );
        let next = client.turn(&thread, "say again");
        assert_eq!((next.status(), &next.said()[..]), ("completed", "again"));
    }
}

#[test]
fn a_turn_that_ends_with_the_process_is_complete() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "say bye; exit");
    assert_eq!((turn.status(), &turn.said()[..]), ("completed", "bye"));
    // A prompt that the process receives while it exits is lost with the process, and the turn reports this.
    let lost = |message: &Incoming| message.method == "thread/notice" && message.text("code") == "agentLost";
    if !turn.messages.iter().any(|message| lost(message)) {
        client.until(lost);
    }
    let next = client.turn(&thread, "say again");
    assert_eq!((next.status(), &next.said()[..]), ("completed", "again"));
}

#[test]
fn a_failed_start_is_reported_with_the_agents_stderr() {
    let daemon = Daemon::with(
        "[agents.dead]\ncommand = \"sh\"\nargs = [\"-c\", \"echo no licence >&2; exit 7\"]\n\
         [agents.mute]\ncommand = \"sh\"\nargs = [\"-c\", \"exec sleep 600\"]\n\
         [limits]\nagent_start_secs = 1\nagent_exit_grace_secs = 1\n",
    );
    let mut client = Client::new(&daemon);
    let start = |agent: &str| json!({ "agentType": agent, "cwd": daemon.place.work(), "text": "hi" });
    let dead = client.refused("thread/start", &start("dead"));
    assert_eq!(dead["code"], -32008, "{dead}");
    assert!(
        dead["message"].as_str().unwrap().contains("exited with code 7"),
        "{dead}"
    );
    assert_eq!(dead["data"]["detail"], "no licence", "{dead}");
    let mute = client.refused("thread/start", &start("mute"));
    assert_eq!(mute["code"], -32008, "{mute}");
    for _ in 0..2 {
        let end = client.wait_for("turn/completed");
        assert_eq!(end.params["turn"]["status"], "failed");
    }
}

#[test]
fn blocks_that_an_agent_cannot_take_are_refused() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let mut input = |block: Value| {
        let params = json!({ "threadId": thread, "input": [block] });
        client.try_call("turn/start", &params)
    };
    assert_eq!(input(json!({ "type": "hologram" })).unwrap_err()["code"], -32602);
    assert_eq!(input(json!("no block")).unwrap_err()["code"], -32602);
    input(json!({ "type": "text", "text": "echo" })).unwrap();
    let turn = client.finish(&thread, "turn_1");
    assert_eq!(turn.said(), "1 blocks (text): echo");
    let empty = client.refused("turn/start", &json!({ "threadId": thread }));
    assert_eq!(empty["code"], -32602, "{empty}");
}

#[test]
fn sessions_resume_in_the_next_process_or_report_that_they_cannot() {
    let place = Place::new("");
    let forgetful = place.agent("forgetful", &["--no-load"], &[]);
    place.configure(&format!("{}\n{forgetful}", place.agent("fake", &[], &[])));
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    for (agent, forgets) in [("fake", false), ("forgetful", true)] {
        let thread = client.thread_of(&daemon, agent);
        client.turn(&thread, "say once");
        client.turn(&thread, "crash");
        let next = client.turn(&thread, "say twice");
        assert_eq!(
            next.said(),
            "twice",
            "history that is replayed at load is no news"
        );
        let forgot = client.seen.iter().any(|m| m.text("code") == "agentForgot");
        assert_eq!(forgot, forgets, "{agent}");
    }
}
