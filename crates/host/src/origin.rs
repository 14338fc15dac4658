//! Where a process comes from: from an agent of this daemon, or from elsewhere.
//!
//! In: a process's id. Out: yes or no. Never: changes anything.

#[cfg(target_os = "linux")]
use crate::{mark::Run, table};

/// Processes that are looked at in one search: it ends also where ancestors come and go all the time.
#[cfg(target_os = "linux")]
const ANCESTORS: usize = 256;

/// Whether an agent or terminal of this daemon is the process or has started it, at however many removes. A process
/// that is gone is taken for one: who it was cannot be told, and a child that connects and ends leaves its connection
/// to its parent.
///
/// Orphans of agents become children of the daemon ([`Supervision`](crate::Supervision)), so that neither an empty
/// environment nor a double fork hides where a process comes from.
#[cfg(target_os = "linux")]
pub fn is_of_an_agent(pid: i32) -> bool {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    if table::look(own).is_none() {
        // Without /proc nothing can be told of anybody.
        return false;
    }
    let instance = Run::current().instance;
    let mut next = pid;
    for _ in 0..ANCESTORS {
        // Above 0 and 1 is nobody; what stands outside of our namespace is 0.
        if next == own || next <= 1 {
            return next == own && pid != own && own != 1;
        }
        let Some(entry) = table::look(next).filter(|entry| !entry.ended) else {
            if next == pid {
                return true;
            }
            // An ancestor has ended meanwhile, and its children have another parent: once more.
            next = pid;
            continue;
        };
        let entry = entry.marked();
        if entry.carries(|mark| mark.run.instance == instance) {
            return true;
        }
        next = entry.parent;
    }
    true
}

/// Elsewhere processes cannot be looked at.
#[cfg(not(target_os = "linux"))]
pub fn is_of_an_agent(_pid: i32) -> bool {
    false
}
