//! The processes that descend from the held one.
//!
//! In: nothing. Out: whether any is left. Never: signals a number that may belong to another process.
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

/// Sends a signal to every child, except those in a group that has it already.
pub(super) fn signal_children(signal: Signal, except: Option<Pid>) {
    let own = getpid().as_raw_pid();
    let except = except.map(Pid::as_raw_pid);
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return;
    };
    for process in processes.flatten() {
        let pid = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok());
        let Some(pid) = pid.and_then(Pid::from_raw) else {
            continue;
        };
        let is_meant =
            parent_and_group(pid).is_some_and(|(parent, group)| parent == own && Some(group) != except);
        if is_meant {
            // It may have ended, which has the same result.
            let _ = kill_process(pid, signal);
        }
    }
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
