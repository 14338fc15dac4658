//! Operations on whole threads: names, archive, rollback, fork, deletion; and steering a running turn.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Incoming, Place, acpd, wait_until};

/// Starts a daemon whose agent `fake` has `flags`.
fn with_agent(flags: &[&str]) -> Daemon {
    let place = Place::new("");
    let flags = [&["--pace", "0"], flags].concat();
    place.configure(&place.agent("fake", &flags, &[]));
    Daemon::at(place)
}

fn read(client: &mut Client, thread: &str) -> Value {
    let params = json!({ "threadId": thread, "includeTurns": true });
    client.call("thread/read", &params)["thread"].take()
}

fn turn_ids(thread: &Value) -> Vec<&str> {
    let turns = thread["turns"].as_array().expect("its turns were asked for");
    turns.iter().filter_map(|turn| turn["id"].as_str()).collect()
}

fn listed(client: &mut Client, archived: bool) -> Vec<String> {
    let page = client.call("thread/list", &json!({ "archived": archived }));
    let threads = page["data"].as_array().expect("a page has data").iter();
    threads
        .map(|thread| thread["id"].as_str().expect("a thread has an id").to_owned())
        .collect()
}

fn three_turns(client: &mut Client, thread: &str) {
    for n in 1..=3 {
        client.turn(thread, &format!("say answer{n}"));
    }
}

/// Returns all events of a thread, as a new client receives them.
fn replay(daemon: &Daemon, thread: &str, after: u64) -> Vec<Arc<Incoming>> {
    let mut client = Client::new(daemon);
    let latest = client.resume(thread, after)["latestSeq"].as_u64();
    let latest = latest.expect("thread/resume tells the latest seq");
    if latest == after {
        return Vec::new();
    }
    client.until(|message| message.seq() == latest)
}

#[test]
fn names_and_data_reach_every_client() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let mut other = Client::new(&daemon);
    other.resume(&thread, 0);
    client.call("thread/name/set", &json!({ "threadId": thread, "name": "Mine" }));
    client.call(
        "thread/metadata/set",
        &json!({ "threadId": thread, "metadata": { "a": 1 } }),
    );
    let renamed = other.until(|m| m.method == "thread/updated" && m.params["name"] == "Mine");
    assert_eq!(renamed.last().unwrap().params["by"]["client"], "test");
    other.until(|m| m.method == "thread/updated" && m.params["metadata"] == json!({ "a": 1 }));
    client.turn(&thread, "title 'From the agent'");
    let found = client.call("thread/list", &json!({ "searchTerm": "mINE" }));
    assert_eq!(
        (&found["data"][0]["id"], &found["data"][0]["metadata"]),
        (&json!(thread), &json!({ "a": 1 }))
    );
    client.call("thread/name/set", &json!({ "name": null }));
    assert_eq!(read(&mut client, &thread)["name"], "From the agent");
    let refused = client.refused("thread/name/set", &json!({}));
    assert_eq!(
        refused["data"]["code"], "invalid_params",
        "a name is not given back by accident"
    );
}

#[test]
fn archived_threads_are_not_listed() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "permission");
    let question = client.question();
    let busy = client.refused("thread/archive", &json!({}));
    assert_eq!(busy["data"]["code"], "conflict");
    client.respond(&question, &json!({ "decision": "accept" }));
    client.finish(&thread, &turn);
    client.call("thread/archive", &json!({}));
    client.wait_for("thread/archived");
    daemon.place.wait_for_no_agents();
    assert_eq!(
        (listed(&mut client, false), listed(&mut client, true)),
        (vec![], vec![thread.clone()])
    );
    let refused = client.refused("turn/start", &json!({ "text": "x" }));
    assert_eq!(refused["data"]["code"], "conflict", "{refused}");
    let back = client.call("thread/unarchive", &json!({}));
    assert_eq!(back["thread"]["archived"], false);
    client.wait_for("thread/unarchived");
    assert_eq!(client.turn(&thread, "say back").said(), "back");
}

#[test]
fn rolled_back_turns_are_dropped_for_all_clients_and_the_agent_receives_the_rest() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let mut other = Client::new(&daemon);
    other.resume(&thread, 0);
    three_turns(&mut client, &thread);
    let before = replay(&daemon, &thread, 0);
    let result = client.call("thread/rollback", &json!({ "turnId": "turn_1" }));
    assert_eq!(result["fidelity"], "recalled");
    let notified = other.wait_for("thread/rolledBack");
    assert_eq!(notified.text("lastKeptTurnId"), "turn_1");
    assert_eq!(turn_ids(&read(&mut other, &thread)), ["turn_1"]);
    let resumed = Client::new(&daemon).call("thread/resume", &json!({ "threadId": thread }));
    assert_eq!(turn_ids(&resumed["thread"]), ["turn_1"]);

    let prompt = client.turn(&thread, "echo");
    assert_eq!(prompt.end["id"], "turn_4");
    assert!(prompt.said().contains("resource"), "{}", prompt.said());
    assert_eq!(turn_ids(&read(&mut client, &thread)), ["turn_1", "turn_4"]);

    // After the rollback, the replay still contains all events.
    let whole = replay(&daemon, &thread, 0);
    assert_eq!(whole[..before.len()], before[..]);
    let middle = before.len() as u64 / 2;
    assert_eq!(replay(&daemon, &thread, middle)[..], whole[middle as usize..]);
}

#[test]
fn an_edited_prompt_takes_the_place_of_the_first_one_for_all_clients() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let mut other = Client::new(&daemon);
    other.resume(&thread, 0);
    three_turns(&mut client, &thread);
    let params = json!({ "text": "say another", "replacesTurnId": "turn_9" });
    let refused = client.refused("turn/start", &params);
    assert_eq!(refused["data"]["code"], "not_found", "{refused}");
    assert_eq!(
        turn_ids(&read(&mut client, &thread)),
        ["turn_1", "turn_2", "turn_3"]
    );

    let params = json!({ "text": "say another", "replacesTurnId": "turn_1", "clientTurnId": "edit" });
    let started = client.call("turn/start", &params);
    assert_eq!(started["turn"]["id"], "turn_4");
    assert_eq!(client.call("turn/start", &params)["turn"]["id"], "turn_4");
    let notified = other.wait_for("thread/rolledBack");
    assert_eq!(notified.params["lastKeptTurnId"], json!(null));
    other.wait_for("turn/completed");
    assert_eq!(turn_ids(&read(&mut other, &thread)), ["turn_4"]);
}

#[test]
fn the_command_line_sends_a_prompt_in_place_of_an_earlier_one() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    three_turns(&mut client, &thread);
    let send = |more: &[&str]| acpd(&daemon.place, &[&["send", &thread], more].concat());
    let sent = send(&["--replace", "2", "say other"]);
    assert!(
        sent.code == Some(0) && sent.stdout.starts_with("turn_4 started"),
        "{}{}",
        sent.stdout,
        sent.stderr
    );
    assert_eq!(turn_ids(&read(&mut client, &thread)), ["turn_1", "turn_4"]);
    client.until(|message| message.method == "turn/completed" && message.text("turnId") == "turn_4");
    let gone = send(&["--replace", "turn_2", "say other"]);
    assert_eq!(gone.code, Some(5), "{}", gone.stderr);
    // Options and files are not set and stored for a prompt that is refused.
    let large = daemon.place.work().join("large.bin");
    std::fs::write(&large, vec![0; 2 << 20]).unwrap();
    let large = large.to_str().expect("the path is UTF-8");
    let before = read(&mut client, &thread)["configOptions"].take();
    for more in [&["--attach", large][..], &["--mode", "code"]] {
        let gone = send(&[&["--replace", "turn_9", "say other"], more].concat());
        assert!(
            gone.code == Some(5) && gone.stderr.contains("turn_9 is not part of the conversation"),
            "{}",
            gone.stderr
        );
    }
    assert_eq!(read(&mut client, &thread)["configOptions"], before);
    let stored = daemon.place.data().join("attachments").join(&thread);
    assert_eq!(stored.read_dir().into_iter().flatten().count(), 0);
    for wrong in [&["--replace", "two"][..], &["--steer", "--replace", "1"]] {
        let refused = send(&[wrong, &["x"]].concat());
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    }
    assert_eq!(turn_ids(&read(&mut client, &thread)), ["turn_1", "turn_4"]);
}

/// Whether the rollback was stored before the daemon died is random; either state must be consistent.
#[test]
fn a_daemon_that_is_killed_has_rolled_back_or_has_not() {
    let mut daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    three_turns(&mut client, &thread);
    for wait in [false, true] {
        let params = json!({ "threadId": thread, "turnId": "turn_1" });
        client.request("thread/rollback", &params);
        if wait {
            client.wait_for("thread/rolledBack");
        }
        daemon.kill();
        daemon.place.wait_for_no_agents();
        daemon.restart();
        client = Client::new(&daemon);
        client.resume(&thread, 0);
        let notified = replay(&daemon, &thread, 0);
        let rolled_back = notified.iter().any(|m| m.method == "thread/rolledBack");
        let kept = read(&mut client, &thread);
        let expected: &[&str] = if rolled_back {
            &["turn_1"]
        } else {
            &["turn_1", "turn_2", "turn_3"]
        };
        assert_eq!(turn_ids(&kept), expected);
        assert!(rolled_back || !wait);
        if rolled_back {
            break;
        }
    }
    let turn = client.turn(&thread, "echo");
    assert!(turn.said().contains("resource"), "{}", turn.said());
}

#[test]
fn a_fork_goes_its_own_way() {
    for (flags, fidelity) in [(&["--fork"][..], "exact"), (&[], "recalled")] {
        let daemon = with_agent(flags);
        let mut client = Client::new(&daemon);
        let thread = client.thread(&daemon);
        client.turn(&thread, "say one");
        let forked = client.call("thread/fork", &json!({ "threadId": thread, "name": "Other" }));
        assert_eq!(forked["fidelity"], fidelity);
        let fork = forked["thread"]["id"].as_str().unwrap().to_owned();
        assert_eq!(
            (&forked["thread"]["name"], &forked["thread"]["turnCount"]),
            (&json!("Other"), &json!(1))
        );
        // The caller is subscribed to it, and it is the current thread.
        let turn = client.call("turn/start", &json!({ "text": "echo" }));
        let turn = client.finish(&fork, turn["turn"]["id"].as_str().unwrap());
        assert_eq!(
            turn.said().contains("resource"),
            fidelity == "recalled",
            "{}",
            turn.said()
        );
        let notices = client
            .seen
            .iter()
            .filter(|m| m.text("threadId") == fork && m.text("code") == "agentForgot");
        assert_eq!(notices.count(), 0);
        client.turn(&thread, "say two");
        assert_eq!(turn_ids(&read(&mut client, &fork)), ["turn_1", "turn_2"]);
        let (old, new) = (read(&mut client, &thread), read(&mut client, &fork));
        assert_eq!(old["turns"][0], new["turns"][0]);
        assert_ne!(old["turns"][1], new["turns"][1]);
        let history = replay(&daemon, &fork, 0);
        assert_eq!(history[0].method, "thread/started");
        assert!(
            history
                .iter()
                .any(|m| m.method == "thread/forked" && m.text("fromThreadId") == thread)
        );
        let prefix = client.call("thread/fork", &json!({ "threadId": thread, "turnId": "turn_1" }));
        assert_eq!(prefix["fidelity"], "recalled", "the session knows more than that");
        assert_eq!(listed(&mut client, false).len(), 3);
    }
}

/// As with Codex: the process of the origin keeps the copy that it has made of its session.
#[test]
fn a_fork_remembers_although_the_origins_process_keeps_the_copy() {
    let daemon = with_agent(&["--fork", "--lock", "--delete"]);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    three_turns(&mut client, &thread);
    let fork = client.call("thread/fork", &json!({ "threadId": thread }));
    assert_eq!(fork["fidelity"], "exact", "{fork}");
    let fork = fork["thread"]["id"].as_str().unwrap();
    // What the origin does now is no concern of the fork.
    client.turn(&thread, "say answer4");
    assert_eq!(
        remembered(&mut client, fork),
        "say answer1 | say answer2 | say answer3"
    );
    let history = replay(&daemon, fork, 0);
    let bound = history.iter().rfind(|m| m.params["agent"]["how"].is_string());
    assert_eq!(bound.unwrap().params["agent"]["how"], "fork");
    for code in ["notReopened", "agentForgot"] {
        assert!(!history.iter().any(|m| m.text("code") == code), "{code}");
    }
    // No thread uses the copy in between.
    let forked = history.iter().find(|m| m.method == "thread/forked").unwrap();
    let list = client.call("agent/session/list", &json!({ "threadId": thread }));
    let list = list["result"]["sessions"].as_array().expect("a list").clone();
    assert_eq!(list.len(), 2, "{list:?}");
    assert!(
        list.iter()
            .all(|listed| listed["sessionId"] != forked.text("sessionId"))
    );
}

/// The client leaves while the agent of the fork opens its session.
#[test]
fn a_copy_is_deleted_although_its_client_has_left() {
    let daemon = with_agent(&["--fork", "--lock", "--delete", "--refresh", "1000"]);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say one");
    client.request("thread/fork", &json!({ "threadId": thread }));
    let mut other = Client::new(&daemon);
    wait_until("the fork exists", || listed(&mut other, false).len() == 2);
    drop(client);
    let threads = listed(&mut other, false);
    let fork = threads.iter().find(|listed| **listed != thread).unwrap();
    let history = replay(&daemon, fork, 0);
    let forked = history.iter().find(|message| message.method == "thread/forked");
    let copy = forked.expect("the log begins with it").text("sessionId");
    wait_until("only the sessions of the threads are left", || {
        // The requests of one connection are limited.
        let mut client = Client::new(&daemon);
        let list = client.call("agent/session/list", &json!({ "threadId": thread }));
        let sessions = list["result"]["sessions"].as_array().expect("a list");
        sessions.len() == 2 && sessions.iter().all(|listed| listed["sessionId"] != copy)
    });
}

/// The daemon sends agents no history, so that the agent of the fork would know nothing.
#[test]
fn a_fork_that_remembers_nothing_is_deleted_again() {
    let place = Place::new("");
    let agent = place.agent("fake", &["--pace", "0", "--fork", "--forget"], &[]);
    place.configure(&format!("{agent}[limits]\nrecall_bytes = 0\n"));
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say one");
    let error = client.refused("thread/fork", &json!({ "threadId": thread }));
    assert_eq!(error["data"]["code"], "unsupported", "{error}");
    assert_eq!(listed(&mut client, false), [thread]);
}

/// The agent copies its session, and no other process of it knows the copy.
#[test]
fn a_fork_is_exact_only_if_its_agent_has_opened_the_copy() {
    let daemon = with_agent(&["--fork", "--forget"]);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say one");
    let fork = client.call("thread/fork", &json!({ "threadId": thread }));
    assert_eq!(fork["fidelity"], "recalled", "{fork}");
    let fork = fork["thread"]["id"].as_str().unwrap();
    let turn = client.turn(fork, "echo");
    assert!(turn.said().contains("resource"), "{}", turn.said());
    assert!(
        replay(&daemon, fork, 0)
            .iter()
            .any(|m| m.text("code") == "agentForgot")
    );
}

/// Each process of the agent receives the system prompt: of the thread, or else the configured one.
#[test]
fn a_system_prompt_is_the_threads_or_the_configured_one() {
    let place = Place::new("");
    let agent = place.agent("fake", &["--pace", "0", "--fork", "--system-prompt"], &[]);
    let other = place.agent("other", &["--pace", "0"], &[]);
    let prompt = "system_prompt = { mode = \"override\", content = \"be brief\" }";
    place.configure(&format!("{agent}{prompt}\n{other}"));
    let mut daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let start = |agent: &str| {
        let cwd = daemon.place.work();
        json!({ "agentType": agent, "cwd": cwd, "systemPrompt": { "content": "be kind" } })
    };
    let (params, refused) = (start("fake"), start("other"));
    let configured = client.thread(&daemon);
    let started = client.call("thread/start", &params);
    let own = started["thread"]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        client.turn(&configured, "instructions").said(),
        "override: be brief"
    );
    assert_eq!(client.turn(&own, "instructions").said(), "append: be kind");
    let forked = client.call("thread/fork", &json!({ "threadId": own }));
    let fork = forked["thread"]["id"].as_str().unwrap().to_owned();
    let error = client.refused("thread/start", &refused);
    assert_eq!(error["data"]["code"], "unsupported", "{error}");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("takes no system prompt"),
        "{error}"
    );
    daemon.kill();
    daemon.place.wait_for_no_agents();
    daemon.restart();
    let mut client = Client::new(&daemon);
    for (thread, said) in [
        (&configured, "override: be brief"),
        (&own, "append: be kind"),
        (&fork, "append: be kind"),
    ] {
        client.resume(thread, 0);
        assert_eq!(client.turn(thread, "instructions").said(), said);
    }
}

/// Returns the current value of an option in ACP's list.
fn current<'a>(options: &'a Value, id: &str) -> &'a Value {
    let mut options = options.as_array().expect("a list of options").iter();
    &options.find(|option| option["id"] == id).expect("it has it")["currentValue"]
}

#[test]
fn options_are_known_before_there_is_a_thread() {
    let daemon = with_agent(&["--options"]);
    let mut client = Client::new(&daemon);
    let cwd = daemon.place.work();
    let read = client.call("agent/options", &json!({ "agentType": "fake", "cwd": cwd }));
    assert_eq!(current(&read["result"]["configOptions"], "model"), "fake-small");
    daemon.place.wait_for_no_agents();
    assert!(listed(&mut client, false).is_empty());
    let nowhere = json!({ "agentType": "fake", "cwd": "/no/such/place" });
    assert_eq!(
        client.refused("agent/options", &nowhere)["data"]["code"],
        "invalid_params"
    );
    // The agent has them from the first moment on.
    let config = json!({ "model": "fake-large", "verbose": true });
    let start = json!({ "agentType": "fake", "cwd": cwd, "config": config });
    let started = client.call("thread/start", &start);
    let options = &started["thread"]["configOptions"];
    assert_eq!(
        (current(options, "model"), current(options, "verbose")),
        (&json!("fake-large"), &json!(true))
    );
    let plain = with_agent(&[]);
    let mut client = Client::new(&plain);
    let wanted = json!({ "agentType": "fake", "cwd": plain.place.work() });
    let refused = client.refused("agent/options", &wanted);
    assert_eq!(refused["data"]["code"], "unsupported", "{refused}");
}

/// Has an agent say which prompts it remembers.
fn remembered(client: &mut Client, thread: &str) -> String {
    client.turn(thread, "recall").said()
}

#[test]
fn an_agent_with_cursors_remembers_exactly_the_kept_turns() {
    let mut daemon = with_agent(&["--cursors"]);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    three_turns(&mut client, &thread);
    let mut origin = thread.clone();
    for (turn, expected) in [
        ("turn_2", "say answer1 | say answer2"),
        // This one is of the fork, which has copied the turn.
        ("turn_1", "say answer1"),
    ] {
        let forked = client.call("thread/fork", &json!({ "threadId": origin, "turnId": turn }));
        assert_eq!(forked["fidelity"], "exact", "{forked}");
        forked["thread"]["id"].as_str().unwrap().clone_into(&mut origin);
        assert_eq!(remembered(&mut client, &origin), expected);
    }
    assert_eq!(
        remembered(&mut client, &thread),
        "say answer1 | say answer2 | say answer3"
    );

    // The agent's process is another one then.
    daemon.kill();
    daemon.place.wait_for_no_agents();
    daemon.restart();
    let mut client = Client::new(&daemon);
    client.resume(&thread, 0);
    for (turn, fidelity, expected) in [
        (json!("turn_2"), "exact", "say answer1 | say answer2"),
        (json!("turn_1"), "exact", "say answer1"),
        (Value::Null, "exact", "nothing"),
    ] {
        let params = json!({ "threadId": thread, "turnId": turn });
        assert_eq!(client.call("thread/rollback", &params)["fidelity"], fidelity);
        assert_eq!(remembered(&mut client, &thread), expected, "{turn}");
    }
}

#[test]
fn an_agent_with_cursors_does_not_remember_a_prompt_that_was_replaced() {
    let daemon = with_agent(&["--cursors"]);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    three_turns(&mut client, &thread);
    for replaced in ["turn_3", "turn_2"] {
        let edited = json!({ "threadId": thread, "text": "recall", "replacesTurnId": replaced });
        let started = client.call("turn/start", &edited);
        let turn = client.finish(&thread, started["turn"]["id"].as_str().unwrap());
        let expected = if replaced == "turn_3" {
            "say answer1 | say answer2"
        } else {
            "say answer1"
        };
        assert_eq!(turn.said(), expected);
    }
}

#[test]
fn an_agent_without_cursors_receives_what_is_kept() {
    let daemon = with_agent(&["--fork"]);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    three_turns(&mut client, &thread);
    let params = json!({ "threadId": thread, "turnId": "turn_1" });
    assert_eq!(client.call("thread/rollback", &params)["fidelity"], "recalled");
    assert_eq!(remembered(&mut client, &thread), "nothing");
}

#[test]
fn a_killed_daemon_leaves_a_complete_fork_or_no_fork() {
    let mut daemon = with_agent(&["--fork"]);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    three_turns(&mut client, &thread);
    for _ in 0..3 {
        let before = listed(&mut client, false);
        client.request("thread/fork", &json!({ "threadId": thread, "turnId": "turn_2" }));
        daemon.kill();
        daemon.place.wait_for_no_agents();
        daemon.restart();
        client = Client::new(&daemon);
        for id in listed(&mut client, false)
            .iter()
            .filter(|id| !before.contains(id))
        {
            assert_eq!(turn_ids(&read(&mut client, id)), ["turn_1", "turn_2"]);
            client.resume(id, 0);
            assert_eq!(client.turn(id, "say works").said(), "works");
        }
    }
    assert_eq!(
        turn_ids(&read(&mut client, &thread)),
        ["turn_1", "turn_2", "turn_3"]
    );
}

/// Returns the number of sessions that the fake agent stores.
fn sessions(daemon: &Daemon) -> usize {
    let dir = daemon.place.data().with_file_name("sessions");
    std::fs::read_dir(dir).expect("the agent keeps sessions").count()
}

#[test]
fn a_deleted_thread_is_gone_for_everyone() {
    let daemon = with_agent(&["--delete"]);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let mut other = Client::new(&daemon);
    other.resume(&thread, 0);
    let turn = client.start(&thread, "permission");
    let question = client.question();
    let busy = client.refused("thread/delete", &json!({ "threadId": thread }));
    assert_eq!(busy["data"]["code"], "conflict");
    client.respond(&question, &json!({ "decision": "accept" }));
    client.finish(&thread, &turn);
    assert_eq!(sessions(&daemon), 1);
    let unnamed = client.refused("thread/delete", &json!({}));
    assert_eq!(
        unnamed["data"]["code"], "invalid_params",
        "nothing is deleted that was not named"
    );
    client.call("thread/delete", &json!({ "threadId": thread }));
    let notified = other.wait_for("thread/deleted");
    assert_eq!(
        (notified.text("session"), &notified.params["by"]["client"]),
        ("deleted", &json!("test"))
    );
    assert_eq!((sessions(&daemon), listed(&mut other, false).len()), (0, 0));
    for (method, params) in [
        ("thread/read", json!({})),
        ("turn/start", json!({ "text": "x" })),
        ("thread/resume", json!({})),
    ] {
        let mut params = params;
        params["threadId"] = json!(thread);
        assert_eq!(
            client.refused(method, &params)["data"]["code"],
            "not_found",
            "{method}"
        );
    }
    daemon.place.wait_for_no_agents();
    let second = client.thread(&daemon);
    assert_eq!(client.turn(&second, "say on").said(), "on");
    assert_eq!(other.take(), [], "nothing follows");
}

#[test]
fn a_daemon_that_is_killed_deletes_in_the_end() {
    let mut daemon = with_agent(&["--delete"]);
    for see in [false, true] {
        let mut client = Client::new(&daemon);
        let thread = client.thread(&daemon);
        three_turns(&mut client, &thread);
        client.request("thread/delete", &json!({ "threadId": thread }));
        if see {
            client.wait_for("thread/deleted");
        }
        daemon.kill();
        daemon.place.wait_for_no_agents();
        daemon.restart();
        let mut client = Client::new(&daemon);
        let is_there = |client: &mut Client| {
            client
                .try_call("thread/read", &json!({ "threadId": thread }))
                .is_ok()
        };
        if see {
            wait_until("the thread is gone", || {
                let mut client = Client::new(&daemon);
                !is_there(&mut client)
            });
        } else if is_there(&mut client) {
            client.resume(&thread, 0);
            // The deletion may already be in progress.
            let _ = client.try_call("thread/delete", &json!({ "threadId": thread }));
            wait_until("the thread is gone", || {
                let mut client = Client::new(&daemon);
                !is_there(&mut client)
            });
        }
        let mut client = Client::new(&daemon);
        assert_eq!(listed(&mut client, false), Vec::<String>::new());
    }
}

#[test]
fn words_go_into_the_running_turn() {
    let daemon = with_agent(&["--steer"]);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let mut other = Client::new(&daemon);
    other.resume(&thread, 0);
    let turn = client.start(&thread, "steered");
    other.wait_for("turn/started");
    let steered = other.call("turn/steer", &json!({ "threadId": thread, "content": "go left" }));
    assert_eq!(steered, json!({ "turnId": turn, "delivery": "steered" }));
    let whole = client.finish(&thread, &turn);
    assert_eq!(whole.said(), "heard: go left");
    let words = whole.of("item/userMessage");
    assert_eq!(words.last().unwrap().text("text"), "go left");
    assert_eq!(
        read(&mut client, &thread)["turns"][0]["items"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let idle = client.call(
        "turn/steer",
        &json!({ "content": [{ "type": "text", "text": "say late" }] }),
    );
    assert_eq!(idle, json!({ "turnId": "turn_2", "delivery": "queued" }));
    assert_eq!(client.finish(&thread, "turn_2").said(), "late");
    let wrong = client.refused("turn/steer", &json!({ "content": "x", "turnId": "turn_1" }));
    assert_eq!(wrong["data"]["code"], "conflict");
}

#[test]
fn without_a_way_words_wait_for_their_turn_and_can_be_taken_back() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "permission; say first");
    let question = client.question();
    for (words, number) in [("say second", 2), ("say third", 3)] {
        let queued = client.call("turn/steer", &json!({ "content": words }));
        assert_eq!(
            queued,
            json!({ "turnId": format!("turn_{number}"), "delivery": "queued" })
        );
    }
    client.call("turn/interrupt", &json!({ "turnId": "turn_2" }));
    client.respond(&question, &json!({ "decision": "accept" }));
    client.finish(&thread, &turn);
    assert_eq!(client.finish(&thread, "turn_3").said(), "third");
    let read = read(&mut client, &thread);
    assert_eq!(read["turns"][1]["status"], "interrupted");
}

#[test]
fn the_command_line_does_the_same() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let end = &thread[28..];
    let done = |args: &[&str]| {
        let outcome = acpd(&daemon.place, args);
        assert_eq!(outcome.code, Some(0), "{args:?}: {}", outcome.stderr);
        outcome.stdout
    };
    done(&["rename", end, "From the shell"]);
    assert!(done(&["threads"]).contains("From the shell"));
    assert_eq!(
        done(&["archive", end]),
        format!("\"From the shell\" ({end}) archived\n")
    );
    assert_eq!(done(&["threads"]), "");
    assert!(done(&["threads", "--archived"]).contains(end));
    done(&["unarchive", end]);
    let nameless = acpd(&daemon.place, &["rename", end]);
    assert_eq!(nameless.code, Some(2), "{}", nameless.stderr);
    let empty = acpd(&daemon.place, &["rename", end, " "]);
    assert!(
        empty.code == Some(2) && empty.stderr.contains("--reset"),
        "{}",
        empty.stderr
    );
    assert!(done(&["threads"]).contains("From the shell"));
    done(&["rename", end, "--reset"]);
    let listed = done(&["threads"]);
    assert!(
        listed.contains(end) && !listed.contains("From the shell"),
        "{listed}"
    );
    done(&["delete", "--yes", end]);
    assert_eq!(done(&["threads"]), "");
    let missing = acpd(&daemon.place, &["show", &thread]);
    assert!(
        missing.code == Some(5) && missing.stderr.contains("does not exist"),
        "{}",
        missing.stderr
    );
}
