//! Commands that users run in a thread: their output, their end, the policy and the sandbox.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Place, acpd, wait_until};

fn runs(client: &mut Client, thread: &str, line: &str) -> (String, String) {
    let run = client.call(
        "thread/command/run",
        &json!({ "threadId": thread, "command": line }),
    );
    let id = |name: &str| run[name].as_str().expect("it has an id").to_owned();
    (id("itemId"), id("turnId"))
}

/// Waits for the end of a command. Returns the params of its last notification.
fn end_of(client: &mut Client, item: &str) -> Value {
    let seen = client.until(|message| {
        message.method == "item/terminalCommand/completed" && message.text("itemId") == item
    });
    seen.last().expect("it ended").params.clone()
}

#[test]
fn a_user_runs_a_command_in_the_thread_and_the_agent_sees_nothing_of_it() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let (item, turn) = runs(&mut client, &thread, "pwd | tr a-z A-Z; exit 3");
    let ended = client.finish(&thread, &turn);
    assert_eq!(ended.status(), "completed");
    let started = ended.one("item/terminalCommand/started");
    let by = json!({ "kind": "client", "principal": "owner", "client": "test" });
    assert_eq!(
        (&started.params["requestedBy"], &started.params["by"]),
        (&by, &by)
    );
    let done = &ended.one("item/terminalCommand/completed").params;
    let work = daemon.place.work().display().to_string().to_uppercase();
    assert_eq!(
        (&done["itemId"], &done["exitCode"], &done["output"]),
        (&json!(item), &json!(3), &json!(format!("{work}\r\n")))
    );
    // A turn of the agent has the next number, and only its own prompt.
    let next = client.turn(&thread, "echo");
    assert_eq!(
        (next.end["id"].as_str(), &next.said()[..]),
        (Some("turn_2"), "1 blocks (text): echo")
    );
    let read = client.call(
        "thread/read",
        &json!({ "threadId": thread, "includeTurns": true }),
    );
    let first = &read["thread"]["turns"][0];
    assert_eq!(
        (&first["status"], &first["items"][0]["requestedBy"]),
        (&json!("completed"), &by)
    );
    let export = acpd(&daemon.place, &["export", &thread, "--format", "md"]);
    assert!(
        export.stdout.contains("Command of `owner` with `test`"),
        "{}",
        export.stdout
    );
}

#[test]
fn a_command_runs_beside_the_turn_of_an_agent() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "permission");
    let question = client.question();
    let (item, within) = runs(&mut client, &thread, "echo beside");
    assert_eq!(within, turn);
    assert_eq!(end_of(&mut client, &item)["output"], "beside\r\n");
    client.respond(&question, &json!({ "decision": "accept" }));
    assert_eq!(client.finish(&thread, &turn).said(), "allowed (allow_once)");
}

#[test]
fn a_command_runs_while_no_agent_does() {
    let daemon = Daemon::with("[limits]\nagent_idle_secs = 1\n");
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say one");
    client.call("thread/unsubscribe", &json!({ "threadId": thread }));
    daemon.place.wait_for_no_agents();
    client.call(
        "thread/resume",
        &json!({ "threadId": thread, "after": 0, "startAgent": false }),
    );
    let (_, turn) = runs(&mut client, &thread, "echo alone");
    let ended = client.finish(&thread, &turn);
    assert_eq!(
        ended.one("item/terminalCommand/completed").text("output"),
        "alone\r\n"
    );
    assert!(daemon.place.agents().is_empty(), "no agent was started");
}

#[test]
fn an_interrupt_ends_a_command_and_all_that_it_has_started() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let before = daemon.place.agents().len();
    let (item, turn) = runs(&mut client, &thread, "sleep 600 & echo begun; wait");
    client.until(|message| message.method == "item/terminalCommand/output");
    assert!(daemon.place.agents().len() > before);
    client.call("turn/interrupt", &json!({ "threadId": thread }));
    let done = end_of(&mut client, &item);
    assert_eq!(
        (&done["outcome"], &done["signal"]),
        (&json!("interrupted"), &json!("SIGTERM"))
    );
    assert_eq!(client.finish(&thread, &turn).status(), "interrupted");
    wait_until("its processes are gone", || daemon.place.agents().len() == before);
    let error = client.refused("turn/interrupt", &json!({ "threadId": thread }));
    assert_eq!(error["data"]["code"], "conflict");
}

#[test]
fn a_policy_refuses_commands_of_users_as_those_of_agents() {
    let daemon =
        Daemon::with("[policy]\nask = [\"Bash\"]\nallow = [\"Bash(echo *)\"]\ndeny = [\"Bash(rm *)\"]\n");
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let link = daemon.place.work().join("tidy");
    std::os::unix::fs::symlink("/bin/rm", link).unwrap();
    for line in ["rm -rf x", "echo a && rm x", "./tidy x"] {
        let run = json!({ "threadId": thread, "command": line });
        let error = client.refused("thread/command/run", &run);
        assert_eq!(error["data"]["code"], "forbidden", "{line}");
        let notice = client.wait_for("thread/notice");
        assert_eq!(
            (notice.text("code"), &notice.params["by"]["rule"]),
            ("callRefused", &json!("Bash(rm *)")),
            "{line}"
        );
    }
    let (_, turn) = runs(&mut client, &thread, "echo a");
    let allowed = client.finish(&thread, &turn);
    assert_eq!(
        allowed.one("policy/permitted").params["by"]["rule"],
        "Bash(echo *)"
    );
    let (_, turn) = runs(&mut client, &thread, "test -d .");
    let asked = client.finish(&thread, &turn);
    assert!(
        asked.of("policy/permitted").is_empty() && asked.of("serverRequest/resolved").is_empty(),
        "the user who would be asked wants it"
    );
}

#[test]
fn a_command_needs_the_role_operator() {
    let place = Place::new("");
    let token = |role: &str| {
        let made = acpd(&place, &["token", "create", "--name", role, "--role", role]);
        made.stdout.trim().to_owned()
    };
    let tokens = ["observer", "approver", "operator"].map(token);
    let daemon = Daemon::at(place);
    let thread = Client::new(&daemon).thread(&daemon);
    let run = json!({ "threadId": thread, "command": "echo a" });
    for token in &tokens[..2] {
        let error = Client::with_token(&daemon, token).refused("thread/command/run", &run);
        assert_eq!(error["data"]["code"], "forbidden");
    }
    let mut operator = Client::with_token(&daemon, &tokens[2]);
    operator.resume(&thread, 0);
    let (item, _) = runs(&mut operator, &thread, "echo a");
    let done = end_of(&mut operator, &item);
    assert_eq!(
        (&done["output"], &done["by"]["principal"]),
        (&json!("a\r\n"), &json!("operator"))
    );
}

#[test]
fn unrunnable_commands_are_refused_with_a_reason() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    for (line, word) in [(" ".to_owned(), "empty"), ("x".repeat(70_000), "limit")] {
        let run = json!({ "threadId": thread, "command": line });
        let error = client.refused("thread/command/run", &run);
        assert_eq!(error["data"]["code"], "invalid_params");
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
    std::fs::remove_dir_all(daemon.place.work()).unwrap();
    let (_, turn) = runs(&mut client, &thread, "ls");
    let ended = client.finish(&thread, &turn);
    assert_eq!(ended.status(), "failed");
    assert!(ended.error().contains("is gone"), "{}", ended.error());
}

#[test]
fn a_killed_daemon_takes_the_command_with_it_and_says_so_when_it_is_back() {
    let mut daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let (item, turn) = runs(&mut client, &thread, "echo begun; exec sleep 600");
    client.until(|message| message.method == "item/terminalCommand/output");
    daemon.kill();
    daemon.place.wait_for_no_agents();
    daemon.restart();
    let mut client = Client::new(&daemon);
    client.resume(&thread, 0);
    let done = end_of(&mut client, &item);
    assert_eq!(
        (&done["outcome"], &done["output"], &done["truncated"]),
        (&json!("interrupted"), &json!("begun\r\n"), &json!(true))
    );
    let ended = client.finish(&thread, &turn);
    assert_eq!(ended.status(), "interrupted");
    assert!(ended.error().contains("acpd was restarted"), "{}", ended.error());
}

#[test]
fn a_daemon_that_stops_ends_the_command() {
    let mut daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let (item, _) = runs(&mut client, &thread, "echo begun; exec sleep 600");
    client.until(|message| message.method == "item/terminalCommand/output");
    assert!(daemon.stop().success());
    daemon.place.wait_for_no_agents();
    daemon.restart();
    let mut client = Client::new(&daemon);
    client.resume(&thread, 0);
    assert_eq!(end_of(&mut client, &item)["outcome"], "interrupted");
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_of_a_user_is_in_the_sandbox_of_the_agent() {
    let daemon = Daemon::at(Place::away(""));
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let token = daemon.place.data().join("token");
    let line = format!("cat {}; touch here && echo $ACPD_SANDBOX", token.display());
    let (item, _) = runs(&mut client, &thread, &line);
    let done = end_of(&mut client, &item);
    let output = done["output"].as_str().unwrap();
    assert!(
        output.contains("Permission denied") && output.contains("workspace"),
        "{done}"
    );
}

/// A command that discards its queued input and asks for a secret, as ssh and sudo do.
const ASKS: &str = r#"python3 -c 'import getpass; print("got", len(getpass.getpass("secret? ")))'"#;

fn has_asked(client: &mut Client) -> String {
    let seen = client.until(|message| {
        message.method == "item/terminalCommand/output" && message.text("text").contains("secret? ")
    });
    seen.last().expect("it asked").text("terminalId").to_owned()
}

#[test]
fn input_typed_into_a_command_is_not_logged() {
    let place = Place::new("");
    let wire = place.data().join("wire").display().to_string();
    let recording = r#"wire="$0"; exec "$@" --record-wire "$wire""#;
    let mut daemon = Daemon::behind(place, &["sh", "-c", recording, &wire]);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let (item, _) = runs(&mut client, &thread, ASKS);
    let terminal = has_asked(&mut client);
    let typed = json!({ "threadId": thread, "terminalId": terminal, "text": "open-sesame\n" });
    client.call("thread/terminal/write", &typed);
    let done = end_of(&mut client, &item);
    assert_eq!(
        (&done["exitCode"], &done["output"]),
        (&json!(0), &json!("secret? \r\ngot 11\r\n"))
    );
    let refused = client.refused("thread/terminal/write", &typed);
    assert_eq!(refused["data"]["code"], "not_found");

    let (item, _) = runs(&mut client, &thread, ASKS);
    has_asked(&mut client);
    let output = acpd(&daemon.place, &["type", &thread, "open-sesame"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(
        end_of(&mut client, &item)["output"]
            .to_string()
            .contains("got 11")
    );
    let output = acpd(&daemon.place, &["type", &thread, "open-sesame"]);
    assert_eq!(output.code, Some(5), "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains("no command of the last 20 turns is running"),
        "{}",
        output.stderr
    );

    daemon.stop();
    let data = daemon.place.data();
    let has = |file: &std::path::PathBuf, words: &[u8]| {
        let content = std::fs::read(file).unwrap_or_default();
        content.windows(words.len()).any(|part| part == words)
    };
    let recorded = files(std::path::Path::new(&wire));
    let hides = |file| has(file, b"thread/terminal/write") && has(file, b"[redacted]");
    assert!(
        recorded.iter().any(hides),
        "it records the request without the text"
    );
    assert!(!daemon.log().contains("open-sesame"));
    let holders = files(&data).into_iter().filter(|file| has(file, b"open-sesame"));
    let holders: Vec<_> = holders.collect();
    assert!(holders.is_empty(), "{holders:?}");
}

#[test]
fn one_of_several_commands_can_be_ended_by_name() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let (first, _) = runs(&mut client, &thread, "echo one; sleep 600");
    let (second, _) = runs(&mut client, &thread, "echo two; sleep 600");
    let output = acpd(&daemon.place, &["type", &thread, "x"]);
    assert_eq!(output.code, Some(2), "{}", output.stderr);
    for line in [
        "--terminal user_1  echo one; sleep 600",
        "--terminal user_2  echo two; sleep 600",
    ] {
        assert!(output.stderr.contains(line), "{}", output.stderr);
    }
    let ends = acpd(
        &daemon.place,
        &["type", &thread, "--terminal", "user_2", "--kill"],
    );
    assert_eq!(
        (ends.code, &*ends.stdout),
        (Some(0), "ending the command in user_2\n"),
        "{}",
        ends.stderr
    );
    assert_eq!(end_of(&mut client, &second)["outcome"], "interrupted");
    let interrupts = acpd(&daemon.place, &["type", &thread, "--interrupt"]);
    assert_eq!(interrupts.code, Some(0), "{}", interrupts.stderr);
    let done = end_of(&mut client, &first);
    assert_eq!(
        done["exitCode"].as_i64().or(done["signal"].as_str().map(|_| 130)),
        Some(130),
        "{done}"
    );
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.path() {
            path if path.is_dir() => files(&path),
            path => vec![path],
        })
        .collect()
}
