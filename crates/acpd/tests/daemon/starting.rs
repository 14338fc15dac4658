//! Starting where something is missing or in the way: a home, a port, a daemon, a configuration, the program's file.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::support::{
    Client, Daemon, Editor, Place, Running, acpd, built, copy_surroundings, outcome, outcome_with_input,
    signal, wait_until,
};

const HELLO: &str =
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n";

/// Returns the message with which `acpd acp` answers `initialize`, and its exit code.
fn refused(command: &mut Command) -> (String, Option<i32>) {
    let ended = outcome_with_input(command, HELLO);
    let answer: Value = serde_json::from_str(ended.stdout.trim()).unwrap_or_else(|_| panic!("{ended:?}"));
    assert_eq!(answer["id"], 7, "{answer}");
    let message = answer["error"]["message"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"));
    (message.to_owned(), ended.code)
}

#[test]
fn without_a_home_variable_the_user_database_has_it() {
    let place = Place::new("");
    let mut command = place.command(&["status", "--json"]);
    // With these, acpd asks for no home.
    for name in ["HOME", "ACPD_CONFIG"] {
        command.env_remove(name);
    }
    let status = outcome(&mut command);
    assert!(!status.stderr.contains("home directory"), "{status:?}");
    assert!(status.stdout.contains("running"), "{status:?}");
}

#[test]
fn partial_files_of_a_killed_daemon_are_removed() {
    let place = Place::new("");
    place.make_data();
    let [old, young] = [".seen.json.acpd-1-0", ".seen.json.acpd-1-1"].map(|name| place.data().join(name));
    let abandoned = std::fs::File::create(&old).unwrap();
    abandoned.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    std::fs::write(&young, "").unwrap();
    let _daemon = Daemon::at(place);
    assert!(!old.exists());
    assert!(young.exists());
}

#[test]
fn editors_receive_why_no_daemon_can_be_started() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let place = Place::new("");
    let mut command = place.command(&["acp", "--agent", "fake"]);
    let (message, code) = refused(command.env("ACPD_LISTEN", address));
    assert!(message.contains("another program listens there"), "{message}");
    assert_eq!(code, Some(6));
}

#[test]
fn editors_receive_errors_of_the_configuration() {
    let place = Place::new("");
    place.configure("listen = 5\n");
    let (message, code) = refused(&mut place.command(&["acp"]));
    assert!(message.contains("listen"), "{message}");
    assert_eq!(code, Some(6));
}

#[test]
fn a_daemon_takes_another_port_where_the_default_one_is_taken() {
    // If another program has the port, that is as good.
    let taken = TcpListener::bind("127.0.0.1:4127");
    let place = Place::new("");
    let daemon = Running::start(place.command(&["serve"]).env_remove("ACPD_LISTEN"));
    daemon.wait_for_output("web UI: ");
    let status = outcome(place.command(&["status", "--json"]).env_remove("ACPD_LISTEN"));
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    let address = status["address"].as_str().unwrap();
    assert!(
        address.starts_with("http://127.0.0.1:") && !address.ends_with(":4127"),
        "{status}"
    );
    daemon.wait_for_output(address);
    daemon.wait_for_error("127.0.0.1:4127 is taken by another program");
    let run = outcome(
        place
            .command(&["run", "--agent", "fake", "say hello"])
            .env_remove("ACPD_LISTEN"),
    );
    assert_eq!(
        (run.code, run.stdout.trim()),
        (Some(0), "hello"),
        "{}",
        run.stderr
    );
    // An address that is named stays the only one. Here, acpd itself has it.
    let other = Place::new("");
    std::fs::remove_file(other.config()).unwrap();
    let mut command = other.command(&["serve"]);
    let refused = outcome(
        command
            .env("ACPD_LISTEN", address.trim_start_matches("http://"))
            .env_remove("ACPD_CONFIG"),
    );
    for part in [
        " acpd ",
        "listens there",
        "; choose another address with --listen",
    ] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    assert!(!refused.stderr.contains(".toml"), "no file: {}", refused.stderr);
    // The next start has the same port, also if the default one is free.
    signal(daemon.pid(), rustix::process::Signal::TERM);
    daemon.finish();
    drop(taken);
    let again = outcome(place.command(&["status"]).env_remove("ACPD_LISTEN"));
    assert_eq!(again.code, Some(6), "{}", again.stdout);
    let daemon = Running::start(place.command(&["serve"]).env_remove("ACPD_LISTEN"));
    daemon.wait_for_output(address);
    drop(daemon);
    // A command that starts one says which port it has.
    let listed = outcome(place.command(&["threads"]).env_remove("ACPD_LISTEN"));
    let (_, port) = address.rsplit_once(':').unwrap();
    assert!(
        listed.stderr.contains(&format!("using {port}"))
            || listed.stderr.contains(&format!("using port {port}")),
        "{}",
        listed.stderr
    );
    drop(place.background());
    if let Ok(_taken) = TcpListener::bind("[::1]:4127") {
        // `localhost` would lead to the other program.
        let place = Place::new("");
        let daemon = Running::start(place.command(&["serve"]).env_remove("ACPD_LISTEN"));
        daemon.wait_for_output("web UI: ");
        daemon.wait_for_error(":4127 is taken by another program");
    }
}

/// Puts a fresh copy of `acpd` at a path, as package managers do.
fn install(program: &Path) {
    let new = program.with_extension("new");
    std::fs::copy(built("acpd"), &new).expect("the program can be replaced");
    std::fs::rename(new, program).expect("the program can be replaced");
}

#[test]
fn a_program_that_was_replaced_starts_the_new_one() {
    let place = Place::new("");
    let program = place.home().join("acpd");
    install(&program);
    let mut command = Command::new(&program);
    command.args(["acp", "--agent", "fake"]);
    copy_surroundings(&place.command(&[]), &mut command);
    let mut pipe = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let (stdin, stdout) = (pipe.stdin.take().unwrap(), pipe.stdout.take().unwrap());
    let mut editor = Editor::lines(stdout, stdin);
    editor.greet();
    let first = place.noticed_pid();
    install(&program);
    // Dropping it kills the daemon.
    drop(place.background());
    let params = json!({ "cwd": place.work(), "mcpServers": [] });
    // The connection may have been lost while the request was under way.
    let session = editor
        .try_call("session/new", &params)
        .unwrap_or_else(|_| editor.call("session/new", &params));
    let second = place.background();
    assert_ne!(place.noticed_pid(), first);
    let session = session["sessionId"].as_str().unwrap();
    assert_eq!(editor.turn(session, "say hello").0, "hello");
    drop(editor);
    assert!(pipe.wait().unwrap().success());
    drop(second);
}

#[test]
fn threads_are_found_by_each_name_of_their_directory() {
    let daemon = Daemon::start();
    let link = daemon.place.home().join("link");
    std::os::unix::fs::symlink(daemon.place.work(), &link).unwrap();
    let mut client = Client::new(&daemon);
    let mut ids = Vec::new();
    for cwd in [&link, &daemon.place.work()] {
        let started = client.call(
            "thread/start",
            &json!({ "agentType": "fake", "cwd": cwd, "text": "say hi" }),
        );
        ids.insert(0, started["thread"]["id"].clone());
    }
    let real = daemon.place.work().canonicalize().unwrap();
    let below = |name: &str| format!("{}/{name}", daemon.place.home().display());
    let names = [
        link.display().to_string(),
        real.display().to_string(),
        below("link/"),
        below("./link"),
        below("work//"),
        below("work/../link"),
    ];
    for name in &names {
        let listed = client.call("thread/list", &json!({ "cwd": name }));
        let found: Vec<Value> = listed["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].clone())
            .collect();
        assert_eq!(found.len(), 2, "{name}: {listed}");
        assert!(ids.iter().all(|id| found.contains(id)), "{name}: {listed}");
        let shown = acpd(&daemon.place, &["threads", "-C", name, "--json"]);
        for id in &ids {
            assert!(shown.stdout.contains(id.as_str().unwrap()), "{name}: {shown:?}");
        }
    }
    let mut editor = Editor::socket(&daemon.place);
    editor.greet();
    let listed = editor.call("session/list", &json!({ "cwd": real }));
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2, "{listed}");
    let none = client.call("thread/list", &json!({ "cwd": daemon.place.home() }));
    assert_eq!(none["data"], json!([]));
}

#[test]
fn a_path_of_windows_is_refused_with_the_one_to_use() {
    let daemon = Daemon::start();
    let mut editor = Editor::socket(&daemon.place);
    editor.greet();
    let params = json!({ "cwd": r"C:\work\app", "mcpServers": [] });
    let refused = editor.refused("session/new", &params);
    let message = refused["message"].as_str().unwrap();
    // Under WSL it is translated, and not there.
    let is_wsl = message.contains("directory not found");
    assert!(message.contains("/mnt/c/work/app") || is_wsl, "{message}");
    let params = json!({ "agentType": "fake", "cwd": r"\\wsl.localhost\Debian\srv\app" });
    let refused = Client::new(&daemon).refused("thread/start", &params);
    assert!(
        refused["message"].as_str().unwrap().contains("/srv/app"),
        "{refused}"
    );
}

#[test]
fn mcp_servers_of_editors_are_mended_or_refused_by_name() {
    let daemon = Daemon::start();
    let mut editor = Editor::socket(&daemon.place);
    editor.greet();
    let mut open = |server: Value| {
        let params = json!({ "cwd": daemon.place.work(), "mcpServers": [server] });
        editor.try_call("session/new", &params)
    };
    let opened = open(json!({ "name": "own", "command": "true", "env": { "K": "v" } }));
    assert!(opened.is_ok(), "{opened:?}");
    let refused = open(json!({ "name": "mine", "type": "stdio" })).unwrap_err();
    assert!(
        refused["message"].as_str().unwrap().contains("\"mine\""),
        "{refused}"
    );
}

/// After a restart, all threads of an agent may be continued at once, each by a process that refreshes the same sign-in.
#[test]
fn many_threads_of_one_sign_in_start_at_once() {
    const THREADS: usize = 12;
    let place = Place::new("");
    place.configure(&place.agent("fake", &["--refresh", "300", "--pace", "0"], &[]));
    let mut daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let threads = [(); THREADS].map(|()| client.thread(&daemon));
    drop(client);
    daemon.kill();
    daemon.restart();
    let mut client = Client::new(&daemon);
    for thread in &threads {
        let params = json!({ "threadId": thread, "startAgent": false });
        client.call("thread/resume", &params);
        client.start(thread, "say hello");
    }
    for _ in threads {
        let end = client.wait_for("turn/completed");
        assert_eq!(end.params["turn"]["status"], "completed", "{end:?}");
    }
}

#[test]
fn sign_in_output_reaches_the_owner_who_can_cancel_it() {
    let place = Place::without_sandbox("");
    place.configure(&place.agent("locked", &["--sign-in", "--sign-in-by-browser"], &[]));
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let start = json!({ "agentType": "locked", "cwd": daemon.place.work() });
    let refused = client.refused("thread/start", &start);
    assert_eq!(refused["data"]["code"], "sign_in_required", "{refused}");
    let threads = client.call("thread/list", &json!({}));
    let thread = threads["data"][0]["id"].clone();
    client.call("thread/resume", &json!({ "threadId": thread, "after": 0 }));
    let sign_in = client.request(
        "agent/authenticate",
        &json!({ "threadId": thread, "methodId": "browser" }),
    );
    let expected = json!([
        "Open https://login.example/device",
        "and enter the code ABCD-EFGH:"
    ]);
    wait_until("the lines are there", || {
        let read = client.call("agent/authenticate/read", &json!({ "threadId": thread }));
        assert_eq!(read["inProgress"], true, "{read}");
        // A connection may send 60 requests in 10 s.
        std::thread::sleep(std::time::Duration::from_millis(200));
        read["lines"] == expected
    });
    client.call("agent/authenticate/cancel", &json!({ "threadId": thread }));
    let error = client.answer(sign_in).expect_err("it was given up");
    assert_eq!(error["message"], "the sign-in was cancelled");
    let again = client.refused("agent/authenticate/cancel", &json!({ "threadId": thread }));
    assert_eq!(again["data"]["code"], "conflict");
    // The next one has an agent of its own, and works.
    client.call(
        "agent/authenticate",
        &json!({ "threadId": thread, "methodId": "key" }),
    );
    let thread = thread.as_str().expect("it has an id");
    assert_eq!(client.turn(thread, "echo").said(), "1 blocks (text): echo");
}
