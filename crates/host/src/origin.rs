//! The origin of a process: an agent, or another program.
//!
//! In: a pid. Out: yes or no. Never: changes anything.

#[cfg(target_os = "linux")]
use std::sync::OnceLock;

#[cfg(target_os = "linux")]
use crate::table::{self, Entry};

/// Processes that one search examines. This limit also ends a search whose ancestors change all the time.
#[cfg(target_os = "linux")]
const ANCESTORS: usize = 256;

/// The process of which all of our namespace descend.
#[cfg(target_os = "linux")]
const FIRST: i32 = 1;

/// Returns whether the process is an agent or terminal that this daemon, another daemon or a command of acpd has started, or a
/// descendant of one. An exited process counts as one: its identity is unknown, and a child that connects and exits may leave
/// its connection to its parent.
///
/// A process that gave up new privileges counts as one too, since each sandboxed agent has: it is in a sandbox of ours, whose mark
/// it hides, or in one of another program, which the owner's role would open. This tells nothing where all processes have given them
/// up: in a container that forbids them, or if an agent in a sandbox has started this process. That a service manager forbids them
/// to this process alone says nothing about others.
///
/// An agent may run a daemon of its own. What that agent starts is not an agent of that daemon, so the marks of this process itself do
/// not count.
///
/// Orphans of agents become children of the daemon ([`Supervision`](crate::Supervision)). So neither an empty
/// environment nor a double fork hides the origin of a process.
#[cfg(target_os = "linux")]
pub fn is_of_an_agent(pid: i32) -> bool {
    let Some((own, all_are_confined)) = ourselves() else {
        // Without /proc, no process can be examined.
        return false;
    };
    if pid != own.pid && !all_are_confined && table::gave_up_privileges(pid) {
        return true;
    }
    let mut next = pid;
    for _ in 0..ANCESTORS {
        // 0 and 1 have no ancestors. A parent outside of our namespace is 0.
        if next == own.pid || next <= 1 {
            return next == own.pid && pid != own.pid && own.pid != 1;
        }
        let Some(entry) = table::look(next).filter(|entry| !entry.ended) else {
            if next == pid {
                return true;
            }
            // An ancestor has ended meanwhile, and its children have another parent: start again.
            next = pid;
            continue;
        };
        let entry = entry.marked();
        if entry.carries(|mark| !own.carries(|ours| ours == mark)) {
            return true;
        }
        next = entry.parent;
    }
    true
}

/// Returns this process with its marks, and whether all processes that it could meet gave up new privileges.
#[cfg(target_os = "linux")]
fn ourselves() -> Option<&'static (Entry, bool)> {
    static OURSELVES: OnceLock<(Entry, bool)> = OnceLock::new();
    if OURSELVES.get().is_none() {
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let entry = table::look(own)?.marked();
        let is_of_an_agent = entry.carries(|_| true);
        let all_are_confined =
            table::gave_up_privileges(own) && (is_of_an_agent || table::gave_up_privileges(FIRST));
        OURSELVES.get_or_init(|| (entry, all_are_confined));
    }
    OURSELVES.get()
}

/// Other systems do not allow examining processes.
#[cfg(not(target_os = "linux"))]
pub fn is_of_an_agent(_pid: i32) -> bool {
    false
}
