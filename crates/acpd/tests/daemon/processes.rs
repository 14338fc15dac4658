//! No process of an agent outlives the daemon, however it hides and however the daemon ends.

#![cfg(target_os = "linux")]

use rustix::process::Signal;

use crate::support::{Client, Daemon, Place, children_of, exists, signal, wait_until, with_argument};

/// A daemon with an agent in the middle of a turn. The agent has started processes that ignore SIGTERM, in their own
/// sessions, without an environment, and with parents that have exited.
struct Litter {
    daemon: Daemon,
    /// The pid of a process that the agent itself started.
    away: u32,
    /// An argument of exactly those processes that a terminal started.
    token: String,
}

impl Litter {
    fn new() -> Self {
        let daemon = Daemon::start();
        let mut client = Client::new(&daemon);
        let thread = client.thread(&daemon);
        let token = format!("{}", 5_000_000_000 + u64::from(daemon.pid()));
        let hide = format!("(env -i setsid sh -c 'trap : HUP; trap \\\"\\\" TERM; sleep {token}' &)");
        client.start(
            &thread,
            &format!("spawn away; terminal sh -c \"trap '' TERM HUP; {hide}; setsid sleep {token} & echo up; sleep {token}\""),
        );
        let said = client.wait_for("item/agentMessage/delta");
        let pid = said.text("text").strip_prefix("spawned ").expect("a pid").trim();
        let away = pid.parse().expect("a pid");
        client.wait_for("item/terminalCommand/output");
        wait_until("all of the terminal's are up", || {
            with_argument(&token).len() == 3
        });
        assert!(exists(away));
        Self { daemon, away, token }
    }

    fn left(&self) -> Vec<u32> {
        let mut left = with_argument(&self.token);
        left.extend(Some(self.away).filter(|pid| exists(*pid)));
        left.extend(self.daemon.place.agents());
        left
    }

    fn wait_for_nothing(&self) {
        wait_until("nothing is left", || self.left().is_empty());
    }

    fn keeper(&self) -> u32 {
        let found: Vec<_> = children_of(self.daemon.pid())
            .into_iter()
            .filter(|pid| with_argument("keep").contains(pid))
            .collect();
        assert_eq!(found.len(), 1, "there is one keeper");
        found[0]
    }
}

impl Drop for Litter {
    fn drop(&mut self) {
        for pid in self.left() {
            signal(pid, Signal::KILL);
        }
    }
}

#[test]
fn a_daemon_that_is_killed_leaves_nothing() {
    let mut litter = Litter::new();
    let keeper = litter.keeper();
    litter.daemon.kill();
    litter.wait_for_nothing();
    wait_until("the keeper is gone", || !exists(keeper));
}

#[test]
fn a_stopped_daemon_leaves_no_process() {
    for how in [Signal::TERM, Signal::INT] {
        let mut litter = Litter::new();
        let keeper = litter.keeper();
        // Ctrl-C or a service manager sends the signal to every process of the daemon.
        signal(keeper, how);
        signal(litter.daemon.pid(), how);
        assert_eq!(litter.daemon.wait().code(), Some(0));
        assert_eq!(litter.left(), [0; 0]);
        assert!(!exists(keeper));
    }
}

#[test]
fn the_next_start_ends_leftover_processes() {
    let mut litter = Litter::new();
    let keeper = litter.keeper();
    signal(keeper, Signal::KILL);
    litter.daemon.kill();
    assert!(exists(litter.away), "nobody is there to end it");
    litter.daemon.restart();
    assert_eq!(litter.left(), [0; 0]);
}

#[test]
fn another_daemon_touches_none_of_it() {
    let litter = Litter::new();
    let mut other = Litter::new();
    other.daemon.kill();
    other.wait_for_nothing();
    other.daemon.restart();
    assert_eq!(other.daemon.stop().code(), Some(0));
    assert_eq!(with_argument(&litter.token).len(), 3);
    assert!(exists(litter.away));
    assert!(exists(litter.keeper()));
}

#[test]
fn the_keeper_holds_nothing_of_the_daemon() {
    let mut litter = Litter::new();
    let keeper = litter.keeper();
    let mut open: Vec<_> = std::fs::read_dir(format!("/proc/{keeper}/fd"))
        .expect("the keeper lives")
        .map(|entry| entry.expect("a descriptor").file_name())
        .collect();
    open.sort();
    assert_eq!(open, ["0", "1", "2"]);
    for how in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        signal(keeper, how);
    }
    assert_eq!(litter.daemon.stop().code(), Some(0));
    assert!(!exists(keeper));
}

/// Returns the command of a terminal that starts a process without a mark, an environment and parents, and an argument
/// that identifies this process.
fn escape(daemon: &Daemon, stay: &str) -> (String, String) {
    let script = daemon.place.work().join("escape.py");
    std::fs::write(&script, include_str!("../support/escape.py")).expect("it can be written");
    let token = format!("{}", 6_000_000_000 + u64::from(daemon.pid()));
    let command = format!("terminal python3 escape.py {token} {stay}");
    (command.trim_end().to_owned(), token)
}

/// Kills the processes with an argument when a test ends, even if it fails.
struct Leftover(String);

impl Leftover {
    fn wait_for_nothing(&self) {
        wait_until("what hides is ended", || with_argument(&self.0).is_empty());
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        for pid in with_argument(&self.0) {
            signal(pid, Signal::KILL);
        }
    }
}

fn hides_behind_a_terminal(daemon: &Daemon) {
    let mut client = Client::new(daemon);
    let thread = client.thread(daemon);
    let (command, token) = escape(daemon, "");
    let leftover = Leftover(token);
    let turn = client.turn(&thread, &command);
    assert!(turn.said().contains("hidden"), "{}", turn.said());
    leftover.wait_for_nothing();
}

#[test]
fn a_process_that_hides_does_not_outlive_its_terminal() {
    hides_behind_a_terminal(&Daemon::start());
    hides_behind_a_terminal(&Daemon::at(Place::without_sandbox("")));
}

/// Processes of users other than root can remove the mark if there is no sandbox.
#[test]
fn an_orphan_without_a_mark_does_not_outlive_its_terminal() {
    let place = Place::without_sandbox("");
    let unprivileged = ["setpriv", "--bounding-set", "-sys_admin", "--"];
    hides_behind_a_terminal(&Daemon::behind(place, &unprivileged));
}

#[test]
fn a_process_that_hides_does_not_outlive_a_daemon_that_is_killed() {
    for keeper_too in [false, true] {
        let mut daemon = Daemon::start();
        let mut client = Client::new(&daemon);
        let thread = client.thread(&daemon);
        let (command, token) = escape(&daemon, "stay");
        let leftover = Leftover(token);
        client.start(&thread, &command);
        client.wait_for("item/terminalCommand/output");
        assert_eq!(
            with_argument(&leftover.0).len(),
            2,
            "the script and what it has started"
        );
        if keeper_too {
            let children = children_of(daemon.pid());
            let keepers = with_argument("keep")
                .into_iter()
                .filter(|pid| children.contains(pid));
            keepers.for_each(|pid| signal(pid, Signal::KILL));
        }
        daemon.kill();
        if keeper_too {
            daemon.restart();
        }
        leftover.wait_for_nothing();
    }
}
