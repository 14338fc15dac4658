//! The exit codes of `acpd`, which scripts depend on.

use rustix::process::Signal;

use crate::support::{
    Client, Daemon, Place, Running, acpd, on_terminal, outcome, signal, wait_until, without_terminal,
};

fn code(place: &Place, args: &[&str]) -> (Option<i32>, String) {
    let ended = outcome(&mut without_terminal(&place.command(args)));
    (ended.code, ended.stderr)
}

#[test]
fn each_outcome_has_its_exit_code() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let run = |prompt: &'static str| ["run", "--agent", "fake", prompt];
    let denies = r#"{"deny": ["Bash(rm *)"], "ask": ["Bash(git *)"], "default": "allow"}"#;
    let test = |line: &'static str| ["policy", "test", "--thread-policy", denies, "--bash", line];
    let no_fingerprint = [
        "threads",
        "--connect",
        "https://127.0.0.1:1",
        "--tls-fingerprint",
        "zz",
    ];
    for (expected, args) in [
        (0, &["threads"][..]),
        (0, &run("say hi")),
        (0, &test("ls")),
        (1, &run("error message=broken")),
        (1, &["setup"]),
        (1, &["export", &thread, "-o", "/no/such/dir/x.md"]),
        (2, &["run"]),
        (2, &run("")),
        (2, &["run", "--agent", "fake", "--cwd", "/no/such/dir", "x"]),
        (2, &["threads", "--connect", "ws://box.example"]),
        (2, &["threads", "--connect", "http://box.example"]),
        (6, &["threads", "--connect", "https://127.0.0.1:1"]),
        (2, &no_fingerprint),
        (2, &["stop", "--connect", "https://127.0.0.1:1"]),
        (
            2,
            &[
                "token",
                "create",
                "--name",
                "x",
                "--role",
                "observer",
                "--expires",
                "30",
            ],
        ),
        (2, &["editors", "install", "zed", "--agent", "fake"]),
        (2, &["delete", &thread]),
        (3, &run("stop reason=refusal")),
        (4, &run("stop reason=max_tokens")),
        (5, &["show", "nope"]),
        (5, &["export", "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4"]),
        (5, &["interrupt", &thread]),
        (5, &["answer", &thread]),
        (5, &["search", "xylophone"]),
        (5, &["run", "--agent", "nope", "x"]),
        (5, &["agents", "doctor", "nope"]),
        (5, &["agents", "login", "nope"]),
        (5, &["agents", "install", "nope"]),
        (5, &["agents", "uninstall", "nope"]),
        (5, &["setup", "--print", "--agent", "nope"]),
        (5, &["editors", "install", "nope", "--agent", "fake"]),
        (5, &["token", "revoke", "nope"]),
        (5, &["policy", "test", "--agent", "nope", "--bash", "ls"]),
        (8, &run("permission")),
        (10, &test("git push")),
        (11, &test("rm x")),
    ] {
        let (code, stderr) = code(&daemon.place, args);
        assert_eq!(code, Some(expected), "{args:?}: {stderr}");
        // The prompts that fail print what the agent says; everything else says why.
        assert!(expected == 0 || expected >= 10 || !stderr.is_empty(), "{args:?}");
        assert!(!stderr.contains("os error"), "{args:?}: {stderr}");
    }
}

/// Other systems accept no such name.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_is_no_text_is_a_wrong_argument() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let daemon = Daemon::start();
    let odd = daemon.place.work().join(OsStr::from_bytes(b"odd\xff"));
    std::fs::create_dir(&odd).expect("it can be made");
    for args in [
        &["threads", "--cwd"][..],
        &["run", "--agent", "fake", "hello", "--cwd"],
        &["policy", "test", "--bash", "ls", "--cwd"],
    ] {
        let mut command = daemon.place.command(args);
        command.arg(&odd);
        let ended = outcome(&mut without_terminal(&command));
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.stderr);
        let told = "is not valid UTF-8: rename the directory";
        assert!(ended.stderr.contains(told), "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn an_observer_sees_a_question_and_may_not_answer_it() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "permission");
    client.question();
    let made = acpd(
        &daemon.place,
        &["token", "create", "--name", "eve", "--role", "observer"],
    );
    let eve = Place::new("").with_env("ACPD_TOKEN", made.stdout.trim());
    let url = format!("http://{}", daemon.address());
    for (expected, args) in [
        (0, &["answer", &thread, "--connect", &url][..]),
        (0, &["answer", &thread, "--json", "--connect", &url]),
        (7, &["answer", &thread, "allow", "--connect", &url]),
    ] {
        let (code, stderr) = code(&eve, args);
        assert_eq!(code, Some(expected), "{args:?}: {stderr}");
    }
    assert_eq!(acpd(&daemon.place, &["answer", &thread, "reject"]).code, Some(0));
    assert_eq!(client.finish(&thread, &turn).said(), "rejected (reject_once)");
}

#[test]
fn a_daemon_that_cannot_be_reached_or_refuses_has_its_exit_code() {
    let place = Place::new("");
    assert_eq!(code(&place, &["status"]).0, Some(6));
    let daemon = Daemon::start();
    let stranger = Place::new("").with_env("ACPD_TOKEN", "not-the-right-token");
    for (url, told) in [
        ("https://127.0.0.1:1", "Connection refused; check the address"),
        ("https://no-such-host.invalid", "cannot be reached"),
        (&format!("https://{}", daemon.address()), "does not speak TLS"),
    ] {
        let (code, stderr) = code(&stranger, &["threads", "--connect", url]);
        assert_eq!(code, Some(6), "{url}: {stderr}");
        assert!(stderr.contains(told), "{url}: {stderr}");
        assert!(!stderr.contains("os error"), "{stderr}");
    }
    let url = format!("http://{}", daemon.address());
    for args in [
        &["threads"][..],
        &["export", "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4"],
    ] {
        let (code, stderr) = code(&stranger, &[args, &["--connect", &url]].concat());
        assert_eq!(code, Some(7), "{args:?}: {stderr}");
    }
    // A token whose role permits less than the command requests, over HTTP and the app protocol.
    let made = acpd(
        &daemon.place,
        &["token", "create", "--name", "eve", "--role", "observer"],
    );
    let eve = Place::new("").with_env("ACPD_TOKEN", made.stdout.trim());
    for args in [
        &["pair", "--url", "https://box.example"][..],
        &["run", "--agent", "fake", "--cwd", "/", "x"],
    ] {
        let (code, stderr) = code(&eve, &[args, &["--connect", &url]].concat());
        assert_eq!(code, Some(7), "{args:?}: {stderr}");
    }
}

#[test]
fn without_a_token_the_exit_code_says_whether_anything_listens() {
    let daemon = Daemon::start();
    let stranger = Place::new("");
    let here = format!("http://{}", daemon.address());
    for args in [&["threads"][..], &["send", "@last", "hi"], &["show", "@last"]] {
        // A token is of no use where nothing listens.
        let (nothing, stderr) = code(&stranger, &[args, &["--connect", "http://127.0.0.1:1"]].concat());
        assert_eq!(nothing, Some(6), "{args:?}: {stderr}");
        assert!(
            stderr.contains("Connection refused; check the address"),
            "{stderr}"
        );
        let (refused, stderr) = code(&stranger, &[args, &["--connect", &here]].concat());
        assert_eq!(refused, Some(2), "{args:?}: {stderr}");
        assert!(
            stderr.contains("requires an access token: set ACPD_TOKEN"),
            "{stderr}"
        );
        assert!(!stderr.contains("os error"), "{stderr}");
    }
    // As scripts have it whose secret is missing.
    let empty = Place::new("").with_env("ACPD_TOKEN", "");
    let (refused, stderr) = code(&empty, &["threads", "--connect", &here]);
    assert_eq!(refused, Some(2), "{stderr}");
    assert!(stderr.contains("ACPD_TOKEN"), "{stderr}");
    assert_eq!(stranger.noticed_pid(), None, "no daemon was started in its place");
}

/// Returns whether a process has a handler for SIGINT.
fn handles_ctrl_c(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask & 1 << (Signal::INT.as_raw() - 1) != 0)
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_a_command_that_waits() {
    let daemon = Daemon::with("[agents.silent]\ncommand = \"tail\"\nargs = [\"-f\", \"/dev/null\"]\n");
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    // A server that accepts and never answers.
    let mute = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}/", mute.local_addr().expect("it has an address"));
    for args in [
        &["run", "--agent", "fake", "-"][..],
        &["send", &thread, "-"],
        &["agents", "doctor", "silent"],
        &["agents", "update", "--url", &url],
    ] {
        let waits = Running::start(&mut daemon.place.command(args));
        wait_until("it handles Ctrl-C", || handles_ctrl_c(waits.pid()));
        signal(waits.pid(), Signal::INT);
        waits.wait_for_error("interrupted");
        let ended = waits.finish();
        assert_eq!(ended.code, Some(130), "{args:?}: {}", ended.stderr);
    }
    let turn = client.start(&thread, "permission");
    client.question();
    for args in [&["answer", "@last"][..], &["delete", "@last"]] {
        let mut asks = Running::start(&mut on_terminal(&daemon.place.command(args)));
        asks.wait_for_output(if args[0] == "answer" {
            "Your choice"
        } else {
            "[y/N]"
        });
        asks.write("\u{3}");
        let ended = asks.finish();
        assert_eq!(ended.code, Some(130), "{args:?}: {}", ended.stdout);
    }
    // The question is still open, and the thread still there.
    assert_eq!(acpd(&daemon.place, &["answer", "@last", "reject"]).code, Some(0));
    assert_eq!(client.finish(&thread, &turn).said(), "rejected (reject_once)");
}
