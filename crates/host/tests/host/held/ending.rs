//! How held agents end: with all that they have started, and with their last words.

use std::time::Duration;

use acpd_host::{AgentProcess, HeldError, Hold, ProcessExit, Supervision};
use rustix::process::{Pid, Signal, kill_process};

use super::{PATIENCE, Place, read, read_to_end, shim, stop};
use crate::support::{descriptors, own_children, token, until, with_token};

/// Leaves children behind in every way that a child can hide. All of them ignore SIGTERM.
const LITTER: &str = r#"trap "" TERM
    sleep $0 &
    setsid sleep $0 &
    (setsid setsid sleep $0 &)
    (env -i setsid sh -c "env -i setsid sleep $0 & sleep $0" &)
    until [ $(pgrep -cxf "sleep $0") -eq 5 ]; do :; done
    echo ready; cat >/dev/null; exit 8"#;
const POLITE: &str = "echo ready; cat >/dev/null; echo bye >&2; exit 7";

#[tokio::test]
async fn a_stop_leaves_no_process_and_no_descriptor_behind() {
    let place = Place::new();
    // The runtime permanently opens some descriptors on first use.
    stop(place.start_ready(POLITE, "").await.0).await;
    let open = descriptors();
    for (script, reason) in [
        (LITTER, "sh exited with code 8"),
        (POLITE, "sh exited with code 7"),
        (
            "trap '' TERM; echo ready; while :; do sleep 0.01; done",
            "sh was ended by SIGKILL",
        ),
        (
            "echo ready; while :; do echo token; done",
            "sh was ended by SIGTERM",
        ),
    ] {
        let (agent, _) = place.start_ready(script, &token()).await;
        let grace = Duration::from_millis(300);
        assert_eq!(agent.process.stop(grace).await.reason, reason);
        drop((agent.stdin, agent.stdout, agent.stderr));
        assert_eq!(with_token(&token()), [0; 0], "{script}");
        assert_eq!(own_children(), [0; 0], "the shim was waited for");
    }
    assert_eq!(place.names(), [""; 0]);
    assert_eq!(descriptors(), open);
}

#[tokio::test]
async fn an_agent_that_goes_by_itself_is_given_its_time_and_its_last_words_are_kept() {
    let place = Place::new();
    let (agent, _) = place.start_ready(POLITE, "").await;
    let expected = ProcessExit {
        reason: "sh exited with code 7".into(),
        code: Some(7),
        by_itself: true,
        stderr: "bye".into(),
    };
    assert_eq!(stop(agent).await, expected);
}

#[tokio::test]
async fn an_agent_that_is_dropped_is_killed_with_all_that_it_left() {
    let place = Place::new();
    drop(place.start_ready(LITTER, &token()).await);
    until("all are gone", || with_token(&token()).is_empty()).await;
    until("the socket is gone", || place.names().is_empty()).await;
}

#[tokio::test]
async fn a_shim_that_is_gone_gives_the_exit_after_the_rest_of_the_output() {
    for copies in [false, true] {
        let place = Place::with_copies(copies);
        let script = "trap '' TERM; setsid sleep $0 & echo ready; seq 1 30000; touch done; cat";
        let (mut agent, _) = place.start_ready(script, &token()).await;
        let done = place.data.path().join("done");
        until("the output is written", || done.exists()).await;
        kill_process(shim(), Signal::KILL).unwrap();
        agent.process.gone().await;
        assert_eq!(agent.process.id(), None);
        let expected: String = (1..=30_000).map(|number| format!("{number}\n")).collect();
        // The child of the agent does not hold the output for long.
        let exit = agent.process.stop(PATIENCE).await;
        assert!(read_to_end(&mut agent.stdout).await == expected);
        assert_eq!(
            exit.reason,
            "sh ended because acpd-shim, which held it, was killed"
        );
        assert_eq!((exit.code, exit.by_itself), (None, true));
        assert_eq!(with_token(&token()), [0; 0]);
    }
}

#[tokio::test]
async fn an_exit_while_no_daemon_is_there_is_seen_by_the_next_one() {
    let place = Place::new();
    let (agent, hold) = place
        .start_ready(
            "echo ready; until [ -e go ]; do sleep 0.01; done; echo last; exit 5",
            &token(),
        )
        .await;
    agent.process.leave(PATIENCE);
    std::fs::write(place.data.path().join("go"), "").unwrap();
    until("it has ended", || with_token(&token()).is_empty()).await;
    let mut agent = place.shims.attach(&hold, 6).unwrap();
    assert_eq!(read_to_end(&mut agent.stdout).await, "last\n");
    agent.process.gone().await;
    assert_eq!(agent.process.id(), None);
    assert_eq!(stop(agent).await.reason, "the agent exited with code 5");
}

#[tokio::test]
async fn a_starter_that_exits_with_0_may_leave_the_agent_behind() {
    let place = Place::new();
    let (mut agent, _) = place
        .start_ready("exec 3<&0; sleep $0 <&3 3<&- & echo ready", &token())
        .await;
    until("the starter has exited", || agent.process.id().is_none()).await;
    let gone = tokio::time::timeout(Duration::from_millis(100), agent.process.gone());
    assert!(gone.await.is_err(), "sleep could be the agent");
    let [left] = with_token(&token())[..] else {
        panic!("sleep runs");
    };
    kill_process(Pid::from_raw(i32::try_from(left).unwrap()).unwrap(), Signal::KILL).unwrap();
    agent.process.gone().await;
    stop(agent).await;
    let (mut agent, _) = place
        .start_ready("sleep $0 </dev/null & echo ready", &token())
        .await;
    agent.process.gone().await;
    stop(agent).await;
    assert_eq!(with_token(&token()), [0; 0]);
}

#[tokio::test]
async fn a_shim_that_waits_too_long_ends_with_its_agent() {
    let place = Place::new();
    let (agent, hold) = place.start_ready(LITTER, &token()).await;
    agent.process.leave(Duration::ZERO);
    until("all are gone", || with_token(&token()).is_empty()).await;
    until("the socket is gone", || place.names().is_empty()).await;
    assert!(matches!(
        place.shims.attach(&hold, 6),
        Err(HeldError::Gone { .. })
    ));
}

#[tokio::test]
async fn a_shim_is_ended_by_its_name_with_and_without_a_daemon() {
    let place = Place::new();
    let (mut attached, hold) = place
        .start_ready("echo ready; while :; do sleep 0.01; done", "")
        .await;
    place.shims.end(&hold.shim).unwrap();
    attached.process.gone().await;
    assert_eq!(
        attached.process.stop(PATIENCE).await.reason,
        "sh was ended by SIGTERM"
    );
    let (agent, hold) = place.start_ready(LITTER, &token()).await;
    agent.process.leave(PATIENCE);
    assert_eq!(place.names(), std::slice::from_ref(&hold.shim));
    place.shims.end(&hold.shim).unwrap();
    assert_eq!(with_token(&token()), [0; 0]);
    assert_eq!(place.names(), [""; 0]);
    // It is gone already.
    place.shims.end(&hold.shim).unwrap();
}

#[tokio::test]
async fn the_socket_of_a_killed_shim_is_removed() {
    let place = Place::new();
    assert_eq!(place.shims.remove_leftovers(&[]).unwrap(), [""; 0]);
    let (agent, hold) = place.start_ready("echo ready; cat", "").await;
    assert_eq!(
        place.shims.remove_leftovers(&[]).unwrap(),
        [""; 0],
        "it is in use"
    );
    kill_process(shim(), Signal::KILL).unwrap();
    stop(agent).await;
    assert_eq!(place.names(), std::slice::from_ref(&hold.shim));
    assert!(matches!(
        place.shims.attach(&hold, 6),
        Err(HeldError::Gone { .. })
    ));
    // The next daemon continues its thread, and learns by the sockets what has started.
    let terminal = hold.of_terminal("term_1").shim;
    drop(std::os::unix::net::UnixListener::bind(place.data.path().join("shims").join(&terminal)).unwrap());
    let continued = std::slice::from_ref(&hold.shim);
    assert_eq!(place.shims.remove_leftovers(continued).unwrap(), [""; 0]);
    // Only a part of its name.
    let others = [hold.shim[..16].to_owned(), format!("{}-0", hold.shim)];
    let mut removed = place.shims.remove_leftovers(&others).unwrap();
    removed.sort();
    assert_eq!(removed, [hold.shim, terminal]);
    assert_eq!(place.names(), [""; 0]);
}

/// The agent stops its shim, which then neither reads nor ends anything.
#[tokio::test]
async fn a_shim_that_its_agent_has_stopped_ends_all_the_same() {
    let place = Place::new();
    let script = "echo ready; read line; kill -STOP $PPID; echo stopped; cat; sleep $0";
    let (mut agent, _) = place.start_ready(script, &token()).await;
    super::write(&mut agent, "go\n").await;
    assert_eq!(read(&mut agent.stdout, 8).await, "stopped\n");
    let exit = agent.process.stop(Duration::from_millis(300)).await;
    assert_eq!(exit.reason, "sh was ended by SIGTERM");
    assert_eq!(with_token(&token()), [0; 0]);
}

#[tokio::test]
async fn start_failures_have_the_reasons_of_agents_without_a_shim() {
    let place = Place::new();
    let here = place.data.path();
    std::fs::write(here.join("plain"), "x").unwrap();
    std::fs::write(here.join("lost"), "#!/no/such/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(here.join("lost"), mode).unwrap();
    let (plain, gone) = (here.join("plain"), here.join("gone"));
    let lost = here.join("lost");
    for (command, cwd) in [
        ("no-such-program", here),
        (plain.to_str().unwrap(), here),
        (lost.to_str().unwrap(), here),
        ("sh", &gone),
        ("sh", &plain),
        ("", here),
        ("a\0b", here),
    ] {
        let mut program = place.program("", "");
        command.clone_into(&mut program.command);
        cwd.clone_into(&mut program.cwd);
        let expected = AgentProcess::spawn(&program).unwrap_err();
        let failure = place.shims.start(&program, &Hold::new()).unwrap_err();
        assert_eq!(
            (failure.code, failure.message),
            (expected.code, expected.message),
            "{command:?}"
        );
    }
    assert_eq!(own_children(), [0; 0]);
    assert_eq!(place.names(), [""; 0]);
}

#[tokio::test]
async fn a_missing_binary_and_an_open_directory_are_named() {
    let place = Place::new();
    let missing = acpd_host::Shims::new("/no/such/acpd-shim".into(), place.data.path());
    let program = place.program("", "");
    let message = missing.start(&program, &Hold::new()).unwrap_err().message;
    assert!(
        message.contains("/no/such/acpd-shim") && message.contains("survive"),
        "{message}"
    );
    let directory = place.data.path().join("shims");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&directory, mode).unwrap();
    let message = place.shims.start(&program, &Hold::new()).unwrap_err().message;
    assert!(message.contains("chmod 700"), "{message}");
}

/// The end of a run is also what the keeper does after a daemon that was killed.
#[tokio::test]
async fn the_end_of_a_run_passes_held_agents_by() {
    let place = Place::new();
    let data = place.data.path().to_owned();
    let supervise = move || Supervision::begin(&data, &[]).unwrap();
    let supervision = tokio::task::spawn_blocking(supervise).await.unwrap();
    let (agent, hold) = place.start_ready(LITTER, &token()).await;
    let (mut attached, _) = place.start_ready("echo ready; cat", "").await;
    agent.process.leave(PATIENCE);
    let count = with_token(&token()).len();
    let ended = tokio::task::spawn_blocking(|| supervision.end()).await.unwrap();
    assert_eq!(ended, 0);
    assert_eq!(with_token(&token()).len(), count);
    super::write(&mut attached, "still there\n").await;
    assert_eq!(read(&mut attached.stdout, 12).await, "still there\n");
    stop(attached).await;
    stop(place.shims.attach(&hold, 6).unwrap()).await;
    assert_eq!(with_token(&token()), [0; 0]);
}
