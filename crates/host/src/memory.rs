//! Memory use of agents, and the memory of the host.
//!
//! In: pids of leading processes. Out: bytes. Never: changes anything.

#[cfg(target_os = "linux")]
use std::collections::HashMap;

/// Returns the resident memory of each leader and its descendants, in bytes. This includes the processes in its
/// session, and their children in any session. Shared pages count for each process. Zero if the system does not report
/// it.
#[cfg(target_os = "linux")]
pub fn resident(leaders: &[u32]) -> Vec<u64> {
    let table = crate::table::scan(u64::MAX);
    let parents: HashMap<i32, i32> = table.iter().map(|entry| (entry.pid, entry.parent)).collect();
    let places: HashMap<i32, usize> = leaders
        .iter()
        .enumerate()
        .filter_map(|(at, pid)| Some((i32::try_from(*pid).ok()?, at)))
        .collect();
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
    let mut found = vec![0; leaders.len()];
    for entry in &table {
        let came_from = || {
            // An orphan gets another parent, so there is no cycle, and no path is longer than the number of processes.
            let up = |pid: &i32| parents.get(pid).copied().filter(|parent| *parent > 1);
            std::iter::successors(Some(entry.pid), up)
                .take(DEPTH)
                .find_map(|pid| places.get(&pid))
        };
        if let Some(at) = places.get(&entry.session).or_else(came_from) {
            found[*at] += entry.pages * page;
        }
    }
    found
}

/// Returns zeros, since this system reports no memory use.
#[cfg(not(target_os = "linux"))]
pub fn resident(leaders: &[u32]) -> Vec<u64> {
    vec![0; leaders.len()]
}

/// Number of ancestors that are checked.
#[cfg(target_os = "linux")]
const DEPTH: usize = 64;

/// Returns the total memory available to processes, in bytes: that of the host, or the limit of the container. `None`
/// if the system does not report it.
pub fn of_machine() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| total(&text));
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let container = container.and_then(|text| text.trim().parse().ok());
    machine.into_iter().chain(container).min()
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_child_counts_for_whom_it_came_from_wherever_it_went() {
        use std::io::{BufRead, BufReader};
        use std::process::{Command, Stdio};

        // A child in another session, as an agent's MCP server may be, that uses some memory.
        let child = "x=$(head -c 8000000 /dev/zero | tr '\\0' x); echo here; read line";
        let mut leader = Command::new("sh")
            .args(["-c", "exec 3<&0; setsid sh -c \"$0\" <&3 & wait", child])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(leader.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        let [together] = resident(&[leader.id()])[..] else {
            panic!()
        };
        leader.kill().unwrap();
        leader.wait().unwrap();
        assert!(together > 4 << 20, "{together}");
        assert_eq!(resident(&[u32::MAX]), [0], "nobody leads that");
        assert!(resident(&[]).is_empty());
    }

    #[test]
    fn the_machine_has_some_memory() {
        assert!(of_machine().is_none_or(|bytes| bytes > 64 << 20));
        assert_eq!(
            total("MemTotal:       24513828 kB\nMemFree: 1 kB"),
            Some(24_513_828 << 10)
        );
        assert_eq!(total("MemTotal: much"), None);
    }
}
