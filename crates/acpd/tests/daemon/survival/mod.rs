//! Agents that outlive the daemon, with the real binaries: a daemon is killed or stopped while an agent works, and the
//! next one continues with the same process.
//!
//! In: scripts of the fake agent, and moments. Out: what subscribers saw, compared with the log. Owns: one data directory
//! for each test, with the processes of its shims. Never: waits for time.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Client, Daemon, Incoming, Place, Turn, acpd, exists, signal, wait_until};

mod idle;
mod kills;
mod shims;
mod stops;
mod turns;

/// A thread whose agent outlives its daemons, and what one subscriber has seen of it.
struct Survivor {
    daemon: Daemon,
    client: Client,
    thread: String,
    /// Events by number: those that the clients of earlier daemons saw, too.
    seen: BTreeMap<u64, Arc<Incoming>>,
}

impl Survivor {
    /// Starts a daemon with the default of `on_stop`.
    fn new() -> Self {
        Self::stopping("end")
    }

    /// Starts a daemon with this value of `on_stop`.
    fn stopping(on_stop: &str) -> Self {
        Self::at(place(on_stop))
    }

    fn at(place: Place) -> Self {
        let daemon = Daemon::at(place);
        let mut client = Client::new(&daemon);
        let thread = client.thread(&daemon);
        Self {
            daemon,
            client,
            thread,
            seen: BTreeMap::new(),
        }
    }

    fn start(&mut self, script: &str) -> String {
        self.client.start(&self.thread, script)
    }

    /// Reads until this number of the turn's deltas has come.
    fn read_deltas(&mut self, count: usize) {
        for _ in 0..count {
            self.client.wait_for("item/agentMessage/delta");
        }
    }

    /// Kills the daemon, and starts the next one, which the subscriber follows from the last event that it saw.
    fn kill(&mut self) {
        self.daemon.kill();
        self.come_back();
    }

    /// Starts the next daemon after the end of the last one.
    fn come_back(&mut self) {
        let _ = self.client.drain();
        self.remember();
        let last = self.seen.keys().next_back().copied().unwrap_or_default();
        self.daemon.restart();
        self.client = Client::new(&self.daemon);
        self.client.resume(&self.thread, last);
    }

    /// Adds what the client saw. An event that came twice must be the same both times.
    fn remember(&mut self) {
        for message in std::mem::take(&mut self.client.seen) {
            if message.params["seq"].is_null() || message.method == "serverRequest/rejected" {
                continue;
            }
            if let Some(known) = self.seen.get(&message.seq()) {
                assert_eq!(known.params, message.params, "two events have one number");
            }
            self.seen.insert(message.seq(), message);
        }
    }

    /// Returns the events with which a turn ended, as far as they were seen before the last kill.
    fn ends_of(&self, turn: &str) -> impl Iterator<Item = &Arc<Incoming>> {
        let seen = self.seen.values();
        seen.filter(move |message| message.method == "turn/completed" && message.params["turn"]["id"] == turn)
    }

    fn has_seen_end_of(&self, turn: &str) -> bool {
        self.ends_of(turn).next().is_some()
    }

    /// Waits for the end of a turn, and compares what the subscriber saw with what the log has. Returns the turn's messages.
    fn finish(&mut self, turn: &str) -> Turn {
        self.remember();
        if !self.has_seen_end_of(turn) {
            self.client.finish(&self.thread, turn);
            self.remember();
        }
        let ends: Vec<_> = self.ends_of(turn).cloned().collect();
        assert_eq!(ends.len(), 1, "{ends:#?}");
        self.compare_with_log();
        let messages = self.seen.values().filter(|message| is_of(message, turn));
        Turn {
            messages: messages.cloned().collect(),
            end: ends[0].params["turn"].clone(),
        }
    }

    /// Checks that a new client reads the same events under the same numbers.
    fn compare_with_log(&self) {
        let last = self.seen.keys().next_back().copied().unwrap_or_default();
        assert_eq!(self.seen.len() as u64, last, "the subscriber has seen each event");
        let mut reader = Client::observer(&self.daemon);
        reader.resume(&self.thread, 0);
        let read = reader.until(|message| !message.is_live() && message.seq() == last);
        for message in read.iter().filter(|message| !message.is_live()) {
            let seen = &self.seen[&message.seq()];
            assert_eq!((&seen.method, &seen.params), (&message.method, &message.params));
        }
    }

    /// Runs a turn to its end, and checks that it works normally.
    fn next_turn(&mut self) {
        let turn = self.start("say back");
        let turn = self.finish(&turn);
        assert_eq!(
            (turn.status(), &*turn.said()),
            ("completed", "back"),
            "{:?}",
            turn.end
        );
    }

    /// Returns the processes of the shim and its agent.
    fn processes(&self) -> [u32; 2] {
        let mut held = held(&self.daemon.place);
        held.retain(|shim| shim["state"] != "gone");
        assert_eq!(held.len(), 1, "{held:?}");
        ["shimPid", "pid"].map(|name| number(&held[0][name]))
    }

    /// Waits until neither processes nor rows of held agents are left.
    fn wait_for_no_process(&self, processes: &[u32]) {
        let place = &self.daemon.place;
        place.wait_for_no_agents();
        wait_until("the shims are gone", || processes.iter().all(|pid| !exists(*pid)));
        assert_eq!(rows(place), 0, "no row is left");
    }

    /// Waits until neither processes nor sockets nor rows of held agents are left.
    fn wait_for_nothing(&self, processes: &[u32]) {
        self.wait_for_no_process(processes);
        let left = left(&self.daemon.place);
        assert!(left.is_empty(), "{left:?}");
    }

    /// Checks that no process of a lost agent is left, that the next turn has another one, and that nothing is left after a stop of
    /// the daemon that follows.
    fn replaced(&mut self, lost: &[u32]) {
        self.next_turn();
        wait_until("the lost agent and its shim are gone", || {
            lost.iter().all(|pid| !exists(*pid))
        });
        let next = self.processes();
        assert!(next.iter().all(|pid| !lost.contains(pid)), "{next:?}");
        assert_eq!(rows(&self.daemon.place), 1);
        self.kill();
        assert_eq!(self.processes(), next);
        assert_eq!(self.daemon.stop().code(), Some(0));
        self.wait_for_nothing(&next);
    }
}

impl Drop for Survivor {
    fn drop(&mut self) {
        // A failed test must not leave a shim. Its agent ends with it.
        let listed = acpd(&self.daemon.place, &["shims", "--json"]);
        for line in listed.stdout.lines() {
            let shim: Value = serde_json::from_str(line).unwrap_or_default();
            if let Some(pid) = shim["shimPid"].as_u64().and_then(|pid| u32::try_from(pid).ok()) {
                signal(pid, Signal::KILL);
            }
        }
    }
}

/// Returns a place whose agent `fake` outlives the daemon.
fn place(on_stop: &str) -> Place {
    place_with(on_stop, "")
}

/// Returns the same with `more` lines of configuration.
fn place_with(on_stop: &str, more: &str) -> Place {
    Place::new(&format!(
        "survive = true\n\n[server]\non_stop = \"{on_stop}\"\n\n{more}"
    ))
}

fn is_of(message: &Incoming, turn: &str) -> bool {
    message.text("turnId") == turn
        || message.params["turn"]["id"] == turn
        || message.text("turnId").is_empty()
}

fn number(value: &Value) -> u32 {
    let number = value.as_u64().and_then(|pid| pid.try_into().ok());
    number.unwrap_or_else(|| panic!("{value} is no pid"))
}

/// Returns what `acpd shims` lists.
fn held(place: &Place) -> Vec<Value> {
    let listed = acpd(place, &["shims", "--json"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let lines = listed.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("it is JSON"))
        .collect()
}

/// Returns the files in the directory of shims, without output that no daemon has stored: users may want that.
fn left(place: &Place) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(place.data().join("shims")) else {
        return Vec::new();
    };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_none_or(|end| end != "rest"))
        .collect()
}

/// Returns the number of threads whose agents the log says are held.
fn rows(place: &Place) -> usize {
    let rows = acpd_log::carried_threads(&place.data().join("log.db"));
    rows.expect("the log can be read").len()
}

/// Returns what `stream` says: each word with its number.
fn words(count: usize) -> String {
    (1..=count).map(|number| format!(" word {number}")).collect()
}
