//! What passes between an agent and the daemons that come and go.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use acpd_host::{HeldError, Hold};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{PATIENCE, Place, read, read_to_end, stop, write};
use crate::support::until;

#[tokio::test]
async fn a_line_across_detach_and_attach_is_whole_and_comes_once() {
    for copies in [false, true] {
        let place = Place::with_copies(copies);
        let script = "echo ready; printf 'half of '; read line; echo \"the $line\"; cat >/dev/null";
        let (mut agent, hold) = place.start(script, "");
        assert_eq!(read(&mut agent.stdout, 14).await, "ready\nhalf of ");
        agent.process.pipes().acknowledge(6);
        agent.process.leave(PATIENCE);
        assert_eq!(read_to_end(&mut agent.stdout).await, "", "it is another's");
        let mut agent = place.shims.attach(&hold, 6).unwrap();
        write(&mut agent, "line\n").await;
        assert_eq!(read(&mut agent.stdout, 17).await, "half of the line\n");
        agent.process.pipes().acknowledge(23);
        agent.process.leave(PATIENCE);
        let mut agent = place.shims.attach(&hold, 23).unwrap();
        let exit = agent.process.stop(PATIENCE).await;
        assert_eq!(exit.reason, "the agent exited with code 0");
        assert_eq!(read_to_end(&mut agent.stdout).await, "");
        assert_eq!(place.names(), [""; 0]);
    }
}

#[tokio::test]
async fn output_without_a_daemon_is_read_later() {
    for copies in [false, true] {
        let place = Place::with_copies(copies);
        let (agent, hold) = place
            .start_ready(
                "echo ready; read line; seq 1 50000; touch done; cat >/dev/null",
                "",
            )
            .await;
        let mut agent = agent;
        write(&mut agent, "go\n").await;
        // The log has nothing yet.
        agent.process.leave(PATIENCE);
        let done = place.data.path().join("done");
        until("the agent has written everything", || done.exists()).await;
        let mut agent = place.shims.attach(&hold, 0).unwrap();
        let expected: String = std::iter::once("ready\n".to_owned())
            .chain((1..=50_000).map(|number| format!("{number}\n")))
            .collect();
        assert!(read(&mut agent.stdout, expected.len()).await == expected);
        stop(agent).await;
    }
}

/// What a daemon leaves that is killed while it appends a line.
#[tokio::test]
async fn half_a_line_for_the_agent_is_cut_and_whole_ones_arrive() {
    for copies in [false, true] {
        let place = Place::with_copies(copies);
        let (mut agent, hold) = place.start_ready("echo ready; cat > received", "").await;
        write(&mut agent, "one\ntwo\n").await;
        let end = agent.process.pipes().journal_end();
        assert_eq!(end, 8);
        own_journal().write_all_at(b"half of a line", end).unwrap();
        agent.process.leave(PATIENCE);
        let mut agent = place.shims.attach(&hold, 6).unwrap();
        assert_eq!(agent.process.pipes().journal_end(), 8);
        write(&mut agent, "three\n").await;
        stop(agent).await;
        let received = std::fs::read_to_string(place.data.path().join("received")).unwrap();
        assert_eq!(received, "one\ntwo\nthree\n");
    }
}

/// Returns the only journal that this process has open.
fn own_journal() -> std::fs::File {
    let files = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let mut journals = files.filter(|file| {
        std::fs::read_link(file.path())
            .is_ok_and(|link| link.to_string_lossy().contains("memfd:acpd-journal"))
    });
    let journal = journals.next().unwrap();
    assert!(journals.next().is_none());
    std::fs::File::options().write(true).open(journal.path()).unwrap()
}

#[tokio::test]
async fn a_line_that_is_not_whole_is_refused() {
    let place = Place::new();
    let (mut agent, _) = place.start_ready("echo ready; cat > received", "").await;
    agent.stdin.write_all(b"half of").await.unwrap_err();
    write(&mut agent, "whole\n").await;
    stop(agent).await;
    let received = std::fs::read_to_string(place.data.path().join("received")).unwrap();
    assert_eq!(received, "whole\n");
}

#[tokio::test]
async fn lines_that_do_not_fit_are_sent_as_the_agent_reads() {
    for copies in [false, true] {
        let place = Place::with_copies(copies);
        let script =
            "echo ready; until [ -e go ]; do sleep 0.01; done; head -c 5000001 | md5sum; cat >/dev/null";
        let (mut agent, _) = place.start_ready(script, "").await;
        let line = format!("{}\n", "x".repeat(5_000_000));
        write(&mut agent, &line).await;
        // The agent does not read yet, so no more is taken.
        let mut second = std::pin::pin!(agent.stdin.write_all(b"second\n"));
        assert!(
            tokio::time::timeout(Duration::from_millis(20), &mut second)
                .await
                .is_err()
        );
        std::fs::write(place.data.path().join("go"), "").unwrap();
        second.await.unwrap();
        assert_eq!(read(&mut agent.stdout, 32).await, md5(&line));
        stop(agent).await;
    }
}

fn md5(text: &str) -> String {
    let mut child = std::process::Command::new("md5sum")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()[..32].to_owned()
}

#[tokio::test]
async fn the_journal_has_what_was_sent_until_it_is_forgotten() {
    let place = Place::new();
    let (mut agent, hold) = place.start_ready("echo ready; cat >/dev/null", "").await;
    write(&mut agent, "first\n").await;
    let pipes = agent.process.pipes();
    let mark = pipes.journal_end();
    write(&mut agent, "second\nthird\n").await;
    assert_eq!(pipes.sent_since(mark).unwrap(), b"second\nthird\n");
    assert_eq!(pipes.sent_since(pipes.journal_end()).unwrap(), b"");
    assert!(pipes.sent_since(pipes.journal_end() + 1).is_err());
    agent.process.leave(PATIENCE);
    assert!(pipes.sent_since(0).is_err());
    let mut agent = place.shims.attach(&hold, 6).unwrap();
    let pipes = agent.process.pipes();
    assert_eq!(pipes.sent_since(0).unwrap(), b"first\nsecond\nthird\n");
    let line = format!("{}\n", "x".repeat(99_999));
    for _ in 0..10 {
        write(&mut agent, &line).await;
    }
    let end = pipes.journal_end();
    pipes.forget(end);
    assert!(pipes.sent_since(0).is_err());
    write(&mut agent, "last\n").await;
    assert_eq!(pipes.sent_since(end).unwrap(), b"last\n");
    stop(agent).await;
}

#[tokio::test]
async fn stderr_is_there_for_each_daemon() {
    let place = Place::new();
    let script = "echo first >&2; echo ready; read line; echo second >&2; echo more; cat >/dev/null";
    let (mut agent, hold) = place.start_ready(script, "").await;
    let stderr = agent.stderr.clone();
    until("it has arrived", || stderr.written() == 6).await;
    assert_eq!(stderr.since(0), Some(("first\n".to_owned(), 6)));
    write(&mut agent, "go\n").await;
    assert_eq!(read(&mut agent.stdout, 5).await, "more\n");
    agent.process.leave(PATIENCE);
    let agent = place.shims.attach(&hold, 11).unwrap();
    until("it has arrived", || agent.stderr.written() == 13).await;
    assert_eq!(agent.stderr.since(6), Some(("second\n".to_owned(), 13)));
    assert_eq!(stop(agent).await.stderr, "first\nsecond");
}

#[tokio::test]
async fn another_token_a_wrong_cursor_and_a_second_daemon_are_refused() {
    let place = Place::new();
    let (mut agent, hold) = place.start_ready("echo ready; cat >/dev/null", "").await;
    let refused = |hold: &Hold, cursor| place.shims.attach(hold, cursor).unwrap_err();
    assert!(matches!(refused(&hold, 0), HeldError::Busy { .. }));
    let token = Hold::new().token;
    let stranger = Hold {
        token,
        ..hold.clone()
    };
    let error = refused(&stranger, 0);
    assert!(matches!(error, HeldError::Denied { .. }));
    let text = error.to_string();
    assert!(text.contains(&hold.shim) && !text.contains(&hold.token), "{text}");
    // It was in no one's way.
    agent.process.pipes().acknowledge(6);
    write(&mut agent, "line\n").await;
    agent.process.leave(PATIENCE);
    for cursor in [0, 5, 7] {
        let error = refused(&hold, cursor);
        assert!(
            matches!(error, HeldError::Cursor { tail: 6, head: 6, .. }),
            "{error}"
        );
    }
    let invalid = |token: &str, mark| Hold {
        token: token.to_owned(),
        mark,
        ..hold.clone()
    };
    assert!(matches!(
        refused(&invalid("x", hold.mark), 6),
        HeldError::Damaged("token")
    ));
    assert!(matches!(
        refused(&invalid(&hold.token, 1), 6),
        HeldError::Damaged("mark")
    ));
    assert!(matches!(refused(&Hold::new(), 0), HeldError::Gone { .. }));
    stop(place.shims.attach(&hold, 6).unwrap()).await;
    assert!(matches!(refused(&hold, 6), HeldError::Gone { .. }));
}

#[tokio::test]
async fn a_full_ring_blocks_the_agent_until_the_log_has_more() {
    for copies in [false, true] {
        let place = Place::with_copies(copies);
        place.shims.set_longest_line(0);
        let ring = 1 << 20;
        let script = "seq 1 1000000; touch done; cat >/dev/null";
        let (mut agent, _) = place.start(script, "");
        let expected: String = (1..=1_000_000).map(|number| format!("{number}\n")).collect();
        let mut found = read(&mut agent.stdout, ring - 1).await;
        let mut byte = [0];
        let more = tokio::time::timeout(Duration::from_millis(20), agent.stdout.read(&mut byte));
        assert!(more.await.is_err(), "the log has nothing yet");
        assert!(!place.data.path().join("done").exists());
        let pipes = agent.process.pipes();
        while found.len() < expected.len() {
            let more = pipes.clone();
            let stored = u64::try_from(found.len()).unwrap();
            // The reader waits already.
            let acknowledge = async move { more.acknowledge(stored) };
            let (part, ()) = tokio::join!(
                read(&mut agent.stdout, 100_000.min(expected.len() - found.len())),
                acknowledge
            );
            assert!(!part.is_empty());
            found += &part;
        }
        assert!(found == expected);
        stop(agent).await;
        assert!(place.data.path().join("done").exists());
    }
}

#[tokio::test]
async fn a_line_of_33_mib_is_whole_for_each_daemon() {
    let place = Place::new();
    let bytes = 33 << 20;
    place.shims.set_longest_line(bytes);
    let length = usize::try_from(bytes).unwrap() + 1;
    let script = format!("head -c {bytes} /dev/zero | tr '\\0' x; echo; read line; echo end; cat >/dev/null");
    let (mut agent, hold) = place.start(&script, "");
    let expected = format!("{}\n", "x".repeat(length - 1));
    assert!(read(&mut agent.stdout, length).await == expected);
    agent.process.leave(PATIENCE);
    let mut agent = place.shims.attach(&hold, 0).unwrap();
    assert!(read(&mut agent.stdout, length).await == expected);
    agent.process.pipes().acknowledge(bytes + 1);
    write(&mut agent, "go\n").await;
    assert_eq!(read(&mut agent.stdout, 4).await, "end\n");
    stop(agent).await;
}
