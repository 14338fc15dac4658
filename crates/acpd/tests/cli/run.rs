//! `acpd run`: one turn from a terminal or a script.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    Client, Daemon, Place, Running, acpd, on_terminal, outcome, outcome_with_input, signal, unread,
    without_terminal,
};

/// Returns the thread's id that `acpd run` printed.
fn thread_of(stderr: &str) -> String {
    let line = stderr.lines().find_map(|line| line.strip_prefix("thread "));
    line.unwrap_or_else(|| panic!("no thread: {stderr}")).to_owned()
}

#[test]
fn the_answer_is_on_standard_output_and_all_else_beside_it() {
    let daemon = Daemon::start();
    let run = acpd(
        &daemon.place,
        &[
            "run",
            "--agent",
            "fake",
            "think n=1 text=hm; tool; plan; say 'Hello.'",
        ],
    );
    assert_eq!(
        (run.code, &run.stdout[..]),
        (Some(0), "Hello.\n"),
        "{}",
        run.stderr
    );
    for expected in ["hm 1", "● edit", "+    println!(\"new\");", "○ ", "thread "] {
        assert!(
            run.stderr.contains(expected),
            "{expected:?} is missing: {}",
            run.stderr
        );
    }
    assert!(!run.stderr.contains('\u{1b}'), "colours are for terminals");
    let id = thread_of(&run.stderr);
    let again = acpd(&daemon.place, &["run", "--thread", &id, "cwd"]);
    let work = daemon.place.work().display().to_string();
    let start = daemon.place.data().join("start").display().to_string();
    assert_eq!(again.stdout, format!("session {work}, process {start}\n"));
    assert_eq!(thread_of(&again.stderr), id);
}

#[test]
fn lines_of_a_subagent_begin_with_its_name_and_are_no_part_of_the_answer() {
    let daemon = Daemon::start();
    let script = "subagent title=review id=r; say 'Found two.'; tool kind=edit; terminal echo hello; parent; say Done.";
    let run = acpd(&daemon.place, &["run", "--agent", "fake", script]);
    assert_eq!(
        (run.code, &run.stdout[..]),
        (Some(0), "Done.\n"),
        "{}",
        run.stderr
    );
    let shown = acpd(&daemon.place, &["show", &thread_of(&run.stderr)]);
    for expected in [
        "review │ Found two.",
        "review │ ● ",
        "review │ $ echo hello",
        "review │ hello\n",
    ] {
        for printed in [&run.stderr, &shown.stdout] {
            assert!(printed.contains(expected), "{expected:?} is missing: {printed}");
        }
    }
    assert!(shown.stdout.contains("\nDone.\n"), "{}", shown.stdout);
    // The agent does not name it again.
    let script = "subagent id=r silent=true; say 'Found three.'; parent; say Done.";
    let again = acpd(
        &daemon.place,
        &["run", "--thread", &thread_of(&run.stderr), script],
    );
    assert!(again.stderr.contains("review │ Found three."), "{}", again.stderr);
}

#[test]
fn a_subagent_that_works_on_after_the_turn_is_said() {
    let daemon = Daemon::start();
    let script = "subagent title=review id=r; tool kind=edit; parent working=true; say Done.";
    let run = acpd(&daemon.place, &["run", "--agent", "fake", script]);
    assert_eq!(
        (run.code, &run.stdout[..]),
        (Some(0), "Done.\n"),
        "{}",
        run.stderr
    );
    let id = thread_of(&run.stderr);
    assert!(
        run.stderr
            .contains("1 subagent is still at work; follow it: acpd attach "),
        "{}",
        run.stderr
    );
    let stopped = acpd(&daemon.place, &["interrupt", &id]);
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
}

#[test]
fn text_after_the_answer_to_the_prompt_is_printed() {
    // On a busy host the late text comes later.
    let daemon = Daemon::with("[limits]\nturn_tail_millis = 5000\n");
    let run = acpd(&daemon.place, &["run", "say the end is ne; late ms=1 text=ar"]);
    assert_eq!(
        (run.code, &run.stdout[..]),
        (Some(0), "the end is near\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn each_plan_is_printed_and_shown_until_it_is_removed() {
    let daemon = Daemon::start();
    let run = acpd(
        &daemon.place,
        &[
            "run",
            "plan-by-id id=a text='First step'; plan-by-id markdown id=b text='# The way' path=/w/way.md; \
             plan-by-id id=c text='No step'; plan-by-id remove id=c; say done",
        ],
    );
    assert_eq!((run.code, &run.stdout[..]), (Some(0), "done\n"), "{}", run.stderr);
    for line in ["○ First step", "○ Plan in /w/way.md", "│ # The way", "○ No step"] {
        assert!(
            run.stderr.lines().any(|printed| printed == line),
            "{line}: {}",
            run.stderr
        );
    }
    let shown = acpd(&daemon.place, &["show", &thread_of(&run.stderr)]);
    for (line, is) in [
        ("○ First step", true),
        ("│ # The way", true),
        ("○ No step", false),
    ] {
        assert_eq!(
            shown.stdout.lines().any(|printed| printed == line),
            is,
            "{line}: {}",
            shown.stdout
        );
    }
}

#[test]
fn a_tool_call_has_a_line_with_its_latest_title() {
    let daemon = Daemon::start();
    let run = acpd(
        &daemon.place,
        &[
            "run",
            "tool kind=execute title=Terminal then='printf hello'; tool kind=read title=Read status=failed; say done",
        ],
    );
    assert_eq!((run.code, &run.stdout[..]), (Some(0), "done\n"), "{}", run.stderr);
    let count = |line: &str| run.stderr.lines().filter(|printed| *printed == line).count();
    for line in [
        "● printf hello (execute)",
        "● Read (read)",
        "✗ failed: Read (read)",
    ] {
        assert_eq!(count(line), 1, "{line}: {}", run.stderr);
    }
}

#[test]
fn notes_about_the_protocol_are_for_those_who_ask_for_them() {
    let daemon = Daemon::with("[policy]\ndeny = [\"Write(/etc/**)\"]\n");
    let prompt = "dup; ext; write path=/etc/x text=x; notice";
    let protocol = ["opened the same tool call twice", "_example.com/ask"];
    for (args, shown) in [
        (&["run", prompt][..], false),
        (&["run", "--verbose", prompt], true),
        (&["run", "-v", prompt], true),
    ] {
        let run = acpd(&daemon.place, args);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        for note in protocol {
            assert_eq!(run.stderr.contains(note), shown, "{note}: {}", run.stderr);
        }
        // Refusals by the policy and the agent's messages to users are always printed.
        for note in ["fs/write_text_file and was refused", "warning: "] {
            assert!(run.stderr.contains(note), "{note}: {}", run.stderr);
        }
    }
}

#[test]
fn a_command_is_shown_as_a_shell_would_take_it() {
    let daemon = Daemon::start();
    let run = acpd(&daemon.place, &["run", "terminal sh -c \"cd . && printf 'a b'\""]);
    let line = r"$ sh -c 'cd . && printf '\''a b'\'''";
    assert!(run.stderr.lines().any(|shown| shown == line), "{}", run.stderr);
    let shown = acpd(&daemon.place, &["show", &thread_of(&run.stderr)]);
    assert!(
        shown.stdout.lines().any(|shown| shown == line),
        "{}",
        shown.stdout
    );
}

#[test]
fn jsonl_is_the_protocol_line_by_line() {
    let daemon = Daemon::start();
    let run = acpd(&daemon.place, &["run", "--json", "stream n=3"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let lines: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["method"], "thread/started");
    assert_eq!(lines.last().unwrap()["method"], "turn/completed");
    for (at, line) in lines.iter().enumerate() {
        assert_eq!(
            (&line["jsonrpc"], &line["params"]["seq"]),
            (&json!("2.0"), &json!(at + 1))
        );
    }
}

#[test]
fn the_exit_code_says_how_the_turn_ended() {
    let daemon = Daemon::start();
    for (prompt, code, told) in [
        ("say fine", 0, ""),
        ("error message='no more'", 1, "acpd: the turn failed: "),
        ("crash", 1, "exited with code 3"),
        ("stop reason=refusal", 3, "acpd: the agent refused: "),
        (
            "stop reason=max_tokens",
            4,
            "acpd: the turn reached a limit: max_tokens",
        ),
        ("stop reason=max_turn_requests", 4, "max_turn_requests"),
        ("stop reason=cancelled", 130, "acpd: the turn was interrupted: "),
    ] {
        let run = acpd(&daemon.place, &["run", prompt]);
        assert_eq!(run.code, Some(code), "{prompt}: {}", run.stderr);
        assert!(run.stderr.contains(told), "{prompt}: {}", run.stderr);
    }
}

#[test]
fn ctrl_c_interrupts_the_turn_and_waits_for_its_end() {
    let daemon = Daemon::start();
    let run = Running::start(&mut daemon.place.command(&["run", "say begun; latecancel"]));
    run.wait_for_error("work");
    signal(run.pid(), Signal::INT);
    let run = run.finish();
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    assert!(
        run.stdout.starts_with("begun") && run.stdout.contains("winding down"),
        "{}",
        run.stdout
    );
    assert!(run.stderr.contains("interrupting"), "{}", run.stderr);
}

#[test]
fn a_second_ctrl_c_leaves_the_turn_to_the_daemon() {
    let daemon = Daemon::start();
    let run = Running::start(&mut daemon.place.command(&["run", "say begun; stubborn ms=600000"]));
    run.wait_for_error("work");
    signal(run.pid(), Signal::INT);
    run.wait_for_error("interrupting");
    signal(run.pid(), Signal::INT);
    let run = run.finish();
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    assert!(
        run.stderr.contains("the turn keeps running in the daemon"),
        "{}",
        run.stderr
    );
    let listed = Client::new(&daemon).call("thread/list", &json!({}));
    assert_eq!(listed["data"][0]["status"], "running");
}

#[test]
fn permissions_are_granted_or_denied_by_the_flag() {
    let daemon = Daemon::start();
    for (how, said) in [
        ("allow", "allowed (allow_once)\n"),
        ("deny", "rejected (reject_once)\n"),
    ] {
        let run = acpd(
            &daemon.place,
            &["run", "--permissions", how, "permission kind=edit"],
        );
        assert_eq!((run.code, &run.stdout[..]), (Some(0), said), "{}", run.stderr);
    }
}

#[test]
fn without_a_terminal_nothing_is_allowed_and_that_is_reported() {
    let daemon = Daemon::start();
    let run = outcome(&mut without_terminal(
        &daemon.place.command(&["run", "permission"]),
    ));
    assert_eq!(
        (run.code, &run.stdout[..]),
        (Some(8), "rejected (reject_once)\n"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("no terminal to ask on"), "{}", run.stderr);
}

#[test]
fn on_a_terminal_a_key_decides() {
    let daemon = Daemon::start();
    let mut run = Running::start(&mut on_terminal(
        &daemon
            .place
            .command(&["run", "permission command=\"rm -r x\"; permission"]),
    ));
    run.wait_for_output("Your choice [1-4]: ");
    // An invalid choice is asked again.
    run.write("9\n");
    run.wait_for_output("9\r\n\"9\" is not an option. Your choice [1-4]: ");
    run.write("1\n");
    run.wait_for_output("allowed (allow_once)");
    run.wait_for_output("$ echo hi\r\n    in /");
    run.write("3\n");
    run.wait_for_output("rejected (reject_once)");
    let run = run.finish();
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    for expected in [
        "The agent asks for permission:",
        "$ rm -r x",
        "1) Allow",
        "4) Reject this command in ",
    ] {
        assert!(run.stdout.contains(expected), "{expected}: {}", run.stdout);
    }
}

#[test]
fn on_a_terminal_a_name_does_not_hide_what_an_option_does() {
    let daemon = Daemon::start();
    let mut run = Running::start(&mut on_terminal(
        &daemon
            .place
            .command(&["run", "permission yes=No no=Yes; permission same=true"]),
    ));
    run.wait_for_output("1) Allow once: “No”\r\n");
    run.wait_for_output("3) Reject: “Yes”\r\n");
    run.wait_for_output("Your choice [1-4]: ");
    run.write("3\n");
    run.wait_for_output("rejected (reject_once)");
    // acpd does not ask if an answer would be ambiguous.
    run.wait_for_output("two options have the optionId");
    let run = run.finish();
    assert_eq!(run.stdout.matches("Your choice").count(), 1, "{}", run.stdout);
}

#[test]
fn the_prompt_warns_that_the_agent_may_remember_the_answer() {
    let daemon = Daemon::start();
    let note = "(the agent may remember this answer itself)";
    for (command, marked) in [(r#""$TOOL --all""#, true), (r#""make all""#, false)] {
        let prompt = format!("permission command={command}");
        let mut run = Running::start(&mut on_terminal(&daemon.place.command(&["run", &prompt])));
        run.wait_for_output("Your choice [1-4]: ");
        run.write("2\n");
        let run = run.finish();
        for option in ["2) ", "4) "] {
            let line = run.stdout.lines().find(|line| line.contains(option)).unwrap();
            assert_eq!(line.contains(note), marked, "{}", run.stdout);
        }
        assert!(
            !run.stdout
                .lines()
                .any(|line| line.contains("1) ") && line.contains(note))
        );
        // If acpd remembers the answer, it sends the agent a single approval.
        let told = if marked { "allow_always" } else { "allow_once" };
        assert!(
            run.stdout.contains(&format!("allowed ({told})")),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn ctrl_c_works_while_a_question_is_on_the_screen() {
    let daemon = Daemon::start();
    let mut run = Running::start(&mut on_terminal(&daemon.place.command(&["run", "permission"])));
    run.wait_for_output("Your choice [1-4]: ");
    run.write("\u{3}");
    run.wait_for_output("interrupted");
    let run = run.finish();
    assert_eq!(run.code, Some(130), "{}", run.stdout);
}

#[test]
fn a_question_answered_by_another_client_leaves_the_screen() {
    let daemon = Daemon::start();
    let mut run = Running::start(&mut on_terminal(
        &daemon
            .place
            .command(&["run", "permission; permission command=second"]),
    ));
    run.wait_for_output("Your choice [1-4]: ");
    let mut other = Client::new(&daemon);
    let listed = other.call("thread/list", &json!({}));
    let thread = listed["data"][0]["id"].as_str().unwrap().to_owned();
    other.resume(&thread, 0);
    let question = other.question();
    other.respond(
        &question,
        &json!({ "decision": "accept", "optionId": "allow_always" }),
    );
    run.wait_for_output("allowed (allow_once)");
    // This terminal shows the next question again.
    run.wait_for_output("$ second");
    run.write("4\n");
    run.wait_for_output("rejected (reject_once)");
    assert_eq!(run.finish().code, Some(0));
}

#[test]
fn a_question_that_is_open_already_is_answered_once() {
    let daemon = Daemon::start();
    let left = acpd(&daemon.place, &["run", "--detach", "permission kind=edit"]);
    assert_eq!(left.code, Some(0), "{}", left.stderr);
    let id = left.stdout.trim_end();
    let mut other = Client::new(&daemon);
    other.resume(id, 0);
    let question = other.question();
    let run = acpd(
        &daemon.place,
        &["run", "-t", id, "--json", "--permissions", "allow", "say next"],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let lines = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let asked = lines.filter(|line| line["params"]["requestId"] == question.params["requestId"]);
    let methods: Vec<String> = asked
        .map(|line| line["method"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(methods, [question.method.as_str(), "serverRequest/resolved"]);
}

#[test]
fn a_form_is_filled_in_on_a_terminal() {
    let daemon = Daemon::start();
    let mut run = Running::start(&mut on_terminal(&daemon.place.command(&[
        "run",
        "--permissions",
        "deny",
        "elicit",
    ])));
    run.wait_for_output("The agent wants to know: Who are you?");
    run.wait_for_output("age (a whole number, at least 0; optional): ");
    // An invalid value is reported, and asked again.
    run.write("-1\n");
    run.wait_for_output("This takes at least 0.\r\nage (a whole number, at least 0; optional): ");
    run.write("36\n");
    run.wait_for_output("  1) red\r\n  2) green\r\nColour (1-2; optional): ");
    run.write("2\n");
    run.wait_for_output("Name (at least 1 characters; required): ");
    run.write("Ada\n");
    run.wait_for_output("sure (y/n; default y): ");
    run.write("\n");
    let run = run.finish();
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    let said = r#"elicited accept: {"age":36,"colour":"green","name":"Ada","sure":true}"#;
    assert!(run.stdout.contains(said), "{}", run.stdout);
}

#[test]
fn a_form_is_refused_by_an_end_of_input_or_without_what_it_requires() {
    let daemon = Daemon::start();
    for (prompts, last) in [
        (&["age ("][..], "\u{4}"),
        (&["age (", "Colour (", "Name ("], "\n"),
    ] {
        let mut run = Running::start(&mut on_terminal(
            &daemon.place.command(&["run", "elicit; say later"]),
        ));
        for prompt in &prompts[..prompts.len() - 1] {
            run.wait_for_output(prompt);
            run.write("\n");
        }
        run.wait_for_output(prompts[prompts.len() - 1]);
        run.write(last);
        run.wait_for_output("later");
        let run = run.finish();
        assert_eq!(run.code, Some(0), "{}", run.stdout);
        for said in ["The question is dismissed.", "elicited decline"] {
            assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
        }
    }
}

#[test]
fn an_address_is_shown_and_gone_to_only_by_consent() {
    let daemon = Daemon::start();
    for (key, said) in [("y\n", "elicited accept"), ("n\n", "elicited decline")] {
        let mut run = Running::start(&mut on_terminal(&daemon.place.command(&["run", "elicit url"])));
        run.wait_for_output("The agent wants to know: Sign in first");
        run.wait_for_output("  https://example.com/sign-in\r\n");
        run.wait_for_output("Continue? (y/n): ");
        run.write(key);
        let run = run.finish();
        assert_eq!(run.code, Some(0), "{}", run.stdout);
        assert!(run.stdout.contains(said), "{}", run.stdout);
    }
}

#[test]
fn without_a_terminal_a_question_is_dismissed_and_that_is_said() {
    let daemon = Daemon::start();
    for how in ["ask", "allow"] {
        let run = outcome(&mut without_terminal(&daemon.place.command(&[
            "run",
            "--permissions",
            how,
            "elicit",
        ])));
        assert_eq!(
            (run.code, &run.stdout[..]),
            (Some(8), "elicited decline\n"),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr
                .contains("\"Who are you?\": dismissed, since there is no terminal to ask on"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn a_form_answered_by_another_client_leaves_the_screen() {
    let daemon = Daemon::start();
    let mut run = Running::start(&mut on_terminal(
        &daemon.place.command(&["run", "elicit; permission"]),
    ));
    run.wait_for_output("age (");
    run.write("36\n");
    run.wait_for_output("Colour (");
    let mut other = Client::new(&daemon);
    let listed = other.call("thread/list", &json!({}));
    let thread = listed["data"][0]["id"].as_str().unwrap().to_owned();
    other.resume(&thread, 0);
    let question = other.question();
    assert_eq!(
        (&question.params["mode"], &question.params["schema"]["required"]),
        (&json!("form"), &json!(["name"]))
    );
    let request = &question.params["requestId"];
    other.call(
        "item/answer",
        &json!({ "requestId": request, "answers": { "name": "Bo" } }),
    );
    run.wait_for_output("the question is no longer open");
    run.wait_for_output(r#"elicited accept: {"name":"Bo"}"#);
    // This terminal shows the next question again.
    run.wait_for_output("Your choice [1-4]: ");
    run.write("1\n");
    run.wait_for_output("allowed (allow_once)");
    assert_eq!(run.finish().code, Some(0));
}

#[test]
fn output_that_is_left_out_is_spoken_of() {
    let daemon = Daemon::start();
    // Too much output for any host to show without skipping before the test times out.
    let run = acpd(&daemon.place, &["run", "terminal head -c 20000000 /dev/zero"]);
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    assert!(
        run.stderr.contains(" bytes are not shown]\n"),
        "{} bytes, none left out",
        run.stderr.len()
    );
}

#[test]
fn a_prompt_comes_from_standard_input() {
    let daemon = Daemon::start();
    let run = outcome_with_input(&mut daemon.place.command(&["run", "-"]), "say 'from a pipe'\n");
    assert_eq!(
        (run.code, &run.stdout[..]),
        (Some(0), "from a pipe\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_reader_that_has_seen_enough_does_no_harm() {
    let daemon = Daemon::start();
    let prompt = "stream n=50 ms=1; think n=1; say x";
    for args in [&["run", prompt][..], &["run", "--json", prompt]] {
        let left = unread(&mut daemon.place.command(args));
        assert_eq!(left.code, Some(0), "{args:?}: {}", left.stderr);
        assert!(!left.stderr.contains("panicked"), "{args:?}: {}", left.stderr);
    }
}

#[test]
fn unrunnable_prompts_are_explained() {
    let daemon = Daemon::with("[agents.other]\ncommand = \"/no/such/agent\"\n");
    for (args, code, told) in [
        (
            &["run", "--agent", "nope", "x"][..],
            5,
            "agent \"nope\" does not exist",
        ),
        (&["run", "--agent", "nope", "x"], 5, "fake, other"),
        (&["run", "x"], 1, "name one with --agent: fake, other"),
        (&["run", "--agent", "other", "x"], 1, "/no/such/agent"),
        (
            &["run", "--agent", "fake", "--cwd", "/no/such/dir", "x"],
            2,
            "directory not found: /no/such/dir",
        ),
        (
            &["run", "--thread", "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4", "x"],
            5,
            "does not exist",
        ),
        (&["run", "--agent", "fake", ""], 2, "the prompt is empty"),
    ] {
        let run = acpd(&daemon.place, args);
        assert_eq!(
            (run.code, &run.stdout[..]),
            (Some(code), ""),
            "{args:?}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(told), "{args:?}: {}", run.stderr);
        assert!(run.stderr.starts_with("acpd: "), "{}", run.stderr);
    }
}

#[test]
fn agent_text_is_never_raw_on_a_terminal() {
    let hostile = "\u{1b}]0;PWNED\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{61c}\u{7f}";
    let raw = |text: &str| {
        let mut raw = text.chars().filter(|c| !"\n\t".contains(*c));
        raw.any(|c| c.is_control() || "\u{61c}\u{202e}".contains(c))
    };
    let daemon = Daemon::with(
        r#"[agents.dies]
command = "sh"
args = ["-c", 'printf "\033]0;PWNED\007\033[2J\302\2332J\342\200\256\n" >&2; exit 3']
"#,
    );
    let dies = acpd(&daemon.place, &["run", "--agent", "dies", "hello"]);
    assert_eq!(dies.code, Some(1), "{dies:?}");
    assert!(
        dies.stderr.contains("PWNED") && !raw(&dies.stderr),
        "{:?}",
        dies.stderr
    );
    let prompt = format!("title 'a{hostile}b'; say 'find{hostile}me'; stderr 'c{hostile}d'; crash");
    let run = acpd(&daemon.place, &["run", "--agent", "fake", &prompt]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(!raw(&run.stderr), "{:?}", run.stderr);
    assert!(
        run.stdout.contains("PWNED") && !raw(&run.stdout),
        "{:?}",
        run.stdout
    );
    let id = &thread_of(&run.stderr)[..];
    for args in [
        &["threads", "--json"][..],
        &["show", id, "--json"],
        &["search", "find", "--json"],
        &["export", id, "--format", "jsonl"],
        &["run", "--agent", "fake", "--json", &prompt],
    ] {
        let printed = acpd(&daemon.place, args);
        assert!(printed.stdout.contains("PWNED"), "{args:?}: {printed:?}");
        assert!(
            !raw(&printed.stdout) && !raw(&printed.stderr),
            "{args:?}: {printed:?}"
        );
    }
}

/// Returns the current value of an option.
fn option(client: &mut Client, thread: &str, id: &str) -> Value {
    let read = client.call("thread/read", &json!({ "threadId": thread }));
    let options = read["thread"]["configOptions"]
        .as_array()
        .expect("it has options");
    let option = options.iter().find(|option| option["id"] == id);
    option.unwrap_or_else(|| panic!("no option {id}: {options:?}"))["currentValue"].clone()
}

#[test]
fn a_prompt_is_left_with_the_daemon() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let run = acpd(
        &daemon.place,
        &["run", "--agent", "fake", "--detach", "wait ms=60000"],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let id = run.stdout.trim_end();
    assert_eq!((id.len(), run.stdout.lines().count()), (36, 1), "{}", run.stdout);
    assert!(
        run.stderr
            .contains(&format!("started; follow it: acpd attach {}", &id[28..])),
        "{}",
        run.stderr
    );
    client.resume(id, 0);
    let queued = acpd(&daemon.place, &["run", "-d", "--json", "-t", id, "say second"]);
    assert_eq!(queued.code, Some(0), "{}", queued.stderr);
    let left: Value = serde_json::from_str(&queued.stdout).unwrap();
    assert_eq!(
        left,
        json!({ "threadId": id, "turnId": "turn_2", "status": "queued", "agentType": "fake" })
    );
    let quiet = acpd(&daemon.place, &["run", "-q", "-d", "-t", id, "say third"]);
    assert_eq!((quiet.stdout.trim_end(), &quiet.stderr[..]), (id, ""));
    assert_eq!(acpd(&daemon.place, &["interrupt", id]).code, Some(0));
    assert_eq!(client.finish(id, "turn_3").said(), "third");

    // What cannot begin is an error all the same.
    let nobody = acpd(&daemon.place, &["run", "-d", "--agent", "nope", "x"]);
    assert_eq!(
        (nobody.code, &nobody.stdout[..]),
        (Some(5), ""),
        "{}",
        nobody.stderr
    );
    let contradiction = acpd(&daemon.place, &["run", "-d", "-p", "allow", "x"]);
    assert_eq!(contradiction.code, Some(2), "{}", contradiction.stderr);
}

#[test]
fn a_new_thread_has_the_mode_the_model_and_the_options_that_the_user_names() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let run = acpd(
        &daemon.place,
        &[
            "run",
            "--agent",
            "fake",
            "-m",
            "fake LARGE",
            "--mode",
            "Code",
            "--set",
            "Verbose=on",
            "--policy",
            "Readonly",
            "say hi",
        ],
    );
    assert_eq!((run.code, &run.stdout[..]), (Some(0), "hi\n"), "{}", run.stderr);
    let id = thread_of(&run.stderr);
    assert_eq!(option(&mut client, &id, "model"), "fake-large");
    assert_eq!(option(&mut client, &id, "acpd.mode"), "code");
    assert_eq!(option(&mut client, &id, "verbose"), true);
    let read = client.call("thread/read", &json!({ "threadId": id }));
    assert_eq!(read["thread"]["policy"]["base"], "readonly", "{read}");
    assert_eq!(read["thread"]["turnCount"], 1);

    // Later prompts change them as well.
    let sent = acpd(&daemon.place, &["send", &id, "--mode", "ask", "say next"]);
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    assert_eq!(option(&mut client, &id, "acpd.mode"), "ask");
    let run = acpd(
        &daemon.place,
        &["run", "-t", &id, "--model", "fake-small", "say last"],
    );
    assert_eq!((run.code, &run.stdout[..]), (Some(0), "last\n"), "{}", run.stderr);
    assert_eq!(option(&mut client, &id, "model"), "fake-small");

    // A prompt that cannot take the place of another one while a turn runs changes nothing else.
    client.start(&id, "say deep; hang");
    let refused = acpd(
        &daemon.place,
        &["send", &id, "--replace", "1", "--mode", "code", "say instead"],
    );
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("a turn runs or is queued"),
        "{}",
        refused.stderr
    );
    assert_eq!(option(&mut client, &id, "acpd.mode"), "ask");
}

#[test]
fn the_agent_of_a_new_thread_has_the_instructions_that_the_user_gives() {
    let place = Place::new("");
    place.configure(&place.agent("fake", &["--pace", "0", "--system-prompt"], &[]));
    let daemon = Daemon::at(place);
    let file = daemon.place.work().join("house.md");
    std::fs::write(&file, "be brief").unwrap();
    let named = format!("@{}", file.display());
    for (args, said) in [
        (&["--system-prompt", "be kind"][..], "append: be kind\n"),
        (
            &["--system-prompt", &named, "--override-instructions"],
            "override: be brief\n",
        ),
    ] {
        let run = acpd(&daemon.place, &[&["run"], args, &["instructions"]].concat());
        assert_eq!((run.code, &run.stdout[..]), (Some(0), said), "{}", run.stderr);
    }
    for (args, said) in [
        (&["--system-prompt", " "][..], "the system prompt is empty"),
        (&["--system-prompt", "@/no/such/file"], "cannot be read"),
        (&["--override-instructions"], "--system-prompt"),
    ] {
        let run = acpd(&daemon.place, &[&["run"], args, &["say hi"]].concat());
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
}

#[test]
fn a_name_that_the_agent_does_not_know_lists_its_names_and_starts_nothing() {
    let daemon = Daemon::start();
    let more = daemon.place.work().display().to_string();
    for (args, said) in [
        (
            &["-m", "fake-lrage"][..],
            "did you mean \"fake-large\"? it offers fake-small (Fake Small), fake-large",
        ),
        (
            &["--mode", "plan"],
            "the agent has no mode \"plan\"; it offers ask (Ask), code (Code)",
        ),
        (
            &["--set", "effort=high"],
            "the agent has no option \"effort\"; it offers model (Model)",
        ),
        (&["--set", "effort"], "use --set NAME=VALUE"),
        (
            &["--policy", "lax"],
            "use one of permissive, standard, restricted, readonly",
        ),
        (
            &["--add-dir", "/no/such/dir"],
            "directory not found: /no/such/dir",
        ),
        (&["--attach", &more], "cannot be attached: it is not a file"),
    ] {
        let run = acpd(
            &daemon.place,
            &[&["run", "--agent", "fake"], args, &["say hi"]].concat(),
        );
        assert_eq!(
            (run.code, &run.stdout[..]),
            (Some(2), ""),
            "{args:?}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(said), "{args:?}: {}", run.stderr);
        assert_eq!(acpd(&daemon.place, &["threads", "--json"]).stdout, "", "{args:?}");
    }
}

#[test]
fn a_prompt_that_cannot_be_sent_leaves_no_configured_thread() {
    let daemon = Daemon::with("[limits]\nclient_message_bytes = 65536\n");
    let long = "x".repeat(70_000);
    let run = acpd(
        &daemon.place,
        &["run", "--agent", "fake", "--mode", "Code", &long],
    );
    assert_eq!((run.code, &run.stdout[..]), (Some(1), ""), "{}", run.stderr);
    assert!(run.stderr.contains("shorten the prompt"), "{}", run.stderr);
    assert_eq!(acpd(&daemon.place, &["threads", "--json"]).stdout, "");
    // A thread that was there before stays.
    let before = acpd(&daemon.place, &["run", "--agent", "fake", "say hi"]);
    let id = thread_of(&before.stderr);
    let run = acpd(&daemon.place, &["run", "-t", &id, "--mode", "Code", &long]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(acpd(&daemon.place, &["threads", "--json"]).stdout.contains(&id));
}

#[test]
fn files_go_along_with_a_prompt_within_the_limit_of_a_message() {
    let daemon = Daemon::with("[limits]\nclient_message_bytes = 65536\n");
    let mut client = Client::new(&daemon);
    let place = |name: &str| daemon.place.work().join(name).display().to_string();
    std::fs::write(place("a b.txt"), "from a file").unwrap();
    std::fs::write(place("p.png"), b"\x89PNG\r\n\x1a\nrest").unwrap();
    std::fs::write(place("large.txt"), "a".repeat(70_000)).unwrap();
    let (text, picture) = (place("a b.txt"), place("p.png"));
    let run = acpd(
        &daemon.place,
        &[
            "run", "--agent", "fake", "--attach", &text, "--attach", &picture, "say seen",
        ],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let id = thread_of(&run.stderr);
    let read = client.call(
        "thread/read",
        &json!({ "threadId": id, "includeTurns": true, "limit": 1 }),
    );
    let prompt = read["thread"]["turns"][0]["items"][0].to_string();
    for part in ["attachment:///a%20b.txt", "from a file", "image/png"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
}

#[test]
fn a_file_that_no_message_has_room_for_is_a_file_for_the_agent() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let place = |name: &str| daemon.place.work().join(name).display().to_string();
    std::fs::write(place("large.txt"), "a".repeat(3 << 20)).unwrap();
    std::fs::write(place("small.txt"), "from a file").unwrap();
    let (large, small) = (place("large.txt"), place("small.txt"));
    let input_of = |client: &mut Client, id: &str| {
        let params = json!({ "threadId": id, "includeTurns": true, "limit": 1 });
        let read = client.call("thread/read", &params);
        read["thread"]["turns"][0]["items"][0]["content"].clone()
    };
    let attached = ["--attach", &large, "--attach", &small];
    let run = [&["run", "--agent", "fake"][..], &attached, &["say seen"]].concat();
    let run = acpd(&daemon.place, &run);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let id = thread_of(&run.stderr);
    let input = input_of(&mut client, &id).to_string();
    for part in [
        "resource_link",
        "large.txt",
        "3145728",
        "text/plain",
        "from a file",
    ] {
        assert!(input.contains(part), "{part}: {input}");
    }
    assert!(input.len() < 10_000, "{}", input.len());
    let sent = [&["send", &id][..], &attached, &["say again"]].concat();
    let sent = acpd(&daemon.place, &sent);
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    // What cannot be attached starts no thread.
    let threads = || acpd(&daemon.place, &["threads", "--json"]).stdout.lines().count();
    let before = threads();
    let huge = std::fs::File::create(place("huge")).unwrap();
    huge.set_len((50 << 20) + 1).unwrap();
    let run = acpd(
        &daemon.place,
        &["run", "--agent", "fake", "--attach", &place("huge"), "x"],
    );
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("50 MiB are possible"), "{}", run.stderr);
    assert_eq!(threads(), before);
}

#[test]
fn a_directory_that_is_a_file_is_a_wrong_argument() {
    let daemon = Daemon::start();
    let file = daemon.place.work().join("file");
    std::fs::write(&file, "").unwrap();
    let run = acpd(&daemon.place, &["run", "-C", &file.display().to_string(), "x"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("not a directory"), "{}", run.stderr);
}
