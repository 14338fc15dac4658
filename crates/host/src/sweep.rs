//! Finding and ending every process that came from us, wherever it has gone.
//!
//! In: whose processes. Out: how many could not be ended. Never: signals a process by a pid that may have
//! become another's.
//!
//! A process belongs to an agent or terminal if it carries the mark, is in the session, or has an ancestor
//! that does. Group and session alone miss what called `setsid`; the mark alone misses what has removed it, which only processes
//! outside of a sandbox can. An orphan without a mark belongs to whoever ends next.

use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::mark::{Mark, Run};

/// Whose processes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ProcessScope {
    /// Those of one agent or terminal. Its leader is named only as long as it was not waited for, since only
    /// so long does its session belong to it.
    Leader(Mark, Option<Pid>),
    /// All of this run of this daemon, and orphans that nobody claims.
    Run(Run),
    /// All of any run of the daemon with this data directory, but ourselves.
    Instance(u32),
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::*;

    // Without /proc there are only groups, which their leaders' owners end.
    pub(crate) fn signal(_: ProcessScope, _: Signal) {}
    pub(crate) fn end(_: ProcessScope, _: Duration) -> usize {
        0
    }
    pub(crate) fn reap() {}
    pub(crate) fn spare_children() {}
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeSet;
    use std::os::fd::OwnedFd;
    use std::sync::Arc;
    use std::time::Instant;

    use acpd_model::limits::SWEEP_MILLIS;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{PidfdFlags, WaitOptions, getpid, pidfd_open, pidfd_send_signal, waitpid};

    use super::{Duration, Pid, ProcessScope, Signal};
    use crate::children;
    use crate::table::{self, Entry};

    /// How long those who were killed are waited for until the next look.
    const ROUND: Duration = Duration::from_millis(100);

    /// Sends `signal` once to all of them.
    pub(crate) fn signal(scope: ProcessScope, signal: Signal) {
        send(&find(scope, &look(scope)), signal);
    }

    /// Ends all of them: SIGTERM and `grace`, if there is any; then SIGKILL until none is left, or until it
    /// is clear that they cannot be killed. Blocks. Says how many are left.
    pub(crate) fn end(scope: ProcessScope, grace: Duration) -> usize {
        let mut table = look(scope);
        let mut found = find(scope, &table);
        if !found.is_empty() && !grace.is_zero() {
            wait_for(&send(&found, Signal::TERM), grace);
            table = look(scope);
            found = find(scope, &table);
        }
        let deadline = Instant::now() + Duration::from_millis(SWEEP_MILLIS);
        while !found.is_empty() && Instant::now() < deadline {
            let killed = send(&found, Signal::KILL);
            if killed.is_empty() {
                // Gone meanwhile, or another user's; no need to hurry.
                std::thread::sleep(ROUND / 10);
            }
            wait_for(&killed, ROUND);
            table = look(scope);
            found = find(scope, &table);
        }
        reap_from(&table);
        found.len()
    }

    /// Waits for orphans that the system gave to us and that have ended.
    pub(crate) fn reap() {
        reap_from(&table::shared(Instant::now()));
    }

    /// Leaves alone whoever is our child by now.
    pub(crate) fn spare_children() {
        let own = getpid().as_raw_pid();
        let table = table::scan(u64::MAX);
        children::spare(table.iter().filter(|e| e.parent == own).map(|e| e.pid));
    }

    fn look(scope: ProcessScope) -> Arc<Vec<Entry>> {
        match scope {
            // Nothing that came from this process is older than it.
            ProcessScope::Leader(..) => table::shared(Instant::now()),
            ProcessScope::Run(_) | ProcessScope::Instance(_) => Arc::new(table::scan(0)),
        }
    }

    fn find(scope: ProcessScope, table: &[Entry]) -> Vec<&Entry> {
        let own = getpid().as_raw_pid();
        let mut pids: BTreeSet<i32> = match scope {
            ProcessScope::Leader(mark, leader) => {
                let session = leader.map(Pid::as_raw_pid);
                let fits = |e: &&Entry| Some(e.session) == session || e.carries(|carried| carried == mark);
                let mut pids = unmarked_orphans(table);
                pids.extend(table.iter().filter(fits).map(|e| e.pid));
                pids
            }
            ProcessScope::Run(run) => {
                let mut pids = orphans(table);
                let fits = |e: &&Entry| e.carries(|carried| carried.run == run);
                pids.extend(table.iter().filter(fits).map(|e| e.pid));
                pids
            }
            ProcessScope::Instance(instance) => {
                let fits = |e: &&Entry| e.carries(|carried| carried.run.instance == instance);
                table.iter().filter(fits).map(|e| e.pid).collect()
            }
        };
        pids.remove(&own);
        // Children are listed in no order, so again and again until nobody is added.
        loop {
            let born = |e: &&Entry| e.pid != own && pids.contains(&e.parent) && !pids.contains(&e.pid);
            let more: Vec<i32> = table.iter().filter(born).map(|e| e.pid).collect();
            if more.is_empty() {
                break;
            }
            pids.extend(more);
        }
        let alive = |e: &&Entry| !e.ended && pids.contains(&e.pid);
        table.iter().filter(alive).collect()
    }

    /// Children that we have not started. Whatever we start ourselves without listing it stays in our own
    /// session, which no process of an agent can enter.
    fn orphans(table: &[Entry]) -> BTreeSet<i32> {
        let (own, session) = (getpid().as_raw_pid(), table::own_session());
        children::while_known(|known| {
            let given = |e: &&Entry| e.parent == own && e.session != session && !known(e.pid);
            table.iter().filter(given).map(|e| e.pid).collect()
        })
    }

    /// Orphans that have removed both of their marks. Whose they were cannot be told, so they are ended with whoever ends next.
    fn unmarked_orphans(table: &[Entry]) -> BTreeSet<i32> {
        let mut pids = orphans(table);
        let hides = |e: &&Entry| table::is_ours(e) && !e.carries(|_| true);
        let hidden: BTreeSet<i32> = table.iter().filter(hides).map(|e| e.pid).collect();
        pids.retain(|pid| hidden.contains(pid));
        pids
    }

    fn reap_from(table: &[Entry]) {
        let (own, session) = (getpid().as_raw_pid(), table::own_session());
        children::while_known(|known| {
            let given = |e: &&Entry| e.ended && e.parent == own && e.session != session && !known(e.pid);
            for orphan in table.iter().filter(given) {
                // Whoever was waited for since the look is an error, which is fine.
                let _ = waitpid(Pid::from_raw(orphan.pid), WaitOptions::NOHANG);
            }
        });
    }

    /// Returns handles of those who have got it.
    fn send(found: &[&Entry], signal: Signal) -> Vec<OwnedFd> {
        let got = found.iter().filter_map(|entry| {
            let process = pidfd_open(Pid::from_raw(entry.pid)?, PidfdFlags::empty()).ok()?;
            // The handle stays with whom it was opened for; but is that who was seen?
            if table::look(entry.pid)?.started != entry.started {
                return None;
            }
            pidfd_send_signal(&process, signal).ok()?;
            Some(process)
        });
        got.collect()
    }

    /// Waits until all of them have ended, at most so long.
    fn wait_for(processes: &[OwnedFd], patience: Duration) {
        let deadline = Instant::now() + patience;
        for process in processes {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(left) = Timespec::try_from(left) else {
                return;
            };
            // An error, or time that is up: the next look tells who is left.
            let _ = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&left));
        }
    }
}

pub(crate) use system::{end, reap, signal, spare_children};
