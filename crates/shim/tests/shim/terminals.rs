//! Terminals outlive their daemons with their last output.

#![allow(clippy::unwrap_used, reason = "what helps a test fails by panicking")]

use std::time::Duration;

use acpd_shim::{Attached, News, Status, StreamKind, Terminal};

use crate::support::{
    TOKEN, connect, directory, end, start, wait_for_exit, wait_for_news, wait_readable, with_streams,
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
