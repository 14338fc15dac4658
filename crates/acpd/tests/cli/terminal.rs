//! Output and input on a terminal: colours, width, pager, progress and questions.

use std::process::Command;

use serde_json::json;

use crate::support::{self, Client, Daemon, Place, Running, acpd, fake_agent, on_terminal, on_terminal_of};

fn screen(command: &mut Command) -> String {
    let ended = Running::start(command).finish();
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    ended.stdout
}

#[test]
fn colours_are_for_terminals_unless_the_user_says_otherwise() {
    let daemon = Daemon::start();
    let run = ["run", "--agent", "fake", "think n=1 text=hm"];
    let dim = "\u{1b}[2m";
    for (variable, option, is_coloured) in [
        (None, "auto", true),
        (None, "never", false),
        (Some(("NO_COLOR", "1")), "auto", false),
        (Some(("NO_COLOR", "1")), "always", true),
        (Some(("TERM", "dumb")), "auto", false),
    ] {
        let mut command = daemon.place.command(&[&run[..], &["--color", option]].concat());
        command.env_remove("NO_COLOR").env("TERM", "xterm").envs(variable);
        let shown = screen(&mut on_terminal(&command));
        assert_eq!(
            shown.contains(dim),
            is_coloured,
            "{variable:?} {option}: {shown:?}"
        );
    }
    let piped = acpd(&daemon.place, &run);
    assert!(!piped.stderr.contains('\u{1b}'), "{}", piped.stderr);
    let piped = acpd(&daemon.place, &[&run[..], &["--color", "always"]].concat());
    assert!(piped.stderr.contains(dim), "{}", piped.stderr);
}

#[test]
fn an_export_on_a_terminal_is_a_document() {
    let daemon = Daemon::start();
    acpd(&daemon.place, &["run", "--agent", "fake", "say quince"]);
    let shown = screen(&mut on_terminal(&daemon.place.command(&["export", "@last"])));
    assert!(shown.starts_with("# ") && shown.contains("quince"), "{shown}");
    let lines = screen(&mut on_terminal(
        &daemon.place.command(&["export", "@last", "--format", "jsonl"]),
    ));
    assert!(lines.starts_with('{'), "{lines}");
}

#[test]
fn lines_fit_a_narrow_terminal() {
    let daemon = Daemon::start();
    let long = "a name that is a good deal longer than forty columns can show";
    acpd(
        &daemon.place,
        &["run", "--agent", "fake", &format!("say quince {long}")],
    );
    acpd(&daemon.place, &["rename", "@last", long]);
    let name = "a-token-of-a-person-with-a-name";
    acpd(
        &daemon.place,
        &[
            "token",
            "create",
            "--name",
            name,
            "--role",
            "observer",
            "--expires",
            "2w",
        ],
    );
    for args in [
        &["threads"][..],
        &["search", "quince"],
        &["token", "list"],
        &["agents", "list"],
        &["agents", "running"],
    ] {
        let shown = screen(&mut on_terminal_of(40, &daemon.place.command(args)));
        assert!(shown.lines().count() > 1, "{args:?}: {shown}");
        for line in shown.lines() {
            assert!(line.trim_end().chars().count() <= 40, "{args:?}: {line:?}");
        }
    }
}

#[test]
fn a_thread_is_shown_in_the_users_pager() {
    let daemon = Daemon::start();
    acpd(&daemon.place, &["run", "--agent", "fake", "say quince"]);
    let show = |pager: &str| {
        let mut command = daemon.place.command(&["show", "@last"]);
        command.env("PAGER", pager);
        command
    };
    let paged = screen(&mut on_terminal(&show("sed s/^/PAGED:/")));
    assert!(paged.contains("PAGED:quince"), "{paged}");
    // The user quits early.
    let head = screen(&mut on_terminal(&show("head -n 1")));
    assert!(!head.contains("turn_1"), "{head}");
    let missing = screen(&mut on_terminal(&show("/no/such/pager")));
    assert!(missing.contains("quince"), "{missing}");
    let piped = Running::start(&mut show("sed s/^/PAGED:/")).finish();
    assert!(!piped.stdout.contains("PAGED"), "{}", piped.stdout);
}

#[test]
fn the_start_of_an_agent_and_of_the_daemon_is_shown() {
    let agent = fake_agent().display().to_string();
    let place = Place::new(&format!(
        "[agents.slow]\ncommand = \"sh\"\nargs = [\"-c\", \"until [ -e go ]; do sleep 0.02; done; exec {agent}\"]\nstart_in = \"workspace\"\n[sandbox]\nread = [\"{agent}\"]\n"
    ));
    let run = |options: &[&str]| {
        let run = ["run", "--agent", "slow", "say hi"];
        Running::start(&mut on_terminal(&place.command(&[&run[..], options].concat())))
    };
    let shown = run(&[]);
    shown.wait_for_output("starting the daemon");
    let _daemon = {
        shown.wait_for_output("starting slow");
        place.background()
    };
    std::fs::write(place.work().join("go"), "").expect("it can be written");
    let shown = shown.finish();
    assert_eq!(shown.code, Some(0), "{}", shown.stdout);
    let quiet = run(&["--quiet"]).finish().stdout;
    assert!(!quiet.contains("starting"), "{quiet}");
    let doctor = screen(&mut on_terminal(&place.command(&["agents", "doctor", "slow"])));
    assert!(
        doctor.contains("starting slow") && doctor.contains("works"),
        "{doctor}"
    );
}

#[test]
fn a_change_that_the_question_shows_is_not_printed_again() {
    let daemon = Daemon::start();
    let run = ["run", "--agent", "fake", "permission kind=edit"];
    let mut asked = Running::start(&mut on_terminal(&daemon.place.command(&run)));
    asked.wait_for_output("Your choice");
    asked.write("\n");
    asked.wait_for_output("An empty line is not an option");
    asked.write("Allow\n");
    asked.wait_for_output("✓ changed ");
    let shown = asked.finish().stdout;
    assert_eq!(shown.matches("+    println!(\"new\");").count(), 1, "{shown}");
    assert!(shown.contains("allowed (allow_once)"), "{shown}");
    // What was rejected has not changed.
    let mut rejected = Running::start(&mut on_terminal(&daemon.place.command(&run)));
    rejected.wait_for_output("Your choice");
    rejected.write("Reject\n");
    rejected.wait_for_output("✗ rejected: ");
    let shown = rejected.finish().stdout;
    assert!(
        !shown.contains("✓ changed") && !shown.contains("✗ failed"),
        "{shown}"
    );
    // Where no question shows it, it is printed.
    let unasked = acpd(&daemon.place, &[&run[..], &["-p", "allow"]].concat());
    assert!(
        unasked.stderr.contains("+    println!(\"new\");"),
        "{}",
        unasked.stderr
    );
}

#[test]
fn a_form_is_answered_or_dismissed_by_a_script() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    for (answer, said) in [
        (
            &["--input", r#"{"name": "Ada"}"#][..],
            r#"elicited accept: {"name":"Ada"}"#,
        ),
        (&["--dismiss"], "elicited decline"),
    ] {
        let turn = client.start(&thread, "elicit");
        client.question();
        let shown = support::outcome(&mut support::without_terminal(
            &daemon.place.command(&["answer", &thread]),
        ));
        assert!(
            shown.stdout.contains("Who are you?") && shown.stdout.contains("  name: Name ("),
            "{}",
            shown.stdout
        );
        for (wrong, told) in [
            (&["allow"][..], "--input"),
            (&["--input", "name=Ada"], "is not a JSON object"),
        ] {
            let refused = acpd(&daemon.place, &[&["answer", &thread], wrong].concat());
            assert_eq!(refused.code, Some(2), "{wrong:?}");
            assert!(refused.stderr.contains(told), "{}", refused.stderr);
        }
        let answered = acpd(&daemon.place, &[&["answer", &thread], answer].concat());
        assert_eq!(
            (answered.code, &answered.stdout[..]),
            (Some(0), "answered\n"),
            "{}",
            answered.stderr
        );
        assert_eq!(client.finish(&thread, &turn).said(), said);
    }
    let turn = client.start(&thread, "elicit url");
    client.question();
    assert_eq!(acpd(&daemon.place, &["answer", &thread, "allow"]).code, Some(0));
    assert_eq!(client.finish(&thread, &turn).said(), "elicited accept");
    let turn = client.start(&thread, "permission");
    client.question();
    let refused = acpd(&daemon.place, &["answer", &thread, "--dismiss"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("permission"), "{}", refused.stderr);
    assert_eq!(acpd(&daemon.place, &["answer", &thread, "Allow"]).code, Some(0));
    assert_eq!(client.finish(&thread, &turn).said(), "allowed (allow_once)");
}

#[test]
fn times_are_in_the_users_zone_and_name_it() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let shown = |zone: &str| {
        let mut command = daemon.place.command(&["show", &thread]);
        Running::start(command.env("TZ", zone)).finish().stdout
    };
    let here = shown("America/New_York");
    assert!(here.contains(" EST\n") || here.contains(" EDT\n"), "{here}");
    assert!(shown("UTC").contains(" UTC\n"));
    assert_ne!(here, shown("Asia/Tokyo"));
    let read = client.call("thread/read", &json!({ "threadId": thread }));
    assert!(read["thread"]["createdAt"].is_number());
}
