//! The processes of this host, from `/proc`.
//!
//! In: nothing. Out: the running processes with their parents and marks. Never: changes anything.

use std::fs;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::mark::{Mark, VARIABLE};

/// One process.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub pid: i32,
    pub parent: i32,
    pub session: i32,
    /// Whether the process has ended, and only remains until its parent waits for it.
    pub ended: bool,
    /// Start time in ticks since boot. Together with the pid, it is a name that is never reused.
    pub started: u64,
    /// Number of resident memory pages.
    pub pages: u64,
    /// The marks in the process's limits and in its environment.
    marks: [Option<Mark>; 2],
}

impl Entry {
    /// Adds the process's marks.
    pub fn marked(mut self) -> Self {
        self.marks = [mark_in_limits(self.pid), mark_in_environment(self.pid)];
        self
    }

    /// Returns whether either of its marks fits.
    pub fn carries(&self, fits: impl Fn(Mark) -> bool) -> bool {
        self.marks.iter().flatten().any(|mark| fits(*mark))
    }
}

/// Returns all processes. Those older than `since` are listed without their marks.
pub(crate) fn scan(since: u64) -> Vec<Entry> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let listed = pids.filter_map(|pid| {
        let entry = look(pid)?;
        Some(if entry.started >= since {
            entry.marked()
        } else {
            entry
        })
    });
    listed.collect()
}

/// Returns all processes at some moment after `asked`. Only processes that are not older than this one have their
/// marks. Concurrent callers share one scan.
pub(crate) fn shared(asked: Instant) -> Arc<Vec<Entry>> {
    type CachedTable = Option<(Instant, Arc<Vec<Entry>>)>;
    static LAST: Mutex<CachedTable> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((began, table)) = &*last
        && *began >= asked
    {
        return Arc::clone(table);
    }
    let began = Instant::now();
    let table = Arc::new(scan(own_start()));
    *last = Some((began, Arc::clone(&table)));
    table
}

/// Returns whether a process is not older than this one, so that its marks were read and it can belong to an agent.
pub(crate) fn is_ours(entry: &Entry) -> bool {
    entry.started >= own_start()
}

fn own_start() -> u64 {
    static START: OnceLock<u64> = OnceLock::new();
    let pid = i32::try_from(std::process::id()).unwrap_or(0);
    *START.get_or_init(|| look(pid).map_or(0, |entry| entry.started))
}

/// Returns our session, or 0 if its leader is outside of our namespace, which `getsid` cannot report.
pub(crate) fn own_session() -> i32 {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    look(own).map_or(0, |entry| entry.session)
}

/// Returns one process, without its marks.
pub(crate) fn look(pid: i32) -> Option<Entry> {
    // Read as bytes, since the process name may not be UTF-8.
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &stat)
}

fn parse(pid: i32, stat: &[u8]) -> Option<Entry> {
    let behind_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let fields = std::str::from_utf8(&stat[behind_name..]).ok()?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let threads: u32 = fields.get(17)?.parse().ok()?;
    let state = *fields.first()?;
    Some(Entry {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        // A process whose first thread has ended is still alive in its other threads.
        ended: matches!(state, "Z" | "X") && threads <= 1,
        started: fields.get(19)?.parse().ok()?,
        pages: fields
            .get(21)
            .and_then(|pages| pages.parse().ok())
            .unwrap_or_default(),
        marks: [None; 2],
    })
}

/// Returns whether a process can gain no privileges (`no_new_privs`), as in every sandbox. No process can undo that.
pub(crate) fn gave_up_privileges(pid: i32) -> bool {
    // The name in it is escaped, and can imitate no other line. It is not text if the name is not.
    let status = fs::read(format!("/proc/{pid}/status")).unwrap_or_default();
    status
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_prefix(b"NoNewPrivs:"))
        .any(|value| value.trim_ascii() == b"1")
}

fn mark_in_limits(pid: i32) -> Option<Mark> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max realtime timeout"))?;
    let hard = line.split_ascii_whitespace().nth(1)?;
    Mark::from_limit(hard.parse().ok()?)
}

fn mark_in_environment(pid: i32) -> Option<Mark> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = environment.split(|byte| *byte == 0).find_map(|entry| {
        let value = entry.strip_prefix(VARIABLE.as_bytes())?;
        value.strip_prefix(b"=")
    })?;
    Mark::parse(std::str::from_utf8(value).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = b"77 (a) Z 1 (\xff) S 5 6 7 8 9 0 0 0 0 0 0 0 0 0 0 0 3 0 4242 0 0";
        let entry = parse(77, stat).unwrap();
        assert_eq!(
            (entry.parent, entry.session, entry.ended, entry.started),
            (5, 7, false, 4242)
        );
        let ended = b"77 (x) Z 5 6 7 8 9 0 0 0 0 0 0 0 0 0 0 0 1 0 4242 0 0";
        assert!(parse(77, ended).unwrap().ended);
        let first_thread_ended = b"77 (x) Z 5 6 7 8 9 0 0 0 0 0 0 0 0 0 0 0 2 0 4242 0 0";
        assert!(!parse(77, first_thread_ended).unwrap().ended);
        let led_from_outside = b"77 (x) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 4242 0 0";
        assert_eq!(parse(77, led_from_outside).unwrap().session, 0);
        assert!(parse(77, b"77 (x").is_none());
        assert!(parse(77, b"77 (x) S 1").is_none());
    }

    #[test]
    fn concurrent_callers_share_one_lookup() {
        let asked = Instant::now();
        let first = shared(asked);
        assert!(Arc::ptr_eq(&first, &shared(asked)) || shared(asked).len() > 1);
        assert!(
            first
                .iter()
                .any(|entry| entry.pid == std::process::id().cast_signed())
        );
        let later = shared(Instant::now());
        assert!(
            !Arc::ptr_eq(&first, &later),
            "a look from before the question is no answer"
        );
    }
}
