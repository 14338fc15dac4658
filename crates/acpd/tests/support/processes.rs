//! Inspects processes through `/proc`, and kills those that a test has started.

use rustix::process::{Pid, Signal, kill_process};

use super::wait_until;

/// The variable that marks every process of a test's agents.
pub const MARK: &str = "ACPD_TEST_MARK";

/// Returns the living processes that have `mark` in their environment.
pub fn with_mark(mark: &str) -> Vec<u32> {
    let wanted = format!("{MARK}={mark}");
    all()
        .filter(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|entry| entry == wanted.as_bytes())
        })
        .collect()
}

/// Returns the living processes with `argument` among their arguments.
pub fn with_argument(argument: &str) -> Vec<u32> {
    all()
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0)
                .any(|word| word == argument.as_bytes())
        })
        .collect()
}

/// Returns the direct children of a process.
pub fn children_of(parent: u32) -> Vec<u32> {
    all().filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

fn all() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").expect("/proc can be read");
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns whether it has exited, and its parent; these fields follow the name in parentheses.
fn stat(pid: u32) -> Option<(bool, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<_> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    // The first thread may have exited while others still hold the process's open files.
    let ended = matches!(*fields.first()?, "Z" | "X") && *fields.get(17)? == "1";
    Some((ended, fields.get(1)?.parse().ok()?))
}

fn parent_of(pid: u32) -> Option<u32> {
    stat(pid).map(|(_, parent)| parent)
}

/// Returns whether a process is alive; a zombie is not.
pub fn exists(pid: u32) -> bool {
    stat(pid).is_some_and(|(ended, _)| !ended)
}

/// Returns the current memory of a process, in KiB.
pub fn resident_kib(pid: u32) -> u64 {
    status_kib(pid, "VmRSS:")
}

/// Returns the peak memory of a process, in KiB.
pub fn peak_kib(pid: u32) -> u64 {
    status_kib(pid, "VmHWM:")
}

fn status_kib(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process lives");
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .expect("it has memory");
    let number = value.trim().trim_end_matches("kB").trim_end();
    number.parse().expect("memory is a number of kB")
}

/// Sends a signal to one process, which may have exited.
pub fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a pid");
    // ESRCH: it has exited.
    let _ = kill_process(pid, signal);
}

/// Kills a process that is not a child, and waits until it has exited.
pub fn end(pid: u32, how: Signal) {
    signal(pid, how);
    wait_until("a process that was told to end is gone", || !exists(pid));
}
