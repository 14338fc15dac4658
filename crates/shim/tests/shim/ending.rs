//! Shims end with all that their processes started, and nothing else ends them.

#![allow(clippy::unwrap_used, reason = "what helps a test fails by panicking")]

use std::time::Duration;

use acpd_shim::{Attached, Moved, News, Pipes, Status};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    NAME, TOKEN, connect, directory, end, read_from, shell, start, token, until, wait_for_exit,
    wait_for_news, with_token,
};

/// Leaves children behind in every way that a child can hide: in its group, in its own session, with parents that ended, and without
/// an environment. All of them ignore SIGTERM.
const LITTER: &str = r#"trap "" TERM
    sleep $0 &
    setsid sleep $0 &
    (setsid setsid sleep $0 &)
    (env -i setsid sh -c "env -i setsid sleep $0 & sleep $0" &)
    until [ $(pgrep -cxf "sleep $0") -eq 5 ]; do :; done
    echo ready; cat"#;

fn pid(number: u32) -> Pid {
    Pid::from_raw(i32::try_from(number).unwrap()).unwrap()
}

#[test]
fn an_end_leaves_no_process_behind() {
    let here = directory();
    let token = token();
    let (mut attached, mut shim) = start::<Pipes>(here.path(), &shell(LITTER, &token, 4096)).unwrap();
    assert_eq!(read_from(&mut attached, 0, 6), "ready\n");
    assert!(with_token(&token) >= 6);
    attached.end(Duration::ZERO).unwrap();
    wait_for_news(&mut attached, News::Exited(Status::Signalled(9)));
    wait_for_news(&mut attached, News::Ended { left: 0 });
    assert_eq!(with_token(&token), 0);
    wait_for_exit(&mut shim);
    assert!(!here.path().join(NAME).exists());
}

#[test]
fn a_process_may_end_gracefully_and_its_last_words_are_read() {
    let here = directory();
    let script = "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done";
    let (mut attached, mut shim) = start::<Pipes>(here.path(), &shell(script, "", 4096)).unwrap();
    assert_eq!(read_from(&mut attached, 0, 6), "ready\n");
    attached.end(Duration::from_secs(20)).unwrap();
    wait_for_news(&mut attached, News::Exited(Status::Exited(3)));
    wait_for_news(&mut attached, News::Ended { left: 0 });
    wait_for_exit(&mut shim);
    // The shim is gone, and what it held is not.
    assert_eq!(read_from(&mut attached, 6, 100), "bye\n");
}

#[test]
fn a_killed_shim_takes_its_process_with_it_and_its_output_is_read() {
    let here = directory();
    for copies in [false, true] {
        let mut program = shell("echo ready; exec cat", "", 4096);
        program.copies = copies;
        let (mut attached, mut shim) = start::<Pipes>(here.path(), &program).unwrap();
        assert_eq!(read_from(&mut attached, 0, 6), "ready\n");
        shim.kill().unwrap();
        shim.wait().unwrap();
        until("the shim is lost", || {
            attached.receive().unwrap() == Some(News::Lost)
        });
        let process = attached.process();
        until("the process has ended", || {
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            stat.rsplit(')')
                .next()
                .is_none_or(|rest| rest.is_empty() || rest.starts_with(" Z"))
        });
        assert_eq!(read_from_ring(&attached), "ready\n");
        std::fs::remove_file(here.path().join(NAME)).unwrap();
    }
}

fn read_from_ring(attached: &Attached<Pipes>) -> String {
    let mut buffer = [0; 100];
    let read = attached.streams().read(0, &mut buffer).unwrap();
    String::from_utf8(buffer[..read].to_vec()).unwrap()
}

#[test]
fn a_shim_without_a_daemon_ends_in_time_and_leaves_the_unread_output() {
    let here = directory();
    for copies in [false, true] {
        let mut program = shell("echo ready; echo more; exec cat", "", 4096);
        program.copies = copies;
        let (mut attached, mut shim) = start::<Pipes>(here.path(), &program).unwrap();
        assert_eq!(read_from(&mut attached, 0, 11), "ready\nmore\n");
        attached.acknowledge(6).unwrap();
        attached.limit_orphan(Duration::ZERO).unwrap();
        drop(attached);
        wait_for_exit(&mut shim);
        let rest = here.path().join(format!("{NAME}.rest"));
        assert_eq!(std::fs::read_to_string(&rest).unwrap(), "more\n");
        std::fs::remove_file(rest).unwrap();
        assert!(!here.path().join(NAME).exists());
    }
}

#[test]
fn signals_to_the_daemon_do_not_end_a_shim_and_sigterm_does() {
    let here = directory();
    let (mut attached, mut shim) = start::<Pipes>(here.path(), &shell("exec cat", "", 4096)).unwrap();
    for signal in [Signal::INT, Signal::HUP, Signal::QUIT] {
        kill_process(Pid::from_child(&shim), signal).unwrap();
    }
    attached.append(b"still here\n").unwrap();
    attached.flush().unwrap();
    assert_eq!(read_from(&mut attached, 0, 11), "still here\n");
    kill_process(Pid::from_child(&shim), Signal::TERM).unwrap();
    wait_for_news(&mut attached, News::Exited(Status::Signalled(15)));
    wait_for_news(&mut attached, News::Ended { left: 0 });
    wait_for_exit(&mut shim);
}

#[test]
fn a_signal_reaches_the_group_of_the_process() {
    let here = directory();
    let script = "trap 'echo caught; exit 4' USR1; echo ready; while :; do sleep 0.01; done";
    let (mut attached, shim) = start::<Pipes>(here.path(), &shell(script, "", 4096)).unwrap();
    assert_eq!(read_from(&mut attached, 0, 6), "ready\n");
    attached.signal(10).unwrap();
    assert_eq!(read_from(&mut attached, 6, 7), "caught\n");
    wait_for_news(&mut attached, News::Exited(Status::Exited(4)));
    // Its number may be another process's now.
    attached.signal(9).unwrap();
    end(attached, shim);
}

#[test]
fn a_full_ring_blocks_the_process_and_loses_nothing() {
    let here = directory();
    for copies in [false, true] {
        let mut program = shell("seq 1 100000; exec cat", "", 4096);
        program.copies = copies;
        let (first, shim) = start::<Pipes>(here.path(), &program).unwrap();
        drop(first);
        until("the shim has filled the ring", || {
            let attached = connect::<Pipes>(here.path(), TOKEN, 0).unwrap();
            attached.streams().head() == 4095
        });
        let mut attached: Attached<Pipes> = connect(here.path(), TOKEN, 0).unwrap();
        until("it stays full", || attached.fill().unwrap() == Moved::Full);
        let mut found = String::new();
        let expected: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
        while found.len() < expected.len() {
            let from = u64::try_from(found.len()).unwrap();
            let length = (expected.len() - found.len()).min(500);
            found += &read_from(&mut attached, from, length);
            attached.acknowledge(u64::try_from(found.len()).unwrap()).unwrap();
        }
        assert!(found == expected);
        attached.give_back().unwrap();
        end(attached, shim);
    }
}

#[test]
fn the_process_leads_a_session_of_its_own() {
    let here = directory();
    let (attached, shim) = start::<Pipes>(here.path(), &shell("exec cat", "", 4096)).unwrap();
    let process = pid(attached.process());
    assert_eq!(rustix::process::getsid(Some(process)).unwrap(), process);
    let own = Pid::from_child(&shim);
    until("the shim has a session of its own", || {
        rustix::process::getsid(Some(own)).unwrap() == own
    });
    let score = |process: Pid| {
        let path = format!("/proc/{}/oom_score_adj", process.as_raw_pid());
        std::fs::read_to_string(path)
            .unwrap()
            .trim()
            .parse::<i32>()
            .unwrap()
    };
    let is_highest = score(own) == 1000;
    assert!(
        is_highest || score(process) > score(own),
        "short memory ends the process first"
    );
    end(attached, shim);
}

/// The shim moves these bytes, and ends after them.
#[test]
fn long_last_words_are_read_where_the_shim_moves_them() {
    let here = directory();
    // Its children end with it, and the pipe is full then.
    let script = "trap 'trap \"\" TERM; seq 1 20000; exit 3' TERM; echo ready; while :; do sleep 0.01; done";
    let expected: String = std::iter::once("ready\n".to_owned())
        .chain((1..=20_000).map(|number| format!("{number}\n")))
        .collect();
    for ring in [1 << 20, 4096] {
        let mut program = shell(script, "", ring);
        program.copies = true;
        let (mut attached, mut shim) = start::<Pipes>(here.path(), &program).unwrap();
        assert_eq!(read_from(&mut attached, 0, 6), "ready\n");
        attached.end(Duration::from_secs(20)).unwrap();
        wait_for_exit(&mut shim);
        // The ring was full, and the rest is in the pipe.
        let mut found = String::new();
        while found.len() < expected.len() {
            let from = u64::try_from(found.len()).unwrap();
            let part = read_from(&mut attached, from, 1000.min(expected.len() - found.len()));
            assert!(!part.is_empty(), "{} of {}", found.len(), expected.len());
            found += &part;
            attached.acknowledge(u64::try_from(found.len()).unwrap()).unwrap();
        }
        assert!(found == expected);
        assert_eq!(
            read_from(&mut attached, u64::try_from(found.len()).unwrap(), 1),
            ""
        );
    }
}

#[test]
fn orphans_end_gracefully_too() {
    let here = directory();
    // The process ends first, and leaves a child in a session of its own that the shim did not have before.
    let script =
        r#"setsid sh -c 'trap "echo orphan; exit" TERM; echo ready; while :; do sleep 0.01; done' & cat"#;
    let (mut attached, mut shim) = start::<Pipes>(here.path(), &shell(script, "", 4096)).unwrap();
    assert_eq!(read_from(&mut attached, 0, 6), "ready\n");
    attached.end(Duration::from_secs(20)).unwrap();
    assert_eq!(read_from(&mut attached, 6, 7), "orphan\n");
    wait_for_news(&mut attached, News::Ended { left: 0 });
    wait_for_exit(&mut shim);
}

#[test]
fn a_second_end_may_be_sooner_and_not_later() {
    let here = directory();
    let script = "trap '' TERM; echo ready; while :; do sleep 0.01; done";
    for ends_by_signal in [false, true] {
        let (mut attached, mut shim) = start::<Pipes>(here.path(), &shell(script, "", 4096)).unwrap();
        assert_eq!(read_from(&mut attached, 0, 6), "ready\n");
        attached.end(Duration::from_hours(1)).unwrap();
        if ends_by_signal {
            kill_process(Pid::from_child(&shim), Signal::TERM).unwrap();
        } else {
            attached.end(Duration::ZERO).unwrap();
        }
        attached.end(Duration::from_hours(1)).unwrap();
        wait_for_news(&mut attached, News::Exited(Status::Signalled(9)));
        wait_for_news(&mut attached, News::Ended { left: 0 });
        wait_for_exit(&mut shim);
    }
}

/// Each process starts the next one, and ends.
#[test]
fn a_chain_of_processes_is_caught() {
    let here = directory();
    let token = token();
    let script = r#"next() { next & exit; }; trap "" TERM; echo ready; (next) & exec cat"#;
    let (mut attached, mut shim) = start::<Pipes>(here.path(), &shell(script, &token, 4096)).unwrap();
    assert_eq!(read_from(&mut attached, 0, 6), "ready\n");
    attached.end(Duration::ZERO).unwrap();
    wait_for_news(&mut attached, News::Ended { left: 0 });
    assert_eq!(with_token(&token), 0);
    wait_for_exit(&mut shim);
}

#[test]
fn a_rest_that_cannot_be_stored_is_not_left_in_part() {
    let here = directory();
    let rest = here.path().join(format!("{NAME}.rest"));
    std::fs::write(&rest, "older").unwrap();
    let (attached, mut shim) = start::<Pipes>(here.path(), &shell("echo ready; exec cat", "", 4096)).unwrap();
    attached.limit_orphan(Duration::ZERO).unwrap();
    drop(attached);
    wait_for_exit(&mut shim);
    assert_eq!(std::fs::read_to_string(&rest).unwrap(), "older");
    assert!(!here.path().join(format!("{NAME}.rest.part")).exists());
}
