//! Who may attach, and when.

#![allow(clippy::unwrap_used, reason = "what helps a test fails by panicking")]

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

use acpd_shim::{
    Attached, Farewell, Flushed, Frame, News, OpenFiles, Pipes, Place, ShimError, Starting, Status, Terminal,
    Token,
};

use crate::support::{
    NAME, PATIENCE, TOKEN, connect, directory, end, read_from, resume, shell, spawn, start, stop, until,
    wait_for_exit, wait_for_news,
};

const CAT: &str = "echo ready; exec cat";

fn send(attached: &mut Attached<Pipes>, lines: &str) {
    attached.append(lines.as_bytes()).unwrap();
    assert_eq!(attached.flush().unwrap(), Flushed::All);
}

#[test]
fn only_one_daemon_with_the_token_is_attached() {
    let here = directory();
    let (mut first, shim) = start::<Pipes>(here.path(), &shell(CAT, "", 4096)).unwrap();
    assert_eq!(read_from(&mut first, 0, 6), "ready\n");
    let refused = |token, cursor| {
        let name = OsStr::new(NAME);
        Attached::<Pipes>::connect(here.path(), name, token, cursor, Duration::from_millis(300)).unwrap_err()
    };
    assert!(matches!(refused(Token(0), 0), ShimError::Denied));
    assert!(matches!(refused(TOKEN, 0), ShimError::Busy));
    first.acknowledge(3).unwrap();
    drop(first);
    let error = refused(TOKEN, 2);
    assert!(matches!(error, ShimError::Cursor { tail: 3, head: 6 }), "{error}");
    assert!(matches!(refused(TOKEN, 7), ShimError::Cursor { .. }));
    assert!(matches!(
        connect::<Terminal>(here.path(), TOKEN, 3).unwrap_err(),
        ShimError::Streams(_)
    ));
    let mut second: Attached<Pipes> = connect(here.path(), TOKEN, 3).unwrap();
    assert_eq!(read_from(&mut second, 3, 3), "dy\n");
    send(&mut second, "a\nb\n");
    assert_eq!(read_from(&mut second, 6, 4), "a\nb\n");
    end(second, shim);
}

#[test]
fn connections_without_the_token_do_not_keep_a_daemon_out() {
    let here = directory();
    let (first, shim) = start::<Pipes>(here.path(), &shell(CAT, "", 4096)).unwrap();
    drop(first);
    let place = Place::open(here.path(), OsStr::new(NAME)).unwrap();
    let mut silent = Vec::new();
    for _ in 0..100 {
        // While the shim has not accepted the others, the system refuses more of them.
        until("a connection is accepted", || match place.connect() {
            Ok(channel) => {
                silent.push(channel);
                true
            }
            Err(_) => false,
        });
    }
    let mut attached = None;
    until("the daemon is attached", || {
        attached = connect::<Pipes>(here.path(), TOKEN, 0).ok();
        attached.is_some()
    });
    end(attached.unwrap(), shim);
}

#[test]
fn frames_that_are_unknown_or_none_are_refused_and_end_nothing() {
    let here = directory();
    let (first, shim) = start::<Pipes>(here.path(), &shell(CAT, "", 4096)).unwrap();
    drop(first);
    let place = Place::open(here.path(), OsStr::new(NAME)).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let before = place.connect().unwrap();
    before.send(&Frame::Ack(0), &[]).unwrap();
    let answer = before.wait(deadline).unwrap().unwrap();
    assert_eq!(answer.frame, Frame::Bye(Farewell::Denied), "without a token");
    let channel = place.connect().unwrap();
    let attach = Frame::Attach {
        token: TOKEN,
        cursor: 0,
    };
    channel.send(&attach, &[]).unwrap();
    let hello = channel.wait(deadline).unwrap().unwrap();
    assert!(matches!(hello.frame, Frame::Hello(_)));
    assert_eq!(hello.descriptors.len(), 6);
    let cases = [
        (Frame::Unknown(99), 99),
        (Frame::Start, 11),
        (attach, 2),
        // This shim's daemon sends the lines itself.
        (Frame::Flush(0), 12),
        (Frame::Signal(0), 6),
        (Frame::Signal(u32::MAX), 6),
    ];
    for (frame, kind) in cases {
        // Descriptors that were not asked for are closed.
        channel.send(&frame, &[channel.as_fd()]).unwrap();
        let answer = channel.wait(deadline).unwrap().unwrap();
        assert_eq!(answer.frame, Frame::Refused(kind));
    }
    for bytes in [&b"x"[..], &[1; 41], &[]] {
        rustix::net::send(&channel, bytes, rustix::net::SendFlags::empty()).unwrap();
        let answer = channel.wait(deadline).unwrap().unwrap();
        assert_eq!(answer.frame, Frame::Refused(0));
    }
    // A cursor that is none does not free the ring.
    channel.send(&Frame::Ack(u64::MAX), &[]).unwrap();
    drop((channel, hello));
    let attached = connect::<Pipes>(here.path(), TOKEN, 0).unwrap();
    end(attached, shim);
}

/// The daemon uses the place of acknowledged output at once, and the shim may learn of it much later.
#[test]
fn output_that_was_acknowledged_late_is_known_to_the_shim() {
    let here = directory();
    for ring in [16, 4096, 50_000] {
        let (first, shim) = start::<Pipes>(here.path(), &shell("seq 1 100000; exec cat", "", ring)).unwrap();
        drop(first);
        until("the ring is full", || {
            let attached = connect::<Pipes>(here.path(), TOKEN, 0).unwrap();
            attached.streams().head() == ring - 1
        });
        let mut attached = connect::<Pipes>(here.path(), TOKEN, 0).unwrap();
        stop(&shim);
        let mut cursor = 0;
        for acknowledged in [1, ring - 1, ring, 1] {
            let before = attached.streams().head();
            // Never more than there is.
            cursor = (cursor + acknowledged).min(before);
            attached.acknowledge(cursor).unwrap();
            until("the ring is full again", || {
                attached.fill().unwrap();
                attached.streams().head() == cursor + ring - 1
            });
        }
        let head = attached.streams().head();
        drop(attached);
        resume(&shim);
        let mut attached = connect::<Pipes>(here.path(), TOKEN, cursor).unwrap();
        assert!(attached.streams().head() >= head);
        let from = usize::try_from(cursor).unwrap();
        let expected: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
        let found = read_from(&mut attached, cursor, usize::try_from(ring - 1).unwrap());
        assert!(expected[from..].starts_with(&found), "{ring}");
        end(attached, shim);
    }
}

#[test]
fn a_directory_that_others_can_reach_is_refused() {
    let here = directory();
    for mode in [0o755, 0o710, 0o704] {
        std::fs::set_permissions(here.path(), PermissionsExt::from_mode(mode)).unwrap();
        let error = start::<Pipes>(here.path(), &shell(CAT, "", 4096)).unwrap_err();
        assert!(matches!(error, ShimError::Place(_)), "{error}");
    }
    std::fs::set_permissions(here.path(), PermissionsExt::from_mode(0o700)).unwrap();
    for name in ["", ".", "..", "a/b", "/a", &"a".repeat(65)] {
        assert!(Place::open(here.path(), OsStr::new(name)).is_err(), "{name}");
    }
}

#[test]
fn a_long_path_is_short_enough() {
    let here = directory();
    let deep = here.path().join("a".repeat(200)).join("b".repeat(200));
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::set_permissions(&deep, PermissionsExt::from_mode(0o700)).unwrap();
    let (first, shim) = start::<Pipes>(&deep, &shell(CAT, "", 4096)).unwrap();
    drop(first);
    end(connect::<Pipes>(&deep, TOKEN, 0).unwrap(), shim);
}

#[test]
fn a_start_that_fails_has_its_reason_and_leaves_no_socket() {
    let here = directory();
    let reason = |command: &str, work: &Path| {
        let mut program = shell("", "", 4096);
        program.command = command.into();
        work.clone_into(&mut program.directory);
        match start::<Pipes>(here.path(), &program).unwrap_err() {
            ShimError::Program(error) => error.kind(),
            error => panic!("{error}"),
        }
    };
    assert_eq!(reason("no-such-program", Path::new("/")), ErrorKind::NotFound);
    assert_eq!(reason("/", Path::new("/")), ErrorKind::PermissionDenied);
    assert_eq!(reason("sh", &here.path().join("gone")), ErrorKind::NotFound);
    let error = start::<Pipes>(here.path(), &shell("", "", 1)).unwrap_err();
    assert!(matches!(error, ShimError::Streams(_)), "{error}");
    until("no socket is left", || {
        std::fs::read_dir(here.path()).unwrap().next().is_none()
    });
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let here = directory();
    let (first, shim) = start::<Pipes>(here.path(), &shell(CAT, "", 4096)).unwrap();
    let error = start::<Pipes>(here.path(), &shell(CAT, "", 4096)).unwrap_err();
    assert!(matches!(&error, ShimError::Place(error) if error.kind() == ErrorKind::AddrInUse));
    end(first, shim);
}

#[test]
fn an_exit_is_seen_with_and_without_a_daemon() {
    let here = directory();
    for copies in [false, true] {
        let mut program = shell("echo out; echo err >&2; read line; exit 7", "", 4096);
        program.copies = copies;
        let (mut first, shim) = start::<Pipes>(here.path(), &program).unwrap();
        assert_eq!(first.status(), None);
        drop(first);
        first = connect(here.path(), TOKEN, 0).unwrap();
        send(&mut first, "now\n");
        wait_for_news(&mut first, News::Exited(Status::Exited(7)));
        drop(first);
        let mut second: Attached<Pipes> = connect(here.path(), TOKEN, 0).unwrap();
        assert_eq!(second.status(), Some(Status::Exited(7)));
        assert_eq!(read_from(&mut second, 0, 100), "out\n");
        let mut buffer = [0; 10];
        let errors = second.streams().errors();
        until("the shim has read stderr", || errors.written().unwrap() == 4);
        let piece = errors.read(0, &mut buffer).unwrap();
        assert_eq!(&buffer[..piece.length], b"err\n");
        end(second, shim);
    }
}

#[test]
fn nothing_but_the_three_streams_reaches_the_process() {
    let here = directory();
    // The last descriptor belongs to the listing itself.
    let (mut attached, shim) =
        start::<Pipes>(here.path(), &shell("ls /proc/self/fd; exec cat", "", 4096)).unwrap();
    assert_eq!(read_from(&mut attached, 0, 8), "0\n1\n2\n3\n");
    end(attached, shim);
}

#[test]
fn limits_and_environment_of_the_start_reach_the_process() {
    let here = directory();
    // Lower than the mark of a daemon, under which these tests may run.
    let mark = 1 << 40 | 5;
    let script = "ulimit -n; ulimit -Hn; grep -c \"realtime timeout  *$MARK  *$MARK \" /proc/self/limits; echo $EMPTY.; pwd";
    let mut program = shell(script, "", 4096);
    program.environment.push(("MARK".into(), mark.to_string().into()));
    program.environment.push(("EMPTY".into(), "".into()));
    program.directory = "/proc".into();
    program.mark = Some(mark);
    program.open_files = Some(OpenFiles {
        current: Some(100),
        maximum: Some(200),
    });
    let (mut attached, shim) = start::<Pipes>(here.path(), &program).unwrap();
    assert_eq!(read_from(&mut attached, 0, 100), "100\n200\n1\n.\n/proc\n");
    end(attached, shim);
}

#[test]
fn a_daemon_waits_until_the_one_before_it_is_gone() {
    let here = directory();
    let (first, shim) = start::<Pipes>(here.path(), &shell(CAT, "", 4096)).unwrap();
    let path = here.path().to_owned();
    let second = std::thread::spawn(move || connect::<Pipes>(&path, TOKEN, 0));
    // Whether the second has asked before or asks only now, it is attached in the end.
    std::thread::yield_now();
    drop(first);
    end(second.join().unwrap().unwrap(), shim);
}

#[test]
fn a_daemon_is_attached_though_many_connections_wait() {
    let here = directory();
    let (first, shim) = start::<Pipes>(here.path(), &shell(CAT, "", 4096)).unwrap();
    drop(first);
    let place = Place::open(here.path(), OsStr::new(NAME)).unwrap();
    stop(&shim);
    let mut waiting = Vec::new();
    while let Ok(channel) = place.connect() {
        waiting.push(channel);
    }
    // The system refuses more of them until the shim continues.
    let path = here.path().to_owned();
    let daemon = std::thread::spawn(move || connect::<Pipes>(&path, TOKEN, 0));
    resume(&shim);
    end(daemon.join().unwrap().unwrap(), shim);
}

/// An agent of the same user may stop its shim.
#[test]
fn a_shim_that_was_stopped_continues_when_it_is_needed() {
    let here = directory();
    let (mut attached, mut shim) = start::<Pipes>(here.path(), &shell("yes; exec cat", "", 4096)).unwrap();
    assert_eq!(attached.shim(), shim.id());
    stop(&shim);
    let mut cursor = 0;
    until("the shim is told", || {
        // More than the connection takes while nobody reads.
        (0..5_000).all(|_| {
            until("the ring has output", || {
                attached.fill().unwrap();
                attached.streams().head() > cursor
            });
            cursor += 1;
            attached.acknowledge(cursor).unwrap()
        });
        attached.acknowledge(cursor).unwrap()
    });
    stop(&shim);
    drop(attached);
    let attached = connect::<Pipes>(here.path(), TOKEN, cursor).unwrap();
    stop(&shim);
    attached.kill().unwrap();
    wait_for_exit(&mut shim);
}

#[test]
fn a_shim_that_is_silent_at_its_start_leaves_nothing() {
    let here = directory();
    let place = here.path().join("place");
    std::fs::create_dir(&place).unwrap();
    std::fs::set_permissions(&place, PermissionsExt::from_mode(0o700)).unwrap();
    // Makes the socket's file, and does not answer.
    let fake = here.path().join("fake");
    std::fs::write(
        &fake,
        "#!/bin/sh\ntrap '' TERM; echo > \"$1/$2\"; while :; do /bin/sleep 1; done\n",
    )
    .unwrap();
    std::fs::set_permissions(&fake, PermissionsExt::from_mode(0o700)).unwrap();
    let program = shell(CAT, "", 4096);
    let (starting, mut shim) = Starting::spawn(&fake, &place, OsStr::new(NAME), &program, None).unwrap();
    until("the socket is there", || place.join(NAME).exists());
    let error = starting.welcomed::<Pipes>(Duration::ZERO).unwrap_err();
    assert!(matches!(error, ShimError::Silent), "{error}");
    assert!(!place.join(NAME).exists());
    assert_eq!(shim.wait().unwrap().signal(), Some(9));
    // The real one is ended with what it has started.
    let (starting, mut shim) = spawn(&place, &program).unwrap();
    stop(&shim);
    let error = starting.welcomed::<Pipes>(Duration::ZERO).unwrap_err();
    assert!(matches!(error, ShimError::Silent), "{error}");
    shim.wait().unwrap();
    assert!(!place.join(NAME).exists());
}

#[test]
fn a_shim_has_a_mark_of_its_own_before_its_process_runs() {
    let here = directory();
    let mark = 1 << 40 | 5;
    let script = "grep -c \"realtime timeout  *$MARK  *$MARK \" /proc/$PPID/limits; exec cat";
    let mut program = shell(script, "", 4096);
    program.environment.push(("MARK".into(), mark.to_string().into()));
    program.shim_mark = Some(mark);
    let (mut attached, shim) = start::<Pipes>(here.path(), &program).unwrap();
    assert_eq!(read_from(&mut attached, 0, 2), "1\n");
    end(attached, shim);
}

#[test]
fn a_process_that_does_not_read_any_more_is_known_where_the_shim_copies() {
    let here = directory();
    for copies in [false, true] {
        let mut program = shell("exec <&-; echo closed; exec sleep 1000", "", 4096);
        program.copies = copies;
        let (mut attached, shim) = start::<Pipes>(here.path(), &program).unwrap();
        assert_eq!(read_from(&mut attached, 0, 7), "closed\n");
        attached.append(b"late\n").unwrap();
        assert_eq!(attached.flush().unwrap(), Flushed::Closed);
        end(attached, shim);
    }
}
