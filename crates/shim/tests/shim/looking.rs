//! What a process without the token sees and ends.

#![allow(clippy::unwrap_used, reason = "what helps a test fails by panicking")]

use std::ffi::OsStr;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use acpd_shim::{News, Pipes, Seen, ShimError, State, remove_leftover};

use crate::support::{
    NAME, PATIENCE, TOKEN, connect, directory, end, read_from, shell, start, stop, token, until,
    wait_for_news, with_token,
};

fn look(here: &tempfile::TempDir) -> Result<Seen, ShimError> {
    Seen::look(here.path(), OsStr::new(NAME), PATIENCE)
}

#[test]
fn a_look_shows_the_state_and_changes_nothing() {
    let here = directory();
    let (mut attached, shim) = start::<Pipes>(here.path(), &shell("echo ready; exec cat", "", 4096)).unwrap();
    assert_eq!(read_from(&mut attached, 0, 6), "ready\n");
    let seen = look(&here).unwrap();
    assert_eq!(seen.shim(), shim.id());
    let expected = State {
        process: attached.process(),
        is_attached: true,
        unread: 6,
        ..State::default()
    };
    let now = |state: State| State { secs: 0, ..state };
    assert_eq!(seen.state().map(now), Some(expected));
    // The daemon has the shim as before, and is heard by it.
    attached.acknowledge(6).unwrap();
    until("the shim knows what is stored", || {
        look(&here).unwrap().state().unwrap().unread == 0
    });
    drop(attached);
    until("the shim is alone", || {
        !look(&here).unwrap().state().unwrap().is_attached
    });
    let again = connect::<Pipes>(here.path(), TOKEN, 6).unwrap();
    end(again, shim);
    assert!(matches!(look(&here).unwrap_err(), ShimError::Connection(_)));
}

#[test]
fn a_shim_that_does_not_answer_is_seen_and_ends_with_all_that_it_started() {
    let here = directory();
    let token = token();
    let script = "sleep $0 & setsid sleep $0 & echo ready; exec sleep $0";
    let (mut attached, mut shim) = start::<Pipes>(here.path(), &shell(script, &token, 4096)).unwrap();
    assert_eq!(read_from(&mut attached, 0, 6), "ready\n");
    stop(&shim);
    let seen = Seen::look(here.path(), OsStr::new(NAME), Duration::from_millis(50)).unwrap();
    assert_eq!((seen.shim(), seen.state()), (shim.id(), None));
    seen.terminate().unwrap();
    assert!(seen.has_ended_in(PATIENCE));
    wait_for_news(&mut attached, News::Ended { left: 0 });
    assert!(shim.wait().unwrap().success());
    assert_eq!(with_token(&token), 0);
    assert!(!here.path().join(NAME).exists());
}

#[test]
fn only_the_socket_of_a_shim_that_is_gone_is_removed() {
    let here = directory();
    let name = OsStr::new(NAME);
    let (attached, mut shim) = start::<Pipes>(here.path(), &shell("exec cat", "", 4096)).unwrap();
    assert!(!remove_leftover(here.path(), name).unwrap());
    let seen = look(&here).unwrap();
    seen.kill().unwrap();
    assert!(seen.has_ended_in(PATIENCE));
    shim.wait().unwrap();
    drop(attached);
    let refused = look(&here).unwrap_err();
    assert!(
        matches!(&refused, ShimError::Connection(error) if error.kind() == std::io::ErrorKind::ConnectionRefused),
        "{refused}"
    );
    assert!(remove_leftover(here.path(), name).unwrap());
    assert!(!here.path().join(NAME).exists());
    assert!(!remove_leftover(here.path(), name).unwrap());
    // Another kind of socket is no shim's.
    let _other = UnixListener::bind(here.path().join(NAME)).unwrap();
    assert!(remove_leftover(here.path(), name).is_err());
}
