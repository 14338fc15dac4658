//! Finds and ends every process that the daemon started, wherever it has moved.
//!
//! In: the processes' scope. Out: how many could not be ended. Never: signals a process by a pid that may have been
//! reused.
//!
//! A process belongs to an agent or terminal if it carries the mark, is in the session, or has an ancestor that does.
//! Group and session alone miss a process that called `setsid`. The mark alone misses a process that removed it, which
//! only processes outside of a sandbox can. An orphan without a mark belongs to the agent or terminal that ends next.

use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::mark::{Mark, Run};

/// The processes to find.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ProcessScope {
    /// Processes of one agent or terminal. The leader's pid is given only while the leader was not waited for, since
    /// its session belongs to it only until then.
    Leader(Mark, Option<Pid>),
    /// All processes of this run of this daemon, and unclaimed orphans.
    Run(Run),
    /// All processes of any run of the daemon with this data directory, except ourselves.
    Instance(u32),
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::*;

    // Without /proc there are only groups, which the owners of their leaders end.
    pub(crate) fn signal(_: ProcessScope, _: Signal) {}
    pub(crate) fn end(_: ProcessScope, _: Duration) -> usize {
        0
    }
    pub(crate) fn count(_: Mark, _: Pid) -> usize {
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
    use crate::mark::Mark;
    use crate::table::{self, Entry};

    /// How long to wait for killed processes before the next scan.
    const ROUND: Duration = Duration::from_millis(100);

    /// Sends `signal` once to all processes of the scope.
    pub(crate) fn signal(scope: ProcessScope, signal: Signal) {
        send(&find(scope, &look(scope)), signal);
    }

    /// Ends all processes of the scope. Sends SIGTERM first if `grace` is not zero. Then repeats SIGKILL until none is
    /// left, or until they evidently cannot be killed. Blocks. Returns how many are left.
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
                // The processes are already gone, or belong to another user; there is no need to hurry.
                std::thread::sleep(ROUND / 10);
            }
            wait_for(&killed, ROUND);
            table = look(scope);
            found = find(scope, &table);
        }
        reap_from(&table);
        found.len()
    }

    /// Returns the number of processes that a leader has left and that run. Blocks.
    pub(crate) fn count(mark: Mark, leader: Pid) -> usize {
        let table = table::shared(Instant::now());
        let leader = leader.as_raw_pid();
        let fits = |e: &&Entry| e.session == leader || e.carries(|carried| carried == mark);
        let mut pids = table.iter().filter(fits).map(|e| e.pid).collect();
        add_descendants(&mut pids, &table);
        let runs = |e: &&Entry| !e.ended && e.pid != leader && pids.contains(&e.pid);
        table.iter().filter(runs).count()
    }

    /// Reaps adopted orphans that have ended.
    pub(crate) fn reap() {
        reap_from(&table::shared(Instant::now()));
    }

    /// Excludes the children that exist now.
    pub(crate) fn spare_children() {
        let own = getpid().as_raw_pid();
        let table = table::scan(u64::MAX);
        children::spare(table.iter().filter(|e| e.parent == own).map(|e| e.pid));
    }

    fn look(scope: ProcessScope) -> Arc<Vec<Entry>> {
        match scope {
            // No process started by this one is older than it.
            ProcessScope::Leader(..) => table::shared(Instant::now()),
            ProcessScope::Run(_) | ProcessScope::Instance(_) => Arc::new(table::scan(0)),
        }
    }

    fn find(scope: ProcessScope, table: &[Entry]) -> Vec<&Entry> {
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
        add_descendants(&mut pids, table);
        let alive = |e: &&Entry| !e.ended && pids.contains(&e.pid);
        table.iter().filter(alive).collect()
    }

    /// Adds the descendants of these processes, and removes this process.
    fn add_descendants(pids: &mut BTreeSet<i32>, table: &[Entry]) {
        let own = getpid().as_raw_pid();
        pids.remove(&own);
        // Children are listed in no particular order, so repeat until none is added.
        loop {
            let born = |e: &&Entry| e.pid != own && pids.contains(&e.parent) && !pids.contains(&e.pid);
            let more: Vec<i32> = table.iter().filter(born).map(|e| e.pid).collect();
            if more.is_empty() {
                break;
            }
            pids.extend(more);
        }
    }

    /// Returns children that we did not start. Children that we start without listing them stay in our own session,
    /// which no process of an agent can enter.
    fn orphans(table: &[Entry]) -> BTreeSet<i32> {
        let (own, session) = (getpid().as_raw_pid(), table::own_session());
        children::while_known(|known| {
            let given = |e: &&Entry| e.parent == own && e.session != session && !known(e.pid);
            table.iter().filter(given).map(|e| e.pid).collect()
        })
    }

    /// Returns orphans that removed both of their marks. Their origin is unknown, so they are ended with the next agent
    /// or terminal.
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
                // A child that was waited for since the scan causes an error, which is harmless.
                let _ = waitpid(Pid::from_raw(orphan.pid), WaitOptions::NOHANG);
            }
        });
    }

    /// Returns handles of the processes that received the signal.
    fn send(found: &[&Entry], signal: Signal) -> Vec<OwnedFd> {
        let got = found.iter().filter_map(|entry| {
            let process = pidfd_open(Pid::from_raw(entry.pid)?, PidfdFlags::empty()).ok()?;
            // The handle always refers to the process that it was opened for. Verify that this is the process that was
            // found.
            if table::look(entry.pid)?.started != entry.started {
                return None;
            }
            pidfd_send_signal(&process, signal).ok()?;
            Some(process)
        });
        got.collect()
    }

    /// Waits until all processes have ended, for at most `patience`.
    fn wait_for(processes: &[OwnedFd], patience: Duration) {
        let deadline = Instant::now() + patience;
        for process in processes {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(left) = Timespec::try_from(left) else {
                return;
            };
            // After an error or a timeout, the next scan shows the remaining processes.
            let _ = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&left));
        }
    }
}

pub(crate) use system::{count, end, reap, signal, spare_children};
