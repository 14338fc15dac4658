//! Agents' processes end, whatever they started and however it hides.

#![allow(clippy::unwrap_used, reason = "what helps a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use acpd_host::{AgentProcess, ProcessExit, Supervision};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use crate::support::{descriptors, own_children, shell, threads, token, until, with_token};

/// Long enough for a shell to exit on its own, short enough to wait for one that does not.
const GRACE: Duration = Duration::from_millis(300);

/// Reads until its input ends, as an agent should.
const POLITE: &str = "echo ready; cat >/dev/null; echo bye >&2; exit 7";
/// An agent in the middle of a turn: writes continuously and reads nothing.
const BUSY: &str = "echo ready; while :; do echo token token token; done";
/// Leaves children behind in every way that a child can hide: in its group, in its own session, with parents that
/// ended, and without an environment. All of them ignore SIGTERM.
const LITTER: &str = r#"trap "" TERM
    sleep $0 &
    setsid sleep $0 &
    (setsid setsid sleep $0 &)
    (env -i setsid sh -c "env -i setsid sleep $0 & sleep $0" &)
    until [ $(pgrep -cxf "sleep $0") -eq 5 ]; do :; done
    echo ready; cat >/dev/null; exit 8"#;

async fn start(script: &str, token: &str) -> AgentProcess {
    let program = shell(script, token, &std::env::temp_dir());
    let mut agent = AgentProcess::spawn(&program).unwrap();
    let mut line = String::new();
    let mut lines = BufReader::with_capacity(16, &mut agent.stdout);
    lines.read_line(&mut line).await.unwrap();
    assert_eq!(line, "ready\n");
    agent
}

/// Makes this process a subreaper, like the daemon, so that it adopts all orphans.
fn supervised() -> (tempfile::TempDir, Supervision) {
    let data = tempfile::tempdir().unwrap();
    let supervision = Supervision::begin(data.path()).unwrap();
    (data, supervision)
}

#[test]
fn two_hundred_agents_leave_nothing_behind() {
    let (_data, supervision) = supervised();
    let work = || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            tokio::spawn(Supervision::reap());
            let at_once = Arc::new(tokio::sync::Semaphore::new(12));
            let mut all = tokio::task::JoinSet::new();
            for number in 0..200 {
                let at_once = Arc::clone(&at_once);
                all.spawn(async move {
                    let _turn = at_once.acquire().await.unwrap();
                    // A separate token for each, so that the children of others are not counted.
                    let token = format!("{}{number:03}", token());
                    let script = [POLITE, BUSY, LITTER][number % 3];
                    let ended = start(script, &token).await.stop(GRACE).await;
                    assert_eq!(with_token(&token), [0; 0], "{number}");
                    (number, ended.reason)
                });
            }
            while let Some(done) = all.join_next().await {
                let (number, reason) = done.unwrap();
                let expected = [
                    "sh exited with code 7",
                    "sh was ended by SIGTERM",
                    "sh exited with code 8",
                ];
                // The orphan reaper has taken no child's exit status.
                assert_eq!(reason, expected[number % 3], "{number}");
            }
            until("all have been waited for", || own_children().is_empty()).await;
        });
    };
    let before = threads();
    // The runtime permanently opens some descriptors on first use.
    let first = tokio::runtime::Runtime::new().unwrap();
    first.block_on(async {
        let reaping = tokio::spawn(Supervision::reap());
        tokio::task::yield_now().await;
        reaping.abort();
    });
    drop(first);
    let open = descriptors();
    work();
    assert_eq!(descriptors(), open);
    // The system shows a thread for a moment after it was joined.
    while threads() != before {
        std::thread::yield_now();
    }
    assert_eq!(supervision.end(), 0);
}

#[tokio::test]
async fn an_agent_that_goes_by_itself_is_given_its_time_and_its_last_words_are_kept() {
    let agent = start(POLITE, &token()).await;
    let ended = agent.stop(Duration::from_secs(20)).await;
    let expected = ProcessExit {
        reason: "sh exited with code 7".into(),
        code: Some(7),
        by_itself: true,
        stderr: "bye".into(),
    };
    assert_eq!(ended, expected);
}

#[tokio::test]
async fn an_agent_that_ignores_both_is_killed() {
    let agent = start("trap '' TERM; echo ready; while :; do sleep 0.01; done", &token()).await;
    assert_eq!(agent.stop(GRACE).await.reason, "sh was ended by SIGKILL");
    assert_eq!(with_token(&token()), [0; 0]);
}

#[tokio::test]
async fn leftover_processes_may_exit_gracefully() {
    let here = tempfile::tempdir().unwrap();
    let script = "setsid sh -c 'trap \"echo bye > goodbye; exit\" TERM; echo up > up; while :; do sleep 0.01; done' $0 &
        until [ -e up ]; do :; done; echo ready; cat";
    let mut agent = AgentProcess::spawn(&shell(script, &token(), here.path())).unwrap();
    let mut ready = [0; 6];
    agent.stdout.read_exact(&mut ready).await.unwrap();
    agent.stop(Duration::from_secs(20)).await;
    assert_eq!(
        std::fs::read_to_string(here.path().join("goodbye")).unwrap(),
        "bye\n"
    );
    assert_eq!(with_token(&token()), [0; 0]);
}

#[tokio::test]
async fn an_agent_that_is_dropped_is_killed_with_all_that_it_left() {
    let (_data, supervision) = supervised();
    let reaping = tokio::spawn(Supervision::reap());
    drop(start(LITTER, &token()).await);
    until("all are gone", || with_token(&token()).is_empty()).await;
    until("all are waited for", || own_children().is_empty()).await;
    reaping.abort();
    assert_eq!(
        tokio::task::spawn_blocking(|| supervision.end()).await.unwrap(),
        0
    );
}

#[tokio::test]
async fn the_exit_is_seen_without_reading_anything() {
    let mut agent = start("echo ready; read line; exit 3", &token()).await;
    agent.stdin = None;
    agent.wait().await;
    agent.wait().await;
    assert_eq!(agent.stop(GRACE).await.reason, "sh exited with code 3");
}

#[tokio::test]
async fn the_next_daemon_ends_what_an_earlier_one_left_and_nothing_else() {
    let (data, supervision) = supervised();
    // Simulates a killed daemon: nothing refers to the process any more.
    std::mem::forget(start(LITTER, &token()).await);
    let stranger = format!("9{}", token());
    let mut other = std::process::Command::new("sleep")
        .arg(&stranger)
        .env("ACPD_PROCESS", "0000000-0000-1")
        .spawn()
        .unwrap();
    assert!(with_token(&token()).len() >= 6);
    let path = data.path().to_owned();
    let again = tokio::task::spawn_blocking(move || Supervision::begin(&path).unwrap());
    drop(again.await.unwrap());
    assert_eq!(with_token(&token()), [0; 0]);
    assert_eq!(with_token(&stranger), [other.id()]);
    assert_eq!(
        tokio::task::spawn_blocking(|| supervision.end()).await.unwrap(),
        0
    );
    assert_eq!(
        with_token(&stranger),
        [other.id()],
        "it is in our own session, so it is nobody's orphan"
    );
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn children_from_before_the_daemon_are_left_alone() {
    let mut older = std::process::Command::new("setsid")
        .args(["sleep", &token()])
        .spawn()
        .unwrap();
    let (_data, supervision) = supervised();
    assert_eq!(supervision.end(), 0);
    assert!(older.try_wait().unwrap().is_none());
    older.kill().unwrap();
    older.wait().unwrap();
}

#[tokio::test]
async fn nothing_of_ours_but_the_three_streams_reaches_an_agent() {
    use std::os::fd::AsFd;
    let inherited = tempfile::tempfile().unwrap();
    rustix::io::fcntl_setfd(inherited.as_fd(), rustix::io::FdFlags::empty()).unwrap();
    // The last descriptor belongs to the listing itself.
    let program = shell("ls /proc/self/fd", "", &std::env::temp_dir());
    let mut agent = AgentProcess::spawn(&program).unwrap();
    let mut listed = String::new();
    agent.stdout.read_to_string(&mut listed).await.unwrap();
    assert_eq!(listed, "0\n1\n2\n3\n");
    agent.stop(GRACE).await;
}

#[tokio::test]
async fn start_failures_report_their_reason() {
    let here = tempfile::tempdir().unwrap();
    let plain = here.path().join("plain");
    std::fs::write(&plain, "x").unwrap();
    let lost = here.path().join("lost");
    std::fs::write(&lost, "#!/no/such/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&lost, mode).unwrap();
    let refusal = |command: &str, cwd: &std::path::Path| {
        let mut program = shell("", "", cwd);
        command.clone_into(&mut program.command);
        AgentProcess::spawn(&program).unwrap_err().message
    };
    let before = descriptors();
    assert_eq!(
        refusal("no-such-program", here.path()),
        "the program \"no-such-program\" was not found: install it, or give its full path in the configuration"
    );
    let plain = plain.to_str().unwrap();
    assert!(refusal(plain, here.path()).contains("may not be executed"));
    assert!(refusal(lost.to_str().unwrap(), here.path()).contains("interpreter"));
    assert!(refusal("sh", &here.path().join("gone")).ends_with("gone does not exist"));
    assert!(refusal("sh", std::path::Path::new(plain)).ends_with("plain is not a directory"));
    assert_eq!(refusal("", here.path()), "no program was named");
    assert!(refusal("a\0b", here.path()).contains("NUL"));
    assert_eq!(descriptors(), before);
}
