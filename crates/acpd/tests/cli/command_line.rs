//! The commands about threads and about the daemon, as a shell sees them.

use std::fs::File;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    self, Client, Daemon, Outcome, Place, Running, acpd, fake_agent, on_terminal, outcome, signal,
    wait_until, without_terminal,
};

fn done(place: &Place, args: &[&str]) -> Outcome {
    let outcome = acpd(place, args);
    assert_eq!(outcome.code, Some(0), "{args:?}: {}", outcome.stderr);
    outcome
}

fn json_of(outcome: &Outcome) -> Value {
    assert_eq!(outcome.stdout.lines().count(), 1, "{}", outcome.stdout);
    serde_json::from_str(&outcome.stdout).expect("it is JSON")
}

#[test]
fn a_thread_is_named_by_a_part_of_its_id_by_its_name_or_as_the_last_one() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let mut named = |name: &str| {
        let params = json!({ "agentType": "fake", "cwd": daemon.place.work(), "name": name });
        let started = client.call("thread/start", &params);
        started["thread"]["id"].as_str().expect("it has an id").to_owned()
    };
    let (first, twice) = (named("Fix the login"), named("Twice"));
    let long = "a name that has 36 bytes, like an id";
    let (long_id, last) = (named(long), named("twice"));
    let found = |given: &str| json_of(&done(&daemon.place, &["show", given, "--json"]))["id"].clone();
    assert_eq!(found(&first), first);
    assert_eq!(found(&first.to_uppercase()), first);
    assert_eq!(found(&first[28..]), first);
    assert_eq!(found(&first[24..]), first);
    assert_eq!(found(&first[..30]), first);
    assert_eq!(found("Fix the login"), first);
    assert_eq!(found("fix the LOGIN"), first);
    assert_eq!((long.len(), found(long)), (36, json!(long_id)));
    assert_eq!(found("@last"), last);
    done(&daemon.place, &["archive", &first[28..]]);
    assert_eq!(found("Fix the login"), first, "an archived thread has its name");

    for (given, told) in [
        ("twice", &["matches 2 threads", &twice, &last][..]),
        (
            "Fix",
            &[
                "no thread has the id or the name \"Fix\"",
                &first,
                "Fix the login",
            ],
        ),
        ("nothing", &["no thread has the id or the name", "acpd threads"]),
        ("Fix the logn", &["did you mean \"Fix the login\"?"]),
        ("@lst", &["did you mean \"@last\"?"]),
    ] {
        let shown = acpd(&daemon.place, &["show", given]);
        assert_eq!(shown.code, Some(5), "{given}");
        assert!(
            told.iter().all(|told| shown.stderr.contains(told)),
            "{}",
            shown.stderr
        );
    }
    // Wherever a thread is named, it is named alike.
    let end = &last[28..];
    done(&daemon.place, &["run", "-t", end, "say again"]);
    done(&daemon.place, &["search", "-t", end, "again"]);
    assert!(done(&daemon.place, &["export", end]).stdout.contains(&last));
}

#[test]
fn there_is_no_last_thread_before_the_first() {
    let daemon = Daemon::start();
    let shown = acpd(&daemon.place, &["show", "@last"]);
    assert_eq!(shown.code, Some(5));
    assert!(
        shown.stderr.contains("there are no threads yet"),
        "{}",
        shown.stderr
    );
    let listed = done(&daemon.place, &["threads"]);
    assert!(
        listed.stdout.is_empty() && listed.stderr.contains("acpd run"),
        "{listed:?}"
    );
    let listed = done(&daemon.place, &["threads", "-q"]);
    assert_eq!((&listed.stdout[..], &listed.stderr[..]), ("", ""));
    let listed = done(&daemon.place, &["threads", "--status", "waiting"]);
    assert!(listed.stderr.contains("no thread matches"), "{}", listed.stderr);
}

#[test]
fn threads_are_distinguished_by_folder_and_counted() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let none = done(&daemon.place, &["threads", "-n", "0"]);
    assert!(none.stderr.contains("0 threads"), "{}", none.stderr);
    let mut folders = Vec::new();
    for name in ["acme/site", "umbrella/site"] {
        let folder = daemon
            .place
            .work()
            .join("a-long-name-of-a-folder-that-no-column-has")
            .join(name);
        std::fs::create_dir_all(&folder).expect("it can be made");
        client.call(
            "thread/start",
            &json!({ "agentType": "fake", "cwd": folder, "name": "same" }),
        );
        folders.push(folder.display().to_string());
    }
    let listed = done(&daemon.place, &["threads"]).stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].contains("  FOLDER  "), "{listed}");
    assert!(lines[1].contains("…/umbrella/site"), "{listed}");
    assert!(lines[2].contains("…/acme/site"), "{listed}");
    for line in done(&daemon.place, &["threads", "--json"]).stdout.lines() {
        let thread: Value = serde_json::from_str(line).expect("it is JSON");
        assert!(folders.iter().any(|folder| thread["cwd"] == **folder), "{thread}");
    }
    let counted = done(&daemon.place, &["threads", "-n", "0"]);
    assert!(
        counted.stdout.is_empty() && counted.stderr.contains("2 threads; --limit shows them"),
        "{counted:?}"
    );
    assert_eq!(done(&daemon.place, &["threads", "-n", "0", "--json"]).stdout, "");
    let status = done(&daemon.place, &["status"]).stdout;
    assert!(status.contains("threads: 2 in total, "), "{status}");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say quince");
    let full = |args: &[&str]| {
        let full = File::options()
            .write(true)
            .open("/dev/full")
            .expect("there is a full device");
        let mut command = daemon.place.command(args);
        let child = command
            .stdin(Stdio::null())
            .stdout(full)
            .stderr(Stdio::piped())
            .spawn();
        let output = child
            .and_then(std::process::Child::wait_with_output)
            .expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {told}");
        told
    };
    for args in [
        &["threads"][..],
        &["threads", "--json"],
        &["show", &thread],
        &["search", "quince"],
        &["agents", "list"],
        &["export", &thread],
        &["run", "--agent", "fake", "say hi"],
        &["status"],
        &["schema"],
        &["completions", "bash"],
        &["--help"],
        &["run", "--help"],
        &["--version"],
    ] {
        let told = full(args);
        assert!(
            told.contains("standard output cannot be written: No space left"),
            "{args:?}: {told}"
        );
    }
    // A secret that was never seen must not stay valid.
    let told = full(&["token", "create", "--name", "lost", "--role", "observer"]);
    assert!(told.contains("revoked"), "{told}");
    assert!(!done(&daemon.place, &["token", "list"]).stdout.contains("lost"));
}

#[test]
fn a_question_is_shown_and_answered_without_following_the_thread() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let short = &thread[28..];
    let none = acpd(&daemon.place, &["answer", short]);
    assert_eq!(none.code, Some(5));
    assert!(none.stderr.contains("no open question"), "{}", none.stderr);

    let turn = client.start(&thread, "permission command=\"rm -r x\"");
    client.question();
    let listed = done(&daemon.place, &["threads", "-s", "waiting"]);
    assert!(listed.stdout.contains(short), "{}", listed.stdout);
    let shown = done(&daemon.place, &["show", short]);
    assert!(
        shown.stdout.contains("rm -r x") && shown.stdout.contains(&format!("acpd answer {short}")),
        "{}",
        shown.stdout
    );
    let asked = outcome(&mut without_terminal(&daemon.place.command(&["answer", short])));
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    assert!(
        asked.stdout.contains("$ rm -r x") && asked.stdout.contains("1) Allow"),
        "{}",
        asked.stdout
    );
    let asked = json_of(&done(&daemon.place, &["answer", short, "--json"]));
    assert_eq!(asked["threadId"], thread);
    let wrong = acpd(&daemon.place, &["answer", short, "9"]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("invalid option \"9\"") && wrong.stderr.contains("1 to 4"),
        "{}",
        wrong.stderr
    );

    assert_eq!(done(&daemon.place, &["answer", short, "1"]).stdout, "answered\n");
    assert_eq!(client.finish(&thread, &turn).said(), "allowed (allow_once)");

    for (answer, said) in [
        ("allow", "allowed (allow_once)"),
        ("reject", "rejected (reject_once)"),
    ] {
        let turn = client.start(&thread, "permission");
        client.question();
        done(&daemon.place, &["answer", short, answer]);
        assert_eq!(client.finish(&thread, &turn).said(), said);
    }
}

#[test]
fn a_question_is_answered_on_a_terminal() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "permission");
    client.question();
    let mut answer = Running::start(&mut on_terminal(&daemon.place.command(&["answer", "@last"])));
    answer.wait_for_output("Your choice [1-4]: ");
    answer.write("1\n");
    let answered = answer.finish();
    assert!(answered.stdout.contains("answered"), "{}", answered.stdout);
    assert_eq!(client.finish(&thread, &turn).said(), "allowed (allow_once)");
}

#[test]
fn a_prompt_is_sent_queued_and_interrupted_without_following_the_thread() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let short = &thread[28..];
    let idle = acpd(&daemon.place, &["interrupt", short]);
    assert_eq!(idle.code, Some(5));
    assert!(
        idle.stderr.contains("no turn of the thread is running"),
        "{}",
        idle.stderr
    );

    let sent = done(&daemon.place, &["send", short, "stream n=100000 ms=20"]);
    assert!(sent.stdout.starts_with("turn_1 started"), "{}", sent.stdout);
    wait_until("the turn runs", || {
        done(&daemon.place, &["threads", "-s", "running"])
            .stdout
            .contains(short)
    });
    let sent = done(&daemon.place, &["send", short, "say next"]);
    assert!(sent.stdout.starts_with("turn_2 queued"), "{}", sent.stdout);
    let sent = json_of(&done(&daemon.place, &["send", short, "--json", "say third"]));
    assert_eq!(sent["turn"]["id"], "turn_3");
    assert_eq!(
        done(&daemon.place, &["interrupt", short]).stdout,
        "interrupting turn_1\n"
    );
    assert_eq!(client.finish(&thread, "turn_1").status(), "interrupted");
    assert_eq!(client.finish(&thread, "turn_3").said(), "third");
    let empty = acpd(&daemon.place, &["send", short, " "]);
    assert_eq!(empty.code, Some(2));
}

#[test]
fn a_thread_is_deleted_only_if_the_user_says_so() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "title Precious; say hi");
    let short = &thread[28..];
    let exists = || {
        done(&daemon.place, &["threads", "--json"])
            .stdout
            .contains(&thread)
    };
    let unasked = outcome(&mut without_terminal(&daemon.place.command(&["delete", short])));
    assert_eq!(unasked.code, Some(2));
    assert!(unasked.stderr.contains("--yes"), "{}", unasked.stderr);
    let too_short = acpd(&daemon.place, &["delete", "--yes", &thread[29..]]);
    assert_eq!(too_short.code, Some(2));
    assert!(too_short.stderr.contains("at least 8"), "{}", too_short.stderr);
    for (typed, is_kept) in [("\n", true), ("n\n", true), ("y\n", false)] {
        let mut delete = Running::start(&mut on_terminal(&daemon.place.command(&["delete", short])));
        delete.wait_for_output("with 1 turn, for good? [y/N] ");
        delete.wait_for_output("Precious");
        delete.write(typed);
        let ended = delete.finish();
        assert_eq!(ended.code == Some(0), !is_kept, "{typed:?}: {}", ended.stdout);
        assert_eq!(exists(), is_kept, "{typed:?}");
    }
}

/// An agent that starts once the file `go` is in its directory.
fn waiting_agent() -> String {
    format!(
        "[agents.slow]\ncommand = \"sh\"\nargs = [\"-c\", \"echo > waits; until [ -e go ]; do sleep 0.02; done; exec {0}\"]\nstart_in = \"workspace\"\n[sandbox]\nread = [\"{0}\"]\n",
        fake_agent().display()
    )
}

#[test]
fn ctrl_c_while_an_agent_starts_takes_the_prompt_back() {
    let mut daemon = Daemon::with(&waiting_agent());
    let run = Running::start(
        &mut daemon
            .place
            .command(&["run", "--agent", "slow", "say THIS-RAN-ANYWAY"]),
    );
    run.wait_for_error("thread ");
    wait_until("the agent starts", || daemon.place.work().join("waits").exists());
    signal(run.pid(), Signal::INT);
    run.wait_for_error("interrupting the turn");
    let ended = run.finish();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("the agent has not received it"),
        "{}",
        ended.stderr
    );
    std::fs::write(daemon.place.work().join("go"), "").expect("it can be written");
    // The agent works afterwards, and has not seen the prompt.
    let next = done(&daemon.place, &["run", "-t", "@last", "say next"]);
    assert_eq!(next.stdout, "next\n");
    let shown = done(&daemon.place, &["show", "@last"]);
    assert!(shown.stdout.contains("turn_1 interrupted"), "{}", shown.stdout);
    assert!(!shown.stdout.contains("\nTHIS-RAN-ANYWAY"), "{}", shown.stdout);

    // So it is in a thread whose agent starts again.
    for file in ["go", "waits"] {
        std::fs::remove_file(daemon.place.work().join(file)).expect("it exists");
    }
    assert!(daemon.stop().success());
    daemon.restart();
    let run = Running::start(
        &mut daemon
            .place
            .command(&["run", "-t", "@last", "say THIS-RAN-ANYWAY"]),
    );
    wait_until("the agent starts", || daemon.place.work().join("waits").exists());
    run.wait_for_error("thread ");
    signal(run.pid(), Signal::INT);
    let ended = run.finish();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("the agent has not received it"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_prompt_above_the_limit_is_refused_with_both_sizes() {
    let daemon = Daemon::with("[limits]\nclient_message_bytes = 65536\n");
    let mut run = Running::start(&mut daemon.place.command(&["run", "--agent", "fake", "-"]));
    run.write(&"a".repeat(70_000));
    let ended = run.finish();
    assert_eq!(ended.code, Some(1));
    for told in ["70", "65536", "client_message_bytes"] {
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
}

#[test]
fn the_reason_of_a_failed_start_is_said_once() {
    let daemon = Daemon::with(
        "[agents.dead]\ncommand = \"sh\"\nargs = [\"-c\", \"echo the key is missing >&2; exit 3\"]\n",
    );
    let new = acpd(&daemon.place, &["run", "--agent", "dead", "hi"]);
    let again = acpd(&daemon.place, &["run", "-t", "@last", "hi"]);
    for run in [new, again] {
        assert_eq!(run.code, Some(1));
        assert_eq!(
            run.stderr.matches("exited with code 3").count(),
            1,
            "{}",
            run.stderr
        );
        assert_eq!(
            run.stderr.matches("the key is missing").count(),
            1,
            "{}",
            run.stderr
        );
    }
}

#[test]
fn a_daemon_is_described_stopped_and_started_again() {
    let place = Place::new("");
    let status = acpd(&place, &["status"]);
    assert_eq!(status.code, Some(6));
    assert!(status.stdout.starts_with("not running\n"), "{}", status.stdout);
    let status = acpd(&place, &["status", "--json"]);
    assert_eq!(json_of(&status)["running"], false);
    assert_eq!(place.noticed_pid(), None, "a status starts no daemon");
    let stopped = done(&place, &["stop"]);
    assert!(
        stopped.stderr.contains("no daemon is running"),
        "{}",
        stopped.stderr
    );
    let unlogged = acpd(&place, &["logs"]);
    assert_eq!(unlogged.code, Some(5), "{}", unlogged.stderr);

    let started = done(&place, &["threads"]);
    let _guard = place.background();
    let log = place.data().join("daemon.log").display().to_string();
    assert!(
        started.stderr.contains(&log) && started.stderr.contains("acpd stop"),
        "{}",
        started.stderr
    );
    let status = json_of(&done(&place, &["status", "--json"]));
    let pid = place.noticed_pid().expect("it runs");
    for (member, value) in [
        ("running", json!(true)),
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("pid", json!(pid)),
        ("dataDir", json!(place.data())),
        ("configFile", json!(place.config())),
        ("logFile", json!(log)),
        ("agents", json!([])),
        ("activeThreads", json!(0)),
        ("totalThreads", json!(0)),
    ] {
        assert_eq!(status[member], value, "{member}");
    }
    assert!(
        status["address"]
            .as_str()
            .is_some_and(|url| url.starts_with("http://127.0.0.1:"))
    );
    let shown = done(&place, &["status"]).stdout;
    for line in [
        format!("process: {pid}\n"),
        format!("log file: {log}\n"),
        "agents that run: none\n".to_owned(),
        "threads: 0 in total, 0 active, 0 waiting for an answer\n".to_owned(),
    ] {
        assert!(shown.contains(&line), "{shown}");
    }
    assert!(done(&place, &["logs"]).stdout.contains("ready"));
    assert_eq!(done(&place, &["logs", "-n", "1"]).stdout.lines().count(), 1);

    let restarted = json_of(&done(&place, &["restart", "--json"]));
    let _guard = place.background();
    assert_ne!(restarted["pid"], pid);
    assert_eq!(restarted["pid"].as_u64(), place.noticed_pid().map(u64::from));
    let stopped = done(&place, &["stop"]);
    assert_eq!(
        stopped.stdout,
        format!("stopped the daemon (process {})\n", restarted["pid"])
    );
    assert_eq!(place.noticed_pid(), None);
}

/// Starts a command in the background daemon, and waits until its thread has this status.
fn busy_with(place: &Place, prompt: &str, status: &str) -> Running {
    let run = ["run", "--agent", "fake", prompt];
    let running = Running::start(&mut on_terminal(&place.command(&run)));
    wait_until("the thread is listed", || {
        !acpd(place, &["threads", "--status", status, "--json"])
            .stdout
            .is_empty()
    });
    running
}

#[test]
fn running_turns_are_interrupted_only_after_confirmation() {
    let place = Place::new("");
    done(&place, &["threads"]);
    let _guard = place.background();
    let pid = place.noticed_pid();
    let turn = busy_with(&place, "wait ms=600000", "running");
    let question = busy_with(&place, "permission", "waiting");
    for command in ["stop", "restart"] {
        let refused = acpd(&place, &[command]);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        for part in [
            "1 turn runs, 1 question waits",
            "--when-idle",
            "--now",
            "waiting  permission",
        ] {
            assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
        }
        assert_eq!(acpd(&place, &[command, "--when-idle", "--now"]).code, Some(2));
    }
    // On a terminal, the user decides. The letter n is no, and a yes says too little.
    let mut asked = Running::start(&mut on_terminal(&place.command(&["stop"])));
    asked.wait_for_output("[no]");
    asked.write("yes\n");
    asked.wait_for_output("type wait, now or no");
    asked.write("n\n");
    assert_eq!(asked.finish().code, Some(1));
    // Ctrl-C ends the waiting, and not the daemon.
    let waiting = Running::start(&mut place.command(&["restart", "--when-idle"]));
    waiting.wait_for_error("waiting until nothing runs or waits");
    signal(waiting.pid(), Signal::INT);
    assert_eq!(waiting.finish().code, Some(130));
    assert_eq!(json_of(&done(&place, &["status", "--json"]))["pid"], json!(pid));

    let waiting = Running::start(&mut place.command(&["stop", "--when-idle"]));
    waiting.wait_for_error("waiting until nothing runs or waits");
    for status in ["running", "waiting"] {
        let listed = done(&place, &["threads", "--status", status, "--json"]);
        let id = json_of(&listed)["id"].as_str().expect("it has an id").to_owned();
        assert_eq!(place.noticed_pid(), pid, "it waits for each thread");
        done(&place, &["interrupt", &id]);
    }
    let stopped = waiting.finish();
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    assert_eq!(place.noticed_pid(), None);
    drop((turn, question));
}

#[test]
fn a_restart_that_waits_starts_a_daemon_also_after_another_command_has_stopped_it() {
    let place = Place::new("");
    done(&place, &["threads"]);
    let _guard = place.background();
    let before = place.noticed_pid();
    let turn = busy_with(&place, "wait ms=600000", "running");
    let waiting = Running::start(&mut place.command(&["restart", "--when-idle"]));
    waiting.wait_for_error("waiting until nothing runs or waits");
    done(&place, &["stop", "--now"]);
    let restarted = waiting.finish();
    let _other = place.background();
    assert_eq!(restarted.code, Some(0), "{}", restarted.stderr);
    assert!(
        restarted.stderr.contains("had ended already"),
        "{}",
        restarted.stderr
    );
    let after = place.noticed_pid();
    assert!(after.is_some() && after != before, "{after:?}");
    drop(turn);
}

#[test]
fn a_stop_at_once_asks_nothing() {
    for option in ["--now", "--yes"] {
        let place = Place::new("");
        done(&place, &["threads"]);
        let _guard = place.background();
        let turn = busy_with(&place, "wait ms=600000", "running");
        let stopped = done(&place, &["stop", option]);
        assert!(
            stopped.stdout.starts_with("stopped the daemon"),
            "{}",
            stopped.stdout
        );
        drop(turn);
    }
}

#[test]
fn a_restart_repeats_the_options_and_the_log_can_be_followed() {
    let place = Place::new("");
    let serve = Running::start(&mut place.command(&["serve", "--log-format", "json"]));
    serve.wait_for_output("web UI: ");
    let none = acpd(&place, &["logs"]);
    assert!(
        none.stderr.contains("started by \"acpd serve\""),
        "{}",
        none.stderr
    );
    done(&place, &["restart"]);
    let _guard = place.background();
    assert_eq!(serve.finish().code, Some(0));
    let logs = Running::start(&mut place.command(&["logs", "-f"]));
    logs.wait_for_output("ready");
    done(&place, &["stop"]);
    logs.wait_for_output("all threads stopped");
    signal(logs.pid(), Signal::INT);
    let logs = logs.finish();
    assert_eq!(logs.code, Some(0), "{}", logs.stderr);
    for line in logs.stdout.lines() {
        let line: Value = serde_json::from_str(line).expect("the log is JSON again");
        assert!(line["level"].is_string(), "{line}");
    }
}

#[test]
fn completions_and_man_pages_are_of_this_version() {
    let place = Place::new("");
    for shell in ["bash", "zsh", "fish"] {
        let script = done(&place, &["completions", shell]).stdout;
        for word in ["threads", "interrupt", "--permissions"] {
            let word = if shell == "fish" {
                word.trim_start_matches('-')
            } else {
                word
            };
            assert!(script.contains(word), "{shell}: {word}");
        }
        assert!(!script.contains("keep"), "{shell} offers a hidden command");
    }
    let pages = place.work();
    done(&place, &["man", &pages.display().to_string()]);
    let read = |name: &str| std::fs::read_to_string(pages.join(name)).expect("the page is written");
    assert!(read("acpd.1").contains("acpd"));
    assert!(read("acpd-run.1").contains("permissions"));
    assert!(read("acpd-agents-install.1").contains("unverified"));
    let nowhere = acpd(&place, &["man", "/no/such/dir"]);
    assert_eq!(nowhere.code, Some(1));
    assert!(nowhere.stderr.contains("/no/such/dir"), "{}", nowhere.stderr);
}

#[test]
fn a_wrong_argument_is_explained_in_a_line_or_two() {
    let place = Place::new("");
    for (args, told) in [
        (
            &["run", "fix", "the", "test"][..],
            &["quote the prompt", "acpd run --help"][..],
        ),
        (&["run"], &["PROMPT", "acpd run --help"]),
        (&["thraeds"], &["thraeds", "threads"]),
        (&["threads", "--jsno"], &["--jsno", "--json"]),
        (&["threads", "-s", "asleep"], &["asleep", "waiting"]),
        (
            &["threads", "-n", "many"],
            &["many", "write a whole number", "acpd threads --help"],
        ),
        (&["rn", "hello"], &["'run'"]),
        (
            &["threads", "--listen", "x"],
            &["127.0.0.1:4127", "acpd threads --help"],
        ),
        (&["run", "-t", "x", "-a", "y", "z"], &["--thread", "--agent"]),
    ] {
        let refused = acpd(&place, args);
        assert_eq!(refused.code, Some(2), "{args:?}");
        assert!(
            told.iter().all(|told| refused.stderr.contains(told)),
            "{args:?}: {}",
            refused.stderr
        );
        assert!(
            refused.stderr.starts_with("acpd: ") && !refused.stderr.contains("Usage:"),
            "{}",
            refused.stderr
        );
        assert!(refused.stderr.lines().count() <= 4, "{}", refused.stderr);
    }
    for bare in ["agents", "policy", "token"] {
        let help = done(&place, &[bare]);
        assert!(
            help.stdout.contains(&format!("Usage: acpd {bare}")),
            "{}",
            help.stdout
        );
    }
}

#[test]
fn without_a_command_there_is_help_and_the_state_of_the_daemon() {
    // clap has another error for it where the environment sets no option.
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    for (args, usage) in [
        (&[][..], "Usage: acpd "),
        (&["agents"], "Usage: acpd agents "),
        (&["policy"], "Usage: acpd policy "),
        (&["token"], "Usage: acpd token "),
    ] {
        let mut command = std::process::Command::new(support::built("acpd"));
        command.args(args).env_clear().env("HOME", home.path());
        let help = outcome(&mut command);
        assert_eq!((help.code, &help.stderr[..]), (Some(0), ""), "{args:?}");
        assert!(help.stdout.contains(usage), "{args:?}: {}", help.stdout);
        assert!(help.stdout.contains("\n\n"), "{args:?}: {}", help.stdout);
    }
    let daemon = Daemon::start();
    let bare = done(&daemon.place, &[]);
    let state = format!("The daemon runs at http://{}.", daemon.address());
    assert!(
        bare.stdout.contains(&state) && bare.stdout.contains("acpd open"),
        "{}",
        bare.stdout
    );
}

#[test]
fn commands_have_the_short_names_that_shells_taught() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    assert!(done(&daemon.place, &["ls"]).stdout.contains(&thread[28..]));
    done(&daemon.place, &["rm", "--yes", &thread]);
    assert!(done(&daemon.place, &["ls", "-q"]).stdout.is_empty());
}

#[test]
fn quiet_commands_print_results_alone_and_verbose_ones_name_the_daemon() {
    let daemon = Daemon::start();
    for args in [
        &["token", "list"][..],
        &["agents", "running"],
        &["stop", "--json"],
    ] {
        // The last one stops the daemon.
        let quiet = done(&daemon.place, &[args, &["--quiet"]].concat());
        assert_eq!(quiet.stderr, "", "{args:?}");
    }
    let daemon = Daemon::start();
    let verbose = done(&daemon.place, &["threads", "-v"]);
    let name = format!("connected to the daemon of {}", daemon.place.data().display());
    assert!(verbose.stderr.contains(&name), "{}", verbose.stderr);
    let link = json_of(&done(&daemon.place, &["open", "--json"]));
    assert!(
        link["link"]
            .as_str()
            .is_some_and(|link| link.contains("#ticket="))
            && link["secs"].is_u64(),
        "{link}"
    );
}

#[test]
fn an_agent_that_does_not_answer_or_exist_is_named_with_advice() {
    let daemon = Daemon::with(
        "[agents.silent]\ncommand = \"tail\"\nargs = [\"-f\", \"/dev/null\"]\n[limits]\nagent_start_secs = 1\n",
    );
    let silent = acpd(&daemon.place, &["run", "--agent", "silent", "hi"]);
    assert_eq!(silent.code, Some(1));
    for told in [
        "\"silent\" did not answer initialize within 1 s",
        "acpd agents doctor silent",
        "agent_start_secs",
    ] {
        assert!(silent.stderr.contains(told), "{told}: {}", silent.stderr);
    }
    for args in [
        &["run", "--agent", "slient", "hi"][..],
        &["agents", "doctor", "slient"],
        &["policy", "test", "--agent", "slient", "--bash", "ls"],
    ] {
        let unknown = acpd(&daemon.place, args);
        assert_eq!(unknown.code, Some(5), "{args:?}");
        assert!(
            unknown.stderr.contains("did you mean \"silent\"?"),
            "{args:?}: {}",
            unknown.stderr
        );
    }
    let login = acpd(&daemon.place, &["agents", "login", "fake"]);
    assert!(
        login.stderr.contains("run \"acpd-fake-agent\" itself") && login.stderr.contains("pass_env"),
        "{}",
        login.stderr
    );
}

#[test]
fn an_editor_continues_a_thread_that_is_named_by_a_part_of_its_id() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say hi");
    for given in [&thread[28..], "@last"] {
        let mut pipe = Running::start(&mut daemon.place.command(&["acp", "--thread", given]));
        let cwd = daemon.place.work();
        for (id, method, params) in [
            (0, "initialize", json!({ "protocolVersion": 1 })),
            (1, "session/new", json!({ "cwd": cwd, "mcpServers": [] })),
        ] {
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            pipe.write(&format!("{request}\n"));
        }
        pipe.wait_for_output(&thread);
        assert_eq!(pipe.finish().code, Some(0));
    }
    let unknown = acpd(&daemon.place, &["acp", "--thread", "nothing"]);
    assert_eq!(unknown.code, Some(5), "{}", unknown.stderr);
}
