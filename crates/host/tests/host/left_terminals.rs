//! Terminals outlive the daemon, whose other threads continue while one attaches: output, exit and the command are those of before, and a command runs once.

#![allow(clippy::unwrap_used, reason = "what helps a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use acpd_host::{
    Exit, Grants, Hold, Network, Program, Sandbox, Shims, Terminal, TerminalSpec, TerminalUpdate,
};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::support::{self, shell, shims, token, until, with_token};

type Updates = mpsc::Receiver<TerminalUpdate>;

const KEPT: usize = 1 << 20;
const ORPHAN: Duration = Duration::from_mins(10);

/// The data directory of daemons, and the hold of a terminal in it.
struct Scene {
    place: TempDir,
    shims: Shims,
    hold: Hold,
}

impl Scene {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        Self {
            shims: shims(place.path()),
            hold: Hold::new().of_terminal("term_1"),
            place,
        }
    }

    fn shell(&self, script: &str) -> Program {
        shell(script, &token(), self.place.path())
    }

    fn try_start(&self, program: Program) -> Result<(Terminal, Updates), acpd_model::Failure> {
        let (updates, updated) = mpsc::channel(4);
        let spec = TerminalSpec {
            program,
            directory: None,
            output_bytes: KEPT,
        };
        let terminal = Terminal::spawn_held(&self.shims, &spec, &self.hold, updates)?;
        Ok((terminal, updated))
    }

    fn start(&self, script: &str) -> (Terminal, Updates) {
        self.try_start(self.shell(script)).unwrap()
    }

    fn try_attach(&self, from: u64) -> Result<(Terminal, Updates), acpd_model::Failure> {
        let (updates, updated) = mpsc::channel(4);
        let terminal = Terminal::attach(&self.shims, &self.hold, KEPT, from, updates)?;
        Ok((terminal, updated))
    }

    fn attach(&self, from: u64) -> (Terminal, Updates) {
        self.try_attach(from).unwrap()
    }

    fn sockets(&self) -> usize {
        let directory = std::fs::read_dir(self.place.path().join("shims")).unwrap();
        directory.count()
    }

    /// Lets the script go on that waits for this file.
    fn let_go(&self, name: &str) {
        std::fs::write(self.place.path().join(name), "").unwrap();
    }

    fn has(&self, name: &str) -> bool {
        self.place.path().join(name).exists()
    }

    /// Ends the terminal, and checks that nothing is left.
    async fn release(&self, terminal: Terminal) {
        terminal.release().await;
        drop(terminal);
        until("the socket is gone", || self.sockets() == 0).await;
        assert_eq!(with_token(&token()), [0; 0]);
    }
}

fn leave(terminal: Terminal) {
    terminal.leave(ORPHAN);
    drop(terminal);
}

fn code(code: i32) -> Exit {
    Exit {
        code: Some(code),
        signal: None,
    }
}

/// Receives until the output so far satisfies this, or the exit. Returns the output and where it ends.
async fn listen(updated: &mut Updates, holds: impl Fn(&str) -> bool) -> (String, u64) {
    let (mut text, mut seen) = (String::new(), 0);
    while !holds(&text) {
        match updated.recv().await.unwrap() {
            TerminalUpdate::Output { text: more, end } => {
                text += &more;
                seen = end;
            }
            TerminalUpdate::Exited { .. } => break,
            TerminalUpdate::Waiting(_) | TerminalUpdate::InputEnded => {}
        }
    }
    (text, seen)
}

/// Receives up to the exit, which must come once.
async fn exit_of(updated: &mut Updates) -> (String, Exit, String, bool) {
    let mut text = String::new();
    loop {
        match updated.recv().await.unwrap() {
            TerminalUpdate::Output { text: more, .. } => text += &more,
            TerminalUpdate::Exited {
                exit,
                output,
                truncated,
            } => {
                assert_eq!(updated.recv().await, None);
                return (text, exit, output, truncated);
            }
            TerminalUpdate::Waiting(_) | TerminalUpdate::InputEnded => {}
        }
    }
}

fn numbers(range: std::ops::RangeInclusive<u32>) -> String {
    range.map(|number| format!("{number}\r\n")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_across_daemons_comes_once_and_the_exit_as_well() {
    let scene = Scene::new();
    let script = "seq 1 100; until [ -e second ]; do sleep 0.01; done; seq 101 200; until [ -e third ]; do sleep 0.01; done; seq 201 300; exit 7";
    let (terminal, mut updated) = scene.start(script);
    let (mut all, seen) = listen(&mut updated, |text| text.ends_with("\r\n100\r\n")).await;
    drop(updated);
    leave(terminal);
    scene.let_go("second");
    let (terminal, mut updated) = scene.attach(seen);
    let (more, seen) = listen(&mut updated, |text| text.ends_with("\r\n200\r\n")).await;
    all += &more;
    assert_eq!(terminal.output(), (numbers(1..=200), false, None));
    drop(updated);
    leave(terminal);
    scene.let_go("third");
    let (terminal, mut updated) = scene.attach(seen);
    let (more, exit, output, truncated) = exit_of(&mut updated).await;
    assert_eq!((exit, truncated), (code(7), false));
    assert_eq!(all + &more, numbers(1..=300));
    assert_eq!(output, numbers(1..=300));
    scene.release(terminal).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_ends_without_a_daemon_is_reported_by_the_next_one() {
    let scene = Scene::new();
    let script = "echo up; until [ -e go ]; do sleep 0.01; done; echo late; touch over; exit 3";
    let (terminal, mut updated) = scene.start(script);
    let (_, seen) = listen(&mut updated, |text| text == "up\r\n").await;
    leave(terminal);
    scene.let_go("go");
    until("it has ended", || with_token(&token()).is_empty()).await;
    for _ in 0..2 {
        let (terminal, mut updated) = scene.attach(seen);
        let (text, exit, output, truncated) = exit_of(&mut updated).await;
        assert_eq!((text.as_str(), exit), ("late\r\n", code(3)));
        assert_eq!((output.as_str(), truncated), ("up\r\nlate\r\n", false));
        assert_eq!(terminal.wait().await, code(3));
        assert_eq!(terminal.output(), (output, false, Some(code(3))));
        terminal.kill().await;
        leave(terminal);
    }
    let (terminal, _updated) = scene.attach(seen);
    scene.release(terminal).await;
    let gone = scene.try_attach(0).unwrap_err();
    assert!(gone.message.contains("run the command again"), "{gone}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_of_a_terminal_that_runs_already_is_not_started_again() {
    let scene = Scene::new();
    let script = "echo run >> runs; echo up; exec sleep $0";
    let (terminal, mut updated) = scene.start(script);
    listen(&mut updated, |text| text == "up\r\n").await;
    leave(terminal);
    let (terminal, mut updated) = scene.start(script);
    let (text, _) = listen(&mut updated, |text| text == "up\r\n").await;
    assert_eq!(text, "up\r\n", "the log has none of it");
    let runs = std::fs::read_to_string(scene.place.path().join("runs")).unwrap();
    assert_eq!(runs, "run\n");
    scene.release(terminal).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_and_typing_reach_a_command_of_an_earlier_daemon() {
    let scene = Scene::new();
    let script = r#"(env -i setsid sleep $0 &); trap "" HUP; echo up; until [ -e go ]; do sleep 0.01; done; read line; echo got $line; trap 'echo bye; exit 5' TERM; while :; do sleep 0.01; done"#;
    let (terminal, mut updated) = scene.start(script);
    let (_, seen) = listen(&mut updated, |text| text.contains("up\r\n")).await;
    leave(terminal);
    let (terminal, mut updated) = scene.attach(seen);
    terminal.type_in("hello\n".into()).await.unwrap();
    scene.let_go("go");
    listen(&mut updated, |text| text.contains("got hello\r\n")).await;
    terminal.kill().await;
    let exit = terminal.wait().await;
    assert!(
        exit == code(5) || exit.signal.as_deref() == Some("SIGTERM"),
        "{exit:?}"
    );
    scene.release(terminal).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_that_was_closed_by_its_command_may_be_opened_again() {
    let scene = Scene::new();
    let script = "echo up; exec > /dev/null 2>&1 < /dev/null; touch closed; until [ -e go ]; do sleep 0.01; done; \
                  echo late > /dev/tty; until [ -e end ]; do sleep 0.01; done; echo last > /dev/tty; exit 4";
    let (terminal, mut updated) = scene.start(script);
    until("it has closed it", || scene.has("closed")).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    scene.let_go("go");
    let (_, seen) = listen(&mut updated, |text| text == "up\r\nlate\r\n").await;
    leave(terminal);
    scene.let_go("end");
    let (terminal, mut updated) = scene.attach(seen);
    let (text, exit, ..) = exit_of(&mut updated).await;
    assert_eq!((text.as_str(), exit), ("last\r\n", code(4)));
    scene.release(terminal).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_kills_its_shim_is_lost_and_leaves_nothing() {
    let scene = Scene::new();
    let script = "(env -i setsid sh -c 'exec sleep $0' $0 &); trap '' HUP TERM; echo up; until [ -e go ]; do sleep 0.01; done; \
                  kill -9 $PPID; exec sleep $0";
    let (terminal, mut updated) = scene.start(script);
    listen(&mut updated, |text| text == "up\r\n").await;
    scene.let_go("go");
    let (_, exit, output, _) = exit_of(&mut updated).await;
    assert_eq!(exit, Exit::default());
    assert!(
        output.starts_with("up\r\n[acpd: the process that held this terminal was ended"),
        "{output}"
    );
    terminal.release().await;
    until("all are gone", || with_token(&token()).is_empty()).await;
    drop(terminal);
    // Whether it ran is not known, so it is not run again.
    let refused = scene.try_start(scene.shell("touch again")).unwrap_err();
    assert!(
        refused.message.starts_with("it is not known how far \"sh\" came"),
        "{refused}"
    );
    assert!(!scene.has("again"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shim_that_was_killed_without_a_daemon_is_reported() {
    let scene = Scene::new();
    let (terminal, mut updated) = scene.start("echo $PPID; exec sleep $0");
    let (shim, _) = listen(&mut updated, |text| text.ends_with("\r\n")).await;
    leave(terminal);
    let shim = rustix::process::Pid::from_raw(shim.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(shim, rustix::process::Signal::KILL).unwrap();
    until("the command is gone", || with_token(&token()).is_empty()).await;
    let lost = scene.try_attach(0).unwrap_err();
    assert!(
        lost.message.starts_with("the terminal cannot be reached"),
        "{lost}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sandbox_holds_in_a_terminal_of_a_shim() {
    if acpd_host::Kernel::here().version() < 6 {
        support::not_tested("the kernel has no Landlock 6 (Linux 6.12)");
    }
    let scene = Scene::new();
    let work = scene.place.path().canonicalize().unwrap().join("work");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(scene.place.path().join("secret"), "x").unwrap();
    let grants = Grants {
        workspace: vec![work.clone()],
        read: ["/usr", "/bin", "/lib", "/lib64", "/etc", "/dev/null", "/proc"]
            .map(Into::into)
            .into(),
        network: Network::On,
        ..Grants::default()
    };
    let sandbox = Sandbox::new(&grants).unwrap();
    let script = "cat ../secret; kill -9 $PPID; cat /proc/$PPID/environ; ls ../shims; touch made && echo works; prlimit --rttime=1000000";
    let program = Program {
        sandbox: Some(sandbox),
        ..shell(script, &token(), &work)
    };
    let (terminal, mut updated) = scene.try_start(program).unwrap();
    let (text, ..) = exit_of(&mut updated).await;
    assert!(text.contains("works\r\n"), "{text}");
    assert!(
        text.matches("denied").count() + text.matches("not permitted").count() >= 4,
        "{text}"
    );
    assert!(work.join("made").exists());
    scene.release(terminal).await;
}

async fn writes_without_a_daemon(size: &str) {
    let scene = Scene::new();
    let script = format!(
        "echo up; until [ -e go ]; do sleep 0.01; done; yes 0123456789abcde | head -c {size}; echo; echo end; touch over; exec sleep $0"
    );
    let (terminal, mut updated) = scene.start(&script);
    let (_, seen) = listen(&mut updated, |text| text == "up\r\n").await;
    leave(terminal);
    scene.let_go("go");
    while !scene.has("over") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (terminal, mut updated) = scene.attach(seen);
    let (output, truncated, exit) = terminal.output();
    assert!(truncated && exit.is_none());
    assert_eq!(output.len(), KEPT);
    let (text, _) = listen(&mut updated, |text| text.ends_with("end\r\n")).await;
    assert!(text == output, "the newest is kept");
    scene.release(terminal).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_writes_without_a_daemon_does_not_block_and_the_end_is_kept() {
    writes_without_a_daemon("100M").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "two gigabytes through a terminal take a minute; make soak runs it"]
async fn two_gigabytes_without_a_daemon_cost_what_is_kept() {
    writes_without_a_daemon("2G").await;
}

const PLACE: &str = "ACPD_TEST_PLACE";

/// Runs as the daemon that another test kills.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the next test runs it in a process of its own"]
async fn the_daemon_that_is_killed() {
    let Some(place) = std::env::var_os(PLACE) else {
        return;
    };
    let hold: Hold = serde_json::from_slice(&std::fs::read(Path::new(&place).join("hold")).unwrap()).unwrap();
    let spec = TerminalSpec {
        program: shell(
            "seq 1 1000; until [ -e go ]; do sleep 0.01; done; seq 1001 2000; exec sleep $0",
            &std::env::var("ACPD_TEST_TOKEN").unwrap(),
            Path::new(&place),
        ),
        directory: None,
        output_bytes: KEPT,
    };
    let (updates, mut updated) = mpsc::channel(4);
    let _terminal = Terminal::spawn_held(&shims(Path::new(&place)), &spec, &hold, updates).unwrap();
    let (_, seen) = listen(&mut updated, |text| text.len() > 100).await;
    println!("\nseen {seen}");
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_is_killed_leaves_its_terminals_to_the_next_one() {
    let scene = Scene::new();
    std::fs::write(
        scene.place.path().join("hold"),
        serde_json::to_vec(&scene.hold).unwrap(),
    )
    .unwrap();
    let mut daemon = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "left_terminals::the_daemon_that_is_killed",
            "--ignored",
            "--nocapture",
        ])
        .env(PLACE, scene.place.path())
        .env("ACPD_TEST_TOKEN", token())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(daemon.stdout.take().unwrap()).lines();
    let seen: u64 = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("seen ")?.parse().ok())
        .unwrap();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert_ne!(with_token(&token()), [0; 0]);
    scene.let_go("go");
    let (terminal, mut updated) = scene.attach(seen);
    let (text, _) = listen(&mut updated, |text| text.ends_with("\r\n2000\r\n")).await;
    let all = numbers(1..=2000);
    assert_eq!(text, all[usize::try_from(seen).unwrap()..]);
    assert_eq!(terminal.output().0, all);
    terminal.release().await;
    until("all are gone", || with_token(&token()).is_empty()).await;
    until("the socket is gone", || scene.sockets() == 0).await;
}
