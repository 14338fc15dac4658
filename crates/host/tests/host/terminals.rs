//! Commands on terminals: arguments stay separate, the end of the output is kept, and nothing outlives a kill.

#![allow(clippy::unwrap_used, reason = "what helps a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use acpd_host::{Exit, InputKind, Program, Terminal, TerminalSpec, TerminalUpdate, Walk};
use tokio::sync::mpsc;

use crate::support::{self, descriptors, shell, token, until, with_token};

type Updates = mpsc::Receiver<TerminalUpdate>;

fn run(program: Program, output_bytes: usize) -> (Terminal, Updates) {
    let (updates, updated) = mpsc::channel(4);
    let spec = TerminalSpec {
        program,
        directory: None,
        output_bytes,
    };
    (Terminal::spawn(&spec, updates).unwrap(), updated)
}

fn sh(script: &str, output_bytes: usize) -> (Terminal, Updates) {
    run(shell(script, &token(), &std::env::temp_dir()), output_bytes)
}

fn code(code: i32) -> Exit {
    Exit {
        code: Some(code),
        signal: None,
    }
}

fn signal(name: &str) -> Exit {
    Exit {
        code: None,
        signal: Some(name.into()),
    }
}

/// Returns all output of a script.
async fn output_of(script: &str) -> String {
    let (terminal, _updated) = sh(script, 1 << 20);
    terminal.wait().await;
    terminal.output().0
}

/// Returns all live output, and the last update, which must be the exit.
async fn listen(mut updated: Updates) -> (String, TerminalUpdate) {
    let mut text = String::new();
    loop {
        match updated.recv().await.expect("the exit is told") {
            TerminalUpdate::Output(more) => text += &more,
            TerminalUpdate::Waiting(_) | TerminalUpdate::InputEnded => {}
            exit @ TerminalUpdate::Exited { .. } => {
                assert_eq!(updated.recv().await, None);
                return (text, exit);
            }
        }
    }
}

async fn until_output(terminal: &Terminal, wanted: &str) {
    while !terminal.output().0.contains(wanted) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn arguments_are_never_a_shell_line() {
    let here = tempfile::tempdir().unwrap();
    let mut program = shell("", "", here.path());
    program.command = "printf".into();
    program.args = [
        "%s|",
        "$(touch made)",
        "; touch made",
        "a b",
        "",
        "*",
        "'\"`touch made`",
        "é\n",
    ]
    .map(str::to_owned)
    .into();
    let (terminal, _updated) = run(program.clone(), 1000);
    assert_eq!(terminal.wait().await, code(0));
    let (output, truncated, _) = terminal.output();
    assert_eq!(output, "$(touch made)|; touch made|a b||*|'\"`touch made`|é\r\n|");
    assert!(!truncated);
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0);

    program.command = "sh -c 'touch made'".into();
    let (updates, _updated) = mpsc::channel(1);
    let spec = TerminalSpec {
        program,
        directory: None,
        output_bytes: 1000,
    };
    let refused = Terminal::spawn(&spec, updates).unwrap_err();
    assert_eq!(refused.code, acpd_model::ErrorCode::InvalidParams);
    assert_eq!(
        refused.message,
        "the command failed to start: the program \"sh -c 'touch made'\" was not found"
    );
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_command_starts_in_the_directory_that_was_checked() {
    let here = tempfile::tempdir().unwrap();
    let root = here.path().canonicalize().unwrap();
    let [work, moved, outside] = ["work", "moved", "outside"].map(|name| root.join(name));
    for made in [&work, &outside] {
        std::fs::create_dir(made).unwrap();
    }
    let directory = Some(Arc::new(Walk::along(&work).unwrap()));
    std::fs::rename(&work, &moved).unwrap();
    std::os::unix::fs::symlink(&outside, &work).unwrap();
    let (updates, _updated) = mpsc::channel(4);
    let spec = TerminalSpec {
        program: shell("pwd -P", &token(), &work),
        directory,
        output_bytes: 1000,
    };
    let terminal = Terminal::spawn(&spec, updates).unwrap();
    assert_eq!(terminal.wait().await, code(0));
    assert_eq!(terminal.output().0.trim_end(), moved.display().to_string());
}

#[tokio::test]
async fn the_end_is_kept_and_cut_between_characters() {
    let (terminal, updated) = sh("printf 'one é😀two'", 6);
    assert_eq!(terminal.wait().await, code(0));
    // The limit is in the middle of the fourth-to-last character.
    let expected = ("two".to_owned(), true, Some(code(0)));
    assert_eq!(terminal.output(), expected);
    let (live, exit) = listen(updated).await;
    assert!("one é😀two".ends_with(&live), "{live}");
    let reported = TerminalUpdate::Exited {
        exit: code(0),
        output: "two".into(),
        truncated: true,
    };
    assert_eq!(exit, reported);

    let (terminal, updated) = sh("printf 'one é😀two'", 14);
    assert_eq!(terminal.wait().await, code(0));
    let expected = ("one é😀two".to_owned(), false, Some(code(0)));
    assert_eq!(terminal.output(), expected);
    assert_eq!(listen(updated).await.0, "one é😀two");
}

#[tokio::test]
async fn a_character_that_comes_in_parts_is_shown_when_it_is_whole() {
    let here = tempfile::tempdir().unwrap();
    let script = "printf 'a\\303'; until [ -e go ]; do sleep 0.01; done; printf '\\251b\\303'";
    let (terminal, updated) = run(shell(script, &token(), here.path()), 100);
    until_output(&terminal, "a").await;
    assert_eq!(terminal.output().0, "a");
    std::fs::write(here.path().join("go"), "").unwrap();
    terminal.wait().await;
    assert_eq!(terminal.output().0, "aéb\u{fffd}");
    assert_eq!(listen(updated).await.0, "aéb\u{fffd}");
}

#[tokio::test]
async fn all_output_arrives_before_the_exit() {
    for _ in 0..20 {
        let (terminal, updated) = sh("seq 20000; exit 3", 1 << 20);
        let heard = tokio::spawn(listen(updated));
        assert_eq!(terminal.wait().await, code(3));
        let all: String = (1..=20_000).map(|number| format!("{number}\r\n")).collect();
        assert!(terminal.output() == (all.clone(), false, Some(code(3))));
        let (live, exit) = heard.await.unwrap();
        assert!(live == all, "nothing is dropped while it is kept");
        assert!(matches!(exit, TerminalUpdate::Exited { output, .. } if output == all));
    }
}

#[tokio::test]
async fn it_is_a_terminal_of_its_own() {
    let looks = "for fd in 0 1 2; do test -t $fd || echo not $fd; done; stty size; tty; echo $TERM
        [ $(ps -o sid= -p $$) = $$ ] && [ $(ps -o tpgid= -p $$) = $$ ] && echo leads
        : > /dev/tty && echo controls";
    let mut program = shell(looks, "", &std::env::temp_dir());
    program.env.insert("TERM".into(), acpd_host::TERMINAL_TYPE.into());
    let (terminal, _updated) = run(program, 1000);
    terminal.wait().await;
    let output = terminal.output().0;
    let lines: Vec<_> = output.lines().collect();
    assert_eq!(lines.len(), 5, "{output}");
    assert_eq!((lines[0], lines[2]), ("30 120", "xterm-256color"));
    assert!(lines[1].starts_with("/dev/pts/"));
    assert_eq!(lines[3..], ["leads", "controls"]);
}

#[tokio::test]
async fn a_command_that_reads_gets_end_of_input_that_is_not_echoed() {
    assert_eq!(
        output_of("cat; cat; read line || echo none; cat < /dev/tty; echo done").await,
        "none\r\ndone\r\n"
    );
}

#[tokio::test]
async fn kill_reaches_detached_processes_and_the_output_is_kept() {
    let script = r#"trap "" TERM; sleep $0 & setsid sleep $0 & (env -i setsid sleep $0 &); echo up; while :; do sleep 0.01; done"#;
    let (terminal, _updated) = sh(script, 1000);
    until_output(&terminal, "up").await;
    until("all are up", || with_token(&token()).len() >= 4).await;
    terminal.kill().await;
    terminal.kill().await;
    assert_eq!(terminal.wait().await, signal("SIGKILL"));
    assert_eq!(
        terminal.output(),
        ("up\r\n".into(), false, Some(signal("SIGKILL")))
    );
    terminal.release().await;
    assert_eq!(with_token(&token()), [0; 0]);
    terminal.kill().await;
    terminal.release().await;
    assert_eq!(terminal.output().0, "up\r\n");
}

#[tokio::test]
async fn a_kill_may_be_answered() {
    let (terminal, _updated) = sh("trap 'echo bye; exit 5' TERM; echo up; while :; do :; done", 1000);
    until_output(&terminal, "up").await;
    terminal.kill().await;
    assert_eq!(terminal.wait().await, code(5));
    assert_eq!(terminal.output().0, "up\r\nbye\r\n");
}

#[tokio::test]
async fn a_child_that_holds_the_terminal_does_not_hold_the_exit() {
    let (terminal, _updated) = sh(
        "(trap '' HUP TERM; sleep $0) & trap '' HUP; (setsid sleep $0 &); echo up",
        1000,
    );
    assert_eq!(terminal.wait().await, code(0));
    let output = terminal.output().0;
    assert!(output.starts_with("up\r\n[acpd: ended with "), "{output}");
    terminal.release().await;
    assert_eq!(with_token(&token()), [0; 0]);
}

#[tokio::test]
async fn background_processes_may_write_their_last_lines() {
    // It waits until the shell has ended, which has not been waited for yet.
    let script = r#"(while read -r _ _ state _ < /proc/$$/stat && [ "$state" != Z ]; do :; done; echo late) & echo early"#;
    let output = output_of(script).await;
    assert!(output.starts_with("early\r\nlate\r\n"), "{output}");
}

#[tokio::test]
async fn the_output_says_that_processes_were_ended_with_the_command() {
    let (terminal, updated) = sh("setsid sleep $0 > /dev/null 2>&1 < /dev/null & printf up", 1000);
    let (live, exit) = listen(updated).await;
    let TerminalUpdate::Exited { output, .. } = exit else {
        panic!("{exit:?}");
    };
    assert!(
        output.starts_with("up\r\n[acpd: ended with 1 process that the command left running; "),
        "{output}"
    );
    assert_eq!((&*live, &*terminal.output().0), (&*output, &*output));
    assert_eq!(terminal.wait().await, code(0));
    terminal.release().await;
    assert_eq!(with_token(&token()), [0; 0]);
    assert_eq!(output_of("echo alone").await, "alone\r\n");
}

/// Runs a script of Python that discards the queued input first.
fn discards_input(script: &str) -> (Terminal, Updates) {
    let mut program = shell("", "", &std::env::temp_dir());
    program.command = "python3".into();
    let script =
        format!("import getpass, sys, termios, time, tty\ntermios.tcflush(0, termios.TCIFLUSH)\n{script}");
    program.args = vec!["-c".into(), script];
    run(program, 1000)
}

/// Runs to the end of the future. Time that is paused stands still meanwhile.
async fn at_once<T>(future: impl Future<Output = T>) -> T {
    let others = async {
        loop {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        done = future => done,
        () = others => unreachable!("it never ends"),
    }
}

/// Waits until the command has asked, and then been silent for long.
async fn until_it_waits(terminal: &Terminal, updated: &mut Updates, asked: &str) -> InputKind {
    at_once(async {
        until_output(terminal, asked).await;
        loop {
            match updated.try_recv() {
                Ok(TerminalUpdate::Waiting(kind)) => return kind,
                Ok(_) => {}
                Err(_) => tokio::time::advance(Duration::from_millis(10)).await,
            }
        }
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_command_that_discards_its_input_waits_and_gets_another_end_of_input() {
    let (terminal, mut updated) =
        discards_input("print('?', flush=True)\nprint('got', repr(sys.stdin.readline()))");
    until_it_waits(&terminal, &mut updated, "?").await;
    let waited = tokio::time::Instant::now();
    let note = "[acpd: the command has been silent and may wait for input; it gets an end of input]";
    at_once(async {
        while updated.try_recv() != Ok(TerminalUpdate::InputEnded) {
            tokio::time::advance(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert!(waited.elapsed() >= Duration::from_secs(50), "a user has a minute");
    // On a busy host, time that is paused would jump over the drain.
    tokio::time::resume();
    assert_eq!(terminal.wait().await, code(0));
    let output = terminal.output().0;
    assert!(
        output.contains(note) && output.ends_with("got ''\r\n"),
        "{output}"
    );
}

#[tokio::test(start_paused = true)]
async fn typed_input_arrives_and_only_the_program_controls_the_echo() {
    let script = "print('name?', flush=True)\n\
                  name = sys.stdin.readline()\n\
                  secret = getpass.getpass('secret? ')\n\
                  print('more?', flush=True)\n\
                  print(repr(name), repr(secret), repr(sys.stdin.readline()))\n";
    let (terminal, mut updated) = discards_input(script);
    let kind = until_it_waits(&terminal, &mut updated, "name?").await;
    assert_eq!(kind, InputKind::Text);
    at_once(terminal.type_in("Ada\n".into())).await.unwrap();
    let kind = until_it_waits(&terminal, &mut updated, "secret? ").await;
    assert_eq!(kind, InputKind::Secret);
    at_once(terminal.type_in("hush\n".into())).await.unwrap();
    until_it_waits(&terminal, &mut updated, "more?").await;
    at_once(terminal.type_in("\u{4}".into())).await.unwrap();
    tokio::time::resume();
    assert_eq!(terminal.wait().await, code(0));
    let output = terminal.output().0;
    assert_eq!(
        output,
        "name?\r\nAda\r\nsecret? \r\nmore?\r\n'Ada\\n' 'hush' ''\r\n"
    );
    let refused = terminal.type_in("late\n".into()).await.unwrap_err();
    assert_eq!(refused.message, "the command has ended");
}

#[tokio::test]
async fn a_user_types_instead_of_the_ends_of_input_and_can_interrupt() {
    let (terminal, mut updated) = sh("sleep 0.5; read line; echo got $line; exec sleep $0", 1000);
    terminal.type_in("yes\r".into()).await.unwrap();
    until_output(&terminal, "got yes").await;
    terminal.type_in("\u{3}".into()).await.unwrap();
    assert_eq!(terminal.wait().await, signal("SIGINT"));
    assert!(
        terminal.output().0.starts_with("yes\r\ngot yes\r\n^C"),
        "{:?}",
        terminal.output()
    );
    updated.close();
}

#[tokio::test]
async fn a_program_that_does_not_read_gets_no_more_than_fits() {
    let (terminal, _updated) = sh("stty raw; echo raw; exec sleep $0", 1000);
    until_output(&terminal, "raw").await;
    let refused = loop {
        if let Err(refused) = terminal.type_in("x".repeat(2048)).await {
            break refused;
        }
    };
    assert!(
        refused.message.starts_with("the command does not read its input"),
        "{refused}"
    );
    terminal.release().await;
}

#[tokio::test(start_paused = true)]
async fn a_program_in_raw_mode_waits_and_gets_no_end_of_input() {
    let script = "tty.setraw(0)\nprint('raw', flush=True)\nprint('key', repr(sys.stdin.read(1)))\n";
    let (terminal, mut updated) = discards_input(script);
    let kind = until_it_waits(&terminal, &mut updated, "raw").await;
    assert_eq!(kind, InputKind::Text);
    for _ in 0..20 {
        at_once(tokio::time::advance(Duration::from_secs(10))).await;
    }
    tokio::time::resume();
    terminal.type_in("q".into()).await.unwrap();
    assert_eq!(terminal.wait().await, code(0));
    let output = terminal.output().0;
    assert!(!output.contains("[acpd"), "{output}");
    assert!(output.ends_with("key 'q'\n"), "{:?}", terminal.output());
}

#[tokio::test]
async fn after_a_kill_descendants_that_ignore_it_may_write_only_for_a_moment() {
    let script = "(trap '' TERM; while :; do echo on; sleep 0.1; done) & exec sleep $0";
    let (terminal, _updated) = sh(script, 1000);
    until_output(&terminal, "on").await;
    let killed_at = std::time::Instant::now();
    terminal.kill().await;
    assert_eq!(terminal.wait().await, signal("SIGTERM"));
    assert!(killed_at.elapsed() < Duration::from_secs(3));
    until("all are gone", || with_token(&token()).is_empty()).await;
}

#[tokio::test]
async fn a_dropped_terminal_ends_and_its_exit_is_reported() {
    let before = descriptors();
    let (terminal, updated) = sh("setsid sleep $0 & echo up; sleep $0", 1000);
    until_output(&terminal, "up").await;
    drop(terminal);
    let (_, exit) = listen(updated).await;
    assert!(matches!(exit, TerminalUpdate::Exited { exit, .. } if exit == signal("SIGKILL")));
    until("all are gone", || with_token(&token()).is_empty()).await;
    until("all is closed", || descriptors() <= before + 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_output_costs_no_more_memory_than_is_kept() {
    const KEPT: usize = 1 << 20;
    // Without a receiver, the channel fills up, and nothing blocks.
    let (terminal, updated) = sh("yes 0123456789abcde | head -c 64M; echo; echo end", KEPT);
    for _ in 0..20 {
        let (output, _, _) = terminal.output();
        assert!(output.len() <= KEPT);
    }
    assert_eq!(terminal.wait().await, code(0));
    let (output, truncated, _) = terminal.output();
    assert!(truncated && output.ends_with("0123456789abcde\r\n\r\nend\r\n"));
    assert_eq!(output.len(), KEPT);
    assert!(peak_kib() < 64 << 10, "{} KiB", peak_kib());
    let (live, exit) = listen(updated).await;
    assert!(live.len() <= KEPT + 5 * (16 << 10), "{}", live.len());
    assert!(live.ends_with(&output[KEPT / 2..]));
    assert!(matches!(exit, TerminalUpdate::Exited { output: last, truncated: true, .. } if last == output));
}

/// Returns the peak memory use of this process.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[tokio::test]
async fn a_listener_that_is_gone_changes_nothing() {
    let (terminal, updated) = sh("seq 1000", 100);
    drop(updated);
    assert_eq!(terminal.wait().await, code(0));
    assert!(terminal.output().0.ends_with("999\r\n1000\r\n"));
}

#[tokio::test]
async fn a_limit_of_nothing_and_one_beyond_the_cap() {
    let (terminal, _updated) = sh("printf x", 0);
    terminal.wait().await;
    assert_eq!(terminal.output(), (String::new(), true, Some(code(0))));
    let (terminal, _updated) = sh("head -c 11M /dev/zero | tr '\\0' x", usize::MAX);
    terminal.wait().await;
    let (output, truncated, _) = terminal.output();
    assert_eq!((output.len(), truncated), (10 << 20, true));
}

/// Returns the number of threads that read a terminal.
fn readers() -> usize {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
    names.filter(|name| name.trim_end() == "terminal").count()
}

#[tokio::test]
async fn terminals_leave_no_descriptor_no_thread_and_no_process() {
    // The first one opens the descriptors that the runtime keeps.
    output_of("true").await;
    until("the first is gone", || support::own_children().is_empty()).await;
    let before = descriptors();
    assert_eq!(readers(), 0);
    for round in 0..40 {
        let (terminal, _updated) = sh("setsid sleep $0 & echo up; sleep $0", 1000);
        if round % 2 == 0 {
            until_output(&terminal, "up").await;
            assert_eq!(readers(), 1);
        }
        tokio::time::timeout(Duration::from_secs(30), terminal.release())
            .await
            .unwrap();
    }
    assert_eq!(with_token(&token()), [0; 0]);
    until("all is closed", || descriptors() == before).await;
    let mut program = shell("", "", &std::env::temp_dir());
    program.command = "no-such-program".into();
    for _ in 0..10 {
        let (updates, _updated) = mpsc::channel(1);
        let spec = TerminalSpec {
            program: program.clone(),
            directory: None,
            output_bytes: 1,
        };
        Terminal::spawn(&spec, updates).unwrap_err();
    }
    until("what was opened for them is closed", || descriptors() == before).await;
    until("nobody reads any more", || readers() == 0).await;
}
