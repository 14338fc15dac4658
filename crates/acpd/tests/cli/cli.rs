//! The other commands, the configuration, and the automatic start of the daemon.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    self, Client, Daemon, Place, Running, acpd, end, on_terminal, outcome, signal, unread, wait_until,
};

#[test]
fn help_names_every_command() {
    let place = Place::new("");
    let help = acpd(&place, &["--help"]);
    assert_eq!(help.code, Some(0));
    for command in [
        "run",
        "threads",
        "show",
        "search",
        "send",
        "answer",
        "type",
        "interrupt",
        "rename",
        "move",
        "add-dir",
        "pin",
        "unpin",
        "archive",
        "unarchive",
        "delete",
        "usage",
        "export",
        "serve",
        "status",
        "stop",
        "restart",
        "logs",
        "open",
        "pair",
        "acp",
        "acp-check",
        "agents",
        "config",
        "policy",
        "token",
        "schema",
        "completions",
        "man",
    ] {
        assert!(
            help.stdout.contains(&format!("  {command}")),
            "{command}: {}",
            help.stdout
        );
        let own = acpd(&place, &[command, "--help"]);
        assert!(
            own.code == Some(0) && own.stdout.contains("Usage: acpd "),
            "{}",
            own.stdout
        );
        assert!(
            !own.stdout.contains("ACPD_TOKEN="),
            "a token is shown: {}",
            own.stdout
        );
    }
    assert_eq!(
        acpd(&place, &["--version"]).stdout,
        format!("acpd {}\n", env!("CARGO_PKG_VERSION"))
    );
    let schema: Value = serde_json::from_str(&acpd(&place, &["schema"]).stdout).unwrap();
    assert!(schema["methods"]["turn/start"].is_object());
    assert_eq!(acpd(&place, &["juggle"]).code, Some(2));
    let bare = acpd(&place, &[]);
    assert_eq!(bare.code, Some(0));
    assert!(
        bare.stdout.contains("acpd run")
            && bare.stdout.contains("Exit codes:")
            && bare.stdout.contains("No daemon is running.")
            && !bare.stdout.contains("keep"),
        "{}",
        bare.stdout
    );
}

#[test]
fn pinned_and_unread_threads_are_marked() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let mut ids = Vec::new();
    for name in ["first", "second"] {
        let params = json!({ "agentType": "fake", "cwd": daemon.place.work(), "name": name });
        let started = client.call("thread/start", &params);
        ids.push(started["thread"]["id"].as_str().unwrap().to_owned());
    }
    let unmarked = acpd(&daemon.place, &["threads"]);
    assert!(!unmarked.stdout.contains("MARKS"), "{}", unmarked.stdout);

    let pinned = acpd(&daemon.place, &["pin", &ids[0]]);
    assert_eq!(pinned.code, Some(0), "{}", pinned.stderr);
    assert!(pinned.stdout.ends_with(" pinned\n"), "{}", pinned.stdout);
    let listed = acpd(&daemon.place, &["threads", "--pinned"]).stdout;
    assert!(
        listed.contains("MARKS") && listed.contains("  pinned  ") && listed.contains("first"),
        "{listed}"
    );
    assert!(!listed.contains("second"), "{listed}");
    let of = |id: &str| {
        let json = acpd(&daemon.place, &["threads", "--json"]).stdout;
        let mut threads = json
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        threads.find(|thread| thread["id"] == id).unwrap()
    };
    assert_eq!(
        (&of(&ids[0])["pinned"], &of(&ids[1])["pinned"]),
        (&json!(true), &Value::Null)
    );

    client.call("thread/seen/set", &json!({ "threads": [], "since": 1 }));
    client.turn(&ids[1], "say news");
    assert_eq!(of(&ids[1])["unread"], true);
    let listed = acpd(&daemon.place, &["threads"]).stdout;
    assert!(
        listed
            .lines()
            .any(|line| line.contains("unread") && line.ends_with("second")),
        "{listed}"
    );
    let seen = json!({ "threads": [{ "threadId": ids[1], "seenAt": of(&ids[1])["updatedAt"] }] });
    client.call("thread/seen/set", &seen);
    assert_eq!(of(&ids[1])["unread"], false);

    assert_eq!(acpd(&daemon.place, &["unpin", &ids[0]]).code, Some(0));
    assert_eq!(of(&ids[0])["pinned"], Value::Null);
}

#[test]
fn threads_are_listed_and_shown() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let mut ids = Vec::new();
    for name in ["first", "second"] {
        let params = json!({ "agentType": "fake", "cwd": daemon.place.work(), "name": name });
        let started = client.call("thread/start", &params);
        ids.push(started["thread"]["id"].as_str().unwrap().to_owned());
    }
    client.turn(&ids[0], "think n=1 text=hm; say 'The answer.'; tool");
    client.turn(&ids[0], "terminal echo hi; error message=broken");

    let listed = acpd(&daemon.place, &["threads"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let lines: Vec<_> = listed.stdout.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(
        lines[0].starts_with("ID  ") && lines[0].ends_with("NAME"),
        "{}",
        lines[0]
    );
    assert!(
        lines[1].starts_with(&ids[0][28..]) && lines[1].ends_with("first"),
        "{}",
        lines[1]
    );
    assert_eq!(
        acpd(&daemon.place, &["threads", "-n", "1"])
            .stdout
            .lines()
            .count(),
        2
    );
    let json = acpd(&daemon.place, &["threads", "--json"]);
    let threads: Vec<Value> = json
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((threads.len(), &threads[1]["name"]), (2, &json!("second")));

    let whole = acpd(&daemon.place, &["show", &ids[0]]);
    assert_eq!(whole.code, Some(0), "{}", whole.stderr);
    for expected in [
        "first",
        "> think n=1",
        "(thinks)  hm 1",
        "The answer.",
        "● edit",
        "+    println!(\"new\");",
        "$ echo hi\nhi\n",
        "turn_1 completed",
        "turn_2 failed: broken",
    ] {
        assert!(
            whole.stdout.contains(expected),
            "{expected:?} is missing: {}",
            whole.stdout
        );
    }
    let end = &ids[0][ids[0].len() - 6..];
    assert_eq!(acpd(&daemon.place, &["show", end]).stdout, whole.stdout);
    let json = acpd(&daemon.place, &["show", "--json", end]);
    let shown: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (&shown["id"], shown["turns"].as_array().unwrap().len()),
        (&json!(ids[0]), 2)
    );

    for (given, message) in [
        ("xyz", "no thread has the id or the name \"xyz\""),
        ("", "the name of the thread is empty"),
        ("0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4", "does not exist"),
    ] {
        let shown = acpd(&daemon.place, &["show", given]);
        assert_eq!(shown.code, Some(5), "{given}");
        assert!(shown.stderr.contains(message), "{given}: {}", shown.stderr);
    }
}

#[test]
fn a_long_thread_is_shown_whole() {
    let daemon = Daemon::with("[limits]\nrequests_per_window = 1000\n");
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    for k in 1..=210 {
        client.turn(&thread, &format!("say number-{k}"));
    }
    let shown = acpd(&daemon.place, &["show", &thread]);
    let answers: Vec<_> = shown
        .stdout
        .lines()
        .filter(|line| line.starts_with("number-"))
        .collect();
    assert_eq!(
        (answers.len(), answers[0], answers[209]),
        (210, "number-1", "number-210")
    );
}

#[test]
fn a_reader_that_has_seen_enough_does_no_harm() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say x");
    for args in [
        &["threads"][..],
        &["threads", "--json"],
        &["show", &thread],
        &["show", "--json", &thread],
    ] {
        let left = unread(&mut daemon.place.command(args));
        assert!(!left.stderr.contains("panicked"), "{args:?}: {}", left.stderr);
    }
}

#[test]
fn a_wrong_configuration_is_named_with_file_and_line() {
    let place = Place::new("");
    for (text, line, message) in [
        ("[agents.fake]\ncomand = \"x\"\n", 2, "did you mean \"command\"?"),
        (
            "[limits]\n\nagent_line_bytes = \"many\"\n",
            3,
            "expected a whole number, found the text \"many\"",
        ),
        ("listen = \"nowhere\"\n", 1, "such as \"127.0.0.1:4127\""),
        ("[agents.fake\n", 1, "]"),
    ] {
        place.configure(text);
        for command in [&["serve"][..], &["agents", "list"], &["config", "check"]] {
            let refused = acpd(&place, command);
            assert_eq!(refused.code, Some(2), "{command:?}");
            let file = place.config().display().to_string();
            assert!(
                refused
                    .stderr
                    .contains(&format!("the configuration {file} is wrong")),
                "{}",
                refused.stderr
            );
            assert!(
                refused.stderr.contains(&format!("line {line}")) && refused.stderr.contains(message),
                "{}",
                refused.stderr
            );
        }
    }
    std::fs::remove_file(place.config()).unwrap();
    let missing = acpd(&place, &["serve"]);
    assert!(missing.stderr.contains("cannot be read"), "{}", missing.stderr);
    assert!(!place.data().exists(), "nothing was begun");
}

#[test]
fn flags_come_before_the_environment_and_that_before_the_file() {
    let place = Place::new("");
    place.configure("listen = \"192.0.2.3:1\"\n");
    let refused = |command: &mut std::process::Command| outcome(command).stderr;
    assert!(refused(place.command(&["serve"]).env("ACPD_LISTEN", "192.0.2.2:1")).contains("192.0.2.2:1"));
    assert!(
        refused(
            place
                .command(&["serve", "--listen", "192.0.2.1:1"])
                .env("ACPD_LISTEN", "192.0.2.2:1")
        )
        .contains("192.0.2.1:1")
    );
    assert!(refused(place.command(&["serve"]).env_remove("ACPD_LISTEN")).contains("192.0.2.3:1"));
}

#[test]
fn a_daemon_starts_in_the_background_if_none_runs() {
    let place = Place::new("");
    let run = acpd(&place, &["run", "say hello"]);
    let pid = place.noticed_pid();
    // Stops the daemon even if the test fails.
    let _guard = place.background();
    assert_eq!(
        (run.code, &run.stdout[..]),
        (Some(0), "hello\n"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("starting one in the background"),
        "{}",
        run.stderr
    );
    let pid = pid.expect("the daemon says that it runs");
    let threads = acpd(&place, &["threads"]);
    assert_eq!((threads.stdout.lines().count(), &threads.stderr[..]), (2, ""));
    assert_eq!(place.noticed_pid(), Some(pid), "it is still the same");

    // A killed daemon leaves its notice file behind; the next command must ignore it.
    end(pid, Signal::KILL);
    assert_eq!(place.noticed_pid(), Some(pid));
    let again = acpd(&place, &["threads"]);
    let _guard = place.background();
    assert_eq!(
        (again.code, again.stdout.lines().count()),
        (Some(0), 2),
        "{}",
        again.stderr
    );
    end(place.noticed_pid().unwrap(), Signal::TERM);
    assert_eq!(place.noticed_pid(), None);
}

#[test]
fn several_commands_at_once_share_the_daemon_that_one_of_them_starts() {
    let place = Place::new("");
    let runs: Vec<_> = (0..4)
        .map(|k| Running::start(&mut place.command(&["run", &format!("say {k}")])))
        .collect();
    let ended: Vec<_> = runs.into_iter().map(Running::finish).collect();
    let _guard = place.background();
    for (k, run) in ended.iter().enumerate() {
        assert_eq!(
            (run.code, &run.stdout[..]),
            (Some(0), &format!("{k}\n")[..]),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn a_daemon_that_does_not_come_up_is_explained() {
    let place = Place::new("");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = acpd(&place, &["run", "--listen", &address, "x"]);
    assert_eq!(run.code, Some(6));
    assert!(
        run.stderr.contains("the daemon did not start") && run.stderr.contains("cannot listen on"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("daemon.log"), "{}", run.stderr);
}

#[test]
fn a_wrong_token_is_reported() {
    let daemon = Daemon::start();
    let run = outcome(
        daemon
            .place
            .command(&["threads"])
            .env("ACPD_TOKEN", "not-the-right-token"),
    );
    assert_eq!(run.code, Some(7));
    assert!(
        run.stderr.contains("does not accept this access token"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_demo_needs_no_configuration() {
    let place = Place::new("");
    place.configure("");
    let none = acpd(&place, &["run", "x"]);
    let background = place.background();
    assert_eq!(none.code, Some(1));
    assert!(none.stderr.contains("no agent is configured"), "{}", none.stderr);
    drop(background);

    let demo = Running::start(&mut place.command(&["serve", "--demo"]));
    demo.wait_for_output("access token: ");
    let run = |permissions: &str, prompt: &str| {
        let run = ["run", "--agent", "demo", "--permissions", permissions, prompt];
        acpd(&place, &run)
    };
    let notes = place.work().join("acpd-demo/notes.md");
    let notes = || std::fs::read_to_string(&notes).unwrap();
    let declined = run("deny", "Hello there");
    assert_eq!(notes(), "# Greetings\n\nHello.\n", "{}", declined.stderr);
    assert!(
        declined.stdout.contains("Left as it is"),
        "{} {}",
        declined.stdout,
        declined.stderr
    );
    let allowed = run("allow", "Hello there");
    assert!(
        allowed.stdout.contains("> Hello there") && allowed.stdout.contains("\nDone: "),
        "{} {}",
        allowed.stdout,
        allowed.stderr
    );
    assert_eq!(notes(), "# Greetings\n\nHello, world.\n\n- politely\n");
    for shown in [
        "◐ Read the notes",
        "● Look at the result",
        "+Hello, world.",
        "$ cat ",
        "exit code 0",
    ] {
        assert!(allowed.stderr.contains(shown), "{shown}: {}", allowed.stderr);
    }
    let said = run("deny", "say hello; crash");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("hello; crash"), "{}", said.stdout);
    // It has no steps of the tests' agent.
    let talk = run("deny", "crash code=3");
    assert!(
        talk.stdout.contains("> crash code=3"),
        "{} {}",
        talk.stdout,
        talk.stderr
    );
    // It asks once, and keeps what a user wrote.
    std::fs::write(place.work().join("acpd-demo/notes.md"), "mine\n").unwrap();
    let json = acpd(
        &place,
        &[
            "run",
            "--agent",
            "demo",
            "--permissions",
            "allow",
            "--json",
            "Again",
        ],
    );
    assert_eq!(
        json.stdout.matches("/requestApproval").count(),
        1,
        "{}",
        json.stdout
    );
    assert!(notes().starts_with("mine\n"), "{}", notes());
    support::signal(demo.pid(), Signal::TERM);
    let demo = demo.finish();
    assert_eq!(demo.code, Some(0), "{}", demo.stderr);
    assert!(demo.stdout.contains("agents: demo"), "{}", demo.stdout);
}

#[test]
fn the_daemon_says_how_to_get_in() {
    let place = Place::new("");
    let data = place.data();
    let path = data.display();
    let serve = Running::start(&mut place.command(&["serve"]));
    serve.wait_for_output(&format!("access token: {path}/token\n"));
    let open = format!("acpd open --data-dir {path}");
    serve.wait_for_output(&format!("web UI: run {open:?} to open it, signed in\n"));
    signal(serve.pid(), Signal::TERM);
    assert_eq!(serve.finish().code, Some(0));
    std::fs::remove_file(data.join("token")).unwrap();

    let place = place.with_env("ACPD_TOKEN", "a-token-of-some-length");
    let serve = Running::start(&mut place.command(&["serve"]));
    serve.wait_for_output("access token: the one in ACPD_TOKEN\n");
    serve.wait_for_output("web UI: ");
    signal(serve.pid(), Signal::TERM);
    let said = serve.finish();
    assert!(
        !data.join("token").exists() && !said.stdout.contains("/token\n"),
        "{}",
        said.stdout
    );
    assert!(!said.stdout.contains("a-token-of-some-length"), "{}", said.stdout);
}

#[test]
fn logs_outside_of_terminals_have_no_colours() {
    let place = Place::new("");
    let serve = Running::start(&mut place.command(&["serve"]));
    serve.wait_for_output("web UI: ");
    serve.wait_for_error("ready");
    signal(serve.pid(), Signal::TERM);
    let said = serve.finish();
    assert!(!said.stderr.contains('\u{1b}'), "{}", said.stderr);

    assert_eq!(acpd(&place, &["threads"]).code, Some(0));
    let _background = place.background();
    let log = || std::fs::read_to_string(place.data().join("daemon.log")).unwrap_or_default();
    wait_until("the daemon's log says so", || log().contains("ready"));
    assert!(!log().contains('\u{1b}'), "{}", log());
}

#[test]
fn a_log_on_a_terminal_has_colours_unless_they_are_unwanted() {
    for (no_color, colours) in [("", true), ("1", false)] {
        let place = Place::new("").with_env("NO_COLOR", no_color);
        let mut serve = Running::start(&mut on_terminal(&place.command(&["serve"])));
        serve.wait_for_output("ready");
        serve.write("\u{3}");
        let said = serve.finish();
        assert_eq!(said.stdout.contains('\u{1b}'), colours, "{}", said.stdout);
    }
}
