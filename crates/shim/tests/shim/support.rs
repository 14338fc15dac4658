//! Shims for tests, and waiting for events instead of times.

#![allow(clippy::unwrap_used, reason = "what helps a test fails by panicking")]

use std::ffi::{OsStr, OsString};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use acpd_shim::{Attached, Moved, News, Pipes, ShimError, Start, Starting, StreamKind, Streams, Token};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Timeout of all waits. Only failures reach it.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub const TOKEN: Token = Token(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
pub const NAME: &str = "7.sock";

/// A directory that only this user can reach.
pub fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o700)).unwrap();
    directory
}

/// Returns `sh -c script` on pipes with a ring of this size. `$0` is `token`.
pub fn shell(script: &str, token: &str, ring: u64) -> Start {
    with_streams(script, token, StreamKind::Pipes { ring })
}

pub fn with_streams(script: &str, token: &str, streams: StreamKind) -> Start {
    Start {
        arguments: ["-c", script, token].map(OsString::from).into(),
        environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
        orphan_secs: 600,
        ..Start::new(TOKEN, "sh", streams)
    }
}

pub fn spawn(directory: &Path, start: &Start) -> Result<(Starting, Child), ShimError> {
    let binary = Path::new(env!("CARGO_BIN_EXE_acpd-shim"));
    Starting::spawn(binary, directory, OsStr::new(NAME), start, None)
}

pub fn start<S: Streams>(directory: &Path, start: &Start) -> Result<(Attached<S>, Child), ShimError> {
    let (starting, mut shim) = spawn(directory, start)?;
    let attached = starting.welcomed(PATIENCE);
    if attached.is_err() {
        shim.wait().unwrap();
    }
    Ok((attached?, shim))
}

pub fn connect<S: Streams>(directory: &Path, token: Token, cursor: u64) -> Result<Attached<S>, ShimError> {
    Attached::connect(directory, OsStr::new(NAME), token, cursor, PATIENCE)
}

/// Waits until one of the descriptors is readable.
pub fn wait_readable(descriptors: &[BorrowedFd<'_>]) {
    wait_for(descriptors, None);
}

/// Waits until one of the descriptors is readable, or `writable` is writable.
pub fn wait_for(readable: &[BorrowedFd<'_>], writable: Option<BorrowedFd<'_>>) {
    let inputs = readable
        .iter()
        .map(|descriptor| PollFd::from_borrowed_fd(*descriptor, PollFlags::IN));
    let output = writable.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::OUT));
    let mut polled: Vec<_> = inputs.chain(output).collect();
    let timeout = Timespec::try_from(PATIENCE).unwrap();
    let ready = poll(&mut polled, Some(&timeout)).unwrap();
    assert!(ready > 0, "nothing became ready");
}

/// Waits until `holds` returns true.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::yield_now();
    }
}

/// Receives news until this one.
pub fn wait_for_news<S: Streams>(attached: &mut Attached<S>, expected: News) {
    loop {
        // It may have arrived while output was read.
        if attached
            .status()
            .is_some_and(|status| expected == News::Exited(status))
        {
            return;
        }
        match attached.receive().unwrap() {
            Some(news) if news == expected => return,
            Some(News::Lost) => panic!("lost, before {expected:?}"),
            Some(_) => {}
            None => wait_readable(&[attached.control()]),
        }
    }
}

/// Returns output from this byte on until it has this length, or ends.
pub fn read_from(attached: &mut Attached<Pipes>, mut from: u64, length: usize) -> String {
    let mut found = Vec::new();
    let mut buffer = [0; 1000];
    while found.len() < length {
        // What a shim that copies says about the end is news.
        while attached.receive().unwrap().is_some_and(|news| news != News::Lost) {}
        let moved = attached.fill().unwrap();
        let read = attached.streams().read(from, &mut buffer).unwrap();
        found.extend(&buffer[..read]);
        from += u64::try_from(read).unwrap();
        if read > 0 {
            continue;
        }
        match moved {
            Moved::Ended => break,
            Moved::Nothing => wait_readable(&[attached.streams().output(), attached.control()]),
            Moved::Bytes(_) | Moved::Full => {}
        }
    }
    String::from_utf8(found).unwrap()
}

/// Ends the shim, and waits for it.
pub fn end<S: Streams>(mut attached: Attached<S>, mut shim: Child) {
    attached.end(PATIENCE).unwrap();
    wait_for_news(&mut attached, News::Ended { left: 0 });
    wait_for_exit(&mut shim);
}

/// Stops the shim, which then reads nothing.
pub fn stop(shim: &Child) {
    kill_process(Pid::from_child(shim), Signal::STOP).unwrap();
    let path = format!("/proc/{}/stat", shim.id());
    until("the shim is stopped", || {
        std::fs::read_to_string(&path).unwrap().contains(") T ")
    });
}

pub fn resume(shim: &Child) {
    kill_process(Pid::from_child(shim), Signal::CONT).unwrap();
}

pub fn wait_for_exit(shim: &mut Child) {
    until("the shim exits", || shim.try_wait().unwrap().is_some());
}

/// Returns a number that only this test's processes have on their command lines, and that `sleep` accepts.
pub fn token() -> String {
    (5_000_000_000 + u64::from(std::process::id())).to_string()
}

/// Returns the number of living processes with `token` among their arguments.
pub fn with_token(token: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap();
    let has = |path: &Path| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|argument| argument == token.as_bytes())
    };
    entries.flatten().filter(|entry| has(&entry.path())).count()
}
