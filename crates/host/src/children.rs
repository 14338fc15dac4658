//! The children that this process has started itself, in contrast to those that it was given by the system
//! when their parents ended.
//!
//! In: spawned pids. Out: whose exit status belongs to somebody here. Owns: the list, which is one for the
//! whole process, as children are.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::Pid;

use crate::mark::{Mark, NUMBERS, Run};

#[derive(Debug)]
struct Children {
    /// Pids of those who live or were not waited for yet, with their numbers.
    known: BTreeMap<i32, u32>,
    /// Pids of those who were there before any of ours.
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

/// Starts a child with a mark of its own. No orphan is reaped meanwhile, so that a child that is not in the
/// list yet is not taken for one.
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
    /// The next number that nobody alive has.
    fn free_number(&self) -> u32 {
        let mut number = self.last;
        // Pids run out long before numbers do, so this ends.
        loop {
            number = (number + 1) % NUMBERS;
            if !self.known.values().any(|taken| *taken == number) {
                return number;
            }
        }
    }
}

/// The child was waited for, or will be by whoever comes first.
pub(crate) fn forget(pid: Pid) {
    lock().known.remove(&pid.as_raw_pid());
}

/// Whoever started this program by exec may have left children to it; they are none of our business.
#[cfg(target_os = "linux")]
pub(crate) fn spare(pids: impl Iterator<Item = i32>) {
    lock().older.extend(pids);
}

/// Calls `reap` with a test for pids that somebody here waits for, or that are to be left alone; none is added
/// meanwhile.
#[cfg(target_os = "linux")]
pub(crate) fn while_known<T>(reap: impl FnOnce(&dyn Fn(i32) -> bool) -> T) -> T {
    let children = lock();
    reap(&|pid| children.known.contains_key(&pid) || children.older.contains(&pid))
}
