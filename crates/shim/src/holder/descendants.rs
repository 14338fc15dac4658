//! The processes that descend from the held one.
//!
//! In: nothing. Out: those that are children of the shim. Never: signals a number that may belong to another process.
//!
//! The shim is a subreaper: what loses its parent becomes its child. A child's number is not used again before the shim has waited
//! for it, so children may be signalled by their numbers. Ending them makes their children its own, until none is left.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};

/// Waits for one child that has ended.
pub(super) enum Reaped {
    /// This one had ended.
    Child(Pid, WaitStatus),
    /// Children run.
    None,
    /// There is no child.
    Childless,
}

pub(super) fn reap() -> Reaped {
    loop {
        // Of any group: `waitpid` without an id waits only for those of the shim's own.
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => return Reaped::Child(pid, status),
            Ok(None) => return Reaped::None,
            Err(Errno::INTR) => {}
            Err(_) => return Reaped::Childless,
        }
    }
}

/// Returns every child, also those that have ended and were not waited for. One that the shim got in this moment may be missing.
pub(super) fn children() -> Vec<Pid> {
    // The shim has one thread, which is the parent of all of them.
    match std::fs::read_to_string("/proc/thread-self/children") {
        Ok(list) => list.split_ascii_whitespace().filter_map(pid).collect(),
        // The kernel was built without that file.
        Err(_) => searched_children(),
    }
}

fn searched_children() -> Vec<Pid> {
    let own = getpid().as_raw_pid();
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = processes
        .flatten()
        .filter_map(|process| pid(process.file_name().to_str()?));
    pids.filter(|pid| parent_and_group(*pid).is_some_and(|(parent, _)| parent == own))
        .collect()
}

fn pid(number: &str) -> Option<Pid> {
    Pid::from_raw(number.parse().ok()?)
}

/// Sends a signal to a child. It may have ended, which has the same result.
pub(super) fn signal(child: Pid, signal: Signal) {
    let _ = kill_process(child, signal);
}

/// Returns whether a child is in this group.
pub(super) fn is_in(child: Pid, group: Pid) -> bool {
    parent_and_group(child).is_some_and(|(_, of_child)| of_child == group.as_raw_pid())
}

fn parent_and_group(pid: Pid) -> Option<(i32, i32)> {
    let stat = std::fs::read(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
    // The name of the program is in parentheses, and may contain anything.
    let behind = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(stat.get(behind..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    Some((parent, group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_find_a_child() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let own = rustix::process::getpgrp();
        assert!(children().contains(&pid));
        assert!(searched_children().contains(&pid));
        assert!(is_in(pid, own) && !is_in(pid, pid));
        signal(pid, Signal::KILL);
        child.wait().unwrap();
        assert!(!children().contains(&pid) && !searched_children().contains(&pid));
    }
}
