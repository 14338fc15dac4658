//! Terminals outlive their daemons with their last output.

#![allow(clippy::unwrap_used, reason = "what helps a test fails by panicking")]

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use acpd_shim::{Attached, News, Start, Starting, Status, StreamKind, Terminal};

use crate::support::{
    NAME, PATIENCE, TOKEN, connect, directory, end, start, token, until, wait_for_exit, wait_for_news,
    wait_readable, with_streams, with_token,
};

const KEPT: u64 = 10_000;
const STREAMS: StreamKind = StreamKind::Terminal {
    columns: 120,
    rows: 30,
    kept: KEPT,
};

/// Waits until the terminal has shown this much, and returns its last output.
fn shown(attached: &Attached<Terminal>, holds: impl Fn(&str) -> bool) -> String {
    loop {
        let terminal = attached.streams();
        terminal.clear();
        let written = terminal.kept().written().unwrap();
        let mut from = written.saturating_sub(KEPT);
        let mut found = Vec::new();
        let mut buffer = [0; 1000];
        while from < written {
            let piece = terminal.kept().read(from, &mut buffer).unwrap();
            found.extend(&buffer[..piece.length]);
            from = piece.from + u64::try_from(piece.length).unwrap();
        }
        let found = String::from_utf8_lossy(&found).into_owned();
        if holds(&found) {
            return found;
        }
        wait_readable(&[attached.streams().output()]);
    }
}

#[test]
fn a_terminal_continues_without_a_daemon() {
    let here = directory();
    let script = "test -t 1 && stty -echo && stty size; read line; stty size; seq 1 $line; echo end; read line; exit 5";
    let (first, shim) = start::<Terminal>(here.path(), &with_streams(script, "", STREAMS)).unwrap();
    shown(&first, |text| text.ends_with("30 120\r\n"));
    first.resize(80, 24).unwrap();
    // A frame is carried out before the daemon counts as gone.
    drop(first);
    let mut second: Attached<Terminal> = connect(here.path(), TOKEN, 0).unwrap();
    rustix::io::write(second.streams().master(), b"50000\n").unwrap();
    drop(second);
    second = connect(here.path(), TOKEN, u64::MAX).unwrap();
    let text = shown(&second, |text| text.ends_with("end\r\n"));
    assert!(text.contains("\r\n49998\r\n49999\r\n50000\r\nend\r\n"));
    let expected: usize = (1..=50_000).map(|number: u32| number.to_string().len() + 2).sum();
    // Both sizes, and the last line.
    let expected =
        u64::try_from(expected + "30 120\r\n".len() + "24 80\r\n".len() + "end\r\n".len()).unwrap();
    assert_eq!(second.streams().kept().written().unwrap(), expected);
    rustix::io::write(second.streams().master(), b"\n").unwrap();
    wait_for_news(&mut second, News::Exited(Status::Exited(5)));
    end(second, shim);
}

#[test]
fn the_last_output_of_a_terminal_is_kept_to_its_end() {
    let here = directory();
    let script = "trap 'trap \"\" TERM; seq 1 20000; exit 3' TERM; echo ready; while :; do sleep 0.01; done";
    let (mut attached, mut shim) =
        start::<Terminal>(here.path(), &with_streams(script, "", STREAMS)).unwrap();
    shown(&attached, |text| text.ends_with("ready\r\n"));
    attached.end(Duration::from_secs(20)).unwrap();
    wait_for_news(&mut attached, News::Ended { left: 0 });
    wait_for_exit(&mut shim);
    assert!(attached.streams().has_ended());
    shown(&attached, |text| text.ends_with("\r\n19999\r\n20000\r\n"));
}

/// A process that another user runs, as with sudo, cannot be ended and may write without end.
#[test]
fn a_terminal_that_always_has_output_ends() {
    let here = directory();
    let (mut attached, mut shim) =
        start::<Terminal>(here.path(), &with_streams("exec yes", "", STREAMS)).unwrap();
    shown(&attached, |text| text.len() > 1000);
    attached.end(Duration::ZERO).unwrap();
    wait_for_news(&mut attached, News::Ended { left: 0 });
    wait_for_exit(&mut shim);
}

/// Waits until the output has ended.
fn wait_for_end(attached: &mut Attached<Terminal>) {
    while !attached.streams().has_ended() {
        if attached.receive().unwrap().is_none() {
            wait_readable(&[attached.control()]);
        }
    }
}

#[test]
fn a_sweep_ends_all_processes_and_the_shim_stays_with_the_output() {
    let here = directory();
    let token = token();
    let script = "(setsid sleep $0 &); trap '' TERM; sleep $0 & echo up; read line; sleep $0; sleep $0";
    let (mut attached, shim) =
        start::<Terminal>(here.path(), &with_streams(script, &token, STREAMS)).unwrap();
    shown(&attached, |text| text == "up\r\n");
    until("all run", || with_token(&token) >= 3);
    attached.sweep(Duration::from_mins(10)).unwrap();
    // A later one may only shorten the time.
    attached.sweep(Duration::ZERO).unwrap();
    wait_for_news(&mut attached, News::Swept { left: 0 });
    assert_eq!(attached.status(), Some(Status::Signalled(9)));
    assert_eq!(with_token(&token), 0);
    drop(attached);
    let mut attached: Attached<Terminal> = connect(here.path(), TOKEN, 0).unwrap();
    assert_eq!(attached.status(), Some(Status::Signalled(9)));
    shown(&attached, |text| text == "up\r\n");
    wait_for_end(&mut attached);
    // There is nothing left to end.
    attached.sweep(Duration::ZERO).unwrap();
    wait_for_news(&mut attached, News::Swept { left: 0 });
    end(attached, shim);
}

#[test]
fn a_note_is_a_part_of_the_output() {
    let here = directory();
    let (first, shim) =
        start::<Terminal>(here.path(), &with_streams("echo up; read line", "", STREAMS)).unwrap();
    shown(&first, |text| text == "up\r\n");
    first.note(b"[a note]\r\n").unwrap();
    first.note(b"").unwrap();
    drop(first);
    let second: Attached<Terminal> = connect(here.path(), TOKEN, 0).unwrap();
    shown(&second, |text| text == "up\r\n[a note]\r\n");
    let long = [b'x'; 5000];
    second.note(&long).unwrap();
    shown(&second, |text| text.len() == 14 + 4096);
    end(second, shim);
}

#[test]
fn a_terminal_begins_with_input_and_in_an_opened_directory() {
    let here = directory();
    let work = here.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let opened = File::open(&work).unwrap();
    std::fs::rename(&work, here.path().join("moved")).unwrap();
    let start = Start {
        // An end of input for each program that reads.
        input: vec![4, 4],
        ..with_streams("cat; cat; touch made; read line", "", STREAMS)
    };
    let binary = Path::new(env!("CARGO_BIN_EXE_acpd-shim"));
    let name = OsStr::new(NAME);
    let (starting, shim) =
        Starting::spawn_in(binary, here.path(), name, &start, None, Some(opened.as_fd())).unwrap();
    let attached: Attached<Terminal> = starting.welcomed(PATIENCE).unwrap();
    until("it is made in the directory", || {
        here.path().join("moved/made").exists()
    });
    end(attached, shim);
}

#[test]
fn a_terminal_that_no_process_has_open_may_be_opened_again() {
    let here = directory();
    let script = "echo up; exec > /dev/null 2>&1 < /dev/null; until [ -e $0 ]; do sleep 0.01; done; echo late > /dev/tty; exit 4";
    let go = here.path().join("go");
    let (mut attached, shim) =
        start::<Terminal>(here.path(), &with_streams(script, go.to_str().unwrap(), STREAMS)).unwrap();
    wait_for_end(&mut attached);
    drop(attached);
    let mut attached: Attached<Terminal> = connect(here.path(), TOKEN, 0).unwrap();
    assert!(attached.streams().has_ended());
    std::fs::write(go, "").unwrap();
    // The end of before is out of date once the process has ended.
    wait_for_news(&mut attached, News::Exited(Status::Exited(4)));
    wait_for_end(&mut attached);
    shown(&attached, |text| text == "up\r\nlate\r\n");
    end(attached, shim);
}
