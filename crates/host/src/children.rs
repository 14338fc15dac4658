//! The children that this process started itself, in contrast to the orphans that the system gave it when their parents
//! ended.
//!
//! In: spawned pids. Out: which exit statuses belong to a waiter in this process. Owns: the list, which exists once per
//! process, as children do.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::Pid;

use crate::mark::{Mark, NUMBERS, Run};

#[derive(Debug)]
struct Children {
    /// Pids of our own children that are alive or not waited for yet, with their numbers.
    known: BTreeMap<i32, u32>,
    /// Pids of children that existed before any of ours.
    older: BTreeSet<i32>,
    last: u32,
}

static CHILDREN: Mutex<Children> = Mutex::new(Children {
    known: BTreeMap::new(),
    older: BTreeSet::new(),
    last: 0,
});

fn lock() -> MutexGuard<'static, Children> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child with a mark of its own. No orphan is reaped meanwhile, so that a child that is not in the list yet is
/// not mistaken for one.
pub(crate) fn start<T>(
    spawn: impl FnOnce(Mark) -> io::Result<T>,
    pid: impl FnOnce(&T) -> Option<Pid>,
) -> io::Result<(T, Mark)> {
    let mut children = lock();
    let number = children.free_number();
    let mark = Mark {
        run: Run::current(),
        number,
    };
    let child = spawn(mark)?;
    if let Some(pid) = pid(&child) {
        children.known.insert(pid.as_raw_pid(), number);
    }
    children.last = number;
    Ok((child, mark))
}

impl Children {
    /// Returns the next number that no living child has.
    fn free_number(&self) -> u32 {
        let mut number = self.last;
        // Pids run out long before numbers do, so the loop ends.
        loop {
            number = (number + 1) % NUMBERS;
            if !self.known.values().any(|taken| *taken == number) {
                return number;
            }
        }
    }
}

/// Removes a child that was waited for, or that its owner or the orphan reaper will wait for.
pub(crate) fn forget(pid: Pid) {
    lock().known.remove(&pid.as_raw_pid());
}

/// Excludes children that existed before this program was started by exec. They are not ours.
#[cfg(target_os = "linux")]
pub(crate) fn spare(pids: impl Iterator<Item = i32>) {
    lock().older.extend(pids);
}

/// Calls `reap` with a test for pids that a waiter in this process owns, or that must be left alone. No pid is added
/// meanwhile.
#[cfg(target_os = "linux")]
pub(crate) fn while_known<T>(reap: impl FnOnce(&dyn Fn(i32) -> bool) -> T) -> T {
    let children = lock();
    reap(&|pid| children.known.contains_key(&pid) || children.older.contains(&pid))
}
