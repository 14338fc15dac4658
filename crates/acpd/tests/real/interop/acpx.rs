//! `acpx`, a client for users and scripts, through its command line. It starts its agent itself, and keeps a process
//! for each session; a tee between the two records the frames.

use std::process::Command;

use super::part::{LENT, TEXT};
use super::programs::{beside, file, installed, node};
use super::trace::Trace;
use crate::support::{Daemon, MARK, Outcome, Place, Running, outcome};

/// The exit code after a refused permission.
const REFUSED: i32 = 5;

struct Acpx<'a> {
    daemon: &'a Daemon,
    agent: String,
}

impl<'a> Acpx<'a> {
    fn new(daemon: &'a Daemon) -> Self {
        Self::of(daemon, "fake")
    }

    fn of(daemon: &'a Daemon, agent: &str) -> Self {
        let (_, acpd) = beside(daemon, agent, "");
        let (node, tee) = (node(), file("tests/interop/tee.mjs"));
        let frames = frames(daemon);
        let start = [node, tee, frames].map(|path| path.display().to_string());
        Self {
            daemon,
            agent: [&start[..], &acpd[..]].concat().join(" "),
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let script = installed(".tools/agents/acpx/node_modules/acpx/dist/cli.js", "deps");
        let (mut command, _) = beside(self.daemon, "", node());
        command
            .arg(script)
            .args(["--agent", &self.agent])
            .args(args)
            // Lets the test kill the background processes of `acpx`.
            .env(MARK, self.daemon.place.mark());
        command
    }

    fn run(&self, args: &[&str]) -> Outcome {
        outcome(&mut self.command(args))
    }

    /// Runs it successfully; returns its output.
    fn says(&self, args: &[&str]) -> String {
        let outcome = self.run(args);
        assert_eq!(outcome.code, Some(0), "{args:?}: {outcome:?}");
        outcome.stdout
    }
}

fn frames(daemon: &Daemon) -> std::path::PathBuf {
    daemon.place.data().join("frames")
}

#[test]
fn whole_turns() {
    let daemon = Daemon::start();
    let acpx = Acpx::new(&daemon);
    let notes = daemon.place.work().join("notes.txt");
    let notes = notes.display();
    let prompt = format!(
        "say hello; tool kind=edit id=t1 title=Edit path=a.txt; plan; permission kind=execute command=make; \
         write path={notes} text='{TEXT}'; read path={notes}; terminal echo terminal; say done"
    );
    let said = acpx.says(&["--approve-all", "exec", &prompt]);
    for part in [
        "hello",
        "Edit (completed)",
        "allowed (allow_once)",
        "wrote 7 bytes",
        "read 7 bytes: one two",
        "exit 0: terminal",
        "[done] end_turn",
    ] {
        assert!(said.contains(part), "{part:?} is not in:\n{said}");
    }
    let refused = acpx.run(&["--deny-all", "exec", "permission kind=execute command=make"]);
    assert_eq!(refused.code, Some(REFUSED), "{refused:?}");
    assert!(refused.stdout.contains("rejected (reject_once)"), "{refused:?}");
    let trace = Trace::read(&std::fs::read_to_string(frames(&daemon)).unwrap());
    trace.check_frames();
    // It writes files immediately.
    assert_eq!(trace.lent(), LENT);
    assert_eq!(std::fs::read_to_string(notes.to_string()).unwrap(), TEXT);
}

#[test]
fn a_session_of_many_commands() {
    let daemon = Daemon::start();
    let acpx = Acpx::new(&daemon);
    let session = acpx.says(&["sessions", "new"]).trim().to_owned();
    assert!(acpx.says(&["prompt", "say one"]).contains("one"));
    let turn = Running::start(&mut acpx.command(&["prompt", "say begun; slow ms=600000"]));
    turn.wait_for_output("begun");
    acpx.says(&["cancel"]);
    let end = turn.finish();
    assert!(end.stdout.contains("[done] cancelled"), "{end:?}");
    assert!(acpx.says(&["prompt", "say two"]).contains("two"));
    assert!(acpx.says(&["sessions", "list"]).contains(&session));
    acpx.says(&["sessions", "close"]);

    let trace = Trace::read(&std::fs::read_to_string(frames(&daemon)).unwrap());
    trace.check_frames();
    for method in [
        "session/new",
        "session/resume",
        "session/list",
        "session/cancel",
        "session/close",
    ] {
        assert_eq!(trace.did(method), 1, "{method}");
    }
}

#[test]
fn a_key_signs_in_before_the_first_session() {
    let place = Place::new("");
    place.configure(&place.agent("locked", &["--sign-in"], &[]));
    let daemon = Daemon::at(place);
    let acpx = Acpx::of(&daemon, "locked");
    let mut command = acpx.command(&["exec", "say hello"]);
    // Named after the agent's method "key".
    command.env("ACPX_AUTH_KEY", "secret");
    let outcome = outcome(&mut command);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stdout.contains("hello"), "{outcome:?}");
    let trace = Trace::read(&std::fs::read_to_string(frames(&daemon)).unwrap());
    trace.check_frames();
    assert_eq!(trace.did("authenticate"), 1);
}
